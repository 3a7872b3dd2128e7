/* Trains by Adam until the test accuracy reaches a bound; prints the seconds of the training steps as a JSON line.

       time_to_accuracy data=pubmed.npz accuracy=0.87 sample=400 distribution=0 step=0.1 seed=0

   Two layers, 16 wide, batches of 256. The accuracy is computed after each epoch; its time does not count. */
#include "bench.h"

struct run {
    plim_model *model;
    const plim_graph *graph;
    double wanted, seconds, accuracy;
    size_t epoch;
};

static int32_t look(void *user_data, const plim_progress *p) {
    struct run *run = user_data;
    if (p->step < p->num_steps) return 0;
    CHECK(plim_model_evaluate(run->model, run->graph, PLIM_SPLIT_TEST, NULL, &run->accuracy));
    run->seconds = p->seconds;
    run->epoch = p->epoch;
    return run->accuracy >= run->wanted;
}

int main(int argc, char **argv) {
    num_arguments = argc, arguments = argv;
    const uint64_t seed = whole("seed", 0);
    plim_graph *graph = NULL;
    plim_optimizer *optimizer = NULL;
    plim_train_options *options = NULL;

    CHECK(plim_graph_load(text("data", ""), &graph));
    if (!whole("raw", 0)) CHECK(plim_graph_normalize_features(graph));
    plim_model *model = make_model(graph, 2, 16, whole("threads", 1), seed);
    plim_estimator *estimator = make_estimator(text("sample", "400"), 2, (int32_t)whole("distribution", 0), seed);
    struct run run = {model, graph, real("accuracy", 0.87), 0, 0, 0};
    CHECK(plim_optimizer_adam(real("step", 0.1), &optimizer));
    CHECK(plim_train_options_new(&options));
    CHECK(plim_train_options_set_epochs(options, whole("epochs", 200)));
    CHECK(plim_train_options_set_seed(options, seed));
    CHECK(plim_train_options_set_evaluate_every(options, 0));
    CHECK(plim_train_options_set_progress(options, look, &run));
    const plim_status status = plim_train(model, graph, estimator, optimizer, options, NULL);
    if (status != PLIM_ERROR_CANCELLED) CHECK(status);
    printf("{\"engine\": \"plimsoll\", \"seconds\": %.9g, \"epochs\": %zu, \"accuracy\": %.6g, \"reached\": %s}\n",
        run.seconds, run.epoch, run.accuracy, run.accuracy >= run.wanted ? "true" : "false");
    return 0;
}
