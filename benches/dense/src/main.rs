//! Wide dense products: ours beside the crates `matrixmultiply` and `gemm`, in turn within one process.
//!
//!     plimsoll-bench-dense threads=1 rounds=15 [m=… k=… n=…] [form=plain] [engine=plimsoll]
//!
//! Prints a JSON line for each shape and form: GFLOP/s of each engine, the median and the best of the rounds, and the median of
//! the FMA peaks that are measured in each round. `backward` is G·Wᵀ; ours transposes W first.

use plimsoll::kernel::{Buffer, Finish, Pick, Rows, Threads, table, transpose};
use std::hint::black_box;

const SHAPES: [[usize; 3]; 6] =
    [[19717, 64, 64], [19717, 256, 256], [13752, 745, 512], [13752, 512, 512], [1300, 500, 256], [256, 256, 256]];
const FORMS: [&str; 3] = ["plain", "transposed", "backward"];
const ENGINES: [&str; 3] = ["plimsoll", "matrixmultiply", "gemm"];

/// Seconds that an engine works in a round, at least; short products are repeated.
const SECONDS: f64 = 0.003;

struct Options {
    threads: usize,
    rounds: usize,
    shapes: Vec<[usize; 3]>,
    forms: Vec<&'static str>,
    engines: Vec<&'static str>,
}

fn options() -> Options {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let word = |name: &str| words.iter().find_map(|w| w.strip_prefix(name)?.strip_prefix('='));
    let number = |name: &str| word(name).map(|w| w.parse::<usize>().expect("a whole number"));
    let some = |name: &str, all: &[&'static str]| -> Vec<&'static str> {
        all.iter().copied().filter(|each| word(name).is_none_or(|w| w.split(',').any(|w| w == *each))).collect()
    };
    let shapes = match (number("m"), number("k"), number("n")) {
        (Some(m), Some(k), Some(n)) => vec![[m, k, n]],
        _ => SHAPES.to_vec(),
    };
    Options {
        threads: number("threads").unwrap_or(1),
        rounds: number("rounds").unwrap_or(15),
        shapes,
        forms: some("form", &FORMS),
        engines: some("engine", &ENGINES),
    }
}

/// Seconds that this thread has worked, which other work on the machine does not lengthen; with more threads, seconds that
/// have passed.
fn now(threads: usize) -> f64 {
    seconds(if threads == 1 { libc::CLOCK_THREAD_CPUTIME_ID } else { libc::CLOCK_MONOTONIC })
}

fn seconds(clock: libc::clockid_t) -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the clock exists, and `time` is there to be written.
    unsafe { libc::clock_gettime(clock, &mut time) };
    time.tv_sec as f64 + 1e-9 * time.tv_nsec as f64
}

fn main() {
    let options = options();
    // SAFETY: no other thread exists yet. The crate reads it before its first product.
    unsafe { std::env::set_var("MATMUL_NUM_THREADS", options.threads.to_string()) };
    let threads = Threads::new(options.threads).expect("threads");
    for &shape in &options.shapes {
        for form in &options.forms {
            measure(&options, &threads, shape, form);
        }
    }
}

fn measure(options: &Options, threads: &Threads, [m, k, n]: [usize; 3], form: &str) {
    let mut state = 1u64;
    let mut numbers = |count: usize| {
        let numbers: Vec<f32> = (0..count)
            .map(|_| {
                state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                (state >> 40) as f32 / (1 << 23) as f32 - 1.0
            })
            .collect();
        Buffer::try_copied(&numbers).expect("memory")
    };
    let (a, w, g) = (numbers(m * k), numbers(k * n), numbers(m * n));
    let (mut out, mut turned, mut scratch) = (Buffer::default(), Buffer::default(), Buffer::default());
    out.try_resize(match form {
        "plain" => m * n,
        "transposed" => k * n,
        _ => m * k,
    })
    .expect("memory");
    turned.try_resize(k * n).expect("memory");
    let flops = 2.0 * (m * k * n) as f64;
    let mut run = |engine: &str| match (engine, form) {
        ("plimsoll", "plain") => {
            threads.times(Rows::Dense { data: &a, width: k }, Pick::From(0), &w, n, Finish::Plain, &mut out)
        }
        ("plimsoll", "transposed") => threads
            .transposed_times((Rows::Dense { data: &a, width: k }, k), Pick::From(0), (&g, n), &mut out, &mut scratch)
            .expect("memory"),
        ("plimsoll", _) => {
            transpose(&w, n, &mut turned);
            threads.times(Rows::Dense { data: &g, width: n }, Pick::From(0), &turned, k, Finish::Plain, &mut out)
        }
        (_, "plain") => rival(engine, options.threads, [m, k, n], (&a, [k, 1]), (&w, [n, 1]), &mut out),
        (_, "transposed") => rival(engine, options.threads, [k, m, n], (&a, [1, k]), (&g, [n, 1]), &mut out),
        _ => rival(engine, options.threads, [m, n, k], (&g, [n, 1]), (&w, [1, n]), &mut out),
    };
    // The first call allocates; the second one says how often it is repeated.
    let repeats: Vec<usize> = options
        .engines
        .iter()
        .map(|engine| {
            run(engine);
            let start = now(options.threads);
            run(engine);
            (SECONDS / (now(options.threads) - start)).ceil() as usize
        })
        .collect();
    let mut rates = vec![Vec::new(); options.engines.len()];
    let mut peaks = Vec::new();
    for _ in 0..options.rounds {
        peaks.push(peak(options.threads));
        for (i, engine) in options.engines.iter().enumerate() {
            let start = now(options.threads);
            for _ in 0..repeats[i] {
                run(engine);
            }
            rates[i].push(flops * repeats[i] as f64 / (now(options.threads) - start) / 1e9);
        }
    }
    let figures: Vec<String> = (options.engines.iter().enumerate())
        .map(|(i, engine)| {
            let best = rates[i].iter().copied().fold(0.0, f64::max);
            format!("\"{engine}\": {{\"median\": {:.1}, \"best\": {best:.1}}}", median(&mut rates[i]))
        })
        .collect();
    println!(
        "{{\"m\": {m}, \"k\": {k}, \"n\": {n}, \"form\": \"{form}\", \"threads\": {}, \"isa\": \"{}\", \"peak\": {:.1}, {}}}",
        options.threads,
        table().name,
        median(&mut peaks),
        figures.join(", ")
    );
}

/// `out ← L·R`, of m×k and k×n numbers with these distances between rows and columns.
fn rival(
    engine: &str,
    threads: usize,
    [m, k, n]: [usize; 3],
    (l, l_steps): (&[f32], [usize; 2]),
    (r, r_steps): (&[f32], [usize; 2]),
    out: &mut [f32],
) {
    let ([a, b], [c, d]) = (l_steps.map(|s| s as isize), r_steps.map(|s| s as isize));
    assert!(out.len() == m * n && l.len() == m * k && r.len() == k * n);
    match engine {
        // SAFETY: the lengths have been checked.
        "matrixmultiply" => unsafe {
            let out = out.as_mut_ptr();
            matrixmultiply::sgemm(m, k, n, 1.0, l.as_ptr(), a, b, r.as_ptr(), c, d, 0.0, out, n as isize, 1);
        },
        // SAFETY: the lengths have been checked.
        _ => unsafe {
            let parallelism = if threads > 1 { gemm::Parallelism::Rayon(threads) } else { gemm::Parallelism::None };
            let out = out.as_mut_ptr();
            gemm::gemm(
                m,
                n,
                k,
                out,
                1,
                n as isize,
                false,
                l.as_ptr(),
                b,
                a,
                r.as_ptr(),
                d,
                c,
                0.0,
                1.0,
                false,
                false,
                false,
                parallelism,
            );
        },
    }
}

fn median(numbers: &mut [f64]) -> f64 {
    numbers.sort_by(f64::total_cmp);
    numbers[numbers.len() / 2]
}

/// GFLOP/s of fused multiply-adds in registers on all threads at once.
fn peak(threads: usize) -> f64 {
    std::thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(peak_of_one)).collect();
        peak_of_one() + others.into_iter().map(|other| other.join().expect("a rate")).sum::<f64>()
    })
}

fn peak_of_one() -> f64 {
    const ROUNDS: usize = 100_000;
    #[cfg(target_arch = "x86_64")]
    {
        if is_x86_feature_detected!("avx512f") {
            // SAFETY: the processor has the instructions.
            return unsafe { fused_512(ROUNDS) };
        }
        if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
            // SAFETY: the processor has the instructions.
            return unsafe { fused_256(ROUNDS) };
        }
    }
    let mut sums = [1f32; 96];
    let start = seconds(libc::CLOCK_THREAD_CPUTIME_ID);
    for _ in 0..ROUNDS {
        sums.iter_mut().for_each(|sum| *sum = sum.mul_add(0.999, 0.5));
    }
    black_box(sums);
    (2 * 96 * ROUNDS) as f64 / (seconds(libc::CLOCK_THREAD_CPUTIME_ID) - start) / 1e9
}

/// 12 chains hide the latency of one.
#[cfg(target_arch = "x86_64")]
macro_rules! fused {
    ($name:ident, $features:literal, $lanes:literal, $set:ident, $fused:ident) => {
        #[target_feature(enable = $features)]
        fn $name(rounds: usize) -> f64 {
            use std::arch::x86_64::*;
            let (factor, summand) = ($set(black_box(0.999)), $set(black_box(0.5)));
            let mut sums = [$set(black_box(1.0)); 12];
            let start = seconds(libc::CLOCK_THREAD_CPUTIME_ID);
            for _ in 0..rounds {
                for sum in &mut sums {
                    *sum = $fused(*sum, factor, summand);
                }
            }
            let seconds = seconds(libc::CLOCK_THREAD_CPUTIME_ID) - start;
            black_box(sums);
            (2 * $lanes * 12 * rounds) as f64 / seconds / 1e9
        }
    };
}
#[cfg(target_arch = "x86_64")]
fused!(fused_512, "avx512f", 16, _mm512_set1_ps, _mm512_fmadd_ps);
#[cfg(target_arch = "x86_64")]
fused!(fused_256, "avx2,fma", 8, _mm256_set1_ps, _mm256_fmadd_ps);
