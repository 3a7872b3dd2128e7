//! Loops over lists of nodes without the bounds checks that the compiler cannot remove.
#![allow(unsafe_code)]

/// Sets `marks[v]` to 1 for each `v` of `nodes`. Nodes that are already marked are listed at the beginning of `again`,
/// each as often as it occurs; `again` must be longer than `nodes`. Returns their number.
pub fn mark(marks: &mut [u8], nodes: &[i32], again: &mut [i32]) -> usize {
    assert!(again.len() > nodes.len());
    let mut repeats = 0;
    for &v in nodes {
        let mark = &mut marks[v as u32 as usize];
        // Written in any case, and kept only if the node is marked: a branch would be mispredicted.
        // SAFETY: at most as many nodes as `nodes` has are listed, and `again` is longer.
        unsafe { *again.get_unchecked_mut(repeats) = v };
        repeats += usize::from(*mark & 1);
        *mark = 1;
    }
    repeats
}

/// Keeps the rows that have entries: row i, of `nodes[i]`, ends at `ends[i]` and begins where the row before it ends.
/// Returns their number; they are at the beginning of both lists.
pub fn keep_filled(nodes: &mut [i32], ends: &mut [i64]) -> usize {
    assert_eq!(nodes.len(), ends.len());
    let (mut kept, mut start) = (0, 0);
    for row in 0..nodes.len() {
        // SAFETY: `kept` is at most `row`, which is in both lists.
        unsafe {
            let end = *ends.get_unchecked(row);
            *nodes.get_unchecked_mut(kept) = *nodes.get_unchecked(row);
            *ends.get_unchecked_mut(kept) = end;
            kept += usize::from(end > start);
            start = end;
        }
    }
    kept
}

/// Exchanges the last number of a list with the one at `others[0]`, the last but one with the one at `others[1]`, and
/// so on.
pub fn exchange_last(list: &mut [i32], others: &[u32]) {
    assert!(others.len() <= list.len());
    let mut last = list.len();
    for &other in others {
        last -= 1;
        assert!((other as usize) < list.len());
        // SAFETY: `others` is not longer than the list, so `last` is in it; `other` has been checked.
        unsafe {
            let number = *list.get_unchecked(last);
            *list.get_unchecked_mut(last) = *list.get_unchecked(other as usize);
            *list.get_unchecked_mut(other as usize) = number;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_are_marked_and_those_met_again_are_listed_as_often_as_they_are() {
        let (mut marks, mut again) = ([0; 6], [-1; 8]);
        let repeats = mark(&mut marks, &[4, 1, 4, 5, 4, 1, 0], &mut again);
        assert_eq!((marks, &again[..repeats]), ([1, 1, 0, 0, 1, 1], &[4, 4, 1][..]));
        assert_eq!(mark(&mut [], &[], &mut [0]), 0);
    }

    #[test]
    #[should_panic = "index out of bounds"]
    fn a_node_beyond_the_marks_is_no_place_to_write_to() {
        mark(&mut [0; 3], &[3], &mut [0; 2]);
    }

    #[test]
    fn rows_without_entries_go_and_the_others_close_up() {
        let (mut nodes, mut ends) = ([7, 8, 9, 5, 6], [0, 2, 2, 3, 3]);
        let kept = keep_filled(&mut nodes, &mut ends);
        assert_eq!((&nodes[..kept], &ends[..kept]), (&[8, 5][..], &[2, 3][..]));
        assert_eq!(keep_filled(&mut [1, 2], &mut [0, 0]), 0);
        assert_eq!(keep_filled(&mut [], &mut []), 0);
    }

    #[test]
    fn numbers_are_exchanged_from_the_last_one_on() {
        let mut list = [0, 1, 2, 3, 4];
        exchange_last(&mut list, &[0, 3, 0]);
        let mut wanted = [0, 1, 2, 3, 4];
        [(4, 0), (3, 3), (2, 0)].iter().for_each(|&(a, b)| wanted.swap(a, b));
        assert_eq!(list, wanted);
    }

    #[test]
    #[should_panic = "other as usize"]
    fn a_place_beyond_the_list_is_exchanged_with_none() {
        exchange_last(&mut [1, 2], &[2]);
    }
}
