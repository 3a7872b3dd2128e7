/* Trains a model made of layers with full steps; prints the median and the least milliseconds of a step as a JSON line.

       layers data=graph.npz layer=sage layers=2 hidden=64 threads=1 steps=12

   `layer` is gcn, sage, gin, gat or gatv2. ReLU (ELU after attention) and dropout of 0.5 stand between the layers. Attention has 8
   heads of hidden / 8 columns, and one head in the last layer. A step is a gradient over all training nodes and an update by Adam. */
#include "bench.h"

static void append(plim_layers *layers, const char *kind, size_t width, size_t heads) {
    const size_t twice[2] = {width, width};
    if (!strcmp(kind, "gcn")) CHECK(plim_layers_gcn(layers, width));
    else if (!strcmp(kind, "sage")) CHECK(plim_layers_sage(layers, width, PLIM_AGGREGATOR_MEAN));
    else if (!strcmp(kind, "gin")) CHECK(plim_layers_gin(layers, twice, 2));
    else if (!strcmp(kind, "gat")) CHECK(plim_layers_gat(layers, width / heads, heads, 1));
    else if (!strcmp(kind, "gatv2")) CHECK(plim_layers_gat(layers, width / heads, heads, 2));
    else fprintf(stderr, "layer=%s is none of gcn, sage, gin, gat, gatv2\n", kind), exit(2);
}

int main(int argc, char **argv) {
    num_arguments = argc, arguments = argv;
    const size_t depth = whole("layers", 2), hidden = whole("hidden", 64), steps = whole("steps", 12);
    const char *kind = text("layer", "sage");
    const int attends = !strncmp(kind, "gat", 3);
    plim_graph *graph = NULL;
    plim_layers *layers = NULL;
    plim_model *model = NULL;
    plim_estimator *estimator = NULL;
    plim_optimizer *optimizer = NULL;
    double loss = 0;
    CHECK(plim_graph_load(text("data", ""), &graph));
    CHECK(plim_graph_normalize_features(graph));
    CHECK(plim_graph_set_cache(graph, (size_t)1 << 32));
    CHECK(plim_layers_new(plim_graph_num_features(graph), &layers));
    for (size_t l = 0; l < depth; l++) {
        const int last = l + 1 == depth;
        append(layers, kind, last ? plim_graph_num_classes(graph) : hidden, last ? 1 : 8);
        if (last) break;
        CHECK(plim_layers_activation(layers, attends ? PLIM_ACTIVATION_ELU : PLIM_ACTIVATION_RELU));
        CHECK(plim_layers_dropout(layers, 0.5));
    }
    CHECK(plim_model_new(layers, 0, &model));
    CHECK(plim_model_set_threads(model, whole("threads", 1)));
    CHECK(plim_estimator_full(&estimator));
    CHECK(plim_optimizer_adam(0.01, &optimizer));
    const size_t count = plim_model_num_parameters(model);
    float *gradient = room(count, sizeof *gradient);
    double *seconds = room(steps + 2, sizeof *seconds);
    for (size_t i = 0; i < steps + 2; i++) {
        const double start = now();
        CHECK(plim_estimator_gradient(estimator, model, graph, NULL, 0, gradient, count, &loss));
        CHECK(plim_optimizer_update(optimizer, model, gradient, count));
        seconds[i] = now() - start;
    }
    double least = seconds[2];
    for (size_t i = 3; i < steps + 2; i++)
        if (seconds[i] < least) least = seconds[i];
    printf("{\"engine\": \"plimsoll\", \"ms\": %.6g, \"least\": %.6g, \"loss\": %.6g, \"mb\": %.0f}\n",
        1e3 * median(seconds + 2, steps), 1e3 * least, loss, status_bytes("VmHWM") / 1e6);
    return 0;
}
