//! How wrong a sampled gradient is, what that costs SGD, and how few nodes suffice.
//!
//! | file | question |
//! |---|---|
//! | `bounds` | how far SGD can be from the optimum if its gradients have this relative error |
//! | `size` | how many draws keep the error below a bound, given a fitted tail |
//! | `tail` | how large the errors are, measured: tail probability, bias and deviation; the fit |
//! | `plan` | how few draws suffice here, and whether they save time |

pub mod bounds;
pub mod plan;
pub mod size;
pub mod tail;

use crate::error::{Error, Result};

pub(crate) fn check_positive(name: &str, value: f64) -> Result<()> {
    match value.is_finite() && value > 0.0 {
        true => Ok(()),
        false => Err(Error::InvalidArgument(format!("{name} = {value}: 0 < {name} < infinity does not hold"))),
    }
}

pub(crate) fn check_not_negative(name: &str, value: f64) -> Result<()> {
    match value.is_finite() && value >= 0.0 {
        true => Ok(()),
        false => Err(Error::InvalidArgument(format!("{name} = {value}: 0 <= {name} < infinity does not hold"))),
    }
}

pub(crate) fn check_count(t: usize) -> Result<()> {
    match t {
        0 => Err(Error::InvalidArgument("t = 0: t >= 1 does not hold".to_string())),
        _ => Ok(()),
    }
}

pub(crate) fn check_epsilon(epsilon: f64) -> Result<()> {
    match epsilon > 0.0 && epsilon <= 1.0 {
        true => Ok(()),
        false => Err(Error::InvalidArgument(format!("epsilon = {epsilon}: 0 < epsilon <= 1 does not hold"))),
    }
}

/// Wilson's 95 % interval of a probability, from `misses` in `draws` trials.
pub fn wilson(misses: usize, draws: usize) -> (f64, f64) {
    const Z: f64 = 1.959_963_984_540_054;
    let (n, p) = (draws as f64, misses as f64 / draws as f64);
    let centre = p + Z * Z / (2.0 * n);
    let half = Z * (p * (1.0 - p) / n + (Z / (2.0 * n)).powi(2)).sqrt();
    let scale = 1.0 + Z * Z / n;
    (((centre - half) / scale).max(0.0), ((centre + half) / scale).min(1.0))
}
