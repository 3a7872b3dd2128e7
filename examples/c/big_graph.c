/* Trains on a graph that is mapped from a store and may be larger than memory. Sampled gradients read only what they
 * draw.
 *
 *     big_graph [STORE [EPOCHS]]
 *
 * Without an argument, it writes a store of the Mixture graph to the working directory and keeps it. */
#include <plimsoll.h>

#include <stdio.h>
#include <stdlib.h>

#define TRY(call) \
  do { \
    if ((call) != PLIM_OK) { \
      fprintf(stderr, "%s\n", plim_last_error()); \
      exit(1); \
    } \
  } while (0)

static const char *make_store(void) {
  static const char *const name = "mixture.store";
  plim_graph *graph = NULL;
  FILE *meta = fopen("mixture.store/meta.json", "r");
  if (meta != NULL) { /* written by an earlier run */
    fclose(meta);
    return name;
  }
  TRY(plim_graph_from_mixture(2000, 0, &graph));
  TRY(plim_graph_save_store(graph, name));
  plim_graph_free(graph);
  return name;
}

/* Returns the kilobytes that /proc/self/status lists under a name, or -1 if there is no such file. */
static long status_kb(const char *name) {
  char line[256];
  long value = -1;
  FILE *file = fopen("/proc/self/status", "r");
  while (file != NULL && fgets(line, sizeof line, file) != NULL) {
    char key[64];
    long found;
    if (sscanf(line, "%63[^:]: %ld", key, &found) == 2) {
      const char *a = key, *b = name;
      while (*a != '\0' && *a == *b) {
        a++, b++;
      }
      value = *a == *b ? found : value;
    }
  }
  if (file != NULL) {
    fclose(file);
  }
  return value;
}

int main(int argc, char **argv) {
  static const size_t sizes[2] = {256, 256};
  size_t widths[3] = {0, 16, 0};
  plim_graph *graph = NULL;
  plim_model *model = NULL;
  plim_estimator *estimator = NULL;
  plim_optimizer *adam = NULL;
  plim_train_options *options = NULL;
  double accuracy = 0.0;

  TRY(plim_graph_load(argc > 1 ? argv[1] : make_store(), &graph));
  widths[0] = plim_graph_num_features(graph);
  widths[2] = plim_graph_num_classes(graph);
  printf("%zu nodes, %zu edges, %zu features\n", plim_graph_num_nodes(graph), plim_graph_num_edges(graph), widths[0]);

  TRY(plim_model_gcn(widths, 3, 0, &model));
  /* A prediction for all nodes may hold 1 GiB of hidden layers in memory, and the rest in files in this directory. */
  TRY(plim_model_set_scratch(model, ".", (size_t)1 << 30));
  TRY(plim_estimator_consistent(sizes, 2, &estimator));
  /* Draw among the neighbours of the batch: uniform draws from a big graph hardly ever hit one. */
  TRY(plim_estimator_set_distribution(estimator, PLIM_DISTRIBUTION_LADIES));
  TRY(plim_optimizer_adam(0.01, &adam));
  TRY(plim_train_options_new(&options));
  TRY(plim_train_options_set_epochs(options, argc > 2 ? (size_t)strtoul(argv[2], NULL, 10) : 20));
  /* Evaluation is exact and reads all neighbours of the split, so evaluate only once, at the end. */
  TRY(plim_train_options_set_evaluate_every(options, 0));
  TRY(plim_train(model, graph, estimator, adam, options, NULL));
  printf("own memory after training: %ld kB\n", status_kb("RssAnon"));

  TRY(plim_model_evaluate(model, graph, PLIM_SPLIT_TEST, NULL, &accuracy));
  printf("test accuracy %.3f\n", accuracy);

  plim_train_options_free(options);
  plim_optimizer_free(adam);
  plim_estimator_free(estimator);
  plim_model_free(model);
  plim_graph_free(graph);
  return accuracy > 0.7 ? 0 : 1;
}
