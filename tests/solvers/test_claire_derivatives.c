/* SPDX-License-Identifier: BSD-3-Clause */
/* The CLAIRE solver at one velocity: gradient and Hessian as derivatives, regularisations, det F, on images so smooth
 * that discretisation errors are small. */
#include "tests/ok.h"

#include "datasets/phantom.h"
#include "experiments/runner/inputs/pairs.h"
#include "experiments/runner/workloads/registration.h"
#include "solvers/claire/claire_impl.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static double wave(int which, const double x[3]) {
  return which == 0 ? 0.5 + 0.2 * sin(x[0]) * cos(x[1]) + 0.2 * cos(x[2] + 0.3 * sin(x[0]))
                    : 0.5 + 0.2 * sin(x[0] + 0.4) * cos(x[1] - 0.2) + 0.2 * cos(x[2] + 0.5);
}
static void node(rb_grid g, int64_t i, double x[3]) {
  x[0] = (double)(i / g.n[2] / g.n[1]) * rb_grid_spacing(g, 0),
  x[1] = (double)(i / g.n[2] % g.n[1]) * rb_grid_spacing(g, 1), x[2] = (double)(i % g.n[2]) * rb_grid_spacing(g, 2);
}
static rb_claire *smooth_problem(const char *variant, rb_claire_options o, rb_grid g) {
  const rb_variant *v;
  rb_claire *c;
  int64_t n = rb_grid_points(g);
  float *image[2] = {malloc((size_t)n * sizeof(float)), malloc((size_t)n * sizeof(float))};
  for (int k = 0; k < 2; k++)
    for (int64_t i = 0; i < n; i++) {
      double x[3];
      node(g, i, x);
      image[k][i] = (float)wave(k, x);
    }
  ok(rb_variant_find(&rb_claire_family, variant, &v));
  ok(rb_claire_create(v, &o, g, image[0], image[1], &c));
  free(image[1]), free(image[0]);
  c->level = rb_claire_operators_at(&o, o.beta, c->hd);
  return c;
}
/* [3][N] float64: low waves of the given size; `which` makes them differ. */
static double *direction(rb_grid g, int which, double size) {
  int64_t n = rb_grid_points(g);
  double *v = malloc(3 * (size_t)n * sizeof *v);
  for (int64_t i = 0; i < n; i++) {
    double x[3];
    node(g, i, x);
    for (int a = 0; a < 3; a++)
      v[a * n + i] = size * (sin(x[a] + which) * cos(x[(a + 1) % 3]) + 0.5 * cos(x[(a + 2) % 3] - 2 * which));
  }
  return v;
}
static double inner(const double *a, const double *b, int64_t n) {
  double s = 0;
  for (int64_t i = 0; i < n; i++) s += a[i] * b[i];
  return s;
}

static rb_array host(const double *data, int64_t count) { return rb_array_host(RB_F64, count, data); }

/* K = 1 (no divergence penalty), where g.w is the derivative. The remainder |J(v + e w) - J(v) - e g.w| falls with
 * e^2 over e = 0.4 .. 0.05; below, the difference between optimise-then-discretise and the derivative of the discrete
 * J takes over. */
static void taylor_with(rb_regularisation regularisation, double beta) {
  rb_grid g = rb_grid_make(32, 32, 32);
  int64_t m = 3 * rb_grid_points(g);
  rb_claire_options o = rb_claire_defaults();
  o.regularisation = regularisation, o.beta = beta, o.sigma = 0;
  rb_claire *c = smooth_problem("cpu-fft-cubic-f64", o, g);
  double *v = direction(g, 1, 0.15), *w = direction(g, 2, 0.3), *gradient = malloc((size_t)m * sizeof *gradient),
         *moved = malloc((size_t)m * sizeof *moved);
  double here, there, first = 0, last = 0;
  ok(rb_claire_objective(c, host(v, m), &here, host(gradient, m)));
  double slope = inner(gradient, w, m);
  for (int k = 0; k <= 3; k++) {
    double e = 0.4 / (1 << k);
    for (int64_t i = 0; i < m; i++) moved[i] = v[i] + e * w[i];
    ok(rb_claire_objective(c, host(moved, m), &there, rb_array_none()));
    double remainder = fabs(there - here - e * slope);
    assert_true(k < 3 || remainder < 0.5 * fabs(e * slope)); /* and what it is the remainder of is right */
    if (k == 0) first = remainder;
    last = remainder;
  }
  double order = log2(first / last) / 3;
  assert_true(order > 1.85 && order < 2.2);
  free(moved), free(gradient), free(w), free(v);
  rb_claire_destroy(c);
}

static void gradient_by_taylor(void **state) {
  (void)state;
  taylor_with(RB_REG_H1_SEMI, 1e-2);
  taylor_with(RB_REG_H2_SEMI, 1e-3);
  taylor_with(RB_REG_H1, 1e-2);
  taylor_with(RB_REG_H2, 1e-3);
}

/* Waves whose norms are known: with R0 = beta/2 |v|^2 and R1 = beta/2 |grad v|^2, H1 adds R0 to its seminorm and H2
 * adds 2 R1 + R0. */
static void regularisations_add_up(void **state) {
  (void)state;
  rb_grid g = rb_grid_make(16, 16, 16);
  const double beta = 1e-2, size = 0.15, volume = pow(2 * 3.14159265358979323846, 3);
  const double r0 = beta / 2 * volume * 3 * size * size * (1.0 / 4 + 1.0 / 8),
               r1 = beta / 2 * volume * 3 * size * size * (2.0 / 4 + 1.0 / 8);
  double value[RB_REG_H2 + 1], *v = direction(g, 1, size);
  for (int r = RB_REG_H1_SEMI; r <= RB_REG_H2; r++) {
    rb_claire_options o = rb_claire_defaults();
    o.regularisation = (rb_regularisation)r, o.beta = beta, o.sigma = 0;
    rb_claire *c = smooth_problem("cpu-fft-cubic-f64", o, g);
    ok(rb_claire_objective(c, host(v, 3 * rb_grid_points(g)), &value[r], rb_array_none()));
    rb_claire_destroy(c);
  }
  assert_true(fabs((value[RB_REG_H1] - value[RB_REG_H1_SEMI]) / r0 - 1) < 1e-9);
  assert_true(fabs((value[RB_REG_H2] - value[RB_REG_H2_SEMI]) / (2 * r1 + r0) - 1) < 1e-9);
  free(v);
}

/* The Gauss-Newton Hessian is symmetric and <w, (H - hd A) w> = hd |mt(1)|^2, to what optimise-then-discretise
 * allows: here 1e-2 of the larger side (its error falls with the grid spacing and the time step). */
static void hessian_is_symmetric(void **state) {
  (void)state;
  rb_grid g = rb_grid_make(32, 32, 32);
  int64_t n = rb_grid_points(g), m = 3 * n;
  rb_claire_options o = rb_claire_defaults();
  o.regularisation = RB_REG_H1_SEMI, o.beta = 1e-3, o.sigma = 0;
  rb_claire *c = smooth_problem("cpu-fft-cubic-f64", o, g);
  double *v = direction(g, 1, 0.15), *x = direction(g, 2, 0.3), *y = direction(g, 5, 0.3),
         *hx = malloc((size_t)m * sizeof *hx), *hy = malloc((size_t)m * sizeof *hy), J;
  ok(rb_claire_objective(c, host(v, m), &J, host(hx, m)));
  ok(rb_claire_hessian(c, host(x, m), host(hx, m)));
  ok(rb_claire_hessian(c, host(y, m), host(hy, m)));
  double a = inner(hx, y, m), b = inner(x, hy, m);
  assert_true(fabs(a - b) < 1e-2 * sqrt(inner(x, hx, m) * inner(y, hy, m)));
  double whole = inner(x, hx, m), regular;
  ok(rb_spectral_apply(c->spectral, &c->level.a, host(x, m), c->work));
  regular = inner(x, c->work.data, m);
  ok(rb_transport_incremental(c->transport, host(x, m), c->lambda));
  double data = c->hd * inner(c->lambda.data, c->lambda.data, n);
  assert_true(whole > 0 && fabs(whole - regular - data) < 1e-2 * data);
  free(hy), free(hx), free(y), free(x), free(v);
  rb_claire_destroy(c);
}

/* det F times the determinant of the backward map's own gradient is 1. */
static void determinant_agrees_with_the_map(void **state) {
  (void)state;
  rb_grid g = rb_grid_make(32, 32, 32);
  int64_t n = rb_grid_points(g);
  rb_claire_options o = rb_claire_defaults();
  rb_claire *c = smooth_problem("cpu-fft-cubic", o, g);
  double *v64 = direction(g, 1, 0.25);
  float *v = malloc(3 * (size_t)n * sizeof *v), *u = malloc(3 * (size_t)n * sizeof *u),
        *det = malloc((size_t)n * sizeof *det), *grad = malloc(9 * (size_t)n * sizeof *grad);
  rb_claire_determinant d;
  const rb_variant *spectral;
  rb_derivative_plan *plan;
  rb_derivative_desc desc = {.grid = g, .scheme = RB_SPECTRAL, .dtype = RB_F32};
  for (int64_t i = 0; i < 3 * n; i++) v[i] = (float)v64[i];
  ok(rb_claire_set_velocity(c, v));
  ok(rb_claire_displacement(c, u));
  ok(rb_claire_jacobian(c, det, &d));
  ok(rb_variant_find(&rb_derivative_family, "cpu/fftw", &spectral));
  ok(rb_derivative_create(spectral, &desc, &plan));
  for (int a = 0; a < 3; a++) {
    for (int64_t i = 0; i < n; i++) u[a * n + i] *= (float)rb_grid_spacing(g, a);
    ok(rb_gradient(plan, rb_array_host(RB_F32, n, u + a * n), rb_array_host(RB_F32, 3 * n, grad + 3 * a * n)));
  }
  double worst = 0;
  for (int64_t i = 0; i < n; i++) {
    double f[3][3];
    for (int a = 0; a < 3; a++)
      for (int b = 0; b < 3; b++) f[a][b] = (a == b) + (double)grad[(3 * a + b) * n + i];
    double back = f[0][0] * (f[1][1] * f[2][2] - f[1][2] * f[2][1]) -
                  f[0][1] * (f[1][0] * f[2][2] - f[1][2] * f[2][0]) +
                  f[0][2] * (f[1][0] * f[2][1] - f[1][1] * f[2][0]);
    worst = fmax(worst, fabs(back * (double)det[i] - 1));
  }
  assert_true(worst < 2e-2);
  assert_true(d.least > 0 && d.least < 0.9 && d.greatest > 1.1);
  rb_derivative_destroy(plan);
  free(grad), free(det), free(u), free(v), free(v64);
  rb_claire_destroy(c);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(gradient_by_taylor),
      cmocka_unit_test(regularisations_add_up),
      cmocka_unit_test(hessian_is_symmetric),
      cmocka_unit_test(determinant_agrees_with_the_map),
  };
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  rb_krylov_close();
  return failed;
}
