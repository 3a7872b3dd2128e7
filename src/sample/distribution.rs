//! The distribution P that nodes are drawn from.

use super::Block;
use crate::error::{Error, Result, try_copied, try_resize};
use crate::graph::{Graph, Operator};
use std::sync::Arc;

/// P, up to its normalisation.
#[derive(Clone, Default)]
pub enum Distribution {
    /// The same for all nodes.
    #[default]
    Uniform,
    /// ∝ ‖Â(:,u)‖², over all nodes.
    Importance,
    /// The same for all nodes of S, the columns that the rows above touch.
    Neighbors,
    /// ∝ ‖Â(rows above, u)‖² over S.
    Ladies,
    /// ∝ the caller's weights, over all nodes.
    Weights {
        /// One positive weight per node.
        weights: Arc<Vec<f64>>,
        /// Their sum.
        total: f64,
    },
}

impl Distribution {
    /// The caller's weights. Each must be positive: a node that is never drawn would be missing from every sample, however
    /// large.
    pub fn from_weights(weights: &[f64]) -> Result<Self> {
        if weights.is_empty() {
            return Err(Error::InvalidArgument("num_nodes = 0: there are no weights".to_string()));
        }
        if let Some(at) = weights.iter().position(|w| !(w.is_finite() && *w > 0.0)) {
            return Err(Error::entry("weights", at, weights[at], "is not a finite weight > 0"));
        }
        let total: f64 = weights.iter().sum();
        if !total.is_finite() {
            return Err(Error::InvalidArgument(format!("the weights sum to {total}")));
        }
        Ok(Distribution::Weights { weights: Arc::new(try_copied(weights)?), total })
    }

    /// A text that identifies the distribution, for checkpoints.
    pub fn description(&self) -> String {
        match self {
            Distribution::Uniform => "uniform".to_string(),
            Distribution::Importance => "importance".to_string(),
            Distribution::Neighbors => "neighbors".to_string(),
            Distribution::Ladies => "ladies".to_string(),
            Distribution::Weights { weights, .. } => {
                let checksum = checksum(weights.iter().map(|w| w.to_le_bytes()));
                format!("{} weights of checksum {checksum:08x}", weights.len())
            }
        }
    }

    /// Checks that the distribution fits a graph.
    pub fn check(&self, graph: &Graph) -> Result<()> {
        match self {
            Distribution::Weights { weights, .. } if weights.len() != graph.num_nodes() => {
                let text = format!("{} weights for {} nodes", weights.len(), graph.num_nodes());
                Err(Error::ShapeMismatch(text))
            }
            _ => Ok(()),
        }
    }

    /// Whether every column of a block has the mass 1.
    pub fn is_flat(&self) -> bool {
        matches!(self, Distribution::Uniform | Distribution::Neighbors)
    }

    /// Writes the mass of each column of `block`, as read from an operator, to `masses`. Returns the mass of everything that can
    /// be drawn: P(u) = mass(u) / total.
    pub fn masses(&self, (graph, operator): (&Graph, Operator), block: &Block, masses: &mut Vec<f64>) -> Result<f64> {
        let nodes = block.nodes();
        try_resize(masses, nodes.len())?;
        match self {
            Distribution::Uniform => {
                masses.fill(1.0);
                Ok(graph.num_nodes() as f64)
            }
            Distribution::Importance => {
                let norms = graph.column_norms(operator)?;
                masses.iter_mut().zip(nodes).for_each(|(m, &u)| *m = norms.squares[u as usize]);
                Ok(norms.total)
            }
            Distribution::Neighbors => {
                masses.fill(1.0);
                Ok(nodes.len() as f64)
            }
            Distribution::Ladies => {
                block.column_squares(masses);
                Ok(masses.iter().sum())
            }
            Distribution::Weights { weights, total } => {
                masses.iter_mut().zip(nodes).for_each(|(m, &u)| *m = weights[u as usize]);
                Ok(*total)
            }
        }
    }
}

/// A checksum by which a checkpoint recognises a caller's array.
pub fn checksum<const N: usize>(values: impl Iterator<Item = [u8; N]>) -> u32 {
    let mut checksum = crc32fast::Hasher::new();
    values.for_each(|bytes| checksum.update(&bytes));
    checksum.finalize()
}
