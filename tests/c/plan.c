/* The planner: its size meets the goal with new draws, and half of it does not; costs, descriptions and errors. */
#include "handles.h"
#include "probing.h"

/* The goal of most plans here: one gradient in ten may have a relative error of 1. */
static const double DELTA = 1.0, EPSILON = 0.1;

/* Sizes are limited by the number of nodes, so this graph has 600. */
static probe plan_setup(size_t num_layers, size_t draws) {
  probe p = probe_setup(num_layers, draws);
  plim_graph_free(p.graph);
  CHECK_OK(plim_graph_from_mixture(200, 3, &p.graph));
  return p;
}

static double number(const plim_plan *plan, int32_t what) {
  double value = -1.0;
  CHECK_OK(plim_plan_get(plan, what, &value));
  return value;
}

/* The fraction that misses at a size, and its 95 % Wilson interval, with draws that the plan has not used. */
static void afresh(const probe *p, const plim_estimator *estimator, size_t size, double *lower, double *upper) {
  plim_tail *tail = NULL;
  CHECK_OK(plim_probe_options_set_seed(p->options, 4711));
  CHECK_OK(plim_tail_new(estimator, p->model, p->graph, &size, 1, &DELTA, 1, p->options, &tail));
  CHECK_OK(plim_tail_copy(tail, PLIM_TAIL_LOWER, lower, 1));
  CHECK_OK(plim_tail_copy(tail, PLIM_TAIL_UPPER, upper, 1));
  CHECK_OK(plim_probe_options_set_seed(p->options, 0));
  plim_tail_free(tail);
}

static void check_costs(const plim_plan *plan) {
  double seconds = number(plan, PLIM_PLAN_SECONDS), exact = number(plan, PLIM_PLAN_EXACT_SECONDS);
  double unbiased = number(plan, PLIM_PLAN_UNBIASED_SECONDS);
  CHECK(seconds > 0.0 && exact > 0.0 && unbiased > 0.0 && number(plan, PLIM_PLAN_UNBIASED_BATCH) >= 1.0);
  if (plim_plan_num_sizes(plan) > 1) { /* not for the unbiased estimator */
    CHECK(plim_plan_pays(plan) == (seconds < exact && seconds < unbiased));
  }
}

static void the_size_holds_when_measured_afresh_and_half_of_it_does_not(void) {
  for (size_t num_layers = 1; num_layers <= 2; num_layers++) {
    probe p = plan_setup(num_layers, check_scale(2000, 120));
    plim_plan *plan = NULL;
    size_t sizes[2] = {99, 99}, size;
    double lower = NAN, upper = NAN;
    CHECK_OK(plim_plan_new(p.estimator, p.model, p.graph, DELTA, EPSILON, 1, p.options, &plan));
    size = (size_t)number(plan, PLIM_PLAN_SAMPLE_SIZE);
    CHECK(size >= 2 && size <= plim_graph_num_nodes(p.graph));
    CHECK(number(plan, PLIM_PLAN_UPPER) <= EPSILON && number(plan, PLIM_PLAN_MISSES) < number(plan, PLIM_PLAN_UPPER));
    CHECK(isnan(number(plan, PLIM_PLAN_C)) && isnan(number(plan, PLIM_PLAN_TAU)));
    CHECK(isnan(number(plan, PLIM_PLAN_R_SQUARED)));
    check_costs(plan);
    CHECK(plim_plan_num_sizes(plan) == num_layers);
    CHECK_OK(plim_plan_copy_sizes(plan, sizes, num_layers));
    CHECK(sizes[num_layers - 1] == size && sizes[1] == (num_layers == 2 ? size : 99));
    CHECK(num_layers == 1 || sizes[0] == 0); /* its input is exact */
    afresh(&p, p.estimator, size, &lower, &upper);
    CHECK(lower <= EPSILON);
    afresh(&p, p.estimator, size / 2, &lower, &upper);
    CHECK(upper > EPSILON);
    plim_plan_free(plan);
    probe_free(&p);
  }
}

static void the_size_is_the_same_for_any_threads_and_the_estimator_does_not_notice(void) {
  probe p = plan_setup(2, check_scale(500, 60)), twin = plan_setup(2, 2);
  double expected = 0.0;
  float a[PROBE_PARAMETERS], b[PROBE_PARAMETERS];
  for (size_t threads = 1; threads <= 3; threads++) {
    plim_plan *plan = NULL;
    CHECK_OK(plim_model_set_threads(p.model, threads));
    CHECK_OK(plim_plan_new(p.estimator, p.model, p.graph, DELTA, 0.2, 1, p.options, &plan));
    expected = threads == 1 ? number(plan, PLIM_PLAN_SAMPLE_SIZE) : expected;
    CHECK(expected > 0.0 && number(plan, PLIM_PLAN_SAMPLE_SIZE) == expected);
    plim_plan_free(plan);
  }
  CHECK_OK(plim_estimator_gradient(p.estimator, p.model, p.graph, NULL, 0, a, PROBE_PARAMETERS, NULL));
  CHECK_OK(plim_estimator_gradient(twin.estimator, twin.model, twin.graph, NULL, 0, b, PROBE_PARAMETERS, NULL));
  CHECK_BITS(b, a, plim_model_num_parameters(p.model));
  probe_free(&twin);
  probe_free(&p);
}

/* The draws cannot show 1e-4 per gradient, so a tail is fitted and extrapolated. */
static void many_steps_are_planned_by_a_fitted_tail(void) {
  probe p = plan_setup(1, check_scale(1000, 200));
  plim_plan *plan = NULL;
  double size, c, tau, r_squared, delta = 2.0;
  char text[PLIM_PLAN_TEXT_SIZE];
  CHECK_OK(plim_plan_new(p.estimator, p.model, p.graph, delta, EPSILON, 1000, p.options, &plan));
  size = number(plan, PLIM_PLAN_SAMPLE_SIZE);
  c = number(plan, PLIM_PLAN_C);
  tau = number(plan, PLIM_PLAN_TAU);
  r_squared = number(plan, PLIM_PLAN_R_SQUARED);
  CHECK(size >= 1.0 && c > 0.0 && tau > 0.0 && r_squared > 0.5 && r_squared <= 1.0);
  CHECK(1000.0 * c * exp(-tau * size) <= EPSILON * (1.0 + 1e-9)); /* the smallest size, unless the draws require more */
  CHECK(number(plan, PLIM_PLAN_MISSES) <= 0.05);
  CHECK_OK(plim_plan_describe(plan, text, sizeof text));
  CHECK(strstr(text, "fitted") != NULL && strstr(text, "1000 gradients") != NULL);
  plim_plan_free(plan);
  probe_free(&p);
}

static void an_impossible_goal_is_not_to_sample(void) {
  probe p = plan_setup(2, 100);
  plim_plan *plan = NULL;
  char text[PLIM_PLAN_TEXT_SIZE];
  size_t sizes[2] = {99, 99};
  CHECK_OK(plim_plan_new(p.estimator, p.model, p.graph, 1e-6, EPSILON, 1, p.options, &plan));
  CHECK(plim_plan_pays(plan) == 0 && number(plan, PLIM_PLAN_SAMPLE_SIZE) == 0.0);
  CHECK(isnan(number(plan, PLIM_PLAN_MISSES)) && isnan(number(plan, PLIM_PLAN_UPPER)));
  CHECK(isnan(number(plan, PLIM_PLAN_SECONDS)) && number(plan, PLIM_PLAN_EXACT_SECONDS) > 0.0);
  CHECK(number(plan, PLIM_PLAN_UNBIASED_BATCH) == (double)plim_graph_split_size(p.graph, PLIM_SPLIT_TRAIN));
  CHECK(number(plan, PLIM_PLAN_UNBIASED_SECONDS) == number(plan, PLIM_PLAN_EXACT_SECONDS));
  CHECK_OK(plim_plan_copy_sizes(plan, sizes, 2));
  CHECK(sizes[0] == 0 && sizes[1] == 0);
  CHECK_OK(plim_plan_describe(plan, text, sizeof text));
  CHECK(strncmp(text, "Do not sample", 13) == 0 && strstr(text, "exact gradient takes") != NULL);
  plim_plan_free(plan);
  probe_free(&p);
}

static void a_batch_size_is_planned_for_the_unbiased_estimator(void) {
  probe p = plan_setup(2, check_scale(1000, 100));
  plim_estimator *unbiased = NULL;
  plim_plan *plan = NULL;
  size_t size = 0, nodes = plim_graph_split_size(p.graph, PLIM_SPLIT_TRAIN);
  double lower = NAN, upper = NAN;
  CHECK_OK(plim_estimator_unbiased(&unbiased));
  CHECK_OK(plim_plan_new(unbiased, p.model, p.graph, DELTA, EPSILON, 1, p.options, &plan));
  CHECK(plim_plan_num_sizes(plan) == 1);
  CHECK_OK(plim_plan_copy_sizes(plan, &size, 1));
  CHECK(size >= 2 && size < nodes && (double)size == number(plan, PLIM_PLAN_SAMPLE_SIZE));
  check_costs(plan);
  CHECK(plim_plan_pays(plan) == (number(plan, PLIM_PLAN_SECONDS) < number(plan, PLIM_PLAN_EXACT_SECONDS)));
  afresh(&p, unbiased, size, &lower, &upper);
  CHECK(lower <= EPSILON);
  afresh(&p, unbiased, size / 2, &lower, &upper);
  CHECK(upper > EPSILON);
  plim_plan_free(plan);
  /* Only the full batch meets the goal. */
  CHECK_OK(plim_plan_new(unbiased, p.model, p.graph, 1e-4, EPSILON, 1, p.options, &plan));
  CHECK(number(plan, PLIM_PLAN_SAMPLE_SIZE) == (double)nodes && plim_plan_pays(plan) == 0);
  plim_plan_free(plan);
  plim_estimator_free(unbiased);
  probe_free(&p);
}

/* The longest numbers that a goal can have. */
static void every_plan_fits_its_buffer(void) {
  static const double deltas[3] = {1.2345678901234567e-300, 1.7976931348623157e308, 0.12345678901234567};
  static const double epsilons[3] = {1.2345678901234567e-300, 1.2345678901234567e-300, 0.98765432109876543};
  probe p = probe_setup(1, 20);
  for (size_t i = 0; i < 3; i++) {
    plim_plan *plan = NULL;
    char text[PLIM_PLAN_TEXT_SIZE];
    plim_status status =
        plim_plan_new(p.estimator, p.model, p.graph, deltas[i], epsilons[i], i == 2 ? 1 : SIZE_MAX, p.options, &plan);
    CHECK(status == PLIM_OK || (i == 1 && status == PLIM_ERROR_MISSING_DATA)); /* no misses, so no fit */
    if (status == PLIM_OK) {
      CHECK_OK(plim_plan_describe(plan, text, sizeof text));
      CHECK(strlen(text) < PLIM_PLAN_TEXT_SIZE);
    }
    plim_plan_free(plan);
  }
  probe_free(&p);
}

/* The recorded progress. */
typedef struct told {
  probe *p;
  size_t calls, last_stage, stop_at; /* the number of calls per stage depends on time */
} told;

static int32_t watch(void *user_data, const plim_progress *progress) {
  told *t = (told *)user_data;
  CHECK(progress->struct_size == sizeof *progress && progress->epoch >= t->last_stage);
  CHECK(progress->epoch >= 1 && progress->epoch <= progress->num_epochs);
  CHECK(progress->step >= 1 && progress->step <= progress->num_steps);
  CHECK(plim_model_num_parameters(t->p->model) == 6);
  CHECK_STATUS(PLIM_ERROR_BUSY, plim_estimator_set_seed(t->p->estimator, 1));
  t->last_stage = progress->epoch;
  t->calls++;
  return progress->epoch == t->stop_at ? 1 : 0;
}

static void progress_is_told_and_may_cancel(void) {
  probe p = probe_setup(1, 40);
  told t = {&p, 0, 0, 0};
  plim_plan *plan = NULL;
  size_t stages;
  CHECK_OK(plim_probe_options_set_progress(p.options, watch, &t));
  CHECK_OK(plim_plan_new(p.estimator, p.model, p.graph, 2.0, 0.3, 1, p.options, &plan));
  stages = t.last_stage;
  CHECK(stages >= 3 && t.calls >= stages);
  plim_plan_free(plan);
  for (size_t stop = 1; stop <= stages; stop += stages - 1) { /* in both searches: size, unbiased batch */
    plan = UNTOUCHED(plim_plan);
    t.calls = t.last_stage = 0;
    t.stop_at = stop;
    CHECK_FAILS(PLIM_ERROR_CANCELLED, "progress",
                plim_plan_new(p.estimator, p.model, p.graph, 2.0, 0.3, 1, p.options, &plan));
    CHECK(plan == UNTOUCHED(plim_plan) && t.last_stage == stop);
  }
  probe_free(&p);
}

/* Arguments of the invalid calls below, and outputs that must not change. */
static probe q;
static plim_plan *good = NULL, *made = UNTOUCHED(plim_plan);
static double value = NAN;
static size_t sizes[2] = {99, 99};
static char text[8] = "as is";

static int untouched(void) {
  return made == UNTOUCHED(plim_plan) && isnan(value) && sizes[0] == 99 && sizes[1] == 99 && strcmp(text, "as is") == 0;
}

#define REFUSED(status, fragment, call) (CHECK_FAILS(status, fragment, call), CHECK(untouched()))
#define PLAN_REFUSED(status, fragment, estimator, model, graph, delta, epsilon, t) \
  REFUSED(status, fragment, plim_plan_new(estimator, model, graph, delta, epsilon, t, q.options, &made))

static void goals_and_estimators_must_be_possible(void) {
  static const double deltas[] = {NAN, 0.0, -1.0, INFINITY}, epsilons[] = {NAN, 0.0, -0.1, 1.1, INFINITY};
  static const size_t exact[2] = {0, 0};
  static const int32_t batch[2] = {3, 3}, draws[2] = {1, 2};
  plim_estimator *none[3] = {NULL, NULL, NULL};
  for (size_t i = 0; i < 4; i++) {
    PLAN_REFUSED(PLIM_ERROR_INVALID_ARGUMENT, "delta", q.estimator, q.model, q.graph, deltas[i], 0.1, 1);
  }
  for (size_t i = 0; i < 5; i++) {
    PLAN_REFUSED(PLIM_ERROR_INVALID_ARGUMENT, "epsilon", q.estimator, q.model, q.graph, 0.5, epsilons[i], 1);
  }
  PLAN_REFUSED(PLIM_ERROR_INVALID_ARGUMENT, "t = 0", q.estimator, q.model, q.graph, 0.5, 0.1, 0);
  PLAN_REFUSED(PLIM_ERROR_NULL_POINTER, "estimator", NULL, q.model, q.graph, 0.5, 0.1, 1);
  PLAN_REFUSED(PLIM_ERROR_NULL_POINTER, "model", q.estimator, NULL, q.graph, 0.5, 0.1, 1);
  PLAN_REFUSED(PLIM_ERROR_NULL_POINTER, "graph", q.estimator, q.model, NULL, 0.5, 0.1, 1);
  REFUSED(PLIM_ERROR_NULL_POINTER, "out",
          plim_plan_new(q.estimator, q.model, q.graph, 0.5, 0.1, 1, q.options, NULL));
  CHECK_OK(plim_estimator_full(&none[0]));
  CHECK_OK(plim_estimator_consistent(exact, 2, &none[1]));
  CHECK_OK(plim_estimator_consistent(exact, 2, &none[2]));
  CHECK_OK(plim_estimator_set_draws(none[2], 1, draws, 2));
  for (size_t i = 0; i < 3; i++) {
    PLAN_REFUSED(PLIM_ERROR_UNSUPPORTED, "draws nothing", none[i], q.model, q.graph, 0.5, 0.1, 1);
    plim_estimator_free(none[i]);
  }
  CHECK_OK(plim_probe_options_set_batch(q.options, batch, 2));
  PLAN_REFUSED(PLIM_ERROR_INVALID_ARGUMENT, "batch[1] = 3", q.estimator, q.model, q.graph, 0.5, 0.1, 1);
  CHECK_OK(plim_probe_options_set_batch(q.options, NULL, 0));
}

static void outputs_need_room_and_numbers_a_name(void) {
  static const int32_t strangers[] = {-1, 10, 255, INT32_MAX, INT32_MIN};
  for (size_t i = 0; i < sizeof strangers / sizeof strangers[0]; i++) {
    REFUSED(PLIM_ERROR_INVALID_ARGUMENT, "what = ", plim_plan_get(good, strangers[i], &value));
  }
  REFUSED(PLIM_ERROR_NULL_POINTER, "out", plim_plan_get(good, 0, NULL));
  REFUSED(PLIM_ERROR_BUFFER_TOO_SMALL, "2 are needed", plim_plan_copy_sizes(good, sizes, 1));
  REFUSED(PLIM_ERROR_NULL_POINTER, "dst", plim_plan_copy_sizes(good, NULL, 2));
  REFUSED(PLIM_ERROR_BUFFER_TOO_SMALL, "are needed", plim_plan_describe(good, text, sizeof text));
  REFUSED(PLIM_ERROR_NULL_POINTER, "dst", plim_plan_describe(good, NULL, 512));
}

/* The message names the size needed, and that size is enough. */
static void the_room_that_is_asked_for_is_enough(void) {
  char words[PLIM_PLAN_TEXT_SIZE], exactly[PLIM_PLAN_TEXT_SIZE], needed[32];
  CHECK_OK(plim_plan_describe(good, words, sizeof words));
  snprintf(needed, sizeof needed, " %u are needed", (unsigned)strlen(words) + 1);
  REFUSED(PLIM_ERROR_BUFFER_TOO_SMALL, needed, plim_plan_describe(good, text, 5));
  CHECK_STATUS(PLIM_ERROR_BUFFER_TOO_SMALL, plim_plan_describe(good, exactly, strlen(words)));
  CHECK_OK(plim_plan_describe(good, exactly, strlen(words) + 1));
  CHECK_TEXT(words, exactly);
}

/* One call per function, with `h` in place of the handle. */
static plim_status new_estimator(void *h) {
  return plim_plan_new((plim_estimator *)h, q.model, q.graph, 0.5, 0.1, 1, q.options, &made);
}
static plim_status new_model(void *h) {
  return plim_plan_new(q.estimator, (plim_model *)h, q.graph, 0.5, 0.1, 1, q.options, &made);
}
static plim_status new_graph(void *h) {
  return plim_plan_new(q.estimator, q.model, (plim_graph *)h, 0.5, 0.1, 1, q.options, &made);
}
static plim_status copy_sizes(void *h) { return plim_plan_copy_sizes((plim_plan *)h, sizes, 2); }
static plim_status get(void *h) { return plim_plan_get((plim_plan *)h, 0, &value); }
static plim_status describe(void *h) { return plim_plan_describe((plim_plan *)h, text, sizeof text); }

FUNCTIONS(untouched, FUNCTION("estimator", new_estimator), FUNCTION("model", new_model), FUNCTION("graph", new_graph),
          FUNCTION("plan", copy_sizes), FUNCTION("plan", get), FUNCTION("plan", describe));

static void handles_must_be_live_and_of_their_type(void) {
  static const char *const arguments[] = {"estimator", "model", "graph", "plan"};
  probe gone = probe_setup(2, 10);
  plim_plan *old = NULL;
  void *live[4], *freed[4];
  CHECK_OK(plim_plan_new(gone.estimator, gone.model, gone.graph, 2.0, 0.9, 1, gone.options, &old));
  live[0] = q.estimator, live[1] = q.model, live[2] = q.graph, live[3] = good;
  freed[0] = gone.estimator, freed[1] = gone.model, freed[2] = gone.graph, freed[3] = old;
  plim_plan_free(old);
  probe_free(&gone);
  for (size_t i = 0; i < 4; i++) {
    handles_bad(&functions, arguments, live, freed, 4, i);
    CHECK(plim_plan_pays((plim_plan *)freed[i]) == 0 && plim_plan_num_sizes((plim_plan *)freed[i]) == 0);
    plim_plan_free((plim_plan *)freed[i]); /* harmless */
    if (i != 3) {
      plim_plan_free((plim_plan *)live[i]);
    }
  }
  REFUSED(PLIM_ERROR_INVALID_HANDLE, "options",
          plim_plan_new(q.estimator, q.model, q.graph, 0.5, 0.1, 1, (plim_probe_options *)(void *)q.graph, &made));
  CHECK(plim_plan_pays(NULL) == 0 && plim_plan_num_sizes(NULL) == 0 && plim_plan_num_sizes(good) == 2);
  plim_plan_free(NULL);
}

int main(void) {
  RUN(the_size_holds_when_measured_afresh_and_half_of_it_does_not);
  RUN(the_size_is_the_same_for_any_threads_and_the_estimator_does_not_notice);
  RUN(many_steps_are_planned_by_a_fitted_tail);
  RUN(an_impossible_goal_is_not_to_sample);
  RUN(a_batch_size_is_planned_for_the_unbiased_estimator);
  RUN(every_plan_fits_its_buffer);
  RUN(progress_is_told_and_may_cancel);
  q = probe_setup(2, 20);
  CHECK_OK(plim_plan_new(q.estimator, q.model, q.graph, 2.0, 0.9, 1, q.options, &good));
  RUN(goals_and_estimators_must_be_possible);
  RUN(outputs_need_room_and_numbers_a_name);
  RUN(the_room_that_is_asked_for_is_enough);
  RUN(handles_must_be_live_and_of_their_type);
  plim_plan_free(good);
  probe_free(&q);
  return check_close();
}
