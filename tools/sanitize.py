#!/usr/bin/env python3
"""Runs the tests with an instrumented library: `make torture-asan`, `make torture-tsan`, `make torture-miri`.

    sanitize.py asan|tsan [program…]    all programs of that sanitizer, or these
    sanitize.py miri                    unit tests of the modules with unsafe code

The C and C++ programs are instrumented too, and linked with the runtime of the Rust compiler. First a program that is wrong
on purpose, tests/sanitizer/wrong.c, has to be caught. If the compiler lacks a part, the tool reports it and passes.
"""
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

from common import CARGO, CC, CXX, ROOT, RUSTC, TARGET, UNSTABLE, cargo, host, not_checked, output, sanitizer_runtime, tail

FLAGS = "-g -O1 -fno-omit-frame-pointer".split()
DIALECTS = {".c": [*CC, "-std=c99", *FLAGS, "-Iinclude"],
            ".cpp": [*CXX, "-std=c++17", *FLAGS, "-Iinclude", "-Ibindings/cpp", "-Itests/c"]}
SYSTEM_LIBRARIES = "-lpthread -lrt -ldl -lm -lgcc_s".split()
WRONG = "tests/sanitizer/wrong.c"
# PLIM_VALGRIND makes programs repeat things less often. This one measures time, and must not be shortened.
TIMED = ["tests/c/progress.c"]
THREADED = [f"tests/{name}" for name in ("c/threads.c", "c/progress.c", "c/errors.c", "c/bad_handles.c", "c/view.c",
                                         "cpp/callbacks.cpp", "cpp/error.cpp")]


def all_programs():
    return [str(path.relative_to(ROOT)) for folder in ("tests", "examples") for kind in ("c", "cpp")
            for path in sorted((ROOT / folder / kind).glob(f"*.{kind}"))]


class Sanitizer(NamedTuple):
    name: str          # of the runtime and of the directory below target/
    kind: str          # what the compilers call it
    wrong: dict        # argument of wrong.c: words that the report must contain
    variables: dict    # the environment of the programs
    cargo: tuple = ()  # more flags

    @property
    def folder(self):
        return TARGET / self.name

    def build(self):
        cargo("rustc", "--release", "--lib", "--crate-type", "staticlib", *self.cargo, "--target", host(),
              "--target-dir", self.folder, flags=f"-Zsanitizer={self.kind}", **UNSTABLE)

    def compile(self, program):
        """The executable of a source file."""
        out = self.folder / program.replace("/", "-")
        compiler = DIALECTS[os.path.splitext(program)[1]]
        library = self.folder / host() / "release" / "libplimsoll.a"
        subprocess.run([*compiler, f"-fsanitize={self.kind}", "-c", program, "-o", f"{out}.o"], cwd=ROOT, check=True)
        subprocess.run([compiler[0], f"{out}.o", "-o", out, library, "-Wl,--whole-archive", sanitizer_runtime(self.name),
                        "-Wl,--no-whole-archive", "-Wl,--export-dynamic", *SYSTEM_LIBRARIES], check=True)
        return out

    def start(self, executable, *arguments, **variables):
        """Runs a program in a folder of its own; returns its exit code and the file of its output."""
        here = self.folder / "run" / executable.name
        here.mkdir(parents=True, exist_ok=True)
        log = here.with_suffix(".txt")
        with open(log, "w") as out:
            code = subprocess.run([executable, *arguments], cwd=here, stdout=out, stderr=subprocess.STDOUT,
                                  env={**os.environ, **self.variables, **variables, "TMPDIR": str(here)}).returncode
        return code, log

    def must_find(self):
        """wrong.c has to fail with the right report."""
        executable = self.compile(WRONG)
        for argument, words in self.wrong.items():
            code, log = self.start(executable, argument)
            if code == 0 or words not in log.read_text(errors="replace"):
                sys.exit(f"{tail(log, 20)}\nFAILED: {self.name} does not report {words!r} in {WRONG}")
            print(f"{self.name} finds what is wrong: {words}", flush=True)

    def passes(self, program, **variables):
        """Whether a program runs without a report."""
        executable = self.compile(program)
        code, log = self.start(executable, **variables)
        if code:
            print(f"{tail(log, 60)}\nFAILED: {self.name}: {program}", file=sys.stderr, flush=True)
            return False
        print(f"{self.name}: {program}", flush=True)
        # Each has some 30 MB.
        executable.unlink()
        executable.with_name(f"{executable.name}.o").unlink()
        return True


ASAN = Sanitizer("asan", "address", {"overflow": "heap-buffer-overflow", "leak": "detected memory leaks"},
                 # An impossible allocation has to fail in the program, as it does without the sanitizer.
                 {"ASAN_OPTIONS": "allocator_may_return_null=1"})
# The standard library is instrumented as well. Otherwise its locks and channels are unknown to ThreadSanitizer, and each use
# is reported as a race.
TSAN = Sanitizer("tsan", "thread", {"race": "data race"}, {"TSAN_OPTIONS": "die_after_fork=0"}, ("-Zbuild-std",))


def asan(programs):
    if sanitizer_runtime("asan") is None:
        return not_checked("this compiler has no runtime of AddressSanitizer")
    ASAN.build()
    ASAN.must_find()
    programs = programs or all_programs()
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        passed = list(pool.map(lambda program: ASAN.passes(program, PLIM_VALGRIND="1"),
                               [program for program in programs if program not in TIMED]))
    passed += [ASAN.passes(program) for program in programs if program in TIMED]
    sys.exit(0 if all(passed) else 1)


def tsan(programs):
    source = "lib/rustlib/src/rust/library/std/Cargo.toml"
    if sanitizer_runtime("tsan") is None or not os.path.exists(f"{output(*RUSTC, '--print', 'sysroot')}/{source}"):
        return not_checked("ThreadSanitizer needs its runtime and the source of the standard library "
                           "(rustup component add rust-src)")
    TSAN.build()
    TSAN.must_find()
    passed = [TSAN.passes(program) for program in programs or THREADED]
    if not programs:
        cargo("test", "--release", "--lib", *TSAN.cargo, "--target", host(), "--target-dir", TSAN.folder, "--", "kernel::",
              "capi::", flags="-Zsanitizer=thread", TSAN_OPTIONS="allocator_may_return_null=1", **UNSTABLE)
    sys.exit(0 if all(passed) else 1)


def miri(_):
    """The modules with unsafe code, except for the tests that map files, which Miri cannot do."""
    command = [*CARGO, "+nightly", "miri"]
    if subprocess.run([*command, "--version"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode:
        return not_checked("Miri is missing: rustup component add miri rust-src --toolchain nightly")
    tests = "kernel::array kernel::pool kernel::threads capi:: --skip mapped --skip too_short".split()
    subprocess.run([*command, "test", "--lib", "--target-dir", TARGET / "miri", "--", *tests], cwd=ROOT, check=True,
                   env={**os.environ, "PLIM_ISA": "portable", "MIRIFLAGS": "-Zmiri-disable-isolation"})


def main():
    kinds = {"asan": asan, "tsan": tsan, "miri": miri}
    if len(sys.argv) < 2 or sys.argv[1] not in kinds:
        sys.exit(__doc__)
    try:
        kinds[sys.argv[1]](sys.argv[2:])
    except subprocess.CalledProcessError as error:
        sys.exit(f"FAILED with {error.returncode}: {' '.join(map(str, error.cmd))}")


if __name__ == "__main__":
    main()
