//! Tables of names of nodes.

use super::body::{free, load, save};
use super::guard::{getter, guard};
use super::ptr::{self, handles};
use super::status::plim_status;
use crate::error::{Error, ForThe, try_with_capacity};
use crate::graph::Ids;
use std::ffi::c_char;

/// The names of nodes: a table from names to node ids and back. Free it with plim_ids_free().
///
/// plim_graph_from_edge_list_with() makes one. The name of node v was the v-th in the file that was new.
pub struct plim_ids {
    _opaque: [u8; 0],
}

/// What the getters of a table return.
#[derive(Clone, Copy, Default)]
pub struct IdsFacts {
    count: usize,
    name_size: usize,
}

handles!(plim_ids, Ids, IdsFacts, |ids| IdsFacts { count: ids.len(), name_size: ids.longest() + 1 });

/// Reads a table that plim_ids_save() wrote.
///
/// @param path  a file name.
/// @param out   receives the table; free it with plim_ids_free().
///
/// @return PLIM_OK or a common error.
///         PLIM_ERROR_IO: the file cannot be read.
///         PLIM_ERROR_BAD_FORMAT: it is not a table of ids, or is damaged.
///         PLIM_ERROR_UNSUPPORTED: a newer version of this library wrote it.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn plim_ids_load(path: *const c_char, out: *mut *mut plim_ids) -> plim_status {
    // SAFETY: the caller promises `path` is NULL or a string, and `out` is NULL or valid for one write.
    unsafe { load(path, out, |path| Ids::load(path).for_the(format_args!("table of ids in {}", path.display()))) }
}

/// Writes the table as a text file. An existing file is replaced only when the new one is complete.
///
/// The first line is "plimsoll ids 1", the number of names, and the CRC-32 of the rest in hexadecimal.
/// Each further line is a name, in the order of the ids, with \\ for a backslash, \n for a newline and \r
/// for a carriage return.
///
/// @param ids   the table.
/// @param path  a file name.
///
/// @return PLIM_OK or a common error.
///         PLIM_ERROR_IO: the file cannot be written.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn plim_ids_save(ids: *const plim_ids, path: *const c_char) -> plim_status {
    // SAFETY: the caller promises `path` is NULL or a string.
    unsafe {
        save(("ids", ids), ("path", path), |ids, path| ids.save(path).for_the(format_args!("file {}", path.display())))
    }
}

/// Returns the number of names.
///
/// @param ids  the table.
///
/// @return the number of names; their ids are 0 .. number - 1.
#[unsafe(no_mangle)]
pub extern "C" fn plim_ids_count(ids: *const plim_ids) -> usize {
    getter(|| Some(ptr::facts(ids)?.count))
}

/// Returns the size of a buffer that holds any name of the table, with its NUL.
///
/// @param ids  the table.
///
/// @return the number of bytes.
#[unsafe(no_mangle)]
pub extern "C" fn plim_ids_name_size(ids: *const plim_ids) -> usize {
    getter(|| Some(ptr::facts(ids)?.name_size))
}

/// Finds the id of a name. It takes about as long for every size of the table.
///
/// @param ids   the table.
/// @param name  a string, compared byte for byte.
/// @param out   receives the id, or -1 if the table does not have the name.
///
/// @return PLIM_OK or a common error.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn plim_ids_find(ids: *const plim_ids, name: *const c_char, out: *mut i32) -> plim_status {
    guard(|| {
        // SAFETY: the caller promises `out` is NULL or valid for one write.
        let out = unsafe { ptr::out("out", out) }?;
        let ids = ptr::handle("ids", ids)?;
        // SAFETY: the caller promises `name` is NULL or a string.
        let name = unsafe { ptr::text("name", name) }?;
        out.set(ids.read()?.find(name).unwrap_or(-1));
        Ok(())
    })
}

/// Copies the name of an id.
///
/// @param ids       the table.
/// @param id        0 .. plim_ids_count() - 1.
/// @param dst       receives the name as it is in the file, terminated by NUL.
/// @param capacity  number of bytes that fit in `dst`; plim_ids_name_size() is enough for any name.
///
/// @return PLIM_OK or a common error.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn plim_ids_copy_name(
    ids: *const plim_ids,
    id: i32,
    dst: *mut c_char,
    capacity: usize,
) -> plim_status {
    guard(|| {
        let ids = ptr::handle("ids", ids)?;
        let ids = ids.read()?;
        let name =
            ids.name(id).ok_or_else(|| Error::InvalidArgument(format!("id = {id} is outside [0, {})", ids.len())))?;
        // SAFETY: the caller promises `dst` is NULL or valid for `capacity` writes.
        let buffer = unsafe { ptr::buffer("dst", dst, capacity, name.len() + 1) }?;
        let mut text = try_with_capacity(name.len() + 1).for_the("copy of a name")?;
        text.extend(name.iter().chain(&[0]).map(|&byte| byte as c_char));
        buffer.put(&text);
        Ok(())
    })
}

/// Frees a table.
///
/// @param ids  the table; NULL and handles that are not live are ignored.
#[unsafe(no_mangle)]
pub extern "C" fn plim_ids_free(ids: *mut plim_ids) {
    free(ids);
}
