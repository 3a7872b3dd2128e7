//! Status numbers, the message of the last error, version and instruction set.

use super::guard::text;
use crate::error::Error;
use std::cell::UnsafeCell;
use std::ffi::{CStr, c_char};

/// Result of a call: PLIM_OK or a PLIM_ERROR_ constant.
pub type plim_status = i32;

/// Success.
pub const PLIM_OK: plim_status = 0;
/// A required pointer is NULL.
pub const PLIM_ERROR_NULL_POINTER: plim_status = 1;
/// An argument is outside the range that the function's entry states, or a pointer is not aligned
/// for its type.
pub const PLIM_ERROR_INVALID_ARGUMENT: plim_status = 2;
/// Two arguments do not fit each other, for example the model's input width and the number of
/// features.
pub const PLIM_ERROR_SHAPE_MISMATCH: plim_status = 3;
/// The graph or the ranking data lack features, labels or a split that the call requires.
pub const PLIM_ERROR_MISSING_DATA: plim_status = 4;
/// `capacity` is too small; plim_last_error() names the number of elements that the result needs.
pub const PLIM_ERROR_BUFFER_TOO_SMALL: plim_status = 5;
/// A file cannot be read or written; plim_last_error() includes the operating system's reason.
pub const PLIM_ERROR_IO: plim_status = 6;
/// The content of a file is not valid for its format.
pub const PLIM_ERROR_BAD_FORMAT: plim_status = 7;
/// An allocation failed, a thread could not be started, or 2^23 handles are live.
pub const PLIM_ERROR_OUT_OF_MEMORY: plim_status = 8;
/// A loss, a gradient, a parameter or an output is not finite.
pub const PLIM_ERROR_DIVERGED: plim_status = 9;
/// A callback returned a non-zero value.
pub const PLIM_ERROR_CANCELLED: plim_status = 10;
/// An earlier call that was changing this object failed with PLIM_ERROR_INTERNAL. The handle can
/// only be freed.
pub const PLIM_ERROR_POISONED: plim_status = 11;
/// The object does not support the operation, for example an estimator for rankings on a graph.
pub const PLIM_ERROR_UNSUPPORTED: plim_status = 12;
/// A handle was freed, has another type, or never was a handle.
pub const PLIM_ERROR_INVALID_HANDLE: plim_status = 13;
/// A call that excludes this one is using the object. Retry when it has returned.
pub const PLIM_ERROR_BUSY: plim_status = 14;
/// A bug in this library, caught before it could harm the program. Please report it.
pub const PLIM_ERROR_INTERNAL: plim_status = 255;

impl Error {
    fn status(&self) -> plim_status {
        match self {
            Error::NullPointer(_) => PLIM_ERROR_NULL_POINTER,
            Error::InvalidArgument(_) => PLIM_ERROR_INVALID_ARGUMENT,
            Error::ShapeMismatch(_) => PLIM_ERROR_SHAPE_MISMATCH,
            Error::MissingData(_) => PLIM_ERROR_MISSING_DATA,
            Error::BufferTooSmall(_) => PLIM_ERROR_BUFFER_TOO_SMALL,
            Error::Io(_) => PLIM_ERROR_IO,
            Error::BadFormat(_) => PLIM_ERROR_BAD_FORMAT,
            Error::OutOfMemory(_) => PLIM_ERROR_OUT_OF_MEMORY,
            Error::Diverged(_) => PLIM_ERROR_DIVERGED,
            Error::Cancelled(_) => PLIM_ERROR_CANCELLED,
            Error::Poisoned(_) => PLIM_ERROR_POISONED,
            Error::Unsupported(_) => PLIM_ERROR_UNSUPPORTED,
            Error::InvalidHandle(_) => PLIM_ERROR_INVALID_HANDLE,
            Error::Busy(_) => PLIM_ERROR_BUSY,
            Error::Internal(_) => PLIM_ERROR_INTERNAL,
        }
    }
}

fn name(status: plim_status) -> &'static CStr {
    match status {
        PLIM_OK => c"ok",
        PLIM_ERROR_NULL_POINTER => c"null pointer",
        PLIM_ERROR_INVALID_ARGUMENT => c"invalid argument",
        PLIM_ERROR_SHAPE_MISMATCH => c"shape mismatch",
        PLIM_ERROR_MISSING_DATA => c"missing data",
        PLIM_ERROR_BUFFER_TOO_SMALL => c"buffer too small",
        PLIM_ERROR_IO => c"input/output error",
        PLIM_ERROR_BAD_FORMAT => c"bad format",
        PLIM_ERROR_OUT_OF_MEMORY => c"out of memory",
        PLIM_ERROR_DIVERGED => c"diverged",
        PLIM_ERROR_CANCELLED => c"cancelled",
        PLIM_ERROR_POISONED => c"poisoned handle",
        PLIM_ERROR_UNSUPPORTED => c"unsupported",
        PLIM_ERROR_INVALID_HANDLE => c"invalid handle",
        PLIM_ERROR_BUSY => c"busy",
        PLIM_ERROR_INTERNAL => c"internal error",
        _ => c"unknown status",
    }
}

/// Size of the message buffer, including the final zero.
const CAPACITY: usize = 1024;

thread_local! {
    /// A fixed buffer, so that a pointer to it is valid until its thread ends. It has no destructor.
    static MESSAGE: UnsafeCell<[u8; CAPACITY]> = const { UnsafeCell::new([0; CAPACITY]) };
}

/// Stores the message for `plim_last_error` and returns the status.
pub(super) fn report(error: &Error) -> plim_status {
    let text = error.to_string();
    let mut length = text.len().min(CAPACITY - 1);
    while !text.is_char_boundary(length) {
        length -= 1;
    }
    MESSAGE.with(|message| {
        // SAFETY: only this thread reaches its buffer, and no reference to it outlives a call.
        let buffer = unsafe { &mut *message.get() };
        for (to, from) in buffer.iter_mut().zip(&text.as_bytes()[..length]) {
            *to = if *from == 0 { b'?' } else { *from };
        }
        buffer[length] = 0;
    });
    error.status()
}

/// Returns the version of the library, "0.1.0". The string is static and never NULL.
#[unsafe(no_mangle)]
pub extern "C" fn plim_version() -> *const c_char {
    const VERSION: &CStr = match CStr::from_bytes_with_nul(concat!(env!("CARGO_PKG_VERSION"), "\0").as_bytes()) {
        Ok(version) => version,
        Err(_) => c"",
    };
    text(|| VERSION.as_ptr())
}

/// Returns the instruction set in use: "avx512", "avx2", "neon" or "portable". The string is static
/// and never NULL.
///
/// The library selects the best one that the processor has, once per process. The environment
/// variable PLIM_ISA, read at the first use, can select a lower one; a name that is not available is
/// ignored. Results of two instruction sets agree to within 1e-5 of a gradient's norm.
#[unsafe(no_mangle)]
pub extern "C" fn plim_isa() -> *const c_char {
    text(|| {
        let name = match crate::kernel::table().name {
            "avx512" => c"avx512",
            "avx2" => c"avx2",
            "neon" => c"neon",
            _ => c"portable",
        };
        name.as_ptr()
    })
}

/// Returns why the last failed call on this thread failed: which argument, which index, which value.
///
/// The string is never NULL, and is "" before the first failure. A call that succeeds does not
/// change it. The pointer stays valid until the thread ends; the next failure on this thread
/// overwrites the text. Texts are cut after 1023 bytes.
#[unsafe(no_mangle)]
pub extern "C" fn plim_last_error() -> *const c_char {
    text(|| MESSAGE.with(|message| message.get().cast::<c_char>().cast_const()))
}

/// Returns the name of a status: "invalid argument" for PLIM_ERROR_INVALID_ARGUMENT. The string is
/// static and never NULL.
///
/// @param status  any number; the name of one that is not a status is "unknown status".
#[unsafe(no_mangle)]
pub extern "C" fn plim_status_name(status: plim_status) -> *const c_char {
    text(|| name(status).as_ptr())
}
