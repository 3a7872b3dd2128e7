"""Milliseconds per epoch of every cell (data set × layers × sample × engine), compared with the targets."""
import csv
import statistics
import sys

from . import environment, machine, report

ENGINES = ["plimsoll-1", "plimsoll-2", "numba", "numba-splitmix", "scipy", "torch", "pyg"]
RIVALS = ["numba", "scipy", "torch", "pyg"]
SAMPLES = {"Pubmed": ["400", "3200", "unbiased", "full"], "Cora": ["400", "unbiased", "full"],
           "Mixture": ["400", "unbiased", "full"]}
NAMES = {"plimsoll-1": "Plimsoll", "plimsoll-2": "Plimsoll, 2 threads", "numba": "Numba", "numba-splitmix": "Numba, SplitMix",
         "scipy": "SciPy", "torch": "PyTorch", "pyg": "PyG"}
ALONE = "two threads against one"
# Turns of each engine per round. Ours start quickly, and are on both sides of most ratios.
TURNS = {"plimsoll-1": 3, "plimsoll-2": 3}


def step_of(data, layers):
    """The c of the paper's SGD, whose steps are c/√k."""
    with (environment.ROOT / "paper" / "table1.csv").open(newline="") as lines:
        return next(float(row["step"]) for row in csv.DictReader(lines)
                    if (row["data"], row["layers"], row["algorithm"]) == (data, str(layers), "unbiased"))


def cell_name(cell):
    data, layers, sample = cell
    return f"{data} {layers}-layer {sample}"


def turns(engines, k):
    """The engines of round k in running order. It changes each round, so that no engine always runs after the same one; the
    turns of an engine are spread over the round."""
    engines = engines[k % len(engines):] + engines[:k % len(engines)]
    places = [((i / len(engines) + turn / TURNS.get(engine, 1)) % 1, engine)
              for i, engine in enumerate(engines) for turn in range(TURNS.get(engine, 1))]
    return [engine for _, engine in sorted(places)]


def command(engine, program, path, raw, cell, options):
    data, layers, sample = cell
    step = step_of(data, layers)
    least, seconds = (2, 0.05) if options.quick else (5, 0.5)
    if engine.startswith("plimsoll"):
        return [program, f"data={path}", f"layers={layers}", f"sample={sample}", f"threads={engine[-1]}",
                f"step={step}", f"raw={int(raw)}", f"seconds={seconds}", f"least={least}"]
    return [sys.executable, environment.BENCHES / "peer.py", engine, path, "--layers", layers, "--sample", sample,
            "--lr", step, "--seconds", seconds, "--least", least, *(["--raw-features"] if raw else [])]


def flops_of(path, raw, cell):
    """Flops of an epoch, counted for one epoch of random batches and draws: 2 per non-zero and column of a sparse product,
    2·rows·depth·columns for a dense one; forward, gradient by W and, above the first layer, by its input."""
    import numpy as np
    import scipy.sparse as sp
    _, layers, sample = cell
    z = np.load(path)
    n, e, rng = int(z["num_nodes"]), z["edges"], np.random.default_rng(0)
    a = sp.coo_matrix((np.ones(len(e)), (e[:, 0], e[:, 1])), shape=(n, n)).tocsr()
    a = (a + a.T + sp.identity(n)).tocsr()
    if "features" in z:
        x = sp.csr_matrix(z["features"])
    else:
        x = sp.csr_matrix((z["features_data"], z["features_indices"], z["features_indptr"]),
                          shape=(n, int(z["num_features"])))
    ax = (a @ x).tocsr()
    classes, hidden = int(z["labels"].max()) + 1, 16
    train = rng.permutation(z["train"])
    batches = [train] if sample == "full" else [train[i:i + 256] for i in range(0, len(train), 256)]
    total = 0
    for b in batches:
        rows = a[b]
        if sample not in ("full", "unbiased"):
            drawn = np.zeros(n)
            drawn[rng.integers(0, n, int(sample))] = 1
            rows = (rows @ sp.diags(drawn)).tocsr()
            rows.eliminate_zeros()
        columns = np.unique(rows.indices)
        if layers == 1 and sample in ("full", "unbiased"):
            total += 4 * ax[b].nnz * classes
        elif layers == 1:
            total += 4 * x[columns].nnz * classes + 4 * rows.nnz * classes
        else:
            total += 4 * ax[columns].nnz * hidden + 4 * rows.nnz * classes + 6 * len(columns) * hidden * classes
    return total


def targets(cell, ms):
    """(what is compared, its ratio, the ratio wanted) for each target whose engines were run."""
    _, _, sample = cell
    ours, found = ms.get("plimsoll-1"), []
    if not ours:
        return found
    if sample in ("unbiased", "full"):
        rivals = [ms[r] for r in RIVALS if ms.get(r)]
        if rivals:
            found.append(("fastest rival", min(rivals) / ours, 3.0))
    else:
        if ms.get("numba"):
            found.append(("Numba", ms["numba"] / ours, 4.0))
        frameworks = [ms[r] for r in ("torch", "pyg") if ms.get(r)]
        if frameworks:
            found.append(("better of PyTorch and PyG", min(frameworks) / ours, 25.0 if sample == "400" else 8.0))
    if ms.get("plimsoll-2"):
        # Two runs of the same program differ by a few percent: a small cell is slower where it is so by more than 5 %.
        found.append((ALONE, ours / ms["plimsoll-2"], 1.6 if ours > 5 else 0.95))
    return found


def plot(path, cells, medians):
    import matplotlib
    matplotlib.use("svg")
    import matplotlib.pyplot as plt
    plt.rcParams.update({"font.family": "sans-serif", "font.size": 10, "svg.hashsalt": "plimsoll"})
    # Okabe and Ito's colours, which those who see few colours tell apart.
    colours = {"plimsoll-1": "#D55E00", "plimsoll-2": "#E69F00", "numba": "#0072B2", "numba-splitmix": "#000000",
               "scipy": "#56B4E9", "torch": "#009E73", "pyg": "#CC79A7"}
    data_sets = list(dict.fromkeys(c[0] for c in cells))
    engines = [e for e in NAMES if any(e in medians[c] for c in cells)]
    figure, axes = plt.subplots(len(data_sets), 1, figsize=(12, 3.2 * len(data_sets) + 0.7), squeeze=False)
    figure.patch.set_facecolor("white")
    width = 0.86 / len(engines)
    for axis, data in zip(axes[:, 0], data_sets):
        mine = [c for c in cells if c[0] == data]
        for i, engine in enumerate(engines):
            places = [k + (i - (len(engines) - 1) / 2) * width for k in range(len(mine))]
            heights = [medians[c].get(engine, float("nan")) for c in mine]
            axis.bar(places, heights, 0.94 * width, color=colours[engine], label=NAMES[engine], zorder=3)
            for place, height in zip(places, heights):
                if height == height:
                    axis.annotate(report.number(height, 2), (place, height), (0, 2), textcoords="offset points",
                                  ha="center", va="bottom", fontsize=6.5, zorder=4)
        axis.set_yscale("log")
        shown = [h for c in mine for h in medians[c].values()]
        axis.set_ylim(min(shown) / 2.2, max(shown) * 2.4)
        axis.yaxis.set_major_formatter(lambda y, _: f"{y:g}")
        names = [f"{layers} layer{'s' if layers > 1 else ''}\n{sample}" + " draws" * sample.isdigit()
                 for _, layers, sample in mine]
        axis.set_xticks(range(len(mine)), names)
        axis.tick_params(axis="x", length=0)
        axis.set_xlim(-0.55, len(mine) - 0.45)
        axis.set_ylabel("ms per epoch, log scale")
        axis.set_title(data, loc="left", fontweight="bold", fontsize=11)
        axis.grid(axis="y", which="major", color="#d8d8d8", linewidth=0.7, zorder=0)
        axis.spines[["top", "right"]].set_visible(False)
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="upper center", ncols=len(engines), frameon=False, fontsize=9.5)
    figure.tight_layout(rect=(0, 0, 1, 1 - 0.42 / figure.get_figheight()), h_pad=1.6)
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)


def run(options):
    environment.build_library()
    program = environment.compile_c("cells")
    data_sets = environment.data_sets(program)
    peaks = options.peaks or machine.measure(options)
    engines = options.engines or ENGINES
    cells = [(data, layers, sample) for data in data_sets for layers in (1, 2) for sample in SAMPLES[data]]
    cells = [c for c in cells if all(word.lower() in cell_name(c).lower() for word in options.cells.split())]
    rounds = options.rounds or (1 if options.quick else 5)
    times = {c: {e: [] for e in engines} for c in cells}
    least = {c: {} for c in cells}
    isa = ""
    for k in range(rounds):
        for cell in cells:
            for engine in turns(engines, k):
                path, raw = data_sets[cell[0]]
                result = environment.answer(command(engine, program, path, raw, cell, options),
                                            int(engine[-1]) if engine.startswith("plimsoll") else 1)
                if result:
                    times[cell][engine].append(1e3 * result["median_s"])
                    least[cell][engine] = min(1e3 * result["min_s"], least[cell].get(engine, float("inf")))
                    isa = result.get("isa", isa)
            shown = ", ".join(f"{e} {report.number(statistics.median(t))}" for e, t in times[cell].items() if t)
            environment.say(f"round {k + 1} of {rounds}, {cell_name(cell)}: {shown} ms")

    medians = {c: {e: statistics.median(t) for e, t in by.items() if t} for c, by in times.items()}
    flops = {c: flops_of(*data_sets[c[0]], c) for c in cells}
    peak = max(peaks[1]["peak_256_gflops"], peaks[1]["peak_512_gflops"])
    rows = []
    for cell in cells:
        for engine, ms in medians[cell].items():
            t = times[cell][engine]
            rows.append(dict(data=cell[0], layers=cell[1], sample=cell[2], engine=engine, ms=ms, least_ms=min(t),
                             most_ms=max(t), least_epoch_ms=least[cell][engine], runs=len(t), flops=flops[cell],
                             gflops=flops[cell] / ms / 1e6))
    report.write_csv(options, "cells", rows)
    plot(options.out / "cells.svg", cells, medians)
    write(options, cells, medians, least, engines, flops, peak, rounds, isa)


def write(options, cells, medians, least, engines, flops, peak, rounds, isa):
    number, others = report.number, [e for e in engines if e != "plimsoll-1"]
    ms_rows = [[cell_name(c)] + [number(medians[c].get(e)) for e in engines] for c in cells]
    ratio_rows, target_rows, met, asked = [], [], 0, 0
    for cell in cells:
        ms = medians[cell]
        ours = ms.get("plimsoll-1")
        if not ours:
            continue
        ratio_rows.append([cell_name(cell)] + [number(ms[e] / ours, 2) + "×" if ms.get(e) else "–" for e in others])
        rate = flops[cell] / ours / 1e6
        for (name, ratio, wanted), (_, shortest, _) in zip(targets(cell, ms), targets(cell, least[cell])):
            reached = ratio >= wanted
            met, asked = met + reached, asked + 1
            target_rows.append([cell_name(cell), name, number(ratio) + "×", number(wanted, 2) + "×",
                                "yes" if reached else "**no**", number(shortest) + "×",
                                "" if name == ALONE else f"{number(rate, 2)} ({100 * rate / peak:.0f} %)"])
    text = f"""## Training, cell by cell

Milliseconds per epoch, without evaluation: SGD with steps c/√k, hidden width 16, batches of 256.

- "Full" is one step on all training nodes. One-layer models are sampled at the input, two-layer models at the hidden layer.
- ÂX is computed once, except in PyG's unbiased and full cells.
- The other libraries use one thread. A process is bound to as many cores as it has threads.
- Each figure is the median over {rounds} round{'s' if rounds > 1 else ''} of the median epoch of a process. A round has three runs of Plimsoll and one of each other
  library.
- Plimsoll's instruction set is {isa or 'not run'}. PyG's NeighborLoader uses torch-sparse, because the package index has no pyg-lib.

![Milliseconds per epoch, by engine, on a logarithmic scale](cells.svg)

{report.table(["ms per epoch"] + [NAMES[e] for e in engines], ms_rows)}
Time relative to Plimsoll on one thread:

{report.table([""] + [NAMES[e] for e in others], ratio_rows)}
Targets: {met} of {asked} met.

| cells | target |
| --- | --- |
| sampled | 4× against Numba; 25× (400 draws) or 8× (3200 draws) against the better of PyTorch and PyG |
| unbiased and full | 3× against the fastest of the four |
| two threads | 1.6× where one thread takes more than 5 ms, otherwise not slower (5 % are noise) |

- "Least epochs" is the ratio of the shortest epochs instead of the medians. Other work on the machine lengthens an epoch by up to
  half.
- GFLOP/s are those of one thread, with their share of its FMA peak, {number(peak)} GFLOP/s. The operations of an epoch are counted on random
  batches and draws: 2 per non-zero and column of a sparse product, 2·rows·depth·columns for a dense one, with Â(HW) above the first
  layer.

{report.table(["", "against", "ratio", "target", "met", "least epochs", "GFLOP/s"], target_rows, text=2)}
{report.provenance()}"""
    report.write_part(options, "cells", text)
