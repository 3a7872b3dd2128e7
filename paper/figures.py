"""The report's figures: each function returns an SVG and the rows of its CSV file. The colours are those of Okabe and Ito,
which differ for every kind of colour blindness; lines also differ in dash and marker. Text and axes have the page's colour."""
import io
import re

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt  # noqa: E402
import matplotlib.ticker as ticker  # noqa: E402
import numpy as np  # noqa: E402

import experiments as ex  # noqa: E402

# A placeholder for the page's colour until the SVG is written.
INK = "#010203"
FAINT = "#80808055"
ORANGE, SKY, GREEN, BLUE, RED, PURPLE = "#e69f00", "#56b4e9", "#009e73", "#0072b2", "#d55e00", "#cc79a7"
COLORS = {400: SKY, 800: BLUE, 1600: GREEN, 3200: PURPLE, "unbiased": INK, "adam": RED}
DASHES = {400: "-", 800: "-", 1600: "-", 3200: "-", "unbiased": "--", "adam": ":"}

plt.rcParams.update({
    "svg.hashsalt": "plimsoll", "svg.fonttype": "path", "figure.facecolor": "none", "axes.facecolor": "none",
    "savefig.facecolor": "none", "text.color": INK, "axes.edgecolor": INK, "axes.labelcolor": INK,
    "xtick.color": INK, "ytick.color": INK, "axes.grid": True, "grid.color": FAINT, "grid.linewidth": 0.6,
    "axes.spines.top": False, "axes.spines.right": False, "font.size": 10, "axes.titlesize": 11, "legend.frameon": False,
    "axes.titleweight": "bold", "lines.linewidth": 1.8, "legend.fontsize": 9,
})


class Drawing:
    """A figure as one SVG file, and for a page of any width as its panels and a legend in HTML."""

    def __init__(self, figure, legend=None):
        handles, labels = legend or ([], [])
        if handles:
            figure.legend(handles, labels, loc="outside lower center", ncols=6)
        self.whole = svg(figure)
        figure.set_layout_engine("none")
        for extra in figure.legends:
            extra.set_visible(False)
        axes = [ax for ax in figure.axes if ax.get_visible()]
        self.panels = []
        for shown in axes:
            for ax in axes:
                ax.set_visible(ax is shown)
            self.panels.append(svg(figure))
        self.legend = "".join(f"<span>{sample(handle)}{label}</span>" for handle, label in zip(handles, labels))
        plt.close(figure)


def svg(figure):
    """SVG without a fixed width, in the colour of the text around it."""
    out = io.StringIO()
    figure.savefig(out, format="svg", bbox_inches="tight", metadata={"Date": None, "Creator": None})
    text = out.getvalue()
    text = text[text.index("<svg"):].replace(INK, "currentColor")
    for side in ("width", "height"):
        text = re.sub(rf'<svg([^>]*?) {side}="[^"]*"', r"<svg\1", text, count=1)
    return text


def sample(handle):
    """The line and marker of a legend entry."""
    line = handle[0] if isinstance(handle, tuple) else handle
    color = "currentColor" if line.get_color() == INK else line.get_color()
    gap = {"-": "", "None": ""}.get(line.get_linestyle(), ' stroke-dasharray="5 3"')
    gap = ' stroke-dasharray="1.5 2"' if line.get_linestyle() == ":" else gap
    stroke = "" if line.get_linestyle() == "None" else f'<path d="M0 6H26" stroke="{color}" stroke-width="2.2"{gap}/>'
    shapes = {"o": '<circle cx="13" cy="6" r="3.4"/>', "s": '<path d="M10 3h6v6h-6z"/>',
              "^": '<path d="M13 2l4 7h-8z"/>', "D": '<path d="M13 1l5 5-5 5-5-5z"/>',
              "*": '<path d="M13 0l1.6 4.2 4.4.2-3.4 2.8 1.2 4.4-3.8-2.5-3.8 2.5 1.2-4.4-3.4-2.8 4.4-.2z"/>'}
    shape = shapes.get(line.get_marker(), "")
    return f'<svg viewBox="0 0 26 12" width="26" height="12" aria-hidden="true">{stroke}<g fill="{color}">{shape}</g></svg>'


def panels(data, height=3.4, width=4.2):
    figure, axes = plt.subplots(1, len(data), figsize=(width * len(data), height), squeeze=False, layout="constrained")
    for ax, name in zip(axes[0], data):
        ax.set_title(name)
    return figure, axes[0]


def log_axis(axis):
    """Labels only the decades, as plain numbers; labels between them would overlap."""
    axis.set_major_formatter(ticker.FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_formatter(ticker.NullFormatter())


def loss_curves(plan, result, layers):
    """Figures 1 and 2: loss over all training nodes, epoch by epoch, all algorithms from one start."""
    figure, axes = panels(plan.data)
    rows, shown = [["data", "layers", "algorithm", "epoch", "train_loss"]], {}
    for ax, data in zip(axes, plan.data):
        lowest, start = np.inf, 0
        for algorithm in ex.algorithms(data):
            run = result(plan.table(data, layers, algorithm)[0])
            losses = [run["initial_loss"], *run["train_loss"]]
            rows += [[data, layers, ex.name_of(algorithm), epoch, loss] for epoch, loss in enumerate(losses)]
            line, = ax.plot(losses, color=COLORS[algorithm], linestyle=DASHES[algorithm])
            shown.setdefault(ex.name_of(algorithm), line)
            lowest, start = min(lowest, min(losses)), losses[0]
        ax.set(xlabel="epoch", xlim=(0, len(losses) - 1), ylim=(lowest - 0.03 * start, 1.05 * start))
    for ax in axes:
        ax.set_ylabel("training loss")
    order = [ex.name_of(a) for a in COLORS if ex.name_of(a) in shown]
    return Drawing(figure, ([shown[name] for name in order], order)), rows


def tails(plan, result):
    """Figure 3: the probability that a sampled gradient misses by δ, with 95 % intervals."""
    figure, axes = panels(plan.data, height=3.8)
    colors = dict(zip(ex.TAIL_DELTAS, (BLUE, GREEN, ORANGE, RED)))
    rows = [["data", "layers", "sample_size", "delta", "probability", "lower", "upper", "bias", "deviation"]]
    for ax, data in zip(axes, plan.data):
        for layers in ex.LAYERS:
            job = plan.tail(data, layers)
            found, words = result(job), dict(word.split("=", 1) for word in job.words[1:])
            sizes, draws = [int(n) for n in words["grid"].split(",")], int(words["draws"])
            grid = {k: np.reshape(found[k], (len(sizes), -1)) for k in ("probability", "lower", "upper")}
            for j, delta in enumerate(ex.TAIL_DELTAS):
                p, low, high = (grid[k][:, j] for k in ("probability", "lower", "upper"))
                rows += [[data, layers, n, delta, p[i], low[i], high[i], found["bias"][i], found["deviation"][i]]
                         for i, n in enumerate(sizes)]
                seen = p > 0
                style = {"color": colors[delta], "linestyle": "-" if layers == 1 else "--", "marker": "o"}
                ax.plot(np.array(sizes)[seen], p[seen], markersize=3, linewidth=1.4, **style)
                ax.fill_between(np.array(sizes)[seen], low[seen], high[seen], color=colors[delta], alpha=0.15, linewidth=0)
        ax.set(yscale="log", ylim=(0.7 / draws, 1.6), xlabel="sample size N")
    for ax in axes:
        ax.set_ylabel("share that misses by δ")
    lines = [plt.Line2D([], [], color=c, linewidth=1.8) for c in colors.values()]
    kinds = [plt.Line2D([], [], color=INK, linestyle=s) for s in ("-", "--")]
    labels = [*(f"δ = {d}" for d in colors), "1 layer", "2 layers"]
    return Drawing(figure, ([*lines, *kinds], labels)), rows


def mixture(arrays):
    """Figure 4: Mixture's points, and its adjacency matrix with the nodes ordered by class."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 4.2), layout="constrained")
    labels, points, edges = arrays["labels"], arrays["features"], arrays["edges"]
    for c, (color, marker) in enumerate(zip((BLUE, ORANGE, GREEN), "osD")):
        mine = points[labels == c]
        left.scatter(mine[:, 0], mine[:, 1], s=4, color=color, marker=marker, alpha=0.6, linewidths=0, rasterized=True,
                     label=f"class {c}")
    left.set(title="Points", xlabel="first feature", ylabel="second feature", aspect="equal")
    left.legend(markerscale=3, loc="upper right")
    place = np.empty(len(labels), int)
    place[np.argsort(labels, kind="stable")] = np.arange(len(labels))
    u, v = place[edges[:, 0]], place[edges[:, 1]]
    right.scatter(np.r_[u, v], np.r_[v, u], s=0.35, color=BLUE, linewidths=0, rasterized=True)
    right.set(title="Adjacency matrix", xlabel="node, by class", ylabel="node, by class", aspect="equal",
              xlim=(0, len(labels)), ylim=(len(labels), 0))
    right.grid(False)
    rows = [["node", "class", "x", "y"]] + [[i, int(c), *p] for i, (c, p) in enumerate(zip(labels, points.tolist()))]
    return Drawing(figure), rows


def accuracy_against_time(plan, result, layers):
    """Test accuracy after each epoch by the time of training so far."""
    figure, axes = panels(plan.data)
    rows, shown = [["data", "layers", "algorithm", "epoch", "seconds", "test_accuracy"]], {}
    for ax, data in zip(axes, plan.data):
        best = 0
        for algorithm in ex.algorithms(data):
            run = result(plan.timed(data, layers, algorithm, True))
            seconds, accuracy = np.cumsum(run["seconds"]), 100 * np.array(run["test_accuracy"])
            rows += [[data, layers, ex.name_of(algorithm), e + 1, s, a / 100]
                     for e, (s, a) in enumerate(zip(seconds, accuracy))]
            line, = ax.plot(1e3 * seconds, accuracy, color=COLORS[algorithm], linestyle=DASHES[algorithm], linewidth=1.3)
            shown.setdefault(ex.name_of(algorithm), line)
            best = max(best, accuracy.max())
        ax.set(xscale="log", xlabel="milliseconds of training", ylim=(best - 20, best + 1.5))
        log_axis(ax.xaxis)
    for ax in axes:
        ax.set_ylabel("test accuracy, %")
    order = [ex.name_of(a) for a in COLORS if ex.name_of(a) in shown]
    return Drawing(figure, ([shown[name] for name in order], order)), rows


def all_layers(plan, result):
    """Final training loss of two layers, with the hidden one sampled or both."""
    figure, axes = panels(plan.data)
    rows = [["data", "sampled", "sample_size", "seed", "train_loss", "test_accuracy"]]
    for ax, data in zip(axes, plan.data):
        kinds = {"hidden layer": (lambda size: plan.table(data, 2, size), BLUE, "o"),
                 "every layer": (lambda size: [plan.all_layers(data, size, seed) for seed in plan.seeds], RED, "s")}
        for (name, (jobs, color, marker)), shift in zip(kinds.items(), (0.97, 1.03)):
            sizes, means, spread = ex.SIZES[data], [], []
            for size in sizes:
                runs = [result(job) for job in jobs(size)]
                losses = [run["train_loss"][-1] for run in runs]
                rows += [[data, name, size, seed, loss, run["test"]]
                         for seed, (loss, run) in enumerate(zip(losses, runs))]
                means.append(np.mean(losses))
                spread.append(np.std(losses, ddof=1) if len(losses) > 1 else 0.0)
            ax.errorbar(np.array(sizes) * shift, means, spread, color=color, marker=marker, capsize=3, label=name)
        unbiased = np.mean([result(job)["train_loss"][-1] for job in plan.table(data, 2, "unbiased")])
        ax.axhline(unbiased, color=INK, linestyle="--", linewidth=1.2, label="unbiased")
        ax.set(xscale="log", xlabel="sample size N")
        ax.set_xticks(ex.SIZES[data], [str(n) for n in ex.SIZES[data]])
        ax.minorticks_off()
        ax.set_ylim(bottom=0)
    for ax in axes:
        ax.set_ylabel("final training loss")
    return Drawing(figure, axes[0].get_legend_handles_labels()), rows


def distributions(plan, result):
    """Final training loss by time of an epoch, for two layers with the hidden one sampled from four distributions."""
    figure, axes = panels(plan.data)
    styles = dict(zip(ex.DISTRIBUTIONS, ((SKY, "o"), (ORANGE, "s"), (GREEN, "^"), (PURPLE, "D"))))
    rows = [["data", "distribution", "sample_size", "seconds_per_epoch", "train_loss", "test_accuracy"]]
    for ax, data in zip(axes, plan.data):
        for name, (color, marker) in styles.items():
            times, losses = [], []
            for size in plan.distribution_sizes(data):
                run = result(plan.distribution(data, name, size))
                times.append(1e3 * np.median(run["seconds"]))
                losses.append(run["train_loss"][-1])
                rows.append([data, name, size, times[-1] / 1e3, losses[-1], run["test"]])
            ax.plot(times, losses, color=color, marker=marker, markersize=5, label=name)
        run = result(plan.timed(data, 2, "unbiased", True))
        ax.plot([1e3 * np.median(run["seconds"])], [run["train_loss"][-1]], color=INK, marker="*", markersize=11,
                linestyle="none", label="unbiased")
        ax.set(xscale="log", xlabel="milliseconds per epoch")
        log_axis(ax.xaxis)
        ax.set_ylim(bottom=0)
    for ax in axes:
        ax.set_ylabel("final training loss")
    return Drawing(figure, axes[0].get_legend_handles_labels()), rows


def bounds(table):
    """Measured errors and their bounds, one panel per theorem."""
    theorems = list(dict.fromkeys(row["theorem"] for row in table))
    columns = 4
    lines = -(-len(theorems) // columns)
    figure, axes = plt.subplots(lines, columns, figsize=(12.6, 2.9 * lines), squeeze=False, layout="constrained")
    styles = {"random": (SKY, "o"), "adversarial": (RED, "s"), "sampled": (GREEN, "^")}
    for ax in axes.flat[len(theorems):]:
        ax.set_visible(False)
    for ax, theorem in zip(axes.flat, theorems):
        rows = [row for row in table if row["theorem"] == theorem]
        bound = {int(row["t"]): float(row["bound"]) for row in rows}
        ax.plot(sorted(bound), [bound[t] for t in sorted(bound)], color=INK, linestyle="--", label="bound")
        for kind, (color, marker) in styles.items():
            mine = [row for row in rows if row["error"] == kind]
            ax.plot([int(r["t"]) for r in mine], [float(r["largest"]) for r in mine], color=color, marker=marker,
                    markersize=3, linewidth=1.2, label=kind)
        ax.set(title=f"Theorem {theorem}", xscale="log", yscale="log", xlabel="T")
        # Smaller values are rounding errors of doubles.
        ax.set_ylim(bottom=max(ax.get_ylim()[0], 1e-14))
        log_axis(ax.xaxis)
    header = list(table[0])
    return Drawing(figure, axes.flat[0].get_legend_handles_labels()), [header] + [[row[k] for k in header] for row in table]
