/* Shared by the tests of measurements: a Mixture graph, a model with its estimator, options, and norms. */
#ifndef PLIM_TESTS_PROBING_H
#define PLIM_TESTS_PROBING_H

#include "check.h"

enum { PROBE_PARAMETERS = 64 };

typedef struct probe {
  plim_graph *graph;
  plim_model *model;
  plim_estimator *estimator;
  plim_probe_options *options;
} probe;

/* 2 → 3 or 2 → 4 → 3 on 120 nodes, 10 nodes drawn at each sampled input; of two layers the first is exact. */
static inline probe probe_setup(size_t num_layers, size_t draws) {
  static const size_t widths[2][3] = {{2, 3, 0}, {2, 4, 3}}, sizes[2][2] = {{10, 0}, {0, 10}};
  probe p = {NULL, NULL, NULL, NULL};
  CHECK_OK(plim_graph_from_mixture(40, 3, &p.graph));
  CHECK_OK(plim_model_gcn(widths[num_layers - 1], num_layers + 1, 5, &p.model));
  CHECK_OK(plim_estimator_consistent(sizes[num_layers - 1], num_layers, &p.estimator));
  CHECK_OK(plim_probe_options_new(&p.options));
  CHECK_OK(plim_probe_options_set_draws(p.options, draws));
  return p;
}

static inline void probe_free(probe *p) {
  plim_probe_options_free(p->options);
  plim_estimator_free(p->estimator);
  plim_model_free(p->model);
  plim_graph_free(p->graph);
}

/* ‖g - h‖; NULL for h is 0. */
static inline double probe_distance(const float *g, const float *h, size_t count) {
  double sum = 0.0;
  for (size_t i = 0; i < count; i++) {
    double difference = (double)g[i] - (h != NULL ? (double)h[i] : 0.0);
    sum += difference * difference;
  }
  return sqrt(sum);
}

/* Computes the exact gradient of a batch, or of all training nodes for NULL, and returns its norm. */
static inline double probe_exact(const probe *p, const int32_t *batch, size_t count, float *gradient) {
  plim_estimator *exact = NULL;
  CHECK_OK(plim_estimator_unbiased(&exact));
  CHECK_OK(plim_estimator_gradient(exact, p->model, p->graph, batch, count, gradient, PROBE_PARAMETERS, NULL));
  plim_estimator_free(exact);
  return probe_distance(gradient, NULL, plim_model_num_parameters(p->model));
}

#endif
