//! The numbers of Adam.

use crate::error::{Error, Result};

/// Adam's ε.
pub const EPSILON: f64 = 1e-8;
/// The smallest ε: above the moments whose squares are 0 in float.
pub const LEAST_EPSILON: f64 = 1e-16;

/// The decays of the moments, β1 and β2.
#[derive(Clone, Copy, Debug)]
pub struct Betas(pub [f64; 2]);

impl Betas {
    /// β = 0.9, 0.999.
    pub const DEFAULT: Self = Betas([0.9, 0.999]);

    /// Checks 0 ≤ β1 and β1² < β2 < 1, also as floats. Then |m| has a bound by √v; see [`Betas::ratio`].
    pub fn new(first: f64, second: f64) -> Result<Self> {
        if !(first >= 0.0 && (first as f32) < 1.0) {
            return Err(Error::InvalidArgument(format!("beta1 = {first} is outside [0, 1)")));
        }
        if !(first * first < second && (second as f32) < 1.0) {
            return Err(Error::InvalidArgument(format!("beta2 = {second} is outside (beta1², 1), beta1 = {first}")));
        }
        Ok(Betas([first, second]))
    }

    /// A bound of |m|/√v. By Cauchy and Schwarz, m² ≤ v·(1 − β1)²/(1 − β2) · Σ (β1²/β2)^i; the rest is for rounding.
    pub fn ratio(self) -> f64 {
        let [first, second] = self.0;
        1.1 * (1.0 - first) / ((1.0 - second) * (1.0 - first * first / second)).sqrt()
    }

    /// A bound of |m̂|/(√v̂ + ε) by that of |m|/√v: the corrections contribute at most 1/(1 − β1).
    pub fn bound(self, ratio: f64) -> f64 {
        f64::max(ratio / (1.0 - self.0[0]), 100.0)
    }
}

/// Checks ε.
pub fn check_epsilon(epsilon: f64) -> Result<f64> {
    match epsilon.is_finite() && epsilon >= LEAST_EPSILON {
        true => Ok(epsilon),
        false => {
            Err(Error::InvalidArgument(format!("epsilon = {epsilon} is not a finite number >= {LEAST_EPSILON:e}")))
        }
    }
}
