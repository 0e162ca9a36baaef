/* SPDX-License-Identifier: BSD-3-Clause */
#include "kernels/field/field.h"

#include "kernels/base/profile.h"

#include <float.h>
#include <stddef.h>

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
  (*out)->desc = *desc;
done:
  return st;
}

static const rb_field_ops *ops_of(const rb_field_plan *p) { return p->variant->ops; }

/* The call counted, its time and its traffic of `arrays` passes over n values noted. */
#define DISPATCH(arrays, n, call)                                                                       \
  RB_TRY(rb_profile_begin(p->backend, RB_CLASS_FIELD));                                                 \
  RB_TRY(call);                                                                                         \
  RB_TRY(rb_profile_end(p->backend, 1, (arrays) * (double)(n) * (double)rb_dtype_size(p->desc.dtype))); \
  done:                                                                                                 \
  return st

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
  DISPATCH(1 + (a != 0) + (b != 0) + (c != 0), n, ops_of(p)->combine(p, n, a, x.data, b, y.data, c, z.data));
}
rb_status rb_field_multiply(rb_field_plan *p, int64_t n, double a, rb_array x, rb_array y, double c, rb_array z) {
  rb_status st = RB_OK;
  RB_TRY(check_count(p, n));
  if (a != 0) RB_NEED(p, "field", x, n);
  if (a != 0) RB_NEED(p, "field", y, n);
  RB_NEED(p, "field", z, n);
  DISPATCH(3 + (c != 0), n, ops_of(p)->multiply(p, n, a, x.data, y.data, c, z.data));
}
rb_status rb_field_divide(rb_field_plan *p, int64_t n, double a, rb_array x, rb_array y, rb_array z) {
  rb_status st = RB_OK;
  RB_TRY(check_count(p, n));
  if (a != 0) RB_NEED(p, "field", x, n);
  if (a != 0) RB_NEED(p, "field", y, n);
  RB_NEED(p, "field", z, n);
  DISPATCH(3, n, ops_of(p)->divide(p, n, a, x.data, y.data, z.data));
}
rb_status rb_field_displace(rb_field_plan *p, rb_grid g, const double a[3], rb_array v, const double b[3], rb_array w,
                            rb_array x) {
  rb_status st = RB_OK;
  const int64_t n = 3 * rb_grid_points(g);
  RB_TRY(check_count(p, n));
  RB_NEED_IF(p, "field", v, n);
  RB_NEED_IF(p, "field", w, n);
  RB_NEED(p, "field", x, n);
  DISPATCH(1 + (v.data != NULL) + (w.data != NULL), n, ops_of(p)->displace(p, g, a, v.data, b, w.data, x.data));
}
rb_status rb_field_dot(rb_field_plan *p, int64_t n, rb_array x, rb_array y, double *out) {
  rb_status st = RB_OK;
  RB_TRY(check_count(p, n));
  RB_NEED(p, "field", x, n);
  RB_NEED(p, "field", y, n);
  DISPATCH(x.data == y.data ? 1 : 2, n, ops_of(p)->dot(p, n, x.data, y.data, out));
}
rb_status rb_field_dot_kept(rb_field_plan *p, int64_t n, rb_array x, rb_array y, rb_array kept) {
  rb_status st = RB_OK;
  RB_TRY(check_count(p, n));
  RB_NEED(p, "field", x, n);
  RB_NEED(p, "field", y, n);
  RB_TRY(rb_array_check(kept, "field", "kept", p->backend, RB_F64, 1));
  DISPATCH(x.data == y.data ? 1 : 2, n, ops_of(p)->dot_kept(p, n, x.data, y.data, kept.data));
}
rb_status rb_field_extremes(rb_field_plan *p, int64_t n, rb_array x, rb_extremes *out) {
  rb_status st = RB_OK;
  RB_TRY(check_count(p, n));
  RB_NEED(p, "field", x, n);
  DISPATCH(1, n, ops_of(p)->extremes(p, n, x.data, out));
}

void rb_field_destroy(rb_field_plan *p) {
  if (p) ops_of(p)->destroy(p);
}

double rb_field_tolerance(rb_dtype dtype, double range) {
  enum { TERMS = 4 }; /* of the longest combination */
  return TERMS * rb_epsilon(dtype) * range;
}
double rb_field_sum_tolerance(int64_t n, double range) {
  return (double)n * (double)n * DBL_EPSILON * range + DBL_MIN;
}
