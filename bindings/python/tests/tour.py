"""The table of docs/python.md names every function. `make test-docs` runs the code of that page."""
import re
import sys

import plimsoll
from support import ROOT, check

TEXT = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")


def test_the_table_leaves_no_function_out():
    table = TEXT[TEXT.index("## From C to Python"):]
    named = set()
    for row in re.findall(r"^\| (.*?) \| .* \|$", table, flags=re.M):
        prefix = ""
        for name in re.findall(r"`(\w+)", row):
            if name.startswith("plim_"):
                prefix = name
            parts = prefix.split("_")
            named |= {name} | {"_".join(parts[:n]) + name for n in range(2, len(parts) + 1)}
    from plimsoll import _abi
    general = re.compile(r"plim_\w+_free|plim_bound_\w+|plim_train_options_\w+|plim_probe_options_\w+|"
                         r"plim_edge_list_options_\w+")
    missing = [name for name in _abi.FUNCTIONS if name not in named and not general.fullmatch(name)]
    assert not missing, missing


def test_what_is_exported_is_documented():
    for name in plimsoll.__all__:
        thing = getattr(plimsoll, name)
        assert thing.__doc__, name
        for member, value in vars(thing).items() if isinstance(thing, type) else ():
            # A NamedTuple documents its fields itself; a getter may say it all by its name.
            if callable(value) and not member.startswith("_") and not isinstance(value, property):
                assert value.__doc__, f"{name}.{member}"


if __name__ == "__main__":
    sys.exit(check.run(check.named(globals())))
