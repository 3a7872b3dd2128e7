//! Valid inputs to begin with, made by the library.

use super::members::{Member, NAMES, write_store, write_zip};
use super::memory::Folder;
use super::{checkpoint, promise};
use plimsoll::capi::*;
use std::ffi::CString;
use std::fs;
use std::path::Path;
use std::ptr::{null, null_mut};

fn ok(status: plim_status) {
    assert_eq!(status, PLIM_OK, "{:?}", promise::message());
}

/// Writes the seeds of each target into a folder of its name.
pub fn write(corpus: &Path) -> std::io::Result<()> {
    for target in &super::TARGETS {
        let folder = corpus.join(target.name);
        fs::create_dir_all(&folder)?;
        for (i, seed) in of(target.name).iter().enumerate() {
            fs::write(folder.join(format!("seed-{i:02}")), seed)?;
        }
    }
    Ok(())
}

/// The seeds of a target.
pub fn of(target: &str) -> Vec<Vec<u8>> {
    match target {
        "npz" => graphs().iter().flat_map(|g| [saved(g), stored_only(g)]).chain(numpys_archives()).collect(),
        "store" => {
            graphs().iter().flat_map(|g| [stored(g), stored_without_checksums(g)]).chain(numpys_stores()).collect()
        }
        "safetensors" => models(),
        "checkpoint" => (0..checkpoint::KINDS).map(|kind| checkpoint::seed(kind, 1 + usize::from(kind) % 3)).collect(),
        "edge_list" => texts(&[
            "0 1\n1 2\n2 0\n",
            "source,target,weight\n0,1,0.5\n1,2,2\n2,2,1e-3\n",
            "# a comment\n% another\n\n0\t1\n5\t3\n",
            "\u{feff}\"from\";\"to\"\n\"0\";\"1\"\n1;2\n",
            "0 7 1.5\n7 0 2.5\n3 3 1",
            "source,target,amount,time\r\nann,\"bob, jr\",2.5,mon\r\n\"bob, jr\",\"say \"\"hi\"\"\",1,\"two\nlines\"\r\n",
            "ann\tbob b\t3\n\ncarl\tann\t0.25\n",
        ]),
        "matrix_market" => texts(&[
            "%%MatrixMarket matrix coordinate real general\n% a comment\n3 3 3\n1 2 0.5\n2 3 1\n3 1 2e0\n",
            "%%MatrixMarket matrix coordinate pattern symmetric\n4 4 3\n2 1\n3 2\n4 4\n",
            "%%MatrixMarket matrix coordinate integer symmetric\n\n2 2 2\n1 1 3\n2 1 4\n",
            "%%MatrixMarket matrix coordinate pattern general\n5 5 0\n",
            "%%MatrixMarket MATRIX Coordinate double General\n2 2 2\n1 2 1\n1 2 1\n",
        ]),
        "letor" => texts(&[
            "2 qid:1 1:0.5 2:1\n0 qid:1 1:0.25 2:0\n1 qid:1 1:0 2:3 # a comment\n",
            "0 qid:7 3:1\n1 qid:7 1:-2.5\n\n# nothing\n3 qid:-9 2:1e-3 1:4\n0 qid:-9\n",
            "\u{feff}1.0 qid:10 1:1 2:2 3:3 4:4\r\n0 qid:10 4:1 3:2 2:3 1:4\r\n",
            "1000 qid:9223372036854775807 300:1\n0 qid:9223372036854775807 1:1e30\n",
            "0 qid:1 1:1\n0 qid:2 1:2\n0 qid:3 1:3",
        ]),
        "calls" => super::calls::seeds(),
        _ => Vec::new(),
    }
}

fn texts(texts: &[&str]) -> Vec<Vec<u8>> {
    texts.iter().map(|text| text.as_bytes().to_vec()).collect()
}

/// A graph of the library's; freed when it is dropped.
struct Graph(*mut plim_graph);

impl Drop for Graph {
    fn drop(&mut self) {
        plim_graph_free(self.0);
    }
}

/// Each kind of adjacency, features and normalisation at least once.
fn graphs() -> Vec<Graph> {
    let (from, to, weights) = ([0, 1, 2, 3, 3], [1, 2, 3, 4, 3], [1.0, 0.5, 2.0, 1.0, 3.0]);
    let (indptr, indices, values) = ([0i64, 2, 3, 3], [0, 1, 2], [1f32, 0.5, 0.25]);
    let mut graphs = Vec::new();
    for kind in 0..6 {
        let mut graph = null_mut();
        // SAFETY: live handles, and arrays of the lengths told.
        unsafe {
            match kind {
                0 => ok(plim_graph_from_edges(5, 5, from.as_ptr(), to.as_ptr(), null(), &raw mut graph)),
                1 => ok(plim_graph_from_edges(5, 5, from.as_ptr(), to.as_ptr(), weights.as_ptr(), &raw mut graph)),
                2 => ok(plim_graph_from_csr(3, indptr.as_ptr(), indices.as_ptr(), null(), &raw mut graph)),
                3 => ok(plim_graph_from_csr(3, indptr.as_ptr(), indices.as_ptr(), values.as_ptr(), &raw mut graph)),
                4 => ok(plim_graph_from_mixture(2, 1, &raw mut graph)),
                _ => ok(plim_graph_from_edges(1, 0, null(), null(), null(), &raw mut graph)),
            }
            let n = plim_graph_num_nodes(graph);
            if kind % 2 == 0 {
                let features: Vec<f32> = (0..2 * n).map(|i| i as f32 / 2.0).collect();
                ok(plim_graph_set_features(graph, 2, features.as_ptr()));
            } else {
                let indptr: Vec<i64> = (0..=n as i64).collect();
                let indices: Vec<i32> = (0..n as i32).map(|v| v % 3).collect();
                let values: Vec<f32> = (0..n).map(|v| 1.0 + v as f32).collect();
                ok(plim_graph_set_sparse_features(graph, 3, indptr.as_ptr(), indices.as_ptr(), values.as_ptr()));
            }
            let labels: Vec<i32> = (0..n as i32).map(|v| v % 3 - i32::from(v == 4)).collect();
            ok(plim_graph_set_labels(graph, labels.as_ptr()));
            ok(plim_graph_set_split(graph, 0, [0].as_ptr(), 1));
            if n > 2 {
                ok(plim_graph_set_split(graph, 1, [1].as_ptr(), 1));
                ok(plim_graph_set_split(graph, 2, [2].as_ptr(), 1));
            }
            ok(plim_graph_set_normalization(graph, kind % 3));
        }
        graphs.push(Graph(graph));
    }
    graphs
}

/// The archive that the library writes.
fn saved(graph: &Graph) -> Vec<u8> {
    let folder = Folder::new("seed");
    // SAFETY: a live handle and a string.
    ok(unsafe { plim_graph_save(graph.0, folder.name("graph.npz").as_ptr()) });
    fs::read(folder.path().join("graph.npz")).expect("it was written")
}

/// The files of the store that the library writes.
fn files_of(graph: &Graph) -> Vec<Member> {
    let folder = Folder::new("seed");
    // SAFETY: a live handle and a string.
    ok(unsafe { plim_graph_save_store(graph.0, folder.name("store").as_ptr()) });
    let member = |name: &&str| Some(Member::new(name, fs::read(folder.path().join("store").join(name)).ok()?));
    NAMES.iter().filter_map(member).collect()
}

fn stored(graph: &Graph) -> Vec<u8> {
    write_store(&files_of(graph))
}

/// The same without checksums, so that changes of an array reach the checks of its content.
fn stored_without_checksums(graph: &Graph) -> Vec<u8> {
    let mut files = files_of(graph);
    let meta = files.iter_mut().find(|m| m.name == b"meta.json").expect("a store has one");
    let text = String::from_utf8(meta.data.clone()).expect("it is JSON");
    let (start, _) = text.split_once(",\n  \"checksums\"").expect("the library writes them");
    meta.data = format!("{start}\n}}\n").into_bytes();
    write_store(&files)
}

/// An archive of plainly stored members, which changes reach past the checksum: the features, labels and splits of a store,
/// beside a matrix given by rows.
fn stored_only(graph: &Graph) -> Vec<u8> {
    let mut members = files_of(graph);
    members.retain(|m| !["meta.json", "self_loops.npy", "weights.npy"].iter().any(|name| m.name == name.as_bytes()));
    for member in &mut members {
        if ["indptr.npy", "indices.npy", "values.npy"].iter().any(|name| member.name == name.as_bytes()) {
            member.name.splice(0..0, *b"adj_");
        }
    }
    let (n, d) = (plim_graph_num_nodes(graph.0), plim_graph_num_features(graph.0));
    members.push(Member::new("num_nodes.npy", array("<i8", "", &(n as i64).to_le_bytes())));
    members.push(Member::new("num_features.npy", array("<i8", "", &(d as i64).to_le_bytes())));
    write_zip(&members)
}

/// An array as NumPy writes it.
fn array(descr: &str, shape: &str, data: &[u8]) -> Vec<u8> {
    let mut header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({shape}), }}");
    let padding = (10 + header.len() + 1).next_multiple_of(64) - (10 + header.len() + 1);
    header.push_str(&" ".repeat(padding));
    header.push('\n');
    [b"\x93NUMPY\x01\x00", &(header.len() as u16).to_le_bytes()[..], header.as_bytes(), data].concat()
}

fn bytes<T: Copy, const N: usize>(values: &[T], to_bytes: fn(T) -> [u8; N]) -> Vec<u8> {
    values.iter().flat_map(|&v| to_bytes(v)).collect()
}

/// Types that the library reads and does not write.
fn numpys_archives() -> Vec<Vec<u8>> {
    let edges = bytes(&[0i64, 1, 1, 2, 0, 2], i64::to_le_bytes);
    let columns = array("<f8", "3, 2", &bytes(&[0f64, 1.0, 2.0, 3.0, 4.0, 5.0], f64::to_le_bytes));
    let columns = String::from_utf8_lossy(&columns[10..]).replace("False", "True ").into_bytes();
    let columns = [b"\x93NUMPY\x01\x00", &118u16.to_le_bytes()[..], &columns].concat();
    vec![
        write_zip(&[
            Member::new("num_nodes.npy", array("<i4", "", &3i32.to_le_bytes())),
            Member::new("edges.npy", array("<i8", "3, 2", &edges)),
            Member::new("edge_weights.npy", array("<f8", "3,", &bytes(&[1f64, 0.5, 2.0], f64::to_le_bytes))),
            Member::new("self_loops.npy", array("<i8", "1,", &1i64.to_le_bytes())),
            Member::new("features.npy", columns),
            Member::new("labels.npy", array("|u1", "3,", &[0, 1, 1])),
            Member::new("train.npy", array("<u2", "2,", &bytes(&[0u16, 2], u16::to_le_bytes))),
            Member::new("other.npy", array("|u1", "1,", &[7])),
        ]),
        write_zip(&[
            Member::new("num_nodes.npy", array("<i8", "", &2i64.to_le_bytes())),
            Member::new("edges.npy", array("|i1", "1, 2", &[0, 1])),
        ]),
    ]
}

/// Stores as NumPy makes them: A instead of Â, and types that must be converted.
fn numpys_stores() -> Vec<Vec<u8>> {
    let meta = |more: &str| {
        let text = format!("{{\"format\": \"plimsoll-store\", \"version\": 1{more}}}");
        Member::new("meta.json", text.into_bytes())
    };
    let matrix = [
        Member::new("indptr.npy", array("<i8", "4,", &bytes(&[0i64, 1, 2, 2], i64::to_le_bytes))),
        Member::new("indices.npy", array("<i4", "2,", &bytes(&[1i32, 0], i32::to_le_bytes))),
    ];
    let small = [
        Member::new("indptr.npy", array("<i4", "4,", &bytes(&[0i32, 2, 3, 4], i32::to_le_bytes))),
        Member::new("indices.npy", array("|u1", "4,", &[2, 1, 0, 0])),
        Member::new("values.npy", array("<f8", "4,", &bytes(&[1f64, 2.0, 2.0, 1.0], f64::to_le_bytes))),
    ];
    let with = |first: Member, rest: &[Member]| write_store(&[&[first][..], rest].concat());
    vec![
        with(meta(""), &matrix),
        with(meta(", \"normalization\": \"none\""), &matrix),
        with(meta(", \"undirected\": true, \"normalization\": \"row\""), &matrix),
        with(meta(", \"undirected\": true"), &small),
        with(meta(", \"normalization\": \"none\", \"undirected\": true, \"matrix\": \"adjacency\""), &small),
    ]
}

/// A model file without checksums, so that changes reach the checks of its content.
fn without_metadata(file: &[u8]) -> Vec<u8> {
    let (length, rest) = file.split_first_chunk().expect("a length");
    let (json, data) = rest.split_at(u64::from_le_bytes(*length) as usize);
    let json = std::str::from_utf8(json).expect("it is JSON");
    let at = json.find("\"convs.0").expect("a model has a layer");
    let json = format!("{{{}", &json[at..]);
    [&(json.len() as u64).to_le_bytes()[..], json.as_bytes(), data].concat()
}

fn models() -> Vec<Vec<u8>> {
    let folder = Folder::new("seed");
    let path: CString = folder.name("model.safetensors");
    let widths: [&[usize]; 4] = [&[2, 2], &[3, 4, 2], &[1, 1, 1, 1], &[5, 1]];
    let mut seeds = Vec::new();
    for (i, widths) in widths.iter().enumerate() {
        let mut model = null_mut();
        // SAFETY: a live handle, a string, and an array of the length told.
        unsafe {
            ok(plim_model_gcn(widths.as_ptr(), widths.len(), 1, &raw mut model));
            ok(plim_model_set_regularization(model, i as f64 / 1000.0));
            ok(plim_model_save(model, path.as_ptr()));
            plim_model_free(model);
        }
        let file = fs::read(folder.path().join("model.safetensors")).expect("it was written");
        seeds.push(without_metadata(&file));
        seeds.push(file);
    }
    let json = "{\"convs.0.lin.weight\":{\"dtype\":\"F32\",\"shape\":[2,1],\"data_offsets\":[0,8]}}";
    seeds.push([&(json.len() as u64).to_le_bytes()[..], json.as_bytes(), &[0; 8]].concat());
    seeds
}
