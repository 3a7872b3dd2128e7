"""Graph files with NumPy and zipfile: arrays to write, what they mean, and whether the library agrees."""
import io
import os
import zipfile

import numpy as np
import scipy.sparse as sp

from . import SPLITS, oracle, pl

REFUSED = (pl.FileError, pl.BadFormatError)


def small():
    """The arrays of a graph with every optional part."""
    rng = np.random.default_rng(1)
    features = rng.normal(size=(7, 3)).astype(np.float32)
    return {
        "num_nodes": np.int32(7), "num_features": np.int32(3), "num_classes": np.int32(3),
        "edges": np.array([[0, 1], [1, 2], [0, 3], [4, 5], [2, 5]], np.int32),
        "self_loops": np.array([2, 4], np.int32),
        "edge_weights": np.array([0.5, 1.0, 2.0, 0.25, 3.0], np.float32),
        "features": features,
        "labels": np.array([0, 1, 2, -1, 0, 1, 2], np.int32),
        "train": np.array([5, 0], np.int32), "val": np.array([1], np.int32), "test": np.array([6, 2, 4], np.int32),
        "normalization": np.int32(1),
    }


def small_csr():
    """The same as sparse matrices: a directed graph, sparse features."""
    arrays = small()
    for key in ("edges", "self_loops", "edge_weights"):
        del arrays[key]
    features = sp.csr_matrix(np.where(np.abs(arrays.pop("features")) > 0.3, 1.5, 0.0).astype(np.float32))
    arrays.update(adj_indptr=np.array([0, 2, 3, 3, 5, 6, 6, 7]), adj_indices=np.array([1, 6, 0, 3, 4, 2, 5], np.int32),
                  adj_values=np.array([1, 2, 0.5, 4, 0.25, 1, 8], np.float32), features_indptr=features.indptr,
                  features_indices=features.indices, features_data=features.data)
    return arrays


def matrices(arrays):
    """What the arrays of a file mean: A, X, labels, the splits, and the normalisation as a name."""
    n = int(arrays["num_nodes"])
    if "edges" in arrays:
        loops = np.asarray(arrays.get("self_loops", []), int)
        edges = np.concatenate([arrays["edges"], np.stack([loops, loops], axis=1)])
        weights = None
        if "edge_weights" in arrays:
            of_loops = arrays.get("self_loop_weights", np.ones(len(loops)))
            weights = np.concatenate([arrays["edge_weights"], of_loops])
        a = oracle.adjacency_of_edges(n, edges, weights)
    else:
        a = oracle.adjacency_of_csr(n, arrays["adj_indptr"], arrays["adj_indices"], arrays.get("adj_values"))
    x = arrays.get("features")
    if "features_indptr" in arrays:
        parts = arrays["features_data"], arrays["features_indices"], arrays["features_indptr"]
        x = sp.csr_matrix(parts, shape=(n, int(arrays["num_features"]))).toarray()
    splits = [np.asarray(arrays.get(name, [])) for name in SPLITS]
    return a.toarray(), x, arrays.get("labels"), splits, oracle.NORMALIZATIONS[int(arrays.get("normalization", 0))]


def read(path):
    """The arrays of a file, as NumPy reads them without pickles."""
    with np.load(path, allow_pickle=False) as archive:
        return {key: archive[key] for key in archive.files}


def difference(found, expected):
    """The name of a part in which two results of matrices() differ, or None."""
    for name, f, e in zip(("A", "X", "labels"), found, expected):
        if (f is None) != (e is None) or (f is not None and not np.array_equal(f, np.asarray(e, f.dtype))):
            return name
    for name, f, e in zip(SPLITS, found[3], expected[3]):
        if not np.array_equal(f, e):
            return name
    return None if found[4] == expected[4] else "normalization"


def meaning(graph, folder):
    """matrices() of a graph in the library, read from the file that it saves."""
    path = os.path.join(folder, "meaning.npz")
    graph.save(path)
    return matrices(read(path))


def loads_as(path, expected, what, folder):
    with pl.Graph.load(path) as graph:
        differs = difference(meaning(graph, folder), expected)
        assert differs is None, f"{what}: {differs} differs"


def refused(path, what, errors=pl.BadFormatError):
    """Checks that a file is refused with one of these errors and a message; returns the message."""
    try:
        with pl.Graph.load(path):
            pass
    except pl.PlimsollError as error:
        assert isinstance(error, errors), f"{what}: {error!r}"
        assert str(error), f"{what}: no message"
        return str(error)
    raise AssertionError(f"{what} was loaded")


def write_members(path, members, compression=zipfile.ZIP_STORED):
    """A zip archive of {name: bytes}."""
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, content in members.items():
            archive.writestr(name, content)


def npy(array, version=None):
    out = io.BytesIO()
    np.lib.format.write_array(out, np.asanyarray(array), version=version, allow_pickle=True)
    return out.getvalue()
