"""Writes CSV files, and a Markdown page in which each experiment owns the part between its two marks."""
import csv
import datetime
import importlib.metadata
import math
import os
import platform
import re
import shlex
import subprocess
import sys
from pathlib import Path

from . import environment

ORDER = ["machine", "cells", "layers", "spmm", "dense", "scaling", "memory", "build", "edge_list", "accuracy"]
HEAD = """# Benchmarks

`make bench` (`benches/compare.py all`) measured these tables. Each section names its command, machine and date; compare only numbers
of the same table. The `.csv` files beside this page have the data. The other libraries run on the same machine in the same session,
in turn with Plimsoll: every round runs each of them once, in a fresh process. They do the same work;
[benches/peer.py](../../benches/peer.py) is their code.
"""


def write_csv(options, name, rows):
    options.out.mkdir(parents=True, exist_ok=True)
    columns = list(dict.fromkeys(key for row in rows for key in row))
    with open(options.out / f"{name}.csv", "w", newline="") as file:
        writer = csv.DictWriter(file, columns, lineterminator="\n")
        writer.writeheader()
        for row in rows:
            writer.writerow({k: f"{v:.6g}" if isinstance(v, float) else v for k, v in row.items()})


def table(header, rows, text=1):
    """Returns a Markdown table. The first `text` columns are text, the others are numbers."""
    lines = [header, ["---"] * text + ["---:"] * (len(header) - text), *rows]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines) + "\n"


def threads(count):
    return f"{count} thread{'s' if count > 1 else ''}"


def number(x, digits=3):
    """Formats a number with this many significant digits and no exponent: 0.240, 12.3, 1,230."""
    if x is None or not math.isfinite(x):
        return "–"
    x = float(f"{x:.{digits}g}")
    after_point = digits - 1 - math.floor(math.log10(abs(x))) if x else 0
    return f"{x:,.{max(after_point, 0)}f}"


def write_part(options, name, text):
    """Replaces the part `name` of the page, or inserts it in its place."""
    options.out.mkdir(parents=True, exist_ok=True)
    page = options.out / "README.md"
    old = page.read_text() if page.exists() else ""
    parts = dict(re.findall(r"<!-- (\w+) -->\n(.*?)<!-- end of \1 -->\n", old, re.S))
    parts[name] = text.strip() + "\n"
    body = "\n".join(f"<!-- {key} -->\n{parts[key]}<!-- end of {key} -->\n" for key in ORDER if key in parts)
    page.write_text(HEAD + "\n" + body)
    environment.say(f"wrote {page}, part {name}")


def provenance():
    """Returns one line: command, machine, date, commit."""
    commit = subprocess.run(["git", "describe", "--always", "--dirty"], cwd=environment.ROOT, capture_output=True,
                            text=True).stdout.strip()
    command = shlex.join(["benches/compare.py", *sys.argv[1:]])
    machine = f"{processor()}, {caches()}"
    return f"`{command}` on {machine}; {datetime.date.today()}, commit {commit or 'unknown'}.\n"


def versions():
    names = ["numpy", "scipy", "numba", "torch", "torch-geometric", "torch-sparse", "mkl"]
    found = {}
    for name in names:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            found[name] = "missing"
    return found


def processor():
    try:
        text = Path("/proc/cpuinfo").read_text()
        model = re.search(r"model name\s*:\s*(.*)", text)
        flags = re.search(r"flags\s*:\s*(.*)", text)
        wide = [f for f in ("avx2", "avx512f") if flags and f in flags[1].split()]
        return f"{model[1] if model else platform.processor()} ({', '.join(wide) or 'no AVX2'})"
    except OSError:
        return platform.processor() or platform.machine()


def caches():
    folder, found = Path("/sys/devices/system/cpu/cpu0/cache"), []
    for index in sorted(folder.glob("index*")):
        level, kind, size = ((index / name).read_text().strip() for name in ("level", "type", "size"))
        if kind != "Instruction":
            found.append(f"L{level} {size}")
    return ", ".join(found)


def memory_gib():
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2 ** 30
