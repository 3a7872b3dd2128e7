//! Losses, gradients and outputs equal those of an independent float64 program, kept in `tests/golden.npz`.

mod common;

use common::{Archive, distance, norm};
use plimsoll::estimator::Estimator;
use plimsoll::graph::{Graph, Split};
use plimsoll::model::Model;
use plimsoll::sample::Distribution;

fn graph(golden: &mut Archive) -> Graph {
    let edges = golden.ints("edges");
    let (sources, targets): (Vec<_>, Vec<_>) = edges.chunks_exact(2).map(|e| (e[0], e[1])).unzip();
    let mut graph = Graph::from_edges(12, &sources, &targets, None).unwrap();
    graph.set_features(5, &golden.floats("features")).unwrap();
    graph.set_labels(&golden.ints("labels")).unwrap();
    graph.set_split(Split::Train, &(0..12).collect::<Vec<_>>()).unwrap();
    graph
}

fn model(golden: &mut Archive, layers: usize) -> Model {
    let (widths, names): (&[usize], &[&str]) =
        if layers == 1 { (&[5, 3], &["w2"]) } else { (&[5, 4, 3], &["w0", "w1"]) };
    let mut model = Model::gcn(widths, 0).unwrap();
    model.set_parameters(&names.iter().flat_map(|name| golden.floats(name)).collect::<Vec<_>>()).unwrap();
    model
}

#[test]
fn normalised_adjacency_is_the_oracles() {
    let mut golden = Archive::golden();
    let graph = graph(&mut golden);
    let wanted = golden.reals("a_hat");
    let mut found = vec![0.0; 144];
    for v in 0..12 {
        let (columns, values) = graph.operator().row(v);
        columns.iter().zip(values).for_each(|(&u, &a)| found[v * 12 + u as usize] = f64::from(a));
    }
    assert!(distance(&found, &wanted) <= 1e-7 * norm(&wanted));
}

#[test]
fn logits_are_the_oracles() {
    let mut golden = Archive::golden();
    let graph = graph(&mut golden);
    for layers in [1, 2] {
        let model = model(&mut golden, layers);
        let wanted = golden.reals(&format!("logits{layers}"));
        let found = model.embed(&graph, None, layers - 1, |z| z.iter().map(|&z| f64::from(z)).collect::<Vec<_>>());
        assert!(distance(&found.unwrap(), &wanted) <= 1e-6 * norm(&wanted));
    }
}

#[test]
fn every_gradient_is_the_oracles() {
    let mut golden = Archive::golden();
    let graph = graph(&mut golden);
    let (draws0, draws1, batch) = (golden.ints("draws0"), golden.ints("draws1"), golden.ints("batch"));
    let importance = golden.reals("importance");
    let consistent = |draws: &[&[i32]]| {
        let mut estimator = Estimator::consistent(&vec![0; draws.len()]).unwrap();
        draws.iter().enumerate().for_each(|(l, draws)| estimator.set_draws(l, draws).unwrap());
        estimator
    };
    let important = |mut estimator: Estimator| {
        estimator.set_distribution(Distribution::Importance).unwrap();
        estimator
    };
    let by_weights = |mut estimator: Estimator| {
        estimator.set_distribution(Distribution::from_weights(&importance).unwrap()).unwrap();
        estimator
    };
    let cases = [
        ("one_full", 1, Estimator::full(), None),
        ("one_full", 1, Estimator::unbiased(), None),
        ("one_batch", 1, Estimator::unbiased(), Some(&batch)),
        ("one_batch", 1, consistent(&[&[]]), Some(&batch)),
        ("one_consistent", 1, consistent(&[&draws0]), Some(&batch)),
        ("one_importance", 1, important(consistent(&[&draws0])), Some(&batch)),
        ("one_importance", 1, by_weights(consistent(&[&draws0])), Some(&batch)),
        ("two_full", 2, Estimator::full(), None),
        ("two_batch", 2, Estimator::unbiased(), Some(&batch)),
        ("two_hidden", 2, consistent(&[&[], &draws1]), Some(&batch)),
        ("two_both", 2, consistent(&[&draws0, &draws1]), Some(&batch)),
        ("two_both_importance", 2, important(consistent(&[&draws0, &draws1])), Some(&batch)),
        ("two_both_importance", 2, by_weights(consistent(&[&draws0, &draws1])), Some(&batch)),
    ];
    for (name, layers, mut estimator, batch) in cases {
        let mut model = model(&mut golden, layers);
        for (tag, lambda) in [("l0", 0.0), ("l1", 0.1)] {
            model.set_lambda(lambda).unwrap();
            let wanted: Vec<f64> = (0..layers).flat_map(|l| golden.reals(&format!("{name}_{tag}_grad{l}"))).collect();
            let wanted_loss = golden.reals(&format!("{name}_{tag}_loss"))[0];
            let (loss, gradient) = estimator.gradient(&model, &graph, batch.map(Vec::as_slice)).unwrap();
            let gradient: Vec<f64> = gradient.iter().map(|&g| f64::from(g)).collect();
            let error = distance(&gradient, &wanted) / norm(&wanted);
            assert!(error <= 1e-6, "{name}_{tag}: the gradient is off by {error:e} of its norm");
            assert!((loss - wanted_loss).abs() <= 1e-6 * wanted_loss, "{name}_{tag}: {loss} instead of {wanted_loss}");
        }
    }
}
