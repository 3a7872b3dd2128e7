//! Sparse rows times a dense matrix that does not fit the cache.

use super::super::arithmetic::Arithmetic;
use super::super::{Pick, Sparse};
use super::sparse::sparse_row_times;
use super::{Finish, Reach, columns_of, prefetch, prefetch_early, write_sums};
use std::ops::Range;

/// For an M in memory: all columns of one row, then the next row. The rows of M that will be needed are prefetched
/// early.
#[inline(always)]
pub fn sparse_times_far<A: Arithmetic>(
    a: Sparse<'_>,
    pick: Pick<'_>,
    m: &[f32],
    width: usize,
    finish: Finish<'_>,
    out: &mut [f32],
) {
    let count = out.len() / width;
    let mut scout = Scout::new(a, pick, count, width);
    scout.ask(m, width, scout.entries_ahead);
    let one_chunk = width < 16 || width <= A::SPARSE_COLUMNS && width.is_power_of_two();
    let at_once = if one_chunk { count.max(1) } else { 1 };
    for start in (0..count).step_by(at_once) {
        let rows = start..start + at_once;
        by_chunks!(width, A::SPARSE_COLUMNS, far_rows::<A>, &mut scout, m, width, finish, out, rows.clone());
    }
}

/// Computes the chunk of columns that begins at `j`, for some rows of the product.
#[inline(always)]
fn far_rows<A: Arithmetic, const C: usize, const P: usize>(
    scout: &mut Scout<'_>,
    m: &[f32],
    width: usize,
    finish: Finish<'_>,
    out: &mut [f32],
    rows: Range<usize>,
    j: usize,
) {
    // With a width known at compile time the address of a row is a shift.
    match width == C && C.is_power_of_two() {
        true => far_rows_strided::<A, C, P>(scout, m, C, finish, out, rows, 0),
        false => far_rows_strided::<A, C, P>(scout, m, width, finish, out, rows, j),
    }
}

/// With each entry, prefetches these columns for an entry further ahead, where that one is known. Prefetching a whole
/// row at once would exceed the loads that a processor can have under way, and it would stall.
#[inline(always)]
fn far_rows_strided<A: Arithmetic, const C: usize, const P: usize>(
    scout: &mut Scout<'_>,
    m: &[f32],
    width: usize,
    finish: Finish<'_>,
    out: &mut [f32],
    rows: Range<usize>,
    j: usize,
) {
    /// How far ahead the entries, and the rows of the product, are prefetched.
    const STREAM_AHEAD: usize = 512;
    const ROWS_AHEAD: usize = 16;
    let reach = Reach::<P>::new(m.len(), width, j, columns_of::<C, P>(width, j));
    let (a, entries_ahead) = (scout.a, scout.entries_ahead);
    let write = |out: &mut [f32], i: usize, mut sums: [f32; P]| {
        write_sums::<A, P>(out, i * width + j, (&mut sums, reach.columns), finish, C == 0);
    };
    match scout.pick {
        Pick::From(first) => {
            let ask = |k: i32| ask_for::<P>(m, k as u32 as usize * width + j);
            for i in rows {
                let (indices, values) = a.row(first + i);
                // The last entries have none ahead of them and prefetch their own rows again.
                let start = a.indptr[first + i] as usize + entries_ahead;
                let ahead = a.indices.get(start..start + indices.len()).unwrap_or(indices);
                // The hardware prefetcher stops at the end of a page, and a miss here delays all prefetches that
                // depend on these entries.
                prefetch(a.indices, start + STREAM_AHEAD);
                prefetch(a.values, start + STREAM_AHEAD);
                prefetch(out, (i + ROWS_AHEAD) * width + j);
                write(out, i, sparse_row_times::<A, P, true>((indices, values, ahead), m, reach, ask));
            }
        }
        Pick::List(list) => {
            for i in rows {
                let (indices, values) = a.row(list[i] as usize);
                if j == 0 {
                    scout.ask(m, width, indices.len());
                }
                write(out, i, sparse_row_times::<A, P, false>((indices, values, indices), m, reach, |_| {}));
            }
        }
    }
}

/// Prefetches P numbers of M: into the second-level cache, or, if it is a single line, into the first, which has room
/// for as many single lines as are under way.
#[inline(always)]
fn ask_for<const P: usize>(m: &[f32], at: usize) {
    match P {
        ..=16 => prefetch(m, at),
        _ => (0..P).step_by(16).for_each(|c| prefetch_early(m, at + c)),
    }
}

/// Walks through the entries of the rows ahead of the current one and prefetches the rows of M that they name.
struct Scout<'a> {
    a: Sparse<'a>,
    pick: Pick<'a>,
    count: usize,
    entries_ahead: usize,
    /// The next row to visit, and the remaining entries of the row before it.
    row: usize,
    left: &'a [i32],
}

impl<'a> Scout<'a> {
    #[inline(always)]
    fn new(a: Sparse<'a>, pick: Pick<'a>, count: usize, width: usize) -> Self {
        /// Bytes of M under way: few enough to fit the first-level cache, and enough to hide the latency of memory.
        const UNDER_WAY: usize = 1 << 14;
        Scout { a, pick, count, entries_ahead: (UNDER_WAY / (4 * width)).clamp(4, 128), row: 0, left: &[] }
    }

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
                    prefetch_early(m, k as u32 as usize * width + column);
                }
            }
            self.left = later;
            entries -= now.len();
        }
    }
}
