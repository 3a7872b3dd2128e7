//! Edge lists: how their files are read.

use super::body::free;
use super::constant::{constant, constants};
use super::graph::plim_graph;
use super::guard::guard;
use super::ids::plim_ids;
use super::log::{Logger, plim_log_fn, set_log};
use super::ptr::{self, handles};
use super::status::plim_status;
use crate::error::{Error, Result};
use crate::graph::{Columns, EdgeListOptions, Graph, Header, Merge};
use std::ffi::{c_char, c_void};

/// Options of plim_graph_from_edge_list_with(). Free them with plim_edge_list_options_free().
pub struct plim_edge_list_options {
    _opaque: [u8; 0],
}

/// The first line shows the separator: a comma if it has one outside of quotes, else a semicolon, else
/// blanks, where several spaces and tabs count as one. The default.
///
/// If ids are names, a tab comes before blanks, and a first line with two of comma, semicolon and tab
/// is an error.
pub const PLIM_SEPARATOR_AUTO: i32 = 0;

/// If ids are numbers, the first line is a header if none of its fields is a number. The log says so.
/// If ids are names, nothing tells a header from an edge: the call fails unless columns have names. The
/// default.
pub const PLIM_HEADER_AUTO: i32 = 0;
/// The first line is a header. The call fails if one of its fields is a number, unless columns have
/// names.
pub const PLIM_HEADER_YES: i32 = 1;
/// The first line is an edge.
pub const PLIM_HEADER_NO: i32 = 2;

constants!(Header, "header", "PLIM_HEADER_", [(PLIM_HEADER_AUTO, Auto), (PLIM_HEADER_YES, Yes), (PLIM_HEADER_NO, No)]);

/// The weights of a repeated edge are added. Without weights it has weight 1, however often it is
/// listed. The default.
pub const PLIM_REPEATED_SUM: i32 = 0;
/// The weight of an edge is the number of lines that list it. There is no column of weights; a third of
/// three columns is not read.
pub const PLIM_REPEATED_COUNT: i32 = 1;
/// The first weight in the file stays.
pub const PLIM_REPEATED_FIRST: i32 = 2;
/// The largest weight stays.
pub const PLIM_REPEATED_MAX: i32 = 3;

constants!(
    Merge,
    "repeated",
    "PLIM_REPEATED_",
    [(PLIM_REPEATED_SUM, Sum), (PLIM_REPEATED_COUNT, Count), (PLIM_REPEATED_FIRST, First), (PLIM_REPEATED_MAX, Max)]
);

/// Options and their log.
#[derive(Clone)]
pub struct Reading {
    options: EdgeListOptions,
    logger: Logger,
}

impl Default for Reading {
    fn default() -> Self {
        Reading { options: EdgeListOptions::default(), logger: Logger::NONE }
    }
}

handles!(plim_edge_list_options, Reading);

/// Creates options for reading an edge list, with their default values.
///
/// @param out  receives the options; free them with plim_edge_list_options_free().
///
/// @return PLIM_OK or a common error.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn plim_edge_list_options_new(out: *mut *mut plim_edge_list_options) -> plim_status {
    // SAFETY: the caller promises `out` is NULL or valid for one write.
    guard(|| unsafe { ptr::out("out", out) }?.give(Reading::default()))
}

/// Frees options.
///
/// @param options  the options; NULL and handles that are not live are ignored.
#[unsafe(no_mangle)]
pub extern "C" fn plim_edge_list_options_free(options: *mut plim_edge_list_options) {
    free(options);
}

/// Changes the options of a handle.
fn set(options: *mut plim_edge_list_options, change: impl FnOnce(&mut EdgeListOptions) -> Result<()>) -> plim_status {
    guard(|| change(&mut ptr::handle("options", options)?.write()?.options))
}

/// Sets the byte between the fields of a line.
///
/// With a separator of your own, every such byte ends a field, so that fields can be empty.
///
/// @param options    the options.
/// @param separator  a tab, a space, or a punctuation mark other than " + - and the point, as in ',';
///                   or PLIM_SEPARATOR_AUTO (default).
///
/// @return PLIM_OK or a common error.
#[unsafe(no_mangle)]
#[must_use]
pub extern "C" fn plim_edge_list_options_set_separator(
    options: *mut plim_edge_list_options,
    separator: i32,
) -> plim_status {
    set(options, |options| {
        let byte = u8::try_from(separator)
            .map_err(|_| Error::InvalidArgument(format!("separator = {separator} is not a byte of ASCII")))?;
        options.set_separator(if separator == PLIM_SEPARATOR_AUTO { None } else { Some(byte) })
    })
}

/// Selects whether the first line that is neither blank nor a comment is a header.
///
/// @param options  the options.
/// @param header   PLIM_HEADER_AUTO (default), PLIM_HEADER_YES or PLIM_HEADER_NO.
///
/// @return PLIM_OK or a common error.
#[unsafe(no_mangle)]
#[must_use]
pub extern "C" fn plim_edge_list_options_set_header(options: *mut plim_edge_list_options, header: i32) -> plim_status {
    set(options, |options| {
        options.header = constant(header)?;
        Ok(())
    })
}

/// Selects the columns of source, target and weight by their numbers, counted from 0.
///
/// Other columns are not read. Default: 0 and 1, and 2 for the weight if there are three columns; a file
/// with more columns is an error. This replaces plim_edge_list_options_set_column_names().
///
/// @param options  the options.
/// @param source   0 .. 65535.
/// @param target   0 .. 65535, not `source`.
/// @param weight   0 .. 65535, neither `source` nor `target`; or -1 for no weights.
///
/// @return PLIM_OK or a common error.
#[unsafe(no_mangle)]
#[must_use]
pub extern "C" fn plim_edge_list_options_set_columns(
    options: *mut plim_edge_list_options,
    source: i32,
    target: i32,
    weight: i32,
) -> plim_status {
    set(options, |options| {
        let ends = [column("source", source)?, column("target", target)?];
        let weight = if weight == -1 { None } else { Some(column("weight", weight)?) };
        options.set_columns(Columns::Numbers(ends, weight))
    })
}

fn column(name: &str, number: i32) -> Result<usize> {
    let column = usize::try_from(number).ok().filter(|&column| column <= EdgeListOptions::LAST_COLUMN);
    column.ok_or_else(|| {
        Error::InvalidArgument(format!("{name} = {number} is outside [0, {}]", EdgeListOptions::LAST_COLUMN))
    })
}

/// Selects the columns of source, target and weight by their names in the header.
///
/// The first line is then a header. Names must be equal byte for byte, without the quotes and the blanks
/// around them. This replaces plim_edge_list_options_set_columns().
///
/// @param options  the options.
/// @param source   a name that is not empty.
/// @param target   a name that is not empty, not `source`.
/// @param weight   a name that is not empty, neither `source` nor `target`; or NULL for no weights.
///
/// @return PLIM_OK or a common error.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn plim_edge_list_options_set_column_names(
    options: *mut plim_edge_list_options,
    source: *const c_char,
    target: *const c_char,
    weight: *const c_char,
) -> plim_status {
    set(options, |options| {
        // SAFETY: the caller promises that each is NULL or a string.
        let name = |name, text| unsafe { ptr::text(name, text) }.map(<[u8]>::to_vec);
        let ends = [name("source", source)?, name("target", target)?];
        let weight = if weight.is_null() { None } else { Some(name("weight", weight)?) };
        options.set_columns(Columns::Names(ends, weight))
    })
}

/// Selects whether edges have a direction.
///
/// In a directed graph the target of an edge aggregates from its source: row v of A lists the sources of
/// the edges to v. PLIM_NORMALIZATION_ROW is then usual.
///
/// @param options  the options.
/// @param on       0 for undirected edges (default), any other value for directed ones.
///
/// @return PLIM_OK or a common error.
#[unsafe(no_mangle)]
#[must_use]
pub extern "C" fn plim_edge_list_options_set_directed(options: *mut plim_edge_list_options, on: i32) -> plim_status {
    set(options, |options| {
        options.directed = on != 0;
        Ok(())
    })
}

/// Selects what becomes of an edge that several lines list.
///
/// If edges are undirected, lines for (u, v) and (v, u) list the same edge.
///
/// @param options   the options.
/// @param repeated  PLIM_REPEATED_SUM (default), PLIM_REPEATED_COUNT, PLIM_REPEATED_FIRST or
///                  PLIM_REPEATED_MAX.
///
/// @return PLIM_OK or a common error.
#[unsafe(no_mangle)]
#[must_use]
pub extern "C" fn plim_edge_list_options_set_repeated(
    options: *mut plim_edge_list_options,
    repeated: i32,
) -> plim_status {
    set(options, |options| {
        options.merge = constant(repeated)?;
        Ok(())
    })
}

/// Sets how a line begins that is a comment. Blanks before it do not matter.
///
/// @param options  the options.
/// @param prefix   a text without blanks and quotes, or "" for no comments. Default: NULL, for # and %
///                 if ids are numbers, and for no comments if ids are names, which may begin so.
///
/// @return PLIM_OK or a common error.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn plim_edge_list_options_set_comment(
    options: *mut plim_edge_list_options,
    prefix: *const c_char,
) -> plim_status {
    set(options, |options| {
        // SAFETY: the caller promises `prefix` is NULL or a string.
        let prefix = (!prefix.is_null()).then(|| unsafe { ptr::text("prefix", prefix) }).transpose()?;
        options.set_comment(prefix)
    })
}

/// Sets the number of nodes. A file with more of them is an error; further ones have no edges.
///
/// @param options    the options.
/// @param num_nodes  1 .. INT32_MAX. Default: 0, for one more than the largest id in the file, or for
///                   the number of different names.
///
/// @return PLIM_OK or a common error.
#[unsafe(no_mangle)]
#[must_use]
pub extern "C" fn plim_edge_list_options_set_num_nodes(
    options: *mut plim_edge_list_options,
    num_nodes: usize,
) -> plim_status {
    set(options, |options| options.set_num_nodes(num_nodes))
}

/// Sets a callback that receives log messages: a header that is skipped without being asked for, and the
/// numbers of lines, edges and nodes. Both have PLIM_LOG_INFO.
///
/// @param options    the options.
/// @param level      PLIM_LOG_ERROR, PLIM_LOG_WARNING, PLIM_LOG_INFO or PLIM_LOG_DEBUG: messages of
///                   this level and of those before it are sent.
/// @param fn         the callback; see plim_log_fn. Default: NULL for none.
/// @param user_data  passed to the callback.
///
/// @return PLIM_OK or a common error.
#[unsafe(no_mangle)]
#[must_use]
pub extern "C" fn plim_edge_list_options_set_log(
    options: *mut plim_edge_list_options,
    level: i32,
    r#fn: plim_log_fn,
    user_data: *mut c_void,
) -> plim_status {
    set_log(options, (level, r#fn, user_data), |options| &mut options.logger)
}

/// Reads edges from a text file, such as CSV: one edge a line, whose source, target and weight are fields
/// of the line.
///
/// All lines must have the same number of fields. A field can be in double quotes, as RFC 4180 says:
/// separators and line breaks in it belong to it, and a quote in it is written twice. Blanks around other
/// fields are ignored, as are blank lines, a byte order mark, and the carriage return before a newline. A
/// line has at most 65536 bytes. Weights are finite and not negative.
///
/// With `ids`, the ids in the file are names: any text that is not empty. Nodes are then numbered in the
/// order in which the file first names them, the source of a line before its target. Without `ids`, the
/// ids in the file are the numbers of the nodes, from 0.
///
/// @param path     a file name.
/// @param options  the options, or NULL for the defaults.
/// @param ids      receives the table of names, to be freed with plim_ids_free(); NULL if the ids in the
///                 file are numbers.
/// @param out      receives the graph; free it with plim_graph_free().
///
/// @return PLIM_OK or a common error.
///         PLIM_ERROR_INVALID_ARGUMENT: options contradict each other, or ids are names and it is not
///           said whether there is a header.
///         PLIM_ERROR_IO: the file cannot be read.
///         PLIM_ERROR_BAD_FORMAT: plim_last_error() names the line, the column in bytes from 1 and the
///           text: "transfers.csv: line 7: column 12: "abc" is not a weight".
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn plim_graph_from_edge_list_with(
    path: *const c_char,
    options: *const plim_edge_list_options,
    ids: *mut *mut plim_ids,
    out: *mut *mut plim_graph,
) -> plim_status {
    guard(|| {
        // SAFETY: the caller promises `out` is valid for one write, and that `ids` is NULL or is too.
        let (out, ids) = unsafe { (ptr::out("out", out)?, ptr::optional_out("ids", ids)?) };
        // SAFETY: the caller promises `path` is NULL or a string.
        let path = unsafe { ptr::path("path", path) }?;
        let Reading { options, mut logger } = match options.is_null() {
            true => Reading::default(),
            false => ptr::handle("options", options)?.read()?.clone(),
        };
        let Some(ids) = ids else { return out.give(Graph::from_edge_list(path, &options, &mut logger)?) };
        let (graph, table) = Graph::from_named_edge_list(path, &options, &mut logger)?;
        ptr::give_both((out, graph), (ids, table))
    })
}
