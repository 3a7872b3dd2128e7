//! The cut of one gradient or prediction: which nodes each hop computes and from which, from the batch down to the input.

use super::{Block, Draws, Key, Sampler};
use crate::error::{Result, try_reserve_with_slack, try_with_capacity};
use crate::graph::{Graph, Operator};
use crate::kernel::{Pick, Sparse};
use std::ops::Range;
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

/// The nodes of each level, and the operators between them. Level i feeds step i, the last level is the top. Buffers are reused
/// from cut to cut.
#[derive(Default)]
pub struct Cut {
    form: Form,
    /// The nodes of the last level, where the form has such a list; empty otherwise.
    top: Vec<i32>,
    /// Block i has the nodes of level i for columns and those of the next level for rows; used by [`Form::Blocks`] alone.
    blocks: Vec<Block>,
    num_nodes: usize,
    num_steps: usize,
    /// Nodes that were to be computed but that no draw reaches: their output is 0, and they are not in `top` any more.
    missed: usize,
    /// Differs from that of every other cut in this process; 0 before the first.
    number: u64,
}

/// What a cut is made of.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
enum Form {
    /// All nodes at every level. Operators are those of the graph.
    #[default]
    Whole,
    /// All nodes at every level but the top. Operators are rows of those of the graph.
    WholeBelow,
    /// All nodes below a level, and some that follow each other at it. Nothing is above.
    Rows {
        /// The level.
        level: usize,
        /// The first node.
        start: usize,
        /// How many.
        count: usize,
    },
    /// Each level has the nodes that the one above needs or has drawn. Operators are blocks.
    Blocks,
}

impl Cut {
    /// All nodes at each of `steps` + 1 levels, nothing drawn.
    pub fn whole(&mut self, graph: &Graph, steps: usize) {
        self.top.clear();
        self.begin(Form::Whole, graph, steps);
    }

    /// The nodes `top` at the last of `steps` + 1 levels, all nodes below it; nothing is drawn.
    pub fn whole_below(&mut self, graph: &Graph, top: &[i32], steps: usize) -> Result<()> {
        self.top_exactly(top)?;
        self.begin(Form::WholeBelow, graph, steps);
        self.set_top(top)
    }

    /// All nodes at the levels below one of `steps` + 1 levels, and the nodes of this range at that one.
    pub fn rows(&mut self, graph: &Graph, steps: usize, level: usize, range: Range<usize>) {
        self.top.clear();
        self.begin(Form::Rows { level, start: range.start, count: range.len() }, graph, steps);
    }

    /// Whether this level is below the one of [`Cut::rows`].
    pub fn is_below_rows(&self, level: usize) -> bool {
        matches!(self.form, Form::Rows { level: at, .. } if level < at)
    }

    /// Makes room for `top` without slack: the list is long, and the same in every step.
    fn top_exactly(&mut self, top: &[i32]) -> Result<()> {
        if self.top.capacity() < top.len() {
            self.top = Vec::new();
            self.top = try_with_capacity(top.len())?;
        }
        Ok(())
    }

    /// The nodes `top`, which may repeat, and what the steps need below them or draw.
    pub fn below(
        &mut self,
        graph: &Graph,
        top: &[i32],
        steps: &[Step],
        (draws, key): (Draws<'_>, Key),
        sampler: &mut Sampler,
    ) -> Result<()> {
        self.begin(Form::Blocks, graph, steps.len());
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

    /// Drops the nodes at the top that the last step finds nobody for. Requires [`Cut::below`] with a step.
    pub fn drop_empty_rows(&mut self) {
        let count = self.top.len();
        self.blocks[self.num_steps - 1].drop_empty_rows(&mut self.top);
        self.missed = count - self.top.len();
    }

    /// The nodes of a level, as rows to pick from a matrix of all nodes, and their number. The last level is the top.
    pub fn level(&self, level: usize) -> (Pick<'_>, usize) {
        let pick = match self.form {
            Form::Rows { level: at, start, count } if at == level => return (Pick::From(start), count),
            Form::Whole | Form::Rows { .. } => Pick::From(0),
            Form::WholeBelow | Form::Blocks if level == self.num_steps => Pick::List(&self.top),
            Form::WholeBelow => Pick::From(0),
            Form::Blocks => Pick::List(self.blocks[level].nodes()),
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
            Form::Blocks => Ok((self.blocks[level].view(), Pick::From(0))),
            _ => Ok((graph.operator_of(operator)?, self.level(level + 1).0)),
        }
    }

    /// Where the nodes of the next level stand among those of `level`.
    pub fn own(&self, level: usize) -> Pick<'_> {
        match self.form {
            Form::Blocks => Pick::List(self.blocks[level].own()),
            _ => self.level(level + 1).0,
        }
    }

    /// Starts a new cut. Sets every field but the lists.
    fn begin(&mut self, form: Form, graph: &Graph, num_steps: usize) {
        static LAST: AtomicU64 = AtomicU64::new(0);
        self.form = form;
        self.num_nodes = graph.num_nodes();
        self.num_steps = num_steps;
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

    /// The number of nodes that [`Cut::drop_empty_rows`] has dropped: their output is 0.
    pub fn missed(&self) -> usize {
        self.missed
    }

    /// Whether every level but the top has all nodes, and operators are those of the graph.
    pub fn is_whole(&self) -> bool {
        self.form != Form::Blocks
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        4 * self.top.capacity() + self.blocks.iter().map(Block::bytes).sum::<usize>()
    }
}
