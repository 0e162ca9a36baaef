/* SPDX-License-Identifier: BSD-3-Clause */
/* Oracle of field: serial loops, every operation in double, one rounding at the end. */
#include "cpu_ref/base/values.h"
#include "kernels/field/field.h"

#include <math.h>
#include <stdlib.h>

/* An operand with coefficient 0 is not read. */
static double term(rb_dtype t, double a, const void *x, int64_t i) { return a != 0 ? a * rb_value_get(t, x, i) : 0; }

/* z = a, z = a x + b y + c z, z = a x y + c z, z = a x / y, X = i + a v + b w: the terms are added in this order in
 * double, and the result is rounded to the arrays' type. */
static rb_status supports(const rb_field_desc *d) {
  (void)d;
  return RB_OK;
}
/* No memory of its own. */
static rb_status plan(const rb_backend *backend, const rb_field_desc *d, rb_field_plan **out) {
  (void)backend, (void)d;
  *out = calloc(1, sizeof **out);
  return *out ? RB_OK : RB_FAIL(RB_ENOMEM, "host memory");
}
static rb_status fill(rb_field_plan *p, int64_t n, double a, void *z) {
  for (int64_t i = 0; i < n; i++) rb_value_put(p->desc.dtype, z, i, a);
  return RB_OK;
}
/* z = a x + b y + c z, node by node: z may be x or y, as the node's operands are read before it is written */
static rb_status combine(rb_field_plan *p, int64_t n, double a, const void *x, double b, const void *y, double c,
                         void *z) {
  rb_dtype t = p->desc.dtype;
  for (int64_t i = 0; i < n; i++) rb_value_put(t, z, i, term(t, a, x, i) + term(t, b, y, i) + term(t, c, z, i));
  return RB_OK;
}
/* z = a x y + c z, pointwise */
static rb_status multiply(rb_field_plan *p, int64_t n, double a, const void *x, const void *y, double c, void *z) {
  rb_dtype t = p->desc.dtype;
  for (int64_t i = 0; i < n; i++)
    rb_value_put(t, z, i, a * rb_value_get(t, x, i) * rb_value_get(t, y, i) + term(t, c, z, i));
  return RB_OK;
}
/* z = a x / y, one rounding */
static rb_status divide(rb_field_plan *p, int64_t n, double a, const void *x, const void *y, void *z) {
  rb_dtype t = p->desc.dtype;
  for (int64_t i = 0; i < n; i++) rb_value_put(t, z, i, a * rb_value_get(t, x, i) / rb_value_get(t, y, i));
  return RB_OK;
}
static rb_status displace(rb_field_plan *p, rb_grid g, const double a[3], const void *v, const double b[3],
                          const void *w, void *x) {
  int64_t n = rb_grid_points(g);
  for (int axis = 0; axis < 3; axis++)
    for (int64_t i = 0; i < n; i++) {
      /* X_a(p) = i_a(p) + a_a v_a(p) + b_a w_a(p), in grid units */
      int64_t node[3] = {i / g.n[2] / g.n[1], i / g.n[2] % g.n[1], i % g.n[2]};
      double at = (double)node[axis];
      if (v) at += a[axis] * rb_value_get(p->desc.dtype, v, axis * n + i);
      if (w) at += b[axis] * rb_value_get(p->desc.dtype, w, axis * n + i);
      rb_value_put(p->desc.dtype, x, axis * n + i, at);
    }
  return RB_OK;
}
/* In sequence, in double: products of floats are exact. */
static rb_status dot(rb_field_plan *p, int64_t n, const void *x, const void *y, double *out) {
  double sum = 0;
  for (int64_t i = 0; i < n; i++) sum += rb_value_get(p->desc.dtype, x, i) * rb_value_get(p->desc.dtype, y, i);
  *out = sum;
  return RB_OK;
}
/* Comparisons with a NaN are false and leave the extremes as they are; the sum keeps it. */
static rb_status extremes(rb_field_plan *p, int64_t n, const void *x, rb_extremes *out) {
  *out = (rb_extremes){INFINITY, -INFINITY, 0};
  for (int64_t i = 0; i < n; i++) {
    double v = rb_value_get(p->desc.dtype, x, i);
    if (v < out->least) out->least = v;
    if (v > out->greatest) out->greatest = v;
    out->sum += v;
  }
  /* one NaN, or infinities of both signs, make the sum NaN */
  if (out->sum != out->sum) *out = (rb_extremes){NAN, NAN, NAN};
  return RB_OK;
}
static void destroy(rb_field_plan *p) { free(p); }

const rb_field_ops rb_field_ref = {supports, plan, fill, combine,  multiply, divide,
                                   displace, dot,  dot,  extremes, destroy};
