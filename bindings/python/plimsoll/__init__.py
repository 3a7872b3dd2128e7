"""Trains and runs graph neural networks, exactly or from a few sampled nodes per layer.

    import plimsoll as pl

    graph = pl.Graph.from_mixture(2000)
    model = pl.Model.gcn([graph.num_features, 16, graph.num_classes])
    estimator = pl.Estimator.consistent([0, 400])
    optimizer = pl.Optimizer.sgd(1.0, schedule="inverse_sqrt")
    history = pl.train(model, graph, estimator, optimizer, epochs=50)
    print(model.evaluate(graph, "test").accuracy)

Names.    plim_model_set_threads(model, n) is model.set_threads(n). plimsoll.h documents ranges and defaults. What you
          can read back is an attribute. What you can only set is a set_… method and a keyword of the constructor.
Arrays.   NumPy arrays and SciPy matrices. Contiguous arrays of the library's types (int32 ids, float32 data) are passed
          as they are, others are converted once. Results are new arrays, or the `out` that you pass.
Errors.   A PlimsollError. Each subclass is also a Python exception such as ValueError or OSError.
Objects.  A `with` block, close() or the garbage collector frees an object.
Threads.  Calls release Python's global lock. Calls that only read an object can run on many threads at once. A call
          that changes an object while another thread uses it raises BusyError.
"""
from . import bounds
from ._callbacks import Progress
from ._lib import ask as _ask
from .errors import (BadFormatError, BufferTooSmallError, BusyError, CancelledError, DivergedError, FileError, InternalError,
                     InvalidArgumentError, InvalidHandleError, MissingDataError, NullPointerError, OutOfMemoryError,
                     PlimsollError, PoisonedError, ShapeMismatchError, UnsupportedError)
from .estimator import Estimator, Gradient
from .graph import Graph
from .ids import Ids
from .layers import Layers
from .model import Evaluation, Model, Tensor, macro_f1
from .optimizer import Minimum, Optimizer
from .rank import RankData, RankEvaluation
from .sklearn import GCNClassifier
from .theory import Plan, Tail, TailFit, sample_delta, sample_epsilon, sample_size, tail_fit, tail_probability
from .training import Adaptive, History, train

#: The version of the library.
__version__: str = _ask("plim_version").decode()


def isa() -> str:
    """Returns the instruction set in use: "avx512", "avx2", "neon" or "portable".

    The environment variable PLIM_ISA can select a lower one.
    """
    return _ask("plim_isa").decode()


__all__ = [
    "Graph", "Ids", "Layers", "Model", "Tensor", "Estimator", "Optimizer", "train", "History", "Adaptive", "Progress",
    "Evaluation", "Gradient", "Minimum", "macro_f1", "RankData", "RankEvaluation", "GCNClassifier", "Tail", "tail_probability",
    "TailFit",
    "tail_fit", "Plan", "sample_size", "sample_epsilon", "sample_delta", "bounds", "isa", "PlimsollError",
    "NullPointerError", "InvalidArgumentError",
    "ShapeMismatchError", "MissingDataError", "BufferTooSmallError", "FileError", "BadFormatError", "OutOfMemoryError",
    "DivergedError", "CancelledError", "PoisonedError", "UnsupportedError", "InvalidHandleError", "BusyError",
    "InternalError",
]
