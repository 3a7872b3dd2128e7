//! Cuts single blocks: chooses the columns of a block and weights them.

use super::columns::{Columns, Matches};
use super::{Block, Draws, Hop, Key, Marks, NodeMap, RowSpans};
use crate::error::{Error, Result, try_resize};
use crate::graph::{Graph, Operator};
use crate::random::{Purpose, Stream};
use std::hint::select_unpredictable;

/// Scratch for cutting, as long as the graph. One serves many cuts.
#[derive(Default)]
pub struct Sampler {
    /// Local ids of a block's columns, or of those that have been looked at, or positions of the rows above.
    pub(super) map: NodeMap,
    pub(super) masses: Vec<f64>,
    /// Running sums of the masses.
    sums: Vec<f64>,
    pub(super) counts: Vec<u64>,
    pub(super) scale: Vec<f32>,
    pub(super) ids: Vec<i32>,
    /// Where the rows above are.
    pub(super) rows: RowSpans,
    /// All nodes drawn, also those that no row above touches.
    pub(super) drawn: Vec<i32>,
    /// The row of each entry picked, and its place in Â, which becomes the local id of its column.
    pub(super) picks: Vec<(i32, usize)>,
    /// Nodes drawn that had been drawn before, once for each time.
    pub(super) repeats: Vec<i32>,
    /// Nodes of the graph that have been drawn, or that are above.
    pub(super) marks: Marks,
    /// Entries of the rows above whose column was drawn, or of columns whose row is above.
    pub(super) matches: Matches,
    pub(super) columns: Columns,
}

impl Sampler {
    /// Makes room for the nodes of a graph.
    pub fn fit(&mut self, graph: &Graph) -> Result<()> {
        self.map.fit(graph.num_nodes())
    }

    /// Checks that no item of `batch`, ids below `count`, appears in it twice. The time depends on the length of the batch
    /// alone.
    pub fn check_distinct(&mut self, count: usize, batch: &[i32], name: &str) -> Result<()> {
        self.map.fit(count)?;
        let mut repeated = None;
        for (i, &v) in batch.iter().enumerate() {
            if self.map.get(v).is_some() {
                repeated = Some(Error::entry(name, i, v, "stands in the list twice"));
                break;
            }
            self.map.insert(v, i);
        }
        self.map.remove(batch);
        repeated.map_or(Ok(()), Err)
    }

    /// Cuts the block of one hop below the rows `above`. Requires [`Sampler::fit`].
    pub fn cut_block(
        &mut self,
        of: (&Graph, Operator),
        block: &mut Block,
        above: &[i32],
        (draws, key, hop): (Draws<'_>, Key, usize),
    ) -> Result<()> {
        let operator = of.0.operator_of(of.1)?;
        self.rows.look_up(operator, above)?;
        if let &Hop::Draw(size) = draws.at(hop)
            && self.draw_uniform(of, block, above, size, (draws, key, hop))?
        {
            return Ok(());
        }
        let chosen =
            block.read(operator, &self.rows, &mut self.map).and_then(|()| self.choose(of, block, (draws, key, hop)));
        // Also after an error, the map must be empty for the next block.
        block.remove_from(&mut self.map);
        if chosen? { block.keep_columns(&self.scale, &mut self.ids) } else { Ok(()) }
    }

    /// Chooses columns of a block just read and sets their scale; `false` if all of them stay as they are.
    fn choose(
        &mut self,
        of: (&Graph, Operator),
        block: &Block,
        (draws, key, hop): (Draws<'_>, Key, usize),
    ) -> Result<bool> {
        let distribution = draws.distribution;
        match draws.at(hop) {
            Hop::Exact => return Ok(false),
            &Hop::Draw(size) => {
                let total = distribution.masses(of, block, &mut self.masses)?;
                let mut stream = Stream::new(key.seed, Purpose::Draws, key.step, hop as u64);
                self.draw(size, total, distribution.is_flat(), &mut stream)?;
                self.weigh(size, total)?;
            }
            Hop::Given(nodes) => {
                let total = distribution.masses(of, block, &mut self.masses)?;
                self.count(nodes)?;
                self.weigh(nodes.len(), total)?;
            }
        }
        Ok(true)
    }

    /// Draws `size` nodes and counts those that fall on the block's columns. `flat` means that all masses are 1.
    fn draw(&mut self, size: usize, total: f64, flat: bool, stream: &mut Stream) -> Result<()> {
        let columns = self.masses.len();
        try_resize(&mut self.counts, columns)?;
        self.counts.fill(0);
        let mut mass = columns as f64;
        if !flat {
            try_resize(&mut self.sums, columns)?;
            mass = 0.0;
            for (sum, m) in self.sums.iter_mut().zip(&self.masses) {
                mass += m;
                *sum = mass;
            }
        }
        if mass <= 0.0 {
            return Ok(());
        }
        let useful = if mass >= total { size as u64 } else { stream.binomial(size as u64, mass / total) };
        // A binomial number costs about as much as this many draws.
        const MANY: u64 = 16;
        if useful / MANY > columns as u64 {
            self.draw_many(useful, mass, stream);
            return Ok(());
        }
        for _ in 0..useful {
            let column = if flat {
                stream.below(columns as u64) as usize
            } else {
                let at = stream.unit() * mass;
                self.sums.partition_point(|&sum| sum <= at).min(columns - 1)
            };
            self.counts[column] += 1;
        }
        Ok(())
    }

    /// Counts of this many draws, column by column: the count of a column is binomial among the draws that are left. The cost
    /// does not depend on the number of draws.
    fn draw_many(&mut self, draws: u64, mass: f64, stream: &mut Stream) {
        let (mut left, mut mass_left, mut last) = (draws, mass, 0);
        for (i, (count, &m)) in self.counts.iter_mut().zip(&self.masses).enumerate().filter(|(_, (_, m))| **m > 0.0) {
            *count = stream.binomial(left, m / mass_left).min(left);
            left -= *count;
            mass_left -= m;
            last = i;
        }
        // What rounding has left over.
        self.counts[last] += left;
    }

    /// Counts the given draws that fall on the block's columns.
    fn count(&mut self, nodes: &[i32]) -> Result<()> {
        try_resize(&mut self.counts, self.masses.len())?;
        self.counts.fill(0);
        nodes.iter().filter_map(|&u| self.map.get(u)).for_each(|id| self.counts[id] += 1);
        Ok(())
    }

    /// From counts to the columns' weights: count / (t·P(u)).
    fn weigh(&mut self, size: usize, total: f64) -> Result<()> {
        try_resize(&mut self.scale, self.counts.len())?;
        for ((scale, &count), &mass) in self.scale.iter_mut().zip(&self.counts).zip(&self.masses) {
            // A column of mass 0 has only entries of 0; dividing by its mass would make them NaN.
            let weight = count as f64 * total / (size as f64 * mass);
            *scale = select_unpredictable(count > 0 && mass > 0.0, weight as f32, 0.0);
        }
        Ok(())
    }
}
