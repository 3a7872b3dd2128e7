/* A graph of your own, from arrays: gradients by three estimators, predictions, save and load.
   `make example` compiles and runs it. */
#include <math.h>
#include <plimsoll.h>
#include <stdio.h>
#include <string.h>

/* Says what went wrong and leaves. The functions that free take NULL, so `cleanup` serves every exit. */
#define CHECK(call)                                                                                \
    do {                                                                                           \
        status = (call);                                                                           \
        if (status != PLIM_OK) {                                                                   \
            fprintf(stderr, "%s\n%s: %s\n", #call, plim_status_name(status), plim_last_error());   \
            goto cleanup;                                                                          \
        }                                                                                          \
    } while (0)

enum { NODES = 8, EDGES = 13, FEATURES = 3, HIDDEN = 4, CLASSES = 2 };
enum { PARAMETERS = FEATURES * HIDDEN + HIDDEN * CLASSES };

/* Two groups of four friends, {0,1,2,3} and {4,5,6,7}, who know each other through 3 and 4. */
static const int32_t sources[EDGES] = {0, 0, 0, 1, 1, 2, 3, 4, 4, 4, 5, 5, 6};
static const int32_t targets[EDGES] = {1, 2, 3, 2, 3, 3, 4, 5, 6, 7, 6, 7, 7};
static const float features[NODES * FEATURES] = {
    1, 0, .5f, 1, 0, 0, 1, 0, .2f, 0, 0, 1, 0, 0, 1, 0, 1, .3f, 0, 1, 0, 0, 1, .4f,
};
static const int32_t labels[NODES] = {0, 0, -1, 0, 1, -1, 1, 1}; /* -1: unlabelled */
static const int32_t train[] = {0, 3, 4, 7};

int main(int argc, char **argv) {
    const char *path = argc > 1 ? argv[1] : "own_graph.safetensors";
    const char *names[] = {"full", "unbiased", "consistent"};
    const size_t widths[] = {FEATURES, HIDDEN, CLASSES};
    const size_t sample_sizes[] = {0, 4}; /* the first layer's input exactly, four nodes of the second's */
    const int32_t batch[] = {0, 7};
    float gradient[PARAMETERS], before[NODES * CLASSES], after[NODES * CLASSES];
    plim_graph *graph = NULL;
    plim_model *model = NULL, *loaded = NULL;
    plim_estimator *estimators[3] = {NULL, NULL, NULL};
    plim_status status;
    int i, same = 0;

    CHECK(plim_graph_from_edges(NODES, EDGES, sources, targets, NULL, &graph));
    CHECK(plim_graph_set_features(graph, FEATURES, features));
    CHECK(plim_graph_set_labels(graph, labels));
    CHECK(plim_graph_set_split(graph, PLIM_SPLIT_TRAIN, train, sizeof train / sizeof *train));
    CHECK(plim_model_gcn(widths, 3, 1 /* seed */, &model));

    CHECK(plim_estimator_full(&estimators[0]));
    CHECK(plim_estimator_unbiased(&estimators[1]));
    CHECK(plim_estimator_consistent(sample_sizes, 2, &estimators[2]));
    for (i = 0; i < 3; i++) {
        double loss, squares = 0;
        int k;
        /* The full estimator takes all training nodes; the others take a batch of them. */
        CHECK(plim_estimator_gradient(estimators[i], model, graph, i == 0 ? NULL : batch,
            i == 0 ? 0 : 2, gradient, PARAMETERS, &loss));
        for (k = 0; k < PARAMETERS; k++) squares += (double)gradient[k] * gradient[k];
        printf("%-10s  loss %.4f  gradient norm %.4f\n", names[i], loss, sqrt(squares));
    }

    CHECK(plim_model_predict(model, graph, NULL, 0, before, NODES * CLASSES));
    for (i = 0; i < NODES; i++)
        printf("node %d: %.3f %.3f\n", i, before[CLASSES * i], before[CLASSES * i + 1]);

    CHECK(plim_model_save(model, path));
    CHECK(plim_model_load(path, &loaded));
    CHECK(plim_model_predict(loaded, graph, NULL, 0, after, NODES * CLASSES));
    same = memcmp(before, after, sizeof before) == 0;
    printf("the loaded model predicts %s\n", same ? "the same" : "something else");
    remove(path);

cleanup:
    for (i = 0; i < 3; i++) plim_estimator_free(estimators[i]);
    plim_model_free(loaded);
    plim_model_free(model);
    plim_graph_free(graph);
    return status == PLIM_OK && same ? 0 : 1;
}
