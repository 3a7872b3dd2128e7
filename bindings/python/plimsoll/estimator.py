"""Gradients: exact, of a batch, or from a few sampled nodes."""
from __future__ import annotations

from typing import Any, FrozenSet, NamedTuple, Optional, Sequence

import numpy as np

from . import _abi
from ._arrays import floats, integers, optional_integers, output
from ._lib import Handle, ask, call, make
from .graph import Graph
from .model import Model


class Gradient(NamedTuple):
    """What an estimator makes of a batch."""

    #: In the order of Model.parameters.
    values: np.ndarray
    #: Of the batch, as estimated, with λ.
    loss: float


class Estimator(Handle):
    """Estimates gradients of a model on a graph."""

    __slots__ = ()
    _free = "plim_estimator_free"

    @classmethod
    def full(cls) -> Estimator:
        """The exact gradient over all training nodes. It takes no batch."""
        return cls._own(make("plim_estimator_full"))

    @classmethod
    def unbiased(cls) -> Estimator:
        """The exact gradient of a batch, from its whole neighbourhood."""
        return cls._own(make("plim_estimator_unbiased"))

    @classmethod
    def consistent(cls, sample_sizes: Sequence[int], *, distribution: str = "uniform", seed: int = 0) -> Estimator:
        """The gradient of a batch from so many nodes drawn at each layer's input, input layer first; 0 is exact.

        The estimate is biased, and converges as the sample sizes grow.
        """
        sizes = integers("sample_sizes", sample_sizes, np.uintp)
        estimator = cls._own(make("plim_estimator_consistent", sizes, len(sizes)))
        estimator.set_distribution(distribution)
        estimator.set_seed(seed)
        return estimator

    def set_seed(self, seed: int) -> None:
        """Starts the draws anew under a seed, 0 at first."""
        call("plim_estimator_set_seed", self, seed)

    def set_distribution(self, distribution: str) -> None:
        """What nodes are drawn from, in place of an earlier choice or weights.

        "uniform": all alike, at first; "importance": all, ∝ ‖Â(:,u)‖²; "neighbors": alike from those that the rows
        above are linked to; "ladies": from these, ∝ ‖Â(rows above, u)‖².
        """
        number = _abi.number("distribution", distribution, _abi.DISTRIBUTIONS)
        call("plim_estimator_set_distribution", self, number)

    def set_weights(self, weights: Any) -> None:
        """Draws in proportion to these, one > 0 per node, in place of a distribution."""
        values = floats("weights", weights, np.float64)
        call("plim_estimator_set_weights", self, values, len(values))

    def set_draws(self, layer: int, nodes: Any) -> None:
        """Pins the draws at the input of a layer; None or an empty list takes them back."""
        draws, count = optional_integers("nodes", nodes)
        call("plim_estimator_set_draws", self, layer, draws, count)

    @property
    def properties(self) -> FrozenSet[str]:
        """What may be claimed of the gradients: some of "unbiased", "consistent" and "exact"."""
        bits = ask("plim_estimator_property", self)
        return frozenset(name for name, bit in _abi.PROPERTIES.items() if bits & bit)

    def gradient(self, model: Model, graph: Graph, batch: Any = None, *, out: Optional[np.ndarray] = None) -> Gradient:
        """Loss and gradient at the model's parameters. `batch` None is all training nodes. Each call draws afresh."""
        batch, count = optional_integers("batch", batch)
        values, loss = output(out, (ask("plim_model_num_parameters", model),)), np.empty(1)
        call("plim_estimator_gradient", self, model, graph, batch, count, values, len(values), loss)
        return Gradient(values, float(loss[0]))
