//! The loops themselves, written once and compiled per instruction set by [`super::isa`].
//!
//! Columns are processed in chunks of a constant width, so that the accumulators of a chunk stay in vector registers
//! while the entries of a row stream by.
// Indices run over several arrays at once, which an iterator over one of them would hide.
#![allow(clippy::needless_range_loop)]
// The arguments are slices and widths of plain matrices. A struct for each would be taken apart again at once.
#![allow(clippy::too_many_arguments)]
#![allow(unsafe_code)]

use super::arithmetic::Arithmetic;
use super::{Pick, Sparse};

/// Runs `$body::<A, C, P>(args…, j)` over the columns `0 .. $width`, C at a time: 256, 128, 64, 32 or 16, at most
/// `$most`, and then the remainder at once. P is C rounded up to a vector: 1, 2, 4, 8 or a multiple of 16. For 9 to 15
/// columns C is 0, and [`columns_of`] returns their number at run time: seven more versions of every loop would double
/// the time it takes to compile them.
macro_rules! by_chunks {
    ($width:expr, $most:expr, $body:ident :: <$a:ty>, $($arg:expr),*) => {{
        let width = $width;
        let mut j = 0;
        while $most >= 256 && width - j >= 256 { $body::<$a, 256, 256>($($arg,)* j); j += 256; }
        while $most >= 128 && width - j >= 128 { $body::<$a, 128, 128>($($arg,)* j); j += 128; }
        while $most >= 64 && width - j >= 64 { $body::<$a, 64, 64>($($arg,)* j); j += 64; }
        while $most >= 32 && width - j >= 32 { $body::<$a, 32, 32>($($arg,)* j); j += 32; }
        while width - j >= 16 { $body::<$a, 16, 16>($($arg,)* j); j += 16; }
        match width - j {
            0 => {}
            1 => $body::<$a, 1, 1>($($arg,)* j),
            2 => $body::<$a, 2, 2>($($arg,)* j),
            3 => $body::<$a, 3, 4>($($arg,)* j),
            4 => $body::<$a, 4, 4>($($arg,)* j),
            5 => $body::<$a, 5, 8>($($arg,)* j),
            6 => $body::<$a, 6, 8>($($arg,)* j),
            7 => $body::<$a, 7, 8>($($arg,)* j),
            8 => $body::<$a, 8, 8>($($arg,)* j),
            _ => $body::<$a, 0, 16>($($arg,)* j),
        }
    }};
}

mod attention;
mod chacha;
mod dense;
mod far;
mod narrow;
mod rows;
mod search;
mod softmax;
mod sparse;
mod sparse_transposed;
mod update;
mod wide;

pub use attention::{Attended, Drops, Scores, attend, attend_backward, attend_transposed, score_rows};
pub use chacha::{CHACHA_WORDS, chacha8};
pub use dense::{GROUP, dense_times, dense_transposed_times};
pub use rows::{Extreme, drop_out, extreme, mix, mix_key};
pub use search::{AT_ONCE, marked_entries};
pub use softmax::{cross_entropy, softmax};
pub use sparse::sparse_times;
pub use sparse_transposed::{sparse_transposed_times, stride_of, total};
pub use update::{Adam, adam, add, descend, largest, rectified_gradient};
pub use wide::{wide_times, wide_transposed_times};

#[inline(always)]
fn chunk<const C: usize>(m: &[f32], at: usize) -> &[f32; C] {
    m[at..at + C].try_into().expect("a slice of C elements")
}

#[inline(always)]
fn chunk_mut<const C: usize>(m: &mut [f32], at: usize) -> &mut [f32; C] {
    (&mut m[at..at + C]).try_into().expect("a slice of C elements")
}

/// The number of columns of the chunk that begins at column `j` of `width`: C, or the remainder if C is 0.
#[inline(always)]
fn columns_of<const C: usize, const P: usize>(width: usize, j: usize) -> usize {
    let columns = if C > 0 { C } else { width - j };
    assert!(j + columns <= width && columns <= P);
    columns
}

/// Which rows of a matrix can be read and written as whole vectors at columns `j .. j + P`, even if fewer of these
/// columns are meant. The last row or two cannot: the matrix ends before the vector does.
#[derive(Clone, Copy)]
struct Reach<const P: usize> {
    /// Distance between the starts of two rows.
    stride: usize,
    j: usize,
    /// Number of columns that are meant.
    columns: usize,
    /// Rows `0 .. whole` can be read whole.
    whole: usize,
}

impl<const P: usize> Reach<P> {
    #[inline(always)]
    fn new(len: usize, stride: usize, j: usize, columns: usize) -> Self {
        assert!(j + columns <= stride);
        let height = len / stride;
        let whole = if columns == P { height } else { (len + stride).saturating_sub(j + P) / stride };
        Reach { stride, j, columns, whole: whole.min(height) }
    }

    /// The columns of row `k` that are meant, filled up to P with whatever follows them; copied to `last` where
    /// nothing follows.
    #[inline(always)]
    fn load<'a>(&self, m: &'a [f32], k: i32, last: &'a mut [f32; P]) -> &'a [f32; P] {
        let k = k as u32 as usize;
        if k < self.whole {
            // SAFETY: `m` holds all P columns of the rows below `whole`.
            return unsafe { &*m.as_ptr().add(k * self.stride + self.j).cast::<[f32; P]>() };
        }
        assert!(!self.always_whole());
        load_last(m, k * self.stride + self.j, &mut last[..self.columns]);
        last
    }

    /// Whether every row has room for P columns. The compiler often knows this.
    #[inline(always)]
    fn always_whole(&self) -> bool {
        self.columns == P || self.j + P <= self.stride
    }

    /// Number of rows, counted from the first, that can be read as whole vectors.
    #[inline(always)]
    fn whole_rows(&self) -> u32 {
        u32::try_from(self.whole).unwrap_or(u32::MAX)
    }

    /// Row `k`, as [`Reach::load`] returns it.
    ///
    /// # Safety
    /// Row `k` is one of the whole rows.
    #[inline(always)]
    unsafe fn whole_row<'a>(&self, m: &'a [f32], k: &i32) -> &'a [f32; P] {
        // SAFETY: `m` holds all P columns of a whole row. `k` is read again on its own: otherwise the compiler
        // extracts it from the vector in which it was compared.
        unsafe {
            let k = std::ptr::from_ref(k).read_volatile() as u32 as usize;
            &*m.as_ptr().add(k * self.stride + self.j).cast::<[f32; P]>()
        }
    }

    /// Writes the columns of row `k` that are meant, and after them what [`Reach::load`] found there.
    #[inline(always)]
    fn store(&self, m: &mut [f32], k: i32, row: &[f32; P]) {
        let k = k as u32 as usize;
        if k < self.whole {
            // SAFETY: `m` holds all P columns of the rows below `whole`.
            return unsafe { m.as_mut_ptr().add(k * self.stride + self.j).cast::<[f32; P]>().write(*row) };
        }
        assert!(!self.always_whole());
        // A copy: passing a reference to `row` itself would keep it in memory instead of registers.
        store_last(m, k * self.stride + self.j, &{ *row }[..self.columns]);
    }
}

// These functions take numbers and no `Reach`, which would have to be in memory to be passed to them.
#[cold]
#[inline(never)]
fn load_last(m: &[f32], at: usize, last: &mut [f32]) {
    last.copy_from_slice(&m[at..][..last.len()]);
}

#[cold]
#[inline(never)]
fn store_last(m: &mut [f32], at: usize, row: &[f32]) {
    m[at..][..row.len()].copy_from_slice(row);
}

/// `columns` numbers of `g` from `at` on, followed by zeros.
#[inline(always)]
fn zero_padded<const P: usize>(g: &[f32], at: usize, columns: usize) -> [f32; P] {
    /// From place 16 − n on: all bits for n numbers, then none.
    const BITS: [u32; 32] = [
        !0, !0, !0, !0, !0, !0, !0, !0, !0, !0, !0, !0, !0, !0, !0, !0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    ];
    if columns == P {
        return *chunk::<P>(g, at);
    }
    let mut row = [0f32; P];
    match g.get(at..at + P) {
        // One load for the whole row. After copies in overlapping pieces, the load would wait until they have reached
        // the cache.
        Some(whole) => {
            let bits = &BITS[16 - columns..][..P];
            for c in 0..P {
                row[c] = f32::from_bits(whole[c].to_bits() & bits[c]);
            }
        }
        None => row[..columns].copy_from_slice(&g[at..][..columns]),
    }
    row
}

/// Prefetches `values[at]`.
#[inline(always)]
pub fn prefetch<T>(values: &[T], at: usize) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a prefetch reads nothing, whatever the address.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(values.as_ptr().wrapping_add(at).cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (values, at);
}

/// Prefetches `values[at]` into the second-level cache, long before it is needed: that cache is larger, and more lines
/// can be on their way to it at once.
#[inline(always)]
fn prefetch_early<T>(values: &[T], at: usize) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T1, _mm_prefetch};
        // SAFETY: a prefetch reads nothing, whatever the address.
        unsafe { _mm_prefetch::<_MM_HINT_T1>(values.as_ptr().wrapping_add(at).cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (values, at);
}

/// How many rows ahead of the current one are prefetched.
const AHEAD: usize = 8;

/// Prefetches sparse rows that are picked from a list, which the hardware prefetcher cannot predict.
#[derive(Clone, Copy)]
struct Forerunner<'a> {
    a: Sparse<'a>,
    pick: Pick<'a>,
    count: usize,
    /// Cache lines prefetched per row; beyond them the processor recognises a stream. The number is the same for every
    /// row: a loop whose length varies costs more than it saves.
    lines: usize,
}

impl<'a> Forerunner<'a> {
    /// Prefetches the first of `count` rows.
    #[inline(always)]
    fn start(a: Sparse<'a>, pick: Pick<'a>, count: usize) -> Self {
        const MOST_LINES: usize = 8;
        let forerunner = Forerunner { a, pick, count, lines: (1 + a.mean_entries() / 16).min(MOST_LINES) };
        (0..AHEAD).for_each(|i| forerunner.ask(i));
        forerunner
    }

    /// Call this when row `i` is the current one.
    #[inline(always)]
    fn pass(&self, i: usize) {
        self.ask(i + AHEAD);
    }

    #[inline(always)]
    fn ask(&self, i: usize) {
        if let Pick::List(list) = self.pick
            && i < self.count
        {
            let start = self.a.indptr[list[i] as usize] as usize;
            for line in 0..self.lines {
                prefetch(self.a.indices, start + 16 * line);
                prefetch(self.a.values, start + 16 * line);
            }
        }
    }
}

/// What is applied to a product before it is written.
#[derive(Clone, Copy, Debug)]
pub enum Finish<'a> {
    /// Nothing.
    Plain,
    /// `max(z, 0)`; NaN stays.
    Rectify,
    /// 0 wherever this matrix, of the product's shape, is not positive.
    Where(&'a [f32]),
}

impl Finish<'_> {
    /// The same for the product without its first `n` numbers.
    pub fn skip(self, n: usize) -> Self {
        match self {
            Finish::Where(h) => Finish::Where(&h[n..]),
            other => other,
        }
    }
}

/// Finishes the first `columns` of P sums and writes them to `out` from `at` on. With `ahead`, what follows them in
/// `out` has yet to be computed, so all P are written in one piece.
#[inline(always)]
fn write_sums<A: Arithmetic, const P: usize>(
    out: &mut [f32],
    at: usize,
    (sums, columns): (&mut [f32; P], usize),
    finish: Finish<'_>,
    ahead: bool,
) {
    match finish {
        Finish::Plain => {}
        Finish::Rectify => A::rectify(sums),
        Finish::Where(h) if columns == P => A::zero_unless_positive(chunk::<P>(h, at), sums),
        Finish::Where(h) => A::zero_unless_positive(&zero_padded::<P>(h, at, columns), sums),
    }
    match ahead && at + P <= out.len() {
        true => *chunk_mut::<P>(out, at) = *sums,
        // A copy: passing a reference to `sums` itself would keep them in memory instead of registers.
        false if ahead => write_last(&mut out[at..][..columns], &{ *sums }),
        false => out[at..at + columns].copy_from_slice(&sums[..columns]),
    }
}

#[cold]
#[inline(never)]
fn write_last(out: &mut [f32], sums: &[f32]) {
    out.copy_from_slice(&sums[..out.len()]);
}
