//! Products with the transpose of a hop's operator; the transpose of weights.

use crate::error::{Error, ForThe, Result, try_resize};
use crate::graph::Graph;
use crate::kernel::{self, Buffer, Finish, Pick, Rows, Sparse, Threads, table};

/// What the buffers of the way back are for, in case they cannot be allocated.
pub const DELTAS: &str = "gradients of the activations";

/// Wᵀ of a row-major matrix with `width` columns.
pub fn transpose(w: &[f32], width: usize, out: &mut Buffer) -> Result<()> {
    out.try_resize_within(w.len(), w.len()).for_the("transposed weights")?;
    kernel::transpose(w, width, out);
    Ok(())
}

/// Copies each row of G, one for each of `nodes`, to that node's row of `out`; the rows of other nodes become 0.
pub fn spread(graph: &Graph, nodes: &[i32], (g, width): (&[f32], usize), out: &mut Buffer) -> Result<()> {
    out.try_resize(graph.num_nodes() * width).for_the(DELTAS)?;
    out.fill(0.0);
    for (&v, row) in nodes.iter().zip(g.chunks_exact(width)) {
        out[v as usize * width..][..width].copy_from_slice(row);
    }
    Ok(())
}

/// Products with the transpose of a block. A small block is scattered. The transpose of a large block is written out, so that
/// threads can share the product, and kept for as long as the cut is the same.
#[derive(Default)]
pub struct Transposed {
    indptr: Vec<i64>,
    indices: Vec<i32>,
    values: Vec<f32>,
    /// The number of the cut that it belongs to.
    cut: u64,
}

impl Transposed {
    /// Below this many entries, writing the transpose out does not pay.
    const FEW_ENTRIES: usize = 1 << 13;

    /// `out ← Blockᵀ·G`, finished, for a block with `count` columns that belongs to the cut of this number.
    pub fn times(
        &mut self,
        (block, pick): (Sparse<'_>, Pick<'_>),
        (cut, count): (u64, usize),
        threads: &Threads,
        (g, width): (&[f32], usize),
        finish: Finish<'_>,
        out: &mut Buffer,
    ) -> Result<()> {
        out.try_resize(count * width).for_the(DELTAS)?;
        if block.indices.len() < Self::FEW_ENTRIES {
            out.fill(0.0);
            table().transposed_times(Rows::Sparse(block), pick, g, width, out);
            match finish {
                Finish::Plain => {}
                Finish::Where(h) => table().rectified_gradient(out, h),
                Finish::Rectify => return Err(Error::Internal("a rectified gradient".to_string())),
            }
            return Ok(());
        }
        if self.cut != cut {
            self.cut = 0;
            self.write_out(block, count)?;
            self.cut = cut;
        }
        let view = Sparse { indptr: &self.indptr, indices: &self.indices, values: &self.values };
        threads.times(Rows::Sparse(view), Pick::From(0), g, width, finish, out);
        Ok(())
    }

    fn write_out(&mut self, block: Sparse<'_>, count: usize) -> Result<()> {
        try_resize(&mut self.indptr, count + 1).for_the("transposed edges")?;
        try_resize(&mut self.indices, block.indices.len()).for_the("transposed edges")?;
        try_resize(&mut self.values, block.indices.len()).for_the("transposed edges")?;
        self.indptr.fill(0);
        block.indices.iter().for_each(|&u| self.indptr[u as usize + 1] += 1);
        for u in 0..count {
            self.indptr[u + 1] += self.indptr[u];
        }
        for v in 0..block.num_rows() {
            let (columns, values) = block.row(v);
            for (&u, &a) in columns.iter().zip(values) {
                let at = self.indptr[u as usize] as usize;
                self.indptr[u as usize] += 1;
                self.indices[at] = v as i32;
                self.values[at] = a;
            }
        }
        self.indptr.copy_within(0..count, 1);
        self.indptr[0] = 0;
        Ok(())
    }
}
