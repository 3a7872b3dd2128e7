//! What several test programs share.
#![allow(dead_code)]

use std::fs::File;
use std::path::Path;

/// Arrays of an `.npz` file, read without the library's own loader.
pub struct Archive(zip::ZipArchive<File>);

impl Archive {
    /// The golden values of the oracle.
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
