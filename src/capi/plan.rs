//! The planner: how many draws suffice, and whether they pay.

use super::body::{copy, free};
use super::constant::{constant, constants};
use super::estimator::plim_estimator;
use super::graph::plim_graph;
use super::guard::{getter, guard};
use super::model::plim_model;
use super::ptr::{self, Opaque, handles};
use super::status::plim_status;
use super::tail::{ProbeOptions, plim_probe_options};
use crate::error::Result;
use crate::estimator::Problem;
use crate::theory::plan::{Goal, Number, Plan, plan};
use std::ffi::c_char;

/// How many draws suffice, and what they cost. Free it with plim_plan_free().
pub struct plim_plan {
    _opaque: [u8; 0],
}

/// The smallest sample size that meets the goal; 0 if none does.
pub const PLIM_PLAN_SAMPLE_SIZE: i32 = 0;
/// Fraction of the gradients of the planned size with a relative error of δ or more; NaN if no size
/// meets the goal.
pub const PLIM_PLAN_MISSES: i32 = 1;
/// Upper limit of the 95 % Wilson interval of PLIM_PLAN_MISSES; NaN if no size meets the goal.
pub const PLIM_PLAN_UPPER: i32 = 2;
/// Seconds per gradient of the planned size; NaN if no size meets the goal.
pub const PLIM_PLAN_SECONDS: i32 = 3;
/// Seconds per exact gradient of the same nodes: all training nodes, or the batch of the options.
pub const PLIM_PLAN_EXACT_SECONDS: i32 = 4;
/// Seconds per unbiased gradient of a batch of PLIM_PLAN_UNBIASED_BATCH nodes or queries.
pub const PLIM_PLAN_UNBIASED_SECONDS: i32 = 5;
/// The first of the batch sizes 32, 64, 128, … whose unbiased gradients meet the goal, judged by at
/// most 200 of them; all nodes or queries if none does.
pub const PLIM_PLAN_UNBIASED_BATCH: i32 = 6;
/// C of the fitted tail; NaN if no fit was required.
pub const PLIM_PLAN_C: i32 = 7;
/// τ of the fitted tail; NaN if no fit was required.
pub const PLIM_PLAN_TAU: i32 = 8;
/// r² of the fitted tail; NaN if no fit was required.
pub const PLIM_PLAN_R_SQUARED: i32 = 9;

constants!(
    Number,
    "what",
    "PLIM_PLAN_",
    [
        (PLIM_PLAN_SAMPLE_SIZE, SampleSize),
        (PLIM_PLAN_MISSES, Misses),
        (PLIM_PLAN_UPPER, Upper),
        (PLIM_PLAN_SECONDS, Seconds),
        (PLIM_PLAN_EXACT_SECONDS, ExactSeconds),
        (PLIM_PLAN_UNBIASED_SECONDS, UnbiasedSeconds),
        (PLIM_PLAN_UNBIASED_BATCH, UnbiasedBatch),
        (PLIM_PLAN_C, C),
        (PLIM_PLAN_TAU, Tau),
        (PLIM_PLAN_R_SQUARED, RSquared)
    ]
);

/// Number of bytes that hold every text of plim_plan_describe().
pub const PLIM_PLAN_TEXT_SIZE: usize = 512;

/// What the getters of a plan return.
#[derive(Clone, Copy, Default)]
pub struct PlanFacts {
    pays: bool,
    num_sizes: usize,
}

handles!(plim_plan, Plan, PlanFacts, |plan| PlanFacts { pays: plan.pays, num_sizes: plan.sizes.len() });

/// Searches for the smallest sample size at which, with probability 1−ε, none of T gradients has a
/// relative error of δ or more, and measures its cost.
///
/// Sizes up to the number of nodes are tried by drawing gradients, as plim_tail_probability() does.
/// A size meets the goal if the upper 95 % limit of its misses is at most ε/T. If ε/T is too small
/// for the number of draws to show, a tail is fitted to larger probabilities, as plim_tail_fit()
/// does, and extrapolated.
///
/// The plan holds at the model's current parameters. The gradient shrinks in training, so make a new
/// plan from time to time, or use plim_train_options_set_adaptive().
///
/// The sample size depends on the seed of the options only. Seconds, and so plim_plan_pays(), are
/// measured.
///
/// @param estimator  a consistent estimator, whose sample sizes that are not 0 are planned, or the
///                   unbiased one, whose batch size is planned. It does not change.
/// @param model      the model; its threads share the work.
/// @param graph      a graph with labels, and with features that fit the model.
/// @param delta      δ, finite and > 0, relative to the norm of the exact gradient.
/// @param epsilon    ε, 0 < ε <= 1.
/// @param t          T, the number of steps, at least 1.
/// @param options    the options, or NULL for the defaults.
/// @param out        receives the plan; free it with plim_plan_free().
///
/// @return PLIM_OK, also if no size meets the goal, or a common error.
///         PLIM_ERROR_INVALID_ARGUMENT, PLIM_ERROR_SHAPE_MISMATCH, PLIM_ERROR_DIVERGED,
///           PLIM_ERROR_CANCELLED: as plim_tail_probability().
///         PLIM_ERROR_MISSING_DATA: also if the tail is too steep to fit; more draws may help.
///         PLIM_ERROR_UNSUPPORTED: the estimator draws nothing, or is for rankings.
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

/// Plans on the problem of a handle. Errors name the handle.
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

/// Returns whether sampling pays.
///
/// It pays if a sample size meets the goal and its gradient takes less time than the exact one.
/// Unless the estimator is the unbiased one, it must also take less time than the unbiased gradient
/// of a batch that meets the goal.
///
/// @param plan  the plan.
///
/// @return 1 if sampling pays, else 0.
#[unsafe(no_mangle)]
pub extern "C" fn plim_plan_pays(plan: *const plim_plan) -> i32 {
    getter(|| Some(ptr::facts(plan)?.pays.into()))
}

/// Returns the number of sample sizes: the number of layers of a consistent estimator, else 1.
///
/// @param plan  the plan.
///
/// @return the number of sizes.
#[unsafe(no_mangle)]
pub extern "C" fn plim_plan_num_sizes(plan: *const plim_plan) -> usize {
    getter(|| Some(ptr::facts(plan)?.num_sizes))
}

/// Copies the sample sizes, in the form that plim_estimator_consistent() takes.
///
/// @param plan      the plan.
/// @param dst       receives plim_plan_num_sizes() sizes: the input layer first, 0 for an exact
///                  input; or the batch size of the unbiased estimator. All are 0 if no size meets
///                  the goal.
/// @param capacity  number of sizes that fit in `dst`.
///
/// @return PLIM_OK or a common error.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn plim_plan_copy_sizes(plan: *const plim_plan, dst: *mut usize, capacity: usize) -> plim_status {
    // SAFETY: the caller promises `dst` is NULL or valid for `capacity` writes.
    unsafe { copy(("plan", plan), (dst, capacity), |plan| Ok(&plan.sizes)) }
}

/// Copies one number of a plan.
///
/// @param plan  the plan.
/// @param what  a PLIM_PLAN_ constant, from PLIM_PLAN_SAMPLE_SIZE to PLIM_PLAN_R_SQUARED.
/// @param out   receives the number.
///
/// @return PLIM_OK or a common error.
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

/// Copies a description of the plan in English: whether to sample, how many nodes, and the costs.
///
/// @param plan      the plan.
/// @param dst       receives the text, terminated by NUL.
/// @param capacity  number of bytes that fit in `dst`; PLIM_PLAN_TEXT_SIZE is enough.
///
/// @return PLIM_OK or a common error.
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

/// Frees a plan.
///
/// @param plan  the plan; NULL and handles that are not live are ignored.
#[unsafe(no_mangle)]
pub extern "C" fn plim_plan_free(plan: *mut plim_plan) {
    free(plan);
}
