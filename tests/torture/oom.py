"""Out of memory: for every function of the header the n-th allocation fails, for every n, once or permanently.

Promise: the status is 8, or the result is right without that memory. Nothing aborts, prints or leaks, and out-parameters are not
written. With memory, the same call on the same handles has the same bits.

  oom.py [--long] [--list] [function …]     --list shows the allocations whose failure aborts
"""
import argparse
import collections
import ctypes
import os
import re
import signal
import subprocess
import sys

import children
import shim as shims
import world as worlds
from bad_input import state_after_base
from world import World, load, ROOT

OK, OUT_OF_MEMORY = 0, 8
LARGE = 1 << 19  # larger than any block of the library's reserve: each of these must be requested fallibly


class Report(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("depth", ctypes.c_int), ("frames", ctypes.c_void_p * 48)]


class Shim:
    def __init__(self):
        self.library = ctypes.CDLL(None)
        self.library.oom_report.restype = ctypes.POINTER(Report)
        self.library.oom_call.restype = ctypes.c_int64
        for name in ("seen", "failures", "live"):
            getattr(self.library, "oom_" + name).restype = ctypes.c_long

    def __getattr__(self, name):
        return getattr(self.library, "oom_" + name)()

    def caller(self, n, for_good, least):
        """Calls a function while its n-th allocation fails; none fails if n is -1."""

        def through(function, arguments):
            whole, real = [], []
            for kind, value in zip(function.argtypes, arguments):
                (real if kind is ctypes.c_double else whole).append(value or 0)
            whole = (ctypes.c_int64 * 10)(*[x - 2 ** 64 if x >= 2 ** 63 else x for x in whole])
            real = (ctypes.c_double * 8)(*real)
            returned = self.library.oom_call(ctypes.c_long(n), ctypes.c_int(for_good), ctypes.c_size_t(least),
                                           ctypes.cast(function, ctypes.c_void_p), whole, real)
            if function.restype is None or function.restype is ctypes.c_double:
                return None
            if function.restype is ctypes.c_char_p:
                return ctypes.string_at(returned)
            return function.restype(returned).value

        return through


def variations():
    """(name, change of the world before the call, function) in addition to the plain valid calls."""

    def checkpoints(world):
        """A failed run resumes from its last checkpoint."""
        if os.path.exists(world.file("run")):
            os.remove(world.file("run"))
        options = world.handle("plim_train_options")
        world.ok("train_options_set_checkpoint", options, world.file("run").encode(), 1)
        world.ok("train_options_set_resume", options, world.file("run").encode())

    def resumes(world):
        if not os.path.exists(world.file("begun")):
            other = World(world.library, world.folder)
            options = other.handle("plim_train_options")
            other.ok("train_options_set_checkpoint", options, world.file("begun").encode(), 1)
            other.ok("train_options_set_epochs", options, 1)
            kinds = ("plim_model", "plim_graph", "plim_estimator", "plim_optimizer", "plim_train_options")
            other.ok("train", *[other.handle(k) for k in kinds], None)
        world.ok("train_options_set_resume", world.handle("plim_train_options"), world.file("begun").encode())

    def adapts(world):
        world.ok("train_options_set_adaptive", world.handle("plim_train_options"), 0.5, 1, 2, 16)

    def threads(world):
        world.ok("model_set_threads", world.handle("plim_model"), 2)

    def estimator(make, *arguments):
        def change(world):
            world.cached["plim_estimator"] = world.new("estimator_" + make, *arguments)
        return change

    def distribution(number):
        return lambda world: world.ok("estimator_set_distribution", world.handle("plim_estimator"), number)

    def sparse(world):
        arrays = worlds.ARRAYS
        world.ok("graph_set_sparse_features", world.handle("plim_graph"), 3, worlds.cells("q", arrays["indptr"]),
                 worlds.cells("i", arrays["plim_graph_set_sparse_features.indices"]),
                 worlds.cells("f", arrays["values"]))

    def larger(world):
        """5,000 nodes, whose arrays are not small."""
        world.cached["plim_graph"] = world.new("graph_from_mixture", 1667, 1)
        world.cached["plim_model"] = world.new("model_gcn", worlds.cells("N", [2, 16, 3]), 3, 1)
        world.cached["plim_estimator"] = world.new("estimator_consistent", worlds.cells("N", [300, 300]), 2)
        world.cached["plim_optimizer"] = world.new("optimizer_sgd", 0.1)

    def layered(world):
        """A model of layers with a batch norm, and an optimizer for it."""
        world.cached["plim_model"] = world.new("model_new", world.handle("plim_layers"), 3)
        world.cached["plim_optimizer"] = world.new("optimizer_adam", 0.1)

    def attention(world):
        """Attention of both kinds, with dropout, and predictions that hold all they can in files."""
        layers = world.new("layers_new", worlds.FEATURES)
        for width, version in ((3, 1), (worlds.CLASSES, 2)):
            world.ok("layers_gat", layers, width, 2, version)
            world.ok("layers_set_attention_dropout", layers, 0.25)
        world.ok("layers_set_heads", layers, 1)
        world.ok("layers_set_self_loops", layers, 0)
        world.ok("layers_activation", layers, 4)
        world.cached["plim_model"] = world.new("model_new", layers, 3)
        world.ok("model_set_scratch", world.cached["plim_model"], world.folder.encode(), 0)
        world.cached["plim_optimizer"] = world.new("optimizer_adam", 0.1)
        world.library.plim_layers_free(layers)

    def big_model(world):
        world.cached["plim_model"] = world.new("model_gcn", worlds.cells("N", [3, 40000, 2]), 3, 1)
        world.cached["plim_optimizer"] = world.new("optimizer_adam", 0.1)
        world.ok("optimizer_set_averaging", world.cached["plim_optimizer"], 1)

    def big_graph(world):
        nodes = 1 << 18
        ring = list(range(nodes))
        graph = world.new("graph_from_edges", nodes, nodes, worlds.cells("i", ring),
                          worlds.cells("i", ring[1:] + ring[:1]), worlds.cells("f", [0.5] * nodes))
        world.ok("graph_set_features", graph, 3, worlds.cells("f", [0.5, 1.0, 0.25] * nodes))
        world.ok("graph_set_labels", graph, worlds.cells("i", [0, 1] * (nodes // 2)))
        for split in range(3):
            world.ok("graph_set_split", graph, split, worlds.cells("i", ring), nodes)
        world.cached["plim_graph"] = graph

    def both(*changes):
        return lambda world: [change(world) for change in changes]

    for function in ("plim_graph_save", "plim_graph_load", "plim_graph_set_normalization", "plim_model_evaluate",
                     "plim_train", "plim_graph_copy_labels", "plim_graph_normalize_features", "plim_tail_new"):
        yield "big graph", big_graph, function
    yield "big graph full", both(big_graph, estimator("full")), "plim_train"
    yield "big graph unbiased", both(big_graph, estimator("unbiased")), "plim_train"
    for number in range(4):
        yield f"big graph, distribution {number}", both(big_graph, distribution(number)), "plim_estimator_gradient"
    for function in ("plim_model_save", "plim_model_load", "plim_model_clone", "plim_model_evaluate",
                     "plim_model_get_parameters", "plim_train", "plim_model_embed", "plim_estimator_gradient"):
        yield "big model", big_model, function
    yield "big model with checkpoints", both(big_model, checkpoints), "plim_train"
    yield "big model with threads", both(big_model, threads), "plim_train"
    yield from (("with checkpoints", checkpoints, "plim_train"), ("resumed", resumes, "plim_train"),
                ("adaptive", adapts, "plim_train"), ("with threads", threads, "plim_train"),
                ("larger", larger, "plim_train"), ("larger", larger, "plim_model_evaluate"),
                ("larger", larger, "plim_graph_save"), ("sparse", sparse, "plim_graph_save"),
                ("sparse", sparse, "plim_model_predict"), ("with threads", threads, "plim_tail_new"),
                ("with threads", threads, "plim_model_clone"), ("sparse", sparse, "plim_estimator_gradient"),
                ("unbiased", estimator("unbiased"), "plim_estimator_gradient"),
                ("unbiased", estimator("unbiased"), "plim_train"), ("full", estimator("full"), "plim_train"))
    for function in ("plim_model_clone", "plim_model_predict", "plim_model_embed_value", "plim_model_evaluate",
                     "plim_estimator_gradient", "plim_train", "plim_tail_new"):
        yield "layers", layered, function
        yield "attention", attention, function
    yield "layers, full", both(layered, estimator("full")), "plim_train"
    yield "attention, full", both(attention, estimator("full")), "plim_train"
    for number in range(4):
        yield f"distribution {number}", distribution(number), "plim_estimator_gradient"


def run_case(library, shim, function, name, prepare, start, for_good, stop, tell):
    """Calls the function while allocation `start`, `start` + 1, … fails. Ends when no allocation fails any more."""
    with children.folder() as folder:
        os.mkdir(os.path.join(folder, "folder"))
        os.chdir(folder)

        for _ in range(2):  # the first time makes what is made once per process
            _, expected = state_after_base(library, folder, function, None, prepare)
        if isinstance(expected, str):
            tell("failed", expected)
            return 0
        held, tried = None, 0
        for n in range(start, stop):
            tell("case", str(n))
            outcome = {}

            def failing(world, values):
                result = world.call(function, values, shim.caller(n, for_good, LARGE if "big" in name else 0))
                outcome.update(result=result, failures=shim.failures, resumable=os.path.exists(world.file("run")))
                for p in function.parameters:
                    if p.name in result.handles:
                        getattr(library, p.type + "_free")(result.handles[p.name])

            signal.alarm(20)
            _, found = state_after_base(library, folder, function, failing, prepare)
            signal.alarm(0)
            result = outcome["result"]
            tried += 1
            continues = function.name in ("plim_train", "plim_rank_train") and not (outcome["resumable"] or name == "resumed")
            for text in judge(function, continues, result, outcome["failures"], found, expected):
                tell("failed", f"allocation {n}, {'and all later ones' if for_good else 'only'}: {text}")
            strays = [name for name in os.listdir(folder) if name.endswith(".tmp")]
            if strays:
                tell("failed", f"allocation {n}: leaves {strays[0]}")
                [os.remove(os.path.join(folder, name)) for name in strays]
            held = shim.live if held is None else held
            if outcome["failures"] == 0:
                break
        if shim.live > held + 8:
            tell("failed", f"{shim.live - held} blocks are not freed after {tried} failures")
        return tried


# At the start of a thread, a failed allocation has to end the process: glibc's for thread-local data, and 48 bytes of Rust's,
# which always come from the system's allocator and not from ours.
ENDED_BY_SYSTEM = ("cannot allocate memory for thread-local data", "failed to register TLS destructor",
                   "memory allocation of 48 bytes failed")


# What a message about missing memory says, once: how many bytes for what. The system does not say how many it lacked.
NAMED = re.compile(r"cannot allocate (?!.*cannot allocate)([0-9,]+ bytes for the [^ ]|memory to (read|write) .+(, for| in) .)"
                   r"|cannot start [0-9]+ threads")

# Functions that succeed only once on the same handles.
ONCE = ("plim_rank_data_standardize",)


def starts_threads(function, name):
    return function.name == "plim_model_set_threads" or "with threads" in name


def judge(function, continues, result, failures, found, expected):
    """What is wrong. Training keeps its completed steps, so a second call continues from there, unless there is a
    checkpoint."""
    if isinstance(found, str):
        if not (result.value == OK and function.name in ONCE):
            yield f"status {result.value}, and afterwards {found}"
    elif function.gives_status:
        if result.value not in (OK, OUT_OF_MEMORY):
            yield f"status {result.value}: {result.message}"
        if result.value == OUT_OF_MEMORY and not NAMED.match(result.message):
            yield f"the message does not say what memory was for: {result.message}"
        if result.value != OK and not (result.untouched and result.message):
            yield "an out-parameter was written, or there is no message"
        if result.value == OUT_OF_MEMORY and found != expected and not continues:
            yield "with memory the call has another result"
        if result.value == OK and not result.handles:
            if {n: b for n, b in result.after.items()} != expected[1]:
                yield "success with another result"
    elif failures == 0 and found != expected:
        yield "afterwards the call has another result"


def described(report):
    """Size and place of a failed allocation, from addr2line."""
    frames = [f for f in report.frames[:report.depth] if f]
    path, base = os.environ["PLIMSOLL_LIB"], None
    with open("/proc/self/maps", encoding="utf-8") as maps:
        for line in maps:
            if line.rstrip().endswith(os.path.basename(os.path.realpath(path))):
                base = int(line.split("-")[0], 16)
                break
    if base is None:
        return f"{report.size} bytes"
    addresses = [hex(f - 1 - base) for f in frames if 0 <= f - base < 1 << 28]
    text = subprocess.run(["addr2line", "-e", path, "-f", "-i", "-C", *addresses], capture_output=True,
                          text=True).stdout.splitlines()
    places = [f"{n.split('<')[0].split('::')[-1] if 'plimsoll' not in n else n} {f.split('/src/')[-1]}"
              for n, f in zip(text[::2], text[1::2])
              if ("/wt" in f or "src/" in f) and "/rustc/" not in f and "capi/guard" not in f]
    return f"{report.size} bytes: " + " < ".join(places[:4])


def run_function(library, shim, function, name, prepare, options):
    """Both modes. Returns the number of failed allocations, the errors, the aborts and the ends at the start of a thread."""
    total, failures, aborts, ended = 0, [], [], 0
    for for_good in (0, 1):
        start = 0
        while True:
            stop = 10 ** 6 if options.long else 250  # reading an .npz takes some 600
            count, failed, cases = children.run(
                lambda tell: run_case(library, shim, function, name, prepare, start, for_good, stop, tell))
            died = [f for f in failed if "died of" in f]
            by_system = starts_threads(function, name) and any(t in f for f in failed for t in ENDED_BY_SYSTEM)
            failures += [f for f in failed if "died of" not in f and not (died and f.startswith("printed:"))]
            total += max(count, cases)
            if not died:
                break
            start += cases
            ended += by_system
            if by_system:
                continue
            aborts.append(described(shim.report.contents) if options.list or not aborts else "")
    return total, failures, aborts, ended


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--long", action="store_true")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--only", default="", help="only variations with this in their name")
    parser.add_argument("functions", nargs="*")
    options = parser.parse_args()
    shims.preload("oom")
    os.environ.setdefault("PLIMSOLL_LIB", os.path.join(ROOT, "target", "release", "libplimsoll.so"))
    library, shim = load(), Shim()
    plain = [("plain", lambda world: None, f.name) for f in World.header.functions]
    by_name = {f.name: f for f in World.header.functions}
    total, failed, aborted, ended, where = 0, 0, 0, 0, collections.Counter()
    for name, prepare, function in plain + list(variations()):
        if options.functions and function not in options.functions or options.only not in name:
            continue
        if "big" in name and not (options.long or options.only):
            continue
        count, failures, aborts, by_system = run_function(library, shim, by_name[function], name, prepare, options)
        total += count
        ended += by_system
        failed += len(failures)
        aborted += len(aborts)
        where.update(aborts)
        for failure in failures:
            print(f"{function} {name}: {failure}")
        if aborts and not options.list:
            print(f"{function} {name}: {len(aborts)} of {count} failures abort, for example {aborts[0]}")
        elif options.list:
            print(f"{function} {name}: {count} tried, {len(aborts)} abort", flush=True)
    if options.list:
        for text, count in where.most_common():
            print(f"{count:6} {text}")
    print(f"out of memory: {total} failed allocations, {ended} of them at the start of a thread, where the system ends the "
          f"process; {aborted} aborted, {failed} failed")
    return 1 if failed or aborted else 0


if __name__ == "__main__":
    sys.exit(main())
