//! The bounds of the theorems: how far SGD can be from the optimum when its gradients have a relative error of δ.
//!
//! l is the modulus of strong convexity, L the Lipschitz constant of the gradient, G a bound on its norm over the set
//! that iterates stay in, and T the number of iterates: w_1 is the start. Each bound checks the conditions of its
//! theorem.

use super::{check_count, check_not_negative, check_positive};
use crate::error::{Error, Result};

/// ‖w_T − w*‖² for a strongly convex objective and steps 1/((l − δ)k).
///
/// G²·[(1+δ)²/((l−δ)²T) + δ/(l−δ)]; at T = 2 the first term counts twice, because the induction behind it has a
/// negative coefficient at its first step.
pub fn strongly_convex_iterate(l: f64, big_g: f64, delta: f64, t: usize) -> Result<f64> {
    check_strongly_convex(l, big_g, delta, t)?;
    let first = (big_g * ((1.0 + delta) / (l - delta))).powi(2) / t as f64;
    finite(if t == 2 { 2.0 * first } else { first } + big_g * (big_g * (delta / (l - delta))))
}

/// f(w̄_T) − f* under the same conditions, where w̄_T is the mean of the first T iterates.
pub fn strongly_convex_average(l: f64, big_g: f64, delta: f64, t: usize) -> Result<f64> {
    check_strongly_convex(l, big_g, delta, t)?;
    let t = t as f64;
    let falls = (1.0 + delta) / (l - delta) * (1.0 + delta) * ((1.0 + t.ln()) / t);
    finite(0.5 * big_g * (big_g * (delta + falls)))
}

/// f(w_T) − f* under the same conditions, if the gradient is also L-Lipschitz and vanishes at w*.
pub fn strongly_convex_value(l: f64, big_l: f64, big_g: f64, delta: f64, t: usize) -> Result<f64> {
    let iterate = strongly_convex_iterate(l, big_g, delta, t)?;
    check_positive("big_l", big_l)?;
    if l > big_l {
        return Err(Error::InvalidArgument(format!("l = {l}: l <= big_l = {big_l} does not hold")));
    }
    finite(0.5 * big_l * iterate)
}

/// ‖w_T − w*‖² for a strongly convex objective and the constant step c < 1/(2l − δ).
pub fn constant_step(l: f64, big_g: f64, delta: f64, step: f64, t: usize, distance_squared: f64) -> Result<f64> {
    check_strongly_convex(l, big_g, delta, t)?;
    check_not_negative("initial_distance_squared", distance_squared)?;
    check_positive("step", step)?;
    if step >= 1.0 / (2.0 * l - delta) {
        let text = format!("step = {step}: step < 1/(2 l - delta) = {} does not hold", 1.0 / (2.0 * l - delta));
        return Err(Error::InvalidArgument(text));
    }
    let stays = big_g * (big_g * ((delta + step * (1.0 + delta).powi(2)) / (2.0 * l - delta)));
    finite(power(step * (2.0 * l - delta), t - 1) * distance_squared + stays)
}

/// f(w̄_T) − f* for a convex objective on a set of this diameter, steps c/√k and relative errors of at most ρ/√T.
///
/// 1/(2√T)·[(1/c + ρ)D² + G²(ρ + 2c(1 + ρ/√T)²)]; the 2 comes from Σ 1/√k ≤ 2√T − 1.
pub fn convex_average(big_g: f64, diameter: f64, rho: f64, c: f64, t: usize) -> Result<f64> {
    check_positive("big_g", big_g)?;
    check_positive("diameter", diameter)?;
    check_not_negative("rho", rho)?;
    check_positive("c", c)?;
    check_count(t)?;
    let root = (t as f64).sqrt();
    let start = diameter * (diameter / c + rho * diameter);
    let along = big_g * (big_g * (rho + 2.0 * c * (1.0 + rho / root).powi(2)));
    finite((start + along) / (2.0 * root))
}

/// min_k ‖∇f(w_k)‖² for an L-smooth objective, steps D_f/((1+δ)G√T), where D_f = √(2(f(w_1) − f*)/L).
pub fn nonconvex_gradient(big_l: f64, big_g: f64, d_f: f64, delta: f64, t: usize) -> Result<f64> {
    check_positive("big_l", big_l)?;
    check_positive("big_g", big_g)?;
    check_positive("d_f", d_f)?;
    check_count(t)?;
    if !(0.0..1.0).contains(&delta) {
        return Err(Error::InvalidArgument(format!("delta = {delta}: 0 <= delta < 1 does not hold")));
    }
    // The smallest times the largest first, so that no intermediate product is 0 or infinite.
    let mut factors = [big_l, big_g, d_f];
    factors.sort_by(f64::total_cmp);
    finite((1.0 + delta) / (1.0 - delta) * (factors[0] * factors[2] / (t as f64).sqrt() * factors[1]))
}

/// f(w_T) − f* for a strongly convex and smooth objective on all of R^d, steps 1/L and absolute errors δ_1 … δ_{T−1}.
///
/// (1−l/L)^(T−1)·gap + (1/2L) Σ (1−l/L)^(T−1−i) δ_i², summed by Horner's rule.
pub fn linear(l: f64, big_l: f64, deltas: &[f64], initial_gap: f64) -> Result<f64> {
    check_positive("l", l)?;
    check_positive("big_l", big_l)?;
    if l >= big_l {
        return Err(Error::InvalidArgument(format!("l = {l}: l < big_l = {big_l} does not hold")));
    }
    check_not_negative("initial_gap", initial_gap)?;
    if let Some(at) = deltas.iter().position(|d| !(d.is_finite() && *d >= 0.0)) {
        return Err(Error::entry("deltas", at, deltas[at], "is not a finite number >= 0"));
    }
    // 1 - l/L loses the digits of l/L below 2^-53, and every step repeats the loss; l/L loses those of L - l.
    let shrink = |gap: f64| if l < 0.5 * big_l { gap - l / big_l * gap } else { (big_l - l) / big_l * gap };
    finite(deltas.iter().fold(initial_gap, |gap, delta| shrink(gap) + 0.5 * delta * (delta / big_l)))
}

/// (1 − x)^n for 0 < x < 1, or an x that rounding made 1. Exact to about |log|·2^-52, also where 1 − x rounds to 1.
fn power(x: f64, n: usize) -> f64 {
    match n {
        0 => 1.0,
        _ => (n as f64 * (-x.min(1.0)).ln_1p()).exp(),
    }
}

fn check_strongly_convex(l: f64, big_g: f64, delta: f64, t: usize) -> Result<()> {
    check_positive("l", l)?;
    check_positive("big_g", big_g)?;
    check_count(t)?;
    match delta >= 0.0 && delta < l {
        true => Ok(()),
        false => Err(Error::InvalidArgument(format!("delta = {delta}: 0 <= delta < l = {l} does not hold"))),
    }
}

fn finite(bound: f64) -> Result<f64> {
    match bound.is_finite() {
        true => Ok(bound),
        false => Err(Error::InvalidArgument(format!("the bound is {bound}: it exceeds the range of a double"))),
    }
}
