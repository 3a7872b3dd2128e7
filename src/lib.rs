//! Plimsoll trains and runs graph neural networks inside another program, from a few sampled nodes per layer.
//!
//! The public interface is C (`include/plimsoll.h`, generated from `capi`). The Rust items of this crate are its inside and
//! may change with any release. Data flow down this table: a module uses only modules above it. `tests/layering.rs` reads
//! the table and holds every file in `src` to it.
//!
//! | module | what it holds |
//! |---|---|
//! | `memory` | missing memory: what could not be allocated, and whether a call has run out of it |
//! | `error` | one `Error`, one `Result`; reservations that can fail |
//! | `fork` | locks that a child finds open after `fork` |
//! | `log` | levels of messages, and the trait that takes them |
//! | `file` | files that are written whole or not at all |
//! | `text` | files of text, read field by field |
//! | `tensors` | the head of a safetensors archive |
//! | `kernel` | hot loops on plain slices, one table per instruction set; threads |
//! | `random` | random numbers by key |
//! | `graph` | the attributed graph: adjacency and Â, features and ÂX, labels, splits; its files |
//! | `sample` | which nodes: distributions, draws, and the blocks they cut out of Â |
//! | `nn` | models from layers: operations, primitives, programs that run over a cut |
//! | `model` | a net with its parameters; prediction and evaluation; its file |
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
pub mod nn;
pub mod optim;
pub mod random;
pub mod rank;
pub mod sample;
mod tensors;
pub mod text;
pub mod theory;
pub mod train;
