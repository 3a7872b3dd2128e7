"""A classifier with the interface of scikit-learn, which need not be installed."""
from __future__ import annotations

import copy
import inspect
from typing import Any, Dict, Optional, Sequence

import numpy as np

from ._arrays import integers
from ._callbacks import LogLike, ProgressLike
from .errors import InvalidArgumentError, ShapeMismatchError
from .estimator import Estimator
from .graph import Graph
from .model import Model
from .optimizer import Optimizer
from .training import train


class GCNClassifier:
    """Classifies the nodes of a graph.

    The graph, with its features, is a parameter. X is a list of node ids, or None for all nodes. A split of X
    is therefore a split of nodes, and cross_val_score and GridSearchCV work as with any classifier:

        classifier = GCNClassifier(graph).fit(nodes, labels)
        classifier.predict(other_nodes)

    fit() uses the features and edges of every node, and the labels in `y` only. The graph's own labels and
    splits are ignored. The graph does not change: fit() works on a copy.

    graph                a Graph with features.
    hidden               the hidden widths.
    sample_sizes         sample sizes of the consistent estimator; None for the unbiased estimator.
    step                 step of Adam.
    regularization       λ of the penalty λ/2 ‖W‖².
    epochs, batch_size   as in train().
    validation_fraction  fraction of the labelled nodes that decide which epoch is best; they are not trained on.
    patience             stops training after this many epochs without improvement; 0 for never.
    monitor              how the best epoch is determined, as in train().
    seed                 seed of the parameters, the draws, the shuffling and the choice of the validation nodes.
    threads              number of threads; 0 for the number of available cores.
    progress, log        as in train().

    Attributes after fit(): model_, history_, classes_.
    """

    _estimator_type = "classifier"

    def __init__(self, graph: Optional[Graph] = None, *, hidden: Sequence[int] = (16,),
                 sample_sizes: Optional[Sequence[int]] = None, step: float = 0.01, regularization: float = 0.0,
                 epochs: int = 100, batch_size: int = 256, validation_fraction: float = 0.0, patience: int = 0,
                 monitor: str = "val_accuracy", seed: int = 0, threads: int = 1, progress: ProgressLike = None,
                 log: LogLike = None):
        self.graph = graph
        self.hidden = hidden
        self.sample_sizes = sample_sizes
        self.step = step
        self.regularization = regularization
        self.epochs = epochs
        self.batch_size = batch_size
        self.validation_fraction = validation_fraction
        self.patience = patience
        self.monitor = monitor
        self.seed = seed
        self.threads = threads
        self.progress = progress
        self.log = log

    def fit(self, X: Any, y: Any) -> GCNClassifier:
        """Trains on the classes `y` of the nodes `X` (None for all). The class -1 stands for no label."""
        if self.graph is None:
            raise ValueError("graph is None: a GCNClassifier requires a graph")
        if not np.iterable(self.hidden):
            raise TypeError(f"hidden = {self.hidden!r} is not a sequence of widths; ({self.hidden!r},) is one layer")
        nodes, y = self._nodes_and_classes(X, y)
        if len(nodes) == 0:
            raise ValueError("y has no label")
        if y.dtype.kind == "f" and np.isnan(y).any():
            raise ValueError("y has NaN; use -1 for a node without a class")
        if self.patience and self.monitor != "train_loss" and not self.validation_fraction:
            raise ValueError(f"patience = {self.patience} requires a validation_fraction, or monitor = 'train_loss'")
        self.classes_, numbers = np.unique(y, return_inverse=True)
        labels = np.full(self.graph.num_nodes, -1, np.int32)
        labels[nodes] = numbers
        held_out = round(self.validation_fraction * len(nodes))
        order = np.random.default_rng(self.seed).permutation(nodes) if held_out else nodes
        sizes = self.sample_sizes
        with copy.copy(self.graph) as graph:
            graph.labels, graph.val, graph.train = labels, order[:held_out], order[held_out:]
            widths = [graph.num_features, *self.hidden, len(self.classes_)]
            self.model_ = Model.gcn(widths, seed=self.seed, regularization=self.regularization, threads=self.threads)
            with Estimator.unbiased() if sizes is None else Estimator.consistent(sizes, seed=self.seed) as estimator:
                with Optimizer.adam(self.step) as optimizer:
                    self.history_ = train(self.model_, graph, estimator, optimizer, epochs=self.epochs,
                                          batch_size=self.batch_size, seed=self.seed, patience=self.patience,
                                          monitor=self.monitor, progress=self.progress, log=self.log)
        return self

    def predict_proba(self, X: Any = None, graph: Optional[Graph] = None) -> np.ndarray:
        """Computes class probabilities: one row per node of X, one column per class of classes_.

        `graph` may replace the graph that the classifier was fitted on.
        """
        if not hasattr(self, "model_"):
            raise self._not_fitted()
        graph = graph if graph is not None else self.graph
        assert graph is not None
        return self.model_.predict(graph, X)

    def predict(self, X: Any = None, graph: Optional[Graph] = None) -> np.ndarray:
        """Returns the most probable class of each node of X."""
        probabilities = self.predict_proba(X, graph)
        return self.classes_[probabilities.argmax(axis=1)]

    def score(self, X: Any, y: Any, graph: Optional[Graph] = None) -> float:
        """Returns the fraction of the labelled nodes of X that are classified as in y."""
        graph = graph if graph is not None else self.graph
        nodes, y = self._nodes_and_classes(X, y, graph)
        return float(np.mean(self.predict(nodes, graph) == y))

    def get_params(self, deep: bool = True) -> Dict[str, Any]:
        """Returns the arguments of the constructor."""
        return {name: getattr(self, name) for name in inspect.signature(type(self)).parameters}

    def set_params(self, **params: Any) -> GCNClassifier:
        """Changes arguments of the constructor, for the next fit()."""
        known = self.get_params()
        for name, value in params.items():
            if name not in known:
                raise ValueError(f"a {type(self).__name__} has no parameter {name!r}, only {', '.join(known)}")
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        defaults = inspect.signature(type(self)).parameters
        changed = {name: value for name, value in self.get_params().items() if value is not defaults[name].default}
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in changed.items())})"

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_")

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import ClassifierTags, InputTags, Tags, TargetTags

        return Tags(estimator_type="classifier", target_tags=TargetTags(required=True), transformer_tags=None,
                    regressor_tags=None, classifier_tags=ClassifierTags(),
                    input_tags=InputTags(one_d_array=True, two_d_array=False))

    def _nodes_and_classes(self, X: Any, y: Any, graph: Optional[Graph] = None) -> tuple:
        """Returns the labelled nodes of X and their classes."""
        graph = graph if graph is not None else self.graph
        assert graph is not None
        nodes, y = np.arange(graph.num_nodes, dtype=np.int32) if X is None else integers("X", X), np.asarray(y)
        for i in np.flatnonzero((nodes < 0) | (nodes >= graph.num_nodes))[:1]:
            raise InvalidArgumentError(f"X[{i}] = {nodes[i]} is outside [0, {graph.num_nodes})")
        if y.shape != nodes.shape:
            raise ShapeMismatchError(f"y has shape {y.shape}, not {nodes.shape}")
        labelled = y != -1 if y.dtype.kind in "if" else np.ones(len(y), bool)
        return nodes[labelled], y[labelled]

    def _not_fitted(self) -> Exception:
        message = f"this {type(self).__name__} is not fitted yet: call fit()"
        try:
            from sklearn.exceptions import NotFittedError
        except ImportError:
            return ValueError(message)
        return NotFittedError(message)
