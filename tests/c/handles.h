/* Functions that take a handle, and invalid handles for them. */
#ifndef PLIM_TESTS_HANDLES_H
#define PLIM_TESTS_HANDLES_H

#include "check.h"

typedef struct function {
  const char *argument; /* the handle's name in the header */
  const char *name;
  plim_status (*call)(void *handle); /* calls the function with `handle` and otherwise valid arguments */
} function;

/* Checks that each function refuses the handle with this status, names the argument, and leaves `untouched` true. */
static inline void handles_refused(const function *functions, size_t count, const char *argument, plim_status expected,
                                   void *handle, const char *what, int (*untouched)(void)) {
  for (size_t i = 0; i < count; i++) {
    if (strcmp(functions[i].argument, argument) == 0) {
      plim_status status = functions[i].call(handle);
      if (!CHECK(status == expected) || !CHECK(strstr(plim_last_error(), argument) != NULL) || !CHECK(untouched())) {
        fprintf(stderr, "  status %d from %s given %s (%s)\n", (int)status, functions[i].name, what, plim_last_error());
      }
    }
  }
}

/* NULL, numbers that are not handles, and addresses. */
static inline void handles_foreign(const function *functions, size_t count, const char *argument,
                                   int (*untouched)(void)) {
  static const uintptr_t numbers[] = {1, 8, 0xff, 0xdeadbeef, UINTPTR_MAX, UINTPTR_MAX >> 1};
  int on_the_stack = 42;
  handles_refused(functions, count, argument, PLIM_ERROR_NULL_POINTER, NULL, "NULL", untouched);
  for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
    handles_refused(functions, count, argument, PLIM_ERROR_INVALID_HANDLE, (void *)numbers[i], "a number", untouched);
  }
  handles_refused(functions, count, argument, PLIM_ERROR_INVALID_HANDLE, &on_the_stack, "an address", untouched);
  CHECK(on_the_stack == 42);
}

#endif
