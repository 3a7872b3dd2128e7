//! Dense rows times a dense matrix, and the transposed product.

use super::super::Pick;
use super::super::arithmetic::Arithmetic;
use super::narrow::{self, DEEP};
use super::{Finish, Reach, columns_of, prefetch, write_sums, zero_padded};
use std::ops::Range;

/// Rows this short need no prefetch: they follow each other closely enough.
const FEW_COLUMNS: usize = 64;

/// Rows this short are processed one at a time.
const SHALLOW: usize = 8;

/// Prefetches dense rows, as [`super::Forerunner`] does for sparse ones.
#[inline(always)]
pub fn prefetch_dense(b: &[f32], depth: usize, columns: Range<usize>, pick: Pick<'_>, rows: Range<usize>) {
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
pub fn dense_times<A: Arithmetic>(
    b: &[f32],
    depth: usize,
    pick: Pick<'_>,
    m: &[f32],
    width: usize,
    finish: Finish<'_>,
    out: &mut [f32],
) {
    match width {
        1 if depth >= DEEP => narrow::times::<A, 1, 4>(b, depth, pick, m, finish, out),
        2 if depth >= DEEP => narrow::times::<A, 2, 2>(b, depth, pick, m, finish, out),
        3 if depth >= DEEP => narrow::times::<A, 3, 2>(b, depth, pick, m, finish, out),
        4 if depth >= DEEP => narrow::times::<A, 4, 1>(b, depth, pick, m, finish, out),
        _ => by_chunks!(width, A::COLUMNS, dense_times_chunk::<A>, b, depth, pick, m, width, finish, out),
    }
}

#[inline(always)]
fn dense_times_chunk<A: Arithmetic, const C: usize, const P: usize>(
    b: &[f32],
    depth: usize,
    pick: Pick<'_>,
    m: &[f32],
    width: usize,
    finish: Finish<'_>,
    out: &mut [f32],
    j: usize,
) {
    assert!(depth * width <= m.len());
    if depth <= SHALLOW {
        return shallow_times_chunk::<A, C, P>(b, depth, pick, m, width, finish, out, j);
    }
    // As many rows at once as the registers hold, enough to hide the latency of an addition.
    let mut done = 0;
    if A::SUMS / P >= 8 {
        done = dense_times_rows::<A, C, P, 8>(b, depth, pick, m, width, finish, out, j, done);
    } else if A::SUMS / P >= 6 {
        done = dense_times_rows::<A, C, P, 6>(b, depth, pick, m, width, finish, out, j, done);
    }
    if A::SUMS / P >= 4 {
        done = dense_times_rows::<A, C, P, 4>(b, depth, pick, m, width, finish, out, j, done);
    }
    done = dense_times_rows::<A, C, P, 2>(b, depth, pick, m, width, finish, out, j, done);
    dense_times_rows::<A, C, P, 1>(b, depth, pick, m, width, finish, out, j, done);
}

/// One row at a time: it is done before the registers for several rows would be set up.
#[inline(always)]
fn shallow_times_chunk<A: Arithmetic, const C: usize, const P: usize>(
    b: &[f32],
    depth: usize,
    pick: Pick<'_>,
    m: &[f32],
    width: usize,
    finish: Finish<'_>,
    out: &mut [f32],
    j: usize,
) {
    let (columns, count) = (columns_of::<C, P>(width, j), out.len() / width);
    let mut rows = [[0f32; P]; SHALLOW];
    for k in 0..depth {
        rows[k] = zero_padded::<P>(m, k * width + j, columns);
    }
    for i in 0..count {
        let mut sums = [0f32; P];
        for (&x, row) in b[pick.at(i) * depth..][..depth].iter().zip(&rows) {
            A::madd_row(x, row, &mut sums);
        }
        write_sums::<A, P>(out, i * width + j, (&mut sums, columns), finish, C == 0 && width < P);
    }
}

/// Computes the rows from `from` on, R at once. Returns the first row that is left.
#[inline(always)]
fn dense_times_rows<A: Arithmetic, const C: usize, const P: usize, const R: usize>(
    b: &[f32],
    depth: usize,
    pick: Pick<'_>,
    m: &[f32],
    width: usize,
    finish: Finish<'_>,
    out: &mut [f32],
    j: usize,
    from: usize,
) -> usize {
    let (reach, count) = (Reach::<P>::new(m.len(), width, j, columns_of::<C, P>(width, j)), out.len() / width);
    // Prefetches beyond the rows of this call: the caller continues with them.
    let last_row = pick.reach(b.len() / depth.max(1)).saturating_sub(1);
    let mut last = [0f32; P];
    let mut i = from;
    while i + R <= count {
        let mut rows: [&[f32]; R] = [&[]; R];
        let mut next = [0; R];
        for r in 0..R {
            rows[r] = &b[pick.at(i + r) * depth..][..depth];
            next[r] = pick.at((i + R + r).min(last_row)) * depth;
        }
        let mut sums = [[0f32; P]; R];
        for from in (0..depth).step_by(16) {
            // Prefetches the next rows line by line. All lines at once would stall.
            if depth > FEW_COLUMNS {
                for r in 0..R {
                    prefetch(b, next[r] + from);
                }
            }
            for k in from..(from + 16).min(depth) {
                let x = reach.load(m, k as i32, &mut last);
                for r in 0..R {
                    A::madd_row(rows[r][k], x, &mut sums[r]);
                }
            }
        }
        for r in 0..R {
            write_sums::<A, P>(out, (i + r) * width + j, (&mut sums[r], reach.columns), finish, C == 0 && width < P);
        }
        i += R;
    }
    i
}

/// `M[k, :] += B[pick[i], from + k]·G[i, :]` for all rows `k` of `M`: `M += Bᵀ·G`, or as many of its rows as `M` has.
/// `B` has `depth` columns. The rows of `B` are taken in groups, the last group first: [`dense_times`] has just read
/// it.
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
    // Depends on the depth, not on the number of rows of M, so that parts of M have the bits of the whole.
    let done = match width {
        1 if depth >= DEEP => narrow::transposed_times::<A, 1, 4>(b, depth, from, pick, g, m),
        2 if depth >= DEEP => narrow::transposed_times::<A, 2, 2>(b, depth, from, pick, g, m),
        3 if depth >= DEEP => narrow::transposed_times::<A, 3, 2>(b, depth, from, pick, g, m),
        4 if depth >= DEEP => narrow::transposed_times::<A, 4, 1>(b, depth, from, pick, g, m),
        _ => 0,
    };
    let (from, m) = (from + done, &mut m[done * width..]);
    by_chunks!(width, A::COLUMNS, dense_transposed_times_chunk::<A>, b, depth, from, pick, g, width, m)
}

/// Rows of B that stay in the second-level cache while all columns are processed. A caller that computes B in pieces
/// must cut it at multiples of this number and take the last piece first to get the bits of the whole.
pub const GROUP: usize = 64;

/// Where column `from` of these rows of B is. Panics if a row does not lie in `b`.
#[inline(always)]
pub fn starts_of<'a>(
    b: &[f32],
    depth: usize,
    from: usize,
    pick: Pick<'_>,
    rows: Range<usize>,
    room: &'a mut [usize; GROUP],
) -> &'a [usize] {
    let count = rows.len();
    for (i, start) in rows.zip(room.iter_mut()) {
        let row = pick.at(i);
        assert!((row + 1) * depth <= b.len());
        *start = row * depth + from;
    }
    &room[..count]
}

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
    let (reach, count) = (Reach::<P>::new(m.len(), width, j, columns_of::<C, P>(width, j)), g.len() / width);
    let mut starts = [0usize; GROUP];
    let mut padded = [[0f32; P]; GROUP];
    for start in (0..count).step_by(GROUP).rev() {
        let end = (start + GROUP).min(count);
        let starts = starts_of(b, depth, from, pick, start..end, &mut starts);
        let group = if C == P && width == C {
            g[start * P..end * P].as_chunks::<P>().0
        } else {
            for i in start..end {
                padded[i - start] = zero_padded::<P>(g, i * width + j, reach.columns);
            }
            &padded[..end - start]
        };
        // As many rows of M at once as the registers hold sums, so that each is read and written once per group.
        // Meanwhile the next columns of the group's rows are prefetched, one line of each.
        let mut k = 0;
        while k < height {
            let block = match (A::SUMS / P, height - k) {
                (16.., 16..) => 16,
                (8.., 8..) => 8,
                (6.., 6..) => 6,
                (_, 4..) => 4,
                (_, 2..) => 2,
                _ => 1,
            };
            if height > FEW_COLUMNS && k % 16 < block {
                for &start in starts {
                    prefetch(b, start + k + 16);
                }
            }
            match block {
                16 => dense_transposed_block::<A, P, 16, 1>(b, starts, group, k, reach, m),
                8 => dense_transposed_block::<A, P, 8, 1>(b, starts, group, k, reach, m),
                6 => dense_transposed_block::<A, P, 6, 1>(b, starts, group, k, reach, m),
                4 => dense_transposed_block::<A, P, 4, 1>(b, starts, group, k, reach, m),
                2 => dense_transposed_block::<A, P, 2, 2>(b, starts, group, k, reach, m),
                _ => dense_transposed_block::<A, P, 1, 4>(b, starts, group, k, reach, m),
            }
            k += block;
        }
    }
}

/// Adds the products of a group of rows to the K rows of M from `k` on. U sums take the rows in turn.
#[inline(always)]
fn dense_transposed_block<A: Arithmetic, const P: usize, const K: usize, const U: usize>(
    b: &[f32],
    starts: &[usize],
    group: &[[f32; P]],
    k: usize,
    reach: Reach<P>,
    m: &mut [f32],
) {
    let mut sums = [[[0f32; P]; K]; U];
    let mut last = [0f32; P];
    for q in 0..K {
        sums[0][q] = *reach.load(m, (k + q) as i32, &mut last);
    }
    // SAFETY: the caller has checked that the row that begins at `start` lies in `b` and has the columns k .. k + K.
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
        // What is written after the columns of a row is what was there, and the next row is written later.
        reach.store(m, (k + q) as i32, &sums[0][q]);
    }
}
