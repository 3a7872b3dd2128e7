//! Sparse rows times a dense matrix, and the transposed product.

use super::super::arithmetic::Arithmetic;
use super::super::{Pick, Sparse};
use super::{
    Finish, Forerunner, Reach, chunk, chunk_mut, columns_of, prefetch, prefetch_early, write_sums, zero_padded,
};
use std::hint::select_unpredictable;
use std::ops::Range;

/// `out[i, :] ← Σ_e values[e]·M[indices[e], :]` over row `pick[i]` of `a`, in an order that depends on the row alone.
///
/// Cost: `2·width` flops and one row of `M` (`4·width` bytes) per entry; bound by that gather.
#[inline(always)]
pub fn sparse_times<A: Arithmetic>(
    a: Sparse<'_>,
    pick: Pick<'_>,
    m: &[f32],
    width: usize,
    finish: Finish<'_>,
    out: &mut [f32],
) {
    match is_far(m.len(), width) {
        true => sparse_times_far::<A>(a, pick, m, width, finish, out),
        false => by_chunks!(width, A::SPARSE_COLUMNS, sparse_times_chunk::<A>, a, pick, m, width, finish, out),
    }
}

/// Whether the rows of a matrix of `len` numbers should be prefetched early: wide rows if the matrix does not fit the
/// second-level cache, narrow ones if it does not fit the third.
fn is_far(len: usize, width: usize) -> bool {
    len > if width <= 64 { 1 << 22 } else { 1 << 18 }
}

/// For an M that is in the cache or is fetched fast enough: all rows for one chunk of columns, then the next chunk.
#[inline(always)]
fn sparse_times_chunk<A: Arithmetic, const C: usize, const P: usize>(
    a: Sparse<'_>,
    pick: Pick<'_>,
    m: &[f32],
    width: usize,
    finish: Finish<'_>,
    out: &mut [f32],
    j: usize,
) {
    // With a width known at compile time the address of a row is a shift.
    match width == C && C.is_power_of_two() {
        true => sparse_times_columns::<A, C, P>(a, pick, m, C, finish, out, 0),
        false => sparse_times_columns::<A, C, P>(a, pick, m, width, finish, out, j),
    }
}

#[inline(always)]
fn sparse_times_columns<A: Arithmetic, const C: usize, const P: usize>(
    a: Sparse<'_>,
    pick: Pick<'_>,
    m: &[f32],
    width: usize,
    finish: Finish<'_>,
    out: &mut [f32],
    j: usize,
) {
    let (reach, count) = (Reach::<P>::new(m.len(), width, j, columns_of::<C, P>(width, j)), out.len() / width);
    let forerunner = Forerunner::start(a, pick, count);
    for i in 0..count {
        forerunner.pass(i);
        let (indices, values) = a.row(pick.at(i));
        let mut sums = match A::SUMS / P >= 2 && indices.len() <= 2 {
            true => shortest_row_times::<A, P>((indices, values), m, reach),
            false => sparse_row_times::<A, P, false>((indices, values, indices), m, reach, |_| {}),
        };
        write_sums::<A, P>(out, i * width + j, (&mut sums, reach.columns), finish, C == 0 && width < P);
    }
}

/// For an M in memory: all columns of one row, then the next row. The rows of M that will be needed are prefetched
/// early.
#[inline(always)]
fn sparse_times_far<A: Arithmetic>(
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

/// Entries of a long row that are processed at once.
const EIGHT: usize = 8;
/// The order in which they are added: the second half first. Rows of a far M end entry by entry from the last one
/// back, and this gives both the same order of summation.
const IN_TURN: [usize; EIGHT] = [4, 5, 6, 7, 0, 1, 2, 3];

#[inline(always)]
fn eight(indices: &[i32], at: usize) -> &[i32; EIGHT] {
    indices[at..at + EIGHT].try_into().expect("a slice of as many")
}

/// `Σ_e values[e]·M[indices[e], j .. j + P]`, in several sums that take the entries in turn: an addition waits only
/// for the one before it in its own sum. A row is its indices, its values, and as many indices of other entries; `ask`
/// is called with one of those for each of its own.
#[inline(always)]
fn sparse_row_times<A: Arithmetic, const P: usize, const FAR: bool>(
    row: (&[i32], &[f32], &[i32]),
    m: &[f32],
    reach: Reach<P>,
    ask: impl Fn(i32),
) -> [f32; P] {
    match A::SUMS / P {
        4.. => sparse_row_sum::<A, P, 4, FAR>(row, m, reach, ask),
        2.. => sparse_row_sum::<A, P, 2, FAR>(row, m, reach, ask),
        _ => sparse_row_sum::<A, P, 1, FAR>(row, m, reach, ask),
    }
}

#[inline(always)]
fn sparse_row_sum<A: Arithmetic, const P: usize, const U: usize, const FAR: bool>(
    (indices, values, ahead): (&[i32], &[f32], &[i32]),
    m: &[f32],
    reach: Reach<P>,
    ask: impl Fn(i32),
) -> [f32; P] {
    let mut last = [0f32; P];
    let mut sums = [[0f32; P]; U];
    if U == 4 && FAR {
        // The rest one by one, with the bits of the branches below as long as M is finite. Processing the last eight
        // once more would prefetch rows that are already under way, in place of others.
        let (eights, rest) = indices.as_chunks::<EIGHT>();
        let both = eights.iter().zip(values.as_chunks::<EIGHT>().0).zip(ahead.as_chunks::<EIGHT>().0);
        for ((k, v), next) in both {
            add_eight::<A, P, U>((k, v, next), m, reach, &mut sums, &ask);
        }
        let rests = rest.iter().zip(values.as_chunks::<EIGHT>().1).zip(ahead.as_chunks::<EIGHT>().1);
        if eights.is_empty() {
            // In turn, starting with the first sum; the sums rotate instead of the index.
            for ((&k, &v), &next) in rests {
                ask(next);
                A::madd_row(v, reach.load(m, k, &mut last), &mut sums[0]);
                sums = std::array::from_fn(|u| sums[(u + 1) % U]);
            }
        } else {
            // From the last one back. Each is added to the sum that it would be added to as one of the last eight.
            for ((&k, &v), &next) in rests.rev() {
                ask(next);
                A::madd_row(v, reach.load(m, k, &mut last), &mut sums[U - 1]);
                sums = std::array::from_fn(|u| sums[(u + U - 1) % U]);
            }
        }
    } else if U == 4 && indices.len() >= EIGHT {
        // Eight at a time in one loop. The last round takes the last eight entries, with factor 0 for those that have
        // been added already: one branch is mispredicted, however many entries are left.
        let end = indices.len() - EIGHT;
        for from in (0..indices.len()).step_by(EIGHT) {
            let start = from.min(end);
            let v = A::without_first(chunk::<EIGHT>(values, start), from - start);
            add_eight::<A, P, U>((eight(indices, start), &v, eight(ahead, start)), m, reach, &mut sums, &ask);
        }
    } else {
        let (turns, rest) = indices.as_chunks::<U>();
        let (value_turns, value_rest) = values.as_chunks::<U>();
        let (ahead_turns, ahead_rest) = ahead.as_chunks::<U>();
        for ((k, v), next) in turns.iter().zip(value_turns).zip(ahead_turns) {
            for u in 0..U {
                ask(next[u]);
                A::madd_row(v[u], reach.load(m, k[u], &mut last), &mut sums[u]);
            }
        }
        if !rest.is_empty() {
            // The rest as one more round, filled up with 0 times the last row: a branch on the number of remaining
            // entries would be mispredicted.
            for u in 0..U {
                let at = u.min(rest.len() - 1);
                ask(ahead_rest[at]);
                let v = select_unpredictable(u < rest.len(), value_rest[at], 0.0);
                A::madd_row(v, reach.load(m, rest[at], &mut last), &mut sums[u]);
            }
        }
    }
    // The bits do not depend on which of the four sums is the first.
    let mut half = U / 2;
    while half > 0 {
        for u in 0..half {
            for c in 0..P {
                sums[u][c] += sums[u + half][c];
            }
        }
        half /= 2;
    }
    sums[0]
}

/// Adds eight entries to the sums, which take them in turn.
#[inline(always)]
fn add_eight<A: Arithmetic, const P: usize, const U: usize>(
    (k, v, ahead): (&[i32; EIGHT], &[f32; EIGHT], &[i32; EIGHT]),
    m: &[f32],
    reach: Reach<P>,
    sums: &mut [[f32; P]; U],
    ask: &impl Fn(i32),
) {
    if A::all_below(k, reach.whole_rows()) {
        for e in IN_TURN {
            ask(ahead[e]);
            // SAFETY: all of them are whole rows.
            let row = unsafe { reach.whole_row(m, &k[e]) };
            A::madd_row(v[e], row, &mut sums[e % U]);
        }
        return;
    }
    // If all rows are whole, this point is not reached.
    assert!(!reach.always_whole());
    let rows = last_rows::<P>(m, k, (reach.stride, reach.j, reach.columns));
    for e in IN_TURN {
        A::madd_row(v[e], &rows[e], &mut sums[e % U]);
    }
}

/// Eight rows, at least one of which cannot be read as a whole vector.
#[cold]
#[inline(never)]
fn last_rows<const P: usize>(
    m: &[f32],
    k: &[i32; EIGHT],
    (stride, j, columns): (usize, usize, usize),
) -> [[f32; P]; EIGHT] {
    let mut rows = [[0f32; P]; EIGHT];
    for (row, &k) in rows.iter_mut().zip(k) {
        row[..columns].copy_from_slice(&m[k as u32 as usize * stride + j..][..columns]);
    }
    rows
}

/// [`sparse_row_times`] of at most two entries, which most rows of a sampled block have, with the bits of a version
/// with two or more sums.
#[inline(always)]
fn shortest_row_times<A: Arithmetic, const P: usize>(
    (indices, values): (&[i32], &[f32]),
    m: &[f32],
    reach: Reach<P>,
) -> [f32; P] {
    let mut last = [0f32; P];
    let mut sums = [[0f32; P]; 2];
    if let (Some(&first), Some(&second)) = (indices.first(), indices.last()) {
        let v = select_unpredictable(indices.len() > 1, values[indices.len() - 1], 0.0);
        A::madd_row(values[0], reach.load(m, first, &mut last), &mut sums[0]);
        A::madd_row(v, reach.load(m, second, &mut last), &mut sums[1]);
    }
    for c in 0..P {
        sums[0][c] += sums[1][c];
    }
    sums[0]
}

/// `M[indices[e], :] += values[e]·G[i, :]` for row `pick[i]` of `a`: the product with the transpose, row by row. A row
/// of `M` has `width` columns; rows begin `stride` numbers apart.
///
/// Cost: as for [`sparse_times`], with each row of `M` written as well as read.
#[inline(always)]
pub fn sparse_transposed_times<A: Arithmetic>(
    a: Sparse<'_>,
    pick: Pick<'_>,
    g: &[f32],
    width: usize,
    m: &mut [f32],
    stride: usize,
) {
    by_chunks!(width, 64, sparse_transposed_times_chunk::<A>, a, pick, g, width, m, stride)
}

#[inline(always)]
fn sparse_transposed_times_chunk<A: Arithmetic, const C: usize, const P: usize>(
    a: Sparse<'_>,
    pick: Pick<'_>,
    g: &[f32],
    width: usize,
    m: &mut [f32],
    stride: usize,
    j: usize,
) {
    // With a stride known at compile time the address of a row is a shift.
    match (width, stride) {
        (w, s) if w == C && s == P => sparse_transposed_times_strided::<A, C, P>(a, pick, g, C, m, P, 0),
        (w, s) if C == 0 && w < P && s == P => sparse_transposed_times_strided::<A, C, P>(a, pick, g, w, m, P, 0),
        (w, s) if w == C && s == C => sparse_transposed_times_strided::<A, C, P>(a, pick, g, C, m, C, 0),
        _ => sparse_transposed_times_strided::<A, C, P>(a, pick, g, width, m, stride, j),
    }
}

#[inline(always)]
fn sparse_transposed_times_strided<A: Arithmetic, const C: usize, const P: usize>(
    a: Sparse<'_>,
    pick: Pick<'_>,
    g: &[f32],
    width: usize,
    m: &mut [f32],
    stride: usize,
    j: usize,
) {
    let (reach, count) = (Reach::<P>::new(m.len(), stride, j, columns_of::<C, P>(width, j)), g.len() / width);
    let mut last = [0f32; P];
    let forerunner = Forerunner::start(a, pick, count);
    for i in 0..count {
        forerunner.pass(i);
        let (indices, values) = a.row(pick.at(i));
        let row = zero_padded::<P>(g, i * width + j, reach.columns);
        let turns = if C < P && stride >= P { add_in_pairs::<A, P>(indices, values, &row, reach, m) } else { 0 };
        for (&k, &v) in indices[turns..].iter().zip(&values[turns..]) {
            // The zeros leave what follows the columns as it is.
            let mut x = *reach.load(m, k, &mut last);
            A::madd_row(v, &row, &mut x);
            reach.store(m, k, &x);
        }
    }
}

/// Adds `row` to the rows of M that the entries name, two at a time, which are never the same. Returns the number of
/// entries processed.
///
/// Both rows are read before one is written. A processor that wrongly predicts that a load depends on the preceding
/// store then stalls once per pair instead of once per entry: on a Zen 3 the same loop took 1.0 or 2.6 ns per entry,
/// depending on its address in the library.
#[inline(always)]
fn add_in_pairs<A: Arithmetic, const P: usize>(
    indices: &[i32],
    values: &[f32],
    row: &[f32; P],
    reach: Reach<P>,
    m: &mut [f32],
) -> usize {
    let mut last = [[0f32; P]; 2];
    let pairs = indices.as_chunks::<2>().0;
    for (k, v) in pairs.iter().zip(values.as_chunks::<2>().0) {
        let [mut first, mut second] = [[0f32; P]; 2];
        first.copy_from_slice(reach.load(m, k[0], &mut last[0]));
        second.copy_from_slice(reach.load(m, k[1], &mut last[1]));
        A::madd_row(v[0], row, &mut first);
        A::madd_row(v[1], row, &mut second);
        reach.store(m, k[0], &first);
        reach.store(m, k[1], &second);
    }
    2 * pairs.len()
}

/// Distance between the rows of a sum with which [`sparse_transposed_times`] writes fast: whole vectors that do not
/// overlap. If they overlap, a load waits until the neighbouring row, just stored, has reached the cache.
pub fn stride_of(width: usize) -> usize {
    if width < 16 { width.next_power_of_two() } else { width }
}

/// `M ← Σ` of the sums in `sums`, in their order. A row of `M` has `width` numbers, a row of a sum takes `stride`:
/// `width` or [`stride_of`] it.
#[inline(always)]
pub fn total<A: Arithmetic>(m: &mut [f32], width: usize, sums: &[f32], stride: usize) {
    match (width, stride) {
        (3, 4) => total_of_padded::<3, 4>(m, sums),
        (5, 8) => total_of_padded::<5, 8>(m, sums),
        (6, 8) => total_of_padded::<6, 8>(m, sums),
        (7, 8) => total_of_padded::<7, 8>(m, sums),
        (9, 16) => total_of_padded::<9, 16>(m, sums),
        (10, 16) => total_of_padded::<10, 16>(m, sums),
        (11, 16) => total_of_padded::<11, 16>(m, sums),
        (12, 16) => total_of_padded::<12, 16>(m, sums),
        (13, 16) => total_of_padded::<13, 16>(m, sums),
        (14, 16) => total_of_padded::<14, 16>(m, sums),
        (15, 16) => total_of_padded::<15, 16>(m, sums),
        _ => {
            assert_eq!(width, stride, "rows of {width} that take {stride}");
            let mut sums = sums.chunks_exact(m.len());
            if let Some(first) = sums.next() {
                m.copy_from_slice(first);
            }
            for sum in sums {
                m.iter_mut().zip(sum).for_each(|(m, s)| *m += s);
            }
        }
    }
}

#[inline(always)]
fn total_of_padded<const C: usize, const P: usize>(m: &mut [f32], sums: &[f32]) {
    let (rows, height) = (sums.as_chunks::<P>().0, m.len() / C);
    // Whole vectors where they end within M: they overwrite the beginning of the next row, which is written next.
    let whole = (m.len() + C).saturating_sub(P) / C;
    let (first, others) = rows.split_at(height);
    for (k, row) in first[..whole].iter().enumerate() {
        *chunk_mut::<P>(m, k * C) = *row;
    }
    for k in whole..height {
        chunk_mut::<C>(m, k * C).copy_from_slice(&first[k][..C]);
    }
    for part in others.chunks_exact(height) {
        for (m, row) in m.as_chunks_mut::<C>().0.iter_mut().zip(part) {
            for c in 0..C {
                m[c] += row[c];
            }
        }
    }
}
