//! Training.

use super::body::free;
use super::constant::{constant, constants};
use super::estimator::plim_estimator;
use super::graph::plim_graph;
use super::guard::{getter, guard};
use super::handle::Writing;
use super::log::{Logger, plim_log_fn, set_log};
use super::model::plim_model;
use super::optimizer::plim_optimizer;
use super::progress::{Callback, plim_progress, plim_progress_fn};
use super::ptr::{self, Opaque, handles};
use super::status::plim_status;
use crate::error::{Error, ForThe, Result, try_with_capacity};
use crate::estimator::{Evaluation, Problem};
use crate::log::Level;
use crate::model::Model;
use crate::optim::Interrupt;
use crate::train::{Adaptive, Column, History, Monitor, Observer, Options, Progress, train};
use std::ffi::{c_char, c_void};

/// Options of plim_train() and plim_rank_train(). Free them with plim_train_options_free().
pub struct plim_train_options {
    _opaque: [u8; 0],
}

/// What training recorded, epoch by epoch. Free it with plim_history_free().
pub struct plim_history {
    _opaque: [u8; 0],
}

/// Loss over all training nodes after the epoch, exact and without the penalty of λ.
pub const PLIM_HISTORY_TRAIN_LOSS: i32 = 0;
/// Loss over the validation nodes after the epoch, exact and without the penalty of λ.
pub const PLIM_HISTORY_VAL_LOSS: i32 = 1;
/// Accuracy over the validation nodes after the epoch.
pub const PLIM_HISTORY_VAL_ACCURACY: i32 = 2;
/// Seconds of the epoch's training steps, without evaluation and callbacks.
pub const PLIM_HISTORY_SECONDS: i32 = 3;
/// Mean over the epoch's batches of their estimated objective, with the penalty of λ.
pub const PLIM_HISTORY_BATCH_LOSS: i32 = 4;
/// Mean over the epoch's steps of the sample size, if sampling is adaptive.
pub const PLIM_HISTORY_SAMPLE_SIZE: i32 = 5;
/// Last estimate of the gradient's relative error at the end of the epoch, if sampling is adaptive.
pub const PLIM_HISTORY_ERROR: i32 = 6;
/// Mean NDCG over the validation queries after the epoch, in plim_rank_train().
pub const PLIM_HISTORY_VAL_NDCG: i32 = 7;

constants!(
    Column,
    "column",
    "PLIM_HISTORY_",
    [
        (PLIM_HISTORY_TRAIN_LOSS, TrainLoss),
        (PLIM_HISTORY_VAL_LOSS, ValLoss),
        (PLIM_HISTORY_VAL_ACCURACY, ValAccuracy),
        (PLIM_HISTORY_SECONDS, Seconds),
        (PLIM_HISTORY_BATCH_LOSS, BatchLoss),
        (PLIM_HISTORY_SAMPLE_SIZE, SampleSize),
        (PLIM_HISTORY_ERROR, Error),
        (PLIM_HISTORY_VAL_NDCG, ValNdcg)
    ]
);

/// The best epoch has the highest accuracy over the validation nodes. The default.
pub const PLIM_MONITOR_VAL_ACCURACY: i32 = 0;
/// The best epoch has the lowest loss over the validation nodes, without the penalty of λ.
pub const PLIM_MONITOR_VAL_LOSS: i32 = 1;
/// The best epoch has the lowest loss over all training nodes, without the penalty of λ. No
/// validation split is required.
pub const PLIM_MONITOR_TRAIN_LOSS: i32 = 2;
/// The best epoch has the highest mean NDCG over the validation queries. Only for plim_rank_train().
pub const PLIM_MONITOR_VAL_NDCG: i32 = 3;

constants!(
    Monitor,
    "monitor",
    "PLIM_MONITOR_",
    [
        (PLIM_MONITOR_VAL_ACCURACY, ValAccuracy),
        (PLIM_MONITOR_VAL_LOSS, ValLoss),
        (PLIM_MONITOR_TRAIN_LOSS, TrainLoss),
        (PLIM_MONITOR_VAL_NDCG, ValNdcg)
    ]
);

/// Options and their callbacks.
#[derive(Clone)]
pub struct TrainOptions {
    options: Options,
    callback: Callback,
    logger: Logger,
}

impl Default for TrainOptions {
    fn default() -> Self {
        TrainOptions { options: Options::default(), callback: Callback::NONE, logger: Logger::NONE }
    }
}

handles!(plim_train_options, TrainOptions);

/// What the getters of a history return.
#[derive(Clone, Copy, Default)]
pub struct HistoryFacts {
    num_epochs: usize,
    best_epoch: usize,
}

handles!(plim_history, History, HistoryFacts, |history| HistoryFacts {
    num_epochs: history.len(),
    best_epoch: history.best_epoch()
});

/// Creates training options with their default values.
///
/// @param out  receives the options; free them with plim_train_options_free().
///
/// @return PLIM_OK or a common error.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn plim_train_options_new(out: *mut *mut plim_train_options) -> plim_status {
    // SAFETY: the caller promises `out` is NULL or valid for one write.
    guard(|| unsafe { ptr::out("out", out) }?.give(TrainOptions::default()))
}

/// Frees training options.
///
/// @param options  the options; NULL and handles that are not live are ignored.
#[unsafe(no_mangle)]
pub extern "C" fn plim_train_options_free(options: *mut plim_train_options) {
    free(options);
}

/// Changes the options of a handle.
fn set(options: *mut plim_train_options, change: impl FnOnce(&mut Options) -> Result<()>) -> plim_status {
    guard(|| change(&mut ptr::handle("options", options)?.write()?.options))
}

fn at_least_one(name: &str, value: usize) -> Result<usize> {
    match value {
        0 => Err(Error::InvalidArgument(format!("{name} = 0 is not at least 1"))),
        _ => Ok(value),
    }
}

/// Sets the number of epochs: passes over the training nodes, including those before a resumed
/// checkpoint.
///
/// With the full estimator an epoch is one step.
///
/// @param options  the options.
/// @param epochs   at least 1. Default: 100.
///
/// @return PLIM_OK or a common error.
#[unsafe(no_mangle)]
#[must_use]
pub extern "C" fn plim_train_options_set_epochs(options: *mut plim_train_options, epochs: usize) -> plim_status {
    set(options, |options| {
        options.epochs = at_least_one("epochs", epochs)?;
        Ok(())
    })
}

/// Sets the number of nodes per batch. The last batch of an epoch may be smaller.
///
/// @param options     the options.
/// @param batch_size  at least 1. Default: 256. The full estimator ignores it.
///
/// @return PLIM_OK or a common error.
#[unsafe(no_mangle)]
#[must_use]
pub extern "C" fn plim_train_options_set_batch_size(
    options: *mut plim_train_options,
    batch_size: usize,
) -> plim_status {
    set(options, |options| {
        options.batch_size = at_least_one("batch_size", batch_size)?;
        Ok(())
    })
}

/// Sets the seed of the order in which nodes are shuffled into batches.
///
/// @param options  the options.
/// @param seed     any value. Default: 0.
///
/// @return PLIM_OK or a common error.
#[unsafe(no_mangle)]
#[must_use]
pub extern "C" fn plim_train_options_set_seed(options: *mut plim_train_options, seed: u64) -> plim_status {
    set(options, |options| {
        options.seed = seed;
        Ok(())
    })
}

/// Selects whether training ends with the parameters of the best epoch or with the last ones.
///
/// plim_train_options_set_monitor() defines the best epoch. If no epoch was evaluated on what it
/// requires, training ends with the last parameters.
///
/// @param options  the options.
/// @param on       0 for the last parameters, any other value for the best (default).
///
/// @return PLIM_OK or a common error.
#[unsafe(no_mangle)]
#[must_use]
pub extern "C" fn plim_train_options_set_restore_best(options: *mut plim_train_options, on: i32) -> plim_status {
    set(options, |options| {
        options.restore_best = on != 0;
        Ok(())
    })
}

/// Stops training after this many epochs without improvement of the monitor.
///
/// Only evaluated epochs count: training stops at the first evaluation that is at least `epochs`
/// epochs after the best one. plim_train() then requires evaluation and, unless the monitor is
/// PLIM_MONITOR_TRAIN_LOSS, a validation split. So it does with plim_optimizer_set_plateau().
///
/// @param options  the options.
/// @param epochs   number of epochs. Default: 0, which never stops early.
///
/// @return PLIM_OK or a common error.
#[unsafe(no_mangle)]
#[must_use]
pub extern "C" fn plim_train_options_set_patience(options: *mut plim_train_options, epochs: usize) -> plim_status {
    set(options, |options| {
        options.patience = epochs;
        Ok(())
    })
}

/// Selects how the best epoch is determined, for restoring, for patience and for
/// plim_history_best_epoch().
///
/// The first of equal epochs is the best. Epochs without evaluation are ignored. A run can only
/// resume from a checkpoint with the same monitor.
///
/// @param options  the options.
/// @param monitor  PLIM_MONITOR_VAL_ACCURACY (default), PLIM_MONITOR_VAL_LOSS,
///                 PLIM_MONITOR_TRAIN_LOSS or PLIM_MONITOR_VAL_NDCG.
///
/// @return PLIM_OK or a common error.
#[unsafe(no_mangle)]
#[must_use]
pub extern "C" fn plim_train_options_set_monitor(options: *mut plim_train_options, monitor: i32) -> plim_status {
    set(options, |options| {
        options.monitor = constant(monitor)?;
        Ok(())
    })
}

/// Sets after how many epochs the model is evaluated. The last epoch is evaluated as well.
///
/// @param options  the options.
/// @param epochs   number of epochs, or 0 for no evaluation at all. Default: 1.
///
/// @return PLIM_OK or a common error.
#[unsafe(no_mangle)]
#[must_use]
pub extern "C" fn plim_train_options_set_evaluate_every(
    options: *mut plim_train_options,
    epochs: usize,
) -> plim_status {
    set(options, |options| {
        options.evaluate_every = epochs;
        Ok(())
    })
}

/// Writes a checkpoint after every `every` epochs and after the last one.
///
/// A checkpoint holds everything that a run needs to continue: parameters, the optimizer's state with
/// its averages and reports, counters, best parameters and history. The previous file is replaced only when the new one is
/// complete.
///
/// @param options  the options.
/// @param path     a file name, in a directory that exists. Default: NULL, with `every` 0, for no
///                 checkpoints.
/// @param every    number of epochs, at least 1 with a path.
///
/// @return PLIM_OK or a common error.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn plim_train_options_set_checkpoint(
    options: *mut plim_train_options,
    path: *const c_char,
    every: usize,
) -> plim_status {
    set(options, |options| {
        options.checkpoint = match (path.is_null(), every) {
            (true, 0) => None,
            // SAFETY: the caller promises `path` is NULL or a string.
            _ => Some((unsafe { ptr::path("path", path) }?.to_path_buf(), at_least_one("every", every)?)),
        };
        Ok(())
    })
}

/// Continues from a checkpoint if the file exists, and starts from the beginning if it does not.
///
/// The resumed run ends with the same bits as a run without interruption. It must have the same
/// sizes of graph and splits, widths, estimator with its seed, batch size, shuffling seed, monitor,
/// adaptive sampling and use of the moving average, and the same kind of optimizer. If not,
/// plim_train() fails with PLIM_ERROR_SHAPE_MISMATCH. The optimizer's settings are not in the file; set
/// them as before.
///
/// @param options  the options.
/// @param path     a file name. Default: NULL, to start from the beginning.
///
/// @return PLIM_OK or a common error.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn plim_train_options_set_resume(
    options: *mut plim_train_options,
    path: *const c_char,
) -> plim_status {
    set(options, |options| {
        // SAFETY: the caller promises `path` is NULL or a string.
        let path = (!path.is_null()).then(|| unsafe { ptr::path("path", path) }).transpose()?;
        options.resume = path.map(|path| path.to_path_buf());
        Ok(())
    })
}

/// Adapts the sample size during training, so that the relative error of the gradient stays below δ.
///
/// As the gradient shrinks, a fixed sample size gives a larger relative error. Every `every`
/// updates, a test estimates the error from 4 more gradients of the batch at the current size N and
/// 4 at 2N: their spread gives the deviation, the difference of their means the bias. If the error
/// is above δ, the size grows and the test repeats, at most 8 times. If it is below 0.7·δ, the size
/// shrinks. One round costs about as much as 12 steps.
///
/// The error is relative to the exact gradient of the same batch. All sample sizes that are not 0
/// become equal, and the estimator keeps the last one. PLIM_HISTORY_SAMPLE_SIZE and
/// PLIM_HISTORY_ERROR record both.
///
/// @param options   the options.
/// @param delta     δ, finite and > 0. Default: 0, which leaves sizes alone and ignores the other
///                  arguments.
/// @param every     number of updates between tests, at least 1. The first test is before the first
///                  update.
/// @param smallest  the smallest sample size, 1 .. INT32_MAX.
/// @param largest   the largest sample size, `smallest` .. INT32_MAX. If its error exceeds δ,
///                  training continues with it.
///
/// @return PLIM_OK or a common error.
#[unsafe(no_mangle)]
#[must_use]
pub extern "C" fn plim_train_options_set_adaptive(
    options: *mut plim_train_options,
    delta: f64,
    every: usize,
    smallest: usize,
    largest: usize,
) -> plim_status {
    set(options, |options| {
        options.adaptive = match delta == 0.0 {
            true => None,
            false => Some(Adaptive::new(delta, every, smallest, largest)?),
        };
        Ok(())
    })
}

/// Evaluates with the exponential moving average of the parameters instead of the last ones.
///
/// The average is that of plim_optimizer_set_ema(), without which plim_train() fails with
/// PLIM_ERROR_INVALID_ARGUMENT. Evaluation, monitor, patience and plateau then see the average. A
/// training that ends with PLIM_OK leaves the average of the best epoch in the model, or the last one
/// without plim_train_options_set_restore_best(). Progress callbacks and other outcomes have the
/// parameters after the last step. A run can only resume from a checkpoint with the same setting.
///
/// @param options  the options.
/// @param on       0 for the last parameters (default), any other value for their average.
///
/// @return PLIM_OK or a common error.
#[unsafe(no_mangle)]
#[must_use]
pub extern "C" fn plim_train_options_set_ema(options: *mut plim_train_options, on: i32) -> plim_status {
    set(options, |options| {
        options.ema = on != 0;
        Ok(())
    })
}

/// Sets a callback that receives progress and can cancel.
///
/// @param options    the options.
/// @param fn         the callback; see plim_progress_fn. Default: NULL for none.
/// @param user_data  passed to the callback.
///
/// @return PLIM_OK or a common error.
#[unsafe(no_mangle)]
#[must_use]
pub extern "C" fn plim_train_options_set_progress(
    options: *mut plim_train_options,
    r#fn: plim_progress_fn,
    user_data: *mut c_void,
) -> plim_status {
    guard(|| {
        ptr::handle("options", options)?.write()?.callback = Callback::new(r#fn, user_data);
        Ok(())
    })
}

/// Sets a callback that receives log messages: the run's settings, checkpoints, changes of the
/// sample size, why training stopped, and which epoch was restored.
///
/// @param options    the options.
/// @param level      PLIM_LOG_ERROR, PLIM_LOG_WARNING, PLIM_LOG_INFO or PLIM_LOG_DEBUG: messages of
///                   this level and of those before it are sent. Others are not even formatted.
/// @param fn         the callback; see plim_log_fn. Default: NULL for none.
/// @param user_data  passed to the callback.
///
/// @return PLIM_OK or a common error.
#[unsafe(no_mangle)]
#[must_use]
pub extern "C" fn plim_train_options_set_log(
    options: *mut plim_train_options,
    level: i32,
    r#fn: plim_log_fn,
    user_data: *mut c_void,
) -> plim_status {
    set_log(options, (level, r#fn, user_data), |options| &mut options.logger)
}

/// Trains a model: in each epoch, one gradient and one update for each batch of the shuffled
/// training nodes.
///
/// Estimator and optimizer keep their counters, so a second call continues their sequences.
/// Arguments are checked before anything changes. The outcome decides what the model holds:
/// - PLIM_OK: the parameters of the best epoch, or the last ones; see
///   plim_train_options_set_restore_best() and plim_train_options_set_ema().
/// - PLIM_ERROR_CANCELLED or PLIM_ERROR_DIVERGED: the parameters after the last completed step,
///   which are finite. `out` receives the history of the completed epochs.
/// - any other error: the parameters after the last completed step.
///
/// @param model      the model. Other calls can read it while a callback runs; otherwise it is busy
///                   until the call returns.
/// @param graph      a graph with labels and training nodes, and with features that fit the model.
/// @param estimator  estimates the gradients.
/// @param optimizer  updates the parameters.
/// @param options    the options, or NULL for the defaults.
/// @param out        receives the history, to be freed with plim_history_free(); may be NULL.
///
/// @return PLIM_OK or a common error.
///         PLIM_ERROR_INVALID_ARGUMENT: options contradict each other, for example patience without
///           evaluation.
///         PLIM_ERROR_SHAPE_MISMATCH: model, graph, estimator or optimizer do not fit each other, or
///           the checkpoint is from a different run.
///         PLIM_ERROR_MISSING_DATA: there are no features, labels or training nodes, a node of a
///           split has no label, or patience or the plateau has no validation split.
///         PLIM_ERROR_IO: a checkpoint cannot be read or written.
///         PLIM_ERROR_BAD_FORMAT: the file to resume from is not a checkpoint, or is damaged.
///         PLIM_ERROR_UNSUPPORTED: the estimator or the monitor is for rankings, or sampling is
///           adaptive and the estimator draws nothing.
///         PLIM_ERROR_DIVERGED: a loss, a gradient or a parameter is not finite.
///         PLIM_ERROR_CANCELLED: the progress callback returned a non-zero value.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn plim_train(
    model: *mut plim_model,
    graph: *const plim_graph,
    estimator: *mut plim_estimator,
    optimizer: *mut plim_optimizer,
    options: *const plim_train_options,
    out: *mut *mut plim_history,
) -> plim_status {
    // SAFETY: the caller promises `out` is NULL or valid for one write.
    guard(|| unsafe { train_on(model, ("graph", graph), estimator, optimizer, options, out) })
}

/// Trains on the problem of a handle. Errors name the handle.
///
/// # Safety
/// `out` must be NULL or valid for one write.
pub(super) unsafe fn train_on<C: Opaque<Object: Problem>>(
    model: *mut plim_model,
    (name, problem): (&str, *const C),
    estimator: *mut plim_estimator,
    optimizer: *mut plim_optimizer,
    options: *const plim_train_options,
    out: *mut *mut plim_history,
) -> Result<()> {
    let (model, problem) = (ptr::handle("model", model)?, ptr::handle(name, problem)?);
    let (estimator, optimizer) = (ptr::handle("estimator", estimator)?, ptr::handle("optimizer", optimizer)?);
    let options = match options.is_null() {
        true => TrainOptions::default(),
        false => ptr::handle("options", options)?.read()?.clone(),
    };
    // SAFETY: the caller's promise is passed on.
    let out = unsafe { ptr::optional_out("out", out) }?;
    let (mut model, problem) = (model.write()?, problem.read()?);
    let (mut estimator, mut optimizer) = (estimator.write()?, optimizer.write()?);
    let mut working = model.working_copy().for_the("parameters")?;
    let TrainOptions { options, callback, logger } = options;
    let mut watcher = Watcher { model: &mut model, callback, logger };
    let (history, outcome) = train(&mut working, &*problem, &mut estimator, &mut optimizer, &options, &mut watcher);
    model.take_over(&working)?;
    if let (Some(out), Ok(()) | Err(Error::Diverged(_) | Error::Cancelled(_))) = (out, &outcome) {
        out.give(history)?;
    }
    outcome
}

/// Calls the caller's functions. Meanwhile the model has its current parameters and can be read.
struct Watcher<'a, 'm> {
    model: &'a mut Writing<'m, Model>,
    callback: Callback,
    logger: Logger,
}

impl Observer for Watcher<'_, '_> {
    fn progress(&mut self, working: &Model, progress: &Progress) -> std::result::Result<(), Interrupt> {
        if self.callback.is_none() {
            return Ok(());
        }
        self.model.take_over(working).map_err(|_| Interrupt)?;
        let &Progress { epoch, num_epochs, step, num_steps, evaluation, seconds } = progress;
        let Evaluation { train_loss, val_loss, val_accuracy, val_ndcg } = evaluation;
        let progress = plim_progress {
            struct_size: size_of::<plim_progress>(),
            epoch,
            num_epochs,
            step,
            num_steps,
            train_loss,
            val_loss,
            val_accuracy,
            seconds,
            val_ndcg,
        };
        self.model.released(|| self.callback.call(&progress))
    }

    fn wants(&self, level: Level) -> bool {
        self.logger.wants(level)
    }

    fn log(&mut self, working: &Model, level: Level, message: &str) {
        // Cannot fail, since these parameters are finite and have the right length. Otherwise readers would see older ones.
        let _ = self.model.take_over(working);
        self.model.released(|| self.logger.write(level, message));
    }
}

/// Returns the number of completed epochs.
///
/// @param history  the history.
///
/// @return the number of epochs.
#[unsafe(no_mangle)]
pub extern "C" fn plim_history_num_epochs(history: *const plim_history) -> usize {
    getter(|| Some(ptr::facts(history)?.num_epochs))
}

/// Returns the best epoch, from 1, as plim_train_options_set_monitor() defines it.
///
/// @param history  the history.
///
/// @return the epoch; 0 if none was evaluated.
#[unsafe(no_mangle)]
pub extern "C" fn plim_history_best_epoch(history: *const plim_history) -> usize {
    getter(|| Some(ptr::facts(history)?.best_epoch))
}

/// Copies a column of the history, one number per epoch.
///
/// A number is NaN if the epoch was not evaluated, if there is no validation split, or if sampling
/// is not adaptive, where the column depends on it. In plim_rank_train() the columns are about
/// queries, and accuracy is that of pairs.
///
/// @param history   the history.
/// @param column    PLIM_HISTORY_TRAIN_LOSS, PLIM_HISTORY_VAL_LOSS, PLIM_HISTORY_VAL_ACCURACY,
///                  PLIM_HISTORY_SECONDS, PLIM_HISTORY_BATCH_LOSS, PLIM_HISTORY_SAMPLE_SIZE,
///                  PLIM_HISTORY_ERROR or PLIM_HISTORY_VAL_NDCG.
/// @param dst       receives plim_history_num_epochs() numbers.
/// @param capacity  number of values that fit in `dst`.
///
/// @return PLIM_OK or a common error.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn plim_history_copy(
    history: *const plim_history,
    column: i32,
    dst: *mut f64,
    capacity: usize,
) -> plim_status {
    guard(|| {
        let history = ptr::handle("history", history)?;
        let history = history.read()?;
        let column = constant::<Column>(column)?;
        // SAFETY: the caller promises `dst` is NULL or valid for `capacity` writes.
        let buffer = unsafe { ptr::buffer("dst", dst, capacity, history.len()) }?;
        let mut numbers = try_with_capacity(history.len()).for_the("copy of a column")?;
        numbers.extend(history.column(column));
        buffer.put(&numbers);
        Ok(())
    })
}

/// Frees a history.
///
/// @param history  the history; NULL and handles that are not live are ignored.
#[unsafe(no_mangle)]
pub extern "C" fn plim_history_free(history: *mut plim_history) {
    free(history);
}
