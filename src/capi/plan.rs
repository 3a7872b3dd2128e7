//! How few draws suffice, and whether they pay.

use super::constant::{Constant, constant};
use super::estimator::plim_estimator;
use super::graph::plim_graph;
use super::guard::{getter, guard};
use super::handle::Object;
use super::model::plim_model;
use super::ptr::{self, Opaque};
use super::status::plim_status;
use super::tail::{ProbeOptions, plim_probe_options};
use crate::error::Result;
use crate::estimator::Problem;
use crate::theory::plan::{Goal, Number, Plan, plan};
use std::ffi::c_char;

/// How few draws suffice, and what they cost. Release it with plim_plan_free().
pub struct plim_plan {
    _opaque: [u8; 0],
}

/// The smallest sample size that meets the goal; 0 if none does.
pub const PLIM_PLAN_SAMPLE_SIZE: i32 = 0;
/// Share of the gradients of that size that missed by δ; NaN without a size.
pub const PLIM_PLAN_MISSES: i32 = 1;
/// Upper limit of that share's 95 % interval; NaN without a size.
pub const PLIM_PLAN_UPPER: i32 = 2;
/// Seconds of a gradient of that size; NaN without one.
pub const PLIM_PLAN_SECONDS: i32 = 3;
/// Seconds of the exact gradient of the same nodes: the full step, unless the options named a batch.
pub const PLIM_PLAN_EXACT_SECONDS: i32 = 4;
/// Seconds of the unbiased gradient of a batch that is as right; those of the exact one, if no smaller batch is.
pub const PLIM_PLAN_UNBIASED_SECONDS: i32 = 5;
/// Nodes of that batch: of 32, 64, 128, … the first whose gradients meet the goal, as far as 200 of them can show.
pub const PLIM_PLAN_UNBIASED_BATCH: i32 = 6;
/// C of the fitted tail; NaN if the draws could show ε/T without one.
pub const PLIM_PLAN_C: i32 = 7;
/// τ of the fitted tail; NaN without one.
pub const PLIM_PLAN_TAU: i32 = 8;
/// r² of the fitted tail; NaN without one.
pub const PLIM_PLAN_R_SQUARED: i32 = 9;

impl Constant for Number {
    const ARGUMENT: &'static str = "what";
    const PREFIX: &'static str = "PLIM_PLAN_";
    const ALL: &'static [(i32, Self)] = &[
        (PLIM_PLAN_SAMPLE_SIZE, Number::SampleSize),
        (PLIM_PLAN_MISSES, Number::Misses),
        (PLIM_PLAN_UPPER, Number::Upper),
        (PLIM_PLAN_SECONDS, Number::Seconds),
        (PLIM_PLAN_EXACT_SECONDS, Number::ExactSeconds),
        (PLIM_PLAN_UNBIASED_SECONDS, Number::UnbiasedSeconds),
        (PLIM_PLAN_UNBIASED_BATCH, Number::UnbiasedBatch),
        (PLIM_PLAN_C, Number::C),
        (PLIM_PLAN_TAU, Number::Tau),
        (PLIM_PLAN_R_SQUARED, Number::RSquared),
    ];
}

/// A buffer of this many bytes holds every text of plim_plan_describe().
pub const PLIM_PLAN_TEXT_SIZE: usize = 512;

/// What the getters tell of a plan.
#[derive(Clone, Copy, Default)]
pub struct PlanFacts {
    pays: bool,
    num_sizes: usize,
}

impl Object for Plan {
    const NAME: &'static str = "plim_plan";
    type Facts = PlanFacts;

    fn facts(&self) -> PlanFacts {
        PlanFacts { pays: self.pays, num_sizes: self.sizes.len() }
    }
}

impl Opaque for plim_plan {
    type Object = Plan;
}

/// Looks for the smallest sample size at which, with probability 1−ε, none of T gradients is wrong by δ or more, and
/// measures what a gradient of that size costs.
///
/// Sizes up to the number of nodes are tried by drawing gradients, as plim_tail_probability() does; a size will do if the
/// upper 95 % limit of its misses is at most ε/T. Where that is less than so many draws can show, a tail is fitted to larger
/// chances (plim_tail_fit()) and followed. All of it holds at the model's present parameters: as training goes on the
/// gradient shrinks and a plan should be made anew, or left to plim_train_options_set_adaptive().
///
/// The sample size is deterministic by the options' seed; seconds, and so the answer of plim_plan_pays(), are measured.
///
/// @param estimator  what to plan for: a consistent estimator, whose sample sizes but 0 are replaced, or the unbiased one,
///                   whose batch size is planned. It stays as it is.
/// @param model      the model, at whose parameters the gradient is taken; its threads share the work.
/// @param graph      a graph with features that fit the model and labels.
/// @param delta      δ, relative to the norm of the exact gradient; > 0.
/// @param epsilon    ε, in (0, 1].
/// @param t          T, the number of steps; at least 1.
/// @param options    how to measure, or NULL for the defaults.
/// @param out        receives the plan; release it with plim_plan_free(). Untouched unless PLIM_OK is returned.
///
/// @return PLIM_OK (also if no size will do), PLIM_ERROR_NULL_POINTER, PLIM_ERROR_INVALID_ARGUMENT,
///         PLIM_ERROR_SHAPE_MISMATCH, PLIM_ERROR_MISSING_DATA (also a tail too steep to fit: more draws may help),
///         PLIM_ERROR_UNSUPPORTED (an estimator that draws nothing), PLIM_ERROR_DIVERGED, PLIM_ERROR_CANCELLED,
///         PLIM_ERROR_INVALID_HANDLE, PLIM_ERROR_BUSY or PLIM_ERROR_OUT_OF_MEMORY.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn plim_plan_new(
    estimator: *const plim_estimator,
    model: *const plim_model,
    graph: *const plim_graph,
    delta: f64,
    epsilon: f64,
    t: usize,
    options: *const plim_probe_options,
    out: *mut *mut plim_plan,
) -> plim_status {
    let goal = Goal { delta, epsilon, steps: t };
    // SAFETY: the caller promises `out` is NULL or valid for one write.
    guard(|| unsafe { plan_on((estimator, model), ("graph", graph), goal, options, out) })
}

/// Plans on a problem behind a handle, which is named in complaints.
///
/// # Safety
/// `out` must be NULL or valid for one write.
pub(super) unsafe fn plan_on<C: Opaque<Object: Problem>>(
    (estimator, model): (*const plim_estimator, *const plim_model),
    (name, problem): (&str, *const C),
    goal: Goal,
    options: *const plim_probe_options,
    out: *mut *mut plim_plan,
) -> Result<()> {
    // SAFETY: the caller's promise is passed on.
    let out = unsafe { ptr::out("out", out) }?;
    let (estimator, model) = (ptr::handle("estimator", estimator)?, ptr::handle("model", model)?);
    let problem = ptr::handle(name, problem)?;
    let ProbeOptions { options, mut callbacks } = ProbeOptions::of(options)?;
    let (estimator, model, problem) = (estimator.read()?, model.read()?, problem.read()?);
    out.give(plan(&estimator, &model, &*problem, goal, &options, &mut callbacks)?)
}

/// Whether to sample.
///
/// @param plan  the plan.
///
/// @return 1 if a sample size meets the goal and its gradient takes less time than the exact one and, unless the estimator
///         is the unbiased one, than an unbiased batch that is as right; 0 if not ("do not sample"), for NULL or a handle
///         that is not live.
#[unsafe(no_mangle)]
pub extern "C" fn plim_plan_pays(plan: *const plim_plan) -> i32 {
    getter(|| Some(ptr::facts(plan)?.pays.into()))
}

/// Number of sample sizes: the estimator's layers, or 1 for the unbiased one.
///
/// @param plan  the plan.
///
/// @return the number; 0 for NULL or a handle that is not live.
#[unsafe(no_mangle)]
pub extern "C" fn plim_plan_num_sizes(plan: *const plim_plan) -> usize {
    getter(|| Some(ptr::facts(plan)?.num_sizes))
}

/// Copies the sample sizes, ready for plim_estimator_consistent(): 0 for a layer whose input is exact.
///
/// @param plan      the plan.
/// @param dst       receives plim_plan_num_sizes() sizes, input layer first, or the unbiased estimator's batch size; all 0
///                  if no size meets the goal. Untouched unless PLIM_OK is returned.
/// @param capacity  sizes that `dst` has room for.
///
/// @return PLIM_OK, PLIM_ERROR_NULL_POINTER, PLIM_ERROR_BUFFER_TOO_SMALL or PLIM_ERROR_INVALID_HANDLE.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn plim_plan_copy_sizes(plan: *const plim_plan, dst: *mut usize, capacity: usize) -> plim_status {
    guard(|| {
        let plan = ptr::handle("plan", plan)?;
        let plan = plan.read()?;
        // SAFETY: the caller promises `dst` is NULL or valid for `capacity` writes.
        unsafe { ptr::buffer("dst", dst, capacity, plan.sizes.len()) }?.put(&plan.sizes);
        Ok(())
    })
}

/// Gives one number of a plan.
///
/// @param plan  the plan.
/// @param what  a PLIM_PLAN_ constant, from PLIM_PLAN_SAMPLE_SIZE to PLIM_PLAN_R_SQUARED.
/// @param out   receives the number; untouched unless PLIM_OK is returned.
///
/// @return PLIM_OK, PLIM_ERROR_NULL_POINTER, PLIM_ERROR_INVALID_ARGUMENT (`what`) or PLIM_ERROR_INVALID_HANDLE.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn plim_plan_get(plan: *const plim_plan, what: i32, out: *mut f64) -> plim_status {
    guard(|| {
        // SAFETY: the caller promises `out` is NULL or valid for one write.
        let out = unsafe { ptr::out("out", out) }?;
        out.set(ptr::handle("plan", plan)?.read()?.number(constant(what)?));
        Ok(())
    })
}

/// Says the plan in words: whether to sample, how many nodes, and the two costs.
///
/// @param plan      the plan.
/// @param dst       receives the text, ended by a zero byte; untouched unless PLIM_OK is returned.
/// @param capacity  bytes that `dst` has room for; PLIM_PLAN_TEXT_SIZE is enough.
///
/// @return PLIM_OK, PLIM_ERROR_NULL_POINTER, PLIM_ERROR_BUFFER_TOO_SMALL or PLIM_ERROR_INVALID_HANDLE.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn plim_plan_describe(plan: *const plim_plan, dst: *mut c_char, capacity: usize) -> plim_status {
    guard(|| {
        let text = format!("{}\0", *ptr::handle("plan", plan)?.read()?);
        let text: Vec<c_char> = text.bytes().map(|byte| byte as c_char).collect();
        // SAFETY: the caller promises `dst` is NULL or valid for `capacity` writes.
        unsafe { ptr::buffer("dst", dst, capacity, text.len()) }?.put(&text);
        Ok(())
    })
}

/// Ends a plan's handle.
///
/// @param plan  the plan; NULL and handles that are not live are ignored.
#[unsafe(no_mangle)]
pub extern "C" fn plim_plan_free(plan: *mut plim_plan) {
    getter(|| {
        ptr::free(plan);
        Some(())
    })
}
