//! Dense products with many columns, as between hidden layers.
//!
//! The columns of the right factor are taken in panels. [`TERMS`] rows of a panel are copied to where they follow each
//! other; they stay in the first-level cache while the rows of the left factor pass by, R at once. Without the copy, rows
//! that lie a power of two apart would evict each other. The left factor is read where it is.
//!
//! The sums of R rows and a panel stay in registers for [`TERMS`] terms. Between two such stretches they are in memory,
//! which does not change them: the order of a sum is that of its terms, whatever the number of rows.

use super::super::Pick;
use super::super::arithmetic::Arithmetic;
use super::dense::GROUP;
use super::{Finish, chunk, chunk_mut, prefetch, prefetch_early};
use std::mem::MaybeUninit;

/// Terms of the sums that are taken at once. With 64 columns, a panel of as many rows takes 32 KB: more would not stay in
/// the first-level cache, and fewer mean more loads and stores of sums.
const TERMS: usize = 2 * GROUP;

/// Rows of the left factor for which a panel is copied once. Their products with it stay in the second-level cache.
const ROWS: usize = 384;

/// Rows of the transposed product that are computed from a panel: as many columns of the left factor stay in the
/// second-level cache.
const HEIGHT: usize = 192;

/// The largest number of columns of a panel, and of its rows at once.
const MOST_COLUMNS: usize = 64;
const MOST_ROWS: usize = 6;

/// Room for a panel on the stack.
#[repr(align(64))]
struct Room(MaybeUninit<[f32; TERMS * MOST_COLUMNS]>);

impl Room {
    /// The panel whose row k, for k below `len`, is `row(k)`.
    #[inline(always)]
    fn panel<const P: usize>(&mut self, len: usize, row: impl Fn(usize) -> [f32; P]) -> &[[f32; P]] {
        assert!(P <= MOST_COLUMNS && len <= TERMS);
        let start = self.0.as_mut_ptr().cast::<[f32; P]>();
        for k in 0..len {
            // SAFETY: there is room for TERMS rows of MOST_COLUMNS numbers.
            unsafe { start.add(k).write(row(k)) };
        }
        // SAFETY: these rows have just been written.
        unsafe { std::slice::from_raw_parts(start, len) }
    }
}

/// Runs `$body::<A, P, R>(args…, j, columns)` for each panel: P columns, those of a vector or a multiple of it, of which
/// the last panel has fewer. R rows at once fill the registers with sums.
macro_rules! by_panels {
    ($width:expr, $a:ident, $body:ident, $($arg:expr),*) => {{
        let width = $width;
        let mut j = 0;
        while j < width {
            let columns = (width - j).min($a::PANEL);
            match ($a::PANEL, columns.div_ceil(16)) {
                (64, 4) => $body::<$a, 64, 6>($($arg,)* j, columns),
                (64, 3) => $body::<$a, 48, 6>($($arg,)* j, columns),
                (64, 2) => $body::<$a, 32, 6>($($arg,)* j, columns),
                (64, _) => $body::<$a, 16, 6>($($arg,)* j, columns),
                _ if $a::SUMS >= 6 * 16 => $body::<$a, 16, 6>($($arg,)* j, columns),
                _ if $a::SUMS >= 4 * 16 => $body::<$a, 16, 4>($($arg,)* j, columns),
                _ => $body::<$a, 16, 2>($($arg,)* j, columns),
            }
            j += columns;
        }
    }};
}

/// `columns` numbers of `m` from `at` on, followed by zeros.
#[inline(always)]
fn padded<const P: usize>(m: &[f32], at: usize, columns: usize) -> [f32; P] {
    if columns == P {
        return *chunk::<P>(m, at);
    }
    let mut row = [0f32; P];
    row[..columns].copy_from_slice(&m[at..][..columns]);
    row
}

/// Writes the first `columns` of some sums to `out` from `at` on.
#[inline(always)]
fn write<const P: usize>(out: &mut [f32], at: usize, sums: &[f32; P], columns: usize) {
    match columns == P {
        true => *chunk_mut::<P>(out, at) = *sums,
        // A copy: passing a reference to `sums` itself would keep them in memory instead of registers.
        false => write_first(&mut out[at..][..columns], &{ *sums }),
    }
}

#[inline(never)]
fn write_first(out: &mut [f32], sums: &[f32]) {
    out.copy_from_slice(&sums[..out.len()]);
}

/// Finishes `columns` sums in `out` from `at` on. They are read again: in the loop that writes them, the choice of what is to
/// be done would keep them in memory while they are summed.
#[inline(always)]
fn finish_sums<A: Arithmetic, const P: usize>(out: &mut [f32], at: usize, columns: usize, finish: Finish<'_>) {
    let mut sums = padded::<P>(out, at, columns);
    match finish {
        Finish::Plain => return,
        Finish::Rectify => A::rectify(&mut sums),
        Finish::Where(h) => A::zero_unless_positive(&padded::<P>(h, at, columns), &mut sums),
    }
    write::<P>(out, at, &sums, columns);
}

/// [`super::dense_times`], with the same bits, for at least some rows and many columns.
///
/// Cost: `2·depth·width` flops a row, bound by multiply-adds: R rows of 64 columns take 6 + 4 loads for 24 of them.
#[inline(always)]
pub fn wide_times<A: Arithmetic>(
    b: &[f32],
    depth: usize,
    pick: Pick<'_>,
    m: &[f32],
    width: usize,
    finish: Finish<'_>,
    out: &mut [f32],
) {
    let count = out.len() / width;
    let mut room = Room(MaybeUninit::uninit());
    for start in (0..count).step_by(ROWS) {
        let rows = (start, (start + ROWS).min(count));
        for from in (0..depth).step_by(TERMS) {
            let terms = (from, (from + TERMS).min(depth));
            by_panels!(width, A, times_panel, b, depth, pick, m, width, finish, out, &mut room, rows, terms);
        }
    }
}

/// The products of these rows with some terms of a panel.
#[inline(always)]
fn times_panel<A: Arithmetic, const P: usize, const R: usize>(
    b: &[f32],
    depth: usize,
    pick: Pick<'_>,
    m: &[f32],
    width: usize,
    finish: Finish<'_>,
    out: &mut [f32],
    room: &mut Room,
    (mut i, end): (usize, usize),
    (from, to): (usize, usize),
    j: usize,
    columns: usize,
) {
    let len = to - from;
    let panel = room.panel::<P>(len, |k| padded::<P>(m, (from + k) * width + j, columns));
    while i < end {
        // Where rows are missing, the last one takes their place.
        let count = (end - i).min(R);
        let mut rows: [&[f32]; R] = [&[]; R];
        let mut next = [0; 8];
        for r in 0..R {
            rows[r] = &b[pick.at(i + r.min(count - 1)) * depth..][from..to];
            next[r] = pick.at((i + R + r).min(end - 1)) * depth + from;
        }
        let mut sums = [[0f32; P]; R];
        if from > 0 {
            for r in 0..R {
                sums[r] = padded::<P>(out, (i + r.min(count - 1)) * width + j, columns);
            }
        }
        for k in 0..len {
            // One line of the next rows with each term.
            prefetch(b, next[k / 16 % 8] + k % 16 * 16);
            for r in 0..R {
                // SAFETY: each of the rows has been cut to `len` numbers.
                A::madd_row(unsafe { *rows[r].get_unchecked(k) }, &panel[k], &mut sums[r]);
            }
        }
        for r in 0..R {
            if r < count {
                write::<P>(out, (i + r) * width + j, &sums[r], columns);
            }
        }
        if to == depth && !matches!(finish, Finish::Plain) {
            (i..i + count).for_each(|i| finish_sums::<A, P>(out, i * width + j, columns, finish));
        }
        i += R;
    }
}

/// [`super::dense_transposed_times`] for many columns. Each number of `M` is a sum over groups of [`GROUP`] rows of `B`,
/// the last group first, in a group from its first row on.
///
/// Cost: as for [`wide_times`].
#[inline(always)]
pub fn wide_transposed_times<A: Arithmetic>(
    b: &[f32],
    depth: usize,
    from: usize,
    pick: Pick<'_>,
    g: &[f32],
    width: usize,
    m: &mut [f32],
) {
    let (height, count) = (m.len() / width, g.len() / width);
    assert!(from + height <= depth && depth >= MOST_ROWS);
    let mut room = Room(MaybeUninit::uninit());
    let mut taken = Taken::new(count, depth, pick, b);
    let gaps: [usize; TERMS] = std::array::from_fn(|i| i * width);
    while taken.len > 0 {
        let next = Taken::new(taken.first, depth, pick, b);
        for start in (0..height).step_by(HEIGHT) {
            let rows = (start, (start + HEIGHT).min(height));
            // What follows: more columns of these rows of B, or the next rows.
            let ahead = if rows.1 < height { (&taken.starts, from + rows.1) } else { (&next.starts, from) };
            by_panels!(width, A, transposed_panel, b, depth, from, &taken, ahead, g, width, &gaps, m, &mut room, rows);
        }
        taken = next;
    }
}

/// Two groups of rows of B, the last ones of those that are left, in the order in which they are added.
struct Taken {
    /// The first row.
    first: usize,
    /// Number of rows.
    len: usize,
    /// Number of rows in the group that is added first.
    upper: usize,
    /// Where they are in B.
    starts: [usize; TERMS],
}

impl Taken {
    /// The last two groups of `count` rows. Panics if a row does not lie in `b`.
    #[inline(always)]
    fn new(count: usize, depth: usize, pick: Pick<'_>, b: &[f32]) -> Self {
        let middle = count.saturating_sub(1) / GROUP * GROUP;
        let first = middle.saturating_sub(GROUP);
        let mut taken = Taken { first, len: count - first, upper: count - middle, starts: [0; TERMS] };
        for p in 0..taken.len {
            let row = pick.at(taken.row(p));
            assert!((row + 1) * depth <= b.len());
            taken.starts[p] = row * depth;
        }
        taken
    }

    /// The row at place `p`.
    #[inline(always)]
    fn row(&self, p: usize) -> usize {
        if p < self.upper { self.first + self.len - self.upper + p } else { self.first + p - self.upper }
    }
}

/// Adds the products of the rows taken to these rows of M, in the columns of a panel.
#[inline(always)]
fn transposed_panel<A: Arithmetic, const P: usize, const R: usize>(
    b: &[f32],
    depth: usize,
    from: usize,
    taken: &Taken,
    ahead: (&[usize; TERMS], usize),
    g: &[f32],
    width: usize,
    gaps: &[usize; TERMS],
    m: &mut [f32],
    room: &mut Room,
    (start, end): (usize, usize),
    j: usize,
    columns: usize,
) {
    let len = taken.len;
    let panel = room.panel::<P>(len, |p| padded::<P>(g, taken.row(p) * width + j, columns));
    let starts = &taken.starts[..len];
    // The next panel of these rows of G; of the next rows after the last panel.
    let next = match j + columns < width {
        true => taken.first * width + j + columns,
        false => taken.first.saturating_sub(TERMS) * width,
    };
    for (turn, k) in (start..end).step_by(R).enumerate() {
        // Always R columns of B. Those that are not meant are computed and not written.
        let count = (end - k).min(R);
        let column = (from + k).min(depth - R);
        let skip = from + k - column;
        let mut sums = [[0f32; P]; R];
        for r in 0..R {
            if r >= skip && r < skip + count {
                sums[r] = padded::<P>(m, (column + r - from) * width + j, columns);
            }
        }
        // One line with each row: of what follows in G, then in B.
        let (what, at, gaps) = match turn {
            0.. if turn < P / 16 => (g, next + 16 * turn, gaps),
            _ if j == 0 => (b, ahead.1 + 16 * (turn - P / 16), ahead.0),
            _ => (g, 0, &[0; TERMS]),
        };
        for p in 0..len {
            prefetch_early(what, at + gaps[p]);
            // SAFETY: the row that begins at `starts[p]` lies in `b`, and `column + R` is at most its length.
            let x = unsafe { &*b.as_ptr().add(starts[p] + column).cast::<[f32; R]>() };
            for r in 0..R {
                A::madd_row(x[r], &panel[p], &mut sums[r]);
            }
        }
        for r in 0..R {
            if r >= skip && r < skip + count {
                write::<P>(m, (column + r - from) * width + j, &sums[r], columns);
            }
        }
    }
}
