"""SGD, Adam and AdamW against PyTorch, on a recorded sequence of gradients: support/record_optimizers.py made it.

Updates of a model are floats: within 1e-5 of PyTorch's doubles. Minimisation is in doubles itself: within 1e-12.
"""
import ctypes
import sys
from pathlib import Path

import numpy as np

from support import check
from support.plimsoll import (Model, PLIM_SCHEDULE_CONSTANT, PLIM_SCHEDULE_INVERSE, PLIM_SCHEDULE_INVERSE_SQRT, call,
                              plim_oracle)
from support.training import Optimizer

SCHEDULES = {"constant": PLIM_SCHEDULE_CONSTANT, "inverse": PLIM_SCHEDULE_INVERSE,
             "inverse_sqrt": PLIM_SCHEDULE_INVERSE_SQRT}


def recording():
    """The arrays of the file, with the iterates of each case under its name."""
    with np.load(Path(__file__).with_suffix(".npz"), allow_pickle=False) as z:
        recorded = {key: z[key] for key in z.files}
    return recorded | dict(zip(recorded["cases"].tolist(), recorded["iterates"]))


def optimizer_of(case, recorded):
    """The library's optimizer for a case such as adam_inverse_sqrt_decay."""
    rule, rest = case.split("_", 1)
    schedule, decay = rest.rsplit("_", 1)
    optimizer = {"sgd": Optimizer.sgd, "adam": Optimizer.adam}[rule](float(recorded["gamma"]))
    optimizer.set_schedule(SCHEDULES[schedule])
    optimizer.set_decay(float(recorded["decay"]) if decay == "decay" else 0.0)
    return optimizer


def per_parameter(found, expected, what, tolerance):
    """Each parameter by itself, all recorded steps together: a small one does not hide behind a large one."""
    for parameter in range(expected.shape[1]):
        check.close(found[:, parameter], expected[:, parameter], what, tolerance)


def updates_are_those_of_pytorch(case, recorded):
    start, expected = recorded["start"], recorded[case]
    found = []
    with Model.gcn([4, 4]) as model, optimizer_of(case, recorded) as optimizer:
        model.set_parameters(start)
        for k, gradient in enumerate(recorded["gradients"], 1):
            optimizer.update(model, gradient)
            if k in recorded["steps"]:
                found.append(model.parameters())
    per_parameter(np.array(found), expected, f"updates: {case}", 1e-5)


def minimisation_is_that_of_pytorch(case, recorded):
    """The same gradients from a callback, and as many steps as were recorded."""
    gradients, expected = recorded["gradients"].astype(np.float64), recorded[case]
    dim = gradients.shape[1]

    @plim_oracle
    def oracle(_, step, w, gradient, size):
        ctypes.memmove(gradient, gradients[step - 1].ctypes.data, 8 * size)
        return 0

    found = []
    with optimizer_of(case, recorded) as optimizer:
        for steps in recorded["steps"]:
            w = recorded["start"].astype(np.float64)
            call("plim_optimizer_minimize", optimizer.handle, oracle, None, int(steps), w, None, dim)
            found.append(w)
    per_parameter(np.array(found), expected, f"minimisation: {case}", 1e-12)


def the_average_is_that_of_the_iterates_before_each_update(case, recorded):
    iterates = []
    with Model.gcn([4, 4]) as model, optimizer_of(case, recorded) as optimizer:
        model.set_parameters(recorded["start"])
        optimizer.set_averaging(1)
        for gradient in recorded["gradients"]:
            iterates.append(model.parameters())
            optimizer.update(model, gradient)
            expected = np.mean(iterates, axis=0, dtype=np.float64)
            check.close(optimizer.average(16), expected, f"average: {case}", 1e-6)


def tests():
    recorded = recording()
    for what in (updates_are_those_of_pytorch, minimisation_is_that_of_pytorch,
                 the_average_is_that_of_the_iterates_before_each_update):
        for case in recorded["cases"].tolist():
            yield check.about(what, case.replace("_", " "), case, recorded)


if __name__ == "__main__":
    sys.exit(check.run(tests()))
