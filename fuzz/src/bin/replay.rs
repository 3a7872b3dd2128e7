//! Runs targets without libFuzzer: every input of a corpus, then so many changed ones.
//!
//!     replay RUNS SEED TARGET FOLDER…  runs the inputs of the folders, then RUNS changed ones
//!     replay seeds CORPUS              writes the seeds
//!     replay show TARGET FILE          runs one input

use plimsoll_fuzz::harness::replay::replay;
use plimsoll_fuzz::harness::{seeds, target};
use std::path::{Path, PathBuf};
use std::{env, fs, process};

fn main() {
    let arguments: Vec<String> = env::args().skip(1).collect();
    match &arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["seeds", corpus] => seeds::write(Path::new(corpus)).expect("the corpus can be written"),
        ["show", name, file] => {
            (target(name).run)(&fs::read(file).expect("the file can be read"));
        }
        [runs, seed, name, folders @ ..] if !folders.is_empty() => {
            let folders: Vec<PathBuf> = folders.iter().map(PathBuf::from).collect();
            let (runs, seed) = (runs.parse().expect("RUNS is a number"), seed.parse().expect("SEED is a number"));
            replay(target(name), &folders, runs, seed);
        }
        _ => {
            eprintln!("usage: replay RUNS SEED TARGET FOLDER… | seeds CORPUS | show TARGET FILE");
            process::exit(2);
        }
    }
}
