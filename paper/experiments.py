"""The paper's experiments and a few more: every run that the report needs, as jobs of job.c."""
import csv
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

DATA = ["Mixture", "Cora", "Pubmed"]
FILES = {"Mixture": "mixture_paper", "Cora": "cora", "Pubmed": "pubmed"}
LAYERS = [1, 2]
EPOCHS = 100


class Cell(NamedTuple):
    """A cell of Table 1."""
    step: float        # Adam's step, or c of SGD's c/√k
    paper: float       # test accuracy in percent, one seed
    oracle_mean: float  # of the program in tests/oracle
    oracle_std: float
    oracle_seeds: int


def read_table1():
    """{(data, layers): {algorithm: Cell}} of table1.csv. An algorithm is a number of draws, "unbiased" or "adam"."""
    table = {}
    with Path(__file__).with_name("table1.csv").open(encoding="utf-8", newline="") as lines:
        for row in csv.DictReader(lines):
            algorithm = int(row["algorithm"]) if row["algorithm"].isdigit() else row["algorithm"]
            table.setdefault((row["data"], int(row["layers"])), {})[algorithm] = Cell(
                *(float(row[name]) for name in Cell._fields[:-1]), int(row["oracle_seeds"]))
    return table


TABLE1 = read_table1()
SIZES = {data: [algorithm for algorithm in TABLE1[data, 1] if isinstance(algorithm, int)] for data in DATA}

# Table 4 of the paper: seconds per epoch.
SECONDS = {
    ("Mixture", 1): {400: 0.0035, 800: 0.0018, 1600: 0.0027, "unbiased": 0.0044, "adam": 0.0049},
    ("Cora", 1): {400: 0.0269, 800: 0.0455, "unbiased": 0.0737, "adam": 0.0741},
    ("Pubmed", 1): {400: 0.1991, 800: 0.3554, 1600: 0.7129, 3200: 1.1847, "unbiased": 2.2425, "adam": 2.2313},
    ("Mixture", 2): {400: 0.0103, 800: 0.0103, 1600: 0.0142, "unbiased": 0.0130, "adam": 0.0143},
    ("Cora", 2): {400: 0.0868, 800: 0.0974, "unbiased": 0.2031, "adam": 0.2080},
    ("Pubmed", 2): {400: 2.5014, 800: 2.5684, 1600: 3.2032, 3200: 3.8895, "unbiased": 7.9478, "adam": 7.9037},
}

# Figure 3: sample sizes and relative errors. Models of two layers are sampled at the hidden one, as in training.
TAIL_SIZES = {"Mixture": [100, 200, 400, 800, 1200, 1600, 2400, 3200, 4800, 6000],
              "Cora": [50, 100, 200, 400, 600, 800, 1200, 1600, 2200, 2708],
              "Pubmed": [200, 400, 800, 1600, 2400, 3200, 4800, 6400, 9600, 12800]}
TAIL_DELTAS = [0.1, 0.2, 0.3, 0.5]

# Not in the paper: distributions of the draws, with their constants in plimsoll.h, and sample sizes.
DISTRIBUTIONS = {"uniform": 0, "importance": 1, "neighbours": 2, "LADIES": 3}
BEYOND_SIZES = {"Mixture": [100, 200, 400, 800, 1600], "Cora": [50, 100, 200, 400, 800],
                "Pubmed": [50, 100, 200, 400, 800, 1600]}


def algorithms(data):
    """In the order of the paper's tables."""
    return list(TABLE1[data, 1])


def name_of(algorithm):
    return {"unbiased": "SGD unbiased", "adam": "Adam unbiased"}.get(algorithm, f"SGD ({algorithm})")


@dataclass(frozen=True)
class Job:
    """A run of job.c: its arguments, and roughly its seconds."""
    words: tuple
    cost: float = 1.0
    # Runs while nothing else does, because its time is measured.
    alone: bool = field(default=False, compare=False)


class Plan:
    """The jobs for the available data sets."""

    def __init__(self, files, seeds, fast):
        self.files, self.seeds, self.fast = files, range(seeds), fast

    @property
    def data(self):
        return [d for d in DATA if d in self.files]

    def job(self, kind, data, cost, *, alone=False, **options):
        words = {"data": self.files[data], "normalize": int(data != "Mixture"), **options}
        return Job((kind, *(f"{k}={v}" for k, v in words.items())), cost, alone)

    def train(self, data, layers, algorithm, seed, *, sizes=None, alone=False, **options):
        """A training run. `sizes` replaces the draws at each layer."""
        drawn = isinstance(algorithm, int)
        optimizer = "adam" if algorithm == "adam" else "sgd"
        step = TABLE1[data, layers]["adam" if algorithm == "adam" else "unbiased"].step
        if drawn and sizes is None:
            sizes = [0] * (layers - 1) + [algorithm]
        words = {"layers": layers, "sizes": ",".join(map(str, sizes or [])), "optimizer": optimizer, "step": f"{step:g}",
                 "seed": seed, "epochs": EPOCHS, **options}
        cost = {"Mixture": 0.1, "Cora": 0.4, "Pubmed": 3}[data] * (1 if drawn else 1.5) * layers
        return self.job("train", data, cost, alone=alone, **words)

    def table(self, data, layers, algorithm):
        """Table 1 and Figures 1 and 2: one run per seed."""
        return [self.train(data, layers, algorithm, seed) for seed in self.seeds]

    def timed(self, data, layers, algorithm, cache):
        """Table 4, and accuracy against time: seed 0 again, while nothing else runs."""
        extra = {} if cache else {"cache": 0, "epochs": 5 if self.fast else 20, "evaluate": 0, "test": 0}
        return self.train(data, layers, algorithm, 0, alone=True, **({"timed": 1} | extra))

    def tail(self, data, layers):
        draws = 1000 if self.fast else 10000
        grid = TAIL_SIZES[data][::2] if self.fast else TAIL_SIZES[data]
        sizes = ",".join(map(str, [0] * (layers - 1) + [1]))
        cost = {"Mixture": 6, "Cora": 6, "Pubmed": 60}[data] * layers * draws / 10000
        return self.job("tail", data, cost, layers=layers, sizes=sizes, grid=",".join(map(str, grid)),
                        deltas=",".join(map(str, TAIL_DELTAS)), draws=draws)

    def all_layers(self, data, size, seed):
        """Two layers, both sampled."""
        return self.train(data, 2, size, seed, sizes=[size, size])

    def distribution(self, data, name, size):
        return self.train(data, 2, size, 0, alone=True, distribution=DISTRIBUTIONS[name], timed=1)

    def distribution_sizes(self, data):
        return BEYOND_SIZES[data][1::2] if self.fast else BEYOND_SIZES[data]

    def jobs(self):
        """All jobs, each once: first those that can share the machine, the longest first."""
        jobs = []
        for data in self.data:
            for layers in LAYERS:
                jobs.append(self.tail(data, layers))
                for algorithm in algorithms(data):
                    jobs += self.table(data, layers, algorithm)
                    jobs += [self.timed(data, layers, algorithm, cache) for cache in (True, False)]
            for size in SIZES[data]:
                jobs += [self.all_layers(data, size, seed) for seed in self.seeds]
            for name in DISTRIBUTIONS:
                jobs += [self.distribution(data, name, size) for size in self.distribution_sizes(data)]
        return sorted(dict.fromkeys(jobs), key=lambda job: (job.alone, -job.cost))
