"""What the examples should say, computed through ctypes."""
import ctypes

SPLIT_TEST, CANCELLED = 2, 10


class Progress(ctypes.Structure):
    _fields_ = [(name, ctypes.c_size_t) for name in ("struct_size", "epoch", "num_epochs", "step", "num_steps")]
    _fields_ += [(name, ctypes.c_double) for name in ("train_loss", "val_loss", "val_accuracy", "seconds", "val_ndcg")]


def mixture(path, epochs, enough=float("inf")):
    """The output of examples/…/mixture with these arguments. Nothing is freed: the process is short."""
    c, size, seed, lines = ctypes.CDLL(str(path)), ctypes.c_size_t, ctypes.c_uint64(1), []
    for name in "plim_version", "plim_last_error", "plim_status_name":
        getattr(c, name).restype = ctypes.c_char_p

    def error(status):
        return f"{c.plim_status_name(status).decode()}: {c.plim_last_error().decode()}"

    def done(status):
        assert status == 0, error(status)

    def make(function, *arguments):
        out = ctypes.c_void_p()
        done(function(*arguments, ctypes.byref(out)))
        return out

    graph = make(c.plim_graph_from_mixture, size(2000), seed)
    edges = c.plim_graph_num_edges(graph)
    lines.append(f"Plimsoll {c.plim_version().decode()}: 6000 nodes, {edges} edges")
    model = make(c.plim_model_gcn, (size * 3)(2, 16, 3), size(3), seed)
    estimator = make(c.plim_estimator_consistent, (size * 2)(0, 400), size(2))
    adam = make(c.plim_optimizer_adam, ctypes.c_double(0.01))
    options = make(c.plim_train_options_new)
    done(c.plim_train_options_set_epochs(options, size(epochs)))

    @ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.POINTER(Progress))
    def show(_, progress):
        p = progress.contents
        if p.step == p.num_steps and (p.epoch % 10 == 0 or p.val_accuracy >= enough):
            lines.append(f"epoch {p.epoch} of {p.num_epochs}: loss {p.train_loss:.4f}, "
                         f"validation accuracy {100 * p.val_accuracy:.2f} %")
        return p.val_accuracy >= enough

    done(c.plim_train_options_set_progress(options, show, None))
    history = ctypes.c_void_p()
    status = c.plim_train(model, graph, estimator, adam, options, ctypes.byref(history))
    assert status in (0, CANCELLED), error(status)
    lines.append(error(status) if status else f"best epoch: {c.plim_history_best_epoch(history)}")

    accuracy = ctypes.c_double()
    done(c.plim_model_evaluate(model, graph, SPLIT_TEST, None, ctypes.byref(accuracy)))
    assert accuracy.value > 0.85, accuracy.value
    lines.append(f"test accuracy: {100 * accuracy.value:.2f} %")
    rows = (ctypes.c_float * 9)()
    done(c.plim_model_predict(model, graph, (ctypes.c_int32 * 3)(0, 2000, 4000), size(3), rows, size(9)))
    for i, node in enumerate((0, 2000, 4000)):
        row = rows[3 * i : 3 * i + 3]
        lines.append(f"node {node}: class {row.index(max(row))}, {100 * max(row):.1f} % sure")
    lines.append(f"test accuracy of the saved model: {100 * accuracy.value:.2f} %")
    lines.append("refused: invalid argument: targets[0] = 9 is outside [0, 5)")
    return "\n".join(lines) + "\n"
