"""Steps along gradients."""
from __future__ import annotations

import math
from typing import Any, Callable, NamedTuple, Optional, Tuple

import numpy as np

from . import _abi
from ._arrays import floats
from ._callbacks import Run
from ._lib import Handle, ask, call, error, make
from .errors import CancelledError, DivergedError
from .model import Model


class Minimum(NamedTuple):
    """Where Optimizer.minimize() ended."""

    #: The last iterate.
    w: np.ndarray
    #: The mean of the iterates before it; None if the oracle stopped.
    average: Optional[np.ndarray]
    #: Whether the oracle stopped.
    cancelled: bool


class Optimizer(Handle):
    """Moves parameters along gradients.

    Both constructors take by keyword what can also be set later: `schedule`, `decay`, `ball` or `box`, `averaging`.
    """

    __slots__ = ()
    _free = "plim_optimizer_free"

    @classmethod
    def sgd(cls, step: float, **settings: Any) -> Optimizer:
        """Stochastic gradient descent: w ← Π(w − γ_k g)."""
        return cls._own(make("plim_optimizer_sgd", step))._set(**settings)

    @classmethod
    def adam(cls, step: float, **settings: Any) -> Optimizer:
        """Adam with β = 0.9, 0.999 and ε = 1e-8, as PyTorch has it."""
        return cls._own(make("plim_optimizer_adam", step))._set(**settings)

    def _set(self, *, schedule: str = "constant", decay: float = 0.0, ball: Optional[float] = None,
             box: Optional[Tuple[float, float]] = None, averaging: bool = False) -> Optimizer:
        self.set_schedule(schedule)
        self.set_decay(decay)
        if ball is not None and box is not None:
            raise ValueError("ball and box replace each other: give one")
        if ball is not None:
            self.set_ball(ball)
        if box is not None:
            self.set_box(*box)
        self.set_averaging(averaging)
        return self

    def set_schedule(self, schedule: str) -> None:
        """The step at the k-th update: "constant", γ, at first; "inverse", γ/k; "inverse_sqrt", γ/√k."""
        call("plim_optimizer_set_schedule", self, _abi.number("schedule", schedule, _abi.SCHEDULES))

    def set_decay(self, decay: float) -> None:
        """Decoupled weight decay, as in AdamW; 0 at first."""
        call("plim_optimizer_set_decay", self, decay)

    def set_ball(self, radius: float) -> None:
        """Keeps ‖w‖ <= radius, in place of an earlier ball or box; math.inf for no bound."""
        call("plim_optimizer_set_ball", self, radius)

    def set_box(self, low: float = -math.inf, high: float = math.inf) -> None:
        """Keeps every parameter in [low, high], in place of an earlier ball or box."""
        call("plim_optimizer_set_box", self, low, high)

    def set_averaging(self, on: bool) -> None:
        """Averages the iterates of updates and training; switching it on starts a new average."""
        call("plim_optimizer_set_averaging", self, bool(on))

    def reset(self) -> None:
        """Forgets k, moments and average; the settings stay."""
        call("plim_optimizer_reset", self)

    def update(self, model: Model, gradient: Any) -> None:
        """Moves the model once; with Estimator.gradient() a training loop of your own."""
        values = floats("gradient", gradient)
        call("plim_optimizer_update", self, model, values, len(values))

    def average(self, model: Model) -> np.ndarray:
        """The mean of the iterates of `model`, which this optimizer has moved."""
        values = np.empty(ask("plim_model_num_parameters", model), np.float32)
        call("plim_optimizer_average", self, values, len(values))
        return values

    def minimize(self, oracle: Callable[[int, np.ndarray], Any], w: Any, num_steps: int) -> Minimum:
        """Takes projected steps on a problem of your own, from `w`, in double precision.

        oracle(step, w) gives the gradient at w, with step = 1, 2, …; it stops by raising StopIteration, and what else it
        raises comes out of here. `w` itself stays as it is. DivergedError.w is the last finite iterate.
        """
        start = np.array(floats("w", w, np.float64))
        average = np.empty_like(start)
        run = Run()

        def ask_oracle(_: Any, step: int, at: Any, gradient: Any, dim: int) -> bool:
            try:
                # A copy: the memory is C's, and a reference may outlive it.
                found = oracle(step, np.ctypeslib.as_array(at, (dim,)).copy())
            except StopIteration:
                return True
            values = floats("the oracle's gradient", found, np.float64)
            if len(values) != dim:
                raise ValueError(f"the oracle's gradient has {len(values)} elements, not {dim}")
            np.ctypeslib.as_array(gradient, (dim,))[:] = values
            return False

        function = _abi.oracle.ctype(run.guard(ask_oracle))
        with run:
            status = ask("plim_optimizer_minimize", self, function, None, num_steps, start, average, len(start))
        if status == CancelledError.status:
            return Minimum(start, None, True)
        if status:
            failure = error(status)
            if isinstance(failure, DivergedError):
                failure.w = start
            raise failure
        return Minimum(start, average, False)
