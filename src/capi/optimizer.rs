//! Optimizers.

use super::constant::{Constant, constant};
use super::guard::{getter, guard};
use super::handle::Object;
use super::model::plim_model;
use super::ptr::{self, Opaque};
use super::status::plim_status;
use crate::error::{Error, ForThe, Result, try_copied, try_filled};
use crate::optim::{Interrupt, Optimizer, Schedule, Set};
use std::ffi::c_void;

/// Moves parameters along gradients. Release it with plim_optimizer_free().
pub struct plim_optimizer {
    _opaque: [u8; 0],
}

/// The step is γ. The default.
pub const PLIM_SCHEDULE_CONSTANT: i32 = 0;
/// The step is γ/k at the k-th update.
pub const PLIM_SCHEDULE_INVERSE: i32 = 1;
/// The step is γ/√k at the k-th update.
pub const PLIM_SCHEDULE_INVERSE_SQRT: i32 = 2;

impl Constant for Schedule {
    const ARGUMENT: &'static str = "schedule";
    const PREFIX: &'static str = "PLIM_SCHEDULE_";
    const ALL: &'static [(i32, Self)] = &[
        (PLIM_SCHEDULE_CONSTANT, Schedule::Constant),
        (PLIM_SCHEDULE_INVERSE, Schedule::Inverse),
        (PLIM_SCHEDULE_INVERSE_SQRT, Schedule::InverseSqrt),
    ];
}

/// A caller's own problem: fills `gradient` at `w`.
///
/// Called on the thread of plim_optimizer_minimize(), with step = 1, 2, …; both arrays have `dim` elements, are valid
/// during the call only, and `gradient` comes filled with zeros. A non-zero answer stops the minimisation.
pub type plim_oracle = Option<
    unsafe extern "C" fn(user_data: *mut c_void, step: usize, w: *const f64, gradient: *mut f64, dim: usize) -> i32,
>;

impl Object for Optimizer {
    const NAME: &'static str = "plim_optimizer";
    type Facts = ();

    fn facts(&self) {}
}

impl Opaque for plim_optimizer {
    type Object = Optimizer;
}

/// Makes stochastic gradient descent: w ← Π(w − γ_k g), with a constant step at first.
///
/// @param step  γ, finite and > 0.
/// @param out   receives the optimizer; release it with plim_optimizer_free(). Untouched unless PLIM_OK is returned.
///
/// @return PLIM_OK, PLIM_ERROR_NULL_POINTER or PLIM_ERROR_INVALID_ARGUMENT.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn plim_optimizer_sgd(step: f64, out: *mut *mut plim_optimizer) -> plim_status {
    // SAFETY: the caller promises `out` is NULL or valid for one write.
    guard(|| unsafe { ptr::out("out", out) }?.give(Optimizer::sgd(step)?))
}

/// Makes Adam with β = 0.9, 0.999 and ε = 1e-8, as PyTorch has it.
///
/// @param step  γ, finite and > 0.
/// @param out   receives the optimizer; release it with plim_optimizer_free(). Untouched unless PLIM_OK is returned.
///
/// @return PLIM_OK, PLIM_ERROR_NULL_POINTER or PLIM_ERROR_INVALID_ARGUMENT.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn plim_optimizer_adam(step: f64, out: *mut *mut plim_optimizer) -> plim_status {
    // SAFETY: the caller promises `out` is NULL or valid for one write.
    guard(|| unsafe { ptr::out("out", out) }?.give(Optimizer::adam(step)?))
}

/// Ends an optimizer's handle.
///
/// @param optimizer  the optimizer; NULL and handles that are not live are ignored.
#[unsafe(no_mangle)]
pub extern "C" fn plim_optimizer_free(optimizer: *mut plim_optimizer) {
    getter(|| {
        ptr::free(optimizer);
        Some(())
    })
}

/// Chooses how the step changes with k, the number of updates since the optimizer was made or reset.
///
/// @param optimizer  the optimizer.
/// @param schedule   PLIM_SCHEDULE_CONSTANT (default), PLIM_SCHEDULE_INVERSE or PLIM_SCHEDULE_INVERSE_SQRT.
///
/// @return PLIM_OK, PLIM_ERROR_NULL_POINTER, PLIM_ERROR_INVALID_ARGUMENT, PLIM_ERROR_INVALID_HANDLE or PLIM_ERROR_BUSY.
#[unsafe(no_mangle)]
#[must_use]
pub extern "C" fn plim_optimizer_set_schedule(optimizer: *mut plim_optimizer, schedule: i32) -> plim_status {
    guard(|| {
        let optimizer = ptr::handle("optimizer", optimizer)?;
        let schedule = constant::<Schedule>(schedule)?;
        optimizer.write()?.set_schedule(schedule);
        Ok(())
    })
}

/// Sets decoupled weight decay, as in AdamW: w shrinks by the factor 1 − γ_k·decay before each step.
///
/// @param optimizer  the optimizer.
/// @param decay      finite and >= 0; 0 at first.
///
/// @return PLIM_OK, PLIM_ERROR_NULL_POINTER, PLIM_ERROR_INVALID_ARGUMENT, PLIM_ERROR_INVALID_HANDLE or PLIM_ERROR_BUSY.
#[unsafe(no_mangle)]
#[must_use]
pub extern "C" fn plim_optimizer_set_decay(optimizer: *mut plim_optimizer, decay: f64) -> plim_status {
    guard(|| ptr::handle("optimizer", optimizer)?.write()?.set_decay(decay))
}

/// Keeps iterates in the ball ‖w‖ <= radius around 0, in place of an earlier ball or box.
///
/// @param optimizer  the optimizer.
/// @param radius     > 0; INFINITY for no bound, which is the default.
///
/// @return PLIM_OK, PLIM_ERROR_NULL_POINTER, PLIM_ERROR_INVALID_ARGUMENT, PLIM_ERROR_INVALID_HANDLE or PLIM_ERROR_BUSY.
#[unsafe(no_mangle)]
#[must_use]
pub extern "C" fn plim_optimizer_set_ball(optimizer: *mut plim_optimizer, radius: f64) -> plim_status {
    guard(|| {
        let optimizer = ptr::handle("optimizer", optimizer)?;
        let set = Set::ball(radius)?;
        optimizer.write()?.set_set(set);
        Ok(())
    })
}

/// Keeps every parameter in [low, high], in place of an earlier ball or box.
///
/// @param optimizer  the optimizer.
/// @param low        may be -INFINITY.
/// @param high       not below `low`; may be INFINITY.
///
/// @return PLIM_OK, PLIM_ERROR_NULL_POINTER, PLIM_ERROR_INVALID_ARGUMENT, PLIM_ERROR_INVALID_HANDLE or PLIM_ERROR_BUSY.
#[unsafe(no_mangle)]
#[must_use]
pub extern "C" fn plim_optimizer_set_box(optimizer: *mut plim_optimizer, low: f64, high: f64) -> plim_status {
    guard(|| {
        let optimizer = ptr::handle("optimizer", optimizer)?;
        let set = Set::cube(low, high)?;
        optimizer.write()?.set_set(set);
        Ok(())
    })
}

/// Forgets k, moments and average; the settings stay.
///
/// @param optimizer  the optimizer.
///
/// @return PLIM_OK, PLIM_ERROR_NULL_POINTER, PLIM_ERROR_INVALID_HANDLE or PLIM_ERROR_BUSY.
#[unsafe(no_mangle)]
#[must_use]
pub extern "C" fn plim_optimizer_reset(optimizer: *mut plim_optimizer) -> plim_status {
    guard(|| {
        ptr::handle("optimizer", optimizer)?.write()?.reset();
        Ok(())
    })
}

/// Switches the running average of the iterates on or off; switching it on starts a new average.
///
/// @param optimizer  the optimizer.
/// @param on         0 for off, which is the default; anything else for on.
///
/// @return PLIM_OK, PLIM_ERROR_NULL_POINTER, PLIM_ERROR_INVALID_HANDLE or PLIM_ERROR_BUSY.
#[unsafe(no_mangle)]
#[must_use]
pub extern "C" fn plim_optimizer_set_averaging(optimizer: *mut plim_optimizer, on: i32) -> plim_status {
    guard(|| {
        ptr::handle("optimizer", optimizer)?.write()?.set_averaging(on != 0);
        Ok(())
    })
}

/// Moves a model's parameters along a gradient, once.
///
/// With plim_estimator_gradient() this makes a training loop of the caller's own. The first update ties the optimizer to
/// the number of parameters, until plim_optimizer_reset().
///
/// @param optimizer  the optimizer.
/// @param model      the model.
/// @param gradient   `count` finite values, in the order of plim_model_get_parameters().
/// @param count      plim_model_num_parameters().
///
/// @return PLIM_OK, PLIM_ERROR_NULL_POINTER, PLIM_ERROR_SHAPE_MISMATCH (another count, or another model before),
///         PLIM_ERROR_INVALID_ARGUMENT (a box without a float in it),
///         PLIM_ERROR_DIVERGED (the gradient or the result is not finite), PLIM_ERROR_INVALID_HANDLE, PLIM_ERROR_BUSY or
///         PLIM_ERROR_OUT_OF_MEMORY. On failure the model keeps its parameters.
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
/// @param optimizer  an optimizer that has averaged.
/// @param dst        receives as many values as the model has parameters; untouched unless PLIM_OK is returned.
/// @param capacity   values that `dst` has room for.
///
/// @return PLIM_OK, PLIM_ERROR_NULL_POINTER, PLIM_ERROR_MISSING_DATA (nothing was averaged), PLIM_ERROR_BUFFER_TOO_SMALL,
///         PLIM_ERROR_INVALID_HANDLE, PLIM_ERROR_BUSY or PLIM_ERROR_OUT_OF_MEMORY.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn plim_optimizer_average(
    optimizer: *const plim_optimizer,
    dst: *mut f32,
    capacity: usize,
) -> plim_status {
    guard(|| {
        let optimizer = ptr::handle("optimizer", optimizer)?;
        let optimizer = optimizer.read()?;
        let average = optimizer.average()?;
        // SAFETY: the caller promises `dst` is NULL or valid for `capacity` writes.
        let buffer = unsafe { ptr::buffer("dst", dst, capacity, average.len()) }?;
        let mut rounded = try_filled(average.len(), 0f32).for_the("average")?;
        rounded.iter_mut().zip(average).for_each(|(r, a)| *r = *a as f32);
        buffer.put(&rounded);
        Ok(())
    })
}

/// Runs projected steps on a caller's own problem, in double precision.
///
/// The oracle is called at w_1 (the `w` given) … w_T; on return `w` is w_{T+1} and `average` (1/T)·Σ w_k over k = 1 … T,
/// each taken before its update. The run starts at k = 1 with the optimizer's rule, step, schedule, decay and set;
/// what the optimizer remembers of a model it moves is neither used nor changed.
///
/// @param optimizer  the optimizer.
/// @param oracle     gives the gradient; see plim_oracle.
/// @param user_data  handed to the oracle as it is.
/// @param num_steps  T, at least 1.
/// @param w          `dim` finite values: the start, and the result. On PLIM_ERROR_DIVERGED and PLIM_ERROR_CANCELLED it
///                   receives the last finite iterate; on other failures it stays as it was.
/// @param average    receives `dim` values, or NULL. Untouched unless PLIM_OK is returned.
/// @param dim        at least 1.
///
/// @return PLIM_OK, PLIM_ERROR_NULL_POINTER, PLIM_ERROR_INVALID_ARGUMENT, PLIM_ERROR_DIVERGED (a gradient or an iterate is
///         not finite), PLIM_ERROR_CANCELLED (the oracle answered non-zero), PLIM_ERROR_INVALID_HANDLE, PLIM_ERROR_BUSY
///         or PLIM_ERROR_OUT_OF_MEMORY.
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
