//! Bodies that exported functions of several nouns share.

use super::guard::{getter, guard};
use super::ptr::{self, Opaque};
use super::status::plim_status;
use crate::error::Result;
use std::ffi::c_char;
use std::path::Path;

/// Creates an object from a file.
///
/// # Safety
/// `path` must be NULL or a string, `out` NULL or valid for one write.
pub unsafe fn load<C: Opaque>(
    path: *const c_char,
    out: *mut *mut C,
    load: impl FnOnce(&Path) -> Result<C::Object>,
) -> plim_status {
    guard(|| {
        // SAFETY: the caller's promise is passed on.
        let (out, path) = unsafe { (ptr::out("out", out)?, ptr::path("path", path)?) };
        out.give(load(path)?)
    })
}

/// Writes an object to a file or a directory. Errors name both arguments.
///
/// # Safety
/// The path must be NULL or a string.
pub unsafe fn save<C: Opaque>(
    (name, handle): (&str, *const C),
    (argument, path): (&str, *const c_char),
    save: impl FnOnce(&C::Object, &Path) -> Result<()>,
) -> plim_status {
    guard(|| {
        let object = ptr::handle(name, handle)?;
        // SAFETY: the caller's promise is passed on.
        let path = unsafe { ptr::path(argument, path) }?;
        save(&*object.read()?, path)
    })
}

/// Changes an object.
pub fn change<C: Opaque>(name: &str, handle: *mut C, change: impl FnOnce(&mut C::Object) -> Result<()>) -> plim_status {
    guard(|| change(&mut *ptr::handle(name, handle)?.write()?))
}

/// Copies an array of an object.
///
/// # Safety
/// `dst` must be NULL or valid for `capacity` writes.
pub unsafe fn copy<C: Opaque, T: Copy>(
    (name, handle): (&str, *const C),
    (dst, capacity): (*mut T, usize),
    array: impl FnOnce(&C::Object) -> Result<&[T]>,
) -> plim_status {
    guard(|| {
        let object = ptr::handle(name, handle)?;
        let object = object.read()?;
        let array = array(&object)?;
        // SAFETY: the caller's promise is passed on.
        unsafe { ptr::buffer("dst", dst, capacity, array.len()) }?.put(array);
        Ok(())
    })
}

/// Frees a handle. NULL and stale handles are ignored.
pub fn free<C: Opaque>(handle: *mut C) {
    getter(|| {
        ptr::free(handle);
        Some(())
    })
}
