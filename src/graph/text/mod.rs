//! Graphs as text: edge lists, and Matrix Market's coordinate format.
//!
//! A complaint names the line and the column, both from 1. Memory grows with what the file really holds, not with what it
//! claims.
//!
//! | file | what it holds |
//! |---|---|
//! | `fields` | a line and its fields, as CSV has them |
//! | `edge_list` | a table with an edge per line |
//! | `matrix_market` | a sparse matrix by coordinates |

mod edge_list;
mod fields;
mod matrix_market;

pub use edge_list::{Columns, EdgeListOptions, Header, Merge};

use super::Graph;
use super::adjacency::Adjacency;
use super::csr::Repeated;
use crate::error::{Error, Result, try_reserve};

/// Bytes of a line.
const LONGEST: usize = 1 << 16;

/// How a Matrix Market file begins.
pub const BANNER: &[u8] = b"%%MatrixMarket";

/// The nodes that a file of so many bytes may speak of without naming them: enough for any real graph, too few to be a
/// surprise.
pub fn check_plausible(num_nodes: usize, file_bytes: u64) -> Result<()> {
    // Fuzzers would spend their time on large graphs of small files.
    const ALWAYS: u64 = if cfg!(fuzzing) { 1 << 12 } else { 1 << 20 };
    const PER_BYTE: u64 = 8;
    if num_nodes as u64 <= ALWAYS.saturating_add(file_bytes.saturating_mul(PER_BYTE)) {
        return Ok(());
    }
    Err(Error::BadFormat(format!("{num_nodes} nodes are too many for a file of {file_bytes} bytes")))
}

/// Pairs of nodes, as they come.
#[derive(Default)]
struct Edges {
    sources: Vec<i32>,
    targets: Vec<i32>,
    weights: Vec<f32>,
}

impl Edges {
    fn len(&self) -> usize {
        self.sources.len()
    }

    #[inline]
    fn push(&mut self, source: i32, target: i32, weight: Option<f32>) -> Result<()> {
        try_reserve(&mut self.sources, 1, "edges")?;
        try_reserve(&mut self.targets, 1, "edges")?;
        self.sources.push(source);
        self.targets.push(target);
        if let Some(weight) = weight {
            try_reserve(&mut self.weights, 1, "edges")?;
            self.weights.push(weight);
        }
        Ok(())
    }

    fn weights(&self) -> Option<&[f32]> {
        (!self.weights.is_empty()).then_some(&self.weights)
    }

    fn into_graph(self, num_nodes: usize, repeated: Repeated) -> Result<Graph> {
        Adjacency::from_edges(num_nodes, &self.sources, &self.targets, self.weights(), repeated).map(Graph::new)
    }

    /// The sources are rows.
    fn into_matrix(self, num_nodes: usize, repeated: Repeated) -> Result<Graph> {
        Adjacency::from_entries(num_nodes, &self.sources, &self.targets, self.weights(), repeated).map(Graph::new)
    }
}
