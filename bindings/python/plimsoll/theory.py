"""Measures the error of sampled gradients, and plans sample sizes."""
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
    """Calls a measurement, with its options between the other arguments and the result."""
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
    """Measures how often an estimator's gradient has a relative error of δ or more.

    Returns fractions, one row per sample size, one column per δ. The exact gradient h is computed once, at
    the model's current parameters. Then, for each size, gradients g are drawn, and those with ‖g−h‖ >= δ‖h‖
    are counted.

    sample_sizes    each in turn replaces all sizes of the estimator that are not 0, or the unbiased one's batch size.
    deltas          relative errors δ, each > 0.
    draws           number of gradients per size.
    seed            seed of the draws. The estimator's own seed does not matter, and its counter does not change.
    batch           the nodes whose gradient is estimated; None for all training nodes.
    progress        as in train(). If the function stops the measurement, this raises CancelledError.
    log, log_level  as in train().
    """
    sizes, errors = integers("sample_sizes", sample_sizes, np.uintp), floats("deltas", deltas, np.float64)
    shares = np.empty((len(sizes), len(errors)))
    _measure("plim_tail_probability", estimator, model, graph, sizes, len(sizes), errors, len(errors),
             out=(shares, shares.size), draws=draws, seed=seed, batch=batch, progress=progress, log=log,
             log_level=log_level)
    return shares


class Tail:
    """Measures the same as tail_probability(), on a graph or ranking data, with intervals, bias and deviation."""

    #: The arguments.
    sample_sizes: np.ndarray
    deltas: np.ndarray
    draws: int
    #: The norm of the exact gradient, ‖h‖.
    norm: float
    #: Fraction with a relative error of δ or more, and its 95 % Wilson interval; one row per sample size, one column per δ.
    probability: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    #: Relative error, bias and deviation per sample size; error² = bias² + deviation².
    error: np.ndarray
    bias: np.ndarray
    deviation: np.ndarray

    def __init__(self, estimator: Estimator, model: Model, graph: Union[Graph, RankData], sample_sizes: Any,
                 deltas: Any = (), *, draws: int = 10_000, seed: int = 0, batch: Any = None,
                 progress: ProgressLike = None, log: LogLike = None, log_level: Optional[str] = None):
        """Draws the gradients. The arguments are those of tail_probability()."""
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
    """A fitted tail C·exp(−τN)."""

    c: float
    #: <= 0 if the tail does not fall.
    tau: float
    #: r² of the fit; 1 for a perfect one.
    r_squared: float


def tail_fit(sample_sizes: Any, probabilities: Any, draws: int) -> TailFit:
    """Fits C and τ to the fractions of `draws` gradients that missed one δ, one per sample size; for sample_size()."""
    sizes, shares = integers("sample_sizes", sample_sizes, np.uintp), floats("probabilities", probabilities, np.float64)
    has_length("probabilities", shares, len(sizes))
    out = np.empty((3, 1))
    call("plim_tail_fit", sizes, shares, len(sizes), draws, *out)
    return TailFit(*map(float, out[:, 0]))


def sample_size(tau: float, c: float, t: int, epsilon: float) -> int:
    """Computes how many nodes to draw for T gradients.

    With probability 1−ε, none of them has a relative error of δ or more, where C and τ were fitted for that δ.
    """
    out = np.empty(1, np.uintp)
    call("plim_sample_size", tau, c, t, epsilon, out)
    return int(out[0])


def sample_epsilon(tau: float, c: float, t: int, sample_size: int) -> float:
    """Computes the probability that at least one of T gradients has a relative error of δ or more."""
    out = np.empty(1)
    call("plim_sample_epsilon", tau, c, t, sample_size, out)
    return float(out[0])


def sample_delta(deltas: Any, cs: Any, taus: Any, t: int, epsilon: float, sample_size: int) -> float:
    """Computes the smallest δ that, with probability 1−ε, all of T gradients stay below.

    It is interpolated between the δ for which C and τ were fitted.
    """
    errors = floats("deltas", deltas, np.float64)
    c_values = has_length("cs", floats("cs", cs, np.float64), len(errors))
    tau_values = has_length("taus", floats("taus", taus, np.float64), len(errors))
    out = np.empty(1)
    call("plim_sample_delta", errors, c_values, tau_values, len(errors), t, epsilon, sample_size, out)
    return float(out[0])


class Plan:
    """The smallest sample size at which, with probability 1−ε, none of T gradients has a relative error of δ or more.

    The plan holds at the model's current parameters. str(plan) is a description in English.
    """

    #: Whether a size meets the goal and costs less than the exact gradient and than an unbiased batch that meets it.
    pays: bool
    #: For Estimator.consistent(), or the batch size of the unbiased estimator. All are 0 if no size meets the goal.
    sizes: Tuple[int, ...]
    #: The size that is not 0 in `sizes`. If no size meets the goal, it is 0, and misses, upper and seconds are NaN.
    sample_size: int
    #: Fraction of the gradients of that size that missed δ, and the upper limit of its 95 % interval.
    misses: float
    upper: float
    #: Seconds per gradient: of that size, of the exact one, and of an unbiased batch that meets the goal.
    seconds: float
    exact_seconds: float
    unbiased_seconds: float
    #: The size of that unbiased batch.
    unbiased_batch: int
    #: The fitted tail; NaN if no fit was required.
    c: float
    tau: float
    r_squared: float

    def __init__(self, estimator: Estimator, model: Model, graph: Union[Graph, RankData], delta: float, epsilon: float,
                 t: int, *, draws: int = 10_000, seed: int = 0, batch: Any = None, progress: ProgressLike = None,
                 log: LogLike = None, log_level: Optional[str] = None):
        """Draws gradients of several sizes. The keywords are those of tail_probability()."""
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
