// Bounds and sample sizes: each equals the result of C, and a condition that does not hold throws.
#include "check.hpp"

using namespace plimsoll;

namespace {

void bounds_are_those_of_c() {
  double out = NAN;
  CHECK_OK(plim_bound_strongly_convex_iterate(.7, 3, .1, 9, &out));
  CHECK(bound::strongly_convex_iterate(.7, 3, .1, 9) == out);
  CHECK_OK(plim_bound_strongly_convex_average(.7, 3, .1, 9, &out));
  CHECK(bound::strongly_convex_average(.7, 3, .1, 9) == out);
  CHECK_OK(plim_bound_strongly_convex_value(.7, 5, 3, .1, 9, &out));
  CHECK(bound::strongly_convex_value(.7, 5, 3, .1, 9) == out);
  CHECK_OK(plim_bound_constant_step(.7, 3, .1, .2, 9, 11, &out));
  CHECK(bound::constant_step(.7, 3, .1, .2, 9, 11) == out);
  CHECK_OK(plim_bound_convex_average(3, 2, .1, .2, 9, &out));
  CHECK(bound::convex_average(3, 2, .1, .2, 9) == out);
  CHECK_OK(plim_bound_nonconvex_gradient(5, 3, 2, .1, 9, &out));
  CHECK(bound::nonconvex_gradient(5, 3, 2, .1, 9) == out);
  const std::vector<double> deltas{.3, .2, .1};
  CHECK_OK(plim_bound_linear(.7, 5, deltas.data(), 4, 11, &out));
  CHECK(bound::linear(.7, 5, deltas, 11) == out);
}

void bounds_come_out_as_by_hand() {
  CHECK(bound::strongly_convex_iterate(2, 3, 1, 2) == 45);
  CHECK(bound::strongly_convex_average(2, 3, 1, 1) == 22.5);
  CHECK(bound::strongly_convex_value(2, 10, 3, 1, 4) == 90);
  CHECK_NEAR(10, bound::constant_step(2, 3, 1, .25, 2, 16), 1e-14);
  CHECK(bound::convex_average(2, 3, 0, .5, 4) == 5.5);
  CHECK(bound::nonconvex_gradient(2, 5, 7, 0, 1) == 70);
  CHECK(bound::linear(1, 2, {2, 4, 6}, 16) == 13.25);
  CHECK(bound::linear(1, 2, {}, 16) == 16); // one iterate, no error
}

void a_condition_that_does_not_hold_is_an_exception() {
  const plim_status invalid = PLIM_ERROR_INVALID_ARGUMENT;
  CHECK_ERROR(invalid, "0 <= delta < l = 0.5", bound::strongly_convex_iterate(.5, 1, .5, 9));
  CHECK_ERROR(invalid, "big_g", bound::strongly_convex_average(.5, 0, 0, 9));
  CHECK_ERROR(invalid, "l <= big_l", bound::strongly_convex_value(.5, .25, 1, 0, 9));
  CHECK_ERROR(invalid, "step < 1/(2 l - delta) = 1", bound::constant_step(.5, 1, 0, 1, 9, 1));
  CHECK_ERROR(invalid, "diameter", bound::convex_average(1, NAN, 0, 1, 9));
  CHECK_ERROR(invalid, "0 <= delta < 1", bound::nonconvex_gradient(1, 1, 1, 1, 9));
  CHECK_ERROR(invalid, "l < big_l", bound::linear(1, 1, {}, 1));
  CHECK_ERROR(invalid, "deltas[1]", bound::linear(1, 2, {1, -1}, 1));
  CHECK_ERROR(invalid, "t = 0", bound::strongly_convex_iterate(.5, 1, 0, 0));
}

void sample_sizes_are_those_of_c() {
  CHECK(sample_size(std::log(2.), 4, 16, .3) == 8);
  CHECK_NEAR(.25, sample_epsilon(std::log(2.), 4, 16, 8), 1e-15);
  CHECK(sample_epsilon(1, 4, 16, 1) == 1);
  CHECK_NEAR(.75, sample_delta({.25, .5, 1}, {1, 1, 1}, {.25, .5, 1}, 1, std::exp(-12.), 16), 1e-15);
  const std::vector<double> deltas{.25, .5, 1}, cs(3, 1.);
  CHECK_NEAR(.375, sample_delta(deltas, cs, deltas, 1, std::exp(-12.), 32), 1e-15);
}

void sample_sizes_outside_their_range_are_exceptions() {
  const plim_status invalid = PLIM_ERROR_INVALID_ARGUMENT;
  CHECK_ERROR(invalid, "epsilon", sample_size(1, 1, 1, 0));
  CHECK_ERROR(invalid, "too large", sample_size(1e-300, 2, 1, .5));
  CHECK_ERROR(invalid, "sample_size = 0", sample_epsilon(1, 1, 1, 0));
  CHECK_ERROR(invalid, "count = 0", sample_delta({}, {}, {}, 1, .5, 9));
  CHECK_ERROR(invalid, "too few draws", sample_delta({.5}, {1}, {.5}, 100, .5, 1));
  CHECK_ERROR(PLIM_ERROR_SHAPE_MISMATCH, "cs has 1 elements, deltas has 2",
              sample_delta({1, 2}, {1}, {1, 2}, 1, .5, 9));
  CHECK_ERROR(PLIM_ERROR_SHAPE_MISMATCH, "taus has 3 elements, deltas has 2",
              sample_delta({1, 2}, {1, 1}, {1, 2, 3}, 1, .5, 9));
}

} // namespace

int main() {
  RUN(bounds_are_those_of_c);
  RUN(bounds_come_out_as_by_hand);
  RUN(a_condition_that_does_not_hold_is_an_exception);
  RUN(sample_sizes_are_those_of_c);
  RUN(sample_sizes_outside_their_range_are_exceptions);
  return check_close();
}
