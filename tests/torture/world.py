"""A small world in which every function of the header has a call that succeeds.

World.base() makes the arguments of that call from rules: handles by their type, arrays, numbers and texts by the
parameter's name, or by function and name where one name means different things. A new function whose parameters are
known by name needs nothing here; for others, add a line to ARRAYS or NUMBERS.
"""
import ctypes
import os
import re
import shutil
import struct
import sys
import tempfile

from header import Header, SCALARS

NODES, FEATURES, CLASSES = 8, 3, 2
SOURCES = [0, 1, 2, 3, 4, 5, 6, 7, 0, 2]
TARGETS = [1, 2, 3, 4, 5, 6, 7, 0, 4, 6]
LABELS = [0, 1, 0, 1, 0, 1, 0, 1]
WIDTHS = [FEATURES, 4, CLASSES]
PARAMETERS = FEATURES * 4 + 4 * CLASSES
FEATURE_ROWS = [((7 * i + 3) % 11) / 11 for i in range(NODES * FEATURES)]
GRADIENT = [((5 * i + 2) % 7 - 3) / 10 for i in range(PARAMETERS)]

ARRAYS = {
    "sources": SOURCES, "targets": TARGETS,
    "weights": [1.0] * len(SOURCES), "plim_estimator_set_weights.weights": [1.0 + i for i in range(NODES)],
    "indptr": [0, 2, 4, 6, 8, 10, 12, 14, 16],
    "indices": [i for v in range(NODES) for i in sorted({(v + 1) % NODES, (v - 1) % NODES})],
    "plim_graph_set_sparse_features.indices": [0, 1] * NODES,
    "values": [0.5 + i / 32 for i in range(16)],
    "row_major": FEATURE_ROWS, "labels": LABELS, "nodes": [1, 2, 5], "batch": [0, 1, 6],
    "widths": WIDTHS, "src": GRADIENT, "gradient": GRADIENT,
    "sample_sizes": [2, 4], "plim_tail_fit.sample_sizes": [10, 20, 30, 40, 50],
    "probabilities": [0.5, 0.3, 0.18, 0.11, 0.06],
    "deltas": [0.25, 0.5], "plim_bound_linear.deltas": [0.5] * 9, "plim_sample_delta.deltas": [0.1, 0.2, 0.4],
    "relevance": [2, 0, 1, 0, 1, 2, 0, 1], "offsets": [0, 3, NODES], "queries": [0, 1], "plim_rank_gradient.batch": [0, 1],
    "plim_rank_data_new_sparse.indices": [0, 1] * NODES, "confusion": [3, 1, 2, 4], "cs": [2.0, 2.0, 2.0], "taus": [0.1, 0.2, 0.4],
}

# Lengths of arrays that the docs describe in words.
LENGTHS = {
    "plim_graph_from_csr.values": "indptr[num_nodes]", "plim_graph_set_sparse_features.values": "indptr[num_nodes]",
    "plim_rank_data_new.row_major": "num_documents × num_features",
    "plim_rank_data_new.offsets": "num_queries + 1", "plim_rank_data_new_sparse.offsets": "num_queries + 1",
    "plim_rank_data_new_sparse.indptr": "num_documents + 1",
    "plim_rank_data_new_sparse.indices": "indptr[num_documents]",
    "plim_rank_data_new_sparse.values": "indptr[num_documents]", "plim_graph_view_csr.values": "indptr[num_nodes]", "plim_confusion_macro_f1.confusion": "num_classes × num_classes",
    "plim_model_gcn.widths": "num_widths", "plim_layers_gin.widths": "num_widths", "plim_estimator_consistent.sample_sizes": "num_layers",
    "plim_bound_linear.deltas": "t - 1",
}

NUMBERS = {
    "num_nodes": NODES, "nodes_per_class": 20, "num_features": FEATURES, "max_bytes": 1 << 20, "seed": 7,
    "num_documents": NODES, "num_queries": 2, "num_pairs": 4, "self_normalized": 1, "cutoff": 2, "gain": 1, "measure": 0,
    "num_classes": 2, "monitor": 1, "level": 2, "split": 0, "normalization": 1, "lambda": 0.01, "threads": 2, "layer": 1, "distribution": 1, "step": 0.1,
    "schedule": 2, "unit": 1, "factor": 0.5, "length": 4, "minimum": 0.01, "start": 0.5, "patience": 2, "plim_optimizer_report.value": 1.0, "plim_optimizer_set_clip.norm": 0.5,
    "beta1": 0.8, "beta2": 0.9, "decay": 0.01, "radius": 5.0, "low": -1.0, "high": 1.0, "on": 1, "num_steps": 5, "dim": 3,
    "epochs": 3, "batch_size": 2, "every": 2, "smallest": 2, "largest": 16, "column": 0, "what": 0, "status": 2,
    "l": 1.0, "big_l": 2.0, "big_g": 3.0, "delta": 0.25, "t": 10, "initial_distance_squared": 1.0,
    "diameter": 2.0, "rho": 0.5, "c": 1.0, "d_f": 1.0, "initial_gap": 1.0, "tau": 0.1, "epsilon": 0.1,
    "plim_plan_new.delta": 0.9, "plim_plan_new.epsilon": 1.0, "plim_plan_new.t": 1,
    "separator": 44, "header": 2, "source": 0, "target": 1, "weight": -1, "repeated": 1, "id": 1,
    "width": 4, "aggregator": 2, "hops": 2, "restart": 0.1, "activation": 1, "rate": 0.5, "norm": 1, "value": 3, "learned": 1,
    "heads": 2, "version": 2, "plim_layers_set_heads.heads": 1,
    "index": 1, "plim_layers_at.value": 1,
    "sample_size": 100, "draws": 20, "plim_tail_fit.draws": 1000,
}

# Buffers that are read as well, and the lengths of buffers without a `capacity`.
STARTS = {"plim_optimizer_minimize.w": [1.0, -2.0, 3.0]}
SIZES = {"plim_optimizer_minimize.average": 3}

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
GUARD = 64
CANARY = 0xA5


def lookup(table, function, name):
    return table.get(f"{function.name}.{name}", table.get(name))


class Misaligned:
    """Instead of a value: its own pointer, moved by this many bytes."""

    def __init__(self, by):
        self.by = by

    def __repr__(self):
        return f"misaligned by {self.by}"


class Result:
    """The result of a call."""

    def __init__(self, value, message, before, after, handles):
        self.value, self.message, self.before, self.after, self.handles = value, message, before, after, handles

    @property
    def untouched(self):
        return self.before == self.after


class World:
    header = Header()
    # Made once per process: they require a training or a measurement, and only free changes them.
    shared = {}

    def __init__(self, library, folder=None):
        self.library = library
        self.folder = folder or tempfile.mkdtemp(prefix="plimsoll-")
        self.cached = {}

    def file(self, name):
        return os.path.join(self.folder, name)

    def __getattr__(self, name):
        """world.graph_free(…) is plim_graph_free(…)."""
        if not name.startswith(("graph_", "model_", "estimator_", "optimizer_", "train", "history_", "probe_", "tail_",
                                "plan_", "rank_", "layers_", "ids_", "edge_list_", "last_error", "sample_", "bound_")):
            raise AttributeError(name)
        return getattr(self.library, "plim_" + name)

    def ok(self, name, *arguments):
        status = getattr(self.library, "plim_" + name)(*arguments)
        if status != 0:
            raise AssertionError(f"plim_{name}{arguments} gave {status}: {self.last_error().decode()}")

    def new(self, name, *arguments):
        out = ctypes.c_void_p(0)
        self.ok(name, *arguments, ctypes.addressof(out))
        return out.value

    def make(self, kind):
        """A new handle of a type."""
        return getattr(self, "make_" + kind.removeprefix("plim_"))()

    def handle(self, kind):
        """This world's handle of a type."""
        if kind in ("plim_plan", "plim_tail", "plim_history"):
            if kind not in World.shared:
                World.shared[kind] = self.make(kind)
            return World.shared[kind]
        return self.kept(kind, kind)

    def kept(self, key, kind):
        if key not in self.cached:
            self.cached[key] = self.make(key.replace(" ", "_"))
        return self.cached[key]

    def handle_for(self, function, p):
        """The handle of a parameter. Rankings have their own models and estimators, and some functions take two handles of a
        type."""
        if p.name in ("other", "reference"):
            return self.kept(f"other {p.type}", p.type)
        if function.name.startswith("plim_rank_") and p.type in ("plim_model", "plim_estimator", "plim_optimizer"):
            return self.kept(f"ranking {p.type}", p.type)
        if function.name in ("plim_layers_set_heads", "plim_layers_set_self_loops", "plim_layers_set_attention_dropout"):
            return self.kept(f"attention {p.type}", p.type)
        return self.handle(p.type)

    def close(self):
        for key, handle in self.cached.items():
            getattr(self.library, key.split()[-1] + "_free")(handle)
        self.cached = {}

    def make_rank_data(self):
        data = self.new("rank_data_new", NODES, FEATURES, cells("f", FEATURE_ROWS), cells("i", ARRAYS["relevance"]), 2,
                        cells("q", ARRAYS["offsets"]))
        self.ok("rank_data_set_split", data, 1, cells("i", [1]), 1)
        return data

    make_other_plim_rank_data = make_rank_data

    def make_ranking_plim_model(self):
        return self.new("model_gcn", cells("N", [FEATURES, 4, 1]), 3, 3)

    def make_ranking_plim_optimizer(self):
        return self.new("optimizer_adam", 0.01)

    def make_ranking_plim_estimator(self):
        return self.new("estimator_separate", 4, 1)

    def make_graph(self):
        graph = self.new("graph_from_edges", NODES, len(SOURCES), cells("i", SOURCES), cells("i", TARGETS), None)
        self.ok("graph_set_features", graph, FEATURES, cells("f", FEATURE_ROWS))
        self.ok("graph_set_labels", graph, cells("i", LABELS))
        for split, nodes in enumerate(([0, 1, 2, 3], [4, 5], [6, 7])):
            self.ok("graph_set_split", graph, split, cells("i", nodes), len(nodes))
        return graph

    def make_model(self):
        return self.new("model_gcn", cells("N", WIDTHS), len(WIDTHS), 3)

    def make_layers(self):
        """Values 1 to 4; the last operation is one that every setter speaks of, but those of attention."""
        layers = self.new("layers_new", FEATURES)
        self.ok("layers_gcn", layers, CLASSES)
        self.ok("layers_activation", layers, 0)
        self.ok("layers_norm", layers, 1)
        self.ok("layers_gin", layers, cells("N", [4, CLASSES]), 2)
        return layers

    def make_attention_plim_layers(self):
        layers = self.new("layers_new", FEATURES)
        self.ok("layers_gat", layers, CLASSES, 2, 1)
        return layers

    def make_estimator(self):
        return self.new("estimator_consistent", cells("N", [4, 4]), 2)

    def make_optimizer(self):
        """An optimizer that has moved a model, with both averages."""
        optimizer, model = self.new("optimizer_adam", 0.1), self.make_model()
        self.ok("optimizer_set_averaging", optimizer, 1)
        self.ok("optimizer_set_ema", optimizer, 0.5)
        self.ok("optimizer_update", optimizer, model, cells("f", GRADIENT), PARAMETERS)
        self.library.plim_model_free(model)
        return optimizer

    def make_train_options(self):
        options = self.new("train_options_new")
        self.ok("train_options_set_epochs", options, 3)
        self.ok("train_options_set_batch_size", options, 2)
        return options

    def make_probe_options(self):
        options = self.new("probe_options_new")
        self.ok("probe_options_set_draws", options, 20)
        return options

    def make_edge_list_options(self):
        options = self.new("edge_list_options_new")
        self.ok("edge_list_options_set_header", options, 2)
        return options

    def make_ids(self):
        out, graph = ctypes.c_void_p(0), ctypes.c_void_p(0)
        options = self.make_edge_list_options()
        self.ok("graph_from_edge_list_with", self.edges(), options, ctypes.addressof(out), ctypes.addressof(graph))
        self.graph_free(graph)
        self.edge_list_options_free(options)
        return out.value

    def edges(self):
        """The name of an edge list, whose ids are numbers and as good as any names."""
        with open(self.file("edges.csv"), "w") as file:
            file.writelines(f"{u},{v}\n" for u, v in zip(SOURCES, TARGETS))
        return self.file("edges.csv").encode()

    def make_history(self):
        handles = [self.make(k) for k in ("plim_model", "plim_graph", "plim_estimator", "plim_optimizer",
                                          "plim_train_options")]
        return self.new("train", *handles)

    def probed(self):
        return [self.make(k) for k in ("plim_estimator", "plim_model", "plim_graph")]

    def make_tail(self):
        return self.new("tail_new", *self.probed(), cells("N", [2, 4]), 2, cells("d", [0.25, 0.5]), 2,
                        self.make("plim_probe_options"))

    def make_plan(self):
        return self.new("plan_new", *self.probed(), 0.9, 1.0, 1, self.make("plim_probe_options"))

    def witness(self, kind, handle):
        """Everything observable about an object, for comparison: from getters, or from its effect on others. Some of these change
        the object, so call this at the end."""
        return getattr(self, "witness_" + kind.removeprefix("plim_"))(handle)

    def copied(self, name, code, count, *arguments):
        buffer = (ctypes.c_char * (struct.calcsize(code) * count))()
        status = getattr(self.library, "plim_" + name)(*arguments, ctypes.addressof(buffer), count)
        return status, bytes(buffer)

    def witness_graph(self, graph):
        model = self.new("model_gcn", cells("N", [max(1, self.graph_num_features(graph)), 4, 8]), 3, 3)
        nodes = self.graph_num_nodes(graph)
        state = [self.graph_num_nodes(graph), self.graph_num_edges(graph), self.graph_num_features(graph),
                self.graph_num_classes(graph), self.copied("graph_copy_labels", "i", nodes, graph),
                self.copied("model_predict", "f", 8 * nodes, model, graph, None, 0)]
        state += [self.copied("graph_copy_split", "i", nodes, graph, split) for split in range(3)]
        self.model_free(model)
        return state

    def witness_rank_data(self, data):
        model, documents = self.make_ranking_plim_model(), self.rank_data_num_documents(data)
        state = [self.rank_data_num_queries(data), documents, self.rank_data_num_features(data),
                self.copied("rank_data_copy_relevance", "i", documents, data),
                self.copied("rank_data_copy_offsets", "q", documents + 1, data),
                self.copied("rank_score", "f", documents, model, data)]
        state += [self.copied("rank_data_copy_split", "i", documents, data, split) for split in range(3)]
        self.model_free(model)
        return state

    def witness_edge_list_options(self, options):
        """What these options make of a file; some make an error of it."""
        out = ctypes.c_void_p(0)
        status = self.graph_from_edge_list_with(self.edges(), options, None, ctypes.addressof(out))
        if status != 0:
            return [status, self.last_error()]
        state = self.witness_graph(out.value)
        self.graph_free(out.value)
        return state

    def witness_ids(self, ids):
        return [self.ids_count(ids), self.ids_name_size(ids)] + [
            self.copied("ids_copy_name", "c", self.ids_name_size(ids), ids, i) for i in range(self.ids_count(ids))]

    def witness_model(self, model):
        estimator, graph = self.new("estimator_full"), self.make_graph()
        count = self.model_num_parameters(model)
        state = [count, self.model_num_layers(model), self.copied("model_get_parameters", "f", count, model),
                self.copied("model_copy_widths", "N", 4, model)]
        state.append(self.copied("model_predict", "f", 16, model, graph, None, 0))
        gradient = (ctypes.c_float * count)()
        state += [self.estimator_gradient(estimator, model, graph, None, 0, ctypes.addressof(gradient), count, None),
                 bytes(gradient)]
        self.estimator_free(estimator)
        self.graph_free(graph)
        return state

    def witness_layers(self, layers):
        state = [self.layers_last(layers), self.layers_width(layers), self.layers_num_hops(layers)]
        out = ctypes.c_void_p(0)
        state.append(self.model_new(layers, 3, ctypes.addressof(out)))
        if out.value:
            count, graph = self.model_num_parameters(out.value), self.make_graph()
            values, width = self.model_num_values(out.value), self.layers_width(layers)
            state += [self.copied("model_get_parameters", "f", count, out.value),
                      self.copied("model_copy_value_widths", "N", values, out.value),
                      self.copied("model_predict", "f", NODES * width, out.value, graph, None, 0)]
            self.graph_free(graph)
            self.model_free(out.value)
        return state

    def witness_estimator(self, estimator):
        model, graph = self.make_model(), self.make_graph()
        gradient = (ctypes.c_float * PARAMETERS)()
        state = [self.estimator_property(estimator)]
        for _ in range(3):
            state += [self.estimator_gradient(estimator, model, graph, None, 0, ctypes.addressof(gradient), PARAMETERS,
                                             None), bytes(gradient)]
        self.model_free(model)
        self.graph_free(graph)
        return state

    def witness_optimizer(self, optimizer):
        model = self.make_model()
        state = [self.copied("optimizer_average", "f", PARAMETERS, optimizer), self.optimizer_step_size(optimizer),
                 self.copied("optimizer_ema", "f", PARAMETERS, optimizer)]
        for _ in range(3):
            state.append(self.optimizer_update(optimizer, model, cells("f", GRADIENT), PARAMETERS))
        state += [self.optimizer_report(optimizer, 1.0), self.optimizer_end_epoch(optimizer),
                  self.optimizer_step_size(optimizer), self.copied("optimizer_ema", "f", PARAMETERS, optimizer)]
        state += [self.copied("model_get_parameters", "f", PARAMETERS, model),
                 self.copied("optimizer_average", "f", PARAMETERS, optimizer)]
        self.model_free(model)
        return state

    def witness_train_options(self, options):
        handles = [self.make(k) for k in ("plim_model", "plim_graph", "plim_estimator", "plim_optimizer")]
        state = [self.train(*handles, options, None), self.copied("model_get_parameters", "f", PARAMETERS, handles[0])]
        for free, handle in zip((self.model_free, self.graph_free, self.estimator_free, self.optimizer_free), handles):
            free(handle)
        return state

    def witness_probe_options(self, options):
        handles, out = self.probed(), (ctypes.c_double * 2)()
        status = self.tail_probability(*handles, cells("N", [2, 4]), 2, cells("d", [0.5]), 1, options,
                                       ctypes.addressof(out), 2)
        for free, handle in zip((self.estimator_free, self.model_free, self.graph_free), handles):
            free(handle)
        return [status, bytes(out)]

    def witness_history(self, history):
        return [self.history_num_epochs(history), self.history_best_epoch(history)] + [
            self.copied("history_copy", "d", 64, history, column) for column in (0, 1, 2, 4)]

    def witness_tail(self, tail):
        return [self.tail_norm(tail)] + [self.copied("tail_copy", "d", 4, tail, what) for what in range(6)]

    def witness_plan(self, plan):
        return [self.plan_num_sizes(plan), self.copied("plan_copy_sizes", "N", 4, plan)]

    def base(self, function):
        """The arguments of a valid call, by name."""
        values = {}
        for p in function.parameters:
            if p.kind == "handle":
                values[p.name] = self.handle_for(function, p)
            elif p.kind == "array":
                values[p.name] = lookup(ARRAYS, function, p.name)
            elif p.kind == "scalar":
                counted = [q for q in function.parameters if q.kind == "array" and length_of(function, q) == p.name]
                if p.name == "capacity":
                    values[p.name] = 0
                elif counted:
                    values[p.name] = len(lookup(ARRAYS, function, counted[0].name))
                else:
                    values[p.name] = lookup(NUMBERS, function, p.name)
            elif p.kind == "text":
                values[p.name] = self.path(function, p.name)
            elif p.kind == "callback":
                values[p.name] = callback(self.header, p.type)
            elif p.kind == "data":
                values[p.name] = 0
            elif p.kind == "buffer":
                start = lookup(STARTS, function, p.name)
                values[p.name] = start or [None] * (lookup(SIZES, function, p.name) or 1)
            else:
                values[p.name] = None
            if p.kind in ("array", "scalar") and values[p.name] is None:
                raise AssertionError(f"world.py has no rule for the parameter {p.name} of {function.name}")
        if "capacity" in values:
            self.size_buffer(function, values)
        return values

    def size_buffer(self, function, values):
        """A capacity of 0 is too small, and the message says how many elements are needed."""
        names = [p.name for p in function.parameters]
        buffer = names[names.index("capacity") - 1]
        result = self.call(function, values)
        needed = re.search(r"(\d+) are needed", result.message)
        if result.value != 5 or not needed:
            raise AssertionError(f"{function.name}: a capacity of 0 gave {result.value}: {result.message}")
        values["capacity"] = int(needed.group(1))
        values[buffer] = [None] * values["capacity"]

    def path(self, function, name="path"):
        if function.name == "plim_model_set_scratch":
            return self.folder.encode()
        if function.name == "plim_graph_save_store":
            return self.file("store").encode()
        if function.name == "plim_rank_data_load":
            with open(self.file("letor.txt"), "w") as file:
                file.writelines(f"{r} qid:{i // 4} 1:0.5 3:{i}\n" for i, r in enumerate(ARRAYS["relevance"]))
            return self.file("letor.txt").encode()
        if function.name.startswith("plim_graph_from_edge_list"):
            return self.edges()
        if function.name.startswith("plim_edge_list_options") or function.name == "plim_ids_find":
            return {"source": b"from", "target": b"to", "weight": b"amount", "prefix": b"//", "name": b"3"}[name]
        if function.name == "plim_ids_load":
            if not os.path.exists(self.file("ids")):
                self.ok("ids_save", self.handle("plim_ids"), self.file("ids").encode())
            return self.file("ids").encode()
        if "_save" in function.name:
            return self.file("saved").encode()
        if function.name == "plim_graph_load":
            if not os.path.exists(self.file("graph.npz")):
                self.ok("graph_save", self.handle("plim_graph"), self.file("graph.npz").encode())
            return self.file("graph.npz").encode()
        if function.name == "plim_model_load":
            if not os.path.exists(self.file("model.safetensors")):
                self.ok("model_save", self.handle("plim_model"), self.file("model.safetensors").encode())
            return self.file("model.safetensors").encode()
        return self.file("checkpoint").encode()

    def call(self, function, values, through=lambda f, arguments: f(*arguments)):
        """Calls with these arguments. A number instead of an array, a buffer or a text is the pointer itself."""
        arguments, alive, outs = [], [], {}
        for p in function.parameters:
            value = values[p.name]
            shift = value.by if isinstance(value, Misaligned) else 0
            if p.kind == "array" and not isinstance(value, int):
                content = self.base_array(function, p) if shift else value
                block = (p.element * (len(content) + 1))(*content)
                alive.append(block)
                value = ctypes.addressof(block) + shift
            elif p.kind == "text" and isinstance(value, bytes):
                block = ctypes.create_string_buffer(value)
                alive.append(block)
                value = ctypes.addressof(block)
            elif p.kind in ("buffer", "out handle") and not isinstance(value, int):
                element = p.element if p.kind == "buffer" else ctypes.c_void_p
                content = value if isinstance(value, list) else [None]
                size = ctypes.sizeof(element) * len(content)
                block = (ctypes.c_char * (size + GUARD))(*bytes([CANARY] * (size + GUARD)))
                if content[0] is not None:
                    start = bytes((element * len(content))(*content))
                    block[:len(start)] = start
                alive.append(block)
                outs[p.name] = (block, size)
                value = ctypes.addressof(block) + shift
            elif p.kind == "callback" and value:
                alive.append(value)
                value = ctypes.cast(value, ctypes.c_void_p).value
            arguments.append(value)
        if "_view_" in function.name:
            LENT.append(alive)
        if function.name == "plim_graph_save_store":  # a store is never overwritten
            shutil.rmtree(self.file("store"), ignore_errors=True)
        before = {n: bytes(block) for n, (block, _) in outs.items()}
        returned = through(getattr(self.library, function.name), arguments)
        message = self.library.plim_last_error().decode(errors="replace")
        after = {n: bytes(block) for n, (block, _) in outs.items()}
        for name, (_, size) in outs.items():
            if before[name][size:] != after[name][size:]:
                raise AssertionError(f"{function.name} wrote beyond {name}")
        for p in function.parameters:  # the string counts, not its address
            if p.kind == "buffer" and p.points and p.name in after and after[p.name] != before[p.name]:
                after[p.name] = ctypes.string_at(struct.unpack_from("N", after[p.name])[0])
        handles = {p.name: struct.unpack_from("N", after[p.name])[0] for p in function.parameters
                   if p.kind == "out handle" and p.name in after and before[p.name] != after[p.name]}
        return Result(returned, message, before, after, handles)

    @staticmethod
    def base_array(function, p):
        return lookup(ARRAYS, function, p.name)


def length_of(function, parameter):
    return LENGTHS.get(f"{function.name}.{parameter.name}", parameter.length)


def cells(code, values):
    """The address of an array, which lives as long as this process."""
    block = ctypes.create_string_buffer(struct.pack(f"{len(values)}{code}", *values))
    key = (code, tuple(values))
    return ctypes.addressof(ARENA.setdefault(key, block))


ARENA = {}
# Arrays that a view has borrowed live as long as this process, too.
LENT = []


def quadratic(_data, step, w, gradient, dim):
    """The gradient of ‖w‖²/2. Ends runs with too many steps."""
    for i in range(dim):
        gradient[i] = w[i]
    return 1 if step > 1000 else 0


def callback(header, name):
    """A function of this callback type: the gradient of a small problem, or one that returns 0."""
    result, arguments = header.callbacks[name]
    if name == "plim_oracle":
        doubles = ctypes.POINTER(ctypes.c_double)
        return ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_size_t, doubles, doubles, ctypes.c_size_t)(
            quadratic)
    kinds = [ctypes.c_void_p if "*" in a else SCALARS[a.split()[0]] for a in arguments]
    return ctypes.CFUNCTYPE(SCALARS.get(result), *kinds)(lambda *_: 0)


def load():
    """The library that PLIMSOLL_LIB names, or the one of `make build`, with every function declared."""
    path = os.environ.get("PLIMSOLL_LIB") or os.path.join(ROOT, "target", "release", "libplimsoll.so")
    if not os.path.exists(path):
        sys.exit(f"{path} does not exist; PLIMSOLL_LIB may name another library")
    library = ctypes.CDLL(path)
    for function in World.header.functions:
        function.bind(library)
    return library
