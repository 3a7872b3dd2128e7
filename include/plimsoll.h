/**
 * @file plimsoll.h
 *
 * Plimsoll: training and running graph neural networks inside a C or C++ program.
 *
 *     plim_graph      edges, features, labels, and the nodes to train, validate and test on
 *     plim_layers     the operations of a model, for other models than the plain GCN
 *     plim_model      a graph neural network: parameters, predictions
 *     plim_estimator  gradients of the model: exact ones, or estimates from a few sampled nodes
 *     plim_optimizer  updates the model's parameters: SGD or Adam
 *     plim_history    what plim_train() recorded in each epoch
 *
 * A complete program, which trains a model on a path of four nodes:
 *
 *     #include <plimsoll.h>
 *     #include <stdio.h>
 *
 *     int main(void) {
 *         const int32_t from[] = {0, 1, 2}, to[] = {1, 2, 3};
 *         const int32_t labels[] = {0, -1, -1, 1}, train[] = {0, 3};
 *         const float features[] = {1, 0, 1, 0, 0, 1, 0, 1};
 *         const size_t widths[] = {2, 8, 2};
 *         float p[4 * 2];
 *         plim_graph *graph = NULL;
 *         plim_model *model = NULL;
 *         plim_estimator *estimator = NULL;
 *         plim_optimizer *optimizer = NULL;
 *         plim_status s = plim_graph_from_edges(4, 3, from, to, NULL, &graph);
 *         if (!s) s = plim_graph_set_features(graph, 2, features);
 *         if (!s) s = plim_graph_set_labels(graph, labels);
 *         if (!s) s = plim_graph_set_split(graph, PLIM_SPLIT_TRAIN, train, 2);
 *         if (!s) s = plim_model_gcn(widths, 3, 1, &model);
 *         if (!s) s = plim_estimator_full(&estimator);
 *         if (!s) s = plim_optimizer_adam(0.01, &optimizer);
 *         if (!s) s = plim_train(model, graph, estimator, optimizer, NULL, NULL);
 *         if (!s) s = plim_model_predict(model, graph, NULL, 0, p, 8);
 *         if (s) fprintf(stderr, "%s: %s\n", plim_status_name(s), plim_last_error());
 *         for (int v = 0; !s && v < 4; v++) printf("%d: %.3f %.3f\n", v, p[2 * v], p[2 * v + 1]);
 *         plim_optimizer_free(optimizer);
 *         plim_estimator_free(estimator);
 *         plim_model_free(model);
 *         plim_graph_free(graph);
 *         return s != PLIM_OK;
 *     }
 *
 * Errors. A function that can fail returns a plim_status: PLIM_OK (0) or a PLIM_ERROR_ constant.
 * plim_last_error() then returns the reason, with argument, index and value: "targets[3] = 9 is
 * outside [0, 5)". A call that fails leaves out-parameters and objects as they were; the entries of
 * plim_train() and plim_optimizer_minimize() list the exceptions. The library never prints, and
 * never calls abort() or exit().
 *
 * Common errors. These can come from any function and are not listed again in its entry, unless it
 * adds a cause: PLIM_ERROR_NULL_POINTER, PLIM_ERROR_INVALID_ARGUMENT, PLIM_ERROR_BUFFER_TOO_SMALL,
 * PLIM_ERROR_OUT_OF_MEMORY, PLIM_ERROR_POISONED, PLIM_ERROR_INVALID_HANDLE, PLIM_ERROR_BUSY and
 * PLIM_ERROR_INTERNAL. Each is explained where it is defined.
 *
 * Handles. You own every handle that a function stores in its last parameter, `plim_x **out`. Free
 * it with plim_x_free(), which ignores NULL. A handle that is not live (freed, of another type, or
 * never a handle) is safe to pass: functions fail with PLIM_ERROR_INVALID_HANDLE, getters return 0.
 *
 * Arrays. Arrays and strings are copied; you can free them after the call. Only
 * plim_graph_view_csr() and plim_graph_view_features() borrow yours, until a release callback runs.
 *
 * Buffers. Results are written to your buffers. A `capacity` counts elements, not bytes. If it is
 * too small, the call fails with PLIM_ERROR_BUFFER_TOO_SMALL and writes nothing.
 *
 * NULL. A pointer may be NULL if its description says so, and an array also if its length is 0.
 * Where (NULL, 0) stands for all nodes, a non-NULL pointer with length 0 is an empty list.
 *
 * Options. Setters check their value at once. A call copies its options when it starts. A switch
 * (`int32_t on`) is off for 0 and on for any other value.
 *
 * Threads. Any number of threads can use a handle as `const plim_x *` at the same time. A call that
 * takes `plim_x *` requires exclusive access. No call waits for a handle: if another call is in the
 * way, it fails with PLIM_ERROR_BUSY. It is safe to free a handle during a call on another thread;
 * the object is destroyed when that call returns. Handles are not bound to a thread.
 *
 * Callbacks. A callback runs on the thread of the call that uses it, and receives the `user_data`
 * that was set with it. Return 0 to continue, anything else to cancel: the call then fails with
 * PLIM_ERROR_CANCELLED. plim_log_fn and plim_release_fn return nothing. No exception and no longjmp
 * may leave a callback. Function and data must stay valid as long as a call can use them.
 *
 * Determinism. The same seeds, the same build and the same plim_isa() produce the same bits, for
 * any number of threads.
 *
 * Seeds. A seed is any uint64_t. There is one each for the initial parameters (plim_model_gcn(),
 * plim_model_new()), the order of batches (plim_train_options_set_seed()), the draws and dropout of
 * an estimator (plim_estimator_set_seed()), and the draws of a measurement
 * (plim_probe_options_set_seed()).
 *
 * Files. A file that is written appears whole or not at all. It replaces a regular file of that name
 * and keeps its mode and, if the process may, its owner and group. A symbolic link stays, and the
 * file that it leads to is replaced or created. A directory, a pipe, a device or a socket of that
 * name stays as it is, and the call fails with PLIM_ERROR_IO. A directory that is written replaces
 * an empty one in the same way. Only regular files are read.
 *
 * Types. Node ids are int32_t, offsets int64_t, counts size_t, and data float, row-major. Numbers
 * must be finite unless an entry allows INFINITY. Paths are non-empty strings, passed to the
 * operating system as they are. Texts are UTF-8. The value of a constant never changes.
 *
 * Notation. A is the adjacency matrix with edge weights, Â the normalised one, X the features, H(l)
 * the input of layer l, W(l) its weights, and W all parameters. The norm ‖·‖ is Euclidean. A
 * gradient g has the relative error ‖g−h‖/‖h‖, where h is the exact gradient.
 *
 * Other languages. A handle is a 64-bit number in the form of a pointer, with nothing stored at
 * that address. Protect callbacks from the garbage collector as long as a call can use them. The
 * text of plim_last_error() belongs to the thread of the failed call, so read it there. See
 * docs/node.md and docs/java.md.
 */

#ifndef PLIMSOLL_H
#define PLIMSOLL_H

/* Generated by cbindgen from src/capi; `make header` rewrites it. */

#include <stddef.h>
#include <stdint.h>

#define PLIM_VERSION_MAJOR 0
#define PLIM_VERSION_MINOR 1
#define PLIM_VERSION_PATCH 0
#define PLIM_VERSION "0.1.0"

/**
 * The nodes, or queries, to train on.
 */
#define PLIM_SPLIT_TRAIN 0

/**
 * The nodes, or queries, that decide which epoch is best.
 */
#define PLIM_SPLIT_VAL 1

/**
 * The nodes, or queries, to report results on. Training does not read this split.
 */
#define PLIM_SPLIT_TEST 2

/**
 * Â = D^-1/2 (A + I) D^-1/2, where D holds the row sums of A + I. The default, except after
 * plim_graph_view_csr().
 */
#define PLIM_NORMALIZATION_SYMMETRIC 0

/**
 * Â = D^-1 (A + I), where D holds the row sums of A + I.
 */
#define PLIM_NORMALIZATION_ROW 1

/**
 * Â = A, without adding I.
 */
#define PLIM_NORMALIZATION_NONE 2

/**
 * Σ_u a_vu h_u / Σ_u a_vu, over the neighbours u of v with edge weights a_vu; 0 where Σ_u a_vu is 0.
 */
#define PLIM_AGGREGATOR_MEAN 0

/**
 * Σ_u a_vu h_u.
 */
#define PLIM_AGGREGATOR_SUM 1

/**
 * The largest number of each column over the neighbours, without weights; 0 without neighbours. Of
 * equal numbers, the neighbour with the lowest id receives the gradient.
 */
#define PLIM_AGGREGATOR_MAX 2

/**
 * The smallest number of each column over the neighbours, without weights; 0 without neighbours. Of
 * equal numbers, the neighbour with the lowest id receives the gradient.
 */
#define PLIM_AGGREGATOR_MIN 3

/**
 * The columns of the first head, then those of the second, and so on.
 */
#define PLIM_HEADS_CONCAT 0

/**
 * The mean of all heads, column by column.
 */
#define PLIM_HEADS_MEAN 1

/**
 * max(x, 0).
 */
#define PLIM_ACTIVATION_RELU 0

/**
 * x, or 0.01 x where x < 0.
 */
#define PLIM_ACTIVATION_LEAKY_RELU 1

/**
 * x, or e^x - 1 where x < 0.
 */
#define PLIM_ACTIVATION_ELU 2

/**
 * x Φ(x), where Φ is the distribution function of the standard normal distribution.
 */
#define PLIM_ACTIVATION_GELU 3

/**
 * tanh(x).
 */
#define PLIM_ACTIVATION_TANH 4

/**
 * 1 / (1 + e^-x).
 */
#define PLIM_ACTIVATION_SIGMOID 5

/**
 * Mean and variance of each row, over its columns.
 */
#define PLIM_NORM_LAYER 0

/**
 * Mean and variance of each column, over nodes.
 */
#define PLIM_NORM_BATCH 1

/**
 * All nodes, each with the same probability. The default.
 */
#define PLIM_DISTRIBUTION_UNIFORM 0

/**
 * All nodes; the probability of u is proportional to ‖Â(:,u)‖².
 */
#define PLIM_DISTRIBUTION_IMPORTANCE 1

/**
 * Only the nodes that the layer aggregates from, each with the same probability.
 */
#define PLIM_DISTRIBUTION_NEIGHBORS 2

/**
 * Only the nodes that the layer aggregates from; the probability of u is proportional to ‖Â(R,u)‖²,
 * where R are the nodes whose outputs the layer computes.
 */
#define PLIM_DISTRIBUTION_LADIES 3

/**
 * The mean of the estimate over batches and draws is the gradient over all training nodes or
 * queries.
 */
#define PLIM_PROPERTY_UNBIASED 1

/**
 * The estimate converges to the exact gradient of the batch as the sample sizes grow.
 */
#define PLIM_PROPERTY_CONSISTENT 2

/**
 * The estimate is the gradient over all training nodes or queries.
 */
#define PLIM_PROPERTY_EXACT 4

/**
 * The step of the k-th update is γ_k = γ. The default.
 */
#define PLIM_SCHEDULE_CONSTANT 0

/**
 * The step of the k-th update is γ_k = γ / k.
 */
#define PLIM_SCHEDULE_INVERSE 1

/**
 * The step of the k-th update is γ_k = γ / √k.
 */
#define PLIM_SCHEDULE_INVERSE_SQRT 2

/**
 * A schedule's time t is the number of updates so far: k − 1.
 */
#define PLIM_UNIT_UPDATES 0

/**
 * A schedule's time t is the number of epochs so far. plim_train() and plim_rank_train() count them;
 * in your own loop, plim_optimizer_end_epoch() does.
 */
#define PLIM_UNIT_EPOCHS 1

/**
 * The call is about to fail. The message is the one that plim_last_error() will return.
 */
#define PLIM_LOG_ERROR 0

/**
 * The call continues, but not quite as requested, or at a cost.
 */
#define PLIM_LOG_WARNING 1

/**
 * What the call does and why, including that it was cancelled: a few lines per call, and one per
 * checkpoint.
 */
#define PLIM_LOG_INFO 2

/**
 * One line per epoch, and per sample size that is tried.
 */
#define PLIM_LOG_DEBUG 3

/**
 * Loss over all training nodes after the epoch, exact and without the penalty of λ.
 */
#define PLIM_HISTORY_TRAIN_LOSS 0

/**
 * Loss over the validation nodes after the epoch, exact and without the penalty of λ.
 */
#define PLIM_HISTORY_VAL_LOSS 1

/**
 * Accuracy over the validation nodes after the epoch.
 */
#define PLIM_HISTORY_VAL_ACCURACY 2

/**
 * Seconds of the epoch's training steps, without evaluation and callbacks.
 */
#define PLIM_HISTORY_SECONDS 3

/**
 * Mean over the epoch's batches of their estimated objective, with the penalty of λ.
 */
#define PLIM_HISTORY_BATCH_LOSS 4

/**
 * Mean over the epoch's steps of the sample size, if sampling is adaptive.
 */
#define PLIM_HISTORY_SAMPLE_SIZE 5

/**
 * Last estimate of the gradient's relative error at the end of the epoch, if sampling is adaptive.
 */
#define PLIM_HISTORY_ERROR 6

/**
 * Mean NDCG over the validation queries after the epoch, in plim_rank_train().
 */
#define PLIM_HISTORY_VAL_NDCG 7

/**
 * The best epoch has the highest accuracy over the validation nodes. The default.
 */
#define PLIM_MONITOR_VAL_ACCURACY 0

/**
 * The best epoch has the lowest loss over the validation nodes, without the penalty of λ.
 */
#define PLIM_MONITOR_VAL_LOSS 1

/**
 * The best epoch has the lowest loss over all training nodes, without the penalty of λ. No
 * validation split is required.
 */
#define PLIM_MONITOR_TRAIN_LOSS 2

/**
 * The best epoch has the highest mean NDCG over the validation queries. Only for plim_rank_train().
 */
#define PLIM_MONITOR_VAL_NDCG 3

/**
 * Fraction of the gradients with a relative error of δ or more; one number per sample size and δ.
 */
#define PLIM_TAIL_PROBABILITY 0

/**
 * Lower limit of the 95 % Wilson interval of PLIM_TAIL_PROBABILITY; one number per sample size and
 * δ.
 */
#define PLIM_TAIL_LOWER 1

/**
 * Upper limit of the 95 % Wilson interval of PLIM_TAIL_PROBABILITY; one number per sample size and
 * δ.
 */
#define PLIM_TAIL_UPPER 2

/**
 * Error, the root mean square of ‖g−h‖/‖h‖; one number per sample size. error² = bias² +
 * deviation².
 */
#define PLIM_TAIL_ERROR 3

/**
 * Bias, ‖E g − h‖/‖h‖, which averaging does not reduce; one number per sample size. 0 if it is lost
 * in the noise.
 */
#define PLIM_TAIL_BIAS 4

/**
 * Deviation, the root mean square of ‖g − E g‖/‖h‖, which averaging reduces; one number per sample
 * size.
 */
#define PLIM_TAIL_DEVIATION 5

/**
 * The smallest sample size that meets the goal; 0 if none does.
 */
#define PLIM_PLAN_SAMPLE_SIZE 0

/**
 * Fraction of the gradients of the planned size with a relative error of δ or more; NaN if no size
 * meets the goal.
 */
#define PLIM_PLAN_MISSES 1

/**
 * Upper limit of the 95 % Wilson interval of PLIM_PLAN_MISSES; NaN if no size meets the goal.
 */
#define PLIM_PLAN_UPPER 2

/**
 * Seconds per gradient of the planned size; NaN if no size meets the goal.
 */
#define PLIM_PLAN_SECONDS 3

/**
 * Seconds per exact gradient of the same nodes: all training nodes, or the batch of the options.
 */
#define PLIM_PLAN_EXACT_SECONDS 4

/**
 * Seconds per unbiased gradient of a batch of PLIM_PLAN_UNBIASED_BATCH nodes or queries.
 */
#define PLIM_PLAN_UNBIASED_SECONDS 5

/**
 * The first of the batch sizes 32, 64, 128, … whose unbiased gradients meet the goal, judged by at
 * most 200 of them; all nodes or queries if none does.
 */
#define PLIM_PLAN_UNBIASED_BATCH 6

/**
 * C of the fitted tail; NaN if no fit was required.
 */
#define PLIM_PLAN_C 7

/**
 * τ of the fitted tail; NaN if no fit was required.
 */
#define PLIM_PLAN_TAU 8

/**
 * r² of the fitted tail; NaN if no fit was required.
 */
#define PLIM_PLAN_R_SQUARED 9

/**
 * Number of bytes that hold every text of plim_plan_describe().
 */
#define PLIM_PLAN_TEXT_SIZE 512

/**
 * A document of relevance y adds 2^y − 1 to DCG, as in LETOR. The default.
 */
#define PLIM_RANK_GAIN_EXPONENTIAL 0

/**
 * A document of relevance y adds y to DCG, as in scikit-learn's ndcg_score().
 */
#define PLIM_RANK_GAIN_LINEAR 1

/**
 * Mean over the pairs of a query of log(1 + exp(s_j − s_i)), where i ranks above j; NaN without a
 * pair.
 */
#define PLIM_RANK_MEASURE_LOSS 0

/**
 * Fraction of the pairs of a query whose scores are in the right order, equal scores counting half;
 * NaN without a pair.
 */
#define PLIM_RANK_MEASURE_ACCURACY 1

/**
 * NDCG of a query, as plim_rank_data_set_ndcg() defines it; 0 if no document is relevant.
 */
#define PLIM_RANK_MEASURE_NDCG 2

/**
 * The first line shows the separator: a comma if it has one outside of quotes, else a semicolon, else
 * blanks, where several spaces and tabs count as one. The default.
 *
 * If ids are names, a tab comes before blanks, and a first line with two of comma, semicolon and tab
 * is an error.
 */
#define PLIM_SEPARATOR_AUTO 0

/**
 * If ids are numbers, the first line is a header if none of its fields is a number. The log says so.
 * If ids are names, nothing tells a header from an edge: the call fails unless columns have names. The
 * default.
 */
#define PLIM_HEADER_AUTO 0

/**
 * The first line is a header. The call fails if one of its fields is a number, unless columns have
 * names.
 */
#define PLIM_HEADER_YES 1

/**
 * The first line is an edge.
 */
#define PLIM_HEADER_NO 2

/**
 * The weights of a repeated edge are added. Without weights it has weight 1, however often it is
 * listed. The default.
 */
#define PLIM_REPEATED_SUM 0

/**
 * The weight of an edge is the number of lines that list it. There is no column of weights; a third of
 * three columns is not read.
 */
#define PLIM_REPEATED_COUNT 1

/**
 * The first weight in the file stays.
 */
#define PLIM_REPEATED_FIRST 2

/**
 * The largest weight stays.
 */
#define PLIM_REPEATED_MAX 3

/**
 * Options of plim_graph_from_edge_list_with(). Free them with plim_edge_list_options_free().
 */
typedef struct plim_edge_list_options plim_edge_list_options;

/**
 * Computes or estimates gradients of a model. Free it with plim_estimator_free().
 */
typedef struct plim_estimator plim_estimator;

/**
 * A graph: edges, features, labels and splits. Free it with plim_graph_free().
 */
typedef struct plim_graph plim_graph;

/**
 * What training recorded, epoch by epoch. Free it with plim_history_free().
 */
typedef struct plim_history plim_history;

/**
 * The names of nodes: a table from names to node ids and back. Free it with plim_ids_free().
 *
 * plim_graph_from_edge_list_with() makes one. The name of node v was the v-th in the file that was new.
 */
typedef struct plim_ids plim_ids;

/**
 * The operations of a model, in the order in which you append them. Free it with plim_layers_free().
 *
 * plim_model_new() makes a model of them. GraphSAGE with dropout, for 8 features and 3 classes:
 *
 *     plim_layers *layers = NULL;
 *     plim_model *model = NULL;
 *     plim_status s = plim_layers_new(8, &layers);
 *     if (!s) s = plim_layers_sage(layers, 16, PLIM_AGGREGATOR_MEAN);
 *     if (!s) s = plim_layers_activation(layers, PLIM_ACTIVATION_RELU);
 *     if (!s) s = plim_layers_dropout(layers, 0.5);
 *     if (!s) s = plim_layers_sage(layers, 3, PLIM_AGGREGATOR_MEAN);
 *     if (!s) s = plim_model_new(layers, 1, &model);
 *     plim_layers_free(layers);
 *
 * Values. Each operation makes a value: a matrix with one row per node. Value 0 is the features;
 * the operation appended as number i makes value i. An operation reads the last value, H in the
 * formulas. plim_layers_at() makes an earlier value the last one, for residuals and branches. The
 * last value is the output of the model, before the softmax. At most 1000 operations.
 *
 * Hops. Only plim_layers_gcn(), plim_layers_sage(), plim_layers_gin(), plim_layers_gat() and
 * plim_layers_aggregate() (one hop each) and plim_layers_propagate() (`hops` of them) look at
 * neighbours. A consistent estimator takes one sample size per hop, in the order of the operations. At
 * most 64 hops.
 *
 * Edges. plim_layers_gcn() and plim_layers_propagate() use Â: the normalisation, the edge weights
 * and the self-loops of the graph. plim_layers_sage(), plim_layers_gin() and plim_layers_aggregate()
 * use A, the edges with their weights as they are. PLIM_AGGREGATOR_MAX, PLIM_AGGREGATOR_MIN and
 * plim_layers_gat() use the edges without weights.
 *
 * Modes. Gradients and training run in training mode: dropout is on, and a batch norm uses the
 * statistics of the rows at hand. Predictions, evaluations and plim_model_embed_value() run in
 * evaluation mode: dropout is off, and a batch norm uses its running statistics, which only training
 * updates. Measurements switch dropout off.
 *
 * Names and meaning are those of PyTorch Geometric, with its defaults.
 */
typedef struct plim_layers plim_layers;

/**
 * A graph neural network and its parameters: a plain GCN, or one made of layers. Free it with plim_model_free().
 */
typedef struct plim_model plim_model;

/**
 * Moves parameters along gradients: SGD or Adam. Free it with plim_optimizer_free().
 */
typedef struct plim_optimizer plim_optimizer;

/**
 * How many draws suffice, and what they cost. Free it with plim_plan_free().
 */
typedef struct plim_plan plim_plan;

/**
 * Options of a measurement. Free them with plim_probe_options_free().
 */
typedef struct plim_probe_options plim_probe_options;

/**
 * Queries, their documents, and the relevance of each document. Free it with plim_rank_data_free().
 *
 * A model with one output scores documents. plim_model_gcn() creates it: with widths {136, 1} a
 * linear scorer, with {136, 32, 1} a perceptron with one hidden layer. Documents are not linked, so
 * each is scored on its own.
 */
typedef struct plim_rank_data plim_rank_data;

/**
 * How large the errors of an estimator's gradients were found to be. Free it with plim_tail_free().
 */
typedef struct plim_tail plim_tail;

/**
 * Options of plim_train() and plim_rank_train(). Free them with plim_train_options_free().
 */
typedef struct plim_train_options plim_train_options;

/**
 * Result of a call: PLIM_OK or a PLIM_ERROR_ constant.
 */
typedef int32_t plim_status;

/**
 * Called once when the library no longer needs arrays that it has borrowed.
 *
 * It runs on the thread whose call was the last to use the arrays. It may call functions of this
 * library, but not with the graph that borrowed them.
 *
 * @param user_data  the pointer that was passed with the arrays.
 */
typedef void (*plim_release_fn)(void *user_data);

/**
 * Computes the gradient of your own objective for plim_optimizer_minimize().
 *
 * It is called on the thread of that function. Return 0 to continue, anything else to stop.
 *
 * @param user_data  the pointer passed to plim_optimizer_minimize().
 * @param step       1, 2, …
 * @param w          `dim` values, the present iterate; valid during the call only.
 * @param gradient   `dim` zeros, to be overwritten with the gradient at `w`; valid during the call
 *                   only.
 * @param dim        number of variables.
 */
typedef int32_t (*plim_oracle)(void *user_data,
                               size_t step,
                               const double *w,
                               double *gradient,
                               size_t dim);

/**
 * Progress of a training or a measurement.
 *
 * Later versions add fields at the end; `struct_size` says which ones are there. Losses, accuracy
 * and NDCG are NaN where they were not evaluated: within an epoch, in epochs that
 * plim_train_options_set_evaluate_every() skips, and in a measurement.
 */
typedef struct plim_progress {
    /**
     * sizeof(plim_progress) in the library that calls you.
     */
    size_t struct_size;
    /**
     * Training: the current epoch, from 1. Measurement: the current sample size, by its place from
     * 1.
     */
    size_t epoch;
    /**
     * Training: number of epochs. Measurement: number of sample sizes, which a planner can only
     * guess.
     */
    size_t num_epochs;
    /**
     * Training: steps completed in this epoch; `num_steps` at its end. Measurement: gradients drawn
     * of this sample size.
     */
    size_t step;
    /**
     * Training: steps per epoch. Measurement: gradients to draw of this sample size.
     */
    size_t num_steps;
    /**
     * Loss over all training nodes or queries after this epoch, or NaN.
     */
    double train_loss;
    /**
     * Loss over the validation nodes or queries, or NaN.
     */
    double val_loss;
    /**
     * Accuracy over the validation nodes, or over the pairs of the validation queries, or NaN.
     */
    double val_accuracy;
    /**
     * Seconds so far: of training steps, without evaluation and callbacks, or of the measurement.
     */
    double seconds;
    /**
     * Mean NDCG over the validation queries, or NaN; always NaN for a graph.
     */
    double val_ndcg;
} plim_progress;

/**
 * Receives progress. Return 0 to continue, anything else to cancel.
 *
 * In training it is called after each epoch and, within long epochs, at most every 0.5 seconds. In
 * a measurement it is called about every 0.2 seconds. `progress` is valid during the call only.
 *
 * Inside the callback, `const` calls on model and graph work, for example plim_model_save() and
 * plim_model_predict(); they see the parameters after the last step. Calls that would change these
 * objects fail with PLIM_ERROR_BUSY.
 *
 * @param user_data  the pointer that was set with the function.
 * @param progress   the progress.
 */
typedef int32_t (*plim_progress_fn)(void *user_data, const plim_progress *progress);

/**
 * Receives log messages.
 *
 * It is called on the thread of the call whose options have it, once per message. During plim_train()
 * or a measurement that is between steps, and the same calls work inside it as inside a
 * plim_progress_fn. It cannot cancel.
 *
 * Do not parse messages: their wording may change with any release. Statuses, plim_history and
 * plim_progress hold what a program can act on.
 *
 * @param user_data  the pointer that was set with the function.
 * @param level      PLIM_LOG_ERROR, PLIM_LOG_WARNING, PLIM_LOG_INFO or PLIM_LOG_DEBUG.
 * @param message    one line of UTF-8 without a newline, terminated by NUL; valid during the call
 *                   only.
 */
typedef void (*plim_log_fn)(void *user_data, int32_t level, const char *message);

/**
 * Success.
 */
#define PLIM_OK 0

/**
 * A required pointer is NULL.
 */
#define PLIM_ERROR_NULL_POINTER 1

/**
 * An argument is outside the range that the function's entry states, or a pointer is not aligned
 * for its type.
 */
#define PLIM_ERROR_INVALID_ARGUMENT 2

/**
 * Two arguments do not fit each other, for example the model's input width and the number of
 * features.
 */
#define PLIM_ERROR_SHAPE_MISMATCH 3

/**
 * The graph or the ranking data lack features, labels or a split that the call requires.
 */
#define PLIM_ERROR_MISSING_DATA 4

/**
 * `capacity` is too small; plim_last_error() names the number of elements that the result needs.
 */
#define PLIM_ERROR_BUFFER_TOO_SMALL 5

/**
 * A file cannot be read or written; plim_last_error() includes the operating system's reason.
 */
#define PLIM_ERROR_IO 6

/**
 * The content of a file is not valid for its format.
 */
#define PLIM_ERROR_BAD_FORMAT 7

/**
 * An allocation failed, a thread could not be started, or 2^23 handles are live.
 */
#define PLIM_ERROR_OUT_OF_MEMORY 8

/**
 * A loss, a gradient, a parameter or an output is not finite.
 */
#define PLIM_ERROR_DIVERGED 9

/**
 * A callback returned a non-zero value.
 */
#define PLIM_ERROR_CANCELLED 10

/**
 * An earlier call that was changing this object failed with PLIM_ERROR_INTERNAL. The handle can
 * only be freed.
 */
#define PLIM_ERROR_POISONED 11

/**
 * The object does not support the operation, for example an estimator for rankings on a graph.
 */
#define PLIM_ERROR_UNSUPPORTED 12

/**
 * A handle was freed, has another type, or never was a handle.
 */
#define PLIM_ERROR_INVALID_HANDLE 13

/**
 * A call that excludes this one is using the object. Retry when it has returned.
 */
#define PLIM_ERROR_BUSY 14

/**
 * A bug in this library, caught before it could harm the program. Please report it.
 */
#define PLIM_ERROR_INTERNAL 255

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/**
 * Returns the version of the library, "0.1.0". The string is static and never NULL.
 */
const char *plim_version(void);

/**
 * Returns the instruction set in use: "avx512", "avx2", "neon" or "portable". The string is static
 * and never NULL.
 *
 * The library selects the best one that the processor has, once per process. The environment
 * variable PLIM_ISA, read at the first use, can select a lower one; a name that is not available is
 * ignored. Results of two instruction sets agree to within 1e-5 of a gradient's norm.
 */
const char *plim_isa(void);

/**
 * Returns why the last failed call on this thread failed: which argument, which index, which value.
 *
 * The string is never NULL, and is "" before the first failure. A call that succeeds does not
 * change it. The pointer stays valid until the thread ends; the next failure on this thread
 * overwrites the text. Texts are cut after 1023 bytes.
 */
const char *plim_last_error(void);

/**
 * Returns the name of a status: "invalid argument" for PLIM_ERROR_INVALID_ARGUMENT. The string is
 * static and never NULL.
 *
 * @param status  any number; the name of one that is not a status is "unknown status".
 */
const char *plim_status_name(plim_status status);

/**
 * Creates a graph from undirected edges.
 *
 * (u, v) and (v, u) are the same edge. Repeated edges merge: their weights are added, and without
 * weights the merged edge has weight 1. A self-loop is one entry on the diagonal of A.
 *
 * @param num_nodes  number of nodes, 1 .. INT32_MAX; ids are 0 .. num_nodes - 1.
 * @param num_edges  number of edges; if 0, the arrays may be NULL.
 * @param sources    `num_edges` node ids.
 * @param targets    `num_edges` node ids.
 * @param weights    `num_edges` finite weights >= 0, or NULL for 1.
 * @param out        receives the graph; free it with plim_graph_free().
 *
 * @return PLIM_OK or a common error. plim_last_error() names the entry: "targets[3] = 9 is outside
 *         [0, 5)".
 */
plim_status plim_graph_from_edges(size_t num_nodes,
                                  size_t num_edges,
                                  const int32_t *sources,
                                  const int32_t *targets,
                                  const float *weights,
                                  plim_graph **out);

/**
 * Creates a graph from a matrix A in compressed sparse rows (CSR), directed or not.
 *
 * Row v lists the nodes that v aggregates from, in any order. Repeated entries merge, as repeated
 * edges do in plim_graph_from_edges().
 *
 * @param num_nodes  number of rows and columns, 1 .. INT32_MAX.
 * @param indptr     `num_nodes + 1` offsets; the first is 0, and none is less than the one before
 *                   it.
 * @param indices    `indptr[num_nodes]` column ids; may be NULL if there are none.
 * @param values     `indptr[num_nodes]` finite weights >= 0, or NULL for 1.
 * @param out        receives the graph; free it with plim_graph_free().
 *
 * @return PLIM_OK or a common error.
 */
plim_status plim_graph_from_csr(size_t num_nodes,
                                const int64_t *indptr,
                                const int32_t *indices,
                                const float *values,
                                plim_graph **out);

/**
 * Creates the Mixture graph of the paper: three overlapping Gaussians in the plane, one per class.
 *
 * The graph has 3 · `nodes_per_class` nodes, ordered by class, 2 features and the labels 0, 1, 2.
 * Two nodes of a class are linked with probability 1e-3 in each direction, two nodes of different
 * classes with probability 2e-4; a link in either direction makes an undirected edge. In each class
 * the first 40 % of the nodes are for training, the next 20 % for validation and the rest for
 * testing. The paper uses 2000 nodes per class. Time and memory grow linearly with nodes and edges.
 *
 * @param nodes_per_class  1 .. INT32_MAX / 3.
 * @param seed             the same seed creates the same graph.
 * @param out              receives the graph; free it with plim_graph_free().
 *
 * @return PLIM_OK or a common error.
 */
plim_status plim_graph_from_mixture(size_t nodes_per_class, uint64_t seed, plim_graph **out);

/**
 * Creates a graph that borrows a matrix in compressed sparse rows instead of copying it.
 *
 * The arrays must stay in place and unchanged until `release` is called. That happens once, when no
 * call uses the graph any more after plim_graph_free(), or earlier if the graph no longer needs the
 * arrays. If this function fails, `release` is not called and the arrays remain yours.
 *
 * The normalisation is PLIM_NORMALIZATION_NONE: Â is the matrix itself. Selecting another one makes
 * a copy. This call reads and checks every entry once.
 *
 * @param num_nodes  number of rows and columns, 1 .. INT32_MAX.
 * @param indptr     `num_nodes + 1` offsets; the first is 0, and none is less than the one before
 *                   it.
 * @param indices    `indptr[num_nodes]` column ids, strictly ascending in each row; may be NULL if
 *                   there are none. Use plim_graph_from_csr() for unsorted rows.
 * @param values     `indptr[num_nodes]` finite weights >= 0, or NULL for 1. With NULL the library
 *                   allocates an array of ones.
 * @param release    called when the arrays are no longer needed; may be NULL.
 * @param user_data  passed to `release`.
 * @param out        receives the graph; free it with plim_graph_free().
 *
 * @return PLIM_OK or a common error.
 */
plim_status plim_graph_view_csr(size_t num_nodes,
                                const int64_t *indptr,
                                const int32_t *indices,
                                const float *values,
                                plim_release_fn release,
                                void *user_data,
                                plim_graph **out);

/**
 * Reads undirected edges from a text file: CSV, TSV or columns of blanks, one edge a line.
 *
 * This is plim_graph_from_edge_list_with() with default options. A line has a source, a target and
 * perhaps a weight, separated by commas, semicolons, tabs or blanks. Ids count from 0. If no field of
 * the first line is a number, it is a header. It is skipped, as are blank lines and those that begin
 * with # or %. Repeated edges merge and self-loops count as in plim_graph_from_edges().
 *
 * @param path       a file name.
 * @param num_nodes  number of nodes; 0 for one more than the largest id in the file.
 * @param out        receives the graph; free it with plim_graph_free().
 *
 * @return PLIM_OK or a common error.
 *         PLIM_ERROR_IO: the file cannot be read.
 *         PLIM_ERROR_BAD_FORMAT: plim_last_error() names line and column.
 */
plim_status plim_graph_from_edge_list(const char *path,
                                      size_t num_nodes,
                                      plim_graph **out);

/**
 * Reads a graph from an .npz file or a Matrix Market file, or opens a store; which it is shows in its content.
 *
 * An .npz file is what NumPy's savez writes or plim_graph_save() does. Keys: `num_nodes`; `edges` [m, 2] and `self_loops` [k], with `edge_weights` [m] and `self_loop_weights` [k] if
 * weighted, or `adj_indptr`, `adj_indices` and, if weighted, `adj_values`; `features` [n, d], or `num_features` and `features_indptr`,
 * `features_indices`, `features_data`; `labels` [n], -1 for none; `num_classes`, if plim_graph_set_num_classes() has set
 * it; `train`, `val`, `test`; `normalization`. All but
 * the nodes and edges may be missing; other keys are ignored.
 *
 * A Matrix Market file holds the matrix in coordinates, of type real, integer or pattern. A symmetric one is undirected
 * edges, as for plim_graph_from_edges(); a general one is A by rows, as for plim_graph_from_csr().
 *
 * A store is a directory that plim_graph_save_store() or NumPy made. Its arrays are mapped into memory, not read: a graph may
 * be larger than memory, and sampled gradients touch only what they draw. Nothing may write to its files as long as the graph
 * lives; a file that is cut short meanwhile ends the process with SIGBUS. Offsets, ids and weights are checked once, here;
 * dense features are not, and one that is not finite shows as PLIM_ERROR_DIVERGED when it is used. A store that the library
 * wrote has checksums. They are compared here for all but the mapped arrays, and there by plim_graph_verify(). The bound of
 * plim_graph_set_cache() is 0 at first.
 *
 * @param path  a file name, or that of a store's directory.
 * @param out   receives the graph; release it with plim_graph_free(). Untouched unless PLIM_OK is returned.
 *
 * @return PLIM_OK, PLIM_ERROR_NULL_POINTER, PLIM_ERROR_INVALID_ARGUMENT (an empty path), PLIM_ERROR_IO (it cannot be
 *         read), PLIM_ERROR_BAD_FORMAT (it is none of these, or is damaged), PLIM_ERROR_UNSUPPORTED (a newer store, a Matrix
 *         Market file of another kind) or PLIM_ERROR_OUT_OF_MEMORY.
 */
plim_status plim_graph_load(const char *path,
                            plim_graph **out);

/**
 * Writes the graph as an .npz file that plim_graph_load() and numpy.load() read.
 *
 * The features are written as they are now. The file appears whole or not at all: an older one of that name stays
 * until the new one is complete.
 *
 * @param graph  the graph.
 * @param path   a file name, ending in .npz by custom.
 *
 * @return PLIM_OK, PLIM_ERROR_NULL_POINTER, PLIM_ERROR_INVALID_ARGUMENT (an empty path), PLIM_ERROR_IO (it cannot be
 *         written), PLIM_ERROR_INVALID_HANDLE or PLIM_ERROR_BUSY.
 */
plim_status plim_graph_save(const plim_graph *graph,
                            const char *path);

/**
 * Writes the graph as a store: a directory of .npy files and a meta.json that plim_graph_load() maps into memory.
 *
 * indptr.npy, indices.npy and values.npy hold Â, which is ready for use as it is; features.npy [n, d] (or
 * features_indptr.npy, features_indices.npy, features_data.npy), labels.npy, train.npy, val.npy and test.npy are as in an
 * .npz file. numpy.load(mmap_mode="r") reads each. meta.json has a CRC-32 of each file. The directory appears whole or not at
 * all.
 *
 * @param graph      the graph.
 * @param directory  a name that is not taken yet, or that of an empty directory.
 *
 * @return PLIM_OK, PLIM_ERROR_NULL_POINTER, PLIM_ERROR_INVALID_ARGUMENT (an empty name), PLIM_ERROR_IO (it cannot be written,
 *         or something else than an empty directory is there), PLIM_ERROR_INVALID_HANDLE or PLIM_ERROR_BUSY.
 */
plim_status plim_graph_save_store(const plim_graph *graph,
                                  const char *directory);

/**
 * Checks the arrays that a graph maps from a store: reads them from end to end, and compares them with the store's checksums.
 *
 * plim_graph_load() has compared all other files of the store. The check covers the files as they were mapped, even if the graph
 * has received other features or another normalisation meanwhile. Its time is that of reading the store.
 *
 * @param graph  the graph; one that was not loaded from a store has nothing to check.
 *
 * @return PLIM_OK or a common error.
 *         PLIM_ERROR_BAD_FORMAT: an array differs from what was written; plim_last_error() names it.
 *         PLIM_ERROR_MISSING_DATA: the store has no checksums, for example because NumPy wrote it.
 */
plim_status plim_graph_verify(const plim_graph *graph);

/**
 * Limits the memory for ÂX, the product that an exact input layer reads.
 *
 * ÂX is computed once, when a gradient or a prediction for all nodes first needs it, and discarded
 * when the features or the normalisation change. If it would exceed the limit, each step computes
 * the rows it needs. Results have the same bits either way.
 *
 * Models made of layers may need other products, such as means of neighbours' features or Â²X. Each of
 * them is kept in the same way, with this limit.
 *
 * @param graph      the graph.
 * @param max_bytes  the limit in bytes; 0 keeps nothing. Default: 2^30, and 0 for a store.
 *
 * @return PLIM_OK or a common error.
 */
plim_status plim_graph_set_cache(plim_graph *graph,
                                 size_t max_bytes);

/**
 * Frees a graph.
 *
 * @param graph  the graph; NULL and handles that are not live are ignored.
 */
void plim_graph_free(plim_graph *graph);

/**
 * Sets dense features, replacing earlier ones.
 *
 * @param graph         the graph.
 * @param num_features  number of columns, 1 .. INT32_MAX.
 * @param row_major     `num_nodes × num_features` finite values, one row per node.
 *
 * @return PLIM_OK or a common error.
 */
plim_status plim_graph_set_features(plim_graph *graph,
                                    size_t num_features,
                                    const float *row_major);

/**
 * Sets dense features, replacing earlier ones, by borrowing the array instead of copying it.
 *
 * The array must stay in place and unchanged until `release` is called. That happens once, when the
 * graph has received other features or has been freed and no call uses it any more. If this
 * function fails, `release` is not called and the array remains yours. This call reads and checks
 * every value once. plim_graph_normalize_features() makes a copy.
 *
 * @param graph         the graph.
 * @param num_features  number of columns, 1 .. INT32_MAX.
 * @param row_major     `num_nodes × num_features` finite values, one row per node.
 * @param release       called when the array is no longer needed; may be NULL.
 * @param user_data     passed to `release`.
 *
 * @return PLIM_OK or a common error.
 */
plim_status plim_graph_view_features(plim_graph *graph,
                                     size_t num_features,
                                     const float *row_major,
                                     plim_release_fn release,
                                     void *user_data);

/**
 * Sets features in compressed sparse rows, replacing earlier ones. Repeated entries are added.
 *
 * @param graph         the graph.
 * @param num_features  number of columns, 1 .. INT32_MAX.
 * @param indptr        `num_nodes + 1` offsets; the first is 0, and none is less than the one
 *                      before it.
 * @param indices       `indptr[num_nodes]` column ids, in any order within a row; may be NULL if
 *                      there are none.
 * @param values        `indptr[num_nodes]` finite values; may be NULL if there are none.
 *
 * @return PLIM_OK or a common error.
 */
plim_status plim_graph_set_sparse_features(plim_graph *graph,
                                           size_t num_features,
                                           const int64_t *indptr,
                                           const int32_t *indices,
                                           const float *values);

/**
 * Divides each row of the features by its sum. A row that sums to 0 does not change.
 *
 * @param graph  the graph.
 *
 * @return PLIM_OK or a common error.
 *         PLIM_ERROR_MISSING_DATA: the graph has no features.
 *         PLIM_ERROR_INVALID_ARGUMENT: a quotient is not finite.
 */
plim_status plim_graph_normalize_features(plim_graph *graph);

/**
 * Sets the class labels, replacing earlier ones.
 *
 * @param graph   the graph.
 * @param labels  `num_nodes` class ids 0, 1, …; -1 for a node without a label. Ids are less than the
 *                number that plim_graph_set_num_classes() has set, if any, else less than `num_nodes`
 *                or 65536, whichever is larger.
 *
 * @return PLIM_OK or a common error. plim_last_error() names the entry: "labels[7] = 2147483647 is not
 *         below 65536; state the number of classes if there are more".
 */
plim_status plim_graph_set_labels(plim_graph *graph,
                                  const int32_t *labels);

/**
 * Sets the number of classes, some of which may have no node.
 *
 * Labels that are set later must be less than this number. It is part of the graph's files.
 *
 * @param graph        the graph.
 * @param num_classes  more than the largest label, at most INT32_MAX; 0 counts the classes from the
 *                     labels again. Default: 0.
 *
 * @return PLIM_OK or a common error. plim_last_error() names a label that does not fit: "labels[3] = 5
 *         is not below 4, the stated number of classes".
 */
plim_status plim_graph_set_num_classes(plim_graph *graph,
                                       size_t num_classes);

/**
 * Sets the nodes of a split, replacing earlier ones.
 *
 * @param graph  the graph.
 * @param split  PLIM_SPLIT_TRAIN, PLIM_SPLIT_VAL or PLIM_SPLIT_TEST.
 * @param nodes  `count` different node ids; may be NULL if `count` is 0.
 * @param count  number of nodes; 0 empties the split.
 *
 * @return PLIM_OK or a common error.
 */
plim_status plim_graph_set_split(plim_graph *graph,
                                 int32_t split,
                                 const int32_t *nodes,
                                 size_t count);

/**
 * Selects how Â is computed from A. Edges, features, labels and splits do not change.
 *
 * @param graph          the graph.
 * @param normalization  PLIM_NORMALIZATION_SYMMETRIC (default), PLIM_NORMALIZATION_ROW or
 *                       PLIM_NORMALIZATION_NONE.
 *
 * @return PLIM_OK or a common error.
 */
plim_status plim_graph_set_normalization(plim_graph *graph, int32_t normalization);

/**
 * Returns the number of nodes.
 *
 * @param graph  the graph.
 *
 * @return the number of nodes.
 */
size_t plim_graph_num_nodes(const plim_graph *graph);

/**
 * Returns the number of edges: different undirected edges, a self-loop counting as one, or the
 * entries of A if the graph was created from CSR.
 *
 * @param graph  the graph.
 *
 * @return the number of edges.
 */
size_t plim_graph_num_edges(const plim_graph *graph);

/**
 * Returns the number of features per node.
 *
 * @param graph  the graph.
 *
 * @return the number; 0 if the graph has no features.
 */
size_t plim_graph_num_features(const plim_graph *graph);

/**
 * Returns the number of classes: the one set by plim_graph_set_num_classes(), else one more than the
 * largest label.
 *
 * @param graph  the graph.
 *
 * @return the number; 0 if none is set and no node has a label.
 */
size_t plim_graph_num_classes(const plim_graph *graph);

/**
 * Returns the number of nodes in a split.
 *
 * @param graph  the graph.
 * @param split  PLIM_SPLIT_TRAIN, PLIM_SPLIT_VAL or PLIM_SPLIT_TEST.
 *
 * @return the number; 0 if `split` is none of these.
 */
size_t plim_graph_split_size(const plim_graph *graph, int32_t split);

/**
 * Copies the nodes of a split, in the order in which they were set.
 *
 * @param graph     the graph.
 * @param split     PLIM_SPLIT_TRAIN, PLIM_SPLIT_VAL or PLIM_SPLIT_TEST.
 * @param dst       receives plim_graph_split_size() node ids.
 * @param capacity  number of ids that fit in `dst`.
 *
 * @return PLIM_OK or a common error.
 */
plim_status plim_graph_copy_split(const plim_graph *graph,
                                  int32_t split,
                                  int32_t *dst,
                                  size_t capacity);

/**
 * Copies the labels; -1 for a node without one.
 *
 * @param graph     the graph.
 * @param dst       receives plim_graph_num_nodes() labels.
 * @param capacity  number of labels that fit in `dst`.
 *
 * @return PLIM_OK or a common error.
 *         PLIM_ERROR_MISSING_DATA: the graph has no labels.
 */
plim_status plim_graph_copy_labels(const plim_graph *graph, int32_t *dst, size_t capacity);

/**
 * Creates a list without operations; its last value is 0, the features.
 *
 * @param num_features  number of features of the graphs that the model will read, 1 .. INT32_MAX.
 * @param out           receives the layers; free them with plim_layers_free().
 *
 * @return PLIM_OK or a common error.
 */
plim_status plim_layers_new(size_t num_features, plim_layers **out);

/**
 * Frees layers. Models made of them are not affected.
 *
 * @param layers  the layers; NULL and handles that are not live are ignored.
 */
void plim_layers_free(plim_layers *layers);

/**
 * Returns the number of the last value: the one that the next operation reads.
 *
 * @param layers  the layers.
 *
 * @return the number of the value; 0 is the features. 0 also for a handle that is not live.
 */
size_t plim_layers_last(const plim_layers *layers);

/**
 * Returns the number of columns of the last value.
 *
 * @param layers  the layers.
 *
 * @return the width, at least 1. 0 for a handle that is not live.
 */
size_t plim_layers_width(const plim_layers *layers);

/**
 * Returns the number of hops of all operations: the number of sample sizes of a consistent estimator.
 *
 * @param layers  the layers.
 *
 * @return the number of hops.
 */
size_t plim_layers_num_hops(const plim_layers *layers);

/**
 * Appends a linear layer: H W + b, without neighbours.
 *
 * W and b are drawn uniformly from ±1/sqrt(fan_in), where fan_in is the width of H. Tensors: `weight`,
 * `bias`.
 *
 * @param layers  the layers.
 * @param width   number of columns of the new value, 1 .. INT32_MAX.
 *
 * @return PLIM_OK or a common error.
 */
plim_status plim_layers_linear(plim_layers *layers,
                               size_t width);

/**
 * Appends a graph convolution: Â H W + b. One hop.
 *
 * W is drawn uniformly from ±sqrt(6 / (fan_in + width)), where fan_in is the width of H; b is 0.
 * Tensors: `lin.weight`, `bias`. plim_graph_set_normalization() selects Â.
 *
 * @param layers  the layers.
 * @param width   number of columns of the new value, 1 .. INT32_MAX.
 *
 * @return PLIM_OK or a common error.
 */
plim_status plim_layers_gcn(plim_layers *layers, size_t width);

/**
 * Appends a GraphSAGE layer: agg(H) W_l + b + H W_r. One hop.
 *
 * W_l, W_r and b are drawn uniformly from ±1/sqrt(fan_in), where fan_in is the width of H. Tensors:
 * `lin_l.weight`, `lin_l.bias`, `lin_r.weight`.
 *
 * @param layers      the layers.
 * @param width       number of columns of the new value, 1 .. INT32_MAX.
 * @param aggregator  PLIM_AGGREGATOR_MEAN, PLIM_AGGREGATOR_SUM, PLIM_AGGREGATOR_MAX or
 *                    PLIM_AGGREGATOR_MIN.
 *
 * @return PLIM_OK or a common error.
 */
plim_status plim_layers_sage(plim_layers *layers,
                             size_t width,
                             int32_t aggregator);

/**
 * Appends a graph isomorphism layer: MLP((1 + ε) H + A H). One hop.
 *
 * The MLP has `num_widths` linear layers with ReLU between them. Their weights and biases are drawn
 * uniformly from ±1/sqrt(fan_in), where fan_in is the input width of each. Tensors: `nn.0.weight`,
 * `nn.0.bias`, `nn.2.weight`, `nn.2.bias`, …, and `eps` if ε is a parameter.
 * plim_layers_set_epsilon() sets ε; it is 0 unless set.
 *
 * @param layers      the layers.
 * @param widths      `num_widths` widths of the outputs of the linear layers, 1 .. INT32_MAX each; the
 *                    last one is the number of columns of the new value.
 * @param num_widths  1 .. 64.
 *
 * @return PLIM_OK or a common error.
 */
plim_status plim_layers_gin(plim_layers *layers,
                            const size_t *widths,
                            size_t num_widths);

/**
 * Appends attention: for each head, Σ_u α_vu x_u over the neighbours u of v and v itself, plus b. One
 * hop.
 *
 * Version 1 is GAT: x = H W, and α_v is the softmax over u of LeakyReLU(a_src·x_u + a_dst·x_v). Version
 * 2 is GATv2: x = H W_l + b_l, y = H W_r + b_r, and α_v is the softmax of a·LeakyReLU(x_u + y_v). The
 * slope of LeakyReLU is 0.2. Edge weights are ignored. If an estimator draws neighbours, it adds the
 * logarithm of a neighbour's weight to its score.
 *
 * The heads stand one after the other, unless plim_layers_set_heads() says otherwise. See also
 * plim_layers_set_self_loops() and plim_layers_set_attention_dropout().
 *
 * W, W_l and W_r are drawn uniformly from ±sqrt(6 / (fan_in + heads·width)), where fan_in is the width
 * of H; a, a_src and a_dst from ±sqrt(6 / (heads + width)); b_l and b_r from ±1/sqrt(fan_in); b is 0.
 * Tensors: `lin.weight`, `att_src`, `att_dst`, `bias` for version 1; `lin_l.weight`, `lin_l.bias`,
 * `lin_r.weight`, `lin_r.bias`, `att`, `bias` for version 2. An `att` has the numbers of the first head,
 * then those of the second, and so on.
 *
 * @param layers   the layers.
 * @param width    number of columns of one head, 1 .. INT32_MAX.
 * @param heads    number of heads, 1 .. INT32_MAX; width·heads is at most INT32_MAX.
 * @param version  1 for GAT, 2 for GATv2.
 *
 * @return PLIM_OK or a common error.
 */
plim_status plim_layers_gat(plim_layers *layers,
                            size_t width,
                            size_t heads,
                            int32_t version);

/**
 * Appends an aggregation of neighbours: agg(H), without parameters. One hop.
 *
 * @param layers      the layers.
 * @param aggregator  PLIM_AGGREGATOR_MEAN, PLIM_AGGREGATOR_SUM, PLIM_AGGREGATOR_MAX or
 *                    PLIM_AGGREGATOR_MIN.
 *
 * @return PLIM_OK or a common error.
 */
plim_status plim_layers_aggregate(plim_layers *layers, int32_t aggregator);

/**
 * Appends a propagation: H ← (1 - α) Â H + α H_0, `hops` times, where H_0 is the value it starts from;
 * without parameters.
 *
 * With α = 0 and a linear layer this is SGC, with α > 0 after an MLP it is APPNP.
 *
 * @param layers   the layers.
 * @param hops     number of steps and of hops, 1 .. 64.
 * @param restart  α, in [0, 1).
 *
 * @return PLIM_OK or a common error.
 */
plim_status plim_layers_propagate(plim_layers *layers,
                                  size_t hops,
                                  double restart);

/**
 * Appends a function of each number.
 *
 * @param layers      the layers.
 * @param activation  PLIM_ACTIVATION_RELU, PLIM_ACTIVATION_LEAKY_RELU, PLIM_ACTIVATION_ELU,
 *                    PLIM_ACTIVATION_GELU, PLIM_ACTIVATION_TANH or PLIM_ACTIVATION_SIGMOID.
 *
 * @return PLIM_OK or a common error.
 */
plim_status plim_layers_activation(plim_layers *layers, int32_t activation);

/**
 * Appends dropout: in training mode each number becomes 0 with probability p, and is divided by 1 - p
 * otherwise. In evaluation mode numbers stay as they are.
 *
 * Which numbers become 0 depends on the estimator's seed, the number of gradients since it was set,
 * the value, the node and the column, and not on the other nodes of the batch. The property of an
 * estimator holds for given zeros.
 *
 * @param layers  the layers.
 * @param rate    p, in [0, 1).
 *
 * @return PLIM_OK or a common error.
 */
plim_status plim_layers_dropout(plim_layers *layers,
                                double rate);

/**
 * Appends a norm: γ (h - mean) / sqrt(variance + 1e-5) + β, with γ and β per column.
 *
 * γ starts at 1, β at 0. Tensors: `weight` (γ), `bias` (β). A batch norm also has running statistics,
 * which are no parameters: they start at mean 0 and variance 1, and each step of training moves them
 * by 0.1 towards those of the step (variance with n - 1). In training mode its statistics are over all
 * nodes with the full estimator, and over the rows at hand with any other, so that such an estimator
 * has no property: see plim_estimator_property_of(). A gradient with fewer than 2 rows fails with
 * PLIM_ERROR_INVALID_ARGUMENT.
 *
 * @param layers  the layers.
 * @param norm    PLIM_NORM_LAYER or PLIM_NORM_BATCH.
 *
 * @return PLIM_OK or a common error.
 */
plim_status plim_layers_norm(plim_layers *layers,
                             int32_t norm);

/**
 * Goes on from an earlier value: makes it the last one. It appends no operation.
 *
 * @param layers  the layers.
 * @param value   0 for the features, or the number of an operation appended so far.
 *
 * @return PLIM_OK or a common error.
 */
plim_status plim_layers_at(plim_layers *layers, size_t value);

/**
 * Appends a sum: H + the other value.
 *
 * @param layers  the layers.
 * @param value   the other value, as for plim_layers_at(); its width is that of H.
 *
 * @return PLIM_OK or a common error.
 *         PLIM_ERROR_SHAPE_MISMATCH: the widths differ.
 */
plim_status plim_layers_add(plim_layers *layers, size_t value);

/**
 * Appends a concatenation: the columns of H, then those of the other value.
 *
 * @param layers  the layers.
 * @param value   the other value, as for plim_layers_at(); both widths together are at most INT32_MAX.
 *
 * @return PLIM_OK or a common error.
 */
plim_status plim_layers_concat(plim_layers *layers,
                               size_t value);

/**
 * Appends a maximum: the larger number of H and the other value, element by element. Where both are
 * equal, H receives the gradient.
 *
 * @param layers  the layers.
 * @param value   the other value, as for plim_layers_at(); its width is that of H.
 *
 * @return PLIM_OK or a common error.
 *         PLIM_ERROR_SHAPE_MISMATCH: the widths differ.
 */
plim_status plim_layers_max(plim_layers *layers, size_t value);

/**
 * Sets whether the operation appended last has biases. Call it right after the operation.
 *
 * @param layers  the layers; the operation is plim_layers_linear(), plim_layers_gcn(),
 *                plim_layers_sage(), plim_layers_gin() or plim_layers_gat().
 * @param on      0 for no biases. Default: on.
 *
 * @return PLIM_OK or a common error.
 *         PLIM_ERROR_INVALID_ARGUMENT: the operation has no biases, or the last call was
 *           plim_layers_at(), or there is no operation.
 */
plim_status plim_layers_set_bias(plim_layers *layers, int32_t on);

/**
 * Sets ε of the plim_layers_gin() appended last. Call it right after the operation.
 *
 * @param layers   the layers.
 * @param epsilon  ε, or where it starts if it is a parameter; finite as a float. Default: 0.
 * @param learned  0: ε is fixed; otherwise it is a parameter, the tensor `eps`. Default: 0.
 *
 * @return PLIM_OK or a common error.
 *         PLIM_ERROR_INVALID_ARGUMENT: the operation has no ε, or the last call was plim_layers_at(),
 *           or there is no operation.
 */
plim_status plim_layers_set_epsilon(plim_layers *layers,
                                    double epsilon,
                                    int32_t learned);

/**
 * Sets whether each node attends to itself in the plim_layers_gat() appended last. Call it right after
 * the operation.
 *
 * @param layers  the layers.
 * @param on      0: the neighbours are those of the graph's edges, and a node without any is 0 before b
 *                is added; otherwise each node is its own neighbour once, whether or not the graph has
 *                a self-loop there. Default: on.
 *
 * @return PLIM_OK or a common error.
 *         PLIM_ERROR_INVALID_ARGUMENT: the operation is not attention, or the last call was
 *           plim_layers_at(), or there is no operation.
 */
plim_status plim_layers_set_self_loops(plim_layers *layers,
                                       int32_t on);

/**
 * Sets what becomes of the heads of the plim_layers_gat() appended last. Call it right after the
 * operation: it changes the width of the value.
 *
 * @param layers  the layers.
 * @param heads   PLIM_HEADS_CONCAT for heads·width columns, or PLIM_HEADS_MEAN for `width` columns.
 *                Default: PLIM_HEADS_CONCAT.
 *
 * @return PLIM_OK or a common error.
 *         PLIM_ERROR_INVALID_ARGUMENT: the operation is not attention, or the last call was
 *           plim_layers_at(), or there is no operation.
 */
plim_status plim_layers_set_heads(plim_layers *layers,
                                  int32_t heads);

/**
 * Sets the dropout of coefficients of the plim_layers_gat() appended last: in training mode each α_vu
 * becomes 0 with probability p, and is divided by 1 - p otherwise. Call it right after the operation.
 *
 * Which coefficients become 0 depends on the same as for plim_layers_dropout(), with both nodes and the
 * head in place of node and column.
 *
 * @param layers  the layers.
 * @param rate    p, in [0, 1). Default: 0.
 *
 * @return PLIM_OK or a common error.
 *         PLIM_ERROR_INVALID_ARGUMENT: the operation is not attention, or the last call was
 *           plim_layers_at(), or there is no operation.
 */
plim_status plim_layers_set_attention_dropout(plim_layers *layers,
                                              double rate);

/**
 * Creates a graph convolutional network without biases: H(l+1) = ReLU(Â H(l) W(l)), with a softmax
 * instead of the ReLU after the last layer.
 *
 * {1433, 16, 7} is the 2-layer network for Cora. The parameters of a layer are drawn uniformly from
 * ±sqrt(6 / (fan_in + fan_out)), where fan_in and fan_out are its input and output widths.
 *
 * @param widths      `num_widths` widths, 1 .. INT32_MAX each: input, hidden layers, output.
 * @param num_widths  at least 2; one more than the number of layers.
 * @param seed        the same seed creates the same parameters.
 * @param out         receives the model; free it with plim_model_free().
 *
 * @return PLIM_OK or a common error.
 */
plim_status plim_model_gcn(const size_t *widths,
                           size_t num_widths,
                           uint64_t seed,
                           plim_model **out);

/**
 * Creates a model of the operations in a plim_layers. The last value is the model's output; predictions
 * apply a softmax to it.
 *
 * Each operation says how its parameters start. A model for C classes needs an output of C columns or
 * more.
 *
 * @param layers  the operations, which are copied; at least one, and every value must reach the last
 *                value.
 * @param seed    the same seed creates the same parameters.
 * @param out     receives the model; free it with plim_model_free().
 *
 * @return PLIM_OK or a common error.
 *         PLIM_ERROR_INVALID_ARGUMENT: the last value is the features, or a value does not reach it;
 *           the message names the value.
 */
plim_status plim_model_new(const plim_layers *layers,
                           uint64_t seed,
                           plim_model **out);

/**
 * Reads a model from a safetensors file that plim_model_save() has written, or that PyTorch
 * Geometric has written for a GCN without biases.
 *
 * @param path  a file name.
 * @param out   receives the model; free it with plim_model_free(). Its λ is 0 if the file has none;
 *              it uses 1 thread.
 *
 * @return PLIM_OK or a common error.
 *         PLIM_ERROR_IO: the file cannot be read.
 *         PLIM_ERROR_BAD_FORMAT: the file does not hold such a model, or is damaged.
 */
plim_status plim_model_load(const char *path,
                            plim_model **out);

/**
 * Writes a model to a safetensors file, with λ and checksums as metadata. plim_model_load() compares the checksums.
 *
 * A model of plim_model_gcn() has a tensor `convs.{l}.lin.weight` of shape [fan_out, fan_in] for each
 * layer l. A model made of layers has its tensors by the names of plim_model_tensor(), matrices as
 * [fan_out, fan_in], the running statistics of norms as `v{value}.running_mean` and
 * `v{value}.running_var`, and its operations as JSON in the metadata.
 *
 * The number of threads is not saved. An existing file is replaced only when the new one is
 * complete.
 *
 * @param model  the model.
 * @param path   a file name; the usual extension is .safetensors.
 *
 * @return PLIM_OK or a common error.
 *         PLIM_ERROR_IO: the file cannot be written.
 */
plim_status plim_model_save(const plim_model *model,
                            const char *path);

/**
 * Creates an independent copy of a model, with the same parameters, λ and number of threads.
 *
 * @param model  the model to copy.
 * @param out    receives the copy; free it with plim_model_free().
 *
 * @return PLIM_OK or a common error.
 */
plim_status plim_model_clone(const plim_model *model, plim_model **out);

/**
 * Frees a model and joins its threads.
 *
 * @param model  the model; NULL and handles that are not live are ignored.
 */
void plim_model_free(plim_model *model);

/**
 * Sets λ of the penalty λ/2 ‖W‖² over the parameters of all layers.
 *
 * The penalty is part of gradients and of the losses returned with them. Evaluation does not
 * include it.
 *
 * @param model   the model.
 * @param lambda  λ, finite and >= 0. Default: 0.
 *
 * @return PLIM_OK or a common error.
 */
plim_status plim_model_set_regularization(plim_model *model, double lambda);

/**
 * Sets how many threads predictions, evaluations, gradients and measurements with this model use.
 * Results do not depend on it.
 *
 * The count includes the calling thread. The others belong to the model: this call starts them, and
 * plim_model_free() joins them. A child process starts new ones after fork(). They inherit the
 * calling thread's CPU affinity. On Linux, a thread that finds itself on the core of the thread it
 * works for moves to another: it removes that core from its own affinity mask and restores the mask
 * at once.
 *
 * @param model    the model.
 * @param threads  0 .. 1024; 0 selects the number of available cores. Default: 1, which starts no
 *                 thread.
 *
 * @return PLIM_OK or a common error.
 */
plim_status plim_model_set_threads(plim_model *model, size_t threads);

/**
 * Lets predictions for a whole graph hold hidden layers in files, for graphs whose hidden layers do not
 * fit into memory.
 *
 * Such a prediction runs layer by layer, in blocks of rows. What a later layer reads is held for all
 * nodes, and so are the results until the call copies them; beyond max_bytes it goes into mapped files in
 * the directory. They have no name while they exist, take the disk space they need at once, and are
 * gone when the call returns, even if the process is killed. Results have the same bits. Predictions for a
 * list of nodes and gradients use no files.
 *
 * @param model      the model.
 * @param directory  an existing directory, or NULL for no files, the default. It is looked up here; a
 *                   relative name is relative to the working directory of this call.
 * @param max_bytes  what a prediction may hold in memory for all nodes before it uses files. Ignored if
 *                   directory is NULL.
 *
 * @return PLIM_OK or a common error.
 *         PLIM_ERROR_IO: there is no such directory. A prediction that cannot write there also returns it.
 */
plim_status plim_model_set_scratch(plim_model *model,
                                   const char *directory,
                                   size_t max_bytes);

/**
 * Returns the number of layers: of hops, for a model made of layers (see plim_layers).
 *
 * @param model  the model.
 *
 * @return the number of layers, which is the number of sample sizes of a consistent estimator. For
 *         plim_model_gcn(), one less than the number of widths.
 */
size_t plim_model_num_layers(const plim_model *model);

/**
 * Returns the number of parameters of all layers, which is also the length of a gradient.
 *
 * @param model  the model.
 *
 * @return the number of parameters.
 */
size_t plim_model_num_parameters(const plim_model *model);

/**
 * Copies all parameters: W(0), W(1), …, each row-major with fan_in rows and fan_out columns. For a
 * model made of layers, plim_model_tensor() lists what stands where.
 *
 * @param model     the model.
 * @param dst       receives plim_model_num_parameters() values.
 * @param capacity  number of values that fit in `dst`.
 *
 * @return PLIM_OK or a common error.
 */
plim_status plim_model_get_parameters(const plim_model *model,
                                      float *dst,
                                      size_t capacity);

/**
 * Sets all parameters, in the order of plim_model_get_parameters().
 *
 * @param model  the model.
 * @param src    `count` finite values.
 * @param count  plim_model_num_parameters().
 *
 * @return PLIM_OK or a common error.
 *         PLIM_ERROR_SHAPE_MISMATCH: `count` is another number.
 */
plim_status plim_model_set_parameters(plim_model *model, const float *src, size_t count);

/**
 * Returns the number of tensors that the parameters consist of.
 *
 * @param model  the model.
 *
 * @return the number of tensors; for plim_model_gcn(), one per layer.
 */
size_t plim_model_num_tensors(const plim_model *model);

/**
 * Returns the name and the place of a tensor in the parameters.
 *
 * Tensors stand one after the other in the array of plim_model_get_parameters(), without gaps, each
 * row-major. The name is `v{i}.{tensor}`, where i is the number of the operation that it belongs to:
 * "v1.lin_l.weight". A matrix has fan_in rows and fan_out columns. plim_layers_linear() and the other
 * operations list their tensors, in this order. Running statistics of norms are no tensors.
 *
 * @param model    the model.
 * @param index    0 .. plim_model_num_tensors() - 1.
 * @param name     receives the name, a string that lives as long as the model; may be NULL.
 * @param offset   receives the position of the first number in the parameters; may be NULL.
 * @param rows     receives the number of rows, 1 for a vector; may be NULL.
 * @param columns  receives the number of columns; may be NULL.
 *
 * @return PLIM_OK or a common error.
 */
plim_status plim_model_tensor(const plim_model *model,
                              size_t index,
                              const char **name,
                              size_t *offset,
                              size_t *rows,
                              size_t *columns);

/**
 * Copies the widths of a model of plim_model_gcn(): input, hidden layers, output.
 *
 * @param model     the model.
 * @param dst       receives plim_model_num_layers() + 1 widths.
 * @param capacity  number of widths that fit in `dst`.
 *
 * @return PLIM_OK or a common error.
 *         PLIM_ERROR_UNSUPPORTED: the model is made of layers.
 */
plim_status plim_model_copy_widths(const plim_model *model, size_t *dst, size_t capacity);

/**
 * Returns the number of values: one more than the number of operations, since value 0 is the features.
 *
 * @param model  the model.
 *
 * @return the number of values; for plim_model_gcn(), twice the number of layers.
 */
size_t plim_model_num_values(const plim_model *model);

/**
 * Copies the number of columns of each value. The first is the model's input width, the last its
 * output width.
 *
 * @param model     the model.
 * @param dst       receives plim_model_num_values() widths.
 * @param capacity  number of widths that fit in `dst`.
 *
 * @return PLIM_OK or a common error.
 */
plim_status plim_model_copy_value_widths(const plim_model *model,
                                         size_t *dst,
                                         size_t capacity);

/**
 * Computes class probabilities exactly, without sampling.
 *
 * The graph may differ from the one that the model was trained on. A list of nodes reads only their
 * neighbourhood, and the result has the same bits as the same rows of a prediction for all nodes.
 * Many threads may predict with one model at once.
 *
 * @param model          the model.
 * @param graph          a graph whose number of features is the model's input width.
 * @param nodes          `num_nodes` node ids, which may repeat; (NULL, 0) for all nodes.
 * @param num_nodes      length of `nodes`.
 * @param probabilities  receives one row per node, row-major; the number of columns is the model's
 *                       output width.
 * @param capacity       number of values that fit in `probabilities`.
 *
 * @return PLIM_OK or a common error.
 *         PLIM_ERROR_SHAPE_MISMATCH: the number of features is not the model's input width.
 *         PLIM_ERROR_MISSING_DATA: the graph has no features.
 *         PLIM_ERROR_DIVERGED: an output is not finite.
 */
plim_status plim_model_predict(const plim_model *model,
                               const plim_graph *graph,
                               const int32_t *nodes,
                               size_t num_nodes,
                               float *probabilities,
                               size_t capacity);

/**
 * Computes hidden representations H(layer + 1) of a model of plim_model_gcn() exactly, without
 * sampling. See plim_model_embed_value() for models made of layers.
 *
 * @param model      the model.
 * @param graph      a graph whose number of features is the model's input width.
 * @param nodes      `num_nodes` node ids, which may repeat; (NULL, 0) for all nodes.
 * @param num_nodes  length of `nodes`.
 * @param layer      0 .. plim_model_num_layers() - 1; the last layer returns the inputs of the
 *                   softmax (logits).
 * @param dst        receives one row per node, row-major; the number of columns is the output width
 *                   of that layer.
 * @param capacity   number of values that fit in `dst`.
 *
 * @return as plim_model_predict().
 *         PLIM_ERROR_UNSUPPORTED: the model is made of layers.
 */
plim_status plim_model_embed(const plim_model *model,
                             const plim_graph *graph,
                             const int32_t *nodes,
                             size_t num_nodes,
                             size_t layer,
                             float *dst,
                             size_t capacity);

/**
 * Computes a value of a model exactly, in evaluation mode: the result of one of its operations.
 *
 * Values are numbered as in plim_layers: 0 is the features, i the result of the operation appended as
 * number i. plim_model_gcn() has the values graph convolution, ReLU, graph convolution, ….
 *
 * @param model      the model.
 * @param graph      a graph whose number of features is the model's input width.
 * @param nodes      `num_nodes` node ids, which may repeat; (NULL, 0) for all nodes.
 * @param num_nodes  length of `nodes`.
 * @param value      0 .. plim_model_num_values() - 1; the last value is the inputs of the softmax
 *                   (logits).
 * @param dst        receives one row per node, row-major; the number of columns is that of
 *                   plim_model_copy_value_widths().
 * @param capacity   number of values that fit in `dst`.
 *
 * @return as plim_model_predict().
 */
plim_status plim_model_embed_value(const plim_model *model,
                                   const plim_graph *graph,
                                   const int32_t *nodes,
                                   size_t num_nodes,
                                   size_t value,
                                   float *dst,
                                   size_t capacity);

/**
 * Measures loss and accuracy of a model on a split exactly, without sampling.
 *
 * @param model     the model.
 * @param graph     a graph with features, labels and that split.
 * @param split     PLIM_SPLIT_TRAIN, PLIM_SPLIT_VAL or PLIM_SPLIT_TEST.
 * @param loss      receives the mean cross-entropy, without the penalty of λ; may be NULL.
 * @param accuracy  receives the fraction of nodes whose most probable class is their label; may be
 *                  NULL.
 *
 * @return PLIM_OK or a common error.
 *         PLIM_ERROR_SHAPE_MISMATCH: the model's input width is not the number of features, or its
 *           output width is less than the number of classes.
 *         PLIM_ERROR_MISSING_DATA: there are no features or labels, the split is empty, or one of
 *           its nodes has no label.
 *         PLIM_ERROR_DIVERGED: the loss is not finite.
 */
plim_status plim_model_evaluate(const plim_model *model,
                                const plim_graph *graph,
                                int32_t split,
                                double *loss,
                                double *accuracy);

/**
 * Counts, on a split, how often nodes of each class are predicted as each class; exactly, without
 * sampling.
 *
 * Entry (i, j) is the number of nodes with label i whose most probable class is j. Ties go to the
 * lowest class. plim_confusion_macro_f1() reduces the matrix to one number.
 *
 * @param model     the model; its output width is C, which may exceed the number of classes of the
 *                  graph.
 * @param graph     a graph with features, labels and that split.
 * @param split     PLIM_SPLIT_TRAIN, PLIM_SPLIT_VAL or PLIM_SPLIT_TEST.
 * @param matrix    receives C × C counts, row-major: one row per label, one column per predicted
 *                  class.
 * @param capacity  number of counts that fit in `matrix`.
 *
 * @return as plim_model_evaluate().
 */
plim_status plim_model_confusion(const plim_model *model,
                                 const plim_graph *graph,
                                 int32_t split,
                                 size_t *matrix,
                                 size_t capacity);

/**
 * Computes the macro-F1 of a confusion matrix: the mean over classes of 2·hits / (nodes with this
 * label + nodes predicted as this class).
 *
 * A class with neither is left out of the mean. The definition is that of scikit-learn's
 * f1_score(average="macro"). You may add the matrices of several graphs or splits first.
 *
 * @param confusion    `num_classes × num_classes` counts, as plim_model_confusion() returns them.
 * @param num_classes  1 .. INT32_MAX.
 * @param out          receives the macro-F1, in [0, 1].
 *
 * @return PLIM_OK or a common error.
 *         PLIM_ERROR_INVALID_ARGUMENT: also if all counts are 0.
 */
plim_status plim_confusion_macro_f1(const size_t *confusion, size_t num_classes, double *out);

/**
 * Creates the full estimator: the exact gradient over all training nodes. It takes no batch.
 *
 * @param out  receives the estimator; free it with plim_estimator_free().
 *
 * @return PLIM_OK or a common error.
 */
plim_status plim_estimator_full(plim_estimator **out);

/**
 * Creates the unbiased estimator: the exact gradient of a batch, from its whole neighbourhood.
 *
 * @param out  receives the estimator; free it with plim_estimator_free().
 *
 * @return PLIM_OK or a common error.
 */
plim_status plim_estimator_unbiased(plim_estimator **out);

/**
 * Creates a consistent estimator: the gradient of a batch, from a few nodes drawn at the input of
 * each layer.
 *
 * A layer is a hop here, for a model made of layers: see plim_layers. Operations without neighbours
 * have no sample size. For each gradient and layer, t nodes are drawn with replacement from a distribution P, see
 * plim_estimator_set_distribution(). The column of Â of a drawn node u has the weight 1 / (t·P(u)).
 * The estimate is biased and converges as the sample sizes grow.
 *
 * @param sample_sizes  `num_layers` numbers t, the input layer first; 0 makes the input of that
 *                      layer exact.
 * @param num_layers    plim_model_num_layers() of the model, at least 1.
 * @param out           receives the estimator; free it with plim_estimator_free().
 *
 * @return PLIM_OK or a common error.
 */
plim_status plim_estimator_consistent(const size_t *sample_sizes,
                                      size_t num_layers,
                                      plim_estimator **out);

/**
 * Creates an estimator for rankings: the gradient of a batch of queries, from pairs of documents
 * drawn per query.
 *
 * A pair is two documents of a query with different relevance. For each gradient and query, t pairs
 * are drawn with replacement, all with the same probability, and their losses averaged. The
 * estimate is unbiased and consistent.
 *
 * @param num_pairs  t, 1 .. 1048576.
 * @param out        receives the estimator; free it with plim_estimator_free().
 *
 * @return PLIM_OK or a common error.
 */
plim_status plim_estimator_pairs(size_t num_pairs, plim_estimator **out);

/**
 * Creates an estimator for rankings: the gradient of a batch of queries, from two samples of
 * documents per query.
 *
 * For each gradient and query, t documents i are drawn with replacement from the n_i documents that
 * rank above another one, and t documents j from the n_j that rank below another one. The sum is
 * over the pairs (i, j) of the two samples in which i ranks above j. The weights of these pairs are
 * one of the following:
 * - fixed: n_i·n_j / t², divided by the number of pairs of the query. The estimate is unbiased and
 *   consistent.
 * - self-normalised: equal, with sum 1. The estimate is biased and consistent. A query without such
 *   a pair contributes 0.
 *
 * With two levels of relevance both are the same.
 *
 * @param num_documents    t, 1 .. 1048576.
 * @param self_normalized  0 for fixed weights, any other value for self-normalised ones.
 * @param out              receives the estimator; free it with plim_estimator_free().
 *
 * @return PLIM_OK or a common error.
 */
plim_status plim_estimator_separate(size_t num_documents,
                                    int32_t self_normalized,
                                    plim_estimator **out);

/**
 * Frees an estimator.
 *
 * @param estimator  the estimator; NULL and handles that are not live are ignored.
 */
void plim_estimator_free(plim_estimator *estimator);

/**
 * Sets the seed of the draws and restarts their sequence.
 *
 * Draws depend on the seed, the number of gradients since it was set, and the layer; so do the zeros
 * of plim_layers_dropout(), and every estimator has them.
 *
 * @param estimator  the estimator.
 * @param seed       any value. Default: 0.
 *
 * @return PLIM_OK or a common error.
 */
plim_status plim_estimator_set_seed(plim_estimator *estimator,
                                    uint64_t seed);

/**
 * Selects the distribution P that nodes are drawn from. It replaces an earlier choice and earlier
 * weights.
 *
 * With PLIM_DISTRIBUTION_UNIFORM, PLIM_DISTRIBUTION_IMPORTANCE or weights, only the draws that the
 * layer aggregates from contribute, so sample sizes must grow with the graph. With
 * PLIM_DISTRIBUTION_NEIGHBORS or PLIM_DISTRIBUTION_LADIES they need not.
 *
 * @param estimator     a consistent estimator.
 * @param distribution  PLIM_DISTRIBUTION_UNIFORM (default), PLIM_DISTRIBUTION_IMPORTANCE,
 *                      PLIM_DISTRIBUTION_NEIGHBORS or PLIM_DISTRIBUTION_LADIES.
 *
 * @return PLIM_OK or a common error.
 *         PLIM_ERROR_UNSUPPORTED: the estimator draws no nodes.
 */
plim_status plim_estimator_set_distribution(plim_estimator *estimator, int32_t distribution);

/**
 * Draws nodes with probabilities proportional to your weights. It replaces an earlier choice of
 * distribution.
 *
 * @param estimator  a consistent estimator.
 * @param weights    `num_nodes` finite weights > 0 with a finite sum. A weight of 0 is an error,
 *                   since the estimate would not converge.
 * @param num_nodes  number of nodes of the graph, at least 1; the next gradient checks it.
 *
 * @return PLIM_OK or a common error.
 *         PLIM_ERROR_UNSUPPORTED: the estimator draws no nodes.
 */
plim_status plim_estimator_set_weights(plim_estimator *estimator,
                                       const double *weights,
                                       size_t num_nodes);

/**
 * Sets the nodes drawn at the input of a layer, for example by your own sampler. They stay until
 * you replace or remove them.
 *
 * The sample size of the layer is then `count`. Weights of the columns follow from the
 * distribution, as for the library's own draws. An estimator with such draws has no property.
 *
 * @param estimator  a consistent estimator.
 * @param layer      the layer; 0 is the input layer.
 * @param nodes      `count` node ids >= 0, which may repeat; the next gradient checks them against
 *                   the graph.
 * @param count      number of draws; 0 removes them, and `nodes` may then be NULL.
 *
 * @return PLIM_OK or a common error.
 *         PLIM_ERROR_UNSUPPORTED: the estimator draws no nodes.
 */
plim_status plim_estimator_set_draws(plim_estimator *estimator,
                                     size_t layer,
                                     const int32_t *nodes,
                                     size_t count);

/**
 * Returns the declared property of an estimator: the bits PLIM_PROPERTY_UNBIASED,
 * PLIM_PROPERTY_CONSISTENT and PLIM_PROPERTY_EXACT.
 *
 * @param estimator  the estimator.
 *
 * @return 7 for the full estimator.
 *         1 for the unbiased one, and for a consistent one whose sample sizes are all 0.
 *         2 for a consistent one, and for plim_estimator_separate() with self-normalised weights.
 *         3 for plim_estimator_pairs(), and for plim_estimator_separate() with fixed weights.
 *         0 after plim_estimator_set_draws().
 */
uint32_t plim_estimator_property(const plim_estimator *estimator);

/**
 * Returns the property of an estimator for gradients of a model, in the bits of
 * plim_estimator_property().
 *
 * @param estimator  the estimator.
 * @param model      the model.
 *
 * @return 0 if the model has a batch norm and the estimator takes a batch: the statistics of one
 *           batch are not those of all nodes.
 *         plim_estimator_property() otherwise. With dropout, the property holds for given zeros.
 */
uint32_t plim_estimator_property_of(const plim_estimator *estimator,
                                    const plim_model *model);

/**
 * Estimates the gradient of the objective, and its value, at the model's parameters.
 *
 * The objective is the mean cross-entropy over the batch plus λ/2 ‖W‖². A call that fails does not
 * advance the sequence of draws. Once the estimator's buffers have grown to the largest step, a
 * call allocates no memory.
 *
 * @param estimator   the estimator.
 * @param model       the model.
 * @param graph       a graph with labels, and with features that fit the model.
 * @param batch       `batch_size` different node ids with labels; (NULL, 0) for all training nodes.
 *                    The full estimator takes only (NULL, 0).
 * @param batch_size  length of `batch`; at least 1 unless `batch` is NULL.
 * @param gradient    receives plim_model_num_parameters() values, in the order of
 *                    plim_model_get_parameters().
 * @param capacity    number of values that fit in `gradient`.
 * @param loss        receives the estimate of the objective; may be NULL.
 *
 * @return PLIM_OK or a common error.
 *         PLIM_ERROR_INVALID_ARGUMENT: also if a batch norm has fewer than 2 rows.
 *         PLIM_ERROR_SHAPE_MISMATCH: widths, number of sample sizes or number of weights do not fit
 *           model and graph.
 *         PLIM_ERROR_MISSING_DATA: there are no features, labels or training nodes, or a training
 *           node has no label.
 *         PLIM_ERROR_UNSUPPORTED: the estimator is for rankings.
 *         PLIM_ERROR_DIVERGED: the loss or the gradient is not finite.
 */
plim_status plim_estimator_gradient(plim_estimator *estimator,
                                    const plim_model *model,
                                    const plim_graph *graph,
                                    const int32_t *batch,
                                    size_t batch_size,
                                    float *gradient,
                                    size_t capacity,
                                    double *loss);

/**
 * Creates stochastic gradient descent with projection: w ← Π(w − γ_k g). The step γ_k is constant
 * at first, and Π the identity.
 *
 * @param step  γ, finite and > 0.
 * @param out   receives the optimizer; free it with plim_optimizer_free().
 *
 * @return PLIM_OK or a common error.
 */
plim_status plim_optimizer_sgd(double step,
                               plim_optimizer **out);

/**
 * Creates Adam. The update is that of PyTorch; with plim_optimizer_set_decay() it is that of AdamW.
 *
 * β = (0.9, 0.999) and ε = 1e-8, unless plim_optimizer_set_betas() and plim_optimizer_set_epsilon()
 * change them.
 *
 * @param step  γ, finite and > 0.
 * @param out   receives the optimizer; free it with plim_optimizer_free().
 *
 * @return PLIM_OK or a common error.
 */
plim_status plim_optimizer_adam(double step,
                                plim_optimizer **out);

/**
 * Frees an optimizer.
 *
 * @param optimizer  the optimizer; NULL and handles that are not live are ignored.
 */
void plim_optimizer_free(plim_optimizer *optimizer);

/**
 * Sets decoupled weight decay: each update first multiplies w by 1 − γ_k·decay.
 *
 * With Adam this is AdamW: torch.optim.AdamW(lr=step, weight_decay=decay). The other kind, where the
 * penalty is a part of the gradient, as in torch.optim.Adam(weight_decay=λ), is
 * plim_model_set_regularization().
 *
 * @param optimizer  the optimizer.
 * @param decay      finite and >= 0. Default: 0.
 *
 * @return PLIM_OK or a common error.
 */
plim_status plim_optimizer_set_decay(plim_optimizer *optimizer,
                                     double decay);

/**
 * Sets how fast Adam's moments decay: m ← β1·m + (1 − β1)·g and v ← β2·v + (1 − β2)·g². SGD ignores
 * it.
 *
 * @param optimizer  the optimizer.
 * @param beta1      0 <= β1 < 1, also after rounding to float. Default: 0.9.
 * @param beta2      β1² < β2 < 1, also after rounding to float. Default: 0.999.
 *
 * @return PLIM_OK or a common error.
 */
plim_status plim_optimizer_set_betas(plim_optimizer *optimizer,
                                     double beta1,
                                     double beta2);

/**
 * Sets Adam's ε: the update is γ_k·m̂ / (√v̂ + ε). SGD ignores it.
 *
 * @param optimizer  the optimizer.
 * @param epsilon    finite and >= 1e-16. Default: 1e-8.
 *
 * @return PLIM_OK or a common error.
 */
plim_status plim_optimizer_set_epsilon(plim_optimizer *optimizer, double epsilon);

/**
 * Clips gradients by their norm: each update replaces g by g·min(1, norm / (‖g‖ + 1e-6)), as
 * torch.nn.utils.clip_grad_norm_ does.
 *
 * ‖g‖ is over all parameters, in double, and includes the part of
 * plim_model_set_regularization().
 *
 * @param optimizer  the optimizer.
 * @param norm       >= 0. Default: INFINITY; that and 0 mean no clipping.
 *
 * @return PLIM_OK or a common error.
 */
plim_status plim_optimizer_set_clip(plim_optimizer *optimizer, double norm);

/**
 * Projects iterates onto the ball ‖w‖ <= radius around 0. It replaces an earlier ball or box.
 *
 * @param optimizer  the optimizer.
 * @param radius     > 0. Default: INFINITY, which means no projection.
 *
 * @return PLIM_OK or a common error.
 */
plim_status plim_optimizer_set_ball(plim_optimizer *optimizer, double radius);

/**
 * Projects every parameter onto [low, high]. It replaces an earlier ball or box.
 *
 * @param optimizer  the optimizer.
 * @param low        the lower bound; may be -INFINITY.
 * @param high       the upper bound, at least `low`; may be INFINITY.
 *
 * @return PLIM_OK or a common error.
 */
plim_status plim_optimizer_set_box(plim_optimizer *optimizer, double low, double high);

/**
 * Resets the counts of updates and epochs, the moments, both averages, and what
 * plim_optimizer_report() has reduced. Settings do not change.
 *
 * @param optimizer  the optimizer.
 *
 * @return PLIM_OK or a common error.
 */
plim_status plim_optimizer_reset(plim_optimizer *optimizer);

/**
 * Turns the running average of the iterates on or off. A change in either direction discards the
 * present average.
 *
 * @param optimizer  the optimizer.
 * @param on         0 for off (default), any other value for on.
 *
 * @return PLIM_OK or a common error.
 */
plim_status plim_optimizer_set_averaging(plim_optimizer *optimizer, int32_t on);

/**
 * Keeps an exponential moving average of the parameters: e ← decay·e + (1 − decay)·w after each
 * update, in double.
 *
 * The first update starts it from the parameters as they were before that update, which have the
 * weight decay^k after k updates. This is torch.optim.swa_utils.AveragedModel with
 * get_ema_multi_avg_fn(decay), if its update_parameters() is called once before the first step and
 * once after each. Another decay continues the present average.
 *
 * @param optimizer  the optimizer.
 * @param decay      0 <= decay < 1; 0.99 averages about the last 100 iterates. Default: 0, which
 *                   keeps no average and discards the present one.
 *
 * @return PLIM_OK or a common error.
 */
plim_status plim_optimizer_set_ema(plim_optimizer *optimizer,
                                   double decay);

/**
 * Updates a model's parameters once, along a gradient.
 *
 * With plim_estimator_gradient(), use it to write your own training loop. The first update fixes
 * the number of parameters until plim_optimizer_reset(). Clipping comes first, then decay, the step,
 * and the projection.
 *
 * @param optimizer  the optimizer.
 * @param model      the model.
 * @param gradient   `count` finite values, in the order of plim_model_get_parameters().
 * @param count      plim_model_num_parameters().
 *
 * @return PLIM_OK or a common error.
 *         PLIM_ERROR_SHAPE_MISMATCH: `count` is another number, or earlier updates were of another
 *           number of parameters.
 *         PLIM_ERROR_INVALID_ARGUMENT: no float lies in the box of plim_optimizer_set_box().
 *         PLIM_ERROR_DIVERGED: the gradient or the result is not finite.
 */
plim_status plim_optimizer_update(plim_optimizer *optimizer,
                                  plim_model *model,
                                  const float *gradient,
                                  size_t count);

/**
 * Copies the running average of the iterates, each taken before its update.
 *
 * @param optimizer  an optimizer with averaging on.
 * @param dst        receives as many values as the model has parameters.
 * @param capacity   number of values that fit in `dst`.
 *
 * @return PLIM_OK or a common error.
 *         PLIM_ERROR_MISSING_DATA: no iterate has been averaged yet.
 */
plim_status plim_optimizer_average(const plim_optimizer *optimizer,
                                   float *dst,
                                   size_t capacity);

/**
 * Copies the exponential moving average of the parameters.
 *
 * @param optimizer  an optimizer with plim_optimizer_set_ema().
 * @param dst        receives as many values as the model has parameters; plim_model_set_parameters()
 *                   takes them.
 * @param capacity   number of values that fit in `dst`.
 *
 * @return PLIM_OK or a common error.
 *         PLIM_ERROR_MISSING_DATA: there is no moving average, or no update since it was set.
 */
plim_status plim_optimizer_ema(const plim_optimizer *optimizer,
                               float *dst,
                               size_t capacity);

/**
 * Minimises your own objective in double precision, with T projected steps.
 *
 * The oracle is called at w_1, the initial `w`, to w_T. Afterwards `w` is w_{T+1}, and `average`
 * the mean of w_1 .. w_T. The run uses the optimizer's rule, step, schedule, warm-up, clipping, decay
 * and projection. It starts at k = 1, is a single epoch and reports nothing. The state that the
 * optimizer keeps for a model is neither used nor changed.
 *
 * @param optimizer  the optimizer.
 * @param oracle     computes the gradient; see plim_oracle.
 * @param user_data  passed to the oracle.
 * @param num_steps  T, at least 1.
 * @param w          `dim` finite values: the start, and then the result. If the call fails with
 *                   PLIM_ERROR_DIVERGED or PLIM_ERROR_CANCELLED, it receives the last finite
 *                   iterate.
 * @param average    receives `dim` values; may be NULL.
 * @param dim        number of variables, at least 1.
 *
 * @return PLIM_OK or a common error.
 *         PLIM_ERROR_DIVERGED: a gradient or an iterate is not finite.
 *         PLIM_ERROR_CANCELLED: the oracle returned a non-zero value.
 */
plim_status plim_optimizer_minimize(plim_optimizer *optimizer,
                                    plim_oracle oracle,
                                    void *user_data,
                                    size_t num_steps,
                                    double *w,
                                    double *average,
                                    size_t dim);

/**
 * Selects how the step γ_k depends on k, which counts the updates since the optimizer was created
 * or reset, from 1.
 *
 * It replaces plim_optimizer_set_step_decay() and plim_optimizer_set_cosine().
 *
 * @param optimizer  the optimizer.
 * @param schedule   PLIM_SCHEDULE_CONSTANT (default), PLIM_SCHEDULE_INVERSE or
 *                   PLIM_SCHEDULE_INVERSE_SQRT.
 *
 * @return PLIM_OK or a common error.
 */
plim_status plim_optimizer_set_schedule(plim_optimizer *optimizer, int32_t schedule);

/**
 * Multiplies the step by a factor at regular times: γ_k = γ·factor^⌊t / every⌋, as PyTorch's StepLR.
 * (Weight decay is plim_optimizer_set_decay().)
 *
 * It replaces plim_optimizer_set_schedule() and plim_optimizer_set_cosine().
 *
 * @param optimizer  the optimizer.
 * @param every      number of updates or epochs, at least 1.
 * @param unit       what t and `every` count: PLIM_UNIT_UPDATES or PLIM_UNIT_EPOCHS.
 * @param factor     0 < factor <= 1.
 *
 * @return PLIM_OK or a common error.
 */
plim_status plim_optimizer_set_step_decay(plim_optimizer *optimizer,
                                          size_t every,
                                          int32_t unit,
                                          double factor);

/**
 * Lowers the step along half a cosine: γ_k = minimum + (γ − minimum)·(1 + cos(π·t / length)) / 2, as
 * PyTorch's CosineAnnealingLR. From t = length on, the step stays at the minimum.
 *
 * It replaces plim_optimizer_set_schedule() and plim_optimizer_set_step_decay().
 *
 * @param optimizer  the optimizer.
 * @param length     number of updates or epochs, at least 1; for a whole training,
 *                   PLIM_UNIT_EPOCHS and the number of epochs.
 * @param unit       what t and `length` count: PLIM_UNIT_UPDATES or PLIM_UNIT_EPOCHS.
 * @param minimum    the last step, 0 <= minimum <= γ.
 *
 * @return PLIM_OK or a common error.
 */
plim_status plim_optimizer_set_cosine(plim_optimizer *optimizer,
                                      size_t length,
                                      int32_t unit,
                                      double minimum);

/**
 * Starts with smaller steps: multiplies the step of the schedule, whichever it is, by
 * start + (1 − start)·min(t, length) / length, as PyTorch's LinearLR.
 *
 * The schedule's own time does not wait for the warm-up to end. `start` = 1/n with `length` = n − 1
 * gives the factors 1/n, 2/n, … 1.
 *
 * @param optimizer  the optimizer.
 * @param length     number of updates or epochs. Default: 0, for no warm-up.
 * @param unit       what t and `length` count: PLIM_UNIT_UPDATES or PLIM_UNIT_EPOCHS.
 * @param start      the first factor, 0 <= start <= 1.
 *
 * @return PLIM_OK or a common error.
 */
plim_status plim_optimizer_set_warmup(plim_optimizer *optimizer,
                                      size_t length,
                                      int32_t unit,
                                      double start);

/**
 * Reduces the step when a measure stops improving, as PyTorch's ReduceLROnPlateau with threshold 0.
 *
 * plim_train() and plim_rank_train() report the measure of plim_train_options_set_monitor() after
 * each evaluation; in your own loop, plim_optimizer_report() does. When more than `patience` reports
 * in a row are not better than the best one, γ is multiplied by `factor`, down to `minimum`, and
 * counting starts again. The factor applies to the step of any schedule and warm-up.
 *
 * The call forgets earlier reports and reductions, as plim_optimizer_reset() does.
 *
 * @param optimizer  the optimizer.
 * @param factor     0 < factor <= 1. Default: 1, for no reductions.
 * @param patience   number of reports; 0 reduces at the first one that is not better.
 * @param minimum    the lowest γ, 0 <= minimum <= γ.
 *
 * @return PLIM_OK or a common error.
 */
plim_status plim_optimizer_set_plateau(plim_optimizer *optimizer,
                                       double factor,
                                       size_t patience,
                                       double minimum);

/**
 * Reports a measure for plim_optimizer_set_plateau(), without which it has no effect.
 *
 * For your own loop, after each evaluation. plim_train() and plim_rank_train() make their reports
 * themselves.
 *
 * @param optimizer  the optimizer.
 * @param value      not NaN; lower is better, so negate an accuracy.
 *
 * @return PLIM_OK or a common error.
 */
plim_status plim_optimizer_report(plim_optimizer *optimizer, double value);

/**
 * Counts an epoch for schedules with PLIM_UNIT_EPOCHS.
 *
 * For your own loop, after each pass over the training nodes. plim_train() and plim_rank_train() count
 * their epochs themselves.
 *
 * @param optimizer  the optimizer.
 *
 * @return PLIM_OK or a common error.
 */
plim_status plim_optimizer_end_epoch(plim_optimizer *optimizer);

/**
 * Returns the step γ_k of the next update: that of the schedule, times warm-up and reductions.
 *
 * @param optimizer  the optimizer. While plim_train() uses it, the value is that before the call.
 *
 * @return the step, >= 0.
 */
double plim_optimizer_step_size(const plim_optimizer *optimizer);

/**
 * Creates training options with their default values.
 *
 * @param out  receives the options; free them with plim_train_options_free().
 *
 * @return PLIM_OK or a common error.
 */
plim_status plim_train_options_new(plim_train_options **out);

/**
 * Frees training options.
 *
 * @param options  the options; NULL and handles that are not live are ignored.
 */
void plim_train_options_free(plim_train_options *options);

/**
 * Sets the number of epochs: passes over the training nodes, including those before a resumed
 * checkpoint.
 *
 * With the full estimator an epoch is one step.
 *
 * @param options  the options.
 * @param epochs   at least 1. Default: 100.
 *
 * @return PLIM_OK or a common error.
 */
plim_status plim_train_options_set_epochs(plim_train_options *options, size_t epochs);

/**
 * Sets the number of nodes per batch. The last batch of an epoch may be smaller.
 *
 * @param options     the options.
 * @param batch_size  at least 1. Default: 256. The full estimator ignores it.
 *
 * @return PLIM_OK or a common error.
 */
plim_status plim_train_options_set_batch_size(plim_train_options *options,
                                              size_t batch_size);

/**
 * Sets the seed of the order in which nodes are shuffled into batches.
 *
 * @param options  the options.
 * @param seed     any value. Default: 0.
 *
 * @return PLIM_OK or a common error.
 */
plim_status plim_train_options_set_seed(plim_train_options *options, uint64_t seed);

/**
 * Selects whether training ends with the parameters of the best epoch or with the last ones.
 *
 * plim_train_options_set_monitor() defines the best epoch. If no epoch was evaluated on what it
 * requires, training ends with the last parameters.
 *
 * @param options  the options.
 * @param on       0 for the last parameters, any other value for the best (default).
 *
 * @return PLIM_OK or a common error.
 */
plim_status plim_train_options_set_restore_best(plim_train_options *options, int32_t on);

/**
 * Stops training after this many epochs without improvement of the monitor.
 *
 * Only evaluated epochs count: training stops at the first evaluation that is at least `epochs`
 * epochs after the best one. plim_train() then requires evaluation and, unless the monitor is
 * PLIM_MONITOR_TRAIN_LOSS, a validation split. So it does with plim_optimizer_set_plateau().
 *
 * @param options  the options.
 * @param epochs   number of epochs. Default: 0, which never stops early.
 *
 * @return PLIM_OK or a common error.
 */
plim_status plim_train_options_set_patience(plim_train_options *options, size_t epochs);

/**
 * Selects how the best epoch is determined, for restoring, for patience and for
 * plim_history_best_epoch().
 *
 * The first of equal epochs is the best. Epochs without evaluation are ignored. A run can only
 * resume from a checkpoint with the same monitor.
 *
 * @param options  the options.
 * @param monitor  PLIM_MONITOR_VAL_ACCURACY (default), PLIM_MONITOR_VAL_LOSS,
 *                 PLIM_MONITOR_TRAIN_LOSS or PLIM_MONITOR_VAL_NDCG.
 *
 * @return PLIM_OK or a common error.
 */
plim_status plim_train_options_set_monitor(plim_train_options *options, int32_t monitor);

/**
 * Sets after how many epochs the model is evaluated. The last epoch is evaluated as well.
 *
 * @param options  the options.
 * @param epochs   number of epochs, or 0 for no evaluation at all. Default: 1.
 *
 * @return PLIM_OK or a common error.
 */
plim_status plim_train_options_set_evaluate_every(plim_train_options *options,
                                                  size_t epochs);

/**
 * Writes a checkpoint after every `every` epochs and after the last one.
 *
 * A checkpoint holds everything that a run needs to continue: parameters, the optimizer's state with
 * its averages and reports, counters, best parameters and history. The previous file is replaced only when the new one is
 * complete.
 *
 * @param options  the options.
 * @param path     a file name, in a directory that exists. Default: NULL, with `every` 0, for no
 *                 checkpoints.
 * @param every    number of epochs, at least 1 with a path.
 *
 * @return PLIM_OK or a common error.
 */
plim_status plim_train_options_set_checkpoint(plim_train_options *options,
                                              const char *path,
                                              size_t every);

/**
 * Continues from a checkpoint if the file exists, and starts from the beginning if it does not.
 *
 * The resumed run ends with the same bits as a run without interruption. It must have the same
 * sizes of graph and splits, widths, estimator with its seed, batch size, shuffling seed, monitor,
 * adaptive sampling and use of the moving average, and the same kind of optimizer. If not,
 * plim_train() fails with PLIM_ERROR_SHAPE_MISMATCH. The optimizer's settings are not in the file; set
 * them as before.
 *
 * @param options  the options.
 * @param path     a file name. Default: NULL, to start from the beginning.
 *
 * @return PLIM_OK or a common error.
 */
plim_status plim_train_options_set_resume(plim_train_options *options,
                                          const char *path);

/**
 * Adapts the sample size during training, so that the relative error of the gradient stays below δ.
 *
 * As the gradient shrinks, a fixed sample size gives a larger relative error. Every `every`
 * updates, a test estimates the error from 4 more gradients of the batch at the current size N and
 * 4 at 2N: their spread gives the deviation, the difference of their means the bias. If the error
 * is above δ, the size grows and the test repeats, at most 8 times. If it is below 0.7·δ, the size
 * shrinks. One round costs about as much as 12 steps.
 *
 * The error is relative to the exact gradient of the same batch. All sample sizes that are not 0
 * become equal, and the estimator keeps the last one. PLIM_HISTORY_SAMPLE_SIZE and
 * PLIM_HISTORY_ERROR record both.
 *
 * @param options   the options.
 * @param delta     δ, finite and > 0. Default: 0, which leaves sizes alone and ignores the other
 *                  arguments.
 * @param every     number of updates between tests, at least 1. The first test is before the first
 *                  update.
 * @param smallest  the smallest sample size, 1 .. INT32_MAX.
 * @param largest   the largest sample size, `smallest` .. INT32_MAX. If its error exceeds δ,
 *                  training continues with it.
 *
 * @return PLIM_OK or a common error.
 */
plim_status plim_train_options_set_adaptive(plim_train_options *options,
                                            double delta,
                                            size_t every,
                                            size_t smallest,
                                            size_t largest);

/**
 * Evaluates with the exponential moving average of the parameters instead of the last ones.
 *
 * The average is that of plim_optimizer_set_ema(), without which plim_train() fails with
 * PLIM_ERROR_INVALID_ARGUMENT. Evaluation, monitor, patience and plateau then see the average. A
 * training that ends with PLIM_OK leaves the average of the best epoch in the model, or the last one
 * without plim_train_options_set_restore_best(). Progress callbacks and other outcomes have the
 * parameters after the last step. A run can only resume from a checkpoint with the same setting.
 *
 * @param options  the options.
 * @param on       0 for the last parameters (default), any other value for their average.
 *
 * @return PLIM_OK or a common error.
 */
plim_status plim_train_options_set_ema(plim_train_options *options,
                                       int32_t on);

/**
 * Sets a callback that receives progress and can cancel.
 *
 * @param options    the options.
 * @param fn         the callback; see plim_progress_fn. Default: NULL for none.
 * @param user_data  passed to the callback.
 *
 * @return PLIM_OK or a common error.
 */
plim_status plim_train_options_set_progress(plim_train_options *options,
                                            plim_progress_fn fn,
                                            void *user_data);

/**
 * Sets a callback that receives log messages: the run's settings, checkpoints, changes of the
 * sample size, why training stopped, and which epoch was restored.
 *
 * @param options    the options.
 * @param level      PLIM_LOG_ERROR, PLIM_LOG_WARNING, PLIM_LOG_INFO or PLIM_LOG_DEBUG: messages of
 *                   this level and of those before it are sent. Others are not even formatted.
 * @param fn         the callback; see plim_log_fn. Default: NULL for none.
 * @param user_data  passed to the callback.
 *
 * @return PLIM_OK or a common error.
 */
plim_status plim_train_options_set_log(plim_train_options *options,
                                       int32_t level,
                                       plim_log_fn fn,
                                       void *user_data);

/**
 * Trains a model: in each epoch, one gradient and one update for each batch of the shuffled
 * training nodes.
 *
 * Estimator and optimizer keep their counters, so a second call continues their sequences.
 * Arguments are checked before anything changes. The outcome decides what the model holds:
 * - PLIM_OK: the parameters of the best epoch, or the last ones; see
 *   plim_train_options_set_restore_best() and plim_train_options_set_ema().
 * - PLIM_ERROR_CANCELLED or PLIM_ERROR_DIVERGED: the parameters after the last completed step,
 *   which are finite. `out` receives the history of the completed epochs.
 * - any other error: the parameters after the last completed step.
 *
 * @param model      the model. Other calls can read it while a callback runs; otherwise it is busy
 *                   until the call returns.
 * @param graph      a graph with labels and training nodes, and with features that fit the model.
 * @param estimator  estimates the gradients.
 * @param optimizer  updates the parameters.
 * @param options    the options, or NULL for the defaults.
 * @param out        receives the history, to be freed with plim_history_free(); may be NULL.
 *
 * @return PLIM_OK or a common error.
 *         PLIM_ERROR_INVALID_ARGUMENT: options contradict each other, for example patience without
 *           evaluation.
 *         PLIM_ERROR_SHAPE_MISMATCH: model, graph, estimator or optimizer do not fit each other, or
 *           the checkpoint is from a different run.
 *         PLIM_ERROR_MISSING_DATA: there are no features, labels or training nodes, a node of a
 *           split has no label, or patience or the plateau has no validation split.
 *         PLIM_ERROR_IO: a checkpoint cannot be read or written.
 *         PLIM_ERROR_BAD_FORMAT: the file to resume from is not a checkpoint, or is damaged.
 *         PLIM_ERROR_UNSUPPORTED: the estimator or the monitor is for rankings, or sampling is
 *           adaptive and the estimator draws nothing.
 *         PLIM_ERROR_DIVERGED: a loss, a gradient or a parameter is not finite.
 *         PLIM_ERROR_CANCELLED: the progress callback returned a non-zero value.
 */
plim_status plim_train(plim_model *model,
                       const plim_graph *graph,
                       plim_estimator *estimator,
                       plim_optimizer *optimizer,
                       const plim_train_options *options,
                       plim_history **out);

/**
 * Returns the number of completed epochs.
 *
 * @param history  the history.
 *
 * @return the number of epochs.
 */
size_t plim_history_num_epochs(const plim_history *history);

/**
 * Returns the best epoch, from 1, as plim_train_options_set_monitor() defines it.
 *
 * @param history  the history.
 *
 * @return the epoch; 0 if none was evaluated.
 */
size_t plim_history_best_epoch(const plim_history *history);

/**
 * Copies a column of the history, one number per epoch.
 *
 * A number is NaN if the epoch was not evaluated, if there is no validation split, or if sampling
 * is not adaptive, where the column depends on it. In plim_rank_train() the columns are about
 * queries, and accuracy is that of pairs.
 *
 * @param history   the history.
 * @param column    PLIM_HISTORY_TRAIN_LOSS, PLIM_HISTORY_VAL_LOSS, PLIM_HISTORY_VAL_ACCURACY,
 *                  PLIM_HISTORY_SECONDS, PLIM_HISTORY_BATCH_LOSS, PLIM_HISTORY_SAMPLE_SIZE,
 *                  PLIM_HISTORY_ERROR or PLIM_HISTORY_VAL_NDCG.
 * @param dst       receives plim_history_num_epochs() numbers.
 * @param capacity  number of values that fit in `dst`.
 *
 * @return PLIM_OK or a common error.
 */
plim_status plim_history_copy(const plim_history *history,
                              int32_t column,
                              double *dst,
                              size_t capacity);

/**
 * Frees a history.
 *
 * @param history  the history; NULL and handles that are not live are ignored.
 */
void plim_history_free(plim_history *history);

/**
 * Bounds ‖w_T − w*‖² for SGD on a strongly convex objective (Theorem 2).
 *
 * The steps are 1/((l−δ)k), and every gradient has a relative error of at most δ:
 *
 *     G²·[(1+δ)²/((l−δ)²T) + δ/(l−δ)]
 *
 * At T = 2 the first term counts twice. In all bounds, w_1 is the start and T counts iterates, w*
 * is the minimiser and f* = f(w*).
 *
 * @param l      modulus of strong convexity, > 0: f − (l/2)‖w‖² is convex. For a one-layer model it
 *               is λ of plim_model_set_regularization().
 * @param big_g  G, > 0: an upper bound on the norm of the gradient wherever the iterates may be.
 * @param delta  δ, 0 <= δ < l.
 * @param t      T, at least 1.
 * @param out    receives the bound.
 *
 * @return PLIM_OK or a common error. plim_last_error() names the condition that does not hold:
 *         "delta = 0.3: 0 <= delta < l = 0.1 does not hold".
 *         PLIM_ERROR_INVALID_ARGUMENT: also if the bound is too large for a double. This applies to
 *           all bounds.
 */
plim_status plim_bound_strongly_convex_iterate(double l,
                                               double big_g,
                                               double delta,
                                               size_t t,
                                               double *out);

/**
 * Bounds f(w̄_T) − f* for the mean w̄_T of the first T iterates, under the conditions of
 * plim_bound_strongly_convex_iterate() (Theorem 2):
 *
 *     G²/(2T)·[δT + (1+δ)²/(l−δ)·(1 + log T)]
 *
 * @param l      modulus of strong convexity, > 0.
 * @param big_g  G, > 0: an upper bound on the norm of the gradient wherever the iterates may be.
 * @param delta  δ, 0 <= δ < l.
 * @param t      T, at least 1.
 * @param out    receives the bound.
 *
 * @return PLIM_OK or a common error.
 */
plim_status plim_bound_strongly_convex_average(double l,
                                               double big_g,
                                               double delta,
                                               size_t t,
                                               double *out);

/**
 * Bounds f(w_T) − f* under the conditions of plim_bound_strongly_convex_iterate() (Theorem 3).
 *
 * The gradient must also be Lipschitz with constant L, and 0 at w*: w* must not lie on the boundary
 * of a ball or box that iterates are projected onto. The bound is L/2 times the bound on ‖w_T −
 * w*‖².
 *
 * @param l      modulus of strong convexity, > 0.
 * @param big_l  L, at least `l`.
 * @param big_g  G, > 0: an upper bound on the norm of the gradient wherever the iterates may be.
 * @param delta  δ, 0 <= δ < l.
 * @param t      T, at least 1.
 * @param out    receives the bound.
 *
 * @return PLIM_OK or a common error.
 */
plim_status plim_bound_strongly_convex_value(double l,
                                             double big_l,
                                             double big_g,
                                             double delta,
                                             size_t t,
                                             double *out);

/**
 * Bounds ‖w_T − w*‖² for SGD with a constant step c on a strongly convex objective (Theorem 4):
 *
 *     (1−2cl+cδ)^(T−1)·‖w_1−w*‖² + (δ + c(1+δ)²)/(2l−δ)·G²
 *
 * The first term vanishes as T grows, the second remains. A smaller step makes the second one
 * smaller, and the first one vanish later.
 *
 * @param l                         modulus of strong convexity, > 0.
 * @param big_g                     G, > 0: an upper bound on the norm of the gradient wherever the
 *                                  iterates may be.
 * @param delta                     δ, 0 <= δ < l.
 * @param step                      c, 0 < c < 1/(2l−δ).
 * @param t                         T, at least 1.
 * @param initial_distance_squared  ‖w_1−w*‖² or an upper bound on it; >= 0.
 * @param out                       receives the bound.
 *
 * @return PLIM_OK or a common error.
 */
plim_status plim_bound_constant_step(double l,
                                     double big_g,
                                     double delta,
                                     double step,
                                     size_t t,
                                     double initial_distance_squared,
                                     double *out);

/**
 * Bounds f(w̄_T) − f* for the mean w̄_T of the first T iterates on a convex objective (Theorem 5).
 *
 * The steps are c/√k, relative errors are at most ρ/√T, and iterates are projected onto a set of
 * diameter D:
 *
 *     1/(2√T)·[(1/c+ρ)D² + G²(ρ + 2c(1+ρ/√T)²)]
 *
 * The paper prints a smaller factor in place of 2c, which does not hold for T >= 3.
 *
 * @param big_g     G, > 0: an upper bound on the norm of the gradient wherever the iterates may be.
 * @param diameter  D, > 0: twice the radius of plim_optimizer_set_ball().
 * @param rho       ρ, >= 0.
 * @param c         the first step, > 0.
 * @param t         T, at least 1.
 * @param out       receives the bound.
 *
 * @return PLIM_OK or a common error.
 */
plim_status plim_bound_convex_average(double big_g,
                                      double diameter,
                                      double rho,
                                      double c,
                                      size_t t,
                                      double *out);

/**
 * Bounds the smallest ‖∇f(w_k)‖² among T iterates, for an objective that need not be convex
 * (Theorem 6).
 *
 * The steps are D_f/((1+δ)G√T), nothing is projected, and the gradient is Lipschitz with constant
 * L:
 *
 *     (1+δ)·L·G·D_f/((1−δ)√T)
 *
 * @param big_l  L, > 0.
 * @param big_g  G, > 0: an upper bound on the norm of the gradient wherever the iterates may be.
 * @param d_f    D_f = √(2(f(w_1)−f*)/L), > 0.
 * @param delta  δ, the relative error of the gradients, 0 <= δ < 1.
 * @param t      T, at least 1.
 * @param out    receives the bound.
 *
 * @return PLIM_OK or a common error.
 */
plim_status plim_bound_nonconvex_gradient(double big_l,
                                          double big_g,
                                          double d_f,
                                          double delta,
                                          size_t t,
                                          double *out);

/**
 * Bounds f(w_T) − f* for SGD with step 1/L on a strongly convex objective (Theorem 7).
 *
 * The gradient is Lipschitz with constant L, nothing is projected, and the k-th gradient has an
 * absolute error of at most δ_k:
 *
 *     (1−l/L)^(T−1)·(f(w_1)−f*) + 1/(2L)·Σ_{i<T} (1−l/L)^(T−1−i)·δ_i²
 *
 * @param l            modulus of strong convexity, 0 < l < L.
 * @param big_l        L.
 * @param deltas       T − 1 errors δ_1, δ_2, …, each finite and >= 0; may be NULL if T is 1.
 * @param t            T, at least 1.
 * @param initial_gap  f(w_1) − f* or an upper bound on it; >= 0.
 * @param out          receives the bound.
 *
 * @return PLIM_OK or a common error.
 */
plim_status plim_bound_linear(double l,
                              double big_l,
                              const double *deltas,
                              size_t t,
                              double initial_gap,
                              double *out);

/**
 * Computes how many nodes N to draw so that, with probability 1−ε, none of T gradients has a
 * relative error of δ or more.
 *
 * It assumes that one gradient misses δ with probability C·exp(−τN); plim_tail_fit() measures C and
 * τ for a δ. Over T steps the probability is at most T·C·exp(−τN). N is the smallest number for
 * which that is at most ε: log(T·C/ε)/τ, rounded up. It inverts plim_sample_epsilon(), as far as
 * the precision of a double allows.
 *
 * @param tau      τ, > 0.
 * @param c        C, > 0.
 * @param t        T, the number of steps, at least 1.
 * @param epsilon  ε, 0 < ε <= 1.
 * @param out      receives N, at least 1.
 *
 * @return PLIM_OK or a common error.
 *         PLIM_ERROR_INVALID_ARGUMENT: also if N would exceed 2^53.
 */
plim_status plim_sample_size(double tau,
                             double c,
                             size_t t,
                             double epsilon,
                             size_t *out);

/**
 * Computes the probability that at least one of T gradients from N draws has a relative error of δ
 * or more: min(1, T·C·exp(−τN)).
 *
 * @param tau          τ for this δ, > 0.
 * @param c            C, > 0.
 * @param t            T, the number of steps, at least 1.
 * @param sample_size  N, at least 1.
 * @param out          receives ε; 0 if it is too small for a double.
 *
 * @return PLIM_OK or a common error.
 */
plim_status plim_sample_epsilon(double tau, double c, size_t t, size_t sample_size, double *out);

/**
 * Computes the smallest δ that, with probability 1−ε, all of T gradients from N draws stay below.
 *
 * N draws suffice for a fitted δ if its margin τN − log(T·C/ε) is not negative. The result lies
 * between the last δ for which N draws do not suffice and the next one, where a linear
 * interpolation of the margin is 0. If they suffice for every δ, it is the first.
 *
 * @param deltas       `count` relative errors in ascending order, each > 0, for which C and τ were
 *                     fitted.
 * @param cs           `count` values of C, each > 0.
 * @param taus         `count` values of τ, each > 0.
 * @param count        at least 1.
 * @param t            T, the number of steps, at least 1.
 * @param epsilon      ε, 0 < ε <= 1.
 * @param sample_size  N, at least 1.
 * @param out          receives δ.
 *
 * @return PLIM_OK or a common error.
 *         PLIM_ERROR_INVALID_ARGUMENT: also if N draws do not suffice for the largest δ.
 */
plim_status plim_sample_delta(const double *deltas,
                              const double *cs,
                              const double *taus,
                              size_t count,
                              size_t t,
                              double epsilon,
                              size_t sample_size,
                              double *out);

/**
 * Creates options of a measurement with their default values.
 *
 * @param out  receives the options; free them with plim_probe_options_free().
 *
 * @return PLIM_OK or a common error.
 */
plim_status plim_probe_options_new(plim_probe_options **out);

/**
 * Frees options of a measurement.
 *
 * @param options  the options; NULL and handles that are not live are ignored.
 */
void plim_probe_options_free(plim_probe_options *options);

/**
 * Sets the number of gradients drawn per sample size.
 *
 * @param options  the options.
 * @param draws    2 .. INT32_MAX. Default: 10,000. Probabilities far below 1/`draws` cannot be
 *                 measured.
 *
 * @return PLIM_OK or a common error.
 */
plim_status plim_probe_options_set_draws(plim_probe_options *options, size_t draws);

/**
 * Sets the seed of the draws. A sample size has the same draws under the same seed, whichever other
 * sizes are measured.
 *
 * @param options  the options.
 * @param seed     any value. Default: 0.
 *
 * @return PLIM_OK or a common error.
 */
plim_status plim_probe_options_set_seed(plim_probe_options *options, uint64_t seed);

/**
 * Sets the nodes, or queries, whose gradient is estimated. The exact gradient h is then theirs.
 *
 * @param options  the options.
 * @param nodes    `count` different ids; (NULL, 0) for all training nodes or queries, which is the
 *                 default. The measurement checks that they can be trained on.
 * @param count    length of `nodes`; at least 1 unless `nodes` is NULL.
 *
 * @return PLIM_OK or a common error.
 */
plim_status plim_probe_options_set_batch(plim_probe_options *options,
                                         const int32_t *nodes,
                                         size_t count);

/**
 * Sets a callback that receives progress and can cancel.
 *
 * @param options    the options.
 * @param fn         the callback; see plim_progress_fn. Default: NULL for none.
 * @param user_data  passed to the callback.
 *
 * @return PLIM_OK or a common error.
 */
plim_status plim_probe_options_set_progress(plim_probe_options *options,
                                            plim_progress_fn fn,
                                            void *user_data);

/**
 * Sets a callback that receives log messages: the results for each sample size, what a planner
 * tries, and why a measurement fails.
 *
 * @param options    the options.
 * @param level      PLIM_LOG_ERROR, PLIM_LOG_WARNING, PLIM_LOG_INFO or PLIM_LOG_DEBUG: messages of
 *                   this level and of those before it are sent. Others are not even formatted.
 * @param fn         the callback; see plim_log_fn. Default: NULL for none.
 * @param user_data  passed to the callback.
 *
 * @return PLIM_OK or a common error.
 */
plim_status plim_probe_options_set_log(plim_probe_options *options,
                                       int32_t level,
                                       plim_log_fn fn,
                                       void *user_data);

/**
 * Measures how often the gradient of an estimator has a relative error of δ or more.
 *
 * The exact gradient h is computed once, at the model's current parameters. Then, for each sample
 * size, independent estimates g are drawn, and those with ‖g−h‖ >= δ‖h‖ are counted. The model's
 * threads share the work. The result does not depend on their number.
 *
 * @param estimator     the estimator to measure. It does not change; its seed and counter are not
 *                      used.
 * @param model         the model.
 * @param graph         a graph with labels, and with features that fit the model.
 * @param sample_sizes  `num_sizes` numbers, 1 .. INT32_MAX. Each in turn replaces all sample sizes
 *                      of the estimator that are not 0. For the unbiased estimator they are batch
 *                      sizes, at most the number of nodes. The full estimator has no error.
 * @param num_sizes     at least 1.
 * @param deltas        `num_deltas` relative errors δ, each finite and > 0.
 * @param num_deltas    length of `deltas`.
 * @param options       the options, or NULL for the defaults.
 * @param out           receives num_sizes × num_deltas fractions, one row per sample size.
 * @param capacity      number of values that fit in `out`.
 *
 * @return PLIM_OK or a common error.
 *         PLIM_ERROR_INVALID_ARGUMENT: also if the batch of the options is not valid for the graph
 *           or the estimator, or the exact gradient is 0.
 *         PLIM_ERROR_SHAPE_MISMATCH: estimator, model and graph do not fit each other.
 *         PLIM_ERROR_MISSING_DATA: there are no features, labels or training nodes, or a training
 *           node has no label.
 *         PLIM_ERROR_UNSUPPORTED: the estimator is for rankings.
 *         PLIM_ERROR_DIVERGED: a gradient is not finite.
 *         PLIM_ERROR_CANCELLED: the progress callback returned a non-zero value.
 */
plim_status plim_tail_probability(const plim_estimator *estimator,
                                  const plim_model *model,
                                  const plim_graph *graph,
                                  const size_t *sample_sizes,
                                  size_t num_sizes,
                                  const double *deltas,
                                  size_t num_deltas,
                                  const plim_probe_options *options,
                                  double *out,
                                  size_t capacity);

/**
 * Measures the same as plim_tail_probability(), and keeps intervals, bias and deviation as well.
 *
 * @param estimator     the estimator to measure; see plim_tail_probability().
 * @param model         the model.
 * @param graph         a graph with labels, and with features that fit the model.
 * @param sample_sizes  `num_sizes` sizes; see plim_tail_probability().
 * @param num_sizes     at least 1.
 * @param deltas        `num_deltas` relative errors δ, each finite and > 0; (NULL, 0) for none.
 * @param num_deltas    length of `deltas`.
 * @param options       the options, or NULL for the defaults.
 * @param out           receives the tail; free it with plim_tail_free().
 *
 * @return as plim_tail_probability().
 */
plim_status plim_tail_new(const plim_estimator *estimator,
                          const plim_model *model,
                          const plim_graph *graph,
                          const size_t *sample_sizes,
                          size_t num_sizes,
                          const double *deltas,
                          size_t num_deltas,
                          const plim_probe_options *options,
                          plim_tail **out);

/**
 * Copies results of a measurement.
 *
 * @param tail      the tail.
 * @param what      PLIM_TAIL_PROBABILITY, PLIM_TAIL_LOWER or PLIM_TAIL_UPPER: one row of num_deltas
 *                  numbers per sample size. PLIM_TAIL_ERROR, PLIM_TAIL_BIAS or PLIM_TAIL_DEVIATION:
 *                  one number per sample size.
 * @param dst       receives the numbers.
 * @param capacity  number of values that fit in `dst`.
 *
 * @return PLIM_OK or a common error.
 */
plim_status plim_tail_copy(const plim_tail *tail,
                           int32_t what,
                           double *dst,
                           size_t capacity);

/**
 * Returns the norm of the exact gradient, to which errors are relative.
 *
 * @param tail  the tail.
 *
 * @return ‖h‖, > 0.
 */
double plim_tail_norm(const plim_tail *tail);

/**
 * Frees a tail.
 *
 * @param tail  the tail; NULL and handles that are not live are ignored.
 */
void plim_tail_free(plim_tail *tail);

/**
 * Fits C and τ of a tail C·exp(−τN), for plim_sample_size().
 *
 * The fit is a least-squares line through log p over N, with weights draws·p/(1−p). It uses the
 * points of which 10 .. draws − 10 gradients missed δ.
 *
 * @param sample_sizes   `count` sizes N, each at least 1.
 * @param probabilities  `count` fractions p that missed one δ, each in [0, 1].
 * @param count          number of points.
 * @param draws          number of gradients behind each fraction.
 * @param c              receives C; may be NULL.
 * @param tau            receives τ, which is <= 0 if the tail does not fall; may be NULL.
 * @param r_squared      receives r² of the fit, 1 for a perfect one; may be NULL.
 *
 * @return PLIM_OK or a common error.
 *         PLIM_ERROR_MISSING_DATA: fewer than 3 points are usable, or all have the same size.
 */
plim_status plim_tail_fit(const size_t *sample_sizes,
                          const double *probabilities,
                          size_t count,
                          size_t draws,
                          double *c,
                          double *tau,
                          double *r_squared);

/**
 * Searches for the smallest sample size at which, with probability 1−ε, none of T gradients has a
 * relative error of δ or more, and measures its cost.
 *
 * Sizes up to the number of nodes are tried by drawing gradients, as plim_tail_probability() does.
 * A size meets the goal if the upper 95 % limit of its misses is at most ε/T. If ε/T is too small
 * for the number of draws to show, a tail is fitted to larger probabilities, as plim_tail_fit()
 * does, and extrapolated.
 *
 * The plan holds at the model's current parameters. The gradient shrinks in training, so make a new
 * plan from time to time, or use plim_train_options_set_adaptive().
 *
 * The sample size depends on the seed of the options only. Seconds, and so plim_plan_pays(), are
 * measured.
 *
 * @param estimator  a consistent estimator, whose sample sizes that are not 0 are planned, or the
 *                   unbiased one, whose batch size is planned. It does not change.
 * @param model      the model; its threads share the work.
 * @param graph      a graph with labels, and with features that fit the model.
 * @param delta      δ, finite and > 0, relative to the norm of the exact gradient.
 * @param epsilon    ε, 0 < ε <= 1.
 * @param t          T, the number of steps, at least 1.
 * @param options    the options, or NULL for the defaults.
 * @param out        receives the plan; free it with plim_plan_free().
 *
 * @return PLIM_OK, also if no size meets the goal, or a common error.
 *         PLIM_ERROR_INVALID_ARGUMENT, PLIM_ERROR_SHAPE_MISMATCH, PLIM_ERROR_DIVERGED,
 *           PLIM_ERROR_CANCELLED: as plim_tail_probability().
 *         PLIM_ERROR_MISSING_DATA: also if the tail is too steep to fit; more draws may help.
 *         PLIM_ERROR_UNSUPPORTED: the estimator draws nothing, or is for rankings.
 */
plim_status plim_plan_new(const plim_estimator *estimator,
                          const plim_model *model,
                          const plim_graph *graph,
                          double delta,
                          double epsilon,
                          size_t t,
                          const plim_probe_options *options,
                          plim_plan **out);

/**
 * Returns whether sampling pays.
 *
 * It pays if a sample size meets the goal and its gradient takes less time than the exact one.
 * Unless the estimator is the unbiased one, it must also take less time than the unbiased gradient
 * of a batch that meets the goal.
 *
 * @param plan  the plan.
 *
 * @return 1 if sampling pays, else 0.
 */
int32_t plim_plan_pays(const plim_plan *plan);

/**
 * Returns the number of sample sizes: the number of layers of a consistent estimator, else 1.
 *
 * @param plan  the plan.
 *
 * @return the number of sizes.
 */
size_t plim_plan_num_sizes(const plim_plan *plan);

/**
 * Copies the sample sizes, in the form that plim_estimator_consistent() takes.
 *
 * @param plan      the plan.
 * @param dst       receives plim_plan_num_sizes() sizes: the input layer first, 0 for an exact
 *                  input; or the batch size of the unbiased estimator. All are 0 if no size meets
 *                  the goal.
 * @param capacity  number of sizes that fit in `dst`.
 *
 * @return PLIM_OK or a common error.
 */
plim_status plim_plan_copy_sizes(const plim_plan *plan, size_t *dst, size_t capacity);

/**
 * Copies one number of a plan.
 *
 * @param plan  the plan.
 * @param what  a PLIM_PLAN_ constant, from PLIM_PLAN_SAMPLE_SIZE to PLIM_PLAN_R_SQUARED.
 * @param out   receives the number.
 *
 * @return PLIM_OK or a common error.
 */
plim_status plim_plan_get(const plim_plan *plan, int32_t what, double *out);

/**
 * Copies a description of the plan in English: whether to sample, how many nodes, and the costs.
 *
 * @param plan      the plan.
 * @param dst       receives the text, terminated by NUL.
 * @param capacity  number of bytes that fit in `dst`; PLIM_PLAN_TEXT_SIZE is enough.
 *
 * @return PLIM_OK or a common error.
 */
plim_status plim_plan_describe(const plim_plan *plan, char *dst, size_t capacity);

/**
 * Frees a plan.
 *
 * @param plan  the plan; NULL and handles that are not live are ignored.
 */
void plim_plan_free(plim_plan *plan);

/**
 * Creates ranking data with dense features. All queries are training queries at first.
 *
 * @param num_documents  number of documents of all queries, 1 .. INT32_MAX.
 * @param num_features   number of columns, 1 .. INT32_MAX.
 * @param row_major      `num_documents × num_features` finite values, one row per document.
 * @param relevance      `num_documents` numbers, 0 .. 1000; higher is more relevant.
 * @param num_queries    number of queries, 1 .. INT32_MAX.
 * @param offsets        `num_queries + 1` ascending numbers: query q has the documents offsets[q]
 *                       .. offsets[q + 1] − 1, at least one.
 * @param out            receives the data; free them with plim_rank_data_free().
 *
 * @return PLIM_OK or a common error.
 *         PLIM_ERROR_SHAPE_MISMATCH: the last offset is not the number of documents.
 */
plim_status plim_rank_data_new(size_t num_documents,
                               size_t num_features,
                               const float *row_major,
                               const int32_t *relevance,
                               size_t num_queries,
                               const int64_t *offsets,
                               plim_rank_data **out);

/**
 * Creates ranking data with features in compressed sparse rows. All queries are training queries at
 * first.
 *
 * @param num_documents  number of documents of all queries, 1 .. INT32_MAX.
 * @param num_features   number of columns, 1 .. INT32_MAX.
 * @param indptr         `num_documents + 1` offsets; the first is 0, and none is less than the one
 *                       before it.
 * @param indices        `indptr[num_documents]` column ids, in any order within a row; repeated
 *                       entries are added.
 * @param values         `indptr[num_documents]` finite values.
 * @param relevance      `num_documents` numbers, 0 .. 1000; higher is more relevant.
 * @param num_queries    number of queries, 1 .. INT32_MAX.
 * @param offsets        `num_queries + 1` numbers; see plim_rank_data_new().
 * @param out            receives the data; free them with plim_rank_data_free().
 *
 * @return as plim_rank_data_new().
 */
plim_status plim_rank_data_new_sparse(size_t num_documents,
                                      size_t num_features,
                                      const int64_t *indptr,
                                      const int32_t *indices,
                                      const float *values,
                                      const int32_t *relevance,
                                      size_t num_queries,
                                      const int64_t *offsets,
                                      plim_rank_data **out);

/**
 * Reads ranking data from a text file in the format of LETOR and SVMlight, one document per line.
 *
 * A line holds a relevance, a query and features: `2 qid:10 1:0.5 7:-3 # comment`. Features count
 * from 1, in any order and each at most once; missing ones are 0. The lines of a query are
 * consecutive. Blank lines and the text after # are ignored. All queries are training queries at
 * first.
 *
 * @param path          a file name.
 * @param num_features  number of columns, or 0 for the largest feature in the file. Set it if
 *                      several files belong together, since a file need not contain the last
 *                      feature.
 * @param out           receives the data; free them with plim_rank_data_free().
 *
 * @return PLIM_OK or a common error.
 *         PLIM_ERROR_IO: the file cannot be read.
 *         PLIM_ERROR_BAD_FORMAT: plim_last_error() names line and column: "train.txt: line 3:
 *           column 9: "0" is outside [1, 136]".
 */
plim_status plim_rank_data_load(const char *path, size_t num_features, plim_rank_data **out);

/**
 * Frees ranking data.
 *
 * @param data  the data; NULL and handles that are not live are ignored.
 */
void plim_rank_data_free(plim_rank_data *data);

/**
 * Appends all queries of other data and adds them to a split, for example the queries of a
 * validation file.
 *
 * @param data   the data to extend.
 * @param other  data with the same number of features. Either both are standardised by the same
 *               numbers, or neither is. `other` does not change, and its splits are ignored.
 * @param split  PLIM_SPLIT_TRAIN, PLIM_SPLIT_VAL or PLIM_SPLIT_TEST.
 *
 * @return PLIM_OK or a common error.
 *         PLIM_ERROR_INVALID_ARGUMENT: also if the two are not standardised alike.
 *         PLIM_ERROR_SHAPE_MISMATCH: the numbers of features differ.
 *         PLIM_ERROR_BUSY: also if both are the same handle.
 */
plim_status plim_rank_data_append(plim_rank_data *data,
                                  const plim_rank_data *other,
                                  int32_t split);

/**
 * Standardises each feature: subtracts the mean over the training documents and divides by their
 * standard deviation.
 *
 * The features become dense. A feature that is constant is not divided. The data keep the means and
 * deviations: pass them as `reference` to standardise other data alike.
 *
 * @param data       the data, not yet standardised.
 * @param reference  the data whose training documents define means and deviations. If it is
 *                   standardised, the numbers that it keeps are used. NULL selects `data` itself.
 *
 * @return PLIM_OK or a common error.
 *         PLIM_ERROR_INVALID_ARGUMENT: `data` is standardised already, or a result is not finite.
 *         PLIM_ERROR_SHAPE_MISMATCH: the numbers of features differ.
 *         PLIM_ERROR_MISSING_DATA: the reference has no training queries.
 */
plim_status plim_rank_data_standardize(plim_rank_data *data,
                                       const plim_rank_data *reference);

/**
 * Sets the queries of a split, replacing earlier ones.
 *
 * @param data     the data.
 * @param split    PLIM_SPLIT_TRAIN, PLIM_SPLIT_VAL or PLIM_SPLIT_TEST.
 * @param queries  `count` different query numbers.
 * @param count    number of queries; 0 empties the split, and `queries` may then be NULL.
 *
 * @return PLIM_OK or a common error.
 */
plim_status plim_rank_data_set_split(plim_rank_data *data,
                                     int32_t split,
                                     const int32_t *queries,
                                     size_t count);

/**
 * Sets how NDCG is computed: the sum of gain / log2(1 + rank) over the first k documents, divided
 * by the same sum for the best order.
 *
 * Documents with equal scores share their ranks, as in scikit-learn's ndcg_score().
 *
 * @param data    the data.
 * @param cutoff  k, or 0 for all documents of a query. Default: 10.
 * @param gain    PLIM_RANK_GAIN_EXPONENTIAL (default) or PLIM_RANK_GAIN_LINEAR.
 *
 * @return PLIM_OK or a common error.
 */
plim_status plim_rank_data_set_ndcg(plim_rank_data *data, size_t cutoff, int32_t gain);

/**
 * Returns the number of queries.
 *
 * @param data  the data.
 *
 * @return the number of queries.
 */
size_t plim_rank_data_num_queries(const plim_rank_data *data);

/**
 * Returns the number of documents of all queries.
 *
 * @param data  the data.
 *
 * @return the number of documents.
 */
size_t plim_rank_data_num_documents(const plim_rank_data *data);

/**
 * Returns the number of features per document.
 *
 * @param data  the data.
 *
 * @return the number of features.
 */
size_t plim_rank_data_num_features(const plim_rank_data *data);

/**
 * Returns the number of queries in a split.
 *
 * @param data   the data.
 * @param split  PLIM_SPLIT_TRAIN, PLIM_SPLIT_VAL or PLIM_SPLIT_TEST.
 *
 * @return the number; 0 if `split` is none of these.
 */
size_t plim_rank_data_split_size(const plim_rank_data *data, int32_t split);

/**
 * Copies the queries of a split, in the order in which they were set.
 *
 * @param data      the data.
 * @param split     PLIM_SPLIT_TRAIN, PLIM_SPLIT_VAL or PLIM_SPLIT_TEST.
 * @param dst       receives plim_rank_data_split_size() query numbers.
 * @param capacity  number of values that fit in `dst`.
 *
 * @return PLIM_OK or a common error.
 */
plim_status plim_rank_data_copy_split(const plim_rank_data *data,
                                      int32_t split,
                                      int32_t *dst,
                                      size_t capacity);

/**
 * Copies the index of the first document of each query, followed by the number of documents.
 *
 * @param data      the data.
 * @param dst       receives plim_rank_data_num_queries() + 1 numbers.
 * @param capacity  number of values that fit in `dst`.
 *
 * @return PLIM_OK or a common error.
 */
plim_status plim_rank_data_copy_offsets(const plim_rank_data *data,
                                        int64_t *dst,
                                        size_t capacity);

/**
 * Copies the relevance of each document.
 *
 * @param data      the data.
 * @param dst       receives plim_rank_data_num_documents() numbers.
 * @param capacity  number of values that fit in `dst`.
 *
 * @return PLIM_OK or a common error.
 */
plim_status plim_rank_data_copy_relevance(const plim_rank_data *data,
                                          int32_t *dst,
                                          size_t capacity);

/**
 * Copies the id of each query: the number after qid in the file, or the query's index if the data
 * do not come from a file.
 *
 * @param data      the data.
 * @param dst       receives plim_rank_data_num_queries() ids.
 * @param capacity  number of ids that fit in `dst`.
 *
 * @return PLIM_OK or a common error.
 */
plim_status plim_rank_data_copy_query_ids(const plim_rank_data *data,
                                          int64_t *dst,
                                          size_t capacity);

/**
 * Computes the score of every document. A higher score ranks higher.
 *
 * @param model     a model whose input width is the number of features, with one output.
 * @param data      the data.
 * @param dst       receives plim_rank_data_num_documents() scores.
 * @param capacity  number of scores that fit in `dst`.
 *
 * @return PLIM_OK or a common error.
 *         PLIM_ERROR_SHAPE_MISMATCH: the model's widths do not fit.
 *         PLIM_ERROR_DIVERGED: a score is not finite.
 */
plim_status plim_rank_score(const plim_model *model,
                            const plim_rank_data *data,
                            float *dst,
                            size_t capacity);

/**
 * Measures a model on the queries of a split exactly, without sampling.
 *
 * Loss and accuracy are means over the queries that have two documents of different relevance. NDCG
 * is a mean over all queries of the split; a query without a relevant document counts as 0.
 *
 * @param model     a model whose input width is the number of features, with one output.
 * @param data      the data.
 * @param split     PLIM_SPLIT_TRAIN, PLIM_SPLIT_VAL or PLIM_SPLIT_TEST.
 * @param loss      receives the mean loss, without the penalty of λ; may be NULL.
 * @param accuracy  receives the fraction of pairs in the right order; may be NULL.
 * @param ndcg      receives NDCG, as plim_rank_data_set_ndcg() defines it; may be NULL.
 *
 * @return PLIM_OK or a common error.
 *         PLIM_ERROR_SHAPE_MISMATCH: the model's widths do not fit.
 *         PLIM_ERROR_MISSING_DATA: no query of the split has two documents of different relevance.
 *         PLIM_ERROR_DIVERGED: a score or the loss is not finite.
 */
plim_status plim_rank_evaluate(const plim_model *model,
                               const plim_rank_data *data,
                               int32_t split,
                               double *loss,
                               double *accuracy,
                               double *ndcg);

/**
 * Measures a model on each query of a split exactly, without sampling.
 *
 * @param model     a model whose input width is the number of features, with one output.
 * @param data      the data.
 * @param split     PLIM_SPLIT_TRAIN, PLIM_SPLIT_VAL or PLIM_SPLIT_TEST.
 * @param measure   PLIM_RANK_MEASURE_LOSS, PLIM_RANK_MEASURE_ACCURACY or PLIM_RANK_MEASURE_NDCG.
 * @param dst       receives plim_rank_data_split_size() numbers, in the order of
 *                  plim_rank_data_copy_split().
 * @param capacity  number of values that fit in `dst`.
 *
 * @return PLIM_OK or a common error.
 *         PLIM_ERROR_SHAPE_MISMATCH: the model's widths do not fit.
 *         PLIM_ERROR_MISSING_DATA: the split is empty.
 *         PLIM_ERROR_DIVERGED: a score is not finite.
 */
plim_status plim_rank_measure(const plim_model *model,
                              const plim_rank_data *data,
                              int32_t split,
                              int32_t measure,
                              double *dst,
                              size_t capacity);

/**
 * Estimates the gradient of the ranking objective, and its value, at the model's parameters.
 *
 * The objective is the mean over the queries of the batch of the mean over their pairs of log(1 +
 * exp(s_j − s_i)), where i ranks above j, plus λ/2 ‖W‖². In everything else the function works as
 * plim_estimator_gradient().
 *
 * @param estimator   a full or unbiased estimator, which use all pairs, or one of
 *                    plim_estimator_pairs() or plim_estimator_separate().
 * @param model       a model whose input width is the number of features, with one output.
 * @param data        the data.
 * @param batch       `batch_size` different queries, each with two documents of different
 *                    relevance; (NULL, 0) for all such training queries. The full estimator takes
 *                    only (NULL, 0).
 * @param batch_size  length of `batch`; at least 1 unless `batch` is NULL.
 * @param gradient    receives plim_model_num_parameters() values, in the order of
 *                    plim_model_get_parameters().
 * @param capacity    number of values that fit in `gradient`.
 * @param loss        receives the estimate of the objective; may be NULL.
 *
 * @return PLIM_OK or a common error.
 *         PLIM_ERROR_SHAPE_MISMATCH: the model's widths do not fit.
 *         PLIM_ERROR_MISSING_DATA: no training query has two documents of different relevance.
 *         PLIM_ERROR_UNSUPPORTED: the estimator is a consistent one, which draws neighbours.
 *         PLIM_ERROR_DIVERGED: the loss or the gradient is not finite.
 */
plim_status plim_rank_gradient(plim_estimator *estimator,
                               const plim_model *model,
                               const plim_rank_data *data,
                               const int32_t *batch,
                               size_t batch_size,
                               float *gradient,
                               size_t capacity,
                               double *loss);

/**
 * Trains a model to rank, as plim_train() trains one on a graph.
 *
 * A batch consists of queries. Queries without two documents of different relevance are left out.
 * Accuracy is that of pairs, and NDCG has its own column and monitor: PLIM_HISTORY_VAL_NDCG and
 * PLIM_MONITOR_VAL_NDCG.
 *
 * @param model      a model whose input width is the number of features, with one output; busy as
 *                   in plim_train().
 * @param data       the data.
 * @param estimator  estimates the gradients.
 * @param optimizer  updates the parameters.
 * @param options    the options, or NULL for the defaults.
 * @param out        receives the history, to be freed with plim_history_free(); may be NULL.
 *
 * @return as plim_train().
 *         PLIM_ERROR_UNSUPPORTED: the estimator is a consistent one, or sampling is adaptive and
 *           the estimator draws nothing.
 */
plim_status plim_rank_train(plim_model *model,
                            const plim_rank_data *data,
                            plim_estimator *estimator,
                            plim_optimizer *optimizer,
                            const plim_train_options *options,
                            plim_history **out);

/**
 * Measures how large the errors of an estimator's gradients of a ranking are, as plim_tail_new()
 * does on a graph.
 *
 * @param estimator     the estimator to measure; see plim_tail_probability().
 * @param model         a model whose input width is the number of features, with one output.
 * @param data          the data. A batch of the options consists of queries.
 * @param sample_sizes  `num_sizes` numbers, 1 .. INT32_MAX, each in turn in place of the
 *                      estimator's: pairs or documents drawn per query, or the queries per batch of
 *                      the unbiased estimator.
 * @param num_sizes     at least 1.
 * @param deltas        `num_deltas` relative errors δ, each finite and > 0; (NULL, 0) for none.
 * @param num_deltas    length of `deltas`.
 * @param options       the options, or NULL for the defaults.
 * @param out           receives the tail; free it with plim_tail_free().
 *
 * @return as plim_tail_probability().
 *         PLIM_ERROR_UNSUPPORTED: the estimator is a consistent one.
 */
plim_status plim_rank_tail_new(const plim_estimator *estimator,
                               const plim_model *model,
                               const plim_rank_data *data,
                               const size_t *sample_sizes,
                               size_t num_sizes,
                               const double *deltas,
                               size_t num_deltas,
                               const plim_probe_options *options,
                               plim_tail **out);

/**
 * Searches for the smallest sample size for gradients of a ranking, and measures its cost, as
 * plim_plan_new() does on a graph.
 *
 * Sizes are tried up to the largest number of documents of a query, or of pairs for
 * plim_estimator_pairs(), and at most 1048576.
 *
 * @param estimator  one of plim_estimator_pairs() or plim_estimator_separate(), whose size is
 *                   planned, or the unbiased one, whose number of queries per batch is planned. It
 *                   does not change.
 * @param model      a model whose input width is the number of features, with one output; its
 *                   threads share the work.
 * @param data       the data. A batch of the options consists of queries.
 * @param delta      δ, finite and > 0, relative to the norm of the exact gradient.
 * @param epsilon    ε, 0 < ε <= 1.
 * @param t          T, the number of steps, at least 1.
 * @param options    the options, or NULL for the defaults.
 * @param out        receives the plan; free it with plim_plan_free().
 *
 * @return as plim_plan_new().
 */
plim_status plim_rank_plan_new(const plim_estimator *estimator,
                               const plim_model *model,
                               const plim_rank_data *data,
                               double delta,
                               double epsilon,
                               size_t t,
                               const plim_probe_options *options,
                               plim_plan **out);

/**
 * Creates options for reading an edge list, with their default values.
 *
 * @param out  receives the options; free them with plim_edge_list_options_free().
 *
 * @return PLIM_OK or a common error.
 */
plim_status plim_edge_list_options_new(plim_edge_list_options **out);

/**
 * Frees options.
 *
 * @param options  the options; NULL and handles that are not live are ignored.
 */
void plim_edge_list_options_free(plim_edge_list_options *options);

/**
 * Sets the byte between the fields of a line.
 *
 * With a separator of your own, every such byte ends a field, so that fields can be empty.
 *
 * @param options    the options.
 * @param separator  a tab, a space, or a punctuation mark other than " + - and the point, as in ',';
 *                   or PLIM_SEPARATOR_AUTO (default).
 *
 * @return PLIM_OK or a common error.
 */
plim_status plim_edge_list_options_set_separator(plim_edge_list_options *options,
                                                 int32_t separator);

/**
 * Selects whether the first line that is neither blank nor a comment is a header.
 *
 * @param options  the options.
 * @param header   PLIM_HEADER_AUTO (default), PLIM_HEADER_YES or PLIM_HEADER_NO.
 *
 * @return PLIM_OK or a common error.
 */
plim_status plim_edge_list_options_set_header(plim_edge_list_options *options,
                                              int32_t header);

/**
 * Selects the columns of source, target and weight by their numbers, counted from 0.
 *
 * Other columns are not read. Default: 0 and 1, and 2 for the weight if there are three columns; a file
 * with more columns is an error. This replaces plim_edge_list_options_set_column_names().
 *
 * @param options  the options.
 * @param source   0 .. 65535.
 * @param target   0 .. 65535, not `source`.
 * @param weight   0 .. 65535, neither `source` nor `target`; or -1 for no weights.
 *
 * @return PLIM_OK or a common error.
 */
plim_status plim_edge_list_options_set_columns(plim_edge_list_options *options,
                                               int32_t source,
                                               int32_t target,
                                               int32_t weight);

/**
 * Selects the columns of source, target and weight by their names in the header.
 *
 * The first line is then a header. Names must be equal byte for byte, without the quotes and the blanks
 * around them. This replaces plim_edge_list_options_set_columns().
 *
 * @param options  the options.
 * @param source   a name that is not empty.
 * @param target   a name that is not empty, not `source`.
 * @param weight   a name that is not empty, neither `source` nor `target`; or NULL for no weights.
 *
 * @return PLIM_OK or a common error.
 */
plim_status plim_edge_list_options_set_column_names(plim_edge_list_options *options,
                                                    const char *source,
                                                    const char *target,
                                                    const char *weight);

/**
 * Selects whether edges have a direction.
 *
 * In a directed graph the target of an edge aggregates from its source: row v of A lists the sources of
 * the edges to v. PLIM_NORMALIZATION_ROW is then usual.
 *
 * @param options  the options.
 * @param on       0 for undirected edges (default), any other value for directed ones.
 *
 * @return PLIM_OK or a common error.
 */
plim_status plim_edge_list_options_set_directed(plim_edge_list_options *options,
                                                int32_t on);

/**
 * Selects what becomes of an edge that several lines list.
 *
 * If edges are undirected, lines for (u, v) and (v, u) list the same edge.
 *
 * @param options   the options.
 * @param repeated  PLIM_REPEATED_SUM (default), PLIM_REPEATED_COUNT, PLIM_REPEATED_FIRST or
 *                  PLIM_REPEATED_MAX.
 *
 * @return PLIM_OK or a common error.
 */
plim_status plim_edge_list_options_set_repeated(plim_edge_list_options *options,
                                                int32_t repeated);

/**
 * Sets how a line begins that is a comment. Blanks before it do not matter.
 *
 * @param options  the options.
 * @param prefix   a text without blanks and quotes, or "" for no comments. Default: NULL, for # and %
 *                 if ids are numbers, and for no comments if ids are names, which may begin so.
 *
 * @return PLIM_OK or a common error.
 */
plim_status plim_edge_list_options_set_comment(plim_edge_list_options *options,
                                               const char *prefix);

/**
 * Sets the number of nodes. A file with more of them is an error; further ones have no edges.
 *
 * @param options    the options.
 * @param num_nodes  1 .. INT32_MAX. Default: 0, for one more than the largest id in the file, or for
 *                   the number of different names.
 *
 * @return PLIM_OK or a common error.
 */
plim_status plim_edge_list_options_set_num_nodes(plim_edge_list_options *options,
                                                 size_t num_nodes);

/**
 * Sets a callback that receives log messages: a header that is skipped without being asked for, and the
 * numbers of lines, edges and nodes. Both have PLIM_LOG_INFO.
 *
 * @param options    the options.
 * @param level      PLIM_LOG_ERROR, PLIM_LOG_WARNING, PLIM_LOG_INFO or PLIM_LOG_DEBUG: messages of
 *                   this level and of those before it are sent.
 * @param fn         the callback; see plim_log_fn. Default: NULL for none.
 * @param user_data  passed to the callback.
 *
 * @return PLIM_OK or a common error.
 */
plim_status plim_edge_list_options_set_log(plim_edge_list_options *options,
                                           int32_t level,
                                           plim_log_fn fn,
                                           void *user_data);

/**
 * Reads edges from a text file, such as CSV: one edge a line, whose source, target and weight are fields
 * of the line.
 *
 * All lines must have the same number of fields. A field can be in double quotes, as RFC 4180 says:
 * separators and line breaks in it belong to it, and a quote in it is written twice. Blanks around other
 * fields are ignored, as are blank lines, a byte order mark, and the carriage return before a newline. A
 * line has at most 65536 bytes. Weights are finite and not negative.
 *
 * With `ids`, the ids in the file are names: any text that is not empty. Nodes are then numbered in the
 * order in which the file first names them, the source of a line before its target. Without `ids`, the
 * ids in the file are the numbers of the nodes, from 0.
 *
 * @param path     a file name.
 * @param options  the options, or NULL for the defaults.
 * @param ids      receives the table of names, to be freed with plim_ids_free(); NULL if the ids in the
 *                 file are numbers.
 * @param out      receives the graph; free it with plim_graph_free().
 *
 * @return PLIM_OK or a common error.
 *         PLIM_ERROR_INVALID_ARGUMENT: options contradict each other, or ids are names and it is not
 *           said whether there is a header.
 *         PLIM_ERROR_IO: the file cannot be read.
 *         PLIM_ERROR_BAD_FORMAT: plim_last_error() names the line, the column in bytes from 1 and the
 *           text: "transfers.csv: line 7: column 12: "abc" is not a weight".
 */
plim_status plim_graph_from_edge_list_with(const char *path,
                                           const plim_edge_list_options *options,
                                           plim_ids **ids,
                                           plim_graph **out);

/**
 * Reads a table that plim_ids_save() wrote.
 *
 * @param path  a file name.
 * @param out   receives the table; free it with plim_ids_free().
 *
 * @return PLIM_OK or a common error.
 *         PLIM_ERROR_IO: the file cannot be read.
 *         PLIM_ERROR_BAD_FORMAT: it is not a table of ids, or is damaged.
 *         PLIM_ERROR_UNSUPPORTED: a newer version of this library wrote it.
 */
plim_status plim_ids_load(const char *path, plim_ids **out);

/**
 * Writes the table as a text file. An existing file is replaced only when the new one is complete.
 *
 * The first line is "plimsoll ids 1", the number of names, and the CRC-32 of the rest in hexadecimal.
 * Each further line is a name, in the order of the ids, with \\ for a backslash, \n for a newline and \r
 * for a carriage return.
 *
 * @param ids   the table.
 * @param path  a file name.
 *
 * @return PLIM_OK or a common error.
 *         PLIM_ERROR_IO: the file cannot be written.
 */
plim_status plim_ids_save(const plim_ids *ids,
                          const char *path);

/**
 * Returns the number of names.
 *
 * @param ids  the table.
 *
 * @return the number of names; their ids are 0 .. number - 1.
 */
size_t plim_ids_count(const plim_ids *ids);

/**
 * Returns the size of a buffer that holds any name of the table, with its NUL.
 *
 * @param ids  the table.
 *
 * @return the number of bytes.
 */
size_t plim_ids_name_size(const plim_ids *ids);

/**
 * Finds the id of a name. It takes about as long for every size of the table.
 *
 * @param ids   the table.
 * @param name  a string, compared byte for byte.
 * @param out   receives the id, or -1 if the table does not have the name.
 *
 * @return PLIM_OK or a common error.
 */
plim_status plim_ids_find(const plim_ids *ids, const char *name, int32_t *out);

/**
 * Copies the name of an id.
 *
 * @param ids       the table.
 * @param id        0 .. plim_ids_count() - 1.
 * @param dst       receives the name as it is in the file, terminated by NUL.
 * @param capacity  number of bytes that fit in `dst`; plim_ids_name_size() is enough for any name.
 *
 * @return PLIM_OK or a common error.
 */
plim_status plim_ids_copy_name(const plim_ids *ids, int32_t id, char *dst, size_t capacity);

/**
 * Frees a table.
 *
 * @param ids  the table; NULL and handles that are not live are ignored.
 */
void plim_ids_free(plim_ids *ids);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* PLIMSOLL_H */
