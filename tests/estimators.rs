//! What an estimator claims is true: "unbiased" and "consistent" are measured, with confidence intervals.
//!
//! Everything is seeded, so a test passes always or never. The intervals bound the probability that a new seed would fail.

mod common;

use common::random::Random;
use common::stats::{Moments, log_slope};
use common::{bits, distance, norm, reals, without_kinks};
use plimsoll::error::{Error, Result};
use plimsoll::estimator::{Estimator, Kind, Property, Request};
use plimsoll::graph::{Graph, Matrix, Split};
use plimsoll::model::Model;
use plimsoll::sample::{Distribution, Draws, Hop};

/// Mixture with 300 nodes, 120 of them for training.
fn mixture() -> Graph {
    Graph::from_mixture(100, 7).unwrap()
}

/// The same with its points moved into the positive quadrant, for [`common::without_kinks`].
fn positive_mixture() -> Graph {
    let mut graph = mixture();
    let Matrix::Dense { data, width: 2 } = graph.features().unwrap() else {
        panic!("Mixture has points in the plane");
    };
    let moved: Vec<f32> = data.iter().map(|x| 0.25 * (x + 4.0)).collect();
    assert!(moved.iter().all(|&x| x > 0.0));
    graph.set_features(2, &moved).unwrap();
    graph
}

fn every_third(nodes: &[i32]) -> Vec<i32> {
    nodes.iter().copied().step_by(3).collect()
}

fn exact_gradient(model: &Model, graph: &Graph, batch: &[i32]) -> Vec<f64> {
    reals(Estimator::unbiased().gradient(model, graph, Some(batch)).unwrap().1)
}

/// Statistics of many gradients of one sample size N.
struct Measured {
    size: f64,
    /// √E‖g − E g‖², and its relative standard error.
    deviation: f64,
    deviation_error: f64,
    /// ‖E g − h‖ with the exact gradient h, and its standard error.
    bias: f64,
    bias_error: f64,
}

impl Measured {
    fn bias_is_certain(&self) -> bool {
        self.bias > 4.0 * self.bias_error
    }
}

const DRAWS: usize = 6000;
/// The deviation's own error comes from the spread between groups of draws.
const GROUPS: usize = 10;

fn measure(model: &Model, graph: &Graph, batch: &[i32], estimator: &mut Estimator, size: usize) -> Measured {
    let h = exact_gradient(model, graph, batch);
    let mut all = Moments::new(h.len());
    let mut deviations = Moments::new(1);
    for _ in 0..GROUPS {
        let mut group = Moments::new(h.len());
        for _ in 0..DRAWS / GROUPS {
            let gradient = reals(estimator.gradient(model, graph, Some(batch)).unwrap().1);
            group.add(gradient.iter().copied());
            all.add(gradient);
        }
        deviations.add([group.deviation()]);
    }
    Measured {
        size: size as f64,
        deviation: all.deviation(),
        deviation_error: deviations.standard_error() / all.deviation(),
        bias: distance(&all.mean, &h),
        bias_error: all.standard_error(),
    }
}

/// Measures N = n·2^k draws in each layer that `sampled` names, for each `k`.
fn measure_grid(
    model: &Model,
    graph: &Graph,
    batch: &[i32],
    sampled: &[bool],
    distribution: fn(&Graph) -> Distribution,
    powers: impl IntoIterator<Item = i32>,
) -> Vec<Measured> {
    let grid = powers.into_iter().map(|k| {
        let size = (graph.num_nodes() as f64 * 2f64.powi(k)) as usize;
        let sizes: Vec<usize> = sampled.iter().map(|&sampled| if sampled { size } else { 0 }).collect();
        let mut estimator = Estimator::consistent(&sizes).unwrap();
        estimator.set_distribution(distribution(graph)).unwrap();
        assert_eq!(estimator.property(), Property::CONSISTENT);
        measure(model, graph, batch, &mut estimator, size)
    });
    grid.collect()
}

/// The claim "consistent, not unbiased": there is a bias; it falls at least like N^-0.8, and the deviation like N^-½. The whole
/// interval of ±3 standard errors of each slope must lie in its range.
fn assert_consistent(grid: &[Measured], n: usize, name: &str) {
    // The noise of three layers multiplies to a variance of (1 + n/N)³ − 1: from 8n to 64n the deviation's slope is -0.53,
    // and the terms of higher order make it fall faster below.
    let asymptotic = grid.iter().filter(|m| m.size >= 8.0 * n as f64);
    let deviations: Vec<_> = asymptotic.map(|m| (m.size, m.deviation, m.deviation_error)).collect();
    let (slope, error) = log_slope(&deviations);
    assert!(
        slope - 3.0 * error >= -0.6 && slope + 3.0 * error <= -0.4,
        "{name}: the deviation falls with slope {slope:.3} ± {error:.3}"
    );
    // With fewer draws than 4n many rows are empty, and the bias hardly falls yet.
    let certain = grid.iter().filter(|m| m.size >= 4.0 * n as f64 && m.bias_is_certain());
    let biases: Vec<_> = certain
        .map(|m| {
            // ‖ḡ − h‖² includes the variance of the mean.
            let bias = (m.bias * m.bias - m.bias_error * m.bias_error).sqrt();
            (m.size, bias, m.bias_error / bias)
        })
        .collect();
    let (slope, error) = log_slope(&biases);
    assert!(slope + 3.0 * error <= -0.8, "{name}: the bias falls with slope {slope:.3} ± {error:.3}");
    for m in grid.iter().filter(|m| m.size <= n as f64) {
        assert!(m.bias_is_certain(), "{name}: no bias at N = {}: {:e} ± {:e}", m.size, m.bias, m.bias_error);
    }
}

/// The whole grid from n/8 to 64 n, for a batch of all training nodes and for a third of them.
fn assert_uniform_draws_are_consistent(widths: &[usize], sampled: &[bool]) {
    let (graph, model) = (positive_mixture(), without_kinks(widths, 1.0));
    let train = graph.split(Split::Train);
    for batch in [train.to_vec(), every_third(train)] {
        let grid = measure_grid(&model, &graph, &batch, sampled, |_| Distribution::Uniform, -3..=6);
        let name = format!("widths {widths:?}, sampled {sampled:?}, {} nodes", batch.len());
        assert_consistent(&grid, graph.num_nodes(), &name);
    }
}

#[test]
fn uniform_draws_at_the_input_of_one_layer_are_consistent() {
    assert_uniform_draws_are_consistent(&[2, 3], &[true]);
}

#[test]
fn uniform_draws_at_both_inputs_of_two_layers_are_consistent() {
    assert_uniform_draws_are_consistent(&[2, 6, 3], &[true, true]);
}

#[test]
fn uniform_draws_at_the_hidden_layer_alone_are_consistent() {
    assert_uniform_draws_are_consistent(&[2, 6, 3], &[false, true]);
}

#[test]
fn uniform_draws_at_the_inputs_of_three_layers_are_consistent() {
    assert_uniform_draws_are_consistent(&[2, 6, 4, 3], &[true, true, true]);
}

/// Draws at both layers of two from another distribution, on the part of the grid that the slopes are taken from.
fn assert_draws_are_consistent(distribution: fn(&Graph) -> Distribution, name: &str) {
    let (graph, model) = (positive_mixture(), without_kinks(&[2, 6, 3], 1.0));
    let batch = graph.split(Split::Train);
    let grid = measure_grid(&model, &graph, batch, &[true, true], distribution, [-2, 0, 2, 3, 4, 5]);
    assert_consistent(&grid, graph.num_nodes(), name);
}

#[test]
fn draws_by_importance_are_consistent() {
    assert_draws_are_consistent(|_| Distribution::Importance, "importance");
}

#[test]
fn draws_among_the_neighbours_are_consistent() {
    assert_draws_are_consistent(|_| Distribution::Neighbors, "neighbours");
}

#[test]
fn draws_by_the_rows_above_are_consistent() {
    assert_draws_are_consistent(|_| Distribution::Ladies, "LADIES");
}

#[test]
fn draws_by_the_callers_weights_are_consistent() {
    let weights = |graph: &Graph| {
        let mut random = Random::new(2);
        let weights: Vec<f64> = (0..graph.num_nodes()).map(|_| 0.5 + 1.5 * random.unit()).collect();
        Distribution::from_weights(&weights).unwrap()
    };
    assert_draws_are_consistent(weights, "weights");
}

/// Initial parameters on the original points, where some hidden units are very close to their kink.
#[test]
fn total_error_falls_like_the_root_of_the_sample_with_kinks_too() {
    let graph = mixture();
    let batch = graph.split(Split::Train).to_vec();
    for widths in [&[2, 6, 3][..], &[2, 6, 4, 3]] {
        let model = Model::gcn(widths, 5).unwrap();
        let sampled = vec![true; widths.len() - 1];
        let grid = measure_grid(&model, &graph, &batch, &sampled, |_| Distribution::Uniform, 3..=6);
        let errors: Vec<_> = grid.iter().map(|m| (m.size, m.deviation.hypot(m.bias), m.deviation_error)).collect();
        let (slope, error) = log_slope(&errors);
        // The remaining bias makes the total error fall faster; a kink that N does not yet resolve makes it fall slower.
        assert!((slope + 0.5).abs() + 3.0 * error <= 0.15, "{widths:?}: the error falls with slope {slope} ± {error}");
    }
}

/// The mean of the estimator's gradient over `DRAWS` random batches, and the gradient over all training nodes.
fn mean_over_batches(model: &Model, graph: &Graph, estimator: &mut Estimator, seed: u64) -> (Moments, Vec<f64>) {
    let full = reals(Estimator::full().gradient(model, graph, None).unwrap().1);
    let train = graph.split(Split::Train);
    let mut random = Random::new(seed);
    let mut moments = Moments::new(full.len());
    for _ in 0..DRAWS {
        let batch = random.choose(train, 20);
        moments.add(reals(estimator.gradient(model, graph, Some(&batch)).unwrap().1));
    }
    (moments, full)
}

#[test]
fn mean_of_the_unbiased_gradient_over_random_batches_is_the_full_gradient() {
    let graph = mixture();
    for (seed, widths) in [&[2, 3][..], &[2, 6, 3], &[2, 6, 4, 3]].iter().enumerate() {
        let mut model = Model::gcn(widths, 5).unwrap();
        model.set_lambda(0.01).unwrap();
        for mut estimator in [Estimator::unbiased(), Estimator::consistent(&vec![0; widths.len() - 1]).unwrap()] {
            assert_eq!(estimator.property(), Property::UNBIASED);
            let (mean, full) = mean_over_batches(&model, &graph, &mut estimator, seed as u64);
            // The whole vector at once, with a probability below 6.4e-5; see `errors_from`. The interval is at most a tenth of
            // the gradient's norm, so the test is sharp.
            let errors = mean.errors_from(&full);
            assert!(errors <= 4.0, "{widths:?}: off by {errors} standard errors");
            assert!(4.0 * mean.standard_error() <= 0.1 * norm(&full));
            // And each component: beyond 5 with a probability of 5.7e-7 each, 3e-5 for all 48. The gradient of a dead unit is λ·W
            // in each batch, up to rounding.
            let largest = mean.largest_error_from(&full, 1e-7 * norm(&full));
            assert!(largest <= 5.0, "{widths:?}: a component is off by {largest} standard errors");
        }
    }
}

#[test]
fn mean_of_the_consistent_gradient_over_random_batches_is_not_the_full_gradient() {
    let graph = mixture();
    for widths in [&[2, 3][..], &[2, 6, 3], &[2, 6, 4, 3]] {
        let model = Model::gcn(widths, 5).unwrap();
        let mut estimator = Estimator::consistent(&vec![100; widths.len() - 1]).unwrap();
        assert!(!estimator.property().unbiased);
        let (mean, full) = mean_over_batches(&model, &graph, &mut estimator, 3);
        let errors = mean.errors_from(&full);
        assert!(errors > 4.0, "{widths:?}: off by no more than {errors} standard errors");
    }
}

#[test]
fn full_gradient_is_the_unbiased_one_over_all_training_nodes_bit_for_bit() {
    let graph = mixture();
    let train = graph.split(Split::Train).to_vec();
    for widths in [&[2, 3][..], &[2, 6, 3], &[2, 6, 4, 3]] {
        let mut model = Model::gcn(widths, 5).unwrap();
        model.set_lambda(0.01).unwrap();
        let gradient = |mut estimator: Estimator, batch| {
            let (loss, gradient) = estimator.gradient(&model, &graph, batch).unwrap();
            (loss.to_bits(), bits(gradient))
        };
        let full = gradient(Estimator::full(), None);
        let without_draws = || Estimator::consistent(&vec![0; widths.len() - 1]).unwrap();
        assert!(gradient(Estimator::unbiased(), None) == full);
        assert!(gradient(Estimator::unbiased(), Some(&train)) == full);
        assert!(gradient(without_draws(), None) == full);
        assert!(gradient(without_draws(), Some(&train)) == full);
    }
}

#[test]
fn an_estimator_declares_what_is_proved_of_it() {
    assert_eq!(Estimator::full().property(), Property::EXACT);
    assert_eq!(Estimator::unbiased().property(), Property::UNBIASED);
    assert_eq!(Estimator::consistent(&[0, 0]).unwrap().property(), Property::UNBIASED);
    assert_eq!(Estimator::consistent(&[0, 5]).unwrap().property(), Property::CONSISTENT);
    assert_eq!(Estimator::consistent(&[5, 0]).unwrap().property(), Property::CONSISTENT);
    assert_eq!(Estimator::consistent(&[5]).unwrap().property(), Property::CONSISTENT);
}

#[test]
fn nothing_is_declared_of_the_callers_own_draws() {
    for sizes in [[0, 0], [5, 5]] {
        let mut estimator = Estimator::consistent(&sizes).unwrap();
        let before = estimator.property();
        estimator.set_draws(1, &[3, 3, 8]).unwrap();
        assert_eq!(estimator.property(), Property::NONE);
        estimator.set_draws(1, &[]).unwrap();
        assert_eq!(estimator.property(), before);
    }
}

/// A kind of estimator from outside the library, which draws 50 nodes at each of two layers.
struct Fifty {
    hops: [Hop; 2],
}

impl Kind for Fifty {
    fn name(&self) -> &'static str {
        "fifty"
    }

    fn property(&self) -> Property {
        Property::CONSISTENT
    }

    fn request(&self) -> Request<'_> {
        Request::Nodes(Draws { hops: &self.hops, distribution: &Distribution::Importance })
    }

    fn try_clone(&self) -> Result<Box<dyn Kind>> {
        Ok(Box::new(Fifty { hops: self.hops.clone() }))
    }
}

#[test]
fn a_new_kind_needs_nothing_but_its_own_implementation() {
    let (graph, model) = (mixture(), Model::gcn(&[2, 6, 3], 5).unwrap());
    let mut fifty = Estimator::new(Box::new(Fifty { hops: [Hop::Draw(50), Hop::Draw(50)] }));
    let mut same = Estimator::consistent(&[50, 50]).unwrap();
    same.set_distribution(Distribution::Importance).unwrap();
    for _ in 0..3 {
        let gradient = bits(fifty.gradient(&model, &graph, None).unwrap().1);
        assert!(gradient == bits(same.gradient(&model, &graph, None).unwrap().1));
    }
    assert_eq!(fifty.description(), "fifty, seed 0");
    assert!(matches!(fifty.set_draws(0, &[1]), Err(Error::Unsupported(text)) if text.contains("fifty")));
}
