#!/usr/bin/env python3
"""Times full training steps of a model made of layers in PyG or DGL; prints a JSON line.

    peer_layers.py ENGINE GRAPH LAYER LAYERS HIDDEN THREADS [STEPS]

ENGINE is pyg (edge index), pygcsr (the adjacency as torch's CSR tensor) or dgl. GRAPH is an .npz file, LAYER gcn, sage, gin, gat or
gatv2; the last two have 8 heads of HIDDEN / 8 columns, and one head in the last layer. ReLU (ELU after attention) and dropout of
0.5 stand between the layers; Adam 0.01; cross-entropy over the training nodes. Sparse features are made dense, which both engines
require. The line has the median and the least milliseconds of a step (forward, backward, update), the last loss, and
the peak memory in MB.
"""
import json
import resource
import sys
import time
import types

import numpy as np
import packaging.version
import torch
import torch.nn.functional as F


def load(path):
    """Nodes, undirected edges, normalised features, labels, training nodes."""
    z = np.load(path)
    n = int(z["num_nodes"])
    if "features" in z.files:
        x = np.asarray(z["features"], np.float32)
    else:
        import scipy.sparse as sp
        arrays = (z["features_data"], z["features_indices"], z["features_indptr"])
        x = sp.csr_matrix(arrays, shape=(n, int(z["num_features"]))).toarray().astype(np.float32)
    sums = x.sum(1, keepdims=True)
    sums[sums == 0] = 1
    return n, np.asarray(z["edges"], np.int64), x / sums, z["labels"].astype(np.int64), z["train"].astype(np.int64)


def mlp(i, o):
    return torch.nn.Sequential(torch.nn.Linear(i, o), torch.nn.ReLU(), torch.nn.Linear(o, o))


def heads(widths):
    """Of each layer of attention."""
    return [8] * (len(widths) - 2) + [1]


def pyg(kind, widths, n, both, as_csr):
    """The layers, and a function that calls one."""
    import torch_geometric.nn as nn
    make = {"gcn": lambda i, o, h: nn.GCNConv(i, o, cached=True), "sage": lambda i, o, h: nn.SAGEConv(i, o),
            "gin": lambda i, o, h: nn.GINConv(mlp(i, o)), "gat": lambda i, o, h: nn.GATConv(i, o // h, heads=h),
            "gatv2": lambda i, o, h: nn.GATv2Conv(i, o // h, heads=h)}[kind]
    convs = torch.nn.ModuleList(make(i, o, h) for i, o, h in zip(widths, widths[1:], heads(widths)))
    links = both
    if as_csr:  # Â for a GCN, computed once
        import scipy.sparse as sp
        a = sp.csr_matrix((np.ones(both.shape[1], np.float32), both.numpy()), shape=(n, n))
        if kind == "gcn":
            a = a + sp.identity(n, dtype=np.float32)
            d = sp.diags(1 / np.sqrt(np.asarray(a.sum(1)).ravel()))
            a = (d @ a @ d).tocsr().astype(np.float32)
            for conv in convs:
                conv.normalize = False
        a.sort_indices()
        links = torch.sparse_csr_tensor(torch.tensor(a.indptr.astype(np.int64)), torch.tensor(a.indices.astype(np.int64)),
                                        torch.tensor(a.data), size=a.shape)
    return convs, lambda conv, h: conv(h, links)


def dgl(kind, widths, n, both):
    # DGL 1.1.3 imports packaging from where older versions of setuptools had it.
    extern = types.ModuleType("setuptools.extern")
    extern.packaging = packaging
    sys.modules.setdefault("setuptools.extern", extern)
    sys.modules.setdefault("setuptools.extern.packaging", packaging)
    import dgl
    from dgl.nn.pytorch import GATConv, GATv2Conv, GINConv, GraphConv, SAGEConv
    graph = dgl.graph((both[0], both[1]), num_nodes=n)
    if kind in ("gcn", "gat", "gatv2"):
        graph = dgl.add_self_loop(graph)
    graph = graph.formats(["csr", "csc", "coo"])
    graph.create_formats_()
    make = {"gcn": lambda i, o, h: GraphConv(i, o), "sage": lambda i, o, h: SAGEConv(i, o, "mean"),
            "gin": lambda i, o, h: GINConv(mlp(i, o), "sum"), "gat": lambda i, o, h: GATConv(i, o // h, h),
            "gatv2": lambda i, o, h: GATv2Conv(i, o // h, h)}[kind]
    convs = torch.nn.ModuleList(make(i, o, h) for i, o, h in zip(widths, widths[1:], heads(widths)))
    return convs, lambda conv, h: conv(graph, h).flatten(1)


def main():
    engine, path, kind, depth, hidden, threads = *sys.argv[1:4], *(int(v) for v in sys.argv[4:7])
    steps = int(sys.argv[7]) if len(sys.argv) > 7 else 12
    torch.set_num_threads(threads)
    torch.manual_seed(0)
    n, edges, x, y, train = load(path)
    x, y, train = torch.tensor(x), torch.tensor(y), torch.tensor(train)
    both = torch.tensor(np.concatenate([edges, edges[:, ::-1]]).T.copy())
    widths = [x.shape[1]] + [hidden] * (depth - 1) + [int(y.max()) + 1]
    convs, call = dgl(kind, widths, n, both) if engine == "dgl" else pyg(kind, widths, n, both, engine == "pygcsr")
    activation = F.elu if kind.startswith("gat") else F.relu
    optimizer = torch.optim.Adam(convs.parameters(), lr=0.01)
    times = []
    for _ in range(steps + 2):
        start = time.perf_counter()
        h = x
        for i, conv in enumerate(convs):
            h = call(conv, h)
            if i + 1 < depth:
                h = F.dropout(activation(h), 0.5, True)
        loss = F.cross_entropy(h[train], y[train])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        times.append(1e3 * (time.perf_counter() - start))
    times = times[2:]
    print(json.dumps({"engine": engine, "ms": float(np.median(times)), "least": min(times), "loss": loss.item(),
                      "mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6}))


main()
