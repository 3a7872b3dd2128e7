//! The adjacency matrix A and its normalised form Â, stored once: one pattern, the values of Â, and just enough to
//! recover A.

use super::csr::{self, Csr, Repeated};
use crate::error::{Error, Result, try_copied, try_filled, try_reserve_exact, try_with_capacity};
use crate::kernel::{Array, Sparse};

/// How A becomes Â.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Normalization {
    /// D^-½ (A + I) D^-½, D the row sums of A + I.
    Symmetric,
    /// D^-1 (A + I).
    Row,
    /// A exactly as it is.
    None,
}

/// Whether the graph was given as undirected edges or as a matrix. Decides what an edge is and how a file holds it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Origin {
    /// Undirected edges.
    Edges,
    /// A matrix as given, directed or not.
    Csr,
}

/// A and Â. The pattern is that of A; under normalisations that add I it also has the whole diagonal.
pub struct Adjacency {
    origin: Origin,
    normalization: Normalization,
    /// Â.
    operator: Csr,
    /// The values of A, parallel to the pattern (0 on a diagonal entry that A lacks); `None`: all ones.
    weights: Option<Array<f32>>,
    /// Nodes whose diagonal entry belongs to A itself, ascending.
    loops: Vec<i32>,
}

impl Adjacency {
    /// Makes both from undirected edges. A self-loop counts once on the diagonal.
    pub fn from_edges(
        num_nodes: usize,
        sources: &[i32],
        targets: &[i32],
        weights: Option<&[f32]>,
        repeated: Repeated,
    ) -> Result<Self> {
        Self::from_pairs(Origin::Edges, num_nodes, [sources, targets], weights, repeated)
    }

    /// Makes both from the entries of A in any order.
    pub fn from_entries(
        num_nodes: usize,
        rows: &[i32],
        columns: &[i32],
        weights: Option<&[f32]>,
        repeated: Repeated,
    ) -> Result<Self> {
        Self::from_pairs(Origin::Csr, num_nodes, [rows, columns], weights, repeated)
    }

    fn from_pairs(
        origin: Origin,
        num_nodes: usize,
        [sources, targets]: [&[i32]; 2],
        weights: Option<&[f32]>,
        repeated: Repeated,
    ) -> Result<Self> {
        check_num_nodes(num_nodes)?;
        csr::check_indices(num_nodes, sources, "sources")?;
        csr::check_indices(num_nodes, targets, "targets")?;
        check_weights(weights, "weights")?;
        // A counting sort of one direction or both; `indptr[v]` is the next free place of row v until the rows are full.
        let both = |u: i32, v: i32| origin == Origin::Edges && u != v;
        let mut indptr = csr::empty_indptr(num_nodes)?;
        for (&u, &v) in sources.iter().zip(targets) {
            indptr[u as usize + 1] += 1;
            indptr[v as usize + 1] += i64::from(both(u, v));
        }
        csr::counts_to_offsets(&mut indptr);
        let total = indptr[num_nodes] as usize;
        let mut indices = try_filled(total, 0i32)?;
        let mut values = weights.map(|_| try_filled(total, 0f32)).transpose()?;
        for (e, (&u, &v)) in sources.iter().zip(targets).enumerate() {
            let mut put = |row: i32, column: i32| {
                let at = indptr[row as usize] as usize;
                indptr[row as usize] += 1;
                indices[at] = column;
                if let (Some(values), Some(weights)) = (&mut values, weights) {
                    values[at] = weights[e];
                }
            };
            put(u, v);
            if both(u, v) {
                put(v, u);
            }
        }
        indptr.copy_within(0..num_nodes, 1);
        indptr[0] = 0;
        Self::finish(origin, indptr, indices, values, repeated)
    }

    /// Makes both from a matrix by rows: row v lists the nodes that v aggregates from.
    pub fn from_csr(num_nodes: usize, indptr: &[i64], indices: &[i32], values: Option<&[f32]>) -> Result<Self> {
        check_num_nodes(num_nodes)?;
        csr::check_indices(num_nodes, indices, "indices")?;
        check_weights(values, "values")?;
        let values = values.map(try_copied).transpose()?;
        Self::finish(Origin::Csr, try_copied(indptr)?, try_copied(indices)?, values, Repeated::Sum)
    }

    fn finish(
        origin: Origin,
        mut indptr: Vec<i64>,
        mut indices: Vec<i32>,
        mut weights: Option<Vec<f32>>,
        repeated: Repeated,
    ) -> Result<Self> {
        csr::canonicalize(&mut indptr, &mut indices, weights.as_mut(), repeated, "weights")?;
        let loops = loops_of(&indptr, &indices)?;
        let operator = Csr { indptr: indptr.into(), indices: indices.into(), values: Array::default() };
        let weights = weights.map(Array::from);
        let mut adjacency = Adjacency { origin, normalization: Normalization::None, operator, weights, loops };
        adjacency.set_normalization(Normalization::Symmetric)?;
        Ok(adjacency)
    }

    /// Takes A as it is, with Â = A. Every entry is checked; rows must be sorted. `indptr` must have passed
    /// [`csr::check_indptr`]; `names` are the argument names of indices and values in errors.
    pub fn stored(
        origin: Origin,
        indptr: Array<i64>,
        indices: Array<i32>,
        values: Option<Array<f32>>,
        names: [&str; 2],
    ) -> Result<Self> {
        check_num_nodes(indptr.len() - 1)?;
        csr::check_rows(indptr.len() - 1, &indptr, &indices, names[0])?;
        check_weights(values.as_deref(), names[1])?;
        let loops = loops_of(&indptr, &indices)?;
        let (values, weights) = match values {
            Some(values) => (values.try_clone()?, Some(values)),
            None => (try_filled(indices.len(), 1f32)?.into(), None),
        };
        let operator = Csr { indptr, indices, values };
        Ok(Adjacency { origin, normalization: Normalization::None, operator, weights, loops })
    }

    /// Takes Â as [`Adjacency::parts`] returned it. Every entry is checked, but not that Â is what A would make it,
    /// nor that it is symmetric. `indptr` must have passed [`csr::check_indptr`].
    pub fn stored_operator(
        origin: Origin,
        normalization: Normalization,
        operator: Csr,
        weights: Option<Array<f32>>,
        loops: Vec<i32>,
    ) -> Result<Self> {
        let n = operator.indptr.len() - 1;
        check_num_nodes(n)?;
        csr::check_rows(n, &operator.indptr, &operator.indices, "indices")?;
        check_weights(Some(&operator.values), "values")?;
        check_weights(weights.as_deref(), "weights")?;
        csr::check_rows(n, &[0, loops.len() as i64], &loops, "self_loops")?;
        let diagonal = loops_of(&operator.indptr, &operator.indices)?;
        let expected = if normalization == Normalization::None { loops.len() } else { n };
        if diagonal.len() != expected {
            let text = format!("{} of {expected} entries on the diagonal are there", diagonal.len());
            return Err(Error::InvalidArgument(text));
        }
        if let Some(v) = loops.iter().find(|v| diagonal.binary_search(v).is_err()) {
            return Err(Error::InvalidArgument(format!("self_loops has node {v}, whose diagonal entry is not there")));
        }
        Ok(Adjacency { origin, normalization, operator, weights, loops })
    }

    /// Marks A as undirected, after checking that it is.
    pub fn make_undirected(&mut self) -> Result<()> {
        let n = self.num_nodes();
        // Rows are sorted, so the entries of column u appear in the order of their rows. They must be row u, entry by
        // entry.
        let mut next: Vec<i64> = try_copied(&self.operator.indptr[..n])?;
        let differs = |v: usize, u: i32| {
            Error::InvalidArgument(format!("the entries ({v}, {u}) and ({u}, {v}) of an undirected graph differ"))
        };
        for v in 0..n {
            for at in self.range(v) {
                let u = self.operator.indices[at];
                let there = next[u as usize] as usize;
                let same = there < self.operator.indptr[u as usize + 1] as usize
                    && self.operator.indices[there] == v as i32
                    && self.weights.as_ref().is_none_or(|w| w[there].to_bits() == w[at].to_bits());
                if !same {
                    return Err(differs(v, u));
                }
                next[u as usize] += 1;
            }
        }
        self.origin = Origin::Edges;
        Ok(())
    }

    /// Â, the values of A if it has its own, and the nodes whose self-loop belongs to A: everything there is.
    pub fn parts(&self) -> (&Csr, Option<&[f32]>, &[i32]) {
        (&self.operator, self.weights.as_deref(), &self.loops)
    }

    /// Number of nodes.
    pub fn num_nodes(&self) -> usize {
        self.operator.indptr.len() - 1
    }

    /// The number of unique undirected edges, counting self-loops; for a matrix the number of its non-zeros.
    pub fn num_edges(&self) -> usize {
        let diagonal = if self.normalization == Normalization::None { self.loops.len() } else { self.num_nodes() };
        let off_diagonal = self.operator.indices.len() - diagonal;
        match self.origin {
            Origin::Edges => off_diagonal / 2 + self.loops.len(),
            Origin::Csr => off_diagonal + self.loops.len(),
        }
    }

    /// How the graph was given.
    pub fn origin(&self) -> Origin {
        self.origin
    }

    /// Whether Â(v,u) = Â(u,v) holds bit for bit by construction.
    pub fn is_symmetric(&self) -> bool {
        self.origin == Origin::Edges && self.normalization != Normalization::Row
    }

    /// The current normalisation.
    pub fn normalization(&self) -> Normalization {
        self.normalization
    }

    /// Whether A has values of its own.
    pub fn is_weighted(&self) -> bool {
        self.weights.is_some()
    }

    /// Â.
    pub fn operator(&self) -> Sparse<'_> {
        self.operator.view()
    }

    /// Bytes allocated by this process.
    pub fn bytes(&self) -> usize {
        self.operator.bytes() + self.weights.as_ref().map_or(0, Array::bytes) + 4 * self.loops.capacity()
    }

    /// The entries of A, row by row: (row, column, value).
    pub fn entries(&self) -> impl Iterator<Item = (i32, i32, f32)> + '_ {
        let mut loops = self.loops.iter().copied().peekable();
        (0..self.num_nodes()).flat_map(move |v| {
            let looped = loops.next_if_eq(&(v as i32)).is_some();
            let range = self.range(v);
            range.filter_map(move |at| {
                let u = self.operator.indices[at];
                let weight = self.weights.as_ref().map_or(1.0, |w| w[at]);
                (u as usize != v || looped).then_some((v as i32, u, weight))
            })
        })
    }

    /// Replaces Â by that of another normalisation.
    pub fn set_normalization(&mut self, normalization: Normalization) -> Result<()> {
        if normalization == self.normalization {
            return Ok(());
        }
        // A failure must leave the graph as it was, so all memory is reserved before anything changes.
        let scratch = Scratch::new(self.num_nodes())?;
        self.operator.values.own()?;
        match (self.normalization, normalization) {
            (Normalization::None, _) => self.add_diagonal()?,
            (_, Normalization::None) => self.remove_diagonal()?,
            _ => {}
        }
        self.normalization = normalization;
        let mut values = std::mem::take(&mut self.operator.values);
        self.fill_values(values.own()?, scratch);
        self.operator.values = values;
        Ok(())
    }

    fn range(&self, v: usize) -> std::ops::Range<usize> {
        self.operator.indptr[v] as usize..self.operator.indptr[v + 1] as usize
    }

    /// Adds the diagonal entries that A lacks to the pattern, from the last row to the first, in place.
    fn add_diagonal(&mut self) -> Result<()> {
        let n = self.num_nodes();
        let missing = n - self.loops.len();
        // Reserve everything before changing anything: a failure here leaves the graph as it was.
        let (indptr, indices) = (self.operator.indptr.own()?, self.operator.indices.own()?);
        let mut weights = self.weights.as_mut().map(Array::own).transpose()?;
        let values = self.operator.values.own()?;
        let (old, new) = (indices.len(), indices.len() + missing);
        // The values come last: a vector that grows may be copied, and then there are two of it for a moment.
        try_reserve_exact(indices, missing)?;
        if let Some(weights) = &mut weights {
            try_reserve_exact(weights, missing)?;
        }
        let more = new.saturating_sub(values.len());
        try_reserve_exact(values, more)?;
        if let Some(weights) = &mut weights {
            weights.resize(new, 0.0);
        }
        values.resize(new, 0.0);
        indices.resize(new, 0);
        let mut put = |at: usize, column: i32, from: Option<usize>, indices: &mut [i32]| {
            indices[at] = column;
            if let Some(weights) = &mut weights {
                weights[at] = from.map_or(0.0, |from| weights[from]);
            }
        };
        let mut loops = self.loops.iter().rev().copied().peekable();
        let mut write = new;
        let mut end = old;
        for v in (0..n).rev() {
            let begin = indptr[v] as usize;
            indptr[v + 1] = write as i64;
            let mut pending = loops.next_if_eq(&(v as i32)).is_none();
            for at in (begin..end).rev() {
                let u = indices[at];
                if pending && (u as usize) < v {
                    pending = false;
                    write -= 1;
                    put(write, v as i32, None, indices);
                }
                write -= 1;
                put(write, u, Some(at), indices);
            }
            if pending {
                write -= 1;
                put(write, v as i32, None, indices);
            }
            end = begin;
        }
        Ok(())
    }

    /// Removes the diagonal entries that A lacks from the pattern.
    fn remove_diagonal(&mut self) -> Result<()> {
        let n = self.num_nodes();
        let (indptr, indices) = (self.operator.indptr.own()?, self.operator.indices.own()?);
        let mut weights = self.weights.as_mut().map(Array::own).transpose()?;
        let values = self.operator.values.own()?;
        let mut loops = self.loops.iter().copied().peekable();
        let mut write = 0;
        let mut begin = 0;
        for v in 0..n {
            let end = indptr[v + 1] as usize;
            let looped = loops.next_if_eq(&(v as i32)).is_some();
            for at in begin..end {
                let u = indices[at];
                if u as usize != v || looped {
                    indices[write] = u;
                    if let Some(weights) = &mut weights {
                        weights[write] = weights[at];
                    }
                    write += 1;
                }
            }
            begin = end;
            indptr[v + 1] = write as i64;
        }
        indices.truncate(write);
        values.truncate(write);
        if let Some(weights) = weights {
            weights.truncate(write);
        }
        Ok(())
    }

    /// Computes the values of Â from those of A, in double precision, rounded once.
    fn fill_values(&self, values: &mut [f32], Scratch { mut looped, mut scale }: Scratch) {
        let n = self.num_nodes();
        let weight = |at: usize| self.weights.as_ref().map_or(1.0, |w| f64::from(w[at]));
        if self.normalization == Normalization::None {
            values.iter_mut().enumerate().for_each(|(at, value)| *value = weight(at) as f32);
            return;
        }
        // The entry (v, u) of A + I. In an unweighted graph a diagonal entry that A lacks already counts as one.
        self.loops.iter().for_each(|&v| looped[v as usize] = true);
        let entry = |v: usize, at: usize| {
            let diagonal = self.operator.indices[at] as usize == v;
            let identity = diagonal && (looped[v] || self.weights.is_some());
            weight(at) + f64::from(u8::from(identity))
        };
        for (v, scale) in scale.iter_mut().enumerate() {
            let degree: f64 = self.range(v).map(|at| entry(v, at)).sum();
            *scale = if self.normalization == Normalization::Row { 1.0 / degree } else { 1.0 / degree.sqrt() };
        }
        for v in 0..n {
            for at in self.range(v) {
                let column = match self.normalization {
                    Normalization::Row => 1.0,
                    _ => scale[self.operator.indices[at] as usize],
                };
                // The scales are multiplied first: their product is the same for (v, u) and (u, v), bit for bit.
                values[at] = (entry(v, at) * (scale[v] * column)) as f32;
            }
        }
    }
}

/// Buffers of [`Adjacency::fill_values`], per node: whether its self-loop belongs to A, and its power of the degree.
struct Scratch {
    looped: Vec<bool>,
    scale: Vec<f64>,
}

impl Scratch {
    fn new(num_nodes: usize) -> Result<Self> {
        Ok(Scratch { looped: try_filled(num_nodes, false)?, scale: try_filled(num_nodes, 0f64)? })
    }
}

/// The nodes with an entry on the diagonal, ascending; rows are sorted.
fn loops_of(indptr: &[i64], indices: &[i32]) -> Result<Vec<i32>> {
    let is_loop = |&v: &i32| {
        let range = indptr[v as usize] as usize..indptr[v as usize + 1] as usize;
        indices[range].binary_search(&v).is_ok()
    };
    let nodes = 0..(indptr.len() - 1) as i32;
    let mut loops = try_with_capacity(nodes.clone().filter(is_loop).count())?;
    loops.extend(nodes.filter(is_loop));
    Ok(loops)
}

/// A graph has at least one node, and ids that fit 32 bits.
pub fn check_num_nodes(num_nodes: usize) -> Result<()> {
    if num_nodes == 0 || num_nodes > i32::MAX as usize {
        let text = format!("num_nodes = {num_nodes} is outside [1, {}]", i32::MAX);
        return Err(Error::InvalidArgument(text));
    }
    Ok(())
}

fn check_weights(weights: Option<&[f32]>, name: &str) -> Result<()> {
    let bad = |w: &f32| !(w.is_finite() && *w >= 0.0);
    match weights.and_then(|weights| weights.iter().position(bad).map(|at| (at, weights[at]))) {
        None => Ok(()),
        Some((at, value)) => Err(Error::entry(name, at, value, "is not a finite weight >= 0")),
    }
}
