/* What graphs keep in files of any format. */
#ifndef PLIM_TESTS_SAVED_H
#define PLIM_TESTS_SAVED_H

#include "files.h"
#include "sample.h"

/* A stated number of classes is part of the file: it comes back, and labels are checked against it again. */
static inline void check_stated_classes(plim_status (*save)(const plim_graph *graph, const char *path), const char *name,
                                        void (*clear)(const char *name)) {
  static const size_t stated[] = {7, SAMPLE_CLASSES, 0, 100000};
  int32_t labels[SAMPLE_NODES];
  for (size_t i = 0; i < sizeof stated / sizeof stated[0]; i++) {
    size_t expected = stated[i] > 0 ? stated[i] : SAMPLE_CLASSES;
    plim_graph *graph = sample_graph(), *loaded = NULL;
    memcpy(labels, sample_labels, sizeof labels);
    CHECK_OK(plim_graph_set_num_classes(graph, stated[i]));
    labels[1] = stated[i] == 100000 ? 99999 : labels[1]; /* more than labels alone may make */
    CHECK_OK(plim_graph_set_labels(graph, labels));
    CHECK_OK(save(graph, files_path(name)));
    CHECK_OK(plim_graph_load(files_path(name), &loaded));
    clear(name);
    CHECK(plim_graph_num_classes(loaded) == expected);
    labels[0] = (int32_t)expected;
    CHECK_STATUS(stated[i] > 0 ? PLIM_ERROR_INVALID_ARGUMENT : PLIM_OK, plim_graph_set_labels(loaded, labels));
    CHECK(plim_graph_num_classes(loaded) == expected + (stated[i] == 0));
    plim_graph_free(loaded);
    plim_graph_free(graph);
  }
  for (size_t i = 0; i < 2; i++) { /* without labels */
    plim_graph *graph = NULL, *loaded = NULL;
    CHECK_OK(plim_graph_from_edges(2, 0, NULL, NULL, NULL, &graph));
    CHECK_OK(plim_graph_set_num_classes(graph, 3 * i));
    CHECK_OK(save(graph, files_path(name)));
    CHECK_OK(plim_graph_load(files_path(name), &loaded));
    clear(name);
    CHECK(plim_graph_num_classes(loaded) == 3 * i);
    plim_graph_free(loaded);
    plim_graph_free(graph);
  }
}

#endif
