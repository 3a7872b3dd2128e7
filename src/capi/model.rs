//! Models.

use super::constant::constant;
use super::graph::plim_graph;
use super::guard::{getter, guard};
use super::handle::Object;
use super::ptr::{self, Opaque};
use super::status::plim_status;
use crate::error::{Error, ForThe, Result};
use crate::graph::Split;
use crate::model::{Model, macro_f1};
use std::ffi::c_char;

/// A graph convolutional network and its parameters. Release it with plim_model_free().
pub struct plim_model {
    _opaque: [u8; 0],
}

/// What the getters tell of a model.
#[derive(Clone, Copy, Default)]
pub struct ModelFacts {
    num_layers: usize,
    num_parameters: usize,
}

impl Object for Model {
    const NAME: &'static str = "plim_model";
    type Facts = ModelFacts;

    fn facts(&self) -> ModelFacts {
        ModelFacts { num_layers: self.num_layers(), num_parameters: self.parameters().len() }
    }
}

impl Opaque for plim_model {
    type Object = Model;
}

/// Elements of a result with a row for each of `nodes` rows, or why there cannot be that many.
fn elements(rows: usize, columns: usize) -> Result<usize> {
    rows.checked_mul(columns).ok_or_else(|| Error::InvalidArgument(format!("num_nodes = {rows} is too large")))
}

/// Makes a graph convolutional network: H(l+1) = ReLU(Â H(l) W(l)), no ReLU but a softmax after the last layer.
///
/// {1433, 16, 7} is the 2-layer network for Cora. Parameters are drawn uniformly from ±sqrt(6 / (fan_in + fan_out)).
///
/// @param widths      input width, hidden widths, output width; each 1 .. INT32_MAX.
/// @param num_widths  at least 2.
/// @param seed        the same seed gives the same parameters.
/// @param out         receives the model; release it with plim_model_free(). Untouched unless PLIM_OK is returned.
///
/// @return PLIM_OK, PLIM_ERROR_NULL_POINTER, PLIM_ERROR_INVALID_ARGUMENT or PLIM_ERROR_OUT_OF_MEMORY.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn plim_model_gcn(
    widths: *const usize,
    num_widths: usize,
    seed: u64,
    out: *mut *mut plim_model,
) -> plim_status {
    guard(|| {
        // SAFETY: the caller promises `out` is NULL or valid for one write.
        let out = unsafe { ptr::out("out", out) }?;
        // SAFETY: the caller promises `num_widths` readable widths.
        let widths = unsafe { ptr::slice("widths", widths, num_widths) }?;
        out.give(Model::gcn(widths, seed).for_the("parameters")?)
    })
}

/// Reads a model from a safetensors file, as plim_model_save() or PyTorch Geometric's GCN without biases writes it.
///
/// @param path  a file name.
/// @param out   receives the model; release it with plim_model_free(). Untouched unless PLIM_OK is returned.
///
/// @return PLIM_OK, PLIM_ERROR_NULL_POINTER, PLIM_ERROR_INVALID_ARGUMENT (an empty path), PLIM_ERROR_IO (it cannot be
///         read), PLIM_ERROR_BAD_FORMAT (it is not such a file, or is damaged) or PLIM_ERROR_OUT_OF_MEMORY.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn plim_model_load(path: *const c_char, out: *mut *mut plim_model) -> plim_status {
    guard(|| {
        // SAFETY: the caller promises `out` is NULL or valid for one write.
        let out = unsafe { ptr::out("out", out) }?;
        // SAFETY: the caller promises `path` is NULL or a string.
        let path = unsafe { ptr::path("path", path) }?;
        out.give(Model::load(path).for_the(format_args!("model in {}", path.display()))?)
    })
}

/// Writes the model as a safetensors file: tensors `convs.{l}.lin.weight` of shape [fan_out, fan_in], λ as metadata.
///
/// The number of threads is not written. The file appears whole or not at all: an older one of that name stays until
/// the new one is complete.
///
/// @param model  the model.
/// @param path   a file name, ending in .safetensors by custom.
///
/// @return PLIM_OK, PLIM_ERROR_NULL_POINTER, PLIM_ERROR_INVALID_ARGUMENT (an empty path), PLIM_ERROR_IO,
///         PLIM_ERROR_INVALID_HANDLE or PLIM_ERROR_BUSY.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn plim_model_save(model: *const plim_model, path: *const c_char) -> plim_status {
    guard(|| {
        let model = ptr::handle("model", model)?;
        // SAFETY: the caller promises `path` is NULL or a string.
        let path = unsafe { ptr::path("path", path) }?;
        model.read()?.save(path).for_the(format_args!("file {}", path.display()))
    })
}

/// Makes a model of its own with the same parameters, λ and number of threads.
///
/// @param model  the model to copy.
/// @param out    receives the copy; release it with plim_model_free(). Untouched unless PLIM_OK is returned.
///
/// @return PLIM_OK, PLIM_ERROR_NULL_POINTER, PLIM_ERROR_INVALID_HANDLE, PLIM_ERROR_BUSY or PLIM_ERROR_OUT_OF_MEMORY.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn plim_model_clone(model: *const plim_model, out: *mut *mut plim_model) -> plim_status {
    guard(|| {
        // SAFETY: the caller promises `out` is NULL or valid for one write.
        let out = unsafe { ptr::out("out", out) }?;
        let model = ptr::handle("model", model)?;
        let clone = model.read()?.try_clone().for_the("parameters")?;
        out.give(clone)
    })
}

/// Ends a model's handle; its threads are joined.
///
/// @param model  the model; NULL and handles that are not live are ignored.
#[unsafe(no_mangle)]
pub extern "C" fn plim_model_free(model: *mut plim_model) {
    getter(|| {
        ptr::free(model);
        Some(())
    })
}

/// Sets λ of the penalty λ/2 ‖W‖² over all layers. It enters gradients and their loss, not plim_model_evaluate().
///
/// @param model   the model.
/// @param lambda  finite and >= 0; 0 at first.
///
/// @return PLIM_OK, PLIM_ERROR_NULL_POINTER, PLIM_ERROR_INVALID_ARGUMENT, PLIM_ERROR_INVALID_HANDLE or PLIM_ERROR_BUSY.
#[unsafe(no_mangle)]
#[must_use]
pub extern "C" fn plim_model_set_regularization(model: *mut plim_model, lambda: f64) -> plim_status {
    guard(|| ptr::handle("model", model)?.write()?.set_lambda(lambda))
}

/// Sets how many threads predictions, evaluations and gradients of this model use. Results do not depend on it.
///
/// The threads are the model's own: started here, joined when it is freed, started anew in a child after fork().
/// They run where the calling thread may. On Linux one that shares a core with the thread it works for moves away from
/// it: it takes that core out of its own affinity and puts it back at once.
///
/// @param model    the model.
/// @param threads  1 at first, which starts none; 0 for all cores; at most 1024.
///
/// @return PLIM_OK, PLIM_ERROR_NULL_POINTER, PLIM_ERROR_INVALID_ARGUMENT, PLIM_ERROR_INVALID_HANDLE, PLIM_ERROR_BUSY
///         or PLIM_ERROR_OUT_OF_MEMORY (the system starts no more threads).
#[unsafe(no_mangle)]
#[must_use]
pub extern "C" fn plim_model_set_threads(model: *mut plim_model, threads: usize) -> plim_status {
    guard(|| ptr::handle("model", model)?.write()?.set_threads(threads))
}

/// Number of layers: one less than the widths.
///
/// @param model  the model.
///
/// @return the number; 0 for NULL or a handle that is not live.
#[unsafe(no_mangle)]
pub extern "C" fn plim_model_num_layers(model: *const plim_model) -> usize {
    getter(|| Some(ptr::facts(model)?.num_layers))
}

/// Number of parameters of all layers, which is also the length of a gradient.
///
/// @param model  the model.
///
/// @return the number; 0 for NULL or a handle that is not live.
#[unsafe(no_mangle)]
pub extern "C" fn plim_model_num_parameters(model: *const plim_model) -> usize {
    getter(|| Some(ptr::facts(model)?.num_parameters))
}

/// Copies all parameters: W(0), W(1), …, each row-major fan_in × fan_out.
///
/// @param model     the model.
/// @param dst       receives plim_model_num_parameters() values; untouched unless PLIM_OK is returned.
/// @param capacity  values that `dst` has room for.
///
/// @return PLIM_OK, PLIM_ERROR_NULL_POINTER, PLIM_ERROR_BUFFER_TOO_SMALL, PLIM_ERROR_INVALID_HANDLE or PLIM_ERROR_BUSY.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn plim_model_get_parameters(
    model: *const plim_model,
    dst: *mut f32,
    capacity: usize,
) -> plim_status {
    guard(|| {
        let model = ptr::handle("model", model)?;
        let model = model.read()?;
        // SAFETY: the caller promises `dst` is NULL or valid for `capacity` writes.
        unsafe { ptr::buffer("dst", dst, capacity, model.parameters().len()) }?.put(model.parameters());
        Ok(())
    })
}

/// Replaces all parameters, in the order of plim_model_get_parameters().
///
/// @param model  the model.
/// @param src    `count` finite values.
/// @param count  plim_model_num_parameters().
///
/// @return PLIM_OK, PLIM_ERROR_NULL_POINTER, PLIM_ERROR_SHAPE_MISMATCH (another count), PLIM_ERROR_INVALID_ARGUMENT (a
///         value is not finite), PLIM_ERROR_INVALID_HANDLE or PLIM_ERROR_BUSY. On failure nothing changes.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn plim_model_set_parameters(
    model: *mut plim_model,
    src: *const f32,
    count: usize,
) -> plim_status {
    guard(|| {
        let model = ptr::handle("model", model)?;
        // SAFETY: the caller promises `count` readable values.
        let src = unsafe { ptr::slice("src", src, count) }?;
        model.write()?.set_parameters(src)
    })
}

/// Copies the widths: input, hidden, output.
///
/// @param model     the model.
/// @param dst       receives plim_model_num_layers() + 1 widths; untouched unless PLIM_OK is returned.
/// @param capacity  widths that `dst` has room for.
///
/// @return PLIM_OK, PLIM_ERROR_NULL_POINTER, PLIM_ERROR_BUFFER_TOO_SMALL, PLIM_ERROR_INVALID_HANDLE or PLIM_ERROR_BUSY.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn plim_model_copy_widths(
    model: *const plim_model,
    dst: *mut usize,
    capacity: usize,
) -> plim_status {
    guard(|| {
        let model = ptr::handle("model", model)?;
        let model = model.read()?;
        // SAFETY: the caller promises `dst` is NULL or valid for `capacity` writes.
        unsafe { ptr::buffer("dst", dst, capacity, model.widths().len()) }?.put(model.widths());
        Ok(())
    })
}

/// Computes class probabilities, exactly: nothing is sampled.
///
/// The graph may be another one than the model was trained on, if its features fit. A list reads only the list's own
/// neighbourhood, and gives the same bits as the rows of a prediction for all. Many threads may predict on one model
/// at once.
///
/// @param model          the model.
/// @param graph          a graph whose number of features is the model's input width.
/// @param nodes          `num_nodes` node ids, repeats allowed; NULL with 0 for all nodes.
/// @param num_nodes      length of the list.
/// @param probabilities  receives a row per node, as many columns as the model's last width, row-major; untouched
///                       unless PLIM_OK is returned.
/// @param capacity       values that `probabilities` has room for.
///
/// @return PLIM_OK, PLIM_ERROR_NULL_POINTER, PLIM_ERROR_INVALID_ARGUMENT (a node id), PLIM_ERROR_SHAPE_MISMATCH,
///         PLIM_ERROR_MISSING_DATA (no features), PLIM_ERROR_BUFFER_TOO_SMALL, PLIM_ERROR_DIVERGED (an output is not
///         finite), PLIM_ERROR_INVALID_HANDLE, PLIM_ERROR_BUSY or PLIM_ERROR_OUT_OF_MEMORY.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn plim_model_predict(
    model: *const plim_model,
    graph: *const plim_graph,
    nodes: *const i32,
    num_nodes: usize,
    probabilities: *mut f32,
    capacity: usize,
) -> plim_status {
    guard(|| {
        let (model, graph) = (ptr::handle("model", model)?, ptr::handle("graph", graph)?);
        let (model, graph) = (model.read()?, graph.read()?);
        // SAFETY: the caller promises `num_nodes` readable ids.
        let nodes = unsafe { ptr::list_or_all("nodes", nodes, num_nodes) }?;
        let needed = elements(nodes.map_or(graph.num_nodes(), <[i32]>::len), model.widths()[model.num_layers()])?;
        // SAFETY: the caller promises `probabilities` is NULL or valid for `capacity` writes.
        let buffer = unsafe { ptr::buffer("probabilities", probabilities, capacity, needed) }?;
        model.predict(&graph, nodes, |rows| buffer.put(rows)).for_the("prediction")
    })
}

/// Computes hidden representations H(layer+1), exactly: nothing is sampled.
///
/// @param model      the model.
/// @param graph      a graph whose number of features is the model's input width.
/// @param nodes      `num_nodes` node ids, repeats allowed; NULL with 0 for all nodes.
/// @param num_nodes  length of the list.
/// @param layer      0 .. plim_model_num_layers()-1; the last layer gives what enters the softmax.
/// @param dst        receives a row per node, as many columns as width `layer + 1`, row-major; untouched unless PLIM_OK
///                   is returned.
/// @param capacity   values that `dst` has room for.
///
/// @return as plim_model_predict(); PLIM_ERROR_INVALID_ARGUMENT also for `layer`.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn plim_model_embed(
    model: *const plim_model,
    graph: *const plim_graph,
    nodes: *const i32,
    num_nodes: usize,
    layer: usize,
    dst: *mut f32,
    capacity: usize,
) -> plim_status {
    guard(|| {
        let (model, graph) = (ptr::handle("model", model)?, ptr::handle("graph", graph)?);
        let (model, graph) = (model.read()?, graph.read()?);
        model.check_layer(layer)?;
        // SAFETY: the caller promises `num_nodes` readable ids.
        let nodes = unsafe { ptr::list_or_all("nodes", nodes, num_nodes) }?;
        let needed = elements(nodes.map_or(graph.num_nodes(), <[i32]>::len), model.widths()[layer + 1])?;
        // SAFETY: the caller promises `dst` is NULL or valid for `capacity` writes.
        let buffer = unsafe { ptr::buffer("dst", dst, capacity, needed) }?;
        model.embed(&graph, nodes, layer, |rows| buffer.put(rows)).for_the("embedding")
    })
}

/// Measures a model on a split, exactly: nothing is sampled.
///
/// @param model     the model.
/// @param graph     a graph with features, labels and that split.
/// @param split     PLIM_SPLIT_TRAIN, PLIM_SPLIT_VAL or PLIM_SPLIT_TEST.
/// @param loss      receives the mean cross-entropy, without λ; may be NULL.
/// @param accuracy  receives the share of nodes whose most probable class is their label; may be NULL.
///
/// @return PLIM_OK, PLIM_ERROR_NULL_POINTER, PLIM_ERROR_INVALID_ARGUMENT (the split), PLIM_ERROR_SHAPE_MISMATCH,
///         PLIM_ERROR_MISSING_DATA (no features, no labels, an empty split, a node of it without a label),
///         PLIM_ERROR_DIVERGED, PLIM_ERROR_INVALID_HANDLE, PLIM_ERROR_BUSY or PLIM_ERROR_OUT_OF_MEMORY.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn plim_model_evaluate(
    model: *const plim_model,
    graph: *const plim_graph,
    split: i32,
    loss: *mut f64,
    accuracy: *mut f64,
) -> plim_status {
    guard(|| {
        let (model, graph) = (ptr::handle("model", model)?, ptr::handle("graph", graph)?);
        let split = constant::<Split>(split)?;
        // SAFETY: the caller promises `loss` is NULL or valid for one write.
        let loss = unsafe { ptr::optional_out("loss", loss) }?;
        // SAFETY: the caller promises `accuracy` is NULL or valid for one write.
        let accuracy = unsafe { ptr::optional_out("accuracy", accuracy) }?;
        let values = model.read()?.evaluate(&*graph.read()?, split).for_the("evaluation")?;
        loss.into_iter().for_each(|out| out.set(values.0));
        accuracy.into_iter().for_each(|out| out.set(values.1));
        Ok(())
    })
}

/// Counts how often each class was taken for each on a split, exactly: nothing is sampled.
///
/// Entry (i, j) is the number of nodes with label i whose most probable class is j, the first of equals. The diagonal's
/// share of all is the accuracy of plim_model_evaluate(); plim_confusion_macro_f1() sums the matrix up.
///
/// @param model     the model; C is its last width, which may be more than the graph has classes.
/// @param graph     a graph with features, labels and that split.
/// @param split     PLIM_SPLIT_TRAIN, PLIM_SPLIT_VAL or PLIM_SPLIT_TEST.
/// @param matrix    receives C × C counts, row-major: rows are labels, columns predictions. Untouched unless PLIM_OK is
///                  returned.
/// @param capacity  counts that `matrix` has room for.
///
/// @return as plim_model_evaluate(), or PLIM_ERROR_BUFFER_TOO_SMALL.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn plim_model_confusion(
    model: *const plim_model,
    graph: *const plim_graph,
    split: i32,
    matrix: *mut usize,
    capacity: usize,
) -> plim_status {
    guard(|| {
        let (model, graph) = (ptr::handle("model", model)?, ptr::handle("graph", graph)?);
        let split = constant::<Split>(split)?;
        let model = model.read()?;
        let classes = model.widths()[model.num_layers()];
        // SAFETY: the caller promises `matrix` is NULL or valid for `capacity` writes.
        let buffer = unsafe { ptr::buffer("matrix", matrix, capacity, classes.saturating_mul(classes)) }?;
        buffer.put(&model.confusion(&*graph.read()?, split).for_the("evaluation")?);
        Ok(())
    })
}

/// The macro-F1 of a confusion matrix: the mean over classes of 2·hits / (nodes so labelled + nodes so predicted).
///
/// A class that is neither labelled nor predicted anywhere is left out of the mean; one that is only labelled or only
/// predicted counts as 0. That is scikit-learn's f1_score(average="macro"), whose classes are those of labels and
/// predictions together. Matrices of several graphs or splits may be added up before.
///
/// @param confusion    num_classes × num_classes counts, row-major: rows are labels, columns predictions, as
///                     plim_model_confusion() gives them.
/// @param num_classes  at least 1.
/// @param out          receives the macro-F1, in [0, 1]; untouched unless PLIM_OK is returned.
///
/// @return PLIM_OK, PLIM_ERROR_NULL_POINTER or PLIM_ERROR_INVALID_ARGUMENT (no class, too many, or a matrix of zeros).
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn plim_confusion_macro_f1(
    confusion: *const usize,
    num_classes: usize,
    out: *mut f64,
) -> plim_status {
    guard(|| {
        // SAFETY: the caller promises `out` is NULL or valid for one write.
        let out = unsafe { ptr::out("out", out) }?;
        let bad = || Error::InvalidArgument(format!("num_classes = {num_classes} is outside [1, 2^31)"));
        let count = num_classes.checked_mul(num_classes).filter(|&count| count > 0 && num_classes < 1 << 31);
        // SAFETY: the caller promises so many readable counts.
        let confusion = unsafe { ptr::slice("confusion", confusion, count.ok_or_else(bad)?) }?;
        out.set(macro_f1(confusion, num_classes)?);
        Ok(())
    })
}
