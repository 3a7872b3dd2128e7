//! Whether memory has run out during the call at work.
//!
//! What is large, or grows with the input, is reserved fallibly ([`crate::error`]). The small rest (a message, a name, a
//! reference count) cannot fail in Rust without ending the process: the C library's allocator has a reserve for it
//! (`capi::reserve`), and tells here when it had to use it. From then on the fallible kind fails at once, so that the call
//! ends, with status 8, before the reserve does.

use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};

/// How often the reserve was used.
static SHORTAGES: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    /// [`SHORTAGES`] when the call at work on this thread began; `None` on a thread that helps another's call.
    static AT_FIRST: Cell<Option<usize>> = const { Cell::new(None) };
}

/// Memory was asked for, and the system had none.
#[cfg_attr(not(feature = "capi"), allow(dead_code))]
pub(crate) fn note_shortage() {
    SHORTAGES.fetch_add(1, Ordering::Relaxed);
}

/// A call begins; the answer is for [`end_call`].
pub(crate) fn begin_call() -> Option<usize> {
    AT_FIRST.replace(Some(SHORTAGES.load(Ordering::Relaxed)))
}

/// A call ends; one that called it, through a callback, may go on.
pub(crate) fn end_call(before: Option<usize>) {
    AT_FIRST.set(before);
}

/// Whether memory has run out since the call began.
pub(crate) fn is_short() -> bool {
    AT_FIRST.get().is_some_and(|at_first| SHORTAGES.load(Ordering::Relaxed) != at_first)
}
