//! Where the rows of a block are in Â.

use crate::error::{Result, try_reserve_with_slack, try_resize};
use crate::kernel::{AT_ONCE, Sparse, prefetch};
use std::hint::select_unpredictable;
use std::ops::Range;

/// Where some rows of Â are. They are looked up all at once: a loop over single rows would wait for each look-up in turn.
#[derive(Default)]
pub struct RowSpans {
    /// Where each row starts in Â.
    pub starts: Vec<usize>,
    /// The number of entries before each row; the last element is the number of all entries.
    pub offsets: Vec<u64>,
    /// The row of each entry, after [`RowSpans::list_rows`], with room for more.
    pub row_of: Vec<i32>,
}

impl RowSpans {
    /// Makes room for this many rows.
    pub fn reserve(&mut self, rows: usize) -> Result<()> {
        try_reserve_with_slack(&mut self.starts, rows)?;
        try_reserve_with_slack(&mut self.offsets, rows + 1)
    }

    /// Looks up the rows `above`.
    pub fn look_up(&mut self, operator: Sparse<'_>, above: &[i32]) -> Result<()> {
        try_resize(&mut self.starts, above.len())?;
        try_resize(&mut self.offsets, above.len() + 1)?;
        let mut entries = 0;
        for ((offset, first), &v) in self.offsets.iter_mut().zip(&mut self.starts).zip(above) {
            // The end first: if it is in bounds, so is the start, and the compiler drops the second check.
            let v = v as u32 as usize;
            let (end, start) = (operator.indptr[v + 1], operator.indptr[v]);
            *first = start as usize;
            *offset = entries;
            entries += (end - start) as u64;
        }
        self.offsets[above.len()] = entries;
        Ok(())
    }

    /// Makes room for [`RowSpans::list_rows`] of rows with this many entries in total.
    pub fn reserve_list(&mut self, entries: usize) -> Result<()> {
        if self.row_of.len() < entries + AT_ONCE { try_resize(&mut self.row_of, entries + AT_ONCE) } else { Ok(()) }
    }

    /// Writes the row of each entry to `row_of`. Requires the room of [`RowSpans::reserve_list`].
    pub fn list_rows(&mut self) {
        for (row, pair) in self.offsets.windows(2).enumerate() {
            let (start, end) = (pair[0] as usize, pair[1] as usize);
            // A fixed number of entries, which most rows do not exceed; the next rows overwrite what is too much.
            self.row_of[start..start + AT_ONCE].fill(row as i32);
            if end > start + AT_ONCE {
                self.row_of[start + AT_ONCE..end].fill(row as i32);
            }
        }
    }

    /// The row that holds an entry. A binary search without branches, since neither half is more likely than the other.
    pub fn row_with(&self, entry: u64) -> usize {
        let (mut row, mut left) = (0, self.starts.len());
        while left > 1 {
            let half = left / 2;
            row = select_unpredictable(self.offsets[row + half] <= entry, row + half, row);
            left -= half;
        }
        row
    }

    /// Prefetches the columns of the rows, for a loop that is going to read them all: the start of each row and, where rows
    /// have more than a few entries on average, its end, which is in the same cache line or in the next.
    pub fn prefetch(&self, operator: Sparse<'_>) {
        self.starts.iter().for_each(|&start| prefetch(operator.indices, start));
        if self.entries() > 8 * self.starts.len() {
            for (&start, pair) in self.starts.iter().zip(self.offsets.windows(2)) {
                prefetch(operator.indices, (start + (pair[1] - pair[0]) as usize).saturating_sub(1));
            }
        }
    }

    /// The number of entries of all rows.
    pub fn entries(&self) -> usize {
        self.offsets[self.starts.len()] as usize
    }

    /// The place of each row in Â.
    pub fn ranges(&self) -> impl Iterator<Item = Range<usize>> + '_ {
        let lengths = self.offsets.windows(2).map(|pair| (pair[1] - pair[0]) as usize);
        self.starts.iter().zip(lengths).map(|(&start, length)| start..start + length)
    }
}
