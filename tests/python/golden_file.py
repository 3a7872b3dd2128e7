"""The golden files, which the Rust tests read, hold what the oracle computes today: within 1e-12."""
import sys

import numpy as np
from support import ROOT, check, oracle  # noqa: F401
import golden  # isort: skip
import layers  # isort: skip


def test_the_golden_file_is_what_the_oracle_computes():
    computed = golden.golden()
    with np.load(ROOT / "tests" / "golden.npz", allow_pickle=False) as file:
        assert sorted(file.files) == sorted(computed), set(file.files) ^ set(computed)
        for name, expected in computed.items():
            assert file[name].dtype == np.asarray(expected).dtype, f"{name} is {file[name].dtype}"
            check.close(file[name], expected, "golden", 1e-12)


def test_the_golden_layers_are_what_the_oracle_computes():
    layers.compare(ROOT / "tests" / "golden_layers.npz", 1e-12)


def test_gradients_of_the_oracles_layers_are_central_differences():
    layers.check_differences()


if __name__ == "__main__":
    sys.exit(check.run(check.named(globals())))
