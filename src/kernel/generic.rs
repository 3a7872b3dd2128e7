//! The loops themselves, written once and compiled per instruction set by [`super::isa`].
//!
//! Columns are worked in chunks of a constant width, so that the accumulators of a chunk live in vector registers
//! while the row's entries stream by.
// The index runs over several arrays at once, which an iterator over one of them hides.
#![allow(clippy::needless_range_loop)]
#![allow(unsafe_code)]

use super::{Pick, Sparse};

/// How a table multiplies and adds. Fused where the processor does it in one instruction, two roundings elsewhere.
pub trait Arithmetic {
    /// `a·b + c`.
    fn madd(a: f32, b: f32, c: f32) -> f32;
}

/// Multiply, round, add, round.
pub struct TwoSteps;

impl Arithmetic for TwoSteps {
    #[inline(always)]
    fn madd(a: f32, b: f32, c: f32) -> f32 {
        a * b + c
    }
}

/// Multiply and add with one rounding; fast only under a target feature that has it.
pub struct Fused;

impl Arithmetic for Fused {
    #[inline(always)]
    fn madd(a: f32, b: f32, c: f32) -> f32 {
        a.mul_add(b, c)
    }
}

/// Runs `$body::<A, C>(args…, j)` over the columns `0 .. $width` in chunks of 64, 32 and 16, and the rest at once.
macro_rules! by_chunks {
    ($width:expr, $body:ident :: <$a:ty>, $($arg:expr),*) => {{
        let width = $width;
        let mut j = 0;
        while width - j >= 64 { $body::<$a, 64>($($arg,)* j); j += 64; }
        if width - j >= 32 { $body::<$a, 32>($($arg,)* j); j += 32; }
        if width - j >= 16 { $body::<$a, 16>($($arg,)* j); j += 16; }
        match width - j {
            0 => {}
            1 => $body::<$a, 1>($($arg,)* j),
            2 => $body::<$a, 2>($($arg,)* j),
            3 => $body::<$a, 3>($($arg,)* j),
            4 => $body::<$a, 4>($($arg,)* j),
            5 => $body::<$a, 5>($($arg,)* j),
            6 => $body::<$a, 6>($($arg,)* j),
            7 => $body::<$a, 7>($($arg,)* j),
            8 => $body::<$a, 8>($($arg,)* j),
            9 => $body::<$a, 9>($($arg,)* j),
            10 => $body::<$a, 10>($($arg,)* j),
            11 => $body::<$a, 11>($($arg,)* j),
            12 => $body::<$a, 12>($($arg,)* j),
            13 => $body::<$a, 13>($($arg,)* j),
            14 => $body::<$a, 14>($($arg,)* j),
            _ => $body::<$a, 15>($($arg,)* j),
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

/// Whether every index is below `bound`. Without an early exit, so that it is vectorised: a fraction of the loop that
/// may then trust the indices.
#[inline(always)]
fn all_below(indices: &[i32], bound: usize) -> bool {
    // A negative index becomes a large one.
    indices.is_empty() || (indices.iter().fold(0, |max, &k| u32::max(max, k as u32)) as usize) < bound
}

/// The chunk of columns `j .. j + C` of row `k` of a matrix with `stride` columns.
///
/// # Safety
/// Row `k` must be in the matrix, and `j + C` not beyond its columns.
#[inline(always)]
unsafe fn row_chunk<const C: usize>(m: &[f32], k: i32, stride: usize, j: usize) -> &[f32; C] {
    debug_assert!(k as usize * stride + j + C <= m.len());
    // SAFETY: the row is in the matrix and the columns in the row.
    unsafe { &*m.as_ptr().add(k as usize * stride + j).cast() }
}

/// The same, to be changed.
///
/// # Safety
/// As for [`row_chunk`].
#[inline(always)]
unsafe fn row_chunk_mut<const C: usize>(m: &mut [f32], k: i32, stride: usize, j: usize) -> &mut [f32; C] {
    debug_assert!(k as usize * stride + j + C <= m.len());
    // SAFETY: the row is in the matrix and the columns in the row.
    unsafe { &mut *m.as_mut_ptr().add(k as usize * stride + j).cast() }
}

/// Sparse rows summed at once.
const SIDE_BY_SIDE: usize = 4;

/// `out[i, :] ← Σ_e values[e]·M[indices[e], :]` over row `pick[i]` of `a`, in storage order.
///
/// Cost: `2·width` flops and one row of `M` (`4·width` bytes) per entry; bound by that gather.
#[inline(always)]
pub fn sparse_times<A: Arithmetic>(a: Sparse<'_>, pick: Pick<'_>, m: &[f32], width: usize, out: &mut [f32]) {
    by_chunks!(width, sparse_times_chunk::<A>, a, pick, m, width, out)
}

#[inline(always)]
fn sparse_times_chunk<A: Arithmetic, const C: usize>(
    a: Sparse<'_>,
    pick: Pick<'_>,
    m: &[f32],
    width: usize,
    out: &mut [f32],
    j: usize,
) {
    // A width known to the compiler makes the address of a row a shift.
    match width == C {
        true => sparse_times_strided::<A, C>(a, pick, m, C, out, 0),
        false => sparse_times_strided::<A, C>(a, pick, m, width, out, j),
    }
}

#[inline(always)]
fn sparse_times_strided<A: Arithmetic, const C: usize>(
    a: Sparse<'_>,
    pick: Pick<'_>,
    m: &[f32],
    width: usize,
    out: &mut [f32],
    j: usize,
) {
    assert!(j + C <= width);
    let height = m.len() / width;
    let row_of = |i: usize| {
        let (indices, values) = a.row(pick.at(i));
        assert!(indices.len() == values.len() && all_below(indices, height));
        (indices, values)
    };
    let count = out.len() / width;
    let mut i = 0;
    // Rows side by side: each sum waits for its own last addition only, and there are several to go on with.
    while C <= 16 && i + SIDE_BY_SIDE <= count {
        let rows: [(&[i32], &[f32]); SIDE_BY_SIDE] = std::array::from_fn(|r| row_of(i + r));
        let common = rows.iter().map(|row| row.0.len()).min().unwrap_or(0);
        let rows_start = rows.map(|row| (&row.0[..common], &row.1[..common]));
        let mut sums = [[0f32; C]; SIDE_BY_SIDE];
        for e in 0..common {
            for r in 0..SIDE_BY_SIDE {
                let (k, v) = (rows_start[r].0[e], rows_start[r].1[e]);
                // SAFETY: `row_of` has checked k, and j + C ≤ width is asserted.
                let x = unsafe { row_chunk::<C>(m, k, width, j) };
                for c in 0..C {
                    sums[r][c] = A::madd(v, x[c], sums[r][c]);
                }
            }
        }
        for r in 0..SIDE_BY_SIDE {
            let rest = (&rows[r].0[common..], &rows[r].1[common..]);
            // SAFETY: as above.
            let sum = unsafe { sum_row::<A, C>(rest, m, width, j, sums[r]) };
            *chunk_mut::<C>(out, (i + r) * width + j) = sum;
        }
        i += SIDE_BY_SIDE;
    }
    while i < count {
        // SAFETY: as above.
        let sum = unsafe { sum_row::<A, C>(row_of(i), m, width, j, [0f32; C]) };
        *chunk_mut::<C>(out, i * width + j) = sum;
        i += 1;
    }
}

/// `sum + Σ_e values[e]·M[indices[e], j .. j + C]`.
///
/// # Safety
/// As for [`row_chunk`], for every index.
#[inline(always)]
unsafe fn sum_row<A: Arithmetic, const C: usize>(
    (indices, values): (&[i32], &[f32]),
    m: &[f32],
    width: usize,
    j: usize,
    mut sum: [f32; C],
) -> [f32; C] {
    for (&k, &v) in indices.iter().zip(values) {
        // SAFETY: the caller's promise.
        let x = unsafe { row_chunk::<C>(m, k, width, j) };
        for c in 0..C {
            sum[c] = A::madd(v, x[c], sum[c]);
        }
    }
    sum
}

/// `M[indices[e], :] += values[e]·G[i, :]` for row `pick[i]` of `a`: the product with the transpose, row by row.
#[inline(always)]
pub fn sparse_transposed_times<A: Arithmetic>(a: Sparse<'_>, pick: Pick<'_>, g: &[f32], width: usize, m: &mut [f32]) {
    by_chunks!(width, sparse_transposed_times_chunk::<A>, a, pick, g, width, m)
}

#[inline(always)]
fn sparse_transposed_times_chunk<A: Arithmetic, const C: usize>(
    a: Sparse<'_>,
    pick: Pick<'_>,
    g: &[f32],
    width: usize,
    m: &mut [f32],
    j: usize,
) {
    match width == C {
        true => sparse_transposed_times_strided::<A, C>(a, pick, g, C, m, 0),
        false => sparse_transposed_times_strided::<A, C>(a, pick, g, width, m, j),
    }
}

#[inline(always)]
fn sparse_transposed_times_strided<A: Arithmetic, const C: usize>(
    a: Sparse<'_>,
    pick: Pick<'_>,
    g: &[f32],
    width: usize,
    m: &mut [f32],
    j: usize,
) {
    assert!(j + C <= width);
    let height = m.len() / width;
    for (i, row) in g.chunks_exact(width).enumerate() {
        let (indices, values) = a.row(pick.at(i));
        assert!(all_below(indices, height));
        let g = *chunk::<C>(row, j);
        for (&k, &v) in indices.iter().zip(values) {
            // SAFETY: k is below the height, and j + C ≤ width is asserted.
            let x = unsafe { row_chunk_mut::<C>(m, k, width, j) };
            for c in 0..C {
                x[c] = A::madd(v, g[c], x[c]);
            }
        }
    }
}

/// Rows of the dense product worked at once: enough independent sums to hide the latency of one addition.
const ROWS: usize = 4;

/// `out[i, :] ← Σ_k B[pick[i], k]·M[k, :]`, `k` ascending; `B` has `depth` columns.
///
/// Cost: `2·depth·width` flops a row; `M` stays in cache, so it is bound by arithmetic.
#[inline(always)]
pub fn dense_times<A: Arithmetic>(b: &[f32], depth: usize, pick: Pick<'_>, m: &[f32], width: usize, out: &mut [f32]) {
    by_chunks!(width, dense_times_chunk::<A>, b, depth, pick, m, width, out)
}

#[inline(always)]
fn dense_times_chunk<A: Arithmetic, const C: usize>(
    b: &[f32],
    depth: usize,
    pick: Pick<'_>,
    m: &[f32],
    width: usize,
    out: &mut [f32],
    j: usize,
) {
    let row_of = |i: usize| &b[pick.at(i) * depth..(pick.at(i) + 1) * depth];
    let count = out.len() / width;
    let mut i = 0;
    while i + ROWS <= count {
        let rows: [&[f32]; ROWS] = std::array::from_fn(|r| row_of(i + r));
        let mut sums = [[0f32; C]; ROWS];
        for k in 0..depth {
            let x = chunk::<C>(m, k * width + j);
            for r in 0..ROWS {
                for c in 0..C {
                    sums[r][c] = A::madd(rows[r][k], x[c], sums[r][c]);
                }
            }
        }
        for (r, sum) in sums.iter().enumerate() {
            *chunk_mut::<C>(out, (i + r) * width + j) = *sum;
        }
        i += ROWS;
    }
    while i < count {
        let mut sum = [0f32; C];
        for (k, &v) in row_of(i).iter().enumerate() {
            let x = chunk::<C>(m, k * width + j);
            for c in 0..C {
                sum[c] = A::madd(v, x[c], sum[c]);
            }
        }
        *chunk_mut::<C>(out, i * width + j) = sum;
        i += 1;
    }
}

/// `M[k, :] += B[pick[i], k]·G[i, :]` for all `k`, `i` ascending: `M += Bᵀ·G`.
#[inline(always)]
pub fn dense_transposed_times<A: Arithmetic>(
    b: &[f32],
    depth: usize,
    pick: Pick<'_>,
    g: &[f32],
    width: usize,
    m: &mut [f32],
) {
    by_chunks!(width, dense_transposed_times_chunk::<A>, b, depth, pick, g, width, m)
}

#[inline(always)]
fn dense_transposed_times_chunk<A: Arithmetic, const C: usize>(
    b: &[f32],
    depth: usize,
    pick: Pick<'_>,
    g: &[f32],
    width: usize,
    m: &mut [f32],
    j: usize,
) {
    let row_of = |i: usize| &b[pick.at(i) * depth..(pick.at(i) + 1) * depth];
    let count = g.len() / width;
    let mut i = 0;
    while i + ROWS <= count {
        // Four rows a pass: each row of M is loaded and stored once for four products, added in the order of i.
        let rows: [&[f32]; ROWS] = std::array::from_fn(|r| row_of(i + r));
        let g: [[f32; C]; ROWS] = std::array::from_fn(|r| *chunk::<C>(g, (i + r) * width + j));
        for k in 0..depth {
            let x = chunk_mut::<C>(m, k * width + j);
            for r in 0..ROWS {
                for c in 0..C {
                    x[c] = A::madd(rows[r][k], g[r][c], x[c]);
                }
            }
        }
        i += ROWS;
    }
    while i < count {
        let g = *chunk::<C>(g, i * width + j);
        for (k, &v) in row_of(i).iter().enumerate() {
            let x = chunk_mut::<C>(m, k * width + j);
            for c in 0..C {
                x[c] = A::madd(v, g[c], x[c]);
            }
        }
        i += 1;
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
