// Trains in a worker while the event loop of the main thread continues. Ctrl-C or the time limit stops the training.
//
//     node background.js [seconds]
import { once } from 'node:events';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import { c, check, Handles, PLIM_ERROR_CANCELLED, PLIM_SPLIT_TEST, train } from './plimsoll.js';

if (isMainThread) await main(Number(process.argv[2] ?? 2));
else work(workerData);

async function main(seconds) {
  const handles = new Handles();
  const stop = new Int32Array(new SharedArrayBuffer(4));
  const cancel = () => Atomics.store(stop, 0, 1);
  const timer = setTimeout(cancel, 1000 * seconds);
  process.once('SIGINT', cancel);
  try {
    const graph = handles.make('graph', (out) => c.plim_graph_from_mixture(2000, 1, out));
    const model = handles.make('model', (out) => c.plim_model_gcn([2, 16, 3], 3, 1, out));
    const estimator = handles.make('estimator', (out) => c.plim_estimator_consistent([0, 400], 2, out));
    const optimizer = handles.make('optimizer', (out) => c.plim_optimizer_adam(0.01, out));
    const options = handles.make('train_options', (out) => c.plim_train_options_new(out));
    check(c.plim_train_options_set_epochs(options, 1_000_000));

    // A handle is a number that is valid on every thread.
    const worker = new Worker(new URL(import.meta.url), {
      workerData: { model, graph, estimator, optimizer, options, stop },
    });
    let epoch = 0;
    worker.on('message', (message) => (epoch = message));
    const ticker = setInterval(() => console.log(`epoch ${epoch}; the event loop goes on`), 500);
    await once(worker, 'exit').finally(() => clearInterval(ticker)); // throws the worker's error here

    const accuracy = [NaN];
    check(c.plim_model_evaluate(model, graph, PLIM_SPLIT_TEST, null, accuracy));
    console.log(`stopped in epoch ${epoch}, test accuracy ${(100 * accuracy[0]).toFixed(2)} %`);
  } finally {
    clearTimeout(timer);
    process.off('SIGINT', cancel);
    handles.free();
  }
}

function work({ model, graph, estimator, optimizer, options, stop }) {
  const handles = new Handles();
  try {
    train(handles, model, graph, estimator, optimizer, options, ({ epoch }) => {
      parentPort.postMessage(epoch);
      return Atomics.load(stop, 0);
    });
  } catch (error) {
    if (error.status !== PLIM_ERROR_CANCELLED) throw error;
  } finally {
    handles.free();
  }
}
