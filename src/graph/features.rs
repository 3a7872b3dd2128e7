//! Node features X, dense or sparse, and the product ÂX that an exact input layer reads.

use super::csr::{self, Csr};
use crate::error::{Error, Result, try_copied, try_filled, try_reserve_with_slack, try_resize};
use crate::kernel::{Pick, Rows, Sparse, table};
use std::ops::Range;

/// A matrix with a row per node: the features X, or their aggregate ÂX.
#[derive(Clone)]
pub enum Matrix {
    /// Row-major.
    Dense {
        /// The rows, one after the other.
        data: Vec<f32>,
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
        csr::check_finite(row_major, "row_major")?;
        Ok(Matrix::Dense { data: try_copied(row_major)?, width })
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

    /// Divides each row by its sum; a row whose sum is 0 stays. Nothing changes when a quotient is not finite.
    pub fn normalize_rows(&mut self) -> Result<()> {
        match self {
            Matrix::Dense { data, width } => {
                let (count, width) = (data.len() / *width, *width);
                divide_rows_by_sums(data, count, |v| v * width..(v + 1) * width)
            }
            Matrix::Sparse { csr: Csr { indptr, values, .. }, .. } => {
                divide_rows_by_sums(values, indptr.len() - 1, |v| indptr[v] as usize..indptr[v + 1] as usize)
            }
        }
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

fn check_width(width: usize) -> Result<()> {
    if width == 0 || width > i32::MAX as usize {
        return Err(Error::InvalidArgument(format!("num_features = {width} is outside [1, {}]", i32::MAX)));
    }
    Ok(())
}

/// Room to compute rows of ÂX in, reused from call to call.
#[derive(Default)]
pub struct Aggregator {
    dense: Vec<f32>,
    csr: Csr,
    /// Sum per column of the row at work, and whether the column has one.
    sums: Vec<f32>,
    seen: Vec<bool>,
    touched: Vec<i32>,
}

impl Aggregator {
    /// The rows `nodes` of ÂX, in this order. The bits are those of [`Aggregator::whole`].
    pub fn rows(&mut self, operator: Sparse<'_>, x: &Matrix, nodes: &[i32]) -> Result<Rows<'_>> {
        match x {
            Matrix::Dense { data, width } => {
                try_resize(&mut self.dense, nodes.len() * width)?;
                table().times(Rows::Sparse(operator), Pick::List(nodes), data, *width, &mut self.dense);
                Ok(Rows::Dense { data: &self.dense, width: *width })
            }
            Matrix::Sparse { csr, width } => {
                self.prepare(*width)?;
                self.csr.indptr.clear();
                self.csr.indices.clear();
                self.csr.values.clear();
                try_reserve_with_slack(&mut self.csr.indptr, nodes.len() + 1)?;
                self.csr.indptr.push(0);
                for &v in nodes {
                    self.sum_row(operator, csr.view(), v as usize);
                    self.touched.sort_unstable();
                    let len = self.csr.indices.len() + self.touched.len();
                    try_reserve_with_slack(&mut self.csr.indices, len)?;
                    try_reserve_with_slack(&mut self.csr.values, len)?;
                    self.csr.indices.extend_from_slice(&self.touched);
                    self.csr.values.extend(self.touched.iter().map(|&k| self.sums[k as usize]));
                    self.clear_row();
                    self.csr.indptr.push(self.csr.indices.len() as i64);
                }
                Ok(Rows::Sparse(self.csr.view()))
            }
        }
    }

    /// All of ÂX; `None` if that is more than `max_bytes`. Dense up to twice the bytes of the sparse form, if that many
    /// may be used: dense rows are read and multiplied several times as fast.
    pub fn whole(&mut self, operator: Sparse<'_>, x: &Matrix, max_bytes: usize) -> Result<Option<Matrix>> {
        let n = operator.num_rows();
        let dense_bytes = (n * x.width()).saturating_mul(4);
        match x {
            Matrix::Dense { data, width } => {
                if dense_bytes > max_bytes {
                    return Ok(None);
                }
                let mut product = try_filled(n * width, 0f32)?;
                table().times(Rows::Sparse(operator), Pick::From(0), data, *width, &mut product);
                Ok(Some(Matrix::Dense { data: product, width: *width }))
            }
            Matrix::Sparse { csr, width } => {
                self.prepare(*width)?;
                let mut indptr = csr::empty_indptr(n)?;
                for v in 0..n {
                    self.sum_row(operator, csr.view(), v);
                    indptr[v + 1] = self.touched.len() as i64;
                    self.clear_row();
                }
                csr::counts_to_offsets(&mut indptr);
                let entries = indptr[n] as usize;
                let sparse_bytes = 8 * (entries + n + 1);
                if dense_bytes.min(sparse_bytes) > max_bytes {
                    return Ok(None);
                }
                if dense_bytes <= max_bytes && dense_bytes <= 2 * sparse_bytes {
                    let mut data = try_filled(n * width, 0f32)?;
                    for (v, row) in data.chunks_exact_mut(*width).enumerate() {
                        self.sum_row(operator, csr.view(), v);
                        self.touched.iter().for_each(|&k| row[k as usize] = self.sums[k as usize]);
                        self.clear_row();
                    }
                    return Ok(Some(Matrix::Dense { data, width: *width }));
                }
                let mut indices = try_filled(entries, 0i32)?;
                let mut values = try_filled(entries, 0f32)?;
                for v in 0..n {
                    let range = indptr[v] as usize..indptr[v + 1] as usize;
                    self.sum_row(operator, csr.view(), v);
                    self.touched.sort_unstable();
                    indices[range.clone()].copy_from_slice(&self.touched);
                    values[range].iter_mut().zip(&self.touched).for_each(|(x, &k)| *x = self.sums[k as usize]);
                    self.clear_row();
                }
                Ok(Some(Matrix::Sparse { csr: Csr { indptr, indices, values }, width: *width }))
            }
        }
    }

    fn prepare(&mut self, width: usize) -> Result<()> {
        if self.sums.len() != width {
            self.sums = try_filled(width, 0f32)?;
            self.seen = try_filled(width, false)?;
            self.touched = crate::error::try_with_capacity(width)?;
        }
        Ok(())
    }

    /// `Σ_u Â(v,u)·X(u,:)` in storage order, into `sums`; the columns that have one go to `touched`.
    fn sum_row(&mut self, operator: Sparse<'_>, x: Sparse<'_>, v: usize) {
        let (nodes, weights) = operator.row(v);
        for (&u, &a) in nodes.iter().zip(weights) {
            let (columns, values) = x.row(u as usize);
            for (&k, &value) in columns.iter().zip(values) {
                let k = k as usize;
                if !self.seen[k] {
                    self.seen[k] = true;
                    self.touched.push(k as i32);
                }
                self.sums[k] += a * value;
            }
        }
    }

    fn clear_row(&mut self) {
        for &k in &self.touched {
            self.sums[k as usize] = 0.0;
            self.seen[k as usize] = false;
        }
        self.touched.clear();
    }
}
