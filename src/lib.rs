//! Plimsoll trains and runs graph neural networks inside another program, from a few sampled nodes per layer.
//!
//! The public interface is C (`include/plimsoll.h`, made from `capi`); this crate's Rust items are its inside, and may
//! change with any release. Data flow down this list; a module uses only those above it.
//!
//! | module | what lives there |
//! |---|---|
//! | `error`, `log`, `random`, `file`, `text` | one Error; messages; random numbers by key; files written whole or not at all; lines read |
//! | `kernel` | hot loops on plain slices, one table per instruction set; threads |
//! | `graph` | the attributed graph: adjacency and Â, features and ÂX, labels, splits; where it comes from |
//! | `sample` | which nodes: distributions, draws, and the blocks they cut out of Â |
//! | `model` | layers, parameters, forward and backward over a chain of blocks; how they are stored |
//! | `estimator` | full, unbiased, consistent: from a batch of a problem's items to a gradient |
//! | `rank` | learning to rank: queries and their documents as a problem, their estimators, measures, LETOR's format |
//! | `optim` | schedules, projections, SGD and Adam; a caller's own problem |
//! | `theory` | bounds, tails of sampled gradients, sample sizes, the planner |
//! | `train` | epochs, history, checkpoints, adaptive sample sizes |
//! | `capi` | the C interface |

pub mod capi;
pub mod error;
pub mod estimator;
pub mod file;
mod fork;
pub mod graph;
pub mod kernel;
pub mod log;
mod memory;
pub mod model;
pub mod optim;
pub mod random;
pub mod rank;
pub mod sample;
mod tensors;
pub mod text;
pub mod theory;
pub mod train;
