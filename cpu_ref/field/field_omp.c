/* SPDX-License-Identifier: BSD-3-Clause */
/* Baseline of field on the CPU: all cores, one pass an operation, sums in double. */
#include "kernels/field/field.h"

#include <math.h>
#include <stdlib.h>

/* SUM_BLOCK: values of a partial sum.  SUM_GROUP: partial sums that are kept at a time. */
enum {
  SUM_BLOCK = 4096,
  SUM_GROUP = 512,
  SERIAL = 16384
}; /* values that one thread handles faster than a team starts */

#define REAL float
#define SUFFIX(name) name##_f32
#include "cpu_ref/field/field_omp_real.h"
#undef REAL
#undef SUFFIX
#define REAL double
#define SUFFIX(name) name##_f64
#include "cpu_ref/field/field_omp_real.h"

/* One pass over memory an operation, all cores; float arithmetic for float data except in sums, which are double. The
 * bodies are in field_omp_real.h, once for each precision. */
static rb_status supports(const rb_field_desc *d) {
  (void)d;
  return RB_OK;
}
/* No memory of its own: partial sums are on the stack of the call. */
static rb_status plan(const rb_backend *backend, const rb_field_desc *d, rb_field_plan **out) {
  (void)backend, (void)d;
  *out = calloc(1, sizeof **out);
  return *out ? RB_OK : RB_FAIL(RB_ENOMEM, "host memory");
}
/* Coefficients are rounded to the arrays' type here, once a call. */
static rb_status fill(rb_field_plan *p, int64_t n, double a, void *z) {
  if (p->desc.dtype == RB_F64)
    fill_f64(n, a, z);
  else
    fill_f32(n, (float)a, z);
  return RB_OK;
}
/* z = a x + b y + c z; x, y may be NULL where a, b are 0 */
static rb_status combine(rb_field_plan *p, int64_t n, double a, const void *x, double b, const void *y, double c,
                         void *z) {
  if (p->desc.dtype == RB_F64)
    combine_f64(n, a, x, b, y, c, z);
  else
    combine_f32(n, (float)a, x, (float)b, y, (float)c, z);
  return RB_OK;
}
static rb_status multiply(rb_field_plan *p, int64_t n, double a, const void *x, const void *y, double c, void *z) {
  if (p->desc.dtype == RB_F64)
    multiply_f64(n, a, x, y, c, z);
  else
    multiply_f32(n, (float)a, x, y, (float)c, z);
  return RB_OK;
}
static rb_status divide(rb_field_plan *p, int64_t n, double a, const void *x, const void *y, void *z) {
  if (p->desc.dtype == RB_F64)
    divide_f64(n, a, x, y, z);
  else
    divide_f32(n, (float)a, x, y, z);
  return RB_OK;
}
/* X = i + a v + b w in the arrays' type; a and b are rounded to it, too */
static rb_status displace(rb_field_plan *p, rb_grid g, const double a[3], const void *v, const double b[3],
                          const void *w, void *x) {
  /* an operand that is no array has the coefficients 0 */
  static const double none[3];
  if (p->desc.dtype == RB_F64)
    displace_f64(g, v ? a : none, v, w ? b : none, w, x);
  else
    displace_f32(g, v ? a : none, v, w ? b : none, w, x);
  return RB_OK;
}
/* float64 in either precision, by fixed blocks: the same bits for any number of threads. */
static rb_status dot(rb_field_plan *p, int64_t n, const void *x, const void *y, double *out) {
  *out = p->desc.dtype == RB_F64 ? dot_f64(n, x, y) : dot_f32(n, x, y);
  return RB_OK;
}
/* Least and greatest are the same in any order; the sum is in blocks as dot's. */
static rb_status extremes(rb_field_plan *p, int64_t n, const void *x, rb_extremes *out) {
  *out = p->desc.dtype == RB_F64 ? extremes_f64(n, x) : extremes_f32(n, x);
  return RB_OK;
}
static void destroy(rb_field_plan *p) { free(p); }

/* dot_kept is dot: `kept` is host memory here */
const rb_field_ops rb_field_omp = {supports, plan, fill, combine,  multiply, divide,
                                   displace, dot,  dot,  extremes, destroy};
