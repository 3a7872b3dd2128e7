#!/usr/bin/env python3
"""Seconds of training that PyG needs to reach a test accuracy, with NeighborLoader and Adam.

    peer_accuracy.py DATA.npz --accuracy 0.87 --lr 0.1 --seed 0 [--fan-out 10 10]

Two GCNConv layers, 16 wide, without biases; batches of 256. GCNConv normalises the sampled subgraph. The accuracy
on the whole graph is computed after each epoch; its time does not count. Prints one JSON line.
"""
import argparse
import json
import os
import time
import warnings

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("data")
parser.add_argument("--accuracy", type=float, default=0.87)
parser.add_argument("--lr", type=float, default=0.1)
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--epochs", type=int, default=200)
parser.add_argument("--threads", type=int, default=1)
parser.add_argument("--fan-out", type=int, nargs=2, default=[10, 10])
args = parser.parse_args()
for variable in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[variable] = str(args.threads)
warnings.filterwarnings("ignore")
import numpy as np
import scipy.sparse as sp
import torch
import torch.nn.functional as F
from torch_geometric.data import Data
from torch_geometric.loader import NeighborLoader
from torch_geometric.nn import GCNConv

torch.set_num_threads(args.threads)
torch.manual_seed(args.seed)
z = np.load(args.data)
n, edges = int(z["num_nodes"]), z["edges"].astype(np.int64)
x = sp.csr_matrix((z["features_data"], z["features_indices"], z["features_indptr"]), shape=(n, int(z["num_features"])))
sums = np.asarray(x.sum(1)).ravel()
x = torch.from_numpy((sp.diags(1 / np.where(sums == 0, 1, sums)) @ x).toarray().astype(np.float32))
y = torch.from_numpy(z["labels"].astype(np.int64))
both_ways = torch.from_numpy(np.concatenate([edges, edges[:, ::-1]]).T.copy())
train, test = (torch.from_numpy(z[key].astype(np.int64)) for key in ("train", "test"))

widths = [x.shape[1], 16, int(y.max()) + 1]
convs = torch.nn.ModuleList(GCNConv(p, q, bias=False) for p, q in zip(widths, widths[1:]))
adam = torch.optim.Adam(convs.parameters(), lr=args.lr)
loader = NeighborLoader(Data(x=x, edge_index=both_ways, y=y), num_neighbors=args.fan_out, batch_size=256, shuffle=True,
                        input_nodes=train)


def forward(x, edge_index):
    return convs[1](convs[0](x, edge_index).relu(), edge_index)


seconds, accuracy = 0.0, 0.0
for epoch in range(1, args.epochs + 1):
    start = time.perf_counter()
    for batch in loader:
        adam.zero_grad(set_to_none=True)
        s = batch.batch_size
        F.cross_entropy(forward(batch.x, batch.edge_index)[:s], batch.y[:s]).backward()
        adam.step()
    seconds += time.perf_counter() - start
    with torch.no_grad():
        accuracy = float((forward(x, both_ways)[test].argmax(1) == y[test]).float().mean())
    if accuracy >= args.accuracy - 1e-6:
        break
print(json.dumps(dict(engine="pyg", seconds=seconds, epochs=epoch, accuracy=accuracy,
                      reached=accuracy >= args.accuracy - 1e-6)))
