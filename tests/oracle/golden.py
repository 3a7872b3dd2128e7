#!/usr/bin/env python3
"""Computes the golden values of tests/golden.npz: `make golden`.

    golden.py OUT.npz

A graph of 12 nodes, one of them isolated; fixed weights, a batch and draws. For each case the loss and the gradient of every
layer, with λ = 0 (l0) and λ = 0.1 (l1). tests/golden.rs compares the library with them, tests/python/golden.py the file with
what this computes today.
"""
import sys

import numpy as np
import oracle
import scipy.sparse as sp

NODES, FEATURES, HIDDEN, CLASSES = 12, 5, 4, 3


def golden():
    """{name: array} of the file."""
    rng = np.random.default_rng(7)
    upper = np.triu(rng.random((NODES, NODES)) < 0.3, 1)
    upper[:, 11] = upper[11, :] = False
    x = rng.normal(size=(NODES, FEATURES))
    labels = rng.integers(0, CLASSES, NODES)
    w0, w1, w2 = (rng.normal(size=shape) for shape in ((FEATURES, HIDDEN), (HIDDEN, CLASSES), (FEATURES, CLASSES)))
    a_hat = oracle.normalize_adjacency(sp.csr_matrix((upper | upper.T).astype(float)))
    batch = np.array([0, 3, 11, 7])
    draws0, draws1 = np.array([2, 5, 5, 9, 0, 11]), np.array([1, 3, 8, 3, 10])
    arrays = dict(edges=np.argwhere(upper).astype("<i4"), features=x, labels=labels.astype("<i4"), w0=w0, w1=w1, w2=w2,
                  a_hat=a_hat.toarray(), importance=oracle.probabilities(a_hat, batch, oracle.IMPORTANCE),
                  batch=batch.astype("<i4"), draws0=draws0.astype("<i4"), draws1=draws1.astype("<i4"),
                  logits2=oracle.embed(a_hat, x, [w0, w1])[-1], logits1=oracle.embed(a_hat, x, [w2])[-1])
    every = np.arange(NODES)
    cases = {
        "one_full": ([w2], every, [None], oracle.UNIFORM),
        "one_batch": ([w2], batch, [None], oracle.UNIFORM),
        "one_consistent": ([w2], batch, [draws0], oracle.UNIFORM),
        "one_importance": ([w2], batch, [draws0], oracle.IMPORTANCE),
        "two_full": ([w0, w1], every, [None, None], oracle.UNIFORM),
        "two_batch": ([w0, w1], batch, [None, None], oracle.UNIFORM),
        "two_hidden": ([w0, w1], batch, [None, draws1], oracle.UNIFORM),
        "two_both": ([w0, w1], batch, [draws0, draws1], oracle.UNIFORM),
        "two_both_importance": ([w0, w1], batch, [draws0, draws1], oracle.IMPORTANCE),
    }
    for name, (weights, nodes, draws, distribution) in cases.items():
        for tag, lam in (("l0", 0.0), ("l1", 0.1)):
            loss, gradient = oracle.loss_and_gradient(a_hat, x, labels, weights, nodes, draws, distribution, lam)
            arrays[f"{name}_{tag}_loss"] = loss
            ends = np.cumsum([w.size for w in weights])[:-1]
            for layer, (part, w) in enumerate(zip(np.split(gradient, ends), weights)):
                arrays[f"{name}_{tag}_grad{layer}"] = part.reshape(w.shape)
    return arrays


if __name__ == "__main__":
    np.savez(sys.argv[1], **golden())
