//! One `Error`, one `Result`, and reservations of memory that fail with it. The texts are what a caller reads as the
//! last error.

use crate::memory::{self, Shortage};
use std::fmt::Display;

/// What went wrong. Each kind is one status of the C interface; the text names the argument, the index
/// and the value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// A required pointer is NULL.
    #[error("{0}")]
    NullPointer(String),
    /// An argument is outside its range.
    #[error("{0}")]
    InvalidArgument(String),
    /// Two things that must fit each other do not.
    #[error("{0}")]
    ShapeMismatch(String),
    /// The graph lacks features, labels or a split.
    #[error("{0}")]
    MissingData(String),
    /// The caller's buffer is smaller than the result.
    #[error("{0}")]
    BufferTooSmall(String),
    /// The operating system refused to read or write.
    #[error("{0}")]
    Io(String),
    /// A file is not what its format says.
    #[error("{0}")]
    BadFormat(String),
    /// Memory could not be allocated.
    #[error("{0}")]
    OutOfMemory(Shortage),
    /// A loss or a gradient is not finite.
    #[error("{0}")]
    Diverged(String),
    /// A callback asked to stop.
    #[error("{0}")]
    Cancelled(String),
    /// A panic left this object in an unknown state.
    #[error("{0}")]
    Poisoned(String),
    /// The object cannot do this.
    #[error("{0}")]
    Unsupported(String),
    /// A handle is freed, foreign or of another type.
    #[error("{0}")]
    InvalidHandle(String),
    /// Another thread is changing the object.
    #[error("{0}")]
    Busy(String),
    /// A bug in this library.
    #[error("{0}")]
    Internal(String),
}

/// The library's result.
pub type Result<T> = std::result::Result<T, Error>;

/// Names what memory is for, in case it cannot be allocated. Costs nothing otherwise.
pub(crate) trait ForThe {
    /// The same result; an `OutOfMemory` that has no purpose yet gets this one: "… bytes for the `purpose`".
    fn for_the(self, purpose: impl Display) -> Self;
}

impl<T> ForThe for Result<T> {
    #[inline]
    fn for_the(self, purpose: impl Display) -> Self {
        #[cold]
        fn named(error: Error, purpose: impl Display) -> Error {
            match error {
                Error::OutOfMemory(shortage) => Error::OutOfMemory(shortage.for_the(purpose)),
                other => other,
            }
        }
        self.map_err(|error| named(error, purpose))
    }
}

impl Error {
    /// `InvalidArgument` in the house form: `targets[3] = 9 is outside [0, 5)`.
    pub(crate) fn entry(name: &str, index: usize, value: impl Display, complaint: impl Display) -> Self {
        Error::InvalidArgument(format!("{name}[{index}] = {value} {complaint}"))
    }

    /// The same error, told with where it happened.
    pub(crate) fn at(self, place: impl Display) -> Self {
        match self {
            Error::Diverged(text) => Error::Diverged(format!("{place}: {text}")),
            other => other,
        }
    }

    /// The same complaint about a file's content.
    pub(crate) fn in_file(self, path: &std::path::Path) -> Self {
        match self {
            Error::InvalidArgument(text)
            | Error::ShapeMismatch(text)
            | Error::BadFormat(text)
            | Error::MissingData(text) => Error::BadFormat(format!("{}: {text}", path.display())),
            Error::Io(text) => Error::Io(format!("{}: {text}", path.display())),
            Error::OutOfMemory(shortage) => Error::OutOfMemory(shortage.in_file(path)),
            other => other,
        }
    }

    /// What the operating system said when it was to do `what`, "read labels"; [`Error::in_file`] adds the file.
    pub(crate) fn of_system(what: &str, error: &std::io::Error) -> Self {
        match error.kind() {
            std::io::ErrorKind::OutOfMemory => Error::OutOfMemory(Shortage::System(what.to_string())),
            _ => Error::Io(error.to_string()),
        }
    }
}

/// Fails with `OutOfMemory` if memory has run out during this call.
pub(crate) fn check_memory() -> Result<()> {
    memory::check().map_err(Error::OutOfMemory)
}

/// `OutOfMemory` for `count` elements of type `T`.
#[cold]
fn shortage<T>(count: usize) -> Error {
    Error::OutOfMemory(Shortage::Elements(count, size_of::<T>()))
}

/// Makes room for exactly `more` elements beyond those of `v`, or fails with `OutOfMemory`.
pub(crate) fn try_reserve_exact<T>(v: &mut Vec<T>, more: usize) -> Result<()> {
    check_memory()?;
    v.try_reserve_exact(more).map_err(|_| shortage::<T>(v.len().saturating_add(more)))
}

/// Makes room for `more` elements beyond those of `v`, with slack for later calls, or fails with `OutOfMemory`: "… bytes
/// for the `purpose`".
#[inline]
pub(crate) fn try_reserve<T>(v: &mut Vec<T>, more: usize, purpose: &str) -> Result<()> {
    match v.try_reserve(more) {
        Ok(()) => Ok(()),
        Err(_) => Err(shortage::<T>(v.len().saturating_add(more))).for_the(purpose),
    }
}

/// An empty vector with room for exactly `capacity` elements, or `OutOfMemory`.
pub(crate) fn try_with_capacity<T>(capacity: usize) -> Result<Vec<T>> {
    let mut v = Vec::new();
    try_reserve_exact(&mut v, capacity)?;
    Ok(v)
}

/// `len` copies of `value`, or `OutOfMemory`.
pub(crate) fn try_filled<T: Clone>(len: usize, value: T) -> Result<Vec<T>> {
    let mut v = try_with_capacity(len)?;
    v.resize(len, value);
    Ok(v)
}

/// A copy of `source`, or `OutOfMemory`.
pub(crate) fn try_copied<T: Copy>(source: &[T]) -> Result<Vec<T>> {
    let mut v = try_with_capacity(source.len())?;
    v.extend_from_slice(source);
    Ok(v)
}

/// Makes `v` hold `len` elements of unspecified value, for a buffer that is reused from step to step.
///
/// A buffer that must grow gets half as much again and 4096 elements more: draws differ in size from step to step, a first
/// step may have none at all, and the slack saves the next steps an allocation.
pub(crate) fn try_resize<T: Copy + Default>(v: &mut Vec<T>, len: usize) -> Result<()> {
    try_reserve_with_slack(v, len)?;
    v.resize(len, T::default());
    Ok(())
}

/// Makes room for `len` elements in all, with the slack of [`try_resize`].
pub(crate) fn try_reserve_with_slack<T>(v: &mut Vec<T>, len: usize) -> Result<()> {
    const SLACK: usize = 4096;
    const MOST_SLACK: usize = 1 << 16;
    if v.capacity() < len.max(1) {
        let generous = len.saturating_add((len / 2).min(MOST_SLACK)).saturating_add(SLACK) - v.len();
        if try_reserve_exact(v, generous).is_err() {
            try_reserve_exact(v, len - v.len())?;
        }
    }
    Ok(())
}
