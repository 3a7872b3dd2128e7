//! Losses, gradients and trained parameters keep their bits from build to build: `tests/bits.txt` records them.
//!
//! Other tests compare with an oracle within a tolerance, or one run with another run of the same build. This one compares
//! with builds of the past, so that a change of the code that should not change a result cannot change one unnoticed.
//!
//! The kernels are the portable ones (`PLIM_ISA=portable`), whose sums run in the same order on every processor. The
//! logarithm is the C library's, so the record holds on x86-64 with glibc.
//!
//! A change that is meant to change bits rewrites the record by `PLIM_BLESS=1 cargo test --release --test bits`, and
//! CHANGELOG.md must say why: users who compare results across versions will see the difference.
#![cfg(all(target_arch = "x86_64", target_os = "linux", target_env = "gnu"))]

mod common;

use common::random::Random;
use plimsoll::estimator::{Estimator, Problem};
use plimsoll::graph::{Graph, Normalization, Split};
use plimsoll::kernel::table;
use plimsoll::log::Level;
use plimsoll::model::Model;
use plimsoll::optim::{Interrupt, Optimizer};
use plimsoll::rank::Data;
use plimsoll::sample::Distribution;
use plimsoll::train::{self, Observer, Options, Progress};
use std::path::Path;
use std::process::Command;

const HEAD: &str = "\
# Recorded by tests/bits.rs under PLIM_ISA=portable; valid on x86-64 with glibc. Rewrite it with
#     PLIM_BLESS=1 cargo test --release --test bits
# and say in CHANGELOG.md why results have changed.
#
# Each line is a case: the loss of its second gradient, CRC-32 of two gradients in a row, and CRC-32 of the parameters after
# an epoch of training. \"outputs\" are predictions, hidden representations and evaluations of a model.
";

const NODES: usize = 1200;
const CLASSES: usize = 4;

/// An undirected, weighted graph in which a few nodes have many neighbours. Dense features are few and sparse ones many.
fn graph(sparse: bool, normalization: Normalization) -> Graph {
    let mut random = Random::new(1);
    let edges = 6 * NODES;
    let mut ends = || (0..edges).map(|_| (NODES as f64 * random.unit().powi(2)) as i32).collect::<Vec<_>>();
    let (sources, targets) = (ends(), ends());
    let weights: Vec<f32> = (0..edges).map(|_| random.float(0.5, 2.0)).collect();
    with_attributes(Graph::from_edges(NODES, &sources, &targets, Some(&weights)).unwrap(), sparse, normalization)
}

/// A directed graph. A quarter of its nodes are only reached by edges of weight 0: their columns of Â have norm 0 where Â = A.
fn directed_graph(normalization: Normalization) -> Graph {
    let mut random = Random::new(2);
    let degree = 7;
    let indptr: Vec<i64> = (0..=NODES as i64).map(|v| degree * v).collect();
    let indices: Vec<i32> = (0..NODES * degree as usize).map(|_| random.below(NODES) as i32).collect();
    let values: Vec<f32> = indices.iter().map(|u| if u % 4 == 0 { 0.0 } else { random.float(0.1, 1.0) }).collect();
    with_attributes(Graph::from_csr(NODES, &indptr, &indices, Some(&values)).unwrap(), false, normalization)
}

fn with_attributes(mut graph: Graph, sparse: bool, normalization: Normalization) -> Graph {
    let mut random = Random::new(3);
    match sparse {
        true => {
            let (width, per_row) = (120, 6);
            let indptr: Vec<i64> = (0..=NODES as i64).map(|v| per_row * v).collect();
            let count = NODES * per_row as usize;
            let indices: Vec<i32> = (0..count).map(|_| random.below(width) as i32).collect();
            graph.set_sparse_features(width, &indptr, &indices, &random.floats(count)).unwrap();
        }
        false => graph.set_features(20, &random.floats(20 * NODES)).unwrap(),
    }
    graph.set_labels(&(0..NODES).map(|_| random.below(CLASSES) as i32).collect::<Vec<_>>()).unwrap();
    let nodes = random.choose(&(0..NODES as i32).collect::<Vec<_>>(), NODES);
    graph.set_split(Split::Train, &nodes[..800]).unwrap();
    graph.set_split(Split::Val, &nodes[800..1000]).unwrap();
    graph.set_normalization(normalization).unwrap();
    graph
}

/// Widths of a model with this many layers. The third layer is wider than its input.
fn widths(graph: &Graph, num_layers: usize) -> Vec<usize> {
    let mut widths = vec![graph.num_features(), 16, 24];
    widths.truncate(num_layers);
    widths.push(CLASSES);
    widths
}

fn distributions() -> [(&'static str, Distribution); 5] {
    let mut random = Random::new(4);
    let weights: Vec<f64> = (0..NODES).map(|_| 0.2 + random.unit()).collect();
    [
        ("uniform", Distribution::Uniform),
        ("importance", Distribution::Importance),
        ("neighbors", Distribution::Neighbors),
        ("ladies", Distribution::Ladies),
        ("weights", Distribution::from_weights(&weights).unwrap()),
    ]
}

fn consistent(sizes: &[usize], distribution: Distribution) -> Estimator {
    let mut estimator = Estimator::consistent(sizes).unwrap();
    estimator.set_distribution(distribution).unwrap();
    estimator.set_seed(5);
    estimator
}

/// Every kind of estimator for a graph and a model of this many layers.
fn estimators(num_layers: usize) -> Vec<(String, Estimator)> {
    // Sizes that differ, so that a layer cannot pass for another.
    let sizes = &[300, 200, 250][..num_layers];
    let mut all = vec![("full".to_string(), Estimator::full()), ("unbiased".to_string(), Estimator::unbiased())];
    for (name, distribution) in distributions() {
        all.push((name.to_string(), consistent(sizes, distribution)));
    }
    let mut exact_input = sizes.to_vec();
    exact_input[0] = 0;
    all.push(("ladies, exact input".to_string(), consistent(&exact_input, Distribution::Ladies)));
    let mut pinned = consistent(sizes, Distribution::Importance);
    let mut random = Random::new(6);
    let draws: Vec<i32> = (0..350).map(|_| random.below(NODES) as i32).collect();
    pinned.set_draws(num_layers - 1, &draws).unwrap();
    all.push(("pinned, importance".to_string(), pinned));
    all
}

fn layers(count: usize) -> String {
    if count == 1 { "1 layer".to_string() } else { format!("{count} layers") }
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

fn checksum(floats: &[f32]) -> u32 {
    let mut crc = crc32fast::Hasher::new();
    floats.iter().for_each(|x| crc.update(&x.to_bits().to_le_bytes()));
    crc.finalize()
}

/// Two gradients of a batch in a row, then an epoch of training by the same estimator.
fn gradients_and_training(
    widths: &[usize],
    problem: &dyn Problem,
    estimator: &Estimator,
    batch_size: usize,
    threads: usize,
) -> String {
    let mut model = Model::gcn(widths, 7).unwrap();
    model.set_lambda(1e-3).unwrap();
    model.set_threads(threads).unwrap();
    let mut estimator = estimator.with_size(estimator.size().unwrap_or(1)).unwrap();
    let batch = (!estimator.is_full()).then(|| &problem.items(Split::Train).unwrap()[..batch_size]);
    let mut both = Vec::new();
    let mut last_loss = 0.0;
    for _ in 0..2 {
        let (loss, gradient) = estimator.gradient(&model, problem, batch).unwrap();
        both.extend_from_slice(gradient);
        last_loss = loss;
    }
    let mut optimizer = Optimizer::adam(0.01).unwrap();
    let options = Options { epochs: 1, batch_size, ..Options::default() };
    train::train(&mut model, problem, &mut estimator, &mut optimizer, &options, &mut Silent).1.unwrap();
    format!("loss {last_loss}, gradients {:08x}, trained {:08x}", checksum(&both), checksum(model.parameters()))
}

fn outputs(widths: &[usize], graph: &Graph, threads: usize) -> String {
    let mut model = Model::gcn(widths, 7).unwrap();
    model.set_threads(threads).unwrap();
    let some: Vec<i32> = (0..40).map(|i| i * 29).collect();
    let mut all = Vec::new();
    for nodes in [Some(&some[..]), None] {
        model.predict(graph, nodes, |p| all.extend_from_slice(p)).unwrap();
        for layer in 0..model.num_layers() {
            model.embed(graph, nodes, layer, |h| all.extend_from_slice(h)).unwrap();
        }
    }
    let (loss, accuracy) = model.evaluate(graph, Split::Val).unwrap();
    format!("outputs {:08x}, validation loss {loss}, accuracy {accuracy}", checksum(&all))
}

/// Collects the lines of the record; each case runs on one thread and on two, which must agree.
#[derive(Default)]
struct Record(Vec<String>);

impl Record {
    fn add(&mut self, case: &str, result: impl Fn(usize) -> String) {
        let (one, two) = (result(1), result(2));
        assert_eq!(one, two, "{case}: one thread and two");
        self.0.push(format!("{case}: {one}"));
    }

    fn add_graphs(&mut self) {
        let normalizations =
            [("symmetric", Normalization::Symmetric), ("row", Normalization::Row), ("none", Normalization::None)];
        for (sparse, features) in [(false, "dense"), (true, "sparse")] {
            for (normalization_name, normalization) in normalizations {
                let graph = graph(sparse, normalization);
                for num_layers in 1..=3 {
                    let widths = widths(&graph, num_layers);
                    let name = format!("{features}, {normalization_name}, {}", layers(num_layers));
                    for (kind, estimator) in estimators(num_layers) {
                        let name = format!("{name}, {kind}");
                        self.add(&name, |threads| gradients_and_training(&widths, &graph, &estimator, 300, threads));
                    }
                    self.add(&name, |threads| outputs(&widths, &graph, threads));
                }
            }
        }
    }

    /// Columns of norm 0, which importance never draws, among those that are read.
    fn add_directed_graphs(&mut self) {
        for (name, normalization) in [("none", Normalization::None), ("row", Normalization::Row)] {
            let graph = directed_graph(normalization);
            let widths = widths(&graph, 2);
            for (kind, estimator) in estimators(2) {
                let name = format!("directed with zeros, {name}, {kind}");
                self.add(&name, |threads| gradients_and_training(&widths, &graph, &estimator, 300, threads));
            }
        }
    }

    /// Sizes for which draws are made in other ways.
    fn add_sizes(&mut self) {
        let graph = graph(false, Normalization::Symmetric);
        for (num_layers, batch_size, sizes) in [
            (1, 30, &[20][..]),
            (1, 30, &[60]),
            (1, 300, &[200_000]),
            (2, 30, &[20, 30]),
            (2, 30, &[5000, 5000]),
            (2, 300, &[100_000, 700]),
            (3, 20, &[30, 100_000, 20]),
        ] {
            for (kind, distribution) in distributions() {
                let (widths, estimator) = (widths(&graph, num_layers), consistent(sizes, distribution));
                let name = format!("sizes {sizes:?}, batch {batch_size}, {kind}");
                self.add(&name, |threads| gradients_and_training(&widths, &graph, &estimator, batch_size, threads));
            }
        }
    }

    fn add_special_graphs(&mut self) {
        let full = Estimator::full();
        for (sparse, features) in [(false, "dense"), (true, "sparse")] {
            let mut graph = graph(sparse, Normalization::Symmetric);
            graph.set_cache(0);
            let widths = widths(&graph, 2);
            for (kind, estimator) in [("full", &full), ("unbiased", &Estimator::unbiased())] {
                let name = format!("{features}, product with the features not kept, {kind}");
                self.add(&name, |threads| gradients_and_training(&widths, &graph, estimator, 300, threads));
            }
            let few = graph.split(Split::Train)[..90].to_vec();
            graph.set_split(Split::Train, &few).unwrap();
            let name = format!("{features}, few training nodes, full");
            self.add(&name, |threads| gradients_and_training(&widths, &graph, &full, 90, threads));
        }
        let unlinked =
            with_attributes(Graph::from_edges(NODES, &[], &[], None).unwrap(), false, Normalization::Symmetric);
        let widths = widths(&unlinked, 2);
        for (kind, estimator) in estimators(2) {
            let name = format!("without edges, {kind}");
            self.add(&name, |threads| gradients_and_training(&widths, &unlinked, &estimator, 300, threads));
        }
    }

    fn add_rankings(&mut self) {
        let mut random = Random::new(8);
        let offsets: Vec<i64> = (0..=60).map(|q| 20 * q).collect();
        let relevance: Vec<i32> = (0..NODES).map(|_| random.below(4) as i32).collect();
        let data = Data::dense(8, &random.floats(8 * NODES), &relevance, &offsets).unwrap();
        for widths in [&[8, 1][..], &[8, 12, 1]] {
            for (kind, estimator) in [
                ("full", Estimator::full()),
                ("unbiased", Estimator::unbiased()),
                ("pairs", Estimator::pairs(9).unwrap()),
                ("separate", Estimator::separate(6, false).unwrap()),
                ("self-normalised separate", Estimator::separate(6, true).unwrap()),
            ] {
                let name = format!("ranking, {}, {kind}", layers(widths.len() - 1));
                self.add(&name, |threads| gradients_and_training(widths, &data, &estimator, 25, threads));
            }
        }
    }
}

const CHILD: &str = "PLIMSOLL_TEST_CHILD";

/// Runs this very test in a child process under `PLIM_ISA=portable`, where it prints the record.
fn record_of_the_portable_kernels() -> String {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "results_have_the_recorded_bits", "--nocapture", "--test-threads=1"])
        .env("PLIM_ISA", "portable")
        .env(CHILD, "1")
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{text}\n{}", String::from_utf8_lossy(&output.stderr));
    text.lines().filter_map(|line| line.strip_prefix("case ")).map(|case| format!("{case}\n")).collect()
}

#[test]
fn results_have_the_recorded_bits() {
    if std::env::var_os(CHILD).is_some() {
        assert_eq!(table().name, "portable");
        let mut record = Record::default();
        record.add_graphs();
        record.add_directed_graphs();
        record.add_sizes();
        record.add_special_graphs();
        record.add_rankings();
        println!();
        record.0.iter().for_each(|line| println!("case {line}"));
        return;
    }
    let found = record_of_the_portable_kernels();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/bits.txt");
    if std::env::var_os("PLIM_BLESS").is_some_and(|value| value == "1") {
        std::fs::write(&path, format!("{HEAD}{found}")).unwrap();
        return;
    }
    let recorded = std::fs::read_to_string(&path).unwrap_or_default();
    let recorded: Vec<&str> = recorded.lines().filter(|line| !line.starts_with('#')).collect();
    let found: Vec<&str> = found.lines().collect();
    let case = |line: &str| line.split_once(": ").map_or(line, |(case, _)| case).to_string();
    let names = |lines: &[&str]| lines.iter().map(|line| case(line)).collect::<Vec<_>>();
    assert_eq!(names(&found), names(&recorded), "tests/bits.txt has other cases: rewrite it with PLIM_BLESS=1");
    let differ: Vec<String> = (found.iter().zip(&recorded))
        .filter(|(found, recorded)| found != recorded)
        .map(|(found, recorded)| format!("\n  recorded: {recorded}\n  found:    {found}"))
        .collect();
    assert!(differ.is_empty(), "{} of {} cases have other bits:{}", differ.len(), found.len(), differ.concat());
}
