"""The expected output of the examples, computed with the Python package."""
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bindings" / "python"))
import plimsoll as pl


def mixture(epochs, enough=float("inf")):
    """The output of examples/…/mixture with these arguments."""
    lines = []
    graph, model = pl.Graph.from_mixture(2000, 1), pl.Model.gcn([2, 16, 3], seed=1)
    lines.append(f"Plimsoll {pl.__version__}: {graph.num_nodes} nodes, {graph.num_edges} edges")

    def show(p):
        stop = p.val_accuracy >= enough
        if p.step == p.num_steps and (p.epoch % 10 == 0 or stop):
            lines.append(f"epoch {p.epoch} of {p.num_epochs}: loss {p.train_loss:.4f}, "
                         f"validation accuracy {100 * p.val_accuracy:.2f} %")
        return stop

    history = pl.train(model, graph, pl.Estimator.consistent([0, 400]), pl.Optimizer.adam(0.01), epochs=epochs, progress=show)
    lines.append(cancelled() if history.cancelled else f"best epoch: {history.best_epoch}")
    accuracy = model.evaluate(graph, "test").accuracy
    assert accuracy > 0.85, accuracy
    lines.append(f"test accuracy: {100 * accuracy:.2f} %")
    nodes = [0, 2000, 4000]
    for node, row in zip(nodes, model.predict(graph, nodes)):
        lines.append(f"node {node}: class {row.argmax()}, {100 * row.max():.1f} % sure")
    lines.append(f"test accuracy of the saved model: {100 * accuracy:.2f} %")
    lines.append("refused: invalid argument: targets[0] = 9 is outside [0, 5)")
    return "\n".join(lines) + "\n"


def cancelled():
    """What C says about a cancelled training; the package returns a history instead."""
    name, text = (pl._lib.ask(f"plim_{what}", *arguments).decode() for what, arguments in
                  (("status_name", (pl.errors.CancelledError.status,)), ("last_error", ())))
    return f"{name}: {text}"
