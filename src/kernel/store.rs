//! Large matrices that are written once and then read: in memory, or in a file that nobody else sees.
#![allow(unsafe_code)]

use super::Buffer;
use crate::error::{Error, Result};
use std::fs::{File, OpenOptions};
use std::io;
use std::ops::{Deref, DerefMut};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

/// Numbers in memory, or in a mapped file without a name, which is gone when this is dropped.
pub enum Store {
    /// In memory.
    Memory(Buffer),
    /// In a file.
    File(memmap2::MmapMut),
}

impl Store {
    /// `len` unspecified numbers in memory.
    pub fn in_memory(len: usize) -> Result<Self> {
        let mut buffer = Buffer::default();
        buffer.try_resize_within(len, len)?;
        Ok(Store::Memory(buffer))
    }

    /// `len` zeros in a file in this directory.
    pub fn in_directory(len: usize, directory: &Path) -> Result<Self> {
        let bytes = size_of::<f32>() * len.max(1);
        let failed = |error: io::Error| match Error::of_system("write hidden activations", &error) {
            Error::Io(text) => Error::Io(format!("{}: {bytes} bytes: {text}", directory.display())),
            no_memory => no_memory.in_file(directory),
        };
        let file = nameless(directory).map_err(failed)?;
        reserve(&file, bytes).map_err(failed)?;
        // SAFETY: the file has no name any more, so that nobody else can change or shorten it.
        let map = unsafe { memmap2::MmapOptions::new().len(bytes).map_mut(&file) }.map_err(failed)?;
        Ok(Store::File(map))
    }

    /// Bytes of memory. A file takes none that the system could not take back.
    pub fn bytes(&self) -> usize {
        match self {
            Store::Memory(buffer) => buffer.bytes(),
            Store::File(_) => 0,
        }
    }
}

impl Deref for Store {
    type Target = [f32];

    fn deref(&self) -> &[f32] {
        match self {
            Store::Memory(buffer) => buffer,
            // SAFETY: a map begins at a page, and any bits are a float.
            Store::File(map) => unsafe {
                std::slice::from_raw_parts(map.as_ptr().cast(), map.len() / size_of::<f32>())
            },
        }
    }
}

impl DerefMut for Store {
    fn deref_mut(&mut self) -> &mut [f32] {
        match self {
            Store::Memory(buffer) => buffer,
            Store::File(map) => {
                let len = map.len() / size_of::<f32>();
                // SAFETY: a map begins at a page, any bits are a float, and this is the only reference to it.
                unsafe { std::slice::from_raw_parts_mut(map.as_mut_ptr().cast(), len) }
            }
        }
    }
}

/// A new file whose name is removed at once.
fn nameless(directory: &Path) -> io::Result<File> {
    static LAST: AtomicU64 = AtomicU64::new(0);
    loop {
        let number = LAST.fetch_add(1, Ordering::Relaxed);
        let path = directory.join(format!(".plimsoll-{}-{number}", std::process::id()));
        let mut options = OpenOptions::new();
        options.read(true).write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        match options.open(&path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            opened => {
                let file = opened?;
                std::fs::remove_file(&path)?;
                return Ok(file);
            }
        }
    }
}

/// Gives a file its size on the disk: writing to a map of a file that the disk has no room for ends the process.
fn reserve(file: &File, bytes: usize) -> io::Result<()> {
    file.set_len(bytes as u64)?;
    #[cfg(target_os = "linux")]
    {
        use std::os::fd::AsRawFd;
        // SAFETY: the descriptor is open.
        match unsafe { libc::posix_fallocate(file.as_raw_fd(), 0, bytes as libc::off_t) } {
            0 => Ok(()),
            code => Err(io::Error::from_raw_os_error(code)),
        }
    }
    #[cfg(not(target_os = "linux"))]
    {
        // Zeros that are written take their room.
        use std::io::Write;
        let zeros = [0; 1 << 16];
        let mut file = file;
        (0..bytes.div_ceil(zeros.len())).try_for_each(|_| file.write_all(&zeros))?;
        file.set_len(bytes as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_store_holds_its_numbers_and_leaves_no_file() {
        let directory = tempfile::tempdir().unwrap();
        for mut store in [Store::in_memory(1000).unwrap(), Store::in_directory(1000, directory.path()).unwrap()] {
            assert_eq!(store.len(), 1000);
            store.iter_mut().enumerate().for_each(|(i, x)| *x = i as f32);
            assert!(store.iter().enumerate().all(|(i, x)| *x == i as f32));
            assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
        }
    }

    #[test]
    fn a_directory_that_is_none_is_named() {
        let Err(Error::Io(text)) = Store::in_directory(10, Path::new("/no/such/directory")) else {
            panic!("a store in no directory")
        };
        assert!(text.contains("/no/such/directory") && text.contains("40 bytes"), "{text}");
    }
}
