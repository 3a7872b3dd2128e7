//! Files of text, line by line, and complaints about them that name the line and the column, both from 1.

use crate::error::{Error, Result};
use crate::file;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

/// A text, line by line.
pub struct Text {
    reader: BufReader<File>,
    /// Of the whole file.
    pub bytes: u64,
    buffer: Vec<u8>,
    /// Of the line at hand, from 1; 0 for what concerns none.
    pub line: u64,
    longest: u64,
}

impl Text {
    /// Opens a file whose lines have at most `longest` bytes.
    pub fn open(path: &Path, longest: u64) -> Result<Self> {
        let file = file::open(path)?;
        let bytes = file.metadata().map_err(|e| file::io_error(path, &e))?.len();
        Ok(Text { reader: BufReader::with_capacity(1 << 16, file), bytes, buffer: Vec::new(), line: 0, longest })
    }

    /// Reads the next line; false at the end.
    pub fn next_line(&mut self) -> Result<bool> {
        self.buffer.clear();
        self.line += 1;
        let read = (&mut self.reader).take(self.longest).read_until(b'\n', &mut self.buffer);
        let read = read.map_err(|e| Error::of_system("read a line", &e))?;
        if read as u64 == self.longest && self.buffer.last() != Some(&b'\n') {
            return Err(Error::BadFormat(format!("the line is longer than {} bytes", self.longest)));
        }
        if self.line == 1 && self.buffer.starts_with(b"\xef\xbb\xbf") {
            self.buffer.drain(..3);
        }
        Ok(read > 0)
    }

    /// The line at hand.
    pub fn content(&self) -> &[u8] {
        &self.buffer
    }

    /// The line's words in lower case.
    pub fn words(&self) -> Vec<String> {
        String::from_utf8_lossy(&self.buffer).split_whitespace().map(str::to_lowercase).collect()
    }

    /// The same complaint with where it is.
    pub fn blame(&self, error: Error, path: &Path) -> Error {
        match (error, self.line) {
            (Error::Unsupported(text), 0) => Error::Unsupported(format!("{}: {text}", path.display())),
            (Error::Unsupported(text), line) => Error::Unsupported(format!("{}: line {line}: {text}", path.display())),
            (Error::BadFormat(text) | Error::InvalidArgument(text), line @ 1..) => {
                Error::BadFormat(format!("{}: line {line}: {text}", path.display()))
            }
            (error, _) => error.in_file(path),
        }
    }
}

/// A part of a line, and the column it begins at.
#[derive(Clone, Copy, Default)]
pub struct Field<'a> {
    /// From 1.
    pub column: usize,
    /// Its bytes.
    pub text: &'a [u8],
}

impl<'a> Field<'a> {
    /// The parts of a line between blanks.
    pub fn between_blanks(line: &'a [u8]) -> impl Iterator<Item = Field<'a>> {
        let mut at = 0;
        std::iter::from_fn(move || {
            at += line[at..].iter().position(|byte| !byte.is_ascii_whitespace())?;
            let rest = &line[at..];
            let len = rest.iter().position(u8::is_ascii_whitespace).unwrap_or(rest.len());
            let field = Field { column: at + 1, text: &rest[..len] };
            at += len;
            Some(field)
        })
    }

    /// The two sides of the first `mark`.
    pub fn split(self, mark: u8) -> Option<(Field<'a>, Field<'a>)> {
        let at = self.text.iter().position(|&byte| byte == mark)?;
        let right = Field { column: self.column + at + 1, text: &self.text[at + 1..] };
        Some((Field { column: self.column, text: &self.text[..at] }, right))
    }

    /// As a number.
    pub fn parse<T: std::str::FromStr>(self) -> Option<T> {
        std::str::from_utf8(self.text).ok()?.parse().ok()
    }

    /// A complaint about it.
    pub fn bad(self, complaint: impl std::fmt::Display) -> Error {
        const SHOWN: usize = 40;
        let shown = &self.text[..self.text.len().min(SHOWN)];
        Error::BadFormat(format!("column {}: \"{}\" {complaint}", self.column, shown.escape_ascii()))
    }
}
