"""What the tools share: places in the repository, facts about the compiler, and how problems are reported.

The Makefile passes its variables in the environment: CARGO, RUSTC, CC, CXX, and TARGET, the directory of everything built.
"""
import os
import shlex
import subprocess
import sys
from functools import lru_cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TARGET = Path(os.environ.get("TARGET") or os.environ.get("CARGO_TARGET_DIR") or ROOT / "target").resolve()
# Lets a stable compiler accept unstable flags: sanitizers, coverage of branches, a standard library built from source.
UNSTABLE = {"RUSTC_BOOTSTRAP": "1"}
CARGO, RUSTC, CC, CXX = (shlex.split(os.environ.get(name) or default) for name, default in
                         (("CARGO", "cargo"), ("RUSTC", "rustc"), ("CC", "cc"), ("CXX", "c++")))


def not_checked(reason):
    """Reports what could not run on this machine, so that silence cannot be taken for success."""
    print(f"\n*** NOT CHECKED: {reason} ***\n", file=sys.stderr, flush=True)


def output(*command):
    """What a command prints, without the last newline."""
    return subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True).stdout.strip()


@lru_cache
def host():
    """The target triple of this machine. Named with --target, it keeps RUSTFLAGS away from build scripts."""
    return next(line[6:] for line in output(*RUSTC, "-vV").splitlines() if line.startswith("host: "))


@lru_cache
def sanitizer_runtime(name):
    """The compiler's own runtime library of a sanitizer, or None. It matches what the compiler instruments."""
    found = sorted(Path(output(*RUSTC, "--print", "target-libdir")).glob(f"librustc*_rt.{name}.a"))
    return found[0] if found else None


def cargo(*arguments, flags=None, **environment):
    """Runs cargo with these flags for rustc."""
    variables = {**os.environ, **{name: str(value) for name, value in environment.items()}}
    if flags is not None:
        variables["RUSTFLAGS"] = flags
    subprocess.run([*CARGO, *map(str, arguments)], cwd=ROOT, env=variables, check=True)


def tail(path, lines):
    """The last lines of a log."""
    return "\n".join(path.read_text(errors="replace").splitlines()[-lines:])
