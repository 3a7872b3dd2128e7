"""How far SGD can be from the optimum when its gradients are wrong by so much: what Theorems 2 to 7 promise.

A condition that does not hold is an InvalidArgumentError whose message names it. T counts iterates, and w_1 is the start.
"""
from __future__ import annotations

from typing import Any

import numpy as np

from ._arrays import floats
from ._lib import call


def _bound(name: str, *arguments: Any) -> float:
    out = np.empty(1)
    call(f"plim_bound_{name}", *arguments, out)
    return float(out[0])


def strongly_convex_iterate(l: float, big_g: float, delta: float, t: int) -> float:
    """‖w_T − w*‖², strongly convex, steps 1/((l−δ)k), relative errors of at most δ (Theorem 2)."""
    return _bound("strongly_convex_iterate", l, big_g, delta, t)


def strongly_convex_average(l: float, big_g: float, delta: float, t: int) -> float:
    """f(w̄_T) − f* in the same setting (Theorem 2)."""
    return _bound("strongly_convex_average", l, big_g, delta, t)


def strongly_convex_value(l: float, big_l: float, big_g: float, delta: float, t: int) -> float:
    """f(w_T) − f* in the same setting, with a gradient that is Lipschitz with constant L (Theorem 3)."""
    return _bound("strongly_convex_value", l, big_l, big_g, delta, t)


def constant_step(l: float, big_g: float, delta: float, step: float, t: int, initial_distance_squared: float) -> float:
    """‖w_T − w*‖², strongly convex, a constant step (Theorem 4)."""
    return _bound("constant_step", l, big_g, delta, step, t, initial_distance_squared)


def convex_average(big_g: float, diameter: float, rho: float, c: float, t: int) -> float:
    """f(w̄_T) − f*, convex, steps c/√k in a set of this diameter, relative errors of at most ρ/√T (Theorem 5)."""
    return _bound("convex_average", big_g, diameter, rho, c, t)


def nonconvex_gradient(big_l: float, big_g: float, d_f: float, delta: float, t: int) -> float:
    """min ‖∇f(w_k)‖², convex or not, steps D_f/((1+δ)G√T) (Theorem 6)."""
    return _bound("nonconvex_gradient", big_l, big_g, d_f, delta, t)


def linear(l: float, big_l: float, deltas: Any, initial_gap: float) -> float:
    """f(w_T) − f*, strongly convex, steps 1/L, absolute errors δ_1, δ_2, …: T is one more than there are (Theorem 7)."""
    values = floats("deltas", deltas, np.float64)
    return _bound("linear", l, big_l, values, len(values) + 1, initial_gap)
