#!/usr/bin/env python3
"""Writes the figures of docs/theory.md into docs/theory, a .csv and an .svg each: `make theory`, five to ten minutes.

    theory.py [name…]    only these: tail decomposition bounds estimators adaptive replacement line

Runs the examples of the theory, and some measurements of its own. The same library on the same machine writes the same files.
"""
import csv
import os
import subprocess
import sys
from pathlib import Path

import matplotlib
import numpy as np

from common import ROOT, TARGET

matplotlib.use("svg")
os.environ.setdefault("PLIMSOLL_LIB", str(TARGET / "release" / "libplimsoll.so"))
sys.path.insert(0, str(ROOT / "bindings" / "python"))
import matplotlib.pyplot as plt  # noqa: E402
import plimsoll as pl  # noqa: E402
from matplotlib.lines import Line2D  # noqa: E402

OUT = ROOT / "docs" / "theory"
PER_CLASS, DRAWS, FEW_DRAWS, SEED = 2000, 10_000, 4000, 1
# The colours of Okabe and Ito, which differ for every kind of colour blindness.
BLUE, ORANGE, GREEN, RED, PINK, SKY = "#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9"


def say(text):
    print(text, file=sys.stderr, flush=True)


def write_csv(name, rows):
    with open(OUT / f"{name}.csv", "w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows({k: f"{v:.6g}" if isinstance(v, float) else v for k, v in row.items()} for row in rows)


def run_example(name):
    """Runs an example, which writes its numbers to a file, and returns them. Its output goes to target/theory."""
    say(f"examples/c/{name}.c")
    with open(TARGET / "theory" / f"{name}.txt", "w") as printed:
        subprocess.run([TARGET / "ctest" / "examples" / "c" / name, OUT / f"{name}.csv"], check=True, stdout=printed)
    with open(OUT / f"{name}.csv", newline="") as file:
        return list(csv.DictReader(file))


class Measurements:
    """Gradients of GCNs with one and two layers on the Mixture graph."""

    def __init__(self):
        self.graph = pl.Graph.from_mixture(PER_CLASS, SEED)

    def model(self, layers, threads=0):
        return pl.Model.gcn([2, 3] if layers == 1 else [2, 16, 3], seed=SEED, threads=threads)

    def estimator(self, layers):
        """Samples the input of the last layer, as the paper does; the first of two layers is exact."""
        return pl.Estimator.consistent([1] if layers == 1 else [0, 1])

    def tail(self, layers, sizes, deltas, draws=DRAWS):
        return pl.Tail(self.estimator(layers), self.model(layers), self.graph, sizes, deltas, draws=draws)

    def misses_without_replacement(self, layers, sizes, deltas, draws=FEW_DRAWS):
        """The share of misses when the nodes of a draw are distinct, with the weights n/t of uniform draws."""
        model, estimator = self.model(layers, 1), self.estimator(layers)
        exact = pl.Estimator.full().gradient(model, self.graph).values.astype(float)
        random, table = np.random.default_rng(SEED), []
        for size in sizes:
            if table and not any(table[-1]):
                table.append(table[-1])
                continue
            errors = np.empty(draws)
            for i in range(draws):
                estimator.set_draws(layers - 1, random.permutation(self.graph.num_nodes)[:size])
                errors[i] = np.linalg.norm(estimator.gradient(model, self.graph).values - exact)
            table.append([(errors >= delta * np.linalg.norm(exact)).mean() for delta in deltas])
        return np.array(table)


def wilson(p, draws):
    """Wilson's 95 % limits of a share of this many draws."""
    z = 1.959963984540054
    half = z * np.sqrt(p * (1 - p) / draws + (z / (2 * draws)) ** 2)
    centre, scale = p + z * z / (2 * draws), 1 + z * z / draws
    return np.maximum((centre - half) / scale, 0), np.minimum((centre + half) / scale, 1)


def bend(sizes, p, draws):
    """How much steeper log p falls from 1 % to 0.2 % than from 20 % to 4 %: 1 for a straight line, more if it bends
    down. NaN if the sizes do not cover this range. The first size without a miss counts as half a miss."""
    end = next((i + 1 for i, q in enumerate(p) if q == 0), len(p))
    logs = np.log(np.maximum(p[:end], 0.5 / draws))[::-1]
    logs, n = np.maximum.accumulate(logs), np.array(sizes[:end])[::-1]
    if logs[0] > np.log(0.002) or logs[-1] < np.log(0.2):
        return float("nan")
    high, low, first, last = (np.interp(np.log(level), logs, n) for level in (0.2, 0.04, 0.01, 0.002))
    return float((low - high) / (last - first))


def start(rows, columns, width, height):
    plt.rcParams.update({"font.family": "sans-serif", "font.size": 10, "svg.hashsalt": "plimsoll", "axes.axisbelow": True,
                         "axes.grid": True, "grid.color": "#dddddd", "grid.linewidth": 0.6, "axes.spines.top": False,
                         "axes.spines.right": False, "legend.frameon": False, "svg.fonttype": "none",
                         "figure.facecolor": "white"})
    figure, axes = plt.subplots(rows, columns, figsize=(width, height), squeeze=False, layout="constrained")
    return figure, axes


def finish(figure, name):
    figure.savefig(OUT / f"{name}.svg", metadata={"Date": None, "Creator": None})
    if os.environ.get("PLIM_PNG"):
        import matplotlib.backends.backend_agg as agg
        agg.FigureCanvasAgg(figure).print_png(Path(os.environ["PLIM_PNG"]) / f"{name}.png")
    say(f"wrote docs/theory/{name}.svg")


def legend_of_lines(axis, entries, **options):
    """A legend of (label, line options)."""
    return axis.legend([Line2D([], [], **style) for _, style in entries], [label for label, _ in entries], **options)


DELTAS = {0.5: SKY, 0.3: BLUE, 0.2: GREEN, 0.1: RED}
LAYERS = {1: ("1 layer", "-"), 2: ("2 layers", "--")}


def draw_tails(axis, sizes, p, layers, draws=DRAWS):
    """One curve per δ with its 95 % band, on a logarithmic scale. It ends where no gradient misses."""
    for (delta, colour), share in zip(DELTAS.items(), np.array(p).T):
        seen = share > 0
        lower, upper = wilson(share[seen], draws)
        n = np.array(sizes)[seen]
        axis.fill_between(n, np.maximum(lower, 1e-5), upper, color=colour, alpha=0.2, linewidth=0)
        axis.plot(n, share[seen], LAYERS[layers][1], color=colour, linewidth=1.6)


def tail(measurements):
    sizes, rows = list(range(200, 8001, 200)), []
    figure, ((axis,),) = start(1, 1, 8.5, 4.6)
    for layers in LAYERS:
        found = measurements.tail(layers, sizes, list(DELTAS))
        p, lower, upper = found.probability, found.lower, found.upper
        draw_tails(axis, sizes, p, layers)
        for i, size in enumerate(sizes):
            rows += [dict(layers=layers, sample_size=size, delta=delta, missed=float(p[i, j]), lower=float(lower[i, j]),
                          upper=float(upper[i, j])) for j, delta in enumerate(DELTAS)]
    write_csv("tail", rows)
    axis.set(yscale="log", ylim=(8e-5, 1.3), xlim=(0, 8000), xlabel="sample size N (draws with replacement)",
             ylabel="share of gradients with |g − h| ≥ δ|h|")
    entries = [(f"δ = {delta}", dict(color=colour)) for delta, colour in DELTAS.items()]
    entries += [(name, dict(color="black", linestyle=style)) for name, style in LAYERS.values()]
    legend_of_lines(axis, entries, loc="center left", bbox_to_anchor=(1.0, 0.5))
    finish(figure, "tail")


def decomposition(measurements):
    sizes, rows = [100 * 2 ** i for i in range(11)], []
    figure, axes = start(1, 2, 10, 4.2)
    for axis, layers in zip(axes[0], LAYERS):
        found = measurements.tail(layers, sizes, [0.1])
        error, bias, deviation = found.error, found.bias, found.deviation
        rows += [dict(layers=layers, sample_size=n, error=float(e), bias=float(b), deviation=float(d))
                 for n, e, b, d in zip(sizes, error, bias, deviation)]
        for name, values, colour, marker in (("error", error, "black", "s"), ("bias", bias, RED, "o"),
                                             ("deviation", deviation, BLUE, "^")):
            axis.loglog(sizes, values, marker=marker, markersize=4, color=colour, label=name, linewidth=1.4)
        n = np.array(sizes[5:], float)
        axis.loglog(n, 0.55 * bias[-1] * n[-1] / n, ":", color=RED, label="slope −1")
        axis.loglog(n, 1.6 * deviation[-1] * np.sqrt(n[-1] / n), ":", color=BLUE, label="slope −1/2")
        axis.set(title=LAYERS[layers][0], xlabel="sample size N", ylabel="relative to |h|", ylim=(8e-4, 3))
    axes[0, 1].legend(loc="upper right")
    write_csv("decomposition", rows)
    finish(figure, "decomposition")


def bounds(_):
    rows = run_example("bounds_hold")
    theorems = list(dict.fromkeys(row["theorem"] for row in rows))
    what = {"2 iterate": "|w − w*|²", "2 average": "f(average) − f*", "3": "f(w) − f*", "4": "|w − w*|²",
            "5": "f(average) − f*", "6": "least |h|²", "7 geometric": "f(w) − f*", "7 harmonic": "f(w) − f*"}
    styles = {"random": (BLUE, "o"), "adversarial": (RED, "^"), "sampled": (GREEN, "s")}
    figure, axes = start(2, 4, 12, 6)
    for axis, theorem in zip(axes.flat, theorems):
        for kind, (colour, marker) in styles.items():
            mine = [r for r in rows if (r["theorem"], r["error"]) == (theorem, kind)]
            t, largest = [int(r["t"]) for r in mine], [float(r["largest"]) for r in mine]
            axis.loglog(t, largest, marker=marker, markersize=3, linewidth=1, color=colour, label=f"{kind} errors")
            if kind == "random":
                axis.loglog(t, [float(r["bound"]) for r in mine], color="black", linewidth=1.8, label="bound", zorder=1)
        # Below this, f − f* is rounding error.
        axis.set_ylim(bottom=max(axis.get_ylim()[0], 1e-12))
        axis.set(title=f"Theorem {theorem}", xlabel="T", ylabel=what[theorem])
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4)
    finish(figure, "bounds_hold")


def estimators(_):
    rows = run_example("three_estimators")
    styles = {"first": (BLUE, "o", "first draw: unbiased only"), "variance": (RED, "^", "variance: consistent"),
              "spike": (GREEN, "s", "spike: consistent")}
    figure, axes = start(1, 3, 12, 3.9)
    for name, (colour, marker, label) in styles.items():
        alone = [r for r in rows if r["estimator"] == name and r["steps"] == "0"]
        n = [int(r["sample_size"]) for r in alone]
        style = dict(color=colour, marker=marker, markersize=5, linewidth=1.4)
        axes[0, 0].semilogx(n, [abs(float(r["bias"])) for r in alone], label=label, **style)
        axes[0, 1].semilogx(n, [float(r["miss_probability"]) for r in alone], **style)
        for steps, dashes in ((16, "-"), (256, "--")):
            run = [r for r in rows if r["estimator"] == name and int(r["steps"]) == steps]
            axes[0, 2].semilogx([int(r["sample_size"]) for r in run], [float(r["miss_probability"]) for r in run],
                                linestyle=dashes, **style)
    axes[0, 0].set(title="bias of one estimate", xlabel="samples N", ylabel="|mean of g − h|")
    axes[0, 1].set(title="one estimate misses", xlabel="samples N", ylabel="share with |g − h| ≥ 0.2", ylim=(-0.03, 1.03))
    axes[0, 2].set(title="SGD misses", xlabel="samples N", ylabel="share with |w − w*| ≥ 0.2", ylim=(-0.03, 1.03))
    entries = [(style[2], dict(color=style[0], marker=style[1])) for style in styles.values()]
    entries += [("T = 16 steps", dict(color="black")), ("T = 256 steps", dict(color="black", linestyle="--"))]
    figure.legend([Line2D([], [], **s) for _, s in entries], [e[0] for e in entries], loc="outside lower center", ncols=5)
    finish(figure, "three_estimators")


def adaptive(_):
    rows = run_example("adaptive")
    fixed = list(dict.fromkeys(int(r["sample_size"]) for r in rows if r["run"] == "fixed"))
    figure, axes = start(1, 2, 11, 4.4)
    for size, colour in [*zip(fixed, (SKY, BLUE, GREEN, ORANGE, PINK)), (None, RED)]:
        mine = [r for r in rows if (r["run"] == "adaptive" if size is None else
                                    r["run"] == "fixed" and int(r["sample_size"]) == size)]
        draws, label = [float(r["draws"]) for r in mine], "adaptive" if size is None else f"N = {size:,}"
        style = dict(color=colour, linewidth=2.2 if size is None else 1.3, label=label)
        axes[0, 0].loglog(draws, [float(r["gap"]) for r in mine], **style)
        axes[0, 1].loglog(draws, [float(r["sample_size"]) for r in mine], **style)
    for axis in axes[0]:
        axis.set(xlabel="draws so far, those of the tests included", xlim=(200, 1.3e8))
    axes[0, 0].set(ylabel="f(w) − f*", ylim=(1e-6, 1))
    axes[0, 1].set(ylabel="sample size of a step, N")
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=6)
    finish(figure, "adaptive")


def replacement(measurements):
    ways, rows = {"with": (DRAWS, 8000), "without": (FEW_DRAWS, 6000)}, []
    figure, axes = start(1, 2, 11, 4.6)
    for axis, (way, (draws, most)) in zip(axes[0], ways.items()):
        sizes = [*range(100, 2400, 100), *range(2400, most, 200)]
        for layers in LAYERS:
            p = (measurements.tail(layers, sizes, list(DELTAS)).probability if way == "with" else
                 measurements.misses_without_replacement(layers, sizes, list(DELTAS)))
            draw_tails(axis, sizes, p, layers, draws)
            for j, delta in enumerate(DELTAS):
                ratio = bend(sizes, p[:, j], draws)
                say(f"{layers} layers, {way} replacement, delta {delta}: bends by {ratio:.2f}")
                rows += [dict(layers=layers, replacement=way, delta=delta, sample_size=n, missed=float(q), bend=ratio)
                         for n, q in zip(sizes, p[:, j])]
        axis.set(yscale="log", ylim=(8e-5, 1.3), xlim=(0, most), title=f"{way} replacement, {draws:,} gradients each",
                 xlabel="sample size N (of 6,000 nodes)", ylabel="share of gradients with |g − h| ≥ δ|h|")
    entries = [(f"δ = {delta}", dict(color=colour)) for delta, colour in DELTAS.items()]
    entries += [(name, dict(color="black", linestyle=style)) for name, style in LAYERS.values()]
    figure.legend([Line2D([], [], **s) for _, s in entries], [e[0] for e in entries], loc="outside lower center", ncols=6)
    write_csv("replacement", rows)
    finish(figure, "replacement")


def line(_):
    run_example("plimsoll_line")


def main():
    figures = dict(tail=tail, decomposition=decomposition, bounds=bounds, estimators=estimators, adaptive=adaptive,
                   replacement=replacement, line=line)
    unknown = [name for name in sys.argv[1:] if name not in figures]
    if unknown:
        sys.exit(f"unknown figure {unknown[0]}; there are {', '.join(figures)}")
    OUT.mkdir(exist_ok=True)
    (TARGET / "theory").mkdir(parents=True, exist_ok=True)
    measurements = Measurements()
    for name in sys.argv[1:] or figures:
        figures[name](measurements)


if __name__ == "__main__":
    main()
