/* SPDX-License-Identifier: BSD-3-Clause */
/* Oracle of splat: double, one point after the other, as the equation stands. */
#include "cpu_ref/base/values.h"
#include "kernels/splat/splat.h"

#include <math.h>
#include <stdlib.h>

/* w(x - k) = B(x1 - k1) B(x2 - k2) B(x3 - k3), B the linear or the cubic B-spline; the sum over points of w m is
 * taken in double whatever the arrays hold, so that only the last rounding is the type's. */
typedef struct {
  rb_splat_plan head;
  double *sum; /* [n1][n2][n3] of one component */
  int64_t lost;
} ref_plan;

static rb_status supports(const rb_splat_desc *d) {
  (void)d;
  return RB_OK;
}
/* One component in double: components are splat one after the other. */
static size_t workspace(const rb_splat_desc *d) { return (size_t)rb_grid_points(d->grid) * sizeof(double); }
static void destroy(rb_splat_plan *head) {
  rb_release(head->backend, ((ref_plan *)head)->sum);
  free(head);
}
static rb_status plan(const rb_backend *backend, const rb_splat_desc *d, rb_splat_plan **out) {
  rb_status st = RB_OK;
  ref_plan *p = calloc(1, sizeof *p);
  RB_CHECK(p, RB_ENOMEM, "host memory");
  p->head.backend = backend;
  RB_TRY(rb_alloc(backend, workspace(d), (void **)&p->sum));
  *out = &p->head;
  p = NULL;
done:
  if (p) destroy(&p->head);
  return st;
}

/* The cardinal B-spline of degree 1 or 3 at distance d.
 * degree 1:  1 - d for d < 1.   degree 3:  2/3 - d^2 + d^3/2 for d < 1,  (2 - d)^3/6 for d < 2 */
static double spline(rb_splat_basis basis, double d) {
  d = fabs(d);
  if (basis == RB_SPLAT_LINEAR) return d < 1 ? 1 - d : 0;
  if (d < 1) return 2.0 / 3 - d * d + d * d * d / 2;
  return d < 2 ? pow(2 - d, 3) / 6 : 0;
}

/* Node i of an axis of n by the boundary's rule; -1: dropped. i may be any whole number.
 * Periodic: i modulo n. Clamp: the nearest border node. Zero: none. */
static int64_t node(double i, int64_t n, rb_boundary boundary) {
  if (boundary == RB_PERIODIC) {
    /* exact for whole numbers */
    const double m = fmod(i, (double)n);
    return (int64_t)(m < 0 ? m + (double)n : m);
  }
  if (i >= 0 && i < (double)n) return (int64_t)i;
  return boundary == RB_ZERO ? -1 : i < 0 ? 0 : n - 1;
}

static void add(const rb_splat_desc *d, const double x[3], double m, double *sum) {
  /* sum[k] += w(x - k) m,  w = product over the axes;  nodes floor(x) + first .. floor(x) + reach */
  const int reach = d->basis == RB_SPLAT_LINEAR ? 1 : 2, first = 1 - reach;
  for (int i = first; i <= reach; i++)
    for (int j = first; j <= reach; j++)
      for (int k = first; k <= reach; k++) {
        const int off[3] = {i, j, k};
        double w = 1;
        int64_t at = 0;
        for (int a = 0; a < 3; a++) {
          const double base = floor(x[a]);
          /* floor(x) is cut to +-1e9 as in the other variants. The distance x - floor(x) - off is that of the uncut
           * coordinate.
           */
          const int64_t here = node(fmin(fmax(base, -1e9), 1e9) + off[a], d->grid.n[a], d->boundary);
          /* a dropped node has weight 0, and some valid index */
          w *= here < 0 ? 0 : spline(d->basis, (x[a] - base) - off[a]);
          at = at * d->grid.n[a] + (here < 0 ? 0 : here);
        }
        sum[at] += w * m;
      }
}

/* out_c[k] = sum_p w(x_p - k) m_cp in double, points in their order, one rounding at the end. A point that is not
 * finite, or has a mass that is not, adds to no component; it is counted with the first. */
static rb_status run(rb_splat_plan *head, const void *x, const void *m, void *out) {
  ref_plan *p = (ref_plan *)head;
  const rb_splat_desc *d = &head->desc;
  const int64_t n = rb_grid_points(d->grid);
  p->lost = 0;
  for (int c = 0; c < d->components; c++) {
    /* component by component through the one array of sums */
    for (int64_t i = 0; i < n; i++) p->sum[i] = 0;
    for (int64_t q = 0; q < d->np; q++) {
      /* points are planar: coordinate a of point q at value a np + q */
      const double at[3] = {rb_value_get(d->dtype, x, q), rb_value_get(d->dtype, x, d->np + q),
                            rb_value_get(d->dtype, x, 2 * d->np + q)};
      int finite = isfinite(at[0]) && isfinite(at[1]) && isfinite(at[2]);
      for (int k = 0; k < d->components; k++) finite = finite && isfinite(rb_value_get(d->dtype, m, k * d->np + q));
      if (finite)
        add(d, at, rb_value_get(d->dtype, m, c * d->np + q), p->sum);
      else if (c == 0)
        p->lost++;
    }
    for (int64_t i = 0; i < n; i++) rb_value_put(d->dtype, out, c * n + i, p->sum[i]);
  }
  return RB_OK;
}
static rb_status outcome(rb_splat_plan *head, int64_t *lost, int *exceeded) {
  *lost = ((ref_plan *)head)->lost, *exceeded = 0;
  return RB_OK;
}

const rb_splat_ops rb_splat_ref = {supports, plan, run, outcome, destroy, 0, 0, workspace, NULL};
