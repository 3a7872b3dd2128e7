//! Functions of single numbers, and what they let through of a gradient.

use crate::kernel::Threads;
use crate::nn::layers::Activation;

const LEAK: f32 = 0.01;

/// Applies a function to rows of this width, in place.
pub fn apply(activation: Activation, threads: &Threads, width: usize, rows: &mut [f32]) {
    let each = |f: fn(f32) -> f32, rows: &mut [f32]| {
        threads.fill_rows(rows.len(), width, rows, |_, row| row.iter_mut().for_each(|x| *x = f(*x)));
    };
    match activation {
        Activation::Relu => each(rectify, rows),
        Activation::LeakyRelu => each(|x| if x > 0.0 { x } else { LEAK * x }, rows),
        Activation::Elu => each(|x| if x > 0.0 { x } else { x.exp_m1() }, rows),
        Activation::Gelu => each(|x| (f64::from(x) * normal(f64::from(x))) as f32, rows),
        Activation::Tanh => each(f32::tanh, rows),
        Activation::Sigmoid => each(|x| 1.0 / (1.0 + (-x).exp()), rows),
    }
}

/// max(x, 0); what is not a number stays so.
#[inline(always)]
pub fn rectify(x: f32) -> f32 {
    if x < 0.0 { 0.0 } else { x }
}

/// What a rectifier and a dropout after it let through of a gradient: it is multiplied where the result of both is positive.
pub fn dropped_gradient(threads: &Threads, width: usize, (result, scale): (&[f32], f32), rows: &mut [f32]) {
    threads.fill_rows(rows.len(), width, rows, |i, row| {
        row.iter_mut().zip(&result[i * width..]).for_each(|(g, &y)| *g = if y > 0.0 { *g * scale } else { 0.0 });
    });
}

/// Multiplies a gradient by the function's derivative, which is computed from its result, or from its argument for
/// [`Activation::Gelu`].
pub fn gradient(activation: Activation, threads: &Threads, width: usize, from: &[f32], rows: &mut [f32]) {
    let each = |f: fn(f32) -> f32, rows: &mut [f32]| {
        threads.fill_rows(rows.len(), width, rows, |i, row| {
            row.iter_mut().zip(&from[i * width..]).for_each(|(g, &y)| *g *= f(y));
        });
    };
    match activation {
        // A gradient that is not finite must not pass where the derivative is 0.
        Activation::Relu => threads.fill_rows(rows.len(), width, rows, |i, row| {
            row.iter_mut().zip(&from[i * width..]).for_each(|(g, &y)| *g = if y > 0.0 { *g } else { 0.0 });
        }),
        Activation::LeakyRelu => each(|y| if y > 0.0 { 1.0 } else { LEAK }, rows),
        Activation::Elu => each(|y| if y > 0.0 { 1.0 } else { y + 1.0 }, rows),
        Activation::Gelu => each(
            |x| {
                let x = f64::from(x);
                let density = (-0.5 * x * x).exp() / (2.0 * std::f64::consts::PI).sqrt();
                (normal(x) + x * density) as f32
            },
            rows,
        ),
        Activation::Tanh => each(|y| 1.0 - y * y, rows),
        Activation::Sigmoid => each(|y| y * (1.0 - y), rows),
    }
}

/// The distribution function of the standard normal.
fn normal(x: f64) -> f64 {
    0.5 * libm::erfc(-x * std::f64::consts::FRAC_1_SQRT_2)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::Pick;
    use crate::nn::op::join::{self, View};

    #[test]
    fn what_is_not_a_number_stays_so() {
        let threads = Threads::new(1).unwrap();
        use Activation::*;
        for activation in [Relu, LeakyRelu, Elu, Gelu, Tanh, Sigmoid] {
            let mut row = [f32::NAN, -1.0, 2.0];
            apply(activation, &threads, 3, &mut row);
            assert!(row[0].is_nan() && row[1] < 1.0 && row[2] > 0.5, "{activation:?}: {row:?}");
        }
        let (a, b) = ([f32::NAN, 1.0, 2.0], [1.0, f32::NAN, 2.0]);
        let [a, b] = [&a, &b].map(|data| View { data, pick: Pick::From(0), width: 3 });
        let mut larger = [0.0; 3];
        join::max(&threads, a, b, &mut larger);
        assert!(larger[0].is_nan() && larger[1].is_nan() && larger[2] == 2.0);
    }
}
