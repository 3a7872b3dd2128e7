//! Losses, outputs and gradients are those of a dense program in double precision, and of finite differences.

mod common;

use common::dense::{self, Described};
use common::random::Random;
use common::{confident_graph, confident_model, distance, matrix, norm, reals, without_kinks};
use ndarray::{Array2, Axis};
use plimsoll::estimator::Estimator;
use plimsoll::graph::{Graph, Matrix, Normalization, Split};
use plimsoll::model::Model;
use plimsoll::sample::Distribution;

/// A random graph with everything that a graph can have, the same in dense form, and a model.
struct Case {
    graph: Graph,
    a: Array2<f64>,
    x: Array2<f64>,
    labels: Vec<i32>,
    model: Model,
    random: Random,
}

impl Case {
    fn new(seed: u64) -> Self {
        let mut random = Random::new(seed);
        let n = 2 + random.below(14);
        let weighted = random.chance(0.5);
        let entries = random.below(3 * n);
        let mut described = match seed / 4 % 2 {
            0 => Described::undirected(n, entries, weighted, &mut random),
            _ => Described::directed(n, entries, weighted, &mut random),
        };
        let num_layers = 1 + seed as usize % 4;
        let mut widths: Vec<usize> = (0..=num_layers).map(|_| 1 + random.below(20)).collect();
        widths[num_layers] = 2 + random.below(5);
        let x = match random.chance(0.5) {
            true => described.set_features(widths[0], &mut random),
            false => described.set_sparse_features(widths[0], &mut random),
        };
        let Described { mut graph, a } = described;
        // Every third node is unlabelled, but never all nodes. The others go to the splits in a random order.
        let labels: Vec<i32> =
            (0..n).map(|v| if v % 3 == 2 { -1 } else { random.below(widths[num_layers]) as i32 }).collect();
        graph.set_labels(&labels).unwrap();
        let labelled: Vec<i32> = (0..n as i32).filter(|&v| labels[v as usize] >= 0).collect();
        let labelled = random.choose(&labelled, labelled.len());
        // A gradient of most nodes is computed over all nodes, a gradient of fewer over the nodes that they need.
        let most = seed % 3 == 1;
        let (train, test) = labelled.split_at(if most { labelled.len() } else { labelled.len().div_ceil(2) });
        graph.set_split(Split::Train, train).unwrap();
        graph.set_split(Split::Test, test).unwrap();
        let mut model = Model::gcn(&widths, seed).unwrap();
        model.set_lambda(if random.chance(0.5) { 0.0 } else { random.unit() }).unwrap();
        Case { graph, a, x, labels, model, random }
    }

    fn labels_of(&self, nodes: &[i32]) -> Vec<i32> {
        nodes.iter().map(|&v| self.labels[v as usize]).collect()
    }

    fn layers(&self) -> Vec<Array2<f64>> {
        dense::layers(self.model.widths().unwrap(), self.model.parameters())
    }

    /// A list of nodes with repetitions.
    fn nodes(&mut self, count: usize) -> Vec<i32> {
        (0..count).map(|_| self.random.below(self.a.nrows()) as i32).collect()
    }

    fn distributions(&mut self) -> [Distribution; 5] {
        let weights: Vec<f64> = (0..self.a.nrows()).map(|_| 0.1 + self.random.unit()).collect();
        let weights = Distribution::from_weights(&weights).unwrap();
        [Distribution::Uniform, Distribution::Importance, Distribution::Neighbors, Distribution::Ladies, weights]
    }
}

/// Each case under each normalisation, with its Â.
fn for_each_case(mut check: impl FnMut(&mut Case, &Array2<f64>, &str)) {
    for seed in 0..80 {
        let mut case = Case::new(seed);
        for normalization in [Normalization::Symmetric, Normalization::Row, Normalization::None] {
            case.graph.set_normalization(normalization).unwrap();
            let a_hat = dense::normalized(&case.a, normalization);
            check(&mut case, &a_hat, &format!("case {seed}, {normalization:?}"));
        }
    }
}

/// In single precision, sums of some 20 terms over 4 layers forward and 4 back are wrong by about 1e-6 of the norm. (In about one
/// case in a thousand more digits cancel, or the loss is as small as 1e-12; no seed here has such a case.)
fn assert_near(found: &[f32], wanted: impl IntoIterator<Item = f64>, what: &str) {
    let (found, wanted): (_, Vec<f64>) = (reals(found), wanted.into_iter().collect());
    let (error, norm) = (distance(&found, &wanted), norm(&wanted));
    assert!(error <= 1e-5 * norm, "{what}: off by {error:e} of {norm:e}");
}

#[test]
fn normalised_adjacency_is_that_of_the_formula() {
    for_each_case(|case, a_hat, name| {
        // Three roundings: repeated weights are summed in floats, which affects the entry and, by half, each of two degrees; the
        // rest is computed in double precision and rounded once.
        for (found, wanted) in dense::operator(&case.graph).iter().zip(a_hat) {
            assert!((found - wanted).abs() <= 3.01 * 2f64.powi(-24) * wanted.abs(), "{name}: {found} and {wanted}");
        }
    });
}

#[test]
fn hidden_representations_and_probabilities_are_those_of_the_dense_program() {
    for_each_case(|case, a_hat, name| {
        let outputs = dense::forward(&vec![a_hat.clone(); case.model.num_layers()], &case.x, &case.layers());
        let list = case.nodes(7);
        let rows: Vec<usize> = list.iter().map(|&v| v as usize).collect();
        for nodes in [None, Some(list.as_slice())] {
            let of_nodes = |all: &Array2<f64>| if nodes.is_some() { all.select(Axis(0), &rows) } else { all.clone() };
            for (layer, all) in outputs.iter().enumerate() {
                let found = case.model.embed(&case.graph, nodes, layer, <[f32]>::to_vec).unwrap();
                assert_near(&found, of_nodes(all), &format!("{name}, layer {layer}"));
            }
            let found = case.model.predict(&case.graph, nodes, <[f32]>::to_vec).unwrap();
            assert_near(&found, dense::softmax(&of_nodes(&outputs[outputs.len() - 1])), name);
        }
    });
}

#[test]
fn evaluation_is_that_of_the_dense_program() {
    let mut evaluated = 0;
    for_each_case(|case, a_hat, name| {
        let outputs = dense::forward(&vec![a_hat.clone(); case.model.num_layers()], &case.x, &case.layers());
        let p = dense::softmax(&outputs[outputs.len() - 1]);
        for split in [Split::Train, Split::Test] {
            let nodes: Vec<usize> = case.graph.split(split).iter().map(|&v| v as usize).collect();
            if nodes.is_empty() {
                continue;
            }
            let labels = case.labels_of(case.graph.split(split));
            let p = p.select(Axis(0), &nodes);
            let first_largest =
                |i: usize| p.row(i).iter().enumerate().rev().max_by(|a, b| a.1.total_cmp(b.1)).unwrap().0;
            let hits = labels.iter().enumerate().filter(|&(i, &y)| first_largest(i) == y as usize).count();
            let (loss, accuracy) = case.model.evaluate(&case.graph, split).unwrap();
            let wanted = dense::cross_entropy(&p, &labels);
            assert!((loss - wanted).abs() <= 1e-5 * wanted, "{name}: {loss} instead of {wanted}");
            assert_eq!(accuracy, hits as f64 / nodes.len() as f64, "{name}");
            evaluated += 1;
        }
    });
    assert!(evaluated > 300);
}

#[test]
fn exact_gradients_are_those_of_the_dense_program() {
    for_each_case(|case, a_hat, name| {
        let train = case.graph.split(Split::Train).to_vec();
        let batch = case.random.choose(&train, train.len().div_ceil(2));
        for (mut estimator, given, nodes) in [
            (Estimator::full(), None, &train),
            (Estimator::unbiased(), None, &train),
            (Estimator::unbiased(), Some(batch.as_slice()), &batch),
        ] {
            let num_layers = case.model.num_layers();
            let (operators, _) = dense::operators(a_hat, nodes, num_layers, &Distribution::Uniform, |_, _| None);
            let labels = case.labels_of(nodes);
            let (wanted_loss, wanted) =
                dense::loss_and_gradient(&operators, &case.x, &case.layers(), &labels, case.model.lambda());
            let (loss, gradient) = estimator.gradient(&case.model, &case.graph, given).unwrap();
            assert_near(gradient, wanted, name);
            assert!((loss - wanted_loss).abs() <= 1e-5 * wanted_loss, "{name}: {loss} instead of {wanted_loss}");
        }
    });
}

/// If most nodes are trained and features are sparse, the two lowest layers are computed together, a few nodes at a time, in
/// several partial sums.
#[test]
fn gradients_over_most_nodes_of_a_wide_graph_are_those_of_the_dense_program() {
    let mut random = Random::new(12);
    let (n, columns, per_row) = (500, 90, 3);
    let Described { mut graph, .. } = Described::undirected(n, 900, true, &mut random);
    let indptr: Vec<i64> = (0..=n).map(|v| (per_row * v) as i64).collect();
    // Each of a row's three entries has its own third of the columns, so that none is repeated.
    let third = columns / per_row;
    let indices: Vec<i32> = (0..n * per_row).map(|at| (at % per_row * third + random.below(third)) as i32).collect();
    let values: Vec<f32> = (0..n * per_row).map(|_| random.float(-1.0, 1.0)).collect();
    graph.set_sparse_features(columns, &indptr, &indices, &values).unwrap();
    let mut x = Array2::zeros((n, columns));
    for (at, (&k, &value)) in indices.iter().zip(&values).enumerate() {
        x[[at / per_row, k as usize]] = f64::from(value);
    }
    let a_hat = dense::operator(&graph);
    let all: Vec<i32> = random.choose(&(0..n as i32).collect::<Vec<_>>(), n);
    // All with the same estimator, which keeps its buffers. With 260 nodes and 5 hidden units each layer is computed by itself. With
    // as many classes as hidden units, or two more, Â still comes last: the padded rows have the same length.
    let mut full = Estimator::full();
    for (count, upper) in [
        (450, &[5, 3][..]),
        (260, &[5, 3]),
        (400, &[16, 3]),
        (400, &[21, 8, 3]),
        (500, &[13, 15]),
        (500, &[16, 5, 4, 3]),
        (300, &[70, 33, 2]),
        (300, &[16, 3]),
    ] {
        let train = &all[..count];
        graph.set_split(Split::Train, &[]).unwrap();
        let widths: Vec<usize> = [columns].iter().chain(upper).copied().collect();
        let classes = widths[widths.len() - 1];
        let labels: Vec<i32> = (0..n).map(|_| random.below(classes) as i32).collect();
        graph.set_labels(&labels).unwrap();
        graph.set_split(Split::Train, train).unwrap();
        let num_layers = widths.len() - 1;
        let (operators, inputs) = dense::operators(&a_hat, train, num_layers, &Distribution::Uniform, |_, _| None);
        let (x, labels) = (x.select(Axis(0), &inputs), train.iter().map(|&v| labels[v as usize]).collect::<Vec<_>>());
        for lambda in [0.0, 0.3] {
            let mut model = Model::gcn(&widths, 5).unwrap();
            model.set_lambda(lambda).unwrap();
            let w = dense::layers(&widths, model.parameters());
            let (wanted_loss, wanted) = dense::loss_and_gradient(&operators, &x, &w, &labels, lambda);
            let name = format!("{widths:?}, {count} nodes, λ = {lambda}");
            let (loss, gradient) = full.gradient(&model, &graph, None).unwrap();
            assert_near(gradient, wanted.iter().copied(), &name);
            assert!((loss - wanted_loss).abs() <= 1e-5 * wanted_loss, "{name}: {loss} instead of {wanted_loss}");
            let mut unbiased = Estimator::unbiased();
            let batch = unbiased.gradient(&model, &graph, Some(train)).unwrap().1;
            assert_near(gradient, reals(batch), &name);
        }
    }
}

#[test]
fn gradients_of_given_draws_are_those_of_the_dense_program() {
    for_each_case(|case, a_hat, name| {
        let train = case.graph.split(Split::Train).to_vec();
        let num_layers = case.model.num_layers();
        for distribution in case.distributions() {
            let batch = case.random.choose(&train, train.len().div_ceil(2));
            let size = 1 + case.random.below(3 * case.a.nrows());
            // Each layer is sampled or exact, and at least one is sampled.
            let sampled = case.random.below(num_layers);
            let draws: Vec<Option<Vec<i32>>> =
                (0..num_layers).map(|l| (l == sampled || case.random.chance(0.6)).then(|| case.nodes(size))).collect();
            let (operators, inputs) =
                dense::operators(a_hat, &batch, num_layers, &distribution, |l, _| draws[l].clone());
            let x = case.x.select(Axis(0), &inputs);
            let labels = case.labels_of(&batch);
            let (wanted_loss, wanted) =
                dense::loss_and_gradient(&operators, &x, &case.layers(), &labels, case.model.lambda());
            let mut estimator = Estimator::consistent(&vec![0; num_layers]).unwrap();
            estimator.set_distribution(distribution).unwrap();
            for (l, draws) in draws.iter().enumerate() {
                estimator.set_draws(l, draws.as_deref().unwrap_or_default()).unwrap();
            }
            let (loss, gradient) = estimator.gradient(&case.model, &case.graph, Some(&batch)).unwrap();
            assert_near(gradient, wanted, name);
            assert!((loss - wanted_loss).abs() <= 1e-5 * wanted_loss, "{name}: {loss} instead of {wanted_loss}");
        }
    });
}

/// If every node is almost certain of its label, loss and gradient are small compared with the probabilities in them.
#[test]
fn loss_and_gradient_of_a_confident_model_keep_their_digits() {
    let graph = confident_graph();
    let Matrix::Dense { data, width: 3 } = graph.features().unwrap() else { panic!("it has dense features") };
    let (x, labels) = (matrix(data, 3), graph.labels().unwrap());
    let a_hat = [dense::operator(&graph)];
    for sureness in [2.0, 6.0, 10.0, 14.0] {
        let model = confident_model(sureness);
        let w = dense::layers(&[3, 3], model.parameters());
        let (wanted_loss, wanted) = dense::loss_and_gradient(&a_hat, &x, &w, labels, 0.0);
        let mut estimator = Estimator::full();
        let (loss, gradient) = estimator.gradient(&model, &graph, None).unwrap();
        let name = format!("a loss of {wanted_loss:e}");
        assert_near(gradient, wanted, &name);
        assert!((loss - wanted_loss).abs() <= 1e-5 * wanted_loss, "{name}: {loss:e}");
    }
}

/// The oracle of the tests above is only as good as its own derivative.
#[test]
fn gradients_of_the_dense_program_are_its_finite_differences() {
    let mut random = Random::new(5);
    let mut uniform =
        |rows: usize, columns: usize| Array2::from_shape_fn((rows, columns), |_| 2.0 * random.unit() - 1.0);
    let operators = [uniform(6, 7), uniform(5, 6), uniform(4, 5)];
    let x = uniform(7, 3);
    let weights = [uniform(3, 5), uniform(5, 4), uniform(4, 3)];
    let direction = [uniform(3, 5), uniform(5, 4), uniform(4, 3)];
    let at = |step: f64| {
        let weights: Vec<_> = weights.iter().zip(&direction).map(|(w, d)| w + &(d * step)).collect();
        dense::loss_and_gradient(&operators, &x, &weights, &[0, 2, 1, 1], 0.3)
    };
    let along: f64 = at(0.0).1.iter().zip(direction.iter().flatten()).map(|(g, d)| g * d).sum();
    // Truncation h²·f''' and rounding 1e-16/h are both near 1e-10.
    let difference = (at(1e-5).0 - at(-1e-5).0) / 2e-5;
    assert!((difference - along).abs() <= 1e-8 * along.abs(), "{difference} and {along}");
}

const STEP: f64 = 1.0 / 128.0;

/// Parameters that are multiples of 2^-12: a step of 2^-7 along ±1 is exact.
fn round_parameters(model: &mut Model) {
    let rounded: Vec<f32> = model.parameters().iter().map(|w| (w * 4096.0).round() / 4096.0).collect();
    model.set_parameters(&rounded).unwrap();
}

/// The largest error of g·d against finite differences of the loss along directions d of ±1, in units of ‖g‖.
fn largest_error(model: &mut Model, graph: &Graph, estimator: &mut Estimator, batch: Option<&[i32]>) -> f64 {
    let start = model.parameters().to_vec();
    let mut gradient = |model: &Model| {
        estimator.set_seed(9); // the same draws each time
        let (loss, gradient) = estimator.gradient(model, graph, batch).unwrap();
        (loss, reals(gradient))
    };
    let g = gradient(model).1;
    let mut random = Random::new(8);
    let mut largest = 0f64;
    for _ in 0..6 {
        let d: Vec<f64> = g.iter().map(|_| if random.chance(0.5) { 1.0 } else { -1.0 }).collect();
        let mut loss_at = |step: f64| {
            let moved: Vec<f32> = start.iter().zip(&d).map(|(w, d)| w + (step * d) as f32).collect();
            model.set_parameters(&moved).unwrap();
            gradient(model).0
        };
        let mut central = |step: f64| (loss_at(step) - loss_at(-step)) / (2.0 * step);
        // Richardson: the terms of order h² cancel.
        let difference = (4.0 * central(STEP) - central(2.0 * STEP)) / 3.0;
        let along: f64 = g.iter().zip(&d).map(|(g, d)| g * d).sum();
        largest = largest.max((difference - along).abs() / norm(&g));
    }
    model.set_parameters(&start).unwrap();
    largest
}

#[test]
fn every_gradient_is_the_finite_difference_of_its_loss() {
    let mut random = Random::new(4);
    // Widths rise and fall, because a layer multiplies by W first if it narrows and by Â first if it widens.
    for widths in [
        &[6, 3][..],
        &[3, 6],
        &[6, 5, 3],
        &[3, 4, 6],
        &[6, 3, 6, 3],
        &[3, 6, 4, 5],
        &[7, 6, 5, 4, 3],
        &[3, 4, 5, 6, 7],
        &[5, 3, 6, 4, 5],
    ] {
        let num_layers = widths.len() - 1;
        for sparse in [false, true] {
            let Described { mut graph, .. } = Described::undirected(30, 60, true, &mut random);
            let x: Vec<f32> = (0..30 * widths[0]).map(|_| random.float(0.2, 1.0)).collect();
            if sparse {
                let indptr: Vec<i64> = (0..=30).map(|v| v * widths[0] as i64).collect();
                let indices: Vec<i32> = (0..x.len()).map(|at| (at % widths[0]) as i32).collect();
                graph.set_sparse_features(widths[0], &indptr, &indices, &x).unwrap();
            } else {
                graph.set_features(widths[0], &x).unwrap();
            }
            let labels: Vec<i32> = (0..30).map(|_| random.below(widths[num_layers]) as i32).collect();
            graph.set_labels(&labels).unwrap();
            graph.set_split(Split::Train, &(0..20).collect::<Vec<_>>()).unwrap();
            let batch = [3, 8, 1, 20, 25, 13, 9, 28];

            // Hidden entries are at least 0.2/7, further from 0 than two steps.
            let mut model = without_kinks(widths, 1.0);
            round_parameters(&mut model);
            model.set_lambda(0.05).unwrap();
            let consistent = |sizes: &[usize]| (Estimator::consistent(sizes).unwrap(), Some(&batch[..]));
            let mut hidden_only = vec![30; num_layers];
            hidden_only[0] = 0;
            let estimators = [
                (Estimator::full(), None),
                (Estimator::unbiased(), None),
                (Estimator::unbiased(), Some(&batch[..])),
                consistent(&vec![30; num_layers]),
                consistent(&hidden_only),
            ];
            for (i, (mut estimator, batch)) in estimators.into_iter().enumerate() {
                // A loss near 1 is off by about 2^-24 in single precision, and its difference quotient by 1.5·128 times that, 1.1e-5;
                // ‖g‖ is between 0.2 and 1. The fifth derivative adds h⁴/30 = 1e-10 times itself.
                let error = largest_error(&mut model, &graph, &mut estimator, batch);
                assert!(error <= 1e-4, "{widths:?}, sparse {sparse}, estimator {i}: off by {error:e} of the norm");
            }
        }
    }
}
