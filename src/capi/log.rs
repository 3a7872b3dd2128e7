//! Telling a caller what long work does.

use super::constant::{Constant, number_of};
use crate::log::Level;
use std::ffi::{c_char, c_void};

/// Log level: the call is about to fail; the message is that of plim_last_error().
pub const PLIM_LOG_ERROR: i32 = 0;
/// Log level: the call goes on, but not quite as was asked for, or at a cost.
pub const PLIM_LOG_WARNING: i32 = 1;
/// Log level: what the call does, and why, that it was cancelled too; a few lines, and one for each checkpoint.
pub const PLIM_LOG_INFO: i32 = 2;
/// Log level: every epoch and every sample size that is tried.
pub const PLIM_LOG_DEBUG: i32 = 3;

impl Constant for Level {
    const ARGUMENT: &'static str = "level";
    const PREFIX: &'static str = "PLIM_LOG_";
    const ALL: &'static [(i32, Self)] = &[
        (PLIM_LOG_ERROR, Level::Error),
        (PLIM_LOG_WARNING, Level::Warning),
        (PLIM_LOG_INFO, Level::Info),
        (PLIM_LOG_DEBUG, Level::Debug),
    ];
}

/// Told what a call does.
///
/// Called on the thread of plim_train() or of a measurement, between its steps, once for each message. `message` is one line
/// of UTF-8 without a newline, ended by a zero byte and valid during the call only. Its words may change with any
/// release; what a program acts upon is in statuses, histories and plim_progress. Inside it the same calls work as
/// inside a plim_progress_fn; it cannot cancel. It must return: no exception and no longjmp may leave it.
pub type plim_log_fn = Option<unsafe extern "C" fn(user_data: *mut c_void, level: i32, message: *const c_char)>;

/// A function that takes messages up to a level, and what it wants handed back.
#[derive(Clone, Copy)]
pub struct Logger {
    level: Level,
    function: plim_log_fn,
    user_data: *mut c_void,
}

// SAFETY: the pointer is only handed back to its owner, on the thread of the call that was given it.
unsafe impl Send for Logger {}
// SAFETY: as above.
unsafe impl Sync for Logger {}

impl Logger {
    /// Nobody to tell.
    pub const NONE: Self = Logger { level: Level::Error, function: None, user_data: std::ptr::null_mut() };

    /// A caller's function and its data.
    pub fn new(level: Level, function: plim_log_fn, user_data: *mut c_void) -> Self {
        Logger { level, function, user_data }
    }

    /// Whether messages of this level have somebody to tell.
    pub fn wants(&self, level: Level) -> bool {
        self.function.is_some() && level <= self.level
    }

    /// Tells. What would end the line or the text, as a file's name may, becomes a space.
    pub fn write(self, level: Level, message: &str) {
        if let Some(function) = self.function {
            let line = message.bytes().map(|byte| if byte < b' ' { b' ' } else { byte });
            let line: Vec<u8> = line.chain([0]).collect();
            // SAFETY: a function of the caller's with this signature, given its own data and a string.
            unsafe { function(self.user_data, number_of(level), line.as_ptr().cast()) }
        }
    }
}
