//! Sample sizes from a tail C·exp(-τN): the probability that one of T gradients has an error of δ or more is at most
//! T·C·exp(-τ(δ)N).

use super::{check_count, check_epsilon, check_positive};
use crate::error::{Error, ForThe, Result, try_reserve_exact};

/// The smallest N ≥ 1 with T·C·exp(-τN) ≤ ε.
pub fn sample_size(tau: f64, c: f64, t: usize, epsilon: f64) -> Result<usize> {
    check_positive("tau", tau)?;
    check_epsilon(epsilon)?;
    let log_odds = log_odds(c, t)?;
    let n = ((log_odds - epsilon.ln()) / tau).ceil().max(1.0);
    // Beyond 2^53 a double does not represent every integer.
    if n > ((1u64 << 53).min(usize::MAX as u64)) as f64 {
        return Err(Error::InvalidArgument(format!("tau = {tau}: a sample of {n:e} nodes is too large")));
    }
    // Corrects a quotient that rounding moved past an integer, so that this function inverts `epsilon`.
    let enough = |n: f64| chance(log_odds, tau, n) <= epsilon;
    let n = match (n > 1.0 && enough(n - 1.0), enough(n)) {
        (true, _) => n - 1.0,
        (_, true) => n,
        _ => n + 1.0,
    };
    Ok(n as usize)
}

/// The ε that N draws achieve, at most 1; 0 if it is below the smallest double.
pub fn epsilon(tau: f64, c: f64, t: usize, sample_size: usize) -> Result<f64> {
    check_positive("tau", tau)?;
    check_size(sample_size)?;
    Ok(chance(log_odds(c, t)?, tau, sample_size as f64).min(1.0))
}

/// The smallest relative error δ that N draws keep with probability 1 - ε, from fits at several δ in ascending order.
///
/// Between two fits the margin τN - log(TC/ε) is assumed to be linear in δ. Below the first δ nothing is known, so the
/// result is at least `deltas[0]`.
pub fn delta(deltas: &[f64], cs: &[f64], taus: &[f64], t: usize, epsilon: f64, sample_size: usize) -> Result<f64> {
    check_count(t)?;
    check_epsilon(epsilon)?;
    check_size(sample_size)?;
    if deltas.is_empty() {
        return Err(Error::InvalidArgument("count = 0: there is no fit".to_string()));
    }
    let mut margins = Vec::new();
    try_reserve_exact(&mut margins, deltas.len()).for_the("relative errors")?;
    for (at, ((&delta, &c), &tau)) in deltas.iter().zip(cs).zip(taus).enumerate() {
        check_positive(&format!("deltas[{at}]"), delta)?;
        check_positive(&format!("cs[{at}]"), c)?;
        check_positive(&format!("taus[{at}]"), tau)?;
        if at > 0 && delta <= deltas[at - 1] {
            return Err(Error::entry("deltas", at, delta, format_args!("is not above deltas[{}]", at - 1)));
        }
        let (n, log_odds) = (sample_size as f64, log_odds(c, t)?);
        let margin = tau * n - (log_odds - epsilon.ln());
        // Has the sign that `sample_size` would find, whatever rounding does.
        margins.push(if chance(log_odds, tau, n) <= epsilon {
            margin.max(0.0)
        } else {
            margin.min(-f64::MIN_POSITIVE)
        });
    }
    // The first δ from which on all margins are met.
    match margins.iter().rposition(|&margin| margin < 0.0) {
        None => Ok(deltas[0]),
        Some(last) if last + 1 == deltas.len() => {
            let text = format!("sample_size = {sample_size}: too few draws even for deltas[{last}] = {}", deltas[last]);
            Err(Error::InvalidArgument(text))
        }
        Some(i) => {
            let share = margins[i] / (margins[i] - margins[i + 1]);
            Ok(deltas[i] + share * (deltas[i + 1] - deltas[i]))
        }
    }
}

/// log(TC), without forming a product that could overflow.
fn log_odds(c: f64, t: usize) -> Result<f64> {
    check_positive("c", c)?;
    check_count(t)?;
    Ok((t as f64).ln() + c.ln())
}

/// T·C·exp(-τN).
fn chance(log_odds: f64, tau: f64, n: f64) -> f64 {
    (log_odds - tau * n).exp()
}

fn check_size(sample_size: usize) -> Result<()> {
    match sample_size {
        0 => Err(Error::InvalidArgument("sample_size = 0: sample_size >= 1 does not hold".to_string())),
        _ => Ok(()),
    }
}
