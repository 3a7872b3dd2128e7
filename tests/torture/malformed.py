"""Malformed files: every truncation and every flipped bit of a small valid file of each format.

Promise: loading returns a status or an object that works. It does not crash, hang or exhaust the memory. Every change of a
checkpoint, a model and a store's array is detected. To add a format, add a line to FORMATS.

  malformed.py [--long] [format …]          without --long: every truncation, and 3,000 of the flips
"""
import argparse
import ctypes
import os
import random
import shutil
import signal
import sys

import children
import world as worlds
from world import World, load

OK, SHAPE, IO, BAD_FORMAT, OUT_OF_MEMORY, UNSUPPORTED = 0, 3, 6, 7, 8, 12
MEMORY = 2 << 30


def load_handle(name, *more, check=None):
    """Loads with plim_…_load(), uses the result, and asks `check` for a status."""
    kind, _, _ = name.partition("_")

    def loads(world, path):
        out = ctypes.c_void_p(0x5a5a)
        status = getattr(world, name)(path.encode(), *more, ctypes.addressof(out))
        if status != OK:
            return status, out.value == 0x5a5a
        handle = out.value
        state = str(world.witness("plim_" + kind, handle))
        status = check(world, handle) if check else OK
        getattr(world, kind + "_free")(handle)
        return status, "255" not in state.split(",")[0]

    return loads


def save_graph(weighted, sparse):
    def save(world, path):
        graph = world.make("plim_graph")
        if weighted:
            arrays = worlds.ARRAYS
            graph = world.new("graph_from_csr", worlds.NODES, worlds.cells("q", arrays["indptr"]),
                              worlds.cells("i", arrays["indices"]), worlds.cells("f", arrays["values"]))
            world.ok("graph_set_labels", graph, worlds.cells("i", worlds.LABELS))
        if sparse:
            arrays = worlds.ARRAYS
            world.ok("graph_set_sparse_features", graph, 3, worlds.cells("q", arrays["indptr"]),
                     worlds.cells("i", arrays["plim_graph_set_sparse_features.indices"]),
                     worlds.cells("f", arrays["values"]))
        world.ok("graph_save", graph, path.encode())
    return save


def save_model(world, path):
    world.ok("model_save", world.handle("plim_model"), path.encode())


def train(world, path, status_only=False):
    """Resumes a finished run: it reads the checkpoint and has nothing to do."""
    world.close()
    options = world.handle("plim_train_options")
    world.ok("train_options_set_resume", options, path.encode())
    kinds = ("plim_model", "plim_graph", "plim_estimator", "plim_optimizer", "plim_train_options")
    before = world.copied("model_get_parameters", "f", worlds.PARAMETERS, world.handle("plim_model"))
    status = world.train(*[world.handle(kind) for kind in kinds], None)
    after = world.copied("model_get_parameters", "f", worlds.PARAMETERS, world.handle("plim_model"))
    return status, status == OK or before == after


def save_checkpoint(world, path):
    world.close()
    options = world.handle("plim_train_options")
    world.ok("train_options_set_checkpoint", options, path.encode(), 1)
    kinds = ("plim_model", "plim_graph", "plim_estimator", "plim_optimizer", "plim_train_options")
    world.ok("train", *[world.handle(kind) for kind in kinds], None)


STORED = ("meta.json", "indptr.npy", "indices.npy", "values.npy", "features.npy", "self_loops.npy", "labels.npy", "train.npy")


def member(name):
    """One file of a store; the others are intact."""

    def save(world, path):
        world.ok("graph_save_store", world.make("plim_graph"), world.file("store").encode())
        shutil.copy(os.path.join(world.file("store"), name), path)

    def loads(world, path):
        shutil.copy(path, os.path.join(world.file("store"), name))
        return load_handle("graph_load", check=lambda world, handle: world.graph_verify(handle))(world, world.file("store"))

    # Blanks at the end of JSON have no meaning.
    return f"store, {name}", save, loads, name != "meta.json"


def write_text(text):
    def save(_, path):
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
    return save


def load_edge_list(world, path):
    return load_handle("graph_from_edge_list", 0)(world, path)


EDGES = "source,target,weight\n0,1,0.5\n1,2,1e-3\n# a comment\n3,0,2\n"
MATRIX = "%%MatrixMarket matrix coordinate real {}\n% a comment\n4 4 3\n2 1 0.5\n3 3 1e-3\n4 1 2\n"

# Name, function that writes a file, function that reads it (status, whether the result is right), whether every change must be
# detected.
FORMATS = [
    ("npz of edges", save_graph(False, False), load_handle("graph_load"), False),
    ("npz of a matrix", save_graph(True, True), load_handle("graph_load"), False),
    *[member(name) for name in STORED],
    ("edge list", write_text(EDGES), load_edge_list, False),
    ("Matrix Market, general", write_text(MATRIX.format("general")), load_handle("graph_load"), False),
    ("Matrix Market, symmetric", write_text(MATRIX.format("symmetric")), load_handle("graph_load"), False),
    ("safetensors", save_model, load_handle("model_load"), True),
    ("checkpoint", save_checkpoint, train, True),
]


def damaged(content, options):
    """(what, bytes) for every truncation and all flips, or in the short form 3,000 of them."""
    for length in range(len(content)):
        yield f"the first {length} bytes", content[:length]
    yield "a byte more", content + b"\0"
    yield "twice", content + content
    bits = range(8 * len(content))
    if not options.long and len(bits) > 3000:
        bits = sorted(random.Random(options.seed).sample(bits, 3000))
    for bit in bits:
        changed = bytearray(content)
        changed[bit // 8] ^= 1 << bit % 8
        yield f"bit {bit % 8} of byte {bit // 8} flipped", bytes(changed)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--long", action="store_true")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("formats", nargs="*")
    options = parser.parse_args()
    library, total, failed = load(), 0, 0
    for name, save, read, must_find in FORMATS:
        if options.formats and name not in options.formats:
            continue

        def body(tell):
            with children.folder() as folder:
                world, path = World(library, folder), os.path.join(folder, "file")
                save(world, path)
                with open(path, "rb") as file:
                    content = file.read()
                if read(world, path) != (OK, True):
                    tell("failed", f"the valid file does not load: {world.last_error().decode()}")
                tried = found = 0
                for what, changed in damaged(content, options):
                    os.remove(path)
                    with open(path, "wb") as file:
                        file.write(changed)
                    tell("case", what)
                    signal.alarm(20)
                    status, well = read(world, path)
                    signal.alarm(0)
                    tried += 1
                    found += status != OK
                    if status not in (OK, BAD_FORMAT, IO, OUT_OF_MEMORY, SHAPE, UNSUPPORTED) or not well:
                        tell("failed", f"{what}: status {status}: {world.last_error().decode(errors='replace')}")
                    elif status == OK and must_find:
                        tell("failed", f"{what}: it loads")
                tell("told", f"{name} of {len(content)} bytes: {tried} changes, {found} detected")
                return tried

        told = []
        count, failures, _ = children.run(body, MEMORY, told)
        total += count
        failed += len(failures)
        for failure in failures[:10]:
            print(f"{name}: {failure}")
        print("  " + "".join(told))
    print(f"malformed files: {total}; {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
