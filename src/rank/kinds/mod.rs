//! The kinds of estimators for rankings, one file each. What they request is a [`Choice`] of the pairs of a query.

mod pairs;
mod separate;

use super::Choice;
use crate::error::{Error, Result};
use crate::estimator::Request;

/// The most pairs or documents that an estimator draws of a query, so that rows can be counted in 32 bits.
pub const LARGEST_SIZE: usize = 1 << 20;

fn check_size(name: &str, size: usize) -> Result<usize> {
    match size {
        1..=LARGEST_SIZE => Ok(size),
        _ => Err(Error::InvalidArgument(format!("{name} = {size} is outside [1, {LARGEST_SIZE}]"))),
    }
}

fn request(choice: &Choice) -> Request<'_> {
    Request::Parts { name: "pairs of documents", parts: choice }
}
