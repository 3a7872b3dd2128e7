#!/usr/bin/env python3
"""Installs the library and builds programs against it with the commands of docs/install.md: `make test-install`.

This tool runs each block of that page that is marked `sh name`. A name that it does not know is an error.
"""

import argparse
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

from common import ROOT, not_checked

REPOSITORY = ROOT
INSTALLED = {
    "include/plimsoll.h",
    "include/plimsoll.hpp",
    "lib/cmake/plimsoll/plimsollConfig.cmake",
    "lib/cmake/plimsoll/plimsollConfigVersion.cmake",
    "lib/libplimsoll.a",
    "lib/libplimsoll.so",
    "lib/libplimsoll.so.0",
    "lib/libplimsoll.so.{version}",
    "lib/pkgconfig/plimsoll.pc",
}
skipped = []


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=Path, required=True, help="a directory that may be deleted")
    for tool in "cc", "cxx", "cmake", "pkg-config":
        parser.add_argument("--" + tool, required=True)
    return parser.parse_args()


def page():
    """The blocks of docs/install.md: {name: commands}, and the CMake project."""
    text = (REPOSITORY / "docs/install.md").read_text(encoding="utf-8")
    blocks = dict(re.findall(r"^```sh (\S+)\n(.*?)^```$", text, re.M | re.S))
    [project] = re.findall(r"^```cmake\n(.*?)^```$", text, re.M | re.S)
    known = {"install", "stage", "uninstall", "cc", "plugin", "cmake"}
    known |= {"pkg-config-shared", "pkg-config-static", "pkg-config-all-static"}
    assert blocks.keys() == known, f"docs/install.md has {sorted(blocks)}, expected {sorted(known)}"
    assert text.count("```sh") == len(blocks), "a block of docs/install.md has no name, or the name of another"
    return blocks, project


class Machine:
    """The environment of the commands: the tools by their usual names, and no variables of the make that runs this."""

    def __init__(self, options):
        self.out = options.out
        self.tools = options.out / "bin"
        self.tools.mkdir(parents=True)
        given = {"cc": options.cc, "c++": options.cxx, "cmake": options.cmake, "pkg-config": options.pkg_config}
        for name, command in given.items():
            program = shutil.which(shlex.split(command)[0])
            if program is None:
                continue
            wrapper = self.tools / name
            given_arguments = shlex.join(shlex.split(command)[1:])
            wrapper.write_text(f'#!/bin/sh\nexec {os.path.abspath(program)} {given_arguments} "$@"\n')
            wrapper.chmod(0o755)
        drop = "PREFIX LIBDIR INCLUDEDIR DESTDIR MAKEFLAGS MAKEOVERRIDES MFLAGS LD_LIBRARY_PATH LD_RUN_PATH".split()
        drop += "LIBRARY_PATH CPATH PKG_CONFIG_PATH PKG_CONFIG_LIBDIR PKG_CONFIG_SYSROOT_DIR CMAKE_PREFIX_PATH".split()
        self.environment = {name: value for name, value in os.environ.items() if name not in drop}
        self.environment["PATH"] = f"{self.tools}{os.pathsep}{os.environ['PATH']}"

    def has(self, tool):
        return (self.tools / tool).exists()

    def try_run(self, commands, where=REPOSITORY, **variables):
        environment = self.environment | {name: str(value) for name, value in variables.items()}
        return subprocess.run(["sh", "-eu", "-c", commands], cwd=where, env=environment, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def run(self, commands, where=REPOSITORY, **variables):
        done = self.try_run(commands, where, **variables)
        if done.returncode != 0:
            sys.exit(f"{commands}\nin {where} with {variables} failed with {done.returncode}:\n{done.stdout}")
        return done.stdout

    def folder(self, *names):
        """A new folder with the two programs."""
        folder = self.out.joinpath("programs", *names)
        shutil.copytree(REPOSITORY / "tests/install", folder)
        return folder


def files(root):
    return {str(path.relative_to(root)) for path in root.rglob("*") if path.is_symlink() or not path.is_dir()}


def check(condition, text):
    if not condition:
        sys.exit(f"FAILED: {text}")


def skip(text):
    skipped.append(text)
    not_checked(text)


def check_program(machine, program, shared, static_executable=False):
    """Checks whether it needs libplimsoll.so.0, and that its stack is not executable."""
    dynamic = machine.run(f"readelf -dW {program}")
    check(("[libplimsoll.so.0]" in dynamic) == shared, f"{program}: shared library expected: {shared}\n{dynamic}")
    check(not static_executable or "(NEEDED)" not in dynamic, f"{program} needs shared libraries\n{dynamic}")
    [stack] = [line for line in machine.run(f"readelf -lW {program}").splitlines() if "GNU_STACK" in line]
    check("RWE" not in stack, f"{program} has an executable stack")


def consume(machine, blocks, project, prefix, version):
    """Builds and runs both programs in every documented way."""
    # (block, required tool, links our shared library, links no shared library at all)
    ways = [
        ("cc", "cc", True, False),
        ("pkg-config-shared", "pkg-config", True, False),
        ("pkg-config-static", "pkg-config", False, False),
        ("pkg-config-all-static", "pkg-config", False, True),
    ]
    for name, tool, shared, alone in ways:
        if not machine.has(tool):
            continue
        if alone and machine.try_run("echo 'int main(void) { return 0; }' | cc -static -x c - -o /dev/null").returncode:
            skip("programs without shared libraries: this machine has no static C library")
            continue
        folder = machine.folder(prefix.name, name)
        said = machine.run(blocks[name], folder, PREFIX=prefix)
        check(said.count(f"plimsoll {version}, header {version}") == 2, f"{name} prints {said}")
        for program in "c-program", "cpp-program":
            check_program(machine, folder / program, shared, alone)
        print(f"{prefix.name}: {name}")

    folder = machine.folder(prefix.name, "plugin")
    machine.run(blocks["plugin"], folder, PREFIX=prefix)
    exported = machine.run("nm -D --defined-only plugin.so", folder).split()[2::3]
    check(exported == ["main"], f"plugin.so exports {exported[:9]}")
    print(f"{prefix.name}: plugin")

    if not machine.has("cmake"):
        return
    swapped = re.sub(r"::plimsoll(-static)?", lambda m: "::plimsoll" if m[1] else "::plimsoll-static", project)
    for name, text, c_shared in ("cmake", project, True), ("cmake-swapped", swapped, False):
        folder = machine.folder(prefix.name, name)
        (folder / "CMakeLists.txt").write_text(text)
        said = machine.run(blocks["cmake"], folder, PREFIX=prefix)
        check(said.count(f"plimsoll {version}, header {version}") == 2, f"{name} prints {said}")
        check_program(machine, folder / "build/c-program", c_shared)
        check_program(machine, folder / "build/cpp-program", not c_shared)
        print(f"{prefix.name}: {name}")


def check_versions(machine, prefix, version):
    """Which versions find_package() accepts."""
    if not machine.has("cmake"):
        return
    major, minor, patch = map(int, version.split("."))
    cases = {
        "": True,
        f"{major}.{minor}": True,
        version: True,
        f"{version} EXACT": True,
        f"{major}.{minor}.{patch + 1}": False,
        f"{major}.{minor + 1}": False,
        f"{major + 1}": False,
        f"{major + 1}.{minor}": False,
        f"{major}.{minor}...{major}.{minor + 2}": True,
        f"0.0...<{version}": False,
        f"{major}.{minor + 1}...{major + 1}": False,
    }
    if major == 0 and minor > 0:
        cases[f"0.{minor - 1}"] = False
    for number, (request, accepted) in enumerate(cases.items()):
        folder = machine.out / "versions" / str(number)
        folder.mkdir(parents=True)
        (folder / "CMakeLists.txt").write_text(
            "cmake_minimum_required(VERSION 3.19...4.0)\nproject(asks LANGUAGES NONE)\n"
            f"find_package(plimsoll {request} CONFIG REQUIRED)\nmessage(STATUS \"took ${{plimsoll_VERSION}}\")\n")
        done = machine.try_run("cmake -S . -B build -DCMAKE_PREFIX_PATH=$PREFIX", folder, PREFIX=prefix)
        check((done.returncode == 0) == accepted, f"{request!r} should be accepted: {accepted}\n{done.stdout}")
        check(accepted or f"version: {version}" in done.stdout, f"refused for another reason:\n{done.stdout}")
        print(f"find_package(plimsoll {request}) {'accepted' if accepted else 'refused'}")


def check_texts(machine, root, *absent):
    """The .pc and .cmake files contain no path of the build or of this test."""
    for path in [*root.rglob("*.pc"), *root.rglob("*.cmake")]:
        text = path.read_text()
        for place in (REPOSITORY, machine.out, *absent):
            check(str(place) not in text, f"{path} contains {place}:\n{text}")
        check("@" not in text, f"{path} has a placeholder that was not replaced:\n{text}")


def check_archive(machine, archive):
    """One object without the note would give every program that links it an executable stack."""
    objects = machine.run(f"ar t {archive}").split()
    objects = [name for name in objects if name.endswith(".o")]
    notes = machine.run(f"readelf -SW {archive}").count(".note.GNU-stack")
    check(notes >= len(objects) > 0, f"{len(objects)} objects in {archive}, but {notes} sections .note.GNU-stack")


def check_staging(machine, blocks):
    """DESTDIR, a deeper LIBDIR, and one outside PREFIX."""
    stage = machine.out / "a stage"
    machine.run(blocks["stage"].replace("$DESTDIR", '"$DESTDIR"'), DESTDIR=stage)
    deep = "usr/lib/x86_64-linux-gnu"
    check((stage / deep / "libplimsoll.so").exists(), f"no libplimsoll.so in {stage / deep}")
    check(files(stage / "usr/include") == {"plimsoll.h", "plimsoll.hpp"}, f"{files(stage)}")
    check_texts(machine, stage)
    if machine.has("pkg-config"):
        asks = 'PKG_CONFIG_PATH="$STAGE/pkgconfig" pkg-config --variable=includedir plimsoll'
        found = Path(machine.run(asks, STAGE=stage / deep).strip().replace("\\", ""))
        check(found.resolve() == stage / "usr/include", f"pkg-config finds {found}")
    machine.run('make uninstall DESTDIR="$DESTDIR" PREFIX=/usr LIBDIR=/usr/lib/x86_64-linux-gnu', DESTDIR=stage)
    check(not files(stage), f"left: {files(stage)}")
    check((stage / deep / "pkgconfig").is_dir(), "a directory of /usr was removed")

    apart = machine.out / "apart"
    places = "PREFIX=/opt/one LIBDIR=/opt/two/lib INCLUDEDIR=/opt/three"
    machine.run(f"make install DESTDIR=$DESTDIR {places}", DESTDIR=apart)
    text = (apart / "opt/two/lib/pkgconfig/plimsoll.pc").read_text()
    check("\nlibdir=/opt/two/lib\nincludedir=/opt/three\n" in text, text)
    check_texts(machine, apart)
    refused = machine.try_run("make install PREFIX=relative/path")
    check(refused.returncode != 0 and "not an absolute path" in refused.stdout, refused.stdout)
    print("DESTDIR, LIBDIR, INCLUDEDIR")


def main():
    options = arguments()
    options.out = options.out.resolve()
    shutil.rmtree(options.out, ignore_errors=True)
    blocks, project = page()
    machine = Machine(options)
    if not machine.has("pkg-config"):
        skip("pkg-config is missing: plimsoll.pc is installed but not tested")
    if not machine.has("cmake"):
        skip("CMake is missing: the CMake package is installed but not tested")
    version = re.search(r'^version = "(.*)"$', (REPOSITORY / "Cargo.toml").read_text(), re.M)[1]

    first, second = machine.out / "first", machine.out / "second"
    machine.run(blocks["install"], PREFIX=first)
    expected = {name.format(version=version) for name in INSTALLED}
    check(files(first) == expected, f"installed: {sorted(files(first) ^ expected)} differ")
    links = [os.readlink(first / "lib" / name) for name in ("libplimsoll.so", "libplimsoll.so.0")]
    check(links == ["libplimsoll.so.0", f"libplimsoll.so.{version}"], f"the links point at {links}")
    check_texts(machine, first)
    check_archive(machine, first / "lib/libplimsoll.a")
    consume(machine, blocks, project, first, version)
    check_versions(machine, first, version)

    first.rename(second)
    consume(machine, blocks, project, second, version)

    # A second installation changes nothing and does not need Cargo. Uninstalling keeps the files of others.
    machine.run("make install PREFIX=$PREFIX CARGO=false RUSTC=false", PREFIX=second)
    check(files(second) == expected, "a second installation differs")
    (second / "lib/pkgconfig/other.pc").touch()
    machine.run(blocks["uninstall"], PREFIX=second)
    check(files(second) == {"lib/pkgconfig/other.pc"}, f"left: {files(second)}")
    (second / "lib/pkgconfig/other.pc").unlink()
    machine.run(blocks["uninstall"], PREFIX=second)
    check(list(second.iterdir()) == [], f"left: {list(second.rglob('*'))}")
    print("uninstall")

    check_staging(machine, blocks)
    shutil.rmtree(options.out)
    print("check_install.py: passed" + "".join(f"\n  but NOT CHECKED: {text}" for text in skipped))


if __name__ == "__main__":
    main()
