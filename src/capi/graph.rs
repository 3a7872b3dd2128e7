//! Graphs.

use super::body::{change, copy, free, load, save};
use super::constant::{constant, constants};
use super::guard::{getter, guard};
use super::log::Logger;
use super::ptr::{self, handles};
use super::status::plim_status;
use crate::error::{Error, ForThe, Result};
use crate::graph::{EdgeListOptions, Graph, Normalization, Split, check_indptr};
use std::ffi::{c_char, c_void};
use std::path::Path;

/// A graph: edges, features, labels and splits. Free it with plim_graph_free().
pub struct plim_graph {
    _opaque: [u8; 0],
}

/// The nodes, or queries, to train on.
pub const PLIM_SPLIT_TRAIN: i32 = 0;
/// The nodes, or queries, that decide which epoch is best.
pub const PLIM_SPLIT_VAL: i32 = 1;
/// The nodes, or queries, to report results on. Training does not read this split.
pub const PLIM_SPLIT_TEST: i32 = 2;

constants!(Split, "split", "PLIM_SPLIT_", [(PLIM_SPLIT_TRAIN, Train), (PLIM_SPLIT_VAL, Val), (PLIM_SPLIT_TEST, Test)]);

/// Â = D^-1/2 (A + I) D^-1/2, where D holds the row sums of A + I. The default, except after
/// plim_graph_view_csr().
pub const PLIM_NORMALIZATION_SYMMETRIC: i32 = 0;
/// Â = D^-1 (A + I), where D holds the row sums of A + I.
pub const PLIM_NORMALIZATION_ROW: i32 = 1;
/// Â = A, without adding I.
pub const PLIM_NORMALIZATION_NONE: i32 = 2;

constants!(
    Normalization,
    "normalization",
    "PLIM_NORMALIZATION_",
    [(PLIM_NORMALIZATION_SYMMETRIC, Symmetric), (PLIM_NORMALIZATION_ROW, Row), (PLIM_NORMALIZATION_NONE, None)]
);

/// Called once when the library no longer needs arrays that it has borrowed.
///
/// It runs on the thread whose call was the last to use the arrays. It may call functions of this
/// library, but not with the graph that borrowed them.
///
/// @param user_data  the pointer that was passed with the arrays.
pub type plim_release_fn = Option<unsafe extern "C" fn(user_data: *mut c_void)>;

/// What the getters of a graph return.
#[derive(Clone, Copy, Default)]
pub struct GraphFacts {
    num_nodes: usize,
    num_edges: usize,
    num_features: usize,
    num_classes: usize,
    splits: [usize; 3],
}

handles!(plim_graph, Graph, GraphFacts, |graph| GraphFacts {
    num_nodes: graph.num_nodes(),
    num_edges: graph.num_edges(),
    num_features: graph.num_features(),
    num_classes: graph.num_classes(),
    splits: [Split::Train, Split::Val, Split::Test].map(|split| graph.split(split).len()),
});

/// Number of entries of an `indptr` for `rows` rows, or an error if there are too many.
fn indptr_len(rows: usize) -> Result<usize> {
    rows.checked_add(1).ok_or_else(|| Error::InvalidArgument(format!("num_nodes = {rows} is too large")))
}

/// Number of values of dense features, or an error if there are too many.
fn features_len(graph: &Graph, num_features: usize) -> Result<usize> {
    let count = graph.num_nodes().checked_mul(num_features);
    count.ok_or_else(|| Error::InvalidArgument(format!("num_features = {num_features} is too large")))
}

/// Creates a graph from undirected edges.
///
/// (u, v) and (v, u) are the same edge. Repeated edges merge: their weights are added, and without
/// weights the merged edge has weight 1. A self-loop is one entry on the diagonal of A.
///
/// @param num_nodes  number of nodes, 1 .. INT32_MAX; ids are 0 .. num_nodes - 1.
/// @param num_edges  number of edges; if 0, the arrays may be NULL.
/// @param sources    `num_edges` node ids.
/// @param targets    `num_edges` node ids.
/// @param weights    `num_edges` finite weights >= 0, or NULL for 1.
/// @param out        receives the graph; free it with plim_graph_free().
///
/// @return PLIM_OK or a common error. plim_last_error() names the entry: "targets[3] = 9 is outside
///         [0, 5)".
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn plim_graph_from_edges(
    num_nodes: usize,
    num_edges: usize,
    sources: *const i32,
    targets: *const i32,
    weights: *const f32,
    out: *mut *mut plim_graph,
) -> plim_status {
    guard(|| {
        // SAFETY: the caller promises `out` is NULL or valid for one write.
        let out = unsafe { ptr::out("out", out) }?;
        // SAFETY: the caller promises `num_edges` readable elements behind each pointer.
        let sources = unsafe { ptr::slice("sources", sources, num_edges) }?;
        // SAFETY: as above.
        let targets = unsafe { ptr::slice("targets", targets, num_edges) }?;
        // SAFETY: as above.
        let weights = unsafe { ptr::optional_slice("weights", weights, num_edges) }?;
        out.give(Graph::from_edges(num_nodes, sources, targets, weights)?)
    })
}

/// Creates a graph from a matrix A in compressed sparse rows (CSR), directed or not.
///
/// Row v lists the nodes that v aggregates from, in any order. Repeated entries merge, as repeated
/// edges do in plim_graph_from_edges().
///
/// @param num_nodes  number of rows and columns, 1 .. INT32_MAX.
/// @param indptr     `num_nodes + 1` offsets; the first is 0, and none is less than the one before
///                   it.
/// @param indices    `indptr[num_nodes]` column ids; may be NULL if there are none.
/// @param values     `indptr[num_nodes]` finite weights >= 0, or NULL for 1.
/// @param out        receives the graph; free it with plim_graph_free().
///
/// @return PLIM_OK or a common error.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn plim_graph_from_csr(
    num_nodes: usize,
    indptr: *const i64,
    indices: *const i32,
    values: *const f32,
    out: *mut *mut plim_graph,
) -> plim_status {
    guard(|| {
        // SAFETY: the caller promises `out` is NULL or valid for one write.
        let out = unsafe { ptr::out("out", out) }?;
        Graph::check_num_nodes(num_nodes)?;
        // SAFETY: the caller promises `num_nodes + 1` readable offsets.
        let indptr = unsafe { ptr::slice("indptr", indptr, indptr_len(num_nodes)?) }?;
        let entries = check_indptr(indptr, "indptr")?;
        // SAFETY: the caller promises `indptr[num_nodes]` readable elements behind each pointer.
        let indices = unsafe { ptr::slice("indices", indices, entries) }?;
        // SAFETY: as above.
        let values = unsafe { ptr::optional_slice("values", values, entries) }?;
        out.give(Graph::from_csr(num_nodes, indptr, indices, values)?)
    })
}

/// Creates the Mixture graph of the paper: three overlapping Gaussians in the plane, one per class.
///
/// The graph has 3 · `nodes_per_class` nodes, ordered by class, 2 features and the labels 0, 1, 2.
/// Two nodes of a class are linked with probability 1e-3 in each direction, two nodes of different
/// classes with probability 2e-4; a link in either direction makes an undirected edge. In each class
/// the first 40 % of the nodes are for training, the next 20 % for validation and the rest for
/// testing. The paper uses 2000 nodes per class. Time and memory grow linearly with nodes and edges.
///
/// @param nodes_per_class  1 .. INT32_MAX / 3.
/// @param seed             the same seed creates the same graph.
/// @param out              receives the graph; free it with plim_graph_free().
///
/// @return PLIM_OK or a common error.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn plim_graph_from_mixture(
    nodes_per_class: usize,
    seed: u64,
    out: *mut *mut plim_graph,
) -> plim_status {
    guard(|| {
        // SAFETY: the caller promises `out` is NULL or valid for one write.
        let out = unsafe { ptr::out("out", out) }?;
        out.give(Graph::from_mixture(nodes_per_class, seed)?)
    })
}

/// Creates a graph that borrows a matrix in compressed sparse rows instead of copying it.
///
/// The arrays must stay in place and unchanged until `release` is called. That happens once, when no
/// call uses the graph any more after plim_graph_free(), or earlier if the graph no longer needs the
/// arrays. If this function fails, `release` is not called and the arrays remain yours.
///
/// The normalisation is PLIM_NORMALIZATION_NONE: Â is the matrix itself. Selecting another one makes
/// a copy. This call reads and checks every entry once.
///
/// @param num_nodes  number of rows and columns, 1 .. INT32_MAX.
/// @param indptr     `num_nodes + 1` offsets; the first is 0, and none is less than the one before
///                   it.
/// @param indices    `indptr[num_nodes]` column ids, strictly ascending in each row; may be NULL if
///                   there are none. Use plim_graph_from_csr() for unsorted rows.
/// @param values     `indptr[num_nodes]` finite weights >= 0, or NULL for 1. With NULL the library
///                   allocates an array of ones.
/// @param release    called when the arrays are no longer needed; may be NULL.
/// @param user_data  passed to `release`.
/// @param out        receives the graph; free it with plim_graph_free().
///
/// @return PLIM_OK or a common error.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn plim_graph_view_csr(
    num_nodes: usize,
    indptr: *const i64,
    indices: *const i32,
    values: *const f32,
    release: plim_release_fn,
    user_data: *mut c_void,
    out: *mut *mut plim_graph,
) -> plim_status {
    guard(|| {
        // SAFETY: the caller promises `out` is NULL or valid for one write.
        let out = unsafe { ptr::out("out", out) }?;
        Graph::check_num_nodes(num_nodes)?;
        let lease = ptr::Lease::new(release, user_data);
        // SAFETY: the caller promises `num_nodes + 1` offsets, unchanged until the release.
        let indptr = unsafe { lease.array("indptr", indptr, indptr_len(num_nodes)?) }?;
        let entries = check_indptr(&indptr, "indptr")?;
        // SAFETY: the caller promises `indptr[num_nodes]` elements behind each pointer, unchanged until the release.
        let indices = unsafe { lease.array("indices", indices, entries) }?;
        // SAFETY: as above.
        let values = unsafe { lease.optional_array("values", values, entries) }?;
        out.give(Graph::view_csr(indptr, indices, values)?)?;
        lease.begin();
        Ok(())
    })
}

/// Reads undirected edges from a text file: CSV, TSV or columns of blanks, one edge a line.
///
/// This is plim_graph_from_edge_list_with() with default options. A line has a source, a target and
/// perhaps a weight, separated by commas, semicolons, tabs or blanks. Ids count from 0. If no field of
/// the first line is a number, it is a header. It is skipped, as are blank lines and those that begin
/// with # or %. Repeated edges merge and self-loops count as in plim_graph_from_edges().
///
/// @param path       a file name.
/// @param num_nodes  number of nodes; 0 for one more than the largest id in the file.
/// @param out        receives the graph; free it with plim_graph_free().
///
/// @return PLIM_OK or a common error.
///         PLIM_ERROR_IO: the file cannot be read.
///         PLIM_ERROR_BAD_FORMAT: plim_last_error() names line and column.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn plim_graph_from_edge_list(
    path: *const c_char,
    num_nodes: usize,
    out: *mut *mut plim_graph,
) -> plim_status {
    let read = |path: &Path| {
        let (mut options, mut silent) = (EdgeListOptions::default(), Logger::NONE);
        options.set_num_nodes(num_nodes)?;
        Graph::from_edge_list(path, &options, &mut silent)
    };
    // SAFETY: the caller promises `path` is NULL or a string, and `out` is NULL or valid for one write.
    unsafe { load(path, out, read) }
}

/// Reads a graph from an .npz file or a Matrix Market file, or opens a store; which it is shows in its content.
///
/// An .npz file is what NumPy's savez writes or plim_graph_save() does. Keys: `num_nodes`; `edges` [m, 2] and `self_loops` [k], with `edge_weights` [m] and `self_loop_weights` [k] if
/// weighted, or `adj_indptr`, `adj_indices` and, if weighted, `adj_values`; `features` [n, d], or `num_features` and `features_indptr`,
/// `features_indices`, `features_data`; `labels` [n], -1 for none; `num_classes`, if plim_graph_set_num_classes() has set
/// it; `train`, `val`, `test`; `normalization`. All but
/// the nodes and edges may be missing; other keys are ignored.
///
/// A Matrix Market file holds the matrix in coordinates, of type real, integer or pattern. A symmetric one is undirected
/// edges, as for plim_graph_from_edges(); a general one is A by rows, as for plim_graph_from_csr().
///
/// A store is a directory that plim_graph_save_store() or NumPy made. Its arrays are mapped into memory, not read: a graph may
/// be larger than memory, and sampled gradients touch only what they draw. Nothing may write to its files as long as the graph
/// lives; a file that is cut short meanwhile ends the process with SIGBUS. Offsets, ids and weights are checked once, here;
/// dense features are not, and one that is not finite shows as PLIM_ERROR_DIVERGED when it is used. A store that the library
/// wrote has checksums. They are compared here for all but the mapped arrays, and there by plim_graph_verify(). The bound of
/// plim_graph_set_cache() is 0 at first.
///
/// @param path  a file name, or that of a store's directory.
/// @param out   receives the graph; release it with plim_graph_free(). Untouched unless PLIM_OK is returned.
///
/// @return PLIM_OK, PLIM_ERROR_NULL_POINTER, PLIM_ERROR_INVALID_ARGUMENT (an empty path), PLIM_ERROR_IO (it cannot be
///         read), PLIM_ERROR_BAD_FORMAT (it is none of these, or is damaged), PLIM_ERROR_UNSUPPORTED (a newer store, a Matrix
///         Market file of another kind) or PLIM_ERROR_OUT_OF_MEMORY.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn plim_graph_load(path: *const c_char, out: *mut *mut plim_graph) -> plim_status {
    // SAFETY: the caller promises `path` is NULL or a string, and `out` is NULL or valid for one write.
    unsafe { load(path, out, Graph::load) }
}

/// Writes the graph as an .npz file that plim_graph_load() and numpy.load() read.
///
/// The features are written as they are now. The file appears whole or not at all: an older one of that name stays
/// until the new one is complete.
///
/// @param graph  the graph.
/// @param path   a file name, ending in .npz by custom.
///
/// @return PLIM_OK, PLIM_ERROR_NULL_POINTER, PLIM_ERROR_INVALID_ARGUMENT (an empty path), PLIM_ERROR_IO (it cannot be
///         written), PLIM_ERROR_INVALID_HANDLE or PLIM_ERROR_BUSY.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn plim_graph_save(graph: *const plim_graph, path: *const c_char) -> plim_status {
    // SAFETY: the caller promises `path` is NULL or a string.
    unsafe {
        save(("graph", graph), ("path", path), |graph, path| {
            graph.save(path).for_the(format_args!("file {}", path.display()))
        })
    }
}

/// Writes the graph as a store: a directory of .npy files and a meta.json that plim_graph_load() maps into memory.
///
/// indptr.npy, indices.npy and values.npy hold Â, which is ready for use as it is; features.npy [n, d] (or
/// features_indptr.npy, features_indices.npy, features_data.npy), labels.npy, train.npy, val.npy and test.npy are as in an
/// .npz file. numpy.load(mmap_mode="r") reads each. meta.json has a CRC-32 of each file. The directory appears whole or not at
/// all.
///
/// @param graph      the graph.
/// @param directory  a name that is not taken yet, or that of an empty directory.
///
/// @return PLIM_OK, PLIM_ERROR_NULL_POINTER, PLIM_ERROR_INVALID_ARGUMENT (an empty name), PLIM_ERROR_IO (it cannot be written,
///         or something else than an empty directory is there), PLIM_ERROR_INVALID_HANDLE or PLIM_ERROR_BUSY.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn plim_graph_save_store(graph: *const plim_graph, directory: *const c_char) -> plim_status {
    // SAFETY: the caller promises `directory` is NULL or a string.
    unsafe {
        save(("graph", graph), ("directory", directory), |graph, directory| {
            graph.save_store(directory).for_the(format_args!("store {}", directory.display()))
        })
    }
}

/// Checks the arrays that a graph maps from a store: reads them from end to end, and compares them with the store's checksums.
///
/// plim_graph_load() has compared all other files of the store. The check covers the files as they were mapped, even if the graph
/// has received other features or another normalisation meanwhile. Its time is that of reading the store.
///
/// @param graph  the graph; one that was not loaded from a store has nothing to check.
///
/// @return PLIM_OK or a common error.
///         PLIM_ERROR_BAD_FORMAT: an array differs from what was written; plim_last_error() names it.
///         PLIM_ERROR_MISSING_DATA: the store has no checksums, for example because NumPy wrote it.
#[unsafe(no_mangle)]
#[must_use]
pub extern "C" fn plim_graph_verify(graph: *const plim_graph) -> plim_status {
    guard(|| ptr::handle("graph", graph)?.read()?.verify())
}

/// Limits the memory for ÂX, the product that an exact input layer reads.
///
/// ÂX is computed once, when a gradient or a prediction for all nodes first needs it, and discarded
/// when the features or the normalisation change. If it would exceed the limit, each step computes
/// the rows it needs. Results have the same bits either way.
///
/// Models made of layers may need other products, such as means of neighbours' features or Â²X. Each of
/// them is kept in the same way, with this limit.
///
/// @param graph      the graph.
/// @param max_bytes  the limit in bytes; 0 keeps nothing. Default: 2^30, and 0 for a store.
///
/// @return PLIM_OK or a common error.
#[unsafe(no_mangle)]
#[must_use]
pub extern "C" fn plim_graph_set_cache(graph: *mut plim_graph, max_bytes: usize) -> plim_status {
    change("graph", graph, |graph| {
        graph.set_cache(max_bytes);
        Ok(())
    })
}

/// Frees a graph.
///
/// @param graph  the graph; NULL and handles that are not live are ignored.
#[unsafe(no_mangle)]
pub extern "C" fn plim_graph_free(graph: *mut plim_graph) {
    free(graph);
}

/// Sets dense features, replacing earlier ones.
///
/// @param graph         the graph.
/// @param num_features  number of columns, 1 .. INT32_MAX.
/// @param row_major     `num_nodes × num_features` finite values, one row per node.
///
/// @return PLIM_OK or a common error.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn plim_graph_set_features(
    graph: *mut plim_graph,
    num_features: usize,
    row_major: *const f32,
) -> plim_status {
    guard(|| {
        let graph = ptr::handle("graph", graph)?;
        let mut graph = graph.write()?;
        let count = features_len(&graph, num_features)?;
        // SAFETY: the caller promises `num_nodes × num_features` readable values.
        let row_major = unsafe { ptr::slice("row_major", row_major, count) }?;
        graph.set_features(num_features, row_major)
    })
}

/// Sets dense features, replacing earlier ones, by borrowing the array instead of copying it.
///
/// The array must stay in place and unchanged until `release` is called. That happens once, when the
/// graph has received other features or has been freed and no call uses it any more. If this
/// function fails, `release` is not called and the array remains yours. This call reads and checks
/// every value once. plim_graph_normalize_features() makes a copy.
///
/// @param graph         the graph.
/// @param num_features  number of columns, 1 .. INT32_MAX.
/// @param row_major     `num_nodes × num_features` finite values, one row per node.
/// @param release       called when the array is no longer needed; may be NULL.
/// @param user_data     passed to `release`.
///
/// @return PLIM_OK or a common error.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn plim_graph_view_features(
    graph: *mut plim_graph,
    num_features: usize,
    row_major: *const f32,
    release: plim_release_fn,
    user_data: *mut c_void,
) -> plim_status {
    guard(|| {
        let graph = ptr::handle("graph", graph)?;
        let mut graph = graph.write()?;
        let lease = ptr::Lease::new(release, user_data);
        let count = features_len(&graph, num_features)?;
        // SAFETY: the caller promises `num_nodes × num_features` values, unchanged until the release.
        let row_major = unsafe { lease.array("row_major", row_major, count) }?;
        graph.view_features(num_features, row_major)?;
        lease.begin();
        Ok(())
    })
}

/// Sets features in compressed sparse rows, replacing earlier ones. Repeated entries are added.
///
/// @param graph         the graph.
/// @param num_features  number of columns, 1 .. INT32_MAX.
/// @param indptr        `num_nodes + 1` offsets; the first is 0, and none is less than the one
///                      before it.
/// @param indices       `indptr[num_nodes]` column ids, in any order within a row; may be NULL if
///                      there are none.
/// @param values        `indptr[num_nodes]` finite values; may be NULL if there are none.
///
/// @return PLIM_OK or a common error.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn plim_graph_set_sparse_features(
    graph: *mut plim_graph,
    num_features: usize,
    indptr: *const i64,
    indices: *const i32,
    values: *const f32,
) -> plim_status {
    guard(|| {
        let graph = ptr::handle("graph", graph)?;
        let mut graph = graph.write()?;
        // SAFETY: the caller promises `num_nodes + 1` readable offsets.
        let indptr = unsafe { ptr::slice("indptr", indptr, indptr_len(graph.num_nodes())?) }?;
        let entries = check_indptr(indptr, "indptr")?;
        // SAFETY: the caller promises `indptr[num_nodes]` readable elements behind each pointer.
        let indices = unsafe { ptr::slice("indices", indices, entries) }?;
        // SAFETY: as above.
        let values = unsafe { ptr::slice("values", values, entries) }?;
        graph.set_sparse_features(num_features, indptr, indices, values)
    })
}

/// Divides each row of the features by its sum. A row that sums to 0 does not change.
///
/// @param graph  the graph.
///
/// @return PLIM_OK or a common error.
///         PLIM_ERROR_MISSING_DATA: the graph has no features.
///         PLIM_ERROR_INVALID_ARGUMENT: a quotient is not finite.
#[unsafe(no_mangle)]
#[must_use]
pub extern "C" fn plim_graph_normalize_features(graph: *mut plim_graph) -> plim_status {
    change("graph", graph, Graph::normalize_features)
}

/// Sets the class labels, replacing earlier ones.
///
/// @param graph   the graph.
/// @param labels  `num_nodes` class ids 0, 1, …; -1 for a node without a label. Ids are less than the
///                number that plim_graph_set_num_classes() has set, if any, else less than `num_nodes`
///                or 65536, whichever is larger.
///
/// @return PLIM_OK or a common error. plim_last_error() names the entry: "labels[7] = 2147483647 is not
///         below 65536; state the number of classes if there are more".
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn plim_graph_set_labels(graph: *mut plim_graph, labels: *const i32) -> plim_status {
    guard(|| {
        let graph = ptr::handle("graph", graph)?;
        let mut graph = graph.write()?;
        // SAFETY: the caller promises `num_nodes` readable labels.
        let labels = unsafe { ptr::slice("labels", labels, graph.num_nodes()) }?;
        graph.set_labels(labels)
    })
}

/// Sets the number of classes, some of which may have no node.
///
/// Labels that are set later must be less than this number. It is part of the graph's files.
///
/// @param graph        the graph.
/// @param num_classes  more than the largest label, at most INT32_MAX; 0 counts the classes from the
///                     labels again. Default: 0.
///
/// @return PLIM_OK or a common error. plim_last_error() names a label that does not fit: "labels[3] = 5
///         is not below 4, the stated number of classes".
#[unsafe(no_mangle)]
#[must_use]
pub extern "C" fn plim_graph_set_num_classes(graph: *mut plim_graph, num_classes: usize) -> plim_status {
    change("graph", graph, |graph| graph.set_num_classes(num_classes))
}

/// Sets the nodes of a split, replacing earlier ones.
///
/// @param graph  the graph.
/// @param split  PLIM_SPLIT_TRAIN, PLIM_SPLIT_VAL or PLIM_SPLIT_TEST.
/// @param nodes  `count` different node ids; may be NULL if `count` is 0.
/// @param count  number of nodes; 0 empties the split.
///
/// @return PLIM_OK or a common error.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn plim_graph_set_split(
    graph: *mut plim_graph,
    split: i32,
    nodes: *const i32,
    count: usize,
) -> plim_status {
    guard(|| {
        let graph = ptr::handle("graph", graph)?;
        let split = constant::<Split>(split)?;
        // SAFETY: the caller promises `count` readable ids.
        let nodes = unsafe { ptr::slice("nodes", nodes, count) }?;
        graph.write()?.set_split(split, nodes)
    })
}

/// Selects how Â is computed from A. Edges, features, labels and splits do not change.
///
/// @param graph          the graph.
/// @param normalization  PLIM_NORMALIZATION_SYMMETRIC (default), PLIM_NORMALIZATION_ROW or
///                       PLIM_NORMALIZATION_NONE.
///
/// @return PLIM_OK or a common error.
#[unsafe(no_mangle)]
#[must_use]
pub extern "C" fn plim_graph_set_normalization(graph: *mut plim_graph, normalization: i32) -> plim_status {
    guard(|| {
        let graph = ptr::handle("graph", graph)?;
        let normalization = constant::<Normalization>(normalization)?;
        graph.write()?.set_normalization(normalization)
    })
}

/// Returns the number of nodes.
///
/// @param graph  the graph.
///
/// @return the number of nodes.
#[unsafe(no_mangle)]
pub extern "C" fn plim_graph_num_nodes(graph: *const plim_graph) -> usize {
    getter(|| Some(ptr::facts(graph)?.num_nodes))
}

/// Returns the number of edges: different undirected edges, a self-loop counting as one, or the
/// entries of A if the graph was created from CSR.
///
/// @param graph  the graph.
///
/// @return the number of edges.
#[unsafe(no_mangle)]
pub extern "C" fn plim_graph_num_edges(graph: *const plim_graph) -> usize {
    getter(|| Some(ptr::facts(graph)?.num_edges))
}

/// Returns the number of features per node.
///
/// @param graph  the graph.
///
/// @return the number; 0 if the graph has no features.
#[unsafe(no_mangle)]
pub extern "C" fn plim_graph_num_features(graph: *const plim_graph) -> usize {
    getter(|| Some(ptr::facts(graph)?.num_features))
}

/// Returns the number of classes: the one set by plim_graph_set_num_classes(), else one more than the
/// largest label.
///
/// @param graph  the graph.
///
/// @return the number; 0 if none is set and no node has a label.
#[unsafe(no_mangle)]
pub extern "C" fn plim_graph_num_classes(graph: *const plim_graph) -> usize {
    getter(|| Some(ptr::facts(graph)?.num_classes))
}

/// Returns the number of nodes in a split.
///
/// @param graph  the graph.
/// @param split  PLIM_SPLIT_TRAIN, PLIM_SPLIT_VAL or PLIM_SPLIT_TEST.
///
/// @return the number; 0 if `split` is none of these.
#[unsafe(no_mangle)]
pub extern "C" fn plim_graph_split_size(graph: *const plim_graph, split: i32) -> usize {
    getter(|| Some(ptr::facts(graph)?.splits[constant::<Split>(split).ok()? as usize]))
}

/// Copies the nodes of a split, in the order in which they were set.
///
/// @param graph     the graph.
/// @param split     PLIM_SPLIT_TRAIN, PLIM_SPLIT_VAL or PLIM_SPLIT_TEST.
/// @param dst       receives plim_graph_split_size() node ids.
/// @param capacity  number of ids that fit in `dst`.
///
/// @return PLIM_OK or a common error.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn plim_graph_copy_split(
    graph: *const plim_graph,
    split: i32,
    dst: *mut i32,
    capacity: usize,
) -> plim_status {
    guard(|| {
        let graph = ptr::handle("graph", graph)?;
        let split = constant::<Split>(split)?;
        let graph = graph.read()?;
        let nodes = graph.split(split);
        // SAFETY: the caller promises `dst` is NULL or valid for `capacity` writes.
        unsafe { ptr::buffer("dst", dst, capacity, nodes.len()) }?.put(nodes);
        Ok(())
    })
}

/// Copies the labels; -1 for a node without one.
///
/// @param graph     the graph.
/// @param dst       receives plim_graph_num_nodes() labels.
/// @param capacity  number of labels that fit in `dst`.
///
/// @return PLIM_OK or a common error.
///         PLIM_ERROR_MISSING_DATA: the graph has no labels.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn plim_graph_copy_labels(
    graph: *const plim_graph,
    dst: *mut i32,
    capacity: usize,
) -> plim_status {
    // SAFETY: the caller promises `dst` is NULL or valid for `capacity` writes.
    unsafe { copy(("graph", graph), (dst, capacity), Graph::labels) }
}
