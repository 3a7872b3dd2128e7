//! The loops of the primitives, on plain slices.

pub mod activation;
pub mod columns;
pub mod join;
pub mod norm;
pub mod segment_max;
