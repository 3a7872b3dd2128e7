//! The same bits for models made of layers: for any number of threads, however much of a product with the features is kept, in
//! any company, in sequence, and whatever a model and an estimator worked on before.

mod common;

use common::bits;
use common::layered::{every_layer, set_features};
use common::random::Random;
use plimsoll::estimator::Estimator;
use plimsoll::graph::{Graph, Split};
use plimsoll::log::Level;
use plimsoll::model::Model;
use plimsoll::nn::{Activation, Layers};
use plimsoll::optim::{Interrupt, Optimizer};
use plimsoll::sample::Distribution;
use plimsoll::train::{self, Observer, Options, Progress};

const NODES: usize = 5000;
const FEATURES: usize = 24;
const HIDDEN: usize = 24;
const CLASSES: usize = 5;

/// Large enough that threads share the work; some nodes are isolated.
fn large_graph(sparse: bool) -> Graph {
    let mut random = Random::new(1);
    let mut ends = || (0..4 * NODES).map(|_| random.below(NODES - 9) as i32).collect::<Vec<_>>();
    let (sources, targets) = (ends(), ends());
    let weights: Vec<f32> = (0..4 * NODES).map(|_| random.float(0.0, 0.5)).collect();
    let mut graph = Graph::from_edges(NODES, &sources, &targets, Some(&weights)).unwrap();
    let x: Vec<f32> = random.floats(NODES * FEATURES).iter().map(|&x| if x > 0.5 { x } else { 0.0 }).collect();
    set_features(&mut graph, FEATURES, &x, sparse);
    graph.set_labels(&(0..NODES).map(|_| random.below(CLASSES) as i32).collect::<Vec<_>>()).unwrap();
    let nodes: Vec<i32> = (0..NODES as i32).collect();
    graph.set_split(Split::Train, &random.choose(&nodes, 3500)).unwrap();
    graph
}

fn models(threads: usize) -> Vec<(&'static str, Model)> {
    let make = |(name, layers)| {
        let mut model = Model::new(layers, 3).unwrap();
        model.set_lambda(1e-3).unwrap();
        model.set_threads(threads).unwrap();
        (name, model)
    };
    every_layer(FEATURES, HIDDEN, CLASSES).into_iter().map(make).collect()
}

fn estimators(size: usize) -> Vec<Estimator> {
    let consistent = |sizes: [usize; 2], distribution| {
        let mut estimator = Estimator::consistent(&sizes).unwrap();
        estimator.set_distribution(distribution).unwrap();
        estimator
    };
    let mut all = vec![
        Estimator::full(),
        Estimator::unbiased(),
        consistent([size, size], Distribution::Uniform),
        consistent([0, size], Distribution::Importance),
        consistent([size, 0], Distribution::Neighbors),
        consistent([size, size], Distribution::Ladies),
    ];
    all.iter_mut().for_each(|estimator| estimator.set_seed(5));
    all
}

fn two_gradients(estimator: &mut Estimator, model: &Model, graph: &Graph, count: usize) -> Vec<Vec<u32>> {
    let batch = (!estimator.is_full()).then(|| &graph.split(Split::Train)[..count]);
    let gradient = |_| {
        let (loss, gradient) = estimator.gradient(model, graph, batch).unwrap();
        [bits(gradient), vec![loss.to_bits() as u32, (loss.to_bits() >> 32) as u32]].concat()
    };
    (0..2).map(gradient).collect()
}

#[test]
fn neither_threads_nor_memory_nor_the_form_of_the_features_change_a_bit_of_a_gradient() {
    for sparse in [false, true] {
        let mut graph = large_graph(sparse);
        let mut wanted: Vec<Vec<Vec<u32>>> = Vec::new();
        for (threads, cache) in [(1, 1 << 30), (2, 0), (3, 1 << 30)] {
            graph.set_cache(cache);
            let mut found = Vec::new();
            for (name, model) in models(threads) {
                // The smallest product that threads are to share.
                let shares = model.threads().unwrap().shares(3000 * HIDDEN, CLASSES);
                assert_eq!(shares, threads > 1, "{name}");
                for mut estimator in estimators(NODES) {
                    found.push(two_gradients(&mut estimator, &model, &graph, 3000));
                }
            }
            if wanted.is_empty() {
                wanted = found;
                continue;
            }
            let per_model = estimators(1).len();
            for (i, (found, wanted)) in found.iter().zip(&wanted).enumerate() {
                let name = every_layer(1, 1, 2)[i / per_model].0;
                assert!(
                    found == wanted,
                    "{name}, estimator {}, {threads} threads, {cache} bytes, sparse {sparse}",
                    i % per_model
                );
            }
        }
    }
}

#[test]
fn a_node_has_the_same_bits_alone_in_a_list_and_in_the_whole_graph() {
    let mut random = Random::new(3);
    let lists: Vec<Vec<i32>> = vec![
        vec![17],
        vec![NODES as i32 - 1],
        vec![4999, 0, 17, 17, 0],
        (0..700).map(|_| random.below(NODES) as i32).collect(),
    ];
    for sparse in [false, true] {
        let mut graph = large_graph(sparse);
        for (name, mut model) in models(1) {
            // Running statistics that are not those of the start.
            let mut estimator = Estimator::full();
            estimator.gradient(&model, &graph, None).unwrap();
            estimator.commit(&mut model);
            let mut wanted: Option<Vec<Vec<u32>>> = None;
            // By levels: with files for all that a later level reads, or with memory for some of it.
            let directory = tempfile::tempdir().unwrap();
            for (cache, threads, scratch) in
                [(1 << 30, 1, None), (0, 1, None), (0, 2, None), (0, 2, Some(0)), (1 << 30, 1, Some(8 * NODES))]
            {
                graph.set_cache(cache);
                model.set_threads(threads).unwrap();
                model.set_scratch(scratch.map(|bytes| (directory.path(), bytes))).unwrap();
                let values = model.net().layers().values().len();
                for value in [1, values / 2, values - 1] {
                    let width = model.value_width(value).unwrap();
                    let all = model.embed_value(&graph, None, value, bits).unwrap();
                    for list in &lists {
                        let rows: Vec<u32> =
                            list.iter().flat_map(|&v| all[v as usize * width..][..width].to_vec()).collect();
                        let found = model.embed_value(&graph, Some(list), value, bits).unwrap();
                        assert!(found == rows, "{name}, value {value}, {} nodes, {cache} bytes, {sparse}", list.len());
                    }
                }
                let mut found = vec![model.predict(&graph, None, bits).unwrap()];
                found.extend(lists.iter().map(|list| model.predict(&graph, Some(list), bits).unwrap()));
                assert!(
                    found == *wanted.get_or_insert_with(|| found.clone()),
                    "{name}, {cache} bytes, {threads} threads"
                );
            }
        }
    }
}

struct Silent;

impl Observer for Silent {
    fn progress(&mut self, _: &Model, _: &Progress) -> Result<(), Interrupt> {
        Ok(())
    }

    fn wants(&self, _: Level) -> bool {
        false
    }

    fn log(&mut self, _: &Model, _: Level, _: &str) {}
}

/// Parameters and running statistics after two epochs.
fn trained(mut model: Model, graph: &Graph, estimator: &mut Estimator) -> [Vec<u32>; 2] {
    let options = Options { epochs: 2, batch_size: 1200, evaluate_every: 0, restore_best: false, ..Options::default() };
    let mut optimizer = Optimizer::adam(0.01).unwrap();
    train::train(&mut model, graph, estimator, &mut optimizer, &options, &mut Silent).1.unwrap();
    [bits(model.parameters()), bits(model.state())]
}

#[test]
fn training_has_the_same_bits_on_any_number_of_threads() {
    let graph = large_graph(true);
    let runs = |threads: usize| {
        let mut found = Vec::new();
        for (name, model) in models(threads) {
            for at in [0, 1, 2, 4] {
                let mut estimator = estimators(NODES / 4).swap_remove(at);
                found.push((name, at, trained(model.try_clone().unwrap(), &graph, &mut estimator)));
            }
        }
        found
    };
    let wanted = runs(1);
    for threads in [2, 3] {
        for (found, wanted) in runs(threads).iter().zip(&wanted) {
            assert!(found == wanted, "{}, estimator {}, {threads} threads", found.0, found.1);
        }
    }
    for (name, _, [parameters, state]) in &wanted {
        assert!(parameters.iter().chain(state).all(|&x| f32::from_bits(x).is_finite()), "{name}");
    }
}

#[test]
fn a_sequence_of_estimates_has_the_bits_of_single_ones() {
    let graph = large_graph(true);
    let batches: Vec<&[i32]> = graph.split(Split::Train).chunks(700).collect();
    for at in 1..estimators(1).len() {
        let results = |threads: usize| {
            let mut found = Vec::new();
            for (name, model) in models(threads) {
                let mut estimator = estimators(NODES / 4).swap_remove(at);
                for i in 0..batches.len() {
                    // The third announcement is wrong.
                    let announced = if i == 2 { Some(batches[0]) } else { batches.get(i + 1).copied() };
                    let estimate = match threads {
                        1 => estimator.estimate(&model, &graph, batches[i]),
                        _ => estimator.estimate_in_sequence(&model, &graph, batches[i], announced),
                    };
                    let (loss, gradient) = estimate.unwrap();
                    found.push((name, loss.to_bits(), bits(gradient)));
                }
            }
            found
        };
        assert!(results(1) == results(2), "estimator {at}");
    }
}

/// Buffers are reused from call to call, but nothing of one graph, model or batch may affect the next result.
#[test]
fn an_estimator_and_a_model_forget_what_they_worked_on() {
    let mut random = Random::new(4);
    let graphs: Vec<Graph> = [30, 200, 90]
        .into_iter()
        .enumerate()
        .map(|(i, n)| {
            let mut ends = || (0..2 * n).map(|_| random.below(n) as i32).collect::<Vec<_>>();
            let mut graph = Graph::from_edges(n, &ends(), &ends(), None).unwrap();
            let x: Vec<f32> = random.floats(4 * n).iter().map(|&x| if x > 0.0 { x } else { 0.0 }).collect();
            set_features(&mut graph, 4, &x, i == 1);
            graph.set_labels(&(0..n).map(|v| (v % 3) as i32).collect::<Vec<_>>()).unwrap();
            graph.set_split(Split::Train, &(0..20).collect::<Vec<_>>()).unwrap();
            graph
        })
        .collect();
    let mut models: Vec<Model> =
        every_layer(4, 6, 3).into_iter().map(|(_, layers)| Model::new(layers, 2).unwrap()).collect();
    models.push(Model::gcn(&[4, 7, 3], 1).unwrap());
    models.extend(every_layer(4, 17, 3).into_iter().map(|(_, layers)| Model::new(layers, 2).unwrap()));
    let batches: [&[i32]; 3] = [&[0, 11], &[1, 2, 0, 5, 21, 29], &[20, 3, 4]];
    for at in 0..estimators(1).len() {
        let mut reused = estimators(40).swap_remove(at);
        for turn in 0..150 {
            let (graph, model) = (&graphs[random.below(3)], &models[random.below(models.len())]);
            let batch = batches[random.below(3)];
            let given = (!reused.is_full()).then_some(batch);
            let mut fresh = estimators(40).swap_remove(at);
            reused.set_seed(turn);
            fresh.set_seed(turn);
            let result = |estimator: &mut Estimator| {
                estimator.gradient(model, graph, given).map(|(loss, gradient)| (loss.to_bits(), bits(gradient)))
            };
            let (found, wanted) = (result(&mut reused), result(&mut fresh));
            match (&found, &wanted) {
                (Ok(found), Ok(wanted)) => assert!(found == wanted, "estimator {at}, turn {turn}"),
                // A batch norm that meets a single row.
                (Err(a), Err(b)) => assert_eq!(a.to_string(), b.to_string()),
                _ => panic!("estimator {at}, turn {turn}: {:?} and {:?}", found.err(), wanted.err()),
            }
            let new_model = model.try_clone().unwrap();
            let predict = |model: &Model| model.predict(graph, Some(batch), bits).unwrap();
            assert!(predict(model) == predict(&new_model), "turn {turn}");
        }
    }
}

/// What a full step needs depends on the features and on the memory for products, and not on the layers alone.
#[test]
fn an_estimator_notices_that_features_or_their_memory_have_changed() {
    let mut sgc = Layers::new(FEATURES).unwrap();
    sgc.propagate(2, 0.0).unwrap();
    sgc.linear(CLASSES).unwrap();
    let mut convolutions = Layers::new(FEATURES).unwrap();
    convolutions.graph_convolution(HIDDEN).unwrap();
    convolutions.activation(Activation::Relu).unwrap();
    convolutions.graph_convolution(CLASSES).unwrap();
    for layers in [sgc, convolutions] {
        let model = Model::new(layers, 3).unwrap();
        let mut graph = large_graph(false);
        let mut random = Random::new(4);
        let x: Vec<f32> = random.floats(NODES * FEATURES).iter().map(|&x| if x > 0.9 { x } else { 0.0 }).collect();
        let mut kept = Estimator::full();
        let mut check = |graph: &Graph| {
            let gradients =
                [&mut kept, &mut Estimator::full()].map(|estimator| two_gradients(estimator, &model, graph, 0));
            assert_eq!(gradients[0], gradients[1], "{}", model.net().layers());
        };
        check(&graph);
        graph.set_cache(0);
        check(&graph);
        set_features(&mut graph, FEATURES, &x, true);
        graph.set_cache(1 << 30);
        check(&graph);
        set_features(&mut graph, FEATURES, &x, false);
        check(&graph);
    }
}
