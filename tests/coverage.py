"""Which lines of src/ the tests run: `make coverage`. Needs LLVM's tools (rustup component add llvm-tools).

The library and the Rust tests are built with counters, in a place of their own; the Rust, C and C++ tests, the examples and
a part of the torture run with them. The share of lines must not fall below LEAST.
"""
import json
import os
import subprocess
import sys
from pathlib import Path

LEAST = 90.0
ROOT = Path(__file__).resolve().parents[1]


def tool(name):
    sysroot = subprocess.run(["rustc", "--print", "sysroot"], capture_output=True, text=True, check=True).stdout.strip()
    found = sorted(Path(sysroot).glob(f"lib/rustlib/*/bin/{name}"))
    if not found:
        sys.exit(f"there is no {name}: rustup component add llvm-tools")
    return found[0]


def main():
    target = Path(sys.argv[1]).resolve()
    profdata, cov = tool("llvm-profdata"), tool("llvm-cov")
    profiles = target / "profiles"
    profiles.mkdir(parents=True, exist_ok=True)
    for old in profiles.glob("*.profraw"):
        old.unlink()
    environment = {**os.environ, "RUSTFLAGS": "-Cinstrument-coverage", "CARGO_TARGET_DIR": str(target),
                   "LLVM_PROFILE_FILE": str(profiles / "%p-%8m.profraw")}
    built = subprocess.run(["cargo", "test", "--release", "--no-run", "--message-format=json"], cwd=ROOT, env=environment,
                           stdout=subprocess.PIPE, text=True, check=True).stdout
    binaries = [m["executable"] for m in map(json.loads, built.splitlines()) if m.get("executable")]
    for command in (["cargo", "test", "--release"], ["make", "test-c", "test-cpp", "test-examples"],
                    ["make", "test-torture", "PART=bad_input"], ["make", "test-torture", "PART=malformed"]):
        print(" ".join(command), flush=True)
        log = target / f"{command[1]}.log"
        with open(log, "w") as file:
            if subprocess.run(command, cwd=ROOT, env=environment, stdout=file, stderr=subprocess.STDOUT).returncode:
                sys.exit(f"FAILED: {' '.join(command)}; see {log}")
    library = target / "release" / "libplimsoll.so"
    merged = target / "merged.profdata"
    (target / "list").write_text("\n".join(map(str, profiles.glob("*.profraw"))))
    subprocess.run([profdata, "merge", "-sparse", "-f", target / "list", "-o", merged], check=True)
    objects = [argument for binary in binaries for argument in ("-object", binary)]
    told = subprocess.run([cov, "export", "-summary-only", f"-instr-profile={merged}", library, *objects],
                          capture_output=True, text=True, check=True).stdout
    files = [(Path(f["filename"]), f["summary"]["lines"]) for f in json.loads(told)["data"][0]["files"]]
    mine = [(path.relative_to(ROOT), lines) for path, lines in files if (ROOT / "src") in path.parents]
    for path, lines in sorted(mine, key=lambda f: f[1]["percent"]):
        print(f"{lines['percent']:6.1f} %  {lines['covered']:5} of {lines['count']:5}  {path}")
    covered, count = (sum(lines[key] for _, lines in mine) for key in ("covered", "count"))
    share = 100 * covered / count
    print(f"{share:.1f} % of {count} lines of src/ are run")
    return 0 if share >= LEAST else 1


if __name__ == "__main__":
    sys.exit(main())
