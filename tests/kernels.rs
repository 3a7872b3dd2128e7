//! Every table of kernels computes the same products and softmax: exactly where the arithmetic is exact, otherwise
//! within the rounding of an independent computation.

#![allow(unsafe_code)]

mod common;

use chacha20::ChaCha8Rng;
use common::random::Random;
use common::{bits, matrix};
use ndarray::Array2;
use plimsoll::kernel::{
    AT_ONCE, Adam, Buffer, CHACHA_WORDS, Extreme, Finish, GROUP, Parts, Pick, Rows, Sparse, Table, Threads, available,
    table,
};
use rand_core::{Rng, SeedableRng};

/// Half a unit in the last place of 1.
const ROUNDING: f64 = 1.0 / (1 << 24) as f64;

/// 1 to 70 covers every remainder of the chunks of 64, 32 and 16; the others have whole chunks of 256, 128 and 64.
fn widths() -> impl Iterator<Item = usize> {
    (1..=70).chain([128, 200, 455])
}

/// A left factor in both forms.
struct Factor {
    indptr: Vec<i64>,
    indices: Vec<i32>,
    values: Vec<f32>,
    dense: Vec<f32>,
    depth: usize,
}

impl Factor {
    /// `number(random)` where there is an entry; some rows are empty.
    fn new(rows: usize, depth: usize, random: &mut Random, number: impl Fn(&mut Random) -> f32) -> Self {
        let mut factor =
            Factor { indptr: vec![0], indices: vec![], values: vec![], dense: vec![0.0; rows * depth], depth };
        for i in 0..rows {
            let filled = if random.chance(0.2) { 0.0 } else { random.unit() };
            for k in 0..depth {
                if random.chance(filled) {
                    let value = number(random);
                    factor.dense[i * depth + k] = value;
                    factor.indices.push(k as i32);
                    factor.values.push(value);
                }
            }
            factor.indptr.push(factor.indices.len() as i64);
        }
        factor
    }

    fn both(&self) -> [Rows<'_>; 2] {
        let Factor { indptr, indices, values, dense, depth } = self;
        [Rows::Sparse(Sparse { indptr, indices, values }), Rows::Dense { data: dense, width: *depth }]
    }

    /// The picked rows as reals.
    fn picked(&self, pick: Pick<'_>, count: usize) -> Array2<f64> {
        let row = |i: usize| match pick {
            Pick::From(start) => start + i,
            Pick::List(list) => list[i] as usize,
        };
        Array2::from_shape_fn((count, self.depth), |(i, k)| f64::from(self.dense[row(i) * self.depth + k]))
    }
}

fn whole_number(random: &mut Random) -> f32 {
    random.below(17) as f32 - 8.0
}

fn real(random: &mut Random) -> f32 {
    random.float(-1.0, 1.0)
}

/// Calls `check(factor, pick, count)` for left factors of many shapes: 0 to 9 rows (the dense kernels process up to 8
/// at a time) and more than their groups of 64; few and many columns, up to more than the narrow kernels transpose at
/// a time (512); picked from the first row on, from another row on, and as a list with repeats.
fn for_each_left_factor(
    random: &mut Random,
    number: fn(&mut Random) -> f32,
    mut check: impl FnMut(&Factor, Pick<'_>, usize),
) {
    for (depth, count) in
        [(1, 0), (1, 1), (2, 3), (3, 4), (7, 9), (16, 5), (33, 8), (5, 2), (4, 6), (20, 7), (70, 150), (531, 70)]
    {
        let factor = Factor::new(count + 2, depth, random, number);
        let list: Vec<i32> = (0..count).map(|_| random.below(count + 2) as i32).collect();
        for pick in [Pick::From(0), Pick::From(2), Pick::List(&list)] {
            check(&factor, pick, count);
        }
    }
}

/// `|found − wanted| ≤ (terms + 1)·2^-24·Σ|a||b|`: a sum of this many products, rounded at each step, fused or not.
fn assert_rounded(found: &[f32], wanted: &Array2<f64>, magnitude: &Array2<f64>, terms: usize, name: &str) {
    for ((&found, &wanted), &magnitude) in found.iter().zip(wanted).zip(magnitude) {
        let error = (f64::from(found) - wanted).abs();
        let allowed = (terms + 1) as f64 * ROUNDING * magnitude;
        assert!(error <= allowed, "{name}: {found} is not {wanted}: off by {error:e}, not {allowed:e}");
    }
}

fn bits_of(reals: &Array2<f64>) -> Vec<u32> {
    reals.iter().map(|&x| (x as f32).to_bits()).collect()
}

/// Sums of integers may be 0 or −0, depending on the order of their terms; both are the same number.
fn without_minus_zero(values: &[f32]) -> Vec<u32> {
    bits(&values.iter().map(|v| v + 0.0).collect::<Vec<_>>())
}

#[test]
fn the_portable_table_is_always_available_and_comes_last() {
    let names: Vec<&str> = available().iter().map(|t| t.name).collect();
    assert_eq!(names.last(), Some(&"portable"));
    assert!(names.contains(&table().name));
    assert!(names.iter().all(|n| ["avx512", "avx2", "neon", "portable"].contains(n)));
}

#[test]
fn products_of_integers_are_exact_in_every_table() {
    let mut random = Random::new(1);
    for width in widths() {
        for_each_left_factor(&mut Random::new(width as u64), whole_number, |factor, pick, count| {
            let m: Vec<f32> = (0..factor.depth * width).map(|_| whole_number(&mut random)).collect();
            let wanted = bits_of(&factor.picked(pick, count).dot(&matrix(&m, width)));
            for table in available() {
                for (rows, form) in factor.both().into_iter().zip(["sparse", "dense"]) {
                    let mut out = vec![f32::NAN; count * width];
                    table.times(rows, pick, &m, width, Finish::Plain, &mut out);
                    let found = without_minus_zero(&out);
                    assert!(found == wanted, "{}, {form}, width {width}, depth {}", table.name, factor.depth);
                }
            }
        });
    }
}

#[test]
fn transposed_products_of_whole_numbers_are_exact_in_every_table() {
    let mut random = Random::new(2);
    for width in widths() {
        for_each_left_factor(&mut Random::new(width as u64), whole_number, |factor, pick, count| {
            let g: Vec<f32> = (0..count * width).map(|_| whole_number(&mut random)).collect();
            let before: Vec<f32> = (0..factor.depth * width).map(|_| whole_number(&mut random)).collect();
            // The product is added to M.
            let sum = matrix(&before, width) + factor.picked(pick, count).t().dot(&matrix(&g, width));
            let wanted = bits_of(&sum);
            for table in available() {
                for (rows, form) in factor.both().into_iter().zip(["sparse", "dense"]) {
                    let mut m = before.clone();
                    table.transposed_times(rows, pick, &g, width, &mut m);
                    let found = without_minus_zero(&m);
                    assert!(found == wanted, "{}, {form}, width {width}, depth {}", table.name, factor.depth);
                }
            }
        });
    }
}

#[test]
fn sums_are_added_elementwise_in_every_table() {
    let mut random = Random::new(9);
    for len in [0, 1, 7, 16, 100, 531] {
        let mut numbers = || (0..len).map(|_| whole_number(&mut random)).collect::<Vec<f32>>();
        let (before, sum) = (numbers(), numbers());
        let wanted: Vec<f32> = before.iter().zip(&sum).map(|(a, b)| a + b).collect();
        for table in available() {
            let mut m = before.clone();
            table.add(&mut m, &sum);
            assert_eq!(m, wanted, "{}", table.name);
        }
    }
}

#[test]
fn sums_whose_rows_lie_apart_are_exact_and_are_put_together_in_their_order() {
    let mut random = Random::new(6);
    for width in widths() {
        let stride = if width < 16 { width.next_power_of_two() } else { width };
        for_each_left_factor(&mut Random::new(width as u64), whole_number, |factor, pick, count| {
            let Rows::Sparse(a) = factor.both()[0] else { panic!("the first form is the sparse one") };
            let g: Vec<f32> = (0..count * width).map(|_| whole_number(&mut random)).collect();
            let product = factor.picked(pick, count).t().dot(&matrix(&g, width));
            let wanted = bits_of(&(&product + &product));
            for table in available() {
                let one = factor.depth * stride;
                let mut sums = vec![7.0; 2 * one];
                for sum in sums.chunks_exact_mut(one) {
                    sum.chunks_exact_mut(stride).for_each(|row| row[..width].fill(0.0));
                    table.sparse_transposed_times(a, pick, &g, width, (sum, stride));
                    assert!(sum.chunks_exact(stride).all(|row| row[width..].iter().all(|&x| x == 7.0)));
                }
                let mut m = vec![f32::NAN; factor.depth * width];
                table.total((&mut m, width), (&sums, stride));
                assert!(without_minus_zero(&m) == wanted, "{}, width {width}, depth {}", table.name, factor.depth);
            }
        });
    }
}

#[test]
fn products_of_reals_are_rounded_as_they_must_be_in_every_table() {
    let mut random = Random::new(3);
    for width in widths() {
        for_each_left_factor(&mut Random::new(width as u64), real, |factor, pick, count| {
            let m = random.floats(factor.depth * width);
            let g = random.floats(count * width);
            let (left, right, upper) = (factor.picked(pick, count), matrix(&m, width), matrix(&g, width));
            let (product, magnitude) = (left.dot(&right), left.mapv(f64::abs).dot(&right.mapv(f64::abs)));
            let transposed = &right + &left.t().dot(&upper);
            let transposed_magnitude = right.mapv(f64::abs) + left.t().mapv(f64::abs).dot(&upper.mapv(f64::abs));
            for table in available() {
                for rows in factor.both() {
                    let mut out = vec![f32::NAN; count * width];
                    table.times(rows, pick, &m, width, Finish::Plain, &mut out);
                    assert_rounded(&out, &product, &magnitude, factor.depth, table.name);
                    let mut sum = m.clone();
                    table.transposed_times(rows, pick, &g, width, &mut sum);
                    assert_rounded(&sum, &transposed, &transposed_magnitude, count, table.name);
                }
            }
        });
    }
}

/// Beyond accuracy: the bits of a row do not depend on the rows beside it.
#[test]
fn a_row_has_the_same_bits_alone_and_in_company() {
    let mut random = Random::new(4);
    for (width, depth) in
        [(1, 23), (3, 23), (16, 23), (37, 23), (64, 23), (100, 23), (1, 600), (2, 64), (3, 600), (4, 517)]
    {
        let factor = Factor::new(11, depth, &mut random, real);
        let m = random.floats(depth * width);
        for table in available() {
            for rows in factor.both() {
                let mut together = vec![f32::NAN; 11 * width];
                table.times(rows, Pick::From(0), &m, width, Finish::Plain, &mut together);
                for (i, wanted) in together.chunks_exact(width).enumerate() {
                    let mut alone = vec![f32::NAN; width];
                    table.times(rows, Pick::List(&[i as i32]), &m, width, Finish::Plain, &mut alone);
                    assert!(without_minus_zero(&alone) == without_minus_zero(wanted), "{}", table.name);
                }
            }
        }
    }
}

/// A factor that does not fit the cache is read row by row, and each row has the same bits as with one that does,
/// however long the row is.
#[test]
fn rows_of_a_large_factor_are_summed_as_those_of_a_small_one() {
    let mut random = Random::new(9);
    let rows = 40;
    let random_rows = Factor::new(rows, 60, &mut random, real);
    let mut stairs = Factor { indptr: vec![0], indices: vec![], values: vec![], dense: vec![], depth: 60 };
    for i in 0..rows {
        stairs.indices.extend(0..i as i32);
        stairs.values.extend(random.floats(i));
        stairs.indptr.push(stairs.indices.len() as i64);
    }
    let list: Vec<i32> = (0..rows as i32).collect();
    for (width, least) in [(3, 1 << 22), (16, 1 << 22), (32, 1 << 22), (70, 1 << 18), (200, 1 << 18), (455, 1 << 18)] {
        let m = random.floats((60 + least / width) * width);
        let small = &m[..60 * width];
        assert!(m.len() > least && small.len() < 1 << 18);
        for table in available() {
            for factor in [&random_rows, &stairs] {
                let product = |m: &[f32], pick: Pick<'_>| {
                    let Factor { indptr, indices, values, .. } = factor;
                    let mut out = vec![f32::NAN; rows * width];
                    table.times(
                        Rows::Sparse(Sparse { indptr, indices, values }),
                        pick,
                        m,
                        width,
                        Finish::Plain,
                        &mut out,
                    );
                    bits(&out)
                };
                let near = product(small, Pick::From(0));
                assert!(near == product(&m, Pick::From(0)), "{}, {width} columns", table.name);
                assert!(near == product(&m, Pick::List(&list)), "{}, {width} columns of listed rows", table.name);
            }
        }
    }
}

#[test]
fn shared_products_have_the_bits_of_one_thread() {
    assert_eq!(check_shared_products(9000, 40, 17), 16, "as many parts as there ever are");
}

#[test]
fn shared_products_of_few_or_many_columns_have_the_bits_of_one_thread() {
    for (depth, width) in [(500, 16), (500, 3), (131, 4), (1433, 7), (95, 1)] {
        check_shared_products(16 * 24 * 32, depth, width);
    }
}

/// Returns the number of parts of the sum over sparse rows.
fn check_shared_products(count: usize, depth: usize, width: usize) -> usize {
    let mut random = Random::new(5);
    let factor = Factor::new(count, depth, &mut random, real);
    let (m, g) = (random.floats(depth * width), random.floats(count * width));
    let threads: Vec<Threads> = [1, 2, 5].iter().map(|&count| Threads::new(count).unwrap()).collect();
    // The smaller of the two forms: the average row of the sparse one.
    let row_entries = factor.indices.len() / count;
    let shares = |threads: &Threads| threads.shares(row_entries * count, width);
    assert!(!shares(&threads[0]) && shares(&threads[1]) && shares(&threads[2]));
    let number = Parts::of_sparse(count, row_entries, depth, width).number();
    assert!(number > 1);
    for rows in factor.both() {
        let products = threads.iter().map(|threads| {
            let mut out = vec![f32::NAN; count * width];
            threads.times(rows, Pick::From(0), &m, width, Finish::Plain, &mut out);
            let (mut sum, mut scratch) = (vec![f32::NAN; depth * width], Buffer::try_copied(&[f32::NAN; 3]).unwrap());
            let rows = (rows, row_entries);
            threads.transposed_times(rows, Pick::From(0), (&g, width), &mut sum, &mut scratch).unwrap();
            (out, sum)
        });
        let products: Vec<_> = products.collect();
        let mut alone = vec![f32::NAN; count * width];
        table().times(rows, Pick::From(0), &m, width, Finish::Plain, &mut alone);
        for (out, sum) in &products {
            assert!(bits(out) == bits(&alone));
            assert!(bits(sum) == bits(&products[0].1));
        }
        let (left, right) = (factor.picked(Pick::From(0), count), matrix(&g, width));
        let magnitude = left.t().mapv(f64::abs).dot(&right.mapv(f64::abs));
        assert_rounded(&products[0].1, &left.t().dot(&right), &magnitude, count, "sum over rows");
    }
    number
}

/// Shapes of wide products, `(rows, depth, width)`: both sides from the least width on, with remainders of rows (6, 4 and 2
/// at once, and 384), of terms (128), of columns (64, 48, 32, 16), of groups (64) and of columns of the left factor (6, 192).
const WIDE: [(usize, usize, usize); 13] = [
    (0, 16, 64),
    (8, 16, 64),
    (1, 17, 64),
    (13, 64, 65),
    (63, 70, 79),
    (64, 128, 80),
    (65, 129, 96),
    (129, 100, 100),
    (200, 193, 112),
    (385, 257, 127),
    (131, 300, 128),
    (70, 385, 143),
    (400, 33, 200),
];

#[test]
fn wide_products_of_integers_are_exact_in_every_table() {
    let random = &mut Random::new(41);
    for (count, depth, width) in WIDE {
        let factor = Factor::new(count + 2, depth, random, whole_number);
        let list: Vec<i32> = (0..count).map(|_| random.below(count + 2) as i32).collect();
        let mut numbers = |count: usize| (0..count).map(|_| whole_number(random)).collect::<Vec<f32>>();
        let (m, g, h) = (numbers(depth * width), numbers(count * width), numbers(count * width));
        for pick in [Pick::From(0), Pick::From(2), Pick::List(&list)] {
            let left = factor.picked(pick, count);
            let product = left.dot(&matrix(&m, width));
            let rectified = bits_of(&product.mapv(|z| z.max(0.0)));
            let mut passed = product.clone();
            passed.iter_mut().zip(&h).filter(|(_, h)| **h <= 0.0).for_each(|(z, _)| *z = 0.0);
            let (product, passed) = (bits_of(&product), bits_of(&passed));
            let sum = bits_of(&(matrix(&m, width) + left.t().dot(&matrix(&g, width))));
            for table in available() {
                let rows = factor.both()[1];
                let name = format!("{}, {count} x {depth} x {width}", table.name);
                for (finish, wanted) in
                    [(Finish::Plain, &product), (Finish::Rectify, &rectified), (Finish::Where(&h), &passed)]
                {
                    let mut out = vec![f32::NAN; count * width];
                    table.times(rows, pick, &m, width, finish, &mut out);
                    assert!(without_minus_zero(&out) == *wanted, "{name}, {finish:?}");
                }
                let mut found = m.clone();
                table.transposed_times(rows, pick, &g, width, &mut found);
                assert!(without_minus_zero(&found) == sum, "{name}, transposed");
            }
        }
    }
}

#[test]
fn wide_products_of_reals_are_rounded_as_they_must_be_in_every_table() {
    let random = &mut Random::new(42);
    for (count, depth, width) in WIDE {
        let (b, m, g) = (random.floats(count * depth), random.floats(depth * width), random.floats(count * width));
        let (left, right, upper) = (matrix(&b, depth), matrix(&m, width), matrix(&g, width));
        let (product, magnitude) = (left.dot(&right), left.mapv(f64::abs).dot(&right.mapv(f64::abs)));
        let sum = &right + &left.t().dot(&upper);
        let sum_magnitude = right.mapv(f64::abs) + left.t().mapv(f64::abs).dot(&upper.mapv(f64::abs));
        let rows = Rows::Dense { data: &b, width: depth };
        for table in available() {
            let mut out = vec![f32::NAN; count * width];
            table.times(rows, Pick::From(0), &m, width, Finish::Plain, &mut out);
            assert_rounded(&out, &product, &magnitude, depth, table.name);
            let mut found = m.clone();
            table.transposed_times(rows, Pick::From(0), &g, width, &mut found);
            assert_rounded(&found, &sum, &sum_magnitude, count, table.name);
        }
        // Another library as a second opinion: both are off by less than is allowed.
        let mut other = vec![f32::NAN; count * width];
        // SAFETY: the matrices have these shapes.
        unsafe {
            let (row, out) = (width as isize, other.as_mut_ptr());
            matrixmultiply::sgemm(
                count,
                depth,
                width,
                1.0,
                b.as_ptr(),
                depth as isize,
                1,
                m.as_ptr(),
                row,
                1,
                0.0,
                out,
                row,
                1,
            );
        }
        assert_rounded(&other, &product, &magnitude, depth, "matrixmultiply");
    }
}

/// Alone, in company of as many rows as are computed one by one or together, and wherever a call begins.
#[test]
fn a_row_of_a_wide_product_has_the_same_bits_alone_and_in_any_company() {
    let random = &mut Random::new(43);
    for (depth, width) in [(16, 64), (150, 100), (300, 143)] {
        let count = 400;
        let (b, m) = (random.floats(count * depth), random.floats(depth * width));
        let rows = Rows::Dense { data: &b, width: depth };
        for table in available() {
            let mut together = vec![f32::NAN; count * width];
            table.times(rows, Pick::From(0), &m, width, Finish::Plain, &mut together);
            for some in [1, 2, 7, 8, 9, 12, 13, 64, 399] {
                let start = random.below(count - some + 1);
                let list: Vec<i32> = (0..some).map(|_| random.below(count) as i32).collect();
                for pick in [Pick::From(start), Pick::List(&list)] {
                    let mut out = vec![f32::NAN; some * width];
                    table.times(rows, pick, &m, width, Finish::Plain, &mut out);
                    for (i, found) in out.chunks_exact(width).enumerate() {
                        let wanted = &together[pick.at(i) * width..][..width];
                        assert!(bits(found) == bits(wanted), "{}, {some} rows of {depth}", table.name);
                    }
                }
            }
        }
    }
}

/// Rows of B in pieces of whole groups, the last piece first, and rows of M apart: as threads and chunks of ÂX take them.
#[test]
fn a_wide_sum_has_the_same_bits_in_pieces() {
    let random = &mut Random::new(44);
    for (count, depth, width) in [(1, 16, 64), (500, 97, 65), (449, 300, 128), (193, 20, 100)] {
        let (b, g) = (random.floats(count * depth), random.floats(count * width));
        for table in available() {
            let add = |from: usize, rows: std::ops::Range<usize>, m: &mut [f32]| {
                let g = &g[rows.start * width..rows.end * width];
                table.dense_transposed_times((&b, depth), from, Pick::From(rows.start), g, width, m);
            };
            let mut whole = vec![0.0; depth * width];
            add(0, 0..count, &mut whole);
            for piece in [GROUP, 3 * GROUP] {
                let mut sum = vec![0.0; depth * width];
                for start in (0..count).step_by(piece).rev() {
                    add(0, start..(start + piece).min(count), &mut sum);
                }
                assert!(bits(&sum) == bits(&whole), "{}, pieces of {piece} rows", table.name);
            }
            for height in [1, 5, 48, 96] {
                let mut sum = vec![f32::NAN; depth * width];
                for (i, part) in sum.chunks_mut(height * width).enumerate() {
                    part.fill(0.0);
                    add(i * height, 0..count, part);
                }
                assert!(bits(&sum) == bits(&whole), "{}, {height} rows of M at a time", table.name);
            }
        }
    }
}

#[test]
fn shared_wide_products_have_the_bits_of_one_thread() {
    for (count, depth, width) in [(300, 70, 65), (2100, 64, 64), (700, 131, 100), (5000, 97, 64)] {
        let random = &mut Random::new(45);
        let (b, m, g) = (random.floats(count * depth), random.floats(depth * width), random.floats(count * width));
        let list: Vec<i32> = (0..count).map(|_| random.below(count) as i32).collect();
        let (rows, h) = (Rows::Dense { data: &b, width: depth }, random.floats(count * width));
        for pick in [Pick::From(0), Pick::List(&list)] {
            let products = [1, 2, 5, 16].map(|number| {
                let threads = Threads::new(number).unwrap();
                assert_eq!(threads.shares(count * depth, width), number > 1);
                let outs = [Finish::Plain, Finish::Rectify, Finish::Where(&h)].map(|finish| {
                    let mut out = vec![f32::NAN; count * width];
                    threads.times(rows, pick, &m, width, finish, &mut out);
                    bits(&out)
                });
                let (mut sum, mut scratch) = (vec![f32::NAN; depth * width], Buffer::default());
                threads.transposed_times((rows, depth), pick, (&g, width), &mut sum, &mut scratch).unwrap();
                (outs, bits(&sum))
            });
            assert!(products.iter().all(|p| *p == products[0]), "{count} x {depth} x {width}");
        }
    }
}

#[test]
fn two_lists_are_processed_in_matching_pieces() {
    for threads in [1, 3].map(|count| Threads::new(count).unwrap()) {
        for entries in [1, 1 << 20] {
            let (mut a, mut b) = (vec![0f32; 1000], vec![0u8; 334]);
            threads.each_pair((entries, 1), (&mut a, 30), (&mut b, 10), |i, a, b| {
                assert!(a.len() == if i == 33 { 10 } else { 30 } && b.len() == if i == 33 { 4 } else { 10 });
                a.iter_mut().for_each(|a| *a += i as f32);
                b.iter_mut().for_each(|b| *b += i as u8);
            });
            assert!(a.iter().enumerate().all(|(at, &a)| a == (at / 30) as f32));
            assert!(b.iter().enumerate().all(|(at, &b)| b == (at / 10) as u8));
        }
    }
}

#[test]
fn parts_of_a_sum_hold_each_row_once_and_depend_on_no_thread() {
    for count in (0..3000).chain([8191, 8192, 8193, 100_000, 1_000_003]) {
        for (row_entries, height, width) in
            [(1, 1, 1), (50, 100, 10), (0, 1 << 10, 1 << 10), (9, 1 << 24, 1), (9, 2, 1 << 25)]
        {
            let parts = Parts::of_sparse(count, row_entries, height, width);
            let number = parts.number();
            assert!((1..=16).contains(&number));
            assert!(number == 1 || number * height * width <= 1 << 24, "the partial sums are bounded");
            check_parts(&parts, count);
            let fewer = parts.within(height, 3 * height * width);
            assert!(fewer.number() <= 4.min(number) && (fewer.number() == number || fewer.length() > parts.length()));
            assert!((fewer.number() - 1) * height * fewer.stride() <= 3 * height * width);
            check_parts(&fewer, count);
        }
        for (height, width) in [(1, 1), (95, 3), (96, 3), (500, 8), (500, 9)] {
            let parts = Parts::of_dense(count, height, width);
            let two = count >= 256 && height >= 96 && height * width <= 4096.max(16 * count);
            assert_eq!(parts.number(), 1 + usize::from(two));
            assert!(parts.range(0).len().is_multiple_of(GROUP) || parts.number() == 1, "whole groups");
            check_parts(&parts, count);
        }
        for (height, width) in [(16, 64), (64, 64), (96, 100), (745, 512)] {
            let parts = Parts::of_dense(count, height, width);
            let number = parts.number();
            assert!(number <= 16.min(count / 1024).max(1));
            assert!(number == 1 || number * height * width <= 16 * count, "the partial sums are bounded");
            assert!(parts.range(0).len().is_multiple_of(GROUP) || number == 1, "whole groups");
            check_parts(&parts, count);
        }
    }
}

fn check_parts(parts: &Parts, count: usize) {
    let mut next = 0;
    for i in 0..parts.number() {
        let range = parts.range(i);
        assert!(range.start == next && (range.end > range.start || count == 0), "part {i}: {range:?}");
        next = range.end;
    }
    assert_eq!(next, count);
}

/// Softmax of one row, its log-sum, and the bits of both under every table.
fn softmax_of(table: &Table, row: &[f32]) -> (Vec<f32>, f64) {
    let (mut p, mut log_sum) = (row.to_vec(), [f64::NAN]);
    table.softmax(&mut p, row.len(), &mut log_sum);
    (p, log_sum[0])
}

/// log Σ e^z in double precision.
fn log_sum(row: &[f32]) -> f64 {
    let max = row.iter().fold(f64::NEG_INFINITY, |m, &z| m.max(f64::from(z)));
    max + row.iter().map(|&z| (f64::from(z) - max).exp()).sum::<f64>().ln()
}

/// The exponential is exact to two units in the last place, and stays at e^-87 below -87.
const EXP_ERROR: f64 = 4.0 * ROUNDING;
const SMALLEST: f64 = 1.646e-38;

#[test]
fn softmax_is_that_of_double_precision_in_every_table() {
    let mut random = Random::new(6);
    for table in available() {
        for width in widths() {
            for spread in [1e-3, 1.0, 10.0, 80.0, 1e4] {
                let row: Vec<f32> = (0..width).map(|_| random.float(-spread, spread)).collect();
                let (p, found) = softmax_of(table, &row);
                let wanted = log_sum(&row);
                // Each exponential has its error and the rounding of z − max (half a unit of up to 87); so has the
                // sum, in which each addition rounds too; the quotient is rounded once more.
                let differences = 87f64.min(2.0 * spread) * ROUNDING;
                let sum_error = EXP_ERROR + differences + width as f64 * ROUNDING;
                for (&p, &z) in p.iter().zip(&row) {
                    let exact = (f64::from(z) - wanted).exp();
                    let allowed = (sum_error + EXP_ERROR + differences + ROUNDING) * exact + SMALLEST;
                    let error = (f64::from(p) - exact).abs();
                    assert!(error <= allowed, "{}: p = {p} of {width} is off by {error:e}", table.name);
                }
                // The largest entry adds exactly 1 to the sum: the error is that of the others, of which 1 − p are.
                let others =
                    row.iter().map(|&z| (f64::from(z) - wanted).exp()).fold(1.0, |rest, p| f64::min(rest, 1.0 - p));
                let allowed = 1.01 * (sum_error * others + width as f64 * SMALLEST) + 1e-15 * spread;
                let error = (found - wanted).abs();
                assert!(error <= allowed, "{}: the log-sum of {width} is off by {error:e}", table.name);
                let total: f64 = p.iter().map(|&p| f64::from(p)).sum();
                assert!((total - 1.0).abs() <= (width as f64 + 1.0) * ROUNDING, "{}: Σp = {total}", table.name);
            }
        }
    }
}

#[test]
fn exponential_is_exact_to_two_units_over_its_whole_range() {
    for table in available() {
        let mut largest = 0f64;
        // 0 and x: the quotient of the two probabilities is e^x, up to the rounding of both.
        for at in 0..=870_000 {
            let x = -(at as f32) * 1e-4;
            let (p, found) = softmax_of(table, &[0.0, x]);
            let exact = f64::from(x).exp();
            largest = largest.max((f64::from(p[1]) / f64::from(p[0]) / exact - 1.0).abs());
            // A small log-sum has the digits of e^x, not those that 1 + e^x keeps.
            assert!((found - exact.ln_1p()).abs() <= 1.001 * EXP_ERROR * exact, "{}: x = {x}", table.name);
        }
        assert!(largest <= 1.001 * (EXP_ERROR + 2.0 * ROUNDING), "{}: off by {largest:e}", table.name);
    }
}

#[test]
fn extreme_logits_neither_overflow_nor_vanish() {
    for table in available() {
        for big in [80.0, 1e4, 1e30, f32::MAX] {
            for row in [[big, -big, 0.0], [0.0, big, -big], [-big, 0.0, big]] {
                let (p, found) = softmax_of(table, &row);
                assert!(p.iter().all(|&p| (0.0..=1.0).contains(&p)), "{}: {p:?} of {row:?}", table.name);
                let largest = row.iter().position(|&z| z == big).unwrap();
                assert_eq!(p[largest], 1.0);
                assert!(p.iter().enumerate().all(|(j, &p)| j == largest || f64::from(p) <= 1.1 * (-80f64).exp()));
                assert_eq!(found, f64::from(big));
            }
            // Equal logits, however large, must have equal probabilities, bit for bit.
            for row in [[big; 5], [-big; 5]] {
                let (p, found) = softmax_of(table, &row);
                assert!(p.iter().all(|&p| p == 0.2), "{}: {p:?}", table.name);
                assert!((found - (f64::from(row[0]) + 5f64.ln())).abs() <= 1e-15 * f64::from(big));
            }
            for z in [big, -big, 0.0] {
                assert_eq!(softmax_of(table, &[z]), (vec![1.0], f64::from(z)), "one class is certain");
            }
        }
        assert!(f64::from(softmax_of(table, &[0.0, f32::NEG_INFINITY]).0[1]) <= SMALLEST);
    }
}

#[test]
fn a_nan_changes_its_own_row_only() {
    for table in available() {
        for width in [1, 2, 7, 16, 40] {
            for spoilt in 0..width {
                let mut z: Vec<f32> = (0..3 * width).map(|at| (at % 5) as f32).collect();
                let clean = z.clone();
                z[width + spoilt] = f32::NAN;
                let mut log_sums = [0.0; 3];
                table.softmax(&mut z, width, &mut log_sums);
                let rows: Vec<&[f32]> = z.chunks_exact(width).collect();
                assert!(rows[1].iter().all(|p| p.is_nan()) && log_sums[1].is_nan(), "{}: {rows:?}", table.name);
                for i in [0, 2] {
                    let (p, log_sum) = softmax_of(table, &clean[i * width..(i + 1) * width]);
                    assert!(rows[i] == p && log_sums[i] == log_sum, "{}: row {i}", table.name);
                }
            }
        }
        assert!(softmax_of(table, &[f32::INFINITY, 0.0]).1.is_nan(), "an infinite logit has no softmax");
    }
}

#[test]
fn a_nan_in_a_factor_reaches_the_product() {
    for table in available() {
        let mut m = vec![1.0; 3 * 20];
        m[20 + 7] = f32::NAN;
        let mut out = [0.0; 2 * 20];
        let rows = Rows::Dense { data: &[1.0, 1.0, 1.0, 1.0, 0.0, 1.0], width: 3 };
        table.times(rows, Pick::From(0), &m, 20, Finish::Plain, &mut out);
        for (at, out) in out.iter().enumerate() {
            assert_eq!(out.is_nan(), at % 20 == 7, "{}: place {at}", table.name);
        }
    }
}

#[test]
fn the_gradient_of_the_cross_entropy_is_that_of_double_precision_in_every_table() {
    let mut random = Random::new(7);
    for table in available() {
        for width in widths() {
            for spread in [1e-3, 1.0, 10.0, 40.0] {
                let (count, share) = (9, 0.25);
                let logits: Vec<f32> = (0..count * width).map(|_| random.float(-spread, spread)).collect();
                let labels: Vec<i32> = (0..20).map(|_| random.below(width) as i32).collect();
                let nodes: Vec<i32> = (0..count).map(|_| random.below(20) as i32).collect();
                let mut z = logits.clone();
                let found = table.cross_entropy(&mut z, width, &labels, Pick::List(&nodes), share);
                let mut wanted = 0.0;
                for (i, row) in logits.chunks_exact(width).enumerate() {
                    let (y, total) = (labels[nodes[i] as usize] as usize, log_sum(row));
                    wanted += total - f64::from(row[y]);
                    let p = |j: usize| (f64::from(row[j]) - total).exp();
                    for j in 0..width {
                        let others: f64 = (0..width).filter(|&other| other != y).map(p).sum();
                        let exact = f64::from(share) * if j == y { -others } else { p(j) };
                        let error = (f64::from(z[i * width + j]) - exact).abs();
                        let allowed = (width as f64 + 100.0) * ROUNDING * exact.abs() + 1e-30;
                        assert!(error <= allowed, "{}: {exact} of {width} is off by {error:e}", table.name);
                    }
                }
                let error = (found - wanted).abs();
                assert!(error <= 1e-5 * wanted + 1e-15, "{}: the loss {wanted} is off by {error:e}", table.name);
            }
        }
    }
}

#[test]
fn a_loss_keeps_its_digits_when_every_label_is_all_but_certain() {
    for table in available() {
        for width in [2, 3, 7, 8, 9, 40] {
            let (count, gap) = (50, 30f32);
            let mut z: Vec<f32> = (0..count * width).map(|at| if at % width == 1 { gap } else { 0.0 }).collect();
            let found = table.cross_entropy(&mut z, width, &[1; 50], Pick::From(0), 1.0);
            let wanted = count as f64 * ((width - 1) as f64 * f64::from(-gap).exp()).ln_1p();
            assert!((found / wanted - 1.0).abs() < 1e-6, "{}: {found:e}, not {wanted:e}", table.name);
        }
    }
}

#[test]
fn a_row_that_is_not_finite_makes_a_loss_that_is_not() {
    for table in available() {
        for width in [1, 2, 7, 9, 40] {
            for (place, number) in (0..width).flat_map(|at| [(at, f32::NAN), (at, f32::INFINITY)]) {
                let mut z = vec![0.5; 3 * width];
                z[width + place] = number;
                let loss = table.cross_entropy(&mut z, width, &[0, 0, 0], Pick::From(0), 1.0);
                assert!(!loss.is_finite(), "{}: {loss} with {number} at {place} of {width}", table.name);
            }
        }
    }
}

#[test]
fn updates_are_those_of_double_precision_in_every_table() {
    let mut random = Random::new(8);
    for table in available() {
        for len in [0, 1, 15, 16, 17, 100] {
            let (w, g, m) = (random.floats(len), random.floats(len), random.floats(len));
            let v: Vec<f32> = (0..len).map(|_| random.float(0.0, 1.0)).collect();
            let mut moved = w.clone();
            table.descend(&mut moved, &g, 0.75, 0.3);
            for i in 0..len {
                let exact = 0.75 * f64::from(w[i]) - f64::from(0.3f32) * f64::from(g[i]);
                assert!((f64::from(moved[i]) - exact).abs() <= 3.0 * ROUNDING, "{}", table.name);
            }
            let by = Adam { keep: 0.5, step: 0.25, root: 0.5, epsilon: 0.125, old: [0.5, 0.75], new: [0.5, 0.25] };
            let (mut moved, mut m1, mut v1) = (w.clone(), m.clone(), v.clone());
            table.adam(&mut moved, &mut m1, &mut v1, &g, by);
            for i in 0..len {
                let [w, g, m, v] = [w[i], g[i], m[i], v[i]].map(f64::from);
                let (m, v) = (0.5 * m + 0.5 * g, 0.75 * v + 0.25 * g * g);
                let exact = 0.5 * w - 0.25 * m / (v.sqrt() / 0.5 + 0.125);
                for (found, exact) in [(m1[i], m), (v1[i], v), (moved[i], exact)] {
                    assert!((f64::from(found) - exact).abs() <= 16.0 * ROUNDING, "{}", table.name);
                }
            }
        }
    }
}

#[test]
fn the_largest_magnitude_is_found_wherever_it_is() {
    for table in available() {
        assert_eq!(table.largest(&[]), 0.0);
        for len in [1, 16, 33, 100] {
            for at in 0..len {
                let mut values = vec![-0.5; len];
                for (number, wanted) in [(-7.0, 7.0), (f32::NEG_INFINITY, f32::INFINITY)] {
                    values[at] = number;
                    assert_eq!(table.largest(&values), wanted, "{}", table.name);
                }
                values[at] = -f32::NAN;
                assert!(table.largest(&values).is_nan(), "{}", table.name);
            }
        }
    }
}

#[test]
fn a_finished_product_is_the_product_and_then_finished() {
    let mut random = Random::new(10);
    for (width, depth) in (1..=40).map(|width| (width, 30)).chain([(1, 90), (3, 600), (4, 64), (130, 20)]) {
        let factor = Factor::new(13, depth, &mut random, real);
        let (m, h) = (random.floats(depth * width), random.floats(13 * width));
        for table in available() {
            for rows in factor.both() {
                let product = |finish| {
                    let mut out = vec![f32::NAN; 13 * width];
                    table.times(rows, Pick::From(0), &m, width, finish, &mut out);
                    out
                };
                let plain = product(Finish::Plain);
                let rectified: Vec<f32> = plain.iter().map(|&z| if z < 0.0 { 0.0 } else { z }).collect();
                let passed: Vec<f32> = plain.iter().zip(&h).map(|(&z, &h)| if h > 0.0 { z } else { 0.0 }).collect();
                assert!(bits(&product(Finish::Rectify)) == bits(&rectified), "{}, width {width}", table.name);
                assert!(bits(&product(Finish::Where(&h))) == bits(&passed), "{}, width {width}", table.name);
            }
        }
    }
}

#[test]
fn marked_entries_are_found_in_every_table_wherever_rows_lie() {
    let random = &mut Random::new(17);
    for (columns, share, longest) in [(1, 1.0, 1), (40, 0.3, 5), (500, 0.05, 40), (500, 1.0, 40), (3000, 0.0, 17)] {
        // The rows are adjacent, so that what is read beyond one is the next; the last ones end the matrix.
        let lengths: Vec<usize> = (0..60).map(|_| random.below(longest + 1)).collect();
        let indptr: Vec<i64> = std::iter::once(0)
            .chain(lengths.iter().scan(0, |sum, &length| {
                *sum += length as i64;
                Some(*sum)
            }))
            .collect();
        let indices: Vec<i32> = (0..indptr[60]).map(|_| random.below(columns) as i32).collect();
        // Marks for the first half of the columns only; the others count as not marked.
        let known = columns.div_ceil(2);
        let mut marks = vec![0u8; known];
        (0..known).filter(|_| random.unit() < share).for_each(|k| marks[k] = 1);
        let marked = |k: i32| marks.get(k as usize) == Some(&1);

        let rows: Vec<usize> = (0..80).map(|i| if i < 20 { 59 - i } else { random.below(60) }).collect();
        let starts: Vec<usize> = rows.iter().map(|&r| indptr[r] as usize).collect();
        let mut offsets = vec![0u64];
        rows.iter().for_each(|&r| offsets.push(offsets[offsets.len() - 1] + lengths[r] as u64));
        let (mut wanted, mut wanted_ends) = (Vec::new(), Vec::new());
        for &r in &rows {
            wanted.extend((indptr[r] as usize..indptr[r + 1] as usize).filter(|&at| marked(indices[at])));
            wanted_ends.push(wanted.len() as i64);
        }
        for table in available() {
            let room = offsets[rows.len()] as usize + AT_ONCE;
            let (mut found, mut ends) = (vec![usize::MAX; room], vec![-1; rows.len()]);
            let count = table.marked_entries(&indices, (&starts, &offsets), &marks, &mut found, &mut ends);
            assert_eq!((&found[..count], &ends), (&wanted[..], &wanted_ends), "{}, {columns} columns", table.name);
        }
    }
}

#[test]
fn every_table_has_the_words_of_chacha_however_far_into_the_stream() {
    let key: [u32; 8] = std::array::from_fn(|i| 0x9e37_79b9u32.wrapping_mul(i as u32 + 1));
    let seed: [u8; 32] = std::array::from_fn(|i| key[i / 4].to_le_bytes()[i % 4]);
    // The lower half of the counter overflows between the blocks of one call, and of one vector.
    for counter in [0, 1, 1 << 20, (1 << 32) - 8, (1 << 32) - 1, u64::MAX - 31] {
        let mut oracle = ChaCha8Rng::from_seed(seed);
        oracle.set_word_pos(16 * u128::from(counter));
        let wanted: [u32; CHACHA_WORDS] = std::array::from_fn(|_| oracle.next_u32());
        for table in available() {
            let mut words = [0; CHACHA_WORDS];
            table.chacha8(&key, counter, &mut words);
            assert_eq!(words, wanted, "{}, from block {counter} on", table.name);
        }
    }
}

#[test]
fn rectifying_zeroes_negative_numbers_forward_and_backward() {
    for table in available() {
        let before = [-1.0, 0.0, -0.0, 2.0, f32::NAN, f32::NEG_INFINITY, 1e-40];
        let (one, mut h) = (Rows::Dense { data: &[1.0], width: 1 }, [9.0; 7]);
        table.times(one, Pick::From(0), &before, 7, Finish::Rectify, &mut h);
        assert_eq!(h.map(|h| h > 0.0), [false, false, false, true, false, false, true], "{}", table.name);
        assert!(h[4].is_nan(), "what is undefined stays so");
        for length in [7, 32, 39, 64] {
            let h: Vec<f32> = h.iter().copied().cycle().take(length).collect();
            let wanted: Vec<f32> = h.iter().map(|&h| if h > 0.0 { 3.0 } else { 0.0 }).collect();
            let mut d = vec![3.0; length];
            table.rectified_gradient(&mut d, &h);
            assert_eq!(d, wanted, "{}", table.name);
        }
    }
}

const EXTREMES: [Extreme; 2] = [Extreme::Largest, Extreme::Smallest];

/// The largest or smallest of each column over the entries of a row, by single comparisons; the first of equal ones. A row without
/// entries is 0 and comes from -1.
fn extreme_over_entries(
    extreme: Extreme,
    factor: &Factor,
    row: usize,
    (m, width): (&[f32], usize),
    column: usize,
) -> (f32, i32) {
    let sign = if extreme == Extreme::Largest { 1.0 } else { -1.0 };
    let entries = factor.indptr[row] as usize..factor.indptr[row + 1] as usize;
    factor.indices[entries].iter().fold((0.0, -1), |(best, from), &u| {
        let x = m[u as usize * width + column];
        if from < 0 || sign * x > sign * best { (x, u) } else { (best, from) }
    })
}

/// Whole numbers have many ties, and weights do not matter.
#[test]
fn an_extreme_over_entries_is_the_first_of_the_equal_ones_in_every_table() {
    let mut random = Random::new(31);
    for number in [whole_number, real] {
        let numbers = |random: &mut Random, count: usize| (0..count).map(|_| number(random)).collect::<Vec<_>>();
        let mut source = Random::new(32);
        for_each_left_factor(&mut random, number, |factor, pick, count| {
            let Rows::Sparse(a) = factor.both()[0] else { panic!("the first form is sparse") };
            for width in [1, 3, 7, 8, 15, 16, 17, 33, 70] {
                let m = numbers(&mut source, factor.depth * width);
                for (table, extreme) in available().iter().flat_map(|table| EXTREMES.map(|extreme| (table, extreme))) {
                    let (mut out, mut from) = (vec![f32::NAN; count * width], vec![-7; count * width]);
                    table.extreme(extreme, a, pick, (&m, width), (&mut out, &mut from));
                    for (at, (&out, &from)) in out.iter().zip(&from).enumerate() {
                        let wanted =
                            extreme_over_entries(extreme, factor, pick.at(at / width), (&m, width), at % width);
                        assert_eq!(
                            (out.to_bits(), from),
                            (wanted.0.to_bits(), wanted.1),
                            "{}, {extreme:?}, {width}",
                            table.name
                        );
                    }
                }
            }
        });
    }
}

#[test]
fn extremes_of_negative_and_infinite_numbers_are_theirs_and_not_0() {
    let (indptr, indices, values) = ([0, 2, 2, 3], [0, 1, 2], [0.0, 1.0, -1.0]);
    let a = Sparse { indptr: &indptr, indices: &indices, values: &values };
    let m = [-3.0, f32::NEG_INFINITY, -2.0, f32::NEG_INFINITY, f32::INFINITY, -0.0];
    for table in available() {
        let (mut out, mut from) = ([f32::NAN; 6], [9; 6]);
        table.extreme(Extreme::Largest, a, Pick::From(0), (&m, 2), (&mut out, &mut from));
        assert_eq!(out, [-2.0, f32::NEG_INFINITY, 0.0, 0.0, f32::INFINITY, -0.0], "{}", table.name);
        assert_eq!(from, [1, 0, -1, -1, 2, 2], "{}", table.name);
        let m = m.map(|x| -x);
        table.extreme(Extreme::Smallest, a, Pick::From(0), (&m, 2), (&mut out, &mut from));
        assert_eq!(out, [2.0, f32::INFINITY, 0.0, 0.0, f32::NEG_INFINITY, 0.0], "{}", table.name);
        assert_eq!(from, [1, 0, -1, -1, 2, 2], "{}", table.name);
    }
}

#[test]
fn every_table_drops_the_same_numbers_and_scales_the_others() {
    let mut random = Random::new(33);
    for width in widths() {
        for (rate, scale) in [(0.0, 1.0), (0.2, 1.25), (0.5, 2.0), (0.75, 4.0)] {
            let (key, row) = (random.next(), random.floats(width));
            let threshold = (rate * 4_294_967_296.0) as u32;
            let wanted: Vec<u32> = row
                .iter()
                .enumerate()
                .map(|(column, x)| {
                    let number = plimsoll::kernel::mix(column as u32, key as u32, (key >> 32) as u32);
                    if number < threshold { 0 } else { (x * scale).to_bits() }
                })
                .collect();
            for table in available() {
                let mut found = row.clone();
                table.drop_out(&mut found, key, threshold, scale);
                assert!(bits(&found) == wanted, "{}, {width} columns, {rate}", table.name);
            }
        }
    }
}

#[test]
fn what_is_dropped_is_0_even_if_it_was_not_finite() {
    for table in available() {
        let mut row = vec![f32::NAN; 1000];
        table.drop_out(&mut row, 5, 1 << 31, 2.0);
        let zeros = row.iter().filter(|x| x.to_bits() == 0).count();
        assert!((400..600).contains(&zeros) && row.iter().all(|x| *x == 0.0 || x.is_nan()), "{}: {zeros}", table.name);
    }
}

/// Of neighbouring columns and of neighbouring keys: pairs are dropped together as often as chance has it.
#[test]
fn dropped_numbers_are_independent_from_column_to_column_and_from_key_to_key() {
    let (rows, width, threshold) = (2000usize, 64usize, 1u32 << 31);
    let dropped: Vec<Vec<bool>> = (0..rows as u64)
        .map(|node| {
            let mut row = vec![1.0; width];
            table().drop_out(&mut row, plimsoll::random::mix(9, node), threshold, 2.0);
            row.iter().map(|&x| x == 0.0).collect()
        })
        .collect();
    let share = |pairs: &mut dyn Iterator<Item = (bool, bool)>| {
        let (mut count, mut both) = (0.0, 0.0);
        pairs.for_each(|(a, b)| (count, both) = (count + 1.0, both + f64::from(u8::from(a && b))));
        (both - count / 4.0).abs() / (count * 3.0 / 16.0f64).sqrt()
    };
    for step in [1, 2, 16, 32] {
        let columns = share(&mut dropped.iter().flat_map(|row| (step..width).map(|c| (row[c - step], row[c]))));
        let keys = share(
            &mut (step..rows)
                .flat_map(|v| (0..width).map(move |c| (v, c)))
                .map(|(v, c)| (dropped[v - step][c], dropped[v][c])),
        );
        // Pairs that share a number are not independent, but uncorrelated: the variance is at most twice as large.
        assert!(columns <= 5.7 && keys <= 5.7, "{step} apart: {columns} and {keys} standard deviations");
    }
}
