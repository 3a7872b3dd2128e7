/* Builds a graph from arrays of random edges. Prints a JSON line: the seconds, the peak of memory beyond the caller's arrays, and
   the memory of the graph.

       build_graph nodes=1e7 edges=1e8 */
#include "bench.h"

int main(int argc, char **argv) {
    num_arguments = argc, arguments = argv;
    const size_t n = whole("nodes", 10000000), m = whole("edges", 100000000);
    int32_t *sources = room(m, sizeof *sources), *targets = room(m, sizeof *targets);
    uint64_t state = 1;
    plim_graph *graph = NULL;
    for (size_t e = 0; e < m; e++) {
        sources[e] = (int32_t)random_below(&state, n);
        targets[e] = (int32_t)random_below(&state, n);
    }
    reset_peak();
    const double before = status_bytes("VmRSS"), heap_before = heap_bytes(), start = now();
    CHECK(plim_graph_from_edges(n, m, sources, targets, NULL, &graph));
    const double seconds = now() - start, peak = status_bytes("VmHWM") - before;
    printf("{\"nodes\": %zu, \"edges\": %zu, \"unique_edges\": %zu, \"seconds\": %.6g, \"peak_bytes\": %.0f, "
           "\"kept_bytes\": %.0f, \"heap_bytes\": %.0f}\n",
        n, m, plim_graph_num_edges(graph), seconds, peak, status_bytes("VmRSS") - before, heap_bytes() - heap_before);
    return 0;
}
