"""Runs the examples in other languages, and compares their output and the pages about them with the library.

    run.py node --lib target/release/libplimsoll.so --out target/node

Requires NumPy, and PLIMSOLL_LIB for the Python package. koffi is fetched by npm, and JNA by apt-get unless it is installed or
JNA=…/jna.jar names it, into --out. If tools are missing or nothing can be fetched, this is reported and passes.
"""
import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import declarations
import reference

ROOT = Path(__file__).resolve().parents[2]
HERE = ROOT / "tests" / "languages"
OFFLINE = re.compile(r"\b(ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ENETUNREACH|EHOSTUNREACH|ETIMEDOUT|"
                     r"ERR_SOCKET_TIMEOUT|E403|E407|E5\d\d)\b")


class NotChecked(Exception):
    """Something outside this repository is missing."""


def check(condition, text):
    if not condition:
        sys.exit(f"FAILED: {text}")


def need(*tools):
    for tool in tools:
        if shutil.which(tool) is None:
            raise NotChecked(f"{tool} is not installed")


class Language:
    """A copy of an example's files, and how programs run there."""

    def __init__(self, name, options):
        self.name, self.lib = name, options.lib.resolve()
        self.out = options.out.resolve()
        self.folder, self.tmp, self.counts = self.out / "example", self.out / "tmp", self.out / "handles.txt"
        for folder in self.folder, self.tmp:
            shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(ROOT / "examples" / name, self.folder, ignore=shutil.ignore_patterns("node_modules", "classes"))
        self.tmp.mkdir()
        drop = ("PLIMSOLL_LIB", "LD_LIBRARY_PATH", "NODE_OPTIONS", "NODE_PATH", "CLASSPATH",
                "JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "JDK_JAVAC_OPTIONS")
        self.environment = {key: value for key, value in os.environ.items() if key not in drop}
        self.environment |= {"TMPDIR": str(self.tmp), "XDG_CACHE_HOME": str(self.out / "cache"), "LIB": str(self.lib)}

        # A directory where the loader finds the library by name, as if it were installed.
        self.installed = self.out / "lib"
        self.installed.mkdir(exist_ok=True)
        for link in "libplimsoll.so", "libplimsoll.so.0":
            (self.installed / link).unlink(missing_ok=True)
            (self.installed / link).symlink_to(self.lib)
        self.counting = self.out / "libcounting.so"
        self.run([*options.cc.split(), "-shared", "-fPIC", "-Wall", "-Wextra", "-Werror", f"-I{ROOT / 'include'}",
                  str(HERE / "counting.c"), "-o", str(self.counting), f"-L{self.installed}",
                  f"-Wl,--no-as-needed,-rpath,{self.installed}", "-lplimsoll", "-ldl"])

    def start(self, command, **variables):
        environment = self.environment | {key: str(value) for key, value in variables.items()}
        return subprocess.Popen(command, cwd=self.folder, env=environment, text=True, encoding="utf-8",
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def run(self, command, expect=0, **variables):
        process = self.start(command, **variables)
        said, complained = process.communicate(timeout=120)
        check(process.returncode == expect,
              f"{command} exits with {process.returncode}, expected {expect}\n{said}{complained}")
        return said, complained

    def run_counted(self, command, expect=0, **variables):
        """Runs a program and checks that it freed each of its handles once."""
        self.counts.unlink(missing_ok=True)
        said = self.run(command, expect, PLIMSOLL_LIB=self.counting, PLIMSOLL_COUNTS=self.counts, **variables)
        lines = self.counts.read_text().splitlines()
        made, freed = (Counter(line[2:] for line in lines if line[0] == sign) for sign in "+-")
        check(made, f"{command} made no handles")
        check(made == freed, f"{command}: never freed: {list(made - freed)}, too often: {list(freed - made)}")
        left = sorted(path.name for path in self.tmp.iterdir() if not path.name.startswith("hsperfdata"))
        check(not left, f"{command} left {left} behind")
        return said, sum(made.values())

    def example(self, program):
        """Runs the example to its end, cancelled, with an error, and with an installed library."""
        (said, _), handles = self.run_counted(program)
        same(said, reference.mixture(50), program)
        check(handles == 7, f"{handles} handles were made")
        print(f"{self.name}: the example prints what the library computes, and frees its {handles} handles")

        (said, _), _ = self.run_counted([*program, "50", "0.87"])
        expected = reference.mixture(50, 0.87)
        check("cancelled: " in expected, expected)
        same(said, expected, program)
        print(f"{self.name}: training can be cancelled, and all handles are freed")

        (_, complained), _ = self.run_counted([*program, "0"], expect=1)
        text = "invalid argument: epochs = 0 is not at least 1"
        check(re.search(rf"Plimsoll(Error|Exception): {text}\n", complained), complained)
        print(f"{self.name}: an error is reported with its text, and all handles are freed")

        said, _ = self.run([*program, "1"], LD_LIBRARY_PATH=self.installed)
        check("test accuracy" in said, said)
        print(f"{self.name}: it finds an installed library")

    def page(self, suffix):
        """Checks that every block of the page is an excerpt of a tested file, commands, or the output of the example.

        Returns the commands, {name: text}.
        """
        name = f"docs/{self.name}.md"
        text = (ROOT / name).read_text(encoding="utf-8")
        blocks = re.findall(r"^```(.*?)\n(.*?)^```$", text, re.M | re.S)
        check(text.count("```") == 2 * len(blocks), f"{name}: a block does not end")
        sources = {path.name: path.read_text(encoding="utf-8") for folder in (ROOT / "examples" / self.name, HERE)
                   for path in folder.rglob(f"*.{suffix}") if "node_modules" not in path.parts}
        excerpts = [block for kind, block in blocks if kind == suffix]
        commands = {kind[3:]: block for kind, block in blocks if kind.startswith("sh ")}
        outputs = [block for kind, block in blocks if kind == "text"]
        check(len(blocks) == len(excerpts) + len(commands) + len(outputs) and all((excerpts, commands, outputs)),
              f"{name} has blocks marked {[kind for kind, _ in blocks]}")
        for block in excerpts:
            check(any(excerpt(block, source) for source in sources.values()), f"{name}: in none of {list(sources)}:\n{block}")
        for block in outputs:
            same(block, reference.mixture(50), name, numbers=False)
        print(f"{self.name}: {name} has {len(excerpts)} excerpts")
        return commands

    def obey(self, name, commands, **variables):
        said, _ = self.run(["sh", "-eu", "-c", commands], **variables)
        print(f"{self.name}: the page's commands '{name}'")
        return said


def excerpt(block, source):
    """Whether the lines of a block occur in a source one after the other, with the same extra indentation."""
    lines = block.splitlines()
    found = source.splitlines()
    for start in range(len(found) - len(lines) + 1):
        moved = found[start][: len(found[start]) - len(found[start].lstrip())]
        first = lines[0][: len(lines[0]) - len(lines[0].lstrip())]
        indent = moved[: len(moved) - len(first)]
        if all((indent + line).rstrip() == there for line, there in zip(lines, found[start:])):
            return True
    return False


def same(said, expected, what, numbers=True):
    """Checks that the words of all lines agree, and the numbers except for rounding."""
    number = r"\d+(?:\.\d+)*"
    for ours, theirs in zip(said.splitlines() + ["<end>"], expected.splitlines() + ["<end>"]):
        words = re.sub(number, "#", ours) == re.sub(number, "#", theirs)
        pairs = zip(re.findall(number, ours), re.findall(number, theirs)) if words and numbers else []
        near = all(a == b or a.count(".") == 1 and abs(float(a) - float(b)) <= 1.01 * 10 ** -len(a.split(".")[1])
                   for a, b in pairs)
        check(words and near, f"{what} prints\n{ours}\ninstead of\n{theirs}")


def node(options):
    declarations.check_node(ROOT)
    lock = (ROOT / "examples/node/package-lock.json").read_text()
    check('"resolved"' not in lock, "package-lock.json names a host; npm's omit-lockfile-registry-resolved leaves it out")
    language = Language("node", options)
    commands = language.page("js")
    need("node", "npm")
    fetch_koffi(language, commands["install"], (ROOT / "examples/node/package.json").read_text() + lock)

    language.example(["node", "mixture.js"])
    said = language.obey("run", commands["run"])
    same(said, reference.mixture(50), commands["run"])

    shutil.copy(HERE / "bindings.js", language.folder)
    (said, _), _ = language.run_counted(["node", "--expose-gc", "bindings.js"])
    passed = re.search(r"^# pass (\d+)$", said, re.M)
    check(passed and int(passed[1]) >= 13 and "# fail 0\n" in said, said)
    print(f"node: {passed[1]} tests of plimsoll.js passed")

    (said, _), _ = language.run_counted(["node", "background.js", "1.5"])
    check(re.fullmatch(r"(epoch \d+; the event loop goes on\n)+stopped in epoch \d+, test accuracy \d\d\.\d\d %\n", said),
          said)
    process = language.start(["node", "background.js", "100"], PLIMSOLL_LIB=language.lib)
    process.stdout.readline()
    process.send_signal(signal.SIGINT)
    said, complained = process.communicate(timeout=60)
    check(process.returncode == 0 and "stopped in epoch" in said, said + complained)
    print("node: background.js trains beside the event loop until its time is over or a signal arrives")


def fetch_koffi(language, command, wanted):
    """Installs node_modules with the page's command. An installation of the same files is kept and needs no network."""
    kept, stamp = language.out / "node_modules", language.out / "installed"
    if not (kept.exists() and stamp.exists() and stamp.read_text() == wanted):
        settings = {"cache": language.out / "cache", "audit": "false", "fund": "false", "update_notifier": "false",
                    "fetch_retries": 1, "fetch_retry_mintimeout": 1000}
        process = language.start(["sh", "-eu", "-c", command],
                                 **{f"npm_config_{key}": value for key, value in settings.items()})
        said = "".join(process.communicate())
        if process.returncode != 0 and OFFLINE.search(said):
            raise NotChecked(f"koffi cannot be fetched: {OFFLINE.search(said)[0]}")
        check(process.returncode == 0, f"{command}{said}")
        shutil.rmtree(kept, ignore_errors=True)
        (language.folder / "node_modules").rename(kept)
        stamp.write_text(wanted)
        print("node: the page's commands 'install'")
    (language.folder / "node_modules").symlink_to(kept)


def java(options):
    declarations.check_java(ROOT)
    language = Language("java", options)
    commands = language.page("java")
    need("javac", "java")
    jna = fetch_jna(language)

    classes = language.out / "classes"
    shutil.rmtree(classes, ignore_errors=True)
    shutil.copy(HERE / "Bindings.java", language.folder)
    language.run(["javac", "--release", "11", "-encoding", "UTF-8", "-Xlint:all", "-Werror", "-cp", jna, "-d",
                  str(classes), "Mixture.java", "Bindings.java", "plimsoll/Plimsoll.java"])
    path = ["-cp", f"{jna}{os.pathsep}{classes}"]
    language.example(["java", *path, "Mixture"])
    said = language.obey("run", commands["run"], JNA=jna)
    same(said, reference.mixture(50), commands["run"])

    # Compiled code drops unused references, interpreted code does not. The locale lacks the letters in the file names.
    said, _ = language.run(["java", "-Xcomp", "-XX:TieredStopAtLevel=1", *path, "Bindings"],
                           PLIMSOLL_LIB=language.lib, LC_ALL="C")
    check(said.count("ok: ") >= 13, said)
    check((language.folder / "modèle-✓.safetensors").exists(), os.listdir(language.folder))
    print(f"java: {said.count('ok: ')} tests of Plimsoll.java passed")


def fetch_jna(language):
    """A class path with JNA: the one in the variable JNA, else Debian's package, installed or unpacked here."""
    if os.environ.get("JNA"):
        return os.environ["JNA"]
    installed = Path("/usr/share/java/jna.jar")
    if installed.exists():
        return str(installed)
    unpacked = language.out / "jna"
    jar, resources = unpacked / "usr/share/java/jna.jar", unpacked / "resources"
    if not resources.exists():
        try:
            need("apt-get", "dpkg-deb")
        except NotChecked as missing:
            raise NotChecked(f"JNA is not installed, and {missing}; JNA=…/jna.jar may name it") from None
        shutil.rmtree(unpacked, ignore_errors=True)
        unpacked.mkdir()
        done = subprocess.run(["apt-get", "download", "libjna-java", "libjna-jni"], cwd=unpacked, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if done.returncode != 0:
            raise NotChecked(f"JNA cannot be fetched ({done.stdout.splitlines()[-1]}); JNA=…/jna.jar may name it")
        for package in unpacked.glob("*.deb"):
            language.run(["dpkg-deb", "-x", str(package), str(unpacked)])
        # Debian's JNA looks for its own library in /usr/lib, and then on the class path.
        machine = os.uname().machine.replace("_", "-")
        place = resources / "com/sun/jna" / f"linux-{machine}"
        [native] = unpacked.glob("usr/lib/*/jni/libjnidispatch*.so")
        place.mkdir(parents=True)
        shutil.copy(native, place / "libjnidispatch.so")
    return f"{jar}{os.pathsep}{resources}"


def main():
    languages = {"node": node, "java": java}
    parser = argparse.ArgumentParser()
    parser.add_argument("language", choices=languages)
    parser.add_argument("--lib", type=Path, required=True, help="the shared library")
    parser.add_argument("--out", type=Path, required=True, help="the directory to work in")
    parser.add_argument("--cc", default="cc")
    options = parser.parse_args()
    try:
        languages[options.language](options)
    except NotChecked as missing:
        print(f"\n*** NOT CHECKED: examples/{options.language}: {missing} ***\n", file=sys.stderr)


if __name__ == "__main__":
    main()
