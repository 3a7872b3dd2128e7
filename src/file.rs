//! Files: read whole, written whole or not at all.

use crate::error::{Error, ForThe, Result, try_with_capacity};
use std::fs::{self, File, TryLockError};
use std::io::{self, BufWriter, Read, Write};
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
        let what = if kind.is_dir() { "is a directory" } else { "is not a regular file" };
        return Err(Error::Io(format!("{}: {what}", path.display())));
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

/// The first bytes of a file, `len` if it has so many.
pub fn start(path: &Path, len: usize) -> Result<Vec<u8>> {
    let mut start = Vec::new();
    open(path)?.take(len as u64).read_to_end(&mut start).map_err(|e| io_error(path, &e))?;
    Ok(start)
}

/// Writes a file in full under another name, flushes it to the disk and only then gives it its name, so that
/// whatever happens there is either the old file or the new one.
pub fn write_atomically(path: &Path, write: impl FnOnce(&mut BufWriter<&File>) -> Result<()>) -> Result<()> {
    let (temporary, file) = temporary_file(path).map_err(|e| io_error(path, &e))?;
    let result = (|| {
        let mut writer = BufWriter::new(&file);
        write(&mut writer).map_err(|e| e.in_file(path))?;
        writer.flush().map_err(|e| io_error(path, &e))?;
        drop(writer);
        file.sync_all().map_err(|e| io_error(path, &e))?;
        fs::rename(&temporary, path).map_err(|e| io_error(path, &e))
    })();
    if result.is_err() {
        let _ = fs::remove_file(&temporary);
        return result;
    }
    flush_folder(folder_of(path)); // the name itself lives there
    Ok(())
}

/// A folder in the making.
pub struct Folder {
    path: PathBuf,
    names: Vec<&'static str>,
}

impl Folder {
    /// Writes a file of this name into it.
    pub fn write(&mut self, name: &'static str, write: impl FnOnce(&mut BufWriter<&File>) -> Result<()>) -> Result<()> {
        crate::error::try_reserve(&mut self.names, 1, "names of files")?;
        self.names.push(name);
        write_atomically(&self.path.join(name), write)
    }

    /// Takes all away again, by name: to list a folder takes a descriptor, and there may be none left.
    fn remove(&self) {
        for name in &self.names {
            let _ = fs::remove_file(self.path.join(name));
        }
        let _ = fs::remove_dir(&self.path);
    }
}

/// Makes a folder and what `write` puts into it under another name, and only then gives it its name. A folder of that
/// name must be empty.
pub fn write_folder_atomically(path: &Path, write: impl FnOnce(&mut Folder) -> Result<()>) -> Result<()> {
    match fs::read_dir(path).map(|mut entries| entries.next().is_some()) {
        Ok(true) => return Err(Error::Io(format!("{}: is there already and not empty", path.display()))),
        Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(io_error(path, &e)),
        _ => {}
    }
    let mut folder = Folder { path: temporary_name(path), names: Vec::new() };
    fs::create_dir(&folder.path).map_err(|e| io_error(path, &e))?;
    let result = write(&mut folder).and_then(|()| {
        flush_folder(&folder.path);
        fs::rename(&folder.path, path).map_err(|e| io_error(path, &e))
    });
    match result {
        Ok(()) => flush_folder(folder_of(path)),
        Err(_) => folder.remove(),
    }
    result
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

/// Finds early that `path` could not be written for want of its folder.
pub fn check_folder_of(path: &Path) -> Result<()> {
    let folder = folder_of(path);
    let metadata = fs::metadata(folder).map_err(|e| io_error(path, &e))?;
    if metadata.is_dir() { Ok(()) } else { Err(Error::Io(format!("{}: is not a folder", folder.display()))) }
}

/// A new file beside `path`, and its name.
///
/// The name is the same each time, so that whoever writes `path` next finds what a killed process has left, and takes it
/// away. A writer holds a lock on its file: one that is locked is being written, one that is not was left. Where another
/// process or thread is writing `path` too, the name is one that nobody else uses.
fn temporary_file(path: &Path) -> io::Result<(PathBuf, File)> {
    let create = |name: &Path| File::options().write(true).read(true).create_new(true).open(name);
    let name = named_beside(path, ".plimsoll.tmp");
    // Whether a file still has its name can be told on Unix alone.
    let tries = if cfg!(unix) { 2 } else { 0 };
    for _ in 0..tries {
        match create(&name) {
            Ok(file) => match file.try_lock().map(|()| is_called(&file, &name)) {
                // Where there are no locks, nobody takes it away either.
                Ok(Ok(true)) | Err(TryLockError::Error(_)) => return Ok((name, file)),
                // Another process took it for one that was left.
                Ok(Ok(false)) | Err(TryLockError::WouldBlock) => break,
                Ok(Err(e)) => {
                    let _ = fs::remove_file(&name);
                    return Err(e);
                }
            },
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {
                if !remove_left(&name) {
                    break;
                }
            }
            Err(e) => return Err(e),
        }
    }
    let name = temporary_name(path);
    let file = create(&name)?;
    Ok((name, file))
}

/// Removes a file that nobody holds; false if it is still there, or something else is.
fn remove_left(name: &Path) -> bool {
    if !fs::symlink_metadata(name).is_ok_and(|m| m.file_type().is_file()) {
        return false;
    }
    let Ok(file) = File::open(name) else { return false };
    file.try_lock().is_ok() && is_called(&file, name).unwrap_or(false) && fs::remove_file(name).is_ok()
}

/// Whether this open file is the one of that name, no link followed.
#[cfg(unix)]
fn is_called(file: &File, name: &Path) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt;
    let mine = file.metadata()?;
    match fs::symlink_metadata(name) {
        Ok(other) => Ok(mine.dev() == other.dev() && mine.ino() == other.ino()),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(e) => Err(e),
    }
}

#[cfg(not(unix))]
fn is_called(_: &File, _: &Path) -> io::Result<bool> {
    Ok(false)
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
    fn a_failed_write_leaves_the_old_file_and_no_other() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        write_atomically(&path, |w| w.write_all(b"old").map_err(|e| Error::Io(e.to_string()))).unwrap();
        let failed = write_atomically(&path, |w| {
            w.write_all(b"half of the n").map_err(|e| Error::Io(e.to_string()))?;
            Err(Error::Io("disk full".to_string()))
        });
        assert_eq!(failed, Err(Error::Io(format!("{}: disk full", path.display()))));
        assert_eq!(read(&path).unwrap(), b"old");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    fn put(path: &Path, text: &str) -> Result<()> {
        write_atomically(path, |w| w.write_all(text.as_bytes()).map_err(|e| Error::Io(e.to_string())))
    }

    #[test]
    fn what_a_killed_process_left_goes_with_the_next_write() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        fs::write(folder.path().join("file.plimsoll.tmp"), b"half of").unwrap();
        put(&path, "new").unwrap();
        assert_eq!(read(&path).unwrap(), b"new");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn what_another_is_writing_stays() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let (name, file) = temporary_file(&path).unwrap();
        (&file).write_all(b"half of").unwrap();
        put(&path, "new").unwrap();
        assert_eq!(read(&name).unwrap(), b"half of");
        assert_eq!(read(&path).unwrap(), b"new");
        drop(file);
        put(&path, "newer").unwrap();
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[cfg(unix)]
    #[test]
    fn a_link_of_that_name_is_neither_followed_nor_removed() {
        let folder = tempfile::tempdir().unwrap();
        let (path, other) = (folder.path().join("file"), folder.path().join("other"));
        fs::write(&other, b"theirs").unwrap();
        std::os::unix::fs::symlink(&other, folder.path().join("file.plimsoll.tmp")).unwrap();
        put(&path, "new").unwrap();
        assert_eq!((read(&path).unwrap(), read(&other).unwrap()), (b"new".to_vec(), b"theirs".to_vec()));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 3);
    }

    #[test]
    fn threads_that_write_one_file_leave_it_whole_and_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let texts = ["a", "b", "c", "d"].map(|letter| letter.repeat(10_000));
        std::thread::scope(|scope| {
            for text in &texts {
                scope.spawn(|| (0..50).for_each(|_| put(&path, text).unwrap()));
            }
        });
        assert!(texts.iter().any(|text| read(&path).unwrap() == text.as_bytes()));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_missing_file_and_a_folder_are_errors_that_name_the_path() {
        let folder = tempfile::tempdir().unwrap();
        for path in [folder.path().join("none"), folder.path().to_path_buf()] {
            let Err(Error::Io(text)) = read(&path) else { panic!("{} was read", path.display()) };
            assert!(text.starts_with(&path.display().to_string()), "{text}");
        }
    }
}
