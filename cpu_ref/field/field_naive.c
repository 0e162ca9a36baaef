/* SPDX-License-Identifier: BSD-3-Clause */
/* One thread, float32, a plain loop an operation: the CPU that Table 1 of ha2009 divides by. */
#include "kernels/field/field.h"

#include <math.h>
#include <stdlib.h>

static rb_status supports(const rb_field_desc *d) {
  return d->dtype == RB_F32 ? RB_OK : RB_FAIL(RB_EUNSUPPORTED, "cpu/naive is float32 only");
}
/* No memory of its own. */
static rb_status plan(const rb_backend *backend, const rb_field_desc *d, rb_field_plan **out) {
  (void)backend, (void)d;
  *out = calloc(1, sizeof **out);
  return *out ? RB_OK : RB_FAIL(RB_ENOMEM, "host memory");
}
static rb_status fill(rb_field_plan *p, int64_t n, double a, void *z) {
  (void)p;
  for (int64_t i = 0; i < n; i++) ((float *)z)[i] = (float)a;
  return RB_OK;
}
/* A factor of 0 keeps its operand out, whatever it holds. */
static rb_status combine(rb_field_plan *p, int64_t n, double a, const void *x, double b, const void *y, double c,
                         void *z) {
  const float fa = (float)a, fb = (float)b, fc = (float)c;
  float *out = z;
  (void)p;
  if (fa != 0 && fb != 0 && fc == 0) { /* the usual one, without a test a value */
    for (int64_t i = 0; i < n; i++) out[i] = fa * ((const float *)x)[i] + fb * ((const float *)y)[i];
    return RB_OK;
  }
  for (int64_t i = 0; i < n; i++) {
    const float first = fa != 0 ? fa * ((const float *)x)[i] : 0, second = fb != 0 ? fb * ((const float *)y)[i] : 0;
    out[i] = first + second + (fc != 0 ? fc * out[i] : 0);
  }
  return RB_OK;
}
static rb_status multiply(rb_field_plan *p, int64_t n, double a, const void *x, const void *y, double c, void *z) {
  float *out = z;
  (void)p;
  for (int64_t i = 0; i < n; i++) {
    const float product = (float)a * ((const float *)x)[i] * ((const float *)y)[i];
    out[i] = product + (c != 0 ? (float)c * out[i] : 0);
  }
  return RB_OK;
}
static rb_status divide(rb_field_plan *p, int64_t n, double a, const void *x, const void *y, void *z) {
  (void)p;
  for (int64_t i = 0; i < n; i++) ((float *)z)[i] = (float)a * ((const float *)x)[i] / ((const float *)y)[i];
  return RB_OK;
}
static rb_status displace(rb_field_plan *p, rb_grid g, const double a[3], const void *v, const double b[3],
                          const void *w, void *x) {
  const int64_t n = rb_grid_points(g);
  (void)p;
  for (int64_t i = 0; i < n; i++) {
    const int64_t node[3] = {i / g.n[2] / g.n[1], i / g.n[2] % g.n[1], i % g.n[2]};
    for (int c = 0; c < 3; c++) {
      float moved = v ? (float)a[c] * ((const float *)v)[c * n + i] : 0;
      if (w) moved += (float)b[c] * ((const float *)w)[c * n + i];
      ((float *)x)[c * n + i] = (float)node[c] + moved;
    }
  }
  return RB_OK;
}
/* Products and sum in double, as the contract says: one running sum, in sequence. */
static rb_status dot(rb_field_plan *p, int64_t n, const void *x, const void *y, double *out) {
  double sum = 0;
  (void)p;
  for (int64_t i = 0; i < n; i++) sum += (double)((const float *)x)[i] * (double)((const float *)y)[i];
  *out = sum;
  return RB_OK;
}
static rb_status extremes(rb_field_plan *p, int64_t n, const void *x, rb_extremes *out) {
  (void)p;
  *out = (rb_extremes){INFINITY, -INFINITY, 0};
  for (int64_t i = 0; i < n; i++) {
    const double v = (double)((const float *)x)[i];
    out->least = v < out->least ? v : out->least;
    out->greatest = v > out->greatest ? v : out->greatest;
    out->sum += v;
  }
  if (out->sum != out->sum) out->least = out->greatest = out->sum; /* a NaN makes all three NaN */
  return RB_OK;
}
static void destroy(rb_field_plan *p) { free(p); }

const rb_field_ops rb_field_naive = {supports, plan, fill, combine,  multiply, divide,
                                     displace, dot,  dot,  extremes, destroy};
