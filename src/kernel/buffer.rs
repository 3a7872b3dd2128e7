//! Numbers that begin at a cache line.
//!
//! A row of 16 floats is one line. Where the allocator places a vector, most such rows would lie in two lines, and
//! every load and store of a kernel would cost twice.

use super::pages::try_zeros;
use crate::error::Result;
use std::ops::{Deref, DerefMut};

/// Bytes of a line.
const LINE: usize = 64;

/// A slice of floats that begins at a cache line and is reused from step to step.
#[derive(Default)]
pub struct Buffer {
    raw: Vec<f32>,
    start: usize,
    len: usize,
}

impl Buffer {
    /// A copy of `values`.
    pub fn try_copied(values: &[f32]) -> Result<Self> {
        let mut buffer = Buffer::default();
        buffer.allocate(values.len())?;
        buffer.try_resize(values.len())?;
        buffer.copy_from_slice(values);
        Ok(buffer)
    }

    /// Makes it `len` numbers long. If there is room for them, the numbers stay as they were, even those beyond an
    /// earlier shorter length; otherwise they are unspecified. A buffer that grows gets slack: the next batch may be a
    /// little larger.
    pub fn try_resize(&mut self, len: usize) -> Result<()> {
        self.try_reserve(len)?;
        self.len = len;
        Ok(())
    }

    /// Makes it `len` numbers long, with room for at most `most` numbers unless `len` is larger.
    pub fn try_resize_within(&mut self, len: usize, most: usize) -> Result<()> {
        self.try_reserve_within(len, most)?;
        self.len = len;
        Ok(())
    }

    /// Makes room for `len` numbers in all. If that takes another allocation, the old numbers are lost.
    pub fn try_reserve(&mut self, len: usize) -> Result<()> {
        self.try_reserve_within(len, usize::MAX)
    }

    fn try_reserve_within(&mut self, len: usize, most: usize) -> Result<()> {
        const SLACK: usize = 4096;
        const MOST_SLACK: usize = 1 << 16;
        if self.start + len.max(1) > self.raw.len() {
            let wanted = len.saturating_add((len / 2).min(MOST_SLACK)).saturating_add(SLACK);
            if self.allocate(wanted.min(most.max(len))).is_err() {
                self.allocate(len)?;
            }
        }
        Ok(())
    }

    /// Makes room for exactly `len` numbers in all. If that takes another allocation, the old numbers are lost.
    pub fn try_reserve_exact(&mut self, len: usize) -> Result<()> {
        if self.start + len > self.raw.len() { self.allocate(len) } else { Ok(()) }
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        4 * self.raw.capacity()
    }

    fn allocate(&mut self, len: usize) -> Result<()> {
        // The old allocation is freed first, so that there are never two.
        (self.raw, self.start, self.len) = (Vec::new(), 0, 0);
        self.raw = try_zeros(len.saturating_add(LINE / 4))?;
        self.start = self.raw.as_ptr().align_offset(LINE).min(LINE / 4);
        Ok(())
    }
}

impl Deref for Buffer {
    type Target = [f32];

    fn deref(&self) -> &[f32] {
        &self.raw[self.start..self.start + self.len]
    }
}

impl DerefMut for Buffer {
    fn deref_mut(&mut self) -> &mut [f32] {
        &mut self.raw[self.start..self.start + self.len]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_begins_at_a_line_whatever_its_length() {
        let mut buffer = Buffer::default();
        assert!(buffer.is_empty());
        for len in [0, 1, 3, 100, 5000, 1_000_000, 7] {
            buffer.try_resize(len).unwrap();
            assert_eq!(buffer.len(), len);
            assert!(buffer.as_ptr().addr().is_multiple_of(LINE));
            buffer.fill(1.0);
        }
        let copy = Buffer::try_copied(&[1.0, 2.0, 3.0]).unwrap();
        assert_eq!(*copy, [1.0, 2.0, 3.0]);
        assert!(copy.as_ptr().addr().is_multiple_of(LINE));
        assert!(buffer.try_resize(usize::MAX / 8).is_err());
    }

    #[test]
    fn exact_room_is_that_and_the_way_to_a_line() {
        let mut buffer = Buffer::default();
        buffer.try_reserve_exact(1000).unwrap();
        let bytes = buffer.bytes();
        assert!(bytes <= 4 * 1000 + LINE);
        buffer.try_resize(1000).unwrap();
        assert_eq!(buffer.bytes(), bytes, "there was room");
    }

    #[test]
    fn room_is_never_more_than_will_ever_be_needed() {
        let mut buffer = Buffer::default();
        buffer.try_resize_within(900, 1000).unwrap();
        assert!(buffer.len() == 900 && buffer.bytes() <= 4 * 1000 + LINE);
        buffer.try_resize_within(2000, 1000).unwrap();
        assert_eq!(buffer.len(), 2000, "the requested length wins");
    }
}
