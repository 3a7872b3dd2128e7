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
use std::ops::Range;

/// Runs `$body::<A, C, P>(args…, j)` over the columns `0 .. $width`, C at a time: 64, 32, 16, and the rest at once. P is C
/// filled up to a vector: 1, 2, 4, 8 or a multiple of 16.
macro_rules! by_chunks {
    ($width:expr, $body:ident :: <$a:ty>, $($arg:expr),*) => {{
        let width = $width;
        let mut j = 0;
        while width - j >= 64 { $body::<$a, 64, 64>($($arg,)* j); j += 64; }
        if width - j >= 32 { $body::<$a, 32, 32>($($arg,)* j); j += 32; }
        if width - j >= 16 { $body::<$a, 16, 16>($($arg,)* j); j += 16; }
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
            9 => $body::<$a, 9, 16>($($arg,)* j),
            10 => $body::<$a, 10, 16>($($arg,)* j),
            11 => $body::<$a, 11, 16>($($arg,)* j),
            12 => $body::<$a, 12, 16>($($arg,)* j),
            13 => $body::<$a, 13, 16>($($arg,)* j),
            14 => $body::<$a, 14, 16>($($arg,)* j),
            _ => $body::<$a, 15, 16>($($arg,)* j),
        }
    }};
}

#[inline(always)]
fn chunk<const C: usize>(m: &[f32], at: usize) -> &[f32; C] {
    m[at..at + C].try_into().expect("a slice of C elements")
}

#[inline(always)]
fn chunk_mut<const C: usize>(m: &mut [f32], at: usize) -> &mut [f32; C] {
    (&mut m[at..at + C]).try_into().expect("a slice of C elements")
}

/// Which rows of a matrix can be read or written as whole vectors at columns `j .. j + P`, though only C of them are meant.
/// The last row or two of a matrix cannot: there is nothing behind them.
#[derive(Clone, Copy)]
struct Reach<const C: usize, const P: usize> {
    height: usize,
    width: usize,
    j: usize,
    /// Rows `0 .. whole` can.
    whole: usize,
}

impl<const C: usize, const P: usize> Reach<C, P> {
    #[inline(always)]
    fn new(len: usize, width: usize, j: usize) -> Self {
        assert!(j + C <= width);
        let height = len / width;
        let whole = if C == P { height } else { (len + width).saturating_sub(j + P) / width };
        Reach { height, width, j, whole: whole.min(height) }
    }

    /// Columns `j .. j + C` of row `k`, filled up to P with whatever stands behind them; in `last` where nothing does.
    #[inline(always)]
    fn load<'a>(&self, m: &'a [f32], k: i32, last: &'a mut [f32; P]) -> &'a [f32; P] {
        let k = k as u32 as usize;
        if k < self.whole {
            // SAFETY: of the rows below `whole` all P columns are in `m`.
            return unsafe { &*m.as_ptr().add(k * self.width + self.j).cast::<[f32; P]>() };
        }
        self.load_last(m, k, last);
        last
    }

    /// Writes columns `j .. j + C` of row `k`, and behind them what [`Reach::load`] has found there.
    #[inline(always)]
    fn store(&self, m: &mut [f32], k: i32, row: &[f32; P]) {
        let k = k as u32 as usize;
        if k < self.whole {
            // SAFETY: of the rows below `whole` all P columns are in `m`.
            return unsafe { m.as_mut_ptr().add(k * self.width + self.j).cast::<[f32; P]>().write(*row) };
        }
        chunk_mut::<C>(m, k * self.width + self.j).copy_from_slice(&row[..C]);
    }

    #[cold]
    #[inline(never)]
    fn load_last(&self, m: &[f32], k: usize, last: &mut [f32; P]) {
        assert!(k < self.height, "row {k} of a matrix of {}", self.height);
        last[..C].copy_from_slice(chunk::<C>(m, k * self.width + self.j));
    }
}

/// C numbers of `g` from `at` on, filled up with zeros.
#[inline(always)]
fn zero_padded<const C: usize, const P: usize>(g: &[f32], at: usize) -> [f32; P] {
    let mut row = [0f32; P];
    row[..C].copy_from_slice(chunk::<C>(g, at));
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

/// How many rows ahead of the one at work are asked for.
const AHEAD: usize = 8;

/// Asks for what a sparse row holds before it is needed: rows are picked here and there, which no prefetcher foresees.
#[inline(always)]
fn prefetch_row(a: Sparse<'_>, pick: Pick<'_>, i: usize, count: usize) {
    /// Of a matrix of this many entries, which stays in the second-level cache, the beginning of a row will do.
    const NEAR: usize = 1 << 16;
    /// Entries of a row asked for; behind them the processor sees a stream.
    const MOST: usize = 1024;
    if i < count {
        let (indices, values) = a.row(pick.at(i));
        let most = if a.indices.len() > NEAR { indices.len().min(MOST) } else { 1 };
        for at in (0..most).step_by(16) {
            prefetch(indices, at);
            prefetch(values, at);
        }
    }
}

/// The first C of P sums.
#[inline(always)]
fn write_sums<const C: usize, const P: usize>(out: &mut [f32], at: usize, sums: &[f32; P]) {
    chunk_mut::<C>(out, at).copy_from_slice(&sums[..C]);
}

/// `out[i, :] ← Σ_e values[e]·M[indices[e], :]` over row `pick[i]` of `a`, in an order that the row alone decides.
///
/// Cost: `2·width` flops and one row of `M` (`4·width` bytes) per entry; bound by that gather.
#[inline(always)]
pub fn sparse_times<A: Arithmetic>(a: Sparse<'_>, pick: Pick<'_>, m: &[f32], width: usize, out: &mut [f32]) {
    match m.len() > FAR && width > NARROW {
        true => sparse_times_far::<A>(a, pick, m, width, out),
        false => by_chunks!(width, sparse_times_chunk::<A>, a, pick, m, width, out),
    }
}

/// A matrix of more numbers than this does not stay in the second-level cache …
const FAR: usize = 1 << 18;
/// … and a row wider than this is several chunks of columns, which are better fetched together.
const NARROW: usize = 64;

/// M in cache, or its rows narrow: all rows for one chunk of columns after the other.
#[inline(always)]
fn sparse_times_chunk<A: Arithmetic, const C: usize, const P: usize>(
    a: Sparse<'_>,
    pick: Pick<'_>,
    m: &[f32],
    width: usize,
    out: &mut [f32],
    j: usize,
) {
    let (reach, count) = (Reach::<C, P>::new(m.len(), width, j), out.len() / width);
    (0..AHEAD).for_each(|i| prefetch_row(a, pick, i, count));
    for i in 0..count {
        prefetch_row(a, pick, i + AHEAD, count);
        let (indices, values) = a.row(pick.at(i));
        sparse_row_times::<A, C, P>(indices, values, m, reach, chunk_mut::<C>(out, i * width + j));
    }
}

/// M in memory: all columns for one row after the other, and the rows of M that will be needed next are asked for early.
#[inline(always)]
fn sparse_times_far<A: Arithmetic>(a: Sparse<'_>, pick: Pick<'_>, m: &[f32], width: usize, out: &mut [f32]) {
    /// Bytes of M on their way.
    const UNDER_WAY: usize = 8192;
    let count = out.len() / width;
    let entries_ahead = (UNDER_WAY / (4 * width)).clamp(4, 64);
    let mut scout = Scout { a, pick, count, row: 0, left: &[] };
    scout.ask(m, width, entries_ahead);
    for i in 0..count {
        let (indices, values) = a.row(pick.at(i));
        scout.ask(m, width, indices.len());
        sparse_row_times_far::<A>(indices, values, m, width, &mut out[i * width..][..width]);
    }
}

#[inline(always)]
fn sparse_row_times_far<A: Arithmetic>(indices: &[i32], values: &[f32], m: &[f32], width: usize, out: &mut [f32]) {
    by_chunks!(width, sparse_row_times_chunk::<A>, indices, values, m, width, out)
}

#[inline(always)]
fn sparse_row_times_chunk<A: Arithmetic, const C: usize, const P: usize>(
    indices: &[i32],
    values: &[f32],
    m: &[f32],
    width: usize,
    out: &mut [f32],
    j: usize,
) {
    let reach = Reach::<C, P>::new(m.len(), width, j);
    sparse_row_times::<A, C, P>(indices, values, m, reach, chunk_mut::<C>(out, j));
}

/// Goes through the entries of the rows ahead of the one at work, and asks for the rows of M they name.
struct Scout<'a> {
    a: Sparse<'a>,
    pick: Pick<'a>,
    count: usize,
    /// The next row to go to, and what is left of the one before.
    row: usize,
    left: &'a [i32],
}

impl Scout<'_> {
    #[inline(always)]
    fn ask(&mut self, m: &[f32], width: usize, mut entries: usize) {
        while entries > 0 {
            while self.left.is_empty() {
                if self.row == self.count {
                    return;
                }
                self.left = self.a.row(self.pick.at(self.row)).0;
                self.row += 1;
            }
            let (now, later) = self.left.split_at(entries.min(self.left.len()));
            for &k in now {
                for column in (0..width).step_by(16) {
                    prefetch(m, k as u32 as usize * width + column);
                }
            }
            self.left = later;
            entries -= now.len();
        }
    }
}

/// `out ← Σ_e values[e]·M[indices[e], j .. j + C]`, by several sums that take the entries in turn: an addition waits for the
/// one before it in its own sum only.
#[inline(always)]
fn sparse_row_times<A: Arithmetic, const C: usize, const P: usize>(
    indices: &[i32],
    values: &[f32],
    m: &[f32],
    reach: Reach<C, P>,
    out: &mut [f32; C],
) {
    let sum = match A::SUMS / P {
        4.. => sparse_row_sum::<A, C, P, 4>(indices, values, m, reach),
        2.. => sparse_row_sum::<A, C, P, 2>(indices, values, m, reach),
        _ => sparse_row_sum::<A, C, P, 1>(indices, values, m, reach),
    };
    out.copy_from_slice(&sum[..C]);
}

#[inline(always)]
fn sparse_row_sum<A: Arithmetic, const C: usize, const P: usize, const U: usize>(
    indices: &[i32],
    values: &[f32],
    m: &[f32],
    reach: Reach<C, P>,
) -> [f32; P] {
    let mut last = [0f32; P];
    let mut sums = [[0f32; P]; U];
    let (turns, rest) = indices.as_chunks::<U>();
    let (value_turns, value_rest) = values.as_chunks::<U>();
    for (k, v) in turns.iter().zip(value_turns) {
        for u in 0..U {
            A::madd_row(v[u], reach.load(m, k[u], &mut last), &mut sums[u]);
        }
    }
    for (&k, &v) in rest.iter().zip(value_rest) {
        A::madd_row(v, reach.load(m, k, &mut last), &mut sums[0]);
    }
    for u in 1..U {
        for c in 0..P {
            sums[0][c] += sums[u][c];
        }
    }
    sums[0]
}

/// `M[indices[e], :] += values[e]·G[i, :]` for row `pick[i]` of `a`: the product with the transpose, row by row.
///
/// Cost: as for [`sparse_times`], with each row of `M` written as well as read.
#[inline(always)]
pub fn sparse_transposed_times<A: Arithmetic>(a: Sparse<'_>, pick: Pick<'_>, g: &[f32], width: usize, m: &mut [f32]) {
    by_chunks!(width, sparse_transposed_times_chunk::<A>, a, pick, g, width, m)
}

#[inline(always)]
fn sparse_transposed_times_chunk<A: Arithmetic, const C: usize, const P: usize>(
    a: Sparse<'_>,
    pick: Pick<'_>,
    g: &[f32],
    width: usize,
    m: &mut [f32],
    j: usize,
) {
    // A width known to the compiler makes the address of a row a shift.
    match width == C {
        true => sparse_transposed_times_strided::<A, C, P>(a, pick, g, C, m, 0),
        false => sparse_transposed_times_strided::<A, C, P>(a, pick, g, width, m, j),
    }
}

#[inline(always)]
fn sparse_transposed_times_strided<A: Arithmetic, const C: usize, const P: usize>(
    a: Sparse<'_>,
    pick: Pick<'_>,
    g: &[f32],
    width: usize,
    m: &mut [f32],
    j: usize,
) {
    let (reach, count) = (Reach::<C, P>::new(m.len(), width, j), g.len() / width);
    let mut last = [0f32; P];
    (0..AHEAD).for_each(|i| prefetch_row(a, pick, i, count));
    for i in 0..count {
        prefetch_row(a, pick, i + AHEAD, count);
        let (indices, values) = a.row(pick.at(i));
        let row = zero_padded::<C, P>(g, i * width + j);
        for (&k, &v) in indices.iter().zip(values) {
            // The zeros leave what stands behind the columns as it is.
            let mut x = *reach.load(m, k, &mut last);
            A::madd_row(v, &row, &mut x);
            reach.store(m, k, &x);
        }
    }
}

/// Rows this short come in by themselves: one follows the other closely enough.
const FEW_COLUMNS: usize = 64;

/// Asks for dense rows before they are needed, as [`prefetch_row`] does for a sparse one.
#[inline(always)]
fn prefetch_dense(b: &[f32], depth: usize, columns: Range<usize>, pick: Pick<'_>, rows: Range<usize>) {
    #[cfg(target_arch = "x86_64")]
    for i in rows {
        let row = &b[pick.at(i) * depth..][columns.clone()];
        for at in (0..row.len()).step_by(16) {
            use std::arch::x86_64::{_MM_HINT_T1, _mm_prefetch};
            // SAFETY: a prefetch reads nothing; the addresses are in the slice.
            unsafe { _mm_prefetch::<_MM_HINT_T1>(row.as_ptr().cast::<i8>().wrapping_add(4 * at)) };
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (b, depth, columns, pick, rows);
}

/// `out[i, :] ← Σ_k B[pick[i], k]·M[k, :]`, `k` ascending; `B` has `depth` columns.
///
/// Cost: `2·depth·width` flops a row; `M` stays in cache, so it is bound by arithmetic.
#[inline(always)]
pub fn dense_times<A: Arithmetic>(b: &[f32], depth: usize, pick: Pick<'_>, m: &[f32], width: usize, out: &mut [f32]) {
    by_chunks!(width, dense_times_chunk::<A>, b, depth, pick, m, width, out)
}

#[inline(always)]
fn dense_times_chunk<A: Arithmetic, const C: usize, const P: usize>(
    b: &[f32],
    depth: usize,
    pick: Pick<'_>,
    m: &[f32],
    width: usize,
    out: &mut [f32],
    j: usize,
) {
    assert!(depth * width <= m.len());
    // Enough rows at once to hide the latency of one addition, no more than the registers hold.
    let mut done = 0;
    if A::SUMS / P >= 8 {
        done = dense_times_rows::<A, C, P, 8>(b, depth, pick, m, width, out, j, done);
    }
    if A::SUMS / P >= 4 {
        done = dense_times_rows::<A, C, P, 4>(b, depth, pick, m, width, out, j, done);
    }
    done = dense_times_rows::<A, C, P, 2>(b, depth, pick, m, width, out, j, done);
    dense_times_rows::<A, C, P, 1>(b, depth, pick, m, width, out, j, done);
}

/// The rows from `from` on, R at once; gives where the rest begins.
#[inline(always)]
fn dense_times_rows<A: Arithmetic, const C: usize, const P: usize, const R: usize>(
    b: &[f32],
    depth: usize,
    pick: Pick<'_>,
    m: &[f32],
    width: usize,
    out: &mut [f32],
    j: usize,
    from: usize,
) -> usize {
    let (reach, count) = (Reach::<C, P>::new(m.len(), width, j), out.len() / width);
    let mut last = [0f32; P];
    let mut i = from;
    while i + R <= count {
        if depth > FEW_COLUMNS {
            prefetch_dense(b, depth, 0..depth, pick, (i + AHEAD).min(count)..(i + AHEAD + R).min(count));
        }
        let mut rows: [&[f32]; R] = [&[]; R];
        for r in 0..R {
            rows[r] = &b[pick.at(i + r) * depth..][..depth];
        }
        let mut sums = [[0f32; P]; R];
        for k in 0..depth {
            let x = reach.load(m, k as i32, &mut last);
            for r in 0..R {
                A::madd_row(rows[r][k], x, &mut sums[r]);
            }
        }
        for r in 0..R {
            write_sums::<C, P>(out, (i + r) * width + j, &sums[r]);
        }
        i += R;
    }
    i
}

/// `M[k, :] += B[pick[i], from + k]·G[i, :]` for all rows `k` of `M`, `i` ascending: `M += Bᵀ·G`, or as many rows of it as
/// `M` has. `B` has `depth` columns.
///
/// Cost: as for [`dense_times`].
#[inline(always)]
pub fn dense_transposed_times<A: Arithmetic>(
    b: &[f32],
    depth: usize,
    from: usize,
    pick: Pick<'_>,
    g: &[f32],
    width: usize,
    m: &mut [f32],
) {
    by_chunks!(width, dense_transposed_times_chunk::<A>, b, depth, from, pick, g, width, m)
}

/// Rows of B that stay in the second-level cache while all columns are worked.
const GROUP: usize = 64;

#[inline(always)]
fn dense_transposed_times_chunk<A: Arithmetic, const C: usize, const P: usize>(
    b: &[f32],
    depth: usize,
    from: usize,
    pick: Pick<'_>,
    g: &[f32],
    width: usize,
    m: &mut [f32],
    j: usize,
) {
    let height = m.len() / width;
    assert!(from + height <= depth);
    let (reach, count) = (Reach::<C, P>::new(m.len(), width, j), g.len() / width);
    let mut starts = [0usize; GROUP];
    let mut padded = [[0f32; P]; GROUP];
    for start in (0..count).step_by(GROUP) {
        let end = (start + GROUP).min(count);
        for i in start..end {
            let row = pick.at(i);
            assert!((row + 1) * depth <= b.len());
            starts[i - start] = row * depth + from;
        }
        let starts = &starts[..end - start];
        let group = if C == P && width == C {
            g[start * P..end * P].as_chunks::<P>().0
        } else {
            for i in start..end {
                padded[i - start] = zero_padded::<C, P>(g, i * width + j);
            }
            &padded[..end - start]
        };
        // As many rows of M at once as the registers hold sums: they are read and written once a group. The next group's
        // rows come in meanwhile, a few with each block of columns.
        let mut k = 0;
        while k < height {
            let block = match (A::SUMS / P, height - k) {
                (16.., 16..) => 16,
                (8.., 8..) => 8,
                (_, 4..) => 4,
                (_, 2..) => 2,
                _ => 1,
            };
            match block {
                16 => dense_transposed_block::<A, C, P, 16, 1>(b, starts, group, k, reach, m),
                8 => dense_transposed_block::<A, C, P, 8, 1>(b, starts, group, k, reach, m),
                4 => dense_transposed_block::<A, C, P, 4, 1>(b, starts, group, k, reach, m),
                2 => dense_transposed_block::<A, C, P, 2, 2>(b, starts, group, k, reach, m),
                _ => dense_transposed_block::<A, C, P, 1, 4>(b, starts, group, k, reach, m),
            }
            if height > FEW_COLUMNS {
                let (first, past) = (end + GROUP * k / height, end + GROUP * (k + block) / height);
                prefetch_dense(b, depth, from..from + height, pick, first.min(count)..past.min(count));
            }
            k += block;
        }
    }
}

/// K rows of M from `k` on get the products of a group of rows, taken in turn by U sums.
#[inline(always)]
fn dense_transposed_block<A: Arithmetic, const C: usize, const P: usize, const K: usize, const U: usize>(
    b: &[f32],
    starts: &[usize],
    group: &[[f32; P]],
    k: usize,
    reach: Reach<C, P>,
    m: &mut [f32],
) {
    let mut sums = [[[0f32; P]; K]; U];
    let mut last = [0f32; P];
    for q in 0..K {
        sums[0][q] = *reach.load(m, (k + q) as i32, &mut last);
    }
    // SAFETY: the row begins at `start`, lies in `b`, and has the columns k .. k + K; the caller has checked it.
    let columns = |start: usize| unsafe { &*b.as_ptr().add(start + k).cast::<[f32; K]>() };
    let (turns, rest) = starts.as_chunks::<U>();
    let (group_turns, group_rest) = group.as_chunks::<U>();
    for (starts, g) in turns.iter().zip(group_turns) {
        for u in 0..U {
            let x = columns(starts[u]);
            for q in 0..K {
                A::madd_row(x[q], &g[u], &mut sums[u][q]);
            }
        }
    }
    for (&start, g) in rest.iter().zip(group_rest) {
        let x = columns(start);
        for q in 0..K {
            A::madd_row(x[q], g, &mut sums[0][q]);
        }
    }
    for u in 1..U {
        for q in 0..K {
            for c in 0..P {
                sums[0][q][c] += sums[u][q][c];
            }
        }
    }
    for q in 0..K {
        // What is written behind a row's columns is what was there, and the next row comes after.
        reach.store(m, (k + q) as i32, &sums[0][q]);
    }
}

/// `e^x` for `x ≤ 0`, to two units in the last place; NaN stays NaN, and below -87 the answer stays at e^-87.
///
/// By hand, so that the bits do not depend on the machine's libm and the loop over a row can be vectorised:
/// `x = k·ln 2 + r`, `e^r` by Cephes' minimax polynomial on |r| ≤ ln 2 / 2, and `2^k` put into the exponent.
#[inline(always)]
fn exp<A: Arithmetic>(x: f32) -> f32 {
    const MAGIC: f32 = 12_582_912.0; // 1.5·2^23: adding it leaves the rounded integer in the low bits
    let x = if x < -87.0 { -87.0 } else { x };
    let shifted = A::madd(x, std::f32::consts::LOG2_E, MAGIC);
    let k = shifted - MAGIC;
    let r = A::madd(k, -0.693_359_4, x);
    let r = A::madd(k, 2.121_944_4e-4, r);
    let mut p = 1.987_569_1e-4;
    for c in [1.398_199_9e-3, 8.333_452e-3, 4.166_579_6e-2, 1.666_666_5e-1, 0.5, 1.0, 1.0] {
        p = A::madd(p, r, c);
    }
    p * f32::from_bits((shifted.to_bits() << 23).wrapping_add(0x3f80_0000))
}

/// Each row of `z` becomes its softmax; `log_sums[i]` gets `log Σ_j e^{z_ij}`, from which the loss of any label follows.
///
/// The largest entry's own 1 is left out of the sum and put back by `ln_1p`, so that the loss of a row whose label is
/// all but certain keeps its digits.
#[inline(always)]
pub fn softmax<A: Arithmetic>(z: &mut [f32], width: usize, log_sums: &mut [f64]) {
    for (row, log_sum) in z.chunks_exact_mut(width).zip(log_sums) {
        let mut at = 0;
        for j in 1..width {
            at = if row[j] > row[at] { j } else { at };
        }
        let max = row[at];
        for v in row.iter_mut() {
            *v = exp::<A>(*v - max);
        }
        let rest = row[..at].iter().chain(&row[at + 1..]).sum::<f32>();
        // The largest is 1, or NaN for a row with an infinite or undefined entry; then so is all that follows.
        let largest = row[at];
        for v in row.iter_mut() {
            *v /= largest + rest;
        }
        *log_sum = f64::from(max) + f64::from(largest - 1.0) + f64::from(rest).ln_1p();
    }
}

/// From logits to the gradient of the mean cross-entropy by them: row `i` of `z` becomes `share·(softmax(z_i) − onehot)`,
/// the label being `labels[pick[i]]`, which must be a column. Gives the sum of the rows' cross-entropies.
#[inline(always)]
pub fn cross_entropy<A: Arithmetic>(z: &mut [f32], width: usize, labels: &[i32], pick: Pick<'_>, share: f32) -> f64 {
    match width {
        1 => cross_entropy_narrow::<A, 1>(z, labels, pick, share),
        2 => cross_entropy_narrow::<A, 2>(z, labels, pick, share),
        3 => cross_entropy_narrow::<A, 3>(z, labels, pick, share),
        4 => cross_entropy_narrow::<A, 4>(z, labels, pick, share),
        5 => cross_entropy_narrow::<A, 5>(z, labels, pick, share),
        6 => cross_entropy_narrow::<A, 6>(z, labels, pick, share),
        7 => cross_entropy_narrow::<A, 7>(z, labels, pick, share),
        8 => cross_entropy_narrow::<A, 8>(z, labels, pick, share),
        _ => cross_entropy_wide::<A>(z, width, labels, pick, share),
    }
}

/// Rows whose softmax is computed at once.
const BESIDE: usize = 16;

/// A sum of logarithms, `Σ log(1 + x_i)` for `x_i ≥ 0`, taken as the logarithm of a product. The product is kept less 1, so
/// that small `x_i` keep their digits; and there are several, each of which waits for itself alone.
struct LogSum {
    logs: f64,
    products_less_one: [f64; 4],
}

impl LogSum {
    const NONE: LogSum = LogSum { logs: 0.0, products_less_one: [0.0; 4] };

    #[inline(always)]
    fn add(&mut self, x: f64, i: usize) {
        let product = &mut self.products_less_one[i % 4];
        *product += x + *product * x;
        if *product > 1e200 {
            self.logs += product.ln_1p();
            *product = 0.0;
        }
    }

    #[inline(always)]
    fn total(self) -> f64 {
        self.products_less_one.iter().fold(self.logs, |sum, product| sum + product.ln_1p())
    }
}

/// Few classes: a vector per class, with a lane for each of [`BESIDE`] rows.
#[inline(always)]
fn cross_entropy_narrow<A: Arithmetic, const C: usize>(
    z: &mut [f32],
    labels: &[i32],
    pick: Pick<'_>,
    share: f32,
) -> f64 {
    let mut sum = LogSum::NONE;
    let mut linear = 0.0;
    for (block, rows) in z.chunks_mut(BESIDE * C).enumerate() {
        let count = rows.len() / C;
        let (mut e, mut y) = ([[0f32; BESIDE]; C], [0i32; BESIDE]);
        for i in 0..count {
            y[i] = labels[pick.at(block * BESIDE + i)];
            for j in 0..C {
                e[j][i] = rows[i * C + j];
            }
        }
        let (mut max, mut at, mut logit) = (e[0], [0i32; BESIDE], e[0]);
        for j in 1..C {
            for i in 0..BESIDE {
                let larger = e[j][i] > max[i];
                at[i] = if larger { j as i32 } else { at[i] };
                max[i] = if larger { e[j][i] } else { max[i] };
                logit[i] = if y[i] == j as i32 { e[j][i] } else { logit[i] };
            }
        }
        // The largest entry's own 1 stays out of the sum and is put back by the logarithm of 1 + x, so that the loss of a
        // row whose label is all but certain keeps its digits.
        let (mut rest, mut one, mut others) = ([0f32; BESIDE], [0f32; BESIDE], [0f32; BESIDE]);
        for j in 0..C {
            for i in 0..BESIDE {
                e[j][i] = exp::<A>(e[j][i] - max[i]);
                let largest = at[i] == j as i32;
                rest[i] += if largest { 0.0 } else { e[j][i] };
                one[i] += if largest { e[j][i] } else { 0.0 };
                others[i] += if y[i] == j as i32 { 0.0 } else { e[j][i] };
            }
        }
        for i in 0..BESIDE {
            let scale = share / (one[i] + rest[i]);
            for j in 0..C {
                e[j][i] = scale * if y[i] == j as i32 { -others[i] } else { e[j][i] };
            }
        }
        for i in 0..count {
            linear += f64::from(max[i]) - f64::from(logit[i]) + f64::from(one[i] - 1.0);
            sum.add(f64::from(rest[i]), i);
            for j in 0..C {
                rows[i * C + j] = e[j][i];
            }
        }
    }
    sum.total() + linear
}

#[inline(always)]
fn cross_entropy_wide<A: Arithmetic>(z: &mut [f32], width: usize, labels: &[i32], pick: Pick<'_>, share: f32) -> f64 {
    let mut sum = LogSum::NONE;
    let mut linear = 0.0;
    for (i, row) in z.chunks_exact_mut(width).enumerate() {
        let y = labels[pick.at(i)] as usize;
        let mut at = 0;
        for j in 1..width {
            at = if row[j] > row[at] { j } else { at };
        }
        let max = row[at];
        linear += f64::from(max) - f64::from(row[y]);
        let mut rest = 0.0;
        for j in 0..width {
            row[j] = exp::<A>(row[j] - max);
        }
        for j in 0..width {
            rest += if j == at { 0.0 } else { row[j] };
        }
        linear += f64::from(row[at] - 1.0);
        sum.add(f64::from(rest), i);
        let total = row[at] + rest;
        let others = if y == at { rest } else { total - row[y] };
        let scale = share / total;
        for j in 0..width {
            row[j] *= scale;
        }
        row[y] = -others * scale;
    }
    sum.total() + linear
}

/// The largest magnitude; NaN if there is one.
#[inline(always)]
pub fn largest<A: Arithmetic>(values: &[f32]) -> f32 {
    // As whole numbers, magnitudes keep their order, and a NaN is above infinity.
    let mut max = 0;
    for v in values {
        max = u32::max(max, v.to_bits() & 0x7fff_ffff);
    }
    f32::from_bits(max)
}

/// `h ← max(h, 0)`; NaN stays.
#[inline(always)]
pub fn rectify<A: Arithmetic>(h: &mut [f32]) {
    for h in h {
        *h = if *h < 0.0 { 0.0 } else { *h };
    }
}

/// `d ← 0` wherever the rectified `h` is 0.
#[inline(always)]
pub fn rectified_gradient<A: Arithmetic>(d: &mut [f32], h: &[f32]) {
    for (d, &h) in d.iter_mut().zip(h) {
        *d = if h > 0.0 { *d } else { 0.0 };
    }
}

/// `w ← keep·w − step·g`.
#[inline(always)]
pub fn descend<A: Arithmetic>(w: &mut [f32], g: &[f32], keep: f32, step: f32) {
    for (w, &g) in w.iter_mut().zip(g) {
        *w = A::madd(-step, g, *w * keep);
    }
}

/// The numbers of one step of Adam.
#[derive(Clone, Copy)]
pub struct Adam<T> {
    /// What is left of w.
    pub keep: T,
    /// Step over the first moment's correction.
    pub step: T,
    /// Root of the second moment's correction.
    pub root: T,
    /// Added to the root of the second moment.
    pub epsilon: T,
    /// How much of each moment stays.
    pub old: [T; 2],
    /// How much of the gradient, and of its square, comes in.
    pub new: [T; 2],
}

/// One step of Adam: moments `m` and `v`, then `w`.
#[inline(always)]
pub fn adam<A: Arithmetic>(w: &mut [f32], m: &mut [f32], v: &mut [f32], g: &[f32], by: Adam<f32>) {
    let Adam { keep, step, root, epsilon, old, new } = by;
    for (((w, m), v), &g) in w.iter_mut().zip(m).zip(v).zip(g) {
        *m = old[0] * *m + new[0] * g;
        *v = old[1] * *v + new[1] * g * g;
        *w = *w * keep - step * *m / (v.sqrt() / root + epsilon);
    }
}
