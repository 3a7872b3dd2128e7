//! Dropout: what is dropped, in whatever company, and when nothing is. That gradients are finite differences with the masks held
//! is tested by `layers_gradients`.

mod common;

use common::layered::{is_dropped, set_features};
use common::random::Random;
use common::{bits, distance, norm, reals};
use plimsoll::estimator::Estimator;
use plimsoll::graph::{Graph, Split};
use plimsoll::log::{Level, Log};
use plimsoll::model::Model;
use plimsoll::nn::{Activation, Aggregator, Layers};
use plimsoll::optim::Interrupt;
use plimsoll::random::{mask_key, mix};
use plimsoll::theory;

const NODES: usize = 2000;
const FEATURES: usize = 30;

fn graph(sparse: bool) -> Graph {
    let mut random = Random::new(1);
    let mut ends = || (0..2 * NODES).map(|_| random.below(NODES) as i32).collect::<Vec<_>>();
    let mut graph = Graph::from_edges(NODES, &ends(), &ends(), None).unwrap();
    let x: Vec<f32> =
        (0..NODES * FEATURES).map(|_| if random.chance(0.7) { 0.0 } else { random.float(0.1, 1.0) }).collect();
    set_features(&mut graph, FEATURES, &x, sparse);
    graph.set_labels(&(0..NODES).map(|v| (v % 3) as i32).collect::<Vec<_>>()).unwrap();
    graph.set_split(Split::Train, &(0..1200).collect::<Vec<_>>()).unwrap();
    graph
}

/// Dropout of the features and of hidden numbers, two hops.
fn model(rates: Option<[f64; 2]>) -> Model {
    let mut layers = Layers::new(FEATURES).unwrap();
    let dropout = |layers: &mut Layers, at: usize| rates.is_none_or(|rates| layers.dropout(rates[at]).is_ok());
    assert!(dropout(&mut layers, 0));
    layers.sage(8, Aggregator::Mean).unwrap();
    layers.activation(Activation::Tanh).unwrap();
    assert!(dropout(&mut layers, 1));
    layers.graph_convolution(3).unwrap();
    Model::new(layers, 4).unwrap()
}

/// A model with the parameters of another.
fn with_parameters_of(mut model: Model, other: &Model) -> Model {
    model.set_parameters(other.parameters()).unwrap();
    model
}

fn gradient(mut estimator: Estimator, seed: u64, model: &Model, graph: &Graph, batch: Option<&[i32]>) -> Vec<f32> {
    estimator.set_seed(seed);
    estimator.gradient(model, graph, batch).unwrap().1.to_vec()
}

/// All logits are 0, so the gradient by W(k, 0) is −½ of the mean of feature k after dropout, over nodes that are all of class 0.
#[test]
fn the_share_of_dropped_numbers_is_binomial_and_each_is_dropped_by_its_own_key() {
    let (n, width) = (4000, 20);
    let mut graph = Graph::from_edges(n, &[], &[], None).unwrap();
    graph.set_features(width, &vec![1.0; n * width]).unwrap();
    graph.set_labels(&vec![0; n]).unwrap();
    graph.set_split(Split::Train, &(0..n as i32).collect::<Vec<_>>()).unwrap();
    for rate in [0.01, 0.1, 0.3, 0.5, 0.9, 0.999] {
        let mut layers = Layers::new(width).unwrap();
        layers.dropout(rate).unwrap();
        layers.linear(2).unwrap();
        let mut model = Model::new(layers, 1).unwrap();
        model.set_parameters(&vec![0.0; 2 * width + 2]).unwrap();
        let mut total = 0.0;
        for seed in 0..3 {
            let found = gradient(Estimator::full(), seed, &model, &graph, None);
            let key = mask_key(seed, 0, 1);
            for column in 0..width {
                let kept = f64::from(found[2 * column]) * -2.0 * n as f64 * (1.0 - rate);
                let wanted = (0..n).filter(|&v| !is_dropped(mix(key, v as u64), column, rate)).count() as f64;
                assert!(
                    (kept - wanted).abs() <= 1e-4 * wanted + 1e-3,
                    "{rate}, column {column}: {kept} kept, not {wanted}"
                );
                // Beyond 5 standard deviations with a probability of 6e-7 each, 2e-4 for all.
                let deviation = (n as f64 * rate * (1.0 - rate)).sqrt();
                let off = (wanted - n as f64 * (1.0 - rate)).abs() / deviation;
                assert!(off <= 5.0, "{rate}, column {column}: {off} standard deviations");
                total += wanted;
            }
        }
        let numbers = (3 * n * width) as f64;
        let off = (total - numbers * (1.0 - rate)).abs() / (numbers * rate * (1.0 - rate)).sqrt();
        assert!(off <= 4.0, "{rate}: {off} standard deviations");
    }
}

#[test]
fn masks_differ_by_seed_step_and_value_and_are_the_same_for_the_same() {
    let (graph, model) = (graph(false), model(Some([0.5, 0.5])));
    let mut estimator = Estimator::full();
    let mut next = |seed: Option<u64>| {
        seed.into_iter().for_each(|seed| estimator.set_seed(seed));
        bits(estimator.gradient(&model, &graph, None).unwrap().1)
    };
    let all = [next(Some(1)), next(None), next(None), next(Some(2)), next(None)];
    assert!((0..5).all(|i| (0..i).all(|j| all[i] != all[j])));
    assert!(next(Some(1)) == all[0] && next(None) == all[1]);
    let keys = [mask_key(1, 0, 1), mask_key(1, 0, 2), mask_key(1, 1, 1), mask_key(2, 0, 1), mask_key(0, 1, 1)];
    assert!((0..5).all(|i| (0..i).all(|j| keys[i] != keys[j])));
}

/// The gradient of a batch is the mean of those of its nodes only if each node and each neighbour has the same mask in each.
#[test]
fn a_node_keeps_its_mask_in_whatever_company() {
    for sparse in [false, true] {
        let (graph, model) = (graph(sparse), model(Some([0.4, 0.6])));
        let train = graph.split(Split::Train).to_vec();
        let whole = reals(&gradient(Estimator::full(), 3, &model, &graph, None));
        for size in [1200, 400, 8] {
            let mut mean = vec![0.0; whole.len()];
            for batch in train.chunks(size) {
                let part = gradient(Estimator::unbiased(), 3, &model, &graph, Some(batch));
                mean.iter_mut().zip(part).for_each(|(mean, g)| *mean += f64::from(g) * size as f64 / 1200.0);
            }
            let off = distance(&mean, &whole) / norm(&whole);
            assert!(off <= 2e-6, "sparse {sparse}, batches of {size}: off by {off:e}");
        }
    }
}

#[test]
fn dense_and_sparse_features_lose_the_same_numbers() {
    let model = model(Some([0.5, 0.2]));
    let [dense, sparse] = [false, true].map(graph);
    let batch: Vec<i32> = (0..300).map(|i| i * 4).collect();
    for batch in [None, Some(&batch[..])] {
        let of = |graph: &Graph| {
            let estimator = if batch.is_some() { Estimator::unbiased() } else { Estimator::full() };
            reals(&gradient(estimator, 7, &model, graph, batch))
        };
        let (dense, sparse) = (of(&dense), of(&sparse));
        let off = distance(&dense, &sparse) / norm(&dense);
        assert!(off <= 1e-6, "off by {off:e}");
    }
}

fn all_estimators() -> Vec<Estimator> {
    let consistent = |sizes: &[usize]| Estimator::consistent(sizes).unwrap();
    vec![Estimator::full(), Estimator::unbiased(), consistent(&[500, 500]), consistent(&[0, 300])]
}

#[test]
fn a_rate_of_0_has_the_bits_of_no_dropout() {
    for sparse in [false, true] {
        let (graph, zero) = (graph(sparse), model(Some([0.0, 0.0])));
        let none = with_parameters_of(model(None), &zero);
        for (a, b) in all_estimators().into_iter().zip(all_estimators()) {
            assert_eq!(bits(&gradient(a, 1, &zero, &graph, None)), bits(&gradient(b, 1, &none, &graph, None)));
        }
    }
}

struct Silent;

impl Log for Silent {
    fn wants(&self, _: Level) -> bool {
        false
    }

    fn write(&mut self, _: Level, _: &str) {}
}

impl theory::tail::Observer for Silent {
    fn progress(&mut self, _: &theory::tail::Progress) -> Result<(), Interrupt> {
        Ok(())
    }
}

/// The same kind, not for measurements.
fn training(estimator: &Estimator) -> Estimator {
    Estimator::new(estimator.kind().try_clone().unwrap())
}

#[test]
fn predictions_and_measurements_drop_nothing() {
    let (graph, dropping) = (graph(true), model(Some([0.5, 0.5])));
    let none = with_parameters_of(model(None), &dropping);
    assert!(dropping.predict(&graph, None, bits).unwrap() == none.predict(&graph, None, bits).unwrap());
    assert_eq!(dropping.evaluate(&graph, Split::Train).unwrap(), none.evaluate(&graph, Split::Train).unwrap());
    for (i, estimator) in all_estimators().iter().enumerate() {
        let of = |model: &Model| {
            let copy = estimator.with_size(estimator.size().unwrap_or(1)).unwrap();
            bits(&gradient(copy, 1, model, &graph, None))
        };
        assert!(of(&dropping) == of(&none), "estimator {i}");
        assert!(of(&dropping) != bits(&gradient(training(estimator), 1, &dropping, &graph, None)), "estimator {i}");
    }
    // The gradient that estimates are compared with drops nothing either.
    let options = theory::tail::Options { draws: 20, ..Default::default() };
    let measure = |model: &Model, estimator: &Estimator, size: usize| {
        let tail = theory::tail::tail(estimator, model, &graph, (&[size], &[0.1]), &options, &mut Silent).unwrap();
        (tail.probabilities[0], tail.norm, tail.errors[0].error)
    };
    let drawn = Estimator::consistent(&[0, 300]).unwrap();
    assert_eq!(measure(&dropping, &drawn, 300), measure(&none, &drawn, 300));
    let (_, _, error) = measure(&dropping, &Estimator::unbiased(), 1200);
    assert!(error <= 1e-5, "the whole batch is off by {error}");
    let goal = theory::plan::Goal { delta: 0.5, epsilon: 0.5, steps: 1 };
    let options = theory::tail::Options { draws: 60, ..Default::default() };
    let plan = |model: &Model| {
        let plan = theory::plan::plan(&drawn, model, &graph, goal, &options, &mut Silent).unwrap();
        (plan.size, plan.sizes, plan.tail.misses, plan.tail.upper, plan.unbiased_batch)
    };
    let planned = plan(&dropping);
    assert!(planned.0.is_some());
    assert_eq!(planned, plan(&none));
}

#[test]
fn dropped_features_may_be_the_output() {
    let mut random = Random::new(8);
    let x = random.floats(40 * 3);
    let gradient = |sparse: bool| {
        let mut graph = Graph::from_edges(40, &[0, 1], &[1, 2], None).unwrap();
        set_features(&mut graph, 3, &x, sparse);
        graph.set_labels(&(0..40).map(|v| v % 3).collect::<Vec<_>>()).unwrap();
        graph.set_split(Split::Train, &[3, 4, 5, 6, 7]).unwrap();
        let mut layers = Layers::new(3).unwrap();
        layers.dropout(0.5).unwrap();
        let model = Model::new(layers, 0).unwrap();
        Estimator::unbiased().gradient(&model, &graph, Some(&[3, 4, 5])).unwrap().0
    };
    assert!(gradient(true) > 0.1);
    assert_eq!(gradient(true), gradient(false));
}
