//! How products are shared among threads without changing a bit of them.
#![allow(unsafe_code)]

use super::isa::is_wide;
use super::parts::{DEEP_ENOUGH, Parts};
use super::pool::Pool;
use super::{Buffer, Finish, Pick, Rows, table};
use crate::error::{ForThe, Result};
use std::marker::PhantomData;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

/// Below this much work (entries of the left factor times vectors per row of the right one) a product stays on the
/// calling thread. It takes about twenty microseconds: another thread begins within one, but it must fetch the factors
/// from this thread's cache, and this thread must fetch the result from there.
const LITTLE_WORK: usize = 1 << 16;

/// Dense rows are shared by columns in multiples of this number: of cache lines, and of each number that the kernels
/// take at once (16, 8 or 6). So only the last share has a remainder, and it is the remainder of the whole.
const COLUMNS: usize = 48;

/// The rows of a wide product are shared in pieces of at least this many, if that leaves one for each thread …
const WIDE_ROWS: usize = 192;
/// … in multiples of each number of rows that the kernels take at once (6, 4 or 2).
const WIDE_AT_ONCE: usize = 12;

/// How many of `depth` columns a piece gets so that `threads` threads end together, with as few pieces as possible.
fn columns_at_once(depth: usize, threads: usize) -> usize {
    let longest = |columns: usize| {
        let whole = depth.div_ceil(columns) - 1;
        whole / threads * columns + if whole.is_multiple_of(threads) { depth - whole * columns } else { columns }
    };
    let most = depth.div_ceil(threads).div_ceil(COLUMNS);
    (1..=most).rev().map(|k| k * COLUMNS).min_by_key(|&columns| longest(columns)).unwrap_or(COLUMNS)
}

/// The threads of one model. One thread is the caller's own; then there is no pool.
pub struct Threads {
    pool: Option<Pool>,
    count: usize,
    /// Whether the caller currently works alone.
    alone: AtomicBool,
}

impl Threads {
    /// `count` threads, the caller's among them; 0 means all cores.
    pub fn new(count: usize) -> Result<Self> {
        let cores = || std::thread::available_parallelism().map_or(1, |n| n.get());
        let count = if count == 0 { cores() } else { count };
        let pool = if count > 1 { Some(Pool::start(count - 1)?) } else { None };
        Ok(Threads { pool, count, alone: AtomicBool::new(false) })
    }

    /// Number of threads, including the caller's.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Whether the threads still exist: not in a child after `fork`.
    pub fn alive(&self) -> bool {
        self.pool.as_ref().is_none_or(Pool::alive)
    }

    /// Whether a thread other than the caller's has done something since the last call of this function.
    pub fn helped(&self) -> bool {
        self.pool.as_ref().is_some_and(Pool::helped)
    }

    /// Runs `work` on the caller's thread alone, and everything that is called meanwhile. Only the time changes.
    pub fn alone<R>(&self, work: impl FnOnce() -> R) -> R {
        struct Again<'a>(&'a AtomicBool);
        impl Drop for Again<'_> {
            fn drop(&mut self) {
                self.0.store(false, Ordering::Relaxed);
            }
        }
        self.alone.store(true, Ordering::Relaxed);
        let _again = Again(&self.alone);
        work()
    }

    /// The other threads, unless the caller works alone.
    fn others(&self) -> Option<&Pool> {
        self.pool.as_ref().filter(|_| !self.alone.load(Ordering::Relaxed))
    }

    /// Calls `work` for each of the pieces `0 .. count`, in any order, on all threads. A piece that calls these
    /// threads itself runs that on its own thread.
    pub fn each(&self, count: usize, work: &(dyn Fn(usize) + Sync)) {
        match self.others() {
            Some(pool) => pool.run(count, work),
            None => (0..count).for_each(work),
        }
    }

    /// Runs `main` on this thread and, if another one is free meanwhile, `side` there; otherwise `side` afterwards.
    pub fn beside<R>(&self, side: &(dyn Fn() + Sync), main: impl FnOnce() -> R) -> R {
        match self.others() {
            Some(pool) => pool.beside(side, main),
            None => {
                let result = main();
                side();
                result
            }
        }
    }

    /// `out ← R·M`, finished; the threads share the rows. Each row belongs to one thread, so the bits do not depend on
    /// their number.
    pub fn times(&self, rows: Rows<'_>, pick: Pick<'_>, m: &[f32], width: usize, finish: Finish<'_>, out: &mut [f32]) {
        let count = out.len() / width;
        let entries = match rows {
            Rows::Dense { width: depth, .. } => count * depth,
            Rows::Sparse(a) => a.mean_entries() * count,
        };
        let Some(pool) = self.pool_for(entries, width) else {
            return table().times(rows, pick, m, width, finish, out);
        };
        // More pieces than threads, of equal work as far as it is known, so that all threads end together. A wide product
        // copies M for each piece.
        let (number, length) = match rows {
            Rows::Dense { width: depth, .. } if is_wide(width, depth) => {
                let least = WIDE_ROWS.min(count.div_ceil(self.count));
                let length = count.div_ceil(8 * self.count).max(least).next_multiple_of(WIDE_AT_ONCE);
                (count.div_ceil(length), length)
            }
            _ => (8 * self.count, count.div_ceil(8 * self.count).next_multiple_of(8)),
        };
        let starts = |i: usize| match (rows, pick) {
            (Rows::Sparse(a), Pick::From(first)) => {
                let offsets = &a.indptr[first..=first + count];
                let wanted = offsets[0] + i as i64 * (offsets[count] - offsets[0]) / number as i64;
                offsets[..count].partition_point(|&offset| offset < wanted)
            }
            _ => (i * length).min(count),
        };
        let out = Pieces::new(out, width);
        pool.run(number, &|i| {
            let (start, end) = (starts(i), if i + 1 == number { count } else { starts(i + 1) });
            let finish = finish.skip(start * width);
            table().times(rows, pick.skip(start), m, width, finish, out.range(start..end));
        });
    }

    /// Fills rows of `width` numbers: `fill(i, row)` makes row i. All of them together add up about `terms` numbers.
    pub fn fill_rows<T: Send>(&self, terms: usize, width: usize, out: &mut [T], fill: impl Fn(usize, &mut [T]) + Sync) {
        let Some(pool) = self.pool_for(terms, 1) else {
            return out.chunks_exact_mut(width).enumerate().for_each(|(i, row)| fill(i, row));
        };
        let piece = (out.len() / width).div_ceil(8 * self.count);
        let out = Pieces::new(out, piece * width);
        pool.run(out.number(), &|p| {
            out.get(p).chunks_exact_mut(width).enumerate().for_each(|(i, row)| fill(p * piece + i, row));
        });
    }

    /// `M ← Rᵀ·G`. The sum over rows is cut into [`Parts`], which the threads share; if `R` is dense they share the
    /// rows of `M` as well. A sparse row has about `row_entries` entries. `scratch` is reused from call to call.
    pub fn transposed_times(
        &self,
        (rows, row_entries): (Rows<'_>, usize),
        pick: Pick<'_>,
        (g, width): (&[f32], usize),
        m: &mut [f32],
        scratch: &mut Buffer,
    ) -> Result<()> {
        let count = g.len() / width;
        match rows {
            Rows::Dense { data, width: depth } => {
                let parts = Parts::of_dense(count, depth, width);
                let add = |part: usize, from: usize, sum: &mut [f32]| {
                    sum.fill(0.0);
                    let rows = parts.range(part);
                    let g = &g[rows.start * width..rows.end * width];
                    table().dense_transposed_times((data, depth), from, pick.skip(rows.start), g, width, sum);
                };
                let sums = match parts.number() {
                    1 => &mut *m,
                    number => {
                        scratch.try_resize(number * m.len()).for_the("partial sums")?;
                        &mut **scratch
                    }
                };
                // Short rows are enough work for several threads only if there are many, in several parts.
                let shared = depth >= DEEP_ENOUGH || parts.number() > 1;
                match self.pool_for(count * depth, width).filter(|_| shared) {
                    Some(pool) => {
                        // A thread may still have the rows of a part in its cache if it multiplied them before.
                        let columns = if depth >= DEEP_ENOUGH { columns_at_once(depth, self.count) } else { depth };
                        let (sums, shares) = (Pieces::new(sums, width), depth.div_ceil(columns));
                        pool.run(parts.number() * shares, &|i| {
                            let (part, from) = (i / shares, i % shares * columns);
                            let rows = part * depth + from..part * depth + (from + columns).min(depth);
                            add(part, from, sums.range(rows));
                        });
                    }
                    // The last part first: its rows have just been multiplied.
                    None => sums.chunks_exact_mut(depth * width).enumerate().rev().for_each(|(i, sum)| add(i, 0, sum)),
                }
                if parts.number() > 1 {
                    table().total((m, width), (scratch, width));
                }
            }
            Rows::Sparse(a) => {
                let parts = Parts::of_sparse(count, row_entries, m.len() / width, width);
                self.sum(parts, (m, width), scratch, &|range, sum| {
                    let g = &g[range.start * width..range.end * width];
                    table().sparse_transposed_times(a, pick.skip(range.start), g, width, (sum, parts.stride()));
                })?;
            }
        }
        Ok(())
    }

    /// `M ← Σ_rows`, part after part in their order; the threads share the parts. `add(rows, sum)` adds a part to
    /// zeros, in rows that are [`Parts::stride`] apart. `scratch` is reused from call to call.
    pub fn sum(
        &self,
        parts: Parts,
        (m, width): (&mut [f32], usize),
        scratch: &mut Buffer,
        add: &(dyn Fn(Range<usize>, &mut [f32]) + Sync),
    ) -> Result<()> {
        let (number, size) = (parts.number(), m.len() / width * parts.stride());
        // The first part is summed in M itself if its rows have the same stride.
        let in_place = usize::from(parts.stride() == width);
        // No slack: few sizes ever occur, and they do not depend on draws.
        let others = (number - in_place) * size;
        if others > 0 {
            scratch.try_resize_within(others, others).for_the("partial sums")?;
        }
        let (first, sums) = (Pieces::new(m, size), Pieces::new(scratch, size));
        let add_part = |i: usize| {
            let sum = if i < in_place { first.get(i) } else { sums.get(i - in_place) };
            sum.fill(0.0);
            add(parts.range(i), sum);
        };
        match self.others().filter(|_| number > 1) {
            Some(pool) => pool.run(number, &add_part),
            None => (0..number).for_each(add_part),
        }
        match in_place {
            0 => table().total((m, width), (scratch, parts.stride())),
            _ if others == 0 => {}
            _ => scratch.chunks_exact(size).for_each(|sum| table().add(m, sum)),
        }
        Ok(())
    }

    /// Processes two lists in pieces of these lengths; piece i of both belongs to one thread. All of it together is as
    /// much work as a product of `entries` entries with rows of `width` numbers.
    pub fn each_pair<A: Send, B: Send>(
        &self,
        (entries, width): (usize, usize),
        (a, length_of_a): (&mut [A], usize),
        (b, length_of_b): (&mut [B], usize),
        work: impl Fn(usize, &mut [A], &mut [B]) + Sync,
    ) {
        let (a, b) = (Pieces::new(a, length_of_a), Pieces::new(b, length_of_b));
        let number = a.number().max(b.number());
        let work = |i: usize| work(i, a.get(i), b.get(i));
        match self.pool_for(entries, width) {
            Some(pool) => pool.run(number, &work),
            None => (0..number).for_each(work),
        }
    }

    /// Processes rows in pieces of this many: `work(rows, lists)` gets the part of each list that belongs to some rows. All of it
    /// together is as much work as a product of `entries` entries with rows of `width` numbers.
    pub fn each_rows<const N: usize>(
        &self,
        (entries, width): (usize, usize),
        (rows, piece): (usize, usize),
        lists: [(&mut [f32], Span<'_>); N],
        work: impl Fn(Range<usize>, [&mut [f32]; N]) + Sync,
    ) {
        let number = rows.div_ceil(piece);
        let starts = |i: usize| (i * piece).min(rows);
        let lists = lists.map(|(list, span)| {
            assert!((0..number).all(|i| span.before(starts(i), piece) <= span.before(starts(i + 1), piece)));
            (Pieces::new(list, 1), span)
        });
        let work = |i: usize| {
            let (start, end) = (starts(i), starts(i + 1));
            let parts = std::array::from_fn(|k| {
                let (list, span) = &lists[k];
                list.range(span.before(start, piece)..span.before(end, piece))
            });
            work(start..end, parts);
        };
        match self.pool_for(entries, width) {
            Some(pool) => pool.run(number, &work),
            None => (0..number).for_each(work),
        }
    }

    /// Whether a product of `entries` entries with rows of `width` numbers is shared among threads.
    pub fn shares(&self, entries: usize, width: usize) -> bool {
        self.pool_for(entries, width).is_some()
    }

    fn pool_for(&self, entries: usize, width: usize) -> Option<&Pool> {
        self.others().filter(|_| entries * width.div_ceil(16) >= LITTLE_WORK)
    }
}

/// How much of a list belongs to some rows.
#[derive(Clone, Copy)]
pub enum Span<'a> {
    /// This number of floats for each row.
    Rows(usize),
    /// This number of floats for each entry of rows that start at these offsets.
    Entries(&'a [i64], usize),
    /// This number of floats for each piece of rows.
    Pieces(usize),
}

impl Span<'_> {
    /// Numbers before a row, the first of a piece.
    fn before(self, row: usize, piece: usize) -> usize {
        match self {
            Span::Rows(width) => row * width,
            Span::Entries(offsets, width) => offsets[row] as usize * width,
            Span::Pieces(width) => row.div_ceil(piece) * width,
        }
    }
}

/// A slice in pieces of equal length, the last one possibly shorter, for threads that take one each.
struct Pieces<'a, T> {
    start: *mut T,
    len: usize,
    piece: usize,
    slice: PhantomData<&'a mut [T]>,
}

// SAFETY: pieces are taken by number, and `Pool::run` gives each number to one thread.
unsafe impl<T: Send> Sync for Pieces<'_, T> {}

impl<'a, T> Pieces<'a, T> {
    fn new(slice: &'a mut [T], piece: usize) -> Self {
        Pieces { start: slice.as_mut_ptr(), len: slice.len(), piece, slice: PhantomData }
    }

    fn number(&self) -> usize {
        self.len.div_ceil(self.piece.max(1))
    }

    /// Piece `i`; no other thread may take the same one.
    #[allow(clippy::mut_from_ref)]
    fn get(&self, i: usize) -> &'a mut [T] {
        self.range(i..i + 1)
    }

    /// These pieces; no other thread may take one of them.
    #[allow(clippy::mut_from_ref)]
    fn range(&self, pieces: Range<usize>) -> &'a mut [T] {
        let start = (pieces.start * self.piece).min(self.len);
        let end = (pieces.end * self.piece).clamp(start, self.len);
        // SAFETY: the range is in the slice and belongs to the thread that was given these numbers.
        unsafe { std::slice::from_raw_parts_mut(self.start.add(start), end - start) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_shared_evenly_in_few_pieces() {
        assert_eq!(columns_at_once(500, 2), 240, "240 + 20 and 240");
        assert_eq!(columns_at_once(500, 4), 144, "three times 144, and 68");
        assert_eq!(columns_at_once(96, 2), 48);
        assert_eq!(columns_at_once(1433, 2), 720);
        for (depth, threads) in [(97, 2), (131, 3), (5000, 7), (96, 64)] {
            let columns = columns_at_once(depth, threads);
            assert!(columns.is_multiple_of(COLUMNS) && columns > 0);
        }
    }
}
