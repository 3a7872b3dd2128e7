"""Stores, text and views: what NumPy, SciPy and the library say of each other's files and arrays."""
import copy
import gc
import json
import os
import sys
import tempfile
import weakref
import zlib

import numpy as np
import scipy.io
import scipy.sparse as sp

import plimsoll as pl
from plimsoll import _arrays
from support import check, raises, small

META = {"format": "plimsoll-store", "version": 1}


def folder():
    return tempfile.TemporaryDirectory(prefix="plimsoll-")


def data(seed=0, n=40, d=6, symmetric=True):
    rng = np.random.default_rng(seed)
    a = sp.random(n, n, 0.15, "csr", np.float32, rng)
    if symmetric:
        a = sp.csr_matrix(a + a.T)
    a.sort_indices()
    x = rng.normal(size=(n, d)).astype(np.float32)
    return a, x, rng.integers(0, 3, n).astype(np.int32), rng.permutation(n).astype(np.int32)


def write(path, meta, **arrays):
    """A store, with NumPy alone."""
    os.mkdir(path)
    for name, array in arrays.items():
        np.save(os.path.join(path, f"{name}.npy"), array)
    with open(os.path.join(path, "meta.json"), "w") as file:
        json.dump({**META, **meta}, file)
    return path


def logits(graph):
    return pl.Model.gcn([graph.num_features, 5, 3], seed=2).predict(graph)


def test_numpy_reads_what_the_library_stores():
    a, x, y, nodes = data()
    graph = pl.Graph.from_scipy(a, features=x, labels=y, train=nodes[:9], val=nodes[9:20], test=nodes[20:])
    with folder() as path:
        graph.save_store(f"{path}/store")
        arrays = {name: np.load(f"{path}/store/{name}.npy", mmap_mode="r")
                  for name in ("indptr", "indices", "values", "features", "labels", "train", "val", "test")}
        loops = a + sp.eye(40)
        scale = 1 / np.sqrt(np.asarray(loops.sum(1)).ravel())
        operator = sp.csr_matrix((arrays["values"], arrays["indices"], arrays["indptr"]), shape=(40, 40))
        check.close(operator.toarray(), (scale[:, None] * loops.toarray() * scale), "Â", 1e-6)
        check.same(arrays["features"], x, "features")
        check.same(arrays["labels"], y, "labels")
        check.same(arrays["val"], nodes[9:20], "val")
        with open(f"{path}/store/meta.json") as file:
            meta = json.load(file)
        sums = meta.pop("checksums")
        assert meta == {
            **META, "matrix": "operator", "normalization": "symmetric", "undirected": False, "num_features": 6}
        # As docs/howto/big-graph.md says: the CRC-32 of each file, and of the JSON of meta.json without its own.
        assert sorted(sums) == sorted(os.listdir(f"{path}/store"))
        own = sums.pop("meta.json")
        text = json.dumps({**meta, "checksums": sums}, sort_keys=True, separators=(",", ":"))
        assert own == zlib.crc32(text.encode())
        for name, sum_ in sums.items():
            with open(f"{path}/store/{name}", "rb") as file:
                assert sum_ == zlib.crc32(file.read()), name


def test_a_damaged_store_is_found_on_load_or_by_verify():
    a, x, y, nodes = data()
    with folder() as path:
        pl.Graph.from_scipy(a, features=x, labels=y, train=nodes[:9]).save_store(f"{path}/store")
        pl.Graph.load(f"{path}/store").verify()
        for name, when in (("features", "verify"), ("labels", "load")):
            flip_last(f"{path}/store/{name}.npy")
            text = f"{name}.npy does not match its checksum"
            if when == "load":
                raises(pl.BadFormatError, pl.Graph.load, f"{path}/store", text=text)
            else:
                raises(pl.BadFormatError, pl.Graph.load(f"{path}/store").verify, text=text)
    with folder() as path:
        write(f"{path}/s", {}, indptr=a.indptr.astype(np.int64), indices=a.indices, features=x)
        raises(pl.MissingDataError, pl.Graph.load(f"{path}/s").verify, text="has no checksums")
    pl.Graph.from_scipy(a).verify()


def test_a_store_of_numpy_with_checksums_is_compared_where_it_is_copied():
    a, x, y, _ = data(symmetric=False)
    for normalization, when in (("none", "verify"), ("row", "load")):
        for number in (np.float32, np.float64):
            with folder() as path:
                write(f"{path}/s", {"normalization": normalization}, indptr=a.indptr.astype(np.int64), indices=a.indices,
                      values=a.data.astype(number), features=x, labels=y)
                add_checksums(f"{path}/s")
                pl.Graph.load(f"{path}/s").verify()
                flip_last(f"{path}/s/values.npy")
                text = "values.npy does not match its checksum"
                if when == "verify" and number == np.float32:
                    raises(pl.BadFormatError, pl.Graph.load(f"{path}/s").verify, text=text)
                else:
                    raises(pl.BadFormatError, pl.Graph.load, f"{path}/s", text=text)


def add_checksums(store):
    """As docs/howto/big-graph.md has it."""
    with open(f"{store}/meta.json") as file:
        meta = json.load(file)
    meta["checksums"] = {}
    for name in os.listdir(store):
        if name.endswith(".npy"):
            with open(f"{store}/{name}", "rb") as file:
                meta["checksums"][name] = zlib.crc32(file.read())
    text = json.dumps(meta, sort_keys=True, separators=(",", ":"))
    meta["checksums"]["meta.json"] = zlib.crc32(text.encode())
    with open(f"{store}/meta.json", "w") as file:
        json.dump(meta, file)


def flip_last(path):
    """Flips a bit of the last byte but two: of a number it changes little."""
    with open(path, "r+b") as file:
        file.seek(-3, os.SEEK_END)
        byte = file.read(1)
        file.seek(-3, os.SEEK_END)
        file.write(bytes([byte[0] ^ 1]))


def test_the_library_maps_what_numpy_stores():
    for symmetric in (False, True):
        a, x, y, nodes = data(1, symmetric=symmetric)
        for normalization in ("symmetric", "row", "none"):
            meta = {"normalization": normalization, "undirected": symmetric}
            expected = pl.Graph.from_scipy(a, features=x, normalization=normalization)
            with folder() as path:
                write(f"{path}/s", meta, indptr=a.indptr.astype(np.int64), indices=a.indices, values=a.data, features=x,
                      labels=y, train=nodes[:7])
                graph = pl.Graph.load(f"{path}/s")
                check.same(logits(graph), logits(expected), f"{normalization} {symmetric}")
                check.same(graph.train, nodes[:7], "train")
                assert graph.num_edges == (sp.triu(a).nnz if symmetric else a.nnz)
                check.same(graph.to_scipy().toarray(), a.toarray(), "A")


def test_other_types_orders_and_unsorted_rows_are_converted():
    a, x, y, nodes = data(2)
    order = np.concatenate([np.arange(a.indptr[v], a.indptr[v + 1])[::-1] for v in range(40)])
    for normalization in ("symmetric", "none"):
        expected = logits(pl.Graph.from_scipy(a, features=x, normalization=normalization))
        with folder() as path:
            write(f"{path}/s", {"normalization": normalization}, indptr=a.indptr.astype(np.uint16),
                  indices=a.indices[order].astype(">i8"), values=a.data[order].astype(np.float64),
                  features=np.asfortranarray(x), labels=y.astype(np.int8))
            check.same(logits(pl.Graph.load(f"{path}/s")), expected, normalization)


def test_a_store_without_values_has_ones_and_sparse_features_are_mapped():
    a, x, *_ = data(3)
    sparse = sp.csr_matrix(np.where(x > 0.5, x, 0))
    expected = logits(pl.Graph.from_scipy(a != 0, features=sparse))
    with folder() as path:
        write(f"{path}/s", {"num_features": 6}, indptr=a.indptr.astype(np.int64), indices=a.indices,
              features_indptr=sparse.indptr.astype(np.int64), features_indices=sparse.indices, features_data=sparse.data)
        check.same(logits(pl.Graph.load(f"{path}/s")), expected, "logits")
        os.remove(f"{path}/s/features_data.npy")
        raises(pl.BadFormatError, pl.Graph.load, f"{path}/s", text="features_data")


def test_a_store_that_lies_is_refused():
    a, x, y, nodes = data(4, symmetric=False)
    good = dict(indptr=a.indptr.astype(np.int64), indices=a.indices, values=a.data, features=x)
    for meta, change, text in [
            ({"undirected": True}, {}, "differ"),
            ({"matrix": "operator"}, {}, "diagonal"),
            ({}, {"features": x[:-1]}, "features has 39"),
            ({}, {"values": a.data[:-1]}, "values has"),
            ({}, {"values": -a.data}, "values[0]"),
            ({}, {"labels": y[:-1]}, "labels has 39"),
            ({}, {"labels": y - 5}, "labels[0]"),
            ({}, {"train": np.array([0, 0], np.int32)}, "train: nodes[1] = 0 occurs twice in the list"),
            ({}, {"train": np.array([40], np.int32)}, "train: nodes[0] = 40"),
            ({}, {"indptr": np.zeros(0, np.int64)}, "indptr is empty"),
            ({}, {"indptr": a.indptr.astype(np.float64)}, "reals"),
            ({}, {"features": x.reshape(-1)}, "features has shape"),
            ({}, {"features": x.astype("S4")}, "features"),
    ]:
        with folder() as path:
            write(f"{path}/s", meta, **{**good, **change})
            raises(pl.BadFormatError, pl.Graph.load, f"{path}/s", text=text)


def test_matrix_market_files_of_scipy_are_read():
    for symmetric in (False, True):
        a, x, *_ = data(5, symmetric=symmetric)
        with folder() as path:
            scipy.io.mmwrite(f"{path}/a.mtx", a, symmetry="symmetric" if symmetric else "general", precision=9)
            graph = pl.Graph.load(f"{path}/a.mtx")
            check.same(graph.to_scipy().toarray(), a.toarray(), "A")
            assert graph.num_edges == (sp.triu(a).nnz if symmetric else a.nnz)


def test_edge_lists_of_numpy_are_read():
    a, x, *_ = data(6)
    edges = sp.triu(a).tocoo()
    with folder() as path:
        np.savetxt(f"{path}/e.tsv", np.column_stack([edges.row, edges.col, edges.data]), ("%d", "%d", "%.9g"), "\t",
                   header="from to weight")
        graph = pl.Graph.from_edge_list(f"{path}/e.tsv", 50, features=np.ones((50, 2)))
        assert graph.num_nodes == 50
        check.same(graph.to_scipy().toarray()[:40, :40], a.toarray(), "A")
        raises(pl.BadFormatError, pl.Graph.from_edge_list, f"{path}/e.tsv", 10, text="line ")


TRANSFERS = """source,target,amount,time
ann,"bob, jr",2.5,2024-01-01
"bob, jr",carl,4,2024-01-02
ann,"bob, jr",1.5,2024-01-03
"""


def transfers(path):
    with open(f"{path}/transfers.csv", "w", encoding="utf-8") as file:
        file.write(TRANSFERS)
    return f"{path}/transfers.csv"


def test_a_table_with_names_for_ids_is_read():
    with folder() as path:
        file, lines = transfers(path), []
        graph, ids = pl.Graph.from_named_edge_list(
            file, source="source", target="target", weight="amount", features=np.eye(3), directed=True,
            log=lambda level, line: lines.append((level, line)))
        expected = np.zeros((3, 3), np.float32)
        expected[1, 0], expected[2, 1] = 4, 4
        check.same(graph.to_scipy().toarray(), expected, "A")
        assert (ids.names, len(ids), ids.find("carl"), ids.name(1)) == (["ann", "bob, jr", "carl"], 3, 2, "bob, jr")
        assert "ann" in ids and "dora" not in ids and "ann\0" not in ids and graph.num_features == 3
        check.same(ids.find_all(["carl", "dora", b"ann"]), np.array([2, -1, 0], np.int32), "ids")
        assert len(lines) == 2 and "is a header" in lines[0][1], lines
        assert copy.copy(ids).names == ids.names
        ids.save(f"{path}/ids")
        assert pl.Ids.load(f"{path}/ids").names == ids.names
        raises(pl.InvalidArgumentError, ids.name, 3, text="id = 3")
        raises(TypeError, ids.find, 3, text="text")
        raises(pl.BadFormatError, pl.Ids.load, file, text="not a table of ids")
        counted, _ = pl.Graph.from_named_edge_list(file, source=0, target=1, header=True, repeated="count", num_nodes=5)
        check.same(counted.to_scipy().toarray()[:2, :2], np.array([[0, 2], [2, 0]], np.float32), "counts")
        assert counted.num_nodes == 5


def test_options_of_edge_lists_are_checked():
    with folder() as path:
        file = transfers(path)
        read = pl.Graph.from_edge_list
        raises(pl.InvalidArgumentError, pl.Graph.from_named_edge_list, file, source=0, target=1, text="header")
        raises(pl.BadFormatError, read, file, source=0, target=1, text="line 2: column 1: \"ann\" is not a node id")
        raises(pl.BadFormatError, read, file, text="line 1: 4 fields")
        raises(TypeError, read, file, source="source", target=1, text="all be names")
        raises(TypeError, read, file, weight=2, text="all be names")
        raises(ValueError, read, file, separator=", ", text="one character")
        raises(ValueError, read, file, repeated="mean", text="repeated")

        def stop(level, line):
            raise KeyError(line)

        raises(KeyError, pl.Graph.from_named_edge_list, file, source="source", target="target", log=stop)
        with open(f"{path}/n.txt", "w") as text:
            text.write("// ids\n0|1|a b\n1|2|\n")
        graph = read(f"{path}/n.txt", separator="|", source=0, target=1, comment="//", header=False)
        assert (graph.num_nodes, graph.num_edges) == (3, 2)


def test_a_view_keeps_its_arrays_alive_and_no_longer():
    a, x, *_ = data(7)
    a.indptr = a.indptr.astype(np.int64)
    expected = logits(pl.Graph.from_scipy(a, features=x, normalization="none"))
    graph = pl.Graph.view_scipy(a)
    graph.view_features(x)
    before = len(_arrays.Loan._lent)
    seen = weakref.ref(x)
    del a, x
    gc.collect()
    assert seen() is not None
    check.same(logits(graph), expected, "logits")
    raises(pl.ShapeMismatchError, graph.view_features, np.ones((3, 2)), text="3 rows, not 40")
    raises(pl.InvalidArgumentError, graph.view_features, np.full((40, 2), np.nan), text="row_major[0]")
    graph.close()
    gc.collect()
    assert seen() is None
    assert len(_arrays.Loan._lent) == before - 2


def test_a_view_is_not_a_copy():
    a, x, *_ = data(8)
    with pl.Graph.view_scipy(a, normalization=None) as graph:
        graph.view_features(x)
        model = pl.Model.gcn([6, 3], seed=0)
        graph.set_cache(0)
        first = model.predict(graph, [0])
        x *= 2  # against the rules, to see whose they are
        assert np.abs(model.predict(graph, [0]) - first).max() > 1e-3
    with small() as graph:
        raises(pl.ShapeMismatchError, pl.Graph.view_scipy, sp.csr_matrix((2, 3)), text="not square")


if __name__ == "__main__":
    sys.exit(check.run(check.named(globals())))
