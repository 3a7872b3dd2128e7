"""Records models made of PyTorch Geometric's layers, in double precision, for tests without PyTorch.

    record_layers.py tests/golden_layers.npz

Features, edge weights and parameters are floats, as the library takes them. The cases with draws are the oracle's
(layers.py). The README beside this file lists the keys.

Where PyG's layers mean something else than the library's:
- GCNConv, SGConv and APPNP add no I where a node has a self-loop, and know the symmetric normalisation alone. On graphs with
  self-loops, and for the other normalisations, GCNConv and APPNP take the entries of Â as edge weights, with normalize=False.
  Directed graphs need no such care: PyG's D, of the edges into a node, are our row sums.
- SAGEConv and GINConv have no edge weights. The weighted sum is GraphConv's or SimpleConv's; a weighted mean is the sum
  with weights a / Σ a.
- Of equal neighbours each gets a part of the gradient of a maximum. The graphs of these cases have no ties that matter.
"""
import json
import sys

import numpy as np
import torch
import torch_geometric.nn as pyg

import layers
from layers import chain
from oracle import NONE, ROW, SYMMETRIC

CLASSES = 3


# Operations, and models from them.

def linear(width=CLASSES, **more):
    return {"op": "linear", "width": width, "bias": True, **more}


def gcn(width=CLASSES, **more):
    return {"op": "gcn", "width": width, "bias": True, **more}


def sage(aggregator, width=CLASSES, **more):
    return {"op": "sage", "width": width, "aggregator": aggregator, "bias": True, **more}


def gin(*widths, **more):
    return {"op": "gin", "widths": list(widths), "epsilon": 0.0, "learned": False, "bias": True, **more}


def gat(version, width=CLASSES, heads=1, **more):
    return {"op": "gat", "version": version, "width": width, "heads": heads, "joined": "concat", "self_loops": True,
            "attention_dropout": 0.0, "bias": True, **more}


def aggregate(aggregator, **more):
    return {"op": "aggregate", "aggregator": aggregator, **more}


def propagate(hops, restart=0.0, **more):
    return {"op": "propagate", "hops": hops, "restart": restart, **more}


def act(activation="relu", **more):
    return {"op": "activation", "activation": activation, **more}


def norm(kind, **more):
    return {"op": "norm", "norm": kind, **more}


def join(kind, value, **more):
    return {"op": kind, "value": value, **more}


def dropout(rate):
    return {"op": "dropout", "rate": rate}


# Graphs: (indptr, indices, weights, features, labels); row v lists the nodes that v aggregates from.

def random_graph(seed, n, degree, directed=False, weighted=False, loops=False, width=4, coarse=False):
    """Node 0 is a hub and node n - 2 is isolated. In a directed graph no node aggregates from node 1, and node 2 from none.
    If it is weighted too, some weights are 0, among them all in the row of node 3. `coarse` features are -1, 0 and 1."""
    rng = np.random.default_rng([7, seed])
    edges = rng.random((n, n)) < degree / n
    edges[0] |= rng.random(n) < 0.7
    edges[:, 0] |= rng.random(n) < 0.7
    if not directed:
        edges |= edges.T
    weights = rng.integers(1, 17, (n, n)) / 8
    if directed:
        edges[:, 1] = edges[2] = False
        weights[rng.random((n, n)) < 0.1] = 0.0
        weights[3] = 0.0
        edges[3, [0, 5]] = True
    else:
        weights = np.triu(weights) + np.triu(weights, 1).T
    np.fill_diagonal(edges, rng.random(n) < 0.4 if loops else False)
    edges[n - 2] = edges[:, n - 2] = False
    rows, columns = np.nonzero(edges)
    features = rng.integers(-1, 2, (n, width)) if coarse else rng.normal(size=(n, width))
    return dict(indptr=np.searchsorted(rows, np.arange(n + 1)).astype("<i4"), indices=columns.astype("<i4"),
                weights=weights[edges] if weighted else np.zeros(0), features=floats(features),
                labels=rng.integers(0, CLASSES, n).astype("<i4"))


def floats(values):
    """Reals that are floats, as doubles."""
    return np.asarray(values, np.float64).astype(np.float32).astype("<f8")


GRAPHS = [
    random_graph(0, 12, 2.0),
    random_graph(1, 14, 3.0, directed=True),
    random_graph(2, 16, 2.5, weighted=True),
    random_graph(3, 18, 3.0, directed=True, weighted=True),
    random_graph(4, 12, 2.0, loops=True),
    random_graph(5, 15, 3.0, directed=True, weighted=True, loops=True),
    random_graph(6, 40, 2.5, width=5),
    random_graph(7, 6, 1.0, directed=True),
    random_graph(8, 12, 4.0, coarse=True),
]
UNDIRECTED, DIRECTED, WEIGHTED, DIRECTED_WEIGHTED, LOOPS, DIRECTED_WEIGHTED_LOOPS, LARGE, SMALL, COARSE = range(9)


def model_on(graph, *operations):
    return chain(GRAPHS[graph]["features"].shape[1], *operations)


# The models.

def recorded():
    """(name, graph, normalisation, operations, λ) of each case that PyG computes."""
    def case(name, graph, *operations, normalization=SYMMETRIC, lam=0.0):
        return name, graph, normalization, operations, lam
    yield case("linear", UNDIRECTED, linear())
    yield case("linear without bias, λ", UNDIRECTED, linear(bias=False), lam=0.1)
    yield case("two linear layers", DIRECTED, linear(5), act(), linear())
    yield case("gcn", UNDIRECTED, gcn())
    yield case("gcn without bias", UNDIRECTED, gcn(bias=False))
    yield case("gcn, directed", DIRECTED, gcn(5), act(), gcn())
    yield case("gcn, weighted, λ", WEIGHTED, gcn(5), act(), gcn(), lam=0.05)
    yield case("gcn, directed and weighted", DIRECTED_WEIGHTED, gcn(5), act(), gcn())
    yield case("gcn, self-loops", LOOPS, gcn(5), act(), gcn())
    yield case("gcn, row", DIRECTED_WEIGHTED, gcn(5), act(), gcn(), normalization=ROW)
    yield case("gcn, row, self-loops", DIRECTED_WEIGHTED_LOOPS, gcn(), normalization=ROW)
    yield case("gcn, none", DIRECTED, gcn(5), act(), gcn(), normalization=NONE)
    yield case("three gcn, one without bias", LARGE, gcn(6), act(), gcn(5, bias=False), act("tanh"), gcn())
    for aggregator in ("mean", "sum", "max"):
        yield case(f"sage {aggregator}", UNDIRECTED, sage(aggregator))
        yield case(f"sage {aggregator}, directed", DIRECTED, sage(aggregator, 5), act(), sage(aggregator))
        yield case(f"sage {aggregator}, weighted", DIRECTED_WEIGHTED, sage(aggregator, 5, bias=False), act("elu"),
                   sage(aggregator))
    yield case("sage mean, self-loops", LOOPS, sage("mean", 5), act(), sage("mean"))
    yield case("sage sum, weighted self-loops, λ", DIRECTED_WEIGHTED_LOOPS, sage("sum"), lam=0.1)
    yield case("sage max, self-loops", LOOPS, sage("max", 4), act("tanh"), sage("max"))
    yield case("gin", UNDIRECTED, gin(CLASSES, epsilon=0.5))
    yield case("gin, two linear layers", DIRECTED, gin(5, CLASSES))
    yield case("gin, learned", UNDIRECTED, gin(5, CLASSES, learned=True))
    yield case("gin, learned, twice, λ", WEIGHTED, gin(4, 5, learned=True), act(),
               gin(4, CLASSES, learned=True, epsilon=0.25), lam=0.1)
    yield case("gin, three linear layers without biases, self-loops", LOOPS, gin(4, 4, CLASSES, bias=False, epsilon=-0.25))
    yield case("gin, directed and weighted, self-loops", DIRECTED_WEIGHTED_LOOPS, gin(4, 4), act(), gin(CLASSES))
    for aggregator, graph in (("mean", DIRECTED), ("sum", LOOPS), ("max", UNDIRECTED)):
        yield case(f"aggregate {aggregator}", graph, linear(4), aggregate(aggregator), linear())
    yield case("aggregate mean, then sum, weighted", DIRECTED_WEIGHTED, linear(4), aggregate("mean"), act("tanh"),
               aggregate("sum"), linear())
    yield case("sgc", UNDIRECTED, propagate(2), linear())
    yield case("sgc, directed and weighted", DIRECTED_WEIGHTED, linear(4), act(), propagate(3), linear())
    yield case("appnp", LARGE, linear(5), act(), linear(), propagate(4, 0.1))
    yield case("appnp, weighted", WEIGHTED, linear(), propagate(2, 0.5))
    yield case("appnp, row", DIRECTED_WEIGHTED_LOOPS, linear(), propagate(3, 0.2), normalization=ROW)
    yield case("appnp, none", SMALL, linear(), propagate(2, 0.25), normalization=NONE)
    for activation in layers.ACTIVATIONS:
        yield case(activation, SMALL, gcn(5), act(activation), linear())
    yield case("layer norm", UNDIRECTED, gcn(5), norm("layer"), act(), gcn())
    yield case("batch norm", UNDIRECTED, gcn(5), norm("batch"), act(), gcn())
    yield case("batch norm of the features, λ", DIRECTED, norm("batch"), sage("mean", 4), act(), norm("batch"),
               linear(), lam=0.1)
    yield case("both norms, gin", LARGE, gin(4, 4), norm("batch"), act(), gin(4, 4, learned=True), norm("layer"), act(),
               linear())
    yield case("residual gcn", UNDIRECTED, linear(4), gcn(4), act(), join("add", 1), gcn(4), act(), join("add", 4), linear())
    yield case("jumping knowledge, concat", DIRECTED, sage("mean", 4), act(), sage("mean", 3), act(), join("concat", 2),
               linear())
    yield case("jumping knowledge, max", UNDIRECTED, gcn(4), act("tanh"), gcn(4), act("tanh"), join("max", 2), gcn(4),
               join("max", 5), linear())
    yield case("the features again", LOOPS, sage("sum", 4), act(), join("concat", 0), linear())
    yield case("a value added to itself", SMALL, gcn(), join("add", 1))
    yield case("two branches", WEIGHTED, gcn(4), act(), sage("mean", 4, input=0), act("gelu"), join("concat", 2),
               norm("layer"), linear())
    yield case("gin from parts", LARGE, linear(4), aggregate("sum"), join("add", 1), linear(4), norm("batch"), act(), linear())
    yield case("dropout of rate 0", UNDIRECTED, gcn(4), act(), dropout(0.0), gcn())
    yield case("everything", DIRECTED_WEIGHTED, linear(4), norm("batch"), act("leaky_relu"), sage("max", 4), join("add", 3),
               gin(4, 4, learned=True), join("max", 5), norm("layer"), propagate(2, 0.2), join("concat", 6),
               aggregate("mean"), gcn(4, input=4), act("gelu"), join("concat", 11), linear(), lam=0.01)
    for version in ("gat", "gatv2"):
        yield case(version, UNDIRECTED, gat(version))
        yield case(f"{version}, three heads, directed", DIRECTED, gat(version, 4, 3), act("elu"), gat(version))
        yield case(f"{version}, mean of heads, λ", LARGE, gat(version, 5, 8), act("elu"), gat(version, heads=4, joined="mean"),
                   lam=0.05)
        yield case(f"{version}, without biases, weighted self-loops", DIRECTED_WEIGHTED_LOOPS,
                   gat(version, 3, 2, bias=False), act(), gat(version, heads=2, joined="mean", bias=False), linear(),
                   normalization=NONE)
        yield case(f"{version}, edges alone", DIRECTED_WEIGHTED, gat(version, 4, 2, self_loops=False), act(),
                   gat(version, self_loops=False))
        yield case(f"{version}, edges alone, self-loops", LOOPS, gat(version, 5, 3, self_loops=False), act("tanh"),
                   gat(version, heads=17, joined="mean", self_loops=False), normalization=ROW)
        yield case(f"{version} and others", WEIGHTED, gat(version, 2, 2), norm("layer"), act("elu"), join("add", 1),
                   gcn(4), act(), gat(version, 4), join("concat", 3), linear())


def drawn():
    """(name, graph, normalisation, operations, λ, draws per hop) of each case with draws; 0 is an exact hop."""
    def case(name, graph, *operations, draws, normalization=SYMMETRIC, lam=0.0):
        return name, graph, normalization, operations, lam, draws
    yield case("gcn", UNDIRECTED, gcn(), draws=[6])
    yield case("two gcn", UNDIRECTED, gcn(5), act(), gcn(), draws=[8, 6])
    yield case("two gcn, the first exact, λ", WEIGHTED, gcn(5), act(), gcn(), draws=[0, 9], lam=0.1)
    yield case("two gcn, the second exact", DIRECTED, gcn(5), act(), gcn(), draws=[9, 0])
    yield case("gcn, row", DIRECTED_WEIGHTED, gcn(5), act("elu"), gcn(), draws=[12, 20], normalization=ROW)
    yield case("gcn, none", DIRECTED_WEIGHTED_LOOPS, gcn(5), act(), gcn(), draws=[12, 10], normalization=NONE)
    yield case("three gcn, a single draw", LARGE, gcn(4), act(), gcn(4), act(), gcn(), draws=[30, 20, 1])
    for aggregator in ("mean", "sum", "max"):
        yield case(f"sage {aggregator}", UNDIRECTED, sage(aggregator), draws=[6])
        yield case(f"two sage {aggregator}", DIRECTED, sage(aggregator, 5), act(), sage(aggregator), draws=[14, 9])
        yield case(f"two sage {aggregator}, the first exact, weighted", DIRECTED_WEIGHTED, sage(aggregator, 4), act(),
                   sage(aggregator), draws=[0, 12])
        yield case(f"aggregate {aggregator}", DIRECTED_WEIGHTED_LOOPS, linear(4), aggregate(aggregator), act("tanh"),
                   linear(), draws=[10])
    yield case("gin", UNDIRECTED, gin(5, CLASSES, epsilon=0.5), draws=[9])
    yield case("two gin, learned, weighted, λ", WEIGHTED, gin(4, 4, learned=True), act(), gin(CLASSES, learned=True),
               draws=[16, 12], lam=0.1)
    yield case("gin, self-loops", LOOPS, gin(4, CLASSES), draws=[10])
    yield case("sgc", LARGE, propagate(3), linear(), draws=[30, 20, 25])
    yield case("sgc, one hop exact", UNDIRECTED, linear(4), propagate(3), linear(), draws=[8, 0, 9])
    yield case("appnp", UNDIRECTED, linear(4), act(), linear(), propagate(3, 0.1), draws=[10, 8, 9])
    yield case("appnp, row", DIRECTED_WEIGHTED, linear(), propagate(2, 0.5), draws=[12, 14], normalization=ROW)
    yield case("layer norm and a residual", UNDIRECTED, linear(4), gcn(4), norm("layer"), act(), join("add", 1), gcn(),
               draws=[9, 7])
    yield case("jumping knowledge, concat", DIRECTED, sage("mean", 4), act(), sage("sum", 4), act(), join("concat", 2),
               linear(), draws=[12, 8])
    yield case("jumping knowledge, max, and the features", WEIGHTED, gcn(4), act("gelu"), gin(4), join("max", 2),
               join("concat", 0), linear(), draws=[12, 11])
    yield case("two branches with hops of their own", WEIGHTED, gcn(4), act(), sage("max", 4, input=0), join("add", 2),
               propagate(2, 0.2), linear(), draws=[10, 11, 0, 12])
    yield case("everything without batch norm", DIRECTED_WEIGHTED, linear(4), act("leaky_relu"), sage("max", 4), join("add", 2),
               gin(4, 4, learned=True), join("max", 4), norm("layer"), propagate(2, 0.2), join("concat", 5), aggregate("mean"),
               gcn(4, input=3), act("gelu"), join("concat", 10), linear(), draws=[12, 14, 16, 10, 13, 15], lam=0.01)
    yield case("batch norm over the rows at hand", LARGE, gcn(4), norm("batch"), act(), gcn(), draws=[0, 0])
    yield case("batch norm over the rows at hand, sage and gin", LARGE, sage("mean", 4), norm("batch"), act(), gin(4, 4),
               norm("batch"), linear(), draws=[0, 0])
    for hops in ([0, 0], [14, 16]):
        yield case(f"ties: two sage max{', drawn' if hops[0] else ''}", COARSE, linear(4), sage("max", 4), sage("max"),
                   draws=hops)
        yield case(f"ties: aggregate max{', drawn' if hops[0] else ''}", COARSE, linear(5), aggregate("max"), act(),
                   aggregate("max"), linear(), draws=hops)
    yield case("ties: of equal values the last one comes first", COARSE, linear(4), linear(4, input=0), join("max", 1), gcn(),
               draws=[12])
    yield case("activations of exactly 0", COARSE, linear(5), act(), gin(8, 5), act("leaky_relu"), linear(), draws=[0])
    yield case("a value that nothing reads", UNDIRECTED, linear(4), gcn(4, input=0), linear(input=1), draws=[0])
    for version in ("gat", "gatv2"):
        yield case(version, UNDIRECTED, gat(version), draws=[6])
        yield case(f"two {version}", DIRECTED, gat(version, 4, 2), act("elu"), gat(version, heads=3, joined="mean"), draws=[14, 9])
        yield case(f"two {version}, the first exact, λ", WEIGHTED, gat(version, 3, 8), act("elu"), gat(version), draws=[0, 9],
                   lam=0.1)
        yield case(f"two {version}, edges alone", DIRECTED_WEIGHTED_LOOPS, gat(version, 4, 2, self_loops=False), act("tanh"),
                   gat(version, self_loops=False), draws=[12, 14])
        yield case(f"{version} and others", LOOPS, linear(4), gat(version, 2, 2), join("add", 1), sage("mean", 4), act(),
                   gat(version, 4), join("concat", 4), linear(), draws=[10, 12, 14])


def parameters(rng, model, coarse=False):
    """Floats; those of a norm are about 1 and 0. Coarse ones are small whole numbers, so that equal values occur."""
    if coarse:
        return rng.integers(-1, 2, layers.num_parameters(model)).astype("<f8")
    norms = [f"v{value}" for value, o in enumerate(model["operations"], 1) if o["op"] == "norm"]
    parts = []
    for name, rows, columns in layers.tensors(model):
        value, _, tensor = name.partition(".")
        part = rng.normal(size=rows * columns)
        part *= 0.3 if rows == 1 else 1.3 / np.sqrt(rows)
        parts.append(1.0 + part if value in norms and tensor == "weight" else part)
    return floats(np.concatenate(parts))


# The same models in PyG.

class Geometric(torch.nn.Module):
    def __init__(self, model, graph, normalization):
        super().__init__()
        self.model, self.normalization = model, normalization
        n = len(graph["indptr"]) - 1
        targets = np.repeat(np.arange(n), np.diff(graph["indptr"]))
        sources = graph["indices"]
        weighted = len(graph["weights"]) > 0
        weights = graph["weights"] if weighted else np.ones(len(sources))
        # Row v aggregates from u: u is the source, v the target.
        self.edges = torch.tensor(np.stack([sources, targets]).astype(np.int64))
        self.weights = torch.tensor(weights) if weighted else None
        sums = np.bincount(targets, weights, n)[targets]
        self.means = torch.tensor(np.divide(weights, sums, out=np.zeros(len(weights)), where=sums > 0))
        # PyG's own normalisation where it means the same.
        self.own = normalization == SYMMETRIC and not (sources == targets).any()
        if not self.own:
            dense = layers.Graph(graph["indptr"], sources, weights if weighted else None, normalization).normalized()
            # Â(v, u) of the edge from u to v.
            v, u = np.nonzero(dense)
            self.gcn_edges, self.gcn_weights = torch.tensor(np.stack([u, v])), torch.tensor(dense[v, u])
        else:
            self.gcn_edges, self.gcn_weights = self.edges, self.weights
        self.layers = torch.nn.ModuleList()
        widths = [model["num_features"]]
        for operation in model["operations"]:
            layer, width = self.layer(operation, widths[operation["input"]], widths)
            self.layers.append(layer)
            widths.append(width)
        self.double()

    def layer(self, o, fan_in, widths):
        """The module of an operation, and the width of its value."""
        kind, weighted = o["op"], self.weights is not None
        if kind == "linear":
            return torch.nn.Linear(fan_in, o["width"], bias=o["bias"]), o["width"]
        if kind == "gcn":
            return pyg.GCNConv(fan_in, o["width"], bias=o["bias"], normalize=self.own), o["width"]
        if kind == "sage":
            if weighted and o["aggregator"] != "max":
                return pyg.GraphConv(fan_in, o["width"], aggr="add", bias=o["bias"]), o["width"]
            return pyg.SAGEConv(fan_in, o["width"], aggr=self.named(o["aggregator"]), bias=o["bias"]), o["width"]
        if kind == "gin":
            parts = []
            for before, width in zip([fan_in] + o["widths"], o["widths"]):
                parts += [torch.nn.ReLU()] * bool(parts) + [torch.nn.Linear(before, width, bias=o["bias"])]
            return pyg.GINConv(torch.nn.Sequential(*parts), eps=o["epsilon"], train_eps=o["learned"]), o["widths"][-1]
        if kind == "gat":
            conv = {"gat": pyg.GATConv, "gatv2": pyg.GATv2Conv}[o["version"]]
            is_concat = o["joined"] == "concat"
            layer = conv(fan_in, o["width"], o["heads"], concat=is_concat, dropout=o["attention_dropout"],
                         add_self_loops=o["self_loops"], bias=o["bias"])
            return layer, o["width"] * (o["heads"] if is_concat else 1)
        if kind == "aggregate":
            aggregator = "sum" if weighted and o["aggregator"] == "mean" else o["aggregator"]
            return pyg.SimpleConv(aggr=self.named(aggregator)), fan_in
        if kind == "propagate":
            if o["restart"] == 0 and self.own:
                conv = pyg.SGConv(fan_in, fan_in, K=o["hops"])
                conv.lin = torch.nn.Identity()
                return conv, fan_in
            return pyg.APPNP(K=o["hops"], alpha=o["restart"], normalize=self.own), fan_in
        if kind == "activation":
            return {"relu": torch.nn.ReLU, "leaky_relu": torch.nn.LeakyReLU, "elu": torch.nn.ELU, "gelu": torch.nn.GELU,
                    "tanh": torch.nn.Tanh, "sigmoid": torch.nn.Sigmoid}[o["activation"]](), fan_in
        if kind == "dropout":
            return torch.nn.Dropout(o["rate"]), fan_in
        if kind == "norm":
            return {"layer": torch.nn.LayerNorm, "batch": torch.nn.BatchNorm1d}[o["norm"]](fan_in), fan_in
        if kind == "concat":
            return pyg.JumpingKnowledge("cat"), fan_in + widths[o["value"]]
        if kind == "max":
            return pyg.JumpingKnowledge("max"), fan_in
        assert kind == "add"
        return torch.nn.Identity(), fan_in

    @staticmethod
    def named(aggregator):
        return {"sum": "add"}.get(aggregator, aggregator)

    def edge_weights(self, aggregator):
        """Those that make a sum what the aggregator means."""
        return None if aggregator == "max" or self.weights is None else {"mean": self.means, "sum": self.weights}[aggregator]

    def forward(self, x):
        values = [x]
        for o, layer in zip(self.model["operations"], self.layers):
            kind, h = o["op"], values[o["input"]]
            if kind in ("gcn", "propagate"):
                made = layer(h, self.gcn_edges, self.gcn_weights)
            elif kind == "sage" and isinstance(layer, pyg.GraphConv):
                made = layer(h, self.edges, self.edge_weights(o["aggregator"]))
            elif kind == "aggregate":
                made = layer(h, self.edges, self.edge_weights(o["aggregator"]))
            elif kind == "gin" and self.weights is not None:
                made = layer.nn(pyg.SimpleConv(aggr="add")(h, self.edges, self.weights) + (1 + layer.eps) * h)
            elif kind in ("sage", "gin", "gat"):
                made = layer(h, self.edges)
            elif kind in ("concat", "max"):
                made = layer([h, values[o["value"]]])
            elif kind == "add":
                made = h + values[o["value"]]
            else:
                made = layer(h)
            values.append(made)
        return values[-1]

    def tensor(self, name):
        """PyG's tensor of that name. GraphConv has lin_rel and lin_root for lin_l and lin_r."""
        value, _, name = name.partition(".")
        layer = self.layers[int(value[1:]) - 1]
        if isinstance(layer, pyg.GraphConv):
            name = name.replace("lin_l", "lin_rel").replace("lin_r.", "lin_root.")
        return layer.get_parameter(name)

    def set(self, flat):
        at = 0
        for name, rows, columns in layers.tensors(self.model):
            part, tensor = flat[at:at + rows * columns].reshape(rows, columns), self.tensor(name)
            # PyTorch's matrices are fan_out × fan_in; attention vectors are 1 × heads × width.
            tensor.data.copy_(torch.tensor(part.T if tensor.dim() == 2 else part.reshape(tensor.shape)))
            at += rows * columns
        assert at == len(flat) == sum(tensor.numel() for tensor in self.parameters())

    def gradient(self):
        found = [self.tensor(name).grad for name, _, _ in layers.tensors(self.model)]
        return torch.cat([(g.T if g.dim() == 2 else g).reshape(-1) for g in found]).numpy()


def of_pyg(model, graph, normalization, w, batch, lam):
    """What PyG computes, in training mode; of batch norms also the running statistics after it, and the logits with them."""
    module = Geometric(model, graph, normalization)
    module.set(w)
    x, y = torch.tensor(graph["features"]), torch.tensor(graph["labels"].astype(np.int64))
    module.train()
    logits = module(x)
    loss = torch.nn.functional.cross_entropy(logits[batch], y[batch])
    loss = loss + 0.5 * lam * sum((tensor ** 2).sum() for tensor in module.parameters())
    loss.backward()
    result = dict(logits=logits.detach().numpy(), gradient=module.gradient())
    batch_norms = {v: layer for v, layer in enumerate(module.layers, 1) if isinstance(layer, torch.nn.BatchNorm1d)}
    for value, layer in batch_norms.items():
        result[f"v{value}_running_mean"] = layer.running_mean.numpy().copy()
        result[f"v{value}_running_var"] = layer.running_var.numpy().copy()
    if batch_norms:
        with torch.no_grad():
            result["evaluated"] = module.eval()(x).numpy()
    return loss.item(), result


def of_oracle(model, graph, normalization, w, batch, lam, draws, p):
    """What the oracle computes of given draws; the logits are those of the batch."""
    of = layers.Graph(graph["indptr"], graph["indices"], graph["weights"] if len(graph["weights"]) else None, normalization)
    at_hand = layers.rows_at_hand(model, of, batch)
    rows = {v: at_hand[v] for v, o in enumerate(model["operations"], 1) if o.get("norm") == "batch"}
    assert not rows or not any(map(len, draws))
    how = dict(draws=draws, p=p, rows=rows)
    loss, gradient = layers.loss_and_gradient(model, w, of, graph["features"], graph["labels"], batch, lam, **how)
    logits = layers.Pass(model, w, of, graph["features"], **how).logits()[batch]
    result = dict(logits=logits, gradient=gradient, p=p)
    result.update({f"v{value}_rows": nodes.astype("<i4") for value, nodes in rows.items()})
    result.update({f"draws{hop}": np.asarray(nodes, "<i4") for hop, nodes in enumerate(draws)})
    return loss, result


def text(string):
    return np.frombuffer(string.encode(), np.uint8)


def record():
    arrays = {f"g{at:02}_{key}": array for at, graph in enumerate(GRAPHS) for key, array in graph.items()}
    for kind, given in (("c", recorded()), ("d", drawn())):
        table = {key: [] for key in ("names", "graph", "normalization", "lambda", "loss")}
        for at, (name, g, normalization, operations, lam, *sizes) in enumerate(given):
            rng = np.random.default_rng([11, ord(kind), at])
            graph, model = GRAPHS[g], model_on(g, *operations)
            n = len(graph["labels"])
            # All nodes, a part of them, or one with neighbours.
            batch = rng.permutation(n)[:[n, n // 3, n // 2, 2 * n // 3][at % 4] if kind == "c" else [n // 3, n // 2][at % 2]]
            if kind == "c" and at % 12 == 3:
                batch = np.array([0])
            w = parameters(rng, model, g == COARSE)
            if kind == "c":
                loss, result = of_pyg(model, graph, normalization, w, batch, lam)
            else:
                p = rng.random(n) + 0.2 if at % 3 else np.ones(n)
                p /= p.sum()
                draws = [rng.choice(n, size, p=p) if size else [] for size in sizes[0]]
                loss, result = of_oracle(model, graph, normalization, w, batch, lam, draws, p)
            result.update(model=text(json.dumps(model, separators=(",", ":"))), tensors=text(layers.describe(model)),
                          batch=batch.astype("<i4"), parameters=w)
            arrays.update({f"{kind}{at:02}_{key}": array for key, array in result.items()})
            for key, entry in (("names", name), ("graph", g), ("normalization", layers.NORMALIZATIONS.index(normalization)),
                               ("lambda", lam), ("loss", loss)):
                table[key].append(entry)
        arrays[f"{kind}_names"] = text("".join(f"{name}\n" for name in table["names"]))
        for key, dtype in (("graph", "<i4"), ("normalization", "<i4"), ("lambda", "<f8"), ("loss", "<f8")):
            arrays[f"{kind}_{key}"] = np.array(table[key], dtype)
    return arrays


if __name__ == "__main__":
    torch.set_num_threads(1)
    # In C order: PyTorch's transposes are not.
    np.savez_compressed(sys.argv[1], **{key: np.ascontiguousarray(array) for key, array in record().items()})
