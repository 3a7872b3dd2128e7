//! What each primitive passes back: from the gradient by its result to those by its inputs and its parameters.

use super::forward::dropped;
use super::order::Order;
use super::{Kept, Pass, View, Workspace, fit};
use crate::error::{Error, ForThe, Result};
use crate::graph::{Graph, Operator};
use crate::kernel::{Buffer, Finish, Pick, Rows, table};
use crate::nn::Activation;
use crate::nn::op::folded::{Delta, Folded};
use crate::nn::op::{activation, extreme, join, norm};
use crate::nn::program::{Kind, Node, Pair, Scale, Source};
use crate::nn::transposed::{DELTAS, Transposed, spread, transpose};
use std::mem::take;

impl Workspace {
    /// From the gradient by the result, in its place, to the gradient by all parameters of the loss + λ/2 ‖w‖². Requires
    /// [`Workspace::forward`] of the same pass.
    pub fn backward(&mut self, pass: Pass<'_>, lambda: f32) -> Result<()> {
        let program = pass.program;
        self.slots.iter_mut().for_each(|slot| slot.written = false);
        let count = pass.parameters.len();
        self.gradient.try_resize_within(count, count).for_the("gradient")?;
        let output = &mut self.slots[program.output().slot];
        std::mem::swap(&mut output.data, &mut output.gradient);
        output.written = true;
        let (mut gradient, mut kept) = (take(&mut self.gradient), take(&mut self.kept));
        let nodes = program.nodes.iter().zip(&mut kept).rev().filter(|(node, _)| node.has_gradient);
        let result = nodes.into_iter().try_for_each(|(node, kept)| {
            let mut g = take(&mut self.slots[node.slot].gradient);
            let result = self.differentiate(pass, node, kept, &mut g, &mut gradient);
            self.slots[node.slot].gradient = g;
            result
        });
        self.kept = kept;
        self.gradient = gradient;
        let output = &mut self.slots[program.output().slot];
        std::mem::swap(&mut output.data, &mut output.gradient);
        result?;
        if lambda > 0.0 {
            self.gradient.iter_mut().zip(pass.parameters).for_each(|(g, w)| *g += lambda * w);
        }
        Ok(())
    }

    /// Adds to the gradient by a primitive's result what `make` puts into a buffer: a row for each node at `level`, finished as
    /// `make` is told.
    pub(super) fn give(
        &mut self,
        pass: Pass<'_>,
        to: Option<Source>,
        level: usize,
        make: impl FnOnce(&mut Self, Finish<'_>, &mut Buffer) -> Result<()>,
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
        // A dropout in the same slot has masked it already, and gives nothing.
        let rectified = if node.masked_by_reader { take(&mut self.slots[slot].data) } else { Buffer::default() };
        let finish = if node.masked_by_reader { Finish::Where(&rectified) } else { Finish::Plain };
        let made = fit(&mut out, size, pass.cut).for_the(DELTAS).and_then(|()| make(self, finish, &mut out));
        if node.masked_by_reader {
            self.slots[slot].data = rectified;
        }
        if alone {
            self.slots[slot].gradient = out;
            self.slots[slot].written = true;
            return made;
        }
        made?;
        let mut gradient = take(&mut self.slots[slot].gradient);
        if !self.slots[slot].written {
            fit(&mut gradient, pass.cut.level(node.level).1 * width, pass.cut).for_the(DELTAS)?;
            gradient.fill(0.0);
        }
        match self.crossing(pass, node.level, level) {
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
        let Pass { program, parameters, graph, threads, .. } = pass;
        let (width, level, inputs) = (node.width, node.level, node.inputs);
        if node.rectified && !node.masked_by_reader {
            activation::gradient(Activation::Relu, threads, width, &self.slots[node.slot].data, g);
        }
        match &node.kind {
            Kind::MatMul { weight, fan_in, adds } => {
                let input = node.input(0)?;
                let to = &mut gradient[weight.clone()];
                match (kept.order, input) {
                    (Order::FeaturesFirst, Source::Aggregated(i)) => {
                        let operator = program.aggregated[i].0;
                        self.features_first_gradient(pass, (node, operator), kept, g, to)?;
                    }
                    _ => self.product_gradient(pass, (input, level), (g, width), *adds, to)?,
                }
                self.give(pass, inputs[0], level, |this, finish, out| {
                    transpose(&parameters[weight.clone()], width, &mut this.transposed_weights)?;
                    let rows = Rows::Dense { data: g, width };
                    threads.times(rows, Pick::From(0), &this.transposed_weights, *fan_in, finish, out);
                    Ok(())
                })?;
            }
            &Kind::Spmm { operator } => {
                self.give(pass, inputs[0], node.step, |_, finish, out| {
                    let Kept { transposed, rows: [_, room], .. } = kept;
                    let of = (operator, node.step);
                    Self::transposed_operator_times(pass, of, transposed, (g, width), finish, (room, out))
                })?;
            }
            Kind::Convolve { .. } => self.convolution_gradient(pass, node, kept, g, gradient)?,
            Kind::Folded(pair) => self.folded_gradient(pass, (node, pair), kept, g, gradient)?,
            Kind::Extreme(_) => {
                self.give(pass, inputs[0], node.step, |_, _, out| {
                    out.fill(0.0);
                    extreme::gradient(g, &kept.from, width, out);
                    Ok(())
                })?;
            }
            &Kind::Interleave(heads) => {
                let columns = heads.columns();
                self.give(pass, inputs[0], level, |_, _, out| {
                    threads.fill_rows(g.len(), columns, out, |i, row| heads.separate(&g[i * width..][..width], row));
                    Ok(())
                })?;
            }
            Kind::Attend { .. } => self.attention_gradient(pass, node, kept, g, gradient)?,
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
                if function == Activation::Gelu {
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
                let rectified = matches!(inputs[0], Some(Source::Node(n)) if program.nodes[n].rectified);
                if node.in_place && rectified {
                    let scale = (1.0 / (1.0 - rate)) as f32;
                    let data = &self.slots[node.slot].data;
                    activation::dropped_gradient(threads, width, (data, scale), g);
                } else {
                    dropped(pass, level, rate, value).apply(threads, width, g);
                }
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
                self.give(pass, inputs[0], level, |this, _, out| {
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
                    self.give(pass, inputs[k], level, |_, _, out| {
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
                    self.give(pass, inputs[k], level, |this, _, out| {
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
        of: (Source, usize),
        by: (&[f32], usize),
        adds: bool,
        to: &mut [f32],
    ) -> Result<()> {
        if !adds {
            return self.transposed_times(pass, of, by, to);
        }
        let mut more = take(&mut self.more);
        let result = more.try_resize(to.len()).for_the(DELTAS).and_then(|()| {
            self.transposed_times(pass, of, by, &mut more)?;
            table().add(to, &more);
            Ok(())
        });
        self.more = more;
        result
    }

    /// `out ← Opᵀ·G`, finished, from the level above a hop to the one below. `room` may be overwritten.
    fn transposed_operator_times(
        pass: Pass<'_>,
        (operator, step): (Operator, usize),
        transposed: &mut Transposed,
        (g, width): (&[f32], usize),
        finish: Finish<'_>,
        (room, out): (&mut Buffer, &mut Buffer),
    ) -> Result<()> {
        let Pass { graph, cut, threads, .. } = pass;
        let count = cut.level(step).1;
        let (block, pick) = cut.operator_at(graph, operator, step)?;
        fit(out, count * width, cut).for_the(DELTAS)?;
        if !cut.is_whole() {
            return transposed.times((block, pick), (cut.number(), count), threads, (g, width), finish, out);
        }
        let g = in_order(graph, pick, (g, width), room)?;
        let operator = Rows::Sparse(graph.transposed_operator(operator)?);
        threads.times(operator, Pick::From(0), g, width, finish, out);
        Ok(())
    }

    /// The gradients by W and by the input of Op·In·W.
    fn convolution_gradient(
        &mut self,
        pass: Pass<'_>,
        node: &Node,
        kept: &mut Kept,
        g: &[f32],
        gradient: &mut [f32],
    ) -> Result<()> {
        let Kind::Convolve { operator, weight, fan_in } = &node.kind else {
            return Err(Error::Internal("no convolution".to_string()));
        };
        let Pass { parameters, threads, .. } = pass;
        let (input, width, fan_in, of) = (node.input(0)?, node.width, *fan_in, (*operator, node.step));
        let w = &parameters[weight.clone()];
        let to = &mut gradient[weight.clone()];
        if kept.order == Order::AggregateFirst {
            let rows = (Rows::Dense { data: &kept.middle, width: fan_in }, fan_in);
            threads.transposed_times(rows, Pick::From(0), (g, width), to, &mut self.partial_sums)?;
            let mut between = take(&mut self.middle);
            let made = self.give(pass, node.inputs[0], node.step, |this, finish, out| {
                transpose(w, width, &mut this.transposed_weights)?;
                fit(&mut between, g.len() / width * fan_in, pass.cut).for_the(DELTAS)?;
                let rows = Rows::Dense { data: g, width };
                threads.times(rows, Pick::From(0), &this.transposed_weights, fan_in, Finish::Plain, &mut between);
                let (by, rooms) = ((&*between, fan_in), (&mut kept.middle, out));
                Self::transposed_operator_times(pass, of, &mut kept.transposed, by, finish, rooms)
            });
            self.middle = between;
            return made;
        }
        // The rows of all features may be many; the result has been of use, and makes room for the gradient by In·W.
        let own = input == Source::Features;
        let mut between = take(if own { &mut self.slots[node.slot].data } else { &mut self.middle });
        let rooms = (&mut kept.middle, &mut between);
        let made = Self::transposed_operator_times(pass, of, &mut kept.transposed, (g, width), Finish::Plain, rooms);
        let made = made.and_then(|()| {
            self.transposed_times(pass, (input, node.step), (&between, width), to)?;
            self.give(pass, node.inputs[0], node.step, |this, finish, out| {
                transpose(w, width, &mut this.transposed_weights)?;
                let rows = Rows::Dense { data: &between, width };
                threads.times(rows, Pick::From(0), &this.transposed_weights, fan_in, finish, out);
                Ok(())
            })
        });
        *if own { &mut self.slots[node.slot].data } else { &mut self.middle } = between;
        made
    }

    /// The gradient by W of Op·(X·W) over some rows of Op. XW and the result have been of use: the gradient by XW and what it
    /// is made of take their places.
    fn features_first_gradient(
        &mut self,
        pass: Pass<'_>,
        (node, operator): (&Node, Operator),
        kept: &mut Kept,
        g: &[f32],
        to: &mut [f32],
    ) -> Result<()> {
        let Pass { graph, cut, threads, .. } = pass;
        let (width, (pick, count)) = (node.width, cut.level(node.level));
        let mut between = take(&mut self.slots[node.slot].data);
        let made = between.try_resize(graph.num_nodes() * width).for_the(DELTAS);
        let made = made.and_then(|()| {
            if graph.keeps_transpose(operator) && 2 * count >= graph.num_nodes() {
                let g = in_order(graph, pick, (g, width), &mut kept.middle)?;
                let operator = Rows::Sparse(graph.transposed_operator(operator)?);
                threads.times(operator, Pick::From(0), g, width, Finish::Plain, &mut between);
            } else {
                between.fill(0.0);
                let operator = Rows::Sparse(graph.operator_of(operator)?);
                table().transposed_times(operator, pick, g, width, &mut between);
            }
            let x = graph.features()?;
            let (x, by) = ((x.rows(), x.row_entries()), (&*between, width));
            threads.transposed_times(x, Pick::From(0), by, to, &mut self.partial_sums)
        });
        self.slots[node.slot].data = between;
        made
    }

    /// The gradients by both weights of two folded layers.
    fn folded_gradient(
        &mut self,
        pass: Pass<'_>,
        (node, pair): (&Node, &Pair),
        kept: &mut Kept,
        g: &mut Buffer,
        gradient: &mut [f32],
    ) -> Result<()> {
        let Pass { program, parameters, graph, cut, threads, .. } = pass;
        let folded = Folded::new(pair, parameters, node.width, graph, threads)?;
        let Kept { rows: [rows, spread], middle, signs, .. } = kept;
        let [lower, upper] = pair.weights.clone();
        let Some((w0, w1)) = gradient.split_at_mut_checked(upper.start) else {
            return Err(Error::Internal("folded weights out of order".to_string()));
        };
        let gradients = [&mut w0[lower], &mut w1[..upper.end - upper.start]];
        let (features, delta) = match (program.nodes.len(), cut.level(node.level).0) {
            // The gradient is where XW0 was.
            (1, Pick::List(top)) => (g, Delta::InPlace(top)),
            (_, pick) => (rows, Delta::Of(in_order(graph, pick, (g, node.width), spread)?)),
        };
        let rooms = (middle, &mut self.transposed_weights, &mut self.partial_sums);
        folded.backward(features, delta, signs, gradients, rooms)
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
        self.give(pass, to, level, |_, _, out| {
            join::scale(pass.threads, factor, View { data: g, pick: Pick::From(0), width }, out);
            Ok(())
        })
    }

    /// Gives a gradient that has been changed in place to the input, which may be in the same slot.
    fn move_on(&mut self, pass: Pass<'_>, node: &Node, g: &[f32]) -> Result<()> {
        if node.in_place { Ok(()) } else { self.pass_on(pass, node.inputs[0], node.level, (g, node.width), 1.0) }
    }
}

/// G with a row for every node, spread in `room` if it has rows for some.
fn in_order<'a>(
    graph: &Graph,
    pick: Pick<'_>,
    (g, width): (&'a [f32], usize),
    room: &'a mut Buffer,
) -> Result<&'a [f32]> {
    match pick {
        Pick::From(_) => Ok(g),
        Pick::List(nodes) => {
            spread(graph, nodes, (g, width), room)?;
            Ok(room)
        }
    }
}
