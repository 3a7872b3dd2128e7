#!/usr/bin/env python3
"""Fuzzes the readers of files, and sequences of calls: `make fuzz` and `make fuzz-plain`.

    fuzz.py [--runs N] [--sanitizer address|none] [target…]    with libFuzzer, guided by branch coverage
    fuzz.py --plain [--runs N] [--seed N] [target…]            random changes of the corpus only; ten times as fast

Inputs that reach new code are kept in target/fuzz/corpus, and every later run starts with them: run without a sanitizer for
many executions, then with one. docs/reliability-fuzz.md describes the targets.
"""
import argparse
import os
import re
import subprocess
import sys

from common import ROOT, TARGET, UNSTABLE, cargo, host, not_checked, sanitizer_runtime, tail

WORK, PLAIN = TARGET / "fuzz", TARGET / "fuzz-plain"
# libFuzzer reads all counters after each input, so code that is inlined or not linked must have none.
COVERAGE = ["-Cpasses=sancov-module", "-Cllvm-args=-sanitizer-coverage-level=3",
            "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters", "-Cllvm-args=-sanitizer-coverage-pc-table",
            "-Ccodegen-units=1", "-Clink-arg=-Wl,-z,start-stop-gc"]
CHECKS = ["--cfg", "fuzzing", "-Cdebug-assertions"]
# Freed memory is watched for longer than any input runs. Dead stack frames are not watched, for speed.
ASAN_OPTIONS = "quarantine_size_mb=16:malloc_context_size=8:detect_stack_use_after_return=0"


def corpus(target):
    """Where new inputs are kept, and the committed ones."""
    kept = WORK / "corpus" / target
    kept.mkdir(parents=True, exist_ok=True)
    return kept, ROOT / "fuzz" / "corpus" / target


def guided(options):
    sanitizer = [] if options.sanitizer == "none" else [f"-Zsanitizer={options.sanitizer}"]
    if sanitizer and sanitizer_runtime("asan") is None:
        return not_checked("this compiler has no runtime of AddressSanitizer")
    out = WORK / options.sanitizer
    cargo("build", "--release", "--manifest-path", "fuzz/Cargo.toml", "--target-dir", out, "--target", host(),
          flags=" ".join([*CHECKS, *sanitizer, *COVERAGE]), RUSTC_WRAPPER=ROOT / "fuzz/rustc.sh", **UNSTABLE)
    for target in options.targets:
        kept, committed = corpus(target)
        dictionary, log = ROOT / "fuzz" / "dict" / f"{target}.dict", out / f"{target}.log"
        command = [out / host() / "release" / target, kept, committed, f"-runs={options.runs}", "-max_len=4096",
                   "-timeout=5", "-rss_limit_mb=2048", "-entropic=0", "-reload=0", "-print_final_stats=1",
                   f"-artifact_prefix={WORK / target}-"]
        if dictionary.exists():
            command.append(f"-dict={dictionary}")
        print(f"fuzz/{target}: {options.runs} runs, log in {log}", flush=True)
        with open(log, "w") as file:
            code = subprocess.run(command, cwd=ROOT, stdout=file, stderr=subprocess.STDOUT,
                                  env={**os.environ, "ASAN_OPTIONS": ASAN_OPTIONS}).returncode
        if code:
            sys.exit(f"{tail(log, 40)}\nFAILED: fuzz/{target}")
        print(*re.findall(r"^stat::number_of_executed.*", log.read_text(errors="replace"), re.M), flush=True)


def plain(options):
    cargo("build", "--release", "--manifest-path", "fuzz/Cargo.toml", "--no-default-features", "--bin", "replay",
          "--target-dir", PLAIN, "--target", host(), flags=" ".join(CHECKS))
    for target in options.targets:
        kept, committed = corpus(target)
        command = [PLAIN / host() / "release" / "replay", str(options.runs), str(options.seed), target, committed, kept]
        if subprocess.run(command, cwd=ROOT, env={**os.environ, "TMPDIR": str(PLAIN)}).returncode:
            sys.exit(f"FAILED: fuzz/{target}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--plain", action="store_true")
    parser.add_argument("--runs", type=int, default=10_000_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--sanitizer", choices=["address", "none"], default="address")
    parser.add_argument("targets", nargs="*", help="all, if none is named")
    options = parser.parse_args()
    options.targets = options.targets or sorted(path.stem for path in (ROOT / "fuzz" / "fuzz_targets").glob("*.rs"))
    try:
        (plain if options.plain else guided)(options)
    except subprocess.CalledProcessError as error:
        sys.exit(error.returncode)


if __name__ == "__main__":
    main()
