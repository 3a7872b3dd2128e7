//! Sums of columns over rows, in double precision, with the same bits for any number of threads.

use crate::error::{Result, try_resize};
use crate::kernel::Threads;

/// Rows that are summed one after the other; the sums of pieces are added in their order.
const PIECE: usize = 1024;

/// The sums of pieces of rows, reused from call to call.
#[derive(Default)]
pub struct Sums {
    partial: Vec<f64>,
    total: Vec<f64>,
}

impl Sums {
    /// `Σ_i` of what `add(i, sums)` adds to `count` sums for each of `rows` rows.
    pub fn of(
        &mut self,
        threads: &Threads,
        (rows, count): (usize, usize),
        add: impl Fn(usize, &mut [f64]) + Sync,
    ) -> Result<&[f64]> {
        let pieces = rows.div_ceil(PIECE).max(1);
        try_resize(&mut self.partial, pieces * count)?;
        try_resize(&mut self.total, count)?;
        threads.fill_rows(rows * count, count, &mut self.partial, |piece, sums| {
            sums.fill(0.0);
            (piece * PIECE..((piece + 1) * PIECE).min(rows)).for_each(|i| add(i, sums));
        });
        self.total.fill(0.0);
        for sums in self.partial.chunks_exact(count) {
            self.total.iter_mut().zip(sums).for_each(|(total, sum)| *total += sum);
        }
        Ok(&self.total)
    }

    /// The sum of each column of rows of this width.
    pub fn of_rows(&mut self, threads: &Threads, rows: &[f32], width: usize) -> Result<&[f64]> {
        self.of(threads, (rows.len() / width, width), |i, sums| {
            sums.iter_mut().zip(&rows[i * width..]).for_each(|(sum, &x)| *sum += f64::from(x));
        })
    }
}
