#!/usr/bin/env python3
"""Counts the instructions of fixed workloads and compares them with benches/instructions.csv.

    instructions.py              prints each count and its change in percent; `make bench-instructions`
    instructions.py --bless      rewrites the file

On a busy machine, wall time cannot show a change of a few percent; counts of instructions under callgrind can. Only plim_train()
counts, without evaluation, on one thread with the AVX2 kernels (valgrind may not know AVX-512). Two runs of one build agree to
about 0.01 %. Another compiler shifts the counts: bless first, and then compare a change.
"""
import argparse
import csv
import sys

from experiments import cells, environment

# Data set, layers, sample, epochs.
WORKLOADS = [(data, layers, sample, epochs) for data, epochs in (("Mixture", 5), ("Cora", 5)) for layers in (1, 2)
             for sample in ("400", "unbiased", "full")] + [("Pubmed", layers, "400", 2) for layers in (1, 2)]
BASELINE = environment.BENCHES / "instructions.csv"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bless", action="store_true", help="rewrite the file")
    parser.add_argument("--only", default="", help="only workloads whose name has all these words, as in 'cora 2 400'")
    options = parser.parse_args()
    if not environment.VALGRIND:
        environment.loudly("valgrind is not installed")
        return 1
    environment.build_library()
    program = environment.compile_c("cells")
    sets = environment.data_sets(program, mixture_of_paper=False)
    before = {}
    if BASELINE.exists():
        with open(BASELINE, newline="") as file:
            before = {tuple(row[:4]): int(row[4]) for row in list(csv.reader(file))[1:]}
    after = dict(before)
    print(f"{'':24} {'instructions':>14} {'before':>14} {'change':>9}")
    for data, layers, sample, epochs in WORKLOADS:
        name = f"{data} {layers}-layer {sample}"
        if data not in sets or not all(word.lower() in name.lower() for word in options.only.split()):
            continue
        path, raw = sets[data]
        count, _ = environment.count_instructions([
            program, f"data={path}", f"layers={layers}", f"sample={sample}", f"step={cells.step_of(data, layers)}",
            f"raw={int(raw)}", f"epochs={epochs}"])
        if count is None:
            continue
        key = (data, str(layers), sample, str(epochs))
        old = before.get(key)
        change = f"{100 * (count / old - 1):+.2f} %" if old else "new"
        print(f"{name:24} {count:14,} {f'{old:,}' if old else '':>14} {change:>9}", flush=True)
        after[key] = count
    if options.bless:
        with open(BASELINE, "w", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(["data", "layers", "sample", "epochs", "instructions"])
            writer.writerows([*key, count] for key, count in after.items())
        environment.say(f"wrote {BASELINE}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
