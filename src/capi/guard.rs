//! The only place that catches panics.

use super::status::{PLIM_OK, plim_status, report};
use crate::error::{Error, Result};
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Once;

/// Runs the body of an exported function. An error becomes a status and a text; so does a panic, which the host
/// process must never see. A mutable handle that a panic passed through is poisoned by its lock.
pub fn guard(body: impl FnOnce() -> Result<()>) -> plim_status {
    match caught(body).and_then(|result| result) {
        Ok(()) => PLIM_OK,
        Err(error) => report(&error),
    }
}

/// Runs the body of a getter; whatever goes wrong, the answer is `T::default()`.
pub fn getter<T: Default>(body: impl FnOnce() -> Option<T>) -> T {
    caught(body).ok().flatten().unwrap_or_default()
}

thread_local! {
    static INSIDE: Cell<bool> = const { Cell::new(false) };
}

fn caught<T>(body: impl FnOnce() -> T) -> Result<T> {
    hush_panics();
    // A callback may call back into the library, so the flag is put back rather than cleared.
    let before = INSIDE.replace(true);
    let result = catch_unwind(AssertUnwindSafe(body));
    INSIDE.set(before);
    result.map_err(|payload| {
        let text = payload.downcast_ref::<&str>().map(|s| s.to_string());
        let text = text.or_else(|| payload.downcast_ref::<String>().cloned()).unwrap_or_default();
        Error::Internal(format!("internal error, please report it: {text}"))
    })
}

/// A library prints nothing: panics inside it are not announced on stderr. Others still are, as before.
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
