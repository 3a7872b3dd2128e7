"""The operations that a model is made of."""
from __future__ import annotations

from typing import Any, Sequence, TypeVar, Union

import numpy as np

from . import _abi
from ._arrays import integers
from ._lib import Handle, ask, call, make
from .errors import InvalidArgumentError

L = TypeVar("L", bound="Layers")


class Layers(Handle):
    """The operations of a model. Each appends a value, made from the last one, and returns this object.

        layers = pl.Layers(graph.num_features).sage(16).relu().dropout(0.5).sage(graph.num_classes)
        model = pl.Model(layers, seed=1)

    Value 0 is the features; `last` is the number of the value that the next operation reads, H below. Only gcn, sage,
    gin, gat, aggregate (one hop each) and propagate look at neighbours. A consistent estimator takes one sample size per hop.
    plimsoll.h documents the operations at plim_layers; the names are PyTorch Geometric's.
    """

    __slots__ = ()
    _free = "plim_layers_free"

    def __init__(self, num_features: int):
        self._handle = None
        self._handle = make("plim_layers_new", num_features)

    @property
    def last(self) -> int:
        """The number of the last value; 0 is the features."""
        return ask("plim_layers_last", self)

    @property
    def width(self) -> int:
        """The number of columns of the last value."""
        return ask("plim_layers_width", self)

    @property
    def num_hops(self) -> int:
        """The number of hops, which is the number of sample sizes of a consistent estimator."""
        return ask("plim_layers_num_hops", self)

    def linear(self: L, width: int, *, bias: bool = True) -> L:
        """H W + b, without neighbours."""
        return self._weighted(bias, "plim_layers_linear", width)

    def gcn(self: L, width: int, *, bias: bool = True) -> L:
        """Â H W + b, where Graph.set_normalization() selects Â."""
        return self._weighted(bias, "plim_layers_gcn", width)

    def sage(self: L, width: int, aggregator: str = "mean", *, bias: bool = True) -> L:
        """agg(H) W_l + b + H W_r, where agg is "mean", "sum", "max" or "min" over neighbours."""
        return self._weighted(bias, "plim_layers_sage", width, _aggregator(aggregator))

    def gin(self: L, widths: Union[int, Sequence[int]], *, epsilon: float = 0.0, learned: bool = False,
            bias: bool = True) -> L:
        """MLP((1 + ε) H + A H), with linear layers of these widths and ReLU between them.

        learned  whether ε is a parameter, which starts at `epsilon`.
        """
        array = integers("widths", np.atleast_1d(widths), np.uintp)
        # ε comes first: if it is refused, the operation has not been appended.
        if not np.isfinite(np.float32(epsilon)):
            raise InvalidArgumentError(f"epsilon = {epsilon} is not a finite float")
        self._weighted(bias, "plim_layers_gin", array, len(array))
        return self._do("plim_layers_set_epsilon", epsilon, bool(learned))

    def gat(self: L, width: int, heads: int = 1, version: int = 1, *, join: str = "concat", self_loops: bool = True,
            attention_dropout: float = 0.0, bias: bool = True) -> L:
        """Attention over neighbours: GAT, or GATv2 for version 2. `width` is that of one head.

        join               "concat": the heads one after the other; "mean": their mean.
        self_loops         whether each node is its own neighbour, once.
        attention_dropout  the probability that a coefficient becomes 0 in training.
        """
        joined = _abi.number("join", join, _abi.HEADS)
        # If the rate is refused, the operation has not been appended.
        if not 0.0 <= attention_dropout < 1.0:
            raise InvalidArgumentError(f"attention_dropout = {attention_dropout} is outside [0, 1)")
        self._weighted(bias, "plim_layers_gat", width, heads, version)
        self._do("plim_layers_set_heads", joined)
        self._do("plim_layers_set_self_loops", bool(self_loops))
        return self._do("plim_layers_set_attention_dropout", attention_dropout)

    def aggregate(self: L, aggregator: str) -> L:
        """agg(H), where agg is "mean", "sum", "max" or "min" over neighbours."""
        return self._do("plim_layers_aggregate", _aggregator(aggregator))

    def propagate(self: L, hops: int, restart: float = 0.0) -> L:
        """H ← (1 - α) Â H + α H_0, `hops` times, where α is `restart`: SGC for α = 0, else APPNP."""
        return self._do("plim_layers_propagate", hops, restart)

    def activation(self: L, activation: str) -> L:
        """A function of each number: "relu", "leaky_relu", "elu", "gelu", "tanh" or "sigmoid"."""
        return self._do("plim_layers_activation", _abi.number("activation", activation, _abi.ACTIVATIONS))

    def relu(self: L) -> L:
        """max(x, 0) of each number."""
        return self.activation("relu")

    def dropout(self: L, rate: float) -> L:
        """In training, sets each number to 0 with this probability, and divides it by the rest otherwise."""
        return self._do("plim_layers_dropout", rate)

    def norm(self: L, norm: str) -> L:
        """Mean 0 and variance 1 of each row ("layer") or column ("batch"), then scaled and shifted by parameters."""
        return self._do("plim_layers_norm", _abi.number("norm", norm, _abi.NORMS))

    def at(self: L, value: int) -> L:
        """Goes on from an earlier value."""
        return self._do("plim_layers_at", value)

    def add(self: L, value: int) -> L:
        """H + an earlier value."""
        return self._do("plim_layers_add", value)

    def concat(self: L, value: int) -> L:
        """The columns of H, then those of an earlier value."""
        return self._do("plim_layers_concat", value)

    def max(self: L, value: int) -> L:
        """The larger of H and an earlier value, element by element."""
        return self._do("plim_layers_max", value)

    def _weighted(self: L, bias: bool, name: str, *arguments: Any) -> L:
        self._do(name, *arguments)
        return self if bias else self._do("plim_layers_set_bias", False)

    def _do(self: L, name: str, *arguments: Any) -> L:
        call(name, self, *arguments)
        return self

    def __repr__(self) -> str:
        if self.closed:
            return "<plimsoll.Layers, closed>"
        return f"<plimsoll.Layers, last value {self.last} of width {self.width}, {self.num_hops} hops>"


def _aggregator(name: str) -> int:
    return _abi.number("aggregator", name, _abi.AGGREGATORS)
