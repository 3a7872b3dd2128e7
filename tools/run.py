#!/usr/bin/env python3
"""Runs test programs, as many at a time as there are cores; fails if one of them fails.

    run.py FOLDER [--front COMMAND] program…
    run.py FOLDER --memcheck program…

Each program runs in its own folder below FOLDER, behind COMMAND. --memcheck puts valgrind there, which reports memory errors
and definite leaks.
"""
import argparse
import os
import shlex
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from common import not_checked

MEMCHECK = ("valgrind --quiet --error-exitcode=99 --leak-check=full --show-leak-kinds=definite "
            "--errors-for-leak-kinds=definite").split()
# The demo takes the number of epochs; its hundred take too long under valgrind.
FEWER = {"mixture": ["5"]}


def memcheck_variables():
    """Programs see PLIM_VALGRIND and repeat things less often. Valgrind 3.19 does not know AVX-512."""
    cpu = Path("/proc/cpuinfo")
    avx512 = cpu.exists() and "avx512f" in cpu.read_text()
    return {"PLIM_VALGRIND": "1", **({"PLIM_ISA": "avx2"} if avx512 else {})}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--front", type=shlex.split, default=[])
    parser.add_argument("--memcheck", action="store_true")
    parser.add_argument("programs", nargs="*")
    options = parser.parse_intermixed_args()
    front, variables = options.front, {}
    if options.memcheck:
        if shutil.which("valgrind") is None:
            return not_checked("valgrind is not installed; memory errors and leaks are not looked for")
        front, variables = MEMCHECK, memcheck_variables()

    def run(program):
        """The command, its exit code and its output."""
        name = "/".join(Path(program).parts[-2:])
        arguments = FEWER.get(Path(program).name, []) if options.memcheck else []
        here = options.folder / name.replace("/", "-")
        here.mkdir(parents=True, exist_ok=True)
        done = subprocess.run([*front, program, *arguments], cwd=here, env={**os.environ, **variables, "TMPDIR": str(here)},
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        return " ".join([*front, name, *arguments]), done.returncode, done.stdout

    failed = 0
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        for command, code, text in pool.map(run, options.programs):
            print(command, flush=True)
            sys.stdout.buffer.write(text)
            sys.stdout.flush()
            if code:
                failed += 1
                print(f"FAILED with {code}: {command}", file=sys.stderr, flush=True)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
