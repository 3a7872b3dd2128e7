//! Matrices with a row per node, dense or sparse: the features X, and their aggregate ÂX.

use super::csr::{self, Csr};
use crate::error::{Error, ForThe, Result, try_copied};
use crate::kernel::{Array, Pick, Rows};
use std::ops::Range;

/// A matrix with a row per node: the features X, or their aggregate ÂX.
pub enum Matrix {
    /// Row-major.
    Dense {
        /// The rows, one after the other.
        data: Array<f32>,
        /// Number of columns.
        width: usize,
    },
    /// Compressed sparse rows.
    Sparse {
        /// The entries.
        csr: Csr,
        /// Number of columns.
        width: usize,
    },
}

impl Matrix {
    /// Copies dense features; every value must be finite.
    pub fn dense(num_nodes: usize, width: usize, row_major: &[f32]) -> Result<Self> {
        check_width(width)?;
        debug_assert_eq!(row_major.len(), num_nodes * width);
        check_dense(row_major, width)?;
        Ok(Matrix::Dense { data: try_copied(row_major).for_the("features")?.into(), width })
    }

    /// Takes dense features without copying. Those of a mapped file are not read before they are needed.
    pub fn stored(width: usize, data: Array<f32>) -> Result<Self> {
        check_width(width)?;
        Ok(Matrix::Dense { data, width })
    }

    /// Takes sparse features without copying. Every entry is checked, and rows must be sorted. `indptr` must have
    /// passed [`csr::check_indptr`].
    pub fn stored_sparse(width: usize, csr: Csr, names: [&str; 3]) -> Result<Self> {
        check_width(width)?;
        csr::check_rows(width, &csr.indptr, &csr.indices, names[1])?;
        csr::check_finite(&csr.values, names[2])?;
        Ok(Matrix::Sparse { csr, width })
    }

    /// Copies sparse features; every entry is checked.
    pub fn sparse(width: usize, indptr: &[i64], indices: &[i32], values: &[f32]) -> Result<Self> {
        check_width(width)?;
        let csr = Csr::from_arrays(width, indptr, indices, values, ["indptr", "indices", "values"])?;
        Ok(Matrix::Sparse { csr, width })
    }

    /// Number of columns.
    pub fn width(&self) -> usize {
        match self {
            Matrix::Dense { width, .. } | Matrix::Sparse { width, .. } => *width,
        }
    }

    /// The view the kernels take.
    pub fn rows(&self) -> Rows<'_> {
        match self {
            Matrix::Dense { data, width } => Rows::Dense { data, width: *width },
            Matrix::Sparse { csr, .. } => Rows::Sparse(csr.view()),
        }
    }

    /// Copies the picked rows, dense; `out` decides how many there are.
    pub fn copy_rows(&self, pick: Pick<'_>, out: &mut [f32]) {
        match self {
            Matrix::Dense { data, width: 1 } => copy_short::<1>(data, pick, out),
            Matrix::Dense { data, width: 2 } => copy_short::<2>(data, pick, out),
            Matrix::Dense { data, width: 3 } => copy_short::<3>(data, pick, out),
            Matrix::Dense { data, width: 4 } => copy_short::<4>(data, pick, out),
            Matrix::Dense { data, width } => {
                for (i, row) in out.chunks_exact_mut(*width).enumerate() {
                    row.copy_from_slice(&data[pick.at(i) * width..][..*width]);
                }
            }
            Matrix::Sparse { csr, width } => super::aggregate::expand(csr.view(), pick, *width, out),
        }
    }

    /// Bytes of its entries.
    pub fn bytes(&self) -> usize {
        match self {
            Matrix::Dense { data, .. } => 4 * data.len(),
            Matrix::Sparse { csr, .. } => 8 * (csr.indptr.len() + csr.indices.len()),
        }
    }

    /// Mean number of entries of a row.
    pub fn row_entries(&self) -> usize {
        match self {
            Matrix::Dense { width, .. } => *width,
            Matrix::Sparse { csr, .. } => csr.indices.len() / (csr.indptr.len() - 1).max(1),
        }
    }

    /// Divides each row by its sum; a row whose sum is 0 stays as it is. If a quotient is not finite, fails and
    /// changes nothing.
    pub fn normalize_rows(&mut self) -> Result<()> {
        match self {
            Matrix::Dense { data, width } => {
                let (count, width) = (data.len() / *width, *width);
                divide_rows_by_sums(data.own()?, count, |v| v * width..(v + 1) * width)
            }
            Matrix::Sparse { csr: Csr { indptr, values, .. }, .. } => {
                divide_rows_by_sums(values.own()?, indptr.len() - 1, |v| indptr[v] as usize..indptr[v + 1] as usize)
            }
        }
    }
}

/// Rows so short that calling the C library's copy takes longer than copying them.
fn copy_short<const WIDTH: usize>(data: &[f32], pick: Pick<'_>, out: &mut [f32]) {
    let (data, out) = (data.as_chunks::<WIDTH>().0, out.as_chunks_mut::<WIDTH>().0);
    match pick {
        Pick::From(start) => out.copy_from_slice(&data[start..start + out.len()]),
        Pick::List(list) => out.iter_mut().zip(list).for_each(|(row, &v)| *row = data[v as usize]),
    }
}

fn divide_rows_by_sums(values: &mut [f32], count: usize, row_of: impl Fn(usize) -> Range<usize>) -> Result<()> {
    let sum_of = |row: &[f32]| match row.iter().map(|&x| f64::from(x)).sum::<f64>() {
        0.0 => 1.0,
        sum => sum,
    };
    for v in 0..count {
        let row = &values[row_of(v)];
        let sum = sum_of(row);
        if let Some(x) = row.iter().find(|x| !((f64::from(**x) / sum) as f32).is_finite()) {
            let text = format!("row {v} of the features sums to {sum}, too little to divide its value {x} by");
            return Err(Error::InvalidArgument(text));
        }
    }
    for v in 0..count {
        let row = &mut values[row_of(v)];
        let sum = sum_of(row);
        row.iter_mut().for_each(|x| *x = (f64::from(*x) / sum) as f32);
    }
    Ok(())
}

/// Checks that every value is finite; the error names node and feature of the first one that is not.
pub fn check_dense(row_major: &[f32], width: usize) -> Result<()> {
    match row_major.iter().position(|v| !v.is_finite()) {
        None => Ok(()),
        Some(at) => {
            let (node, feature) = (at / width, at % width);
            let what = format_args!("is not finite (node {node}, feature {feature})");
            Err(Error::entry("row_major", at, row_major[at], what))
        }
    }
}

fn check_width(width: usize) -> Result<()> {
    if width == 0 || width > i32::MAX as usize {
        return Err(Error::InvalidArgument(format!("num_features = {width} is outside [1, {}]", i32::MAX)));
    }
    Ok(())
}
