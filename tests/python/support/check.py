"""Runs the tests of a script and summarises them in the last line."""
import os
import sys
import tempfile
import time
import traceback
from pathlib import Path

import numpy as np

TOLERANCE = 1e-5


class Skip(Exception):
    """Raised by a test that cannot run on this machine, with the reason."""


# The largest error of each kind that close() has met, for the summary.
errors = {}


def relative_error(found, expected):
    """‖found - expected‖ / ‖expected‖; the error itself if ‖expected‖ is 0."""
    found, expected = np.asarray(found, np.float64), np.asarray(expected, np.float64)
    assert found.shape == expected.shape, f"shape {found.shape} instead of {expected.shape}"
    norm = np.linalg.norm(expected)
    return float(np.linalg.norm(found - expected) / (norm if norm > 0 else 1.0))


def close(found, expected, what, tolerance=TOLERANCE):
    """Checks that the relative error is within the tolerance, and keeps it for the summary."""
    assert np.all(np.isfinite(found)), f"{what}: a value is missing or not finite"
    error = relative_error(found, expected)
    kind = what.split(":")[0]
    errors[kind] = max(errors.get(kind, 0.0), error)
    assert error <= tolerance, f"{what}: the error is {error:.2e} of the norm"


def same(found, expected, what):
    """Checks that two arrays have the same shape and the same values."""
    assert np.array_equal(found, expected), f"{what}: {found} instead of {expected}"


def not_checked(text):
    print(f"\n*** NOT CHECKED: {text} ***\n", file=sys.stderr, flush=True)


def folder():
    """A folder for a test's files, removed at the end of the `with` block."""
    return tempfile.TemporaryDirectory(prefix="plimsoll-")


def data(name):
    """The file of a data set. Skips the test if there is none."""
    directory = os.environ.get("PLIMSOLL_DATA")
    if not directory:
        raise Skip("PLIMSOLL_DATA is not set")
    path = Path(directory) / f"{name}.npz"
    if not path.exists():
        raise Skip(f"{path} does not exist")
    return path


def run(tests):
    """Runs (name, function) pairs, reports the failures, and returns the exit code of the script."""
    passed, failed, skipped = 0, 0, {}
    start = time.monotonic()
    for name, test in tests:
        try:
            test()
            passed += 1
        except Skip as reason:
            skipped.setdefault(str(reason), []).append(name)
        except Exception:
            failed += 1
            print(f"FAILED: {name}", file=sys.stderr)
            traceback.print_exc()
            sys.stderr.flush()
    for reason, names in skipped.items():
        not_checked(f"{reason}; {len(names)} skipped, from {names[0]!r}")
    for kind, error in errors.items():
        print(f"  {kind}: largest error {error:.1e} of the norm")
    count = sum(len(names) for names in skipped.values())
    more = f", {count} skipped" if count else ""
    script, seconds = Path(sys.argv[0]).name, time.monotonic() - start
    print(f"{script}, {seconds:.1f} s: {passed} passed, {failed} failed{more}", flush=True)
    return 1 if failed else 0


def about(test, subject, *arguments):
    """A test of one subject, as run() takes it."""
    return f"{test.__name__.replace('_', ' ')}, {subject}", lambda: test(*arguments)


def named(namespace):
    """The functions of a script whose names begin with `test_`, in order, as run() takes them."""
    return [(name[5:].replace("_", " "), value) for name, value in namespace.items() if name.startswith("test_")]
