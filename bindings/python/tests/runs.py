"""Training and measurements: options, history, callbacks, interrupts, theory."""
import math
import os
import pickle
import signal
import sys
import threading
import time

import numpy as np

import plimsoll as pl
from support import check, raises, small

GRAPH = pl.Graph.from_mixture(400, 1)


def parts(seed=1):
    return (pl.Model.gcn([2, 16, 3], seed=seed), GRAPH, pl.Estimator.consistent([0, 100], seed=seed),
            pl.Optimizer.sgd(1.0, schedule="inverse_sqrt"))


def test_training_records_a_history_and_repeats_itself():
    first, second = parts(), parts()
    history = pl.train(*first, epochs=12, batch_size=64, seed=2)
    assert history.num_epochs == 12 and 1 <= history.best_epoch <= 12 and not history.cancelled
    again = pl.train(*second, epochs=12, batch_size=64, seed=2)
    for name in ("train_loss", "val_loss", "val_accuracy", "batch_loss"):
        check.same(getattr(history, name), getattr(again, name), name)
        assert getattr(history, name).shape == (12,) and np.all(np.isfinite(getattr(history, name)))
    assert np.all(history.seconds > 0) and np.all(np.isnan(history.error))
    best = history.val_accuracy[history.best_epoch - 1]
    assert first[0].evaluate(GRAPH, "val").accuracy == best == history.val_accuracy.max()
    assert pickle.loads(pickle.dumps(history)).best_epoch == history.best_epoch


def test_options_reach_c():
    history = pl.train(*parts(), epochs=6, evaluate_every=3, restore_best=False)
    assert list(np.isnan(history.train_loss)) == [True, True, False] * 2
    assert pl.train(*parts(), epochs=500, patience=3).num_epochs < 500
    raises(pl.InvalidArgumentError, pl.train, *parts(), epochs=0, text="epochs")
    raises(ValueError, pl.train, *parts(), epochs=-1, text="epochs = -1")
    adaptive = pl.train(*parts(), epochs=3, adaptive=pl.Adaptive(delta=0.5, every=2, smallest=16, largest=512))
    assert np.all((adaptive.sample_size >= 16) & (adaptive.sample_size <= 512)) and np.all(np.isfinite(adaptive.error))
    raises(TypeError, pl.train, *parts(), progress=3)


def test_a_resumed_run_ends_in_the_same_bits():
    whole, halves = parts(), parts()
    pl.train(*whole, epochs=10, restore_best=False)
    with check.folder() as folder:
        path = os.path.join(folder, "run.checkpoint")
        pl.train(*halves, epochs=4, restore_best=False, checkpoint=path, checkpoint_every=2)
        fresh = parts()
        pl.train(*fresh, epochs=10, restore_best=False, resume=path)
    check.same(fresh[0].parameters, whole[0].parameters, "parameters")


def test_a_run_can_evaluate_and_end_with_the_moving_average():
    model, graph, estimator, optimizer = parts()
    raises(pl.InvalidArgumentError, pl.train, model, graph, estimator, optimizer, ema=True, text="moving average")
    optimizer.set_ema(0.9)
    history = pl.train(model, graph, estimator, optimizer, epochs=5, restore_best=False, ema=True)
    check.same(model.parameters, optimizer.ema(model), "parameters")
    assert model.evaluate(graph, "val").accuracy == history.val_accuracy[-1]


def test_a_callback_is_told_and_may_stop():
    told, run = [], parts()

    def tell(progress):
        told.append(progress)
        assert run[0].predict(GRAPH, [0]).shape == (1, 3)
        raises(pl.BusyError, run[0].set_regularization, 1.0)
        return progress.epoch == 4

    history = pl.train(*run, epochs=9, progress=tell)
    assert history.cancelled and history.num_epochs == 4 and told[-1].num_epochs == 9
    assert told[0].train_loss == history.train_loss[0]


def test_what_a_callback_raises_comes_out_as_it_is():
    class Mine(Exception):
        pass

    cause = KeyError("why")

    def tell(progress):
        if progress.epoch == 2:
            raise Mine("stop") from cause

    for call in (lambda: pl.train(*parts(), progress=tell),
                 lambda: pl.tail_probability(parts()[2], parts()[0], GRAPH, [8, 16, 32], [0.5], draws=3000,
                                             progress=tell)):
        error = raises(Mine, call)
        assert error.__cause__ is cause
    raises(SystemExit, pl.train, *parts(), progress=lambda _: sys.exit(3))
    assert pl.train(*parts(), epochs=2).num_epochs == 2, "and nothing is left behind"


# A job in a shell's background begins with SIGINT ignored, and Python then leaves it so.
signal.signal(signal.SIGINT, signal.default_int_handler)


def interrupt_after(seconds):
    threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGINT)).start()


def test_ctrl_c_ends_training_soon_with_and_without_a_callback():
    for progress in (None, lambda _: None, True):
        handler = signal.getsignal(signal.SIGINT)
        interrupt_after(0.3)
        start = time.monotonic()
        raises(KeyboardInterrupt, pl.train, *parts(), epochs=10_000_000, evaluate_every=0, progress=progress)
        assert time.monotonic() - start < 5
        assert signal.getsignal(signal.SIGINT) is handler, "the handler is back"


def test_ctrl_c_ends_measurements_and_minimisation():
    model, graph, estimator, sgd = parts()
    for call in (lambda: pl.tail_probability(estimator, model, graph, [64], [0.5], draws=10 ** 9),
                 lambda: sgd.minimize(lambda step, w: w, np.ones(2), 10 ** 9)):
        interrupt_after(0.3)
        start = time.monotonic()
        raises(KeyboardInterrupt, call)
        assert time.monotonic() - start < 5


def test_ctrl_c_reaches_a_callback_that_sleeps():
    interrupt_after(0.3)
    start = time.monotonic()
    raises(KeyboardInterrupt, pl.train, *parts(), epochs=1, progress=lambda _: time.sleep(30))
    assert time.monotonic() - start < 5


def test_a_handler_that_does_not_raise_lets_training_go_on():
    seen = []
    previous = signal.signal(signal.SIGINT, lambda *_: seen.append(1))
    try:
        interrupt_after(0.1)
        end = time.monotonic() + 0.6
        history = pl.train(*parts(), epochs=10_000_000, evaluate_every=0, progress=lambda _: time.monotonic() > end)
        assert seen == [1] and history.cancelled
    finally:
        signal.signal(signal.SIGINT, previous)


def test_training_on_another_thread_leaves_signals_alone():
    found, handler = [], signal.getsignal(signal.SIGINT)
    thread = threading.Thread(target=lambda: found.append(pl.train(*parts(), epochs=3).num_epochs))
    thread.start()
    thread.join()
    assert found == [3] and signal.getsignal(signal.SIGINT) is handler


def test_divergence_gives_the_history():
    graph = small()
    model = pl.Model.gcn([2, 4, 2])
    error = raises(pl.DivergedError, pl.train, model, graph, pl.Estimator.full(), pl.Optimizer.adam(1e38), epochs=50)
    assert error.history is not None and error.history.num_epochs < 50 and np.all(np.isfinite(model.parameters))


def test_a_monitor_chooses_the_best_epoch():
    for monitor, best in (("val_accuracy", np.argmax), ("val_loss", np.argmin), ("train_loss", np.argmin)):
        run = parts()
        history = pl.train(*run, epochs=15, monitor=monitor)
        assert history.best_epoch == best(getattr(history, monitor)) + 1, monitor
        last = parts()
        pl.train(*last, epochs=history.best_epoch, restore_best=False)
        check.same(run[0].parameters, last[0].parameters, monitor)
    assert pl.train(*parts(), epochs=500, patience=3, monitor="val_loss").num_epochs < 500
    raises(ValueError, pl.train, *parts(), monitor="accuracy", text="monitor = 'accuracy' is not one of")


def test_a_log_is_a_function_of_level_and_message():
    lines, silent, run = [], parts(), parts()
    pl.train(*silent, epochs=4)
    pl.train(*run, epochs=4, log=lambda *line: lines.append(line), log_level="debug")
    check.same(run[0].parameters, silent[0].parameters, "the bits do not depend on it")
    assert ("info", "ÂX is kept: 1200 x 2, dense, 9600 bytes") in lines
    assert [level for level, text in lines if text.startswith("epoch ")] == ["debug"] * 4
    levels = {level for level, _ in lines}
    assert levels == {"info", "debug"} and all("\n" not in text for _, text in lines)
    lines.clear()
    pl.train(*parts(), epochs=4, log=lambda *line: lines.append(line))
    assert {level for level, _ in lines} == {"info"}, "info is the default"
    raises(TypeError, pl.train, *parts(), log="stderr")
    raises(ValueError, pl.train, *parts(), log=print, log_level="loud", text="log_level")


def test_a_log_is_a_logger_of_pythons():
    import logging

    records = []

    class Keep(logging.Handler):
        def emit(self, record):
            records.append(record)

    logger = logging.getLogger("plimsoll")
    logger.addHandler(Keep())
    logger.propagate = False
    try:
        for level, found in ((logging.DEBUG, {"DEBUG", "INFO"}), (logging.INFO, {"INFO"}), (logging.ERROR, set()),
                             (logging.CRITICAL, set())):
            logger.setLevel(level)
            for log in (True, logger):
                records.clear()
                pl.train(*parts(), epochs=3, log=log)
                assert {record.levelname for record in records} == found, level
        logger.setLevel(logging.INFO)
        raises(pl.DivergedError, pl.train, pl.Model.gcn([2, 4, 3]), GRAPH, pl.Estimator.full(), pl.Optimizer.adam(1e38),
               log=True)
        assert records[-1].levelname == "ERROR" and "epoch" in records[-1].getMessage()
    finally:
        logger.setLevel(logging.NOTSET)
        logger.handlers.clear()
        logger.propagate = True


def test_what_a_log_raises_ends_training_and_comes_out():
    class Mine(Exception):
        pass

    for beginning in ("training on", "epoch 3 of", "trained for"):
        lines = []

        def log(level, message):
            lines.append(message)
            if message.startswith(beginning):
                raise Mine(message)

        start = time.monotonic()
        epochs = 5 if beginning == "trained for" else 10_000_000
        raises(Mine, pl.train, *parts(), epochs=epochs, log=log, log_level="debug", text=beginning)
        assert lines[-1].startswith(beginning), "and no line follows"
        assert time.monotonic() - start < 5
    raises(Mine, pl.tail_probability, parts()[2], parts()[0], GRAPH, [8, 16], [0.5], draws=10 ** 9,
           log=lambda *_: (_ for _ in ()).throw(Mine()))


def test_ctrl_c_reaches_a_log_that_sleeps():
    interrupt_after(0.3)
    start = time.monotonic()
    raises(KeyboardInterrupt, pl.train, *parts(), epochs=1, log=lambda *_: time.sleep(30))
    assert time.monotonic() - start < 5


def test_measurements_have_logs():
    model, graph, estimator, _ = parts()
    for measure in (lambda **k: pl.tail_probability(estimator, model, graph, [8, 16], [0.5], draws=50, **k),
                    lambda **k: pl.Tail(estimator, model, graph, [8, 16], draws=50, **k)):
        lines = []
        measure(log=lambda *line: lines.append(line))
        assert sum(text.startswith("sample size ") for _, text in lines) == 2, lines
    lines = []
    plan = pl.Plan(estimator, model, graph, 0.8, 0.5, 5, draws=400, log=lambda *line: lines.append(line), log_level="debug")
    assert ("info", str(plan)) in lines and any("draws missed" in text for _, text in lines)


def test_progress_true_is_a_bar():
    import contextlib
    import io
    text = io.StringIO()
    with contextlib.redirect_stderr(text):
        pl.train(*parts(), epochs=3, progress=True)
        pl.train(*parts(), epochs=2000, evaluate_every=0, progress=True)
    assert "training" in text.getvalue() and "loss=" in text.getvalue(), text.getvalue()
    assert text.getvalue().count("\r") < 100, "it is drawn a few times a second"


def test_tails_are_measured_fitted_and_followed():
    model, graph, estimator, _ = parts()
    sizes, deltas = [50, 100, 200, 400], [0.5, 0.8]
    shares = pl.tail_probability(estimator, model, graph, sizes, deltas, draws=2000, seed=3)
    tail = pl.Tail(estimator, model, graph, sizes, deltas, draws=2000, seed=3)
    check.same(tail.probability, shares, "both ways")
    assert shares.shape == (4, 2) and np.all(np.diff(shares, axis=0) <= 0)
    assert np.all((tail.lower <= shares) & (shares <= tail.upper)) and tail.norm > 0
    check.close(tail.error ** 2, tail.bias ** 2 + tail.deviation ** 2, "error² = bias² + deviation²")
    fit = pl.tail_fit(sizes, shares[:, 0], tail.draws)
    n = pl.sample_size(fit.tau, fit.c, 100, 0.05)
    assert pl.sample_epsilon(fit.tau, fit.c, 100, n) <= 0.05 < pl.sample_epsilon(fit.tau, fit.c, 100, n - 1)
    assert abs(pl.sample_delta([0.5], [fit.c], [fit.tau], 100, 0.05, n) - 0.5) < 1e-12
    raises(pl.CancelledError, pl.tail_probability, estimator, model, graph, sizes, deltas, draws=10 ** 6,
           progress=lambda _: True)
    raises(pl.MissingDataError, pl.tail_fit, [1, 2, 3], [0, 0, 0], 100)
    batch = pl.Tail(estimator, model, graph, [100], batch=graph.train[:40], draws=50)
    assert batch.probability.shape == (1, 0) and batch.error.shape == (1,)


def test_plans_have_sizes_and_words():
    model, graph, estimator, _ = parts()
    plan = pl.Plan(estimator, model, graph, 0.8, 0.5, 5, draws=400)
    assert plan.sizes == (0, plan.sample_size) and plan.sample_size > 0 and isinstance(plan.pays, bool)
    assert "sample" in str(plan) and plan.seconds > 0 and plan.exact_seconds > 0
    assert plan.misses <= plan.upper
    pl.Estimator.consistent(plan.sizes)
    raises(pl.UnsupportedError, pl.Plan, pl.Estimator.full(), model, graph, 0.5, 0.5, 5)


def test_bounds_are_their_formulas():
    b = pl.bounds
    l, g, d, t = 1.0, 2.0, 0.25, 9
    iterate = g ** 2 * ((1 + d) ** 2 / ((l - d) ** 2 * t) + d / (l - d))
    check.close(b.strongly_convex_iterate(l, g, d, t), iterate, "bounds", 1e-12)
    check.close(b.strongly_convex_average(l, g, d, t),
                g ** 2 / (2 * t) * (d * t + (1 + d) ** 2 / (l - d) * (1 + math.log(t))), "bounds", 1e-12)
    check.close(b.strongly_convex_value(l, 3, g, d, t), 1.5 * iterate, "bounds", 1e-12)
    check.close(b.constant_step(l, g, d, 0.25, t, 2.0),
                (1 - 0.5 * l + 0.25 * d) ** (t - 1) * 2 + (d + 0.25 * (1 + d) ** 2) / (2 * l - d) * g ** 2, "bounds", 1e-12)
    check.close(b.convex_average(g, 2, 0.5, 1, t),
                (1.5 * 4 + g ** 2 * (0.5 + 2 * (1 + 0.5 / 3) ** 2)) / 6, "bounds", 1e-12)
    check.close(b.nonconvex_gradient(3, g, 2, d, t), (1 + d) * 3 * g * 2 / ((1 - d) * 3), "bounds", 1e-12)
    check.close(b.linear(1, 2, [0.5, 0.25], 4), 0.25 * 4 + 0.25 * (0.5 * 0.25 + 0.0625), "bounds", 1e-12)
    check.close(b.linear(1, 2, [], 4), 4, "bounds", 1e-12)
    raises(ValueError, b.strongly_convex_iterate, 0.1, 1, 0.3, 5, text="delta < l")


if __name__ == "__main__":
    sys.exit(check.run(check.named(globals())))
