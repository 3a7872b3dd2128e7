"""GCNClassifier: alone, and in scikit-learn's hands."""
import pickle
import subprocess
import sys

import numpy as np

import plimsoll as pl
from support import check, raises

GRAPH = pl.Graph.from_mixture(400, 1)
LABELS = GRAPH.labels
NODES = np.random.default_rng(0).permutation(GRAPH.num_nodes)
SETTINGS = dict(epochs=60, step=0.05, seed=1)


def test_it_learns_from_some_nodes_and_classifies_others():
    before = [GRAPH.labels, GRAPH.train, GRAPH.val]
    names = np.array(["left", "right", "top"])[LABELS]
    classifier = pl.GCNClassifier(GRAPH, validation_fraction=0.2, **SETTINGS)
    assert classifier.fit(NODES[:600], names[NODES[:600]]) is classifier
    accuracy = classifier.score(NODES[600:], names[NODES[600:]])
    print(f"Mixture of 1,200 nodes, 600 labelled: {accuracy:.1%} of the others")
    assert accuracy > 0.7
    assert list(classifier.classes_) == ["left", "right", "top"] and classifier.history_.best_epoch > 0
    probabilities = classifier.predict_proba(NODES[:5])
    assert probabilities.shape == (5, 3) and np.allclose(probabilities.sum(1), 1)
    assert set(classifier.predict()) <= set(names) and len(classifier.predict()) == GRAPH.num_nodes
    for found, expected in zip([GRAPH.labels, GRAPH.train, GRAPH.val], before):
        check.same(found, expected, "the graph stays as it is")
    other = pl.Graph.from_mixture(300, 2)
    assert classifier.predict_proba(graph=other).shape == (900, 3)
    copied = pickle.loads(pickle.dumps(classifier))
    check.same(copied.predict(NODES[:9]), classifier.predict(NODES[:9]), "it pickles")


def test_minus_one_is_unlabelled():
    y = LABELS.copy()
    y[NODES[600:]] = -1
    all_nodes = pl.GCNClassifier(GRAPH, **SETTINGS).fit(None, y)
    some = np.sort(NODES[:600])
    listed = pl.GCNClassifier(GRAPH, **SETTINGS).fit(some, LABELS[some])
    check.same(all_nodes.predict_proba(), listed.predict_proba(), "both ways")
    assert list(all_nodes.classes_) == [0, 1, 2]
    assert all_nodes.score(None, y) == listed.score(some, LABELS[some])
    raises(ValueError, listed.fit, None, np.full(GRAPH.num_nodes, -1), text="no label")
    raises(pl.ShapeMismatchError, listed.fit, [1, 2], [0])
    raises(ValueError, pl.GCNClassifier().fit, [1], [0])
    raises(ValueError, pl.GCNClassifier(GRAPH).predict, [1], text="not fitted")


def test_wrong_parameters_and_nodes_are_named():
    raises(TypeError, pl.GCNClassifier(GRAPH, hidden=16).fit, None, LABELS, text="(16,) is one layer")
    raises(ValueError, pl.GCNClassifier(GRAPH, patience=3).fit, None, LABELS, text="validation_fraction")
    assert pl.GCNClassifier(GRAPH, epochs=2, patience=1, monitor="train_loss").fit(None, LABELS).history_.num_epochs == 2
    classifier = pl.GCNClassifier(GRAPH, epochs=1)
    raises(ValueError, classifier.fit, [0, 1], [0.0, np.nan], text="NaN")
    for node in (-1, GRAPH.num_nodes):
        raises(pl.InvalidArgumentError, classifier.fit, [0, node], [0, 1], text=f"X[1] = {node} is outside [0, 1200)")


def test_parameters_are_those_of_the_constructor():
    classifier = pl.GCNClassifier(GRAPH, hidden=(8,), epochs=3)
    assert classifier.get_params()["hidden"] == (8,) and classifier.get_params()["graph"] is GRAPH
    assert classifier.set_params(epochs=5, sample_sizes=[0, 50]).epochs == 5
    raises(ValueError, classifier.set_params, layers=3, text="layers")
    assert "hidden=(8,)" in repr(classifier)
    assert classifier.fit(NODES, LABELS[NODES]).history_.num_epochs == 5


def test_it_stops_by_its_monitor_and_tells_its_log():
    lines = []
    classifier = pl.GCNClassifier(GRAPH, epochs=500, step=0.05, validation_fraction=0.3, patience=5, monitor="val_loss",
                                  log=lambda *line: lines.append(line))
    history = classifier.fit(NODES[:600], LABELS[NODES[:600]]).history_
    assert history.num_epochs == history.best_epoch + 5 < 500
    assert history.best_epoch == history.val_loss.argmin() + 1
    stopped = [text for level, text in lines if level == "info" and "no better validation loss" in text]
    assert len(stopped) == 1, lines
    assert classifier.get_params()["monitor"] == "val_loss"


def test_scikit_learn_clones_validates_and_searches():
    from sklearn.base import clone, is_classifier
    from sklearn.model_selection import GridSearchCV, cross_val_score
    classifier = pl.GCNClassifier(GRAPH, **SETTINGS)
    twin = clone(classifier.fit(NODES[:99], LABELS[NODES[:99]]))
    assert twin.graph is GRAPH and not hasattr(twin, "model_") and twin.get_params() == classifier.get_params()
    assert is_classifier(classifier)
    scores = cross_val_score(classifier, NODES, LABELS[NODES], cv=3)
    print(f"three folds: {', '.join(f'{score:.1%}' for score in scores)}")
    assert scores.shape == (3,) and scores.min() > 0.7
    search = GridSearchCV(classifier, {"hidden": [(4,), (16,)]}, cv=2).fit(NODES, LABELS[NODES])
    assert search.best_score_ > 0.7 and search.predict(NODES[:3]).shape == (3,)


def test_nothing_optional_is_imported_with_the_package():
    code = ("import sys, plimsoll\n"
            "print([n for n in ('scipy', 'sklearn', 'networkx', 'torch', 'tqdm') if n in sys.modules])")
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "[]"


if __name__ == "__main__":
    sys.exit(check.run(check.named(globals())))
