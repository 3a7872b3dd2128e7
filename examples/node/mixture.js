// Trains a two-layer GCN on the built-in Mixture graph by Adam, 400 nodes sampled at the hidden layer.
//
//     node mixture.js [epochs] [accuracy]
//
// Training stops early when the validation accuracy reaches the given one. docs/node.md explains the program.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { c, check, Handles, PLIM_ERROR_CANCELLED, PLIM_SPLIT_TEST, PlimsollError, train } from './plimsoll.js';

const epochs = Number(process.argv[2] ?? 50);
const enough = Number(process.argv[3] ?? Infinity);

/** Returns the accuracy on the test nodes. */
function testAccuracy(model, graph) {
  const accuracy = [NaN];
  check(c.plim_model_evaluate(model, graph, PLIM_SPLIT_TEST, null, accuracy));
  return accuracy[0];
}

const handles = new Handles();
const folder = mkdtempSync(join(tmpdir(), 'plimsoll-'));
try {
  const graph = handles.make('graph', (out) => c.plim_graph_from_mixture(2000, 1 /* seed */, out));
  const classes = c.plim_graph_num_classes(graph);
  const size = `${c.plim_graph_num_nodes(graph)} nodes, ${c.plim_graph_num_edges(graph)} edges`;
  console.log(`Plimsoll ${c.plim_version()}: ${size}`);

  const widths = [c.plim_graph_num_features(graph), 16, classes];
  const sampleSizes = [0, 400]; // draws at each layer's input; 0: exact
  const model = handles.make('model', (out) => c.plim_model_gcn(widths, 3, 1 /* seed */, out));
  const estimator = handles.make('estimator', (out) => c.plim_estimator_consistent(sampleSizes, 2, out));
  const optimizer = handles.make('optimizer', (out) => c.plim_optimizer_adam(0.01, out));
  const options = handles.make('train_options', (out) => c.plim_train_options_new(out));
  check(c.plim_train_options_set_epochs(options, epochs));

  const show = (progress) => {
    const { epoch, num_epochs, step, num_steps, train_loss, val_accuracy } = progress;
    if (step < num_steps) return false; // within a long epoch; nothing is evaluated yet
    if (epoch % 10 === 0 || val_accuracy >= enough) {
      const accuracy = (100 * val_accuracy).toFixed(2);
      console.log(`epoch ${epoch} of ${num_epochs}: loss ${train_loss.toFixed(4)}, validation accuracy ${accuracy} %`);
    }
    return val_accuracy >= enough; // true cancels
  };
  try {
    const history = train(handles, model, graph, estimator, optimizer, options, show);
    console.log(`best epoch: ${c.plim_history_best_epoch(history)}`); // the model has its parameters now
  } catch (error) {
    if (error.status !== PLIM_ERROR_CANCELLED) throw error;
    console.log(error.message); // the model has the parameters of the last step
  }
  console.log(`test accuracy: ${(100 * testAccuracy(model, graph)).toFixed(2)} %`);

  const nodes = [0, 2000, 4000];
  const probabilities = new Float32Array(nodes.length * classes); // row by row
  check(c.plim_model_predict(model, graph, nodes, nodes.length, probabilities, probabilities.length));
  nodes.forEach((node, i) => {
    const row = probabilities.subarray(i * classes, (i + 1) * classes);
    const best = Math.max(...row);
    console.log(`node ${node}: class ${row.indexOf(best)}, ${(100 * best).toFixed(1)} % sure`);
  });

  const file = join(folder, 'model.safetensors');
  check(c.plim_model_save(model, file));
  const loaded = handles.make('model', (out) => c.plim_model_load(file, out));
  console.log(`test accuracy of the saved model: ${(100 * testAccuracy(loaded, graph)).toFixed(2)} %`);

  try {
    handles.make('graph', (out) => c.plim_graph_from_edges(5, 1, [0], [9], null, out)); // there is no node 9
  } catch (error) {
    if (!(error instanceof PlimsollError)) throw error;
    console.log(`refused: ${error.message}`);
  }
} finally {
  handles.free();
  rmSync(folder, { recursive: true });
}
