//! Who is linked to whom between two levels, for attention, and the transpose of it.

use crate::error::{Error, ForThe, Result, try_reserve_with_slack, try_resize};
use crate::kernel::{Edges, Permuted, Pick, Sparse};

/// Rows of links, and the transpose of them with the place of each entry. Buffers are reused from cut to cut.
#[derive(Default)]
pub struct Neighbours {
    indptr: Vec<i64>,
    indices: Vec<i32>,
    /// The logarithms of the weights, if one of them is not 1.
    logs: Vec<f32>,
    is_weighted: bool,
    transposed: Vec<i64>,
    rows: Vec<i32>,
    places: Vec<u32>,
}

impl Neighbours {
    /// Copies the picked rows of links whose values are the weights of the columns. With `own`, the column of each row's own node,
    /// its entry there is replaced by one of weight 1, also where there is none. `nodes` are those of the rows and of the columns:
    /// entries keep their order, and a new one is put before the first entry of a larger node, as in the graph.
    pub fn read(
        &mut self,
        (links, pick, count): (Sparse<'_>, Pick<'_>, usize),
        own: Option<Pick<'_>>,
        nodes: [Pick<'_>; 2],
    ) -> Result<()> {
        let entries: usize = (0..count).map(|i| links.row(pick.at(i)).0.len()).sum();
        let most = entries + own.map_or(0, |_| count);
        for buffer in [&mut self.indices, &mut self.rows] {
            buffer.clear();
            try_reserve_with_slack(buffer, most).for_the("edges")?;
        }
        self.logs.clear();
        try_reserve_with_slack(&mut self.logs, most).for_the("edges")?;
        try_resize(&mut self.indptr, count + 1).for_the("edges")?;
        (self.indptr[0], self.is_weighted) = (0, false);
        for i in 0..count {
            let (columns, weights) = links.row(pick.at(i));
            let mut own = own.map(|own| own.at(i) as i32);
            let node = nodes[0].at(i);
            let skipped = own;
            for (&u, &weight) in columns.iter().zip(weights) {
                if own.is_some() && nodes[1].at(u as usize) >= node {
                    self.push(own.take(), 1.0);
                }
                if skipped != Some(u) {
                    self.push(Some(u), weight);
                }
            }
            self.push(own, 1.0);
            self.indptr[i + 1] = self.indices.len() as i64;
        }
        Ok(())
    }

    fn push(&mut self, column: Option<i32>, weight: f32) {
        if let Some(column) = column {
            self.indices.push(column);
            self.logs.push(if weight == 1.0 { 0.0 } else { weight.ln() });
            self.is_weighted |= weight != 1.0;
        }
    }

    /// Makes the transpose, for this many columns.
    pub fn transpose(&mut self, columns: usize) -> Result<()> {
        let entries = self.indices.len();
        if u32::try_from(entries).is_err() {
            return Err(Error::Unsupported("attention: a block has more than 2^32 - 1 entries".to_string()));
        }
        try_resize(&mut self.transposed, columns + 1).for_the("transposed edges")?;
        try_resize(&mut self.rows, entries).for_the("transposed edges")?;
        try_resize(&mut self.places, entries).for_the("transposed edges")?;
        let next = &mut self.transposed[..];
        next.fill(0);
        self.indices.iter().for_each(|&u| next[u as usize + 1] += 1);
        for u in 0..columns {
            next[u + 1] += next[u];
        }
        for v in 0..self.indptr.len() - 1 {
            for at in self.indptr[v] as usize..self.indptr[v + 1] as usize {
                let to = &mut next[self.indices[at] as usize];
                self.rows[*to as usize] = v as i32;
                self.places[*to as usize] = at as u32;
                *to += 1;
            }
        }
        next.copy_within(0..columns, 1);
        next[0] = 0;
        Ok(())
    }

    /// The rows of [`Neighbours::read`].
    pub fn edges(&self) -> Edges<'_> {
        Edges { indptr: &self.indptr, indices: &self.indices, logs: self.is_weighted.then_some(&self.logs) }
    }

    /// What [`Neighbours::transpose`] has made.
    pub fn permuted(&self) -> Permuted<'_> {
        Permuted { indptr: &self.transposed, rows: &self.rows, places: &self.places }
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        8 * (self.indptr.capacity() + self.transposed.capacity())
            + 4 * (self.indices.capacity() + self.logs.capacity() + self.rows.capacity() + self.places.capacity())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINKS: Sparse<'_> =
        Sparse { indptr: &[0, 2, 4, 4, 5], indices: &[2, 0, 1, 3, 0], values: &[1.0, 2.0, 1.0, 1.0, 1.0] };

    #[test]
    fn own_entries_are_put_where_their_nodes_would_stand() {
        let mut neighbours = Neighbours::default();
        // Nodes of the columns, ascending in each row of links; own nodes are columns 0, 3, 4 and 1.
        let (columns, rows) = ([50, 40, 30, 60, 20], [50, 60, 20, 40]);
        let own = Pick::List(&[0, 3, 4, 1]);
        neighbours.read((LINKS, Pick::From(0), 4), Some(own), [Pick::List(&rows), Pick::List(&columns)]).unwrap();
        let edges = neighbours.edges();
        assert_eq!(edges.indptr, [0, 2, 4, 5, 7]);
        assert_eq!(edges.indices, [2, 0, 1, 3, 4, 1, 0]);
        assert!(edges.logs.is_none(), "the own entry of row 0 has lost its weight");
        neighbours.transpose(5).unwrap();
        let permuted = neighbours.permuted();
        assert_eq!(permuted.indptr, [0, 2, 4, 5, 6, 7]);
        assert_eq!(permuted.rows, [0, 3, 1, 3, 0, 1, 2]);
        assert_eq!(permuted.places, [1, 6, 2, 5, 0, 3, 4]);
    }

    #[test]
    fn without_own_entries_links_are_copied_with_the_logarithms_of_their_weights() {
        let mut neighbours = Neighbours::default();
        let list = [3, 0, 0];
        let all = Pick::From(0);
        neighbours.read((LINKS, Pick::List(&list), 3), None, [all, all]).unwrap();
        let edges = neighbours.edges();
        assert_eq!(edges.indptr, [0, 1, 3, 5]);
        assert_eq!(edges.indices, [0, 2, 0, 2, 0]);
        assert_eq!(edges.logs.unwrap(), [0.0, 0.0, 2f32.ln(), 0.0, 2f32.ln()]);
    }
}
