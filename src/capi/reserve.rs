//! The allocator of the C library: the system's, with a reserve for the small allocations that cannot fail in Rust.
//!
//! A `String` without memory ends the process, and a message about missing memory is a `String`. So a small block that
//! the system refuses comes from a reserve in the zeroed data of the library, which costs no memory until it is used.
//! [`crate::memory`] makes a call that needed the reserve end soon. Large blocks are refused as before; the code that
//! requests them can handle that.
//!
//! Used only where this crate is built as a C library, with the feature `capi`: a Rust program chooses its own
//! allocator.

use crate::memory;
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicBool, Ordering};

const CHUNK: usize = 64;
const CHUNKS: usize = 1 << 14;

/// Blocks, in chunks; a flag per chunk tells whether it is used.
#[repr(align(64))]
struct Reserve {
    memory: UnsafeCell<[[u8; CHUNK]; CHUNKS]>,
    used: UnsafeCell<[bool; CHUNKS]>,
    locked: AtomicBool,
}

// SAFETY: `used` is accessed only under the lock, and a chunk of `memory` only by the owner of its block.
unsafe impl Sync for Reserve {}

static RESERVE: Reserve = Reserve::new();

impl Reserve {
    const fn new() -> Self {
        Reserve {
            memory: UnsafeCell::new([[0; CHUNK]; CHUNKS]),
            used: UnsafeCell::new([false; CHUNKS]),
            locked: AtomicBool::new(false),
        }
    }

    /// Runs `work` on the flags of the chunks, under the lock.
    fn locked<R>(&self, work: impl FnOnce(&mut [bool; CHUNKS]) -> R) -> R {
        while self.locked.swap(true, Ordering::Acquire) {
            std::hint::spin_loop();
        }
        // SAFETY: the lock excludes other threads until it is released.
        let result = work(unsafe { &mut *self.used.get() });
        self.locked.store(false, Ordering::Release);
        result
    }

    /// A block, or NULL if there is no room.
    fn take(&self, layout: Layout) -> *mut u8 {
        if layout.align() > CHUNK || layout.size() > CHUNK * CHUNKS {
            return std::ptr::null_mut();
        }
        let wanted = layout.size().div_ceil(CHUNK).max(1);
        let found = self.locked(|used| {
            let mut run = 0;
            for at in 0..CHUNKS {
                run = if used[at] { 0 } else { run + 1 };
                if run == wanted {
                    let first = at + 1 - wanted;
                    used[first..=at].fill(true);
                    return Some(first);
                }
            }
            None
        });
        match found {
            // SAFETY: chunk `first` is inside the array.
            Some(first) => unsafe { self.memory.get().cast::<u8>().add(first * CHUNK) },
            None => std::ptr::null_mut(),
        }
    }

    fn owns(&self, block: *mut u8) -> bool {
        block.addr().wrapping_sub(self.memory.get().addr()) < CHUNK * CHUNKS
    }

    fn give_back(&self, block: *mut u8, layout: Layout) {
        let first = (block.addr() - self.memory.get().addr()) / CHUNK;
        let count = layout.size().div_ceil(CHUNK).max(1);
        self.locked(|used| used[first..first + count].fill(false));
    }
}

/// The system's allocator, then the reserve.
struct Reserved;

#[cold]
fn from_reserve(layout: Layout) -> *mut u8 {
    // A block this large is requested fallibly, and its request can fail.
    if layout.size() > CHUNK * CHUNKS / 2 {
        return std::ptr::null_mut();
    }
    memory::note_shortage(layout.size());
    RESERVE.take(layout)
}

#[cfg(feature = "capi")]
#[global_allocator]
static ALLOCATOR: Reserved = Reserved;

// SAFETY: a block belongs to the system or to the reserve and is returned to its owner, which its address tells.
unsafe impl GlobalAlloc for Reserved {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promises are those of `System`.
        let block = unsafe { System.alloc(layout) };
        if block.is_null() { from_reserve(layout) } else { block }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promises are those of `System`.
        let block = unsafe { System.alloc_zeroed(layout) };
        if !block.is_null() {
            return block;
        }
        let block = from_reserve(layout);
        if !block.is_null() {
            // SAFETY: the block has at least that many bytes.
            unsafe { block.write_bytes(0, layout.size()) };
        }
        block
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        if RESERVE.owns(block) {
            return RESERVE.give_back(block, layout);
        }
        // SAFETY: the caller's promises are those of `System`, which the block came from.
        unsafe { System.dealloc(block, layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if !RESERVE.owns(block) {
            // SAFETY: the caller's promises are those of `System`, which the block came from.
            let moved = unsafe { System.realloc(block, layout, size) };
            if !moved.is_null() {
                return moved;
            }
        }
        // SAFETY: the caller promises that `size`, rounded up to the alignment, is no overflow.
        let wanted = unsafe { Layout::from_size_align_unchecked(size, layout.align()) };
        // SAFETY: `size` is not 0, by the caller's promise.
        let moved = unsafe { self.alloc(wanted) };
        if !moved.is_null() {
            // SAFETY: both blocks have at least that many bytes and do not overlap.
            unsafe { std::ptr::copy_nonoverlapping(block, moved, layout.size().min(size)) };
            // SAFETY: the block is the caller's, with that layout.
            unsafe { self.dealloc(block, layout) };
        }
        moved
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reserve_gives_takes_back_and_ends() {
        // In the zeroed data, like the real one: moving it into a box would copy it over the stack, which may be too
        // small.
        static OTHER: Reserve = Reserve::new();
        let reserve = &OTHER;
        let layout = |size| Layout::from_size_align(size, 16).unwrap();
        let first = reserve.take(layout(1));
        let second = reserve.take(layout(100));
        assert!(reserve.owns(first) && reserve.owns(second) && second.addr() - first.addr() == CHUNK);
        assert_eq!(reserve.take(layout(3)).addr() - second.addr(), 2 * CHUNK);
        reserve.give_back(second, layout(100));
        assert_eq!(reserve.take(layout(128)), second, "the first gap that is wide enough");
        assert!(reserve.take(layout(CHUNK * CHUNKS)).is_null());
        let rest = reserve.take(layout(CHUNK * (CHUNKS - 4)));
        assert!(!rest.is_null() && reserve.take(layout(1)).is_null());
        assert!(reserve.take(Layout::from_size_align(8, 128).unwrap()).is_null());
        assert!(!reserve.owns((&raw const layout).cast_mut().cast()));
    }
}
