//! Softmax and cross-entropy.

use super::super::Pick;
use super::super::arithmetic::Arithmetic;

/// `e^x` for `x ≤ 0`, to two units in the last place; NaN stays NaN, and below -87 the answer stays at e^-87.
///
/// By hand, so that the bits do not depend on the machine's libm and the loop over a row can be vectorised:
/// `x = k·ln 2 + r`, `e^r` by Cephes' minimax polynomial on |r| ≤ ln 2 / 2, and `2^k` put into the exponent.
#[inline(always)]
fn exp<A: Arithmetic>(x: f32) -> f32 {
    const MAGIC: f32 = 12_582_912.0; // 1.5·2^23: adding it leaves the rounded integer in the low bits
    let x = if x < -87.0 { -87.0 } else { x };
    let shifted = A::madd(x, std::f32::consts::LOG2_E, MAGIC);
    let k = shifted - MAGIC;
    let r = A::madd(k, -0.693_359_4, x);
    let r = A::madd(k, 2.121_944_4e-4, r);
    let mut p = 1.987_569_1e-4;
    for c in [1.398_199_9e-3, 8.333_452e-3, 4.166_579_6e-2, 1.666_666_5e-1, 0.5, 1.0, 1.0] {
        p = A::madd(p, r, c);
    }
    p * f32::from_bits((shifted.to_bits() << 23).wrapping_add(0x3f80_0000))
}

/// Each row of `z` becomes its softmax; `log_sums[i]` gets `log Σ_j e^{z_ij}`, from which the loss of any label follows.
///
/// The largest entry's own 1 is left out of the sum and put back by `ln_1p`, so that the loss of a row whose label is
/// all but certain keeps its digits.
#[inline(always)]
pub fn softmax<A: Arithmetic>(z: &mut [f32], width: usize, log_sums: &mut [f64]) {
    for (row, log_sum) in z.chunks_exact_mut(width).zip(log_sums) {
        let mut at = 0;
        for j in 1..width {
            at = if row[j] > row[at] { j } else { at };
        }
        let max = row[at];
        for v in row.iter_mut() {
            *v = exp::<A>(*v - max);
        }
        let rest = row[..at].iter().chain(&row[at + 1..]).sum::<f32>();
        // The largest is 1, or NaN for a row with an infinite or undefined entry; then so is all that follows.
        let largest = row[at];
        for v in row.iter_mut() {
            *v /= largest + rest;
        }
        *log_sum = f64::from(max) + f64::from(largest - 1.0) + f64::from(rest).ln_1p();
    }
}

/// From logits to the gradient of the mean cross-entropy by them: row `i` of `z` becomes `share·(softmax(z_i) − onehot)`,
/// the label being `labels[pick[i]]`, which must be a column. Gives the sum of the rows' cross-entropies.
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

/// Rows whose softmax is computed at once.
const BESIDE: usize = 16;

/// A sum of logarithms, `Σ log(1 + x_i)` for `x_i ≥ 0`, taken as the logarithm of a product. The product is kept less 1, so
/// that small `x_i` keep their digits; and there are several, each of which waits for itself alone.
struct LogSum {
    logs: f64,
    products_less_one: [f64; 4],
}

impl LogSum {
    const NONE: LogSum = LogSum { logs: 0.0, products_less_one: [0.0; 4] };

    #[inline(always)]
    fn add(&mut self, x: f64, i: usize) {
        let product = &mut self.products_less_one[i % 4];
        *product += x + *product * x;
        if *product > 1e200 {
            self.logs += product.ln_1p();
            *product = 0.0;
        }
    }

    #[inline(always)]
    fn total(self) -> f64 {
        self.products_less_one.iter().fold(self.logs, |sum, product| sum + product.ln_1p())
    }
}

/// Few classes: a vector per class, with a lane for each of [`BESIDE`] rows.
#[inline(always)]
fn cross_entropy_narrow<A: Arithmetic, const C: usize>(
    z: &mut [f32],
    labels: &[i32],
    pick: Pick<'_>,
    share: f32,
) -> f64 {
    let mut sum = LogSum::NONE;
    let mut linear = 0.0;
    for (block, rows) in z.chunks_mut(BESIDE * C).enumerate() {
        let count = rows.len() / C;
        let (mut e, mut y) = ([[0f32; BESIDE]; C], [0i32; BESIDE]);
        for i in 0..count {
            y[i] = labels[pick.at(block * BESIDE + i)];
            for j in 0..C {
                e[j][i] = rows[i * C + j];
            }
        }
        let (mut max, mut at, mut logit) = (e[0], [0i32; BESIDE], e[0]);
        for j in 1..C {
            for i in 0..BESIDE {
                let larger = e[j][i] > max[i];
                at[i] = if larger { j as i32 } else { at[i] };
                max[i] = if larger { e[j][i] } else { max[i] };
                logit[i] = if y[i] == j as i32 { e[j][i] } else { logit[i] };
            }
        }
        // The largest entry's own 1 stays out of the sum and is put back by the logarithm of 1 + x, so that the loss of a
        // row whose label is all but certain keeps its digits.
        let (mut rest, mut one, mut others) = ([0f32; BESIDE], [0f32; BESIDE], [0f32; BESIDE]);
        for j in 0..C {
            for i in 0..BESIDE {
                e[j][i] = exp::<A>(e[j][i] - max[i]);
                let largest = at[i] == j as i32;
                rest[i] += if largest { 0.0 } else { e[j][i] };
                one[i] += if largest { e[j][i] } else { 0.0 };
                others[i] += if y[i] == j as i32 { 0.0 } else { e[j][i] };
            }
        }
        // Chosen by bits, and into another place: otherwise the compiler writes under a mask, which AMD's processors do in
        // microcode.
        let mut scale = [0f32; BESIDE];
        for i in 0..BESIDE {
            scale[i] = share / (one[i] + rest[i]);
        }
        let mut d = [[0f32; BESIDE]; C];
        for j in 0..C {
            for i in 0..BESIDE {
                let label = u32::from(y[i] == j as i32).wrapping_neg();
                d[j][i] = scale[i] * f32::from_bits(e[j][i].to_bits() & !label | (-others[i]).to_bits() & label);
            }
        }
        for i in 0..count {
            linear += f64::from(max[i]) - f64::from(logit[i]) + f64::from(one[i] - 1.0);
            sum.add(f64::from(rest[i]), i);
            for j in 0..C {
                rows[i * C + j] = d[j][i];
            }
        }
    }
    sum.total() + linear
}

#[inline(always)]
fn cross_entropy_wide<A: Arithmetic>(z: &mut [f32], width: usize, labels: &[i32], pick: Pick<'_>, share: f32) -> f64 {
    let mut sum = LogSum::NONE;
    let mut linear = 0.0;
    for (i, row) in z.chunks_exact_mut(width).enumerate() {
        let y = labels[pick.at(i)] as usize;
        let mut at = 0;
        for j in 1..width {
            at = if row[j] > row[at] { j } else { at };
        }
        let max = row[at];
        linear += f64::from(max) - f64::from(row[y]);
        let mut rest = 0.0;
        for j in 0..width {
            row[j] = exp::<A>(row[j] - max);
        }
        for j in 0..width {
            rest += if j == at { 0.0 } else { row[j] };
        }
        linear += f64::from(row[at] - 1.0);
        sum.add(f64::from(rest), i);
        let total = row[at] + rest;
        let others = if y == at { rest } else { total - row[y] };
        let scale = share / total;
        for j in 0..width {
            row[j] *= scale;
        }
        row[y] = -others * scale;
    }
    sum.total() + linear
}
