/* Stands in front of libplimsoll and appends a line to the file PLIMSOLL_COUNTS for every handle that is made ("+ graph
   506c…") or freed ("- graph 506c…"). Functions that are not here are found in libplimsoll itself, which this links. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <plimsoll.h>
#include <stdio.h>
#include <stdlib.h>

static void note(char sign, const char *noun, const void *handle) {
    FILE *file = fopen(getenv("PLIMSOLL_COUNTS"), "a");
    if (!file || fprintf(file, "%c %s %p\n", sign, noun, handle) < 0 || fclose(file)) abort();
}

static void *real(const char *name) {
    void *library = dlopen("libplimsoll.so.0", RTLD_NOW);
    void *function = library ? dlsym(library, name) : NULL;
    if (!function) abort();
    return function;
}

#define FREES(noun)                                                                                \
    void plim_##noun##_free(plim_##noun *handle) {                                                 \
        void (*function)(plim_##noun *);                                                           \
        *(void **)&function = real("plim_" #noun "_free");                                         \
        if (handle) note('-', #noun, handle);                                                      \
        function(handle);                                                                          \
    }

/* A call that fails leaves *out as it was, except that training that was cancelled gives a history. */
#define MAKES(noun, name, parameters, arguments)                                                   \
    plim_status name parameters {                                                                  \
        plim_status(*function) parameters;                                                         \
        *(void **)&function = real(#name);                                                         \
        const plim_##noun *before = out ? *out : NULL;                                             \
        const plim_status status = function arguments;                                             \
        if (out && *out != before) note('+', #noun, *out);                                         \
        return status;                                                                             \
    }

FREES(graph)
FREES(model)
FREES(estimator)
FREES(optimizer)
FREES(train_options)
FREES(history)

MAKES(graph, plim_graph_from_mixture, (size_t n, uint64_t seed, plim_graph **out), (n, seed, out))
MAKES(graph, plim_graph_from_edges,
    (size_t n, size_t m, const int32_t *from, const int32_t *to, const float *weights, plim_graph **out),
    (n, m, from, to, weights, out))
MAKES(model, plim_model_gcn, (const size_t *widths, size_t n, uint64_t seed, plim_model **out), (widths, n, seed, out))
MAKES(model, plim_model_load, (const char *path, plim_model **out), (path, out))
MAKES(estimator, plim_estimator_consistent, (const size_t *sizes, size_t n, plim_estimator **out), (sizes, n, out))
MAKES(optimizer, plim_optimizer_adam, (double step, plim_optimizer **out), (step, out))
MAKES(train_options, plim_train_options_new, (plim_train_options **out), (out))
MAKES(history, plim_train,
    (plim_model *model, const plim_graph *graph, plim_estimator *estimator, plim_optimizer *optimizer,
        const plim_train_options *options, plim_history **out),
    (model, graph, estimator, optimizer, options, out))
