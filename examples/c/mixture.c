/* Trains a two-layer GCN on the built-in Mixture graph twice: by SGD on a few sampled nodes, and by Adam on whole
   neighbourhoods. `make demo` compiles and runs it. The argument is the number of epochs, 100 by default. */
#define _POSIX_C_SOURCE 200112L /* isatty */
#include "check.h"
#include <plimsoll.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct run {
    const char *name;
    plim_estimator *estimator;
    plim_optimizer *optimizer;
    size_t best;
    double accuracy, seconds;
};

/* Rewrites one line on stderr. If stderr is not a terminal, writes only the last line. */
static int32_t show(void *user_data, const plim_progress *p) {
    struct run *run = user_data;
    const int terminal = isatty(STDERR_FILENO), last = p->epoch == p->num_epochs;
    run->seconds = p->seconds / (double)p->epoch;
    if (p->step == p->num_steps && (terminal || last))
        fprintf(stderr, "%s%-14s  epoch %3zu of %zu, training loss %.4f, validation accuracy %.2f %%%s",
            terminal ? "\r" : "", run->name, p->epoch, p->num_epochs, p->train_loss, 100 * p->val_accuracy,
            last ? "\n" : "");
    return 0; /* anything else cancels */
}

int main(int argc, char **argv) {
    const size_t epochs = argc > 1 ? strtoul(argv[1], NULL, 10) : 100;
    const double bound = epochs < 50 ? 0.5 : 0.85; /* a plausible accuracy; guessing gives 1/3 */
    const size_t widths[] = {2, 16, 3};            /* features, hidden, classes */
    const size_t sample_sizes[] = {0, 400};        /* 400 draws among the 6,000 nodes for the hidden layer; 0: exact */
    struct run runs[2] = {{"SGD (400)", NULL, NULL, 0, 0, 0}, {"Adam, unbiased", NULL, NULL, 0, 0, 0}}, *run;
    plim_graph *graph = NULL;
    plim_model *model = NULL;
    plim_train_options *options = NULL;
    plim_history *history = NULL;
    plim_status status;
    int plausible = 0;

    CHECK(plim_graph_from_mixture(2000, 1 /* seed */, &graph));
    CHECK(plim_estimator_consistent(sample_sizes, 2, &runs[0].estimator));
    CHECK(plim_optimizer_sgd(1.0, &runs[0].optimizer));
    CHECK(plim_optimizer_set_schedule(runs[0].optimizer, PLIM_SCHEDULE_INVERSE_SQRT)); /* 1/sqrt(k) at step k */
    CHECK(plim_estimator_unbiased(&runs[1].estimator));
    CHECK(plim_optimizer_adam(1e-2, &runs[1].optimizer));
    CHECK(plim_train_options_new(&options));
    CHECK(plim_train_options_set_epochs(options, epochs));

    for (run = runs; run < runs + 2; run++) {
        CHECK(plim_model_gcn(widths, 3, 1 /* seed: both start alike */, &model));
        CHECK(plim_train_options_set_progress(options, show, run));
        CHECK(plim_train(model, graph, run->estimator, run->optimizer, options, &history));
        run->best = plim_history_best_epoch(history);
        /* Training has left the model with the parameters of that epoch, the best one on the validation nodes. */
        CHECK(plim_model_evaluate(model, graph, PLIM_SPLIT_TEST, NULL, &run->accuracy));
        plim_history_free(history);
        plim_model_free(model);
        history = NULL;
        model = NULL;
    }

    printf("algorithm       test accuracy  best epoch  time per epoch\n");
    for (run = runs; run < runs + 2; run++)
        printf("%-14s  %11.2f %%  %10zu  %11.2f ms\n", run->name, 100 * run->accuracy, run->best, 1e3 * run->seconds);
    plausible = runs[0].accuracy > bound && runs[1].accuracy > bound;

cleanup:
    for (run = runs; run < runs + 2; run++) {
        plim_optimizer_free(run->optimizer);
        plim_estimator_free(run->estimator);
    }
    plim_train_options_free(options);
    plim_history_free(history);
    plim_model_free(model);
    plim_graph_free(graph);
    return status == PLIM_OK && plausible ? 0 : 1;
}
