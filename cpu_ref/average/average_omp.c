/* SPDX-License-Identifier: BSD-3-Clause */
/* Baseline of average on the CPU: all cores. */
#include "kernels/average/average.h"

#include <math.h>
#include <stdlib.h>

/* Either precision and either kind of sums. */
static rb_status supports(const rb_average_desc *d) {
  (void)d;
  return RB_OK;
}
/* The sums are the front door's: no memory of its own. */
static rb_status plan(const rb_backend *b, const rb_average_desc *d, rb_average_plan **out) {
  (void)b, (void)d;
  *out = calloc(1, sizeof **out);
  return *out ? RB_OK : RB_FAIL(RB_ENOMEM, "host memory");
}
static void destroy(rb_average_plan *p) { free(p); }

/* The product in double and one rounding to a whole number: as on a GPU, to the bit. */
#define DEFINE(REAL, SUFFIX)                                                                                        \
  static void add_fixed_##SUFFIX(int64_t n, double scale, const REAL *image, int32_t *sums) {                       \
    _Pragma("omp parallel for simd schedule(static)") for (int64_t i = 0; i < n; i++) sums[i] +=                    \
        (int32_t)rint((double)image[i] * scale);                                                                    \
  }                                                                                                                 \
  static void add_float_##SUFFIX(int64_t n, REAL weight, const REAL *image, REAL *sums) {                           \
    _Pragma("omp parallel for simd schedule(static)") for (int64_t i = 0; i < n; i++) sums[i] += weight * image[i]; \
  }                                                                                                                 \
  static void finish_fixed_##SUFFIX(int64_t n, double unit, const int32_t *sums, REAL *out) {                       \
    _Pragma("omp parallel for simd schedule(static)") for (int64_t i = 0; i < n; i++) out[i] =                      \
        (REAL)((double)sums[i] / unit);                                                                             \
  }                                                                                                                 \
  static void finish_float_##SUFFIX(int64_t n, double total, const REAL *sums, REAL *out) {                         \
    _Pragma("omp parallel for simd schedule(static)") for (int64_t i = 0; i < n; i++) out[i] =                      \
        (REAL)((double)sums[i] / total);                                                                            \
  }
DEFINE(float, f32)
DEFINE(double, f64)

/* fixed: sums += rint(2^20 w image); finish divides by 2^20 total.  float: sums += w image in the data's precision.
 * Values are independent: a voxel's sum is over the calls, in their order. */
static rb_status add(rb_average_plan *p, double weight, const void *image) {
  const int64_t n = p->desc.count;
  const int fixed = p->desc.kind == RB_SUM_FIXED, wide = p->desc.dtype == RB_F64;
  if (fixed && wide) add_fixed_f64(n, RB_AVERAGE_UNIT * weight, image, p->sums);
  if (fixed && !wide) add_fixed_f32(n, RB_AVERAGE_UNIT * weight, image, p->sums);
  if (!fixed && wide) add_float_f64(n, weight, image, p->sums);
  if (!fixed && !wide) add_float_f32(n, (float)weight, image, p->sums);
  return RB_OK;
}

/* out = sums / (unit * total); unit 2^20 of the fixed kind, 1 of the other. */
static rb_status finish(rb_average_plan *p, double total, void *out) {
  const int64_t n = p->desc.count;
  const int fixed = p->desc.kind == RB_SUM_FIXED, wide = p->desc.dtype == RB_F64;
  /* the quotient in double, rounded once */
  if (fixed && wide) finish_fixed_f64(n, RB_AVERAGE_UNIT * total, p->sums, out);
  if (fixed && !wide) finish_fixed_f32(n, RB_AVERAGE_UNIT * total, p->sums, out);
  if (!fixed && wide) finish_float_f64(n, total, p->sums, out);
  if (!fixed && !wide) finish_float_f32(n, total, p->sums, out);
  return RB_OK;
}

const rb_average_ops rb_average_omp = {supports, plan, add, finish, destroy, NULL};
