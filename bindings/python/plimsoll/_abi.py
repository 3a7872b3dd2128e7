"""Declares the C interface: every function of plimsoll.h with its parameters, and every constant.

The kind of a parameter defines its C type and the Python values that it accepts. Names are those of the
header, because messages contain them.
"""
from __future__ import annotations

import ctypes
import operator
import os
from typing import Any, Dict, NamedTuple, Optional

import numpy as np


class Progress(ctypes.Structure):
    """plim_progress, with the fields of version 0.1.0."""

    _fields_ = [("struct_size", ctypes.c_size_t), ("epoch", ctypes.c_size_t), ("num_epochs", ctypes.c_size_t),
                ("step", ctypes.c_size_t), ("num_steps", ctypes.c_size_t), ("train_loss", ctypes.c_double),
                ("val_loss", ctypes.c_double), ("val_accuracy", ctypes.c_double), ("seconds", ctypes.c_double),
                ("val_ndcg", ctypes.c_double)]


class Kind:
    """A C type whose values ctypes converts."""

    def __init__(self, ctype: Any):
        self.ctype = ctype

    def convert(self, name: str, value: Any) -> Any:
        return value


class Integer(Kind):
    """An integer. Checked here, because ctypes silently truncates values that are too large."""

    def __init__(self, ctype: Any, low: int, high: int):
        super().__init__(ctype)
        self.low, self.high = low, high

    def convert(self, name: str, value: Any) -> int:
        try:
            number = operator.index(value)
        except TypeError:
            raise TypeError(f"{name} must be an integer, not {value!r}") from None
        if not self.low <= number <= self.high:
            raise ValueError(f"{name} = {number} is outside [{self.low}, {self.high}]")
        return number


class Real(Kind):
    """A double."""

    def convert(self, name: str, value: Any) -> float:
        try:
            return float(value)
        except (TypeError, ValueError):
            raise TypeError(f"{name} must be a number, not {value!r}") from None


class Array(Kind):
    """A contiguous NumPy array of exactly this type, or None for NULL."""

    # The address of an empty array, because NULL would select all nodes.
    EMPTY = ctypes.create_string_buffer(8)

    def __init__(self, dtype: Any):
        super().__init__(ctypes.c_void_p)
        self.dtype = np.dtype(dtype)

    def convert(self, name: str, value: Optional[np.ndarray]) -> Any:
        if value is None:
            return None
        if value.dtype != self.dtype or not value.flags.c_contiguous:
            raise TypeError(f"{name} must be a contiguous array of {self.dtype}")
        return value.ctypes.data if value.size else ctypes.addressof(self.EMPTY)


class Path(Kind):
    """A file name, or None for NULL."""

    def convert(self, name: str, value: Any) -> Optional[bytes]:
        if value is None:
            return None
        path = os.fsencode(value)
        if b"\0" in path:
            raise ValueError(f"{name} contains a zero byte")
        return path


class Object(Kind):
    """An object that owns a handle, or None for NULL."""

    def convert(self, name: str, value: Any) -> Any:
        if value is None:
            return None
        live = getattr(value, "_live", None)
        if live is None:
            raise TypeError(f"{name} must be a plimsoll object, not {value!r:.80}")
        return live()


class Function(NamedTuple):
    """A function prototype."""

    result: Kind
    parameters: Dict[str, Kind]


def of(result: Kind, **parameters: Kind) -> Function:
    return Function(result, parameters)


none = Kind(None)
size = Integer(ctypes.c_size_t, 0, 2 ** (8 * ctypes.sizeof(ctypes.c_size_t)) - 1)
u64 = Integer(ctypes.c_uint64, 0, 2 ** 64 - 1)
u32 = Integer(ctypes.c_uint32, 0, 2 ** 32 - 1)
i32 = status = Integer(ctypes.c_int32, -2 ** 31, 2 ** 31 - 1)
f64 = Real(ctypes.c_double)
text = Path(ctypes.c_char_p)
sizes, i32s, i64s, f32s, f64s = (Array(t) for t in (np.uintp, np.int32, np.int64, np.float32, np.float64))
handle = Object(ctypes.c_void_p)
out_handle = Kind(ctypes.POINTER(ctypes.c_void_p))
bytes_out = Kind(ctypes.c_char_p)
out_text = Kind(ctypes.POINTER(ctypes.c_char_p))
address = Kind(ctypes.c_void_p)
oracle = Kind(ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_size_t, ctypes.POINTER(ctypes.c_double),
                               ctypes.POINTER(ctypes.c_double), ctypes.c_size_t))
release_fn = Kind(ctypes.CFUNCTYPE(None, ctypes.c_void_p))
progress_fn = Kind(ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.POINTER(Progress)))
log_fn = Kind(ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int32, ctypes.c_char_p))

FUNCTIONS = {
    "plim_version": of(text),
    "plim_isa": of(text),
    "plim_last_error": of(text),
    "plim_status_name": of(text, status=status),

    "plim_graph_from_edges": of(
        status, num_nodes=size, num_edges=size, sources=i32s, targets=i32s, weights=f32s, out=out_handle),
    "plim_graph_from_csr": of(status, num_nodes=size, indptr=i64s, indices=i32s, values=f32s, out=out_handle),
    "plim_graph_from_mixture": of(status, nodes_per_class=size, seed=u64, out=out_handle),
    "plim_graph_view_csr": of(
        status, num_nodes=size, indptr=i64s, indices=i32s, values=f32s, release=release_fn, user_data=address,
        out=out_handle),
    "plim_graph_from_edge_list": of(status, path=text, num_nodes=size, out=out_handle),
    "plim_graph_from_edge_list_with": of(status, path=text, options=handle, ids=out_handle, out=out_handle),
    "plim_edge_list_options_new": of(status, out=out_handle),
    "plim_edge_list_options_free": of(none, options=handle),
    "plim_edge_list_options_set_separator": of(status, options=handle, separator=i32),
    "plim_edge_list_options_set_header": of(status, options=handle, header=i32),
    "plim_edge_list_options_set_columns": of(status, options=handle, source=i32, target=i32, weight=i32),
    "plim_edge_list_options_set_column_names": of(status, options=handle, source=text, target=text, weight=text),
    "plim_edge_list_options_set_directed": of(status, options=handle, on=i32),
    "plim_edge_list_options_set_repeated": of(status, options=handle, repeated=i32),
    "plim_edge_list_options_set_comment": of(status, options=handle, prefix=text),
    "plim_edge_list_options_set_num_nodes": of(status, options=handle, num_nodes=size),
    "plim_edge_list_options_set_log": of(status, options=handle, level=i32, fn=log_fn, user_data=address),
    "plim_ids_load": of(status, path=text, out=out_handle),
    "plim_ids_save": of(status, ids=handle, path=text),
    "plim_ids_count": of(size, ids=handle),
    "plim_ids_name_size": of(size, ids=handle),
    "plim_ids_find": of(status, ids=handle, name=text, out=i32s),
    "plim_ids_copy_name": of(status, ids=handle, id=i32, dst=bytes_out, capacity=size),
    "plim_ids_free": of(none, ids=handle),
    "plim_graph_load": of(status, path=text, out=out_handle),
    "plim_graph_save": of(status, graph=handle, path=text),
    "plim_graph_save_store": of(status, graph=handle, directory=text),
    "plim_graph_verify": of(status, graph=handle),
    "plim_graph_set_cache": of(status, graph=handle, max_bytes=size),
    "plim_graph_free": of(none, graph=handle),
    "plim_graph_set_features": of(status, graph=handle, num_features=size, row_major=f32s),
    "plim_graph_view_features": of(
        status, graph=handle, num_features=size, row_major=f32s, release=release_fn, user_data=address),
    "plim_graph_set_sparse_features": of(
        status, graph=handle, num_features=size, indptr=i64s, indices=i32s, values=f32s),
    "plim_graph_normalize_features": of(status, graph=handle),
    "plim_graph_set_labels": of(status, graph=handle, labels=i32s),
    "plim_graph_set_num_classes": of(status, graph=handle, num_classes=size),
    "plim_graph_set_split": of(status, graph=handle, split=i32, nodes=i32s, count=size),
    "plim_graph_set_normalization": of(status, graph=handle, normalization=i32),
    "plim_graph_num_nodes": of(size, graph=handle),
    "plim_graph_num_edges": of(size, graph=handle),
    "plim_graph_num_features": of(size, graph=handle),
    "plim_graph_num_classes": of(size, graph=handle),
    "plim_graph_split_size": of(size, graph=handle, split=i32),
    "plim_graph_copy_split": of(status, graph=handle, split=i32, dst=i32s, capacity=size),
    "plim_graph_copy_labels": of(status, graph=handle, dst=i32s, capacity=size),

    "plim_layers_new": of(status, num_features=size, out=out_handle),
    "plim_layers_free": of(none, layers=handle),
    "plim_layers_last": of(size, layers=handle),
    "plim_layers_width": of(size, layers=handle),
    "plim_layers_num_hops": of(size, layers=handle),
    "plim_layers_linear": of(status, layers=handle, width=size),
    "plim_layers_gcn": of(status, layers=handle, width=size),
    "plim_layers_sage": of(status, layers=handle, width=size, aggregator=i32),
    "plim_layers_gin": of(status, layers=handle, widths=sizes, num_widths=size),
    "plim_layers_gat": of(status, layers=handle, width=size, heads=size, version=i32),
    "plim_layers_aggregate": of(status, layers=handle, aggregator=i32),
    "plim_layers_propagate": of(status, layers=handle, hops=size, restart=f64),
    "plim_layers_activation": of(status, layers=handle, activation=i32),
    "plim_layers_dropout": of(status, layers=handle, rate=f64),
    "plim_layers_norm": of(status, layers=handle, norm=i32),
    "plim_layers_at": of(status, layers=handle, value=size),
    "plim_layers_add": of(status, layers=handle, value=size),
    "plim_layers_concat": of(status, layers=handle, value=size),
    "plim_layers_max": of(status, layers=handle, value=size),
    "plim_layers_set_bias": of(status, layers=handle, on=i32),
    "plim_layers_set_epsilon": of(status, layers=handle, epsilon=f64, learned=i32),
    "plim_layers_set_self_loops": of(status, layers=handle, on=i32),
    "plim_layers_set_heads": of(status, layers=handle, heads=i32),
    "plim_layers_set_attention_dropout": of(status, layers=handle, rate=f64),

    "plim_model_new": of(status, layers=handle, seed=u64, out=out_handle),
    "plim_model_gcn": of(status, widths=sizes, num_widths=size, seed=u64, out=out_handle),
    "plim_model_load": of(status, path=text, out=out_handle),
    "plim_model_save": of(status, model=handle, path=text),
    "plim_model_clone": of(status, model=handle, out=out_handle),
    "plim_model_free": of(none, model=handle),
    "plim_model_set_regularization": of(status, model=handle, lambda_=f64),
    "plim_model_set_scratch": of(status, model=handle, directory=text, max_bytes=size),
    "plim_model_set_threads": of(status, model=handle, threads=size),
    "plim_model_num_layers": of(size, model=handle),
    "plim_model_num_parameters": of(size, model=handle),
    "plim_model_get_parameters": of(status, model=handle, dst=f32s, capacity=size),
    "plim_model_set_parameters": of(status, model=handle, src=f32s, count=size),
    "plim_model_copy_widths": of(status, model=handle, dst=sizes, capacity=size),
    "plim_model_num_tensors": of(size, model=handle),
    "plim_model_tensor": of(
        status, model=handle, index=size, name=out_text, offset=sizes, rows=sizes, columns=sizes),
    "plim_model_num_values": of(size, model=handle),
    "plim_model_copy_value_widths": of(status, model=handle, dst=sizes, capacity=size),
    "plim_model_embed_value": of(
        status, model=handle, graph=handle, nodes=i32s, num_nodes=size, value=size, dst=f32s, capacity=size),
    "plim_model_predict": of(
        status, model=handle, graph=handle, nodes=i32s, num_nodes=size, probabilities=f32s, capacity=size),
    "plim_model_embed": of(
        status, model=handle, graph=handle, nodes=i32s, num_nodes=size, layer=size, dst=f32s, capacity=size),
    "plim_model_evaluate": of(status, model=handle, graph=handle, split=i32, loss=f64s, accuracy=f64s),
    "plim_model_confusion": of(status, model=handle, graph=handle, split=i32, matrix=sizes, capacity=size),
    "plim_confusion_macro_f1": of(status, confusion=sizes, num_classes=size, out=f64s),

    "plim_estimator_full": of(status, out=out_handle),
    "plim_estimator_unbiased": of(status, out=out_handle),
    "plim_estimator_consistent": of(status, sample_sizes=sizes, num_layers=size, out=out_handle),
    "plim_estimator_pairs": of(status, num_pairs=size, out=out_handle),
    "plim_estimator_separate": of(status, num_documents=size, self_normalized=i32, out=out_handle),
    "plim_estimator_free": of(none, estimator=handle),
    "plim_estimator_set_seed": of(status, estimator=handle, seed=u64),
    "plim_estimator_set_distribution": of(status, estimator=handle, distribution=i32),
    "plim_estimator_set_weights": of(status, estimator=handle, weights=f64s, num_nodes=size),
    "plim_estimator_set_draws": of(status, estimator=handle, layer=size, nodes=i32s, count=size),
    "plim_estimator_property": of(u32, estimator=handle),
    "plim_estimator_property_of": of(u32, estimator=handle, model=handle),
    "plim_estimator_gradient": of(
        status, estimator=handle, model=handle, graph=handle, batch=i32s, batch_size=size, gradient=f32s,
        capacity=size, loss=f64s),

    "plim_optimizer_sgd": of(status, step=f64, out=out_handle),
    "plim_optimizer_adam": of(status, step=f64, out=out_handle),
    "plim_optimizer_free": of(none, optimizer=handle),
    "plim_optimizer_set_schedule": of(status, optimizer=handle, schedule=i32),
    "plim_optimizer_set_decay": of(status, optimizer=handle, decay=f64),
    "plim_optimizer_set_betas": of(status, optimizer=handle, beta1=f64, beta2=f64),
    "plim_optimizer_set_epsilon": of(status, optimizer=handle, epsilon=f64),
    "plim_optimizer_set_clip": of(status, optimizer=handle, norm=f64),
    "plim_optimizer_set_ema": of(status, optimizer=handle, decay=f64),
    "plim_optimizer_set_step_decay": of(status, optimizer=handle, every=size, unit=i32, factor=f64),
    "plim_optimizer_set_cosine": of(status, optimizer=handle, length=size, unit=i32, minimum=f64),
    "plim_optimizer_set_warmup": of(status, optimizer=handle, length=size, unit=i32, start=f64),
    "plim_optimizer_set_plateau": of(status, optimizer=handle, factor=f64, patience=size, minimum=f64),
    "plim_optimizer_report": of(status, optimizer=handle, value=f64),
    "plim_optimizer_end_epoch": of(status, optimizer=handle),
    "plim_optimizer_step_size": of(f64, optimizer=handle),
    "plim_optimizer_set_ball": of(status, optimizer=handle, radius=f64),
    "plim_optimizer_set_box": of(status, optimizer=handle, low=f64, high=f64),
    "plim_optimizer_reset": of(status, optimizer=handle),
    "plim_optimizer_set_averaging": of(status, optimizer=handle, on=i32),
    "plim_optimizer_update": of(status, optimizer=handle, model=handle, gradient=f32s, count=size),
    "plim_optimizer_average": of(status, optimizer=handle, dst=f32s, capacity=size),
    "plim_optimizer_ema": of(status, optimizer=handle, dst=f32s, capacity=size),
    "plim_optimizer_minimize": of(
        status, optimizer=handle, oracle=oracle, user_data=address, num_steps=size, w=f64s, average=f64s, dim=size),

    "plim_train_options_new": of(status, out=out_handle),
    "plim_train_options_free": of(none, options=handle),
    "plim_train_options_set_epochs": of(status, options=handle, epochs=size),
    "plim_train_options_set_batch_size": of(status, options=handle, batch_size=size),
    "plim_train_options_set_seed": of(status, options=handle, seed=u64),
    "plim_train_options_set_restore_best": of(status, options=handle, on=i32),
    "plim_train_options_set_patience": of(status, options=handle, epochs=size),
    "plim_train_options_set_monitor": of(status, options=handle, monitor=i32),
    "plim_train_options_set_evaluate_every": of(status, options=handle, epochs=size),
    "plim_train_options_set_checkpoint": of(status, options=handle, path=text, every=size),
    "plim_train_options_set_resume": of(status, options=handle, path=text),
    "plim_train_options_set_adaptive": of(status, options=handle, delta=f64, every=size, smallest=size, largest=size),
    "plim_train_options_set_ema": of(status, options=handle, on=i32),
    "plim_train_options_set_progress": of(status, options=handle, fn=progress_fn, user_data=address),
    "plim_train_options_set_log": of(status, options=handle, level=i32, fn=log_fn, user_data=address),
    "plim_train": of(
        status, model=handle, graph=handle, estimator=handle, optimizer=handle, options=handle, out=out_handle),

    "plim_history_num_epochs": of(size, history=handle),
    "plim_history_best_epoch": of(size, history=handle),
    "plim_history_copy": of(status, history=handle, column=i32, dst=f64s, capacity=size),
    "plim_history_free": of(none, history=handle),

    "plim_bound_strongly_convex_iterate": of(status, l=f64, big_g=f64, delta=f64, t=size, out=f64s),
    "plim_bound_strongly_convex_average": of(status, l=f64, big_g=f64, delta=f64, t=size, out=f64s),
    "plim_bound_strongly_convex_value": of(status, l=f64, big_l=f64, big_g=f64, delta=f64, t=size, out=f64s),
    "plim_bound_constant_step": of(
        status, l=f64, big_g=f64, delta=f64, step=f64, t=size, initial_distance_squared=f64, out=f64s),
    "plim_bound_convex_average": of(status, big_g=f64, diameter=f64, rho=f64, c=f64, t=size, out=f64s),
    "plim_bound_nonconvex_gradient": of(status, big_l=f64, big_g=f64, d_f=f64, delta=f64, t=size, out=f64s),
    "plim_bound_linear": of(status, l=f64, big_l=f64, deltas=f64s, t=size, initial_gap=f64, out=f64s),

    "plim_sample_size": of(status, tau=f64, c=f64, t=size, epsilon=f64, out=sizes),
    "plim_sample_epsilon": of(status, tau=f64, c=f64, t=size, sample_size=size, out=f64s),
    "plim_sample_delta": of(
        status, deltas=f64s, cs=f64s, taus=f64s, count=size, t=size, epsilon=f64, sample_size=size, out=f64s),

    "plim_probe_options_new": of(status, out=out_handle),
    "plim_probe_options_free": of(none, options=handle),
    "plim_probe_options_set_draws": of(status, options=handle, draws=size),
    "plim_probe_options_set_seed": of(status, options=handle, seed=u64),
    "plim_probe_options_set_batch": of(status, options=handle, nodes=i32s, count=size),
    "plim_probe_options_set_progress": of(status, options=handle, fn=progress_fn, user_data=address),
    "plim_probe_options_set_log": of(status, options=handle, level=i32, fn=log_fn, user_data=address),

    "plim_tail_probability": of(
        status, estimator=handle, model=handle, graph=handle, sample_sizes=sizes, num_sizes=size, deltas=f64s,
        num_deltas=size, options=handle, out=f64s, capacity=size),
    "plim_tail_new": of(
        status, estimator=handle, model=handle, graph=handle, sample_sizes=sizes, num_sizes=size, deltas=f64s,
        num_deltas=size, options=handle, out=out_handle),
    "plim_tail_copy": of(status, tail=handle, what=i32, dst=f64s, capacity=size),
    "plim_tail_norm": of(f64, tail=handle),
    "plim_tail_free": of(none, tail=handle),
    "plim_tail_fit": of(
        status, sample_sizes=sizes, probabilities=f64s, count=size, draws=size, c=f64s, tau=f64s, r_squared=f64s),

    "plim_plan_new": of(
        status, estimator=handle, model=handle, graph=handle, delta=f64, epsilon=f64, t=size, options=handle,
        out=out_handle),
    "plim_plan_pays": of(i32, plan=handle),
    "plim_plan_num_sizes": of(size, plan=handle),
    "plim_plan_copy_sizes": of(status, plan=handle, dst=sizes, capacity=size),
    "plim_plan_get": of(status, plan=handle, what=i32, out=f64s),
    "plim_plan_describe": of(status, plan=handle, dst=bytes_out, capacity=size),
    "plim_plan_free": of(none, plan=handle),

    "plim_rank_data_new": of(
        status, num_documents=size, num_features=size, row_major=f32s, relevance=i32s, num_queries=size, offsets=i64s,
        out=out_handle),
    "plim_rank_data_new_sparse": of(
        status, num_documents=size, num_features=size, indptr=i64s, indices=i32s, values=f32s, relevance=i32s,
        num_queries=size, offsets=i64s, out=out_handle),
    "plim_rank_data_load": of(status, path=text, num_features=size, out=out_handle),
    "plim_rank_data_free": of(none, data=handle),
    "plim_rank_data_append": of(status, data=handle, other=handle, split=i32),
    "plim_rank_data_standardize": of(status, data=handle, reference=handle),
    "plim_rank_data_set_split": of(status, data=handle, split=i32, queries=i32s, count=size),
    "plim_rank_data_set_ndcg": of(status, data=handle, cutoff=size, gain=i32),
    "plim_rank_data_num_queries": of(size, data=handle),
    "plim_rank_data_num_documents": of(size, data=handle),
    "plim_rank_data_num_features": of(size, data=handle),
    "plim_rank_data_split_size": of(size, data=handle, split=i32),
    "plim_rank_data_copy_split": of(status, data=handle, split=i32, dst=i32s, capacity=size),
    "plim_rank_data_copy_offsets": of(status, data=handle, dst=i64s, capacity=size),
    "plim_rank_data_copy_relevance": of(status, data=handle, dst=i32s, capacity=size),
    "plim_rank_data_copy_query_ids": of(status, data=handle, dst=i64s, capacity=size),
    "plim_rank_score": of(status, model=handle, data=handle, dst=f32s, capacity=size),
    "plim_rank_evaluate": of(
        status, model=handle, data=handle, split=i32, loss=f64s, accuracy=f64s, ndcg=f64s),
    "plim_rank_measure": of(status, model=handle, data=handle, split=i32, measure=i32, dst=f64s, capacity=size),
    "plim_rank_gradient": of(
        status, estimator=handle, model=handle, data=handle, batch=i32s, batch_size=size, gradient=f32s,
        capacity=size, loss=f64s),
    "plim_rank_train": of(
        status, model=handle, data=handle, estimator=handle, optimizer=handle, options=handle, out=out_handle),
    "plim_rank_tail_new": of(
        status, estimator=handle, model=handle, data=handle, sample_sizes=sizes, num_sizes=size, deltas=f64s,
        num_deltas=size, options=handle, out=out_handle),
    "plim_rank_plan_new": of(
        status, estimator=handle, model=handle, data=handle, delta=f64, epsilon=f64, t=size, options=handle,
        out=out_handle),
}

# Python's names for the constants of C, in the order of their numbers.
SPLITS = ("train", "val", "test")
NORMALIZATIONS = ("symmetric", "row", "none")
DISTRIBUTIONS = ("uniform", "importance", "neighbors", "ladies")
AGGREGATORS = ("mean", "sum", "max", "min")
HEADS = ("concat", "mean")
ACTIVATIONS = ("relu", "leaky_relu", "elu", "gelu", "tanh", "sigmoid")
NORMS = ("layer", "batch")
SCHEDULES = ("constant", "inverse", "inverse_sqrt")
UNITS = ("updates", "epochs")
HISTORY = ("train_loss", "val_loss", "val_accuracy", "seconds", "batch_loss", "sample_size", "error", "val_ndcg")
MONITORS = ("val_accuracy", "val_loss", "train_loss", "val_ndcg")
LOG_LEVELS = ("error", "warning", "info", "debug")
SEPARATORS = ("auto",)
HEADERS = ("auto", "yes", "no")
REPEATED = ("sum", "count", "first", "max")
TAIL = ("probability", "lower", "upper", "error", "bias", "deviation")
PLAN = ("sample_size", "misses", "upper", "seconds", "exact_seconds", "unbiased_seconds", "unbiased_batch", "c", "tau",
        "r_squared")
RANK_GAINS = ("exponential", "linear")
RANK_MEASURES = ("loss", "accuracy", "ndcg")
PROPERTIES = {"unbiased": 1, "consistent": 2, "exact": 4}
PLAN_TEXT_SIZE = 512


def number(name: str, value: str, names: tuple) -> int:
    """Returns the constant of a name."""
    if value not in names:
        raise ValueError(f"{name} = {value!r} is not one of {', '.join(map(repr, names))}")
    return names.index(value)
