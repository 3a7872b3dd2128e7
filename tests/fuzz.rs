//! The fuzz targets without libFuzzer: every input of `fuzz/corpus`, then changed ones, PLIM_FUZZ_RUNS of each target.
//!
//! `make fuzz` is the long form.
#![cfg(all(target_os = "linux", target_env = "gnu"))]
#![allow(unsafe_code)]

#[allow(dead_code)]
#[path = "../fuzz/src/harness/mod.rs"]
mod harness;

use std::path::Path;

fn replay(name: &str) {
    let runs = std::env::var("PLIM_FUZZ_RUNS").map_or(1000, |runs| runs.parse().expect("PLIM_FUZZ_RUNS is a number"));
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus").join(name);
    harness::replay::replay(harness::target(name), &[corpus], runs, 1);
}

macro_rules! targets {
    ($($name:ident)*) => {$(
        #[test]
        fn $name() {
            replay(stringify!($name));
        }
    )*};
}

targets! { npz store safetensors checkpoint edge_list matrix_market letor calls }

#[test]
fn every_target_is_here() {
    assert_eq!(harness::TARGETS.len(), 8);
}

#[test]
fn the_checkpoints_to_begin_with_are_of_the_present_format() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus/checkpoint");
    for kind in 0..harness::checkpoint::KINDS {
        let seed = std::fs::read(corpus.join(format!("seed-{kind:02}"))).unwrap();
        assert!(harness::checkpoint::resumes(&seed), "seed-{kind:02}: `replay seeds fuzz/corpus` writes them anew");
    }
}
