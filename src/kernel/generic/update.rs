//! Elementwise loops: sums, magnitudes, the gradient of the rectifier, steps of the optimizers.

use super::super::arithmetic::Arithmetic;

/// The largest magnitude; NaN if there is one.
#[inline(always)]
pub fn largest<A: Arithmetic>(values: &[f32]) -> f32 {
    // As integers, magnitudes keep their order, and a NaN is above infinity.
    let mut max = 0;
    for v in values {
        max = u32::max(max, v.to_bits() & 0x7fff_ffff);
    }
    f32::from_bits(max)
}

/// `d ← 0` wherever the rectified `h` is 0.
#[inline(always)]
pub fn rectified_gradient<A: Arithmetic>(d: &mut [f32], h: &[f32]) {
    let (blocks, rest) = d.as_chunks_mut::<32>();
    let (h_blocks, h_rest) = h.as_chunks::<32>();
    for (d, h) in blocks.iter_mut().zip(h_blocks) {
        A::zero_unless_positive(h, d);
    }
    for (d, &h) in rest.iter_mut().zip(h_rest) {
        *d = if h > 0.0 { *d } else { 0.0 };
    }
}

/// `m ← m + s`, number by number.
#[inline(always)]
pub fn add<A: Arithmetic>(m: &mut [f32], sum: &[f32]) {
    m.iter_mut().zip(sum).for_each(|(m, s)| *m += s);
}

/// `w ← keep·w − step·g`.
#[inline(always)]
pub fn descend<A: Arithmetic>(w: &mut [f32], g: &[f32], keep: f32, step: f32) {
    for (w, &g) in w.iter_mut().zip(g) {
        *w = A::madd(-step, g, *w * keep);
    }
}

/// The numbers of one step of Adam.
#[derive(Clone, Copy)]
pub struct Adam<T> {
    /// Factor on w.
    pub keep: T,
    /// Step divided by the correction of the first moment.
    pub step: T,
    /// Root of the correction of the second moment.
    pub root: T,
    /// Added to the root of the second moment.
    pub epsilon: T,
    /// Factors on the moments.
    pub old: [T; 2],
    /// Factors on the gradient and on its square.
    pub new: [T; 2],
}

/// One step of Adam: moments `m` and `v`, then `w`.
#[inline(always)]
pub fn adam<A: Arithmetic>(w: &mut [f32], m: &mut [f32], v: &mut [f32], g: &[f32], by: Adam<f32>) {
    let Adam { keep, step, root, epsilon, old, new } = by;
    for (((w, m), v), &g) in w.iter_mut().zip(m).zip(v).zip(g) {
        *m = old[0] * *m + new[0] * g;
        *v = old[1] * *v + new[1] * g * g;
        *w = *w * keep - step * *m / (v.sqrt() / root + epsilon);
    }
}
