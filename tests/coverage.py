"""Which lines of src/ the tests run: `make coverage`. Needs LLVM's tools (rustup component add llvm-tools).

The library and the Rust tests are built with counters, in a place of their own; the Rust, C and C++ tests run with
them. Left out are the statistical tests, which draw for minutes what others draw once, those that look at the library's
symbols, which are more with counters, and those that bring an allocator of their own. The share of lines must not fall
below LEAST.
"""
import json
import os
import subprocess
import sys
import time
from pathlib import Path

LEAST = 90.0
LEFT_OUT = ("estimators", "samples", "symbols", "header", "interface", "fuzz", "allocations")
ROOT = Path(__file__).resolve().parents[1]


def tool(name):
    sysroot = subprocess.run(["rustc", "--print", "sysroot"], capture_output=True, text=True, check=True).stdout.strip()
    found = sorted(Path(sysroot).glob(f"lib/rustlib/*/bin/{name}"))
    if not found:
        sys.exit(f"there is no {name}: rustup component add llvm-tools")
    return found[0]


def counted(lcov):
    """Each file with how many of its lines there are and how many were run; what stands under #[cfg(test)] is neither."""
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
    environment = {**os.environ, "RUSTC_WORKSPACE_WRAPPER": str(ROOT / "tests/coverage-rustc.sh"),
                   "CARGO_TARGET_DIR": str(target), "LLVM_PROFILE_FILE": str(profiles / "%4m.profraw")}
    environment.pop("CARGO_BUILD_TARGET", None)
    tests = sorted({path.stem for path in (ROOT / "tests").glob("*.rs")} - set(LEFT_OUT))
    # As `make build` does it, so that the library is compiled once.
    built = subprocess.run(["cargo", "test", "--release", "--features", "capi", "--no-run", "--message-format=json", "--lib",
                            *(argument for test in tests for argument in ("--test", test))],
                           cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True, check=True).stdout
    binaries = [m["executable"] for m in map(json.loads, built.splitlines()) if m.get("executable")]
    # PLIM_VALGRIND makes the programs of C and C++ repeat things less often.
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
    told = subprocess.run([cov, "export", "-format=lcov", f"-instr-profile={merged}", library, *objects],
                          capture_output=True, text=True, check=True).stdout
    mine = [(path.relative_to(ROOT), lines) for path, lines in counted(told) if (ROOT / "src") in path.parents]
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
