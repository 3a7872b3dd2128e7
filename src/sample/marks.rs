//! Marks on nodes: which have been drawn, or are in the rows above.

use crate::error::{Result, try_reserve_exact};
use crate::kernel::mark;

/// Which nodes are marked, a byte per node. Bits would take an eighth of the memory, but looking one up takes half as long
/// again.
#[derive(Default)]
pub struct Marks {
    /// 1 = marked.
    bytes: Vec<u8>,
}

impl Marks {
    /// A byte per node: 1 = marked.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Makes room for the nodes of a graph.
    pub fn fit(&mut self, num_nodes: usize) -> Result<()> {
        if self.bytes.len() < num_nodes {
            let more = num_nodes - self.bytes.len();
            try_reserve_exact(&mut self.bytes, more)?;
            self.bytes.resize(num_nodes, 0);
        }
        Ok(())
    }

    /// Marks `nodes`. A node that is marked already is written to `repeats`, once for each time that it comes again. Returns
    /// the number of repeats. `repeats` must be longer than `nodes` by one.
    pub fn insert(&mut self, nodes: &[i32], repeats: &mut [i32]) -> usize {
        mark(&mut self.bytes, nodes, repeats)
    }

    /// Marks `nodes`, no two of which are the same.
    pub fn insert_distinct(&mut self, nodes: &[i32]) {
        let bytes = &mut self.bytes[..];
        nodes.iter().for_each(|&v| bytes[v as usize] = 1);
    }

    /// Removes the marks of `nodes`, which must be all that are marked.
    pub fn remove(&mut self, nodes: &[i32]) {
        let bytes = &mut self.bytes[..];
        // A short list of bytes is cleared faster as a whole. In pieces, because for longer ones the C library uses an
        // instruction that is slow to start.
        match bytes.len() <= 32 * nodes.len() {
            true => bytes.chunks_mut(1024).for_each(|piece| piece.fill(0)),
            false => nodes.iter().for_each(|&v| bytes[v as usize] = 0),
        }
    }
}
