"""What a call that fails raises: a class for each status, which is also the exception that Python has for the like."""
from __future__ import annotations

from typing import TYPE_CHECKING, Dict, Optional, Type

if TYPE_CHECKING:
    import numpy as np

    from .training import History


class PlimsollError(Exception):
    """A call failed. The message says which argument, which index and which value."""

    #: The number that C answers, PLIM_ERROR_…
    status = 0


class NullPointerError(PlimsollError, ValueError):
    """Something that is needed is None."""

    status = 1


class InvalidArgumentError(PlimsollError, ValueError):
    """An argument is outside its range."""

    status = 2


class ShapeMismatchError(PlimsollError, ValueError):
    """Two arguments do not fit each other."""

    status = 3


class MissingDataError(PlimsollError, ValueError):
    """The graph lacks features, labels or a split; or there are too few points for a fit."""

    status = 4


class BufferTooSmallError(PlimsollError, BufferError):
    """An array for the result is too small."""

    status = 5


class FileError(PlimsollError, OSError):
    """The operating system refused to read or write a file."""

    status = 6


class BadFormatError(PlimsollError, ValueError):
    """A file is not what its format says."""

    status = 7


class OutOfMemoryError(PlimsollError, MemoryError):
    """Memory for the result could not be had."""

    status = 8


class DivergedError(PlimsollError, ArithmeticError):
    """A loss, a gradient or an output is not finite."""

    status = 9
    #: The epochs completed, where training diverged.
    history: Optional[History] = None
    #: The last finite iterate, where Optimizer.minimize() diverged.
    w: Optional[np.ndarray] = None


class CancelledError(PlimsollError):
    """A callback stopped a measurement, of which nothing remains then."""

    status = 10


class PoisonedError(PlimsollError, RuntimeError):
    """An internal error in an earlier call left this object in an unknown state."""

    status = 11


class UnsupportedError(PlimsollError, NotImplementedError):
    """This object cannot do that."""

    status = 12


class InvalidHandleError(PlimsollError, ValueError):
    """An object is closed or of another class."""

    status = 13


class BusyError(PlimsollError, RuntimeError):
    """Another thread is changing the object, or using what this call would change."""

    status = 14


class InternalError(PlimsollError, RuntimeError):
    """A bug in the library, caught before it could harm the program."""

    status = 255


BY_STATUS: Dict[int, Type[PlimsollError]] = {error.status: error for error in PlimsollError.__subclasses__()}
