/* SPDX-License-Identifier: BSD-3-Clause */
/* Whole registrations by the CLAIRE solver: recovery of a known deformation, agreement of its forms, counts, bad
 * images, memory. */
#include "tests/ok.h"

#include "datasets/phantom.h"
#include "experiments/runner/inputs/pairs.h"
#include "experiments/runner/workloads/registration.h"
#include "solvers/claire/claire_impl.h"
#include "tests/solvers/fft_splines.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static rb_claire *phantom_problem(const char *variant, rb_claire_options o, int size, rb_pair *pair) {
  const rb_variant *v = &cpu_fft_splines;
  rb_claire *c;
  ok(rb_pair_load("phantom", RB_ANTIALIAS, rb_grid_make(size, size, size), pair));
  if (strcmp(variant, v->name) != 0) ok(rb_variant_find(&rb_claire_family, variant, &v));
  ok(rb_claire_create(v, &o, pair->grid, pair->image[0], pair->image[1], &c));
  return c;
}

/* Central difference of f along an axis at node i of the periodic grid, a cell as the unit: no code of the solver's.
 */
static double slope(rb_grid g, const float *f, int axis, int64_t i) {
  const int64_t stride = axis == 0   ? g.n[1] * g.n[2]
                         : axis == 1 ? g.n[2]
                                     : 1,
                at = i / stride % g.n[axis], line = i - at * stride;
  return 0.5 * ((double)f[line + rb_wrap(at + 1, g.n[axis]) * stride] -
                (double)f[line + rb_wrap(at - 1, g.n[axis]) * stride]);
}
/* What of a difference of maps an image sees: |(u - known).grad m| / |known.grad m|. */
static double across(rb_grid g, const float *m, const float *u, const float *known) {
  const int64_t n = rb_grid_points(g);
  double error = 0, size = 0;
  for (int64_t i = 0; i < n; i++) {
    double seen = 0, whole = 0;
    for (int a = 0; a < 3; a++) {
      const double along = slope(g, m, a, i);
      seen += along * ((double)u[a * n + i] - (double)known[a * n + i]), whole += along * (double)known[a * n + i];
    }
    error += seen * seen, size += whole * whole;
  }
  return sqrt(error / size);
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
  assert_int_equal(r.end, RB_END_CONVERGED);
  assert_int_equal(r.levels, 5);
  assert_true(r.mismatch < 0.02 && r.gradient < 0.05);
  assert_true(det.least > 0.5 && det.greatest < 6);
  assert_true(overlaps.has_labels && overlaps.after.mean > overlaps.before.mean + 0.15 && overlaps.after.all > 0.98);
  /* the found map is the flow's own where the image has something to follow: inside the head, on average */
  int64_t n = rb_grid_points(pair.grid);
  float *u = malloc(3 * (size_t)n * sizeof *u), *flow = malloc(3 * (size_t)n * sizeof *flow),
        *known = malloc(3 * (size_t)n * sizeof *known);
  double error = 0, size = 0;
  ok(rb_claire_displacement(c, u));
  rb_pair_flow(pair.grid, flow);
  ok(rb_claire_set_velocity(c, flow));
  ok(rb_claire_displacement(c, known));
  for (int64_t i = 0; i < n; i++)
    for (int a = 0; a < 3 && pair.labels[1][i] >= 3; a++)
      error += pow((double)(u[a * n + i] - known[a * n + i]), 2), size += pow((double)known[a * n + i], 2);
  assert_true(sqrt(error / size) < 0.4); /* along iso-surfaces an image says nothing of the motion */
  assert_true(across(pair.grid, pair.image[1], u, known) < 0.25); /* 0.22; the whole map 0.35 */
  free(known), free(flow), free(u);
  rb_claire_destroy(c);
  rb_pair_free(&pair);
}

/* Root mean square of det(I + du/dx) - 1 of the map. */
static double volume_change(rb_claire *c, rb_grid g) {
  const int64_t n = rb_grid_points(g);
  float *u = malloc(3 * (size_t)n * sizeof *u);
  double sum = 0;
  ok(rb_claire_displacement(c, u));
  for (int64_t i = 0; i < n; i++) {
    double d[3][3];
    for (int a = 0; a < 3; a++)
      for (int b = 0; b < 3; b++) d[a][b] = (a == b) + slope(g, u + a * n, b, i);
    sum += pow(d[0][0] * (d[1][1] * d[2][2] - d[1][2] * d[2][1]) - d[0][1] * (d[1][0] * d[2][2] - d[1][2] * d[2][0]) +
                   d[0][2] * (d[1][0] * d[2][1] - d[1][1] * d[2][0]) - 1,
               2);
  }
  free(u);
  return sqrt(sum / (double)n);
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
  /* det F is transported with div v = 0; the map itself must keep volume, too */
  const double off = volume_change(c, pair.grid);
  rb_claire_destroy(c);
  rb_pair_free(&pair);
  o.incompressible = 0;
  c = phantom_problem("cpu-fft-cubic", o, 32, &pair);
  ok(rb_claire_solve(c, NULL, NULL, &r));
  const double free_to_change = volume_change(c, pair.grid);
  assert_true(off < 2e-3 && free_to_change > 20 * off); /* 5e-4, the differences' own error, and 0.078 */
  rb_claire_destroy(c);
  rb_pair_free(&pair);
}

/* Two forms of one solver: the same table of iterations, to `tolerance` relative or `noise` of the first residual and
 * gradient. Tells the first row that departs. */
static int same_history(const char *one, const char *other, int size, double tolerance, double noise) {
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
  for (int i = 0; i < a.rows && i < b.rows; i++) {
    const rb_claire_iteration *p = &a.table[i], *q = &b.table[i];
    const double mismatch = fabs(p->mismatch / q->mismatch - 1), objective = fabs(p->objective / q->objective - 1),
                 gradient = fabs(p->gradient / q->gradient - 1);
    if (abs(p->matvecs - q->matvecs) > 1 ||
        !(mismatch < tolerance || fabs(sqrt(p->mismatch) - sqrt(q->mismatch)) < noise) || !(objective < tolerance) ||
        !(gradient < 10 * tolerance || fabs(p->gradient - q->gradient) < noise)) {
      print_error(
          "%s, %s, row %d: products %d and %d; off by %.2g in mismatch, %.2g in the objective, %.2g in the "
          "gradient\n",
          one, other, i, p->matvecs, q->matvecs, mismatch, objective, gradient);
      return 0;
    }
  }
  if (a.rows != b.rows || a.newton != b.newton)
    print_error("%s, %s: %d and %d rows, %d and %d steps\n", one, other, a.rows, b.rows, a.newton, b.newton);
  return a.rows == b.rows && a.newton == b.newton;
}
static void float32_follows_float64(void **state) {
  (void)state;
  assert_true(same_history("cpu-fft-cubic", "cpu-fft-cubic-f64", 24, 2e-3, 0));
}
static void coefficients_follow_velocities(void **state) {
  (void)state;
  assert_true(same_history("cpu-fd8-linear", "cpu-fd8-linear-coefficients", 24, 2e-3, 0));
}
static void gpu_follows_cpu(void **state) {
  (void)state;
  const double bits = 1 / 256.; /* steps of the texture unit's weights; the cubic rows' last gradients, 0.004 of the
                                   first, are of their size */
  const struct {
    const char *gpu, *cpu;
    double tolerance, noise;
  } pairs[] = {{"fused-fd8-linear", "cpu-fd8-linear", 5e-3, 0}, {"fused-fd8-cubic", "cpu-fd8-cubic", 5e-3, 0},
               {"fused-fft-cubic", "cpu-fft-splines", 5e-3, 0}, {"gpu-fd8-linear", "cpu-fd8-linear", 3e-2, 0},
               {"gpu-fd8-cubic", "cpu-fd8-cubic", 3e-2, bits},  {"gpu-fft-cubic", "cpu-fft-splines", 3e-2, bits}};
  const rb_variant *v;
  int same = 1;
  ok(rb_variant_find(&rb_claire_family, pairs[0].gpu, &v));
  if (rb_variant_available(v) != RB_OK) {
    rb_clear();
    skip();
  }
  for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
    same &= same_history(pairs[i].gpu, pairs[i].cpu, 40, pairs[i].tolerance, pairs[i].noise);
  assert_true(same);
}

/* brunn2020 Table 1, counted. The first incremental step interpolates mt = 0 in the paper and nothing here; its 3
 * #FFT of gradient and product leave out the projection of the body force, 3 more. */
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
  assert_int_equal(
      (int)r.profile_objective.units[RB_CLASS_GRADIENT] + (int)r.profile_objective.units[RB_CLASS_DIVERGENCE],
      rb_transport_paper_derivatives('J', o.steps));
  assert_int_equal(
      (int)r.profile_gradient.units[RB_CLASS_GRADIENT] + (int)r.profile_gradient.units[RB_CLASS_DIVERGENCE],
      rb_transport_paper_derivatives('g', o.steps));
  assert_int_equal((int)r.profile_matvec.units[RB_CLASS_GRADIENT] + (int)r.profile_matvec.units[RB_CLASS_DIVERGENCE],
                   rb_transport_paper_derivatives('H', o.steps));
  assert_int_equal((int)r.profile_objective.units[RB_CLASS_SPECTRAL], 3);
  assert_int_equal((int)r.profile_gradient.units[RB_CLASS_SPECTRAL], 3 + 3);
  assert_int_equal((int)r.profile_matvec.units[RB_CLASS_SPECTRAL], 3 + 3);
  rb_claire_destroy(c);
  rb_pair_free(&pair);
  c = phantom_problem("cpu-fd8-linear-coefficients", o, 16, &pair); /* there and back once */
  ok(rb_claire_solve(c, NULL, NULL, &r));
  assert_int_equal((int)r.profile_matvec.units[RB_CLASS_SPECTRAL], 3);
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

/* Memory that ends while PETSc makes its work vectors: an error and no crash. What a set-up of PETSc's had allocated
 * when it failed PETSc keeps (it calls itself undefined after an error): at most NLS's six vectors. */
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
  assert_int_equal(r.end, RB_END_CONVERGED);
  rb_claire_destroy(c);
  free(f);
}

/* What was predicted holds what was taken, and not much more. */
static void memory_is_predicted(void **state) {
  (void)state;
  static const char *const names[] = {"cpu-fd8-linear", "cpu-fft-cubic", "cpu-fd8-cubic-f64",
                                      "cpu-fd8-linear-coefficients"};
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
      cmocka_unit_test(recovers_a_known_deformation),
      cmocka_unit_test(incompressible_keeps_volume),
      cmocka_unit_test(float32_follows_float64),
      cmocka_unit_test(coefficients_follow_velocities),
      cmocka_unit_test(gpu_follows_cpu),
      cmocka_unit_test(counts_are_table_1),
      cmocka_unit_test(bad_images_are_refused),
      cmocka_unit_test(equal_images_end_at_once),
      cmocka_unit_test(memory_is_predicted),
      cmocka_unit_test(memory_ends_inside_petsc),
  };
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  rb_krylov_close();
  return failed;
}
