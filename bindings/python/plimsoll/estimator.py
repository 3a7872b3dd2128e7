"""Gradients: exact, of a batch, or from a few sampled nodes or pairs of documents."""
from __future__ import annotations

from typing import Any, FrozenSet, NamedTuple, Optional, Sequence, Union

import numpy as np

from . import _abi
from ._arrays import floats, integers, optional_integers, output
from ._lib import Handle, ask, call, learned_from, make
from .graph import Graph
from .model import Model
from .rank import RankData


class Gradient(NamedTuple):
    """What an estimator makes of a batch."""

    #: In the order of Model.parameters.
    values: np.ndarray
    #: Of the batch, as estimated, with λ.
    loss: float


class Estimator(Handle):
    """Estimates gradients of a model on a graph, or on rank data."""

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

    @classmethod
    def pairs(cls, num_pairs: int, *, seed: int = 0) -> Estimator:
        """To rank: the gradient of a batch of queries from so many ranked pairs drawn of each. Unbiased and consistent."""
        estimator = cls._own(make("plim_estimator_pairs", num_pairs))
        estimator.set_seed(seed)
        return estimator

    @classmethod
    def separate(cls, num_documents: int, *, self_normalized: bool = False, seed: int = 0) -> Estimator:
        """To rank: from all ranked pairs between so many documents drawn to be above and as many drawn to be below.

        With fixed weights it is unbiased and consistent; self-normalised, biased and consistent.
        """
        estimator = cls._own(make("plim_estimator_separate", num_documents, bool(self_normalized)))
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

    def gradient(self, model: Model, graph: Union[Graph, RankData], batch: Any = None, *,
                 out: Optional[np.ndarray] = None) -> Gradient:
        """Loss and gradient at the model's parameters. `batch` None is all training nodes. Each call draws afresh.

        Of rank data a batch is a list of queries, each with documents of different relevance.
        """
        batch, count = optional_integers("batch", batch)
        values, loss = output(out, (ask("plim_model_num_parameters", model),)), np.empty(1)
        call(learned_from(graph)._gradient, self, model, graph, batch, count, values, len(values), loss)
        return Gradient(values, float(loss[0]))
