//! Which nodes take part: what is drawn at each hop, and the blocks of Â that result.
//!
//! | file | what it has |
//! |---|---|
//! | `draws` | what the caller wants drawn at each hop, and the key of the random numbers |
//! | `distribution` | the distribution P of the draws |
//! | `cut` | the result: which nodes each layer computes, and by which operator |
//! | `sampler` | cuts one block; draws from any distribution |
//! | `uniform` | faster ways to make uniform draws |
//! | `block` | some rows of Â, with the columns they touch relabelled |
//! | `rows`, `columns` | where the rows of a block are in Â; columns that are looked at one by one |
//! | `node_map`, `marks` | local ids of nodes; marks on nodes |
//!
//! A block is cut in two steps. First its rows are read and S, the columns they touch, gets local ids. Then, if the hop is
//! sampled, only columns of S are drawn, and the block keeps those. A draw outside S would meet no row and add nothing. So the
//! number of draws that fall into S is drawn instead, from the binomial distribution: the same estimator, at a cost that
//! depends neither on the sample size nor on the size of the graph.
//!
//! Uniform draws need not know S. A few draws are made and then searched for in the rows; and if few of them would be useful,
//! the rows of a symmetric Â need not even be read one by one. See [`UniformMethod`].

mod block;
mod columns;
mod cut;
mod distribution;
mod draws;
mod marks;
mod node_map;
mod rows;
mod sampler;
mod uniform;

pub use block::Block;
pub use cut::{Cut, Step};
pub use distribution::{Distribution, checksum};
pub use draws::{Draws, Hop, Key};
pub use marks::Marks;
pub use node_map::NodeMap;
pub use rows::RowSpans;
pub use sampler::Sampler;
pub use uniform::UniformMethod;
