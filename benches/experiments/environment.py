"""Paths, and how the library, the programs and the virtual environment are made."""
import hashlib
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

BENCHES = Path(__file__).resolve().parent.parent
ROOT = BENCHES.parent
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")).resolve()
WORK = TARGET / "bench"
VENV = WORK / "venv"
CC = os.environ.get("CC", "cc")
CARGO = os.environ.get("CARGO", "cargo")
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Werror"]


def say(text):
    print(text, file=sys.stderr, flush=True)


def loudly(text):
    say(f"\n*** {text} ***\n")


def run(command, **options):
    """Runs a command. Its failure ends this program."""
    say("+ " + " ".join(map(str, command)))
    return subprocess.run(list(map(str, command)), check=True, **options)


def hold_on_cores(threads):
    """Restricts this process to as many cores as it has threads, because moving to another core loses the caches."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])


def answer(command, threads=1, environment=None, quiet=True):
    """Runs a program that prints one JSON line, and returns that; reports a failure and returns None."""
    env = dict(os.environ, NUMBA_CACHE_DIR=str(WORK / "numba"), PYTHONDONTWRITEBYTECODE="1", **(environment or {}))
    for variable in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        env[variable] = str(threads)
    command = list(map(str, command))
    # Lets the system finish its work for the previous process (memory, files).
    time.sleep(0.3)
    result = subprocess.run(command, env=env, capture_output=True, text=True,
                            preexec_fn=lambda: hold_on_cores(threads))
    lines = [line for line in result.stdout.splitlines() if line.startswith("{")]
    if result.returncode or not lines:
        loudly(f"FAILED with {result.returncode}: {' '.join(command)}\n{result.stderr[-2000:]}")
        return None
    if not quiet:
        say(lines[-1])
    return json.loads(lines[-1])


def make_venv():
    """The Python with the other libraries. NeighborLoader requires torch-scatter and torch-sparse, which PyPI has as sources
    only: they are compiled against the installed torch, which takes half an hour once."""
    plain, compiled = BENCHES / "requirements.txt", BENCHES / "requirements-compiled.txt"
    wanted = hashlib.sha256(plain.read_bytes() + compiled.read_bytes()).hexdigest()
    marker, python = VENV / "installed", VENV / "bin" / "python"
    if marker.exists() and marker.read_text() == wanted:
        return python
    WORK.mkdir(parents=True, exist_ok=True)
    if not python.exists():
        run([sys.executable, "-m", "venv", VENV])
    run([python, "-m", "pip", "install", "--quiet", "-r", plain])
    try:
        run([python, "-m", "pip", "install", "--quiet", "--no-build-isolation", "-r", compiled])
    except subprocess.CalledProcessError:
        loudly("NOT INSTALLED: torch-sparse does not compile on this machine; PyG has no NeighborLoader without it")
        return python
    marker.write_text(wanted)
    return python


def build_library():
    run(["make", "-C", ROOT, "build"], stdout=sys.stderr)


def compile_c(name, *flags):
    """Compiles benches/c/<name>.c against the library; returns the program."""
    program, libraries = WORK / "bin" / name, TARGET / "release"
    program.parent.mkdir(parents=True, exist_ok=True)
    flags = list(flags) or ["-O2", "-g"]
    run([CC, "-std=gnu99", *flags, *WARNINGS, f"-I{ROOT / 'include'}", BENCHES / "c" / f"{name}.c", "-o", program,
         f"-L{libraries}", f"-Wl,-rpath,{libraries}", "-lplimsoll", "-lpthread", "-lm"])
    return program


def compile_rust_bench(name):
    """Compiles benches/<name>.rs; returns the program."""
    result = run([CARGO, "bench", "--bench", name, "--no-run", "--message-format=json"], cwd=ROOT,
                 stdout=subprocess.PIPE, text=True)
    messages = (json.loads(line) for line in result.stdout.splitlines() if line.startswith("{"))
    return [m["executable"] for m in messages if m.get("executable") and m["target"]["name"] == name][-1]


def data_sets(program, mixture_of_paper=True):
    """The .npz file of each available data set, and whether its features stay raw. `program` writes the built-in Mixture if
    PLIMSOLL_DATA has none, or if the paper's is not asked for."""
    folder = os.environ.get("PLIMSOLL_DATA")
    found = {}
    for name, file, raw in (("Pubmed", "pubmed.npz", False), ("Cora", "cora.npz", False),
                            ("Mixture", "mixture_paper.npz", True)):
        path = Path(folder or ".") / file
        if folder and path.exists() and (mixture_of_paper or name != "Mixture"):
            found[name] = (path.resolve(), raw)
        elif name == "Mixture":
            if mixture_of_paper:
                loudly(f"{file} is not in PLIMSOLL_DATA ({folder or 'not set'}): the built-in Mixture replaces it")
            path = WORK / "mixture.npz"
            run([program, f"mixture={path}"])
            found[name] = (path, raw)
        else:
            loudly(f"MISSING: {file} is not in PLIMSOLL_DATA ({folder or 'not set'}); {name} is not measured")
    return found


VALGRIND = shutil.which("valgrind")


def count_instructions(command):
    """Instructions between the marks in the program, from callgrind. AVX2, since valgrind may not know AVX-512."""
    out = WORK / "callgrind.out"
    env = dict(os.environ, PLIM_ISA="avx2")
    command = [VALGRIND, "--tool=callgrind", "--instr-atstart=no", f"--callgrind-out-file={out}", *map(str, command)]
    result = subprocess.run(command, env=env, capture_output=True, text=True)
    if result.returncode:
        loudly(f"FAILED with {result.returncode}: {' '.join(command)}\n{result.stderr[-2000:]}")
        return None, None
    totals = [line for line in out.read_text().splitlines() if line.startswith(("totals:", "summary:"))]
    lines = [line for line in result.stdout.splitlines() if line.startswith("{")]
    return int(totals[-1].split()[1]), json.loads(lines[-1])
