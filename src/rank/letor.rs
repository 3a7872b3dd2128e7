//! The LETOR format, which is SVMlight's with queries: `2 qid:10 1:0.5 7:-3 # comment`, a line for each document.
//!
//! Features are numbered from 1, in any order; missing ones are 0. The documents of a query are on consecutive lines.

use super::{Data, MOST_RELEVANT};
use crate::error::{Error, Result, try_filled};
use crate::memory::Shortage;
use crate::text::{Field, Text};
use std::collections::HashMap;
use std::path::Path;

/// The longest line in bytes: about a million features.
const LONGEST: usize = 1 << 24;

impl Data {
    /// Reads a file. If `num_features` is 0, it is the largest number that the file names.
    pub fn load(path: &Path, num_features: usize) -> Result<Self> {
        if num_features > i32::MAX as usize {
            let text = format!("num_features = {num_features} is outside [0, {}]", i32::MAX);
            return Err(Error::InvalidArgument(text));
        }
        let mut text = Text::open(path, LONGEST)?;
        read(&mut text, num_features).map_err(|e| text.blame(e, path))
    }
}

#[derive(Default)]
struct Reader {
    relevance: Vec<i32>,
    offsets: Vec<i64>,
    ids: Vec<i64>,
    /// The line on which each query begins.
    lines: HashMap<i64, u64>,
    indptr: Vec<i64>,
    indices: Vec<i32>,
    values: Vec<f32>,
    /// The features of the current line, if they are not in order: number and field.
    unsorted: Vec<(i32, usize)>,
    largest: i32,
}

fn read(text: &mut Text, num_features: usize) -> Result<Data> {
    let mut reader = Reader::default();
    reader.indptr.push(0);
    while text.next_line()? {
        reader.line(text.content(), text.line, num_features)?;
    }
    text.line = 0;
    if reader.relevance.is_empty() {
        return Err(Error::BadFormat("there is no document".to_string()));
    }
    reader.offsets.push(reader.relevance.len() as i64);
    let width = if num_features == 0 { reader.largest as usize } else { num_features };
    if width == 0 {
        return Err(Error::BadFormat("there is no feature".to_string()));
    }
    reader.into_data(width)
}

impl Reader {
    fn line(&mut self, line: &[u8], number: u64, num_features: usize) -> Result<()> {
        let end = line.iter().position(|&byte| byte == b'#').unwrap_or(line.len());
        let line = line[..end].trim_ascii_end();
        let mut fields = Field::between_blanks(line);
        let Some(first) = fields.next() else { return Ok(()) };
        let relevance = match first.parse::<f64>() {
            Some(y) if (0.0..=f64::from(MOST_RELEVANT)).contains(&y) && y.fract() == 0.0 => y as i32,
            _ => return Err(first.bad(format_args!("is not a relevance, a whole number in [0, {MOST_RELEVANT}]"))),
        };
        let Some(second) = fields.next() else {
            return Err(Error::BadFormat(format!("column {}: a \"qid:\" is missing", line.len() + 1)));
        };
        let id = match second.split(b':') {
            Some((name, id)) if name.text == b"qid" => {
                id.parse::<i64>().ok_or_else(|| id.bad("is not the number of a query"))?
            }
            _ => return Err(second.bad("stands where \"qid:\" and a number should")),
        };
        self.begin(id, second, number)?;
        let start = self.indices.len();
        let mut sorted = true;
        for field in fields {
            let (index, value) = feature(field, num_features)?;
            sorted &= self.indices[start..].last().is_none_or(|&last| last < index - 1);
            self.largest = self.largest.max(index);
            crate::error::try_reserve(&mut self.indices, 1, "documents")?;
            crate::error::try_reserve(&mut self.values, 1, "documents")?;
            self.indices.push(index - 1);
            self.values.push(value);
        }
        if !sorted {
            self.check_twice(start, line)?;
        }
        crate::error::try_reserve(&mut self.relevance, 1, "documents")?;
        crate::error::try_reserve(&mut self.indptr, 1, "documents")?;
        self.relevance.push(relevance);
        self.indptr.push(self.indices.len() as i64);
        Ok(())
    }

    /// Adds a document, to the current query or to a new one.
    fn begin(&mut self, id: i64, field: Field<'_>, number: u64) -> Result<()> {
        if self.ids.last() == Some(&id) {
            return Ok(());
        }
        if let Some(line) = self.lines.get(&id) {
            let complaint = format!("began in line {line} and has been left: the lines of a query must stand together");
            return Err(field.bad(complaint));
        }
        let short = Shortage::Elements(self.lines.len() + 1, size_of::<(i64, u64)>());
        self.lines.try_reserve(1).map_err(|_| Error::OutOfMemory(short.for_the("queries")))?;
        crate::error::try_reserve(&mut self.ids, 1, "documents")?;
        crate::error::try_reserve(&mut self.offsets, 2, "documents")?;
        self.lines.insert(id, number);
        self.ids.push(id);
        self.offsets.push(self.relevance.len() as i64);
        Ok(())
    }

    /// Reports a feature that a line names twice.
    fn check_twice(&mut self, start: usize, line: &[u8]) -> Result<()> {
        self.unsorted.clear();
        crate::error::try_reserve(&mut self.unsorted, self.indices.len() - start, "documents")?;
        self.unsorted.extend(self.indices[start..].iter().enumerate().map(|(i, &index)| (index, i)));
        self.unsorted.sort_unstable();
        match self.unsorted.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            None => Ok(()),
            Some(pair) => {
                let field = Field::between_blanks(line).nth(pair[1].1 + 2).unwrap_or_default();
                Err(field.bad(format_args!("names feature {} again", pair[1].0 + 1)))
            }
        }
    }

    fn into_data(self, width: usize) -> Result<Data> {
        let n = self.relevance.len();
        // Dense if that takes at most twice the bytes of the sparse form, as for graphs.
        let dense = n.checked_mul(width).filter(|cells| 4 * self.indices.len() >= *cells);
        let mut data = match dense {
            Some(cells) => {
                let mut rows = try_filled(cells, 0f32)?;
                for (v, row) in rows.chunks_exact_mut(width).enumerate() {
                    let range = self.indptr[v] as usize..self.indptr[v + 1] as usize;
                    for (&k, &x) in self.indices[range.clone()].iter().zip(&self.values[range]) {
                        row[k as usize] = x;
                    }
                }
                Data::owned(width, rows, &self.relevance, &self.offsets)?
            }
            None => Data::sparse(width, (&self.indptr, &self.indices, &self.values), &self.relevance, &self.offsets)?,
        };
        data.ids = self.ids;
        Ok(data)
    }
}

/// The number of a feature, from 1, and its value.
fn feature(field: Field<'_>, num_features: usize) -> Result<(i32, f32)> {
    let Some((index, value)) = field.split(b':') else {
        return Err(field.bad("is not a feature, number:value"));
    };
    let most = if num_features == 0 { i32::MAX as usize - 1 } else { num_features };
    let index = match index.parse::<i64>() {
        Some(i) if i >= 1 && i as u64 <= most as u64 => i as i32,
        Some(_) => return Err(index.bad(format_args!("is outside [1, {most}]"))),
        None => return Err(index.bad("is not the number of a feature")),
    };
    match value.parse::<f32>() {
        Some(x) if x.is_finite() => Ok((index, x)),
        _ => Err(value.bad("is not a finite number")),
    }
}
