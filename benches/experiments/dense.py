"""Wide dense products, as between hidden layers, beside the crates matrixmultiply and gemm and PyTorch."""
import json
import subprocess
import sys

from . import environment, report

ENGINES = {"plimsoll": "Plimsoll", "matrixmultiply": "matrixmultiply", "gemm": "gemm", "torch": "PyTorch"}
FORMS = {"plain": "A·W", "transposed": "Aᵀ·G", "backward": "G·Wᵀ"}


def compile_program():
    """Compiles benches/dense, a crate of its own; returns the program."""
    manifest = environment.BENCHES / "dense" / "Cargo.toml"
    environment.run([environment.CARGO, "build", "--release", "--manifest-path", manifest, "--target-dir", environment.TARGET],
                    stdout=sys.stderr)
    return environment.TARGET / "release" / "plimsoll-bench-dense"


def python_with_torch():
    """The first Python that imports torch: of the benchmarks' environment, or this one."""
    for python in (environment.VENV / "bin" / "python", sys.executable):
        try:
            subprocess.run([python, "-c", "import torch"], check=True, capture_output=True)
            return python
        except (OSError, subprocess.CalledProcessError):
            pass
    environment.loudly("NOT MEASURED: torch cannot be imported")
    return None


def run(options):
    program, python = compile_program(), python_with_torch()
    processes, rounds = (1, 5) if options.quick else (options.rounds or 3, 15)
    best, peaks, isa = {}, {}, ""
    for _ in range(processes):  # in turn, because the machine varies
        for threads in (1, 2):
            commands = [[program, f"threads={threads}", f"rounds={rounds}"]]
            if python:
                commands.append([python, environment.BENCHES / "peer_dense.py", threads, rounds])
            for command in commands:
                result = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=True)
                for found in map(json.loads, result.stdout.splitlines()):
                    key = found["m"], found["k"], found["n"], found["form"], threads
                    peaks[threads] = max(peaks.get(threads, 0), found.get("peak", 0))
                    isa = found.get("isa", isa)
                    for engine in ENGINES:
                        if engine in found:
                            best[key, engine] = max(best.get((key, engine), 0), found[engine]["best"])
    rows, lines = [], []
    for key in dict.fromkeys(key for key, _ in best):
        m, k, n, form, threads = key
        rows += [{"m": m, "k": k, "n": n, "form": form, "threads": threads, "engine": engine, "gflops": best[key, engine],
                  "share_of_peak": best[key, engine] / peaks[threads]}
                 for engine in ENGINES if (key, engine) in best]
    for m, k, n, form in dict.fromkeys(key[:4] for key, _ in best):
        line = [f"{m:,} × {k} × {n}", FORMS[form]]
        for threads in (1, 2):
            own = best[(m, k, n, form, threads), "plimsoll"]
            line.append(f"{own:.0f} ({100 * own / peaks[threads]:.0f} %)")
            rivals = [best.get(((m, k, n, form, threads), engine)) for engine in list(ENGINES)[1:]]
            line += [f"{rate:.0f}" if rate else "–" for rate in rivals]
        lines.append(line)
    report.write_csv(options, "dense", rows)
    header = ["m × k × n", "", *(f"{name}, {report.threads(t)}" for t in (1, 2) for name in ENGINES.values())]
    report.write_part(options, "dense", f"""## Wide dense products

GFLOP/s of products of A (m × k), W (k × n) and G (m × n), with the share of the FMA peak, which is measured in the same rounds:
{peaks[1]:.0f} GFLOP/s on one thread, {peaks[2]:.0f} on two. The instruction set is {isa}. Plimsoll's G·Wᵀ includes the transposition of W.

- The libraries in Rust take turns within a process ([benches/dense](../../benches/dense/src/main.rs)); PyTorch has a process of its own.
- A figure is the best of {processes * rounds} rounds. On one thread it counts the time of the processor, on two the time that passes, so
  other work on the machine lowers the figures of two threads.

{report.table(header, lines, 2)}
{report.provenance()}""")
