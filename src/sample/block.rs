//! One block of Â: some rows, the columns they touch, the columns relabelled 0, 1, ….

use crate::error::{Result, try_reserve_with_slack, try_resize};
use crate::kernel::{Rows, Sparse};

/// From node ids to local ids. As long as the graph, but clearing it costs only what was entered.
#[derive(Default)]
pub struct NodeMap {
    /// Local id + 1; 0 = absent.
    ids: Vec<u32>,
}

impl NodeMap {
    /// Makes room for the nodes of a graph.
    pub fn fit(&mut self, num_nodes: usize) -> Result<()> {
        if self.ids.len() < num_nodes {
            try_resize_exact(&mut self.ids, num_nodes)?;
        }
        Ok(())
    }

    /// Local id of `node`, if it has one.
    #[inline(always)]
    pub fn get(&self, node: i32) -> Option<usize> {
        (self.ids[node as usize] as usize).checked_sub(1)
    }

    /// Gives `node` the local id `id`.
    pub fn insert(&mut self, node: i32, id: usize) {
        self.ids[node as usize] = id as u32 + 1;
    }

    /// Forgets `nodes`.
    pub fn remove(&mut self, nodes: &[i32]) {
        nodes.iter().for_each(|&v| self.ids[v as usize] = 0);
    }
}

fn try_resize_exact(v: &mut Vec<u32>, len: usize) -> Result<()> {
    v.try_reserve_exact(len - v.len())?;
    v.resize(len, 0);
    Ok(())
}

/// Columns of a block that have been looked at, with their entries one after the other.
#[derive(Default)]
pub struct Columns {
    /// The node of each column.
    pub nodes: Vec<i32>,
    /// Where each column's entries end.
    pub ends: Vec<usize>,
    /// The first row that has an entry in the column.
    pub first_rows: Vec<u32>,
    /// Row of each entry.
    pub rows: Vec<u32>,
    /// Value of each entry.
    pub values: Vec<f32>,
}

impl Columns {
    /// Forgets all columns and makes room for those of rows with so many entries in all.
    pub fn reserve(&mut self, entries: usize) -> Result<()> {
        self.nodes.clear();
        self.ends.clear();
        self.first_rows.clear();
        self.rows.clear();
        self.values.clear();
        try_reserve_with_slack(&mut self.nodes, entries)?;
        try_reserve_with_slack(&mut self.ends, entries)?;
        try_reserve_with_slack(&mut self.first_rows, entries)?;
        try_reserve_with_slack(&mut self.rows, entries)?;
        try_reserve_with_slack(&mut self.values, entries)
    }

    /// Adds column `u` of the rows `above`, whose places are in `places`; [`Columns::reserve`] has made room. Takes the
    /// cheaper way: read row u of a symmetric Â, or search for u in each row above.
    pub fn push(&mut self, operator: Sparse<'_>, u: i32, above: &[i32], places: &NodeMap) {
        let (neighbours, weights) = operator.row(u as usize);
        let start = self.rows.len();
        if neighbours.len() <= 4 * above.len() {
            for (&v, &a) in neighbours.iter().zip(weights) {
                if let Some(row) = places.get(v) {
                    self.rows.push(row as u32);
                    self.values.push(a);
                }
            }
        } else {
            for (row, &v) in above.iter().enumerate() {
                let (columns, values) = operator.row(v as usize);
                if let Ok(at) = columns.binary_search(&u) {
                    self.rows.push(row as u32);
                    self.values.push(values[at]);
                }
            }
        }
        let first = self.rows[start..].iter().copied().min().unwrap_or(u32::MAX);
        self.nodes.push(u);
        self.ends.push(self.rows.len());
        self.first_rows.push(first);
    }
}

/// A block of Â, or of Â with its columns weighted. Buffers are reused from cut to cut.
#[derive(Default)]
pub struct Block {
    indptr: Vec<i64>,
    indices: Vec<i32>,
    values: Vec<f32>,
    nodes: Vec<i32>,
}

impl Block {
    /// The node of each column.
    pub fn nodes(&self) -> &[i32] {
        &self.nodes
    }

    /// The entries, columns by local id.
    pub fn view(&self) -> Sparse<'_> {
        Sparse { indptr: &self.indptr, indices: &self.indices, values: &self.values }
    }

    /// The left factor of a product with what the layer below gives.
    pub fn rows(&self) -> Rows<'_> {
        Rows::Sparse(self.view())
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        8 * self.indptr.capacity() + 4 * (self.indices.capacity() + self.values.capacity() + self.nodes.capacity())
    }

    /// Forgets the block and makes room for one of so many entries.
    pub fn reserve(&mut self, entries: usize) -> Result<()> {
        for buffer in [&mut self.indices, &mut self.nodes] {
            buffer.clear();
            try_reserve_with_slack(buffer, entries)?;
        }
        self.values.clear();
        try_reserve_with_slack(&mut self.values, entries)
    }

    /// Reads the rows `above` of Â. Columns get local ids in the order in which they are met, and keep them in `map`
    /// until [`Block::forget`].
    pub fn read(&mut self, operator: Sparse<'_>, above: &[i32], map: &mut NodeMap) -> Result<()> {
        let entries = above.iter().map(|&v| operator.indptr[v as usize + 1] - operator.indptr[v as usize]).sum::<i64>();
        self.reserve(entries as usize)?;
        self.indptr.clear();
        try_reserve_with_slack(&mut self.indptr, above.len() + 1)?;
        self.indptr.push(0);
        for &v in above {
            let (columns, values) = operator.row(v as usize);
            for &u in columns {
                let id = map.get(u).unwrap_or_else(|| {
                    map.insert(u, self.nodes.len());
                    self.nodes.push(u);
                    self.nodes.len() - 1
                });
                self.indices.push(id as i32);
            }
            self.values.extend_from_slice(values);
            self.indptr.push(self.indices.len() as i64);
        }
        Ok(())
    }

    /// Takes over `nodes` as columns and entries given column by column, of which those with scale 0 stay out.
    pub fn assemble(&mut self, num_rows: usize, columns: &Columns, scale: &[f32]) -> Result<()> {
        let Columns { nodes, ends, rows, values, .. } = columns;
        try_resize(&mut self.indptr, num_rows + 1)?;
        try_resize(&mut self.indices, rows.len())?;
        try_resize(&mut self.values, rows.len())?;
        self.nodes.clear();
        try_reserve_with_slack(&mut self.nodes, nodes.len())?;
        self.indptr.fill(0);
        let range = |u: usize| if u == 0 { 0 } else { ends[u - 1] }..ends[u];
        let drawn = || (0..nodes.len()).filter(|&u| scale[u] != 0.0);
        drawn().flat_map(range).for_each(|at| self.indptr[rows[at] as usize + 1] += 1);
        for row in 0..num_rows {
            self.indptr[row + 1] += self.indptr[row];
        }
        for u in drawn() {
            for at in range(u) {
                let to = &mut self.indptr[rows[at] as usize];
                self.indices[*to as usize] = self.nodes.len() as i32;
                self.values[*to as usize] = values[at] * scale[u];
                *to += 1;
            }
            self.nodes.push(nodes[u]);
        }
        self.indptr.copy_within(0..num_rows, 1);
        self.indptr[0] = 0;
        let entries = self.indptr[num_rows] as usize;
        self.indices.truncate(entries);
        self.values.truncate(entries);
        Ok(())
    }

    /// Drops the rows that have no entry, and their nodes from `above`.
    pub fn drop_empty_rows(&mut self, above: &mut Vec<i32>) {
        let mut kept = 0;
        for row in 0..above.len() {
            if self.indptr[row + 1] > self.indptr[row] {
                above[kept] = above[row];
                kept += 1;
                self.indptr[kept] = self.indptr[row + 1];
            }
        }
        above.truncate(kept);
        self.indptr.truncate(kept + 1);
    }

    /// Takes the columns' local ids out of `map`.
    pub fn forget(&self, map: &mut NodeMap) {
        map.remove(&self.nodes);
    }

    /// `Σ_v Â(v,u)²` over the block's rows, for each column.
    pub fn column_squares(&self, squares: &mut [f64]) {
        squares.fill(0.0);
        for (&u, &a) in self.indices.iter().zip(&self.values) {
            squares[u as usize] += f64::from(a) * f64::from(a);
        }
    }

    /// Multiplies column `u` by `scale[u]` and drops the columns whose scale is 0, with the ids closed up. `ids` is
    /// scratch.
    pub fn keep_columns(&mut self, scale: &[f32], ids: &mut Vec<i32>) -> Result<()> {
        try_resize(ids, scale.len())?;
        let mut kept = 0;
        for (u, &s) in scale.iter().enumerate() {
            ids[u] = kept as i32;
            if s != 0.0 {
                self.nodes[kept] = self.nodes[u];
                kept += 1;
            }
        }
        self.nodes.truncate(kept);
        let (mut begin, mut write) = (0, 0);
        for row in 1..self.indptr.len() {
            let end = self.indptr[row] as usize;
            for at in begin..end {
                let u = self.indices[at] as usize;
                if scale[u] != 0.0 {
                    self.indices[write] = ids[u];
                    self.values[write] = self.values[at] * scale[u];
                    write += 1;
                }
            }
            begin = end;
            self.indptr[row] = write as i64;
        }
        self.indices.truncate(write);
        self.values.truncate(write);
        Ok(())
    }
}
