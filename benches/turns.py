#!/usr/bin/env python3
"""Compares another build of the library with this one, in turn within one process, also on a busy machine.

    turns.py BEFORE                          BEFORE is a directory with another build's libplimsoll.so
    turns.py BEFORE --cells "cora 400"       only cells with all these words
    turns.py BEFORE --threads 2 --turns 50

Prints milliseconds per epoch before and after, and the change in percent: for the shortest epoch, the 5 % quantile and the
median. See benches/c/turns.c.
"""
import argparse

from experiments import cells, environment


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before", metavar="BEFORE", help="a directory with another build's libplimsoll.so")
    parser.add_argument("--cells", default="", help="only cells with all these words, as in 'cora 2-layer 400'")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--turns", type=int, default=100)
    options = parser.parse_args()
    environment.build_library()
    sets, program = environment.data_sets(environment.compile_c("cells")), environment.compile_c("turns")
    quantiles = {"min_s": "shortest", "twentieth_s": "5 % quantile", "median_s": "median"}
    print(f"{'ms per epoch':26}" + "".join(f"{name:>28}" for name in quantiles.values()))
    for data, (path, raw) in sets.items():
        for layers in (1, 2):
            for sample in cells.SAMPLES[data]:
                name = cells.cell_name((data, layers, sample))
                if not all(word.lower() in name.lower() for word in options.cells.split()):
                    continue
                command = [program, f"before={options.before}", f"after={environment.TARGET / 'release'}",
                           f"data={path}", f"layers={layers}", f"sample={sample}", f"threads={options.threads}",
                           f"step={cells.step_of(data, layers)}", f"raw={int(raw)}", f"turns={options.turns}"]
                result = environment.answer(command, options.threads)
                if not result:
                    continue
                before, after = result["before"], result["after"]
                columns = (f"{1e3 * before[q]:10.4f}{1e3 * after[q]:9.4f}{100 * (after[q] / before[q] - 1):+7.1f} %"
                           for q in quantiles)
                print(f"{name:26}" + "".join(columns), flush=True)


if __name__ == "__main__":
    main()
