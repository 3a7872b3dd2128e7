"""Calls that call back: no exception and no interrupt gets lost in C."""
from __future__ import annotations

import logging
import signal
import threading
import warnings
from typing import Any, Callable, NamedTuple, Optional, Tuple, Union

from . import _abi
from ._lib import call


class Progress(NamedTuple):
    """How far training or a measurement is. NaN where nothing was evaluated."""

    #: The epoch at work or just done, from 1; in a measurement, the sample size at work.
    epoch: int
    #: Epochs, or sample sizes, in all; a planner's is a guess.
    num_epochs: int
    #: Steps done in this epoch; in a measurement, the gradients drawn of this sample size.
    step: int
    #: Steps of an epoch; gradients to draw of each sample size.
    num_steps: int
    train_loss: float
    val_loss: float
    val_accuracy: float
    #: Seconds of training steps, or of the measurement, so far.
    seconds: float
    #: Of the validation queries; NaN on a graph.
    val_ndcg: float


ProgressLike = Union[bool, None, Callable[[Progress], Any]]
LogLike = Union[bool, None, logging.Logger, Callable[[str, str], Any]]


class Run:
    """A call to C that calls Python back.

    What a callback raises cancels the call, at the next progress if it was a log, and is raised when it is over. A SIGINT between two callbacks waits for the
    next one: Python would raise KeyboardInterrupt on the callback's first instruction, where ctypes drops it.
    """

    def __init__(self) -> None:
        self.raised: Optional[BaseException] = None
        self._inside = False
        self._waiting: Optional[tuple] = None
        self._previous: Any = None

    def __enter__(self) -> Run:
        # Signals are handled on the main thread, and only a handler of Python's can raise.
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
        """The function as C may call it: it answers 1 to cancel, and never raises."""

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
        """A plim_progress_fn. Keep it as long as C may call it."""

        def function(_: Any, progress: Any) -> Any:
            fields = progress.contents
            return tell(Progress(*(getattr(fields, field) for field in Progress._fields)))

        return _abi.progress_fn.ctype(self.guard(function))

    def log(self, write: Callable[[str, str], Any]) -> Any:
        """A plim_log_fn. Keep it as long as C may call it."""
        guarded = self.guard(lambda level, message: write(_abi.LOG_LEVELS[level], message.decode("utf-8", "replace")))

        def function(_: Any, level: int, message: bytes) -> None:
            guarded(level, message)

        return _abi.log_fn.ctype(function)


class Bar:
    """A progress bar by tqdm."""

    def __init__(self, label: str, tqdm: Any):
        self._bar = tqdm(desc=label, unit="step")

    def __call__(self, progress: Progress) -> None:
        self._bar.total = progress.num_epochs * progress.num_steps
        if progress.train_loss == progress.train_loss:
            self._bar.set_postfix(epoch=progress.epoch, loss=f"{progress.train_loss:.4f}", refresh=False)
        # update() draws some ten times a second, however often it is called.
        self._bar.update((progress.epoch - 1) * progress.num_steps + progress.step - self._bar.n)

    def close(self) -> None:
        self._bar.refresh()
        self._bar.close()


def teller(progress: ProgressLike, label: str) -> Any:
    """What is told of progress. It answers None or something true, and may have a close()."""
    if progress is True:
        try:
            from tqdm.auto import tqdm
        except ImportError:
            warnings.warn("progress=True shows a bar where tqdm is installed", stacklevel=3)
        else:
            return Bar(label, tqdm)
    elif callable(progress):
        return progress
    elif progress is not None and progress is not False:
        raise TypeError(f"progress is True or a function, not {progress!r}")
    return lambda _: None


def writer(log: LogLike, level: Optional[str]) -> Optional[Tuple[int, Callable[[str, str], Any]]]:
    """The last level that is told, and what takes a level and a message; None if nothing does."""
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
        raise TypeError(f"log is True, a logging.Logger or a function, not {log!r}")
    return _abi.number("log_level", level or "info", _abi.LOG_LEVELS), log


class watched(Run):
    """A call with options, in a `with` block, that tells `progress` how far it is and `log` what it does."""

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
