//! Local ids: the nodes of a block are numbered 0, 1, … in the order in which they are met.

use crate::error::{Result, try_reserve_exact};
use std::hint::select_unpredictable;

/// Maps node ids to local ids. It has an entry for each node of the graph; clearing it costs as much as was inserted.
#[derive(Default)]
pub struct NodeMap {
    /// Local id + 1; 0 = absent.
    ids: Vec<u32>,
}

impl NodeMap {
    /// Makes room for the nodes of a graph.
    pub fn fit(&mut self, num_nodes: usize) -> Result<()> {
        if self.ids.len() < num_nodes {
            let more = num_nodes - self.ids.len();
            try_reserve_exact(&mut self.ids, more)?;
            self.ids.resize(num_nodes, 0);
        }
        Ok(())
    }

    /// The local id of `node`, if it has one.
    #[inline(always)]
    pub fn get(&self, node: i32) -> Option<usize> {
        (self.ids[node as usize] as usize).checked_sub(1)
    }

    /// The local id of `node`; -1 if it has none.
    #[inline(always)]
    pub fn get_or_minus_one(&self, node: i32) -> i32 {
        self.ids[node as usize].wrapping_sub(1) as i32
    }

    /// Gives `node` the local id `id`.
    pub fn insert(&mut self, node: i32, id: usize) {
        self.ids[node as usize] = id as u32 + 1;
    }

    /// Gives each of `nodes` its position in the list.
    pub fn insert_list(&mut self, nodes: &[i32]) {
        let ids = &mut self.ids[..];
        nodes.iter().zip(1..).for_each(|(&v, id)| ids[v as usize] = id);
    }

    /// The local id of `node`, which becomes `id` if the node has none yet.
    #[inline(always)]
    pub fn get_or_insert(&mut self, node: i32, id: usize) -> usize {
        let known = &mut self.ids[node as usize];
        *known = select_unpredictable(*known == 0, id as u32 + 1, *known);
        *known as usize - 1
    }

    /// Removes `nodes`.
    pub fn remove(&mut self, nodes: &[i32]) {
        let ids = &mut self.ids[..];
        nodes.iter().for_each(|&v| ids[v as usize] = 0);
    }
}
