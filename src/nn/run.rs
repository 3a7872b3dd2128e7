//! Runs a program over a cut, forward and backward, in buffers that are reused from step to step.

use super::op::columns::Sums;
use super::op::join::{self, View};
use super::op::norm::{self, Affine, Statistics};
use super::op::{activation, extreme};
use super::program::{Kind, Mode, Node, Program, Scale, Source};
use super::transposed::{Transposed, spread, transpose};
use crate::error::{Error, Result, try_resize};
use crate::graph::{AggregatedRows, Graph, Matrix};
use crate::kernel::{Buffer, Finish, Pick, Rows, Sparse, Threads, table};
use crate::random::mask_key;
use crate::sample::Cut;
use std::mem::take;
use std::ops::Range;

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

#[derive(Default)]
struct SparseRows {
    indptr: Vec<i64>,
    indices: Vec<i32>,
    values: Vec<f32>,
}

impl SparseRows {
    fn view(&self) -> Sparse<'_> {
        Sparse { indptr: &self.indptr, indices: &self.indices, values: &self.values }
    }
}

/// What one primitive keeps for its gradient.
#[derive(Default)]
struct Kept {
    /// Inputs as dense rows, one after the other, where they are not.
    rows: [Buffer; 2],
    /// The row that each maximum came from.
    from: Vec<i32>,
    statistics: Statistics,
    transposed: Transposed,
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
    aggregated: Vec<AggregatedRows>,
    gradient: Buffer,
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
        let kept = self.kept.iter().map(|kept| kept.rows[0].bytes() + kept.rows[1].bytes() + 4 * kept.from.capacity());
        slots.sum::<usize>() + kept.sum::<usize>() + self.more.bytes() + self.partial_sums.bytes()
    }

    /// Computes all primitives.
    pub fn forward(&mut self, pass: Pass<'_>) -> Result<()> {
        let program = pass.program;
        if self.slots.len() < program.slots {
            self.slots.resize_with(program.slots, Slot::default);
        }
        if self.kept.len() < program.nodes.len() {
            self.kept.resize_with(program.nodes.len(), Kept::default);
        }
        if self.aggregated.len() < program.aggregated.len() {
            self.aggregated.resize_with(program.aggregated.len(), AggregatedRows::default);
        }
        for (rows, &of) in self.aggregated.iter_mut().zip(&program.aggregated) {
            rows.prepare(pass.graph, of, pass.threads, pass.keep)?;
        }
        self.find_crossings(pass)?;
        for (i, node) in program.nodes.iter().enumerate() {
            let mut kept = take(&mut self.kept[i]);
            let mut out = take(&mut self.slots[node.slot].data);
            let result = self.compute(pass, node, &mut kept, &mut out);
            self.kept[i] = kept;
            self.slots[node.slot].data = out;
            result?;
        }
        Ok(())
    }

    /// Releases what the last pass borrowed from the graph.
    pub fn release(&mut self) {
        self.aggregated.iter_mut().for_each(AggregatedRows::release);
    }

    /// The result of the last forward pass.
    pub fn output(&self, program: &Program) -> &[f32] {
        &self.slots[program.output().slot].data
    }

    /// The result of the last forward pass; a loss leaves its gradient in its place.
    pub fn output_mut(&mut self, program: &Program) -> &mut [f32] {
        &mut self.slots[program.output().slot].data
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
    fn crossing(&self, program: &Program, low: usize, high: usize) -> Pick<'_> {
        if low == high {
            return Pick::From(0);
        }
        let at = program.crossings.iter().position(|&crossing| crossing == (low, high));
        match at.map(|at| &self.crossings[at]) {
            Some(Crossing { listed: true, rows }) => Pick::List(rows),
            _ => Pick::From(0),
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
                    rows.try_resize(count * x.width())?;
                    x.copy_rows(nodes, rows);
                    Ok(Place::Kept(x.width()))
                }
            },
            Source::Aggregated(i) => {
                rows.try_resize(count * pass.graph.num_features())?;
                self.aggregated[i].copy(pass.graph, nodes, pass.threads, rows)?;
                Ok(Place::Kept(pass.graph.num_features()))
            }
            Source::Node(n) => {
                let node = &pass.program.nodes[n];
                let pick = self.crossing(pass.program, node.level, level);
                if let Some(sparse) = &self.slots[node.slot].sparse {
                    rows.try_resize(count * node.width)?;
                    crate::graph::expand(sparse.view(), pick, node.width, rows);
                    return Ok(Place::Kept(node.width));
                }
                if !in_order || matches!(pick, Pick::From(_)) {
                    return Ok(Place::Slot(n));
                }
                rows.try_resize(count * node.width)?;
                let view = View { data: &self.slots[node.slot].data, pick, width: node.width };
                join::copy(pass.threads, view, rows);
                Ok(Place::Kept(node.width))
            }
        }
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
                let pick = self.crossing(pass.program, node.level, level);
                Ok(View { data: &self.slots[node.slot].data, pick, width: node.width })
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

    fn compute(&mut self, pass: Pass<'_>, node: &Node, kept: &mut Kept, out: &mut Buffer) -> Result<()> {
        let Pass { program, parameters, graph, cut, threads, .. } = pass;
        let width = node.width;
        let count = cut.level(node.level).1;
        let input = node.input(0)?;
        let is_dropout = matches!(node.kind, Kind::Dropout { .. });
        if !node.in_place && !is_dropout {
            self.slots[node.slot].sparse = None;
            out.try_resize(count * width)?;
        }
        match &node.kind {
            Kind::MatMul { weight, .. } => {
                let w = &parameters[weight.clone()];
                match input {
                    Source::Features => {
                        let (x, pick) = (graph.features()?.rows(), cut.level(node.level).0);
                        threads.times(x, pick, w, width, Finish::Plain, out);
                    }
                    Source::Aggregated(i) => {
                        let pick = cut.level(node.level).0;
                        self.aggregated[i].times(graph, pick, threads, (w, width), Finish::Plain, out)?;
                    }
                    Source::Node(n) => {
                        let (rows, pick, _) = self.factor(program, n, node.level);
                        threads.times(rows, pick, w, width, Finish::Plain, out);
                    }
                }
            }
            &Kind::Spmm { operator } => {
                let [rows, _] = &mut kept.rows;
                let place = self.find(pass, input, node.step, true, rows)?;
                let m = self.view(pass, place, node.step, rows)?.data;
                let (operator, pick) = cut.operator_at(graph, operator, node.step)?;
                threads.times(Rows::Sparse(operator), pick, m, width, Finish::Plain, out);
            }
            &Kind::Extreme(which) => {
                let Kept { rows: [rows, _], from, .. } = kept;
                let place = self.find(pass, input, node.step, true, rows)?;
                try_resize(from, count * width)?;
                let m = self.view(pass, place, node.step, rows)?;
                let links = cut.operator_at(graph, crate::graph::Operator::Links, node.step)?;
                extreme::forward(threads, which, links, m, out, from);
            }
            Kind::Copy => {
                let place = self.find(pass, input, node.level, false, &mut kept.rows[0])?;
                join::copy(threads, self.view(pass, place, node.level, &kept.rows[0])?, out);
            }
            Kind::Combine { scales } => {
                let [alpha, beta] = scales.map(|scale| scale.value(parameters));
                if node.in_place {
                    let source = node.input(1)?;
                    let place = self.find(pass, source, node.level, false, &mut kept.rows[1])?;
                    let b = self.view(pass, place, node.level, &kept.rows[1])?;
                    join::combine_in_place(threads, alpha, (beta, b), out);
                } else {
                    let places = self.both(pass, node, &mut kept.rows)?;
                    let a = self.view(pass, places[0], node.level, &kept.rows[0])?;
                    let b = self.view(pass, places[1], node.level, &kept.rows[1])?;
                    join::combine(threads, (alpha, a), (beta, b), out);
                }
            }
            Kind::Bias { bias } => {
                self.bring(pass, node, input, kept, out)?;
                let b = &parameters[bias.clone()];
                threads.fill_rows(out.len(), width, out, |_, row| row.iter_mut().zip(b).for_each(|(x, b)| *x += b));
            }
            &Kind::Activate(function) => {
                self.bring(pass, node, input, kept, out)?;
                activation::apply(function, threads, width, out);
            }
            &Kind::Dropout { rate, value } => {
                let masks = Dropped::new(pass, node.level, rate, value);
                if input == Source::Features
                    && let Matrix::Sparse { csr, .. } = graph.features()?
                {
                    let sparse = self.slots[node.slot].sparse.get_or_insert_default();
                    masks.sparse(csr.view(), count, sparse)?;
                    return Ok(());
                }
                if !node.in_place {
                    self.slots[node.slot].sparse = None;
                    out.try_resize(count * width)?;
                }
                self.bring(pass, node, input, kept, out)?;
                masks.apply(threads, width, out);
            }
            Kind::LayerNorm { weight, bias } => {
                let place = self.find(pass, input, node.level, false, &mut kept.rows[0])?;
                let x = self.view(pass, place, node.level, &kept.rows[0])?;
                let affine = Affine { weight: &parameters[weight.clone()], bias: &parameters[bias.clone()] };
                norm::layer(threads, x, affine, &mut kept.statistics, out)?;
            }
            Kind::BatchNorm { weight, bias, state } => {
                let place = self.find(pass, input, node.level, false, &mut kept.rows[0])?;
                let affine = Affine { weight: &parameters[weight.clone()], bias: &parameters[bias.clone()] };
                if program.request.mode == Mode::Inference {
                    let x = self.view(pass, place, node.level, &kept.rows[0])?;
                    let state = &pass.state[*state..state + 2 * width];
                    norm::batch_by_running(threads, x, affine, state, &mut kept.statistics, out)?;
                    return Ok(());
                }
                if count < 2 {
                    let text = format!("a batch norm needs at least two rows, and there is {count}");
                    return Err(Error::InvalidArgument(text));
                }
                let mut sums = take(&mut self.sums);
                let x = self.view(pass, place, node.level, &kept.rows[0])?;
                let result = norm::batch(threads, x, affine, (&mut kept.statistics, &mut sums), out);
                self.sums = sums;
                result?;
            }
            Kind::Concat => {
                let places = self.both(pass, node, &mut kept.rows)?;
                let a = self.view(pass, places[0], node.level, &kept.rows[0])?;
                let b = self.view(pass, places[1], node.level, &kept.rows[1])?;
                join::concat(threads, a, b, out);
            }
            Kind::MaxOf => {
                let places = self.both(pass, node, &mut kept.rows)?;
                let a = self.view(pass, places[0], node.level, &kept.rows[0])?;
                let b = self.view(pass, places[1], node.level, &kept.rows[1])?;
                join::max(threads, a, b, out);
            }
        }
        Ok(())
    }

    /// The result of a primitive as a left factor at a level, and the mean number of entries of its rows.
    fn factor(&self, program: &Program, n: usize, level: usize) -> (Rows<'_>, Pick<'_>, usize) {
        let node = &program.nodes[n];
        let pick = self.crossing(program, node.level, level);
        let slot = &self.slots[node.slot];
        match &slot.sparse {
            Some(sparse) => (Rows::Sparse(sparse.view()), pick, sparse.view().mean_entries()),
            None => (Rows::Dense { data: &slot.data, width: node.width }, pick, node.width),
        }
    }

    /// Copies the input to the result, unless they are in one place.
    fn bring(&mut self, pass: Pass<'_>, node: &Node, input: Source, kept: &mut Kept, out: &mut [f32]) -> Result<()> {
        if node.in_place {
            return Ok(());
        }
        let place = self.find(pass, input, node.level, false, &mut kept.rows[0])?;
        join::copy(pass.threads, self.view(pass, place, node.level, &kept.rows[0])?, out);
        Ok(())
    }

    /// From the gradient by the result, in its place, to the gradient by all parameters of the loss + λ/2 ‖w‖². Requires
    /// [`Workspace::forward`] of the same pass.
    pub fn backward(&mut self, pass: Pass<'_>, lambda: f32) -> Result<()> {
        let program = pass.program;
        self.slots.iter_mut().for_each(|slot| slot.written = false);
        let count = pass.parameters.len();
        self.gradient.try_resize_within(count, count)?;
        let output = &mut self.slots[program.output().slot];
        std::mem::swap(&mut output.data, &mut output.gradient);
        output.written = true;
        let mut gradient = take(&mut self.gradient);
        let mut result = Ok(());
        for (i, node) in program.nodes.iter().enumerate().rev().filter(|(_, node)| node.has_gradient) {
            let mut kept = take(&mut self.kept[i]);
            let mut g = take(&mut self.slots[node.slot].gradient);
            result = self.differentiate(pass, node, &mut kept, &mut g, &mut gradient);
            self.kept[i] = kept;
            self.slots[node.slot].gradient = g;
            if result.is_err() {
                break;
            }
        }
        self.gradient = gradient;
        let output = &mut self.slots[program.output().slot];
        std::mem::swap(&mut output.data, &mut output.gradient);
        result?;
        if lambda > 0.0 {
            self.gradient.iter_mut().zip(pass.parameters).for_each(|(g, w)| *g += lambda * w);
        }
        Ok(())
    }

    /// Adds to the gradient by a primitive's result what `make` puts into a buffer: a row for each node at `level`.
    fn give(
        &mut self,
        pass: Pass<'_>,
        to: Option<Source>,
        level: usize,
        make: impl FnOnce(&mut Self, &mut Buffer) -> Result<()>,
    ) -> Result<()> {
        let Some(Source::Node(n)) = to else { return Ok(()) };
        let node = &pass.program.nodes[n];
        if !node.has_gradient {
            return Ok(());
        }
        let (width, slot) = (node.width, node.slot);
        let size = pass.cut.level(level).1 * width;
        let alone = node.level == level && !self.slots[slot].written;
        let mut out = take(if alone { &mut self.slots[slot].gradient } else { &mut self.more });
        let made = out.try_resize(size).and_then(|()| make(self, &mut out));
        if alone {
            self.slots[slot].gradient = out;
            self.slots[slot].written = true;
            return made;
        }
        made?;
        let mut gradient = take(&mut self.slots[slot].gradient);
        if !self.slots[slot].written {
            gradient.try_resize(pass.cut.level(node.level).1 * width)?;
            gradient.fill(0.0);
        }
        match self.crossing(pass.program, node.level, level) {
            Pick::From(_) => table().add(&mut gradient, &out),
            Pick::List(rows) => {
                for (&row, more) in rows.iter().zip(out.chunks_exact(width)) {
                    let row = &mut gradient[row as usize * width..][..width];
                    row.iter_mut().zip(more).for_each(|(g, more)| *g += more);
                }
            }
        }
        self.slots[slot].gradient = gradient;
        self.slots[slot].written = true;
        self.more = out;
        Ok(())
    }

    fn differentiate(
        &mut self,
        pass: Pass<'_>,
        node: &Node,
        kept: &mut Kept,
        g: &mut Buffer,
        gradient: &mut [f32],
    ) -> Result<()> {
        let Pass { program, parameters, graph, cut, threads, .. } = pass;
        let (width, level, inputs) = (node.width, node.level, node.inputs);
        match &node.kind {
            Kind::MatMul { weight, fan_in, adds } => {
                self.product_gradient(pass, node, g, weight, *adds, gradient)?;
                self.give(pass, inputs[0], level, |this, out| {
                    transpose(&parameters[weight.clone()], width, &mut this.transposed_weights)?;
                    let rows = Rows::Dense { data: g, width };
                    threads.times(rows, Pick::From(0), &this.transposed_weights, *fan_in, Finish::Plain, out);
                    Ok(())
                })?;
            }
            &Kind::Spmm { operator } => {
                let count = cut.level(node.step).1;
                self.give(pass, inputs[0], node.step, |_, out| {
                    let (block, pick) = cut.operator_at(graph, operator, node.step)?;
                    if !cut.is_whole() {
                        let of = (cut.number(), count);
                        return kept.transposed.times_block((block, pick), of, threads, (g, width), Finish::Plain, out);
                    }
                    let transposed = Rows::Sparse(graph.transposed_operator(operator)?);
                    let g: &[f32] = match pick {
                        Pick::From(_) => g,
                        Pick::List(nodes) => {
                            spread(graph, nodes, (g, width), &mut kept.rows[1])?;
                            &kept.rows[1]
                        }
                    };
                    threads.times(transposed, Pick::From(0), g, width, Finish::Plain, out);
                    Ok(())
                })?;
            }
            Kind::Extreme(_) => {
                self.give(pass, inputs[0], node.step, |_, out| {
                    out.fill(0.0);
                    extreme::gradient(g, &kept.from, width, out);
                    Ok(())
                })?;
            }
            Kind::Copy => self.pass_on(pass, inputs[0], level, (g, width), 1.0)?,
            Kind::Combine { scales } => {
                for k in [1, 0] {
                    if let Scale::OnePlus(at) = scales[k] {
                        gradient[at] = self.product_with(pass, node, k, kept, g)?;
                    }
                    if k == 0 && node.in_place {
                        let alpha = scales[0].value(parameters);
                        if alpha != 1.0 {
                            g.iter_mut().for_each(|g| *g *= alpha);
                        }
                    } else {
                        self.pass_on(pass, inputs[k], level, (g, width), scales[k].value(parameters))?;
                    }
                }
            }
            Kind::Bias { bias } => {
                let sums = self.sums.of_rows(threads, g, width)?;
                gradient[bias.clone()].iter_mut().zip(sums).for_each(|(g, &sum)| *g = sum as f32);
                self.move_on(pass, node, g)?;
            }
            &Kind::Activate(function) => {
                if function == crate::nn::Activation::Gelu {
                    let source = node.input(0)?;
                    let place = self.find(pass, source, level, true, &mut kept.rows[0])?;
                    let x = self.view(pass, place, level, &kept.rows[0])?.data;
                    activation::gradient(function, threads, width, x, g);
                } else {
                    activation::gradient(function, threads, width, &self.slots[node.slot].data, g);
                }
                self.move_on(pass, node, g)?;
            }
            &Kind::Dropout { rate, value } => {
                Dropped::new(pass, level, rate, value).apply(threads, width, g);
                self.move_on(pass, node, g)?;
            }
            Kind::LayerNorm { weight, bias } | Kind::BatchNorm { weight, bias, .. } => {
                let by_rows = matches!(node.kind, Kind::LayerNorm { .. });
                let source = node.input(0)?;
                let place = self.find(pass, source, level, false, &mut kept.rows[0])?;
                let mut sums = take(&mut self.sums);
                let x = self.view(pass, place, level, &kept.rows[0])?;
                let (to_weight, to_bias) = gradient[weight.start..bias.end].split_at_mut(width);
                let both = [&mut *to_weight, &mut *to_bias];
                let result = norm::affine_gradient(threads, (x, by_rows), &kept.statistics, g, &mut sums, both);
                self.sums = sums;
                result?;
                let w = &parameters[weight.clone()];
                self.give(pass, inputs[0], level, |this, out| {
                    let x = this.view(pass, place, level, &kept.rows[0])?;
                    if by_rows {
                        norm::layer_gradient(threads, x, w, &kept.statistics, g, out);
                    } else {
                        norm::batch_gradient(threads, x, (w, to_weight, to_bias), &kept.statistics, g, out);
                    }
                    Ok(())
                })?;
            }
            Kind::Concat => {
                let widths = inputs.map(|source| match source {
                    Some(Source::Node(n)) => program.nodes[n].width,
                    _ => graph.num_features(),
                });
                let starts = [0, widths[0]];
                for k in [1, 0] {
                    self.give(pass, inputs[k], level, |_, out| {
                        threads.fill_rows(out.len(), widths[k], out, |i, row| {
                            row.copy_from_slice(&g[i * width + starts[k]..][..widths[k]]);
                        });
                        Ok(())
                    })?;
                }
            }
            Kind::MaxOf => {
                let places = self.both(pass, node, &mut kept.rows)?;
                for k in [1, 0] {
                    self.give(pass, inputs[k], level, |this, out| {
                        let a = this.view(pass, places[0], level, &kept.rows[0])?;
                        let b = this.view(pass, places[1], level, &kept.rows[1])?;
                        join::max_gradient(threads, [a, b], k == 1, g, out);
                        Ok(())
                    })?;
                }
            }
        }
        Ok(())
    }

    /// The gradient by W of a product, stored, or added to that of another product with the same W.
    fn product_gradient(
        &mut self,
        pass: Pass<'_>,
        node: &Node,
        g: &[f32],
        weight: &Range<usize>,
        adds: bool,
        gradient: &mut [f32],
    ) -> Result<()> {
        let Pass { graph, cut, threads, .. } = pass;
        let to = &mut gradient[weight.clone()];
        let by = (g, node.width);
        let mut sums = take(&mut self.partial_sums);
        let mut more = take(&mut self.more);
        let stored = if adds { more.try_resize(to.len()) } else { Ok(()) };
        let target: &mut [f32] = if adds { &mut more } else { &mut *to };
        let result = stored.and_then(|()| match node.input(0)? {
            Source::Features => {
                let x = graph.features()?;
                let x = (x.rows(), x.row_entries());
                threads.transposed_times(x, cut.level(node.level).0, by, target, &mut sums)
            }
            Source::Aggregated(i) => {
                let pick = cut.level(node.level).0;
                self.aggregated[i].transposed_times(graph, pick, threads, by, target, &mut sums)
            }
            Source::Node(n) => {
                let (rows, pick, entries) = self.factor(pass.program, n, node.level);
                threads.transposed_times((rows, entries), pick, by, target, &mut sums)
            }
        });
        if adds && result.is_ok() {
            table().add(to, &more);
        }
        self.partial_sums = sums;
        self.more = more;
        result
    }

    /// `Σ g·x` for the k-th input x, which is the gradient by its factor.
    fn product_with(&mut self, pass: Pass<'_>, node: &Node, k: usize, kept: &mut Kept, g: &[f32]) -> Result<f32> {
        let source = node.input(k)?;
        let place = self.find(pass, source, node.level, false, &mut kept.rows[k])?;
        let mut sums = take(&mut self.sums);
        let x = self.view(pass, place, node.level, &kept.rows[k])?;
        let width = node.width;
        let result = sums.of(pass.threads, (g.len() / width, 1), |i, sum| {
            let products = x.row(i).iter().zip(&g[i * width..]);
            sum[0] += products.map(|(&x, &g)| f64::from(x) * f64::from(g)).sum::<f64>();
        });
        let result = result.map(|sum| sum[0] as f32);
        self.sums = sums;
        result
    }

    /// Gives `factor · g` to an input.
    fn pass_on(
        &mut self,
        pass: Pass<'_>,
        to: Option<Source>,
        level: usize,
        (g, width): (&[f32], usize),
        factor: f32,
    ) -> Result<()> {
        self.give(pass, to, level, |_, out| {
            join::scale(pass.threads, factor, View { data: g, pick: Pick::From(0), width }, out);
            Ok(())
        })
    }

    /// Gives a gradient that has been changed in place to the input, which may be in the same slot.
    fn move_on(&mut self, pass: Pass<'_>, node: &Node, g: &[f32]) -> Result<()> {
        if node.in_place { Ok(()) } else { self.pass_on(pass, node.inputs[0], node.level, (g, node.width), 1.0) }
    }
}

/// What a dropout drops: its key, and the nodes of its rows.
struct Dropped<'a> {
    nodes: Pick<'a>,
    key: u64,
    threshold: u32,
    scale: f32,
}

impl<'a> Dropped<'a> {
    fn new(pass: Pass<'a>, level: usize, rate: f64, value: usize) -> Self {
        let threshold = (rate * 4_294_967_296.0).min(f64::from(u32::MAX)) as u32;
        Dropped {
            nodes: pass.cut.level(level).0,
            key: mask_key(pass.masks.seed, pass.masks.step, value as u64),
            threshold,
            scale: (1.0 / (1.0 - rate)) as f32,
        }
    }

    fn row_key(&self, i: usize) -> u64 {
        crate::random::mix(self.key, self.nodes.at(i) as u64)
    }

    fn apply(&self, threads: &Threads, width: usize, rows: &mut [f32]) {
        let size = rows.len();
        threads.fill_rows(size, width, rows, |i, row| {
            table().drop_out(row, self.row_key(i), self.threshold, self.scale);
        });
    }

    /// Rows of sparse features, with numbers dropped. A number is dropped as in a dense row.
    fn sparse(&self, x: Sparse<'_>, count: usize, out: &mut SparseRows) -> Result<()> {
        try_resize(&mut out.indptr, count + 1)?;
        out.indptr[0] = 0;
        let mut entries = 0;
        for i in 0..count {
            entries += x.row(self.nodes.at(i)).0.len();
            out.indptr[i + 1] = entries as i64;
        }
        try_resize(&mut out.indices, entries)?;
        try_resize(&mut out.values, entries)?;
        for i in 0..count {
            let (columns, values) = x.row(self.nodes.at(i));
            let key = self.row_key(i);
            let range = out.indptr[i] as usize..out.indptr[i + 1] as usize;
            out.indices[range.clone()].copy_from_slice(columns);
            for ((to, &x), &column) in out.values[range].iter_mut().zip(values).zip(columns) {
                let random = crate::kernel::mix(column as u32, key as u32, (key >> 32) as u32);
                *to = if random < self.threshold { 0.0 } else { x * self.scale };
            }
        }
        Ok(())
    }
}
