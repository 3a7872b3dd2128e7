//! Clipping of gradients by their norm.

use super::update::Real;

/// Added to the norm, as PyTorch does.
const OFFSET: f64 = 1e-6;

/// min(1, most/(‖g‖ + 1e-6)).
pub fn factor<T: Real>(g: &[T], most: f64) -> f64 {
    (most / (norm(g) + OFFSET)).min(1.0)
}

/// `clipped ← factor·g`.
pub fn scale<T: Real>(clipped: &mut [T], g: &[T], factor: f64) {
    clipped.iter_mut().zip(g).for_each(|(c, g)| *c = T::rounded(g.real() * factor));
}

/// ‖g‖ in double: eight sums, of every eighth square each, added in pairs. Where squares would leave the range of a
/// double, numbers are divided by the largest first.
fn norm<T: Real>(g: &[T]) -> f64 {
    let squares = sum_of_squares(g, 1.0);
    if (1e-280..=1e280).contains(&squares) {
        return squares.sqrt();
    }
    match T::largest(g) {
        0.0 => 0.0,
        largest => largest * sum_of_squares(g, largest).sqrt(),
    }
}

fn sum_of_squares<T: Real>(g: &[T], unit: f64) -> f64 {
    let square = |x: &T| {
        let x = x.real() / unit;
        x * x
    };
    let mut sums = [0.0; 8];
    let (blocks, rest) = g.as_chunks::<8>();
    for block in blocks {
        sums.iter_mut().zip(block).for_each(|(sum, x)| *sum += square(x));
    }
    sums.iter_mut().zip(rest).for_each(|(sum, x)| *sum += square(x));
    let [a, b, c, d, e, f, g, h] = sums;
    ((a + e) + (b + f)) + ((c + g) + (d + h))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_norm_is_that_of_all_numbers_in_the_whole_range_of_a_double() {
        assert_eq!(norm::<f32>(&[]), 0.0);
        assert_eq!(norm(&[0f32; 3]), 0.0);
        for unit in [1.0, 1e-300, 1e300, 5e-324] {
            let mut g = vec![0.0; 19];
            (g[0], g[18]) = (3.0 * unit, -4.0 * unit);
            assert!((norm(&g) / unit - 5.0).abs() < 1e-12, "{unit}: {}", norm(&g));
        }
        let count = 1001;
        assert_eq!(norm(&vec![2f32; count]), (4.0 * count as f64).sqrt());
    }

    #[test]
    fn a_short_gradient_stays_and_a_long_one_becomes_as_long_as_the_bound() {
        let g = [0.5f64, -0.5, 0.5, 0.5];
        assert_eq!(factor(&g, 2.0), 1.0);
        assert_eq!(factor(&[0f64; 2], 1e-3), 1.0);
        let mut clipped = [0.0; 4];
        scale(&mut clipped, &g, factor(&g, 0.25));
        assert!((norm(&clipped) - 0.25).abs() < 1e-6);
        assert_eq!(factor(&g, 0.25), 0.25 / (1.0 + 1e-6));
    }
}
