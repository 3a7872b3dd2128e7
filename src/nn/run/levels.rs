//! A whole graph level by level, each in blocks of rows: only what a later level reads is held for all nodes, in memory or in a
//! file. A row has the same bits as in any other pass.

use super::{Kept, Pass, Slot, Workspace};
use crate::error::{ForThe, Result};
use crate::graph::AggregatedRows;
use crate::kernel::Store;
use crate::nn::op::join;
use crate::nn::program::{Node, Program, Source};
use crate::sample::Cut;
use std::mem::take;
use std::path::Path;

/// Where matrices of all nodes go.
#[derive(Clone, Copy)]
pub struct Room<'a> {
    /// Rows of a block.
    pub rows: usize,
    /// Bytes that they may take in memory; then they go to files in this directory.
    pub scratch: Option<(usize, &'a Path)>,
}

impl Workspace {
    /// Computes all primitives of a program made for this, for all nodes. The cut of the pass is not read.
    pub fn forward_by_levels(&mut self, pass: Pass<'_>, room: Room<'_>) -> Result<()> {
        let program = pass.program;
        self.begin(pass);
        self.stored.clear();
        self.stored.resize_with(program.nodes.len(), || None);
        let mut cut = Cut::default();
        for level in 0..=program.levels {
            self.store_level(pass, level, room)?;
            let n = pass.graph.num_nodes();
            for start in (0..n).step_by(room.rows) {
                cut.rows(pass.graph, program.levels, level, start..(start + room.rows).min(n));
                self.compute_block(Pass { cut: &cut, ..pass }, level, start)?;
            }
            for (n, stored) in self.stored.iter_mut().enumerate() {
                if program.last_level_read(n) <= level {
                    *stored = None;
                }
            }
        }
        Ok(())
    }

    /// Makes room for the results of a level that a later one reads.
    fn store_level(&mut self, pass: Pass<'_>, level: usize, room: Room<'_>) -> Result<()> {
        for (n, node) in pass.program.nodes.iter().enumerate() {
            if node.level != level || pass.program.last_level_read(n) <= level {
                continue;
            }
            let len = pass.graph.num_nodes() * node.width;
            let held: usize = self.stored.iter().flatten().map(Store::bytes).sum();
            self.stored[n] = Some(match room.scratch {
                Some((most, directory)) if held + 4 * len > most => Store::in_directory(len, directory)?,
                _ => Store::in_memory(len).for_the("hidden activations")?,
            });
        }
        Ok(())
    }

    fn compute_block(&mut self, pass: Pass<'_>, level: usize, start: usize) -> Result<()> {
        self.find_crossings(pass)?;
        let mut kept = take(&mut self.kept);
        let nodes = pass.program.nodes.iter().enumerate().zip(&mut kept).filter(|((_, node), _)| node.level == level);
        let result = nodes.into_iter().try_for_each(|((n, node), kept)| {
            let mut out = take(&mut self.slots[node.slot].data);
            let result = self.compute(pass, node, kept, &mut out);
            if let Some(stored) = &mut self.stored[n] {
                let to = &mut stored[start * node.width..][..out.len()];
                join::copy(pass.threads, join::View::of(&out, node.width), to);
            }
            self.slots[node.slot].data = out;
            result
        });
        self.kept = kept;
        result
    }

    /// Makes the buffers that a program needs, and forgets what the last pass has prepared.
    pub(super) fn begin(&mut self, pass: Pass<'_>) {
        let program = pass.program;
        if self.slots.len() < program.slots {
            self.slots.resize_with(program.slots, Slot::default);
        }
        if self.kept.len() < program.nodes.len() {
            self.kept.resize_with(program.nodes.len(), Kept::default);
        }
        if self.aggregated.len() < program.aggregated.len() {
            self.aggregated.resize_with(program.aggregated.len(), AggregatedRows::default);
            self.prepared.resize(program.aggregated.len(), false);
        }
        self.prepared.fill(false);
    }
}

impl Program {
    /// The highest level at which a primitive's result is read; the result of the program is read above all levels.
    fn last_level_read(&self, n: usize) -> usize {
        if n + 1 == self.nodes.len() {
            return usize::MAX;
        }
        let reads = |node: &&Node| node.inputs.contains(&Some(Source::Node(n)));
        self.nodes.iter().filter(reads).map(|node| node.level).max().unwrap_or(0)
    }
}
