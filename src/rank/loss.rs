//! The loss of the pairs of one query.

use super::pairs::Span;

/// Where the scores of a query are no further apart than this, quotients of their powers stay in range, and so do products of
/// 16 of those.
const NEAR: f32 = 40.0;

/// The loss of one query. Its scores become the gradient of `share` times the loss. Spans count rows from `base`.
pub(super) fn query_loss(
    spans: &[Span],
    base: usize,
    weight: f64,
    share: f64,
    (scores, powers, sums): (&mut [f32], &mut [f64], &mut [f64]),
) -> f64 {
    sums.fill(0.0);
    let bounds = |(low, high): (f32, f32), &s: &f32| (low.min(s), high.max(s));
    let (low, high) = scores.iter().fold((f32::INFINITY, f32::NEG_INFINITY), bounds);
    let near = high - low <= NEAR && scores.iter().all(|s| s.is_finite());
    if near {
        let middle = f64::from(low + (high - low) / 2.0);
        powers.iter_mut().zip(&*scores).for_each(|(power, &s)| *power = (f64::from(s) - middle).exp());
    }
    let mut loss = 0.0;
    for span in spans {
        let upper = span.upper as usize - base;
        let lower = span.first as usize - base..span.last as usize - base;
        let (span_loss, sum) = match near {
            true => span_of_powers(powers[upper], &powers[lower.clone()], &mut sums[lower]),
            false => span_of_scores(scores[upper], &scores[lower.clone()], &mut sums[lower]),
        };
        loss += span_loss;
        sums[upper] -= sum;
    }
    scores.iter_mut().zip(&*sums).for_each(|(score, sum)| *score = (share * weight * sum) as f32);
    if spans.is_empty() && weight.is_infinite() { f64::NAN } else { weight * loss }
}

/// Σ log(1 + e_j / e_i) and Σ λ over j; λ_j = e_j / (e_i + e_j) is added to `sums`. It takes a division for each pair, and a
/// logarithm for 16 pairs, of the product of their terms.
fn span_of_powers(upper: f64, lower: &[f64], sums: &mut [f64]) -> (f64, f64) {
    const LANES: usize = 8;
    const DEEP: usize = 16;
    let inverse = 1.0 / upper;
    let (mut loss, mut total) = (0.0, 0.0);
    for (lower, sums) in lower.chunks(LANES * DEEP).zip(sums.chunks_mut(LANES * DEEP)) {
        let (mut product, mut sum) = ([1.0; LANES], [0.0; LANES]);
        let mut add = |lane: usize, e: f64, to: &mut f64| {
            let ratio = e * inverse;
            let term = 1.0 + ratio;
            let lambda = ratio / term;
            product[lane] *= term;
            sum[lane] += lambda;
            *to += lambda;
        };
        let (whole, rest) = lower.as_chunks::<LANES>();
        let (whole_sums, rest_sums) = sums.as_chunks_mut::<LANES>();
        for (lower, sums) in whole.iter().zip(whole_sums) {
            (0..LANES).for_each(|lane| add(lane, lower[lane], &mut sums[lane]));
        }
        rest.iter().zip(rest_sums).enumerate().for_each(|(lane, (&e, to))| add(lane, e, to));
        loss += match lower.len() <= DEEP {
            true => product.iter().product::<f64>().ln(),
            false => product.iter().map(|p| p.ln()).sum(),
        };
        total += sum.iter().sum::<f64>();
    }
    (loss, total)
}

/// The same for scores of any distance.
fn span_of_scores(upper: f32, lower: &[f32], sums: &mut [f64]) -> (f64, f64) {
    let (mut loss, mut total) = (0.0, 0.0);
    for (&s, to) in lower.iter().zip(sums) {
        let difference = f64::from(s) - f64::from(upper);
        let small = (-difference.abs()).exp();
        loss += difference.max(0.0) + small.ln_1p();
        let lambda = if difference > 0.0 { 1.0 / (1.0 + small) } else { small / (1.0 + small) };
        *to += lambda;
        total += lambda;
    }
    (loss, total)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn powers_and_scores_give_the_same_loss() {
        for count in [1, 5, 8, 16, 17, 128, 300] {
            let lower: Vec<f32> = (0..count).map(|i| 39.0 * (i as f32 * 0.7).sin()).collect();
            let powers: Vec<f64> = lower.iter().map(|&s| f64::from(s).exp()).collect();
            let (mut first, mut second) = (vec![0.5; count], vec![0.5; count]);
            let by_powers = span_of_powers(0.25f64.exp(), &powers, &mut first);
            let by_scores = span_of_scores(0.25, &lower, &mut second);
            assert!((by_powers.0 - by_scores.0).abs() <= 1e-12 * by_scores.0, "{count}: {by_powers:?} {by_scores:?}");
            assert!((by_powers.1 - by_scores.1).abs() <= 1e-12 * by_scores.1, "{count}: {by_powers:?} {by_scores:?}");
            first.iter().zip(&second).for_each(|(a, b)| assert!((a - b).abs() <= 1e-14));
        }
    }
}
