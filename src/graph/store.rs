//! Graphs as a directory of `.npy` files, which are mapped into memory rather than read.
//!
//! | file | what |
//! |---|---|
//! | `meta.json` | `{"format": "plimsoll-store", "version": 1}` and what differs from the defaults of [`Meta`] |
//! | `indptr.npy`, `indices.npy`, `values.npy` | A, or Â; A without values has ones |
//! | `self_loops.npy`, `weights.npy` | beside Â: the nodes whose self-loop is A's own, and A's values if it has any |
//! | `features.npy` | `[n, d]`; or `features_indptr`, `features_indices`, `features_data` |
//! | `labels.npy`, `train.npy`, `val.npy`, `test.npy` | as in an `.npz` file |
//!
//! A library's store holds Â, so that nothing is computed on load. One made with NumPy alone holds A; its Â then lives in
//! memory unless it is A itself. Arrays of other types than 64-bit offsets, 32-bit ids and 32-bit reals are converted, and
//! then live in memory too.

use super::adjacency::{Adjacency, Normalization, Origin};
use super::csr::Csr;
use super::npy::{self, Header, Number, Stored, check_csr, expect_len, missing};
use super::{Graph, Matrix, SPLITS, Split};
use crate::error::{Error, Result};
use crate::file;
use crate::kernel::{Array, bytes_of};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::Arc;

/// What the name of a store's description is.
pub const META: &str = "meta.json";

const FORMAT: &str = "plimsoll-store";
const VERSION: u64 = 1;
const KEYS: [&str; 7] = ["format", "version", "matrix", "normalization", "undirected", "num_features", "num_classes"];
const NORMALIZATIONS: [(Normalization, &str); 3] =
    [(Normalization::Symmetric, "symmetric"), (Normalization::Row, "row"), (Normalization::None, "none")];

impl Graph {
    /// Opens a store.
    pub(super) fn load_store(directory: &Path) -> Result<Self> {
        let store = Store { directory };
        store.graph().map_err(|e| match e {
            Error::Io(_) | Error::OutOfMemory(_) => e,
            e => e.in_file(directory),
        })
    }

    /// Writes the graph as a store, into a directory that is not there yet or is empty.
    pub fn save_store(&self, directory: &Path) -> Result<()> {
        file::write_folder_atomically(directory, |folder| {
            let (operator, weights, loops) = self.adjacency.parts();
            write(folder, "indptr.npy", &[operator.indptr.len()], &operator.indptr)?;
            write(folder, "indices.npy", &[operator.indices.len()], &operator.indices)?;
            write(folder, "values.npy", &[operator.values.len()], &operator.values)?;
            write(folder, "self_loops.npy", &[loops.len()], loops)?;
            if let Some(weights) = weights {
                write(folder, "weights.npy", &[weights.len()], weights)?;
            }
            match self.features.as_deref() {
                None => {}
                Some(Matrix::Dense { data, width }) => {
                    write(folder, "features.npy", &[self.num_nodes(), *width], data)?
                }
                Some(Matrix::Sparse { csr, .. }) => {
                    write(folder, "features_indptr.npy", &[csr.indptr.len()], &csr.indptr)?;
                    write(folder, "features_indices.npy", &[csr.indices.len()], &csr.indices)?;
                    write(folder, "features_data.npy", &[csr.values.len()], &csr.values)?;
                }
            }
            if let Some(labels) = &self.labels {
                write(folder, "labels.npy", &[labels.len()], labels)?;
            }
            for (split, file) in [(Split::Train, "train.npy"), (Split::Val, "val.npy"), (Split::Test, "test.npy")] {
                write(folder, file, &[self.split(split).len()], self.split(split))?;
            }
            let meta = Meta {
                holds_operator: true,
                normalization: self.normalization(),
                undirected: self.adjacency.origin() == Origin::Edges,
                num_features: self.num_features(),
                num_classes: self.stated_classes(),
            };
            folder.write(META, |w| w.write_all(meta.to_string().as_bytes()).map_err(|e| Error::Io(e.to_string())))
        })
    }
}

/// A description.
struct Meta {
    /// `"matrix"`: whether `"operator"`, Â, or `"adjacency"`, A, is held; the latter if missing.
    holds_operator: bool,
    /// `"normalization"`: `"symmetric"`, `"row"` or `"none"`; the first if missing.
    normalization: Normalization,
    /// `"undirected"`: whether every entry has an equal one across the diagonal; false if missing.
    undirected: bool,
    /// `"num_features"`: needed with sparse features only.
    num_features: usize,
    /// `"num_classes"`: as stated; counted from the labels if missing or 0.
    num_classes: usize,
}

impl std::fmt::Display for Meta {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let matrix = if self.holds_operator { "operator" } else { "adjacency" };
        let normalization = NORMALIZATIONS.iter().find(|(n, _)| *n == self.normalization).map_or("", |(_, name)| name);
        writeln!(f, "{{")?;
        writeln!(f, "  \"format\": \"{FORMAT}\",\n  \"version\": {VERSION},\n  \"matrix\": \"{matrix}\",")?;
        writeln!(f, "  \"normalization\": \"{normalization}\",\n  \"undirected\": {},", self.undirected)?;
        // Only where it was stated, so that a library that does not know the key reads all other stores.
        if self.num_classes > 0 {
            writeln!(f, "  \"num_classes\": {},", self.num_classes)?;
        }
        writeln!(f, "  \"num_features\": {}\n}}", self.num_features)
    }
}

impl Meta {
    fn parse(text: &[u8]) -> Result<Self> {
        let bad = |text: String| Error::BadFormat(format!("{META}: {text}"));
        let json: serde_json::Value = serde_json::from_slice(text).map_err(|e| bad(e.to_string()))?;
        let expect = |key: &str, what: &str| bad(format!("\"{key}\" is {}, not {what}", json[key]));
        if json["format"] != FORMAT {
            return Err(expect("format", &format!("\"{FORMAT}\"")));
        }
        match json["version"].as_u64() {
            Some(VERSION) => {}
            Some(version) if version > VERSION => {
                return Err(Error::Unsupported(format!(
                    "{META}: a store of version {version}; this library knows {VERSION}"
                )));
            }
            _ => return Err(expect("version", &VERSION.to_string())),
        }
        // A misspelt key would be a default in its place, and another graph.
        if let Some(key) = json.as_object().and_then(|o| o.keys().find(|key| !KEYS.contains(&key.as_str()))) {
            return Err(bad(format!("\"{key}\" is none of {}", KEYS.join(", "))));
        }
        let count = |key: &str| match &json[key] {
            serde_json::Value::Null => Ok(0),
            value => value.as_u64().and_then(|n| usize::try_from(n).ok()).ok_or_else(|| expect(key, "a count")),
        };
        Ok(Meta {
            holds_operator: match &json["matrix"] {
                serde_json::Value::Null => false,
                value if value == "adjacency" => false,
                value if value == "operator" => true,
                _ => return Err(expect("matrix", "\"adjacency\" or \"operator\"")),
            },
            normalization: match &json["normalization"] {
                serde_json::Value::Null => Normalization::Symmetric,
                value => match NORMALIZATIONS.iter().find(|(_, name)| value == name) {
                    Some((normalization, _)) => *normalization,
                    None => return Err(expect("normalization", "\"symmetric\", \"row\" or \"none\"")),
                },
            },
            undirected: match &json["undirected"] {
                serde_json::Value::Null => false,
                value => value.as_bool().ok_or_else(|| expect("undirected", "true or false"))?,
            },
            num_features: count("num_features")?,
            num_classes: count("num_classes")?,
        })
    }
}

struct Store<'a> {
    directory: &'a Path,
}

impl Store<'_> {
    fn graph(&self) -> Result<Graph> {
        const LONGEST_META: u64 = 1 << 20;
        let path = self.directory.join(META);
        let mut text = Vec::new();
        let read = file::open(&path)?.take(LONGEST_META).read_to_end(&mut text);
        read.map_err(|e| file::io_error(&path, &e))?;
        let meta = Meta::parse(&text)?;
        let mut graph = Graph::new(self.adjacency(&meta)?);
        graph.cache_bytes = 0;
        let n = graph.num_nodes();
        graph.features = self.features(&meta, n)?.map(Arc::new);
        // The checks went from end to end; what is to come draws its rows.
        graph.adjacency.parts().0.expect_leaps();
        match graph.features.as_deref() {
            Some(Matrix::Dense { data, .. }) => data.expect_leaps(),
            Some(Matrix::Sparse { csr, .. }) => csr.expect_leaps(),
            None => {}
        }
        graph.set_num_classes(meta.num_classes)?;
        if let Some((shape, labels)) = self.integers("labels", 1)? {
            expect_len("labels", shape[0], n)?;
            graph.set_labels(&labels)?;
        }
        for (split, name) in SPLITS {
            if let Some((_, nodes)) = self.integers(name, 1)? {
                graph.set_split(split, &nodes).map_err(|e| match e {
                    Error::InvalidArgument(text) => Error::BadFormat(format!("{name}: {text}")),
                    e => e,
                })?;
            }
        }
        Ok(graph)
    }

    fn adjacency(&self, meta: &Meta) -> Result<Adjacency> {
        let indptr = self.offsets("indptr")?.ok_or_else(|| missing("indptr.npy"))?;
        let indices = self.integers("indices", 1)?.ok_or_else(|| missing("indices.npy"))?.1;
        let values = self.reals("values", 1)?.map(|(_, values)| values);
        let n = indptr.len().checked_sub(1).ok_or_else(|| Error::BadFormat("indptr is empty".to_string()))?;
        check_csr(["indptr", "indices", "values"], n, &indptr, indices.len(), values.as_ref().map(|v| v.len()))?;
        let origin = if meta.undirected { Origin::Edges } else { Origin::Csr };
        if meta.holds_operator {
            let values = values.ok_or_else(|| missing("values.npy"))?;
            let weights = self.reals("weights", 1)?.map(|(_, weights)| weights);
            expect_len("weights", weights.as_ref().map_or(indices.len(), |w| w.len()), indices.len())?;
            let mut loops = self.integers("self_loops", 1)?.map_or(Array::default(), |(_, loops)| loops);
            let operator = Csr { indptr, indices, values };
            let loops = std::mem::take(loops.own()?);
            return Adjacency::stored_operator(origin, meta.normalization, operator, weights, loops);
        }
        let sorted = super::csr::check_rows(n, &indptr, &indices, "indices").is_ok();
        let mut adjacency = match meta.normalization {
            Normalization::None if sorted => {
                Adjacency::stored(Origin::Csr, indptr, indices, values, ["indices", "values"])?
            }
            _ => Adjacency::from_csr(n, &indptr, &indices, values.as_deref())?,
        };
        if meta.undirected {
            adjacency.set_normalization(Normalization::None)?;
            adjacency.make_undirected()?;
        }
        adjacency.set_normalization(meta.normalization)?;
        Ok(adjacency)
    }

    fn features(&self, meta: &Meta, n: usize) -> Result<Option<Matrix>> {
        if let Some((shape, data)) = self.reals("features", 2)? {
            expect_len("features", shape[0], n)?;
            return Matrix::stored(shape[1], data).map(Some);
        }
        let names = ["features_indptr", "features_indices", "features_data"];
        let Some(indptr) = self.offsets(names[0])? else { return Ok(None) };
        let indices = self.integers(names[1], 1)?.ok_or_else(|| missing("features_indices.npy"))?.1;
        let values = self.reals(names[2], 1)?.ok_or_else(|| missing("features_data.npy"))?.1;
        check_csr(names, n, &indptr, indices.len(), Some(values.len()))?;
        if meta.num_features == 0 {
            return Err(missing("\"num_features\" in meta.json, which sparse features need"));
        }
        Matrix::stored_sparse(meta.num_features, Csr { indptr, indices, values }, names).map(Some)
    }

    fn offsets(&self, name: &str) -> Result<Option<Array<i64>>> {
        Ok(self.array(name, 1, |number| npy::whole(name, number))?.map(|(_, offsets)| offsets))
    }

    fn integers(&self, name: &str, dimensions: usize) -> Result<Option<(Vec<usize>, Array<i32>)>> {
        self.array(name, dimensions, |number| npy::whole(name, number))
    }

    fn reals(&self, name: &str, dimensions: usize) -> Result<Option<(Vec<usize>, Array<f32>)>> {
        self.array(name, dimensions, npy::real)
    }

    /// The shape and the numbers of a file, mapped if they are stored as this process has them, else converted.
    fn array<T: Stored>(
        &self,
        name: &str,
        dimensions: usize,
        convert: impl Fn(Number) -> Result<T>,
    ) -> Result<Option<(Vec<usize>, Array<T>)>> {
        let path = self.directory.join(format!("{name}.npy"));
        let mut file = match std::fs::metadata(&path) {
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            _ => file::open(&path)?,
        };
        let failed = |e: std::io::Error| file::io_error(&path, &e);
        let named = |e: Error| if let Error::Io(_) = e { e.in_file(&path) } else { e };
        let Header { kind, shape, by_columns, bytes: offset } =
            Header::read(name, &mut file, dimensions).map_err(named)?;
        if !by_columns && kind == T::KIND {
            let len: usize = shape.iter().product();
            let bytes = file.metadata().map_err(failed)?.len();
            if (len * size_of::<T>()).checked_add(offset).is_none_or(|wanted| wanted as u64 != bytes) {
                let text = format!("{name}: {bytes} bytes are not what the shape {shape:?} needs");
                return Err(Error::BadFormat(text));
            }
            if let Some(array) = Array::map(&file, offset, len).map_err(failed)? {
                return Ok(Some((shape, array)));
            }
        }
        file.seek(SeekFrom::Start(0)).map_err(failed)?;
        let array = npy::read(name, &mut file, dimensions, convert).map_err(named)?;
        Ok(Some((array.shape, array.data.into())))
    }
}

/// Writes numbers as they are, at a place in the file where they can be mapped.
fn write<T: Stored>(folder: &mut file::Folder, name: &'static str, shape: &[usize], numbers: &[T]) -> Result<()> {
    folder.write(name, |w| {
        let header = npy::write_header::<T>(shape, w);
        header.and_then(|()| w.write_all(bytes_of(numbers))).map_err(|e| Error::Io(e.to_string()))
    })
}
