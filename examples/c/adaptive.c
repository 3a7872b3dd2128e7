/* Compares sample sizes that follow the gradient with fixed ones. The problem is strongly convex: a one-layer GCN on the
   Mixture graph with penalty λ, all training nodes as the batch, SGD with a constant step. With a fixed size, f falls to
   a floor, which is lower for larger sizes. plim_train_options_set_adaptive() starts with few draws and adds more as the
   gradient shrinks, so the first steps are cheap and f continues to fall.

   Prints f(w) - f*, the mean over seeds, for budgets of draws and of milliseconds. A star marks the least of the sampled
   runs. A fixed run ends after STEPS steps at its floor. Draws include those of the tests: 4·N + 4·2N for a round at
   size N. A test that increases the size takes several rounds. The history shows only the first and the last size, so a
   second round at the last size stands for the others; in a dozen traced runs this was more than they drew. The
   milliseconds also come from the history and are complete. They grow more slowly than draws, which favours large sizes,
   and most of all the exact gradient, which is cheap for 6,000 nodes.

   The first argument names a CSV file for the runs of one seed; the second is the step, 0.05 by default. With 0.5 a
   hundred steps suffice, and the tests cost more than the steps, so the best fixed size wins. */
#include "check.h"
#include <math.h>
#include <plimsoll.h>
#include <stdio.h>
#include <stdlib.h>

enum { ADAPTIVE, EXACT = 6, RUNS, STEPS = 1200, SEEDS = 2, SMALLEST = 200, LARGEST = 200000, DIM = 6, BUDGETS = 7 };
static const size_t sizes[RUNS] = {SMALLEST, 200, 1000, 5000, 25000, 100000, 0};
static const double draws_spent[BUDGETS] = {3e4, 1e5, 3e5, 1e6, 3e6, 1e7, 3e7};
static const double ms_spent[BUDGETS] = {1, 3, 10, 30, 100, 200, 300};
static const double lambda = 0.1, delta = 0.5;

/* After each step: f(w), the draws and milliseconds so far, and the sample size. */
struct run {
    const plim_model *model;
    double f[STEPS], draws[STEPS], ms[STEPS], size[STEPS];
};

static int32_t note(void *user_data, const plim_progress *progress) {
    struct run *run = user_data;
    float w[DIM];
    double square = 0;
    if (plim_model_get_parameters(run->model, w, DIM)) return 1;
    for (int i = 0; i < DIM; i++) square += (double)w[i] * w[i];
    run->f[progress->epoch - 1] = progress->train_loss + lambda / 2 * square; /* train_loss excludes λ */
    return 0;
}

static plim_status train(const plim_graph *graph, int kind, double step, size_t steps, uint64_t seed, struct run *run) {
    const size_t widths[] = {2, 3}, every = (size_t)(5 / step); /* a test costs about 12 steps per round */
    double draws = 0, seconds = 0, before = SMALLEST;
    plim_model *model = NULL;
    plim_estimator *estimator = NULL;
    plim_optimizer *optimizer = NULL;
    plim_train_options *options = NULL;
    plim_history *history = NULL;
    plim_status status;

    CHECK(plim_model_gcn(widths, 2, 1 /* seed */, &model));
    CHECK(plim_model_set_regularization(model, lambda));
    CHECK(kind == EXACT ? plim_estimator_full(&estimator) : plim_estimator_consistent(&sizes[kind], 1, &estimator));
    CHECK(plim_estimator_set_seed(estimator, seed));
    CHECK(plim_optimizer_sgd(step, &optimizer));
    CHECK(plim_train_options_new(&options));
    CHECK(plim_train_options_set_epochs(options, steps)); /* one batch per epoch */
    CHECK(plim_train_options_set_batch_size(options, plim_graph_split_size(graph, PLIM_SPLIT_TRAIN)));
    if (kind == ADAPTIVE) CHECK(plim_train_options_set_adaptive(options, delta, every, SMALLEST, LARGEST));
    CHECK(plim_train_options_set_progress(options, note, run));
    run->model = model;
    CHECK(plim_train(model, graph, estimator, optimizer, options, &history));
    CHECK(plim_history_copy(history, PLIM_HISTORY_SECONDS, run->ms, STEPS));
    CHECK(plim_history_copy(history, PLIM_HISTORY_SAMPLE_SIZE, run->size, STEPS)); /* NaN unless adaptive */
    for (size_t k = 0; k < steps; k++) {
        if (kind != ADAPTIVE) run->size[k] = (double)sizes[kind];
        else if (k % every == 0) draws += 12 * before + (run->size[k] > before ? 24 * run->size[k] : 0);
        run->draws[k] = draws += before = run->size[k];
        run->ms[k] = seconds += 1e3 * run->ms[k];
    }
cleanup:
    plim_history_free(history);
    plim_train_options_free(options);
    plim_optimizer_free(optimizer);
    plim_estimator_free(estimator);
    plim_model_free(model);
    return status;
}

/* Returns f(w) after the last step within a budget, at least after the first. */
static double within(const struct run *run, const double *spent, double budget, size_t steps) {
    size_t k = 0;
    while (k + 1 < steps && spent[k + 1] <= budget) k++;
    return run->f[k];
}

static void print(const char *unit, const double *budgets, double gaps[BUDGETS][RUNS], int runs) {
    printf("\n%9s   adaptive", unit);
    for (int i = 1; i < EXACT; i++) printf(" fixed %6zu", sizes[i]);
    for (int b = 0; b < BUDGETS; b++) {
        int least = 0;
        for (int i = 1; i < EXACT; i++) least = gaps[b][i] < gaps[b][least] ? i : least;
        printf("%s\n%9g", b == 0 && runs > EXACT ? "        exact" : "", budgets[b]);
        for (int i = 0; i < runs; i++) printf("%s%9.2e%c", i ? "   " : "  ", gaps[b][i], i == least ? '*' : ' ');
    }
    printf("\n");
}

int main(int argc, char **argv) {
    static struct run run;
    static double by_draws[BUDGETS][RUNS], by_ms[BUDGETS][RUNS];
    const int brief = getenv("PLIM_VALGRIND") != NULL, seeds = brief ? 1 : SEEDS; /* valgrind is slow */
    const double step = argc > 2 ? atof(argv[2]) : 0.05;
    const size_t steps = brief ? 25 : STEPS;
    FILE *file = argc > 1 ? fopen(argv[1], "w") : NULL;
    int written = argc < 2 || file != NULL, shown = 1;
    plim_graph *graph = NULL;
    plim_status status;
    double least;

    if (!written) perror(argv[1]);
    if (file != NULL) fprintf(file, "run,step,sample_size,draws,gap\n");
    CHECK(plim_graph_from_mixture(2000, 1 /* seed */, &graph));
    CHECK(train(graph, EXACT, 0.5, steps, 0, &run));
    least = run.f[steps - 1]; /* f* */
    printf("f* = %.9f, step %g, delta = %g, %d seeds\n", least, step, delta, seeds);
    for (int kind = 0; kind < RUNS; kind++)
        for (int seed = 0; seed < seeds; seed++) {
            CHECK(train(graph, kind, step, steps, (uint64_t)seed + 1, &run));
            for (int b = 0; b < BUDGETS; b++) {
                by_draws[b][kind] += (within(&run, run.draws, draws_spent[b], steps) - least) / seeds;
                by_ms[b][kind] += (within(&run, run.ms, ms_spent[b], steps) - least) / seeds;
            }
            for (size_t k = 0, last = 0; k < steps && seed == 0 && file != NULL && kind != EXACT; k++) {
                if (k > 0 && run.draws[k] < 1.05 * run.draws[last]) continue; /* keep the file small */
                fprintf(file, "%s,%zu,%.0f,%.0f,%.6e\n", kind == ADAPTIVE ? "adaptive" : "fixed", k + 1, run.size[k],
                    run.draws[k], run.f[k] - least);
                last = k;
            }
        }
    print("draws", draws_spent, by_draws, EXACT);
    print("ms", ms_spent, by_ms, RUNS);

    /* Small sizes stop at a floor. The adaptive run is below all floors by then and continues to fall. */
    for (int i = 1; i < EXACT && !brief; i++) {
        const double *last = by_draws[BUDGETS - 1], *before = by_draws[BUDGETS - 2];
        shown = shown && (sizes[i] > 5000 || last[i] > 0.8 * before[i]);
        shown = shown && (sizes[i] > 25000 || last[ADAPTIVE] < last[i]) && last[ADAPTIVE] < 0.5 * before[ADAPTIVE];
    }
    printf("\nsizes up to 5000 stall, and the adaptive run falls on below the floor of 25000: %s\n",
        brief ? "not judged" : shown ? "yes" : "NO");
cleanup:
    if (file != NULL) written = fclose(file) == 0;
    plim_graph_free(graph);
    return status == PLIM_OK && shown && written ? 0 : 1;
}
