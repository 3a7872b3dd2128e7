//! The adjacency matrix A and its normalised form Â, held once: one pattern, Â's values, and just enough beside them
//! to give A back.

use super::csr::{self, Csr};
use crate::error::{Error, Result, try_copied, try_filled, try_with_capacity};
use crate::kernel::Sparse;

/// How A becomes Â.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Normalization {
    /// D^-½ (A + I) D^-½, D the row sums of A + I.
    Symmetric = 0,
    /// D^-1 (A + I).
    Row = 1,
    /// A exactly as it is.
    None = 2,
}

impl TryFrom<i32> for Normalization {
    type Error = Error;

    fn try_from(value: i32) -> Result<Self> {
        match value {
            0 => Ok(Normalization::Symmetric),
            1 => Ok(Normalization::Row),
            2 => Ok(Normalization::None),
            _ => Err(Error::InvalidArgument(format!("normalization = {value} is not a PLIM_NORMALIZATION_ constant"))),
        }
    }
}

/// Whether the graph came as undirected edges or as a matrix; it decides what an edge is and how a file holds it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Origin {
    /// Undirected edges.
    Edges,
    /// A matrix as given, directed or not.
    Csr,
}

/// A and Â. The pattern is A's, and under the normalisations that add I also the whole diagonal.
pub struct Adjacency {
    origin: Origin,
    normalization: Normalization,
    /// Â.
    operator: Csr,
    /// A's values, entry for entry beside the pattern (0 on a diagonal entry that A lacks); `None`: all ones.
    weights: Option<Vec<f32>>,
    /// Nodes whose diagonal entry belongs to A itself, ascending.
    loops: Vec<i32>,
}

impl Adjacency {
    /// From undirected edges. Repeated edges merge; a self-loop counts once on the diagonal.
    pub fn from_edges(num_nodes: usize, sources: &[i32], targets: &[i32], weights: Option<&[f32]>) -> Result<Self> {
        check_num_nodes(num_nodes)?;
        csr::check_indices(num_nodes, sources, "sources")?;
        csr::check_indices(num_nodes, targets, "targets")?;
        check_weights(weights, "weights")?;
        // A counting sort of both directions; indptr[v] is the next free place of row v until the rows are full.
        let mut indptr = csr::empty_indptr(num_nodes)?;
        for (&u, &v) in sources.iter().zip(targets) {
            indptr[u as usize + 1] += 1;
            indptr[v as usize + 1] += i64::from(u != v);
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
            if u != v {
                put(v, u);
            }
        }
        indptr.copy_within(0..num_nodes, 1);
        indptr[0] = 0;
        Self::finish(Origin::Edges, indptr, indices, values)
    }

    /// From a matrix by rows: row v lists the nodes that v aggregates from.
    pub fn from_csr(num_nodes: usize, indptr: &[i64], indices: &[i32], values: Option<&[f32]>) -> Result<Self> {
        check_num_nodes(num_nodes)?;
        csr::check_indices(num_nodes, indices, "indices")?;
        check_weights(values, "values")?;
        let values = values.map(try_copied).transpose()?;
        Self::finish(Origin::Csr, try_copied(indptr)?, try_copied(indices)?, values)
    }

    fn finish(
        origin: Origin,
        mut indptr: Vec<i64>,
        mut indices: Vec<i32>,
        mut weights: Option<Vec<f32>>,
    ) -> Result<Self> {
        csr::canonicalize(&mut indptr, &mut indices, weights.as_mut(), "weights")?;
        let operator = Csr { indptr, indices, values: Vec::new() };
        let mut adjacency =
            Adjacency { origin, normalization: Normalization::None, operator, weights, loops: Vec::new() };
        let is_loop = |v: usize| adjacency.row(v).contains(&(v as i32));
        let count = (0..adjacency.num_nodes()).filter(|&v| is_loop(v)).count();
        let mut loops = try_with_capacity(count)?;
        loops.extend((0..adjacency.num_nodes()).filter(|&v| is_loop(v)).map(|v| v as i32));
        adjacency.loops = loops;
        adjacency.add_diagonal()?;
        adjacency.operator.values = try_filled(adjacency.operator.indices.len(), 0f32)?;
        adjacency.normalization = Normalization::Symmetric;
        let room = Room::new(adjacency.num_nodes())?;
        adjacency.fill_values(room);
        Ok(adjacency)
    }

    /// Number of nodes.
    pub fn num_nodes(&self) -> usize {
        self.operator.indptr.len() - 1
    }

    /// Unique undirected edges, a self-loop being one; for a matrix its non-zeros.
    pub fn num_edges(&self) -> usize {
        let diagonal = if self.normalization == Normalization::None { self.loops.len() } else { self.num_nodes() };
        let off_diagonal = self.operator.indices.len() - diagonal;
        match self.origin {
            Origin::Edges => off_diagonal / 2 + self.loops.len(),
            Origin::Csr => off_diagonal + self.loops.len(),
        }
    }

    /// Where the graph came from.
    pub fn origin(&self) -> Origin {
        self.origin
    }

    /// Whether Â(v,u) = Â(u,v), bit for bit, by the way it is made.
    pub fn is_symmetric(&self) -> bool {
        self.origin == Origin::Edges && self.normalization != Normalization::Row
    }

    /// How Â is made at present.
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

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.operator.bytes() + 4 * (self.weights.as_ref().map_or(0, Vec::capacity) + self.loops.capacity())
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

    /// Makes Â anew in another way. A failure leaves it as it was.
    pub fn set_normalization(&mut self, normalization: Normalization) -> Result<()> {
        if normalization == self.normalization {
            return Ok(());
        }
        let room = Room::new(self.num_nodes())?;
        match (self.normalization, normalization) {
            (Normalization::None, _) => {
                let entries = self.operator.indices.len() + self.num_nodes() - self.loops.len();
                self.operator.values.try_reserve_exact(entries - self.operator.values.len())?;
                self.add_diagonal()?;
            }
            (_, Normalization::None) => self.remove_diagonal(),
            _ => {}
        }
        self.operator.values.resize(self.operator.indices.len(), 0.0);
        self.normalization = normalization;
        self.fill_values(room);
        Ok(())
    }

    fn range(&self, v: usize) -> std::ops::Range<usize> {
        self.operator.indptr[v] as usize..self.operator.indptr[v + 1] as usize
    }

    fn row(&self, v: usize) -> &[i32] {
        &self.operator.indices[self.range(v)]
    }

    /// Puts the diagonal entries that A lacks into the pattern, from the last row to the first, in place.
    fn add_diagonal(&mut self) -> Result<()> {
        let n = self.num_nodes();
        let old = self.operator.indices.len();
        let missing = n - self.loops.len();
        // Reserve everything before changing anything: a failure here leaves the graph as it was.
        self.operator.indices.try_reserve_exact(missing)?;
        if let Some(weights) = &mut self.weights {
            weights.try_reserve_exact(missing)?;
            weights.resize(old + missing, 0.0);
        }
        self.operator.indices.resize(old + missing, 0);
        let own_loops = std::mem::take(&mut self.loops);
        let mut loops = own_loops.iter().rev().copied().peekable();
        let mut write = old + missing;
        for v in (0..n).rev() {
            let range = self.range(v);
            self.operator.indptr[v + 1] = write as i64;
            let mut pending = loops.next_if_eq(&(v as i32)).is_none();
            for at in range.rev() {
                let u = self.operator.indices[at];
                if pending && (u as usize) < v {
                    pending = false;
                    write -= 1;
                    self.put(write, v as i32, 0.0);
                }
                write -= 1;
                let weight = self.weights.as_ref().map_or(1.0, |w| w[at]);
                self.put(write, u, weight);
            }
            if pending {
                write -= 1;
                self.put(write, v as i32, 0.0);
            }
        }
        self.loops = own_loops;
        Ok(())
    }

    fn put(&mut self, at: usize, column: i32, weight: f32) {
        self.operator.indices[at] = column;
        if let Some(weights) = &mut self.weights {
            weights[at] = weight;
        }
    }

    /// Takes the diagonal entries that A lacks out of the pattern again.
    fn remove_diagonal(&mut self) {
        let own_loops = std::mem::take(&mut self.loops);
        let mut loops = own_loops.iter().copied().peekable();
        let mut write = 0;
        let mut begin = 0;
        for v in 0..self.num_nodes() {
            let end = self.operator.indptr[v + 1] as usize;
            let looped = loops.next_if_eq(&(v as i32)).is_some();
            for at in begin..end {
                let u = self.operator.indices[at];
                if u as usize != v || looped {
                    let weight = self.weights.as_ref().map_or(1.0, |w| w[at]);
                    self.put(write, u, weight);
                    write += 1;
                }
            }
            begin = end;
            self.operator.indptr[v + 1] = write as i64;
        }
        self.loops = own_loops;
        self.operator.indices.truncate(write);
        self.operator.values.truncate(write);
        if let Some(weights) = &mut self.weights {
            weights.truncate(write);
        }
    }

    /// Â's values from A's, in double precision, rounded once.
    fn fill_values(&mut self, Room { mut looped, mut scale }: Room) {
        let n = self.num_nodes();
        let weight = |at: usize| self.weights.as_ref().map_or(1.0, |w| f64::from(w[at]));
        if self.normalization == Normalization::None {
            let mut values = std::mem::take(&mut self.operator.values);
            values.iter_mut().enumerate().for_each(|(at, value)| *value = weight(at) as f32);
            self.operator.values = values;
            return;
        }
        // (A + I)(v, u): an unweighted diagonal entry that A lacks is stored as a one already.
        self.loops.iter().for_each(|&v| looped[v as usize] = true);
        let entry = |v: usize, at: usize| {
            let diagonal = self.operator.indices[at] as usize == v;
            let identity = diagonal && (looped[v] || self.weights.is_some());
            weight(at) + f64::from(u8::from(identity))
        };
        scale.extend((0..n).map(|v| {
            let degree: f64 = self.range(v).map(|at| entry(v, at)).sum();
            if self.normalization == Normalization::Row { 1.0 / degree } else { 1.0 / degree.sqrt() }
        }));
        let mut values = std::mem::take(&mut self.operator.values);
        for v in 0..n {
            for at in self.range(v) {
                let column = match self.normalization {
                    Normalization::Row => 1.0,
                    _ => scale[self.operator.indices[at] as usize],
                };
                // The scales first: their product is the same for (v, u) and (u, v), bit for bit.
                values[at] = (entry(v, at) * (scale[v] * column)) as f32;
            }
        }
        self.operator.values = values;
    }
}

/// What [`Adjacency::fill_values`] works in, had beforehand: once it has begun it must not fail.
struct Room {
    /// Whether A has a self-loop at a node.
    looped: Vec<bool>,
    scale: Vec<f64>,
}

impl Room {
    fn new(num_nodes: usize) -> Result<Self> {
        Ok(Room { looped: try_filled(num_nodes, false)?, scale: try_with_capacity(num_nodes)? })
    }
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
