//! The cut of one gradient or prediction: which nodes each layer computes and from which, from the batch down to the input.

use super::{Block, Draws, Hop, Key, Sampler};
use crate::error::{Result, try_reserve_with_slack, try_with_capacity};
use crate::graph::{Graph, Operator};
use crate::kernel::{Pick, Sparse};
use std::sync::atomic::{AtomicU64, Ordering};

/// What a model's hop needs of a cut. Hops whose product with the features is kept need nothing, and are not listed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Step {
    /// The number of the hop among all hops of the model.
    pub hop: usize,
    /// The operator whose rows are cut.
    pub operator: Operator,
    /// Whether the nodes above it are needed below it too.
    pub own: bool,
}

/// Which rows and columns of Â each layer uses. Buffers are reused from cut to cut.
#[derive(Default)]
pub struct Cut {
    form: Form,
    /// The nodes of the last layer, where the form has such a list; empty otherwise.
    top: Vec<i32>,
    /// Block l feeds layer l; used by [`Form::Blocks`] alone. Block 0 is unused if the input is exact.
    blocks: Vec<Block>,
    num_nodes: usize,
    num_hops: usize,
    /// Nodes that were to be computed but that no draw reaches: their output is 0, and they are not in `top`.
    missed: usize,
    /// Differs from that of every other cut in this process; 0 before the first.
    number: u64,
}

/// What a cut is made of.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
enum Form {
    /// Every layer computes all nodes. Its operator is Â.
    #[default]
    Whole,
    /// The last layer computes the nodes at the top, the layers below compute all nodes. Operators are rows of Â.
    WholeBelow,
    /// Â is the identity and nothing is drawn: every layer computes the same nodes, each from itself alone.
    Rows {
        /// All nodes, or those at the top.
        all: bool,
    },
    /// Each layer computes the nodes that the one above needs or has drawn. Operators are blocks of Â.
    Blocks {
        /// Nothing is drawn at the input. Layer 0 then reads rows of ÂX in place of a block.
        exact_input: bool,
    },
}

impl Cut {
    /// All nodes at every layer, nothing drawn.
    pub fn whole(&mut self, graph: &Graph) {
        let form = if graph.is_identity() { Form::Rows { all: true } } else { Form::Whole };
        self.top.clear();
        self.begin(form, graph, 0);
    }

    /// The nodes `top`, no two of which are the same, and all nodes below them; nothing is drawn. Gradients require a symmetric
    /// Â.
    pub fn whole_below(&mut self, graph: &Graph, top: &[i32], num_hops: usize) -> Result<()> {
        let form = if graph.is_identity() { Form::Rows { all: false } } else { Form::WholeBelow };
        self.top_exactly(top)?;
        self.begin(form, graph, num_hops);
        self.set_top(top)
    }

    /// Makes room for `top` without slack: the list is long, and the same in every step.
    fn top_exactly(&mut self, top: &[i32]) -> Result<()> {
        if self.top.capacity() < top.len() {
            self.top = Vec::new();
            self.top = try_with_capacity(top.len())?;
        }
        Ok(())
    }

    /// The nodes `top` and what `num_hops` hops need below them or draw.
    pub fn below(
        &mut self,
        graph: &Graph,
        top: &[i32],
        num_hops: usize,
        draws: Draws<'_>,
        key: Key,
        sampler: &mut Sampler,
    ) -> Result<()> {
        let exact = |hop: usize| *draws.at(hop) == Hop::Exact;
        let form = match graph.is_identity() && (0..num_hops).all(exact) {
            true => Form::Rows { all: false },
            false => Form::Blocks { exact_input: exact(0) },
        };
        self.begin(form, graph, num_hops);
        self.set_top(top)?;
        let Form::Blocks { exact_input } = form else {
            return Ok(());
        };
        sampler.fit(graph)?;
        if self.blocks.len() < num_hops {
            self.blocks.resize_with(num_hops, Block::default);
        }
        for hop in (usize::from(exact_input)..num_hops).rev() {
            let (block, above) = self.blocks[hop..].split_first_mut().expect("a block for each hop");
            let above = if hop + 1 == num_hops { &self.top } else { above[0].nodes() };
            sampler.cut_block((graph, Operator::Normalized), block, above, (draws, key, hop))?;
        }
        if !exact(num_hops - 1) {
            self.blocks[num_hops - 1].drop_empty_rows(&mut self.top);
            self.missed = top.len() - self.top.len();
        }
        Ok(())
    }

    /// All nodes at each of `levels` + 1 levels, nothing drawn.
    pub fn whole_levels(&mut self, graph: &Graph, levels: usize) {
        self.top.clear();
        self.begin(Form::Whole, graph, levels);
    }

    /// The nodes `top` at the last of `levels` + 1 levels, all nodes below it; nothing is drawn.
    pub fn whole_levels_below(&mut self, graph: &Graph, top: &[i32], levels: usize) -> Result<()> {
        self.top_exactly(top)?;
        self.begin(Form::WholeBelow, graph, levels);
        self.set_top(top)
    }

    /// The nodes `top`, which may repeat, and what the steps need below them or draw; level i feeds step i. Rows that no draw
    /// reaches stay.
    pub fn steps_below(
        &mut self,
        graph: &Graph,
        top: &[i32],
        steps: &[Step],
        (draws, key): (Draws<'_>, Key),
        sampler: &mut Sampler,
    ) -> Result<()> {
        self.begin(Form::Blocks { exact_input: false }, graph, steps.len());
        self.set_top(top)?;
        sampler.fit(graph)?;
        if self.blocks.len() < steps.len() {
            self.blocks.resize_with(steps.len(), Block::default);
        }
        for (level, step) in steps.iter().enumerate().rev() {
            let (block, above) = self.blocks[level..].split_first_mut().expect("a block for each step");
            let above = if level + 1 == steps.len() { &self.top } else { above[0].nodes() };
            sampler.cut_block((graph, step.operator), block, above, (draws, key, step.hop))?;
            if step.own {
                block.add_own(above, &mut sampler.map)?;
            }
        }
        Ok(())
    }

    /// The nodes of a level, as rows to pick from a matrix of all nodes, and their number. The last level is the top.
    pub fn level(&self, level: usize) -> (Pick<'_>, usize) {
        let pick = match self.form {
            Form::Whole | Form::Rows { all: true } => Pick::From(0),
            Form::Rows { all: false } => Pick::List(&self.top),
            Form::WholeBelow | Form::Blocks { .. } if level == self.num_hops => Pick::List(&self.top),
            Form::WholeBelow => Pick::From(0),
            Form::Blocks { .. } => Pick::List(self.blocks[level].nodes()),
        };
        match pick {
            Pick::From(_) => (pick, self.num_nodes),
            Pick::List(nodes) => (pick, nodes.len()),
        }
    }

    /// The operator between level `level` and the next one, and its rows, one for each node of that one.
    pub fn operator_at<'a>(
        &'a self,
        graph: &'a Graph,
        operator: Operator,
        level: usize,
    ) -> Result<(Sparse<'a>, Pick<'a>)> {
        match self.form {
            Form::Blocks { .. } => Ok((self.blocks[level].view(), Pick::From(0))),
            _ => Ok((graph.operator_of(operator)?, self.level(level + 1).0)),
        }
    }

    /// Where the nodes of the next level stand among those of `level`.
    pub fn own(&self, level: usize) -> Pick<'_> {
        match self.form {
            Form::Blocks { .. } => Pick::List(self.blocks[level].own()),
            _ => self.level(level + 1).0,
        }
    }

    /// Starts a new cut. Sets every field but the lists.
    fn begin(&mut self, form: Form, graph: &Graph, num_hops: usize) {
        static LAST: AtomicU64 = AtomicU64::new(0);
        self.form = form;
        self.num_nodes = graph.num_nodes();
        self.num_hops = num_hops;
        self.missed = 0;
        self.number = LAST.fetch_add(1, Ordering::Relaxed) + 1;
    }

    fn set_top(&mut self, top: &[i32]) -> Result<()> {
        self.top.clear();
        try_reserve_with_slack(&mut self.top, top.len())?;
        self.top.extend_from_slice(top);
        Ok(())
    }

    /// A number that no other cut has. What is derived from a cut can be kept under it.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// The nodes whose output is computed, unless those are all nodes.
    pub fn top(&self) -> &[i32] {
        &self.top
    }

    /// The number of nodes that were to be computed and are not in [`Cut::top`]: their output is 0.
    pub fn missed(&self) -> usize {
        self.missed
    }

    /// Whether layer 0 reads rows of ÂX.
    pub fn exact_input(&self) -> bool {
        match self.form {
            Form::Whole | Form::WholeBelow | Form::Rows { .. } => true,
            Form::Blocks { exact_input } => exact_input,
        }
    }

    /// Whether every layer computes the same nodes, each from itself alone.
    pub fn is_rows(&self) -> bool {
        matches!(self.form, Form::Rows { .. })
    }

    /// Whether the input of every layer is all nodes, and its operator is rows of Â.
    pub fn is_whole(&self) -> bool {
        matches!(self.form, Form::Whole | Form::WholeBelow)
    }

    /// The number of nodes that layer `l` computes.
    pub fn count_above(&self, l: usize) -> usize {
        match self.pick_above(l) {
            Pick::From(_) => self.num_nodes,
            Pick::List(nodes) => nodes.len(),
        }
    }

    /// The nodes that layer `l` computes, as rows to pick from a matrix of all nodes.
    pub fn pick_above(&self, l: usize) -> Pick<'_> {
        let last = l + 1 == self.num_hops;
        match self.form {
            Form::Whole | Form::Rows { all: true } => Pick::From(0),
            Form::Rows { all: false } => Pick::List(&self.top),
            Form::WholeBelow if last => Pick::List(&self.top),
            Form::WholeBelow => Pick::From(0),
            Form::Blocks { .. } if last => Pick::List(&self.top),
            Form::Blocks { .. } => Pick::List(self.blocks[l + 1].nodes()),
        }
    }

    /// The nodes at the input of layer `l`, as rows to pick from a matrix of all nodes, and their number.
    pub fn inputs(&self, l: usize) -> (Pick<'_>, usize) {
        match self.form {
            Form::Whole | Form::WholeBelow => (Pick::From(0), self.num_nodes),
            Form::Rows { .. } => (self.pick_above(l), self.count_above(l)),
            Form::Blocks { .. } => {
                let nodes = self.blocks[l].nodes();
                (Pick::List(nodes), nodes.len())
            }
        }
    }

    /// The operator of layer `l`, a left factor for the output of the layer below, and its rows, one for each node above.
    pub fn operator<'a>(&'a self, graph: &'a Graph, l: usize) -> (Sparse<'a>, Pick<'a>) {
        match self.form {
            Form::Whole | Form::WholeBelow | Form::Rows { .. } => (graph.operator(), self.pick_above(l)),
            Form::Blocks { .. } => (self.blocks[l].view(), Pick::From(0)),
        }
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        4 * self.top.capacity() + self.blocks.iter().map(Block::bytes).sum::<usize>()
    }
}
