#!/usr/bin/env python3
"""Runs parts of tests/torture, one after the other: `make torture` and `make test-torture`.

    torture.py [--long] PROGRAMS part…

A part is a script of tests/torture or a compiled program in the folder PROGRAMS. PLIMSOLL_LIB names the library, and
PLIMSOLL_TORTURE_LIB the one that panics on demand.
"""
import os
import subprocess
import sys
from pathlib import Path

from common import ROOT


def main():
    long = [argument for argument in sys.argv[1:] if argument == "--long"]
    programs, *parts = [argument for argument in sys.argv[1:] if argument != "--long"]
    for part in parts:
        script, program = ROOT / "tests" / "torture" / f"{part}.py", Path(programs) / part
        command = [sys.executable, script] if script.exists() else [program]
        # This one also opens and closes the library by its path.
        arguments = [os.environ["PLIMSOLL_LIB"]] if part == "fork" else []
        if subprocess.run([*command, *arguments, *long]).returncode:
            sys.exit(f"FAILED: {part}")


if __name__ == "__main__":
    main()
