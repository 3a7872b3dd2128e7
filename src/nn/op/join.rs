//! Two values that become one.

use crate::kernel::{Pick, Threads};

/// Rows to read: those picked of `data`.
#[derive(Clone, Copy)]
pub struct View<'a> {
    /// Row-major.
    pub data: &'a [f32],
    /// Which rows.
    pub pick: Pick<'a>,
    /// Columns.
    pub width: usize,
}

impl<'a> View<'a> {
    /// All rows of a matrix.
    pub fn of(data: &'a [f32], width: usize) -> Self {
        View { data, pick: Pick::From(0), width }
    }

    /// Row `i` of those picked.
    #[inline(always)]
    pub fn row(&self, i: usize) -> &'a [f32] {
        &self.data[self.pick.at(i) * self.width..][..self.width]
    }
}

/// The picked rows as they are.
pub fn copy(threads: &Threads, from: View<'_>, out: &mut [f32]) {
    threads.fill_rows(out.len(), from.width, out, |i, row| row.copy_from_slice(from.row(i)));
}

/// `out ← α·A + β·B`.
pub fn combine(threads: &Threads, (alpha, a): (f32, View<'_>), (beta, b): (f32, View<'_>), out: &mut [f32]) {
    threads.fill_rows(out.len(), a.width, out, |i, row| {
        for ((x, &a), &b) in row.iter_mut().zip(a.row(i)).zip(b.row(i)) {
            *x = alpha * a + beta * b;
        }
    });
}

/// `out ← α·out + β·B`, with the bits of [`combine`].
pub fn combine_in_place(threads: &Threads, alpha: f32, (beta, b): (f32, View<'_>), out: &mut [f32]) {
    threads.fill_rows(out.len(), b.width, out, |i, row| {
        row.iter_mut().zip(b.row(i)).for_each(|(x, &b)| *x = alpha * *x + beta * b);
    });
}

/// `out ← α·A`.
pub fn scale(threads: &Threads, alpha: f32, a: View<'_>, out: &mut [f32]) {
    threads.fill_rows(out.len(), a.width, out, |i, row| {
        row.iter_mut().zip(a.row(i)).for_each(|(x, &a)| *x = alpha * a);
    });
}

/// The columns of A, then those of B.
pub fn concat(threads: &Threads, a: View<'_>, b: View<'_>, out: &mut [f32]) {
    threads.fill_rows(out.len(), a.width + b.width, out, |i, row| {
        row[..a.width].copy_from_slice(a.row(i));
        row[a.width..].copy_from_slice(b.row(i));
    });
}

/// Whether the maximum is b: it is larger, or not a number.
#[inline(always)]
fn takes_second(a: f32, b: f32) -> bool {
    b > a || b.is_nan()
}

/// The larger of A and B, number by number; of equal ones A's.
pub fn max(threads: &Threads, a: View<'_>, b: View<'_>, out: &mut [f32]) {
    threads.fill_rows(out.len(), a.width, out, |i, row| {
        for ((x, &a), &b) in row.iter_mut().zip(a.row(i)).zip(b.row(i)) {
            *x = if takes_second(a, b) { b } else { a };
        }
    });
}

/// What [`max`] lets through of a gradient to A, or to B.
pub fn max_gradient(threads: &Threads, [a, b]: [View<'_>; 2], to_b: bool, g: &[f32], out: &mut [f32]) {
    let width = a.width;
    threads.fill_rows(out.len(), width, out, |i, row| {
        for (((x, &a), &b), &g) in row.iter_mut().zip(a.row(i)).zip(b.row(i)).zip(&g[i * width..]) {
            *x = if takes_second(a, b) == to_b { g } else { 0.0 };
        }
    });
}
