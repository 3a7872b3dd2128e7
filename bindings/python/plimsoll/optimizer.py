"""Optimizers."""
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
    """Result of Optimizer.minimize()."""

    #: The last iterate.
    w: np.ndarray
    #: The mean of the iterates before each step; None if the oracle stopped the run.
    average: Optional[np.ndarray]
    #: Whether the oracle stopped the run.
    cancelled: bool


class Optimizer(Handle):
    """Moves parameters along gradients: SGD or Adam.

    Both constructors accept as keywords what you can also set later: `schedule`, `decay`, `clip`, `ball` or `box`,
    `averaging`, `ema`, and for Adam `betas` and `epsilon`.
    """

    __slots__ = ()
    _free = "plim_optimizer_free"

    @classmethod
    def sgd(cls, step: float, **settings: Any) -> Optimizer:
        """Stochastic gradient descent: w ← Π(w − γ_k g)."""
        return cls._own(make("plim_optimizer_sgd", step))._set(**settings)

    @classmethod
    def adam(cls, step: float, **settings: Any) -> Optimizer:
        """Adam, with the update of PyTorch; with `decay`, that of AdamW."""
        optimizer = cls._own(make("plim_optimizer_adam", step))
        optimizer.set_betas(*settings.pop("betas", (0.9, 0.999)))
        optimizer.set_epsilon(settings.pop("epsilon", 1e-8))
        return optimizer._set(**settings)

    def _set(self, *, schedule: str = "constant", decay: float = 0.0, ball: Optional[float] = None,
             box: Optional[Tuple[float, float]] = None, averaging: bool = False, clip: float = math.inf,
             ema: float = 0.0) -> Optimizer:
        self.set_schedule(schedule)
        self.set_decay(decay)
        self.set_clip(clip)
        self.set_ema(ema)
        if ball is not None and box is not None:
            raise ValueError("ball and box exclude each other: pass one of them")
        if ball is not None:
            self.set_ball(ball)
        if box is not None:
            self.set_box(*box)
        self.set_averaging(averaging)
        return self

    def set_schedule(self, schedule: str) -> None:
        """Selects the step of the k-th update: "constant" is γ (default), "inverse" γ/k, "inverse_sqrt" γ/√k.

        Replaces set_step_decay() and set_cosine(), as they replace each other and this schedule.
        """
        call("plim_optimizer_set_schedule", self, _abi.number("schedule", schedule, _abi.SCHEDULES))

    def set_step_decay(self, every: int, factor: float, unit: str = "epochs") -> None:
        """Multiplies the step by `factor` after each `every` "epochs" or "updates", as PyTorch's StepLR."""
        call("plim_optimizer_set_step_decay", self, every, _abi.number("unit", unit, _abi.UNITS), factor)

    def set_cosine(self, length: int, minimum: float = 0.0, unit: str = "epochs") -> None:
        """Lowers the step to `minimum` within `length` "epochs" or "updates", as CosineAnnealingLR; then it stays."""
        call("plim_optimizer_set_cosine", self, length, _abi.number("unit", unit, _abi.UNITS), minimum)

    def set_warmup(self, length: int, start: float = 0.0, unit: str = "updates") -> None:
        """Multiplies the step of any schedule by a factor from `start` to 1, as LinearLR. Length 0 means none."""
        call("plim_optimizer_set_warmup", self, length, _abi.number("unit", unit, _abi.UNITS), start)

    def set_plateau(self, factor: float = 0.1, patience: int = 10, minimum: float = 0.0) -> None:
        """Multiplies the step by `factor`, down to `minimum`, after more than `patience` reports without improvement.

        This is PyTorch's ReduceLROnPlateau with threshold 0. train() reports its monitor. A factor of 1 means no
        reductions (default). The call forgets earlier reports and reductions.
        """
        call("plim_optimizer_set_plateau", self, factor, patience, minimum)

    def report(self, value: float) -> None:
        """Reports a measure for set_plateau() in a loop of your own. Lower is better."""
        call("plim_optimizer_report", self, value)

    def end_epoch(self) -> None:
        """Counts an epoch for the schedules in a loop of your own."""
        call("plim_optimizer_end_epoch", self)

    @property
    def step_size(self) -> float:
        """The step of the next update."""
        return ask("plim_optimizer_step_size", self)

    def set_decay(self, decay: float) -> None:
        """Sets decoupled weight decay; with Adam this is AdamW. Default: 0.

        For a penalty in the gradient, as in torch.optim.Adam(weight_decay=λ), use Model.set_regularization().
        """
        call("plim_optimizer_set_decay", self, decay)

    def set_betas(self, beta1: float, beta2: float) -> None:
        """Sets how fast Adam's moments decay, with beta1² < beta2. Default: 0.9, 0.999."""
        call("plim_optimizer_set_betas", self, beta1, beta2)

    def set_epsilon(self, epsilon: float) -> None:
        """Sets Adam's ε. Default: 1e-8."""
        call("plim_optimizer_set_epsilon", self, epsilon)

    def set_clip(self, norm: float) -> None:
        """Clips gradients to this norm, as torch.nn.utils.clip_grad_norm_. Default: math.inf; that and 0 mean none."""
        call("plim_optimizer_set_clip", self, norm)

    def set_ball(self, radius: float) -> None:
        """Projects iterates onto ‖w‖ <= radius, replacing an earlier ball or box; math.inf for no projection."""
        call("plim_optimizer_set_ball", self, radius)

    def set_box(self, low: float = -math.inf, high: float = math.inf) -> None:
        """Projects every parameter onto [low, high], replacing an earlier ball or box."""
        call("plim_optimizer_set_box", self, low, high)

    def set_averaging(self, on: bool) -> None:
        """Turns the running average of the iterates on or off. A change discards the present average."""
        call("plim_optimizer_set_averaging", self, bool(on))

    def set_ema(self, decay: float) -> None:
        """Keeps an exponential moving average of the parameters: e ← decay·e + (1 − decay)·w. Default: 0, for none."""
        call("plim_optimizer_set_ema", self, decay)

    def reset(self) -> None:
        """Resets counts, moments, averages and what reports have reduced. Settings do not change."""
        call("plim_optimizer_reset", self)

    def update(self, model: Model, gradient: Any) -> None:
        """Updates the model once. With Estimator.gradient(), use it to write your own training loop."""
        values = floats("gradient", gradient)
        call("plim_optimizer_update", self, model, values, len(values))

    def average(self, model: Model) -> np.ndarray:
        """Returns the running average of the iterates of `model`, which this optimizer has updated."""
        values = np.empty(ask("plim_model_num_parameters", model), np.float32)
        call("plim_optimizer_average", self, values, len(values))
        return values

    def ema(self, model: Model) -> np.ndarray:
        """Returns the exponential moving average of the parameters of `model`, which this optimizer has updated."""
        values = np.empty(ask("plim_model_num_parameters", model), np.float32)
        call("plim_optimizer_ema", self, values, len(values))
        return values

    def minimize(self, oracle: Callable[[int, np.ndarray], Any], w: Any, num_steps: int) -> Minimum:
        """Minimises your own objective from `w`, with projected steps in double precision. `w` does not change.

        oracle(step, w) returns the gradient at w, with step = 1, 2, … To stop the run, it raises
        StopIteration; other exceptions are passed on. If the run diverges, DivergedError.w is the last finite
        iterate.
        """
        start = np.array(floats("w", w, np.float64))
        average = np.empty_like(start)
        run = Run()

        def ask_oracle(_: Any, step: int, at: Any, gradient: Any, dim: int) -> bool:
            try:
                # A copy, because the memory belongs to C and a reference may outlive it.
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
