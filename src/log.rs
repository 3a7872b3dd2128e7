//! What long work tells whoever embeds the library. Nothing is printed: a message goes to a caller's function, or nowhere.

use crate::error::Error;

/// How much a message matters.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Level {
    /// The call is about to fail.
    Error,
    /// It goes on, but not as was asked for, or at a cost.
    Warning,
    /// What it does, and why.
    Info,
    /// Every epoch and every test.
    Debug,
}

impl Level {
    /// Of the message that a call ends with this error. One that a caller cancelled ends as it should.
    pub fn of(error: &Error) -> Self {
        match error {
            Error::Cancelled(_) => Level::Info,
            _ => Level::Error,
        }
    }
}

/// Takes messages.
pub trait Log {
    /// Whether messages of this level are wanted; others need not be made.
    fn wants(&self, level: Level) -> bool;

    /// Takes one message, a line without its end.
    fn write(&mut self, level: Level, message: &str);
}

/// Makes a message and hands it over, if it is wanted.
pub fn tell(log: &mut (impl Log + ?Sized), level: Level, message: impl FnOnce() -> String) {
    if log.wants(level) {
        log.write(level, &message());
    }
}
