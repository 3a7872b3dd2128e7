"""Full training steps of models made of layers, beside PyG and DGL."""
import statistics
import sys

import numpy as np

from . import environment, report

ENGINES = {"pyg": "PyG", "pygcsr": "PyG, CSR", "dgl": "DGL"}


def rmat(path, n, m, features, classes):
    """Writes a heavy-tailed graph (R-MAT with quadrants 0.57, 0.19, 0.19, 0.05) with random features and labels."""
    rng = np.random.default_rng(0)
    u, v = np.zeros(m, np.int64), np.zeros(m, np.int64)
    for _ in range((n - 1).bit_length()):
        r = rng.random(m)
        u = 2 * u + (r >= 0.76)
        v = 2 * v + ((r >= 0.57) & (r < 0.76) | (r >= 0.95))
    edges = np.stack([u % n, v % n], 1)
    edges = np.unique(np.sort(edges[edges[:, 0] != edges[:, 1]], 1), axis=0)
    np.savez(path, num_nodes=n, edges=edges.astype(np.int32), features=rng.random((n, features), dtype=np.float32),
             labels=rng.integers(0, classes, n).astype(np.int32), train=np.sort(rng.permutation(n)[: n // 2]).astype(np.int32))


def run(options):
    environment.build_library()
    program = environment.compile_c("layers")
    n, m = (10_000, 100_000) if options.quick else (50_000, 500_000)
    made = environment.WORK / f"rmat-{n}.npz"
    if not made.exists():
        rmat(made, n, m, 64, 16)
    graphs = {f"R-MAT, {n:,} nodes, {m:,} edges": (made, 3)}
    data = environment.data_sets(environment.compile_c("cells"))
    if "Pubmed" in data:
        graphs = {"Pubmed": (data["Pubmed"][0], 2), **graphs}
    steps, rounds = (4, 1) if options.quick else (12, options.rounds or 3)
    engines = [engine for engine in ENGINES if not options.engines or engine in options.engines]
    rows, lines = [], []
    for name, (path, depth) in graphs.items():
        for kind in ("gcn", "sage", "gin", "gat", "gatv2"):
            for threads in (1, 2):
                found = {}
                for _ in range(rounds):  # in turn, because the machine varies
                    ours = [program, f"data={path}", f"layer={kind}", f"layers={depth}", "hidden=64", f"threads={threads}",
                            f"steps={steps}"]
                    found.setdefault("plimsoll", []).append(environment.answer(ours, threads))
                    for engine in engines:
                        peer = [sys.executable, environment.BENCHES / "peer_layers.py", engine, path, kind, depth, 64, threads, steps]
                        found.setdefault(engine, []).append(environment.answer(peer, threads))
                ms = {engine: statistics.median(r["ms"] for r in all if r) for engine, all in found.items() if any(all)}
                rows += [{"graph": name, "layer": kind, "layers": depth, "threads": threads, "engine": engine, "ms": value,
                          "mb": max(r["mb"] for r in found[engine] if r)} for engine, value in ms.items()]
                own = ms.get("plimsoll", float("nan"))
                lines.append([name, kind, depth, threads, report.number(own)] + [
                    f"{report.number(ms[e])} ({report.number(ms[e] / own)}×)" if e in ms else "–" for e in ENGINES])
    report.write_csv(options, "layers", rows)
    header = ["graph", "layer", "layers", "threads", "Plimsoll, ms", *(f"{name}, ms" for name in ENGINES.values())]
    report.write_part(options, "layers", f"""## Models made of layers

Milliseconds of a full training step (forward, backward, Adam) with hidden layers of 64, ReLU (ELU after attention) and dropout of 0.5:
medians of {steps} steps, and over rounds ({rounds}) ([layers.c](../../benches/c/layers.c),
[peer_layers.py](../../benches/peer_layers.py)). Attention, `gat` and `gatv2`, has 8 heads of 8 columns, and one head in the last layer.

{report.table(header, lines, 2)}
{report.provenance()}""")
