//! A file is written under a temporary name, and renamed when it is complete.

use super::target::Target;
use super::{flush_folder, folder_of, io_error, named_beside, temporary_name};
use crate::error::Result;
use std::fs::{self, File, TryLockError};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// Writes a file in full under another name, flushes it to the disk and only then gives it its name, so that
/// whatever happens there is either the old file or the new one. A link stays; the file that it leads to is replaced.
pub fn write_atomically(path: &Path, write: impl FnOnce(&mut BufWriter<&File>) -> Result<()>) -> Result<()> {
    let target = Target::of_file(path)?;
    let path = &target.path;
    let (temporary, file) = temporary_file(&target).map_err(|e| io_error(path, &e))?;
    let result = (|| {
        let mut writer = BufWriter::new(&file);
        write(&mut writer).map_err(|e| e.in_file(path))?;
        writer.flush().map_err(|e| io_error(path, &e))?;
        drop(writer);
        target.pass_on(&file).map_err(|e| io_error(path, &e))?;
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

/// A new file beside the target, and its name.
///
/// The name is the same each time, so that the next writer of the target finds and removes what a killed process has left. A writer holds a lock on its file: one that is locked is being written, one that is not was left. Where another
/// process or thread is writing it too, the name is one that nobody else uses.
fn temporary_file(target: &Target) -> io::Result<(PathBuf, File)> {
    let mut options = File::options();
    options.write(true).read(true).create_new(true);
    #[cfg(unix)]
    if target.old.is_some() {
        // The new file is private until it has the mode of the old one.
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    }
    let create = |name: &Path| options.open(name);
    let name = named_beside(&target.path, ".plimsoll.tmp");
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
    let name = temporary_name(&target.path);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;
    use crate::file::read;

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
        let (name, file) = temporary_file(&Target::of_file(&path).unwrap()).unwrap();
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

    #[cfg(unix)]
    mod on_unix {
        use super::*;
        use crate::error::Error;
        use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt, symlink};

        fn mode_of(path: &Path) -> u32 {
            fs::metadata(path).unwrap().mode() & 0o7777
        }

        fn set_mode(path: &Path, mode: u32) {
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        }

        #[test]
        fn what_is_no_file_is_named_and_stays() {
            let folder = tempfile::tempdir().unwrap();
            let [socket, pipe, link] = ["socket", "pipe", "link"].map(|name| folder.path().join(name));
            let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
            assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
            symlink("pipe", &link).unwrap();
            let names = |path: &Path| fs::read_dir(path).unwrap().count();
            for (path, kind) in [(&socket, "a socket"), (&pipe, "a pipe"), (&link, "a pipe")] {
                let text = format!("{}: is {kind}, not a regular file", path.display());
                assert_eq!(put(path, "new"), Err(Error::Io(text.clone())));
                assert_eq!(crate::file::check_target(path), Err(Error::Io(text)));
                let text = format!("{}: is {kind}, not a directory", path.display());
                assert_eq!(crate::file::write_folder_atomically(path, |_| Ok(())), Err(Error::Io(text)));
            }
            let text = format!("{}: is a directory, not a regular file", folder.path().display());
            assert_eq!(put(folder.path(), "new"), Err(Error::Io(text)));
            assert!(fs::symlink_metadata(&socket).unwrap().file_type().is_socket());
            assert!(fs::symlink_metadata(&pipe).unwrap().file_type().is_fifo());
            assert_eq!(fs::read_link(&link).unwrap(), Path::new("pipe"));
            assert_eq!(names(folder.path()), 3);
        }

        #[test]
        fn a_link_stays_and_its_target_is_replaced_or_made() {
            let folder = tempfile::tempdir().unwrap();
            let at = |name: &str| folder.path().join(name);
            fs::create_dir(at("there")).unwrap();
            fs::write(at("there/file"), "old").unwrap();
            symlink("there/file", at("first")).unwrap();
            symlink(at("first"), at("second")).unwrap();
            symlink("there/none", at("dangling")).unwrap();
            put(&at("second"), "new").unwrap();
            put(&at("dangling"), "made").unwrap();
            assert_eq!(
                (read(&at("there/file")).unwrap(), read(&at("there/none")).unwrap()),
                (b"new".into(), b"made".into())
            );
            assert_eq!(fs::read_link(at("first")).unwrap(), Path::new("there/file"));
            assert_eq!(fs::read_link(at("second")).unwrap(), at("first"));
            assert_eq!(fs::read_link(at("dangling")).unwrap(), Path::new("there/none"));
            assert_eq!(fs::read_dir(at("there")).unwrap().count(), 2);
        }

        #[test]
        fn a_loop_of_links_and_a_link_into_no_folder_are_errors() {
            let folder = tempfile::tempdir().unwrap();
            let at = |name: &str| folder.path().join(name);
            symlink("b", at("a")).unwrap();
            symlink("a", at("b")).unwrap();
            symlink("none/file", at("c")).unwrap();
            for name in ["a", "b", "c"] {
                assert!(matches!(put(&at(name), "new"), Err(Error::Io(_))), "{name}");
                assert!(matches!(crate::file::check_target(&at(name)), Err(Error::Io(_))), "{name}");
                let made = crate::file::write_folder_atomically(&at(name), |_| Ok(()));
                assert!(matches!(made, Err(Error::Io(_))), "{name}");
                assert!(fs::symlink_metadata(at(name)).unwrap().is_symlink());
            }
            assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 3);
        }

        #[test]
        fn the_mode_of_an_old_file_is_kept_and_no_other_sees_the_new_one_before() {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("file");
            for mode in [0o600, 0o640, 0o444, 0o666] {
                put(&path, "old").unwrap();
                set_mode(&path, mode);
                write_atomically(&path, |_| {
                    assert_eq!(mode_of(&folder.path().join("file.plimsoll.tmp")), 0o600);
                    Ok(())
                })
                .unwrap();
                assert_eq!(mode_of(&path), mode);
            }
        }

        #[test]
        fn a_new_file_has_the_mode_of_any_new_file_even_if_a_temporary_one_was_left() {
            let folder = tempfile::tempdir().unwrap();
            let (plain, path) = (folder.path().join("plain"), folder.path().join("file"));
            let left = folder.path().join("file.plimsoll.tmp");
            fs::write(&plain, "").unwrap();
            fs::write(&left, "half of").unwrap();
            set_mode(&left, 0o600);
            put(&path, "new").unwrap();
            assert_eq!(mode_of(&path), mode_of(&plain));
            fs::create_dir(&left).unwrap();
            fs::remove_file(&path).unwrap();
            put(&path, "new").unwrap();
            assert_eq!(mode_of(&path), mode_of(&plain));
        }

        #[test]
        fn a_folder_replaces_an_empty_one_with_its_mode_and_through_a_link() {
            let folder = tempfile::tempdir().unwrap();
            let at = |name: &str| folder.path().join(name);
            let make =
                |path: &Path| crate::file::write_folder_atomically(path, |folder| folder.write("member", |_| Ok(())));
            fs::create_dir(at("plain")).unwrap();
            fs::create_dir(at("empty")).unwrap();
            set_mode(&at("empty"), 0o711);
            symlink("empty", at("link")).unwrap();
            symlink("none", at("dangling")).unwrap();
            make(&at("link/")).unwrap();
            make(&at("dangling")).unwrap();
            assert_eq!((mode_of(&at("empty")), mode_of(&at("none"))), (0o711, mode_of(&at("plain"))));
            assert!(at("empty/member").is_file() && at("none/member").is_file());
            assert_eq!(fs::read_link(at("link")).unwrap(), Path::new("empty"));
            assert_eq!(fs::read_link(at("dangling")).unwrap(), Path::new("none"));
            for path in [at("link"), at("none")] {
                let text = format!("{}: is there already and not empty", path.display());
                assert_eq!(make(&path), Err(Error::Io(text)));
            }
            assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 5);
        }
    }
}
