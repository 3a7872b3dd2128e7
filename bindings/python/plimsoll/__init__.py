"""Plimsoll trains and runs graph neural networks from a few sampled nodes per layer.

    import plimsoll as pl

    graph = pl.Graph.from_mixture(2000)
    model = pl.Model.gcn([graph.num_features, 16, graph.num_classes])
    estimator = pl.Estimator.consistent([0, 400])
    optimizer = pl.Optimizer.sgd(1.0, schedule="inverse_sqrt")
    history = pl.train(model, graph, estimator, optimizer, epochs=50)
    print(model.evaluate(graph, "test").accuracy)

Names.    plim_model_set_threads(model, n) is model.set_threads(n); plimsoll.h documents ranges and defaults. What can
          be read back is an attribute; what can only be set is a set_… method, and a keyword of the constructor.
Arrays.   NumPy's and SciPy's; contiguous arrays of C's own types (int32 ids, float32 data) are handed over as they are,
          others converted once. Results are new arrays, or the caller's `out`.
Errors.   A PlimsollError, which is also a ValueError, an OSError, … as its status has it.
Owning.   `with`, close() or the garbage collector ends an object.
Threads.  C runs without Python's lock. Calls that only read an object may run on many threads at once; one that changes
          it while another thread uses it raises BusyError.
"""
from . import bounds
from ._callbacks import Progress
from ._lib import ask as _ask
from .errors import (BadFormatError, BufferTooSmallError, BusyError, CancelledError, DivergedError, FileError, InternalError,
                     InvalidArgumentError, InvalidHandleError, MissingDataError, NullPointerError, OutOfMemoryError,
                     PlimsollError, PoisonedError, ShapeMismatchError, UnsupportedError)
from .estimator import Estimator, Gradient
from .graph import Graph
from .model import Evaluation, Model, macro_f1
from .optimizer import Minimum, Optimizer
from .rank import RankData, RankEvaluation
from .sklearn import GCNClassifier
from .theory import Plan, Tail, TailFit, sample_delta, sample_epsilon, sample_size, tail_fit, tail_probability
from .training import Adaptive, History, train

#: The library's version.
__version__: str = _ask("plim_version").decode()


def isa() -> str:
    """The instruction set in use: "avx512", "avx2", "neon" or "portable". PLIM_ISA in the environment lowers it."""
    return _ask("plim_isa").decode()


__all__ = [
    "Graph", "Model", "Estimator", "Optimizer", "train", "History", "Adaptive", "Progress", "Evaluation", "Gradient",
    "Minimum", "macro_f1", "RankData", "RankEvaluation", "GCNClassifier", "Tail", "tail_probability", "TailFit",
    "tail_fit", "Plan", "sample_size", "sample_epsilon", "sample_delta", "bounds", "isa", "PlimsollError", "NullPointerError", "InvalidArgumentError",
    "ShapeMismatchError", "MissingDataError", "BufferTooSmallError", "FileError", "BadFormatError", "OutOfMemoryError",
    "DivergedError", "CancelledError", "PoisonedError", "UnsupportedError", "InvalidHandleError", "BusyError",
    "InternalError",
]
