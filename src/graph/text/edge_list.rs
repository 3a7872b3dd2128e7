//! Edge lists: CSV, TSV or columns of blanks, an edge per line.

use super::fields::{self, Record, Separator, outside_quotes};
use super::{Edges, LONGEST, check_plausible};
use crate::error::{Error, ForThe, Result, try_filled, try_reserve};
use crate::graph::csr::Repeated;
use crate::graph::{Graph, Ids};
use crate::log::{Level, Log, tell};
use crate::text::{Field, Text};
use std::path::Path;

/// Whether the first line names the columns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Header {
    /// The line tells.
    Auto,
    /// It does.
    Yes,
    /// It is an edge.
    No,
}

/// What becomes of an edge that is listed more than once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Merge {
    /// Its weights are added; without weights it weighs 1.
    Sum,
    /// It weighs as much as there are lines of it.
    Count,
    /// The first weight stays.
    First,
    /// The largest weight stays.
    Max,
}

/// Where source, target and weight are.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Columns {
    /// In the first columns, of which there are two or three.
    First,
    /// In the columns of these numbers, from 0.
    Numbers([usize; 2], Option<usize>),
    /// In the columns of these names.
    Names([Vec<u8>; 2], Option<Vec<u8>>),
}

/// How an edge list is read.
#[derive(Clone, Debug)]
pub struct EdgeListOptions {
    separator: Option<u8>,
    /// Whether there is a header.
    pub header: Header,
    columns: Columns,
    /// Whether edges have a direction.
    pub directed: bool,
    /// What repeated edges become.
    pub merge: Merge,
    comment: Option<Vec<u8>>,
    num_nodes: usize,
}

impl Default for EdgeListOptions {
    fn default() -> Self {
        EdgeListOptions {
            separator: None,
            header: Header::Auto,
            columns: Columns::First,
            directed: false,
            merge: Merge::Sum,
            comment: None,
            num_nodes: 0,
        }
    }
}

impl EdgeListOptions {
    /// The last column that can have a number.
    pub const LAST_COLUMN: usize = LONGEST - 1;

    /// Sets the byte between fields; `None`: the first line tells.
    pub fn set_separator(&mut self, separator: Option<u8>) -> Result<()> {
        let possible =
            |byte: u8| byte == b'\t' || byte == b' ' || byte.is_ascii_punctuation() && !b"\"+-.".contains(&byte);
        if let Some(byte) = separator.filter(|&byte| !possible(byte)) {
            let text =
                format!("separator = {byte} is neither a tab, a space nor a punctuation mark other than \" + - .");
            return Err(Error::InvalidArgument(text));
        }
        self.separator = separator;
        Ok(())
    }

    /// Sets where source, target and weight are.
    pub fn set_columns(&mut self, columns: Columns) -> Result<()> {
        let bad = |text: String| Err(Error::InvalidArgument(text));
        match &columns {
            Columns::First => {}
            Columns::Numbers([source, target], weight) => {
                if source == target || weight.is_some_and(|weight| weight == *source || weight == *target) {
                    return bad(format!(
                        "column {} is used twice",
                        weight.filter(|_| source != target).unwrap_or(*source)
                    ));
                }
            }
            Columns::Names([source, target], weight) => {
                if source.is_empty() || target.is_empty() || weight.as_ref().is_some_and(Vec::is_empty) {
                    return bad("the name of a column is empty".to_string());
                }
                if source == target || weight.as_ref().is_some_and(|weight| weight == source || weight == target) {
                    return bad("a column is used twice".to_string());
                }
            }
        }
        self.columns = columns;
        Ok(())
    }

    /// Sets how lines begin that are skipped; empty for none, `None` for the usual ones.
    pub fn set_comment(&mut self, prefix: Option<&[u8]>) -> Result<()> {
        let bad = |byte: &u8| byte.is_ascii_whitespace() || *byte == b'"';
        if prefix.is_some_and(|prefix| prefix.iter().any(bad)) {
            return Err(Error::InvalidArgument("a comment cannot begin with a blank or a quote".to_string()));
        }
        self.comment = prefix.map(<[u8]>::to_vec);
        Ok(())
    }

    /// Sets the number of nodes; 0 for as many as the file has.
    pub fn set_num_nodes(&mut self, num_nodes: usize) -> Result<()> {
        if num_nodes > 0 {
            Graph::check_num_nodes(num_nodes)?;
        }
        self.num_nodes = num_nodes;
        Ok(())
    }

    fn check(&self, names: bool) -> Result<()> {
        let bad = |text: &str| Err(Error::InvalidArgument(text.to_string()));
        match (&self.columns, self.header) {
            (Columns::Names(..), Header::No) => {
                return bad("columns have names, but the file is said to have no header");
            }
            (Columns::Names(..), _) => {}
            (_, Header::Auto) if names => {
                return bad(
                    "ids are names, which a header cannot be told from: say whether there is one, or name the columns",
                );
            }
            _ => {}
        }
        match (&self.columns, self.merge) {
            (Columns::Numbers(_, Some(_)) | Columns::Names(_, Some(_)), Merge::Count) => {
                bad("repeated edges are counted, so there can be no column of weights")
            }
            _ => Ok(()),
        }
    }
}

impl Graph {
    /// Reads a graph whose nodes are numbered from 0.
    pub fn from_edge_list(path: &Path, options: &EdgeListOptions, log: &mut impl Log) -> Result<Self> {
        options.check(false)?;
        read(path, options, Nodes::Numbers { largest: 0 }, log).map(|(graph, _)| graph)
    }

    /// Reads a graph whose nodes have names.
    pub fn from_named_edge_list(path: &Path, options: &EdgeListOptions, log: &mut impl Log) -> Result<(Self, Ids)> {
        options.check(true)?;
        let (graph, nodes) = read(path, options, Nodes::Names(Ids::new()?), log)?;
        match nodes {
            Nodes::Names(ids) => Ok((graph, ids)),
            Nodes::Numbers { .. } => Err(Error::Internal("names have become numbers".to_string())),
        }
    }
}

fn read(path: &Path, options: &EdgeListOptions, nodes: Nodes, log: &mut impl Log) -> Result<(Graph, Nodes)> {
    let mut table =
        Table { text: Text::open(path, LONGEST)?, record: Record::default(), separator: None, comments: 0, lines: 0 };
    let result = edges(&mut table, options, nodes, path, log).and_then(|(edges, nodes)| {
        table.text.line = 0;
        let num_nodes = nodes.count(options.num_nodes, table.text.bytes)?;
        let listed = edges.len();
        let graph = graph(edges, num_nodes, options)?;
        tell(log, Level::Info, || {
            let (different, lines, comments) = (graph.num_edges(), table.lines, table.comments);
            format!(
                "{}: {lines} lines, {comments} of them comments; {listed} edges, {different} different, on {num_nodes} nodes",
                path.display()
            )
        });
        Ok((graph, nodes))
    });
    result.map_err(|e| table.text.blame(e, path)).for_the(format_args!("edges in {}", path.display())).inspect_err(
        |e| {
            tell(log, Level::of(e), || e.to_string());
        },
    )
}

/// The nodes met so far.
enum Nodes {
    Numbers { largest: i32 },
    Names(Ids),
}

impl Nodes {
    /// The number of nodes, after all edges; `told` if it is not 0.
    fn count(&self, told: usize, file_bytes: u64) -> Result<usize> {
        match self {
            _ if told > 0 => Ok(told),
            Nodes::Names(ids) => Ok(ids.len()),
            Nodes::Numbers { largest } => {
                let n = *largest as usize + 1;
                check_plausible(n, file_bytes).map_err(|_| {
                    Error::BadFormat(format!(
                        "the largest id is {largest}, which makes {n} nodes of a file of {file_bytes} bytes; number nodes \
                         from 0, or tell num_nodes"
                    ))
                })?;
                Ok(n)
            }
        }
    }
}

/// Edges whose names have no ids yet. Names are looked up in batches, so that the waits for memory overlap.
#[derive(Default)]
struct Batch {
    /// All names, one after the other.
    bytes: Vec<u8>,
    names: Vec<Name>,
    weights: Vec<Option<f32>>,
}

/// A name of a batch.
struct Name {
    end: usize,
    hash: u64,
    line: u64,
    column: usize,
}

impl Batch {
    /// Edges of a full batch.
    const SIZE: usize = 128;

    fn push(&mut self, field: Field, line: u64, ids: &Ids) -> Result<()> {
        if field.text.is_empty() || memchr::memchr(0, field.text).is_some() {
            return Err(field.bad("is not a node id: it is empty or has a zero byte"));
        }
        try_reserve(&mut self.bytes, field.text.len(), "names")?;
        try_reserve(&mut self.names, 1, "names")?;
        self.bytes.extend_from_slice(field.text);
        let (end, hash) = (self.bytes.len(), ids.hash(field.text));
        self.names.push(Name { end, hash, line, column: field.column });
        Ok(())
    }

    /// Moves the edges out of the batch. An error is told with its line.
    fn flush(&mut self, ids: &mut Ids, num_nodes: usize, edges: &mut Edges) -> std::result::Result<(), (Error, u64)> {
        ids.fetch(self.names.iter().map(|name| name.hash));
        let mut begin = 0;
        let mut id = |name: &Name| {
            let text = &self.bytes[begin..name.end];
            begin = name.end;
            match ids.add_hashed(text, name.hash) {
                Ok(id) if (id as usize) < num_nodes => Ok(id),
                Ok(_) => {
                    let field = Field { column: name.column, text };
                    Err((field.bad(format_args!("is one more node than the {num_nodes} there are")), name.line))
                }
                Err(error) => Err((error, name.line)),
            }
        };
        for (pair, &weight) in self.names.chunks_exact(2).zip(&self.weights) {
            let (u, v) = (id(&pair[0])?, id(&pair[1])?);
            edges.push(u, v, weight).map_err(|error| (error, pair[1].line))?;
        }
        self.bytes.clear();
        self.names.clear();
        self.weights.clear();
        Ok(())
    }
}

/// A text of lines with fields.
struct Table {
    text: Text,
    record: Record,
    separator: Option<Separator>,
    comments: u64,
    lines: u64,
}

impl Table {
    /// Reads the next line that is neither blank nor a comment; false at the end. The first shows the separator.
    fn next(&mut self, comments: &[&[u8]], separator: impl Fn(&[u8]) -> Result<Separator>) -> Result<bool> {
        while self.text.next_line()? {
            self.lines = self.text.line;
            let line = self.text.content().trim_ascii_start();
            if line.is_empty() {
                continue;
            }
            if comments.iter().any(|comment| line.starts_with(comment)) {
                self.comments += 1;
                continue;
            }
            let separator = match self.separator {
                Some(separator) => separator,
                None => *self.separator.insert(separator(line)?),
            };
            while !self.record.split(self.text.content(), separator)? {
                if !self.text.join_line()? {
                    return Err(Error::BadFormat("a quote is not closed before the file ends".to_string()));
                }
            }
            return Ok(true);
        }
        Ok(false)
    }

    fn field(&self, i: usize) -> Field<'_> {
        self.record.field(self.text.content(), i)
    }

    /// The fields, for a message.
    fn quoted(&self) -> String {
        const SHOWN: usize = 10;
        let shown = (0..self.record.len().min(SHOWN)).map(|i| self.field(i).shown());
        let shown: Vec<String> = shown.collect();
        format!("{}{}", shown.join(", "), if self.record.len() > SHOWN { ", …" } else { "" })
    }
}

/// The separator that a first line shows. Where names may contain what could be one, it must be told.
fn separator_of(line: &[u8], names: bool) -> Result<Separator> {
    let candidates: &[u8] = if names { b",;\t" } else { b",;" };
    let mut found = candidates.iter().copied().filter(|&candidate| outside_quotes(line).any(|byte| byte == candidate));
    match (found.next(), found.next()) {
        (Some(first), Some(second)) if names => Err(Error::BadFormat(format!(
            "{} and {} could both separate its fields; tell the separator",
            Separator::Byte(first).name(),
            Separator::Byte(second).name()
        ))),
        (Some(first), _) => Ok(Separator::Byte(first)),
        (None, _) => Ok(Separator::Blanks),
    }
}

/// Reads all edges.
fn edges(
    table: &mut Table,
    options: &EdgeListOptions,
    mut nodes: Nodes,
    path: &Path,
    log: &mut impl Log,
) -> Result<(Edges, Nodes)> {
    let names = matches!(nodes, Nodes::Names(_));
    // A name may well begin with such a mark.
    let usual: &[&[u8]] = if names { &[] } else { &[b"#", b"%"] };
    let told = [options.comment.as_deref().unwrap_or_default()];
    let comments = match &options.comment {
        None => usual,
        Some(prefix) if prefix.is_empty() => &[],
        Some(_) => &told,
    };
    let separator = |line: &[u8]| match options.separator {
        Some(byte) => Ok(Separator::Byte(byte)),
        None => separator_of(line, names),
    };
    let bound = if options.num_nodes == 0 { i32::MAX as usize } else { options.num_nodes };
    let flush = |batch: &mut Batch, ids: &mut Ids, table: &mut Table, edges: &mut Edges| {
        batch.flush(ids, bound, edges).map_err(|(error, line)| {
            table.text.line = line;
            error
        })
    };
    let (mut edges, mut batch) = (Edges::default(), Batch::default());
    let mut more = table.next(comments, separator)?;
    if more {
        let (width, header) = (table.record.len(), is_header(table, options)?);
        let ([source, target], weight) = find_columns(table, options)?;
        if header {
            tell(log, Level::Info, || {
                let (line, fields) = (table.text.line, table.quoted());
                format!("{}: line {line} is a header and no edge: {fields}", path.display())
            });
            more = table.next(comments, separator)?;
        }
        while more {
            if table.record.len() != width {
                let found = table.record.len();
                return Err(Error::BadFormat(format!("{found} fields, the lines before have {width}")));
            }
            let weight = |table: &Table| weight.map(|column| fields::weight(table.field(column))).transpose();
            match &mut nodes {
                Nodes::Numbers { largest } => {
                    let u = fields::id(table.field(source), 0, bound, "node id")?;
                    let v = fields::id(table.field(target), 0, bound, "node id")?;
                    *largest = u.max(v).max(*largest);
                    edges.push(u, v, weight(table)?)?;
                }
                Nodes::Names(ids) => {
                    batch.push(table.field(source), table.text.line, ids)?;
                    batch.push(table.field(target), table.text.line, ids)?;
                    try_reserve(&mut batch.weights, 1, "edges")?;
                    batch.weights.push(weight(table)?);
                    if batch.weights.len() == Batch::SIZE {
                        flush(&mut batch, ids, table, &mut edges)?;
                    }
                }
            }
            more = table.next(comments, separator)?;
        }
        if let Nodes::Names(ids) = &mut nodes {
            flush(&mut batch, ids, table, &mut edges)?;
        }
    }
    if edges.len() == 0 && options.num_nodes == 0 {
        table.text.line = 0;
        return Err(Error::BadFormat("there is no edge, and so no node".to_string()));
    }
    Ok((edges, nodes))
}

/// Whether the first line is a header: none of its fields is a number.
fn is_header(table: &Table, options: &EdgeListOptions) -> Result<bool> {
    let number = (0..table.record.len()).map(|i| table.field(i)).find(|field| field.parse::<f64>().is_some());
    match (&options.columns, options.header) {
        // Its names show that it is one; see `find_columns`.
        (Columns::Names(..), _) => Ok(true),
        (_, Header::No) => Ok(false),
        (_, Header::Auto) => Ok(number.is_none()),
        (_, Header::Yes) => match number {
            None => Ok(true),
            Some(field) => {
                Err(field.bad("is a number, which no header has; tell that there is none, or name the columns"))
            }
        },
    }
}

/// The columns of source and target, and of the weight if there is one. The first line is at hand.
fn find_columns(table: &Table, options: &EdgeListOptions) -> Result<([usize; 2], Option<usize>)> {
    let width = table.record.len();
    let number = |column: usize| match column < width {
        true => Ok(column),
        false => Err(Error::BadFormat(format!("{width} fields, so there is no column {column} counted from 0"))),
    };
    let name = |name: &[u8]| {
        let mut found = (0..width).filter(|&i| table.field(i).text == name);
        match (found.next(), found.next()) {
            (Some(column), None) => Ok(column),
            (None, _) => {
                let (name, header) = (name.escape_ascii(), table.quoted());
                Err(Error::BadFormat(format!("there is no column \"{name}\" in the header {header}")))
            }
            (Some(_), Some(second)) => Err(table.field(second).bad("is the name of two columns")),
        }
    };
    match &options.columns {
        Columns::First => match width {
            2 => Ok(([0, 1], None)),
            3 => Ok(([0, 1], (options.merge != Merge::Count).then_some(2))),
            _ => Err(Error::BadFormat(format!(
                "{width} fields, where an edge has a source, a target and perhaps a weight; tell the columns of these"
            ))),
        },
        Columns::Numbers([source, target], weight) => {
            Ok(([number(*source)?, number(*target)?], weight.map(number).transpose()?))
        }
        Columns::Names([source, target], weight) => {
            Ok(([name(source)?, name(target)?], weight.as_deref().map(name).transpose()?))
        }
    }
}

fn graph(mut edges: Edges, num_nodes: usize, options: &EdgeListOptions) -> Result<Graph> {
    let repeated = match options.merge {
        Merge::Sum => Repeated::Sum,
        Merge::Count => {
            edges.weights = try_filled(edges.len(), 1.0)?;
            Repeated::Sum
        }
        Merge::First => Repeated::First,
        Merge::Max => Repeated::Max,
    };
    if options.directed {
        // A node aggregates from those that point to it.
        std::mem::swap(&mut edges.sources, &mut edges.targets);
        return edges.into_matrix(num_nodes, repeated);
    }
    edges.into_graph(num_nodes, repeated)
}
