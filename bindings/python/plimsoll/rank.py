"""Learning to rank: queries, their documents, and the relevance of each document."""
from __future__ import annotations

from typing import Any, NamedTuple, Optional, Type, TypeVar

import numpy as np

from . import _abi
from ._arrays import floats, has_length, integers, is_sparse, output, scipy_csr
from ._lib import Handle, ask, call, make
from .model import Model

D = TypeVar("D", bound="RankData")


class RankEvaluation(NamedTuple):
    """Result of RankData.evaluate()."""

    #: Mean over queries of the mean pair loss log(1 + exp(s_j − s_i)), without the penalty of λ.
    loss: float
    #: Mean over queries of the fraction of pairs in the right order.
    accuracy: float
    #: Mean over queries of NDCG, as set_ndcg() defines it.
    ndcg: float


class RankData(Handle):
    """Queries, their documents, and the relevance of each document.

    A Model with one output scores documents: Model.gcn([136, 1]) is a linear scorer, Model.gcn([136, 32, 1])
    a perceptron. train(), Estimator.gradient(), Tail and Plan accept RankData in place of a graph. Their
    batches then consist of queries.
    """

    _free = "plim_rank_data_free"
    # The C functions that take it in place of a graph.
    _gradient, _train, _tail, _plan = "plim_rank_gradient", "plim_rank_train", "plim_rank_tail_new", "plim_rank_plan_new"

    @classmethod
    def from_arrays(cls: Type[D], features: Any, relevance: Any, offsets: Any, **splits: Any) -> D:
        """Ranking data from arrays, which are copied.

        features   one row per document: an array or a SciPy sparse matrix.
        relevance  one number per document, 0 .. 1000.
        offsets    query q has the documents offsets[q] .. offsets[q + 1] - 1.
        splits     `train`, `val` and `test`: lists of queries. Without `train`, all queries are training queries.
        """
        relevance, offsets = integers("relevance", relevance), integers("offsets", offsets, np.int64)
        queries = max(len(offsets) - 1, 0)
        if is_sparse(features):
            rows, width = features.shape
            has_length("relevance", relevance, rows)
            indptr, indices, values = scipy_csr("features", features)
            values = np.ones(len(indices), np.float32) if values is None else values
            data = cls._own(make("plim_rank_data_new_sparse", rows, width, indptr, indices, values, relevance, queries,
                                 offsets))
        else:
            matrix = floats("features", features, ndim=2)
            has_length("relevance", relevance, len(matrix))
            data = cls._own(make("plim_rank_data_new", *matrix.shape, matrix, relevance, queries, offsets))
        for split in splits:
            if split not in _abi.SPLITS:
                raise TypeError(f"RankData has no setting {split!r}")
            setattr(data, split, splits[split])
        return data

    @classmethod
    def load(cls: Type[D], path: Any, num_features: int = 0) -> D:
        """Reads a file in LETOR's format, one document per line: "2 qid:10 1:0.5 7:-3 # comment".

        If `num_features` is 0, it is the largest feature in the file. All queries are training queries.
        """
        return cls._own(make("plim_rank_data_load", path, num_features))

    def append(self, other: RankData, split: str) -> None:
        """Appends all queries of other data and adds them to a split."""
        call("plim_rank_data_append", self, other, _abi.number("split", split, _abi.SPLITS))

    def standardize(self, reference: Optional[RankData] = None) -> None:
        """Subtracts the mean of each feature and divides by its standard deviation.

        Both are those of the training documents of `reference` (default: these data). If `reference` is
        standardised, they are the ones it was standardised by.
        """
        call("plim_rank_data_standardize", self, reference)

    def set_ndcg(self, cutoff: int = 10, gain: str = "exponential") -> None:
        """Sets how NDCG is computed.

        cutoff  number of documents that count, from the top; 0 for all.
        gain    of a document of relevance y: "exponential" is 2^y − 1, "linear" is y.
        """
        call("plim_rank_data_set_ndcg", self, cutoff, _abi.number("gain", gain, _abi.RANK_GAINS))

    @property
    def num_queries(self) -> int:
        return ask("plim_rank_data_num_queries", self)

    @property
    def num_documents(self) -> int:
        return ask("plim_rank_data_num_documents", self)

    @property
    def num_features(self) -> int:
        return ask("plim_rank_data_num_features", self)

    @property
    def offsets(self) -> np.ndarray:
        """Query q has the documents offsets[q] .. offsets[q + 1] - 1."""
        return self._copy("plim_rank_data_copy_offsets", self.num_queries + 1, np.int64)

    @property
    def relevance(self) -> np.ndarray:
        """The relevance of each document."""
        return self._copy("plim_rank_data_copy_relevance", self.num_documents, np.int32)

    @property
    def query_ids(self) -> np.ndarray:
        """The id of each query: the number after qid in the file, or else 0, 1, …"""
        return self._copy("plim_rank_data_copy_query_ids", self.num_queries, np.int64)

    def _copy(self, name: str, length: int, dtype: Any) -> np.ndarray:
        array = np.empty(length, dtype)
        call(name, self, array, length)
        return array

    def _split(self, number: int) -> np.ndarray:
        queries = np.empty(ask("plim_rank_data_split_size", self, number), np.int32)
        call("plim_rank_data_copy_split", self, number, queries, len(queries))
        return queries

    def _set_split(self, number: int, queries: Any) -> None:
        array = integers("queries", queries)
        call("plim_rank_data_set_split", self, number, array, len(array))

    train = property(lambda self: self._split(0), lambda self, queries: self._set_split(0, queries), None,
                     "The queries to train on; all at first.")
    val = property(lambda self: self._split(1), lambda self, queries: self._set_split(1, queries), None,
                   "The queries that decide which epoch is best.")
    test = property(lambda self: self._split(2), lambda self, queries: self._set_split(2, queries), None,
                    "The queries to report results on.")

    def scores(self, model: Model, *, out: Optional[np.ndarray] = None) -> np.ndarray:
        """Computes the score of each document. A higher score ranks higher."""
        values = output(out, (self.num_documents,))
        call("plim_rank_score", model, self, values, len(values))
        return values

    def evaluate(self, model: Model, split: str) -> RankEvaluation:
        """Measures a model on a split, without sampling.

        Loss and accuracy are means over the queries with documents of different relevance, NDCG over all
        queries.
        """
        out = np.empty((3, 1))
        call("plim_rank_evaluate", model, self, _abi.number("split", split, _abi.SPLITS), *out)
        return RankEvaluation(*map(float, out[:, 0]))

    def measure(self, model: Model, split: str, measure: str) -> np.ndarray:
        """Measures the "loss", "accuracy" or "ndcg" of each query of a split. Without a pair the first two are NaN."""
        number = _abi.number("split", split, _abi.SPLITS)
        values = np.empty(ask("plim_rank_data_split_size", self, number))
        call("plim_rank_measure", model, self, number, _abi.number("measure", measure, _abi.RANK_MEASURES), values,
             len(values))
        return values

    def __repr__(self) -> str:
        return (f"<plimsoll.RankData of {self.num_queries} queries, {self.num_documents} documents and "
                f"{self.num_features} features>")
