"""The report: a self-contained index.html, with the figures as SVG and the numbers as CSV files beside it."""
import base64
import csv
import datetime
import html
import io
import os
import platform
import subprocess
from pathlib import Path

import numpy as np

import experiments as ex
import figures
import program

ROOT = Path(__file__).resolve().parent.parent


class Page:
    """Collects sections and writes their files."""

    def __init__(self, out):
        self.out, self.body, self.contents = out, [], []

    def section(self, anchor, title, text):
        self.contents.append((anchor, title))
        self.body.append(f'<section id="{anchor}"><h2>{html.escape(title)}</h2><p>{text}</p>')

    def end(self):
        self.body.append("</section>")

    def numbers(self, name, rows):
        """Writes a CSV file and returns a link that contains it."""
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows(rows)
        (self.out / f"{name}.csv").write_text(text.getvalue(), encoding="utf-8")
        data = base64.b64encode(text.getvalue().encode()).decode()
        return f'<a download="{name}.csv" href="data:text/csv;base64,{data}">{name}.csv</a>'

    def figure(self, name, drawn, caption):
        drawing, rows = drawn
        # The separate file is black on white.
        alone = drawing.whole.replace("currentColor", "#000000").replace("<svg", '<svg style="background:#ffffff"', 1)
        (self.out / f"{name}.svg").write_text(alone, encoding="utf-8")
        link = self.numbers(name, rows)
        panels = "".join(f"<div>{panel}</div>" for panel in drawing.panels)
        legend = f'<div class="legend">{drawing.legend}</div>' if drawing.legend else ""
        self.body.append(f'<figure><div class="panels of{len(drawing.panels)}" role="img" aria-label="{html.escape(caption)}">'
                         f"{panels}</div>{legend}<figcaption>{caption} <span class=data>{link}</span></figcaption></figure>")

    def table(self, name, header, rows, numbers, caption):
        head = "".join(f"<th>{cell}</th>" for cell in header)
        lines = "".join("<tr>" + "".join(f"<{'th' if i == 0 else 'td'}>{cell}</{'th' if i == 0 else 'td'}>"
                                         for i, cell in enumerate(row)) + "</tr>" for row in rows)
        link = self.numbers(name, numbers)
        self.body.append(f'<figure><div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{lines}</tbody></table>'
                         f"</div><figcaption>{caption} <span class=data>{link}</span></figcaption></figure>")


def table1(page, plan, result):
    columns = [(data, layers) for layers in ex.LAYERS for data in plan.data]
    header = ["Test accuracy, %"] + [f"{data}<br>{layers} layer{'s' * (layers > 1)}" for data, layers in columns]
    numbers = [["data", "layers", "algorithm", "mean", "std", "seeds", "paper", "oracle_mean", "oracle_std", "far"]]
    far, rows = [], []
    for algorithm in [400, 800, 1600, 3200, "unbiased", "adam"]:
        row = [ex.name_of(algorithm)]
        for key in columns:
            if algorithm not in ex.TABLE1[key]:
                row.append("–")
                continue
            cell = ex.TABLE1[key][algorithm]
            found = [100 * result(job)["test"] for job in plan.table(*key, algorithm)]
            mean, std = np.mean(found), np.std(found, ddof=1) if len(found) > 1 else np.nan
            is_far = abs(mean - cell.paper) > 2 * (std if len(found) > 1 else cell.oracle_std) + 1
            numbers.append([*key, ex.name_of(algorithm), f"{mean:.3f}", f"{std:.3f}", len(found), cell.paper,
                            cell.oracle_mean, cell.oracle_std, int(is_far)])
            spread = f" ± {std:.1f}" if len(found) > 1 else ""
            mark = ' <b class="far" title="more than 2 std + 1 point from the paper">▲</b>' if is_far else ""
            row.append(f"{mean:.1f}{spread}{mark}<br><small>paper {cell.paper:.1f}</small>")
            if is_far:
                far.append(f"{ex.name_of(algorithm)} on {key[0]}, {key[1]}-layer: {mean:.1f} here, {cell.paper:.1f} in the "
                           f"paper, {cell.oracle_mean:.1f} ± {cell.oracle_std:.1f} with an independent program in NumPy")
        rows.append(row)
    if far:
        note = ("▲ marks results that differ from the paper's by more than two standard deviations and a point. The paper "
                "reports one seed. If an independent program agrees with our result, that seed was an outlier: "
                + "; ".join(far) + ".")
    else:
        note = "No result differs from the paper's by more than two standard deviations and a point."
    page.table("table1", header, rows, numbers,
               f"Mean ± standard deviation over {len(plan.seeds)} seed{'s' * (len(plan.seeds) > 1)}; below it the paper's "
               f"result of one run. {note}")


def table4(page, plan, result):
    columns = [(data, layers) for layers in ex.LAYERS for data in plan.data]
    header = ["Milliseconds per epoch"] + [f"{data}<br>{layers} layer{'s' * (layers > 1)}" for data, layers in columns]
    numbers = [["data", "layers", "algorithm", "seconds", "seconds_without_cache", "paper_seconds", "ratio_to_unbiased",
                "ratio_to_unbiased_without_cache", "paper_ratio_to_unbiased"]]
    rows = []

    def seconds(key, algorithm, cache):
        return float(np.median(result(plan.timed(*key, algorithm, cache))["seconds"]))

    for algorithm in [400, 800, 1600, 3200, "unbiased", "adam"]:
        row = [ex.name_of(algorithm)]
        for key in columns:
            if algorithm not in ex.SECONDS[key]:
                row.append("–")
                continue
            kept, bare = seconds(key, algorithm, True), seconds(key, algorithm, False)
            ratios = kept / seconds(key, "unbiased", True), bare / seconds(key, "unbiased", False)
            paper = ex.SECONDS[key][algorithm]
            paper_ratio = paper / ex.SECONDS[key]["unbiased"]
            numbers.append([*key, ex.name_of(algorithm), f"{kept:.3g}", f"{bare:.3g}", paper, f"{ratios[0]:.3g}",
                            f"{ratios[1]:.3g}", f"{paper_ratio:.3g}"])
            row.append(f"{1e3 * kept:.3g} <small>({1e3 * bare:.3g})</small><br><small>× {ratios[0]:.2f} ({ratios[1]:.2f})"
                       f"</small><br><small>paper {1e3 * paper:.4g}, × {paper_ratio:.2f}</small>")
        rows.append(row)
    page.table("table4", header, rows, numbers,
               "Median time of an epoch's training steps on one thread, with ÂX cached; in brackets without the cache (rows "
               "are computed when needed). × is the ratio to SGD unbiased in the same column. The paper's times come from "
               "another machine and program, so only the ratios can be compared.")


STYLE = """
:root{--ink:#1b1f24;--paper:#fff;--soft:#5b6470;--line:#d8dde3;--accent:#0072b2;--far:#b45309}
@media(prefers-color-scheme:dark){:root{--ink:#e6e9ec;--paper:#14181c;--soft:#9aa5b1;--line:#333b44;--accent:#56b4e9;
--far:#f0a04b}}
*{box-sizing:border-box}body{margin:0;background:var(--paper);color:var(--ink);font:16px/1.55 system-ui,sans-serif}
main{max-width:1180px;margin:0 auto;padding:1.5rem 1.2rem 4rem}h1{font-size:1.9rem;line-height:1.2;margin:.6rem 0}
h2{font-size:1.3rem;margin:2.6rem 0 .4rem;border-top:1px solid var(--line);padding-top:1.6rem}
p{max-width:48rem}a{color:var(--accent)}figure{margin:1.2rem 0}figcaption{color:var(--soft);font-size:.9rem;
max-width:56rem;margin-top:.5rem}.panels{display:grid;gap:.8rem;
grid-template-columns:repeat(auto-fit,minmax(min(100%,300px),1fr))}.panels.of8{grid-template-columns:repeat(auto-fit,
minmax(min(100%,240px),1fr))}.panels.of1{max-width:430px}.panels.of2{max-width:860px}.panels svg{width:100%;height:auto;display:block}
.legend{display:flex;flex-wrap:wrap;gap:.2rem 1.3rem;font-size:.9rem;margin-top:.4rem}.legend svg{margin-right:.45rem}
.data{white-space:nowrap}.data::before{content:'Numbers: '}.scroll{overflow-x:auto}table{border-collapse:collapse;font-size:.92rem;
font-variant-numeric:tabular-nums}th,td{padding:.4rem .8rem;border-bottom:1px solid var(--line);text-align:right;
vertical-align:top;white-space:nowrap}th:first-child{text-align:left;position:sticky;left:0;background:var(--paper)}
thead th{vertical-align:bottom}
small{color:var(--soft)}.far{color:var(--far)}nav{display:flex;flex-wrap:wrap;gap:.3rem 1.1rem;margin:1rem 0;font-size:.92rem}
.facts{color:var(--soft);font-size:.9rem}.warn{border-left:4px solid var(--far);padding:.2rem .9rem}
"""


def facts(options, plan):
    """Versions, machine, seeds and date."""
    def first(*command):
        try:
            return subprocess.run(command, capture_output=True, text=True, cwd=ROOT).stdout.strip().split("\n")[0]
        except OSError:
            return ""

    def cpu():
        names = [line.split(":", 1)[1].strip() for line in Path("/proc/cpuinfo").read_text().splitlines()
                 if line.startswith("model name")] if Path("/proc/cpuinfo").exists() else []
        return names[0] if names else platform.processor()

    version = next(line.split('"')[1] for line in (ROOT / "Cargo.toml").read_text().splitlines()
                   if line.startswith("version"))
    commit = first("git", "rev-parse", "--short", "HEAD")
    return (f"Plimsoll {version}{f' ({commit})' if commit else ''}; {first('rustc', '--version')}; "
            f"{first(os.environ.get('CC', 'cc'), '--version')}; Python {platform.python_version()}, NumPy {np.__version__}; "
            f"{cpu()}, {os.cpu_count()} cores, {platform.system()} {platform.release()}. Seeds 0 to {len(plan.seeds) - 1}"
            f"{'; the fast form: 1,000 draws, fewer sizes' if options.fast else ''}. "
            f"{datetime.date.today().isoformat()}.")


def bounds_table(options):
    """Runs the example that compares the bounds with measured errors."""
    file = options.out / "jobs" / "bounds.csv"
    bounds_hold = program.build(ROOT / "examples" / "c" / "bounds_hold.c", options)
    subprocess.run([bounds_hold, file], check=True, stdout=subprocess.DEVNULL)
    with file.open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))


def write(plan, runner, options, start):
    page, result = Page(options.out), runner.result
    missing = [data for data in ex.DATA if data not in plan.data]
    page.section("table-1", "Table 1: test accuracy",
                 "100 epochs, batches of 256, hidden width 16. “SGD (400)” samples 400 nodes for every gradient, at the input of "
                 "the last layer; “unbiased” uses the whole neighbourhood. The test accuracy is that of the first epoch with "
                 "the best validation accuracy.")
    table1(page, plan, result)
    page.end()
    for number, layers in ((1, 1), (2, 2)):
        page.section(f"figure-{number}", f"Figure {number}: training loss, {layers} layer{'s' * (layers > 1)}",
                     "The loss over all training nodes after each epoch, computed without sampling. All algorithms of a data set "
                     "start from the same parameters. The more nodes are sampled, the nearer the curve is to the unbiased "
                     "one. Adam's loss falls faster than SGD's.")
        page.figure(f"figure{number}", figures.loss_curves(plan, result, layers), "Training loss by epoch, seed 0.")
        page.end()
    page.section("figure-3", "Figure 3: how often a sampled gradient misses",
                 "At the initial parameters, the gradient over all training nodes is estimated many times independently. The "
                 "figure shows the share of estimates whose error is at least δ times the norm of the exact gradient. On the "
                 "logarithmic scale a straight line is an exponential tail.")
    page.figure("figure3", figures.tails(plan, result),
                "Share of gradients that miss by δ or more, by sample size, with Wilson’s 95 % intervals. Solid: one layer; "
                "dashed: two layers, the hidden one sampled. There is no point where no gradient missed.")
    page.end()
    runner(saved := plan.job("save", "Mixture", 1, to=str(options.out / "jobs" / "mixture.npz")))
    if not (options.out / "jobs" / "mixture.npz").exists():
        runner.file_of(saved).unlink()
        runner(saved)
    with np.load(options.out / "jobs" / "mixture.npz") as arrays:
        page.section("figure-4", "Figure 4: Mixture",
                     "Three overlapping Gaussians, and random edges with probability 1e-3 within a class and 2e-4 between classes.")
        page.figure("figure4", figures.mixture(arrays), "The points by class, and the adjacency matrix.")
        page.end()
    page.section("table-4", "Table 4: time per epoch",
                 "The cost of an epoch, and what sampling saves compared with the whole neighbourhood.")
    table4(page, plan, result)
    page.end()
    page.section("bounds", "The bounds hold",
                 "The λ-regularised one-layer model on Mixture, whose constants are known. The gradients have the errors that "
                 "the theorem allows: in random directions, in the worst direction, and from real sampling. Every run stays "
                 "below its bound.")
    page.figure("bounds", figures.bounds(bounds_table(options)),
                "The largest error over all seeds and the bound of each theorem, by number of iterates T.")
    page.end()
    page.section("time", "Beyond: accuracy against time",
                 "The same runs by the time of their training steps, which is what a user waits for.")
    for layers in ex.LAYERS:
        page.figure(f"time{layers}", figures.accuracy_against_time(plan, result, layers),
                    f"Test accuracy against training time, {layers} layer{'s' * (layers > 1)}, one thread, seed 0.")
    page.end()
    page.section("layers", "Beyond: sampling every layer",
                 "The paper samples the hidden layer and keeps the aggregated features exact, because ÂX can be computed once. "
                 "Sampling both layers does not need ÂX and is less exact.")
    page.figure("layers", figures.all_layers(plan, result),
                "Training loss after the last epoch, two layers. Bars are standard deviations over seeds.")
    page.end()
    page.section("distributions", "Beyond: other distributions at equal cost",
                 "Most uniform draws hit nodes that are not neighbours of the batch. Draws from the neighbours avoid that, but "
                 "each draw costs more. Further left is cheaper, further down is better.")
    page.figure("distributions", figures.distributions(plan, result),
                "Training loss after the last epoch, by time of an epoch. The sample size grows along each line. Two layers, "
                "the hidden one sampled, seed 0.")
    page.end()
    warning = "" if not missing else (f'<p class="warn">{" and ".join(missing)}: the data are missing, so this report has the '
                                      "other data sets only.</p>")
    links = "".join(f'<a href="#{anchor}">{html.escape(title)}</a>' for anchor, title in page.contents)
    text = (f'<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width,'
            f'initial-scale=1"><meta name="color-scheme" content="light dark"><title>SGD with consistent gradients, rerun by '
            f"Plimsoll</title><style>{STYLE}</style><main><h1>SGD with biased but consistent gradients, rerun</h1>"
            f"<p>The experiments of Chen and Luss, <i>Stochastic Gradient Descent with Biased but Consistent Gradient "
            f"Estimators</i>, repeated with Plimsoll through its C interface, and some more. The numbers of each figure can be "
            f"downloaded below it.</p>{warning}<p class=facts>{html.escape(facts(options, plan))}</p>"
            f"<nav>{links}</nav>{''.join(page.body)}</main></html>\n")
    index = options.out / "index.html"
    index.write_text(text, encoding="utf-8")
    return index
