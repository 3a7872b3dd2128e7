/* One cell of the comparison, through the C interface: trains, and prints the seconds of an epoch's steps as a JSON line.

       cells data=pubmed.npz layers=2 sample=400 threads=1 step=10
       cells mixture=file.npz                writes the built-in Mixture graph

   raw=1 does not normalise the features; cache=0 does not cache ÂX. Epochs run for `seconds`, between `least` and `most` of
   them, after a warm-up that computes ÂX; epochs=… fixes their number. Under callgrind only these epochs count. */
#include "bench.h"

static double peak_heap;

static int32_t look(void *user_data, const plim_progress *progress) {
    (void)user_data, (void)progress;
    const double heap = heap_bytes();
    if (heap > peak_heap) peak_heap = heap;
    return 0;
}

int main(int argc, char **argv) {
    num_arguments = argc, arguments = argv;
    const size_t layers = whole("layers", 2), threads = whole("threads", 1), least = whole("least", 5);
    const char *data = text("data", NULL), *sample = text("sample", "400");
    plim_graph *graph = NULL;
    plim_optimizer *optimizer = NULL;
    plim_train_options *options = NULL;
    plim_history *history = NULL;

    if (text("mixture", NULL)) {
        CHECK(plim_graph_from_mixture(2000, 1, &graph));
        CHECK(plim_graph_save(graph, text("mixture", NULL)));
        return 0;
    }
    if (!data) {
        fprintf(stderr, "cells data=FILE.npz [layers=2] [sample=400|unbiased|full] [threads=1] [step=0.1] [raw=0]\n");
        return 2;
    }

    const double heap_before = heap_bytes();
    CHECK(plim_graph_load(data, &graph));
    if (!whole("raw", 0)) CHECK(plim_graph_normalize_features(graph));
    if (text("cache", NULL)) CHECK(plim_graph_set_cache(graph, whole("cache", 0)));
    const double graph_bytes = heap_bytes() - heap_before, load_peak = status_bytes("VmHWM");

    plim_model *model = make_model(graph, layers, 16, threads, 0);
    plim_estimator *estimator = make_estimator(sample, layers, PLIM_DISTRIBUTION_UNIFORM, 0);
    CHECK(plim_optimizer_sgd(real("step", 0.1), &optimizer));
    CHECK(plim_optimizer_set_schedule(optimizer, PLIM_SCHEDULE_INVERSE_SQRT));
    CHECK(plim_train_options_new(&options));
    CHECK(plim_train_options_set_evaluate_every(options, 0));
    CHECK(plim_train_options_set_progress(options, look, NULL));

    CHECK(plim_train_options_set_epochs(options, 2));
    CHECK(plim_train(model, graph, estimator, optimizer, options, &history));
    double warm_up[2];
    CHECK(plim_history_copy(history, PLIM_HISTORY_SECONDS, warm_up, 2));
    plim_history_free(history);

    const size_t most = whole("most", 5000);
    size_t epochs = (size_t)(real("seconds", 0.5) / (warm_up[1] > 1e-9 ? warm_up[1] : 1e-9));
    epochs = epochs > most ? most : epochs;
    epochs = epochs < least ? least : epochs;
    epochs = whole("epochs", epochs);
    CHECK(plim_train_options_set_epochs(options, epochs));
    const double cpu = clock_seconds(CLOCK_PROCESS_CPUTIME_ID);
    COUNT_START;
    CHECK(plim_train(model, graph, estimator, optimizer, options, &history));
    COUNT_STOP;
    const double cpu_seconds = (clock_seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu) / (double)epochs;

    double *seconds = room(epochs, sizeof *seconds), *losses = room(epochs, sizeof *losses);
    CHECK(plim_history_copy(history, PLIM_HISTORY_SECONDS, seconds, epochs));
    CHECK(plim_history_copy(history, PLIM_HISTORY_BATCH_LOSS, losses, epochs));
    const double middle = median(seconds, epochs);
    printf("{\"engine\": \"plimsoll\", \"isa\": \"%s\", \"threads\": %zu, \"epochs\": %zu, \"median_s\": %.9g, "
           "\"min_s\": %.9g, \"cpu_s\": %.9g, \"loss\": %.9g, \"rss_mb\": %.3f, \"load_rss_mb\": %.3f, "
           "\"graph_bytes\": %.0f, \"training_bytes\": %.0f}\n",
        plim_isa(), threads, epochs, middle, seconds[0], cpu_seconds, losses[epochs - 1], status_bytes("VmHWM") / 1e6,
        load_peak / 1e6, graph_bytes, peak_heap - heap_before - graph_bytes);
    return 0;
}
