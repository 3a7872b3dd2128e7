//! Which nodes take part: distributions, draws, and the blocks Â(I_{l+1}, I_l) they cut out of Â.
//!
//! A block is cut in two moves. First its rows are read and S, the columns they touch, gets local ids; then, where
//! the layer is sampled, only columns of S are drawn, and the block keeps those that were. A draw outside S would
//! meet no row and add nothing, so the number of draws that fall into S is drawn instead, from the binomial
//! distribution: the same estimator at a cost that neither the sample size nor the graph's size enters.
//!
//! Uniform draws need not know S: few draws are made as they are and looked for in the rows, and where few are useful a
//! symmetric Â need not even be read row by row. See `Sampler::draw_uniform`.

mod block;
mod chain;
mod distribution;
mod pairs;

pub use block::{Block, NodeMap, RowSpans};
pub use chain::{Chain, Draws, Layer, Sampler, UniformWay};
pub use distribution::{Distribution, checksum};
pub use pairs::{Choice, Levels, Pairs};

/// What one estimate is computed on, and the scratch of cutting it.
#[derive(Default)]
pub struct Cut {
    /// Which nodes each layer uses.
    pub chain: Chain,
    /// Which pairs a ranking compares.
    pub pairs: Pairs,
    /// Scratch.
    pub sampler: Sampler,
}
