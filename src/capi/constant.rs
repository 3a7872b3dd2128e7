//! Constants of the interface as values of the library's own types: only here do these values have numbers.

use crate::error::{Error, Result};

/// A type whose values have constants. Each noun's file lists its own.
pub trait Constant: Copy + PartialEq + 'static {
    /// The argument that takes one.
    const ARGUMENT: &'static str;
    /// How the constants' names begin.
    const PREFIX: &'static str;
    /// Every constant and its value.
    const ALL: &'static [(i32, Self)];
}

/// The value of a constant, or which argument is none.
pub fn constant<T: Constant>(number: i32) -> Result<T> {
    match T::ALL.iter().find(|(constant, _)| *constant == number) {
        Some((_, value)) => Ok(*value),
        None => {
            let (argument, prefix) = (T::ARGUMENT, T::PREFIX);
            Err(Error::InvalidArgument(format!("{argument} = {number} is not a {prefix} constant")))
        }
    }
}

/// The constant of a value.
pub fn number_of<T: Constant>(value: T) -> i32 {
    T::ALL.iter().find(|(_, other)| *other == value).map_or(-1, |(constant, _)| *constant)
}
