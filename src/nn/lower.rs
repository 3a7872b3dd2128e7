//! From operations to primitives.
//!
//! | rewrite | when |
//! |---|---|
//! | Op·X is read from the graph's copy, and is no hop any more | nothing is drawn at the hop, and its input is the features |
//! | ÂX, Â²X, … likewise | also of the hops below, and the graph has room for them |
//! | Op·H·W is one primitive, which chooses between Op·(H·W) and (Op·H)·W | W follows the operator |
//! | Op·(X·W) in place of a copy of Op·X | X is sparse, and all nodes are computed |
//! | Â·H becomes H | Â is the identity, and nothing is drawn |
//! | a rectifier becomes part of the product or the bias before it | nobody else reads that |
//! | two convolutions become one primitive | they are the lowest, on sparse features, all nodes are computed, and nobody else reads the values between them |
//! | Op·H·W is two primitives | it runs level by level |
//! | dropout disappears | in inference, and while gradients are measured |
//!
//! The last product of a layer can choose its order anew in each step ([`super::run`]), where a rewrite would fix it.

use super::layers::{Activation, Aggregator, Joined, Norm, Op, Version};
use super::op::folded::MOST_HIDDEN;
use super::program::{Kind, Mode, Node, Pair, Program, Request, Scale, Source};
use super::tensors::Net;
use crate::graph::Operator;
use crate::kernel::{Extreme, Heads};
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

impl Net {
    /// The program for a request.
    pub fn program(&self, request: Request) -> Program {
        static LAST: AtomicU64 = AtomicU64::new(0);
        let mut lower =
            Lower { net: self, request, nodes: Vec::new(), hops: Vec::new(), aggregated: Vec::new(), next_hop: 0 };
        lower.values();
        lower.share_weights();
        let id = LAST.fetch_add(1, Ordering::Relaxed) + 1;
        Program::finish(lower.nodes, &lower.hops, lower.aggregated, request, (self.id(), id))
    }
}

/// The primitive that aggregates.
fn primitive_of(aggregator: Aggregator) -> Kind {
    match aggregator {
        Aggregator::Mean => Kind::Spmm { operator: Operator::Mean },
        Aggregator::Sum => Kind::Spmm { operator: Operator::Sum },
        Aggregator::Max => Kind::Extreme(Extreme::Largest),
        Aggregator::Min => Kind::Extreme(Extreme::Smallest),
    }
}

struct Lower<'a> {
    net: &'a Net,
    request: Request,
    nodes: Vec<Node>,
    /// Hops that are left: the number of each among all hops, and its primitive.
    hops: Vec<(usize, usize)>,
    aggregated: Vec<(Operator, usize)>,
    next_hop: usize,
}

impl Lower<'_> {
    fn values(&mut self) {
        let values = self.net.layers().values();
        let mut needed = vec![false; values.len()];
        needed[self.request.value] = true;
        for (i, value) in values.iter().enumerate().skip(1).rev().filter(|(i, _)| *i <= self.request.value) {
            if needed[i] {
                needed[value.input] = true;
                if let Some(other) = value.op.other() {
                    needed[other] = true;
                }
            }
        }
        let mut sources = vec![Source::Features; values.len()];
        for (i, value) in values.iter().enumerate() {
            self.next_hop += value.op.hops();
            if needed[i] && i > 0 {
                sources[i] = self.value(i, sources[value.input], value.op.other().map(|other| sources[other]));
            }
        }
        // A result that is no primitive's, or one that a loss may not overwrite, is copied; and the top is picked.
        let output = self.rectify_products(sources[self.request.value]);
        let output = self.fold_convolutions(output);
        let gradient = self.request.has_gradients();
        let overwritten = match output {
            Source::Node(n) => {
                let plain = n + 1 == self.nodes.len();
                !plain || gradient && self.keeps_result(n)
            }
            _ => true,
        };
        if overwritten || self.request.picks_top() {
            self.push(Kind::Copy, [Some(output), None], values[self.request.value].width);
        }
    }

    /// Whether the gradient of this primitive, or of one that may share its slot, reads its result.
    fn keeps_result(&self, node: usize) -> bool {
        match (&self.nodes[node].kind, self.nodes[node].inputs[0]) {
            (Kind::Activate(_), _) => true,
            _ if self.nodes[node].rectified => true,
            // Numbers that are dropped of sparse features are sparse.
            (Kind::Dropout { .. }, Some(Source::Features)) => true,
            (Kind::Bias { .. } | Kind::Dropout { .. } | Kind::Combine { .. }, Some(Source::Node(n))) => {
                self.keeps_result(n)
            }
            _ => false,
        }
    }

    fn push(&mut self, kind: Kind, inputs: [Option<Source>; 2], width: usize) -> Source {
        let depends = |source: Option<Source>| match source {
            Some(Source::Node(n)) => self.nodes[n].has_gradient,
            _ => false,
        };
        let own = match &kind {
            Kind::MatMul { .. } | Kind::Convolve { .. } | Kind::Folded(_) | Kind::Attend { .. } => true,
            Kind::Bias { .. } | Kind::LayerNorm { .. } | Kind::BatchNorm { .. } => true,
            Kind::Combine { scales } => scales.iter().any(|s| matches!(s, Scale::OnePlus(_))),
            _ => false,
        };
        let has_gradient = own || inputs.into_iter().any(depends);
        self.nodes.push(Node {
            kind,
            inputs,
            width,
            level: 0,
            step: 0,
            slot: 0,
            in_place: false,
            has_gradient,
            rectified: false,
            masked_by_reader: false,
        });
        Source::Node(self.nodes.len() - 1)
    }

    fn width(&self, source: Source) -> usize {
        match source {
            Source::Features | Source::Aggregated(_) => self.net.input_width(),
            Source::Node(n) => self.nodes[n].width,
        }
    }

    /// The place of a tensor of a value.
    fn tensor(&self, value: usize, name: &str) -> Option<Range<usize>> {
        let wanted = format!("v{value}.{name}");
        self.net.tensors_of(value).iter().find(|tensor| tensor.name() == wanted).map(|tensor| tensor.range())
    }

    fn matmul(&mut self, input: Source, value: usize, name: &str, width: usize) -> Source {
        let weight = self.tensor(value, name).unwrap_or_default();
        let fan_in = self.width(input);
        self.push(Kind::MatMul { weight, fan_in, adds: false }, [Some(input), None], width)
    }

    fn bias(&mut self, input: Source, value: usize, name: &str) -> Source {
        match self.tensor(value, name) {
            Some(bias) => self.push(Kind::Bias { bias }, [Some(input), None], self.width(input)),
            None => input,
        }
    }

    fn combine(&mut self, a: Source, b: Source, scales: [Scale; 2]) -> Source {
        self.push(Kind::Combine { scales }, [Some(a), Some(b)], self.width(a))
    }

    /// Whether nothing is drawn at this hop.
    fn is_exact(&self, hop: usize) -> bool {
        // More hops than bits has the paper's model alone, which draws nothing here.
        hop >= 64 || self.request.exact >> hop & 1 == 1
    }

    /// Whether a product with this operator changes nothing.
    fn is_identity(&self, operator: Operator) -> bool {
        self.request.identity && operator == Operator::Normalized
    }

    /// Op·In of a hop.
    fn spmm(&mut self, input: Source, operator: Operator, hop: usize) -> Source {
        if self.is_identity(operator) && input != Source::Features {
            return input;
        }
        let power = match input {
            Source::Features => Some(1),
            Source::Aggregated(i) => {
                let (first, power) = self.aggregated[i];
                let keeps = self.request.powers && operator == Operator::Normalized && first == operator;
                keeps.then_some(power + 1)
            }
            Source::Node(_) => None,
        };
        if let Some(power) = power.filter(|_| self.is_exact(hop)) {
            let known = self.aggregated.iter().position(|&other| other == (operator, power));
            return Source::Aggregated(known.unwrap_or_else(|| {
                self.aggregated.push((operator, power));
                self.aggregated.len() - 1
            }));
        }
        let input = self.held(input);
        self.hops.push((hop, self.nodes.len()));
        self.push(Kind::Spmm { operator }, [Some(input), None], self.width(input))
    }

    /// The same rows as the result of a primitive, which is held from block to block if the program runs level by level.
    fn held(&mut self, input: Source) -> Source {
        match input {
            Source::Features | Source::Aggregated(_) if self.request.by_levels => {
                self.push(Kind::Copy, [Some(input), None], self.width(input))
            }
            _ => input,
        }
    }

    /// agg(In) of a hop.
    fn aggregate(&mut self, input: Source, aggregator: Aggregator, hop: usize) -> Source {
        match primitive_of(aggregator) {
            Kind::Spmm { operator } => self.spmm(input, operator, hop),
            kind => {
                let input = self.held(input);
                self.hops.push((hop, self.nodes.len()));
                self.push(kind, [Some(input), None], self.width(input))
            }
        }
    }

    /// Op·In·W of a hop.
    fn convolve(&mut self, input: Source, operator: Operator, hop: usize, (value, name): (usize, &str)) -> Source {
        let width = self.net.layers().values()[value].width;
        let fan_in = self.width(input);
        let aggregates_first = match input {
            Source::Features => self.is_exact(hop) && !self.request.features_first,
            Source::Aggregated(_) => width > fan_in,
            Source::Node(_) => self.is_identity(operator),
        };
        if aggregates_first {
            let aggregated = self.spmm(input, operator, hop);
            return self.matmul(aggregated, value, name, width);
        }
        if self.request.by_levels {
            // The product of one level is held for the next, so that the two are primitives of their own.
            return match width <= fan_in {
                true => {
                    let product = self.matmul(input, value, name, width);
                    self.spmm(product, operator, hop)
                }
                false => {
                    let aggregated = self.spmm(input, operator, hop);
                    self.matmul(aggregated, value, name, width)
                }
            };
        }
        self.hops.push((hop, self.nodes.len()));
        let weight = self.tensor(value, name).unwrap_or_default();
        self.push(Kind::Convolve { operator, weight, fan_in }, [Some(input), None], width)
    }

    fn value(&mut self, i: usize, input: Source, other: Option<Source>) -> Source {
        let value = &self.net.layers().values()[i];
        let hop = self.next_hop - value.op.hops();
        let both = [Some(input), other];
        let one = [Some(input), None];
        const ONE: Scale = Scale::Constant(1.0);
        match value.op.clone() {
            Op::Features => input,
            Op::Linear { .. } => {
                let product = self.matmul(input, i, "weight", value.width);
                self.bias(product, i, "bias")
            }
            Op::Gcn { .. } => {
                let product = self.convolve(input, Operator::Normalized, hop, (i, "lin.weight"));
                self.bias(product, i, "bias")
            }
            Op::Sage { aggregator, .. } => {
                let neighbours = match primitive_of(aggregator) {
                    Kind::Spmm { operator } => self.convolve(input, operator, hop, (i, "lin_l.weight")),
                    _ => {
                        let aggregated = self.aggregate(input, aggregator, hop);
                        self.matmul(aggregated, i, "lin_l.weight", value.width)
                    }
                };
                let own = self.matmul(input, i, "lin_r.weight", value.width);
                let sum = self.combine(neighbours, own, [ONE, ONE]);
                self.bias(sum, i, "lin_l.bias")
            }
            Op::Gin { widths, epsilon, .. } => self.gin(i, input, hop, &widths, epsilon),
            Op::Gat { .. } => self.attention(i, input, hop),
            Op::Aggregate { aggregator } => self.aggregate(input, aggregator, hop),
            Op::Propagate { hops, restart } => {
                let mut h = input;
                for k in 0..hops {
                    h = self.spmm(h, Operator::Normalized, hop + k);
                    if restart > 0.0 {
                        let scales = [1.0 - restart, restart].map(|scale| Scale::Constant(scale as f32));
                        h = self.combine(h, input, scales);
                    }
                }
                h
            }
            Op::Activation(activation) => self.push(Kind::Activate(activation), one, value.width),
            Op::Dropout { rate } => match self.request.mode {
                Mode::Gradient { dropout: true, .. } if rate > 0.0 => {
                    self.push(Kind::Dropout { rate, value: i }, one, value.width)
                }
                _ => input,
            },
            Op::Norm(norm) => {
                let (weight, bias) = (self.tensor(i, "weight"), self.tensor(i, "bias"));
                let (weight, bias) = (weight.unwrap_or_default(), bias.unwrap_or_default());
                let kind = match (norm, self.net.state_of(i)) {
                    (Norm::Batch, Some(state)) => Kind::BatchNorm { weight, bias, state },
                    _ => Kind::LayerNorm { weight, bias },
                };
                self.push(kind, one, value.width)
            }
            Op::Add { .. } => self.push(Kind::Combine { scales: [ONE, ONE] }, both, value.width),
            Op::Concat { .. } => self.push(Kind::Concat, both, value.width),
            Op::Max { .. } => self.push(Kind::MaxOf, both, value.width),
        }
    }

    /// Attention: the columns of all heads side by side, then a weighted mean of them.
    fn attention(&mut self, i: usize, input: Source, hop: usize) -> Source {
        let Op::Gat { version, heads, width, joined, self_loops, dropout, .. } = self.net.layers().values()[i].op
        else {
            return input;
        };
        let heads = Heads { heads, width, mean: joined == Joined::Mean };
        let (x, y, vectors): (_, _, &[&str]) = match version {
            Version::First => (self.heads(i, input, heads, "lin"), None, &["att_src", "att_dst"]),
            Version::Second => {
                let [x, y] = ["lin_l", "lin_r"].map(|name| self.heads(i, input, heads, name));
                (x, Some(y), &["att"])
            }
        };
        let vectors = vectors.iter().filter_map(|name| self.tensor(i, name)).collect();
        let drops = matches!(self.request.mode, Mode::Gradient { dropout: true, .. });
        let rate = if drops { dropout } else { 0.0 };
        self.hops.push((hop, self.nodes.len()));
        let kind = Kind::Attend { heads, vectors, self_loops, rate, value: i };
        let attended = self.push(kind, [Some(x), y], heads.out_width());
        self.bias(attended, i, "bias")
    }

    /// In·W + b with the columns of all heads side by side.
    fn heads(&mut self, i: usize, input: Source, heads: Heads, name: &str) -> Source {
        let product = self.matmul(input, i, &format!("{name}.weight"), heads.columns());
        let product = self.bias(product, i, &format!("{name}.bias"));
        self.push(Kind::Interleave(heads), [Some(product), None], heads.stride())
    }

    /// MLP((1 + ε) H + A H). The first linear layer goes before the sum where that is cheaper.
    fn gin(&mut self, i: usize, input: Source, hop: usize, widths: &[usize], epsilon: f64) -> Source {
        let own = match self.tensor(i, "eps") {
            Some(place) => Scale::OnePlus(place.start),
            None => Scale::Constant((1.0 + epsilon) as f32),
        };
        let scales = [Scale::Constant(1.0), own];
        let mut h = input;
        for (k, &width) in widths.iter().enumerate() {
            let (weight, bias) = (format!("nn.{}.weight", 2 * k), format!("nn.{}.bias", 2 * k));
            h = match k {
                0 if input == Source::Features && self.is_exact(hop) && !self.request.features_first => {
                    let sum = self.spmm(input, Operator::Sum, hop);
                    let [a, b] = [sum, input].map(|factor| self.matmul(factor, i, &weight, width));
                    self.combine(a, b, scales)
                }
                0 if width <= self.width(input) => {
                    let product = self.matmul(input, i, &weight, width);
                    let sum = self.spmm(product, Operator::Sum, hop);
                    self.combine(sum, product, scales)
                }
                0 => {
                    let sum = self.spmm(input, Operator::Sum, hop);
                    let whole = self.combine(sum, input, scales);
                    self.matmul(whole, i, &weight, width)
                }
                _ => {
                    let rectified = self.push(Kind::Activate(Activation::Relu), [Some(h), None], self.width(h));
                    self.matmul(rectified, i, &weight, width)
                }
            };
            h = self.bias(h, i, &bias);
        }
        h
    }

    /// How often a primitive's result is read, the output of the program included.
    fn uses(&self, output: Source) -> Vec<usize> {
        let mut uses = vec![0; self.nodes.len()];
        for source in self.nodes.iter().flat_map(|node| node.inputs).chain([Some(output)]) {
            if let Some(Source::Node(n)) = source {
                uses[n] += 1;
            }
        }
        uses
    }

    /// Removes a primitive; who read it reads its input. Returns where `output` is now.
    fn remove(&mut self, at: usize, output: Source) -> Source {
        let input = self.nodes.remove(at).inputs[0].unwrap_or(Source::Features);
        let moved = |source: Source| match source {
            Source::Node(n) if n == at => input,
            Source::Node(n) if n > at => Source::Node(n - 1),
            other => other,
        };
        for node in &mut self.nodes[at..] {
            node.inputs = node.inputs.map(|input| input.map(moved));
        }
        self.hops.retain(|&(_, node)| node != at);
        self.hops.iter_mut().filter(|(_, node)| *node > at).for_each(|(_, node)| *node -= 1);
        moved(output)
    }

    /// Makes rectifiers part of the products that they follow. Returns where `output` is now.
    fn rectify_products(&mut self, mut output: Source) -> Source {
        let mut at = 0;
        while at < self.nodes.len() {
            let product = match (&self.nodes[at].kind, self.nodes[at].inputs[0]) {
                (Kind::Activate(Activation::Relu), Some(Source::Node(n))) => Some(n),
                _ => None,
            };
            match product.filter(|&n| self.nodes[n].kind.rectifies() && self.uses(output)[n] == 1) {
                Some(n) if !self.nodes[n].rectified => {
                    self.nodes[n].rectified = true;
                    output = self.remove(at, output);
                }
                _ => at += 1,
            }
        }
        output
    }

    /// Folds the two lowest convolutions, if all nodes are computed from sparse features, W1 makes rows no wider, and nobody else
    /// reads what is between them. Returns where `output` is now.
    fn fold_convolutions(&mut self, output: Source) -> Source {
        let Some((at, pair)) = (0..self.nodes.len()).find_map(|at| Some((at, self.foldable(at, output)?))) else {
            return output;
        };
        self.nodes[at].kind = Kind::Folded(pair);
        let below = self.nodes[at].inputs[0];
        match below {
            Some(Source::Node(below)) => self.remove(below, output),
            _ => output,
        }
    }

    fn foldable(&self, at: usize, output: Source) -> Option<Pair> {
        let Kind::Convolve { operator: Operator::Normalized, weight: upper, fan_in } = &self.nodes[at].kind else {
            return None;
        };
        let Some(Source::Node(below)) = self.nodes[at].inputs[0] else { return None };
        let Node { kind, inputs, rectified: true, width: hidden, .. } = &self.nodes[below] else { return None };
        let Kind::Convolve { operator: Operator::Normalized, weight: lower, .. } = kind else { return None };
        let whole = self.request.features_first && inputs[0] == Some(Source::Features);
        let fits = *hidden <= MOST_HIDDEN && self.nodes[at].width <= *fan_in && self.uses(output)[below] == 1;
        (whole && fits && !self.request.picks_top())
            .then(|| Pair { weights: [lower.clone(), upper.clone()], hidden: *hidden })
    }

    /// Marks products whose W has its gradient stored by a later product: the reverse pass meets that one first.
    fn share_weights(&mut self) {
        let mut seen: Vec<usize> = Vec::new();
        for node in self.nodes.iter_mut().rev() {
            if let Kind::MatMul { weight, adds, .. } = &mut node.kind {
                *adds = seen.contains(&weight.start);
                seen.push(weight.start);
            }
        }
    }
}
