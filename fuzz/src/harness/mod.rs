//! What is fuzzed, without the fuzzer: libFuzzer drives it in `fuzz_targets`, and `tests/fuzz.rs` of the library without one.
//!
//! A target takes bytes, hands them to the library through its C interface and panics where the library breaks its word:
//! a status that the header does not document for the call, an out-parameter that a failure has touched, a failure
//! without a message, memory beyond what a file of that size may ask for.

pub mod allocator;
mod calls;
pub mod checkpoint;
mod disk;
mod graph;
mod input;
mod members;
mod memory;
mod model;
pub mod mutate;
mod promise;
mod rank;
pub mod replay;
pub mod seeds;

use mutate::Mutator;

/// Something to fuzz.
pub struct Target {
    /// Its name, and that of its corpus.
    pub name: &'static str,
    /// Runs an input; false if it is not worth keeping, being slow.
    pub run: fn(&[u8]) -> bool,
    /// Changes an input.
    pub mutate: Mutator,
}

/// All of them.
pub static TARGETS: [Target; 8] = [
    Target { name: "npz", run: graph::npz, mutate: members::mutate_npz },
    Target { name: "store", run: graph::store, mutate: members::mutate_store },
    Target { name: "safetensors", run: model::run, mutate: mutate::safetensors },
    Target { name: "checkpoint", run: checkpoint::run, mutate: checkpoint::mutate },
    Target { name: "edge_list", run: graph::edge_list, mutate: mutate::text },
    Target { name: "matrix_market", run: graph::matrix_market, mutate: mutate::text },
    Target { name: "letor", run: rank::letor, mutate: mutate::text },
    Target { name: "calls", run: calls::run, mutate: mutate::raw },
];

/// The target of that name.
pub const fn target(name: &str) -> &'static Target {
    let mut i = 0;
    while i < TARGETS.len() {
        if same(TARGETS[i].name.as_bytes(), name.as_bytes()) {
            return &TARGETS[i];
        }
        i += 1;
    }
    panic!("there is no such target");
}

const fn same(a: &[u8], b: &[u8]) -> bool {
    let mut i = 0;
    while i < a.len() && i < b.len() && a[i] == b[i] {
        i += 1;
    }
    i == a.len() && i == b.len()
}
