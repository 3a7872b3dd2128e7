//! How wrong an estimator's gradients are, measured.

use super::constant::{Constant, constant};
use super::estimator::plim_estimator;
use super::graph::plim_graph;
use super::guard::{getter, guard};
use super::handle::Object;
use super::log::{Logger, plim_log_fn};
use super::model::plim_model;
use super::progress::{Callback, plim_progress, plim_progress_fn};
use super::ptr::{self, Opaque};
use super::status::plim_status;
use crate::error::{Error, ForThe, Result, try_copied};
use crate::estimator::Problem;
use crate::log::{Level, Log};
use crate::optim::Interrupt;
use crate::theory::tail::{self, Column, Observer, Options, Progress, Tail};
use std::ffi::c_void;
use std::sync::Arc;

/// How to measure. Release it with plim_probe_options_free().
pub struct plim_probe_options {
    _opaque: [u8; 0],
}

/// How wrong an estimator's gradients were found to be. Release it with plim_tail_free().
pub struct plim_tail {
    _opaque: [u8; 0],
}

/// Share of the gradients that missed by δ or more; one number for each sample size and δ.
pub const PLIM_TAIL_PROBABILITY: i32 = 0;
/// Lower limit of that share's 95 % interval (Wilson's); as many numbers.
pub const PLIM_TAIL_LOWER: i32 = 1;
/// Upper limit of that share's 95 % interval (Wilson's); as many numbers.
pub const PLIM_TAIL_UPPER: i32 = 2;
/// Root mean square of the error, ‖g−h‖/‖h‖; one number for each sample size. error² = bias² + deviation².
pub const PLIM_TAIL_ERROR: i32 = 3;
/// Bias, ‖mean of g − h‖/‖h‖: what remains however many gradients are averaged. One number for each sample size.
pub const PLIM_TAIL_BIAS: i32 = 4;
/// Deviation, root mean square of ‖g − mean of g‖/‖h‖: what averaging removes. One number for each sample size.
pub const PLIM_TAIL_DEVIATION: i32 = 5;

impl Constant for Column {
    const ARGUMENT: &'static str = "what";
    const PREFIX: &'static str = "PLIM_TAIL_";
    const ALL: &'static [(i32, Self)] = &[
        (PLIM_TAIL_PROBABILITY, Column::Probability),
        (PLIM_TAIL_LOWER, Column::Lower),
        (PLIM_TAIL_UPPER, Column::Upper),
        (PLIM_TAIL_ERROR, Column::Error),
        (PLIM_TAIL_BIAS, Column::Bias),
        (PLIM_TAIL_DEVIATION, Column::Deviation),
    ];
}

/// Options and the callbacks that go with them.
#[derive(Clone)]
pub struct ProbeOptions {
    pub(super) options: Options,
    pub(super) callbacks: Callbacks,
}

/// Whom a measurement tells.
#[derive(Clone, Copy)]
pub struct Callbacks {
    callback: Callback,
    logger: Logger,
}

impl Default for ProbeOptions {
    fn default() -> Self {
        let callbacks = Callbacks { callback: Callback::NONE, logger: Logger::NONE };
        ProbeOptions { options: Options::default(), callbacks }
    }
}

impl ProbeOptions {
    /// The options behind a handle; the defaults for NULL.
    pub(super) fn of(options: *const plim_probe_options) -> Result<Self> {
        match options.is_null() {
            true => Ok(ProbeOptions::default()),
            false => Ok(ptr::handle("options", options)?.read()?.clone()),
        }
    }
}

impl Observer for Callbacks {
    fn progress(&mut self, progress: &Progress) -> std::result::Result<(), Interrupt> {
        self.callback.call(&plim_progress {
            struct_size: size_of::<plim_progress>(),
            epoch: progress.stage,
            num_epochs: progress.num_stages,
            step: progress.done,
            num_steps: progress.draws,
            train_loss: f64::NAN,
            val_loss: f64::NAN,
            val_accuracy: f64::NAN,
            seconds: progress.seconds,
            val_ndcg: f64::NAN,
        })
    }
}

impl Log for Callbacks {
    fn wants(&self, level: Level) -> bool {
        self.logger.wants(level)
    }

    fn write(&mut self, level: Level, message: &str) {
        self.logger.write(level, message);
    }
}

impl Object for ProbeOptions {
    const NAME: &'static str = "plim_probe_options";
    type Facts = ();

    fn facts(&self) {}
}

impl Opaque for plim_probe_options {
    type Object = ProbeOptions;
}

/// What the getters tell of a tail.
#[derive(Clone, Copy, Default)]
pub struct TailFacts {
    norm: f64,
}

impl Object for Tail {
    const NAME: &'static str = "plim_tail";
    type Facts = TailFacts;

    fn facts(&self) -> TailFacts {
        TailFacts { norm: self.norm }
    }
}

impl Opaque for plim_tail {
    type Object = Tail;
}

/// Makes options of a measurement with their defaults.
///
/// @param out  receives the options; release them with plim_probe_options_free(). Untouched unless PLIM_OK is returned.
///
/// @return PLIM_OK or PLIM_ERROR_NULL_POINTER.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn plim_probe_options_new(out: *mut *mut plim_probe_options) -> plim_status {
    // SAFETY: the caller promises `out` is NULL or valid for one write.
    guard(|| unsafe { ptr::out("out", out) }?.give(ProbeOptions::default()))
}

/// Ends the options' handle.
///
/// @param options  the options; NULL and handles that are not live are ignored.
#[unsafe(no_mangle)]
pub extern "C" fn plim_probe_options_free(options: *mut plim_probe_options) {
    getter(|| {
        ptr::free(options);
        Some(())
    })
}

/// Sets how many gradients are drawn for each sample size.
///
/// @param options  the options.
/// @param draws    at least 2; 10,000 at first. A chance much below 1/draws cannot be seen.
///
/// @return PLIM_OK, PLIM_ERROR_NULL_POINTER, PLIM_ERROR_INVALID_ARGUMENT, PLIM_ERROR_INVALID_HANDLE or PLIM_ERROR_BUSY.
#[unsafe(no_mangle)]
#[must_use]
pub extern "C" fn plim_probe_options_set_draws(options: *mut plim_probe_options, draws: usize) -> plim_status {
    guard(|| {
        if !(2..=i32::MAX as usize).contains(&draws) {
            return Err(Error::InvalidArgument(format!("draws = {draws} is outside [2, {}]", i32::MAX)));
        }
        ptr::handle("options", options)?.write()?.options.draws = draws;
        Ok(())
    })
}

/// Sets the seed of the draws. The estimator's own seed plays no part in a measurement, and its counter does not move.
///
/// @param options  the options.
/// @param seed     0 at first. A sample size has the same draws under the same seed, whichever others are measured.
///
/// @return PLIM_OK, PLIM_ERROR_NULL_POINTER, PLIM_ERROR_INVALID_HANDLE or PLIM_ERROR_BUSY.
#[unsafe(no_mangle)]
#[must_use]
pub extern "C" fn plim_probe_options_set_seed(options: *mut plim_probe_options, seed: u64) -> plim_status {
    guard(|| {
        ptr::handle("options", options)?.write()?.options.seed = seed;
        Ok(())
    })
}

/// Sets the nodes whose gradient is estimated; h is then their exact gradient.
///
/// @param options  the options.
/// @param nodes    `count` distinct labelled nodes; NULL with 0 for all training nodes, which is the default. Copied, and
///                 checked against the graph by the measurement.
/// @param count    number of nodes; at least 1 unless `nodes` is NULL.
///
/// @return PLIM_OK, PLIM_ERROR_NULL_POINTER, PLIM_ERROR_INVALID_ARGUMENT (an empty list), PLIM_ERROR_INVALID_HANDLE,
///         PLIM_ERROR_BUSY or PLIM_ERROR_OUT_OF_MEMORY.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn plim_probe_options_set_batch(
    options: *mut plim_probe_options,
    nodes: *const i32,
    count: usize,
) -> plim_status {
    guard(|| {
        // SAFETY: the caller promises `count` readable ids behind `nodes`.
        let batch = match unsafe { ptr::list_or_all("nodes", nodes, count) }? {
            Some([]) => return Err(Error::InvalidArgument("nodes is empty".to_string())),
            Some(nodes) => Some(Arc::new(try_copied(nodes).for_the("batch")?)),
            None => None,
        };
        ptr::handle("options", options)?.write()?.options.batch = batch;
        Ok(())
    })
}

/// Sets a function that is told of progress and may cancel.
///
/// @param options    the options.
/// @param fn         the function; NULL for none, which is the default. See plim_progress_fn. It is kept: it must stay
///                   callable as long as a measurement with these options may run.
/// @param user_data  handed to the function as it is; it must live as long.
///
/// @return PLIM_OK, PLIM_ERROR_NULL_POINTER, PLIM_ERROR_INVALID_HANDLE or PLIM_ERROR_BUSY.
#[unsafe(no_mangle)]
#[must_use]
pub extern "C" fn plim_probe_options_set_progress(
    options: *mut plim_probe_options,
    r#fn: plim_progress_fn,
    user_data: *mut c_void,
) -> plim_status {
    guard(|| {
        ptr::handle("options", options)?.write()?.callbacks.callback = Callback::new(r#fn, user_data);
        Ok(())
    })
}

/// Sets a function that is told what a measurement does and finds: each sample size, what a planner tries, why it fails.
///
/// @param options    the options.
/// @param level      the last level that is told: PLIM_LOG_ERROR, PLIM_LOG_WARNING, PLIM_LOG_INFO or PLIM_LOG_DEBUG, each of
///                   which includes those before it. Messages of other levels are never made, and cost nothing.
/// @param fn         the function; NULL for none, which is the default. See plim_log_fn.
/// @param user_data  handed to the function as it is; it must live as long as a measurement with these options may run.
///
/// @return PLIM_OK, PLIM_ERROR_NULL_POINTER, PLIM_ERROR_INVALID_ARGUMENT, PLIM_ERROR_INVALID_HANDLE or PLIM_ERROR_BUSY.
#[unsafe(no_mangle)]
#[must_use]
pub extern "C" fn plim_probe_options_set_log(
    options: *mut plim_probe_options,
    level: i32,
    r#fn: plim_log_fn,
    user_data: *mut c_void,
) -> plim_status {
    guard(|| {
        let logger = Logger::new(constant(level)?, r#fn, user_data);
        ptr::handle("options", options)?.write()?.callbacks.logger = logger;
        Ok(())
    })
}

/// Measures on a problem behind a handle, which is named in complaints.
///
/// # Safety
/// `sample_sizes` and `deltas` must be readable for so many elements.
pub(super) unsafe fn measure<C: Opaque<Object: Problem>>(
    (estimator, model): (*const plim_estimator, *const plim_model),
    (name, problem): (&str, *const C),
    (sample_sizes, num_sizes): (*const usize, usize),
    (deltas, num_deltas): (*const f64, usize),
    options: *const plim_probe_options,
) -> Result<Tail> {
    let (estimator, model) = (ptr::handle("estimator", estimator)?, ptr::handle("model", model)?);
    let problem = ptr::handle(name, problem)?;
    // SAFETY: the caller's promise is passed on.
    let sizes = unsafe { ptr::slice("sample_sizes", sample_sizes, num_sizes) }?;
    // SAFETY: as above.
    let deltas = unsafe { ptr::slice("deltas", deltas, num_deltas) }?;
    let ProbeOptions { options, mut callbacks } = ProbeOptions::of(options)?;
    let (estimator, model, problem) = (estimator.read()?, model.read()?, problem.read()?);
    tail::tail(&estimator, &model, &*problem, (sizes, deltas), &options, &mut callbacks)
}

/// Measures how often an estimator's gradient is wrong by δ or more.
///
/// The exact gradient h is computed once, at the model's present parameters; then, for each sample size, so many independent
/// estimates g are drawn as the options say, and those with ‖g−h‖ >= δ‖h‖ are counted. Work is shared among the model's
/// threads; the result is the same for any number of them.
///
/// @param estimator     what to measure. Its seed, counter and sizes stay as they are.
/// @param model         the model, at whose parameters the gradient is taken.
/// @param graph         a graph with features that fit the model and labels.
/// @param sample_sizes  `num_sizes` sizes, each at least 1: each in turn replaces every sample size of the estimator but 0.
///                      For the unbiased estimator they are batch sizes, at most the number of nodes. The full one is
///                      always right.
/// @param num_sizes     at least 1.
/// @param deltas        `num_deltas` relative errors, each > 0.
/// @param num_deltas    number of relative errors.
/// @param options       how to measure, or NULL for the defaults.
/// @param out           receives num_sizes × num_deltas shares, row by row of a sample size; untouched unless PLIM_OK is
///                      returned.
/// @param capacity      numbers that `out` has room for.
///
/// @return PLIM_OK, PLIM_ERROR_NULL_POINTER, PLIM_ERROR_INVALID_ARGUMENT (a value outside its range, a batch that the graph
///         does not allow, or a gradient of 0), PLIM_ERROR_SHAPE_MISMATCH, PLIM_ERROR_MISSING_DATA,
///         PLIM_ERROR_BUFFER_TOO_SMALL, PLIM_ERROR_UNSUPPORTED (an estimator for rankings), PLIM_ERROR_DIVERGED (a gradient
///         that is not finite), PLIM_ERROR_CANCELLED, PLIM_ERROR_INVALID_HANDLE, PLIM_ERROR_BUSY or
///         PLIM_ERROR_OUT_OF_MEMORY.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn plim_tail_probability(
    estimator: *const plim_estimator,
    model: *const plim_model,
    graph: *const plim_graph,
    sample_sizes: *const usize,
    num_sizes: usize,
    deltas: *const f64,
    num_deltas: usize,
    options: *const plim_probe_options,
    out: *mut f64,
    capacity: usize,
) -> plim_status {
    guard(|| {
        let needed = num_sizes.saturating_mul(num_deltas);
        // SAFETY: the caller promises `out` is NULL or valid for `capacity` writes.
        let out = unsafe { ptr::buffer("out", out, capacity, needed) }?;
        let (handles, on) = ((estimator, model), ("graph", graph));
        // SAFETY: the caller promises readable arrays of these lengths.
        let tail = unsafe { measure(handles, on, (sample_sizes, num_sizes), (deltas, num_deltas), options) }?;
        out.put(&tail.probabilities);
        Ok(())
    })
}

/// Measures the same as plim_tail_probability(), and keeps more of it: intervals, bias and deviation.
///
/// @param estimator     what to measure. Its seed, counter and sizes stay as they are.
/// @param model         the model, at whose parameters the gradient is taken.
/// @param graph         a graph with features that fit the model and labels.
/// @param sample_sizes  `num_sizes` sizes, as for plim_tail_probability().
/// @param num_sizes     at least 1.
/// @param deltas        `num_deltas` relative errors, each > 0; (NULL, 0) for none.
/// @param num_deltas    number of relative errors.
/// @param options       how to measure, or NULL for the defaults.
/// @param out           receives the tail; release it with plim_tail_free(). Untouched unless PLIM_OK is returned.
///
/// @return as plim_tail_probability(), but for PLIM_ERROR_BUFFER_TOO_SMALL.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn plim_tail_new(
    estimator: *const plim_estimator,
    model: *const plim_model,
    graph: *const plim_graph,
    sample_sizes: *const usize,
    num_sizes: usize,
    deltas: *const f64,
    num_deltas: usize,
    options: *const plim_probe_options,
    out: *mut *mut plim_tail,
) -> plim_status {
    guard(|| {
        // SAFETY: the caller promises `out` is NULL or valid for one write.
        let out = unsafe { ptr::out("out", out) }?;
        let (handles, on) = ((estimator, model), ("graph", graph));
        // SAFETY: the caller promises readable arrays of these lengths.
        out.give(unsafe { measure(handles, on, (sample_sizes, num_sizes), (deltas, num_deltas), options) }?)
    })
}

/// Copies what was measured.
///
/// @param tail      the tail.
/// @param what      PLIM_TAIL_PROBABILITY, PLIM_TAIL_LOWER or PLIM_TAIL_UPPER: a number for each sample size and δ, row by
///                  row of a sample size; PLIM_TAIL_ERROR, PLIM_TAIL_BIAS or PLIM_TAIL_DEVIATION: one for each sample size.
/// @param dst       receives the numbers; untouched unless PLIM_OK is returned.
/// @param capacity  numbers that `dst` has room for.
///
/// @return PLIM_OK, PLIM_ERROR_NULL_POINTER, PLIM_ERROR_INVALID_ARGUMENT (`what`), PLIM_ERROR_BUFFER_TOO_SMALL,
///         PLIM_ERROR_INVALID_HANDLE or PLIM_ERROR_OUT_OF_MEMORY.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn plim_tail_copy(
    tail: *const plim_tail,
    what: i32,
    dst: *mut f64,
    capacity: usize,
) -> plim_status {
    guard(|| {
        let tail = ptr::handle("tail", tail)?;
        let tail = tail.read()?;
        let column = tail.column(constant(what)?)?;
        // SAFETY: the caller promises `dst` is NULL or valid for `capacity` writes.
        unsafe { ptr::buffer("dst", dst, capacity, column.len()) }?.put(&column);
        Ok(())
    })
}

/// The norm of the exact gradient that errors are relative to.
///
/// @param tail  the tail.
///
/// @return ‖h‖, > 0; 0 for NULL or a handle that is not live.
#[unsafe(no_mangle)]
pub extern "C" fn plim_tail_norm(tail: *const plim_tail) -> f64 {
    getter(|| Some(ptr::facts(tail)?.norm))
}

/// Ends a tail's handle.
///
/// @param tail  the tail; NULL and handles that are not live are ignored.
#[unsafe(no_mangle)]
pub extern "C" fn plim_tail_free(tail: *mut plim_tail) {
    getter(|| {
        ptr::free(tail);
        Some(())
    })
}

/// Fits C and τ of a tail that falls like C·exp(−τN), for plim_sample_size().
///
/// Least squares of log p on N, weighted by draws·p/(1−p), over the points of which 10 to draws − 10 gradients missed.
///
/// @param sample_sizes   `count` sizes N, each at least 1.
/// @param probabilities  the `count` shares that missed by one δ, each in [0, 1].
/// @param count          number of points; at least 3 of them must have enough misses and hits.
/// @param draws          gradients that each share was counted over.
/// @param c              receives C, or NULL.
/// @param tau            receives τ, or NULL; not above 0 if the tail does not fall.
/// @param r_squared      receives how well the line fits, 1 being perfect, or NULL. All untouched unless PLIM_OK is
///                       returned.
///
/// @return PLIM_OK, PLIM_ERROR_NULL_POINTER, PLIM_ERROR_INVALID_ARGUMENT (a value outside its range),
///         PLIM_ERROR_MISSING_DATA (too few usable points) or PLIM_ERROR_OUT_OF_MEMORY.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn plim_tail_fit(
    sample_sizes: *const usize,
    probabilities: *const f64,
    count: usize,
    draws: usize,
    c: *mut f64,
    tau: *mut f64,
    r_squared: *mut f64,
) -> plim_status {
    guard(|| {
        // SAFETY: the caller promises `count` readable elements behind each pointer.
        let sizes = unsafe { ptr::slice("sample_sizes", sample_sizes, count) }?;
        // SAFETY: as above.
        let probabilities = unsafe { ptr::slice("probabilities", probabilities, count) }?;
        // SAFETY: the caller promises that each is NULL or valid for one write.
        let outs = unsafe {
            [ptr::optional_out("c", c)?, ptr::optional_out("tau", tau)?, ptr::optional_out("r_squared", r_squared)?]
        };
        let (c, tau, r_squared) = tail::fit(sizes, probabilities, draws)?;
        outs.into_iter().zip([c, tau, r_squared]).for_each(|(out, value)| {
            if let Some(out) = out {
                out.set(value);
            }
        });
        Ok(())
    })
}
