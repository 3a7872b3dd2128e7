"""What the tests of the package share: the runner of tests/python, and the package as it is installed."""
import importlib
import importlib.util
from pathlib import Path

import plimsoll

ROOT = Path(__file__).resolve().parents[3]
# From a wheel, not from the sources: those have no library beside them.
assert ROOT / "bindings" not in Path(plimsoll.__file__).resolve().parents, plimsoll.__file__

_spec = importlib.util.spec_from_file_location("check", ROOT / "tests" / "python" / "support" / "check.py")
check = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(check)


def raises(error, function, *arguments, text="", **keywords):
    """Checks that a call raises this error with this text, and gives the error."""
    try:
        result = function(*arguments, **keywords)
    except error as found:
        assert text in str(found), f"{found!r} does not say {text!r}"
        return found
    raise AssertionError(f"{result!r} instead of {error.__name__}")


def need(*names):
    """Imports packages, or skips."""
    try:
        return [importlib.import_module(name) for name in names]
    except ImportError as error:
        raise check.Skip(f"{error.name} is not installed") from None


def small(**settings):
    """The graph of the tour: a ring of four nodes."""
    keywords = dict(features=[[1, 0], [1, 0], [0, 1], [0, 1]], labels=[0, 0, 1, -1], train=[0, 2], val=[1])
    return plimsoll.Graph.from_edges(4, [0, 1, 2, 3], [1, 2, 3, 0], **{**keywords, **settings})
