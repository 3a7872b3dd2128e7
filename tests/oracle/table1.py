#!/usr/bin/env python3
"""Trains the models of the paper's Table 1 with the oracle: the columns oracle_… of paper/table1.csv. Minutes per seed.

    table1.py [--data Cora] [--layers 2] [--algorithm 400] [--seeds 3]

PLIMSOLL_DATA names the directory of the data sets. Prints mean and standard deviation of the test accuracy, beside the file.
"""
import argparse
import csv
import os
import sys
from pathlib import Path

import numpy as np
import oracle
import scipy.sparse as sp

TABLE = Path(__file__).resolve().parents[2] / "paper" / "table1.csv"
FILES = {"Mixture": "mixture_paper", "Cora": "cora", "Pubmed": "pubmed"}
EPOCHS, BATCH, HIDDEN = 100, 256, 16


def load(path):
    """A, X, labels and splits of a file."""
    with np.load(path, allow_pickle=False) as z:
        n = int(z["num_nodes"])
        edges = np.concatenate([z["edges"], np.repeat(z["self_loops"], 2).reshape(-1, 2)])
        if "features" in z:
            x = z["features"].astype(np.float64)
        else:
            parts = z["features_data"].astype(np.float64), z["features_indices"], z["features_indptr"]
            x = oracle.normalize_rows(sp.csr_matrix(parts, shape=(n, int(z["num_features"]))))
        return oracle.adjacency_of_edges(n, edges), x, z["labels"].astype(np.int64), [z[s] for s in ("train", "val", "test")]


def gradient(a_hat, x, aggregated, labels, weights, batch, draws):
    """The exact gradient of a batch, or with draws at the input of the last layer. ÂX, `aggregated`, is computed once."""
    identity = sp.identity
    if len(weights) == 1:
        if draws is not None:
            return oracle.loss_and_gradient(a_hat, x, labels, weights, batch, [draws])[1]
        return oracle.backpropagate([identity(len(batch))], aggregated[batch], labels[batch], weights)[1]
    if draws is not None:
        (top,), nodes = oracle.operators(a_hat, batch, [draws])
    else:
        top = a_hat[batch]
        nodes = np.unique(top.indices)
        top = top[:, nodes]
    return oracle.backpropagate([identity(len(nodes)), top], aggregated[nodes], labels[batch], weights)[1]


def train(a_hat, x, labels, splits, layers, algorithm, step, seed):
    """The test accuracy at the first epoch with the best validation accuracy."""
    rng = np.random.default_rng(seed)
    n, aggregated = a_hat.shape[0], a_hat @ x
    widths = [x.shape[1]] + [HIDDEN] * (layers - 1) + [int(labels.max()) + 1]
    limits = [np.sqrt(6.0 / (rows + columns)) for rows, columns in zip(widths, widths[1:])]
    w = oracle.flat([rng.uniform(-r, r, shape) for r, shape in zip(limits, zip(widths, widths[1:]))])
    m, v, k, best, result = np.zeros_like(w), np.zeros_like(w), 1, -1.0, 0.0
    for _ in range(EPOCHS):
        order = rng.permutation(splits[0])
        for start in range(0, len(order), BATCH):
            draws = rng.integers(0, n, int(algorithm)) if algorithm.isdigit() else None
            g = gradient(a_hat, x, aggregated, labels, split(w, widths), order[start:start + BATCH], draws)
            if algorithm == "adam":
                m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g ** 2
                w = w - step * np.sqrt(1 - 0.999 ** k) / (1 - 0.9 ** k) * m / (np.sqrt(v) + 1e-8)
            else:
                w = w - step / np.sqrt(k) * g
            k += 1
        predicted = oracle.embed(a_hat, x, split(w, widths))[-1].argmax(1)
        val, test = (np.mean(predicted[nodes] == labels[nodes]) for nodes in splits[1:])
        if val > best:
            best, result = val, test
    return result


def split(w, widths):
    """A vector of parameters as matrices."""
    shapes = list(zip(widths, widths[1:]))
    parts = np.split(w, np.cumsum([rows * columns for rows, columns in shapes])[:-1])
    return [part.reshape(shape) for part, shape in zip(parts, shapes)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("data", "layers", "algorithm"):
        parser.add_argument(f"--{name}", help="only these cells")
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args()
    directory = os.environ.get("PLIMSOLL_DATA") or sys.exit("PLIMSOLL_DATA is not set")
    print(f"{'':30}{'computed':>12}{'file':>12}")
    with TABLE.open(newline="") as lines:
        for row in csv.DictReader(lines):
            if any(getattr(options, name) not in (None, row[name]) for name in ("data", "layers", "algorithm")):
                continue
            a, x, labels, splits = load(Path(directory) / f"{FILES[row['data']]}.npz")
            a_hat = oracle.normalize_adjacency(a)
            found = [100 * train(a_hat, x, labels, splits, int(row["layers"]), row["algorithm"], float(row["step"]), seed)
                     for seed in range(options.seeds)]
            std = np.std(found, ddof=1) if len(found) > 1 else np.nan
            print(f"{row['data']} {row['layers']}-layer {row['algorithm']:16}{np.mean(found):6.1f} ± {std:3.1f}"
                  f"{row['oracle_mean']:>6} ± {row['oracle_std']}", flush=True)


if __name__ == "__main__":
    main()
