//! The operators that layers multiply by: Â, and those that are made of A on first need.
//!
//! They share the pattern of A. Without added self-loops that is the pattern of Â itself; otherwise it is a copy without the
//! diagonal entries that A lacks.

use super::adjacency::{Adjacency, Normalization, Origin};
use super::aggregate::Aggregate;
use super::neighbours::Neighbours;
use super::{ColumnNorms, Graph, Matrix};
use crate::error::{ForThe, Result, try_filled, try_with_capacity};
use crate::fork;
use crate::kernel::Sparse;
use std::sync::{Arc, Mutex, OnceLock};

/// A matrix with a row per node that aggregates neighbours.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Operator {
    /// Â, by the graph's normalisation.
    #[default]
    Normalized,
    /// A, with its weights.
    Sum,
    /// A with each row divided by its sum; a row that sums to 0 is 0.
    Mean,
    /// A with ones for weights: who is linked to whom.
    Links,
}

impl Operator {
    const COUNT: usize = 4;
}

/// The values of A's pattern without the diagonal that a normalisation adds.
struct Pattern {
    indptr: Vec<i64>,
    indices: Vec<i32>,
}

/// A transposed operator; the pattern is that of the operator if that is symmetric.
struct Transpose {
    pattern: Option<Pattern>,
    values: Vec<f32>,
}

/// What has been made of A so far, and what is known of each operator.
#[derive(Default)]
pub struct Operators {
    /// The pattern of A; `None`: it is that of Â.
    pattern: OnceLock<Option<Pattern>>,
    values: [OnceLock<Vec<f32>>; Operator::COUNT],
    norms: [OnceLock<Arc<ColumnNorms>>; Operator::COUNT],
    transposes: [OnceLock<Transpose>; Operator::COUNT],
    pub(super) neighbours: Neighbours,
    /// Products with the features.
    pub(super) aggregates: [Aggregate; Operator::COUNT],
    /// Â^k X for k > 1, in any order.
    pub(super) powers: Mutex<Vec<(usize, Arc<Matrix>)>>,
}

impl Operators {
    /// Forgets what depends on the features.
    pub(super) fn forget_aggregates(&mut self) {
        self.aggregates = Default::default();
        self.powers = Mutex::default();
    }
}

/// The value that `cell` keeps, made on the first call.
pub(super) fn kept<T>(cell: &OnceLock<T>, make: impl FnOnce() -> Result<T>) -> Result<&T> {
    if let Some(value) = cell.get() {
        return Ok(value);
    }
    let value = make()?;
    let _no_fork = fork::keep_away();
    Ok(cell.get_or_init(|| value))
}

impl Graph {
    /// The entries of an operator.
    pub fn operator_of(&self, operator: Operator) -> Result<Sparse<'_>> {
        let normalized = self.operator();
        if operator == Operator::Normalized {
            return Ok(normalized);
        }
        let adjacency = &self.adjacency;
        if operator == Operator::Sum && adjacency.normalization() == Normalization::None {
            return Ok(normalized);
        }
        let pattern = kept(&self.operators.pattern, || pattern_of(adjacency).for_the("pattern of the edges"))?;
        let (indptr, indices) = match pattern {
            Some(pattern) => (&pattern.indptr[..], &pattern.indices[..]),
            None => (normalized.indptr, normalized.indices),
        };
        // Without weights both have ones.
        let operator = if operator == Operator::Sum && !adjacency.is_weighted() { Operator::Links } else { operator };
        let values = kept(&self.operators.values[operator as usize], || {
            values_of(adjacency, operator, indptr, indices.len()).for_the("values of the edges")
        })?;
        Ok(Sparse { indptr, indices, values })
    }

    /// Whether an operator equals its transpose bit for bit by construction.
    pub fn is_symmetric_operator(&self, operator: Operator) -> bool {
        match operator {
            Operator::Normalized => self.adjacency.is_symmetric(),
            Operator::Sum | Operator::Links => self.adjacency.origin() == Origin::Edges,
            Operator::Mean => false,
        }
    }

    /// Whether gradients over most nodes multiply by the transpose of this operator. That of an Â which is not symmetric would be
    /// another copy of it; its blocks are transposed as they are cut.
    pub fn keeps_transpose(&self, operator: Operator) -> bool {
        operator != Operator::Normalized || self.is_symmetric()
    }

    /// The transpose of an operator; each row lists its columns in ascending order.
    pub fn transposed_operator(&self, operator: Operator) -> Result<Sparse<'_>> {
        let sparse = self.operator_of(operator)?;
        if self.is_symmetric_operator(operator) {
            return Ok(sparse);
        }
        let same_pattern = self.adjacency.origin() == Origin::Edges;
        let transpose = kept(&self.operators.transposes[operator as usize], || {
            transpose(sparse, same_pattern).for_the("transposed edges")
        })?;
        let (indptr, indices) = match &transpose.pattern {
            Some(pattern) => (&pattern.indptr[..], &pattern.indices[..]),
            None => (sparse.indptr, sparse.indices),
        };
        Ok(Sparse { indptr, indices, values: &transpose.values })
    }

    /// The squared norm of every column of an operator; computed on the first call.
    pub fn column_norms(&self, operator: Operator) -> Result<Arc<ColumnNorms>> {
        let norms = kept(&self.operators.norms[operator as usize], || {
            let sparse = self.operator_of(operator)?;
            let mut squares = try_filled(self.num_nodes(), 0f64).for_the("norms of the columns")?;
            for (&u, &a) in sparse.indices.iter().zip(sparse.values) {
                squares[u as usize] += f64::from(a) * f64::from(a);
            }
            let total = squares.iter().sum();
            Ok(Arc::new(ColumnNorms { squares, total }))
        })?;
        Ok(Arc::clone(norms))
    }
}

/// The pattern of A, if it is not that of Â.
fn pattern_of(adjacency: &Adjacency) -> Result<Option<Pattern>> {
    let (operator, _, loops) = adjacency.parts();
    let n = adjacency.num_nodes();
    if adjacency.normalization() == Normalization::None || loops.len() == n {
        return Ok(None);
    }
    let mut indptr = try_with_capacity(n + 1)?;
    let mut indices = try_with_capacity(operator.indices.len() + loops.len() - n)?;
    let mut loops = loops.iter().copied().peekable();
    indptr.push(0);
    for v in 0..n {
        let looped = loops.next_if_eq(&(v as i32)).is_some();
        let row = &operator.indices[operator.indptr[v] as usize..operator.indptr[v + 1] as usize];
        indices.extend(row.iter().copied().filter(|&u| looped || u as usize != v));
        indptr.push(indices.len() as i64);
    }
    Ok(Some(Pattern { indptr, indices }))
}

fn values_of(adjacency: &Adjacency, operator: Operator, indptr: &[i64], entries: usize) -> Result<Vec<f32>> {
    if operator == Operator::Links {
        return try_filled(entries, 1.0);
    }
    let mut values = try_with_capacity(entries)?;
    values.extend(adjacency.entries().map(|(_, _, weight)| weight));
    if operator == Operator::Mean {
        for pair in indptr.windows(2) {
            let row = &mut values[pair[0] as usize..pair[1] as usize];
            let sum: f64 = row.iter().map(|&a| f64::from(a)).sum();
            if sum > 0.0 {
                row.iter_mut().for_each(|a| *a = (f64::from(*a) / sum) as f32);
            }
        }
    }
    Ok(values)
}

/// The transpose by a counting sort; only its values if the pattern is symmetric.
fn transpose(sparse: Sparse<'_>, same_pattern: bool) -> Result<Transpose> {
    let n = sparse.num_rows();
    let mut next = try_filled(n + 1, 0i64)?;
    sparse.indices.iter().for_each(|&u| next[u as usize + 1] += 1);
    super::csr::counts_to_offsets(&mut next);
    let mut values = try_filled(sparse.values.len(), 0f32)?;
    let mut indices = if same_pattern { Vec::new() } else { try_filled(sparse.indices.len(), 0i32)? };
    for v in 0..n {
        let (columns, entries) = sparse.row(v);
        for (&u, &a) in columns.iter().zip(entries) {
            let at = next[u as usize] as usize;
            next[u as usize] += 1;
            values[at] = a;
            if !same_pattern {
                indices[at] = v as i32;
            }
        }
    }
    if same_pattern {
        return Ok(Transpose { pattern: None, values });
    }
    next.copy_within(0..n, 1);
    next[0] = 0;
    Ok(Transpose { pattern: Some(Pattern { indptr: next, indices }), values })
}
