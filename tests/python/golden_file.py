"""tests/golden.npz, which the Rust tests read, holds what the oracle computes today: within 1e-12."""
import sys

import numpy as np
from support import ROOT, check, oracle  # noqa: F401
import golden  # isort: skip


def test_the_golden_file_is_what_the_oracle_computes():
    computed = golden.golden()
    with np.load(ROOT / "tests" / "golden.npz", allow_pickle=False) as file:
        assert sorted(file.files) == sorted(computed), set(file.files) ^ set(computed)
        for name, expected in computed.items():
            assert file[name].dtype == np.asarray(expected).dtype, f"{name} is {file[name].dtype}"
            check.close(file[name], expected, "golden", 1e-12)


if __name__ == "__main__":
    sys.exit(check.run(check.named(globals())))
