/* SPDX-License-Identifier: BSD-3-Clause */
/* Oracle of steps: a descent at a time, double. */
#include "cpu_ref/base/values.h"
#include "kernels/steps/steps.h"

#include <math.h>
#include <stdlib.h>

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
  const int row = (int)p->rows[0];
  for (int k = 0; k < p->desc.count; k++) {
    const int rose = now[k] > p->e[k]; /* no: where either is NaN */
    if (p->desc.halve && rose && p->a[k] > 0) p->a[k] = p->a[k] / 2;
    p->e[k] = now[k];
    if (row >= p->desc.rows) continue;
    double *to = p->rows + 1 + (int64_t)row * 2 * p->desc.count;
    to[k] = p->e[k], to[p->desc.count + k] = p->a[k];
  }
  if (row < p->desc.rows) p->rows[0] = row + 1;
  return RB_OK;
}
static rb_status bound(rb_steps_plan *p, int k, double first, double most, int64_t n, const void *x,
                       double *longest) {
  *longest = 0;
  for (int64_t i = 0; i < n; i++) {
    double square = 0;
    for (int a = 0; a < 3; a++) square += pow(rb_value_get(p->desc.dtype, x, a * n + i), 2);
    if (sqrt(square) > *longest || isnan(square)) *longest = sqrt(square);
    if (isnan(square)) break;
  }
  p->a[k] = *longest > 0 ? fmin(first, most / *longest) : *longest;
  return RB_OK;
}
static rb_status scale(rb_steps_plan *p, int k, int64_t n, const void *x, void *z) {
  for (int64_t i = 0; i < n; i++) rb_value_put(p->desc.dtype, z, i, p->a[k] * rb_value_get(p->desc.dtype, x, i));
  return RB_OK;
}

const rb_steps_ops rb_steps_ref = {supports, plan, judge, bound, scale, destroy};
