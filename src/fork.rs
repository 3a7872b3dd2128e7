//! Locks that a child finds open after `fork`.
//!
//! A child has only the thread that forked: a lock that another thread held would stay closed in it. So a thread that
//! takes a lock which others wait for prevents forks meanwhile, and a thread that forks waits for such locks
//! (`capi::fork`).

use std::cell::Cell;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard, TryLockError};

static FORKS: RwLock<()> = RwLock::new(());

/// The id of this process, once [`note_process`] has stored it; 0 before.
static PROCESS: AtomicU32 = AtomicU32::new(0);

/// The id of this process; needs no system call once forks are watched.
pub(crate) fn process() -> u32 {
    match PROCESS.load(Ordering::Relaxed) {
        0 => std::process::id(),
        id => id,
    }
}

/// Stores the id of this process. Called when forks begin to be watched, and in each child.
pub(crate) fn note_process() {
    PROCESS.store(std::process::id(), Ordering::Relaxed);
}

thread_local! {
    /// Whether this thread prevents forks.
    static KEEPING: Cell<bool> = const { Cell::new(false) };
}

/// There is no fork while this lives.
pub(crate) struct NoFork(Option<RwLockReadGuard<'static, ()>>);

/// Prevents forks. A thread that already does may call this again.
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

/// Waits until no thread prevents forks, and lets none begin to.
pub(crate) fn wait() -> RwLockWriteGuard<'static, ()> {
    FORKS.write().unwrap_or_else(PoisonError::into_inner)
}

/// A locked mutex, and no fork.
pub(crate) struct Held<'a, T> {
    guard: MutexGuard<'a, T>,
    // Declared last, so dropped last.
    _no_fork: NoFork,
}

/// Locks a mutex, even if a panic poisoned it.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> Held<'_, T> {
    let no_fork = keep_away();
    Held { guard: mutex.lock().unwrap_or_else(PoisonError::into_inner), _no_fork: no_fork }
}

/// The same if nobody holds it. A lock that is tried must be open in a child, too.
pub(crate) fn try_lock<T>(mutex: &Mutex<T>) -> Option<Held<'_, T>> {
    let no_fork = keep_away();
    let guard = match mutex.try_lock() {
        Ok(guard) => guard,
        Err(TryLockError::Poisoned(error)) => error.into_inner(),
        Err(TryLockError::WouldBlock) => return None,
    };
    Some(Held { guard, _no_fork: no_fork })
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
