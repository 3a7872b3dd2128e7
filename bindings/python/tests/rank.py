"""Learning to rank: gradients against NumPy, measures against scikit-learn, training, tails and plans."""
import os
import sys
import tempfile

import numpy as np

import plimsoll as pl
from support import check, need, raises

WIDTH = 6


def arrays(num_queries=60, seed=0, levels=5):
    """Features, relevance and offsets. Query 1 has one document, query 2 only irrelevant ones, query 3 equal ones."""
    random = np.random.default_rng(seed)
    counts = random.integers(2, 30, num_queries)
    counts[1] = 1
    offsets = np.concatenate([[0], np.cumsum(counts)])
    features = random.standard_normal((offsets[-1], WIDTH)).astype(np.float32)
    hidden = features @ np.array([1.0, -0.7, 0.3, 0.0, 0.0, 0.5]) + 0.5 * random.standard_normal(offsets[-1])
    relevance = np.clip(np.floor(1.2 * hidden + 0.4 * levels), 0, levels - 1).astype(np.int32)
    relevance[offsets[2]:offsets[3]] = 0
    relevance[offsets[3]:offsets[4]] = 2
    return features, relevance, offsets


def objective(features, relevance, offsets, weights, queries):
    """Loss and gradient as they are written, in doubles: a network without biases, ReLU but at the end."""
    activations = [features.astype(float)]
    for layer, w in enumerate(weights):
        z = activations[-1] @ w
        activations.append(np.maximum(z, 0) if layer + 1 < len(weights) else z)
    scores, delta, loss = activations[-1][:, 0], np.zeros(len(features)), 0.0
    for q in queries:
        rows = np.arange(offsets[q], offsets[q + 1])
        i, j = np.nonzero(relevance[rows][:, None] > relevance[rows][None, :])
        difference = scores[rows[j]] - scores[rows[i]]
        loss += np.mean(np.logaddexp(0, difference)) / len(queries)
        share = 1 / (1 + np.exp(-difference)) / len(i) / len(queries)
        np.add.at(delta, rows[j], share)
        np.add.at(delta, rows[i], -share)
    gradients, delta = [], delta[:, None]
    for layer in reversed(range(len(weights))):
        gradients.insert(0, activations[layer].T @ delta)
        delta = delta @ weights[layer].T * (activations[layer] > 0)
    return loss, np.concatenate([g.ravel() for g in gradients])


def weights_of(model):
    flat, widths, found = model.parameters.astype(float), model.widths, []
    for a, b in zip(widths[:-1], widths[1:]):
        found.append(flat[:a * b].reshape(a, b))
        flat = flat[a * b:]
    return found


def paired(relevance, offsets):
    return [q for q in range(len(offsets) - 1) if np.ptp(relevance[offsets[q]:offsets[q + 1]]) > 0]


def test_the_gradient_is_that_of_numpy():
    features, relevance, offsets = arrays()
    data, queries = pl.RankData.from_arrays(features, relevance, offsets), paired(relevance, offsets)
    assert not {1, 2, 3} & set(queries)
    for widths in ([WIDTH, 1], [WIDTH, 9, 1], [WIDTH, 9, 4, 1]):
        model = pl.Model.gcn(widths, seed=1)
        loss, gradient = objective(features, relevance, offsets, weights_of(model), queries)
        for estimator in (pl.Estimator.full(), pl.Estimator.unbiased()):
            found = estimator.gradient(model, data)
            assert abs(found.loss - loss) < 1e-6 * loss
            assert np.linalg.norm(found.values - gradient) < 2e-6 * np.linalg.norm(gradient)
        batch = queries[::3]
        loss, gradient = objective(features, relevance, offsets, weights_of(model), batch)
        found = pl.Estimator.unbiased().gradient(model, data, batch)
        assert np.linalg.norm(found.values - gradient) < 2e-6 * np.linalg.norm(gradient)


def test_sampled_gradients_have_the_properties_they_declare():
    features, relevance, offsets = arrays(12)
    data, model = pl.RankData.from_arrays(features, relevance, offsets), pl.Model.gcn([WIDTH, 1], seed=1)
    _, exact = objective(features, relevance, offsets, weights_of(model), paired(relevance, offsets))
    estimators = {pl.Estimator.pairs(2): {"unbiased", "consistent"}, pl.Estimator.separate(2): {"unbiased", "consistent"},
                  pl.Estimator.separate(2, self_normalized=True): {"consistent"}}
    for estimator, properties in estimators.items():
        assert estimator.properties == properties
        draws = np.array([estimator.gradient(model, data).values for _ in range(20_000)])
        error = draws.std(axis=0) / np.sqrt(len(draws))
        off = np.max(np.abs(draws.mean(axis=0) - exact) / error)
        assert off < 5 if "unbiased" in properties else off > 10, (properties, off)


def test_ndcg_is_scikit_learns_ties_and_queries_without_relevance_included():
    (metrics,) = need("sklearn.metrics")
    random = np.random.default_rng(1)
    features, relevance, offsets = arrays(200, seed=2)
    rounded = np.round(features)  # many documents of equal scores
    counted = {"ties": 0, "irrelevant": 0, "alike": 0}
    for values in (features, rounded):
        data, model = pl.RankData.from_arrays(values, relevance, offsets), pl.Model.gcn([WIDTH, 1])
        model.parameters = random.integers(-2, 3, WIDTH)
        scores = data.scores(model)
        for cutoff in (0, 1, 3, 10, 100):
            for gain in ("exponential", "linear"):
                data.set_ndcg(cutoff, gain)
                found = data.measure(model, "train", "ndcg")
                for q in range(200):
                    rows = slice(offsets[q], offsets[q + 1])
                    if offsets[q + 1] - offsets[q] < 2:
                        continue  # scikit-learn refuses a single document
                    y = relevance[rows] if gain == "linear" else 2.0 ** relevance[rows] - 1
                    wanted = metrics.ndcg_score([y], [scores[rows]], k=cutoff or None)
                    assert abs(found[q] - wanted) < 1e-12, (q, found[q], wanted)
                    counted["ties"] += len(set(scores[rows])) < len(scores[rows])
                    counted["irrelevant"] += not np.any(y)
                    counted["alike"] += bool(np.all(y == y[0]) and np.any(y))
                assert abs(data.evaluate(model, "train").ndcg - found.mean()) < 1e-12
    print(f"of {200 * 20} queries: {counted}")
    assert min(counted.values()) >= 20


def test_pair_accuracy_of_two_levels_is_the_area_under_the_curve():
    (metrics,) = need("sklearn.metrics")
    features, relevance, offsets = arrays(100, seed=3, levels=2)
    relevance = np.minimum(relevance, 1)
    data, model = pl.RankData.from_arrays(np.round(features), relevance, offsets), pl.Model.gcn([WIDTH, 1])
    model.parameters = [1, -1, 0, 0, 0, 1]
    scores, accuracy = data.scores(model), data.measure(model, "train", "accuracy")
    queries = paired(relevance, offsets)
    for q in queries:
        rows = slice(offsets[q], offsets[q + 1])
        assert abs(accuracy[q] - metrics.roc_auc_score(relevance[rows], scores[rows])) < 1e-12
    assert np.isnan(accuracy).sum() == 100 - len(queries)
    assert abs(data.evaluate(model, "train").accuracy - np.nanmean(accuracy)) < 1e-12
    losses = data.measure(model, "train", "loss")
    assert abs(data.evaluate(model, "train").loss - np.nanmean(losses)) < 1e-12


def test_standardised_features_are_scikit_learns():
    preprocessing, sparse = need("sklearn.preprocessing", "scipy.sparse")
    features, relevance, offsets = arrays(40, seed=4)
    features[:, 1] = 3 * features[:, 1] + 200
    features[:, 2] = 5
    features[np.abs(features) < 0.5] = 0
    rows = np.arange(offsets[30])
    scaler = preprocessing.StandardScaler().fit(features[rows].astype(float))
    wanted = scaler.transform(features.astype(float))
    for values in (features, sparse.csr_matrix(features)):
        data = pl.RankData.from_arrays(values, relevance, offsets, train=range(30))
        other = pl.RankData.from_arrays(values, relevance, offsets)
        data.standardize()
        other.standardize(data)
        for k in range(WIDTH):
            model = pl.Model.gcn([WIDTH, 1])
            model.parameters = np.eye(WIDTH)[k]
            assert np.allclose(data.scores(model), wanted[:, k], atol=2e-6)
            check.same(data.scores(model), other.scores(model), "by reference")
        raises(pl.InvalidArgumentError, data.standardize, text="already")


def test_files_of_scikit_learn_are_read():
    datasets, sparse = need("sklearn.datasets", "scipy.sparse")
    features, relevance, offsets = arrays(30, seed=5)
    features[np.abs(features) < 0.7] = 0
    ids = np.repeat(np.arange(30) * 7 + 100, np.diff(offsets))
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "letor.txt")
        datasets.dump_svmlight_file(features, relevance, path, query_id=ids, zero_based=False, comment="made up")
        data = pl.RankData.load(path, WIDTH)
        again, _, _ = datasets.load_svmlight_file(path, query_id=True, n_features=WIDTH, zero_based=False)
    check.same(data.offsets, offsets, "offsets")
    check.same(data.relevance, relevance, "relevance")
    check.same(data.query_ids, np.arange(30) * 7 + 100, "query ids")
    model = pl.Model.gcn([WIDTH, 3, 1], seed=2)
    wanted = pl.RankData.from_arrays(sparse.csr_matrix(again), relevance, offsets).scores(model)
    assert np.allclose(data.scores(model), wanted, atol=1e-6)
    raises(pl.FileError, pl.RankData.load, "/nowhere/letor")


def test_training_stops_early_by_ndcg_and_goes_on_from_a_checkpoint():
    features, relevance, offsets = arrays(120, seed=6)

    def run(**options):
        data = pl.RankData.from_arrays(features, relevance, offsets, train=range(80), val=range(80, 100),
                                       test=range(100, 120))
        model = pl.Model.gcn([WIDTH, 8, 1], seed=3)
        told = []
        history = pl.train(model, data, pl.Estimator.separate(4, seed=1), pl.Optimizer.adam(0.02), epochs=60,
                           batch_size=16, monitor="val_ndcg", progress=lambda p: told.append(p.val_ndcg), **options)
        return data, model, history, told

    data, model, history, told = run()
    best = int(np.argmax(history.val_ndcg))
    assert history.best_epoch == best + 1 and history.num_epochs == 60
    assert data.evaluate(model, "val").ndcg == history.val_ndcg[best]
    assert data.evaluate(model, "val").accuracy == history.val_accuracy[best]
    assert [x for x in told if x == x][-60:] == list(history.val_ndcg)
    random = data.evaluate(pl.Model.gcn([WIDTH, 8, 1], seed=4), "test").ndcg
    assert data.evaluate(model, "test").ndcg > max(0.85, random + 0.1)
    stopped = run(patience=5)[2]
    assert stopped.num_epochs == min(60, stopped.best_epoch + 5) < 60
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "run")
        assert run(checkpoint=path, checkpoint_every=4, patience=5)[2].num_epochs == stopped.num_epochs
        resumed = run(resume=path)
    check.same(resumed[1].parameters, model.parameters, "resumed")
    check.same(resumed[2].val_ndcg, history.val_ndcg, "history")
    graph = pl.Graph.from_mixture(20)
    raises(pl.UnsupportedError, pl.train, pl.Model.gcn([2, 3]), graph, pl.Estimator.full(), pl.Optimizer.sgd(1.0),
           monitor="val_ndcg")
    raises(pl.UnsupportedError, pl.train, model, data, pl.Estimator.consistent([3, 3]), pl.Optimizer.sgd(1.0))
    raises(TypeError, pl.train, model, features, pl.Estimator.full(), pl.Optimizer.sgd(1.0))


def test_tails_and_plans_of_rankings():
    features, relevance, offsets = arrays(40, seed=7)
    data, model = pl.RankData.from_arrays(features, relevance, offsets), pl.Model.gcn([WIDTH, 1], seed=1)
    for estimator in (pl.Estimator.pairs(1), pl.Estimator.separate(1), pl.Estimator.separate(1, self_normalized=True)):
        tail = pl.Tail(estimator, model, data, [2, 8, 32], [0.1, 0.3], draws=1000)
        assert np.all(np.diff(tail.error) < 0) and np.all(np.diff(tail.probability, axis=0) <= 0)
        plan = pl.Plan(estimator, model, data, 0.3, 0.1, 1, draws=1000)
        assert plan.sample_size >= 1 and plan.sizes == (plan.sample_size,) and plan.misses <= 0.1
        again = pl.Tail(estimator, model, data, [plan.sample_size], [0.3], draws=1000, seed=5)
        assert again.probability[0, 0] < 0.15


def test_what_does_not_fit_is_refused():
    features, relevance, offsets = arrays(10)
    data = pl.RankData.from_arrays(features, relevance, offsets)
    raises(pl.ShapeMismatchError, pl.RankData.from_arrays, features, relevance[1:], offsets, text="relevance has")
    raises(pl.ShapeMismatchError, pl.RankData.from_arrays, features, relevance, offsets[:-1], text="documents")
    raises(pl.ShapeMismatchError, pl.RankData.from_arrays, features[0], relevance, offsets)
    raises(TypeError, pl.RankData.from_arrays, features, relevance, offsets, labels=[1])
    raises(pl.InvalidArgumentError, pl.RankData.from_arrays, features, relevance - 5, offsets, text="relevance[")
    raises(pl.ShapeMismatchError, data.scores, pl.Model.gcn([WIDTH, 2]), text="one number")
    raises(ValueError, data.measure, pl.Model.gcn([WIDTH, 1]), "train", "precision")
    raises(ValueError, data.set_ndcg, 10, "log")
    raises(pl.InvalidArgumentError, pl.Estimator.unbiased().gradient, pl.Model.gcn([WIDTH, 1]), data, [1],
           text="batch[0] = 1")
    raises(pl.InvalidArgumentError, pl.Estimator.pairs, 0)
    other = pl.RankData.from_arrays(features, relevance, offsets)
    data.append(other, "val")
    assert data.num_queries == 20 and list(data.val) == list(range(10, 20)) and "20 queries" in repr(data)


if __name__ == "__main__":
    sys.exit(check.run(check.named(globals())))
