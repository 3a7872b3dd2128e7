//! Models from layers: what the caller wrote, the primitives it is lowered to, and how those run over a cut.
//!
//! | file | what it holds |
//! |---|---|
//! | `layers` | the operations as the caller wrote them, one value each |
//! | `tensors` | parameters and state by name: shapes, places, starting values |
//! | `describe` | the operations as JSON, for files and checkpoints |
//! | `lower` | from operations to primitives |
//! | `program` | primitives with levels and slots, ready to run |
//! | `run` | forward and backward over a cut |
//! | `op/` | the primitives, one file each |
//! | `neighbours` | links between two levels for attention, and their transpose |
//! | `transposed` | products with the transpose of an operator |
//!
//! Every operation makes a *value*; value 0 is the features. An operation that looks at neighbours is a *hop*. The nodes between
//! two hops are a *level*: level 0 feeds the lowest hop, the last level is the batch. A primitive computes its rows at one level.
//! Where it reads a value of a lower level, the rows of its own nodes are picked out of that value.

mod describe;
mod layers;
mod lower;
mod neighbours;
mod op;
mod program;
mod run;
mod tensors;
pub mod transposed;

pub use describe::AGGREGATORS;
pub use layers::{Activation, Aggregator, Joined, Layers, Norm, Op, Value, Version};
pub use neighbours::Neighbours;
pub use op::attention::{Attention, By, Dropout};
pub use program::{Mode, Program, Request};
pub use run::{Masks, Pass, Room, Workspace};
pub use tensors::{Net, Tensor};
