#!/usr/bin/env python3
"""Compiles and runs the code in README.md, docs/ and the first comment of plimsoll.h: `make test-docs`. It also checks links,
names and the reference of the C interface.

The tag of a fenced block says what it is; an unknown tag is an error. The blocks of a page run in order, in a folder of
their own. The folder starts with program.c and program.cpp of tests/install, and the library is installed in $PREFIX.

    c, cpp          with main: a program, compiled with all warnings as errors and run; `c first.c` also writes it to the
                    folder, for the page's commands. Without main: the pieces of a page make one program; a piece that
                    starts with # or static goes before main.
    c excerpt       lines that occur in examples/, in a header or in a program of the same page
    python          the pieces of a page make one program, run with the wheel
    cmake           a project, or the lines that a project for program.c lacks: configured and built
    sh              commands, run in the directory and with the variables that the block before left; `sh repo` starts in
                    the repository. The pages of check_install.py and tests/languages are left to those.
    console         the same, each command behind "$ " and followed by its output
    text            the output of the block before it. A number may differ by 5 % or by one in its last decimal, a number
                    of seconds by anything; "…" is any text.

`no-run` and a reason behind a tag exclude a block; the reason is printed.
"""

import argparse
import html.parser
import os
import re
import shutil
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import check_install as install

REPOSITORY = install.REPOSITORY
WARNINGS = "-Wall -Wextra -Wpedantic -Wconversion -Werror".split()
DIALECTS = {"c": ["-std=c99"], "cpp": ["-std=c++17", "-Wno-missing-field-initializers"]}
# Pages whose blocks tests/languages runs.
ELSEWHERE = {"docs/node.md": "test-node", "docs/java.md": "test-java"}
SENTINEL = "\x01"
failures, left_out, counts = [], [], Counter()


class Block(NamedTuple):
    page: str
    line: int  # of its first line of code
    tag: str
    words: list
    text: str

    @property
    def place(self):
        return f"{self.page}:{self.line}"

    def is_program(self):
        return bool(re.search(r"^int main\(", self.text, re.M))


class Outcome(NamedTuple):
    ok: bool
    output: str


def fail(place, text):
    failures.append(place)
    print(f"\nFAILED: {place}: {text}", file=sys.stderr)


def blocks_of(page, text):
    """The fenced blocks of a page, in order."""
    found, lines = [], text.splitlines()
    at = 0
    while at < len(lines):
        opening = re.match(r"( *)(`{3,})(.*)$", lines[at])
        if opening is None:
            at += 1
            continue
        indent, fence, info = opening.groups()
        end = next((i for i in range(at + 1, len(lines)) if lines[i].strip() == fence), None)
        if end is None:
            fail(f"{page}:{at + 1}", "the block does not end")
            break
        code = "".join(line.removeprefix(indent) + "\n" for line in lines[at + 1:end])
        tag, *words = info.split() or [""]
        found.append(Block(page, at + 2, tag, words, code))
        at = end + 1
    return found


def header_block():
    """The program in the first comment of plimsoll.h."""
    name = "include/plimsoll.h"
    text = (REPOSITORY / name).read_text(encoding="utf-8")
    program = re.search(r"^ \*     #include <plimsoll.h>\n.*?^ \*     }\n", text, re.M | re.S)
    code = re.sub(r"^ \* {0,5}", "", program[0], flags=re.M)
    return Block(name, 1 + text[:program.start()].count("\n"), "c", [], code)


def count_indented(text):
    """The number of blocks that are indented by four spaces only. They have no tag, and nothing runs them."""
    after_blank = re.findall(r"(?:^|\n\n)(?: {4}.*\n(?:\n(?= {4}))?)+", "\n" + prose(text) + "\n")
    return sum(not re.match(r"\s*([-*]|\d+\.) ", block) for block in after_blank)


def undented(text):
    return "\n".join(line.strip() for line in text.strip().splitlines())


class Runner:
    """The folder and the tools of one page."""

    def __init__(self, machine, options, page):
        self.machine, self.options, self.page = machine, options, page
        self.folder = machine.folder(page.replace("/", "-").removesuffix(".md"))
        self.count = 0

    def execute(self, command):
        try:
            done = subprocess.run(command, cwd=self.folder, text=True, stdin=subprocess.DEVNULL, errors="replace",
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=self.machine.environment, timeout=120)
        except subprocess.TimeoutExpired:
            return Outcome(False, "still running after 120 s")
        return Outcome(done.returncode == 0, done.stdout if done.returncode == 0 else f"{done.stdout}exit code {done.returncode}")

    def compiled(self, tag, source):
        """Compiles a program and runs it."""
        self.count += 1
        file = self.folder / f".build/{self.count}.{tag}"
        file.parent.mkdir(exist_ok=True)
        file.write_text(source, encoding="utf-8")
        program = file.with_suffix("")
        library = self.options.library.parent
        compiler = (self.options.cc if tag == "c" else self.options.cxx).split()
        done = self.execute([*compiler, *DIALECTS[tag], *WARNINGS, f"-I{REPOSITORY}/include",
                             f"-I{REPOSITORY}/bindings/cpp", str(file), "-o", str(program), f"-L{library}",
                             f"-Wl,-rpath,{library}", "-lplimsoll", "-lpthread", "-lm"])
        return self.execute([str(program)]) if done.ok else done

    def shell(self, commands, where=None):
        """Runs commands with the variables and in the directory that earlier ones of the page left.

        `set -e` ignores a failure of `a` in `a && b`, so the status is checked again at the end.
        """
        state = self.folder / ".shell"
        state.mkdir(exist_ok=True)
        before = "" if where is None else f'cd "{where}"\n'
        after = "" if where is not None else f'\npwd > "{state}/place"'
        script = f'[ ! -f "{state}/variables" ] || . "{state}/variables"\n' \
                 f'[ ! -f "{state}/place" ] || cd "$(cat "{state}/place")"\n' \
                 f'{before}set -e\n{commands}\n[ $? -eq 0 ]{after}\nexport -p > "{state}/variables"\n'
        return self.execute(["sh", "-u", "-c", script])


def matches(wanted, found):
    """Whether an output agrees with a text: numbers to 5 %, seconds always, … with anything."""
    number = r"(?<![\w.])[-+]?\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?(?!\w)"
    seconds = re.compile(number + r"(?= (?:s|ms|µs|ns|seconds)\b)")

    def line_matches(want, find):
        want, find = seconds.sub("…", want), seconds.sub("…", find)
        pattern, at, numbers = "", 0, []
        for token in re.finditer(rf"…|\s+|{number}", want):
            pattern += re.escape(want[at:token.start()])
            at = token.end()
            if token[0] == "…":
                pattern += ".*?"
            elif token[0].isspace():
                pattern += r"\s+"
            else:
                decimals = re.search(r"\.(\d+)$", token[0])
                numbers.append((float(token[0].replace(",", "")), 1.01 * 10 ** -len(decimals[1]) if decimals else 1e-12))
                pattern += rf"({number})"
        match = re.fullmatch(pattern + re.escape(want[at:]), find)
        if match is None:
            return False
        got = [float(text.replace(",", "")) for text in match.groups()]
        return all(abs(g - n) <= max(0.05 * abs(n), last) for (n, last), g in zip(numbers, got))

    want = [line.strip() for line in wanted.strip().splitlines()]
    find = [line.strip() for line in found.strip().splitlines()]
    # As with a shell's *: after a line that is "…" alone, the next one may come at any distance.
    reached = {0}
    for line in want:
        if line == "…":
            reached = set(range(min(reached, default=len(find) + 1), len(find) + 1))
        else:
            reached = {at + 1 for at in reached if at < len(find) and line_matches(line, find[at])}
    return len(find) in reached


def joined(blocks):
    """One C or C++ program from pieces. Each piece marks the end of its output."""
    head, body = "", ""
    for block in blocks:
        place = f'#line {block.line} "{block.page}"\n'
        if re.match(r"#|static ", block.text):
            head += place + block.text
        else:
            body += f'{place}{block.text}(void)fputs("\\001", stdout);\n'
    if blocks[0].tag == "c":
        return f"#include <plimsoll.h>\n#include <stdio.h>\n{head}int main(void) {{\n{body}return (int)status;\n}}\n"
    return f"#include <plimsoll.hpp>\n#include <cstdio>\n{head}int main() {{\n{body}}}\n"


def joined_python(blocks):
    """One Python program from pieces, with the line numbers of the page."""
    lines = []
    for block in blocks:
        lines += [""] * (block.line - 1 - len(lines)) + block.text.splitlines() + ['print("\\001", end="")']
    return "\n".join(lines) + "\n"


def pieces(run, blocks, tag, options):
    """Runs the pieces of a page as one program: {line: outcome}."""
    if not blocks:
        return {}
    if tag == "python":
        file = run.folder / "page.py"
        file.write_text(joined_python(blocks), encoding="utf-8")
        done = run.execute([str(options.python), str(file)])
    else:
        done = run.compiled(tag, joined(blocks))
    if not done.ok:
        where = blocks[0].place if len(blocks) == 1 else f"{blocks[0].page} ({len(blocks)} pieces of {tag})"
        fail(where, done.output)
    outputs = done.output.split(SENTINEL)
    speaking = [b for b in blocks if tag == "python" or not re.match(r"#|static ", b.text)]
    return {b.line: Outcome(done.ok, text) for b, text in zip(speaking, outputs)}


def cmake(run, block):
    """Configures and builds a project, or the lines that one lacks."""
    text = block.text
    if "project(" not in text:
        text = "cmake_minimum_required(VERSION 3.15...4.0)\nproject(page LANGUAGES C CXX)\n" \
               "add_executable(program program.c)\n" + text
    (run.folder / "CMakeLists.txt").write_text(text)
    return run.shell(f'cmake -S "{run.folder}" -B "{run.folder}/.cmake" -DCMAKE_PREFIX_PATH=$PREFIX\n'
                     f'cmake --build "{run.folder}/.cmake"')


def console(run, block):
    """Runs each command behind "$ " and compares its output."""
    parts = re.split(r"^\$ (.*)$", block.text, flags=re.M)
    if parts[0].strip():
        return Outcome(False, "output before the first command")
    for command, wanted in zip(parts[1::2], parts[2::2]):
        done = run.shell(command)
        if not done.ok or not matches(wanted, done.output):
            return Outcome(False, f"$ {command}\nprints\n{done.output}")
    return Outcome(True, "")


def excerpt(block, programs):
    """Whether the lines occur, one after the other, in a file."""
    code = undented(block.text)
    if any(code in undented(text) for text in programs):
        return Outcome(True, "")
    places = [REPOSITORY / place for place in ("examples", "include", "bindings/cpp")]
    for path in (path for place in places for path in sorted(place.rglob("*")) if path.is_file()):
        if "node_modules" not in path.parts and code in undented(path.read_text(encoding="utf-8", errors="replace")):
            return Outcome(True, "")
    return Outcome(False, "these lines occur in no file of " + ", ".join(place.name for place in places))


def check_page(machine, options, page, blocks, installing):
    """Runs the blocks of a page, in order."""
    if page in ELSEWHERE:
        counts[f"block of {ELSEWHERE[page]}"] += len(blocks)
        return
    wanted = [b for b in blocks if "no-run" not in b.words]
    run = Runner(machine, options, page)
    programs = [b.text for b in wanted if b.tag in DIALECTS and b.is_program()]
    loose = {tag: [b for b in wanted if b.tag == tag and "excerpt" not in b.words and not b.is_program()]
             for tag in ("c", "cpp", "python")}
    outcomes = {}
    for tag, parts in loose.items():
        outcomes.update(pieces(run, parts, tag, options))
    last = None
    for block in blocks:
        kind = block.tag
        if "no-run" in block.words:
            reason = " ".join(block.words[block.words.index("no-run") + 1:])
            if not reason:
                fail(block.place, "no-run requires a reason")
            left_out.append(f"{block.place} ({block.tag}): {reason}")
            counts["not run"] += 1
            last = None
            continue
        if block.tag == "text":
            kind = "text (output)"
            if last is None:
                fail(block.place, "a text must follow the block that prints it, or be marked no-run with a reason")
            elif last.ok and not matches(block.text, last.output):
                fail(block.place, f"the output is\n{last.output}")
            counts[kind] += 1
            continue
        if "excerpt" in block.words:
            kind, last = f"{block.tag} excerpt", excerpt(block, programs)
        elif block.tag in DIALECTS and block.is_program():
            kind = f"{block.tag} program"
            for word in block.words:
                (run.folder / word).write_text(block.text, encoding="utf-8")
            last = run.compiled(block.tag, f'#line {block.line} "{block.page}"\n{block.text}')
        elif block.tag in loose:
            kind = f"{block.tag} piece"
            counts[kind] += 1
            last = outcomes.get(block.line)  # failed above, if it did
            continue
        elif block.tag in ("sh", "cmake") and page == "docs/install.md":
            kind, last = f"{block.tag}, by test-install", Outcome(block.tag == "cmake" or block.words[0] in installing, "")
        elif block.tag == "sh":
            last = run.shell(block.text, REPOSITORY if "repo" in block.words else None)
        elif block.tag == "console":
            last = console(run, block)
        elif block.tag == "cmake":
            last = cmake(run, block)
        else:
            last = Outcome(False, f"unknown tag {block.tag!r}")
        counts[kind] += 1
        if not last.ok:
            fail(block.place, last.output)


def slug(heading):
    """The anchor that GitHub gives a heading."""
    plain = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).replace("`", "").strip().lower()
    return re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")


def prose(text):
    """A page without its fenced blocks."""
    return re.sub(r"^( *)(`{3,})[^\n]*\n.*?^\1\2 *$", "", text, flags=re.M | re.S)


def check_links(pages):
    """Every link inside the repository has a target, and docs/README.md links every page."""
    anchors = {name: {slug(h) for h in re.findall(r"^#+ (.*)$", prose(text), re.M)} for name, text in pages.items()}
    linked = set()
    for name, text in pages.items():
        for target in re.findall(r"\]\(([^)\s]+)\)", prose(text)):
            if re.match(r"\w+:", target):
                continue
            counts["link"] += 1
            file, _, anchor = target.partition("#")
            path = ((REPOSITORY / name).parent / file).resolve() if file else REPOSITORY / name
            if not path.exists():
                fail(name, f"links to {target}, which does not exist")
                continue
            other = str(path.relative_to(REPOSITORY))
            if anchor and other in anchors and anchor not in anchors[other]:
                fail(name, f"links to {target}, but {other} has no such heading")
            if name == "docs/README.md":
                linked.add(other)
    for name in pages.keys() - linked - {"README.md", "docs/README.md"}:
        fail("docs/README.md", f"does not link {name}")


def check_names(pages):
    """Every plim_ name in a text is one of the library's, or the beginning of several."""
    header = (REPOSITORY / "include/plimsoll.h").read_text(encoding="utf-8")
    known = set(re.findall(r"\b(?:plim_|PLIM_)\w+", header))
    for name, text in pages.items():
        for word in set(re.findall(r"\b(?:plim|PLIM)_\w+", text)):
            counts["name of the library"] += 1
            beginning = word.endswith("_") and any(other.startswith(word) for other in known)
            if word not in known and not beginning and not re.match(r"plim_x|PLIM_(ISA|BLESS)$", word):
                fail(name, f"{word} is not a name of the library")


class Anchors(html.parser.HTMLParser):
    """The ids of a page, and the ids that it links to."""

    def __init__(self, text):
        super().__init__()
        self.ids, self.links = [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        for name, value in attributes:
            if name == "id":
                self.ids.append(value)
            if name == "href" and value.startswith("#"):
                self.links.append(value[1:])


def check_reference(out):
    """The reference has every symbol, its links have targets, and an incomplete header is refused."""
    def generate(header, where):
        return subprocess.run([sys.executable, "tools/reference.py", str(header), str(where)], cwd=REPOSITORY, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    header = REPOSITORY / "include/plimsoll.h"
    done = generate(header, out / "index.html")
    if done.returncode:
        return fail("tools/reference.py", done.stdout)
    page = Anchors((out / "index.html").read_text(encoding="utf-8"))
    symbols = (REPOSITORY / "tests/abi/symbols.txt").read_text().split()
    for name in symbols:
        if name not in page.ids:
            fail("tools/reference.py", f"{name} is not on the page")
    for name in set(page.links) - set(page.ids):
        fail("tools/reference.py", f"the page links to #{name}, which does not exist")
    if len(page.ids) != len(set(page.ids)):
        fail("tools/reference.py", "an id occurs twice")
    counts["symbol of the reference"] += len(symbols)

    text = header.read_text(encoding="utf-8")
    broken = {
        "has no description": ("extern \"C\" {\n#endif // __cplusplus\n", r"\g<0>\nvoid plim_undocumented(void);\n"),
        "no @param layer": (r"^ \* @param layer [^@]*?(?=^ \* @param)", ""),
        "@param nothing": (r"^ \* @param layer ", r" * @param nothing  x\n\g<0>"),
        "no @return": (r"^ \* @return the number; [^@/]*?(?=^ \*/)", ""),
        "plim_gone": (r"plim_tail_fit\(\) measures", "plim_gone() measures"),
    }
    for complaint, (pattern, replacement) in broken.items():
        changed, times = re.subn(pattern, replacement, text, count=1, flags=re.M | re.S)
        (out / "broken.h").write_text(changed, encoding="utf-8")
        done = generate(out / "broken.h", out / "broken.html")
        if not times or done.returncode == 0 or complaint not in done.stdout:
            fail("tools/reference.py", f"a header that should be refused with {complaint!r} gives\n{done.stdout}")
        counts["broken header refused"] += 1


def check_matching():
    """matches() accepts and rejects what it should."""
    same = [("a 100.0 b", "a  101.2 b"), ("x …\n…\nend", "x y z\n1\n2\nend"), ("5 ms", "900 ms"), ("…", ""), ("", ""),
            ("1,234 and -2e-3", "1234 and -0.00201"), ("0.010", "0.011"), ("…\na", "a\nb\na")]
    other = [("a 100.0 b", "a 110 b"), ("a", "b"), ("a", "a\nb"), ("a\nb", "a"), ("5 m", "6 m"), ("…\nend", "end\nx"),
             ("0", "1"), ("0.010", "0.012"), ("v1", "v2"), ("loss 0.5", "loss")]
    for wanted, found in same:
        assert matches(wanted, found), (wanted, found)
    for wanted, found in other:
        assert not matches(wanted, found), (wanted, found)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=Path, required=True, help="a directory that may be deleted")
    parser.add_argument("--library", type=Path, required=True)
    parser.add_argument("--python", type=Path, required=True, help="an interpreter that has the wheel")
    for tool in "cc", "cxx", "cmake", "pkg-config":
        parser.add_argument("--" + tool, required=True)
    parser.add_argument("pages", nargs="*", help="only these")
    options = parser.parse_args()
    options.out, options.library = options.out.resolve(), options.library.resolve()
    options.python = options.python.absolute()  # resolved, it would be outside its environment
    started = time.monotonic()
    check_matching()
    shutil.rmtree(options.out, ignore_errors=True)

    files = [REPOSITORY / "README.md", *sorted((REPOSITORY / "docs").rglob("*.md"))]
    pages = {str(path.relative_to(REPOSITORY)): path.read_text(encoding="utf-8") for path in files}
    machine = install.Machine(options)
    home, prefix = options.out / "home", options.out / "home/plimsoll"
    home.mkdir()
    # A home directory for the page's commands. Cargo keeps its own.
    real = Path(os.environ.get("HOME", "/"))
    machine.environment |= {"HOME": str(home), "PREFIX": str(prefix), "LD_LIBRARY_PATH": f"{prefix}/lib",
                            "PKG_CONFIG_PATH": f"{prefix}/lib/pkgconfig", "LC_ALL": "C.UTF-8",
                            "CARGO_HOME": os.environ.get("CARGO_HOME", str(real / ".cargo")),
                            "RUSTUP_HOME": os.environ.get("RUSTUP_HOME", str(real / ".rustup"))}
    machine.environment.pop("PLIMSOLL_LIB", None)
    machine.run('make install PREFIX="$PREFIX"')
    (machine.tools / "python").write_text(f'#!/bin/sh\nexec {options.python} "$@"\n')
    (machine.tools / "python").chmod(0o755)
    installing, _ = install.page()

    everything = {"include/plimsoll.h": [header_block()]}
    everything |= {page: blocks_of(page, text) for page, text in pages.items()}
    counts["not run: indented, without a tag"] = sum(map(count_indented, pages.values()))
    for page, blocks in everything.items():
        if blocks and (not options.pages or page in options.pages):
            begun = time.monotonic()
            check_page(machine, options, page, blocks, installing)
            print(f"{page}: {len(blocks)} blocks, {time.monotonic() - begun:.1f} s", flush=True)
    if not options.pages:
        check_links(pages)
        check_names(pages)
        check_reference(options.out)

    print("\n".join(f"{number:5} {kind}" for kind, number in sorted(counts.items())))
    for text in left_out:
        print(f"*** NOT RUN: {text}", file=sys.stderr)
    if failures:
        sys.exit(f"check_docs.py: {len(failures)} failed: {', '.join(dict.fromkeys(failures))}")
    shutil.rmtree(options.out)
    print(f"check_docs.py: passed in {time.monotonic() - started:.0f} s")


if __name__ == "__main__":
    main()
