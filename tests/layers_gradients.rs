//! Gradients of models made of layers are the finite differences of an independent program in double precision, for random
//! models on random graphs, in every instruction set.

mod common;

use common::layered::{Allowed, Reference, World, random_layers, set_moderate_parameters, set_training};
use common::random::Random;
use common::{bits, distance, norm, reals};
use plimsoll::estimator::Estimator;
use plimsoll::kernel::{available, table};
use plimsoll::model::Model;
use plimsoll::nn::{AGGREGATORS, Op};
use plimsoll::sample::Distribution;
use std::collections::BTreeMap;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

const CASES: usize = 200;

/// A random model on a random graph, a batch, and draws for some of its hops.
struct Case {
    world: World,
    model: Model,
    seed: u64,
    train: Vec<i32>,
    batch: Vec<i32>,
    draws: Vec<Option<Vec<i32>>>,
    p: Vec<f64>,
}

impl Case {
    fn new(seed: u64) -> Self {
        let mut random = Random::new(seed);
        let n = 4 + random.below(10);
        let (features, classes) = (1 + random.below(12), 2 + random.below(4));
        let mut world = World::new(n, features, classes, &mut random);
        let allowed = Allowed { batch_norm: random.chance(0.3), dropout: random.chance(0.4) };
        let layers = random_layers(features, classes, allowed, &mut random);
        let hops = layers.num_hops();
        let mut model = Model::new(layers, seed).unwrap();
        set_moderate_parameters(&mut model, &world, &mut random);
        if random.chance(0.5) {
            model.set_lambda(0.1 * random.unit()).unwrap();
        }
        let all: Vec<i32> = (0..n as i32).collect();
        // With more than half of the nodes for training everything is computed over all nodes.
        let train = random.choose(&all, 1 + seed as usize % n);
        set_training(&mut world, &train);
        let size = 1 + random.below(n);
        let batch = random.choose(&all, size);
        let size = 1 + random.below(3 * n);
        let sampled = random.below(hops.max(1));
        let draws = (0..hops)
            .map(|hop| {
                let drawn = hop == sampled || random.chance(0.6);
                drawn.then(|| (0..size).map(|_| random.below(n) as i32).collect())
            })
            .collect();
        let weights: Vec<f64> = (0..n).map(|_| 0.5 + random.unit()).collect();
        let total: f64 = weights.iter().sum();
        Case { world, model, seed, train, batch, draws, p: weights.iter().map(|w| w / total).collect() }
    }

    fn takes_batches(&self) -> bool {
        !self.model.net().has_batch_norm()
    }

    /// The references, each with its batches: nothing drawn, and the given draws. A batch norm takes its statistics from all
    /// nodes in a full step alone.
    fn references(&self) -> Vec<(Reference, Vec<&[i32]>)> {
        let masks = Some((self.seed, 0));
        let exact = Reference::new(&self.model, &self.world, &[], &[], masks);
        if !self.takes_batches() {
            return vec![(exact, vec![&self.train[..]])];
        }
        let mut references = vec![(exact, vec![&self.train[..], &self.batch])];
        if !self.draws.is_empty() {
            references.push((Reference::new(&self.model, &self.world, &self.draws, &self.p, masks), vec![&self.batch]));
        }
        references
    }

    /// Losses and gradients by the library, in the order of [`Case::references`].
    fn found(&self) -> Vec<(f64, Vec<f32>)> {
        let mut estimators = vec![(Estimator::full(), None)];
        if self.takes_batches() {
            estimators.push((Estimator::unbiased(), Some(&self.batch[..])));
            if !self.draws.is_empty() {
                let mut estimator = Estimator::consistent(&vec![0; self.draws.len()]).unwrap();
                estimator.set_distribution(Distribution::from_weights(&self.p).unwrap()).unwrap();
                for (hop, draws) in self.draws.iter().enumerate() {
                    estimator.set_draws(hop, draws.as_deref().unwrap_or_default()).unwrap();
                }
                estimators.push((estimator, Some(&self.batch[..])));
            }
        }
        let gradient = |(mut estimator, batch): (Estimator, Option<&[i32]>)| {
            estimator.set_seed(self.seed);
            let (loss, gradient) = estimator.gradient(&self.model, &self.world.graph, batch).unwrap();
            (loss, gradient.to_vec())
        };
        estimators.into_iter().map(gradient).collect()
    }

    /// Whether no number is so near a kink that single precision may lie on its other side, and no norm divides by a deviation
    /// that is mostly rounding: one of 10% multiplies that of its input by ten.
    fn is_well_posed(&self) -> bool {
        let w = reals(self.model.parameters());
        let passes = self.references().into_iter().map(|(reference, _)| reference.run(&w, None));
        passes.into_iter().all(|pass| pass.margin > 1e-5 && pass.spread > 0.1)
    }
}

/// The first cases that single precision can decide.
fn cases() -> Vec<Case> {
    (0..).map(Case::new).filter(Case::is_well_posed).take(CASES).collect()
}

const CHILD: &str = "PLIMSOLL_TEST_CHILD";

/// Losses and gradients of all cases under `PLIM_ISA=name`, by a child process that runs the test below.
fn found_by(name: &str) -> Vec<(f64, Vec<f32>)> {
    let test = "gradients_of_random_models_are_finite_differences_in_every_instruction_set";
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture", "--test-threads=1"])
        .env("PLIM_ISA", name)
        .env(CHILD, "1")
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{text}\n{}", String::from_utf8_lossy(&output.stderr));
    assert!(text.lines().any(|line| line == format!("isa {name}")), "the child runs {name}");
    let lines = text.lines().filter_map(|line| line.strip_prefix("found "));
    let words =
        |line: &str| -> Vec<u64> { line.split(' ').map(|word| u64::from_str_radix(word, 16).unwrap()).collect() };
    let found = lines
        .map(words)
        .map(|words| (f64::from_bits(words[0]), words[1..].iter().map(|&word| f32::from_bits(word as u32)).collect()));
    found.collect()
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

#[test]
fn gradients_of_random_models_are_finite_differences_in_every_instruction_set() {
    let cases = cases();
    let found: Vec<Vec<(f64, Vec<f32>)>> = cases.iter().map(Case::found).collect();
    if std::env::var_os(CHILD).is_some() {
        println!("\nisa {}", table().name);
        for (loss, gradient) in found.iter().flatten() {
            let words: String = gradient.iter().map(|g| format!(" {:x}", g.to_bits())).collect();
            println!("found {:x}{words}", loss.to_bits());
        }
        return;
    }
    let by_table: Vec<_> = available().iter().map(|table| (table.name, found_by(table.name))).collect();
    // The finite differences take nearly all of the time.
    let next = AtomicUsize::new(0);
    let work = || {
        let mut made = Vec::new();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(case) = cases.get(at) else { return made };
            let w = reals(case.model.parameters());
            let (mut losses, mut differences) = (Vec::new(), Vec::new());
            for (reference, batches) in case.references() {
                let lambda = case.model.lambda();
                let (at_base, of_batches) = reference.differences(&w, &case.world.labels, &batches, lambda);
                losses.extend(at_base);
                differences.extend(of_batches);
            }
            made.push((at, losses, differences));
        }
    };
    let mut wanted: Vec<_> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..2).map(|_| scope.spawn(work)).collect();
        workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect()
    });
    wanted.sort_by_key(|(at, _, _)| *at);
    let (mut errors, mut far) = (Vec::new(), Vec::new());
    let (mut compared, mut skipped) = (0, 0);
    for (name, found) in by_table {
        let mut found = found.iter();
        for (at, losses, differences) in &wanted {
            for (turn, (wanted_loss, difference)) in losses.iter().zip(differences).enumerate() {
                let (loss, gradient) = found.next().expect("a gradient");
                let what = format!("case {at}, {}, gradient {turn}, {name}", cases[*at].model.net().layers());
                assert_eq!(gradient.len(), difference.len(), "{what}");
                let pairs = || gradient.iter().zip(difference).filter(|(_, d)| d.is_finite());
                compared += pairs().count();
                skipped += difference.len() - pairs().count();
                let off = pairs().map(|(&g, d)| (f64::from(g) - d).powi(2)).sum::<f64>().sqrt();
                let size = norm(&pairs().map(|(_, d)| *d).collect::<Vec<_>>());
                let error = off / size.max(1e-3);
                let loss_error = (loss - wanted_loss).abs() / wanted_loss.abs().max(1e-2);
                if error > 5e-5 || loss_error > 1e-5 || !error.is_finite() {
                    far.push(format!("{what}: {error:e} of {size:e}, the loss by {loss_error:e}"));
                }
                errors.push(error);
            }
        }
        assert!(found.next().is_none(), "{name}");
    }
    let middle = median(errors.clone());
    assert!(far.is_empty(), "{} of {}:\n{}", far.len(), errors.len(), far.join("\n"));
    assert!(middle <= 1e-6, "the median is {middle:e}");
    assert!(skipped * 50 < compared, "{skipped} numbers are at kinks, {compared} are not");
}

#[test]
fn the_random_models_have_operations_of_every_kind() {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    for case in cases() {
        for value in &case.model.net().layers().values()[1..] {
            let kind = match &value.op {
                Op::Sage { aggregator, .. } | Op::Aggregate { aggregator } => {
                    format!("{} {:?}", value.op.name(), aggregator)
                }
                Op::Gin { learned, .. } => format!("gin {learned}"),
                Op::Propagate { restart, .. } => format!("propagate {}", *restart > 0.0),
                Op::Activation(activation) => format!("{activation:?}"),
                Op::Norm(norm) => format!("{norm:?}"),
                op => op.name().to_string(),
            };
            *seen.entry(kind).or_default() += 1;
        }
    }
    assert_eq!(seen.len(), 1 + 1 + 1 + 2 * AGGREGATORS.len() + 2 + 2 + 6 + 1 + 2 + 3, "{seen:?}");
    assert!(seen.values().all(|&count| count >= 8), "{seen:?}");
}

/// Predictions reuse room as soon as nobody reads it any more, so every value is asked for by itself: of all nodes, and of a list
/// with repetitions, whose rows have the same bits.
#[test]
fn every_value_of_random_models_is_that_of_the_independent_program_in_any_company() {
    let mut errors = Vec::new();
    for case in cases() {
        let Case { world, model, seed, .. } = &case;
        let mut random = Random::new(*seed);
        let n = world.a.nrows();
        let list: Vec<i32> = (0..5).map(|_| random.below(n) as i32).collect();
        let wanted = Reference::new(model, world, &[], &[], None).run(&reals(model.parameters()), None);
        for (value, wanted) in wanted.values.iter().enumerate() {
            let what = format!("seed {seed}, {}, value {value}", model.net().layers());
            let found = model.embed_value(&world.graph, None, value, <[f32]>::to_vec).unwrap();
            let width = wanted.ncols();
            let rows: Vec<u32> = list.iter().flat_map(|&v| bits(&found[v as usize * width..][..width])).collect();
            assert!(model.embed_value(&world.graph, Some(&list), value, bits).unwrap() == rows, "{what}, {list:?}");
            // The statistics of a batch norm are the running ones here, and those of the rows at hand there.
            if case.takes_batches() {
                let wanted: Vec<f64> = wanted.iter().copied().collect();
                let error = distance(&reals(&found), &wanted) / norm(&wanted).max(1e-3);
                assert!(error <= 1e-5, "{what}: off by {error:e}");
                errors.push(error);
            }
        }
    }
    let middle = median(errors);
    assert!(middle <= 1e-6, "the median is {middle:e}");
}

/// Whatever the graph and the model: with few draws a gradient is finite, and with 2^40 it is the exact one but for noise: if P
/// is at least 1/500, an aggregate is off by about √(500 / 2^40) = 2e-5 at most, so that hardly any number passes a kink.
#[test]
fn gradients_of_random_models_come_to_the_exact_one_under_every_distribution() {
    let (mut errors, mut far) = (Vec::new(), Vec::new());
    for case in cases().iter().filter(|case| case.takes_batches() && !case.draws.is_empty()) {
        let hops = case.draws.len();
        let graph = &case.world.graph;
        let mut unbiased = Estimator::unbiased();
        unbiased.set_seed(case.seed);
        let wanted = reals(unbiased.gradient(&case.model, graph, Some(&case.batch)).unwrap().1);
        for distribution in [
            Distribution::Uniform,
            Distribution::Importance,
            Distribution::Neighbors,
            Distribution::Ladies,
            Distribution::from_weights(&case.p).unwrap(),
        ] {
            for size in [1, 3, 1 << 40] {
                let mut estimator = Estimator::consistent(&vec![size; hops]).unwrap();
                estimator.set_distribution(distribution.clone()).unwrap();
                estimator.set_seed(case.seed);
                let (loss, gradient) = estimator.gradient(&case.model, graph, Some(&case.batch)).unwrap();
                assert!(loss.is_finite());
                if size > 3 {
                    let error = distance(&reals(gradient), &wanted) / norm(&wanted).max(1e-3);
                    errors.push(error);
                    if error > 1e-3 {
                        let (seed, layers) = (case.seed, case.model.net().layers());
                        far.push(format!("seed {seed}, {layers}, {}: {error:e}", distribution.description()));
                    }
                }
            }
        }
    }
    assert!(far.is_empty(), "{} of {}:\n{}", far.len(), errors.len(), far.join("\n"));
    assert!(errors.len() > 500);
    let middle = median(errors);
    assert!(middle <= 1e-5, "the median is {middle:e}");
}
