//! Matrix Market's coordinate format.

use super::fields::{self, Record, Separator};
use super::{Edges, LONGEST, check_plausible};
use crate::error::{Error, Result};
use crate::graph::Graph;
use crate::graph::csr::Repeated;
use crate::text::{Field, Text};
use std::path::Path;

impl Graph {
    /// From a square sparse matrix in Matrix Market's format.
    pub(in crate::graph) fn load_matrix_market(path: &Path) -> Result<Self> {
        let mut text = Text::open(path, LONGEST)?;
        matrix_market(&mut text).map_err(|e| text.blame(e, path))
    }
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
    let mut record = Record::default();
    while text.next_line()? {
        let line = text.content().trim_ascii();
        if line.is_empty() || line.starts_with(b"%") {
            continue;
        }
        let line = text.content();
        if !record.split(line, Separator::Blanks)? {
            return Err(Error::BadFormat("a quote is not closed".to_string()));
        }
        let field = |i| record.field(line, i);
        let Some((n, count)) = shape else {
            fields::expect(&record, 3, "rows, columns and entries")?;
            let [rows, columns] = [count_of(field(0))?, count_of(field(1))?];
            if rows != columns {
                return Err(Error::BadFormat(format!("{rows} rows and {columns} columns are not a graph's matrix")));
            }
            Graph::check_num_nodes(rows)?;
            check_plausible(rows, text.bytes)?;
            shape = Some((rows, count_of(field(2))?));
            continue;
        };
        fields::expect(&record, if weighted { 3 } else { 2 }, "an entry of this matrix")?;
        let id = |i| fields::id(field(i), 1, n, "row or a column");
        let (row, column) = (id(0)?, id(1)?);
        if entries.len() == count {
            return Err(Error::BadFormat(format!("there are more entries than the {count} announced")));
        }
        entries.push(row, column, if weighted { Some(fields::weight(field(2))?) } else { None })?;
    }
    text.line = 0;
    let Some((n, count)) = shape else {
        return Err(Error::BadFormat("there is no line of sizes".to_string()));
    };
    if entries.len() != count {
        let found = entries.len();
        return Err(Error::BadFormat(format!("the file ends after {found} of {count} entries")));
    }
    let repeated = Repeated::Sum;
    if undirected { entries.into_graph(n, repeated) } else { entries.into_matrix(n, repeated) }
}

fn count_of(field: Field) -> Result<usize> {
    field.parse().ok_or_else(|| field.bad("is not a count"))
}
