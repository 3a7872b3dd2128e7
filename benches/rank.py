"""How long each estimator takes to rank as well as the full gradient does.

    python benches/rank.py [queries [documents of a query]]

Requires the package `plimsoll`. A synthetic problem: 10^4 queries of 100 documents, 40 features, five levels of relevance that
depend on a linear score and noise; a tenth of the queries is for validation. Each run uses Adam with the same start, and the
steps 0.1 and 0.02, of which the faster counts. The time is that of the training steps on one thread, until NDCG@10 is within
0.005 of the best value of the full gradient.
"""
import sys

import numpy as np

import plimsoll as pl

QUERIES = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
EACH = int(sys.argv[2]) if len(sys.argv) > 2 else 100
FEATURES, STEPS, NEAR = 40, (0.1, 0.02), 0.005


def problem(seed=0):
    """Queries differ in the relevance of their documents. Higher levels of 0 to 4 are rarer, as in LETOR."""
    random = np.random.default_rng(seed)
    features = random.standard_normal((QUERIES * EACH, FEATURES), dtype=np.float32)
    w = random.standard_normal(FEATURES) / np.sqrt(FEATURES)
    score = features @ w.astype(np.float32) + 0.7 * random.standard_normal(len(features), dtype=np.float32)
    score += np.repeat(0.3 * random.standard_normal(QUERIES), EACH)
    relevance = np.digitize(score, [0.2, 0.9, 1.6, 2.4]).astype(np.int32)
    offsets = np.arange(QUERIES + 1) * EACH
    first = QUERIES * 9 // 10
    return pl.RankData.from_arrays(features, relevance, offsets, train=range(first), val=range(first, QUERIES))


def run(data, widths, estimator, step, epochs, batch):
    model = pl.Model.gcn(widths, seed=1)
    return pl.train(model, data, estimator, pl.Optimizer.adam(step), epochs=epochs, batch_size=batch, monitor="val_ndcg")


def reached(history, goal):
    """Seconds of steps, and epochs, until NDCG reaches the goal; infinite if it does not."""
    there = np.flatnonzero(history.val_ndcg >= goal)
    return (np.cumsum(history.seconds)[there[0]], there[0] + 1) if len(there) else (np.inf, history.num_epochs)


def main():
    data = problem()
    print(f"{data!r}, NDCG@10 of a random model {data.evaluate(pl.Model.gcn([FEATURES, 1], seed=9), 'val').ndcg:.4f}")
    for widths in ([FEATURES, 1], [FEATURES, 16, 1]):
        full = [run(data, widths, pl.Estimator.full(), step, 60, 1) for step in STEPS]
        goal = max(h.val_ndcg.max() for h in full) - NEAR
        rows = {"full": (1, full)}
        others = {"all pairs, 64 queries": pl.Estimator.unbiased, "8 pairs, 64 queries": lambda: pl.Estimator.pairs(8),
                  "4 + 4 documents, 64 queries": lambda: pl.Estimator.separate(4),
                  "8 + 8 documents, 64 queries": lambda: pl.Estimator.separate(8),
                  "8 + 8, self-normalised": lambda: pl.Estimator.separate(8, self_normalized=True)}
        for name, make in others.items():
            runs = [run(data, widths, make(), step, 5, 64) for step in STEPS]
            rows[name] = (data.num_queries * 9 // 10 / 64, runs)
        base = min(reached(h, goal) for h in full)[0]
        print(f"\nwidths {widths}: the goal is {goal:.4f}\n")
        print("| estimator | best NDCG@10 | ms a step | seconds to the goal | epochs | times as fast |")
        print("|---|---|---|---|---|---|")
        for name, (steps, runs) in rows.items():
            seconds, epochs = min(reached(h, goal) for h in runs)
            best, step = max(h.val_ndcg.max() for h in runs), np.median(np.concatenate([h.seconds for h in runs])) / steps
            print(f"| {name} | {best:.4f} | {1e3 * step:.3f} | {seconds:.3f} | {epochs} | {base / seconds:.0f} |", flush=True)


if __name__ == "__main__":
    main()
