//! The loops of the primitives, on plain slices.

pub mod activation;
pub mod attention;
pub mod columns;
pub mod dropout;
pub mod extreme;
pub mod folded;
pub mod join;
pub mod norm;
