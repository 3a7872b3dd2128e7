//! A folder is written under a temporary name, and renamed when it is complete.

use super::target::Target;
use super::{flush_folder, folder_of, io_error, temporary_name, write_atomically};
use crate::error::Result;
use std::fs::{self, File};
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};

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
/// name must be empty. A link to one stays; what it leads to is replaced.
pub fn write_folder_atomically(path: &Path, write: impl FnOnce(&mut Folder) -> Result<()>) -> Result<()> {
    let target = Target::of_folder(path)?;
    let path = &target.path;
    let mut folder = Folder { path: temporary_name(path), names: Vec::new() };
    create(&folder.path, &target).map_err(|e| io_error(path, &e))?;
    let result = write(&mut folder).and_then(|()| {
        pass_on(&folder.path, &target).map_err(|e| io_error(path, &e))?;
        flush_folder(&folder.path);
        fs::rename(&folder.path, path).map_err(|e| io_error(path, &e))
    });
    match result {
        Ok(()) => flush_folder(folder_of(path)),
        Err(_) => folder.remove(),
    }
    result
}

fn create(name: &Path, target: &Target) -> io::Result<()> {
    #[cfg_attr(not(unix), allow(unused_mut))]
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    if target.old.is_some() {
        // The new folder is private until it has the mode of the old one.
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    }
    builder.create(name)
}

/// Opens the folder only if it replaces another one, because that takes a descriptor.
fn pass_on(name: &Path, target: &Target) -> io::Result<()> {
    match target.old {
        Some(_) if cfg!(unix) => target.pass_on(&File::open(name)?),
        _ => Ok(()),
    }
}
