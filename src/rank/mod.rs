//! Learning to rank: queries, their documents, and how relevant each is.
//!
//! Documents are the nodes of a graph without edges, whose Â is the identity. A graph convolutional network with one output is
//! then a linear scorer or a multilayer perceptron, and passes, estimators, optimizers and training are those of graphs. What
//! differs is here: the loss compares pairs of documents, and a batch consists of queries.
//!
//! | file | what it has |
//! |---|---|
//! | `problem` | a ranking as a problem of `crate::estimator` |
//! | `kinds` | the estimators that draw pairs of documents |
//! | `levels` | a query's documents by relevance |
//! | `pairs`, `loss` | the documents and pairs of one batch; their loss and its gradient by the scores |
//! | `measures` | loss, accuracy and NDCG |
//! | `letor` | the LETOR file format |

mod kinds;
mod letor;
mod levels;
mod loss;
mod measures;
mod pairs;
mod problem;

pub use levels::Levels;
pub use measures::{Gain, Measure, Measures};
pub use pairs::{Choice, Pairs};

use crate::error::{Error, Result, try_copied, try_filled, try_with_capacity};
use crate::graph::{Graph, Matrix, Split, check_indptr, next_version};
use kinds::LARGEST_SIZE;
use std::ops::Range;

/// The largest relevance, so that its gain, a power of two, is finite.
const MOST_RELEVANT: i32 = 1000;

/// Queries and their documents.
pub struct Data {
    /// The documents. Their labels are their relevance.
    documents: Graph,
    /// Query q has the documents `offsets[q] .. offsets[q + 1]`.
    offsets: Vec<i64>,
    /// The caller's id of each query.
    ids: Vec<i64>,
    /// The documents of each query, the most relevant first.
    order: Vec<i32>,
    /// Where each level of relevance ends among a query's documents, and where each query's levels begin.
    ends: Vec<i32>,
    level_offsets: Vec<usize>,
    splits: [Vec<i32>; 3],
    /// The queries of each split that have a pair.
    paired: [Vec<i32>; 3],
    /// NDCG is measured on this many documents; 0 means all.
    cutoff: usize,
    gain: Gain,
    /// What [`Data::standardize`] has subtracted and divided by.
    scaling: Option<Scaling>,
    version: u64,
}

/// Mean and standard deviation of each feature.
struct Scaling {
    mean: Vec<f64>,
    deviation: Vec<f64>,
}

impl Scaling {
    fn try_clone(&self) -> Result<Self> {
        Ok(Scaling { mean: try_copied(&self.mean)?, deviation: try_copied(&self.deviation)? })
    }
}

/// The name of a split in messages.
fn name(split: Split) -> &'static str {
    split.name()
}

impl Data {
    /// From dense features, a row for each document. All queries are training queries at first.
    pub fn dense(num_features: usize, row_major: &[f32], relevance: &[i32], offsets: &[i64]) -> Result<Self> {
        let mut data = Self::new(relevance, offsets)?;
        data.documents.set_features(num_features, row_major)?;
        Ok(data)
    }

    /// From dense features that are known to be finite, taken as they are.
    fn owned(num_features: usize, rows: Vec<f32>, relevance: &[i32], offsets: &[i64]) -> Result<Self> {
        let mut data = Self::new(relevance, offsets)?;
        data.documents.view_features(num_features, rows.into())?;
        Ok(data)
    }

    /// From sparse features. `indptr` must have passed [`check_indptr`].
    pub fn sparse(
        num_features: usize,
        (indptr, indices, values): (&[i64], &[i32], &[f32]),
        relevance: &[i32],
        offsets: &[i64],
    ) -> Result<Self> {
        let mut data = Self::new(relevance, offsets)?;
        data.documents.set_sparse_features(num_features, indptr, indices, values)?;
        Ok(data)
    }

    /// Without features yet.
    fn new(relevance: &[i32], offsets: &[i64]) -> Result<Self> {
        let (n, num_queries) = (relevance.len(), offsets.len().saturating_sub(1));
        if num_queries == 0 || num_queries > i32::MAX as usize {
            return Err(Error::InvalidArgument(format!("num_queries = {num_queries} is outside [1, {}]", i32::MAX)));
        }
        if n == 0 || n > i32::MAX as usize {
            return Err(Error::InvalidArgument(format!("num_documents = {n} is outside [1, {}]", i32::MAX)));
        }
        let last = check_indptr(offsets, "offsets")?;
        if let Some(q) = offsets.windows(2).position(|ends| ends[0] == ends[1]) {
            return Err(Error::entry(
                "offsets",
                q + 1,
                offsets[q + 1],
                format_args!("leaves query {q} without documents"),
            ));
        }
        if last != n {
            let text = format!("offsets[{num_queries}] = {last}, but there are {n} documents");
            return Err(Error::ShapeMismatch(text));
        }
        if let Some(at) = relevance.iter().position(|y| !(0..=MOST_RELEVANT).contains(y)) {
            let complaint = format_args!("is outside [0, {MOST_RELEVANT}]");
            return Err(Error::entry("relevance", at, relevance[at], complaint));
        }
        let mut documents = Graph::from_edges(n, &[], &[], None)?;
        documents.set_labels(relevance)?;
        let mut ids = try_with_capacity(num_queries)?;
        ids.extend(0..num_queries as i64);
        let mut data = Data {
            documents,
            offsets: try_copied(offsets)?,
            ids,
            order: try_with_capacity(n)?,
            ends: Vec::new(),
            level_offsets: try_with_capacity(num_queries + 1)?,
            splits: Default::default(),
            paired: Default::default(),
            cutoff: 10,
            gain: Gain::default(),
            scaling: None,
            version: next_version(),
        };
        data.sort(relevance)?;
        let mut all = try_with_capacity(num_queries)?;
        all.extend(0..num_queries as i32);
        data.set_split(Split::Train, &all)?;
        Ok(data)
    }

    /// Sorts the documents of each query by relevance.
    fn sort(&mut self, relevance: &[i32]) -> Result<()> {
        self.order.extend(0..relevance.len() as i32);
        self.level_offsets.push(0);
        for ends in self.offsets.windows(2) {
            let documents = &mut self.order[ends[0] as usize..ends[1] as usize];
            documents.sort_by_key(|&v| std::cmp::Reverse(relevance[v as usize]));
            crate::error::try_reserve(&mut self.ends, documents.len(), "documents")?;
            let mut end = 0;
            for level in documents.chunk_by(|&a, &b| relevance[a as usize] == relevance[b as usize]) {
                end += level.len() as i32;
                self.ends.push(end);
            }
            self.level_offsets.push(self.ends.len());
        }
        self.ends.shrink_to_fit();
        Ok(())
    }

    /// Number of queries.
    pub fn num_queries(&self) -> usize {
        self.ids.len()
    }

    /// Number of documents.
    pub fn num_documents(&self) -> usize {
        self.order.len()
    }

    /// Number of features.
    pub fn num_features(&self) -> usize {
        self.documents.num_features()
    }

    /// The documents, as nodes without edges.
    pub fn documents(&self) -> &Graph {
        &self.documents
    }

    /// The relevance of each document.
    pub fn relevance(&self) -> &[i32] {
        self.documents.labels().unwrap_or_default()
    }

    /// Where the documents of each query begin, and their number.
    pub fn offsets(&self) -> &[i64] {
        &self.offsets
    }

    /// The id of each query in the file it was read from; its number if there is no file.
    pub fn query_ids(&self) -> &[i64] {
        &self.ids
    }

    fn range(&self, query: usize) -> Range<usize> {
        self.offsets[query] as usize..self.offsets[query + 1] as usize
    }

    /// The documents of a query by relevance.
    pub fn levels(&self, query: usize) -> Levels<'_> {
        let levels = self.level_offsets[query]..self.level_offsets[query + 1];
        Levels { documents: &self.order[self.range(query)], ends: &self.ends[levels] }
    }

    /// Whether two documents of a query differ in relevance.
    fn has_pair(&self, query: usize) -> bool {
        self.level_offsets[query + 1] - self.level_offsets[query] > 1
    }

    /// The queries of a split.
    pub fn split(&self, split: Split) -> &[i32] {
        &self.splits[split as usize]
    }

    /// Replaces a split, which may not contain a query twice.
    pub fn set_split(&mut self, split: Split, queries: &[i32]) -> Result<()> {
        self.check_queries(queries, "queries")?;
        let mut seen = try_filled(self.num_queries(), false)?;
        for (i, &q) in queries.iter().enumerate() {
            if std::mem::replace(&mut seen[q as usize], true) {
                return Err(Error::entry("queries", i, q, "stands in the list twice"));
            }
        }
        let mut paired = try_with_capacity(queries.len())?;
        paired.extend(queries.iter().copied().filter(|&q| self.has_pair(q as usize)));
        self.splits[split as usize] = try_copied(queries)?;
        self.paired[split as usize] = paired;
        self.version = next_version();
        Ok(())
    }

    /// Checks that every id is a query.
    fn check_queries(&self, queries: &[i32], name: &str) -> Result<()> {
        let bound = self.num_queries();
        match queries.iter().position(|&q| q < 0 || q as usize >= bound) {
            None => Ok(()),
            Some(at) => Err(Error::entry(name, at, queries[at], format_args!("is outside [0, {bound})"))),
        }
    }

    /// Sets how NDCG is measured: on the first `cutoff` documents (0: all), with this gain.
    pub fn set_ndcg(&mut self, cutoff: usize, gain: Gain) {
        (self.cutoff, self.gain) = (cutoff, gain);
    }

    /// Subtracts the mean from each feature and divides it by its standard deviation. Both are taken over the training documents
    /// of `reference`, or of these data (`None`). A feature that does not vary there is not divided. If `reference` has been
    /// standardised, its own means and deviations are used.
    pub fn standardize(&mut self, reference: Option<&Data>) -> Result<()> {
        if self.scaling.is_some() {
            return Err(Error::InvalidArgument("data: the features are standardised already".to_string()));
        }
        let width = self.num_features();
        let scaling = match reference {
            Some(other) if other.num_features() != width => {
                let text = format!("data has {width} features, reference {}", other.num_features());
                return Err(Error::ShapeMismatch(text));
            }
            Some(Data { scaling: Some(scaling), .. }) => scaling.try_clone()?,
            other => other.unwrap_or(self).statistics()?,
        };
        let n = self.num_documents();
        self.documents.change_features(|x| {
            let mut data = dense_rows(x, n)?;
            for row in data.chunks_exact_mut(width) {
                for (k, x) in row.iter_mut().enumerate() {
                    *x = ((f64::from(*x) - scaling.mean[k]) / scaling.deviation[k]) as f32;
                }
            }
            if let Some(at) = data.iter().position(|x| !x.is_finite()) {
                let text = format!("feature {} of document {} is too far from the others", at % width, at / width);
                return Err(Error::InvalidArgument(text));
            }
            *x = Matrix::Dense { data: data.into(), width };
            Ok(())
        })?;
        self.scaling = Some(scaling);
        Ok(())
    }

    /// Mean and standard deviation of each feature over the training documents.
    fn statistics(&self) -> Result<Scaling> {
        let (width, x) = (self.num_features(), self.documents.features()?);
        let queries = self.split(Split::Train);
        let count: usize = queries.iter().map(|&q| self.range(q as usize).len()).sum();
        if count == 0 {
            return Err(Error::MissingData("the train split is empty".to_string()));
        }
        let documents = || queries.iter().flat_map(|&q| self.range(q as usize));
        let mut mean = try_filled(width, 0.0)?;
        documents().for_each(|v| each_entry(x, v, |k, x| mean[k] += x / count as f64));
        // A missing entry differs from the mean by the mean.
        let mut squares: Vec<f64> = try_with_capacity(width)?;
        squares.extend(mean.iter().map(|mean| mean * mean * count as f64));
        documents().for_each(|v| {
            each_entry(x, v, |k, x| squares[k] += (x - mean[k]).powi(2) - mean[k].powi(2));
        });
        let mut deviation = squares;
        for (square, mean) in deviation.iter_mut().zip(&mean) {
            let root = (square.max(0.0) / count as f64).sqrt();
            // The deviation of a constant feature is at most a rounding error.
            *square = if root <= 1e-7 * mean.abs() { 1.0 } else { root };
        }
        Ok(Scaling { mean, deviation })
    }

    /// Appends all queries of other data and adds them to a split. Both must have the same features, standardised in the same
    /// way.
    pub fn append(&mut self, other: &Data, split: Split) -> Result<()> {
        let (width, n) = (self.num_features(), self.num_documents());
        if other.num_features() != width {
            let text = format!("data has {width} features, other {}", other.num_features());
            return Err(Error::ShapeMismatch(text));
        }
        let same = match (&self.scaling, &other.scaling) {
            (None, None) => true,
            (Some(a), Some(b)) => a.mean == b.mean && a.deviation == b.deviation,
            _ => false,
        };
        if !same {
            let text = "other is not standardised as data is: standardise them by the same reference, or after this";
            return Err(Error::InvalidArgument(text.to_string()));
        }
        let mut relevance = try_copied(self.relevance())?;
        crate::error::try_reserve(&mut relevance, other.num_documents(), "documents")?;
        relevance.extend_from_slice(other.relevance());
        let mut offsets = try_copied(&self.offsets)?;
        crate::error::try_reserve(&mut offsets, other.num_queries(), "documents")?;
        offsets.extend(other.offsets[1..].iter().map(|end| n as i64 + end));
        let mut whole = Self::new(&relevance, &offsets)?;
        let (x, y) = (self.documents.features()?, other.documents.features()?);
        match (x, y) {
            (Matrix::Sparse { csr: a, .. }, Matrix::Sparse { csr: b, .. }) => {
                let entries = a.indices.len();
                let (mut indptr, mut indices) = (try_copied(&a.indptr)?, try_copied(&a.indices)?);
                let mut values = try_copied(&a.values)?;
                crate::error::try_reserve(&mut indptr, b.indptr.len(), "documents")?;
                crate::error::try_reserve(&mut indices, b.indices.len(), "documents")?;
                crate::error::try_reserve(&mut values, b.values.len(), "documents")?;
                indptr.extend(b.indptr[1..].iter().map(|end| entries as i64 + end));
                indices.extend_from_slice(&b.indices);
                values.extend_from_slice(&b.values);
                whole.documents.set_sparse_features(width, &indptr, &indices, &values)?;
            }
            _ => {
                let mut rows = dense_rows(x, n)?;
                let more = dense_rows(y, other.num_documents())?;
                crate::error::try_reserve(&mut rows, more.len(), "documents")?;
                rows.extend_from_slice(&more);
                whole.documents.view_features(width, rows.into())?;
            }
        }
        let first = self.num_queries() as i32;
        for old in [Split::Train, Split::Val, Split::Test] {
            let mut queries = try_copied(self.split(old))?;
            if old == split {
                crate::error::try_reserve(&mut queries, other.num_queries(), "documents")?;
                queries.extend(first..first + other.num_queries() as i32);
            }
            whole.set_split(old, &queries)?;
        }
        whole.ids.truncate(self.num_queries());
        whole.ids.copy_from_slice(&self.ids);
        whole.ids.extend_from_slice(&other.ids);
        whole.set_ndcg(self.cutoff, self.gain);
        whole.scaling = self.scaling.take();
        *self = whole;
        Ok(())
    }
}

/// The entries of a row: columns and values.
fn each_entry(x: &Matrix, v: usize, mut work: impl FnMut(usize, f64)) {
    match x {
        Matrix::Dense { data, width } => {
            data[v * width..][..*width].iter().enumerate().for_each(|(k, &x)| work(k, f64::from(x)));
        }
        Matrix::Sparse { csr, .. } => {
            let (columns, values) = csr.view().row(v);
            columns.iter().zip(values).for_each(|(&k, &x)| work(k as usize, f64::from(x)));
        }
    }
}

/// All rows in dense form.
fn dense_rows(x: &Matrix, n: usize) -> Result<Vec<f32>> {
    match x {
        Matrix::Dense { data, .. } => try_copied(data),
        Matrix::Sparse { width, .. } => {
            let mut rows = try_filled(n.saturating_mul(*width), 0f32)?;
            for (v, row) in rows.chunks_exact_mut(*width).enumerate() {
                each_entry(x, v, |k, x| row[k] = x as f32);
            }
            Ok(rows)
        }
    }
}
