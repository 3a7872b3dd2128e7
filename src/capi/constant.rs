//! Constants of the interface as values of the library's own types: only here do these values have numbers.

use crate::error::{Error, Result};

/// A type whose values have constants. Each noun's file lists its own with [`constants`].
pub trait Constant: Copy + PartialEq + 'static {
    /// The argument that takes one.
    const ARGUMENT: &'static str;
    /// How the constants' names begin.
    const PREFIX: &'static str;
    /// Every constant and its value.
    const ALL: &'static [(i32, Self)];
}

/// Lists the constants of a type: `constants!(Type, "argument", "PLIM_PREFIX_", [(PLIM_PREFIX_A, A), …])`.
macro_rules! constants {
    ($type:ident, $argument:literal, $prefix:literal, [$(($constant:ident, $value:ident)),+ $(,)?]) => {
        impl $crate::capi::constant::Constant for $type {
            const ARGUMENT: &'static str = $argument;
            const PREFIX: &'static str = $prefix;
            const ALL: &'static [(i32, Self)] = &[$(($constant, $type::$value)),+];
        }
    };
}
pub(super) use constants;

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
