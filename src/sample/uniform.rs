//! Uniform draws, made without knowing S, the columns that the rows above touch.

use super::{Block, Distribution, Draws, Key, Sampler};
use crate::error::{Result, try_reserve_with_slack, try_resize};
use crate::graph::{Graph, Operator};
use crate::kernel::{Sparse, prefetch};
use crate::random::{Purpose, Stream};

/// How uniform draws are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UniformMethod {
    /// See [`Sampler::draw_by_rows`].
    ByRows,
    /// See [`Sampler::draw_by_columns`].
    ByColumns,
    /// As from any other distribution, when S is known.
    AfterReading,
}

impl UniformMethod {
    /// The cheapest method for `size` draws of `num_nodes` nodes, with this many rows above and entries in them.
    pub fn cheapest(symmetric: bool, rows: usize, entries: usize, size: usize, num_nodes: usize) -> Self {
        // By columns t·E/n entries are picked. Each costs as much as reading a dozen entries or making a few draws.
        let picked = size as f64 * entries as f64 / num_nodes as f64;
        let by_columns = symmetric && entries <= num_nodes && size <= num_nodes / 5;
        let by_rows = size <= entries / 2;
        match (by_rows, by_columns) {
            (true, true) if 3.0 * picked < rows as f64 => UniformMethod::ByColumns,
            (true, _) => UniformMethod::ByRows,
            (false, true) => UniformMethod::ByColumns,
            (false, false) => UniformMethod::AfterReading,
        }
    }
}

impl Sampler {
    /// Makes uniform draws by one of the two methods that do not need to know S. Returns `false` if reading S first is
    /// cheaper, or if the distribution is another one.
    pub(super) fn draw_uniform(
        &mut self,
        (graph, operator): (&Graph, Operator),
        block: &mut Block,
        above: &[i32],
        size: usize,
        (draws, key, hop): (Draws<'_>, Key, usize),
    ) -> Result<bool> {
        if !matches!(draws.distribution, Distribution::Uniform) {
            return Ok(false);
        }
        // Entries that are found by columns are not in the order of their columns, by which a maximum breaks ties.
        let symmetric = operator != Operator::Links && graph.is_symmetric_operator(operator);
        let (operator, num_nodes) = (graph.operator_of(operator)?, graph.num_nodes());
        let entries = self.rows.entries();
        let method = UniformMethod::cheapest(symmetric, above.len(), entries, size, num_nodes);
        if method == UniformMethod::AfterReading {
            return Ok(false);
        }
        self.reserve(block, entries)?;
        self.marks.fit(num_nodes)?;
        let mut stream = Stream::new(key.seed, Purpose::Draws, key.step, hop as u64);
        let weight = num_nodes as f64 / size as f64;
        match method {
            UniformMethod::ByRows => self.draw_by_rows(operator, block, (size, weight), &mut stream)?,
            _ => self.draw_by_columns(operator, block, above, (size, weight), &mut stream)?,
        }
        Ok(true)
    }

    /// Draws from all nodes and keeps the entries of the rows above whose column was drawn.
    fn draw_by_rows(
        &mut self,
        operator: Sparse<'_>,
        block: &mut Block,
        (size, weight): (usize, f64),
        stream: &mut Stream,
    ) -> Result<()> {
        try_resize(&mut self.drawn, size)?;
        try_resize(&mut self.repeats, size + 1)?;
        stream.fill_below(operator.num_rows() as u32, &mut self.drawn);
        let repeats = self.marks.insert(&self.drawn, &mut self.repeats);
        let draws = (&self.marks, &self.repeats[..repeats]);
        let read = block.read_drawn(operator, &self.rows, draws, weight, &mut self.map, &mut self.matches);
        block.remove_from(&mut self.map);
        self.marks.remove(&self.drawn);
        read
    }

    /// For a symmetric Â. Reads neither all rows above nor all their columns. It picks an entry of those rows in place of a
    /// node: each of t draws picks one of E entries with probability E/n, and counts if that entry is the first one of its
    /// column. So each column of S is drawn with probability 1/n, however many entries it has.
    fn draw_by_columns(
        &mut self,
        operator: Sparse<'_>,
        block: &mut Block,
        above: &[i32],
        (size, weight): (usize, f64),
        stream: &mut Stream,
    ) -> Result<()> {
        let entries = self.rows.offsets[above.len()];
        let candidates = stream.binomial(size as u64, entries as f64 / operator.num_rows() as f64);
        self.pick(operator, above, entries, candidates as usize, stream)?;
        self.map.insert_list(above);
        self.marks.insert_distinct(above);
        let read = self.columns.read(operator, above, (&self.marks, &self.map), &mut self.matches);
        self.marks.remove(above);
        self.map.remove(above);
        read?;
        try_resize(&mut self.counts, self.columns.nodes.len())?;
        self.counts.fill(0);
        for &(row, column) in &self.picks {
            self.counts[column] += u64::from(self.columns.first_rows[column] == row);
        }
        try_resize(&mut self.scale, self.counts.len())?;
        self.scale.iter_mut().zip(&self.counts).for_each(|(scale, &count)| *scale = (count as f64 * weight) as f32);
        block.assemble(above.len(), &self.columns, &self.scale)
    }

    /// Makes room for either method: which one a step takes depends on its draws, and no later step is to allocate.
    fn reserve(&mut self, block: &mut Block, entries: usize) -> Result<()> {
        self.masses.clear();
        try_reserve_with_slack(&mut self.masses, entries)?;
        block.reserve(entries)?;
        self.columns.reserve(entries)?;
        self.matches.reserve(entries)?;
        self.rows.reserve_list(entries)?;
        self.counts.clear();
        try_reserve_with_slack(&mut self.counts, entries)?;
        self.scale.clear();
        try_reserve_with_slack(&mut self.scale, entries)?;
        self.ids.clear();
        try_reserve_with_slack(&mut self.ids, entries)
    }

    /// Picks `candidates` entries of the rows above, and lists their columns.
    fn pick(
        &mut self,
        operator: Sparse<'_>,
        above: &[i32],
        entries: u64,
        candidates: usize,
        stream: &mut Stream,
    ) -> Result<()> {
        self.picks.clear();
        try_reserve_with_slack(&mut self.picks, candidates)?;
        try_resize(&mut self.drawn, candidates)?;
        // There are no more entries than nodes, or this method would not have been chosen.
        stream.fill_below(entries as u32, &mut self.drawn);
        // Listing the rows of all entries costs as much as searching for a few.
        let listed = 4 * candidates > above.len();
        if listed {
            self.rows.list_rows();
        }
        for &entry in &self.drawn {
            let row = if listed { self.rows.row_of[entry as usize] as usize } else { self.rows.row_with(entry as u64) };
            let at = self.rows.starts[row] + (entry as u64 - self.rows.offsets[row]) as usize;
            prefetch(operator.indices, at);
            self.picks.push((row as i32, at));
        }
        let nodes = &mut self.columns.nodes;
        nodes.resize(candidates.min(entries as usize) + 1, 0);
        let mut known = 0;
        for (_, at) in &mut self.picks {
            let u = operator.indices[*at];
            prefetch(operator.indptr, u as usize);
            // Always written, and stays if it is new.
            nodes[known] = u;
            *at = self.map.get_or_insert(u, known);
            known += usize::from(*at == known);
        }
        nodes.truncate(known);
        self.map.remove(nodes);
        Ok(())
    }
}
