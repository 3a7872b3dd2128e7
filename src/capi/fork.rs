//! Makes `fork` wait until no thread holds a lock of the library.

use super::handle::{self, Table};
use crate::fork;
use std::cell::UnsafeCell;
use std::sync::{Once, RwLockWriteGuard};

/// All locks, held by the thread that forks.
struct All {
    _table: RwLockWriteGuard<'static, Table>,
    _others: RwLockWriteGuard<'static, ()>,
}

struct During(UnsafeCell<Option<All>>);

// SAFETY: the content is accessed only by the thread that holds these locks.
unsafe impl Sync for During {}

static DURING: During = During(UnsafeCell::new(None));

unsafe extern "C" fn before() {
    let all = All { _table: handle::lock_table(), _others: fork::wait() };
    // SAFETY: the locks are held.
    unsafe { *DURING.0.get() = Some(all) };
}

unsafe extern "C" fn after() {
    // SAFETY: the locks are held since `before`, by this thread or, in a child, by the one it was.
    drop(unsafe { (*DURING.0.get()).take() });
}

unsafe extern "C" fn after_in_child() {
    fork::note_process();
    // SAFETY: as its own.
    unsafe { after() };
}

/// Registers the handlers on the first call. If that fails for lack of memory, a child may find a lock held.
pub fn watch() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // SAFETY: the library stays loaded once loaded, and so do the functions.
        if unsafe { libc::pthread_atfork(Some(before), Some(after), Some(after_in_child)) } == 0 {
            fork::note_process();
        }
    });
}
