"""What the paper did, and what it did not: every run that the report needs, as jobs of job.c."""
from dataclasses import dataclass, field

DATA = ["Mixture", "Cora", "Pubmed"]
FILES = {"Mixture": "mixture_paper", "Cora": "cora", "Pubmed": "pubmed"}
LAYERS = [1, 2]
# c of SGD's c/√k with 1 and 2 layers, and Adam's step.
STEPS = {"Mixture": (1, 1, 1e-2), "Cora": (1e3, 1e2, 1e-1), "Pubmed": (1e3, 1e1, 1e-1)}
SIZES = {"Mixture": [400, 800, 1600], "Cora": [400, 800], "Pubmed": [400, 800, 1600, 3200]}
EPOCHS = 100

# Table 1 of the paper, percent; beside it mean and standard deviation of an independent float64 program in NumPy, of 20
# seeds on Mixture and Cora and 8 on Pubmed.
ACCURACY = {
    ("Mixture", 1): {400: (78.0, 77.9, 0.7), 800: (77.8, 77.8, 0.6), 1600: (77.9, 78.1, 0.5),
                     "unbiased": (78.1, 78.4, 0.5), "adam": (80.0, 80.2, 0.3)},
    ("Cora", 1): {400: (85.8, 85.9, 0.4), 800: (86.1, 85.8, 0.3),
                  "unbiased": (84.2, 84.2, 0.2), "adam": (84.9, 84.9, 0.2)},
    ("Pubmed", 1): {400: (86.2, 88.0, 0.6), 800: (87.9, 88.4, 0.3), 1600: (88.6, 88.7, 0.3), 3200: (88.9, 88.9, 0.3),
                    "unbiased": (88.1, 88.2, 0.1), "adam": (88.4, 88.4, 0.3)},
    ("Mixture", 2): {400: (86.7, 87.0, 0.4), 800: (86.9, 86.9, 0.3), 1600: (86.8, 87.0, 0.3),
                     "unbiased": (86.8, 87.2, 0.2), "adam": (87.6, 87.5, 0.2)},
    ("Cora", 2): {400: (87.1, 87.0, 0.8), 800: (85.8, 87.0, 0.6),
                  "unbiased": (87.4, 87.2, 0.3), "adam": (87.0, 86.8, 0.4)},
    ("Pubmed", 2): {400: (87.5, 87.5, 0.3), 800: (87.6, 87.6, 0.2), 1600: (88.3, 87.9, 0.2), 3200: (88.1, 87.8, 0.2),
                    "unbiased": (87.9, 88.0, 0.2), "adam": (88.0, 88.0, 0.6)},
}

# Table 4 of the paper: seconds per epoch.
SECONDS = {
    ("Mixture", 1): {400: 0.0035, 800: 0.0018, 1600: 0.0027, "unbiased": 0.0044, "adam": 0.0049},
    ("Cora", 1): {400: 0.0269, 800: 0.0455, "unbiased": 0.0737, "adam": 0.0741},
    ("Pubmed", 1): {400: 0.1991, 800: 0.3554, 1600: 0.7129, 3200: 1.1847, "unbiased": 2.2425, "adam": 2.2313},
    ("Mixture", 2): {400: 0.0103, 800: 0.0103, 1600: 0.0142, "unbiased": 0.0130, "adam": 0.0143},
    ("Cora", 2): {400: 0.0868, 800: 0.0974, "unbiased": 0.2031, "adam": 0.2080},
    ("Pubmed", 2): {400: 2.5014, 800: 2.5684, 1600: 3.2032, 3200: 3.8895, "unbiased": 7.9478, "adam": 7.9037},
}

# Figure 3: sample sizes and relative errors. Two layers are sampled at the hidden one, as in the training runs.
TAIL_SIZES = {"Mixture": [100, 200, 400, 800, 1200, 1600, 2400, 3200, 4800, 6000],
              "Cora": [50, 100, 200, 400, 600, 800, 1200, 1600, 2200, 2708],
              "Pubmed": [200, 400, 800, 1600, 2400, 3200, 4800, 6400, 9600, 12800]}
TAIL_DELTAS = [0.1, 0.2, 0.3, 0.5]

# Beyond the paper: distributions of the draws, by their constant in plimsoll.h, and the sizes they are tried with.
DISTRIBUTIONS = {"uniform": 0, "importance": 1, "neighbours": 2, "LADIES": 3}
BEYOND_SIZES = {"Mixture": [100, 200, 400, 800, 1600], "Cora": [50, 100, 200, 400, 800],
                "Pubmed": [50, 100, 200, 400, 800, 1600]}


def algorithms(data):
    """In the order of the paper's tables."""
    return [*SIZES[data], "unbiased", "adam"]


def name_of(algorithm):
    return {"unbiased": "SGD unbiased", "adam": "Adam unbiased"}.get(algorithm, f"SGD ({algorithm})")


@dataclass(frozen=True)
class Job:
    """A run of job.c: its words, and about how many seconds it takes."""
    words: tuple
    cost: float = 1.0
    # Runs while nothing else does, because its seconds are what is asked for.
    alone: bool = field(default=False, compare=False)


class Plan:
    """Makes the jobs for the data sets that are there."""

    def __init__(self, files, seeds, fast):
        self.files, self.seeds, self.fast = files, range(seeds), fast

    @property
    def data(self):
        return [d for d in DATA if d in self.files]

    def job(self, kind, data, cost, *, alone=False, **options):
        words = {"data": self.files[data], "normalize": int(data != "Mixture"), **options}
        return Job((kind, *(f"{k}={v}" for k, v in words.items())), cost, alone)

    def train(self, data, layers, algorithm, seed, *, sizes=None, alone=False, **options):
        """A training run. `algorithm` is a number of draws, "unbiased" or "adam"; `sizes` replaces the draws by layer."""
        drawn = isinstance(algorithm, int)
        optimizer, step = ("adam", STEPS[data][2]) if algorithm == "adam" else ("sgd", STEPS[data][layers - 1])
        if drawn and sizes is None:
            sizes = [0] * (layers - 1) + [algorithm]
        words = {"layers": layers, "sizes": ",".join(map(str, sizes or [])), "optimizer": optimizer, "step": step,
                 "seed": seed, "epochs": EPOCHS, **options}
        cost = {"Mixture": 0.1, "Cora": 0.4, "Pubmed": 3}[data] * (1 if drawn else 1.5) * layers
        return self.job("train", data, cost, alone=alone, **words)

    def table(self, data, layers, algorithm):
        """Table 1 and Figures 1 and 2: one run per seed."""
        return [self.train(data, layers, algorithm, seed) for seed in self.seeds]

    def timed(self, data, layers, algorithm, cache):
        """Table 4, and accuracy against time: seed 0 again, with the machine to itself."""
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
        """All of them, each once: what can share the machine first, the longest of it ahead."""
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
