//! A block cut by drawing only useful nodes has the same distribution as one cut by plain draws over all nodes.

mod common;

use common::dense::{self, Described};
use common::random::Random;
use common::stats::{Moments, chi_square, chi_square_limit};
use common::{bits, distance, norm};
use ndarray::{Array2, Axis};
use plimsoll::estimator::Estimator;
use plimsoll::graph::{Graph, Operator, Split};
use plimsoll::kernel::Pick;
use plimsoll::model::Model;
use plimsoll::sample::{Block, Cut, Distribution, Draws, Hop, Key, NodeMap, RowSpans, Sampler, Step, UniformMethod};
use std::collections::{HashMap, HashSet};

/// A directed, weighted graph with self-loops. No two columns are the same.
fn graph(n: usize, entries: usize, seed: u64) -> Graph {
    Described::directed(n, entries, true, &mut Random::new(seed)).graph
}

fn distributions(n: usize) -> [(&'static str, Distribution); 5] {
    let mut random = Random::new(3);
    let weights: Vec<f64> = (0..n).map(|_| 0.2 + random.unit()).collect();
    [
        ("uniform", Distribution::Uniform),
        ("importance", Distribution::Importance),
        ("neighbours", Distribution::Neighbors),
        ("LADIES", Distribution::Ladies),
        ("weights", Distribution::from_weights(&weights).unwrap()),
    ]
}

fn nodes(list: &[i32]) -> Vec<usize> {
    list.iter().map(|&v| v as usize).collect()
}

/// This many hops with Â, above a level of their own each.
fn steps(count: usize) -> Vec<Step> {
    (0..count).map(|hop| Step { hop, operator: Operator::Normalized, own: false }).collect()
}

/// The nodes at the input of step l.
fn input_nodes(cut: &Cut, l: usize) -> Vec<usize> {
    match cut.level(l) {
        (Pick::List(list), _) => nodes(list),
        (Pick::From(_), _) => panic!("a cut by blocks has lists"),
    }
}

/// The nodes that step l computes.
fn nodes_above(cut: &Cut, l: usize) -> Vec<usize> {
    input_nodes(cut, l + 1)
}

/// Block l of a cut with a row for each node of `above` and a column for each node of the graph. Top nodes that have been dropped
/// are not in the cut: their rows are zero.
fn block(cut: &Cut, graph: &Graph, l: usize, above: &[usize]) -> Array2<f64> {
    let (entries, _) = cut.operator_at(graph, Operator::Normalized, l).unwrap();
    let (kept, inputs) = (nodes_above(cut, l), input_nodes(cut, l));
    assert_eq!(kept.len(), entries.num_rows());
    let mut block = Array2::zeros((above.len(), graph.num_nodes()));
    for (i, node) in kept.iter().enumerate() {
        let row = above.iter().position(|v| v == node).expect("a row above");
        let (columns, values) = entries.row(i);
        columns.iter().zip(values).for_each(|(&k, &value)| block[[row, inputs[k as usize]]] += f64::from(value));
    }
    block
}

/// How often each node was drawn, from its column's weight count/(t·P). Checks that the number is whole and the same in all
/// rows.
fn counts(
    block: &Array2<f64>,
    a_hat: &Array2<f64>,
    above: &[usize],
    size: usize,
    distribution: &Distribution,
) -> Vec<usize> {
    let p = dense::probabilities(a_hat, above, distribution);
    let rows = a_hat.select(Axis(0), above);
    let count = |u: usize| {
        let mut count = None;
        for (&value, &a) in block.column(u).iter().zip(rows.column(u)).filter(|&(_, &a)| a != 0.0) {
            let times = value / a * size as f64 * p[u];
            // Two roundings: of the weight, and of its product with Â.
            assert!((times - times.round()).abs() <= 2.1 * 2f64.powi(-24) * times, "node {u} is drawn {times} times");
            assert_eq!(*count.get_or_insert(times.round()), times.round(), "rows disagree about node {u}");
        }
        count.unwrap_or(0.0) as usize
    };
    (0..a_hat.ncols()).map(count).collect()
}

#[test]
fn each_distribution_follows_its_formula() {
    for seed in 0..20 {
        let graph = graph(15, 40, seed);
        let a_hat = dense::operator(&graph);
        let rows = [3, 7, 11, 0];
        let mut map = NodeMap::default();
        map.fit(15).unwrap();
        let mut block = Block::default();
        let mut spans = RowSpans::default();
        spans.look_up(graph.operator(), &rows).unwrap();
        block.read(graph.operator(), &spans, &mut map).unwrap();
        let touched = dense::touched(&a_hat, &nodes(&rows));
        for (name, distribution) in distributions(15) {
            let mut masses = Vec::new();
            let total = distribution.masses((&graph, Operator::Normalized), &block, &mut masses).unwrap();
            let wanted = dense::probabilities(&a_hat, &nodes(&rows), &distribution);
            let mut found = nodes(block.nodes());
            assert_eq!(found.len(), masses.len());
            for (&u, mass) in found.iter().zip(&masses) {
                assert!(
                    (mass / total - wanted[u]).abs() <= 1e-14,
                    "{name}: P({u}) = {} is not {}",
                    mass / total,
                    wanted[u]
                );
            }
            found.sort_unstable();
            assert_eq!(found, touched, "S is what the rows touch");
        }
        block.remove_from(&mut map);
        assert!((0..15).all(|v| map.get(v).is_none()));
    }
}

#[test]
fn a_node_given_twice_counts_twice() {
    let graph = graph(12, 30, 1);
    let a_hat = dense::operator(&graph);
    let top = [2, 5, 9];
    let draws = [5, 5, 2, 7, 5, 9, 2, 0, 11];
    for (_, distribution) in distributions(12) {
        let (mut cut, mut sampler) = (Cut::default(), Sampler::default());
        let drawn = Draws { hops: &[Hop::Given(draws.to_vec())], distribution: &distribution };
        cut.below(&graph, &top, &steps(1), (drawn, Key { seed: 0, step: 0 }), &mut sampler).unwrap();
        let found = counts(&block(&cut, &graph, 0, &nodes(&top)), &a_hat, &nodes(&top), draws.len(), &distribution);
        let touched = dense::touched(&a_hat, &nodes(&top));
        for (u, &found) in found.iter().enumerate() {
            let given = draws.iter().filter(|&&v| v as usize == u).count();
            assert_eq!(found, if touched.contains(&u) { given } else { 0 }, "node {u}");
        }
    }
}

#[test]
fn a_row_without_any_draw_is_a_zero_row_and_adds_log_c_to_the_loss() {
    // A path 0 – 1 – 2 – 3 – 4 – 5. Drawing node 5 reaches the rows 4 and 5 only.
    let mut graph = Graph::from_edges(6, &[0, 1, 2, 3, 4], &[1, 2, 3, 4, 5], None).unwrap();
    graph.set_features(2, &Random::new(1).floats(12)).unwrap();
    graph.set_labels(&[0, 1, 2, 0, 1, 2]).unwrap();
    let mut cut = Cut::default();
    let drawn = Draws { hops: &[Hop::Given(vec![5, 5])], distribution: &Distribution::Uniform };
    cut.below(&graph, &[0, 4, 2], &steps(1), (drawn, Key { seed: 0, step: 0 }), &mut Sampler::default()).unwrap();
    assert_eq!((cut.top(), cut.missed()), (&[0, 4, 2][..], 0));
    cut.drop_empty_rows();
    assert_eq!((cut.top(), cut.missed()), (&[4][..], 2), "rows without a draw are left out, and counted");
    let found = block(&cut, &graph, 0, &[0, 4, 2]);
    let a = dense::operator(&graph)[[4, 5]];
    let wanted = Array2::from_shape_fn((3, 6), |(i, u)| if (i, u) == (1, 5) { 6.0 * a } else { 0.0 });
    // Both draws are node 5, which has the weight n/t·2 = 6; its product with Â is rounded.
    assert!((&found - &wanted).iter().all(|e| e.abs() <= 2f64.powi(-24)), "{found} is not {wanted}");

    for (widths, draws) in [(&[2, 3][..], 1), (&[2, 4, 3], 2)] {
        let model = Model::gcn(widths, 3).unwrap();
        let mut estimator = Estimator::consistent(&vec![0; draws]).unwrap();
        estimator.set_draws(draws - 1, &[5]).unwrap();
        let mut loss = |batch: &[i32]| {
            let (loss, gradient) = estimator.gradient(&model, &graph, Some(batch)).unwrap();
            (loss, gradient.to_vec())
        };
        let (empty, zeros) = loss(&[0, 2]);
        assert!((empty - 3f64.ln()).abs() <= 1e-7, "{empty}");
        assert!(zeros.iter().all(|&g| g == 0.0));
        let ((all, mean), (one, alone)) = (loss(&[0, 4, 2]), loss(&[4]));
        assert!((all - (one + 2.0 * 3f64.ln()) / 3.0).abs() <= 3e-7, "{all} is not a third of {one} and 2 log 3");
        for (mean, alone) in mean.iter().zip(&alone) {
            assert!((mean - alone / 3.0).abs() <= 1e-6 * alone.abs(), "an empty row counts in the mean");
        }
    }
}

#[test]
fn every_layer_of_a_cut_draws_among_what_the_useful_rows_above_touch() {
    const SIZES: [usize; 3] = [9, 7, 5];
    let mut useless = 0;
    for seed in 0..30 {
        let graph = graph(25, 45, seed);
        let a_hat = dense::operator(&graph);
        let top = [4, 0, 21, 13];
        let (mut cut, mut sampler) = (Cut::default(), Sampler::default());
        for (name, distribution) in distributions(25) {
            for step in 0..20 {
                let drawn = Draws { hops: &SIZES.map(Hop::Draw), distribution: &distribution };
                cut.below(&graph, &top, &steps(3), (drawn, Key { seed, step }), &mut sampler).unwrap();
                let mut above = nodes(&top);
                for l in (0..3).rev() {
                    if l < 2 {
                        assert_eq!(nodes_above(&cut, l), above, "{name}: the rows of layer {l}");
                    }
                    let found = counts(&block(&cut, &graph, l, &above), &a_hat, &above, SIZES[l], &distribution);
                    let drawn: usize = found.iter().sum();
                    let over_touched = matches!(distribution, Distribution::Neighbors | Distribution::Ladies);
                    if over_touched && !above.is_empty() {
                        assert_eq!(drawn, SIZES[l], "{name}: each draw is a useful one");
                    }
                    assert!(drawn <= SIZES[l]);
                    useless += SIZES[l] - drawn;
                    above = input_nodes(&cut, l);
                    let mut kept = above.clone();
                    kept.sort_unstable();
                    let wanted: Vec<usize> = (0..25).filter(|&u| found[u] > 0).collect();
                    assert_eq!(kept, wanted, "{name}: the columns of layer {l} are the nodes drawn, once each");
                }
            }
        }
    }
    assert!(useless > 1000, "draws that no row is linked to are not among the columns, but among the draws");
}

/// All that a model asks of a cut: the nodes of each level, and the entries of the operators between them.
fn contents(cut: &Cut, graph: &Graph, num_steps: usize) -> Vec<Vec<i64>> {
    let list = |(pick, count): (Pick<'_>, usize)| (0..count).map(|i| pick.at(i) as i64).collect::<Vec<_>>();
    let mut all = vec![vec![i64::from(cut.is_whole()), cut.missed() as i64], list(cut.level(num_steps))];
    for l in 0..num_steps {
        all.push(list(cut.level(l)));
        let (operator, rows) = cut.operator_at(graph, Operator::Normalized, l).unwrap();
        for row in list((rows, cut.level(l + 1).1)) {
            let (columns, values) = operator.row(row as usize);
            all.push(columns.iter().zip(values).flat_map(|(&u, a)| [i64::from(u), i64::from(a.to_bits())]).collect());
        }
    }
    all
}

#[test]
fn a_cut_in_reused_buffers_is_the_same_as_a_new_one() {
    let graphs = [
        graph(25, 60, 1),
        Described::undirected(40, 90, true, &mut Random::new(2)).graph,
        Graph::from_edges(30, &[], &[], None).unwrap(),
    ];
    let hops = [vec![], vec![Hop::Draw(6); 3], vec![Hop::Exact, Hop::Draw(9), Hop::Given(vec![3, 1, 3])]];
    let (mut random, mut reused, mut sampler) = (Random::new(3), Cut::default(), Sampler::default());
    let mut numbers = HashSet::new();
    for step in 0..300 {
        let graph = &graphs[random.below(3)];
        let count = 1 + random.below(6);
        let top = random.choose(&(0..25).collect::<Vec<_>>(), count);
        let (form, hops, count) = (random.below(5), &hops[random.below(3)], random.below(4));
        let draws = Draws { hops, distribution: &Distribution::Uniform };
        let mut cut_into = |cut: &mut Cut| match form {
            0 => cut.whole(graph, count),
            1 => cut.whole_below(graph, &top, count).unwrap(),
            _ => {
                cut.below(graph, &top, &steps(count), (draws, Key { seed: 1, step }), &mut sampler).unwrap();
                if form == 4 && count > 0 {
                    cut.drop_empty_rows();
                }
            }
        };
        let mut new = Cut::default();
        cut_into(&mut reused);
        cut_into(&mut new);
        assert_eq!(contents(&reused, graph, count), contents(&new, graph, count), "step {step}");
        assert!(numbers.insert(reused.number()) && numbers.insert(new.number()), "every cut has a number of its own");
    }
}

/// Counts of multinomial draws, as (counts, probability).
fn outcomes(size: usize, p: &[f64]) -> Vec<(Vec<usize>, f64)> {
    let Some((first, rest)) = p.split_first() else {
        return if size == 0 { vec![(vec![], 1.0)] } else { vec![] };
    };
    let choose = |n: usize, k: usize| (0..k).fold(1.0, |c, i| c * (n - i) as f64 / (i + 1) as f64);
    let with_first = |k: usize| {
        let weight = choose(size, k) * first.powi(k as i32);
        outcomes(size - k, rest).into_iter().map(move |(mut counts, p)| {
            counts.insert(0, k);
            (counts, weight * p)
        })
    };
    (0..=size).flat_map(with_first).collect()
}

/// Asserts that `found` counts outcomes of `size` draws of five cells with these probabilities. An outcome lacks its last number.
fn assert_cells(mut found: HashMap<Vec<usize>, f64>, size: usize, p: &[f64], least_freedom: f64, name: &str) {
    let cuts: f64 = found.values().sum();
    let (mut observed, mut expected) = (Vec::new(), Vec::new());
    for (counts, probability) in outcomes(size, p) {
        observed.push(found.remove(&counts[..4]).unwrap_or_default());
        expected.push(cuts * probability);
    }
    assert!(found.is_empty(), "{name}: impossible counts {found:?}");
    assert!((expected.iter().sum::<f64>() - cuts).abs() < 1e-6);
    let (statistic, freedom) = chi_square(&observed, &expected);
    assert!(freedom >= least_freedom, "{name}: {freedom}");
    let limit = chi_square_limit(freedom);
    assert!(statistic <= limit, "{name}: χ² = {statistic} with {freedom} degrees of freedom, beyond {limit}");
}

#[test]
fn how_often_each_useful_node_is_drawn_is_multinomial() {
    const CUTS: usize = 20_000;
    const SIZE: usize = 4;
    // Rows 0 and 1 touch 0, 1, 2 and 3 of six nodes, unevenly.
    let graph = Graph::from_csr(
        6,
        &[0, 3, 5, 6, 8, 9, 10],
        &[1, 2, 0, 3, 1, 5, 4, 0, 4, 2],
        Some(&[1.0, 0.5, 2.0, 0.7, 1.5, 1.0, 3.0, 0.1, 2.0, 0.4]),
    )
    .unwrap();
    let a_hat = dense::operator(&graph);
    let touched = dense::touched(&a_hat, &[0, 1]);
    assert_eq!(touched, [0, 1, 2, 3]);
    for (name, distribution) in distributions(6) {
        let (mut cut, mut sampler) = (Cut::default(), Sampler::default());
        let mut found: HashMap<Vec<usize>, f64> = HashMap::new();
        for step in 0..CUTS as u64 {
            let drawn = Draws { hops: &[Hop::Draw(SIZE)], distribution: &distribution };
            cut.below(&graph, &[0, 1], &steps(1), (drawn, Key { seed: 11, step }), &mut sampler).unwrap();
            let counts = counts(&block(&cut, &graph, 0, &[0, 1]), &a_hat, &[0, 1], SIZE, &distribution);
            *found.entry(counts[..4].to_vec()).or_default() += 1.0;
        }
        // Five cells: the four nodes and all the others.
        let mut p: Vec<f64> = dense::probabilities(&a_hat, &[0, 1], &distribution).to_vec();
        p = vec![p[0], p[1], p[2], p[3], p[4] + p[5]];
        assert_cells(found, SIZE, &p, 15.0, name);
    }
}

#[test]
fn uniform_draws_on_a_symmetric_graph_are_multinomial_in_whichever_way_they_are_made() {
    for (nodes, size, cuts, way) in [
        (16, 4, 40_000, UniformMethod::ByRows),
        (60, 4, 200_000, UniformMethod::ByColumns),
        (16, 7, 40_000, UniformMethod::AfterReading),
    ] {
        assert_eq!(UniformMethod::cheapest(true, 3, 9, size, nodes), way);
        assert_multinomial(nodes, size, cuts);
    }
}

fn assert_multinomial(num_nodes: usize, size: usize, cuts: usize) {
    // Rows 0, 1 and 2 are linked to one another and to 3, which is also linked to five others, so its row is long. The entries of
    // the three rows are in four columns of two to three rows each.
    let links = [(0, 1), (1, 2), (0, 3), (2, 3), (3, 4), (3, 5), (3, 6), (3, 7), (3, 8), (9, 10)];
    let (sources, targets): (Vec<i32>, Vec<i32>) = links.into_iter().unzip();
    let graph = Graph::from_edges(num_nodes, &sources, &targets, None).unwrap();
    let a_hat = dense::operator(&graph);
    let entries: i64 = (0..3).map(|v| graph.operator().indptr[v + 1] - graph.operator().indptr[v]).sum();
    assert_eq!(entries, 9);
    assert_eq!(dense::touched(&a_hat, &[0, 1, 2]), [0, 1, 2, 3]);
    let (mut cut, mut sampler) = (Cut::default(), Sampler::default());
    let mut found: HashMap<Vec<usize>, f64> = HashMap::new();
    for step in 0..cuts as u64 {
        let drawn = Draws { hops: &[Hop::Draw(size)], distribution: &Distribution::Uniform };
        cut.below(&graph, &[0, 1, 2], &steps(1), (drawn, Key { seed: 5, step }), &mut sampler).unwrap();
        let found_block = block(&cut, &graph, 0, &[0, 1, 2]);
        let counts = counts(&found_block, &a_hat, &[0, 1, 2], size, &Distribution::Uniform);
        *found.entry(counts[..4].to_vec()).or_default() += 1.0;
    }
    let each = 1.0 / num_nodes as f64;
    assert_cells(found, size, &[each, each, each, each, 1.0 - 4.0 * each], 9.0, "uniform");
}

#[test]
fn many_draws_of_few_nodes_have_the_moments_of_a_multinomial_and_cost_no_more() {
    let graph = graph(30, 60, 4);
    let (a_hat, top) = (dense::operator(&graph), [3, 17, 8]);
    let (mut cut, mut sampler) = (Cut::default(), Sampler::default());
    for (name, distribution) in distributions(30) {
        let p = dense::probabilities(&a_hat, &nodes(&top), &distribution);
        let touched = dense::touched(&a_hat, &nodes(&top));
        let mut drawn = |size: usize, step: u64| {
            let drawn = Draws { hops: &[Hop::Draw(size)], distribution: &distribution };
            cut.below(&graph, &top, &steps(1), (drawn, Key { seed: 7, step }), &mut sampler).unwrap();
            block(&cut, &graph, 0, &nodes(&top))
        };
        let (size, cuts) = (5000, 2000);
        let counts = |block| counts(&block, &a_hat, &nodes(&top), size, &distribution);
        let found: Vec<Vec<usize>> = (0..cuts).map(|step| counts(drawn(size, step))).collect();
        let n = cuts as f64;
        let mean = |f: &dyn Fn(&[usize]) -> f64| found.iter().map(|counts| f(counts)).sum::<f64>() / n;
        for &u in &touched {
            let (expected, variance) = (size as f64 * p[u], size as f64 * p[u] * (1.0 - p[u]));
            let average = mean(&|c| c[u] as f64);
            assert!((average - expected).abs() <= 5.0 * (variance / n).sqrt(), "{name}, {u}: {average} for {expected}");
            let square = mean(&|c| (c[u] as f64 - expected).powi(2));
            assert!((square / variance - 1.0).abs() <= 5.0 * (2.0 / n).sqrt(), "{name}, {u}: {square} for {variance}");
        }
        let (u, v) = (touched[0], touched[1]);
        let [eu, ev] = [u, v].map(|u| size as f64 * p[u]);
        let product = mean(&|c| (c[u] as f64 - eu) * (c[v] as f64 - ev));
        let scale = (eu * (1.0 - p[u]) * ev * (1.0 - p[v])).sqrt();
        assert!((product + eu * p[v]).abs() <= 5.0 * scale / n.sqrt(), "{name}: covariance {product}");

        // With this many draws each node's share is its probability, and the block is the exact one.
        for size in [1 << 40, 1 << 63, usize::MAX] {
            let (found, exact) = (drawn(size, 0), a_hat.select(Axis(0), &nodes(&top)));
            assert!(found.iter().zip(&exact).all(|(x, a)| (x - a).abs() <= 1e-4 * a), "{name}: {found} is not {exact}");
        }
    }
}

#[test]
fn number_of_useful_draws_is_binomial_for_large_samples_too() {
    const CUTS: usize = 5000;
    const SIZE: usize = 4000;
    let graph = graph(40, 80, 2);
    let a_hat = dense::operator(&graph);
    let top = [1, 17, 30];
    for (name, distribution) in distributions(40).into_iter().filter(|d| !["neighbours", "LADIES"].contains(&d.0)) {
        let p = dense::probabilities(&a_hat, &nodes(&top), &distribution);
        let useful: f64 = dense::touched(&a_hat, &nodes(&top)).iter().map(|&u| p[u]).sum();
        assert!(0.05 < useful && useful < 0.95);
        let (mean, variance) = (SIZE as f64 * useful, SIZE as f64 * useful * (1.0 - useful));
        let mut numbers = Moments::new(2);
        let (mut cut, mut sampler) = (Cut::default(), Sampler::default());
        for step in 0..CUTS as u64 {
            let drawn = Draws { hops: &[Hop::Draw(SIZE)], distribution: &distribution };
            cut.below(&graph, &top, &steps(1), (drawn, Key { seed: 12, step }), &mut sampler).unwrap();
            let number: usize =
                counts(&block(&cut, &graph, 0, &nodes(&top)), &a_hat, &nodes(&top), SIZE, &distribution).iter().sum();
            numbers.add([number as f64, (number as f64 - mean).powi(2)]);
        }
        let off = numbers.largest_error_from(&[mean, variance], 0.0);
        assert!(off <= 4.0, "{name}: mean or variance is off by {off} standard errors");
    }
}

/// The operator of two layers by plain draws over all nodes, with a row for each top node and a column for each node.
fn plain_product(
    a_hat: &Array2<f64>,
    top: &[i32],
    sizes: [usize; 2],
    distribution: &Distribution,
    random: &mut Random,
) -> Array2<f64> {
    let (operators, inputs) = dense::operators(a_hat, top, 2, distribution, |l, p| {
        Some((0..sizes[l]).map(|_| random.by(p.as_slice().unwrap()) as i32).collect())
    });
    let product = operators[1].dot(&operators[0]);
    let mut by_node = Array2::zeros((top.len(), a_hat.ncols()));
    for (column, &u) in product.columns().into_iter().zip(&inputs) {
        let mut sum = by_node.column_mut(u);
        sum += &column;
    }
    by_node
}

#[test]
fn moments_of_two_layers_are_those_of_plain_draws() {
    const CUTS: usize = 20_000;
    const SIZES: [usize; 2] = [6, 5];
    let graph = graph(10, 16, 5);
    let a_hat = dense::operator(&graph);
    let top = [0, 6, 3];
    let exact = a_hat.select(Axis(0), &nodes(&top)).dot(&a_hat).as_standard_layout().to_owned();
    let with_squares = |m: &Array2<f64>| m.iter().copied().chain(m.iter().map(|x| x * x)).collect::<Vec<_>>();
    for (name, distribution) in distributions(10) {
        let (mut cut, mut sampler) = (Cut::default(), Sampler::default());
        let mut random = Random::new(13);
        let (mut sampled, mut plain) = (Moments::new(2 * exact.len()), Moments::new(2 * exact.len()));
        for step in 0..CUTS as u64 {
            let drawn = Draws { hops: &SIZES.map(Hop::Draw), distribution: &distribution };
            cut.below(&graph, &top, &steps(2), (drawn, Key { seed: 13, step }), &mut sampler).unwrap();
            let between = input_nodes(&cut, 1);
            let upper = block(&cut, &graph, 1, &nodes(&top)).select(Axis(1), &between);
            sampled.add(with_squares(&upper.dot(&block(&cut, &graph, 0, &between))));
            plain.add(with_squares(&plain_product(&a_hat, &top, SIZES, &distribution, &mut random)));
        }
        // Means and second moments of 30 entries exceed 5 standard errors with a probability of 4e-5 in total.
        let off = sampled.largest_difference(&plain);
        assert!(off <= 5.0, "{name}: the moments of the two are {off} standard errors apart");
        // The weights make each block unbiased, and so the product.
        let off = sampled.largest_error_from(exact.as_slice().unwrap(), 1e-6);
        assert!(off <= 5.0, "{name}: the mean is {off} standard errors away from Â·Â");
    }
}

/// Drawn nodes and given nodes take different code. With the same nodes, and as many useless ones, the result is the same.
#[test]
fn a_drawn_gradient_is_that_of_the_same_draws_given() {
    const SIZES: [usize; 2] = [12, 15];
    let mut graph = graph(30, 50, 7);
    graph.set_features(3, &Random::new(2).floats(90)).unwrap();
    graph.set_labels(&(0..30).map(|v| v % 4).collect::<Vec<_>>()).unwrap();
    graph.set_split(Split::Train, &[1, 8, 3, 19, 22]).unwrap();
    let a_hat = dense::operator(&graph);
    let model = Model::gcn(&[3, 5, 4], 1).unwrap();
    for (name, distribution) in distributions(30) {
        let mut drawing = Estimator::consistent(&SIZES).unwrap();
        drawing.set_distribution(copy(&distribution)).unwrap();
        drawing.set_seed(21);
        for step in 0..10 {
            let (mut cut, mut sampler) = (Cut::default(), Sampler::default());
            let drawn = Draws { hops: &SIZES.map(Hop::Draw), distribution: &distribution };
            let train = graph.split(Split::Train);
            cut.below(&graph, train, &steps(2), (drawn, Key { seed: 21, step }), &mut sampler).unwrap();
            let mut given = Estimator::consistent(&[0, 0]).unwrap();
            given.set_distribution(copy(&distribution)).unwrap();
            for l in [0, 1] {
                let above = if l == 1 { nodes(train) } else { nodes_above(&cut, l) };
                let counts = counts(&block(&cut, &graph, l, &above), &a_hat, &above, SIZES[l], &distribution);
                let mut draws: Vec<i32> = (0..30).flat_map(|u| vec![u as i32; counts[u]]).collect();
                if draws.len() < SIZES[l] {
                    let touched = dense::touched(&a_hat, &above);
                    let useless = (0..30).find(|u| !touched.contains(u)).unwrap();
                    draws.resize(SIZES[l], useless as i32);
                }
                given.set_draws(l, &draws).unwrap();
            }
            let (loss, gradient) = drawing.gradient(&model, &graph, None).unwrap();
            let (same_loss, same) = given.gradient(&model, &graph, None).unwrap();
            if name == "uniform" {
                // Nodes are met in a different order, so sums run in a different order.
                let [gradient, same] = [gradient, same].map(|g| g.iter().map(|&g| f64::from(g)).collect::<Vec<_>>());
                assert!(distance(&gradient, &same) <= 1e-6 * norm(&same), "{name}, step {step}");
                assert!((loss - same_loss).abs() <= 1e-6 * same_loss, "{name}, step {step}");
                continue;
            }
            assert!(bits(gradient) == bits(same) && loss.to_bits() == same_loss.to_bits(), "{name}, step {step}");
        }
    }
}

fn copy(distribution: &Distribution) -> Distribution {
    match distribution {
        Distribution::Uniform => Distribution::Uniform,
        Distribution::Importance => Distribution::Importance,
        Distribution::Neighbors => Distribution::Neighbors,
        Distribution::Ladies => Distribution::Ladies,
        Distribution::Weights { weights, .. } => Distribution::from_weights(weights).unwrap(),
    }
}
