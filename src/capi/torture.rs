//! Panics on demand, for `tests/torture`. Does nothing unless the feature `torture` is on.

/// A point at which a call can be made to panic. The torture tests count the points and make each of them fail in turn.
#[cfg(not(feature = "torture"))]
#[inline(always)]
pub fn point() {}

#[cfg(feature = "torture")]
pub use armed::point;

#[cfg(feature = "torture")]
mod armed {
    use std::cell::Cell;

    thread_local! {
        /// Number of points until the panic; negative for no panic.
        static LEFT: Cell<i64> = const { Cell::new(-1) };
    }

    pub fn point() {
        let left = LEFT.get();
        LEFT.set(left.saturating_sub(1).max(-1));
        assert!(left != 0, "the torture tests asked for this");
    }

    // In a macro, so that cbindgen does not see it.
    macro_rules! export {
        () => {
            /// Makes this thread panic at its `n`-th point from now, from 0; -1 disarms. Returns the previous count.
            #[unsafe(no_mangle)]
            pub extern "C" fn plim_torture_panic_at(n: i64) -> i64 {
                LEFT.replace(n)
            }
        };
    }
    export!();
}
