#!/usr/bin/env python3
"""PyTorch's side of experiments/dense.py: `peer_dense.py THREADS ROUNDS` prints a JSON line for each shape and form."""
import json
import sys
import time

import torch

SHAPES = [(19717, 64, 64), (19717, 256, 256), (13752, 745, 512), (13752, 512, 512), (1300, 500, 256), (256, 256, 256)]
SECONDS = 0.003

threads, rounds = map(int, sys.argv[1:])
torch.set_num_threads(threads)
# As in benches/dense: other work on the machine does not lengthen the time of a single thread.
clock = time.thread_time if threads == 1 else time.perf_counter
for m, k, n in SHAPES:
    a, w, g = (2 * torch.rand(shape) - 1 for shape in ((m, k), (k, n), (m, n)))
    outs = {"plain": torch.empty(m, n), "transposed": torch.empty(k, n), "backward": torch.empty(m, k)}
    factors = {"plain": (a, w), "transposed": (a.T, g), "backward": (g, w.T)}
    for form, out in outs.items():
        def once():
            torch.mm(*factors[form], out=out)
        once()
        start = clock()
        once()
        repeats = max(1, round(SECONDS / (clock() - start)))
        rates = []
        for _ in range(rounds):
            start = clock()
            for _ in range(repeats):
                once()
            rates.append(2 * m * k * n * repeats / (clock() - start) / 1e9)
        found = dict(median=sorted(rates)[rounds // 2], best=max(rates))
        print(json.dumps(dict(m=m, k=k, n=n, form=form, threads=threads, torch=found)))
