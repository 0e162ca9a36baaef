/* SPDX-License-Identifier: BSD-3-Clause */
#include "kernels/field/field.h"

#include "kernels/base/profile.h"

#include <float.h>
#include <stddef.h>

/* The caller owns *out and gives it back by rb_field_destroy; NULL on failure. */
rb_status rb_field_create(const rb_variant *variant, const rb_field_desc *desc, rb_field_plan **out) {
  rb_status st = RB_OK;
  const rb_field_ops *ops = variant->ops;
  const rb_backend *backend;
  *out = NULL;
  RB_CHECK(desc->count >= 1, RB_EINVAL, "field: %lld values; at least 1", (long long)desc->count);
  RB_TRY(rb_variant_backend(variant, &backend));
  RB_TRY(ops->supports(desc));
  RB_TRY(ops->plan(backend, desc, out));
  (*out)->variant = variant;
  (*out)->backend = backend;
  /* desc.count is the most values of any later call */
  (*out)->desc = *desc;
done:
  return st;
}

/* Traffic of a call: its arrays' passes over n values of the plan's type. An operand that is the destination, too, is
 * counted once for reading and once for writing. */
static const rb_field_ops *ops_of(const rb_field_plan *p) { return p->variant->ops; }

/* The call counted, its time and its traffic of `arrays` passes over n values noted.
 * `done:` and the return are the macro's: it ends a function. */
#define DISPATCH(arrays, n, call)                                                                       \
  RB_TRY(rb_profile_begin(p->backend, RB_CLASS_FIELD));                                                 \
  RB_TRY(call);                                                                                         \
  RB_TRY(rb_profile_end(p->backend, 1, (arrays) * (double)(n) * (double)rb_dtype_size(p->desc.dtype))); \
  done:                                                                                                 \
  return st

/* n = 0 is allowed. */
static rb_status check_count(const rb_field_plan *p, int64_t n) {
  if (n >= 0 && n <= p->desc.count) return RB_OK;
  return RB_FAIL(RB_EINVAL, "field: %lld values, planned for %lld", (long long)n, (long long)p->desc.count);
}

rb_status rb_field_fill(rb_field_plan *p, int64_t n, double a, rb_array z) {
  rb_status st = RB_OK;
  RB_TRY(check_count(p, n));
  RB_NEED(p, "field", z, n);
  DISPATCH(1, n, ops_of(p)->fill(p, n, a, z.data));
}
/* An operand is read where its coefficient is not 0. */
rb_status rb_field_combine(rb_field_plan *p, int64_t n, double a, rb_array x, double b, rb_array y, double c,
                           rb_array z) {
  rb_status st = RB_OK;
  RB_TRY(check_count(p, n));
  if (a != 0) RB_NEED(p, "field", x, n);
  if (b != 0) RB_NEED(p, "field", y, n);
  RB_NEED(p, "field", z, n);
  /* z is written; x, y and z are read where their coefficients are not 0 */
  DISPATCH(1 + (a != 0) + (b != 0) + (c != 0), n, ops_of(p)->combine(p, n, a, x.data, b, y.data, c, z.data));
}
/* z = a x y + c z: x, y read and z written, z read where c is not 0 */
rb_status rb_field_multiply(rb_field_plan *p, int64_t n, double a, rb_array x, rb_array y, double c, rb_array z) {
  rb_status st = RB_OK;
  RB_TRY(check_count(p, n));
  if (a != 0) RB_NEED(p, "field", x, n);
  if (a != 0) RB_NEED(p, "field", y, n);
  RB_NEED(p, "field", z, n);
  DISPATCH(3 + (c != 0), n, ops_of(p)->multiply(p, n, a, x.data, y.data, c, z.data));
}
/* z = a x / y: two arrays read and one written. y = 0 gives what the type's division gives. */
rb_status rb_field_divide(rb_field_plan *p, int64_t n, double a, rb_array x, rb_array y, rb_array z) {
  rb_status st = RB_OK;
  RB_TRY(check_count(p, n));
  if (a != 0) RB_NEED(p, "field", x, n);
  if (a != 0) RB_NEED(p, "field", y, n);
  RB_NEED(p, "field", z, n);
  DISPATCH(3, n, ops_of(p)->divide(p, n, a, x.data, y.data, z.data));
}
/* a and b are per axis: they turn a velocity into grid units */
rb_status rb_field_displace(rb_field_plan *p, rb_grid g, const double a[3], rb_array v, const double b[3], rb_array w,
                            rb_array x) {
  rb_status st = RB_OK;
  /* X_a(p) = i_a(p) + a_a v_a(p) + b_a w_a(p): v and w may each be missing, X is always written */
  const int64_t n = 3 * rb_grid_points(g);
  RB_TRY(check_count(p, n));
  RB_NEED_IF(p, "field", v, n);
  RB_NEED_IF(p, "field", w, n);
  RB_NEED(p, "field", x, n);
  DISPATCH(1 + (v.data != NULL) + (w.data != NULL), n, ops_of(p)->displace(p, g, a, v.data, b, w.data, x.data));
}
/* sum_p x_p y_p in float64, on the host on return: waits for the backend. */
rb_status rb_field_dot(rb_field_plan *p, int64_t n, rb_array x, rb_array y, double *out) {
  rb_status st = RB_OK;
  RB_TRY(check_count(p, n));
  RB_NEED(p, "field", x, n);
  RB_NEED(p, "field", y, n);
  /* the square of one array's norm reads it once */
  DISPATCH(x.data == y.data ? 1 : 2, n, ops_of(p)->dot(p, n, x.data, y.data, out));
}
/* the same number where later work on the backend finds it, without waiting */
rb_status rb_field_dot_kept(rb_field_plan *p, int64_t n, rb_array x, rb_array y, rb_array kept) {
  rb_status st = RB_OK;
  RB_TRY(check_count(p, n));
  RB_NEED(p, "field", x, n);
  RB_NEED(p, "field", y, n);
  /* float64 on the plan's backend, whatever the plan's type */
  RB_TRY(rb_array_check(kept, "field", "kept", p->backend, RB_F64, 1));
  DISPATCH(x.data == y.data ? 1 : 2, n, ops_of(p)->dot_kept(p, n, x.data, y.data, kept.data));
}
/* least, greatest and sum of x, on the host on return */
rb_status rb_field_extremes(rb_field_plan *p, int64_t n, rb_array x, rb_extremes *out) {
  rb_status st = RB_OK;
  RB_TRY(check_count(p, n));
  RB_NEED(p, "field", x, n);
  DISPATCH(1, n, ops_of(p)->extremes(p, n, x.data, out));
}

void rb_field_destroy(rb_field_plan *p) {
  if (p) ops_of(p)->destroy(p);
}

/* A rounding for each term of a combination, of at most `range`, and one for the sum. */
double rb_field_tolerance(rb_dtype dtype, double range) {
  enum { TERMS = 4 }; /* of the longest combination */
  return TERMS * rb_epsilon(dtype) * range;
}
double rb_field_sum_tolerance(int64_t n, double range) {
  /* n additions, each of a partial sum of at most n range:  n (n range) eps.  DBL_MIN: for sums of zeros */
  return (double)n * (double)n * DBL_EPSILON * range + DBL_MIN;
}
