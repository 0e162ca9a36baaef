/* The CLAIRE solver: derivatives, transport against known flows, recovery of a known deformation, agreement of its forms. */
#include "tests/cmocka_all.h"

#include "datasets/phantom.h"
#include "experiments/runner/pairs.h"
#include "experiments/runner/registration.h"
#include "solvers/claire/claire_impl.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void ok(rb_status st) {
  if (st != RB_OK) fail_msg("%s", rb_message_where());
}

/* ---- smooth images: where discretisation errors are small, derivatives can be judged --------------------- */

static double wave(int which, const double x[3]) {
  return which == 0 ? 0.5 + 0.2 * sin(x[0]) * cos(x[1]) + 0.2 * cos(x[2] + 0.3 * sin(x[0])) : 0.5 + 0.2 * sin(x[0] + 0.4) * cos(x[1] - 0.2) + 0.2 * cos(x[2] + 0.5);
}
static void node(rb_grid g, int64_t i, double x[3]) {
  x[0] = (double)(i / g.n[2] / g.n[1]) * rb_grid_spacing(g, 0), x[1] = (double)(i / g.n[2] % g.n[1]) * rb_grid_spacing(g, 1), x[2] = (double)(i % g.n[2]) * rb_grid_spacing(g, 2);
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
    for (int a = 0; a < 3; a++) v[a * n + i] = size * (sin(x[a] + which) * cos(x[(a + 1) % 3]) + 0.5 * cos(x[(a + 2) % 3] - 2 * which));
  }
  return v;
}
static double inner(const double *a, const double *b, int64_t n) {
  double s = 0;
  for (int64_t i = 0; i < n; i++) s += a[i] * b[i];
  return s;
}

/* K = 1 (no divergence penalty), where g.w is the derivative. The remainder |J(v + e w) - J(v) - e g.w| falls with e^2 over
 * e = 0.4 .. 0.05; below, the difference between optimise-then-discretise and the derivative of the discrete J takes over. */
static void taylor_with(rb_regularisation regularisation, double beta) {
  rb_grid g = rb_grid_make(32, 32, 32);
  int64_t m = 3 * rb_grid_points(g);
  rb_claire_options o = rb_claire_defaults();
  o.regularisation = regularisation, o.beta = beta, o.sigma = 0;
  rb_claire *c = smooth_problem("cpu-fft-cubic-f64", o, g);
  double *v = direction(g, 1, 0.15), *w = direction(g, 2, 0.3), *gradient = malloc((size_t)m * sizeof *gradient), *moved = malloc((size_t)m * sizeof *moved);
  double here, there, first = 0, last = 0;
  ok(rb_claire_objective(c, v, &here, gradient));
  double slope = inner(gradient, w, m);
  for (int k = 0; k <= 3; k++) {
    double e = 0.4 / (1 << k);
    for (int64_t i = 0; i < m; i++) moved[i] = v[i] + e * w[i];
    ok(rb_claire_objective(c, moved, &there, NULL));
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

/* Waves whose norms are known: with R0 = beta/2 |v|^2 and R1 = beta/2 |grad v|^2, H1 adds R0 to its seminorm and H2 adds 2 R1 + R0. */
static void regularisations_add_up(void **state) {
  (void)state;
  rb_grid g = rb_grid_make(16, 16, 16);
  const double beta = 1e-2, size = 0.15, volume = pow(2 * 3.14159265358979323846, 3);
  const double r0 = beta / 2 * volume * 3 * size * size * (1.0 / 4 + 1.0 / 8), r1 = beta / 2 * volume * 3 * size * size * (2.0 / 4 + 1.0 / 8);
  double value[RB_REG_H2 + 1], *v = direction(g, 1, size);
  for (int r = RB_REG_H1_SEMI; r <= RB_REG_H2; r++) {
    rb_claire_options o = rb_claire_defaults();
    o.regularisation = (rb_regularisation)r, o.beta = beta, o.sigma = 0;
    rb_claire *c = smooth_problem("cpu-fft-cubic-f64", o, g);
    ok(rb_claire_objective(c, v, &value[r], NULL));
    rb_claire_destroy(c);
  }
  assert_true(fabs((value[RB_REG_H1] - value[RB_REG_H1_SEMI]) / r0 - 1) < 1e-9);
  assert_true(fabs((value[RB_REG_H2] - value[RB_REG_H2_SEMI]) / (2 * r1 + r0) - 1) < 1e-9);
  free(v);
}

/* The Gauss-Newton Hessian is symmetric and <w, (H - hd A) w> = hd |mt(1)|^2, to what optimise-then-discretise allows: here
 * 1e-2 of the larger side (its error falls with the grid spacing and the time step). */
static void hessian_is_symmetric(void **state) {
  (void)state;
  rb_grid g = rb_grid_make(32, 32, 32);
  int64_t n = rb_grid_points(g), m = 3 * n;
  rb_claire_options o = rb_claire_defaults();
  o.regularisation = RB_REG_H1_SEMI, o.beta = 1e-3, o.sigma = 0;
  rb_claire *c = smooth_problem("cpu-fft-cubic-f64", o, g);
  double *v = direction(g, 1, 0.15), *x = direction(g, 2, 0.3), *y = direction(g, 5, 0.3), *hx = malloc((size_t)m * sizeof *hx), *hy = malloc((size_t)m * sizeof *hy), J;
  ok(rb_claire_objective(c, v, &J, hx));
  ok(rb_claire_hessian(c, x, hx));
  ok(rb_claire_hessian(c, y, hy));
  double a = inner(hx, y, m), b = inner(x, hy, m);
  assert_true(fabs(a - b) < 1e-2 * sqrt(inner(x, hx, m) * inner(y, hy, m)));
  double whole = inner(x, hx, m), regular;
  ok(rb_spectral_apply(c->spectral, &c->level.a, x, c->work));
  regular = inner(x, c->work, m);
  ok(rb_transport_incremental(c->transport, x, c->lambda));
  double data = c->hd * inner(c->lambda, c->lambda, n);
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
  float *v = malloc(3 * (size_t)n * sizeof *v), *u = malloc(3 * (size_t)n * sizeof *u), *det = malloc((size_t)n * sizeof *det), *grad = malloc(9 * (size_t)n * sizeof *grad);
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
    ok(rb_gradient(plan, u + a * n, grad + 3 * a * n));
  }
  double worst = 0;
  for (int64_t i = 0; i < n; i++) {
    double f[3][3];
    for (int a = 0; a < 3; a++)
      for (int b = 0; b < 3; b++) f[a][b] = (a == b) + (double)grad[(3 * a + b) * n + i];
    double back = f[0][0] * (f[1][1] * f[2][2] - f[1][2] * f[2][1]) - f[0][1] * (f[1][0] * f[2][2] - f[1][2] * f[2][0]) + f[0][2] * (f[1][0] * f[2][1] - f[1][1] * f[2][0]);
    worst = fmax(worst, fabs(back * (double)det[i] - 1));
  }
  assert_true(worst < 2e-2);
  assert_true(d.least > 0 && d.least < 0.9 && d.greatest > 1.1);
  rb_derivative_destroy(plan);
  free(grad), free(det), free(u), free(v), free(v64);
  rb_claire_destroy(c);
}

/* ---- whole registrations --------------------------------------------------------------------------------- */

static rb_claire *phantom_problem(const char *variant, rb_claire_options o, int size, rb_pair *pair) {
  const rb_variant *v;
  rb_claire *c;
  ok(rb_pair_load("phantom", RB_ANTIALIAS, rb_grid_make(size, size, size), pair));
  ok(rb_variant_find(&rb_claire_family, variant, &v));
  ok(rb_claire_create(v, &o, pair->grid, pair->image[0], pair->image[1], &c));
  return c;
}

static void recovers_a_known_deformation(void **state) {
  (void)state;
  static rb_claire_result r;
  rb_pair pair;
  rb_overlaps overlaps;
  rb_claire_options o = rb_claire_defaults();
  rb_claire *c = phantom_problem("cpu-fd8-linear", o, 40, &pair);
  rb_claire_determinant det;
  ok(rb_claire_solve(c, NULL, NULL, &r));
  ok(rb_claire_jacobian(c, NULL, &det));
  ok(rb_claire_overlaps(c, &pair, NULL, &overlaps));
  assert_int_equal(r.end, RB_CLAIRE_CONVERGED);
  assert_int_equal(r.levels, 5);
  assert_true(r.mismatch < 0.02 && r.gradient < 0.05);
  assert_true(det.least > 0.5 && det.greatest < 6);
  assert_true(overlaps.has_labels && overlaps.after.mean > overlaps.before.mean + 0.15 && overlaps.after.all > 0.98);
  /* the found map is the flow's own where the image has something to follow: inside the head, on average */
  int64_t n = rb_grid_points(pair.grid);
  float *u = malloc(3 * (size_t)n * sizeof *u), *flow = malloc(3 * (size_t)n * sizeof *flow), *known = malloc(3 * (size_t)n * sizeof *known);
  double error = 0, size = 0;
  ok(rb_claire_displacement(c, u));
  rb_pair_flow(pair.grid, flow);
  ok(rb_claire_set_velocity(c, flow));
  ok(rb_claire_displacement(c, known));
  for (int64_t i = 0; i < n; i++)
    for (int a = 0; a < 3 && pair.labels[1][i] >= 3; a++) error += pow((double)(u[a * n + i] - known[a * n + i]), 2), size += pow((double)known[a * n + i], 2);
  assert_true(sqrt(error / size) < 0.45); /* along iso-surfaces an image says nothing of the motion */
  free(known), free(flow), free(u);
  rb_claire_destroy(c);
  rb_pair_free(&pair);
}

static void incompressible_keeps_volume(void **state) {
  (void)state;
  static rb_claire_result r;
  rb_pair pair;
  rb_claire_options o = rb_claire_defaults();
  rb_claire_determinant det;
  o.regularisation = RB_REG_H2_SEMI, o.incompressible = 1, o.beta = 1e-3, o.tolerance = 0.2;
  rb_claire *c = phantom_problem("cpu-fft-cubic", o, 32, &pair);
  ok(rb_claire_solve(c, NULL, NULL, &r));
  ok(rb_claire_jacobian(c, NULL, &det));
  assert_true(r.mismatch < 0.9);
  assert_true(fabs(det.least - 1) < 1e-3 && fabs(det.greatest - 1) < 1e-3);
  rb_claire_destroy(c);
  rb_pair_free(&pair);
}

/* Two forms of one solver: the same table of iterations, to `tolerance` relative. */
static void same_history(const char *one, const char *other, int size, double tolerance) {
  static rb_claire_result a, b;
  rb_pair pair;
  rb_claire_options o = rb_claire_defaults();
  rb_claire *c = phantom_problem(one, o, size, &pair);
  ok(rb_claire_solve(c, NULL, NULL, &a));
  rb_claire_destroy(c);
  rb_pair_free(&pair);
  c = phantom_problem(other, o, size, &pair);
  ok(rb_claire_solve(c, NULL, NULL, &b));
  rb_claire_destroy(c);
  rb_pair_free(&pair);
  assert_int_equal(a.rows, b.rows);
  assert_int_equal(a.newton, b.newton);
  for (int i = 0; i < a.rows; i++) {
    assert_true(abs(a.table[i].matvecs - b.table[i].matvecs) <= 1);
    assert_true(fabs(a.table[i].mismatch / b.table[i].mismatch - 1) < tolerance);
    assert_true(fabs(a.table[i].objective / b.table[i].objective - 1) < tolerance);
    assert_true(fabs(a.table[i].gradient / b.table[i].gradient - 1) < 10 * tolerance);
  }
}
static void float32_follows_float64(void **state) {
  (void)state;
  same_history("cpu-fft-cubic", "cpu-fft-cubic-f64", 24, 2e-3);
}
static void coefficients_follow_velocities(void **state) {
  (void)state;
  same_history("cpu-fd8-linear", "cpu-fd8-linear-coefficients", 24, 2e-3);
}
static void gpu_follows_cpu(void **state) {
  (void)state;
  const rb_variant *v;
  ok(rb_variant_find(&rb_claire_family, "fused-fd8-linear", &v));
  if (rb_variant_available(v) != RB_OK) {
    rb_clear();
    skip();
  }
  same_history("fused-fd8-linear", "cpu-fd8-linear", 40, 5e-3);
  same_history("fused-fd8-cubic", "cpu-fd8-cubic", 40, 5e-3);
  same_history("gpu-fd8-linear", "cpu-fd8-linear", 40, 3e-2); /* 8-bit weights */
}

/* brunn2020 Table 1, counted. The first incremental step interpolates mt = 0 in the paper and nothing here. */
static void counts_are_table_1(void **state) {
  (void)state;
  static rb_claire_result r;
  rb_pair pair;
  rb_claire_options o = rb_claire_defaults();
  rb_claire *c = phantom_problem("cpu-fd8-linear", o, 16, &pair);
  ok(rb_claire_solve(c, NULL, NULL, &r));
  assert_int_equal((int)r.profile_objective.units[RB_CLASS_INTERP], rb_transport_paper_interpolations('J', o.steps));
  assert_int_equal((int)r.profile_gradient.units[RB_CLASS_INTERP], rb_transport_paper_interpolations('g', o.steps));
  assert_int_equal((int)r.profile_matvec.units[RB_CLASS_INTERP], rb_transport_paper_interpolations('H', o.steps) - 1);
  assert_int_equal((int)r.profile_objective.units[RB_CLASS_GRADIENT] + (int)r.profile_objective.units[RB_CLASS_DIVERGENCE], rb_transport_paper_derivatives('J', o.steps));
  assert_int_equal((int)r.profile_gradient.units[RB_CLASS_GRADIENT] + (int)r.profile_gradient.units[RB_CLASS_DIVERGENCE], rb_transport_paper_derivatives('g', o.steps));
  assert_int_equal((int)r.profile_matvec.units[RB_CLASS_GRADIENT] + (int)r.profile_matvec.units[RB_CLASS_DIVERGENCE], rb_transport_paper_derivatives('H', o.steps));
  rb_claire_destroy(c);
  rb_pair_free(&pair);
}

static void bad_images_are_refused(void **state) {
  (void)state;
  enum { N = 512 };
  rb_grid g = rb_grid_make(8, 8, 8);
  rb_claire_options o = rb_claire_defaults();
  const rb_variant *v;
  rb_claire *c;
  float a[N], b[N];
  ok(rb_variant_find(&rb_claire_family, "cpu-fd8-linear", &v));
  for (int i = 0; i < N; i++) a[i] = 3, b[i] = (float)(i % 7);
  assert_int_equal(rb_claire_create(v, &o, g, a, b, &c), RB_EINVAL);
  assert_non_null(strstr(rb_message(), "constant"));
  rb_clear();
  b[5] = NAN;
  assert_int_equal(rb_claire_create(v, &o, g, b, a, &c), RB_EINVAL);
  assert_non_null(strstr(rb_message(), "NaN"));
  rb_clear();
  o.beta = -1;
  assert_int_equal(rb_claire_create(v, &o, g, a, b, &c), RB_EINVAL);
  rb_clear();
  o = rb_claire_defaults();
  for (int i = 0; i < N; i++) a[i] = (float)(i % 5), b[i] = (float)(i % 7);
  rb_memory_limit(RB_CPU, 10000);
  assert_int_equal(rb_claire_create(v, &o, g, a, b, &c), RB_ENOMEM);
  rb_clear();
  rb_memory_limit(RB_CPU, 0);
  assert_int_equal(rb_memory_live(RB_CPU), 0);
}

/* Memory that ends while PETSc makes its work vectors: an error and no crash. What a set-up of PETSc's had allocated when it
 * failed PETSc keeps (it calls itself undefined after an error): at most NLS's six vectors. */
static void memory_ends_inside_petsc(void **state) {
  (void)state;
  static rb_claire_result r;
  rb_pair pair;
  rb_claire_options o = rb_claire_defaults();
  size_t before = rb_memory_live(RB_CPU);
  for (int vectors = 0; vectors < 10; vectors++) { /* the eleventh is the last */
    rb_claire *c = phantom_problem("cpu-fd8-linear", o, 12, &pair);
    rb_memory_limit(RB_CPU, rb_memory_live(RB_CPU) + (size_t)(vectors * 3 + 1) * 12 * 12 * 12 * sizeof(float));
    rb_status st = rb_claire_solve(c, NULL, NULL, &r);
    rb_memory_limit(RB_CPU, 0);
    assert_int_equal(st, RB_ENOMEM);
    rb_clear();
    rb_claire_destroy(c);
    rb_pair_free(&pair);
    assert_true(rb_memory_live(RB_CPU) - before <= 6 * 3 * 12 * 12 * 12 * sizeof(float));
    before = rb_memory_live(RB_CPU);
  }
}

/* Equal images: nothing to do, and no division by the zero gradient. */
static void equal_images_end_at_once(void **state) {
  (void)state;
  static rb_claire_result r;
  rb_grid g = rb_grid_make(16, 16, 16);
  rb_claire_options o = rb_claire_defaults();
  const rb_variant *v;
  rb_claire *c;
  float *f = malloc(4096 * sizeof *f);
  rb_phantom_head(g, f, NULL);
  ok(rb_variant_find(&rb_claire_family, "cpu-fd8-linear", &v));
  ok(rb_claire_create(v, &o, g, f, f, &c));
  ok(rb_claire_solve(c, NULL, NULL, &r));
  assert_int_equal(r.newton, 0);
  assert_int_equal(r.end, RB_CLAIRE_CONVERGED);
  rb_claire_destroy(c);
  free(f);
}

/* What was predicted holds what was taken, and not much more. */
static void memory_is_predicted(void **state) {
  (void)state;
  static const char *const names[] = {"cpu-fd8-linear", "cpu-fft-cubic", "cpu-fd8-cubic-f64", "cpu-fd8-linear-coefficients"};
  for (int k = 0; k < 4; k++) {
    static rb_claire_result r;
    rb_pair pair;
    rb_claire_options o = rb_claire_defaults();
    const rb_variant *v;
    size_t predicted, host;
    o.continuation = 0, o.most_newton = 1;
    rb_memory_reset_peak(RB_CPU);
    rb_claire *c = phantom_problem(names[k], o, 32, &pair);
    rb_memory_reset_peak(RB_CPU); /* the phantom's own transport is gone */
    ok(rb_claire_solve(c, NULL, NULL, &r));
    size_t taken = rb_memory_peak(RB_CPU);
    ok(rb_variant_find(&rb_claire_family, names[k], &v));
    ok(rb_claire_predict(v, &o, pair.grid, &predicted, &host));
    assert_true(taken <= predicted);
    assert_true(predicted < 1.35 * (double)taken);
    rb_claire_destroy(c);
    rb_pair_free(&pair);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(gradient_by_taylor),        cmocka_unit_test(regularisations_add_up),
      cmocka_unit_test(hessian_is_symmetric),       
      cmocka_unit_test(determinant_agrees_with_the_map), cmocka_unit_test(recovers_a_known_deformation), cmocka_unit_test(incompressible_keeps_volume),
      cmocka_unit_test(float32_follows_float64),   cmocka_unit_test(coefficients_follow_velocities), cmocka_unit_test(gpu_follows_cpu),
      cmocka_unit_test(counts_are_table_1),        cmocka_unit_test(bad_images_are_refused),     cmocka_unit_test(equal_images_end_at_once),
      cmocka_unit_test(memory_is_predicted), cmocka_unit_test(memory_ends_inside_petsc),
  };
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  rb_krylov_close();
  return failed;
}
