"""Optimizers and training, on top of the handles of `plimsoll`."""
import ctypes

import numpy as np

from .plimsoll import Failure, Handle, PLIM_ERROR_CANCELLED, PLIM_ERROR_DIVERGED, PLIM_OK, UNTOUCHED, call, lib

COLUMNS = ("train_loss", "val_loss", "val_accuracy", "seconds", "batch_loss")


class Optimizer(Handle):
    free = "plim_optimizer_free"

    @classmethod
    def sgd(cls, step):
        return cls("plim_optimizer_sgd", step)

    @classmethod
    def adam(cls, step):
        return cls("plim_optimizer_adam", step)

    def set_schedule(self, schedule):
        call("plim_optimizer_set_schedule", self.handle, schedule)

    def set_decay(self, decay):
        call("plim_optimizer_set_decay", self.handle, decay)

    def set_averaging(self, on):
        call("plim_optimizer_set_averaging", self.handle, on)

    def update(self, model, gradient):
        call("plim_optimizer_update", self.handle, model.handle, gradient, len(gradient))

    def average(self, count):
        average = np.full(count, np.nan, np.float32)
        call("plim_optimizer_average", self.handle, average, count)
        return average


class Options(Handle):
    """Training options; each keyword is a setter's name."""

    free = "plim_train_options_free"

    def __init__(self, **settings):
        super().__init__("plim_train_options_new")
        for name, value in settings.items():
            call(f"plim_train_options_set_{name}", self.handle, value)


class History(Handle):
    """What plim_train() recorded: one array per column, and `best_epoch`."""

    free = "plim_history_free"

    def __init__(self, model, graph, estimator, optimizer, options):
        self.handle = ctypes.c_void_p(UNTOUCHED)
        status = lib.plim_train(model.handle, graph.handle, estimator.handle, optimizer.handle,
                                None if options is None else options.handle, ctypes.byref(self.handle))
        if status not in (PLIM_OK, PLIM_ERROR_DIVERGED, PLIM_ERROR_CANCELLED):
            assert self.handle.value == UNTOUCHED, "plim_train failed and changed its out-parameter"
            self.handle = None
        if status != PLIM_OK:
            failure = Failure("plim_train", status)
            self.close()
            raise failure
        self.best_epoch = lib.plim_history_best_epoch(self.handle)
        for column, name in enumerate(COLUMNS):
            values = np.full(lib.plim_history_num_epochs(self.handle), np.nan)
            call("plim_history_copy", self.handle, column, values, len(values))
            setattr(self, name, values)


def train(model, graph, estimator, optimizer, **settings):
    """Trains with these options, and returns the history."""
    with Options(**settings) as options:
        return History(model, graph, estimator, optimizer, options)
