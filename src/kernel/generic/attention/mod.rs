//! Attention: each row is a mean of other rows, with weights by a softmax of scores.
//!
//! Rows of x stand *interleaved*: the first number of every head, then the second of every head, and so on, filled up with zeros
//! ([`Heads`]). A vector then holds the numbers of many heads side by side: a score is a sum of vectors, and a coefficient is
//! read once for all columns of its head.

mod backward;
mod forward;

pub use backward::{attend_backward, attend_transposed};
pub use forward::{attend, score_rows};

use super::super::lanes::Lanes;
use super::super::{Edges, Heads, Pick};
use super::prefetch;

/// Numbers in a vector.
const LANES: usize = 16;
/// Where a score is negative, its slope.
const SLOPE: f32 = 0.2;
/// Entries ahead whose numbers are prefetched.
const PAIRS_AHEAD: usize = 64;
/// Cache lines of a row that are prefetched.
const MOST_LINES: usize = 16;

/// How the rows above score the rows below. Vectors and rows of x are interleaved.
#[derive(Clone, Copy)]
pub enum Scores<'a> {
    /// `LeakyReLU(s_u + d_v)`, with `s_u` and `d_v` by [`score_rows`].
    Sum {
        /// s and d, rows of one number per head, one for each row below.
        scores: [&'a [f32]; 2],
        /// The row of d of each row above.
        own: Pick<'a>,
        /// The vectors a that s and d are made with.
        vectors: [&'a [f32]; 2],
    },
    /// `a·LeakyReLU(x_u + y_v)`.
    Inner {
        /// y, a row for each row above.
        above: &'a [f32],
        /// a
        vector: &'a [f32],
    },
}

/// What rows attend to, and by which scores.
#[derive(Clone, Copy)]
pub struct Attended<'a> {
    /// How rows are scored.
    pub scores: Scores<'a>,
    /// The rows below, interleaved.
    pub x: &'a [f32],
    /// The heads of their columns.
    pub heads: Heads,
}

/// Which coefficients become 0 at random, by the nodes of the row and of the entry, and the head.
#[derive(Clone, Copy)]
pub struct Drops<'a> {
    /// The key of the random numbers.
    pub key: u64,
    /// A coefficient becomes 0 if its random number is below this.
    pub threshold: u32,
    /// The node of each row above, and of each row below.
    pub nodes: [Pick<'a>; 2],
}

/// Runs `$body::<A, H>(…)` with as many lanes per number of a row as there are heads: 1, 2, 4, 8 or 16, or a multiple of 16.
macro_rules! by_heads {
    ($heads:expr, $body:ident :: <$a:ty>($($arg:expr),*)) => {
        match $heads.lanes() {
            1 => $body::<$a, 1>($($arg),*),
            2 => $body::<$a, 2>($($arg),*),
            4 => $body::<$a, 4>($($arg),*),
            8 => $body::<$a, 8>($($arg),*),
            _ => $body::<$a, 16>($($arg),*),
        }
    };
}
use by_heads;

/// Runs `$body` for groups of `$count` vectors, with the constant `$V` as the length of the group and `$c` as its first vector:
/// four, two or one at a time, whose sums stay in registers.
macro_rules! by_vectors {
    ($count:expr, |$c:ident| $body:ident :: <$($generic:tt),* ; V>($($arg:expr),*)) => {{
        let mut $c = 0;
        while $count - $c >= 4 { $body::<$($generic),*, 4>($($arg),*); $c += 4; }
        while $count - $c >= 2 { $body::<$($generic),*, 2>($($arg),*); $c += 2; }
        while $count > $c { $body::<$($generic),*, 1>($($arg),*); $c += 1; }
    }};
}
use by_vectors;

/// The vectors of a row that have the same sixteen heads, or all heads if there are at most 16.
#[derive(Clone, Copy)]
struct Group {
    /// Where the first vector begins in a row, and where its first coefficient is among those of an entry.
    from: usize,
    /// Distance between the vectors.
    step: usize,
    /// Number of vectors.
    count: usize,
    /// Numbers of a row.
    stride: usize,
    /// Coefficients of an entry.
    lanes: usize,
}

impl Group {
    /// Number of groups: with H = 16 there may be several.
    #[inline(always)]
    fn number<const H: usize>(heads: Heads) -> usize {
        if H < LANES { 1 } else { heads.lanes() / LANES }
    }

    /// Group `i`.
    #[inline(always)]
    fn new<const H: usize>(heads: Heads, i: usize) -> Self {
        let (stride, lanes) = (heads.stride(), if H < LANES { H } else { heads.lanes() });
        let step = if H < LANES { LANES } else { lanes };
        Group { from: i * LANES, step, count: stride / step, stride, lanes }
    }

    /// Vector `c` of a row that begins at `row`.
    #[inline(always)]
    fn read<L: Lanes>(&self, m: &[f32], row: usize, c: usize) -> L {
        L::read(&m[row * self.stride + self.from + c * self.step..][..LANES])
    }

    /// V vectors of a row from `c` on.
    #[inline(always)]
    fn vectors<L: Lanes, const V: usize>(&self, m: &[f32], row: usize, c: usize) -> [L; V] {
        let row = &m[row * self.stride + self.from + c * self.step..][..(V - 1) * self.step + LANES];
        // A closure would not be compiled for the instruction set.
        let mut vectors = [L::all(0.0); V];
        for t in 0..V {
            vectors[t] = L::read(&row[t * self.step..]);
        }
        vectors
    }

    /// The number of each head of an entry, or of a row.
    #[inline(always)]
    fn at(&self, entry: usize) -> usize {
        entry * self.lanes + self.from
    }

    /// The same where an entry has two numbers of each head. The second ones follow after as many as there are lanes.
    #[inline(always)]
    fn pair(&self, entry: usize) -> usize {
        2 * entry * self.lanes + self.from
    }
}

/// `max(x, 0.2·x)`.
#[inline(always)]
fn leaky<L: Lanes>(x: L) -> L {
    x.at_least(x.times(L::all(SLOPE)))
}

/// The slope of [`leaky`]; that at 0 is PyTorch's.
#[inline(always)]
fn slope<L: Lanes>(x: L) -> L {
    L::all(SLOPE).but(x.above(L::all(0.0)), L::all(1.0))
}

/// An exponential, or 0 if it is dropped: then it has a sign.
#[inline(always)]
fn kept<L: Lanes>(e: L) -> L {
    e.at_least(L::all(0.0))
}

/// An exponential without its sign.
#[inline(always)]
fn magnitude<L: Lanes>(e: L) -> L {
    e.at_least(L::all(0.0).minus(e))
}

/// Entries ahead whose rows are prefetched: few enough for the first-level cache.
#[inline(always)]
fn rows_ahead(stride: usize) -> usize {
    const UNDER_WAY: usize = 1 << 14;
    (UNDER_WAY / (4 * stride)).clamp(4, PAIRS_AHEAD)
}

/// Prefetches the beginning of a row.
#[inline(always)]
fn ask(m: &[f32], row: i32, stride: usize) {
    for line in 0..(stride / LANES).min(MOST_LINES) {
        prefetch(m, row as usize * stride + line * LANES);
    }
}

/// The entries of a row.
#[inline(always)]
fn entries(indptr: &[i64], row: usize) -> std::ops::Range<usize> {
    indptr[row] as usize..indptr[row + 1] as usize
}
