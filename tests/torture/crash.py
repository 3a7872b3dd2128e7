"""Crash: a training run that writes checkpoints is killed (kill -9) at random moments and resumed, many times.

Promise: after every kill the checkpoint loads, and the resumed run ends with the bits of a run that was never killed:
parameters, average and history. The next checkpoint removes a file that a kill has left incomplete.

  crash.py [--long] [--kills N] [--seed N]
"""
import argparse
import ctypes
import os
import random
import shutil
import signal
import sys
import time

import children
from world import World, cells, load

EPOCHS = 60


def handles(world):
    graph = world.new("graph_from_mixture", 100, 3)
    model = world.new("model_gcn", cells("N", [2, 8, 3]), 3, 5)
    estimator = world.new("estimator_consistent", cells("N", [40, 40]), 2)
    optimizer = world.new("optimizer_adam", 0.05)
    world.ok("optimizer_set_averaging", optimizer, 1)
    return model, graph, estimator, optimizer


def run(library, path):
    """Trains to the end, from the checkpoint if there is one, and returns the results of the run."""
    world = World(library, os.path.dirname(path))
    options = world.new("train_options_new")
    world.ok("train_options_set_epochs", options, EPOCHS)
    world.ok("train_options_set_batch_size", options, 32)
    world.ok("train_options_set_checkpoint", options, path.encode(), 1)
    world.ok("train_options_set_resume", options, path.encode())
    made = handles(world)
    history = ctypes.c_void_p(0)
    world.ok("train", *made, options, ctypes.addressof(history))
    results = [world.copied("model_get_parameters", "f", 40, made[0]),
               world.copied("optimizer_average", "f", 40, made[3])]
    # All columns of the history except the seconds.
    results += [world.copied("history_copy", "d", EPOCHS, history.value, c) for c in (0, 1, 2, 4, 5, 6)]
    return results


def killed(library, path, after):
    """Starts a run in a child and kills it after this many seconds. Returns whether it was still running."""
    child = os.fork()
    if child == 0:
        os._exit(0 if run(library, path) else 1)
    time.sleep(after)
    os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) != signal.SIGKILL or os.WIFEXITED(status) and os.WEXITSTATUS(status):
        raise AssertionError(f"the run itself ended with {status}")
    return os.WIFSIGNALED(status)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--long", action="store_true")
    parser.add_argument("--kills", type=int)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    wanted = options.kills or (1000 if options.long else 25)
    chance, library = random.Random(options.seed), load()

    def body(tell):
        with children.folder() as folder:
            path, copy = os.path.join(folder, "run"), os.path.join(folder, "copy")
            start = time.monotonic()
            expected = run(library, path)
            seconds = time.monotonic() - start
            os.remove(path)
            kills = resumed = half = 0
            left = set()
            while kills < wanted:
                tell("case", f"kill {kills + 1}")
                running = killed(library, path, chance.uniform(0, seconds / 3))
                strays = [name for name in os.listdir(folder) if name.endswith(".tmp")]
                last, left = left, {os.stat(os.path.join(folder, name)).st_mtime_ns for name in strays}
                half += len(left - last)
                if len(strays) > 1:
                    tell("failed", f"kill {kills + 1}: more than one file is left: {strays}")
                if not running:  # it had ended: start again
                    if os.path.exists(path):
                        os.remove(path)
                    continue
                kills += 1
                if os.path.exists(path):
                    resumed += 1
                    shutil.copyfile(path, copy)
                    if run(library, copy) != expected:
                        tell("failed", f"kill {kills}: the resumed run has another result")
            if os.path.exists(path):
                os.remove(path)
            run(library, path)
            if left := [name for name in os.listdir(folder) if name.endswith(".tmp")]:
                tell("failed", f"a complete run leaves {left}")
            tell("told", f"{kills} kills, {resumed} of them with a checkpoint to resume from, {half} while one was written")
            return kills

    told = []
    count, failures, _ = children.run(body, told=told)
    for failure in failures:
        print(failure)
    print(f"crash: {''.join(told)}; {len(failures)} failed")
    return 1 if failures or count < wanted else 0


if __name__ == "__main__":
    sys.exit(main())
