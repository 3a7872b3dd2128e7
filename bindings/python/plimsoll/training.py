"""Training, and what it recorded."""
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
    """Sample sizes that follow the gradient, so that its relative error stays under δ."""

    delta: float
    #: Updates from one test of the error to the next.
    every: int
    smallest: int
    largest: int


@dataclass(frozen=True, eq=False)
class History:
    """What training recorded: arrays of one number per epoch, NaN where nothing was evaluated."""

    #: Over all training nodes, nothing sampled, without λ.
    train_loss: np.ndarray
    val_loss: np.ndarray
    val_accuracy: np.ndarray
    #: Of the epoch's training steps alone.
    seconds: np.ndarray
    #: Mean over the epoch's batches, as estimated, with λ.
    batch_loss: np.ndarray
    #: Mean over the epoch's steps, if sampling is adaptive.
    sample_size: np.ndarray
    #: The gradient's relative error as last estimated by then, if sampling is adaptive.
    error: np.ndarray
    #: Mean NDCG of the validation queries, of rank data.
    val_ndcg: np.ndarray
    #: The best epoch by the monitor, from 1, the first of equals; 0 if there is none.
    best_epoch: int
    #: Whether the progress callback stopped training; the model keeps its last step.
    cancelled: bool

    @property
    def num_epochs(self) -> int:
        """Epochs completed."""
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
          resume: Any = None, adaptive: Optional[Adaptive] = None, progress: ProgressLike = None, log: LogLike = None,
          log_level: Optional[str] = None) -> History:
    """Trains a model: epochs of shuffled batches over the training nodes, a gradient and an update for each.

    Of rank data batches are of queries, and the accuracy is that of pairs.

    A second call goes on with the counters of estimator and optimizer. Ctrl-C ends it with the model at its last step.

    epochs            passes over the training nodes in all; with the full estimator an epoch is one step.
    batch_size        nodes of a batch; the full estimator does not use it.
    seed              of the shuffling.
    restore_best      whether the model ends with the parameters of its best epoch.
    patience          ends training after so many epochs without a better one; 0 for never.
    monitor           what is best: the highest "val_accuracy", the lowest "val_loss" or the lowest "train_loss", which
                      needs no validation nodes; of rank data, the highest "val_ndcg" too. Of equals the first is.
    evaluate_every    epochs between evaluations; 0 for never.
    checkpoint        a file that is written after every `checkpoint_every` epochs, whole or not at all.
    resume            a checkpoint to go on from, if the file is there.
    adaptive          lets the sample sizes follow the gradient; an Adaptive.
    progress          a function that is told a Progress after each epoch and about twice a second, and stops training by
                      answering something true; what it raises comes out of here. True for a bar, if tqdm is installed.
    log               told what training does, line by line: a function of a level and a message, a logging.Logger, or True
                      for the logger "plimsoll". What it raises ends training soon and comes out of here.
    log_level         the last level that is told: "error", "warning", "info" or "debug". None: as the logger has it, "info"
                      for a function.

    Raises DivergedError, whose `history` has the epochs completed; the model keeps its last finite parameters.
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
