"""Graph files: NumPy reads what the library writes, and the library reads what NumPy writes."""
import io
import os
import sys
import zipfile

import numpy as np
import scipy.sparse as sp

from support import SPLITS, check, graph_of_edges, model_of, oracle, pl
from support.cases import all_cases
from support.npz import REFUSED, loads_as, matrices, npy, read, refused, small, small_csr, write_members


# What the library writes ----------------------------------------------------------------------------------------------


def test_numpy_reads_the_graph_that_was_saved():
    with check.folder() as folder:
        path = os.path.join(folder, "graph.npz")
        for case in all_cases():
            with case.graph() as graph:
                graph.save(path)
                edges = graph.num_edges
            arrays = read(path)
            a, x, labels, splits, normalization = matrices(arrays)
            expected = case.a.toarray()
            check.same(a != 0, expected != 0, f"{case.name}: the pattern of A")
            check.close(a, expected, "file, A", 1e-7)
            if case.kind == "csr":
                assert edges == len(arrays["adj_indices"]) == case.a.nnz, f"{case.name}: {edges} edges"
            else:
                assert edges == len(arrays["edges"]) + len(arrays["self_loops"]), f"{case.name}: {edges} edges"
                assert np.all(arrays["edges"][:, 0] < arrays["edges"][:, 1]), "edges are u < v"
                assert len(np.unique(arrays["edges"], axis=0)) == len(arrays["edges"]), "each edge occurs once"
            assert ("edge_weights" in arrays or "adj_values" in arrays) == (case.edge_weights is not None)
            given = case.raw_x.toarray() if sp.issparse(case.raw_x) else case.raw_x
            if case.normalize_features:
                check.close(x, oracle.normalize_rows(given.astype(np.float64)), "file, normalised features", 1e-7)
            else:
                check.same(x, given, f"{case.name}: X")
            assert ("features_indptr" in arrays) == sp.issparse(case.raw_x), "sparse features stay sparse"
            check.same(labels, case.labels, f"{case.name}: labels")
            for name, found, nodes in zip(SPLITS, splits, case.splits):
                check.same(found, nodes, f"{case.name}: {name}")
            assert normalization == case.normalization
            assert int(arrays["num_features"]) == given.shape[1]
            assert "num_classes" not in arrays, "the number is written only if it was stated"


def test_the_arrays_have_the_documented_types():
    with check.folder() as folder:
        for arrays in (small(), small_csr()):
            np.savez(f"{folder}/in.npz", **arrays)
            with pl.Graph.load(f"{folder}/in.npz") as graph:
                graph.save(f"{folder}/out.npz")
            for key, array in read(f"{folder}/out.npz").items():
                real = key in ("features", "features_data", "edge_weights", "self_loop_weights", "adj_values")
                offsets = key in ("adj_indptr", "features_indptr")
                expected = "<f4" if real else "<i8" if offsets else "<i4"
                assert array.dtype.str == expected, f"{key} is {array.dtype.str}"


def test_a_graph_without_features_labels_and_splits_is_saved_too():
    with check.folder() as folder, graph_of_edges(3, np.array([[0, 1]])) as graph:
        graph.save(f"{folder}/graph.npz")
        arrays = read(f"{folder}/graph.npz")
        assert "labels" not in arrays and "features" not in arrays and "features_indptr" not in arrays
        with pl.Graph.load(f"{folder}/graph.npz") as again:
            assert (again.num_nodes, again.num_edges, again.num_features, again.num_classes) == (3, 1, 0, 0)


def test_a_stated_number_of_classes_is_in_the_file_and_comes_back_from_numpy_s():
    with check.folder() as folder, graph_of_edges(3, np.array([[0, 1]])) as graph:
        graph.labels, graph.num_classes = [0, 1, -1], 5
        graph.save(f"{folder}/graph.npz")
        arrays = dict(read(f"{folder}/graph.npz"))
        assert arrays["num_classes"].dtype.str == "<i4" and int(arrays["num_classes"]) == 5
        for written, expected in ((7, 7), (2, 2), (0, 2)):
            np.savez(f"{folder}/graph.npz", **{**arrays, "num_classes": written})
            with pl.Graph.load(f"{folder}/graph.npz") as again:
                assert again.num_classes == expected


def test_a_graph_that_went_through_a_file_gives_the_same_bits():
    with check.folder() as folder:
        for case in all_cases():
            with case.graph() as graph, case.model() as model:
                graph.save(f"{folder}/one.npz")
                with pl.Graph.load(f"{folder}/one.npz") as again:
                    again.save(f"{folder}/two.npz")
                    check.same(model.predict(again), model.predict(graph), f"{case.name}: predict")
                    full = pl.Estimator.full()
                    before, after = full.gradient(model, graph), full.gradient(model, again)
                    assert before.loss == after.loss, f"{case.name}: loss"
                    check.same(after.values, before.values, f"{case.name}: gradient")
            with open(f"{folder}/one.npz", "rb") as one, open(f"{folder}/two.npz", "rb") as two:
                assert one.read() == two.read(), f"{case.name}: the second file differs from the first"


# What NumPy writes ----------------------------------------------------------------------------------------------------


def test_savez_and_savez_compressed_load():
    with check.folder() as folder:
        for arrays in (small(), small_csr()):
            for write in (np.savez, np.savez_compressed):
                write(f"{folder}/graph.npz", **arrays)
                loads_as(f"{folder}/graph.npz", matrices(arrays), write.__name__, folder)


def test_other_types_load_as_the_same_numbers_or_are_refused():
    """int64 and float64 must load; the others may be refused, but must not be misread."""
    with check.folder() as folder:
        for arrays in (small(), small_csr()):
            expected = matrices(arrays)
            for types, must in (("i8", True), ("i4", True), ("i2 i1 u1 u2 u4 u8 >i2 >i4 >i8 >u4", False)):
                for dtype in types.split():
                    for key, array in arrays.items():
                        changed = dict(arrays)
                        signed = np.min(array, initial=0) < 0
                        if array.dtype.kind != "i" or (signed and "u" in dtype):
                            continue
                        changed[key] = array.astype(dtype)
                        other_type_loads(changed, expected, f"{key} as {dtype}", must, folder)
            for types, must in (("f8", True), ("f4", True), ("f2 >f4 >f8 g", False)):
                for dtype in types.split():
                    for key, array in arrays.items():
                        if array.dtype.kind != "f":
                            continue
                        if dtype == "f2" and not np.array_equal(array, array.astype("f2")):
                            continue
                        changed = arrays | {key: array.astype(dtype)}
                        other_type_loads(changed, expected, f"{key} as {dtype}", must, folder)


def other_type_loads(arrays, expected, what, must, folder):
    path = f"{folder}/graph.npz"
    np.savez(path, **arrays)
    try:
        loads_as(path, expected, what, folder)
    except pl.BadFormatError as error:
        assert not must, f"{what}: {error}"


def test_float64_values_are_rounded_and_integers_are_no_reals():
    arrays = small()
    with check.folder() as folder:
        path = f"{folder}/graph.npz"
        exact = np.random.default_rng(2).normal(size=(7, 3))
        np.savez(path, **arrays | {"features": exact})
        loads_as(path, matrices(arrays | {"features": exact.astype(np.float32)}), "features of float64", folder)
        np.savez(path, **arrays | {"features": exact * 1e300})
        refused(path, "features beyond float")


def test_fortran_order_is_read_by_columns():
    with check.folder() as folder:
        arrays = small()
        expected = matrices(arrays)
        for key in ("edges", "features"):
            for dtype in (arrays[key].dtype, np.int64 if key == "edges" else np.float64):
                changed = arrays | {key: np.asfortranarray(arrays[key].astype(dtype))}
                assert changed[key].flags.f_contiguous and not changed[key].flags.c_contiguous
                np.savez(f"{folder}/graph.npz", **changed)
                loads_as(f"{folder}/graph.npz", expected, f"{key} by columns", folder)


def test_every_version_of_the_array_format_loads():
    arrays = small()
    with check.folder() as folder:
        for version in ((1, 0), (2, 0), (3, 0)):
            write_members(f"{folder}/graph.npz", {f"{key}.npy": npy(a, version) for key, a in arrays.items()})
            loads_as(f"{folder}/graph.npz", matrices(arrays), f"version {version}", folder)


def test_optional_keys_may_be_missing():
    with check.folder() as folder:
        path = f"{folder}/graph.npz"
        for arrays in (small(), small_csr()):
            needed = {"num_nodes", "edges", "adj_indptr", "adj_indices", "features_indptr", "features_indices",
                      "features_data"}
            if "features_indptr" in arrays:
                needed.add("num_features")
            for key in set(arrays) - needed:
                fewer = {k: a for k, a in arrays.items() if k != key}
                np.savez(path, **fewer)
                loads_as(path, matrices(fewer), f"without {key}", folder)
            fewer = {k: a for k, a in arrays.items() if k in ("num_nodes", "edges", "adj_indptr", "adj_indices")}
            np.savez(path, **fewer)
            loads_as(path, matrices(fewer), "without all that is optional", folder)
        # Arrays that belong together must all be there, and so must nodes and edges.
        for key in ("features_indices", "features_data", "num_features", "adj_indptr", "adj_indices", "num_nodes"):
            np.savez(path, **{k: a for k, a in small_csr().items() if k != key})
            refused(path, f"without {key}")


def test_other_keys_are_ignored_whatever_they_hold():
    arrays = small()
    more = {"names": np.array(["a", "b"]), "pickled": np.array([{"a": 1}, None], object), "i": np.ones(3, complex),
            "records": np.zeros(2, [("a", "i4"), ("b", "f8")]), "dates": np.zeros(2, "M8[s]"), "a key/with a path": 1}
    with check.folder() as folder:
        path = f"{folder}/graph.npz"
        np.savez(path, **arrays, **more)
        loads_as(path, matrices(arrays), "other keys", folder)
        members = {f"{key}.npy": npy(a) for key, a in arrays.items()}
        write_members(path, members | {"README.txt": b"hello", "empty.npy": b""})
        loads_as(path, matrices(arrays), "other files in the archive", folder)


def test_archives_may_be_packed_in_many_ways():
    arrays = small()
    members = {f"{key}.npy": npy(a) for key, a in arrays.items()}
    with check.folder() as folder:
        path = f"{folder}/graph.npz"
        write_members(path, dict(reversed(members.items())))
        loads_as(path, matrices(arrays), "another order", folder)

        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.comment = b"a comment " * 100
            for name, content in members.items():
                archive.writestr(name, content)
        loads_as(path, matrices(arrays), "a comment", folder)

        class Pipe(io.BytesIO):
            """A stream without seek(): the size of each member is then written after it."""

            def seekable(self):
                return False

            def seek(self, *_):
                raise io.UnsupportedOperation

            def tell(self):
                raise io.UnsupportedOperation

        for compression in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            pipe = Pipe()
            write_members(pipe, members, compression)
            with open(path, "wb") as out:
                out.write(pipe.getvalue())
            with zipfile.ZipFile(path) as archive:
                assert archive.testzip() is None
            try:
                loads_as(path, matrices(arrays), "a stream", folder)
            except REFUSED:
                pass

        with zipfile.ZipFile(path, "w") as archive:
            for name, content in members.items():
                with archive.open(name, "w", force_zip64=True) as member:
                    member.write(content)
        loads_as(path, matrices(arrays), "64-bit sizes", folder)

        for compression in (zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA):
            write_members(path, members, compression)
            try:
                loads_as(path, matrices(arrays), "another compression", folder)
            except pl.BadFormatError:
                pass

        # Bytes before the archive, as in a self-extracting one.
        write_members(path, members)
        with open(path, "rb") as file:
            content = file.read()
        with open(path, "wb") as file:
            file.write(b"#!/bin/sh\n" + content)
        try:
            loads_as(path, matrices(arrays), "bytes in front", folder)
        except pl.BadFormatError:
            pass


def test_empty_arrays_load():
    none = np.zeros(0, np.int32)
    arrays = small() | {"edges": np.zeros((0, 2), np.int32), "edge_weights": np.zeros(0, np.float32)}
    arrays |= {"self_loops": none, "train": none, "val": np.zeros(0, np.int64), "test": none}
    with check.folder() as folder:
        np.savez(f"{folder}/graph.npz", **arrays)
        loads_as(f"{folder}/graph.npz", matrices(arrays), "no edges", folder)


def test_files_of_scipy_load():
    """The layout of save_npz is refused, but its arrays under our names are a graph."""
    a = sp.random(50, 50, 0.1, "csr", np.float64, random_state=3)
    x = sp.random(50, 20, 0.2, "csr", np.float32, random_state=4)
    arrays = dict(num_nodes=50, adj_indptr=a.indptr, adj_indices=a.indices, adj_values=a.data, num_features=20,
                  features_indptr=x.indptr, features_indices=x.indices, features_data=x.data, normalization=2)
    with check.folder() as folder:
        np.savez_compressed(f"{folder}/graph.npz", **arrays)
        expected = matrices(arrays | {"adj_values": a.data.astype(np.float32)})
        loads_as(f"{folder}/graph.npz", expected, "SciPy's arrays", folder)
        with pl.Graph.load(f"{folder}/graph.npz") as graph, model_of([np.eye(20)]) as model:
            assert graph.num_edges == a.nnz
            check.close(model.embed(graph, 0), (a @ x).toarray(), "file, AX")
        sp.save_npz(f"{folder}/scipy.npz", a)
        refused(f"{folder}/scipy.npz", "a file of scipy.sparse.save_npz")


if __name__ == "__main__":
    sys.exit(check.run(check.named(globals())))
