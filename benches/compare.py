#!/usr/bin/env python3
"""Measures Plimsoll and the alternatives, and writes tables and a plot into docs/benchmarks/.

    compare.py all                       everything, an hour or two; `make bench`
    compare.py cells --quick             one round of short runs, as a trial
    compare.py cells --cells "pubmed 2-layer" --engines plimsoll-1,numba --rounds 3

Sets up its own environment (target/bench/venv), builds the library in release mode and runs our side as C programs
(benches/c) against it. PLIMSOLL_DATA names the directory of the data sets; missing ones are reported.
--quick writes to target/bench/quick instead, so that a trial does not replace careful measurements.
"""
import argparse
import os
import sys
from pathlib import Path

from experiments import environment

SECTIONS = ["machine", "cells", "layers", "spmm", "dense", "scaling", "memory", "build", "edge_list", "accuracy"]
# These require no other library; `dense` compares with PyTorch if it is there.
ALONE = ["edge_list", "dense"]


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("section", choices=["all", *SECTIONS])
    parser.add_argument("--quick", action="store_true", help="small sizes and short runs")
    parser.add_argument("--rounds", type=int, help="how often each engine runs")
    parser.add_argument("--cells", default="", help="only cells with all these words, as in 'pubmed 2-layer 400'")
    parser.add_argument("--engines", type=lambda s: s.split(","), help="only these, separated by commas")
    parser.add_argument("--out", type=Path, help="where to write; docs/benchmarks, or target/bench/quick with --quick")
    options = parser.parse_args()
    usual = environment.WORK / "quick" if options.quick else environment.ROOT / "docs" / "benchmarks"
    options.out = options.out or usual
    return options


def main():
    options = parse()
    if options.section not in ALONE and Path(sys.prefix).resolve() != environment.VENV.resolve():
        python = environment.make_venv()
        os.execve(python, [str(python), *sys.argv], dict(os.environ, PYTHONDONTWRITEBYTECODE="1"))
    import importlib
    options.peaks = None
    for name in SECTIONS if options.section == "all" else [options.section]:
        result = importlib.import_module(f"experiments.{name}").run(options)
        if name == "machine":
            options.peaks = result


if __name__ == "__main__":
    main()
