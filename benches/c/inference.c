/* Predicts all nodes of a graph with a GCN of two layers; prints the seconds of the first call and the median of the
   later ones as a JSON line. The first call computes ÂX, which the graph keeps if it fits into `cache` bytes.

       inference data=graph.npz hidden=64 classes=16 threads=1 calls=3 */
#include "bench.h"

int main(int argc, char **argv) {
    num_arguments = argc, arguments = argv;
    const size_t calls = whole("calls", 3), classes = whole("classes", 16);
    plim_graph *graph = NULL;
    plim_model *model = NULL;
    CHECK(plim_graph_load(text("data", ""), &graph));
    if (text("cache", NULL)) CHECK(plim_graph_set_cache(graph, whole("cache", 0)));
    const size_t n = plim_graph_num_nodes(graph);
    const size_t widths[3] = {plim_graph_num_features(graph), whole("hidden", 64), classes};
    CHECK(plim_model_gcn(widths, 3, 0, &model));
    CHECK(plim_model_set_threads(model, whole("threads", 1)));
    float *probabilities = room(n * classes, sizeof *probabilities);
    double *seconds = room(calls + 1, sizeof *seconds);
    for (size_t i = 0; i <= calls; i++) {
        const double start = now();
        CHECK(plim_model_predict(model, graph, NULL, 0, probabilities, n * classes));
        seconds[i] = now() - start;
    }
    const double first = seconds[0];
    printf("{\"engine\": \"plimsoll\", \"first_s\": %.9g, \"median_s\": %.9g, \"rss_mb\": %.3f}\n", first,
        median(seconds + 1, calls), status_bytes("VmHWM") / 1e6);
    return 0;
}
