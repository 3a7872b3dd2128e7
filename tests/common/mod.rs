//! What several test programs share.
#![allow(dead_code)]

pub mod dense;
pub mod layered;
pub mod random;
pub mod stats;

use ndarray::{Array2, ArrayView2};
use plimsoll::graph::{Graph, Split};
use plimsoll::model::Model;
use random::Random;
use std::fs::File;
use std::path::Path;

/// Arrays of an `.npz` file, read without the library's own loader.
pub struct Archive(zip::ZipArchive<File>);

impl Archive {
    /// The reference values of tests/golden.npz.
    pub fn golden() -> Self {
        Self::open(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden.npz"))
    }

    pub fn open(path: &Path) -> Self {
        Archive(zip::ZipArchive::new(File::open(path).unwrap()).unwrap())
    }

    pub fn reals(&mut self, name: &str) -> Vec<f64> {
        self.array(name)
    }

    pub fn floats(&mut self, name: &str) -> Vec<f32> {
        self.reals(name).into_iter().map(|x| x as f32).collect()
    }

    pub fn ints(&mut self, name: &str) -> Vec<i32> {
        self.array(name)
    }

    pub fn text(&mut self, name: &str) -> String {
        String::from_utf8(self.array(name)).unwrap()
    }

    pub fn has(&mut self, name: &str) -> bool {
        self.0.by_name(&format!("{name}.npy")).is_ok()
    }

    /// Row-major, whichever way NumPy stored it.
    fn array<T: npyz::Deserialize + Copy>(&mut self, name: &str) -> Vec<T> {
        let entry = self.0.by_name(&format!("{name}.npy")).unwrap_or_else(|e| panic!("{name}: {e}"));
        let npy = npyz::NpyFile::new(entry).unwrap();
        let by_columns = npy.order() == npyz::Order::Fortran;
        let shape = npy.shape().to_vec();
        let data: Vec<T> = npy.into_vec().unwrap();
        match shape[..] {
            [rows, columns] if by_columns => {
                let (rows, columns) = (rows as usize, columns as usize);
                (0..rows * columns).map(|at| data[at % columns * rows + at / columns]).collect()
            }
            _ => data,
        }
    }
}

/// ‖a‖.
pub fn norm(a: &[f64]) -> f64 {
    a.iter().map(|x| x * x).sum::<f64>().sqrt()
}

/// ‖a − b‖.
pub fn distance(a: &[f64], b: &[f64]) -> f64 {
    assert_eq!(a.len(), b.len());
    a.iter().zip(b).map(|(x, y)| (x - y) * (x - y)).sum::<f64>().sqrt()
}

/// Floats as the reals they are.
pub fn reals(floats: &[f32]) -> Vec<f64> {
    floats.iter().map(|&x| f64::from(x)).collect()
}

/// Row-major floats as a matrix of the reals they are.
pub fn matrix(data: &[f32], columns: usize) -> Array2<f64> {
    ArrayView2::from_shape((data.len() / columns, columns), data).unwrap().mapv(f64::from)
}

/// The bits of each number, to compare results exactly.
pub fn bits(floats: &[f32]) -> Vec<u32> {
    floats.iter().map(|x| x.to_bits()).collect()
}

/// A model whose hidden units keep their sign on every row, whatever is drawn, if no feature is negative: each column of a hidden
/// W has one sign. The largest entries are `scale`, divided by the fan-in in hidden layers; the smallest hidden ones are a fifth
/// of that.
///
/// ∇f jumps where a hidden unit passes 0, and no finite difference holds there. Also, a unit within ε of 0 flips in half of the
/// draws until their number N is about 1/ε²: the bias of a sampled gradient still vanishes, but at no rate that a grid of N can
/// show. Away from those kinks a sampled gradient is a smooth function of how often each node was drawn. Its deviation then
/// falls like N^-½ and its bias like 1/N.
pub fn without_kinks(widths: &[usize], scale: f64) -> Model {
    let mut random = Random::new(1);
    let mut parameters = Vec::new();
    for (l, pair) in widths.windows(2).enumerate() {
        for at in 0..pair[0] * pair[1] {
            let (last_layer, last_unit) = (l + 2 == widths.len(), at % pair[1] + 1 == pair[1]);
            // The last unit of a hidden layer is negative, so that it is dead and has the gradient 0.
            let sign = if last_unit && pair[1] > 1 { -1.0 } else { 1.0 };
            parameters.push(match last_layer {
                true => random.float(-scale, scale),
                false => sign * random.float(0.2 * scale, scale) / pair[0] as f32,
            });
        }
    }
    let mut model = Model::gcn(widths, 0).unwrap();
    model.set_parameters(&parameters).unwrap();
    model
}

/// A graph of random edges with three classes.
pub fn random_graph(n: usize, edges: usize, random: &mut Random) -> Graph {
    let mut ends = || (0..edges).map(|_| random.below(n) as i32).collect::<Vec<_>>();
    let mut graph = Graph::from_edges(n, &ends(), &ends(), None).unwrap();
    graph.set_labels(&(0..n).map(|v| (v % 3) as i32).collect::<Vec<_>>()).unwrap();
    graph
}

/// Sets sparse features: `per_row` in each row, one in each of as many parts of the columns.
pub fn set_spread_features(graph: &mut Graph, columns: usize, per_row: usize, random: &mut Random) {
    let n = graph.num_nodes();
    let indptr: Vec<i64> = (0..=n).map(|v| (per_row * v) as i64).collect();
    let each = columns / per_row;
    let indices: Vec<i32> = (0..n * per_row).map(|at| (at % per_row * each + random.below(each)) as i32).collect();
    graph.set_sparse_features(columns, &indptr, &indices, &random.floats(n * per_row)).unwrap();
}

/// Thirty training nodes whose three features nearly determine their class, for [`confident_model`].
pub fn confident_graph() -> Graph {
    let mut random = Random::new(6);
    let mut graph = Graph::from_edges(30, &[0, 3, 7], &[3, 6, 10], None).unwrap();
    let feature = |at: usize| if at % 3 == at / 3 % 3 { 1.0 } else { random.float(0.0, 0.1) };
    graph.set_features(3, &(0..90).map(feature).collect::<Vec<_>>()).unwrap();
    graph.set_labels(&(0..30).map(|v| v % 3).collect::<Vec<_>>()).unwrap();
    graph.set_split(Split::Train, &(0..30).collect::<Vec<_>>()).unwrap();
    graph
}

/// W = `sureness`·I: the probability of a wrong class is about e^-sureness.
pub fn confident_model(sureness: f32) -> Model {
    let mut model = Model::gcn(&[3, 3], 0).unwrap();
    model.set_parameters(&[sureness, 0.0, 0.0, 0.0, sureness, 0.0, 0.0, 0.0, sureness]).unwrap();
    model
}
