/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks of the gausssum family: single sums. */
#include "experiments/runner/check/check_gausssum.h"
#include "experiments/runner/inputs/host_apply.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

rb_gauss_points rb_gauss_points_make(const rb_gausssum_desc *d, double spread) {
  rb_gauss_points in = {malloc(rb_gauss_bytes(d)), malloc(rb_gauss_bytes(d)), malloc(rb_gauss_bytes(d)),
                        malloc(rb_gauss_bytes(d))};
  int64_t m = d->n * d->dim;
  rb_check_random(d->dtype, in.q, m, 31);
  for (int64_t i = 0; i < m; i++) rb_check_set(d->dtype, in.q, i, spread * rb_check_at(d->dtype, in.q, i));
  rb_check_random(d->dtype, in.p, m, 32);
  rb_check_random(d->dtype, in.alpha, m, 33);
  rb_check_random(d->dtype, in.beta, m, 34);
  return in;
}
void rb_gauss_points_drop(rb_gauss_points in) { free(in.q), free(in.p), free(in.alpha), free(in.beta); }
rb_gauss_sums rb_gauss_sums_room(const rb_gausssum_desc *d) {
  rb_gauss_sums s;
  void **all = (void **)&s;
  for (size_t i = 0; i < sizeof s / sizeof *all; i++) all[i] = malloc(rb_gauss_bytes(d));
  return s;
}
void rb_gauss_sums_drop(rb_gauss_sums s) {
  void **all = (void **)&s;
  for (size_t i = 0; i < sizeof s / sizeof *all; i++) free(all[i]);
}

rb_status rb_gauss_sums_by(const rb_variant *v, const rb_gausssum_desc *d, double sigma, rb_gauss_points in,
                           rb_gauss_sums out) {
  rb_status st = RB_OK;
  const rb_backend *b;
  rb_gausssum_plan *p = NULL;
  rb_array q = {0}, m = {0}, alpha = {0}, beta = {0}, one = {0}, two = {0};
  RB_TRY(rb_backend_get(v->backend, &b));
  RB_TRY(rb_gausssum_create(v, d, &p));
  RB_TRY(rb_to_backend(b, in.q, d->dtype, d->dim * d->n, &q));
  RB_TRY(rb_to_backend(b, in.p, d->dtype, d->dim * d->n, &m));
  RB_TRY(rb_to_backend(b, in.alpha, d->dtype, d->dim * d->n, &alpha));
  RB_TRY(rb_to_backend(b, in.beta, d->dtype, d->dim * d->n, &beta));
  RB_TRY(rb_poisoned(b, d->dtype, d->dim * d->n, &one));
  RB_TRY(rb_poisoned(b, d->dtype, d->dim * d->n, &two));
  RB_TRY(rb_gausssum_flow(p, sigma, q, m, one, two));
  RB_TRY(rb_array_download(one, out.hq));
  RB_TRY(rb_array_download(two, out.hp));
  RB_TRY(rb_gausssum_backward(p, sigma, q, m, alpha, beta, one, two));
  RB_TRY(rb_array_download(one, out.fq));
  RB_TRY(rb_array_download(two, out.fp));
  RB_TRY(rb_gausssum_sum(p, sigma, d->n, alpha, q, m, one));
  RB_TRY(rb_array_download(one, out.sum));
  RB_TRY(rb_gausssum_flow(p, sigma, q, m, rb_array_none(), two)); /* Hp alone, where a variant has a shorter way */
  RB_TRY(rb_array_download(two, out.hp_alone));
done:
  rb_gausssum_destroy(p);
  rb_array_destroy(&two), rb_array_destroy(&one), rb_array_destroy(&beta), rb_array_destroy(&alpha),
      rb_array_destroy(&m), rb_array_destroy(&q);
  return st;
}

/* For sums of n terms of random sign, each at most `term`. */
static double limit_of(const rb_variant *v, const rb_gausssum_desc *d, double term) {
  return rb_gausssum_tolerance(v, d, sqrt((double)d->n) * term);
}

static void against_oracle(rb_checker *c, const rb_gausssum_desc *d, double sigma) {
  rb_gauss_points in = rb_gauss_points_make(d, 3);
  rb_gauss_sums mine = rb_gauss_sums_room(d), oracle = rb_gauss_sums_room(d);
  int64_t m = d->n * d->dim;
  if (rb_check_status(c, rb_gauss_sums_by(c->variant, d, sigma, in, mine), "sums") &&
      rb_check_status(c, rb_gauss_sums_by(&rb_gausssum_family.variants[0], d, sigma, in, oracle), "oracle")) {
    const void *a[] = {mine.hq, mine.hp, mine.fq, mine.fp, mine.sum, mine.hp_alone};
    const void *b[] = {oracle.hq, oracle.hp, oracle.fq, oracle.fp, oracle.sum, oracle.hp_alone};
    static const char *const names[] = {"Hq", "Hp", "fq", "fp", "sum", "Hp alone"};
    /* largest terms: G d / sigma stays below 1 / sqrt(e), products of 3 momenta below 3 */
    const double terms[] = {3 / sigma,     1, (3 * (2 + 2 * d->dim) + 6) / (sigma * sigma) * (1 + sigma),
                            1 + 6 / sigma, 1, 1};
    for (int k = 0; k < 6; k++)
      rb_check_value(c, rb_check_distance(d->dtype, a[k], b[k], m), limit_of(c->variant, d, terms[k]),
                     "%s n %lld dim %d sigma %g %s", names[k], (long long)d->n, d->dim, sigma,
                     rb_dtype_name(d->dtype));
    for (int t = 2; t <= RB_GAUSS_MOST_STEPS && rb_gauss_shoots(c->variant); t += 1 + (d->n > 300))
      rb_check_gauss_steps(c, d, sigma, in, t);
  }
  rb_gauss_sums_drop(oracle), rb_gauss_sums_drop(mine), rb_gauss_points_drop(in);
}

/* Every pair pushes as it is pushed: sum_i Hq_i = 0; and <alpha, Hp> is symmetric in alpha and p. */
static void conservation(rb_checker *c, const rb_gausssum_desc *d, double sigma) {
  rb_gauss_points in = rb_gauss_points_make(d, 3);
  rb_gauss_sums s = rb_gauss_sums_room(d);
  int64_t m = d->n * d->dim;
  if (rb_check_status(c, rb_gauss_sums_by(c->variant, d, sigma, in, s), "sums")) {
    for (int k = 0; k < d->dim; k++) {
      double total = 0;
      for (int64_t i = 0; i < d->n; i++) total += rb_check_at(d->dtype, s.hq, k * d->n + i);
      rb_check_value(c, fabs(total), (double)d->n * limit_of(c->variant, d, 3 / sigma),
                     "momentum is conserved, dim %d %s", d->dim, rb_dtype_name(d->dtype));
    }
    double forward = rb_check_dot(d->dtype, in.alpha, s.hp, m);
    rb_gauss_points swapped = in;
    swapped.p = in.alpha;
    if (rb_check_status(c, rb_gauss_sums_by(c->variant, d, sigma, swapped, s), "sums"))
      rb_check_value(c, fabs(forward - rb_check_dot(d->dtype, in.p, s.hp, m)), (double)m * limit_of(c->variant, d, 1),
                     "the kernel is symmetric, %s", rb_dtype_name(d->dtype));
  }
  rb_gauss_sums_drop(s), rb_gauss_points_drop(in);
}

/* Hp is linear in p; nothing changes where all points move by the same, which is exact here: q are multiples of
 * 2^-10. */
static void linear_and_invariant(rb_checker *c, const rb_gausssum_desc *d, double sigma) {
  rb_gauss_points in = rb_gauss_points_make(d, 3);
  rb_gauss_sums one = rb_gauss_sums_room(d), two = rb_gauss_sums_room(d);
  const int64_t m = d->n * d->dim;
  rb_gauss_points other = in;
  other.p = in.alpha;
  for (int64_t i = 0; i < m; i++)
    rb_check_set(d->dtype, in.q, i, floor(1024 * rb_check_at(d->dtype, in.q, i)) / 1024);
  if (rb_check_status(c, rb_gauss_sums_by(c->variant, d, sigma, in, one), "sums") &&
      rb_check_status(c, rb_gauss_sums_by(c->variant, d, sigma, other, two), "sums")) {
    for (int64_t i = 0; i < m; i++) { /* `two` keeps 2 Hp(p) - 3 Hp(alpha), beta becomes 2 p - 3 alpha */
      rb_check_set(d->dtype, two.hp, i, 2 * rb_check_at(d->dtype, one.hp, i) - 3 * rb_check_at(d->dtype, two.hp, i));
      rb_check_set(d->dtype, in.beta, i, 2 * rb_check_at(d->dtype, in.p, i) - 3 * rb_check_at(d->dtype, in.alpha, i));
    }
    other.p = in.beta;
    if (rb_check_status(c, rb_gauss_sums_by(c->variant, d, sigma, other, one), "sums"))
      rb_check_value(c, rb_check_distance(d->dtype, one.hp, two.hp, m), 2 * limit_of(c->variant, d, 5),
                     "Hp is linear in p, dim %d %s", d->dim, rb_dtype_name(d->dtype));
    if (rb_check_status(c, rb_gauss_sums_by(c->variant, d, sigma, in, one), "sums")) {
      for (int64_t i = 0; i < m; i++) rb_check_set(d->dtype, in.q, i, rb_check_at(d->dtype, in.q, i) + 8);
      if (rb_check_status(c, rb_gauss_sums_by(c->variant, d, sigma, in, two), "sums")) {
        rb_check_value(c, rb_check_distance(d->dtype, one.hp, two.hp, m), limit_of(c->variant, d, 1),
                       "Hp after a shift, dim %d %s", d->dim, rb_dtype_name(d->dtype));
        rb_check_value(c, rb_check_distance(d->dtype, one.hq, two.hq, m), limit_of(c->variant, d, 3 / sigma),
                       "Hq after a shift, dim %d %s", d->dim, rb_dtype_name(d->dtype));
      }
    }
  }
  rb_gauss_sums_drop(two), rb_gauss_sums_drop(one), rb_gauss_points_drop(in);
}

/* fq and fp are derivatives of f = <alpha, Hp> - <beta, Hq>: central differences in float64. */
static void derivatives(rb_checker *c, const rb_gausssum_desc *d, double sigma) {
  rb_gauss_points in = rb_gauss_points_make(d, 2);
  rb_gauss_sums s = rb_gauss_sums_room(d), t = rb_gauss_sums_room(d);
  int64_t m = d->n * d->dim;
  double e = 1e-5, worst = 0;
  if (rb_check_status(c, rb_gauss_sums_by(c->variant, d, sigma, in, s), "sums"))
    for (int64_t i = 0; i < m; i += 5)
      for (int which = 0; which < 2; which++) {
        double *x = which ? in.p : in.q, keep = x[i], f[2];
        for (int side = 0; side < 2; side++) {
          x[i] = keep + (side ? e : -e);
          if (rb_gauss_sums_by(c->variant, d, sigma, in, t) != RB_OK) break;
          f[side] = rb_check_dot(RB_F64, in.alpha, t.hp, m) - rb_check_dot(RB_F64, in.beta, t.hq, m);
        }
        x[i] = keep;
        worst = fmax(worst, fabs((f[1] - f[0]) / (2 * e) - ((double *)(which ? s.fp : s.fq))[i]));
      }
  rb_check_value(c, worst, 1e-7, "backward products are derivatives, dim %d", d->dim);
  rb_gauss_sums_drop(t), rb_gauss_sums_drop(s), rb_gauss_points_drop(in);
}

/* Sums at other points than the set's own, fewer and more. */
static rb_status sum_at(const rb_variant *v, const rb_gausssum_desc *d, double sigma, rb_gauss_points in, int64_t nx,
                        const void *x, void *out) {
  rb_status st = RB_OK;
  const rb_backend *b;
  rb_gausssum_plan *p = NULL;
  rb_array at = {0}, q = {0}, m = {0}, sum = {0};
  RB_TRY(rb_backend_get(v->backend, &b));
  RB_TRY(rb_gausssum_create(v, d, &p));
  RB_TRY(rb_to_backend(b, x, d->dtype, nx * d->dim, &at));
  RB_TRY(rb_to_backend(b, in.q, d->dtype, d->dim * d->n, &q));
  RB_TRY(rb_to_backend(b, in.p, d->dtype, d->dim * d->n, &m));
  RB_TRY(rb_poisoned(b, d->dtype, nx * d->dim, &sum));
  RB_TRY(rb_gausssum_sum(p, sigma, nx, at, q, m, sum));
  RB_TRY(rb_array_download(sum, out));
done:
  rb_gausssum_destroy(p);
  rb_array_destroy(&sum), rb_array_destroy(&m), rb_array_destroy(&q), rb_array_destroy(&at);
  return st;
}
static void other_points(rb_checker *c, const rb_gausssum_desc *d, double sigma) {
  rb_gauss_points in = rb_gauss_points_make(d, 3);
  for (int more = 0; more < 2; more++) {
    const int64_t nx = more ? 3 * d->n + 5 : d->n / 3 + 1, m = nx * d->dim;
    const rb_gausssum_desc wide = {.n = nx, .dim = d->dim, .dtype = d->dtype};
    void *mine = malloc(rb_gauss_bytes(&wide)), *oracle = malloc(rb_gauss_bytes(&wide));
    rb_gauss_points x = rb_gauss_points_make(&wide, 3);
    if (rb_check_status(c, sum_at(c->variant, d, sigma, in, nx, x.alpha, mine), "sum") &&
        rb_check_status(c, sum_at(&rb_gausssum_family.variants[0], d, sigma, in, nx, x.alpha, oracle), "oracle"))
      rb_check_value(c, rb_check_distance(d->dtype, mine, oracle, m), limit_of(c->variant, d, 1),
                     "sum of %lld at %lld points dim %d %s", (long long)d->n, (long long)nx, d->dim,
                     rb_dtype_name(d->dtype));
    rb_gauss_points_drop(x);
    free(oracle), free(mine);
  }
  rb_gauss_points_drop(in);
}

/* Among very many points the oracle works out some rows only. */
static void rows_of_many(rb_checker *c, int64_t n) {
  enum { ALL = 5 };
  const rb_gausssum_desc d = {.n = n, .dim = 3, .dtype = RB_F32};
  const double sigma = 2, terms[ALL] = {3 / sigma, 1, 30 / (sigma * sigma) * (1 + sigma), 1 + 6 / sigma,
                                        1}; /* as in against_oracle */
  static const char *const names[ALL] = {"Hq", "Hp", "fq", "fp", "Hp alone"};
  rb_gauss_points in = rb_gauss_points_make(&d, 8);
  rb_gauss_sums s = rb_gauss_sums_room(&d);
  const void *mine[ALL] = {s.hq, s.hp, s.fq, s.fp, s.hp_alone};
  if (rb_check_status(c, rb_gauss_sums_by(c->variant, &d, sigma, in, s), "sums")) {
    double worst[ALL] = {0};
    for (int64_t i = 0; i < n; i += n / 23) {
      double exact[ALL][3];
      rb_gausssum_oracle_row(&d, sigma, in.q, in.p, NULL, NULL, i, exact[0], exact[1]);
      rb_gausssum_oracle_row(&d, sigma, in.q, in.p, in.alpha, in.beta, i, exact[2], exact[3]);
      memcpy(exact[4], exact[1], sizeof exact[1]);
      for (int k = 0; k < ALL; k++)
        for (int a = 0; a < 3; a++) {
          const double e = fabs(rb_check_at(d.dtype, mine[k], a * n + i) - exact[k][a]);
          if (worst[k] == worst[k] && !(e <= worst[k])) worst[k] = e;
        }
    }
    for (int k = 0; k < ALL; k++)
      rb_check_value(c, worst[k], limit_of(c->variant, &d, terms[k]), "%s, some rows of %lld", names[k],
                     (long long)n);
  }
  rb_gauss_sums_drop(s), rb_gauss_points_drop(in);
}

/* Whether the variant under test takes such sets, and was not asked to leave them out. */
static int wanted(const rb_checker *c, const rb_gausssum_desc *d) {
  int ok = ((const rb_gausssum_ops *)c->variant->ops)->supports(d) == RB_OK;
  rb_clear();
  return ok && (c->largest == 0 || d->n <= c->largest);
}

void rb_check_gausssum(rb_checker *c) {
  static const int64_t counts[] = {1, 2, 31, 255, 256, 257, 1000},
                       large[] = {2048, 6001}; /* where cuda/tiled takes other shapes */
  for (int t = RB_F32; t <= RB_F64; t++)
    for (int dim = 2; dim <= 3; dim++) {
      for (size_t k = 0; k < sizeof counts / sizeof *counts; k++) {
        rb_gausssum_desc d = {.n = counts[k], .dim = dim, .dtype = (rb_dtype)t};
        if (!wanted(c, &d)) continue;
        against_oracle(c, &d, 0.7);
        against_oracle(c, &d, 2);
      }
      for (size_t k = 0; k < sizeof large / sizeof *large && c->variant->backend == RB_CUDA; k++) {
        rb_gausssum_desc d = {.n = large[k], .dim = dim, .dtype = (rb_dtype)t};
        if (wanted(c, &d)) against_oracle(c, &d, 0.7);
      }
      /* the first set that cuda/tiled takes by tiles, whatever --largest says; larger tiles */
      static const int64_t many[] = {3001, 16001, 70001, 150001};
      for (size_t k = 0; k < sizeof many / sizeof *many && c->variant->backend == RB_CUDA &&
                         rb_gauss_shoots(c->variant) && t == RB_F32 && dim == 3;
           k++) {
        rb_gausssum_desc d = {.n = many[k], .dim = dim, .dtype = RB_F32};
        if (k == 0 || wanted(c, &d)) rows_of_many(c, many[k]);
      }
      /* every shape of cuda/tiled's flows: one, two and four groups of rows a block; then a launch a step, in 3D by
       * rows and by tiles */
      static const int64_t flows[] = {1, 20, 1847, 2500, 2900, 5000};
      for (size_t k = 0;
           k < sizeof flows / sizeof *flows && c->variant->backend == RB_CUDA && rb_gauss_shoots(c->variant); k++) {
        rb_gausssum_desc d = {.n = flows[k], .dim = dim, .dtype = (rb_dtype)t};
        if (wanted(c, &d)) rb_check_gauss_long_flow(c, &d);
      }
      rb_gausssum_desc d = {.n = 97, .dim = dim, .dtype = (rb_dtype)t};
      if (!wanted(c, &d)) continue;
      other_points(c, &d, 1.2);
      conservation(c, &d, 1.2);
      linear_and_invariant(c, &d, 1.2);
      d.n = 20;
      if (t == RB_F64) derivatives(c, &d, 1.2);
    }
}

/* Recorded: 3D sums of 60 points in float32. */
void rb_check_gausssum_golden(rb_checker *c) {
  const rb_gausssum_desc d = {.n = 60, .dim = 3, .dtype = RB_F32};
  rb_gauss_points in = rb_gauss_points_make(&d, 3);
  rb_gauss_sums s = rb_gauss_sums_room(&d);
  const double sigma = 1.2,
               terms[] = {3 / sigma, 1, (3 * (2 + 2 * d.dim) + 6) / (sigma * sigma) * (1 + sigma), 1 + 6 / sigma, 1};
  static const char *const names[] = {"Hq", "Hp", "fq", "fp", "sum"};
  const rb_variant *v = c->of_variant ? c->variant : &rb_gausssum_family.variants[0];
  if (rb_check_status(c, rb_gauss_sums_by(v, &d, sigma, in, s), "golden")) {
    const void *values[] = {s.hq, s.hp, s.fq, s.fp, s.sum};
    for (int k = 0; k < 5; k++)
      rb_check_golden(c, names[k], values[k], d.n * d.dim, limit_of(c->variant, &d, terms[k]));
  }
  if (!c->of_variant || rb_gauss_shoots(c->variant))
    rb_check_gauss_golden_flow(c, &d, sigma,
                               in); /* compared where the recording holds it: a build without CUDA knows no ops */
  rb_gauss_sums_drop(s), rb_gauss_points_drop(in);
}
