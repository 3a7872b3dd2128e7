//! How a sum over rows is cut into parts: by the number of rows and of sums alone, so that no number of threads changes
//! a bit.

use super::padded;
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

/// `m ← Σ_rows` for `m` of `width` columns: each part by `add(rows, stride, partial sum)` into zeros whose rows are
/// `stride` apart, then the parts in their order.
pub fn sum(
    count: usize,
    width: usize,
    m: &mut [f32],
    scratch: &mut Vec<f32>,
    mut add: impl FnMut(Range<usize>, usize, &mut [f32]) -> Result<()>,
) -> Result<()> {
    let (parts, stride) = (number(count, m.len()), padded(width));
    if parts == 1 && stride == width {
        m.fill(0.0);
        return add(0..count, stride, m);
    }
    let len = m.len() / width * stride;
    try_resize(scratch, parts * len)?;
    scratch.fill(0.0);
    for (i, partial) in scratch.chunks_exact_mut(len).enumerate() {
        add(range(i, parts, count), stride, partial)?;
    }
    total(m, width, scratch);
    Ok(())
}

/// Adds up the partial sums in their order.
pub fn total(m: &mut [f32], width: usize, partial_sums: &[f32]) {
    let stride = padded(width);
    let len = m.len() / width * stride;
    for (i, partial) in partial_sums.chunks_exact(len).enumerate() {
        match (i, stride == width) {
            (0, true) => m.copy_from_slice(partial),
            (_, true) => m.iter_mut().zip(partial).for_each(|(m, s)| *m += s),
            (0, false) => rows(m, width, partial, stride, |m, s| *m = s),
            (_, false) => rows(m, width, partial, stride, |m, s| *m += s),
        }
    }
}

fn rows(m: &mut [f32], width: usize, partial: &[f32], stride: usize, take: impl Fn(&mut f32, f32)) {
    for (m, s) in m.chunks_exact_mut(width).zip(partial.chunks_exact(stride)) {
        m.iter_mut().zip(s).for_each(|(m, &s)| take(m, s));
    }
}
