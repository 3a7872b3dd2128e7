"""Bounds on how far SGD with inexact gradients is from the optimum: Theorems 2 to 7.

If a condition does not hold, the functions raise an InvalidArgumentError that names it. T counts iterates,
and w_1 is the start. plimsoll.h gives the formulas.
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
    """Bounds ‖w_T − w*‖² for a strongly convex objective, steps 1/((l−δ)k) and relative errors <= δ (Theorem 2)."""
    return _bound("strongly_convex_iterate", l, big_g, delta, t)


def strongly_convex_average(l: float, big_g: float, delta: float, t: int) -> float:
    """Bounds f(w̄_T) − f* under the conditions of strongly_convex_iterate() (Theorem 2)."""
    return _bound("strongly_convex_average", l, big_g, delta, t)


def strongly_convex_value(l: float, big_l: float, big_g: float, delta: float, t: int) -> float:
    """Bounds f(w_T) − f* under the same conditions, if the gradient is Lipschitz with constant L (Theorem 3)."""
    return _bound("strongly_convex_value", l, big_l, big_g, delta, t)


def constant_step(l: float, big_g: float, delta: float, step: float, t: int, initial_distance_squared: float) -> float:
    """Bounds ‖w_T − w*‖² for a strongly convex objective and a constant step (Theorem 4)."""
    return _bound("constant_step", l, big_g, delta, step, t, initial_distance_squared)


def convex_average(big_g: float, diameter: float, rho: float, c: float, t: int) -> float:
    """Bounds f(w̄_T) − f* for a convex objective, steps c/√k and relative errors <= ρ/√T (Theorem 5)."""
    return _bound("convex_average", big_g, diameter, rho, c, t)


def nonconvex_gradient(big_l: float, big_g: float, d_f: float, delta: float, t: int) -> float:
    """Bounds the smallest ‖∇f(w_k)‖² for an objective that need not be convex and steps D_f/((1+δ)G√T) (Theorem 6)."""
    return _bound("nonconvex_gradient", big_l, big_g, d_f, delta, t)


def linear(l: float, big_l: float, deltas: Any, initial_gap: float) -> float:
    """Bounds f(w_T) − f* for a strongly convex objective, steps 1/L and T − 1 absolute errors (Theorem 7)."""
    values = floats("deltas", deltas, np.float64)
    return _bound("linear", l, big_l, values, len(values) + 1, initial_gap)
