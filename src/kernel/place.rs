//! The core that a thread runs on, and how to move it to another one. Linux only; elsewhere nothing is known and
//! nothing is done.
#![allow(unsafe_code)]

/// An unknown core.
pub const NOWHERE: usize = usize::MAX;

/// The core that this thread runs on now.
pub fn core_here() -> usize {
    #[cfg(all(target_os = "linux", not(miri)))]
    // SAFETY: the function has no arguments and returns a number.
    return usize::try_from(unsafe { libc::sched_getcpu() }).unwrap_or(NOWHERE);
    #[cfg(not(all(target_os = "linux", not(miri))))]
    NOWHERE
}

/// Moves this thread to another core than `core`, if it may run on at least `threads` cores. The set of cores that it
/// may run on stays as it is.
///
/// Some systems wake a thread on the core of the thread that wakes it and leave it there for milliseconds while
/// another core is idle. Forbidding it that core for a moment moves it at once.
pub fn leave(core: usize, threads: usize) {
    #[cfg(all(target_os = "linux", not(miri)))]
    // SAFETY: a set of cores is plain bits, and the sizes are those of the sets; 0 means this thread.
    unsafe {
        let size = size_of::<libc::cpu_set_t>();
        let mut allowed: libc::cpu_set_t = std::mem::zeroed();
        if core >= 8 * size || libc::sched_getaffinity(0, size, &mut allowed) != 0 {
            return;
        }
        let mut others = allowed;
        libc::CPU_CLR(core, &mut others);
        let enough = libc::CPU_COUNT(&allowed) as usize >= threads && libc::CPU_COUNT(&others) > 0;
        if enough && libc::sched_setaffinity(0, size, &others) == 0 {
            libc::sched_setaffinity(0, size, &allowed);
        }
    }
    #[cfg(not(all(target_os = "linux", not(miri))))]
    let _ = (core, threads);
}

#[cfg(all(test, target_os = "linux", not(miri)))]
mod tests {
    use super::*;

    fn allowed() -> libc::cpu_set_t {
        // SAFETY: as above.
        unsafe {
            let mut allowed: libc::cpu_set_t = std::mem::zeroed();
            assert_eq!(libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &mut allowed), 0);
            allowed
        }
    }

    fn same(a: &libc::cpu_set_t, b: &libc::cpu_set_t) -> bool {
        // SAFETY: plain bits.
        unsafe { libc::CPU_EQUAL(a, b) }
    }

    #[test]
    fn a_thread_that_leaves_a_core_is_elsewhere_and_may_come_back() {
        let before = allowed();
        // SAFETY: plain bits.
        let cores = unsafe { libc::CPU_COUNT(&before) } as usize;
        if cores == 1 {
            return eprintln!("NOT TESTED: there is one core");
        }
        // The system may move it back at any time, but not every time.
        let left = (0..100).filter(|_| {
            let here = core_here();
            leave(here, 2);
            core_here() != here
        });
        assert!(left.count() > 50);
        assert!(same(&before, &allowed()), "it may run where it could before");
    }

    #[test]
    fn a_thread_stays_where_there_are_fewer_cores_than_threads() {
        let before = allowed();
        leave(core_here(), usize::MAX);
        leave(NOWHERE, 1);
        assert!(same(&before, &allowed()));
    }
}
