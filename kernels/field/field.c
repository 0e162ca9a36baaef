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

/* Every front door: n within the plan, the call counted, its time and its traffic of `arrays` passes noted. */
#define DISPATCH(arrays, n, call)                                                                                \
  rb_status st = RB_OK;                                                                                          \
  if ((n) < 0 || (n) > p->desc.count)                                                                            \
    return RB_FAIL(RB_EINVAL, "field: %lld values, planned for %lld", (long long)(n), (long long)p->desc.count); \
  RB_TRY(rb_profile_begin(p->backend, RB_CLASS_FIELD));                                                          \
  RB_TRY(call);                                                                                                  \
  RB_TRY(rb_profile_end(p->backend, 1, (arrays) * (double)(n) * (double)rb_dtype_size(p->desc.dtype)));          \
  done:                                                                                                          \
  return st

rb_status rb_field_fill(rb_field_plan *p, int64_t n, double a, void *z) {
  DISPATCH(1, n, ops_of(p)->fill(p, n, a, z));
}
rb_status rb_field_combine(rb_field_plan *p, int64_t n, double a, const void *x, double b, const void *y, double c,
                           void *z) {
  DISPATCH(1 + (a != 0) + (b != 0) + (c != 0), n, ops_of(p)->combine(p, n, a, x, b, y, c, z));
}
rb_status rb_field_multiply(rb_field_plan *p, int64_t n, double a, const void *x, const void *y, double c, void *z) {
  DISPATCH(3 + (c != 0), n, ops_of(p)->multiply(p, n, a, x, y, c, z));
}
rb_status rb_field_divide(rb_field_plan *p, int64_t n, double a, const void *x, const void *y, void *z) {
  DISPATCH(3, n, ops_of(p)->divide(p, n, a, x, y, z));
}
rb_status rb_field_displace(rb_field_plan *p, rb_grid g, const double a[3], const void *v, const double b[3],
                            const void *w, void *x) {
  DISPATCH(1 + (v != NULL) + (w != NULL), 3 * rb_grid_points(g), ops_of(p)->displace(p, g, a, v, b, w, x));
}
rb_status rb_field_dot(rb_field_plan *p, int64_t n, const void *x, const void *y, double *out) {
  DISPATCH(x == y ? 1 : 2, n, ops_of(p)->dot(p, n, x, y, out));
}
rb_status rb_field_dot_kept(rb_field_plan *p, int64_t n, const void *x, const void *y, double *kept) {
  DISPATCH(x == y ? 1 : 2, n, ops_of(p)->dot_kept(p, n, x, y, kept));
}
rb_status rb_field_extremes(rb_field_plan *p, int64_t n, const void *x, rb_extremes *out) {
  DISPATCH(1, n, ops_of(p)->extremes(p, n, x, out));
}

void rb_field_destroy(rb_field_plan *p) {
  if (p) ops_of(p)->destroy(p);
}

double rb_field_tolerance(rb_dtype dtype, double range) {
  return 4 * (dtype == RB_F64 ? DBL_EPSILON : FLT_EPSILON) * range;
}
double rb_field_sum_tolerance(int64_t n, double range) {
  return (double)n * (double)n * DBL_EPSILON * range + DBL_MIN;
}
