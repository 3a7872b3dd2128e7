//! The fields of a line, as CSV has them: divided by a separator, and perhaps within quotes.

use crate::error::{Error, Result, try_reserve};
use crate::text::Field;
use memchr::{memchr, memchr_iter};

/// What divides a line into fields.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Separator {
    /// Each such byte.
    Byte(u8),
    /// Spaces and tabs, several as one.
    Blanks,
}

impl Separator {
    fn divides(self, byte: u8) -> bool {
        match self {
            Separator::Byte(separator) => byte == separator,
            Separator::Blanks => byte.is_ascii_whitespace(),
        }
    }

    /// How people call it.
    pub fn name(self) -> String {
        match self {
            Separator::Byte(b'\t') => "a tab".to_string(),
            Separator::Byte(separator) => format!("'{}'", separator as char),
            Separator::Blanks => "blanks".to_string(),
        }
    }
}

/// The fields of one line. It is used again for the next, so that a line costs no allocation.
#[derive(Default)]
pub struct Record {
    spans: Vec<Span>,
    /// The text of fields in which quotes are doubled.
    plain: Vec<u8>,
}

/// Where the text of a field is.
#[derive(Clone, Copy)]
struct Span {
    /// Where the field begins in the line, with its quote.
    at: u32,
    begin: u32,
    end: u32,
    /// The text is a part of `plain` and not of the line.
    plain: bool,
}

impl Record {
    /// Number of fields.
    pub fn len(&self) -> usize {
        self.spans.len()
    }

    /// A field of the line that was split last. It must have so many.
    #[inline]
    pub fn field<'a>(&'a self, line: &'a [u8], i: usize) -> Field<'a> {
        let span = self.spans[i];
        let from = if span.plain { &self.plain } else { line };
        Field { column: span.at as usize + 1, text: &from[span.begin as usize..span.end as usize] }
    }

    /// Splits a line. Blanks around a field do not belong to it, unless it is in quotes. False if a quoted field has not
    /// ended: the next line belongs to it.
    #[inline]
    pub fn split(&mut self, line: &[u8], separator: Separator) -> Result<bool> {
        self.spans.clear();
        let line = end_trimmed(line, separator);
        match separator {
            Separator::Byte(byte) if memchr(b'"', line).is_none() => {
                let mut begin = 0;
                for end in memchr_iter(byte, line) {
                    self.push_trimmed(line, begin, end)?;
                    begin = end + 1;
                }
                self.push_trimmed(line, begin, line.len())?;
                Ok(true)
            }
            _ => self.split_slowly(line, separator),
        }
    }

    fn split_slowly(&mut self, line: &[u8], separator: Separator) -> Result<bool> {
        self.plain.clear();
        let blank = |at: usize| line[at].is_ascii_whitespace() && separator != Separator::Byte(line[at]);
        let mut at = 0;
        loop {
            while at < line.len() && blank(at) {
                at += 1;
            }
            if line.get(at) == Some(&b'"') {
                let Some(end) = self.push_quoted(line, at)? else { return Ok(false) };
                at = end;
                while at < line.len() && blank(at) && !separator.divides(line[at]) {
                    at += 1;
                }
                if at < line.len() && !separator.divides(line[at]) {
                    let rest = Field { column: end + 1, text: &line[end..] };
                    return Err(rest.bad("follows a closing quote; a quote inside of quotes is doubled"));
                }
            } else {
                let len = line[at..].iter().position(|&byte| separator.divides(byte)).unwrap_or(line.len() - at);
                self.push_trimmed(line, at, at + len)?;
                at += len;
            }
            if separator == Separator::Blanks {
                while at < line.len() && blank(at) {
                    at += 1;
                }
            }
            match (at < line.len(), separator) {
                (false, _) => return Ok(true),
                (true, Separator::Byte(_)) => at += 1,
                (true, Separator::Blanks) => {}
            }
        }
    }

    #[inline]
    fn push_trimmed(&mut self, line: &[u8], begin: usize, end: usize) -> Result<()> {
        let field = &line[begin..end];
        let text = field.trim_ascii();
        let lead = if text.len() == field.len() { 0 } else { field.len() - field.trim_ascii_start().len() };
        let begin = (begin + lead) as u32;
        self.push(Span { at: begin, begin, end: begin + text.len() as u32, plain: false })
    }

    #[inline]
    fn push(&mut self, span: Span) -> Result<()> {
        try_reserve(&mut self.spans, 1, "fields of a line")?;
        self.spans.push(span);
        Ok(())
    }

    /// Takes a field that begins with a quote; where it ends, or `None` if it goes on beyond the line.
    fn push_quoted(&mut self, line: &[u8], open: usize) -> Result<Option<usize>> {
        let start = self.plain.len();
        let mut begin = open + 1;
        loop {
            let Some(len) = memchr(b'"', &line[begin..]) else { return Ok(None) };
            let quote = begin + len;
            let doubled = line.get(quote + 1) == Some(&b'"');
            if !doubled && begin == open + 1 {
                // There is no quote in it, so that the text can stay where it is.
                self.push(Span { at: open as u32, begin: begin as u32, end: quote as u32, plain: false })?;
                return Ok(Some(quote + 1));
            }
            let part = &line[begin..quote + usize::from(doubled)];
            try_reserve(&mut self.plain, part.len(), "fields of a line")?;
            self.plain.extend_from_slice(part);
            if !doubled {
                let end = self.plain.len() as u32;
                self.push(Span { at: open as u32, begin: start as u32, end, plain: true })?;
                return Ok(Some(quote + 1));
            }
            begin = quote + 2;
        }
    }
}

/// A line without its end, and without blanks there if they mean nothing.
fn end_trimmed(line: &[u8], separator: Separator) -> &[u8] {
    match separator {
        Separator::Blanks => line.trim_ascii_end(),
        Separator::Byte(_) => {
            let line = line.strip_suffix(b"\n").unwrap_or(line);
            line.strip_suffix(b"\r").unwrap_or(line)
        }
    }
}

/// The bytes of a line that are outside of quotes.
pub fn outside_quotes(line: &[u8]) -> impl Iterator<Item = u8> + '_ {
    let mut inside = false;
    line.iter().copied().filter(move |&byte| {
        inside ^= byte == b'"';
        !inside
    })
}

/// An integer. Most are short and have no sign.
#[inline]
fn integer(text: &[u8]) -> Option<i64> {
    if text.is_empty() || text.len() > 18 || !text.iter().all(u8::is_ascii_digit) {
        return Field { column: 0, text }.parse();
    }
    Some(text.iter().fold(0, |number, digit| 10 * number + i64::from(digit - b'0')))
}

/// A node id in `[low, low + num_nodes)`, as one that counts from 0; `what` it is for those that are no integers.
#[inline]
pub fn id(field: Field, low: i64, num_nodes: usize, what: &str) -> Result<i32> {
    let high = low.saturating_add_unsigned(num_nodes as u64);
    match integer(field.text) {
        Some(id) if id >= low && id < high => Ok((id - low) as i32),
        Some(_) if low == 0 => Err(field.bad(format_args!("is outside [0, {num_nodes})"))),
        Some(_) => Err(field.bad(format_args!("is outside [{low}, {num_nodes}]"))),
        None => Err(field.bad(format_args!("is not a {what}"))),
    }
}

/// A finite weight that is not negative.
#[inline]
pub fn weight(field: Field) -> Result<f32> {
    match short_decimal(field.text).or_else(|| field.parse()) {
        Some(weight) if weight.is_finite() && weight >= 0.0 => Ok(weight),
        Some(_) => Err(field.bad("is not a finite weight >= 0")),
        None => Err(field.bad("is not a weight")),
    }
}

/// A decimal of few digits, such as an amount. Both the digits as an integer and the power of ten are exact in single
/// precision, so that their quotient is the nearest float.
#[inline]
fn short_decimal(text: &[u8]) -> Option<f32> {
    const POWERS: [f32; 8] = [1.0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7];
    if text.len() > 8 {
        return None;
    }
    let (mut number, mut digits, mut point) = (0u32, 0, None);
    for &byte in text {
        match byte {
            b'0'..=b'9' => {
                number = 10 * number + u32::from(byte - b'0');
                digits += 1;
            }
            b'.' if point.is_none() => point = Some(digits),
            _ => return None,
        }
    }
    if digits == 0 || number > 1 << 24 {
        return None;
    }
    Some(number as f32 / POWERS[digits - point.unwrap_or(digits)])
}

/// `BadFormat` unless a line has this many fields.
pub fn expect(record: &Record, count: usize, what: &str) -> Result<()> {
    if record.len() == count {
        return Ok(());
    }
    Err(Error::BadFormat(format!("{} fields instead of {count}: {what}", record.len())))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(line: &str, separator: Separator) -> Vec<(usize, String)> {
        let mut record = Record::default();
        assert!(record.split(line.as_bytes(), separator).unwrap(), "{line:?} has not ended");
        let field = |i| record.field(line.as_bytes(), i);
        (0..record.len()).map(|i| (field(i).column, String::from_utf8(field(i).text.to_vec()).unwrap())).collect()
    }

    #[test]
    fn fields_are_divided_as_rfc_4180_says() {
        let comma = Separator::Byte(b',');
        for (line, expected) in [
            ("a,b\n", vec![(1, "a"), (3, "b")]),
            (" a , b\r\n", vec![(2, "a"), (6, "b")]),
            (",,\n", vec![(1, ""), (2, ""), (3, "")]),
            ("\"a,b\",c", vec![(1, "a,b"), (7, "c")]),
            ("\"a \"\"b\"\"\" , \"\"\"\",\"\"", vec![(1, "a \"b\""), (13, "\""), (18, "")]),
            ("o\"c,\" d \"\n", vec![(1, "o\"c"), (5, " d ")]),
            ("\"two\r\nlines\",x\r\n", vec![(1, "two\r\nlines"), (14, "x")]),
        ] {
            let expected: Vec<_> = expected.into_iter().map(|(column, text)| (column, text.to_string())).collect();
            assert_eq!(fields(line, comma), expected, "{line:?}");
        }
    }

    #[test]
    fn blanks_divide_as_one_and_a_tab_alone() {
        let expected = |texts: &[&str]| texts.iter().map(|t| t.to_string()).collect::<Vec<_>>();
        let texts = |line, separator| fields(line, separator).into_iter().map(|f| f.1).collect::<Vec<_>>();
        assert_eq!(texts("  1 \t 2  \n", Separator::Blanks), expected(&["1", "2"]));
        assert_eq!(texts("\"a b\"  c", Separator::Blanks), expected(&["a b", "c"]));
        assert_eq!(texts("a b\t\tc\t\n", Separator::Byte(b'\t')), expected(&["a b", "", "c", ""]));
        assert_eq!(texts("\"a\"\t\"\"\t\"b\"", Separator::Byte(b'\t')), expected(&["a", "", "b"]));
    }

    #[test]
    fn a_quoted_field_ends_with_a_quote() {
        let mut record = Record::default();
        for line in ["a,\"b\n", "\"a\"\",b\n", "\""] {
            assert_eq!(record.split(line.as_bytes(), Separator::Byte(b',')), Ok(false), "{line:?}");
        }
        let error = record.split(b"\"a\"b,c", Separator::Byte(b',')).unwrap_err().to_string();
        assert!(error.starts_with("column 4: \"b,c\" follows a closing quote"), "{error}");
    }

    #[test]
    fn short_decimals_are_those_of_the_standard_library() {
        for text in
            ["0", "1", "12.5", ".5", "5.", "0.1", "99999.99", "1677721.6", "16777216", "16777217", "1.234567", "00.10"]
        {
            let expected: f32 = text.parse().unwrap();
            let found = weight(Field { column: 1, text: text.as_bytes() }).unwrap();
            assert_eq!(found.to_bits(), expected.to_bits(), "{text}");
        }
        for text in ["", ".", "1.2.3", "-1", "1e", "a", "1 2"] {
            assert!(weight(Field { column: 1, text: text.as_bytes() }).is_err(), "{text}");
        }
    }

    #[test]
    fn integers_are_those_of_the_standard_library() {
        for text in ["0", "007", "+5", "2147483646", "999999999999999999", "9223372036854775807"] {
            assert_eq!(integer(text.as_bytes()), text.parse().ok(), "{text}");
        }
        for text in ["", "+", "1.0", "9223372036854775808", "1a"] {
            assert_eq!(integer(text.as_bytes()), None, "{text}");
        }
    }
}
