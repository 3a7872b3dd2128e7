//! Checkpoints, resumed by a run that they may fit. An input's first byte chooses the run; the rest is the file.

use super::allocator::peak_of;
use super::disk;
use super::memory::Folder;
use super::mutate::{self, Core, Random};
use super::promise::{call, message};
use plimsoll::capi::*;
use std::ptr::{null, null_mut};

/// Kinds of runs.
pub const KINDS: u8 = 8;

struct Run {
    graph: *mut plim_graph,
    model: *mut plim_model,
    options: *mut plim_train_options,
}

/// A graph of eight nodes with the features, labels and splits of a lesson; whether there is a validation split is the
/// kind's.
fn setup(kind: u8, epochs: usize) -> Run {
    let mut run = Run { graph: null_mut(), model: null_mut(), options: null_mut() };
    let from: Vec<i32> = (0..8).collect();
    let to: Vec<i32> = (0..8).map(|v| (v + 1) % 8).collect();
    let features: Vec<f32> = (0..16).map(|i| (i % 5) as f32 / 4.0).collect();
    let labels = [0, 1, 0, 1, -1, 1, 0, 1];
    let widths = [2, 3, 2];
    // SAFETY: live handles, and arrays of the lengths told.
    unsafe {
        let ok = |status| assert_eq!(status, PLIM_OK, "{:?}", message());
        ok(plim_graph_from_edges(8, 8, from.as_ptr(), to.as_ptr(), null(), &raw mut run.graph));
        ok(plim_graph_set_features(run.graph, 2, features.as_ptr()));
        ok(plim_graph_set_labels(run.graph, labels.as_ptr()));
        ok(plim_graph_set_split(run.graph, 0, [0, 1, 2, 3].as_ptr(), 4));
        if kind & 4 != 0 {
            ok(plim_graph_set_split(run.graph, 1, [5, 6].as_ptr(), 2));
        }
        ok(plim_model_gcn(widths.as_ptr(), 3, 1, &raw mut run.model));
        ok(plim_train_options_new(&raw mut run.options));
        ok(plim_train_options_set_epochs(run.options, epochs));
        ok(plim_train_options_set_batch_size(run.options, 2));
        ok(plim_train_options_set_ema(run.options, i32::from(kind & 5 == 5)));
        if kind & 2 != 0 {
            ok(plim_train_options_set_adaptive(run.options, 0.5, 2, 1, 8));
        }
    }
    run
}

/// Estimator and optimizer of a kind.
fn movers(kind: u8) -> (*mut plim_estimator, *mut plim_optimizer) {
    let (mut estimator, mut optimizer) = (null_mut(), null_mut());
    let sizes = [2, 2];
    // SAFETY: places for handles, and an array of the length told.
    unsafe {
        let ok = |status| assert_eq!(status, PLIM_OK, "{:?}", message());
        match kind & 2 {
            0 => ok(plim_estimator_unbiased(&raw mut estimator)),
            _ => ok(plim_estimator_consistent(sizes.as_ptr(), 2, &raw mut estimator)),
        }
        match kind & 1 {
            0 => ok(plim_optimizer_sgd(0.1, &raw mut optimizer)),
            _ => ok(plim_optimizer_adam(0.1, &raw mut optimizer)),
        }
        ok(plim_optimizer_set_averaging(optimizer, i32::from(kind & 4 != 0)));
        if kind & 4 != 0 {
            ok(plim_optimizer_set_ema(optimizer, 0.5));
            ok(plim_optimizer_set_cosine(optimizer, 4, PLIM_UNIT_EPOCHS, 0.01));
            ok(plim_optimizer_set_plateau(optimizer, 0.5, 0, 0.01));
        }
    }
    (estimator, optimizer)
}

/// The input that a run of that kind makes by itself after so many epochs.
pub fn seed(kind: u8, epochs: usize) -> Vec<u8> {
    let folder = Folder::new("seed");
    let path = folder.name("run.checkpoint");
    let Run { graph, model, options } = setup(kind, epochs);
    let (estimator, optimizer) = movers(kind);
    // SAFETY: live handles and a string.
    unsafe {
        assert_eq!(plim_train_options_set_checkpoint(options, path.as_ptr(), 1), PLIM_OK);
        assert_eq!(plim_train(model, graph, estimator, optimizer, options, null_mut()), PLIM_OK);
        plim_estimator_free(estimator);
        plim_optimizer_free(optimizer);
        plim_train_options_free(options);
        plim_model_free(model);
        plim_graph_free(graph);
    }
    let file = std::fs::read(folder.path().join("run.checkpoint")).expect("the run wrote it");
    [&[kind][..], &file].concat()
}

pub fn run(data: &[u8]) -> bool {
    resume(data);
    true
}

/// Whether a run goes on from it. A corpus of another format would be refused by its first bytes, and test nothing.
pub fn resumes(data: &[u8]) -> bool {
    resume(data) == PLIM_OK
}

fn resume(data: &[u8]) -> plim_status {
    thread_local! {
        static RUNS: Vec<Run> = (0..KINDS).map(|kind| {
            let (run, path) = (setup(kind, 3), disk::path("run"));
            // SAFETY: a live handle and a string.
            assert_eq!(unsafe { plim_train_options_set_resume(run.options, path.as_ptr()) }, PLIM_OK);
            run
        }).collect();
    }
    let (kind, file) = data.split_first().map_or((0, data), |(kind, file)| (kind % KINDS, file));
    disk::put("run", Some(file));
    RUNS.with(|runs| {
        let Run { graph, model: base, options } = runs[usize::from(kind)];
        let mut model = null_mut();
        let untouched = std::ptr::without_provenance_mut::<plim_history>(1);
        let mut history = untouched;
        let (estimator, optimizer) = movers(kind);
        // SAFETY: live handles, and places for handles.
        unsafe {
            assert_eq!(call("plim_model_clone", || plim_model_clone(base, &raw mut model)), PLIM_OK);
            let train = || plim_train(model, graph, estimator, optimizer, options, &raw mut history);
            let (status, peak) = peak_of(|| call("plim_train", train));
            assert!(peak <= (1 << 21) + 256 * data.len(), "{peak} bytes of memory for a file of {} bytes", file.len());
            match status {
                PLIM_OK | PLIM_ERROR_DIVERGED => {
                    let epochs = plim_history_num_epochs(history);
                    let mut losses = vec![0f64; epochs];
                    let copy = || plim_history_copy(history, 0, losses.as_mut_ptr(), epochs);
                    assert_eq!(call("plim_history_copy", copy), PLIM_OK);
                    assert!(plim_history_best_epoch(history) <= epochs);
                    assert!(parameters(model).iter().all(|w| w.is_finite()), "the parameters are not finite");
                    plim_history_free(history);
                }
                PLIM_ERROR_BAD_FORMAT | PLIM_ERROR_SHAPE_MISMATCH => {
                    assert_eq!(history, untouched, "a failed plim_train changed `out`");
                    assert_eq!(parameters(model), parameters(base), "a refused checkpoint changed the model");
                }
                _ => panic!("plim_train answers {status}: {:?}", message()),
            }
            plim_model_free(model);
            plim_estimator_free(estimator);
            plim_optimizer_free(optimizer);
            status
        }
    })
}

fn parameters(model: *const plim_model) -> Vec<f32> {
    // SAFETY: a live handle, and an array of the length told.
    unsafe {
        let mut values = vec![0f32; plim_model_num_parameters(model)];
        let len = values.len();
        let status = call("plim_model_get_parameters", || plim_model_get_parameters(model, values.as_mut_ptr(), len));
        assert_eq!(status, PLIM_OK);
        values
    }
}

/// Changes the safetensors inside, and makes length and checksum fit.
pub fn mutate(bytes: Vec<u8>, most: usize, random: &mut Random, core: Core<'_>) -> Vec<u8> {
    const HEAD: usize = 17;
    if bytes.len() < HEAD + 4 || random.below(8) == 0 {
        return mutate::raw(bytes, most, random, core);
    }
    let payload = bytes[HEAD..bytes.len() - 4].to_vec();
    let payload = mutate::safetensors(payload, most.saturating_sub(HEAD + 4), random, core);
    let mut file = [&bytes[1..9], &(payload.len() as u64).to_le_bytes(), &payload].concat();
    file.extend_from_slice(&crc32fast::hash(&file).to_le_bytes());
    [&bytes[..1], &file].concat()
}
