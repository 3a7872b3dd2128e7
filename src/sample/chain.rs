//! The chain of blocks of one gradient or prediction, from the batch down to the input.

use super::{Block, Distribution, NodeMap};
use crate::error::{Error, Result, try_reserve_with_slack, try_resize};
use crate::graph::Graph;
use crate::kernel::{Pick, Rows};
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
            let chosen = block
                .read(graph.operator(), above, &mut sampler.map)
                .and_then(|()| sampler.choose(graph, block, choose(l), draws, l));
            // Whatever went wrong, the map must be empty for the next block.
            block.forget(&mut sampler.map);
            if chosen? {
                block.keep_columns(&sampler.scale, &mut sampler.ids)?;
            }
        }
        Ok(())
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
