//! Compressed sparse rows: the storage of adjacency, features and ÂX.
//!
//! These are plain arrays and no matrix type of a crate. They are reserved fallibly and changed in place: a diagonal comes
//! and goes with the normalisation. They may also lie in a mapped file or in memory of the caller.

use crate::error::{Error, Result, try_copied, try_filled, try_reserve};
use crate::kernel::{Array, Sparse};

/// What becomes of an entry that is given more than once.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Repeated {
    /// The values are added.
    #[default]
    Sum,
    /// The first value stays.
    First,
    /// The largest value stays.
    Max,
}

impl Repeated {
    /// The value that entries of one place become, in the order given.
    fn merge(self, values: impl Iterator<Item = f32>) -> f32 {
        let mut values = values.map(f64::from);
        let merged = match self {
            Repeated::Sum => values.sum(),
            Repeated::First => values.next().unwrap_or(0.0),
            Repeated::Max => values.fold(f64::NEG_INFINITY, f64::max),
        };
        merged as f32
    }
}

/// Rows sorted by column, no column twice, all indices in range.
#[derive(Default)]
pub struct Csr {
    /// Where each row starts; one more entry than rows.
    pub indptr: Array<i64>,
    /// Column of each entry.
    pub indices: Array<i32>,
    /// Value of each entry.
    pub values: Array<f32>,
}

impl Csr {
    /// Copies arrays from outside after checking every entry; sorts rows and adds up repeated entries.
    ///
    /// `names` are the argument names in errors: indptr, indices, values.
    pub fn from_arrays(
        num_columns: usize,
        indptr: &[i64],
        indices: &[i32],
        values: &[f32],
        names: [&str; 3],
    ) -> Result<Self> {
        check_indices(num_columns, indices, names[1])?;
        check_finite(values, names[2])?;
        let (mut indptr, mut indices, mut values) = (try_copied(indptr)?, try_copied(indices)?, try_copied(values)?);
        canonicalize(&mut indptr, &mut indices, Some(&mut values), Repeated::Sum, names[2])?;
        Ok(Csr { indptr: indptr.into(), indices: indices.into(), values: values.into() })
    }

    /// The view the kernels take.
    pub fn view(&self) -> Sparse<'_> {
        Sparse { indptr: &self.indptr, indices: &self.indices, values: &self.values }
    }

    /// Calls [`Array::expect_leaps`] for the three arrays.
    pub fn expect_leaps(&self) {
        self.indptr.expect_leaps();
        self.indices.expect_leaps();
        self.values.expect_leaps();
    }

    /// Bytes allocated by this process.
    pub fn bytes(&self) -> usize {
        self.indptr.bytes() + self.indices.bytes() + self.values.bytes()
    }
}

/// Checks that each row is sorted by column, has no column twice, and stays below `num_columns`. `indptr` must have
/// passed [`check_indptr`].
pub fn check_rows(num_columns: usize, indptr: &[i64], indices: &[i32], name: &str) -> Result<()> {
    check_indices(num_columns, indices, name)?;
    for (row, ends) in indptr.windows(2).enumerate() {
        let begin = ends[0] as usize;
        let columns = &indices[begin..ends[1] as usize];
        if let Some(i) = columns.windows(2).position(|pair| pair[1] <= pair[0]) {
            let complaint = format!("is not above {name}[{}] = {} in row {row}", begin + i, columns[i]);
            return Err(Error::entry(name, begin + i + 1, columns[i + 1], complaint));
        }
    }
    Ok(())
}

/// Checks that `indptr` starts at 0 and never decreases; returns the number of entries.
pub fn check_indptr(indptr: &[i64], name: &str) -> Result<usize> {
    if indptr.first() != Some(&0) {
        let first = indptr.first().copied().unwrap_or(0);
        return Err(Error::entry(name, 0, first, "is not 0"));
    }
    for (i, pair) in indptr.windows(2).enumerate() {
        if pair[1] < pair[0] {
            return Err(Error::entry(name, i + 1, pair[1], format_args!("is below {name}[{i}] = {}", pair[0])));
        }
    }
    usize::try_from(indptr[indptr.len() - 1])
        .map_err(|_| Error::entry(name, indptr.len() - 1, indptr[indptr.len() - 1], "is too large"))
}

/// Checks that every index is in `0 .. bound`.
pub fn check_indices(bound: usize, indices: &[i32], name: &str) -> Result<()> {
    match indices.iter().position(|&i| i < 0 || i as usize >= bound) {
        None => Ok(()),
        Some(at) => Err(Error::entry(name, at, indices[at], format_args!("is outside [0, {bound})"))),
    }
}

/// Checks that every value is finite.
pub fn check_finite(values: &[f32], name: &str) -> Result<()> {
    match values.iter().position(|v| !v.is_finite()) {
        None => Ok(()),
        Some(at) => Err(Error::entry(name, at, values[at], "is not finite")),
    }
}

/// Sorts each row by column and merges repeated columns in place.
pub fn canonicalize(
    indptr: &mut [i64],
    indices: &mut Vec<i32>,
    mut values: Option<&mut Vec<f32>>,
    repeated: Repeated,
    name: &str,
) -> Result<()> {
    let mut pairs: Vec<(i32, f32)> = Vec::new();
    let mut write = 0;
    let mut read = 0;
    for (row, offset) in indptr.iter_mut().skip(1).enumerate() {
        let end = *offset as usize;
        let begin = write;
        let sorted = indices[read..end].windows(2).all(|w| w[0] < w[1]);
        match values.as_deref_mut() {
            _ if sorted && read == write => write = end,
            None => {
                indices[read..end].sort_unstable();
                for at in read..end {
                    if write == begin || indices[write - 1] != indices[at] {
                        indices[write] = indices[at];
                        write += 1;
                    }
                }
            }
            Some(values) => {
                pairs.clear();
                try_reserve(&mut pairs, end - read, "sorting of the rows")?;
                pairs.extend(indices[read..end].iter().copied().zip(values[read..end].iter().copied()));
                pairs.sort_by_key(|p| p.0); // stable: sums run in the order given, on both sides of an edge
                for run in pairs.chunk_by(|a, b| a.0 == b.0) {
                    let merged = repeated.merge(run.iter().map(|p| p.1));
                    if !merged.is_finite() {
                        let text = format!("{name} of entry ({}, {}) add up to more than a float holds", row, run[0].0);
                        return Err(Error::InvalidArgument(text));
                    }
                    indices[write] = run[0].0;
                    values[write] = merged;
                    write += 1;
                }
            }
        }
        read = end;
        *offset = write as i64;
    }
    indices.truncate(write);
    indices.shrink_to_fit();
    if let Some(values) = values {
        values.truncate(write);
        values.shrink_to_fit();
    }
    Ok(())
}

/// Turns counts per row, held at `indptr[row + 1]`, into offsets.
pub fn counts_to_offsets(indptr: &mut [i64]) {
    let mut sum = 0;
    for entry in indptr.iter_mut() {
        sum += *entry;
        *entry = sum;
    }
}

/// `n + 1` zeros.
pub fn empty_indptr(n: usize) -> Result<Vec<i64>> {
    try_filled(n + 1, 0i64)
}
