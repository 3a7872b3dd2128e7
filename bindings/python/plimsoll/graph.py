"""Graphs."""
from __future__ import annotations

import ctypes
from typing import Any, Dict, Optional, Tuple, Type, TypeVar, Union, cast

import numpy as np

from . import _abi
from ._arrays import Loan, csr, floats, has_length, integers, is_sparse, release, scipy_csr
from ._callbacks import LogLike, Run, logged
from ._lib import Handle, SavedHandle, ask, call, error, make
from .errors import InvalidArgumentError, MissingDataError, ShapeMismatchError
from .ids import Ids

G = TypeVar("G", bound="Graph")
Column = Union[int, str, None]


class Graph(SavedHandle):
    """A graph: edges, features, labels and splits.

    Every constructor accepts as keywords what you can also set later: `features`, `labels`, `num_classes`,
    `train`, `val`, `test` and `normalization`. Arrays are copied, except by view_scipy() and view_features(). A graph can be
    copied and pickled; both go through a temporary file.
    """

    __slots__ = ()
    _free = "plim_graph_free"
    # The C functions that take a graph; RankData names others.
    _gradient, _train, _tail, _plan = "plim_estimator_gradient", "plim_train", "plim_tail_new", "plim_plan_new"

    # Sources ----------------------------------------------------------------------------------------------

    @classmethod
    def from_edges(cls: Type[G], num_nodes: int, sources: Any, targets: Any, weights: Any = None, **settings: Any) -> G:
        """A graph from undirected edges; edge i links sources[i] and targets[i].

        Repeated edges merge: their weights are added, and without weights the merged edge has weight 1.
        """
        sources, targets = integers("sources", sources), integers("targets", targets)
        has_length("targets", targets, len(sources))
        if weights is not None:
            weights = has_length("weights", floats("weights", weights), len(sources))
        graph = cls._own(make("plim_graph_from_edges", num_nodes, len(sources), sources, targets, weights))
        return graph._set(settings)

    @classmethod
    def from_csr(cls: Type[G], num_nodes: int, indptr: Any, indices: Any, values: Any = None, **settings: Any) -> G:
        """A graph from a matrix in compressed sparse rows, directed or not.

        Row v, from indptr[v] to indptr[v + 1] - 1, lists the nodes that v aggregates from.
        """
        rows = _abi.size.convert("num_nodes", num_nodes)
        return cls._own(make("plim_graph_from_csr", rows, *csr("adjacency", indptr, indices, values, rows)))._set(settings)

    @classmethod
    def from_scipy(cls: Type[G], adjacency: Any, **settings: Any) -> G:
        """A graph from a SciPy sparse matrix, directed or not. A matrix of bool has no weights."""
        if adjacency.shape[0] != adjacency.shape[1]:
            raise ShapeMismatchError(f"adjacency has shape {adjacency.shape} and is not square")
        return cls._own(make("plim_graph_from_csr", adjacency.shape[0], *scipy_csr("adjacency", adjacency)))._set(settings)

    @classmethod
    def from_networkx(cls: Type[G], graph: Any, weight: Optional[str] = None, **settings: Any) -> G:
        """A graph from a NetworkX graph. Node i is the i-th of `graph.nodes`.

        weight            name of the edge attribute that holds the weight, 1 where it is missing; None for no weights.
        features, labels  arrays, or names of node attributes. A node without the label attribute gets -1.

        In a directed graph a node aggregates from its predecessors.
        """
        if isinstance(settings.get("features"), str):
            settings["features"] = _attribute(graph, settings["features"])
        if isinstance(settings.get("labels"), str):
            settings["labels"] = _attribute(graph, settings["labels"], -1)
        place = {node: i for i, node in enumerate(graph.nodes)}
        edges = list(graph.edges(data=weight, default=1.0) if weight is not None else graph.edges())
        sources = np.array([place[edge[0]] for edge in edges], np.int32)
        targets = np.array([place[edge[1]] for edge in edges], np.int32)
        weights = None if weight is None else np.array([edge[2] for edge in edges], np.float32)
        if not graph.is_directed():
            return cls.from_edges(len(place), sources, targets, weights, **settings)
        return cls.from_csr(len(place), *_rows(len(place), targets, sources, weights), **settings)

    @classmethod
    def from_pyg(cls: Type[G], data: Any, **settings: Any) -> G:
        """A graph from a PyTorch Geometric `Data` on the CPU.

        It uses edge_index, and edge_weight, x, y and the three masks if they are present.

        Â is the one of GCNConv: the weights of repeated edges are added, and self-loops of weight 1 are
        removed, because the normalisation adds one self-loop per node and GCNConv does not add a second one.
        """
        sources, targets = (integers("edge_index", row) for row in np.asarray(data.edge_index))
        weights = getattr(data, "edge_weight", None)
        weights = np.ones(len(sources), np.float32) if weights is None else floats("edge_weight", weights)
        loops = sources == targets
        if np.any(weights[loops] != 1):
            raise InvalidArgumentError("edge_weight: a self-loop must have weight 1")
        sources, targets, weights = sources[~loops], targets[~loops], weights[~loops]
        repeated = len(np.unique(targets * np.int64(data.num_nodes) + sources)) < len(sources)
        if np.all(weights == 1) and not repeated:
            weights = None
        found = {"features": getattr(data, "x", None), "labels": getattr(data, "y", None)}
        if found["labels"] is not None:
            found["labels"] = np.asarray(found["labels"]).reshape(-1)
        for split in _abi.SPLITS:
            mask = getattr(data, f"{split}_mask", None)
            found[split] = None if mask is None else np.flatnonzero(_vector(f"{split}_mask", mask))
        return cls.from_csr(data.num_nodes, *_rows(data.num_nodes, targets, sources, weights), **{**found, **settings})

    @classmethod
    def view_scipy(cls: Type[G], operator: Any, **settings: Any) -> G:
        """A graph that borrows a SciPy CSR matrix, without a copy if its arrays are int64, int32 and float32.

        Its rows must be sorted (`operator.sort_indices()`). Do not change its arrays while the graph exists.
        The normalisation is "none": Â is the matrix itself. Selecting another one makes a copy.
        """
        if operator.shape[0] != operator.shape[1]:
            raise ShapeMismatchError(f"operator has shape {operator.shape} and is not square")
        indptr, indices, values = scipy_csr("operator", operator)
        with Loan(indptr, indices, values) as loan:
            graph = cls._own(make("plim_graph_view_csr", operator.shape[0], indptr, indices, values, release, loan))
        return graph._set(settings)

    def view_features(self, features: Any) -> None:
        """Sets dense features by borrowing them, without a copy if they are a contiguous array of float32.

        Do not change the array while the graph uses it.
        """
        matrix = floats("features", features, ndim=2)
        if len(matrix) != self.num_nodes:
            raise ShapeMismatchError(f"features has {len(matrix)} rows, not {self.num_nodes}")
        with Loan(matrix) as loan:
            call("plim_graph_view_features", self, matrix.shape[1], matrix, release, loan)

    @classmethod
    def from_edge_list(cls: Type[G], path: Any, num_nodes: int = 0, *, separator: Optional[str] = None,
                       header: Optional[bool] = None, source: Column = None, target: Column = None,
                       weight: Column = None, directed: bool = False, repeated: str = "sum",
                       comment: Optional[str] = None, log: LogLike = None, log_level: Optional[str] = None,
                       **settings: Any) -> G:
        """A graph from a text file, such as CSV, with an edge per line. Ids are the numbers of the nodes, from 0.

        num_nodes       number of nodes; 0 for one more than the largest id.
        separator       one character between fields. Default: comma, semicolon or blanks, as the first line has them.
        header          whether the first line is a header. Default: it is if none of its fields is a number.
        source, target  the columns of an edge's ends: numbers from 0, or names in the header. Default: 0 and 1.
        weight          the column of weights, likewise; None for none. If all three are missing, a third of three
                        columns is the weight.
        directed        whether edges have a direction. A node then aggregates from the sources of the edges to it.
        repeated        what becomes of an edge that several lines have: the "sum" of its weights (1 if there are
                        none), the "count" of its lines, the "first" weight or the "max".
        comment         how lines begin that are skipped; "" for none. Default: "#" and "%", and none with names.
        log, log_level  as in train(). The log says which line is skipped as a header.
        """
        with _edge_list_options(num_nodes, separator, header, source, target, weight, directed, repeated,
                                comment) as options:
            with logged("plim_edge_list_options", options, log, log_level) as run:
                out = ctypes.c_void_p()
                status = ask("plim_graph_from_edge_list_with", path, options, None, ctypes.byref(out))
                graph = _owned(cls, status, out, run)
        return graph._set(settings)

    @classmethod
    def from_named_edge_list(cls: Type[G], path: Any, num_nodes: int = 0, *, separator: Optional[str] = None,
                             header: Optional[bool] = None, source: Column = None, target: Column = None,
                             weight: Column = None, directed: bool = False, repeated: str = "sum",
                             comment: Optional[str] = None, log: LogLike = None, log_level: Optional[str] = None,
                             **settings: Any) -> Tuple[G, Ids]:
        """As from_edge_list(), with any text for ids. Returns the graph and the table of names.

        Nodes are numbered in the order in which the file first names them. Nothing tells a header from an edge
        here, so say whether there is one, or name the columns.
        """
        with _edge_list_options(num_nodes, separator, header, source, target, weight, directed, repeated,
                                comment) as options:
            with logged("plim_edge_list_options", options, log, log_level) as run:
                names, out = ctypes.c_void_p(), ctypes.c_void_p()
                status = ask("plim_graph_from_edge_list_with", path, options, ctypes.byref(names), ctypes.byref(out))
                ids = Ids._own(names) if status == 0 else None
                graph = _owned(cls, status, out, run)
        return graph._set(settings), cast(Ids, ids)

    @classmethod
    def from_mixture(cls: Type[G], nodes_per_class: int, seed: int = 0) -> G:
        """The Mixture graph of the paper: three classes in the plane. The paper uses 2000 nodes per class."""
        return cls._own(make("plim_graph_from_mixture", nodes_per_class, seed))

    @classmethod
    def load(cls: Type[G], path: Any) -> G:
        """Reads an .npz file of save() or numpy.savez, or a Matrix Market file, or maps a store."""
        return cls._own(make("plim_graph_load", path))

    def save(self, path: Any) -> None:
        """Writes an .npz file. An existing file is replaced only when the new one is complete."""
        call("plim_graph_save", self, path)

    def save_store(self, directory: Any) -> None:
        """Writes a store: a directory of .npy files that load() maps into memory."""
        call("plim_graph_save_store", self, directory)

    def verify(self) -> None:
        """Reads the arrays that are mapped from a store, and compares them with its checksums.

        Raises BadFormatError if one was changed, and MissingDataError if the store has no checksums. A graph that is
        not from a store has nothing to check.
        """
        call("plim_graph_verify", self)

    # Content ------------------------------------------------------------------------------------------------------

    @property
    def num_nodes(self) -> int:
        return ask("plim_graph_num_nodes", self)

    @property
    def num_edges(self) -> int:
        """Number of different undirected edges, or of entries of A if the graph was created from CSR."""
        return ask("plim_graph_num_edges", self)

    @property
    def num_features(self) -> int:
        """Number of features per node; 0 without features."""
        return ask("plim_graph_num_features", self)

    @property
    def num_classes(self) -> int:
        """One more than the largest label, 0 without labels; or the number that was assigned.

        Assign a number if a class may have no node. Assigning 0 counts the classes from the labels again.
        """
        return ask("plim_graph_num_classes", self)

    @num_classes.setter
    def num_classes(self, num_classes: int) -> None:
        call("plim_graph_set_num_classes", self, num_classes)

    @property
    def features(self) -> Any:
        """One row per node: an array, or a SciPy CSR matrix if the features are sparse; None if there are none.

        Reading goes through a temporary file.
        """
        return self._through_file(_read_features)

    @features.setter
    def features(self, features: Any) -> None:
        rows = self.num_nodes
        if is_sparse(features):
            if features.shape[0] != rows:
                raise ShapeMismatchError(f"features has {features.shape[0]} rows, not {rows}")
            indptr, indices, values = scipy_csr("features", features)
            if values is None:
                values = np.ones(len(indices), np.float32)
            call("plim_graph_set_sparse_features", self, features.shape[1], indptr, indices, values)
        else:
            matrix = floats("features", features, ndim=2)
            if len(matrix) != rows:
                raise ShapeMismatchError(f"features has {len(matrix)} rows, not {rows}")
            call("plim_graph_set_features", self, matrix.shape[1], matrix)

    @property
    def labels(self) -> np.ndarray:
        """The class of each node: 0, 1, …; -1 for none."""
        labels = np.empty(self.num_nodes, np.int32)
        call("plim_graph_copy_labels", self, labels, len(labels))
        return labels

    @labels.setter
    def labels(self, labels: Any) -> None:
        call("plim_graph_set_labels", self, has_length("labels", integers("labels", labels), self.num_nodes))

    @property
    def train(self) -> np.ndarray:
        """The nodes to train on."""
        return self._split(0)

    @train.setter
    def train(self, nodes: Any) -> None:
        self._set_split(0, nodes)

    @property
    def val(self) -> np.ndarray:
        """The nodes that decide which epoch is best."""
        return self._split(1)

    @val.setter
    def val(self, nodes: Any) -> None:
        self._set_split(1, nodes)

    @property
    def test(self) -> np.ndarray:
        """The nodes to report results on."""
        return self._split(2)

    @test.setter
    def test(self, nodes: Any) -> None:
        self._set_split(2, nodes)

    def normalize_features(self) -> None:
        """Divides each row of the features by its sum. A row that sums to 0 does not change."""
        call("plim_graph_normalize_features", self)

    def set_normalization(self, normalization: str) -> None:
        """Selects how Â is computed from A.

        "symmetric"  D^-½ (A + I) D^-½ (default).
        "row"        D^-1 (A + I).
        "none"       A.
        """
        number = _abi.number("normalization", normalization, _abi.NORMALIZATIONS)
        call("plim_graph_set_normalization", self, number)

    def set_cache(self, max_bytes: int) -> None:
        """Limits the memory for ÂX, in bytes; 0 keeps nothing. Default: 2^30, and 0 for a store."""
        call("plim_graph_set_cache", self, max_bytes)

    # Conversions ----------------------------------------------------------------------------------------------------

    def to_scipy(self) -> Any:
        """Returns A, before normalisation, as a SciPy CSR matrix."""
        import scipy.sparse

        rows, columns, weights = self._through_file(_read_adjacency)
        values = np.ones(len(rows), np.float32) if weights is None else weights
        return scipy.sparse.csr_matrix((values, (rows, columns)), shape=(self.num_nodes, self.num_nodes))

    def to_pyg(self) -> Any:
        """Returns a PyTorch Geometric `Data`, with undirected edges in both directions and masks for the splits."""
        import torch
        from torch_geometric.data import Data

        targets, sources, weights = self._through_file(_read_adjacency)
        data = Data(edge_index=torch.from_numpy(np.stack([sources, targets]).astype(np.int64)), num_nodes=self.num_nodes)
        if weights is not None:
            data.edge_weight = torch.from_numpy(weights)
        features = self.features
        if features is not None:
            data.x = torch.from_numpy(features.toarray() if is_sparse(features) else features)
        try:
            labels = self.labels
        except MissingDataError:
            labels = None
        if labels is not None and labels.max() >= 0:
            data.y = torch.from_numpy(labels.astype(np.int64))
        for split in _abi.SPLITS:
            mask = torch.zeros(self.num_nodes, dtype=torch.bool)
            mask[torch.from_numpy(getattr(self, split).astype(np.int64))] = True
            data[f"{split}_mask"] = mask
        return data

    def __repr__(self) -> str:
        if self.closed:
            return "<plimsoll.Graph, closed>"
        return (f"<plimsoll.Graph of {self.num_nodes} nodes, {self.num_edges} edges, {self.num_features} features, "
                f"{self.num_classes} classes>")

    def __sklearn_clone__(self) -> Graph:
        # Copies of a scikit-learn estimator share the graph, which is data.
        return self

    def _set(self: G, settings: Dict[str, Any]) -> G:
        # Labels are checked against the number of classes, so that comes first.
        for name, value in sorted(settings.items(), key=lambda item: item[0] != "num_classes"):
            if name not in ("num_classes", "features", "labels", "train", "val", "test", "normalization"):
                raise TypeError(f"a Graph has no setting {name!r}")
            if value is None:
                continue
            if name == "normalization":
                self.set_normalization(value)
            else:
                setattr(self, name, value)
        return self

    def _split(self, split: int) -> np.ndarray:
        nodes = np.empty(ask("plim_graph_split_size", self, split), np.int32)
        call("plim_graph_copy_split", self, split, nodes, len(nodes))
        return nodes

    def _set_split(self, split: int, nodes: Any) -> None:
        nodes = integers(_abi.SPLITS[split], nodes)
        call("plim_graph_set_split", self, split, nodes, len(nodes))


class _Options(Handle):
    _free = "plim_edge_list_options_free"


def _owned(cls: Type[G], status: int, out: ctypes.c_void_p, run: Run) -> G:
    """The graph that a call has made. What the log raised takes precedence over an error of the call."""
    if status and run.raised is None:
        raise error(status)
    return cls._own(out)


def _edge_list_options(num_nodes: int, separator: Optional[str], header: Optional[bool], source: Column, target: Column,
                       weight: Column, directed: bool, repeated: str, comment: Optional[str]) -> _Options:
    options = _Options._own(make("plim_edge_list_options_new"))
    noun = "plim_edge_list_options_set"
    call(f"{noun}_num_nodes", options, num_nodes)
    if separator is not None:
        if not isinstance(separator, str) or len(separator) != 1:
            raise ValueError(f"separator = {separator!r} is not one character")
        call(f"{noun}_separator", options, ord(separator))
    if header is not None:
        call(f"{noun}_header", options, _abi.HEADERS.index("yes" if header else "no"))
    columns = [source, target] if weight is None else [source, target, weight]
    if all(isinstance(column, str) for column in columns):
        call(f"{noun}_column_names", options, *(_column_name(column) for column in (source, target, weight)))
    elif any(column is not None for column in columns):
        if any(column is None or isinstance(column, str) for column in columns):
            raise TypeError("source, target and weight must all be numbers of columns, or all be names")
        call(f"{noun}_columns", options, source, target, -1 if weight is None else weight)
    call(f"{noun}_directed", options, bool(directed))
    call(f"{noun}_repeated", options, _abi.number("repeated", repeated, _abi.REPEATED))
    if comment is not None:
        call(f"{noun}_comment", options, comment.encode())
    return options


def _column_name(name: Any) -> Any:
    return None if name is None else name.encode("utf-8", "surrogateescape")


def _vector(name: str, mask: Any) -> np.ndarray:
    mask = np.asarray(mask)
    if mask.ndim != 1:
        raise ShapeMismatchError(f"{name} has {mask.ndim} dimensions, not 1")
    return mask


def _attribute(graph: Any, name: str, missing: Any = None) -> list:
    """Returns an attribute of each NetworkX node. Without a value for missing ones, every node must have it."""
    lacking = [node for node, data in graph.nodes(data=True) if name not in data]
    if lacking and (missing is None or len(lacking) == len(graph)):
        raise InvalidArgumentError(f"node {lacking[0]!r} has no attribute {name!r}")
    return [data.get(name, missing) for _, data in graph.nodes(data=True)]


def _rows(num_nodes: int, rows: np.ndarray, columns: np.ndarray, values: Optional[np.ndarray]) -> tuple:
    """Converts coordinates to compressed sparse rows."""
    order = np.argsort(rows, kind="stable")
    indptr = np.zeros(num_nodes + 1, np.int64)
    np.cumsum(np.bincount(rows, minlength=num_nodes), out=indptr[1:])
    return indptr, columns[order], None if values is None else values[order]


def _read_adjacency(path: str) -> tuple:
    """Reads rows, columns and weights of A from a graph's file; the weights are None if there are none."""
    with np.load(path, allow_pickle=False) as file:
        if "adj_indptr" in file:
            indptr = file["adj_indptr"]
            rows = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
            return rows, file["adj_indices"], file["adj_values"] if "adj_values" in file else None
        u, v = file["edges"].T
        loops = file["self_loops"]
        rows, columns = np.concatenate([u, v, loops]), np.concatenate([v, u, loops])
        if "edge_weights" not in file:
            return rows, columns, None
        weights = file["edge_weights"]
        return rows, columns, np.concatenate([weights, weights, file["self_loop_weights"]])


def _read_features(path: str) -> Any:
    with np.load(path, allow_pickle=False) as file:
        if "features" in file:
            return file["features"]
        if "features_indptr" not in file:
            return None
        import scipy.sparse

        parts = file["features_data"], file["features_indices"], file["features_indptr"]
        shape = len(parts[2]) - 1, int(file["num_features"])
        return scipy.sparse.csr_matrix(parts, shape=shape)
