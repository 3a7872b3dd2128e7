"""Tail probabilities, bias and deviation of sampled gradients against the oracle, whose draws come from NumPy.

The library and the oracle draw different nodes from the same distribution, so shares agree within statistical error.
"""
import sys

import numpy as np
from support import check, oracle, pl

SIZES = np.array([400, 1000, 2500])
DRAWS, OWN_DRAWS = 10_000, 400
# Of 40 intervals at 95 % some fail. At 3.5 standard errors, one in 50 runs with other seeds would fail.
Z = 3.5


def wilson(share, draws, z=Z):
    centre, half = share + z * z / (2 * draws), z * np.sqrt(share * (1 - share) / draws + (z / (2 * draws)) ** 2)
    return (centre - half) / (1 + z * z / draws), (centre + half) / (1 + z * z / draws)


def mixture(layers):
    """A Mixture graph and a model with its initial parameters, in the library and as arrays."""
    graph = pl.Graph.from_mixture(1000, 3)
    model = pl.Model.gcn([2, 3] if layers == 1 else [2, 16, 3], seed=5, threads=0)
    a_hat = oracle.normalize_adjacency(graph.to_scipy().astype(np.float64))
    weights = [w.astype(np.float64) for w in model.weights]
    return graph, model, (a_hat, graph.features.astype(np.float64), graph.labels, weights)


def own_errors(graph, arrays, sizes, draws, rng):
    """The norms of the relative errors of gradients whose nodes NumPy draws, and the errors themselves."""
    a_hat, x, labels, weights = arrays
    train = graph.train
    exact = oracle.loss_and_gradient(a_hat, x, labels, weights, train)[1]
    gradients = []
    for _ in range(draws):
        nodes = [None if t == 0 else rng.integers(0, len(labels), t) for t in sizes]
        gradients.append(oracle.loss_and_gradient(a_hat, x, labels, weights, train, nodes)[1])
    errors = (np.array(gradients) - exact) / np.linalg.norm(exact)
    return np.linalg.norm(errors, axis=1), errors


def shares_bias_and_deviation_are_those_of_the_oracle(layers, sampled):
    graph, model, arrays = mixture(layers)
    rng = np.random.default_rng(layers)
    found = [own_errors(graph, arrays, [int(n) * s for s in sampled], OWN_DRAWS, rng) for n in SIZES]
    # δ at which the oracle's share of misses is neither 0 nor 1 for some size.
    deltas = np.array(sorted({round(float(np.quantile(norms, q)), 4) for norms, _ in found for q in (0.1, 0.5, 0.9)}))
    with graph, model:
        tail = pl.Tail(pl.Estimator.consistent(sampled), model, graph, SIZES, deltas, draws=DRAWS)
    shares, lower, upper = tail.probability, tail.lower, tail.upper
    error, bias, deviation = tail.error, tail.bias, tail.deviation
    check.close(np.array([lower, upper]), np.array(wilson(shares, DRAWS, 1.959963984540054)).clip(0, 1), "Wilson's limits")
    for i, (norms, errors) in enumerate(found):
        for j, delta in enumerate(deltas):
            own = np.mean(norms >= delta)
            low, high = wilson(own, OWN_DRAWS)
            ours = wilson(shares[i, j], DRAWS)
            assert low <= ours[1] and ours[0] <= high, \
                f"N = {SIZES[i]}, δ = {delta}: {shares[i, j]:.4f}; the oracle has {own:.4f} in [{low:.4f}, {high:.4f}]"
        mean, square = errors.mean(0), np.mean(norms ** 2)
        spread = np.sqrt(np.mean(((errors - mean) ** 2).sum(1)))
        # 5 standard errors; that of a root mean square, and of the norm of a mean, is at most about σ/√n.
        margin = 5 * spread / np.sqrt(OWN_DRAWS)
        assert abs(error[i] - np.sqrt(square)) <= margin, f"N = {SIZES[i]}: error {error[i]}, {np.sqrt(square)}"
        assert abs(deviation[i] - spread) <= margin, f"N = {SIZES[i]}: deviation {deviation[i]}, {spread}"
        assert abs(bias[i] - np.linalg.norm(mean)) <= margin, f"N = {SIZES[i]}: bias {bias[i]}, {np.linalg.norm(mean)}"
    assert np.all(np.diff(shares, axis=0) <= 1e-12), f"a share grows with N:\n{shares}"
    check.close(error ** 2, bias ** 2 + deviation ** 2, "error² = bias² + deviation²", 1e-3)
    assert np.all(np.diff(bias) < 0) and np.all(np.diff(deviation) < 0), f"bias {bias}, deviation {deviation}"


def a_plan_holds_on_fresh_draws(layers, sampled):
    """T = 1, ε = 0.01: in 10,000 draws with another seed than the planner's, the lower limit of the misses is ≤ ε."""
    graph, model, _ = mixture(layers)
    with graph, model, pl.Estimator.consistent(sampled) as estimator:
        plan = pl.Plan(estimator, model, graph, 0.5, 0.01, 1, draws=DRAWS)
        size = max(plan.sizes)
        check.same(plan.sizes, size * np.array(sampled), "sizes")
        assert size > 0 and f"{size} draws" in str(plan), str(plan)
        for half in (False, True):
            tried = size // 2 if half else size
            share = pl.tail_probability(estimator, model, graph, [tried], [0.5], draws=DRAWS, seed=12345)[0, 0]
            lower = wilson(share, DRAWS, 1.96)[0]
            assert (lower > 0.01) == half, f"{share:.4f} of the gradients from {tried} draws miss"


def tests():
    for layers, sampled in (1, [1]), (2, [0, 1]), (2, [1, 1]):
        subject = f"{layers}-layer, sampled {sampled}"
        yield check.about(shares_bias_and_deviation_are_those_of_the_oracle, subject, layers, sampled)
        yield check.about(a_plan_holds_on_fresh_draws, subject, layers, sampled)


if __name__ == "__main__":
    sys.exit(check.run(tests()))
