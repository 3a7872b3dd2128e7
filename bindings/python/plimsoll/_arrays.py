"""Converts arguments to arrays for C. Contiguous arrays of the right type are passed as they are."""
from __future__ import annotations

import itertools
from typing import Any, Dict, Iterator, Optional, Sequence, Tuple

import numpy as np

from . import _abi
from .errors import InvalidArgumentError, ShapeMismatchError


def integers(name: str, values: Any, dtype: Any = np.int32) -> np.ndarray:
    """Returns a vector of integers."""
    array = np.asarray(values)
    if array.ndim != 1:
        raise ShapeMismatchError(f"{name} has {array.ndim} dimensions, not 1")
    if array.dtype != dtype and array.size > 0:
        if array.dtype.kind == "b":
            raise TypeError(f"{name} is a boolean mask; pass numpy.flatnonzero({name})")
        if array.dtype.kind not in "iu":
            raise TypeError(f"{name} has type {array.dtype}, not integers")
        limits = np.iinfo(dtype)
        for i in (array.argmin(), array.argmax()):
            if not limits.min <= int(array[i]) <= limits.max:
                raise InvalidArgumentError(f"{name}[{i}] = {array[i]} is outside [{limits.min}, {limits.max}]")
    return np.ascontiguousarray(array, dtype)


def optional_integers(name: str, values: Optional[Any]) -> Tuple[Optional[np.ndarray], int]:
    """Returns a list of nodes and its length. None, for all nodes, remains None."""
    if values is None:
        return None, 0
    array = integers(name, values)
    return array, len(array)


def floats(name: str, values: Any, dtype: Any = np.float32, ndim: int = 1) -> np.ndarray:
    """Returns a vector or a matrix of numbers. A value too large for `dtype` becomes infinite, which C rejects."""
    array = np.asarray(values)
    if array.ndim != ndim:
        raise ShapeMismatchError(f"{name} has {array.ndim} dimensions, not {ndim}")
    if array.dtype.kind not in "fiub":
        raise TypeError(f"{name} has type {array.dtype}, not numbers")
    with np.errstate(over="ignore"):
        return np.ascontiguousarray(array, dtype)


def has_length(name: str, array: np.ndarray, expected: int) -> np.ndarray:
    if len(array) != expected:
        raise ShapeMismatchError(f"{name} has {len(array)} elements, not {expected}")
    return array


def is_sparse(matrix: Any) -> bool:
    """Returns whether this is a SciPy sparse matrix."""
    return hasattr(matrix, "tocsr")


def csr(name: str, indptr: Any, indices: Any, values: Optional[Any], rows: int) -> tuple:
    """Returns the arrays of compressed sparse rows, after checking that their lengths fit."""
    indptr, indices = integers(f"{name}.indptr", indptr, np.int64), integers(f"{name}.indices", indices)
    has_length(f"{name}.indptr", indptr, rows + 1)
    if indptr[-1] != len(indices):
        raise ShapeMismatchError(f"{name}.indices has {len(indices)} elements, but indptr ends with {indptr[-1]}")
    if values is not None:
        values = has_length(f"{name}.values", floats(f"{name}.values", values), len(indices))
    return indptr, indices, values


def scipy_csr(name: str, matrix: Any) -> tuple:
    """Returns the arrays of a SciPy matrix, without unused space at their ends. A matrix of bool has no values."""
    matrix = matrix.tocsr()
    count = int(matrix.indptr[-1])
    values = None if matrix.dtype.kind == "b" else matrix.data[:count]
    return csr(name, matrix.indptr, matrix.indices[:count], values, matrix.shape[0])


def output(out: Optional[np.ndarray], shape: Sequence[int], dtype: Any = np.float32) -> np.ndarray:
    """Returns the caller's array for a result, or a new one."""
    shape = tuple(shape)
    if out is None:
        return np.empty(shape, dtype)
    if not isinstance(out, np.ndarray) or out.dtype != dtype or not out.flags.c_contiguous or not out.flags.writeable:
        raise TypeError(f"out must be a contiguous writeable array of {np.dtype(dtype)}")
    if out.shape != shape:
        raise ShapeMismatchError(f"out has shape {out.shape}, not {shape}")
    return out


class Loan:
    """Keeps arrays alive that C borrows, until C calls `release`."""

    _numbers: Iterator[int] = itertools.count(1)
    _lent: Dict[int, tuple] = {}

    def __init__(self, *arrays: Optional[np.ndarray]):
        self.number = next(self._numbers)
        self._lent[self.number] = arrays

    def __enter__(self) -> int:
        return self.number

    def __exit__(self, kind: Any, *_: Any) -> None:
        # A call that failed has borrowed nothing and will not call `release`.
        if kind is not None:
            del self._lent[self.number]

    @classmethod
    def _end(cls, number: int) -> None:
        cls._lent.pop(number, None)


release = _abi.release_fn.ctype(Loan._end)
