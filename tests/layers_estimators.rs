//! What estimators claim of models made of layers is true, and nodes without draws are as the pages say.
//!
//! Everything is seeded, so a test passes always or never. The intervals bound the probability that a new seed would fail.

mod common;

use common::layered::{SMOOTH, every_layer};
use common::random::Random;
use common::stats::{Moments, log_slope};
use common::{distance, norm, reals};
use plimsoll::error::{Error, Result};
use plimsoll::estimator::{Estimator, Kind, Property, Request};
use plimsoll::graph::{Graph, Split};
use plimsoll::model::Model;
use plimsoll::nn::{AGGREGATORS, Aggregator, Layers, Norm, Version};
use plimsoll::sample::{Distribution, Draws, Hop};

const NODES: usize = 60;
const FEATURES: usize = 4;
const CLASSES: usize = 3;

/// A weighted graph with some four neighbours per node, in which all features are positive.
fn graph() -> Graph {
    let mut random = Random::new(3);
    let mut ends = || (0..2 * NODES).map(|_| random.below(NODES) as i32).collect::<Vec<_>>();
    let (sources, targets) = (ends(), ends());
    let weights: Vec<f32> = (0..2 * NODES).map(|_| random.float(0.2, 0.6)).collect();
    let mut graph = Graph::from_edges(NODES, &sources, &targets, Some(&weights)).unwrap();
    let x: Vec<f32> = (0..NODES * FEATURES).map(|_| random.float(0.1, 1.0)).collect();
    graph.set_features(FEATURES, &x).unwrap();
    graph.set_labels(&(0..NODES).map(|v| (v % CLASSES) as i32).collect::<Vec<_>>()).unwrap();
    graph.set_split(Split::Train, &(0..40).collect::<Vec<_>>()).unwrap();
    graph
}

fn distributions() -> Vec<(&'static str, Distribution)> {
    let mut random = Random::new(2);
    let weights: Vec<f64> = (0..NODES).map(|_| 0.5 + 1.5 * random.unit()).collect();
    vec![
        ("uniform", Distribution::Uniform),
        ("importance", Distribution::Importance),
        ("neighbours", Distribution::Neighbors),
        ("LADIES", Distribution::Ladies),
        ("weights", Distribution::from_weights(&weights).unwrap()),
    ]
}

fn models() -> Vec<(&'static str, Model)> {
    let make = |(name, layers)| (name, Model::new(layers, 5).unwrap());
    every_layer(FEATURES, 5, CLASSES).into_iter().map(make).collect()
}

fn model(name: &str) -> Model {
    models().into_iter().find(|(other, _)| *other == name).unwrap().1
}

fn consistent(sizes: &[usize], distribution: &Distribution) -> Estimator {
    let mut estimator = Estimator::consistent(sizes).unwrap();
    estimator.set_distribution(distribution.clone()).unwrap();
    estimator
}

fn exact(model: &Model, graph: &Graph, batch: Option<&[i32]>) -> Vec<f64> {
    // A copy for measurements drops nothing.
    reals(Estimator::unbiased().with_size(1).unwrap().gradient(model, graph, batch).unwrap().1)
}

#[test]
fn the_mean_over_the_batches_of_a_partition_is_the_full_gradient() {
    let graph = graph();
    for (name, mut model) in models() {
        model.set_lambda(0.01).unwrap();
        if model.net().has_batch_norm() {
            continue;
        }
        // Dropout's masks are given: all of them are of the first step.
        let mut full = Estimator::full();
        let wanted = reals(full.gradient(&model, &graph, None).unwrap().1);
        for size in [1, 5, 20] {
            for mut estimator in [Estimator::unbiased(), Estimator::consistent(&[0, 0]).unwrap()] {
                assert_eq!(estimator.property_of(&model), Property::UNBIASED, "{name}");
                let mut mean = vec![0.0; wanted.len()];
                for batch in graph.split(Split::Train).chunks(size) {
                    estimator.set_seed(0);
                    let gradient = reals(estimator.gradient(&model, &graph, Some(batch)).unwrap().1);
                    mean.iter_mut().zip(gradient).for_each(|(mean, g)| *mean += g * size as f64 / 40.0);
                }
                let off = distance(&mean, &wanted) / norm(&wanted);
                assert!(off <= 2e-6, "{name}, batches of {size}: off by {off:e}");
            }
        }
    }
}

/// Deviation and bias of `DRAWS` gradients, both relative, with the standard errors of the deviation and of the mean.
fn measure(model: &Model, graph: &Graph, h: &[f64], estimator: &mut Estimator, draws: usize) -> (f64, f64, f64, f64) {
    let (mut all, mut deviations) = (Moments::new(h.len()), Moments::new(1));
    for _ in 0..8 {
        let mut group = Moments::new(h.len());
        for _ in 0..draws / 8 {
            let gradient = reals(estimator.estimate(model, graph, &BATCH).unwrap().1);
            group.add(gradient.iter().copied());
            all.add(gradient);
        }
        deviations.add([group.deviation()]);
    }
    let size = norm(h);
    let bias = distance(&all.mean, h) / size;
    (all.deviation() / size, deviations.standard_error() / all.deviation(), bias, all.standard_error() / size)
}

const BATCH: [i32; 12] = [0, 3, 5, 8, 13, 17, 20, 24, 28, 31, 35, 39];

/// "Consistent": from 8n to 64n draws the deviation falls like N^-½ and the bias faster. Smooth activations, as
/// `common::without_kinks` explains. The interval of ±3 standard errors of the slope must lie in its range: the noise of two hops
/// multiplies to (1 + n/N)² − 1, whose slope is −0.51 there.
#[test]
fn gradients_of_smooth_models_are_consistent_under_every_distribution() {
    let graph = graph();
    for (name, model) in models().into_iter().take(SMOOTH) {
        let h = exact(&model, &graph, Some(&BATCH));
        for (by, distribution) in distributions() {
            let mut points = Vec::new();
            let mut biases = Vec::new();
            for power in [1, 3, 4, 5, 6] {
                let size = NODES << power;
                let mut estimator = consistent(&[size, size], &distribution);
                assert_eq!(estimator.property_of(&model), Property::CONSISTENT);
                let (deviation, error, bias, bias_error) = measure(&model, &graph, &h, &mut estimator, 1200);
                if power > 1 {
                    points.push((size as f64, deviation, error));
                }
                biases.push((bias * bias - bias_error * bias_error, bias, bias_error));
            }
            let (slope, error) = log_slope(&points);
            assert!(
                slope - 3.0 * error >= -0.65 && slope + 3.0 * error <= -0.38,
                "{name}, {by}: the deviation falls with slope {slope:.3} ± {error:.3}"
            );
            // Expected is a 32nd of it; a bias that falls like the deviation would be more than a sixth.
            let (first, last) = (biases[0].0.max(0.0).sqrt(), biases[4]);
            assert!(
                last.1 <= 4.0 * last.2 || last.1 <= first / 10.0,
                "{name}, {by}: a bias of {first:e} falls to {:e} ± {:e}",
                last.1,
                last.2
            );
        }
    }
}

/// Of a maximum or minimum no rate is claimed. Its error falls, and when every neighbour is drawn it is exact: of 100 n draws P misses one
/// node of the rarest kind here with a probability below 1e-8.
#[test]
fn gradients_of_extremes_are_consistent_under_every_distribution() {
    let graph = graph();
    let mut layers = Layers::new(FEATURES).unwrap();
    layers.sage(5, Aggregator::Max).unwrap();
    layers.activation(plimsoll::nn::Activation::Tanh).unwrap();
    layers.aggregate(Aggregator::Max).unwrap();
    layers.linear(CLASSES).unwrap();
    let aggregate = Model::new(layers, 5).unwrap();
    let [max, min] = ["sage max", "sage min"].map(|name| (name, model(name)));
    for (name, model) in [max, min, ("aggregate max", aggregate)] {
        let h = exact(&model, &graph, Some(&BATCH));
        for (by, distribution) in distributions() {
            let mut last = f64::INFINITY;
            for size in [NODES / 4, NODES, 4 * NODES] {
                let mut estimator = consistent(&[size, size], &distribution);
                assert_eq!(estimator.property_of(&model), Property::CONSISTENT);
                let (deviation, _, bias, _) = measure(&model, &graph, &h, &mut estimator, 800);
                let error = deviation.hypot(bias);
                assert!(error < 0.8 * last, "{name}, {by}, {size} draws: the error is {error} after {last}");
                last = error;
            }
            let mut estimator = consistent(&[100 * NODES; 2], &distribution);
            for _ in 0..200 {
                let gradient = reals(estimator.gradient(&model, &graph, Some(&BATCH)).unwrap().1);
                let off = distance(&gradient, &h) / norm(&h);
                assert!(off <= 1e-5, "{name}, {by}: off by {off:e}");
            }
        }
    }
}

#[test]
fn gradients_of_models_with_dropout_and_norms_come_closer_to_that_of_the_same_masks() {
    let graph = graph();
    let model = model("dropout and layer norm");
    for (by, distribution) in distributions() {
        let mut errors = Vec::new();
        for size in [NODES, 16 * NODES, 256 * NODES] {
            let mut estimator = consistent(&[size, size], &distribution);
            assert_eq!(estimator.property_of(&model), Property::CONSISTENT);
            let (mut sum, mut whole) = (0.0, Estimator::unbiased());
            for seed in 0..100 {
                // The same seed and step: the same masks.
                estimator.set_seed(seed);
                whole.set_seed(seed);
                let h = reals(whole.gradient(&model, &graph, Some(&BATCH)).unwrap().1);
                let gradient = reals(estimator.gradient(&model, &graph, Some(&BATCH)).unwrap().1);
                sum += distance(&gradient, &h) / norm(&h) / 100.0;
            }
            errors.push(sum);
        }
        // N^-½ would be a quarter each, but the maximum and its kinks have no rate.
        assert!(errors[1] < 0.7 * errors[0] && errors[2] < 0.5 * errors[1], "{by}: {errors:?}");
    }
}

/// With all parameters 0 the probabilities are 1/C whatever is drawn, and the gradient by W is linear in the aggregate.
#[test]
fn a_linear_aggregate_of_a_drawn_hop_is_unbiased_and_an_extreme_is_not() {
    type Make = fn(&mut Layers) -> Result<()>;
    let kinds: [(&str, Make); 8] = [
        ("gcn", |layers| layers.graph_convolution(CLASSES)),
        ("sage mean", |layers| layers.sage(CLASSES, Aggregator::Mean)),
        ("sage sum", |layers| layers.sage(CLASSES, Aggregator::Sum)),
        ("gin", |layers| layers.gin(&[CLASSES])),
        ("aggregate", |layers| layers.aggregate(Aggregator::Mean).and_then(|()| layers.linear(CLASSES))),
        ("propagate", |layers| layers.propagate(1, 0.2).and_then(|()| layers.linear(CLASSES))),
        ("sage max", |layers| layers.sage(CLASSES, Aggregator::Max)),
        ("sage min", |layers| layers.sage(CLASSES, Aggregator::Min)),
    ];
    let graph = graph();
    for (name, make) in kinds {
        let mut layers = Layers::new(FEATURES).unwrap();
        make(&mut layers).unwrap();
        let mut model = Model::new(layers, 1).unwrap();
        let zeros = vec![0.0; model.parameters().len()];
        model.set_parameters(&zeros).unwrap();
        let h = exact(&model, &graph, Some(&BATCH));
        for (by, distribution) in distributions() {
            for size in [3, 40] {
                let mut estimator = consistent(&[size], &distribution);
                let mut moments = Moments::new(h.len());
                for _ in 0..4000 {
                    moments.add(reals(estimator.gradient(&model, &graph, Some(&BATCH)).unwrap().1));
                }
                // More than 4 with a probability below 6.4e-5; see `errors_from`.
                let errors = moments.errors_from(&h);
                match name {
                    "sage max" | "sage min" => {
                        assert!(errors > 4.0, "{name}, {by}, {size} draws: {errors} standard errors")
                    }
                    _ => assert!(errors <= 4.0, "{name}, {by}, {size} draws: off by {errors} standard errors"),
                }
            }
        }
    }
}

#[test]
fn nothing_is_declared_of_batches_with_a_batch_norm() {
    for (name, model) in models() {
        let is_batch = name == "batch norm";
        let declared = |estimator: Estimator| estimator.property_of(&model);
        let or_none = |property| if is_batch { Property::NONE } else { property };
        assert_eq!(declared(Estimator::full()), Property::EXACT, "{name}");
        assert_eq!(declared(Estimator::unbiased()), or_none(Property::UNBIASED), "{name}");
        assert_eq!(declared(Estimator::consistent(&[0, 0]).unwrap()), or_none(Property::UNBIASED), "{name}");
        assert_eq!(declared(Estimator::consistent(&[9, 0]).unwrap()), or_none(Property::CONSISTENT), "{name}");
    }
}

/// A kind from outside the library that takes no batch and draws at one hop.
struct DrawsForAll {
    hops: [Hop; 1],
}

impl Kind for DrawsForAll {
    fn name(&self) -> &'static str {
        "draws for all"
    }

    fn property(&self) -> Property {
        Property::NONE
    }

    fn request(&self) -> Request<'_> {
        Request::Nodes(Draws { hops: &self.hops, distribution: &Distribution::Uniform })
    }

    fn try_clone(&self) -> Result<Box<dyn Kind>> {
        Ok(Box::new(DrawsForAll { hops: self.hops.clone() }))
    }

    fn takes_batch(&self) -> bool {
        false
    }
}

#[test]
fn a_kind_that_draws_for_all_training_nodes_works_with_a_batch_norm() {
    let graph = graph();
    let mut layers = Layers::new(FEATURES).unwrap();
    layers.linear(5).unwrap();
    layers.norm(Norm::Batch).unwrap();
    layers.graph_convolution(CLASSES).unwrap();
    let model = Model::new(layers, 1).unwrap();
    let mut outside = Estimator::new(Box::new(DrawsForAll { hops: [Hop::Draw(50)] }));
    let mut same = Estimator::consistent(&[50]).unwrap();
    let wanted = same.gradient(&model, &graph, None).unwrap().1;
    assert_eq!(outside.gradient(&model, &graph, None).unwrap().1, wanted);
}

/// Nodes 0 and 1 are neighbours of each other, 2 and 3 too, with the weight 2; node 4 is isolated. The feature of a node is its
/// number and 3.
fn pairs() -> Graph {
    let mut graph = Graph::from_edges(5, &[0, 2], &[1, 3], Some(&[2.0, 2.0])).unwrap();
    graph.set_features(1, &[3.0, 4.0, 5.0, 6.0, 7.0]).unwrap();
    graph.set_labels(&[0, 1, 0, 1, 0]).unwrap();
    graph.set_split(Split::Train, &[0, 2]).unwrap();
    graph
}

/// The first logit of node v (the second is 0) and the gradient of −log p of its label, 0, if these nodes are drawn.
fn first_logit(layers: Layers, w: &[f32], v: i32, draws: &[i32]) -> (f64, Vec<f64>) {
    let mut model = Model::new(layers, 1).unwrap();
    model.set_parameters(w).unwrap();
    let mut estimator = Estimator::consistent(&[1]).unwrap();
    estimator.set_draws(0, draws).unwrap();
    let (loss, gradient) = estimator.gradient(&model, &pairs(), Some(&[v])).unwrap();
    (-(loss.exp() - 1.0).ln(), reals(gradient))
}

fn assert_close(found: f64, wanted: f64, what: &str) {
    // A loss in single precision is off by some 1e-7, and the logit by that over 1 − p, which is above 0.02 here.
    assert!((found - wanted).abs() <= 1e-5, "{what}: {found} is not {wanted}");
}

/// Node 0 has no draw if nodes 2 and 3 are drawn; the isolated node 4 never has one. Hand-computed.
#[test]
fn a_node_without_draws_aggregates_0_and_keeps_root_and_bias() {
    let of = |make: &dyn Fn(&mut Layers)| {
        let mut layers = Layers::new(1).unwrap();
        make(&mut layers);
        layers
    };
    for &(aggregator, _) in AGGREGATORS {
        // lin_l.weight, lin_l.bias, lin_r.weight
        let w = [10.0, 0.0, 0.25, 0.0, 0.5, 0.0];
        let name = format!("sage {aggregator:?}");
        let layers = || of(&|layers| layers.sage(2, aggregator).unwrap());
        for (v, x) in [(0, 3.0), (4, 7.0)] {
            let (logit, gradient) = first_logit(layers(), &w, v, &[2, 3, 3]);
            assert_close(logit, 0.5 * x + 0.25, &name);
            // p − 1 of the first class, and p of the second, times 1 for the bias and the feature for the root.
            let q = 1.0 / (1.0 + logit.exp());
            let wanted = [0.0, 0.0, -q, q, -q * x, q * x];
            assert!(distance(&gradient, &wanted) <= 1e-5, "{name}: {gradient:?} is not {wanted:?}");
        }
        // Node 1 is one of two draws of five nodes, so its weight is 5/2; a maximum or minimum has no weights.
        let near = match aggregator {
            Aggregator::Mean => 4.0 * 2.5,
            Aggregator::Sum => 2.0 * 4.0 * 2.5,
            Aggregator::Max | Aggregator::Min => 4.0,
        };
        let w = [0.1, 0.0, 0.25, 0.0, 0.5, 0.0];
        assert_close(first_logit(layers(), &w, 0, &[2, 1]).0, 0.1 * near + 0.25 + 1.5, &name);
        let alone = of(&|layers| {
            layers.aggregate(aggregator).unwrap();
            layers.linear(2).unwrap();
        });
        let (logit, gradient) = first_logit(alone, &[10.0, 0.0, 0.25, 0.0], 0, &[3]);
        assert_close(logit, 0.25, &name);
        assert_eq!(gradient[..2], [0.0, 0.0], "{name}: no weight has part in it");
    }
    let gin = of(&|layers| {
        layers.gin(&[2]).unwrap();
        layers.set_epsilon(0.5, false).unwrap();
    });
    assert_close(first_logit(gin.clone(), &[0.5, 0.0, 0.25, 0.0], 0, &[2, 3]).0, 0.5 * 1.5 * 3.0 + 0.25, "gin");
    assert_close(first_logit(gin, &[0.1, 0.0, 0.25, 0.0], 0, &[1]).0, 0.1 * (4.5 + 5.0 * 2.0 * 4.0) + 0.25, "gin");
    let gcn = of(&|layers| layers.graph_convolution(2).unwrap());
    assert_close(first_logit(gcn.clone(), &[0.5, 0.0, 0.25, 0.0], 0, &[2, 3]).0, 0.25, "gcn");
    // Â(0, 0) is 1/3, and a single draw of five nodes has the weight 5.
    assert_close(first_logit(gcn, &[0.1, 0.0, 0.25, 0.0], 0, &[0]).0, 0.1 * 5.0 / 3.0 * 3.0 + 0.25, "gcn");
    let propagate = of(&|layers| {
        layers.propagate(1, 0.25).unwrap();
        layers.linear(2).unwrap();
    });
    assert_close(first_logit(propagate, &[0.5, 0.0, 0.25, 0.0], 0, &[2]).0, 0.5 * 0.25 * 3.0 + 0.25, "propagate");
}

/// Hand-computed on the same graph: with a self-loop a node without draws attends to itself alone, without one it is 0.
#[test]
fn a_node_without_draws_attends_to_itself_alone() {
    let attention = |version, self_loops| {
        let mut layers = Layers::new(1).unwrap();
        layers.attention(2, 1, version).unwrap();
        layers.set_self_loops(self_loops).unwrap();
        layers
    };
    // lin.weight, att_src, att_dst, bias
    let first = |a: f32| vec![0.5, 0.0, 0.3 * a, 0.2 * a, -0.1 * a, 0.4 * a, 0.25, 0.0];
    // lin_l.weight, lin_l.bias, lin_r.weight, lin_r.bias, att, bias: x is the same
    let second = |a: f32| vec![0.5, 0.0, 0.0, 0.0, 0.7, 0.1, 0.2, 0.3, 0.3 * a, -0.2 * a, 0.25, 0.0];
    type Make<'a> = &'a dyn Fn(f32) -> Vec<f32>;
    for (version, w) in [(Version::First, &first as Make<'_>), (Version::Second, &second as Make<'_>)] {
        let name = format!("{version:?}");
        for (v, x) in [(0, 3.0), (4, 7.0)] {
            for self_loops in [true, false] {
                let (logit, gradient) = first_logit(attention(version, self_loops), &w(1.0), v, &[2, 3, 3]);
                let own = if self_loops { x } else { 0.0 };
                assert_close(logit, 0.5 * own + 0.25, &name);
                // p − 1 of the first class and p of the second, times 1 for the bias and x for W; nothing for the scores.
                let (q, count) = (1.0 / (1.0 + logit.exp()), gradient.len());
                let mut wanted = vec![0.0; count];
                wanted[..2].copy_from_slice(&[-q * own, q * own]);
                wanted[count - 2..].copy_from_slice(&[-q, q]);
                if version == Version::Second && self_loops {
                    wanted[2..4].copy_from_slice(&[-q, q]); // b_l is part of x
                }
                assert!(distance(&gradient, &wanted) <= 1e-5, "{name}: {gradient:?} is not {wanted:?}");
            }
        }
        // Node 1 is one of two draws of five nodes, so its weight is 5/2, and that of node 0 itself is 1. All scores are 0.
        let logit = |self_loops| first_logit(attention(version, self_loops), &w(0.0), 0, &[2, 1]).0;
        assert_close(logit(true), 0.5 * (3.0 + 2.5 * 4.0) / 3.5 + 0.25, &name);
        assert_close(logit(false), 0.5 * 4.0 + 0.25, &name);
    }
}

/// Rows without entries, whichever way nodes are drawn: an isolated node's gradient is that of its root and bias alone.
#[test]
fn an_isolated_node_has_the_gradient_of_its_root_under_every_distribution_and_size() {
    let n = NODES + 40;
    let (sources, targets): (Vec<i32>, Vec<i32>) = (0..NODES as i32).map(|v| (v, (v + 1) % NODES as i32)).unzip();
    let mut graph = Graph::from_edges(n, &sources, &targets, None).unwrap();
    graph.set_features(1, &vec![0.5; n]).unwrap();
    graph.set_labels(&vec![0; n]).unwrap();
    for &(aggregator, _) in AGGREGATORS {
        let mut layers = Layers::new(1).unwrap();
        layers.aggregate(aggregator).unwrap();
        layers.sage(2, aggregator).unwrap();
        let model = Model::new(layers, 1).unwrap();
        let batch = [n as i32 - 1, n as i32 - 5];
        let wanted = exact(&model, &graph, Some(&batch));
        for size in [1, 3, 20, 500] {
            let weights = Distribution::from_weights(&vec![1.0; n]).unwrap();
            for distribution in [
                Distribution::Uniform,
                Distribution::Importance,
                Distribution::Neighbors,
                Distribution::Ladies,
                weights,
            ] {
                let mut estimator = consistent(&[size, size], &distribution);
                let gradient = reals(estimator.gradient(&model, &graph, Some(&batch)).unwrap().1);
                assert_eq!(gradient, wanted, "{aggregator:?}, {size} draws, {}", distribution.description());
            }
        }
    }
}

#[test]
fn sample_sizes_are_one_for_each_hop() {
    let (graph, (_, model)) = (graph(), models().swap_remove(0));
    for sizes in [&[5][..], &[5, 5, 5]] {
        let result = Estimator::consistent(sizes).unwrap().gradient(&model, &graph, None).map(|_| ());
        assert!(matches!(result, Err(Error::ShapeMismatch(_))), "{sizes:?}");
    }
}
