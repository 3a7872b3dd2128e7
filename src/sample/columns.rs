//! Columns of a block that were looked at one by one, and the search for marked entries.

use super::{Marks, NodeMap, RowSpans};
use crate::error::{Result, try_reserve_with_slack, try_resize};
use crate::kernel::{AT_ONCE, Sparse, table};

/// Entries of some rows of Â whose columns are marked.
#[derive(Default)]
pub struct Matches {
    /// Where each entry is in Â, with room for more.
    pub places: Vec<usize>,
    /// How often each column has been drawn, by local id.
    pub times: Vec<u32>,
}

impl Matches {
    /// Makes room for the matches in rows with this many entries in total.
    pub fn reserve(&mut self, entries: usize) -> Result<()> {
        if self.places.len() < entries + AT_ONCE { try_resize(&mut self.places, entries + AT_ONCE) } else { Ok(()) }
    }
}

/// Columns of a block, with their entries one after the other.
#[derive(Default)]
pub struct Columns {
    /// The node of each column.
    pub nodes: Vec<i32>,
    /// Where the nodes' own rows are. Those are the columns, since Â is symmetric.
    spans: RowSpans,
    /// Where the entries of each column end.
    pub ends: Vec<i64>,
    /// The first row that has an entry in the column.
    pub first_rows: Vec<i32>,
    /// The row of each entry, with room for more.
    pub rows: Vec<i32>,
    /// The value of each entry, with room for more.
    pub values: Vec<f32>,
}

impl Columns {
    /// Removes all columns and makes room for those of rows with this many entries in total.
    pub fn reserve(&mut self, entries: usize) -> Result<()> {
        self.nodes.clear();
        try_reserve_with_slack(&mut self.nodes, entries + 1)?;
        if self.rows.len() < entries + AT_ONCE {
            // `rows` last, because its length is taken to mean that all the others have room.
            self.spans.reserve(entries)?;
            try_reserve_with_slack(&mut self.ends, entries)?;
            try_reserve_with_slack(&mut self.first_rows, entries)?;
            try_resize(&mut self.values, entries + AT_ONCE)?;
            try_resize(&mut self.rows, entries + AT_ONCE)?;
        }
        Ok(())
    }

    /// Reads the columns `nodes` of the rows `above`, which are marked and have their positions in `map`. Every column has an
    /// entry there. Requires the room of [`Columns::reserve`] and [`Matches::reserve`]. Each column is read in the cheaper of
    /// two ways: from row u of a symmetric Â, or by a search for u in each row above.
    pub fn read(
        &mut self,
        operator: Sparse<'_>,
        above: &[i32],
        (marks, map): (&Marks, &NodeMap),
        matches: &mut Matches,
    ) -> Result<()> {
        let Columns { nodes, spans, ends, first_rows, rows, values } = self;
        spans.look_up(operator, nodes)?;
        spans.prefetch(operator);
        try_resize(ends, nodes.len())?;
        try_resize(first_rows, nodes.len())?;
        let long = |u: i32| operator.indptr[u as usize + 1] - operator.indptr[u as usize] > 64 * above.len() as i64;
        let (mut begin, mut found) = (0, 0);
        while begin < nodes.len() {
            let end = nodes[begin..].iter().position(|&u| long(u)).map_or(nodes.len(), |after| begin + after);
            let here = (&spans.starts[begin..end], &spans.offsets[begin..=end]);
            let ends_here = &mut ends[begin..end];
            let count = table().marked_entries(operator.indices, here, marks.bytes(), &mut matches.places, ends_here);
            ends_here.iter_mut().for_each(|end| *end += found as i64);
            let room = rows[found..].iter_mut().zip(&mut values[found..]);
            for ((row, value), &at) in room.zip(&matches.places[..count]) {
                *row = map.get_or_minus_one(operator.indices[at]);
                *value = operator.values[at];
            }
            found += count;
            if end < nodes.len() {
                for (row, &v) in above.iter().enumerate() {
                    let (columns, entries) = operator.row(v as usize);
                    if let Ok(at) = columns.binary_search(&nodes[end]) {
                        (rows[found], values[found]) = (row as i32, entries[at]);
                        found += 1;
                    }
                }
                ends[end] = found as i64;
            }
            begin = end + 1;
        }
        let mut begin = 0;
        for (first, &end) in first_rows.iter_mut().zip(&*ends) {
            // Most columns have a single entry.
            let end = end as usize;
            *first = rows[begin];
            for &row in &rows[(begin + 1).min(end)..end] {
                *first = row.min(*first);
            }
            begin = end;
        }
        Ok(())
    }
}
