//! Models made of layers: outputs, losses and gradients equal those of PyTorch Geometric in double precision, and of an
//! independent program for drawn nodes. Both are kept in `tests/golden_layers.npz`.

mod common;

use common::{Archive, distance, norm, reals};
use plimsoll::estimator::Estimator;
use plimsoll::graph::{Graph, Normalization, Split};
use plimsoll::model::Model;
use plimsoll::nn::{Layers, Op};
use plimsoll::sample::Distribution;
use std::path::Path;

/// A case of the file, and what the library makes of it.
struct Case {
    name: String,
    key: String,
    graph: Graph,
    model: Model,
    batch: Vec<i32>,
    loss: f64,
}

fn archive() -> Archive {
    Archive::open(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden_layers.npz"))
}

fn graph(file: &mut Archive, number: i32, normalization: i32) -> Graph {
    let key = format!("g{number:02}");
    let indptr: Vec<i64> = file.ints(&format!("{key}_indptr")).into_iter().map(i64::from).collect();
    let (indices, weights) = (file.ints(&format!("{key}_indices")), file.floats(&format!("{key}_weights")));
    let n = indptr.len() - 1;
    let mut graph = Graph::from_csr(n, &indptr, &indices, (!weights.is_empty()).then_some(&weights)).unwrap();
    graph
        .set_normalization([Normalization::Symmetric, Normalization::Row, Normalization::None][normalization as usize])
        .unwrap();
    let features = file.floats(&format!("{key}_features"));
    graph.set_features(features.len() / n, &features).unwrap();
    graph.set_labels(&file.ints(&format!("{key}_labels"))).unwrap();
    graph
}

/// The cases whose keys begin with a letter.
fn cases(letter: char) -> Vec<Case> {
    let mut file = archive();
    let names = file.text(&format!("{letter}_names"));
    let [graphs, normalizations] = ["graph", "normalization"].map(|name| file.ints(&format!("{letter}_{name}")));
    let [lambdas, losses] = ["lambda", "loss"].map(|name| file.reals(&format!("{letter}_{name}")));
    let mut cases = Vec::new();
    for (i, name) in names.lines().enumerate() {
        let key = format!("{letter}{i:02}");
        let json = serde_json::from_str(&file.text(&format!("{key}_model"))).unwrap();
        let Ok(layers) = Layers::from_json(&json) else {
            assert!(name.contains("nothing reads"), "{key} {name}: {:?}", Layers::from_json(&json).err());
            continue;
        };
        let has_attention = layers.values().iter().any(|value| matches!(value.op, Op::Gat { .. }));
        let mut model = Model::new(layers, 0).unwrap();
        let tensors = model.net().tensors().iter();
        let tensors: Vec<String> = tensors.map(|t| format!("{} {} {}", t.name(), t.rows, t.columns)).collect();
        assert_eq!(tensors, file.text(&format!("{key}_tensors")).lines().collect::<Vec<_>>(), "{key} {name}");
        // Nothing runs it yet.
        if has_attention {
            continue;
        }
        model.set_parameters(&file.floats(&format!("{key}_parameters"))).unwrap();
        model.set_lambda(lambdas[i]).unwrap();
        let batch = file.ints(&format!("{key}_batch"));
        let mut graph = graph(&mut file, graphs[i], normalizations[i]);
        graph.set_split(Split::Train, &batch).unwrap();
        cases.push(Case { name: name.to_string(), key, graph, model, batch, loss: losses[i] });
    }
    cases
}

/// The relative distance to recorded numbers.
fn check(found: &[f32], wanted: &[f64], tolerance: f64, what: &str) -> f64 {
    let off = distance(&reals(found), wanted) / norm(wanted).max(1e-3);
    assert!(off <= tolerance, "{what}: off by {off:e}");
    off
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

#[test]
fn outputs_and_gradients_are_those_of_pytorch_geometric() {
    let mut file = archive();
    let mut errors = Vec::new();
    for Case { name, key, graph, model, batch, loss } in cases('c') {
        let what = format!("{key} {name}");
        let has_batch_norm = !model.state().is_empty();
        let mut estimators = vec![(Estimator::full(), None)];
        if !has_batch_norm {
            estimators.push((Estimator::unbiased(), Some(&batch[..])));
            let logits = model.outputs(&graph, None, |z| z.to_vec()).unwrap();
            check(&logits, &file.reals(&format!("{key}_logits")), 5e-6, &format!("{what}, outputs"));
        }
        for (mut estimator, batch) in estimators {
            let (found, gradient) = estimator.gradient(&model, &graph, batch).unwrap();
            assert!((found - loss).abs() <= 1e-5 * loss.abs(), "{what}: loss {found}, not {loss}");
            errors.push(check(gradient, &file.reals(&format!("{key}_gradient")), 5e-5, &what));
        }
    }
    assert!(errors.len() > 100, "{} gradients", errors.len());
    let middle = median(errors);
    assert!(middle <= 1e-6, "the median is {middle:e}");
}

#[test]
fn a_batch_norm_normalises_over_all_nodes_and_keeps_running_statistics_as_pytorch_does() {
    let mut file = archive();
    let mut seen = 0;
    for Case { name, key, graph, mut model, .. } in cases('c') {
        if model.state().is_empty() {
            continue;
        }
        let mut estimator = Estimator::full();
        estimator.gradient(&model, &graph, None).unwrap();
        estimator.commit(&mut model);
        for value in 0..model.net().layers().values().len() {
            let Some(at) = model.net().state_of(value) else { continue };
            let width = model.net().layers().values()[value].width;
            for (i, statistic) in ["mean", "var"].into_iter().enumerate() {
                let wanted = file.reals(&format!("{key}_v{value}_running_{statistic}"));
                check(&model.state()[at + i * width..][..width], &wanted, 1e-6, &format!("{key} {name}, {statistic}"));
            }
            seen += 1;
        }
        let logits = model.outputs(&graph, None, |z| z.to_vec()).unwrap();
        check(&logits, &file.reals(&format!("{key}_evaluated")), 1e-5, &format!("{key} {name}, evaluated"));
    }
    assert!(seen >= 5, "{seen} norms");
}

#[test]
fn gradients_of_given_draws_are_those_of_the_independent_program() {
    let mut file = archive();
    let mut errors = Vec::new();
    for Case { name, key, graph, model, batch, loss } in cases('d') {
        let what = format!("{key} {name}");
        let hops = model.num_layers();
        let mut estimator = match hops {
            0 => Estimator::unbiased(),
            _ => Estimator::consistent(&vec![0; hops]).unwrap(),
        };
        if hops > 0 {
            estimator.set_distribution(Distribution::from_weights(&file.reals(&format!("{key}_p"))).unwrap()).unwrap();
            for hop in 0..hops {
                estimator.set_draws(hop, &file.ints(&format!("{key}_draws{hop}"))).unwrap();
            }
        }
        let (found, gradient) = estimator.gradient(&model, &graph, Some(&batch)).unwrap();
        assert!((found - loss).abs() <= 1e-4 * loss.abs(), "{what}: loss {found}, not {loss}");
        errors.push(check(gradient, &file.reals(&format!("{key}_gradient")), 1e-4, &what));
    }
    assert!(errors.len() >= 38, "{} gradients", errors.len());
    let middle = median(errors);
    assert!(middle <= 1e-6, "the median is {middle:e}");
}
