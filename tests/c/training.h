/* Shared by the tests of training: the arguments of plim_train(), by kind, and all results of a run. */
#ifndef PLIM_TESTS_TRAINING_H
#define PLIM_TESTS_TRAINING_H

#include "sample.h"

#include <time.h>

enum { MOST_EPOCHS = 128, MOST_PARAMETERS = 64, COLUMNS = 7 };

/* How gradients are estimated, and how they move the parameters. */
typedef enum estimation { FULL, UNBIASED, CONSISTENT, ESTIMATIONS } estimation;
typedef enum rule { SGD, ADAM, RULES } rule;

typedef struct setup {
  plim_graph *graph;
  plim_model *model;
  plim_estimator *estimator;
  plim_optimizer *optimizer;
  plim_train_options *options;
} setup;

/* A Mixture graph. No model classifies all of it correctly, so accuracies rise and fall. */
static inline plim_graph *training_graph(void) {
  plim_graph *graph = NULL;
  CHECK_OK(plim_graph_from_mixture(check_scale(200, 50), 3, &graph));
  return graph;
}

/* A 2-layer model with 40 parameters, batches of a fifth of the training nodes and a rest, averaging; seeds differ. */
static inline setup training_setup(estimation how, rule moves, size_t epochs) {
  static const size_t widths[3] = {2, 8, 3}, sizes[2] = {100, 100};
  setup s = {NULL, NULL, NULL, NULL, NULL};
  s.graph = training_graph();
  CHECK_OK(plim_model_gcn(widths, 3, 5, &s.model));
  if (how == FULL) {
    CHECK_OK(plim_estimator_full(&s.estimator));
  } else if (how == UNBIASED) {
    CHECK_OK(plim_estimator_unbiased(&s.estimator));
  } else {
    CHECK_OK(plim_estimator_consistent(sizes, 2, &s.estimator));
  }
  CHECK_OK(plim_estimator_set_seed(s.estimator, 7));
  if (moves == SGD) {
    CHECK_OK(plim_optimizer_sgd(1.0, &s.optimizer));
    CHECK_OK(plim_optimizer_set_schedule(s.optimizer, PLIM_SCHEDULE_INVERSE_SQRT));
  } else {
    CHECK_OK(plim_optimizer_adam(0.05, &s.optimizer));
  }
  CHECK_OK(plim_optimizer_set_averaging(s.optimizer, 1));
  CHECK_OK(plim_train_options_new(&s.options));
  CHECK_OK(plim_train_options_set_epochs(s.options, epochs));
  CHECK_OK(plim_train_options_set_batch_size(s.options, plim_graph_split_size(s.graph, PLIM_SPLIT_TRAIN) / 5 - 1));
  CHECK_OK(plim_train_options_set_seed(s.options, 11));
  return s;
}

static inline void training_free(setup *s) {
  plim_train_options_free(s->options);
  plim_optimizer_free(s->optimizer);
  plim_estimator_free(s->estimator);
  plim_model_free(s->model);
  plim_graph_free(s->graph);
}

/* The results of a run. */
typedef struct outcome {
  plim_status status;
  char message[512]; /* of a failure */
  size_t num_epochs, best_epoch, num_parameters;
  float parameters[MOST_PARAMETERS], average[MOST_PARAMETERS];
  double columns[COLUMNS][MOST_EPOCHS]; /* by PLIM_HISTORY_ number */
} outcome;

static inline void training_read(const setup *s, outcome *result) {
  result->num_parameters = plim_model_num_parameters(s->model);
  CHECK(result->num_parameters > 0 && result->num_parameters <= MOST_PARAMETERS);
  check_fill(result->parameters, MOST_PARAMETERS);
  check_fill(result->average, MOST_PARAMETERS);
  CHECK_OK(plim_model_get_parameters(s->model, result->parameters, MOST_PARAMETERS));
  (void)plim_optimizer_average(s->optimizer, result->average, MOST_PARAMETERS); /* fails without averaging */
}

static inline outcome training_run(const setup *s) {
  outcome result;
  plim_history *history = UNTOUCHED(plim_history);
  memset(&result, 0, sizeof result);
  result.status = plim_train(s->model, s->graph, s->estimator, s->optimizer, s->options, &history);
  if (result.status != PLIM_OK) {
    snprintf(result.message, sizeof result.message, "%s", plim_last_error());
  }
  if (result.status == PLIM_OK || result.status == PLIM_ERROR_DIVERGED || result.status == PLIM_ERROR_CANCELLED) {
    result.num_epochs = plim_history_num_epochs(history);
    result.best_epoch = plim_history_best_epoch(history);
    CHECK(result.num_epochs <= MOST_EPOCHS);
    for (int32_t column = 0; column < COLUMNS; column++) {
      CHECK_OK(plim_history_copy(history, column, result.columns[column], MOST_EPOCHS));
    }
    plim_history_free(history);
  } else {
    CHECK(history == UNTOUCHED(plim_history));
  }
  training_read(s, &result);
  return result;
}

/* A run, the seconds that it counts, and those that pass. */
static inline outcome training_timed(const setup *s, double *seconds, double *wall) {
  struct timespec from, to;
  outcome run;
  clock_gettime(CLOCK_MONOTONIC, &from);
  run = training_run(s);
  clock_gettime(CLOCK_MONOTONIC, &to);
  *wall = (double)(to.tv_sec - from.tv_sec) + 1e-9 * (double)(to.tv_nsec - from.tv_nsec);
  *seconds = 0.0;
  for (size_t e = 0; e < run.num_epochs; e++) {
    *seconds += run.columns[PLIM_HISTORY_SECONDS][e];
  }
  return run;
}

static inline int training_same_parameters(const outcome *a, const outcome *b) {
  return a->num_parameters == b->num_parameters &&
         memcmp(a->parameters, b->parameters, sizeof a->parameters) == 0 &&
         memcmp(a->average, b->average, sizeof a->average) == 0;
}

/* Returns whether two results have the same bits, except for the seconds. */
static inline int training_same(const outcome *a, const outcome *b) {
  int same = a->status == b->status && a->num_epochs == b->num_epochs && a->best_epoch == b->best_epoch;
  for (size_t column = 0; column < COLUMNS; column++) {
    same &= column == PLIM_HISTORY_SECONDS || memcmp(a->columns[column], b->columns[column], sizeof a->columns[0]) == 0;
  }
  return same && training_same_parameters(a, b);
}

#endif
