"""What these tests share: the library's Python package, the oracle, random cases, and a way to run tests.

The package is the one in this source tree. PLIMSOLL_LIB names the library, by default the one that `make` builds.
"""
import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
os.environ.setdefault("PLIMSOLL_LIB", str(ROOT / "target" / "release" / "libplimsoll.so"))
sys.path[:0] = [str(ROOT / "bindings" / "python"), str(ROOT / "tests" / "oracle")]

import oracle  # noqa: E402, F401
import plimsoll as pl  # noqa: E402

SPLITS = ("train", "val", "test")


def graph_of_edges(num_nodes, edges, weights=None, **settings):
    """A graph of an array with an edge per row."""
    sources, targets = edges.T if len(edges) else ([], [])
    return pl.Graph.from_edges(num_nodes, sources, targets, weights, **settings)


def model_of(weights, **settings):
    """A model with these W(0), W(1), …, each fan_in × fan_out."""
    model = pl.Model.gcn([len(weights[0]), *(w.shape[1] for w in weights)], **settings)
    model.weights = weights
    return model
