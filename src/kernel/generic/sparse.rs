//! Sparse rows times a dense matrix.

use super::super::arithmetic::Arithmetic;
use super::super::{Pick, Sparse};
use super::far::sparse_times_far;
use super::{Finish, Forerunner, Reach, chunk, columns_of, write_sums};
use std::hint::select_unpredictable;

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
pub fn sparse_row_times<A: Arithmetic, const P: usize, const FAR: bool>(
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
