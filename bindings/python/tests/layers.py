"""Models from layers: appending, what they compute, tensors by name, properties."""
import copy
import sys

import numpy as np

import plimsoll as pl
from support import check, raises, small


def softmax(z):
    e = np.exp(z - z.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


def test_layers_are_appended_in_a_chain():
    layers = pl.Layers(8).sage(16).relu().dropout(0.5).sage(3, "max", bias=False)
    assert (layers.last, layers.width, layers.num_hops) == (4, 3, 2)
    shortcut = layers.gcn(6).activation("gelu").last
    assert layers.gcn(6).norm("batch").add(shortcut).max(shortcut).concat(shortcut).width == 12
    layers.gin([5, 4], epsilon=0.5, learned=True).gin(4).aggregate("min").propagate(3, 0.1).linear(2)
    assert (layers.last, layers.width, layers.num_hops) == (16, 2, 10)
    assert layers.at(0).width == 8 and "last value 0 of width 8, 10 hops" in repr(layers)
    raises(pl.ShapeMismatchError, layers.add, 1, text="add: value 0 has width 8, value 1 has width 16")
    raises(pl.InvalidArgumentError, layers.linear, 0, text="linear: width = 0")
    raises(pl.InvalidArgumentError, layers.gin, [], text="num_widths = 0")
    raises(pl.InvalidArgumentError, layers.gin, [3], epsilon=float("nan"), text="epsilon")
    raises(ValueError, layers.sage, 3, "median", text="aggregator")
    raises(ValueError, layers.activation, "softplus", text="activation")
    raises(ValueError, layers.norm, "graph", text="norm")
    raises(pl.InvalidArgumentError, layers.dropout, 1.0, text="rate = 1")
    raises(pl.InvalidArgumentError, layers.gat, 3, 2, attention_dropout=1.0, text="attention_dropout = 1.0")
    raises(pl.InvalidArgumentError, layers.gat, 3, 2, version=3, text="version = 3")
    raises(ValueError, layers.gat, 3, join="sum", text="join")
    raises(pl.InvalidArgumentError, pl.Layers, 0, text="num_features")
    assert layers.last == 0
    layers.close()
    raises(pl.InvalidHandleError, layers.gcn, 3, text="this Layers is closed")
    assert repr(layers) == "<plimsoll.Layers, closed>"


def test_attention_has_heads():
    layers = pl.Layers(5).gat(4, 3)
    assert (layers.last, layers.width, layers.num_hops) == (1, 12, 1)
    assert layers.gat(2, heads=8, version=2, join="mean", self_loops=False, attention_dropout=0.6).width == 2
    model = pl.Model(layers.linear(2), seed=1)
    assert {name: tensor.shape for name, tensor in model.tensors.items()} == {
        "v1.lin.weight": (5, 12), "v1.att_src": (1, 12), "v1.att_dst": (1, 12), "v1.bias": (1, 12),
        "v2.lin_l.weight": (12, 16), "v2.lin_l.bias": (1, 16), "v2.lin_r.weight": (12, 16), "v2.lin_r.bias": (1, 16),
        "v2.att": (1, 16), "v2.bias": (1, 2), "v3.weight": (2, 2), "v3.bias": (1, 2)}
    plain = pl.Model(pl.Layers(5).gat(4, 2, 2, bias=False))
    assert list(plain.tensors) == ["v1.lin_l.weight", "v1.lin_r.weight", "v1.att"]


def test_a_model_of_layers_trains_and_predicts():
    graph = pl.Graph.from_mixture(100, seed=0)
    layers = pl.Layers(graph.num_features).sage(16).relu().dropout(0.2).sage(graph.num_classes)
    model = pl.Model(layers, seed=1, regularization=1e-4, threads=2)
    same = pl.Model(layers, seed=1)
    check.same(model.parameters, same.parameters, "the same seed")
    before = model.evaluate(graph, "train").loss
    pl.train(model, graph, pl.Estimator.consistent([40, 40], distribution="ladies"), pl.Optimizer.adam(0.01), epochs=30)
    assert model.evaluate(graph, "train").loss < before
    whole = model.predict(graph)
    check.close(whole.sum(1), np.ones(len(whole)), "probabilities", 1e-6)
    check.same(model.predict(graph, [7, 250, 7]), whole[[7, 250, 7]], "rows of the whole")
    assert model.confusion(graph, "test").sum() == len(graph.test)
    check.same(copy.copy(model).predict(graph), whole, "a copy")
    assert "4 operations, 2 features to 3 outputs" in repr(model)
    raises(pl.UnsupportedError, lambda: model.widths, text="made of layers")
    raises(TypeError, pl.Model)


def test_values_are_those_of_numpy():
    graph = small()
    layers = pl.Layers(2).sage(4).activation("tanh").gin([3, 3], epsilon=0.25).concat(2).propagate(2, 0.1)
    model = pl.Model(layers, seed=3)
    assert model.value_widths == [2, 4, 4, 3, 7, 7] and model.num_layers == 4
    a, x, t = graph.to_scipy().toarray(), graph.features, model.state_dict()
    d = a + np.eye(4)
    hat = d / np.sqrt(np.outer(d.sum(1), d.sum(1)))
    h1 = a / a.sum(1, keepdims=True) @ x @ t["v1.lin_l.weight"] + t["v1.lin_l.bias"] + x @ t["v1.lin_r.weight"]
    h2 = np.tanh(h1)
    inner = np.maximum((1.25 * h2 + a @ h2) @ t["v3.nn.0.weight"] + t["v3.nn.0.bias"], 0)
    h3 = inner @ t["v3.nn.2.weight"] + t["v3.nn.2.bias"]
    h4 = np.hstack([h3, h2])
    h5 = h4
    for _ in range(2):
        h5 = 0.9 * hat @ h5 + 0.1 * h4
    for value, expected in enumerate([x, h1, h2, h3, h4, h5]):
        check.close(model.embed_value(graph, value), expected, f"value {value}", 1e-5)
        check.close(model.embed_value(graph, value, [3, 1]), expected[[3, 1]], f"some of value {value}", 1e-5)
    check.close(model.predict(graph), softmax(h5), "predictions", 1e-6)
    raises(pl.InvalidArgumentError, model.embed_value, graph, 6, text="value = 6")
    raises(pl.InvalidArgumentError, model.embed_value, graph, -1, text="value = -1")


def test_tensors_are_found_by_name():
    model = pl.Model(pl.Layers(5).gcn(4).norm("layer").linear(2, bias=False))
    assert model.tensors == {
        "v1.lin.weight": (0, (5, 4)), "v1.bias": (20, (1, 4)), "v2.weight": (24, (1, 4)), "v2.bias": (28, (1, 4)),
        "v3.weight": (32, (4, 2))}
    flat = model.parameters
    view = model.tensors["v3.weight"].of(flat)
    check.same(view, flat[32:].reshape(4, 2), "a view")
    state = model.state_dict()
    state["v1.bias"] = [1, 2, 3, 4]
    state["v3.weight"] = np.zeros((4, 2))
    model.load_state_dict(state)
    check.same(model.parameters[20:24], [1, 2, 3, 4], "v1.bias")
    check.same(model.parameters[32:], np.zeros(8), "v3.weight")
    check.same(model.parameters[:20], flat[:20], "the rest")
    raises(pl.InvalidArgumentError, model.load_state_dict, {"v9.bias": [1]}, text="v9.bias")
    raises(pl.ShapeMismatchError, model.load_state_dict, {"v3.weight": np.zeros((2, 4))}, text="(2, 4), not (4, 2)")
    assert list(pl.Model.gcn([3, 4, 2]).tensors) == ["v1.lin.weight", "v3.lin.weight"]


def test_a_property_depends_on_the_model():
    plain, normed = pl.Model(pl.Layers(2).gcn(2)), pl.Model(pl.Layers(2).gcn(2).norm("batch"))
    for estimator in (pl.Estimator.unbiased(), pl.Estimator.consistent([3])):
        assert estimator.property_of(plain) == estimator.properties and estimator.property_of(normed) == frozenset()
    assert pl.Estimator.full().property_of(normed) == {"unbiased", "consistent", "exact"}


if __name__ == "__main__":
    sys.exit(check.run(check.named(globals())))
