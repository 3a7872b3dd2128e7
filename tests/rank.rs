//! Learning to rank: gradients against an independent evaluation, estimators against their claims, measures against their
//! definitions.
//!
//! Everything is seeded, so a test passes always or never. The intervals bound the probability that a new seed would fail.

mod common;

use common::random::Random;
use common::stats::{Moments, log_slope};
use common::{bits, distance, norm, reals};
use plimsoll::estimator::{Estimator, Property};
use plimsoll::graph::{Graph, Split};
use plimsoll::model::Model;
use plimsoll::nn::{Activation, Layers, Norm};
use plimsoll::rank::{Data, Gain};

/// Queries of 1 to 30 documents with five features and up to five levels of relevance, as arrays.
struct Arrays {
    features: Vec<f32>,
    relevance: Vec<i32>,
    offsets: Vec<i64>,
}

const WIDTH: usize = 5;

fn arrays(num_queries: usize, seed: u64) -> Arrays {
    let mut random = Random::new(seed);
    let (mut features, mut relevance, mut offsets) = (Vec::new(), Vec::new(), vec![0]);
    for q in 0..num_queries {
        // The second query has a single document, the third has documents of one relevance: neither has a pair.
        let count = if q == 1 { 1 } else { 2 + random.below(29) };
        for _ in 0..count {
            let x = random.floats(WIDTH);
            let score = f64::from(x[0]) - 0.5 * f64::from(x[1]) + random.unit();
            relevance.push(if q == 2 { 1 } else { (1.6 * score + 1.0).clamp(0.0, 4.0) as i32 });
            features.extend(x);
        }
        offsets.push(relevance.len() as i64);
    }
    Arrays { features, relevance, offsets }
}

fn data(arrays: &Arrays) -> Data {
    Data::dense(WIDTH, &arrays.features, &arrays.relevance, &arrays.offsets).unwrap()
}

/// Queries that have a pair.
fn paired(arrays: &Arrays) -> Vec<i32> {
    let differ = |&q: &i32| {
        let y = &arrays.relevance[arrays.offsets[q as usize] as usize..arrays.offsets[q as usize + 1] as usize];
        y.iter().any(|&other| other != y[0])
    };
    (0..arrays.offsets.len() as i32 - 1).filter(differ).collect()
}

/// The score of one document, layer by layer in doubles.
fn score(widths: &[usize], w: &[f64], x: &[f32]) -> f64 {
    let (mut h, mut at): (Vec<f64>, usize) = (reals(x), 0);
    for (l, pair) in widths.windows(2).enumerate() {
        let mut z = vec![0.0; pair[1]];
        for (i, &x) in h.iter().enumerate() {
            (0..pair[1]).for_each(|j| z[j] += x * w[at + i * pair[1] + j]);
        }
        at += pair[0] * pair[1];
        if l + 2 < widths.len() {
            z.iter_mut().for_each(|z| *z = z.max(0.0));
        }
        h = z;
    }
    h[0]
}

/// The objective by its definition, pair by pair.
fn objective(arrays: &Arrays, queries: &[i32], widths: &[usize], w: &[f64], lambda: f64) -> f64 {
    let mut sum = 0.0;
    for &q in queries {
        let range = arrays.offsets[q as usize] as usize..arrays.offsets[q as usize + 1] as usize;
        let s: Vec<f64> = range.clone().map(|v| score(widths, w, &arrays.features[v * WIDTH..][..WIDTH])).collect();
        let y = &arrays.relevance[range];
        let (mut pairs, mut loss) = (0, 0.0);
        for i in 0..y.len() {
            for j in (0..y.len()).filter(|&j| y[i] > y[j]) {
                pairs += 1;
                loss += (s[j] - s[i]).exp().ln_1p();
            }
        }
        sum += loss / f64::from(pairs);
    }
    sum / queries.len() as f64 + 0.5 * lambda * w.iter().map(|w| w * w).sum::<f64>()
}

const MODELS: [&[usize]; 3] = [&[WIDTH, 1], &[WIDTH, 8, 1], &[WIDTH, 7, 3, 1]];

#[test]
fn gradient_is_that_of_the_objective_as_it_is_written() {
    let arrays = arrays(40, 1);
    let (data, queries) = (data(&arrays), paired(&arrays));
    assert!(!queries.contains(&1) && !queries.contains(&2) && queries.len() > 30);
    for widths in MODELS {
        let mut model = Model::gcn(widths, 3).unwrap();
        model.set_lambda(0.02).unwrap();
        let mut w = reals(model.parameters());
        let mut estimator = Estimator::full();
        let (loss, gradient) = estimator.gradient(&model, &data, None).unwrap();
        let wanted = objective(&arrays, &queries, widths, &w, 0.02);
        assert!((loss - wanted).abs() <= 1e-6 * wanted, "{widths:?}: {loss} for {wanted}");
        // Central differences of the doubles; a step of 1e-6 crosses no kink of these models.
        let differences: Vec<f64> = (0..w.len())
            .map(|k| {
                let (old, step) = (w[k], 1e-6);
                let mut at = |x| {
                    w[k] = x;
                    objective(&arrays, &queries, widths, &w, 0.02)
                };
                let difference = (at(old + step) - at(old - step)) / (2.0 * step);
                w[k] = old;
                difference
            })
            .collect();
        let error = distance(&reals(gradient), &differences) / norm(&differences);
        assert!(error <= 2e-6, "{widths:?}: off by {error:e}");
    }
}

#[test]
fn scores_far_apart_have_the_same_loss_and_gradient() {
    let arrays = arrays(20, 2);
    let (data, queries) = (data(&arrays), paired(&arrays));
    let mut model = Model::gcn(&[WIDTH, 1], 3).unwrap();
    for scale in [20.0, 200.0, 2000.0] {
        let w: Vec<f32> = [0.9, -0.5, 0.4, 0.1, -0.8].iter().map(|w| w * scale).collect();
        model.set_parameters(&w).unwrap();
        let mut estimator = Estimator::unbiased();
        let (loss, gradient) = estimator.gradient(&model, &data, None).unwrap();
        // log(1 + e^x) of a large x needs another formula: the objective by its definition overflows.
        let mut wanted = 0.0;
        for &q in &queries {
            let range = arrays.offsets[q as usize] as usize..arrays.offsets[q as usize + 1] as usize;
            let (y, n) = (&arrays.relevance[range.clone()], range.len());
            let s: Vec<f64> =
                range.map(|v| score(&[WIDTH, 1], &reals(&w), &arrays.features[v * WIDTH..][..WIDTH])).collect();
            let pairs = (0..n).flat_map(|i| (0..n).map(move |j| (i, j))).filter(|&(i, j)| y[i] > y[j]);
            let losses: Vec<f64> =
                pairs.map(|(i, j)| (s[j] - s[i]).max(0.0) + (-(s[j] - s[i]).abs()).exp().ln_1p()).collect();
            wanted += losses.iter().sum::<f64>() / losses.len() as f64 / queries.len() as f64;
        }
        assert!((loss - wanted).abs() <= 1e-5 * wanted, "scale {scale}: {loss} for {wanted}");
        assert!(gradient.iter().all(|g| g.is_finite()));
    }
}

#[test]
fn full_gradient_is_the_unbiased_one_over_all_paired_queries_bit_for_bit_on_any_number_of_threads() {
    let arrays = arrays(400, 4);
    let (data, queries) = (data(&arrays), paired(&arrays));
    for widths in MODELS {
        let mut results = Vec::new();
        for threads in [1, 2, 5] {
            let mut model = Model::gcn(widths, 3).unwrap();
            model.set_threads(threads).unwrap();
            let mut full = Estimator::full();
            // Twice, because the second one may use what the first has cut.
            full.gradient(&model, &data, None).unwrap();
            let (loss, gradient) = full.gradient(&model, &data, None).unwrap();
            results.push((loss.to_bits(), bits(gradient)));
            let mut batch = Estimator::unbiased();
            let (loss, gradient) = batch.gradient(&model, &data, Some(&queries)).unwrap();
            results.push((loss.to_bits(), bits(gradient)));
        }
        assert!(results.windows(2).all(|pair| pair[0] == pair[1]), "{widths:?}");
    }
}

#[test]
fn sparse_features_give_the_same_gradient() {
    let arrays = arrays(40, 5);
    let (mut indptr, mut indices, mut values) = (vec![0i64], Vec::new(), Vec::new());
    for row in arrays.features.chunks_exact(WIDTH) {
        for k in (0..WIDTH).rev() {
            indices.push(k as i32);
            values.push(row[k]);
        }
        indptr.push(indices.len() as i64);
    }
    let sparse = Data::sparse(WIDTH, (&indptr, &indices, &values), &arrays.relevance, &arrays.offsets).unwrap();
    for widths in MODELS {
        let model = Model::gcn(widths, 3).unwrap();
        let gradient = |data: &Data| reals(Estimator::full().gradient(&model, data, None).unwrap().1);
        let (dense, sparse) = (gradient(&data(&arrays)), gradient(&sparse));
        assert!(distance(&dense, &sparse) <= 1e-6 * norm(&dense), "{widths:?}");
    }
}

fn exact_gradient(model: &Model, data: &Data, batch: &[i32]) -> Vec<f64> {
    reals(Estimator::unbiased().gradient(model, data, Some(batch)).unwrap().1)
}

fn samplers(size: usize) -> [Estimator; 3] {
    let separate = |normalized| Estimator::separate(size, normalized).unwrap();
    [Estimator::pairs(size).unwrap(), separate(false), separate(true)]
}

const DRAWS: usize = 20_000;

/// Statistics of many gradients of one batch.
fn moments(model: &Model, data: &Data, estimator: &mut Estimator, batch: &[i32], draws: usize) -> Moments {
    let mut moments = Moments::new(model.parameters().len());
    for _ in 0..draws {
        moments.add(reals(estimator.gradient(model, data, Some(batch)).unwrap().1));
    }
    moments
}

#[test]
fn an_estimator_declares_what_is_proved_of_it() {
    let [pairs, separate, normalized] = samplers(4);
    assert_eq!(pairs.property(), Property::UNBIASED_AND_CONSISTENT);
    assert_eq!(separate.property(), Property::UNBIASED_AND_CONSISTENT);
    assert_eq!(normalized.property(), Property::CONSISTENT);
    assert_eq!(Estimator::full().property(), Property::EXACT);
}

#[test]
fn mean_of_drawn_pairs_and_of_separate_samples_is_the_exact_gradient_and_that_of_self_normalised_ones_is_not() {
    let arrays = arrays(12, 6);
    let (data, queries) = (data(&arrays), paired(&arrays));
    for widths in [MODELS[0], MODELS[1]] {
        let model = Model::gcn(widths, 3).unwrap();
        let exact = exact_gradient(&model, &data, &queries);
        for size in [1, 3] {
            for mut estimator in samplers(size) {
                let mean = moments(&model, &data, &mut estimator, &queries, DRAWS);
                let errors = mean.errors_from(&exact);
                let name = estimator.description();
                match estimator.property().unbiased {
                    true => assert!(errors <= 4.0, "{widths:?}, {name}: off by {errors} standard errors"),
                    false => assert!(errors > 10.0, "{widths:?}, {name}: off by no more than {errors} standard errors"),
                }
                assert!(4.0 * mean.standard_error() <= 0.1 * norm(&exact), "{name}: too few draws to tell");
            }
        }
    }
}

#[test]
fn mean_over_random_batches_is_the_full_gradient() {
    let arrays = arrays(60, 7);
    let (data, queries) = (data(&arrays), paired(&arrays));
    let mut model = Model::gcn(&[WIDTH, 6, 1], 3).unwrap();
    model.set_lambda(0.01).unwrap();
    let full = reals(Estimator::full().gradient(&model, &data, None).unwrap().1);
    let [pairs, separate, _] = samplers(2);
    for (seed, mut estimator) in [Estimator::unbiased(), pairs, separate].into_iter().enumerate() {
        let (mut random, mut mean) = (Random::new(seed as u64), Moments::new(full.len()));
        for _ in 0..DRAWS {
            let batch = random.choose(&queries, 8);
            mean.add(reals(estimator.gradient(&model, &data, Some(&batch)).unwrap().1));
        }
        let (errors, name) = (mean.errors_from(&full), estimator.description());
        assert!(errors <= 4.0, "{name}: off by {errors} standard errors");
        assert!(4.0 * mean.standard_error() <= 0.1 * norm(&full), "{name}: too few draws to tell");
    }
}

#[test]
fn deviation_falls_like_the_root_of_the_sample_and_the_bias_of_self_normalised_weights_like_the_sample() {
    let arrays = arrays(6, 8);
    let (data, queries) = (data(&arrays), paired(&arrays));
    let model = Model::gcn(&[WIDTH, 6, 1], 3).unwrap();
    let exact = exact_gradient(&model, &data, &queries);
    for (kind, estimator) in samplers(1).into_iter().enumerate() {
        let (mut deviations, mut biases) = (Vec::new(), Vec::new());
        for size in [4, 8, 16, 32, 64] {
            let mut estimator = estimator.with_size(size).unwrap();
            // The bias shows at small sizes, where draws are cheap.
            let draws = if kind == 2 && size <= 16 { 10 * DRAWS } else { DRAWS / 4 };
            let moments = moments(&model, &data, &mut estimator, &queries, draws);
            // An upper bound: the relative error of a deviation of this many normal draws in one dimension.
            deviations.push((size as f64, moments.deviation(), (0.5 / draws as f64).sqrt()));
            let (bias, error) = (distance(&moments.mean, &exact), moments.standard_error());
            if size <= 16 {
                biases.push((size as f64, (bias * bias - error * error).max(0.0).sqrt(), error / bias));
            }
            assert!(moments.deviation() <= 8.0 * norm(&exact) / (size as f64).sqrt(), "size {size} is not consistent");
        }
        let name = estimator.description();
        let (slope, error) = log_slope(&deviations);
        // Between two samples the product of their errors adds a term that falls like 1/t.
        assert!((slope + 0.5).abs() + 3.0 * error <= 0.12, "{name}: the deviation falls with slope {slope} ± {error}");
        if kind == 2 {
            let (slope, error) = log_slope(&biases);
            assert!(slope + 3.0 * error <= -0.8, "{name}: the bias falls with slope {slope} ± {error}");
            assert!(biases.iter().all(|b| b.2 <= 0.2), "{name}: no bias to see: {biases:?}");
        }
    }
}

#[test]
fn two_levels_of_relevance_make_both_weights_the_same() {
    let mut arrays = arrays(30, 9);
    arrays.relevance.iter_mut().for_each(|y| *y = i32::from(*y > 1));
    let (data, queries) = (data(&arrays), paired(&arrays));
    let model = Model::gcn(&[WIDTH, 1], 3).unwrap();
    let gradient = |normalized| {
        let mut estimator = Estimator::separate(5, normalized).unwrap();
        reals(estimator.gradient(&model, &data, Some(&queries)).unwrap().1)
    };
    let (fixed, normalized) = (gradient(false), gradient(true));
    assert!(distance(&fixed, &normalized) <= 1e-6 * norm(&fixed));
}

#[test]
fn estimators_of_graphs_and_of_rankings_refuse_each_other() {
    let arrays = arrays(10, 10);
    let (data, model) = (data(&arrays), Model::gcn(&[WIDTH, 1], 3).unwrap());
    let text = Estimator::consistent(&[5]).unwrap().gradient(&model, &data, None).unwrap_err().to_string();
    assert!(text.contains("draws neighbours"), "{text}");
    let graph = plimsoll::graph::Graph::from_mixture(10, 1).unwrap();
    let model = Model::gcn(&[2, 3], 3).unwrap();
    for mut estimator in samplers(3) {
        let text = estimator.gradient(&model, &graph, None).unwrap_err().to_string();
        assert!(text.contains("pairs of documents"), "{text}");
    }
}

#[test]
fn an_estimator_may_change_between_a_graph_and_a_ranking() {
    let arrays = arrays(20, 15);
    let (data, graph) = (data(&arrays), Graph::from_mixture(60, 3).unwrap());
    let (scorer, classifier) = (Model::gcn(&[WIDTH, 4, 1], 1).unwrap(), Model::gcn(&[2, 5, 3], 1).unwrap());
    let mut reused = Estimator::unbiased();
    for _ in 0..3 {
        let gradient = bits(reused.gradient(&scorer, &data, None).unwrap().1);
        assert!(gradient == bits(Estimator::unbiased().gradient(&scorer, &data, None).unwrap().1));
        let gradient = bits(reused.gradient(&classifier, &graph, None).unwrap().1);
        assert!(gradient == bits(Estimator::unbiased().gradient(&classifier, &graph, None).unwrap().1));
    }
}

/// DCG by its definition, for scores no two of which are equal.
fn dcg(y: &[i32], s: &[f32], k: usize, gain: impl Fn(i32) -> f64) -> f64 {
    let mut order: Vec<usize> = (0..y.len()).collect();
    order.sort_by(|&a, &b| s[b].total_cmp(&s[a]));
    order.iter().take(k).enumerate().map(|(i, &v)| gain(y[v]) / ((i + 2) as f64).log2()).sum()
}

#[test]
fn measures_are_those_of_their_definitions() {
    let arrays = arrays(50, 11);
    let mut data = data(&arrays);
    let model = Model::gcn(&[WIDTH, 4, 1], 3).unwrap();
    let scores = data.scores(&model, <[f32]>::to_vec).unwrap();
    for (cutoff, gain) in [(10, Gain::Exponential), (3, Gain::Linear), (0, Gain::Linear), (1, Gain::Exponential)] {
        data.set_ndcg(cutoff, gain);
        let measures = data.measure(&model, Split::Train).unwrap();
        let mut mean = 0.0;
        for (q, measures) in measures.iter().enumerate() {
            let range = arrays.offsets[q] as usize..arrays.offsets[q + 1] as usize;
            let (y, s) = (&arrays.relevance[range.clone()], &scores[range]);
            let k = if cutoff == 0 { y.len() } else { cutoff };
            let gain = |y: i32| if gain == Gain::Linear { f64::from(y) } else { f64::from((1 << y) - 1) };
            let best: Vec<f32> = y.iter().map(|&y| y as f32).collect();
            let best = dcg(y, &best, k, gain);
            let ndcg = if best > 0.0 { dcg(y, s, k, gain) / best } else { 0.0 };
            // Documents whose hidden units are all 0 have equal scores and share their places, which `dcg` does not support.
            let tied = (1..s.len()).any(|i| s[..i].contains(&s[i]));
            assert!(tied || (measures.ndcg - ndcg).abs() <= 1e-12, "query {q}: {} for {ndcg}", measures.ndcg);
            mean += measures.ndcg / 50.0;
            let pairs = (0..y.len()).flat_map(|i| (0..y.len()).map(move |j| (i, j))).filter(|&(i, j)| y[i] > y[j]);
            let right: Vec<f64> = pairs.map(|(i, j)| if s[i] == s[j] { 0.5 } else { f64::from(s[i] > s[j]) }).collect();
            match right.is_empty() {
                true => assert!(measures.accuracy.is_nan() && measures.loss.is_nan(), "query {q} has no pair"),
                false => {
                    let accuracy = right.iter().sum::<f64>() / right.len() as f64;
                    assert!((measures.accuracy - accuracy).abs() <= 1e-12, "query {q}");
                    let w = reals(model.parameters());
                    let loss = objective(&arrays, &[q as i32], &[WIDTH, 4, 1], &w, 0.0);
                    assert!((measures.loss - loss).abs() <= 1e-5 * loss, "query {q}: {} for {loss}", measures.loss);
                }
            }
        }
        let all = data.evaluate(&model, Split::Train).unwrap();
        assert!((all.ndcg - mean).abs() <= 1e-12);
        let wanted = objective(&arrays, &paired(&arrays), &[WIDTH, 4, 1], &reals(model.parameters()), 0.0);
        assert!((all.loss - wanted).abs() <= 1e-5 * wanted);
    }
}

#[test]
fn documents_of_equal_scores_share_their_places() {
    // Scores 1, 1, 0 for relevance 0, 2, 1: the first two share the places 1 and 2.
    let mut data = Data::dense(1, &[1.0, 1.0, 0.0], &[0, 2, 1], &[0, 3]).unwrap();
    let mut model = Model::gcn(&[1, 1], 0).unwrap();
    model.set_parameters(&[1.0]).unwrap();
    let discount = |place: f64| 1.0 / (place + 1.0).log2();
    data.set_ndcg(0, Gain::Linear);
    let wanted = ((discount(1.0) + discount(2.0)) + discount(3.0)) / (2.0 * discount(1.0) + discount(2.0));
    assert!((data.evaluate(&model, Split::Train).unwrap().ndcg - wanted).abs() <= 1e-15);
    data.set_ndcg(1, Gain::Linear);
    assert!((data.evaluate(&model, Split::Train).unwrap().ndcg - 0.5).abs() <= 1e-15);
    // Pairs (2, 0) tied, (1, 0) wrong, (2, 1) right.
    assert_eq!(data.evaluate(&model, Split::Train).unwrap().accuracy, 0.5);
}

#[test]
fn standardised_features_have_mean_0_and_deviation_1_on_the_training_documents_alone() {
    let mut arrays = arrays(30, 12);
    arrays.features.chunks_exact_mut(WIDTH).for_each(|row| {
        row[1] = 100.0 + 30.0 * row[1];
        row[2] = 7.5;
        row[4] = row[4].max(0.0);
    });
    let mut train = data(&arrays);
    train.set_split(Split::Train, &(0..20).collect::<Vec<_>>()).unwrap();
    let (other, mut third) = (data(&arrays), data(&arrays));
    third.standardize(Some(&train)).unwrap();
    train.standardize(None).unwrap();
    let rows = |data: &Data| {
        let plimsoll::graph::Matrix::Dense { data, .. } = data.documents().features().unwrap() else { panic!("dense") };
        data.to_vec()
    };
    let x = rows(&train);
    assert!(x == rows(&third), "a reference counts the same before it is standardised and after");
    let mut fourth = other;
    fourth.standardize(Some(&train)).unwrap();
    assert!(x == rows(&fourth));
    assert!(fourth.standardize(None).is_err());
    let count = arrays.offsets[20] as usize;
    for k in 0..WIDTH {
        let column: Vec<f64> = (0..count).map(|v| f64::from(x[v * WIDTH + k])).collect();
        let mean = column.iter().sum::<f64>() / count as f64;
        let deviation = (column.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / count as f64).sqrt();
        assert!(mean.abs() <= 1e-6, "feature {k}: mean {mean}");
        assert!((deviation - f64::from(k != 2)).abs() <= 1e-6, "feature {k}: deviation {deviation}");
    }
}

#[test]
fn appended_queries_are_scored_as_if_they_had_been_there() {
    let (first, second) = (arrays(10, 13), arrays(7, 14));
    let mut data = data(&first);
    let other = Data::dense(WIDTH, &second.features, &second.relevance, &second.offsets).unwrap();
    data.append(&other, Split::Val).unwrap();
    assert_eq!((data.num_queries(), data.split(Split::Train).len()), (17, 10));
    assert_eq!(data.split(Split::Val), (10..17).collect::<Vec<_>>());
    let model = Model::gcn(&[WIDTH, 3, 1], 3).unwrap();
    let scores = |data: &Data| data.scores(&model, <[f32]>::to_vec).unwrap();
    let (all, before) = (scores(&data), scores(&self::data(&first)));
    assert!(all[..before.len()] == before && all[before.len()..] == scores(&other));
    let val = data.evaluate(&model, Split::Val).unwrap();
    let alone = other.evaluate(&model, Split::Train).unwrap();
    assert_eq!((val.loss, val.accuracy, val.ndcg), (alone.loss, alone.accuracy, alone.ndcg));
}

#[test]
fn a_batch_norm_learns_to_rank_with_full_and_with_sampled_gradients() {
    let arrays = arrays(12, 5);
    let (data, queries) = (data(&arrays), paired(&arrays));
    let mut ready = data;
    ready.set_split(Split::Train, &queries).unwrap();
    let mut layers = Layers::new(WIDTH).unwrap();
    layers.linear(6).unwrap();
    layers.norm(Norm::Batch).unwrap();
    layers.activation(Activation::Tanh).unwrap();
    layers.linear(1).unwrap();
    let mut model = Model::new(layers, 1).unwrap();
    let mut estimators = [Estimator::full(), Estimator::unbiased()];
    // Without a batch, a gradient is over all training queries; a pair of full steps is the same one twice.
    let (loss, gradient) = estimators[0].gradient(&model, &ready, None).unwrap();
    let first = bits(gradient);
    assert!(loss.is_finite() && gradient.iter().any(|&g| g != 0.0));
    assert_eq!(first, bits(estimators[0].gradient(&model, &ready, None).unwrap().1));
    let (sampled, _) = estimators[1].gradient(&model, &ready, Some(&queries[..4])).unwrap();
    assert!(sampled.is_finite());
    for _ in 0..200 {
        let gradient = estimators[0].gradient(&model, &ready, None).unwrap().1;
        let moved: Vec<f32> = model.parameters().iter().zip(gradient).map(|(w, g)| w - 0.5 * g).collect();
        model.set_parameters(&moved).unwrap();
    }
    assert!(estimators[0].gradient(&model, &ready, None).unwrap().0 < 0.8 * loss, "it learns");
}
