//! The transpose of sparse rows times a dense matrix, and the total of its partial sums.

use super::super::arithmetic::Arithmetic;
use super::super::{Pick, Sparse};
use super::{Forerunner, Reach, chunk_mut, columns_of, zero_padded};

/// `M[indices[e], :] += values[e]·G[i, :]` for row `pick[i]` of `a`: the product with the transpose, row by row. A row
/// of `M` has `width` columns; rows begin `stride` numbers apart.
///
/// Cost: as for [`super::sparse_times`], with each row of `M` written as well as read.
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
