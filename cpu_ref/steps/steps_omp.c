/* SPDX-License-Identifier: BSD-3-Clause */
/* Baseline of steps on the CPU: values by all cores; descents are few. */
#include "kernels/steps/steps.h"

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

const rb_steps_ops rb_steps_omp = {supports, plan, judge, scale, destroy};
