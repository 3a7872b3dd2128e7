//! What each primitive computes.

use super::order::Order;
use super::{Kept, PRODUCTS, Pass, Workspace, fit};
use crate::error::{Error, ForThe, Result, try_resize};
use crate::graph::{Matrix, Operator};
use crate::kernel::{Buffer, Finish, Pick, Rows};
use crate::nn::op::dropout::Dropped;
use crate::nn::op::folded::Folded;
use crate::nn::op::join;
use crate::nn::op::norm::{self, Affine};
use crate::nn::op::{activation, extreme};
use crate::nn::program::{Kind, Mode, Node, Source};
use crate::random::mask_key;
use std::mem::take;

impl Workspace {
    /// Computes all primitives.
    pub fn forward(&mut self, pass: Pass<'_>) -> Result<()> {
        let program = pass.program;
        self.begin(pass);
        self.stored.clear();
        self.find_crossings(pass)?;
        let mut kept = take(&mut self.kept);
        let result = program.nodes.iter().zip(&mut kept).try_for_each(|(node, kept)| {
            let mut out = take(&mut self.slots[node.slot].data);
            let result = self.compute(pass, node, kept, &mut out);
            self.slots[node.slot].data = out;
            result
        });
        self.kept = kept;
        result
    }

    pub(super) fn compute(&mut self, pass: Pass<'_>, node: &Node, kept: &mut Kept, out: &mut Buffer) -> Result<()> {
        let Pass { program, parameters, graph, cut, threads, .. } = pass;
        let width = node.width;
        let count = cut.level(node.level).1;
        let input = node.input(0)?;
        let finish = if node.rectified { Finish::Rectify } else { Finish::Plain };
        // A dropout may leave sparse rows in place of dense ones, and folded layers use the room on their way.
        if !node.in_place && !matches!(node.kind, Kind::Dropout { .. } | Kind::Folded(_)) {
            self.slots[node.slot].sparse = None;
            fit(out, count * width, cut).for_the(purpose(pass, node))?;
        }
        match &node.kind {
            Kind::MatMul { weight, .. } => {
                let w = (&parameters[weight.clone()], width);
                kept.order = Order::of_product(pass, node, input)?;
                match (kept.order, input) {
                    (Order::FeaturesFirst, Source::Aggregated(i)) => {
                        let (operator, _) = program.aggregated[i];
                        let all = graph.num_nodes() * width;
                        kept.middle.try_resize(all).for_the(PRODUCTS)?;
                        out.try_reserve(all).for_the(PRODUCTS)?;
                        out.try_resize(count * width)?;
                        let x = graph.features()?.rows();
                        threads.times(x, Pick::From(0), w.0, width, Finish::Plain, &mut kept.middle);
                        let operator = Rows::Sparse(graph.operator_of(operator)?);
                        threads.times(operator, cut.level(node.level).0, &kept.middle, width, finish, out);
                    }
                    _ => self.times(pass, (input, node.level), w, finish, out)?,
                }
            }
            &Kind::Spmm { operator } => {
                let [rows, _] = &mut kept.rows;
                let place = self.find(pass, input, node.step, true, rows)?;
                let m = self.view(pass, place, node.step, rows)?.data;
                let (operator, pick) = cut.operator_at(graph, operator, node.step)?;
                threads.times(Rows::Sparse(operator), pick, m, width, finish, out);
            }
            Kind::Convolve { .. } => self.convolve(pass, node, kept, finish, out)?,
            Kind::Folded(pair) => {
                self.slots[node.slot].sparse = None;
                let folded = Folded::new(pair, parameters, width, graph, threads)?;
                // The output takes the place of XW0, if nobody works on it.
                let alone = program.nodes.len() == 1;
                let [rows, _] = &mut kept.rows;
                folded.forward(if alone { &mut *out } else { rows }, &mut kept.middle, &mut kept.signs)?;
                fit(out, count * width, cut).for_the(purpose(pass, node))?;
                let (operator, pick) = cut.operator_at(graph, Operator::Normalized, node.step)?;
                threads.times(Rows::Sparse(operator), pick, &kept.middle, width, finish, out);
            }
            &Kind::Extreme(which) => {
                let Kept { rows: [rows, _], from, .. } = kept;
                let place = self.find(pass, input, node.step, true, rows)?;
                try_resize(from, count * width)?;
                let m = self.view(pass, place, node.step, rows)?;
                let links = cut.operator_at(graph, Operator::Links, node.step)?;
                extreme::forward(threads, which, links, m, out, from);
            }
            &Kind::Interleave(heads) => {
                let place = self.find(pass, input, node.level, false, &mut kept.rows[0])?;
                let x = self.view(pass, place, node.level, &kept.rows[0])?;
                threads.fill_rows(out.len(), width, out, |i, row| heads.interleave(x.row(i), row));
            }
            Kind::Attend { .. } => self.attend(pass, node, kept, out)?,
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
                let rectified = node.rectified;
                threads.fill_rows(out.len(), width, out, |_, row| match rectified {
                    false => row.iter_mut().zip(b).for_each(|(x, b)| *x += b),
                    true => row.iter_mut().zip(b).for_each(|(x, b)| *x = activation::rectify(*x + b)),
                });
            }
            &Kind::Activate(function) => {
                self.bring(pass, node, input, kept, out)?;
                activation::apply(function, threads, width, out);
            }
            &Kind::Dropout { rate, value } => {
                let masks = dropped(pass, node.level, rate, value);
                if input == Source::Features
                    && let Matrix::Sparse { csr, .. } = graph.features()?
                {
                    let sparse = self.slots[node.slot].sparse.get_or_insert_default();
                    masks.sparse(csr.view(), count, sparse)?;
                    return Ok(());
                }
                if !node.in_place {
                    self.slots[node.slot].sparse = None;
                    fit(out, count * width, cut).for_the(purpose(pass, node))?;
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

    /// Op·In·W, in the order that costs less.
    fn convolve(
        &mut self,
        pass: Pass<'_>,
        node: &Node,
        kept: &mut Kept,
        finish: Finish<'_>,
        out: &mut Buffer,
    ) -> Result<()> {
        let Kind::Convolve { operator, weight, fan_in } = &node.kind else {
            return Err(Error::Internal("no convolution".to_string()));
        };
        let Pass { parameters, graph, cut, threads, program, .. } = pass;
        let (input, width, fan_in, w) = (node.input(0)?, node.width, *fan_in, &parameters[weight.clone()]);
        let (above, below) = (cut.level(node.level).1, cut.level(node.step).1);
        let (operator, pick) = cut.operator_at(graph, *operator, node.step)?;
        kept.order = Order::of_convolution(pass, node, (operator, fan_in), input)?;
        // Without gradients, the matrix in the middle is of no use to anyone else.
        let mut middle = take(if program.request.has_gradients() { &mut kept.middle } else { &mut self.middle });
        let made = if program.request.has_gradients() && !cut.is_whole() {
            // The next batch may take the other order.
            let either = (below * width).max(above * fan_in);
            let rows = if self.lies_in_order(pass, input, node.step)? { 0 } else { below * fan_in };
            let reserved = middle.try_reserve(either).and_then(|()| self.middle.try_reserve(either));
            reserved.and_then(|()| kept.rows[0].try_reserve(rows)).for_the(PRODUCTS)
        } else {
            Ok(())
        };
        let made = made.and_then(|()| match kept.order {
            Order::AggregateFirst => {
                let [rows, _] = &mut kept.rows;
                fit(&mut middle, above * fan_in, cut).for_the(PRODUCTS)?;
                let place = self.find(pass, input, node.step, true, rows)?;
                let m = self.view(pass, place, node.step, rows)?.data;
                threads.times(Rows::Sparse(operator), pick, m, fan_in, Finish::Plain, &mut middle);
                let rows = Rows::Dense { data: &middle, width: fan_in };
                threads.times(rows, Pick::From(0), w, width, finish, out);
                Ok(())
            }
            _ => {
                fit(&mut middle, below * width, cut).for_the(PRODUCTS)?;
                self.times(pass, (input, node.step), (w, width), Finish::Plain, &mut middle)?;
                threads.times(Rows::Sparse(operator), pick, &middle, width, finish, out);
                Ok(())
            }
        });
        *if program.request.has_gradients() { &mut kept.middle } else { &mut self.middle } = middle;
        made
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
}

/// What a dropout drops in this pass.
pub fn dropped(pass: Pass<'_>, level: usize, rate: f64, value: usize) -> Dropped<'_> {
    Dropped::new(pass.cut.level(level).0, mask_key(pass.masks.seed, pass.masks.step, value as u64), rate)
}

/// What the result of a primitive is for.
fn purpose(pass: Pass<'_>, node: &Node) -> &'static str {
    if std::ptr::eq(node, pass.program.output()) { "outputs of the model" } else { "hidden activations" }
}
