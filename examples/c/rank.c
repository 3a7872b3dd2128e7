/* Learns to rank from a file in LETOR's format: `rank [train.txt]`. Without an argument it writes a small file. */
#include "check.h"
#include <plimsoll.h>
#include <stdio.h>
#include <stdlib.h>

enum { QUERIES = 200, DOCUMENTS = 20, FEATURES = 8, HIDDEN = 8 };

static double unit(void) {
    static uint64_t state = 1;
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (double)(state >> 11) / 9007199254740992.0;
}

/* Writes documents whose relevance, 0 to 3, depends on two features, their product and chance. */
static int write_sample(const char *path) {
    FILE *file = fopen(path, "w");
    int q, d, k;
    if (file == NULL) return 0;
    fprintf(file, "# relevance, query, features\n");
    for (q = 1; q <= QUERIES; q++) {
        for (d = 0; d < DOCUMENTS; d++) {
            double x[FEATURES], score;
            for (k = 0; k < FEATURES; k++) x[k] = 2 * unit() - 1;
            score = x[0] + x[1] + x[0] * x[1] + 0.5 * unit();
            fprintf(file, "%d qid:%d", score > 1.3 ? 3 : score > 0.7 ? 2 : score > 0 ? 1 : 0, q);
            for (k = 0; k < FEATURES; k++) fprintf(file, " %d:%.4f", k + 1, x[k]);
            fprintf(file, " # document %d\n", d);
        }
    }
    return fclose(file) == 0;
}

int main(int argc, char **argv) {
    const char *path = argc > 1 ? argv[1] : "rank.txt";
    size_t widths[3] = {0, HIDDEN, 1}, num_queries, num_train = 0, num_val = 0, q;
    double before, after = 0, accuracy;
    int32_t *train = NULL, *val = NULL;
    plim_rank_data *data = NULL;
    plim_model *model = NULL;
    plim_estimator *estimator = NULL;
    plim_optimizer *optimizer = NULL;
    plim_train_options *options = NULL;
    plim_history *history = NULL;
    plim_status status;

    if (argc < 2 && !write_sample(path)) {
        perror(path);
        return 1;
    }
    CHECK(plim_rank_data_load(path, 0 /* the number of features in the file */, &data));
    num_queries = plim_rank_data_num_queries(data);
    printf("%zu queries, %zu documents, %zu features\n", num_queries, plim_rank_data_num_documents(data),
        plim_rank_data_num_features(data));

    /* Every fifth query is for validation; the others are for training. */
    train = malloc(num_queries * sizeof *train);
    val = malloc(num_queries * sizeof *val);
    if (train == NULL || val == NULL) {
        status = PLIM_ERROR_OUT_OF_MEMORY;
        goto cleanup;
    }
    for (q = 0; q < num_queries; q++) {
        if (q % 5 == 4) val[num_val++] = (int32_t)q;
        else train[num_train++] = (int32_t)q;
    }
    CHECK(plim_rank_data_set_split(data, PLIM_SPLIT_TRAIN, train, num_train));
    CHECK(plim_rank_data_set_split(data, PLIM_SPLIT_VAL, val, num_val));
    CHECK(plim_rank_data_standardize(data, NULL /* by its own training documents */));

    /* One output, the score. {features, 1} would be a linear scorer. */
    widths[0] = plim_rank_data_num_features(data);
    CHECK(plim_model_gcn(widths, 3, 1 /* seed */, &model));
    CHECK(plim_rank_evaluate(model, data, PLIM_SPLIT_VAL, NULL, NULL, &before));

    /* Draws 4 documents that rank above and 4 that rank below another one, per query, and uses all ranked pairs. */
    CHECK(plim_estimator_separate(4, 0 /* fixed weights: unbiased */, &estimator));
    CHECK(plim_optimizer_adam(0.01, &optimizer));
    CHECK(plim_train_options_new(&options));
    CHECK(plim_train_options_set_batch_size(options, 16));
    CHECK(plim_train_options_set_epochs(options, 60));
    CHECK(plim_train_options_set_monitor(options, PLIM_MONITOR_VAL_NDCG));
    CHECK(plim_train_options_set_patience(options, 15));
    CHECK(plim_rank_train(model, data, estimator, optimizer, options, &history));
    CHECK(plim_rank_evaluate(model, data, PLIM_SPLIT_VAL, NULL, &accuracy, &after));
    printf("NDCG@10 %.3f before, %.3f after training; %.1f %% of pairs in the right order\n", before, after, 100 * accuracy);
    printf("%zu epochs, the best was %zu\n", plim_history_num_epochs(history), plim_history_best_epoch(history));
    if (argc < 2 && !(after > 0.9 && after > before + 0.1)) {
        fprintf(stderr, "it learned too little\n");
        status = PLIM_ERROR_INTERNAL;
    }

cleanup:
    plim_history_free(history);
    plim_train_options_free(options);
    plim_optimizer_free(optimizer);
    plim_estimator_free(estimator);
    plim_model_free(model);
    plim_rank_data_free(data);
    free(val);
    free(train);
    return status == PLIM_OK ? 0 : 1;
}
