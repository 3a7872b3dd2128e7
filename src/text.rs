//! Files of text, line by line, and complaints about them that name the line and the column, both from 1.

use crate::error::{Error, ForThe, Result, try_filled, try_reserve_exact};
use crate::file;
use memchr::memchr;
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::Path;

/// A text, line by line. It is read in blocks, and a line is a part of the block.
pub struct Text {
    file: File,
    /// Of the whole file.
    pub bytes: u64,
    block: Vec<u8>,
    /// The line at hand, within the block.
    begin: usize,
    end: usize,
    /// The part of the block that holds text.
    filled: usize,
    /// Of the line at hand, from 1; 0 for what concerns none.
    pub line: u64,
    /// Lines that were joined to the one at hand.
    joined: u64,
    longest: usize,
}

/// Bytes that are read at once.
const BLOCK: usize = 1 << 16;

impl Text {
    /// Opens a file whose lines have at most `longest` bytes.
    pub fn open(path: &Path, longest: usize) -> Result<Self> {
        let file = file::open(path)?;
        let bytes = file.metadata().map_err(|e| file::io_error(path, &e))?.len();
        let block = try_filled(BLOCK, 0).for_the(format_args!("text of {}", path.display()))?;
        Ok(Text { file, bytes, block, begin: 0, end: 0, filled: 0, line: 0, joined: 0, longest })
    }

    /// Reads the next line; false at the end.
    pub fn next_line(&mut self) -> Result<bool> {
        self.begin = self.end;
        self.line += 1 + std::mem::take(&mut self.joined);
        let found = self.read_line()?;
        if self.line == 1 && self.content().starts_with(b"\xef\xbb\xbf") {
            self.begin += 3;
        }
        Ok(found)
    }

    /// Joins the next line to the one at hand; false at the end.
    pub fn join_line(&mut self) -> Result<bool> {
        self.joined += 1;
        self.read_line()
    }

    /// Moves the end of the line at hand behind the next newline; false if the text has ended.
    fn read_line(&mut self) -> Result<bool> {
        let before = self.end - self.begin;
        let mut searched = before;
        loop {
            let unread = &self.block[self.begin + searched..self.filled];
            match memchr(b'\n', unread) {
                Some(at) => {
                    self.end = self.begin + searched + at + 1;
                    break;
                }
                None => searched += unread.len(),
            }
            if searched >= self.longest || !self.read_block()? {
                self.end = self.filled;
                break;
            }
        }
        let len = self.end - self.begin;
        if len > self.longest || len == self.longest && self.content().last() != Some(&b'\n') {
            return Err(Error::BadFormat(format!("the line is longer than {} bytes", self.longest)));
        }
        Ok(len > before)
    }

    /// Reads on, behind the line at hand; false if the file has ended.
    fn read_block(&mut self) -> Result<bool> {
        self.block.copy_within(self.begin..self.filled, 0);
        self.filled -= self.begin;
        self.end -= self.begin;
        self.begin = 0;
        if self.filled == self.block.len() {
            let more = self.block.len();
            try_reserve_exact(&mut self.block, more).for_the("line of a text")?;
            self.block.resize(2 * more, 0);
        }
        loop {
            match self.file.read(&mut self.block[self.filled..]) {
                Ok(read) => {
                    self.filled += read;
                    return Ok(read > 0);
                }
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) => return Err(Error::of_system("read a line", &e)),
            }
        }
    }

    /// The line at hand, with its newline.
    pub fn content(&self) -> &[u8] {
        &self.block[self.begin..self.end]
    }

    /// The line's words in lower case.
    pub fn words(&self) -> Vec<String> {
        String::from_utf8_lossy(self.content()).split_whitespace().map(str::to_lowercase).collect()
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

    /// Its text in quotes, as far as a message has room for it.
    pub fn shown(self) -> String {
        const SHOWN: usize = 40;
        format!("\"{}\"", self.text[..self.text.len().min(SHOWN)].escape_ascii())
    }

    /// A complaint about it.
    #[cold]
    pub fn bad(self, complaint: impl std::fmt::Display) -> Error {
        Error::BadFormat(format!("column {}: {} {complaint}", self.column, self.shown()))
    }
}
