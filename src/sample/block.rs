//! One block of Â: some rows, the columns they touch, the columns relabelled 0, 1, ….

use crate::error::{Result, try_reserve_with_slack, try_resize};
use crate::kernel::{Rows, Sparse, prefetch};
use std::hint::select_unpredictable;
use std::ops::Range;

/// From node ids to local ids. As long as the graph, but clearing it costs only what was entered.
#[derive(Default)]
pub struct NodeMap {
    /// Local id + 1; 0 = absent.
    ids: Vec<u32>,
}

impl NodeMap {
    /// Makes room for the nodes of a graph.
    pub fn fit(&mut self, num_nodes: usize) -> Result<()> {
        if self.ids.len() < num_nodes {
            try_resize_exact(&mut self.ids, num_nodes)?;
        }
        Ok(())
    }

    /// Local id of `node`, if it has one.
    #[inline(always)]
    pub fn get(&self, node: i32) -> Option<usize> {
        (self.ids[node as usize] as usize).checked_sub(1)
    }

    /// Gives `node` the local id `id`.
    pub fn insert(&mut self, node: i32, id: usize) {
        self.ids[node as usize] = id as u32 + 1;
    }

    /// The local id of `node`: the one it has, or else `id`.
    #[inline(always)]
    fn get_or_insert(&mut self, node: i32, id: usize) -> usize {
        let known = &mut self.ids[node as usize];
        *known = select_unpredictable(*known == 0, id as u32 + 1, *known);
        *known as usize - 1
    }

    /// Forgets `nodes`.
    pub fn remove(&mut self, nodes: &[i32]) {
        nodes.iter().for_each(|&v| self.ids[v as usize] = 0);
    }
}

/// A [`NodeMap`] with a bit per node beside it, which stays in the first-level cache: most questions end there.
#[derive(Default)]
pub struct Places {
    map: NodeMap,
    marks: Vec<u64>,
}

impl Places {
    /// Makes room for the nodes of a graph.
    pub fn fit(&mut self, num_nodes: usize) -> Result<()> {
        self.map.fit(num_nodes)?;
        if self.marks.len() < num_nodes.div_ceil(64) {
            try_resize(&mut self.marks, num_nodes.div_ceil(64))?;
        }
        Ok(())
    }

    /// Gives each of `nodes` its place in the list.
    pub fn insert(&mut self, nodes: &[i32]) {
        for (place, &v) in nodes.iter().enumerate() {
            self.map.insert(v, place);
            self.marks[v as usize / 64] |= 1 << (v % 64);
        }
    }

    /// 1 if `node` has a place, else 0.
    #[inline(always)]
    fn marked(&self, node: i32) -> usize {
        (self.marks[node as usize / 64] >> (node % 64) & 1) as usize
    }

    /// Forgets `nodes`.
    pub fn remove(&mut self, nodes: &[i32]) {
        self.map.remove(nodes);
        nodes.iter().for_each(|&v| self.marks[v as usize / 64] = 0);
    }
}

fn try_resize_exact(v: &mut Vec<u32>, len: usize) -> Result<()> {
    v.try_reserve_exact(len - v.len())?;
    v.resize(len, 0);
    Ok(())
}

/// Columns of a block that have been looked at, with their entries one after the other.
#[derive(Default)]
pub struct Columns {
    /// The node of each column.
    pub nodes: Vec<i32>,
    /// Where each column's entries end.
    ends: Vec<usize>,
    /// The first row that has an entry in the column.
    pub first_rows: Vec<u32>,
    /// Row and value of each entry, with room for one more than there are.
    rows: Vec<u32>,
    values: Vec<f32>,
}

impl Columns {
    /// Forgets all columns and makes room for those of rows with so many entries in all.
    pub fn reserve(&mut self, entries: usize) -> Result<()> {
        self.nodes.clear();
        self.ends.clear();
        self.first_rows.clear();
        try_reserve_with_slack(&mut self.nodes, entries)?;
        try_reserve_with_slack(&mut self.ends, entries)?;
        try_reserve_with_slack(&mut self.first_rows, entries)?;
        if self.rows.len() <= entries {
            // The rows last: it is their length that tells whether there is room in both.
            try_resize(&mut self.values, entries + 1)?;
            try_resize(&mut self.rows, entries + 1)?;
        }
        Ok(())
    }

    /// Adds column `u` of the rows `above`, whose places are in `places`; [`Columns::reserve`] has made room. Takes the
    /// cheaper way: read row u of a symmetric Â, or search for u in each row above.
    pub fn push(&mut self, operator: Sparse<'_>, u: i32, above: &[i32], places: &Places) {
        let (neighbours, weights) = operator.row(u as usize);
        let start = self.ends.last().copied().unwrap_or(0);
        let (mut end, mut first) = (start, u32::MAX);
        if neighbours.len() <= 4 * above.len() {
            for (at, &v) in neighbours.iter().enumerate() {
                // Written in any case and kept if v is above: few are, here and there, which no branch foresees.
                self.rows[end] = at as u32;
                end += places.marked(v);
            }
            for (row, value) in self.rows[start..end].iter_mut().zip(&mut self.values[start..end]) {
                let at = *row as usize;
                *row = places.map.ids[neighbours[at] as usize].wrapping_sub(1);
                *value = weights[at];
                first = first.min(*row);
            }
        } else {
            for (row, &v) in above.iter().enumerate() {
                let (columns, values) = operator.row(v as usize);
                if let Ok(at) = columns.binary_search(&u) {
                    self.rows[end] = row as u32;
                    self.values[end] = values[at];
                    end += 1;
                    first = first.min(row as u32);
                }
            }
        }
        self.nodes.push(u);
        self.ends.push(end);
        self.first_rows.push(first);
    }
}

/// Where some rows of Â are, looked up beforehand and all at once: one by one, each row's loop would wait for its own.
#[derive(Default)]
pub struct RowSpans {
    /// Where each row starts in Â.
    pub starts: Vec<usize>,
    /// Entries of the rows before each one, and of all.
    pub offsets: Vec<u64>,
}

impl RowSpans {
    /// Looks up the rows `above`.
    pub fn look_up(&mut self, operator: Sparse<'_>, above: &[i32]) -> Result<()> {
        try_resize(&mut self.starts, above.len())?;
        try_resize(&mut self.offsets, above.len() + 1)?;
        let mut entries = 0;
        for ((offset, first), &v) in self.offsets.iter_mut().zip(&mut self.starts).zip(above) {
            let (start, end) = (operator.indptr[v as usize], operator.indptr[v as usize + 1]);
            *first = start as usize;
            *offset = entries;
            entries += (end - start) as u64;
            prefetch(operator.indices, start as usize);
            prefetch(operator.values, start as usize);
        }
        self.offsets[above.len()] = entries;
        Ok(())
    }

    /// Entries of all rows.
    pub fn entries(&self) -> usize {
        self.offsets[self.starts.len()] as usize
    }

    /// Each row's place in Â.
    fn ranges(&self) -> impl Iterator<Item = Range<usize>> + '_ {
        let lengths = self.offsets.windows(2).map(|pair| (pair[1] - pair[0]) as usize);
        self.starts.iter().zip(lengths).map(|(&start, length)| start..start + length)
    }
}

/// A block of Â, or of Â with its columns weighted. Buffers are reused from cut to cut.
#[derive(Default)]
pub struct Block {
    indptr: Vec<i64>,
    indices: Vec<i32>,
    values: Vec<f32>,
    nodes: Vec<i32>,
}

/// Rows of Â copied one behind the other, so that a loop over their entries ends once, and not at every row: each of these
/// ends would be a branch foretold wrongly.
#[derive(Default)]
pub struct Flat {
    columns: Vec<i32>,
    values: Vec<f32>,
    /// The entries that are kept, and how many of them come before each entry.
    met: Vec<u32>,
    met_before: Vec<u32>,
}

impl Flat {
    /// Entries copied at once, whether the row has as many or not: most have fewer, and then there is no loop to end.
    const AT_ONCE: usize = 16;

    fn read(&mut self, operator: Sparse<'_>, rows: &RowSpans) -> Result<()> {
        let entries = rows.entries();
        if self.met_before.len() <= entries {
            // This one last: its length tells that there is room in all of them.
            try_resize(&mut self.columns, entries + Self::AT_ONCE)?;
            try_resize(&mut self.values, entries + Self::AT_ONCE)?;
            try_resize(&mut self.met, entries + 1)?;
            try_resize(&mut self.met_before, entries + 1)?;
        }
        let last = operator.indices.len().saturating_sub(Self::AT_ONCE);
        for (range, &to) in rows.ranges().zip(&rows.offsets) {
            let to = to as usize;
            let mut done = 0;
            while done < range.len() && range.start + done <= last && last > 0 {
                let (from, to) = (range.start + done, to + done);
                self.columns[to..to + Self::AT_ONCE].copy_from_slice(&operator.indices[from..from + Self::AT_ONCE]);
                self.values[to..to + Self::AT_ONCE].copy_from_slice(&operator.values[from..from + Self::AT_ONCE]);
                done += Self::AT_ONCE;
            }
            if done < range.len() {
                let rest = range.start + done..range.end;
                self.columns[to + done..][..rest.len()].copy_from_slice(&operator.indices[rest.clone()]);
                self.values[to + done..][..rest.len()].copy_from_slice(&operator.values[rest]);
            }
        }
        Ok(())
    }
}

impl Block {
    /// The node of each column.
    pub fn nodes(&self) -> &[i32] {
        &self.nodes
    }

    /// The entries, columns by local id.
    pub fn view(&self) -> Sparse<'_> {
        Sparse { indptr: &self.indptr, indices: &self.indices, values: &self.values }
    }

    /// The left factor of a product with what the layer below gives.
    pub fn rows(&self) -> Rows<'_> {
        Rows::Sparse(self.view())
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        8 * self.indptr.capacity() + 4 * (self.indices.capacity() + self.values.capacity() + self.nodes.capacity())
    }

    /// Forgets the block and makes room for one of so many entries.
    pub fn reserve(&mut self, entries: usize) -> Result<()> {
        for buffer in [&mut self.indices, &mut self.nodes] {
            buffer.clear();
            try_reserve_with_slack(buffer, entries)?;
        }
        self.values.clear();
        try_reserve_with_slack(&mut self.values, entries)
    }

    /// Reads rows of Â. Columns get local ids in the order in which they are met, and keep them in `map` until
    /// [`Block::forget`].
    pub fn read(&mut self, operator: Sparse<'_>, rows: &RowSpans, map: &mut NodeMap) -> Result<()> {
        let entries = rows.entries();
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
                // The node is written down in any case, and stays if it is new: most are, which no branch foresees.
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

    /// Reads rows of Â, but only the columns that have been drawn, each times `weight` for every time it has. Columns get
    /// local ids in the order in which they are met, and keep them in `map` until [`Block::forget`]. `flat` is
    /// scratch.
    pub fn read_drawn(
        &mut self,
        operator: Sparse<'_>,
        rows: &RowSpans,
        times_drawn: &[u16],
        weight: f64,
        map: &mut NodeMap,
        flat: &mut Flat,
    ) -> Result<()> {
        let entries = rows.entries();
        try_resize(&mut self.indptr, rows.starts.len() + 1)?;
        flat.read(operator, rows)?;
        let Flat { columns, values, met, met_before } = flat;
        let mut count = 0;
        let (met, met_before) = (&mut met[..entries + 1], &mut met_before[..entries + 1]);
        for (e, &u) in columns[..entries].iter().enumerate() {
            // Written in any case and kept if u has been drawn, which no branch foresees.
            met[count] = e as u32;
            met_before[e] = count as u32;
            count += usize::from(times_drawn[u as usize] != 0);
        }
        met_before[entries] = count as u32;
        for (offset, &e) in self.indptr.iter_mut().zip(&rows.offsets) {
            *offset = i64::from(met_before[e as usize]);
        }
        try_resize(&mut self.indices, count)?;
        try_resize(&mut self.values, count)?;
        try_resize(&mut self.nodes, count + 1)?;
        let mut known = 0;
        for ((&e, index), value) in met.iter().zip(&mut self.indices).zip(&mut self.values) {
            let u = columns[e as usize];
            let scale = (f64::from(times_drawn[u as usize]) * weight) as f32;
            *value = values[e as usize] * scale;
            self.nodes[known] = u;
            *index = map.get_or_insert(u, known) as i32;
            known += usize::from(*index == known as i32);
        }
        self.nodes.truncate(known);
        Ok(())
    }

    /// Takes over entries given column by column, times the column's scale; columns with scale 0 stay out.
    pub fn assemble(&mut self, num_rows: usize, columns: &Columns, scale: &[f32]) -> Result<()> {
        let Columns { nodes, ends, rows, values, .. } = columns;
        let most = ends.last().copied().unwrap_or(0);
        // Two ahead: row r is counted at r + 2, so that the sums stand at r + 1, and what is filled in moves them to the
        // row's end.
        try_resize(&mut self.indptr, num_rows + 2)?;
        try_resize(&mut self.indices, most)?;
        try_resize(&mut self.values, most)?;
        self.nodes.clear();
        try_reserve_with_slack(&mut self.nodes, nodes.len())?;
        self.indptr.fill(0);
        let mut begin = 0;
        for (&end, &scale) in ends.iter().zip(scale) {
            let rows = &rows[begin..if scale != 0.0 { end } else { begin }];
            rows.iter().for_each(|&row| self.indptr[row as usize + 2] += 1);
            begin = end;
        }
        for row in 0..num_rows {
            self.indptr[row + 2] += self.indptr[row + 1];
        }
        let mut begin = 0;
        for ((&end, &scale), &node) in ends.iter().zip(scale).zip(nodes) {
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
        let (mut kept, mut start) = (0, 0);
        for row in 0..above.len() {
            let end = self.indptr[row + 1];
            above[kept] = above[row];
            self.indptr[kept + 1] = end;
            kept += usize::from(end > start);
            start = end;
        }
        above.truncate(kept);
        self.indptr.truncate(kept + 1);
    }

    /// Takes the columns' local ids out of `map`.
    pub fn forget(&self, map: &mut NodeMap) {
        map.remove(&self.nodes);
    }

    /// `Σ_v Â(v,u)²` over the block's rows, for each column.
    pub fn column_squares(&self, squares: &mut [f64]) {
        squares.fill(0.0);
        for (&u, &a) in self.indices.iter().zip(&self.values) {
            squares[u as usize] += f64::from(a) * f64::from(a);
        }
    }

    /// Multiplies column `u` by `scale[u]` and drops the columns whose scale is 0, with the ids closed up. `ids` is
    /// scratch.
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
                // Written in any case and kept if the column is, which no branch foresees. Never ahead of what is read.
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
