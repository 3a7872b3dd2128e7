/**
 * @file plimsoll.h
 *
 * Plimsoll: graph neural networks inside a C or C++ program.
 *
 * A graph (plim_graph) holds edges, features, labels and a split. A model (plim_model) is a graph
 * convolutional network of any depth. An estimator (plim_estimator) turns a batch of nodes into a
 * gradient of the model's parameters: exactly, from the batch and its whole neighbourhood, or from
 * a few sampled nodes per layer. An optimizer (plim_optimizer) moves the parameters along it.
 * plim_train() does both for as many epochs as its options (plim_train_options) say, and gives a
 * history (plim_history).
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
 * Errors. A call that can fail returns a plim_status: PLIM_OK (0) or a PLIM_ERROR_ number.
 * plim_last_error() then says, for the calling thread, which argument, which index and which value:
 * "targets[3] = 9 is outside [0, 5)". Out-parameters stay untouched on failure, except that a
 * cancelled or diverged plim_train() gives its history and plim_optimizer_minimize() its last
 * finite iterate. The library neither prints nor aborts.
 *
 * Ownership. A call with a last parameter `plim_x **out` makes a handle; plim_x_free() ends it, and
 * ignores NULL. Arrays are borrowed for the call and copied, but for those of plim_graph_view_csr()
 * and plim_graph_view_features(), which are lent until their release is called. Results go to the
 * caller's buffer: a `capacity` counts elements, not bytes, and one that is too small is
 * PLIM_ERROR_BUFFER_TOO_SMALL. A handle that was freed, is of another kind, or never was one is
 * PLIM_ERROR_INVALID_HANDLE, and a getter answers 0 for it.
 *
 * NULL. Where NULL means "all", it goes with count 0, and a non-NULL pointer with count 0 is an
 * empty list. Elsewhere (NULL, 0) is an empty array, and (NULL, n) is PLIM_ERROR_NULL_POINTER.
 *
 * Threads. Any number of threads may use a handle through `const plim_x *` at once. A call that
 * takes `plim_x *` needs the handle to itself: PLIM_ERROR_BUSY says that another thread has it.
 * Freeing a handle that another thread uses is safe; its memory goes when that call returns.
 *
 * Callbacks. A callback gets the `void *user_data` that was set with it and is called on the thread
 * of the call that uses it. It answers 0 to go on; anything else cancels (PLIM_ERROR_CANCELLED). A
 * plim_log_fn and a plim_release_fn answer nothing. Callbacks must return: no exception and no
 * longjmp may leave one.
 *
 * Determinism. The same seeds, build and plim_isa() give the same bits, for any number of threads.
 *
 * Types. Node ids are int32_t, offsets int64_t, counts size_t, data float (row-major). All numbers
 * that a constant names are stable.
 *
 * Other languages. A handle is a 64-bit number in the shape of a pointer: there is nothing at that
 * address, and it is good on every thread. A function that was set as a callback must be kept from
 * the garbage collector until it is replaced or its options are freed. The text of an error stays on
 * the thread of the call; where calls run on another thread, ask for it there. docs/node.md and
 * docs/java.md are examples.
 */

#ifndef PLIMSOLL_H
#define PLIMSOLL_H

/* Made by cbindgen from src/capi; `make header` rewrites it. */

#include <stddef.h>
#include <stdint.h>

#define PLIM_VERSION_MAJOR 0
#define PLIM_VERSION_MINOR 1
#define PLIM_VERSION_PATCH 0
#define PLIM_VERSION "0.1.0"

/**
 * Split of the nodes to learn from.
 */
#define PLIM_SPLIT_TRAIN 0

/**
 * Split of the nodes to choose the best epoch by.
 */
#define PLIM_SPLIT_VAL 1

/**
 * Split of the nodes to report accuracy on.
 */
#define PLIM_SPLIT_TEST 2

/**
 * Â = D^-1/2 (A + I) D^-1/2, D the row sums of A + I. The default.
 */
#define PLIM_NORMALIZATION_SYMMETRIC 0

/**
 * Â = D^-1 (A + I).
 */
#define PLIM_NORMALIZATION_ROW 1

/**
 * Â = A exactly as it is; no I is added.
 */
#define PLIM_NORMALIZATION_NONE 2

/**
 * Draw from all nodes alike. The default.
 */
#define PLIM_DISTRIBUTION_UNIFORM 0

/**
 * Draw from all nodes in proportion to ‖Â(:,u)‖².
 */
#define PLIM_DISTRIBUTION_IMPORTANCE 1

/**
 * Draw alike from S, the nodes that the rows above are linked to.
 */
#define PLIM_DISTRIBUTION_NEIGHBORS 2

/**
 * Draw from S in proportion to ‖Â(rows above, u)‖².
 */
#define PLIM_DISTRIBUTION_LADIES 3

/**
 * The mean over batches and draws is the gradient over all training nodes, or training queries.
 */
#define PLIM_PROPERTY_UNBIASED 1

/**
 * The estimate converges to the batch's exact gradient as the sample sizes grow.
 */
#define PLIM_PROPERTY_CONSISTENT 2

/**
 * The estimate is the gradient over all training nodes, or training queries.
 */
#define PLIM_PROPERTY_EXACT 4

/**
 * The step is γ. The default.
 */
#define PLIM_SCHEDULE_CONSTANT 0

/**
 * The step is γ/k at the k-th update.
 */
#define PLIM_SCHEDULE_INVERSE 1

/**
 * The step is γ/√k at the k-th update.
 */
#define PLIM_SCHEDULE_INVERSE_SQRT 2

/**
 * Log level: the call is about to fail; the message is that of plim_last_error().
 */
#define PLIM_LOG_ERROR 0

/**
 * Log level: the call goes on, but not quite as was asked for, or at a cost.
 */
#define PLIM_LOG_WARNING 1

/**
 * Log level: what the call does, and why, that it was cancelled too; a few lines, and one for each checkpoint.
 */
#define PLIM_LOG_INFO 2

/**
 * Log level: every epoch and every sample size that is tried.
 */
#define PLIM_LOG_DEBUG 3

/**
 * Column: loss over all training nodes, nothing sampled, without λ.
 */
#define PLIM_HISTORY_TRAIN_LOSS 0

/**
 * Column: loss over the validation nodes, without λ.
 */
#define PLIM_HISTORY_VAL_LOSS 1

/**
 * Column: accuracy over the validation nodes.
 */
#define PLIM_HISTORY_VAL_ACCURACY 2

/**
 * Column: seconds of the epoch's training steps alone, evaluation and callbacks apart.
 */
#define PLIM_HISTORY_SECONDS 3

/**
 * Column: mean over the epoch's batches of their loss as estimated, with λ.
 */
#define PLIM_HISTORY_BATCH_LOSS 4

/**
 * Column: mean over the epoch's steps of the sample size that plim_train_options_set_adaptive() chose.
 */
#define PLIM_HISTORY_SAMPLE_SIZE 5

/**
 * Column: the gradient's relative error as last estimated by then, if sampling is adaptive.
 */
#define PLIM_HISTORY_ERROR 6

/**
 * Column: mean NDCG of the validation queries, by plim_rank_train().
 */
#define PLIM_HISTORY_VAL_NDCG 7

/**
 * Monitor: the highest accuracy over the validation nodes is the best. The default.
 */
#define PLIM_MONITOR_VAL_ACCURACY 0

/**
 * Monitor: the lowest loss over the validation nodes is the best, without λ.
 */
#define PLIM_MONITOR_VAL_LOSS 1

/**
 * Monitor: the lowest loss over all training nodes is the best, nothing sampled, without λ. It needs no validation split.
 */
#define PLIM_MONITOR_TRAIN_LOSS 2

/**
 * Monitor: the highest mean NDCG of the validation queries is the best. For plim_rank_train() alone.
 */
#define PLIM_MONITOR_VAL_NDCG 3

/**
 * Share of the gradients that missed by δ or more; one number for each sample size and δ.
 */
#define PLIM_TAIL_PROBABILITY 0

/**
 * Lower limit of that share's 95 % interval (Wilson's); as many numbers.
 */
#define PLIM_TAIL_LOWER 1

/**
 * Upper limit of that share's 95 % interval (Wilson's); as many numbers.
 */
#define PLIM_TAIL_UPPER 2

/**
 * Root mean square of the error, ‖g−h‖/‖h‖; one number for each sample size. error² = bias² + deviation².
 */
#define PLIM_TAIL_ERROR 3

/**
 * Bias, ‖mean of g − h‖/‖h‖: what remains however many gradients are averaged. One number for each sample size.
 */
#define PLIM_TAIL_BIAS 4

/**
 * Deviation, root mean square of ‖g − mean of g‖/‖h‖: what averaging removes. One number for each sample size.
 */
#define PLIM_TAIL_DEVIATION 5

/**
 * The smallest sample size that meets the goal; 0 if none does.
 */
#define PLIM_PLAN_SAMPLE_SIZE 0

/**
 * Share of the gradients of that size that missed by δ; NaN without a size.
 */
#define PLIM_PLAN_MISSES 1

/**
 * Upper limit of that share's 95 % interval; NaN without a size.
 */
#define PLIM_PLAN_UPPER 2

/**
 * Seconds of a gradient of that size; NaN without one.
 */
#define PLIM_PLAN_SECONDS 3

/**
 * Seconds of the exact gradient of the same nodes: the full step, unless the options named a batch.
 */
#define PLIM_PLAN_EXACT_SECONDS 4

/**
 * Seconds of the unbiased gradient of a batch that is as right; those of the exact one, if no smaller batch is.
 */
#define PLIM_PLAN_UNBIASED_SECONDS 5

/**
 * Nodes of that batch: of 32, 64, 128, … the first whose gradients meet the goal, as far as 200 of them can show.
 */
#define PLIM_PLAN_UNBIASED_BATCH 6

/**
 * C of the fitted tail; NaN if the draws could show ε/T without one.
 */
#define PLIM_PLAN_C 7

/**
 * τ of the fitted tail; NaN without one.
 */
#define PLIM_PLAN_TAU 8

/**
 * r² of the fitted tail; NaN without one.
 */
#define PLIM_PLAN_R_SQUARED 9

/**
 * A buffer of this many bytes holds every text of plim_plan_describe().
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
 * Mean over a query's pairs of log(1 + exp(s_j − s_i)), i ranked above j; NaN without a pair.
 */
#define PLIM_RANK_MEASURE_LOSS 0

/**
 * Share of a query's pairs that the scores put in the right order, equal scores counting half; NaN without a pair.
 */
#define PLIM_RANK_MEASURE_ACCURACY 1

/**
 * NDCG of a query, as plim_rank_data_set_ndcg() says; 0 if no document is relevant.
 */
#define PLIM_RANK_MEASURE_NDCG 2

/**
 * Estimates gradients of a model on a graph. Release it with plim_estimator_free().
 */
typedef struct plim_estimator plim_estimator;

/**
 * An attributed graph: adjacency, features, labels and splits. Release it with plim_graph_free().
 */
typedef struct plim_graph plim_graph;

/**
 * What training recorded, epoch by epoch. Release it with plim_history_free().
 */
typedef struct plim_history plim_history;

/**
 * A graph convolutional network and its parameters. Release it with plim_model_free().
 */
typedef struct plim_model plim_model;

/**
 * Moves parameters along gradients. Release it with plim_optimizer_free().
 */
typedef struct plim_optimizer plim_optimizer;

/**
 * How few draws suffice, and what they cost. Release it with plim_plan_free().
 */
typedef struct plim_plan plim_plan;

/**
 * How to measure. Release it with plim_probe_options_free().
 */
typedef struct plim_probe_options plim_probe_options;

/**
 * Queries, their documents, and how relevant each document is. Release it with plim_rank_data_free().
 *
 * A model with one output scores documents: {136, 1} is a linear scorer, {136, 32, 1} a perceptron with a hidden layer of
 * ReLU. plim_model_gcn() makes both; documents have no links, so that each is scored by itself.
 */
typedef struct plim_rank_data plim_rank_data;

/**
 * How wrong an estimator's gradients were found to be. Release it with plim_tail_free().
 */
typedef struct plim_tail plim_tail;

/**
 * How to train. Release it with plim_train_options_free().
 */
typedef struct plim_train_options plim_train_options;

/**
 * What a call answers: PLIM_OK or one of PLIM_ERROR_…. The numbers never change.
 */
typedef int32_t plim_status;

/**
 * Tells the caller that arrays it has lent are no longer needed.
 *
 * @param user_data  what was handed over with the arrays.
 */
typedef void (*plim_release_fn)(void *user_data);

/**
 * A caller's own problem: fills `gradient` at `w`.
 *
 * Called on the thread of plim_optimizer_minimize(), with step = 1, 2, …; both arrays have `dim` elements, are valid
 * during the call only, and `gradient` comes filled with zeros. A non-zero answer stops the minimisation.
 */
typedef int32_t (*plim_oracle)(void *user_data, size_t step, const double *w, double *gradient, size_t dim);

/**
 * How far training or a measurement is. It grows at its end with later versions: `struct_size` says how far this one reaches.
 */
typedef struct plim_progress {
    /**
     * sizeof(plim_progress) of the library.
     */
    size_t struct_size;
    /**
     * The epoch at work or just done, from 1. In a measurement, the sample size at work.
     */
    size_t epoch;
    /**
     * Epochs, or sample sizes, in all; a planner's is a guess.
     */
    size_t num_epochs;
    /**
     * Steps done in this epoch, `num_steps` when it is done; in a measurement, the gradients drawn of this sample size.
     */
    size_t step;
    /**
     * Steps of an epoch; gradients to draw of each sample size.
     */
    size_t num_steps;
    /**
     * Loss over all training nodes after this epoch; NaN if not evaluated.
     */
    double train_loss;
    /**
     * Loss over the validation nodes; NaN if not evaluated.
     */
    double val_loss;
    /**
     * Accuracy over the validation nodes; NaN if not evaluated.
     */
    double val_accuracy;
    /**
     * Seconds of training steps, or of the measurement, so far.
     */
    double seconds;
    /**
     * Mean NDCG of the validation queries; NaN if not evaluated, and on a graph.
     */
    double val_ndcg;
} plim_progress;

/**
 * Told of progress; a non-zero answer cancels.
 *
 * Called on the thread of plim_train(), after each epoch and, within a long one, about twice a second; or on that of a
 * measurement (plim_tail_probability(), plim_tail_new(), plim_plan_new()), a few times a second. `progress` is valid during
 * the call only. Inside it, const calls on the model and the graph work (a save, a predict), and see the parameters of the
 * last step; calls that change them are PLIM_ERROR_BUSY.
 */
typedef int32_t (*plim_progress_fn)(void *user_data, const plim_progress *progress);

/**
 * Told what a call does.
 *
 * Called on the thread of plim_train() or of a measurement, between its steps, once for each message. `message` is one line
 * of UTF-8 without a newline, ended by a zero byte and valid during the call only. Its words may change with any
 * release; what a program acts upon is in statuses, histories and plim_progress. Inside it the same calls work as
 * inside a plim_progress_fn; it cannot cancel. It must return: no exception and no longjmp may leave it.
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
 * An argument is outside its range; the message names it, its index and its value.
 */
#define PLIM_ERROR_INVALID_ARGUMENT 2

/**
 * Two arguments do not fit each other: widths and features, sample sizes and layers.
 */
#define PLIM_ERROR_SHAPE_MISMATCH 3

/**
 * The graph lacks features, labels or a split.
 */
#define PLIM_ERROR_MISSING_DATA 4

/**
 * The caller's buffer is too small; the message says how many elements are needed.
 */
#define PLIM_ERROR_BUFFER_TOO_SMALL 5

/**
 * The operating system refused to read or write a file.
 */
#define PLIM_ERROR_IO 6

/**
 * A file is not what its format says.
 */
#define PLIM_ERROR_BAD_FORMAT 7

/**
 * Memory for the result could not be had.
 */
#define PLIM_ERROR_OUT_OF_MEMORY 8

/**
 * A loss, a gradient or an output is not finite.
 */
#define PLIM_ERROR_DIVERGED 9

/**
 * A callback asked to stop.
 */
#define PLIM_ERROR_CANCELLED 10

/**
 * An internal error in an earlier call left this handle in an unknown state; only freeing it is left.
 */
#define PLIM_ERROR_POISONED 11

/**
 * This object cannot do that.
 */
#define PLIM_ERROR_UNSUPPORTED 12

/**
 * A handle is freed, foreign or of another type.
 */
#define PLIM_ERROR_INVALID_HANDLE 13

/**
 * Another thread is changing the object, or using what this call would change.
 */
#define PLIM_ERROR_BUSY 14

/**
 * A bug in this library, caught before it could harm the program.
 */
#define PLIM_ERROR_INTERNAL 255

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/**
 * The library's version, "0.1.0". Static; never NULL.
 */
const char *plim_version(void);

/**
 * The instruction set in use: "avx512", "avx2", "neon" or "portable". Static; never NULL.
 *
 * It is chosen once per process. The environment variable PLIM_ISA may name a lower one, read at first use. Results
 * have the same bits for the same instruction set, and agree to 1e-5 of a gradient's norm across them.
 */
const char *plim_isa(void);

/**
 * Why the last failed call on this thread failed: which argument, which index, which value.
 *
 * Never NULL; "" before the first failure. A success leaves the text as it is. The pointer goes to a fixed buffer of
 * the calling thread: it stays readable until the thread ends, and the next failure there overwrites the text.
 */
const char *plim_last_error(void);

/**
 * The name of a status, "invalid argument" for PLIM_ERROR_INVALID_ARGUMENT. Static; never NULL.
 *
 * @param status  any number; one that is no status is "unknown status".
 */
const char *plim_status_name(plim_status status);

/**
 * Copies an undirected edge list into a new graph.
 *
 * (u, v) and (v, u) are one edge. Repeated edges merge: their weights add up, and an edge without weights stays 1. A
 * self-loop counts once on the diagonal. The normalisation is PLIM_NORMALIZATION_SYMMETRIC.
 *
 * @param num_nodes  number of nodes, 1 .. INT32_MAX; ids are 0 .. num_nodes-1.
 * @param num_edges  may be 0, and then the arrays may be NULL.
 * @param sources    `num_edges` node ids; borrowed for the call only.
 * @param targets    `num_edges` node ids; borrowed for the call only.
 * @param weights    `num_edges` finite weights >= 0, or NULL for all ones.
 * @param out        receives the graph; release it with plim_graph_free(). Untouched unless PLIM_OK is returned.
 *
 * @return PLIM_OK, PLIM_ERROR_NULL_POINTER, PLIM_ERROR_OUT_OF_MEMORY or PLIM_ERROR_INVALID_ARGUMENT;
 *         plim_last_error() names the entry: "targets[3] = 9 is outside [0, 5)".
 */
plim_status plim_graph_from_edges(size_t num_nodes,
                                  size_t num_edges,
                                  const int32_t *sources,
                                  const int32_t *targets,
                                  const float *weights,
                                  plim_graph **out);

/**
 * Copies a matrix in compressed sparse rows into a new graph: A as given, directed or not.
 *
 * Row v lists the nodes that v aggregates from. Rows need not be sorted; repeated entries merge, as repeated edges do
 * in plim_graph_from_edges(). The normalisation is PLIM_NORMALIZATION_SYMMETRIC, with row sums for D.
 *
 * @param num_nodes  number of rows and columns, 1 .. INT32_MAX.
 * @param indptr     `num_nodes + 1` offsets; the first is 0 and none is below the one before it.
 * @param indices    `indptr[num_nodes]` column ids; may be NULL if there are none.
 * @param values     as many finite weights >= 0, or NULL for all ones.
 * @param out        receives the graph; release it with plim_graph_free(). Untouched unless PLIM_OK is returned.
 *
 * @return PLIM_OK, PLIM_ERROR_NULL_POINTER, PLIM_ERROR_OUT_OF_MEMORY or PLIM_ERROR_INVALID_ARGUMENT.
 */
plim_status plim_graph_from_csr(size_t num_nodes,
                                const int64_t *indptr,
                                const int32_t *indices,
                                const float *values,
                                plim_graph **out);

/**
 * Makes the paper's Mixture graph: three overlapping Gaussians in the plane, linked more often inside than across.
 *
 * 3 · `nodes_per_class` nodes in order of class, 2 features, labels 0, 1, 2. Each ordered pair is linked with
 * probability 1e-3 inside a class and 2e-4 across, and the union is made symmetric. Of each class the first 40 %
 * train, the next 20 % validate, the rest test. The paper's size is 2000. Time and memory grow with nodes and edges.
 *
 * @param nodes_per_class  at least 1.
 * @param seed             the same seed gives the same graph.
 * @param out              receives the graph; release it with plim_graph_free(). Untouched unless PLIM_OK is returned.
 *
 * @return PLIM_OK, PLIM_ERROR_NULL_POINTER, PLIM_ERROR_INVALID_ARGUMENT or PLIM_ERROR_OUT_OF_MEMORY.
 */
plim_status plim_graph_from_mixture(size_t nodes_per_class, uint64_t seed, plim_graph **out);

/**
 * Borrows a matrix in compressed sparse rows: a graph without a copy.
 *
 * The matrix is taken as it is, so the normalisation is PLIM_NORMALIZATION_NONE: Â is the caller's matrix. Choosing another
 * one makes the graph's own copy. All entries are looked at once, in this call.
 *
 * The arrays must stay where they are, unchanged, until `release` is called: once, after plim_graph_free() or when the graph
 * no longer needs them, by the thread whose call was the last to use them. It may call functions of this library, though
 * not with this graph. If this function fails, the arrays stay the caller's and `release` is never called.
 *
 * @param num_nodes  number of rows and columns, 1 .. INT32_MAX.
 * @param indptr     `num_nodes + 1` offsets; the first is 0 and none is below the one before it.
 * @param indices    `indptr[num_nodes]` column ids, ascending in each row; may be NULL if there are none.
 * @param values     as many finite weights >= 0, or NULL for all ones, which then take memory of the library's.
 * @param release    called when the arrays are no longer needed; may be NULL.
 * @param user_data  handed to `release`.
 * @param out        receives the graph; release it with plim_graph_free(). Untouched unless PLIM_OK is returned.
 *
 * @return PLIM_OK, PLIM_ERROR_NULL_POINTER, PLIM_ERROR_OUT_OF_MEMORY or PLIM_ERROR_INVALID_ARGUMENT (an entry is out of its
 *         range, or a row is not sorted: plim_graph_from_csr() sorts its copy).
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
 * A line has a source, a target and perhaps a weight, separated by commas, semicolons, tabs or blanks; all lines alike. Ids
 * count from 0. A first line without numbers is a header and is skipped, as are blank lines and those that begin with # or
 * %. Repeated edges merge and self-loops count as in plim_graph_from_edges().
 *
 * @param path       a file name.
 * @param num_nodes  number of nodes; 0 for one more than the largest id in the file.
 * @param out        receives the graph; release it with plim_graph_free(). Untouched unless PLIM_OK is returned.
 *
 * @return PLIM_OK, PLIM_ERROR_NULL_POINTER, PLIM_ERROR_INVALID_ARGUMENT (an empty path, too many nodes), PLIM_ERROR_IO (it
 *         cannot be read), PLIM_ERROR_BAD_FORMAT (plim_last_error() names line and column) or PLIM_ERROR_OUT_OF_MEMORY.
 */
plim_status plim_graph_from_edge_list(const char *path,
                                      size_t num_nodes,
                                      plim_graph **out);

/**
 * Reads a graph from an .npz file or a Matrix Market file, or opens a store; which it is shows in its content.
 *
 * An .npz file is what NumPy's savez writes or plim_graph_save() does. Keys: `num_nodes`; `edges` [m, 2] and `self_loops` [k], with `edge_weights` [m] and `self_loop_weights` [k] if
 * weighted, or `adj_indptr`, `adj_indices` and, if weighted, `adj_values`; `features` [n, d], or `num_features` and `features_indptr`,
 * `features_indices`, `features_data`; `labels` [n], -1 for none; `train`, `val`, `test`; `normalization`. All but
 * the nodes and edges may be missing; other keys are ignored.
 *
 * A Matrix Market file holds the matrix in coordinates, of type real, integer or pattern. A symmetric one is undirected
 * edges, as for plim_graph_from_edges(); a general one is A by rows, as for plim_graph_from_csr().
 *
 * A store is a directory that plim_graph_save_store() or NumPy made. Its arrays are mapped into memory, not read: a graph may
 * be larger than memory, and sampled gradients touch only what they draw. Nothing may write to its files as long as the graph
 * lives; a file that is cut short meanwhile ends the process with SIGBUS. Offsets, ids and weights are checked once, here;
 * dense features are not, and one that is not finite shows as PLIM_ERROR_DIVERGED when it is used. The bound of
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
 * @return PLIM_OK, PLIM_ERROR_NULL_POINTER, PLIM_ERROR_INVALID_ARGUMENT (an empty path), PLIM_ERROR_IO,
 *         PLIM_ERROR_INVALID_HANDLE or PLIM_ERROR_BUSY.
 */
plim_status plim_graph_save(const plim_graph *graph, const char *path);

/**
 * Writes the graph as a store: a directory of .npy files and a meta.json that plim_graph_load() maps into memory.
 *
 * indptr.npy, indices.npy and values.npy hold Â, which is ready for use as it is; features.npy [n, d] (or
 * features_indptr.npy, features_indices.npy, features_data.npy), labels.npy, train.npy, val.npy and test.npy are as in an
 * .npz file. numpy.load(mmap_mode="r") reads each. The directory appears whole or not at all.
 *
 * @param graph      the graph.
 * @param directory  a name that is not taken yet, or that of an empty directory.
 *
 * @return PLIM_OK, PLIM_ERROR_NULL_POINTER, PLIM_ERROR_INVALID_ARGUMENT (an empty name), PLIM_ERROR_IO (it cannot be written,
 *         or is there and not empty), PLIM_ERROR_INVALID_HANDLE or PLIM_ERROR_BUSY.
 */
plim_status plim_graph_save_store(const plim_graph *graph,
                                  const char *directory);

/**
 * Bounds the memory for ÂX, the aggregated features that an exact input layer reads.
 *
 * ÂX is computed once, when a gradient or a whole-graph prediction first needs it, and dropped when features or
 * normalisation change. Where it would be larger than the bound, the rows that are needed are computed each time;
 * results have the same bits.
 *
 * @param graph      the graph.
 * @param max_bytes  the bound; 0 keeps nothing. The default is 1 GiB, and 0 for a store.
 *
 * @return PLIM_OK, PLIM_ERROR_NULL_POINTER, PLIM_ERROR_INVALID_HANDLE or PLIM_ERROR_BUSY.
 */
plim_status plim_graph_set_cache(plim_graph *graph, size_t max_bytes);

/**
 * Ends a graph's handle.
 *
 * @param graph  the graph; NULL and handles that are not live are ignored.
 */
void plim_graph_free(plim_graph *graph);

/**
 * Copies dense features, replacing any the graph had.
 *
 * @param graph         the graph.
 * @param num_features  columns, 1 .. INT32_MAX.
 * @param row_major     `num_nodes × num_features` finite values, row after row.
 *
 * @return PLIM_OK, PLIM_ERROR_NULL_POINTER, PLIM_ERROR_INVALID_ARGUMENT, PLIM_ERROR_INVALID_HANDLE, PLIM_ERROR_BUSY
 *         or PLIM_ERROR_OUT_OF_MEMORY. On failure the graph keeps what it had.
 */
plim_status plim_graph_set_features(plim_graph *graph, size_t num_features, const float *row_major);

/**
 * Borrows dense features, replacing any the graph had: no copy is made.
 *
 * All values are looked at once, in this call. The array must stay where it is, unchanged, until `release` is called: once,
 * when the graph has got other features or is freed, by the thread whose call was the last to use it. It may call functions
 * of this library, though not with this graph. If this function fails, the array stays the caller's and `release` is never
 * called. plim_graph_normalize_features() makes the graph's own copy.
 *
 * @param graph         the graph.
 * @param num_features  columns, 1 .. INT32_MAX.
 * @param row_major     `num_nodes × num_features` finite values, row after row.
 * @param release       called when the array is no longer needed; may be NULL.
 * @param user_data     handed to `release`.
 *
 * @return PLIM_OK, PLIM_ERROR_NULL_POINTER, PLIM_ERROR_INVALID_ARGUMENT, PLIM_ERROR_INVALID_HANDLE, PLIM_ERROR_BUSY
 *         or PLIM_ERROR_OUT_OF_MEMORY. On failure the graph keeps what it had.
 */
plim_status plim_graph_view_features(plim_graph *graph,
                                     size_t num_features,
                                     const float *row_major,
                                     plim_release_fn release,
                                     void *user_data);

/**
 * Copies features in compressed sparse rows, replacing any the graph had. Repeated entries add up.
 *
 * @param graph         the graph.
 * @param num_features  columns, 1 .. INT32_MAX.
 * @param indptr        `num_nodes + 1` offsets; the first is 0 and none is below the one before it.
 * @param indices       `indptr[num_nodes]` column ids; may be NULL if there are none.
 * @param values        as many finite values; may be NULL if there are none.
 *
 * @return PLIM_OK, PLIM_ERROR_NULL_POINTER, PLIM_ERROR_INVALID_ARGUMENT, PLIM_ERROR_INVALID_HANDLE, PLIM_ERROR_BUSY
 *         or PLIM_ERROR_OUT_OF_MEMORY. On failure the graph keeps what it had.
 */
plim_status plim_graph_set_sparse_features(plim_graph *graph,
                                           size_t num_features,
                                           const int64_t *indptr,
                                           const int32_t *indices,
                                           const float *values);

/**
 * Divides each row of the features by its sum; a row that sums to 0 stays as it is.
 *
 * @param graph  the graph.
 *
 * @return PLIM_OK, PLIM_ERROR_NULL_POINTER, PLIM_ERROR_MISSING_DATA (no features), PLIM_ERROR_INVALID_ARGUMENT (a
 *         quotient is not finite; nothing changes), PLIM_ERROR_INVALID_HANDLE or PLIM_ERROR_BUSY.
 */
plim_status plim_graph_normalize_features(plim_graph *graph);

/**
 * Copies class labels, replacing any the graph had.
 *
 * @param graph   the graph.
 * @param labels  `num_nodes` class ids 0, 1, …; -1 for a node without a label.
 *
 * @return PLIM_OK, PLIM_ERROR_NULL_POINTER, PLIM_ERROR_INVALID_ARGUMENT, PLIM_ERROR_INVALID_HANDLE, PLIM_ERROR_BUSY
 *         or PLIM_ERROR_OUT_OF_MEMORY. On failure the graph keeps what it had.
 */
plim_status plim_graph_set_labels(plim_graph *graph, const int32_t *labels);

/**
 * Copies the node list of a split, replacing the one the graph had.
 *
 * @param graph  the graph.
 * @param split  PLIM_SPLIT_TRAIN, PLIM_SPLIT_VAL or PLIM_SPLIT_TEST.
 * @param nodes  `count` node ids, none twice; may be NULL if `count` is 0.
 * @param count  0 empties the split.
 *
 * @return PLIM_OK, PLIM_ERROR_NULL_POINTER, PLIM_ERROR_INVALID_ARGUMENT, PLIM_ERROR_INVALID_HANDLE, PLIM_ERROR_BUSY
 *         or PLIM_ERROR_OUT_OF_MEMORY. On failure the graph keeps what it had.
 */
plim_status plim_graph_set_split(plim_graph *graph, int32_t split, const int32_t *nodes, size_t count);

/**
 * Chooses how A becomes Â. Edges, features, labels and splits stay.
 *
 * @param graph          the graph.
 * @param normalization  PLIM_NORMALIZATION_SYMMETRIC (default), PLIM_NORMALIZATION_ROW or PLIM_NORMALIZATION_NONE.
 *
 * @return PLIM_OK, PLIM_ERROR_NULL_POINTER, PLIM_ERROR_INVALID_ARGUMENT, PLIM_ERROR_INVALID_HANDLE, PLIM_ERROR_BUSY
 *         or PLIM_ERROR_OUT_OF_MEMORY.
 */
plim_status plim_graph_set_normalization(plim_graph *graph, int32_t normalization);

/**
 * Number of nodes.
 *
 * @param graph  the graph.
 *
 * @return the number; 0 for NULL or a handle that is not live.
 */
size_t plim_graph_num_nodes(const plim_graph *graph);

/**
 * Number of edges: unique undirected ones, a self-loop being one; of a graph from CSR its non-zeros.
 *
 * @param graph  the graph.
 *
 * @return the number; 0 for NULL or a handle that is not live.
 */
size_t plim_graph_num_edges(const plim_graph *graph);

/**
 * Number of features of a node.
 *
 * @param graph  the graph.
 *
 * @return the number; 0 without features, for NULL or a handle that is not live.
 */
size_t plim_graph_num_features(const plim_graph *graph);

/**
 * Number of classes: one more than the largest label.
 *
 * @param graph  the graph.
 *
 * @return the number; 0 without labels, for NULL or a handle that is not live.
 */
size_t plim_graph_num_classes(const plim_graph *graph);

/**
 * Number of nodes in a split.
 *
 * @param graph  the graph.
 * @param split  PLIM_SPLIT_TRAIN, PLIM_SPLIT_VAL or PLIM_SPLIT_TEST.
 *
 * @return the number; 0 for another split, for NULL or a handle that is not live.
 */
size_t plim_graph_split_size(const plim_graph *graph, int32_t split);

/**
 * Copies the node list of a split.
 *
 * @param graph     the graph.
 * @param split     PLIM_SPLIT_TRAIN, PLIM_SPLIT_VAL or PLIM_SPLIT_TEST.
 * @param dst       receives plim_graph_split_size() ids; untouched unless PLIM_OK is returned.
 * @param capacity  ids that `dst` has room for.
 *
 * @return PLIM_OK, PLIM_ERROR_NULL_POINTER, PLIM_ERROR_INVALID_ARGUMENT, PLIM_ERROR_BUFFER_TOO_SMALL,
 *         PLIM_ERROR_INVALID_HANDLE or PLIM_ERROR_BUSY.
 */
plim_status plim_graph_copy_split(const plim_graph *graph, int32_t split, int32_t *dst, size_t capacity);

/**
 * Copies the labels, -1 for a node without one.
 *
 * @param graph     the graph.
 * @param dst       receives plim_graph_num_nodes() labels; untouched unless PLIM_OK is returned.
 * @param capacity  labels that `dst` has room for.
 *
 * @return PLIM_OK, PLIM_ERROR_NULL_POINTER, PLIM_ERROR_MISSING_DATA (no labels), PLIM_ERROR_BUFFER_TOO_SMALL,
 *         PLIM_ERROR_INVALID_HANDLE or PLIM_ERROR_BUSY.
 */
plim_status plim_graph_copy_labels(const plim_graph *graph, int32_t *dst, size_t capacity);

/**
 * Makes a graph convolutional network: H(l+1) = ReLU(Â H(l) W(l)), no ReLU but a softmax after the last layer.
 *
 * {1433, 16, 7} is the 2-layer network for Cora. Parameters are drawn uniformly from ±sqrt(6 / (fan_in + fan_out)).
 *
 * @param widths      input width, hidden widths, output width; each 1 .. INT32_MAX.
 * @param num_widths  at least 2.
 * @param seed        the same seed gives the same parameters.
 * @param out         receives the model; release it with plim_model_free(). Untouched unless PLIM_OK is returned.
 *
 * @return PLIM_OK, PLIM_ERROR_NULL_POINTER, PLIM_ERROR_INVALID_ARGUMENT or PLIM_ERROR_OUT_OF_MEMORY.
 */
plim_status plim_model_gcn(const size_t *widths, size_t num_widths, uint64_t seed, plim_model **out);

/**
 * Reads a model from a safetensors file, as plim_model_save() or PyTorch Geometric's GCN without biases writes it.
 *
 * @param path  a file name.
 * @param out   receives the model; release it with plim_model_free(). Untouched unless PLIM_OK is returned.
 *
 * @return PLIM_OK, PLIM_ERROR_NULL_POINTER, PLIM_ERROR_INVALID_ARGUMENT (an empty path), PLIM_ERROR_IO (it cannot be
 *         read), PLIM_ERROR_BAD_FORMAT (it is not such a file, or is damaged) or PLIM_ERROR_OUT_OF_MEMORY.
 */
plim_status plim_model_load(const char *path, plim_model **out);

/**
 * Writes the model as a safetensors file: tensors `convs.{l}.lin.weight` of shape [fan_out, fan_in], λ as metadata.
 *
 * The number of threads is not written. The file appears whole or not at all: an older one of that name stays until
 * the new one is complete.
 *
 * @param model  the model.
 * @param path   a file name, ending in .safetensors by custom.
 *
 * @return PLIM_OK, PLIM_ERROR_NULL_POINTER, PLIM_ERROR_INVALID_ARGUMENT (an empty path), PLIM_ERROR_IO,
 *         PLIM_ERROR_INVALID_HANDLE or PLIM_ERROR_BUSY.
 */
plim_status plim_model_save(const plim_model *model, const char *path);

/**
 * Makes a model of its own with the same parameters, λ and number of threads.
 *
 * @param model  the model to copy.
 * @param out    receives the copy; release it with plim_model_free(). Untouched unless PLIM_OK is returned.
 *
 * @return PLIM_OK, PLIM_ERROR_NULL_POINTER, PLIM_ERROR_INVALID_HANDLE, PLIM_ERROR_BUSY or PLIM_ERROR_OUT_OF_MEMORY.
 */
plim_status plim_model_clone(const plim_model *model, plim_model **out);

/**
 * Ends a model's handle; its threads are joined.
 *
 * @param model  the model; NULL and handles that are not live are ignored.
 */
void plim_model_free(plim_model *model);

/**
 * Sets λ of the penalty λ/2 ‖W‖² over all layers. It enters gradients and their loss, not plim_model_evaluate().
 *
 * @param model   the model.
 * @param lambda  finite and >= 0; 0 at first.
 *
 * @return PLIM_OK, PLIM_ERROR_NULL_POINTER, PLIM_ERROR_INVALID_ARGUMENT, PLIM_ERROR_INVALID_HANDLE or PLIM_ERROR_BUSY.
 */
plim_status plim_model_set_regularization(plim_model *model, double lambda);

/**
 * Sets how many threads predictions, evaluations and gradients of this model use. Results do not depend on it.
 *
 * The threads are the model's own: started here, joined when it is freed, started anew in a child after fork().
 * They run where the calling thread may. On Linux one that shares a core with the thread it works for moves away from
 * it: it takes that core out of its own affinity and puts it back at once.
 *
 * @param model    the model.
 * @param threads  1 at first, which starts none; 0 for all cores; at most 1024.
 *
 * @return PLIM_OK, PLIM_ERROR_NULL_POINTER, PLIM_ERROR_INVALID_ARGUMENT, PLIM_ERROR_INVALID_HANDLE, PLIM_ERROR_BUSY
 *         or PLIM_ERROR_OUT_OF_MEMORY (the system starts no more threads).
 */
plim_status plim_model_set_threads(plim_model *model, size_t threads);

/**
 * Number of layers: one less than the widths.
 *
 * @param model  the model.
 *
 * @return the number; 0 for NULL or a handle that is not live.
 */
size_t plim_model_num_layers(const plim_model *model);

/**
 * Number of parameters of all layers, which is also the length of a gradient.
 *
 * @param model  the model.
 *
 * @return the number; 0 for NULL or a handle that is not live.
 */
size_t plim_model_num_parameters(const plim_model *model);

/**
 * Copies all parameters: W(0), W(1), …, each row-major fan_in × fan_out.
 *
 * @param model     the model.
 * @param dst       receives plim_model_num_parameters() values; untouched unless PLIM_OK is returned.
 * @param capacity  values that `dst` has room for.
 *
 * @return PLIM_OK, PLIM_ERROR_NULL_POINTER, PLIM_ERROR_BUFFER_TOO_SMALL, PLIM_ERROR_INVALID_HANDLE or PLIM_ERROR_BUSY.
 */
plim_status plim_model_get_parameters(const plim_model *model, float *dst, size_t capacity);

/**
 * Replaces all parameters, in the order of plim_model_get_parameters().
 *
 * @param model  the model.
 * @param src    `count` finite values.
 * @param count  plim_model_num_parameters().
 *
 * @return PLIM_OK, PLIM_ERROR_NULL_POINTER, PLIM_ERROR_SHAPE_MISMATCH (another count), PLIM_ERROR_INVALID_ARGUMENT (a
 *         value is not finite), PLIM_ERROR_INVALID_HANDLE or PLIM_ERROR_BUSY. On failure nothing changes.
 */
plim_status plim_model_set_parameters(plim_model *model, const float *src, size_t count);

/**
 * Copies the widths: input, hidden, output.
 *
 * @param model     the model.
 * @param dst       receives plim_model_num_layers() + 1 widths; untouched unless PLIM_OK is returned.
 * @param capacity  widths that `dst` has room for.
 *
 * @return PLIM_OK, PLIM_ERROR_NULL_POINTER, PLIM_ERROR_BUFFER_TOO_SMALL, PLIM_ERROR_INVALID_HANDLE or PLIM_ERROR_BUSY.
 */
plim_status plim_model_copy_widths(const plim_model *model, size_t *dst, size_t capacity);

/**
 * Computes class probabilities, exactly: nothing is sampled.
 *
 * The graph may be another one than the model was trained on, if its features fit. A list reads only the list's own
 * neighbourhood, and gives the same bits as the rows of a prediction for all. Many threads may predict on one model
 * at once.
 *
 * @param model          the model.
 * @param graph          a graph whose number of features is the model's input width.
 * @param nodes          `num_nodes` node ids, repeats allowed; NULL with 0 for all nodes.
 * @param num_nodes      length of the list.
 * @param probabilities  receives a row per node, as many columns as the model's last width, row-major; untouched
 *                       unless PLIM_OK is returned.
 * @param capacity       values that `probabilities` has room for.
 *
 * @return PLIM_OK, PLIM_ERROR_NULL_POINTER, PLIM_ERROR_INVALID_ARGUMENT (a node id), PLIM_ERROR_SHAPE_MISMATCH,
 *         PLIM_ERROR_MISSING_DATA (no features), PLIM_ERROR_BUFFER_TOO_SMALL, PLIM_ERROR_DIVERGED (an output is not
 *         finite), PLIM_ERROR_INVALID_HANDLE, PLIM_ERROR_BUSY or PLIM_ERROR_OUT_OF_MEMORY.
 */
plim_status plim_model_predict(const plim_model *model,
                               const plim_graph *graph,
                               const int32_t *nodes,
                               size_t num_nodes,
                               float *probabilities,
                               size_t capacity);

/**
 * Computes hidden representations H(layer+1), exactly: nothing is sampled.
 *
 * @param model      the model.
 * @param graph      a graph whose number of features is the model's input width.
 * @param nodes      `num_nodes` node ids, repeats allowed; NULL with 0 for all nodes.
 * @param num_nodes  length of the list.
 * @param layer      0 .. plim_model_num_layers()-1; the last layer gives what enters the softmax.
 * @param dst        receives a row per node, as many columns as width `layer + 1`, row-major; untouched unless PLIM_OK
 *                   is returned.
 * @param capacity   values that `dst` has room for.
 *
 * @return as plim_model_predict(); PLIM_ERROR_INVALID_ARGUMENT also for `layer`.
 */
plim_status plim_model_embed(const plim_model *model,
                             const plim_graph *graph,
                             const int32_t *nodes,
                             size_t num_nodes,
                             size_t layer,
                             float *dst,
                             size_t capacity);

/**
 * Measures a model on a split, exactly: nothing is sampled.
 *
 * @param model     the model.
 * @param graph     a graph with features, labels and that split.
 * @param split     PLIM_SPLIT_TRAIN, PLIM_SPLIT_VAL or PLIM_SPLIT_TEST.
 * @param loss      receives the mean cross-entropy, without λ; may be NULL.
 * @param accuracy  receives the share of nodes whose most probable class is their label; may be NULL.
 *
 * @return PLIM_OK, PLIM_ERROR_NULL_POINTER, PLIM_ERROR_INVALID_ARGUMENT (the split), PLIM_ERROR_SHAPE_MISMATCH,
 *         PLIM_ERROR_MISSING_DATA (no features, no labels, an empty split, a node of it without a label),
 *         PLIM_ERROR_DIVERGED, PLIM_ERROR_INVALID_HANDLE, PLIM_ERROR_BUSY or PLIM_ERROR_OUT_OF_MEMORY.
 */
plim_status plim_model_evaluate(const plim_model *model,
                                const plim_graph *graph,
                                int32_t split,
                                double *loss,
                                double *accuracy);

/**
 * Counts how often each class was taken for each on a split, exactly: nothing is sampled.
 *
 * Entry (i, j) is the number of nodes with label i whose most probable class is j, the first of equals. The diagonal's
 * share of all is the accuracy of plim_model_evaluate(); plim_confusion_macro_f1() sums the matrix up.
 *
 * @param model     the model; C is its last width, which may be more than the graph has classes.
 * @param graph     a graph with features, labels and that split.
 * @param split     PLIM_SPLIT_TRAIN, PLIM_SPLIT_VAL or PLIM_SPLIT_TEST.
 * @param matrix    receives C × C counts, row-major: rows are labels, columns predictions. Untouched unless PLIM_OK is
 *                  returned.
 * @param capacity  counts that `matrix` has room for.
 *
 * @return as plim_model_evaluate(), or PLIM_ERROR_BUFFER_TOO_SMALL.
 */
plim_status plim_model_confusion(const plim_model *model,
                                 const plim_graph *graph,
                                 int32_t split,
                                 size_t *matrix,
                                 size_t capacity);

/**
 * The macro-F1 of a confusion matrix: the mean over classes of 2·hits / (nodes so labelled + nodes so predicted).
 *
 * A class that is neither labelled nor predicted anywhere is left out of the mean; one that is only labelled or only
 * predicted counts as 0. That is scikit-learn's f1_score(average="macro"), whose classes are those of labels and
 * predictions together. Matrices of several graphs or splits may be added up before.
 *
 * @param confusion    num_classes × num_classes counts, row-major: rows are labels, columns predictions, as
 *                     plim_model_confusion() gives them.
 * @param num_classes  at least 1.
 * @param out          receives the macro-F1, in [0, 1]; untouched unless PLIM_OK is returned.
 *
 * @return PLIM_OK, PLIM_ERROR_NULL_POINTER or PLIM_ERROR_INVALID_ARGUMENT (no class, too many, or a matrix of zeros).
 */
plim_status plim_confusion_macro_f1(const size_t *confusion, size_t num_classes, double *out);

/**
 * Makes the full estimator: the exact gradient over all training nodes. It takes no batch.
 *
 * @param out  receives the estimator; release it with plim_estimator_free(). Untouched unless PLIM_OK is returned.
 *
 * @return PLIM_OK or PLIM_ERROR_NULL_POINTER.
 */
plim_status plim_estimator_full(plim_estimator **out);

/**
 * Makes the unbiased estimator: the exact gradient of a batch, from its whole neighbourhood.
 *
 * @param out  receives the estimator; release it with plim_estimator_free(). Untouched unless PLIM_OK is returned.
 *
 * @return PLIM_OK or PLIM_ERROR_NULL_POINTER.
 */
plim_status plim_estimator_unbiased(plim_estimator **out);

/**
 * Makes a consistent estimator: the gradient of a batch from a few nodes drawn at each layer's input.
 *
 * For each gradient, t nodes are drawn afresh with replacement from a distribution P, and the columns u of Â that
 * were drawn are weighted by 1 / (t·P(u)). The estimate is biased, and converges as the sample sizes grow.
 *
 * @param sample_sizes  draws at the input of each layer, input layer first; 0 for an exact layer.
 * @param num_layers    the model's number of layers, at least 1.
 * @param out           receives the estimator; release it with plim_estimator_free(). Untouched unless PLIM_OK is
 *                      returned.
 *
 * @return PLIM_OK, PLIM_ERROR_NULL_POINTER, PLIM_ERROR_INVALID_ARGUMENT or PLIM_ERROR_OUT_OF_MEMORY.
 */
plim_status plim_estimator_consistent(const size_t *sample_sizes, size_t num_layers, plim_estimator **out);

/**
 * Makes an estimator for rankings: the gradient of a batch of queries from ranked pairs drawn of each.
 *
 * For each gradient and query, t of its pairs of documents of different relevance are drawn afresh with replacement, all
 * alike, and their losses averaged. Unbiased and consistent.
 *
 * @param num_pairs  t, in [1, 1048576].
 * @param out        receives the estimator; release it with plim_estimator_free(). Untouched unless PLIM_OK is returned.
 *
 * @return PLIM_OK, PLIM_ERROR_NULL_POINTER or PLIM_ERROR_INVALID_ARGUMENT.
 */
plim_status plim_estimator_pairs(size_t num_pairs,
                                 plim_estimator **out);

/**
 * Makes an estimator for rankings: the gradient of a batch of queries from all ranked pairs between two samples of each.
 *
 * For each gradient and query, t documents i are drawn from the n_i that rank above another, and t documents j from the n_j
 * that rank below another, afresh and with replacement. Each pair of one i and one j that is ranked in this order has
 * the weight n_i n_j / t² over the number of the query's ranked pairs, which makes the estimate unbiased and consistent.
 * Self-normalised, the pairs of the sample have equal weights that add up to 1: the estimate is biased and consistent; a query
 * whose sample has no ranked pair adds 0. Where relevance has two levels both are the same.
 *
 * @param num_documents    t, in [1, 1048576].
 * @param self_normalized  0 for fixed weights; anything else for self-normalised ones.
 * @param out              receives the estimator; release it with plim_estimator_free(). Untouched unless PLIM_OK is
 *                         returned.
 *
 * @return PLIM_OK, PLIM_ERROR_NULL_POINTER or PLIM_ERROR_INVALID_ARGUMENT.
 */
plim_status plim_estimator_separate(size_t num_documents,
                                    int32_t self_normalized,
                                    plim_estimator **out);

/**
 * Ends an estimator's handle.
 *
 * @param estimator  the estimator; NULL and handles that are not live are ignored.
 */
void plim_estimator_free(plim_estimator *estimator);

/**
 * Starts the draws anew under a seed.
 *
 * Draws are keyed by the seed, the number of gradients since it was set, and the layer: the same seed gives the same
 * sequence of gradients.
 *
 * @param estimator  the estimator.
 * @param seed       0 at first.
 *
 * @return PLIM_OK, PLIM_ERROR_NULL_POINTER, PLIM_ERROR_INVALID_HANDLE or PLIM_ERROR_BUSY.
 */
plim_status plim_estimator_set_seed(plim_estimator *estimator, uint64_t seed);

/**
 * Chooses the distribution that nodes are drawn from, in place of an earlier choice or weights.
 *
 * Over all nodes the useful draws are those that hit a neighbour, so the sample size must grow with the graph; over S,
 * the neighbours of the rows above, it need not.
 *
 * @param estimator     a consistent estimator.
 * @param distribution  PLIM_DISTRIBUTION_UNIFORM (default), PLIM_DISTRIBUTION_IMPORTANCE,
 *                      PLIM_DISTRIBUTION_NEIGHBORS or PLIM_DISTRIBUTION_LADIES.
 *
 * @return PLIM_OK, PLIM_ERROR_NULL_POINTER, PLIM_ERROR_INVALID_ARGUMENT, PLIM_ERROR_UNSUPPORTED (an estimator that
 *         draws nothing), PLIM_ERROR_INVALID_HANDLE or PLIM_ERROR_BUSY.
 */
plim_status plim_estimator_set_distribution(plim_estimator *estimator, int32_t distribution);

/**
 * Draws nodes in proportion to the caller's weights, in place of an earlier choice.
 *
 * @param estimator  a consistent estimator.
 * @param weights    `num_nodes` finite weights > 0: a node that is never drawn would be missing for good.
 * @param num_nodes  the graph's number of nodes, at least 1; checked when a gradient is asked for.
 *
 * @return PLIM_OK, PLIM_ERROR_NULL_POINTER, PLIM_ERROR_INVALID_ARGUMENT, PLIM_ERROR_UNSUPPORTED (an estimator that
 *         draws nothing), PLIM_ERROR_INVALID_HANDLE, PLIM_ERROR_BUSY or PLIM_ERROR_OUT_OF_MEMORY.
 */
plim_status plim_estimator_set_weights(plim_estimator *estimator, const double *weights, size_t num_nodes);

/**
 * Pins the draws at the input of a layer: the caller's own sampler. They stay until they are taken back.
 *
 * The sample size of that layer is then `count`; the columns' weights follow from the distribution as for draws of
 * the library's own. An estimator with pinned draws declares no property.
 *
 * @param estimator  a consistent estimator.
 * @param layer      0 for the input layer.
 * @param nodes      `count` node ids, repeats count; ids beyond the graph are found when a gradient is asked for.
 * @param count      0 takes the draws back; `nodes` may then be NULL.
 *
 * @return PLIM_OK, PLIM_ERROR_NULL_POINTER, PLIM_ERROR_INVALID_ARGUMENT, PLIM_ERROR_UNSUPPORTED (an estimator that
 *         draws nothing), PLIM_ERROR_INVALID_HANDLE, PLIM_ERROR_BUSY or PLIM_ERROR_OUT_OF_MEMORY.
 */
plim_status plim_estimator_set_draws(plim_estimator *estimator,
                                     size_t layer,
                                     const int32_t *nodes,
                                     size_t count);

/**
 * What an estimator is: the bits PLIM_PROPERTY_UNBIASED, PLIM_PROPERTY_CONSISTENT and PLIM_PROPERTY_EXACT.
 *
 * @param estimator  the estimator.
 *
 * @return 7 for the full estimator, 1 for the unbiased one and for a consistent one that samples no layer, 2 for a
 *         consistent one, 0 with pinned draws; 3 for pairs and for separate samples, 2 if they are self-normalised; 0 for
 *         NULL or a handle that is not live.
 */
uint32_t plim_estimator_property(const plim_estimator *estimator);

/**
 * Estimates loss and gradient at the model's parameters.
 *
 * The objective is the mean cross-entropy over the batch plus λ/2 ‖W‖². A call that fails leaves the sequence of draws
 * where it was. Once its buffers have grown to the largest step, a call allocates nothing.
 *
 * @param estimator   the estimator.
 * @param model       the model.
 * @param graph       a graph with features that fit the model, labels and, for NULL as batch, training nodes.
 * @param batch       `batch_size` labelled node ids, none twice; NULL with 0 for all training nodes, which is all that
 *                    the full estimator takes.
 * @param batch_size  length of the list.
 * @param gradient    receives plim_model_num_parameters() values, in the order of plim_model_get_parameters();
 *                    untouched unless PLIM_OK is returned.
 * @param capacity    values that `gradient` has room for.
 * @param loss        receives the objective as estimated; may be NULL. Untouched unless PLIM_OK is returned.
 *
 * @return PLIM_OK, PLIM_ERROR_NULL_POINTER, PLIM_ERROR_INVALID_ARGUMENT (an entry of the batch or of pinned draws),
 *         PLIM_ERROR_SHAPE_MISMATCH (widths, sample sizes or weights do not fit), PLIM_ERROR_MISSING_DATA,
 *         PLIM_ERROR_UNSUPPORTED (an estimator for rankings), PLIM_ERROR_BUFFER_TOO_SMALL, PLIM_ERROR_DIVERGED (not
 *         finite), PLIM_ERROR_INVALID_HANDLE, PLIM_ERROR_BUSY or PLIM_ERROR_OUT_OF_MEMORY.
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
 * Makes stochastic gradient descent: w ← Π(w − γ_k g), with a constant step at first.
 *
 * @param step  γ, finite and > 0.
 * @param out   receives the optimizer; release it with plim_optimizer_free(). Untouched unless PLIM_OK is returned.
 *
 * @return PLIM_OK, PLIM_ERROR_NULL_POINTER or PLIM_ERROR_INVALID_ARGUMENT.
 */
plim_status plim_optimizer_sgd(double step, plim_optimizer **out);

/**
 * Makes Adam with β = 0.9, 0.999 and ε = 1e-8, as PyTorch has it.
 *
 * @param step  γ, finite and > 0.
 * @param out   receives the optimizer; release it with plim_optimizer_free(). Untouched unless PLIM_OK is returned.
 *
 * @return PLIM_OK, PLIM_ERROR_NULL_POINTER or PLIM_ERROR_INVALID_ARGUMENT.
 */
plim_status plim_optimizer_adam(double step, plim_optimizer **out);

/**
 * Ends an optimizer's handle.
 *
 * @param optimizer  the optimizer; NULL and handles that are not live are ignored.
 */
void plim_optimizer_free(plim_optimizer *optimizer);

/**
 * Chooses how the step changes with k, the number of updates since the optimizer was made or reset.
 *
 * @param optimizer  the optimizer.
 * @param schedule   PLIM_SCHEDULE_CONSTANT (default), PLIM_SCHEDULE_INVERSE or PLIM_SCHEDULE_INVERSE_SQRT.
 *
 * @return PLIM_OK, PLIM_ERROR_NULL_POINTER, PLIM_ERROR_INVALID_ARGUMENT, PLIM_ERROR_INVALID_HANDLE or PLIM_ERROR_BUSY.
 */
plim_status plim_optimizer_set_schedule(plim_optimizer *optimizer, int32_t schedule);

/**
 * Sets decoupled weight decay, as in AdamW: w shrinks by the factor 1 − γ_k·decay before each step.
 *
 * @param optimizer  the optimizer.
 * @param decay      finite and >= 0; 0 at first.
 *
 * @return PLIM_OK, PLIM_ERROR_NULL_POINTER, PLIM_ERROR_INVALID_ARGUMENT, PLIM_ERROR_INVALID_HANDLE or PLIM_ERROR_BUSY.
 */
plim_status plim_optimizer_set_decay(plim_optimizer *optimizer, double decay);

/**
 * Keeps iterates in the ball ‖w‖ <= radius around 0, in place of an earlier ball or box.
 *
 * @param optimizer  the optimizer.
 * @param radius     > 0; INFINITY for no bound, which is the default.
 *
 * @return PLIM_OK, PLIM_ERROR_NULL_POINTER, PLIM_ERROR_INVALID_ARGUMENT, PLIM_ERROR_INVALID_HANDLE or PLIM_ERROR_BUSY.
 */
plim_status plim_optimizer_set_ball(plim_optimizer *optimizer, double radius);

/**
 * Keeps every parameter in [low, high], in place of an earlier ball or box.
 *
 * @param optimizer  the optimizer.
 * @param low        may be -INFINITY.
 * @param high       not below `low`; may be INFINITY.
 *
 * @return PLIM_OK, PLIM_ERROR_NULL_POINTER, PLIM_ERROR_INVALID_ARGUMENT, PLIM_ERROR_INVALID_HANDLE or PLIM_ERROR_BUSY.
 */
plim_status plim_optimizer_set_box(plim_optimizer *optimizer, double low, double high);

/**
 * Forgets k, moments and average; the settings stay.
 *
 * @param optimizer  the optimizer.
 *
 * @return PLIM_OK, PLIM_ERROR_NULL_POINTER, PLIM_ERROR_INVALID_HANDLE or PLIM_ERROR_BUSY.
 */
plim_status plim_optimizer_reset(plim_optimizer *optimizer);

/**
 * Switches the running average of the iterates on or off; switching it on starts a new average.
 *
 * @param optimizer  the optimizer.
 * @param on         0 for off, which is the default; anything else for on.
 *
 * @return PLIM_OK, PLIM_ERROR_NULL_POINTER, PLIM_ERROR_INVALID_HANDLE or PLIM_ERROR_BUSY.
 */
plim_status plim_optimizer_set_averaging(plim_optimizer *optimizer, int32_t on);

/**
 * Moves a model's parameters along a gradient, once.
 *
 * With plim_estimator_gradient() this makes a training loop of the caller's own. The first update ties the optimizer to
 * the number of parameters, until plim_optimizer_reset().
 *
 * @param optimizer  the optimizer.
 * @param model      the model.
 * @param gradient   `count` finite values, in the order of plim_model_get_parameters().
 * @param count      plim_model_num_parameters().
 *
 * @return PLIM_OK, PLIM_ERROR_NULL_POINTER, PLIM_ERROR_SHAPE_MISMATCH (another count, or another model before),
 *         PLIM_ERROR_INVALID_ARGUMENT (a box without a float in it),
 *         PLIM_ERROR_DIVERGED (the gradient or the result is not finite), PLIM_ERROR_INVALID_HANDLE, PLIM_ERROR_BUSY or
 *         PLIM_ERROR_OUT_OF_MEMORY. On failure the model keeps its parameters.
 */
plim_status plim_optimizer_update(plim_optimizer *optimizer,
                                  plim_model *model,
                                  const float *gradient,
                                  size_t count);

/**
 * Copies the running average of the iterates, each taken before its update.
 *
 * @param optimizer  an optimizer that has averaged.
 * @param dst        receives as many values as the model has parameters; untouched unless PLIM_OK is returned.
 * @param capacity   values that `dst` has room for.
 *
 * @return PLIM_OK, PLIM_ERROR_NULL_POINTER, PLIM_ERROR_MISSING_DATA (nothing was averaged), PLIM_ERROR_BUFFER_TOO_SMALL,
 *         PLIM_ERROR_INVALID_HANDLE, PLIM_ERROR_BUSY or PLIM_ERROR_OUT_OF_MEMORY.
 */
plim_status plim_optimizer_average(const plim_optimizer *optimizer,
                                   float *dst,
                                   size_t capacity);

/**
 * Runs projected steps on a caller's own problem, in double precision.
 *
 * The oracle is called at w_1 (the `w` given) … w_T; on return `w` is w_{T+1} and `average` (1/T)·Σ w_k over k = 1 … T,
 * each taken before its update. The run starts at k = 1 with the optimizer's rule, step, schedule, decay and set;
 * what the optimizer remembers of a model it moves is neither used nor changed.
 *
 * @param optimizer  the optimizer.
 * @param oracle     gives the gradient; see plim_oracle.
 * @param user_data  handed to the oracle as it is.
 * @param num_steps  T, at least 1.
 * @param w          `dim` finite values: the start, and the result. On PLIM_ERROR_DIVERGED and PLIM_ERROR_CANCELLED it
 *                   receives the last finite iterate; on other failures it stays as it was.
 * @param average    receives `dim` values, or NULL. Untouched unless PLIM_OK is returned.
 * @param dim        at least 1.
 *
 * @return PLIM_OK, PLIM_ERROR_NULL_POINTER, PLIM_ERROR_INVALID_ARGUMENT, PLIM_ERROR_DIVERGED (a gradient or an iterate is
 *         not finite), PLIM_ERROR_CANCELLED (the oracle answered non-zero), PLIM_ERROR_INVALID_HANDLE, PLIM_ERROR_BUSY
 *         or PLIM_ERROR_OUT_OF_MEMORY.
 */
plim_status plim_optimizer_minimize(plim_optimizer *optimizer,
                                    plim_oracle oracle,
                                    void *user_data,
                                    size_t num_steps,
                                    double *w,
                                    double *average,
                                    size_t dim);

/**
 * Makes training options with their defaults.
 *
 * @param out  receives the options; release them with plim_train_options_free(). Untouched unless PLIM_OK is returned.
 *
 * @return PLIM_OK or PLIM_ERROR_NULL_POINTER.
 */
plim_status plim_train_options_new(plim_train_options **out);

/**
 * Ends the options' handle.
 *
 * @param options  the options; NULL and handles that are not live are ignored.
 */
void plim_train_options_free(plim_train_options *options);

/**
 * Sets how many passes over the training nodes are made in all, those before a resumed checkpoint included.
 *
 * With the full estimator an epoch is one step.
 *
 * @param options  the options.
 * @param epochs   at least 1; 100 at first.
 *
 * @return PLIM_OK, PLIM_ERROR_NULL_POINTER, PLIM_ERROR_INVALID_ARGUMENT, PLIM_ERROR_INVALID_HANDLE or PLIM_ERROR_BUSY.
 */
plim_status plim_train_options_set_epochs(plim_train_options *options, size_t epochs);

/**
 * Sets how many nodes a batch has; the last one of an epoch may be shorter.
 *
 * @param options     the options.
 * @param batch_size  at least 1; 256 at first. The full estimator does not use it.
 *
 * @return PLIM_OK, PLIM_ERROR_NULL_POINTER, PLIM_ERROR_INVALID_ARGUMENT, PLIM_ERROR_INVALID_HANDLE or PLIM_ERROR_BUSY.
 */
plim_status plim_train_options_set_batch_size(plim_train_options *options, size_t batch_size);

/**
 * Sets the seed of the shuffling. Initial parameters and draws have seeds of their own.
 *
 * @param options  the options.
 * @param seed     0 at first.
 *
 * @return PLIM_OK, PLIM_ERROR_NULL_POINTER, PLIM_ERROR_INVALID_HANDLE or PLIM_ERROR_BUSY.
 */
plim_status plim_train_options_set_seed(plim_train_options *options, uint64_t seed);

/**
 * Chooses whether the model ends with the parameters of its best epoch, by plim_train_options_set_monitor().
 *
 * Where the monitor saw nothing, for want of validation nodes or of evaluations, there is no best epoch, and the model
 * ends with its last parameters.
 *
 * @param options  the options.
 * @param on       0 for off; anything else for on, which is the default.
 *
 * @return PLIM_OK, PLIM_ERROR_NULL_POINTER, PLIM_ERROR_INVALID_HANDLE or PLIM_ERROR_BUSY.
 */
plim_status plim_train_options_set_restore_best(plim_train_options *options, int32_t on);

/**
 * Ends training when an evaluation finds that so many epochs have not been better, by plim_train_options_set_monitor().
 *
 * @param options  the options.
 * @param epochs   0 for never, which is the default. Otherwise training needs evaluation and, unless the monitor is
 *                 PLIM_MONITOR_TRAIN_LOSS, a validation split.
 *
 * @return PLIM_OK, PLIM_ERROR_NULL_POINTER, PLIM_ERROR_INVALID_HANDLE or PLIM_ERROR_BUSY.
 */
plim_status plim_train_options_set_patience(plim_train_options *options, size_t epochs);

/**
 * Chooses what the best epoch is: the one that is restored, that patience counts from and that
 * plim_history_best_epoch() tells.
 *
 * Of equal epochs the first is the best. An epoch that was not evaluated is neither better nor worse than any other. A
 * checkpoint goes on under the monitor that it was written under; another one is PLIM_ERROR_SHAPE_MISMATCH.
 *
 * @param options  the options.
 * @param monitor  PLIM_MONITOR_VAL_ACCURACY, which is the default, PLIM_MONITOR_VAL_LOSS, PLIM_MONITOR_TRAIN_LOSS or, to
 *                 rank, PLIM_MONITOR_VAL_NDCG, for which plim_train() answers PLIM_ERROR_UNSUPPORTED.
 *
 * @return PLIM_OK, PLIM_ERROR_NULL_POINTER, PLIM_ERROR_INVALID_ARGUMENT, PLIM_ERROR_INVALID_HANDLE or PLIM_ERROR_BUSY.
 */
plim_status plim_train_options_set_monitor(plim_train_options *options,
                                           int32_t monitor);

/**
 * Evaluates after each so many epochs, and after the last one.
 *
 * @param options  the options.
 * @param epochs   1 at first; 0 for never.
 *
 * @return PLIM_OK, PLIM_ERROR_NULL_POINTER, PLIM_ERROR_INVALID_HANDLE or PLIM_ERROR_BUSY.
 */
plim_status plim_train_options_set_evaluate_every(plim_train_options *options, size_t epochs);

/**
 * Writes a checkpoint after each so many epochs, and after the last one.
 *
 * A checkpoint holds all that a run needs to go on: parameters, optimizer, counters, best parameters, history. It
 * appears whole or not at all; the one before it stays until then.
 *
 * @param options  the options.
 * @param path     a file name; NULL with `every` 0 for no checkpoints, which is the default. Copied.
 * @param every    at least 1 with a path.
 *
 * @return PLIM_OK, PLIM_ERROR_NULL_POINTER, PLIM_ERROR_INVALID_ARGUMENT, PLIM_ERROR_INVALID_HANDLE or PLIM_ERROR_BUSY.
 */
plim_status plim_train_options_set_checkpoint(plim_train_options *options, const char *path, size_t every);

/**
 * Goes on from a checkpoint, if the file is there; a missing one starts afresh.
 *
 * The resumed run ends in the same bits as one that was never interrupted. A checkpoint of another graph shape, model,
 * estimator, kind of optimizer, batch size, seed or monitor makes plim_train() answer PLIM_ERROR_SHAPE_MISMATCH.
 *
 * @param options  the options.
 * @param path     a file name; NULL to start afresh, which is the default. Copied.
 *
 * @return PLIM_OK, PLIM_ERROR_NULL_POINTER, PLIM_ERROR_INVALID_ARGUMENT, PLIM_ERROR_INVALID_HANDLE or PLIM_ERROR_BUSY.
 */
plim_status plim_train_options_set_resume(plim_train_options *options, const char *path);

/**
 * Lets the sample size follow the gradient, so that its relative error stays under δ.
 *
 * As training goes on the gradient shrinks, and with it what a fixed sample is worth. Before every so many updates the error
 * is estimated from 4 further gradients of the batch at the present size N and 4 at 2N, which costs about as much as 12
 * steps: their spread gives the deviation, their means the bias. Above δ the size grows and the test is repeated; far
 * below, it shrinks. The error is that of a batch's gradient against its exact one. The estimator keeps its last size;
 * all its sample sizes but 0 are equal from then on. The history records size and error, and a checkpoint carries them.
 *
 * @param options   the options.
 * @param delta     δ, > 0; or 0 for sizes as the estimator has them, which is the default, and the rest is ignored.
 * @param every     updates from one test to the next, at least 1; the first comes before the first update.
 * @param smallest  the smallest sample size, at least 1.
 * @param largest   the largest one, at least `smallest`. Where it does not keep the error under δ, training goes on with
 *                  it, and the history shows the error.
 *
 * @return PLIM_OK, PLIM_ERROR_NULL_POINTER, PLIM_ERROR_INVALID_ARGUMENT, PLIM_ERROR_INVALID_HANDLE or PLIM_ERROR_BUSY.
 *         plim_train() answers PLIM_ERROR_UNSUPPORTED for an estimator that draws no nodes.
 */
plim_status plim_train_options_set_adaptive(plim_train_options *options,
                                            double delta,
                                            size_t every,
                                            size_t smallest,
                                            size_t largest);

/**
 * Sets a function that is told of progress and may cancel.
 *
 * @param options    the options.
 * @param fn         the function; NULL for none, which is the default. See plim_progress_fn. It is kept: it must stay
 *                   callable as long as training with these options may run.
 * @param user_data  handed to the function as it is; it must live as long.
 *
 * @return PLIM_OK, PLIM_ERROR_NULL_POINTER, PLIM_ERROR_INVALID_HANDLE or PLIM_ERROR_BUSY.
 */
plim_status plim_train_options_set_progress(plim_train_options *options, plim_progress_fn fn, void *user_data);

/**
 * Sets a function that is told what training does: what it begins with, checkpoints read and written, sample sizes that
 * change, why it stopped, which epoch was restored. The bits of the result do not depend on it.
 *
 * @param options    the options.
 * @param level      the last level that is told: PLIM_LOG_ERROR, PLIM_LOG_WARNING, PLIM_LOG_INFO or PLIM_LOG_DEBUG, each of
 *                   which includes those before it. Messages of other levels are never made, and cost nothing.
 * @param fn         the function; NULL for none, which is the default. See plim_log_fn.
 * @param user_data  handed to the function as it is; it must live as long as training with these options may run.
 *
 * @return PLIM_OK, PLIM_ERROR_NULL_POINTER, PLIM_ERROR_INVALID_ARGUMENT, PLIM_ERROR_INVALID_HANDLE or PLIM_ERROR_BUSY.
 */
plim_status plim_train_options_set_log(plim_train_options *options,
                                       int32_t level,
                                       plim_log_fn fn,
                                       void *user_data);

/**
 * Trains a model: epochs of shuffled batches over the training nodes, a gradient and an update for each.
 *
 * A second call goes on with the counters of estimator and optimizer. Cancelled (PLIM_ERROR_CANCELLED), the model keeps
 * its last completed step; diverged (PLIM_ERROR_DIVERGED), its last finite parameters. Both give the history of the
 * epochs completed.
 *
 * @param model      the model. During the call others find it busy, but for const calls inside its callbacks.
 * @param graph      a graph with features that fit the model, labels and training nodes.
 * @param estimator  how gradients are estimated.
 * @param optimizer  how they move the parameters.
 * @param options    how to train, or NULL for the defaults.
 * @param out        receives the history, or NULL; release it with plim_history_free(). Untouched unless PLIM_OK,
 *                   PLIM_ERROR_DIVERGED or PLIM_ERROR_CANCELLED is returned.
 *
 * @return PLIM_OK, PLIM_ERROR_NULL_POINTER, PLIM_ERROR_INVALID_ARGUMENT (options that contradict each other),
 *         PLIM_ERROR_SHAPE_MISMATCH (things that do not fit, or a checkpoint of another run), PLIM_ERROR_MISSING_DATA,
 *         PLIM_ERROR_IO and PLIM_ERROR_BAD_FORMAT (a checkpoint), PLIM_ERROR_UNSUPPORTED
 *         (an estimator or a monitor for rankings, adaptive sizes for one that draws nothing), PLIM_ERROR_DIVERGED, PLIM_ERROR_CANCELLED,
 *         PLIM_ERROR_INVALID_HANDLE, PLIM_ERROR_BUSY or PLIM_ERROR_OUT_OF_MEMORY.
 */
plim_status plim_train(plim_model *model,
                       const plim_graph *graph,
                       plim_estimator *estimator,
                       plim_optimizer *optimizer,
                       const plim_train_options *options,
                       plim_history **out);

/**
 * Number of epochs completed.
 *
 * @param history  the history.
 *
 * @return the number; 0 for NULL or a handle that is not live.
 */
size_t plim_history_num_epochs(const plim_history *history);

/**
 * The best epoch, from 1, by plim_train_options_set_monitor(); the first of equals.
 *
 * @param history  the history.
 *
 * @return the epoch; 0 if the monitor saw none, for NULL or a handle that is not live.
 */
size_t plim_history_best_epoch(const plim_history *history);

/**
 * Copies a column of the history, one number per epoch.
 *
 * @param history   the history.
 * @param column    PLIM_HISTORY_TRAIN_LOSS, PLIM_HISTORY_VAL_LOSS, PLIM_HISTORY_VAL_ACCURACY, PLIM_HISTORY_SECONDS,
 *                  PLIM_HISTORY_BATCH_LOSS, PLIM_HISTORY_SAMPLE_SIZE, PLIM_HISTORY_ERROR or PLIM_HISTORY_VAL_NDCG.
 * @param dst       receives plim_history_num_epochs() numbers, NaN where an epoch was not evaluated, there is no
 *                  validation split, or sampling is not adaptive; untouched unless PLIM_OK is returned.
 * @param capacity  numbers that `dst` has room for.
 *
 * @return PLIM_OK, PLIM_ERROR_NULL_POINTER, PLIM_ERROR_INVALID_ARGUMENT (the column), PLIM_ERROR_BUFFER_TOO_SMALL,
 *         PLIM_ERROR_INVALID_HANDLE or PLIM_ERROR_OUT_OF_MEMORY.
 */
plim_status plim_history_copy(const plim_history *history, int32_t column, double *dst, size_t capacity);

/**
 * Ends a history's handle.
 *
 * @param history  the history; NULL and handles that are not live are ignored.
 */
void plim_history_free(plim_history *history);

/**
 * How far from the optimum the T-th iterate of SGD can be: a bound on ‖w_T − w*‖² (Theorem 2).
 *
 * For a strongly convex objective and steps 1/((l−δ)k), if every gradient used is wrong by at most δ times the norm of
 * the true one: G²·[(1+δ)²/((l−δ)²T) + δ/(l−δ)], where the first term counts twice at T = 2.
 *
 * @param l      how strongly convex the objective is: f − (l/2)‖w‖² is convex; > 0. λ for a one-layer model with
 *               plim_model_set_regularization(). In a bound, T counts iterates and w_1 is the start.
 * @param big_g  G, at least the norm of the gradient wherever the iterates may be; > 0.
 * @param delta  δ, the relative error of the gradients; 0 <= delta < l.
 * @param t      T, at least 1.
 * @param out    receives the bound; untouched unless PLIM_OK is returned.
 *
 * @return PLIM_OK, PLIM_ERROR_NULL_POINTER or PLIM_ERROR_INVALID_ARGUMENT; plim_last_error() names the condition that
 *         does not hold: "delta = 0.3: 0 <= delta < l = 0.1 does not hold". A bound too large for a double is refused
 *         too.
 */
plim_status plim_bound_strongly_convex_iterate(double l,
                                               double big_g,
                                               double delta,
                                               size_t t,
                                               double *out);

/**
 * How far from the least value the average of T iterates can be: a bound on f(w̄_T) − f* (Theorem 2).
 *
 * In the setting of plim_bound_strongly_convex_iterate(): G²/(2T)·[δT + (1+δ)²/(l−δ)·(1 + log T)].
 *
 * @param l      how strongly convex the objective is; > 0.
 * @param big_g  G, at least the norm of the gradient wherever the iterates may be; > 0.
 * @param delta  δ, the relative error of the gradients; 0 <= delta < l.
 * @param t      T, at least 1.
 * @param out    receives the bound; untouched unless PLIM_OK is returned.
 *
 * @return PLIM_OK, PLIM_ERROR_NULL_POINTER or PLIM_ERROR_INVALID_ARGUMENT (a condition does not hold).
 */
plim_status plim_bound_strongly_convex_average(double l, double big_g, double delta, size_t t, double *out);

/**
 * How far from the least value the T-th iterate can be: a bound on f(w_T) − f* (Theorem 3).
 *
 * In the setting of plim_bound_strongly_convex_iterate(), if the gradient is also Lipschitz with constant L, and is 0
 * at w* (w* does not lie at the edge of a ball or box that iterates are kept in): L/2 times that bound.
 *
 * @param l      how strongly convex the objective is; > 0.
 * @param big_l  L, with which the gradient is Lipschitz; >= l.
 * @param big_g  G, at least the norm of the gradient wherever the iterates may be; > 0.
 * @param delta  δ, the relative error of the gradients; 0 <= delta < l.
 * @param t      T, at least 1.
 * @param out    receives the bound; untouched unless PLIM_OK is returned.
 *
 * @return PLIM_OK, PLIM_ERROR_NULL_POINTER or PLIM_ERROR_INVALID_ARGUMENT (a condition does not hold).
 */
plim_status plim_bound_strongly_convex_value(double l, double big_l, double big_g, double delta, size_t t, double *out);

/**
 * How far from the optimum the T-th iterate of SGD with a constant step c can be: a bound on ‖w_T − w*‖² (Theorem 4).
 *
 * For a strongly convex objective: (1−2cl+cδ)^(T−1)·‖w_1−w*‖² + (δ + c(1+δ)²)/(2l−δ)·G². The first term dies out, the
 * second stays: a smaller step ends nearer, and gets there later.
 *
 * @param l                         how strongly convex the objective is; > 0.
 * @param big_g                     G, at least the norm of the gradient wherever the iterates may be; > 0.
 * @param delta                     δ, the relative error of the gradients; 0 <= delta < l.
 * @param step                      c; 0 < c < 1/(2l−δ).
 * @param t                         T, at least 1.
 * @param initial_distance_squared  ‖w_1−w*‖², or something larger; >= 0.
 * @param out                       receives the bound; untouched unless PLIM_OK is returned.
 *
 * @return PLIM_OK, PLIM_ERROR_NULL_POINTER or PLIM_ERROR_INVALID_ARGUMENT (a condition does not hold).
 */
plim_status plim_bound_constant_step(double l,
                                     double big_g,
                                     double delta,
                                     double step,
                                     size_t t,
                                     double initial_distance_squared,
                                     double *out);

/**
 * How far from the least value the average of T iterates can be on a convex objective: a bound on f(w̄_T) − f*
 * (Theorem 5).
 *
 * For steps c/√k, iterates kept in a set of diameter D (plim_optimizer_set_ball(): twice the radius), and relative
 * errors of at most ρ/√T: 1/(2√T)·[(1/c+ρ)D² + G²(ρ + 2c(1+ρ/√T)²)]. The paper's constant in place of the 2 is too
 * small.
 *
 * @param big_g     G, at least the norm of the gradient wherever the iterates may be; > 0.
 * @param diameter  D, > 0.
 * @param rho       ρ, >= 0.
 * @param c         the first step; > 0.
 * @param t         T, at least 1.
 * @param out       receives the bound; untouched unless PLIM_OK is returned.
 *
 * @return PLIM_OK, PLIM_ERROR_NULL_POINTER or PLIM_ERROR_INVALID_ARGUMENT (a condition does not hold).
 */
plim_status plim_bound_convex_average(double big_g,
                                      double diameter,
                                      double rho,
                                      double c,
                                      size_t t,
                                      double *out);

/**
 * How small the gradient gets at one of T iterates, convex or not: a bound on min_k ‖∇f(w_k)‖² (Theorem 6).
 *
 * For steps D_f/((1+δ)G√T), nothing projected, and a gradient that is Lipschitz with constant L:
 * (1+δ)·L·G·D_f/((1−δ)√T).
 *
 * @param big_l  L, > 0.
 * @param big_g  G, at least the norm of the gradient wherever the iterates may be; > 0.
 * @param d_f    D_f = √(2(f(w_1)−f*)/L), > 0.
 * @param delta  δ, the relative error of the gradients; 0 <= delta < 1.
 * @param t      T, at least 1.
 * @param out    receives the bound; untouched unless PLIM_OK is returned.
 *
 * @return PLIM_OK, PLIM_ERROR_NULL_POINTER or PLIM_ERROR_INVALID_ARGUMENT (a condition does not hold).
 */
plim_status plim_bound_nonconvex_gradient(double big_l, double big_g, double d_f, double delta, size_t t, double *out);

/**
 * How far from the least value the T-th iterate of SGD with step 1/L can be: a bound on f(w_T) − f* (Theorem 7).
 *
 * For a strongly convex objective whose gradient is Lipschitz with constant L, nothing projected, and gradients that
 * are wrong by at most δ_1, δ_2, … (absolutely, not relative to their norm):
 * (1−l/L)^(T−1)·(f(w_1)−f*) + 1/(2L)·Σ_{i<T} (1−l/L)^(T−1−i)·δ_i².
 *
 * @param l            how strongly convex the objective is; 0 < l < L.
 * @param big_l        L.
 * @param deltas       T−1 errors, each >= 0; NULL with T = 1.
 * @param t            T, at least 1.
 * @param initial_gap  f(w_1) − f*, or something larger; >= 0.
 * @param out          receives the bound; untouched unless PLIM_OK is returned.
 *
 * @return PLIM_OK, PLIM_ERROR_NULL_POINTER or PLIM_ERROR_INVALID_ARGUMENT (a condition does not hold).
 */
plim_status plim_bound_linear(double l, double big_l, const double *deltas, size_t t, double initial_gap, double *out);

/**
 * How many nodes to draw so that, with probability 1−ε, none of T gradients is wrong by δ or more.
 *
 * The chance that a gradient from N draws misses by δ falls like C·exp(−τN); plim_tail_fit() measures C and τ for a δ.
 * Over T steps that makes T·C·exp(−τN), and this is the least N for which it is at most ε: log(T·C/ε)/τ, rounded up.
 * It undoes plim_sample_epsilon(), as far as a double tells ε from 0, from 1 and from the ε of one draw more or less.
 *
 * @param tau      τ(δ), > 0.
 * @param c        C, > 0.
 * @param t        T, the number of steps; at least 1.
 * @param epsilon  ε, in (0, 1].
 * @param out      receives N, at least 1; untouched unless PLIM_OK is returned.
 *
 * @return PLIM_OK, PLIM_ERROR_NULL_POINTER or PLIM_ERROR_INVALID_ARGUMENT (a value outside its range, or an N beyond
 *         any size).
 */
plim_status plim_sample_size(double tau,
                             double c,
                             size_t t,
                             double epsilon,
                             size_t *out);

/**
 * The chance that at least one of T gradients from N draws is wrong by δ or more: min(1, T·C·exp(−τN)).
 *
 * @param tau          τ(δ), > 0.
 * @param c            C, > 0.
 * @param t            T, the number of steps; at least 1.
 * @param sample_size  N, at least 1.
 * @param out          receives ε, which is 0 where no double is as small; untouched unless PLIM_OK is returned.
 *
 * @return PLIM_OK, PLIM_ERROR_NULL_POINTER or PLIM_ERROR_INVALID_ARGUMENT (a value outside its range).
 */
plim_status plim_sample_epsilon(double tau, double c, size_t t, size_t sample_size, double *out);

/**
 * How right T gradients from N draws are: the least δ that none of them misses by, with probability 1−ε.
 *
 * N draws suffice for a fitted δ if the margin τN − log(T·C/ε) is not negative. The answer lies between the last δ for
 * which they do not and the next, where the margin, taken to be linear in δ, is 0. If they suffice for every δ it is
 * the first.
 *
 * @param deltas       `count` relative errors in rising order, each > 0, for which C and τ were fitted.
 * @param cs           the `count` C, each > 0.
 * @param taus         the `count` τ, each > 0.
 * @param count        at least 1.
 * @param t            T, the number of steps; at least 1.
 * @param epsilon      ε, in (0, 1].
 * @param sample_size  N, at least 1.
 * @param out          receives δ; untouched unless PLIM_OK is returned.
 *
 * @return PLIM_OK, PLIM_ERROR_NULL_POINTER or PLIM_ERROR_INVALID_ARGUMENT (a value outside its range, or N draws that
 *         do not suffice for the largest δ).
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
 * Makes options of a measurement with their defaults.
 *
 * @param out  receives the options; release them with plim_probe_options_free(). Untouched unless PLIM_OK is returned.
 *
 * @return PLIM_OK or PLIM_ERROR_NULL_POINTER.
 */
plim_status plim_probe_options_new(plim_probe_options **out);

/**
 * Ends the options' handle.
 *
 * @param options  the options; NULL and handles that are not live are ignored.
 */
void plim_probe_options_free(plim_probe_options *options);

/**
 * Sets how many gradients are drawn for each sample size.
 *
 * @param options  the options.
 * @param draws    at least 2; 10,000 at first. A chance much below 1/draws cannot be seen.
 *
 * @return PLIM_OK, PLIM_ERROR_NULL_POINTER, PLIM_ERROR_INVALID_ARGUMENT, PLIM_ERROR_INVALID_HANDLE or PLIM_ERROR_BUSY.
 */
plim_status plim_probe_options_set_draws(plim_probe_options *options, size_t draws);

/**
 * Sets the seed of the draws. The estimator's own seed plays no part in a measurement, and its counter does not move.
 *
 * @param options  the options.
 * @param seed     0 at first. A sample size has the same draws under the same seed, whichever others are measured.
 *
 * @return PLIM_OK, PLIM_ERROR_NULL_POINTER, PLIM_ERROR_INVALID_HANDLE or PLIM_ERROR_BUSY.
 */
plim_status plim_probe_options_set_seed(plim_probe_options *options, uint64_t seed);

/**
 * Sets the nodes whose gradient is estimated; h is then their exact gradient.
 *
 * @param options  the options.
 * @param nodes    `count` distinct labelled nodes; NULL with 0 for all training nodes, which is the default. Copied, and
 *                 checked against the graph by the measurement.
 * @param count    number of nodes; at least 1 unless `nodes` is NULL.
 *
 * @return PLIM_OK, PLIM_ERROR_NULL_POINTER, PLIM_ERROR_INVALID_ARGUMENT (an empty list), PLIM_ERROR_INVALID_HANDLE,
 *         PLIM_ERROR_BUSY or PLIM_ERROR_OUT_OF_MEMORY.
 */
plim_status plim_probe_options_set_batch(plim_probe_options *options,
                                         const int32_t *nodes,
                                         size_t count);

/**
 * Sets a function that is told of progress and may cancel.
 *
 * @param options    the options.
 * @param fn         the function; NULL for none, which is the default. See plim_progress_fn. It is kept: it must stay
 *                   callable as long as a measurement with these options may run.
 * @param user_data  handed to the function as it is; it must live as long.
 *
 * @return PLIM_OK, PLIM_ERROR_NULL_POINTER, PLIM_ERROR_INVALID_HANDLE or PLIM_ERROR_BUSY.
 */
plim_status plim_probe_options_set_progress(plim_probe_options *options, plim_progress_fn fn, void *user_data);

/**
 * Sets a function that is told what a measurement does and finds: each sample size, what a planner tries, why it fails.
 *
 * @param options    the options.
 * @param level      the last level that is told: PLIM_LOG_ERROR, PLIM_LOG_WARNING, PLIM_LOG_INFO or PLIM_LOG_DEBUG, each of
 *                   which includes those before it. Messages of other levels are never made, and cost nothing.
 * @param fn         the function; NULL for none, which is the default. See plim_log_fn.
 * @param user_data  handed to the function as it is; it must live as long as a measurement with these options may run.
 *
 * @return PLIM_OK, PLIM_ERROR_NULL_POINTER, PLIM_ERROR_INVALID_ARGUMENT, PLIM_ERROR_INVALID_HANDLE or PLIM_ERROR_BUSY.
 */
plim_status plim_probe_options_set_log(plim_probe_options *options,
                                       int32_t level,
                                       plim_log_fn fn,
                                       void *user_data);

/**
 * Measures how often an estimator's gradient is wrong by δ or more.
 *
 * The exact gradient h is computed once, at the model's present parameters; then, for each sample size, so many independent
 * estimates g are drawn as the options say, and those with ‖g−h‖ >= δ‖h‖ are counted. Work is shared among the model's
 * threads; the result is the same for any number of them.
 *
 * @param estimator     what to measure. Its seed, counter and sizes stay as they are.
 * @param model         the model, at whose parameters the gradient is taken.
 * @param graph         a graph with features that fit the model and labels.
 * @param sample_sizes  `num_sizes` sizes, each at least 1: each in turn replaces every sample size of the estimator but 0.
 *                      For the unbiased estimator they are batch sizes, at most the number of nodes. The full one is
 *                      always right.
 * @param num_sizes     at least 1.
 * @param deltas        `num_deltas` relative errors, each > 0.
 * @param num_deltas    number of relative errors.
 * @param options       how to measure, or NULL for the defaults.
 * @param out           receives num_sizes × num_deltas shares, row by row of a sample size; untouched unless PLIM_OK is
 *                      returned.
 * @param capacity      numbers that `out` has room for.
 *
 * @return PLIM_OK, PLIM_ERROR_NULL_POINTER, PLIM_ERROR_INVALID_ARGUMENT (a value outside its range, a batch that the graph
 *         does not allow, or a gradient of 0), PLIM_ERROR_SHAPE_MISMATCH, PLIM_ERROR_MISSING_DATA,
 *         PLIM_ERROR_BUFFER_TOO_SMALL, PLIM_ERROR_UNSUPPORTED (an estimator for rankings), PLIM_ERROR_DIVERGED (a gradient
 *         that is not finite), PLIM_ERROR_CANCELLED, PLIM_ERROR_INVALID_HANDLE, PLIM_ERROR_BUSY or
 *         PLIM_ERROR_OUT_OF_MEMORY.
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
 * Measures the same as plim_tail_probability(), and keeps more of it: intervals, bias and deviation.
 *
 * @param estimator     what to measure. Its seed, counter and sizes stay as they are.
 * @param model         the model, at whose parameters the gradient is taken.
 * @param graph         a graph with features that fit the model and labels.
 * @param sample_sizes  `num_sizes` sizes, as for plim_tail_probability().
 * @param num_sizes     at least 1.
 * @param deltas        `num_deltas` relative errors, each > 0; (NULL, 0) for none.
 * @param num_deltas    number of relative errors.
 * @param options       how to measure, or NULL for the defaults.
 * @param out           receives the tail; release it with plim_tail_free(). Untouched unless PLIM_OK is returned.
 *
 * @return as plim_tail_probability(), but for PLIM_ERROR_BUFFER_TOO_SMALL.
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
 * Copies what was measured.
 *
 * @param tail      the tail.
 * @param what      PLIM_TAIL_PROBABILITY, PLIM_TAIL_LOWER or PLIM_TAIL_UPPER: a number for each sample size and δ, row by
 *                  row of a sample size; PLIM_TAIL_ERROR, PLIM_TAIL_BIAS or PLIM_TAIL_DEVIATION: one for each sample size.
 * @param dst       receives the numbers; untouched unless PLIM_OK is returned.
 * @param capacity  numbers that `dst` has room for.
 *
 * @return PLIM_OK, PLIM_ERROR_NULL_POINTER, PLIM_ERROR_INVALID_ARGUMENT (`what`), PLIM_ERROR_BUFFER_TOO_SMALL,
 *         PLIM_ERROR_INVALID_HANDLE or PLIM_ERROR_OUT_OF_MEMORY.
 */
plim_status plim_tail_copy(const plim_tail *tail,
                           int32_t what,
                           double *dst,
                           size_t capacity);

/**
 * The norm of the exact gradient that errors are relative to.
 *
 * @param tail  the tail.
 *
 * @return ‖h‖, > 0; 0 for NULL or a handle that is not live.
 */
double plim_tail_norm(const plim_tail *tail);

/**
 * Ends a tail's handle.
 *
 * @param tail  the tail; NULL and handles that are not live are ignored.
 */
void plim_tail_free(plim_tail *tail);

/**
 * Fits C and τ of a tail that falls like C·exp(−τN), for plim_sample_size().
 *
 * Least squares of log p on N, weighted by draws·p/(1−p), over the points of which 10 to draws − 10 gradients missed.
 *
 * @param sample_sizes   `count` sizes N, each at least 1.
 * @param probabilities  the `count` shares that missed by one δ, each in [0, 1].
 * @param count          number of points; at least 3 of them must have enough misses and hits.
 * @param draws          gradients that each share was counted over.
 * @param c              receives C, or NULL.
 * @param tau            receives τ, or NULL; not above 0 if the tail does not fall.
 * @param r_squared      receives how well the line fits, 1 being perfect, or NULL. All untouched unless PLIM_OK is
 *                       returned.
 *
 * @return PLIM_OK, PLIM_ERROR_NULL_POINTER, PLIM_ERROR_INVALID_ARGUMENT (a value outside its range),
 *         PLIM_ERROR_MISSING_DATA (too few usable points) or PLIM_ERROR_OUT_OF_MEMORY.
 */
plim_status plim_tail_fit(const size_t *sample_sizes,
                          const double *probabilities,
                          size_t count,
                          size_t draws,
                          double *c,
                          double *tau,
                          double *r_squared);

/**
 * Looks for the smallest sample size at which, with probability 1−ε, none of T gradients is wrong by δ or more, and
 * measures what a gradient of that size costs.
 *
 * Sizes up to the number of nodes are tried by drawing gradients, as plim_tail_probability() does; a size will do if the
 * upper 95 % limit of its misses is at most ε/T. Where that is less than so many draws can show, a tail is fitted to larger
 * chances (plim_tail_fit()) and followed. All of it holds at the model's present parameters: as training goes on the
 * gradient shrinks and a plan should be made anew, or left to plim_train_options_set_adaptive().
 *
 * The sample size is deterministic by the options' seed; seconds, and so the answer of plim_plan_pays(), are measured.
 *
 * @param estimator  what to plan for: a consistent estimator, whose sample sizes but 0 are replaced, or the unbiased one,
 *                   whose batch size is planned. It stays as it is.
 * @param model      the model, at whose parameters the gradient is taken; its threads share the work.
 * @param graph      a graph with features that fit the model and labels.
 * @param delta      δ, relative to the norm of the exact gradient; > 0.
 * @param epsilon    ε, in (0, 1].
 * @param t          T, the number of steps; at least 1.
 * @param options    how to measure, or NULL for the defaults.
 * @param out        receives the plan; release it with plim_plan_free(). Untouched unless PLIM_OK is returned.
 *
 * @return PLIM_OK (also if no size will do), PLIM_ERROR_NULL_POINTER, PLIM_ERROR_INVALID_ARGUMENT,
 *         PLIM_ERROR_SHAPE_MISMATCH, PLIM_ERROR_MISSING_DATA (also a tail too steep to fit: more draws may help),
 *         PLIM_ERROR_UNSUPPORTED (an estimator that draws nothing), PLIM_ERROR_DIVERGED, PLIM_ERROR_CANCELLED,
 *         PLIM_ERROR_INVALID_HANDLE, PLIM_ERROR_BUSY or PLIM_ERROR_OUT_OF_MEMORY.
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
 * Whether to sample.
 *
 * @param plan  the plan.
 *
 * @return 1 if a sample size meets the goal and its gradient takes less time than the exact one and, unless the estimator
 *         is the unbiased one, than an unbiased batch that is as right; 0 if not ("do not sample"), for NULL or a handle
 *         that is not live.
 */
int32_t plim_plan_pays(const plim_plan *plan);

/**
 * Number of sample sizes: the estimator's layers, or 1 for the unbiased one.
 *
 * @param plan  the plan.
 *
 * @return the number; 0 for NULL or a handle that is not live.
 */
size_t plim_plan_num_sizes(const plim_plan *plan);

/**
 * Copies the sample sizes, ready for plim_estimator_consistent(): 0 for a layer whose input is exact.
 *
 * @param plan      the plan.
 * @param dst       receives plim_plan_num_sizes() sizes, input layer first, or the unbiased estimator's batch size; all 0
 *                  if no size meets the goal. Untouched unless PLIM_OK is returned.
 * @param capacity  sizes that `dst` has room for.
 *
 * @return PLIM_OK, PLIM_ERROR_NULL_POINTER, PLIM_ERROR_BUFFER_TOO_SMALL or PLIM_ERROR_INVALID_HANDLE.
 */
plim_status plim_plan_copy_sizes(const plim_plan *plan,
                                 size_t *dst,
                                 size_t capacity);

/**
 * Gives one number of a plan.
 *
 * @param plan  the plan.
 * @param what  a PLIM_PLAN_ constant, from PLIM_PLAN_SAMPLE_SIZE to PLIM_PLAN_R_SQUARED.
 * @param out   receives the number; untouched unless PLIM_OK is returned.
 *
 * @return PLIM_OK, PLIM_ERROR_NULL_POINTER, PLIM_ERROR_INVALID_ARGUMENT (`what`) or PLIM_ERROR_INVALID_HANDLE.
 */
plim_status plim_plan_get(const plim_plan *plan, int32_t what, double *out);

/**
 * Says the plan in words: whether to sample, how many nodes, and the two costs.
 *
 * @param plan      the plan.
 * @param dst       receives the text, ended by a zero byte; untouched unless PLIM_OK is returned.
 * @param capacity  bytes that `dst` has room for; PLIM_PLAN_TEXT_SIZE is enough.
 *
 * @return PLIM_OK, PLIM_ERROR_NULL_POINTER, PLIM_ERROR_BUFFER_TOO_SMALL or PLIM_ERROR_INVALID_HANDLE.
 */
plim_status plim_plan_describe(const plim_plan *plan, char *dst, size_t capacity);

/**
 * Ends a plan's handle.
 *
 * @param plan  the plan; NULL and handles that are not live are ignored.
 */
void plim_plan_free(plim_plan *plan);

/**
 * Copies queries and documents with dense features. All queries are training queries at first.
 *
 * @param num_documents  number of documents, those of all queries; at least 1.
 * @param num_features   columns of the features; at least 1.
 * @param row_major      `num_documents` × `num_features` finite values, a row per document; borrowed for the call only.
 * @param relevance      `num_documents` numbers in [0, 1000], the higher the more relevant.
 * @param num_queries    number of queries; at least 1.
 * @param offsets        `num_queries` + 1 numbers: query q has the documents offsets[q] .. offsets[q+1] − 1, at least one.
 * @param out            receives the data; release them with plim_rank_data_free(). Untouched unless PLIM_OK is returned.
 *
 * @return PLIM_OK, PLIM_ERROR_NULL_POINTER, PLIM_ERROR_INVALID_ARGUMENT, PLIM_ERROR_SHAPE_MISMATCH (the last offset is not
 *         the number of documents) or PLIM_ERROR_OUT_OF_MEMORY.
 */
plim_status plim_rank_data_new(size_t num_documents,
                               size_t num_features,
                               const float *row_major,
                               const int32_t *relevance,
                               size_t num_queries,
                               const int64_t *offsets,
                               plim_rank_data **out);

/**
 * Copies queries and documents with sparse features, row by row. All queries are training queries at first.
 *
 * @param num_documents  number of documents, those of all queries; at least 1.
 * @param num_features   columns of the features; at least 1.
 * @param indptr         `num_documents` + 1 offsets that begin with 0 and never fall.
 * @param indices        indptr[num_documents] columns, in any order within a row; repeated ones add up.
 * @param values         as many finite values.
 * @param relevance      `num_documents` numbers in [0, 1000], the higher the more relevant.
 * @param num_queries    number of queries; at least 1.
 * @param offsets        `num_queries` + 1 numbers, as for plim_rank_data_new().
 * @param out            receives the data; release them with plim_rank_data_free(). Untouched unless PLIM_OK is returned.
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
 * Reads a file in LETOR's format, which is SVMlight's with queries: a line per document.
 *
 * A line is a relevance, a query and features: `2 qid:10 1:0.5 7:-3 # anything`. Features are numbered from 1 and may stand
 * in any order, none twice; those that are missing are 0. The lines of a query stand together. Blank lines and what follows
 * a # are skipped. All queries are training queries at first.
 *
 * @param path          a file name.
 * @param num_features  columns of the features; 0 for the largest number that the file names. Files that belong together
 *                      may not all name the last feature: tell it.
 * @param out           receives the data; release them with plim_rank_data_free(). Untouched unless PLIM_OK is returned.
 *
 * @return PLIM_OK, PLIM_ERROR_NULL_POINTER, PLIM_ERROR_INVALID_ARGUMENT, PLIM_ERROR_IO, PLIM_ERROR_BAD_FORMAT or
 *         PLIM_ERROR_OUT_OF_MEMORY; plim_last_error() names line and column: "train.txt: line 3: column 9: "0" is outside
 *         [1, 136]".
 */
plim_status plim_rank_data_load(const char *path,
                                size_t num_features,
                                plim_rank_data **out);

/**
 * Ends the data's handle.
 *
 * @param data  the data; NULL and handles that are not live are ignored.
 */
void plim_rank_data_free(plim_rank_data *data);

/**
 * Adds all queries of other data at the end, and puts them into a split: a file of validation queries, say.
 *
 * @param data   the data that grow.
 * @param other  data with as many features, standardised by the same numbers or, as `data`, not at all. They stay as they
 *               are; their splits play no part.
 * @param split  PLIM_SPLIT_TRAIN, PLIM_SPLIT_VAL or PLIM_SPLIT_TEST.
 *
 * @return PLIM_OK, PLIM_ERROR_NULL_POINTER, PLIM_ERROR_INVALID_ARGUMENT, PLIM_ERROR_SHAPE_MISMATCH,
 *         PLIM_ERROR_INVALID_HANDLE, PLIM_ERROR_BUSY (also if both are the same) or PLIM_ERROR_OUT_OF_MEMORY. On failure the
 *         data are as they were.
 */
plim_status plim_rank_data_append(plim_rank_data *data,
                                  const plim_rank_data *other,
                                  int32_t split);

/**
 * Takes the mean off each feature and divides it by its standard deviation, as measured on training documents.
 *
 * The features become dense. A feature that does not vary is not divided. Of data that have been standardised the numbers
 * used are kept: to treat others alike, name these as their reference.
 *
 * @param data       the data, not yet standardised.
 * @param reference  whose training documents are measured, or, if they have been standardised, whose numbers are used again;
 *                   NULL for the data's own training documents.
 *
 * @return PLIM_OK, PLIM_ERROR_NULL_POINTER, PLIM_ERROR_INVALID_ARGUMENT (standardised already), PLIM_ERROR_SHAPE_MISMATCH
 *         (another number of features), PLIM_ERROR_MISSING_DATA (no training queries), PLIM_ERROR_INVALID_HANDLE,
 *         PLIM_ERROR_BUSY or PLIM_ERROR_OUT_OF_MEMORY. On failure the data are as they were.
 */
plim_status plim_rank_data_standardize(plim_rank_data *data,
                                       const plim_rank_data *reference);

/**
 * Says which queries belong to a split, in place of those that did.
 *
 * @param data     the data.
 * @param split    PLIM_SPLIT_TRAIN, PLIM_SPLIT_VAL or PLIM_SPLIT_TEST.
 * @param queries  `count` query numbers, none twice.
 * @param count    0 empties the split; `queries` may then be NULL.
 *
 * @return PLIM_OK, PLIM_ERROR_NULL_POINTER, PLIM_ERROR_INVALID_ARGUMENT, PLIM_ERROR_INVALID_HANDLE, PLIM_ERROR_BUSY or
 *         PLIM_ERROR_OUT_OF_MEMORY.
 */
plim_status plim_rank_data_set_split(plim_rank_data *data, int32_t split, const int32_t *queries, size_t count);

/**
 * Says how NDCG is measured: the sum over the first k documents of gain / log2(1 + place), by that of the best order.
 *
 * Documents of equal scores share their places, as in scikit-learn's ndcg_score().
 *
 * @param data    the data.
 * @param cutoff  k; 0 for all documents of a query; 10 at first.
 * @param gain    PLIM_RANK_GAIN_EXPONENTIAL, which is the default, or PLIM_RANK_GAIN_LINEAR.
 *
 * @return PLIM_OK, PLIM_ERROR_NULL_POINTER, PLIM_ERROR_INVALID_ARGUMENT, PLIM_ERROR_INVALID_HANDLE or PLIM_ERROR_BUSY.
 */
plim_status plim_rank_data_set_ndcg(plim_rank_data *data, size_t cutoff, int32_t gain);

/**
 * Number of queries.
 *
 * @param data  the data.
 *
 * @return the number; 0 for NULL or a handle that is not live.
 */
size_t plim_rank_data_num_queries(const plim_rank_data *data);

/**
 * Number of documents, those of all queries.
 *
 * @param data  the data.
 *
 * @return the number; 0 for NULL or a handle that is not live.
 */
size_t plim_rank_data_num_documents(const plim_rank_data *data);

/**
 * Number of features.
 *
 * @param data  the data.
 *
 * @return the number; 0 for NULL or a handle that is not live.
 */
size_t plim_rank_data_num_features(const plim_rank_data *data);

/**
 * Number of queries of a split.
 *
 * @param data   the data.
 * @param split  PLIM_SPLIT_TRAIN, PLIM_SPLIT_VAL or PLIM_SPLIT_TEST.
 *
 * @return the number; 0 for another split, NULL or a handle that is not live.
 */
size_t plim_rank_data_split_size(const plim_rank_data *data, int32_t split);

/**
 * Copies the queries of a split.
 *
 * @param data      the data.
 * @param split     PLIM_SPLIT_TRAIN, PLIM_SPLIT_VAL or PLIM_SPLIT_TEST.
 * @param dst       receives plim_rank_data_split_size() query numbers; untouched unless PLIM_OK is returned.
 * @param capacity  numbers that `dst` has room for.
 *
 * @return PLIM_OK, PLIM_ERROR_NULL_POINTER, PLIM_ERROR_INVALID_ARGUMENT, PLIM_ERROR_BUFFER_TOO_SMALL,
 *         PLIM_ERROR_INVALID_HANDLE or PLIM_ERROR_BUSY.
 */
plim_status plim_rank_data_copy_split(const plim_rank_data *data, int32_t split, int32_t *dst, size_t capacity);

/**
 * Copies where the documents of each query begin, and their number at last.
 *
 * @param data      the data.
 * @param dst       receives plim_rank_data_num_queries() + 1 numbers; untouched unless PLIM_OK is returned.
 * @param capacity  numbers that `dst` has room for.
 *
 * @return PLIM_OK, PLIM_ERROR_NULL_POINTER, PLIM_ERROR_BUFFER_TOO_SMALL, PLIM_ERROR_INVALID_HANDLE or PLIM_ERROR_BUSY.
 */
plim_status plim_rank_data_copy_offsets(const plim_rank_data *data, int64_t *dst, size_t capacity);

/**
 * Copies the relevance of each document.
 *
 * @param data      the data.
 * @param dst       receives plim_rank_data_num_documents() numbers; untouched unless PLIM_OK is returned.
 * @param capacity  numbers that `dst` has room for.
 *
 * @return PLIM_OK, PLIM_ERROR_NULL_POINTER, PLIM_ERROR_BUFFER_TOO_SMALL, PLIM_ERROR_INVALID_HANDLE or PLIM_ERROR_BUSY.
 */
plim_status plim_rank_data_copy_relevance(const plim_rank_data *data, int32_t *dst, size_t capacity);

/**
 * Copies what a file calls each query: the number after qid. Of data from arrays it is the query's own number.
 *
 * @param data      the data.
 * @param dst       receives plim_rank_data_num_queries() numbers; untouched unless PLIM_OK is returned.
 * @param capacity  numbers that `dst` has room for.
 *
 * @return PLIM_OK, PLIM_ERROR_NULL_POINTER, PLIM_ERROR_BUFFER_TOO_SMALL, PLIM_ERROR_INVALID_HANDLE or PLIM_ERROR_BUSY.
 */
plim_status plim_rank_data_copy_query_ids(const plim_rank_data *data, int64_t *dst, size_t capacity);

/**
 * Scores all documents: the higher, the further up.
 *
 * @param model     a model with the data's number of inputs and one output.
 * @param data      the data.
 * @param dst       receives plim_rank_data_num_documents() scores; untouched unless PLIM_OK is returned.
 * @param capacity  scores that `dst` has room for.
 *
 * @return PLIM_OK, PLIM_ERROR_NULL_POINTER, PLIM_ERROR_SHAPE_MISMATCH, PLIM_ERROR_BUFFER_TOO_SMALL, PLIM_ERROR_DIVERGED (not
 *         finite), PLIM_ERROR_INVALID_HANDLE, PLIM_ERROR_BUSY or PLIM_ERROR_OUT_OF_MEMORY.
 */
plim_status plim_rank_score(const plim_model *model,
                            const plim_rank_data *data,
                            float *dst,
                            size_t capacity);

/**
 * Measures a model on the queries of a split, nothing sampled.
 *
 * Loss and accuracy are means over the queries that have two documents of different relevance; NDCG is a mean over all
 * queries of the split, of which one without a relevant document counts as 0.
 *
 * @param model     a model with the data's number of inputs and one output.
 * @param data      the data.
 * @param split     PLIM_SPLIT_TRAIN, PLIM_SPLIT_VAL or PLIM_SPLIT_TEST.
 * @param loss      receives the mean pair loss, without λ; may be NULL.
 * @param accuracy  receives the share of pairs in the right order; may be NULL.
 * @param ndcg      receives NDCG, as plim_rank_data_set_ndcg() says; may be NULL. All untouched unless PLIM_OK is returned.
 *
 * @return PLIM_OK, PLIM_ERROR_NULL_POINTER, PLIM_ERROR_INVALID_ARGUMENT (the split), PLIM_ERROR_SHAPE_MISMATCH,
 *         PLIM_ERROR_MISSING_DATA (no query with a pair), PLIM_ERROR_DIVERGED (not finite), PLIM_ERROR_INVALID_HANDLE,
 *         PLIM_ERROR_BUSY or PLIM_ERROR_OUT_OF_MEMORY.
 */
plim_status plim_rank_evaluate(const plim_model *model,
                               const plim_rank_data *data,
                               int32_t split,
                               double *loss,
                               double *accuracy,
                               double *ndcg);

/**
 * Measures a model on each query of a split, nothing sampled.
 *
 * @param model     a model with the data's number of inputs and one output.
 * @param data      the data.
 * @param split     PLIM_SPLIT_TRAIN, PLIM_SPLIT_VAL or PLIM_SPLIT_TEST.
 * @param measure   PLIM_RANK_MEASURE_LOSS, PLIM_RANK_MEASURE_ACCURACY or PLIM_RANK_MEASURE_NDCG.
 * @param dst       receives plim_rank_data_split_size() numbers, in the split's order; untouched unless PLIM_OK is returned.
 * @param capacity  numbers that `dst` has room for.
 *
 * @return PLIM_OK, PLIM_ERROR_NULL_POINTER, PLIM_ERROR_INVALID_ARGUMENT (the split or the measure),
 *         PLIM_ERROR_SHAPE_MISMATCH, PLIM_ERROR_MISSING_DATA (an empty split), PLIM_ERROR_BUFFER_TOO_SMALL,
 *         PLIM_ERROR_DIVERGED (not finite), PLIM_ERROR_INVALID_HANDLE, PLIM_ERROR_BUSY or PLIM_ERROR_OUT_OF_MEMORY.
 */
plim_status plim_rank_measure(const plim_model *model,
                              const plim_rank_data *data,
                              int32_t split,
                              int32_t measure,
                              double *dst,
                              size_t capacity);

/**
 * Estimates loss and gradient of a ranking at the model's parameters.
 *
 * The objective is the mean over the batch's queries of the mean over their pairs of log(1 + exp(s_j − s_i)), i ranked above
 * j, plus λ/2 ‖W‖². Otherwise as plim_estimator_gradient().
 *
 * @param estimator   the full or the unbiased estimator, which take all pairs, or one of plim_estimator_pairs() and
 *                    plim_estimator_separate().
 * @param model       a model with the data's number of inputs and one output.
 * @param data        the data.
 * @param batch       `batch_size` queries, none twice, each with two documents of different relevance; NULL with 0 for all
 *                    such training queries, which is all that the full estimator takes.
 * @param batch_size  length of the list.
 * @param gradient    receives plim_model_num_parameters() values, in the order of plim_model_get_parameters();
 *                    untouched unless PLIM_OK is returned.
 * @param capacity    values that `gradient` has room for.
 * @param loss        receives the objective as estimated; may be NULL. Untouched unless PLIM_OK is returned.
 *
 * @return PLIM_OK, PLIM_ERROR_NULL_POINTER, PLIM_ERROR_INVALID_ARGUMENT (an entry of the batch),
 *         PLIM_ERROR_SHAPE_MISMATCH, PLIM_ERROR_MISSING_DATA (no training query with a pair), PLIM_ERROR_UNSUPPORTED (a
 *         consistent estimator, which draws neighbours), PLIM_ERROR_BUFFER_TOO_SMALL, PLIM_ERROR_DIVERGED (not finite),
 *         PLIM_ERROR_INVALID_HANDLE, PLIM_ERROR_BUSY or PLIM_ERROR_OUT_OF_MEMORY.
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
 * Trains a model to rank: epochs of shuffled batches over the training queries, a gradient and an update for each.
 *
 * All that plim_train() does on a graph it does here: history, progress, early stopping, checkpoints, adaptive sizes. A
 * batch is of queries; those without two documents of different relevance are left out. The history's accuracy is that of
 * pairs, and NDCG has a column and a monitor of its own, PLIM_HISTORY_VAL_NDCG and PLIM_MONITOR_VAL_NDCG.
 *
 * @param model      a model with the data's number of inputs and one output. During the call others find it busy, but for
 *                   const calls inside its callbacks.
 * @param data       the data.
 * @param estimator  how gradients are estimated.
 * @param optimizer  how they move the parameters.
 * @param options    how to train, or NULL for the defaults.
 * @param out        receives the history, or NULL; release it with plim_history_free(). Untouched unless PLIM_OK,
 *                   PLIM_ERROR_DIVERGED or PLIM_ERROR_CANCELLED is returned.
 *
 * @return as plim_train(); PLIM_ERROR_UNSUPPORTED for a consistent estimator too, which draws neighbours.
 */
plim_status plim_rank_train(plim_model *model,
                            const plim_rank_data *data,
                            plim_estimator *estimator,
                            plim_optimizer *optimizer,
                            const plim_train_options *options,
                            plim_history **out);

/**
 * Measures how wrong an estimator's gradients of a ranking are, as plim_tail_new() does on a graph.
 *
 * @param estimator     what to measure. Its seed, counter and size stay as they are.
 * @param model         the model, at whose parameters the gradient is taken.
 * @param data          the data; a batch of the options is of queries.
 * @param sample_sizes  `num_sizes` sizes, each at least 1, that replace the estimator's: pairs or documents drawn of each
 *                      query; for the unbiased estimator queries of a batch.
 * @param num_sizes     at least 1.
 * @param deltas        `num_deltas` relative errors, each > 0; (NULL, 0) for none.
 * @param num_deltas    number of relative errors.
 * @param options       how to measure, or NULL for the defaults.
 * @param out           receives the tail; release it with plim_tail_free(). Untouched unless PLIM_OK is returned.
 *
 * @return as plim_tail_new(); PLIM_ERROR_UNSUPPORTED for a consistent estimator.
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
 * Looks for the smallest sample size for gradients of a ranking, and what it costs, as plim_plan_new() does on a graph.
 *
 * Sizes are tried up to the most documents of a query, or its pairs where those are drawn.
 *
 * @param estimator  what to plan for: one of plim_estimator_pairs() and plim_estimator_separate(), or the unbiased one,
 *                   whose batch of queries is planned. It stays as it is.
 * @param model      the model, at whose parameters the gradient is taken; its threads share the work.
 * @param data       the data; a batch of the options is of queries.
 * @param delta      δ, relative to the norm of the exact gradient; > 0.
 * @param epsilon    ε, in (0, 1].
 * @param t          T, the number of steps; at least 1.
 * @param options    how to measure, or NULL for the defaults.
 * @param out        receives the plan; release it with plim_plan_free(). Untouched unless PLIM_OK is returned.
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

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* PLIMSOLL_H */
