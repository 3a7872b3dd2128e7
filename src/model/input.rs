//! The exact input layer: products with rows of ÂX, kept by the graph or computed on demand with the same bits.

use crate::error::Result;
use crate::graph::{Aggregator, Graph, Matrix};
use crate::kernel::{Buffer, Finish, GROUP, Parts, Pick, Rows, Threads, table};
use crate::sample::Cut;
use std::sync::Arc;

/// The number of rows of ÂX computed at a time if the graph does not keep them: about half a megabyte, in whole groups of the
/// kernel's, so that the bits are those of the kept copy.
fn rows_at_a_time(graph: &Graph) -> Result<usize> {
    const NUMBERS: usize = 1 << 17;
    Ok((NUMBERS / graph.features()?.width()).clamp(GROUP, 1024) / GROUP * GROUP)
}

/// Rows of ÂX: from the graph's own copy, or computed in chunks.
#[derive(Default)]
pub struct Input {
    kept: Option<Arc<Matrix>>,
    aggregator: Aggregator,
}

impl Input {
    /// Looks up whether the graph keeps ÂX. A whole-graph pass or a gradient makes the graph keep it if the bound allows; a
    /// prediction of a few nodes does not, since it needs few rows.
    pub fn prepare(&mut self, graph: &Graph, threads: &Threads, worth_keeping: bool) -> Result<()> {
        self.kept = if worth_keeping { graph.aggregated(threads)? } else { graph.aggregated_if_kept() };
        Ok(())
    }

    /// Releases the graph's copy.
    pub fn release(&mut self) {
        self.kept = None;
    }

    /// `out ← (ÂX)(nodes above, :)·W`, finished.
    pub fn times(
        &mut self,
        graph: &Graph,
        cut: &Cut,
        threads: &Threads,
        (w, width): (&[f32], usize),
        finish: Finish<'_>,
        out: &mut [f32],
    ) -> Result<()> {
        let pick = cut.pick_above(0);
        if let Some(product) = &self.kept {
            threads.times(product.rows(), pick, w, width, finish, out);
            return Ok(());
        }
        let chunk = rows_at_a_time(graph)?;
        for (i, out) in out.chunks_mut(chunk * width).enumerate() {
            let rows = self.chunk(graph, threads, pick.skip(i * chunk), out.len() / width)?;
            threads.times(rows, Pick::From(0), w, width, finish.skip(i * chunk * width), out);
        }
        Ok(())
    }

    /// `m ← (ÂX)(nodes above, :)ᵀ·G`.
    pub fn transposed_times(
        &mut self,
        graph: &Graph,
        cut: &Cut,
        threads: &Threads,
        (g, width): (&[f32], usize),
        m: &mut [f32],
        scratch: &mut Buffer,
    ) -> Result<()> {
        let pick = cut.pick_above(0);
        let (outlook, count) = (graph.outlook()?, g.len() / width);
        if let Some(product) = &self.kept {
            return threads.transposed_times((product.rows(), outlook.mean_columns()), pick, (g, width), m, scratch);
        }
        // The sum has the same parts as with the kept copy, and so the same bits. Chunks within a part continue its sum, in the
        // order in which the kernel takes dense rows.
        let height = m.len() / width;
        let parts = match outlook.dense() {
            true => Parts::of_dense(count, height, width),
            false => Parts::of_sparse(count, outlook.mean_columns(), height, width),
        };
        let chunk = rows_at_a_time(graph)?;
        parts.sum(m, scratch, |range, sum| {
            let chunks = range.len().div_ceil(chunk);
            for i in 0..chunks {
                let start = range.start + chunk * if outlook.dense() { chunks - 1 - i } else { i };
                let end = (start + chunk).min(range.end);
                let rows = self.chunk(graph, threads, pick.skip(start), end - start)?;
                let g = &g[start * width..end * width];
                table().transposed_times(rows, Pick::From(0), g, width, sum);
            }
            Ok(())
        })
    }

    fn chunk(&mut self, graph: &Graph, threads: &Threads, pick: Pick<'_>, count: usize) -> Result<Rows<'_>> {
        let rows = (pick, count, rows_at_a_time(graph)?);
        self.aggregator.rows(graph.operator(), graph.features()?, graph.outlook()?, rows, threads)
    }
}
