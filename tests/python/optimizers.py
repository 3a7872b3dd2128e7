"""SGD, Adam and AdamW, schedules, clipping and moving averages against PyTorch, on a sequence of gradients that
tests/oracle/record_optimizers.py recorded.

Updates of a model are in float: within 1e-5 of PyTorch's doubles. Minimisation is in double: within 1e-12. So are steps.
"""
import sys
from pathlib import Path

import numpy as np

from support import check, pl


def recording():
    """The arrays of the file, and the iterates of each case under its name."""
    with np.load(Path(__file__).with_suffix(".npz"), allow_pickle=False) as z:
        recorded = {key: z[key] for key in z.files}
    return recorded | dict(zip(recorded["cases"].tolist(), recorded["iterates"]))


# Settings of the cases that are not a rule, a schedule and a decay.
SPECIAL = {
    "sgd_clip": dict(clip=150.0), "adam_clip": dict(clip=150.0), "adam_ema": dict(ema=0.9),
    "adam_betas": dict(betas=(0.5, 0.95), epsilon=1e-3, decay=0.3),
}
# The same as schedulers() in tests/oracle/record_optimizers.py.
SCHEDULERS = {
    "step_updates": lambda o: o.set_step_decay(3, 0.5, "updates"),
    "step_epochs": lambda o: o.set_step_decay(3, 0.5, "epochs"),
    "cosine_updates": lambda o: o.set_cosine(60, 0.01, "updates"),
    "cosine_epochs": lambda o: o.set_cosine(13),
    "warmup_updates": lambda o: o.set_warmup(9, 0.1),
    "warmup_epochs": lambda o: o.set_warmup(9, 0.1, "epochs"),
    "warmup_step": lambda o: (o.set_step_decay(3, 0.5), o.set_warmup(9, 0.1)),
    "plateau": lambda o: o.set_plateau(0.5, 2, 0.004),
}


def optimizer_of(case, recorded):
    """The library's optimizer for a case such as adam_inverse_sqrt_decay."""
    rule, rest = case.split("_", 1)
    make = {"sgd": pl.Optimizer.sgd, "adam": pl.Optimizer.adam}[rule]
    gamma = float(recorded["gamma"])
    if case in SPECIAL:
        return make(gamma, **SPECIAL[case])
    schedule, decay = rest.rsplit("_", 1)
    return make(gamma, schedule=schedule, decay=float(recorded["decay"]) if decay == "decay" else 0.0)


def per_parameter(found, expected, what, tolerance):
    """Compares each parameter by itself, over all recorded steps, so that a large one cannot hide a small one."""
    for parameter in range(expected.shape[1]):
        check.close(found[:, parameter], expected[:, parameter], what, tolerance)


def updates_are_those_of_pytorch(case, recorded):
    start, expected = recorded["start"], recorded[case]
    found = []
    with pl.Model.gcn([4, 4]) as model, optimizer_of(case, recorded) as optimizer:
        model.parameters = start
        for k, gradient in enumerate(recorded["gradients"], 1):
            optimizer.update(model, gradient)
            if k in recorded["steps"]:
                found.append(model.parameters)
    per_parameter(np.array(found), expected, f"updates: {case}", 1e-5)


def minimisation_is_that_of_pytorch(case, recorded):
    """The same gradients from a callback, for each recorded number of steps."""
    gradients, expected = recorded["gradients"].astype(np.float64), recorded[case]
    with optimizer_of(case, recorded) as optimizer:
        found = [optimizer.minimize(lambda step, _: gradients[step - 1], recorded["start"], steps).w
                 for steps in recorded["steps"]]
    per_parameter(np.array(found), expected, f"minimisation: {case}", 1e-12)


def the_average_is_that_of_the_iterates_before_each_update(case, recorded):
    iterates = []
    with pl.Model.gcn([4, 4]) as model, optimizer_of(case, recorded) as optimizer:
        model.parameters = recorded["start"]
        optimizer.set_averaging(True)
        for gradient in recorded["gradients"]:
            iterates.append(model.parameters)
            optimizer.update(model, gradient)
            expected = np.mean(iterates, axis=0, dtype=np.float64)
            check.close(optimizer.average(model), expected, f"average: {case}", 1e-6)


def the_moving_average_is_that_of_pytorch(recorded):
    found = []
    with pl.Model.gcn([4, 4]) as model, optimizer_of("adam_ema", recorded) as optimizer:
        model.parameters = recorded["start"]
        for k, gradient in enumerate(recorded["gradients"], 1):
            optimizer.update(model, gradient)
            if k in recorded["steps"]:
                found.append(optimizer.ema(model))
    per_parameter(np.array(found), recorded["emas"], "moving average", 1e-5)


def steps_are_those_of_pytorch(schedule, recorded):
    epoch, found = int(recorded["epoch"]), []
    with pl.Model.gcn([4, 4]) as model, pl.Optimizer.sgd(float(recorded["gamma"])) as optimizer:
        SCHEDULERS[schedule](optimizer)
        for k, (gradient, report) in enumerate(zip(recorded["gradients"], recorded["reports"]), 1):
            found.append(optimizer.step_size)
            optimizer.update(model, gradient)
            optimizer.report(float(report))
            if k % epoch == 0:
                optimizer.end_epoch()
    rates = dict(zip(recorded["schedules"].tolist(), recorded["learning_rates"]))
    check.close(np.array(found), rates[schedule], f"steps: {schedule}", 1e-12)


def tests():
    recorded = recording()
    assert recorded["schedules"].tolist() == list(SCHEDULERS)
    yield check.about(the_moving_average_is_that_of_pytorch, "adam", recorded)
    for schedule in SCHEDULERS:
        yield check.about(steps_are_those_of_pytorch, schedule.replace("_", " "), schedule, recorded)
    for what in (updates_are_those_of_pytorch, minimisation_is_that_of_pytorch,
                 the_average_is_that_of_the_iterates_before_each_update):
        for case in recorded["cases"].tolist():
            yield check.about(what, case.replace("_", " "), case, recorded)


if __name__ == "__main__":
    sys.exit(check.run(tests()))
