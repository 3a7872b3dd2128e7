//! Softmax and cross-entropy.

use super::super::Pick;
use super::super::arithmetic::Arithmetic;
use super::super::lanes::{Few, Lanes};

/// `e^x` for `x ≤ 0`, to two units in the last place. NaN stays NaN; below -87 the result stays e^-87.
///
/// Written out so that the bits do not depend on the machine's libm and it works on vectors: `x = k·ln 2 + r`, `e^r`
/// by the minimax polynomial of Cephes on |r| ≤ ln 2 / 2, and `2^k` added to the exponent.
#[inline(always)]
pub fn exp<L: Lanes>(x: L) -> L {
    const MAGIC: f32 = 12_582_912.0; // 1.5·2^23: adding it leaves the rounded integer in the low bits
    let x = x.at_least(L::all(-87.0));
    let shifted = x.madd(L::all(std::f32::consts::LOG2_E), L::all(MAGIC));
    let k = shifted.minus(L::all(MAGIC));
    let r = k.madd(L::all(-0.693_359_4), x);
    let r = k.madd(L::all(2.121_944_4e-4), r);
    let mut p = L::all(1.987_569_1e-4);
    for c in [1.398_199_9e-3, 8.333_452e-3, 4.166_579_6e-2, 1.666_666_5e-1, 0.5, 1.0, 1.0] {
        p = p.madd(r, L::all(c));
    }
    p.times(shifted.power_of_two())
}

/// `e^x` of one number.
#[inline(always)]
fn exp_of<A: Arithmetic>(x: f32) -> f32 {
    exp(Few::<A, 1>::one(x)).number()
}

/// Replaces each row of `z` by its softmax. `log_sums[i]` gets `log Σ_j e^{z_ij}`, from which the loss of any label
/// follows.
///
/// The 1 of the largest entry is left out of the sum and added by `ln_1p`, so that the loss of a row whose label is
/// almost certain keeps its digits.
#[inline(always)]
pub fn softmax<A: Arithmetic>(z: &mut [f32], width: usize, log_sums: &mut [f64]) {
    for (row, log_sum) in z.chunks_exact_mut(width).zip(log_sums) {
        let mut at = 0;
        for j in 1..width {
            at = if row[j] > row[at] { j } else { at };
        }
        let max = row[at];
        for v in row.iter_mut() {
            *v = exp_of::<A>(*v - max);
        }
        let rest = row[..at].iter().chain(&row[at + 1..]).sum::<f32>();
        // The largest is 1, or NaN for a row with an infinite or undefined entry; then all that follows is NaN too.
        let largest = row[at];
        for v in row.iter_mut() {
            *v /= largest + rest;
        }
        *log_sum = f64::from(max) + f64::from(largest - 1.0) + f64::from(rest).ln_1p();
    }
}

/// From logits to the gradient of the mean cross-entropy: row `i` of `z` becomes `share·(softmax(z_i) − onehot)`, with
/// the label `labels[pick[i]]`, which must be a column. Returns the sum of the cross-entropies of the rows.
#[inline(always)]
pub fn cross_entropy<A: Arithmetic>(z: &mut [f32], width: usize, labels: &[i32], pick: Pick<'_>, share: f32) -> f64 {
    match width {
        1 => cross_entropy_narrow::<A, 1>(z, labels, pick, share),
        2 => cross_entropy_narrow::<A, 2>(z, labels, pick, share),
        3 => cross_entropy_narrow::<A, 3>(z, labels, pick, share),
        4 => cross_entropy_narrow::<A, 4>(z, labels, pick, share),
        5 => cross_entropy_narrow::<A, 5>(z, labels, pick, share),
        6 => cross_entropy_narrow::<A, 6>(z, labels, pick, share),
        7 => cross_entropy_narrow::<A, 7>(z, labels, pick, share),
        8 => cross_entropy_narrow::<A, 8>(z, labels, pick, share),
        _ => cross_entropy_wide::<A>(z, width, labels, pick, share),
    }
}

/// Rows whose losses are added at once; a multiple of the lanes of any vector.
const ROWS: usize = 16;

/// A sum of losses, sixteen at a time. Each is a number and a logarithm: `x_i + log(1 + r_i)` with `r_i ≥ 0`.
///
/// The logarithms are taken once, of a product. The product is stored minus 1, so that small `r_i` keep their digits,
/// and there are sixteen products, so that each waits only for itself.
struct Losses {
    logs: f64,
    products_less_one: [f64; ROWS],
    numbers: [f64; ROWS],
}

impl Losses {
    const NONE: Losses = Losses { logs: 0.0, products_less_one: [0.0; ROWS], numbers: [0.0; ROWS] };
    /// The logarithm is taken when a product exceeds this. Times 2^31 classes, sixteen such products are still finite.
    const MUCH: f64 = 1e9;

    #[inline(always)]
    fn add(&mut self, numbers: &[f32; ROWS], rests: &[f32; ROWS]) {
        let mut largest = 0;
        for i in 0..ROWS {
            let (product, rest) = (&mut self.products_less_one[i], f64::from(rests[i]));
            *product += rest + *product * rest;
            // The bits of non-negative numbers keep their order, and NaN is above them all.
            largest = u64::max(largest, product.to_bits());
            self.numbers[i] += f64::from(numbers[i]);
        }
        if largest > Self::MUCH.to_bits() {
            self.take_logarithm();
        }
    }

    #[inline(never)]
    fn take_logarithm(&mut self) {
        let products = std::mem::take(&mut self.products_less_one);
        self.logs += products.into_iter().fold(0.0, |all, product| all + product + all * product).ln_1p();
    }

    fn total(mut self) -> f64 {
        self.take_logarithm();
        self.numbers.iter().sum::<f64>() + self.logs
    }
}

/// For few classes: a vector per class, with a lane for each of sixteen rows.
#[inline(always)]
fn cross_entropy_narrow<A: Arithmetic, const C: usize>(
    z: &mut [f32],
    labels: &[i32],
    pick: Pick<'_>,
    share: f32,
) -> f64 {
    let mut sum = Losses::NONE;
    for (block, rows) in z.chunks_mut(ROWS * C).enumerate() {
        let count = rows.len() / C;
        let mut y = [0; ROWS];
        for i in 0..count {
            y[i] = labels[pick.at(block * ROWS + i)];
        }
        let (mut numbers, mut rests) = ([0f32; ROWS], [0f32; ROWS]);
        // The last rows are padded and processed by the same code: a training step uses almost as much code as the
        // instruction cache holds.
        let mut padded = [[0f32; C]; ROWS];
        let whole = match count == ROWS {
            true => &mut *rows,
            false => {
                padded.as_flattened_mut()[..rows.len()].copy_from_slice(rows);
                padded.as_flattened_mut()
            }
        };
        cross_entropy_beside::<A::Lanes, C>(whole, &y, share, (&mut numbers, &mut rests));
        if count < ROWS {
            rows.copy_from_slice(&padded.as_flattened()[..rows.len()]);
            numbers[count..].fill(0.0);
            rests[count..].fill(0.0);
        }
        sum.add(&numbers, &rests);
    }
    sum.total()
}

/// Replaces [`ROWS`] rows of C logits by their gradients; returns what [`Losses`] takes.
#[inline(always)]
fn cross_entropy_beside<L: Lanes, const C: usize>(
    rows: &mut [f32],
    y: &[i32; ROWS],
    share: f32,
    (numbers, rests): (&mut [f32; ROWS], &mut [f32; ROWS]),
) {
    let mut gradients = [[0f32; ROWS]; C];
    for i in (0..ROWS).step_by(L::N) {
        let loss = (&mut numbers[i..], &mut rests[i..]);
        lanes_of_cross_entropy::<L, C>(&rows[i * C..], &y[i..], share, i, &mut gradients, loss);
    }
    for (i, row) in rows.as_chunks_mut::<C>().0.iter_mut().enumerate().take(ROWS) {
        for j in 0..C {
            row[j] = gradients[j][i];
        }
    }
}

/// Processes as many rows as there are lanes. Column j of their gradients goes to `gradients[j]`, from place `to` on.
#[inline(always)]
fn lanes_of_cross_entropy<L: Lanes, const C: usize>(
    rows: &[f32],
    y: &[i32],
    share: f32,
    to: usize,
    gradients: &mut [[f32; ROWS]; C],
    (numbers, rests): (&mut [f32], &mut [f32]),
) {
    let mut e = [L::all(0.0); C];
    for j in 0..C {
        e[j] = L::every::<C>(&rows[j..]);
    }
    let (mut max, mut at, mut logit) = (e[0], L::all(0.0), e[0]);
    for j in 1..C {
        let larger = e[j].above(max);
        at = at.but(larger, L::all(j as f32));
        max = max.but(larger, e[j]);
        logit = logit.but(L::is(y, j as i32), e[j]);
    }
    // The 1 of the largest entry is left out of the sum and added by the logarithm of 1 + x, so that the loss of a row
    // whose label is almost certain keeps its digits.
    let zero = L::all(0.0);
    let (mut rest, mut one, mut others) = (zero, zero, zero);
    for j in 0..C {
        e[j] = exp(e[j].minus(max));
        let largest = at.equal(L::all(j as f32));
        rest = rest.plus(e[j].but(largest, zero));
        one = one.but(largest, e[j]);
        others = others.plus(e[j].but(L::is(y, j as i32), zero));
    }
    let scale = L::all(share).over(one.plus(rest));
    for j in 0..C {
        scale.times(e[j].but(L::is(y, j as i32), zero.minus(others))).write(&mut gradients[j][to..]);
    }
    max.minus(logit).plus(one.minus(L::all(1.0))).write(numbers);
    rest.write(rests);
}

#[inline(always)]
fn cross_entropy_wide<A: Arithmetic>(z: &mut [f32], width: usize, labels: &[i32], pick: Pick<'_>, share: f32) -> f64 {
    let mut sum = Losses::NONE;
    for (block, rows) in z.chunks_mut(ROWS * width).enumerate() {
        let (mut numbers, mut rests) = ([0f32; ROWS], [0f32; ROWS]);
        for (i, row) in rows.chunks_exact_mut(width).enumerate() {
            let y = labels[pick.at(block * ROWS + i)] as usize;
            let mut at = 0;
            for j in 1..width {
                at = if row[j] > row[at] { j } else { at };
            }
            let (max, logit) = (row[at], row[y]);
            let mut rest = 0.0;
            for j in 0..width {
                row[j] = exp_of::<A>(row[j] - max);
            }
            for j in 0..width {
                rest += if j == at { 0.0 } else { row[j] };
            }
            (numbers[i], rests[i]) = (max - logit + (row[at] - 1.0), rest);
            let total = row[at] + rest;
            let others = if y == at { rest } else { total - row[y] };
            let scale = share / total;
            for j in 0..width {
                row[j] *= scale;
            }
            row[y] = -others * scale;
        }
        sum.add(&numbers, &rests);
    }
    sum.total()
}
