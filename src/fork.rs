//! Locks that a child after `fork` finds open.
//!
//! A child has only the thread that forked: a lock that another one held would stay closed for good. So whoever takes a lock
//! that others wait for keeps forks away meanwhile, and whoever forks waits for such locks (`capi::fork`).

use std::cell::Cell;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

static FORKS: RwLock<()> = RwLock::new(());

/// The id of this process, if whoever forks tells the child its own; 0 otherwise.
static PROCESS: AtomicU32 = AtomicU32::new(0);

/// The id of this process: without a system call, once forks are watched.
pub(crate) fn process() -> u32 {
    match PROCESS.load(Ordering::Relaxed) {
        0 => std::process::id(),
        id => id,
    }
}

/// Forks are watched from here on, or this is a child: its id is as it is now until the next call.
pub(crate) fn note_process() {
    PROCESS.store(std::process::id(), Ordering::Relaxed);
}

thread_local! {
    /// Whether this thread keeps forks away.
    static KEEPING: Cell<bool> = const { Cell::new(false) };
}

/// While it lives there is no fork.
pub(crate) struct NoFork(Option<RwLockReadGuard<'static, ()>>);

/// Keeps forks away; a thread that does so already may ask again.
pub(crate) fn keep_away() -> NoFork {
    match KEEPING.replace(true) {
        true => NoFork(None),
        false => NoFork(Some(FORKS.read().unwrap_or_else(PoisonError::into_inner))),
    }
}

impl Drop for NoFork {
    fn drop(&mut self) {
        if self.0.take().is_some() {
            KEEPING.set(false);
        }
    }
}

/// Waits until nobody keeps forks away, and lets nobody begin.
pub(crate) fn wait() -> RwLockWriteGuard<'static, ()> {
    FORKS.write().unwrap_or_else(PoisonError::into_inner)
}

/// A mutex that is held, and no fork.
pub(crate) struct Held<'a, T> {
    guard: MutexGuard<'a, T>,
    // Declared last, so dropped last.
    _no_fork: NoFork,
}

/// Takes a lock, whatever a panic has left in it.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> Held<'_, T> {
    let no_fork = keep_away();
    Held { guard: mutex.lock().unwrap_or_else(PoisonError::into_inner), _no_fork: no_fork }
}

impl<T> Deref for Held<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.guard
    }
}

impl<T> DerefMut for Held<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.guard
    }
}
