//! Arrays as NumPy stores them, `.npy`: of whatever type of number, by rows or by columns.

use super::csr::check_indptr;
use crate::error::{Error, Result, try_with_capacity};
use npyz::NpyFile;
use std::io::{BufReader, Read, Write};

/// Reads an array of so many dimensions, each number by `convert`, to the end of `source`.
pub fn read<T: Copy>(
    name: &str,
    source: &mut impl Read,
    dimensions: usize,
    convert: impl Fn(Number) -> Result<T>,
) -> Result<Array<T>> {
    let bad = |e: std::io::Error| unreadable(name, e);
    let start = header(source).map_err(bad)?;
    let start = start.ok_or_else(|| Error::BadFormat(format!("{name}: not an array of NumPy's")))?;
    let mut reader = std::io::Cursor::new(start).chain(BufReader::new(source));
    let npy = NpyFile::new(&mut reader as &mut dyn Read).map_err(bad)?;
    let layout = layout_of(name, &npy, dimensions)?;
    let array = collect(name, layout, numbers(name, npy)?, convert)?;
    // At the end, and only there, a member of an archive compares its checksum.
    match reader.read(&mut [0]).map_err(bad)? {
        0 => Ok(array),
        _ => Err(Error::BadFormat(format!("{name} has more values than its shape says"))),
    }
}

/// Writes the header of an array by rows; it ends at a line of the cache, so that what follows can be mapped.
pub fn write_header<T: npyz::AutoSerialize>(shape: &[usize], out: &mut impl Write) -> std::io::Result<()> {
    const LINE: usize = 64;
    const BEFORE: usize = 10;
    let shape: String = shape.iter().map(|d| format!("{d}, ")).collect();
    let descr = T::default_dtype().descr();
    let mut text = format!("{{'descr': {descr}, 'fortran_order': False, 'shape': ({}), }}", shape.trim_end());
    let padding = (BEFORE + text.len() + 1).next_multiple_of(LINE) - (BEFORE + text.len() + 1);
    text.push_str(&" ".repeat(padding));
    text.push('\n');
    out.write_all(b"\x93NUMPY\x01\x00")?;
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

/// The bytes of an array's header, if they can be one. It says its own length, up to 4 GiB, and is a Python literal, whose
/// nesting the parser below pays for dearly, and whose shape it multiplies unchecked; a real one is as long as NumPy allows
/// at most, nests twice, and has plain numbers.
pub fn header(entry: &mut impl Read) -> std::io::Result<Option<Vec<u8>>> {
    const LONGEST: usize = 10_000;
    const DEEPEST: usize = 8;
    let mut bytes = Vec::new();
    entry.take(12).read_to_end(&mut bytes)?;
    let Some(&[_, _, _, _, _, _, version, _, a, b, c, d]) = bytes.first_chunk::<12>() else { return Ok(None) };
    let (begin, length) = match version {
        1 => (10, usize::from(u16::from_le_bytes([a, b]))),
        _ => (12, u32::from_le_bytes([a, b, c, d]) as usize),
    };
    if length > LONGEST {
        return Ok(None);
    }
    entry.take((begin + length).saturating_sub(12) as u64).read_to_end(&mut bytes)?;
    let (mut depth, mut deepest) = (0usize, 0);
    for byte in &bytes[begin.min(bytes.len())..] {
        match byte {
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        deepest = deepest.max(depth);
    }
    let text = &bytes[begin.min(bytes.len())..];
    let words = text
        .split(|b| !(b.is_ascii_alphanumeric() || *b == b'_'))
        .filter(|w| w.first().is_some_and(u8::is_ascii_digit));
    let mut numbers = words.map(|word| std::str::from_utf8(word).ok()?.parse::<u64>().ok());
    let product = numbers.try_fold(1u64, |product, number| product.checked_mul(number?.max(1)));
    Ok((deepest <= DEEPEST && product.is_some()).then_some(bytes))
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

type Numbers<'a> = Box<dyn Iterator<Item = std::io::Result<Number>> + 'a>;

/// The numbers of an array: integers of 8 to 64 bits, reals of 32 or 64.
fn numbers<'a>(name: &str, npy: NpyFile<&'a mut dyn Read>) -> Result<Numbers<'a>> {
    macro_rules! first_that_fits {
        ($npy:expr, $($type:ty => $number:expr),*) => {{
            let npy = $npy;
            $(let npy = match npy.try_data::<$type>() {
                Ok(data) => return Ok(Box::new(data.map(|x| x.map($number)))),
                Err(npy) => npy,
            };)*
            npy
        }};
    }
    let npy = first_that_fits!(npy,
        i32 => |x| Number::Whole(x.into()), f32 => |x| Number::Real(x.into()),
        i64 => Number::Whole, f64 => Number::Real,
        u8 => |x| Number::Whole(x.into()), i8 => |x| Number::Whole(x.into()),
        u16 => |x| Number::Whole(x.into()), i16 => |x| Number::Whole(x.into()),
        u32 => |x| Number::Whole(x.into()), u64 => |x| Number::Whole(i64::try_from(x).unwrap_or(i64::MAX))
    );
    Err(Error::BadFormat(format!("{name} holds {}, not integers or reals", npy.dtype().descr())))
}

/// An array, row-major.
pub struct Array<T> {
    /// Its dimensions.
    pub shape: Vec<usize>,
    /// Its numbers.
    pub data: Vec<T>,
}

/// How an array is stored.
pub struct Layout {
    /// Its dimensions.
    pub shape: Vec<usize>,
    /// Column after column instead of row after row.
    pub by_columns: bool,
}

/// The shape that the header tells, which must have so many dimensions.
pub fn layout_of<R: Read>(name: &str, npy: &NpyFile<R>, dimensions: usize) -> Result<Layout> {
    let shape: Vec<usize> = npy.shape().iter().filter_map(|&d| usize::try_from(d).ok()).collect();
    let fits = shape.iter().try_fold(1usize, |p, &d| p.checked_mul(d)).is_some();
    if shape.len() != npy.shape().len() || !fits || shape.len() != dimensions {
        return Err(Error::BadFormat(format!("{name} has shape {:?}, not {dimensions} dimensions", npy.shape())));
    }
    Ok(Layout { shape, by_columns: npy.order() == npyz::Order::Fortran })
}

/// Reads as many values as the shape says. The vector grows with what really arrives, not with what the header claims.
fn collect<S, T: Copy>(
    name: &str,
    Layout { shape, by_columns }: Layout,
    values: impl Iterator<Item = std::io::Result<S>>,
    convert: impl Fn(S) -> Result<T>,
) -> Result<Array<T>> {
    let len = shape.iter().product();
    let mut data = Vec::new();
    for value in values.take(len) {
        data.try_reserve(1)?;
        data.push(convert(value.map_err(|e| unreadable(name, e))?)?);
    }
    expect_len(name, data.len(), len)?;
    if let (true, &[rows, columns]) = (by_columns, &shape[..]) {
        let mut row_major = try_with_capacity(len)?;
        row_major.extend((0..len).map(|at| data[at % columns * rows + at / columns]));
        data = row_major;
    }
    Ok(Array { shape, data })
}

/// What a failed read says: something of the disk, of memory, or of what the file holds.
pub fn unreadable(what: &str, error: std::io::Error) -> Error {
    match (error.kind(), error.raw_os_error()) {
        (std::io::ErrorKind::OutOfMemory, _) => Error::OutOfMemory("out of memory".to_string()),
        (_, Some(_)) => Error::Io(error.to_string()),
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

    fn header_with(shape: &str) -> Option<Vec<u8>> {
        let text = format!("{{'descr': '<i4', 'fortran_order': False, 'shape': ({shape}), }}\n");
        let bytes = [b"\x93NUMPY\x01\x00", &(text.len() as u16).to_le_bytes()[..], text.as_bytes()].concat();
        header(&mut &bytes[..]).unwrap()
    }

    #[test]
    fn a_header_whose_shape_no_machine_can_count_is_none() {
        for shape in ["", "3,", "3, 2", "0, 7", "4611686018427387903,"] {
            assert!(header_with(shape).is_some(), "{shape}");
        }
        for shape in ["9223372036854775808, 2", "18446744073709551616,", "0xffffffffffffffff, 2", "1_0, 2", "1e3, 2"] {
            assert!(header_with(shape).is_none(), "{shape}");
        }
    }
}
