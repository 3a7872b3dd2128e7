//! Who is linked to whom, for attention: the pattern of A with or without a self-loop for each node, and where the entries stand in
//! its transpose.

use super::adjacency::{Adjacency, Normalization, Origin};
use super::operators::kept;
use super::{Graph, Operator};
use crate::error::{Error, ForThe, Result, try_filled, try_with_capacity};
use crate::kernel::{Edges, Permuted};
use std::sync::OnceLock;

/// What has been made of A so far; the second of each has self-loops.
#[derive(Default)]
pub struct Neighbours {
    /// The pattern of A + I, unless Â has it.
    looped: OnceLock<(Vec<i64>, Vec<i32>)>,
    permuted: [OnceLock<Transpose>; 2],
}

/// A transposed pattern, which is the pattern itself if that is symmetric, and the place of each entry.
struct Transpose {
    pattern: Option<(Vec<i64>, Vec<i32>)>,
    places: Vec<u32>,
}

impl Graph {
    /// The nodes that each node is linked to, in ascending order; with `own`, each has one self-loop.
    pub fn neighbours(&self, own: bool) -> Result<Edges<'_>> {
        let adjacency = &self.adjacency;
        let operator = match own {
            false => self.operator_of(Operator::Links)?,
            true => self.operator(),
        };
        let has_own = adjacency.normalization() != Normalization::None || adjacency.parts().2.len() == self.num_nodes();
        if own && !has_own {
            let (indptr, indices) =
                kept(&self.operators.neighbours.looped, || looped(adjacency).for_the("pattern of the edges"))?;
            return Ok(Edges { indptr, indices, logs: None });
        }
        Ok(Edges { indptr: operator.indptr, indices: operator.indices, logs: None })
    }

    /// The transpose of [`Graph::neighbours`].
    pub fn permuted_neighbours(&self, own: bool) -> Result<Permuted<'_>> {
        let edges = self.neighbours(own)?;
        let is_symmetric = self.adjacency.origin() == Origin::Edges;
        let made = kept(&self.operators.neighbours.permuted[usize::from(own)], || {
            transpose(edges, is_symmetric).for_the("transposed edges")
        })?;
        let (indptr, rows) = match &made.pattern {
            Some((indptr, rows)) => (&indptr[..], &rows[..]),
            None => (edges.indptr, edges.indices),
        };
        Ok(Permuted { indptr, rows, places: &made.places })
    }
}

/// The pattern with the diagonal entries that it lacks.
fn looped(adjacency: &Adjacency) -> Result<(Vec<i64>, Vec<i32>)> {
    let (operator, _, loops) = adjacency.parts();
    let n = adjacency.num_nodes();
    let mut indptr = try_with_capacity(n + 1)?;
    let mut indices = try_with_capacity(operator.indices.len() + n - loops.len())?;
    indptr.push(0);
    for v in 0..n {
        let row = &operator.indices[operator.indptr[v] as usize..operator.indptr[v + 1] as usize];
        let below = row.partition_point(|&u| (u as usize) < v);
        let above = row.partition_point(|&u| u as usize <= v);
        indices.extend_from_slice(&row[..below]);
        indices.push(v as i32);
        indices.extend_from_slice(&row[above..]);
        indptr.push(indices.len() as i64);
    }
    Ok((indptr, indices))
}

/// The transpose by a counting sort; only the places if the pattern is symmetric.
fn transpose(edges: Edges<'_>, is_symmetric: bool) -> Result<Transpose> {
    let n = edges.indptr.len() - 1;
    if u32::try_from(edges.indices.len()).is_err() {
        return Err(Error::Unsupported("attention: the graph has more than 2^32 - 1 entries".to_string()));
    }
    let mut next = try_filled(n + 1, 0i64)?;
    edges.indices.iter().for_each(|&u| next[u as usize + 1] += 1);
    super::csr::counts_to_offsets(&mut next);
    let mut places = try_filled(edges.indices.len(), 0u32)?;
    let mut rows = if is_symmetric { Vec::new() } else { try_filled(edges.indices.len(), 0i32)? };
    for v in 0..n {
        for at in edges.indptr[v] as usize..edges.indptr[v + 1] as usize {
            let to = &mut next[edges.indices[at] as usize];
            places[*to as usize] = at as u32;
            if !is_symmetric {
                rows[*to as usize] = v as i32;
            }
            *to += 1;
        }
    }
    if is_symmetric {
        return Ok(Transpose { pattern: None, places });
    }
    next.copy_within(0..n, 1);
    next[0] = 0;
    Ok(Transpose { pattern: Some((next, rows)), places })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(graph: &Graph, own: bool, wanted: &[&[i32]]) {
        let edges = graph.neighbours(own).unwrap();
        for (v, wanted) in wanted.iter().enumerate() {
            assert_eq!(&edges.indices[edges.indptr[v] as usize..edges.indptr[v + 1] as usize], *wanted, "{v}, {own}");
        }
        let permuted = graph.permuted_neighbours(own).unwrap();
        let mut seen = vec![false; edges.indices.len()];
        for u in 0..wanted.len() {
            for at in permuted.indptr[u] as usize..permuted.indptr[u + 1] as usize {
                let (v, place) = (permuted.rows[at] as usize, permuted.places[at] as usize);
                assert!(edges.indptr[v] as usize <= place && place < edges.indptr[v + 1] as usize);
                assert_eq!(edges.indices[place] as usize, u);
                assert!(!std::mem::replace(&mut seen[place], true));
            }
        }
        assert!(seen.iter().all(|&seen| seen));
    }

    #[test]
    fn each_node_is_linked_to_itself_once_under_every_normalisation() {
        for normalization in [Normalization::Symmetric, Normalization::Row, Normalization::None] {
            // Node 1 has a self-loop, node 3 is isolated.
            let mut graph = Graph::from_edges(4, &[0, 1, 2], &[1, 1, 0], None).unwrap();
            graph.set_normalization(normalization).unwrap();
            check(&graph, false, &[&[1, 2], &[0, 1], &[0], &[]]);
            check(&graph, true, &[&[0, 1, 2], &[0, 1], &[0, 2], &[3]]);
            let mut graph = Graph::from_csr(4, &[0, 2, 3, 3, 4], &[1, 2, 1, 0], None).unwrap();
            graph.set_normalization(normalization).unwrap();
            check(&graph, false, &[&[1, 2], &[1], &[], &[0]]);
            check(&graph, true, &[&[0, 1, 2], &[1], &[2], &[0, 3]]);
        }
    }
}
