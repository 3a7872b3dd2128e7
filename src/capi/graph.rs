//! Graphs.

use super::constant::{Constant, constant};
use super::guard::{getter, guard};
use super::handle::Object;
use super::ptr::{self, Opaque};
use super::status::plim_status;
use crate::error::{Error, ForThe, Result};
use crate::graph::{Graph, Normalization, Split, check_indptr};
use std::ffi::{c_char, c_void};

/// An attributed graph: adjacency, features, labels and splits. Release it with plim_graph_free().
pub struct plim_graph {
    _opaque: [u8; 0],
}

/// Split of the nodes to learn from.
pub const PLIM_SPLIT_TRAIN: i32 = 0;
/// Split of the nodes to choose the best epoch by.
pub const PLIM_SPLIT_VAL: i32 = 1;
/// Split of the nodes to report accuracy on.
pub const PLIM_SPLIT_TEST: i32 = 2;

impl Constant for Split {
    const ARGUMENT: &'static str = "split";
    const PREFIX: &'static str = "PLIM_SPLIT_";
    const ALL: &'static [(i32, Self)] =
        &[(PLIM_SPLIT_TRAIN, Split::Train), (PLIM_SPLIT_VAL, Split::Val), (PLIM_SPLIT_TEST, Split::Test)];
}

/// Â = D^-1/2 (A + I) D^-1/2, D the row sums of A + I. The default.
pub const PLIM_NORMALIZATION_SYMMETRIC: i32 = 0;
/// Â = D^-1 (A + I).
pub const PLIM_NORMALIZATION_ROW: i32 = 1;
/// Â = A exactly as it is; no I is added.
pub const PLIM_NORMALIZATION_NONE: i32 = 2;

impl Constant for Normalization {
    const ARGUMENT: &'static str = "normalization";
    const PREFIX: &'static str = "PLIM_NORMALIZATION_";
    const ALL: &'static [(i32, Self)] = &[
        (PLIM_NORMALIZATION_SYMMETRIC, Normalization::Symmetric),
        (PLIM_NORMALIZATION_ROW, Normalization::Row),
        (PLIM_NORMALIZATION_NONE, Normalization::None),
    ];
}

/// Tells the caller that arrays it has lent are no longer needed.
///
/// @param user_data  what was handed over with the arrays.
pub type plim_release_fn = Option<unsafe extern "C" fn(user_data: *mut c_void)>;

/// What the getters tell of a graph.
#[derive(Clone, Copy, Default)]
pub struct GraphFacts {
    num_nodes: usize,
    num_edges: usize,
    num_features: usize,
    num_classes: usize,
    splits: [usize; 3],
}

impl Object for Graph {
    const NAME: &'static str = "plim_graph";
    type Facts = GraphFacts;

    fn facts(&self) -> GraphFacts {
        GraphFacts {
            num_nodes: self.num_nodes(),
            num_edges: self.num_edges(),
            num_features: self.num_features(),
            num_classes: self.num_classes(),
            splits: [Split::Train, Split::Val, Split::Test].map(|split| self.split(split).len()),
        }
    }
}

impl Opaque for plim_graph {
    type Object = Graph;
}

/// Entries of an `indptr` for `rows` rows, or why there cannot be that many.
fn indptr_len(rows: usize) -> Result<usize> {
    rows.checked_add(1).ok_or_else(|| Error::InvalidArgument(format!("num_nodes = {rows} is too large")))
}

/// Entries of dense features, or why there cannot be that many.
fn features_len(graph: &Graph, num_features: usize) -> Result<usize> {
    let count = graph.num_nodes().checked_mul(num_features);
    count.ok_or_else(|| Error::InvalidArgument(format!("num_features = {num_features} is too large")))
}

/// Copies an undirected edge list into a new graph.
///
/// (u, v) and (v, u) are one edge. Repeated edges merge: their weights add up, and an edge without weights stays 1. A
/// self-loop counts once on the diagonal. The normalisation is PLIM_NORMALIZATION_SYMMETRIC.
///
/// @param num_nodes  number of nodes, 1 .. INT32_MAX; ids are 0 .. num_nodes-1.
/// @param num_edges  may be 0, and then the arrays may be NULL.
/// @param sources    `num_edges` node ids; borrowed for the call only.
/// @param targets    `num_edges` node ids; borrowed for the call only.
/// @param weights    `num_edges` finite weights >= 0, or NULL for all ones.
/// @param out        receives the graph; release it with plim_graph_free(). Untouched unless PLIM_OK is returned.
///
/// @return PLIM_OK, PLIM_ERROR_NULL_POINTER, PLIM_ERROR_OUT_OF_MEMORY or PLIM_ERROR_INVALID_ARGUMENT;
///         plim_last_error() names the entry: "targets[3] = 9 is outside [0, 5)".
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

/// Copies a matrix in compressed sparse rows into a new graph: A as given, directed or not.
///
/// Row v lists the nodes that v aggregates from. Rows need not be sorted; repeated entries merge, as repeated edges do
/// in plim_graph_from_edges(). The normalisation is PLIM_NORMALIZATION_SYMMETRIC, with row sums for D.
///
/// @param num_nodes  number of rows and columns, 1 .. INT32_MAX.
/// @param indptr     `num_nodes + 1` offsets; the first is 0 and none is below the one before it.
/// @param indices    `indptr[num_nodes]` column ids; may be NULL if there are none.
/// @param values     as many finite weights >= 0, or NULL for all ones.
/// @param out        receives the graph; release it with plim_graph_free(). Untouched unless PLIM_OK is returned.
///
/// @return PLIM_OK, PLIM_ERROR_NULL_POINTER, PLIM_ERROR_OUT_OF_MEMORY or PLIM_ERROR_INVALID_ARGUMENT.
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

/// Makes the paper's Mixture graph: three overlapping Gaussians in the plane, linked more often inside than across.
///
/// 3 · `nodes_per_class` nodes in order of class, 2 features, labels 0, 1, 2. Each ordered pair is linked with
/// probability 1e-3 inside a class and 2e-4 across, and the union is made symmetric. Of each class the first 40 %
/// train, the next 20 % validate, the rest test. The paper's size is 2000. Time and memory grow with nodes and edges.
///
/// @param nodes_per_class  at least 1.
/// @param seed             the same seed gives the same graph.
/// @param out              receives the graph; release it with plim_graph_free(). Untouched unless PLIM_OK is returned.
///
/// @return PLIM_OK, PLIM_ERROR_NULL_POINTER, PLIM_ERROR_INVALID_ARGUMENT or PLIM_ERROR_OUT_OF_MEMORY.
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

/// Borrows a matrix in compressed sparse rows: a graph without a copy.
///
/// The matrix is taken as it is, so the normalisation is PLIM_NORMALIZATION_NONE: Â is the caller's matrix. Choosing another
/// one makes the graph's own copy. All entries are looked at once, in this call.
///
/// The arrays must stay where they are, unchanged, until `release` is called: once, after plim_graph_free() or when the graph
/// no longer needs them, by the thread whose call was the last to use them. It may call functions of this library, though
/// not with this graph. If this function fails, the arrays stay the caller's and `release` is never called.
///
/// @param num_nodes  number of rows and columns, 1 .. INT32_MAX.
/// @param indptr     `num_nodes + 1` offsets; the first is 0 and none is below the one before it.
/// @param indices    `indptr[num_nodes]` column ids, ascending in each row; may be NULL if there are none.
/// @param values     as many finite weights >= 0, or NULL for all ones, which then take memory of the library's.
/// @param release    called when the arrays are no longer needed; may be NULL.
/// @param user_data  handed to `release`.
/// @param out        receives the graph; release it with plim_graph_free(). Untouched unless PLIM_OK is returned.
///
/// @return PLIM_OK, PLIM_ERROR_NULL_POINTER, PLIM_ERROR_OUT_OF_MEMORY or PLIM_ERROR_INVALID_ARGUMENT (an entry is out of its
///         range, or a row is not sorted: plim_graph_from_csr() sorts its copy).
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
/// A line has a source, a target and perhaps a weight, separated by commas, semicolons, tabs or blanks; all lines alike. Ids
/// count from 0. A first line without numbers is a header and is skipped, as are blank lines and those that begin with # or
/// %. Repeated edges merge and self-loops count as in plim_graph_from_edges().
///
/// @param path       a file name.
/// @param num_nodes  number of nodes; 0 for one more than the largest id in the file.
/// @param out        receives the graph; release it with plim_graph_free(). Untouched unless PLIM_OK is returned.
///
/// @return PLIM_OK, PLIM_ERROR_NULL_POINTER, PLIM_ERROR_INVALID_ARGUMENT (an empty path, too many nodes), PLIM_ERROR_IO (it
///         cannot be read), PLIM_ERROR_BAD_FORMAT (plim_last_error() names line and column) or PLIM_ERROR_OUT_OF_MEMORY.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn plim_graph_from_edge_list(
    path: *const c_char,
    num_nodes: usize,
    out: *mut *mut plim_graph,
) -> plim_status {
    guard(|| {
        // SAFETY: the caller promises `out` is NULL or valid for one write.
        let out = unsafe { ptr::out("out", out) }?;
        // SAFETY: the caller promises `path` is NULL or a string.
        let path = unsafe { ptr::path("path", path) }?;
        out.give(Graph::from_edge_list(path, num_nodes).for_the(format_args!("edges in {}", path.display()))?)
    })
}

/// Reads a graph from an .npz file or a Matrix Market file, or opens a store; which it is shows in its content.
///
/// An .npz file is what NumPy's savez writes or plim_graph_save() does. Keys: `num_nodes`; `edges` [m, 2] and `self_loops` [k], with `edge_weights` [m] and `self_loop_weights` [k] if
/// weighted, or `adj_indptr`, `adj_indices` and, if weighted, `adj_values`; `features` [n, d], or `num_features` and `features_indptr`,
/// `features_indices`, `features_data`; `labels` [n], -1 for none; `train`, `val`, `test`; `normalization`. All but
/// the nodes and edges may be missing; other keys are ignored.
///
/// A Matrix Market file holds the matrix in coordinates, of type real, integer or pattern. A symmetric one is undirected
/// edges, as for plim_graph_from_edges(); a general one is A by rows, as for plim_graph_from_csr().
///
/// A store is a directory that plim_graph_save_store() or NumPy made. Its arrays are mapped into memory, not read: a graph may
/// be larger than memory, and sampled gradients touch only what they draw. Nothing may write to its files as long as the graph
/// lives; a file that is cut short meanwhile ends the process with SIGBUS. Offsets, ids and weights are checked once, here;
/// dense features are not, and one that is not finite shows as PLIM_ERROR_DIVERGED when it is used. The bound of
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
    guard(|| {
        // SAFETY: the caller promises `out` is NULL or valid for one write.
        let out = unsafe { ptr::out("out", out) }?;
        // SAFETY: the caller promises `path` is NULL or a string.
        let path = unsafe { ptr::path("path", path) }?;
        out.give(Graph::load(path)?)
    })
}

/// Writes the graph as an .npz file that plim_graph_load() and numpy.load() read.
///
/// The features are written as they are now. The file appears whole or not at all: an older one of that name stays
/// until the new one is complete.
///
/// @param graph  the graph.
/// @param path   a file name, ending in .npz by custom.
///
/// @return PLIM_OK, PLIM_ERROR_NULL_POINTER, PLIM_ERROR_INVALID_ARGUMENT (an empty path), PLIM_ERROR_IO,
///         PLIM_ERROR_INVALID_HANDLE or PLIM_ERROR_BUSY.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn plim_graph_save(graph: *const plim_graph, path: *const c_char) -> plim_status {
    guard(|| {
        let graph = ptr::handle("graph", graph)?;
        // SAFETY: the caller promises `path` is NULL or a string.
        let path = unsafe { ptr::path("path", path) }?;
        graph.read()?.save(path).for_the(format_args!("file {}", path.display()))
    })
}

/// Writes the graph as a store: a directory of .npy files and a meta.json that plim_graph_load() maps into memory.
///
/// indptr.npy, indices.npy and values.npy hold Â, which is ready for use as it is; features.npy [n, d] (or
/// features_indptr.npy, features_indices.npy, features_data.npy), labels.npy, train.npy, val.npy and test.npy are as in an
/// .npz file. numpy.load(mmap_mode="r") reads each. The directory appears whole or not at all.
///
/// @param graph      the graph.
/// @param directory  a name that is not taken yet, or that of an empty directory.
///
/// @return PLIM_OK, PLIM_ERROR_NULL_POINTER, PLIM_ERROR_INVALID_ARGUMENT (an empty name), PLIM_ERROR_IO (it cannot be written,
///         or is there and not empty), PLIM_ERROR_INVALID_HANDLE or PLIM_ERROR_BUSY.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn plim_graph_save_store(graph: *const plim_graph, directory: *const c_char) -> plim_status {
    guard(|| {
        let graph = ptr::handle("graph", graph)?;
        // SAFETY: the caller promises `directory` is NULL or a string.
        let directory = unsafe { ptr::path("directory", directory) }?;
        graph.read()?.save_store(directory).for_the(format_args!("store {}", directory.display()))
    })
}

/// Bounds the memory for ÂX, the aggregated features that an exact input layer reads.
///
/// ÂX is computed once, when a gradient or a whole-graph prediction first needs it, and dropped when features or
/// normalisation change. Where it would be larger than the bound, the rows that are needed are computed each time;
/// results have the same bits.
///
/// @param graph      the graph.
/// @param max_bytes  the bound; 0 keeps nothing. The default is 1 GiB, and 0 for a store.
///
/// @return PLIM_OK, PLIM_ERROR_NULL_POINTER, PLIM_ERROR_INVALID_HANDLE or PLIM_ERROR_BUSY.
#[unsafe(no_mangle)]
#[must_use]
pub extern "C" fn plim_graph_set_cache(graph: *mut plim_graph, max_bytes: usize) -> plim_status {
    guard(|| {
        ptr::handle("graph", graph)?.write()?.set_cache(max_bytes);
        Ok(())
    })
}

/// Ends a graph's handle.
///
/// @param graph  the graph; NULL and handles that are not live are ignored.
#[unsafe(no_mangle)]
pub extern "C" fn plim_graph_free(graph: *mut plim_graph) {
    getter(|| {
        ptr::free(graph);
        Some(())
    })
}

/// Copies dense features, replacing any the graph had.
///
/// @param graph         the graph.
/// @param num_features  columns, 1 .. INT32_MAX.
/// @param row_major     `num_nodes × num_features` finite values, row after row.
///
/// @return PLIM_OK, PLIM_ERROR_NULL_POINTER, PLIM_ERROR_INVALID_ARGUMENT, PLIM_ERROR_INVALID_HANDLE, PLIM_ERROR_BUSY
///         or PLIM_ERROR_OUT_OF_MEMORY. On failure the graph keeps what it had.
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

/// Borrows dense features, replacing any the graph had: no copy is made.
///
/// All values are looked at once, in this call. The array must stay where it is, unchanged, until `release` is called: once,
/// when the graph has got other features or is freed, by the thread whose call was the last to use it. It may call functions
/// of this library, though not with this graph. If this function fails, the array stays the caller's and `release` is never
/// called. plim_graph_normalize_features() makes the graph's own copy.
///
/// @param graph         the graph.
/// @param num_features  columns, 1 .. INT32_MAX.
/// @param row_major     `num_nodes × num_features` finite values, row after row.
/// @param release       called when the array is no longer needed; may be NULL.
/// @param user_data     handed to `release`.
///
/// @return PLIM_OK, PLIM_ERROR_NULL_POINTER, PLIM_ERROR_INVALID_ARGUMENT, PLIM_ERROR_INVALID_HANDLE, PLIM_ERROR_BUSY
///         or PLIM_ERROR_OUT_OF_MEMORY. On failure the graph keeps what it had.
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

/// Copies features in compressed sparse rows, replacing any the graph had. Repeated entries add up.
///
/// @param graph         the graph.
/// @param num_features  columns, 1 .. INT32_MAX.
/// @param indptr        `num_nodes + 1` offsets; the first is 0 and none is below the one before it.
/// @param indices       `indptr[num_nodes]` column ids; may be NULL if there are none.
/// @param values        as many finite values; may be NULL if there are none.
///
/// @return PLIM_OK, PLIM_ERROR_NULL_POINTER, PLIM_ERROR_INVALID_ARGUMENT, PLIM_ERROR_INVALID_HANDLE, PLIM_ERROR_BUSY
///         or PLIM_ERROR_OUT_OF_MEMORY. On failure the graph keeps what it had.
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

/// Divides each row of the features by its sum; a row that sums to 0 stays as it is.
///
/// @param graph  the graph.
///
/// @return PLIM_OK, PLIM_ERROR_NULL_POINTER, PLIM_ERROR_MISSING_DATA (no features), PLIM_ERROR_INVALID_ARGUMENT (a
///         quotient is not finite; nothing changes), PLIM_ERROR_INVALID_HANDLE or PLIM_ERROR_BUSY.
#[unsafe(no_mangle)]
#[must_use]
pub extern "C" fn plim_graph_normalize_features(graph: *mut plim_graph) -> plim_status {
    guard(|| ptr::handle("graph", graph)?.write()?.normalize_features())
}

/// Copies class labels, replacing any the graph had.
///
/// @param graph   the graph.
/// @param labels  `num_nodes` class ids 0, 1, …; -1 for a node without a label.
///
/// @return PLIM_OK, PLIM_ERROR_NULL_POINTER, PLIM_ERROR_INVALID_ARGUMENT, PLIM_ERROR_INVALID_HANDLE, PLIM_ERROR_BUSY
///         or PLIM_ERROR_OUT_OF_MEMORY. On failure the graph keeps what it had.
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

/// Copies the node list of a split, replacing the one the graph had.
///
/// @param graph  the graph.
/// @param split  PLIM_SPLIT_TRAIN, PLIM_SPLIT_VAL or PLIM_SPLIT_TEST.
/// @param nodes  `count` node ids, none twice; may be NULL if `count` is 0.
/// @param count  0 empties the split.
///
/// @return PLIM_OK, PLIM_ERROR_NULL_POINTER, PLIM_ERROR_INVALID_ARGUMENT, PLIM_ERROR_INVALID_HANDLE, PLIM_ERROR_BUSY
///         or PLIM_ERROR_OUT_OF_MEMORY. On failure the graph keeps what it had.
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

/// Chooses how A becomes Â. Edges, features, labels and splits stay.
///
/// @param graph          the graph.
/// @param normalization  PLIM_NORMALIZATION_SYMMETRIC (default), PLIM_NORMALIZATION_ROW or PLIM_NORMALIZATION_NONE.
///
/// @return PLIM_OK, PLIM_ERROR_NULL_POINTER, PLIM_ERROR_INVALID_ARGUMENT, PLIM_ERROR_INVALID_HANDLE, PLIM_ERROR_BUSY
///         or PLIM_ERROR_OUT_OF_MEMORY.
#[unsafe(no_mangle)]
#[must_use]
pub extern "C" fn plim_graph_set_normalization(graph: *mut plim_graph, normalization: i32) -> plim_status {
    guard(|| {
        let graph = ptr::handle("graph", graph)?;
        let normalization = constant::<Normalization>(normalization)?;
        graph.write()?.set_normalization(normalization)
    })
}

/// Number of nodes.
///
/// @param graph  the graph.
///
/// @return the number; 0 for NULL or a handle that is not live.
#[unsafe(no_mangle)]
pub extern "C" fn plim_graph_num_nodes(graph: *const plim_graph) -> usize {
    getter(|| Some(ptr::facts(graph)?.num_nodes))
}

/// Number of edges: unique undirected ones, a self-loop being one; of a graph from CSR its non-zeros.
///
/// @param graph  the graph.
///
/// @return the number; 0 for NULL or a handle that is not live.
#[unsafe(no_mangle)]
pub extern "C" fn plim_graph_num_edges(graph: *const plim_graph) -> usize {
    getter(|| Some(ptr::facts(graph)?.num_edges))
}

/// Number of features of a node.
///
/// @param graph  the graph.
///
/// @return the number; 0 without features, for NULL or a handle that is not live.
#[unsafe(no_mangle)]
pub extern "C" fn plim_graph_num_features(graph: *const plim_graph) -> usize {
    getter(|| Some(ptr::facts(graph)?.num_features))
}

/// Number of classes: one more than the largest label.
///
/// @param graph  the graph.
///
/// @return the number; 0 without labels, for NULL or a handle that is not live.
#[unsafe(no_mangle)]
pub extern "C" fn plim_graph_num_classes(graph: *const plim_graph) -> usize {
    getter(|| Some(ptr::facts(graph)?.num_classes))
}

/// Number of nodes in a split.
///
/// @param graph  the graph.
/// @param split  PLIM_SPLIT_TRAIN, PLIM_SPLIT_VAL or PLIM_SPLIT_TEST.
///
/// @return the number; 0 for another split, for NULL or a handle that is not live.
#[unsafe(no_mangle)]
pub extern "C" fn plim_graph_split_size(graph: *const plim_graph, split: i32) -> usize {
    getter(|| Some(ptr::facts(graph)?.splits[constant::<Split>(split).ok()? as usize]))
}

/// Copies the node list of a split.
///
/// @param graph     the graph.
/// @param split     PLIM_SPLIT_TRAIN, PLIM_SPLIT_VAL or PLIM_SPLIT_TEST.
/// @param dst       receives plim_graph_split_size() ids; untouched unless PLIM_OK is returned.
/// @param capacity  ids that `dst` has room for.
///
/// @return PLIM_OK, PLIM_ERROR_NULL_POINTER, PLIM_ERROR_INVALID_ARGUMENT, PLIM_ERROR_BUFFER_TOO_SMALL,
///         PLIM_ERROR_INVALID_HANDLE or PLIM_ERROR_BUSY.
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

/// Copies the labels, -1 for a node without one.
///
/// @param graph     the graph.
/// @param dst       receives plim_graph_num_nodes() labels; untouched unless PLIM_OK is returned.
/// @param capacity  labels that `dst` has room for.
///
/// @return PLIM_OK, PLIM_ERROR_NULL_POINTER, PLIM_ERROR_MISSING_DATA (no labels), PLIM_ERROR_BUFFER_TOO_SMALL,
///         PLIM_ERROR_INVALID_HANDLE or PLIM_ERROR_BUSY.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn plim_graph_copy_labels(
    graph: *const plim_graph,
    dst: *mut i32,
    capacity: usize,
) -> plim_status {
    guard(|| {
        let graph = ptr::handle("graph", graph)?;
        let graph = graph.read()?;
        let labels = graph.labels()?;
        // SAFETY: the caller promises `dst` is NULL or valid for `capacity` writes.
        unsafe { ptr::buffer("dst", dst, capacity, labels.len()) }?.put(labels);
        Ok(())
    })
}
