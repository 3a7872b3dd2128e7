//! The only module that turns raw pointers into references. Every error names its argument.

use super::handle::{self, Object, Shared};
use super::torture;
use crate::error::{Error, Result};
use crate::kernel::{Array, Number};
use std::ffi::{CStr, OsStr, c_char, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A C type for handles to an object.
pub trait Opaque: Sized {
    /// The object.
    type Object: Object;
}

/// Gives handles of a C type to a type of objects: `handles!(plim_noun, Noun)`, or
/// `handles!(plim_noun, Noun, NounFacts, |noun| NounFacts { … })` if it has getters.
macro_rules! handles {
    ($opaque:ident, $object:ty) => {
        handles!($opaque, $object, (), |_| ());
    };
    ($opaque:ident, $object:ty, $facts:ty, |$this:pat_param| $value:expr) => {
        impl $crate::capi::handle::Object for $object {
            const NAME: &'static str = stringify!($opaque);
            type Facts = $facts;

            fn facts(&self) -> $facts {
                let $this = self;
                $value
            }
        }

        impl $crate::capi::ptr::Opaque for $opaque {
            type Object = $object;
        }
    };
}
pub(super) use handles;

/// The object of a handle.
pub fn handle<C: Opaque>(name: &str, handle: *const C) -> Result<Arc<Shared<C::Object>>> {
    if handle.is_null() {
        return Err(null(name));
    }
    handle::get(name, handle.addr())
}

/// The facts of a handle, or `None` if it is not live.
pub fn facts<C: Opaque>(handle: *const C) -> Option<<C::Object as Object>::Facts> {
    handle::get::<C::Object>("", handle.addr()).ok().map(|shared| shared.facts())
}

/// Frees a handle. NULL and stale handles are ignored.
pub fn free<C: Opaque>(handle: *mut C) {
    handle::remove::<C::Object>(handle.addr());
}

fn null(name: &str) -> Error {
    Error::NullPointer(format!("{name} is NULL"))
}

fn check<T>(name: &str, pointer: *const T, len: usize) -> Result<()> {
    torture::point();
    if pointer.is_null() {
        return Err(null(name));
    }
    if !pointer.is_aligned() {
        return Err(Error::InvalidArgument(format!("{name} = {pointer:p} is not aligned for its type")));
    }
    if len.checked_mul(size_of::<T>()).is_none_or(|bytes| bytes > isize::MAX as usize) {
        return Err(Error::InvalidArgument(format!("{name} cannot have {len} elements")));
    }
    Ok(())
}

/// An array of `len` elements, which may be NULL if `len` is 0.
///
/// # Safety
/// A non-NULL `pointer` must be readable for `len` elements during `'a`.
pub unsafe fn slice<'a, T>(name: &str, pointer: *const T, len: usize) -> Result<&'a [T]> {
    if len == 0 {
        return Ok(&[]);
    }
    check(name, pointer, len)?;
    // SAFETY: not NULL, aligned, of a possible size, and readable by the caller's promise.
    Ok(unsafe { std::slice::from_raw_parts(pointer, len) })
}

/// An array of `len` elements, or `None` for NULL.
///
/// # Safety
/// As for [`slice`].
pub unsafe fn optional_slice<'a, T>(name: &str, pointer: *const T, len: usize) -> Result<Option<&'a [T]>> {
    if pointer.is_null() {
        return Ok(None);
    }
    // SAFETY: the caller's promise is passed on.
    unsafe { slice(name, pointer, len) }.map(Some)
}

/// A list for which (NULL, 0) means "all" and gives `None`. A non-NULL pointer with 0 is an empty list.
///
/// # Safety
/// As for [`slice`].
pub unsafe fn list_or_all<'a, T>(name: &str, pointer: *const T, len: usize) -> Result<Option<&'a [T]>> {
    if pointer.is_null() && len == 0 {
        return Ok(None);
    }
    // SAFETY: the caller's promise is passed on.
    unsafe { slice(name, pointer, len) }.map(Some)
}

/// Arrays that the library borrows until it calls the caller's release function.
///
/// The loan starts with [`Lease::begin`]. If a call fails before that, the release function is not called.
pub struct Lease(Arc<Lender>);

struct Lender {
    release: Option<unsafe extern "C" fn(*mut c_void)>,
    user_data: *mut c_void,
    begun: AtomicBool,
}

// SAFETY: the interface says that the release may come from any thread, and it comes once.
unsafe impl Send for Lender {}
// SAFETY: nothing but the drop uses what it holds.
unsafe impl Sync for Lender {}

impl Drop for Lender {
    fn drop(&mut self) {
        if let (Some(release), true) = (self.release, *self.begun.get_mut()) {
            // SAFETY: the caller's own function with the caller's own argument.
            unsafe { release(self.user_data) }
        }
    }
}

impl Lease {
    /// A loan that ends with a call of `release`.
    pub fn new(release: Option<unsafe extern "C" fn(*mut c_void)>, user_data: *mut c_void) -> Self {
        Lease(Arc::new(Lender { release, user_data, begun: AtomicBool::new(false) }))
    }

    /// Starts the loan. It ends when the last of the arrays is dropped.
    pub fn begin(self) {
        self.0.begun.store(true, Ordering::Release);
    }

    /// An array of `len` elements, which may be NULL if `len` is 0.
    ///
    /// # Safety
    /// A non-NULL `pointer` must be readable for `len` elements, which do not change, until the release.
    pub unsafe fn array<T: Number>(&self, name: &str, pointer: *const T, len: usize) -> Result<Array<T>> {
        if len == 0 {
            return Ok(Array::default());
        }
        check(name, pointer, len)?;
        // SAFETY: not NULL, aligned, of a possible size, readable and unchanged by the caller's promise.
        Ok(unsafe { Array::lent(pointer, len, Arc::clone(&self.0) as _) })
    }

    /// An array of `len` elements, or `None` for NULL.
    ///
    /// # Safety
    /// As for [`Lease::array`].
    pub unsafe fn optional_array<T: Number>(
        &self,
        name: &str,
        pointer: *const T,
        len: usize,
    ) -> Result<Option<Array<T>>> {
        if pointer.is_null() {
            return Ok(None);
        }
        // SAFETY: the caller's promise is passed on.
        unsafe { self.array(name, pointer, len) }.map(Some)
    }
}

/// A path from a C string.
///
/// # Safety
/// A non-NULL `path` must be a string that ends with a zero byte, unchanged during `'a`.
pub unsafe fn path<'a>(name: &str, path: *const c_char) -> Result<&'a Path> {
    check(name, path, 0)?;
    // SAFETY: not NULL, and a string by the caller's promise.
    let text = unsafe { CStr::from_ptr(path) };
    if text.is_empty() {
        return Err(Error::InvalidArgument(format!("{name} is empty")));
    }
    Ok(Path::new(OsStr::from_bytes(text.to_bytes())))
}

/// The same, or `None` for NULL.
///
/// # Safety
/// `path` must be NULL or a string.
pub unsafe fn optional_path<'a>(name: &str, path: *const c_char) -> Result<Option<&'a Path>> {
    if path.is_null() {
        return Ok(None);
    }
    // SAFETY: the caller's promise is passed on.
    unsafe { self::path(name, path) }.map(Some)
}

/// The bytes of a C string.
///
/// # Safety
/// As for [`path`].
pub unsafe fn text<'a>(name: &str, text: *const c_char) -> Result<&'a [u8]> {
    check(name, text, 0)?;
    // SAFETY: not NULL, and a string by the caller's promise.
    Ok(unsafe { CStr::from_ptr(text) }.to_bytes())
}

/// An out-parameter for one result, written once, at the end.
pub struct Out<T>(*mut T);

/// A required out-parameter.
///
/// # Safety
/// A non-NULL `pointer` must be valid for one write until the call ends.
pub unsafe fn out<T>(name: &str, pointer: *mut T) -> Result<Out<T>> {
    check(name, pointer, 1)?;
    Ok(Out(pointer))
}

/// An out-parameter that may be NULL.
///
/// # Safety
/// As for [`out`].
pub unsafe fn optional_out<T>(name: &str, pointer: *mut T) -> Result<Option<Out<T>>> {
    if pointer.is_null() {
        return Ok(None);
    }
    // SAFETY: the caller's promise is passed on.
    unsafe { out(name, pointer) }.map(Some)
}

impl<T> Out<T> {
    /// Writes the result.
    pub fn set(self, value: T) {
        // SAFETY: not NULL, aligned, and valid for a write by the promise given to `out`.
        unsafe { self.0.write(value) }
    }
}

impl<C: Opaque> Out<*mut C> {
    /// Stores a new object and writes its handle.
    pub fn give(self, object: C::Object) -> Result<()> {
        self.set(std::ptr::without_provenance_mut(handle::insert(object)?));
        Ok(())
    }
}

/// Stores two new objects and writes their handles: both or, if there is no memory for one, neither.
pub fn give_both<A: Opaque, B: Opaque>(a: (Out<*mut A>, A::Object), b: (Out<*mut B>, B::Object)) -> Result<()> {
    let first = handle::insert(a.1)?;
    let second = handle::insert(b.1).inspect_err(|_| handle::remove::<A::Object>(first))?;
    a.0.set(std::ptr::without_provenance_mut(first));
    b.0.set(std::ptr::without_provenance_mut(second));
    Ok(())
}

/// A buffer of the caller's, written once, at the end.
pub struct Buffer<T>(*mut T);

/// A buffer of `capacity` elements for a result of `needed`.
///
/// # Safety
/// A non-NULL `pointer` must be valid for writes of `capacity` elements until the call ends.
pub unsafe fn buffer<T>(name: &str, pointer: *mut T, capacity: usize, needed: usize) -> Result<Buffer<T>> {
    if pointer.is_null() && (capacity > 0 || needed > 0) {
        return Err(null(name));
    }
    if capacity < needed {
        return Err(Error::BufferTooSmall(format!("{name} holds {capacity} elements, {needed} are needed")));
    }
    if needed > 0 {
        check(name, pointer, needed)?;
    }
    Ok(Buffer(pointer))
}

/// A buffer of `len` elements that may be NULL.
///
/// # Safety
/// As for [`buffer`].
pub unsafe fn optional_buffer<T>(name: &str, pointer: *mut T, len: usize) -> Result<Option<Buffer<T>>> {
    if pointer.is_null() {
        return Ok(None);
    }
    // SAFETY: the caller's promise is passed on.
    unsafe { buffer(name, pointer, len, len) }.map(Some)
}

impl<T: Copy> Buffer<T> {
    /// Writes the result, which has the number of elements given as needed.
    pub fn put(self, values: &[T]) {
        if !values.is_empty() {
            // SAFETY: valid for that many writes by the promise given to `buffer`; `copy` allows any overlap.
            unsafe { std::ptr::copy(values.as_ptr(), self.0, values.len()) }
        }
    }
}
