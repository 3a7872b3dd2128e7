//! Messages of long calls. Nothing is printed: a message goes to a function of the caller, or nowhere.

use crate::error::Error;

/// How much a message matters.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Level {
    /// The call is about to fail.
    Error,
    /// The call continues, but not as requested, or at a cost.
    Warning,
    /// What the call does, and why.
    Info,
    /// Every epoch and every test.
    Debug,
}

impl Level {
    /// The level of the message about the error that ends a call. A cancelled call ends as requested.
    pub fn of(error: &Error) -> Self {
        match error {
            Error::Cancelled(_) => Level::Info,
            _ => Level::Error,
        }
    }
}

/// Receives messages.
pub trait Log {
    /// Whether messages of this level are wanted. Others are not made.
    fn wants(&self, level: Level) -> bool;

    /// Receives one message: a line without a newline.
    fn write(&mut self, level: Level, message: &str);
}

/// Makes a message and passes it on, if its level is wanted.
pub fn tell(log: &mut (impl Log + ?Sized), level: Level, message: impl FnOnce() -> String) {
    if log.wants(level) {
        log.write(level, &message());
    }
}
