//! How a sum over rows is cut into parts: by the number of rows and of sums alone, so that no number of threads changes
//! a bit.

use crate::error::{Result, try_resize};
use std::ops::Range;

/// A sum over rows is cut into at most this many parts …
const MOST_PARTS: usize = 16;
/// … of about this many rows at least, and more where adding up the parts would cost as much as the rows …
const ROWS_PER_PART: usize = 64;
/// … so that their partial sums stay below this many numbers in all.
const MOST_PARTIAL_SUMS: usize = 1 << 24;

/// How many parts a sum of `count` rows into `len` numbers has.
pub fn number(count: usize, len: usize) -> usize {
    let rows = ROWS_PER_PART.max(len / 64);
    count.div_ceil(rows).min(MOST_PARTS).min(MOST_PARTIAL_SUMS / len.max(1)).max(1)
}

/// The rows of part `i` of `parts`.
pub fn range(i: usize, parts: usize, count: usize) -> Range<usize> {
    let length = count.div_ceil(parts);
    (i * length).min(count)..((i + 1) * length).min(count)
}

/// `m ← Σ_rows`: each part by `add(rows, partial sum)` into zeros, then the parts in their order.
pub fn sum(
    count: usize,
    m: &mut [f32],
    scratch: &mut Vec<f32>,
    mut add: impl FnMut(Range<usize>, &mut [f32]) -> Result<()>,
) -> Result<()> {
    let parts = number(count, m.len());
    if parts == 1 {
        m.fill(0.0);
        return add(0..count, m);
    }
    try_resize(scratch, parts * m.len())?;
    scratch.fill(0.0);
    for (i, partial) in scratch.chunks_exact_mut(m.len()).enumerate() {
        add(range(i, parts, count), partial)?;
    }
    total(m, scratch);
    Ok(())
}

/// Adds up the partial sums in their order.
pub fn total(m: &mut [f32], partial_sums: &[f32]) {
    let mut partial_sums = partial_sums.chunks_exact(m.len());
    if let Some(first) = partial_sums.next() {
        m.copy_from_slice(first);
    }
    for partial in partial_sums {
        m.iter_mut().zip(partial).for_each(|(m, s)| *m += s);
    }
}
