/* Measurements: fractions and errors against counts by hand, the same for any number of threads and whichever sizes are
 * measured together, and an unchanged estimator. */
#include "probing.h"

enum { SIZES = 3, DELTAS = 4, CELLS = SIZES * DELTAS };

static const size_t grid_sizes[SIZES] = {5, 20, 80};
static const double grid_deltas[DELTAS] = {1e-9, 0.3, 0.6, 1e9};

/* All results of a tail. */
typedef struct measured {
  double probability[CELLS], lower[CELLS], upper[CELLS], error[SIZES], bias[SIZES], deviation[SIZES], norm;
} measured;

static measured measure_with(const probe *p, const plim_estimator *estimator, const size_t *sizes, size_t num_sizes,
                             const double *deltas, size_t num_deltas) {
  measured m;
  plim_tail *tail = NULL;
  memset(&m, 0, sizeof m);
  if (CHECK_OK(
          plim_tail_new(estimator, p->model, p->graph, sizes, num_sizes, deltas, num_deltas, p->options, &tail))) {
    CHECK_OK(plim_tail_copy(tail, PLIM_TAIL_PROBABILITY, m.probability, CELLS));
    CHECK_OK(plim_tail_copy(tail, PLIM_TAIL_LOWER, m.lower, CELLS));
    CHECK_OK(plim_tail_copy(tail, PLIM_TAIL_UPPER, m.upper, CELLS));
    CHECK_OK(plim_tail_copy(tail, PLIM_TAIL_ERROR, m.error, SIZES));
    CHECK_OK(plim_tail_copy(tail, PLIM_TAIL_BIAS, m.bias, SIZES));
    CHECK_OK(plim_tail_copy(tail, PLIM_TAIL_DEVIATION, m.deviation, SIZES));
    m.norm = plim_tail_norm(tail);
  }
  plim_tail_free(tail);
  return m;
}

static measured measure(const probe *p) {
  return measure_with(p, p->estimator, grid_sizes, SIZES, grid_deltas, DELTAS);
}

/* Compares with the estimator's own draws: fractions and errors agree like two samples of one distribution. */
static void shares_and_errors_are_those_of_a_count_by_hand(void) {
  for (size_t num_layers = 1; num_layers <= 2; num_layers++) {
    size_t draws = check_scale(2000, 100);
    probe p = probe_setup(num_layers, draws);
    static const size_t size[1] = {10};
    measured m = measure_with(&p, p.estimator, size, 1, NULL, 0);
    double deltas[2];
    float h[PROBE_PARAMETERS], g[PROBE_PARAMETERS], mean[PROBE_PARAMETERS] = {0.0f};
    size_t count = plim_model_num_parameters(p.model), misses[2] = {0, 0};
    double norm = probe_exact(&p, NULL, 0, h), squares = 0.0, fourth = 0.0;
    CHECK_NEAR(norm, m.norm, 1e-12 * norm);
    deltas[0] = 0.8 * m.error[0];
    deltas[1] = 1.1 * m.error[0];
    m = measure_with(&p, p.estimator, size, 1, deltas, 2);
    for (size_t i = 0; i < draws; i++) {
      double error;
      CHECK_OK(plim_estimator_gradient(p.estimator, p.model, p.graph, NULL, 0, g, PROBE_PARAMETERS, NULL));
      error = probe_distance(g, h, count) / norm;
      squares += error * error / (double)draws;
      fourth += pow(error, 4.0) / (double)draws;
      for (size_t d = 0; d < 2; d++) {
        misses[d] += error >= deltas[d] ? 1 : 0;
      }
      for (size_t k = 0; k < count; k++) {
        mean[k] += g[k] / (float)draws;
      }
    }
    for (size_t d = 0; d < 2; d++) {
      double share = (double)misses[d] / (double)draws;
      CHECK(share > 0.0 && share < 1.0); /* otherwise the deltas above show nothing */
      CHECK_NEAR(share, m.probability[d], 5.0 * sqrt(2.0 * share * (1.0 - share) / (double)draws));
    }
    CHECK_NEAR(squares, m.error[0] * m.error[0], 5.0 * sqrt(2.0 * (fourth - squares * squares) / (double)draws));
    CHECK_NEAR(probe_distance(mean, h, count) / norm, m.bias[0], 5.0 * m.deviation[0] * sqrt(2.0 / (double)draws));
    probe_free(&p);
  }
}

/* With all draws set by the caller every estimate is equal, so all results are known. */
static void pinned_draws_have_a_known_error(void) {
  static const int32_t draws[6] = {1, 30, 47, 80, 101, 115};
  static const size_t size[1] = {6};
  probe p = probe_setup(1, 20);
  float h[PROBE_PARAMETERS], g[PROBE_PARAMETERS];
  double norm = probe_exact(&p, NULL, 0, h), error, deltas[2];
  measured m;
  CHECK_OK(plim_estimator_set_draws(p.estimator, 0, draws, 6));
  CHECK_OK(plim_estimator_gradient(p.estimator, p.model, p.graph, NULL, 0, g, PROBE_PARAMETERS, NULL));
  error = probe_distance(g, h, plim_model_num_parameters(p.model)) / norm;
  CHECK(error > 0.01);
  deltas[0] = error * (1.0 - 1e-9);
  deltas[1] = error * (1.0 + 1e-9);
  m = measure_with(&p, p.estimator, size, 1, deltas, 2);
  CHECK(m.probability[0] == 1.0 && m.probability[1] == 0.0);
  CHECK_NEAR(error, m.error[0], 1e-9 * error);
  CHECK_NEAR(error, m.bias[0], 1e-6 * error);
  CHECK_NEAR(0.0, m.deviation[0], 1e-6 * error);
  probe_free(&p);
}

/* Batches of one node out of three: the gradient is one of three with equal probability. */
static void a_batch_of_one_is_any_node_alike(void) {
  static const size_t sizes[2] = {1, 3};
  size_t draws = check_scale(2000, 300);
  probe p = probe_setup(2, draws);
  plim_estimator *unbiased = NULL;
  int32_t nodes[PROBE_PARAMETERS * 2], batch[3];
  float h[PROBE_PARAMETERS], g[PROBE_PARAMETERS];
  size_t count = plim_model_num_parameters(p.model);
  double norm, errors[3], square = 0.0, delta = 0.0, expected = 0.0;
  measured m;
  CHECK_OK(plim_estimator_unbiased(&unbiased));
  CHECK_OK(plim_graph_copy_split(p.graph, PLIM_SPLIT_TRAIN, nodes, PROBE_PARAMETERS * 2));
  memcpy(batch, nodes + 4, sizeof batch);
  norm = probe_exact(&p, batch, 3, h);
  for (size_t i = 0; i < 3; i++) {
    (void)probe_exact(&p, &batch[i], 1, g);
    errors[i] = probe_distance(g, h, count) / norm;
    square += errors[i] * errors[i] / 3.0;
    delta += errors[i] / 3.0;
  }
  for (size_t i = 0; i < 3; i++) {
    expected += errors[i] >= delta ? 1.0 / 3.0 : 0.0;
  }
  CHECK_OK(plim_probe_options_set_batch(p.options, batch, 3));
  m = measure_with(&p, unbiased, sizes, 2, &delta, 1);
  CHECK_NEAR(norm, m.norm, 1e-12 * norm);
  CHECK_NEAR(expected, m.probability[0], 5.0 * sqrt(expected * (1.0 - expected) / (double)draws));
  CHECK_NEAR(sqrt(square), m.error[0], 0.2 * sqrt(square));
  CHECK(m.bias[0] <= 5.0 * m.deviation[0] / sqrt((double)draws));
  CHECK(m.error[1] < 1e-6 && m.probability[1] == 0.0); /* the full batch: only rounding remains */
  CHECK_OK(plim_probe_options_set_batch(p.options, NULL, 0)); /* all training nodes again */
  m = measure_with(&p, unbiased, sizes, 1, &delta, 1);
  CHECK_NEAR(probe_exact(&p, NULL, 0, h), m.norm, 1e-12 * m.norm);
  plim_estimator_free(unbiased);
  probe_free(&p);
}

static void the_unbiased_gradient_of_all_nodes_is_exact_and_of_few_without_bias(void) {
  size_t draws = check_scale(1000, 100);
  probe p = probe_setup(2, draws);
  plim_estimator *unbiased = NULL;
  size_t sizes[2] = {4, plim_graph_split_size(p.graph, PLIM_SPLIT_TRAIN)};
  measured m;
  CHECK_OK(plim_estimator_unbiased(&unbiased));
  m = measure_with(&p, unbiased, sizes, 2, grid_deltas, DELTAS);
  CHECK(m.error[0] > 0.1 && m.bias[0] < 5.0 * m.deviation[0] / sqrt((double)draws));
  CHECK(m.error[1] < 1e-6 && m.probability[DELTAS + 1] == 0.0);
  plim_estimator_free(unbiased);
  probe_free(&p);
}

static void the_full_estimator_never_misses(void) {
  static const double deltas[2] = {1e-5, 0.5};
  probe p = probe_setup(2, 10);
  plim_estimator *full = NULL;
  measured m;
  CHECK_OK(plim_estimator_full(&full));
  m = measure_with(&p, full, grid_sizes, SIZES, deltas, 2);
  for (size_t i = 0; i < SIZES; i++) {
    CHECK(m.probability[2 * i] == 0.0 && m.probability[2 * i + 1] == 0.0 && m.error[i] < 1e-6);
  }
  plim_estimator_free(full);
  probe_free(&p);
}

/* Wilson's interval, written out. */
static void check_interval(double share, double lower, double upper, double n) {
  const double z = 1.959963984540054;
  double centre = share + z * z / (2.0 * n), half = z * sqrt(share * (1.0 - share) / n + z * z / (4.0 * n * n));
  CHECK_NEAR((centre - half) / (1.0 + z * z / n), lower, 1e-12);
  CHECK_NEAR((centre + half) / (1.0 + z * z / n), upper, 1e-12);
  CHECK(lower >= 0.0 && upper <= 1.0);
}

static void the_numbers_of_a_tail_fit_each_other(void) {
  for (size_t num_layers = 1; num_layers <= 2; num_layers++) {
    size_t draws = check_scale(1000, 60);
    probe p = probe_setup(num_layers, draws);
    measured m = measure(&p);
    double alone[CELLS];
    CHECK_OK(plim_tail_probability(p.estimator, p.model, p.graph, grid_sizes, SIZES, grid_deltas, DELTAS, p.options,
                                   alone, CELLS));
    CHECK_BITS(alone, m.probability, CELLS);
    for (size_t i = 0; i < SIZES; i++) {
      const double *row = m.probability + i * DELTAS;
      double parts = m.bias[i] * m.bias[i] + m.deviation[i] * m.deviation[i], whole = m.error[i] * m.error[i];
      double noise = m.bias[i] > 0.0 ? 1e-9 : 1.0 / (double)draws;
      CHECK(row[0] == 1.0 && row[DELTAS - 1] == 0.0); /* a tiny δ is always missed, a large one never */
      CHECK_NEAR(whole, parts, noise * whole);
      for (size_t d = 0; d < DELTAS; d++) {
        double count = row[d] * (double)draws;
        CHECK_NEAR(floor(count + 0.5), count, 1e-6);
        check_interval(row[d], m.lower[i * DELTAS + d], m.upper[i * DELTAS + d], (double)draws);
        CHECK(d == 0 || row[d] <= row[d - 1]);
        CHECK(i == 0 || row[d] <= m.probability[(i - 1) * DELTAS + d]);
      }
      CHECK(i == 0 || m.error[i] < m.error[i - 1]);
    }
    CHECK(m.probability[1] > m.probability[2 * DELTAS + 1]); /* the fractions fall with N */
    probe_free(&p);
  }
}

/* Each size is four times the one before: the deviation halves. */
static void the_deviation_falls_with_the_root_of_the_size(void) {
  probe p = probe_setup(1, check_scale(2000, 200));
  static const size_t sizes[2] = {40, 160};
  measured m = measure_with(&p, p.estimator, sizes, 2, NULL, 0);
  CHECK_NEAR(2.0, m.deviation[0] / m.deviation[1], 0.35);
  CHECK(m.bias[1] < m.bias[0] || m.bias[1] < m.deviation[1]);
  probe_free(&p);
}

static void threads_and_company_do_not_change_a_bit(void) {
  static const size_t threads[3] = {2, 5, 0};
  probe p = probe_setup(2, check_scale(203, 43));
  measured one = measure(&p);
  for (size_t i = 0; i < 3; i++) {
    measured more;
    CHECK_OK(plim_model_set_threads(p.model, threads[i]));
    more = measure(&p);
    CHECK_BITS(&one, &more, 1);
  }
  for (size_t i = 0; i < SIZES; i++) { /* a size alone */
    measured alone = measure_with(&p, p.estimator, &grid_sizes[i], 1, grid_deltas, DELTAS);
    CHECK_BITS(one.probability + i * DELTAS, alone.probability, DELTAS);
    CHECK_BITS(one.error + i, alone.error, 1);
    CHECK_BITS(one.bias + i, alone.bias, 1);
    CHECK_BITS(one.deviation + i, alone.deviation, 1);
  }
  probe_free(&p);
}

/* More sizes than the number of pieces can double. */
static void many_sizes_of_few_draws_come_to_an_end(void) {
  enum { MANY = 150 };
  probe p = probe_setup(1, 9);
  size_t sizes[MANY];
  double shares[MANY];
  for (size_t i = 0; i < MANY; i++) {
    sizes[i] = i + 1;
    shares[i] = NAN;
  }
  CHECK_OK(plim_tail_probability(p.estimator, p.model, p.graph, sizes, MANY, grid_deltas, 1, p.options, shares, MANY));
  for (size_t i = 0; i < MANY; i++) {
    CHECK(shares[i] == 1.0);
  }
  probe_free(&p);
}

static void the_seed_of_the_options_alone_decides(void) {
  probe p = probe_setup(1, check_scale(200, 40));
  measured first = measure(&p), second;
  CHECK_OK(plim_estimator_set_seed(p.estimator, 77));
  second = measure(&p);
  CHECK_BITS(&first, &second, 1);
  CHECK_OK(plim_probe_options_set_seed(p.options, 1));
  second = measure(&p);
  for (size_t i = 0; i < SIZES; i++) {
    CHECK(first.error[i] != second.error[i] && fabs(first.error[i] - second.error[i]) < 0.5 * first.error[i]);
  }
  CHECK(first.norm == second.norm);
  CHECK_OK(plim_probe_options_set_seed(p.options, 0));
  second = measure(&p);
  CHECK_BITS(&first, &second, 1);
  probe_free(&p);
}

static void a_measurement_leaves_no_trace(void) {
  probe p = probe_setup(2, 20), twin = probe_setup(2, 20);
  float a[PROBE_PARAMETERS], b[PROBE_PARAMETERS];
  size_t count = plim_model_num_parameters(p.model);
  for (size_t round = 0; round < 3; round++) {
    (void)measure(&p);
    CHECK_OK(plim_estimator_gradient(p.estimator, p.model, p.graph, NULL, 0, a, PROBE_PARAMETERS, NULL));
    CHECK_OK(plim_estimator_gradient(twin.estimator, twin.model, twin.graph, NULL, 0, b, PROBE_PARAMETERS, NULL));
    CHECK_BITS(b, a, count);
  }
  CHECK_OK(plim_model_get_parameters(p.model, a, PROBE_PARAMETERS));
  CHECK_OK(plim_model_get_parameters(twin.model, b, PROBE_PARAMETERS));
  CHECK_BITS(b, a, count);
  CHECK(plim_estimator_property(p.estimator) == PLIM_PROPERTY_CONSISTENT);
  probe_free(&twin);
  probe_free(&p);
}

/* The defaults draw 10,000: on the smallest graph, so that it is quick. */
static void no_options_are_the_defaults(void) {
  probe p = probe_setup(1, 10000);
  static const size_t size[1] = {2};
  static const double delta[1] = {1.0};
  double by_default = NAN, by_hand = NAN;
  if (check_scale(1, 0) == 1) {
    CHECK_OK(plim_tail_probability(p.estimator, p.model, p.graph, size, 1, delta, 1, NULL, &by_default, 1));
    CHECK_OK(plim_tail_probability(p.estimator, p.model, p.graph, size, 1, delta, 1, p.options, &by_hand, 1));
    CHECK(by_default == by_hand && by_hand > 0.0 && by_hand < 1.0);
  }
  probe_free(&p);
}

static void a_fit_finds_the_tail_that_it_was_given(void) {
  static const double cs[3] = {1.0, 0.4, 1.7}, taus[3] = {0.01, 0.05, 0.2};
  size_t sizes[8];
  double shares[8], c = NAN, tau = NAN, r_squared = NAN;
  for (size_t k = 0; k < 3; k++) {
    for (size_t i = 0; i < 8; i++) {
      sizes[i] = (size_t)((double)(i + 4) / taus[k] / 4.0);
      shares[i] = cs[k] * exp(-taus[k] * (double)sizes[i]);
    }
    CHECK_OK(plim_tail_fit(sizes, shares, 8, 100000, &c, &tau, &r_squared));
    CHECK_NEAR(cs[k], c, 1e-9);
    CHECK_NEAR(taus[k], tau, 1e-9);
    CHECK_NEAR(1.0, r_squared, 1e-9);
  }
  CHECK_OK(plim_tail_fit(sizes, shares, 8, 100000, NULL, NULL, NULL));
}

/* Points with fewer than 10 misses or hits are ignored, however wrong they are; the others have weights draws·p/(1-p). */
static void a_fit_weighs_its_points_and_leaves_out_the_extremes(void) {
  size_t sizes[6] = {1, 10, 20, 30, 40, 500};
  double shares[6] = {0.9999, 0.5, 0.25, 0.125, 0.0625, 0.0005}, c = NAN, tau = NAN, r_squared = NAN;
  double w = 0.0, n = 0.0, y = 0.0, nn = 0.0, ny = 0.0;
  CHECK_OK(plim_tail_fit(sizes, shares, 6, 1000, &c, &tau, &r_squared));
  CHECK_NEAR(log(2.0) / 10.0, tau, 1e-9);
  CHECK_NEAR(1.0, c, 1e-9);
  CHECK_NEAR(1.0, r_squared, 1e-9);
  shares[2] = 0.3; /* off the line, so that the weights matter */
  CHECK_OK(plim_tail_fit(sizes, shares, 6, 1000, &c, &tau, &r_squared));
  for (size_t i = 1; i < 5; i++) {
    double weight = shares[i] / (1.0 - shares[i]), at = (double)sizes[i], value = log(shares[i]);
    w += weight, n += weight * at, y += weight * value, nn += weight * at * at, ny += weight * at * value;
  }
  CHECK_NEAR(-(w * ny - n * y) / (w * nn - n * n), tau, 1e-9);
  CHECK_NEAR(exp((y + tau * n) / w), c, 1e-9);
  CHECK(r_squared > 0.9 && r_squared < 1.0 - 1e-6);
  shares[1] = shares[2] = shares[3] = shares[4] = 0.5; /* a tail that does not fall */
  CHECK_OK(plim_tail_fit(sizes, shares, 6, 1000, &c, &tau, &r_squared));
  CHECK_NEAR(0.0, tau, 1e-12);
  CHECK_NEAR(0.5, c, 1e-9);
}

/* The recorded progress. */
typedef struct told {
  probe *p;
  size_t calls, last_stage, last_step, stop_at;
  double seconds;
} told;

static int32_t watch(void *user_data, const plim_progress *progress) {
  told *t = (told *)user_data;
  CHECK(progress->struct_size == sizeof *progress);
  CHECK(progress->num_epochs == SIZES && progress->epoch >= 1 && progress->epoch <= SIZES);
  CHECK(progress->step >= 1 && progress->step <= progress->num_steps && progress->num_steps == 100);
  CHECK(progress->epoch == t->last_stage ? progress->step > t->last_step
                                         : progress->epoch == t->last_stage + 1 && t->last_step % 100 == 0);
  CHECK(isnan(progress->train_loss) && isnan(progress->val_loss) && isnan(progress->val_accuracy));
  CHECK(progress->seconds >= t->seconds);
  t->last_stage = progress->epoch;
  t->last_step = progress->step;
  t->seconds = progress->seconds;
  return ++t->calls == t->stop_at ? 7 : 0;
}

static void progress_is_told_in_order_and_changes_nothing(void) {
  probe p = probe_setup(1, 100);
  measured silent = measure(&p), told_of;
  told t = {&p, 0, 0, 0, 0, 0.0};
  CHECK_OK(plim_probe_options_set_progress(p.options, watch, &t));
  told_of = measure(&p);
  CHECK(t.calls >= SIZES && t.last_stage == SIZES && t.last_step == 100);
  CHECK_BITS(&silent, &told_of, 1);
  CHECK_OK(plim_probe_options_set_progress(p.options, NULL, NULL));
  t.calls = 0;
  (void)measure(&p);
  CHECK(t.calls == 0);
  probe_free(&p);
}

static void a_cancelled_measurement_gives_nothing(void) {
  probe p = probe_setup(1, 100);
  for (size_t stop = 1; stop <= 3; stop++) {
    told t = {&p, 0, 0, 0, 0, 0.0};
    double shares[CELLS];
    plim_tail *tail = UNTOUCHED(plim_tail);
    t.stop_at = stop;
    CHECK_OK(plim_probe_options_set_progress(p.options, watch, &t));
    CHECK_FAILS(PLIM_ERROR_CANCELLED, "progress",
                plim_tail_new(p.estimator, p.model, p.graph, grid_sizes, SIZES, grid_deltas, DELTAS, p.options, &tail));
    CHECK(tail == UNTOUCHED(plim_tail) && t.calls == stop);
    memset(&t, 0, sizeof t);
    t.stop_at = stop;
    memset(shares, 0xff, sizeof shares);
    CHECK_FAILS(PLIM_ERROR_CANCELLED, "progress",
                plim_tail_probability(p.estimator, p.model, p.graph, grid_sizes, SIZES, grid_deltas, DELTAS, p.options,
                                      shares, CELLS));
    for (size_t i = 0; i < CELLS; i++) {
      CHECK(isnan(shares[i]));
    }
  }
  probe_free(&p);
}

/* Const calls, and those that would change what is measured. */
static int32_t meddle(void *user_data, const plim_progress *progress) {
  told *t = (told *)user_data;
  probe *p = t->p;
  static const int32_t nodes[2] = {0, 1};
  static const size_t size[1] = {3};
  float values[PROBE_PARAMETERS];
  size_t count = plim_model_num_parameters(p->model);
  double number = NAN;
  plim_model *copy = NULL;
  if (t->calls++ > 0) {
    return 0;
  }
  (void)progress;
  CHECK_OK(plim_model_predict(p->model, p->graph, nodes, 2, values, PROBE_PARAMETERS));
  CHECK_OK(plim_model_evaluate(p->model, p->graph, PLIM_SPLIT_TRAIN, &number, NULL));
  CHECK_OK(plim_model_clone(p->model, &copy));
  CHECK(plim_estimator_property(p->estimator) == PLIM_PROPERTY_CONSISTENT);
  plim_model_free(copy);
  CHECK_OK(plim_probe_options_set_progress(p->options, NULL, NULL)); /* the options are copied */
  CHECK_OK(plim_probe_options_set_draws(p->options, 5));
  CHECK_OK(plim_probe_options_set_seed(p->options, 5));
  CHECK_OK(plim_tail_probability(p->estimator, p->model, p->graph, size, 1, grid_deltas, 1, p->options, &number, 1));
  CHECK(number == 1.0);
  CHECK_OK(plim_model_get_parameters(p->model, values, PROBE_PARAMETERS));
  CHECK_STATUS(PLIM_ERROR_BUSY, plim_model_set_parameters(p->model, values, count));
  CHECK_STATUS(PLIM_ERROR_BUSY, plim_model_set_threads(p->model, 2));
  CHECK_STATUS(PLIM_ERROR_BUSY, plim_graph_normalize_features(p->graph));
  CHECK_STATUS(PLIM_ERROR_BUSY, plim_graph_set_cache(p->graph, 0));
  CHECK_STATUS(PLIM_ERROR_BUSY, plim_estimator_set_seed(p->estimator, 1));
  CHECK_STATUS(PLIM_ERROR_BUSY, plim_estimator_gradient(p->estimator, p->model, p->graph, NULL, 0, values,
                                                        PROBE_PARAMETERS, NULL));
  return 0;
}

static void const_calls_inside_work_and_others_are_busy(void) {
  probe p = probe_setup(1, 100);
  measured silent = measure(&p), meddled;
  told t = {&p, 0, 0, 0, 0, 0.0};
  CHECK_OK(plim_probe_options_set_progress(p.options, meddle, &t));
  meddled = measure(&p);
  CHECK(t.calls >= SIZES);
  CHECK_BITS(&silent, &meddled, 1);
  CHECK_OK(plim_estimator_set_seed(p.estimator, 1)); /* no longer busy */
  CHECK_OK(plim_model_set_threads(p.model, 2));
  probe_free(&p);
}

/* Frees everything that the measurement uses; the objects are destroyed when it returns. */
static int32_t free_all(void *user_data, const plim_progress *progress) {
  told *t = (told *)user_data;
  (void)progress;
  if (t->calls++ == 0) {
    probe_free(t->p);
    CHECK(plim_model_num_parameters(t->p->model) == 0);
  }
  return 0;
}

static void handles_may_be_freed_under_a_measurement(void) {
  probe p = probe_setup(1, 100);
  told t = {&p, 0, 0, 0, 0, 0.0};
  measured silent = measure(&p), last;
  CHECK_OK(plim_probe_options_set_progress(p.options, free_all, &t));
  last = measure(&p);
  CHECK_BITS(&silent, &last, 1);
}

int main(void) {
  RUN(shares_and_errors_are_those_of_a_count_by_hand);
  RUN(pinned_draws_have_a_known_error);
  RUN(a_batch_of_one_is_any_node_alike);
  RUN(the_unbiased_gradient_of_all_nodes_is_exact_and_of_few_without_bias);
  RUN(the_full_estimator_never_misses);
  RUN(the_numbers_of_a_tail_fit_each_other);
  RUN(the_deviation_falls_with_the_root_of_the_size);
  RUN(threads_and_company_do_not_change_a_bit);
  RUN(many_sizes_of_few_draws_come_to_an_end);
  RUN(the_seed_of_the_options_alone_decides);
  RUN(a_measurement_leaves_no_trace);
  RUN(no_options_are_the_defaults);
  RUN(a_fit_finds_the_tail_that_it_was_given);
  RUN(a_fit_weighs_its_points_and_leaves_out_the_extremes);
  RUN(progress_is_told_in_order_and_changes_nothing);
  RUN(a_cancelled_measurement_gives_nothing);
  RUN(const_calls_inside_work_and_others_are_busy);
  RUN(handles_may_be_freed_under_a_measurement);
  return check_close();
}
