//! The same seed and instruction set give the same bits: for any number of threads, however much of ÂX is kept, and whichever
//! other nodes are computed with a node. Other instruction sets agree to 1e-5 of a gradient's norm.

mod common;

use common::random::Random;
use common::{bits, confident_graph, confident_model, distance, norm, random_graph, reals, set_spread_features};
use plimsoll::error::Error;
use plimsoll::estimator::Estimator;
use plimsoll::graph::{Graph, Operator, Split};
use plimsoll::kernel::{Parts, Threads, available, table};
use plimsoll::log::Level;
use plimsoll::model::Model;
use plimsoll::optim::{Interrupt, Optimizer, Span, Unit};
use plimsoll::sample::{Cut, Distribution, Draws, Hop, Key, Sampler, Step};
use plimsoll::train::{self, Observer, Progress};
use std::process::Command;

fn one_thread() -> Threads {
    Threads::new(1).unwrap()
}

const NODES: usize = 8000;
const FEATURES: usize = 24;
const CLASSES: usize = 8;

/// Large enough that threads share every product.
fn large_graph(sparse: bool) -> Graph {
    let mut random = Random::new(1);
    let mut ends = || (0..14 * NODES).map(|_| random.below(NODES) as i32).collect::<Vec<_>>();
    let mut graph = Graph::from_edges(NODES, &ends(), &ends(), None).unwrap();
    if sparse {
        let indptr: Vec<i64> = (0..=NODES as i64).map(|v| 3 * v).collect();
        let indices: Vec<i32> = (0..3 * NODES).map(|_| random.below(FEATURES) as i32).collect();
        graph.set_sparse_features(FEATURES, &indptr, &indices, &random.floats(3 * NODES)).unwrap();
    } else {
        graph.set_features(FEATURES, &random.floats(NODES * FEATURES)).unwrap();
    }
    graph.set_labels(&(0..NODES).map(|_| random.below(CLASSES) as i32).collect::<Vec<_>>()).unwrap();
    let nodes: Vec<i32> = (0..NODES as i32).collect();
    graph.set_split(Split::Train, &random.choose(&nodes, 6000)).unwrap();
    graph
}

fn estimators() -> Vec<(Estimator, bool)> {
    let consistent = |sizes: &[usize], distribution| {
        let mut estimator = Estimator::consistent(sizes).unwrap();
        estimator.set_distribution(distribution).unwrap();
        estimator.set_seed(5);
        (estimator, true)
    };
    vec![
        (Estimator::full(), false),
        (Estimator::unbiased(), true),
        consistent(&[NODES; 3], Distribution::Uniform),
        consistent(&[0, NODES, NODES], Distribution::Importance),
        consistent(&[NODES; 3], Distribution::Neighbors),
        consistent(&[NODES; 3], Distribution::Ladies),
    ]
}

/// Everything computed from a model and a graph: outputs, evaluation, and two gradients of each estimator.
fn everything(model: &Model, graph: &Graph) -> Vec<Vec<u32>> {
    let list: Vec<i32> = (0..3000).map(|i| i * 7 % NODES as i32).collect();
    let mut found = Vec::new();
    for nodes in [None, Some(list.as_slice())] {
        found.push(model.predict(graph, nodes, bits).unwrap());
        for layer in 0..model.num_layers() {
            found.push(model.embed(graph, nodes, layer, bits).unwrap());
        }
    }
    let (loss, accuracy) = model.evaluate(graph, Split::Train).unwrap();
    found.push(bits_of_reals(&[loss, accuracy]));
    for (mut estimator, takes_batch) in estimators() {
        let batch = takes_batch.then(|| &graph.split(Split::Train)[..5000]);
        for _ in 0..2 {
            let (loss, gradient) = estimator.gradient(model, graph, batch).unwrap();
            found.push(bits(gradient));
            found.push(bits_of_reals(&[loss]));
        }
    }
    found
}

fn bits_of_reals(values: &[f64]) -> Vec<u32> {
    values.iter().flat_map(|x| [x.to_bits() as u32, (x.to_bits() >> 32) as u32]).collect()
}

/// The smallest product of a gradient is the sparse one of the last layer; this case has the fewest draws.
fn assert_threads_share_work(graph: &Graph, threads: &Threads) {
    let mut cut = Cut::default();
    let drawn = Draws { hops: &[NODES; 3].map(Hop::Draw), distribution: &Distribution::Uniform };
    let batch = &graph.split(Split::Train)[..5000];
    let steps = [0, 1, 2].map(|hop| Step { hop, operator: Operator::Normalized, own: false });
    cut.below(graph, batch, &steps, (drawn, Key { seed: 5, step: 0 }), &mut Sampler::default()).unwrap();
    let (block, _) = cut.operator_at(graph, Operator::Normalized, 2).unwrap();
    assert!(threads.shares(block.indices.len() / block.num_rows() * block.num_rows(), CLASSES));
    assert!(threads.shares(batch.len() * 16, CLASSES));
    assert!(Parts::of_sparse(batch.len(), 3, FEATURES, 32).number() > 1);
}

#[test]
fn neither_threads_nor_the_memory_of_ax_change_a_bit() {
    // Layers that narrow and one that widens, so that both orders of the products run.
    const WIDTHS: [usize; 4] = [FEATURES, 32, 16, CLASSES];
    for sparse in [false, true] {
        let mut graph = large_graph(sparse);
        let mut wanted = None;
        // ÂX is kept; is not kept; misses the bound by one byte. It is dense in all cases.
        for cache in [NODES * FEATURES * 4, 0, NODES * FEATURES * 4 - 1] {
            graph.set_cache(cache);
            assert_eq!(
                graph.aggregated(Operator::Normalized, &one_thread()).unwrap().is_some(),
                cache == NODES * FEATURES * 4
            );
            for threads in [1, 2, 5] {
                let mut model = Model::gcn(&WIDTHS, 3).unwrap();
                model.set_lambda(1e-3).unwrap();
                model.set_threads(threads).unwrap();
                assert_eq!(model.threads().unwrap().count(), threads);
                if threads > 1 {
                    assert_threads_share_work(&graph, &model.threads().unwrap());
                }
                let found = everything(&model, &graph);
                let wanted = wanted.get_or_insert_with(|| found.clone());
                for (at, (found, wanted)) in found.iter().zip(wanted).enumerate() {
                    assert!(found == wanted, "result {at}, {threads} threads, {cache} bytes, sparse {sparse}");
                }
            }
        }
    }
}

#[test]
fn a_wide_sparse_ax_kept_or_not_gives_the_same_bits() {
    // A row of ÂX has some 30 of 600 columns, so it is kept in sparse form.
    let (n, width) = (2000, 600);
    let mut random = Random::new(2);
    let mut ends = || (0..3 * n).map(|_| random.below(n) as i32).collect::<Vec<_>>();
    let mut graph = Graph::from_edges(n, &ends(), &ends(), None).unwrap();
    let indptr: Vec<i64> = (0..=n as i64).map(|v| 4 * v).collect();
    let indices: Vec<i32> = (0..4 * n).map(|_| random.below(width) as i32).collect();
    graph.set_sparse_features(width, &indptr, &indices, &random.floats(4 * n)).unwrap();
    graph.set_labels(&(0..n).map(|v| (v % 3) as i32).collect::<Vec<_>>()).unwrap();
    graph.set_split(Split::Train, &(0..1500).collect::<Vec<_>>()).unwrap();
    let mut wanted = None;
    for (cache, kept) in [(1 << 20, true), (0, false), (100_000, false)] {
        graph.set_cache(cache);
        assert_eq!(graph.aggregated(Operator::Normalized, &one_thread()).unwrap().is_some(), kept, "{cache} bytes");
        for threads in [1, 5] {
            let mut model = Model::gcn(&[width, 20, 3], 3).unwrap();
            model.set_threads(threads).unwrap();
            let mut estimator = Estimator::full();
            let (loss, gradient) = estimator.gradient(&model, &graph, None).unwrap();
            let found = (loss.to_bits(), bits(gradient), model.predict(&graph, None, bits).unwrap());
            assert!(found == *wanted.get_or_insert_with(|| found.clone()), "{cache} bytes, {threads} threads");
        }
    }
}

/// Two layers that are computed together, in parts that threads share.
#[test]
fn full_steps_over_most_nodes_have_the_same_bits_on_any_number_of_threads_and_every_time() {
    let (n, columns, per_row) = (6000, 200, 10);
    let mut random = Random::new(6);
    let mut graph = random_graph(n, 6 * n, &mut random);
    set_spread_features(&mut graph, columns, per_row, &mut random);
    let nodes: Vec<i32> = (0..n as i32).collect();
    graph.set_split(Split::Train, &random.choose(&nodes, 4000)).unwrap();
    assert!(Parts::of_sparse(n, per_row, columns, 16).within(columns, 3 * n).number() == 4);
    let models = |threads: usize| {
        [&[columns, 16, 3][..], &[columns, 5, 3], &[columns, 32, 16, 3]].map(|widths| {
            let mut model = Model::gcn(widths, 3).unwrap();
            model.set_threads(threads).unwrap();
            model
        })
    };
    let wanted = models(1).map(|model| bits(Estimator::full().gradient(&model, &graph, None).unwrap().1));
    for threads in [1, 2, 3] {
        let models = models(threads);
        assert_eq!(models[0].threads().unwrap().shares(graph.operator().indices.len(), 16), threads > 1);
        let (mut full, mut unbiased) = (Estimator::full(), Estimator::unbiased());
        for turn in 0..3 {
            for (model, wanted) in models.iter().zip(&wanted) {
                let (_, gradient) = full.gradient(model, &graph, None).unwrap();
                assert!(bits(gradient) == *wanted, "{:?}, {threads} threads, turn {turn}", model.widths());
                unbiased.gradient(model, &graph, None).unwrap();
            }
        }
    }
}

#[test]
fn a_wide_dense_ax_kept_or_not_gives_the_same_bits() {
    // 1000 columns: the sum over a batch is cut into two parts, and without ÂX each into chunks of 128 rows.
    let (n, width, classes) = (2000, 1000, 3);
    let mut random = Random::new(4);
    let mut graph = random_graph(n, 3 * n, &mut random);
    graph.set_features(width, &random.floats(n * width)).unwrap();
    graph.set_split(Split::Train, &(0..n as i32).collect::<Vec<_>>()).unwrap();
    let batch: Vec<i32> = (0..1100).map(|i| i * 3 % n as i32).collect();
    assert_eq!(Parts::of_dense(batch.len(), width, classes).number(), 2);
    let mut wanted = None;
    for (cache, kept) in [(4 * n * width, true), (0, false)] {
        graph.set_cache(cache);
        assert_eq!(graph.aggregated(Operator::Normalized, &one_thread()).unwrap().is_some(), kept);
        for threads in [1, 2, 5] {
            let mut model = Model::gcn(&[width, classes], 3).unwrap();
            model.set_threads(threads).unwrap();
            let mut estimator = Estimator::unbiased();
            let (loss, gradient) = estimator.gradient(&model, &graph, Some(&batch)).unwrap();
            let found = (loss.to_bits(), bits(gradient));
            assert!(found == *wanted.get_or_insert_with(|| found.clone()), "kept: {kept}, {threads} threads");
        }
    }
}

#[test]
fn a_node_has_the_same_bits_in_any_company() {
    let graph = large_graph(false);
    let mut random = Random::new(3);
    let lists = [
        vec![17],
        vec![5999, 0, 17, 17, 0],
        (0..500).map(|_| random.below(NODES) as i32).collect(),
        (0..NODES as i32).rev().collect(),
    ];
    for threads in [1, 5] {
        let mut model = Model::gcn(&[FEATURES, 32, 16, CLASSES], 3).unwrap();
        model.set_threads(threads).unwrap();
        let all = model.predict(&graph, None, <[f32]>::to_vec).unwrap();
        let hidden = model.embed(&graph, None, 0, <[f32]>::to_vec).unwrap();
        for list in &lists {
            let rows = |all: &[f32], width: usize| {
                list.iter().flat_map(|&v| bits(&all[v as usize * width..][..width])).collect::<Vec<_>>()
            };
            assert!(model.predict(&graph, Some(list), bits).unwrap() == rows(&all, CLASSES));
            assert!(model.embed(&graph, Some(list), 0, bits).unwrap() == rows(&hidden, 32));
        }
    }
}

#[test]
fn many_threads_may_predict_at_once_with_the_bits_of_one() {
    let graph = large_graph(true);
    let mut model = Model::gcn(&[FEATURES, 32, CLASSES], 3).unwrap();
    model.set_threads(2).unwrap();
    let wanted = model.predict(&graph, None, bits).unwrap();
    // ÂX may not have been computed yet when they start.
    let graph = large_graph(true);
    std::thread::scope(|scope| {
        for i in 0..4 {
            let (model, graph, wanted) = (&model, &graph, &wanted);
            scope.spawn(move || {
                for v in 0..20 {
                    let list: Vec<i32> = (0..50).map(|k| (k * 97 + v * 31 + i) % NODES as i32).collect();
                    let rows: Vec<u32> =
                        list.iter().flat_map(|&v| wanted[v as usize * CLASSES..][..CLASSES].to_vec()).collect();
                    assert!(model.predict(graph, Some(&list), bits).unwrap() == rows);
                }
                assert!(model.predict(graph, None, bits).unwrap() == *wanted);
            });
        }
    });
}

/// A small graph for the tests of seeds.
fn small_graph() -> Graph {
    Graph::from_mixture(100, 7).unwrap()
}

fn gradients(estimator: &mut Estimator, count: usize) -> Vec<Vec<u32>> {
    let (model, graph) = (Model::gcn(&[2, 5, 3], 1).unwrap(), small_graph());
    (0..count).map(|_| bits(estimator.gradient(&model, &graph, None).unwrap().1)).collect()
}

#[test]
fn a_seed_gives_one_sequence_of_gradients_and_another_seed_another() {
    let mut first = Estimator::consistent(&[50, 50]).unwrap();
    first.set_seed(9);
    let wanted = gradients(&mut first, 8);
    for i in 0..8 {
        assert!((0..i).all(|j| wanted[i] != wanted[j]), "draws are fresh for each gradient");
    }
    let mut second = Estimator::consistent(&[50, 50]).unwrap();
    let by_default = gradients(&mut second, 8);
    second.set_seed(0);
    assert!(gradients(&mut second, 8) == by_default, "the seed is 0 by default");
    second.set_seed(9);
    assert!(gradients(&mut second, 5) == wanted[..5]);
    assert!(gradients(&mut second, 3) == wanted[5..], "the sequence goes on");
    second.set_seed(9);
    assert!(gradients(&mut second, 1) == wanted[..1], "set_seed starts the sequence anew");
    second.set_seed(10);
    let other = gradients(&mut second, 8);
    assert!(other.iter().all(|g| !wanted.contains(g) && !by_default.contains(g)));
}

/// What another thread has cut ahead is what would have been cut later. If the next batch is not the announced one, the result is
/// still that of the next batch.
#[test]
fn a_sequence_of_estimates_has_the_bits_of_single_ones() {
    let graph = large_graph(true);
    let batches: Vec<&[i32]> = graph.split(Split::Train).chunks(700).collect();
    for at in 0..estimators().len() {
        let results = |threads: usize| {
            let mut model = Model::gcn(&[FEATURES, 32, 16, CLASSES], 3).unwrap();
            model.set_threads(threads).unwrap();
            let (mut estimator, _) = estimators().swap_remove(at);
            let mut found = Vec::new();
            for i in 0..batches.len() {
                let announced = match i % 4 {
                    3 => Some(batches[0]),
                    _ => batches.get(i + 1).copied(),
                };
                let estimate = match threads {
                    1 => estimator.estimate(&model, &graph, batches[i]),
                    _ => estimator.estimate_in_sequence(&model, &graph, batches[i], announced),
                };
                let (loss, gradient) = estimate.unwrap();
                found.push((loss.to_bits(), bits(gradient)));
                if i == 5 {
                    estimator.end_sequence();
                }
            }
            found
        };
        let wanted = results(1);
        assert!(wanted == results(2) && wanted == results(5), "estimator {at}");
    }
}

#[test]
fn a_refused_gradient_does_not_count() {
    let (model, graph) = (Model::gcn(&[2, 5, 3], 1).unwrap(), small_graph());
    let mut estimator = Estimator::consistent(&[50, 50]).unwrap();
    let wanted = gradients(&mut estimator, 3);
    estimator.set_seed(0);
    for wanted in &wanted {
        for batch in [&[][..], &[300], &[-1], &[4, 5, 4]] {
            assert!(matches!(estimator.gradient(&model, &graph, Some(batch)), Err(Error::InvalidArgument(_))));
        }
        let narrow = Model::gcn(&[3, 3, 3], 1).unwrap();
        assert!(matches!(estimator.gradient(&narrow, &graph, None), Err(Error::ShapeMismatch(_))));
        assert!(bits(estimator.gradient(&model, &graph, None).unwrap().1) == *wanted);
    }
}

/// Buffers are reused from call to call, but nothing of one graph, model or batch may affect the next result.
#[test]
fn an_estimator_and_a_model_forget_what_they_worked_on() {
    let mut graphs = [(100, 7), (20, 8), (300, 9)].map(|(size, seed)| Graph::from_mixture(size, seed).unwrap());
    // One feature for each node in place of two.
    let (indptr, indices): (Vec<i64>, Vec<i32>) = ((0..=60).collect(), (0..60).map(|v| v % 2).collect());
    graphs[1].set_sparse_features(2, &indptr, &indices, &Random::new(5).floats(60)).unwrap();
    let models =
        [Model::gcn(&[2, 30, 3], 1).unwrap(), Model::gcn(&[2, 1, 4], 2).unwrap(), Model::gcn(&[2, 9, 3], 3).unwrap()];
    let batches: [&[i32]; 3] = [&[0], &[1, 2, 0, 5, 21, 40], &[40, 20]];
    let new: [fn() -> Estimator; 3] = [
        Estimator::unbiased,
        || Estimator::consistent(&[400, 0]).unwrap(),
        || Estimator::consistent(&[0, 400]).unwrap(),
    ];
    for new in new {
        let mut reused = new();
        let mut random = Random::new(4);
        for _ in 0..60 {
            let graph = &graphs[random.below(3)];
            let model = &models[random.below(3)];
            let batch = batches[random.below(3)];
            let mut fresh = new();
            reused.set_seed(1);
            fresh.set_seed(1);
            let wanted = bits(fresh.gradient(model, graph, Some(batch)).unwrap().1);
            assert!(bits(reused.gradient(model, graph, Some(batch)).unwrap().1) == wanted);
            let new_model = model.try_clone().unwrap();
            assert!(
                model.predict(graph, Some(batch), bits).unwrap()
                    == new_model.predict(graph, Some(batch), bits).unwrap()
            );
        }
    }
}

/// Gradients of all kinds, in an order that is the same in every process.
fn gradients_by_this_instruction_set(threads: usize) -> Vec<Vec<f32>> {
    let mut found = Vec::new();
    for sparse in [false, true] {
        let graph = large_graph(sparse);
        let mut model = Model::gcn(&[FEATURES, 32, 16, CLASSES], 3).unwrap();
        model.set_threads(threads).unwrap();
        for (mut estimator, takes_batch) in estimators() {
            let batch = takes_batch.then(|| &graph.split(Split::Train)[..5000]);
            found.push(estimator.gradient(&model, &graph, batch).unwrap().1.to_vec());
        }
    }
    for sureness in [2.0, 8.0, 14.0] {
        let (graph, model) = (confident_graph(), confident_model(sureness));
        found.push(Estimator::full().gradient(&model, &graph, None).unwrap().1.to_vec());
    }
    found
}

const CHILD: &str = "PLIMSOLL_TEST_CHILD";

/// Runs the test below in a child process under `PLIM_ISA=name`, which prints its gradients.
fn gradients_by(name: &str) -> (String, Vec<Vec<f64>>) {
    let this = std::env::current_exe().unwrap();
    let output = Command::new(this)
        .args(["--exact", "instruction_sets_agree_to_1e_5_of_the_gradients_norm", "--nocapture", "--test-threads=1"])
        .env("PLIM_ISA", name)
        .env(CHILD, "1")
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{text}\n{}", String::from_utf8_lossy(&output.stderr));
    let isa = text.lines().find_map(|line| line.strip_prefix("isa ")).expect("the child names its table");
    let gradients = text.lines().filter_map(|line| line.strip_prefix("gradient ")).map(|line| {
        line.split(' ').map(|word| f64::from(f32::from_bits(u32::from_str_radix(word, 16).unwrap()))).collect()
    });
    (isa.to_string(), gradients.collect())
}

#[test]
fn instruction_sets_agree_to_1e_5_of_the_gradients_norm() {
    let found = gradients_by_this_instruction_set(1);
    let with_threads = gradients_by_this_instruction_set(5);
    assert!(found.iter().zip(&with_threads).all(|(a, b)| bits(a) == bits(b)), "{}: threads change bits", table().name);
    if std::env::var_os(CHILD).is_some() {
        println!("\nisa {}", table().name);
        for gradient in &found {
            let words: Vec<String> = gradient.iter().map(|g| format!("{:08x}", g.to_bits())).collect();
            println!("gradient {}", words.join(" "));
        }
        return;
    }
    let found: Vec<Vec<f64>> = found.iter().map(|g| reals(g)).collect();
    for wanted in available() {
        let (isa, others) = gradients_by(wanted.name);
        assert_eq!(isa, wanted.name, "PLIM_ISA chooses any table that the processor has");
        assert_eq!(others.len(), found.len());
        for (i, (found, other)) in found.iter().zip(&others).enumerate() {
            let error = distance(found, other) / norm(found);
            assert!(error <= 1e-5, "gradient {i}: {isa} is off by {error:e} of the norm");
            assert!(isa != table().name || found == other, "the same table gives the same bits in another process");
        }
        let differ = found.iter().zip(&others).any(|(found, other)| found != other);
        let fused = |name: &str| name != "portable";
        assert!(differ || fused(&isa) == fused(table().name), "{isa} rounds differently, and really ran");
    }
}

#[test]
fn an_instruction_set_that_is_not_there_is_not_chosen() {
    for name in ["neon512", "", "AVX2"] {
        assert_eq!(gradients_by(name).0, available()[0].name, "PLIM_ISA={name}");
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

/// The norm of a clipped gradient is a sum over all parameters, and a plateau depends on evaluations.
#[test]
fn schedules_clipping_and_averages_have_the_same_bits_on_any_number_of_threads() {
    let mut graph = large_graph(false);
    let train: Vec<i32> = graph.split(Split::Train)[..5000].to_vec();
    let val: Vec<i32> = (0..NODES as i32).filter(|v| !train.contains(v)).collect();
    graph.set_split(Split::Train, &train).unwrap();
    graph.set_split(Split::Val, &val).unwrap();
    let trained = |threads: usize, plain: bool| {
        let mut model = Model::gcn(&[FEATURES, 32, CLASSES], 3).unwrap();
        model.set_threads(threads).unwrap();
        let mut optimizer = Optimizer::adam(0.05).unwrap();
        if !plain {
            optimizer.set_cosine(Span { length: 6, unit: Unit::Epochs }, 0.001).unwrap();
            optimizer.set_warmup(Span { length: 5, unit: Unit::Updates }, 0.2).unwrap();
            optimizer.set_plateau(0.5, 0, 0.0).unwrap();
            optimizer.set_clip(1e-3).unwrap();
        }
        optimizer.set_ema(0.9).unwrap();
        let options = train::Options { epochs: 6, batch_size: 2500, ema: true, ..train::Options::default() };
        let mut estimator = Estimator::unbiased();
        train::train(&mut model, &graph, &mut estimator, &mut optimizer, &options, &mut Silent).1.unwrap();
        let ema: Vec<u32> = bits_of_reals(optimizer.ema().unwrap());
        (bits(model.parameters()), ema, optimizer.next_step().to_bits())
    };
    let wanted = trained(1, false);
    assert!(wanted != trained(1, true), "the settings do something");
    for threads in [1, 2, 5] {
        assert!(trained(threads, false) == wanted, "{threads} threads");
    }
}
