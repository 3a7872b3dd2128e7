"""A store several times larger than the memory of its process trains, with the same bits as without a limit.

NumPy writes the store. One limit is a memory cgroup, which counts mapped files too and requires root. The other is
RLIMIT_DATA, which every user can set and which does not count mapped files.
"""
import json
import os
import re
import resource
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from support import check

PROGRAM = Path(os.environ["PLIMSOLL_LIB"]).parents[1] / "ctest" / "examples" / "c" / "big_graph"
NODES, DEGREE, FEATURES, CLASSES = 400_000, 8, 256, 4
LIMIT = 96 << 20


def write_store(path):
    """Classes that follow from the mean of the neighbours' features: 410 MB of features, 38 MB of Â. Returns the bytes."""
    rng = np.random.default_rng(0)
    path.mkdir()
    labels = rng.integers(0, CLASSES, NODES, dtype=np.int32)
    np.save(path / "labels.npy", labels)
    # Rows of Â: the node itself and others, mostly of its own class, with equal weights.
    by_class = [np.flatnonzero(labels == c).astype(np.int32) for c in range(CLASSES)]
    columns = rng.integers(0, NODES, (NODES, DEGREE), dtype=np.int32)
    for c, members in enumerate(by_class):
        columns[members, : DEGREE - 2] = rng.choice(members, (len(members), DEGREE - 2))
    columns[:, -1] = np.arange(NODES)
    columns.sort(axis=1)
    keep = np.ones(columns.shape, bool)
    keep[:, 1:] = columns[:, 1:] != columns[:, :-1]
    indptr = np.zeros(NODES + 1, np.int64)
    np.cumsum(keep.sum(1), out=indptr[1:])
    np.save(path / "indptr.npy", indptr)
    np.save(path / "indices.npy", columns[keep])
    np.save(path / "values.npy", np.repeat((1 / np.diff(indptr)).astype(np.float32), np.diff(indptr)))
    features = np.lib.format.open_memmap(path / "features.npy", "w+", np.float32, (NODES, FEATURES))
    for begin in range(0, NODES, 50_000):
        rows = rng.standard_normal((50_000, FEATURES), dtype=np.float32)
        rows[np.arange(50_000), labels[begin : begin + 50_000]] += 2
        features[begin : begin + 50_000] = rows
    features.flush()
    nodes = rng.permutation(NODES).astype(np.int32)
    np.save(path / "train.npy", nodes[:2000])
    np.save(path / "test.npy", nodes[2000:4000])
    meta = {"format": "plimsoll-store", "version": 1, "normalization": "none"}
    (path / "meta.json").write_text(json.dumps(meta))
    return sum(file.stat().st_size for file in path.iterdir())


def forget(store):
    """Drops the store from the kernel's page cache, which does not count towards the limit."""
    for file in store.iterdir():
        descriptor = os.open(file, os.O_RDONLY)
        os.fsync(descriptor)
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(descriptor)


def run(store, before=None):
    """The accuracy and the kilobytes of own memory that the program prints."""
    done = subprocess.run([PROGRAM, store, "3"], capture_output=True, text=True, preexec_fn=before, timeout=300)
    assert done.returncode == 0, f"status {done.returncode}: {done.stdout} {done.stderr}"
    return float(re.search(r"accuracy ([\d.]+)", done.stdout)[1]), int(re.search(r"training: (-?\d+) kB", done.stdout)[1])


@contextmanager
def cgroup(limit):
    """A memory cgroup with this limit: its folder and the file of its peak. Skips the test where there can be none."""
    first = Path("/sys/fs/cgroup/memory")
    old = first.is_dir()
    folder = (first if old else Path("/sys/fs/cgroup")) / f"plimsoll-{os.getpid()}"
    try:
        folder.mkdir()
    except OSError as error:
        raise check.Skip(f"no memory cgroup can be made here: {error}") from None
    try:
        try:
            (folder / ("memory.limit_in_bytes" if old else "memory.max")).write_text(str(limit))
        except OSError as error:
            raise check.Skip(f"a memory cgroup accepts no limit here: {error}") from None
        yield folder, folder / ("memory.max_usage_in_bytes" if old else "memory.peak")
    finally:
        folder.rmdir()


def main():
    with check.folder() as folder:
        store = Path(folder) / "store"
        size = write_store(store)
        free = run(store)

        def a_store_larger_than_the_memory_of_its_cgroup_trains():
            assert size > 4 * LIMIT
            forget(store)
            with cgroup(LIMIT) as (group, peak):
                found = run(store, lambda: (group / "cgroup.procs").write_text(str(os.getpid())))
                used = int(peak.read_text()) if peak.exists() else LIMIT
                print(f"  {size >> 20} MB of store, {LIMIT >> 20} MB of memory, at most {used >> 20} MB used, "
                      f"{found[1] >> 10} MB of its own; test accuracy {found[0]}")
                assert used <= LIMIT and found[0] == free[0], (used, found, free)

        def a_store_is_not_read_into_the_process():
            bound = 64 << 20
            found = run(store, lambda: resource.setrlimit(resource.RLIMIT_DATA, (bound, bound)))
            print(f"  {size >> 20} MB of store, {bound >> 20} MB of own memory allowed, {found[1] >> 10} MB used")
            assert found[0] == free[0] and found[1] < 48 << 10, (found, free)

        tests = [a_store_larger_than_the_memory_of_its_cgroup_trains, a_store_is_not_read_into_the_process]
        return check.run([(test.__name__.replace("_", " "), test) for test in tests])


if __name__ == "__main__":
    sys.exit(main())
