//! The transpose of a small dense matrix.

/// Numbers of a cache line: as many rows are turned at once.
const LINE: usize = 16;

/// `out ← Wᵀ` of a row-major matrix with `width` columns.
///
/// Squares of 16 by 16 are read and written line by line. Number by number, the lines of a column would evict each other
/// where the height is a power of two: 256 x 256 then takes ten times as long.
pub fn transpose(w: &[f32], width: usize, out: &mut [f32]) {
    let height = w.len() / width;
    assert!(w.len() == height * width && out.len() == w.len());
    for i in (0..height).step_by(LINE) {
        for j in (0..width).step_by(LINE) {
            if i + LINE <= height && j + LINE <= width {
                let rows: [&[f32; LINE]; LINE] = std::array::from_fn(|r| line(w, (i + r) * width + j));
                for c in 0..LINE {
                    let column: [f32; LINE] = std::array::from_fn(|r| rows[r][c]);
                    out[(j + c) * height + i..][..LINE].copy_from_slice(&column);
                }
            } else {
                for c in j..(j + LINE).min(width) {
                    for r in i..(i + LINE).min(height) {
                        out[c * height + r] = w[r * width + c];
                    }
                }
            }
        }
    }
}

fn line(w: &[f32], at: usize) -> &[f32; LINE] {
    w[at..].first_chunk().expect("a line")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_number_changes_its_row_for_its_column() {
        for (height, width) in [(1, 1), (3, 5), (16, 16), (15, 17), (32, 7), (40, 33), (0, 4)] {
            let w: Vec<f32> = (0..height * width).map(|at| at as f32).collect();
            let mut out = vec![f32::NAN; w.len()];
            transpose(&w, width, &mut out);
            assert!((0..w.len()).all(|at| out[at % width * height + at / width] == w[at]), "{height} x {width}");
        }
    }
}
