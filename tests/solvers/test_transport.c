/* SPDX-License-Identifier: BSD-3-Clause */
/* The semi-Lagrangian transport against a flow whose solution is known: orders of convergence in time and space. */
#include "tests/ok.h"

#include "kernels/transport/transport.h"
#include "kernels/registry/registry.h"

#include <math.h>
#include <stdlib.h>

/* v = (a sin x1, 0, 0): tan(x0 / 2) = tan(x / 2) exp(-a). */
static double foot(double x, double a) { return 2 * atan2(sin(x / 2) * exp(-a), cos(x / 2)); }

static void known_flow(int steps, int64_t n1, const char *basis, double *state_error, double *det_error) {
  enum { N2 = 8 };
  const double a = 0.6;
  rb_grid g = rb_grid_make(n1, N2, N2);
  int64_t n = rb_grid_points(g);
  const rb_variant *v;
  rb_transport_plan *t;
  rb_transport_desc d = {.grid = g, .dtype = RB_F64, .steps = steps, .scheme = RB_SPECTRAL};
  double *m = malloc((size_t)n * sizeof *m), *u = calloc(3 * (size_t)n, sizeof *u),
         *div = malloc((size_t)n * sizeof *div), *det = malloc((size_t)n * sizeof *det);
  ok(rb_variant_find(&rb_interp_family, "cpu/omp", &d.interp));
  ok(rb_variant_find(&rb_derivative_family, "cpu/fftw", &d.derivative));
  ok(rb_variant_find(&rb_field_family, "cpu/omp", &d.field));
  ok(rb_interp_basis_parse(basis, &d.basis, &d.prefilter));
  ok(rb_variant_find(&rb_transport_family, "cpu/composed", &v));
  ok(rb_transport_create(v, &d, &t));
  for (int64_t i = 0; i < n; i++) {
    double x = (double)(i / N2 / N2) * rb_grid_spacing(g, 0);
    m[i] = sin(x) + 0.3 * cos(2 * x), u[i] = a * sin(x), div[i] = a * cos(x);
  }
  ok(rb_transport_velocity(t, rb_array_host(RB_F64, 3 * n, u)));
  ok(rb_transport_state(t, rb_array_host(RB_F64, n, m)));
  ok(rb_transport_jacobian(t, rb_array_host(RB_F64, n, div), rb_array_host(RB_F64, n, det)));
  const rb_array history = rb_transport_history(t, steps);
  const double *final = history.data;
  assert_int_equal(history.dtype, RB_F64);
  *state_error = *det_error = 0;
  for (int64_t i = 0; i < n; i++) {
    double x = (double)(i / N2 / N2) * rb_grid_spacing(g, 0), x0 = foot(x, a), e = 1e-4;
    double exact = 1 / ((foot(x + e, a) - foot(x - e, a)) / (2 * e));
    if (fabs(x - RB_TWO_PI / 2) < 0.1) exact = exp(-a), x0 = foot(x, a); /* the branch of atan2 lies here */
    *state_error = fmax(*state_error, fabs(final[i] - sin(x0) - 0.3 * cos(2 * x0)));
    if (fabs(x - RB_TWO_PI / 2) >= 0.1) *det_error = fmax(*det_error, fabs(det[i] - exact));
  }
  rb_transport_destroy(t);
  free(det), free(div), free(u), free(m);
}

static void transport_converges(void **state) {
  (void)state;
  double coarse[2], fine[2];
  known_flow(2, 512, "bspline", &coarse[0], &coarse[1]);
  known_flow(8, 512, "bspline", &fine[0], &fine[1]);
  for (int k = 0; k < 2; k++) { /* second order in time: a quarter of the step, a sixteenth of the error */
    double order = log2(coarse[k] / fine[k]) / 2;
    assert_true(order > 1.7 && order < 2.4);
  }
  known_flow(16, 16, "bspline", &coarse[0], &coarse[1]);
  known_flow(16, 32, "bspline", &fine[0], &fine[1]);
  assert_true(coarse[0] > 5 * fine[0]); /* a cubic basis; the time error is the floor */
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(transport_converges)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
