/* SPDX-License-Identifier: BSD-3-Clause */
/* Kernels that are wrong in one place, on large grids only, or in what their output hides, must make a case invalid.
 * Each is a correct variant whose output, or whose filter, is spoiled; unspoiled, the case is valid. */
#include "experiments/runner/workloads/atlas_twin.h"
#include "experiments/runner/workloads/places.h"
#include "kernels/derivative/derivative.h"
#include "kernels/gausssum/gausssum.h"
#include "kernels/interp/interp.h"
#include "kernels/registry/registry.h"
#include "tests/ok.h"

#include <stdio.h>
#include <string.h>

extern const rb_interp_ops rb_interp_omp;
extern const rb_derivative_ops rb_derivative_omp, rb_derivative_fftw;
extern const rb_gausssum_ops rb_gausssum_omp;

typedef enum {
  HONEST,
  LONG_AXIS,     /* beyond node 70 of the first axis, as if a tile were too short */
  LARGE_GRID,    /* every thousandth value, from 320000 on */
  ONE_VALUE,     /* of many */
  ONE_ROW,       /* by 1 % */
  NO_FILTER,     /* B-spline coefficients are the field itself */
  LAST_OF_A_ROW, /* the border's */
} planted;
static planted now;

static void spoil(rb_grid g, int64_t n, float *out) {
  const int64_t plane = g.n[1] * g.n[2];
  if (now == LONG_AXIS)
    for (int64_t i = 70 * plane; i < g.n[0] * plane; i++) out[i] *= 1.05f;
  if (now == LARGE_GRID && n > 320000)
    for (int64_t i = 0; i < n; i += 1000) out[i] += 0.01f;
  if (now == ONE_VALUE) out[n / 2 + 1234] += 0.1f;
  if (now == LAST_OF_A_ROW)
    for (int64_t i = g.n[2] - 1; i < rb_grid_points(g); i += g.n[2]) out[i] += 0.01f;
}

static rb_status interp_load(rb_interp_plan *p, const void *f) {
  const rb_interp_basis basis = p->desc.basis;
  if (now == NO_FILTER) p->desc.basis = RB_LAGRANGE;
  const rb_status st = rb_interp_omp.load(p, f);
  p->desc.basis = basis;
  return st;
}
static rb_status interp_eval(rb_interp_plan *p, int64_t np, const void *x, void *out) {
  const rb_status st = rb_interp_omp.eval(p, np, x, out);
  if (now != NO_FILTER) spoil(p->desc.grid, np, out);
  return st;
}
static rb_status gradient(rb_derivative_plan *p, const void *f, void *g) {
  const rb_status st = rb_derivative_omp.gradient(p, f, g);
  spoil(p->desc.grid, 3 * rb_grid_points(p->desc.grid), g);
  return st;
}
static rb_status spectral_gradient(rb_derivative_plan *p, const void *f, void *g) {
  const rb_status st = rb_derivative_fftw.gradient(p, f, g);
  spoil(p->desc.grid, 3 * rb_grid_points(p->desc.grid), g);
  return st;
}
static rb_status flow(rb_gausssum_plan *p, double sigma, const void *q, const void *m, void *hq, void *hp) {
  const rb_status st = rb_gausssum_omp.flow(p, sigma, q, m, hq, hp);
  if (now == ONE_ROW) ((float *)hp)[917] *= 1.01f;
  return st;
}

/* ---- a case ----------------------------------------------------------------------------------------------- */

typedef struct {
  const char *kind, *axis, *value, *basis, *scheme, *data; /* data NULL: the kind's own */
} asked;

/* Whether a case of this kind with these ops, spoiled as `what`, is valid. */
static int is_valid(const rb_workload *w, const rb_family *family, const char *name, const void *ops, asked a,
                    planted what) {
  const rb_variant *honest;
  const rb_backend *host;
  void *state = NULL;
  rb_outcome o = {0};
  now = HONEST;
  ok(rb_variant_find(family, name, &honest));
  ok(rb_backend_get(honest->backend, &host));
  rb_variant v = *honest;
  v.ops = ops;
  rb_method m = {.label = (char *)(size_t)name,
                 .kind = (char *)(size_t)w->kind,
                 .basis = (char *)(size_t)a.basis,
                 .scheme = (char *)(size_t)a.scheme};
  rb_case c = {
      .method = &m, .variant = &v, .axis = {a.axis, "data"}, .value = {a.value, a.data}, .axes = a.data ? 2 : 1};
  if (strcmp(a.axis, "size") == 0) ok(rb_size_parse(a.value, &c.grid));
  ok(w->setup(&c, host, 1, &state));
  ok(w->poison(state, 0));
  now = what;
  ok(w->run(state, 0));
  ok(w->verify(state, 0, &o));
  const int valid = rb_outcome_is_valid(&o);
  rb_outcome_free(&o);
  w->teardown(state);
  return valid;
}

static void gradients(void **state) {
  (void)state;
  rb_derivative_ops fd = rb_derivative_omp, spectral = rb_derivative_fftw;
  fd.gradient = gradient, spectral.gradient = spectral_gradient;
  const asked small = {"gradient", "size", "32", NULL, "fd8", NULL},
              large = {"gradient", "size", "72x64x64", NULL, "fd8", NULL},
              waves = {"gradient", "size", "72x64x64", NULL, "spectral", NULL};
  const rb_workload *w = &rb_workload_gradient;
  assert_true(is_valid(w, &rb_derivative_family, "cpu/omp", &fd, small, HONEST));
  assert_false(is_valid(w, &rb_derivative_family, "cpu/omp", &fd, small, ONE_VALUE));
  assert_true(is_valid(w, &rb_derivative_family, "cpu/omp", &fd, large, HONEST));
  assert_true(is_valid(w, &rb_derivative_family, "cpu/fftw", &spectral, waves, HONEST));
  for (planted k = LONG_AXIS; k <= ONE_VALUE; k++) {
    assert_false(is_valid(w, &rb_derivative_family, "cpu/omp", &fd, large, k));
    assert_false(is_valid(w, &rb_derivative_family, "cpu/fftw", &spectral, waves, k));
  }
}

static void interpolations(void **state) {
  (void)state;
  rb_interp_ops ops = rb_interp_omp;
  ops.load = interp_load, ops.eval = interp_eval;
  const asked small = {"interp", "size", "64", "linear", NULL, NULL},
              large = {"interp", "size", "80x64x64", "bspline", NULL, NULL};
  const rb_workload *w = &rb_workload_interp;
  assert_true(is_valid(w, &rb_interp_family, "cpu/omp", &ops, small, HONEST));
  assert_false(is_valid(w, &rb_interp_family, "cpu/omp", &ops, small, ONE_VALUE));
  assert_false(is_valid(w, &rb_interp_family, "cpu/omp", &ops, small, LAST_OF_A_ROW));
  assert_true(is_valid(w, &rb_interp_family, "cpu/omp", &ops, large, HONEST));
  for (planted k = LONG_AXIS; k <= ONE_VALUE; k++)
    assert_false(is_valid(w, &rb_interp_family, "cpu/omp", &ops, large, k));
  /* a filter that does nothing must show in values, too, where fractions are of 8 bits and the field is smooth */
  const asked smooth = {"interp", "size", "128", "bspline", NULL, NULL};
  rb_interp_ops texture = ops;
  texture.weight_bits = 8;
  assert_true(is_valid(w, &rb_interp_family, "cpu/omp", &texture, smooth, HONEST));
  assert_false(is_valid(w, &rb_interp_family, "cpu/omp", &texture, smooth, NO_FILTER));
  const asked filter = {"prefilter", "size", "64", "bspline", NULL, NULL};
  assert_true(is_valid(&rb_workload_prefilter, &rb_interp_family, "cpu/omp", &ops, filter, HONEST));
  assert_false(is_valid(&rb_workload_prefilter, &rb_interp_family, "cpu/omp", &ops, filter, NO_FILTER));
}

/* The paper's texture kernels as they are, where CUDA is executed on the CPU: limits that follow the field's steps
 * hold what fractions of 8 bits do, on smooth waves and on a head's edges. */
static void texture_kernels(void **state) {
  (void)state;
  static const struct {
    const char *variant, *basis;
  } all[] = {{"cuda/texture-bspline", "bspline15"},
             {"cuda/texture-lagrange", "lagrange"},
             {"cuda/texture-lookup-lagrange", "lagrange"},
             {"cuda/texture-linear", "linear"}};
  static const char *const data[] = {"analytic", "phantom"}, *const sizes[] = {"24", "40"};
  const rb_backend *cuda;
  if (rb_backend_get(RB_CUDA, &cuda) != RB_OK || !cuda->emulated) {
    rb_clear();
    skip();
  }
  for (size_t k = 0; k < sizeof all / sizeof *all; k++)
    for (int d = 0; d < 2; d++)
      for (int s = 0; s < 2; s++) {
        const rb_variant *v;
        ok(rb_variant_find(&rb_interp_family, all[k].variant, &v));
        const asked a = {"interp", "size", sizes[s], all[k].basis, NULL, data[d]};
        if (!is_valid(&rb_workload_interp, &rb_interp_family, all[k].variant, v->ops, a, HONEST))
          fail_msg("%s at %s on %s is not valid", all[k].variant, sizes[s], data[d]);
      }
}

static void sums(void **state) {
  (void)state;
  rb_gausssum_ops ops = rb_gausssum_omp;
  ops.flow = flow;
  const asked a = {"gauss-flow", "points", "1847", NULL, NULL, NULL};
  assert_true(is_valid(&rb_workload_gauss_flow, &rb_gausssum_family, "cpu/omp", &ops, a, HONEST));
  assert_false(is_valid(&rb_workload_gauss_flow, &rb_gausssum_family, "cpu/omp", &ops, a, ONE_ROW));
}

/* What the oracle alone looks at on large grids: both end rows, all faces, and places inside; each a node. */
static void places(void **state) {
  (void)state;
  const rb_grid g = rb_grid_make(70, 80, 90);
  const int64_t n = rb_grid_points(g);
  int seen[3][2] = {{0}}, inside = 0;
  rb_places p;
  ok(rb_places_of(g, &p));
  assert_false(p.all);
  for (int64_t k = 0; k < p.count; k++) {
    const int64_t x[3] = {p.at[k] / 90 / 80, p.at[k] / 90 % 80, p.at[k] % 90};
    int on_border = 0;
    assert_true(p.at[k] >= 0 && p.at[k] < n);
    for (int a = 0; a < 3; a++) {
      seen[a][0] += x[a] == 0, seen[a][1] += x[a] == g.n[a] - 1;
      on_border |= x[a] == 0 || x[a] == g.n[a] - 1;
    }
    inside += !on_border;
  }
  for (int a = 0; a < 3; a++)
    for (int end = 0; end < 2; end++) assert_true(seen[a][end] >= RB_PLACES_OF_A_FACE);
  assert_true(inside > 3000);
  ok(rb_places_of(rb_grid_make(64, 64, 64), &p));
  assert_true(p.all && p.count == RB_PLACES_ALL && p.at[5] == 5);
}

/* An atlas' twin that was worked out before is taken for equal questions alone. */
static void twins_are_told_apart(void **state) {
  (void)state;
  enum { N = 10, COUNT = N * N * N };
  static float image[2][COUNT];
  const float *both[2] = {image[0], image[1]};
  const rb_grid g = rb_grid_make(N, N, N);
  const rb_variant *fft, *sor;
  rb_atlas_options o = rb_atlas_defaults();
  rb_atlas_variances first, again, other;
  ok(rb_variant_find(&rb_atlas_family, "cpu-fft", &fft));
  ok(rb_variant_find(&rb_atlas_family, "cpu-sor", &sor));
  for (int k = 0; k < 2; k++)
    for (int i = 0; i < COUNT; i++) image[k][i] = (float)((i + k * COUNT) * 7919 % 101);
  ok(rb_atlas_twin_variances(fft, &o, g, 2, both, NULL, &first));
  o.stream = 1, o.iterations = 50; /* neither changes the first iterations */
  ok(rb_atlas_twin_variances(fft, &o, g, 2, both, NULL, &again));
  assert_memory_equal(&again, &first, sizeof first);
  ok(rb_atlas_twin_variances(sor, &o, g, 2, both, NULL, &other));
  assert_true(rb_atlas_variance_difference(&other, &first) > 1e-6);
  o.step *= 2;
  ok(rb_atlas_twin_variances(fft, &o, g, 2, both, NULL, &other));
  assert_true(rb_atlas_variance_difference(&other, &first) > 1e-6);
  o.step /= 2;
  ok(rb_atlas_twin_variances(fft, &o, g, 1, both, both[1], &other));
  assert_true(rb_atlas_variance_difference(&other, &first) > 1e-6);
  image[1][COUNT - 1] += 50;
  ok(rb_atlas_twin_variances(fft, &o, g, 2, both, NULL, &other));
  assert_true(rb_atlas_variance_difference(&other, &first) > 1e-6);
  image[1][COUNT - 1] -= 50;
  ok(rb_atlas_twin_variances(fft, &o, g, 2, both, NULL, &again));
  assert_memory_equal(&again, &first, sizeof first);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(places),         cmocka_unit_test(gradients),
                                     cmocka_unit_test(interpolations), cmocka_unit_test(texture_kernels),
                                     cmocka_unit_test(sums),           cmocka_unit_test(twins_are_told_apart)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
