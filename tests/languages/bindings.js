// What docs/node.md promises of examples/node/plimsoll.js. tests/languages/run.py puts both into one folder and runs this
// with --expose-gc.
import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { afterEach, beforeEach, test } from 'node:test';
import { Worker } from 'node:worker_threads';
import koffi from 'koffi';
import { c, check, Handles, PLIM_ERROR_CANCELLED, PLIM_SPLIT_TEST, PlimsollError, train } from './plimsoll.js';

const INVALID_ARGUMENT = 2, INVALID_HANDLE = 13, BUSY = 14;
let handles, graph, model, estimator, optimizer, options;

beforeEach(() => {
  handles = new Handles();
  graph = handles.make('graph', (out) => c.plim_graph_from_mixture(50, 1, out));
  model = handles.make('model', (out) => c.plim_model_gcn([2, 16, 3], 3, 1, out));
  estimator = handles.make('estimator', (out) => c.plim_estimator_consistent([0, 40], 2, out));
  optimizer = handles.make('optimizer', (out) => c.plim_optimizer_adam(0.01, out));
  options = handles.make('train_options', (out) => c.plim_train_options_new(out));
  check(c.plim_train_options_set_epochs(options, 20));
});

afterEach(() => handles.free());

const run = (tell) => train(handles, model, graph, estimator, optimizer, options, tell);

test('a callback is told every epoch', () => {
  const epochs = [];
  const history = run((progress) => {
    assert.equal(progress.struct_size, 80);
    assert.equal(progress.num_epochs, 20);
    assert.equal(progress.step, progress.num_steps);
    assert.ok(progress.train_loss > 0 && progress.val_accuracy <= 1 && progress.seconds > 0);
    epochs.push(progress.epoch);
  });
  assert.deepEqual(epochs, Array.from({ length: 20 }, (_, i) => i + 1));
  assert.ok(c.plim_history_best_epoch(history) >= 1);
});

test('what a callback throws ends training and comes out of it', () => {
  for (const thrown of [new RangeError('boo'), undefined]) {
    let calls = 0;
    let caught = 'nothing';
    try {
      run(() => {
        if (++calls === 3) throw thrown;
      });
    } catch (error) {
      caught = error;
    }
    assert.equal(caught, thrown);
    assert.equal(calls, 3);
  }
  run(() => false);
});

test('a callback that answers something true cancels', () => {
  let calls = 0;
  assert.throws(() => run(() => ++calls === 3), {
    name: 'PlimsollError',
    status: PLIM_ERROR_CANCELLED,
    message: 'cancelled: the progress callback stopped training in epoch 3',
  });
  assert.equal(calls, 3);
});

test('a callback survives the garbage collector', () => {
  let calls = 0;
  run(() => {
    globalThis.gc();
    calls += 1;
  });
  assert.equal(calls, 20);
});

test('a callback is given back when training is over', () => {
  // koffi has room for 8192.
  check(c.plim_train_options_set_epochs(options, 1));
  const before = koffi.stats().callbacks;
  for (let i = 0; i < 8200; i++) {
    const own = new Handles();
    train(own, model, graph, estimator, optimizer, options, () => false);
    own.free();
  }
  assert.equal(koffi.stats().callbacks, before);
});

test('inside a callback the model can be used but not changed', () => {
  const statuses = new Set();
  run(() => {
    const accuracy = [NaN];
    check(c.plim_model_evaluate(model, graph, PLIM_SPLIT_TEST, null, accuracy));
    assert.ok(accuracy[0] >= 0);
    statuses.add(c.plim_train(model, graph, estimator, optimizer, null, null));
  });
  assert.deepEqual([...statuses], [BUSY]);
});

test('an error has the status and the text, and nothing was made', () => {
  const out = [null];
  assert.throws(() => check(c.plim_model_gcn([2], 1, 1, out)), (error) => {
    assert.ok(error instanceof PlimsollError);
    assert.equal(error.status, INVALID_ARGUMENT);
    assert.match(error.message, /^invalid argument: num_widths = 1/);
    return true;
  });
  assert.deepEqual(out, [null]);
});

test('a handle of another kind, a freed one and a number are refused', () => {
  const refused = (handle, message) => {
    assert.throws(() => check(c.plim_model_save(handle, 'never')), { status: INVALID_HANDLE, message });
  };
  refused(graph, /model is a plim_graph handle, not a plim_model one/);
  refused(12345n, /model/);
  handles.free();
  refused(model, /model/);
  assert.equal(c.plim_graph_num_nodes(graph), 0);
  assert.ok(!readdirSync('.').includes('never'));
});

test('a typed array is as good as an array, and a number that is no count is refused', () => {
  handles.make('model', (out) => c.plim_model_gcn(BigUint64Array.of(2n, 16n, 3n), 3, 1, out));
  check(c.plim_model_predict(model, graph, Int32Array.of(0), 1, new Float32Array(3), 3));
  assert.throws(() => handles.make('graph', (out) => c.plim_graph_from_mixture(-1, 1, out)), {
    status: INVALID_ARGUMENT,
    message: /nodes_per_class = 18446744073709551615/,
  });
  assert.throws(() => handles.make('graph', (out) => c.plim_graph_from_mixture(0.5, 1, out)), /nodes_per_class = 0/);
  assert.throws(() => c.plim_graph_from_mixture('many', 1, [null]), TypeError);
});

test('64 bits of a seed arrive', () => {
  const probabilities = [2n ** 63n, 2n ** 63n + 1n, 2n ** 63n].map((seed) => {
    const own = handles.make('model', (out) => c.plim_model_gcn([2, 16, 3], 3, seed, out));
    const row = new Float32Array(3);
    check(c.plim_model_predict(own, graph, [0], 1, row, 3));
    return [...row];
  });
  assert.deepEqual(probabilities[0], probabilities[2]);
  assert.notDeepEqual(probabilities[0], probabilities[1]);
});

test('(null, 0) is all nodes, in the same bits as a list', () => {
  const nodes = c.plim_graph_num_nodes(graph);
  const all = new Float32Array(3 * nodes);
  check(c.plim_model_predict(model, graph, null, 0, all, all.length));
  const some = new Float32Array(3);
  check(c.plim_model_predict(model, graph, [nodes - 1], 1, some, 3));
  assert.deepEqual([...some], [...all.slice(-3)]);
});

test('names of files are UTF-8, there and back', () => {
  check(c.plim_model_save(model, 'modèle-✓.safetensors'));
  assert.ok(readdirSync('.').includes('modèle-✓.safetensors'));
  const load = () => handles.make('model', (out) => c.plim_model_load('nowhere-✓', out));
  assert.throws(load, /^PlimsollError: .*nowhere-✓/);
});

test('of an asynchronous call the status comes, and the text stays behind on its thread', async () => {
  c.plim_model_gcn([2], 1, 1, [null]);
  const before = c.plim_last_error();
  const status = await new Promise((done, fail) => {
    c.plim_graph_from_edges.async(5, 1, [0], [9], null, [null], (error, result) => (error ? fail(error) : done(result)));
  });
  assert.equal(status, INVALID_ARGUMENT);
  assert.equal(c.plim_last_error(), before);
});

test('what a worker throws keeps its text and its status', async () => {
  const code = `
    import { c, check } from ${JSON.stringify(new URL('./plimsoll.js', import.meta.url).href)};
    check(c.plim_train_options_set_epochs(null, 1));`;
  const worker = new Worker(new URL(`data:text/javascript,${encodeURIComponent(code)}`));
  const [error] = await new Promise((done) => worker.on('error', (...errors) => done(errors)));
  assert.equal(error.status, 1);
  assert.match(error.message, /^null pointer: options/);
});
