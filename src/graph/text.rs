//! Graphs as text: edge lists, and Matrix Market's coordinate format.
//!
//! A complaint names the line and the column, both from 1. Memory grows with what the file really holds, not with what it
//! claims.

use super::Graph;
use crate::error::{Error, Result};
use crate::text::{Field, Text};
use std::path::Path;

/// Bytes of a line.
const LONGEST: u64 = 1 << 16;

/// How a Matrix Market file begins.
pub const BANNER: &[u8] = b"%%MatrixMarket";

impl Graph {
    /// From a text of one undirected edge a line: two node ids and perhaps a weight, separated by commas, semicolons, tabs
    /// or blanks. `num_nodes` of 0 stands for one more than the largest id.
    pub fn from_edge_list(path: &Path, num_nodes: usize) -> Result<Self> {
        if num_nodes > 0 {
            Graph::check_num_nodes(num_nodes)?;
        }
        let mut text = Text::open(path, LONGEST)?;
        edge_list(&mut text, num_nodes).map_err(|e| text.blame(e, path))
    }

    /// From a square sparse matrix in Matrix Market's format.
    pub(super) fn load_matrix_market(path: &Path) -> Result<Self> {
        let mut text = Text::open(path, LONGEST)?;
        matrix_market(&mut text).map_err(|e| text.blame(e, path))
    }
}

/// The nodes that a file of so many bytes may speak of without naming them: enough for any real graph, too few to be a
/// surprise.
pub fn check_plausible(num_nodes: usize, file_bytes: u64) -> Result<()> {
    // Fuzzers would spend their time on large graphs of small files.
    const ALWAYS: u64 = if cfg!(fuzzing) { 1 << 12 } else { 1 << 20 };
    const PER_BYTE: u64 = 8;
    if num_nodes as u64 <= ALWAYS.saturating_add(file_bytes.saturating_mul(PER_BYTE)) {
        return Ok(());
    }
    Err(Error::BadFormat(format!("{num_nodes} nodes are too many for a file of {file_bytes} bytes")))
}

fn edge_list(text: &mut Text, num_nodes: usize) -> Result<Graph> {
    let mut edges = Edges::default();
    let mut columns = 0;
    let mut largest = 0;
    while text.next_line()? {
        let fields = Fields::of(text.content(), b"#%");
        if fields.count == 0 {
            continue;
        }
        if columns == 0 {
            columns = fields.count;
            if !(2..=3).contains(&columns) {
                return Err(Error::BadFormat(format!(
                    "{} fields, where an edge has a source, a target and perhaps a weight",
                    fields.count
                )));
            }
            if fields.is_header() {
                continue;
            }
        }
        if fields.count != columns {
            return Err(Error::BadFormat(format!("{} fields, the lines before have {columns}", fields.count)));
        }
        let bound = if num_nodes == 0 { i32::MAX as usize } else { num_nodes };
        let [u, v] = [fields.id(0, bound)?, fields.id(1, bound)?];
        largest = largest.max(u).max(v);
        edges.push(u, v, if columns == 3 { Some(fields.weight(2)?) } else { None })?;
    }
    text.line = 0;
    let mut n = num_nodes;
    if n == 0 {
        if edges.sources.is_empty() {
            return Err(Error::BadFormat("there is no edge, and so no node".to_string()));
        }
        n = largest as usize + 1;
        check_plausible(n, text.bytes).map_err(|_| {
            Error::BadFormat(format!(
                "the largest id is {largest}, which makes {n} nodes of a file of {} bytes; number nodes from 0, or tell \
                 num_nodes",
                text.bytes
            ))
        })?;
    }
    edges.into_graph(n)
}

fn matrix_market(text: &mut Text) -> Result<Graph> {
    text.next_line()?;
    let banner = text.words();
    let words: Vec<&str> = banner.iter().map(String::as_str).collect();
    let [_, "matrix", "coordinate", field, symmetry] = words[..] else {
        let supported = "\"%%MatrixMarket matrix coordinate <field> <symmetry>\" is expected";
        return Err(Error::Unsupported(format!("a {} file: {supported}", words.join(" "))));
    };
    let weighted = match field {
        "real" | "integer" | "double" => true,
        "pattern" => false,
        _ => {
            return Err(Error::Unsupported(format!("entries of type {field}; a graph's are real, integer or pattern")));
        }
    };
    let undirected = match symmetry {
        "general" => false,
        "symmetric" => true,
        _ => return Err(Error::Unsupported(format!("a {symmetry} matrix; a graph's is general or symmetric"))),
    };
    let mut shape = None;
    let mut entries = Edges::default();
    while text.next_line()? {
        let fields = Fields::of(text.content(), b"%");
        let Some((n, count)) = shape else {
            if fields.count == 0 {
                continue;
            }
            fields.expect(3, "rows, columns and entries")?;
            let [rows, columns] = [fields.count_of(0)?, fields.count_of(1)?];
            if rows != columns {
                return Err(Error::BadFormat(format!("{rows} rows and {columns} columns are not a graph's matrix")));
            }
            Graph::check_num_nodes(rows)?;
            check_plausible(rows, text.bytes)?;
            shape = Some((rows, fields.count_of(2)?));
            continue;
        };
        if fields.count == 0 {
            continue;
        }
        fields.expect(if weighted { 3 } else { 2 }, "an entry of this matrix")?;
        let [row, column] = [fields.id_from_one(0, n)?, fields.id_from_one(1, n)?];
        if entries.sources.len() == count {
            return Err(Error::BadFormat(format!("there are more entries than the {count} announced")));
        }
        entries.push(row, column, if weighted { Some(fields.weight(2)?) } else { None })?;
    }
    text.line = 0;
    let Some((n, count)) = shape else {
        return Err(Error::BadFormat("there is no line of sizes".to_string()));
    };
    if entries.sources.len() != count {
        let found = entries.sources.len();
        return Err(Error::BadFormat(format!("the file ends after {found} of {count} entries")));
    }
    if undirected { entries.into_graph(n) } else { entries.into_matrix(n) }
}

/// Pairs of nodes, as they come.
#[derive(Default)]
struct Edges {
    sources: Vec<i32>,
    targets: Vec<i32>,
    weights: Vec<f32>,
}

impl Edges {
    fn push(&mut self, source: i32, target: i32, weight: Option<f32>) -> Result<()> {
        crate::error::try_reserve(&mut self.sources, 1, "edges")?;
        crate::error::try_reserve(&mut self.targets, 1, "edges")?;
        self.sources.push(source);
        self.targets.push(target);
        if let Some(weight) = weight {
            crate::error::try_reserve(&mut self.weights, 1, "edges")?;
            self.weights.push(weight);
        }
        Ok(())
    }

    fn weights(&self) -> Option<&[f32]> {
        (!self.weights.is_empty()).then_some(&self.weights)
    }

    fn into_graph(self, num_nodes: usize) -> Result<Graph> {
        Graph::from_edges(num_nodes, &self.sources, &self.targets, self.weights())
    }

    /// The sources are rows.
    fn into_matrix(self, num_nodes: usize) -> Result<Graph> {
        let mut indptr = super::csr::empty_indptr(num_nodes)?;
        self.sources.iter().for_each(|&row| indptr[row as usize + 1] += 1);
        super::csr::counts_to_offsets(&mut indptr);
        let mut next = crate::error::try_copied(&indptr)?;
        let mut indices = crate::error::try_filled(self.targets.len(), 0i32)?;
        let mut values = crate::error::try_filled(self.weights.len(), 0f32)?;
        for (e, (&row, &column)) in self.sources.iter().zip(&self.targets).enumerate() {
            let at = next[row as usize] as usize;
            next[row as usize] += 1;
            indices[at] = column;
            if let Some(&weight) = self.weights.get(e) {
                values[at] = weight;
            }
        }
        Graph::from_csr(num_nodes, &indptr, &indices, (!values.is_empty()).then_some(&values))
    }
}

/// The fields of a line: each with the column it begins at.
struct Fields<'a> {
    text: [Field<'a>; Fields::MOST],
    /// How many there are, those beyond the most included.
    count: usize,
}

impl<'a> Fields<'a> {
    const MOST: usize = 3;

    /// A line's fields; none if it is blank or begins with one of `comments`.
    fn of(line: &'a [u8], comments: &[u8]) -> Self {
        let line = line.trim_ascii_end();
        let begin = line.len() - line.trim_ascii_start().len();
        let mut fields = Fields { text: [Field::default(); Fields::MOST], count: 0 };
        match line.get(begin) {
            None => return fields,
            Some(byte) if comments.contains(byte) => return fields,
            _ => {}
        }
        let separator = [b',', b';'].into_iter().find(|s| line.contains(s));
        let mut at = begin;
        while at <= line.len() {
            let rest = &line[at..];
            let len = match separator {
                Some(separator) => rest.iter().position(|&b| b == separator),
                None => rest.iter().position(u8::is_ascii_whitespace),
            };
            let field = &rest[..len.unwrap_or(rest.len())];
            let lead = field.len() - field.trim_ascii_start().len();
            let trimmed = field.trim_ascii();
            if fields.count < Fields::MOST {
                let quoted = trimmed.len() >= 2 && trimmed.starts_with(b"\"") && trimmed.ends_with(b"\"");
                let bare = if quoted { &trimmed[1..trimmed.len() - 1] } else { trimmed };
                fields.text[fields.count] = Field { column: at + lead + 1, text: bare };
            }
            fields.count += 1;
            let Some(len) = len else { break };
            at += len + 1;
            if separator.is_none() {
                at += line[at..].len() - line[at..].trim_ascii_start().len();
            }
        }
        fields
    }

    fn expect(&self, count: usize, what: &str) -> Result<()> {
        if self.count == count {
            return Ok(());
        }
        Err(Error::BadFormat(format!("{} fields instead of {count}: {what}", self.count)))
    }

    /// Whether neither end of the edge is a number.
    fn is_header(&self) -> bool {
        self.text[0].parse::<f64>().is_none() && self.text[1].parse::<f64>().is_none() && !self.text[0].text.is_empty()
    }

    fn id(&self, i: usize, num_nodes: usize) -> Result<i32> {
        match self.text[i].parse::<i64>() {
            Some(id) if id >= 0 && (id as u64) < num_nodes as u64 => Ok(id as i32),
            Some(_) => Err(self.text[i].bad(format!("is outside [0, {num_nodes})"))),
            None => Err(self.text[i].bad("is not a node id")),
        }
    }

    fn id_from_one(&self, i: usize, num_nodes: usize) -> Result<i32> {
        match self.text[i].parse::<i64>() {
            Some(id) if id >= 1 && id as u64 <= num_nodes as u64 => Ok((id - 1) as i32),
            Some(_) => Err(self.text[i].bad(format!("is outside [1, {num_nodes}]"))),
            None => Err(self.text[i].bad("is not a row or a column")),
        }
    }

    fn count_of(&self, i: usize) -> Result<usize> {
        self.text[i].parse().ok_or_else(|| self.text[i].bad("is not a count"))
    }

    fn weight(&self, i: usize) -> Result<f32> {
        match self.text[i].parse::<f32>() {
            Some(weight) if weight.is_finite() && weight >= 0.0 => Ok(weight),
            Some(_) => Err(self.text[i].bad("is not a finite weight >= 0")),
            None => Err(self.text[i].bad("is not a weight")),
        }
    }
}
