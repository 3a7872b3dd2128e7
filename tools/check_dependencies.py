#!/usr/bin/env python3
"""Compares the crates and licences in docs/dependencies.md with those that Cargo reports: `make test-dependencies`.

PLIM_BLESS=1 rewrites the table. A licence that is not in ALLOWED fails, and so does a crate that is not listed.
"""
import json
import os
import re
import subprocess
import sys

from common import CARGO, ROOT

PAGE = ROOT / "docs" / "dependencies.md"
ALLOWED = {"MIT", "Apache-2.0", "Apache-2.0 WITH LLVM-exception", "BSD-2-Clause", "BSD-3-Clause", "Zlib", "Unlicense",
           "0BSD", "CC0-1.0", "Unicode-3.0", "BSL-1.0"}


def closure(metadata):
    """(package, the packages that depend on it) of all crates in the library, including those of build scripts."""
    packages = {p["id"]: p for p in metadata["packages"]}
    nodes = {n["id"]: n for n in metadata["resolve"]["nodes"]}
    root = metadata["resolve"]["root"]
    users, waiting = {}, [root]
    while waiting:
        at = waiting.pop()
        for dependency in nodes[at]["deps"]:
            if all(kind["kind"] == "dev" for kind in dependency["dep_kinds"]):
                continue
            if dependency["pkg"] not in users:
                users[dependency["pkg"]] = set()
                waiting.append(dependency["pkg"])
            users[dependency["pkg"]].add(packages[at]["name"])
    return sorted(((packages[i], sorted(a)) for i, a in users.items()), key=lambda f: (f[0]["name"], f[0]["version"]))


def main():
    command = [*CARGO, "metadata", "--format-version", "1", "--locked", "--filter-platform", "x86_64-unknown-linux-gnu"]
    metadata = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, check=True).stdout
    found = closure(json.loads(metadata))
    lines, failures = ["| crate | licence | asked for by |", "|---|---|---|"], []
    for package, users in found:
        licence = (package["license"] or "none").replace("/", " OR ")
        lines.append(f"| {package['name']} | {licence} | {', '.join(users)} |")
        # One of the alternatives must be allowed.
        if not any(all(part.strip(" ()") in ALLOWED for part in re.split(r"\bAND\b", choice))
                   for choice in re.split(r"\bOR\b", licence)):
            failures.append(f"{package['name']} has licence {licence}")
    text = PAGE.read_text(encoding="utf-8")
    begin, end = "<!-- table -->\n", "<!-- end of table -->"
    head, _, rest = text.partition(begin)
    listed, _, tail = rest.partition(end)
    table = "\n".join(lines) + "\n"
    if os.environ.get("PLIM_BLESS"):
        PAGE.write_text(head + begin + table + end + tail, encoding="utf-8")
    elif listed != table:
        failures.append("docs/dependencies.md is out of date: run PLIM_BLESS=1 make test-dependencies and review the change")
    for failure in failures:
        print(f"FAILED: {failure}", file=sys.stderr)
    print(f"{len(found)} crates, {len({p['license'] for p, _ in found})} licences: {'FAILED' if failures else 'as listed'}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
