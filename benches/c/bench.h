/* What the programs of this directory share: arguments `name=value`, time, memory, random numbers. They print one JSON line, and
   exit at the first error without freeing anything. */
#ifndef BENCH_H
#define BENCH_H
#define _GNU_SOURCE
#include "arguments.h"
#include <malloc.h>
#include <plimsoll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Under callgrind, instructions count between start and stop only, if valgrind's header is available. */
#if defined __has_include
#if __has_include(<valgrind/callgrind.h>)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"
#include <valgrind/callgrind.h>
#pragma GCC diagnostic pop
#define COUNT_START CALLGRIND_START_INSTRUMENTATION
#define COUNT_STOP CALLGRIND_STOP_INSTRUMENTATION
#define COUNTING (RUNNING_ON_VALGRIND != 0)
#endif
#endif
#ifndef COUNTING
#define COUNT_START ((void)0)
#define COUNT_STOP ((void)0)
#define COUNTING 0
#endif

static inline void *room(size_t count, size_t size) {
    void *p = malloc(count * size);
    if (!p) {
        fprintf(stderr, "no memory for %zu elements\n", count);
        exit(1);
    }
    return p;
}

static inline double clock_seconds(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static inline double now(void) {
    return clock_seconds(CLOCK_MONOTONIC);
}

static inline int compare_reals(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Sorts `values`. */
static inline double median(double *values, size_t count) {
    qsort(values, count, sizeof *values, compare_reals);
    return count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

/* A line of /proc/self/status in bytes: VmRSS, resident now; VmHWM, the peak. */
static inline double status_bytes(const char *name) {
    char line[256];
    double kilobytes = 0;
    FILE *file = fopen("/proc/self/status", "r");
    while (file && fgets(line, sizeof line, file))
        if (!strncmp(line, name, strlen(name))) kilobytes = strtod(line + strlen(name) + 1, NULL);
    if (file) fclose(file);
    return 1024 * kilobytes;
}

/* Resets VmHWM. */
static inline void reset_peak(void) {
    FILE *file = fopen("/proc/self/clear_refs", "w");
    if (file) {
        fputs("5", file);
        fclose(file);
    }
}

/* Bytes that are allocated with malloc, by the library too. */
static inline double heap_bytes(void) {
    const struct mallinfo2 info = mallinfo2();
    return (double)info.uordblks + (double)info.hblkhd;
}

/* SplitMix64: the same random numbers on every machine. */
static inline uint64_t random_bits(uint64_t *state) {
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static inline size_t random_below(uint64_t *state, size_t bound) {
    return (size_t)((random_bits(state) >> 32) * bound >> 32);
}

static inline double random_unit(uint64_t *state) {
    return (double)(random_bits(state) >> 11) / 9007199254740992.0;
}

/* A GCN of 1 or 2 layers for the graph, `hidden` wide inside. */
static inline plim_model *make_model(const plim_graph *graph, size_t layers, size_t hidden, size_t threads,
    uint64_t seed) {
    plim_model *model = NULL;
    size_t widths[3] = {plim_graph_num_features(graph), hidden, plim_graph_num_classes(graph)};
    if (layers == 1) widths[1] = widths[2];
    CHECK(plim_model_gcn(widths, layers + 1, seed, &model));
    CHECK(plim_model_set_threads(model, threads));
    return model;
}

/* `sample` is full, unbiased, or the number of draws: at the input of one layer, at the hidden layer of two. */
static inline plim_estimator *make_estimator(const char *sample, size_t layers, int32_t distribution, uint64_t seed) {
    plim_estimator *estimator = NULL;
    if (!strcmp(sample, "full")) {
        CHECK(plim_estimator_full(&estimator));
    } else if (!strcmp(sample, "unbiased")) {
        CHECK(plim_estimator_unbiased(&estimator));
    } else {
        const size_t draws = (size_t)strtod(sample, NULL), sizes[2] = {layers == 1 ? draws : 0, draws};
        CHECK(plim_estimator_consistent(sizes, layers, &estimator));
        CHECK(plim_estimator_set_distribution(estimator, distribution));
    }
    CHECK(plim_estimator_set_seed(estimator, seed));
    return estimator;
}

#endif
