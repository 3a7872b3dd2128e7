/* Invalid arguments for bounds and sample sizes: the status, a message that names the condition, and nothing written. */
#define _POSIX_C_SOURCE 200809L

#include "check.h"

/* Outputs of calls that must fail. */
static double out = 7.0;
static size_t size = 7;

/* Checks that the call fails with this status and message and writes nothing. */
#define REFUSED(status, fragment, call) (CHECK_FAILS(status, fragment, call), CHECK(out == 7.0 && size == 7))
#define INVALID(fragment, call) REFUSED(PLIM_ERROR_INVALID_ARGUMENT, fragment, call)

static const double not_positive[] = {0.0, -0.0, -1.0, -1e-300, NAN, INFINITY, -INFINITY};
static const double negative[] = {-1.0, -1e-300, NAN, INFINITY, -INFINITY};
enum { NOT_POSITIVE = sizeof not_positive / sizeof not_positive[0], NEGATIVE = sizeof negative / sizeof negative[0] };

static void constants_must_be_positive_and_finite(void) {
  for (size_t i = 0; i < NOT_POSITIVE; i++) {
    const double bad = not_positive[i];
    INVALID("0 < l < infinity", plim_bound_strongly_convex_iterate(bad, 1.0, 0.0, 5, &out));
    INVALID("0 < big_g < infinity", plim_bound_strongly_convex_iterate(1.0, bad, 0.0, 5, &out));
    INVALID("0 < l < infinity", plim_bound_strongly_convex_average(bad, 1.0, 0.0, 5, &out));
    INVALID("0 < big_g < infinity", plim_bound_strongly_convex_average(1.0, bad, 0.0, 5, &out));
    INVALID("0 < l < infinity", plim_bound_strongly_convex_value(bad, 2.0, 1.0, 0.0, 5, &out));
    INVALID("0 < big_l < infinity", plim_bound_strongly_convex_value(1.0, bad, 1.0, 0.0, 5, &out));
    INVALID("0 < big_g < infinity", plim_bound_strongly_convex_value(1.0, 2.0, bad, 0.0, 5, &out));
    INVALID("0 < l < infinity", plim_bound_constant_step(bad, 1.0, 0.0, 0.1, 5, 1.0, &out));
    INVALID("0 < big_g < infinity", plim_bound_constant_step(1.0, bad, 0.0, 0.1, 5, 1.0, &out));
    INVALID("0 < step < infinity", plim_bound_constant_step(1.0, 1.0, 0.0, bad, 5, 1.0, &out));
    INVALID("0 < big_g < infinity", plim_bound_convex_average(bad, 1.0, 0.0, 1.0, 5, &out));
    INVALID("0 < diameter < infinity", plim_bound_convex_average(1.0, bad, 0.0, 1.0, 5, &out));
    INVALID("0 < c < infinity", plim_bound_convex_average(1.0, 1.0, 0.0, bad, 5, &out));
    INVALID("0 < big_l < infinity", plim_bound_nonconvex_gradient(bad, 1.0, 1.0, 0.0, 5, &out));
    INVALID("0 < big_g < infinity", plim_bound_nonconvex_gradient(1.0, bad, 1.0, 0.0, 5, &out));
    INVALID("0 < d_f < infinity", plim_bound_nonconvex_gradient(1.0, 1.0, bad, 0.0, 5, &out));
    INVALID("0 < l < infinity", plim_bound_linear(bad, 2.0, NULL, 1, 1.0, &out));
    INVALID("0 < big_l < infinity", plim_bound_linear(1.0, bad, NULL, 1, 1.0, &out));
    INVALID("0 < tau < infinity", plim_sample_size(bad, 1.0, 5, 0.5, &size));
    INVALID("0 < c < infinity", plim_sample_size(1.0, bad, 5, 0.5, &size));
    INVALID("0 < tau < infinity", plim_sample_epsilon(bad, 1.0, 5, 5, &out));
    INVALID("0 < c < infinity", plim_sample_epsilon(1.0, bad, 5, 5, &out));
  }
}

static void what_may_be_zero_may_not_be_negative(void) {
  for (size_t i = 0; i < NEGATIVE; i++) {
    const double bad = negative[i], deltas[] = {0.0, bad, 1.0};
    INVALID("0 <= initial_distance_squared < infinity", plim_bound_constant_step(1.0, 1.0, 0.0, 0.1, 5, bad, &out));
    INVALID("0 <= rho < infinity", plim_bound_convex_average(1.0, 1.0, bad, 1.0, 5, &out));
    INVALID("0 <= initial_gap < infinity", plim_bound_linear(1.0, 2.0, NULL, 1, bad, &out));
    INVALID("deltas[1] = ", plim_bound_linear(1.0, 2.0, deltas, 4, 1.0, &out));
    CHECK_OK(plim_bound_linear(1.0, 2.0, deltas, 2, 1.0, &out)); /* deltas[1] is not read */
    out = 7.0;
  }
}

static void there_is_at_least_one_iterate(void) {
  static const double one = 1.0;
  INVALID("t = 0: t >= 1", plim_bound_strongly_convex_iterate(1.0, 1.0, 0.0, 0, &out));
  INVALID("t = 0: t >= 1", plim_bound_strongly_convex_average(1.0, 1.0, 0.0, 0, &out));
  INVALID("t = 0: t >= 1", plim_bound_strongly_convex_value(1.0, 2.0, 1.0, 0.0, 0, &out));
  INVALID("t = 0: t >= 1", plim_bound_constant_step(1.0, 1.0, 0.0, 0.1, 0, 1.0, &out));
  INVALID("t = 0: t >= 1", plim_bound_convex_average(1.0, 1.0, 0.0, 1.0, 0, &out));
  INVALID("t = 0: t >= 1", plim_bound_nonconvex_gradient(1.0, 1.0, 1.0, 0.0, 0, &out));
  INVALID("t = 0: t >= 1", plim_bound_linear(1.0, 2.0, NULL, 0, 1.0, &out));
  INVALID("t = 0: t >= 1", plim_sample_size(1.0, 1.0, 0, 0.5, &size));
  INVALID("t = 0: t >= 1", plim_sample_epsilon(1.0, 1.0, 0, 5, &out));
  INVALID("t = 0: t >= 1", plim_sample_delta(&one, &one, &one, 1, 0, 0.5, 5, &out));
  INVALID("sample_size = 0: sample_size >= 1", plim_sample_epsilon(1.0, 1.0, 5, 0, &out));
  INVALID("sample_size = 0: sample_size >= 1", plim_sample_delta(&one, &one, &one, 1, 5, 0.5, 0, &out));
}

static void errors_must_be_below_what_the_theorem_stands(void) {
  static const double bad[] = {0.25, 0.26, 1e300, -1e-300, -1.0, NAN, INFINITY, -INFINITY};
  const char *condition = "0 <= delta < l = 0.25 does not hold";
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    INVALID(condition, plim_bound_strongly_convex_iterate(0.25, 1.0, bad[i], 5, &out));
    INVALID(condition, plim_bound_strongly_convex_average(0.25, 1.0, bad[i], 5, &out));
    INVALID(condition, plim_bound_strongly_convex_value(0.25, 1.0, 1.0, bad[i], 5, &out));
    INVALID(condition, plim_bound_constant_step(0.25, 1.0, bad[i], 0.1, 5, 1.0, &out));
    INVALID("0 <= delta < 1 does not hold", plim_bound_nonconvex_gradient(1.0, 1.0, 1.0, 4.0 * bad[i], 5, &out));
  }
}

static void constants_must_fit_each_other(void) {
  INVALID("l = 2: l <= big_l = 1.5", plim_bound_strongly_convex_value(2.0, 1.5, 1.0, 0.0, 5, &out));
  INVALID("l = 2: l < big_l = 1.5", plim_bound_linear(2.0, 1.5, NULL, 1, 1.0, &out));
  INVALID("l = 2: l < big_l = 2", plim_bound_linear(2.0, 2.0, NULL, 1, 1.0, &out));
  INVALID("step < 1/(2 l - delta) = 0.25", plim_bound_constant_step(2.5, 1.0, 1.0, 0.25, 5, 1.0, &out));
  INVALID("step < 1/(2 l - delta) = 0.25", plim_bound_constant_step(2.5, 1.0, 1.0, 1e300, 5, 1.0, &out));
}

static void chances_must_be_in_their_range(void) {
  static const double bad[] = {0.0, -0.0, -0.5, 1.0000001, 2.0, NAN, INFINITY, -INFINITY};
  static const double one = 1.0;
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    INVALID("0 < epsilon <= 1 does not hold", plim_sample_size(1.0, 1.0, 5, bad[i], &size));
    INVALID("0 < epsilon <= 1 does not hold", plim_sample_delta(&one, &one, &one, 1, 5, bad[i], 100, &out));
  }
}

static void fits_must_be_usable(void) {
  static const double good[] = {0.1, 0.2, 0.3}, same[] = {0.1, 0.2, 0.2}, falling[] = {0.2, 0.1, 0.3};
  for (size_t i = 0; i < NOT_POSITIVE; i++) {
    const double bad[] = {0.1, not_positive[i], 0.3};
    INVALID("0 < deltas[1] < infinity", plim_sample_delta(bad, good, good, 3, 5, 0.5, 100, &out));
    INVALID("0 < cs[1] < infinity", plim_sample_delta(good, bad, good, 3, 5, 0.5, 100, &out));
    INVALID("0 < taus[1] < infinity", plim_sample_delta(good, good, bad, 3, 5, 0.5, 100, &out));
  }
  INVALID("deltas[2] = 0.2 is not above deltas[1]", plim_sample_delta(same, good, good, 3, 5, 0.5, 100, &out));
  INVALID("deltas[1] = 0.1 is not above deltas[0]", plim_sample_delta(falling, good, good, 3, 5, 0.5, 100, &out));
  INVALID("count = 0", plim_sample_delta(good, good, good, 0, 5, 0.5, 100, &out));
  INVALID("count = 0", plim_sample_delta(NULL, NULL, NULL, 0, 5, 0.5, 100, &out));
  INVALID("sample_size = 1: too few draws", plim_sample_delta(good, good, good, 3, 5, 0.5, 1, &out));
}

static void numbers_beyond_a_double_are_refused(void) {
  static const double deltas[] = {1e200};
  INVALID("the bound is inf", plim_bound_strongly_convex_iterate(1.0, 1e200, 0.0, 5, &out));
  INVALID("the bound is inf", plim_bound_strongly_convex_iterate(5e-324, 1.0, 0.0, 5, &out));
  INVALID("the bound is inf", plim_bound_strongly_convex_average(1.0, 1e200, 0.0, 5, &out));
  INVALID("the bound is inf", plim_bound_strongly_convex_value(1.0, 1e308, 10.0, 0.0, 1, &out));
  INVALID("the bound is inf", plim_bound_constant_step(1.0, 1e200, 0.0, 0.1, 5, 1.0, &out));
  INVALID("step < 1/(2 l - delta) = 0", plim_bound_constant_step(1e308, 1.0, 0.0, 1e-308, 5, 1.0, &out));
  INVALID("the bound is inf", plim_bound_convex_average(1.0, 1e200, 0.0, 1.0, 5, &out));
  INVALID("the bound is inf", plim_bound_nonconvex_gradient(1e200, 1e200, 1.0, 0.0, 5, &out));
  INVALID("the bound is inf", plim_bound_linear(0.5, 1.0, deltas, 2, 1.0, &out));
  INVALID("too large", plim_sample_size(1e-16, 4.0, 1, 0.5, &size));
  INVALID("too large", plim_sample_size(5e-324, 4.0, SIZE_MAX, 0.5, &size));
}

static void arrays_must_be_there(void) {
  static const double ones[] = {1.0, 1.0};
  REFUSED(PLIM_ERROR_NULL_POINTER, "deltas is NULL", plim_bound_linear(1.0, 2.0, NULL, 2, 1.0, &out));
  REFUSED(PLIM_ERROR_NULL_POINTER, "deltas is NULL", plim_bound_linear(1.0, 2.0, NULL, SIZE_MAX, 1.0, &out));
  INVALID("deltas", plim_bound_linear(1.0, 2.0, ones, SIZE_MAX, 1.0, &out));
  REFUSED(PLIM_ERROR_NULL_POINTER, "deltas is NULL", plim_sample_delta(NULL, ones, ones, 2, 5, 0.5, 9, &out));
  REFUSED(PLIM_ERROR_NULL_POINTER, "cs is NULL", plim_sample_delta(ones, NULL, ones, 2, 5, 0.5, 9, &out));
  REFUSED(PLIM_ERROR_NULL_POINTER, "taus is NULL", plim_sample_delta(ones, ones, NULL, 2, 5, 0.5, 9, &out));
  INVALID("deltas", plim_sample_delta(ones, ones, ones, SIZE_MAX, 5, 0.5, 9, &out));
}

static void answers_need_a_place(void) {
  static const double one = 1.0;
  const plim_status null = PLIM_ERROR_NULL_POINTER;
  CHECK_FAILS(null, "out is NULL", plim_bound_strongly_convex_iterate(1.0, 1.0, 0.0, 5, NULL));
  CHECK_FAILS(null, "out is NULL", plim_bound_strongly_convex_average(1.0, 1.0, 0.0, 5, NULL));
  CHECK_FAILS(null, "out is NULL", plim_bound_strongly_convex_value(1.0, 2.0, 1.0, 0.0, 5, NULL));
  CHECK_FAILS(null, "out is NULL", plim_bound_constant_step(1.0, 1.0, 0.0, 0.1, 5, 1.0, NULL));
  CHECK_FAILS(null, "out is NULL", plim_bound_convex_average(1.0, 1.0, 0.0, 1.0, 5, NULL));
  CHECK_FAILS(null, "out is NULL", plim_bound_nonconvex_gradient(1.0, 1.0, 1.0, 0.0, 5, NULL));
  CHECK_FAILS(null, "out is NULL", plim_bound_linear(1.0, 2.0, NULL, 1, 1.0, NULL));
  CHECK_FAILS(null, "out is NULL", plim_sample_size(1.0, 1.0, 5, 0.5, NULL));
  CHECK_FAILS(null, "out is NULL", plim_sample_epsilon(1.0, 1.0, 5, 5, NULL));
  CHECK_FAILS(null, "out is NULL", plim_sample_delta(&one, &one, &one, 1, 5, 0.5, 100, NULL));
}

int main(void) {
  RUN(constants_must_be_positive_and_finite);
  RUN(what_may_be_zero_may_not_be_negative);
  RUN(there_is_at_least_one_iterate);
  RUN(errors_must_be_below_what_the_theorem_stands);
  RUN(constants_must_fit_each_other);
  RUN(chances_must_be_in_their_range);
  RUN(fits_must_be_usable);
  RUN(numbers_beyond_a_double_are_refused);
  RUN(arrays_must_be_there);
  RUN(answers_need_a_place);
  return check_close();
}
