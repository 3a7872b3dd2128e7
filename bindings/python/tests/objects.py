"""Graphs, models, estimators, optimizers: values in and out, errors, ownership."""
import copy
import gc
import math
import os
import pickle
import subprocess
import sys
import threading
import weakref

import numpy as np
import scipy.sparse as sp

import plimsoll as pl
from support import check, raises, small


def test_a_graph_gives_back_what_it_was_given():
    with small() as graph:
        assert (graph.num_nodes, graph.num_edges, graph.num_features, graph.num_classes) == (4, 4, 2, 2)
        check.same(graph.labels, [0, 0, 1, -1], "labels")
        check.same(graph.train, [0, 2], "train")
        check.same(graph.val, [1], "val")
        check.same(graph.test, [], "test")
        check.same(graph.features, [[1, 0], [1, 0], [0, 1], [0, 1]], "features")
        ring = np.array([[0, 1, 0, 1], [1, 0, 1, 0], [0, 1, 0, 1], [1, 0, 1, 0]])
        check.same(graph.to_scipy().toarray(), ring, "A")
        graph.features = sp.csr_matrix([[2.0, 0, 2], [0, 0, 0], [0, 3, 0], [1, 0, 0]])
        graph.normalize_features()
        assert sp.issparse(graph.features)
        check.same(graph.features.toarray(), [[0.5, 0, 0.5], [0, 0, 0], [0, 1, 0], [1, 0, 0]], "sparse features")


def test_the_number_of_classes_may_be_assigned_and_a_label_beyond_is_refused():
    with pl.Graph.from_edges(3, [0], [1], labels=[0, 4, -1], num_classes=6) as graph:  # in whatever order
        assert graph.num_classes == 6
        copied = pickle.loads(pickle.dumps(graph))
        assert copied.num_classes == 6
        raises(pl.InvalidArgumentError, setattr, graph, "num_classes", 4, text="labels[1] = 4 is not below 4")
        raises(pl.InvalidArgumentError, setattr, graph, "labels", [6, 0, 0], text="labels[0] = 6 is not below 6")
        assert graph.num_classes == 6 and list(graph.labels) == [0, 4, -1]
        graph.num_classes = 0
        assert graph.num_classes == 5
        raises(pl.InvalidArgumentError, setattr, graph, "labels", [0, 0, 2 ** 31 - 1], text="labels[2] = 2147483647")
    raises(pl.InvalidArgumentError, pl.Graph.from_edges, 2, [0], [1], labels=[0, 2], num_classes=2)


def test_edges_csr_and_scipy_make_the_same_graph():
    rng = np.random.default_rng(0)
    a = sp.random(30, 30, 0.2, "csr", np.float64, rng)
    a = sp.csr_matrix(a + a.T)
    upper = sp.triu(a).tocoo()
    x = rng.normal(size=(30, 5))
    model = pl.Model.gcn([5, 4, 3], seed=1)
    graphs = [pl.Graph.from_scipy(a, features=x), pl.Graph.from_csr(30, a.indptr, a.indices, a.data, features=x),
              pl.Graph.from_edges(30, upper.row, upper.col, upper.data, features=x),
              pl.Graph.from_scipy(a.tocoo(), features=x.astype(np.float32))]
    expected = model.predict(graphs[0])
    for graph in graphs:
        check.close(graph.to_scipy().toarray(), a.toarray(), "A", 1e-7)
        check.close(model.predict(graph), expected, "predictions", 1e-6)
    check.close(model.predict(pl.Graph.from_scipy(a, features=x, normalization="none")),
                softmax(a @ np.maximum(a @ x @ model.weights[0], 0) @ model.weights[1]), "by NumPy", 1e-5)
    boolean = pl.Graph.from_scipy(a != 0)
    check.same(boolean.to_scipy().toarray(), (a != 0).toarray(), "a matrix of bool is unweighted")


def softmax(z):
    e = np.exp(z - z.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


def test_networkx_graphs_keep_direction_weights_and_order():
    import networkx as nx
    undirected = nx.Graph([("c", "a", {"w": 2.0}), ("a", "b")])
    a = pl.Graph.from_networkx(undirected).to_scipy().toarray()
    check.same(a, nx.to_numpy_array(undirected), "undirected")
    a = pl.Graph.from_networkx(undirected, weight="w").to_scipy().toarray()
    check.same(a, nx.to_numpy_array(undirected, weight="w"), "weighted")
    directed = nx.DiGraph([(0, 1), (1, 2)])
    a = pl.Graph.from_networkx(directed, labels=[0, 1, 0]).to_scipy().toarray()
    check.same(a, nx.to_numpy_array(directed).T, "a row lists predecessors")


def test_networkx_attributes_are_features_and_labels():
    import networkx as nx
    graph = nx.Graph([("c", "a"), ("a", "b")])
    for i, node in enumerate(graph):
        graph.nodes[node]["x"] = [i, 1.0]
    graph.nodes["a"]["y"] = 1
    made = pl.Graph.from_networkx(graph, features="x", labels="y")
    check.same(made.features, np.array([[0, 1], [1, 1], [2, 1]], np.float32), "in the order of the nodes")
    check.same(made.labels, np.array([-1, 1, -1], np.int32), "-1 where there is none")
    raises(pl.InvalidArgumentError, pl.Graph.from_networkx, graph, features="y", text="node 'c' has no attribute 'y'")
    raises(pl.InvalidArgumentError, pl.Graph.from_networkx, graph, labels="z", text="node 'c' has no attribute 'z'")


def test_a_misspelt_attribute_cannot_be_set():
    with small() as graph:
        for thing in (graph, pl.Model.gcn([2, 2]), pl.Estimator.full(), pl.Optimizer.sgd(1.0)):
            raises(AttributeError, setattr, thing, "trian", [0], text="trian")
        graph.train = [1]


def test_arrays_of_the_right_type_are_handed_over_as_they_are():
    from plimsoll._arrays import floats, integers
    for array, converted in ((np.arange(4, dtype=np.int32), integers), (np.ones(4, np.float32), floats)):
        assert np.shares_memory(converted("x", array), array)
    assert np.shares_memory(floats("x", np.ones((2, 3), np.float32), ndim=2), np.ones(1)) is False
    a = sp.csr_matrix(np.eye(3, dtype=np.float32))
    from plimsoll._arrays import scipy_csr
    _, indices, values = scipy_csr("a", a)
    assert np.shares_memory(indices, a.indices) and np.shares_memory(values, a.data)
    with small() as graph:
        model, out = pl.Model.gcn([2, 2]), np.empty((4, 2), np.float32)
        assert model.predict(graph, out=out) is out
        raises(ValueError, model.predict, graph, out=np.empty((3, 2), np.float32), text="(3, 2)")
        raises(TypeError, model.predict, graph, out=np.empty((4, 2)))
        frozen = np.empty((4, 2), np.float32)
        frozen.flags.writeable = False
        raises(TypeError, model.predict, graph, out=frozen)


def test_wrong_arrays_are_refused_before_c_reads_past_their_end():
    graph = small()
    raises(pl.ShapeMismatchError, setattr, graph, "labels", [0, 1], text="labels has 2 elements, not 4")
    raises(pl.ShapeMismatchError, setattr, graph, "features", [[1.0]], text="1 rows")
    raises(pl.ShapeMismatchError, setattr, graph, "features", [1.0], text="1 dimensions")
    raises(TypeError, setattr, graph, "train", [True, False, True, True], text="flatnonzero")
    raises(TypeError, setattr, graph, "train", [0.5], text="float64")
    raises(pl.InvalidArgumentError, setattr, graph, "train", [2 ** 40], text="train[0] = 1099511627776")
    raises(pl.InvalidArgumentError, setattr, graph, "features", np.full((4, 1), 1e300))
    raises(pl.ShapeMismatchError, pl.Graph.from_csr, 2, [0, 1, 3], [0, 1])
    raises(pl.ShapeMismatchError, pl.Graph.from_csr, 2, [0, 1], [0])
    raises(pl.ShapeMismatchError, pl.Graph.from_edges, 2, [0], [1, 1])
    raises(pl.ShapeMismatchError, pl.Graph.from_scipy, sp.csr_matrix((2, 3)), text="square")
    raises(pl.ShapeMismatchError, pl.Model.gcn([2, 2]).__setattr__, "parameters", [1.0])


def test_numbers_that_c_would_cut_are_refused():
    for value in (-1, 2 ** 64):
        raises(ValueError, pl.Graph.from_mixture, 10, value, text=f"seed = {value}")
    raises(TypeError, pl.Graph.from_mixture, 10.5, text="nodes_per_class")
    raises(TypeError, pl.Optimizer.sgd, "fast", text="step")
    raises(ValueError, pl.Graph.load, "a\0b", text="zero byte")
    raises(ValueError, pl.Model.gcn, [2, -1])
    pl.Graph.from_mixture(np.int64(10), np.uint64(2 ** 64 - 1))


def test_errors_are_those_of_python():
    graph, model = small(), pl.Model.gcn([2, 2])
    error = raises(ValueError, pl.Graph.from_edges, 5, [0], [9], text="targets[0] = 9 is outside [0, 5)")
    assert isinstance(error, pl.PlimsollError) and error.status == 2
    raises(OSError, pl.Graph.load, "/nowhere/graph.npz", text="nowhere")
    raises(pl.MissingDataError, model.evaluate, graph, "test")
    raises(ValueError, model.evaluate, graph, "all", text="'train', 'val', 'test'")
    raises(pl.UnsupportedError, pl.Estimator.full().set_distribution, "ladies")
    raises(pl.InvalidHandleError, model.evaluate, model, "test")
    raises(TypeError, model.predict, "graph")
    raises(TypeError, pl.Graph)
    raises(TypeError, small, colour=1, text="colour")
    raises(ValueError, pl.Optimizer.sgd, 1, ball=1, box=(0, 1))
    with check.folder() as folder:
        path = os.path.join(folder, "file")
        open(path, "w").write("this is no model")
        raises(pl.BadFormatError, pl.Model.load, path)


def test_an_empty_list_is_not_all_nodes():
    graph, model = small(), pl.Model.gcn([2, 3])
    assert model.predict(graph, []).shape == (0, 3)
    assert model.predict(graph).shape == (4, 3)
    check.same(model.predict(graph, [2, 2]), model.predict(graph)[[2, 2]], "some nodes")
    assert np.frombuffer(b"", np.int32).size == 0 and model.predict(graph, np.frombuffer(b"", np.int32)).shape == (0, 3)


def test_models_copy_and_pickle():
    model = pl.Model.gcn([2, 5, 3], seed=4, regularization=0.25)
    graph = small(labels=[0, 1, 2, 0])
    loss = pl.Estimator.full().gradient(model, graph).loss
    for other in (copy.copy(model), copy.deepcopy(model), model.clone(), pickle.loads(pickle.dumps(model))):
        check.same(other.parameters, model.parameters, "parameters")
        assert pl.Estimator.full().gradient(other, graph).loss == loss, "λ goes along"
        other.parameters = other.parameters * 2
    assert pl.Estimator.full().gradient(model, graph).loss == loss
    twin = pickle.loads(pickle.dumps(graph))
    check.same(twin.features, graph.features, "a graph pickles")
    check.same(twin.train, graph.train, "a graph pickles")
    raises(TypeError, pickle.dumps, pl.Estimator.full())


def test_weights_are_the_parameters_as_matrices():
    model = pl.Model.gcn([3, 4, 2], seed=1)
    assert model.widths == [3, 4, 2] and model.num_layers == 2 and model.num_parameters == 20
    w0, w1 = model.weights
    assert w0.shape == (3, 4) and w1.shape == (4, 2)
    model.weights = [w0.T.copy().T, 2 * w1]
    check.same(model.parameters, np.concatenate([w0.ravel(), 2 * w1.ravel()]), "weights")
    raises(pl.ShapeMismatchError, setattr, model, "weights", [w1, w0])


def test_closing_ends_an_object_once():
    graph, model = small(), pl.Model.gcn([2, 2])
    with graph:
        pass
    graph.close()
    assert graph.closed and "closed" in repr(graph)
    raises(ValueError, lambda: graph.num_nodes, text="this Graph is closed")
    raises(pl.InvalidHandleError, model.predict, graph, text="closed")
    gone = weakref.ref(pl.Estimator.full())
    gc.collect()
    assert gone() is None


def test_the_interpreters_end_is_silent():
    code = ("import plimsoll, threading\ng = plimsoll.Graph.from_mixture(50)\nm = plimsoll.Model.gcn([2, 3], threads=2)\n"
            "m.predict(g)\nclass Ring: pass\nr = Ring(); r.g, r.self = g, r\n")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0 and done.stderr == "", done.stderr


def test_scratch_files_change_no_bit():
    graph = pl.Graph.from_mixture(50)
    model = pl.Model.gcn([2, 8, 3])
    expected = model.predict(graph)
    model.set_scratch(".", 0)
    assert np.array_equal(model.predict(graph), expected)
    raises(OSError, model.set_scratch, "/no/such/directory", text="/no/such/directory")
    model.set_scratch(None)
    assert np.array_equal(model.predict(graph), expected)


def test_many_threads_predict_at_once():
    graph, model = pl.Graph.from_mixture(300), pl.Model.gcn([2, 16, 3])
    expected, wrong = model.predict(graph), []

    def work():
        for _ in range(20):
            if not np.array_equal(model.predict(graph), expected):
                wrong.append(1)

    threads = [threading.Thread(target=work) for _ in range(4)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert not wrong


def test_estimators_say_what_they_are():
    assert pl.Estimator.full().properties == {"unbiased", "consistent", "exact"}
    assert pl.Estimator.unbiased().properties == {"unbiased"}
    estimator = pl.Estimator.consistent([0, 8], distribution="ladies", seed=3)
    assert estimator.properties == {"consistent"}
    graph, model = small(), pl.Model.gcn([2, 4, 2])
    first, second = (estimator.gradient(model, graph, [0, 2]) for _ in range(2))
    estimator.set_seed(3)
    out = np.empty(model.num_parameters, np.float32)
    again = estimator.gradient(model, graph, [0, 2], out=out)
    assert again.values is out and again.loss == first.loss
    check.same(out, first.values, "the same seed gives the same gradient")
    estimator.set_draws(1, [0, 1, 2, 3])
    assert estimator.properties == frozenset()
    estimator.set_draws(1, None)
    estimator.set_weights([1, 2, 3, 4])
    estimator.gradient(model, graph)
    assert estimator.properties == {"consistent"}


def test_a_loop_of_ones_own_lowers_the_loss_and_averages():
    graph, model = small(), pl.Model.gcn([2, 4, 2], seed=1)
    estimator, optimizer = pl.Estimator.full(), pl.Optimizer.sgd(0.5, averaging=True)
    start, losses, iterates = model.parameters, [], []
    for _ in range(200):
        iterates.append(model.parameters)
        gradient, loss = estimator.gradient(model, graph)
        optimizer.update(model, gradient)
        losses.append(loss)
    assert losses[-1] < losses[0] / 2 and not np.array_equal(start, model.parameters)
    check.close(optimizer.average(model), np.mean(iterates, 0), "average")
    optimizer.reset()


def test_schedules_reports_and_epochs_change_the_step():
    optimizer = pl.Optimizer.sgd(1.0)
    optimizer.set_step_decay(2, 0.5)
    optimizer.set_warmup(4, 0.5, unit="epochs")
    found = []
    for _ in range(6):
        found.append(optimizer.step_size)
        optimizer.end_epoch()
    assert found == [0.5, 0.625, 0.375, 0.4375, 0.25, 0.25]
    optimizer.set_cosine(6, 0.125)
    optimizer.set_warmup(0)
    optimizer.set_plateau(0.5, patience=1, minimum=0.25)
    assert optimizer.step_size == 0.125
    for value, scale in ((3.0, 1.0), (2.0, 1.0), (2.0, 1.0), (math.inf, 0.5), (2.5, 0.5), (2.5, 0.25), (9.0, 0.25), (9.0, 0.25)):
        optimizer.report(value)
        assert optimizer.step_size == 0.125 * scale
    optimizer.reset()
    assert optimizer.step_size == 1.0
    raises(pl.InvalidArgumentError, optimizer.report, math.nan, text="value")
    raises(pl.InvalidArgumentError, optimizer.set_cosine, 0, text="length")
    raises(pl.InvalidArgumentError, optimizer.set_plateau, 2.0, text="factor")
    raises(ValueError, optimizer.set_step_decay, 1, 0.5, "weeks", text="unit")
    raises(ValueError, optimizer.set_warmup, 1, 0.5, "weeks", text="unit")


def test_clipping_betas_epsilon_and_the_moving_average():
    gradient = np.array([3.0, 4.0])
    with pl.Model.gcn([1, 2]) as model, pl.Optimizer.sgd(1.0, clip=1.0, ema=0.5) as optimizer:
        model.parameters = np.zeros(2)
        raises(pl.MissingDataError, optimizer.ema, model, text="no update")
        optimizer.update(model, gradient)
        check.close(model.parameters, [-0.6, -0.8], "a clipped step")
        check.close(optimizer.ema(model), [-0.3, -0.4], "moving average")
        optimizer.set_clip(0)
        optimizer.update(model, gradient)
        check.close(model.parameters, [-3.6, -4.8], "a step")
        raises(pl.InvalidArgumentError, optimizer.set_clip, -1.0, text="norm")
        raises(pl.InvalidArgumentError, optimizer.set_ema, 1.0, text="decay")
    with pl.Model.gcn([1, 2]) as model, pl.Optimizer.adam(1.0, betas=(0.0, 0.5), epsilon=1.0) as optimizer:
        model.parameters = np.zeros(2)
        optimizer.update(model, gradient)
        check.close(model.parameters, [-0.75, -0.8], "g/(|g| + 1)")
        raises(pl.InvalidArgumentError, optimizer.set_betas, 0.9, 0.8, text="beta2")
        raises(pl.InvalidArgumentError, optimizer.set_epsilon, 0.0, text="epsilon")


def test_minimize_solves_a_problem_of_ones_own():
    centre, start = np.array([3.0, 4.0]), np.zeros(2)
    sgd, kept = pl.Optimizer.sgd(0.5, ball=1.0), []
    w, average, cancelled = sgd.minimize(lambda step, w: kept.append(w) or w - centre, start, 100)
    check.close(w, [0.6, 0.8], "the nearest point of the ball")
    check.close(average, np.mean(kept, 0), "average of the iterates")
    assert not cancelled and not start.any()

    def stops(step, w):
        if step == 5:
            raise StopIteration
        return w - centre

    assert sgd.minimize(stops, start, 100).cancelled
    raises(ZeroDivisionError, sgd.minimize, lambda step, w: 1 / 0, start, 10)
    raises(ValueError, sgd.minimize, lambda step, w: [1.0], start, 10, text="1 elements, not 2")
    wild = pl.Optimizer.sgd(1e200)
    error = raises(pl.DivergedError, wild.minimize, lambda step, w: 1e200 * (w + 1), start, 10)
    assert isinstance(error, ArithmeticError) and np.all(np.isfinite(error.w))
    assert math.isinf(math.inf) and pl.Optimizer.adam(0.1, box=(0, 1), decay=0.1).set_box() is None


if __name__ == "__main__":
    sys.exit(check.run(check.named(globals())))
