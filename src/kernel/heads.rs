//! The columns of attention: heads side by side.

/// Heads of attention, of some columns each.
///
/// A matrix has the columns of one head after those of the other. A row that is *interleaved* has the first column of every head,
/// then the second of every head, and so on: column c of head h is at `c·lanes + h`. Lanes without a head, and what follows the
/// last column, are 0.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Heads {
    /// Number of heads.
    pub heads: usize,
    /// Columns of one head.
    pub width: usize,
    /// Whether the result is the mean of the heads; otherwise they stand one after the other.
    pub mean: bool,
}

impl Heads {
    /// Heads, filled up to a power of two, or to a multiple of 16.
    pub fn lanes(self) -> usize {
        if self.heads <= 16 { self.heads.next_power_of_two() } else { self.heads.next_multiple_of(16) }
    }

    /// Numbers of an interleaved row: a multiple of 16.
    pub fn stride(self) -> usize {
        (self.width * self.lanes()).next_multiple_of(16)
    }

    /// Columns of all heads.
    pub fn columns(self) -> usize {
        self.heads * self.width
    }

    /// Columns of the result.
    pub fn out_width(self) -> usize {
        if self.mean { self.width } else { self.columns() }
    }

    /// Rows of all columns to interleaved rows.
    pub fn interleave(self, from: &[f32], to: &mut [f32]) {
        for (from, to) in from.chunks_exact(self.columns()).zip(to.chunks_exact_mut(self.stride())) {
            self.interleave_row(from, to);
        }
    }

    #[inline(always)]
    fn interleave_row(self, from: &[f32], to: &mut [f32]) {
        let (lanes, used) = (self.lanes(), self.width * self.lanes());
        to[used..].fill(0.0);
        match self.heads {
            1 => to[..used].copy_from_slice(from),
            2 => self.interleave_all::<2>(from, to),
            4 => self.interleave_all::<4>(from, to),
            8 => self.interleave_all::<8>(from, to),
            16 => self.interleave_all::<16>(from, to),
            _ => {
                to.fill(0.0);
                for (head, from) in from.chunks_exact(self.width).enumerate() {
                    to[head..].iter_mut().step_by(lanes).zip(from).for_each(|(to, &x)| *to = x);
                }
            }
        }
    }

    /// For H heads, without empty lanes. Eight columns at a time, in loops that are unrolled.
    #[inline(always)]
    fn interleave_all<const H: usize>(self, from: &[f32], to: &mut [f32]) {
        const COLUMNS: usize = 8;
        let whole = self.width - self.width % COLUMNS;
        for first in (0..whole).step_by(COLUMNS) {
            let to = &mut to[first * H..][..COLUMNS * H];
            for head in 0..H {
                let from = &from[head * self.width + first..][..COLUMNS];
                for c in 0..COLUMNS {
                    to[c * H + head] = from[c];
                }
            }
        }
        for (head, from) in from.chunks_exact(self.width).enumerate() {
            for c in whole..self.width {
                to[c * H + head] = from[c];
            }
        }
    }

    /// Interleaved rows to rows of all columns.
    pub fn separate(self, from: &[f32], to: &mut [f32]) {
        let (lanes, stride) = (self.lanes(), self.stride());
        for (from, to) in from.chunks_exact(stride).zip(to.chunks_exact_mut(self.columns())) {
            for (head, to) in to.chunks_exact_mut(self.width).enumerate() {
                to.iter_mut().zip(from[head..].iter().step_by(lanes)).for_each(|(to, &x)| *to = x);
            }
        }
    }

    /// A row of the gradient by the result to an interleaved row of that by the heads.
    #[inline(always)]
    pub fn interleave_gradient(self, from: &[f32], to: &mut [f32]) {
        if !self.mean {
            return self.interleave_row(from, to);
        }
        let (lanes, share) = (self.lanes(), 1.0 / self.heads as f32);
        to.fill(0.0);
        for (to, &x) in to.chunks_exact_mut(lanes).zip(from) {
            to[..self.heads].fill(x * share);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_come_back_from_being_interleaved() {
        for heads in [1, 2, 3, 8, 16, 17, 40] {
            for width in [1, 3, 8, 17] {
                let heads = Heads { heads, width, mean: false };
                let (columns, stride) = (heads.columns(), heads.stride());
                assert!(stride.is_multiple_of(16) && stride >= columns && heads.lanes() < 2 * heads.heads.max(16));
                let rows: Vec<f32> = (1..=3 * columns).map(|x| x as f32).collect();
                let (mut there, mut back) = (vec![f32::NAN; 3 * stride], vec![f32::NAN; 3 * columns]);
                heads.interleave(&rows, &mut there);
                heads.separate(&there, &mut back);
                assert_eq!(back, rows);
                assert_eq!(there.iter().sum::<f32>(), rows.iter().sum::<f32>(), "the others are 0");
                assert_eq!(
                    there[heads.lanes()],
                    if width > 1 { 2.0 } else { there[heads.lanes()] },
                    "head 0, column 1"
                );
            }
        }
    }

    #[test]
    fn a_mean_gives_each_head_its_share_of_a_gradient() {
        let heads = Heads { heads: 3, width: 2, mean: true };
        let mut to = [f32::NAN; 16];
        heads.interleave_gradient(&[3.0, 6.0], &mut to);
        assert_eq!(to[..8], [1.0, 1.0, 1.0, 0.0, 2.0, 2.0, 2.0, 0.0]);
        assert_eq!(to[8..], [0.0; 8]);
    }
}
