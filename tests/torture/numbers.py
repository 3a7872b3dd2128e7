"""Numbers: steps that diverge, weights and features from 1e-30 to 1e30, empty rows, isolated nodes, one node, one class, a
class without an example, a hub joined to everything; over all estimators, optimizers and normalizations.

Promise: results are finite, or the status is 9. Parameters always stay finite.

  numbers.py [--long]
"""
import argparse
import ctypes
import itertools
import math
import struct
import sys

import children
from world import World, cells, load

OK, INVALID, DIVERGED = 0, 2, 9
FEATURES, CLASSES = 3, 2


def ring(n):
    return [(i, (i + 1) % n) for i in range(n)] if n > 1 else []


def graphs():
    """name, nodes, edges, weights or None, features, labels"""
    alternate = lambda n: [i % CLASSES for i in range(n)]
    plain = lambda n: [((7 * i + 3) % 11) / 11 for i in range(n * FEATURES)]
    yield "a ring", 8, ring(8), None, plain(8), alternate(8)
    yield "one node", 1, [], None, plain(1), [0]
    yield "one node, itself its neighbour", 1, [(0, 0)], None, plain(1), [1]
    yield "isolated nodes", 6, [(0, 1)], None, plain(6), alternate(6)
    yield "no edges", 5, [], None, plain(5), alternate(5)
    yield "one class", 6, ring(6), None, plain(6), [0] * 6
    yield "a class without an example", 6, ring(6), None, plain(6), [1] * 6
    yield "a hub", 60, [(0, i) for i in range(1, 60)], None, plain(60), alternate(60)
    yield "no features at all", 6, ring(6), None, [0.0] * 18, alternate(6)
    for weight in (1e-45, 1e-38, 1e-30, 1e30, 3e38, 0.0):
        yield f"weights of {weight}", 6, ring(6), [weight] * 6, plain(6), alternate(6)
    yield "weights of 1e-30 and 1e30", 6, ring(6), [1e-30, 1e30] * 3, plain(6), alternate(6)
    for value in (1e-45, 1e-30, 1e30, 3e38, -3e38):
        yield f"features of {value}", 6, ring(6), None, [value] * 18, alternate(6)
    yield "features of 1e-30 and 1e30", 6, ring(6), None, [1e-30, 1e30, -1e30] * 6, alternate(6)


ESTIMATORS = [("full", lambda w: w.new("estimator_full")), ("unbiased", lambda w: w.new("estimator_unbiased"))] + [
    (f"consistent {d}", lambda w, d=d: consistent(w, d)) for d in range(4)]
OPTIMIZERS = [(f"{kind} {step} {schedule}", lambda w, k=kind, s=step, c=schedule: optimizer(w, k, s, c))
              for kind in ("sgd", "adam") for step in (1e-300, 1e-3, 1.0, 1e6, 1e30, 1e300) for schedule in (0, 2)]
NORMALIZATIONS = [0, 1, 2]


def consistent(world, distribution):
    estimator = world.new("estimator_consistent", cells("N", [3, 3]), 2)
    world.ok("estimator_set_distribution", estimator, distribution)
    return estimator


def optimizer(world, kind, step, schedule):
    made = world.new("optimizer_" + kind, step)
    world.ok("optimizer_set_schedule", made, schedule)
    world.ok("optimizer_set_averaging", made, 1)
    return made


def graph_of(world, nodes, edges, weights, features, labels):
    graph = world.new("graph_from_edges", nodes, len(edges), cells("i", [e[0] for e in edges] or [0]),
                      cells("i", [e[1] for e in edges] or [0]), cells("f", weights) if weights else None)
    world.ok("graph_set_features", graph, FEATURES, cells("f", features))
    world.ok("graph_set_labels", graph, cells("i", labels))
    for split in (0, 1):
        world.ok("graph_set_split", graph, split, cells("i", list(range(nodes))), nodes)
    return graph


def finite(code, data):
    return all(map(math.isfinite, struct.unpack(f"{len(data) // struct.calcsize(code)}{code}", data)))


class Checker:
    def __init__(self, world, tell):
        self.world, self.tell, self.what = world, tell, ""
        self.calls = self.diverged = 0

    def check(self, call, status, numbers=True):
        """Checks that the status is 0 with finite numbers, or 9."""
        self.calls += 1
        self.diverged += status == DIVERGED
        if status not in (OK, DIVERGED):
            self.tell("failed", f"{self.what}: {call} returns {status}: {self.world.last_error().decode()}")
        elif status == OK and not numbers:
            self.tell("failed", f"{self.what}: {call} succeeds with a number that is not finite")
        return status == OK


def try_one(world, checker, graph, nodes, made, options):
    """A gradient, a training run, and the model's predictions."""
    model, estimator, moves = made
    gradient, loss = (ctypes.c_float * 20)(), ctypes.c_double(math.nan)
    status = world.estimator_gradient(estimator, model, graph, None, 0, ctypes.addressof(gradient), 20,
                                      ctypes.addressof(loss))
    checker.check("plim_estimator_gradient", status, status or finite("f", bytes(gradient)) and math.isfinite(loss.value))
    history = ctypes.c_void_p(0)
    checker.check("plim_train", world.train(model, graph, estimator, moves, options, ctypes.addressof(history)))
    if history.value:
        epochs = world.history_num_epochs(history.value)
        for column in (0, 1, 2, 4):
            status, data = world.copied("history_copy", "d", epochs, history.value, column)
            checker.check(f"plim_history_copy {column}", status, finite("d", data))
        world.history_free(history.value)
    status, parameters = world.copied("model_get_parameters", "f", 20, model)
    checker.check("plim_model_get_parameters", status, finite("f", parameters))
    status, average = world.copied("optimizer_average", "f", 20, moves)
    if status != 4:  # nothing is averaged yet
        checker.check("plim_optimizer_average", status, finite("f", average))
    status, probabilities = world.copied("model_predict", "f", nodes * CLASSES, model, graph, None, 0)
    if checker.check("plim_model_predict", status, finite("f", probabilities)):
        rows = struct.unpack(f"{nodes * CLASSES}f", probabilities)
        sums = [sum(rows[i * CLASSES:(i + 1) * CLASSES]) for i in range(nodes)]
        if any(abs(s - 1) > 1e-5 for s in sums):
            checker.tell("failed", f"{checker.what}: probabilities sum to {sums}")
    status, hidden = world.copied("model_embed", "f", nodes * 4, model, graph, None, 0, 0)
    checker.check("plim_model_embed", status, finite("f", hidden))
    numbers = (ctypes.c_double * 2)()
    status = world.model_evaluate(model, graph, 1, ctypes.addressof(numbers), ctypes.addressof(numbers) + 8)
    checker.check("plim_model_evaluate", status, all(map(math.isfinite, numbers)))


def body_of(library, normalizations, optimizers, told):
    def body(tell):
        with children.folder() as folder:
            world = World(library, folder)
            checker = Checker(world, tell)
            runs = 0
            options = world.new("train_options_new")
            world.ok("train_options_set_epochs", options, 4)
            world.ok("train_options_set_batch_size", options, 3)
            for (name, nodes, *rest), normalization in itertools.product(list(graphs()), normalizations):
                graph = graph_of(world, nodes, *rest)
                world.ok("graph_set_normalization", graph, normalization)
                for (how, estimator), (rule, moves) in itertools.product(ESTIMATORS, optimizers):
                    checker.what = f"{name}, normalization {normalization}, {how}, {rule}"
                    tell("case", checker.what)
                    model = world.new("model_gcn", cells("N", [FEATURES, 4, CLASSES]), 3, 1)
                    made = model, estimator(world), moves(world)
                    try_one(world, checker, graph, nodes, made, options)
                    for kind, handle in zip(("model", "estimator", "optimizer"), made):
                        getattr(world, kind + "_free")(handle)
                    runs += 1
                world.graph_free(graph)
            tell("told", f"{runs} runs, {checker.calls} calls, {checker.diverged} of them status 9")
            return runs
    return body


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--long", action="store_true")
    options = parser.parse_args()
    library, told = load(), []
    optimizers = OPTIMIZERS if options.long else [o for o in OPTIMIZERS if o[0].split()[1] in ("0.001", "1e+30")]
    _, failures, _ = children.run(body_of(library, NORMALIZATIONS, optimizers, told), None, told)
    for failure in failures[:40]:
        print(failure)
    print(f"numbers: {''.join(told)}; {len(failures)} failed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
