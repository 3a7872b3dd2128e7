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

#[cfg(test)]
mod tests {
    use super::*;

    /// The gradients for which Cauchy and Schwarz's inequality is an equality: g_i ∝ (β1/β2)^(k − i).
    #[test]
    fn no_gradients_make_the_first_moment_longer_than_the_bound_and_some_come_close() {
        for [first, second] in [[0.9, 0.999], [0.9, 0.82], [0.5, 0.9], [0.0, 0.99], [0.95, 0.91], [0.99, 0.999]] {
            let betas = Betas::new(first, second).unwrap();
            let k = 2000;
            let (mut m, mut v) = (0.0, 0.0);
            for i in 1..=k {
                let g = f64::powi(first / second, k - i);
                m = first * m + (1.0 - first) * g;
                v = second * v + (1.0 - second) * g * g;
            }
            let share = m / (f64::sqrt(v) * betas.ratio());
            assert!(share <= 1.0 && share > 0.9, "{first}, {second}: {share}");
        }
        assert_eq!(Betas::DEFAULT.bound(Betas::DEFAULT.ratio()), 100.0);
    }
}
