/* SPDX-License-Identifier: BSD-3-Clause */
/* Oracle of elements: double, the gradient scattered from one element after the other. */
#include "cpu_ref/base/values.h"
#include "kernels/elements/elements.h"

#include <stdlib.h>

/* All dimensions, either precision; arithmetic in double, one rounding a stored value. */
static rb_status supports(const rb_elements_desc *d) {
  (void)d;
  return RB_OK;
}
static double get(const rb_elements_plan *p, const void *a, int64_t i) { return rb_value_get(p->desc.dtype, a, i); }
static void put(const rb_elements_plan *p, void *a, int64_t i, double v) { rb_value_put(p->desc.dtype, a, i, v); }
/* Cyclic indices: component k from k + 1 and k + 2. */
static void cross(const double a[3], const double b[3], double out[3]) {
  for (int k = 0; k < 3; k++) out[k] = a[(k + 1) % 3] * b[(k + 2) % 3] - a[(k + 2) % 3] * b[(k + 1) % 3];
}
/* The corners of element e. */
static void corners_of(const rb_elements_plan *p, const void *vertices, int64_t e, double v[3][3]) {
  for (int k = 0; k <= p->desc.dimension; k++) /* vertices planar [3][vertices], index [corner][elements] */
    for (int a = 0; a < 3; a++) v[k][a] = get(p, vertices, a * p->desc.vertices + p->index[k * p->desc.elements + e]);
}

/* centre = mean of the corners;  moment: 1/2 (b - a) x (c - a), the area's normal, of a triangle, b - a of a segment
 */
static rb_status measure(const rb_elements_plan *p, const void *vertices, void *centres, void *moments) {
  const int64_t n = p->desc.elements;
  const int last = p->desc.dimension;
  for (int64_t e = 0; e < n; e++) {
    /* point: moment (1, 0, 0).  segment: b - a.  triangle: 1/2 (b - a) x (c - a).  centre: mean of the corners */
    double v[3][3], one[3], two[3], moment[3] = {1, 0, 0};
    corners_of(p, vertices, e, v);
    if (last == 1)
      for (int a = 0; a < 3; a++) moment[a] = v[1][a] - v[0][a];
    if (last == 2) {
      for (int a = 0; a < 3; a++) one[a] = v[1][a] - v[0][a], two[a] = v[2][a] - v[0][a];
      cross(one, two, moment);
      for (int a = 0; a < 3; a++) moment[a] /= 2;
    }
    for (int a = 0; a < 3; a++) {
      double sum = 0;
      for (int k = 0; k <= last; k++) sum += v[k][a];
      /* dimension + 1 corners */
      put(p, centres, a * n + e, sum / (last + 1));
      put(p, moments, a * n + e, moment[a]);
    }
  }
  return RB_OK;
}

/* Scattered: every element adds to its corners, in the elements' order:
 * segment:  -w + z/2 at a, w + z/2 at b.   point: z.   triangle: see below */
static rb_status gradient(const rb_elements_plan *p, const void *vertices, const void *w, const void *z, void *out) {
  rb_status st = RB_OK;
  const int64_t n = p->desc.elements, nv = p->desc.vertices;
  const int last = p->desc.dimension;
  /* [3][vertices] in double, rounded once at the end; vertices without elements get 0 */
  double *sum = calloc((size_t)(3 * nv), sizeof *sum);
  RB_CHECK(sum, RB_ENOMEM, "host memory");
  for (int64_t e = 0; e < n; e++) {
    double v[3][3], we[3], ze[3];
    corners_of(p, vertices, e, v);
    for (int a = 0; a < 3; a++) we[a] = get(p, w, a * n + e), ze[a] = get(p, z, a * n + e);
    for (int k = 0; k <= last; k++) {
      double part[3] = {0, 0, 0};
      if (last == 1)
        for (int a = 0; a < 3; a++) part[a] = k ? we[a] : -we[a];
      if (last == 2) {
        double edge[3];
        /* half the edge opposite of corner k:  dE/dv_k += 1/2 w x (v_{k+2} - v_{k+1}) + z/3 */
        for (int a = 0; a < 3; a++) edge[a] = (v[(k + 2) % 3][a] - v[(k + 1) % 3][a]) / 2;
        cross(we, edge, part);
      }
      for (int a = 0; a < 3; a++) sum[a * nv + p->index[k * n + e]] += part[a] + ze[a] / (last + 1);
    }
  }
  for (int64_t i = 0; i < 3 * nv; i++) put(p, out, i, sum[i]);
done:
  free(sum);
  return st;
}

const rb_elements_ops rb_elements_ref = {supports, measure, gradient};
