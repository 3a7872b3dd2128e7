//! Status numbers, the text of the last error, version and instruction set.

use super::guard::text;
use crate::error::Error;
use std::cell::UnsafeCell;
use std::ffi::{CStr, c_char};

/// What a call answers: PLIM_OK or one of PLIM_ERROR_…. The numbers never change.
pub type plim_status = i32;

/// Success.
pub const PLIM_OK: plim_status = 0;
/// A required pointer is NULL.
pub const PLIM_ERROR_NULL_POINTER: plim_status = 1;
/// An argument is outside its range; the message names it, its index and its value.
pub const PLIM_ERROR_INVALID_ARGUMENT: plim_status = 2;
/// Two arguments do not fit each other: widths and features, sample sizes and layers.
pub const PLIM_ERROR_SHAPE_MISMATCH: plim_status = 3;
/// The graph lacks features, labels or a split.
pub const PLIM_ERROR_MISSING_DATA: plim_status = 4;
/// The caller's buffer is too small; the message says how many elements are needed.
pub const PLIM_ERROR_BUFFER_TOO_SMALL: plim_status = 5;
/// The operating system refused to read or write a file.
pub const PLIM_ERROR_IO: plim_status = 6;
/// A file is not what its format says.
pub const PLIM_ERROR_BAD_FORMAT: plim_status = 7;
/// Memory for the result could not be had.
pub const PLIM_ERROR_OUT_OF_MEMORY: plim_status = 8;
/// A loss, a gradient or an output is not finite.
pub const PLIM_ERROR_DIVERGED: plim_status = 9;
/// A callback asked to stop.
pub const PLIM_ERROR_CANCELLED: plim_status = 10;
/// An internal error in an earlier call left this handle in an unknown state; only freeing it is left.
pub const PLIM_ERROR_POISONED: plim_status = 11;
/// This object cannot do that.
pub const PLIM_ERROR_UNSUPPORTED: plim_status = 12;
/// A handle is freed, foreign or of another type.
pub const PLIM_ERROR_INVALID_HANDLE: plim_status = 13;
/// Another thread is changing the object, or using what this call would change.
pub const PLIM_ERROR_BUSY: plim_status = 14;
/// A bug in this library, caught before it could harm the program.
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

/// Longest message kept, with its closing zero.
const CAPACITY: usize = 1024;

thread_local! {
    /// Fixed, so that a pointer handed out earlier stays readable as long as its thread lives. It has no destructor.
    static MESSAGE: UnsafeCell<[u8; CAPACITY]> = const { UnsafeCell::new([0; CAPACITY]) };
}

/// Keeps the text for `plim_last_error` and gives the status.
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

/// The library's version, "0.1.0". Static; never NULL.
#[unsafe(no_mangle)]
pub extern "C" fn plim_version() -> *const c_char {
    const VERSION: &CStr = match CStr::from_bytes_with_nul(concat!(env!("CARGO_PKG_VERSION"), "\0").as_bytes()) {
        Ok(version) => version,
        Err(_) => c"",
    };
    text(|| VERSION.as_ptr())
}

/// The instruction set in use: "avx512", "avx2", "neon" or "portable". Static; never NULL.
///
/// It is chosen once per process. The environment variable PLIM_ISA may name a lower one, read at first use. Results
/// have the same bits for the same instruction set, and agree to 1e-5 of a gradient's norm across them.
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

/// Why the last failed call on this thread failed: which argument, which index, which value.
///
/// Never NULL; "" before the first failure. A success leaves the text as it is. The pointer goes to a fixed buffer of
/// the calling thread: it stays readable until the thread ends, and the next failure there overwrites the text.
#[unsafe(no_mangle)]
pub extern "C" fn plim_last_error() -> *const c_char {
    text(|| MESSAGE.with(|message| message.get().cast::<c_char>().cast_const()))
}

/// The name of a status, "invalid argument" for PLIM_ERROR_INVALID_ARGUMENT. Static; never NULL.
///
/// @param status  any number; one that is no status is "unknown status".
#[unsafe(no_mangle)]
pub extern "C" fn plim_status_name(status: plim_status) -> *const c_char {
    text(|| name(status).as_ptr())
}
