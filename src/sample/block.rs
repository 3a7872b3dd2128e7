//! One block of Â: some rows, the columns they touch, the columns relabelled 0, 1, ….

use crate::error::{Result, try_reserve_with_slack, try_resize};
use crate::kernel::{AT_ONCE, Sparse, keep_filled, mark, prefetch, table};
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
            let more = num_nodes - self.ids.len();
            crate::error::try_reserve_exact(&mut self.ids, more)?;
            self.ids.resize(num_nodes, 0);
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

    /// Gives each of `nodes` its place in the list.
    pub fn insert_list(&mut self, nodes: &[i32]) {
        let ids = &mut self.ids[..];
        nodes.iter().zip(1..).for_each(|(&v, place)| ids[v as usize] = place);
    }

    /// The local id of `node`: the one it has, or else `id`.
    #[inline(always)]
    pub fn get_or_insert(&mut self, node: i32, id: usize) -> usize {
        let known = &mut self.ids[node as usize];
        *known = select_unpredictable(*known == 0, id as u32 + 1, *known);
        *known as usize - 1
    }

    /// Forgets `nodes`.
    pub fn remove(&mut self, nodes: &[i32]) {
        let ids = &mut self.ids[..];
        nodes.iter().for_each(|&v| ids[v as usize] = 0);
    }
}

/// Which nodes are marked, a byte per node. A bit would take an eighth of the room and half as long again to look up.
#[derive(Default)]
pub struct Marks {
    /// 1 = marked.
    bytes: Vec<u8>,
}

impl Marks {
    /// Makes room for the nodes of a graph.
    pub fn fit(&mut self, num_nodes: usize) -> Result<()> {
        if self.bytes.len() < num_nodes {
            let more = num_nodes - self.bytes.len();
            crate::error::try_reserve_exact(&mut self.bytes, more)?;
            self.bytes.resize(num_nodes, 0);
        }
        Ok(())
    }

    /// Marks `nodes`. Those that are marked already, as often as they are, stand at the beginning of `again`, which has room
    /// for one more than all of them; says how many they are.
    pub fn insert(&mut self, nodes: &[i32], again: &mut [i32]) -> usize {
        mark(&mut self.bytes, nodes, again)
    }

    /// Marks `nodes`, no two the same.
    pub fn insert_distinct(&mut self, nodes: &[i32]) {
        let bytes = &mut self.bytes[..];
        nodes.iter().for_each(|&v| bytes[v as usize] = 1);
    }

    /// Forgets `nodes`, which are all that are marked.
    pub fn remove(&mut self, nodes: &[i32]) {
        let bytes = &mut self.bytes[..];
        // Few lines of the cache are cleared faster as a whole, in pieces: longer ones the C library clears by an instruction
        // that takes its time to begin.
        match bytes.len() <= 32 * nodes.len() {
            true => bytes.chunks_mut(1024).for_each(|piece| piece.fill(0)),
            false => nodes.iter().for_each(|&v| bytes[v as usize] = 0),
        }
    }
}

/// Columns of a block that have been looked at, with their entries one after the other.
#[derive(Default)]
pub struct Columns {
    /// The node of each column.
    pub nodes: Vec<i32>,
    /// Where the nodes' own rows are, which are the columns of a symmetric Â.
    spans: RowSpans,
    /// Where each column's entries end.
    ends: Vec<i64>,
    /// The first row that has an entry in the column.
    pub first_rows: Vec<i32>,
    /// Row and value of each entry, with room for more than there are.
    rows: Vec<i32>,
    values: Vec<f32>,
}

impl Columns {
    /// Forgets all columns and makes room for those of rows with so many entries in all.
    pub fn reserve(&mut self, entries: usize) -> Result<()> {
        self.nodes.clear();
        try_reserve_with_slack(&mut self.nodes, entries + 1)?;
        if self.rows.len() < entries + AT_ONCE {
            // The rows last: it is their length that tells whether there is room in all of them.
            self.spans.reserve(entries)?;
            try_reserve_with_slack(&mut self.ends, entries)?;
            try_reserve_with_slack(&mut self.first_rows, entries)?;
            try_resize(&mut self.values, entries + AT_ONCE)?;
            try_resize(&mut self.rows, entries + AT_ONCE)?;
        }
        Ok(())
    }

    /// Reads the columns `nodes` of the rows `above`, which are marked and whose places are in `map`. Every column has an entry
    /// there, and [`Columns::reserve`] has made room, as has [`Found::reserve`]. Takes the cheaper way for each: read row u of a
    /// symmetric Â, or search for u in each row above.
    pub fn read(
        &mut self,
        operator: Sparse<'_>,
        above: &[i32],
        (marks, map): (&Marks, &NodeMap),
        scratch: &mut Found,
    ) -> Result<()> {
        let Columns { nodes, spans, ends, first_rows, rows, values } = self;
        spans.look_up(operator, nodes)?;
        spans.ask(operator);
        try_resize(ends, nodes.len())?;
        try_resize(first_rows, nodes.len())?;
        let long = |u: i32| operator.indptr[u as usize + 1] - operator.indptr[u as usize] > 64 * above.len() as i64;
        let (mut begin, mut found) = (0, 0);
        while begin < nodes.len() {
            let end = nodes[begin..].iter().position(|&u| long(u)).map_or(nodes.len(), |after| begin + after);
            let here = (&spans.starts[begin..end], &spans.offsets[begin..=end]);
            let ends_here = &mut ends[begin..end];
            let count = table().marked_entries(operator.indices, here, &marks.bytes, &mut scratch.places, ends_here);
            ends_here.iter_mut().for_each(|end| *end += found as i64);
            let room = rows[found..].iter_mut().zip(&mut values[found..]);
            for ((row, value), &at) in room.zip(&scratch.places[..count]) {
                *row = map.ids[operator.indices[at] as usize].wrapping_sub(1) as i32;
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
            // Mostly there is no second one.
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

/// Where some rows of Â are, looked up beforehand and all at once: one by one, each row's loop would wait for its own.
#[derive(Default)]
pub struct RowSpans {
    /// Where each row starts in Â.
    pub starts: Vec<usize>,
    /// Entries of the rows before each one, and of all.
    pub offsets: Vec<u64>,
    /// The row of each entry, after [`RowSpans::list_rows`], with room for more.
    pub row_of: Vec<i32>,
}

impl RowSpans {
    /// Makes room for so many rows.
    fn reserve(&mut self, rows: usize) -> Result<()> {
        try_reserve_with_slack(&mut self.starts, rows)?;
        try_reserve_with_slack(&mut self.offsets, rows + 1)
    }

    /// Looks up the rows `above`.
    pub fn look_up(&mut self, operator: Sparse<'_>, above: &[i32]) -> Result<()> {
        try_resize(&mut self.starts, above.len())?;
        try_resize(&mut self.offsets, above.len() + 1)?;
        let mut entries = 0;
        for ((offset, first), &v) in self.offsets.iter_mut().zip(&mut self.starts).zip(above) {
            // The end first: where that is, the beginning is, too, and is not checked again.
            let v = v as u32 as usize;
            let (end, start) = (operator.indptr[v + 1], operator.indptr[v]);
            *first = start as usize;
            *offset = entries;
            entries += (end - start) as u64;
        }
        self.offsets[above.len()] = entries;
        Ok(())
    }

    /// Makes room for [`RowSpans::list_rows`] of rows with so many entries in all.
    pub fn reserve_list(&mut self, entries: usize) -> Result<()> {
        if self.row_of.len() < entries + AT_ONCE { try_resize(&mut self.row_of, entries + AT_ONCE) } else { Ok(()) }
    }

    /// Writes down which row each entry is in. [`RowSpans::reserve_list`] has made room.
    pub fn list_rows(&mut self) {
        for (row, pair) in self.offsets.windows(2).enumerate() {
            let (start, end) = (pair[0] as usize, pair[1] as usize);
            // As many as most rows have, however many it has: the next rows write over what is too much.
            self.row_of[start..start + AT_ONCE].fill(row as i32);
            if end > start + AT_ONCE {
                self.row_of[start + AT_ONCE..end].fill(row as i32);
            }
        }
    }

    /// The row that has an entry, by a search without branches: no guess at the next half is better than another.
    pub fn row_with(&self, entry: u64) -> usize {
        let (mut row, mut left) = (0, self.starts.len());
        while left > 1 {
            let half = left / 2;
            row = select_unpredictable(self.offsets[row + half] <= entry, row + half, row);
            left -= half;
        }
        row
    }

    /// Asks for the columns of the rows, for whoever is going to read them all: for their beginnings and, where most of them are
    /// longer than a few entries, for their ends, which are in the same line or in the next.
    fn ask(&self, operator: Sparse<'_>) {
        self.starts.iter().for_each(|&start| prefetch(operator.indices, start));
        if self.entries() > 8 * self.starts.len() {
            for (&start, pair) in self.starts.iter().zip(self.offsets.windows(2)) {
                prefetch(operator.indices, (start + (pair[1] - pair[0]) as usize).saturating_sub(1));
            }
        }
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

/// Entries of rows of Â whose columns are marked.
#[derive(Default)]
pub struct Found {
    /// Where each is in Â, with room for more than there are.
    places: Vec<usize>,
    /// How often each column has been drawn, by local id.
    times: Vec<u32>,
}

impl Found {
    /// Makes room for what may be found in rows of so many entries.
    pub fn reserve(&mut self, entries: usize) -> Result<()> {
        if self.places.len() < entries + AT_ONCE { try_resize(&mut self.places, entries + AT_ONCE) } else { Ok(()) }
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
        rows.ask(operator);
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

    /// Reads rows of Â, but only the columns that are marked: they have been drawn, each once and once more for every time that
    /// it is in `again`. An entry is multiplied by `weight` for every draw. Columns get local ids in the order in which they
    /// are met, and keep them in `map` until [`Block::forget`]. `found` is scratch, with room for the rows' entries.
    pub fn read_drawn(
        &mut self,
        operator: Sparse<'_>,
        rows: &RowSpans,
        (marks, again): (&Marks, &[i32]),
        weight: f64,
        map: &mut NodeMap,
        found: &mut Found,
    ) -> Result<()> {
        rows.ask(operator);
        try_resize(&mut self.indptr, rows.starts.len() + 1)?;
        self.indptr[0] = 0;
        let spans = (&rows.starts[..], &rows.offsets[..=rows.starts.len()]);
        let ends = &mut self.indptr[1..];
        let count = table().marked_entries(operator.indices, spans, &marks.bytes, &mut found.places, ends);
        let places = &found.places[..count];
        try_resize(&mut self.indices, count)?;
        try_resize(&mut self.values, count)?;
        try_resize(&mut self.nodes, count + 1)?;
        let (mut known, nodes) = (0, &mut self.nodes[..]);
        for (index, &at) in self.indices.iter_mut().zip(places) {
            let u = operator.indices[at];
            // Written down in any case, and stays if it is new.
            nodes[known] = u;
            *index = map.get_or_insert(u, known) as i32;
            known += usize::from(*index == known as i32);
        }
        self.nodes.truncate(known);
        try_resize(&mut found.times, known)?;
        found.times.fill(1);
        again.iter().filter_map(|&u| map.get(u)).for_each(|id| found.times[id] += 1);
        let times = &found.times[..];
        for ((value, &at), &id) in self.values.iter_mut().zip(places).zip(&self.indices) {
            *value = operator.values[at] * (f64::from(times[id as usize]) * weight) as f32;
        }
        Ok(())
    }

    /// Takes over entries given column by column, times the column's scale; columns with scale 0 stay out.
    pub fn assemble(&mut self, num_rows: usize, columns: &Columns, scale: &[f32]) -> Result<()> {
        let Columns { nodes, ends, rows, values, .. } = columns;
        let most = ends.last().map_or(0, |&end| end as usize);
        // Two ahead: row r is counted at r + 2, so that the sums stand at r + 1, and what is filled in moves them to the
        // row's end.
        try_resize(&mut self.indptr, num_rows + 2)?;
        try_resize(&mut self.indices, most)?;
        try_resize(&mut self.values, most)?;
        self.nodes.clear();
        try_reserve_with_slack(&mut self.nodes, nodes.len())?;
        // In pieces: longer ones the C library clears by an instruction that takes its time to begin.
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
