#!/usr/bin/env python3
"""Counts which lines of src/ the tests run: `make coverage`. Requires LLVM's tools (rustup component add llvm-tools).

    coverage.py FOLDER

Builds the library and the Rust tests with counters in FOLDER, and runs the Rust, C and C++ tests with them. Excluded are the
statistical tests (minutes of draws that others do once), the tests of exported symbols (counters add some) and the tests
with an allocator of their own. Fails if less than LEAST percent of the lines are run.
"""
import json
import os
import subprocess
import sys
import time
from pathlib import Path

from common import CARGO, ROOT, RUSTC, output

LEAST = 90.0
LEFT_OUT = ("estimators", "samples", "symbols", "header", "interface", "fuzz", "allocations")


def tool(name):
    found = sorted(Path(output(*RUSTC, "--print", "sysroot")).glob(f"lib/rustlib/*/bin/{name}"))
    if not found:
        sys.exit(f"there is no {name}: rustup component add llvm-tools")
    return found[0]


def counted(lcov):
    """(file, number of lines and of lines that were run) for each file. Code below #[cfg(test)] does not count."""
    path, end, lines = None, 0, {}
    for line in lcov.splitlines():
        if line.startswith("SF:"):
            path, lines = Path(line[3:]), {}
            text = path.read_text().splitlines() if path.is_file() else []
            tests = [i for i, (a, b) in enumerate(zip(text, text[1:]), 1) if a == "#[cfg(test)]" and b.startswith("mod ")]
            end = tests[0] if tests else len(text) + 1
        elif line.startswith("DA:"):
            number, count = map(int, line[3:].split(",")[:2])
            if number < end:
                lines[number] = count
        elif line == "end_of_record" and lines:
            covered = sum(count > 0 for count in lines.values())
            yield path, {"count": len(lines), "covered": covered, "percent": 100 * covered / len(lines)}


def main():
    target = Path(sys.argv[1]).resolve()
    profdata, cov = tool("llvm-profdata"), tool("llvm-cov")
    profiles = target / "profiles"
    profiles.mkdir(parents=True, exist_ok=True)
    for old in profiles.glob("*.profraw"):
        old.unlink()
    environment = {**os.environ, "RUSTC_WORKSPACE_WRAPPER": str(ROOT / "tools/coverage-rustc.sh"),
                   "CARGO_TARGET_DIR": str(target), "LLVM_PROFILE_FILE": str(profiles / "%4m.profraw")}
    environment.pop("CARGO_BUILD_TARGET", None)
    tests = sorted({path.stem for path in (ROOT / "tests").glob("*.rs")} - set(LEFT_OUT))
    # With the features of `make build`, so that the library is compiled once.
    built = subprocess.run([*CARGO, "test", "--release", "--features", "capi", "--no-run", "--message-format=json", "--lib",
                            *(argument for test in tests for argument in ("--test", test))],
                           cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True, check=True).stdout
    binaries = [m["executable"] for m in map(json.loads, built.splitlines()) if m.get("executable")]
    # PLIM_VALGRIND makes the C and C++ programs repeat things less often.
    commands = [[b] for b in binaries] + [["env", "PLIM_VALGRIND=1", "make", "test-c", "test-cpp"]]
    for command in commands:
        name = Path(command[0]).name
        start = time.monotonic()
        log = target / f"{name}.log"
        with open(log, "w") as file:
            if subprocess.run(command, cwd=ROOT, env=environment, stdout=file, stderr=subprocess.STDOUT).returncode:
                sys.exit(f"FAILED: {' '.join(command)}; see {log}")
        print(f"{name}: {time.monotonic() - start:.0f} s", flush=True)
    library = target / "release" / "libplimsoll.so"
    merged = target / "merged.profdata"
    (target / "list").write_text("\n".join(map(str, profiles.glob("*.profraw"))))
    subprocess.run([profdata, "merge", "-sparse", "-f", target / "list", "-o", merged], check=True)
    objects = [argument for binary in binaries for argument in ("-object", binary)]
    lcov = subprocess.run([cov, "export", "-format=lcov", f"-instr-profile={merged}", library, *objects],
                          capture_output=True, text=True, check=True).stdout
    mine = [(path.relative_to(ROOT), lines) for path, lines in counted(lcov) if (ROOT / "src") in path.parents]
    for path, lines in sorted(mine, key=lambda f: f[1]["percent"]):
        print(f"{lines['percent']:6.1f} %  {lines['covered']:5} of {lines['count']:5}  {path}")
    folders = sorted({path.parent for path, _ in mine})
    for folder in folders:
        here = [lines for path, lines in mine if path.parent == folder]
        covered, count = (sum(lines[key] for lines in here) for key in ("covered", "count"))
        print(f"{100 * covered / count:6.1f} %  {covered:5} of {count:5}  {folder}")
    covered, count = (sum(lines[key] for _, lines in mine) for key in ("covered", "count"))
    share = 100 * covered / count
    print(f"{share:.1f} % of {count} lines of src/ are run")
    return 0 if share >= LEAST else 1


if __name__ == "__main__":
    sys.exit(main())
