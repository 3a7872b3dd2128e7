//! The only place that catches panics.

use super::status::{PLIM_OK, plim_status, report};
use super::torture;
use crate::error::{Error, Result};
use crate::memory;
use std::cell::Cell;
use std::ffi::{CStr, c_char};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Once;

/// Runs the body of an exported function. An error becomes a status and a message. So does a panic, which must never
/// reach the host process. A panic during a change poisons the object through its lock.
pub fn guard(body: impl FnOnce() -> Result<()>) -> plim_status {
    match caught(body).and_then(|result| result) {
        Ok(()) => PLIM_OK,
        Err(error) => report(&error),
    }
}

/// Runs the body of a getter. On any failure it returns `T::default()`.
pub fn getter<T: Default>(body: impl FnOnce() -> Option<T>) -> T {
    caught(body).ok().flatten().unwrap_or_default()
}

/// Runs the body of a function that returns a string. On any failure it returns "".
pub fn text(body: impl FnOnce() -> *const c_char) -> *const c_char {
    const NONE: &CStr = c"";
    caught(body).unwrap_or(NONE.as_ptr())
}

thread_local! {
    static INSIDE: Cell<bool> = const { Cell::new(false) };
}

fn caught<T>(body: impl FnOnce() -> T) -> Result<T> {
    hush_panics();
    // A callback may call into the library, so the flag is restored rather than cleared.
    let before = (INSIDE.replace(true), memory::begin_call());
    let result = catch_unwind(AssertUnwindSafe(|| {
        torture::point();
        body()
    }));
    INSIDE.set(before.0);
    memory::end_call(before.1);
    result.map_err(|payload| {
        let text = payload.downcast_ref::<&str>().map(|s| s.to_string());
        let text = text.or_else(|| payload.downcast_ref::<String>().cloned()).unwrap_or_default();
        Error::Internal(format!("internal error, please report it: {text}"))
    })
}

/// Silences the panic message for panics inside the library, which prints nothing. Other panics are reported as before.
fn hush_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let announce = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            let worker = std::thread::current().name().is_some_and(|name| name.starts_with("plimsoll-"));
            if !INSIDE.get() && !worker {
                announce(info);
            }
        }));
    });
}

#[cfg(test)]
mod tests {
    use super::super::status::{PLIM_ERROR_INTERNAL, PLIM_ERROR_INVALID_ARGUMENT, plim_last_error};
    use super::*;
    use std::ffi::CStr;

    fn last_error() -> String {
        // SAFETY: the text is a string in this thread's buffer.
        unsafe { CStr::from_ptr(plim_last_error()) }.to_string_lossy().into_owned()
    }

    #[test]
    fn a_panic_becomes_a_status_and_a_text() {
        assert_eq!(guard(|| panic!("index {} is wrong", 7)), PLIM_ERROR_INTERNAL);
        assert!(last_error().ends_with("index 7 is wrong"), "{}", last_error());
    }

    #[test]
    fn an_error_becomes_its_status_and_a_success_leaves_the_text() {
        let error = Error::InvalidArgument("split = 9".to_string());
        assert_eq!(guard(|| Err(error)), PLIM_ERROR_INVALID_ARGUMENT);
        assert_eq!(guard(|| Ok(())), PLIM_OK);
        assert_eq!(last_error(), "split = 9");
    }

    #[test]
    fn a_long_text_is_cut_between_characters() {
        let error = Error::Io("é".repeat(2000));
        guard(|| Err(error));
        assert_eq!(last_error(), "é".repeat(511));
    }

    #[test]
    fn a_getter_that_panics_answers_the_default() {
        assert_eq!(getter(|| -> Option<usize> { panic!() }), 0);
        assert_eq!(getter(|| Some(3usize)), 3);
        assert_eq!(getter(|| None::<usize>), 0);
    }
}
