//! Scores, their softmax, and means by it.

use super::super::super::arithmetic::Arithmetic;
use super::super::super::lanes::Lanes;
use super::super::softmax::exp;
use super::super::{mix, mix_key, prefetch};
use super::{
    Attended, Drops, Edges, Group, Heads, LANES, PAIRS_AHEAD, Scores, ask, by_heads, by_vectors, entries, kept, leaky,
    magnitude, rows_ahead,
};
use std::ops::Range;

/// Rows that are processed in turn.
const BLOCK: usize = 16;
/// Up to this magnitude of its largest score, the exponentials of a row are far from the largest and the smallest float.
const MODERATE: f32 = 20.0;

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
/// `first` on, as many as `out` has; a row without entries is 0.
///
/// `to` are exponentials, which begin with those of row `first`, shares and `out`. The exponentials get a number for each head and entry, the shares one for each head
/// and row: α is the exponential times the share. What is dropped has a sign, and the others count `1 / (1 − rate)`, which is
/// `scale`. The largest score of a row is subtracted from the others unless it is moderate.
///
/// All sums are in the order of the entries. Some rows are processed in turn, step by step: what one step writes number by number,
/// the next one reads as vectors, long after.
///
/// Cost: some 3·width flops per entry and head, and an exponential; bound by the row of x that each entry names.
#[inline(always)]
pub fn attend<A: Arithmetic>(
    edges: Edges<'_>,
    first: usize,
    of: Attended<'_>,
    drops: Option<Drops<'_>>,
    scale: f32,
    to: [&mut [f32]; 3],
) {
    by_heads!(of.heads, attend_of::<A>(edges, first, of, drops, scale, to))
}

#[inline(always)]
fn attend_of<A: Arithmetic, const H: usize>(
    edges: Edges<'_>,
    first: usize,
    Attended { scores, x, heads }: Attended<'_>,
    drops: Option<Drops<'_>>,
    scale: f32,
    [exponentials, shares, out]: [&mut [f32]; 3],
) {
    let lanes = if H < LANES { H } else { heads.lanes() };
    let base = edges.indptr[first] as usize;
    let scale = if heads.mean { scale / heads.heads as f32 } else { scale };
    let width = heads.out_width();
    let blocks = out.chunks_mut(BLOCK * width).zip(shares.chunks_mut(BLOCK * lanes));
    for (block, (out, shares)) in blocks.enumerate() {
        let rows = first + block * BLOCK..first + block * BLOCK + out.len() / width;
        for row in rows.clone() {
            let range = entries(edges.indptr, row);
            let z = &mut exponentials[(range.start - base) * lanes..];
            for part in 0..Group::number::<H>(heads) {
                let group = Group::new::<H>(heads, part);
                let largest = match scores {
                    Scores::Sum { scores: [s, d], own, .. } => {
                        let d = A::Sixteen::repeated::<H>(&d[group.at(own.at(row))..]);
                        sums::<A, H>(edges, range.clone(), s, d, group, z)
                    }
                    Scores::Inner { above, vector } => {
                        inner_products::<A, H>(edges, range.clone(), (x, above, row), vector, group, z)
                    }
                };
                if A::Sixteen::any(magnitude(largest).above(A::Sixteen::all(MODERATE))) {
                    for k in 0..range.len() {
                        let z = &mut z[group.at(k)..];
                        A::Sixteen::repeated::<H>(z).minus(largest).write_first::<H>(z);
                    }
                }
            }
        }
        let all = (edges.indptr[rows.start] as usize - base) * lanes..(edges.indptr[rows.end] as usize - base) * lanes;
        replace_by_exponentials::<A::Sixteen>(exponentials, all);
        for ((row, out), share) in rows.zip(out.chunks_exact_mut(width)).zip(shares.chunks_exact_mut(lanes)) {
            let range = entries(edges.indptr, row);
            let e = &mut exponentials[(range.start - base) * lanes..(range.end - base) * lanes];
            let ahead = match scores {
                // The rows of x have been read for the scores.
                Scores::Inner { .. } => &[],
                Scores::Sum { .. } => edges.indices.get(range.start + rows_ahead(heads.stride())..).unwrap_or(&[]),
            };
            let indices = &edges.indices[range];
            if let Some(drops) = drops {
                mark_dropped::<H>(indices, row, drops, heads, e);
            }
            if heads.mean || indices.is_empty() {
                out.fill(0.0);
            }
            if indices.is_empty() {
                share.fill(0.0);
                continue;
            }
            for part in 0..Group::number::<H>(heads) {
                let group = Group::new::<H>(heads, part);
                by_vectors!(group.count, |c| mean_of::<A, H; V>((indices, ahead), e, share, x, group, c, heads, scale, out));
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
    group: Group,
    z: &mut [f32],
) -> A::Sixteen {
    let mut largest = A::Sixteen::all(f32::NEG_INFINITY);
    for (k, at) in range.enumerate() {
        if let Some(&next) = edges.indices.get(at + PAIRS_AHEAD) {
            prefetch(s, group.at(next as usize));
        }
        let s = &s[group.at(edges.indices[at] as usize)..];
        let mut score = leaky(A::Sixteen::repeated::<H>(s).plus(d));
        if let Some(logs) = edges.logs {
            score = score.plus(A::Sixteen::all(logs[at]));
        }
        largest = score.at_least(largest);
        score.write_first::<H>(&mut z[group.at(k)..]);
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
    z: &mut [f32],
) -> A::Sixteen {
    let mut largest = A::Sixteen::all(f32::NEG_INFINITY);
    by_vectors!(group.count, |c| inner_products_of::<A, H; V>(
        edges,
        range.clone(),
        of,
        vector,
        group,
        c,
        z,
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
    z: &mut [f32],
    largest: &mut A::Sixteen,
) {
    let y = group.vectors::<A::Sixteen, V>(above, row, c);
    let a = group.vectors::<A::Sixteen, V>(vector, 0, c);
    let is_last = c + V == group.count;
    let mut most = *largest;
    for (k, at) in range.enumerate() {
        if let Some(&next) = edges.indices.get(at + rows_ahead(group.stride))
            && c == 0
        {
            ask(x, next, group.stride);
        }
        let x = group.vectors::<A::Sixteen, V>(x, edges.indices[at] as usize, c);
        let mut sum = A::Sixteen::all(0.0);
        for t in 0..V {
            sum = leaky(x[t].plus(y[t])).madd(a[t], sum);
        }
        let mut score = sum.folded::<H>();
        let z = &mut z[group.at(k)..];
        if c > 0 {
            score = score.plus(A::Sixteen::repeated::<H>(z));
        }
        if is_last {
            if let Some(logs) = edges.logs {
                score = score.plus(A::Sixteen::all(logs[at]));
            }
            most = score.at_least(most);
        }
        score.write_first::<H>(z);
    }
    *largest = most;
}

/// Replaces these numbers by their exponentials. What follows them, if it is there, is overwritten.
#[inline(always)]
fn replace_by_exponentials<L: Lanes>(numbers: &mut [f32], range: Range<usize>) {
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

/// Gives a sign to the exponentials that are dropped.
#[inline(always)]
fn mark_dropped<const H: usize>(indices: &[i32], row: usize, drops: Drops<'_>, heads: Heads, e: &mut [f32]) {
    let lanes = if H < LANES { H } else { heads.lanes() };
    let key = mix_key(drops.key, drops.nodes[0].at(row) as u64);
    for (&u, e) in indices.iter().zip(e.chunks_exact_mut(lanes)) {
        let key = mix_key(key, drops.nodes[1].at(u as usize) as u64);
        let (low, high) = (key as u32, (key >> 32) as u32);
        for (head, e) in (0u32..).zip(e) {
            let sign = u32::from(mix(head, low, high) < drops.threshold) << 31;
            *e = f32::from_bits(e.to_bits() | sign);
        }
    }
}

/// `Σ_u α_u x_u` of V vectors from `c` on, to their places in a row of the result. The first ones also make the row's shares.
#[inline(always)]
fn mean_of<A: Arithmetic, const H: usize, const V: usize>(
    (indices, ahead): (&[i32], &[i32]),
    e: &[f32],
    share: &mut [f32],
    x: &[f32],
    group: Group,
    c: usize,
    heads: Heads,
    scale: f32,
    out: &mut [f32],
) {
    let mut sums = [A::Sixteen::all(0.0); V];
    let mut total = A::Sixteen::all(0.0);
    for (k, &u) in indices.iter().enumerate() {
        if let Some(&next) = ahead.get(k)
            && c == 0
        {
            ask(x, next, group.stride);
        }
        let e = A::Sixteen::repeated::<H>(&e[group.at(k)..]);
        total = total.plus(magnitude(e));
        let e = kept(e);
        let x = group.vectors::<A::Sixteen, V>(x, u as usize, c);
        for t in 0..V {
            sums[t] = e.madd(x[t], sums[t]);
        }
    }
    let of_row = A::Sixteen::all(1.0).over(total);
    if c == 0 {
        of_row.write_first::<H>(&mut share[group.from..]);
    }
    let factor = of_row.times(A::Sixteen::all(scale));
    let mut numbers = [[0f32; LANES]; V];
    for t in 0..V {
        sums[t].times(factor).write(&mut numbers[t]);
    }
    separate::<H, V>(&numbers, group.from, c, heads, out);
}

/// Puts the numbers of V vectors, from vector `c` of the group whose first head is `from`, to their places in a row with the heads
/// one after the other, or adds up the heads.
#[inline(always)]
fn separate<const H: usize, const V: usize>(
    numbers: &[[f32; LANES]; V],
    from: usize,
    c: usize,
    heads: Heads,
    out: &mut [f32],
) {
    let (count, width) = ((heads.heads - from).min(H), heads.width);
    let first = c * (LANES / H);
    let columns = (V * LANES / H).min(width - first);
    let numbers = numbers.as_flattened();
    if H == 1 {
        out[first..first + columns].copy_from_slice(&numbers[..columns]);
    } else if heads.mean {
        for (out, numbers) in out[first..first + columns].iter_mut().zip(numbers.chunks_exact(H)) {
            let mut sum = 0.0;
            for head in 0..H {
                // Lanes without a head are 0.
                sum += numbers[head];
            }
            *out += sum;
        }
    } else if count == H && columns == V * LANES / H {
        // All numbers are known to be there, so that the loops are unrolled.
        for head in 0..H {
            let out = &mut out[(from + head) * width + first..][..V * LANES / H];
            for j in 0..V * LANES / H {
                out[j] = numbers[j * H + head];
            }
        }
    } else {
        for head in 0..count {
            let out = &mut out[(from + head) * width + first..][..columns];
            for (j, out) in out.iter_mut().enumerate() {
                *out = numbers[j * H + head];
            }
        }
    }
}
