"""How wrong sampled gradients are, and how few nodes suffice."""
from __future__ import annotations

import ctypes
from typing import Any, NamedTuple, Optional, Tuple, Union

import numpy as np

from . import _abi
from ._arrays import floats, has_length, integers, optional_integers
from ._callbacks import LogLike, ProgressLike, watched
from ._lib import Handle, ask, call, error, learned_from, make
from .estimator import Estimator
from .graph import Graph
from .model import Model
from .rank import RankData


class _Options(Handle):
    _free = "plim_probe_options_free"


class _Tail(Handle):
    _free = "plim_tail_free"


class _Plan(Handle):
    _free = "plim_plan_free"


def _measure(name: str, *arguments: Any, out: tuple, draws: int, seed: int, batch: Any, progress: ProgressLike,
             log: LogLike, log_level: Optional[str]) -> None:
    """Calls a measurement with its options, which stand between its arguments and where the result goes."""
    nodes, count = optional_integers("batch", batch)
    with _Options._own(make("plim_probe_options_new")) as options:
        call("plim_probe_options_set_draws", options, draws)
        call("plim_probe_options_set_seed", options, seed)
        call("plim_probe_options_set_batch", options, nodes, count)
        with watched("plim_probe_options", options, progress, "drawing gradients", log, log_level):
            status = ask(name, *arguments, options, *out)
    if status:
        raise error(status)


def tail_probability(estimator: Estimator, model: Model, graph: Graph, sample_sizes: Any, deltas: Any, *,
                     draws: int = 10_000, seed: int = 0, batch: Any = None, progress: ProgressLike = None,
                     log: LogLike = None, log_level: Optional[str] = None) -> np.ndarray:
    """How often an estimator's gradient is wrong by δ or more: a row per sample size, a column per δ.

    The exact gradient h is taken at the model's present parameters; of each size so many gradients g are drawn, and those
    with ‖g−h‖ >= δ‖h‖ counted.

    sample_sizes  each in turn replaces every size of the estimator but 0; of the unbiased one, its batch size.
    draws, seed   how many gradients of each size, and from which sequence. The estimator's own does not move.
    batch         the nodes whose gradient is estimated; None for all training nodes.
    progress      as for train(); a function that stops it makes this raise CancelledError.
    log           told what is measured, as for train(), and up to `log_level`.
    """
    sizes, errors = integers("sample_sizes", sample_sizes, np.uintp), floats("deltas", deltas, np.float64)
    shares = np.empty((len(sizes), len(errors)))
    _measure("plim_tail_probability", estimator, model, graph, sizes, len(sizes), errors, len(errors),
             out=(shares, shares.size), draws=draws, seed=seed, batch=batch, progress=progress, log=log,
             log_level=log_level)
    return shares


class Tail:
    """Measures the same as tail_probability(), on a graph or rank data, and keeps more of it."""

    #: What was asked for.
    sample_sizes: np.ndarray
    deltas: np.ndarray
    draws: int
    #: The norm of the exact gradient, ‖h‖.
    norm: float
    #: Share that missed by δ or more, and its 95 % interval (Wilson's); a row per sample size, a column per δ.
    probability: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    #: Relative error, bias and deviation, one per sample size: error² = bias² + deviation².
    error: np.ndarray
    bias: np.ndarray
    deviation: np.ndarray

    def __init__(self, estimator: Estimator, model: Model, graph: Union[Graph, RankData], sample_sizes: Any,
                 deltas: Any = (), *, draws: int = 10_000, seed: int = 0, batch: Any = None, progress: ProgressLike = None, log: LogLike = None,
                 log_level: Optional[str] = None):
        """Draws gradients; the arguments are those of tail_probability()."""
        sizes, errors = integers("sample_sizes", sample_sizes, np.uintp), floats("deltas", deltas, np.float64)
        handle = ctypes.c_void_p()
        _measure(learned_from(graph)._tail, estimator, model, graph, sizes, len(sizes), errors, len(errors),
                 out=(ctypes.byref(handle),), draws=draws, seed=seed, batch=batch, progress=progress, log=log,
                 log_level=log_level)
        self.sample_sizes, self.deltas, self.draws = sizes.astype(np.int64), errors, draws
        with _Tail._own(handle) as tail:
            self.norm = ask("plim_tail_norm", tail)
            for number, name in enumerate(_abi.TAIL):
                shape = (len(sizes), len(errors)) if name in ("probability", "lower", "upper") else (len(sizes),)
                values = np.empty(shape)
                call("plim_tail_copy", tail, number, values, values.size)
                setattr(self, name, values)


class TailFit(NamedTuple):
    """A tail that falls like C·exp(−τN)."""

    c: float
    #: Not above 0 if the tail does not fall.
    tau: float
    #: How well the line fits; 1 is perfect.
    r_squared: float


def tail_fit(sample_sizes: Any, probabilities: Any, draws: int) -> TailFit:
    """Fits C and τ to the shares that missed by one δ, each counted over so many draws; for sample_size()."""
    sizes, shares = integers("sample_sizes", sample_sizes, np.uintp), floats("probabilities", probabilities, np.float64)
    has_length("probabilities", shares, len(sizes))
    out = np.empty((3, 1))
    call("plim_tail_fit", sizes, shares, len(sizes), draws, *out)
    return TailFit(*map(float, out[:, 0]))


def sample_size(tau: float, c: float, t: int, epsilon: float) -> int:
    """How many nodes to draw so that, with probability 1−ε, none of T gradients is wrong by the δ of C and τ."""
    out = np.empty(1, np.uintp)
    call("plim_sample_size", tau, c, t, epsilon, out)
    return int(out[0])


def sample_epsilon(tau: float, c: float, t: int, sample_size: int) -> float:
    """The chance that at least one of T gradients from so many draws is wrong by the δ of C and τ."""
    out = np.empty(1)
    call("plim_sample_epsilon", tau, c, t, sample_size, out)
    return float(out[0])


def sample_delta(deltas: Any, cs: Any, taus: Any, t: int, epsilon: float, sample_size: int) -> float:
    """The least δ that none of T gradients from so many draws misses by, with probability 1−ε, between fitted δ."""
    errors = floats("deltas", deltas, np.float64)
    c_values = has_length("cs", floats("cs", cs, np.float64), len(errors))
    tau_values = has_length("taus", floats("taus", taus, np.float64), len(errors))
    out = np.empty(1)
    call("plim_sample_delta", errors, c_values, tau_values, len(errors), t, epsilon, sample_size, out)
    return float(out[0])


class Plan:
    """The smallest sample size at which, with probability 1−ε, none of T gradients is wrong by δ or more, and its cost.

    All of it holds at the model's present parameters. str(plan) says it in words.
    """

    #: Whether a size meets the goal and costs less than the exact gradient and than an unbiased batch as right.
    pays: bool
    #: For Estimator.consistent(); all 0 if no size meets the goal. For the unbiased estimator, its batch size.
    sizes: Tuple[int, ...]
    #: 0 if none meets the goal; then what is said of it is NaN.
    sample_size: int
    #: Share of the gradients of that size that missed by δ, and the upper limit of its 95 % interval.
    misses: float
    upper: float
    #: Of a gradient of that size, of the exact one, and of an unbiased one as right.
    seconds: float
    exact_seconds: float
    unbiased_seconds: float
    #: The batch of that unbiased gradient.
    unbiased_batch: int
    #: The fitted tail; NaN if the draws could do without.
    c: float
    tau: float
    r_squared: float

    def __init__(self, estimator: Estimator, model: Model, graph: Union[Graph, RankData], delta: float, epsilon: float,
                 t: int, *, draws: int = 10_000, seed: int = 0, batch: Any = None, progress: ProgressLike = None, log: LogLike = None,
                 log_level: Optional[str] = None):
        """Draws gradients of several sizes; the keywords are those of tail_probability()."""
        handle = ctypes.c_void_p()
        _measure(learned_from(graph)._plan, estimator, model, graph, delta, epsilon, t, out=(ctypes.byref(handle),),
                 draws=draws, seed=seed, batch=batch, progress=progress, log=log, log_level=log_level)
        with _Plan._own(handle) as plan:
            out, sizes = np.empty(1), np.empty(ask("plim_plan_num_sizes", plan), np.uintp)
            for number, name in enumerate(_abi.PLAN):
                call("plim_plan_get", plan, number, out)
                value = float(out[0])
                setattr(self, name, int(value) if name in ("sample_size", "unbiased_batch") else value)
            call("plim_plan_copy_sizes", plan, sizes, len(sizes))
            text = ctypes.create_string_buffer(_abi.PLAN_TEXT_SIZE)
            call("plim_plan_describe", plan, text, len(text))
            self.pays = bool(ask("plim_plan_pays", plan))
        self.sizes = tuple(int(size) for size in sizes)
        self._text = text.value.decode()

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return f"<plimsoll.Plan: {self._text}>"
