#!/usr/bin/env python3
"""Runs programs, as many at a time as there are cores, each in a folder of its own; fails if one of them did.

    run.py FOLDER "command in front" "arguments" program…
"""
import os
import shlex
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path


def main():
    folder, front, arguments = Path(sys.argv[1]), shlex.split(sys.argv[2]), shlex.split(sys.argv[3])

    def run(program):
        """Its exit code, and what it has written."""
        here = folder / "-".join(Path(program).parts[-2:])
        here.mkdir(parents=True, exist_ok=True)
        result = subprocess.run([*front, program, *arguments], cwd=here, env=dict(os.environ, TMPDIR=str(here)),
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        return result.returncode, result.stdout

    programs, failed = sys.argv[4:], []
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        for program, (code, text) in zip(programs, pool.map(run, programs)):
            print(" ".join([*front, "/".join(Path(program).parts[-2:]), *arguments]), flush=True)
            sys.stdout.buffer.write(text)
            if code != 0:
                failed.append(program)
                print(f"FAILED with {code}: {program}", file=sys.stderr)
            sys.stdout.flush()
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
