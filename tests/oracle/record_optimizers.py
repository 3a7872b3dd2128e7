"""Records the iterates and steps of PyTorch's optimizers and schedulers, for tests without PyTorch.

    record_optimizers.py tests/python/optimizers.npz

The gradients are floats, as the library takes them; PyTorch computes in double precision. The file has `start` [16] and
`gradients` [50, 16]; `cases`, names; `iterates` [cases, 4, 16], those of each case after `steps` [4] updates; `emas` [4, 16] of the
case adam_ema; `schedules`, names; `learning_rates` [schedules, 50], the step of each update, where an epoch has EPOCH updates; and
`reports` [50], what the plateau is told after each update.
"""
import sys

import numpy as np
import torch
from torch.optim import lr_scheduler
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

STEPS = [1, 2, 12, 50]
GAMMA = 0.05
DECAY = 0.3
EPOCH = 4


def sgd(parameters, decay):
    return torch.optim.SGD(parameters, lr=GAMMA, weight_decay=decay)


def adam(parameters, decay, **options):
    if decay == 0.0:
        return torch.optim.Adam(parameters, lr=GAMMA, **options)
    return torch.optim.AdamW(parameters, lr=GAMMA, weight_decay=decay, **options)


# γ_k / γ.
SCHEDULES = {"constant": lambda k: 1.0, "inverse": lambda k: 1.0 / k, "inverse_sqrt": lambda k: k ** -0.5}


class Parameters(torch.nn.Module):
    def __init__(self, start):
        super().__init__()
        self.w = torch.nn.Parameter(torch.tensor(start.astype(np.float64)))


def iterates(make, scheduler_of, start, gradients, clip=None, ema=None):
    """The iterates after STEPS updates, and the moving averages, which begin at the first parameters."""
    module = Parameters(start)
    optimizer = make([module.w])
    scheduler = scheduler_of(optimizer)
    average = AveragedModel(module, multi_avg_fn=get_ema_multi_avg_fn(ema)) if ema else None
    if ema:
        average.update_parameters(module)
    kept, averages = [], []
    for k, gradient in enumerate(gradients, 1):
        module.w.grad = torch.tensor(gradient.astype(np.float64))
        if clip:
            torch.nn.utils.clip_grad_norm_([module.w], clip)
        optimizer.step()
        scheduler.step()
        if ema:
            average.update_parameters(module)
        if k in STEPS:
            kept.append(module.w.detach().numpy().copy())
            averages += [average.module.w.detach().numpy().copy()] if ema else []
    return np.array(kept), np.array(averages)


def constant(optimizer):
    return lr_scheduler.LambdaLR(optimizer, lambda done: 1.0)


def learning_rates(schedulers_of, reports):
    """The step of each update. A scheduler is stepped after each update or epoch, or with each report."""
    optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=GAMMA)
    schedulers = schedulers_of(optimizer)
    steps = []
    for k, report in enumerate(reports, 1):
        steps.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        for unit, scheduler in schedulers:
            if unit == "reports":
                scheduler.step(report)
            elif unit == "updates" or k % EPOCH == 0:
                scheduler.step()
    return steps


def schedulers():
    """By name. tests/python/optimizers.py makes the same settings. Cosines of PyTorch rise again after their length, so these
    do not end."""
    def step(o): return lr_scheduler.StepLR(o, 3, 0.5)
    def cosine(o): return lr_scheduler.CosineAnnealingLR(o, 60, 0.01)
    def epochs(o): return lr_scheduler.CosineAnnealingLR(o, 13)
    def warmup(o): return lr_scheduler.LinearLR(o, 0.1, 1.0, 9)
    def plateau(o): return lr_scheduler.ReduceLROnPlateau(o, factor=0.5, patience=2, threshold=0.0, min_lr=0.004, eps=0.0)
    return {
        "step_updates": lambda o: [("updates", step(o))],
        "step_epochs": lambda o: [("epochs", step(o))],
        "cosine_updates": lambda o: [("updates", cosine(o))],
        "cosine_epochs": lambda o: [("epochs", epochs(o))],
        "warmup_updates": lambda o: [("updates", warmup(o))],
        "warmup_epochs": lambda o: [("epochs", warmup(o))],
        "warmup_step": lambda o: [("updates", warmup(o)), ("epochs", step(o))],
        "plateau": lambda o: [("reports", plateau(o))],
    }


def sequence(rng):
    """Parameters of several sizes, and gradients that are steady, noisy, of alternating sign, tiny compared with Adam's ε, rare,
    and always 0."""
    start = rng.normal(size=16) * np.logspace(-1, 1, 16)
    gradients = rng.normal(size=(50, 16)) + np.linspace(-2, 2, 16)
    gradients[:, 3] = np.where(np.arange(50) % 2, 1.0, -1.0)
    gradients[:, 6] *= 1e-8
    gradients[:, 9] *= 1e-10
    gradients[:, 11] *= 100.0
    gradients[:, 13] = 0.0
    gradients[:, 14] *= np.arange(50) % 17 == 0
    return start.astype(np.float32), gradients.astype(np.float32)


def main(path):
    start, gradients = sequence(np.random.default_rng(4))
    cases = {}
    for name, make in (("sgd", sgd), ("adam", adam)):
        for schedule, factor in SCHEDULES.items():
            for decay in (0.0, DECAY):
                # A scheduler counts from 0, k from 1.
                def scheduler_of(optimizer, factor=factor):
                    return lr_scheduler.LambdaLR(optimizer, lambda done: factor(done + 1))
                key = f"{name}_{schedule}_{'decay' if decay else 'plain'}"
                cases[key], _ = iterates(lambda p, m=make, d=decay: m(p, d), scheduler_of, start, gradients)
    run = lambda make, **options: iterates(make, constant, start, gradients, **options)
    # Some gradients are longer than 150 and some are not.
    cases["sgd_clip"], _ = run(lambda p: sgd(p, 0.0), clip=150.0)
    cases["adam_clip"], _ = run(lambda p: adam(p, 0.0), clip=150.0)
    cases["adam_betas"], _ = run(lambda p: adam(p, DECAY, betas=(0.5, 0.95), eps=1e-3))
    cases["adam_ema"], emas = run(lambda p: adam(p, 0.0), ema=0.9)
    # Falls, stays, and falls again.
    reports = np.concatenate([np.linspace(3, 2, 10), np.full(15, 2.0), [1.5], np.linspace(1.5, 1.9, 24)])
    rates = {name: learning_rates(of, reports) for name, of in schedulers().items()}
    np.savez_compressed(path, start=start, gradients=gradients, steps=np.array(STEPS), cases=np.array(list(cases)),
                        iterates=np.array(list(cases.values())), emas=emas, schedules=np.array(list(rates)),
                        learning_rates=np.array(list(rates.values())), reports=reports, epoch=EPOCH, gamma=GAMMA, decay=DECAY,
                        torch=torch.__version__)


if __name__ == "__main__":
    main(sys.argv[1])
