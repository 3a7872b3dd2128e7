"""Bad input: every function of the header with every kind of wrong argument, each function in its own process.

Promise: the status is not 255, and the message names the argument or its value. Getters return 0. Out-parameters are not
written. Afterwards, a valid call has the same result as without the bad one.

  bad_input.py [--long] [--seed N] [function …]
"""
import argparse
import ctypes
import math
import os
import random
import signal
import sys

import children
from world import Misaligned, World, length_of, load

OK, NULL_POINTER, INVALID, SHAPE, TOO_SMALL, HANDLE, INTERNAL, POISONED = 0, 1, 2, 3, 5, 13, 255, 11
FEWEST = 20
SECONDS = 20  # after this time a call counts as hanging
MEMORY = 6 << 30  # the limit of the process: a size that is too large must not be allocated

SIZE_MAX = 2 ** 64 - 1
SIZES = [0, 1, 2 ** 31, 2 ** 32, 2 ** 62, 2 ** 62 + 1, 2 ** 63, 2 ** 63 + 1, SIZE_MAX // 4, SIZE_MAX // 2, SIZE_MAX - 1, SIZE_MAX]
NUMBERS = [math.nan, math.inf, -math.inf, -1.0, 0.0, -0.0, 5e-324, -5e-324, 1.7976931348623157e308,
           -1.7976931348623157e308, 1e-300, 1e300]
ELEMENTS = {
    "int32_t": [-1, -2, 2 ** 31 - 1, -2 ** 31, 10 ** 6],
    "int64_t": [-1, 2 ** 63 - 1, -2 ** 63, 2 ** 32],
    "size_t": [0, 1, 2 ** 31, 2 ** 32, 2 ** 63, SIZE_MAX],
    "float": [math.nan, math.inf, -math.inf, -1.0, 0.0, 1e-45, 3.4e38, -3.4e38],
    "double": NUMBERS,
}
FOREIGN = [1, 2, 3, 7, 8, 0x1000, 0xdeadbeef, 0x7fff_ffff_ffff, 0x506c_0000_0000_0001, 0x506c_0000_0000_0000,
           0x506c_ffff_ffff_ffff, 0x506c_0000_00ff_ffff, 0x8000_0000_0000_0000, 0xffff_ffff_ffff_fffe, SIZE_MAX,
           0x506d_0000_0000_0001]

# Nothing can check that an array has as many elements as its count says: with 2^31 or 2^32 the behaviour is undefined, as for
# memcpy(). So these counts are tried only where other arguments show that they are wrong, and the library must not read.
# Larger counts exceed every address space and are always tried.
BELIEVED = [2 ** 31, 2 ** 32]
SEEN_WRONG = {
    ("plim_graph_set_features", "num_features"), ("plim_graph_set_sparse_features", "num_features"),
    ("plim_graph_from_csr", "num_nodes"), ("plim_model_set_parameters", "count"), ("plim_optimizer_update", "count"),
}

# The last offset of an indptr is a count too, so only values that exceed every address space are tried there.
OFFSETS_AT_THE_END = [2 ** 63 - 1, -1, -2 ** 63]

# Messages that need not name the changed argument: the function, words of the message, and the reason.
OTHER_WORDS = [
    ("plim_bound_", "exceeds the range of a double", "the bound depends on several arguments"),
    ("plim_sample_delta", "too few draws", "the number depends on all arguments; the message names N and δ"),
    ("plim_tail_probability", "are needed", "sizes × deltas exceed the buffer before either is read"),
    ("plim_model_embed", "are needed", "another layer is wider"),
    ("plim_edge_list_options_set_comment", "a comment cannot", "there is one text only"),
    ("plim_edge_list_options_set_column_names", "the name of a column is empty", "there are texts for names only"),
    ("plim_graph_from_edge_list_with", "whether there is one", "no options do not say whether there is a header"),
]

# Numbers of type int32_t with a range of their own, and texts that may be empty.
RANGES = {("plim_edge_list_options_set_columns", "source"), ("plim_edge_list_options_set_columns", "target"),
          ("plim_edge_list_options_set_columns", "weight"), ("plim_ids_copy_name", "id"), ("plim_layers_gat", "version")}
MAY_BE_EMPTY = {("plim_edge_list_options_set_comment", "prefix"), ("plim_ids_find", "name")}


class Case:
    """One wrong argument: its value, and the status to expect, or None for any."""

    def __init__(self, name, parameter, value, expect=None):
        self.name, self.parameter, self.value, self.expect = name, parameter, value, expect


def handles_to_try(world, kind):
    """(name, handle) of everything that is not a live handle of this type."""
    for value in FOREIGN:
        yield f"foreign {value:#x}", value
    stale = world.make(kind) if kind not in ("plim_plan", "plim_tail", "plim_history") else None
    if stale is None:
        stale = STALE.setdefault(kind, world.make(kind))
    free = getattr(world.library, kind + "_free")
    free(stale)
    yield "freed", stale
    free(stale)
    yield "freed twice", stale
    for other in World.header.handles:
        if other != kind:
            yield f"a {other}", world.handle(other)
    for bit in (0, 23, 24, 30, 47, 48, 63):  # the bits between could make another live handle
        yield f"bit {bit} flipped", world.handle(kind) ^ (1 << bit)
    yield "an address", ctypes.addressof(BLOCK)


STALE = {}
BLOCK = ctypes.create_string_buffer(64)


def cases(world, function, values):
    """All cases in which one argument is wrong."""
    for p in function.parameters:
        if p.kind == "handle":
            expected = NULL_POINTER if not p.optional else None
            yield Case(f"{p.name} = NULL", p, 0, expected)
            for name, handle in handles_to_try(world, p.type):
                yield Case(f"{p.name} = {name}", p, handle, HANDLE)
        elif p.kind in ("array", "buffer", "out handle", "text"):
            yield Case(f"{p.name} = NULL", p, 0, NULL_POINTER if not p.optional else None)
            size = 8 if p.kind == "out handle" else ctypes.sizeof(p.element)
            for by in range(1, size if p.kind != "text" else 1):
                yield Case(f"{p.name} misaligned by {by}", p, Misaligned(by), INVALID)
        if p.kind == "array":
            yield from array_cases(function, p, values[p.name])
        elif p.kind == "text":
            yield from text_cases(world, function, p)
        elif p.kind == "callback":
            yield Case(f"{p.name} = NULL", p, 0, NULL_POINTER if not p.optional else None)
        elif p.kind == "data":
            for value in FOREIGN:
                yield Case(f"{p.name} = {value:#x}", p, value, OK)
        elif p.kind == "scalar":
            yield from number_cases(world, function, p, values)


def array_cases(function, p, base):
    """One element wrong: the first, one in the middle, the last."""
    offsets = p.name == "indptr"
    for place in sorted({0, len(base) // 2, len(base) - 1}):
        last = offsets and place == len(base) - 1
        for value in OFFSETS_AT_THE_END if last else ELEMENTS[p.type]:
            changed = list(base)
            changed[place] = value
            expect = INVALID if isinstance(value, float) and math.isnan(value) else None
            if expect and function.name == "plim_optimizer_update":
                expect = None  # a gradient that is not finite is status 9
            yield Case(f"{p.name}[{place}] = {value}", p, changed, expect)
    yield Case(f"{p.name} all alike", p, [base[0]] * len(base))
    yield Case(f"{p.name} backwards", p, list(reversed(base)))


def text_cases(world, function, p):
    yield Case(f"{p.name} empty", p, b"", None if (function.name, p.name) in MAY_BE_EMPTY else INVALID)
    writes = "_save" in function.name or "checkpoint" in function.name
    for name, path in [("a folder", world.folder.encode()), ("in no folder", world.file("none/at/all").encode()),
                       ("in a file", world.file("graph.npz/x").encode()), ("long", b"x" * 5000),
                       ("long parts", b"/".join([b"x" * 255] * 40)), ("no UTF-8", world.file("").encode() + b"\xff\xfe"),
                       ("control characters", world.file("").encode() + b"\x01\n\t\x7f"), ("a slash", b"/"),
                       ("dots", b".."), ("a trailing slash", world.file("folder/").encode())]:
        yield Case(f"{p.name} {name}", p, path)
    if not writes:  # a save would replace a device by a file
        for path in ("/dev/null", "/proc/self/status", "/proc/self/mem", __file__, "/etc", sys.executable):
            yield Case(f"{p.name} {path}", p, path.encode())


def number_cases(world, function, p, values):
    if p.type == "double":
        for value in NUMBERS:
            yield Case(f"{p.name} = {value}", p, value, INVALID if math.isnan(value) else None)
    elif p.type == "size_t":
        counted = [q for q in function.parameters
                   if q.kind in ("array", "buffer") and p.name in (length_of(function, q) or "")]
        for value in SIZES:
            if counted and value in BELIEVED and (function.name, p.name) not in SEEN_WRONG:
                continue
            yield Case(f"{p.name} = {value}", p, value)
        if p.name == "capacity":
            for value in range(1, min(values[p.name], 8)):
                yield Case(f"{p.name} = {values[p.name] - value}", p, values[p.name] - value, TOO_SMALL)
    elif p.type == "uint64_t":
        for value in SIZES:
            yield Case(f"{p.name} = {value}", p, value, OK)
    else:
        known = World.header.enum(p)
        ends = [min(known) - 1, max(known) + 1, max(known) + 2, 100] if known else [-2, -1, 3, 256, 300, 1000]
        ends += [2 ** n for n in range(10, 31, 2)] + [-(2 ** n) for n in range(10, 31, 4)]
        for value in ends + [-2 ** 31, 2 ** 31 - 1, -255]:
            expected = None if (function.name, p.name) in RANGES else INVALID if known else OK
            yield Case(f"{p.name} = {value}", p, value, expected)


def free_standing(world, function):
    """Cases for functions without arguments, or with only an out-parameter: wrong calls before the valid one."""
    if not function.parameters:
        def surrounded(i):
            for kind in World.header.handles:
                getattr(world.library, kind + "_free")(FOREIGN[i % len(FOREIGN)])
            world.graph_set_cache(FOREIGN[i % len(FOREIGN)], i)
        return [(f"after failure {i}", lambda i=i: surrounded(i)) for i in range(FEWEST)]
    if [p.kind for p in function.parameters] != ["out handle"]:
        return []

    def misused(other):
        handle = world.new(function.name.removeprefix("plim_"))
        kind = function.parameters[0].type
        getattr(world.library, other + "_free")(handle)
        expected = FIRST.setdefault(function.name, world.witness(kind, world.new(function.name.removeprefix("plim_"))))
        if other != kind and world.witness(kind, handle) != expected:
            raise AssertionError(f"{other}_free() changed a new {kind}")
        getattr(world.library, kind + "_free")(handle)
        getattr(world.library, kind + "_free")(handle)

    others = [(f"freed as a {other}, then twice", lambda o=other: misused(o)) for other in World.header.handles]
    return others + [(f"again, {i}", lambda: misused(function.parameters[0].type)) for i in range(5)]


FIRST = {}


def names_argument(function, case, message, base):
    """Whether a message names the argument or its value."""
    p = case.parameter
    related = {p.name} | {q.name for q in function.parameters if q.kind in ("array", "buffer") and p.name in (
        length_of(function, q) or "")}
    if p.name == "capacity":
        names = [q.name for q in function.parameters]
        related.add(names[names.index("capacity") - 1])
    if any(name in message for name in related):
        return True
    if isinstance(case.value, (int, float)) and (str(case.value) in message or f"{case.value:#x}"[2:] in message
                                                 if isinstance(case.value, int) else repr(case.value) in message):
        return True
    return any(function.name.startswith(name) and words in message for name, words, _ in OTHER_WORDS)


def judge(world, function, case, result):
    """What is wrong with a result, or None."""
    if not function.gives_status:
        if function.result == "const char *":
            return None if result.value else "NULL"
        expect_nothing = case.expect is not None and case.expect != OK
        return f"returned {result.value}" if expect_nothing and result.value not in (0, None, 0.0) else None
    status = result.value
    if status in (INTERNAL, POISONED):
        return f"status {status}: {result.message}"
    if case.expect is not None and status != case.expect:
        return f"status {status} instead of {case.expect}: {result.message}"
    if status == OK:
        for p in function.parameters:
            if p.kind == "buffer" and p.type in ("double", "float") and p.name in result.after and nan_in(p, result):
                return f"success with a NaN in {p.name}"
        return None
    if not result.message:
        return f"status {status} without a message"
    kept = result.untouched or (status in (9, 10) and function.name in ("plim_train", "plim_optimizer_minimize"))
    if not kept:
        return f"status {status}, but an out-parameter was written"
    if status in (NULL_POINTER, INVALID, SHAPE, TOO_SMALL, HANDLE) and not names_argument(function, case, result.message, None):
        return f"status {status} with a message that names neither argument nor value: {result.message}"
    return None


def nan_in(p, result):
    data = result.after[p.name]
    if data == result.before[p.name]:
        return False
    size = ctypes.sizeof(p.element)
    count = (len(data) - 64) // size
    return any(math.isnan(x) for x in (p.element * count).from_buffer_copy(data[:count * size])
               if bytes(p.element(x)) != bytes([0xA5] * size))


def state_after_base(library, folder, function, before=None, prepare=lambda world: None):
    """The result of a valid call, and the state of its handles afterwards. `prepare` may change the world; `before` runs before
    the call."""
    world = World(library, folder)
    prepare(world)
    values = world.base(function)
    first = before(world, values) if before else None
    result = world.call(function, values)
    if function.gives_status and result.value != OK:
        return first, f"the valid call returns {result.value}: {result.message}"
    state = [result.value, {n: b for n, b in result.after.items() if n not in result.handles}]
    for p in function.parameters:
        if p.name in result.handles:
            state.append(world.witness(p.type, result.handles[p.name]))
            getattr(library, p.type + "_free")(result.handles[p.name])
        elif p.kind == "handle" and not function.is_free:
            state.append(world.witness(p.type, values[p.name]))
    world.close()
    return first, state


def run_function(library, function, options, tell):
    """Runs all cases of one function and reports each failure with tell(). Returns the number of cases."""
    with children.folder() as folder:
        os.mkdir(os.path.join(folder, "folder"))
        os.chdir(folder)
        tell("case", "the valid call")
        if function.is_free:
            World.shared.pop(function.parameters[0].type, None)
        _, expected = state_after_base(library, folder, function)
        if isinstance(expected, str):
            tell("failed", f"the valid call: {expected}")
            return 0
        template = World(library, folder)
        tried = 0
        for case in list(cases(template, function, template.base(function))):
            tried += 1
            tell("case", case.name)
            outcome = {}

            def bad(world, values):
                # The template keeps its handles alive, so a handle of the wrong type is a live one.
                result = world.call(function, {**values, case.parameter.name: case.value})
                outcome["wrong"], outcome["status"] = judge(world, function, case, result), result.value
                for p in function.parameters:
                    if p.name in result.handles:
                        getattr(library, p.type + "_free")(result.handles[p.name])

            signal.alarm(SECONDS)
            try:
                _, found = state_after_base(library, folder, function, bad)
            except AssertionError as error:
                outcome["wrong"], found = str(error), None
            signal.alarm(0)
            if outcome.get("wrong"):
                tell("failed", f"{case.name}: {outcome['wrong']}")
            elif isinstance(found, str) and (outcome["status"] != OK or " 255:" in found or " 11:" in found):
                tell("failed", f"{case.name}: afterwards {found}")
            elif found != expected and function.gives_status and outcome["status"] != OK:
                tell("failed", f"{case.name}: afterwards the valid call has another result")
        for name, surround in free_standing(template, function):
            tried += 1
            tell("case", name)
            surround()
            _, found = state_after_base(library, folder, function)
            if found != expected and function.name != "plim_last_error":
                tell("failed", f"{name}: the valid call has another result")
        if options.long:
            tried += pairs(library, folder, function, template, options, tell)
        return tried


def pairs(library, folder, function, template, options, tell):
    """Several wrong arguments at once, chosen at random. Messages are not checked here."""
    chance = random.Random(options.seed)
    base = template.base(function)
    every = list(cases(template, function, base))
    # A capacity larger than the buffer is undefined behaviour unless the result fits anyway.
    every = [c for c in every if c.parameter.name != "capacity" or c.value <= base["capacity"]]
    count = 0
    while len({c.parameter.name for c in every}) > 1 and count < 300:
        chosen = {c.parameter.name: c for c in chance.sample(every, min(len(every), chance.choice((2, 2, 3, 4))))}
        if len(chosen) < 2:
            continue
        count += 1
        name = ", ".join(c.name for c in chosen.values())
        tell("case", name)
        world = World(library, folder)
        signal.alarm(SECONDS)
        result = world.call(function, {**world.base(function), **{n: c.value for n, c in chosen.items()}})
        signal.alarm(0)
        if function.gives_status and result.value in (INTERNAL, POISONED):
            tell("failed", f"{name}: status {result.value}: {result.message}")
        if function.gives_status and result.value not in (OK, 9, 10) and not (result.untouched and result.message):
            tell("failed", f"{name}: status {result.value}, an out-parameter was written or there is no message")
    return count


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--long", action="store_true", help="also 300 random combinations for each function")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("functions", nargs="*")
    options = parser.parse_args()
    library = load()
    functions = World.header.functions
    symbols = os.path.join(os.path.dirname(__file__), "..", "abi", "symbols.txt")
    with open(symbols, encoding="utf-8") as file:
        listed = {line.strip() for line in file if line.strip()}
    names = {f.name for f in functions}
    failed = 0
    if names != listed:
        print(f"header.py and tests/abi/symbols.txt differ: {sorted(names ^ listed)}")
        failed += 1
    counts = {}
    for function in functions:
        if options.functions and function.name not in options.functions:
            continue
        counts[function.name], failures, _ = children.run(lambda tell: run_function(library, function, options, tell), MEMORY)
        if counts[function.name] < FEWEST and not failures:
            failures.append(f"only {counts[function.name]} cases")
        for failure in failures:
            print(f"{function.name}: {failure}")
        failed += len(failures)
    fewest = min(counts, key=counts.get)
    print(f"bad input: {len(counts)} functions, {sum(counts.values())} cases, at least {counts[fewest]} each ({fewest}); "
          f"{failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
