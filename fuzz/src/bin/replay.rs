//! Runs targets without libFuzzer: every input of the corpus, then so many changed ones.
//!
//!     replay CORPUS RUNS [TARGET…]     runs; RUNS changed inputs for each target
//!     replay seeds CORPUS              writes the seeds
//!     replay show TARGET FILE          runs one input

use plimsoll_fuzz::harness::replay::replay;
use plimsoll_fuzz::harness::{TARGETS, seeds, target};
use std::path::Path;
use std::{env, fs, process};

fn main() {
    let arguments: Vec<String> = env::args().skip(1).collect();
    match &arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["seeds", corpus] => seeds::write(Path::new(corpus)).expect("the corpus can be written"),
        ["show", name, file] => {
            (target(name).run)(&fs::read(file).expect("the file can be read"));
        }
        [corpus, runs, names @ ..] => {
            let runs = runs.parse().expect("RUNS is a number");
            let chosen = TARGETS.iter().filter(|t| names.is_empty() || names.contains(&t.name));
            chosen.for_each(|target| replay(target, &Path::new(corpus).join(target.name), runs));
        }
        _ => {
            eprintln!("usage: replay CORPUS RUNS [TARGET…] | seeds CORPUS | show TARGET FILE");
            process::exit(2);
        }
    }
}
