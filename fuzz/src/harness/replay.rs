//! Runs a target without libFuzzer.

use super::Target;
use super::mutate::{Random, havoc};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

const LONGEST: usize = 1 << 13;

/// Runs every input of the folders, then so many changed ones; tells of each million.
pub fn replay(target: &Target, folders: &[PathBuf], runs: u64, seed: u64) {
    const TOLD: u64 = 1_000_000;
    let begin = Instant::now();
    let mut files: Vec<PathBuf> = folders.iter().flat_map(|folder| list(folder)).collect();
    files.sort();
    assert!(!files.is_empty(), "{folders:?} are empty");
    let inputs: Vec<Vec<u8>> = files.iter().map(|file| fs::read(file).expect("an input can be read")).collect();
    let mut last = Last { target: target.name, input: Vec::new() };
    for input in &inputs {
        last.run(target, input.clone());
    }
    let mut random = Random::new(seed);
    for run in 0..runs {
        if run % TOLD == 0 && run > 0 {
            println!("fuzz/{}: {run} changes in {:.1} s", target.name, begin.elapsed().as_secs_f64());
        }
        let mut input = inputs[random.below(inputs.len())].clone();
        for _ in 0..=random.below(3) {
            let mut seed = Random::new(random.word());
            let mut core = |bytes: &mut [u8], size: usize, most: usize| havoc(bytes, size, most, &mut seed);
            let most = LONGEST.min(input.len() + 64);
            input = (target.mutate)(input, most, &mut random, &mut core);
        }
        last.run(target, input);
    }
    last.input.clear();
    println!(
        "fuzz/{}: {} inputs and {runs} changes in {:.1} s",
        target.name,
        files.len(),
        begin.elapsed().as_secs_f64()
    );
}

fn list(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    entries.map(|entry| entry.expect("the corpus can be listed").path()).collect()
}

/// The input at work, written to a file should it panic.
struct Last {
    target: &'static str,
    input: Vec<u8>,
}

impl Last {
    fn run(&mut self, target: &Target, input: Vec<u8>) {
        const SLOW: f64 = 20.0;
        self.input = input;
        let begin = Instant::now();
        (target.run)(&self.input);
        if begin.elapsed().as_secs_f64() > SLOW {
            // The machine may have slept, or been busy: once more, by what this thread uses of a processor.
            let begin = busy_seconds();
            (target.run)(&self.input);
            assert!(busy_seconds() - begin < SLOW, "an input took more than {SLOW} s");
        }
    }
}

/// What this thread has used of a processor.
fn busy_seconds() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: a place for a time.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

impl Drop for Last {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let path = std::env::temp_dir().join(format!("plimsoll-fuzz-{}-{}", self.target, std::process::id()));
            let _ = fs::write(&path, &self.input);
            eprintln!("fuzz/{}: the input is in {}", self.target, path.display());
        }
    }
}
