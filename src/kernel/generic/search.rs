//! Looking for marked columns in sparse rows: what drawing asks of Â.

use super::super::Sparse;
use super::super::arithmetic::Arithmetic;

/// How many entries are looked at, and may be written, at once.
pub const AT_ONCE: usize = 16;

/// Writes down the entries of some rows of `a` whose column is marked, one row behind the other, and says how many there are.
/// Row i is the entries from `starts[i]` on, as many as `offsets` grows by; `ends[i]` becomes the number found in rows
/// `0 ..= i`. Column k is marked by bit k % 32 of `marks[k / 32]`; one beyond `marks` is not.
///
/// `columns` and `values` hold [`AT_ONCE`] more than all entries of the rows. Cost: the rows' entries are read, in steps of 16; bound
/// by looking up their marks. A row of up to 16 entries is one step, whether anything is marked or not: nothing of it is a
/// branch that would have to be foreseen.
#[inline(always)]
pub fn marked_entries<A: Arithmetic>(
    a: Sparse<'_>,
    starts: &[usize],
    offsets: &[u64],
    marks: &[u32],
    columns: &mut [i32],
    values: &mut [f32],
    ends: &mut [i64],
) -> usize {
    assert!(offsets.len() == starts.len() + 1 && ends.len() == starts.len() && a.indices.len() == a.values.len());
    let mut count = 0;
    for ((end, &start), length) in ends.iter_mut().zip(starts).zip(offsets.windows(2).map(|pair| pair[1] - pair[0])) {
        let mut left = length as usize;
        let mut from = start;
        while left > 0 {
            let now = left.min(AT_ONCE);
            let last;
            let (ids, numbers) = match (a.indices.get(from..from + AT_ONCE), a.values.get(from..from + AT_ONCE)) {
                (Some(ids), Some(numbers)) => (&ids.as_chunks().0[0], &numbers.as_chunks().0[0]),
                _ => {
                    last = last_entries(a, from, now);
                    (&last.0, &last.1)
                }
            };
            let marked = A::marked(ids, marks) & ((1 << now) - 1);
            let room = (&mut columns[count..count + AT_ONCE], &mut values[count..count + AT_ONCE]);
            A::compress(ids, numbers, marked, room);
            count += marked.count_ones() as usize;
            from += now;
            left -= now;
        }
        *end = count as i64;
    }
    count
}

/// The last entries of the matrix, filled up with others that do not count.
#[cold]
#[inline(never)]
fn last_entries(a: Sparse<'_>, from: usize, now: usize) -> ([i32; AT_ONCE], [f32; AT_ONCE]) {
    let mut found = ([0; AT_ONCE], [0f32; AT_ONCE]);
    found.0[..now].copy_from_slice(&a.indices[from..from + now]);
    found.1[..now].copy_from_slice(&a.values[from..from + now]);
    found
}
