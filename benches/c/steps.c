/* The cost of one sampled step on a Mixture-like graph of any size, with constant degrees.

       steps nodes=1e6 distribution=uniform|neighbors|ladies steps=100 draws=400

   Every node has 10 neighbours on average, 5 of 7 in its own class as in Mixture; two layers, 16 wide, ÂX exact. The
   number of uniform draws is such that 100 of them are in S, the columns with an entry in the rows of the batch. Each step has
   its own batch of 256 and runs twice with the same draws: first with cold, then with warm memory. Then the gradient is
   compared with the exact one of the batch. Prints a JSON line. Under callgrind only the first of each pair counts, and nothing
   is compared. */
#include "bench.h"
#include <math.h>

enum { CLASSES = 3, BATCH = 256, DEGREE = 10, WARM_UP = 20 };

static size_t n;
static uint64_t state = 1;

/* Mixture's classes, one after the other. */
static size_t class_of(size_t v) {
    return v * CLASSES / n;
}

static size_t class_start(size_t c) {
    return (c * n + CLASSES - 1) / CLASSES;
}

static plim_graph *make_graph(size_t num_edges, int32_t *sources, int32_t *targets) {
    static const double means[CLASSES][2] = {{-.5, 0}, {.5, 0}, {0, .866}}, deviations[CLASSES] = {.75, .5, .25};
    plim_graph *graph = NULL;
    for (size_t e = 0; e < num_edges; e++) {
        /* 1e-3 inside and twice 2e-4 across: 5 of 7 links stay inside. */
        const size_t u = random_below(&state, n), other = random_below(&state, 7);
        const size_t c = other < 5 ? class_of(u) : (class_of(u) + other - 4) % CLASSES;
        sources[e] = (int32_t)u;
        targets[e] = (int32_t)(class_start(c) + random_below(&state, class_start(c + 1) - class_start(c)));
    }
    CHECK(plim_graph_from_edges(n, num_edges, sources, targets, NULL, &graph));

    float *features = room(2 * n, sizeof *features);
    int32_t *labels = room(n, sizeof *labels);
    for (size_t v = 0; v < n; v++) {
        const double radius = sqrt(-2 * log(1 - random_unit(&state))), angle = 6.283185307179586 * random_unit(&state);
        labels[v] = (int32_t)class_of(v);
        features[2 * v] = (float)(means[labels[v]][0] + deviations[labels[v]] * radius * cos(angle));
        features[2 * v + 1] = (float)(means[labels[v]][1] + deviations[labels[v]] * radius * sin(angle));
    }
    CHECK(plim_graph_set_features(graph, 2, features));
    CHECK(plim_graph_set_labels(graph, labels));
    free(features);
    free(labels);
    return graph;
}

/* Different nodes of `batch`, at random. */
static void draw_batch(int32_t *batch, char *taken) {
    for (size_t i = 0; i < BATCH; i++) {
        size_t v = random_below(&state, n);
        while (taken[v]) v = random_below(&state, n);
        taken[v] = 1;
        batch[i] = (int32_t)v;
    }
    for (size_t i = 0; i < BATCH; i++) taken[batch[i]] = 0;
}

/* |S|: the batch and its neighbours. */
static size_t count_touched(const int32_t *batch, size_t num_edges, const int32_t *sources, const int32_t *targets) {
    char *touched = calloc(n, 1);
    size_t count = 0;
    for (size_t i = 0; i < BATCH; i++) touched[batch[i]] = 3;
    for (size_t e = 0; e < num_edges; e++) {
        if (touched[sources[e]] & 2) touched[targets[e]] |= 1;
        if (touched[targets[e]] & 2) touched[sources[e]] |= 1;
    }
    for (size_t v = 0; v < n; v++) count += touched[v] & 1;
    free(touched);
    return count;
}

int main(int argc, char **argv) {
    num_arguments = argc, arguments = argv;
    n = whole("nodes", 10000);
    const size_t steps = whole("steps", 100), num_edges = n * DEGREE / 2, parameters = 2 * 16 + 16 * CLASSES;
    const char *name = text("distribution", "neighbors");
    const int32_t distribution = !strcmp(name, "uniform") ? PLIM_DISTRIBUTION_UNIFORM
        : !strcmp(name, "ladies")                         ? PLIM_DISTRIBUTION_LADIES
                                                          : PLIM_DISTRIBUTION_NEIGHBORS;
    int32_t batch[BATCH], *sources = room(num_edges, sizeof *sources), *targets = room(num_edges, sizeof *targets);
    char *taken = calloc(n, 1), draws[32];
    float gradient[2 * 16 + 16 * CLASSES], again[2 * 16 + 16 * CLASSES], exact[2 * 16 + 16 * CLASSES];
    plim_optimizer *optimizer = NULL;

    plim_graph *graph = make_graph(num_edges, sources, targets);
    double touched = 0;
    for (int i = 0; i < 5; i++) {
        draw_batch(batch, taken);
        touched += (double)count_touched(batch, num_edges, sources, targets) / 5;
    }
    free(sources);
    free(targets);
    const double useful = 100; /* t·P(S) */
    snprintf(draws, sizeof draws, "%.0f",
        distribution == PLIM_DISTRIBUTION_UNIFORM ? ceil(useful * (double)n / touched) : real("draws", 400));

    plim_model *model = make_model(graph, 2, 16, 1, 0);
    plim_estimator *estimator = make_estimator(draws, 2, distribution, 0), *whole_batch = NULL;
    CHECK(plim_estimator_unbiased(&whole_batch));
    CHECK(plim_optimizer_sgd(1e-6, &optimizer)); /* so small that the parameters hardly change */

    double *cold = room(steps, sizeof *cold), *warm = room(steps, sizeof *warm), *errors = room(steps, sizeof *errors);
    for (size_t i = 0; i < WARM_UP + steps; i++) {
        const size_t at = i < WARM_UP ? 0 : i - WARM_UP;
        draw_batch(batch, taken);
        CHECK(plim_estimator_set_seed(estimator, i));
        if (i >= WARM_UP) COUNT_START;
        double start = now();
        CHECK(plim_estimator_gradient(estimator, model, graph, batch, BATCH, gradient, parameters, NULL));
        CHECK(plim_optimizer_update(optimizer, model, gradient, parameters));
        cold[at] = now() - start;
        if (i >= WARM_UP) COUNT_STOP;
        if (COUNTING) continue;
        CHECK(plim_estimator_set_seed(estimator, i));
        start = now();
        CHECK(plim_estimator_gradient(estimator, model, graph, batch, BATCH, again, parameters, NULL));
        CHECK(plim_optimizer_update(optimizer, model, again, parameters));
        warm[at] = now() - start;
        CHECK(plim_estimator_gradient(whole_batch, model, graph, batch, BATCH, exact, parameters, NULL));
        double difference = 0, norm = 0;
        for (size_t p = 0; p < parameters; p++) {
            difference += pow((double)gradient[p] - (double)exact[p], 2);
            norm += pow((double)exact[p], 2);
        }
        errors[at] = sqrt(difference / norm);
    }
    printf("{\"isa\": \"%s\", \"nodes\": %zu, \"edges\": %zu, \"distribution\": \"%s\", \"draws\": %s, "
           "\"touched\": %.1f, \"steps\": %zu, \"cold_s\": %.9g, \"warm_s\": %.9g, \"error\": %.9g}\n",
        plim_isa(), n, plim_graph_num_edges(graph), name, draws, touched, steps, median(cold, steps),
        COUNTING ? 0 : median(warm, steps), COUNTING ? 0 : median(errors, steps));
    return 0;
}
