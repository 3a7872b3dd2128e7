/* One job of the paper's experiments, through the C interface; a JSON object on stdout.

       job train data=FILE [normalize=1] [layers=2] [hidden=16] [sizes=0,400] [distribution=0] [optimizer=sgd] [step=1]
                 [epochs=100] [batch=256] [seed=0] [cache=1] [test=1]
       job tail  data=FILE … sizes=0,1 grid=100,200,400 deltas=0.1,0.3 [draws=10000]
       job save  data=FILE to=FILE

   FILE may be `mixture`, the built-in graph.
   `sizes` are the sample sizes by layer, input first; without them the estimator is the unbiased one. SGD has the step c/sqrt(k).
   A `tail` is measured at the initial parameters of seed `seed`; `grid` has the sample sizes. With test=1 the test accuracy
   is taken after each epoch, inside the progress callback, and so outside the seconds. */
#include "../benches/c/arguments.h"
#include <math.h>
#include <plimsoll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 64, MOST_EPOCHS = 10000 };

/* Reads numbers between commas; returns their count. */
static size_t list(const char *name, double *values) {
    const char *at = text(name, "");
    size_t count = 0;
    while (*at != '\0' && count < MOST) {
        char *end;
        values[count++] = strtod(at, &end);
        at = *end == ',' ? end + 1 : end;
        if (*end != ',' && *end != '\0') {
            fprintf(stderr, "%s: a list of numbers is not understood\n", name);
            exit(2);
        }
    }
    return count;
}

static size_t size_list(const char *name, size_t *values) {
    double numbers[MOST];
    const size_t count = list(name, numbers);
    for (size_t i = 0; i < count; i++) values[i] = (size_t)numbers[i];
    return count;
}

/* JSON has no NaN. */
static void print_list(const char *name, const double *values, size_t count, const char *end) {
    printf("\"%s\": [", name);
    for (size_t i = 0; i < count; i++) {
        if (i > 0) printf(", ");
        if (isfinite(values[i])) printf("%.9g", values[i]);
        else printf("null");
    }
    printf("]%s", end);
}

struct watch {
    const plim_model *model;
    const plim_graph *graph;
    double accuracies[MOST_EPOCHS];
    size_t count;
};

/* After each epoch: the accuracy on the test nodes. */
static int32_t look(void *user_data, const plim_progress *progress) {
    struct watch *watch = user_data;
    if (progress->step < progress->num_steps || watch->count == MOST_EPOCHS) return 0;
    double *accuracy = &watch->accuracies[watch->count++];
    return plim_model_evaluate(watch->model, watch->graph, PLIM_SPLIT_TEST, NULL, accuracy) != PLIM_OK;
}

static void train(plim_model *model, const plim_graph *graph, plim_estimator *estimator) {
    static const char *const names[] = {"train_loss", "val_loss", "val_accuracy", "seconds", "batch_loss"};
    static struct watch watch;
    const int adam = strcmp(text("optimizer", "sgd"), "adam") == 0;
    const double step = real("step", 1);
    plim_optimizer *optimizer = NULL;
    plim_train_options *options = NULL;
    plim_history *history = NULL;
    double *column, accuracy, initial_loss;

    CHECK(plim_model_evaluate(model, graph, PLIM_SPLIT_TRAIN, &initial_loss, NULL));
    CHECK(adam ? plim_optimizer_adam(step, &optimizer) : plim_optimizer_sgd(step, &optimizer));
    if (!adam) CHECK(plim_optimizer_set_schedule(optimizer, PLIM_SCHEDULE_INVERSE_SQRT));
    CHECK(plim_train_options_new(&options));
    CHECK(plim_train_options_set_epochs(options, whole("epochs", 100)));
    CHECK(plim_train_options_set_batch_size(options, whole("batch", 256)));
    CHECK(plim_train_options_set_seed(options, (uint64_t)real("seed", 0)));
    CHECK(plim_train_options_set_evaluate_every(options, whole("evaluate", 1)));
    watch.model = model;
    watch.graph = graph;
    if (real("test", 1) != 0) CHECK(plim_train_options_set_progress(options, look, &watch));
    CHECK(plim_train(model, graph, estimator, optimizer, options, &history));
    CHECK(plim_model_evaluate(model, graph, PLIM_SPLIT_TEST, NULL, &accuracy));

    const size_t epochs = plim_history_num_epochs(history);
    column = malloc(epochs * sizeof *column);
    if (column == NULL) exit(1);
    printf("{\"test\": %.9g, \"best_epoch\": %zu, ", accuracy, plim_history_best_epoch(history));
    printf("\"initial_loss\": %.9g, ", initial_loss);
    for (int32_t i = 0; i < 5; i++) {
        CHECK(plim_history_copy(history, i, column, epochs));
        print_list(names[i], column, epochs, ", ");
    }
    print_list("test_accuracy", watch.accuracies, watch.count, "}\n");
    free(column);
    plim_history_free(history);
    plim_train_options_free(options);
    plim_optimizer_free(optimizer);
}

static void tail(const plim_model *model, const plim_graph *graph, const plim_estimator *estimator) {
    static const char *const names[] = {"probability", "lower", "upper", "error", "bias", "deviation"};
    size_t grid[MOST];
    double deltas[MOST], numbers[MOST * MOST];
    const size_t num_sizes = size_list("grid", grid), num_deltas = list("deltas", deltas);
    plim_probe_options *options = NULL;
    plim_tail *result = NULL;

    CHECK(plim_probe_options_new(&options));
    CHECK(plim_probe_options_set_draws(options, whole("draws", 10000)));
    CHECK(plim_probe_options_set_seed(options, (uint64_t)real("seed", 0)));
    CHECK(plim_tail_new(estimator, model, graph, grid, num_sizes, deltas, num_deltas, options, &result));
    printf("{\"norm\": %.9g, ", plim_tail_norm(result));
    for (int32_t what = 0; what < 6; what++) {
        CHECK(plim_tail_copy(result, what, numbers, MOST * MOST));
        print_list(names[what], numbers, what < 3 ? num_sizes * num_deltas : num_sizes, what < 5 ? ", " : "}\n");
    }
    plim_tail_free(result);
    plim_probe_options_free(options);
}

int main(int argc, char **argv) {
    size_t sizes[MOST], widths[3], layers;
    plim_graph *graph = NULL;
    plim_model *model = NULL;
    plim_estimator *estimator = NULL;

    num_arguments = argc;
    arguments = argv;
    if (argc < 3 || (strcmp(argv[1], "train") && strcmp(argv[1], "tail") && strcmp(argv[1], "save"))) {
        fprintf(stderr, "usage: %s train|tail|save data=FILE name=value ...\n", argv[0]);
        return 2;
    }
    if (strcmp(text("data", ""), "mixture") == 0) CHECK(plim_graph_from_mixture(2000, 1, &graph));
    else CHECK(plim_graph_load(text("data", ""), &graph));
    if (strcmp(argv[1], "save") == 0) {
        CHECK(plim_graph_save(graph, text("to", "")));
        plim_graph_free(graph);
        return puts("{}") < 0;
    }
    if (real("normalize", 0) != 0) CHECK(plim_graph_normalize_features(graph));
    if (real("cache", 1) == 0) CHECK(plim_graph_set_cache(graph, 0));

    layers = whole("layers", 2);
    widths[0] = plim_graph_num_features(graph);
    widths[1] = whole("hidden", 16);
    widths[layers == 1 ? 1 : 2] = plim_graph_num_classes(graph);
    CHECK(plim_model_gcn(widths, layers == 1 ? 2 : 3, (uint64_t)real("seed", 0), &model));

    const size_t count = size_list("sizes", sizes);
    if (count == 0) {
        CHECK(plim_estimator_unbiased(&estimator));
    } else {
        CHECK(plim_estimator_consistent(sizes, count, &estimator));
        CHECK(plim_estimator_set_distribution(estimator, (int32_t)real("distribution", 0)));
    }
    CHECK(plim_estimator_set_seed(estimator, (uint64_t)real("seed", 0)));
    if (strcmp(argv[1], "train") == 0) train(model, graph, estimator);
    else tail(model, graph, estimator);

    plim_estimator_free(estimator);
    plim_model_free(model);
    plim_graph_free(graph);
    return 0;
}
