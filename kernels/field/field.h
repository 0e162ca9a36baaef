/* SPDX-License-Identifier: BSD-3-Clause */
/* field: pointwise arithmetic and reductions of fields; what optimisers and time-stepping need between the kernels.
 *
 * fill        z = a
 * combine     z = a x + b y + c z
 * multiply    z = a x y + c z            (pointwise product)
 * divide      z = a x / y
 * displace    X_a(p) = i_a(p) + a_a v_a(p) + b_a w_a(p)   points in grid units from fields [3][n1][n2][n3]
 * dot         sum_p x_p y_p              products and sum in float64
 * extremes    least, greatest and sum of x in float64; a NaN makes all three NaN
 *
 * Arrays have `count` values of the plan's type; an operand whose coefficient is 0 is not read and may be no array.
 * Any of them may be the same array. combine, multiply and dot are the Krylov method's (solvers/krylov), displace the
 * semi-Lagrangian characteristics' (brunn2020 section 2.2.2). */
#ifndef RB_FIELD_H
#define RB_FIELD_H

#include "kernels/base/array.h"
#include "kernels/base/variant.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
  int64_t count; /* values of an array */
  rb_dtype dtype;
} rb_field_desc;

typedef struct rb_field_plan {
  const rb_variant *variant;
  const rb_backend *backend;
  rb_field_desc desc;
} rb_field_plan;

typedef struct {
  double least, greatest, sum;
} rb_extremes;

typedef struct {
  rb_status (*supports)(const rb_field_desc *desc);
  rb_status (*plan)(const rb_backend *backend, const rb_field_desc *desc, rb_field_plan **out);
  rb_status (*fill)(rb_field_plan *p, int64_t n, double a, void *z);
  rb_status (*combine)(rb_field_plan *p, int64_t n, double a, const void *x, double b, const void *y, double c,
                       void *z);
  rb_status (*multiply)(rb_field_plan *p, int64_t n, double a, const void *x, const void *y, double c, void *z);
  rb_status (*divide)(rb_field_plan *p, int64_t n, double a, const void *x, const void *y, void *z);
  rb_status (*displace)(rb_field_plan *p, rb_grid g, const double a[3], const void *v, const double b[3],
                        const void *w, void *x);
  rb_status (*dot)(rb_field_plan *p, int64_t n, const void *x, const void *y, double *out);
  rb_status (*dot_kept)(rb_field_plan *p, int64_t n, const void *x, const void *y, double *kept);
  rb_status (*extremes)(rb_field_plan *p, int64_t n, const void *x, rb_extremes *out);
  void (*destroy)(rb_field_plan *p);
} rb_field_ops;

/* `count` bounds the n of every later call. */
rb_status rb_field_create(const rb_variant *variant, const rb_field_desc *desc, rb_field_plan **out);
rb_status rb_field_fill(rb_field_plan *p, int64_t n, double a, rb_array z);
rb_status rb_field_combine(rb_field_plan *p, int64_t n, double a, rb_array x, double b, rb_array y, double c,
                           rb_array z);
rb_status rb_field_multiply(rb_field_plan *p, int64_t n, double a, rb_array x, rb_array y, double c, rb_array z);
rb_status rb_field_divide(rb_field_plan *p, int64_t n, double a, rb_array x, rb_array y, rb_array z);
/* Without w: X = i + a v; without v, too: the nodes themselves. */
rb_status rb_field_displace(rb_field_plan *p, rb_grid g, const double a[3], rb_array v, const double b[3], rb_array w,
                            rb_array x);
rb_status rb_field_dot(rb_field_plan *p, int64_t n, rb_array x, rb_array y, double *out);
/* The same sum into `kept`, one float64, without waiting for it. */
rb_status rb_field_dot_kept(rb_field_plan *p, int64_t n, rb_array x, rb_array y, rb_array kept);
rb_status rb_field_extremes(rb_field_plan *p, int64_t n, rb_array x, rb_extremes *out);
void rb_field_destroy(rb_field_plan *p); /* takes NULL */

/* Largest accepted |z - oracle| when every term is at most `range`: one rounding a term. */
double rb_field_tolerance(rb_dtype dtype, double range);
/* Largest accepted |sum - oracle| of n terms of at most `range`: products are exact in float64 for float32 data. */
double rb_field_sum_tolerance(int64_t n, double range);

#ifdef __cplusplus
}
#endif
#endif
