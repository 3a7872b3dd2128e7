"""Calls with callbacks: exceptions and interrupts in a callback are not lost in C."""
from __future__ import annotations

import logging
import signal
import threading
import warnings
from typing import Any, Callable, NamedTuple, Optional, Tuple, Union

from . import _abi
from ._lib import call


class Progress(NamedTuple):
    """Progress of a training or a measurement. Values that were not evaluated are NaN."""

    #: Training: the current epoch, from 1. Measurement: the current sample size, by its place from 1.
    epoch: int
    #: Training: number of epochs. Measurement: number of sample sizes, which a planner can only guess.
    num_epochs: int
    #: Training: steps completed in this epoch. Measurement: gradients drawn of this sample size.
    step: int
    #: Training: steps per epoch. Measurement: gradients to draw of this sample size.
    num_steps: int
    train_loss: float
    val_loss: float
    val_accuracy: float
    #: Seconds so far: of training steps, or of the measurement.
    seconds: float
    #: Mean NDCG over the validation queries; NaN for a graph.
    val_ndcg: float


ProgressLike = Union[bool, None, Callable[[Progress], Any]]
LogLike = Union[bool, None, logging.Logger, Callable[[str, str], Any]]


class Run:
    """A call to C with Python callbacks.

    An exception in a callback cancels the call and is raised when the call has returned. After an exception
    in a log callback, the next progress callback cancels. A SIGINT between two callbacks is deferred to the
    next one: otherwise Python would raise KeyboardInterrupt on the first instruction of the callback, where
    ctypes drops it.
    """

    def __init__(self) -> None:
        self.raised: Optional[BaseException] = None
        self._inside = False
        self._waiting: Optional[tuple] = None
        self._previous: Any = None

    def __enter__(self) -> Run:
        # Signals are handled on the main thread, and only a Python handler can raise.
        if threading.current_thread() is threading.main_thread() and callable(signal.getsignal(signal.SIGINT)):
            self._previous = signal.signal(signal.SIGINT, self._interrupted)
        return self

    def __exit__(self, *_: Any) -> None:
        if self._previous is not None:
            signal.signal(signal.SIGINT, self._previous)
        if self.raised is not None:
            raise self.raised
        self._handle_waiting()

    def _interrupted(self, *received: Any) -> None:
        if self._inside:
            self._previous(*received)
        else:
            self._waiting = received

    def _handle_waiting(self) -> None:
        received, self._waiting = self._waiting, None
        if received is not None:
            self._previous(*received)

    def guard(self, function: Callable[..., Any]) -> Callable[..., int]:
        """Returns a function for C that calls `function`. It returns 1 to cancel and never raises."""

        def guarded(*arguments: Any) -> int:
            if self.raised is not None:
                return 1
            stop: Any = True
            try:
                try:
                    self._inside = True
                    self._handle_waiting()
                    stop = function(*arguments)
                finally:
                    self._inside = False
            except BaseException as error:
                self.raised = error
                stop = True
            return 1 if stop else 0

        return guarded

    def progress(self, tell: Callable[[Progress], Any]) -> Any:
        """Returns a plim_progress_fn. Keep it as long as C can call it."""

        def function(_: Any, progress: Any) -> Any:
            fields = progress.contents
            return tell(Progress(*(getattr(fields, field) for field in Progress._fields)))

        return _abi.progress_fn.ctype(self.guard(function))

    def log(self, write: Callable[[str, str], Any]) -> Any:
        """Returns a plim_log_fn. Keep it as long as C can call it."""
        guarded = self.guard(lambda level, message: write(_abi.LOG_LEVELS[level], message.decode("utf-8", "replace")))

        def function(_: Any, level: int, message: bytes) -> None:
            guarded(level, message)

        return _abi.log_fn.ctype(function)


class logged(Run):
    """A `with` block for a call with options, whose messages go to `log`."""

    def __init__(self, noun: str, options: Any, log: LogLike, log_level: Optional[str]):
        super().__init__()
        written = writer(log, log_level)
        if written is not None:
            level, write = written
            self._function = self.log(write)
            call(f"{noun}_set_log", options, level, self._function, None)


class Bar:
    """A tqdm progress bar."""

    def __init__(self, label: str, tqdm: Any):
        self._bar = tqdm(desc=label, unit="step")

    def __call__(self, progress: Progress) -> None:
        self._bar.total = progress.num_epochs * progress.num_steps
        if progress.train_loss == progress.train_loss:
            self._bar.set_postfix(epoch=progress.epoch, loss=f"{progress.train_loss:.4f}", refresh=False)
        # update() redraws about ten times a second, however often it is called.
        self._bar.update((progress.epoch - 1) * progress.num_steps + progress.step - self._bar.n)

    def close(self) -> None:
        self._bar.refresh()
        self._bar.close()


def teller(progress: ProgressLike, label: str) -> Any:
    """Returns the callable that receives progress. A true result cancels. A Bar must be closed."""
    if progress is True:
        try:
            from tqdm.auto import tqdm
        except ImportError:
            warnings.warn("progress=True requires tqdm to show a progress bar", stacklevel=3)
        else:
            return Bar(label, tqdm)
    elif callable(progress):
        return progress
    elif progress is not None and progress is not False:
        raise TypeError(f"progress must be True or a function, not {progress!r}")
    return lambda _: None


def writer(log: LogLike, level: Optional[str]) -> Optional[Tuple[int, Callable[[str, str], Any]]]:
    """Returns the log level and a function that receives a level and a message, or None without a log."""
    if log is None or log is False:
        return None
    if log is True:
        log = logging.getLogger("plimsoll")
    if isinstance(log, logging.Logger):
        logger, levels = log, {name: getattr(logging, name.upper()) for name in _abi.LOG_LEVELS}
        if level is None:
            wanted = [name for name in _abi.LOG_LEVELS if logger.isEnabledFor(levels[name])]
            if not wanted:
                return None
            level = wanted[-1]
        return _abi.number("log_level", level, _abi.LOG_LEVELS), lambda at, text: logger.log(levels[at], "%s", text)
    if not callable(log):
        raise TypeError(f"log must be True, a logging.Logger or a function, not {log!r}")
    return _abi.number("log_level", level or "info", _abi.LOG_LEVELS), log


class watched(Run):
    """A `with` block for a call with options, whose progress goes to `progress` and whose messages go to `log`."""

    def __init__(self, noun: str, options: Any, progress: ProgressLike, label: str, log: LogLike,
                 log_level: Optional[str]):
        super().__init__()
        written = writer(log, log_level)
        self._tell = teller(progress, label)
        self._functions = [self.progress(self._tell)]
        call(f"{noun}_set_progress", options, self._functions[0], None)
        if written is not None:
            level, write = written
            self._functions.append(self.log(write))
            call(f"{noun}_set_log", options, level, self._functions[1], None)

    def __exit__(self, *error: Any) -> None:
        if isinstance(self._tell, Bar):
            self._tell.close()
        super().__exit__(*error)
