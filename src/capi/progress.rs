//! Progress callbacks.

use crate::optim::Interrupt;
use std::ffi::c_void;

/// Progress of a training or a measurement.
///
/// Later versions add fields at the end; `struct_size` says which ones are there. Losses, accuracy
/// and NDCG are NaN where they were not evaluated: within an epoch, in epochs that
/// plim_train_options_set_evaluate_every() skips, and in a measurement.
#[repr(C)]
pub struct plim_progress {
    /// sizeof(plim_progress) in the library that calls you.
    pub struct_size: usize,
    /// Training: the current epoch, from 1. Measurement: the current sample size, by its place from
    /// 1.
    pub epoch: usize,
    /// Training: number of epochs. Measurement: number of sample sizes, which a planner can only
    /// guess.
    pub num_epochs: usize,
    /// Training: steps completed in this epoch; `num_steps` at its end. Measurement: gradients drawn
    /// of this sample size.
    pub step: usize,
    /// Training: steps per epoch. Measurement: gradients to draw of this sample size.
    pub num_steps: usize,
    /// Loss over all training nodes or queries after this epoch, or NaN.
    pub train_loss: f64,
    /// Loss over the validation nodes or queries, or NaN.
    pub val_loss: f64,
    /// Accuracy over the validation nodes, or over the pairs of the validation queries, or NaN.
    pub val_accuracy: f64,
    /// Seconds so far: of training steps, without evaluation and callbacks, or of the measurement.
    pub seconds: f64,
    /// Mean NDCG over the validation queries, or NaN; always NaN for a graph.
    pub val_ndcg: f64,
}

/// Receives progress. Return 0 to continue, anything else to cancel.
///
/// In training it is called after each epoch and, within long epochs, at most every 0.5 seconds. In
/// a measurement it is called about every 0.2 seconds. `progress` is valid during the call only.
///
/// Inside the callback, `const` calls on model and graph work, for example plim_model_save() and
/// plim_model_predict(); they see the parameters after the last step. Calls that would change these
/// objects fail with PLIM_ERROR_BUSY.
///
/// @param user_data  the pointer that was set with the function.
/// @param progress   the progress.
pub type plim_progress_fn = Option<unsafe extern "C" fn(user_data: *mut c_void, progress: *const plim_progress) -> i32>;

/// A caller's function and its user data.
#[derive(Clone, Copy)]
pub struct Callback {
    function: plim_progress_fn,
    user_data: *mut c_void,
}

// SAFETY: the pointer is only handed back to its owner, on the thread of the call that was given it.
unsafe impl Send for Callback {}
// SAFETY: as above.
unsafe impl Sync for Callback {}

impl Callback {
    /// No callback.
    pub const NONE: Self = Callback { function: None, user_data: std::ptr::null_mut() };

    /// A callback with the caller's function and its user data.
    pub fn new(function: plim_progress_fn, user_data: *mut c_void) -> Self {
        Callback { function, user_data }
    }

    /// Whether there is no callback.
    pub fn is_none(&self) -> bool {
        self.function.is_none()
    }

    /// Calls the function, if there is one.
    pub fn call(self, progress: &plim_progress) -> Result<(), Interrupt> {
        // SAFETY: a function of the caller's with this signature, given its own data and a live struct.
        match self.function.map_or(0, |function| unsafe { function(self.user_data, progress) }) {
            0 => Ok(()),
            _ => Err(Interrupt),
        }
    }
}
