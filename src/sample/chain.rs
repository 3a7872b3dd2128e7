//! The chain of blocks of one gradient or prediction, from the batch down to the input.

use super::block::Columns;
use super::{Block, Distribution, NodeMap};
use crate::error::{Error, Result, try_reserve_with_slack, try_resize};
use crate::graph::Graph;
use crate::kernel::{Pick, Rows, Sparse};
use crate::random::{Purpose, Stream};

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
    map: NodeMap,
    masses: Vec<f64>,
    /// Running sums of the masses.
    sums: Vec<f64>,
    counts: Vec<u64>,
    scale: Vec<f32>,
    ids: Vec<i32>,
    /// Entries of the rows above, up to each row.
    offsets: Vec<u64>,
    /// Local ids of the columns looked at.
    looked_at: NodeMap,
    columns: Columns,
}

/// Which rows and columns of Â each layer uses. Buffers are reused from cut to cut.
#[derive(Default)]
pub struct Chain {
    /// The nodes whose output is wanted; unused when `whole`.
    top: Vec<i32>,
    /// Block l feeds layer l. Block 0 is unused when the input is exact: rows of ÂX stand for it.
    blocks: Vec<Block>,
    /// All nodes at every layer: Â itself is every block.
    whole: bool,
    exact_input: bool,
    num_nodes: usize,
    /// Number of layers below `top`.
    depth: usize,
    /// Nodes asked for that no draw meets: their output is 0, and they are not in `top`.
    missed: usize,
}

impl Chain {
    /// All nodes, nothing drawn.
    pub fn whole(&mut self, graph: &Graph) {
        self.whole = true;
        self.exact_input = true;
        self.num_nodes = graph.num_nodes();
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
        self.whole = false;
        self.num_nodes = graph.num_nodes();
        self.depth = num_layers;
        self.exact_input = matches!(choose(0), Layer::Exact);
        self.top.clear();
        try_reserve_with_slack(&mut self.top, top.len())?;
        self.top.extend_from_slice(top);
        if self.blocks.len() < num_layers {
            self.blocks.resize_with(num_layers, Block::default);
        }
        for l in (usize::from(self.exact_input)..num_layers).rev() {
            let (block, above) = self.blocks[l..].split_first_mut().expect("a block per layer");
            let above = if l + 1 == num_layers { &self.top } else { above[0].nodes() };
            if let Layer::Draw(size) = choose(l)
                && sampler.draw_by_columns(graph, block, above, size, draws, l)?
            {
                continue;
            }
            let chosen = block
                .read(graph.operator(), above, &mut sampler.map)
                .and_then(|()| sampler.choose(graph, block, choose(l), draws, l));
            // Whatever went wrong, the map must be empty for the next block.
            block.forget(&mut sampler.map);
            if chosen? {
                block.keep_columns(&sampler.scale, &mut sampler.ids)?;
            }
        }
        self.missed = 0;
        if !matches!(choose(num_layers - 1), Layer::Exact) {
            self.blocks[num_layers - 1].drop_empty_rows(&mut self.top);
            self.missed = top.len() - self.top.len();
        }
        Ok(())
    }

    /// The node of the i-th row of the last layer's output.
    pub fn node_above(&self, i: usize) -> usize {
        if self.whole { i } else { self.top[i] as usize }
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

    /// Number of nodes that layer `l` computes.
    pub fn count_above(&self, l: usize) -> usize {
        if self.whole { self.num_nodes } else { self.nodes_above(l).len() }
    }

    /// The nodes that layer `l` computes; not for a whole chain.
    pub fn nodes_above(&self, l: usize) -> &[i32] {
        debug_assert!(!self.whole);
        if l + 1 == self.depth { &self.top } else { self.blocks[l + 1].nodes() }
    }

    /// The same as rows to pick from a matrix of all nodes.
    pub fn pick_above(&self, l: usize) -> Pick<'_> {
        if self.whole { Pick::From(0) } else { Pick::List(self.nodes_above(l)) }
    }

    /// The nodes at the input of layer `l` as rows of a matrix of all nodes, and how many they are.
    pub fn inputs(&self, l: usize) -> (Pick<'_>, usize) {
        if self.whole {
            return (Pick::From(0), self.num_nodes);
        }
        let nodes = self.blocks[l].nodes();
        (Pick::List(nodes), nodes.len())
    }

    /// The operator of layer `l`: a left factor for what the layer below gives, one row per node above.
    pub fn operator<'a>(&'a self, graph: &'a Graph, l: usize) -> Rows<'a> {
        if self.whole { Rows::Sparse(graph.operator()) } else { self.blocks[l].rows() }
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        4 * self.top.capacity() + self.blocks.iter().map(Block::bytes).sum::<usize>()
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

    /// Uniform draws where Â is symmetric and few of them are useful: `false` if another way is better.
    ///
    /// Reads neither all rows above nor their columns. An entry of those rows is picked instead of a node: of t draws
    /// each picks one of E entries with probability E/n, and counts if that entry is the first one of its column. So
    /// each column of S is drawn with probability 1/n, as it should be, however many entries it has.
    fn draw_by_columns(
        &mut self,
        graph: &Graph,
        block: &mut Block,
        above: &[i32],
        size: usize,
        draws: &Draws<'_>,
        l: usize,
    ) -> Result<bool> {
        if !matches!(draws.distribution, Distribution::Uniform) || !graph.is_symmetric() {
            return Ok(false);
        }
        let (operator, num_nodes) = (graph.operator(), graph.num_nodes());
        try_resize(&mut self.offsets, above.len() + 1)?;
        let mut entries = 0;
        for (offset, &v) in self.offsets.iter_mut().zip(above) {
            *offset = entries;
            entries += (operator.indptr[v as usize + 1] - operator.indptr[v as usize]) as u64;
        }
        self.offsets[above.len()] = entries;
        // A pick of probability E/n needs E ≤ n. And of E entries t·E/n are picked: a look at a picked one costs about as
        // much as reading two, so that more than n/2 draws are better served by reading all.
        if entries as usize > num_nodes || size > num_nodes / 2 {
            return Ok(false);
        }
        self.reserve(block, entries as usize)?;
        self.looked_at.fit(num_nodes)?;
        let mut stream = Stream::new(draws.seed, Purpose::Draws, draws.step, l as u64);
        above.iter().enumerate().for_each(|(row, &v)| self.map.insert(v, row));
        let candidates = stream.binomial(size as u64, entries as f64 / num_nodes as f64);
        self.look(operator, above, entries, candidates, &mut stream);
        self.map.remove(above);
        self.looked_at.remove(&self.columns.nodes);
        let weight = num_nodes as f64 / size as f64;
        try_resize(&mut self.scale, self.counts.len())?;
        self.scale.iter_mut().zip(&self.counts).for_each(|(scale, &count)| *scale = (count as f64 * weight) as f32);
        block.assemble(above.len(), &self.columns, &self.scale)?;
        Ok(true)
    }

    /// Room for either way of drawing: which one a step takes is the draws' business, and neither is to allocate later.
    fn reserve(&mut self, block: &mut Block, entries: usize) -> Result<()> {
        self.masses.clear();
        try_reserve_with_slack(&mut self.masses, entries)?;
        block.reserve(entries)?;
        self.columns.reserve(entries)?;
        self.counts.clear();
        try_reserve_with_slack(&mut self.counts, entries)?;
        self.scale.clear();
        try_reserve_with_slack(&mut self.scale, entries)?;
        self.ids.clear();
        try_reserve_with_slack(&mut self.ids, entries)
    }

    /// Picks `candidates` entries of the rows above and counts, for each column, those that are its first.
    fn look(&mut self, operator: Sparse<'_>, above: &[i32], entries: u64, candidates: u64, stream: &mut Stream) {
        for _ in 0..candidates {
            let entry = stream.below(entries);
            let row = self.offsets.partition_point(|&offset| offset <= entry) - 1;
            let at = operator.indptr[above[row] as usize] as u64 + entry - self.offsets[row];
            let u = operator.indices[at as usize];
            let column = match self.looked_at.get(u) {
                Some(column) => column,
                None => {
                    self.columns.push(operator, u, above, &self.map);
                    self.counts.push(0);
                    self.looked_at.insert(u, self.counts.len() - 1);
                    self.counts.len() - 1
                }
            };
            self.counts[column] += u64::from(self.columns.first_rows[column] as usize == row);
        }
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
            let drawn = count > 0 && mass > 0.0;
            *scale = if drawn { (count as f64 * total / (size as f64 * mass)) as f32 } else { 0.0 };
        }
        Ok(())
    }
}
