"""Confusion matrices and macro-F1, against scikit-learn."""
import sys
import warnings

import numpy as np

import plimsoll as pl
from support import check, need, raises

(metrics,) = need("sklearn.metrics")


def f1(labels, predictions):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return metrics.f1_score(labels, predictions, average="macro", zero_division=0)


def counted(labels, predictions, classes):
    return metrics.confusion_matrix(labels, predictions, labels=np.arange(classes))


def test_a_models_confusion_is_that_of_its_predictions():
    graph = pl.Graph.from_mixture(400, 1)
    for outputs, epochs in ((3, 0), (3, 30), (5, 0), (5, 30)):
        model = pl.Model.gcn([2, 8, outputs], seed=2)
        if epochs:
            pl.train(model, graph, pl.Estimator.unbiased(), pl.Optimizer.adam(0.05), epochs=epochs)
        for split in ("train", "val", "test"):
            nodes = getattr(graph, split)
            labels, predictions = graph.labels[nodes], model.predict(graph, nodes).argmax(axis=1)
            matrix = model.confusion(graph, split)
            check.same(matrix, counted(labels, predictions, outputs), f"{outputs} outputs, {split}")
            assert abs(pl.macro_f1(matrix) - f1(labels, predictions)) < 1e-12
            assert np.trace(matrix) / len(nodes) == model.evaluate(graph, split).accuracy
    raises(ValueError, model.confusion, graph, "all")
    graph.test = []
    raises(pl.MissingDataError, model.confusion, graph, "test")


def test_macro_f1_is_scikit_learns_whatever_is_absent():
    random = np.random.default_rng(0)
    absent, ours, theirs = {"labels": 0, "predictions": 0, "both": 0}, [], []
    for _ in range(2000):
        classes, count = random.integers(1, 9), random.integers(1, 25)
        # Few of the classes, and not the same few, so that some are missing on one side, some on both.
        some = [random.choice(classes, random.integers(1, classes + 1)) for _ in range(2)]
        labels, predictions = (random.choice(s, count) for s in some)
        known = np.isin(np.arange(classes), labels), np.isin(np.arange(classes), predictions)
        absent["labels"] += bool(np.any(~known[0] & known[1]))
        absent["predictions"] += bool(np.any(known[0] & ~known[1]))
        absent["both"] += bool(np.any(~known[0] & ~known[1]))
        ours.append(pl.macro_f1(counted(labels, predictions, classes)))
        theirs.append(f1(labels, predictions))
    print(f"of 2,000 trials, a class was missing from: {absent}")
    assert min(absent.values()) > 200 and np.max(np.abs(np.subtract(ours, theirs))) < 1e-12


def test_what_is_no_confusion_matrix_is_refused():
    assert pl.macro_f1([[1, 0], [0, 1]]) == 1.0
    raises(pl.ShapeMismatchError, pl.macro_f1, [1, 2, 3], text="square")
    raises(pl.ShapeMismatchError, pl.macro_f1, [[1, 2, 3], [4, 5, 6]], text="square")
    raises(pl.InvalidArgumentError, pl.macro_f1, [[1, -2], [3, 4]], text="confusion[1] = -2")
    raises(TypeError, pl.macro_f1, [[0.5, 0.5], [0.5, 0.5]])
    raises(pl.InvalidArgumentError, pl.macro_f1, np.zeros((3, 3), int), text="no node")
    raises(pl.InvalidArgumentError, pl.macro_f1, np.zeros((0, 0), int), text="num_classes = 0")


if __name__ == "__main__":
    sys.exit(check.run(check.named(globals())))
