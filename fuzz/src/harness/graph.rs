//! Graphs from files: archives, stores, texts.

use super::allocator::peak_of;
use super::disk;
use super::input::hash;
use super::members::{NAMES, parse_store, unpacked_bytes};
use super::memory::Folder;
use super::promise::{call, message};
use plimsoll::capi::*;
use std::ffi::{CStr, CString};
use std::ptr::{null, null_mut};

/// A graph that is larger is not used further, and its input not kept: it would only be slow.
const LARGE: usize = 512;

pub fn npz(data: &[u8]) -> bool {
    in_memory(
        data,
        || unpacked_bytes(data),
        |path, out| {
            // SAFETY: a string, and a place for a handle.
            ("plim_graph_load", call("plim_graph_load", || unsafe { plim_graph_load(path.as_ptr(), out) }))
        },
    )
}

pub fn matrix_market(data: &[u8]) -> bool {
    in_memory(
        data,
        || data.len(),
        |path, out| {
            // SAFETY: a string, and a place for a handle.
            ("plim_graph_load", call("plim_graph_load", || unsafe { plim_graph_load(path.as_ptr(), out) }))
        },
    )
}

/// The checksum decides on the options. Half of the files are read with the defaults.
pub fn edge_list(data: &[u8]) -> bool {
    let bits = hash(data);
    let num_nodes = if bits % 4 == 1 { 1 + (bits >> 2) as usize % 64 } else { 0 };
    if bits & 2 != 0 {
        return in_memory(data, || data.len(), |path, out| with_options(path, bits >> 8, num_nodes, out));
    }
    in_memory(
        data,
        || data.len(),
        |path, out| {
            // SAFETY: a string, and a place for a handle.
            let status = call("plim_graph_from_edge_list", || unsafe {
                plim_graph_from_edge_list(path.as_ptr(), num_nodes, out)
            });
            ("plim_graph_from_edge_list", status)
        },
    )
}

/// Reads an edge list as some bits say, so that options never contradict each other.
fn with_options(path: &CStr, bits: u64, num_nodes: usize, out: *mut *mut plim_graph) -> Loaded {
    const FUNCTION: &str = "plim_graph_from_edge_list_with";
    let names = bits & 1 == 0;
    let take = |shift: u32, values: &[i32]| values[(bits >> shift) as usize % values.len()];
    let (mut options, untouched) = (null_mut(), std::ptr::without_provenance_mut::<plim_ids>(1));
    let mut ids = untouched;
    let repeated = take(6, &[0, 1, 2, 3]);
    let weight = repeated != PLIM_REPEATED_COUNT && bits & 2 == 0;
    // SAFETY: live handles, strings, and places for handles.
    unsafe {
        let ok = |status| assert_eq!(status, PLIM_OK, "{:?}", message());
        ok(plim_edge_list_options_new(&raw mut options));
        ok(plim_edge_list_options_set_separator(options, take(3, &[0, 0, 0, 44, 59, 9, 32, 124])));
        ok(plim_edge_list_options_set_repeated(options, repeated));
        ok(plim_edge_list_options_set_directed(options, take(8, &[0, 1])));
        ok(plim_edge_list_options_set_header(options, take(9, &[1, 2])));
        match bits >> 11 & 7 {
            0 | 1 => {
                let weight = if weight { c"amount".as_ptr() } else { null() };
                ok(plim_edge_list_options_set_header(options, PLIM_HEADER_AUTO));
                ok(plim_edge_list_options_set_column_names(options, c"source".as_ptr(), c"target".as_ptr(), weight));
            }
            2 | 3 => ok(plim_edge_list_options_set_columns(options, 1, 0, if weight { 2 } else { -1 })),
            _ => {}
        }
        if bits >> 14 & 3 == 0 {
            ok(plim_edge_list_options_set_comment(options, c"%".as_ptr()));
        }
        ok(plim_edge_list_options_set_num_nodes(options, num_nodes));
        let place = if names { &raw mut ids } else { null_mut() };
        let status = call(FUNCTION, || plim_graph_from_edge_list_with(path.as_ptr(), options, place, out));
        plim_edge_list_options_free(options);
        if status == PLIM_OK && names {
            assert!(plim_ids_count(ids) <= plim_graph_num_nodes(*out), "more names than nodes");
            use_ids(ids);
            plim_ids_free(ids);
        } else {
            assert_eq!(ids, untouched, "{FUNCTION} answers {status} and changed `ids`");
        }
        (FUNCTION, status)
    }
}

/// Every name is found again, in the table and in what is saved of it.
fn use_ids(ids: *const plim_ids) {
    thread_local! {
        static FOLDER: Folder = Folder::new("ids");
    }
    let count = plim_ids_count(ids);
    if count > LARGE {
        return;
    }
    FOLDER.with(|folder| {
        let path = folder.name("ids");
        let mut again = null_mut();
        let mut name = vec![0; plim_ids_name_size(ids)];
        // SAFETY: live handles, strings, and arrays of the lengths told.
        unsafe {
            assert_eq!(call("plim_ids_save", || plim_ids_save(ids, path.as_ptr())), PLIM_OK, "{:?}", message());
            let loaded = call("plim_ids_load", || plim_ids_load(path.as_ptr(), &raw mut again));
            assert_eq!(loaded, PLIM_OK, "{:?}", message());
            for id in 0..count as i32 {
                let (mut here, mut there) = (-7, -7);
                let (to, told) = (name.as_mut_ptr(), name.len());
                assert_eq!(call("plim_ids_copy_name", || plim_ids_copy_name(ids, id, to, told)), PLIM_OK);
                call("plim_ids_find", || plim_ids_find(ids, name.as_ptr(), &raw mut here));
                call("plim_ids_find", || plim_ids_find(again, name.as_ptr(), &raw mut there));
                assert_eq!((here, there), (id, id), "a name is found again");
            }
            plim_ids_free(again);
        }
        folder.clear();
    });
}

pub fn store(data: &[u8]) -> bool {
    thread_local! {
        static STORE: (CString, [String; NAMES.len()]) =
            (disk::path("store"), NAMES.map(|name| format!("store/{name}")));
    }
    STORE.with(|(path, names)| {
        let given = parse_store(data);
        for (i, name) in names.iter().enumerate() {
            disk::put(name, given.iter().rfind(|(n, _)| *n == i).map(|(_, bytes)| *bytes));
        }
        load(
            data,
            || data.len(),
            |out| {
                // SAFETY: a string, and a place for a handle.
                ("plim_graph_load", call("plim_graph_load", || unsafe { plim_graph_load(path.as_ptr(), out) }))
            },
        )
    })
}

type Loaded = (&'static str, plim_status);

fn in_memory(
    data: &[u8],
    content: impl Fn() -> usize,
    read: impl FnOnce(&CStr, *mut *mut plim_graph) -> Loaded,
) -> bool {
    thread_local! {
        static PATH: CString = disk::path("graph");
    }
    disk::put("graph", Some(data));
    PATH.with(|path| load(data, content, |out| read(path, out)))
}

/// Loads a graph and uses it. `content` is how many bytes the file has, unpacked.
fn load(data: &[u8], content: impl Fn() -> usize, read: impl FnOnce(*mut *mut plim_graph) -> Loaded) -> bool {
    let untouched = std::ptr::without_provenance_mut::<plim_graph>(1);
    let mut graph = untouched;
    let ((function, status), peak) = peak_of(|| read(&raw mut graph));
    if status != PLIM_OK {
        assert_eq!(graph, untouched, "{function} failed and changed `out`");
        // The file is there and can be read.
        assert!(
            [PLIM_ERROR_BAD_FORMAT, PLIM_ERROR_UNSUPPORTED].contains(&status),
            "{function} answers {status}: {:?}",
            message()
        );
        check_memory(peak, usize::MAX, &content);
        return peak < 1 << 22;
    }
    let n = plim_graph_num_nodes(graph);
    check_memory(peak, n, &content);
    let small = n <= LARGE && use_graph(graph, data);
    plim_graph_free(graph);
    small
}

/// A file may speak of 2^20 nodes, and 8 more for each of its bytes; each costs so much, and so does each byte.
fn check_memory(peak: usize, nodes: usize, content: &dyn Fn() -> usize) {
    const PER_NODE: usize = 80;
    const PER_BYTE: usize = 64;
    const ALWAYS: usize = 1 << 18;
    if peak <= ALWAYS {
        return;
    }
    let bytes = content();
    let nodes = nodes.min((1 << 20) + 8 * bytes);
    let most = ALWAYS + PER_BYTE * bytes + PER_NODE * nodes;
    assert!(peak <= most, "{peak} bytes of memory for {bytes} bytes and at most {nodes} nodes; {most} are fair");
}

/// What a graph can be asked for; false if it is too large for it.
fn use_graph(graph: *mut plim_graph, data: &[u8]) -> bool {
    let (n, edges) = (plim_graph_num_nodes(graph), plim_graph_num_edges(graph));
    let (features, classes) = (plim_graph_num_features(graph), plim_graph_num_classes(graph));
    assert!(n >= 1 && edges <= n * n, "{n} nodes with {edges} edges");
    if features > LARGE || classes > LARGE {
        return false;
    }
    let hash = hash(data);
    if hash.is_multiple_of(64) {
        saved_again(graph);
    }
    call("plim_graph_verify", || plim_graph_verify(graph));
    // Each of the three normalisations is reached from each.
    for normalization in [(hash >> 6) as i32 % 3, (hash >> 4) as i32 % 3] {
        call("plim_graph_set_normalization", || plim_graph_set_normalization(graph, normalization));
    }
    if features > 0 {
        if hash & 1 == 0 {
            call("plim_graph_normalize_features", || plim_graph_normalize_features(graph));
        }
        learn(graph, features, classes, hash >> 8);
    }
    true
}

/// Predicts and takes gradients: the kernels trust what was checked on loading.
fn learn(graph: *mut plim_graph, features: usize, classes: usize, hash: u64) {
    let widths = [features, 3, classes.max(1)];
    let (mut model, mut estimator) = (null_mut(), null_mut());
    let sizes = [[2, 2], [0, 3], [3, 0]][hash as usize % 3];
    // SAFETY: live handles, and arrays of the lengths told.
    unsafe {
        assert_eq!(call("plim_model_gcn", || plim_model_gcn(widths.as_ptr(), 3, hash, &raw mut model)), PLIM_OK);
        let made =
            call("plim_estimator_consistent", || plim_estimator_consistent(sizes.as_ptr(), 2, &raw mut estimator));
        assert_eq!(made, PLIM_OK);
        let distribution = (hash / 3 % 4) as i32;
        call("plim_estimator_set_distribution", || plim_estimator_set_distribution(estimator, distribution));
        let n = plim_graph_num_nodes(graph);
        let mut rows = vec![0f32; n * widths[2]];
        call("plim_model_predict", || plim_model_predict(model, graph, null(), 0, rows.as_mut_ptr(), rows.len()));
        let nodes = [0, (n - 1) as i32, 0];
        let mut some = vec![0f32; 3 * widths[2]];
        call("plim_model_predict", || {
            plim_model_predict(model, graph, nodes.as_ptr(), 3, some.as_mut_ptr(), some.len())
        });
        let mut gradient = vec![0f32; plim_model_num_parameters(model)];
        call("plim_estimator_gradient", || {
            plim_estimator_gradient(
                estimator,
                model,
                graph,
                null(),
                0,
                gradient.as_mut_ptr(),
                gradient.len(),
                null_mut(),
            )
        });
        plim_estimator_free(estimator);
        plim_model_free(model);
    }
}

/// All that a graph tells of itself.
fn facts(graph: *const plim_graph) -> (Vec<usize>, Vec<i32>) {
    let mut lists = Vec::new();
    // SAFETY: a live handle, and arrays of the lengths told.
    unsafe {
        let mut counts = vec![
            plim_graph_num_nodes(graph),
            plim_graph_num_edges(graph),
            plim_graph_num_features(graph),
            plim_graph_num_classes(graph),
        ];
        for split in 0..3 {
            let len = plim_graph_split_size(graph, split);
            counts.push(len);
            let mut nodes = vec![0; len];
            let status = call("plim_graph_copy_split", || plim_graph_copy_split(graph, split, nodes.as_mut_ptr(), len));
            assert_eq!(status, PLIM_OK);
            lists.extend(nodes);
        }
        let mut labels = vec![-7; counts[0]];
        call("plim_graph_copy_labels", || plim_graph_copy_labels(graph, labels.as_mut_ptr(), labels.len()));
        lists.extend(labels);
        (counts, lists)
    }
}

/// What was loaded can be saved in both forms, and is then the same.
fn saved_again(graph: *const plim_graph) {
    thread_local! {
        static FOLDER: Folder = Folder::new("saved");
    }
    FOLDER.with(|folder| {
        let [archive, store] = [folder.name("graph.npz"), folder.name("store")];
        let before = facts(graph);
        for path in [&archive, &store] {
            let mut again = null_mut();
            // SAFETY: live handles, strings, and a place for a handle.
            unsafe {
                let saved = match path == &archive {
                    true => call("plim_graph_save", || plim_graph_save(graph, path.as_ptr())),
                    false => call("plim_graph_save_store", || plim_graph_save_store(graph, path.as_ptr())),
                };
                assert_eq!(saved, PLIM_OK, "{:?}", message());
                let loaded = call("plim_graph_load", || plim_graph_load(path.as_ptr(), &raw mut again));
                // Dense features of a store are looked at only when they are used; an archive's when it is loaded.
                if loaded == PLIM_ERROR_BAD_FORMAT && message().to_string_lossy().contains("is not finite") {
                    continue;
                }
                assert_eq!(loaded, PLIM_OK, "{path:?}: {:?}", message());
                assert_eq!(facts(again), before, "{path:?} holds another graph");
                assert_eq!(call("plim_graph_verify", || plim_graph_verify(again)), PLIM_OK, "{:?}", message());
                plim_graph_free(again);
            }
        }
        folder.clear();
    });
}
