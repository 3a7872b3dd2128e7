//! Graphs from edges and matrices, the three normalisations, and ÂX in all its forms.

use plimsoll::error::Error;
use plimsoll::graph::{Aggregator, Graph, Matrix, Normalization, Operator};
use plimsoll::kernel::{Pick, Rows, Sparse, Threads};
use proptest::prelude::*;
use sprs::{CsMat, TriMat};
use std::collections::BTreeMap;

fn one_thread() -> Threads {
    Threads::new(1).unwrap()
}

type Entries = BTreeMap<(usize, usize), f64>;

/// Â by its definition, from the entries of A.
fn normalised(n: usize, a: &Entries, normalization: Normalization) -> Entries {
    let mut sum = a.clone();
    if normalization == Normalization::None {
        return sum;
    }
    (0..n).for_each(|v| *sum.entry((v, v)).or_default() += 1.0);
    let mut degree = vec![0.0; n];
    sum.iter().for_each(|(&(v, _), &x)| degree[v] += x);
    for (&(v, u), x) in &mut sum {
        *x /= if normalization == Normalization::Row { degree[v] } else { (degree[v] * degree[u]).sqrt() };
    }
    sum
}

fn entries(a: Sparse<'_>) -> Entries {
    let row = |v: usize| a.row(v).0.iter().zip(a.row(v).1).map(move |(&u, &x)| ((v, u as usize), f64::from(x)));
    (0..a.num_rows()).flat_map(row).collect()
}

fn assert_same(found: &Entries, wanted: &Entries) {
    assert_eq!(found.keys().collect::<Vec<_>>(), wanted.keys().collect::<Vec<_>>());
    for (at, x) in wanted {
        // Three roundings to float of 2^-24 each: the merged weight, the degrees it enters, and the entry itself.
        assert!((found[at] - x).abs() <= 1.8e-7 * x.abs(), "{at:?}: {} instead of {x}", found[at]);
    }
}

/// Any of the normalisations.
fn normalizations() -> impl Strategy<Value = Normalization> {
    prop_oneof![Just(Normalization::Symmetric), Just(Normalization::Row), Just(Normalization::None)]
}

/// Edges with repeats, both directions, self-loops and, maybe, weights (some of them 0).
fn edge_lists() -> impl Strategy<Value = (usize, Vec<(i32, i32, f32)>, bool)> {
    (1usize..20).prop_flat_map(|n| {
        let node = 0..n as i32;
        let edge = (node.clone(), node, prop_oneof![Just(0.0f32), 0.001f32..100.0]);
        (Just(n), prop::collection::vec(edge, 0..60), any::<bool>())
    })
}

proptest! {
    #[test]
    fn edges_merge_as_documented_and_every_change_of_normalisation_gives_the_definition(
        (n, edges, weighted) in edge_lists(), changes in prop::collection::vec(normalizations(), 0..6),
    ) {
        let mut a = Entries::new();
        for &(u, v, w) in &edges {
            let (u, v) = (u as usize, v as usize);
            for at in [(u, v), (v, u)].into_iter().take(if u == v { 1 } else { 2 }) {
                let entry = a.entry(at).or_default();
                *entry = if weighted { *entry + f64::from(w) } else { 1.0 };
            }
        }
        let (sources, targets): (Vec<_>, Vec<_>) = edges.iter().map(|e| (e.0, e.1)).unzip();
        let weights: Vec<_> = edges.iter().map(|e| e.2).collect();
        let mut graph = Graph::from_edges(n, &sources, &targets, weighted.then_some(&weights)).unwrap();
        prop_assert_eq!(graph.num_edges(), a.keys().filter(|(v, u)| v <= u).count());
        assert_same(&entries(graph.operator()), &normalised(n, &a, Normalization::Symmetric));
        for normalization in changes {
            graph.set_normalization(normalization).unwrap();
            assert_same(&entries(graph.operator()), &normalised(n, &a, normalization));
            prop_assert_eq!(graph.num_edges(), a.keys().filter(|(v, u)| v <= u).count());
        }
    }

    #[test]
    fn a_matrix_stays_as_given_directed_or_not(
        (n, cells, weighted) in edge_lists(), normalization in normalizations(),
    ) {
        let mut a = Entries::new();
        for &(v, u, w) in &cells {
            let entry = a.entry((v as usize, u as usize)).or_default();
            *entry = if weighted { *entry + f64::from(w) } else { 1.0 };
        }
        // Sorted by rows, but in the given order within a row: unsorted, with repeats.
        let mut by_row = cells.clone();
        by_row.sort_by_key(|c| c.0);
        let indptr: Vec<i64> = (0..=n).map(|v| by_row.partition_point(|c| (c.0 as usize) < v) as i64).collect();
        let indices: Vec<_> = by_row.iter().map(|c| c.1).collect();
        let values: Vec<_> = by_row.iter().map(|c| c.2).collect();
        let mut graph = Graph::from_csr(n, &indptr, &indices, weighted.then_some(&values)).unwrap();
        graph.set_normalization(normalization).unwrap();
        prop_assert_eq!(graph.num_edges(), a.len());
        assert_same(&entries(graph.operator()), &normalised(n, &a, normalization));
    }

    #[test]
    fn a_saved_graph_loads_as_it_was((n, edges, weighted) in edge_lists(), normalization in normalizations(), directed: bool) {
        let (sources, targets): (Vec<_>, Vec<_>) = edges.iter().map(|e| (e.0, e.1)).unzip();
        let weights: Vec<_> = edges.iter().map(|e| e.2).collect();
        let mut graph = Graph::from_edges(n, &sources, &targets, weighted.then_some(&weights)).unwrap();
        if directed {
            graph.set_normalization(Normalization::None).unwrap();
            let a = graph.operator();
            let values = weighted.then(|| a.values.to_vec());
            graph = Graph::from_csr(n, a.indptr, a.indices, values.as_deref()).unwrap();
        }
        graph.set_normalization(normalization).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("graph.npz");
        graph.save(&path).unwrap();
        let loaded = Graph::load(&path).unwrap();
        prop_assert_eq!(loaded.normalization(), graph.normalization());
        prop_assert_eq!(loaded.num_edges(), graph.num_edges());
        prop_assert_eq!(entries(loaded.operator()), entries(graph.operator()));
    }
}

/// A graph and sparse features whose ÂX has about the given density.
fn featured(n: usize, width: usize, per_row: usize) -> (Graph, Vec<f32>) {
    let mix = |i: usize| i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 33;
    let (sources, targets): (Vec<_>, Vec<_>) =
        (0..3 * n).map(|e| ((mix(2 * e) % n) as i32, (mix(2 * e + 1) % n) as i32)).unzip();
    let mut graph = Graph::from_edges(n, &sources, &targets, None).unwrap();
    let mut dense = vec![0f32; n * width];
    for i in 0..n * per_row {
        dense[i / per_row * width + mix(7 * i) % width] = 1.0 + (mix(i) % 1000) as f32 / 333.0;
    }
    let mut indptr = vec![0i64];
    let (mut indices, mut values) = (Vec::new(), Vec::new());
    for row in dense.chunks(width) {
        for (k, &x) in row.iter().enumerate().filter(|(_, x)| **x != 0.0) {
            indices.push(k as i32);
            values.push(x);
        }
        indptr.push(indices.len() as i64);
    }
    graph.set_sparse_features(width, &indptr, &indices, &values).unwrap();
    (graph, dense)
}

fn to_sprs(a: Sparse<'_>, columns: usize) -> CsMat<f64> {
    let mut triplets = TriMat::new((a.num_rows(), columns));
    entries(a).into_iter().for_each(|((v, u), x)| triplets.add_triplet(v, u, x));
    triplets.to_csr()
}

fn to_dense(rows: Rows<'_>, count: usize, width: usize) -> Vec<f32> {
    match rows {
        Rows::Dense { data, .. } => data.to_vec(),
        Rows::Sparse(a) => {
            let mut dense = vec![0f32; count * width];
            (0..count).for_each(|v| {
                let (columns, values) = a.row(v);
                columns.iter().zip(values).for_each(|(&k, &x)| dense[v * width + k as usize] = x);
            });
            dense
        }
    }
}

#[test]
fn aggregated_features_equal_the_product_by_sprs_and_are_kept_in_the_smaller_form() {
    for (width, per_row, sparse) in [(50, 2, true), (20, 10, false)] {
        let (graph, dense) = featured(300, width, per_row);
        let kept = graph.aggregated(Operator::Normalized, &one_thread()).unwrap().expect("300 rows fit any bound");
        assert_eq!(matches!(*kept, Matrix::Sparse { .. }), sparse);
        let Rows::Sparse(x) = graph.features().unwrap().rows() else { panic!("features became dense") };
        let wanted = &to_sprs(graph.operator(), 300) * &to_sprs(x, width);
        for (at, &x) in to_dense(kept.rows(), 300, width).iter().enumerate() {
            let wanted = wanted.get(at / width, at % width).copied().unwrap_or(0.0);
            assert!((f64::from(x) - wanted).abs() <= 1e-5 * wanted, "{at}: {x} instead of {wanted}");
        }
        // Dense features give the same product.
        let (mut other, _) = featured(300, width, per_row);
        other.set_features(width, &dense).unwrap();
        let other =
            to_dense(other.aggregated(Operator::Normalized, &one_thread()).unwrap().unwrap().rows(), 300, width);
        for (x, y) in to_dense(kept.rows(), 300, width).iter().zip(other) {
            assert!((x - y).abs() <= 1e-5 * x.abs());
        }
    }
}

#[test]
fn aggregated_features_have_the_same_bits_for_any_number_of_threads() {
    for (width, per_row) in [(2000, 2), (200, 100)] {
        let (mut graph, dense) = featured(2000, width, per_row);
        for x in ["sparse", "dense"] {
            let [one, three] = [1, 3].map(|threads| {
                graph.set_cache(1 << 30);
                let product = graph.aggregated(Operator::Normalized, &Threads::new(threads).unwrap()).unwrap().unwrap();
                to_dense(product.rows(), 2000, width)
            });
            assert!(one == three, "{x}, {width} columns");
            graph.set_features(width, &dense).unwrap();
        }
    }
}

#[test]
fn rows_of_aggregated_features_on_demand_have_the_bits_of_the_kept_ones() {
    for (width, per_row, form) in [(300, 2, "sparse"), (20, 10, "dense")] {
        let (mut graph, dense) = featured(300, width, per_row);
        for x in ["sparse", "dense"] {
            let kept = graph.aggregated(Operator::Normalized, &one_thread()).unwrap().unwrap();
            assert_eq!(matches!(*kept, Matrix::Dense { .. }), x == "dense" || form == "dense");
            assert_eq!(graph.outlook(Operator::Normalized).unwrap().dense(), x == "dense" || form == "dense");
            let kept = to_dense(kept.rows(), 300, width);
            let nodes = [7, 299, 0, 7, 123];
            let mut aggregator = Aggregator::default();
            for _ in 0..2 {
                let (factors, outlook) =
                    (graph.factors(Operator::Normalized).unwrap(), graph.outlook(Operator::Normalized).unwrap());
                let picked = (Pick::List(&nodes), nodes.len(), 300);
                let rows = aggregator.rows(factors, outlook, picked, &one_thread()).unwrap();
                let found = to_dense(rows, nodes.len(), width);
                for (row, &v) in found.chunks(width).zip(&nodes) {
                    assert_eq!(row, &kept[v as usize * width..][..width]);
                }
            }
            graph.set_features(width, &dense).unwrap();
        }
    }
}

#[test]
fn aggregated_features_beyond_the_bound_are_not_kept_and_a_change_drops_them() {
    let (mut graph, _) = featured(300, 50, 2);
    assert!(graph.aggregated_if_kept(Operator::Normalized).is_none(), "nothing is computed before it is needed");
    let before = to_dense(graph.aggregated(Operator::Normalized, &one_thread()).unwrap().unwrap().rows(), 300, 50);
    graph.set_cache(1000);
    assert!(graph.aggregated(Operator::Normalized, &one_thread()).unwrap().is_none());
    graph.set_cache(1 << 20);
    assert_eq!(
        to_dense(graph.aggregated(Operator::Normalized, &one_thread()).unwrap().unwrap().rows(), 300, 50),
        before
    );
    graph.set_normalization(Normalization::Row).unwrap();
    assert!(graph.aggregated_if_kept(Operator::Normalized).is_none());
    assert_ne!(
        to_dense(graph.aggregated(Operator::Normalized, &one_thread()).unwrap().unwrap().rows(), 300, 50),
        before
    );
    graph.normalize_features().unwrap();
    assert!(graph.aggregated_if_kept(Operator::Normalized).is_none());
}

#[test]
fn column_norms_are_those_of_the_present_operator() {
    let (mut graph, _) = featured(50, 5, 2);
    for normalization in [Normalization::Symmetric, Normalization::Row, Normalization::None] {
        graph.set_normalization(normalization).unwrap();
        let mut wanted = vec![0f64; 50];
        entries(graph.operator()).iter().for_each(|((_, u), x)| wanted[*u] += x * x);
        let norms = graph.column_norms(Operator::Normalized).unwrap();
        norms.squares.iter().zip(&wanted).for_each(|(x, y)| assert!((x - y).abs() <= 1e-12 * (1.0 + y)));
        assert!((norms.total - wanted.iter().sum::<f64>()).abs() <= 1e-9);
    }
}

#[test]
fn row_sums_of_normalised_features_are_one_and_zero_rows_stay() {
    let mut graph = Graph::from_edges(3, &[0], &[1], None).unwrap();
    graph.set_features(2, &[1.0, 3.0, 0.0, 0.0, 2.0, -2.0]).unwrap();
    graph.normalize_features().unwrap();
    let Matrix::Dense { data, .. } = graph.features().unwrap() else { panic!("features became sparse") };
    assert_eq!(**data, [0.25, 0.75, 0.0, 0.0, 2.0, -2.0]);
}

#[test]
fn a_sum_too_small_to_divide_by_is_refused_and_changes_nothing() {
    let mut graph = Graph::from_edges(2, &[0], &[1], None).unwrap();
    graph.set_sparse_features(3, &[0, 1, 4], &[0, 0, 1, 2], &[4.0, 3e38, -3e38, 1e-10]).unwrap();
    let before = to_dense(graph.features().unwrap().rows(), 2, 3);
    assert!(matches!(graph.normalize_features(), Err(Error::InvalidArgument(text)) if text.contains("row 1")));
    assert_eq!(to_dense(graph.features().unwrap().rows(), 2, 3), before);
}
