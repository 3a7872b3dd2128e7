//! The hot loops, on plain slices: sparse and dense rows times a dense matrix, the transposed product, row softmax.
//!
//! One source ([`generic`]) is compiled once per instruction set into a [`Table`]; [`table`] returns the best one that
//! the processor supports. The order of every sum depends on its own terms alone, so a row of a product has the same
//! bits in any company and with any number of threads. This module knows nothing of graphs.

mod arithmetic;
mod array;
mod buffer;
mod generic;
mod heads;
mod isa;
mod lanes;
mod lists;
mod pages;
mod pair;
mod parts;
mod place;
mod pool;
mod store;
mod threads;
mod transpose;
mod trial;
mod words;

pub use array::{Array, MappedFile, Number, bytes_of};
pub use buffer::Buffer;
pub use generic::{
    AT_ONCE, Adam, Attended, CHACHA_WORDS, Drops, Extreme, Finish, GROUP, Scores, mix, mix_key, prefetch,
};
pub use heads::Heads;
pub use isa::{Table, available, table};
pub use lists::{exchange_last, keep_filled, mark};
pub use pages::try_zeros;
pub use parts::Parts;
pub use store::Store;
pub use threads::{Span, Threads};
pub use transpose::transpose;
pub use trial::{Mode, Trial};

/// A compressed sparse matrix by rows. Its creator guarantees that `indptr` ascends from 0, that `indices` are
/// in range, and that no column occurs twice in a row.
#[derive(Clone, Copy)]
pub struct Sparse<'a> {
    /// Where each row starts; one more entry than rows.
    pub indptr: &'a [i64],
    /// Column of each non-zero.
    pub indices: &'a [i32],
    /// Value of each non-zero.
    pub values: &'a [f32],
}

impl<'a> Sparse<'a> {
    /// Columns and values of row `r`.
    #[inline(always)]
    pub fn row(&self, r: usize) -> (&'a [i32], &'a [f32]) {
        let range = self.indptr[r] as usize..self.indptr[r + 1] as usize;
        (&self.indices[range.clone()], &self.values[range])
    }

    /// Entries of a row, on average.
    pub fn mean_entries(&self) -> usize {
        self.indices.len() / self.num_rows().max(1)
    }

    /// Number of rows.
    pub fn num_rows(&self) -> usize {
        self.indptr.len() - 1
    }
}

/// Who is linked to whom: a row for each node above, with the rows below that it is linked to. Otherwise like [`Sparse`].
#[derive(Clone, Copy)]
pub struct Edges<'a> {
    /// Where each row starts; one more entry than rows.
    pub indptr: &'a [i64],
    /// The row below of each entry.
    pub indices: &'a [i32],
    /// The logarithm of the weight of each entry; `None`: all weights are 1.
    pub logs: Option<&'a [f32]>,
}

/// The transpose of [`Edges`], with the place there of each entry.
#[derive(Clone, Copy)]
pub struct Permuted<'a> {
    /// Where each row starts; one more entry than rows.
    pub indptr: &'a [i64],
    /// The row above of each entry, in ascending order.
    pub rows: &'a [i32],
    /// Its place among the entries of the pattern.
    pub places: &'a [u32],
}

/// The left factor of a product.
#[derive(Clone, Copy)]
pub enum Rows<'a> {
    /// Compressed sparse rows.
    Sparse(Sparse<'a>),
    /// Row-major, `width` columns.
    Dense {
        /// The rows, one after the other.
        data: &'a [f32],
        /// Number of columns.
        width: usize,
    },
}

/// The rows of the left factor that are used.
#[derive(Clone, Copy)]
pub enum Pick<'a> {
    /// Consecutive rows from here on.
    From(usize),
    /// These rows, in this order.
    List(&'a [i32]),
}

impl<'a> Pick<'a> {
    /// The row at place `i`.
    #[inline(always)]
    pub fn at(&self, i: usize) -> usize {
        match self {
            Pick::From(start) => start + i,
            Pick::List(list) => list[i] as usize,
        }
    }

    /// Number of places that have a row, for a matrix of `num_rows` rows.
    #[inline(always)]
    pub fn reach(&self, num_rows: usize) -> usize {
        match self {
            Pick::From(start) => num_rows - start,
            Pick::List(list) => list.len(),
        }
    }

    /// The same selection without its first `n` rows.
    pub fn skip(self, n: usize) -> Pick<'a> {
        match self {
            Pick::From(start) => Pick::From(start + n),
            Pick::List(list) => Pick::List(&list[n..]),
        }
    }
}
