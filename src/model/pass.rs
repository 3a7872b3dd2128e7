//! Forward and backward over a cut, in buffers that are reused from step to step.
//!
//! A layer computes Z = Op·In·W. Layer 0 with an exact input reads rows of ÂX, which is Op·In already. Elsewhere the
//! narrower side goes through the sparse product: (Op·(In·W)) if fan_out ≤ fan_in, else ((Op·In)·W). The choice depends on the
//! widths alone, so that a node's output has the same bits whichever other nodes are computed with it. A gradient belongs to
//! its batch as a whole, and takes the cheaper order for that batch.

use super::Model;
use super::folded::{Delta, Folded, Signs};
use crate::error::{Error, ForThe, Result};
use crate::graph::{AggregatedRows, Graph, Matrix, Operator};
use crate::kernel::{Buffer, Finish, Pick, Rows, Threads, table};
use crate::nn::transposed::{DELTAS, Transposed, symmetric_times, transpose};
use crate::sample::Cut;

/// What buffers are for, in case they cannot be allocated.
const PRODUCTS: &str = "products of a layer";
const SAMPLED_FEATURES: &str = "features of the sampled nodes";

/// What the output of layer `l` is for.
fn activations(model: &Model, l: usize) -> &'static str {
    if l + 1 < model.num_layers() { "hidden activations" } else { "outputs of the model" }
}

/// Everything a pass needs beside the model, the graph and the cut.
#[derive(Default)]
pub struct Workspace {
    input: AggregatedRows,
    /// The order of each layer's products in the current pass.
    orders: Vec<Order>,
    layers: Vec<Buffers>,
    /// The gradient by a layer's output, and by its input. The two are swapped from layer to layer, and finally with XW of the
    /// input layer if that was computed.
    delta: Buffer,
    next_delta: Buffer,
    middle_delta: Buffer,
    transposed_weights: Buffer,
    /// Where H^(1) is positive, if it is not kept itself.
    signs: Signs,
    /// Transposed blocks, by layer.
    transposed: Vec<Transposed>,
    partial_sums: Buffer,
    gradient: Buffer,
}

#[derive(Default)]
struct Buffers {
    /// H^(l+1), or the logits of the last layer; a row per node above.
    output: Buffer,
    /// In·W with a row per node below, or Op·In with a row per node above.
    middle: Buffer,
    /// Dense features of the sampled input nodes, if Op·In is computed from them.
    gathered: Buffer,
}

/// The order of the two products of a layer.
#[derive(Clone, Copy, PartialEq)]
enum Order {
    /// Rows of ÂX times W.
    Aggregated,
    /// Rows of Â times XW of all nodes.
    FeaturesFirst,
    /// In·W alone, above layer 0: Op is the identity.
    Transform,
    /// Op·(In·W).
    TransformFirst,
    /// (Op·In)·W.
    AggregateFirst,
    /// The two lowest layers together, see [`Folded`].
    Folded,
}

impl Workspace {
    /// Bytes of the large buffers.
    pub fn bytes(&self) -> usize {
        let layers = self.layers.iter().map(|b| b.output.bytes() + b.middle.bytes() + b.gathered.bytes());
        let deltas = self.delta.bytes() + self.next_delta.bytes() + self.middle_delta.bytes();
        layers.sum::<usize>() + deltas + self.partial_sums.bytes() + self.signs.bytes()
    }

    /// The output of layer `l` of the last forward pass.
    pub fn output(&self, l: usize) -> &[f32] {
        &self.layers[l].output
    }

    /// The same, for a loss to leave its gradient there.
    pub fn output_mut(&mut self, l: usize) -> &mut [f32] {
        &mut self.layers[l].output
    }

    /// Computes the layers `0 ..= last` over a cut. A node's output has the same bits whichever other nodes are computed with
    /// it.
    pub fn forward(
        &mut self,
        model: &Model,
        (graph, cut): (&Graph, &Cut),
        threads: &Threads,
        last: usize,
        keep: bool,
    ) -> Result<()> {
        self.orders.clear();
        self.orders.extend((0..=last).map(|l| order(model, cut, l)));
        self.layers(model, (graph, cut), threads, last, keep)
    }

    /// Computes the layers `0 ..= last` in the orders that have been chosen.
    fn layers(
        &mut self,
        model: &Model,
        (graph, cut): (&Graph, &Cut),
        threads: &Threads,
        last: usize,
        keep: bool,
    ) -> Result<()> {
        let num_layers = model.num_layers().max(self.layers.len());
        self.layers.resize_with(num_layers, Buffers::default);
        self.transposed.resize_with(num_layers, Transposed::default);
        if self.orders[0] == Order::Aggregated {
            self.input.prepare(graph, (Operator::Normalized, 1), threads, keep)?;
        }
        for l in 0..=last {
            if l == 0 && self.orders[l] == Order::Folded {
                continue;
            }
            let (width, above) = (model.widths[l + 1], cut.count_above(l));
            let (below, here) = self.layers.split_at_mut(l);
            let Buffers { output, middle, gathered } = &mut here[0];
            output.try_resize(above * width).for_the(activations(model, l))?;
            let w = model.weights(l);
            let finish = if l + 1 < model.num_layers() { Finish::Rectify } else { Finish::Plain };
            match self.orders[l] {
                Order::Aggregated => {
                    self.input.times(graph, cut.pick_above(0), threads, (w, width), finish, output)?;
                }
                Order::FeaturesFirst => {
                    middle.try_resize(graph.num_nodes() * width).for_the(PRODUCTS)?;
                    threads.times(graph.features()?.rows(), Pick::From(0), w, width, Finish::Plain, middle);
                    threads.times(Rows::Sparse(graph.operator()), cut.pick_above(0), middle, width, finish, output);
                }
                Order::Transform => {
                    let (rows, pick, _) = layer_input(model, graph, cut, below, l)?;
                    threads.times(rows, pick, w, width, finish, output);
                }
                Order::TransformFirst => {
                    let (rows, pick, count) = layer_input(model, graph, cut, below, l)?;
                    middle.try_resize(count * width).for_the(PRODUCTS)?;
                    threads.times(rows, pick, w, width, Finish::Plain, middle);
                    let (operator, pick) = cut.operator(graph, l);
                    threads.times(Rows::Sparse(operator), pick, middle, width, finish, output);
                }
                Order::AggregateFirst => {
                    let fan_in = model.widths[l];
                    middle.try_resize(above * fan_in).for_the(PRODUCTS)?;
                    let dense = if l > 0 { &below[l - 1].output } else { gather(graph, cut, gathered)? };
                    let (operator, pick) = cut.operator(graph, l);
                    threads.times(Rows::Sparse(operator), pick, dense, fan_in, Finish::Plain, middle);
                    let middle = Rows::Dense { data: middle, width: fan_in };
                    threads.times(middle, Pick::From(0), w, width, finish, output);
                }
                Order::Folded => {
                    // The output of the last layer takes the place of XW.
                    let features = if model.num_layers() == 2 { &mut *output } else { &mut below[0].middle };
                    Folded::new(model, graph, threads)?.forward(features, middle, &mut self.signs)?;
                    output.try_resize(above * width).for_the(activations(model, l))?;
                    let (operator, pick) = cut.operator(graph, l);
                    threads.times(Rows::Sparse(operator), pick, middle, width, finish, output);
                }
            }
        }
        Ok(())
    }

    /// Releases what the last pass borrowed from the graph.
    pub fn release(&mut self) {
        self.input.release();
    }

    /// Computes all layers over a cut, so that [`Workspace::backward`] can follow. A gradient belongs to its batch as a whole:
    /// each layer takes the cheaper order of its products. On success or failure [`Workspace::release`] must follow.
    pub fn forward_for_gradient(&mut self, model: &Model, graph: &Graph, cut: &Cut, threads: &Threads) -> Result<()> {
        self.orders.clear();
        for l in 0..model.num_layers() {
            self.orders.push(cheapest_order(model, graph, cut, l)?);
        }
        if let [lowest @ Order::FeaturesFirst, second @ Order::TransformFirst, ..] = &mut self.orders[..]
            && cut.is_whole()
            && Folded::fits(model)
        {
            (*lowest, *second) = (Order::Folded, Order::Folded);
        }
        self.reserve(model, cut, matches!(graph.features()?, Matrix::Dense { .. }))?;
        self.layers(model, (graph, cut), threads, model.num_layers() - 1, true)
    }

    /// From the gradient by the outputs, in their place, to the gradient by all parameters of the loss + λ/2 ‖W‖². Requires
    /// [`Workspace::forward_for_gradient`] over the same cut.
    pub fn backward(&mut self, model: &Model, graph: &Graph, cut: &Cut, threads: &Threads) -> Result<()> {
        let last = model.num_layers() - 1;
        std::mem::swap(&mut self.layers[last].output, &mut self.delta);
        self.layers_backward(model, graph, cut, threads)?;
        std::mem::swap(&mut self.layers[last].output, &mut self.delta);
        let lambda = model.lambda as f32;
        if lambda > 0.0 {
            self.gradient.iter_mut().zip(model.parameters.iter()).for_each(|(g, w)| *g += lambda * w);
        }
        Ok(())
    }

    /// The gradient by all parameters that [`Workspace::backward`] has computed.
    pub fn gradient(&self) -> &[f32] {
        &self.gradient
    }

    /// Makes room for either order of a layer's products, since the next batch may take the other one. Over a whole graph the
    /// order is the same every time, and large buffers get exactly what they need.
    fn reserve(&mut self, model: &Model, cut: &Cut, dense_features: bool) -> Result<()> {
        if cut.is_rows() {
            return Ok(());
        }
        self.layers.resize_with(model.num_layers().max(self.layers.len()), Buffers::default);
        for l in 0..model.num_layers() {
            let (fan_in, fan_out) = (model.widths[l], model.widths[l + 1]);
            let Buffers { output, middle, gathered } = &mut self.layers[l];
            if cut.is_whole() {
                let (above, below, two_layers) = (cut.count_above(l), cut.inputs(l).1, model.num_layers() == 2);
                let (in_middle, in_output) = match self.orders[l] {
                    Order::Aggregated | Order::Transform => (0, above * fan_out),
                    Order::FeaturesFirst | Order::TransformFirst => (below * fan_out, above * fan_out),
                    Order::AggregateFirst => (below * fan_in, above * fan_out),
                    // Where the upper one is the last, its output has the place of XW as well.
                    Order::Folded if l == 0 => (if two_layers { 0 } else { below * fan_out }, 0),
                    Order::Folded if two_layers => (below * fan_out, below * fan_in.max(fan_out)),
                    Order::Folded => (below * fan_out, above * fan_out),
                };
                middle.try_reserve_exact(in_middle).for_the(PRODUCTS)?;
                output.try_reserve_exact(in_output).for_the(activations(model, l))?;
                if self.orders[l] == Order::TransformFirst {
                    self.middle_delta.try_reserve_exact(in_middle).for_the(DELTAS)?;
                }
                if l + 1 == model.num_layers() && (l > 1 || l == 1 && self.orders[0] == Order::Aggregated) {
                    self.next_delta.try_reserve_exact(cut.inputs(l).1 * fan_in).for_the(DELTAS)?;
                }
            } else if l > 0 || !cut.exact_input() {
                let (above, below) = (cut.count_above(l), cut.inputs(l).1);
                let either = (below * fan_out).max(above * fan_in);
                middle.try_reserve(either).for_the(PRODUCTS)?;
                self.middle_delta.try_reserve(either).for_the(DELTAS)?;
                if l == 0 && dense_features {
                    gathered.try_reserve(below * fan_in).for_the(SAMPLED_FEATURES)?;
                }
            }
        }
        Ok(())
    }

    /// From the gradient by the last layer's output, in `delta`, to the gradient by all parameters.
    fn layers_backward(&mut self, model: &Model, graph: &Graph, cut: &Cut, threads: &Threads) -> Result<()> {
        self.gradient.try_resize_within(model.parameters.len(), model.parameters.len()).for_the("gradient")?;
        for l in (0..model.num_layers()).rev() {
            let (fan_in, width) = (model.widths[l], model.widths[l + 1]);
            let (below, here) = self.layers.split_at_mut(l);
            let w = model.weights(l);
            let gradient = &mut self.gradient[model.range(l)];
            if l == 1 && self.orders[0] == Order::FeaturesFirst {
                // XW has been of use: the gradient by what was made of it takes its place.
                std::mem::swap(&mut self.next_delta, &mut below[0].middle);
            }
            // What a layer's rectifier has stopped, its gradient does not pass.
            let passed = below.last().map_or(Finish::Plain, |below| Finish::Where(&below.output));
            match self.orders[l] {
                Order::FeaturesFirst => {
                    // The layer's output has been of use, too, and the gradient by XW takes its place.
                    let (pick, by) = (cut.pick_above(0), (&*self.delta, width));
                    let Buffers { output: out, middle: spread, .. } = &mut here[0];
                    if graph.is_symmetric() && 2 * cut.count_above(0) >= graph.num_nodes() {
                        symmetric_times(graph, threads, pick, by, Finish::Plain, (spread, &mut *out))?;
                    } else {
                        out.try_resize(graph.num_nodes() * width).for_the(DELTAS)?;
                        out.fill(0.0);
                        table().transposed_times(Rows::Sparse(graph.operator()), pick, &self.delta, width, out);
                    }
                    let (x, scratch) = (graph.features()?, &mut self.partial_sums);
                    let (x, by) = ((x.rows(), x.row_entries()), (&**out, width));
                    threads.transposed_times(x, Pick::From(0), by, gradient, scratch)?;
                }
                Order::Folded if l == 0 => {}
                Order::Folded => {
                    let (w0, w1) = self.gradient.split_at_mut(model.range(1).start);
                    let gradients = [w0, &mut w1[..fan_in * width]];
                    let (features, delta) = match model.num_layers() {
                        2 => (&mut self.delta, Delta::InPlace(cut.top())),
                        _ => (&mut below[0].middle, Delta::Of(&self.delta)),
                    };
                    let rooms = (&mut here[0].middle, &mut self.transposed_weights, &mut self.partial_sums);
                    let folded = Folded::new(model, graph, threads)?;
                    folded.backward(features, delta, &mut self.signs, gradients, rooms)?;
                }
                Order::Aggregated => {
                    let by = (&*self.delta, width);
                    let scratch = &mut self.partial_sums;
                    self.input.transposed_times(graph, cut.pick_above(0), threads, by, gradient, scratch)?;
                }
                Order::Transform => {
                    let below = (Rows::Dense { data: &below[l - 1].output, width: fan_in }, fan_in);
                    let (by, scratch) = ((&*self.delta, width), &mut self.partial_sums);
                    threads.transposed_times(below, Pick::From(0), by, gradient, scratch)?;
                    transpose(w, width, &mut self.transposed_weights)?;
                    self.next_delta.try_resize(self.delta.len() / width * fan_in).for_the(DELTAS)?;
                    let rows = Rows::Dense { data: &self.delta, width };
                    threads.times(rows, Pick::From(0), &self.transposed_weights, fan_in, passed, &mut self.next_delta);
                }
                Order::TransformFirst => {
                    let (rows, pick, count) = layer_input(model, graph, cut, below, l)?;
                    let by = (&*self.delta, width);
                    let to = (&mut here[0].middle, &mut self.middle_delta);
                    self.transposed[l].times(graph, (cut, l), threads, by, Finish::Plain, to)?;
                    let row_entries = if l == 0 { graph.features()?.row_entries() } else { fan_in };
                    let (by, scratch) = ((&*self.middle_delta, width), &mut self.partial_sums);
                    threads.transposed_times((rows, row_entries), pick, by, gradient, scratch)?;
                    if l > 0 {
                        transpose(w, width, &mut self.transposed_weights)?;
                        self.next_delta.try_resize(count * fan_in).for_the(DELTAS)?;
                        let rows = Rows::Dense { data: &self.middle_delta, width };
                        threads.times(
                            rows,
                            Pick::From(0),
                            &self.transposed_weights,
                            fan_in,
                            passed,
                            &mut self.next_delta,
                        );
                    }
                }
                Order::AggregateFirst => {
                    let aggregated = (Rows::Dense { data: &here[0].middle, width: fan_in }, fan_in);
                    let (by, scratch) = ((&*self.delta, width), &mut self.partial_sums);
                    threads.transposed_times(aggregated, Pick::From(0), by, gradient, scratch)?;
                    if l > 0 {
                        transpose(w, width, &mut self.transposed_weights)?;
                        self.middle_delta.try_resize(self.delta.len() / width * fan_in).for_the(DELTAS)?;
                        let rows = Rows::Dense { data: &self.delta, width };
                        let to = &mut self.middle_delta;
                        threads.times(rows, Pick::From(0), &self.transposed_weights, fan_in, Finish::Plain, to);
                        let by = (&*self.middle_delta, fan_in);
                        let to = (&mut here[0].middle, &mut self.next_delta);
                        self.transposed[l].times(graph, (cut, l), threads, by, passed, to)?;
                    }
                }
            }
            if l > 0 && self.orders[l] != Order::Folded {
                std::mem::swap(&mut self.delta, &mut self.next_delta);
            }
        }
        // Back in their places, so that the next step finds each as large as it needs it.
        if model.num_layers() > 1 && self.orders[0] == Order::FeaturesFirst {
            std::mem::swap(&mut self.delta, &mut self.layers[0].middle);
        }
        let exchanged = self.orders[1..].iter().filter(|&&order| order != Order::Folded).count();
        if !exchanged.is_multiple_of(2) {
            std::mem::swap(&mut self.delta, &mut self.next_delta);
        }
        Ok(())
    }
}

/// Whether rows of Â times XW of all nodes cost less than rows of ÂX times W.
fn features_first(graph: &Graph, cut: &Cut) -> Result<bool> {
    /// What an entry of a dense row costs, against one of a sparse row.
    const DENSE_COST: f32 = 0.3;
    let x = graph.features()?;
    let Matrix::Sparse { csr, .. } = x else {
        return Ok(false);
    };
    let (entries, count) = (csr.indices.len(), cut.count_above(0));
    if count * x.width() <= entries {
        return Ok(false);
    }
    let (operator, outlook) = (graph.operator(), graph.outlook(Operator::Normalized)?);
    let degree = |v: usize| (operator.indptr[v + 1] - operator.indptr[v]) as usize;
    let pick = cut.pick_above(0);
    let nodes = || (0..count).map(|i| pick.at(i));
    let aggregated = match outlook.dense() {
        true => DENSE_COST * (count * x.width()) as f32,
        false => nodes().map(|v| outlook.columns(operator, v)).sum(),
    };
    Ok(aggregated > (entries + nodes().map(degree).sum::<usize>()) as f32)
}

/// The order that costs least for the cut as a whole, by counted products.
fn cheapest_order(model: &Model, graph: &Graph, cut: &Cut, l: usize) -> Result<Order> {
    if l == 0 && cut.exact_input() {
        let first = !cut.is_rows() && features_first(graph, cut)?;
        return Ok(if first { Order::FeaturesFirst } else { Order::Aggregated });
    }
    if cut.is_rows() {
        return Ok(Order::Transform);
    }
    // Sparse features are not expanded into dense rows for the sake of the order.
    if l == 0 && matches!(graph.features()?, Matrix::Sparse { .. }) {
        return Ok(order(model, cut, l));
    }
    let (operator, above, below) = (cut.operator(graph, l).0, cut.count_above(l), cut.inputs(l).1);
    let entries = operator.indices.len() as u64 * above as u64 / operator.num_rows().max(1) as u64;
    // A row narrower than a vector costs as much as a whole one.
    let [fan_in, fan_out] = [model.widths[l], model.widths[l + 1]].map(|w| w.next_multiple_of(4));
    let transform_first = below * fan_in * fan_out + entries as usize * fan_out;
    let aggregate_first = above * fan_in * fan_out + entries as usize * fan_in;
    Ok(if transform_first <= aggregate_first { Order::TransformFirst } else { Order::AggregateFirst })
}

fn order(model: &Model, cut: &Cut, l: usize) -> Order {
    let (fan_in, fan_out) = (model.widths[l], model.widths[l + 1]);
    match l {
        0 if cut.exact_input() => Order::Aggregated,
        _ if cut.is_rows() => Order::Transform,
        _ if fan_out <= fan_in => Order::TransformFirst,
        _ => Order::AggregateFirst,
    }
}

/// The input of layer `l` as rows: the output of the layer below, or features of the sampled nodes.
fn layer_input<'a>(
    model: &Model,
    graph: &'a Graph,
    cut: &'a Cut,
    below: &'a [Buffers],
    l: usize,
) -> Result<(Rows<'a>, Pick<'a>, usize)> {
    if l == 0 {
        let (pick, count) = cut.inputs(0);
        return Ok((graph.features()?.rows(), pick, count));
    }
    let data = &below[l - 1].output;
    Ok((Rows::Dense { data, width: model.widths[l] }, Pick::From(0), data.len() / model.widths[l]))
}

/// The sampled nodes' features as dense rows in the order of their local ids.
fn gather<'a>(graph: &Graph, cut: &Cut, rows: &'a mut Buffer) -> Result<&'a Buffer> {
    let (pick, count) = cut.inputs(0);
    let Pick::List(nodes) = pick else {
        return Err(Error::Internal("a sampled input without a list".to_string()));
    };
    let x = graph.features()?;
    rows.try_resize(count * x.width()).for_the(SAMPLED_FEATURES)?;
    match x {
        Matrix::Dense { data, width: 1 } => gather_short::<1>(data, nodes, rows),
        Matrix::Dense { data, width: 2 } => gather_short::<2>(data, nodes, rows),
        Matrix::Dense { data, width: 3 } => gather_short::<3>(data, nodes, rows),
        Matrix::Dense { data, width: 4 } => gather_short::<4>(data, nodes, rows),
        Matrix::Dense { data, width } => {
            for (row, &v) in rows.chunks_exact_mut(*width).zip(nodes) {
                row.copy_from_slice(&data[v as usize * width..][..*width]);
            }
        }
        Matrix::Sparse { csr, width } => {
            for (row, &v) in rows.chunks_exact_mut(*width).zip(nodes) {
                row.fill(0.0);
                let (columns, values) = csr.view().row(v as usize);
                columns.iter().zip(values).for_each(|(&k, &x)| row[k as usize] = x);
            }
        }
    }
    Ok(rows)
}

/// Rows so short that calling the C library's copy takes longer than copying them.
fn gather_short<const WIDTH: usize>(data: &[f32], nodes: &[i32], rows: &mut [f32]) {
    let data = data.as_chunks::<WIDTH>().0;
    rows.as_chunks_mut::<WIDTH>().0.iter_mut().zip(nodes).for_each(|(row, &v)| *row = data[v as usize]);
}
