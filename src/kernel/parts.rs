//! How a sum over sparse rows is cut into parts: by its shape alone, so that no number of threads changes a bit.

use super::{Buffer, table};
use crate::error::Result;
use std::ops::Range;

/// A sum over rows is cut into at most this many parts …
const MOST_PARTS: usize = 16;
/// … of at least this many rows …
const ROWS_PER_PART: usize = 64;
/// … with so many products for each number of the sum that adding up the parts costs little beside them …
const PRODUCTS_PER_SUM: usize = 24;
/// … and so that their partial sums stay below this many numbers in all.
const MOST_PARTIAL_SUMS: usize = 1 << 24;

/// How many parts a sum of `count` sparse rows into `height` rows of `width` numbers has, where a row of the left factor
/// has about `row_entries` entries.
pub fn number(count: usize, row_entries: usize, height: usize, width: usize) -> usize {
    let rows = ROWS_PER_PART.max(PRODUCTS_PER_SUM * height / row_entries.max(1));
    let most = MOST_PARTS.min(MOST_PARTIAL_SUMS / (height * width).max(1));
    (count / rows).min(most).max(1)
}

/// The rows of part `i` of `parts`.
pub fn range(i: usize, parts: usize, count: usize) -> Range<usize> {
    let length = count.div_ceil(parts);
    (i * length).min(count)..((i + 1) * length).min(count)
}

/// `m ← Σ_rows` in so many parts: each by `add(rows, partial sum)` into zeros, then all in their order.
pub fn sum(
    count: usize,
    parts: usize,
    m: &mut [f32],
    scratch: &mut Buffer,
    mut add: impl FnMut(Range<usize>, &mut [f32]) -> Result<()>,
) -> Result<()> {
    if parts == 1 {
        m.fill(0.0);
        return add(0..count, m);
    }
    scratch.try_resize(parts * m.len())?;
    for (i, partial) in scratch.chunks_exact_mut(m.len()).enumerate() {
        partial.fill(0.0);
        add(range(i, parts, count), partial)?;
    }
    table().total((m, 1), (scratch, 1));
    Ok(())
}
