/* The Mixture graph: three Gaussians in the plane, every ordered pair linked with probability 1e-3 inside a component
 * and 2e-4 across, 40 % train, 20 % val, 40 % test of each. Random counts must be within five standard deviations. */
#define _POSIX_C_SOURCE 200809L

#include "sample.h"

static const double means[3][2] = {{-0.5, 0.0}, {0.5, 0.0}, {0.0, 0.866}};
static const double deviations[3] = {0.75, 0.5, 0.25};

static plim_graph *mixture(size_t nodes_per_class, uint64_t seed) {
  plim_graph *graph = NULL;
  CHECK_OK(plim_graph_from_mixture(nodes_per_class, seed, &graph));
  return graph;
}

/* The probability that at least one of (u, v) and (v, u) is linked. */
static double either(double p) {
  return 1.0 - (1.0 - p) * (1.0 - p);
}

static void check_binomial(double trials, double p, double count) {
  CHECK_NEAR(trials * p, count, 5.0 * sqrt(trials * p * (1.0 - p)));
}

static void the_paper_s_graph_has_its_shape(void) {
  plim_graph *graph = mixture(2000, 0);
  double inside = 3.0 * 2000.0 * 1999.0 / 2.0, across = 3.0 * 2000.0 * 2000.0;
  double expected = inside * either(1e-3) + across * either(2e-4); /* 16,787; the paper's own draw has 16,709 */
  CHECK(plim_graph_num_nodes(graph) == 6000);
  CHECK(plim_graph_num_features(graph) == 2);
  CHECK(plim_graph_num_classes(graph) == 3);
  CHECK_NEAR(expected, (double)plim_graph_num_edges(graph), 5.0 * sqrt(expected));
  CHECK(plim_graph_split_size(graph, PLIM_SPLIT_TRAIN) == 2400);
  CHECK(plim_graph_split_size(graph, PLIM_SPLIT_VAL) == 1200);
  CHECK(plim_graph_split_size(graph, PLIM_SPLIT_TEST) == 2400);
  plim_graph_free(graph);
}

static void each_class_gives_every_split_its_share_once(void) {
  static const size_t share[3] = {800, 400, 800};
  plim_graph *graph = mixture(2000, 5);
  int32_t labels[6000], nodes[2400];
  char seen[6000] = {0};
  size_t count[3][3] = {{0}}, twice = 0, of_class[3] = {0};
  memset(labels, -1, sizeof labels);
  CHECK_OK(plim_graph_copy_labels(graph, labels, 6000));
  for (size_t v = 0; v < 6000; v++) {
    if (CHECK(labels[v] >= 0 && labels[v] < 3)) {
      of_class[labels[v]]++;
    }
  }
  for (int32_t split = 0; split < 3; split++) {
    memset(nodes, 0, sizeof nodes);
    CHECK_OK(plim_graph_copy_split(graph, split, nodes, 2400));
    for (size_t i = 0; i < plim_graph_split_size(graph, split); i++) {
      twice += (size_t)seen[nodes[i]];
      seen[nodes[i]] = 1;
      count[split][labels[nodes[i]]]++;
    }
  }
  CHECK(twice == 0);
  for (size_t c = 0; c < 3; c++) {
    CHECK(of_class[c] == 2000);
    for (size_t split = 0; split < 3; split++) {
      CHECK(count[split][c] == share[split]);
    }
  }
  plim_graph_free(graph);
}

static void links_are_denser_inside_a_class_than_across(void) {
  plim_graph *graph = mixture(2000, 9);
  plim_model *model = identity_model(3);
  int32_t *labels = (int32_t *)check_alloc(6000, sizeof *labels);
  float *classes = (float *)check_alloc(6000 * 3, sizeof *classes);
  float *counts = (float *)check_alloc(6000 * 3, sizeof *counts);
  double links[3][3] = {{0.0}}, all = 0.0;
  CHECK_OK(plim_graph_copy_labels(graph, labels, 6000));
  for (size_t v = 0; v < 6000; v++) {
    classes[3 * v + (size_t)labels[v]] = 1.0f;
  }
  CHECK_OK(plim_graph_set_features(graph, 3, classes)); /* AX then counts each node's neighbours by class */
  CHECK_OK(plim_graph_set_normalization(graph, PLIM_NORMALIZATION_NONE));
  CHECK_OK(plim_model_embed(model, graph, NULL, 0, 0, counts, 6000 * 3));
  for (size_t v = 0; v < 6000; v++) {
    for (size_t c = 0; c < 3; c++) {
      links[labels[v]][c] += (double)counts[3 * v + c];
      all += (double)counts[3 * v + c];
    }
  }
  CHECK(all == 2.0 * (double)plim_graph_num_edges(graph)); /* no self-loop, and every edge on both sides */
  for (size_t a = 0; a < 3; a++) {
    check_binomial(2000.0 * 1999.0 / 2.0, either(1e-3), links[a][a] / 2.0);
    for (size_t b = a + 1; b < 3; b++) {
      CHECK(links[a][b] == links[b][a]);
      check_binomial(2000.0 * 2000.0, either(2e-4), links[a][b]);
    }
  }
  free(counts);
  free(classes);
  free(labels);
  plim_model_free(model);
  plim_graph_free(graph);
}

static void points_have_the_mean_and_the_deviation_of_their_class(void) {
  enum { PER_CLASS = 10, NODES = 3 * PER_CLASS };
  double sum[3][2] = {{0.0}}, squares[3][2] = {{0.0}}, count = 0.0;
  plim_model *model = identity_model(2);
  size_t seeds = check_scale(1000, 100);
  for (size_t seed = 0; seed < seeds; seed++) {
    plim_graph *graph = mixture(PER_CLASS, seed);
    int32_t labels[NODES];
    float x[NODES * 2];
    if (plim_graph_num_edges(graph) == 0) { /* two thirds of such small graphs: there ÂX is X */
      CHECK_OK(plim_graph_copy_labels(graph, labels, NODES));
      CHECK_OK(plim_model_embed(model, graph, NULL, 0, 0, x, NODES * 2));
      count += PER_CLASS;
      for (size_t i = 0; i < NODES * 2; i++) {
        double from_mean = (double)x[i] - means[labels[i / 2]][i % 2];
        sum[labels[i / 2]][i % 2] += from_mean;
        squares[labels[i / 2]][i % 2] += from_mean * from_mean;
      }
    }
    plim_graph_free(graph);
  }
  CHECK(count > (double)(seeds * PER_CLASS) / 3.0);
  for (size_t c = 0; c < 3; c++) {
    double variance = deviations[c] * deviations[c];
    for (size_t i = 0; i < 2; i++) {
      CHECK_NEAR(0.0, sum[c][i] / count, 5.0 * deviations[c] / sqrt(count));
      CHECK_NEAR(variance, squares[c][i] / count, 5.0 * variance * sqrt(2.0 / count));
    }
  }
  plim_model_free(model);
}

static void the_same_seed_gives_the_same_graph_and_another_seed_another(void) {
  enum { PER_CLASS = 500, NODES = 3 * PER_CLASS };
  static const uint64_t seeds[3] = {7, 7, UINT64_MAX};
  plim_graph *graphs[3] = {NULL, NULL, NULL};
  plim_model *model = identity_model(2);
  float rows[3][NODES * 2];
  int32_t labels[3][NODES], train[3][NODES];
  memset(train, 0, sizeof train);
  for (size_t i = 0; i < 3; i++) {
    graphs[i] = mixture(PER_CLASS, seeds[i]);
    CHECK_OK(plim_model_embed(model, graphs[i], NULL, 0, 0, rows[i], NODES * 2));
    CHECK_OK(plim_graph_copy_labels(graphs[i], labels[i], NODES));
    CHECK_OK(plim_graph_copy_split(graphs[i], PLIM_SPLIT_TRAIN, train[i], NODES));
  }
  CHECK(plim_graph_num_edges(graphs[0]) == plim_graph_num_edges(graphs[1]));
  CHECK_BITS(rows[0], rows[1], NODES * 2);
  CHECK_BITS(labels[0], labels[1], NODES);
  CHECK_BITS(train[0], train[1], NODES);
  CHECK(memcmp(rows[0], rows[2], sizeof rows[0]) != 0);
  for (size_t i = 0; i < 3; i++) {
    plim_graph_free(graphs[i]);
  }
  plim_model_free(model);
}

static void any_size_keeps_the_shares(void) {
  static const size_t sizes[] = {5, 10, 50, 1000};
  for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
    plim_graph *graph = mixture(sizes[i], i);
    CHECK(plim_graph_num_nodes(graph) == 3 * sizes[i]);
    CHECK(plim_graph_num_classes(graph) == 3);
    CHECK(plim_graph_split_size(graph, PLIM_SPLIT_TRAIN) == 3 * sizes[i] * 2 / 5);
    CHECK(plim_graph_split_size(graph, PLIM_SPLIT_VAL) == 3 * sizes[i] / 5);
    CHECK(plim_graph_split_size(graph, PLIM_SPLIT_TEST) == 3 * sizes[i] * 2 / 5);
    plim_graph_free(graph);
  }
}

int main(void) {
  RUN(the_paper_s_graph_has_its_shape);
  RUN(each_class_gives_every_split_its_share_once);
  RUN(links_are_denser_inside_a_class_than_across);
  RUN(points_have_the_mean_and_the_deviation_of_their_class);
  RUN(the_same_seed_gives_the_same_graph_and_another_seed_another);
  RUN(any_size_keeps_the_shares);
  return check_close();
}
