"""Training."""
from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import Any, NamedTuple, Optional, Union

import numpy as np

from . import _abi
from ._callbacks import LogLike, ProgressLike, watched
from ._lib import Handle, ask, call, error, learned_from, make
from .errors import CancelledError, DivergedError
from .estimator import Estimator
from .graph import Graph
from .model import Model
from .optimizer import Optimizer
from .rank import RankData


class Adaptive(NamedTuple):
    """Adapts sample sizes in training, so that the relative error of the gradient stays below δ."""

    delta: float
    #: Updates between tests of the error.
    every: int
    smallest: int
    largest: int


@dataclass(frozen=True, eq=False)
class History:
    """What training recorded: one number per epoch, NaN if it was not evaluated."""

    #: Over all training nodes, computed without sampling and without the penalty of λ.
    train_loss: np.ndarray
    val_loss: np.ndarray
    val_accuracy: np.ndarray
    #: Of the epoch's training steps, without evaluation and callbacks.
    seconds: np.ndarray
    #: Mean of the estimated objective over the epoch's batches, with the penalty of λ.
    batch_loss: np.ndarray
    #: Mean over the epoch's steps, if sampling is adaptive; else NaN.
    sample_size: np.ndarray
    #: Last estimate of the gradient's relative error, if sampling is adaptive; else NaN.
    error: np.ndarray
    #: Mean NDCG over the validation queries; NaN for a graph.
    val_ndcg: np.ndarray
    #: The best epoch by the monitor, from 1, the first of equal ones; 0 if none was evaluated.
    best_epoch: int
    #: Whether the progress callback stopped training. The model then has the parameters of the last completed step.
    cancelled: bool

    @property
    def num_epochs(self) -> int:
        """Number of completed epochs."""
        return len(self.train_loss)

    def __repr__(self) -> str:
        return f"<plimsoll.History of {self.num_epochs} epochs, the best {self.best_epoch}>"


class _History(Handle):
    _free = "plim_history_free"

    def copy(self, cancelled: bool) -> History:
        columns = {name: np.empty(ask("plim_history_num_epochs", self)) for name in _abi.HISTORY}
        for number, column in enumerate(columns.values()):
            call("plim_history_copy", self, number, column, len(column))
        return History(**columns, best_epoch=ask("plim_history_best_epoch", self), cancelled=cancelled)


class _Options(Handle):
    _free = "plim_train_options_free"


def train(model: Model, graph: Union[Graph, RankData], estimator: Estimator, optimizer: Optimizer, *, epochs: int = 100,
          batch_size: int = 256, seed: int = 0, restore_best: bool = True, patience: int = 0,
          monitor: str = "val_accuracy", evaluate_every: int = 1, checkpoint: Any = None, checkpoint_every: int = 1,
          resume: Any = None, adaptive: Optional[Adaptive] = None, ema: bool = False, progress: ProgressLike = None,
          log: LogLike = None, log_level: Optional[str] = None) -> History:
    """Trains a model: in each epoch, one gradient and one update for each batch of the shuffled training nodes.

    With RankData, batches consist of queries, and accuracy is that of pairs. A second call continues with the
    counters of estimator and optimizer. Ctrl-C stops training; the model then has the parameters of the last
    completed step.

    epochs            passes over the training nodes, including those before a resumed checkpoint. With the full
                      estimator an epoch is one step.
    batch_size        nodes per batch; ignored by the full estimator.
    seed              seed of the shuffling.
    restore_best      whether training ends with the parameters of the best epoch or with the last ones.
    patience          stops training after this many epochs without improvement; 0 for never.
    monitor           determines the best epoch: the highest "val_accuracy", the lowest "val_loss", the lowest
                      "train_loss", or, with RankData, the highest "val_ndcg". The first of equal epochs is the best.
    evaluate_every    epochs between evaluations; 0 for none.
    checkpoint        a file, written after every `checkpoint_every` epochs and after the last one.
    resume            a checkpoint to continue from, if the file exists.
    adaptive          an Adaptive, to adapt the sample sizes.
    ema               whether to evaluate with the optimizer's moving average, and to end with that of the best epoch or
                      with the last one.
    progress          a function that receives a Progress after each epoch and, within long epochs, at most every 0.5
                      seconds. A true result stops training; an exception stops it and is raised. True shows a progress
                      bar, if tqdm is installed.
    log               receives messages: a function of a level and a message, a logging.Logger, or True for the logger
                      "plimsoll". An exception stops training at the next progress report and is raised.
    log_level         "error", "warning", "info" or "debug"; messages of this level and of those before it are sent.
                      Default: the level of the logger, or "info" for a function.

    Raises DivergedError if training diverges. Its `history` holds the completed epochs, and the model has its
    last finite parameters.
    """
    with _Options._own(make("plim_train_options_new")) as options:
        call("plim_train_options_set_epochs", options, epochs)
        call("plim_train_options_set_batch_size", options, batch_size)
        call("plim_train_options_set_seed", options, seed)
        call("plim_train_options_set_restore_best", options, bool(restore_best))
        call("plim_train_options_set_patience", options, patience)
        call("plim_train_options_set_monitor", options, _abi.number("monitor", monitor, _abi.MONITORS))
        call("plim_train_options_set_evaluate_every", options, evaluate_every)
        if checkpoint is not None:
            call("plim_train_options_set_checkpoint", options, checkpoint, checkpoint_every)
        call("plim_train_options_set_resume", options, resume)
        if adaptive is not None:
            call("plim_train_options_set_adaptive", options, *Adaptive(*adaptive))
        call("plim_train_options_set_ema", options, bool(ema))
        handle = ctypes.c_void_p()
        with watched("plim_train_options", options, progress, "training", log, log_level):
            status = ask(learned_from(graph)._train, model, graph, estimator, optimizer, options, ctypes.byref(handle))
    failure = error(status) if status else None
    if handle:
        with _History._own(handle) as recorded:
            history = recorded.copy(status == CancelledError.status)
        if isinstance(failure, DivergedError):
            failure.history = history
        elif status in (0, CancelledError.status):
            return history
    assert failure is not None
    raise failure
