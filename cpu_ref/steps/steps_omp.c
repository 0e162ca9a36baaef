/* SPDX-License-Identifier: BSD-3-Clause */
/* Baseline of steps on the CPU: values by all cores; descents are few. */
#include "kernels/steps/steps.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static rb_status supports(const rb_steps_desc *d) {
  (void)d;
  return RB_OK;
}
static rb_status plan(const rb_backend *b, const rb_steps_desc *d, rb_steps_plan **out) {
  (void)b, (void)d;
  *out = calloc(1, sizeof **out);
  return *out ? RB_OK : RB_FAIL(RB_ENOMEM, "host memory");
}
static void destroy(rb_steps_plan *p) { free(p); }

static rb_status judge(rb_steps_plan *p, const double *now) {
  const size_t count = (size_t)p->desc.count;
  for (size_t k = 0; k < count && p->desc.halve; k++)
    if (p->a[k] > 0 && now[k] > p->e[k]) p->a[k] *= 0.5;
  memcpy(p->e, now, count * sizeof *now);
  if (p->rows[0] < p->desc.rows) {
    double *to = p->rows + 1 + (size_t)p->rows[0] * 2 * count;
    memcpy(to, p->e, count * sizeof *to);
    memcpy(to + count, p->a, count * sizeof *to);
    p->rows[0]++;
  }
  return RB_OK;
}
#define DEFINE(REAL, NAME)                                                                                         \
  static double NAME(int64_t n, const REAL *x) {                                                                   \
    double most = 0;                                                                                               \
    int numbers = 1;                                                                                               \
    _Pragma("omp parallel for schedule(static) reduction(max : most) reduction(&& : numbers)") for (int64_t i = 0; \
                                                                                                    i < n; i++) {  \
      const REAL square = x[i] * x[i] + x[n + i] * x[n + i] + x[2 * n + i] * x[2 * n + i];                         \
      numbers = numbers && !isnan(square);                                                                         \
      most = (double)square > most ? (double)square : most;                                                        \
    }                                                                                                              \
    return numbers ? most : (double)NAN;                                                                           \
  }
/* The greatest square of a length. */
DEFINE(float, most_f32)
DEFINE(double, most_f64)
static rb_status bound(rb_steps_plan *p, int k, double first, double most, int64_t n, const void *x,
                       double *longest) {
  *longest = sqrt(p->desc.dtype == RB_F64 ? most_f64(n, x) : most_f32(n, x));
  p->a[k] = *longest > 0 ? fmin(first, most / *longest) : *longest; /* 0, or NaN */
  return RB_OK;
}
static rb_status scale(rb_steps_plan *p, int k, int64_t n, const void *x, void *z) {
  const double a = p->a[k];
  const float by = (float)a;
  if (p->desc.dtype == RB_F64)
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < n; i++) ((double *)z)[i] = a * ((const double *)x)[i];
  else
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < n; i++) ((float *)z)[i] = by * ((const float *)x)[i];
  return RB_OK;
}

const rb_steps_ops rb_steps_omp = {supports, plan, judge, bound, scale, destroy};
