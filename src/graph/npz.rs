//! Graphs as `.npz`: what NumPy's `savez` writes and `load` reads.
//!
//! | key | what |
//! |---|---|
//! | `num_nodes`, `num_features` | 0-d integers; only the first is needed to load |
//! | `num_classes` | 0-d, if the number was stated; 0 or missing: counted from the labels |
//! | `edges` | `[m, 2]`, each undirected edge once; `edge_weights` `[m]` if weighted |
//! | `self_loops` | nodes with a self-loop; `self_loop_weights` if weighted |
//! | `adj_indptr`, `adj_indices`, `adj_values` | instead of `edges`, for a graph given as a matrix |
//! | `features` | `[n, d]`; or `features_indptr`, `features_indices`, `features_data` |
//! | `labels` | `[n]`, -1 for none |
//! | `train`, `val`, `test` | node lists |
//! | `normalization` | 0-d, 0 if missing |
//!
//! Integers may be of 8 to 64 bits, reals of 32 or 64; other keys are ignored.

use super::adjacency::{Normalization, Origin};
use super::npy::{self, Array, Number, Stored, check_csr, expect_len, missing, unreadable};
use super::text::check_plausible;
use super::{Graph, Matrix, SPLITS};
use crate::error::{Error, Result, try_with_capacity};
use crate::file;
use crate::kernel::bytes_of;
use std::cell::RefCell;
use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom, Write};
use std::path::Path;
use zip::result::ZipError;

/// Each normalisation, at its number in a file.
const NORMALIZATIONS: [Normalization; 3] = [Normalization::Symmetric, Normalization::Row, Normalization::None];

/// How a zip archive begins.
pub(super) const START: &[u8] = b"PK";

impl Graph {
    /// Reads a graph from an `.npz` file.
    pub(super) fn load_npz(path: &Path) -> Result<Self> {
        let files = (file::open(path)?, file::open(path)?);
        Archive::open(files).and_then(|mut archive| archive.graph()).map_err(|e| e.in_file(path))
    }

    /// Writes the graph as an `.npz` file that [`Graph::load`] and NumPy read.
    pub fn save(&self, path: &Path) -> Result<()> {
        file::write_atomically(path, |w| {
            let failure = RefCell::new(None);
            let written = (|| {
                let mut out = Writer { zip: zip::ZipWriter::new(Quiet { inner: w, at: 0, failure: &failure }) };
                out.graph(self)?;
                out.zip.finish().map(drop).map_err(|e| Error::Io(e.to_string()))
            })();
            // What failed first, even if the archive made nothing of it.
            failure.into_inner().map_or(written, Err)
        })
    }
}

struct Archive {
    zip: zip::ZipArchive<BufReader<File>>,
    /// Bytes of all members, unpacked.
    bytes: u64,
}

impl Archive {
    fn open((file, mut again): (File, File)) -> Result<Self> {
        /// Bytes that deflate can make of one.
        const MOST_PACKED: u64 = 1032;
        let mut zip = zip::ZipArchive::new(BufReader::new(file)).map_err(zip_error)?;
        // A damaged name in the directory would make an array look as if it were missing. Each member has its name a
        // second time, 30 bytes into its own header.
        let mut bytes = 0u64;
        for i in 0..zip.len() {
            let member = zip.by_index_raw(i).map_err(zip_error)?;
            let (start, name) = (member.header_start(), member.name_raw().to_vec());
            let most = member.compressed_size().saturating_mul(MOST_PACKED);
            bytes = bytes.saturating_add(member.size().min(most));
            drop(member);
            let mut found = Vec::new();
            let unread = |e| unreadable("a name", e);
            again.seek(SeekFrom::Start(start.saturating_add(30))).map_err(unread)?;
            (&again).take(name.len() as u64).read_to_end(&mut found).map_err(unread)?;
            if found != name {
                return Err(Error::BadFormat(format!(
                    "a member has two names, {:?} being one",
                    name.escape_ascii().to_string()
                )));
            }
        }
        Ok(Archive { zip, bytes })
    }

    fn graph(&mut self) -> Result<Graph> {
        let n = usize::try_from(self.integer("num_nodes")?.ok_or_else(|| missing("num_nodes"))?)
            .map_err(|_| Error::BadFormat("num_nodes is negative".to_string()))?;
        check_plausible(n, self.bytes)?;
        let mut graph = match self.integers::<i32>("edges", 2)? {
            Some(edges) => self.graph_of_edges(n, &edges)?,
            None => self.graph_of_matrix(n)?,
        };
        if let Some(normalization) = self.integer("normalization")? {
            let known = usize::try_from(normalization).ok().and_then(|number| NORMALIZATIONS.get(number));
            let unknown = || Error::BadFormat(format!("normalization = {normalization} is not 0, 1 or 2"));
            graph.set_normalization(*known.ok_or_else(unknown)?)?;
        }
        self.features(&mut graph)?;
        if let Some(count) = self.integer("num_classes")? {
            let negative = |_| Error::BadFormat(format!("num_classes = {count} is negative"));
            graph.set_num_classes(usize::try_from(count).map_err(negative)?)?;
        }
        if let Some(labels) = self.integers::<i32>("labels", 1)? {
            expect_len("labels", labels.data.len(), n)?;
            graph.set_labels(&labels.data)?;
        }
        for (split, name) in SPLITS {
            if let Some(nodes) = self.integers::<i32>(name, 1)? {
                graph.set_split(split, &nodes.data).map_err(|e| match e {
                    Error::InvalidArgument(text) => Error::BadFormat(format!("{name}: {text}")),
                    e => e,
                })?;
            }
        }
        Ok(graph)
    }

    fn graph_of_edges(&mut self, n: usize, edges: &Array<i32>) -> Result<Graph> {
        let m = edges.shape[0];
        if edges.shape[1] != 2 {
            return Err(Error::BadFormat(format!("edges has {} columns instead of 2", edges.shape[1])));
        }
        let loops = self.integers::<i32>("self_loops", 1)?.map_or(Vec::new(), |a| a.data);
        super::csr::check_indices(n, &edges.data, "edges")?;
        super::csr::check_indices(n, &loops, "self_loops")?;
        let mut weights = self.reals("edge_weights", 1)?.map(|a| a.data);
        if let Some(weights) = &mut weights {
            expect_len("edge_weights", weights.len(), m)?;
            match self.reals("self_loop_weights", 1)?.map(|a| a.data) {
                Some(more) => {
                    expect_len("self_loop_weights", more.len(), loops.len())?;
                    crate::error::try_reserve(weights, more.len(), "weights")?;
                    weights.extend(more);
                }
                None => {
                    crate::error::try_reserve(weights, loops.len(), "weights")?;
                    weights.resize(m + loops.len(), 1.0);
                }
            }
        }
        let mut sources = try_with_capacity(m + loops.len())?;
        let mut targets = try_with_capacity(m + loops.len())?;
        sources.extend(edges.data.chunks_exact(2).map(|e| e[0]).chain(loops.iter().copied()));
        targets.extend(edges.data.chunks_exact(2).map(|e| e[1]).chain(loops));
        Graph::from_edges(n, &sources, &targets, weights.as_deref())
    }

    fn graph_of_matrix(&mut self, n: usize) -> Result<Graph> {
        let indptr = self.integers::<i64>("adj_indptr", 1)?.ok_or_else(|| missing("edges or adj_indptr"))?.data;
        let indices = self.integers::<i32>("adj_indices", 1)?.ok_or_else(|| missing("adj_indices"))?.data;
        let values = self.reals("adj_values", 1)?.map(|a| a.data);
        check_csr(
            ["adj_indptr", "adj_indices", "adj_values"],
            n,
            &indptr,
            indices.len(),
            values.as_ref().map(Vec::len),
        )?;
        Graph::from_csr(n, &indptr, &indices, values.as_deref())
    }

    fn features(&mut self, graph: &mut Graph) -> Result<()> {
        let n = graph.num_nodes();
        if let Some(dense) = self.reals("features", 2)? {
            expect_len("features", dense.shape[0], n)?;
            return graph.set_features(dense.shape[1], &dense.data);
        }
        let Some(indptr) = self.integers::<i64>("features_indptr", 1)? else {
            return Ok(());
        };
        let indices = self.integers::<i32>("features_indices", 1)?.ok_or_else(|| missing("features_indices"))?.data;
        let values = self.reals("features_data", 1)?.ok_or_else(|| missing("features_data"))?.data;
        let width = self.integer("num_features")?.ok_or_else(|| missing("num_features"))?;
        check_csr(
            ["features_indptr", "features_indices", "features_data"],
            n,
            &indptr.data,
            indices.len(),
            Some(values.len()),
        )?;
        graph.set_sparse_features(usize::try_from(width).unwrap_or(0), &indptr.data, &indices, &values)
    }

    fn integer(&mut self, name: &str) -> Result<Option<i64>> {
        let array = self.integers::<i64>(name, 0)?;
        Ok(array.map(|a| a.data[0]))
    }

    fn integers<T: TryFrom<i64> + Copy>(&mut self, name: &str, dimensions: usize) -> Result<Option<Array<T>>> {
        self.array(name, dimensions, |number| npy::whole(name, number))
    }

    fn reals(&mut self, name: &str, dimensions: usize) -> Result<Option<Array<f32>>> {
        self.array(name, dimensions, npy::real)
    }

    /// The array `name`, if it is there, each number by `convert`.
    fn array<T: Copy>(
        &mut self,
        name: &str,
        dimensions: usize,
        convert: impl Fn(Number) -> Result<T>,
    ) -> Result<Option<Array<T>>> {
        let mut entry = match self.zip.by_name(&format!("{name}.npy")) {
            Ok(entry) => entry,
            Err(ZipError::FileNotFound) => return Ok(None),
            Err(e) => return Err(zip_error(e)),
        };
        npy::read(name, &mut entry, dimensions, convert).map(Some)
    }
}

fn zip_error(error: ZipError) -> Error {
    match error {
        ZipError::Io(e) => match unreadable("the archive", e) {
            Error::BadFormat(text) => Error::BadFormat(format!("not a readable .npz file: {text}")),
            e => e,
        },
        e => Error::BadFormat(format!("not a readable .npz file: {e}")),
    }
}

/// Keeps its first failure, and from then on takes everything and writes nothing: a ZipWriter that is dropped unfinished
/// tries to finish, and prints on stderr if it cannot.
struct Quiet<'a, W> {
    inner: W,
    at: u64,
    failure: &'a RefCell<Option<Error>>,
}

impl<W> Quiet<'_, W> {
    fn note(&self, error: std::io::Error) -> std::io::Error {
        if error.kind() != std::io::ErrorKind::Interrupted {
            self.failure.replace(Some(Error::of_system("write the archive", &error)));
        }
        error
    }

    fn has_failed(&self) -> bool {
        self.failure.borrow().is_some()
    }
}

impl<W: Write> Write for Quiet<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let count = if self.has_failed() { bytes.len() } else { self.inner.write(bytes).map_err(|e| self.note(e))? };
        self.at += count as u64;
        Ok(count)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        if self.has_failed() { Ok(()) } else { self.inner.flush().map_err(|e| self.note(e)) }
    }
}

impl<W: Seek> Seek for Quiet<'_, W> {
    fn seek(&mut self, to: SeekFrom) -> std::io::Result<u64> {
        self.at = match (self.has_failed(), to) {
            (false, to) => self.inner.seek(to).map_err(|e| self.note(e))?,
            (true, SeekFrom::Start(at)) => at,
            (true, SeekFrom::Current(by) | SeekFrom::End(by)) => self.at.saturating_add_signed(by),
        };
        Ok(self.at)
    }
}

struct Writer<W: Write + Seek> {
    zip: zip::ZipWriter<W>,
}

impl<W: Write + Seek> Writer<W> {
    fn graph(&mut self, graph: &Graph) -> Result<()> {
        let scalar = |n: usize| [i32::try_from(n).unwrap_or(i32::MAX)];
        self.array("num_nodes", &[], scalar(graph.num_nodes()))?;
        self.array("num_features", &[], scalar(graph.num_features()))?;
        if graph.stated_classes() > 0 {
            self.array("num_classes", &[], scalar(graph.stated_classes()))?;
        }
        let normalization = NORMALIZATIONS.iter().position(|&n| n == graph.normalization()).unwrap_or(0);
        self.array("normalization", &[], [normalization as i32])?;
        self.adjacency(graph)?;
        match graph.features.as_deref() {
            None => {}
            Some(Matrix::Dense { data, width }) => {
                self.array("features", &[graph.num_nodes(), *width], data.iter().copied())?;
            }
            Some(Matrix::Sparse { csr, .. }) => {
                self.array("features_indptr", &[csr.indptr.len()], csr.indptr.iter().copied())?;
                self.array("features_indices", &[csr.indices.len()], csr.indices.iter().copied())?;
                self.array("features_data", &[csr.values.len()], csr.values.iter().copied())?;
            }
        }
        if let Some(labels) = &graph.labels {
            self.array("labels", &[labels.len()], labels.iter().copied())?;
        }
        for (split, name) in SPLITS {
            let nodes = graph.split(split);
            self.array(name, &[nodes.len()], nodes.iter().copied())?;
        }
        Ok(())
    }

    fn adjacency(&mut self, graph: &Graph) -> Result<()> {
        let a = &graph.adjacency;
        if a.origin() == Origin::Csr {
            let mut indptr = super::csr::empty_indptr(graph.num_nodes())?;
            a.entries().for_each(|(v, _, _)| indptr[v as usize + 1] += 1);
            super::csr::counts_to_offsets(&mut indptr);
            let entries = [indptr[graph.num_nodes()] as usize];
            self.array("adj_indptr", &[indptr.len()], indptr)?;
            self.array("adj_indices", &entries, a.entries().map(|e| e.1))?;
            return match a.is_weighted() {
                true => self.array("adj_values", &entries, a.entries().map(|e| e.2)),
                false => Ok(()),
            };
        }
        let edges = || a.entries().filter(|(v, u, _)| v < u);
        let loops = || a.entries().filter(|(v, u, _)| v == u);
        let (num_edges, num_loops) = (edges().count(), loops().count());
        self.array("edges", &[num_edges, 2], edges().flat_map(|(v, u, _)| [v, u]))?;
        self.array("self_loops", &[num_loops], loops().map(|e| e.0))?;
        if a.is_weighted() {
            self.array("edge_weights", &[num_edges], edges().map(|e| e.2))?;
            self.array("self_loop_weights", &[num_loops], loops().map(|e| e.2))?;
        }
        Ok(())
    }

    fn array<T: Stored>(&mut self, name: &str, shape: &[usize], values: impl IntoIterator<Item = T>) -> Result<()> {
        let failed = |e: std::io::Error| Error::Io(e.to_string());
        let options = zip::write::SimpleFileOptions::default().large_file(true);
        self.zip.start_file(format!("{name}.npy"), options).map_err(|e| Error::Io(e.to_string()))?;
        let mut buffered = std::io::BufWriter::new(&mut self.zip);
        npy::write_header::<T>(shape, &mut buffered).map_err(failed)?;
        for value in values {
            buffered.write_all(bytes_of(&[value])).map_err(failed)?;
        }
        buffered.flush().map_err(failed)
    }
}
