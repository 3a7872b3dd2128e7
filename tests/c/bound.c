/* Bounds and sample sizes at points where they are easy to compute by hand. */
#define _POSIX_C_SOURCE 200809L

#include "check.h"

/* Checks that the call returns this number, to a few units in the last place. */
#define GIVES(expected, call)                                                                                          \
  do {                                                                                                                 \
    double out = NAN;                                                                                                  \
    CHECK_OK(call);                                                                                                    \
    CHECK_NEAR((expected), out, 1e-15 * fabs(expected));                                                               \
  } while (0)

/* l = 2, δ = 1, G = 3: (1+δ)²/(l-δ)² = 4 and δ/(l-δ) = 1. */
static void an_iterate_of_a_strongly_convex_objective(void) {
  GIVES(9.0 * (4.0 / 1.0 + 1.0), plim_bound_strongly_convex_iterate(2.0, 3.0, 1.0, 1, &out));
  GIVES(9.0 * (8.0 / 2.0 + 1.0), plim_bound_strongly_convex_iterate(2.0, 3.0, 1.0, 2, &out)); /* twice at T = 2 */
  GIVES(9.0 * (4.0 / 4.0 + 1.0), plim_bound_strongly_convex_iterate(2.0, 3.0, 1.0, 4, &out));
  GIVES(9.0 * (4.0 / 1024.0 + 1.0), plim_bound_strongly_convex_iterate(2.0, 3.0, 1.0, 1024, &out));
  GIVES(1.0, plim_bound_strongly_convex_iterate(0.5, 1.0, 0.0, 4, &out)); /* exact gradients: G²/(l²T) */
  GIVES(9.0, plim_bound_strongly_convex_iterate(2.0, 3.0, 1.0, SIZE_MAX, &out));
}

/* G²/2 = 9/2 and (1+δ)²/(l-δ) = 4. */
static void an_average_of_a_strongly_convex_objective(void) {
  GIVES(4.5 * (1.0 + 4.0), plim_bound_strongly_convex_average(2.0, 3.0, 1.0, 1, &out));
  GIVES(4.5 * (1.0 + 4.0 * (1.0 + log(8.0)) / 8.0), plim_bound_strongly_convex_average(2.0, 3.0, 1.0, 8, &out));
  GIVES((1.0 + log(8.0)) / 8.0, plim_bound_strongly_convex_average(0.5, 1.0, 0.0, 8, &out));
}

static void a_value_of_a_strongly_convex_objective(void) {
  GIVES(5.0 * 18.0, plim_bound_strongly_convex_value(2.0, 10.0, 3.0, 1.0, 4, &out)); /* L/2 of the iterate's */
  GIVES(1.0 * 45.0, plim_bound_strongly_convex_value(2.0, 2.0, 3.0, 1.0, 2, &out));  /* l = L is a sphere */
}

/* l = 2, δ = 1, c = 1/4: 1 - 2cl + cδ = 1/4, and (δ + c(1+δ)²)/(2l-δ) = 2/3. */
static void a_constant_step(void) {
  GIVES(16.0 + 6.0, plim_bound_constant_step(2.0, 3.0, 1.0, 0.25, 1, 16.0, &out));
  GIVES(4.0 + 6.0, plim_bound_constant_step(2.0, 3.0, 1.0, 0.25, 2, 16.0, &out));
  GIVES(0.25 + 6.0, plim_bound_constant_step(2.0, 3.0, 1.0, 0.25, 4, 16.0, &out));
  GIVES(6.0, plim_bound_constant_step(2.0, 3.0, 1.0, 0.25, SIZE_MAX, 16.0, &out));
  GIVES(6.0, plim_bound_constant_step(2.0, 3.0, 1.0, 0.25, 2, 0.0, &out)); /* started at the optimum */
  /* A billion small steps shrink by (1 - 1e-9)^1e9, although rounding 1 - 1e-9 loses digits. */
  GIVES(exp(-1.0 - 0.5e-9) * 1e18 + 0.5e-9,
        plim_bound_constant_step(0.5, 1.0, 0.0, 1e-9, 1000000001, 1e18, &out));
}

/* D = 3, G = 2, c = 1/2: at T = 4, 1/(2√T) = 1/4. */
static void an_average_of_a_convex_objective(void) {
  GIVES((2.0 * 9.0 + 4.0 * 1.0) / 4.0, plim_bound_convex_average(2.0, 3.0, 0.0, 0.5, 4, &out));
  GIVES((4.0 * 9.0 + 4.0 * (2.0 + 1.0 * 4.0)) / 4.0, plim_bound_convex_average(2.0, 3.0, 2.0, 0.5, 4, &out));
  GIVES((2.0 * 9.0 + 4.0 * 1.0) / 2.0, plim_bound_convex_average(2.0, 3.0, 0.0, 0.5, 1, &out));
}

static void a_gradient_of_any_objective(void) {
  GIVES(3.0 * 2.0 * 5.0 * 7.0 / 4.0, plim_bound_nonconvex_gradient(2.0, 5.0, 7.0, 0.5, 16, &out));
  GIVES(2.0 * 5.0 * 7.0, plim_bound_nonconvex_gradient(2.0, 5.0, 7.0, 0.0, 1, &out));
}

/* l/L = 1/2, 2L = 4: each step halves the gap and adds δ²/4. */
static void a_value_under_absolute_errors(void) {
  static const double deltas[] = {2.0, 4.0, 6.0};
  GIVES(16.0, plim_bound_linear(1.0, 2.0, NULL, 1, 16.0, &out));
  GIVES(16.0, plim_bound_linear(1.0, 2.0, deltas, 1, 16.0, &out)); /* one iterate, no error */
  GIVES(8.0 + 1.0, plim_bound_linear(1.0, 2.0, deltas, 2, 16.0, &out));
  GIVES(4.5 + 4.0, plim_bound_linear(1.0, 2.0, deltas, 3, 16.0, &out));
  GIVES(4.25 + 9.0, plim_bound_linear(1.0, 2.0, deltas, 4, 16.0, &out));
  GIVES(9.0 + 2.0 + 0.25, plim_bound_linear(1.0, 2.0, deltas, 4, 0.0, &out));
}

static size_t size_of(double tau, double c, size_t t, double epsilon) {
  size_t n = 77;
  CHECK_OK(plim_sample_size(tau, c, t, epsilon, &n));
  return n;
}

/* τ is slightly above log 2, so each draw slightly more than halves the probability. */
static void sample_sizes(void) {
  const double tau = 0.6931472;
  CHECK(size_of(tau, 1.0, 1, 0.125) == 3);
  CHECK(size_of(tau, 1.0, 1, 0.124) == 4);
  CHECK(size_of(tau, 1.0, 1, 0.126) == 3);
  CHECK(size_of(tau, 4.0, 16, 0.25) == 8);
  CHECK(size_of(tau, 4.0, 16, 0.9 / 1048576.0) == 27);
  CHECK(size_of(tau, 1.0, 1, 1.0) == 1); /* no draw would suffice, but N is at least 1 */
  CHECK(size_of(tau, 0.001, 3, 0.5) == 1);
  CHECK(size_of(1e-15, 2.0, 1, 0.5) == 1386294361119891); /* log 4 */
  CHECK(size_of(1e308, 1e308, SIZE_MAX, 5e-324) == 1);
}

/* τ = log 2. */
static void chances(void) {
  const double tau = log(2.0);
  double out = NAN;
  CHECK_OK(plim_sample_epsilon(tau, 4.0, 16, 8, &out));
  CHECK_NEAR(0.25, out, 1e-15);
  CHECK_OK(plim_sample_epsilon(tau, 4.0, 16, 30, &out));
  CHECK_NEAR(1.0 / 16777216.0, out, 1e-21);
  CHECK_OK(plim_sample_epsilon(tau, 4.0, 16, 5, &out)); /* 2, limited to 1 */
  CHECK(out == 1.0);
  CHECK_OK(plim_sample_epsilon(tau, 1e308, SIZE_MAX, 1, &out));
  CHECK(out == 1.0);
  CHECK_OK(plim_sample_epsilon(1e308, 1e308, SIZE_MAX, SIZE_MAX, &out));
  CHECK(out == 0.0);
}

static void a_sample_size_undoes_a_chance(void) {
  for (size_t n = 1; n <= 300; n++) {
    double epsilon = NAN;
    CHECK_OK(plim_sample_epsilon(0.1, 1.0, 1, n, &epsilon));
    CHECK(size_of(0.1, 1.0, 1, epsilon) == n);
  }
}

/* τ = δ and C = 1: at T = 1 and ε = exp(-12), N draws suffice from δ = 12/N on. */
static void errors_that_a_sample_keeps_to(void) {
  static const double deltas[] = {0.25, 0.5, 1.0}, cs[] = {1.0, 1.0, 1.0};
  static const size_t sizes[] = {12, 16, 24, 32, 48, 49, SIZE_MAX};
  const double epsilon = exp(-12.0);
  for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
    double out = NAN;
    CHECK_OK(plim_sample_delta(deltas, cs, deltas, 3, 1, epsilon, sizes[i], &out));
    CHECK_NEAR(fmax(12.0 / (double)sizes[i], 0.25), out, 1e-15);
    CHECK_OK(plim_sample_delta(deltas + 2, cs + 2, deltas + 2, 1, 1, epsilon, sizes[i], &out)); /* one fit */
    CHECK(out == 1.0);
  }
}

int main(void) {
  RUN(an_iterate_of_a_strongly_convex_objective);
  RUN(an_average_of_a_strongly_convex_objective);
  RUN(a_value_of_a_strongly_convex_objective);
  RUN(a_constant_step);
  RUN(an_average_of_a_convex_objective);
  RUN(a_gradient_of_any_objective);
  RUN(a_value_under_absolute_errors);
  RUN(sample_sizes);
  RUN(chances);
  RUN(a_sample_size_undoes_a_chance);
  RUN(errors_that_a_sample_keeps_to);
  return check_close();
}
