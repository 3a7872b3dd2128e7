//! Norms: of the columns of a row, and of the rows of a column.

use super::columns::Sums;
use super::join::View;
use crate::error::{Result, try_resize};
use crate::kernel::Threads;

/// Added to every variance.
const EPSILON: f64 = 1e-5;
/// The share of a batch in the running statistics.
const MOMENTUM: f64 = 0.1;

/// What a norm keeps of a forward pass for its gradient, and of a batch for its running statistics.
#[derive(Default)]
pub struct Statistics {
    /// Means, of rows or of columns.
    mean: Vec<f32>,
    /// 1/√(variance + ε), of rows or of columns.
    scale: Vec<f32>,
    /// Variances of columns, without correction.
    variance: Vec<f64>,
    rows: usize,
}

/// Scale and shift of each column.
#[derive(Clone, Copy)]
pub struct Affine<'a> {
    /// w
    pub weight: &'a [f32],
    /// b
    pub bias: &'a [f32],
}

/// `out ← (x − mean of the row) / √(its variance + ε) · w + b`.
pub fn layer(
    threads: &Threads,
    x: View<'_>,
    Affine { weight, bias }: Affine<'_>,
    statistics: &mut Statistics,
    out: &mut [f32],
) -> Result<()> {
    let width = x.width;
    let rows = out.len() / width;
    try_resize(&mut statistics.mean, rows)?;
    try_resize(&mut statistics.scale, rows)?;
    let (mean, scale) = (&mut statistics.mean[..], &mut statistics.scale[..]);
    const PIECE: usize = 256;
    threads.each_pair((rows, width), (&mut *mean, PIECE), (&mut *scale, PIECE), |piece, mean, scale| {
        for (i, (mean, scale)) in mean.iter_mut().zip(scale).enumerate() {
            let (middle, variance) = moments(x.row(piece * PIECE + i));
            (*mean, *scale) = (middle as f32, (1.0 / (variance + EPSILON).sqrt()) as f32);
        }
    });
    let (mean, scale) = (&*mean, &*scale);
    threads.fill_rows(rows * width, width, out, |i, row| {
        for (((y, &x), &w), &b) in row.iter_mut().zip(x.row(i)).zip(weight).zip(bias) {
            *y = (x - mean[i]) * scale[i] * w + b;
        }
    });
    Ok(())
}

/// Mean and variance of some numbers.
fn moments(row: &[f32]) -> (f64, f64) {
    let count = row.len() as f64;
    let mean = row.iter().map(|&x| f64::from(x)).sum::<f64>() / count;
    let variance = row.iter().map(|&x| (f64::from(x) - mean).powi(2)).sum::<f64>() / count;
    (mean, variance)
}

/// The gradients by w and b of either norm: `Σ g·x̂` and `Σ g`.
pub fn affine_gradient(
    threads: &Threads,
    (x, by_rows): (View<'_>, bool),
    statistics: &Statistics,
    g: &[f32],
    sums: &mut Sums,
    [weight, bias]: [&mut [f32]; 2],
) -> Result<()> {
    let width = x.width;
    let Statistics { mean, scale, .. } = statistics;
    let of = |i: usize, c: usize| if by_rows { i } else { c };
    let sums = sums.of(threads, (g.len() / width, 2 * width), |i, sums| {
        let (to_weight, to_bias) = sums.split_at_mut(width);
        let row = x.row(i).iter().zip(&g[i * width..]).zip(to_weight).zip(to_bias);
        for (c, (((&x, &g), to_weight), to_bias)) in row.enumerate() {
            let normed = (x - mean[of(i, c)]) * scale[of(i, c)];
            *to_weight += f64::from(g) * f64::from(normed);
            *to_bias += f64::from(g);
        }
    })?;
    weight.iter_mut().zip(&sums[..width]).for_each(|(to, &sum)| *to = sum as f32);
    bias.iter_mut().zip(&sums[width..]).for_each(|(to, &sum)| *to = sum as f32);
    Ok(())
}

/// The gradient by the input of [`layer`].
pub fn layer_gradient(
    threads: &Threads,
    x: View<'_>,
    weight: &[f32],
    statistics: &Statistics,
    g: &[f32],
    out: &mut [f32],
) {
    let width = x.width;
    let Statistics { mean, scale, .. } = statistics;
    threads.fill_rows(out.len(), width, out, |i, row| {
        let (mut sum, mut product) = (0.0, 0.0);
        for ((&x, &g), &w) in x.row(i).iter().zip(&g[i * width..]).zip(weight) {
            let passed = f64::from(g) * f64::from(w);
            sum += passed;
            product += passed * f64::from((x - mean[i]) * scale[i]);
        }
        let (sum, product) = (sum / width as f64, product / width as f64);
        for (((to, &x), &g), &w) in row.iter_mut().zip(x.row(i)).zip(&g[i * width..]).zip(weight) {
            let normed = f64::from((x - mean[i]) * scale[i]);
            *to = (f64::from(scale[i]) * (f64::from(g) * f64::from(w) - sum - normed * product)) as f32;
        }
    });
}

/// `out ← (x − mean of the column) / √(its variance + ε) · w + b`, over the rows at hand.
pub fn batch(
    threads: &Threads,
    x: View<'_>,
    Affine { weight, bias }: Affine<'_>,
    (statistics, sums): (&mut Statistics, &mut Sums),
    out: &mut [f32],
) -> Result<()> {
    let (width, rows) = (x.width, out.len() / x.width);
    try_resize(&mut statistics.mean, width)?;
    try_resize(&mut statistics.scale, width)?;
    try_resize(&mut statistics.variance, width)?;
    statistics.rows = rows;
    let Statistics { mean, scale, variance, .. } = statistics;
    let totals = sums.of(threads, (rows, width), |i, sums| {
        sums.iter_mut().zip(x.row(i)).for_each(|(sum, &x)| *sum += f64::from(x));
    })?;
    mean.iter_mut().zip(totals).for_each(|(mean, &total)| *mean = (total / rows as f64) as f32);
    // The means are rounded; the variance is around the exact ones.
    let middle = &*mean;
    let totals = sums.of(threads, (rows, 2 * width), |i, sums| {
        let (squares, rest) = sums.split_at_mut(width);
        for (((square, rest), &x), &mean) in squares.iter_mut().zip(rest).zip(x.row(i)).zip(middle) {
            let from_mean = f64::from(x) - f64::from(mean);
            *square += from_mean * from_mean;
            *rest += from_mean;
        }
    })?;
    for (c, (variance, scale)) in variance.iter_mut().zip(scale.iter_mut()).enumerate() {
        let rest = totals[width + c] / rows as f64;
        *variance = (totals[c] / rows as f64 - rest * rest).max(0.0);
        *scale = (1.0 / (*variance + EPSILON).sqrt()) as f32;
    }
    shift(threads, x, Affine { weight, bias }, (mean, scale), out);
    Ok(())
}

/// The same by running statistics, means and then variances.
pub fn batch_by_running(
    threads: &Threads,
    x: View<'_>,
    affine: Affine<'_>,
    state: &[f32],
    statistics: &mut Statistics,
    out: &mut [f32],
) -> Result<()> {
    let (mean, variance) = state.split_at(x.width);
    try_resize(&mut statistics.scale, x.width)?;
    for (scale, &variance) in statistics.scale.iter_mut().zip(variance) {
        *scale = (1.0 / (f64::from(variance) + EPSILON).sqrt()) as f32;
    }
    shift(threads, x, affine, (mean, &statistics.scale), out);
    Ok(())
}

fn shift(
    threads: &Threads,
    x: View<'_>,
    Affine { weight, bias }: Affine<'_>,
    (mean, scale): (&[f32], &[f32]),
    out: &mut [f32],
) {
    threads.fill_rows(out.len(), x.width, out, |i, row| {
        let columns = x.row(i).iter().zip(weight).zip(bias).zip(mean).zip(scale);
        for (y, ((((&x, &w), &b), &mean), &scale)) in row.iter_mut().zip(columns) {
            *y = (x - mean) * scale * w + b;
        }
    });
}

/// The gradient by the input of [`batch`], from the gradients by w and b.
pub fn batch_gradient(
    threads: &Threads,
    x: View<'_>,
    (weight, by_weight, by_bias): (&[f32], &[f32], &[f32]),
    statistics: &Statistics,
    g: &[f32],
    out: &mut [f32],
) {
    let width = x.width;
    let Statistics { mean, scale, rows, .. } = statistics;
    let share = 1.0 / *rows as f32;
    threads.fill_rows(out.len(), width, out, |i, row| {
        let x = x.row(i);
        for c in 0..width {
            let normed = (x[c] - mean[c]) * scale[c];
            row[c] = weight[c] * scale[c] * (g[i * width + c] - share * (by_bias[c] + normed * by_weight[c]));
        }
    });
}

impl Statistics {
    /// Moves running statistics towards those of the last batch; its variance is corrected, as PyTorch does.
    pub fn commit(&self, state: &mut [f32]) {
        let (mean, variance) = state.split_at_mut(self.mean.len());
        // A variance may be larger than any float, but must stay finite.
        let mix = |old: &mut f32, new: f64| {
            *old = ((1.0 - MOMENTUM) * f64::from(*old) + MOMENTUM * new).min(f64::from(f32::MAX)) as f32;
        };
        mean.iter_mut().zip(&self.mean).for_each(|(old, &new)| mix(old, f64::from(new)));
        let corrected = self.rows as f64 / (self.rows as f64 - 1.0);
        variance.iter_mut().zip(&self.variance).for_each(|(old, &new)| mix(old, corrected * new));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn running_statistics_stay_finite_however_large_a_variance_is() {
        let statistics = Statistics { mean: vec![1e20], scale: vec![0.0], variance: vec![1e40], rows: 2 };
        let mut state = [0.0, 1.0];
        statistics.commit(&mut state);
        assert_eq!(state[1], f32::MAX);
        assert!((state[0] - 1e19).abs() < 1e13);
    }
}
