"""Tail probabilities, bias and deviation of sampled gradients against SciPy in float64, on draws of NumPy's own.

The library and the oracle draw different nodes from the same distribution, so that shares agree within what chance allows.
"""
import ctypes
import sys

import numpy as np

from support import check, oracle
from support.plimsoll import Estimator, Graph, Handle, Model, call, lib
from support import plimsoll as p

SIZES = np.array([400, 1000, 2500], np.uintp)
DRAWS, OWN_DRAWS = 10_000, 400
# 95 % intervals of 40 shares do not all hold; at 3.5 standard errors one in 50 runs of other seeds would fail.
Z = 3.5


class Tail(Handle):
    free = "plim_tail_free"

    def copy(self, what, count):
        numbers = np.full(count, np.nan)
        call("plim_tail_copy", self.handle, what, numbers, count)
        return numbers


class ProbeOptions(Handle):
    free = "plim_probe_options_free"

    def __init__(self, draws=DRAWS, seed=0):
        super().__init__("plim_probe_options_new")
        call("plim_probe_options_set_draws", self.handle, draws)
        call("plim_probe_options_set_seed", self.handle, seed)


class Plan(Handle):
    free = "plim_plan_free"


def wilson(share, draws, z=Z):
    centre, half = share + z * z / (2 * draws), z * np.sqrt(share * (1 - share) / draws + (z / (2 * draws)) ** 2)
    return (centre - half) / (1 + z * z / draws), (centre + half) / (1 + z * z / draws)


def mixture(layers):
    """Mixture with its initial parameters, once in the library and once as arrays."""
    graph = Graph.from_mixture(1000, 3)
    widths = np.array([2, 3] if layers == 1 else [2, 16, 3], np.uintp)
    model = Model("plim_model_gcn", widths, len(widths), 5)
    call("plim_model_set_threads", model.handle, 0)
    with check.folder() as folder:
        graph.save(f"{folder}/mixture.npz")
        arrays = dict(np.load(f"{folder}/mixture.npz"))
    a_hat = oracle.normalize_adjacency(oracle.adjacency_of_edges(int(arrays["num_nodes"]), arrays["edges"]))
    flat = np.empty(lib.plim_model_num_parameters(model.handle), np.float32)
    call("plim_model_get_parameters", model.handle, flat, len(flat))
    weights, at = [], 0
    for rows, columns in zip(widths, widths[1:]):
        count = int(rows * columns)
        weights.append(flat[at:at + count].astype(np.float64).reshape(int(rows), int(columns)))
        at += count
    return graph, model, (a_hat, arrays["features"].astype(np.float64), arrays["labels"], weights)


def probe(graph, model, sizes, deltas, options):
    with Estimator.consistent(sizes) as estimator:
        return Tail("plim_tail_new", estimator.handle, model.handle, graph.handle, SIZES, len(SIZES), deltas, len(deltas),
                    options.handle)


def own_errors(graph, arrays, sizes, draws, rng):
    """Relative errors of gradients from nodes that NumPy draws, and the mean of these gradients."""
    a_hat, x, labels, weights = arrays
    train = graph.split(0)
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
    # δ where the oracle's shares are neither 0 nor 1 at some size.
    deltas = np.array(sorted({round(float(np.quantile(norms, q)), 4) for norms, _ in found for q in (0.1, 0.5, 0.9)}))
    options = ProbeOptions()
    with graph, model, probe(graph, model, sampled, deltas, options) as tail:
        cells = len(SIZES) * len(deltas)
        shares, lower, upper = (tail.copy(what, cells).reshape(len(SIZES), -1) for what in
                                (p.PLIM_TAIL_PROBABILITY, p.PLIM_TAIL_LOWER, p.PLIM_TAIL_UPPER))
        error, bias, deviation = (tail.copy(what, len(SIZES)) for what in
                                  (p.PLIM_TAIL_ERROR, p.PLIM_TAIL_BIAS, p.PLIM_TAIL_DEVIATION))
    check.close(np.array([lower, upper]), np.array(wilson(shares, DRAWS, 1.959963984540054)).clip(0, 1), "Wilson's limits")
    for i, (norms, errors) in enumerate(found):
        for j, delta in enumerate(deltas):
            own = np.mean(norms >= delta)
            low, high = wilson(own, OWN_DRAWS)
            ours = wilson(shares[i, j], DRAWS)
            assert low <= ours[1] and ours[0] <= high, \
                f"N = {SIZES[i]}, δ = {delta}: {shares[i, j]:.4f}, the oracle {own:.4f} in [{low:.4f}, {high:.4f}]"
        mean, square = errors.mean(0), np.mean(norms ** 2)
        spread = np.sqrt(np.mean(((errors - mean) ** 2).sum(1)))
        # The standard error of a root mean square is about σ/√(2n) and less; 5 of them, and of a mean's norm.
        margin = 5 * spread / np.sqrt(OWN_DRAWS)
        assert abs(error[i] - np.sqrt(square)) <= margin, f"N = {SIZES[i]}: error {error[i]}, {np.sqrt(square)}"
        assert abs(deviation[i] - spread) <= margin, f"N = {SIZES[i]}: deviation {deviation[i]}, {spread}"
        assert abs(bias[i] - np.linalg.norm(mean)) <= margin, f"N = {SIZES[i]}: bias {bias[i]}, {np.linalg.norm(mean)}"
    assert np.all(np.diff(shares, axis=0) <= 1e-12), f"a share grows with N:\n{shares}"
    check.close(error ** 2, bias ** 2 + deviation ** 2, "error² = bias² + deviation²", 1e-3)
    assert np.all(np.diff(bias) < 0) and np.all(np.diff(deviation) < 0), f"bias {bias}, deviation {deviation}"


def a_plan_holds_on_fresh_draws(layers, sampled):
    """T = 1, ε = 0.01: of 10,000 draws that the planner has not seen, the lower limit of the misses is ≤ ε."""
    graph, model, _ = mixture(layers)
    fresh, sizes = ProbeOptions(seed=12345), np.empty(layers, np.uintp)
    with graph, model, Estimator.consistent(sampled) as estimator, ProbeOptions() as options:
        deltas = np.array([0.5])
        handles = estimator.handle, model.handle, graph.handle
        with Plan("plim_plan_new", *handles, deltas[0], 0.01, 1, options.handle) as plan:
            call("plim_plan_copy_sizes", plan.handle, sizes, layers)
            text = ctypes.create_string_buffer(p.PLIM_PLAN_TEXT_SIZE)
            call("plim_plan_describe", plan.handle, text, len(text))
        size = sizes.max()
        check.same(sizes, size * np.array(sampled, np.uintp), "sizes")
        assert size > 0 and f"{size} draws" in text.value.decode(), text.value
        for half in (False, True):
            share = np.empty(1)
            call("plim_tail_probability", *handles, np.array([size // 2 if half else size], np.uintp), 1, deltas, 1,
                 fresh.handle, share, 1)
            lower = wilson(share[0], DRAWS, 1.96)[0]
            assert (lower > 0.01) == half, f"{share[0]:.4f} of {'half of ' if half else ''}{size} draws miss"


def tests():
    for layers, sampled in (1, [1]), (2, [0, 1]), (2, [1, 1]):
        subject = f"{layers}-layer, sampled {sampled}"
        yield check.about(shares_bias_and_deviation_are_those_of_the_oracle, subject, layers, sampled)
        yield check.about(a_plan_holds_on_fresh_draws, subject, layers, sampled)


if __name__ == "__main__":
    sys.exit(check.run(tests()))
