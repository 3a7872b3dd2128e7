//! The chain of blocks of one gradient or prediction, from the batch down to the input.

use super::block::{Columns, Found, Marks, RowSpans};
use super::{Block, Distribution, NodeMap};
use crate::error::{Error, Result, try_reserve_with_slack, try_resize, try_with_capacity};
use crate::graph::Graph;
use crate::kernel::{Pick, Sparse, prefetch};
use crate::random::{Purpose, Stream};
use std::hint::select_unpredictable;

/// How a layer's input nodes are chosen.
#[derive(Clone, Copy)]
pub enum Layer<'a> {
    /// All that the rows above touch.
    Exact,
    /// This many draws with replacement.
    Draw(usize),
    /// These draws.
    Given(&'a [i32]),
}

/// Where the draws of one chain come from: a distribution, and the key of the random numbers.
pub struct Draws<'a> {
    /// P.
    pub distribution: &'a Distribution,
    /// The caller's seed.
    pub seed: u64,
    /// Gradients since the seed was set.
    pub step: u64,
}

/// Scratch of [`Chain::cut`], as long as the graph; one serves many chains.
#[derive(Default)]
pub struct Sampler {
    /// Local ids of a block's columns, or of those that have been looked at, or places of the rows above.
    map: NodeMap,
    masses: Vec<f64>,
    /// Running sums of the masses.
    sums: Vec<f64>,
    counts: Vec<u64>,
    scale: Vec<f32>,
    ids: Vec<i32>,
    /// Where the rows above are.
    rows: RowSpans,
    /// Nodes drawn, useful or not.
    drawn: Vec<i32>,
    /// Row of each entry picked, and where it is in Â; then its column, by local id.
    picks: Vec<(i32, usize)>,
    /// Those that have been drawn before, once for every time.
    again: Vec<i32>,
    /// Which nodes of the graph have been drawn, or stand above.
    marks: Marks,
    /// Entries of the rows above that meet a draw, or of columns that meet a row above.
    found: Found,
    columns: Columns,
}

/// Which rows and columns of Â each layer uses. Buffers are reused from cut to cut.
#[derive(Default)]
pub struct Chain {
    /// The nodes whose output is wanted; unused when those are `all`.
    top: Vec<i32>,
    all: bool,
    /// Block l feeds layer l. Block 0 is unused when the input is exact: rows of ÂX stand for it.
    blocks: Vec<Block>,
    /// All nodes below the last layer: rows of Â itself are every block.
    whole: bool,
    exact_input: bool,
    /// Â is the identity and nothing is drawn: every layer is of the nodes at the top, and no block is needed.
    identity: bool,
    num_nodes: usize,
    /// Number of layers below `top`.
    depth: usize,
    /// Nodes asked for that no draw meets: their output is 0, and they are not in `top`.
    missed: usize,
    /// How often it has been cut.
    cuts: u64,
}

impl Chain {
    /// All nodes, nothing drawn.
    pub fn whole(&mut self, graph: &Graph) {
        (self.all, self.whole) = (true, true);
        self.exact_input = true;
        self.identity = graph.is_identity();
        self.num_nodes = graph.num_nodes();
    }

    /// The nodes `top`, no two the same, and all nodes below them, nothing drawn. For gradients if Â is symmetric.
    pub fn whole_below(&mut self, graph: &Graph, top: &[i32], num_layers: usize) -> Result<()> {
        self.whole(graph);
        self.all = false;
        // No more than that: they are many, and the same every time.
        if self.top.capacity() < top.len() {
            self.top = Vec::new();
            self.top = try_with_capacity(top.len())?;
        }
        self.set_top(top, num_layers)
    }

    fn set_top(&mut self, top: &[i32], num_layers: usize) -> Result<()> {
        self.cuts += 1;
        (self.depth, self.missed) = (num_layers, 0);
        self.top.clear();
        try_reserve_with_slack(&mut self.top, top.len())?;
        self.top.extend_from_slice(top);
        Ok(())
    }

    /// The nodes `top` and what `num_layers` layers need below them; `choose(l)` tells how layer l's input is chosen.
    pub fn cut<'a>(
        &mut self,
        graph: &Graph,
        top: &[i32],
        num_layers: usize,
        choose: impl Fn(usize) -> Layer<'a>,
        draws: &Draws<'_>,
        sampler: &mut Sampler,
    ) -> Result<()> {
        sampler.map.fit(graph.num_nodes())?;
        (self.all, self.whole) = (false, false);
        self.num_nodes = graph.num_nodes();
        self.exact_input = matches!(choose(0), Layer::Exact);
        self.identity = graph.is_identity() && (0..num_layers).all(|l| matches!(choose(l), Layer::Exact));
        self.set_top(top, num_layers)?;
        if self.identity {
            return Ok(());
        }
        if self.blocks.len() < num_layers {
            self.blocks.resize_with(num_layers, Block::default);
        }
        for l in (usize::from(self.exact_input)..num_layers).rev() {
            let (block, above) = self.blocks[l..].split_first_mut().expect("a block per layer");
            let above = if l + 1 == num_layers { &self.top } else { above[0].nodes() };
            sampler.rows.look_up(graph.operator(), above)?;
            if let Layer::Draw(size) = choose(l)
                && sampler.draw_uniform(graph, block, above, size, draws, l)?
            {
                continue;
            }
            let chosen = block
                .read(graph.operator(), &sampler.rows, &mut sampler.map)
                .and_then(|()| sampler.choose(graph, block, choose(l), draws, l));
            // Whatever went wrong, the map must be empty for the next block.
            block.forget(&mut sampler.map);
            if chosen? {
                block.keep_columns(&sampler.scale, &mut sampler.ids)?;
            }
        }
        if !matches!(choose(num_layers - 1), Layer::Exact) {
            self.blocks[num_layers - 1].drop_empty_rows(&mut self.top);
            self.missed = top.len() - self.top.len();
        }
        Ok(())
    }

    /// Tells one cut from the next, from 1.
    pub fn number_of_cut(&self) -> u64 {
        self.cuts
    }

    /// The node of the i-th row of the last layer's output.
    pub fn node_above(&self, i: usize) -> usize {
        if self.all { i } else { self.top[i] as usize }
    }

    /// The nodes whose output is computed.
    pub fn top(&self) -> &[i32] {
        &self.top
    }

    /// How many more were asked for, whose output is 0.
    pub fn missed(&self) -> usize {
        self.missed
    }

    /// Whether layer 0 reads rows of ÂX.
    pub fn exact_input(&self) -> bool {
        self.exact_input
    }

    /// Whether every layer takes just its own nodes in, each by itself.
    pub fn identity(&self) -> bool {
        self.identity
    }

    /// Whether all nodes are at the input of every layer, whose operator is rows of Â. Not that of an identity, which has none.
    pub fn is_whole(&self) -> bool {
        self.whole
    }

    /// Number of nodes that layer `l` computes.
    pub fn count_above(&self, l: usize) -> usize {
        match self.pick_above(l) {
            Pick::From(_) => self.num_nodes,
            Pick::List(nodes) => nodes.len(),
        }
    }

    /// The nodes that layer `l` computes, as rows to pick from a matrix of all nodes.
    pub fn pick_above(&self, l: usize) -> Pick<'_> {
        match l + 1 == self.depth || self.identity {
            _ if self.all => Pick::From(0),
            true => Pick::List(&self.top),
            false if self.whole => Pick::From(0),
            false => Pick::List(self.blocks[l + 1].nodes()),
        }
    }

    /// The nodes at the input of layer `l` as rows of a matrix of all nodes, and how many they are.
    pub fn inputs(&self, l: usize) -> (Pick<'_>, usize) {
        if self.whole {
            return (Pick::From(0), self.num_nodes);
        }
        let nodes = self.blocks[l].nodes();
        (Pick::List(nodes), nodes.len())
    }

    /// The operator of layer `l`: a left factor for what the layer below gives, and its rows, one per node above.
    pub fn operator<'a>(&'a self, graph: &'a Graph, l: usize) -> (Sparse<'a>, Pick<'a>) {
        if self.whole { (graph.operator(), self.pick_above(l)) } else { (self.blocks[l].view(), Pick::From(0)) }
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        4 * self.top.capacity() + self.blocks.iter().map(Block::bytes).sum::<usize>()
    }
}

/// How uniform draws are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UniformWay {
    /// See [`Sampler::draw_by_rows`].
    ByRows,
    /// See [`Sampler::draw_by_columns`].
    ByColumns,
    /// As from any other distribution, when S is known.
    AfterReading,
}

impl UniformWay {
    /// For `size` draws of `num_nodes` nodes, and so many rows above with so many entries.
    pub fn cheapest(symmetric: bool, rows: usize, entries: usize, size: usize, num_nodes: usize) -> Self {
        // By columns t·E/n entries are picked. Each costs as much as a dozen entries read or a few draws made.
        let picked = size as f64 * entries as f64 / num_nodes as f64;
        let by_columns = symmetric && entries <= num_nodes && size <= num_nodes / 5;
        let by_rows = size <= entries / 2;
        match (by_rows, by_columns) {
            (true, true) if 3.0 * picked < rows as f64 => UniformWay::ByColumns,
            (true, _) => UniformWay::ByRows,
            (false, true) => UniformWay::ByColumns,
            (false, false) => UniformWay::AfterReading,
        }
    }
}

impl Sampler {
    /// Checks that no node of `batch` stands in it twice, in time that only its length enters.
    pub fn check_distinct(&mut self, num_nodes: usize, batch: &[i32], name: &str) -> Result<()> {
        self.map.fit(num_nodes)?;
        let mut twice = None;
        for (i, &v) in batch.iter().enumerate() {
            if self.map.get(v).is_some() {
                twice = Some(Error::entry(name, i, v, "stands in the list twice"));
                break;
            }
            self.map.insert(v, i);
        }
        self.map.remove(batch);
        twice.map_or(Ok(()), Err)
    }

    /// Uniform draws in one of the two ways that do not need to know S; `false` if reading S first is better.
    fn draw_uniform(
        &mut self,
        graph: &Graph,
        block: &mut Block,
        above: &[i32],
        size: usize,
        draws: &Draws<'_>,
        l: usize,
    ) -> Result<bool> {
        if !matches!(draws.distribution, Distribution::Uniform) {
            return Ok(false);
        }
        let (operator, num_nodes) = (graph.operator(), graph.num_nodes());
        let entries = self.rows.entries();
        let way = UniformWay::cheapest(graph.is_symmetric(), above.len(), entries, size, num_nodes);
        if way == UniformWay::AfterReading {
            return Ok(false);
        }
        self.reserve(block, entries)?;
        self.marks.fit(num_nodes)?;
        let mut stream = Stream::new(draws.seed, Purpose::Draws, draws.step, l as u64);
        let weight = num_nodes as f64 / size as f64;
        match way {
            UniformWay::ByRows => self.draw_by_rows(operator, block, (size, weight), &mut stream)?,
            _ => self.draw_by_columns(operator, block, above, (size, weight), &mut stream)?,
        }
        Ok(true)
    }

    /// Draws all nodes, whether they are of use or not, and keeps the entries of the rows above that meet one.
    fn draw_by_rows(
        &mut self,
        operator: Sparse<'_>,
        block: &mut Block,
        (size, weight): (usize, f64),
        stream: &mut Stream,
    ) -> Result<()> {
        try_resize(&mut self.drawn, size)?;
        try_resize(&mut self.again, size + 1)?;
        stream.fill_below(operator.num_rows() as u32, &mut self.drawn);
        let repeats = self.marks.insert(&self.drawn, &mut self.again);
        let draws = (&self.marks, &self.again[..repeats]);
        let read = block.read_drawn(operator, &self.rows, draws, weight, &mut self.map, &mut self.found);
        block.forget(&mut self.map);
        self.marks.remove(&self.drawn);
        read
    }

    /// For a symmetric Â: reads neither all rows above nor their columns. An entry of those rows is picked instead of a
    /// node: of t draws each picks one of E entries with probability E/n, and counts if that entry is the first one of
    /// its column. So each column of S is drawn with probability 1/n, as it should be, however many entries it has.
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
        let read = self.columns.read(operator, above, (&self.marks, &self.map), &mut self.found);
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

    /// Room for either way of drawing: which one a step takes is the draws' business, and neither is to allocate later.
    fn reserve(&mut self, block: &mut Block, entries: usize) -> Result<()> {
        self.masses.clear();
        try_reserve_with_slack(&mut self.masses, entries)?;
        block.reserve(entries)?;
        self.columns.reserve(entries)?;
        self.found.reserve(entries)?;
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
        // There are no more entries than nodes, or this way would not have been taken.
        stream.fill_below(entries as u32, &mut self.drawn);
        // Writing down every row's entries costs as much as searching for a few.
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
            // Written down in any case, and stays if it is new.
            nodes[known] = u;
            *at = self.map.get_or_insert(u, known);
            known += usize::from(*at == known);
        }
        nodes.truncate(known);
        self.map.remove(nodes);
        Ok(())
    }

    /// Chooses columns of a block just read; `false` if all of them stay as they are.
    fn choose(&mut self, graph: &Graph, block: &Block, layer: Layer<'_>, draws: &Draws<'_>, l: usize) -> Result<bool> {
        if let Layer::Exact = layer {
            return Ok(false);
        }
        let total = draws.distribution.masses(graph, block, &mut self.masses)?;
        match layer {
            Layer::Exact => {}
            Layer::Draw(size) => {
                let mut stream = Stream::new(draws.seed, Purpose::Draws, draws.step, l as u64);
                self.draw(size, total, draws.distribution.is_flat(), &mut stream)?;
                self.weigh(size, total)?;
            }
            Layer::Given(nodes) => {
                self.count(nodes)?;
                self.weigh(nodes.len(), total)?;
            }
        }
        Ok(true)
    }

    /// Draws `size` nodes and counts those that fall on the block's columns; `flat`: all masses are 1.
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
        // A binomial number costs about as much as so many draws.
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

    /// Counts that so many draws give, column by column: those that fall on one are binomial among those that are left. What it
    /// takes does not depend on how many draws there are.
    fn draw_many(&mut self, draws: u64, mass: f64, stream: &mut Stream) {
        let (mut left, mut mass_left, mut last) = (draws, mass, 0);
        for (i, (count, &m)) in self.counts.iter_mut().zip(&self.masses).enumerate().filter(|(_, (_, m))| **m > 0.0) {
            *count = stream.binomial(left, m / mass_left).min(left);
            left -= *count;
            mass_left -= m;
            last = i;
        }
        // What rounding has left.
        self.counts[last] += left;
    }

    /// Counts given draws that fall on the block's columns.
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
            // A column of mass 0 has no entry but zeros, and is not worth a division by 0.
            let weight = count as f64 * total / (size as f64 * mass);
            *scale = select_unpredictable(count > 0 && mass > 0.0, weight as f32, 0.0);
        }
        Ok(())
    }
}
