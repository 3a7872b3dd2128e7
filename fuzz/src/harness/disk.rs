//! Files that no system call reads: most of a run would otherwise be the kernel's.
//!
//! Under [`ROOT`] every thread has files of its own. The functions of the C library that the standard library reads files
//! by are defined here once more, and stand in its place: of such a path or descriptor they answer by themselves, all others
//! they hand on to the kernel.

use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char, c_int, c_long, c_uint, c_void};

const ROOT: &[u8] = b"/plimsoll-fuzz/";
/// Descriptors from here on are of such files.
const FIRST: c_int = 1 << 30;
/// As many can be open at once.
const MOST_OPEN: usize = 16;

struct Disk {
    /// Path below the root and content; `None` while it is not there.
    files: Vec<(Vec<u8>, Option<Vec<u8>>)>,
    /// Which file each descriptor reads, and from where on.
    open: [Option<(usize, u64)>; MOST_OPEN],
    /// Where files are mapped.
    maps: [usize; MOST_OPEN],
}

thread_local! {
    static DISK: RefCell<Disk> =
        const { RefCell::new(Disk { files: Vec::new(), open: [None; MOST_OPEN], maps: [0; MOST_OPEN] }) };
}

/// Makes the file of that name hold these bytes, or not be there. In a folder, names have its name before them.
pub fn put(name: &str, bytes: Option<&[u8]>) {
    DISK.with_borrow_mut(|disk| {
        let at = disk.files.iter().position(|(n, _)| n == name.as_bytes()).unwrap_or_else(|| {
            disk.files.push((name.as_bytes().to_vec(), None));
            disk.files.len() - 1
        });
        match (&mut disk.files[at].1, bytes) {
            (Some(held), Some(bytes)) => {
                held.clear();
                held.extend_from_slice(bytes);
            }
            (held, bytes) => *held = bytes.map(<[u8]>::to_vec),
        }
    });
}

/// The path of a file or a folder.
pub fn path(name: &str) -> CString {
    CString::new([ROOT, name.as_bytes()].concat()).expect("no zero byte")
}

enum Entry {
    File(usize),
    Folder,
}

impl Disk {
    fn find(&self, name: &[u8]) -> Option<Entry> {
        let name = name.strip_suffix(b"/").unwrap_or(name);
        let is_inside = |n: &[u8]| n.strip_prefix(name).is_some_and(|rest| rest.starts_with(b"/"));
        match self.files.iter().position(|(n, content)| n == name && content.is_some()) {
            Some(at) => Some(Entry::File(at)),
            None => self.files.iter().any(|(n, _)| is_inside(n)).then_some(Entry::Folder),
        }
    }

    fn content(&self, file: usize) -> &[u8] {
        self.files[file].1.as_deref().unwrap_or_default()
    }

    fn opened(&mut self, fd: c_int) -> Option<&mut (usize, u64)> {
        self.open.get_mut(slot(fd)?)?.as_mut()
    }
}

fn slot(fd: c_int) -> Option<usize> {
    usize::try_from(fd.checked_sub(FIRST)?).ok()
}

/// Answers, or hands on what is not of here.
fn answer(work: impl FnOnce(&mut Disk) -> Result<i64, c_int>) -> i64 {
    match DISK.with_borrow_mut(work) {
        Ok(answer) => answer,
        Err(error) => {
            // SAFETY: the place of this thread's error number.
            unsafe { *libc::__errno_location() = error };
            -1
        }
    }
}

/// The name below the root.
///
/// # Safety
/// `path` is a string.
unsafe fn below_root<'a>(path: *const c_char) -> Option<&'a [u8]> {
    // SAFETY: the caller's promise.
    unsafe { CStr::from_ptr(path) }.to_bytes().strip_prefix(ROOT)
}

/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
unsafe extern "C" fn open64(path: *const c_char, flags: c_int, mode: c_uint) -> c_int {
    // SAFETY: the caller's promises are passed on.
    let Some(name) = (unsafe { below_root(path) }) else {
        // SAFETY: as above.
        return unsafe { libc::syscall(libc::SYS_openat, libc::AT_FDCWD, path, flags, mode) } as c_int;
    };
    answer(|disk| {
        let Some(Entry::File(file)) = disk.find(name) else { return Err(libc::ENOENT) };
        let slot = disk.open.iter().position(Option::is_none).ok_or(libc::EMFILE)?;
        disk.open[slot] = Some((file, 0));
        Ok(i64::from(FIRST) + slot as i64)
    }) as c_int
}

/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
unsafe extern "C" fn close(fd: c_int) -> c_int {
    let Some(slot) = slot(fd) else {
        // SAFETY: the caller's promise is passed on.
        return unsafe { libc::syscall(libc::SYS_close, fd) } as c_int;
    };
    answer(|disk| disk.open.get_mut(slot).and_then(Option::take).map(|_| 0).ok_or(libc::EBADF)) as c_int
}

/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
unsafe extern "C" fn fcntl(fd: c_int, command: c_int, argument: c_long) -> c_int {
    if slot(fd).is_none() {
        // SAFETY: the caller's promise is passed on.
        return unsafe { libc::syscall(libc::SYS_fcntl, fd, command, argument) } as c_int;
    }
    answer(|disk| disk.opened(fd).map(|_| i64::from(libc::FD_CLOEXEC)).ok_or(libc::EBADF)) as c_int
}

/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
unsafe extern "C" fn read(fd: c_int, buffer: *mut c_void, len: usize) -> isize {
    if slot(fd).is_none() {
        // SAFETY: the caller's promise is passed on.
        return unsafe { libc::syscall(libc::SYS_read, fd, buffer, len) } as isize;
    }
    answer(|disk| {
        let &mut (file, at) = disk.opened(fd).ok_or(libc::EBADF)?;
        let content = disk.content(file);
        let rest = &content[usize::try_from(at).unwrap_or(usize::MAX).min(content.len())..];
        let read = rest.len().min(len);
        // SAFETY: the caller promises room for `len` bytes.
        unsafe { buffer.cast::<u8>().copy_from_nonoverlapping(rest.as_ptr(), read) };
        if let Some((_, at)) = disk.opened(fd) {
            *at += read as u64;
        }
        Ok(read as i64)
    }) as isize
}

/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
unsafe extern "C" fn lseek64(fd: c_int, offset: i64, whence: c_int) -> i64 {
    if slot(fd).is_none() {
        // SAFETY: the caller's promise is passed on.
        return unsafe { libc::syscall(libc::SYS_lseek, fd, offset, whence) };
    }
    answer(|disk| {
        let &mut (file, at) = disk.opened(fd).ok_or(libc::EBADF)?;
        let from = match whence {
            libc::SEEK_SET => 0,
            libc::SEEK_CUR => at as i64,
            libc::SEEK_END => disk.content(file).len() as i64,
            _ => return Err(libc::EINVAL),
        };
        let to = from.checked_add(offset).filter(|&to| to >= 0).ok_or(libc::EINVAL)?;
        *disk.opened(fd).ok_or(libc::EBADF)? = (file, to as u64);
        Ok(to)
    })
}

/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
unsafe extern "C" fn statx(
    folder: c_int,
    path: *const c_char,
    flags: c_int,
    mask: c_uint,
    out: *mut libc::statx,
) -> c_int {
    let name = if path.is_null() {
        None
    } else {
        // SAFETY: the caller promises a string.
        unsafe { below_root(path) }
    };
    if slot(folder).is_none() && name.is_none() {
        // SAFETY: the caller's promises are passed on.
        return unsafe { libc::syscall(libc::SYS_statx, folder, path, flags, mask, out) } as c_int;
    }
    answer(|disk| {
        let entry = match name {
            Some(name) => disk.find(name).ok_or(libc::ENOENT)?,
            None => Entry::File(disk.opened(folder).ok_or(libc::EBADF)?.0),
        };
        // SAFETY: zeros are such a struct, and the caller promises room for one.
        let told = unsafe {
            out.write_bytes(0, 1);
            &mut *out
        };
        told.stx_mask = libc::STATX_BASIC_STATS;
        (told.stx_mode, told.stx_size) = match entry {
            Entry::File(file) => ((libc::S_IFREG | 0o600) as u16, disk.content(file).len() as u64),
            Entry::Folder => ((libc::S_IFDIR | 0o700) as u16, 0),
        };
        Ok(0)
    }) as c_int
}

/// A mapped file is a copy of its own, so that AddressSanitizer sees every step beyond.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
unsafe extern "C" fn mmap64(
    at: *mut c_void,
    len: usize,
    protection: c_int,
    flags: c_int,
    fd: c_int,
    offset: i64,
) -> *mut c_void {
    if slot(fd).is_none() {
        // SAFETY: the caller's promises are passed on.
        return unsafe { libc::syscall(libc::SYS_mmap, at, len, protection, flags, fd, offset) } as *mut c_void;
    }
    const PAGE: usize = 4096;
    answer(|disk| {
        let &mut (file, _) = disk.opened(fd).ok_or(libc::EBADF)?;
        let place = disk.maps.iter().position(|&map| map == 0).ok_or(libc::ENOMEM)?;
        let content = disk.content(file);
        let mut copy = std::ptr::null_mut();
        // SAFETY: a place for a pointer, and an alignment that is a power of two.
        if offset != 0 || unsafe { libc::posix_memalign(&raw mut copy, PAGE, len) } != 0 {
            return Err(libc::ENOMEM);
        }
        // SAFETY: room for `len` bytes, of which the file has as many or fewer.
        unsafe { copy.cast::<u8>().copy_from_nonoverlapping(content.as_ptr(), content.len().min(len)) };
        disk.maps[place] = copy.addr();
        Ok(copy.addr() as i64)
    }) as *mut c_void
}

/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
unsafe extern "C" fn munmap(start: *mut c_void, len: usize) -> c_int {
    let ours = DISK.try_with(|disk| {
        let mut disk = disk.try_borrow_mut().ok()?;
        disk.maps.iter_mut().find(|map| **map == start.addr()).map(|map| *map = 0)
    });
    if start.is_null() || !matches!(ours, Ok(Some(()))) {
        // SAFETY: the caller's promise is passed on.
        return unsafe { libc::syscall(libc::SYS_munmap, start, len) } as c_int;
    }
    // SAFETY: allocated above, and the caller is the last to use it.
    unsafe { libc::free(start) };
    0
}

/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
unsafe extern "C" fn madvise(start: *mut c_void, len: usize, advice: c_int) -> c_int {
    let ours = DISK.try_with(|disk| disk.try_borrow().is_ok_and(|disk| disk.maps.contains(&start.addr())));
    if !start.is_null() && matches!(ours, Ok(true)) {
        return 0;
    }
    // SAFETY: the caller's promise is passed on.
    unsafe { libc::syscall(libc::SYS_madvise, start, len, advice) as c_int }
}
