"""Graph neural networks: plain GCNs, and models made of layers."""
from __future__ import annotations

import ctypes
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple, Type, TypeVar

import numpy as np

from . import _abi
from ._arrays import floats, integers, optional_integers, output
from ._lib import SavedHandle, ask, call, make
from .errors import InvalidArgumentError, ShapeMismatchError, UnsupportedError
from .graph import Graph
from .layers import Layers

M = TypeVar("M", bound="Model")


class Evaluation(NamedTuple):
    """Result of Model.evaluate()."""

    #: Mean cross-entropy, without the penalty of λ.
    loss: float
    #: Fraction of the nodes whose most probable class is their label.
    accuracy: float


class Tensor(NamedTuple):
    """The place of a tensor in Model.parameters."""

    #: The position of its first number.
    offset: int
    #: (fan_in, fan_out); a vector has 1 row.
    shape: Tuple[int, int]

    def of(self, flat: np.ndarray) -> np.ndarray:
        """Returns this tensor's part of an array like Model.parameters or a gradient, as a view of this shape."""
        rows, columns = self.shape
        return flat[self.offset:self.offset + rows * columns].reshape(self.shape)


class Model(SavedHandle):
    """A graph neural network: one made of layers, or the plain GCN of Model.gcn().

        pl.Model(pl.Layers(8).sage(16).relu().dropout(0.5).sage(3), seed=1)

    layers          the operations, which are copied; the last value is the output, before a softmax.
    seed            the same seed draws the same parameters.
    regularization  λ of the penalty λ/2 ‖W‖² over all parameters.
    threads         number of threads; 0 for the number of available cores.

    A model can be copied and pickled. A copy has the same number of threads; an unpickled model has 1.
    """

    __slots__ = ()
    _free = "plim_model_free"

    def __init__(self, layers: Layers, *, seed: int = 0, regularization: float = 0.0, threads: int = 1):
        self._handle = None
        self._handle = make("plim_model_new", layers, seed)
        self.set_regularization(regularization)
        self.set_threads(threads)

    @classmethod
    def gcn(cls: Type[M], widths: Sequence[int], *, seed: int = 0, regularization: float = 0.0, threads: int = 1) -> M:
        """A graph convolutional network: H(l+1) = ReLU(Â H(l) W(l)), with a softmax instead of the ReLU at the end.

        [1433, 16, 7] is the 2-layer network for Cora.

        widths          number of features, hidden widths, number of classes.
        seed            the parameters are drawn uniformly from ±sqrt(6 / (fan_in + fan_out)).
        regularization  λ of the penalty λ/2 ‖W‖².
        threads         number of threads; 0 for the number of available cores.
        """
        array = integers("widths", widths, np.uintp)
        model = cls._own(make("plim_model_gcn", array, len(array), seed))
        model.set_regularization(regularization)
        model.set_threads(threads)
        return model

    @classmethod
    def load(cls: Type[M], path: Any) -> M:
        """Reads a safetensors file of save(), or of a PyTorch Geometric GCN without biases."""
        return cls._own(make("plim_model_load", path))

    @classmethod
    def from_pyg(cls: Type[M], module: Any) -> M:
        """A model with the weights of a module's GCNConv layers, in their order. They must have no biases."""
        from torch_geometric.nn import GCNConv

        layers = [layer for layer in module.modules() if isinstance(layer, GCNConv)]
        if any(layer.bias is not None for layer in layers):
            raise InvalidArgumentError("module has a GCNConv with a bias, which plimsoll does not support")
        weights = [layer.lin.weight.detach().cpu().numpy().T for layer in layers]
        if not weights:
            raise InvalidArgumentError("module has no GCNConv")
        model = cls.gcn([weights[0].shape[0]] + [w.shape[1] for w in weights])
        model.weights = weights
        return model

    def to_pyg(self) -> Any:
        """Returns a PyTorch Geometric module with copies of the weights.

        module(x, edge_index, edge_weight) returns logits; edge_weight is None for an unweighted graph.
        """
        import torch
        from torch_geometric.nn import GCNConv, Sequential

        steps: List[Any] = []
        for layer, weight in enumerate(self.weights):
            conv = GCNConv(*weight.shape, bias=False)
            with torch.no_grad():
                conv.lin.weight.copy_(torch.from_numpy(np.ascontiguousarray(weight.T)))
            steps.append((conv, "x, edge_index, edge_weight -> x"))
            if layer + 1 < self.num_layers:
                steps.append(torch.nn.ReLU())
        return Sequential("x, edge_index, edge_weight", steps)

    def save(self, path: Any) -> None:
        """Writes a safetensors file with PyTorch Geometric's names, and λ and checksums as metadata.

        An existing file is replaced only when the new one is complete.
        """
        call("plim_model_save", self, path)

    def clone(self: M) -> M:
        """Returns an independent copy with the same parameters, λ and number of threads."""
        return type(self)._own(make("plim_model_clone", self))

    def __copy__(self: M) -> M:
        return self.clone()

    def __deepcopy__(self: M, _: Any) -> M:
        return self.clone()

    def set_regularization(self, lambda_: float) -> None:
        """Sets λ of the penalty λ/2 ‖W‖² in gradients and their losses. Default: 0."""
        call("plim_model_set_regularization", self, lambda_)

    def set_threads(self, threads: int) -> None:
        """Sets the number of threads. Default: 1; 0 for the number of available cores. Results do not depend on it."""
        call("plim_model_set_threads", self, threads)

    def set_scratch(self, directory: Any, max_bytes: int = 0) -> None:
        """Lets predictions for a whole graph hold what takes more than max_bytes in files in this directory; None: no files.

        For graphs whose hidden layers do not fit into memory. The files have no name, and are gone when the call returns.
        """
        call("plim_model_set_scratch", self, directory, max_bytes)

    @property
    def num_layers(self) -> int:
        """Number of layers: of hops, for a model made of layers."""
        return ask("plim_model_num_layers", self)

    @property
    def num_parameters(self) -> int:
        """Number of parameters of all layers, which is also the length of a gradient."""
        return ask("plim_model_num_parameters", self)

    @property
    def widths(self) -> List[int]:
        """The widths of a gcn(): input, hidden layers, output."""
        widths = np.empty(self.num_layers + 1, np.uintp)
        call("plim_model_copy_widths", self, widths, len(widths))
        return [int(width) for width in widths]

    @property
    def value_widths(self) -> List[int]:
        """The number of columns of each value: first the input width, last the output width."""
        widths = np.empty(ask("plim_model_num_values", self), np.uintp)
        call("plim_model_copy_value_widths", self, widths, len(widths))
        return [int(width) for width in widths]

    @property
    def tensors(self) -> Dict[str, Tensor]:
        """The places of the tensors in the parameters, by name: {"v1.lin.weight": Tensor(0, (8, 16)), …}."""
        tensors: Dict[str, Tensor] = {}
        for index in range(ask("plim_model_num_tensors", self)):
            name, place = ctypes.c_char_p(), np.empty((3, 1), np.uintp)
            call("plim_model_tensor", self, index, ctypes.byref(name), *place)
            offset, rows, columns = (int(number) for number in place[:, 0])
            tensors[(name.value or b"").decode()] = Tensor(offset, (rows, columns))
        return tensors

    def state_dict(self) -> Dict[str, np.ndarray]:
        """Returns copies of the tensors of the parameters, by name. Running statistics of norms are not among them."""
        flat = self.parameters
        return {name: tensor.of(flat).copy() for name, tensor in self.tensors.items()}

    def load_state_dict(self, arrays: Mapping[str, Any]) -> None:
        """Sets tensors by name; a tensor that is not named keeps its numbers. All shapes are checked first."""
        tensors, flat = self.tensors, self.parameters
        for name, values in arrays.items():
            if name not in tensors:
                raise InvalidArgumentError(f"there is no tensor {name!r}; there are {', '.join(tensors)}")
            array = floats(name, np.atleast_2d(np.asarray(values)), ndim=2)
            if array.shape != tensors[name].shape:
                raise ShapeMismatchError(f"{name} has shape {array.shape}, not {tensors[name].shape}")
            tensors[name].of(flat)[...] = array
        self.parameters = flat

    @property
    def parameters(self) -> np.ndarray:
        """A copy of all parameters as one vector: W(0), W(1), …, each row-major fan_in × fan_out."""
        parameters = np.empty(self.num_parameters, np.float32)
        call("plim_model_get_parameters", self, parameters, len(parameters))
        return parameters

    @parameters.setter
    def parameters(self, parameters: Any) -> None:
        values = floats("parameters", parameters)
        call("plim_model_set_parameters", self, values, len(values))

    @property
    def weights(self) -> List[np.ndarray]:
        """A copy of the parameters as matrices W(0), W(1), …, each fan_in × fan_out."""
        shapes = list(zip(self.widths, self.widths[1:]))
        parts = np.split(self.parameters, np.cumsum([rows * columns for rows, columns in shapes])[:-1])
        return [part.reshape(shape) for part, shape in zip(parts, shapes)]

    @weights.setter
    def weights(self, weights: Sequence[Any]) -> None:
        matrices = [floats(f"weights[{layer}]", w, ndim=2) for layer, w in enumerate(weights)]
        shapes, found = list(zip(self.widths, self.widths[1:])), [w.shape for w in matrices]
        if found != shapes:
            raise ShapeMismatchError(f"weights has shapes {found}, not {shapes}")
        self.parameters = np.concatenate([w.ravel() for w in matrices])

    def predict(self, graph: Graph, nodes: Any = None, *, out: Optional[np.ndarray] = None) -> np.ndarray:
        """Computes class probabilities without sampling, one row per node.

        graph  may differ from the one that the model was trained on; its number of features must fit.
        nodes  node ids; None for all nodes.
        out    a float32 array for the result.
        """
        nodes, count = optional_integers("nodes", nodes)
        rows = output(out, (_length(graph, nodes), self.value_widths[-1]))
        call("plim_model_predict", self, graph, nodes, count, rows, rows.size)
        return rows

    def embed(self, graph: Graph, layer: int, nodes: Any = None, *, out: Optional[np.ndarray] = None) -> np.ndarray:
        """Computes hidden representations H(layer + 1) of a gcn(), one row per node. The last layer returns logits."""
        if not 0 <= layer < self.num_layers:
            raise InvalidArgumentError(f"layer = {layer} is outside [0, {self.num_layers})")
        nodes, count = optional_integers("nodes", nodes)
        rows = output(out, (_length(graph, nodes), self.widths[layer + 1]))
        call("plim_model_embed", self, graph, nodes, count, layer, rows, rows.size)
        return rows

    def embed_value(self, graph: Graph, value: int, nodes: Any = None, *, out: Optional[np.ndarray] = None) -> np.ndarray:
        """Computes a value without sampling, one row per node: 0 is the features, i what operation i returns."""
        widths = self.value_widths
        if not 0 <= value < len(widths):
            raise InvalidArgumentError(f"value = {value} is outside [0, {len(widths)})")
        nodes, count = optional_integers("nodes", nodes)
        rows = output(out, (_length(graph, nodes), widths[value]))
        call("plim_model_embed_value", self, graph, nodes, count, value, rows, rows.size)
        return rows

    def evaluate(self, graph: Graph, split: str) -> Evaluation:
        """Measures loss and accuracy on "train", "val" or "test", without sampling."""
        loss, accuracy = np.empty(1), np.empty(1)
        call("plim_model_evaluate", self, graph, _abi.number("split", split, _abi.SPLITS), loss, accuracy)
        return Evaluation(float(loss[0]), float(accuracy[0]))

    def confusion(self, graph: Graph, split: str) -> np.ndarray:
        """Computes the confusion matrix on a split, without sampling: one row per label, one column per prediction.

        Its size is the model's output width, which may exceed the number of classes. macro_f1() reduces it to
        one number.
        """
        matrix = np.empty((self.value_widths[-1],) * 2, np.uintp)
        call("plim_model_confusion", self, graph, _abi.number("split", split, _abi.SPLITS), matrix, matrix.size)
        return matrix.astype(np.int64)

    def __repr__(self) -> str:
        if self.closed:
            return "<plimsoll.Model, closed>"
        try:
            return f"<plimsoll.Model of widths {self.widths}>"
        except UnsupportedError:
            values = self.value_widths
            return f"<plimsoll.Model of {len(values) - 1} operations, {values[0]} features to {values[-1]} outputs>"


def macro_f1(confusion: Any) -> float:
    """Computes the mean F1 of the classes from a square confusion matrix: one row per label, one column per prediction.

    Classes that are neither labelled nor predicted are left out. The result is that of
    sklearn.metrics.f1_score(labels, predictions, average="macro", zero_division=0).
    """
    matrix = np.asarray(confusion)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise ShapeMismatchError(f"confusion has shape {matrix.shape} and is not square")
    out = np.empty(1)
    call("plim_confusion_macro_f1", integers("confusion", matrix.ravel(), np.uintp), len(matrix), out)
    return float(out[0])


def _length(graph: Graph, nodes: Optional[np.ndarray]) -> int:
    return ask("plim_graph_num_nodes", graph) if nodes is None else len(nodes)
