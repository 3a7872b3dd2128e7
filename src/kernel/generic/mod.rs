//! The loops themselves, written once and compiled per instruction set by [`super::isa`].
//!
//! Columns are worked in chunks of a constant width, so that the accumulators of a chunk live in vector registers
//! while the row's entries stream by.
// The index runs over several arrays at once, which an iterator over one of them hides.
#![allow(clippy::needless_range_loop)]
// Slices and widths of plain matrices: a struct for each would only be taken apart again.
#![allow(clippy::too_many_arguments)]
#![allow(unsafe_code)]

use super::arithmetic::Arithmetic;
use super::{Pick, Sparse};

/// Runs `$body::<A, C, P>(args…, j)` over the columns `0 .. $width`, C at a time: 256, 128, 64, 32, 16, but not more than `$most`, and
/// the rest at once. P is C filled up to a vector: 1, 2, 4, 8 or a multiple of 16. C is 0 for 9 to 15 columns, the number of which
/// [`columns_of`] tells at run time: seven more versions of every loop would double the time it takes to compile them.
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

mod chacha;
mod dense;
mod narrow;
mod search;
mod softmax;
mod sparse;
mod update;

pub use chacha::{CHACHA_WORDS, chacha8};
pub use dense::{GROUP, dense_times, dense_transposed_times};
pub use search::{AT_ONCE, marked_entries};
pub use softmax::{cross_entropy, softmax};
pub use sparse::{sparse_times, sparse_transposed_times, stride_of, total};
pub use update::{Adam, adam, add, descend, largest, rectified_gradient};

#[inline(always)]
fn chunk<const C: usize>(m: &[f32], at: usize) -> &[f32; C] {
    m[at..at + C].try_into().expect("a slice of C elements")
}

#[inline(always)]
fn chunk_mut<const C: usize>(m: &mut [f32], at: usize) -> &mut [f32; C] {
    (&mut m[at..at + C]).try_into().expect("a slice of C elements")
}

/// How many columns a chunk has that begins at column `j` of `width`: C, or the rest if C is 0.
#[inline(always)]
fn columns_of<const C: usize, const P: usize>(width: usize, j: usize) -> usize {
    let columns = if C > 0 { C } else { width - j };
    assert!(j + columns <= width && columns <= P);
    columns
}

/// Which rows of a matrix can be read or written as whole vectors at columns `j .. j + P`, though fewer of them may be meant.
/// The last row or two of a matrix cannot: there is nothing behind them.
#[derive(Clone, Copy)]
struct Reach<const P: usize> {
    /// How far apart the rows begin.
    stride: usize,
    j: usize,
    /// How many columns are meant.
    columns: usize,
    /// Rows `0 .. whole` can.
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

    /// The columns that are meant of row `k`, filled up to P with whatever stands behind them; in `last` where nothing does.
    #[inline(always)]
    fn load<'a>(&self, m: &'a [f32], k: i32, last: &'a mut [f32; P]) -> &'a [f32; P] {
        let k = k as u32 as usize;
        if k < self.whole {
            // SAFETY: of the rows below `whole` all P columns are in `m`.
            return unsafe { &*m.as_ptr().add(k * self.stride + self.j).cast::<[f32; P]>() };
        }
        assert!(!self.always_whole());
        load_last(m, k * self.stride + self.j, &mut last[..self.columns]);
        last
    }

    /// Whether there is room for P columns in every row: what the compiler often knows.
    #[inline(always)]
    fn always_whole(&self) -> bool {
        self.columns == P || self.j + P <= self.stride
    }

    /// How many rows, from the first on, can be read as whole vectors.
    #[inline(always)]
    fn whole_rows(&self) -> u32 {
        u32::try_from(self.whole).unwrap_or(u32::MAX)
    }

    /// Row `k`, as [`Reach::load`] gives it.
    ///
    /// # Safety
    /// It is one of the whole rows.
    #[inline(always)]
    unsafe fn whole_row<'a>(&self, m: &'a [f32], k: &i32) -> &'a [f32; P] {
        // SAFETY: of the whole rows all P columns are in `m`. Read again, one by one: the compiler would take the vector apart
        // in which they have been compared.
        unsafe {
            let k = std::ptr::from_ref(k).read_volatile() as u32 as usize;
            &*m.as_ptr().add(k * self.stride + self.j).cast::<[f32; P]>()
        }
    }

    /// Writes the columns that are meant of row `k`, and behind them what [`Reach::load`] has found there.
    #[inline(always)]
    fn store(&self, m: &mut [f32], k: i32, row: &[f32; P]) {
        let k = k as u32 as usize;
        if k < self.whole {
            // SAFETY: of the rows below `whole` all P columns are in `m`.
            return unsafe { m.as_mut_ptr().add(k * self.stride + self.j).cast::<[f32; P]>().write(*row) };
        }
        assert!(!self.always_whole());
        // A copy, lest what is in registers be kept in memory for its sake.
        store_last(m, k * self.stride + self.j, &{ *row }[..self.columns]);
    }
}

// These are told numbers and not of a `Reach`, which would have to stand in memory for their sake.
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

/// So many numbers of `g` from `at` on, filled up with zeros.
#[inline(always)]
fn zero_padded<const P: usize>(g: &[f32], at: usize, columns: usize) -> [f32; P] {
    /// From place 16 − n on, the bits of n numbers and of none.
    const BITS: [u32; 32] = [
        !0, !0, !0, !0, !0, !0, !0, !0, !0, !0, !0, !0, !0, !0, !0, !0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    ];
    if columns == P {
        return *chunk::<P>(g, at);
    }
    let mut row = [0f32; P];
    match g.get(at..at + P) {
        // Read whole, in one piece. Copied in pieces that overlap, it would be waited for until they have left for the cache.
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

/// Asks for `values[at]` before it is needed.
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

/// Asks for `values[at]` long before it is needed: it comes as far as the second-level cache, which holds more, and which has
/// more lines under way at once.
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

/// How many rows ahead of the one at work are asked for.
const AHEAD: usize = 8;

/// Asks for sparse rows before they are needed, where they are picked here and there, which no prefetcher foresees.
#[derive(Clone, Copy)]
struct Forerunner<'a> {
    a: Sparse<'a>,
    pick: Pick<'a>,
    count: usize,
    /// Lines of a row asked for; behind them the processor sees a stream. As many for each: a loop that ends elsewhere each
    /// time costs more than it spares.
    lines: usize,
}

impl<'a> Forerunner<'a> {
    /// For so many rows; asks for the first ones.
    #[inline(always)]
    fn start(a: Sparse<'a>, pick: Pick<'a>, count: usize) -> Self {
        const MOST_LINES: usize = 8;
        let forerunner = Forerunner { a, pick, count, lines: (1 + a.mean_entries() / 16).min(MOST_LINES) };
        (0..AHEAD).for_each(|i| forerunner.ask(i));
        forerunner
    }

    /// Row `i` is at work.
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

/// What becomes of a product before it is written.
#[derive(Clone, Copy)]
pub enum Finish<'a> {
    /// It stays as it is.
    Plain,
    /// `max(z, 0)`; NaN stays.
    Rectify,
    /// 0 wherever this matrix of the product's shape is not positive.
    Where(&'a [f32]),
}

impl Finish<'_> {
    /// The same for a product without its first `n` numbers.
    pub fn skip(self, n: usize) -> Self {
        match self {
            Finish::Where(h) => Finish::Where(&h[n..]),
            other => other,
        }
    }
}

/// So many of P sums, finished, become the numbers of the product from `at` on. Where `ahead` nothing that is to stay stands behind
/// them yet, and all are written, in one piece.
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
        // A copy, lest what is in registers be kept in memory for its sake.
        false if ahead => write_last(&mut out[at..][..columns], &{ *sums }),
        false => out[at..at + columns].copy_from_slice(&sums[..columns]),
    }
}

#[cold]
#[inline(never)]
fn write_last(out: &mut [f32], sums: &[f32]) {
    out.copy_from_slice(&sums[..out.len()]);
}
