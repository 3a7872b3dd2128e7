//! Scores, their softmax, and means by it.

use super::super::super::arithmetic::Arithmetic;
use super::super::super::lanes::Lanes;
use super::super::softmax::exp;
use super::super::{mix, mix_key};
use super::{
    Drops, ENTRIES_AHEAD, Edges, Group, Heads, LANES, Scores, ask, by_heads, by_vectors, entries, kept, leaky,
};
use std::ops::Range;

/// Rows that are processed in turn.
const BLOCK: usize = 16;

/// `s_u ← a·x_u` for each head and both vectors a. Each row of x is read once.
#[inline(always)]
pub fn score_rows<A: Arithmetic>(x: &[f32], heads: Heads, vectors: [&[f32]; 2], s: &mut [f32], d: &mut [f32]) {
    by_heads!(heads, score_rows_of::<A>(x, heads, vectors, s, d))
}

#[inline(always)]
fn score_rows_of<A: Arithmetic, const H: usize>(
    x: &[f32],
    heads: Heads,
    vectors: [&[f32]; 2],
    s: &mut [f32],
    d: &mut [f32],
) {
    for i in 0..x.len() / heads.stride() {
        for part in 0..Group::number::<H>(heads) {
            let group = Group::new::<H>(heads, part);
            let mut sums = [A::Sixteen::all(0.0); 2];
            for c in 0..group.count {
                let x: A::Sixteen = group.read(x, i, c);
                for k in 0..2 {
                    sums[k] = x.madd(group.read(vectors[k], 0, c), sums[k]);
                }
            }
            sums[0].folded::<H>().write_first::<H>(&mut s[group.at(i)..]);
            sums[1].folded::<H>().write_first::<H>(&mut d[group.at(i)..]);
        }
    }
}

/// `out_v ← Σ_u α_vu x_u` for each head, with α the softmax of the scores over the entries u of row v. Computes the rows from
/// `first` on, as many as `out` has; a row without entries is 0. `coefficients` begins with those of row `first`: one for each
/// head and entry. What is dropped there has a sign, and the others count `1 / (1 − rate)`, which is `scale`.
///
/// The softmax subtracts the largest score of its row. All sums are in the order of the entries. Some rows are processed in turn,
/// step by step: what one step writes number by number, the next one reads as vectors, long after.
///
/// Cost: some 3·width flops per entry and head, and an exponential; bound by the row of x that each entry names.
#[inline(always)]
pub fn attend<A: Arithmetic>(
    edges: Edges<'_>,
    first: usize,
    scores: Scores<'_>,
    x: &[f32],
    heads: Heads,
    drops: Option<Drops<'_>>,
    scale: f32,
    coefficients: &mut [f32],
    out: &mut [f32],
) {
    by_heads!(heads, attend_of::<A>(edges, first, scores, x, heads, drops, scale, coefficients, out))
}

#[inline(always)]
fn attend_of<A: Arithmetic, const H: usize>(
    edges: Edges<'_>,
    first: usize,
    scores: Scores<'_>,
    x: &[f32],
    heads: Heads,
    drops: Option<Drops<'_>>,
    scale: f32,
    coefficients: &mut [f32],
    out: &mut [f32],
) {
    let lanes = if H < LANES { H } else { heads.lanes() };
    let base = edges.indptr[first] as usize;
    let scale = if heads.mean { scale / heads.heads as f32 } else { scale };
    let width = heads.out_width();
    for (block, out) in out.chunks_mut(BLOCK * width).enumerate() {
        let rows = first + block * BLOCK..first + block * BLOCK + out.len() / width;
        let all = (edges.indptr[rows.start] as usize - base) * lanes..(edges.indptr[rows.end] as usize - base) * lanes;
        for row in rows.clone() {
            let range = entries(edges.indptr, row);
            let alpha = &mut coefficients[(range.start - base) * lanes..];
            for part in 0..Group::number::<H>(heads) {
                let group = Group::new::<H>(heads, part);
                let largest = match scores {
                    Scores::Sum { scores: [s, d], own, .. } => {
                        let d = A::Sixteen::repeated::<H>(&d[group.at(own.at(row))..]);
                        sums::<A, H>(edges, range.clone(), s, d, x, group, alpha)
                    }
                    Scores::Inner { above, vector } => {
                        inner_products::<A, H>(edges, range.clone(), (x, above, row), vector, group, alpha)
                    }
                };
                for k in 0..range.len() {
                    let z = &mut alpha[group.at(k)..];
                    A::Sixteen::repeated::<H>(z).minus(largest).write_first::<H>(z);
                }
            }
        }
        exponentials::<A::Sixteen>(coefficients, all);
        for (row, out) in rows.zip(out.chunks_exact_mut(width)) {
            let range = entries(edges.indptr, row);
            let alpha = &mut coefficients[(range.start - base) * lanes..(range.end - base) * lanes];
            if heads.mean || range.is_empty() {
                out.fill(0.0);
            }
            for part in 0..Group::number::<H>(heads) {
                let group = Group::new::<H>(heads, part);
                normalise::<A::Sixteen, H>(alpha, range.len(), group);
            }
            let indices = &edges.indices[range];
            if let Some(drops) = drops {
                mark_dropped::<H>(indices, row, drops, heads, alpha);
            }
            if indices.is_empty() {
                continue;
            }
            for part in 0..Group::number::<H>(heads) {
                let group = Group::new::<H>(heads, part);
                by_vectors!(group.count, |c| mean_of::<A, H; V>(indices, alpha, x, group, c, heads, scale, out));
            }
        }
    }
}

/// The scores of a row's entries, and the largest of them.
#[inline(always)]
fn sums<A: Arithmetic, const H: usize>(
    edges: Edges<'_>,
    range: Range<usize>,
    s: &[f32],
    d: A::Sixteen,
    x: &[f32],
    group: Group,
    alpha: &mut [f32],
) -> A::Sixteen {
    let mut largest = A::Sixteen::all(f32::NEG_INFINITY);
    for (k, at) in range.enumerate() {
        if let Some(&next) = edges.indices.get(at + ENTRIES_AHEAD) {
            ask(x, next, group.stride);
        }
        let s = &s[group.at(edges.indices[at] as usize)..];
        let mut z = leaky(A::Sixteen::repeated::<H>(s).plus(d));
        if let Some(logs) = edges.logs {
            z = z.plus(A::Sixteen::all(logs[at]));
        }
        largest = z.at_least(largest);
        z.write_first::<H>(&mut alpha[group.at(k)..]);
    }
    largest
}

/// The scores of a row's entries, and the largest of them.
#[inline(always)]
fn inner_products<A: Arithmetic, const H: usize>(
    edges: Edges<'_>,
    range: Range<usize>,
    of: (&[f32], &[f32], usize),
    vector: &[f32],
    group: Group,
    alpha: &mut [f32],
) -> A::Sixteen {
    let mut largest = A::Sixteen::all(f32::NEG_INFINITY);
    by_vectors!(group.count, |c| inner_products_of::<A, H; V>(
        edges,
        range.clone(),
        of,
        vector,
        group,
        c,
        alpha,
        &mut largest
    ));
    largest
}

/// Adds the part of V vectors to the scores. The last part adds the logarithms and finds the largest.
#[inline(always)]
fn inner_products_of<A: Arithmetic, const H: usize, const V: usize>(
    edges: Edges<'_>,
    range: Range<usize>,
    (x, above, row): (&[f32], &[f32], usize),
    vector: &[f32],
    group: Group,
    c: usize,
    alpha: &mut [f32],
    largest: &mut A::Sixteen,
) {
    let y = group.vectors::<A::Sixteen, V>(above, row, c);
    let a = group.vectors::<A::Sixteen, V>(vector, 0, c);
    let is_last = c + V == group.count;
    let mut most = *largest;
    for (k, at) in range.enumerate() {
        if let Some(&next) = edges.indices.get(at + ENTRIES_AHEAD)
            && c == 0
        {
            ask(x, next, group.stride);
        }
        let x = group.vectors::<A::Sixteen, V>(x, edges.indices[at] as usize, c);
        let mut sum = A::Sixteen::all(0.0);
        for t in 0..V {
            sum = leaky(x[t].plus(y[t])).madd(a[t], sum);
        }
        let mut z = sum.folded::<H>();
        let alpha = &mut alpha[group.at(k)..];
        if c > 0 {
            z = z.plus(A::Sixteen::repeated::<H>(alpha));
        }
        if is_last {
            if let Some(logs) = edges.logs {
                z = z.plus(A::Sixteen::all(logs[at]));
            }
            most = z.at_least(most);
        }
        z.write_first::<H>(alpha);
    }
    *largest = most;
}

/// Replaces these numbers by their exponentials. What follows them, if it is there, is overwritten.
#[inline(always)]
fn exponentials<L: Lanes>(numbers: &mut [f32], range: Range<usize>) {
    for at in range.clone().step_by(LANES) {
        match numbers.get_mut(at..at + LANES) {
            Some(whole) => exp(L::read(whole)).write(whole),
            None => {
                let mut last = last_of(&numbers[at..range.end]);
                exp(L::read(&last)).write(&mut last);
                write_last(&mut numbers[at..range.end], &last);
            }
        }
    }
}

/// Divides the exponentials of a row by their sum.
#[inline(always)]
fn normalise<L: Lanes, const H: usize>(alpha: &mut [f32], count: usize, group: Group) {
    let mut sum = L::all(0.0);
    for k in 0..count {
        sum = sum.plus(L::repeated::<H>(&alpha[group.at(k)..]));
    }
    let share = L::all(1.0).over(sum);
    for k in 0..count {
        let alpha = &mut alpha[group.at(k)..];
        L::repeated::<H>(alpha).times(share).write_first::<H>(alpha);
    }
}

#[cold]
#[inline(never)]
fn last_of(from: &[f32]) -> [f32; LANES] {
    let mut all = [0f32; LANES];
    all[..from.len()].copy_from_slice(from);
    all
}

#[cold]
#[inline(never)]
fn write_last(to: &mut [f32], all: &[f32; LANES]) {
    to.copy_from_slice(&all[..to.len()]);
}

/// Gives a sign to the coefficients that are dropped.
#[inline(always)]
fn mark_dropped<const H: usize>(indices: &[i32], row: usize, drops: Drops<'_>, heads: Heads, alpha: &mut [f32]) {
    let lanes = if H < LANES { H } else { heads.lanes() };
    let key = mix_key(drops.key, drops.nodes[0].at(row) as u64);
    for (&u, alpha) in indices.iter().zip(alpha.chunks_exact_mut(lanes)) {
        let key = mix_key(key, drops.nodes[1].at(u as usize) as u64);
        let (low, high) = (key as u32, (key >> 32) as u32);
        for (head, alpha) in (0u32..).zip(alpha) {
            let sign = u32::from(mix(head, low, high) < drops.threshold) << 31;
            *alpha = f32::from_bits(alpha.to_bits() | sign);
        }
    }
}

/// `Σ_u α_u x_u` of V vectors from `c` on, to their places in a row of the result.
#[inline(always)]
fn mean_of<A: Arithmetic, const H: usize, const V: usize>(
    indices: &[i32],
    alpha: &[f32],
    x: &[f32],
    group: Group,
    c: usize,
    heads: Heads,
    scale: f32,
    out: &mut [f32],
) {
    let mut sums = [A::Sixteen::all(0.0); V];
    for (k, &u) in indices.iter().enumerate() {
        let alpha = kept(A::Sixteen::repeated::<H>(&alpha[group.at(k)..]));
        let x = group.vectors::<A::Sixteen, V>(x, u as usize, c);
        for t in 0..V {
            sums[t] = alpha.madd(x[t], sums[t]);
        }
    }
    let mut numbers = [[0f32; LANES]; V];
    for t in 0..V {
        sums[t].times(A::Sixteen::all(scale)).write(&mut numbers[t]);
    }
    separate::<H>(numbers.as_flattened(), group.from, c, heads, out);
}

/// Puts the numbers of some vectors, from vector `c` of the group whose first head is `from`, to their places in a row with the
/// heads one after the other, or adds up the heads.
#[inline(always)]
fn separate<const H: usize>(numbers: &[f32], from: usize, c: usize, heads: Heads, out: &mut [f32]) {
    let (count, width) = ((heads.heads - from).min(H), heads.width);
    let first = c * (LANES / H);
    let columns = (numbers.len() / H).min(width - first);
    let numbers = &numbers.as_chunks::<H>().0[..columns];
    if H == 1 {
        out[first..first + columns].copy_from_slice(&numbers.as_flattened()[..columns]);
    } else if heads.mean {
        for (out, numbers) in out[first..].iter_mut().zip(numbers) {
            *out += numbers[..count].iter().sum::<f32>();
        }
    } else if count == H {
        // The number of heads is known, so that the loop over them is unrolled.
        let mut rest = &mut out[from * width..];
        let rows: [&mut [f32]; H] = std::array::from_fn(|_| {
            let (row, after) = std::mem::take(&mut rest).split_at_mut(width);
            rest = after;
            &mut row[first..first + columns]
        });
        for (j, numbers) in numbers.iter().enumerate() {
            for head in 0..H {
                rows[head][j] = numbers[head];
            }
        }
    } else {
        for (head, out) in out[from * width..].chunks_exact_mut(width).enumerate().take(count) {
            for (out, numbers) in out[first..].iter_mut().zip(numbers) {
                *out = numbers[head];
            }
        }
    }
}
