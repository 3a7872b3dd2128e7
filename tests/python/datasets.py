"""Cora, Pubmed, Citeseer and the paper's Mixture graph: sizes, Â and exact gradients against SciPy in float64; and the
statistics of the Mixture generator. PLIMSOLL_DATA names the directory of the files."""
import os
import sys

import numpy as np
import scipy.sparse as sp

from support import SPLITS, check, model_of, oracle, pl

# nodes, unique edges and self-loops, features, their non-zeros, classes, train / val / test
SIZES = {
    "mixture_paper": (6000, 16709, 0, 2, None, 3, (2400, 1200, 2400)),
    "cora": (2708, 5278, 0, 1433, 49216, 7, (1208, 500, 1000)),
    "pubmed": (19717, 44324, 3, 500, 988031, 3, (18217, 500, 1000)),
    "citeseer": (3327, 4552, 124, 3703, 105165, 6, (1812, 500, 1000)),
}
MEANS = np.array([[-0.5, 0.0], [0.5, 0.0], [0.0, 0.866]])
DEVIATIONS = np.array([0.75, 0.5, 0.25])
SEEDS = range(8)


def load(name):
    """A and X of a data set in SciPy, labels and splits. The rows of X sum to 1, except in Mixture."""
    with np.load(check.data(name), allow_pickle=False) as z:
        n = int(z["num_nodes"])
        e, loops = z["edges"], z["self_loops"]
        upper = sp.coo_matrix((np.ones(len(e)), (e[:, 0], e[:, 1])), shape=(n, n))
        a = (upper + upper.T + sp.coo_matrix((np.ones(len(loops)), (loops, loops)), shape=(n, n))).tocsr()
        if "features" in z:
            x = z["features"].astype(np.float64)
        else:
            parts = z["features_data"].astype(np.float64), z["features_indices"], z["features_indptr"]
            x = oracle.normalize_rows(sp.csr_matrix(parts, shape=(n, int(z["num_features"]))))
        return a, x, z["labels"], [z[key] for key in SPLITS]


def open_graph(name):
    """The same in the library."""
    graph = pl.Graph.load(check.data(name))
    if name != "mixture_paper":
        graph.normalize_features()
    return graph


def sizes_are_those_of_the_table(name):
    nodes, edges, loops, features, nonzeros, classes, splits = SIZES[name]
    a, x, labels, of_file = load(name)
    with open_graph(name) as graph:
        assert graph.num_nodes == nodes, graph.num_nodes
        assert graph.num_edges == edges + loops, graph.num_edges
        assert graph.num_features == features, graph.num_features
        assert graph.num_classes == classes, graph.num_classes
        check.same(graph.labels, labels, "labels")
        for split, size, nodes in zip(SPLITS, splits, of_file):
            found = getattr(graph, split)
            assert len(found) == size, f"{split} has {len(found)} nodes"
            check.same(found, nodes, split)
    assert a.nnz == 2 * edges + loops and a.diagonal().sum() == loops
    assert nonzeros is None or x.nnz == nonzeros
    if name == "citeseer":
        assert (labels < 0).sum() == 15 and (np.diff(a.indptr) - a.diagonal() == 0).sum() == 48


def a_hat_is_that_of_scipy(name):
    """Â times random vectors, and a few hundred columns of Â itself."""
    a, *_ = load(name)
    n = a.shape[0]
    rng = np.random.default_rng(3)
    columns = rng.choice(n, 200, replace=False)
    unit = sp.csr_matrix((np.ones(200, np.float32), (columns, np.arange(200))), shape=(n, 200))
    for normalization in oracle.NORMALIZATIONS:
        a_hat = oracle.normalize_adjacency(a, normalization)
        with open_graph(name) as graph:
            graph.set_normalization(normalization)
            random = rng.normal(size=(n, 8)).astype(np.float32)
            for x, kind in ((random, "Â times random vectors"), (unit, "Â, some columns")):
                graph.features = x
                with model_of([np.eye(x.shape[1])]) as model:
                    expected = a_hat @ x.astype(np.float64)
                    expected = expected.toarray() if sp.issparse(expected) else expected
                    check.close(model.embed(graph, 0), expected, kind)


def the_full_gradient_is_that_of_scipy(name):
    a, x, labels, splits = load(name)
    a_hat = oracle.normalize_adjacency(a)
    classes = SIZES[name][5]
    for hidden in ([], [16]):
        layers = f"{len(hidden) + 1}-layer"
        with open_graph(name) as graph, pl.Model.gcn([x.shape[1], *hidden, classes], seed=1) as model:
            weights = [w.astype(np.float64) for w in model.weights]
            for lam in (0.0, 0.01):
                model.set_regularization(lam)
                gradient, loss = pl.Estimator.full().gradient(model, graph)
                expected = oracle.loss_and_gradient(a_hat, x, labels, weights, splits[0], lam=lam)
                check.close(loss, expected[0], f"{layers}, loss")
                check.close(gradient, expected[1], f"{layers}, full gradient")
            batch = splits[0][:256]
            gradient, loss = pl.Estimator.unbiased().gradient(model, graph, batch)
            expected = oracle.loss_and_gradient(a_hat, x, labels, weights, batch, lam=lam)
            check.close(loss, expected[0], f"{layers}, loss of a batch")
            check.close(gradient, expected[1], f"{layers}, gradient of a batch")
            logits = oracle.embed(a_hat, x, weights)[-1]
            check.close(model.predict(graph), oracle.softmax(logits), f"{layers}, predictions")
            for split, nodes in zip(SPLITS, splits):
                loss, accuracy = model.evaluate(graph, split)
                check.close(loss, oracle.cross_entropy(logits[nodes], labels[nodes]), f"{layers}, loss of a split")
                share = np.mean(logits[nodes].argmax(1) == labels[nodes])
                assert abs(accuracy - share) <= 2.5 / len(nodes), f"accuracy {accuracy} instead of {share}"


def a_sampled_gradient_is_that_of_scipy(name):
    """The paper's estimator (hidden layer sampled, input exact), and both layers sampled."""
    a, x, labels, splits = load(name)
    a_hat = oracle.normalize_adjacency(a)
    rng = np.random.default_rng(5)
    n = a.shape[0]
    batch = rng.choice(splits[0], 256, replace=False)
    with open_graph(name) as graph, pl.Model.gcn([x.shape[1], 16, SIZES[name][5]], seed=2) as model:
        weights = [w.astype(np.float64) for w in model.weights]
        for draws in ([None, rng.integers(0, n, 400)], [rng.integers(0, n, 800), rng.integers(0, n, 400)]):
            for distribution in oracle.DISTRIBUTIONS:
                sizes = [0 if nodes is None else len(nodes) for nodes in draws]
                estimator = pl.Estimator.consistent(sizes, distribution=distribution)
                for layer, nodes in enumerate(draws):
                    if nodes is not None:
                        estimator.set_draws(layer, nodes)
                gradient, loss = estimator.gradient(model, graph, batch)
                expected = oracle.loss_and_gradient(a_hat, x, labels, weights, batch, draws, distribution)
                check.close(loss, expected[0], "2-layer, sampled loss")
                check.close(gradient, expected[1], "2-layer, sampled gradient")


# The generator --------------------------------------------------------------------------------------------------------


def mixture(seed, nodes_per_class=2000):
    """The arrays of a generated graph, from the file that it saves."""
    with check.folder() as folder, pl.Graph.from_mixture(nodes_per_class, seed) as graph:
        path = os.path.join(folder, "mixture.npz")
        graph.save(path)
        with np.load(path, allow_pickle=False) as z:
            return {key: z[key] for key in z.files}


def test_mixture_has_the_sizes_and_splits_of_the_paper():
    for seed in SEEDS:
        z = mixture(seed)
        assert int(z["num_nodes"]) == 6000 and z["features"].shape == (6000, 2)
        check.same(z["labels"], np.repeat([0, 1, 2], 2000), "labels")
        for name, size in (("train", 800), ("val", 400), ("test", 800)):
            check.same(np.bincount(z["labels"][z[name]]), [size] * 3, f"{name} per class")
        all_nodes = np.concatenate([z["train"], z["val"], z["test"]])
        check.same(np.sort(all_nodes), np.arange(6000), "every node is in one split")


def test_mixture_has_the_means_and_deviations_of_the_paper():
    """Each mean and deviation within 5 standard errors: for each seed, and for all seeds together, where the error is small."""
    points = np.array([mixture(seed)["features"].astype(np.float64).reshape(3, 2000, 2) for seed in SEEDS])
    for part in [points[i:i + 1] for i in range(len(points))] + [points]:
        count = part.shape[0] * 2000
        mean, deviation = part.mean(axis=(0, 2)), part.std(axis=(0, 2))
        error = DEVIATIONS[:, None] / np.sqrt(count)
        assert np.all(np.abs(mean - MEANS) <= 5 * error), f"means {mean}"
        assert np.all(np.abs(deviation - DEVIATIONS[:, None]) <= 5 * error / np.sqrt(2)), f"deviations {deviation}"
    # The coordinates are independent of each other and of the next node, and normal: third and fourth moments.
    z = (points - MEANS[:, None]) / DEVIATIONS[:, None, None]
    count = z.size
    assert abs(np.mean(z[..., 0] * z[..., 1])) <= 5 / np.sqrt(count / 2)
    assert abs(np.mean(z[:, :, 1:] * z[:, :, :-1])) <= 5 / np.sqrt(count)
    assert abs(np.mean(z ** 3)) <= 5 * np.sqrt(15 / count)
    assert abs(np.mean(z ** 4) - 3) <= 5 * np.sqrt(96 / count)


def test_mixture_has_the_edges_of_the_paper():
    """An unordered pair is linked with 1 - (1-p)²: p = 1e-3 inside a class, 2e-4 across. 5 standard deviations."""
    inside, across = 1 - (1 - 1e-3) ** 2, 1 - (1 - 2e-4) ** 2
    expected = np.full((3, 3), 2000 ** 2 * across)
    np.fill_diagonal(expected, 2000 * 1999 / 2 * inside)
    chance = np.full((3, 3), across)
    np.fill_diagonal(chance, inside)
    totals = np.zeros((3, 3))
    for seed in SEEDS:
        z = mixture(seed)
        edges = z["edges"]
        assert len(z["self_loops"]) == 0 and np.all(edges[:, 0] < edges[:, 1]), "no self-loops"
        assert len(np.unique(edges, axis=0)) == len(edges), "no edge twice"
        of_pair = np.sort(z["labels"][edges], axis=1)
        counts = np.zeros((3, 3))
        np.add.at(counts, (of_pair[:, 0], of_pair[:, 1]), 1)
        totals += counts
        total = np.triu(expected).sum()
        deviation = np.sqrt((np.triu(expected) * (1 - chance)).sum())
        assert abs(len(edges) - total) <= 5 * deviation, f"{len(edges)} edges, not {total:.0f} ± {deviation:.0f}"
        assert abs(16709 - total) <= 5 * deviation, "the paper's own graph is one of these"
    error = np.sqrt(len(SEEDS) * expected * (1 - chance))
    upper = np.triu_indices(3)
    off = (totals - len(SEEDS) * expected)[upper] / error[upper]
    assert np.all(np.abs(off) <= 5), f"edges per pair of classes are {off} standard deviations off"
    # Five times as likely inside as across.
    found = np.array([np.trace(totals), totals[upper].sum() - np.trace(totals)])
    pairs = len(SEEDS) * np.array([3 * 2000 * 1999 / 2, 3 * 2000 ** 2])
    ratio = (found / pairs)[0] / (found / pairs)[1]
    assert abs(ratio / (inside / across) - 1) <= 5 * np.sqrt((1 / found).sum()), f"{ratio} times as likely"


def test_mixture_links_all_nodes_alike():
    """Degrees have the mean and variance of a Poisson distribution, and no trend along the nodes of a class."""
    degrees = np.zeros((len(SEEDS), 6000))
    for i, seed in enumerate(SEEDS):
        degrees[i] = np.bincount(mixture(seed)["edges"].ravel(), minlength=6000)
    mean = 1999 * (1 - (1 - 1e-3) ** 2) + 4000 * (1 - (1 - 2e-4) ** 2)
    count = degrees.size
    assert abs(degrees.mean() - mean) <= 5 * np.sqrt(2 * mean / count), degrees.mean()
    assert abs(degrees.var() / mean - 1) <= 5 * np.sqrt(2 / count) + 0.002, degrees.var()
    for part in np.split(degrees, 12, axis=1):
        assert abs(part.mean() - mean) <= 5 * np.sqrt(2 * mean / part.size), part.mean()


def test_mixture_is_symmetric_and_depends_on_the_seed_alone():
    one, again, other = mixture(1), mixture(1), mixture(2)
    for key, array in one.items():
        check.same(again[key], array, key)
    assert not np.array_equal(one["features"], other["features"])
    assert not np.array_equal(one["edges"][:100], other["edges"][:100])
    with pl.Graph.from_mixture(100, 7) as graph, model_of([np.eye(300)]) as model:
        graph.set_normalization(oracle.NONE)
        graph.features = np.eye(300, dtype=np.float32)
        a = model.embed(graph, 0)
        check.same(a, a.T, "A and its transpose")
        assert np.all(np.diag(a) == 0) and a.sum() == 2 * graph.num_edges


def test_mixture_of_other_sizes():
    for nodes_per_class in (1, 2, 3, 7, 500):
        z = mixture(3, nodes_per_class)
        train, val = nodes_per_class * 2 // 5, nodes_per_class // 5
        sizes = [len(z[name]) for name in SPLITS]
        check.same(sizes, np.array([train, val, nodes_per_class - train - val]) * 3, "splits")
        assert len(z["labels"]) == 3 * nodes_per_class
    with pl.Graph.from_mixture(20_000, 0) as graph:
        # The number of edges grows with the square of the nodes: 100 times those of the paper.
        expected = 3 * 2e4 * (2e4 - 1) / 2 * (1 - (1 - 1e-3) ** 2) + 3 * 4e8 * (1 - (1 - 2e-4) ** 2)
        assert abs(graph.num_edges - expected) <= 5 * np.sqrt(expected), graph.num_edges


def tests():
    checks = (sizes_are_those_of_the_table, a_hat_is_that_of_scipy, the_full_gradient_is_that_of_scipy,
              a_sampled_gradient_is_that_of_scipy)
    for name in SIZES:
        for what in checks:
            yield check.about(what, name, name)
    yield from check.named(globals())


if __name__ == "__main__":
    sys.exit(check.run(tests()))
