//! The attributed graph: adjacency and Â, features, labels, splits; and where it comes from.
//!
//! Input is checked here, once; the modules below this one trust what a [`Graph`] holds.
//!
//! | file | what it holds |
//! |---|---|
//! | `adjacency`, `csr` | A and Â in one pattern; compressed sparse rows |
//! | `features` | matrices with a row per node |
//! | `neighbours` | who is linked to whom, for attention |
//! | `operators` | Â, and the operators made of A: sums and means of neighbours |
//! | `aggregate` | ÂX: computed, kept within a bound, multiplied |
//! | `mixture` | the built-in synthetic graph |
//! | `ids` | names of nodes, in both directions |
//! | `npz`, `npy`, `store`, `text` | the formats of files |
//! | `checksums` | how damage to a store is found |

mod adjacency;
mod aggregate;
mod checksums;
mod csr;
mod features;
mod ids;
mod mixture;
mod neighbours;
mod npy;
mod npz;
mod operators;
mod store;
mod text;

pub use adjacency::{Normalization, Origin};
pub use aggregate::{AggregatedRows, Aggregator, Factors, Outlook, expand};
pub use csr::check_indptr;
pub use features::Matrix;
pub use ids::Ids;
pub use operators::Operator;
pub use text::{Columns, EdgeListOptions, Header, Merge};

use crate::error::{Error, ForThe, Result, try_copied, try_filled};
use crate::file;
use crate::kernel::{Array, Sparse};
use adjacency::Adjacency;
use csr::Repeated;
use operators::Operators;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A list of nodes with a role in training.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Split {
    /// Nodes to learn from.
    Train,
    /// Nodes to choose the best epoch by.
    Val,
    /// Nodes to report accuracy on.
    Test,
}

impl Split {
    /// Its name in files and messages.
    pub const fn name(self) -> &'static str {
        match self {
            Split::Train => "train",
            Split::Val => "val",
            Split::Test => "test",
        }
    }
}

/// Each split with its name.
const SPLITS: [(Split, &str); 3] =
    [(Split::Train, Split::Train.name()), (Split::Val, Split::Val.name()), (Split::Test, Split::Test.name())];

/// An attributed graph.
pub struct Graph {
    adjacency: Adjacency,
    features: Option<Arc<Matrix>>,
    labels: Option<Vec<i32>>,
    num_classes: usize,
    /// The number of classes that the caller has stated; 0 = counted from the labels.
    stated_classes: usize,
    splits: [Vec<i32>; 3],
    /// Whether Â is the identity: there are no edges, and ÂX is X.
    identity: bool,
    cache_bytes: usize,
    operators: Operators,
    /// The files of the store that this graph was loaded from.
    unverified: Option<checksums::Unverified>,
    version: u64,
}

/// A number that no state of any graph has had before.
pub(crate) fn next_version() -> u64 {
    static LAST: AtomicU64 = AtomicU64::new(0);
    LAST.fetch_add(1, Ordering::Relaxed) + 1
}

/// The squared norms of the columns of an operator, which importance sampling uses as weights.
pub struct ColumnNorms {
    /// ‖Op(:,u)‖² for every node u.
    pub squares: Vec<f64>,
    /// Their sum.
    pub total: f64,
}

/// Bytes that ÂX may take before [`Graph::set_cache`] is called.
const DEFAULT_CACHE_BYTES: usize = 1 << 30;

impl Graph {
    /// Makes a graph of undirected edges; `weights` default to ones.
    pub fn from_edges(num_nodes: usize, sources: &[i32], targets: &[i32], weights: Option<&[f32]>) -> Result<Self> {
        let adjacency = Adjacency::from_edges(num_nodes, sources, targets, weights, Repeated::Sum);
        Ok(Self::new(adjacency.for_the("edges")?))
    }

    /// Makes a graph of a matrix by rows, as given. `indptr` must have passed [`check_indptr`].
    pub fn from_csr(num_nodes: usize, indptr: &[i64], indices: &[i32], values: Option<&[f32]>) -> Result<Self> {
        Ok(Self::new(Adjacency::from_csr(num_nodes, indptr, indices, values).for_the("edges")?))
    }

    /// Reads a graph from a file whose content shows its format, or opens a store.
    pub fn load(path: &Path) -> Result<Self> {
        Self::load_any(path).for_the(format_args!("graph in {}", path.display()))
    }

    fn load_any(path: &Path) -> Result<Self> {
        if path.is_dir() {
            return Self::load_store(path);
        }
        let start = file::start(path, text::BANNER.len())?;
        if start == text::BANNER {
            return Self::load_matrix_market(path);
        }
        if start.starts_with(npz::START) {
            return Self::load_npz(path);
        }
        Err(Error::BadFormat(
            "neither an .npz nor a Matrix Market file; an edge list is read by a function of its own".to_string(),
        )
        .in_file(path))
    }

    /// Reads every array that was mapped from a store, and compares it with the store's checksums. `MissingData` if the store
    /// has none; a graph that is not from a store has nothing to compare.
    pub fn verify(&self) -> Result<()> {
        self.unverified.as_ref().map_or(Ok(()), checksums::Unverified::verify)
    }

    /// Takes a matrix as it is, as A and as Â. Every entry is checked, and rows must be sorted. `indptr` must have
    /// passed [`check_indptr`].
    pub fn view_csr(indptr: Array<i64>, indices: Array<i32>, values: Option<Array<f32>>) -> Result<Self> {
        let adjacency =
            Adjacency::stored(Origin::Csr, indptr, indices, values, ["indices", "values"]).for_the("edges")?;
        Ok(Self::new(adjacency))
    }

    /// Checks that a graph may have this many nodes.
    pub fn check_num_nodes(num_nodes: usize) -> Result<()> {
        adjacency::check_num_nodes(num_nodes)
    }

    fn new(adjacency: Adjacency) -> Self {
        Graph {
            identity: is_identity(adjacency.operator()),
            adjacency,
            features: None,
            labels: None,
            num_classes: 0,
            stated_classes: 0,
            splits: Default::default(),
            cache_bytes: DEFAULT_CACHE_BYTES,
            operators: Operators::default(),
            unverified: None,
            version: next_version(),
        }
    }

    /// Identifies this state among all states of all graphs, as far as Â and the splits are concerned.
    pub fn version(&self) -> u64 {
        self.version
    }

    /// Number of nodes.
    pub fn num_nodes(&self) -> usize {
        self.adjacency.num_nodes()
    }

    /// The number of unique undirected edges, counting self-loops; for a matrix the number of its non-zeros.
    pub fn num_edges(&self) -> usize {
        self.adjacency.num_edges()
    }

    /// Columns of the features; 0 without features.
    pub fn num_features(&self) -> usize {
        self.features.as_ref().map_or(0, |x| x.width())
    }

    /// The stated number of classes; else one more than the largest label, 0 without labels.
    pub fn num_classes(&self) -> usize {
        self.num_classes
    }

    /// The stated number of classes; 0 if they are counted from the labels.
    pub fn stated_classes(&self) -> usize {
        self.stated_classes
    }

    /// Bytes of adjacency and Â.
    pub fn adjacency_bytes(&self) -> usize {
        self.adjacency.bytes()
    }

    /// Â.
    pub fn operator(&self) -> Sparse<'_> {
        self.adjacency.operator()
    }

    /// Features, or `MissingData`.
    pub fn features(&self) -> Result<&Matrix> {
        self.features.as_deref().ok_or_else(|| Error::MissingData("the graph has no features".to_string()))
    }

    /// Labels, or `MissingData`.
    pub fn labels(&self) -> Result<&[i32]> {
        self.labels.as_deref().ok_or_else(|| Error::MissingData("the graph has no labels".to_string()))
    }

    /// The nodes of a split; empty if it has not been set.
    pub fn split(&self, split: Split) -> &[i32] {
        &self.splits[split as usize]
    }

    /// The nodes of a split, or `MissingData` if there are none or one of them has no label.
    pub fn labelled_split(&self, split: Split) -> Result<&[i32]> {
        let (nodes, labels) = (self.split(split), self.labels()?);
        let name = split.name();
        if nodes.is_empty() {
            return Err(Error::MissingData(format!("the {name} split is empty")));
        }
        if let Some(v) = nodes.iter().find(|&&v| labels[v as usize] < 0) {
            return Err(Error::MissingData(format!("node {v} of the {name} split has no label")));
        }
        Ok(nodes)
    }

    /// Replaces the features by a dense row-major matrix.
    pub fn set_features(&mut self, num_features: usize, row_major: &[f32]) -> Result<()> {
        self.features = Some(Arc::new(Matrix::dense(self.num_nodes(), num_features, row_major)?));
        self.forget_aggregate();
        Ok(())
    }

    /// Replaces the features by a dense row-major matrix without copying it.
    pub fn view_features(&mut self, num_features: usize, row_major: Array<f32>) -> Result<()> {
        let features = Matrix::stored(num_features, row_major)?;
        if let Matrix::Dense { data, .. } = &features {
            features::check_dense(data, num_features)?;
        }
        self.features = Some(Arc::new(features));
        self.forget_aggregate();
        Ok(())
    }

    /// Replaces the features by a sparse matrix. `indptr` must have passed [`check_indptr`].
    pub fn set_sparse_features(
        &mut self,
        num_features: usize,
        indptr: &[i64],
        indices: &[i32],
        values: &[f32],
    ) -> Result<()> {
        self.features = Some(Arc::new(Matrix::sparse(num_features, indptr, indices, values).for_the("features")?));
        self.forget_aggregate();
        Ok(())
    }

    /// Divides each row of the features by its sum; a row that sums to 0 stays as it is.
    pub fn normalize_features(&mut self) -> Result<()> {
        self.change_features(Matrix::normalize_rows).for_the("features")
    }

    /// Changes the features in place. If `change` fails, it must leave them as they were.
    pub(crate) fn change_features(&mut self, change: impl FnOnce(&mut Matrix) -> Result<()>) -> Result<()> {
        self.features()?;
        // ÂX may be the same matrix.
        self.forget_aggregate();
        let alone = || Error::Internal("the features are in use".to_string());
        self.features.as_mut().map_or(Ok(()), |x| change(Arc::get_mut(x).ok_or_else(alone)?))
    }

    /// Replaces the labels: one class id per node, -1 for none.
    pub fn set_labels(&mut self, labels: &[i32]) -> Result<()> {
        let num_classes = count_classes(labels, self.stated_classes)?;
        self.labels = Some(try_copied(labels).for_the("labels")?);
        self.num_classes = num_classes;
        Ok(())
    }

    /// States the number of classes, of which some may have no node; 0 = count them from the labels.
    pub fn set_num_classes(&mut self, num_classes: usize) -> Result<()> {
        if num_classes > i32::MAX as usize {
            let text = format!("num_classes = {num_classes} is outside [0, {}]", i32::MAX);
            return Err(Error::InvalidArgument(text));
        }
        self.num_classes = match &self.labels {
            Some(labels) => count_classes(labels, num_classes)?,
            None => num_classes,
        };
        self.stated_classes = num_classes;
        Ok(())
    }

    /// Replaces a split; no node may occur twice.
    pub fn set_split(&mut self, split: Split, nodes: &[i32]) -> Result<()> {
        self.check_nodes(nodes, "nodes")?;
        let mut seen = try_filled(self.num_nodes(), false).for_the("split")?;
        for (i, &v) in nodes.iter().enumerate() {
            if std::mem::replace(&mut seen[v as usize], true) {
                return Err(Error::entry("nodes", i, v, "occurs twice in the list"));
            }
        }
        self.splits[split as usize] = try_copied(nodes).for_the("split")?;
        self.version = next_version();
        Ok(())
    }

    /// Checks that every id is a node of this graph.
    pub fn check_nodes(&self, nodes: &[i32], name: &str) -> Result<()> {
        csr::check_indices(self.num_nodes(), nodes, name)
    }

    /// Whether Â(v,u) = Â(u,v) holds bit for bit by construction.
    pub fn is_symmetric(&self) -> bool {
        self.adjacency.is_symmetric()
    }

    /// Whether Â is the identity: rows of features alone.
    pub fn is_identity(&self) -> bool {
        self.identity
    }

    /// The current normalisation.
    pub fn normalization(&self) -> Normalization {
        self.adjacency.normalization()
    }

    /// Replaces Â by that of another normalisation.
    pub fn set_normalization(&mut self, normalization: Normalization) -> Result<()> {
        self.adjacency.set_normalization(normalization).for_the("edges")?;
        self.identity = is_identity(self.adjacency.operator());
        self.operators = Operators::default();
        self.version = next_version();
        Ok(())
    }

    /// Sets the bytes that ÂX may take. If it needs more, its rows are computed when they are needed.
    pub fn set_cache(&mut self, max_bytes: usize) {
        self.cache_bytes = max_bytes;
        self.forget_aggregate();
    }

    fn forget_aggregate(&mut self) {
        self.operators.forget_aggregates();
    }
}

/// The number of classes of `labels`: as stated, or one more than the largest if that is 0. Each label must be one of these
/// classes or -1.
///
/// A class without nodes cannot be learned, so the labels of n nodes need at most n classes. Ids may have gaps, as in a part
/// of a larger graph, and so any graph may have 65,536 classes. A larger id is no class but a marker or a number of something
/// else: a model with that many outputs would have to be made before anybody noticed. Who means it states it.
fn count_classes(labels: &[i32], stated: usize) -> Result<usize> {
    const ALWAYS: usize = 1 << 16;
    let bound = if stated > 0 { stated } else { labels.len().max(ALWAYS) };
    let count = |&label: &i32| (i64::from(label) + 1) as usize;
    let Some(at) = labels.iter().position(|label| *label < -1 || count(label) > bound) else {
        return Ok(if stated > 0 { stated } else { labels.iter().map(count).max().unwrap_or(0) });
    };
    let entry = |complaint: &dyn std::fmt::Display| Error::entry("labels", at, labels[at], complaint);
    Err(match (labels[at], stated) {
        (..-1, _) => entry(&"is neither a class id nor -1"),
        (_, 0) => entry(&format_args!("is not below {bound}; state the number of classes if there are more")),
        (_, stated) => entry(&format_args!("is not below {stated}, the stated number of classes")),
    })
}

/// Ones on the diagonal and nothing else.
fn is_identity(operator: Sparse<'_>) -> bool {
    operator.indices.len() == operator.num_rows()
        && operator.indices.iter().enumerate().all(|(v, &u)| v == u as usize)
        && operator.values.iter().all(|&a| a == 1.0)
        && operator.indptr.iter().enumerate().all(|(v, &start)| v == start as usize)
}
