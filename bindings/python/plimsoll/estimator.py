"""Gradients: exact, of a batch, or estimated from sampled nodes or documents."""
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
    """The result of Estimator.gradient()."""

    #: The gradient, in the order of Model.parameters.
    values: np.ndarray
    #: The estimated objective, with the penalty of λ.
    loss: float


class Estimator(Handle):
    """Computes or estimates gradients of a model on a graph or on ranking data."""

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
        """A consistent estimate of the gradient of a batch, from nodes drawn at the input of each layer.

        sample_sizes  number of draws per layer, the input layer first; 0 for an exact input.

        The estimate is biased and converges as the sample sizes grow.
        """
        sizes = integers("sample_sizes", sample_sizes, np.uintp)
        estimator = cls._own(make("plim_estimator_consistent", sizes, len(sizes)))
        estimator.set_distribution(distribution)
        estimator.set_seed(seed)
        return estimator

    @classmethod
    def pairs(cls, num_pairs: int, *, seed: int = 0) -> Estimator:
        """For rankings: an unbiased and consistent estimate from `num_pairs` pairs of documents drawn per query."""
        estimator = cls._own(make("plim_estimator_pairs", num_pairs))
        estimator.set_seed(seed)
        return estimator

    @classmethod
    def separate(cls, num_documents: int, *, self_normalized: bool = False, seed: int = 0) -> Estimator:
        """For rankings: an estimate from the pairs between two samples of `num_documents` documents per query.

        With fixed weights it is unbiased and consistent. Self-normalised, it is biased and consistent.
        """
        estimator = cls._own(make("plim_estimator_separate", num_documents, bool(self_normalized)))
        estimator.set_seed(seed)
        return estimator

    def set_seed(self, seed: int) -> None:
        """Sets the seed of the draws (default: 0) and restarts their sequence."""
        call("plim_estimator_set_seed", self, seed)

    def set_distribution(self, distribution: str) -> None:
        """Selects the distribution that nodes are drawn from, replacing an earlier choice or weights.

        "uniform"     all nodes, each with the same probability (default).
        "importance"  all nodes; the probability of u is proportional to ‖Â(:,u)‖².
        "neighbors"   the nodes that the layer aggregates from, each with the same probability.
        "ladies"      the nodes that the layer aggregates from; the probability of u is proportional to ‖Â(R,u)‖²,
                      where R are the nodes whose outputs the layer computes.
        """
        number = _abi.number("distribution", distribution, _abi.DISTRIBUTIONS)
        call("plim_estimator_set_distribution", self, number)

    def set_weights(self, weights: Any) -> None:
        """Draws nodes with probabilities proportional to these weights, one > 0 per node."""
        values = floats("weights", weights, np.float64)
        call("plim_estimator_set_weights", self, values, len(values))

    def set_draws(self, layer: int, nodes: Any) -> None:
        """Sets the nodes drawn at the input of a layer. None or an empty list removes them."""
        draws, count = optional_integers("nodes", nodes)
        call("plim_estimator_set_draws", self, layer, draws, count)

    @property
    def properties(self) -> FrozenSet[str]:
        """The declared property: some of "unbiased", "consistent" and "exact"."""
        bits = ask("plim_estimator_property", self)
        return frozenset(name for name, bit in _abi.PROPERTIES.items() if bits & bit)

    def property_of(self, model: Model) -> FrozenSet[str]:
        """The property for gradients of a model: empty if a batch norm sees batches, `properties` otherwise."""
        bits = ask("plim_estimator_property_of", self, model)
        return frozenset(name for name, bit in _abi.PROPERTIES.items() if bits & bit)

    def gradient(self, model: Model, graph: Union[Graph, RankData], batch: Any = None, *,
                 out: Optional[np.ndarray] = None) -> Gradient:
        """Estimates the gradient and the objective at the model's parameters. Each call draws new samples.

        batch  node ids, or queries with documents of different relevance; None for all training nodes or queries.
        out    a float32 array of model.num_parameters elements for the gradient.
        """
        batch, count = optional_integers("batch", batch)
        values, loss = output(out, (ask("plim_model_num_parameters", model),)), np.empty(1)
        call(learned_from(graph)._gradient, self, model, graph, batch, count, values, len(values), loss)
        return Gradient(values, float(loss[0]))
