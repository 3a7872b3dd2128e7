//! Arrays as NumPy stores them, `.npy`: of whatever type of number, by rows or by columns.

use super::csr::check_indptr;
use crate::error::{Error, Result, try_filled, try_with_capacity};
use crate::kernel;
use std::io::{BufReader, Read, Write};

/// Reads an array of so many dimensions, each number by `convert`, to the end of `source`.
pub fn read<T: Copy>(
    name: &str,
    source: &mut impl Read,
    dimensions: usize,
    convert: impl Fn(Number) -> Result<T>,
) -> Result<Array<T>> {
    let mut source = BufReader::with_capacity(1 << 16, source);
    let Header { kind, shape, by_columns, .. } = Header::read(name, &mut source, dimensions)?;
    let data = numbers(name, &mut source, kind, shape.iter().product(), convert)?;
    // At the end, and only there, a member of an archive compares its checksum.
    if source.read(&mut [0]).map_err(|e| unreadable(name, e))? != 0 {
        return Err(Error::BadFormat(format!("{name} has more values than its shape says")));
    }
    let data = match (by_columns, &shape[..]) {
        (true, &[rows, columns]) => {
            let mut row_major = try_with_capacity(data.len())?;
            row_major.extend((0..data.len()).map(|at| data[at % columns * rows + at / columns]));
            row_major
        }
        _ => data,
    };
    Ok(Array { shape, data })
}

/// Numbers that arrays are written of.
pub trait Stored: kernel::Number {
    /// Their type as this machine has them.
    const KIND: Kind;
}

impl Stored for i32 {
    const KIND: Kind = Kind::of('i', 4);
}

impl Stored for i64 {
    const KIND: Kind = Kind::of('i', 8);
}

impl Stored for f32 {
    const KIND: Kind = Kind::of('f', 4);
}

/// Writes the header of an array by rows; it ends at a line of the cache, so that what follows can be mapped.
pub fn write_header<T: Stored>(shape: &[usize], out: &mut impl Write) -> std::io::Result<()> {
    const LINE: usize = 64;
    const BEFORE: usize = 10;
    let shape: String = shape.iter().map(|d| format!("{d}, ")).collect();
    let mut text = format!("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", T::KIND, shape.trim_end());
    let padding = (BEFORE + text.len() + 1).next_multiple_of(LINE) - (BEFORE + text.len() + 1);
    text.push_str(&" ".repeat(padding));
    text.push('\n');
    out.write_all(MAGIC)?;
    out.write_all(b"\x01\x00")?;
    out.write_all(&(text.len() as u16).to_le_bytes())?;
    out.write_all(text.as_bytes())
}

/// A number as an integer.
pub fn whole<T: TryFrom<i64>>(name: &str, number: Number) -> Result<T> {
    match number {
        Number::Whole(x) => {
            T::try_from(x).map_err(|_| Error::BadFormat(format!("{name} holds {number}, which does not fit 32 bits")))
        }
        Number::Real(_) => Err(Error::BadFormat(format!("{name} holds reals, not integers"))),
    }
}

/// A number as a real.
pub fn real(number: Number) -> Result<f32> {
    Ok(match number {
        Number::Whole(x) => x as f32,
        Number::Real(x) => x as f32,
    })
}

const MAGIC: &[u8] = b"\x93NUMPY";

/// A type of number: `<f4` is a float of 4 bytes, the least first.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Kind {
    big_endian: bool,
    letter: char,
    size: usize,
}

impl Kind {
    const fn of(letter: char, size: usize) -> Self {
        Kind { big_endian: cfg!(target_endian = "big"), letter, size }
    }

    fn parse(text: &str) -> Option<Self> {
        let mut rest = text.chars();
        let order = rest.next()?;
        let big_endian = match order {
            '<' => false,
            '>' => true,
            '|' | '=' => cfg!(target_endian = "big"),
            _ => return None,
        };
        let (letter, size) = (rest.next()?, rest.as_str().parse().ok()?);
        let known = matches!((letter, size), ('i' | 'u', 1 | 2 | 4 | 8) | ('f', 4 | 8));
        known.then_some(Kind { big_endian, letter, size })
    }

    fn number(&self, bytes: &[u8]) -> Number {
        let mut least_first = [0; 8];
        least_first[..bytes.len()].copy_from_slice(bytes);
        if self.big_endian {
            least_first[..bytes.len()].reverse();
        }
        let bits = u64::from_le_bytes(least_first);
        match (self.letter, self.size) {
            ('f', 4) => Number::Real(f32::from_bits(bits as u32).into()),
            ('f', _) => Number::Real(f64::from_bits(bits)),
            ('i', size) => Number::Whole((bits << (64 - 8 * size)) as i64 >> (64 - 8 * size)),
            _ => Number::Whole(i64::try_from(bits).unwrap_or(i64::MAX)),
        }
    }
}

impl std::fmt::Display for Kind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let order = if self.big_endian { '>' } else { '<' };
        write!(f, "{order}{}{}", self.letter, self.size)
    }
}

/// What stands before the numbers.
pub struct Header {
    /// Their type.
    pub kind: Kind,
    /// Dimensions; their product fits.
    pub shape: Vec<usize>,
    /// Column after column instead of row after row.
    pub by_columns: bool,
    /// Bytes of the header itself.
    pub bytes: usize,
}

impl Header {
    /// Reads a header of an array of so many dimensions, and nothing behind it.
    pub fn read(name: &str, source: &mut impl Read, dimensions: usize) -> Result<Self> {
        /// As long as NumPy itself allows.
        const LONGEST: usize = 10_000;
        let failed = |e: std::io::Error| unreadable(name, e);
        let foreign = || Error::BadFormat(format!("{name}: not an array of NumPy's"));
        let mut start = [0; 8];
        source.read_exact(&mut start).map_err(failed)?;
        if !start.starts_with(MAGIC) || !matches!(start[6..], [1..=3, 0]) {
            return Err(foreign());
        }
        let mut length = [0; 4];
        let width = if start[6] == 1 { 2 } else { 4 };
        source.read_exact(&mut length[..width]).map_err(failed)?;
        let length = u32::from_le_bytes(length) as usize;
        if length > LONGEST {
            return Err(foreign());
        }
        let mut text = try_filled(length, 0u8)?;
        source.read_exact(&mut text).map_err(failed)?;
        let text = std::str::from_utf8(&text).map_err(|_| foreign())?;
        let (descr, by_columns, shape) = Scanner(text.trim()).dictionary().ok_or_else(foreign)?;
        let kind = Kind::parse(descr)
            .ok_or_else(|| Error::BadFormat(format!("{name} holds {descr:?}, not integers or reals")))?;
        let parts = || shape.split(',').map(str::trim).filter(|d| !d.is_empty());
        let mut sizes: Vec<usize> = try_with_capacity(dimensions)?;
        sizes.extend(parts().take(dimensions).map_while(|d| d.parse::<usize>().ok()));
        let fits = sizes.iter().try_fold(kind.size, |product, &d| product.checked_mul(d)).is_some();
        if parts().count() != dimensions || sizes.len() != dimensions || !fits {
            let text = format!("{name} has shape ({}), not {dimensions} dimensions", shape.trim());
            return Err(Error::BadFormat(text));
        }
        Ok(Header { kind, shape: sizes, by_columns, bytes: start.len() + width + length })
    }
}

/// What is left of a header's text. It is a Python dictionary, but never more than three plain entries of one.
struct Scanner<'a>(&'a str);

impl<'a> Scanner<'a> {
    /// The type, whether it goes by columns, and what stands between the brackets of the shape.
    fn dictionary(mut self) -> Option<(&'a str, bool, &'a str)> {
        let (mut descr, mut by_columns, mut shape) = (None, None, None);
        self.skip("{")?;
        while self.skip("}").is_none() {
            match self.quoted()? {
                "descr" if descr.is_none() => {
                    self.skip(":")?;
                    descr = Some(self.quoted()?);
                }
                "fortran_order" if by_columns.is_none() => {
                    self.skip(":")?;
                    by_columns = Some(self.skip("True").is_some() || self.skip("False").map(|()| false)?);
                }
                "shape" if shape.is_none() => {
                    self.skip(":")?;
                    self.skip("(")?;
                    shape = Some(self.until(')')?);
                }
                _ => return None,
            }
            if self.skip(",").is_none() && !self.0.starts_with('}') {
                return None;
            }
        }
        self.0.is_empty().then_some((descr?, by_columns?, shape?))
    }

    fn skip(&mut self, word: &str) -> Option<()> {
        self.0 = self.0.strip_prefix(word)?.trim_start();
        Some(())
    }

    fn until(&mut self, end: char) -> Option<&'a str> {
        let (text, rest) = self.0.split_once(end)?;
        self.0 = rest.trim_start();
        Some(text)
    }

    fn quoted(&mut self) -> Option<&'a str> {
        let quote = self.0.chars().next().filter(|c| matches!(c, '\'' | '"'))?;
        self.0 = &self.0[1..];
        self.until(quote)
    }
}

/// A number of whatever type NumPy stored.
#[derive(Clone, Copy)]
pub enum Number {
    /// Of an integer type.
    Whole(i64),
    /// Of a floating type.
    Real(f64),
}

impl std::fmt::Display for Number {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Number::Whole(x) => x.fmt(f),
            Number::Real(x) => x.fmt(f),
        }
    }
}

/// An array, row-major.
pub struct Array<T> {
    /// Its dimensions.
    pub shape: Vec<usize>,
    /// Its numbers.
    pub data: Vec<T>,
}

/// Reads `len` numbers. The vector grows with what really arrives, not with what the header claims.
fn numbers<T>(
    name: &str,
    source: &mut impl Read,
    kind: Kind,
    len: usize,
    convert: impl Fn(Number) -> Result<T>,
) -> Result<Vec<T>> {
    const AT_ONCE: usize = 1 << 12;
    let mut bytes = [0; 8 * AT_ONCE];
    let mut data = Vec::new();
    while data.len() < len {
        let count = (len - data.len()).min(AT_ONCE);
        let bytes = &mut bytes[..count * kind.size];
        source.read_exact(bytes).map_err(|e| unreadable(name, e))?;
        crate::error::try_reserve(&mut data, count, name)?;
        for number in bytes.chunks_exact(kind.size) {
            data.push(convert(kind.number(number))?);
        }
    }
    Ok(data)
}

/// What a failed read says: something of the disk, of memory, or of what the file holds.
pub fn unreadable(what: &str, error: std::io::Error) -> Error {
    match (error.kind(), error.raw_os_error()) {
        (std::io::ErrorKind::OutOfMemory, _) | (_, Some(_)) => Error::of_system(&format!("read {what}"), &error),
        _ => Error::BadFormat(format!("{what}: {error}")),
    }
}

/// `BadFormat`: something needed is not there.
pub fn missing(what: &str) -> Error {
    Error::BadFormat(format!("there is no {what}"))
}

/// Checks a length.
pub fn expect_len(name: &str, len: usize, expected: usize) -> Result<()> {
    if len == expected {
        return Ok(());
    }
    Err(Error::BadFormat(format!("{name} has {len} entries instead of {expected}")))
}

/// Checks offsets, and that there are as many entries as they say.
pub fn check_csr(names: [&str; 3], n: usize, indptr: &[i64], indices: usize, values: Option<usize>) -> Result<()> {
    expect_len(names[0], indptr.len(), n.saturating_add(1))?;
    let entries = check_indptr(indptr, names[0])?;
    expect_len(names[1], indices, entries)?;
    expect_len(names[2], values.unwrap_or(entries), entries)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn array(version: u8, header: &str, data: &[u8]) -> Vec<u8> {
        let length = (header.len() as u32).to_le_bytes();
        let length = &length[..if version == 1 { 2 } else { 4 }];
        [MAGIC, &[version, 0], length, header.as_bytes(), data].concat()
    }

    fn reals(header: &str, data: &[u8], dimensions: usize) -> Result<Vec<f32>> {
        read("x", &mut &array(1, header, data)[..], dimensions, real).map(|array| array.data)
    }

    #[test]
    fn keys_come_in_any_order_with_either_quote_and_any_space() {
        for header in [
            "{'descr': '|u1', 'fortran_order': False, 'shape': (3,), }  \n",
            "{'shape':(3,),'fortran_order':False,'descr':'|u1'}",
            "{ \"shape\" : ( 3 ) , \"descr\" : \"|u1\" , \"fortran_order\" : True }",
        ] {
            assert_eq!(reals(header, &[1, 2, 255], 1), Ok(vec![1.0, 2.0, 255.0]), "{header}");
        }
    }

    #[test]
    fn every_type_of_number_is_read_in_both_orders() {
        let one = |kind: &str, bytes: &[u8]| {
            let header = format!("{{'descr': '{kind}', 'fortran_order': False, 'shape': (), }}");
            reals(&header, bytes, 0).map(|data| data[0])
        };
        for (kind, value, expected) in [
            ("i1", &(-3i8).to_le_bytes()[..], -3.0),
            ("u1", &[253], 253.0),
            ("i2", &(-300i16).to_le_bytes(), -300.0),
            ("u2", &65000u16.to_le_bytes(), 65000.0),
            ("i4", &(-70000i32).to_le_bytes(), -70000.0),
            ("u4", &3_000_000_000u32.to_le_bytes(), 3e9),
            ("i8", &(-1i64 << 40).to_le_bytes(), -(2f32.powi(40))),
            ("u8", &(1u64 << 40).to_le_bytes(), 2f32.powi(40)),
            ("f4", &0.1f32.to_le_bytes(), 0.1),
            ("f8", &(-2.5f64).to_le_bytes(), -2.5),
        ] {
            let reversed: Vec<u8> = value.iter().rev().copied().collect();
            assert_eq!(one(&format!("<{kind}"), value), Ok(expected));
            assert_eq!(one(&format!(">{kind}"), &reversed), Ok(expected));
        }
        for kind in ["<f2", "|b1", "|O", "<c8", "<i3", "<f", "i4", "", "<i99999999999999999999"] {
            assert!(matches!(one(kind, &[0; 16]), Err(Error::BadFormat(_))), "{kind}");
        }
    }

    #[test]
    fn a_header_that_is_none_is_refused() {
        for header in [
            "",
            "{}",
            "{'descr': '<i4', 'fortran_order': False}",
            "{'descr': '<i4', 'fortran_order': Maybe, 'shape': (1,), }",
            "{'descr': '<i4', 'fortran_order': False, 'shape': (1,",
            "{'descr': '<i4', 'fortran_order': False, 'shape': (1,), } and more",
            "{'descr': '<i4' 'fortran_order': False, 'shape': (1,), }",
            "{'descr': '<i4', 'descr': '<i4', 'fortran_order': False, 'shape': (1,), }",
            "{'descr': [('u', '<i4')], 'fortran_order': False, 'shape': (1,), }",
        ] {
            assert!(matches!(reals(header, &[0; 4], 1), Err(Error::BadFormat(_))), "{header}");
        }
        for shape in ["", "-1,", "1, 1", "0x1,", "1e0,", "4611686018427387904,", "99999999999999999999,", "1;"] {
            let header = format!("{{'descr': '<i4', 'fortran_order': False, 'shape': ({shape}), }}");
            assert!(matches!(reals(&header, &[0; 4], 1), Err(Error::BadFormat(_))), "{shape}");
        }
    }

    #[test]
    fn what_is_written_is_read_and_begins_at_a_line() {
        for shape in [&[][..], &[3], &[2, 5]] {
            let mut bytes = Vec::new();
            write_header::<f32>(shape, &mut bytes).unwrap();
            assert_eq!(bytes.len() % 64, 0);
            let header = Header::read("x", &mut &bytes[..], shape.len()).unwrap();
            assert!(header.kind == f32::KIND && header.shape == shape && header.bytes == bytes.len());
        }
        let text = "{'descr': '<i4', 'fortran_order': False, 'shape': (1,), }";
        for version in [1, 2, 3] {
            assert!(Header::read("x", &mut &array(version, text, &[])[..], 1).is_ok());
        }
        assert!(Header::read("x", &mut &array(4, text, &[])[..], 1).is_err());
    }
}
