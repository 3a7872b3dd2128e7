"""PyTorch Geometric: graphs and weights both ways, and the same logits. Cora is looked for in PLIMSOLL_DATA."""
import sys

import numpy as np

import plimsoll as pl
from support import check, need, raises, small


def cora():
    graph = pl.Graph.load(check.data("cora"))
    graph.normalize_features()
    return graph


def logits(module, data):
    import torch
    with torch.no_grad():
        return module(data.x, data.edge_index, getattr(data, "edge_weight", None)).numpy()


def largest(found, expected, what):
    """Also in the worst entry, relative to the largest logit."""
    error = np.abs(found - expected).max() / np.abs(expected).max()
    print(f"{what}: largest difference {error:.1e} of the largest logit")
    assert error < 1e-5
    check.close(found, expected, what)


def test_weights_go_to_pyg_with_the_same_logits():
    need("torch", "torch_geometric")
    graph = cora()
    model = pl.Model.gcn([1433, 16, 7], seed=1)
    pl.train(model, graph, pl.Estimator.unbiased(), pl.Optimizer.adam(0.01), epochs=20)
    largest(logits(model.to_pyg(), graph.to_pyg()), model.embed(graph, 1), "Cora, logits of weights to PyG")


def test_weights_come_from_pyg_with_the_same_logits():
    torch, geometric = need("torch", "torch_geometric")
    from torch_geometric.nn import GCNConv
    torch.manual_seed(1)

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.first = GCNConv(1433, 16, bias=False, add_self_loops=True, normalize=True)
            self.second = GCNConv(16, 7, bias=False, add_self_loops=True, normalize=True)

        def forward(self, x, edge_index, edge_weight=None):
            return self.second(self.first(x, edge_index, edge_weight).relu(), edge_index, edge_weight)

    data = cora().to_pyg()
    net = Net()
    optimizer = torch.optim.Adam(net.parameters(), 0.01)
    for _ in range(20):
        optimizer.zero_grad()
        z = net(data.x, data.edge_index)
        torch.nn.functional.cross_entropy(z[data.train_mask], data.y[data.train_mask]).backward()
        optimizer.step()
    graph = pl.Graph.from_pyg(data)
    model = pl.Model.from_pyg(net)
    largest(model.embed(graph, 1), logits(net, data), "Cora, logits of weights from PyG")
    raises(ValueError, pl.Model.from_pyg, GCNConv(2, 2), text="bias")
    raises(ValueError, pl.Model.from_pyg, torch.nn.Linear(2, 2), text="no GCNConv")


def test_graphs_go_to_pyg_and_come_back():
    need("torch", "torch_geometric")
    for graph in (cora(), small(), pl.Graph.from_edges(3, [0, 1], [1, 2], [0.5, 2.0], features=np.eye(3))):
        back = pl.Graph.from_pyg(graph.to_pyg())
        assert (back.to_scipy() != graph.to_scipy()).nnz == 0
        for name in ("train", "val", "test"):
            check.same(getattr(back, name), np.sort(getattr(graph, name)), name)
        if graph.num_classes:
            check.same(back.labels, graph.labels, "labels")
        features = graph.features
        check.same(back.features, features.toarray() if hasattr(features, "toarray") else features, "features")


def test_directed_weighted_repeated_and_looped_edges_give_the_same_logits():
    torch, _ = need("torch", "torch_geometric")
    from torch_geometric.data import Data
    rng = np.random.default_rng(2)
    model = pl.Model.gcn([5, 8, 3], seed=3)
    edges = rng.integers(0, 20, (2, 90))
    edges[1, :5] = edges[0, :5]
    edges[:, 80:] = edges[:, 70:80]
    edges = edges[:, np.r_[0:5, 5 + np.flatnonzero(edges[0, 5:] != edges[1, 5:])]]
    _, first = np.unique(np.where(edges[0] == edges[1], edges[0], -1 - np.arange(edges.shape[1])), return_index=True)
    edges = edges[:, first]
    weights = np.where(edges[0] == edges[1], 1.0, rng.random(edges.shape[1]) + 0.1)
    for weight in (None, torch.tensor(weights, dtype=torch.float32)):
        data = Data(x=torch.tensor(rng.normal(size=(20, 5)), dtype=torch.float32), edge_index=torch.tensor(edges))
        if weight is not None:
            data.edge_weight = weight
        largest(model.embed(pl.Graph.from_pyg(data), 1), logits(model.to_pyg(), data), "a directed graph with loops")


if __name__ == "__main__":
    sys.exit(check.run(check.named(globals())))
