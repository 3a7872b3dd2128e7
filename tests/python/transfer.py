"""Models on other graphs: one trained on a part of Cora predicts on all of it; one trained on a Mixture graph predicts on
another. PLIMSOLL_DATA names the directory of Cora."""
import sys

import numpy as np
import scipy.sparse as sp

from datasets import load
from support import SPLITS, check, graph_of_edges, oracle, pl

SEEDS = range(3)


class Part:
    """Some nodes of a data set in a new order, and the edges between them, with their features, labels and splits."""

    def __init__(self, a, x, labels, splits, nodes):
        place = np.full(a.shape[0], -1)
        place[nodes] = np.arange(len(nodes))
        self.nodes = nodes
        self.a, self.x, self.labels = a[nodes][:, nodes].tocoo(), sp.csr_matrix(x[nodes]), labels[nodes]
        self.a_hat = oracle.normalize_adjacency(self.a)
        self.splits = [place[split][place[split] >= 0] for split in splits]

    def graph(self):
        upper = self.a.row <= self.a.col
        return graph_of_edges(len(self.nodes), np.stack([self.a.row[upper], self.a.col[upper]], 1), features=self.x,
                              labels=self.labels, **dict(zip(SPLITS, self.splits)))


def trained(graph, layers, estimator, optimizer, seed):
    """A model that has seen this graph only."""
    model = pl.Model.gcn([graph.num_features] + [16] * (layers - 1) + [graph.num_classes], seed=seed)
    estimator.set_seed(seed)
    pl.train(model, graph, estimator, optimizer, seed=seed)
    return model


def sgd(step):
    return pl.Optimizer.sgd(step, schedule="inverse_sqrt")


def accuracy(model, graph, nodes, labels):
    return np.mean(model.predict(graph, nodes).argmax(1) == labels[nodes])


def check_against_scipy(model, graph, part, what):
    """Predictions on a graph use its own Â, whichever graph the model was trained on."""
    weights = [w.astype(np.float64) for w in model.weights]
    expected = oracle.softmax(oracle.embed(part.a_hat, part.x, weights)[-1])
    check.close(model.predict(graph), expected, what)


def a_part_of_cora_is_enough_for_the_rest(layers, estimator_of, what):
    """A fifth of the nodes is held back, with all its edges, and returns after training. A second model knows the whole
    graph from the start, but not the labels of that fifth. In the mean over the seeds, both must be far above the share of
    the most frequent class, and within 5 points of each other."""
    a, x, labels, splits = load("cora")
    n = a.shape[0]
    step = {1: 1e3, 2: 1e2}[layers]
    inductive, transductive = [], []
    for seed in SEEDS:
        order = np.random.default_rng(seed).permutation(n)
        held_back, kept = order[:n // 5], order[n // 5:]
        known = [np.setdiff1d(split, held_back) for split in splits]
        whole, part = Part(a, x, labels, known, np.arange(n)), Part(a, x, labels, splits, kept)
        with whole.graph() as graph, part.graph() as smaller:
            assert smaller.num_edges < graph.num_edges - n // 5
            with trained(smaller, layers, estimator_of(), sgd(step), seed) as model:
                check_against_scipy(model, smaller, part, f"the graph of training: {what}")
                check_against_scipy(model, graph, whole, f"another graph: {what}")
                inductive.append(accuracy(model, graph, held_back, labels))
            with trained(graph, layers, estimator_of(), sgd(step), seed) as model:
                transductive.append(accuracy(model, graph, held_back, labels))
    chance = np.bincount(labels).max() / n
    text = (f"held-back nodes of Cora, {what}: {np.mean(inductive):.1%} unseen, {np.mean(transductive):.1%} when their "
            f"edges were seen; the largest class has {chance:.1%}")
    print(text)
    assert np.mean(inductive) > chance + 0.4, text
    assert abs(np.mean(inductive) - np.mean(transductive)) <= 0.05, text


def test_a_model_of_one_mixture_graph_predicts_on_another():
    with pl.Graph.from_mixture(2000, 1) as one, pl.Graph.from_mixture(700, 2) as other:
        with trained(one, 2, pl.Estimator.consistent([0, 800]), pl.Optimizer.adam(0.01), 1) as model:
            here = model.evaluate(one, "test").accuracy
            there = [model.evaluate(other, split).accuracy for split in SPLITS]
    # In a smaller graph a node has fewer neighbours, so it is harder. Each class has a third of the nodes.
    print(f"Mixture: {here:.1%} on the graph of training, {np.mean(there):.1%} on a smaller one")
    assert here > 0.8 and np.mean(there) > 0.6


def tests():
    estimators = {"1-layer, unbiased": (1, pl.Estimator.unbiased), "2-layer, unbiased": (2, pl.Estimator.unbiased),
                  "1-layer, consistent": (1, lambda: pl.Estimator.consistent([800])),
                  "2-layer, consistent": (2, lambda: pl.Estimator.consistent([0, 800]))}
    for what, (layers, estimator_of) in estimators.items():
        yield check.about(a_part_of_cora_is_enough_for_the_rest, what, layers, estimator_of, what)
    yield from check.named(globals())


if __name__ == "__main__":
    sys.exit(check.run(tests()))
