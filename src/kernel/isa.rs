//! One table of kernels per instruction set; which one runs is decided once, at run time.
#![allow(unsafe_code)]

use super::generic::{self, Fused, TwoSteps};
use super::{Pick, Rows, Sparse};
use std::sync::OnceLock;

type SparseTimes = fn(Sparse<'_>, Pick<'_>, &[f32], usize, &mut [f32]);
type DenseTimes = fn(&[f32], usize, Pick<'_>, &[f32], usize, &mut [f32]);

/// The kernels of one instruction set.
pub struct Table {
    /// What `plim_isa()` says.
    pub name: &'static str,
    sparse_times: SparseTimes,
    sparse_transposed_times: SparseTimes,
    dense_times: DenseTimes,
    dense_transposed_times: DenseTimes,
    softmax: fn(&mut [f32], usize, &mut [f64]),
}

impl Table {
    /// `out ← R·M` for the picked rows `R` and row-major `M` of `width` columns. As many rows as `out` holds.
    pub fn times(&self, rows: Rows<'_>, pick: Pick<'_>, m: &[f32], width: usize, out: &mut [f32]) {
        assert_eq!(out.len() % width, 0);
        match rows {
            Rows::Sparse(a) => (self.sparse_times)(a, pick, m, width, out),
            Rows::Dense { data, width: depth } => {
                assert_eq!(m.len(), depth * width);
                (self.dense_times)(data, depth, pick, m, width, out);
            }
        }
    }

    /// `M += Rᵀ·G` for the picked rows `R`, as many as `G` has.
    pub fn transposed_times(&self, rows: Rows<'_>, pick: Pick<'_>, g: &[f32], width: usize, m: &mut [f32]) {
        assert_eq!(g.len() % width, 0);
        match rows {
            Rows::Sparse(a) => (self.sparse_transposed_times)(a, pick, g, width, m),
            Rows::Dense { data, width: depth } => {
                assert_eq!(m.len(), depth * width);
                (self.dense_transposed_times)(data, depth, pick, g, width, m);
            }
        }
    }

    /// Row-wise softmax in place; `log_sums` gets the logarithm of each row's sum of exponentials.
    pub fn softmax(&self, z: &mut [f32], width: usize, log_sums: &mut [f64]) {
        assert_eq!(z.len(), width * log_sums.len());
        (self.softmax)(z, width, log_sums);
    }
}

static PORTABLE: Table = Table {
    name: "portable",
    sparse_times: generic::sparse_times::<TwoSteps>,
    sparse_transposed_times: generic::sparse_transposed_times::<TwoSteps>,
    dense_times: generic::dense_times::<TwoSteps>,
    dense_transposed_times: generic::dense_transposed_times::<TwoSteps>,
    softmax: generic::softmax::<TwoSteps>,
};

/// A safe function that runs the generic `$kernel` compiled under `$features`.
macro_rules! compiled {
    ($features:literal, $kernel:ident($($arg:ident: $type:ty),*)) => {
        pub fn $kernel($($arg: $type),*) {
            #[target_feature(enable = $features)]
            fn under_features($($arg: $type),*) {
                generic::$kernel::<Fused>($($arg),*)
            }
            // SAFETY: the table of this module is handed out by `available` only where the processor has the features.
            unsafe { under_features($($arg),*) }
        }
    };
}

/// Compiles every kernel under the target features of one instruction set and puts them into a table.
macro_rules! table {
    ($table:ident, $module:ident, $name:literal, $features:literal) => {
        mod $module {
            use super::*;

            compiled!($features, sparse_times(a: Sparse<'_>, pick: Pick<'_>, m: &[f32], width: usize, out: &mut [f32]));
            compiled!($features, sparse_transposed_times(a: Sparse<'_>, pick: Pick<'_>, g: &[f32], width: usize, m: &mut [f32]));
            compiled!($features, dense_times(b: &[f32], depth: usize, pick: Pick<'_>, m: &[f32], width: usize, out: &mut [f32]));
            compiled!($features, dense_transposed_times(b: &[f32], depth: usize, pick: Pick<'_>, g: &[f32], width: usize, m: &mut [f32]));
            compiled!($features, softmax(z: &mut [f32], width: usize, log_sums: &mut [f64]));
        }

        static $table: Table = Table {
            name: $name,
            sparse_times: $module::sparse_times,
            sparse_transposed_times: $module::sparse_transposed_times,
            dense_times: $module::dense_times,
            dense_transposed_times: $module::dense_transposed_times,
            softmax: $module::softmax,
        };
    };
}

#[cfg(target_arch = "x86_64")]
table!(AVX512, avx512, "avx512", "avx512f,avx512vl,avx512dq,avx512bw,avx2,fma");
#[cfg(target_arch = "x86_64")]
table!(AVX2, avx2, "avx2", "avx2,fma");
#[cfg(target_arch = "aarch64")]
table!(NEON, neon, "neon", "neon");

/// The tables this processor can run, best first; the last one is always the portable one.
pub fn available() -> &'static [&'static Table] {
    static TABLES: OnceLock<Vec<&'static Table>> = OnceLock::new();
    TABLES.get_or_init(|| {
        let mut tables = Vec::new();
        #[cfg(target_arch = "x86_64")]
        {
            let avx2 = is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma");
            let avx512 = is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512vl")
                && is_x86_feature_detected!("avx512dq")
                && is_x86_feature_detected!("avx512bw");
            if avx2 && avx512 {
                tables.push(&AVX512);
            }
            if avx2 {
                tables.push(&AVX2);
            }
        }
        #[cfg(target_arch = "aarch64")]
        if std::arch::is_aarch64_feature_detected!("neon") {
            tables.push(&NEON);
        }
        tables.push(&PORTABLE);
        tables
    })
}

/// The table in use: the best one, or the one that the environment variable `PLIM_ISA` names, if the processor has
/// it. The variable is read once; a name that is not available is ignored, since it may only lower the choice.
pub fn table() -> &'static Table {
    static CHOICE: OnceLock<&'static Table> = OnceLock::new();
    CHOICE.get_or_init(|| {
        let wanted = std::env::var("PLIM_ISA").unwrap_or_default();
        available().iter().find(|t| t.name == wanted).unwrap_or(&available()[0])
    })
}
