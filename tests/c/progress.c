/* The progress callback: contents and times, permitted calls, cancelling; and calls on other threads during training. */
#define _POSIX_C_SOURCE 200809L

#include "files.h"
#include "training.h"

#include <pthread.h>
#include <time.h>

enum { MOST_CALLS = 256, NEVER = 0 };

/* What a callback has recorded, and the call at which it cancels. */
typedef struct notes {
  const setup *s;
  pthread_t thread;
  size_t calls, cancel_at, wrong;
  plim_progress told[MOST_CALLS];
  float parameters[MOST_PARAMETERS]; /* at the last call */
} notes;

static int32_t note(void *user_data, const plim_progress *progress) {
  notes *n = (notes *)user_data;
  n->wrong += progress->struct_size != sizeof *progress || !pthread_equal(n->thread, pthread_self());
  if (n->calls < MOST_CALLS) {
    n->told[n->calls] = *progress;
  }
  if (n->s != NULL) {
    n->wrong += plim_model_get_parameters(n->s->model, n->parameters, MOST_PARAMETERS) != PLIM_OK;
  }
  return ++n->calls == n->cancel_at ? 1 : 0;
}

static notes notes_on(const setup *s, size_t cancel_at) {
  notes n;
  memset(&n, 0, sizeof n);
  n.s = s;
  n.thread = pthread_self();
  n.cancel_at = cancel_at;
  check_fill(n.parameters, MOST_PARAMETERS);
  return n;
}

static void each_epoch_is_told_in_order_with_what_the_history_says(void) {
  for (int how = 0; how < ESTIMATIONS; how++) {
    setup s = training_setup((estimation)how, SGD, 10), silent = training_setup((estimation)how, SGD, 10);
    size_t train = plim_graph_split_size(s.graph, PLIM_SPLIT_TRAIN), batch = train / 5 - 1;
    notes n = notes_on(&s, NEVER);
    outcome run, expected;
    double seconds = 0.0;
    CHECK_OK(plim_train_options_set_evaluate_every(s.options, 3));
    CHECK_OK(plim_train_options_set_evaluate_every(silent.options, 3));
    CHECK_OK(plim_train_options_set_progress(s.options, note, &n));
    run = training_run(&s);
    expected = training_run(&silent);
    CHECK(training_same(&expected, &run)); /* the callback does not affect the result */
    CHECK(n.calls == 10 && n.wrong == 0);
    for (size_t e = 0; e < n.calls && e < 10; e++) {
      const plim_progress *p = &n.told[e];
      CHECK(p->epoch == e + 1 && p->num_epochs == 10);
      CHECK(p->num_steps == (how == FULL ? 1 : (train + batch - 1) / batch) && p->step == p->num_steps);
      CHECK(memcmp(&p->train_loss, &run.columns[PLIM_HISTORY_TRAIN_LOSS][e], sizeof(double)) == 0);
      CHECK(memcmp(&p->val_loss, &run.columns[PLIM_HISTORY_VAL_LOSS][e], sizeof(double)) == 0);
      CHECK(memcmp(&p->val_accuracy, &run.columns[PLIM_HISTORY_VAL_ACCURACY][e], sizeof(double)) == 0);
      seconds += run.columns[PLIM_HISTORY_SECONDS][e];
      CHECK_NEAR(seconds, p->seconds, 1e-9);
    }
    training_free(&silent);
    training_free(&s);
  }
}

static int32_t sleep_a_while(void *user_data, const plim_progress *progress) {
  struct timespec pause = {0, 200000000};
  (void)user_data, (void)progress;
  nanosleep(&pause, NULL);
  return 0;
}

static void seconds_are_those_of_the_steps_alone(void) {
  setup s = training_setup(UNBIASED, SGD, 3);
  outcome run;
  double seconds, wall;
  CHECK_OK(plim_train_options_set_progress(s.options, sleep_a_while, NULL));
  run = training_timed(&s, &seconds, &wall);
  CHECK(run.num_epochs == 3 && seconds > 0.0 && wall - seconds >= 0.59); /* the callbacks take 0.6 */
  training_free(&s);
}

/* Batches of one node of a wide 3-layer model: some milliseconds per step, thousands of steps per epoch. */
static void a_long_epoch_is_told_of_every_second(void) {
  static const size_t widths[4] = {2, 256, 256, 3};
  enum { CALLS = 4 };
  setup s = training_setup(UNBIASED, SGD, 1);
  plim_history *history = NULL;
  notes n = notes_on(NULL, CALLS);
  size_t count;
  int32_t *all;
  float *before, *after;
  plim_graph_free(s.graph);
  plim_model_free(s.model);
  CHECK_OK(plim_graph_from_mixture(check_scale(8000, 400), 1, &s.graph));
  CHECK_OK(plim_model_gcn(widths, 4, 1, &s.model));
  count = plim_graph_num_nodes(s.graph);
  all = (int32_t *)check_alloc(count, sizeof *all);
  for (size_t v = 0; v < count; v++) {
    all[v] = (int32_t)v;
  }
  CHECK_OK(plim_graph_set_split(s.graph, PLIM_SPLIT_TRAIN, all, count));
  CHECK_OK(plim_train_options_set_batch_size(s.options, 1));
  CHECK_OK(plim_train_options_set_progress(s.options, note, &n));
  before = (float *)check_alloc(plim_model_num_parameters(s.model), sizeof *before);
  after = (float *)check_alloc(plim_model_num_parameters(s.model), sizeof *after);
  CHECK_OK(plim_model_get_parameters(s.model, before, plim_model_num_parameters(s.model)));
  CHECK_STATUS(PLIM_ERROR_CANCELLED, plim_train(s.model, s.graph, s.estimator, s.optimizer, s.options, &history));
  CHECK(n.calls == CALLS && n.wrong == 0);
  for (size_t i = 0; i < n.calls && i < CALLS; i++) {
    const plim_progress *p = &n.told[i];
    CHECK(p->epoch == 1 && p->num_epochs == 1 && p->num_steps == count);
    CHECK(p->step > (i > 0 ? n.told[i - 1].step : 0) && p->step < count);
    CHECK(isnan(p->train_loss) && isnan(p->val_loss) && isnan(p->val_accuracy));
    CHECK(p->seconds > (i > 0 ? n.told[i - 1].seconds : 0.0));
    CHECK(p->seconds - (i > 0 ? n.told[i - 1].seconds : 0.0) <= 2.0); /* 0.5 seconds on an idle machine */
  }
  CHECK(history != NULL && plim_history_num_epochs(history) == 0); /* no epoch is complete */
  CHECK(plim_history_best_epoch(history) == 0);
  CHECK_OK(plim_history_copy(history, PLIM_HISTORY_TRAIN_LOSS, NULL, 0));
  CHECK_OK(plim_model_get_parameters(s.model, after, plim_model_num_parameters(s.model)));
  CHECK(memcmp(before, after, plim_model_num_parameters(s.model) * sizeof *after) != 0); /* but some steps are */
  plim_history_free(history);
  free(after);
  free(before);
  free(all);
  training_free(&s);
}

static void a_cancelled_run_keeps_its_last_step_and_its_history(void) {
  for (int how = 0; how < ESTIMATIONS; how++) {
    for (size_t stop = 1; stop <= 8; stop += 3) {
      setup s = training_setup((estimation)how, ADAM, 8), plain = training_setup((estimation)how, ADAM, stop);
      notes n = notes_on(&s, stop);
      outcome run, expected;
      CHECK_OK(plim_train_options_set_progress(s.options, note, &n)); /* the best epoch is only restored at the end of a run */
      CHECK_OK(plim_train_options_set_restore_best(plain.options, 0));
      run = training_run(&s);
      expected = training_run(&plain);
      CHECK(run.status == PLIM_ERROR_CANCELLED && n.calls == stop && n.wrong == 0);
      CHECK(strstr(run.message, "epoch") != NULL);
      expected.status = PLIM_ERROR_CANCELLED;
      CHECK(training_same(&expected, &run));
      CHECK_BITS(n.parameters, run.parameters, run.num_parameters);
      CHECK_OK(plim_train_options_set_progress(s.options, NULL, NULL)); /* training can continue */
      CHECK_OK(plim_train_options_set_progress(plain.options, NULL, NULL));
      CHECK_OK(plim_train_options_set_restore_best(s.options, 0));
      CHECK_OK(plim_train_options_set_epochs(s.options, stop));
      run = training_run(&s);
      expected = training_run(&plain);
      CHECK(training_same(&expected, &run));
      training_free(&plain);
      training_free(&s);
    }
  }
}

/* Const calls on model and graph, each with the right result for the current parameters. */
static int32_t use(void *user_data, const plim_progress *progress) {
  const setup *s = (const setup *)user_data;
  plim_model *clone = NULL, *loaded = NULL;
  plim_graph *copy = NULL;
  float now[MOST_PARAMETERS], saved[MOST_PARAMETERS], *rows, *again;
  size_t count = plim_graph_num_nodes(s->graph) * 3, widths[3], parameters = plim_model_num_parameters(s->model);
  double loss = NAN, val_loss = NAN, val_accuracy = NAN;
  int32_t *labels = (int32_t *)check_alloc(count, sizeof *labels);
  rows = (float *)check_alloc(count, sizeof *rows);
  again = (float *)check_alloc(count, sizeof *again);
  CHECK(parameters == 40 && plim_model_num_layers(s->model) == 2);
  CHECK_OK(plim_model_get_parameters(s->model, now, MOST_PARAMETERS));
  CHECK_OK(plim_model_copy_widths(s->model, widths, 3));
  CHECK_OK(plim_model_evaluate(s->model, s->graph, PLIM_SPLIT_TRAIN, &loss, NULL));
  CHECK_OK(plim_model_evaluate(s->model, s->graph, PLIM_SPLIT_VAL, &val_loss, &val_accuracy));
  CHECK_NEAR(progress->train_loss, loss, 1e-12);
  CHECK_NEAR(progress->val_loss, val_loss, 1e-12);
  CHECK(progress->val_accuracy == val_accuracy);
  CHECK_OK(plim_model_predict(s->model, s->graph, NULL, 0, rows, count));
  CHECK_OK(plim_model_embed(s->model, s->graph, sample_train, 5, 0, again, count));
  CHECK_OK(plim_model_clone(s->model, &clone));
  CHECK_OK(plim_model_predict(clone, s->graph, NULL, 0, again, count));
  CHECK_BITS(rows, again, count);
  CHECK_OK(plim_model_save(s->model, files_path("model")));
  CHECK_OK(plim_model_load(files_path("model"), &loaded));
  CHECK_OK(plim_model_get_parameters(loaded, saved, MOST_PARAMETERS));
  CHECK_BITS(now, saved, parameters);
  CHECK_OK(plim_graph_save(s->graph, files_path("graph.npz")));
  CHECK_OK(plim_graph_load(files_path("graph.npz"), &copy));
  CHECK(plim_graph_num_nodes(copy) == plim_graph_num_nodes(s->graph));
  CHECK_OK(plim_graph_copy_labels(s->graph, labels, count));
  CHECK_OK(plim_graph_copy_split(s->graph, PLIM_SPLIT_VAL, labels, count));
  CHECK(plim_estimator_property(s->estimator) != 0);
  plim_graph_free(copy);
  plim_model_free(loaded);
  plim_model_free(clone);
  free(again);
  free(rows);
  free(labels);
  return 0;
}

static void const_calls_inside_see_the_parameters_of_the_last_step(void) {
  for (size_t threads = 1; threads <= 2; threads++) {
    setup s = training_setup(CONSISTENT, SGD, 3), silent = training_setup(CONSISTENT, SGD, 3);
    outcome run, expected;
    CHECK_OK(plim_model_set_threads(s.model, threads));
    CHECK_OK(plim_train_options_set_progress(s.options, use, &s));
    run = training_run(&s);
    expected = training_run(&silent);
    CHECK(training_same(&expected, &run));
    training_free(&silent);
    training_free(&s);
  }
  files_remove("model");
  files_remove("graph.npz");
}

static int32_t stay(void *user_data, size_t step, const double *w, double *gradient, size_t dim) {
  (void)user_data, (void)step, (void)w, (void)gradient, (void)dim;
  return 0;
}

/* Calls that would change what the training uses; all of them fail with PLIM_ERROR_BUSY. */
static int32_t meddle(void *user_data, const plim_progress *progress) {
  static const int32_t nodes[2] = {0, 1};
  static const double weights[1] = {1.0};
  const setup *s = (const setup *)user_data;
  float values[MOST_PARAMETERS] = {0.0f};
  double w[1] = {1.0};
  size_t count = plim_model_num_parameters(s->model), num_nodes = plim_graph_num_nodes(s->graph);
  int32_t *labels = (int32_t *)check_alloc(num_nodes, sizeof *labels);
  float *features = (float *)check_alloc(num_nodes, sizeof *features);
  plim_history *history = UNTOUCHED(plim_history);
  (void)progress;
  CHECK_STATUS(PLIM_ERROR_BUSY, plim_model_set_parameters(s->model, values, count));
  CHECK_STATUS(PLIM_ERROR_BUSY, plim_model_set_regularization(s->model, 5.0));
  CHECK_STATUS(PLIM_ERROR_BUSY, plim_model_set_threads(s->model, 2));
  CHECK_STATUS(PLIM_ERROR_BUSY, plim_graph_set_labels(s->graph, labels));
  CHECK_STATUS(PLIM_ERROR_BUSY, plim_graph_set_features(s->graph, 1, features));
  CHECK_STATUS(PLIM_ERROR_BUSY, plim_graph_normalize_features(s->graph));
  CHECK_STATUS(PLIM_ERROR_BUSY, plim_graph_set_split(s->graph, PLIM_SPLIT_TRAIN, nodes, 2));
  CHECK_STATUS(PLIM_ERROR_BUSY, plim_graph_set_normalization(s->graph, PLIM_NORMALIZATION_ROW));
  CHECK_STATUS(PLIM_ERROR_BUSY, plim_graph_set_cache(s->graph, 0));
  CHECK_STATUS(PLIM_ERROR_BUSY, plim_estimator_set_seed(s->estimator, 99));
  CHECK_STATUS(PLIM_ERROR_BUSY, plim_estimator_set_distribution(s->estimator, 1));
  CHECK_STATUS(PLIM_ERROR_BUSY, plim_estimator_set_weights(s->estimator, weights, 1));
  CHECK_STATUS(PLIM_ERROR_BUSY, plim_estimator_set_draws(s->estimator, 0, nodes, 2));
  CHECK_STATUS(PLIM_ERROR_BUSY,
               plim_estimator_gradient(s->estimator, s->model, s->graph, NULL, 0, values, MOST_PARAMETERS, NULL));
  CHECK_STATUS(PLIM_ERROR_BUSY, plim_optimizer_set_schedule(s->optimizer, 0));
  CHECK_STATUS(PLIM_ERROR_BUSY, plim_optimizer_set_decay(s->optimizer, 1.0));
  CHECK_STATUS(PLIM_ERROR_BUSY, plim_optimizer_set_ball(s->optimizer, 1.0));
  CHECK_STATUS(PLIM_ERROR_BUSY, plim_optimizer_set_box(s->optimizer, 0.0, 1.0));
  CHECK_STATUS(PLIM_ERROR_BUSY, plim_optimizer_set_averaging(s->optimizer, 0));
  CHECK_STATUS(PLIM_ERROR_BUSY, plim_optimizer_reset(s->optimizer));
  CHECK_STATUS(PLIM_ERROR_BUSY, plim_optimizer_update(s->optimizer, s->model, values, count));
  CHECK_STATUS(PLIM_ERROR_BUSY, plim_optimizer_minimize(s->optimizer, stay, NULL, 1, w, NULL, 1));
  CHECK_STATUS(PLIM_ERROR_BUSY, plim_train(s->model, s->graph, s->estimator, s->optimizer, NULL, &history));
  CHECK(history == UNTOUCHED(plim_history));
  /* The options are copied: they can be changed, without effect on this run. */
  CHECK_OK(plim_train_options_set_epochs(s->options, 100));
  CHECK_OK(plim_train_options_set_seed(s->options, 100));
  free(features);
  free(labels);
  return 0;
}

static void changing_calls_inside_are_busy_and_change_nothing(void) {
  setup s = training_setup(CONSISTENT, ADAM, 5), silent = training_setup(CONSISTENT, ADAM, 5);
  outcome run, expected;
  CHECK_OK(plim_train_options_set_progress(s.options, meddle, &s));
  run = training_run(&s);
  expected = training_run(&silent);
  CHECK(training_same(&expected, &run));
  CHECK_OK(plim_model_set_regularization(s.model, 0.0)); /* no longer busy */
  CHECK_OK(plim_estimator_set_seed(s.estimator, 1));
  CHECK_OK(plim_optimizer_reset(s.optimizer));
  CHECK_OK(plim_graph_set_cache(s.graph, 0));
  training_free(&silent);
  training_free(&s);
}

/* Another training on the same graph, inside the first one's callback. */
static int32_t train_another(void *user_data, const plim_progress *progress) {
  setup *other = (setup *)user_data;
  (void)progress;
  CHECK_OK(plim_train(other->model, other->graph, other->estimator, other->optimizer, other->options, NULL));
  return 0;
}

static void a_training_inside_a_training_is_its_own(void) {
  setup s = training_setup(CONSISTENT, SGD, 3), inner = training_setup(UNBIASED, ADAM, 1);
  setup plain = training_setup(CONSISTENT, SGD, 3), alone = training_setup(UNBIASED, ADAM, 1);
  outcome run, expected, of_inner, of_alone;
  plim_graph_free(inner.graph);
  inner.graph = s.graph;
  memset(&of_inner, 0, sizeof of_inner);
  memset(&of_alone, 0, sizeof of_alone);
  CHECK_OK(plim_train_options_set_progress(s.options, train_another, &inner));
  run = training_run(&s);
  expected = training_run(&plain);
  CHECK(training_same(&expected, &run));
  for (size_t i = 0; i < 3; i++) {
    (void)training_run(&alone);
  }
  training_read(&inner, &of_inner);
  training_read(&alone, &of_alone);
  CHECK(training_same_parameters(&of_alone, &of_inner));
  inner.graph = NULL;
  training_free(&alone);
  training_free(&plain);
  training_free(&inner);
  training_free(&s);
}

/* Frees everything that the training uses; the objects are destroyed when it returns. */
static int32_t free_all(void *user_data, const plim_progress *progress) {
  setup *s = (setup *)user_data;
  if (progress->epoch == 2) {
    training_free(s);
    CHECK(plim_model_num_parameters(s->model) == 0 && plim_graph_num_nodes(s->graph) == 0);
  }
  return 0;
}

static void handles_may_be_freed_under_a_training(void) {
  setup s = training_setup(CONSISTENT, ADAM, 4);
  plim_history *history = NULL;
  CHECK_OK(plim_train_options_set_progress(s.options, free_all, &s));
  CHECK_OK(plim_train(s.model, s.graph, s.estimator, s.optimizer, s.options, &history));
  CHECK(plim_history_num_epochs(history) == 4);
  CHECK_STATUS(PLIM_ERROR_INVALID_HANDLE, plim_train(s.model, s.graph, s.estimator, s.optimizer, NULL, NULL));
  plim_history_free(history);
}

/* A training in another thread. */
typedef struct worker {
  setup s;
  outcome run;
  pthread_mutex_t lock;
  int done;
} worker;

static void *work(void *argument) {
  worker *w = (worker *)argument;
  plim_status status = plim_train(w->s.model, w->s.graph, w->s.estimator, w->s.optimizer, w->s.options, NULL);
  pthread_mutex_lock(&w->lock);
  w->run.status = status;
  w->done = 1;
  pthread_mutex_unlock(&w->lock);
  return NULL;
}

static int is_done(worker *w) {
  int done;
  pthread_mutex_lock(&w->lock);
  done = w->done;
  pthread_mutex_unlock(&w->lock);
  return done;
}

static void other_threads_find_the_model_busy_and_the_graph_readable(void) {
  setup plain = training_setup(CONSISTENT, SGD, 100);
  worker w;
  pthread_t thread;
  outcome expected;
  float values[MOST_PARAMETERS] = {0.0f}, rows[15];
  plim_model *own = NULL;
  size_t rounds = 0, count;
  memset(&w, 0, sizeof w);
  w.s = training_setup(CONSISTENT, SGD, 100);
  count = plim_model_num_parameters(w.s.model);
  CHECK(pthread_mutex_init(&w.lock, NULL) == 0);
  CHECK_OK(plim_model_clone(w.s.model, &own));
  CHECK(pthread_create(&thread, NULL, work, &w) == 0);
  while (!is_done(&w)) {
    plim_status status = plim_model_predict(w.s.model, w.s.graph, sample_train, 5, rows, 15);
    CHECK(status == PLIM_OK || status == PLIM_ERROR_BUSY); /* PLIM_OK before it begins and after it ends */
    CHECK_OK(plim_model_predict(own, w.s.graph, sample_train, 5, rows, 15));
    CHECK(plim_model_num_parameters(w.s.model) == count);
    status = plim_graph_set_cache(w.s.graph, 1 << 20);
    CHECK(status == PLIM_OK || status == PLIM_ERROR_BUSY);
    if (rounds++ == 0) {
      status = plim_estimator_gradient(w.s.estimator, own, w.s.graph, NULL, 0, values, 1, NULL);
      CHECK(status == PLIM_ERROR_BUSY || status == PLIM_ERROR_BUFFER_TOO_SMALL);
    }
  }
  CHECK(pthread_join(thread, NULL) == 0);
  if (w.run.status == PLIM_ERROR_BUSY) { /* this thread was reading the model: try again */
    CHECK_OK(plim_train(w.s.model, w.s.graph, w.s.estimator, w.s.optimizer, w.s.options, NULL));
  } else {
    CHECK(w.run.status == PLIM_OK);
  }
  training_read(&w.s, &w.run);
  expected = training_run(&plain);
  CHECK(training_same_parameters(&expected, &w.run));
  pthread_mutex_destroy(&w.lock);
  plim_model_free(own);
  training_free(&w.s);
  training_free(&plain);
}

int main(void) {
  RUN(each_epoch_is_told_in_order_with_what_the_history_says);
  RUN(seconds_are_those_of_the_steps_alone);
  RUN(a_long_epoch_is_told_of_every_second);
  RUN(a_cancelled_run_keeps_its_last_step_and_its_history);
  RUN(const_calls_inside_see_the_parameters_of_the_last_step);
  RUN(changing_calls_inside_are_busy_and_change_nothing);
  RUN(a_training_inside_a_training_is_its_own);
  RUN(handles_may_be_freed_under_a_training);
  RUN(other_threads_find_the_model_busy_and_the_graph_readable);
  files_close();
  return check_close();
}
