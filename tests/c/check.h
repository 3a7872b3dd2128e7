/* A test harness in one header. Checks report file and line and continue; check_close() prints their number.
 *
 * Use checks on the main thread only. A worker thread returns its results, and the main thread checks them. */
#ifndef PLIM_TESTS_CHECK_H
#define PLIM_TESTS_CHECK_H

#include "plimsoll.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static unsigned long check_passed = 0;
static unsigned long check_failed = 0;

/* An out-pointer that a failing call must not change. No handle has this value. */
#define UNTOUCHED(type) ((type *)(uintptr_t)0x1)

/* Runs a test. Its name is a sentence, which a failure prints. */
#define RUN(test) ((void)(test)())

/* Checks that the condition holds. */
#define CHECK(condition) check_that((condition) ? 1 : 0, #condition, __FILE__, __LINE__, __func__)

/* Checks that the call returns PLIM_OK, or this status. */
#define CHECK_OK(call) check_status(PLIM_OK, (call), #call, __FILE__, __LINE__, __func__)
#define CHECK_STATUS(expected, call) check_status((expected), (call), #call, __FILE__, __LINE__, __func__)

/* Checks that the call fails with this status, and that the message contains the fragment. */
#define CHECK_FAILS(expected, fragment, call) \
  check_fails((expected), (fragment), (call), #call, __FILE__, __LINE__, __func__)

/* Checks that |got - expected| <= tolerance. NaN fails. */
#define CHECK_NEAR(expected, got, tolerance) \
  check_near((expected), (got), (tolerance), #got, __FILE__, __LINE__, __func__)

/* Checks that two arrays of `count` elements have the same bits. */
#define CHECK_BITS(expected, got, count) \
  check_bits((expected), (got), (count) * sizeof *(got), #got, __FILE__, __LINE__, __func__)

/* Checks that two strings are equal. */
#define CHECK_TEXT(expected, got) check_text((expected), (got), #got, __FILE__, __LINE__, __func__)

static inline int check_count(int ok) {
  if (ok) {
    check_passed++;
  } else {
    check_failed++;
  }
  return ok;
}

static inline int check_that(int ok, const char *what, const char *file, int line, const char *test) {
  if (!check_count(ok)) {
    fprintf(stderr, "%s:%d: %s: failed: %s\n", file, line, test, what);
  }
  return ok;
}

static inline int check_status(plim_status expected, plim_status got, const char *what, const char *file, int line,
                               const char *test) {
  if (!check_count(got == expected)) {
    fprintf(stderr, "%s:%d: %s: status %d instead of %d (last error: %s): %s\n", file, line, test, (int)got,
            (int)expected, plim_last_error(), what);
  }
  return got == expected;
}

static inline int check_fails(plim_status expected, const char *fragment, plim_status got, const char *what,
                              const char *file, int line, const char *test) {
  int right = check_status(expected, got, what, file, line, test);
  if (right && !check_count(strstr(plim_last_error(), fragment) != NULL)) {
    fprintf(stderr, "%s:%d: %s: the message \"%s\" does not say \"%s\": %s\n", file, line, test, plim_last_error(),
            fragment, what);
    return 0;
  }
  return right;
}

static inline int check_near(double expected, double got, double tolerance, const char *what, const char *file,
                             int line, const char *test) {
  int ok = fabs(got - expected) <= tolerance;
  if (!check_count(ok)) {
    fprintf(stderr, "%s:%d: %s: %s is %.9g, not %.9g within %.3g\n", file, line, test, what, got, expected, tolerance);
  }
  return ok;
}

static inline int check_bits(const void *expected, const void *got, size_t bytes, const char *what, const char *file,
                             int line, const char *test) {
  int ok = bytes == 0 || memcmp(expected, got, bytes) == 0;
  if (!check_count(ok)) {
    fprintf(stderr, "%s:%d: %s: %s differs in its bits\n", file, line, test, what);
  }
  return ok;
}

static inline int check_text(const char *expected, const char *got, const char *what, const char *file, int line,
                             const char *test) {
  int ok = got != NULL && strcmp(expected, got) == 0;
  if (!check_count(ok)) {
    fprintf(stderr, "%s:%d: %s: %s is \"%s\", not \"%s\"\n", file, line, test, what, got ? got : "(null)", expected);
  }
  return ok;
}

/* Returns the native count, or the smaller one under valgrind, which is about fifty times slower. */
static inline size_t check_scale(size_t native, size_t valgrind) {
  return getenv("PLIM_VALGRIND") != NULL ? valgrind : native;
}

/* Allocates zeroed memory, and ends the program if there is none. */
static inline void *check_alloc(size_t count, size_t size) {
  void *memory = calloc(count ? count : 1, size);
  if (memory == NULL) {
    fprintf(stderr, "out of memory\n");
    exit(2);
  }
  return memory;
}

/* Fills an array with NaN, to detect elements that are not written. */
static inline void check_fill(float *values, size_t count) {
  for (size_t i = 0; i < count; i++) {
    values[i] = (float)NAN;
  }
}

static inline int check_filled(const float *values, size_t count) {
  for (size_t i = 0; i < count; i++) {
    if (!isnan(values[i])) {
      return 0;
    }
  }
  return 1;
}

/* Prints the summary and returns the exit code of the program. */
static inline int check_close(void) {
  printf("%lu passed, %lu failed\n", check_passed, check_failed);
  return check_failed == 0 ? 0 : 1;
}

#endif
