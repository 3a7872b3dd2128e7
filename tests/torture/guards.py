"""Guards: every function of the header catches a panic, wherever it happens.

Requires a library with the feature `torture`. Its plim_torture_panic_at(n) makes the next call panic at its n-th point: at the
start, when a handle is looked up or locked, when a pointer is checked. Each function is called with n = 0, 1, 2, … until a
call has no such point any more.

Promise: status 255 with a message; out-parameters are not written, nothing is printed; getters return 0. A handle that the call
was changing is poisoned (status 11) and can be freed. All others work as before.
"""
import ctypes
import os
import sys

import children
from world import World, load, ROOT

OK, POISONED, INTERNAL = 0, 11, 255
BUILT = os.path.join(ROOT, "target", "torture", "debug", "libplimsoll.so")


def expected_of(library, folder, function):
    """The result of the valid call, and a witness of each handle that it only reads."""
    world = World(library, folder)
    values = world.base(function)
    result = world.call(function, values)
    assert not function.gives_status or result.value == OK, f"the valid call returns {result.value}: {result.message}"
    return result.value, {p.name: world.witness(p.type, values[p.name]) for p in read_only(function)}


def read_only(function):
    return [p for p in function.parameters if p.kind == "handle" and p.const]


def changed(function):
    return [p for p in function.parameters if p.kind == "handle" and not p.const]


def run_function(library, function, tell):
    arm = library.plim_torture_panic_at
    arm.argtypes, arm.restype = [ctypes.c_int64], ctypes.c_int64
    points, poisoned = 0, 0
    with children.folder() as folder:
        value, witnesses = expected_of(library, folder, function)
        while True:
            world = World(library, folder)
            if function.is_free:
                world.cached[function.parameters[0].type] = world.make(function.parameters[0].type)
                World.shared.pop(function.parameters[0].type, None)
            values = world.base(function)
            tell("case", f"point {points}")
            left = []

            def panicking(call, arguments):
                arm(points)
                returned = call(*arguments)
                left.append(arm(-1))
                return returned

            result = world.call(function, values, panicking)
            if left[0] >= 0:  # the call has no such point
                if function.gives_status and result.value != OK or not function.gives_status and result.value != value:
                    tell("failed", f"without a panic the call returns {result.value} instead of {value}")
                break
            points += 1
            failed = judge(world, function, values, result)
            poisoned += aftermath(world, function, values, witnesses, failed)
            for text in failed:
                tell("failed", f"point {points - 1}: {text}")
    if points == 0:
        tell("failed", "there is no guard")
    if function.gives_status and changed(function) and poisoned == 0:
        tell("failed", "no panic poisoned a handle")
    return points


def judge(world, function, values, result):
    """What is wrong with the result of a call that panicked."""
    failed = []
    if function.result == "const char *":
        if result.value is None:
            failed.append("returns NULL")
    elif not function.gives_status:
        if result.value not in (0, None):
            failed.append(f"returns {result.value}")
    else:
        message = world.last_error().decode()
        if result.value != INTERNAL or "internal error" not in message:
            failed.append(f"status {result.value}: {message}")
    if not result.untouched:
        failed.append("an out-parameter was written")
    return failed


def aftermath(world, function, values, witnesses, failed):
    """Checks the handles after a panic; returns the number of poisoned ones."""
    for p in read_only(function):
        if world.witness(p.type, values[p.name]) != witnesses[p.name]:
            failed.append(f"{p.name}, which was only read, has changed")
    poisoned = 0
    if function.gives_status and changed(function):
        again = world.call(function, values)
        if again.value == POISONED:
            poisoned += 1
            third = world.call(function, values)
            if third.value != POISONED or not again.untouched or "free" not in world.last_error().decode():
                failed.append(f"poisoned, and then status {third.value}: {world.last_error().decode()}")
        elif again.value != OK:
            failed.append(f"afterwards status {again.value}: {world.last_error().decode()}")
    for p in changed(function):
        if p.type in world.cached:
            free = getattr(world.library, p.type + "_free")
            free(world.cached[p.type])
            live = world.call(BY_NAME[p.type + "_free"], {p.name: world.cached.pop(p.type)})
            if live.value is not None:
                failed.append("free returns something")
    # New objects work as before.
    for kind in ("plim_graph", "plim_model", "plim_optimizer"):
        handle = world.make(kind)
        if world.witness(kind, handle) != FRESH.setdefault(kind, world.witness(kind, world.make(kind))):
            failed.append(f"a new {kind} differs from one before the panic")
    return poisoned


FRESH = {}
BY_NAME = {f.name: f for f in World.header.functions}


def main():
    if not os.environ.get("PLIMSOLL_TORTURE_LIB") and not os.path.exists(BUILT):
        sys.exit(f"{BUILT} does not exist: run `make torture-library`")
    os.environ["PLIMSOLL_LIB"] = os.environ.get("PLIMSOLL_TORTURE_LIB") or BUILT
    library = load()
    wanted = [a for a in sys.argv[1:] if not a.startswith("-")]
    total, failed, functions = 0, 0, 0
    for function in World.header.functions:
        if wanted and function.name not in wanted:
            continue
        functions += 1
        points, failures, _ = children.run(lambda tell: run_function(library, function, tell))
        total += points
        failed += len(failures)
        for failure in failures:
            print(f"{function.name}: {failure}")
    print(f"guards: {functions} functions, {total} panics; {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
