//! Models made of layers, in double precision and with dense matrices, written from the formulas; and random ones to try.

use super::random::Random;
use ndarray::{Array1, Array2, Array3, ArrayView2, Axis, concatenate, s};
use plimsoll::graph::{Graph, Normalization, Split};
use plimsoll::kernel;
use plimsoll::model::Model;
use plimsoll::nn::{AGGREGATORS, Activation, Aggregator, Joined, Layers, Norm, Op, Value, Version};
use plimsoll::random::{mask_key, mix};

const EPSILON: f64 = 1e-5;

/// A graph with everything that a graph can have, and the same as dense matrices.
pub struct World {
    pub graph: Graph,
    pub a: Array2<f64>,
    /// Where there is an edge, also one of weight 0.
    pub links: Array2<bool>,
    pub x: Array2<f64>,
    pub labels: Vec<i32>,
}

impl World {
    /// Directed or undirected, weighted or not, with edges of weight 0, self-loops, isolated nodes and often a hub; dense or sparse
    /// features. The weights are eighths, so that their sums are exact.
    pub fn new(n: usize, width: usize, classes: usize, random: &mut Random) -> Self {
        let (directed, weighted) = (random.chance(0.5), random.chance(0.6));
        let linked = n.saturating_sub(random.below(3)).max(1);
        let mut edges: Vec<(usize, usize)> =
            (0..random.below(3 * n)).map(|_| (random.below(linked), random.below(linked))).collect();
        if random.chance(0.5) {
            edges.extend((0..linked).step_by(2).map(|v| (v, 0)));
        }
        if random.chance(0.5) {
            edges.push((linked - 1, linked - 1));
        }
        let mut a = Array2::zeros((n, n));
        let mut links = Array2::from_elem((n, n), false);
        let (mut sources, mut targets, mut weights) = (Vec::new(), Vec::new(), Vec::new());
        for &(u, v) in &edges {
            let weight = if random.chance(0.15) { 0.0 } else { (1 + random.below(8)) as f32 / 8.0 };
            for (u, v) in if u == v || directed { vec![(u, v)] } else { vec![(u, v), (v, u)] } {
                a[[u, v]] = if weighted { a[[u, v]] + f64::from(weight) } else { 1.0 };
                links[[u, v]] = true;
            }
            sources.push(u as i32);
            targets.push(v as i32);
            weights.push(weight);
        }
        let mut graph = match directed {
            false => Graph::from_edges(n, &sources, &targets, weighted.then_some(&weights[..])).unwrap(),
            true => {
                let mut order: Vec<usize> = (0..edges.len()).collect();
                order.sort_by_key(|&e| sources[e]);
                let indptr: Vec<i64> =
                    (0..=n as i32).map(|v| sources.iter().filter(|&&u| u < v).count() as i64).collect();
                let indices: Vec<i32> = order.iter().map(|&e| targets[e]).collect();
                let values: Vec<f32> = order.iter().map(|&e| weights[e]).collect();
                Graph::from_csr(n, &indptr, &indices, weighted.then_some(&values[..])).unwrap()
            }
        };
        let normalizations = [Normalization::Symmetric, Normalization::Row, Normalization::None];
        graph.set_normalization(normalizations[random.below(3)]).unwrap();
        let x: Vec<f32> =
            (0..n * width).map(|_| if random.chance(0.4) { 0.0 } else { random.float(-1.0, 1.0) }).collect();
        set_features(&mut graph, width, &x, random.chance(0.5));
        let labels: Vec<i32> = (0..n).map(|_| random.below(classes) as i32).collect();
        graph.set_labels(&labels).unwrap();
        World { graph, a, links, x: super::matrix(&x, width), labels }
    }
}

/// Sets features, sparse ones without the entries that are 0.
pub fn set_features(graph: &mut Graph, width: usize, x: &[f32], sparse: bool) {
    if !sparse {
        return graph.set_features(width, x).unwrap();
    }
    let (mut indptr, mut indices, mut values) = (vec![0], Vec::new(), Vec::new());
    for row in x.chunks_exact(width) {
        for (column, &x) in row.iter().enumerate().filter(|(_, x)| **x != 0.0) {
            indices.push(column as i32);
            values.push(x);
        }
        indptr.push(indices.len() as i64);
    }
    graph.set_sparse_features(width, &indptr, &indices, &values).unwrap();
}

/// Â, A, or A with its rows divided by their sums.
fn operator(world: &World, op: &Op) -> Option<Array2<f64>> {
    let mean = || {
        let mut mean = world.a.clone();
        for mut row in mean.rows_mut() {
            let sum = row.sum();
            if sum > 0.0 {
                row /= sum;
            }
        }
        mean
    };
    match op {
        Op::Gcn { .. } | Op::Propagate { .. } => Some(super::dense::normalized(&world.a, world.graph.normalization())),
        Op::Gin { .. } => Some(world.a.clone()),
        Op::Sage { aggregator, .. } | Op::Aggregate { aggregator } => match aggregator {
            Aggregator::Mean => Some(mean()),
            Aggregator::Sum => Some(world.a.clone()),
            Aggregator::Max | Aggregator::Min => None,
        },
        _ => None,
    }
}

/// What one hop multiplies by, or takes the maximum or minimum over: with the sign 1 or -1.
enum Hop {
    Linear(Array2<f64>),
    Extreme(Array2<bool>, f64),
    /// Attention: the logarithm of the weight of each entry; where there is none, that of 0.
    Scored(Array2<f64>),
}

/// A tensor of a value: its name, its place and its shape.
type Place = (String, usize, (usize, usize));

/// A model, ready to run in double precision.
pub struct Reference {
    values: Vec<Value>,
    places: Vec<Vec<Place>>,
    /// The hops of each value.
    hops: Vec<Vec<Hop>>,
    x: Array2<f64>,
    /// Seed and step of dropout's masks; `None`: nothing is dropped.
    masks: Option<(u64, u64)>,
}

/// All values of a pass.
pub struct Pass {
    pub values: Vec<Array2<f64>>,
    /// A hash of every choice between branches.
    branches: u64,
    /// The smallest distance to a kink, relative to the largest number there.
    pub margin: f64,
    /// The smallest deviation that a norm divides by, relative to the largest number there.
    pub spread: f64,
}

impl Pass {
    /// Notes a choice; `distance` is that to the other branch, 0 if there is a tie.
    fn choose(&mut self, branch: usize, distance: f64, largest: f64) {
        self.branches = (self.branches ^ (branch as u64 + 1)).wrapping_mul(0x100_0000_01b3);
        if distance > 0.0 && largest > 0.0 {
            self.margin = self.margin.min(distance / largest);
        }
    }
}

impl Reference {
    /// The model on a graph, with the draws of each hop (none: exact) from P.
    pub fn new(model: &Model, world: &World, draws: &[Option<Vec<i32>>], p: &[f64], masks: Option<(u64, u64)>) -> Self {
        let net = model.net();
        let values = net.layers().values().to_vec();
        let place = |value: usize| {
            let prefix = format!("v{value}.");
            let tensors = net.tensors_of(value).iter();
            tensors.map(|t| (t.name()[prefix.len()..].to_string(), t.offset, (t.rows, t.columns))).collect::<Vec<_>>()
        };
        let mut hop = 0;
        let mut hops = Vec::new();
        for value in &values {
            let mut own = Vec::new();
            for _ in 0..value.op.hops() {
                let drawn = draws.get(hop).and_then(Option::as_ref);
                let count = |u: usize, drawn: &Vec<i32>| drawn.iter().filter(|&&v| v as usize == u).count() as f64;
                if let Op::Gat { self_loops, .. } = value.op {
                    let n = world.links.nrows();
                    own.push(Hop::Scored(Array2::from_shape_fn((n, n), |(v, u)| match drawn {
                        _ if self_loops && u == v => 0.0,
                        _ if !world.links[[v, u]] => f64::NEG_INFINITY,
                        Some(drawn) => (count(u, drawn) / (drawn.len() as f64 * p[u])).ln(),
                        None => 0.0,
                    })));
                    hop += 1;
                    continue;
                }
                own.push(match operator(world, &value.op) {
                    Some(mut operator) => {
                        if let Some(drawn) = drawn {
                            for (u, mut column) in operator.columns_mut().into_iter().enumerate() {
                                column *= count(u, drawn) / (drawn.len() as f64 * p[u]);
                            }
                        }
                        Hop::Linear(operator)
                    }
                    None => {
                        let is_drawn = |u: usize| drawn.is_none_or(|drawn| drawn.contains(&(u as i32)));
                        let n = world.links.nrows();
                        let links = Array2::from_shape_fn((n, n), |(v, u)| world.links[[v, u]] && is_drawn(u));
                        let aggregator = match value.op {
                            Op::Sage { aggregator, .. } | Op::Aggregate { aggregator } => Some(aggregator),
                            _ => None,
                        };
                        Hop::Extreme(links, if aggregator == Some(Aggregator::Min) { -1.0 } else { 1.0 })
                    }
                });
                hop += 1;
            }
            hops.push(own);
        }
        Reference { places: (0..values.len()).map(place).collect(), values, hops, x: world.x.clone(), masks }
    }

    fn tensor<'a>(&self, w: &'a [f64], value: usize, name: &str) -> Option<ArrayView2<'a, f64>> {
        let (_, at, shape) = self.places[value].iter().find(|place| place.0 == name)?;
        Some(ArrayView2::from_shape(*shape, &w[*at..at + shape.0 * shape.1]).unwrap())
    }

    /// h W + b
    fn affine(&self, h: &Array2<f64>, w: &[f64], value: usize, [weight, bias]: [&str; 2]) -> Array2<f64> {
        let product = h.dot(&self.tensor(w, value, weight).unwrap());
        match self.tensor(w, value, bias) {
            Some(bias) => product + bias,
            None => product,
        }
    }

    fn neighbours(&self, value: usize, hop: usize, h: &Array2<f64>, pass: &mut Pass) -> Array2<f64> {
        match &self.hops[value][hop] {
            Hop::Scored(_) => unreachable!("attention needs more than sums"),
            Hop::Linear(operator) => operator.dot(h),
            Hop::Extreme(links, sign) => {
                let largest = h.fold(0.0, |m: f64, x| m.max(x.abs()));
                Array2::from_shape_fn(h.dim(), |(v, c)| {
                    let mut best: Option<usize> = None;
                    for u in (0..h.nrows()).filter(|&u| links[[v, u]]) {
                        best = match best {
                            Some(best) => {
                                pass.choose(0, (h[[best, c]] - h[[u, c]]).abs(), largest);
                                Some(if sign * h[[u, c]] > sign * h[[best, c]] { u } else { best })
                            }
                            None => Some(u),
                        };
                    }
                    pass.choose(best.map_or(0, |u| u + 1), 0.0, 0.0);
                    best.map_or(0.0, |u| h[[u, c]])
                })
            }
        }
    }

    /// Attention over neighbours.
    fn attention(&self, i: usize, h: &Array2<f64>, w: &[f64], pass: &mut Pass) -> Array2<f64> {
        let (Op::Gat { version, heads, width, joined, dropout, .. }, Hop::Scored(logs)) =
            (&self.values[i].op, &self.hops[i][0])
        else {
            unreachable!("value {i} is no attention");
        };
        let [x, y] = match version {
            Version::First => ["lin.weight"; 2].map(|weight| self.affine(h, w, i, [weight, ""])),
            Version::Second => [["lin_l.weight", "lin_l.bias"], ["lin_r.weight", "lin_r.bias"]]
                .map(|names| self.affine(h, w, i, names)),
        };
        let n = h.nrows();
        let vector = |name: &str| self.tensor(w, i, name).unwrap().row(0).to_owned();
        let mut all = Array2::zeros((n, heads * width));
        for head in 0..*heads {
            let columns = s![head * width..(head + 1) * width];
            let both = s![.., head * width..(head + 1) * width];
            let (x, y) = (x.slice(both), y.slice(both));
            // The score is a·LeakyReLU(z), summed over the last axis.
            let (z, a) = match version {
                Version::First => {
                    let (source, target) = (vector("att_src"), vector("att_dst"));
                    let (source, target) = (x.dot(&source.slice(columns)), y.dot(&target.slice(columns)));
                    (Array3::from_shape_fn((n, n, 1), |(v, u, _)| source[u] + target[v]), Array1::ones(1))
                }
                Version::Second => {
                    let a = vector("att").slice(columns).to_owned();
                    (Array3::from_shape_fn((n, n, *width), |(v, u, c)| x[[u, c]] + y[[v, c]]), a)
                }
            };
            let largest = z.fold(0.0, |m: f64, x| m.max(x.abs()));
            for v in 0..n {
                let mut alpha = Array1::from_shape_fn(n, |u| logs[[v, u]]);
                for (u, score) in alpha.iter_mut().enumerate().filter(|(_, log)| log.is_finite()) {
                    for (&z, &a) in z.slice(s![v, u, ..]).iter().zip(&a) {
                        pass.choose(usize::from(z > 0.0), z.abs(), largest);
                        *score += a * if z > 0.0 { z } else { 0.2 * z };
                    }
                }
                let largest = alpha.fold(f64::NEG_INFINITY, |m: f64, &x| m.max(x));
                if largest == f64::NEG_INFINITY {
                    continue;
                }
                alpha.mapv_inplace(|x| (x - largest).exp());
                alpha /= alpha.sum();
                if let (Some((seed, step)), true) = (self.masks, *dropout > 0.0) {
                    let key = mix(mask_key(seed, step, i as u64), v as u64);
                    for (u, alpha) in alpha.iter_mut().enumerate() {
                        let dropped = is_dropped(mix(key, u as u64), head, *dropout);
                        *alpha = if dropped { 0.0 } else { *alpha / (1.0 - dropout) };
                    }
                }
                all.slice_mut(s![v, head * width..(head + 1) * width]).assign(&alpha.dot(&x));
            }
        }
        let made = match joined {
            Joined::Concat => all,
            Joined::Mean => {
                let by_head = all.into_shape_with_order((n, *heads, *width)).unwrap();
                by_head.mean_axis(Axis(1)).unwrap()
            }
        };
        match self.tensor(w, i, "bias") {
            Some(bias) => made + bias,
            None => made,
        }
    }

    fn rectified(h: Array2<f64>, slope: f64, pass: &mut Pass) -> Array2<f64> {
        let largest = h.fold(0.0, |m: f64, x| m.max(x.abs()));
        h.mapv_into(|x| {
            pass.choose(usize::from(x > 0.0), x.abs(), largest);
            if x > 0.0 { x } else { slope * x }
        })
    }

    /// The value with this number, from those before it.
    fn value(&self, i: usize, w: &[f64], pass: &mut Pass) -> Array2<f64> {
        let value = &self.values[i];
        let h = pass.values[value.input].clone();
        let other = |value: usize| pass.values[value].clone();
        match &value.op {
            Op::Features => self.x.clone(),
            Op::Linear { .. } => self.affine(&h, w, i, ["weight", "bias"]),
            Op::Gcn { .. } => {
                let near = self.neighbours(i, 0, &h, pass);
                self.affine(&near, w, i, ["lin.weight", "bias"])
            }
            Op::Sage { .. } => {
                let near = self.neighbours(i, 0, &h, pass);
                self.affine(&near, w, i, ["lin_l.weight", "lin_l.bias"]) + self.affine(&h, w, i, ["lin_r.weight", ""])
            }
            Op::Gin { widths, epsilon, .. } => {
                let epsilon = self.tensor(w, i, "eps").map_or(*epsilon, |eps| eps[[0, 0]]);
                let mut made = &h * (1.0 + epsilon) + self.neighbours(i, 0, &h, pass);
                for k in 0..widths.len() {
                    if k > 0 {
                        made = Self::rectified(made, 0.0, pass);
                    }
                    let names = [format!("nn.{}.weight", 2 * k), format!("nn.{}.bias", 2 * k)];
                    made = self.affine(&made, w, i, [&names[0], &names[1]]);
                }
                made
            }
            Op::Aggregate { .. } => self.neighbours(i, 0, &h, pass),
            Op::Propagate { hops, restart } => {
                let mut made = h.clone();
                for k in 0..*hops {
                    made = self.neighbours(i, k, &made, pass) * (1.0 - restart) + &h * *restart;
                }
                made
            }
            Op::Gat { .. } => self.attention(i, &h, w, pass),
            Op::Activation(activation) => match activation {
                Activation::Relu => Self::rectified(h, 0.0, pass),
                Activation::LeakyRelu => Self::rectified(h, 0.01, pass),
                Activation::Elu => h.mapv_into(|x| if x > 0.0 { x } else { x.exp_m1() }),
                Activation::Gelu => h.mapv_into(|x| 0.5 * x * (1.0 + libm::erf(x / 2f64.sqrt()))),
                Activation::Tanh => h.mapv_into(f64::tanh),
                Activation::Sigmoid => h.mapv_into(|x| 1.0 / (1.0 + (-x).exp())),
            },
            Op::Dropout { rate } => match self.masks {
                Some((seed, step)) => {
                    let key = mask_key(seed, step, i as u64);
                    Array2::from_shape_fn(h.dim(), |(v, c)| {
                        if is_dropped(mix(key, v as u64), c, *rate) { 0.0 } else { h[[v, c]] / (1.0 - rate) }
                    })
                }
                None => h,
            },
            Op::Norm(norm) => {
                let axis = if *norm == Norm::Layer { Axis(1) } else { Axis(0) };
                let mean = h.mean_axis(axis).unwrap().insert_axis(axis);
                let centred = &h - &mean;
                let variance = centred.mapv(|x| x * x).mean_axis(axis).unwrap().insert_axis(axis);
                let deviation = variance.mapv(|v| (v + EPSILON).sqrt());
                if h.len_of(axis) > 1 {
                    for (lane, deviation) in h.lanes(axis).into_iter().zip(&deviation) {
                        let largest = lane.fold(0.0, |m: f64, x| m.max(x.abs()));
                        pass.spread = if largest > 0.0 { pass.spread.min(deviation / largest) } else { pass.spread };
                    }
                }
                let normed = centred / deviation;
                normed * self.tensor(w, i, "weight").unwrap() + self.tensor(w, i, "bias").unwrap()
            }
            Op::Add { value } => h + other(*value),
            Op::Concat { value } => concatenate(Axis(1), &[h.view(), other(*value).view()]).unwrap(),
            Op::Max { value } => {
                let b = other(*value);
                let largest = h.iter().chain(&b).fold(0.0, |m: f64, x| m.max(x.abs()));
                Array2::from_shape_fn(h.dim(), |at| {
                    pass.choose(usize::from(b[at] > h[at]), (h[at] - b[at]).abs(), largest);
                    h[at].max(b[at])
                })
            }
        }
    }

    /// Runs the model. With another pass, only the values that depend on value `from` are computed anew.
    pub fn run(&self, w: &[f64], again: Option<(&Pass, usize)>) -> Pass {
        let mut pass = Pass { values: Vec::new(), branches: 0, margin: f64::INFINITY, spread: f64::INFINITY };
        let mut changed = vec![again.is_none(); self.values.len()];
        pass.values.push(self.x.clone());
        for (i, value) in self.values.iter().enumerate().skip(1) {
            if let Some((_, from)) = again {
                changed[i] = i == from || changed[value.input] || value.op.other().is_some_and(|other| changed[other]);
            }
            let made = match again {
                Some((known, _)) if !changed[i] => known.values[i].clone(),
                _ => self.value(i, w, &mut pass),
            };
            pass.values.push(made);
        }
        pass
    }

    /// Central differences of the losses over several batches, by every parameter; NaN where a kink lies within the step.
    pub fn differences(&self, w: &[f64], labels: &[i32], batches: &[&[i32]], lambda: f64) -> (Vec<f64>, Vec<Vec<f64>>) {
        const STEP: f64 = 2e-6;
        let losses = |pass: &Pass| -> Vec<f64> {
            let logits = &pass.values[pass.values.len() - 1];
            batches.iter().map(|batch| cross_entropy(logits, labels, batch)).collect()
        };
        let base = self.run(w, None);
        let squares: f64 = w.iter().map(|w| w * w).sum();
        let at_base = losses(&base).iter().map(|loss| loss + 0.5 * lambda * squares).collect();
        let mut found = vec![vec![f64::NAN; w.len()]; batches.len()];
        let mut moved = w.to_vec();
        for (value, places) in self.places.iter().enumerate() {
            for at in places.iter().flat_map(|(_, at, shape)| *at..at + shape.0 * shape.1) {
                let mut run = |step: f64| {
                    moved[at] = w[at] + step;
                    let pass = self.run(&moved, Some((&base, value)));
                    moved[at] = w[at];
                    (losses(&pass), pass.branches)
                };
                let ((above, up), (below, down)) = (run(STEP), run(-STEP));
                if up == down {
                    for (found, (above, below)) in found.iter_mut().zip(above.iter().zip(&below)) {
                        found[at] = (above - below) / (2.0 * STEP) + lambda * w[at];
                    }
                }
            }
        }
        (at_base, found)
    }
}

/// Whether dropout drops a column of the row with this key.
pub fn is_dropped(row_key: u64, column: usize, rate: f64) -> bool {
    let random = kernel::mix(column as u32, row_key as u32, (row_key >> 32) as u32);
    f64::from(random) < (rate * 4_294_967_296.0).floor()
}

fn cross_entropy(logits: &Array2<f64>, labels: &[i32], batch: &[i32]) -> f64 {
    let losses = batch.iter().map(|&v| {
        let row = logits.row(v as usize);
        let largest = row.fold(f64::NEG_INFINITY, |m, &z| m.max(z));
        largest + row.mapv(|z| (z - largest).exp()).sum().ln() - row[labels[v as usize] as usize]
    });
    losses.sum::<f64>() / batch.len() as f64
}

/// What random layers may have.
#[derive(Clone, Copy)]
pub struct Allowed {
    pub batch_norm: bool,
    pub dropout: bool,
}

/// Two to some twelve operations of every kind, in a random arrangement in which every value reaches the last one.
pub fn random_layers(features: usize, classes: usize, allowed: Allowed, random: &mut Random) -> Layers {
    let mut layers = Layers::new(features).unwrap();
    let width = |random: &mut Random| 1 + random.below(20);
    let aggregator = |random: &mut Random| AGGREGATORS[random.below(AGGREGATORS.len())].0;
    for _ in 0..1 + random.below(8) {
        if random.chance(0.3) {
            layers.at(random.below(layers.values().len())).unwrap();
        }
        let (here, there) = (layers.last(), random.below(layers.values().len()));
        let same = layers.values()[here].width == layers.values()[there].width;
        match random.below(16) {
            0 => layers.linear(width(random)).unwrap(),
            1 => layers.graph_convolution(width(random)).unwrap(),
            2 | 3 => layers.sage(width(random), aggregator(random)).unwrap(),
            4 | 5 => {
                let widths: Vec<usize> = (0..1 + random.below(3)).map(|_| width(random)).collect();
                layers.gin(&widths).unwrap();
                if random.chance(0.7) {
                    layers.set_epsilon(f64::from(random.float(-0.5, 0.5)), random.chance(0.5)).unwrap();
                }
            }
            6 => layers.aggregate(aggregator(random)).unwrap(),
            7 => {
                let restart = if random.chance(0.4) { 0.0 } else { random.unit() };
                layers.propagate(1 + random.below(3), restart).unwrap();
            }
            8 | 9 => {
                use Activation::*;
                layers.activation([Relu, LeakyRelu, Elu, Gelu, Tanh, Sigmoid][random.below(6)]).unwrap();
            }
            14 | 15 => random_attention(&mut layers, width(random), allowed, random),
            10 if allowed.dropout => layers.dropout(0.7 * random.unit()).unwrap(),
            11 if allowed.batch_norm => layers.norm(Norm::Batch).unwrap(),
            11 | 12 => layers.norm(Norm::Layer).unwrap(),
            _ if same && random.chance(0.5) => layers.add(there).unwrap(),
            _ if same => layers.max(there).unwrap(),
            _ => layers.concat(there).unwrap(),
        }
        if matches!(
            layers.values()[layers.last()].op,
            Op::Linear { .. } | Op::Gcn { .. } | Op::Sage { .. } | Op::Gin { .. } | Op::Gat { .. }
        ) {
            layers.set_bias(random.chance(0.7)).unwrap();
        }
        if layers.width() > 40 {
            layers.linear(width(random)).unwrap();
        }
    }
    // What nothing reads yet joins the last value.
    let count = layers.values().len();
    for value in 1..count {
        let is_read = |v: &Value| v.input == value || v.op.other() == Some(value);
        if layers.values()[value + 1..].iter().any(is_read) || value == layers.last() {
            continue;
        }
        match layers.values()[value].width == layers.width() {
            true if random.chance(0.5) => layers.max(value).unwrap(),
            true => layers.add(value).unwrap(),
            false => layers.concat(value).unwrap(),
        }
    }
    match random.below(4) {
        0 => layers.linear(classes).unwrap(),
        1 => layers.graph_convolution(classes).unwrap(),
        2 => layers.sage(classes, aggregator(random)).unwrap(),
        _ => layers.gin(&[width(random), classes]).unwrap(),
    }
    layers
}

/// Attention of either kind, with some heads.
fn random_attention(layers: &mut Layers, width: usize, allowed: Allowed, random: &mut Random) {
    let version = if random.chance(0.5) { Version::First } else { Version::Second };
    layers.attention(width.div_ceil(3), 1 + random.below(4), version).unwrap();
    layers.set_self_loops(random.chance(0.6)).unwrap();
    layers.set_heads(if random.chance(0.6) { Joined::Concat } else { Joined::Mean }).unwrap();
    if allowed.dropout && random.chance(0.5) {
        layers.set_attention_dropout(0.7 * random.unit()).unwrap();
    }
}

/// Random parameters, scaled so that no value with parameters of its own exceeds 3: sums over a hub would grow with every hop.
pub fn set_moderate_parameters(model: &mut Model, world: &World, random: &mut Random) {
    let mut w: Vec<f64> = Vec::new();
    for tensor in model.net().tensors() {
        let bound = if tensor.is_matrix { 1.5 / (tensor.rows as f64).sqrt() } else { 0.5 };
        let centre = if tensor.name().ends_with(".weight") && !tensor.is_matrix { 1.0 } else { 0.0 };
        w.extend((0..tensor.rows * tensor.columns).map(|_| f64::from(random.float(centre - bound, centre + bound))));
    }
    let reference = Reference::new(model, world, &[], &[], None);
    let mut pass = Pass { values: vec![world.x.clone()], branches: 0, margin: 0.0, spread: 0.0 };
    for (i, value) in reference.values.iter().enumerate().skip(1) {
        let mut made = reference.value(i, &w, &mut pass);
        let largest = made.fold(0.0, |m: f64, x| m.max(x.abs()));
        if largest > 3.0 && !reference.places[i].is_empty() && !matches!(value.op, Op::Norm(_)) {
            let last = match &value.op {
                Op::Gin { widths, .. } => format!("nn.{}.", 2 * (widths.len() - 1)),
                _ => String::new(),
            };
            for (_, at, shape) in
                reference.places[i].iter().filter(|place| place.0.starts_with(&last) && place.0 != "eps")
            {
                w[*at..at + shape.0 * shape.1].iter_mut().for_each(|w| *w *= 3.0 / largest);
            }
            made = reference.value(i, &w, &mut pass);
        }
        pass.values.push(made);
    }
    let w: Vec<f32> = w.iter().map(|&w| w as f32).collect();
    model.set_parameters(&w).unwrap();
}

/// Gives a graph a split for training.
pub fn set_training(world: &mut World, train: &[i32]) {
    world.graph.set_split(Split::Train, train).unwrap();
}

/// Models with every layer, two hops each, by name.
pub fn every_layer(features: usize, hidden: usize, classes: usize) -> Vec<(&'static str, Layers)> {
    type Make = dyn Fn(&mut Layers, usize, usize);
    fn tanh(layers: &mut Layers) {
        layers.activation(Activation::Tanh).unwrap();
    }
    let sage = |aggregator: Aggregator| {
        move |layers: &mut Layers, hidden: usize, classes: usize| {
            layers.sage(hidden, aggregator).unwrap();
            tanh(layers);
            layers.sage(classes, aggregator).unwrap();
        }
    };
    let [mean, sum, max, min] = [Aggregator::Mean, Aggregator::Sum, Aggregator::Max, Aggregator::Min].map(sage);
    let makes: [(&str, &Make); 14] = [
        ("gcn", &|layers, hidden, classes| {
            layers.graph_convolution(hidden).unwrap();
            tanh(layers);
            layers.graph_convolution(classes).unwrap();
        }),
        ("sage mean", &mean),
        ("sage sum", &sum),
        ("gin", &|layers, hidden, classes| {
            layers.gin(&[hidden]).unwrap();
            layers.set_epsilon(0.25, true).unwrap();
            tanh(layers);
            layers.gin(&[classes]).unwrap();
        }),
        ("propagate", &|layers, hidden, classes| {
            layers.linear(hidden).unwrap();
            tanh(layers);
            layers.linear(classes).unwrap();
            layers.propagate(2, 0.25).unwrap();
        }),
        ("residual", &|layers, hidden, classes| {
            layers.linear(hidden).unwrap();
            layers.graph_convolution(hidden).unwrap();
            tanh(layers);
            layers.add(1).unwrap();
            layers.graph_convolution(classes).unwrap();
        }),
        ("jumping knowledge", &|layers, hidden, classes| {
            layers.sage(hidden, Aggregator::Mean).unwrap();
            tanh(layers);
            layers.graph_convolution(hidden).unwrap();
            layers.activation(Activation::Sigmoid).unwrap();
            layers.concat(2).unwrap();
            layers.linear(classes).unwrap();
        }),
        ("attention", &|layers, hidden, classes| {
            layers.attention(hidden.div_ceil(2), 2, Version::First).unwrap();
            tanh(layers);
            layers.attention(classes, 3, Version::First).unwrap();
            layers.set_heads(Joined::Mean).unwrap();
        }),
        ("attention of the second kind", &|layers, hidden, classes| {
            layers.attention(hidden.div_ceil(3), 3, Version::Second).unwrap();
            layers.set_self_loops(false).unwrap();
            layers.set_attention_dropout(0.3).unwrap();
            tanh(layers);
            layers.linear(hidden).unwrap();
            layers.attention(classes, 1, Version::Second).unwrap();
            layers.set_bias(false).unwrap();
        }),
        ("sage max", &max),
        ("sage min", &min),
        ("gin of two and aggregate", &|layers, hidden, classes| {
            layers.aggregate(Aggregator::Max).unwrap();
            layers.gin(&[hidden, hidden]).unwrap();
            layers.set_epsilon(0.5, false).unwrap();
            layers.activation(Activation::LeakyRelu).unwrap();
            layers.linear(classes).unwrap();
        }),
        ("dropout and layer norm", &|layers, hidden, classes| {
            layers.dropout(0.3).unwrap();
            layers.sage(hidden, Aggregator::Mean).unwrap();
            layers.norm(Norm::Layer).unwrap();
            layers.activation(Activation::Gelu).unwrap();
            layers.dropout(0.5).unwrap();
            layers.linear(hidden).unwrap();
            layers.max(1 + 2).unwrap();
            layers.sage(classes, Aggregator::Max).unwrap();
        }),
        ("batch norm", &|layers, hidden, classes| {
            layers.graph_convolution(hidden).unwrap();
            layers.norm(Norm::Batch).unwrap();
            layers.activation(Activation::Relu).unwrap();
            layers.dropout(0.4).unwrap();
            layers.at(1).unwrap();
            layers.activation(Activation::Elu).unwrap();
            layers.concat(4).unwrap();
            layers.sage(classes, Aggregator::Sum).unwrap();
        }),
    ];
    let made = makes.into_iter().map(|(name, make)| {
        let mut layers = Layers::new(features).unwrap();
        make(&mut layers, hidden, classes);
        assert_eq!(layers.num_hops(), 2, "{name}");
        (name, layers)
    });
    made.collect()
}

/// The number of models at the start of [`every_layer`] whose gradient is a smooth function of how often each node is drawn.
pub const SMOOTH: usize = 7;
