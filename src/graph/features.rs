//! Node features X, dense or sparse, and the product ÂX that an exact input layer reads.

use super::csr::{self, Csr};
use crate::error::{Error, Result, try_copied, try_filled, try_reserve_with_slack};
use crate::kernel::{Array, Buffer, Finish, Pick, Rows, Sparse, Threads, try_zeros};
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
        Ok(Matrix::Dense { data: try_copied(row_major)?.into(), width })
    }

    /// Takes dense features as they are. Those of a mapped file are not looked at before they are needed.
    pub fn stored(width: usize, data: Array<f32>) -> Result<Self> {
        check_width(width)?;
        Ok(Matrix::Dense { data, width })
    }

    /// Takes sparse features as they are; every entry is checked, and rows must be sorted. `indptr` must have passed
    /// [`csr::check_indptr`].
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

    /// Bytes of its entries.
    pub fn bytes(&self) -> usize {
        match self {
            Matrix::Dense { data, .. } => 4 * data.len(),
            Matrix::Sparse { csr, .. } => 8 * (csr.indptr.len() + csr.indices.len()),
        }
    }

    /// Entries of a row, on average.
    pub fn row_entries(&self) -> usize {
        match self {
            Matrix::Dense { width, .. } => *width,
            Matrix::Sparse { csr, .. } => csr.indices.len() / (csr.indptr.len() - 1).max(1),
        }
    }

    /// Divides each row by its sum; a row whose sum is 0 stays. Nothing changes when a quotient is not finite.
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

/// Checks that every value is finite, and says of which node and feature the first other one is.
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

/// How full the rows of ÂX are, guessed without computing them: as if the rows of X that a row adds up had their columns
/// independently of each other. Decides the form of ÂX, kept or not, and between (ÂX)W and Â(XW).
pub struct Outlook {
    /// Expected columns of a row, by its degree; the last one stands for all above.
    by_degree: Vec<f32>,
    mean: f64,
    dense: bool,
}

impl Outlook {
    /// For Â and X.
    pub fn new(operator: Sparse<'_>, x: &Matrix) -> Result<Self> {
        /// Above this degree a row is taken to be as full as at it.
        const MOST_DEGREES: usize = 1024;
        let (n, width) = (operator.num_rows(), x.width() as f64);
        let by_degree = match x {
            Matrix::Dense { .. } => vec![width as f32],
            Matrix::Sparse { csr, .. } => {
                let missing = 1.0 - csr.indices.len() as f64 / (n as f64 * width);
                (0..=MOST_DEGREES).map(|degree| (width * (1.0 - missing.powi(degree as i32))) as f32).collect()
            }
        };
        let mut outlook = Outlook { by_degree, mean: width, dense: true };
        outlook.mean = (0..n).map(|v| f64::from(outlook.columns(operator, v))).sum::<f64>() / n as f64;
        // Dense up to twice the bytes of the sparse form: dense rows are read and multiplied several times as fast.
        outlook.dense = 4.0 * width <= 2.0 * 8.0 * outlook.mean;
        Ok(outlook)
    }

    /// Expected columns of row `v`.
    pub fn columns(&self, operator: Sparse<'_>, v: usize) -> f32 {
        let degree = (operator.indptr[v + 1] - operator.indptr[v]) as usize;
        self.by_degree[degree.min(self.by_degree.len() - 1)]
    }

    /// Expected columns of a row, over all of them.
    pub fn mean_columns(&self) -> usize {
        self.mean as usize
    }

    /// Whether rows of ÂX are dense.
    pub fn dense(&self) -> bool {
        self.dense
    }
}

/// Room to compute rows of ÂX in, reused from call to call.
#[derive(Default)]
pub struct Aggregator {
    dense: Buffer,
    indptr: Vec<i64>,
    indices: Vec<i32>,
    values: Vec<f32>,
    /// Sum per column of the row at work, and whether the column has one.
    sums: Vec<f32>,
    seen: Vec<bool>,
    touched: Vec<i32>,
}

impl Aggregator {
    /// So many of the picked rows of ÂX, in this order, and never more than `most`. The bits are those of [`Aggregator::whole`].
    pub fn rows(
        &mut self,
        operator: Sparse<'_>,
        x: &Matrix,
        outlook: &Outlook,
        (pick, count, most): (Pick<'_>, usize, usize),
        threads: &Threads,
    ) -> Result<Rows<'_>> {
        match x {
            Matrix::Dense { data, width } => {
                self.dense.try_resize_within(count * width, most * width)?;
                threads.times(Rows::Sparse(operator), pick, data, *width, Finish::Plain, &mut self.dense);
                Ok(Rows::Dense { data: &self.dense, width: *width })
            }
            Matrix::Sparse { csr, width } if outlook.dense => {
                self.dense.try_resize_within(count * width, most * width)?;
                let terms = count * operator.mean_entries() * x.row_entries();
                threads.fill_rows(terms, *width, &mut self.dense, |i, row| {
                    sum_to_row(operator, csr.view(), pick.at(i), row);
                });
                Ok(Rows::Dense { data: &self.dense, width: *width })
            }
            Matrix::Sparse { csr, width } => {
                self.prepare(*width)?;
                self.indptr.clear();
                self.indices.clear();
                self.values.clear();
                try_reserve_with_slack(&mut self.indptr, count + 1)?;
                self.indptr.push(0);
                for i in 0..count {
                    self.sum_row(operator, csr.view(), pick.at(i));
                    self.touched.sort_unstable();
                    let len = self.indices.len() + self.touched.len();
                    try_reserve_with_slack(&mut self.indices, len)?;
                    try_reserve_with_slack(&mut self.values, len)?;
                    self.indices.extend_from_slice(&self.touched);
                    self.values.extend(self.touched.iter().map(|&k| self.sums[k as usize]));
                    self.clear_row();
                    self.indptr.push(self.indices.len() as i64);
                }
                let (indptr, indices, values) = (&self.indptr, &self.indices, &self.values);
                Ok(Rows::Sparse(Sparse { indptr, indices, values }))
            }
        }
    }

    /// All of ÂX; `None` if that is more than `max_bytes`.
    pub fn whole(
        &mut self,
        operator: Sparse<'_>,
        x: &Matrix,
        outlook: &Outlook,
        max_bytes: usize,
        threads: &Threads,
    ) -> Result<Option<Matrix>> {
        let n = operator.num_rows();
        let too_large = (n * x.width()).saturating_mul(4) > max_bytes;
        match x {
            Matrix::Dense { .. } if too_large => Ok(None),
            Matrix::Dense { data, width } => {
                let mut product = try_zeros(n * width)?;
                threads.times(Rows::Sparse(operator), Pick::From(0), data, *width, Finish::Plain, &mut product);
                Ok(Some(Matrix::Dense { data: product.into(), width: *width }))
            }
            Matrix::Sparse { .. } if outlook.dense && too_large => Ok(None),
            Matrix::Sparse { csr, width } if outlook.dense => {
                let mut data = try_zeros(n * width)?;
                let terms = operator.indices.len() * x.row_entries();
                threads.fill_rows(terms, *width, &mut data, |v, row| sum_to_row(operator, csr.view(), v, row));
                Ok(Some(Matrix::Dense { data: data.into(), width: *width }))
            }
            // Not even its offsets fit, so its entries need not be counted.
            Matrix::Sparse { .. } if 8 * (n + 1) > max_bytes => Ok(None),
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
                if 8 * (entries + n + 1) > max_bytes {
                    return Ok(None);
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
                let csr = Csr { indptr: indptr.into(), indices: indices.into(), values: values.into() };
                Ok(Some(Matrix::Sparse { csr, width: *width }))
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

/// `row ← Σ_u Â(v,u)·X(u,:)` in storage order.
fn sum_to_row(operator: Sparse<'_>, x: Sparse<'_>, v: usize, row: &mut [f32]) {
    row.fill(0.0);
    let (nodes, weights) = operator.row(v);
    for (&u, &a) in nodes.iter().zip(weights) {
        let (columns, values) = x.row(u as usize);
        columns.iter().zip(values).for_each(|(&k, &value)| row[k as usize] += a * value);
    }
}
