//! Search for marked columns in sparse rows, which drawing needs.

use super::super::arithmetic::Arithmetic;

/// Entries that are examined, and may be listed, at once.
pub const AT_ONCE: usize = 8;

/// Lists the places in `indices` of the entries whose column is marked, row after row, and returns their number. Row i
/// is the entries from `starts[i]` on; their number is the difference of `offsets[i + 1]` and `offsets[i]`. `ends[i]`
/// becomes the number found in rows `0 ..= i`. Column k is marked if `marks[k]` is 1 instead of 0; a column beyond
/// `marks` is not.
///
/// `found` must have room for [`AT_ONCE`] more entries than the rows have. Cost: the columns of the rows are read in
/// steps of 8; bound by looking up their marks. A row of up to one step takes one step, marked or not, without a
/// branch that could be mispredicted. Values are not read: most rows have no marked entry.
#[inline(always)]
pub fn marked_entries<A: Arithmetic>(
    indices: &[i32],
    starts: &[usize],
    offsets: &[u64],
    marks: &[u8],
    found: &mut [usize],
    ends: &mut [i64],
) -> usize {
    assert!(offsets.len() == starts.len() + 1 && ends.len() == starts.len());
    // Ends of the ranges from which 8 entries can be read, and 8 places written.
    let (reach, room) = ((indices.len() + 1).saturating_sub(AT_ONCE), (found.len() + 1).saturating_sub(AT_ONCE));
    let (mut count, mut before) = (0, offsets[0]);
    for ((end, &start), &offset) in ends.iter_mut().zip(starts).zip(&offsets[1..]) {
        let (mut from, mut left) = (start, (offset - before) as usize);
        while left > 0 {
            let last;
            let ids = match from < reach {
                // SAFETY: 8 entries from `from` on lie in `indices`.
                true => unsafe { &*indices.as_ptr().add(from).cast::<[i32; AT_ONCE]>() },
                false => {
                    last = last_entries(indices, from, left.min(AT_ONCE));
                    &last
                }
            };
            let marked = A::marked(ids, marks) & first_bits(left.min(AT_ONCE));
            assert!(count < room);
            // SAFETY: 8 places from `count` on lie in `found`.
            A::write_places(marked, from, unsafe { &mut *found.as_mut_ptr().add(count).cast::<[usize; AT_ONCE]>() });
            count += marked.count_ones() as usize;
            from += AT_ONCE;
            left = left.saturating_sub(AT_ONCE);
        }
        *end = count as i64;
        before = offset;
    }
    count
}

#[inline(always)]
fn first_bits(count: usize) -> u32 {
    (1 << count) - 1
}

/// The last entries of the matrix, padded with others that do not count.
#[cold]
#[inline(never)]
fn last_entries(indices: &[i32], from: usize, now: usize) -> [i32; AT_ONCE] {
    let mut ids = [0; AT_ONCE];
    ids[..now].copy_from_slice(&indices[from..from + now]);
    ids
}
