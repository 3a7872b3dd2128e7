"""Â·X and whole-graph inference on a power-law graph, beside MKL and PyTorch, as GFLOP/s and share of the triad."""
import shutil
import statistics
import sys

import numpy as np

from . import environment, machine, report

ENGINES = ["plimsoll", "mkl", "torch"]
NAMES = {"plimsoll": "Plimsoll", "plimsoll, no cache": "Plimsoll, no cache", "mkl": "MKL", "torch": "PyTorch",
         "pyg": "PyG"}
WIDTHS = [16, 64, 128, 256]
FEATURES, HIDDEN, CLASSES = 128, 64, 16
EXPONENT = 2.3  # of the degrees' power law


def power_law_edges(n, count, rng):
    """`count` different undirected edges without self-loops, ends drawn ∝ (rank + n/10⁴)^(-1/(EXPONENT - 1)); ranks are
    assigned to nodes at random."""
    weights = (np.arange(n) + n / 1e4 + 1) ** (-1 / (EXPONENT - 1))
    cumulated = np.cumsum(weights) / weights.sum()
    names = rng.permutation(n)
    keys = np.zeros(0, np.int64)
    while len(keys) < count:
        ends = names[np.searchsorted(cumulated, rng.random((2, int(1.3 * count) - len(keys) + 1000)))]
        low, high = ends.min(0), ends.max(0)
        keys = np.union1d(keys, (low * n + high)[low != high])
    keys = np.sort(rng.choice(keys, count, replace=False, shuffle=False))
    return np.stack([keys // n, keys % n], 1).astype(np.int32)


def make_graph(folder, n, nnz):
    """Writes Â as .npy files, the features, and the same graph as .npz."""
    import scipy.sparse as sp
    rng = np.random.default_rng(0)
    edges = power_law_edges(n, (nnz - n) // 2, rng)
    a = sp.coo_matrix((np.ones(len(edges), np.float32), (edges[:, 0], edges[:, 1])), shape=(n, n)).tocsr()
    a = (a + a.T + sp.identity(n, np.float32)).tocsr()
    a.sort_indices()
    degrees = np.diff(a.indptr)
    scale = 1 / np.sqrt(degrees)
    values = (np.repeat(scale, degrees) * scale[a.indices]).astype(np.float32)
    folder.mkdir(parents=True, exist_ok=True)
    np.save(folder / "indptr.npy", a.indptr.astype(np.int64))
    np.save(folder / "indices.npy", a.indices.astype(np.int32))
    np.save(folder / "values.npy", values)
    features = rng.random((n, FEATURES), np.float32)
    np.save(folder / "features.npy", features)
    np.savez(folder / "graph.npz", num_nodes=np.int32(n), edges=edges, features=features)
    environment.say(f"power-law graph: {n} nodes, {a.nnz} non-zeros, largest degree {degrees.max() - 1}, median "
                    f"{np.median(degrees) - 1:.0f}")
    return a.nnz, int(degrees.max()) - 1


def run(options):
    n, nnz = (20_000, 400_000) if options.quick else (1_000_000, 20_000_000)
    rounds = options.rounds or (1 if options.quick else 3)
    repetitions = 2 if options.quick else 5
    engines = [e for e in ENGINES if not options.engines or e in options.engines]
    # The library last: both builds write the same libplimsoll.so.
    kernel = environment.compile_rust_bench("spmm")
    environment.build_library()
    inference = environment.compile_c("inference")
    folder = environment.WORK / "spmm"
    nnz, largest = make_graph(folder, n, nnz)
    # Before and after each of our turns: the bandwidth of a shared machine changes by a factor of 1.5 within minutes.
    peaks = {1: [], 2: []}
    peer = [sys.executable, environment.BENCHES / "peer_spmm.py"]

    times = {(e, t, k): [] for e in engines for t in (1, 2) for k in WIDTHS}
    calls = {}
    checksums = {}
    for k in range(rounds):
        for threads in (1, 2):
            before = machine.measure(options, [threads])[threads]
            for engine in engines:
                if engine == "plimsoll":
                    command = [kernel, folder, threads, repetitions, *WIDTHS]
                else:
                    command = [*peer, engine, folder, "--threads", threads, "--repetitions", repetitions, "--widths",
                               *WIDTHS]
                result = environment.answer(command, threads)
                if engine == engines[0] and result:
                    after = machine.measure(options, [threads])[threads]
                    peaks[threads].append({name: (before[name] + after[name]) / 2 for name in before})
                for width, found in (result or {"widths": {}})["widths"].items():
                    times[engine, threads, int(width)].append(found["seconds"])
                    checksums.setdefault(int(width), {})[engine] = found["checksum"]
                mine = {w: times[engine, threads, w] for w in WIDTHS if times[engine, threads, w]}
                shown = ", ".join(f"k = {w}: {1e3 * t[-1]:.1f} ms" for w, t in mine.items())
                environment.say(f"round {k + 1} of {rounds}, {engine}, {report.threads(threads)}: {shown}")
            for engine in engines:
                if engine == "mkl":
                    continue
                if engine == "plimsoll":
                    commands = {"plimsoll": [inference, f"data={folder / 'graph.npz'}", f"threads={threads}",
                                             f"hidden={HIDDEN}", f"classes={CLASSES}", f"calls={repetitions}"]}
                    commands["plimsoll, no cache"] = [*commands["plimsoll"], "cache=0"]
                else:
                    commands = {name: [*peer, f"infer-{name}", folder, "--threads", threads, "--repetitions",
                                       repetitions, "--hidden", HIDDEN, "--classes", CLASSES]
                                for name in ("torch", "pyg")}
                for name, command in commands.items():
                    result = environment.answer(command, threads)
                    if result:
                        calls.setdefault((name, threads), []).append((result["first_s"], result["median_s"]))
                        environment.say(f"round {k + 1} of {rounds}, inference, {name}, {report.threads(threads)}: "
                                        f"{result['median_s']:.3f} s")
    for width, by_engine in checksums.items():
        values = list(by_engine.values())
        if max(values) - min(values) > 1e-4 * max(map(abs, values)):
            environment.loudly(f"k = {width}: the products differ: {by_engine}")

    rows, lines = [], []
    seconds = {key: statistics.median(t) for key, t in times.items() if t}
    for threads in (1, 2):
        triad, gather = (statistics.median(peak[name] for peak in peaks[threads]) for name in ("triad_gb_s", "gather_gb_s"))
        for width in WIDTHS:
            flops, moved = 2 * nnz * width, nnz * (8 + 4 * width) + 4 * width * n
            line = [f"{report.threads(threads)}, k = {width}"]
            for engine in engines:
                s = seconds.get((engine, threads, width))
                if s is None:
                    line += ["–", "–"]
                    continue
                share_of_triad, share_of_gather = (
                    statistics.median(moved / t / 1e9 / peak[name] for t, peak in
                                      zip(times[engine, threads, width], peaks[threads]))
                    for name in ("triad_gb_s", "gather_gb_s"))
                rows.append(dict(engine=engine, threads=threads, k=width, ms=1e3 * s, gflops=flops / s / 1e9,
                                 gb_s=moved / s / 1e9, triad_gb_s=triad, share_of_triad=share_of_triad,
                                 gather_gb_s=gather, share_of_gather=share_of_gather))
                if engine == "plimsoll":
                    shares = [f"{100 * share_of_triad:.0f} %", f"{100 * share_of_gather:.0f} %"]
                line += [f"{1e3 * s:.1f}", report.number(flops / s / 1e9)]
            ours = seconds.get(("plimsoll", threads, width))
            others = [seconds[e, threads, width] for e in engines if e != "plimsoll" and (e, threads, width) in seconds]
            line.append(report.number(min(others) / ours) + "×" if ours and others else "–")
            line += shares if ours else ["–", "–"]
            lines.append(line)
    report.write_csv(options, "spmm", rows)
    inference_rows = [dict(engine=name, threads=threads, first_s=statistics.median(c[0] for c in t),
                           later_s=statistics.median(c[1] for c in t)) for (name, threads), t in calls.items()]
    report.write_csv(options, "inference", inference_rows)
    header = ["", *(f"{NAMES[e]}, {unit}" for e in engines for unit in ("ms", "GFLOP/s")), "best rival takes",
              "share of triad", "share of gather"]
    inference_lines = [[f"{NAMES[r['engine']]}, {report.threads(r['threads'])}", report.number(r["first_s"]),
                        report.number(r["later_s"])] for r in sorted(inference_rows, key=lambda r: r["threads"])]
    (low_triad, low_gather), (high_triad, high_gather) = (
        [report.number(statistics.median(peak[name] for peak in peaks[t])) for name in ("triad_gb_s", "gather_gb_s")]
        for t in (1, 2))
    report.write_part(options, "spmm", f"""## Whole-graph products and inference

The graph follows a power law (exponent {EXPONENT}, random neighbours, largest degree {largest:,}) and has {n:,} nodes; Â has {nnz:,}
non-zeros. The product is Â·X for dense X of k columns, with the kernel that inference uses, with MKL (`mkl_sparse_s_mm` after
`mkl_sparse_set_mm_hint` and `mkl_sparse_optimize`) and with PyTorch (CSR @ dense). Median of {rounds} round{'s' if rounds > 1 else ''}.

- Targets: the best other library takes at least as long (1×), and Plimsoll reaches 80 % of the triad ({low_triad} GB/s on one thread,
  {high_triad} on two). A product counts as nnz·(8 + 4k) + 4kn bytes.
- The gather ({low_gather} and {high_gather} GB/s, see Machine) reads rows at random places. It would bound this product if no row
  were read again while it is in the cache.
- Both are measured right before and after each run of Plimsoll, because a shared machine changes within minutes. A share is
  relative to the mean of the two; the table has the median of the rounds.

{report.table(header, lines)}
Inference of a 2-layer GCN ({FEATURES} features, {HIDDEN} hidden, {CLASSES} classes) on all nodes, in seconds.
Plimsoll's first call computes ÂX. The graph keeps it for later calls, within the limit on its memory.

{report.table(["", "first call", "later calls"], inference_lines)}
{report.provenance()}""")
    shutil.rmtree(folder)
