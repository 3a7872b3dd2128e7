//! One table of kernels per instruction set; which one is used is decided once, at run time.
#![allow(unsafe_code)]

use super::arithmetic::Portable;
use super::generic::{self, Adam, Attended, CHACHA_WORDS, Drops, Extreme, Finish};
use super::{Edges, Heads, Permuted, Pick, Rows, Sparse};
use std::sync::OnceLock;

/// Lists every kernel with its signature and passes the list to `$with`.
macro_rules! kernels {
    ($with:ident, $($rest:tt)*) => {
        $with! { $($rest)* =>
            sparse_times(a: Sparse<'_>, pick: Pick<'_>, m: &[f32], width: usize, finish: Finish<'_>, out: &mut [f32]);
            sparse_transposed_times(a: Sparse<'_>, pick: Pick<'_>, g: &[f32], width: usize, m: &mut [f32], stride: usize);
            add(m: &mut [f32], sum: &[f32]);
            total(m: &mut [f32], width: usize, sums: &[f32], stride: usize);
            dense_times(b: &[f32], depth: usize, pick: Pick<'_>, m: &[f32], width: usize, finish: Finish<'_>, out: &mut [f32]);
            dense_transposed_times(b: &[f32], depth: usize, from: usize, pick: Pick<'_>, g: &[f32], width: usize, m: &mut [f32]);
            wide_times(b: &[f32], depth: usize, pick: Pick<'_>, m: &[f32], width: usize, finish: Finish<'_>, out: &mut [f32]);
            wide_transposed_times(b: &[f32], depth: usize, from: usize, pick: Pick<'_>, g: &[f32], width: usize, m: &mut [f32]);
            softmax(z: &mut [f32], width: usize, log_sums: &mut [f64]);
            cross_entropy(z: &mut [f32], width: usize, labels: &[i32], pick: Pick<'_>, share: f32) -> f64;
            marked_entries(indices: &[i32], starts: &[usize], offsets: &[u64], marks: &[u8], found: &mut [usize], ends: &mut [i64]) -> usize;
            chacha8(key: &[u32; 8], counter: u64, out: &mut [u32; CHACHA_WORDS]);
            largest(values: &[f32]) -> f32;
            rectified_gradient(d: &mut [f32], h: &[f32]);
            extreme(extreme: Extreme, a: Sparse<'_>, pick: Pick<'_>, m: &[f32], width: usize, out: &mut [f32], from: &mut [i32]);
            drop_out(row: &mut [f32], key: u64, threshold: u32, scale: f32);
            score_rows(x: &[f32], heads: Heads, vectors: [&[f32]; 2], s: &mut [f32], d: &mut [f32]);
            attend(edges: Edges<'_>, first: usize, of: Attended<'_>, drops: Option<Drops<'_>>, scale: f32, to: [&mut [f32]; 3]);
            attend_backward(edges: Edges<'_>, first: usize, of: Attended<'_>, g: &[f32], scale: f32, kept: [&[f32]; 2], to: [&mut [f32]; 3]);
            attend_transposed(permuted: Permuted<'_>, first: usize, of: Attended<'_>, g: &[f32], kept: [&[f32]; 2], to: [&mut [f32]; 2]);
            descend(w: &mut [f32], g: &[f32], keep: f32, step: f32);
            adam(w: &mut [f32], m: &mut [f32], v: &mut [f32], g: &[f32], by: Adam<f32>);
        }
    };
}

/// The type of a table: a function per kernel.
macro_rules! table_type {
    ( => $($kernel:ident($($arg:ident: $type:ty),*) $(-> $result:ty)?;)*) => {
        /// The kernels of one instruction set.
        pub struct Table {
            /// Its name, as the C interface returns it.
            pub name: &'static str,
            $($kernel: fn($($type),*) $(-> $result)?,)*
        }

        static PORTABLE: Table = Table {
            name: "portable",
            $($kernel: generic::$kernel::<Portable>,)*
        };
    };
}

kernels!(table_type,);

/// Compiles every kernel with the target features of one instruction set and puts them into a table.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
macro_rules! table {
    ($table:ident, $module:ident, $name:literal, $features:literal, $arithmetic:ident =>
        $($kernel:ident($($arg:ident: $type:ty),*) $(-> $result:ty)?;)*) => {
        mod $module {
            use super::*;

            $(pub fn $kernel($($arg: $type),*) $(-> $result)? {
                #[target_feature(enable = $features)]
                fn under_features($($arg: $type),*) $(-> $result)? {
                    generic::$kernel::<super::super::arithmetic::$arithmetic>($($arg),*)
                }
                // SAFETY: `available` returns the table of this module only where the processor has the features.
                unsafe { under_features($($arg),*) }
            })*
        }

        static $table: Table = Table { name: $name, $($kernel: $module::$kernel,)* };
    };
}

/// Whether a product of dense rows has `width` columns and terms enough for the wide kernels. By its shape alone, without
/// the number of rows, for which a sum has the same order.
pub fn is_wide(width: usize, depth: usize) -> bool {
    width >= 64 && depth >= 16
}

/// Below this many rows, a wide product is computed without copying the right factor.
const FEW_ROWS: usize = 8;

impl Table {
    /// `out ← R·M`, finished, for the picked rows `R` and row-major `M` of `width` columns; as many rows as `out`
    /// holds.
    pub fn times(&self, rows: Rows<'_>, pick: Pick<'_>, m: &[f32], width: usize, finish: Finish<'_>, out: &mut [f32]) {
        assert_eq!(out.len() % width, 0);
        match rows {
            Rows::Sparse(a) => (self.sparse_times)(a, pick, m, width, finish, out),
            Rows::Dense { data, width: depth } => {
                assert_eq!(m.len(), depth * width);
                // The bits are the same; a few rows take less time without a copy of M.
                let few = out.len() < FEW_ROWS * width;
                let times = if is_wide(width, depth) && !few { self.wide_times } else { self.dense_times };
                times(data, depth, pick, m, width, finish, out);
            }
        }
    }

    /// `M += Rᵀ·G` for the picked rows `R`, as many as `G` has.
    pub fn transposed_times(&self, rows: Rows<'_>, pick: Pick<'_>, g: &[f32], width: usize, m: &mut [f32]) {
        assert_eq!(g.len() % width, 0);
        match rows {
            Rows::Sparse(a) => (self.sparse_transposed_times)(a, pick, g, width, m, width),
            Rows::Dense { data, width: depth } => {
                assert_eq!(m.len(), depth * width);
                self.dense_transposed_times((data, depth), 0, pick, g, width, m);
            }
        }
    }

    /// [`Table::transposed_times`] for sparse rows, and for an `M` whose rows begin `stride` numbers apart; what is
    /// between them stays.
    pub fn sparse_transposed_times(
        &self,
        a: Sparse<'_>,
        pick: Pick<'_>,
        g: &[f32],
        width: usize,
        (m, stride): (&mut [f32], usize),
    ) {
        assert!(g.len().is_multiple_of(width) && stride >= width);
        (self.sparse_transposed_times)(a, pick, g, width, m, stride);
    }

    /// `M ← Σ` of the sums in `sums`, one after the other; each has the height of M, in rows of `stride` numbers.
    pub fn total(&self, (m, width): (&mut [f32], usize), (sums, stride): (&[f32], usize)) {
        assert!(sums.len() >= m.len() / width * stride);
        (self.total)(m, width, sums, stride);
    }

    /// `M += S`, elementwise.
    pub fn add(&self, m: &mut [f32], sum: &[f32]) {
        assert_eq!(m.len(), sum.len());
        (self.add)(m, sum);
    }

    /// [`Table::transposed_times`] for dense rows, `data` with `depth` columns, and for as many rows of `M` from
    /// `from` on as `m` has.
    pub fn dense_transposed_times(
        &self,
        (data, depth): (&[f32], usize),
        from: usize,
        pick: Pick<'_>,
        g: &[f32],
        width: usize,
        m: &mut [f32],
    ) {
        assert!(g.len().is_multiple_of(width) && m.len().is_multiple_of(width));
        let wide = is_wide(width, depth);
        let add = if wide { self.wide_transposed_times } else { self.dense_transposed_times };
        add(data, depth, from, pick, g, width, m);
    }

    /// Row-wise softmax in place; `log_sums` gets the logarithm of the sum of exponentials of each row.
    pub fn softmax(&self, z: &mut [f32], width: usize, log_sums: &mut [f64]) {
        assert_eq!(z.len(), width * log_sums.len());
        (self.softmax)(z, width, log_sums);
    }

    /// From logits to `share` times the gradient of the cross-entropies of the rows; returns their sum. The label of
    /// row i is `labels[pick[i]]`.
    pub fn cross_entropy(&self, z: &mut [f32], width: usize, labels: &[i32], pick: Pick<'_>, share: f32) -> f64 {
        assert_eq!(z.len() % width, 0);
        (self.cross_entropy)(z, width, labels, pick, share)
    }

    /// Lists the places of the entries whose column is marked and returns their number; see
    /// [`generic::marked_entries`]. Rows are given by where each starts, and by how many entries come before each and
    /// in all.
    pub fn marked_entries(
        &self,
        indices: &[i32],
        (starts, offsets): (&[usize], &[u64]),
        marks: &[u8],
        found: &mut [usize],
        ends: &mut [i64],
    ) -> usize {
        (self.marked_entries)(indices, starts, offsets, marks, found, ends)
    }

    /// The words of blocks `counter` to `counter + 15` of ChaCha's stream under this key; see [`generic::chacha8`].
    pub fn chacha8(&self, key: &[u32; 8], counter: u64, out: &mut [u32; CHACHA_WORDS]) {
        (self.chacha8)(key, counter, out);
    }

    /// The largest magnitude; NaN if there is one.
    pub fn largest(&self, values: &[f32]) -> f32 {
        (self.largest)(values)
    }

    /// `d ← 0` wherever the rectified `h` is 0.
    pub fn rectified_gradient(&self, d: &mut [f32], h: &[f32]) {
        assert_eq!(d.len(), h.len());
        (self.rectified_gradient)(d, h);
    }

    /// The largest or smallest number of each column over the rows of `m` that a picked row of `a` has entries for, and which row
    /// has it; see [`generic::extreme`].
    pub fn extreme(
        &self,
        extreme: Extreme,
        a: Sparse<'_>,
        pick: Pick<'_>,
        (m, width): (&[f32], usize),
        (out, from): (&mut [f32], &mut [i32]),
    ) {
        assert!(out.len() == from.len() && out.len().is_multiple_of(width));
        (self.extreme)(extreme, a, pick, m, width, out, from);
    }

    /// Sets numbers of a row to 0 at random, by a key, and scales the others; see [`generic::drop_out`].
    pub fn drop_out(&self, row: &mut [f32], key: u64, threshold: u32, scale: f32) {
        (self.drop_out)(row, key, threshold, scale);
    }

    /// The products of each head of the interleaved rows of `x` with both vectors; see [`generic::score_rows`].
    pub fn score_rows(&self, x: &[f32], heads: Heads, vectors: [&[f32]; 2], [s, d]: [&mut [f32]; 2]) {
        let (rows, stride) = (x.len() / heads.stride(), heads.stride());
        assert!(x.len().is_multiple_of(stride) && vectors.iter().all(|a| a.len() == stride));
        assert!(s.len() == rows * heads.lanes() && d.len() == s.len());
        (self.score_rows)(x, heads, vectors, s, d);
    }

    /// Rows of attention from `first` on, as many as the last slice has, with their exponentials and shares; see
    /// [`generic::attend`].
    pub fn attend(
        &self,
        (edges, first): (Edges<'_>, usize),
        of: Attended<'_>,
        (drops, scale): (Option<Drops<'_>>, f32),
        to: [&mut [f32]; 3],
    ) {
        let rows = to[2].len() / of.heads.out_width();
        assert!(of.x.len().is_multiple_of(of.heads.stride()) && to[2].len() == rows * of.heads.out_width());
        assert_eq!(to[1].len(), rows * of.heads.lanes());
        (self.attend)(edges, first, of, drops, scale, to);
    }

    /// The gradient by the scores of some rows, and by those rows; see [`generic::attend_backward`].
    pub fn attend_backward(
        &self,
        (edges, first): (Edges<'_>, usize),
        of: Attended<'_>,
        (g, scale): (&[f32], f32),
        kept: [&[f32]; 2],
        to: [&mut [f32]; 3],
    ) {
        assert!(of.x.len().is_multiple_of(of.heads.stride()) && g.len().is_multiple_of(of.heads.stride()));
        (self.attend_backward)(edges, first, of, g, scale, kept, to);
    }

    /// The gradient by some rows of x; see [`generic::attend_transposed`].
    pub fn attend_transposed(
        &self,
        (permuted, first): (Permuted<'_>, usize),
        of: Attended<'_>,
        g: &[f32],
        kept: [&[f32]; 2],
        to: [&mut [f32]; 2],
    ) {
        assert!(of.x.len().is_multiple_of(of.heads.stride()) && to[0].len().is_multiple_of(of.heads.stride()));
        (self.attend_transposed)(permuted, first, of, g, kept, to);
    }

    /// `w ← keep·w − step·g`.
    pub fn descend(&self, w: &mut [f32], g: &[f32], keep: f32, step: f32) {
        assert_eq!(w.len(), g.len());
        (self.descend)(w, g, keep, step);
    }

    /// One step of Adam.
    pub fn adam(&self, w: &mut [f32], m: &mut [f32], v: &mut [f32], g: &[f32], by: Adam<f32>) {
        assert!(w.len() == g.len() && m.len() == g.len() && v.len() == g.len());
        (self.adam)(w, m, v, g, by);
    }
}

#[cfg(target_arch = "x86_64")]
kernels!(table, AVX512, avx512, "avx512", "avx512f,avx512vl,avx512dq,avx512bw,avx2,fma,bmi1,bmi2,popcnt", Avx512);
#[cfg(target_arch = "x86_64")]
kernels!(table, AVX2, avx2, "avx2", "avx2,fma,bmi1,bmi2,popcnt", Avx2);
#[cfg(target_arch = "aarch64")]
kernels!(table, NEON, neon, "neon", "neon", Neon);

/// The tables that this processor can run, best first; the last one is always the portable one.
pub fn available() -> &'static [&'static Table] {
    static TABLES: OnceLock<Vec<&'static Table>> = OnceLock::new();
    TABLES.get_or_init(|| {
        let mut tables = Vec::new();
        #[cfg(target_arch = "x86_64")]
        {
            let avx2 = is_x86_feature_detected!("avx2")
                && is_x86_feature_detected!("fma")
                && is_x86_feature_detected!("bmi1")
                && is_x86_feature_detected!("bmi2")
                && is_x86_feature_detected!("popcnt");
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

/// The table in use: the best one, or the one that the environment variable `PLIM_ISA` names, if the processor
/// supports it. The variable is read once; an unavailable name is ignored, since it may only lower the choice.
pub fn table() -> &'static Table {
    static CHOICE: OnceLock<&'static Table> = OnceLock::new();
    CHOICE.get_or_init(|| {
        let wanted = std::env::var("PLIM_ISA").unwrap_or_default();
        available().iter().find(|t| t.name == wanted).unwrap_or(&available()[0])
    })
}
