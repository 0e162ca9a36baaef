/* SPDX-License-Identifier: BSD-3-Clause */
/* splat: against the oracle; mass kept; duality with interp; any order of points to the bit where that is promised;
 * points that are no numbers; sums that exceed their type. */
#include "experiments/runner/check/check.h"
#include "experiments/runner/inputs/host_apply.h"
#include "experiments/runner/inputs/host_splat.h"
#include "kernels/base/rng.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* How points lie: anywhere on the grid and around it; near the node of their number; all in one cell. */
enum { RANDOM, NEAR, SINGULAR, DEFORMATIONS };

static void scatter(const rb_splat_desc *d, int how, void *x) {
  const int64_t *n = d->grid.n;
  for (int64_t p = 0; p < d->np; p++) {
    const int64_t node[3] = {p / n[2] / n[1] % n[0], p / n[2] % n[1], p % n[2]};
    for (int a = 0; a < 3; a++) {
      const double r = rb_rng_symmetric(31 + (uint64_t)a, (uint64_t)p), half = 0.5 * (double)(n[a] - 1);
      const double at = how == NEAR     ? (double)node[a] + 1.5 * r
                        : how == RANDOM ? half + 1.2 * (half + 1) * r
                                        : half + 0.25;
      rb_check_set(d->dtype, x, a * d->np + p, at);
    }
  }
}

typedef struct {
  void *x, *m, *got, *want;
} arrays;
static void release(arrays *a) { free(a->x), free(a->m), free(a->got), free(a->want); }
static int reserve(rb_checker *c, const rb_splat_desc *d, arrays *a) {
  const size_t size = rb_dtype_size(d->dtype), nodes = (size_t)(rb_grid_points(d->grid) * d->components) * size;
  *a = (arrays){malloc(3 * (size_t)d->np * size), malloc((size_t)(d->np * d->components) * size), malloc(nodes),
                malloc(nodes)};
  if (a->x && a->m && a->got && a->want) return 1;
  rb_check_status(c, RB_FAIL(RB_ENOMEM, "host memory"), "splat");
  return 0;
}

/* Greatest sum of weights at a node, by the oracle. */
static double most_weight(const rb_splat_desc *like, const void *x) {
  rb_splat_desc d = *like;
  d.components = 1;
  const int64_t n = rb_grid_points(d.grid);
  void *one = malloc((size_t)d.np * rb_dtype_size(d.dtype)), *sum = malloc((size_t)n * rb_dtype_size(d.dtype));
  double most = 0;
  for (int64_t p = 0; p < d.np && one; p++) rb_check_set(d.dtype, one, p, 1);
  if (one && sum && rb_host_splat(&rb_splat_family.variants[0], &d, x, one, sum, NULL) == RB_OK)
    for (int64_t i = 0; i < n; i++) most = fmax(most, rb_check_at(d.dtype, sum, i));
  rb_clear();
  free(sum), free(one);
  return most;
}

static int supported(const rb_variant *v, const rb_splat_desc *d) {
  const int ok = ((const rb_splat_ops *)v->ops)->supports(d) == RB_OK;
  rb_clear();
  return ok;
}

/* The points in reverse order. */
static void reverse(const rb_splat_desc *d, arrays *a) {
  for (int k = 0; k < 3 + d->components; k++) {
    void *row = k < 3 ? a->x : a->m;
    const int64_t first = (k < 3 ? k : k - 3) * d->np;
    for (int64_t p = 0; p < d->np / 2; p++) {
      const double one = rb_check_at(d->dtype, row, first + p),
                   two = rb_check_at(d->dtype, row, first + d->np - 1 - p);
      rb_check_set(d->dtype, row, first + p, two), rb_check_set(d->dtype, row, first + d->np - 1 - p, one);
    }
  }
}

static void one_case(rb_checker *c, const rb_splat_desc *d, int how) {
  static const char *const names[] = {"random", "near their nodes", "in one cell"};
  static const char *const boundaries[] = {"periodic", "clamp", "zero"};
  const int64_t n = rb_grid_points(d->grid), *g = d->grid.n;
  arrays a;
  if (reserve(c, d, &a)) {
    char what[160];
    snprintf(what, sizeof what, "%s %s %s %lldx%lldx%lld %d comp %s np=%lld",
             d->basis == RB_SPLAT_LINEAR ? "linear" : "cubic", boundaries[d->boundary], names[how], (long long)g[0],
             (long long)g[1], (long long)g[2], d->components, rb_dtype_name(d->dtype), (long long)d->np);
    scatter(d, how, a.x);
    rb_check_random(d->dtype, a.m, d->np * d->components, 41);
    const double most = most_weight(d, a.x), limit = rb_splat_tolerance(c->variant, d, most, 1);
    if (rb_check_status(c, rb_host_splat(c->variant, d, a.x, a.m, a.got, NULL), "%s", what) &&
        rb_check_status(c, rb_host_splat(&rb_splat_family.variants[0], d, a.x, a.m, a.want, NULL), "oracle")) {
      rb_check_value(c, rb_check_distance(d->dtype, a.got, a.want, n * d->components), limit, "%s", what);
      if (d->boundary != RB_ZERO) { /* nothing is dropped */
        double mass = 0, sum = 0;
        for (int64_t p = 0; p < d->np; p++) mass += rb_check_at(d->dtype, a.m, p);
        for (int64_t i = 0; i < n; i++) sum += rb_check_at(d->dtype, a.got, i);
        rb_check_value(c, fabs(mass - sum), limit * sqrt((double)n) + 1e-12 * (double)d->np, "mass, %s", what);
      }
      if (((const rb_splat_ops *)c->variant->ops)->ordered) {
        reverse(d, &a);
        if (rb_check_status(c, rb_host_splat(c->variant, d, a.x, a.m, a.want, NULL), "%s", what))
          rb_check_value(c, rb_check_distance(d->dtype, a.got, a.want, n * d->components), 0,
                         "points in reverse order, to the bit: %s", what);
      }
    }
  }
  release(&a);
}

/* <S m, w> = <m, I w> for linear weights; |their difference| / sum |m I w|. */
static void duality(rb_checker *c, const rb_splat_desc *d, int how) {
  const int64_t n = rb_grid_points(d->grid);
  const rb_interp_desc back = {
      .grid = d->grid, .basis = RB_LINEAR, .boundary = d->boundary, .dtype = d->dtype, .components = 1};
  arrays a;
  if (reserve(c, d, &a)) {
    void *w = malloc((size_t)n * rb_dtype_size(d->dtype)), *at = malloc((size_t)d->np * rb_dtype_size(d->dtype));
    scatter(d, how, a.x);
    rb_check_random(d->dtype, a.m, d->np, 43);
    if (w && at) {
      rb_check_random(d->dtype, w, n, 44);
      if (rb_check_status(c, rb_host_splat(c->variant, d, a.x, a.m, a.got, NULL), "duality") &&
          rb_check_status(c, rb_host_interp(&rb_interp_family.variants[0], &back, w, d->np, a.x, at), "interp")) {
        double size = 0;
        for (int64_t p = 0; p < d->np; p++)
          size += fabs(rb_check_at(d->dtype, a.m, p) * rb_check_at(d->dtype, at, p));
        rb_check_value(c, fabs(rb_check_dot(d->dtype, a.got, w, n) - rb_check_dot(d->dtype, a.m, at, d->np)) / size,
                       d->dtype == RB_F64 ? 1e-13
                       : how == SINGULAR  ? 1e-3
                                          : 2e-6,
                       "duality with interp, boundary %d", d->boundary);
      }
    }
    free(at), free(w);
  }
  release(&a);
}

/* NaN and infinite coordinates and masses: those points add nothing, and are counted. */
static void not_numbers(rb_checker *c, const rb_splat_desc *d) {
  const double odd[3] = {NAN, INFINITY, -INFINITY};
  arrays a;
  if (reserve(c, d, &a)) {
    int64_t lost = -1;
    scatter(d, NEAR, a.x);
    rb_check_random(d->dtype, a.m, d->np * d->components, 45);
    for (int i = 0; i < 6; i++) /* six points, far from each other */
      rb_check_set(d->dtype, i < 3 ? a.x : a.m,
                   (i < 3 ? i * d->np : (i % d->components) * d->np) + (7 + 13 * i) % d->np, odd[i % 3]);
    rb_check_set(d->dtype, a.x, d->np - 1, 1e30); /* a number, far away */
    if (rb_check_status(c, rb_host_splat(c->variant, d, a.x, a.m, a.got, &lost), "points that are no numbers") &&
        rb_check_status(c, rb_host_splat(&rb_splat_family.variants[0], d, a.x, a.m, a.want, NULL), "oracle")) {
      rb_check_value(c, fabs((double)lost - 6), 0, "points that are no numbers are counted");
      rb_check_value(c, rb_check_distance(d->dtype, a.got, a.want, rb_grid_points(d->grid) * d->components),
                     rb_splat_tolerance(c->variant, d, 30, 1), "points that are no numbers add nothing");
    }
  }
  release(&a);
}

/* Sums of 4096 in one node, of numbers that end at 2048: refused, in whichever way it wraps. */
static void too_much(rb_checker *c, rb_splat_desc d) {
  if (!((const rb_splat_ops *)c->variant->ops)->unit_bits) return;
  arrays a;
  if (reserve(c, &d, &a)) {
    for (int times = 0; times < 3; times++) {
      scatter(&d, SINGULAR, a.x);
      for (int64_t p = 0; p < d.np; p++)
        rb_check_set(d.dtype, a.m, p,
                     times == 2 && p > 0 ? 0 : (times ? 20000.0 : 4097.0 * 8) / (times == 2 ? 1 : (double)d.np));
      const rb_status st = rb_host_splat(c->variant, &d, a.x, a.m, a.got, NULL);
      rb_clear();
      rb_check_value(c, st == RB_EINVAL ? 0 : 1, 0, "a sum that exceeds its type is refused (0: it is), case %d",
                     times);
    }
  }
  release(&a);
}

/* Added to half of what is there: the sums that run writes, added in one rounding. */
static rb_status added(const rb_variant *v, const rb_splat_desc *d, const arrays *a, void *elsewhere) {
  rb_status st = RB_OK;
  const int64_t values = rb_grid_points(d->grid) * d->components;
  const rb_backend *b;
  rb_splat_plan *p = NULL;
  rb_array x = {0}, m = {0}, to = {0}, other = {0};
  RB_TRY(rb_backend_get(v->backend, &b));
  RB_TRY(rb_splat_create(v, d, &p));
  RB_TRY(rb_to_backend(b, a->x, d->dtype, 3 * d->np, &x));
  RB_TRY(rb_to_backend(b, a->m, d->dtype, d->components * d->np, &m));
  RB_TRY(rb_to_backend(b, a->got, d->dtype, values, &to));
  RB_TRY(rb_poisoned(b, d->dtype, values, &other));
  RB_TRY(rb_splat_onto(p, x, m, 0.5, to, other));
  RB_TRY(rb_splat_onto(p, x, m, 0.5, to, to));
  RB_TRY(rb_array_download(to, a->got));
  RB_TRY(rb_array_download(other, elsewhere));
  RB_TRY(rb_splat_outcome(p, NULL));
done:
  rb_splat_destroy(p);
  rb_array_destroy(&other), rb_array_destroy(&to), rb_array_destroy(&m), rb_array_destroy(&x);
  return st;
}
static void sums_are_added(rb_checker *c, const rb_splat_desc *d) {
  arrays a;
  const int64_t values = rb_grid_points(d->grid) * d->components;
  if (!rb_splat_has_onto(c->variant)) return;
  if (reserve(c, d, &a)) {
    scatter(d, RANDOM, a.x);
    rb_check_random(d->dtype, a.m, d->components * d->np, 47);
    rb_check_random(d->dtype, a.got, values, 48);
    if (rb_check_status(c, rb_host_splat(c->variant, d, a.x, a.m, a.want, NULL), "splat")) {
      for (int64_t i = 0; i < values; i++) {
        const double sum = rb_check_at(d->dtype, a.want, i), there = rb_check_at(d->dtype, a.got, i);
        rb_check_set(d->dtype, a.want, i,
                     d->dtype == RB_F32 ? (double)fmaf(0.5f, (float)there, (float)sum) : fma(0.5, there, sum));
      }
      void *elsewhere = malloc((size_t)values * rb_dtype_size(d->dtype));
      if (rb_check_status(c, added(c->variant, d, &a, elsewhere), "splat onto")) {
        rb_check_value(c, rb_check_distance(d->dtype, a.got, a.want, values), 0,
                       "added to what is there, to the bit");
        rb_check_value(c, rb_check_distance(d->dtype, elsewhere, a.want, values), 0,
                       "added to what is elsewhere, to the bit");
      }
      free(elsewhere);
    }
  }
  release(&a);
}

/* Few points on a large grid, onto what is there, twice; then a run, which finds nothing that they left behind. */
static rb_status added_twice(const rb_variant *v, const rb_splat_desc *d, const arrays *a, void *then) {
  rb_status st = RB_OK;
  const int64_t values = rb_grid_points(d->grid) * d->components;
  const rb_backend *b;
  rb_splat_plan *p = NULL;
  rb_array x = {0}, m = {0}, to = {0};
  RB_TRY(rb_backend_get(v->backend, &b));
  RB_TRY(rb_splat_create(v, d, &p));
  RB_TRY(rb_to_backend(b, a->x, d->dtype, 3 * d->np, &x));
  RB_TRY(rb_to_backend(b, a->m, d->dtype, d->components * d->np, &m));
  RB_TRY(rb_to_backend(b, a->got, d->dtype, values, &to));
  for (int times = 0; times < 2; times++) RB_TRY(rb_splat_onto(p, x, m, 1, to, to));
  RB_TRY(rb_array_download(to, a->got));
  RB_TRY(rb_splat_run(p, x, m, to));
  RB_TRY(rb_array_download(to, then));
  RB_TRY(rb_splat_outcome(p, NULL));
done:
  rb_splat_destroy(p);
  rb_array_destroy(&to), rb_array_destroy(&m), rb_array_destroy(&x);
  return st;
}
static void few_are_added(rb_checker *c, rb_splat_desc d, int how) {
  arrays a;
  d.np = rb_grid_points(d.grid) / 70, d.components = 3;
  const int64_t values = rb_grid_points(d.grid) * d.components;
  if (!rb_splat_has_onto(c->variant)) return;
  if (reserve(c, &d, &a)) {
    void *then = malloc((size_t)values * rb_dtype_size(d.dtype)),
         *sums = malloc((size_t)values * rb_dtype_size(d.dtype));
    scatter(&d, how, a.x);
    rb_check_random(d.dtype, a.m, d.components * d.np, 51);
    rb_check_random(d.dtype, a.got, values, 52);
    if (rb_check_status(c, rb_host_splat(c->variant, &d, a.x, a.m, sums, NULL), "splat")) {
      for (int64_t i = 0; i < values; i++) {
        const double sum = rb_check_at(d.dtype, sums, i), there = rb_check_at(d.dtype, a.got, i);
        rb_check_set(d.dtype, a.want, i,
                     d.dtype == RB_F32 ? (double)((float)there + (float)sum + (float)sum) : there + sum + sum);
      }
      if (rb_check_status(c, added_twice(c->variant, &d, &a, then), "few points onto")) {
        rb_check_value(c, rb_check_distance(d.dtype, a.got, a.want, values), 0,
                       "few points, twice onto what is there");
        rb_check_value(c, rb_check_distance(d.dtype, then, sums, values), 0, "and nothing of them stays behind");
      }
    }
    free(sums), free(then);
  }
  release(&a);
}

void rb_check_splat(rb_checker *c) {
  for (int t = RB_F32; t <= RB_F64; t++)
    for (int basis = RB_SPLAT_LINEAR; basis <= RB_SPLAT_CUBIC; basis++)
      for (int i = 0; i < rb_check_grid_count; i++) {
        if (!rb_check_fits(c, rb_check_grids[i])) continue;
        const int64_t n = rb_grid_points(rb_check_grids[i]);
        for (int k = 0; k < 4; k++) {
          const rb_splat_desc d = {.grid = rb_check_grids[i],
                                   .np = k == 2 ? 777 : n,
                                   .basis = (rb_splat_basis)basis,
                                   .boundary = (rb_boundary)((i + k) % 3),
                                   .dtype = (rb_dtype)t,
                                   .components = (const int[4]){1, 3, 1, 4}[k]};
          if (supported(c->variant, &d)) one_case(c, &d, (i + k) % DEFORMATIONS);
        }
      }
  for (int t = RB_F32; t <= RB_F64; t++)
    for (int boundary = RB_PERIODIC; boundary <= RB_ZERO; boundary++) {
      const rb_grid g = rb_grid_make(16, 12, 20);
      rb_splat_desc d = {.grid = g,
                         .np = rb_grid_points(g),
                         .boundary = (rb_boundary)boundary,
                         .dtype = (rb_dtype)t,
                         .components = 1};
      if (!supported(c->variant, &d)) continue;
      for (int how = RANDOM; how < DEFORMATIONS; how++) duality(c, &d, how);
      not_numbers(c, &d);
      sums_are_added(c, &d);
      for (int how = RANDOM; how < DEFORMATIONS; how++) few_are_added(c, d, how);
      d.basis = RB_SPLAT_CUBIC;
      if (supported(c->variant, &d)) few_are_added(c, d, RANDOM);
      d.basis = RB_SPLAT_LINEAR;
      too_much(c, d);
    }
  rb_check_splat_known(c);
}

void rb_check_splat_golden(rb_checker *c) {
  const rb_grid g = {{6, 5, 8}};
  enum { N = 6 * 5 * 8 };
  const rb_variant *v = c->of_variant ? c->variant : &rb_splat_family.variants[0];
  float x[3 * N], m[3 * N], out[3 * N];
  char name[64];
  rb_check_random(RB_F32, m, 3 * N, 46);
  for (int k = 0; k < 4; k++) {
    const rb_splat_desc d = {.grid = g,
                             .np = N,
                             .basis = k < 3 ? RB_SPLAT_LINEAR : RB_SPLAT_CUBIC,
                             .boundary = (rb_boundary)(k % 3),
                             .dtype = RB_F32,
                             .components = k == 1 ? 3 : 1};
    if (c->of_variant && !supported(c->variant, &d)) continue;
    snprintf(name, sizeof name, "%s-%d", k < 3 ? "linear" : "cubic", d.components);
    if (k == 2) snprintf(name, sizeof name, "linear-zero");
    scatter(&d, NEAR, x);
    if (rb_check_status(c, rb_host_splat(v, &d, x, m, out, NULL), "golden"))
      rb_check_golden(c, name, out, N * d.components, rb_splat_tolerance(c->variant, &d, 30, 1));
  }
}
