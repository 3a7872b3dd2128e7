/* Invalid arguments for optimizer functions: the status, the message, nothing written, and an optimizer that behaves
 * like a twin with valid calls only. */
#define _POSIX_C_SOURCE 200809L

#include "handles.h"
#include "sample.h"

enum { PARAMETERS = 32 };

static plim_model *model = NULL, *twin_model = NULL;
static plim_optimizer *optimizer = NULL, *twin = NULL;

/* Outputs of calls that must fail. */
static float floats[PARAMETERS];
static double w[3] = {1.0, 2.0, 3.0}, average[3] = {7.0, 7.0, 7.0};

/* An oracle that must not be called. */
static size_t called = 0;

static int32_t stay(void *user_data, size_t step, const double *x, double *gradient, size_t dim) {
  (void)user_data, (void)step, (void)x, (void)gradient, (void)dim;
  called++;
  return 0;
}

static int untouched(void) {
  return check_filled(floats, PARAMETERS) && w[0] == 1.0 && w[1] == 2.0 && w[2] == 3.0 && average[0] == 7.0 &&
         average[1] == 7.0 && average[2] == 7.0 && called == 0;
}

static void check_unharmed(int line) {
  static uint64_t state = 3;
  float gradient[PARAMETERS], a[PARAMETERS], b[PARAMETERS], mean_a[PARAMETERS], mean_b[PARAMETERS];
  for (size_t i = 0; i < PARAMETERS; i++) {
    gradient[i] = (float)dense_random(&state);
  }
  CHECK_OK(plim_optimizer_update(optimizer, model, gradient, PARAMETERS));
  CHECK_OK(plim_optimizer_update(twin, twin_model, gradient, PARAMETERS));
  CHECK_OK(plim_model_get_parameters(model, a, PARAMETERS));
  CHECK_OK(plim_model_get_parameters(twin_model, b, PARAMETERS));
  CHECK_OK(plim_optimizer_average(optimizer, mean_a, PARAMETERS));
  CHECK_OK(plim_optimizer_average(twin, mean_b, PARAMETERS));
  if (!CHECK(memcmp(a, b, sizeof a) == 0 && memcmp(mean_a, mean_b, sizeof mean_a) == 0 && untouched())) {
    fprintf(stderr, "  the optimizer, the model or an output changed at line %d\n", line);
  }
}

/* Checks that the call fails with this status and message, writes nothing, and leaves the optimizer like its twin. */
#define REFUSED(status, fragment, call) (CHECK_FAILS(status, fragment, call), check_unharmed(__LINE__))

/* Checks that a setting refuses each value, by a message that begins with its name. */
static void check_values_refused(plim_status (*set)(plim_optimizer *, double), const char *fragment, const double *values,
                                 size_t count) {
  for (size_t i = 0; i < count; i++) {
    REFUSED(PLIM_ERROR_INVALID_ARGUMENT, fragment, set(optimizer, values[i]));
  }
}

#define VALUES(values) values, sizeof values / sizeof values[0]

static void steps_must_be_finite_and_positive(void) {
  static const double bad[] = {0.0, -0.0, -1.0, -1e-300, NAN, INFINITY, -INFINITY};
  plim_optimizer *out = UNTOUCHED(plim_optimizer);
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    CHECK_FAILS(PLIM_ERROR_INVALID_ARGUMENT, "step = ", plim_optimizer_sgd(bad[i], &out));
    CHECK_FAILS(PLIM_ERROR_INVALID_ARGUMENT, "step = ", plim_optimizer_adam(bad[i], &out));
  }
  CHECK(out == UNTOUCHED(plim_optimizer));
  CHECK_FAILS(PLIM_ERROR_NULL_POINTER, "out is NULL", plim_optimizer_sgd(0.1, NULL));
  CHECK_FAILS(PLIM_ERROR_NULL_POINTER, "out is NULL", plim_optimizer_adam(0.1, NULL));
  CHECK_OK(plim_optimizer_sgd(1e-300, &out)); /* any positive finite step */
  plim_optimizer_free(out);
  CHECK_OK(plim_optimizer_adam(1e300, &out));
  plim_optimizer_free(out);
}

static void settings_must_be_in_their_ranges(void) {
  static const int32_t schedules[] = {-1, 3, 255, INT32_MAX, INT32_MIN};
  static const double decays[] = {-1.0, -1e-300, NAN, INFINITY, -INFINITY};
  static const double radii[] = {0.0, -0.0, -1.0, NAN, -INFINITY};
  static const double boxes[][2] = {{1.0, 0.0}, {NAN, 1.0}, {0.0, NAN}, {NAN, NAN}, {INFINITY, -INFINITY},
                                    {INFINITY, INFINITY}, {-INFINITY, -INFINITY}, {1e-300, -1e-300}};
  for (size_t i = 0; i < sizeof schedules / sizeof schedules[0]; i++) {
    REFUSED(PLIM_ERROR_INVALID_ARGUMENT, "schedule = ", plim_optimizer_set_schedule(optimizer, schedules[i]));
  }
  check_values_refused(plim_optimizer_set_decay, "decay = ", VALUES(decays));
  check_values_refused(plim_optimizer_set_ball, "radius = ", VALUES(radii));
  for (size_t i = 0; i < sizeof boxes / sizeof boxes[0]; i++) {
    REFUSED(PLIM_ERROR_INVALID_ARGUMENT, "low = ", plim_optimizer_set_box(optimizer, boxes[i][0], boxes[i][1]));
  }
}

static void numbers_of_schedules_must_be_in_their_ranges(void) {
  static const int32_t units[] = {-1, 2, 255, INT32_MAX, INT32_MIN};
  static const double factors[] = {0.0, -0.0, -0.5, 1.0 + 1e-15, NAN, INFINITY, -INFINITY};
  static const double minima[] = {-1e-300, 0.0500001, NAN, INFINITY, -INFINITY}; /* the step is 0.05 */
  static const double starts[] = {-1e-300, 1.0 + 1e-15, NAN, INFINITY, -INFINITY};
  for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
    REFUSED(PLIM_ERROR_INVALID_ARGUMENT, "unit = ", plim_optimizer_set_step_decay(optimizer, 1, units[i], 0.5));
    REFUSED(PLIM_ERROR_INVALID_ARGUMENT, "unit = ", plim_optimizer_set_cosine(optimizer, 1, units[i], 0.01));
    REFUSED(PLIM_ERROR_INVALID_ARGUMENT, "unit = ", plim_optimizer_set_warmup(optimizer, 1, units[i], 0.5));
  }
  for (size_t i = 0; i < sizeof factors / sizeof factors[0]; i++) {
    REFUSED(PLIM_ERROR_INVALID_ARGUMENT, "factor = ", plim_optimizer_set_step_decay(optimizer, 1, 0, factors[i]));
    REFUSED(PLIM_ERROR_INVALID_ARGUMENT, "factor = ", plim_optimizer_set_plateau(optimizer, factors[i], 1, 0.0));
  }
  for (size_t i = 0; i < sizeof minima / sizeof minima[0]; i++) {
    REFUSED(PLIM_ERROR_INVALID_ARGUMENT, "minimum = ", plim_optimizer_set_cosine(optimizer, 1, 0, minima[i]));
    REFUSED(PLIM_ERROR_INVALID_ARGUMENT, "minimum = ", plim_optimizer_set_plateau(optimizer, 0.5, 1, minima[i]));
  }
  for (size_t i = 0; i < sizeof starts / sizeof starts[0]; i++) {
    REFUSED(PLIM_ERROR_INVALID_ARGUMENT, "start = ", plim_optimizer_set_warmup(optimizer, 1, 0, starts[i]));
  }
  REFUSED(PLIM_ERROR_INVALID_ARGUMENT, "every = 0", plim_optimizer_set_step_decay(optimizer, 0, 0, 0.5));
  REFUSED(PLIM_ERROR_INVALID_ARGUMENT, "length = 0", plim_optimizer_set_cosine(optimizer, 0, 0, 0.01));
  REFUSED(PLIM_ERROR_INVALID_ARGUMENT, "value is NaN", plim_optimizer_report(optimizer, (double)NAN));
}

static void numbers_of_adam_clipping_and_averages_must_be_in_their_ranges(void) {
  static const double betas[][2] = {{-0.1, 0.9}, {1.0, 0.999}, {NAN, 0.999}, {0.9, NAN}, {0.9, 1.0}, {0.9, 0.81},
                                    {0.0, 0.0}, {0.9, -1.0}, {0.9, INFINITY}, {0.9, 1.0 - 1e-12}, {1.0 - 1e-12, 0.99}};
  static const double epsilons[] = {0.0, -1e-8, 9.9e-17, NAN, INFINITY, -INFINITY};
  static const double norms[] = {-1e-300, -1.0, NAN, -INFINITY};
  static const double decays[] = {-1e-300, 1.0, 2.0, NAN, INFINITY, -INFINITY};
  for (size_t i = 0; i < sizeof betas / sizeof betas[0]; i++) {
    REFUSED(PLIM_ERROR_INVALID_ARGUMENT, "beta", plim_optimizer_set_betas(optimizer, betas[i][0], betas[i][1]));
  }
  check_values_refused(plim_optimizer_set_epsilon, "epsilon = ", VALUES(epsilons));
  check_values_refused(plim_optimizer_set_clip, "norm = ", VALUES(norms));
  check_values_refused(plim_optimizer_set_ema, "decay = ", VALUES(decays));
}

static void a_moving_average_needs_updates_and_room(void) {
  plim_optimizer *fresh = NULL;
  static const float gradient[PARAMETERS] = {1.0f};
  REFUSED(PLIM_ERROR_MISSING_DATA, "moving average", plim_optimizer_ema(optimizer, floats, PARAMETERS));
  CHECK_OK(plim_optimizer_sgd(0.1, &fresh));
  CHECK_OK(plim_optimizer_set_ema(fresh, 0.5));
  CHECK_FAILS(PLIM_ERROR_MISSING_DATA, "no update", plim_optimizer_ema(fresh, floats, PARAMETERS));
  CHECK_OK(plim_optimizer_update(fresh, model, gradient, PARAMETERS));
  CHECK_OK(plim_optimizer_update(fresh, twin_model, gradient, PARAMETERS));
  CHECK_FAILS(PLIM_ERROR_BUFFER_TOO_SMALL, "32", plim_optimizer_ema(fresh, floats, PARAMETERS - 1));
  CHECK_FAILS(PLIM_ERROR_NULL_POINTER, "dst", plim_optimizer_ema(fresh, NULL, PARAMETERS));
  CHECK_OK(plim_optimizer_set_ema(fresh, 0.0)); /* discards it */
  CHECK_FAILS(PLIM_ERROR_MISSING_DATA, "moving average", plim_optimizer_ema(fresh, floats, PARAMETERS));
  plim_optimizer_free(fresh);
  check_unharmed(__LINE__);
}

static void a_gradient_has_a_value_for_each_parameter(void) {
  float gradient[PARAMETERS + 1] = {0.0f};
  REFUSED(PLIM_ERROR_SHAPE_MISMATCH, "31", plim_optimizer_update(optimizer, model, gradient, PARAMETERS - 1));
  REFUSED(PLIM_ERROR_SHAPE_MISMATCH, "33", plim_optimizer_update(optimizer, model, gradient, PARAMETERS + 1));
  REFUSED(PLIM_ERROR_SHAPE_MISMATCH, "0", plim_optimizer_update(optimizer, model, gradient, 0));
  REFUSED(PLIM_ERROR_SHAPE_MISMATCH, "0", plim_optimizer_update(optimizer, model, NULL, 0));
  REFUSED(PLIM_ERROR_NULL_POINTER, "gradient", plim_optimizer_update(optimizer, model, NULL, PARAMETERS));
  REFUSED(PLIM_ERROR_INVALID_ARGUMENT, "gradient", plim_optimizer_update(optimizer, model, gradient, SIZE_MAX));
}

static void an_average_needs_iterates_and_room(void) {
  plim_optimizer *fresh = NULL;
  REFUSED(PLIM_ERROR_BUFFER_TOO_SMALL, "32", plim_optimizer_average(optimizer, floats, PARAMETERS - 1));
  REFUSED(PLIM_ERROR_BUFFER_TOO_SMALL, "32", plim_optimizer_average(optimizer, floats, 0));
  REFUSED(PLIM_ERROR_NULL_POINTER, "dst", plim_optimizer_average(optimizer, NULL, PARAMETERS));
  CHECK_OK(plim_optimizer_sgd(0.1, &fresh));
  CHECK_STATUS(PLIM_ERROR_MISSING_DATA, plim_optimizer_average(fresh, floats, PARAMETERS));
  CHECK_OK(plim_optimizer_set_averaging(fresh, 1));
  CHECK_STATUS(PLIM_ERROR_MISSING_DATA, plim_optimizer_average(fresh, floats, PARAMETERS));
  CHECK(untouched());
  plim_optimizer_free(fresh);
}

static void a_problem_has_an_oracle_steps_and_dimensions(void) {
  REFUSED(PLIM_ERROR_NULL_POINTER, "oracle", plim_optimizer_minimize(optimizer, NULL, NULL, 5, w, average, 3));
  REFUSED(PLIM_ERROR_NULL_POINTER, "w is NULL", plim_optimizer_minimize(optimizer, stay, NULL, 5, NULL, average, 3));
  REFUSED(PLIM_ERROR_INVALID_ARGUMENT, "num_steps", plim_optimizer_minimize(optimizer, stay, NULL, 0, w, average, 3));
  REFUSED(PLIM_ERROR_INVALID_ARGUMENT, "dim", plim_optimizer_minimize(optimizer, stay, NULL, 5, w, average, 0));
  REFUSED(PLIM_ERROR_INVALID_ARGUMENT, "w", plim_optimizer_minimize(optimizer, stay, NULL, 5, w, average, SIZE_MAX));
}

/* One call per function, with `h` in place of the handle. */
static plim_status set_schedule(void *h) { return plim_optimizer_set_schedule((plim_optimizer *)h, 1); }
static plim_status set_decay(void *h) { return plim_optimizer_set_decay((plim_optimizer *)h, 0.5); }
static plim_status set_step_decay(void *h) { return plim_optimizer_set_step_decay((plim_optimizer *)h, 1, 0, 0.5); }
static plim_status set_cosine(void *h) { return plim_optimizer_set_cosine((plim_optimizer *)h, 9, 1, 0.0); }
static plim_status set_warmup(void *h) { return plim_optimizer_set_warmup((plim_optimizer *)h, 9, 0, 0.5); }
static plim_status set_plateau(void *h) { return plim_optimizer_set_plateau((plim_optimizer *)h, 0.5, 0, 0.0); }
static plim_status report(void *h) { return plim_optimizer_report((plim_optimizer *)h, 1.0); }
static plim_status end_epoch(void *h) { return plim_optimizer_end_epoch((plim_optimizer *)h); }
static plim_status set_betas(void *h) { return plim_optimizer_set_betas((plim_optimizer *)h, 0.5, 0.9); }
static plim_status set_epsilon(void *h) { return plim_optimizer_set_epsilon((plim_optimizer *)h, 0.1); }
static plim_status set_clip(void *h) { return plim_optimizer_set_clip((plim_optimizer *)h, 0.1); }
static plim_status set_ema(void *h) { return plim_optimizer_set_ema((plim_optimizer *)h, 0.1); }
static plim_status ema_of(void *h) { return plim_optimizer_ema((plim_optimizer *)h, floats, PARAMETERS); }
static plim_status set_ball(void *h) { return plim_optimizer_set_ball((plim_optimizer *)h, 1.0); }
static plim_status set_box(void *h) { return plim_optimizer_set_box((plim_optimizer *)h, -1.0, 1.0); }
static plim_status set_averaging(void *h) { return plim_optimizer_set_averaging((plim_optimizer *)h, 0); }
static plim_status reset(void *h) { return plim_optimizer_reset((plim_optimizer *)h); }
static plim_status update(void *h) {
  static const float gradient[PARAMETERS] = {1.0f};
  return plim_optimizer_update((plim_optimizer *)h, model, gradient, PARAMETERS);
}
static plim_status update_model(void *h) {
  static const float gradient[PARAMETERS] = {1.0f};
  return plim_optimizer_update(optimizer, (plim_model *)h, gradient, PARAMETERS);
}
static plim_status average_of(void *h) { return plim_optimizer_average((plim_optimizer *)h, floats, PARAMETERS); }
static plim_status minimize(void *h) {
  return plim_optimizer_minimize((plim_optimizer *)h, stay, NULL, 5, w, average, 3);
}

FUNCTIONS(untouched, FUNCTION("optimizer", set_schedule), FUNCTION("optimizer", set_decay),
          FUNCTION("optimizer", set_step_decay), FUNCTION("optimizer", set_cosine), FUNCTION("optimizer", set_warmup),
          FUNCTION("optimizer", set_plateau), FUNCTION("optimizer", report), FUNCTION("optimizer", end_epoch),
          FUNCTION("optimizer", set_betas), FUNCTION("optimizer", set_epsilon), FUNCTION("optimizer", set_clip),
          FUNCTION("optimizer", set_ema), FUNCTION("optimizer", ema_of), FUNCTION("optimizer", set_ball),
          FUNCTION("optimizer", set_box), FUNCTION("optimizer", set_averaging), FUNCTION("optimizer", reset),
          FUNCTION("optimizer", update), FUNCTION("model", update_model), FUNCTION("optimizer", average_of),
          FUNCTION("optimizer", minimize));

static void handles_must_be_live_optimizers(void) {
  plim_optimizer *freed = NULL, *later[2] = {NULL, NULL};
  plim_model *freed_model = sample_model(2);
  CHECK_OK(plim_optimizer_adam(0.1, &freed));
  plim_optimizer_free(freed);
  plim_model_free(freed_model);
  handles_foreign(&functions, "optimizer");
  handles_foreign(&functions, "model");
  for (size_t round = 0; round < 2; round++) {
    handles_refused(&functions, "optimizer", freed, "a freed one");
    handles_refused(&functions, "model", freed_model, "a freed one");
    CHECK_OK(plim_optimizer_sgd(0.1, &later[round])); /* its slot is reused */
  }
  handles_refused(&functions, "optimizer", model, "a model");
  handles_refused(&functions, "model", optimizer, "an optimizer");
  CHECK(plim_optimizer_step_size(NULL) == 0.0 && plim_optimizer_step_size(freed) == 0.0);
  plim_optimizer_free(NULL);
  plim_optimizer_free(freed); /* freeing twice is harmless */
  plim_optimizer_free((plim_optimizer *)(void *)model); /* the wrong free function has no effect */
  plim_model_free((plim_model *)(void *)optimizer);
  for (size_t i = 0; i < 2; i++) {
    CHECK_OK(plim_optimizer_reset(later[i]));
    plim_optimizer_free(later[i]);
  }
  check_unharmed(__LINE__);
}

int main(void) {
  check_fill(floats, PARAMETERS);
  for (size_t i = 0; i < 2; i++) {
    plim_optimizer **made = i == 0 ? &optimizer : &twin;
    CHECK_OK(plim_optimizer_adam(0.05, made));
    CHECK_OK(plim_optimizer_set_schedule(*made, PLIM_SCHEDULE_INVERSE_SQRT));
    CHECK_OK(plim_optimizer_set_averaging(*made, 1));
    CHECK_OK(plim_optimizer_set_ball(*made, 3.0));
  }
  model = sample_model(2);
  twin_model = sample_model(2);
  check_unharmed(__LINE__);
  RUN(steps_must_be_finite_and_positive);
  RUN(settings_must_be_in_their_ranges);
  RUN(numbers_of_schedules_must_be_in_their_ranges);
  RUN(numbers_of_adam_clipping_and_averages_must_be_in_their_ranges);
  RUN(a_moving_average_needs_updates_and_room);
  RUN(a_gradient_has_a_value_for_each_parameter);
  RUN(an_average_needs_iterates_and_room);
  RUN(a_problem_has_an_oracle_steps_and_dimensions);
  RUN(handles_must_be_live_optimizers);
  plim_model_free(twin_model);
  plim_model_free(model);
  plim_optimizer_free(twin);
  plim_optimizer_free(optimizer);
  return check_close();
}
