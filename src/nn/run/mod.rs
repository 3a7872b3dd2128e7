//! Runs a program over a cut, forward and backward, in buffers that are reused from step to step.
//!
//! | file | what it holds |
//! |---|---|
//! | `mod` | the buffers, and where the rows of a source are |
//! | `order` | the order of a convolution's two products |
//! | `attend` | what attention reads and keeps |
//! | `forward`, `backward` | what each primitive computes, and what it passes back |
//! | `levels` | a whole graph level by level, in blocks |

mod attend;
mod backward;
mod forward;
mod levels;
mod order;

pub use levels::Room;

use super::neighbours::Neighbours;
use super::op::attention::Attention;
use super::op::columns::Sums;
use super::op::dropout::SparseRows;
use super::op::folded::Signs;
use super::op::join::{self, View};
use super::op::norm::Statistics;
use super::program::{Kind, Node, Program, Source};
use super::transposed::Transposed;
use crate::error::{Error, ForThe, Result, try_resize};
use crate::graph::{AggregatedRows, Graph, Matrix};
use crate::kernel::{Buffer, Finish, Pick, Rows, Store, Threads};
use crate::sample::Cut;
use order::Order;

/// What buffers are for, in case they cannot be allocated.
const PRODUCTS: &str = "products of a layer";
const ROWS: &str = "rows of a layer's input";

/// The key of the numbers that dropout drops in one step.
#[derive(Clone, Copy, Default)]
pub struct Masks {
    /// The caller's seed.
    pub seed: u64,
    /// Gradients since the seed was set.
    pub step: u64,
}

/// What a pass reads beside its own buffers.
#[derive(Clone, Copy)]
pub struct Pass<'a> {
    /// What is run.
    pub program: &'a Program,
    /// The flat parameters.
    pub parameters: &'a [f32],
    /// Running statistics.
    pub state: &'a [f32],
    /// The graph.
    pub graph: &'a Graph,
    /// Which nodes.
    pub cut: &'a Cut,
    /// Who works.
    pub threads: &'a Threads,
    /// What dropout drops.
    pub masks: Masks,
    /// Whether products of operators and features are worth keeping in the graph.
    pub keep: bool,
}

/// Rows of a value, and the gradient by them.
#[derive(Default)]
struct Slot {
    data: Buffer,
    gradient: Buffer,
    /// Rows of sparse features that numbers have been dropped from, in place of `data`.
    sparse: Option<SparseRows>,
    /// Whether the gradient has been stored.
    written: bool,
}

/// What one primitive keeps for its gradient.
#[derive(Default)]
struct Kept {
    /// Inputs as dense rows, one after the other, where they are not.
    rows: [Buffer; 2],
    /// In·W or Op·In of a convolution.
    middle: Buffer,
    /// How its products were computed.
    order: Order,
    /// Where the matrix between folded layers is positive.
    signs: Signs,
    /// The row that each maximum came from.
    from: Vec<i32>,
    statistics: Statistics,
    transposed: Transposed,
    attention: Attention,
    neighbours: Neighbours,
    /// The number of the cut whose links have been read, and of that whose links have been transposed.
    linked: [u64; 2],
}

/// The rows of a lower level that are read at a higher one.
#[derive(Default)]
struct Crossing {
    /// Whether they are listed; otherwise they are all rows, in order.
    listed: bool,
    rows: Vec<i32>,
}

/// The buffers of a pass.
#[derive(Default)]
pub struct Workspace {
    slots: Vec<Slot>,
    kept: Vec<Kept>,
    crossings: Vec<Crossing>,
    /// Results for all nodes, in a pass by levels; otherwise empty.
    stored: Vec<Option<Store>>,
    aggregated: Vec<AggregatedRows>,
    /// Whether the product is ready to be read in this pass.
    prepared: Vec<bool>,
    gradient: Buffer,
    /// What a convolution needs on its way: In·W or Op·In if no gradient follows, and gradients by either.
    middle: Buffer,
    partial_sums: Buffer,
    transposed_weights: Buffer,
    /// A contribution to a gradient that has others.
    more: Buffer,
    sums: Sums,
}

/// Where dense rows of a source are.
#[derive(Clone, Copy)]
enum Place {
    Features,
    Slot(usize),
    /// One after the other in a buffer, with this many columns: there may be no row to tell it by.
    Kept(usize),
}

impl Workspace {
    /// Bytes of the large buffers.
    pub fn bytes(&self) -> usize {
        let slots = self.slots.iter().map(|slot| slot.data.bytes() + slot.gradient.bytes());
        let kept = self.kept.iter().map(|kept| {
            let rows = kept.rows[0].bytes() + kept.rows[1].bytes() + kept.middle.bytes();
            let links = 4 * kept.from.capacity() + kept.neighbours.bytes();
            rows + links + kept.signs.bytes() + kept.attention.bytes()
        });
        let shared = self.more.bytes() + self.middle.bytes() + self.partial_sums.bytes();
        slots.sum::<usize>() + kept.sum::<usize>() + shared
    }

    /// Releases what the last pass borrowed from the graph.
    pub fn release(&mut self) {
        self.aggregated.iter_mut().for_each(AggregatedRows::release);
        self.stored.clear();
    }

    /// The result of the last forward pass.
    pub fn output(&self, program: &Program) -> &[f32] {
        match self.stored.last() {
            Some(Some(stored)) => stored,
            _ => &self.slots[program.output().slot].data,
        }
    }

    /// The result of the last forward pass; a loss leaves its gradient in its place.
    pub fn output_mut(&mut self, program: &Program) -> &mut [f32] {
        match self.stored.last_mut() {
            Some(Some(stored)) => stored,
            _ => &mut self.slots[program.output().slot].data,
        }
    }

    /// The numbers of a result that is read at a level.
    fn data(&self, pass: Pass<'_>, n: usize) -> &[f32] {
        let node = &pass.program.nodes[n];
        match self.stored.get(n) {
            Some(Some(stored)) if pass.cut.is_below_rows(node.level) => stored,
            _ => &self.slots[node.slot].data,
        }
    }

    /// The gradient by all parameters of the last backward pass.
    pub fn gradient(&self) -> &[f32] {
        &self.gradient
    }

    /// Moves running statistics towards those of the last pass.
    pub fn commit(&self, program: &Program, state: &mut [f32]) {
        for (node, kept) in program.nodes.iter().zip(&self.kept) {
            if let Kind::BatchNorm { state: at, .. } = node.kind {
                kept.statistics.commit(&mut state[at..at + 2 * node.width]);
            }
        }
    }

    /// Lists the rows that are read where a value is read at a higher level than its own.
    fn find_crossings(&mut self, pass: Pass<'_>) -> Result<()> {
        let crossings = &pass.program.crossings;
        if self.crossings.len() < crossings.len() {
            self.crossings.resize_with(crossings.len(), Default::default);
        }
        for (Crossing { listed, rows }, &(low, high)) in self.crossings.iter_mut().zip(crossings) {
            *listed = false;
            for level in (low..high).rev() {
                let Pick::List(own) = pass.cut.own(level) else { continue };
                if *listed {
                    rows.iter_mut().for_each(|row| *row = own[*row as usize]);
                } else {
                    try_resize(rows, own.len())?;
                    rows.copy_from_slice(own);
                    *listed = true;
                }
            }
        }
        Ok(())
    }

    /// The rows of a node of level `low` that are read at level `high`.
    fn crossing<'a>(&'a self, pass: Pass<'a>, low: usize, high: usize) -> Pick<'a> {
        if low == high {
            return Pick::From(0);
        }
        let at = pass.program.crossings.iter().position(|&crossing| crossing == (low, high));
        match at.map(|at| &self.crossings[at]) {
            Some(Crossing { listed: true, rows }) => Pick::List(rows),
            // All rows, or a block of them.
            _ => pass.cut.level(high).0,
        }
    }

    /// Finds dense rows of a source at a level: one after the other if they must be, or else as they are.
    fn find(
        &mut self,
        pass: Pass<'_>,
        source: Source,
        level: usize,
        in_order: bool,
        rows: &mut Buffer,
    ) -> Result<Place> {
        let (nodes, count) = pass.cut.level(level);
        match source {
            Source::Features => match pass.graph.features()? {
                Matrix::Dense { .. } if !in_order || matches!(nodes, Pick::From(_)) => Ok(Place::Features),
                x => {
                    rows.try_resize(count * x.width()).for_the("features of the sampled nodes")?;
                    x.copy_rows(nodes, rows);
                    Ok(Place::Kept(x.width()))
                }
            },
            Source::Aggregated(i) => {
                rows.try_resize(count * pass.graph.num_features()).for_the(ROWS)?;
                self.prepare(pass, i)?;
                self.aggregated[i].copy(pass.graph, nodes, pass.threads, rows)?;
                Ok(Place::Kept(pass.graph.num_features()))
            }
            Source::Node(n) => {
                let node = &pass.program.nodes[n];
                let pick = self.crossing(pass, node.level, level);
                if let Some(sparse) = &self.slots[node.slot].sparse {
                    rows.try_resize(count * node.width).for_the(ROWS)?;
                    crate::graph::expand(sparse.view(), pick, node.width, rows);
                    return Ok(Place::Kept(node.width));
                }
                if !in_order || matches!(pick, Pick::From(_)) {
                    return Ok(Place::Slot(n));
                }
                rows.try_resize(count * node.width).for_the(ROWS)?;
                let view = View { data: self.data(pass, n), pick, width: node.width };
                join::copy(pass.threads, view, rows);
                Ok(Place::Kept(node.width))
            }
        }
    }

    /// Whether [`Workspace::find`] has nothing to copy where dense rows must be one after the other, or such rows are never asked
    /// for.
    fn lies_in_order(&self, pass: Pass<'_>, source: Source, level: usize) -> Result<bool> {
        Ok(match source {
            Source::Features => match pass.graph.features()? {
                Matrix::Dense { .. } => matches!(pass.cut.level(level).0, Pick::From(_)),
                // The order of a product with sparse features does not change from batch to batch.
                Matrix::Sparse { .. } => true,
            },
            Source::Aggregated(_) => false,
            Source::Node(n) => {
                let node = &pass.program.nodes[n];
                let pick = self.crossing(pass, node.level, level);
                self.slots[node.slot].sparse.is_none() && matches!(pick, Pick::From(_))
            }
        })
    }

    /// The rows that [`Workspace::find`] has found.
    fn view<'a>(&'a self, pass: Pass<'a>, place: Place, level: usize, rows: &'a Buffer) -> Result<View<'a>> {
        match place {
            Place::Features => match pass.graph.features()? {
                Matrix::Dense { data, width } => Ok(View { data, pick: pass.cut.level(level).0, width: *width }),
                Matrix::Sparse { .. } => Err(Error::Internal("sparse features as dense rows".to_string())),
            },
            Place::Slot(n) => {
                let node = &pass.program.nodes[n];
                let pick = self.crossing(pass, node.level, level);
                Ok(View { data: self.data(pass, n), pick, width: node.width })
            }
            Place::Kept(width) => Ok(View { data: rows, pick: Pick::From(0), width }),
        }
    }

    /// Both inputs of a primitive as dense rows.
    fn both(&mut self, pass: Pass<'_>, node: &Node, rows: &mut [Buffer; 2]) -> Result<[Place; 2]> {
        let a = self.find(pass, node.input(0)?, node.level, false, &mut rows[0])?;
        let b = self.find(pass, node.input(1)?, node.level, false, &mut rows[1])?;
        Ok([a, b])
    }

    /// The result of a primitive as a left factor at a level, and the mean number of entries of its rows.
    fn factor<'a>(&'a self, pass: Pass<'a>, n: usize, level: usize) -> (Rows<'a>, Pick<'a>, usize) {
        let node = &pass.program.nodes[n];
        let pick = self.crossing(pass, node.level, level);
        let slot = &self.slots[node.slot];
        match &slot.sparse {
            Some(sparse) => (Rows::Sparse(sparse.view()), pick, sparse.view().mean_entries()),
            None => (Rows::Dense { data: self.data(pass, n), width: node.width }, pick, node.width),
        }
    }

    /// Makes Op·X ready to be read, at its first use in a pass.
    fn prepare(&mut self, pass: Pass<'_>, i: usize) -> Result<()> {
        if !self.prepared[i] {
            self.aggregated[i].prepare(pass.graph, pass.program.aggregated[i], pass.threads, pass.keep)?;
            self.prepared[i] = true;
        }
        Ok(())
    }

    /// `out ← In·W`, finished, for the rows of a source at a level.
    fn times(
        &mut self,
        pass: Pass<'_>,
        (source, level): (Source, usize),
        (w, width): (&[f32], usize),
        finish: Finish<'_>,
        out: &mut [f32],
    ) -> Result<()> {
        let Pass { graph, cut, threads, .. } = pass;
        match source {
            Source::Features => {
                threads.times(graph.features()?.rows(), cut.level(level).0, w, width, finish, out);
            }
            Source::Aggregated(i) => {
                self.prepare(pass, i)?;
                self.aggregated[i].times(graph, cut.level(level).0, threads, (w, width), finish, out)?;
            }
            Source::Node(n) => {
                let (rows, pick, _) = self.factor(pass, n, level);
                threads.times(rows, pick, w, width, finish, out);
            }
        }
        Ok(())
    }

    /// `m ← Inᵀ·G` for the rows of a source at a level.
    fn transposed_times(
        &mut self,
        pass: Pass<'_>,
        (source, level): (Source, usize),
        by: (&[f32], usize),
        m: &mut [f32],
    ) -> Result<()> {
        let Pass { graph, cut, threads, .. } = pass;
        let mut sums = std::mem::take(&mut self.partial_sums);
        let result = match source {
            Source::Features => {
                let x = graph.features()?;
                threads.transposed_times((x.rows(), x.row_entries()), cut.level(level).0, by, m, &mut sums)
            }
            Source::Aggregated(i) => {
                self.aggregated[i].transposed_times(graph, cut.level(level).0, threads, by, m, &mut sums)
            }
            Source::Node(n) => {
                let (rows, pick, entries) = self.factor(pass, n, level);
                threads.transposed_times((rows, entries), pick, by, m, &mut sums)
            }
        };
        self.partial_sums = sums;
        result
    }
}

/// Makes a buffer this long. Over all nodes its length is the same in every step, and it gets exactly what it needs.
fn fit(buffer: &mut Buffer, len: usize, cut: &Cut) -> Result<()> {
    if cut.is_whole() {
        buffer.try_reserve_exact(len)?;
    }
    buffer.try_resize(len)
}
