/* Two builds of the library train in turn within one process, a few hundredths of a second each. Prints the quantiles of the
   seconds of their epochs as a JSON line. Other load on the machine changes more slowly than the turns, so it affects both
   builds equally: differences of 1 or 2 % are visible where two runs of one program differ by a factor of 1.5.

       turns before=DIRECTORY after=DIRECTORY data=cora.npz layers=1 sample=400 threads=1 step=1000 raw=0 turns=100

   Each directory has a libplimsoll.so. Compare the low quantiles, which are of undisturbed epochs. */
#include "bench.h"
#include <dlfcn.h>

typedef struct side {
    const char *name;
    void *library;
    plim_graph *graph;
    plim_model *model;
    plim_estimator *estimator;
    plim_optimizer *optimizer;
    plim_train_options *options;
    double *seconds;
    size_t count;
} side;

/* A function of this side's build, with its type in the header. */
#define OF(side, function) (*(__typeof__(&function) *)address((side)->library, #function))

#define CHECK_OF(side, function, ...)                                                                            \
    do {                                                                                                         \
        if (OF(side, function)(__VA_ARGS__) != PLIM_OK) {                                                        \
            fprintf(stderr, "%s of %s: %s\n", #function, (side)->name, OF(side, plim_last_error)());             \
            exit(1);                                                                                             \
        }                                                                                                        \
    } while (0)

static void **address(void *library, const char *function) {
    static void *found;
    found = dlsym(library, function);
    if (!found) {
        fprintf(stderr, "no %s: %s\n", function, dlerror());
        exit(1);
    }
    return &found;
}

/* Each build is loaded into its own namespace and has its own globals. */
static void load(side *s, const char *name) {
    char path[4096];
    s->name = name;
    snprintf(path, sizeof path, "%s/libplimsoll.so", text(name, "."));
    s->library = dlmopen(LM_ID_NEWLM, path, RTLD_NOW);
    if (!s->library) {
        fprintf(stderr, "%s\n", dlerror());
        exit(1);
    }
    const size_t layers = whole("layers", 2), draws = whole("sample", 400);
    const char *sample = text("sample", "400");
    CHECK_OF(s, plim_graph_load, text("data", ""), &s->graph);
    if (!whole("raw", 0)) CHECK_OF(s, plim_graph_normalize_features, s->graph);
    size_t widths[3] = {OF(s, plim_graph_num_features)(s->graph), 16, OF(s, plim_graph_num_classes)(s->graph)};
    if (layers == 1) widths[1] = widths[2];
    const size_t sizes[2] = {layers == 1 ? draws : 0, draws};
    CHECK_OF(s, plim_model_gcn, widths, layers + 1, 0, &s->model);
    CHECK_OF(s, plim_model_set_threads, s->model, whole("threads", 1));
    if (!strcmp(sample, "full")) {
        CHECK_OF(s, plim_estimator_full, &s->estimator);
    } else if (!strcmp(sample, "unbiased")) {
        CHECK_OF(s, plim_estimator_unbiased, &s->estimator);
    } else {
        CHECK_OF(s, plim_estimator_consistent, sizes, layers, &s->estimator);
    }
    CHECK_OF(s, plim_optimizer_sgd, real("step", 0.1), &s->optimizer);
    CHECK_OF(s, plim_optimizer_set_schedule, s->optimizer, PLIM_SCHEDULE_INVERSE_SQRT);
    CHECK_OF(s, plim_train_options_new, &s->options);
    CHECK_OF(s, plim_train_options_set_evaluate_every, s->options, 0);
}

/* Appends the seconds of this many epochs to those of the turns before. */
static void train(side *s, size_t epochs) {
    plim_history *history = NULL;
    CHECK_OF(s, plim_train_options_set_epochs, s->options, epochs);
    CHECK_OF(s, plim_train, s->model, s->graph, s->estimator, s->optimizer, s->options, &history);
    CHECK_OF(s, plim_history_copy, history, PLIM_HISTORY_SECONDS, s->seconds + s->count, epochs);
    OF(s, plim_history_free)(history);
    s->count += epochs;
}

int main(int argc, char **argv) {
    num_arguments = argc, arguments = argv;
    const size_t turns = whole("turns", 100);
    side sides[2] = {{0}, {0}};
    load(&sides[0], "before");
    load(&sides[1], "after");
    double warm_up[2][4] = {{0}, {0}};
    for (size_t i = 0; i < 2; i++) {
        sides[i].seconds = warm_up[i];
        train(&sides[i], 4);
    }
    size_t epochs = (size_t)(0.02 / (warm_up[0][3] > 1e-9 ? warm_up[0][3] : 1e-9));
    epochs = epochs < 2 ? 2 : epochs > 500 ? 500 : epochs;
    for (size_t i = 0; i < 2; i++) sides[i].seconds = room(turns * epochs, sizeof(double)), sides[i].count = 0;
    for (size_t turn = 0; turn < turns; turn++) {
        train(&sides[turn % 2], epochs);
        train(&sides[1 - turn % 2], epochs);
    }
    for (size_t i = 0; i < 2; i++) {
        double *seconds = sides[i].seconds;
        const size_t count = sides[i].count;
        qsort(seconds, count, sizeof *seconds, compare_reals);
        printf("%s\"%s\": {\"epochs\": %zu, \"min_s\": %.9g, \"twentieth_s\": %.9g, \"median_s\": %.9g}", i ? ", " : "{",
            sides[i].name, count, seconds[0], seconds[count / 20], seconds[count / 2]);
    }
    printf("}\n");
    return 0;
}
