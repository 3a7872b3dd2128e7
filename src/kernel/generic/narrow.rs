//! Dense products with a matrix of few columns. Vectors run along the rows of the left factor, which are long enough
//! to fill them, and not along the columns.

use super::super::Pick;
use super::super::arithmetic::Arithmetic;
use super::dense::{GROUP, prefetch_dense, starts_of};
use super::{AHEAD, Finish, chunk, chunk_mut, write_sums};

/// Columns that the left factor must have for these versions.
pub const DEEP: usize = 64;
/// Numbers processed at once: one or two vectors.
const STEP: usize = 16;
/// Rows of M that are transposed at a time; a multiple of [`STEP`].
const PART: usize = 512;

/// As [`super::dense_times`] for `M` of C columns; R rows of `B` at once.
///
/// The terms of a row are added to [`STEP`] sums in turn, and those are added by halves, so that a row has the same
/// bits in any company.
#[inline(always)]
pub fn times<A: Arithmetic, const C: usize, const R: usize>(
    b: &[f32],
    depth: usize,
    pick: Pick<'_>,
    m: &[f32],
    finish: Finish<'_>,
    out: &mut [f32],
) {
    // Prefetches beyond the rows of this call: the caller continues with them.
    let (count, reach) = (out.len() / C, pick.reach(b.len() / depth));
    for from in (0..depth).step_by(PART) {
        let to = (from + PART).min(depth);
        let part = Part::<C>::new(m, from, to);
        let finish = if to == depth { finish } else { Finish::Plain };
        let mut i = 0;
        while i + R <= count {
            prefetch_dense(b, depth, from..to, pick, (i + AHEAD).min(reach)..(i + AHEAD + R).min(reach));
            part.add_rows::<A, R>(b, depth, pick, finish, out, i);
            i += R;
        }
        while i < count {
            part.add_rows::<A, 1>(b, depth, pick, finish, out, i);
            i += 1;
        }
    }
}

/// Rows `from .. to` of M, transposed.
struct Part<const C: usize> {
    from: usize,
    to: usize,
    columns: [[f32; PART]; C],
    /// The last [`STEP`] rows, with zeros for those that whole steps have processed.
    last: [[f32; STEP]; C],
}

impl<const C: usize> Part<C> {
    #[inline(always)]
    fn new(m: &[f32], from: usize, to: usize) -> Self {
        let mut part = Part { from, to, columns: [[0.0; PART]; C], last: [[0.0; STEP]; C] };
        for k in from..to {
            for j in 0..C {
                part.columns[j][k - from] = m[k * C + j];
            }
        }
        let rest = (to - from) % STEP;
        for k in to - rest..to {
            for j in 0..C {
                part.last[j][STEP - (to - k)] = m[k * C + j];
            }
        }
        part
    }

    /// Adds the products with these rows of M to the rows `i .. i + R` of the product.
    #[inline(always)]
    fn add_rows<A: Arithmetic, const R: usize>(
        &self,
        b: &[f32],
        depth: usize,
        pick: Pick<'_>,
        finish: Finish<'_>,
        out: &mut [f32],
        i: usize,
    ) {
        let mut rows: [&[f32]; R] = [&[]; R];
        for r in 0..R {
            rows[r] = &b[pick.at(i + r) * depth..][..self.to];
        }
        let mut sums = [[[0f32; STEP]; C]; R];
        let steps = (self.to - self.from) / STEP;
        for step in 0..steps {
            for r in 0..R {
                let x = chunk::<STEP>(rows[r], self.from + step * STEP);
                for j in 0..C {
                    A::madd_each(x, chunk::<STEP>(&self.columns[j], step * STEP), &mut sums[r][j]);
                }
            }
        }
        if !(self.to - self.from).is_multiple_of(STEP) {
            for r in 0..R {
                let x = chunk::<STEP>(rows[r], self.to - STEP);
                for j in 0..C {
                    A::madd_each(x, &self.last[j], &mut sums[r][j]);
                }
            }
        }
        for r in 0..R {
            let mut row = [0f32; C];
            for j in 0..C {
                let sum = &mut sums[r][j];
                let mut half = STEP / 2;
                while half > 0 {
                    for c in 0..half {
                        sum[c] += sum[c + half];
                    }
                    half /= 2;
                }
                row[j] = sum[0] + if self.from > 0 { out[(i + r) * C + j] } else { 0.0 };
            }
            write_sums::<A, C>(out, (i + r) * C, (&mut row, C), finish, false);
        }
    }
}

/// As [`super::dense_transposed_times`] for `M` of C columns, V steps of its rows at once. Leaves out a remainder of
/// fewer rows than a step; returns the number of rows done.
#[inline(always)]
pub fn transposed_times<A: Arithmetic, const C: usize, const V: usize>(
    b: &[f32],
    depth: usize,
    from: usize,
    pick: Pick<'_>,
    g: &[f32],
    m: &mut [f32],
) -> usize {
    let (height, count) = (m.len() / C, g.len() / C);
    assert!(from + height <= depth);
    let done = height - height % STEP;
    let mut starts = [0usize; GROUP];
    for first in (0..done).step_by(PART) {
        let end = (first + PART).min(done);
        // Start from what M holds, so that B may come in pieces.
        let mut sums = [[0f32; PART]; C];
        for k in first..end {
            for j in 0..C {
                sums[j][k - first] = m[k * C + j];
            }
        }
        for start in (0..count).step_by(GROUP).rev() {
            let past = (start + GROUP).min(count);
            let starts = starts_of(b, depth, from, pick, start..past, &mut starts);
            let group = &g[start * C..past * C];
            let mut k = first;
            while k < end {
                let steps = if end - k >= V * STEP { V } else { 1 };
                match steps {
                    1 => add_columns::<A, C, 1>(b, starts, group, k, first, &mut sums),
                    _ => add_columns::<A, C, V>(b, starts, group, k, first, &mut sums),
                }
                let ahead = |k: usize| start.saturating_sub(GROUP * (end - k) / (end - first));
                prefetch_dense(b, depth, from + first..from + end, pick, ahead(k)..ahead(k + steps * STEP));
                k += steps * STEP;
            }
        }
        for k in first..end {
            for j in 0..C {
                m[k * C + j] = sums[j][k - first];
            }
        }
    }
    done
}

/// Adds the products of a group of rows of B and G to V steps of rows of M from `k` on.
#[inline(always)]
fn add_columns<A: Arithmetic, const C: usize, const V: usize>(
    b: &[f32],
    starts: &[usize],
    group: &[f32],
    k: usize,
    first: usize,
    sums: &mut [[f32; PART]; C],
) {
    let mut here = [[[0f32; STEP]; V]; C];
    for j in 0..C {
        for v in 0..V {
            here[j][v] = *chunk::<STEP>(&sums[j], k - first + v * STEP);
        }
    }
    for (&start, g) in starts.iter().zip(group.as_chunks::<C>().0) {
        for v in 0..V {
            // SAFETY: the caller has checked that the row that begins at `start` lies in `b` and has these columns.
            let x = unsafe { &*b.as_ptr().add(start + k + v * STEP).cast::<[f32; STEP]>() };
            for j in 0..C {
                A::madd_row(g[j], x, &mut here[j][v]);
            }
        }
    }
    for j in 0..C {
        for v in 0..V {
            *chunk_mut::<STEP>(&mut sums[j], k - first + v * STEP) = here[j][v];
        }
    }
}
