//! Telling a caller how far long work is.

use crate::optim::Interrupt;
use std::ffi::c_void;

/// How far training or a measurement is. It grows at its end with later versions: `struct_size` says how far this one reaches.
#[repr(C)]
pub struct plim_progress {
    /// sizeof(plim_progress) of the library.
    pub struct_size: usize,
    /// The epoch at work or just done, from 1. In a measurement, the sample size at work.
    pub epoch: usize,
    /// Epochs, or sample sizes, in all; a planner's is a guess.
    pub num_epochs: usize,
    /// Steps done in this epoch, `num_steps` when it is done; in a measurement, the gradients drawn of this sample size.
    pub step: usize,
    /// Steps of an epoch; gradients to draw of each sample size.
    pub num_steps: usize,
    /// Loss over all training nodes after this epoch; NaN if not evaluated.
    pub train_loss: f64,
    /// Loss over the validation nodes; NaN if not evaluated.
    pub val_loss: f64,
    /// Accuracy over the validation nodes; NaN if not evaluated.
    pub val_accuracy: f64,
    /// Seconds of training steps, or of the measurement, so far.
    pub seconds: f64,
    /// Mean NDCG of the validation queries; NaN if not evaluated, and on a graph.
    pub val_ndcg: f64,
}

/// Told of progress; a non-zero answer cancels.
///
/// Called on the thread of plim_train(), after each epoch and, within a long one, about twice a second; or on that of a
/// measurement (plim_tail_probability(), plim_tail_new(), plim_plan_new()), a few times a second. `progress` is valid during
/// the call only. Inside it, const calls on the model and the graph work (a save, a predict), and see the parameters of the
/// last step; calls that change them are PLIM_ERROR_BUSY.
pub type plim_progress_fn = Option<unsafe extern "C" fn(user_data: *mut c_void, progress: *const plim_progress) -> i32>;

/// A function to tell, and what it wants handed back.
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
    /// Nobody to tell.
    pub const NONE: Self = Callback { function: None, user_data: std::ptr::null_mut() };

    /// A caller's function and its data.
    pub fn new(function: plim_progress_fn, user_data: *mut c_void) -> Self {
        Callback { function, user_data }
    }

    /// Whether there is nobody to tell.
    pub fn is_none(&self) -> bool {
        self.function.is_none()
    }

    /// Tells.
    pub fn call(self, progress: &plim_progress) -> Result<(), Interrupt> {
        // SAFETY: a function of the caller's with this signature, given its own data and a live struct.
        match self.function.map_or(0, |function| unsafe { function(self.user_data, progress) }) {
            0 => Ok(()),
            _ => Err(Interrupt),
        }
    }
}
