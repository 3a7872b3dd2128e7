//! Loops over rows that layers other than the graph convolution need.

use super::super::arithmetic::Arithmetic;
use super::{Pick, Sparse};

/// Which number of several is wanted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Extreme {
    /// The largest.
    Largest,
    /// The smallest.
    Smallest,
}

/// The largest or smallest number of each column over the entries of a row, whose values do not matter, and the column of the
/// entry that has it: the first of equal ones. What is not a number is better than any. A row without entries is 0 and has -1.
///
/// Each entry streams one row of `m`, `4·width` bytes, and the row of `out` and `from` stays in cache.
#[inline(always)]
pub fn extreme<A: Arithmetic>(
    extreme: Extreme,
    a: Sparse<'_>,
    pick: Pick<'_>,
    m: &[f32],
    width: usize,
    out: &mut [f32],
    from: &mut [i32],
) {
    // The loop is compiled twice, so that it compares without a branch.
    match extreme {
        Extreme::Largest => best(|x, best| x > best, a, pick, m, width, out, from),
        Extreme::Smallest => best(|x, best| x < best, a, pick, m, width, out, from),
    }
}

/// [`extreme`], where `better` compares a number with the best one so far.
#[inline(always)]
fn best(
    better: impl Fn(f32, f32) -> bool,
    a: Sparse<'_>,
    pick: Pick<'_>,
    m: &[f32],
    width: usize,
    out: &mut [f32],
    from: &mut [i32],
) {
    for (i, (out, from)) in out.chunks_exact_mut(width).zip(from.chunks_exact_mut(width)).enumerate() {
        let (columns, _) = a.row(pick.at(i));
        let Some((&first, rest)) = columns.split_first() else {
            out.fill(0.0);
            from.fill(-1);
            continue;
        };
        out.copy_from_slice(&m[first as usize * width..][..width]);
        from.fill(first);
        for &u in rest {
            let row = &m[u as usize * width..][..width];
            for ((out, from), &x) in out.iter_mut().zip(from.iter_mut()).zip(row) {
                let better = better(x, *out) || x.is_nan();
                *out = if better { x } else { *out };
                *from = if better { u } else { *from };
            }
        }
    }
}

/// Sets a number to 0 where its random number is below `threshold`, and multiplies it by `scale` elsewhere. The random numbers
/// are made of `key` and the column: a hash with the finishing steps of MurmurHash3.
#[inline(always)]
pub fn drop_out<A: Arithmetic>(row: &mut [f32], key: u64, threshold: u32, scale: f32) {
    let (low, high) = (key as u32, (key >> 32) as u32);
    for (column, x) in (0u32..).zip(row) {
        let random = mix(column, low, high);
        *x = if random < threshold { 0.0 } else { *x * scale };
    }
}

/// The random number of a column; see [`drop_out`].
#[inline(always)]
pub fn mix(column: u32, low: u32, high: u32) -> u32 {
    let mut x = column.wrapping_mul(0x9e37_79b9) ^ low;
    x = (x ^ x >> 16).wrapping_mul(0x85eb_ca6b) ^ high;
    x = (x ^ x >> 13).wrapping_mul(0xc2b2_ae35);
    x ^ x >> 16
}

/// Mixes a number into a key, by the steps of SplitMix64: every bit of both changes half of the result's.
#[inline(always)]
pub fn mix_key(key: u64, number: u64) -> u64 {
    let mut x = key ^ number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ x >> 31
}
