"""Finds, loads and calls the shared library; owns its handles."""
from __future__ import annotations

import ctypes
import ctypes.util
import os
import sys
import tempfile
from pathlib import Path
from typing import Any, Callable, Optional, Type, TypeVar

from . import _abi
from .errors import BY_STATUS, InternalError, InvalidHandleError, PlimsollError

FILE_NAME = {"darwin": "libplimsoll.dylib", "win32": "plimsoll.dll"}.get(sys.platform, "libplimsoll.so")
SONAME = {"darwin": FILE_NAME, "win32": FILE_NAME}.get(sys.platform, "libplimsoll.so.0")


def find() -> str:
    """Returns the path of the wheel's library, or else PLIMSOLL_LIB, or else the system's library."""
    bundled = Path(__file__).with_name(FILE_NAME)
    if bundled.exists():
        return str(bundled)
    return os.environ.get("PLIMSOLL_LIB") or SONAME


def load(path: str) -> ctypes.CDLL:
    """Loads the library and declares the types of every function."""
    try:
        library = ctypes.CDLL(path)
    except OSError as error:
        raise ImportError(f"plimsoll cannot load its library: {error}. Install a wheel, or set PLIMSOLL_LIB") from error
    for name, prototype in _abi.FUNCTIONS.items():
        try:
            function = getattr(library, name)
        except AttributeError:
            raise ImportError(f"{path} has no {name}: the library is older than this package") from None
        function.restype = prototype.result.ctype
        function.argtypes = [kind.ctype for kind in prototype.parameters.values()]
    return library


path = find()
_library = load(path)


def error(status: int) -> PlimsollError:
    """Returns the exception for the call that has just failed on this thread."""
    message = _library.plim_last_error().decode("utf-8", "replace")
    return BY_STATUS.get(status, InternalError)(message)


def ask(name: str, *arguments: Any) -> Any:
    """Calls a function and returns its result."""
    kinds = _abi.FUNCTIONS[name].parameters
    # `arguments` keeps every array alive until the call has returned.
    return getattr(_library, name)(*[kind.convert(key, value) for (key, kind), value in zip(kinds.items(), arguments)])


def call(name: str, *arguments: Any) -> None:
    """Calls a function that returns a status, and raises an exception if it failed."""
    status = ask(name, *arguments)
    if status:
        raise error(status)


def make(name: str, *arguments: Any) -> ctypes.c_void_p:
    """Calls a function whose last parameter receives a handle, and returns the handle."""
    out = ctypes.c_void_p()
    call(name, *arguments, ctypes.byref(out))
    return out


T = TypeVar("T", bound="Handle")


class Handle:
    """Owns a C handle. A `with` block, close() or the garbage collector frees it."""

    __slots__ = ("_handle", "__weakref__")  # so that setting a misspelt attribute is an error
    _free: str = ""
    _handle: Optional[ctypes.c_void_p]

    def __init__(self) -> None:
        raise TypeError(f"{type(self).__name__} has named constructors; see help(plimsoll.{type(self).__name__})")

    @classmethod
    def _own(cls: Type[T], handle: ctypes.c_void_p) -> T:
        self = object.__new__(cls)
        self._handle = handle
        return self

    def _live(self) -> ctypes.c_void_p:
        if self._handle is None:
            raise InvalidHandleError(f"this {type(self).__name__} is closed")
        return self._handle

    @property
    def closed(self) -> bool:
        """Whether close() has been called."""
        return self._handle is None

    def close(self) -> None:
        """Frees the handle. Calls in progress on other threads finish safely. Closing again has no effect."""
        handle, self._handle = getattr(self, "_handle", None), None
        if handle is not None:
            getattr(_library, self._free)(handle)

    def __enter__(self: T) -> T:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def __del__(self) -> None:
        # At interpreter shutdown the library may be gone before this object; the process frees the memory.
        try:
            self.close()
        except Exception:
            pass

    def __reduce__(self) -> Any:
        raise TypeError(f"{type(self).__name__} cannot be copied or pickled")


def learned_from(problem: Any) -> Any:
    """Checks that this is a Graph or RankData, which name the C functions that take them."""
    if not hasattr(problem, "_gradient"):
        raise TypeError(f"graph must be a plimsoll.Graph or RankData, not {problem!r:.80}")
    return problem


class SavedHandle(Handle):
    """A handle that can be saved to a file, and therefore be pickled."""

    __slots__ = ()

    @classmethod
    def load(cls: Type[T], path: Any) -> T:
        raise NotImplementedError

    def save(self, path: Any) -> None:
        raise NotImplementedError

    def _through_file(self, read: Callable[[str], Any]) -> Any:
        """Saves this object to a temporary file and returns read(path)."""
        with tempfile.TemporaryDirectory(prefix="plimsoll-") as folder:
            path = os.path.join(folder, "object")
            self.save(path)
            return read(path)

    def __reduce__(self) -> Any:
        return _restore, (type(self), self._through_file(lambda path: Path(path).read_bytes()))


def _restore(cls: Type[SavedHandle], data: bytes) -> SavedHandle:
    with tempfile.TemporaryDirectory(prefix="plimsoll-") as folder:
        path = os.path.join(folder, "object")
        Path(path).write_bytes(data)
        return cls.load(path)
