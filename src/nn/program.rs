//! Primitives with levels and slots, ready to run.
//!
//! A slot is room for the rows of a value and for the gradient by them. A primitive that changes each number on its own works
//! in the slot of its input, if nobody else reads that. Without gradients, slots are reused as soon as nobody reads them any
//! more.

use super::layers::Activation;
use crate::error::{Error, Result};
use crate::graph::{Graph, Operator};
use crate::kernel::{Extreme, Heads};
use crate::sample::{Cut, Draws, Hop, Key, Sampler, Step};
use std::ops::Range;

/// What a program is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    /// Outputs alone: nothing is dropped, norms use their running statistics.
    Inference,
    /// Outputs and gradients; norms use the statistics of the rows at hand.
    Gradient {
        /// Whether numbers are dropped.
        dropout: bool,
        /// Whether all nodes are computed at every level but the last, so that statistics are over all nodes.
        all_nodes: bool,
    },
}

/// What a program is made for: together with the net, all that it depends on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Request {
    /// What it is for.
    pub mode: Mode,
    /// A bit for each hop at whose input nothing is drawn.
    pub exact: u64,
    /// Whether Â is the identity and nothing is drawn, so that a convolution looks at no neighbours.
    pub identity: bool,
    /// Whether all nodes are computed below the top: a gradient over most of them reaches nearly all others.
    pub whole: bool,
    /// Whether it runs level by level, in blocks of rows.
    pub by_levels: bool,
    /// Whether the graph keeps Â²X, Â³X and so on.
    pub powers: bool,
    /// Whether Op·(X·W) costs less than (Op·X)·W for all nodes, and all are computed.
    pub features_first: bool,
    /// The value that it returns.
    pub value: usize,
}

impl Request {
    /// Whether everything is computed for all nodes, and the top is picked out of them at the end.
    pub fn picks_top(&self) -> bool {
        matches!(self.mode, Mode::Gradient { all_nodes: true, .. })
    }

    /// Whether gradients follow.
    pub fn has_gradients(&self) -> bool {
        self.mode != Mode::Inference
    }
}

/// Where a primitive reads rows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Source {
    /// X
    Features,
    /// Op^k·X, which the graph keeps if it fits: its place in [`Program::aggregated`].
    Aggregated(usize),
    /// The result of a primitive.
    Node(usize),
}

/// A factor.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Scale {
    /// This number.
    Constant(f32),
    /// 1 + the parameter at this place.
    OnePlus(usize),
}

impl Scale {
    /// Its number.
    pub fn value(self, parameters: &[f32]) -> f32 {
        match self {
            Scale::Constant(value) => value,
            Scale::OnePlus(at) => 1.0 + parameters[at],
        }
    }
}

/// What a primitive does. Ranges are places in the flat parameters.
#[derive(Clone, PartialEq, Debug)]
pub enum Kind {
    /// In·W
    MatMul {
        /// W, row-major.
        weight: Range<usize>,
        /// Rows of W.
        fan_in: usize,
        /// Whether another primitive has W too, and has stored its gradient before.
        adds: bool,
    },
    /// Op·In, from the level below.
    Spmm {
        /// Op
        operator: Operator,
    },
    /// Op·In·W, from the level below, in the order of products that costs less.
    Convolve {
        /// Op
        operator: Operator,
        /// W, row-major.
        weight: Range<usize>,
        /// Rows of W.
        fan_in: usize,
    },
    /// Â·max(Â·X·W0, 0)·W1 for all nodes, without ever holding the matrix in the middle.
    Folded(Pair),
    /// The maximum or minimum over the linked rows of the level below.
    Extreme(Extreme),
    /// The columns of heads side by side, as [`Kind::Attend`] reads them.
    Interleave(Heads),
    /// A mean of rows of the level below for each head, weighted by a softmax of scores. The second kind of scores has rows of this
    /// level as its second input.
    Attend {
        /// The heads.
        heads: Heads,
        /// The vectors of the scores: of both nodes, or one.
        vectors: Vec<Range<usize>>,
        /// Whether each node is its own neighbour, once.
        self_loops: bool,
        /// The probability that a coefficient becomes 0.
        rate: f64,
        /// The number of the value.
        value: usize,
    },
    /// The picked rows, as they are.
    Copy,
    /// α·A + β·B
    Combine {
        /// α and β.
        scales: [Scale; 2],
    },
    /// In + b, in place.
    Bias {
        /// b
        bias: Range<usize>,
    },
    /// A function of each number.
    Activate(Activation),
    /// Numbers become 0 at random, by a key that has the number of the value.
    Dropout {
        /// The probability.
        rate: f64,
        /// The number of the value.
        value: usize,
    },
    /// Rows to mean 0 and variance 1, times w plus b.
    LayerNorm {
        /// w
        weight: Range<usize>,
        /// b
        bias: Range<usize>,
    },
    /// Columns to mean 0 and variance 1, times w plus b.
    BatchNorm {
        /// w
        weight: Range<usize>,
        /// b
        bias: Range<usize>,
        /// Where the running means begin in the state; the variances follow.
        state: usize,
    },
    /// The columns of A, then those of B.
    Concat,
    /// The larger of A and B, number by number.
    MaxOf,
}

/// The weights of two layers that are computed together.
#[derive(Clone, PartialEq, Debug)]
pub struct Pair {
    /// W0 and W1, row-major.
    pub weights: [Range<usize>; 2],
    /// Columns of W0.
    pub hidden: usize,
}

impl Kind {
    /// Whether it looks at neighbours.
    pub fn is_hop(&self) -> bool {
        matches!(
            self,
            Kind::Spmm { .. } | Kind::Convolve { .. } | Kind::Folded(_) | Kind::Extreme(_) | Kind::Attend { .. }
        )
    }

    /// Whether it writes its result once, so that a rectifier can be applied on the way.
    pub fn rectifies(&self) -> bool {
        self.masks() || matches!(self, Kind::Folded(_) | Kind::Bias { .. })
    }

    /// Whether it writes the gradient by its input once, so that a rectifier's mask can be applied on the way.
    fn masks(&self) -> bool {
        matches!(self, Kind::MatMul { .. } | Kind::Spmm { .. } | Kind::Convolve { .. })
    }

    /// Whether a hop looks at its own nodes, too.
    fn reads_own(&self) -> bool {
        matches!(self, Kind::Attend { vectors, self_loops, .. } if *self_loops || vectors.len() == 2)
    }

    /// The operator whose rows a hop reads.
    fn operator(&self) -> Operator {
        match self {
            Kind::Spmm { operator } | Kind::Convolve { operator, .. } => *operator,
            Kind::Folded(_) => Operator::Normalized,
            _ => Operator::Links,
        }
    }

    /// Whether it may work in its first input's slot: its gradient needs nothing that it overwrites.
    fn works_in_place(&self) -> bool {
        match self {
            Kind::Activate(activation) => *activation != Activation::Gelu,
            Kind::Bias { .. } | Kind::Dropout { .. } | Kind::Combine { .. } => true,
            _ => false,
        }
    }
}

/// A primitive.
#[derive(Debug)]
pub struct Node {
    /// What it does.
    pub kind: Kind,
    /// What it reads.
    pub inputs: [Option<Source>; 2],
    /// Columns of its result.
    pub width: usize,
    /// The level whose nodes have a row in its result.
    pub level: usize,
    /// The number of the hop among the steps of the cut, if it is one.
    pub step: usize,
    /// Where its result is.
    pub slot: usize,
    /// Whether its slot is that of its first input.
    pub in_place: bool,
    /// Whether a parameter has part in its result.
    pub has_gradient: bool,
    /// Whether its result is rectified.
    pub rectified: bool,
    /// Whether the gradient by a rectified result passes the rectifier in the one primitive that reads it: a product, or a dropout
    /// in the same slot.
    pub masked_by_reader: bool,
}

impl Node {
    /// The level at which it reads its k-th input.
    pub fn reads_at(&self, k: usize) -> usize {
        if self.kind.is_hop() && k == 0 { self.step } else { self.level }
    }

    /// The k-th input, which every primitive that asks for it has.
    pub fn input(&self, k: usize) -> Result<Source> {
        self.inputs[k].ok_or_else(|| Error::Internal("an input is missing".to_string()))
    }
}

/// A model as primitives, in an order in which they can run.
#[derive(Debug)]
pub struct Program {
    /// The primitives.
    pub nodes: Vec<Node>,
    /// What the cut must provide: one for each hop that is left.
    pub steps: Vec<Step>,
    /// The last level. One more than there are steps if the top is picked out of all nodes.
    pub levels: usize,
    /// Pairs of levels, the lower one first, so that rows of the upper one are picked out of the lower one.
    pub crossings: Vec<(usize, usize)>,
    /// Operators whose product with the features is read, and how often they are applied.
    pub aggregated: Vec<(Operator, usize)>,
    /// Number of slots.
    pub slots: usize,
    /// Whether the output of a node without entries is 0 and has no part in a gradient: the output is that of the last hop.
    empty_rows_are_zero: bool,
    /// What it was made for.
    pub request: Request,
    /// The number of the net that it was made of.
    pub net: u64,
    /// Differs from that of every other program.
    pub id: u64,
}

impl Program {
    /// The primitive whose result is that of the program: the last one.
    pub fn output(&self) -> &Node {
        &self.nodes[self.nodes.len() - 1]
    }

    /// Cuts what this program needs for the nodes `top`.
    pub fn cut(
        &self,
        cut: &mut Cut,
        (graph, top): (&Graph, &[i32]),
        (draws, key): (Draws<'_>, Key),
        sampler: &mut Sampler,
    ) -> Result<()> {
        if self.request.whole || self.request.picks_top() {
            return cut.whole_below(graph, top, self.levels);
        }
        cut.below(graph, top, &self.steps, (draws, key), sampler)?;
        if let Some(step) = self.steps.last()
            && self.empty_rows_are_zero
            && !step.own
            && *draws.at(step.hop) != Hop::Exact
        {
            cut.drop_empty_rows();
        }
        Ok(())
    }

    /// Gives the primitives of `nodes` levels and slots. `hops` are the hops that are left, in order, with the primitive of each.
    pub fn finish(
        mut nodes: Vec<Node>,
        hops: &[(usize, usize)],
        aggregated: Vec<(Operator, usize)>,
        request: Request,
        (net, id): (u64, u64),
    ) -> Program {
        let levels = hops.len() + usize::from(request.picks_top());
        for (step, &(_, node)) in hops.iter().enumerate() {
            nodes[node].step = step;
        }
        place_levels(&mut nodes, levels, hops.len());
        let alone = nodes.iter().filter(|node| node.level == levels).count() == 1;
        let empty_rows_are_zero = alone && nodes.last().is_some_and(|last| last.kind.is_hop());
        let mut program = Program {
            nodes,
            steps: Vec::new(),
            levels,
            crossings: Vec::new(),
            aggregated,
            slots: 0,
            empty_rows_are_zero,
            request,
            net,
            id,
        };
        program.find_crossings();
        program.steps = hops
            .iter()
            .enumerate()
            .map(|(level, &(hop, node))| Step {
                hop,
                operator: program.nodes[node].kind.operator(),
                own: program.nodes[node].kind.reads_own()
                    || program.crossings.iter().any(|&(low, high)| low <= level && level < high),
            })
            .collect();
        program.place_slots();
        program.find_masks();
        program
    }

    /// Finds the rectified results whose gradient is masked while it is written, or together with what is dropped of it.
    fn find_masks(&mut self) {
        for n in 0..self.nodes.len() {
            let reads = |node: &&Node| node.inputs.contains(&Some(Source::Node(n)));
            let mut readers = self.nodes.iter().filter(reads);
            let alone = match (readers.next(), readers.next()) {
                (Some(reader), None) if reader.kind.masks() => reader.reads_at(0) == self.nodes[n].level,
                (Some(reader), None) => reader.in_place && matches!(reader.kind, Kind::Dropout { .. }),
                _ => false,
            };
            self.nodes[n].masked_by_reader = self.nodes[n].rectified && alone;
        }
    }

    fn find_crossings(&mut self) {
        for i in 0..self.nodes.len() {
            for (k, source) in self.nodes[i].inputs.into_iter().enumerate() {
                if let Some(Source::Node(n)) = source {
                    let crossing = (self.nodes[n].level, self.nodes[i].reads_at(k));
                    if crossing.0 < crossing.1 && !self.crossings.contains(&crossing) {
                        self.crossings.push(crossing);
                    }
                }
            }
        }
    }

    fn place_slots(&mut self) {
        let count = self.nodes.len();
        let mut uses = vec![0usize; count];
        let mut last_use = vec![count; count];
        for i in 0..count {
            for source in self.nodes[i].inputs.into_iter().flatten() {
                if let Source::Node(n) = source {
                    uses[n] += 1;
                    last_use[n] = i;
                }
            }
        }
        let reuses = self.request.mode == Mode::Inference;
        let mut free: Vec<usize> = Vec::new();
        // The activation whose result is in the slot of a primitive: its gradient reads it there.
        let mut holds: Vec<Option<Activation>> = vec![None; count];
        for i in 0..count {
            let node = &self.nodes[i];
            let owner = match node.inputs[0] {
                Some(Source::Node(n)) if node.kind.works_in_place() && uses[n] == 1 => Some(n),
                _ => None,
            };
            let owner = owner.filter(|&n| {
                let input = &self.nodes[n];
                // A learned factor's gradient needs what it is a factor of.
                let learned = match node.kind {
                    Kind::Combine { scales } => scales.iter().any(|scale| matches!(scale, Scale::OnePlus(_))),
                    _ => false,
                };
                // Of a rectifier only signs are read, and what is dropped passes no gradient anyway.
                let spares = matches!(
                    (holds[n], &node.kind),
                    (None, _) | (Some(Activation::Relu | Activation::LeakyRelu), Kind::Dropout { .. })
                );
                // What is dropped of sparse features is sparse.
                let dense = input.inputs[0] != Some(Source::Features) || !matches!(input.kind, Kind::Dropout { .. });
                let keeps = dense && (reuses || spares && !learned);
                keeps && input.level == node.level && input.width == node.width && node.inputs[1] != node.inputs[0]
            });
            holds[i] = match (&node.kind, owner) {
                (&Kind::Activate(activation), _) => Some(activation),
                _ if node.rectified => Some(Activation::Relu),
                (_, Some(n)) => holds[n],
                _ => None,
            };
            self.nodes[i].in_place = owner.is_some();
            self.nodes[i].slot = match owner {
                Some(n) => self.nodes[n].slot,
                None => free.pop().unwrap_or_else(|| {
                    self.slots += 1;
                    self.slots - 1
                }),
            };
            if reuses {
                for source in self.nodes[i].inputs.into_iter().flatten() {
                    if let Source::Node(n) = source
                        && last_use[n] == i
                        && owner != Some(n)
                        && !free.contains(&self.nodes[n].slot)
                    {
                        free.push(self.nodes[n].slot);
                    }
                }
            }
        }
    }
}

/// Gives each primitive its level: that of its lowest reader, so that it computes no row that nobody reads.
fn place_levels(nodes: &mut [Node], levels: usize, hops: usize) {
    let mut level = vec![levels; nodes.len()];
    for i in (0..nodes.len()).rev() {
        let hop = nodes[i].kind.is_hop();
        // Everything but the final copy is over all nodes if the top is picked out of them.
        let here = if hop { nodes[i].step + 1 } else { level[i].min(if i + 1 == nodes.len() { levels } else { hops }) };
        level[i] = here;
        for (k, source) in nodes[i].inputs.into_iter().enumerate() {
            if let Some(Source::Node(n)) = source {
                level[n] = level[n].min(if hop && k == 0 { nodes[i].step } else { here });
            }
        }
    }
    nodes.iter_mut().zip(level).for_each(|(node, level)| node.level = level);
}
