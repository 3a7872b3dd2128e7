"""Records the iterates of PyTorch's optimizers on a sequence of gradients, for tests without PyTorch.

    record_optimizers.py tests/python/optimizers.npz

The gradients are floats, as the library takes them; PyTorch computes in double precision. The file has `start` [16] and
`gradients` [50, 16]; `cases` [12], names; `iterates` [12, 4, 16], those of each case after `steps` [4] updates.
"""
import sys

import numpy as np
import torch

STEPS = [1, 2, 12, 50]
GAMMA = 0.05
DECAY = 0.3


def sgd(parameters, decay):
    return torch.optim.SGD(parameters, lr=GAMMA, weight_decay=decay)


def adam(parameters, decay):
    if decay == 0.0:
        return torch.optim.Adam(parameters, lr=GAMMA)
    return torch.optim.AdamW(parameters, lr=GAMMA, weight_decay=decay)


# γ_k / γ.
SCHEDULES = {"constant": lambda k: 1.0, "inverse": lambda k: 1.0 / k, "inverse_sqrt": lambda k: k ** -0.5}


def iterates(make, schedule, decay, start, gradients):
    w = torch.tensor(start.astype(np.float64), requires_grad=True)
    optimizer = make([w], decay)
    # A scheduler counts from 0, k from 1.
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda done: schedule(done + 1))
    kept = []
    for k, gradient in enumerate(gradients, 1):
        w.grad = torch.tensor(gradient.astype(np.float64))
        optimizer.step()
        scheduler.step()
        if k in STEPS:
            kept.append(w.detach().numpy().copy())
    return np.array(kept)


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
        for schedule in SCHEDULES:
            for decay in (0.0, DECAY):
                key = f"{name}_{schedule}_{'decay' if decay else 'plain'}"
                cases[key] = iterates(make, SCHEDULES[schedule], decay, start, gradients)
    np.savez_compressed(path, start=start, gradients=gradients, steps=np.array(STEPS), cases=np.array(list(cases)),
                        iterates=np.array(list(cases.values())), gamma=GAMMA, decay=DECAY, torch=torch.__version__)


if __name__ == "__main__":
    main(sys.argv[1])
