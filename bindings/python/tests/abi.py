"""The declared interface is that of the header: functions, types, constants and statuses."""
import ctypes
import re
import sys

import numpy as np

import plimsoll
from plimsoll import _abi, _lib, errors
from support import ROOT, check

HEADER = re.sub(r"/\*.*?\*/|//[^\n]*", "", (ROOT / "include" / "plimsoll.h").read_text(encoding="utf-8"), flags=re.S)
SCALARS = {"size_t": "size", "int32_t": "i32", "uint32_t": "u32", "uint64_t": "u64", "double": "f64", "void": "none",
           "plim_status": "status", "plim_oracle": "oracle", "plim_progress_fn": "progress_fn",
           "plim_log_fn": "log_fn", "plim_release_fn": "release_fn"}
ARRAYS = {"size_t": "sizes", "int32_t": "i32s", "int64_t": "i64s", "float": "f32s", "double": "f64s"}


def kind(declaration):
    """The kind that a declaration of C's, `const int32_t *nodes`, should have."""
    stars, base = declaration.count("*"), declaration.replace("const ", "").split()[0].rstrip("*")
    if stars == 0:
        return getattr(_abi, SCALARS[base])
    if base.startswith("plim_"):
        return _abi.out_handle if stars == 2 else _abi.handle
    if base == "char":
        return _abi.out_text if stars == 2 else _abi.text if "const" in declaration else _abi.bytes_out
    return _abi.address if base == "void" else getattr(_abi, ARRAYS[base])


def test_every_exported_function_is_declared():
    symbols = (ROOT / "tests" / "abi" / "symbols.txt").read_text().split()
    assert sorted(_abi.FUNCTIONS) == sorted(symbols), set(_abi.FUNCTIONS) ^ set(symbols)


def test_every_prototype_is_that_of_the_header():
    prototypes = re.findall(r"^((?!typedef)[\w\s]+?[\s*]+)(plim_\w+)\(([^)]*)\);", HEADER, flags=re.M)
    assert len(prototypes) == len(_abi.FUNCTIONS)
    for result, name, parameters in prototypes:
        declared = _abi.FUNCTIONS[name]
        assert declared.result is kind(" ".join(result.split()) + " "), f"{name} answers {result}"
        parameters = [" ".join(p.split()) for p in parameters.split(",") if p.strip() not in ("", "void")]
        names = [re.findall(r"\w+", p)[-1].replace("lambda", "lambda_") for p in parameters]
        assert list(declared.parameters) == names, f"{name}: {list(declared.parameters)}"
        for p, found in zip(parameters, declared.parameters.values()):
            assert found is kind(p), f"{name}: {p}"


def test_every_constant_is_that_of_the_header():
    constants = dict(re.findall(r"#define (PLIM_[A-Z_]+) (\d+)$", HEADER, flags=re.M))
    expected = {"PLIM_OK": "0", "PLIM_PLAN_TEXT_SIZE": str(_abi.PLAN_TEXT_SIZE)}
    groups = {"SPLIT": _abi.SPLITS, "NORMALIZATION": _abi.NORMALIZATIONS, "DISTRIBUTION": _abi.DISTRIBUTIONS,
              "AGGREGATOR": _abi.AGGREGATORS, "HEADS": _abi.HEADS, "ACTIVATION": _abi.ACTIVATIONS, "NORM": _abi.NORMS,
              "SCHEDULE": _abi.SCHEDULES, "UNIT": _abi.UNITS, "HISTORY": _abi.HISTORY, "MONITOR": _abi.MONITORS,
              "LOG": _abi.LOG_LEVELS, "SEPARATOR": _abi.SEPARATORS, "HEADER": _abi.HEADERS, "REPEATED": _abi.REPEATED,
              "TAIL": _abi.TAIL, "PLAN": _abi.PLAN, "RANK_GAIN": _abi.RANK_GAINS, "RANK_MEASURE": _abi.RANK_MEASURES}
    for group, names in groups.items():
        expected.update({f"PLIM_{group}_{name.upper()}": str(number) for number, name in enumerate(names)})
    expected.update({f"PLIM_PROPERTY_{name.upper()}": str(bit) for name, bit in _abi.PROPERTIES.items()})
    statuses = {name: value for name, value in constants.items() if name.startswith("PLIM_ERROR_")}
    rest = {name: value for name, value in constants.items()
            if name not in statuses and not name.startswith("PLIM_VERSION")}
    assert rest == expected, set(rest.items()) ^ set(expected.items())
    assert sorted(map(int, statuses.values())) == sorted(errors.BY_STATUS), "each status has an exception"


def test_progress_has_the_fields_of_the_header():
    body = re.search(r"typedef struct plim_progress \{(.*?)\}", HEADER, flags=re.S).group(1)
    fields = re.findall(r"(size_t|double) (\w+);", body)
    types = {"size_t": ctypes.c_size_t, "double": ctypes.c_double}
    assert [(name, types[t]) for t, name in fields] == _abi.Progress._fields_


def test_every_status_has_a_name_and_a_class_that_is_exported():
    for status, error in errors.BY_STATUS.items():
        assert _lib.ask("plim_status_name", status) != b"unknown status", status
        assert getattr(plimsoll, error.__name__) is error and error.__name__ in plimsoll.__all__
    assert plimsoll.__version__ == re.search(r'PLIM_VERSION "(.*)"', HEADER).group(1)
    assert all(hasattr(plimsoll, name) for name in plimsoll.__all__)


def test_the_library_is_the_one_in_the_wheel():
    from pathlib import Path
    assert Path(_lib.path).parent == Path(plimsoll.__file__).parent, _lib.path


def test_an_array_of_another_type_never_reaches_c():
    for array in (np.zeros(3), np.zeros((4, 4), np.float32).T):
        try:
            _abi.f32s.convert("x", array)
        except TypeError:
            continue
        raise AssertionError("it was taken")


if __name__ == "__main__":
    sys.exit(check.run(check.named(globals())))
