/* SPDX-License-Identifier: BSD-3-Clause */
/* Oracle of interp: serial, double, one loop a tap. Shares no code with the fast variants. */
#include "cpu_ref/base/values.h"
#include "kernels/interp/interp.h"

#include <math.h>
#include <stdlib.h>

enum { REACH = 32 }; /* of the exact prefilter: |z|^32 = 5e-19 */

/* f -> c (B-spline: c = h * f along each axis, else a copy), then
 * out(p) = sum_ijk w_i(t1) w_j(t2) w_k(t3) c[b1+i, b2+j, b3+k],  b = floor(x_p) + first,  t = x_p - floor(x_p) */
typedef struct {
  rb_interp_plan head;
  double *c, *line; /* coefficients [components][n1][n2][n3]; a line of an axis, its ends repeated */
} ref_plan;

/* All bases and boundaries, either precision; B-spline coefficients, weights and sums are double. */
static rb_status supports(const rb_interp_desc *desc) {
  (void)desc;
  return RB_OK;
}

static rb_status plan(const rb_backend *backend, const rb_interp_desc *desc, rb_interp_plan **out) {
  rb_status st = RB_OK;
  const int64_t values = rb_grid_points(desc->grid) * desc->components,
                longest = desc->grid.n[0] + desc->grid.n[1] + desc->grid.n[2] + 2 * REACH;
  ref_plan *p = calloc(1, sizeof *p);
  RB_CHECK(p, RB_ENOMEM, "host memory");
  RB_TRY(rb_alloc(backend, (size_t)values * sizeof(double), (void **)&p->c));
  RB_TRY(rb_alloc(backend, (size_t)longest * sizeof(double), (void **)&p->line));
  *out = &p->head;
  return RB_OK;
done:
  if (p) rb_release(backend, p->c), free(p);
  return st;
}

/* c_k = sum_l h_l f_{k+l}. Exact: h_l = sqrt(3) z^|l|, cut where z^|l| is below the double's resolution.
 * 15 taps (brunn2020 section 2.3.1): h_l = z^|l| / (1 + 2 sum_{m=1..7} z^m), |l| <= 7. */
static void prefilter_axis(double *c, rb_grid g, int axis, rb_prefilter kind, double *line) {
  const double z = RB_BSPLINE_POLE;
  /* z = sqrt(3) - 2. Divided by the sum of all taps in both cases: for the exact filter
   * 1 / (1 + 2 sum_{l >= 1} z^l) = (1 - z) / (1 + z) = sqrt(3). */
  int reach = kind == RB_PREFILTER_EXACT ? REACH : 7;
  double h[REACH + 1], sum = 1;
  for (int l = 0; l <= reach; l++) h[l] = pow(z, l);
  for (int l = 1; l <= reach; l++) sum += 2 * h[l]; /* taps l and -l are equal */
  for (int l = 0; l <= reach; l++) h[l] /= sum;
  int64_t n = g.n[axis], stride = axis == 2 ? 1 : axis == 1 ? g.n[2] : g.n[1] * g.n[2];
  for (int64_t start = 0; start < rb_grid_points(g); start++) {
    /* values at coordinate 0 of the axis begin the lines; periodic, also where a line is shorter than the filter */
    if (start / stride % n != 0) continue;
    for (int64_t k = -reach; k < n + reach; k++) line[reach + k] = c[start + rb_wrap(k, n) * stride];
    for (int64_t k = 0; k < n; k++) {
      double value = 0; /* from the farthest tap on the left to that on the right; z < 0, so signs alternate */
      for (int l = -reach; l <= reach; l++) value += h[abs(l)] * line[reach + k + l];
      c[start + k * stride] = value;
    }
  }
}

/* Three filters of one dimension, x1, x2, x3, in place: the prefilter is separable. Each component by itself. */
static rb_status load(rb_interp_plan *head, const void *f) {
  ref_plan *p = (ref_plan *)head;
  const rb_interp_desc *d = &head->desc;
  int64_t n = rb_grid_points(d->grid);
  for (int64_t i = 0; i < n * d->components; i++) /* widened to double; filtered from there */
    p->c[i] = rb_value_get(d->dtype, f, i);
  if (d->basis == RB_BSPLINE)
    for (int c = 0; c < d->components; c++)
      for (int axis = 0; axis < 3; axis++) prefilter_axis(p->c + c * n, d->grid, axis, d->prefilter, p->line);
  return RB_OK;
}

/* Weights w[0..taps) of the nodes first, first+1, ... around fraction t in [0,1).
 * linear:    1 - t, t                                                       nodes 0, 1
 * Lagrange:  the cubic through nodes -1 .. 2, prod_{j != i} (t - j) / (i - j)
 * B-spline:  (1-t)^3/6,  2/3 - t^2 (2-t)/2,  2/3 - (1-t)^2 (1+t)/2,  t^3/6     nodes -1 .. 2 */
static int weights(rb_interp_basis basis, double t, double w[4], int *first) {
  if (basis == RB_LINEAR) {
    w[0] = 1 - t, w[1] = t;
    *first = 0;
    return 2;
  }
  *first = -1; /* cubics begin one node before floor(x) */
  if (basis == RB_LAGRANGE) {
    w[0] = -t * (t - 1) * (t - 2) / 6;
    w[1] = (t + 1) * (t - 1) * (t - 2) / 2;
    w[2] = -(t + 1) * t * (t - 2) / 2;
    w[3] = (t + 1) * t * (t - 1) / 6;
  } else {
    w[0] = pow(1 - t, 3) / 6;
    w[1] = 2.0 / 3 - t * t * (2 - t) / 2;
    w[2] = 2.0 / 3 - (1 - t) * (1 - t) * (1 + t) / 2;
    w[3] = pow(t, 3) / 6;
  }
  return 4;
}

/* Value of node (i1,i2,i3) of component c under the boundary rule. */
static double node(const ref_plan *p, int c, const int64_t i[3]) {
  const rb_interp_desc *d = &p->head.desc;
  int64_t k[3];
  for (int a = 0; a < 3; a++) {
    const int64_t n = d->grid.n[a]; /* zero: outside along any one axis is enough */
    if (d->boundary == RB_ZERO && (i[a] < 0 || i[a] >= n)) return 0;
    /* periodic: index modulo n. clamp: nearest border node. zero has only inside indices left here. */
    k[a] = d->boundary == RB_PERIODIC ? rb_wrap(i[a], n) : i[a] < 0 ? 0 : i[a] >= n ? n - 1 : i[a];
  }
  return p->c[c * rb_grid_points(d->grid) + (k[0] * d->grid.n[1] + k[1]) * d->grid.n[2] + k[2]];
}

/* sum_ijk w_i(t1) w_j(t2) w_k(t3) c[b1+i, b2+j, b3+k],  b = floor(x) + first */
static double value(const ref_plan *p, int c, const double x[3]) {
  double w[3][4], sum = 0;
  int64_t base[3];
  int taps = 0, first = 0;
  for (int a = 0; a < 3; a++) {
    double cell = floor(x[a]);
    taps = weights(p->head.desc.basis, x[a] - cell, w[a], &first); /* the same `first` for all axes */
    base[a] = (int64_t)cell + first;
  }
  for (int i = 0; i < taps; i++)
    for (int j = 0; j < taps; j++)
      for (int k = 0; k < taps; k++)
        sum += w[0][i] * w[1][j] * w[2][k] * node(p, c, (int64_t[3]){base[0] + i, base[1] + j, base[2] + k});
  return sum;
}

/* x is planar [3][np], out [components][np]: value by value, one rounding to the field's type. */
static rb_status eval(rb_interp_plan *head, int64_t np, const void *x, void *out) {
  const ref_plan *p = (const ref_plan *)head;
  const rb_dtype t = head->desc.dtype;
  for (int64_t q = 0; q < np; q++) {
    double at[3];
    for (int a = 0; a < 3; a++) at[a] = rb_value_get(t, x, a * np + q);
    for (int c = 0; c < head->desc.components; c++) rb_value_put(t, out, c * np + q, value(p, c, at));
  }
  return RB_OK;
}

static void destroy(rb_interp_plan *head) {
  ref_plan *p = (ref_plan *)head;
  rb_release(head->backend, p->line);
  rb_release(head->backend, p->c);
  free(p);
}

const rb_interp_ops rb_interp_ref = {supports, plan, load, eval, destroy, 0, 0, NULL};
