//! Files that live in memory: the library opens files by name, and a disk would be slow.

use std::ffi::{CStr, CString};
use std::fs::{self, File};
use std::os::fd::{AsRawFd, FromRawFd};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

/// A file without a folder; the library opens it under `/proc/self/fd`.
pub struct MemoryFile {
    file: File,
    path: CString,
}

impl MemoryFile {
    pub fn new() -> Self {
        // SAFETY: the name is a string; the call has no other demand.
        let fd = unsafe { libc::memfd_create(c"plimsoll-fuzz".as_ptr(), libc::MFD_CLOEXEC) };
        assert!(fd >= 0, "no memory file: {}", std::io::Error::last_os_error());
        // SAFETY: the descriptor is new and nobody else's.
        let file = unsafe { File::from_raw_fd(fd) };
        let path = CString::new(format!("/proc/self/fd/{}", file.as_raw_fd())).expect("no zero byte");
        MemoryFile { file, path }
    }

    pub fn path(&self) -> &CStr {
        &self.path
    }

    /// Makes these bytes the file's content.
    pub fn put(&self, bytes: &[u8]) -> &CStr {
        write(&self.file, bytes);
        &self.path
    }
}

fn write(file: &File, bytes: &[u8]) {
    file.set_len(bytes.len() as u64).expect("a memory file has any length");
    file.write_all_at(bytes, 0).expect("a memory file takes bytes");
}

/// A folder in memory, of this process; gone when it is dropped.
pub struct Folder {
    path: PathBuf,
}

impl Folder {
    pub fn new(name: &str) -> Self {
        let base = if Path::new("/dev/shm").is_dir() { PathBuf::from("/dev/shm") } else { std::env::temp_dir() };
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = base.join(format!("fuzz-of-plimsoll-{name}-{}-{count}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        Folder { path }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn name(&self, file: &str) -> CString {
        CString::new(self.path.join(file).into_os_string().into_encoded_bytes()).expect("no zero byte")
    }

    pub fn clear(&self) {
        for entry in fs::read_dir(&self.path).into_iter().flatten().flatten() {
            let path = entry.path();
            let _ = if path.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
        }
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.path);
    }
}

/// A folder whose files have fixed names. Only what differs from the input before is written.
pub struct NamedFiles {
    folder: Folder,
    names: &'static [&'static str],
    files: Vec<Option<(File, Vec<u8>)>>,
}

impl NamedFiles {
    pub fn new(folder: Folder, names: &'static [&'static str]) -> Self {
        NamedFiles { folder, names, files: names.iter().map(|_| None).collect() }
    }

    pub fn folder(&self) -> &Folder {
        &self.folder
    }

    /// Makes the file `index` hold these bytes, or not be there.
    pub fn put(&mut self, index: usize, bytes: Option<&[u8]>) {
        let path = self.folder.path.join(self.names[index]);
        match (&mut self.files[index], bytes) {
            (None, None) => {}
            (Some((_, held)), Some(bytes)) if held == bytes => {}
            (Some((file, held)), Some(bytes)) => {
                write(file, bytes);
                held.clear();
                held.extend_from_slice(bytes);
            }
            (slot @ None, Some(bytes)) => {
                let file = File::create(&path).expect("a file in memory can be made");
                write(&file, bytes);
                *slot = Some((file, bytes.to_vec()));
            }
            (slot @ Some(_), None) => {
                *slot = None;
                fs::remove_file(&path).expect("a file in memory can be removed");
            }
        }
    }
}
