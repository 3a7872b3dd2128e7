//! Which nodes take part: distributions, draws, and the blocks Â(I_{l+1}, I_l) they cut out of Â.
//!
//! A block is cut in two moves. First its rows are read and S, the columns they touch, gets local ids; then, where
//! the layer is sampled, only columns of S are drawn, and the block keeps those that were. A draw outside S would
//! meet no row and add nothing, so the number of draws that fall into S is drawn instead, from the binomial
//! distribution: the same estimator at a cost that neither the sample size nor the graph's size enters.
//!
//! Uniform draws on a symmetric Â, if few are useful, need not even read all rows: see `Sampler::draw_by_columns`.

mod block;
mod chain;
mod distribution;

pub use block::{Block, NodeMap};
pub use chain::{Chain, Draws, Layer, Sampler};
pub use distribution::{Distribution, checksum};
