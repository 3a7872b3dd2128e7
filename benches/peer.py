#!/usr/bin/env python3
"""The alternatives to Plimsoll, doing the same work.

    peer.py ENGINE DATA.npz --layers 2 --sample 400 --lr 10 [--threads 1] [--seconds 0.5]

ENGINE: torch (PyTorch autograd, with indices computed in NumPy, which was fastest), pyg (PyTorch Geometric: bipartite_subgraph
for sampled layers, NeighborLoader for 'unbiased', GCNConv for 'full'), scipy (NumPy/SciPy by hand, no autograd), numba
(compiled loops, see peer_numba.py), numba-splitmix (the same with a faster random number generator than NumPy's).
--sample N: N iid uniform draws with replacement at the input (1 layer) or at the hidden layer (2 layers, ÂX cached);
--sample unbiased: the whole neighbourhood, ÂX cached except in pyg; --sample full: one step on all training nodes.
SGD with the step lr/√k, hidden width 16, batches of 256, no biases. Features are divided by their rows' sums, except
with --raw-features.

Prints one JSON line: median, minimum and CPU seconds per epoch (per step for 'full'), of the training steps only.
"""
import argparse
import json
import os
import sys
import time

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("engine", choices=["torch", "pyg", "scipy", "numba", "numba-splitmix"])
parser.add_argument("data")
parser.add_argument("--layers", type=int, default=2, choices=[1, 2])
parser.add_argument("--sample", default="400")
parser.add_argument("--threads", type=int, default=1)
parser.add_argument("--lr", type=float, default=0.1)
parser.add_argument("--raw-features", action="store_true")
parser.add_argument("--seconds", type=float, default=0.5, help="time to measure for")
parser.add_argument("--least", type=int, default=5, help="epochs to measure at least")
parser.add_argument("--most", type=int, default=5000, help="epochs to measure at most")
args = parser.parse_args()
for variable in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[variable] = str(args.threads)
import numpy as np
import scipy.sparse as sp

HIDDEN, BATCH = 16, 256
rng = np.random.default_rng(0)
f32 = np.float32


def load(path):
    z = np.load(path)
    n, e = int(z["num_nodes"]), z["edges"]
    a = sp.coo_matrix((np.ones(len(e)), (e[:, 0], e[:, 1])), shape=(n, n)).tocsr()
    a = a + a.T + sp.identity(n)
    if "self_loops" in z and len(z["self_loops"]):
        s = z["self_loops"]
        a = a + sp.coo_matrix((np.ones(len(s)), (s, s)), shape=(n, n)).tocsr()
    d = sp.diags(1 / np.sqrt(np.asarray(a.sum(1)).ravel()))
    a_hat = (d @ a @ d).tocsr().astype(f32)
    a_hat.sort_indices()
    if "features" in z:
        x = sp.csr_matrix(z["features"].astype(f32))
    else:
        arrays = (z["features_data"], z["features_indices"], z["features_indptr"])
        x = sp.csr_matrix(arrays, shape=(n, int(z["num_features"])))
    if not args.raw_features:
        s = np.asarray(x.sum(1)).ravel()
        s[s == 0] = 1
        x = (sp.diags(1 / s) @ x).tocsr().astype(f32)
    return a_hat, x, z["labels"].astype(np.int64), z["train"].astype(np.int64)


A, X, Y, TRAIN = load(args.data)
N_NODES, CLASSES = A.shape[0], int(Y.max()) + 1
WIDTHS = [X.shape[1]] + [HIDDEN] * (args.layers - 1) + [CLASSES]
SAMPLE = None if args.sample in ("unbiased", "full") else int(args.sample)
AX = (A @ X).tocsr()
count = np.zeros(N_NODES, f32)


def glorot(rows, columns):
    bound = np.sqrt(6 / (rows + columns))
    return rng.uniform(-bound, bound, (rows, columns)).astype(f32)


WEIGHTS = [glorot(WIDTHS[i], WIDTHS[i + 1]) for i in range(args.layers)]


def block(out, t):
    """Non-zeros of (n/t)·Â(out, draws) with duplicates counted, as (weight, row, compact column) and the node of each
    compact column; if t is None, all of Â(out, :). Columns without entries are dropped, which changes no result."""
    starts, ends = A.indptr[out], A.indptr[out + 1]
    lens = ends - starts
    pos = np.repeat(starts - np.concatenate([[0], np.cumsum(lens)[:-1]]), lens) + np.arange(lens.sum())
    rows, cols, w = np.repeat(np.arange(len(out)), lens), A.indices[pos], A.data[pos]
    if t is not None:
        draws = rng.integers(0, N_NODES, t)
        np.add.at(count, draws, 1)
        k = count[cols]
        keep = np.flatnonzero(k)
        count[draws] = 0
        rows, cols, w = rows[keep], cols[keep], w[keep] * k[keep] * f32(N_NODES / t)
    nodes, loc = np.unique(cols, return_inverse=True)
    return w, rows, loc, nodes


def batches():
    if args.sample == "full":
        yield TRAIN
        return
    p = rng.permutation(TRAIN)
    for i in range(0, len(p), BATCH):
        yield p[i:i + BATCH]


def peak_bytes():
    """The peak of resident memory. Not ru_maxrss, which a process inherits from its parent."""
    with open("/proc/self/status") as status:
        return next(1024 * int(line.split()[1]) for line in status if line.startswith("VmHWM"))


def measure(epoch):
    epoch()
    wall, cpu = [], []
    while len(wall) < args.least or (len(wall) < args.most and sum(wall) < args.seconds):
        t, c = time.perf_counter(), time.process_time()
        loss = epoch()
        wall.append(time.perf_counter() - t)
        cpu.append(time.process_time() - c)
    print(json.dumps(dict(
        engine=args.engine, threads=args.threads, epochs=len(wall), median_s=float(np.median(wall)), min_s=min(wall),
        cpu_s=float(np.median(cpu)), loss=float(getattr(loss, "detach", lambda: loss)()),
        rss_mb=peak_bytes() / 1e6)))


def run_scipy():
    steps = 0

    def softmax_gradient(z, y):
        z = z - z.max(1, keepdims=True)
        p = np.exp(z)
        p /= p.sum(1, keepdims=True)
        loss = -np.mean(np.log(p[np.arange(len(y)), y] + 1e-30))
        p[np.arange(len(y)), y] -= 1
        return loss, p / f32(len(y))

    def update(gradients):
        nonlocal steps
        steps += 1
        for w, g in zip(WEIGHTS, gradients):
            w -= f32(args.lr / np.sqrt(steps)) * g

    def one(b):
        if args.layers == 1:
            if SAMPLE is None:
                bx = AX[b]
            else:
                w, r, l, nodes = block(b, SAMPLE)
                bx = sp.csr_matrix((w, (r, l)), shape=(len(b), len(nodes))) @ X[nodes]
            loss, g = softmax_gradient(bx @ WEIGHTS[0], Y[b])
            update([bx.T @ g])
            return loss
        w, r, l, nodes = block(b, SAMPLE)
        op = sp.csr_matrix((w, (r, l)), shape=(len(b), len(nodes)))
        b0 = AX[nodes]
        z0 = b0 @ WEIGHTS[0]
        b1 = op @ np.maximum(z0, 0)
        loss, g = softmax_gradient(b1 @ WEIGHTS[1], Y[b])
        gh = (op.T @ (g @ WEIGHTS[1].T)) * (z0 > 0)
        update([b0.T @ gh, b1.T @ g])
        return loss

    def epoch():
        for b in batches():
            loss = one(b)
        return loss
    measure(epoch)


class Descent:
    """torch.optim.SGD with the step lr/√k."""
    def __init__(self, parameters):
        import torch
        self.sgd, self.k = torch.optim.SGD(parameters, lr=args.lr), 0

    def step(self, loss):
        self.k += 1
        self.sgd.param_groups[0]["lr"] = args.lr / self.k ** 0.5
        self.sgd.zero_grad(set_to_none=True)
        loss.backward()
        self.sgd.step()


def run_torch():
    import torch
    import torch.nn.functional as F
    torch.set_num_threads(args.threads)
    tt = torch.from_numpy
    ws = [tt(w).requires_grad_() for w in WEIGHTS]
    x, ax, y = tt(X.toarray()), tt(AX.toarray()), tt(Y)
    descent = Descent(ws)

    def aggregate(w, r, l, rows, h):
        return torch.zeros(rows, h.shape[1]).index_add(0, tt(r), h.index_select(0, tt(l)) * tt(w)[:, None])

    def forward(b):
        if args.layers == 1:
            if SAMPLE is None:
                return ax.index_select(0, tt(b)) @ ws[0]
            w, r, l, nodes = block(b, SAMPLE)
            return aggregate(w, r, l, len(b), x.index_select(0, tt(nodes)) @ ws[0])
        w, r, l, nodes = block(b, SAMPLE)
        h = torch.relu(ax.index_select(0, tt(nodes)) @ ws[0])
        return aggregate(w, r, l, len(b), h @ ws[1])

    def epoch():
        for b in batches():
            loss = F.cross_entropy(forward(b), y[tt(b)])
            descent.step(loss)
        return loss
    measure(epoch)


def run_pyg():
    import warnings
    warnings.filterwarnings("ignore")
    import torch
    import torch.nn.functional as F
    from torch_geometric.data import Data
    from torch_geometric.loader import NeighborLoader
    from torch_geometric.nn import GCNConv, MessagePassing
    from torch_geometric.utils import bipartite_subgraph
    torch.set_num_threads(args.threads)
    c = A.tocoo()
    ei, ew = torch.from_numpy(np.stack([c.col, c.row]).astype(np.int64)), torch.from_numpy(c.data)
    x, ax, y = torch.from_numpy(X.toarray()), torch.from_numpy(AX.toarray()), torch.from_numpy(Y)
    train = torch.from_numpy(TRAIN)
    if SAMPLE is None:
        convs = torch.nn.ModuleList(GCNConv(p, q, normalize=False, bias=False) for p, q in zip(WIDTHS, WIDTHS[1:]))
        descent = Descent(convs.parameters())

        def net(h, ei, ew):
            for i, conv in enumerate(convs):
                h = conv(h, ei, ew)
                h = h.relu() if i + 1 < len(convs) else h
            return h

        if args.sample == "full":
            def epoch():
                loss = F.cross_entropy(net(x, ei, ew)[train], y[train])
                descent.step(loss)
                return loss
            return measure(epoch)
        loader = NeighborLoader(Data(x=x, edge_index=ei, edge_weight=ew, y=y), num_neighbors=[-1] * args.layers,
                                batch_size=BATCH, shuffle=True, input_nodes=train)

        def epoch():
            for b in loader:
                s = b.batch_size
                loss = F.cross_entropy(net(b.x, b.edge_index, b.edge_weight)[:s], b.y[:s])
                descent.step(loss)
            return loss
        return measure(epoch)

    class Bipartite(MessagePassing):
        def __init__(self):
            super().__init__(aggr="add")

        def forward(self, h, ei, w, size):
            return self.propagate(ei, x=(h, None), w=w, size=size)

        def message(self, x_j, w):
            return w.view(-1, 1) * x_j
    conv, ws = Bipartite(), [torch.from_numpy(w).requires_grad_() for w in WEIGHTS]
    descent = Descent(ws)

    def epoch():
        for b in train[torch.randperm(len(train))].split(BATCH):
            draws, times = torch.randint(0, N_NODES, (SAMPLE,)).unique(return_counts=True)
            e, w = bipartite_subgraph((draws, b), ei, ew, relabel_nodes=True, size=(N_NODES, N_NODES))
            w = w * times[e[0]] * (N_NODES / SAMPLE)
            h = x[draws] @ ws[0] if args.layers == 1 else (ax[draws] @ ws[0]).relu() @ ws[1]
            loss = F.cross_entropy(conv(h, e, w, (len(draws), len(b))), y[b])
            descent.step(loss)
        return loss
    measure(epoch)


def run_numba():
    import peer_numba
    batch_size = len(TRAIN) if args.sample == "full" else BATCH
    measure(peer_numba.epochs(A, X, AX, Y, TRAIN, WEIGHTS, args.layers, SAMPLE, batch_size, args.lr,
                               args.engine == "numba"))


if __name__ == "__main__":
    sys.exit({"torch": run_torch, "pyg": run_pyg, "scipy": run_scipy, "numba": run_numba,
              "numba-splitmix": run_numba}[args.engine]())
