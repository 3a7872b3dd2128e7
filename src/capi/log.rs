//! Log callbacks.

use super::constant::{constant, constants, number_of};
use super::guard::guard;
use super::ptr::{self, Opaque};
use super::status::plim_status;
use crate::log::{Level, Log};
use std::ffi::{c_char, c_void};

/// The call is about to fail. The message is the one that plim_last_error() will return.
pub const PLIM_LOG_ERROR: i32 = 0;
/// The call continues, but not quite as requested, or at a cost.
pub const PLIM_LOG_WARNING: i32 = 1;
/// What the call does and why, including that it was cancelled: a few lines per call, and one per
/// checkpoint.
pub const PLIM_LOG_INFO: i32 = 2;
/// One line per epoch, and per sample size that is tried.
pub const PLIM_LOG_DEBUG: i32 = 3;

constants!(
    Level,
    "level",
    "PLIM_LOG_",
    [(PLIM_LOG_ERROR, Error), (PLIM_LOG_WARNING, Warning), (PLIM_LOG_INFO, Info), (PLIM_LOG_DEBUG, Debug)]
);

/// Receives log messages.
///
/// It is called on the thread of the call whose options have it, once per message. During plim_train()
/// or a measurement that is between steps, and the same calls work inside it as inside a
/// plim_progress_fn. It cannot cancel.
///
/// Do not parse messages: their wording may change with any release. Statuses, plim_history and
/// plim_progress hold what a program can act on.
///
/// @param user_data  the pointer that was set with the function.
/// @param level      PLIM_LOG_ERROR, PLIM_LOG_WARNING, PLIM_LOG_INFO or PLIM_LOG_DEBUG.
/// @param message    one line of UTF-8 without a newline, terminated by NUL; valid during the call
///                   only.
pub type plim_log_fn = Option<unsafe extern "C" fn(user_data: *mut c_void, level: i32, message: *const c_char)>;

/// A caller's function, its user data, and the last level that it receives.
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
    /// No log.
    pub const NONE: Self = Logger { level: Level::Error, function: None, user_data: std::ptr::null_mut() };

    /// A log with the caller's function and its user data.
    pub fn new(level: Level, function: plim_log_fn, user_data: *mut c_void) -> Self {
        Logger { level, function, user_data }
    }

    /// Whether messages of this level are sent.
    pub fn wants(&self, level: Level) -> bool {
        self.function.is_some() && level <= self.level
    }

    /// Sends a message. Control characters, for example in a file name, become spaces.
    pub fn write(self, level: Level, message: &str) {
        if let Some(function) = self.function {
            let line = message.bytes().map(|byte| if byte < b' ' { b' ' } else { byte });
            let line: Vec<u8> = line.chain([0]).collect();
            // SAFETY: a function of the caller's with this signature, given its own data and a string.
            unsafe { function(self.user_data, number_of(level), line.as_ptr().cast()) }
        }
    }
}

/// Sets the log of options.
pub fn set_log<C: Opaque>(
    options: *mut C,
    (level, function, user_data): (i32, plim_log_fn, *mut c_void),
    log: impl FnOnce(&mut C::Object) -> &mut Logger,
) -> plim_status {
    guard(|| {
        let logger = Logger::new(constant(level)?, function, user_data);
        *log(&mut *ptr::handle("options", options)?.write()?) = logger;
        Ok(())
    })
}

impl Log for Logger {
    fn wants(&self, level: Level) -> bool {
        Logger::wants(self, level)
    }

    fn write(&mut self, level: Level, message: &str) {
        Logger::write(*self, level, message);
    }
}
