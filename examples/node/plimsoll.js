// Calls libplimsoll through koffi: the functions that the examples use, exceptions for errors, owners for handles, a
// callback. Copy this file into your program and add the functions of plimsoll.h that you need.
import koffi from 'koffi';

const installed = process.platform === 'darwin' ? 'libplimsoll.0.dylib' : 'libplimsoll.so.0';
const library = koffi.load(process.env.PLIMSOLL_LIB || installed);

export const PLIM_SPLIT_TEST = 2;
export const PLIM_ERROR_CANCELLED = 10;

// Handles are opaque. koffi represents one as a BigInt, which is a number for C and not an address.
const nouns = ['graph', 'model', 'estimator', 'optimizer', 'train_options', 'history'];
nouns.forEach((noun) => koffi.opaque(`plim_${noun}`));
koffi.alias('plim_status', 'int32_t');
const Progress = koffi.struct('plim_progress', {
  struct_size: 'size_t',
  epoch: 'size_t',
  num_epochs: 'size_t',
  step: 'size_t',
  num_steps: 'size_t',
  train_loss: 'double',
  val_loss: 'double',
  val_accuracy: 'double',
  seconds: 'double',
  val_ndcg: 'double',
});
koffi.proto('int32_t plim_progress_fn(void *user_data, const plim_progress *progress)');

// As in plimsoll.h, but with _Out_ where C writes, and with a * after the type of a callback.
const declarations = `
  const char *plim_version(void);
  const char *plim_last_error(void);
  const char *plim_status_name(plim_status status);

  plim_status plim_graph_from_mixture(size_t nodes_per_class, uint64_t seed, _Out_ plim_graph **out);
  plim_status plim_graph_from_edges(size_t num_nodes, size_t num_edges, const int32_t *sources, const int32_t *targets,
    const float *weights, _Out_ plim_graph **out);
  size_t plim_graph_num_nodes(const plim_graph *graph);
  size_t plim_graph_num_edges(const plim_graph *graph);
  size_t plim_graph_num_features(const plim_graph *graph);
  size_t plim_graph_num_classes(const plim_graph *graph);
  void plim_graph_free(plim_graph *graph);

  plim_status plim_model_gcn(const size_t *widths, size_t num_widths, uint64_t seed, _Out_ plim_model **out);
  plim_status plim_model_load(const char *path, _Out_ plim_model **out);
  plim_status plim_model_save(const plim_model *model, const char *path);
  plim_status plim_model_predict(const plim_model *model, const plim_graph *graph, const int32_t *nodes,
    size_t num_nodes, _Out_ float *probabilities, size_t capacity);
  plim_status plim_model_evaluate(const plim_model *model, const plim_graph *graph, int32_t split, _Out_ double *loss,
    _Out_ double *accuracy);
  void plim_model_free(plim_model *model);

  plim_status plim_estimator_consistent(const size_t *sample_sizes, size_t num_layers, _Out_ plim_estimator **out);
  void plim_estimator_free(plim_estimator *estimator);
  plim_status plim_optimizer_adam(double step, _Out_ plim_optimizer **out);
  void plim_optimizer_free(plim_optimizer *optimizer);

  plim_status plim_train_options_new(_Out_ plim_train_options **out);
  plim_status plim_train_options_set_epochs(plim_train_options *options, size_t epochs);
  plim_status plim_train_options_set_progress(plim_train_options *options, plim_progress_fn *fn, void *user_data);
  void plim_train_options_free(plim_train_options *options);
  plim_status plim_train(plim_model *model, const plim_graph *graph, plim_estimator *estimator,
    plim_optimizer *optimizer, const plim_train_options *options, _Out_ plim_history **out);
  size_t plim_history_best_epoch(const plim_history *history);
  void plim_history_free(plim_history *history);
`;

/** The C functions by name. */
export const c = {};
for (const [declaration, name] of declarations.matchAll(/[^;]*?(plim_\w+)\([^;]*/g)) {
  c[name] = library.func(declaration);
}

/** A failed C call. `message` gives the reason, and `status` is the PLIM_ERROR_ number. */
export class PlimsollError extends Error {
  name = 'PlimsollError';

  constructor(status) {
    super(`${c.plim_status_name(status)}: ${c.plim_last_error()}`);
    this.status = status;
  }
}

/** Throws if a call returned anything but PLIM_OK. */
export function check(status) {
  if (status !== 0) throw new PlimsollError(status);
}

/** Owns handles and frees them together, in reverse order. */
export class Handles {
  #frees = [];

  /** Makes a handle of a noun, such as 'graph', with a call that writes it to `out`, and owns it. */
  make(noun, call) {
    const out = [null];
    const status = call(out);
    // Not only on success: cancelled training also returns a history.
    if (out[0] !== null) this.#frees.push(() => c[`plim_${noun}_free`](out[0]));
    check(status);
    return out[0];
  }

  free() {
    while (this.#frees.length > 0) this.#frees.pop()();
  }
}

/**
 * Trains and returns the history, which `handles` owns. `tell` receives the progress. It cancels by returning something
 * true or by throwing; train() throws its exception again.
 */
export function train(handles, model, graph, estimator, optimizer, options, tell) {
  let thrown = null;
  // An exception must not cross C: it is stored here until C returns.
  const guarded = (_, progress) => {
    try {
      return tell(koffi.decode(progress, Progress)) ? 1 : 0;
    } catch (error) {
      thrown = { error };
      return 1;
    }
  };
  // Registered, because C keeps the function after the call that it is passed to.
  const callback = koffi.register(guarded, 'plim_progress_fn *');
  try {
    check(c.plim_train_options_set_progress(options, callback, null));
    return handles.make('history', (out) => c.plim_train(model, graph, estimator, optimizer, options, out));
  } catch (error) {
    throw thrown ? thrown.error : error;
  } finally {
    c.plim_train_options_set_progress(options, null, null);
    koffi.unregister(callback);
  }
}
