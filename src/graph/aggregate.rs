//! ÂX, the aggregated features, which an exact input layer reads.
//!
//! | item | what it does |
//! |---|---|
//! | [`Outlook`] | estimates how full the rows of ÂX are, without computing them |
//! | [`Aggregator`] | computes rows of ÂX: all of them, or some on demand, with the same bits |
//! | [`Aggregate`] | the copy that a graph keeps, if it fits the graph's bound |
//! | [`AggregatedRows`] | products with rows of ÂX, read from that copy or computed in chunks |
//!
//! All of them take the two factors as an argument. The first one is Â for graph convolutions, and another operator for other
//! layers; a graph keeps one [`Aggregate`] per operator.

use super::csr::{self, Csr};
use super::{Graph, Matrix, Operator};
use crate::error::{Error, ForThe, Result, try_filled, try_reserve, try_reserve_with_slack, try_with_capacity};
use crate::fork;
use crate::kernel::{Buffer, Finish, GROUP, Parts, Pick, Rows, Sparse, Threads, table, try_zeros};
use crate::log::Level;
use std::sync::{Arc, Mutex, OnceLock};

/// What the memory for ÂX is for, in an error.
const PURPOSE: &str = "aggregated features";

/// What an entry of a dense row costs in a product, against one of a sparse row.
const DENSE_COST: f64 = 0.3;

/// The factors of the product.
#[derive(Clone, Copy)]
pub struct Factors<'a> {
    /// Â.
    pub operator: Sparse<'a>,
    /// X.
    pub x: &'a Matrix,
}

/// How full the rows of ÂX are, estimated without computing them: as if the rows of X had their columns independently of
/// each other. Decides whether ÂX is dense, kept or not, and between (ÂX)W and Â(XW).
pub struct Outlook {
    /// Expected columns of a row, by its degree; the last entry stands for all larger degrees.
    by_degree: Vec<f32>,
    mean: f64,
    dense: bool,
}

impl Outlook {
    /// Estimates the product of these factors. Costs one look at the degree of each row.
    pub fn new(Factors { operator, x }: Factors<'_>) -> Result<Self> {
        /// Rows of a larger degree are assumed to be as full as a row of this one.
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

    /// Expected columns of a row, averaged over all rows.
    pub fn mean_columns(&self) -> usize {
        self.mean as usize
    }

    /// Whether rows of ÂX are stored dense.
    pub fn dense(&self) -> bool {
        self.dense
    }
}

/// Computes rows of ÂX in buffers that are reused from call to call.
#[derive(Default)]
pub struct Aggregator {
    dense: Buffer,
    indptr: Vec<i64>,
    indices: Vec<i32>,
    values: Vec<f32>,
    /// The current row: the sum of each column, whether the column has one, and the columns that have.
    sums: Vec<f32>,
    seen: Vec<bool>,
    touched: Vec<i32>,
}

impl Aggregator {
    /// The first `count` picked rows of ÂX, in this order, with the bits of [`Aggregator::whole`]. No later call may ask for
    /// more than `most` rows.
    pub fn rows(
        &mut self,
        Factors { operator, x }: Factors<'_>,
        outlook: &Outlook,
        (pick, count, most): (Pick<'_>, usize, usize),
        threads: &Threads,
    ) -> Result<Rows<'_>> {
        match x {
            Matrix::Dense { data, width } => {
                self.dense.try_resize_within(count * width, most * width).for_the(PURPOSE)?;
                threads.times(Rows::Sparse(operator), pick, data, *width, Finish::Plain, &mut self.dense);
                Ok(Rows::Dense { data: &self.dense, width: *width })
            }
            Matrix::Sparse { csr, width } if outlook.dense => {
                self.dense.try_resize_within(count * width, most * width).for_the(PURPOSE)?;
                let terms = count * operator.mean_entries() * x.row_entries();
                threads.fill_rows(terms, *width, &mut self.dense, |i, row| {
                    sum_to_row(operator, csr.view(), pick.at(i), row);
                });
                Ok(Rows::Dense { data: &self.dense, width: *width })
            }
            Matrix::Sparse { csr, width } => {
                self.sum_rows(operator, csr.view(), *width, (pick, count)).for_the(PURPOSE)?;
                let (indptr, indices, values) = (&self.indptr, &self.indices, &self.values);
                Ok(Rows::Sparse(Sparse { indptr, indices, values }))
            }
        }
    }

    /// Sparse rows, one after the other, into `indptr`, `indices` and `values`.
    fn sum_rows(
        &mut self,
        operator: Sparse<'_>,
        x: Sparse<'_>,
        width: usize,
        (pick, count): (Pick<'_>, usize),
    ) -> Result<()> {
        self.prepare(width)?;
        self.indptr.clear();
        self.indices.clear();
        self.values.clear();
        try_reserve_with_slack(&mut self.indptr, count + 1)?;
        self.indptr.push(0);
        for i in 0..count {
            self.sum_row(operator, x, pick.at(i));
            self.touched.sort_unstable();
            let len = self.indices.len() + self.touched.len();
            try_reserve_with_slack(&mut self.indices, len)?;
            try_reserve_with_slack(&mut self.values, len)?;
            self.indices.extend_from_slice(&self.touched);
            self.values.extend(self.touched.iter().map(|&k| self.sums[k as usize]));
            self.clear_row();
            self.indptr.push(self.indices.len() as i64);
        }
        Ok(())
    }

    /// All of ÂX; `None` if it takes more than `max_bytes`.
    pub fn whole(
        &mut self,
        Factors { operator, x }: Factors<'_>,
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
            // The offsets alone do not fit, so there is no need to count the entries.
            Matrix::Sparse { .. } if 8 * (n + 1) > max_bytes => Ok(None),
            Matrix::Sparse { csr, width } => {
                let csr = self.whole_sparse(operator, csr.view(), *width, max_bytes)?;
                Ok(csr.map(|csr| Matrix::Sparse { csr, width: *width }))
            }
        }
    }

    /// All of a sparse ÂX; `None` if it takes more than `max_bytes`. Computes each row twice: to count, then to store.
    fn whole_sparse(
        &mut self,
        operator: Sparse<'_>,
        x: Sparse<'_>,
        width: usize,
        max_bytes: usize,
    ) -> Result<Option<Csr>> {
        let n = operator.num_rows();
        self.prepare(width)?;
        let mut indptr = csr::empty_indptr(n)?;
        for v in 0..n {
            self.sum_row(operator, x, v);
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
            self.sum_row(operator, x, v);
            self.touched.sort_unstable();
            indices[range.clone()].copy_from_slice(&self.touched);
            values[range].iter_mut().zip(&self.touched).for_each(|(x, &k)| *x = self.sums[k as usize]);
            self.clear_row();
        }
        Ok(Some(Csr { indptr: indptr.into(), indices: indices.into(), values: values.into() }))
    }

    fn prepare(&mut self, width: usize) -> Result<()> {
        if self.sums.len() != width {
            self.sums = try_filled(width, 0f32)?;
            self.seen = try_filled(width, false)?;
            self.touched = try_with_capacity(width)?;
        }
        Ok(())
    }

    /// `Σ_u Â(v,u)·X(u,:)` in storage order, into `sums`; the columns that have a term go to `touched`.
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

/// What a graph knows of ÂX. Replace it by a new one when a factor or the bound changes.
#[derive(Default)]
pub struct Aggregate {
    outlook: OnceLock<Outlook>,
    product: Mutex<Product>,
}

#[derive(Default)]
enum Product {
    #[default]
    NotComputed,
    Kept(Arc<Matrix>),
    TooLarge,
}

impl Aggregate {
    /// The outlook, computed on the first call.
    fn outlook(&self, factors: Factors<'_>) -> Result<&Outlook> {
        if let Some(outlook) = self.outlook.get() {
            return Ok(outlook);
        }
        let outlook = Outlook::new(factors)?;
        let _no_fork = fork::keep_away();
        Ok(self.outlook.get_or_init(|| outlook))
    }

    /// The product, computed on the first call; `None` if it takes more than `max_bytes`.
    fn product(&self, factors: Factors<'_>, max_bytes: usize, threads: &Threads) -> Result<Option<Arc<Matrix>>> {
        let mut product = fork::lock(&self.product);
        if let Product::NotComputed = *product {
            let outlook = self.outlook(factors)?;
            let whole = Aggregator::default().whole(factors, outlook, max_bytes, threads).for_the(PURPOSE)?;
            *product = whole.map_or(Product::TooLarge, |whole| Product::Kept(Arc::new(whole)));
        }
        Ok(match &*product {
            Product::Kept(product) => Some(Arc::clone(product)),
            _ => None,
        })
    }

    /// The product if an earlier call has computed it. Does not wait for a call that is computing it.
    fn product_if_kept(&self) -> Option<Arc<Matrix>> {
        match &*fork::try_lock(&self.product)? {
            Product::Kept(product) => Some(Arc::clone(product)),
            _ => None,
        }
    }
}

impl Graph {
    /// The factors of the aggregated features.
    pub fn factors(&self, operator: Operator) -> Result<Factors<'_>> {
        Ok(Factors { operator: self.operator_of(operator)?, x: self.features()? })
    }

    /// What can be said of Op·X before it is computed.
    pub fn outlook(&self, operator: Operator) -> Result<&Outlook> {
        self.operators.aggregates[operator as usize].outlook(self.factors(operator)?)
    }

    /// Whether Op is the identity, so that Op·X is X itself.
    fn is_identity_operator(&self, operator: Operator) -> bool {
        operator == Operator::Normalized && self.identity
    }

    /// Op·X, computed on the first call; `None` if it does not fit the bound. If Op is the identity, it is X itself.
    pub fn aggregated(&self, operator: Operator, threads: &Threads) -> Result<Option<Arc<Matrix>>> {
        let factors = self.factors(operator)?;
        match self.is_identity_operator(operator) {
            true => Ok(self.features.clone()),
            false => self.operators.aggregates[operator as usize].product(factors, self.cache_bytes, threads),
        }
    }

    /// Op·X if an earlier call has computed it. Does not wait for a call that is computing it.
    pub fn aggregated_if_kept(&self, operator: Operator) -> Option<Arc<Matrix>> {
        match self.is_identity_operator(operator) {
            true => self.features.clone(),
            false => self.operators.aggregates[operator as usize].product_if_kept(),
        }
    }

    /// Whether Â·(X·W) costs less than (ÂX)·W for all nodes: X is sparse, and ÂX has many more entries.
    pub fn is_cheaper_features_first(&self) -> Result<bool> {
        let Matrix::Sparse { csr, width } = self.features()? else { return Ok(false) };
        let (n, outlook) = (self.num_nodes() as f64, self.outlook(Operator::Normalized)?);
        let columns = if outlook.dense() { DENSE_COST * *width as f64 } else { outlook.mean_columns() as f64 };
        Ok(n * columns > (csr.indices.len() + self.operator().indices.len()) as f64)
    }

    /// Whether Â²X and higher powers are kept: ÂX is dense, and one such matrix fits the bound.
    pub fn keeps_powers(&self) -> Result<bool> {
        let x = self.features()?;
        let fits = self.num_nodes().saturating_mul(4 * x.width()) <= self.cache_bytes;
        Ok(fits && self.outlook(Operator::Normalized)?.dense())
    }

    /// Â^k X for k > 1, computed on the first call. Requires [`Graph::keeps_powers`].
    fn power(&self, k: usize, threads: &Threads) -> Result<Arc<Matrix>> {
        let mut powers = fork::lock(&self.operators.powers);
        let below = powers.iter().filter(|(power, _)| *power <= k).max_by_key(|(power, _)| *power);
        let (mut power, mut matrix) = match below {
            Some((power, matrix)) => (*power, Arc::clone(matrix)),
            None => {
                let first = self.aggregated(Operator::Normalized, threads)?;
                (1, first.ok_or_else(|| Error::Internal("ÂX was to fit its bound".to_string()))?)
            }
        };
        if power == k {
            return Ok(matrix);
        }
        while power < k {
            let factors = Factors { operator: self.operator(), x: &matrix };
            let outlook = Outlook::new(factors)?;
            let whole = Aggregator::default().whole(factors, &outlook, usize::MAX, threads).for_the(PURPOSE)?;
            matrix = Arc::new(whole.ok_or_else(|| Error::Internal("a product without a bound".to_string()))?);
            power += 1;
        }
        try_reserve(&mut powers, 1, PURPOSE)?;
        powers.push((k, Arc::clone(&matrix)));
        Ok(matrix)
    }

    /// A message for the log about ÂX; `None` as long as nothing has needed it.
    pub fn aggregation(&self) -> Option<(Level, String)> {
        match &*fork::try_lock(&self.operators.aggregates[Operator::Normalized as usize].product)? {
            Product::NotComputed => None,
            Product::Kept(product) => {
                let form = if let Matrix::Dense { .. } = **product { "dense" } else { "sparse" };
                let (rows, columns, bytes) = (self.num_nodes(), product.width(), product.bytes());
                Some((Level::Info, format!("ÂX is kept: {rows} x {columns}, {form}, {bytes} bytes")))
            }
            Product::TooLarge => {
                // A bound of 0 is a request to keep nothing.
                let level = if self.cache_bytes > 0 { Level::Warning } else { Level::Info };
                let bound = self.cache_bytes;
                let text = format!("ÂX is not kept because it takes more than {bound} bytes: steps compute its rows");
                Some((level, text))
            }
        }
    }
}

/// Products with rows of ÂX: from the graph's own copy, or from rows computed in chunks with the same bits.
#[derive(Default)]
pub struct AggregatedRows {
    operator: Operator,
    kept: Option<Arc<Matrix>>,
    aggregator: Aggregator,
}

impl AggregatedRows {
    /// Takes the graph's copy of ÂX, or of Â^k X, if there is one. If it is `worth_keeping`, the graph makes one first where its bound
    /// allows: true for whole-graph passes and gradients, false for predictions of a few nodes, which need few rows.
    pub fn prepare(
        &mut self,
        graph: &Graph,
        (operator, power): (Operator, usize),
        threads: &Threads,
        worth_keeping: bool,
    ) -> Result<()> {
        self.operator = operator;
        self.kept = match (power, worth_keeping) {
            (2.., _) => Some(graph.power(power, threads)?),
            (_, true) => graph.aggregated(operator, threads)?,
            (_, false) => graph.aggregated_if_kept(operator),
        };
        Ok(())
    }

    /// Releases the graph's copy.
    pub fn release(&mut self) {
        self.kept = None;
    }

    /// `out ← (ÂX)(picked rows, :)·W`, finished. `out` decides how many rows there are.
    pub fn times(
        &mut self,
        graph: &Graph,
        pick: Pick<'_>,
        threads: &Threads,
        (w, width): (&[f32], usize),
        finish: Finish<'_>,
        out: &mut [f32],
    ) -> Result<()> {
        if let Some(product) = &self.kept {
            threads.times(product.rows(), pick, w, width, finish, out);
            return Ok(());
        }
        let (factors, outlook) = (graph.factors(self.operator)?, graph.outlook(self.operator)?);
        let chunk = rows_at_a_time(factors);
        for (i, out) in out.chunks_mut(chunk * width).enumerate() {
            let rows = (pick.skip(i * chunk), out.len() / width, chunk);
            let rows = self.aggregator.rows(factors, outlook, rows, threads)?;
            threads.times(rows, Pick::From(0), w, width, finish.skip(i * chunk * width), out);
        }
        Ok(())
    }

    /// `out ← (ÂX)(picked rows, :)`, dense. `out` decides how many rows there are.
    pub fn copy(&mut self, graph: &Graph, pick: Pick<'_>, threads: &Threads, out: &mut [f32]) -> Result<()> {
        let width = graph.features()?.width();
        if let Some(product) = &self.kept {
            product.copy_rows(pick, out);
            return Ok(());
        }
        let (factors, outlook) = (graph.factors(self.operator)?, graph.outlook(self.operator)?);
        let chunk = rows_at_a_time(factors);
        for (i, out) in out.chunks_mut(chunk * width).enumerate() {
            let rows = (pick.skip(i * chunk), out.len() / width, chunk);
            match self.aggregator.rows(factors, outlook, rows, threads)? {
                Rows::Dense { data, .. } => out.copy_from_slice(&data[..out.len()]),
                Rows::Sparse(rows) => expand(rows, Pick::From(0), width, out),
            }
        }
        Ok(())
    }

    /// `m ← (ÂX)(picked rows, :)ᵀ·G`. `g` decides how many rows there are.
    pub fn transposed_times(
        &mut self,
        graph: &Graph,
        pick: Pick<'_>,
        threads: &Threads,
        (g, width): (&[f32], usize),
        m: &mut [f32],
        scratch: &mut Buffer,
    ) -> Result<()> {
        let (factors, outlook) = (graph.factors(self.operator)?, graph.outlook(self.operator)?);
        if let Some(product) = &self.kept {
            return threads.transposed_times((product.rows(), outlook.mean_columns()), pick, (g, width), m, scratch);
        }
        // The sum has the parts that it has for the kept copy, so it has the same bits. The chunks within a part add to the
        // same partial sum, in the order in which the kernel takes rows: dense rows from the last to the first.
        let (count, height) = (g.len() / width, m.len() / width);
        let parts = match outlook.dense() {
            true => Parts::of_dense(count, height, width),
            false => Parts::of_sparse(count, outlook.mean_columns(), height, width),
        };
        let chunk = rows_at_a_time(factors);
        parts.sum(m, scratch, |range, sum| {
            let chunks = range.len().div_ceil(chunk);
            for i in 0..chunks {
                let start = range.start + chunk * if outlook.dense() { chunks - 1 - i } else { i };
                let end = (start + chunk).min(range.end);
                let rows = (pick.skip(start), end - start, chunk);
                let rows = self.aggregator.rows(factors, outlook, rows, threads)?;
                table().transposed_times(rows, Pick::From(0), &g[start * width..end * width], width, sum);
            }
            Ok(())
        })
    }
}

/// Sparse rows as dense ones.
pub fn expand(rows: Sparse<'_>, pick: Pick<'_>, width: usize, out: &mut [f32]) {
    for (i, out) in out.chunks_exact_mut(width).enumerate() {
        out.fill(0.0);
        let (columns, values) = rows.row(pick.at(i));
        columns.iter().zip(values).for_each(|(&k, &x)| out[k as usize] = x);
    }
}

/// Rows of ÂX per chunk: about half a megabyte, in whole groups of the kernel's, so that the bits are those of the kept copy.
fn rows_at_a_time(factors: Factors<'_>) -> usize {
    const NUMBERS: usize = 1 << 17;
    (NUMBERS / factors.x.width()).clamp(GROUP, 1024) / GROUP * GROUP
}
