"""Seeded random graphs, models, batches and draws, each as arrays and in the library."""
import numpy as np
import scipy.sparse as sp

from . import SPLITS, graph_of_edges, model_of, oracle, pl


class Case:
    """A graph with features, labels and splits; a model; a batch; draws for every layer.

    All numbers are rounded to float first, so that the library and the oracle start with the same ones."""

    def __init__(self, name, seed, *, n, kind="edges", weighted=False, normalization=oracle.SYMMETRIC, sparse=False,
                 width=5, hidden=(), classes=3, lam=0.0, degree=3.0, normalize=False, whole_batch=False):
        rng = np.random.default_rng(seed)
        self.name, self.n, self.kind, self.normalization, self.lam = name, n, kind, normalization, lam
        self.edge_list(rng, round(n * degree / 2), weighted)
        self.a_hat = oracle.normalize_adjacency(self.a, normalization)
        self.features(rng, width, sparse, normalize)
        labels = rng.integers(0, classes, n)
        labels[rng.random(n) < 0.15] = -1
        labels[rng.integers(n)] = classes - 1
        self.labels = labels
        labelled = rng.permutation(np.flatnonzero(labels >= 0))
        cuts = np.sort(rng.integers(1, len(labelled) + 1, 2))
        self.splits = np.split(labelled, cuts)
        self.parameters(rng, [width, *hidden, classes])
        size = len(labelled) if whole_batch else rng.integers(1, len(labelled) + 1)
        self.batch = rng.permutation(labelled)[:size]
        self.own_weights = rng.uniform(0.2, 3.0, n)
        # A list of nodes with repeats, in no order.
        self.some_nodes = rng.integers(0, n, rng.integers(1, n + 3))
        self.plans = self.draw_plans(rng)

    def edge_list(self, rng, m, weighted):
        """Edges, some of them repeated, reversed or self-loops. About a tenth of the nodes has none."""
        n = self.n
        linked = np.flatnonzero(rng.random(n) < 0.9)
        linked = linked if len(linked) else np.arange(n)
        edges = rng.choice(linked, (m, 2)).astype(np.int32)
        if m:
            again = edges[rng.integers(0, m, 1 + m // 6)]
            loops = np.repeat(rng.choice(linked, 1 + m // 10), 2).reshape(-1, 2)
            edges = np.concatenate([edges, again, again[::2, ::-1], loops]).astype(np.int32)
            edges = np.ascontiguousarray(rng.permutation(edges))
        weights = rng.uniform(0.1, 2.0, len(edges)).astype(np.float32) if weighted else None
        if weighted and len(edges) > 5:
            weights[rng.integers(0, len(edges), 2)] = 0.0
        self.edges, self.edge_weights = edges, weights
        if self.kind == "csr":
            # Row v lists the nodes that v aggregates from: directed, unsorted, with repeats.
            order = np.argsort(edges[:, 0], kind="stable")
            self.indptr = np.concatenate([[0], np.cumsum(np.bincount(edges[:, 0], minlength=n))]).astype(np.int64)
            self.indices = np.ascontiguousarray(edges[order, 1])
            self.edge_weights = None if weights is None else np.ascontiguousarray(weights[order])
            self.a = oracle.adjacency_of_csr(n, self.indptr, self.indices, self.edge_weights)
        else:
            self.a = oracle.adjacency_of_edges(n, edges, weights)

    def features(self, rng, width, sparse, normalize):
        x = rng.normal(size=(self.n, width))
        if normalize:
            x = np.abs(x) + 0.1
        if sparse:
            x[rng.random(x.shape) < 0.7] = 0.0
        x[rng.random(self.n) < 0.05] = 0.0
        x = x.astype(np.float32)
        self.normalize_features = normalize
        self.raw_x = sp.csr_matrix(x) if sparse else x
        self.x = self.raw_x.astype(np.float64)
        if normalize:
            self.x = oracle.normalize_rows(self.x)

    def parameters(self, rng, widths):
        """Weights that keep the outputs of every layer at the size of its inputs, whatever Â does."""
        largest = max(1.0, abs(self.a_hat).sum(1).max())
        self.widths = widths
        self.weights = []
        for fan_in, fan_out in zip(widths, widths[1:]):
            w = rng.normal(size=(fan_in, fan_out)) / (np.sqrt(fan_in) * largest ** 0.5)
            self.weights.append(w.astype(np.float32).astype(np.float64))

    def draw_plans(self, rng):
        """(name, distribution or weights, draws of every layer) of each plan: for each distribution one with all layers
        sampled, and one with some layers exact."""
        def some(layer_sampled):
            return [rng.integers(0, self.n, rng.integers(1, 2 * self.n + 4)) if s else None for s in layer_sampled]

        num_layers = len(self.weights)
        plans = []
        for name in (*oracle.DISTRIBUTIONS, "weights"):
            distribution = self.own_weights if name == "weights" else name
            plans.append((name, distribution, some([True] * num_layers)))
            if num_layers > 1:
                sampled = rng.random(num_layers) < 0.5
                sampled[rng.integers(num_layers)] = True
                sampled[rng.integers(num_layers)] = False
                plans.append((name, distribution, some(sampled)))
        return plans

    def make_confident(self, loss):
        """Makes the half of the nodes with the largest margins the training nodes, labels them as the model predicts, and
        scales the last layer until the training loss is about `loss`."""
        logits = oracle.embed(self.a_hat, self.x, self.weights)[-1]
        margins = np.diff(np.sort(logits, 1)[:, -2:], axis=1).ravel()
        train = np.argsort(-margins)[:self.n // 2]
        self.labels[train] = logits[train].argmax(1)
        self.splits = [train, [], []]
        low, high = 0.0, 1e4
        for _ in range(60):
            scale = (low + high) / 2
            if oracle.cross_entropy(scale * logits[train], self.labels[train]) > loss:
                low = scale
            else:
                high = scale
        self.weights[-1] = (high * self.weights[-1]).astype(np.float32).astype(np.float64)

    def graph(self):
        """The same in the library."""
        settings = {"normalization": self.normalization, "features": self.raw_x, "labels": self.labels,
                    **dict(zip(SPLITS, self.splits))}
        if self.kind == "csr":
            graph = pl.Graph.from_csr(self.n, self.indptr, self.indices, self.edge_weights, **settings)
        else:
            graph = graph_of_edges(self.n, self.edges, self.edge_weights, **settings)
        if self.normalize_features:
            graph.normalize_features()
        return graph

    def model(self):
        return model_of(self.weights, regularization=self.lam)

    @staticmethod
    def estimator(distribution, draws):
        """The estimator of a plan. A layer with pinned draws uses all of them, whatever its sample size."""
        estimator = pl.Estimator.consistent([0 if nodes is None else 1 + layer for layer, nodes in enumerate(draws)])
        if isinstance(distribution, np.ndarray):
            estimator.set_weights(distribution)
        else:
            estimator.set_distribution(distribution)
        for layer, nodes in enumerate(draws):
            if nodes is not None:
                estimator.set_draws(layer, nodes)
        return estimator


def special():
    """The smallest graphs, and odd widths."""
    yield Case("one node without an edge", 1, n=1, degree=0)
    yield Case("one node with a self-loop", 2, n=1, degree=2, hidden=[4])
    yield Case("one node, A as it is", 3, n=1, degree=0, normalization=oracle.NONE, hidden=[2])
    yield Case("no edges at all", 4, n=9, degree=0, hidden=[3])
    yield Case("no edges at all, A as it is", 5, n=9, degree=0, normalization=oracle.NONE)
    yield Case("two nodes", 6, n=2, degree=2, lam=0.5)
    yield Case("one feature, one class", 7, n=20, width=1, classes=1, hidden=[1], lam=0.3)
    yield Case("a dense graph", 8, n=40, degree=60, weighted=True, hidden=[8])
    yield Case("widths of no round number", 9, n=70, width=37, hidden=[33, 17], classes=7)
    yield Case("a wide last layer", 10, n=30, width=3, classes=70)


def confident():
    """Models that predict almost every label, as at the end of training."""
    for seed, loss in enumerate([1e-1, 1e-2, 1e-3, 1e-4, 1e-5]):
        case = Case(f"loss {loss:g}", [11, seed], n=40, width=8, hidden=[6], classes=4, normalization=oracle.ROW)
        case.make_confident(loss)
        yield case


def random_cases(count):
    """Every pair of normalisation, kind, weights and features occurs; sizes, depths and λ are drawn."""
    for index in range(count):
        rng = np.random.default_rng([2024, index])
        normalization, kind = oracle.NORMALIZATIONS[index % 3], ["edges", "edges", "csr"][index // 3 % 3]
        weighted, sparse = bool(index % 2), bool(index // 2 % 2)
        hidden = rng.integers(1, 24, rng.integers(0, 4)).tolist()
        n = int(rng.choice([rng.integers(2, 12), rng.integers(12, 80), rng.integers(80, 201)]))
        lam = float(rng.choice([0.0, 0.01, 0.7]))
        name = (f"case {index}: n {n}, {kind}{', weighted' if weighted else ''}, {normalization}, "
                f"{'sparse' if sparse else 'dense'} features, {len(hidden) + 1} layers, λ {lam}")
        yield Case(name, [7, index], n=n, kind=kind, weighted=weighted, normalization=normalization, sparse=sparse,
                   width=int(rng.integers(1, 40)), hidden=hidden, classes=int(rng.integers(2, 9)), lam=lam,
                   degree=float(rng.uniform(0.5, 8.0)), normalize=bool(rng.random() < 0.3),
                   whole_batch=bool(rng.random() < 0.2))


def all_cases():
    yield from special()
    yield from random_cases(54)
