//! The product Â·X of whole-graph inference, with the library's kernel and threads, on a matrix from files.
//!
//!     cargo bench --bench spmm -- DIRECTORY THREADS REPETITIONS WIDTH…
//!
//! DIRECTORY holds `indptr.npy` (i64), `indices.npy` (i32) and `values.npy` (f32), as `compare.py spmm` writes them.
//! Prints a JSON line: the median seconds of a product for each width, and a checksum to compare with other libraries.
//! Without arguments it multiplies a small random matrix, as a test.

use npyz::{Deserialize, NpyFile};
use plimsoll::kernel::{Buffer, Finish, Pick, Rows, Sparse, Threads, table};
use std::fs::File;
use std::io::BufReader;
use std::path::Path;
use std::time::Instant;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with("--")).collect();
    let (indptr, indices, values) = match words.first() {
        Some(directory) => from_files(Path::new(directory)),
        None => random(20_000, 20),
    };
    let whole = |i: usize, otherwise: usize| words.get(i).map_or(otherwise, |w| w.parse().expect("a whole number"));
    let (threads, repetitions) = (Threads::new(whole(1, 1)).expect("threads"), whole(2, 3));
    let widths = if words.len() > 3 { (3..words.len()).map(|i| whole(i, 0)).collect() } else { vec![16, 64] };

    let rows = Rows::Sparse(Sparse { indptr: &indptr, indices: &indices, values: &values });
    let results = widths.iter().map(|&width| {
        let (seconds, checksum) = measure(rows, indptr.len() - 1, width, &threads, repetitions);
        format!("\"{width}\": {{\"seconds\": {seconds}, \"checksum\": {checksum}}}")
    });
    let results = results.collect::<Vec<_>>().join(", ");
    println!("{{\"isa\": \"{}\", \"threads\": {}, \"widths\": {{{results}}}}}", table().name, threads.count());
}

/// Median seconds, and the sum of every 997th number of the product; in buffers such as inference has.
fn measure(rows: Rows<'_>, n: usize, width: usize, threads: &Threads, repetitions: usize) -> (f64, f64) {
    let (mut x, mut out) = (Buffer::default(), Buffer::default());
    x.try_resize(n * width).expect("memory");
    x.iter_mut().enumerate().for_each(|(at, x)| *x = entry(at / width, at % width));
    out.try_resize(n * width).expect("memory");
    let mut seconds: Vec<f64> = (0..repetitions + 1)
        .map(|_| {
            let start = Instant::now();
            threads.times(rows, Pick::From(0), &x, width, Finish::Plain, &mut out);
            start.elapsed().as_secs_f64()
        })
        .skip(1)
        .collect();
    seconds.sort_by(f64::total_cmp);
    (seconds[seconds.len() / 2], out.iter().step_by(997).map(|&v| f64::from(v)).sum())
}

/// X, the same in every engine.
fn entry(i: usize, j: usize) -> f32 {
    ((i * 31 + j * 17) % 64) as f32 / 64.0
}

fn from_files(directory: &Path) -> (Vec<i64>, Vec<i32>, Vec<f32>) {
    (read(&directory.join("indptr.npy")), read(&directory.join("indices.npy")), read(&directory.join("values.npy")))
}

fn read<T: Deserialize>(path: &Path) -> Vec<T> {
    let file = File::open(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    NpyFile::new(BufReader::new(file))
        .and_then(|npy| npy.into_vec())
        .unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

fn random(n: usize, degree: usize) -> (Vec<i64>, Vec<i32>, Vec<f32>) {
    let mut state = 1u64;
    let mut below = |bound: usize| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (((state >> 33) * bound as u64) >> 31) as i32
    };
    let indptr = (0..=n).map(|v| (v * degree) as i64).collect();
    (indptr, (0..n * degree).map(|_| below(n)).collect(), vec![1.0 / degree as f32; n * degree])
}
