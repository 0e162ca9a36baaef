/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks of the derivative family. */
#include "experiments/runner/check/check.h"
#include "experiments/runner/inputs/host_apply.h"

#include <math.h>
#include <stdlib.h>

static const char *const schemes[] = {"fd2", "fd8", "spectral"};

static int supported(const rb_variant *v, const rb_derivative_desc *d) {
  int ok = ((const rb_derivative_ops *)v->ops)->supports(d) == RB_OK;
  rb_clear();
  return ok;
}

/* `oracle` is exact to the tolerance `own`. */
static void against(rb_checker *c, const rb_derivative_desc *d, const rb_variant *oracle, double own) {
  int64_t n = rb_grid_points(d->grid);
  size_t bytes = (size_t)n * rb_dtype_size(d->dtype);
  void *one = malloc(bytes), *three = malloc(3 * bytes), *got = malloc(3 * bytes), *want = malloc(3 * bytes);
  rb_check_random(d->dtype, one, n, 3);
  rb_check_random(d->dtype, three, 3 * n, 4);
  for (int divergence = 0; divergence < 2; divergence++) {
    const void *in = divergence ? three : one;
    if (rb_check_status(c, rb_host_derivative(c->variant, d, divergence, in, got), "run") &&
        rb_check_status(c, rb_host_derivative(oracle, d, divergence, in, want), "%s", oracle->name))
      rb_check_value(c, rb_check_distance(d->dtype, got, want, divergence ? n : 3 * n),
                     rb_derivative_tolerance(d, 1) + own, "%s %s %lldx%lldx%lld %s",
                     divergence ? "divergence" : "gradient", schemes[d->scheme], (long long)d->grid.n[0],
                     (long long)d->grid.n[1], (long long)d->grid.n[2], rb_dtype_name(d->dtype));
  }
  free(want), free(got), free(three), free(one);
}
static void against_oracle(rb_checker *c, const rb_derivative_desc *d) {
  against(c, d, &rb_derivative_family.variants[0], 0);
}

/* Grids that fill a GPU with columns of 32 to 64 planes, which cuda/direct takes another way: two columns and blocks
 * of few rows and values; rows of four values. On a GPU of them three times the rows, enough for 400 multiprocessors.
 * The oracle, O(n) a point, would take minutes: cpu/naive stands for it. */
static void large(rb_checker *c, rb_derivative_desc d) {
  static const rb_grid grids[] = {{{65, 404, 132}}, {{40, 2100, 4}}};
  const rb_variant *naive;
  if (!rb_check_status(c, rb_variant_find(&rb_derivative_family, "cpu/naive", &naive), "large grids")) return;
  if (c->variant == naive || c->variant == &rb_derivative_family.variants[0]) return;
  for (size_t i = 0; i < sizeof grids / sizeof *grids; i++) {
    d.grid = grids[i];
    if (c->variant->backend == RB_CUDA) d.grid.n[1] *= 3;
    if (!rb_check_fits(c, d.grid)) continue;
    against(c, &d, naive, rb_derivative_tolerance(&d, 1));
  }
}

/* <grad f, v> = -<f, div v>: the discrete operators are adjoint. Scaled by the norms. */
static void adjoint(rb_checker *c, const rb_derivative_desc *d) {
  int64_t n = rb_grid_points(d->grid);
  size_t bytes = (size_t)n * rb_dtype_size(d->dtype);
  void *f = malloc(bytes), *v = malloc(3 * bytes), *g = malloc(3 * bytes), *div = malloc(bytes);
  rb_check_random(d->dtype, f, n, 8);
  rb_check_random(d->dtype, v, 3 * n, 9);
  if (rb_check_status(c, rb_host_derivative(c->variant, d, 0, f, g), "adjoint") &&
      rb_check_status(c, rb_host_derivative(c->variant, d, 1, v, div), "adjoint")) {
    double left = rb_check_dot(d->dtype, g, v, 3 * n), right = rb_check_dot(d->dtype, f, div, n);
    rb_check_value(c, fabs(left + right) / (double)n, rb_derivative_tolerance(d, 1), "adjoint %s %s",
                   schemes[d->scheme], rb_dtype_name(d->dtype));
  }
  free(div), free(g), free(v), free(f);
}

/* D(f / 2 - g / 4) = D f / 2 - D g / 4 */
static void linear(rb_checker *c, const rb_derivative_desc *d) {
  const int64_t n = rb_grid_points(d->grid);
  const size_t bytes = (size_t)n * rb_dtype_size(d->dtype);
  void *f = malloc(bytes), *g = malloc(bytes), *df = malloc(3 * bytes), *dg = malloc(3 * bytes);
  rb_check_random(d->dtype, f, n, 15);
  rb_check_random(d->dtype, g, n, 16);
  if (rb_check_status(c, rb_host_derivative(c->variant, d, 0, f, df), "linearity") &&
      rb_check_status(c, rb_host_derivative(c->variant, d, 0, g, dg), "linearity")) {
    for (int64_t i = 0; i < n; i++)
      rb_check_set(d->dtype, f, i, rb_check_at(d->dtype, f, i) / 2 - rb_check_at(d->dtype, g, i) / 4);
    for (int64_t i = 0; i < 3 * n; i++)
      rb_check_set(d->dtype, df, i, rb_check_at(d->dtype, df, i) / 2 - rb_check_at(d->dtype, dg, i) / 4);
    if (rb_check_status(c, rb_host_derivative(c->variant, d, 0, f, dg), "linearity"))
      rb_check_value(c, rb_check_distance(d->dtype, df, dg, 3 * n), rb_derivative_tolerance(d, 1), "linearity %s %s",
                     schemes[d->scheme], rb_dtype_name(d->dtype));
  }
  free(dg), free(df), free(g), free(f);
}

static void shift_and_constant(rb_checker *c, const rb_derivative_desc *d) {
  int64_t n = rb_grid_points(d->grid);
  const int shift[3] = {2, -3, 7};
  size_t bytes = (size_t)n * rb_dtype_size(d->dtype);
  char *f = malloc(bytes), *rolled = malloc(bytes), *g = malloc(3 * bytes), *h = malloc(3 * bytes),
       *back = malloc(3 * bytes);
  rb_check_random(d->dtype, f, n, 14);
  rb_check_roll(d->dtype, d->grid, f, shift, rolled);
  if (rb_check_status(c, rb_host_derivative(c->variant, d, 0, f, g), "shift") &&
      rb_check_status(c, rb_host_derivative(c->variant, d, 0, rolled, h), "shift")) {
    for (int a = 0; a < 3; a++)
      rb_check_roll(d->dtype, d->grid, g + (size_t)a * bytes, shift, back + (size_t)a * bytes);
    rb_check_value(c, rb_check_distance(d->dtype, back, h, 3 * n), rb_derivative_tolerance(d, 1), "shift %s",
                   schemes[d->scheme]);
  }
  for (int64_t i = 0; i < n; i++) rb_check_set(d->dtype, f, i, 0.75);
  for (int64_t i = 0; i < 3 * n; i++) rb_check_set(d->dtype, back, i, 0);
  if (rb_check_status(c, rb_host_derivative(c->variant, d, 0, f, g), "constant"))
    rb_check_value(c, rb_check_distance(d->dtype, g, back, 3 * n), rb_derivative_tolerance(d, 1), "constant %s",
                   schemes[d->scheme]);
  free(back), free(h), free(g), free(rolled), free(f);
}

/* max error of d/dx_3 sin(x1 + x2 + x3) on n^3 points. */
static rb_status wave_error(const rb_variant *v, rb_derivative_desc d, int64_t n, double *error) {
  rb_status st = RB_OK;
  int64_t count = n * n * n;
  size_t bytes = (size_t)count * rb_dtype_size(d.dtype);
  void *f = malloc(bytes), *g = malloc(3 * bytes);
  double h = RB_TWO_PI / (double)n;
  d.grid = rb_grid_make(n, n, n);
  for (int64_t i = 0; i < count; i++) rb_check_set(d.dtype, f, i, sin(h * (double)(i / n / n + i / n % n + i % n)));
  RB_TRY(rb_host_derivative(v, &d, 0, f, g));
  *error = 0;
  for (int64_t i = 0; i < 3 * count; i++) {
    int64_t k = i % count;
    double e = fabs(rb_check_at(d.dtype, g, i) - cos(h * (double)(k / n / n + k / n % n + k % n)));
    if (*error == *error && !(e <= *error)) *error = e; /* a NaN stays */
  }
done:
  free(g), free(f);
  return st;
}

static void order(rb_checker *c, const rb_derivative_desc *d) {
  double coarse = 0, fine = 0;
  int64_t n0 = 8, n1 = d->dtype == RB_F64 ? 16 : 12; /* beyond 12 float32 rounds FD8's error away */
  if (!rb_check_status(c, wave_error(c->variant, *d, n0, &coarse), "order") ||
      !rb_check_status(c, wave_error(c->variant, *d, n1, &fine), "order"))
    return;
  if (d->scheme == RB_SPECTRAL) {
    rb_derivative_desc at = *d;
    at.grid = rb_grid_make(n1, n1, n1);
    rb_check_value(c, fine, rb_derivative_tolerance(&at, 1), "spectral exactness on a resolved wave");
    return;
  }
  double expected = d->scheme == RB_FD8 ? 8 : 2, slope = log(coarse / fine) / log((double)n1 / (double)n0);
  rb_check_value(c, fabs(slope - expected), 0.1 * expected, "order of convergence %s %s", schemes[d->scheme],
                 rb_dtype_name(d->dtype));
}

void rb_check_derivative(rb_checker *c) {
  for (int scheme = 0; scheme < 3; scheme++)
    for (int t = RB_F32; t <= RB_F64; t++) {
      rb_derivative_desc d = {.scheme = (rb_scheme)scheme, .dtype = (rb_dtype)t, .grid = rb_grid_make(16, 16, 16)};
      if (!supported(c->variant, &d)) continue;
      for (int i = 0; i < rb_check_grid_count; i++) {
        d.grid = rb_check_grids[i];
        against_oracle(c, &d);
      }
      if (scheme == RB_FD8 && t == RB_F32) large(c, d);
      d.grid = rb_grid_make(14, 9, 20);
      adjoint(c, &d);
      linear(c, &d);
      shift_and_constant(c, &d);
      order(c, &d);
    }
}

void rb_check_derivative_golden(rb_checker *c) {
  enum { N = 7 * 5 * 12 };
  const rb_variant *v = c->of_variant ? c->variant : &rb_derivative_family.variants[0];
  float in[3 * N], out[3 * N];
  rb_check_random(RB_F32, in, 3 * N, 41);
  for (int scheme = 0; scheme < 3; scheme++) {
    rb_derivative_desc d = {.scheme = (rb_scheme)scheme, .dtype = RB_F32, .grid = rb_grid_make(7, 5, 12)};
    if (c->of_variant && !supported(c->variant, &d)) continue;
    for (int divergence = 0; divergence < 2; divergence++) {
      char name[64];
      snprintf(name, sizeof name, "%s-%s", divergence ? "divergence" : "gradient", schemes[scheme]);
      if (rb_check_status(c, rb_host_derivative(v, &d, divergence, in, out), "golden"))
        rb_check_golden(c, name, out, divergence ? N : 3 * N, rb_derivative_tolerance(&d, 1));
    }
  }
}
