//! Attention over neighbours, of both kinds: values are those of double precision, gradients those of central differences there,
//! with every number of heads, in every table, and with the same bits for any number of threads.

mod common;

use common::bits;
use common::random::Random;
use plimsoll::graph::{Graph, Normalization};
use plimsoll::kernel::{Attended, Drops, Edges, Heads, Pick, Scores, Sparse, Table, Threads, available, mix, mix_key};
use plimsoll::nn::{Attention, By, Dropout, Neighbours};

const SLOPE: f64 = 0.2;

/// One problem: links between rows above and rows below, with the numbers of both kinds of attention.
struct Problem {
    neighbours: Neighbours,
    heads: Heads,
    rows: usize,
    columns: usize,
    own: Vec<i32>,
    /// Nodes of the rows above and below.
    nodes: [Vec<i32>; 2],
    /// Of the rows below, a, b, and of the rows above; the second kind uses the first vector.
    x: Vec<f32>,
    a: Vec<f32>,
    b: Vec<f32>,
    y: Vec<f32>,
    /// The gradient by the result.
    g: Vec<f32>,
    rate: f64,
    key: u64,
}

/// Results and gradients by x, y, a and b, as rows of all columns.
#[derive(PartialEq, Debug)]
struct Found {
    out: Vec<f32>,
    by_x: Vec<f32>,
    by_y: Vec<f32>,
    by_a: Vec<f32>,
    by_b: Vec<f32>,
}

impl Problem {
    /// Random links with empty rows, rows of one entry and a hub; `own` if each row attends to itself.
    fn new(random: &mut Random, heads: Heads, own: bool, weighted: bool, rate: f64) -> Self {
        let (rows, columns) = (1 + random.below(7), 8 + random.below(6));
        let (mut indptr, mut indices, mut values) = (vec![0i64], Vec::new(), Vec::new());
        for _ in 0..rows {
            let filled = [0.0, 0.1, 0.3, 1.0][random.below(4)];
            for u in 0..columns {
                if random.chance(filled) {
                    indices.push(u as i32);
                    values.push(if weighted { random.float(0.1, 4.0) } else { 1.0 });
                }
            }
            indptr.push(indices.len() as i64);
        }
        // Local ids of the rows' own nodes repeat, as nodes of a batch may.
        let owns: Vec<i32> = (0..rows).map(|_| random.below(columns) as i32).collect();
        let below: Vec<i32> = (0..columns as i32).map(|u| 3 * u + 5).collect();
        let above: Vec<i32> = owns.iter().map(|&u| below[u as usize]).collect();
        let mut neighbours = Neighbours::default();
        let links = Sparse { indptr: &indptr, indices: &indices, values: &values };
        let nodes = [Pick::List(&above), Pick::List(&below)];
        neighbours.read((links, Pick::From(0), rows), own.then_some(Pick::List(&owns)), nodes).unwrap();
        neighbours.transpose(columns).unwrap();
        let c = heads.columns();
        Problem {
            neighbours,
            heads,
            rows,
            columns,
            own: owns,
            nodes: [above, below],
            x: random.floats(columns * c),
            a: random.floats(c),
            b: random.floats(c),
            y: random.floats(rows * c),
            g: random.floats(rows * heads.out_width()),
            rate,
            key: random.next(),
        }
    }

    fn interleaved(&self, from: &[f32]) -> Vec<f32> {
        let mut to = vec![f32::NAN; from.len() / self.heads.columns() * self.heads.stride()];
        self.heads.interleave(from, &mut to);
        to
    }

    fn separated(&self, from: &[f32]) -> Vec<f32> {
        let mut to = vec![f32::NAN; from.len() / self.heads.stride() * self.heads.columns()];
        self.heads.separate(from, &mut to);
        to
    }

    fn dropout(&self) -> Option<Dropout<'_>> {
        let [above, below] = self.nodes.each_ref().map(|nodes| Pick::List(nodes));
        let threshold = (self.rate * 4_294_967_296.0) as u32;
        (self.rate > 0.0).then_some(Dropout {
            drops: Drops { key: self.key, threshold, nodes: [above, below] },
            scale: (1.0 / (1.0 - self.rate)) as f32,
        })
    }

    /// Both passes.
    fn run(&self, inner: bool, threads: usize) -> Found {
        let Problem { heads, rows, .. } = *self;
        let threads = Threads::new(threads).unwrap();
        let (x, y) = (self.interleaved(&self.x), self.interleaved(&self.y));
        let by = match inner {
            false => By::Sum { vectors: [&self.a, &self.b], own: Pick::List(&self.own) },
            true => By::Inner { vector: &self.a, above: &y },
        };
        let mut attention = Attention::default();
        let mut out = vec![f32::NAN; rows * heads.out_width()];
        let edges = self.neighbours.edges();
        attention.forward(&threads, edges, (by, &x, heads), self.dropout(), &mut out).unwrap();
        let (mut by_x, mut by_y) = (vec![f32::NAN; x.len()], vec![f32::NAN; y.len()]);
        let (mut by_a, mut by_b) = (vec![f32::NAN; self.a.len()], vec![f32::NAN; self.b.len()]);
        let vectors: &mut [&mut [f32]] = if inner { &mut [&mut by_a] } else { &mut [&mut by_a, &mut by_b] };
        let both = (edges, self.neighbours.permuted());
        attention.backward(&threads, both, (by, &x, heads), &self.g, [&mut by_x, &mut by_y], vectors).unwrap();
        if !inner {
            by_y.fill(0.0);
            by_y.resize(y.len(), 0.0);
        } else {
            by_b.fill(0.0);
        }
        Found { out, by_x: self.separated(&by_x), by_y: self.separated(&by_y), by_a, by_b }
    }

    /// Both passes by one table, without threads or pieces; results and the gradient by x.
    fn run_by(&self, table: &Table, inner: bool) -> (Vec<f32>, Vec<f32>) {
        let Problem { heads, rows, columns, .. } = *self;
        let (lanes, stride) = (heads.lanes(), heads.stride());
        let [x, y, a, b] = [&self.x, &self.y, &self.a, &self.b].map(|from| self.interleaved(from));
        let (edges, permuted) = (self.neighbours.edges(), self.neighbours.permuted());
        let nan = |len: usize| vec![f32::NAN; len];
        let (mut s, mut d) = (nan(columns * lanes), nan(columns * lanes));
        table.score_rows(&x, heads, [&a, &b], [&mut s, &mut d]);
        let scores = match inner {
            false => Scores::Sum { scores: [&s, &d], own: Pick::List(&self.own), vectors: [&a, &b] },
            true => Scores::Inner { above: &y, vector: &a },
        };
        let (mut e, mut shares) = (nan(edges.indices.len() * lanes), nan(rows * lanes));
        let mut out = nan(rows * heads.out_width());
        let (drops, scale) = self.dropout().map_or((None, 1.0), |d| (Some(d.drops), d.scale));
        let of = Attended { scores, x: &x, heads };
        table.attend((edges, 0), of, (drops, scale), [&mut e, &mut shares, &mut out]);
        let mut g = nan(rows * stride);
        for (from, to) in self.g.chunks_exact(heads.out_width()).zip(g.chunks_exact_mut(stride)) {
            heads.interleave_gradient(from, to);
        }
        let (mut pairs, mut by_rows) = (nan(2 * e.len()), nan(rows * if inner { stride } else { lanes }));
        let mut by_vectors = vec![0.0; 2 * stride];
        let to = [&mut pairs[..], &mut by_rows, &mut by_vectors[..stride]];
        table.attend_backward((edges, 0), of, (&g, scale), [&e, &shares], to);
        let mut by_own = vec![0.0; columns * lanes];
        if !inner {
            for (&to, by) in self.own.iter().zip(by_rows.chunks_exact(lanes)) {
                by_own[to as usize * lanes..][..lanes].iter_mut().zip(by).for_each(|(to, by)| *to += by);
            }
        }
        let mut by_x = nan(x.len());
        let kept = [&pairs[..], &by_own];
        table.attend_transposed((permuted, 0), of, &g, kept, [&mut by_x, &mut by_vectors]);
        (out, self.separated(&by_x))
    }

    /// The result in double precision, and a hash of the signs of the scores.
    fn reference(&self, inner: bool, [x, y, a, b]: [&[f64]; 4]) -> (Vec<f64>, u64) {
        let Heads { heads, width, mean } = self.heads;
        let (c, edges) = (self.heads.columns(), self.neighbours.edges());
        let (mut out, mut signs) = (vec![0.0; self.rows * self.heads.out_width()], 0u64);
        let mut leaky = |z: f64| {
            signs = (signs ^ u64::from(z > 0.0)).wrapping_mul(0x100_0000_01b3).rotate_left(5);
            if z > 0.0 { z } else { SLOPE * z }
        };
        for v in 0..self.rows {
            let range = edges.indptr[v] as usize..edges.indptr[v + 1] as usize;
            for h in 0..heads {
                let columns = h * width..(h + 1) * width;
                let product = |a: &[f64], row: &[f64]| -> f64 { columns.clone().map(|j| a[j] * row[j]).sum() };
                let scores: Vec<f64> = range
                    .clone()
                    .map(|at| {
                        let row = &x[edges.indices[at] as usize * c..][..c];
                        let score = match inner {
                            false => leaky(product(a, row) + product(b, &x[self.own[v] as usize * c..])),
                            true => columns.clone().map(|j| a[j] * leaky(row[j] + y[v * c + j])).sum(),
                        };
                        score + edges.logs.map_or(0.0, |logs| f64::from(logs[at]))
                    })
                    .collect();
                let largest = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                let total: f64 = scores.iter().map(|score| (score - largest).exp()).sum();
                for (at, score) in range.clone().zip(&scores) {
                    let u = edges.indices[at] as usize;
                    let mut alpha = (score - largest).exp() / total;
                    if let Some(Dropout { drops, scale }) = self.dropout() {
                        let key = mix_key(mix_key(drops.key, self.nodes[0][v] as u64), self.nodes[1][u] as u64);
                        let dropped = mix(h as u32, key as u32, (key >> 32) as u32) < drops.threshold;
                        alpha *= if dropped { 0.0 } else { f64::from(scale) };
                    }
                    for j in 0..width {
                        let value = alpha * x[u * c + h * width + j];
                        match mean {
                            false => out[v * c + h * width + j] += value,
                            true => out[v * width + j] += value / heads as f64,
                        }
                    }
                }
            }
        }
        (out, signs)
    }

    /// Compares both passes with double precision and its central differences.
    fn check(&self, inner: bool, found: &Found, what: &str) {
        let real = |floats: &[f32]| floats.iter().map(|&x| f64::from(x)).collect::<Vec<_>>();
        let mut w = [&self.x, &self.y, &self.a, &self.b].map(|floats| real(floats));
        let run = |w: &[Vec<f64>; 4]| self.reference(inner, w.each_ref().map(|w| &w[..]));
        let (out, _) = run(&w);
        for (i, (&found, wanted)) in found.out.iter().zip(&out).enumerate() {
            assert!((f64::from(found) - wanted).abs() <= 3e-6, "{what}: out[{i}] = {found}, not {wanted}");
        }
        const STEP: f64 = 1e-5;
        let mut checked = 0;
        for (part, by) in [&found.by_x, &found.by_y, &found.by_a, &found.by_b].into_iter().enumerate() {
            for (i, &by) in by.iter().enumerate() {
                let at = w[part][i];
                let mut moved = |step: f64| {
                    w[part][i] = at + step;
                    let (out, signs) = run(&w);
                    w[part][i] = at;
                    (out.iter().zip(&self.g).map(|(out, &g)| out * f64::from(g)).sum::<f64>(), signs)
                };
                let ((above, up), (below, down)) = (moved(STEP), moved(-STEP));
                if up == down {
                    let wanted = (above - below) / (2.0 * STEP);
                    let error = (f64::from(by) - wanted).abs();
                    assert!(error <= 2e-5, "{what}: gradient {part}, {i} is {by}, not {wanted}");
                    checked += 1;
                }
            }
        }
        assert!(checked > 0);
    }
}

/// Heads of all kinds: padded, alone, more than a vector, averaged.
fn heads() -> impl Iterator<Item = Heads> {
    let shapes =
        [(8, 8), (1, 1), (1, 7), (1, 64), (2, 5), (3, 4), (4, 8), (4, 33), (6, 3), (8, 3), (16, 2), (17, 2), (40, 1)];
    shapes.into_iter().flat_map(|(heads, width)| [false, true].map(|mean| Heads { heads, width, mean }))
}

#[test]
fn both_kinds_of_attention_and_their_gradients_are_those_of_double_precision() {
    let mut random = Random::new(1);
    for (i, heads) in heads().enumerate() {
        for inner in [false, true] {
            for own in [false, true] {
                let (weighted, rate) = ((i + usize::from(own)) % 2 == 0, [0.0, 0.4][(i + usize::from(inner)) % 2]);
                let problem = Problem::new(&mut random, heads, own, weighted, rate);
                let what = format!("{heads:?}, inner {inner}, own {own}, weighted {weighted}, rate {rate}");
                problem.check(inner, &problem.run(inner, 1), &what);
            }
        }
    }
}

#[test]
fn every_table_has_the_same_attention_within_rounding() {
    let mut random = Random::new(2);
    for heads in heads() {
        for inner in [false, true] {
            for rate in [0.0, 0.3] {
                let problem = Problem::new(&mut random, heads, rate > 0.0, true, rate);
                let wanted = problem.run(inner, 1);
                for table in available() {
                    let (out, by_x) = problem.run_by(table, inner);
                    for (found, wanted) in out.iter().chain(&by_x).zip(wanted.out.iter().chain(&wanted.by_x)) {
                        assert!((found - wanted).abs() <= 1e-5, "{}, {heads:?}: {found}, not {wanted}", table.name);
                    }
                }
            }
        }
    }
}

#[test]
fn attention_has_the_same_bits_for_any_number_of_threads() {
    let mut random = Random::new(3);
    let n = 3000;
    let edges: Vec<[i32; 2]> =
        (0..12_000).map(|i| [random.below(n) as i32, if i % 5 == 0 { 7 } else { random.below(n) as i32 }]).collect();
    let [sources, targets] = [0, 1].map(|k| edges.iter().map(|edge| edge[k]).collect::<Vec<_>>());
    let graph = Graph::from_edges(n, &sources, &targets, None).unwrap();
    let all = Pick::From(0);
    for (heads, inner) in [(8, false), (8, true), (1, false), (3, true)] {
        let heads = Heads { heads, width: 8, mean: heads == 3 };
        let (c, stride) = (heads.columns(), heads.stride());
        let (mut x, mut y) = (vec![0.0; n * stride], vec![0.0; n * stride]);
        heads.interleave(&random.floats(n * c), &mut x);
        heads.interleave(&random.floats(n * c), &mut y);
        let (a, b, g) = (random.floats(c), random.floats(c), random.floats(n * heads.out_width()));
        let by = if inner { By::Inner { vector: &a, above: &y } } else { By::Sum { vectors: [&a, &b], own: all } };
        let drops = Drops { key: 5, threshold: 1 << 30, nodes: [all, all] };
        let mut first = None;
        for count in 1..=3 {
            let threads = Threads::new(count).unwrap();
            let mut attention = Attention::default();
            let (edges, permuted) = (graph.neighbours(true).unwrap(), graph.permuted_neighbours(true).unwrap());
            let mut out = vec![f32::NAN; n * heads.out_width()];
            let dropout = Some(Dropout { drops, scale: 4.0 / 3.0 });
            attention.forward(&threads, edges, (by, &x, heads), dropout, &mut out).unwrap();
            let (mut by_x, mut by_y, mut by_a, mut by_b) = (x.clone(), y.clone(), a.clone(), b.clone());
            let vectors: &mut [&mut [f32]] = if inner { &mut [&mut by_a] } else { &mut [&mut by_a, &mut by_b] };
            let to = [&mut by_x[..], &mut by_y];
            attention.backward(&threads, (edges, permuted), (by, &x, heads), &g, to, vectors).unwrap();
            let found = [out, by_x, by_y, by_a, by_b].map(|list| bits(&list));
            assert!(first.get_or_insert(found.clone()) == &found, "{heads:?}, inner {inner}, {count} threads");
        }
    }
}

#[test]
fn a_coefficient_is_dropped_by_its_nodes_and_head_wherever_they_stand() {
    // The same two rows, alone and in other company.
    let heads = Heads { heads: 4, width: 3, mean: false };
    let mut random = Random::new(4);
    let (indptr, indices, values) = ([0i64, 3, 6], [0, 1, 2, 0, 2, 3], [1f32; 6]);
    let links = Sparse { indptr: &indptr, indices: &indices, values: &values };
    let (x, a, b) = (random.floats(4 * 12), random.floats(12), random.floats(12));
    let run = |rows: &[i32]| -> Vec<f32> {
        let mut neighbours = Neighbours::default();
        let below = Pick::From(100);
        let above: Vec<i32> = rows.iter().map(|row| row + 100).collect();
        let nodes = [Pick::List(&above), below];
        neighbours.read((links, Pick::List(rows), rows.len()), Some(Pick::List(rows)), nodes).unwrap();
        let mut rows_of_x = vec![0.0; 4 * heads.stride()];
        heads.interleave(&x, &mut rows_of_x);
        let by = By::Sum { vectors: [&a, &b], own: Pick::List(rows) };
        let dropout = Dropout { drops: Drops { key: 9, threshold: 1 << 31, nodes }, scale: 2.0 };
        let mut out = vec![f32::NAN; rows.len() * 12];
        let threads = Threads::new(1).unwrap();
        Attention::default()
            .forward(&threads, neighbours.edges(), (by, &rows_of_x, heads), Some(dropout), &mut out)
            .unwrap();
        out
    };
    let both = run(&[0, 1]);
    assert_eq!(bits(&run(&[1])), bits(&both[12..]));
    assert_eq!(bits(&run(&[1, 0, 1])[12..24]), bits(&both[..12]));
}

#[test]
fn large_scores_neither_overflow_nor_vanish_and_empty_rows_are_0() {
    let heads = Heads { heads: 2, width: 2, mean: false };
    let (indptr, indices) = ([0i64, 2, 2, 3], [0, 1, 1]);
    let edges = Edges { indptr: &indptr, indices: &indices, logs: None };
    let mut x = vec![0.0; 3 * 16];
    heads.interleave(&[3e18, -3e18, 1.0, 2.0, -3e18, 3e18, 1.5, 2.5, 0.0, 0.0, 0.0, 0.0], &mut x);
    let (a, b) = ([1e19f32, 0.0, 1.0, 0.0], [0.0; 4]);
    for table in available() {
        let mut vectors = [vec![0.0; 16], vec![0.0; 16]];
        heads.interleave(&a, &mut vectors[0]);
        heads.interleave(&b, &mut vectors[1]);
        let [a, b] = vectors.each_ref().map(|vector| &vector[..]);
        let (mut s, mut d, mut e, mut shares, mut out) =
            ([0.0; 6], [0.0; 6], [f32::NAN; 6], [f32::NAN; 6], [f32::NAN; 12]);
        table.score_rows(&x, heads, [a, b], [&mut s, &mut d]);
        let scores = Scores::Sum { scores: [&s, &d], own: Pick::From(0), vectors: [a, b] };
        let of = Attended { scores, x: &x, heads };
        table.attend((edges, 0), of, (None, 1.0), [&mut e, &mut shares, &mut out]);
        let alpha = [e[0] * shares[0], e[2] * shares[0]];
        assert!((alpha[0] - 1.0).abs() < 1e-6 && (0.0..1e-30).contains(&alpha[1]), "{}: {alpha:?}", table.name);
        assert_eq!(out[4..8], [0.0; 4], "{}", table.name);
        for (found, wanted) in out[8..].iter().zip([-3e18f32, 3e18, 1.5, 2.5]) {
            assert!((found / wanted - 1.0).abs() < 1e-6, "{}: a row of one entry is that entry", table.name);
        }
    }
}

#[test]
fn one_head_of_one_edge_type_serves_whole_graphs_and_blocks_alike() {
    // A graph's own lists, and a copy of some of its rows, give the same bits.
    let mut random = Random::new(5);
    let n = 60;
    let ends = [0, 1].map(|_| (0..150).map(|_| random.below(n) as i32).collect::<Vec<_>>());
    for normalization in [Normalization::Symmetric, Normalization::None] {
        let mut graph = Graph::from_edges(n, &ends[0], &ends[1], None).unwrap();
        graph.set_normalization(normalization).unwrap();
        let heads = Heads { heads: 2, width: 5, mean: false };
        let mut x = vec![0.0; n * heads.stride()];
        heads.interleave(&random.floats(n * 10), &mut x);
        let (a, b) = (random.floats(10), random.floats(10));
        let threads = Threads::new(1).unwrap();
        let run = |edges: Edges<'_>, own: Pick<'_>, out: &mut [f32]| {
            let by = By::Sum { vectors: [&a, &b], own };
            Attention::default().forward(&threads, edges, (by, &x, heads), None, out).unwrap();
        };
        let mut whole = vec![f32::NAN; n * 10];
        run(graph.neighbours(true).unwrap(), Pick::From(0), &mut whole);
        let list: Vec<i32> = (0..n as i32).rev().step_by(3).collect();
        let mut neighbours = Neighbours::default();
        let links = graph.operator_of(plimsoll::graph::Operator::Links).unwrap();
        let rows = Pick::List(&list);
        neighbours.read((links, rows, list.len()), Some(rows), [rows, Pick::From(0)]).unwrap();
        let mut part = vec![f32::NAN; list.len() * 10];
        run(neighbours.edges(), rows, &mut part);
        for (&v, part) in list.iter().zip(part.chunks_exact(10)) {
            assert_eq!(bits(part), bits(&whole[v as usize * 10..][..10]), "{v}");
        }
    }
}
