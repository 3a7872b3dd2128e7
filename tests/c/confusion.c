/* The confusion matrix and its macro-F1: by hand, against predictions, and with invalid arguments. */
#include "sample.h"

enum { MOST = 5 };

/* Nodes without edges and a model whose logits are their features: node v is predicted as class guesses[v]. */
static plim_graph *guessing_graph(const int32_t *labels, const int32_t *guesses, size_t count, size_t classes) {
  plim_graph *graph = NULL;
  float *features = (float *)check_alloc(count * classes, sizeof *features);
  int32_t *nodes = (int32_t *)check_alloc(count, sizeof *nodes);
  for (size_t v = 0; v < count; v++) {
    features[v * classes + (size_t)guesses[v]] = 1.0f;
    nodes[v] = (int32_t)v;
  }
  CHECK_OK(plim_graph_from_edges(count, 0, NULL, NULL, NULL, &graph));
  CHECK_OK(plim_graph_set_features(graph, classes, features));
  CHECK_OK(plim_graph_set_labels(graph, labels));
  CHECK_OK(plim_graph_set_split(graph, PLIM_SPLIT_TEST, nodes, count));
  free(nodes);
  free(features);
  return graph;
}

/* Labels and guesses of a few nodes, with their matrix and macro-F1. */
typedef struct example {
  size_t classes, count;
  int32_t labels[8], guesses[8];
  size_t matrix[MOST * MOST];
  double macro_f1;
} example;

static const example examples[] = {
    /* All right, some right, none right. */
    {3, 3, {0, 1, 2}, {0, 1, 2}, {1, 0, 0, 0, 1, 0, 0, 0, 1}, 1.0},
    {2, 4, {0, 0, 1, 1}, {0, 1, 1, 1}, {1, 1, 0, 2}, (2.0 / 3.0 + 4.0 / 5.0) / 2.0},
    {2, 2, {0, 1}, {1, 0}, {0, 1, 1, 0}, 0.0},
    /* Class 1 is never predicted: it counts as 0. */
    {2, 4, {0, 0, 0, 1}, {0, 0, 0, 0}, {3, 0, 1, 0}, (6.0 / 7.0 + 0.0) / 2.0},
    /* Class 2 is predicted but is no label: it counts as 0. */
    {3, 3, {0, 1, 1}, {0, 1, 2}, {1, 0, 0, 0, 1, 1, 0, 0, 0}, (1.0 + 2.0 / 3.0 + 0.0) / 3.0},
    /* Classes 0 and 3 are neither, so they are left out. The model has more outputs than there are classes. */
    {4, 3, {1, 2, 2}, {1, 2, 1}, {0, 0, 0, 0, 0, 1, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0}, (2.0 / 3.0 + 2.0 / 3.0) / 2.0},
    {5, 1, {0}, {0}, {1}, 1.0},
    {1, 2, {0, 0}, {0, 0}, {2}, 1.0},
};

static void matrices_and_scores_are_those_counted_by_hand(void) {
  for (size_t i = 0; i < sizeof examples / sizeof examples[0]; i++) {
    const example *e = &examples[i];
    size_t matrix[MOST * MOST], cells = e->classes * e->classes, hits = 0;
    plim_graph *graph = guessing_graph(e->labels, e->guesses, e->count, e->classes);
    plim_model *model = identity_model(e->classes);
    double macro_f1 = NAN, accuracy = NAN;
    memset(matrix, 0x55, sizeof matrix);
    CHECK_OK(plim_model_confusion(model, graph, PLIM_SPLIT_TEST, matrix, cells));
    if (!CHECK_BITS(e->matrix, matrix, cells)) {
      fprintf(stderr, "  example %zu\n", i);
    }
    for (size_t k = cells; k < MOST * MOST; k++) {
      CHECK(matrix[k] == (size_t)0x5555555555555555); /* unchanged */
    }
    CHECK_OK(plim_confusion_macro_f1(matrix, e->classes, &macro_f1));
    CHECK_NEAR(e->macro_f1, macro_f1, 1e-15);
    for (size_t c = 0; c < e->classes; c++) {
      hits += matrix[c * e->classes + c];
    }
    CHECK_OK(plim_model_evaluate(model, graph, PLIM_SPLIT_TEST, NULL, &accuracy));
    CHECK(accuracy == (double)hits / (double)e->count);
    plim_model_free(model);
    plim_graph_free(graph);
  }
}

static void of_equal_logits_the_first_is_the_prediction(void) {
  static const int32_t labels[2] = {0, 2}, nodes[2] = {0, 1};
  static const float same[6] = {1.0f, 1.0f, 1.0f, -1.0f, 3.0f, 3.0f};
  size_t matrix[9];
  plim_graph *graph = NULL;
  plim_model *model = identity_model(3);
  CHECK_OK(plim_graph_from_edges(2, 0, NULL, NULL, NULL, &graph));
  CHECK_OK(plim_graph_set_features(graph, 3, same));
  CHECK_OK(plim_graph_set_labels(graph, labels));
  CHECK_OK(plim_graph_set_split(graph, PLIM_SPLIT_VAL, nodes, 2));
  CHECK_OK(plim_model_confusion(model, graph, PLIM_SPLIT_VAL, matrix, 9));
  CHECK(matrix[0] == 1 && matrix[2 * 3 + 1] == 1 && matrix[2 * 3 + 2] == 0);
  plim_model_free(model);
  plim_graph_free(graph);
}

/* On a Mixture graph: every split, 1 and 2 threads, a model with one output per class and a wider one. */
static void it_counts_what_predict_says(void) {
  for (size_t width = 3; width <= 5; width += 2) {
    size_t widths[3] = {2, 8, 0}, count, matrix[25], expected[25];
    plim_graph *graph = NULL;
    plim_model *model = NULL;
    float *rows;
    int32_t *labels, *nodes;
    widths[2] = width;
    CHECK_OK(plim_graph_from_mixture(check_scale(300, 60), 5, &graph));
    CHECK_OK(plim_model_gcn(widths, 3, 2, &model));
    count = plim_graph_num_nodes(graph);
    rows = (float *)check_alloc(count * width, sizeof *rows);
    labels = (int32_t *)check_alloc(count, sizeof *labels);
    nodes = (int32_t *)check_alloc(count, sizeof *nodes);
    CHECK_OK(plim_model_predict(model, graph, NULL, 0, rows, count * width));
    CHECK_OK(plim_graph_copy_labels(graph, labels, count));
    for (int32_t split = PLIM_SPLIT_TRAIN; split <= PLIM_SPLIT_TEST; split++) {
      size_t size = plim_graph_split_size(graph, split), total = 0, predicted = 0;
      memset(expected, 0, sizeof expected);
      CHECK_OK(plim_graph_copy_split(graph, split, nodes, count));
      for (size_t i = 0; i < size; i++) {
        const float *row = &rows[(size_t)nodes[i] * width];
        size_t best = 0;
        for (size_t j = 1; j < width; j++) {
          best = row[j] > row[best] ? j : best;
        }
        expected[(size_t)labels[nodes[i]] * width + best]++;
      }
      for (size_t threads = 1; threads <= 2; threads++) {
        CHECK_OK(plim_model_set_threads(model, threads));
        memset(matrix, 0x55, sizeof matrix);
        CHECK_OK(plim_model_confusion(model, graph, split, matrix, 25)); /* a larger buffer is valid */
        CHECK_BITS(expected, matrix, width * width);
      }
      for (size_t k = 0; k < width * width; k++) {
        total += matrix[k];
        predicted += matrix[k] > 0;
      }
      CHECK(total == size && predicted >= 3);
    }
    free(nodes);
    free(labels);
    free(rows);
    plim_model_free(model);
    plim_graph_free(graph);
  }
}

static void matrices_may_be_added_up(void) {
  static const size_t one[4] = {3, 1, 0, 0}, other[4] = {0, 0, 2, 4};
  size_t sum[4];
  double macro_f1 = NAN;
  for (size_t k = 0; k < 4; k++) {
    sum[k] = one[k] + other[k];
  }
  CHECK_OK(plim_confusion_macro_f1(sum, 2, &macro_f1));
  CHECK_NEAR((6.0 / 9.0 + 8.0 / 11.0) / 2.0, macro_f1, 1e-15);
  for (size_t k = 0; k < 4; k++) {
    sum[k] = SIZE_MAX; /* the largest count */
  }
  CHECK_OK(plim_confusion_macro_f1(sum, 2, &macro_f1));
  CHECK_NEAR(0.5, macro_f1, 1e-15);
}

static int untouched(const size_t *matrix) {
  return matrix[0] == 77 && matrix[8] == 77;
}

static void bad_arguments_are_refused(void) {
  static const int32_t strangers[] = {-1, 3, INT32_MAX, INT32_MIN}, unlabelled[2] = {1, 10};
  static const int32_t more[SAMPLE_NODES] = {0, 1, 2, 3, 0, 0, 0, 0, 0, 0, 0, 0};
  static const size_t zeros[9] = {0}, sizes[] = {0, SIZE_MAX, (size_t)1 << 32, (size_t)1 << 31};
  size_t matrix[9] = {77, 77, 77, 77, 77, 77, 77, 77, 77};
  plim_graph *graph = sample_graph();
  plim_model *model = sample_model(2), *wild = sample_model(2);
  float huge[32];
  double out = NAN;
  for (size_t i = 0; i < 4; i++) {
    CHECK_FAILS(PLIM_ERROR_INVALID_ARGUMENT, "split = ", plim_model_confusion(model, graph, strangers[i], matrix, 9));
  }
  CHECK_FAILS(PLIM_ERROR_NULL_POINTER, "model", plim_model_confusion(NULL, graph, 0, matrix, 9));
  CHECK_FAILS(PLIM_ERROR_NULL_POINTER, "graph", plim_model_confusion(model, NULL, 0, matrix, 9));
  CHECK_FAILS(PLIM_ERROR_NULL_POINTER, "matrix", plim_model_confusion(model, graph, 0, NULL, 9));
  CHECK_FAILS(PLIM_ERROR_BUFFER_TOO_SMALL, "9 are needed", plim_model_confusion(model, graph, 0, matrix, 8));
  CHECK_FAILS(PLIM_ERROR_BUFFER_TOO_SMALL, "9 are needed", plim_model_confusion(model, graph, 0, matrix, 0));
  CHECK_OK(plim_graph_set_split(graph, PLIM_SPLIT_VAL, NULL, 0));
  CHECK_FAILS(PLIM_ERROR_MISSING_DATA, "val", plim_model_confusion(model, graph, PLIM_SPLIT_VAL, matrix, 9));
  CHECK_OK(plim_graph_set_split(graph, PLIM_SPLIT_VAL, unlabelled, 2));
  CHECK_FAILS(PLIM_ERROR_MISSING_DATA, "10", plim_model_confusion(model, graph, PLIM_SPLIT_VAL, matrix, 9));
  for (size_t i = 0; i < 32; i++) {
    huge[i] = i % 2 ? 3e38f : -3e38f;
  }
  CHECK_OK(plim_model_set_parameters(wild, huge, 32));
  CHECK_STATUS(PLIM_ERROR_DIVERGED, plim_model_confusion(wild, graph, PLIM_SPLIT_TRAIN, matrix, 9));
  CHECK_OK(plim_graph_set_labels(graph, more)); /* a fourth class */
  CHECK_FAILS(PLIM_ERROR_SHAPE_MISMATCH, "4", plim_model_confusion(model, graph, PLIM_SPLIT_TEST, matrix, 9));
  CHECK(untouched(matrix));
  CHECK_FAILS(PLIM_ERROR_NULL_POINTER, "confusion", plim_confusion_macro_f1(NULL, 3, &out));
  CHECK_FAILS(PLIM_ERROR_NULL_POINTER, "out", plim_confusion_macro_f1(matrix, 3, NULL));
  CHECK_FAILS(PLIM_ERROR_INVALID_ARGUMENT, "no node", plim_confusion_macro_f1(zeros, 3, &out));
  for (size_t i = 0; i < 4; i++) {
    CHECK_FAILS(PLIM_ERROR_INVALID_ARGUMENT, "num_classes", plim_confusion_macro_f1(matrix, sizes[i], &out));
  }
  CHECK(isnan(out));
  plim_model_free(wild);
  plim_model_free(model);
  plim_graph_free(graph);
}

int main(void) {
  RUN(matrices_and_scores_are_those_counted_by_hand);
  RUN(of_equal_logits_the_first_is_the_prediction);
  RUN(it_counts_what_predict_says);
  RUN(matrices_may_be_added_up);
  RUN(bad_arguments_are_refused);
  return check_close();
}
