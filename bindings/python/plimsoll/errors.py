"""The exceptions: one class per status, each of which is also a built-in exception where one fits."""
from __future__ import annotations

from typing import TYPE_CHECKING, Dict, Optional, Type

if TYPE_CHECKING:
    import numpy as np

    from .training import History


class PlimsollError(Exception):
    """A failed call. The message names the argument, the index and the value."""

    #: The status of the C interface, a PLIM_ERROR_ constant.
    status = 0


class NullPointerError(PlimsollError, ValueError):
    """A required argument is None."""

    status = 1


class InvalidArgumentError(PlimsollError, ValueError):
    """An argument is outside its range."""

    status = 2


class ShapeMismatchError(PlimsollError, ValueError):
    """Two arguments do not fit each other."""

    status = 3


class MissingDataError(PlimsollError, ValueError):
    """The graph or data lack features, labels or a split, or there are too few points for a fit."""

    status = 4


class BufferTooSmallError(PlimsollError, BufferError):
    """An array for a result is too small."""

    status = 5


class FileError(PlimsollError, OSError):
    """A file cannot be read or written."""

    status = 6


class BadFormatError(PlimsollError, ValueError):
    """The content of a file is not valid for its format."""

    status = 7


class OutOfMemoryError(PlimsollError, MemoryError):
    """An allocation failed, or a thread could not be started."""

    status = 8


class DivergedError(PlimsollError, ArithmeticError):
    """A loss, a gradient, a parameter or an output is not finite."""

    status = 9
    #: The completed epochs, if training diverged.
    history: Optional[History] = None
    #: The last finite iterate, if Optimizer.minimize() diverged.
    w: Optional[np.ndarray] = None


class CancelledError(PlimsollError):
    """A callback stopped a measurement. There is no partial result."""

    status = 10


class PoisonedError(PlimsollError, RuntimeError):
    """An earlier call that was changing this object failed with an InternalError. It can only be closed."""

    status = 11


class UnsupportedError(PlimsollError, NotImplementedError):
    """The object does not support the operation."""

    status = 12


class InvalidHandleError(PlimsollError, ValueError):
    """An object is closed, or has the wrong class."""

    status = 13


class BusyError(PlimsollError, RuntimeError):
    """A call that excludes this one is using the object. Retry when it has returned."""

    status = 14


class InternalError(PlimsollError, RuntimeError):
    """A bug in the library, caught before it could harm the program. Please report it."""

    status = 255


BY_STATUS: Dict[int, Type[PlimsollError]] = {error.status: error for error in PlimsollError.__subclasses__()}
