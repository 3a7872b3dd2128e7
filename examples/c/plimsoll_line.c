/* Measures how many draws a gradient needs: the Plimsoll line of a two-layer GCN on the Mixture graph, sampled at its
   hidden layer, once uniformly and once with LADIES.

   1  The tail: for a grid of sample sizes N and errors δ, the share of gradients g with |g - h| >= δ|h|, where h is the
      exact gradient, with 95 % limits; and the two parts of the error: bias, which averaging does not remove, and
      deviation.
   2  The fit of that share by C·exp(-τN). For T steps and a probability ε of any miss, it gives N from δ and ε, and
      also ε and δ from N.
   3  The plan: the planner solves the same problem, and also measures whether sampling pays.

   Finally, a plan for a batch of a larger and denser graph. The argument names a CSV file for the tails. */
#include "check.h"
#include <math.h>
#include <plimsoll.h>
#include <stdio.h>
#include <stdlib.h>

enum { SIZES = 11, DELTAS = 4, TABLE = SIZES * DELTAS, T = 50, BATCH = 512, MOST_TRAIN = 1 << 14 };
static const size_t sizes[SIZES] = {200, 283, 400, 566, 800, 1131, 1600, 2263, 3200, 4525, 6400};
static const double deltas[DELTAS] = {0.1, 0.2, 0.3, 0.5}, epsilon = 0.1;

/* Prints the plan as text. An empty batch means all training nodes. */
static plim_status plan_for(const plim_estimator *estimator, const plim_model *model, const plim_graph *graph,
    const int32_t *batch, size_t batch_size, size_t draws) {
    const size_t t = draws < 2000 ? 1 : T; /* few draws cannot resolve the small probability that many steps require */
    const double delta = 0.3;
    char text[PLIM_PLAN_TEXT_SIZE];
    plim_probe_options *options = NULL;
    plim_plan *plan = NULL;
    plim_status status;
    CHECK(plim_probe_options_new(&options));
    CHECK(plim_probe_options_set_draws(options, draws));
    CHECK(plim_probe_options_set_batch(options, batch, batch_size));
    CHECK(plim_plan_new(estimator, model, graph, delta, epsilon, t, options, &plan));
    CHECK(plim_plan_describe(plan, text, sizeof text));
    printf("%s\n", text);
cleanup:
    plim_plan_free(plan);
    plim_probe_options_free(options);
    return status;
}

/* Measures, fits and prints the tail of an estimator. Returns the bias at the smallest and at the largest size. */
static plim_status tour(const plim_estimator *estimator, const plim_model *model, const plim_graph *graph,
    const char *name, size_t draws, FILE *file, double *biases) {
    double p[TABLE], lower[TABLE], upper[TABLE], bias[SIZES], deviation[SIZES], column[SIZES], least;
    double fitted[DELTAS], cs[DELTAS], taus[DELTAS], r_squared, any;
    size_t n, fits = 0;
    plim_probe_options *options = NULL;
    plim_tail *tail = NULL;
    plim_status status;

    CHECK(plim_probe_options_new(&options));
    CHECK(plim_probe_options_set_draws(options, draws));
    CHECK(plim_tail_new(estimator, model, graph, sizes, SIZES, deltas, DELTAS, options, &tail));
    CHECK(plim_tail_copy(tail, PLIM_TAIL_PROBABILITY, p, TABLE));
    CHECK(plim_tail_copy(tail, PLIM_TAIL_LOWER, lower, TABLE));
    CHECK(plim_tail_copy(tail, PLIM_TAIL_UPPER, upper, TABLE));
    CHECK(plim_tail_copy(tail, PLIM_TAIL_BIAS, bias, SIZES));
    CHECK(plim_tail_copy(tail, PLIM_TAIL_DEVIATION, deviation, SIZES));
    printf("\n%s draws, |h| = %.4f, %zu gradients each\n     N    bias  deviation", name, plim_tail_norm(tail), draws);
    for (int j = 0; j < DELTAS; j++) printf("   missed by %.1f [95 %%]", deltas[j]);
    for (int i = 0; i < SIZES; i++) {
        printf("\n%6zu  %6.4f  %9.4f", sizes[i], bias[i], deviation[i]);
        for (int j = 0; j < DELTAS; j++) {
            const int at = i * DELTAS + j;
            printf("  %.4f [%.4f %.4f]", p[at], lower[at], upper[at]);
            if (file != NULL)
                fprintf(file, "%s,%zu,%g,%.6f,%.6f,%.6f,%.6e,%.6e\n", name, sizes[i], deltas[j], p[at], lower[at],
                    upper[at], bias[i], deviation[i]);
        }
    }
    printf("\n\n");
    for (int j = 0; j < DELTAS; j++) {
        double *c = &cs[fits], *tau = &taus[fits];
        for (int i = 0; i < SIZES; i++) column[i] = p[i * DELTAS + j];
        if (plim_tail_fit(sizes, column, SIZES, draws, c, tau, &r_squared) || *tau <= 0) continue; /* too few points */
        CHECK(plim_sample_size(*tau, *c, T, epsilon, &n));
        CHECK(plim_sample_epsilon(*tau, *c, T, 2 * n, &any));
        printf("delta %g: C = %.3g, tau = %.3g, r2 = %.3f; %d steps, epsilon %g: N = %zu; with 2N epsilon is %.1e\n",
            deltas[j], *c, *tau, r_squared, T, epsilon, n, any);
        fitted[fits++] = deltas[j];
    }
    if (fits > 0 && plim_sample_delta(fitted, cs, taus, fits, T, epsilon, 3200, &least) == PLIM_OK)
        printf("3200 draws keep %d gradients within delta = %.3f with probability %g\n", T, least, 1 - epsilon);
    biases[0] = bias[0];
    biases[1] = bias[SIZES - 1];
cleanup:
    plim_tail_free(tail);
    plim_probe_options_free(options);
    return status;
}

int main(int argc, char **argv) {
    const int brief = getenv("PLIM_VALGRIND") != NULL; /* valgrind is slow */
    const size_t widths[] = {2, 16, 3}, hidden_only[] = {0, 400}, draws = brief ? 40 : 2000;
    static int32_t train[MOST_TRAIN];
    static const char *const names[] = {"uniform", "LADIES"};
    static const int32_t distributions[] = {PLIM_DISTRIBUTION_UNIFORM, PLIM_DISTRIBUTION_LADIES};
    FILE *file = argc > 1 ? fopen(argv[1], "w") : NULL;
    int written = argc < 2 || file != NULL;
    plim_graph *graph = NULL, *dense = NULL;
    plim_model *model = NULL;
    plim_estimator *estimator = NULL;
    plim_status status;
    double biases[2] = {1, 1};

    if (!written) perror(argv[1]);
    if (file != NULL) fprintf(file, "draws,sample_size,delta,missed,lower,upper,bias,deviation\n");
    CHECK(plim_graph_from_mixture(brief ? 200 : 2000, 1 /* seed */, &graph));
    CHECK(plim_model_gcn(widths, 3, 1 /* seed */, &model));
    CHECK(plim_model_set_threads(model, 2)); /* the results do not depend on it */
    CHECK(plim_estimator_consistent(hidden_only, 2, &estimator));
    for (int i = 0; i < 2; i++) {
        CHECK(plim_estimator_set_distribution(estimator, distributions[i]));
        CHECK(tour(estimator, model, graph, names[i], draws, file, biases));
        CHECK(plan_for(estimator, model, graph, NULL, 0, draws));
    }
    CHECK(plim_estimator_set_distribution(estimator, PLIM_DISTRIBUTION_UNIFORM));
    CHECK(plim_graph_from_mixture(brief ? 300 : 8000, 1 /* seed */, &dense));
    const size_t count = plim_graph_split_size(dense, PLIM_SPLIT_TRAIN), batch = count < BATCH ? count : BATCH;
    CHECK(plim_graph_copy_split(dense, PLIM_SPLIT_TRAIN, train, MOST_TRAIN));
    for (size_t i = 0; i < batch; i++) train[i] = train[i * count / batch]; /* some of every class */
    printf("\na batch of %zu in a graph of %zu nodes and %zu edges, uniform draws\n", batch, plim_graph_num_nodes(dense),
        plim_graph_num_edges(dense));
    CHECK(plan_for(estimator, model, dense, train, batch, draws));
cleanup:
    if (file != NULL) written = fclose(file) == 0;
    plim_estimator_free(estimator);
    plim_model_free(model);
    plim_graph_free(dense);
    plim_graph_free(graph);
    return status == PLIM_OK && written && (brief || biases[1] < biases[0] / 8) ? 0 : 1;
}
