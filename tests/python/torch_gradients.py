"""The same models in PyTorch and PyTorch Geometric: gradients by automatic differentiation, and files in both directions.

Requires torch, and for the files safetensors and torch_geometric. Tests of missing packages are skipped and reported.
"""
import importlib
import sys

import numpy as np
import scipy.sparse as sp

from support import check, oracle, pl
from support.cases import Case, all_cases


def need(*names):
    """Imports packages, or skips."""
    try:
        return [importlib.import_module(name) for name in names]
    except ImportError as error:
        raise check.Skip(f"{error.name} is not installed") from None


def dense(torch, matrix):
    """A tensor of float64."""
    return torch.tensor(np.asarray(matrix.toarray() if sp.issparse(matrix) else matrix), dtype=torch.float64)


def loss_and_gradient(torch, case, batch, draws, distribution):
    """The objective; PyTorch differentiates it."""
    blocks, nodes = oracle.operators(case.a_hat, batch, draws, distribution)
    weights = [torch.tensor(w, dtype=torch.float64, requires_grad=True) for w in case.weights]
    h = dense(torch, case.x)[nodes]
    for l, w in enumerate(weights):
        h = dense(torch, blocks[l]) @ h @ w
        h = torch.relu(h) if l + 1 < len(weights) else h
    loss = torch.nn.functional.cross_entropy(h, torch.tensor(case.labels[batch]))
    loss = loss + 0.5 * case.lam * sum((w ** 2).sum() for w in weights)
    loss.backward()
    return loss.item(), oracle.flat([w.grad.numpy() for w in weights])


def gradients_are_those_of_autograd(case):
    torch, = need("torch")
    exact = [None] * len(case.weights)

    def compare(what, found, batch, draws, distribution):
        expected = loss_and_gradient(torch, case, batch, draws, distribution)
        check.close(found.loss, expected[0], f"{what}, loss")
        check.close(found.values, expected[1], f"{what}, gradient")

    with case.graph() as graph, case.model() as model:
        compare("full", pl.Estimator.full().gradient(model, graph), case.splits[0], exact, oracle.UNIFORM)
        unbiased = pl.Estimator.unbiased().gradient(model, graph, case.batch)
        compare("unbiased", unbiased, case.batch, exact, oracle.UNIFORM)
        for name, distribution, draws in case.plans:
            found = case.estimator(distribution, draws).gradient(model, graph, case.batch)
            compare(f"consistent, {name}", found, case.batch, draws, distribution)


def geometric_cases():
    """Graphs that PyG's GCN accepts: undirected edges, weighted or not, and symmetric normalisation. There are no self-loops:
    PyG does not add I to a node that has one."""
    for seed, (weighted, hidden) in enumerate([(False, [16]), (True, [16]), (False, [8, 12]), (True, [5, 5, 5])]):
        case = Case(f"{len(hidden) + 1} layers{', weighted' if weighted else ''}", [21, seed], n=120, weighted=weighted,
                    width=30, hidden=hidden, classes=6, degree=5.0)
        # Unique pairs u < v.
        pairs, first = np.unique(np.sort(case.edges, axis=1), axis=0, return_index=True)
        keep = pairs[:, 0] < pairs[:, 1]
        case.edges = np.ascontiguousarray(pairs[keep])
        case.edge_weights = case.edge_weights[first][keep] if weighted else None
        yield case


def geometric_input(torch, case):
    """x, edge_index with both directions, edge_weight."""
    edges = np.concatenate([case.edges, case.edges[:, ::-1]]).T
    weights = None if case.edge_weights is None else torch.tensor(np.tile(case.edge_weights, 2))
    return torch.tensor(case.raw_x), torch.tensor(edges.astype(np.int64)), weights


def geometric_model(geometric, widths):
    """PyG's GCN without biases. Its hidden layers have one width; for others, a list of layers under the same names."""
    torch = sys.modules["torch"]
    if len(set(widths[1:-1])) == 1:
        return geometric.nn.models.GCN(widths[0], widths[1], len(widths) - 1, widths[-1], bias=False)

    class Layers(torch.nn.Module):
        def __init__(self):
            super().__init__()
            pairs = zip(widths, widths[1:])
            self.convs = torch.nn.ModuleList([geometric.nn.GCNConv(i, o, bias=False) for i, o in pairs])

        def forward(self, x, edge_index, edge_weight=None):
            for l, conv in enumerate(self.convs):
                x = conv(x, edge_index, edge_weight)
                x = torch.relu(x) if l + 1 < len(self.convs) else x
            return x

    return Layers()


def a_saved_model_gives_the_logits_of_pyg(case):
    torch, geometric, files = need("torch", "torch_geometric", "safetensors.torch")
    with check.folder() as folder, case.graph() as graph, pl.Model.gcn(case.widths, seed=5) as model:
        model.save(f"{folder}/model.safetensors")
        theirs = geometric_model(geometric, case.widths)
        theirs.load_state_dict(files.load_file(f"{folder}/model.safetensors"), strict=True)
        with torch.no_grad():
            logits = theirs.eval()(*geometric_input(torch, case)).numpy()
        check.close(model.embed(graph, len(case.weights) - 1), logits, "PyG, a model saved here")


def a_model_of_pyg_gives_the_same_logits_here(case):
    torch, geometric, files = need("torch", "torch_geometric", "safetensors.torch")
    torch.manual_seed(3)
    theirs = geometric_model(geometric, case.widths)
    with torch.no_grad():
        logits = theirs.eval()(*geometric_input(torch, case)).numpy()
    with check.folder() as folder, case.graph() as graph:
        files.save_file(theirs.state_dict(), f"{folder}/model.safetensors")
        with pl.Model.load(f"{folder}/model.safetensors") as model:
            check.same(model.widths, case.widths, "widths of a model from PyG")
            check.close(model.embed(graph, len(case.weights) - 1), logits, "PyG, a model loaded here")
            check.close(model.predict(graph), torch.softmax(torch.tensor(logits), 1).numpy(), "PyG, probabilities")


def the_gradient_is_that_of_pyg(case):
    torch, geometric, files = need("torch", "torch_geometric", "safetensors.torch")
    with check.folder() as folder, case.graph() as graph, pl.Model.gcn(case.widths, seed=6) as model:
        model.save(f"{folder}/model.safetensors")
        theirs = geometric_model(geometric, case.widths)
        theirs.load_state_dict(files.load_file(f"{folder}/model.safetensors"))
        theirs = theirs.double()
        x, edges, weights = geometric_input(torch, case)
        logits = theirs(x.double(), edges, None if weights is None else weights.double())
        train = torch.tensor(case.splits[0])
        loss = torch.nn.functional.cross_entropy(logits[train], torch.tensor(case.labels)[train])
        loss.backward()
        found = pl.Estimator.full().gradient(model, graph)
        check.close(found.loss, loss.item(), "PyG, loss")
        gradients = dict(theirs.named_parameters())
        expected = [gradients[f"convs.{l}.lin.weight"].grad.numpy().T for l in range(len(case.weights))]
        check.close(found.values, oracle.flat(expected), "PyG, gradient")


def files_that_are_not_a_gcn_are_refused():
    torch, files = need("torch", "safetensors.torch")
    weight = torch.zeros(4, 3)
    refused = {
        "a bias": {"convs.0.lin.weight": weight, "convs.0.bias": torch.zeros(4)},
        "another name": {"weight": weight},
        "a gap": {"convs.0.lin.weight": weight, "convs.2.lin.weight": weight.clone()},
        "float64": {"convs.0.lin.weight": weight.double()},
        "half": {"convs.0.lin.weight": weight.half()},
        "three dimensions": {"convs.0.lin.weight": torch.zeros(4, 3, 1)},
        "widths that do not fit": {"convs.0.lin.weight": weight, "convs.1.lin.weight": torch.zeros(2, 3)},
        "no rows": {"convs.0.lin.weight": torch.zeros(0, 3)},
        "NaN": {"convs.0.lin.weight": weight * float("nan")},
        "nothing": {},
    }
    with check.folder() as folder:
        for what, tensors in refused.items():
            files.save_file(tensors, f"{folder}/model.safetensors")
            try:
                pl.Model.load(f"{folder}/model.safetensors")
                raise AssertionError(f"a file with {what} was loaded")
            except pl.BadFormatError:
                pass


def tests():
    for case in all_cases():
        yield check.about(gradients_are_those_of_autograd, case.name, case)
    for case in geometric_cases():
        for what in (a_saved_model_gives_the_logits_of_pyg, a_model_of_pyg_gives_the_same_logits_here,
                     the_gradient_is_that_of_pyg):
            yield check.about(what, case.name, case)
    yield "files that are not a GCN are refused", files_that_are_not_a_gcn_are_refused


if __name__ == "__main__":
    sys.exit(check.run(tests()))
