//! Measurements of the errors of an estimator's gradients.

use super::body::free;
use super::constant::{constant, constants};
use super::estimator::plim_estimator;
use super::graph::plim_graph;
use super::guard::{getter, guard};
use super::log::{Logger, plim_log_fn, set_log};
use super::model::plim_model;
use super::progress::{Callback, plim_progress, plim_progress_fn};
use super::ptr::{self, Opaque, handles};
use super::status::plim_status;
use crate::error::{Error, ForThe, Result, try_copied};
use crate::estimator::Problem;
use crate::log::{Level, Log};
use crate::optim::Interrupt;
use crate::theory::tail::{self, Column, Observer, Options, Progress, Tail};
use std::ffi::c_void;
use std::sync::Arc;

/// Options of a measurement. Free them with plim_probe_options_free().
pub struct plim_probe_options {
    _opaque: [u8; 0],
}

/// How large the errors of an estimator's gradients were found to be. Free it with plim_tail_free().
pub struct plim_tail {
    _opaque: [u8; 0],
}

/// Fraction of the gradients with a relative error of δ or more; one number per sample size and δ.
pub const PLIM_TAIL_PROBABILITY: i32 = 0;
/// Lower limit of the 95 % Wilson interval of PLIM_TAIL_PROBABILITY; one number per sample size and
/// δ.
pub const PLIM_TAIL_LOWER: i32 = 1;
/// Upper limit of the 95 % Wilson interval of PLIM_TAIL_PROBABILITY; one number per sample size and
/// δ.
pub const PLIM_TAIL_UPPER: i32 = 2;
/// Error, the root mean square of ‖g−h‖/‖h‖; one number per sample size. error² = bias² +
/// deviation².
pub const PLIM_TAIL_ERROR: i32 = 3;
/// Bias, ‖E g − h‖/‖h‖, which averaging does not reduce; one number per sample size. 0 if it is lost
/// in the noise.
pub const PLIM_TAIL_BIAS: i32 = 4;
/// Deviation, the root mean square of ‖g − E g‖/‖h‖, which averaging reduces; one number per sample
/// size.
pub const PLIM_TAIL_DEVIATION: i32 = 5;

constants!(
    Column,
    "what",
    "PLIM_TAIL_",
    [
        (PLIM_TAIL_PROBABILITY, Probability),
        (PLIM_TAIL_LOWER, Lower),
        (PLIM_TAIL_UPPER, Upper),
        (PLIM_TAIL_ERROR, Error),
        (PLIM_TAIL_BIAS, Bias),
        (PLIM_TAIL_DEVIATION, Deviation)
    ]
);

/// Options and their callbacks.
#[derive(Clone)]
pub struct ProbeOptions {
    pub(super) options: Options,
    pub(super) callbacks: Callbacks,
}

/// The callbacks of a measurement.
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
    /// The options of a handle, or the defaults for NULL.
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

handles!(plim_probe_options, ProbeOptions);

/// What the getters of a tail return.
#[derive(Clone, Copy, Default)]
pub struct TailFacts {
    norm: f64,
}

handles!(plim_tail, Tail, TailFacts, |tail| TailFacts { norm: tail.norm });

/// Creates options of a measurement with their default values.
///
/// @param out  receives the options; free them with plim_probe_options_free().
///
/// @return PLIM_OK or a common error.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn plim_probe_options_new(out: *mut *mut plim_probe_options) -> plim_status {
    // SAFETY: the caller promises `out` is NULL or valid for one write.
    guard(|| unsafe { ptr::out("out", out) }?.give(ProbeOptions::default()))
}

/// Frees options of a measurement.
///
/// @param options  the options; NULL and handles that are not live are ignored.
#[unsafe(no_mangle)]
pub extern "C" fn plim_probe_options_free(options: *mut plim_probe_options) {
    free(options);
}

/// Sets the number of gradients drawn per sample size.
///
/// @param options  the options.
/// @param draws    2 .. INT32_MAX. Default: 10,000. Probabilities far below 1/`draws` cannot be
///                 measured.
///
/// @return PLIM_OK or a common error.
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

/// Sets the seed of the draws. A sample size has the same draws under the same seed, whichever other
/// sizes are measured.
///
/// @param options  the options.
/// @param seed     any value. Default: 0.
///
/// @return PLIM_OK or a common error.
#[unsafe(no_mangle)]
#[must_use]
pub extern "C" fn plim_probe_options_set_seed(options: *mut plim_probe_options, seed: u64) -> plim_status {
    guard(|| {
        ptr::handle("options", options)?.write()?.options.seed = seed;
        Ok(())
    })
}

/// Sets the nodes, or queries, whose gradient is estimated. The exact gradient h is then theirs.
///
/// @param options  the options.
/// @param nodes    `count` different ids; (NULL, 0) for all training nodes or queries, which is the
///                 default. The measurement checks that they can be trained on.
/// @param count    length of `nodes`; at least 1 unless `nodes` is NULL.
///
/// @return PLIM_OK or a common error.
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

/// Sets a callback that receives progress and can cancel.
///
/// @param options    the options.
/// @param fn         the callback; see plim_progress_fn. Default: NULL for none.
/// @param user_data  passed to the callback.
///
/// @return PLIM_OK or a common error.
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

/// Sets a callback that receives log messages: the results for each sample size, what a planner
/// tries, and why a measurement fails.
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
pub extern "C" fn plim_probe_options_set_log(
    options: *mut plim_probe_options,
    level: i32,
    r#fn: plim_log_fn,
    user_data: *mut c_void,
) -> plim_status {
    set_log(options, (level, r#fn, user_data), |options| &mut options.callbacks.logger)
}

/// Measures on the problem of a handle. Errors name the handle.
///
/// # Safety
/// `sample_sizes` must be readable for `num_sizes` elements, `deltas` for `num_deltas`.
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

/// Measures how often the gradient of an estimator has a relative error of δ or more.
///
/// The exact gradient h is computed once, at the model's current parameters. Then, for each sample
/// size, independent estimates g are drawn, and those with ‖g−h‖ >= δ‖h‖ are counted. The model's
/// threads share the work. The result does not depend on their number.
///
/// @param estimator     the estimator to measure. It does not change; its seed and counter are not
///                      used.
/// @param model         the model.
/// @param graph         a graph with labels, and with features that fit the model.
/// @param sample_sizes  `num_sizes` numbers, 1 .. INT32_MAX. Each in turn replaces all sample sizes
///                      of the estimator that are not 0. For the unbiased estimator they are batch
///                      sizes, at most the number of nodes. The full estimator has no error.
/// @param num_sizes     at least 1.
/// @param deltas        `num_deltas` relative errors δ, each finite and > 0.
/// @param num_deltas    length of `deltas`.
/// @param options       the options, or NULL for the defaults.
/// @param out           receives num_sizes × num_deltas fractions, one row per sample size.
/// @param capacity      number of values that fit in `out`.
///
/// @return PLIM_OK or a common error.
///         PLIM_ERROR_INVALID_ARGUMENT: also if the batch of the options is not valid for the graph
///           or the estimator, or the exact gradient is 0.
///         PLIM_ERROR_SHAPE_MISMATCH: estimator, model and graph do not fit each other.
///         PLIM_ERROR_MISSING_DATA: there are no features, labels or training nodes, or a training
///           node has no label.
///         PLIM_ERROR_UNSUPPORTED: the estimator is for rankings.
///         PLIM_ERROR_DIVERGED: a gradient is not finite.
///         PLIM_ERROR_CANCELLED: the progress callback returned a non-zero value.
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

/// Measures the same as plim_tail_probability(), and keeps intervals, bias and deviation as well.
///
/// @param estimator     the estimator to measure; see plim_tail_probability().
/// @param model         the model.
/// @param graph         a graph with labels, and with features that fit the model.
/// @param sample_sizes  `num_sizes` sizes; see plim_tail_probability().
/// @param num_sizes     at least 1.
/// @param deltas        `num_deltas` relative errors δ, each finite and > 0; (NULL, 0) for none.
/// @param num_deltas    length of `deltas`.
/// @param options       the options, or NULL for the defaults.
/// @param out           receives the tail; free it with plim_tail_free().
///
/// @return as plim_tail_probability().
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

/// Copies results of a measurement.
///
/// @param tail      the tail.
/// @param what      PLIM_TAIL_PROBABILITY, PLIM_TAIL_LOWER or PLIM_TAIL_UPPER: one row of num_deltas
///                  numbers per sample size. PLIM_TAIL_ERROR, PLIM_TAIL_BIAS or PLIM_TAIL_DEVIATION:
///                  one number per sample size.
/// @param dst       receives the numbers.
/// @param capacity  number of values that fit in `dst`.
///
/// @return PLIM_OK or a common error.
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

/// Returns the norm of the exact gradient, to which errors are relative.
///
/// @param tail  the tail.
///
/// @return ‖h‖, > 0.
#[unsafe(no_mangle)]
pub extern "C" fn plim_tail_norm(tail: *const plim_tail) -> f64 {
    getter(|| Some(ptr::facts(tail)?.norm))
}

/// Frees a tail.
///
/// @param tail  the tail; NULL and handles that are not live are ignored.
#[unsafe(no_mangle)]
pub extern "C" fn plim_tail_free(tail: *mut plim_tail) {
    free(tail);
}

/// Fits C and τ of a tail C·exp(−τN), for plim_sample_size().
///
/// The fit is a least-squares line through log p over N, with weights draws·p/(1−p). It uses the
/// points of which 10 .. draws − 10 gradients missed δ.
///
/// @param sample_sizes   `count` sizes N, each at least 1.
/// @param probabilities  `count` fractions p that missed one δ, each in [0, 1].
/// @param count          number of points.
/// @param draws          number of gradients behind each fraction.
/// @param c              receives C; may be NULL.
/// @param tau            receives τ, which is <= 0 if the tail does not fall; may be NULL.
/// @param r_squared      receives r² of the fit, 1 for a perfect one; may be NULL.
///
/// @return PLIM_OK or a common error.
///         PLIM_ERROR_MISSING_DATA: fewer than 3 points are usable, or all have the same size.
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
