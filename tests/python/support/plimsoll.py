"""The C interface as ctypes sees it, declared from include/plimsoll.h.

Every prototype of the header becomes an attribute of `lib`, with the types that the header gives it; every constant and
every type of callback becomes an attribute of this module. A pointer to numbers takes a C-contiguous NumPy array of
that very type, or None.
`Graph`, `Model` and `Estimator` own a handle and raise `Failure` when a call does not answer PLIM_OK.
"""
import ctypes
import os
import re
from pathlib import Path

import numpy as np

HEADER = Path(__file__).resolve().parents[3] / "include" / "plimsoll.h"

SCALARS = {
    "void": None, "char": ctypes.c_char, "float": ctypes.c_float, "double": ctypes.c_double,
    "size_t": ctypes.c_size_t, "int32_t": ctypes.c_int32, "int64_t": ctypes.c_int64, "uint32_t": ctypes.c_uint32,
    "uint64_t": ctypes.c_uint64, "plim_status": ctypes.c_int32,
}
ARRAYS = {"float": np.float32, "double": np.float64, "size_t": np.uintp, "int32_t": np.int32, "int64_t": np.int64}


def pointer_to(dtype):
    """The type of a parameter that takes an array of `dtype`, None, or a ctypes pointer made by byref()."""
    dtype = np.dtype(dtype)

    class Pointer:
        @classmethod
        def from_param(cls, value):
            if not isinstance(value, np.ndarray):
                return value
            if value.dtype != dtype or not value.flags.c_contiguous:
                raise TypeError(f"an array of {value.dtype} (contiguous: {value.flags.c_contiguous}), not of {dtype}")
            return ctypes.c_void_p(value.ctypes.data)

    return Pointer


def type_of(declaration, has_name, types):
    """The ctypes type of a C declaration such as `const int32_t *nodes`."""
    stars = declaration.count("*")
    words = [w for w in declaration.replace("*", " ").split() if w not in ("const", "struct")]
    base = words[0]
    if len(words) != 1 + has_name or stars > 2:
        raise ValueError(f"{HEADER.name} declares {declaration!r}, which this reader does not know")
    if stars == 0:
        return types[base]
    if stars == 2:
        return ctypes.POINTER(ctypes.c_void_p)
    if base == "char":
        return ctypes.c_char_p
    return pointer_to(ARRAYS[base]) if base in ARRAYS else ctypes.c_void_p


def split_parameters(text):
    return [p for p in text.split(",") if p.strip() not in ("", "void")]


def declare(lib, header):
    """Gives every function of the header its types, and returns the header's numeric constants and callback types."""
    text = re.sub(r"/\*.*?\*/|//[^\n]*", "", header, flags=re.S)
    names = {name: int(value) for name, value in re.findall(r"#define (PLIM_\w+) (\d+)\s*\n", text)}
    callbacks = re.findall(r"^typedef (\w+) \(\*(plim_\w+)\)\(([^)]*)\);", text, flags=re.M)
    for result, name, parameters in callbacks:
        # A callback sees bare addresses.
        parameters = [ctypes.c_void_p if "*" in p else SCALARS[p.split()[0]] for p in split_parameters(parameters)]
        names[name] = ctypes.CFUNCTYPE(SCALARS[result], *parameters)
    prototypes = re.findall(r"^((?!typedef)[\w\s]+?[\s*]+)(plim_\w+)\(([^)]*)\);", text, flags=re.M)
    assert len(prototypes) + len(callbacks) == text.count(");"), "a prototype of the header was not understood"
    for result, name, parameters in prototypes:
        function = getattr(lib, name)
        function.restype = type_of(result, False, SCALARS)
        function.argtypes = [type_of(p, True, SCALARS | names) for p in split_parameters(parameters)]
    return names


lib = ctypes.CDLL(os.environ["PLIMSOLL_LIB"])
globals().update(declare(lib, HEADER.read_text(encoding="utf-8")))

# What an out-parameter holds before a call that must not write to it.
UNTOUCHED = 0x5EED5EED


class Failure(Exception):
    """A call that did not answer PLIM_OK."""

    def __init__(self, function, status):
        self.status = status
        self.message = lib.plim_last_error().decode()
        super().__init__(f"{function} answers {status} ({lib.plim_status_name(status).decode()}): {self.message}")


def call(function, *arguments):
    """Calls a function that answers a plim_status."""
    status = getattr(lib, function)(*arguments)
    if status != 0:
        raise Failure(function, status)


def path_bytes(path):
    return os.fsencode(os.fspath(path))


def ids(nodes):
    """Node ids as the interface wants them; None stays None."""
    return None if nodes is None else np.ascontiguousarray(nodes, np.int32)


def length(array):
    return 0 if array is None else len(array)


class Handle:
    """Owns what a constructor made."""

    free = ""

    def __init__(self, function, *arguments):
        self.handle = ctypes.c_void_p(UNTOUCHED)
        try:
            call(function, *arguments, ctypes.byref(self.handle))
        except Failure:
            assert self.handle.value == UNTOUCHED, f"{function} failed and changed its out-parameter"
            self.handle = None
            raise

    def close(self):
        if getattr(self, "handle", None) is not None:
            getattr(lib, self.free)(self.handle)
            self.handle = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    __del__ = close


class Graph(Handle):
    free = "plim_graph_free"

    @classmethod
    def from_edges(cls, num_nodes, edges, weights=None):
        edges = np.asarray(edges, np.int32).reshape(-1, 2)
        sources, targets = np.ascontiguousarray(edges[:, 0]), np.ascontiguousarray(edges[:, 1])
        return cls("plim_graph_from_edges", num_nodes, len(edges), sources, targets, weights)

    @classmethod
    def from_csr(cls, num_nodes, indptr, indices, values=None):
        return cls("plim_graph_from_csr", num_nodes, indptr, indices, values)

    @classmethod
    def from_mixture(cls, nodes_per_class, seed):
        return cls("plim_graph_from_mixture", nodes_per_class, seed)

    @classmethod
    def load(cls, path):
        return cls("plim_graph_load", path_bytes(path))

    def save(self, path):
        call("plim_graph_save", self.handle, path_bytes(path))

    def set_cache(self, max_bytes):
        call("plim_graph_set_cache", self.handle, max_bytes)

    def set_features(self, x):
        """Dense from an array; sparse from anything with indptr, indices and data."""
        if isinstance(x, np.ndarray):
            call("plim_graph_set_features", self.handle, x.shape[1], np.ascontiguousarray(x, np.float32))
        else:
            arrays = x.indptr.astype(np.int64), x.indices.astype(np.int32), x.data.astype(np.float32)
            call("plim_graph_set_sparse_features", self.handle, x.shape[1], *arrays)

    def normalize_features(self):
        call("plim_graph_normalize_features", self.handle)

    def set_labels(self, labels):
        call("plim_graph_set_labels", self.handle, ids(labels))

    def set_split(self, split, nodes):
        call("plim_graph_set_split", self.handle, split, ids(nodes), len(nodes))

    def set_normalization(self, normalization):
        call("plim_graph_set_normalization", self.handle, normalization)

    @property
    def num_nodes(self):
        return lib.plim_graph_num_nodes(self.handle)

    @property
    def num_edges(self):
        return lib.plim_graph_num_edges(self.handle)

    @property
    def num_features(self):
        return lib.plim_graph_num_features(self.handle)

    @property
    def num_classes(self):
        return lib.plim_graph_num_classes(self.handle)

    def split(self, split):
        nodes = np.full(lib.plim_graph_split_size(self.handle, split), UNTOUCHED, np.int32)
        call("plim_graph_copy_split", self.handle, split, nodes, len(nodes))
        return nodes

    def labels(self):
        labels = np.full(self.num_nodes, UNTOUCHED, np.int32)
        call("plim_graph_copy_labels", self.handle, labels, len(labels))
        return labels


class Model(Handle):
    free = "plim_model_free"

    @classmethod
    def gcn(cls, widths, seed=0):
        return cls("plim_model_gcn", np.array(widths, np.uintp), len(widths), seed)

    @classmethod
    def load(cls, path):
        return cls("plim_model_load", path_bytes(path))

    @classmethod
    def of(cls, weights):
        """A model of the given W(0), W(1), …, each fan_in × fan_out."""
        model = cls.gcn([weights[0].shape[0]] + [w.shape[1] for w in weights])
        model.set_parameters(flat(weights))
        return model

    def save(self, path):
        call("plim_model_save", self.handle, path_bytes(path))

    def set_regularization(self, lam):
        call("plim_model_set_regularization", self.handle, lam)

    def set_threads(self, threads):
        call("plim_model_set_threads", self.handle, threads)

    def set_parameters(self, parameters):
        parameters = np.ascontiguousarray(parameters, np.float32)
        call("plim_model_set_parameters", self.handle, parameters, len(parameters))

    @property
    def num_parameters(self):
        return lib.plim_model_num_parameters(self.handle)

    def parameters(self):
        parameters = np.full(self.num_parameters, np.nan, np.float32)
        call("plim_model_get_parameters", self.handle, parameters, len(parameters))
        return parameters

    def widths(self):
        widths = np.zeros(lib.plim_model_num_layers(self.handle) + 1, np.uintp)
        call("plim_model_copy_widths", self.handle, widths, len(widths))
        return widths.astype(np.int64)

    def weights(self):
        """W(0), W(1), …, each fan_in × fan_out."""
        return unflat(self.parameters(), self.widths())

    def predict(self, graph, nodes=None):
        nodes = ids(nodes)
        rows = np.full((graph.num_nodes if nodes is None else len(nodes), self.widths()[-1]), np.nan, np.float32)
        call("plim_model_predict", self.handle, graph.handle, nodes, length(nodes), rows, rows.size)
        return rows

    def embed(self, graph, layer, nodes=None):
        nodes = ids(nodes)
        rows = np.full((graph.num_nodes if nodes is None else len(nodes), self.widths()[layer + 1]), np.nan, np.float32)
        call("plim_model_embed", self.handle, graph.handle, nodes, length(nodes), layer, rows, rows.size)
        return rows

    def evaluate(self, graph, split):
        """(mean cross-entropy, accuracy)."""
        loss, accuracy = np.full(1, np.nan), np.full(1, np.nan)
        call("plim_model_evaluate", self.handle, graph.handle, split, loss, accuracy)
        return loss[0], accuracy[0]


class Estimator(Handle):
    free = "plim_estimator_free"

    @classmethod
    def full(cls):
        return cls("plim_estimator_full")

    @classmethod
    def unbiased(cls):
        return cls("plim_estimator_unbiased")

    @classmethod
    def consistent(cls, sample_sizes):
        return cls("plim_estimator_consistent", np.array(sample_sizes, np.uintp), len(sample_sizes))

    def set_seed(self, seed):
        call("plim_estimator_set_seed", self.handle, seed)

    def set_distribution(self, distribution):
        call("plim_estimator_set_distribution", self.handle, distribution)

    def set_weights(self, weights):
        weights = np.ascontiguousarray(weights, np.float64)
        call("plim_estimator_set_weights", self.handle, weights, len(weights))

    def set_draws(self, layer, nodes):
        call("plim_estimator_set_draws", self.handle, layer, ids(nodes), len(nodes))

    def gradient(self, model, graph, batch=None):
        """(loss, gradient)."""
        batch = ids(batch)
        gradient = np.full(model.num_parameters, np.nan, np.float32)
        loss = np.full(1, np.nan)
        call("plim_estimator_gradient", self.handle, model.handle, graph.handle, batch, length(batch), gradient,
             len(gradient), loss)
        return loss[0], gradient


def flat(weights):
    """Matrices as one vector, row after row."""
    return np.concatenate([np.asarray(w).ravel() for w in weights])


def unflat(vector, widths):
    """The opposite of flat()."""
    ends = np.cumsum([widths[l] * widths[l + 1] for l in range(len(widths) - 1)])
    parts = np.split(vector, ends[:-1])
    return [part.reshape(widths[l], widths[l + 1]) for l, part in enumerate(parts)]
