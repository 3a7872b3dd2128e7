/* Arguments `name=value`, and the end at the first error. */
#ifndef BENCH_ARGUMENTS_H
#define BENCH_ARGUMENTS_H
#include <plimsoll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(call)                                                                                \
    do {                                                                                           \
        plim_status status_ = (call);                                                              \
        if (status_ != PLIM_OK) {                                                                  \
            fprintf(stderr, "%s\n%s: %s\n", #call, plim_status_name(status_), plim_last_error());  \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

static int num_arguments;
static char **arguments;

/* The value of argument `name`, or `otherwise`. */
static inline const char *text(const char *name, const char *otherwise) {
    const size_t length = strlen(name);
    for (int i = 1; i < num_arguments; i++)
        if (!strncmp(arguments[i], name, length) && arguments[i][length] == '=') return arguments[i] + length + 1;
    return otherwise;
}

static inline double real(const char *name, double otherwise) {
    const char *value = text(name, NULL);
    return value ? strtod(value, NULL) : otherwise;
}

static inline size_t whole(const char *name, size_t otherwise) {
    const char *value = text(name, NULL);
    return value ? (size_t)strtod(value, NULL) : otherwise; /* accepts 1e7 */
}

#endif
