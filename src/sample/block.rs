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

    /// Reads the rows `above` of Â. Columns get local ids in the order in which they are met, and keep them in `map`
    /// until [`Block::forget`].
    pub fn read(&mut self, operator: Sparse<'_>, above: &[i32], map: &mut NodeMap) -> Result<()> {
        let entries = above.iter().map(|&v| operator.indptr[v as usize + 1] - operator.indptr[v as usize]).sum::<i64>();
        for buffer in [&mut self.indices, &mut self.nodes] {
            buffer.clear();
            try_reserve_with_slack(buffer, entries as usize)?;
        }
        self.values.clear();
        try_reserve_with_slack(&mut self.values, entries as usize)?;
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
