/* Programs that are wrong, to see that a sanitizer looks into the library too: `wrong overflow`, `wrong leak`, `wrong race`. */
#include <plimsoll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static float features[8];

static plim_graph *graph_of(size_t num_nodes) {
  plim_graph *graph = NULL;
  if (plim_graph_from_edges(num_nodes, 0, NULL, NULL, NULL, &graph) != PLIM_OK) {
    exit(1);
  }
  return graph;
}

/* The library reads one label more than there are. */
static void overflow(void) {
  plim_graph *graph = graph_of(4);
  int32_t *labels = calloc(3, sizeof *labels);
  const plim_status status = plim_graph_set_labels(graph, labels);
  printf("%d\n", status);
  free(labels);
  plim_graph_free(graph);
}

/* An array that nobody frees. */
static void leak(void) {
  char *volatile lost = malloc(100);
  lost[0] = 1;
  lost = NULL;
}

static void *write_features(void *nothing) {
  for (int i = 0; i < 1000; i++) {
    ((volatile float *)features)[i % 8] = 1;
  }
  return nothing;
}

/* The caller writes to an array that a call is reading. */
static void race(void) {
  plim_graph *graph = graph_of(4);
  pthread_t thread;
  if (pthread_create(&thread, NULL, write_features, NULL) != 0) {
    exit(1);
  }
  for (int i = 0; i < 100; i++) {
    if (plim_graph_set_features(graph, 2, features) != PLIM_OK) {
      exit(1);
    }
  }
  pthread_join(thread, NULL);
  plim_graph_free(graph);
}

int main(int argc, char **argv) {
  const char *what = argc > 1 ? argv[1] : "";
  if (strcmp(what, "overflow") == 0) {
    overflow();
  } else if (strcmp(what, "leak") == 0) {
    leak();
  } else if (strcmp(what, "race") == 0) {
    race();
  }
  return 0;
}
