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
//!
//! A store that the library wrote has [`Checksums`]. Loading compares all files except those that stay mapped, because it does
//! not read these in full. [`Graph::verify`] compares the rest.

use super::adjacency::{Adjacency, Normalization, Origin};
use super::checksums::{self, Checksums, Summed, Unverified};
use super::csr::Csr;
use super::npy::{self, Header, Number, Stored, check_csr, expect_len, missing};
use super::{Graph, Matrix, SPLITS, Split};
use crate::error::{Error, Result};
use crate::file;
use crate::kernel::{Array, MappedFile, bytes_of};
use std::cell::RefCell;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::Arc;

/// What the name of a store's description is.
pub const META: &str = "meta.json";

const FORMAT: &str = "plimsoll-store";
const VERSION: u64 = 1;
const CHECKSUMS: &str = "checksums";
const KEYS: [&str; 8] =
    ["format", "version", "matrix", "normalization", "undirected", "num_features", "num_classes", CHECKSUMS];
const ARRAYS: [&str; 13] = [
    "indptr.npy",
    "indices.npy",
    "values.npy",
    "self_loops.npy",
    "weights.npy",
    "features.npy",
    "features_indptr.npy",
    "features_indices.npy",
    "features_data.npy",
    "labels.npy",
    "train.npy",
    "val.npy",
    "test.npy",
];
const NORMALIZATIONS: [(Normalization, &str); 3] =
    [(Normalization::Symmetric, "symmetric"), (Normalization::Row, "row"), (Normalization::None, "none")];

impl Graph {
    /// Opens a store.
    pub(super) fn load_store(directory: &Path) -> Result<Self> {
        let mut store = Store { directory, sums: None, mapped: RefCell::default() };
        store.graph().map_err(|e| match e {
            Error::Io(_) | Error::OutOfMemory(_) => e,
            // A damaged array can make the check of another one fail, which would be named then.
            e => checksums::compare_all(&store.mapped.borrow()).err().unwrap_or(e).in_file(directory),
        })
    }

    /// Writes the graph as a store, into a directory that is not there yet or is empty.
    pub fn save_store(&self, directory: &Path) -> Result<()> {
        file::write_folder_atomically(directory, |folder| {
            let mut out = Writer { folder, sums: Checksums::default() };
            let (operator, weights, loops) = self.adjacency.parts();
            out.array("indptr.npy", &[operator.indptr.len()], &operator.indptr)?;
            out.array("indices.npy", &[operator.indices.len()], &operator.indices)?;
            out.array("values.npy", &[operator.values.len()], &operator.values)?;
            out.array("self_loops.npy", &[loops.len()], loops)?;
            if let Some(weights) = weights {
                out.array("weights.npy", &[weights.len()], weights)?;
            }
            match self.features.as_deref() {
                None => {}
                Some(Matrix::Dense { data, width }) => out.array("features.npy", &[self.num_nodes(), *width], data)?,
                Some(Matrix::Sparse { csr, .. }) => {
                    out.array("features_indptr.npy", &[csr.indptr.len()], &csr.indptr)?;
                    out.array("features_indices.npy", &[csr.indices.len()], &csr.indices)?;
                    out.array("features_data.npy", &[csr.values.len()], &csr.values)?;
                }
            }
            if let Some(labels) = &self.labels {
                out.array("labels.npy", &[labels.len()], labels)?;
            }
            for (split, file) in [(Split::Train, "train.npy"), (Split::Val, "val.npy"), (Split::Test, "test.npy")] {
                out.array(file, &[self.split(split).len()], self.split(split))?;
            }
            let meta = Meta {
                holds_operator: true,
                normalization: self.normalization(),
                undirected: self.adjacency.origin() == Origin::Edges,
                num_features: self.num_features(),
                num_classes: self.stated_classes(),
                sums: Some(out.sums),
            };
            let text = meta.with_its_checksum()?.to_string();
            out.folder.write(META, |w| {
                w.write_all(text.as_bytes()).map_err(|e| Error::of_system("write the description", &e))
            })
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
    /// `"checksums"`: of each file, and of this description.
    sums: Option<Checksums>,
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
        write!(f, "  \"num_features\": {}", self.num_features)?;
        if let Some(sums) = &self.sums {
            let sums: Vec<String> = sums.iter().map(|(name, sum)| format!("    \"{name}\": {sum}")).collect();
            write!(f, ",\n  \"{CHECKSUMS}\": {{\n{}\n  }}", sums.join(",\n"))?;
        }
        writeln!(f, "\n}}")
    }
}

impl Meta {
    /// Adds the checksum of all the rest.
    fn with_its_checksum(mut self) -> Result<Self> {
        let json = serde_json::from_str(&self.to_string()).map_err(|e| Error::Internal(e.to_string()))?;
        let sum = checksums::of_json(&json, [CHECKSUMS, META]);
        self.sums.get_or_insert_default().set(META, sum);
        Ok(self)
    }

    fn parse(text: &[u8]) -> Result<Self> {
        let bad = |text: String| Error::BadFormat(format!("{META}: {text}"));
        let json: serde_json::Value = serde_json::from_slice(text).map_err(|e| bad(e.to_string()))?;
        let expect = |key: &str, what: &str| bad(format!("\"{key}\" is {}, not {what}", json[key]));
        if json["format"] != FORMAT {
            return Err(expect("format", &format!("\"{FORMAT}\"")));
        }
        // Compared before the version, which may be what is damaged. Later versions keep this checksum.
        let sums = match &json[CHECKSUMS] {
            serde_json::Value::Null => None,
            value => Some(Checksums::parse(value).ok_or_else(|| expect(CHECKSUMS, "an object of 32-bit numbers"))?),
        };
        if let Some(sums) = &sums {
            let wanted = sums.get(META).ok_or_else(|| bad(format!("\"{CHECKSUMS}\" has no \"{META}\"")))?;
            checksums::compare(META, wanted, checksums::of_json(&json, [CHECKSUMS, META]))?;
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
            sums,
        })
    }
}

struct Store<'a> {
    directory: &'a Path,
    sums: Option<Checksums>,
    /// Mapped files that have not been compared.
    mapped: RefCell<Vec<(String, MappedFile, u32)>>,
}

impl Store<'_> {
    fn graph(&mut self) -> Result<Graph> {
        const LONGEST_META: u64 = 1 << 20;
        let path = self.directory.join(META);
        if !self.has(META)? {
            let text = format!("is a directory, but no store: a store has {META}, indptr.npy and indices.npy");
            return Err(Error::BadFormat(text));
        }
        let mut text = Vec::new();
        let read = file::open(&path)?.take(LONGEST_META).read_to_end(&mut text);
        read.map_err(|e| file::io_error(&path, &e))?;
        let mut meta = Meta::parse(&text)?;
        self.sums = meta.sums.take();
        self.check_members()?;
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
        // Files that were mapped and then copied have been read in full anyway.
        let (mapped, copied): (Vec<_>, Vec<_>) =
            self.mapped.take().into_iter().partition(|(_, file, _)| file.is_in_use());
        checksums::compare_all(&copied)?;
        let files = self.sums.is_some().then_some(mapped);
        graph.unverified = Some(Unverified { directory: self.directory.to_path_buf(), files });
        Ok(graph)
    }

    fn has(&self, name: &str) -> Result<bool> {
        let path = self.directory.join(name);
        path.try_exists().map_err(|e| file::io_error(&path, &e))
    }

    /// Checks that the files with a checksum are there, and no others.
    fn check_members(&self) -> Result<()> {
        let Some(sums) = &self.sums else { return Ok(()) };
        for name in ARRAYS {
            let text = match (sums.get(name).is_some(), self.has(name)?) {
                (true, false) => format!("{name} has a checksum, but is missing"),
                (false, true) => format!("{name} has no checksum in {META}, but other files have"),
                _ => continue,
            };
            return Err(Error::BadFormat(text));
        }
        match sums.iter().find(|(name, _)| *name != META && !ARRAYS.contains(name)) {
            Some((name, _)) => Err(Error::BadFormat(format!("{META}: \"{name}\" is no array of a store"))),
            None => Ok(()),
        }
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
        let file_name = format!("{name}.npy");
        let path = self.directory.join(&file_name);
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
                self.note_mapped(file_name, array.mapped_file())?;
                return Ok(Some((shape, array)));
            }
        }
        file.seek(SeekFrom::Start(0)).map_err(failed)?;
        let mut file = Summed::new(&mut file);
        let array = npy::read(name, &mut file, dimensions, convert).map_err(named)?;
        if let Some(wanted) = self.wanted(&file_name) {
            checksums::compare(&file_name, wanted, file.sum())?;
        }
        Ok(Some((array.shape, array.data.into())))
    }

    fn wanted(&self, file_name: &str) -> Option<u32> {
        self.sums.as_ref()?.get(file_name)
    }

    /// Leaves a mapped file to be compared later.
    fn note_mapped(&self, file_name: String, file: Option<MappedFile>) -> Result<()> {
        let (Some(wanted), Some(file)) = (self.wanted(&file_name), file) else { return Ok(()) };
        let mut mapped = self.mapped.borrow_mut();
        crate::error::try_reserve(&mut mapped, 1, "names of files")?;
        mapped.push((file_name, file, wanted));
        Ok(())
    }
}

/// Writes files into a folder, and keeps their checksums.
struct Writer<'a> {
    folder: &'a mut file::Folder,
    sums: Checksums,
}

impl Writer<'_> {
    /// Writes numbers as they are, at a place in the file where they can be mapped.
    fn array<T: Stored>(&mut self, name: &'static str, shape: &[usize], numbers: &[T]) -> Result<()> {
        /// Bytes that fit the processor's cache, so that they are read from memory once.
        const AT_ONCE: usize = 1 << 16;
        let mut sum = 0;
        self.folder.write(name, |w| {
            let mut w = Summed::new(w);
            let header = npy::write_header::<T>(shape, &mut w);
            let written =
                header.and_then(|()| bytes_of(numbers).chunks(AT_ONCE).try_for_each(|part| w.write_all(part)));
            sum = w.sum();
            written.map_err(|e| Error::of_system("write an array", &e))
        })?;
        self.sums.set(name, sum);
        Ok(())
    }
}
