//! Targets for libFuzzer.

pub mod harness;

#[cfg(feature = "libfuzzer")]
pub use libfuzzer_sys;

/// Makes a program for libFuzzer of a target.
#[cfg(feature = "libfuzzer")]
#[macro_export]
macro_rules! fuzz {
    ($name:literal) => {
        use $crate::harness::mutate::{Mutator, Random};
        use $crate::libfuzzer_sys::{Corpus, fuzz_mutator, fuzz_target, fuzzer_mutate};

        // Constants, so that only what this target runs is linked: libFuzzer looks at every counter after every input.
        const RUN: fn(&[u8]) -> bool = $crate::harness::target($name).run;
        const MUTATE: Mutator = $crate::harness::target($name).mutate;

        fuzz_target!(|data: &[u8]| -> Corpus {
            match RUN(data) {
                true => Corpus::Keep,
                false => Corpus::Reject,
            }
        });

        fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
            let mut random = Random::new(seed.into());
            let mut core = |bytes: &mut [u8], size: usize, max: usize| fuzzer_mutate(bytes, size, max);
            let input = data[..size].to_vec();
            let changed = MUTATE(input, max_size, &mut random, &mut core);
            let len = changed.len().min(max_size);
            data[..len].copy_from_slice(&changed[..len]);
            len
        });
    };
}
