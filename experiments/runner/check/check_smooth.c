/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks of the smooth family. */
#include "experiments/runner/check/check.h"
#include "experiments/runner/inputs/host_apply.h"
#include "kernels/smooth/smooth.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static int64_t values_of(const rb_smooth_desc *d) { return d->components * rb_grid_points(d->grid); }

/* axis 0 to 2: one pass; -1: all. */
static rb_status by(const rb_variant *v, const rb_smooth_desc *d, double sigma, int axis, const void *in, void *out) {
  rb_status st = RB_OK;
  const rb_backend *b;
  rb_smooth_plan *p = NULL;
  rb_array from = {0}, to = {0};
  RB_TRY(rb_backend_get(v->backend, &b));
  RB_TRY(rb_smooth_create(v, d, &p));
  RB_TRY(rb_to_backend(b, in, d->dtype, values_of(d), &from));
  RB_TRY(rb_poisoned(b, d->dtype, values_of(d), &to));
  RB_TRY(axis < 0 ? rb_smooth(p, sigma, from, to) : rb_smooth_pass(p, sigma, axis, from, to));
  RB_TRY(rb_array_download(to, out));
done:
  rb_smooth_destroy(p);
  rb_array_destroy(&to), rb_array_destroy(&from);
  return st;
}

static int supported(const rb_variant *v, const rb_smooth_desc *d) {
  int ok = ((const rb_smooth_ops *)v->ops)->supports(d) == RB_OK;
  rb_clear();
  return ok;
}

static void against_oracle(rb_checker *c, const rb_smooth_desc *d, double sigma) {
  const int64_t m = values_of(d);
  size_t bytes = (size_t)m * rb_dtype_size(d->dtype);
  void *in = malloc(bytes), *got = malloc(bytes), *want = malloc(bytes);
  rb_check_random(d->dtype, in, m, 61);
  for (int axis = -1; axis < 3; axis++)
    if (rb_check_status(c, by(c->variant, d, sigma, axis, in, got), "smooth") &&
        rb_check_status(c, by(&rb_smooth_family.variants[0], d, sigma, axis, in, want), "oracle"))
      rb_check_value(c, rb_check_distance(d->dtype, got, want, m), rb_smooth_tolerance(d, sigma, 1),
                     "%s sigma %g %lldx%lldx%lld x %d %s",
                     axis < 0    ? "all axes"
                     : axis == 0 ? "x1"
                     : axis == 1 ? "x2"
                                 : "x3",
                     sigma, (long long)d->grid.n[0], (long long)d->grid.n[1], (long long)d->grid.n[2], d->components,
                     rb_dtype_name(d->dtype));
  free(want), free(got), free(in);
}

static void refused(rb_checker *c, const rb_smooth_desc *d, double sigma) {
  const size_t bytes = (size_t)values_of(d) * rb_dtype_size(d->dtype);
  void *in = calloc(1, bytes), *out = malloc(bytes);
  rb_check_value(c, by(c->variant, d, sigma, -1, in, out) == RB_EUNSUPPORTED ? 0 : 1, 0, "sigma %g is refused, %s",
                 sigma, rb_dtype_name(d->dtype));
  rb_clear();
  free(out), free(in);
}

/* Grids too large for the oracle: against the baseline, which other checks hold to it. */
static void against_baseline(rb_checker *c, const rb_smooth_desc *d, double sigma) {
  const int64_t m = values_of(d);
  const size_t bytes = (size_t)m * rb_dtype_size(d->dtype);
  const rb_variant *v;
  void *in = malloc(bytes), *got = malloc(bytes), *want = malloc(bytes);
  if (rb_check_status(c, rb_variant_find(&rb_smooth_family, "cpu/omp", &v), "baseline")) {
    rb_check_random(d->dtype, in, m, 65);
    if (rb_check_status(c, by(c->variant, d, sigma, -1, in, got), "smooth") &&
        rb_check_status(c, by(v, d, sigma, -1, in, want), "baseline"))
      rb_check_value(c, rb_check_distance(d->dtype, got, want, m), 2 * rb_smooth_tolerance(d, sigma, 1),
                     "all axes sigma %g %lldx%lldx%lld x %d, many tiles", sigma, (long long)d->grid.n[0],
                     (long long)d->grid.n[1], (long long)d->grid.n[2], d->components);
  }
  free(want), free(got), free(in);
}

/* A plan that knows its widest sigma gives the same, and refuses wider ones. */
static void planned(rb_checker *c, rb_dtype t) {
  rb_smooth_desc d = {.grid = {{9, 11, 12}}, .components = 3, .dtype = t};
  const int64_t m = values_of(&d);
  const size_t bytes = (size_t)m * rb_dtype_size(t);
  void *in = malloc(bytes), *one = malloc(bytes), *two = malloc(bytes);
  rb_check_random(t, in, m, 66);
  if (rb_check_status(c, by(c->variant, &d, 1.2, -1, in, one), "smooth")) {
    d.sigma = 1.2;
    if (rb_check_status(c, by(c->variant, &d, 1.2, -1, in, two), "planned"))
      rb_check_value(c, rb_check_distance(t, one, two, m), 0, "a plan that knows its sigma, %s", rb_dtype_name(t));
    rb_check_value(c, by(c->variant, &d, 1.3, -1, in, two) == RB_EINVAL ? 0 : 1, 0,
                   "a wider sigma than a plan is for is refused, %s", rb_dtype_name(t));
    rb_clear();
  }
  free(two), free(one), free(in);
}

/* One voxel of 1 becomes the normalised kernel of the contract, written out anew here; of a wide one, what reaches
 * from a corner to the others. */
static void impulse(rb_checker *c, rb_dtype t, double sigma) {
  const int r = (int)ceil(3 * sigma), side = r < 12 ? r : 12;
  const rb_smooth_desc d = {.grid = {{2 * side + 3, 2 * side + 5, 2 * side + 1}}, .components = 1, .dtype = t};
  const int64_t n = rb_grid_points(d.grid),
                centre[3] = {side < r ? 0 : side + 1, side < r ? d.grid.n[1] - 1 : side + 2, side < r ? 0 : side};
  void *in = calloc((size_t)n, rb_dtype_size(t)), *out = malloc((size_t)n * rb_dtype_size(t));
  double sum = 0, worst = 0, mass = 0;
  for (int e = -r; e <= r; e++) sum += exp(-0.5 * e * e / (sigma * sigma));
  rb_check_set(t, in, (centre[0] * d.grid.n[1] + centre[1]) * d.grid.n[2] + centre[2], 1);
  if (rb_check_status(c, by(c->variant, &d, sigma, -1, in, out), "impulse"))
    for (int64_t i = 0; i < n; i++) {
      const int64_t at[3] = {i / d.grid.n[2] / d.grid.n[1], i / d.grid.n[2] % d.grid.n[1], i % d.grid.n[2]};
      double want = 1;
      for (int a = 0; a < 3; a++) {
        const double e = (double)(at[a] - centre[a]);
        want *= fabs(e) <= r ? exp(-0.5 * e * e / (sigma * sigma)) / sum : 0;
      }
      const double got = rb_check_at(t, out, i);
      const double e = want > 0 ? fabs(got / want - 1) : fabs(got);
      if (worst == worst && !(e <= worst)) worst = e;
      mass += rb_check_at(t, out, i);
    }
  /* one product an axis, each with a rounded weight that was divided by a sum of 2 r + 1 in float64 */
  rb_check_value(c, worst, 8 * rb_epsilon(t) + 6 * r * DBL_EPSILON, "an impulse becomes the kernel, sigma %g %s",
                 sigma, rb_dtype_name(t));
  if (side == r)
    rb_check_value(c, fabs(mass - 1), (double)n * rb_smooth_tolerance(&d, sigma, 1), "which sums to 1, sigma %g %s",
                   sigma, rb_dtype_name(t));
  free(out), free(in);
}

/* <S f, g> = <f, S g>; axes in another order give the same. */
static void symmetric(rb_checker *c, const rb_smooth_desc *d, double sigma) {
  const int64_t m = values_of(d);
  size_t bytes = (size_t)m * rb_dtype_size(d->dtype);
  void *f = malloc(bytes), *g = malloc(bytes), *sf = malloc(bytes), *sg = malloc(bytes), *one = malloc(bytes);
  rb_check_random(d->dtype, f, m, 62);
  rb_check_random(d->dtype, g, m, 63);
  if (rb_check_status(c, by(c->variant, d, sigma, -1, f, sf), "symmetry") &&
      rb_check_status(c, by(c->variant, d, sigma, -1, g, sg), "symmetry"))
    rb_check_value(c, fabs(rb_check_dot(d->dtype, sf, g, m) - rb_check_dot(d->dtype, f, sg, m)) / (double)m,
                   rb_smooth_tolerance(d, sigma, 1), "symmetric, %s", rb_dtype_name(d->dtype));
  if (rb_check_status(c, by(c->variant, d, sigma, 0, f, one), "order") &&
      rb_check_status(c, by(c->variant, d, sigma, 1, one, sg), "order") &&
      rb_check_status(c, by(c->variant, d, sigma, 2, sg, one), "order"))
    rb_check_value(c, rb_check_distance(d->dtype, one, sf, m), rb_smooth_tolerance(d, sigma, 1), "axes commute, %s",
                   rb_dtype_name(d->dtype));
  free(one), free(sg), free(sf), free(g), free(f);
}

/* S(f / 2 - g / 4) = S f / 2 - S g / 4; what lies far enough from the border is smoothed the same wherever it lies.
 */
static void linear_and_shift(rb_checker *c, rb_dtype t, double sigma) {
  const rb_smooth_desc d = {.grid = {{26, 31, 29}}, .components = 1, .dtype = t, .sigma = sigma};
  const int64_t m = values_of(&d);
  const int shift[3] = {2, -3, 1}; /* the box and seven cells around it stay inside */
  const size_t bytes = (size_t)m * rb_dtype_size(t);
  void *f = malloc(bytes), *g = malloc(bytes), *sf = malloc(bytes), *sg = malloc(bytes), *moved = malloc(bytes);
  rb_check_random(t, f, m, 66);
  rb_check_random(t, g, m, 67);
  if (rb_check_status(c, by(c->variant, &d, sigma, -1, f, sf), "linearity") &&
      rb_check_status(c, by(c->variant, &d, sigma, -1, g, sg), "linearity")) {
    for (int64_t i = 0; i < m; i++) {
      rb_check_set(t, moved, i, rb_check_at(t, f, i) / 2 - rb_check_at(t, g, i) / 4);
      rb_check_set(t, sf, i, rb_check_at(t, sf, i) / 2 - rb_check_at(t, sg, i) / 4);
    }
    if (rb_check_status(c, by(c->variant, &d, sigma, -1, moved, sg), "linearity"))
      rb_check_value(c, rb_check_distance(t, sf, sg, m), rb_smooth_tolerance(&d, sigma, 1), "linearity, sigma %g %s",
                     sigma, rb_dtype_name(t));
  }
  for (int64_t i = 0; i < m; i++) { /* a box of 6^3 in the middle */
    const int64_t at[3] = {i / d.grid.n[2] / d.grid.n[1], i / d.grid.n[2] % d.grid.n[1], i % d.grid.n[2]};
    int inside = 1;
    for (int a = 0; a < 3; a++) inside = inside && at[a] >= 11 && at[a] < 17;
    if (!inside) rb_check_set(t, f, i, 0);
  }
  rb_check_roll(t, d.grid, f, shift, moved);
  if (rb_check_status(c, by(c->variant, &d, sigma, -1, f, sf), "shift") &&
      rb_check_status(c, by(c->variant, &d, sigma, -1, moved, sg), "shift")) {
    rb_check_roll(t, d.grid, sf, shift, g);
    rb_check_value(c, rb_check_distance(t, g, sg, m), rb_smooth_tolerance(&d, sigma, 1), "shift, sigma %g %s", sigma,
                   rb_dtype_name(t));
  }
  free(moved), free(sg), free(sf), free(g), free(f);
}

/* Of positive values all terms add up, so every output is right to its own size, however small. */
static void relative_to_oracle(rb_checker *c, const rb_smooth_desc *d, double sigma) {
  const int64_t m = values_of(d);
  const size_t bytes = (size_t)m * rb_dtype_size(d->dtype);
  void *in = malloc(bytes), *got = malloc(bytes), *want = malloc(bytes);
  rb_check_random(d->dtype, in, m, 68);
  for (int64_t i = 0; i < m; i++) rb_check_set(d->dtype, in, i, 1.5 + rb_check_at(d->dtype, in, i));
  for (int axis = -1; axis < 3; axis++) {
    if (!rb_check_status(c, by(c->variant, d, sigma, axis, in, got), "smooth") ||
        !rb_check_status(c, by(&rb_smooth_family.variants[0], d, sigma, axis, in, want), "oracle"))
      continue;
    double worst = 0;
    for (int64_t i = 0; i < m; i++) {
      const double e = fabs(rb_check_at(d->dtype, got, i) / rb_check_at(d->dtype, want, i) - 1);
      if (worst == worst && !(e <= worst)) worst = e;
    }
    rb_check_value(c, worst, rb_smooth_tolerance(d, fmin(sigma, 100), 1), "%s sigma %g %lldx%lldx%lld %s, relative",
                   axis < 0    ? "all axes"
                   : axis == 0 ? "x1"
                   : axis == 1 ? "x2"
                               : "x3",
                   sigma, (long long)d->grid.n[0], (long long)d->grid.n[1], (long long)d->grid.n[2],
                   rb_dtype_name(d->dtype)); /* at most 300 taps meet a value */
  }
  free(want), free(got), free(in);
}

/* One plan, asked for one sigma and axis after another, answers each as a plan of its own would: nothing of the
 * kernel before stays. */
static void in_turn(rb_checker *c, rb_dtype t) {
  static const struct {
    double sigma;
    int axis;
  } asked[] = {{7, 2}, {7, 0}, {9, 0}, {1, 1}, {7, -1}, {9, -1}, {7, 1}};
  const rb_smooth_desc d = {.grid = {{40, 30, 20}}, .components = 1, .dtype = t};
  const size_t bytes = (size_t)values_of(&d) * rb_dtype_size(t);
  const rb_backend *b = NULL;
  rb_smooth_plan *p = NULL;
  void *in = malloc(bytes), *one = malloc(bytes), *two = malloc(bytes);
  rb_array from = {0}, to = {0};
  rb_check_random(t, in, values_of(&d), 69);
  if (rb_check_status(c, rb_backend_get(c->variant->backend, &b), "backend") &&
      rb_check_status(c, rb_smooth_create(c->variant, &d, &p), "plan") &&
      rb_check_status(c, rb_to_backend(b, in, t, values_of(&d), &from), "field") &&
      rb_check_status(c, rb_poisoned(b, t, values_of(&d), &to), "result"))
    for (size_t k = 0; k < sizeof asked / sizeof *asked; k++) {
      rb_status st = asked[k].axis < 0 ? rb_smooth(p, asked[k].sigma, from, to)
                                       : rb_smooth_pass(p, asked[k].sigma, asked[k].axis, from, to);
      if (st == RB_OK) st = rb_array_download(to, one);
      if (rb_check_status(c, st, "in turn") &&
          rb_check_status(c, by(c->variant, &d, asked[k].sigma, asked[k].axis, in, two), "alone"))
        rb_check_value(c, rb_check_distance(t, one, two, values_of(&d)), 0, "sigma %g axis %d after others, %s",
                       asked[k].sigma, asked[k].axis, rb_dtype_name(t));
    }
  rb_smooth_destroy(p);
  rb_array_destroy(&to), rb_array_destroy(&from);
  free(two), free(one), free(in);
}

/* Kernels of any width: on grids that are shorter (what lies outside is zero, not left out of the weights), and
 * longer. A variant that ends somewhere says so. */
static void wide(rb_checker *c, rb_dtype t) {
  static const double sigmas[] = {9, 40, 300};
  const rb_grid grids[] = {rb_grid_make(150, 3, 20), rb_grid_make(3, 18, 300), rb_grid_make(2, 290, 17)};
  const int most = ((const rb_smooth_ops *)c->variant->ops)->most;
  for (size_t k = 0; k < sizeof sigmas / sizeof *sigmas; k++) {
    impulse(c, t, sigmas[k]);
    for (size_t g = 0; g < sizeof grids / sizeof *grids; g++) {
      const rb_smooth_desc d = {.grid = grids[g],
                                .components = 2,
                                .dtype = t,
                                .sigma = k == 1 ? 0 : sigmas[k]}; /* plans for this sigma, and for any */
      const double longest = fmax(fmax((double)d.grid.n[0], (double)d.grid.n[1]), (double)d.grid.n[2]),
                   radius = fmin(ceil(3 * sigmas[k]), longest - 1);
      if (!most || radius <= most)
        relative_to_oracle(c, &d, sigmas[k]);
      else
        refused(c, &d, sigmas[k]);
    }
  }
}

void rb_check_smooth(rb_checker *c) {
  static const double sigmas[] = {0,   0.5, 1.3, 2,
                                  2.2, 3,   3.8, 5}; /* every compiled radius of cuda/march, and one beyond */
  for (int t = RB_F32; t <= RB_F64; t++) {
    rb_smooth_desc d = {.grid = {{17, 12, 23}}, .components = 3, .dtype = (rb_dtype)t};
    if (!supported(c->variant, &d)) continue;
    symmetric(c, &d, 1.7);
    linear_and_shift(c, (rb_dtype)t, 1);
    linear_and_shift(c, (rb_dtype)t, 2.2);
    impulse(c, (rb_dtype)t, 1);
    impulse(c, (rb_dtype)t, 2.2);
    for (int g = 0; g < rb_check_grid_count; g++)
      for (size_t k = 0; k < sizeof sigmas / sizeof *sigmas; k++) {
        d.grid = rb_check_grids[g], d.components = k % 2 ? 3 : 1;
        against_oracle(c, &d, sigmas[k]);
      }
    static const struct {
      rb_grid grid;
      int components;
      double sigma;
    } longer[] = {{{{3, 4, 700}}, 2, 3}, /* than a piece of a row, then of a column, and of a plane */
                  {{{132, 33, 66}}, 1, 1.7},
                  {{{18, 66, 132}}, 1, 1.7}, /* rows on 16 bytes, several tiles both ways */
                  {{{18, 66, 132}}, 1, 2.4},
                  {{{20, 260, 9}}, 1, 2.4}};
    for (size_t i = 0; i < sizeof longer / sizeof *longer; i++) {
      d.grid = longer[i].grid, d.components = longer[i].components;
      against_oracle(c, &d, longer[i].sigma);
    }
    planned(c, (rb_dtype)t);
    wide(c, (rb_dtype)t);
    in_turn(c, (rb_dtype)t);
    if (c->variant->backend != RB_CUDA) continue;
    /* on 132 multiprocessors: 100 tiles, whose planes are dealt in runs that cross from tile to tile; 300, of which
     * 264 go whole */
    d.grid = rb_grid_make(40, 320, 640);
    if (!rb_check_fits(c, d.grid)) continue;
    for (d.components = 1; d.components <= 3; d.components += 2) against_baseline(c, &d, 1);
  }
}

void rb_check_smooth_golden(rb_checker *c) {
  const rb_variant *v = c->of_variant ? c->variant : &rb_smooth_family.variants[0];
  const rb_smooth_desc d = {.grid = {{4, 7, 6}}, .components = 2, .dtype = RB_F32};
  const rb_smooth_desc broad = {
      .grid = {{4, 5, 40}}, .components = 1, .dtype = RB_F32}; /* by cuda/march's kernel for wide Gaussians */
  enum { N = 2 * 4 * 7 * 6, WIDE = 4 * 5 * 40 };
  float in[N], out[N], wide_in[WIDE], wide_out[WIDE];
  rb_check_random(RB_F32, in, N, 64);
  rb_check_random(RB_F32, wide_in, WIDE, 65);
  if (rb_check_status(c, by(v, &d, 1.2, -1, in, out), "golden"))
    rb_check_golden(c, "all-axes", out, N, rb_smooth_tolerance(&d, 1.2, 1));
  if (rb_check_status(c, by(v, &d, 2.5, 1, in, out), "golden"))
    rb_check_golden(c, "x2", out, N, rb_smooth_tolerance(&d, 2.5, 1));
  if (rb_check_status(c, by(v, &broad, 5, -1, wide_in, wide_out), "golden"))
    rb_check_golden(c, "sigma-5", wide_out, WIDE, rb_smooth_tolerance(&broad, 5, 1));
}
