//! Training.

use super::constant::{Constant, constant};
use super::estimator::plim_estimator;
use super::graph::plim_graph;
use super::guard::{getter, guard};
use super::handle::{Object, Writing};
use super::log::{Logger, plim_log_fn};
use super::model::plim_model;
use super::optimizer::plim_optimizer;
use super::progress::{Callback, plim_progress, plim_progress_fn};
use super::ptr::{self, Opaque};
use super::status::plim_status;
use crate::error::{Error, ForThe, Result, try_with_capacity};
use crate::estimator::{Evaluation, Problem};
use crate::log::Level;
use crate::model::Model;
use crate::optim::Interrupt;
use crate::train::{Adaptive, Column, History, Monitor, Observer, Options, Progress, train};
use std::ffi::{c_char, c_void};

/// How to train. Release it with plim_train_options_free().
pub struct plim_train_options {
    _opaque: [u8; 0],
}

/// What training recorded, epoch by epoch. Release it with plim_history_free().
pub struct plim_history {
    _opaque: [u8; 0],
}

/// Column: loss over all training nodes, nothing sampled, without λ.
pub const PLIM_HISTORY_TRAIN_LOSS: i32 = 0;
/// Column: loss over the validation nodes, without λ.
pub const PLIM_HISTORY_VAL_LOSS: i32 = 1;
/// Column: accuracy over the validation nodes.
pub const PLIM_HISTORY_VAL_ACCURACY: i32 = 2;
/// Column: seconds of the epoch's training steps alone, evaluation and callbacks apart.
pub const PLIM_HISTORY_SECONDS: i32 = 3;
/// Column: mean over the epoch's batches of their loss as estimated, with λ.
pub const PLIM_HISTORY_BATCH_LOSS: i32 = 4;
/// Column: mean over the epoch's steps of the sample size that plim_train_options_set_adaptive() chose.
pub const PLIM_HISTORY_SAMPLE_SIZE: i32 = 5;
/// Column: the gradient's relative error as last estimated by then, if sampling is adaptive.
pub const PLIM_HISTORY_ERROR: i32 = 6;
/// Column: mean NDCG of the validation queries, by plim_rank_train().
pub const PLIM_HISTORY_VAL_NDCG: i32 = 7;

impl Constant for Column {
    const ARGUMENT: &'static str = "column";
    const PREFIX: &'static str = "PLIM_HISTORY_";
    const ALL: &'static [(i32, Self)] = &[
        (PLIM_HISTORY_TRAIN_LOSS, Column::TrainLoss),
        (PLIM_HISTORY_VAL_LOSS, Column::ValLoss),
        (PLIM_HISTORY_VAL_ACCURACY, Column::ValAccuracy),
        (PLIM_HISTORY_SECONDS, Column::Seconds),
        (PLIM_HISTORY_BATCH_LOSS, Column::BatchLoss),
        (PLIM_HISTORY_SAMPLE_SIZE, Column::SampleSize),
        (PLIM_HISTORY_ERROR, Column::Error),
        (PLIM_HISTORY_VAL_NDCG, Column::ValNdcg),
    ];
}

/// Monitor: the highest accuracy over the validation nodes is the best. The default.
pub const PLIM_MONITOR_VAL_ACCURACY: i32 = 0;
/// Monitor: the lowest loss over the validation nodes is the best, without λ.
pub const PLIM_MONITOR_VAL_LOSS: i32 = 1;
/// Monitor: the lowest loss over all training nodes is the best, nothing sampled, without λ. It needs no validation split.
pub const PLIM_MONITOR_TRAIN_LOSS: i32 = 2;
/// Monitor: the highest mean NDCG of the validation queries is the best. For plim_rank_train() alone.
pub const PLIM_MONITOR_VAL_NDCG: i32 = 3;

impl Constant for Monitor {
    const ARGUMENT: &'static str = "monitor";
    const PREFIX: &'static str = "PLIM_MONITOR_";
    const ALL: &'static [(i32, Self)] = &[
        (PLIM_MONITOR_VAL_ACCURACY, Monitor::ValAccuracy),
        (PLIM_MONITOR_VAL_LOSS, Monitor::ValLoss),
        (PLIM_MONITOR_TRAIN_LOSS, Monitor::TrainLoss),
        (PLIM_MONITOR_VAL_NDCG, Monitor::ValNdcg),
    ];
}

/// Options and the callbacks that go with them.
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

impl Object for TrainOptions {
    const NAME: &'static str = "plim_train_options";
    type Facts = ();

    fn facts(&self) {}
}

impl Opaque for plim_train_options {
    type Object = TrainOptions;
}

/// What the getters tell of a history.
#[derive(Clone, Copy, Default)]
pub struct HistoryFacts {
    num_epochs: usize,
    best_epoch: usize,
}

impl Object for History {
    const NAME: &'static str = "plim_history";
    type Facts = HistoryFacts;

    fn facts(&self) -> HistoryFacts {
        HistoryFacts { num_epochs: self.len(), best_epoch: self.best_epoch() }
    }
}

impl Opaque for plim_history {
    type Object = History;
}

/// Makes training options with their defaults.
///
/// @param out  receives the options; release them with plim_train_options_free(). Untouched unless PLIM_OK is returned.
///
/// @return PLIM_OK or PLIM_ERROR_NULL_POINTER.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn plim_train_options_new(out: *mut *mut plim_train_options) -> plim_status {
    // SAFETY: the caller promises `out` is NULL or valid for one write.
    guard(|| unsafe { ptr::out("out", out) }?.give(TrainOptions::default()))
}

/// Ends the options' handle.
///
/// @param options  the options; NULL and handles that are not live are ignored.
#[unsafe(no_mangle)]
pub extern "C" fn plim_train_options_free(options: *mut plim_train_options) {
    getter(|| {
        ptr::free(options);
        Some(())
    })
}

/// Changes options behind a handle.
fn set(options: *mut plim_train_options, change: impl FnOnce(&mut Options) -> Result<()>) -> plim_status {
    guard(|| change(&mut ptr::handle("options", options)?.write()?.options))
}

fn at_least_one(name: &str, value: usize) -> Result<usize> {
    match value {
        0 => Err(Error::InvalidArgument(format!("{name} = 0 is not at least 1"))),
        _ => Ok(value),
    }
}

/// Sets how many passes over the training nodes are made in all, those before a resumed checkpoint included.
///
/// With the full estimator an epoch is one step.
///
/// @param options  the options.
/// @param epochs   at least 1; 100 at first.
///
/// @return PLIM_OK, PLIM_ERROR_NULL_POINTER, PLIM_ERROR_INVALID_ARGUMENT, PLIM_ERROR_INVALID_HANDLE or PLIM_ERROR_BUSY.
#[unsafe(no_mangle)]
#[must_use]
pub extern "C" fn plim_train_options_set_epochs(options: *mut plim_train_options, epochs: usize) -> plim_status {
    set(options, |options| {
        options.epochs = at_least_one("epochs", epochs)?;
        Ok(())
    })
}

/// Sets how many nodes a batch has; the last one of an epoch may be shorter.
///
/// @param options     the options.
/// @param batch_size  at least 1; 256 at first. The full estimator does not use it.
///
/// @return PLIM_OK, PLIM_ERROR_NULL_POINTER, PLIM_ERROR_INVALID_ARGUMENT, PLIM_ERROR_INVALID_HANDLE or PLIM_ERROR_BUSY.
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

/// Sets the seed of the shuffling. Initial parameters and draws have seeds of their own.
///
/// @param options  the options.
/// @param seed     0 at first.
///
/// @return PLIM_OK, PLIM_ERROR_NULL_POINTER, PLIM_ERROR_INVALID_HANDLE or PLIM_ERROR_BUSY.
#[unsafe(no_mangle)]
#[must_use]
pub extern "C" fn plim_train_options_set_seed(options: *mut plim_train_options, seed: u64) -> plim_status {
    set(options, |options| {
        options.seed = seed;
        Ok(())
    })
}

/// Chooses whether the model ends with the parameters of its best epoch, by plim_train_options_set_monitor().
///
/// Where the monitor saw nothing, for want of validation nodes or of evaluations, there is no best epoch, and the model
/// ends with its last parameters.
///
/// @param options  the options.
/// @param on       0 for off; anything else for on, which is the default.
///
/// @return PLIM_OK, PLIM_ERROR_NULL_POINTER, PLIM_ERROR_INVALID_HANDLE or PLIM_ERROR_BUSY.
#[unsafe(no_mangle)]
#[must_use]
pub extern "C" fn plim_train_options_set_restore_best(options: *mut plim_train_options, on: i32) -> plim_status {
    set(options, |options| {
        options.restore_best = on != 0;
        Ok(())
    })
}

/// Ends training when an evaluation finds that so many epochs have not been better, by plim_train_options_set_monitor().
///
/// @param options  the options.
/// @param epochs   0 for never, which is the default. Otherwise training needs evaluation and, unless the monitor is
///                 PLIM_MONITOR_TRAIN_LOSS, a validation split.
///
/// @return PLIM_OK, PLIM_ERROR_NULL_POINTER, PLIM_ERROR_INVALID_HANDLE or PLIM_ERROR_BUSY.
#[unsafe(no_mangle)]
#[must_use]
pub extern "C" fn plim_train_options_set_patience(options: *mut plim_train_options, epochs: usize) -> plim_status {
    set(options, |options| {
        options.patience = epochs;
        Ok(())
    })
}

/// Chooses what the best epoch is: the one that is restored, that patience counts from and that
/// plim_history_best_epoch() tells.
///
/// Of equal epochs the first is the best. An epoch that was not evaluated is neither better nor worse than any other. A
/// checkpoint goes on under the monitor that it was written under; another one is PLIM_ERROR_SHAPE_MISMATCH.
///
/// @param options  the options.
/// @param monitor  PLIM_MONITOR_VAL_ACCURACY, which is the default, PLIM_MONITOR_VAL_LOSS, PLIM_MONITOR_TRAIN_LOSS or, to
///                 rank, PLIM_MONITOR_VAL_NDCG, for which plim_train() answers PLIM_ERROR_UNSUPPORTED.
///
/// @return PLIM_OK, PLIM_ERROR_NULL_POINTER, PLIM_ERROR_INVALID_ARGUMENT, PLIM_ERROR_INVALID_HANDLE or PLIM_ERROR_BUSY.
#[unsafe(no_mangle)]
#[must_use]
pub extern "C" fn plim_train_options_set_monitor(options: *mut plim_train_options, monitor: i32) -> plim_status {
    set(options, |options| {
        options.monitor = constant(monitor)?;
        Ok(())
    })
}

/// Evaluates after each so many epochs, and after the last one.
///
/// @param options  the options.
/// @param epochs   1 at first; 0 for never.
///
/// @return PLIM_OK, PLIM_ERROR_NULL_POINTER, PLIM_ERROR_INVALID_HANDLE or PLIM_ERROR_BUSY.
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

/// Writes a checkpoint after each so many epochs, and after the last one.
///
/// A checkpoint holds all that a run needs to go on: parameters, optimizer, counters, best parameters, history. It
/// appears whole or not at all; the one before it stays until then.
///
/// @param options  the options.
/// @param path     a file name; NULL with `every` 0 for no checkpoints, which is the default. Copied.
/// @param every    at least 1 with a path.
///
/// @return PLIM_OK, PLIM_ERROR_NULL_POINTER, PLIM_ERROR_INVALID_ARGUMENT, PLIM_ERROR_INVALID_HANDLE or PLIM_ERROR_BUSY.
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

/// Goes on from a checkpoint, if the file is there; a missing one starts afresh.
///
/// The resumed run ends in the same bits as one that was never interrupted. A checkpoint of another graph shape, model,
/// estimator, kind of optimizer, batch size, seed or monitor makes plim_train() answer PLIM_ERROR_SHAPE_MISMATCH.
///
/// @param options  the options.
/// @param path     a file name; NULL to start afresh, which is the default. Copied.
///
/// @return PLIM_OK, PLIM_ERROR_NULL_POINTER, PLIM_ERROR_INVALID_ARGUMENT, PLIM_ERROR_INVALID_HANDLE or PLIM_ERROR_BUSY.
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

/// Lets the sample size follow the gradient, so that its relative error stays under δ.
///
/// As training goes on the gradient shrinks, and with it what a fixed sample is worth. Before every so many updates the error
/// is estimated from 4 further gradients of the batch at the present size N and 4 at 2N, which costs about as much as 12
/// steps: their spread gives the deviation, their means the bias. Above δ the size grows and the test is repeated; far
/// below, it shrinks. The error is that of a batch's gradient against its exact one. The estimator keeps its last size;
/// all its sample sizes but 0 are equal from then on. The history records size and error, and a checkpoint carries them.
///
/// @param options   the options.
/// @param delta     δ, > 0; or 0 for sizes as the estimator has them, which is the default, and the rest is ignored.
/// @param every     updates from one test to the next, at least 1; the first comes before the first update.
/// @param smallest  the smallest sample size, at least 1.
/// @param largest   the largest one, at least `smallest`. Where it does not keep the error under δ, training goes on with
///                  it, and the history shows the error.
///
/// @return PLIM_OK, PLIM_ERROR_NULL_POINTER, PLIM_ERROR_INVALID_ARGUMENT, PLIM_ERROR_INVALID_HANDLE or PLIM_ERROR_BUSY.
///         plim_train() answers PLIM_ERROR_UNSUPPORTED for an estimator that draws no nodes.
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

/// Sets a function that is told of progress and may cancel.
///
/// @param options    the options.
/// @param fn         the function; NULL for none, which is the default. See plim_progress_fn. It is kept: it must stay
///                   callable as long as training with these options may run.
/// @param user_data  handed to the function as it is; it must live as long.
///
/// @return PLIM_OK, PLIM_ERROR_NULL_POINTER, PLIM_ERROR_INVALID_HANDLE or PLIM_ERROR_BUSY.
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

/// Sets a function that is told what training does: what it begins with, checkpoints read and written, sample sizes that
/// change, why it stopped, which epoch was restored. The bits of the result do not depend on it.
///
/// @param options    the options.
/// @param level      the last level that is told: PLIM_LOG_ERROR, PLIM_LOG_WARNING, PLIM_LOG_INFO or PLIM_LOG_DEBUG, each of
///                   which includes those before it. Messages of other levels are never made, and cost nothing.
/// @param fn         the function; NULL for none, which is the default. See plim_log_fn.
/// @param user_data  handed to the function as it is; it must live as long as training with these options may run.
///
/// @return PLIM_OK, PLIM_ERROR_NULL_POINTER, PLIM_ERROR_INVALID_ARGUMENT, PLIM_ERROR_INVALID_HANDLE or PLIM_ERROR_BUSY.
#[unsafe(no_mangle)]
#[must_use]
pub extern "C" fn plim_train_options_set_log(
    options: *mut plim_train_options,
    level: i32,
    r#fn: plim_log_fn,
    user_data: *mut c_void,
) -> plim_status {
    guard(|| {
        let logger = Logger::new(constant(level)?, r#fn, user_data);
        ptr::handle("options", options)?.write()?.logger = logger;
        Ok(())
    })
}

/// Trains a model: epochs of shuffled batches over the training nodes, a gradient and an update for each.
///
/// A second call goes on with the counters of estimator and optimizer. Cancelled (PLIM_ERROR_CANCELLED), the model keeps
/// its last completed step; diverged (PLIM_ERROR_DIVERGED), its last finite parameters. Both give the history of the
/// epochs completed.
///
/// @param model      the model. During the call others find it busy, but for const calls inside its callbacks.
/// @param graph      a graph with features that fit the model, labels and training nodes.
/// @param estimator  how gradients are estimated.
/// @param optimizer  how they move the parameters.
/// @param options    how to train, or NULL for the defaults.
/// @param out        receives the history, or NULL; release it with plim_history_free(). Untouched unless PLIM_OK,
///                   PLIM_ERROR_DIVERGED or PLIM_ERROR_CANCELLED is returned.
///
/// @return PLIM_OK, PLIM_ERROR_NULL_POINTER, PLIM_ERROR_INVALID_ARGUMENT (options that contradict each other),
///         PLIM_ERROR_SHAPE_MISMATCH (things that do not fit, or a checkpoint of another run), PLIM_ERROR_MISSING_DATA,
///         PLIM_ERROR_IO and PLIM_ERROR_BAD_FORMAT (a checkpoint), PLIM_ERROR_UNSUPPORTED
///         (an estimator or a monitor for rankings, adaptive sizes for one that draws nothing), PLIM_ERROR_DIVERGED, PLIM_ERROR_CANCELLED,
///         PLIM_ERROR_INVALID_HANDLE, PLIM_ERROR_BUSY or PLIM_ERROR_OUT_OF_MEMORY.
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

/// Trains on a problem behind a handle, which is named in complaints.
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
    model.set_parameters(working.parameters())?;
    if let (Some(out), Ok(()) | Err(Error::Diverged(_) | Error::Cancelled(_))) = (out, &outcome) {
        out.give(history)?;
    }
    outcome
}

/// Calls the caller's functions while the model, with its present parameters, is open to readers.
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
        self.model.set_parameters(working.parameters()).map_err(|_| Interrupt)?;
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
        // Parameters of a model at work are finite, and as many; were they not, readers would see the ones before.
        let _ = self.model.set_parameters(working.parameters());
        self.model.released(|| self.logger.write(level, message));
    }
}

/// Number of epochs completed.
///
/// @param history  the history.
///
/// @return the number; 0 for NULL or a handle that is not live.
#[unsafe(no_mangle)]
pub extern "C" fn plim_history_num_epochs(history: *const plim_history) -> usize {
    getter(|| Some(ptr::facts(history)?.num_epochs))
}

/// The best epoch, from 1, by plim_train_options_set_monitor(); the first of equals.
///
/// @param history  the history.
///
/// @return the epoch; 0 if the monitor saw none, for NULL or a handle that is not live.
#[unsafe(no_mangle)]
pub extern "C" fn plim_history_best_epoch(history: *const plim_history) -> usize {
    getter(|| Some(ptr::facts(history)?.best_epoch))
}

/// Copies a column of the history, one number per epoch.
///
/// @param history   the history.
/// @param column    PLIM_HISTORY_TRAIN_LOSS, PLIM_HISTORY_VAL_LOSS, PLIM_HISTORY_VAL_ACCURACY, PLIM_HISTORY_SECONDS,
///                  PLIM_HISTORY_BATCH_LOSS, PLIM_HISTORY_SAMPLE_SIZE, PLIM_HISTORY_ERROR or PLIM_HISTORY_VAL_NDCG.
/// @param dst       receives plim_history_num_epochs() numbers, NaN where an epoch was not evaluated, there is no
///                  validation split, or sampling is not adaptive; untouched unless PLIM_OK is returned.
/// @param capacity  numbers that `dst` has room for.
///
/// @return PLIM_OK, PLIM_ERROR_NULL_POINTER, PLIM_ERROR_INVALID_ARGUMENT (the column), PLIM_ERROR_BUFFER_TOO_SMALL,
///         PLIM_ERROR_INVALID_HANDLE or PLIM_ERROR_OUT_OF_MEMORY.
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

/// Ends a history's handle.
///
/// @param history  the history; NULL and handles that are not live are ignored.
#[unsafe(no_mangle)]
pub extern "C" fn plim_history_free(history: *mut plim_history) {
    getter(|| {
        ptr::free(history);
        Some(())
    })
}
