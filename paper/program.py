"""Compiles a C program against the library."""
import os
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def build(source, options):
    """The program of a source file, in OUT/jobs."""
    program, library = options.out / "jobs" / source.stem, options.library.resolve()
    program.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run([os.environ.get("CC", "cc"), "-std=c99", "-O2", f"-I{ROOT / 'include'}", source, "-o", program,
                    f"-L{library}", "-lplimsoll", "-lm", f"-Wl,-rpath,{library}"], check=True)
    return program
