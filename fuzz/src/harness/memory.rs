//! Folders that live in memory, for what the library writes: a disk would be slow.

use std::ffi::CString;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

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
