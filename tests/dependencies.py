"""What the library is built from, and under which licences: holds docs/dependencies.md against Cargo's own account.

PLIM_BLESS=1 rewrites the table. A licence that is not in ALLOWED is a failure, and so is a dependency that is not listed.
"""
import json
import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "dependencies.md"
ALLOWED = {"MIT", "Apache-2.0", "Apache-2.0 WITH LLVM-exception", "BSD-2-Clause", "BSD-3-Clause", "Zlib", "Unlicense",
           "0BSD", "CC0-1.0", "Unicode-3.0", "BSL-1.0"}


def closure(metadata):
    """(package, those that ask for it) of everything that ends up in the library, build scripts included."""
    packages = {p["id"]: p for p in metadata["packages"]}
    nodes = {n["id"]: n for n in metadata["resolve"]["nodes"]}
    root = metadata["resolve"]["root"]
    askers, waiting = {}, [root]
    while waiting:
        at = waiting.pop()
        for dependency in nodes[at]["deps"]:
            if all(kind["kind"] == "dev" for kind in dependency["dep_kinds"]):
                continue
            if dependency["pkg"] not in askers:
                askers[dependency["pkg"]] = set()
                waiting.append(dependency["pkg"])
            askers[dependency["pkg"]].add(packages[at]["name"])
    return sorted(((packages[i], sorted(a)) for i, a in askers.items()), key=lambda f: (f[0]["name"], f[0]["version"]))


def main():
    command = ["cargo", "metadata", "--format-version", "1", "--locked", "--filter-platform", "x86_64-unknown-linux-gnu"]
    told = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, check=True).stdout
    found = closure(json.loads(told))
    lines, failures = ["| crate | licence | asked for by |", "|---|---|---|"], []
    for package, askers in found:
        licence = (package["license"] or "none").replace("/", " OR ")
        lines.append(f"| {package['name']} | {licence} | {', '.join(askers)} |")
        # One of the alternatives must do.
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
        failures.append("docs/dependencies.md is out of date: PLIM_BLESS=1 make test-dependencies, and look at what came")
    for failure in failures:
        print(f"FAILED: {failure}", file=sys.stderr)
    print(f"{len(found)} crates, {len({p['license'] for p, _ in found})} licences: {'FAILED' if failures else 'as listed'}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
