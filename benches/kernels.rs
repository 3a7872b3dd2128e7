//! Each kernel and the sampler, on one thread: `cargo bench --bench kernels`.
//!
//! The shapes are those of a training step on Pubmed: a few hundred rows with 50 non-zeros each, of a matrix with 500 columns.
//! A word selects benchmarks by name (`-- sparse_times`). The rate is flops, or draws. `PLIM_ISA` selects a lower instruction
//! set.

use divan::counter::ItemsCount;
use divan::{Bencher, black_box};
use plimsoll::graph::{Graph, Operator};
use plimsoll::kernel::{Finish, Pick, Rows, Sparse, table};
use plimsoll::sample::{Cut, Distribution, Draws, Hop, Key, Sampler, Step};

const ROWS: usize = 256;
const DEPTH: usize = 500;
const PER_ROW: usize = 50;
const WIDTHS: [usize; 4] = [3, 7, 16, 64];

fn main() {
    divan::main();
}

/// SplitMix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    fn floats(&mut self, count: usize) -> Vec<f32> {
        (0..count).map(|_| (self.next() >> 40) as f32 / (1 << 23) as f32 - 1.0).collect()
    }
}

/// A sparse left factor.
struct Factor {
    indptr: Vec<i64>,
    indices: Vec<i32>,
    values: Vec<f32>,
}

impl Factor {
    fn new(random: &mut Random) -> Self {
        let indptr = (0..=ROWS).map(|row| (row * PER_ROW) as i64).collect();
        let mut indices = Vec::with_capacity(ROWS * PER_ROW);
        for _ in 0..ROWS {
            let mut row: Vec<i32> =
                (0..PER_ROW).map(|i| (i * DEPTH / PER_ROW + random.below(DEPTH / PER_ROW)) as i32).collect();
            row.sort_unstable();
            indices.extend(row);
        }
        Factor { indptr, indices, values: random.floats(ROWS * PER_ROW) }
    }

    fn rows(&self) -> Rows<'_> {
        Rows::Sparse(Sparse { indptr: &self.indptr, indices: &self.indices, values: &self.values })
    }
}

/// `out ← A·M`, A sparse.
#[divan::bench(args = WIDTHS)]
fn sparse_times(bencher: Bencher<'_, '_>, width: usize) {
    let mut random = Random(1);
    let (a, m, mut out) = (Factor::new(&mut random), random.floats(DEPTH * width), vec![0.0; ROWS * width]);
    bencher.counter(ItemsCount::new(2 * ROWS * PER_ROW * width)).bench_local(|| {
        table().times(a.rows(), Pick::From(0), black_box(&m), width, Finish::Plain, black_box(&mut out))
    });
}

/// `M += Aᵀ·G`, A sparse.
#[divan::bench(args = WIDTHS)]
fn sparse_transposed_times(bencher: Bencher<'_, '_>, width: usize) {
    let mut random = Random(2);
    let (a, g) = (Factor::new(&mut random), random.floats(ROWS * width));
    let mut m = vec![0.0; DEPTH * width];
    bencher.counter(ItemsCount::new(2 * ROWS * PER_ROW * width)).bench_local(|| {
        table().transposed_times(a.rows(), Pick::From(0), black_box(&g), width, black_box(&mut m));
    });
}

/// `out ← B·M`, B dense.
#[divan::bench(args = WIDTHS)]
fn dense_times(bencher: Bencher<'_, '_>, width: usize) {
    let mut random = Random(3);
    let (b, m, mut out) = (random.floats(ROWS * DEPTH), random.floats(DEPTH * width), vec![0.0; ROWS * width]);
    let rows = Rows::Dense { data: &b, width: DEPTH };
    bencher
        .counter(ItemsCount::new(2 * ROWS * DEPTH * width))
        .bench_local(|| table().times(rows, Pick::From(0), black_box(&m), width, Finish::Plain, black_box(&mut out)));
}

/// `M += Bᵀ·G`, B dense.
#[divan::bench(args = WIDTHS)]
fn dense_transposed_times(bencher: Bencher<'_, '_>, width: usize) {
    let mut random = Random(4);
    let (b, g) = (random.floats(ROWS * DEPTH), random.floats(ROWS * width));
    let (rows, mut m) = (Rows::Dense { data: &b, width: DEPTH }, vec![0.0; DEPTH * width]);
    bencher.counter(ItemsCount::new(2 * ROWS * DEPTH * width)).bench_local(|| {
        table().transposed_times(rows, Pick::From(0), black_box(&g), width, black_box(&mut m));
    });
}

/// Row-wise softmax; the rate is exponentials.
#[divan::bench(args = WIDTHS)]
fn softmax(bencher: Bencher<'_, '_>, width: usize) {
    let (z, mut work, mut sums) = (Random(5).floats(ROWS * width), vec![0.0; ROWS * width], vec![0.0; ROWS]);
    bencher.counter(ItemsCount::new(ROWS * width)).bench_local(|| {
        work.copy_from_slice(black_box(&z));
        table().softmax(&mut work, width, black_box(&mut sums));
    });
}

/// From logits to the gradient of the loss; the rate is exponentials.
#[divan::bench(args = WIDTHS)]
fn cross_entropy(bencher: Bencher<'_, '_>, width: usize) {
    let (z, mut work) = (Random(7).floats(ROWS * width), vec![0.0; ROWS * width]);
    let labels: Vec<i32> = (0..ROWS).map(|i| (i % width) as i32).collect();
    bencher.counter(ItemsCount::new(ROWS * width)).bench_local(|| {
        work.copy_from_slice(black_box(&z));
        table().cross_entropy(&mut work, width, &labels, Pick::From(0), 1.0 / ROWS as f32)
    });
}

/// `w ← w − γ·g`; the rate is parameters.
#[divan::bench(args = [DEPTH * 3, DEPTH * 16])]
fn descend(bencher: Bencher<'_, '_>, count: usize) {
    let mut random = Random(8);
    let (mut w, g) = (random.floats(count), random.floats(count));
    bencher
        .counter(ItemsCount::new(count))
        .bench_local(|| table().descend(black_box(&mut w), black_box(&g), 1.0, 1e-9));
}

const NODES: usize = 20_000;
const NEIGHBOURS: usize = 5;

/// The cut of a 2-layer step with an exact input and draws at the hidden layer; the rate is draws.
#[divan::bench(args = ["exact", "uniform", "importance", "neighbors", "ladies"], consts = [400, 3200])]
fn draw_a_cut<const SIZE: usize>(bencher: Bencher<'_, '_>, name: &str) {
    let mut random = Random(6);
    let mut ends = || (0..NODES * NEIGHBOURS / 2).map(|_| random.below(NODES) as i32).collect::<Vec<_>>();
    let (sources, targets) = (ends(), ends());
    let graph = Graph::from_edges(NODES, &sources, &targets, None).expect("a graph");
    let batch: Vec<i32> = (0..ROWS).map(|i| (i * NODES / ROWS) as i32).collect();
    let distribution = match name {
        "importance" => Distribution::Importance,
        "neighbors" => Distribution::Neighbors,
        "ladies" => Distribution::Ladies,
        _ => Distribution::Uniform,
    };
    let (mut cut, mut sampler, mut step) = (Cut::default(), Sampler::default(), 0);
    let hops = [Hop::Exact, if name == "exact" { Hop::Exact } else { Hop::Draw(SIZE) }];
    // Hop 0 reads ÂX, and needs nothing of the cut.
    let steps = [Step { hop: 1, operator: Operator::Normalized, own: false }];
    bencher.counter(ItemsCount::new(SIZE)).bench_local(|| {
        let draws = Draws { hops: &hops, distribution: &distribution };
        cut.below(&graph, black_box(&batch), &steps, (draws, Key { seed: 0, step }), &mut sampler).expect("a cut");
        step += 1;
    });
}
