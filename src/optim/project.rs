//! The sets that iterates stay in.

use super::update::Real;
use crate::error::{Error, Result};

/// Where iterates may be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Set {
    /// All of R^d.
    Everything,
    /// ‖w‖ ≤ radius.
    Ball(f64),
    /// low ≤ w_i ≤ high.
    Box(f64, f64),
}

impl Set {
    /// The ball around 0; an infinite radius means everything.
    pub fn ball(radius: f64) -> Result<Self> {
        match radius {
            f64::INFINITY => Ok(Set::Everything),
            r if r.is_finite() && r > 0.0 => Ok(Set::Ball(r)),
            r => Err(Error::InvalidArgument(format!("radius = {r} is not a number > 0"))),
        }
    }

    /// The box. Bounds may be infinite; two infinite bounds mean everything.
    pub fn cube(low: f64, high: f64) -> Result<Self> {
        if low.is_nan() || high.is_nan() || low > high || low == f64::INFINITY || high == f64::NEG_INFINITY {
            return Err(Error::InvalidArgument(format!("low = {low}, high = {high} is not an interval")));
        }
        if low == f64::NEG_INFINITY && high == f64::INFINITY {
            return Ok(Set::Everything);
        }
        Ok(Set::Box(low, high))
    }

    /// Checks that the set has a point whose coordinates are of type `T`.
    pub fn check<T: Real>(&self) -> Result<()> {
        match *self {
            Set::Box(low, high) if !inside::<T>(low, high) => {
                Err(Error::InvalidArgument(format!("no parameter fits the box [{low}, {high}]")))
            }
            _ => Ok(()),
        }
    }

    /// Moves `w` to the nearest point of the set. Rounding never leaves it outside.
    pub fn project<T: Real>(&self, w: &mut [T]) {
        match *self {
            Set::Everything => {}
            Set::Ball(radius) => {
                // Scaling rounds, possibly to a point outside; later rounds scale by a little less.
                let mut shrink = 1.0;
                loop {
                    let norm = norm(w);
                    if norm <= radius {
                        return;
                    }
                    w.iter_mut().for_each(|x| *x = T::rounded(x.real() * (radius / norm * shrink)));
                    shrink -= T::STEP;
                }
            }
            Set::Box(low, high) => {
                let (low, high) = (T::rounded_up(low), T::rounded_down(high));
                w.iter_mut().for_each(|x| {
                    *x = if *x < low {
                        low
                    } else if *x > high {
                        high
                    } else {
                        *x
                    }
                });
            }
        }
    }
}

/// Whether a finite number of type `T` lies in [low, high].
fn inside<T: Real>(low: f64, high: f64) -> bool {
    let (low, high) = (T::rounded_up(low), T::rounded_down(high));
    low <= high && low.real() < f64::INFINITY && high.real() > f64::NEG_INFINITY
}

/// ‖w‖, scaled by the largest entry where plain squares would leave the range of a double.
fn norm<T: Real>(w: &[T]) -> f64 {
    let squares = w.iter().map(|x| x.real() * x.real()).sum::<f64>();
    if (1e-280..=1e280).contains(&squares) {
        return squares.sqrt();
    }
    let largest = w.iter().fold(0.0, |m, x| f64::max(m, x.real().abs()));
    match largest {
        0.0 => 0.0,
        _ => largest * w.iter().map(|x| (x.real() / largest).powi(2)).sum::<f64>().sqrt(),
    }
}
