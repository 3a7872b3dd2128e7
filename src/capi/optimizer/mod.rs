//! Optimizers.

mod schedule;

pub use schedule::*;

use crate::capi::body::{change, free};
use crate::capi::guard::guard;
use crate::capi::model::plim_model;
use crate::capi::ptr::{self, handles};
use crate::capi::status::plim_status;
use crate::error::{Error, ForThe, Result, try_copied, try_filled};
use crate::optim::{Interrupt, Optimizer, Set};
use std::ffi::c_void;

/// Moves parameters along gradients: SGD or Adam. Free it with plim_optimizer_free().
pub struct plim_optimizer {
    _opaque: [u8; 0],
}

/// Computes the gradient of your own objective for plim_optimizer_minimize().
///
/// It is called on the thread of that function. Return 0 to continue, anything else to stop.
///
/// @param user_data  the pointer passed to plim_optimizer_minimize().
/// @param step       1, 2, …
/// @param w          `dim` values, the present iterate; valid during the call only.
/// @param gradient   `dim` zeros, to be overwritten with the gradient at `w`; valid during the call
///                   only.
/// @param dim        number of variables.
pub type plim_oracle = Option<
    unsafe extern "C" fn(user_data: *mut c_void, step: usize, w: *const f64, gradient: *mut f64, dim: usize) -> i32,
>;

/// What the getters of an optimizer return.
#[derive(Clone, Copy, Default)]
pub struct OptimizerFacts {
    step: f64,
}

handles!(plim_optimizer, Optimizer, OptimizerFacts, |optimizer| OptimizerFacts { step: optimizer.next_step() });

/// Creates stochastic gradient descent with projection: w ← Π(w − γ_k g). The step γ_k is constant
/// at first, and Π the identity.
///
/// @param step  γ, finite and > 0.
/// @param out   receives the optimizer; free it with plim_optimizer_free().
///
/// @return PLIM_OK or a common error.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn plim_optimizer_sgd(step: f64, out: *mut *mut plim_optimizer) -> plim_status {
    // SAFETY: the caller promises `out` is NULL or valid for one write.
    guard(|| unsafe { ptr::out("out", out) }?.give(Optimizer::sgd(step)?))
}

/// Creates Adam. The update is that of PyTorch; with plim_optimizer_set_decay() it is that of AdamW.
///
/// β = (0.9, 0.999) and ε = 1e-8, unless plim_optimizer_set_betas() and plim_optimizer_set_epsilon()
/// change them.
///
/// @param step  γ, finite and > 0.
/// @param out   receives the optimizer; free it with plim_optimizer_free().
///
/// @return PLIM_OK or a common error.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn plim_optimizer_adam(step: f64, out: *mut *mut plim_optimizer) -> plim_status {
    // SAFETY: the caller promises `out` is NULL or valid for one write.
    guard(|| unsafe { ptr::out("out", out) }?.give(Optimizer::adam(step)?))
}

/// Frees an optimizer.
///
/// @param optimizer  the optimizer; NULL and handles that are not live are ignored.
#[unsafe(no_mangle)]
pub extern "C" fn plim_optimizer_free(optimizer: *mut plim_optimizer) {
    free(optimizer);
}

/// Sets decoupled weight decay: each update first multiplies w by 1 − γ_k·decay.
///
/// With Adam this is AdamW: torch.optim.AdamW(lr=step, weight_decay=decay). The other kind, where the
/// penalty is a part of the gradient, as in torch.optim.Adam(weight_decay=λ), is
/// plim_model_set_regularization().
///
/// @param optimizer  the optimizer.
/// @param decay      finite and >= 0. Default: 0.
///
/// @return PLIM_OK or a common error.
#[unsafe(no_mangle)]
#[must_use]
pub extern "C" fn plim_optimizer_set_decay(optimizer: *mut plim_optimizer, decay: f64) -> plim_status {
    change("optimizer", optimizer, |optimizer| optimizer.set_decay(decay))
}

/// Sets how fast Adam's moments decay: m ← β1·m + (1 − β1)·g and v ← β2·v + (1 − β2)·g². SGD ignores
/// it.
///
/// @param optimizer  the optimizer.
/// @param beta1      0 <= β1 < 1, also after rounding to float. Default: 0.9.
/// @param beta2      β1² < β2 < 1, also after rounding to float. Default: 0.999.
///
/// @return PLIM_OK or a common error.
#[unsafe(no_mangle)]
#[must_use]
pub extern "C" fn plim_optimizer_set_betas(optimizer: *mut plim_optimizer, beta1: f64, beta2: f64) -> plim_status {
    change("optimizer", optimizer, |optimizer| optimizer.set_betas(beta1, beta2))
}

/// Sets Adam's ε: the update is γ_k·m̂ / (√v̂ + ε). SGD ignores it.
///
/// @param optimizer  the optimizer.
/// @param epsilon    finite and >= 1e-16. Default: 1e-8.
///
/// @return PLIM_OK or a common error.
#[unsafe(no_mangle)]
#[must_use]
pub extern "C" fn plim_optimizer_set_epsilon(optimizer: *mut plim_optimizer, epsilon: f64) -> plim_status {
    change("optimizer", optimizer, |optimizer| optimizer.set_epsilon(epsilon))
}

/// Clips gradients by their norm: each update replaces g by g·min(1, norm / (‖g‖ + 1e-6)), as
/// torch.nn.utils.clip_grad_norm_ does.
///
/// ‖g‖ is over all parameters, in double, and includes the part of
/// plim_model_set_regularization().
///
/// @param optimizer  the optimizer.
/// @param norm       >= 0. Default: INFINITY; that and 0 mean no clipping.
///
/// @return PLIM_OK or a common error.
#[unsafe(no_mangle)]
#[must_use]
pub extern "C" fn plim_optimizer_set_clip(optimizer: *mut plim_optimizer, norm: f64) -> plim_status {
    change("optimizer", optimizer, |optimizer| optimizer.set_clip(norm))
}

/// Sets what iterates are projected to.
fn project(optimizer: *mut plim_optimizer, set: impl FnOnce() -> Result<Set>) -> plim_status {
    guard(|| {
        let optimizer = ptr::handle("optimizer", optimizer)?;
        let set = set()?;
        optimizer.write()?.set_set(set);
        Ok(())
    })
}

/// Projects iterates onto the ball ‖w‖ <= radius around 0. It replaces an earlier ball or box.
///
/// @param optimizer  the optimizer.
/// @param radius     > 0. Default: INFINITY, which means no projection.
///
/// @return PLIM_OK or a common error.
#[unsafe(no_mangle)]
#[must_use]
pub extern "C" fn plim_optimizer_set_ball(optimizer: *mut plim_optimizer, radius: f64) -> plim_status {
    project(optimizer, || Set::ball(radius))
}

/// Projects every parameter onto [low, high]. It replaces an earlier ball or box.
///
/// @param optimizer  the optimizer.
/// @param low        the lower bound; may be -INFINITY.
/// @param high       the upper bound, at least `low`; may be INFINITY.
///
/// @return PLIM_OK or a common error.
#[unsafe(no_mangle)]
#[must_use]
pub extern "C" fn plim_optimizer_set_box(optimizer: *mut plim_optimizer, low: f64, high: f64) -> plim_status {
    project(optimizer, || Set::cube(low, high))
}

/// Resets the counts of updates and epochs, the moments, both averages, and what
/// plim_optimizer_report() has reduced. Settings do not change.
///
/// @param optimizer  the optimizer.
///
/// @return PLIM_OK or a common error.
#[unsafe(no_mangle)]
#[must_use]
pub extern "C" fn plim_optimizer_reset(optimizer: *mut plim_optimizer) -> plim_status {
    change("optimizer", optimizer, |optimizer| {
        optimizer.reset();
        Ok(())
    })
}

/// Turns the running average of the iterates on or off. A change in either direction discards the
/// present average.
///
/// @param optimizer  the optimizer.
/// @param on         0 for off (default), any other value for on.
///
/// @return PLIM_OK or a common error.
#[unsafe(no_mangle)]
#[must_use]
pub extern "C" fn plim_optimizer_set_averaging(optimizer: *mut plim_optimizer, on: i32) -> plim_status {
    change("optimizer", optimizer, |optimizer| {
        optimizer.set_averaging(on != 0);
        Ok(())
    })
}

/// Keeps an exponential moving average of the parameters: e ← decay·e + (1 − decay)·w after each
/// update, in double.
///
/// The first update starts it from the parameters as they were before that update, which have the
/// weight decay^k after k updates. This is torch.optim.swa_utils.AveragedModel with
/// get_ema_multi_avg_fn(decay), if its update_parameters() is called once before the first step and
/// once after each. Another decay continues the present average.
///
/// @param optimizer  the optimizer.
/// @param decay      0 <= decay < 1; 0.99 averages about the last 100 iterates. Default: 0, which
///                   keeps no average and discards the present one.
///
/// @return PLIM_OK or a common error.
#[unsafe(no_mangle)]
#[must_use]
pub extern "C" fn plim_optimizer_set_ema(optimizer: *mut plim_optimizer, decay: f64) -> plim_status {
    change("optimizer", optimizer, |optimizer| optimizer.set_ema(decay))
}

/// Updates a model's parameters once, along a gradient.
///
/// With plim_estimator_gradient(), use it to write your own training loop. The first update fixes
/// the number of parameters until plim_optimizer_reset(). Clipping comes first, then decay, the step,
/// and the projection.
///
/// @param optimizer  the optimizer.
/// @param model      the model.
/// @param gradient   `count` finite values, in the order of plim_model_get_parameters().
/// @param count      plim_model_num_parameters().
///
/// @return PLIM_OK or a common error.
///         PLIM_ERROR_SHAPE_MISMATCH: `count` is another number, or earlier updates were of another
///           number of parameters.
///         PLIM_ERROR_INVALID_ARGUMENT: no float lies in the box of plim_optimizer_set_box().
///         PLIM_ERROR_DIVERGED: the gradient or the result is not finite.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn plim_optimizer_update(
    optimizer: *mut plim_optimizer,
    model: *mut plim_model,
    gradient: *const f32,
    count: usize,
) -> plim_status {
    guard(|| {
        let (optimizer, model) = (ptr::handle("optimizer", optimizer)?, ptr::handle("model", model)?);
        // SAFETY: the caller promises `count` readable values.
        let gradient = unsafe { ptr::slice("gradient", gradient, count) }?;
        let (mut optimizer, mut model) = (optimizer.write()?, model.write()?);
        optimizer.update(model.parameters_mut(), gradient)
    })
}

/// Copies the running average of the iterates, each taken before its update.
///
/// @param optimizer  an optimizer with averaging on.
/// @param dst        receives as many values as the model has parameters.
/// @param capacity   number of values that fit in `dst`.
///
/// @return PLIM_OK or a common error.
///         PLIM_ERROR_MISSING_DATA: no iterate has been averaged yet.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn plim_optimizer_average(
    optimizer: *const plim_optimizer,
    dst: *mut f32,
    capacity: usize,
) -> plim_status {
    // SAFETY: the caller promises `dst` is NULL or valid for `capacity` writes.
    unsafe { copy_rounded(optimizer, (dst, capacity), Optimizer::average) }
}

/// Copies the exponential moving average of the parameters.
///
/// @param optimizer  an optimizer with plim_optimizer_set_ema().
/// @param dst        receives as many values as the model has parameters; plim_model_set_parameters()
///                   takes them.
/// @param capacity   number of values that fit in `dst`.
///
/// @return PLIM_OK or a common error.
///         PLIM_ERROR_MISSING_DATA: there is no moving average, or no update since it was set.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn plim_optimizer_ema(
    optimizer: *const plim_optimizer,
    dst: *mut f32,
    capacity: usize,
) -> plim_status {
    // SAFETY: the caller promises `dst` is NULL or valid for `capacity` writes.
    unsafe { copy_rounded(optimizer, (dst, capacity), Optimizer::ema) }
}

/// Copies an average in float.
///
/// # Safety
/// `dst` must be NULL or valid for `capacity` writes.
unsafe fn copy_rounded(
    optimizer: *const plim_optimizer,
    (dst, capacity): (*mut f32, usize),
    average: impl FnOnce(&Optimizer) -> Result<&[f64]>,
) -> plim_status {
    guard(|| {
        let optimizer = ptr::handle("optimizer", optimizer)?;
        let optimizer = optimizer.read()?;
        let average = average(&optimizer)?;
        // SAFETY: the caller's promise is passed on.
        let buffer = unsafe { ptr::buffer("dst", dst, capacity, average.len()) }?;
        let mut rounded = try_filled(average.len(), 0f32).for_the("average")?;
        rounded.iter_mut().zip(average).for_each(|(r, a)| *r = *a as f32);
        buffer.put(&rounded);
        Ok(())
    })
}

/// Minimises your own objective in double precision, with T projected steps.
///
/// The oracle is called at w_1, the initial `w`, to w_T. Afterwards `w` is w_{T+1}, and `average`
/// the mean of w_1 .. w_T. The run uses the optimizer's rule, step, schedule, warm-up, clipping, decay
/// and projection. It starts at k = 1, is a single epoch and reports nothing. The state that the
/// optimizer keeps for a model is neither used nor changed.
///
/// @param optimizer  the optimizer.
/// @param oracle     computes the gradient; see plim_oracle.
/// @param user_data  passed to the oracle.
/// @param num_steps  T, at least 1.
/// @param w          `dim` finite values: the start, and then the result. If the call fails with
///                   PLIM_ERROR_DIVERGED or PLIM_ERROR_CANCELLED, it receives the last finite
///                   iterate.
/// @param average    receives `dim` values; may be NULL.
/// @param dim        number of variables, at least 1.
///
/// @return PLIM_OK or a common error.
///         PLIM_ERROR_DIVERGED: a gradient or an iterate is not finite.
///         PLIM_ERROR_CANCELLED: the oracle returned a non-zero value.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn plim_optimizer_minimize(
    optimizer: *mut plim_optimizer,
    oracle: plim_oracle,
    user_data: *mut c_void,
    num_steps: usize,
    w: *mut f64,
    average: *mut f64,
    dim: usize,
) -> plim_status {
    guard(|| {
        let optimizer = ptr::handle("optimizer", optimizer)?;
        let oracle = oracle.ok_or_else(|| Error::NullPointer("oracle is NULL".to_string()))?;
        check_problem(num_steps, dim)?;
        // SAFETY: the caller promises `dim` values behind `w` that may be read and written.
        let (start, result) = unsafe { (ptr::slice("w", w.cast_const(), dim)?, ptr::buffer("w", w, dim, dim)?) };
        // SAFETY: the caller promises `average` is NULL or valid for `dim` writes.
        let out = unsafe { ptr::optional_buffer("average", average, dim) }?;
        let mut iterate = try_copied(start).for_the("iterate")?;
        let mut mean = try_filled(if out.is_some() { dim } else { 0 }, 0.0).for_the("average")?;
        let averaging = out.is_some().then_some(&mut mean[..]);
        let outcome = optimizer.write()?.minimize(num_steps, &mut iterate, averaging, |step, w, g| {
            // SAFETY: a function of the caller's with the signature of plim_oracle, given arrays of `dim` elements.
            match unsafe { oracle(user_data, step, w.as_ptr(), g.as_mut_ptr(), dim) } {
                0 => Ok(()),
                _ => Err(Interrupt),
            }
        });
        if matches!(outcome, Ok(()) | Err(Error::Diverged(_) | Error::Cancelled(_))) {
            result.put(&iterate);
        }
        outcome?;
        out.into_iter().for_each(|out| out.put(&mean));
        Ok(())
    })
}

fn check_problem(num_steps: usize, dim: usize) -> Result<()> {
    for (name, value) in [("num_steps", num_steps), ("dim", dim)] {
        if value == 0 {
            return Err(Error::InvalidArgument(format!("{name} = 0 is not at least 1")));
        }
    }
    Ok(())
}
