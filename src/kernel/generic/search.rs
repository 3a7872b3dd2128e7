//! Looking for marked columns in sparse rows: what drawing asks of Â.

use super::super::arithmetic::Arithmetic;

/// How many entries are looked at, and may be written down, at once.
pub const AT_ONCE: usize = 8;

/// Writes down where in `indices` the entries of some rows are whose column is marked, one row behind the other, and says how many
/// they are. Row i is the entries from `starts[i]` on, as many as `offsets` grows by; `ends[i]` becomes the number found in
/// rows `0 ..= i`. Column k is marked if `marks[k]` is 1 instead of 0; one beyond `marks` is not.
///
/// `found` holds [`AT_ONCE`] more than all entries of the rows. Cost: the rows' columns are read, in steps of 8; bound by looking
/// up their marks. A row no longer than a step is one, whether anything is marked or not: nothing of it is a branch that would
/// have to be foreseen. Values are not read: most rows have nothing that is marked.
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
    // Entries from which on as many are there, and places that leave room for as many, end here.
    let (reach, room) = ((indices.len() + 1).saturating_sub(AT_ONCE), (found.len() + 1).saturating_sub(AT_ONCE));
    let (mut count, mut before) = (0, offsets[0]);
    for ((end, &start), &offset) in ends.iter_mut().zip(starts).zip(&offsets[1..]) {
        let (mut from, mut left) = (start, (offset - before) as usize);
        while left > 0 {
            let last;
            let ids = match from < reach {
                // SAFETY: as many entries from here on lie in `indices`.
                true => unsafe { &*indices.as_ptr().add(from).cast::<[i32; AT_ONCE]>() },
                false => {
                    last = last_entries(indices, from, left.min(AT_ONCE));
                    &last
                }
            };
            let marked = A::marked(ids, marks) & first_bits(left.min(AT_ONCE));
            assert!(count < room);
            // SAFETY: as many places from here on lie in `found`.
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

/// The last entries of the matrix, filled up with others that do not count.
#[cold]
#[inline(never)]
fn last_entries(indices: &[i32], from: usize, now: usize) -> [i32; AT_ONCE] {
    let mut ids = [0; AT_ONCE];
    ids[..now].copy_from_slice(&indices[from..from + now]);
    ids
}
