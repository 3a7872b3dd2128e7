//! After its first gradient an estimator allocates nothing, however large the graph. Building a graph takes little more memory
//! than the graph.
//!
//! The allocator counts every number here on the thread that allocates, so other tests may run at the same time.
// The C library has its own allocator.
#![cfg(not(feature = "capi"))]
#![allow(unsafe_code)]

mod common;

use common::layered::every_layer;
use common::random::Random;
use common::{random_graph, set_spread_features};
use plimsoll::estimator::Estimator;
use plimsoll::graph::{Graph, Split};
use plimsoll::model::Model;
use plimsoll::optim::{Optimizer, Span, Unit};
use plimsoll::rank::Data;
use plimsoll::sample::Distribution;
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::OnceLock;
use std::time::Instant;

/// What this thread has allocated.
#[derive(Clone, Copy, Default)]
struct Count {
    requests: usize,
    requested: usize,
    /// Bytes held, and their maximum so far.
    live: isize,
    peak: isize,
}

thread_local! {
    static COUNT: Cell<Count> = const { Cell::new(Count { requests: 0, requested: 0, live: 0, peak: 0 }) };
}

struct Counting;

impl Counting {
    fn take(size: usize) {
        // A thread that is ending no longer has a count.
        let _ = COUNT.try_with(|cell| {
            let mut count = cell.get();
            count.requests += 1;
            count.requested += size;
            count.live += size as isize;
            count.peak = count.peak.max(count.live);
            cell.set(count);
        });
    }

    fn give(size: usize) {
        let _ = COUNT.try_with(|cell| {
            let mut count = cell.get();
            count.live -= size as isize;
            cell.set(count);
        });
    }
}

// SAFETY: each call is handed on to the system's allocator as it is; counting allocates nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        Counting::take(layout.size());
        // SAFETY: the caller's promises are those of `System`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        Counting::take(layout.size());
        // SAFETY: the caller's promises are those of `System`.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        Counting::give(layout.size());
        // SAFETY: the caller's promises are those of `System`.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        // Both sizes count for a moment, as if the system had to copy. It does copy small blocks; large ones it remaps.
        Counting::take(new_size);
        Counting::give(layout.size());
        // SAFETY: the caller's promises are those of `System`.
        unsafe { System.realloc(pointer, layout, new_size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// What `work` allocates. `peak` and `live` are relative to what was held before.
fn counted<R>(work: impl FnOnce() -> R) -> (R, Count) {
    let before = COUNT.get();
    COUNT.set(Count { peak: before.live, ..before });
    let result = work();
    let after = COUNT.get();
    COUNT.set(Count { peak: before.peak.max(after.peak), ..after });
    let count = Count {
        requests: after.requests - before.requests,
        requested: after.requested - before.requested,
        live: after.live - before.live,
        peak: after.peak - before.live,
    };
    (result, count)
}

fn assert_allocates_nothing(times: usize, mut work: impl FnMut(), what: &str) {
    let ((), count) = counted(|| (0..times).for_each(|_| work()));
    assert_eq!((count.requests, count.requested), (0, 0), "{what}");
}

#[test]
fn the_allocator_counts() {
    let (v, count) = counted(|| {
        drop(vec![0u8; 1000]);
        let mut v = vec![1u8; 100];
        v.reserve_exact(200);
        v
    });
    assert_eq!((count.requests, count.requested, count.live, count.peak), (3, 1400, 300, 1000));
    assert_eq!(counted(|| drop(v)).1.live, -300);
}

const SPLIT: usize = 200;

/// 10^6 nodes, 3·10^6 edges.
fn large_graph() -> &'static Graph {
    static GRAPH: OnceLock<Graph> = OnceLock::new();
    GRAPH.get_or_init(|| {
        let n = 1_000_000;
        let mut random = Random::new(1);
        let mut ends = || (0..3 * n).map(|_| random.below(n) as i32).collect::<Vec<_>>();
        let mut graph = Graph::from_edges(n, &ends(), &ends(), None).unwrap();
        graph.set_features(2, &random.floats(2 * n)).unwrap();
        graph.set_labels(&(0..n).map(|v| (v % 3) as i32).collect::<Vec<_>>()).unwrap();
        let train: Vec<i32> = (0..SPLIT).map(|i| (i * 4999) as i32).collect();
        graph.set_split(Split::Train, &train).unwrap();
        graph
    })
}

/// The built-in graph: as it is, with sparse features, with ÂX not kept, and with most nodes for training, with both kinds of
/// features.
fn small_graphs() -> [Graph; 5] {
    let [dense, mut sparse, mut forgetful, mut learned, mut sparse_learned] =
        [(); 5].map(|()| Graph::from_mixture(300, 7).unwrap());
    let indptr: Vec<i64> = (0..=900).collect();
    let indices: Vec<i32> = (0..900).map(|v| v % 2).collect();
    for graph in [&mut sparse, &mut sparse_learned] {
        graph.set_sparse_features(2, &indptr, &indices, &Random::new(2).floats(900)).unwrap();
    }
    for graph in [&mut learned, &mut sparse_learned] {
        graph.set_split(Split::Train, &(50..850).collect::<Vec<_>>()).unwrap();
    }
    forgetful.set_cache(0);
    [dense, sparse, forgetful, learned, sparse_learned]
}

fn distributions(graph: &Graph) -> [Distribution; 5] {
    let mut random = Random::new(3);
    let weights: Vec<f64> = (0..graph.num_nodes()).map(|_| 0.5 + random.unit()).collect();
    let weights = Distribution::from_weights(&weights).unwrap();
    [Distribution::Uniform, Distribution::Importance, Distribution::Neighbors, Distribution::Ladies, weights]
}

/// Every estimator for a model with this many layers, drawing at all layers and at hidden layers alone.
fn estimators(graph: &Graph, num_layers: usize, size: usize) -> Vec<Estimator> {
    let mut estimators = vec![Estimator::full(), Estimator::unbiased()];
    for exact_input in [false, true] {
        for distribution in distributions(graph) {
            let mut sizes = vec![size; num_layers];
            sizes[0] = if exact_input { 0 } else { size };
            let mut estimator = Estimator::consistent(&sizes).unwrap();
            estimator.set_distribution(distribution).unwrap();
            estimators.push(estimator);
        }
    }
    estimators
}

fn assert_later_gradients_allocate_nothing(graph: &Graph, size: usize, later: usize) {
    for widths in [&[2, 3][..], &[2, 16, 3], &[2, 16, 8, 3]] {
        let model = Model::gcn(widths, 1).unwrap();
        for (i, mut estimator) in estimators(graph, widths.len() - 1, size).into_iter().enumerate() {
            estimator.gradient(&model, graph, None).unwrap();
            let work = || {
                estimator.gradient(&model, graph, None).unwrap();
            };
            assert_allocates_nothing(later, work, &format!("widths {widths:?}, estimator {i}, {size} draws"));
        }
    }
}

#[test]
fn gradients_after_the_first_allocate_nothing() {
    for graph in small_graphs() {
        for size in [20, 400] {
            assert_later_gradients_allocate_nothing(&graph, size, 200);
        }
    }
}

#[test]
fn gradients_after_the_first_allocate_nothing_on_a_million_nodes_either() {
    let graph = large_graph();
    // Of half a million uniform draws over all nodes some hundred are useful here, of 300 draws none.
    assert_later_gradients_allocate_nothing(graph, 300, 40);
    assert_later_gradients_allocate_nothing(graph, 500_000, 10);
}

/// How many rows a hop has depends on its draws, and with it the way to draw below it and the number of partial sums. So a step
/// after the first may still need buffers that no earlier one needed; each is allocated once.
#[test]
fn later_gradients_of_every_layer_allocate_nothing() {
    for (g, graph) in small_graphs().iter().enumerate() {
        for (name, layers) in every_layer(2, 16, 3) {
            let model = Model::new(layers, 1).unwrap();
            for (i, mut estimator) in estimators(graph, 2, 400).into_iter().enumerate() {
                estimator.gradient(&model, graph, None).unwrap();
                let draws = estimator.size().is_some();
                for (turn, most) in [(0, if draws { 20 } else { 0 }), (1, 0)] {
                    let ((), count) = counted(|| {
                        for _ in 0..40 {
                            estimator.gradient(&model, graph, None).unwrap();
                        }
                    });
                    let requests = count.requests;
                    assert!(requests <= most, "graph {g}, {name}, estimator {i}, turn {turn}: {requests} requests");
                }
            }
        }
    }
}

#[test]
fn later_predictions_of_a_few_nodes_allocate_nothing() {
    for (g, graph) in small_graphs().iter().enumerate() {
        for (name, layers) in every_layer(2, 16, 3) {
            let model = Model::new(layers, 1).unwrap();
            let predict = |first: i32| model.predict(graph, Some(&[first, 3, 70, 3]), |p| p[0]).unwrap();
            // Every batch once, since rows differ in length.
            (0..50).for_each(|v| _ = predict(v));
            let (_, count) = counted(|| (0..50).map(predict).sum::<f32>());
            assert_eq!((count.requests, count.requested), (0, 0), "graph {g}, {name}");
        }
    }
}

/// The hidden layer has 16 numbers for each node. There is one matrix of that size, of products with the features, one with 3
/// numbers for each node, and no other large matrix.
#[test]
fn a_full_step_with_two_layers_takes_one_matrix_of_nodes_and_hidden_numbers() {
    let (n, columns, per_row) = (6000, 200, 10);
    let mut random = Random::new(6);
    let mut graph = random_graph(n, 3 * n, &mut random);
    set_spread_features(&mut graph, columns, per_row, &mut random);
    graph.set_split(Split::Train, &(0..4000).collect::<Vec<_>>()).unwrap();
    for (widths, room) in [
        (&[columns, 16, 3][..], n * (16 + 3)),
        (&[columns, 13, 3], n * (13 + 3)),
        // The layer above the two that are computed together is as usual: outputs, and gradients by them.
        (&[columns, 16, 8, 3], n * (16 + 2 * 8 + 8 + 4 * 3)),
    ] {
        let model = Model::gcn(widths, 1).unwrap();
        let mut estimator = Estimator::full();
        let ((), count) = counted(|| _ = estimator.gradient(&model, &graph, None).unwrap());
        let parameters = model.parameters().len();
        // The signs of the hidden layer, the list of training nodes, the gradient, and some kilobytes for small things.
        let most = 4 * room + 2 * n + 4 * 4000 + 4 * parameters + (32 << 10);
        assert!(count.peak as usize <= most, "{widths:?}: {} bytes instead of {most}", count.peak);
        let work = || {
            estimator.gradient(&model, &graph, None).unwrap();
        };
        assert_allocates_nothing(20, work, &format!("{widths:?}"));
    }
}

/// A matrix of all nodes and 64 columns takes 15 MB. What the next level reads is in files, and the rest is there for a block of rows.
#[test]
fn hidden_layers_that_are_held_in_files_take_no_memory() {
    let n = 60_000;
    let mut random = Random::new(6);
    let mut ends = || (0..3 * n).map(|_| random.below(n) as i32).collect::<Vec<_>>();
    let mut graph = Graph::from_edges(n, &ends(), &ends(), None).unwrap();
    graph.set_features(8, &random.floats(8 * n)).unwrap();
    graph.set_cache(0);
    let mut model = Model::gcn(&[8, 64, 64, 3], 1).unwrap();
    let sum = |graph: &Graph, model: &Model| {
        let (sum, count) = counted(|| model.predict(graph, None, |p| p.iter().sum::<f32>()).unwrap());
        assert!((sum - n as f32).abs() < 1.0);
        count.peak as usize
    };
    let in_memory = sum(&graph, &model);
    let directory = tempfile::tempdir().unwrap();
    model.set_scratch(Some((directory.path(), 0))).unwrap();
    let in_files = sum(&graph, &model);
    assert!(in_memory > 4 * 64 * n && in_files < 2 << 20, "{in_memory} bytes, {in_files} bytes with files");
}

#[test]
fn gradients_of_a_ranking_after_the_first_allocate_nothing() {
    let mut random = Random::new(6);
    let relevance: Vec<i32> = (0..2000).map(|_| random.below(4) as i32).collect();
    let offsets: Vec<i64> = (0..=100).map(|q| 20 * q).collect();
    let data = Data::dense(8, &random.floats(16_000), &relevance, &offsets).unwrap();
    for widths in [&[8, 1][..], &[8, 16, 1], &[8, 16, 4, 1]] {
        let model = Model::gcn(widths, 1).unwrap();
        let separate = |normalized| Estimator::separate(6, normalized).unwrap();
        let estimators =
            [Estimator::full(), Estimator::unbiased(), Estimator::pairs(9).unwrap(), separate(false), separate(true)];
        for (i, mut estimator) in estimators.into_iter().enumerate() {
            estimator.gradient(&model, &data, None).unwrap();
            let work = || {
                estimator.gradient(&model, &data, None).unwrap();
            };
            assert_allocates_nothing(100, work, &format!("widths {widths:?}, estimator {i}"));
        }
    }
}

#[test]
fn updates_after_the_first_allocate_nothing() {
    let mut random = Random::new(7);
    for mut optimizer in [Optimizer::sgd(0.1).unwrap(), Optimizer::adam(0.1).unwrap()] {
        let (mut w, gradient) = (random.floats(1000), random.floats(1000));
        optimizer.set_averaging(true);
        optimizer.set_ema(0.9).unwrap();
        optimizer.set_clip(1.0).unwrap();
        optimizer.set_cosine(Span { length: 10, unit: Unit::Epochs }, 0.01).unwrap();
        optimizer.set_warmup(Span { length: 10, unit: Unit::Updates }, 0.1).unwrap();
        optimizer.set_plateau(0.5, 2, 0.0).unwrap();
        optimizer.update(&mut w, &gradient).unwrap();
        let name = optimizer.rule_name();
        let work = || {
            optimizer.update(&mut w, &gradient).unwrap();
            optimizer.report(1.0).unwrap();
            optimizer.end_epoch();
        };
        assert_allocates_nothing(100, work, name);
    }
}

/// Degrees have a heavy tail: a hub's row does not fit the buffers that were sized by earlier rows.
#[test]
fn a_hub_met_late_is_all_that_still_allocates() {
    let n = 100_000;
    let mut random = Random::new(5);
    let mut ends = || (0..5 * n).map(|_| (n as f64 * random.unit().powi(4)) as i32).collect::<Vec<_>>();
    let mut graph = Graph::from_edges(n, &ends(), &ends(), None).unwrap();
    assert!(graph.operator().indptr.windows(2).any(|row| row[1] - row[0] > 20_000));
    graph.set_features(2, &random.floats(2 * n)).unwrap();
    graph.set_labels(&(0..n).map(|v| (v % 3) as i32).collect::<Vec<_>>()).unwrap();
    graph.set_split(Split::Train, &(0..SPLIT).map(|i| (i * 499) as i32).collect::<Vec<_>>()).unwrap();
    let model = Model::gcn(&[2, 16, 8, 3], 1).unwrap();
    for (i, mut estimator) in estimators(&graph, 3, 1000).into_iter().enumerate() {
        estimator.gradient(&model, &graph, None).unwrap();
        let ((), count) = counted(|| {
            for _ in 0..200 {
                estimator.gradient(&model, &graph, None).unwrap();
            }
        });
        // Buffers grow by half each time, three or four of a layer at once; 200 steps exceed them rarely.
        assert!(count.requests <= 20, "estimator {i}: {} requests", count.requests);
    }
}

/// Builds a graph of random edges. Returns its bytes and the peak of building it, without the edge list.
fn build(num_nodes: usize, num_edges: usize, weighted: bool) -> (f64, f64) {
    let mut random = Random::new(4);
    let mut ends = || (0..num_edges).map(|_| random.below(num_nodes) as i32).collect::<Vec<_>>();
    let (sources, targets) = (ends(), ends());
    let weights = weighted.then(|| vec![0.5; num_edges]);
    let start = Instant::now();
    let (graph, count) = counted(|| Graph::from_edges(num_nodes, &sources, &targets, weights.as_deref()).unwrap());
    let seconds = start.elapsed().as_secs_f64();
    // An offset for each node; an id, a value of Â and, if it has one, a weight for each entry.
    let finished = 8 * (num_nodes + 1) + if weighted { 12 } else { 8 } * graph.operator().indices.len();
    assert!((finished..finished + 4096).contains(&graph.adjacency_bytes()), "no room is left over");
    assert!((finished..finished + 8192).contains(&(count.live as usize)), "and nothing else is held");
    let (finished, peak) = (finished as f64, count.peak as f64);
    println!(
        "{num_edges} edges in {seconds:.2} s: {:.0} MB finished, {:.0} MB or {:.2} times that at the peak",
        finished / 1e6,
        peak / 1e6,
        peak / finished
    );
    (finished, peak)
}

#[test]
fn building_ten_million_edges_takes_little_more_than_the_finished_graph() {
    // The peak includes a scale for each node while Â is filled, and counts a remapped buffer twice for a moment.
    let (finished, peak) = build(1_000_000, 10_000_000, false);
    assert!(peak - finished <= 0.25 * finished);
    let (finished, peak) = build(100_000, 1_000_000, true);
    assert!(peak - finished <= 0.25 * finished);
}
