"""I/O faults: every open, write, fsync, rename, close, read and seek of a save, a load and a training run with checkpoints
fails in turn, once or permanently, with EIO, ENOSPC and EMFILE. Also a file system that is full.

Promise: the call returns a status. The old file is unchanged and loads, or the new one is complete. No other files remain, and
afterwards the same call succeeds.

  iofault.py [--long]
"""
import argparse
import ctypes
import errno
import os
import resource
import shutil
import subprocess
import sys

import children
import shim as shims
import world as worlds
from world import World, load

OK, IO, BAD_FORMAT, OUT_OF_MEMORY = 0, 6, 7, 8
KINDS = ["open", "write", "fsync", "rename", "close", "read", "stat", "unlink", "seek"]
ERRORS = [errno.EIO, errno.ENOSPC, errno.EMFILE, errno.EACCES, errno.EDQUOT]


def remove(path):
    if os.path.isdir(path):
        shutil.rmtree(path)
    elif os.path.exists(path):
        os.remove(path)


class Faults:
    def __init__(self):
        self.library = ctypes.CDLL(None)
        self.library.iofault_arm.argtypes = [ctypes.c_char_p, ctypes.c_int, ctypes.c_long, ctypes.c_int, ctypes.c_int,
                                             ctypes.c_int]
        self.library.iofault_disarm.restype = self.library.iofault_count.restype = ctypes.c_long

    def during(self, folder, kind, n, error, forever, short, call):
        """The result of a call during which operations fail, and the number of failures."""
        self.library.iofault_arm(folder.encode(), KINDS.index(kind), n, error, forever, short)
        result = call()
        return result, self.library.iofault_disarm()


class Scenario:
    """Something that reads or writes a file."""

    def __init__(self, library, folder):
        self.world = World(library, folder)
        self.path = self.world.file("the file")

    def make(self):
        """Drops all handles."""
        self.world.close()

    def message(self):
        return self.world.last_error().decode(errors="replace")

    def made(self, function, *arguments):
        """Calls a function that makes something, which the end of the process frees. A failure leaves its out-parameter alone."""
        out = ctypes.c_void_p(0x5a5a)
        status = function(*arguments, ctypes.addressof(out))
        assert (status == OK) == (out.value != 0x5a5a), "an out-parameter was written"
        return status

    def again(self):
        """What to do before a second call."""

    def content(self):
        if not os.path.exists(self.path):
            return None
        if os.path.isdir(self.path):
            return {name: open(os.path.join(self.path, name), "rb").read() for name in sorted(os.listdir(self.path))}
        with open(self.path, "rb") as file:
            return file.read()


class SaveGraph(Scenario):
    def call(self):
        return self.world.graph_save(self.world.handle("plim_graph"), self.path.encode())

    def old(self):
        graph = self.world.new("graph_from_mixture", 30, 5)
        self.world.ok("graph_save", graph, self.path.encode())
        self.world.graph_free(graph)

    def loads(self):
        return self.world.witness("plim_graph", self.world.new("graph_load", self.path.encode()))


class SaveModel(Scenario):
    def call(self):
        return self.world.model_save(self.world.handle("plim_model"), self.path.encode())

    def old(self):
        model = self.world.new("model_gcn", worlds.cells("N", [3, 2, 2]), 3, 9)
        self.world.ok("model_save", model, self.path.encode())
        self.world.model_free(model)

    def loads(self):
        return self.world.witness("plim_model", self.world.new("model_load", self.path.encode()))


class Train(Scenario):
    """Writes a checkpoint after each of 3 epochs, and resumes from the last one."""

    kinds = ("plim_model", "plim_graph", "plim_estimator", "plim_optimizer", "plim_train_options")

    def call(self):
        world = self.world
        world.close()
        options = world.handle("plim_train_options")
        world.ok("train_options_set_checkpoint", options, self.path.encode(), 1)
        world.ok("train_options_set_resume", options, self.path.encode())
        return world.train(*[world.handle(kind) for kind in self.kinds], None)

    def old(self):
        if os.path.exists(self.path):
            os.remove(self.path)

    def loads(self):
        """The parameters at the end of the resumed run."""
        ctypes.CDLL(None).iofault_disarm()
        assert self.call() == OK, self.message()
        return self.world.copied("model_get_parameters", "f", worlds.PARAMETERS, self.world.handle("plim_model"))


class LoadGraph(SaveGraph):
    def call(self):
        return self.made(self.world.graph_load, self.path.encode())


class SaveStore(Scenario):
    """Saves into a new directory: an existing one is never overwritten."""

    def call(self):
        return self.world.graph_save_store(self.world.handle("plim_graph"), self.path.encode())

    def old(self):
        remove(self.path)

    again = old

    def loads(self):
        graph = self.world.new("graph_load", self.path.encode())
        state = self.world.witness("plim_graph", graph)
        self.world.graph_free(graph)  # it maps its files
        return state


class LoadStore(LoadGraph):
    def old(self):
        if not os.path.exists(self.path):
            self.world.ok("graph_save_store", self.world.handle("plim_graph"), self.path.encode())


class LoadMatrix(LoadGraph):
    def old(self):
        with open(self.path, "w", encoding="utf-8") as file:
            file.write("%%MatrixMarket matrix coordinate real general\n3 3 2\n1 2 0.5\n3 1 2\n")


class LoadEdges(LoadMatrix):
    def old(self):
        with open(self.path, "w", encoding="utf-8") as file:
            file.write("0,1\n1,2\n")

    def call(self):
        return self.made(self.world.graph_from_edge_list, self.path.encode(), 0)

    def loads(self):
        return self.world.witness("plim_graph", self.world.new("graph_from_edge_list", self.path.encode(), 0))


class LoadModel(SaveModel):
    def call(self):
        return self.made(self.world.model_load, self.path.encode())


def run_scenario(library, kind_of_scenario, options, tell):
    faults = Faults()
    tried = 0
    with children.folder() as folder:
        inside = os.path.join(folder, "inside")
        os.mkdir(inside)
        s = kind_of_scenario(library, inside)
        s.old()
        before, before_loaded = s.content(), s.loads() if s.content() else None
        s.old()
        assert s.call() == OK, s.message()
        after, after_loaded = s.content(), s.loads()
        training = isinstance(s, Train)

        # write() may write only a part.
        s.old()
        status, _ = faults.during(inside, "write", -1, errno.EIO, 0, 1, s.call)
        # A checkpoint contains times: its bytes differ, the run that it leads to does not.
        if status != OK or s.loads() != after_loaded or not training and s.content() != after:
            tell("failed", f"short writes: status {status}: {s.message()}")

        for kind in KINDS:
            for error in ERRORS if options.long else ERRORS[:3]:
                for forever in (0, 1):
                    n = 0
                    while True:
                        what = f"{kind} {n} {'and all later ones' if forever else 'only'}, {errno.errorcode[error]}"
                        tell("case", what)
                        s.old()
                        status, failed = faults.during(inside, kind, n, error, forever, 0, s.call)
                        if not failed:
                            break
                        tried += 1
                        for text in judge(s, status, before, after, before_loaded, after_loaded, training):
                            tell("failed", f"{what}: {text}")
                        strays = [name for name in os.listdir(inside) if name != "the file"]
                        if strays and kind != "unlink":
                            tell("failed", f"{what}: leaves {strays}")
                        for name in strays:
                            remove(os.path.join(inside, name))
                        n += 1
    return tried


def judge(s, status, before, after, before_loaded, after_loaded, training):
    if status not in (OK, IO, OUT_OF_MEMORY):
        yield f"status {status}: {s.message()}"
    if status == IO and s.path.rsplit("/", 1)[0] not in s.message():
        yield f"the message does not name the file: {s.message()}"
    if training:
        if s.loads() != after_loaded:
            yield "the resumed run has another result"
        return
    if s.content() != before and s.content() != after:
        yield "the file is neither the old one nor the new one"
    if status == OK and s.content() != after:
        yield "success, but the file is not the new one"
    if s.content() is not None and s.loads() != (before_loaded if s.content() == before else after_loaded):
        yield "it loads as something else"
    s.again()
    if s.call() != OK or s.content() != after:
        yield f"a second try fails: {s.message()}"


def no_descriptors(library, kind_of_scenario, tell):
    """No file descriptor is left."""
    with children.folder() as folder:
        s = kind_of_scenario(library, folder)
        s.old()
        before = s.content()
        tell("case", "no descriptor is left")
        limit = resource.getrlimit(resource.RLIMIT_NOFILE)
        free = os.dup(0)
        os.close(free)
        resource.setrlimit(resource.RLIMIT_NOFILE, (free, limit[1]))
        status = s.call()
        resource.setrlimit(resource.RLIMIT_NOFILE, limit)
        if status != IO or s.content() != before:
            tell("failed", f"no descriptor is left: status {status}: {s.message()}")
        s.again()
        if s.call() != OK:
            tell("failed", f"a second try fails: {s.message()}")
        return 1


def full_disk(library, kind_of_scenario, tell):
    """A file system that is almost full."""
    with children.folder() as folder:
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", folder], capture_output=True).returncode:
            tell("skipped", "mount")
            return 0
        tried = 0
        try:
            for room in range(0, 16 * 4096, 4096):
                s = kind_of_scenario(library, folder)
                s.old()
                before, old = s.content(), s.loads() if s.content() else None
                s.old()
                with open(os.path.join(folder, "ballast"), "wb", buffering=0) as ballast:
                    space = os.statvfs(folder)
                    ballast.write(b"x" * max(0, space.f_bavail * space.f_frsize - room))
                tell("case", f"{room} bytes are free")
                status = s.call()
                os.remove(os.path.join(folder, "ballast"))
                tried += 1
                left = [name for name in os.listdir(folder) if name != "the file"]
                if status not in (OK, IO) or left or (status == IO and old is not None and s.content() != before):
                    tell("failed", f"{room} bytes are free: status {status}: {s.message()} {left}")
                if s.content() is not None:
                    s.loads()
        finally:
            os.chdir("/")
            subprocess.run(["umount", folder], check=True)
        return tried


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--long", action="store_true")
    options = parser.parse_args()
    shims.preload("iofault")
    library = load()
    total, failed = 0, 0
    mountable = os.geteuid() == 0
    for kind in (SaveGraph, SaveModel, SaveStore, Train, LoadGraph, LoadModel, LoadStore, LoadMatrix, LoadEdges):
        bodies = [lambda tell: run_scenario(library, kind, options, tell),
                  lambda tell: no_descriptors(library, kind, tell)]
        if kind in (SaveGraph, SaveModel, SaveStore, Train):
            bodies.append(lambda tell: full_disk(library, kind, tell))
        for body in bodies:
            count, failures, _ = children.run(body)
            mountable = mountable and (count > 0 or bool(failures))
            total += count
            failed += len(failures)
            for failure in failures:
                print(f"{kind.__name__}: {failure}")
    if not mountable:
        print("\n*** NOT CHECKED: a full file system, because this user may not mount one ***\n", file=sys.stderr)
    print(f"I/O faults: {total}; {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
