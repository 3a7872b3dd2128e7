/* Functions that take a handle, and invalid handles for them. */
#ifndef PLIM_TESTS_HANDLES_H
#define PLIM_TESTS_HANDLES_H

#include "check.h"

typedef struct function {
  const char *argument; /* the handle's name in the header */
  const char *name;
  plim_status (*call)(void *handle); /* calls the function with `handle` and otherwise valid arguments */
} function;

typedef struct function_list {
  const function *all;
  size_t count;
  int (*untouched)(void); /* whether their outputs are as before */
} function_list;

/* Defines `functions`, a list of functions: FUNCTIONS(untouched, FUNCTION("graph", save), …). */
#define FUNCTION(argument, call) {argument, #call, call}
#define FUNCTIONS(untouched, ...)                        \
  static const function all_functions[] = {__VA_ARGS__}; \
  static const function_list functions = {all_functions, sizeof all_functions / sizeof all_functions[0], untouched}

/* Checks that each function refuses the handle, names the argument, and leaves outputs untouched. */
static inline void handles_refused(const function_list *functions, const char *argument, void *handle,
                                   const char *what) {
  plim_status expected = handle == NULL ? PLIM_ERROR_NULL_POINTER : PLIM_ERROR_INVALID_HANDLE;
  for (size_t i = 0; i < functions->count; i++) {
    const function *f = &functions->all[i];
    if (strcmp(f->argument, argument) == 0) {
      plim_status status = f->call(handle);
      if (!CHECK(status == expected) || !CHECK(strstr(plim_last_error(), argument) != NULL) ||
          !CHECK(functions->untouched())) {
        fprintf(stderr, "  status %d from %s given %s (%s)\n", (int)status, f->name, what, plim_last_error());
      }
    }
  }
}

/* NULL, numbers that are not handles, and addresses. */
static inline void handles_foreign(const function_list *functions, const char *argument) {
  static const uintptr_t numbers[] = {1, 8, 0xff, 0xdeadbeef, UINTPTR_MAX, UINTPTR_MAX >> 1};
  int on_the_stack = 42;
  handles_refused(functions, argument, NULL, "NULL");
  for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
    handles_refused(functions, argument, (void *)numbers[i], "a number");
  }
  handles_refused(functions, argument, &on_the_stack, "an address");
  CHECK(on_the_stack == 42);
}

/* A foreign handle, a freed one, and live and freed ones of other types, in place of `arguments[i]`. */
static inline void handles_bad(const function_list *functions, const char *const *arguments, void *const *live,
                               void *const *freed, size_t count, size_t i) {
  handles_foreign(functions, arguments[i]);
  handles_refused(functions, arguments[i], freed[i], "a freed one");
  for (size_t j = 0; j < count; j++) {
    if (j != i) {
      handles_refused(functions, arguments[i], live[j], arguments[j]);
      handles_refused(functions, arguments[i], freed[j], "a freed one of another type");
    }
  }
}

#endif
