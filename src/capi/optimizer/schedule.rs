//! How an optimizer's step changes.

use super::plim_optimizer;
use crate::capi::body::change;
use crate::capi::constant::{constant, constants};
use crate::capi::guard::getter;
use crate::capi::ptr;
use crate::capi::status::plim_status;
use crate::error::Result;
use crate::optim::{Schedule, Span, Unit};

/// The step of the k-th update is γ_k = γ. The default.
pub const PLIM_SCHEDULE_CONSTANT: i32 = 0;
/// The step of the k-th update is γ_k = γ / k.
pub const PLIM_SCHEDULE_INVERSE: i32 = 1;
/// The step of the k-th update is γ_k = γ / √k.
pub const PLIM_SCHEDULE_INVERSE_SQRT: i32 = 2;

constants!(
    Schedule,
    "schedule",
    "PLIM_SCHEDULE_",
    [(PLIM_SCHEDULE_CONSTANT, Constant), (PLIM_SCHEDULE_INVERSE, Inverse), (PLIM_SCHEDULE_INVERSE_SQRT, InverseSqrt)]
);

/// A schedule's time t is the number of updates so far: k − 1.
pub const PLIM_UNIT_UPDATES: i32 = 0;
/// A schedule's time t is the number of epochs so far. plim_train() and plim_rank_train() count them;
/// in your own loop, plim_optimizer_end_epoch() does.
pub const PLIM_UNIT_EPOCHS: i32 = 1;

constants!(Unit, "unit", "PLIM_UNIT_", [(PLIM_UNIT_UPDATES, Updates), (PLIM_UNIT_EPOCHS, Epochs)]);

fn span(length: usize, unit: i32) -> Result<Span> {
    Ok(Span { length: length as u64, unit: constant(unit)? })
}

/// Selects how the step γ_k depends on k, which counts the updates since the optimizer was created
/// or reset, from 1.
///
/// It replaces plim_optimizer_set_step_decay() and plim_optimizer_set_cosine().
///
/// @param optimizer  the optimizer.
/// @param schedule   PLIM_SCHEDULE_CONSTANT (default), PLIM_SCHEDULE_INVERSE or
///                   PLIM_SCHEDULE_INVERSE_SQRT.
///
/// @return PLIM_OK or a common error.
#[unsafe(no_mangle)]
#[must_use]
pub extern "C" fn plim_optimizer_set_schedule(optimizer: *mut plim_optimizer, schedule: i32) -> plim_status {
    change("optimizer", optimizer, |optimizer| {
        optimizer.set_schedule(constant(schedule)?);
        Ok(())
    })
}

/// Multiplies the step by a factor at regular times: γ_k = γ·factor^⌊t / every⌋, as PyTorch's StepLR.
/// (Weight decay is plim_optimizer_set_decay().)
///
/// It replaces plim_optimizer_set_schedule() and plim_optimizer_set_cosine().
///
/// @param optimizer  the optimizer.
/// @param every      number of updates or epochs, at least 1.
/// @param unit       what t and `every` count: PLIM_UNIT_UPDATES or PLIM_UNIT_EPOCHS.
/// @param factor     0 < factor <= 1.
///
/// @return PLIM_OK or a common error.
#[unsafe(no_mangle)]
#[must_use]
pub extern "C" fn plim_optimizer_set_step_decay(
    optimizer: *mut plim_optimizer,
    every: usize,
    unit: i32,
    factor: f64,
) -> plim_status {
    change("optimizer", optimizer, |optimizer| optimizer.set_step_decay(span(every, unit)?, factor))
}

/// Lowers the step along half a cosine: γ_k = minimum + (γ − minimum)·(1 + cos(π·t / length)) / 2, as
/// PyTorch's CosineAnnealingLR. From t = length on, the step stays at the minimum.
///
/// It replaces plim_optimizer_set_schedule() and plim_optimizer_set_step_decay().
///
/// @param optimizer  the optimizer.
/// @param length     number of updates or epochs, at least 1; for a whole training,
///                   PLIM_UNIT_EPOCHS and the number of epochs.
/// @param unit       what t and `length` count: PLIM_UNIT_UPDATES or PLIM_UNIT_EPOCHS.
/// @param minimum    the last step, 0 <= minimum <= γ.
///
/// @return PLIM_OK or a common error.
#[unsafe(no_mangle)]
#[must_use]
pub extern "C" fn plim_optimizer_set_cosine(
    optimizer: *mut plim_optimizer,
    length: usize,
    unit: i32,
    minimum: f64,
) -> plim_status {
    change("optimizer", optimizer, |optimizer| optimizer.set_cosine(span(length, unit)?, minimum))
}

/// Starts with smaller steps: multiplies the step of the schedule, whichever it is, by
/// start + (1 − start)·min(t, length) / length, as PyTorch's LinearLR.
///
/// The schedule's own time does not wait for the warm-up to end. `start` = 1/n with `length` = n − 1
/// gives the factors 1/n, 2/n, … 1.
///
/// @param optimizer  the optimizer.
/// @param length     number of updates or epochs. Default: 0, for no warm-up.
/// @param unit       what t and `length` count: PLIM_UNIT_UPDATES or PLIM_UNIT_EPOCHS.
/// @param start      the first factor, 0 <= start <= 1.
///
/// @return PLIM_OK or a common error.
#[unsafe(no_mangle)]
#[must_use]
pub extern "C" fn plim_optimizer_set_warmup(
    optimizer: *mut plim_optimizer,
    length: usize,
    unit: i32,
    start: f64,
) -> plim_status {
    change("optimizer", optimizer, |optimizer| optimizer.set_warmup(span(length, unit)?, start))
}

/// Reduces the step when a measure stops improving, as PyTorch's ReduceLROnPlateau with threshold 0.
///
/// plim_train() and plim_rank_train() report the measure of plim_train_options_set_monitor() after
/// each evaluation; in your own loop, plim_optimizer_report() does. When more than `patience` reports
/// in a row are not better than the best one, γ is multiplied by `factor`, down to `minimum`, and
/// counting starts again. The factor applies to the step of any schedule and warm-up.
///
/// The call forgets earlier reports and reductions, as plim_optimizer_reset() does.
///
/// @param optimizer  the optimizer.
/// @param factor     0 < factor <= 1. Default: 1, for no reductions.
/// @param patience   number of reports; 0 reduces at the first one that is not better.
/// @param minimum    the lowest γ, 0 <= minimum <= γ.
///
/// @return PLIM_OK or a common error.
#[unsafe(no_mangle)]
#[must_use]
pub extern "C" fn plim_optimizer_set_plateau(
    optimizer: *mut plim_optimizer,
    factor: f64,
    patience: usize,
    minimum: f64,
) -> plim_status {
    change("optimizer", optimizer, |optimizer| optimizer.set_plateau(factor, patience as u64, minimum))
}

/// Reports a measure for plim_optimizer_set_plateau(), without which it has no effect.
///
/// For your own loop, after each evaluation. plim_train() and plim_rank_train() make their reports
/// themselves.
///
/// @param optimizer  the optimizer.
/// @param value      not NaN; lower is better, so negate an accuracy.
///
/// @return PLIM_OK or a common error.
#[unsafe(no_mangle)]
#[must_use]
pub extern "C" fn plim_optimizer_report(optimizer: *mut plim_optimizer, value: f64) -> plim_status {
    change("optimizer", optimizer, |optimizer| optimizer.report(value).map(drop))
}

/// Counts an epoch for schedules with PLIM_UNIT_EPOCHS.
///
/// For your own loop, after each pass over the training nodes. plim_train() and plim_rank_train() count
/// their epochs themselves.
///
/// @param optimizer  the optimizer.
///
/// @return PLIM_OK or a common error.
#[unsafe(no_mangle)]
#[must_use]
pub extern "C" fn plim_optimizer_end_epoch(optimizer: *mut plim_optimizer) -> plim_status {
    change("optimizer", optimizer, |optimizer| {
        optimizer.end_epoch();
        Ok(())
    })
}

/// Returns the step γ_k of the next update: that of the schedule, times warm-up and reductions.
///
/// @param optimizer  the optimizer. While plim_train() uses it, the value is that before the call.
///
/// @return the step, >= 0.
#[unsafe(no_mangle)]
pub extern "C" fn plim_optimizer_step_size(optimizer: *const plim_optimizer) -> f64 {
    getter(|| Some(ptr::facts(optimizer)?.step))
}
