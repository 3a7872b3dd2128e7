//! How a sum over rows is cut into parts: by its shape alone, so that the number of threads changes no bit.

use super::generic::{GROUP, stride_of};
use super::isa::is_wide;
use super::{Buffer, table};
use crate::error::{ForThe, Result};
use std::ops::Range;

/// A sum over sparse rows is cut into at most this many parts …
const MOST_PARTS: usize = 16;
/// … of at least this many rows …
const ROWS_PER_PART: usize = 64;
/// … with this many products for each number of the sum, so that adding up the parts costs little in comparison …
const PRODUCTS_PER_SUM: usize = 24;
/// … and so that their partial sums stay below this many numbers in all.
const MOST_PARTIAL_SUMS: usize = 1 << 24;

/// A sum over dense rows is cut into at most this many, and threads share the columns of each …
const MOST_DENSE_PARTS: usize = 2;
/// … of at least this many rows …
const ROWS_PER_DENSE_PART: usize = 2 * GROUP;
/// … that are at least this long: shorter ones are not enough work for two threads …
pub const DEEP_ENOUGH: usize = 96;
/// … if the sum has at most this many numbers, or at most this many for each row. Adding up larger sums costs as much
/// as separate rows gain.
const MOST_DENSE_SUMS: usize = 1 << 12;
const MOST_DENSE_SUMS_PER_ROW: usize = 16;

/// A wide sum is cut into at most [`MOST_PARTS`] parts of at least this many rows, even if its rows are short: threads then
/// share the parts.
const ROWS_PER_WIDE_PART: usize = 1024;

/// Rows, part by part.
#[derive(Clone, Copy)]
pub struct Parts {
    count: usize,
    length: usize,
    stride: usize,
}

impl Parts {
    /// The parts of `count` sparse rows, with about `row_entries` entries each, that are summed into `height` rows of
    /// `width` numbers.
    pub fn of_sparse(count: usize, row_entries: usize, height: usize, width: usize) -> Self {
        let rows = ROWS_PER_PART.max(PRODUCTS_PER_SUM * height / row_entries.max(1));
        let most = MOST_PARTS.min(MOST_PARTIAL_SUMS / (height * width).max(1));
        // Padded rows of a sum are written faster, but have to be packed afterwards.
        let stride = if count * row_entries >= 2 * height { stride_of(width) } else { width };
        Parts { count, length: 1, stride }.of_number((count / rows).min(most))
    }

    /// The parts of `count` rows that are computed for this sum alone, a few at a time, and are summed into rows of
    /// `width` numbers.
    pub fn of_made(count: usize, width: usize) -> Self {
        Parts { count, length: 1, stride: width }.of_number((count / ROWS_PER_PART).min(MOST_PARTS))
    }

    /// The parts of `count` dense rows that are summed into `height` rows of `width` numbers. All parts but the last
    /// consist of whole groups of the kernel.
    pub fn of_dense(count: usize, height: usize, width: usize) -> Self {
        if is_wide(width, height) {
            let most = MOST_PARTS.min(MOST_DENSE_SUMS_PER_ROW * count / (height * width));
            let number = (count / ROWS_PER_WIDE_PART).min(most).max(1);
            return Parts { count, length: count.div_ceil(number).next_multiple_of(GROUP).max(1), stride: width };
        }
        let worth_while =
            height >= DEEP_ENOUGH && height * width <= MOST_DENSE_SUMS.max(MOST_DENSE_SUMS_PER_ROW * count);
        let most = if worth_while { MOST_DENSE_PARTS } else { 1 };
        let number = (count / ROWS_PER_DENSE_PART).min(most).max(1);
        Parts { count, length: count.div_ceil(number).next_multiple_of(GROUP).max(1), stride: width }
    }

    fn of_number(self, number: usize) -> Self {
        Parts { length: self.count.div_ceil(number.max(1)).max(1), ..self }
    }

    /// These parts, or fewer, so that the partial sums of `height` rows of all parts but the first take at most `room`
    /// numbers. A smaller number is a power of two, which threads share evenly.
    pub fn within(self, height: usize, room: usize) -> Self {
        let most = 1 + room / (height * self.stride).max(1);
        if self.number() <= most { self } else { self.of_number(1 << most.ilog2()) }
    }

    /// Distance between the rows of a partial sum: their width, or more.
    pub fn stride(&self) -> usize {
        self.stride
    }

    /// The largest number of rows of a part.
    pub fn length(&self) -> usize {
        self.length
    }

    /// Number of parts.
    pub fn number(&self) -> usize {
        self.count.div_ceil(self.length).max(1)
    }

    /// The rows of part `i`.
    pub fn range(&self, i: usize) -> Range<usize> {
        (i * self.length).min(self.count)..((i + 1) * self.length).min(self.count)
    }

    /// `m ← Σ_rows`: `add(rows, partial sum)` adds each part to zeros, then the partial sums are added in their order.
    pub fn sum(
        &self,
        m: &mut [f32],
        scratch: &mut Buffer,
        mut add: impl FnMut(Range<usize>, &mut [f32]) -> Result<()>,
    ) -> Result<()> {
        if self.number() == 1 {
            m.fill(0.0);
            return add(self.range(0), m);
        }
        scratch.try_resize(self.number() * m.len()).for_the("partial sums")?;
        for (i, partial) in scratch.chunks_exact_mut(m.len()).enumerate() {
            partial.fill(0.0);
            add(self.range(i), partial)?;
        }
        table().total((m, 1), (scratch, 1));
        Ok(())
    }
}
