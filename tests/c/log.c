/* The log callback: messages, levels and order, permitted calls, and no effect on results. */
#define _POSIX_C_SOURCE 200809L

#include "files.h"
#include "probing.h"
#include "training.h"

#include <pthread.h>
#include <time.h>

enum { MOST_LINES = 512, LINE_SIZE = 512 };

/* All lines of a call, and the thread that must receive them. */
typedef struct journal {
  pthread_t thread;
  size_t count, wrong;
  int32_t levels[MOST_LINES];
  char lines[MOST_LINES][LINE_SIZE];
} journal;

static journal book; /* too large for the stack */

/* Returns whether a text is valid UTF-8 with characters of at most two bytes. */
static int is_utf8(const char *text) {
  const unsigned char *at = (const unsigned char *)text;
  while (*at != '\0') {
    size_t more = *at < 0x80 ? 0 : (*at & 0xe0) == 0xc0 ? 1 : (*at & 0xf0) == 0xe0 ? 2 : 9;
    for (size_t i = 1; i <= more; i++) {
      if (more == 9 || (at[i] & 0xc0) != 0x80) {
        return 0;
      }
    }
    at += more + 1;
  }
  return 1;
}

static void note(void *user_data, int32_t level, const char *message) {
  journal *j = (journal *)user_data;
  j->wrong += !pthread_equal(j->thread, pthread_self()) || level < PLIM_LOG_ERROR || level > PLIM_LOG_DEBUG;
  j->wrong += message == NULL || message[0] == '\0' || strchr(message, '\n') != NULL || !is_utf8(message);
  if (j->count < MOST_LINES && message != NULL) {
    j->levels[j->count] = level;
    snprintf(j->lines[j->count], LINE_SIZE, "%s", message);
  }
  j->count++;
}

static journal *fresh(void) {
  memset(&book, 0, sizeof book);
  book.thread = pthread_self();
  return &book;
}

/* Returns the number of lines of this level that contain the fragment. */
static size_t lines_with(int32_t level, const char *fragment) {
  size_t found = 0;
  for (size_t i = 0; i < book.count && i < MOST_LINES; i++) {
    found += book.levels[i] == level && strstr(book.lines[i], fragment) != NULL;
  }
  return found;
}

/* Checks that `count` lines contain the fragment, all of them at this level. */
#define CHECK_LINES(expected, level, fragment) check_lines((expected), (level), (fragment), __LINE__)

static void check_lines(size_t expected, int32_t level, const char *fragment, int line) {
  size_t all = 0;
  for (int32_t any = PLIM_LOG_ERROR; any <= PLIM_LOG_DEBUG; any++) {
    all += lines_with(any, fragment);
  }
  if (!CHECK(lines_with(level, fragment) == expected && all == expected)) {
    fprintf(stderr, "  \"%s\" at level %d, line %d; the lines are\n", fragment, (int)level, line);
    for (size_t i = 0; i < book.count && i < MOST_LINES; i++) {
      fprintf(stderr, "  %d %s\n", (int)book.levels[i], book.lines[i]);
    }
  }
}

static outcome logged(const setup *s, int32_t level) {
  outcome run;
  CHECK_OK(plim_train_options_set_log(s->options, level, note, fresh()));
  run = training_run(s);
  CHECK(book.wrong == 0 && book.count < MOST_LINES);
  return run;
}

static void a_run_tells_how_it_begins_goes_on_and_ends(void) {
  for (int how = 0; how < ESTIMATIONS; how++) {
    static const char *const estimators[ESTIMATIONS] = {"full estimator", "unbiased estimator",
                                                        "consistent [100, 100] estimator"};
    setup s = training_setup((estimation)how, ADAM, 6), silent = training_setup((estimation)how, ADAM, 6);
    char nodes[64], best[128];
    outcome run, expected;
    CHECK_OK(plim_train_options_set_checkpoint(s.options, files_path("run"), 4)); /* after epochs 4 and 6 */
    CHECK_OK(plim_train_options_set_resume(s.options, files_path("none")));
    run = logged(&s, PLIM_LOG_DEBUG);
    expected = training_run(&silent);
    CHECK(run.status == PLIM_OK && training_same(&expected, &run)); /* the callback does not affect the result */
    snprintf(nodes, sizeof nodes, "training on %zu nodes", plim_graph_num_nodes(s.graph));
    snprintf(best, sizeof best, "parameters are those of epoch %zu, of the best validation accuracy", run.best_epoch);
    CHECK_LINES(1, PLIM_LOG_INFO, nodes);
    CHECK_LINES(1, PLIM_LOG_INFO, estimators[how]);
    CHECK_LINES(1, PLIM_LOG_INFO, "widths [2, 8, 3], 40 parameters");
    CHECK_LINES(1, PLIM_LOG_INFO, "adam");
    CHECK_LINES(1, PLIM_LOG_INFO, plim_isa());
    CHECK_LINES(1, PLIM_LOG_INFO, "starting afresh");
    CHECK_LINES(1, PLIM_LOG_INFO, "\xc3\x82X is kept");
    CHECK_LINES(6, PLIM_LOG_DEBUG, "of 6: batch loss");
    CHECK_LINES(6, PLIM_LOG_DEBUG, "validation accuracy 0.");
    CHECK_LINES(1, PLIM_LOG_INFO, "epoch 4: checkpoint written to ");
    CHECK_LINES(1, PLIM_LOG_INFO, "epoch 6: checkpoint written to ");
    CHECK_LINES(1, PLIM_LOG_INFO, "trained for 6 epochs");
    CHECK_LINES(1, PLIM_LOG_INFO, best);
    CHECK_LINES(0, PLIM_LOG_WARNING, "resumed");
    CHECK(book.count == 13); /* no others */
    CHECK(strstr(book.lines[0], nodes) != NULL && strstr(book.lines[book.count - 1], "trained for") != NULL);
    training_free(&silent);
    training_free(&s);
  }
  files_remove("run");
}

static void a_level_lets_through_what_matters_as_much(void) {
  size_t counts[4], debug_lines[4];
  for (int32_t level = PLIM_LOG_ERROR; level <= PLIM_LOG_DEBUG; level++) {
    setup s = training_setup(UNBIASED, ADAM, 6);
    outcome run;
    CHECK_OK(plim_graph_set_cache(s.graph, 8));
    run = logged(&s, level);
    CHECK(run.status == PLIM_OK);
    debug_lines[level] = lines_with(PLIM_LOG_DEBUG, "");
    counts[level] = book.count;
    for (size_t i = 0; i < book.count; i++) {
      CHECK(book.levels[i] <= level);
    }
    training_free(&s);
  }
  CHECK(counts[PLIM_LOG_ERROR] == 0 && counts[PLIM_LOG_WARNING] == 1);
  CHECK(counts[PLIM_LOG_INFO] == 4 && counts[PLIM_LOG_DEBUG] == 10);
  CHECK(debug_lines[PLIM_LOG_INFO] == 0 && debug_lines[PLIM_LOG_DEBUG] == 6);
}

static void null_takes_the_function_back(void) {
  setup s = training_setup(UNBIASED, SGD, 2);
  outcome run;
  CHECK_OK(plim_train_options_set_log(s.options, PLIM_LOG_DEBUG, note, fresh()));
  CHECK_OK(plim_train_options_set_log(s.options, PLIM_LOG_DEBUG, NULL, NULL));
  run = training_run(&s);
  CHECK(run.status == PLIM_OK && book.count == 0);
  training_free(&s);
}

static void it_tells_of_aggregated_features_once(void) {
  static const size_t bounds[3] = {0, 8, 1 << 20};
  static const int32_t levels[3] = {PLIM_LOG_INFO, PLIM_LOG_WARNING, PLIM_LOG_INFO};
  for (size_t i = 0; i < 3; i++) {
    setup s = training_setup(CONSISTENT, SGD, 3);
    outcome run;
    CHECK_OK(plim_graph_set_cache(s.graph, bounds[i]));
    for (size_t again = 0; again < 2; again++) { /* the second run uses what the first one has cached */
      run = logged(&s, PLIM_LOG_INFO);
      CHECK(run.status == PLIM_OK);
      CHECK_LINES(1, levels[i], "\xc3\x82X is");
      CHECK_LINES(i < 2, levels[i], "not kept");
    }
    CHECK_OK(plim_graph_set_cache(s.graph, bounds[i])); /* discards ÂX */
    CHECK_OK(plim_train_options_set_evaluate_every(s.options, 0)); /* without evaluation, drawn inputs do not need ÂX */
    run = logged(&s, PLIM_LOG_INFO);
    CHECK_LINES(0, PLIM_LOG_INFO, "\xc3\x82X is");
    training_free(&s);
  }
}

static int32_t stop_at_three(void *user_data, const plim_progress *progress) {
  (void)user_data;
  return progress->epoch >= 3;
}

static void it_tells_why_a_run_ends_early(void) {
  setup s = training_setup(UNBIASED, ADAM, 100), cancelled = training_setup(UNBIASED, ADAM, 10);
  char text[192];
  outcome run;
  CHECK_OK(plim_train_options_set_patience(s.options, 4));
  run = logged(&s, PLIM_LOG_INFO);
  CHECK(run.status == PLIM_OK && run.num_epochs < 100);
  snprintf(text, sizeof text, "stopped early after epoch %zu: no better validation accuracy since epoch %zu, patience 4",
           run.num_epochs, run.best_epoch);
  CHECK_LINES(1, PLIM_LOG_INFO, text);
  CHECK_OK(plim_train_options_set_restore_best(s.options, 0));
  run = logged(&s, PLIM_LOG_INFO);
  snprintf(text, sizeof text, "those of the last; epoch %zu has the best validation accuracy", run.best_epoch);
  CHECK_LINES(1, PLIM_LOG_INFO, text);
  CHECK_OK(plim_train_options_set_progress(cancelled.options, stop_at_three, NULL));
  run = logged(&cancelled, PLIM_LOG_INFO);
  CHECK(run.status == PLIM_ERROR_CANCELLED);
  CHECK_LINES(1, PLIM_LOG_INFO, "stopped training in epoch 3");
  CHECK_LINES(0, PLIM_LOG_INFO, "trained for");
  CHECK_OK(plim_graph_set_split(cancelled.graph, PLIM_SPLIT_VAL, NULL, 0));
  CHECK_OK(plim_train_options_set_progress(cancelled.options, NULL, NULL));
  run = logged(&cancelled, PLIM_LOG_INFO);
  CHECK(run.status == PLIM_OK);
  CHECK_LINES(1, PLIM_LOG_INFO, "none is known to be the best");
  training_free(&cancelled);
  training_free(&s);
}

static void it_tells_of_a_checkpoint_that_a_run_goes_on_from(void) {
  setup s = training_setup(CONSISTENT, SGD, 10), later = training_setup(CONSISTENT, SGD, 10);
  outcome run;
  CHECK_OK(plim_train_options_set_checkpoint(s.options, files_path("a\nb"), 1)); /* a name with a line break */
  CHECK_OK(plim_train_options_set_progress(s.options, stop_at_three, NULL));
  run = logged(&s, PLIM_LOG_INFO);
  CHECK(run.status == PLIM_ERROR_CANCELLED);
  CHECK_LINES(3, PLIM_LOG_INFO, "/a b");
  CHECK_OK(plim_train_options_set_resume(later.options, files_path("a\nb")));
  run = logged(&later, PLIM_LOG_INFO);
  CHECK(run.status == PLIM_OK);
  CHECK_LINES(1, PLIM_LOG_INFO, "/a b after epoch 3");
  CHECK_OK(plim_train_options_set_seed(later.options, 99));
  run = logged(&later, PLIM_LOG_ERROR); /* another run's checkpoint */
  CHECK(run.status == PLIM_ERROR_SHAPE_MISMATCH && book.count == 1);
  CHECK_LINES(1, PLIM_LOG_ERROR, "its seed is 11, not 99");
  files_remove("a\nb");
  training_free(&later);
  training_free(&s);
}

/* Epochs are counted in all. Asking for fewer than are done is a warning, for as many a note. */
static void it_tells_that_nothing_was_left_to_do(void) {
  setup s = training_setup(CONSISTENT, SGD, 5), fewer = training_setup(CONSISTENT, SGD, 3);
  setup same = training_setup(CONSISTENT, SGD, 5), more = training_setup(CONSISTENT, SGD, 6);
  const setup *all[3];
  outcome made, run;
  all[0] = &fewer, all[1] = &same, all[2] = &more;
  CHECK_OK(plim_train_options_set_checkpoint(s.options, files_path("run"), 1));
  made = training_run(&s);
  for (size_t i = 0; i < 3; i++) {
    CHECK_OK(plim_train_options_set_resume(all[i]->options, files_path("run")));
    run = logged(all[i], PLIM_LOG_INFO);
    CHECK(run.status == PLIM_OK && (i == 2 || training_same_parameters(&made, &run)));
    CHECK_LINES(i < 2, i == 0 ? PLIM_LOG_WARNING : PLIM_LOG_INFO, "nothing is left to do");
    CHECK_LINES(i < 2, i == 0 ? PLIM_LOG_WARNING : PLIM_LOG_INFO,
                i == 0 ? "is of epoch 5, and training ends after epochs = 3"
                       : "is of epoch 5, and training ends after epochs = 5");
  }
  files_remove("run");
  training_free(&more);
  training_free(&same);
  training_free(&fewer);
  training_free(&s);
}

/* A failure is logged once, with the message of plim_last_error(). */
static void a_failure_is_an_error_with_its_message(void) {
  setup s = training_setup(FULL, ADAM, 50), poor = training_setup(CONSISTENT, SGD, 2);
  outcome run;
  plim_optimizer_free(s.optimizer);
  CHECK_OK(plim_optimizer_adam(1e38, &s.optimizer));
  run = logged(&s, PLIM_LOG_ERROR);
  CHECK(run.status == PLIM_ERROR_DIVERGED && book.count == 1);
  CHECK_LINES(1, PLIM_LOG_ERROR, run.message);
  CHECK_LINES(1, PLIM_LOG_ERROR, "step 1");
  CHECK_OK(plim_graph_set_split(poor.graph, PLIM_SPLIT_TRAIN, NULL, 0));
  run = logged(&poor, PLIM_LOG_DEBUG);
  CHECK(run.status == PLIM_ERROR_MISSING_DATA && book.count == 1); /* detected before training begins */
  CHECK_LINES(1, PLIM_LOG_ERROR, run.message);
  training_free(&poor);
  training_free(&s);
}

static void it_tells_of_adaptive_sizes(void) {
  setup s = training_setup(CONSISTENT, SGD, 4), silent = training_setup(CONSISTENT, SGD, 4);
  outcome run, expected;
  CHECK_OK(plim_train_options_set_adaptive(s.options, 0.5, 3, 8, 64)); /* the estimator's size is 100 */
  CHECK_OK(plim_train_options_set_adaptive(silent.options, 0.5, 3, 8, 64));
  run = logged(&s, PLIM_LOG_DEBUG);
  expected = training_run(&silent);
  CHECK(training_same(&expected, &run));
  CHECK_LINES(1, PLIM_LOG_WARNING, "sample size 100 is outside the adaptive bounds: 64 is used");
  CHECK_LINES(1, PLIM_LOG_WARNING, "at the largest size 64"); /* logged once, although every test detects it */
  run = logged(&s, PLIM_LOG_DEBUG);
  CHECK_LINES(0, PLIM_LOG_WARNING, "outside the adaptive bounds");
  CHECK_OK(plim_train_options_set_adaptive(s.options, 2.0, 1, 8, 100000));
  run = logged(&s, PLIM_LOG_DEBUG);
  CHECK(lines_with(PLIM_LOG_DEBUG, "sample size 64 becomes ") == 1);
  CHECK(lines_with(PLIM_LOG_DEBUG, " becomes ") > 1);
  CHECK_LINES(0, PLIM_LOG_WARNING, "at the largest size");
  training_free(&silent);
  training_free(&s);
}

/* The calls inside the callback, and their results. */
typedef struct meddler {
  const setup *s;
  size_t calls, wrong;
  float parameters[MOST_PARAMETERS];
} meddler;

static void meddle(void *user_data, int32_t level, const char *message) {
  meddler *m = (meddler *)user_data;
  double loss = NAN;
  (void)level, (void)message;
  m->calls++;
  m->wrong += plim_model_get_parameters(m->s->model, m->parameters, MOST_PARAMETERS) != PLIM_OK;
  m->wrong += plim_model_evaluate(m->s->model, m->s->graph, PLIM_SPLIT_TEST, &loss, NULL) != PLIM_OK;
  m->wrong += plim_model_set_regularization(m->s->model, 1.0) != PLIM_ERROR_BUSY;
  m->wrong += plim_graph_set_cache(m->s->graph, 0) != PLIM_ERROR_BUSY;
  m->wrong += plim_estimator_set_seed(m->s->estimator, 9) != PLIM_ERROR_BUSY;
  m->wrong += plim_optimizer_reset(m->s->optimizer) != PLIM_ERROR_BUSY;
  m->wrong += plim_train_options_set_seed(m->s->options, 9) != PLIM_OK; /* copied: no effect on this run */
}

static void the_same_calls_work_inside_as_inside_progress(void) {
  setup s = training_setup(CONSISTENT, ADAM, 5), silent = training_setup(CONSISTENT, ADAM, 5);
  meddler m;
  outcome run, expected;
  memset(&m, 0, sizeof m);
  m.s = &s;
  CHECK_OK(plim_train_options_set_adaptive(s.options, 1.0, 2, 8, 500)); /* so that some messages come within an epoch */
  CHECK_OK(plim_train_options_set_adaptive(silent.options, 1.0, 2, 8, 500));
  CHECK_OK(plim_train_options_set_log(s.options, PLIM_LOG_DEBUG, meddle, &m));
  run = training_run(&s);
  expected = training_run(&silent);
  CHECK(m.calls > 9 && m.wrong == 0 && training_same(&expected, &run));
  CHECK_BITS(m.parameters, run.parameters, run.num_parameters); /* the best epoch is restored before the last line */
  training_free(&silent);
  training_free(&s);
}

static void sleep_a_while(void *user_data, int32_t level, const char *message) {
  struct timespec pause = {0, 50000000};
  (void)level, (void)message;
  ++*(size_t *)user_data;
  nanosleep(&pause, NULL);
}

static void seconds_are_those_of_the_steps_alone(void) {
  setup s = training_setup(CONSISTENT, SGD, 3);
  double seconds, wall;
  size_t calls = 0;
  CHECK_OK(plim_train_options_set_adaptive(s.options, 1.0, 1, 8, 500));
  CHECK_OK(plim_train_options_set_log(s.options, PLIM_LOG_DEBUG, sleep_a_while, &calls));
  (void)training_timed(&s, &seconds, &wall);
  CHECK(calls > 10 && seconds > 0.0 && wall - seconds >= 0.0499 * (double)calls);
  training_free(&s);
}

static int32_t stop(void *user_data, const plim_progress *progress) {
  (void)user_data, (void)progress;
  return 1;
}

static void measurements_tell_what_they_find(void) {
  static const size_t sizes[2] = {5, 20};
  static const double deltas[1] = {0.5};
  double shares[2] = {NAN, NAN}, silent[2] = {NAN, NAN};
  probe p = probe_setup(2, 200);
  CHECK_OK(plim_tail_probability(p.estimator, p.model, p.graph, sizes, 2, deltas, 1, p.options, silent, 2));
  CHECK_OK(plim_probe_options_set_log(p.options, PLIM_LOG_INFO, note, fresh()));
  CHECK_OK(plim_tail_probability(p.estimator, p.model, p.graph, sizes, 2, deltas, 1, p.options, shares, 2));
  CHECK_BITS(silent, shares, 2);
  CHECK(book.wrong == 0 && book.count == 4);
  CHECK_LINES(1, PLIM_LOG_INFO, "the gradient of ");
  CHECK_LINES(1, PLIM_LOG_INFO, "\xc3\x82X is kept");
  CHECK_LINES(1, PLIM_LOG_INFO, "sample size 5: relative error ");
  CHECK_LINES(1, PLIM_LOG_INFO, "sample size 20: relative error ");
  CHECK_OK(plim_probe_options_set_log(p.options, PLIM_LOG_ERROR, note, fresh()));
  CHECK_STATUS(PLIM_ERROR_INVALID_ARGUMENT,
               plim_tail_probability(p.estimator, p.model, p.graph, sizes, 0, deltas, 1, p.options, shares, 2));
  CHECK_LINES(1, PLIM_LOG_ERROR, "num_sizes = 0");
  CHECK_OK(plim_probe_options_set_log(p.options, PLIM_LOG_INFO, note, fresh()));
  CHECK_OK(plim_probe_options_set_progress(p.options, stop, NULL));
  CHECK_STATUS(PLIM_ERROR_CANCELLED,
               plim_tail_probability(p.estimator, p.model, p.graph, sizes, 2, deltas, 1, p.options, shares, 2));
  CHECK_LINES(1, PLIM_LOG_INFO, "stopped the probe");
  CHECK_OK(plim_probe_options_set_progress(p.options, NULL, NULL));
  CHECK_OK(plim_probe_options_set_log(p.options, PLIM_LOG_DEBUG, NULL, fresh()));
  CHECK_OK(plim_tail_probability(p.estimator, p.model, p.graph, sizes, 2, deltas, 1, p.options, shares, 2));
  CHECK(book.count == 0);
  probe_free(&p);
}

static void a_plan_tells_what_it_tries(void) {
  probe p = probe_setup(1, 200);
  plim_plan *plan = NULL;
  char text[PLIM_PLAN_TEXT_SIZE];
  CHECK_OK(plim_probe_options_set_log(p.options, PLIM_LOG_DEBUG, note, fresh()));
  CHECK_OK(plim_plan_new(p.estimator, p.model, p.graph, 1.0, 0.9, 2, p.options, &plan));
  CHECK_OK(plim_plan_describe(plan, text, sizeof text));
  CHECK(book.wrong == 0 && plim_plan_num_sizes(plan) == 1);
  CHECK_LINES(1, PLIM_LOG_INFO, text);
  CHECK_LINES(1, PLIM_LOG_INFO, "the gradient of ");
  CHECK(lines_with(PLIM_LOG_DEBUG, "draws missed, few enough") >= 1);
  CHECK(lines_with(PLIM_LOG_DEBUG, "draws missed, too many") >= 1);
  plim_plan_free(plan);
  plan = NULL;
  CHECK_OK(plim_probe_options_set_log(p.options, PLIM_LOG_WARNING, note, fresh()));
  CHECK_OK(plim_plan_new(p.estimator, p.model, p.graph, 1e-6, 0.5, 2, p.options, &plan));
  CHECK_LINES(1, PLIM_LOG_WARNING, "no size keeps");
  plim_plan_free(plan);
  CHECK_OK(plim_probe_options_set_log(p.options, PLIM_LOG_INFO, note, fresh()));
  plan = NULL;
  (void)plim_plan_new(p.estimator, p.model, p.graph, 1.0, 1e-6, 100, p.options, &plan); /* a fit may fail or not */
  CHECK_LINES(1, PLIM_LOG_INFO, "200 draws cannot show a probability of 1e-8");
  plim_plan_free(plan);
  probe_free(&p);
}

static void levels_must_be_levels(void) {
  static const int32_t strangers[] = {-1, 4, 100, INT32_MIN, INT32_MAX};
  setup s = training_setup(UNBIASED, SGD, 1);
  probe p = probe_setup(1, 10);
  CHECK_OK(plim_train_options_set_log(s.options, PLIM_LOG_INFO, note, fresh()));
  for (size_t i = 0; i < sizeof strangers / sizeof strangers[0]; i++) {
    CHECK_FAILS(PLIM_ERROR_INVALID_ARGUMENT, "level = ",
                plim_train_options_set_log(s.options, strangers[i], NULL, NULL));
    CHECK_FAILS(PLIM_ERROR_INVALID_ARGUMENT, "level = ",
                plim_probe_options_set_log(p.options, strangers[i], note, NULL));
  }
  CHECK_OK(plim_train(s.model, s.graph, s.estimator, s.optimizer, s.options, NULL));
  CHECK(book.count > 0); /* the callback is still set */
  probe_free(&p);
  training_free(&s);
}

int main(void) {
  RUN(a_run_tells_how_it_begins_goes_on_and_ends);
  RUN(a_level_lets_through_what_matters_as_much);
  RUN(null_takes_the_function_back);
  RUN(it_tells_of_aggregated_features_once);
  RUN(it_tells_why_a_run_ends_early);
  RUN(it_tells_of_a_checkpoint_that_a_run_goes_on_from);
  RUN(it_tells_that_nothing_was_left_to_do);
  RUN(a_failure_is_an_error_with_its_message);
  RUN(it_tells_of_adaptive_sizes);
  RUN(the_same_calls_work_inside_as_inside_progress);
  RUN(seconds_are_those_of_the_steps_alone);
  RUN(measurements_tell_what_they_find);
  RUN(a_plan_tells_what_it_tries);
  RUN(levels_must_be_levels);
  files_close();
  return check_close();
}
