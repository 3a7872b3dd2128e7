/* Builds GraphSAGE with dropout from layers, trains it on the built-in Mixture graph with a few sampled nodes per hop, and
   evaluates it. The argument is the number of epochs, 60 by default. */
#include "check.h"
#include <plimsoll.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
    const size_t epochs = argc > 1 ? strtoul(argv[1], NULL, 10) : 60;
    const size_t sample_sizes[] = {300, 300}; /* one per hop: each sage layer is one */
    const int32_t node = 4;
    float probabilities[3];
    double loss = 0, accuracy = 0;
    plim_graph *graph = NULL;
    plim_layers *layers = NULL;
    plim_model *model = NULL;
    plim_estimator *estimator = NULL;
    plim_optimizer *optimizer = NULL;
    plim_train_options *options = NULL;
    plim_status status;

    CHECK(plim_graph_from_mixture(1000, 1 /* seed */, &graph));

    /* Each call appends an operation, which reads the value before it. */
    CHECK(plim_layers_new(plim_graph_num_features(graph), &layers));
    CHECK(plim_layers_sage(layers, 16, PLIM_AGGREGATOR_MEAN));
    CHECK(plim_layers_activation(layers, PLIM_ACTIVATION_RELU));
    CHECK(plim_layers_dropout(layers, 0.1)); /* in training alone */
    CHECK(plim_layers_sage(layers, plim_graph_num_classes(graph), PLIM_AGGREGATOR_MEAN));
    CHECK(plim_model_new(layers, 1 /* seed */, &model));

    for (size_t i = 0; i < plim_model_num_tensors(model); i++) {
        const char *name;
        size_t offset, rows, columns;
        CHECK(plim_model_tensor(model, i, &name, &offset, &rows, &columns));
        printf("%-15s  %2zu x %-2zu  at %3zu\n", name, rows, columns, offset);
    }

    /* Draws among the neighbours, in proportion to how much they contribute. */
    CHECK(plim_estimator_consistent(sample_sizes, plim_layers_num_hops(layers), &estimator));
    CHECK(plim_estimator_set_distribution(estimator, PLIM_DISTRIBUTION_LADIES));
    CHECK(plim_optimizer_adam(0.01, &optimizer));
    CHECK(plim_train_options_new(&options));
    CHECK(plim_train_options_set_epochs(options, epochs));
    CHECK(plim_train(model, graph, estimator, optimizer, options, NULL));

    CHECK(plim_model_evaluate(model, graph, PLIM_SPLIT_TEST, &loss, &accuracy));
    printf("test: loss %.4f, accuracy %.2f %%\n", loss, 100 * accuracy);
    CHECK(plim_model_predict(model, graph, &node, 1, probabilities, 3));
    printf("node %d: %.3f %.3f %.3f\n", (int)node, (double)probabilities[0], (double)probabilities[1],
        (double)probabilities[2]);

cleanup:
    plim_train_options_free(options);
    plim_optimizer_free(optimizer);
    plim_estimator_free(estimator);
    plim_model_free(model);
    plim_layers_free(layers);
    plim_graph_free(graph);
    return status == PLIM_OK && accuracy > 0.5 ? 0 : 1; /* guessing gives 1/3 */
}
