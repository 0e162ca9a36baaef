/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks of the field family. */
#include "experiments/runner/check/check.h"
#include "experiments/runner/inputs/host_apply.h"
#include "kernels/field/field.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 3 * 13 * 11 * 17 };

/* Coefficients with every pattern of zeros that the variants branch on. */
static const double patterns[][3] = {{0.5, -2, 0.25}, {0.5, -2, 0}, {1, 0, 1},   {0, 3, 1},
                                     {2, 0, 0},       {0, -1, 0},   {0, 0, 0.5}, {0, 0, 0}};
enum { PATTERNS = sizeof patterns / sizeof *patterns };

/* What one variant makes of x, y, z: an array, or three numbers. */
typedef enum { COMBINE, MULTIPLY, DIVIDE, DISPLACE, FILL, KINDS } kind;
static const char *const kind_names[] = {"combine", "multiply", "divide", "displace", "fill"};

static rb_status by(const rb_variant *v, rb_dtype t, kind what, const double k[3], rb_grid g, int64_t n,
                    const void *x, const void *y, const void *z, void *out) {
  rb_status st = RB_OK;
  const rb_backend *b;
  rb_field_plan *p = NULL;
  rb_field_desc d = {.count = n, .dtype = t};
  rb_array dx = {0}, dy = {0}, dz = {0};
  const double a[3] = {k[0], k[1], k[2]}, w[3] = {k[1], k[2], k[0]};
  RB_TRY(rb_backend_get(v->backend, &b));
  RB_TRY(rb_field_create(v, &d, &p));
  RB_TRY(rb_to_backend(b, x, t, n, &dx));
  RB_TRY(rb_to_backend(b, y, t, n, &dy));
  RB_TRY(rb_to_backend(b, z, t, n, &dz));
  if (what == COMBINE)
    RB_TRY(rb_field_combine(p, n, k[0], k[0] != 0 ? dx : rb_array_none(), k[1], k[1] != 0 ? dy : rb_array_none(),
                            k[2], dz));
  if (what == MULTIPLY) RB_TRY(rb_field_multiply(p, n, k[0], dx, dy, k[2], dz));
  if (what == DIVIDE) RB_TRY(rb_field_divide(p, n, k[0], dx, dy, dz));
  if (what == DISPLACE)
    RB_TRY(rb_field_displace(p, g, a, k[0] != 0 ? dx : rb_array_none(), w, k[1] != 0 ? dy : rb_array_none(), dz));
  if (what == FILL) RB_TRY(rb_field_fill(p, n, k[0], dz));
  RB_TRY(rb_array_download(dz, out));
done:
  rb_field_destroy(p);
  rb_array_destroy(&dz);
  rb_array_destroy(&dy);
  rb_array_destroy(&dx);
  return st;
}

static void against_oracle(rb_checker *c, rb_dtype t, kind what, const double k[3], rb_grid g) {
  int64_t n = 3 * rb_grid_points(g), longest = 1;
  double x[MOST], y[MOST], z[MOST], got[MOST], want[MOST];
  rb_check_random(t, x, n, 5);
  rb_check_random(t, y, n, 6);
  rb_check_random(t, z, n, 7);
  for (int64_t i = 0; what == DIVIDE && i < n; i++) rb_check_set(t, y, i, 1.5 + rb_check_at(t, y, i));
  for (int a = 0; a < 3; a++) longest = g.n[a] > longest ? g.n[a] : longest;
  if (rb_check_status(c, by(c->variant, t, what, k, g, n, x, y, z, got), "%s", kind_names[what]) &&
      rb_check_status(c, by(&rb_field_family.variants[0], t, what, k, g, n, x, y, z, want), "oracle"))
    rb_check_value(
        c, rb_check_distance(t, got, want, n),
        rb_field_tolerance(t, fabs(k[0]) * 2 + fabs(k[1]) + fabs(k[2]) + (what == DISPLACE ? (double)longest : 0)),
        "%s %g %g %g on %lldx%lldx%lld %s", kind_names[what], k[0], k[1], k[2], (long long)g.n[0], (long long)g.n[1],
        (long long)g.n[2], rb_dtype_name(t));
}

static rb_status sums_by(const rb_variant *v, rb_dtype t, int64_t n, const void *x, const void *y, double *dot,
                         rb_extremes *e) {
  rb_status st = RB_OK;
  const rb_backend *b;
  rb_field_plan *p = NULL;
  rb_field_desc d = {.count = n, .dtype = t};
  rb_array dx = {0}, dy = {0}, at = {0};
  double kept;
  RB_TRY(rb_backend_get(v->backend, &b));
  RB_TRY(rb_field_create(v, &d, &p));
  RB_TRY(rb_to_backend(b, x, t, n, &dx));
  RB_TRY(rb_to_backend(b, y, t, n, &dy));
  RB_TRY(rb_field_dot(p, n, dx, dy, dot));
  RB_TRY(rb_poisoned(b, RB_F64, 1, &at));
  RB_TRY(rb_field_dot_kept(p, n, dx, dy, at));
  RB_TRY(rb_array_download(at, &kept));
  RB_CHECK(memcmp(&kept, dot, sizeof kept) == 0 || (isnan(kept) && isnan(*dot)), RB_EINVALID,
           "the kept sum is %g, the returned one %g", kept, *dot);
  RB_TRY(rb_field_extremes(p, n, dx, e));
done:
  rb_field_destroy(p);
  rb_array_destroy(&at);
  rb_array_destroy(&dy);
  rb_array_destroy(&dx);
  return st;
}

/* Sums over counts around the blocks of every reduction, the same twice, and a NaN that must show. */
static void sums(rb_checker *c, rb_dtype t, int64_t n) {
  size_t size = rb_dtype_size(t);
  void *x = malloc((size_t)n * size), *y = malloc((size_t)n * size);
  double dot = 0, want = 0, again = 0;
  rb_extremes e, f;
  rb_check_random(t, x, n, 8);
  rb_check_random(t, y, n, 9);
  if (rb_check_status(c, sums_by(c->variant, t, n, x, y, &dot, &e), "sums") &&
      rb_check_status(c, sums_by(&rb_field_family.variants[0], t, n, x, y, &want, &f), "oracle")) {
    rb_check_value(c, fabs(dot - want), rb_field_sum_tolerance(n, 1), "dot of %lld %s", (long long)n,
                   rb_dtype_name(t));
    rb_check_value(c, fabs(e.sum - f.sum), rb_field_sum_tolerance(n, 1), "sum of %lld %s", (long long)n,
                   rb_dtype_name(t));
    rb_check_value(c, fabs(e.least - f.least) + fabs(e.greatest - f.greatest), 0, "extremes of %lld %s", (long long)n,
                   rb_dtype_name(t));
    if (rb_check_status(c, sums_by(c->variant, t, n, x, y, &again, &f), "sums"))
      rb_check_value(c, fabs(dot - again), 0, "dot repeats bit by bit, %lld", (long long)n);
  }
  rb_check_set(t, x, n / 2, NAN);
  if (rb_check_status(c, sums_by(c->variant, t, n, x, y, &dot, &e), "sums"))
    rb_check_value(c, isnan(dot) && isnan(e.sum) && isnan(e.least) && isnan(e.greatest) ? 0 : 1, 0,
                   "a NaN shows in every sum, %lld", (long long)n);
  free(y), free(x);
}

static int supported(const rb_variant *v, rb_dtype t) {
  rb_field_desc d = {.count = 1, .dtype = t};
  int ok = ((const rb_field_ops *)v->ops)->supports(&d) == RB_OK;
  rb_clear();
  return ok;
}

void rb_check_field(rb_checker *c) {
  static const rb_grid grids[] = {{{1, 1, 1}}, {{2, 3, 5}}, {{8, 4, 16}}, {{13, 11, 17}}};
  static const int64_t counts[] = {1, 31, 255, 256, 257, 4096, 100003, 2000000};
  for (int t = RB_F32; t <= RB_F64; t++) {
    if (!supported(c->variant, (rb_dtype)t)) continue;
    for (size_t g = 0; g < sizeof grids / sizeof *grids; g++)
      for (int w = COMBINE; w < KINDS; w++)
        for (int k = 0; k < PATTERNS; k++) against_oracle(c, (rb_dtype)t, (kind)w, patterns[k], grids[g]);
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) sums(c, (rb_dtype)t, counts[i]);
  }
}

void rb_check_field_golden(rb_checker *c) {
  const rb_variant *v = c->of_variant ? c->variant : &rb_field_family.variants[0];
  rb_grid g = rb_grid_make(3, 4, 5);
  enum { N = 3 * 3 * 4 * 5 };
  float x[N], y[N], z[N], out[N];
  rb_check_random(RB_F32, x, N, 5);
  rb_check_random(RB_F32, y, N, 6);
  rb_check_random(RB_F32, z, N, 7);
  for (int i = 0; i < N; i++) y[i] += 1.5f;
  for (int w = COMBINE; w < KINDS; w++)
    if (rb_check_status(c, by(v, RB_F32, (kind)w, patterns[0], g, N, x, y, z, out), "golden"))
      rb_check_golden(c, kind_names[w], out, N, rb_field_tolerance(RB_F32, 12));
}
