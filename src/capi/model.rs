//! Models.

use super::body::{change, copy, free, load, save};
use super::constant::constant;
use super::graph::plim_graph;
use super::guard::{getter, guard};
use super::layers::plim_layers;
use super::ptr::{self, handles};
use super::status::plim_status;
use crate::error::{Error, ForThe, Result};
use crate::graph::Split;
use crate::model::{Model, macro_f1};
use std::ffi::c_char;

/// A graph neural network and its parameters: a plain GCN, or one made of layers. Free it with plim_model_free().
pub struct plim_model {
    _opaque: [u8; 0],
}

/// What the getters of a model return.
#[derive(Clone, Copy, Default)]
pub struct ModelFacts {
    num_layers: usize,
    num_parameters: usize,
    num_tensors: usize,
    num_values: usize,
    pub(super) has_batch_norm: bool,
}

handles!(plim_model, Model, ModelFacts, |model| ModelFacts {
    num_layers: model.num_layers(),
    num_parameters: model.parameters().len(),
    num_tensors: model.net().tensors().len(),
    num_values: model.net().layers().values().len(),
    has_batch_norm: model.net().has_batch_norm(),
});

/// Number of elements of a result, or an error if there are too many.
fn elements(rows: usize, columns: usize) -> Result<usize> {
    rows.checked_mul(columns).ok_or_else(|| Error::InvalidArgument(format!("num_nodes = {rows} is too large")))
}

/// Creates a graph convolutional network without biases: H(l+1) = ReLU(Â H(l) W(l)), with a softmax
/// instead of the ReLU after the last layer.
///
/// {1433, 16, 7} is the 2-layer network for Cora. The parameters of a layer are drawn uniformly from
/// ±sqrt(6 / (fan_in + fan_out)), where fan_in and fan_out are its input and output widths.
///
/// @param widths      `num_widths` widths, 1 .. INT32_MAX each: input, hidden layers, output.
/// @param num_widths  at least 2; one more than the number of layers.
/// @param seed        the same seed creates the same parameters.
/// @param out         receives the model; free it with plim_model_free().
///
/// @return PLIM_OK or a common error.
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

/// Creates a model of the operations in a plim_layers. The last value is the model's output; predictions
/// apply a softmax to it.
///
/// Each operation says how its parameters start. A model for C classes needs an output of C columns or
/// more.
///
/// @param layers  the operations, which are copied; at least one, and every value must reach the last
///                value.
/// @param seed    the same seed creates the same parameters.
/// @param out     receives the model; free it with plim_model_free().
///
/// @return PLIM_OK or a common error.
///         PLIM_ERROR_INVALID_ARGUMENT: the last value is the features, or a value does not reach it;
///           the message names the value.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn plim_model_new(
    layers: *const plim_layers,
    seed: u64,
    out: *mut *mut plim_model,
) -> plim_status {
    guard(|| {
        // SAFETY: the caller promises `out` is NULL or valid for one write.
        let out = unsafe { ptr::out("out", out) }?;
        let layers = ptr::handle("layers", layers)?;
        let layers = layers.read()?.clone();
        out.give(Model::new(layers, seed).for_the("parameters")?)
    })
}

/// Reads a model from a safetensors file that plim_model_save() has written, or that PyTorch
/// Geometric has written for a GCN without biases.
///
/// @param path  a file name.
/// @param out   receives the model; free it with plim_model_free(). Its λ is 0 if the file has none;
///              it uses 1 thread.
///
/// @return PLIM_OK or a common error.
///         PLIM_ERROR_IO: the file cannot be read.
///         PLIM_ERROR_BAD_FORMAT: the file does not hold such a model, or is damaged.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn plim_model_load(path: *const c_char, out: *mut *mut plim_model) -> plim_status {
    // SAFETY: the caller promises `path` is NULL or a string, and `out` is NULL or valid for one write.
    unsafe { load(path, out, |path| Model::load(path).for_the(format_args!("model in {}", path.display()))) }
}

/// Writes a model to a safetensors file, with λ and checksums as metadata. plim_model_load() compares the checksums.
///
/// A model of plim_model_gcn() has a tensor `convs.{l}.lin.weight` of shape [fan_out, fan_in] for each
/// layer l. A model made of layers has its tensors by the names of plim_model_tensor(), matrices as
/// [fan_out, fan_in], the running statistics of norms as `v{value}.running_mean` and
/// `v{value}.running_var`, and its operations as JSON in the metadata.
///
/// The number of threads is not saved. An existing file is replaced only when the new one is
/// complete.
///
/// @param model  the model.
/// @param path   a file name; the usual extension is .safetensors.
///
/// @return PLIM_OK or a common error.
///         PLIM_ERROR_IO: the file cannot be written.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn plim_model_save(model: *const plim_model, path: *const c_char) -> plim_status {
    // SAFETY: the caller promises `path` is NULL or a string.
    unsafe {
        save(("model", model), ("path", path), |model, path| {
            model.save(path).for_the(format_args!("file {}", path.display()))
        })
    }
}

/// Creates an independent copy of a model, with the same parameters, λ and number of threads.
///
/// @param model  the model to copy.
/// @param out    receives the copy; free it with plim_model_free().
///
/// @return PLIM_OK or a common error.
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

/// Frees a model and joins its threads.
///
/// @param model  the model; NULL and handles that are not live are ignored.
#[unsafe(no_mangle)]
pub extern "C" fn plim_model_free(model: *mut plim_model) {
    free(model);
}

/// Sets λ of the penalty λ/2 ‖W‖² over the parameters of all layers.
///
/// The penalty is part of gradients and of the losses returned with them. Evaluation does not
/// include it.
///
/// @param model   the model.
/// @param lambda  λ, finite and >= 0. Default: 0.
///
/// @return PLIM_OK or a common error.
#[unsafe(no_mangle)]
#[must_use]
pub extern "C" fn plim_model_set_regularization(model: *mut plim_model, lambda: f64) -> plim_status {
    change("model", model, |model| model.set_lambda(lambda))
}

/// Sets how many threads predictions, evaluations, gradients and measurements with this model use.
/// Results do not depend on it.
///
/// The count includes the calling thread. The others belong to the model: this call starts them, and
/// plim_model_free() joins them. A child process starts new ones after fork(). They inherit the
/// calling thread's CPU affinity. On Linux, a thread that finds itself on the core of the thread it
/// works for moves to another: it removes that core from its own affinity mask and restores the mask
/// at once.
///
/// @param model    the model.
/// @param threads  0 .. 1024; 0 selects the number of available cores. Default: 1, which starts no
///                 thread.
///
/// @return PLIM_OK or a common error.
#[unsafe(no_mangle)]
#[must_use]
pub extern "C" fn plim_model_set_threads(model: *mut plim_model, threads: usize) -> plim_status {
    change("model", model, |model| model.set_threads(threads))
}

/// Lets predictions for a whole graph hold hidden layers in files, for graphs whose hidden layers do not
/// fit into memory.
///
/// Such a prediction runs layer by layer, in blocks of rows. What a later layer reads is held for all
/// nodes, and so are the results until the call copies them; beyond max_bytes it goes into mapped files in
/// the directory. They have no name while they exist, take the disk space they need at once, and are
/// gone when the call returns, even if the process is killed. Results have the same bits. Predictions for a
/// list of nodes and gradients use no files.
///
/// @param model      the model.
/// @param directory  an existing directory, or NULL for no files, the default. It is looked up here; a
///                   relative name is relative to the working directory of this call.
/// @param max_bytes  what a prediction may hold in memory for all nodes before it uses files. Ignored if
///                   directory is NULL.
///
/// @return PLIM_OK or a common error.
///         PLIM_ERROR_IO: there is no such directory. A prediction that cannot write there also returns it.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn plim_model_set_scratch(
    model: *mut plim_model,
    directory: *const c_char,
    max_bytes: usize,
) -> plim_status {
    change("model", model, |model| {
        // SAFETY: the caller promises `directory` is NULL or a string.
        let directory = unsafe { ptr::optional_path("directory", directory) }?;
        model.set_scratch(directory.map(|directory| (directory, max_bytes)))
    })
}

/// Returns the number of layers: of hops, for a model made of layers (see plim_layers).
///
/// @param model  the model.
///
/// @return the number of layers, which is the number of sample sizes of a consistent estimator. For
///         plim_model_gcn(), one less than the number of widths.
#[unsafe(no_mangle)]
pub extern "C" fn plim_model_num_layers(model: *const plim_model) -> usize {
    getter(|| Some(ptr::facts(model)?.num_layers))
}

/// Returns the number of parameters of all layers, which is also the length of a gradient.
///
/// @param model  the model.
///
/// @return the number of parameters.
#[unsafe(no_mangle)]
pub extern "C" fn plim_model_num_parameters(model: *const plim_model) -> usize {
    getter(|| Some(ptr::facts(model)?.num_parameters))
}

/// Copies all parameters: W(0), W(1), …, each row-major with fan_in rows and fan_out columns. For a
/// model made of layers, plim_model_tensor() lists what stands where.
///
/// @param model     the model.
/// @param dst       receives plim_model_num_parameters() values.
/// @param capacity  number of values that fit in `dst`.
///
/// @return PLIM_OK or a common error.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn plim_model_get_parameters(
    model: *const plim_model,
    dst: *mut f32,
    capacity: usize,
) -> plim_status {
    // SAFETY: the caller promises `dst` is NULL or valid for `capacity` writes.
    unsafe { copy(("model", model), (dst, capacity), |model| Ok(model.parameters())) }
}

/// Sets all parameters, in the order of plim_model_get_parameters().
///
/// @param model  the model.
/// @param src    `count` finite values.
/// @param count  plim_model_num_parameters().
///
/// @return PLIM_OK or a common error.
///         PLIM_ERROR_SHAPE_MISMATCH: `count` is another number.
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

/// Returns the number of tensors that the parameters consist of.
///
/// @param model  the model.
///
/// @return the number of tensors; for plim_model_gcn(), one per layer.
#[unsafe(no_mangle)]
pub extern "C" fn plim_model_num_tensors(model: *const plim_model) -> usize {
    getter(|| Some(ptr::facts(model)?.num_tensors))
}

/// Returns the name and the place of a tensor in the parameters.
///
/// Tensors stand one after the other in the array of plim_model_get_parameters(), without gaps, each
/// row-major. The name is `v{i}.{tensor}`, where i is the number of the operation that it belongs to:
/// "v1.lin_l.weight". A matrix has fan_in rows and fan_out columns. plim_layers_linear() and the other
/// operations list their tensors, in this order. Running statistics of norms are no tensors.
///
/// @param model    the model.
/// @param index    0 .. plim_model_num_tensors() - 1.
/// @param name     receives the name, a string that lives as long as the model; may be NULL.
/// @param offset   receives the position of the first number in the parameters; may be NULL.
/// @param rows     receives the number of rows, 1 for a vector; may be NULL.
/// @param columns  receives the number of columns; may be NULL.
///
/// @return PLIM_OK or a common error.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn plim_model_tensor(
    model: *const plim_model,
    index: usize,
    name: *mut *const c_char,
    offset: *mut usize,
    rows: *mut usize,
    columns: *mut usize,
) -> plim_status {
    guard(|| {
        let model = ptr::handle("model", model)?;
        // SAFETY: the caller promises `name` is NULL or valid for one write.
        let name = unsafe { ptr::optional_out("name", name) }?;
        // SAFETY: the caller promises the same of the other three.
        let offset = unsafe { ptr::optional_out("offset", offset) }?;
        // SAFETY: as above.
        let rows = unsafe { ptr::optional_out("rows", rows) }?;
        // SAFETY: as above.
        let columns = unsafe { ptr::optional_out("columns", columns) }?;
        let model = model.read()?;
        let tensor = model.tensor(index)?;
        name.into_iter().for_each(|out| out.set(tensor.c_name().as_ptr()));
        offset.into_iter().for_each(|out| out.set(tensor.offset));
        rows.into_iter().for_each(|out| out.set(tensor.rows));
        columns.into_iter().for_each(|out| out.set(tensor.columns));
        Ok(())
    })
}

/// Copies the widths of a model of plim_model_gcn(): input, hidden layers, output.
///
/// @param model     the model.
/// @param dst       receives plim_model_num_layers() + 1 widths.
/// @param capacity  number of widths that fit in `dst`.
///
/// @return PLIM_OK or a common error.
///         PLIM_ERROR_UNSUPPORTED: the model is made of layers.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn plim_model_copy_widths(
    model: *const plim_model,
    dst: *mut usize,
    capacity: usize,
) -> plim_status {
    // SAFETY: the caller promises `dst` is NULL or valid for `capacity` writes.
    unsafe { copy(("model", model), (dst, capacity), Model::widths) }
}

/// Returns the number of values: one more than the number of operations, since value 0 is the features.
///
/// @param model  the model.
///
/// @return the number of values; for plim_model_gcn(), twice the number of layers.
#[unsafe(no_mangle)]
pub extern "C" fn plim_model_num_values(model: *const plim_model) -> usize {
    getter(|| Some(ptr::facts(model)?.num_values))
}

/// Copies the number of columns of each value. The first is the model's input width, the last its
/// output width.
///
/// @param model     the model.
/// @param dst       receives plim_model_num_values() widths.
/// @param capacity  number of widths that fit in `dst`.
///
/// @return PLIM_OK or a common error.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn plim_model_copy_value_widths(
    model: *const plim_model,
    dst: *mut usize,
    capacity: usize,
) -> plim_status {
    guard(|| {
        let model = ptr::handle("model", model)?;
        let widths = model.read()?.value_widths()?;
        // SAFETY: the caller promises `dst` is NULL or valid for `capacity` writes.
        unsafe { ptr::buffer("dst", dst, capacity, widths.len()) }?.put(&widths);
        Ok(())
    })
}

/// Computes class probabilities exactly, without sampling.
///
/// The graph may differ from the one that the model was trained on. A list of nodes reads only their
/// neighbourhood, and the result has the same bits as the same rows of a prediction for all nodes.
/// Many threads may predict with one model at once.
///
/// @param model          the model.
/// @param graph          a graph whose number of features is the model's input width.
/// @param nodes          `num_nodes` node ids, which may repeat; (NULL, 0) for all nodes.
/// @param num_nodes      length of `nodes`.
/// @param probabilities  receives one row per node, row-major; the number of columns is the model's
///                       output width.
/// @param capacity       number of values that fit in `probabilities`.
///
/// @return PLIM_OK or a common error.
///         PLIM_ERROR_SHAPE_MISMATCH: the number of features is not the model's input width.
///         PLIM_ERROR_MISSING_DATA: the graph has no features.
///         PLIM_ERROR_DIVERGED: an output is not finite.
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
        let needed = elements(nodes.map_or(graph.num_nodes(), <[i32]>::len), model.output_width())?;
        // SAFETY: the caller promises `probabilities` is NULL or valid for `capacity` writes.
        let buffer = unsafe { ptr::buffer("probabilities", probabilities, capacity, needed) }?;
        model.predict(&graph, nodes, |rows| buffer.put(rows)).for_the("prediction")
    })
}

/// Computes hidden representations H(layer + 1) of a model of plim_model_gcn() exactly, without
/// sampling. See plim_model_embed_value() for models made of layers.
///
/// @param model      the model.
/// @param graph      a graph whose number of features is the model's input width.
/// @param nodes      `num_nodes` node ids, which may repeat; (NULL, 0) for all nodes.
/// @param num_nodes  length of `nodes`.
/// @param layer      0 .. plim_model_num_layers() - 1; the last layer returns the inputs of the
///                   softmax (logits).
/// @param dst        receives one row per node, row-major; the number of columns is the output width
///                   of that layer.
/// @param capacity   number of values that fit in `dst`.
///
/// @return as plim_model_predict().
///         PLIM_ERROR_UNSUPPORTED: the model is made of layers.
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
        let needed = elements(nodes.map_or(graph.num_nodes(), <[i32]>::len), model.widths()?[layer + 1])?;
        // SAFETY: the caller promises `dst` is NULL or valid for `capacity` writes.
        let buffer = unsafe { ptr::buffer("dst", dst, capacity, needed) }?;
        model.embed(&graph, nodes, layer, |rows| buffer.put(rows)).for_the("embedding")
    })
}

/// Computes a value of a model exactly, in evaluation mode: the result of one of its operations.
///
/// Values are numbered as in plim_layers: 0 is the features, i the result of the operation appended as
/// number i. plim_model_gcn() has the values graph convolution, ReLU, graph convolution, ….
///
/// @param model      the model.
/// @param graph      a graph whose number of features is the model's input width.
/// @param nodes      `num_nodes` node ids, which may repeat; (NULL, 0) for all nodes.
/// @param num_nodes  length of `nodes`.
/// @param value      0 .. plim_model_num_values() - 1; the last value is the inputs of the softmax
///                   (logits).
/// @param dst        receives one row per node, row-major; the number of columns is that of
///                   plim_model_copy_value_widths().
/// @param capacity   number of values that fit in `dst`.
///
/// @return as plim_model_predict().
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn plim_model_embed_value(
    model: *const plim_model,
    graph: *const plim_graph,
    nodes: *const i32,
    num_nodes: usize,
    value: usize,
    dst: *mut f32,
    capacity: usize,
) -> plim_status {
    guard(|| {
        let (model, graph) = (ptr::handle("model", model)?, ptr::handle("graph", graph)?);
        let (model, graph) = (model.read()?, graph.read()?);
        let width = model.value_width(value)?;
        // SAFETY: the caller promises `num_nodes` readable ids.
        let nodes = unsafe { ptr::list_or_all("nodes", nodes, num_nodes) }?;
        let needed = elements(nodes.map_or(graph.num_nodes(), <[i32]>::len), width)?;
        // SAFETY: the caller promises `dst` is NULL or valid for `capacity` writes.
        let buffer = unsafe { ptr::buffer("dst", dst, capacity, needed) }?;
        model.embed_value(&graph, nodes, value, |rows| buffer.put(rows)).for_the("embedding")
    })
}

/// Measures loss and accuracy of a model on a split exactly, without sampling.
///
/// @param model     the model.
/// @param graph     a graph with features, labels and that split.
/// @param split     PLIM_SPLIT_TRAIN, PLIM_SPLIT_VAL or PLIM_SPLIT_TEST.
/// @param loss      receives the mean cross-entropy, without the penalty of λ; may be NULL.
/// @param accuracy  receives the fraction of nodes whose most probable class is their label; may be
///                  NULL.
///
/// @return PLIM_OK or a common error.
///         PLIM_ERROR_SHAPE_MISMATCH: the model's input width is not the number of features, or its
///           output width is less than the number of classes.
///         PLIM_ERROR_MISSING_DATA: there are no features or labels, the split is empty, or one of
///           its nodes has no label.
///         PLIM_ERROR_DIVERGED: the loss is not finite.
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

/// Counts, on a split, how often nodes of each class are predicted as each class; exactly, without
/// sampling.
///
/// Entry (i, j) is the number of nodes with label i whose most probable class is j. Ties go to the
/// lowest class. plim_confusion_macro_f1() reduces the matrix to one number.
///
/// @param model     the model; its output width is C, which may exceed the number of classes of the
///                  graph.
/// @param graph     a graph with features, labels and that split.
/// @param split     PLIM_SPLIT_TRAIN, PLIM_SPLIT_VAL or PLIM_SPLIT_TEST.
/// @param matrix    receives C × C counts, row-major: one row per label, one column per predicted
///                  class.
/// @param capacity  number of counts that fit in `matrix`.
///
/// @return as plim_model_evaluate().
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
        let classes = model.output_width();
        // SAFETY: the caller promises `matrix` is NULL or valid for `capacity` writes.
        let buffer = unsafe { ptr::buffer("matrix", matrix, capacity, classes.saturating_mul(classes)) }?;
        buffer.put(&model.confusion(&*graph.read()?, split).for_the("evaluation")?);
        Ok(())
    })
}

/// Computes the macro-F1 of a confusion matrix: the mean over classes of 2·hits / (nodes with this
/// label + nodes predicted as this class).
///
/// A class with neither is left out of the mean. The definition is that of scikit-learn's
/// f1_score(average="macro"). You may add the matrices of several graphs or splits first.
///
/// @param confusion    `num_classes × num_classes` counts, as plim_model_confusion() returns them.
/// @param num_classes  1 .. INT32_MAX.
/// @param out          receives the macro-F1, in [0, 1].
///
/// @return PLIM_OK or a common error.
///         PLIM_ERROR_INVALID_ARGUMENT: also if all counts are 0.
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
        // SAFETY: the caller promises `num_classes × num_classes` readable counts.
        let confusion = unsafe { ptr::slice("confusion", confusion, count.ok_or_else(bad)?) }?;
        out.set(macro_f1(confusion, num_classes)?);
        Ok(())
    })
}
