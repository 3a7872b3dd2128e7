//! The place that a path stands for when something is written to it. Links are followed. Pipes, devices and sockets are refused.

use super::{folder_of, io_error};
use crate::error::{Error, Result};
use std::fs::{self, File, FileType, Metadata};
use std::io;
use std::path::{Path, PathBuf};

/// The place of a file or folder to write, and what is there now.
pub struct Target {
    /// The path to write: for a link, that of its target.
    pub path: PathBuf,
    /// The file or empty folder that is replaced.
    pub old: Option<Metadata>,
}

impl Target {
    /// The place of a file. Nothing or a regular file may be there.
    pub fn of_file(path: &Path) -> Result<Self> {
        let target = Self::find(path)?;
        match target.old.as_ref().map(Metadata::file_type) {
            Some(kind) if !kind.is_file() => Err(not_a_file(path, kind)),
            _ => Ok(target),
        }
    }

    /// The place of a folder. Nothing or an empty folder may be there.
    pub fn of_folder(path: &Path) -> Result<Self> {
        // With a slash at its end, a link looks like the folder that it leads to. `components` drops the slash.
        let target = Self::find(path.components().as_path())?;
        let Some(kind) = target.old.as_ref().map(Metadata::file_type) else { return Ok(target) };
        if !kind.is_dir() {
            return Err(Error::Io(format!("{}: is {}, not a directory", path.display(), name_of(kind))));
        }
        let mut entries = fs::read_dir(&target.path).map_err(|e| io_error(path, &e))?;
        match entries.next() {
            None => Ok(target),
            Some(_) => Err(Error::Io(format!("{}: is there already and not empty", path.display()))),
        }
    }

    fn find(path: &Path) -> Result<Self> {
        let failed = |e: io::Error| io_error(path, &e);
        // This follows all links, and fails if they form a loop.
        let old = match fs::metadata(path) {
            Ok(old) => Some(old),
            Err(e) if e.kind() == io::ErrorKind::NotFound => None,
            Err(e) => return Err(failed(e)),
        };
        let mut place = path.to_path_buf();
        // The limit of Linux. Without it, links that change at this moment could keep the loop running.
        for _ in 0..40 {
            match fs::symlink_metadata(&place) {
                Ok(there) if there.is_symlink() => {
                    let next = fs::read_link(&place).map_err(failed)?;
                    place = folder_of(&place).join(next);
                }
                Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(failed(e)),
                _ => return Ok(Target { path: place, old }),
            }
        }
        Err(Error::Io(format!("{}: leads through too many links", path.display())))
    }

    /// Gives the new file or folder the mode of the old one, and its owner and group where that is allowed.
    #[cfg(unix)]
    pub fn pass_on(&self, new: &File) -> io::Result<()> {
        use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};
        let Some(old) = &self.old else { return Ok(()) };
        let now = new.metadata()?;
        let kept = |now: u32, old: u32, change: &dyn Fn() -> io::Result<()>| now == old || change().is_ok();
        let owner = kept(now.uid(), old.uid(), &|| fchown(new, Some(old.uid()), None));
        let group = kept(now.gid(), old.gid(), &|| fchown(new, None, Some(old.gid())));
        let mut mode = old.mode() & if owner && group { 0o7777 } else { 0o777 };
        if !group {
            // The file has another group than before, which gets the permissions of everybody.
            mode = (mode & !0o070) | ((mode & 0o007) << 3);
        }
        match now.mode() & 0o7777 == mode {
            true => Ok(()),
            false => new.set_permissions(fs::Permissions::from_mode(mode)),
        }
    }

    #[cfg(not(unix))]
    pub fn pass_on(&self, _: &File) -> io::Result<()> {
        Ok(())
    }
}

/// Finds early that a file cannot be written to `path`: its folder is missing, or something else is there.
pub fn check_target(path: &Path) -> Result<()> {
    let target = Target::of_file(path)?;
    let folder = folder_of(&target.path);
    let metadata = fs::metadata(folder).map_err(|e| io_error(&target.path, &e))?;
    if metadata.is_dir() { Ok(()) } else { Err(Error::Io(format!("{}: is not a folder", folder.display()))) }
}

/// The error for anything but a regular file.
pub fn not_a_file(path: &Path, kind: FileType) -> Error {
    Error::Io(format!("{}: is {}, not a regular file", path.display(), name_of(kind)))
}

fn name_of(kind: FileType) -> &'static str {
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt;
        for (is, name) in [
            (kind.is_fifo(), "a pipe"),
            (kind.is_char_device(), "a character device"),
            (kind.is_block_device(), "a block device"),
            (kind.is_socket(), "a socket"),
        ] {
            if is {
                return name;
            }
        }
    }
    match (kind.is_dir(), kind.is_file()) {
        (true, _) => "a directory",
        (_, true) => "a regular file",
        _ => "something else",
    }
}
