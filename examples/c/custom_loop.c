/* A training loop of your own: batches, gradients and updates by hand, and a stopping rule. It stops when the loss on
   the validation nodes has not fallen for five epochs. */
#include "check.h"
#include <plimsoll.h>
#include <stdio.h>
#include <stdlib.h>

enum { BATCH = 256, PATIENCE = 5, MOST_EPOCHS = 200 };

static void shuffle(int32_t *nodes, size_t count) {
    for (size_t i = count; i > 1; i--) {
        const size_t j = (size_t)rand() % i;
        const int32_t node = nodes[i - 1];
        nodes[i - 1] = nodes[j];
        nodes[j] = node;
    }
}

int main(void) {
    const size_t widths[] = {2, 16, 3}, sample_sizes[] = {0, 400};
    plim_graph *graph = NULL;
    plim_model *model = NULL, *best = NULL;
    plim_estimator *estimator = NULL;
    plim_optimizer *optimizer = NULL;
    int32_t *nodes = NULL;
    float *gradient = NULL;
    double least = 1e30, accuracy = 0;
    size_t count, length;
    plim_status status;

    CHECK(plim_graph_from_mixture(2000, 1 /* seed */, &graph));
    CHECK(plim_model_gcn(widths, 3, 1 /* seed */, &model));
    CHECK(plim_estimator_consistent(sample_sizes, 2, &estimator));
    CHECK(plim_estimator_set_distribution(estimator, PLIM_DISTRIBUTION_IMPORTANCE));
    CHECK(plim_optimizer_adam(1e-2, &optimizer));

    count = plim_graph_split_size(graph, PLIM_SPLIT_TRAIN);
    length = plim_model_num_parameters(model);
    nodes = malloc(count * sizeof *nodes);
    gradient = malloc(length * sizeof *gradient);
    if (nodes == NULL || gradient == NULL) goto cleanup;
    CHECK(plim_graph_copy_split(graph, PLIM_SPLIT_TRAIN, nodes, count));

    for (int epoch = 1, since = 0; epoch <= MOST_EPOCHS && since < PATIENCE; epoch++) {
        double loss;
        shuffle(nodes, count);
        for (size_t from = 0; from < count; from += BATCH) {
            const size_t size = count - from < BATCH ? count - from : BATCH;
            CHECK(plim_estimator_gradient(estimator, model, graph, nodes + from, size, gradient, length, NULL));
            /* The gradient is a plain array: sum it over machines, log its norm. */
            CHECK(plim_optimizer_update(optimizer, model, gradient, length));
        }
        CHECK(plim_model_evaluate(model, graph, PLIM_SPLIT_VAL, &loss, &accuracy));
        since = loss < least ? 0 : since + 1;
        if (since == 0) {
            least = loss;
            plim_model_free(best);
            best = NULL;
            CHECK(plim_model_clone(model, &best));
        }
        printf("epoch %2d: validation loss %.4f, accuracy %.2f %%%s\n", epoch, loss, 100 * accuracy,
            since == 0 ? "" : "  (not better)");
    }
    CHECK(plim_model_evaluate(best, graph, PLIM_SPLIT_TEST, NULL, &accuracy));
    printf("test accuracy %.2f %%\n", 100 * accuracy);

cleanup:
    free(gradient);
    free(nodes);
    plim_optimizer_free(optimizer);
    plim_estimator_free(estimator);
    plim_model_free(best);
    plim_model_free(model);
    plim_graph_free(graph);
    return status == PLIM_OK && accuracy > 0.8 ? 0 : 1;
}
