//! Numbers that become 0 at random. A number's fate depends on its key, node and column alone, so that a node keeps its mask in
//! whatever company.

use crate::error::{Result, try_resize};
use crate::kernel::{Pick, Sparse, Threads, mix, table};

/// What a dropout drops: its key, and the nodes of its rows.
pub struct Dropped<'a> {
    nodes: Pick<'a>,
    key: u64,
    threshold: u32,
    scale: f32,
}

/// Sparse rows with numbers dropped.
#[derive(Default)]
pub struct SparseRows {
    indptr: Vec<i64>,
    indices: Vec<i32>,
    values: Vec<f32>,
}

impl SparseRows {
    /// The rows.
    pub fn view(&self) -> Sparse<'_> {
        Sparse { indptr: &self.indptr, indices: &self.indices, values: &self.values }
    }
}

/// A number is dropped if its random one is below this.
pub fn threshold(rate: f64) -> u32 {
    (rate * 4_294_967_296.0).min(f64::from(u32::MAX)) as u32
}

impl<'a> Dropped<'a> {
    /// What this rate drops of the rows of these nodes.
    pub fn new(nodes: Pick<'a>, key: u64, rate: f64) -> Self {
        Dropped { nodes, key, threshold: threshold(rate), scale: (1.0 / (1.0 - rate)) as f32 }
    }

    fn row_key(&self, i: usize) -> u64 {
        crate::random::mix(self.key, self.nodes.at(i) as u64)
    }

    /// Drops numbers of dense rows.
    pub fn apply(&self, threads: &Threads, width: usize, rows: &mut [f32]) {
        let size = rows.len();
        threads.fill_rows(size, width, rows, |i, row| {
            table().drop_out(row, self.row_key(i), self.threshold, self.scale);
        });
    }

    /// Sparse rows, with numbers dropped as in dense ones.
    pub fn sparse(&self, x: Sparse<'_>, count: usize, out: &mut SparseRows) -> Result<()> {
        try_resize(&mut out.indptr, count + 1)?;
        out.indptr[0] = 0;
        let mut entries = 0;
        for i in 0..count {
            entries += x.row(self.nodes.at(i)).0.len();
            out.indptr[i + 1] = entries as i64;
        }
        try_resize(&mut out.indices, entries)?;
        try_resize(&mut out.values, entries)?;
        for i in 0..count {
            let (columns, values) = x.row(self.nodes.at(i));
            let key = self.row_key(i);
            let range = out.indptr[i] as usize..out.indptr[i + 1] as usize;
            out.indices[range.clone()].copy_from_slice(columns);
            for ((to, &x), &column) in out.values[range].iter_mut().zip(values).zip(columns) {
                let random = mix(column as u32, key as u32, (key >> 32) as u32);
                *to = if random < self.threshold { 0.0 } else { x * self.scale };
            }
        }
        Ok(())
    }
}
