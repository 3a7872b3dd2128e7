//! One block of Â: some rows, the columns they touch, the columns relabelled 0, 1, ….

use super::columns::{Columns, Matches};
use super::{Marks, NodeMap, RowSpans};
use crate::error::{Result, try_reserve_with_slack, try_resize};
use crate::kernel::{Sparse, keep_filled, table};

/// A block of Â, or of Â with its columns weighted. Buffers are reused from cut to cut.
#[derive(Default)]
pub struct Block {
    indptr: Vec<i64>,
    indices: Vec<i32>,
    values: Vec<f32>,
    nodes: Vec<i32>,
    /// The column of each row's own node, after [`Block::add_own`].
    own: Vec<i32>,
}

impl Block {
    /// The node of each column.
    pub fn nodes(&self) -> &[i32] {
        &self.nodes
    }

    /// The column of each row's own node, after [`Block::add_own`].
    pub fn own(&self) -> &[i32] {
        &self.own
    }

    /// Gives the rows' own nodes a column each: the one that it has, or a new one without entries.
    pub fn add_own(&mut self, above: &[i32], map: &mut NodeMap) -> Result<()> {
        try_resize(&mut self.own, above.len())?;
        let most = self.nodes.len() + above.len();
        try_reserve_with_slack(&mut self.nodes, most)?;
        map.insert_list(&self.nodes);
        for (own, &v) in self.own.iter_mut().zip(above) {
            let known = self.nodes.len();
            *own = map.get_or_insert(v, known) as i32;
            if *own as usize == known {
                self.nodes.push(v);
            }
        }
        map.remove(&self.nodes);
        Ok(())
    }

    /// The entries, columns by local id.
    pub fn view(&self) -> Sparse<'_> {
        Sparse { indptr: &self.indptr, indices: &self.indices, values: &self.values }
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        8 * self.indptr.capacity()
            + 4 * (self.indices.capacity() + self.values.capacity() + self.nodes.capacity() + self.own.capacity())
    }

    /// Clears the block and makes room for one with this many entries.
    pub fn reserve(&mut self, entries: usize) -> Result<()> {
        for buffer in [&mut self.indices, &mut self.nodes] {
            buffer.clear();
            try_reserve_with_slack(buffer, entries)?;
        }
        self.values.clear();
        try_reserve_with_slack(&mut self.values, entries)
    }

    /// Reads rows of Â. Columns get local ids in the order in which they are met; the ids stay in `map` until
    /// [`Block::remove_from`].
    pub fn read(&mut self, operator: Sparse<'_>, rows: &RowSpans, map: &mut NodeMap) -> Result<()> {
        let entries = rows.entries();
        rows.prefetch(operator);
        try_resize(&mut self.indptr, rows.starts.len() + 1)?;
        try_resize(&mut self.indices, entries)?;
        try_resize(&mut self.values, entries)?;
        try_resize(&mut self.nodes, entries + 1)?;
        self.indptr[0] = 0;
        let (mut at, mut known) = (0, 0);
        for (row, range) in rows.ranges().enumerate() {
            let (columns, values) = (&operator.indices[range.clone()], &operator.values[range]);
            let end = at + columns.len();
            let entries = self.indices[at..end].iter_mut().zip(&mut self.values[at..end]);
            for ((index, value), (&u, &a)) in entries.zip(columns.iter().zip(values)) {
                // The node is always written, and stays if it is new: a branch would be mispredicted too often.
                self.nodes[known] = u;
                *index = map.get_or_insert(u, known) as i32;
                known += usize::from(*index == known as i32);
                *value = a;
            }
            at = end;
            self.indptr[row + 1] = at as i64;
        }
        self.nodes.truncate(known);
        Ok(())
    }

    /// Reads rows of Â, but only the marked columns: those have been drawn, each once and once more for every time that it is in
    /// `repeats`. An entry is multiplied by `weight` for every draw. Columns get local ids in the order in which they are met;
    /// the ids stay in `map` until [`Block::remove_from`]. `matches` is scratch with room for the rows' entries.
    pub fn read_drawn(
        &mut self,
        operator: Sparse<'_>,
        rows: &RowSpans,
        (marks, repeats): (&Marks, &[i32]),
        weight: f64,
        map: &mut NodeMap,
        matches: &mut Matches,
    ) -> Result<()> {
        rows.prefetch(operator);
        try_resize(&mut self.indptr, rows.starts.len() + 1)?;
        self.indptr[0] = 0;
        let spans = (&rows.starts[..], &rows.offsets[..=rows.starts.len()]);
        let ends = &mut self.indptr[1..];
        let count = table().marked_entries(operator.indices, spans, marks.bytes(), &mut matches.places, ends);
        let places = &matches.places[..count];
        try_resize(&mut self.indices, count)?;
        try_resize(&mut self.values, count)?;
        try_resize(&mut self.nodes, count + 1)?;
        let (mut known, nodes) = (0, &mut self.nodes[..]);
        for (index, &at) in self.indices.iter_mut().zip(places) {
            let u = operator.indices[at];
            // Always written, and stays if it is new.
            nodes[known] = u;
            *index = map.get_or_insert(u, known) as i32;
            known += usize::from(*index == known as i32);
        }
        self.nodes.truncate(known);
        try_resize(&mut matches.times, known)?;
        matches.times.fill(1);
        repeats.iter().filter_map(|&u| map.get(u)).for_each(|id| matches.times[id] += 1);
        let times = &matches.times[..];
        for ((value, &at), &id) in self.values.iter_mut().zip(places).zip(&self.indices) {
            *value = operator.values[at] * (f64::from(times[id as usize]) * weight) as f32;
        }
        Ok(())
    }

    /// Builds the block from entries given column by column, each multiplied by its column's scale. Columns with scale 0 are
    /// left out.
    pub fn assemble(&mut self, num_rows: usize, columns: &Columns, scale: &[f32]) -> Result<()> {
        let Columns { nodes, ends, rows, values, .. } = columns;
        let most = ends.last().map_or(0, |&end| end as usize);
        // Row r is counted at r + 2, so that its start is summed at r + 1, which filling the row moves on to its end.
        try_resize(&mut self.indptr, num_rows + 2)?;
        try_resize(&mut self.indices, most)?;
        try_resize(&mut self.values, most)?;
        self.nodes.clear();
        try_reserve_with_slack(&mut self.nodes, nodes.len())?;
        // In pieces, because for longer ones the C library uses an instruction that is slow to start.
        self.indptr.chunks_mut(128).for_each(|piece| piece.fill(0));
        let mut begin = 0;
        for (&end, &scale) in ends.iter().zip(scale) {
            let end = end as usize;
            let rows = &rows[begin..if scale != 0.0 { end } else { begin }];
            rows.iter().for_each(|&row| self.indptr[row as usize + 2] += 1);
            begin = end;
        }
        let mut sum = 0;
        for offset in &mut self.indptr[2..] {
            sum += *offset;
            *offset = sum;
        }
        let mut begin = 0;
        for ((&end, &scale), &node) in ends.iter().zip(scale).zip(nodes) {
            let end = end as usize;
            if scale != 0.0 {
                for (&row, &value) in rows[begin..end].iter().zip(&values[begin..end]) {
                    let to = &mut self.indptr[row as usize + 1];
                    self.indices[*to as usize] = self.nodes.len() as i32;
                    self.values[*to as usize] = value * scale;
                    *to += 1;
                }
                self.nodes.push(node);
            }
            begin = end;
        }
        self.indptr.truncate(num_rows + 1);
        let entries = self.indptr[num_rows] as usize;
        self.indices.truncate(entries);
        self.values.truncate(entries);
        Ok(())
    }

    /// Drops the rows that have no entry, and their nodes from `above`.
    pub fn drop_empty_rows(&mut self, above: &mut Vec<i32>) {
        let kept = keep_filled(above, &mut self.indptr[1..]);
        above.truncate(kept);
        self.indptr.truncate(kept + 1);
    }

    /// Removes the columns' local ids from `map`.
    pub fn remove_from(&self, map: &mut NodeMap) {
        map.remove(&self.nodes);
    }

    /// `Σ_v Â(v,u)²` over the block's rows, for each column.
    pub fn column_squares(&self, squares: &mut [f64]) {
        squares.fill(0.0);
        for (&u, &a) in self.indices.iter().zip(&self.values) {
            squares[u as usize] += f64::from(a) * f64::from(a);
        }
    }

    /// Multiplies column `u` by `scale[u]`, drops the columns whose scale is 0 and numbers the others anew. `ids` is scratch.
    pub fn keep_columns(&mut self, scale: &[f32], ids: &mut Vec<i32>) -> Result<()> {
        try_resize(ids, scale.len())?;
        let mut kept = 0;
        for ((id, &s), u) in ids.iter_mut().zip(scale).zip(0..) {
            *id = kept as i32;
            self.nodes[kept] = self.nodes[u];
            kept += usize::from(s != 0.0);
        }
        self.nodes.truncate(kept);
        let (indices, values, ids) = (&mut self.indices[..], &mut self.values[..], &ids[..scale.len()]);
        let (mut begin, mut write) = (0, 0);
        for offset in &mut self.indptr[1..] {
            let end = *offset as usize;
            for at in begin..end {
                // Always written, and kept if the column is: a branch would be mispredicted too often. The writes never
                // overtake the reads.
                let (u, value) = (indices[at] as usize, values[at]);
                let s = scale[u];
                indices[write] = ids[u];
                values[write] = value * s;
                write += usize::from(s != 0.0);
            }
            begin = end;
            *offset = write as i64;
        }
        self.indices.truncate(write);
        self.values.truncate(write);
        Ok(())
    }
}
