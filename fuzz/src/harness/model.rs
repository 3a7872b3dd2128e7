//! Models from safetensors.

use super::allocator::peak_of;
use super::disk;
use super::input::hash;
use super::memory::Folder;
use super::promise::{call, message};
use plimsoll::capi::*;
use std::ffi::CString;
use std::ptr::{null, null_mut};

pub fn run(data: &[u8]) -> bool {
    thread_local! {
        static PATH: CString = disk::path("model");
        static FOLDER: Folder = Folder::new("model");
    }
    disk::put("model", Some(data));
    PATH.with(|path| {
        let untouched = std::ptr::without_provenance_mut::<plim_model>(1);
        let mut model = untouched;
        // SAFETY: a string, and a place for a handle.
        let load = || call("plim_model_load", || unsafe { plim_model_load(path.as_ptr(), &raw mut model) });
        let (status, peak) = peak_of(load);
        assert!(peak <= (1 << 18) + 256 * data.len(), "{peak} bytes of memory for a file of {} bytes", data.len());
        if status != PLIM_OK {
            assert_eq!(model, untouched, "a failed load changed `out`");
            assert_eq!(status, PLIM_ERROR_BAD_FORMAT, "{:?}", message());
            return true;
        }
        let parameters = parameters_of(model);
        if hash(data).is_multiple_of(64) {
            FOLDER.with(|folder| {
                let path = folder.name("model.safetensors");
                let mut again = null_mut();
                // SAFETY: a live handle, a string, and a place for a handle.
                unsafe {
                    assert_eq!(call("plim_model_save", || plim_model_save(model, path.as_ptr())), PLIM_OK);
                    let loaded = call("plim_model_load", || plim_model_load(path.as_ptr(), &raw mut again));
                    assert_eq!(loaded, PLIM_OK, "{:?}", message());
                }
                assert_eq!(parameters_of(again), parameters);
                plim_model_free(again);
            });
        }
        predict(model);
        plim_model_free(model);
        true
    })
}

/// Widths and the bits of all parameters.
fn parameters_of(model: *const plim_model) -> (Vec<usize>, Vec<u32>) {
    // SAFETY: a live handle, and arrays of the lengths told.
    unsafe {
        let (layers, len) = (plim_model_num_layers(model), plim_model_num_parameters(model));
        let mut widths = vec![0; layers + 1];
        let mut values = vec![0f32; len];
        let status = call("plim_model_copy_widths", || plim_model_copy_widths(model, widths.as_mut_ptr(), layers + 1));
        assert_eq!(status, PLIM_OK);
        let status = call("plim_model_get_parameters", || plim_model_get_parameters(model, values.as_mut_ptr(), len));
        assert_eq!(status, PLIM_OK);
        assert_eq!(widths.windows(2).map(|w| w[0] * w[1]).sum::<usize>(), len);
        (widths, values.into_iter().map(f32::to_bits).collect())
    }
}

/// On a graph of three nodes, if its widths are small.
fn predict(model: *const plim_model) {
    // SAFETY: live handles, and arrays of the lengths told.
    unsafe {
        let mut widths = vec![0; plim_model_num_layers(model) + 1];
        let _ = plim_model_copy_widths(model, widths.as_mut_ptr(), widths.len());
        let (first, last) = (widths[0], widths[widths.len() - 1]);
        if first > 64 || widths.len() > 16 {
            return;
        }
        let mut graph = null_mut();
        let (from, to) = ([0, 1], [1, 2]);
        let made = call("plim_graph_from_edges", || {
            plim_graph_from_edges(3, 2, from.as_ptr(), to.as_ptr(), null(), &raw mut graph)
        });
        assert_eq!(made, PLIM_OK);
        let features = vec![1f32; 3 * first];
        let set = call("plim_graph_set_features", || plim_graph_set_features(graph, first, features.as_ptr()));
        assert_eq!(set, PLIM_OK);
        let mut rows = vec![0f32; 3 * last];
        let status =
            call("plim_model_predict", || plim_model_predict(model, graph, null(), 0, rows.as_mut_ptr(), rows.len()));
        assert!([PLIM_OK, PLIM_ERROR_DIVERGED].contains(&status), "{:?}", message());
        plim_graph_free(graph);
    }
}
