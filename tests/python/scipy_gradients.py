"""Â, embeddings, predictions, evaluations, losses and gradients of random graphs against SciPy in float64.

Draws are pinned, so every estimator has one right result. Tolerance: 1e-5 of the norm.
"""
import sys

import numpy as np

from support import SPLITS, check, model_of, oracle, pl
from support.cases import all_cases, confident


def a_hat_is_right(case):
    """With X = I and W = I a model of one layer computes Â itself."""
    with case.graph() as graph, model_of([np.eye(case.n)]) as model:
        graph.features = np.eye(case.n, dtype=np.float32)
        check.close(model.embed(graph, 0), case.a_hat.toarray(), "Â")


def inference_is_right(case):
    expected = oracle.embed(case.a_hat, case.x, case.weights)
    some = case.some_nodes
    with case.graph() as graph, case.model() as model:
        for l, h in enumerate(expected):
            check.close(model.embed(graph, l), h, f"embed: layer {l}")
            check.close(model.embed(graph, l, some), h[some], f"embed: layer {l} of a list")
        probabilities = oracle.softmax(expected[-1])
        check.close(model.predict(graph), probabilities, "predict")
        check.same(model.predict(graph, some), model.predict(graph)[some], "predict: a list and all nodes")
        for split, nodes in zip(SPLITS, case.splits):
            if len(nodes) == 0:
                continue
            loss, accuracy = model.evaluate(graph, split)
            logits, labels = expected[-1][nodes], case.labels[nodes]
            check.close(loss, oracle.cross_entropy(logits, labels), "evaluate: loss")
            share, unsure = accuracy_of(logits, labels)
            assert abs(accuracy - share) <= unsure + 1e-12, f"accuracy {accuracy} instead of {share} ± {unsure}"


def accuracy_of(logits, labels):
    """The accuracy, and the share of nodes for which rounding may decide between two classes. A node without any input has
    logits of exactly zero, and is assigned to the first class."""
    two = np.sort(np.pad(logits, ((0, 0), (1, 0)), constant_values=-np.inf), axis=1)[:, -2:]
    unsure = (two[:, 1] - two[:, 0] <= 1e-5 * np.abs(logits).max(1)) & np.any(logits != 0, axis=1)
    return np.mean(logits.argmax(1) == labels), np.mean(unsure)


def exact_gradients_are_right(case):
    train = case.splits[0]

    def expected(batch):
        return oracle.loss_and_gradient(case.a_hat, case.x, case.labels, case.weights, batch, lam=case.lam)

    with case.graph() as graph, case.model() as model, pl.Estimator.full() as full, pl.Estimator.unbiased() as unbiased:
        exact = pl.Estimator.consistent([0] * len(case.weights))
        compare("full", full.gradient(model, graph), expected(train))
        compare("unbiased: all training nodes", unbiased.gradient(model, graph), expected(train))
        compare("unbiased: a batch", unbiased.gradient(model, graph, case.batch), expected(case.batch))
        compare("consistent: no layer sampled", exact.gradient(model, graph, case.batch), expected(case.batch))
        # The same if ÂX is not cached but computed row by row.
        graph.set_cache(0)
        compare("full: without a cache", full.gradient(model, graph), expected(train))
        compare("unbiased: without a cache", unbiased.gradient(model, graph, case.batch), expected(case.batch))


def sampled_gradients_are_right(case):
    with case.graph() as graph, case.model() as model:
        for name, distribution, draws in case.plans:
            with case.estimator(distribution, draws) as estimator:
                for batch in (case.batch, None):
                    found = estimator.gradient(model, graph, batch)
                    nodes = case.splits[0] if batch is None else batch
                    expected = oracle.loss_and_gradient(case.a_hat, case.x, case.labels, case.weights, nodes, draws,
                                                        distribution, case.lam)
                    compare(f"consistent, {name}", found, expected)


def a_confident_model_has_an_exact_gradient(case):
    """p - 1 is computed without cancellation: a few wrong digits in p would be many in a small gradient."""
    train = case.splits[0]
    # The rounding of a logit is a relative error of its exponential, and so of the small gradient.
    rounding = 2.0 ** -24 * np.abs(oracle.embed(case.a_hat, case.x, case.weights)[-1]).max()
    tolerance = check.TOLERANCE + 4 * rounding
    with case.graph() as graph, case.model() as model, pl.Estimator.full() as full:
        expected = oracle.loss_and_gradient(case.a_hat, case.x, case.labels, case.weights, train)
        gradient, loss = full.gradient(model, graph)
        check.close(gradient, expected[1], "confident model, gradient", tolerance)
        check.close(loss, expected[0], "confident model, loss", tolerance)
        check.close(model.evaluate(graph, "train").loss, expected[0], "confident model, evaluate", tolerance)


def compare(what, found, expected):
    kind = what.split(":")[0]
    check.close(found.loss, expected[0], f"{kind}, loss: {what}")
    check.close(found.values, expected[1], f"{kind}, gradient: {what}")


def tests():
    for case in all_cases():
        for what in (a_hat_is_right, inference_is_right, exact_gradients_are_right, sampled_gradients_are_right):
            yield check.about(what, case.name, case)
    for case in confident():
        yield check.about(a_confident_model_has_an_exact_gradient, case.name, case)


if __name__ == "__main__":
    sys.exit(check.run(tests()))
