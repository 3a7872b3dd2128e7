/* A program that uses the installed library: it trains a network, writes it to a file and reads it back. */
#include <plimsoll.h>

#include <stdio.h>
#include <string.h>

int main(void) {
    const size_t widths[] = {2, 8, 3}, sample_sizes[] = {0, 50};
    const char *file = "program-c.safetensors";
    double before = 0, after = 1;
    plim_graph *graph = NULL;
    plim_model *model = NULL, *same = NULL;
    plim_estimator *estimator = NULL;
    plim_optimizer *optimizer = NULL;

    plim_status s = plim_graph_from_mixture(300, 1, &graph);
    if (!s) s = plim_model_gcn(widths, 3, 1, &model);
    if (!s) s = plim_estimator_consistent(sample_sizes, 2, &estimator);
    if (!s) s = plim_optimizer_adam(0.01, &optimizer);
    if (!s) s = plim_train(model, graph, estimator, optimizer, NULL, NULL);
    if (!s) s = plim_model_save(model, file);
    if (!s) s = plim_model_load(file, &same);
    if (!s) s = plim_model_evaluate(model, graph, PLIM_SPLIT_TEST, NULL, &before);
    if (!s) s = plim_model_evaluate(same, graph, PLIM_SPLIT_TEST, NULL, &after);
    if (s) fprintf(stderr, "%s: %s\n", plim_status_name(s), plim_last_error());

    plim_optimizer_free(optimizer);
    plim_estimator_free(estimator);
    plim_model_free(same);
    plim_model_free(model);
    plim_graph_free(graph);

    printf("C: plimsoll %s, header %s, test accuracy %.2f %%\n", plim_version(), PLIM_VERSION, 100 * before);
    return s != PLIM_OK || before != after || strcmp(plim_version(), PLIM_VERSION) != 0;
}
