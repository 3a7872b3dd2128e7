//! Numbers that this process owns, or that lie elsewhere: in a mapped file, or with the caller.
#![allow(unsafe_code)]

use crate::error::{Result, try_copied};
use std::any::Any;
use std::fs::File;
use std::io;
use std::ops::Deref;
use std::sync::Arc;

/// A number type for which any bits are valid, and that has no padding.
///
/// # Safety
/// Implement it for such types only.
pub unsafe trait Number: Copy + Default + Send + Sync + 'static {}

// SAFETY: every pattern of 32 bits is an i32.
unsafe impl Number for i32 {}
// SAFETY: every pattern of 64 bits is an i64.
unsafe impl Number for i64 {}
// SAFETY: every pattern of 32 bits is an f32.
unsafe impl Number for f32 {}

/// Numbers to read, wherever they are. [`Array::own`] copies them into a vector of this process before a change.
pub enum Array<T: Number> {
    /// In a vector.
    Owned(Vec<T>),
    /// Elsewhere.
    Lent(Lent<T>),
}

/// Numbers that somebody else holds. They stay where they are, unchanged, until `owner` is dropped.
pub struct Lent<T> {
    start: *const T,
    len: usize,
    owner: Arc<dyn Any + Send + Sync>,
}

// SAFETY: nobody writes to them, so threads may share them; the owner may be dropped by any.
unsafe impl<T: Number> Send for Lent<T> {}
// SAFETY: as above.
unsafe impl<T: Number> Sync for Lent<T> {}

/// A whole file, mapped.
pub struct MappedFile(Arc<memmap2::Mmap>);

impl MappedFile {
    /// Whether an array is still mapped from it.
    pub fn is_in_use(&self) -> bool {
        Arc::strong_count(&self.0) > 1
    }

    /// Passes its bytes to `read`, which reads them from the first to the last.
    pub fn read_in_order<R>(&self, read: impl FnOnce(&[u8]) -> R) -> R {
        #[cfg(unix)]
        let _ = self.0.advise(memmap2::Advice::Sequential);
        let result = read(&self.0);
        // As [`Array::expect_leaps`] has it.
        #[cfg(unix)]
        let _ = self.0.advise(memmap2::Advice::Random);
        result
    }
}

impl<T: Number> Array<T> {
    /// Numbers that stay valid until `owner` is dropped.
    ///
    /// # Safety
    /// `start` is aligned and, for `len` numbers that nobody changes, readable for as long as `owner` lives.
    pub unsafe fn lent(start: *const T, len: usize, owner: Arc<dyn Any + Send + Sync>) -> Self {
        Array::Lent(Lent { start, len, owner })
    }

    /// `len` numbers of a file from byte `offset` on, read when they are needed. `None` where they are not aligned there.
    ///
    /// Whoever shortens the file while it is mapped ends this process by a signal; the interface says so.
    pub fn map(file: &File, offset: usize, len: usize) -> io::Result<Option<Self>> {
        // SAFETY: the caller of the library promises to leave the file alone; numbers of any bits are valid.
        let map = unsafe { memmap2::Mmap::map(file) }?;
        let end = len.checked_mul(size_of::<T>()).and_then(|bytes| bytes.checked_add(offset));
        if end.is_none_or(|end| end > map.len()) {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let start = map[offset..].as_ptr().cast::<T>();
        if !start.is_aligned() {
            return Ok(None);
        }
        Ok(Some(Array::Lent(Lent { start, len, owner: Arc::new(map) })))
    }

    /// The file that they are mapped from, if they are.
    pub fn mapped_file(&self) -> Option<MappedFile> {
        match self {
            Array::Owned(_) => None,
            Array::Lent(lent) => Arc::clone(&lent.owner).downcast().ok().map(MappedFile),
        }
    }

    /// Says that from here on numbers are read anywhere, not in order: what follows a page of a mapped file need not be read
    /// along with it. Merely a hint.
    pub fn expect_leaps(&self) {
        #[cfg(unix)]
        if let Array::Lent(Lent { owner, .. }) = self
            && let Some(map) = owner.downcast_ref::<memmap2::Mmap>()
        {
            let _ = map.advise(memmap2::Advice::Random);
        }
    }

    /// A second handle to the same numbers; those that lie elsewhere are not copied.
    pub fn try_clone(&self) -> Result<Self> {
        Ok(match self {
            Array::Owned(numbers) => Array::Owned(try_copied(numbers)?),
            Array::Lent(lent) => Array::Lent(Lent { start: lent.start, len: lent.len, owner: Arc::clone(&lent.owner) }),
        })
    }

    /// The numbers as a vector to change, copied if they lie elsewhere.
    pub fn own(&mut self) -> Result<&mut Vec<T>> {
        if let Array::Lent(_) = self {
            *self = Array::Owned(try_copied(self)?);
        }
        match self {
            Array::Owned(numbers) => Ok(numbers),
            Array::Lent(_) => unreachable!("made a vector above"),
        }
    }

    /// Bytes allocated by this process.
    pub fn bytes(&self) -> usize {
        match self {
            Array::Owned(numbers) => numbers.capacity() * size_of::<T>(),
            Array::Lent(_) => 0,
        }
    }
}

impl<T: Number> Default for Array<T> {
    fn default() -> Self {
        Array::Owned(Vec::new())
    }
}

impl<T: Number> From<Vec<T>> for Array<T> {
    fn from(numbers: Vec<T>) -> Self {
        Array::Owned(numbers)
    }
}

impl<T: Number> Deref for Array<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        match self {
            Array::Owned(numbers) => numbers,
            // SAFETY: aligned, and readable and unchanged for as long as the owner lives, which `self` keeps alive.
            Array::Lent(lent) => unsafe { std::slice::from_raw_parts(lent.start, lent.len) },
        }
    }
}

/// The bytes of numbers, in the byte order of this machine.
pub fn bytes_of<T: Number>(numbers: &[T]) -> &[u8] {
    // SAFETY: a number has no padding, so all of its bytes are initialised; bytes need no alignment.
    unsafe { std::slice::from_raw_parts(numbers.as_ptr().cast(), size_of_val(numbers)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn a_mapped_file_reads_as_its_numbers_until_it_is_owned() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&[0; 8]).unwrap();
        file.write_all(bytes_of(&[1i32, -2, 3])).unwrap();
        let mut array = Array::<i32>::map(&file, 8, 3).unwrap().unwrap();
        assert_eq!(*array, [1, -2, 3]);
        assert_eq!(array.bytes(), 0);
        let bytes = array.mapped_file().unwrap().read_in_order(|bytes| bytes.to_vec());
        assert_eq!((bytes.len(), bytes[8]), (20, 1));
        let file = array.mapped_file().unwrap();
        let again = array.try_clone().unwrap();
        array.own().unwrap()[1] = 7;
        assert_eq!((&*array, &*again), (&[1, 7, 3][..], &[1, -2, 3][..]));
        assert!(file.is_in_use());
        drop(again);
        assert!(!file.is_in_use());
    }

    #[test]
    fn a_file_too_short_is_refused_and_odd_bytes_are_not_mapped() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&[0; 17]).unwrap();
        assert!(Array::<i64>::map(&file, 8, 2).is_err());
        assert!(Array::<i64>::map(&file, 8, usize::MAX / 8).is_err());
        assert!(Array::<i64>::map(&file, 9, 1).unwrap().is_none());
        assert!(Array::<i64>::map(&file, 8, 1).unwrap().is_some());
    }

    #[test]
    fn an_owner_is_dropped_with_the_last_array_that_needs_it() {
        let owner = Arc::new([1f32, 2.0]);
        // SAFETY: the numbers are the owner's.
        let array = unsafe { Array::lent(owner.as_ptr(), 2, Arc::clone(&owner) as _) };
        let again = array.try_clone().unwrap();
        drop(array);
        assert_eq!((&*again, Arc::strong_count(&owner)), (&[1.0, 2.0][..], 2));
        drop(again);
        assert_eq!(Arc::strong_count(&owner), 1);
    }
}
