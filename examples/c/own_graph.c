/* Makes a graph from arrays, then trains, predicts, saves and loads. */
#include "check.h"
#include <plimsoll.h>
#include <stdio.h>
#include <string.h>

enum { NODES = 8, EDGES = 13, FEATURES = 3, HIDDEN = 4, CLASSES = 2 };

/* Two groups of four friends, {0, 1, 2, 3} and {4, 5, 6, 7}, linked by the edge from 3 to 4. */
static const int32_t sources[EDGES] = {0, 0, 0, 1, 1, 2, 3, 4, 4, 4, 5, 5, 6};
static const int32_t targets[EDGES] = {1, 2, 3, 2, 3, 3, 4, 5, 6, 7, 6, 7, 7};
static const float features[NODES * FEATURES] = {
    1, 0, .5f, 1, 0, 0, 1, 0, .2f, 0, 0, 1, 0, 0, 1, 0, 1, .3f, 0, 1, 0, 0, 1, .4f,
};
static const int32_t labels[NODES] = {0, -1, -1, 0, 1, -1, -1, 1}; /* -1: not known */
static const int32_t train[] = {0, 3, 4, 7};

int main(int argc, char **argv) {
    const char *path = argc > 1 ? argv[1] : "own_graph.safetensors";
    const size_t widths[] = {FEATURES, HIDDEN, CLASSES};
    float before[NODES * CLASSES], after[NODES * CLASSES];
    double loss, accuracy;
    plim_graph *graph = NULL;
    plim_model *model = NULL, *loaded = NULL;
    plim_estimator *estimator = NULL;
    plim_optimizer *optimizer = NULL;
    plim_status status;
    int i, right = 0, same = 0;

    /* The arrays are copied. */
    CHECK(plim_graph_from_edges(NODES, EDGES, sources, targets, NULL, &graph));
    CHECK(plim_graph_set_features(graph, FEATURES, features));
    CHECK(plim_graph_set_labels(graph, labels));
    CHECK(plim_graph_set_split(graph, PLIM_SPLIT_TRAIN, train, sizeof train / sizeof *train));

    CHECK(plim_model_gcn(widths, 3, 1 /* seed */, &model));
    CHECK(plim_estimator_full(&estimator));
    CHECK(plim_optimizer_adam(0.01, &optimizer));
    CHECK(plim_train(model, graph, estimator, optimizer, NULL /* defaults: 100 epochs */, NULL /* no history */));
    CHECK(plim_model_evaluate(model, graph, PLIM_SPLIT_TRAIN, &loss, &accuracy));
    printf("training nodes: loss %.4f, accuracy %.0f %%\n", loss, 100 * accuracy);

    CHECK(plim_model_predict(model, graph, NULL, 0 /* all nodes */, before, NODES * CLASSES));
    for (i = 0; i < NODES; i++) {
        const float *p = before + CLASSES * i;
        printf("node %d is in the %s group, %.1f %% sure\n", i, p[0] > p[1] ? "first" : "second",
            100.0 * (p[0] > p[1] ? p[0] : p[1]));
        right += (p[0] > p[1]) == (i < 4);
    }

    CHECK(plim_model_save(model, path));
    CHECK(plim_model_load(path, &loaded));
    CHECK(plim_model_predict(loaded, graph, NULL, 0, after, NODES * CLASSES));
    same = memcmp(before, after, sizeof before) == 0;
    printf("the loaded model predicts %s\n", same ? "the same" : "something else");
    remove(path);

cleanup:
    plim_optimizer_free(optimizer);
    plim_estimator_free(estimator);
    plim_model_free(loaded);
    plim_model_free(model);
    plim_graph_free(graph);
    return status == PLIM_OK && right == NODES && same ? 0 : 1;
}
