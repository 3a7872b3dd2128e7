//! Counts what the library asks for, on the thread that asks, and refuses what no small input may need.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// Bytes that a thread may hold; a request beyond is refused, as if memory had run out.
pub const MOST: usize = 1 << 29;

thread_local! {
    static LIVE: Cell<isize> = const { Cell::new(0) };
    static PEAK: Cell<isize> = const { Cell::new(0) };
}

struct Counting;

#[global_allocator]
static COUNTING: Counting = Counting;

/// Counts a request, and says whether to refuse it. What is refused counts towards the peak.
fn refuse(added: isize) -> bool {
    let wanted = LIVE.get().saturating_add(added);
    PEAK.set(PEAK.get().max(wanted));
    if added > 0 && wanted > MOST as isize {
        return true;
    }
    LIVE.set(wanted);
    false
}

// SAFETY: what is not refused is handed on to the system's allocator as it is; counting allocates nothing, and its cells
// have no destructor.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if refuse(layout.size() as isize) {
            return std::ptr::null_mut();
        }
        // SAFETY: the caller's promise is passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if refuse(layout.size() as isize) {
            return std::ptr::null_mut();
        }
        // SAFETY: the caller's promise is passed on.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        refuse(-(layout.size() as isize));
        // SAFETY: the caller's promise is passed on.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if refuse(size as isize - layout.size() as isize) {
            return std::ptr::null_mut();
        }
        // SAFETY: the caller's promise is passed on.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

/// Runs `work`; also tells how many bytes more than before this thread held, or wanted to hold, at most.
pub fn peak_of<R>(work: impl FnOnce() -> R) -> (R, usize) {
    let before = LIVE.get();
    PEAK.set(before);
    let result = work();
    (result, (PEAK.get() - before) as usize)
}

/// Bytes that this thread holds.
pub fn live() -> isize {
    LIVE.get()
}
