//! Panics on demand, for `tests/torture`: nothing at all unless the feature `torture` is on.

/// A place where a call may be made to panic. The torture tests count these and let each fail in turn.
#[cfg(not(feature = "torture"))]
#[inline(always)]
pub fn point() {}

#[cfg(feature = "torture")]
pub use armed::point;

#[cfg(feature = "torture")]
mod armed {
    use std::cell::Cell;

    thread_local! {
        /// Points until the panic; negative: none.
        static LEFT: Cell<i64> = const { Cell::new(-1) };
    }

    pub fn point() {
        let left = LEFT.get();
        LEFT.set(left.saturating_sub(1).max(-1));
        assert!(left != 0, "the torture tests asked for this");
    }

    // By a macro, so that cbindgen does not see it.
    macro_rules! export {
        () => {
            /// Makes this thread's call panic at its `n`-th point from now, from 0; -1 disarms. Gives what was left before.
            #[unsafe(no_mangle)]
            pub extern "C" fn plim_torture_panic_at(n: i64) -> i64 {
                LEFT.replace(n)
            }
        };
    }
    export!();
}
