//! Files: read whole, written whole or not at all.
//!
//! | file | what it holds |
//! |---|---|
//! | `target` | where to write: links are followed, pipes and devices refused, mode and owner kept |
//! | `whole` | a file written under another name and then renamed |
//! | `folder` | the same for a folder |

mod folder;
mod target;
mod whole;

pub use folder::{Folder, write_folder_atomically};
pub use target::check_target;
pub use whole::write_atomically;

use crate::error::{Error, ForThe, Result, try_with_capacity};
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// What the operating system said of `path`.
pub fn io_error(path: &Path, error: &io::Error) -> Error {
    Error::of_system("read or write data", error).in_file(path)
}

/// Opens a regular file for reading. What it is is asked first: to open a pipe waits for a writer, and a device may have no
/// end.
pub fn open(path: &Path) -> Result<File> {
    let kind = fs::metadata(path).map_err(|e| io_error(path, &e))?.file_type();
    if !kind.is_file() {
        return Err(target::not_a_file(path, kind));
    }
    File::open(path).map_err(|e| io_error(path, &e))
}

/// All bytes of a file.
pub fn read(path: &Path) -> Result<Vec<u8>> {
    let mut file = open(path)?;
    let len = file.metadata().map_err(|e| io_error(path, &e))?.len();
    let room = try_with_capacity(usize::try_from(len).unwrap_or(usize::MAX));
    let mut bytes = room.for_the(format_args!("content of {}", path.display()))?;
    // Should the file grow meanwhile, `read_to_end` reserves fallibly, too.
    file.read_to_end(&mut bytes).map_err(|e| io_error(path, &e))?;
    Ok(bytes)
}

/// The first `len` bytes of a file, or all of a shorter one.
pub fn start(path: &Path, len: usize) -> Result<Vec<u8>> {
    let mut start = Vec::new();
    open(path)?.take(len as u64).read_to_end(&mut start).map_err(|e| io_error(path, &e))?;
    Ok(start)
}

/// Flushes the names in a folder; some file systems cannot, and then there is nothing to do.
fn flush_folder(folder: &Path) {
    if let Ok(folder) = File::open(folder) {
        let _ = folder.sync_all();
    }
}

fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

/// A name beside `path` that no other process or thread uses.
fn temporary_name(path: &Path) -> PathBuf {
    static COUNTER: AtomicU64 = AtomicU64::new(0);
    let count = COUNTER.fetch_add(1, Ordering::Relaxed);
    named_beside(path, &format!(".{}.{count}.tmp", std::process::id()))
}

fn named_beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_os_string();
    name.push(ending);
    path.with_file_name(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_file_and_a_folder_are_errors_that_name_the_path() {
        let folder = tempfile::tempdir().unwrap();
        for path in [folder.path().join("none"), folder.path().to_path_buf()] {
            let Err(Error::Io(text)) = read(&path) else { panic!("{} was read", path.display()) };
            assert!(text.starts_with(&path.display().to_string()), "{text}");
        }
    }
}
