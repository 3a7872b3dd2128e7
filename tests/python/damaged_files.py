"""Files that are wrong, truncated or changed are refused with FileError or BadFormatError. None loads as another graph."""
import itertools
import json
import os
import resource
import struct
import sys
import zipfile

import numpy as np

from support import SPLITS, check, graph_of_edges, model_of, pl
from support.npz import REFUSED, npy, refused, small, small_csr, write_members

# A file that declares a huge size must not get the memory for it.
resource.setrlimit(resource.RLIMIT_AS, (8 << 30, resource.getrlimit(resource.RLIMIT_AS)[1]))


def test_wrong_arrays_are_refused():
    nan, inf = np.float32("nan"), np.float32("inf")
    good, csr = small(), small_csr()

    def with_entry(arrays, key, at, value):
        changed = arrays[key].copy()
        changed[at] = value
        return changed

    wrong = [
        (good, "num_nodes", [0, -1, 6, 8, 7.0, [7], [7, 7], [[7]], "7", True, 2 ** 31, 2 ** 40, -2 ** 40, None]),
        (good, "edges", [
            good["edges"].astype(float), good["edges"].T.copy(), good["edges"].ravel(), good["edges"][..., None],
            np.zeros((5, 3), np.int32), np.zeros((5, 1), np.int32), np.int32(3), good["edges"].astype(object),
            good["edges"].astype(complex), good["edges"].astype(str), good["edges"].astype(bool),
            with_entry(good, "edges", (1, 1), 7), with_entry(good, "edges", (1, 0), -1),
            with_entry(good, "edges", (0, 0), 2 ** 31 - 1), good["edges"].astype(np.int64) + 2 ** 32,
            good["edges"].astype(np.int64) - 2 ** 33]),
        (good, "self_loops", [[7], [-1], [[2]], 2, [2.0], [2 ** 32 + 2], None]),
        (good, "edge_weights", [
            np.ones(4), np.ones(6), np.ones((5, 1)), np.float32(1), np.array([1, 1, 1, 1, nan]), np.full(5, 1e300),
            np.array([1, 1, -1, 1, 1.0]), np.array([1, inf, 1, 1, 1]), np.ones(5, complex), ["a"] * 5]),
        (good, "features", [
            np.ones((6, 3)), np.ones((8, 3)), np.ones(21), np.ones((7, 3, 1)), np.ones((7, 0)), np.full((7, 3), nan),
            np.full((7, 3), -inf), np.ones((7, 3), object), np.ones((7, 3), complex), np.full((7, 3), "1"),
            np.ones((3, 7))]),
        (good, "labels", [
            np.zeros(6, int), np.zeros(8, int), np.zeros((7, 1), int), 0, np.zeros(7), np.full(7, -2),
            np.full(7, 2 ** 32), np.array([0] * 6 + [None], object), ["a"] * 7]),
        (good, "normalization", [3, -1, 1.0, [1], 2 ** 32 + 1, "row"]),
        (csr, "adj_indptr", [
            csr["adj_indptr"][:-1], np.append(csr["adj_indptr"], 7), csr["adj_indptr"] + 1, csr["adj_indptr"] * 2,
            with_entry(csr, "adj_indptr", 1, 5), with_entry(csr, "adj_indptr", 3, -1),
            with_entry(csr, "adj_indptr", 7, 6), with_entry(csr, "adj_indptr", 7, 2 ** 62),
            csr["adj_indptr"].astype(float), csr["adj_indptr"][None], []]),
        (csr, "adj_indices", [
            csr["adj_indices"][:-1], np.append(csr["adj_indices"], 0), with_entry(csr, "adj_indices", 0, 7),
            with_entry(csr, "adj_indices", 6, -1), csr["adj_indices"].astype(np.float32), csr["adj_indices"][None]]),
        (csr, "adj_values", [np.ones(6), np.ones(8), np.full(7, nan), np.full(7, -1.0), np.ones((7, 1))]),
        (csr, "features_indptr", [
            csr["features_indptr"][:-1], csr["features_indptr"] + 1, csr["features_indptr"][::-1].copy(),
            csr["features_indptr"].astype(float)]),
        (csr, "features_indices", [
            csr["features_indices"][:-1], csr["features_indices"] + 3, csr["features_indices"] - 3,
            csr["features_indices"].astype(float)]),
        (csr, "features_data", [
            csr["features_data"][:-1], csr["features_data"] * nan, csr["features_data"][None],
            csr["features_data"].astype(complex)]),
        (csr, "num_features", [0, -3, 2, 2 ** 31, 2 ** 40, 3.0, [3]]),
    ]
    wrong += [(good, split, [[7], [-1], [1, 1], [[0]], 0, [0.0], [2 ** 32]]) for split in SPLITS]
    failures = []
    with check.folder() as folder:
        path = f"{folder}/graph.npz"
        for arrays, key, values in wrong:
            for value in values:
                what = f"{key} = {value!r}".replace("\n", "")
                changed = {k: a for k, a in arrays.items() if k != key}
                if value is not None:
                    changed[key] = value
                elif key == "self_loops":
                    # Weights of self-loops need self-loops.
                    changed["self_loop_weights"] = np.ones(2, np.float32)
                np.savez(path, **changed)
                try:
                    message = refused(path, what)
                    assert "graph.npz" in message, f"{what}: {message!r} does not name the file"
                except AssertionError as failure:
                    failures.append(str(failure))
    assert not failures, "\n".join(failures)


def test_a_file_cut_anywhere_is_refused():
    with check.folder() as folder:
        for name, arrays in (("edges", small()), ("csr", small_csr())):
            for write in (np.savez, np.savez_compressed, None):
                path = f"{folder}/whole.npz"
                np.savez(path, **arrays)
                if write:
                    write(path, **arrays)
                else:
                    with pl.Graph.load(path) as graph:
                        graph.save(path)
                whole = os.path.getsize(path)
                for size in sorted({*range(0, whole, 37), *range(whole - 30, whole)}, reverse=True):
                    os.truncate(path, size)
                    refused(path, f"{name}, {size} of {whole} bytes", REFUSED)


def test_a_changed_byte_is_refused_or_harmless():
    """Never another graph, and never fewer arrays than were written."""
    tried, loaded, failures = 0, 0, []
    with check.folder() as folder:
        for arrays, write, bits in ((small(), np.savez, two_ways), (small_csr(), np.savez_compressed, two_ways),
                                    (small(), save, every_bit), (small_csr(), save, every_bit)):
            path = f"{folder}/graph.npz"
            write(path, **arrays)
            expected = fingerprint(path)
            for at, change in changes(path, bits):
                tried += 1
                try:
                    found = fingerprint(path)
                except REFUSED:
                    continue
                except pl.PlimsollError as error:
                    failures.append(f"byte {at} ^ {change:#x}: {error!r}")
                    continue
                loaded += 1
                if found != expected:
                    failures.append(f"byte {at} ^ {change:#x} loads as another graph; zipfile: {opinion(path)}")
    print(f"  {tried} bytes changed: {tried - loaded} refused, {loaded} loaded, {len(failures)} of them wrongly")
    assert not failures, "\n".join([*failures[:10], f"… {len(failures)} in all"])


def save(path, **arrays):
    """The library's own archive of these arrays."""
    np.savez(path, **arrays)
    with pl.Graph.load(path) as graph:
        graph.save(path)


def every_bit(_):
    """Each bit of a byte."""
    return [1 << bit for bit in range(8)]


def two_ways(at):
    """All bits of a byte, and one."""
    return 0xFF, 1 << (at % 8)


def changes(path, bits):
    """Changes each byte of a file, one at a time, and yields where and how while it is changed."""
    with open(path, "rb") as file:
        content = file.read()
    with open(path, "r+b", buffering=0) as file:
        for at, byte in enumerate(content):
            for change in bits(at):
                os.pwrite(file.fileno(), bytes([byte ^ change]), at)
                yield at, change
            os.pwrite(file.fileno(), bytes([byte]), at)


def fingerprint(path):
    """Everything about a graph as bytes: Â, ÂX, labels and splits."""
    with pl.Graph.load(path) as graph:
        n, width = graph.num_nodes, graph.num_features
        parts = [getattr(graph, split) for split in SPLITS]
        parts.append(graph.labels if graph.num_classes else np.zeros(0))
        if width:
            parts.append(model_of([np.eye(width)]).embed(graph, 0))
        if n < 100:
            graph.features = np.eye(n, dtype=np.float32)
            parts.append(model_of([np.eye(n)]).embed(graph, 0))
        return n, graph.num_edges, width, [part.tobytes() for part in parts]


def opinion(path):
    """What Python's zipfile reports about an archive."""
    try:
        with zipfile.ZipFile(path) as archive:
            return archive.testzip() or "fine"
    except Exception as error:
        return error


def test_archives_without_arrays_are_refused():
    with check.folder() as folder:
        path = f"{folder}/graph.npz"
        good = {f"{key}.npy": npy(a) for key, a in small().items()}
        nested = b"{'descr': " + b"(" * 60000 + b", 'fortran_order': False, 'shape': (5, 2)}\n"
        deep = b"{'descr': '<i4', 'fortran_order': False, 'shape': " + b"[" * 1000 + b"]" * 1000 + b"}\n"
        for what, members in (
            ("an empty archive", {}),
            ("a text", {"README.txt": b"hello"}),
            ("arrays without .npy", {key[:-4]: a for key, a in good.items()}),
            ("arrays in a folder", {f"graph/{key}": a for key, a in good.items()}),
            ("a text for an array", good | {"edges.npy": b"0 1\n1 2\n"}),
            ("nothing for an array", good | {"edges.npy": b""}),
            ("a header for an array", good | {"edges.npy": good["edges.npy"][:128]}),
            ("half a header for an array", good | {"edges.npy": good["edges.npy"][:40]}),
            ("a header that would take a deep stack to read", good | {
                "edges.npy": b"\x93NUMPY\x02\x00" + struct.pack("<I", len(nested)) + nested}),
            ("a header that would take long to read", good | {
                "edges.npy": b"\x93NUMPY\x01\x00" + struct.pack("<H", len(deep)) + deep}),
            ("an array and more", good | {"edges.npy": good["edges.npy"] + b"\0" * 8}),
            ("an array of version 9", good | {"edges.npy": good["edges.npy"][:6] + b"\x09" + good["edges.npy"][7:]}),
            ("an array of objects", good | {"labels.npy": npy(np.array([None] * 7, object))}),
            ("an array of records", good | {"edges.npy": npy(np.zeros(5, [("u", "<i4"), ("v", "<i4")]))}),
        ):
            write_members(path, members)
            refused(path, what)
        for what, content in (("nothing", b""), ("a text", b"hello" * 100), ("zeros", bytes(1000)),
                              ("an array", npy(small()["edges"])), ("only the end of a zip", b"PK\x05\x06" + bytes(18))):
            with open(path, "wb") as file:
                file.write(content)
            refused(path, f"a file of {what}")


def test_a_path_that_cannot_be_read_or_written_is_a_file_error():
    with check.folder() as folder, graph_of_edges(2, np.array([[0, 1]])) as graph:
        refused(folder, "a folder", REFUSED)
        refused(f"{folder}/none.npz", "a file that does not exist", pl.FileError)
        for path in (f"{folder}/none/graph.npz", folder):
            try:
                graph.save(path)
                raise AssertionError(f"a graph was saved at {path!r}")
            except pl.FileError:
                pass
        assert os.listdir(folder) == [], "a failed save leaves nothing behind"
        graph.save(f"{folder}/naïve ünï.npz")
        assert os.listdir(folder) == ["naïve ünï.npz"]
        with pl.Graph.load(f"{folder}/naïve ünï.npz") as again:
            assert again.num_edges == 1


def test_damaged_models_are_refused():
    """The library adds checksums to a safetensors file: every change is found."""
    with check.folder() as folder, pl.Model.gcn([3, 4, 2], seed=1) as model:
        path = f"{folder}/model.safetensors"
        model.set_regularization(0.125)
        model.save(path)
        with open(path, "rb") as file:
            content = bytearray(file.read())
        size, = struct.unpack("<Q", content[:8])
        header = json.loads(content[8:8 + size])
        assert {k: v["shape"] for k, v in header.items() if k != "__metadata__"} == {
            "convs.0.lin.weight": [4, 3], "convs.1.lin.weight": [2, 4]}
        for l, w in enumerate(model.weights):
            begin, end = header[f"convs.{l}.lin.weight"]["data_offsets"]
            stored = np.frombuffer(content[8 + size + begin:8 + size + end], "<f4").reshape(w.shape[::-1])
            check.same(stored.T, w, f"W({l}) in the file")

        for at, change in itertools.chain(changes(path, every_bit), changes(path, two_ways)):
            assert not attempt(path), f"byte {at} ^ {change:#x} was loaded"
        for size in range(len(content) - 1, -1, -1):
            os.truncate(path, size)
            assert not attempt(path), f"{size} of {len(content)} bytes were loaded"


def attempt(path):
    """Whether a model loads; if it does not, the error must be the right one."""
    try:
        pl.Model.load(path).close()
        return True
    except REFUSED:
        return False


if __name__ == "__main__":
    sys.exit(check.run(check.named(globals())))
