#!/usr/bin/env python3
"""Models made of layers, in NumPy and float64: dense matrices, and a reverse pass that is written out for each operation.

    layers.py --check                       compares gradients with central differences
    layers.py tests/golden_layers.npz       compares each case of the file with what this computes

A model is the JSON of the library's files: {"num_features": 5, "operations": [{"op": "linear", "input": 0, …}, …]}. Value 0 is
the features X, operation i makes value i + 1, and the last value holds the logits. A hop is a look at neighbours; hops are
numbered in the order of their operations, and a propagation has `hops` of them.

Letters: A adjacency (row v lists the nodes that v aggregates from), Â normalised, h the value that an operation is made from,
g the gradient of the loss by the value it makes, P the distribution that t nodes of a hop are drawn from.
"""
import json
import sys

import numpy as np
from scipy.special import erf

from oracle import NONE, NORMALIZATIONS, ROW, SYMMETRIC, adjacency_of_csr, cross_entropy, normalize_adjacency, softmax

EPSILON, MOMENTUM, SLOPE, ATTENTION_SLOPE = 1e-5, 0.1, 0.01, 0.2


class Graph:
    """A as a dense matrix, and the places where it has edges, those of weight 0 too."""

    def __init__(self, indptr, indices, weights=None, normalization=SYMMETRIC):
        n = len(indptr) - 1
        rows = np.repeat(np.arange(n), np.diff(indptr))
        self.n, self.normalization = n, normalization
        self.a, self.edges = np.zeros((n, n)), np.zeros((n, n), bool)
        np.add.at(self.a, (rows, indices), 1.0 if weights is None else weights)
        if weights is None:
            self.a = np.minimum(self.a, 1.0)
        self.edges[rows, indices] = True

    def normalized(self):
        """Â: D^-½(A + I)D^-½, D^-1(A + I), or A; D the row sums of A + I."""
        if self.normalization == NONE:
            return self.a
        a = self.a + np.eye(self.n)
        d = a.sum(1)
        return a / d[:, None] if self.normalization == ROW else a / np.sqrt(np.outer(d, d))

    def mean(self):
        """A with each row divided by its sum; a row that sums to 0 stays 0."""
        d = self.a.sum(1, keepdims=True)
        return np.divide(self.a, d, out=np.zeros_like(self.a), where=d > 0)

    def linear(self, aggregator):
        return {"mean": self.mean, "sum": lambda: self.a, "gcn": self.normalized}[aggregator]()


def tensors(model):
    """(name, rows, columns) of each tensor, in the order of the flat parameters."""
    widths, found = [model["num_features"]], []
    for value, operation in enumerate(model["operations"], 1):
        kind, fan_in, bias = operation["op"], widths[operation["input"]], operation.get("bias", False)
        width, own = operation.get("width", fan_in), []
        if kind == "linear":
            own = [("weight", fan_in, width)] + [("bias", 1, width)] * bias
        elif kind == "gcn":
            own = [("lin.weight", fan_in, width)] + [("bias", 1, width)] * bias
        elif kind == "sage":
            own = [("lin_l.weight", fan_in, width)] + [("lin_l.bias", 1, width)] * bias + [("lin_r.weight", fan_in, width)]
        elif kind == "gin":
            for at, width in enumerate(operation["widths"]):
                own += [(f"nn.{2 * at}.weight", fan_in, width)] + [(f"nn.{2 * at}.bias", 1, width)] * bias
                fan_in = width
            own += [("eps", 1, 1)] * operation["learned"]
        elif kind == "gat":
            wide = operation["heads"] * width
            if operation["version"] == "gat":
                own = [("lin.weight", fan_in, wide), ("att_src", 1, wide), ("att_dst", 1, wide)]
            else:
                for side in ("lin_l", "lin_r"):
                    own += [(f"{side}.weight", fan_in, wide)] + [(f"{side}.bias", 1, wide)] * bias
                own.append(("att", 1, wide))
            width = wide if operation["joined"] == "concat" else width
            own += [("bias", 1, width)] * bias
        elif kind == "norm":
            own = [("weight", 1, width), ("bias", 1, width)]
        elif kind == "concat":
            width += widths[operation["value"]]
        found += [(f"v{value}.{name}", rows, columns) for name, rows, columns in own]
        widths.append(width)
    return found


def num_parameters(model):
    return sum(rows * columns for _, rows, columns in tensors(model))


def unpack(model, parameters):
    """{name: matrix} of the flat parameters."""
    at, result = 0, {}
    for name, rows, columns in tensors(model):
        result[name] = np.asarray(parameters[at:at + rows * columns], np.float64).reshape(rows, columns)
        at += rows * columns
    assert at == len(parameters)
    return result


def num_hops(model):
    hops = {"gcn": 1, "sage": 1, "gin": 1, "gat": 1, "aggregate": 1}
    return sum(operation["hops"] if operation["op"] == "propagate" else hops.get(operation["op"], 0)
               for operation in model["operations"])


# Each activation: f(h), and f'(h) from h and f(h). Of ReLU and LeakyReLU, f'(0) is PyTorch's.
ACTIVATIONS = {
    "relu": (lambda h: np.maximum(h, 0.0), lambda h, f: 1.0 * (h > 0)),
    "leaky_relu": (lambda h: np.where(h > 0, h, SLOPE * h), lambda h, f: np.where(h > 0, 1.0, SLOPE)),
    "elu": (lambda h: np.where(h > 0, h, np.expm1(np.minimum(h, 0.0))), lambda h, f: np.where(h > 0, 1.0, f + 1.0)),
    "gelu": (lambda h: h * 0.5 * (1.0 + erf(h / np.sqrt(2.0))),
             lambda h, f: 0.5 * (1.0 + erf(h / np.sqrt(2.0))) + h * np.exp(-0.5 * h * h) / np.sqrt(2.0 * np.pi)),
    "tanh": (np.tanh, lambda h, f: 1.0 - f * f),
    "sigmoid": (lambda h: 0.5 * (1.0 + np.tanh(0.5 * h)), lambda h, f: f * (1.0 - f)),
}


class Pass:
    """One pass through a model: `values`, and for each operation a step of the reverse pass.

    - `draws`: a list of nodes per hop, an empty one or None for an exact hop; `p`: P over all nodes, of all hops.
    - `masks`: for the value of each dropout a matrix of 0 (dropped) and 1; for that of an attention with dropout an array
      heads × n × n, with the row of v before the column of u.
    - `training`: a batch norm takes its statistics from the rows `rows[value]`, by default all; else from `running`, which has
      (mean, variance) by value. `committed` has the running statistics after this pass.
    """

    def __init__(self, model, parameters, graph, x, draws=None, p=None, masks=None, training=True, running=None, rows=None):
        self.model, self.graph, self.p = model, graph, p
        self.training, self.running = training, running or {}
        self.masks, self.rows = masks or {}, rows or {}
        self.draws = list(draws or [None] * num_hops(model))
        assert len(self.draws) == num_hops(model)
        self.w = unpack(model, parameters)
        self.values, self.steps, self.hop = [np.asarray(x, np.float64)], [], 0
        self.committed = {}
        for value, operation in enumerate(model["operations"], 1):
            made, step = getattr(self, operation["op"])(value, operation, self.values[operation["input"]])
            self.values.append(made)
            self.steps.append(step)
        assert self.hop == len(self.draws)

    def logits(self):
        return self.values[-1]

    def backward(self, g):
        """The gradient by the flat parameters and by X, given that by the logits."""
        by_value = [np.zeros_like(h) for h in self.values]
        by_value[-1] += g
        self.by = {name: np.zeros_like(w) for name, w in self.w.items()}
        for value in reversed(range(1, len(self.values))):
            for source, part in self.steps[value - 1](by_value[value]):
                by_value[source] += part
        return np.concatenate([part.ravel() for part in self.by.values()] or [np.zeros(0)]), by_value[0]

    # Parts of operations. Each returns what it makes, and a function from its gradient to that by h.

    def affine(self, h, weight, bias=None):
        """h W + b"""
        w = self.w[weight]

        def step(g):
            self.by[weight] += h.T @ g
            if bias in self.w:
                self.by[bias] += g.sum(0, keepdims=True)
            return g @ w.T
        return h @ w + (self.w[bias] if bias in self.w else 0.0), step

    def next_draws(self):
        """How often each node is drawn in the next hop, and the number of draws; None if the hop is exact."""
        drawn = self.draws[self.hop]
        self.hop += 1
        if drawn is None or len(drawn) == 0:
            return None
        return np.bincount(drawn, minlength=self.graph.n).astype(np.float64), len(drawn)

    def neighbours(self, h, aggregator):
        """agg(h_u) over the next hop."""
        drawn = self.next_draws()
        if aggregator in ("max", "min"):
            edges = self.graph.edges if drawn is None else self.graph.edges & (drawn[0] > 0)
            return self.extreme(h, edges, 1.0 if aggregator == "max" else -1.0)
        op = self.graph.linear(aggregator)
        if drawn is not None:
            count, t = drawn
            # Op(v, u) · count(u) / (t P(u))
            op = op * np.divide(count, t * np.asarray(self.p), out=np.zeros(self.graph.n), where=count > 0)
        return op @ h, lambda g: op.T @ g

    def extreme(self, h, edges, sign):
        """The maximum over neighbours, or for the sign -1 the minimum; 0 where there are none. Of equal values the lowest
        neighbour gets the gradient."""
        candidates = np.where(edges[:, :, None], sign * h[None, :, :], -np.inf)
        lowest = candidates.argmax(1)
        some = edges.any(1)[:, None]

        def step(g):
            back = np.zeros_like(h)
            np.add.at(back, (lowest, np.arange(h.shape[1])[None, :]), np.where(some, g, 0.0))
            return back
        return np.where(some, sign * np.take_along_axis(candidates, lowest[:, None, :], 1)[:, 0, :], 0.0), step

    # Operations. Each returns its value, and a function from the gradient by it to those by the values it is made from.

    def linear(self, value, operation, h):
        """h W + b"""
        made, back = self.affine(h, f"v{value}.weight", f"v{value}.bias")
        return made, lambda g: [(operation["input"], back(g))]

    def gcn(self, value, operation, h):
        """Â h W + b"""
        near, back_near = self.neighbours(h, "gcn")
        made, back = self.affine(near, f"v{value}.lin.weight", f"v{value}.bias")
        return made, lambda g: [(operation["input"], back_near(back(g)))]

    def sage(self, value, operation, h):
        """agg(h_u) W_l + b + h W_r"""
        near, back_near = self.neighbours(h, operation["aggregator"])
        left, back_left = self.affine(near, f"v{value}.lin_l.weight", f"v{value}.lin_l.bias")
        right, back_right = self.affine(h, f"v{value}.lin_r.weight")
        return left + right, lambda g: [(operation["input"], back_near(back_left(g)) + back_right(g))]

    def gin(self, value, operation, h):
        """MLP((1 + ε) h + Σ a h_u), ReLU between the linear layers of the MLP"""
        name = f"v{value}.eps"
        epsilon = self.w[name][0, 0] if operation["learned"] else operation["epsilon"]
        near, back_near = self.neighbours(h, "sum")
        made, backs = (1.0 + epsilon) * h + near, []
        for at in range(len(operation["widths"])):
            if at:
                made, positive = np.maximum(made, 0.0), made > 0
                backs.append(lambda g, positive=positive: g * positive)
            made, back = self.affine(made, f"v{value}.nn.{2 * at}.weight", f"v{value}.nn.{2 * at}.bias")
            backs.append(back)

        def step(g):
            for back in reversed(backs):
                g = back(g)
            if operation["learned"]:
                self.by[name] += (g * h).sum()
            return [(operation["input"], (1.0 + epsilon) * g + back_near(g))]
        return made, step

    def gat(self, value, operation, h):
        """Σ_u α_vu x_u + b of each head; α_v is a softmax over the neighbours u of v, and v itself with self-loops"""
        name, heads, width = f"v{value}", operation["heads"], operation["width"]
        first, n = operation["version"] == "gat", self.graph.n
        drawn = self.next_draws()
        logs = np.where(self.graph.edges, 0.0, -np.inf)
        if drawn is not None:
            count, t = drawn
            weights = np.divide(count, t * np.asarray(self.p), out=np.zeros(n), where=count > 0)
            with np.errstate(divide="ignore"):
                logs = logs + np.log(weights)[None, :]
        if operation["self_loops"]:
            np.fill_diagonal(logs, 0.0)
        if first:
            x, back_x = self.affine(h, f"{name}.lin.weight")
            y, back_y = x, None
        else:
            x, back_x = self.affine(h, f"{name}.lin_l.weight", f"{name}.lin_l.bias")
            y, back_y = self.affine(h, f"{name}.lin_r.weight", f"{name}.lin_r.bias")
        x, y = x.reshape(n, heads, width), y.reshape(n, heads, width)
        # (head, v, u), and for the second version the columns.
        if first:
            source, target = (self.w[f"{name}.{which}"].reshape(heads, width) for which in ("att_src", "att_dst"))
            z = np.einsum("uhc,hc->hu", x, source)[:, None, :] + np.einsum("vhc,hc->hv", y, target)[:, :, None]
        else:
            att = self.w[f"{name}.att"].reshape(heads, width)
            z = x.transpose(1, 0, 2)[:, None, :, :] + y.transpose(1, 0, 2)[:, :, None, :]
        rectified, slope = np.where(z > 0, z, ATTENTION_SLOPE * z), np.where(z > 0, 1.0, ATTENTION_SLOPE)
        scores = (rectified if first else np.einsum("hvuc,hc->hvu", rectified, att)) + logs
        largest = scores.max(2, keepdims=True)
        e = np.exp(scores - np.where(np.isfinite(largest), largest, 0.0))
        sums = e.sum(2, keepdims=True)
        alpha = np.divide(e, sums, out=np.zeros_like(e), where=sums > 0)
        scale = np.ones_like(alpha)
        if self.training and operation["attention_dropout"] > 0:
            scale = self.masks[value] / (1.0 - operation["attention_dropout"])
        mean = operation["joined"] == "mean"
        by_head = np.einsum("hvu,uhc->vhc", alpha * scale, x)
        made = by_head.mean(1) if mean else by_head.reshape(n, heads * width)
        if f"{name}.bias" in self.w:
            made = made + self.w[f"{name}.bias"]

        def step(g):
            if f"{name}.bias" in self.w:
                self.by[f"{name}.bias"] += g.sum(0, keepdims=True)
            g = np.repeat(g[:, None, :] / heads, heads, 1) if mean else g.reshape(n, heads, width)
            by_x = np.einsum("hvu,vhc->uhc", alpha * scale, g)
            by_alpha = scale * np.einsum("vhc,uhc->hvu", g, x)
            by_score = alpha * (by_alpha - (alpha * by_alpha).sum(2, keepdims=True))
            if first:
                by_z = by_score * slope
                by_source, by_target = by_z.sum(1).T[:, :, None], by_z.sum(2).T[:, :, None]
                self.by[f"{name}.att_src"] += (by_source * x).sum(0).reshape(1, -1)
                self.by[f"{name}.att_dst"] += (by_target * x).sum(0).reshape(1, -1)
                return [(operation["input"], back_x((by_x + by_source * source + by_target * target).reshape(n, -1)))]
            self.by[f"{name}.att"] += np.einsum("hvu,hvuc->hc", by_score, rectified).reshape(1, -1)
            by_z = np.einsum("hvu,hvuc->hvuc", by_score, slope) * att[:, None, None, :]
            by_x = by_x + by_z.sum(1).transpose(1, 0, 2)
            by_y = by_z.sum(2).transpose(1, 0, 2)
            return [(operation["input"], back_x(by_x.reshape(n, -1)) + back_y(by_y.reshape(n, -1)))]
        return made, step

    def aggregate(self, value, operation, h):
        """agg(h_u)"""
        made, back = self.neighbours(h, operation["aggregator"])
        return made, lambda g: [(operation["input"], back(g))]

    def propagate(self, value, operation, h):
        """H ← (1 - α) Â H + α h, `hops` times from H = h"""
        alpha, made, backs = operation["restart"], h, []
        for _ in range(operation["hops"]):
            near, back = self.neighbours(made, "gcn")
            made = (1.0 - alpha) * near + alpha * h
            backs.append(back)

        def step(g):
            restarts = np.zeros_like(h)
            for back in reversed(backs):
                restarts += alpha * g
                g = (1.0 - alpha) * back(g)
            return [(operation["input"], g + restarts)]
        return made, step

    def activation(self, value, operation, h):
        f, slope = ACTIVATIONS[operation["activation"]]
        made = f(h)
        return made, lambda g: [(operation["input"], g * slope(h, made))]

    def dropout(self, value, operation, h):
        """h · mask / (1 - rate) in training mode"""
        scale = np.ones_like(h)
        if self.training and operation["rate"] > 0:
            scale = self.masks[value] / (1.0 - operation["rate"])
        return h * scale, lambda g: [(operation["input"], g * scale)]

    def norm(self, value, operation, h):
        """(h - mean) / √(variance + ε) · w + b: of each row (layer), or of each column (batch)"""
        weight, bias = f"v{value}.weight", f"v{value}.bias"
        n = len(h)
        if operation["norm"] == "layer":
            among = np.full((h.shape[1], h.shape[1]), 1.0 / h.shape[1])
            mean, over = h.mean(1, keepdims=True), lambda z: z @ among
            variance = ((h - mean) ** 2).mean(1, keepdims=True)
        elif self.training:
            rows = np.asarray(self.rows.get(value, np.arange(n)))
            at_hand = np.zeros((n, 1))
            at_hand[rows] = 1.0 / len(rows)
            # A gradient by the mean goes to the rows that have made it, equally.
            mean, over = h[rows].mean(0), lambda z: at_hand * z.sum(0)
            variance = ((h[rows] - mean) ** 2).mean(0)
            old_mean, old_variance = self.running.get(value, (np.zeros(h.shape[1]), np.ones(h.shape[1])))
            unbiased = variance * len(rows) / (len(rows) - 1)
            self.committed[value] = ((1 - MOMENTUM) * old_mean + MOMENTUM * mean,
                                     (1 - MOMENTUM) * old_variance + MOMENTUM * unbiased)
        else:
            mean, variance = self.running[value]
            over = np.zeros_like
        deviation = np.sqrt(variance + EPSILON)
        standard = (h - mean) / deviation

        def step(g):
            self.by[weight] += (g * standard).sum(0, keepdims=True)
            self.by[bias] += g.sum(0, keepdims=True)
            g = g * self.w[weight] / deviation
            # The mean of a row or column does not depend on its standardised entries, nor does their mean square.
            return [(operation["input"], g - over(g) - standard * over(g * standard))]
        return standard * self.w[weight] + self.w[bias], step

    def add(self, value, operation, h):
        return h + self.values[operation["value"]], lambda g: [(operation["input"], g), (operation["value"], g)]

    def concat(self, value, operation, h):
        width = h.shape[1]
        made = np.concatenate([h, self.values[operation["value"]]], 1)
        return made, lambda g: [(operation["input"], g[:, :width]), (operation["value"], g[:, width:])]

    def max(self, value, operation, h):
        """The larger of both, by element. Of equal ones h gets the gradient."""
        other = self.values[operation["value"]]
        first = h >= other
        return np.maximum(h, other), lambda g: [(operation["input"], g * first), (operation["value"], g * ~first)]


def loss_and_gradient(model, parameters, graph, x, labels, nodes, lam=0.0, **how):
    """Mean cross-entropy over the nodes plus λ/2 ‖w‖², and its gradient by the flat parameters. `how` goes to Pass."""
    run = Pass(model, parameters, graph, x, **how)
    nodes, w = np.asarray(nodes), np.asarray(parameters, np.float64)
    z, y = run.logits()[nodes], np.asarray(labels)[nodes]
    loss = cross_entropy(z, y) + 0.5 * lam * (w ** 2).sum()
    at_nodes = softmax(z)
    at_nodes[np.arange(len(y)), y] -= 1.0
    g = np.zeros_like(run.logits())
    np.add.at(g, nodes, at_nodes / len(y))
    return loss, run.backward(g)[0] + lam * w


def rows_at_hand(model, graph, nodes):
    """For each value, the nodes whose rows the logits of the given nodes are made from, if no hop has draws."""
    near = {"gcn": graph.edges | (np.eye(graph.n, dtype=bool) if graph.normalization != NONE else False)}
    needed = [np.zeros(graph.n, bool) for _ in range(len(model["operations"]) + 1)]
    needed[-1][np.asarray(nodes)] = True
    for value in reversed(range(1, len(needed))):
        operation, rows = model["operations"][value - 1], needed[value]
        kind = operation["op"]
        below = rows.copy() if kind not in ("gcn", "aggregate") else np.zeros(graph.n, bool)
        if kind in ("gcn", "sage", "gin", "gat", "aggregate"):
            below |= near.get(kind, graph.edges)[rows].any(0)
        elif kind == "propagate":
            for _ in range(operation["hops"]):
                rows = near["gcn"][rows].any(0)
                below = rows | (below if operation["restart"] > 0 else False)
        needed[operation["input"]] |= below
        if "value" in operation:
            needed[operation["value"]] |= rows
    return [np.flatnonzero(rows) for rows in needed]


# The self-test, and the comparison with a file.

def chain(num_features, *operations):
    """A model whose operations are each made from the value before, unless they name their input."""
    return {"num_features": num_features, "operations": [{"op": o["op"], "input": at, **o} for at, o in enumerate(operations)]}


def check_models():
    """(name, model) that together have all operations and settings."""
    def op(kind, **settings):
        return {"op": kind, **settings}
    last = op("linear", width=3, bias=True)
    yield "linear", chain(4, last)
    for bias in (True, False):
        yield f"gcn, bias {bias}", chain(4, op("gcn", width=5, bias=bias), op("gcn", width=3, bias=bias))
        for aggregator in ("mean", "sum", "max", "min"):
            yield f"sage {aggregator}, bias {bias}", chain(
                4, op("sage", width=5, aggregator=aggregator, bias=bias), op("activation", activation="tanh"),
                op("sage", width=3, aggregator=aggregator, bias=bias))
        for learned in (True, False):
            yield f"gin, learned {learned}, bias {bias}", chain(
                4, op("gin", widths=[5, 6, 4], epsilon=0.3, learned=learned, bias=bias),
                op("gin", widths=[3], epsilon=0.0, learned=learned, bias=bias))
    for aggregator in ("mean", "sum", "max", "min"):
        yield f"aggregate {aggregator}", chain(
            4, op("linear", width=4, bias=True), op("aggregate", aggregator=aggregator), last)
    for restart in (0.0, 0.1, 1.0):
        yield f"propagate {restart}", chain(4, op("linear", width=3, bias=True), op("propagate", hops=3, restart=restart))
    for version in ("gat", "gatv2"):
        for at, joined in enumerate(("concat", "mean")):
            how = dict(version=version, heads=3, joined=joined, attention_dropout=0.4 * at, bias=at == 0, self_loops=at == 1)
            yield f"{version}, {joined}", chain(4, op("gat", width=2, **how), op("activation", activation="tanh"),
                                                op("gat", width=3, **{**how, "heads": 2, "joined": "mean", "bias": True}))
        yield f"{version}, edges alone", chain(4, op("gat", width=5, version=version, heads=1, joined="concat", bias=True,
                                                     attention_dropout=0.5, self_loops=False), last)
    for activation in ACTIVATIONS:
        yield activation, chain(4, op("gcn", width=5, bias=True), op("activation", activation=activation), last)
    for norm in ("layer", "batch"):
        yield f"norm {norm}", chain(
            4, op("gcn", width=5, bias=True), op("norm", norm=norm), op("activation", activation="tanh"), last)
    yield "dropout", chain(4, op("gcn", width=5, bias=True), op("dropout", rate=0.5), last)
    yield "everything", chain(
        4, op("linear", width=4, bias=True), op("norm", norm="batch"), op("sage", width=4, aggregator="max", bias=True),
        op("add", value=1), op("gin", widths=[4, 4], epsilon=0.1, learned=True, bias=True), op("max", value=3),
        op("norm", norm="layer"), op("propagate", hops=2, restart=0.2), op("concat", value=5), op("dropout", rate=0.25),
        op("aggregate", aggregator="mean"), op("gcn", input=4, width=9, bias=False), op("concat", value=11), last)


def check_differences():
    """The gradients of many models, graphs and draws against central differences."""
    worst, count = 0.0, 0
    for at, (name, model) in enumerate(check_models()):
        for kind in range(4):
            rng = np.random.default_rng([at, kind])
            n = 9
            edges = rng.random((n, n)) < 0.3
            edges[4] = edges[:, 4] = False
            rows, columns = np.nonzero(edges)
            weights = [None, 0.125 * rng.integers(0, 9, len(rows))][kind % 2]
            indptr = np.searchsorted(rows, np.arange(n + 1))
            graph = Graph(indptr, columns, weights, NORMALIZATIONS[(at + kind) % 3])
            other = normalize_adjacency(adjacency_of_csr(n, indptr, columns, weights), graph.normalization).toarray()
            assert np.allclose(graph.normalized(), other, rtol=0, atol=1e-15), "Â is not that of oracle.py"
            p = rng.random(n) + 0.1
            p /= p.sum()
            draws = [rng.choice(n, 1 + rng.integers(2 * n), p=p) if rng.random() < 0.8 else [] for _ in range(num_hops(model))]
            w = 0.7 * rng.normal(size=num_parameters(model))
            x, labels, nodes = rng.normal(size=(n, 4)), rng.integers(0, 3, n), rng.permutation(n)[:5]
            probe = Pass(model, w, graph, x, training=False, running={v: (0.0, 1.0) for v in range(99)})
            masks = {v: 1.0 * (rng.random(h.shape) < 0.6) for v, h in enumerate(probe.values)}
            masks.update({v: 1.0 * (rng.random((o["heads"], n, n)) < 0.6)
                          for v, o in enumerate(model["operations"], 1) if o["op"] == "gat"})
            how = dict(draws=draws, p=p, masks=masks) if kind >= 2 else dict(masks=masks)
            if kind == 1:
                how["rows"] = dict(enumerate(rows_at_hand(model, graph, nodes)))
            if kind == 3:
                how.update(training=False, running={v: (rng.normal(size=h.shape[1]), rng.random(h.shape[1]) + 0.5)
                                                    for v, h in enumerate(probe.values)})

            def loss(w):
                return loss_and_gradient(model, w, graph, x, labels, nodes, 0.1, **how)[0]
            gradient = loss_and_gradient(model, w, graph, x, labels, nodes, 0.1, **how)[1]
            step = 1e-5
            found = np.array([(loss(w + step * e) - loss(w - step * e)) / (2 * step) for e in np.eye(len(w))])
            error = np.linalg.norm(found - gradient) / np.linalg.norm(gradient)
            assert error <= 1e-7, f"{name}, {kind}: the gradient is off by {error:.1e} of its norm"
            worst, count = max(worst, error), count + 1
    print(f"{count} gradients equal central differences within {worst:.1e} of their norm")


def cases(file):
    """Of each case of golden_layers.npz: a dict of its arrays, with its model, graph and draws. The README has the keys."""
    for kind in "cd":
        names = file[f"{kind}_names"].tobytes().decode().splitlines()
        for at, name in enumerate(names):
            key, of = f"{kind}{at:02}", f"g{file[f'{kind}_graph'][at]:02}"
            case = {part: file[f"{key}_{part}"] for part in ("batch", "parameters", "logits", "gradient")}
            case.update({part: file[f"{of}_{part}"] for part in ("features", "labels")})
            case.update(key=key, name=name, loss=file[f"{kind}_loss"][at], lam=file[f"{kind}_lambda"][at])
            case["model"] = json.loads(file[f"{key}_model"].tobytes())
            weights = file[f"{of}_weights"]
            case["graph"] = Graph(file[f"{of}_indptr"], file[f"{of}_indices"], weights if len(weights) else None,
                                  NORMALIZATIONS[file[f"{kind}_normalization"][at]])
            hops = num_hops(case["model"])
            # The nodes whose logits are recorded.
            case.update(how={}, seen=slice(None) if kind == "c" else case["batch"])
            if kind == "d":
                case["how"] = dict(draws=[file[f"{key}_draws{hop}"] for hop in range(hops)], p=file[f"{key}_p"])
            batch_norms = [v for v, operation in enumerate(case["model"]["operations"], 1) if operation.get("norm") == "batch"]
            for value in batch_norms:
                if kind == "d":
                    case["how"].setdefault("rows", {})[value] = file[f"{key}_v{value}_rows"]
                else:
                    case.setdefault("running", {})[value] = [file[f"{key}_v{value}_running_{what}"] for what in ("mean", "var")]
                    case["evaluated"] = file[f"{key}_evaluated"]
            case["tensors"] = file[f"{key}_tensors"].tobytes().decode()
            yield case


def compare(path, tolerance=1e-12):
    """Each case of the file with what this computes: the largest ‖found - recorded‖ / ‖recorded‖ by what is compared."""
    worst, count = {}, {}
    with np.load(path, allow_pickle=False) as file:
        for case in cases(file):
            model, given = case["model"], (case["parameters"], case["graph"], case["features"])
            run = Pass(model, *given, **case["how"])
            loss, gradient = loss_and_gradient(model, *given, case["labels"], case["batch"], case["lam"], **case["how"])
            pairs = [("logits", run.logits()[case["seen"]], case["logits"]), ("loss", loss, case["loss"]),
                     ("gradient", gradient, case["gradient"])]
            if "running" in case:
                run_after = Pass(model, *given, training=False, running=run.committed)
                pairs.append(("evaluated", run_after.logits(), case["evaluated"]))
                pairs += [("running", run.committed[value][at], wanted)
                          for value, both in case["running"].items() for at, wanted in enumerate(both)]
            assert case["tensors"] == describe(model), case["key"]
            for what, found, wanted in pairs:
                assert np.shape(found) == np.shape(wanted), f"{case['key']} {case['name']}: {what}"
                error = np.linalg.norm(np.asarray(found) - wanted) / (np.linalg.norm(wanted) or 1.0)
                assert error <= tolerance, f"{case['key']} {case['name']}: {what} is off by {error:.1e} of its norm"
                worst[what] = max(worst.get(what, 0.0), error)
            count[case["key"][0]] = count.get(case["key"][0], 0) + 1
    print(f"{count['c']} cases of PyTorch Geometric and {count['d']} with draws: largest errors",
          ", ".join(f"{what} {error:.1e}" for what, error in worst.items()))


def describe(model):
    """A line "name rows columns" per tensor."""
    return "".join(f"{name} {rows} {columns}\n" for name, rows, columns in tensors(model))


if __name__ == "__main__":
    if sys.argv[1] == "--check":
        check_differences()
    else:
        compare(sys.argv[1])
