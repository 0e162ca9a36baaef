/* SPDX-License-Identifier: BSD-3-Clause */
/* Oracle of average: serial; sums of floating kind in double beside the plan's. */
#include "cpu_ref/base/values.h"
#include "kernels/average/average.h"

#include <math.h>
#include <stdlib.h>

typedef struct {
  rb_average_plan head;
  /* sums of the floating kind; head.sums holds those of the fixed kind */
  double *wide; /* [count] */
} ref_plan;

static rb_status supports(const rb_average_desc *d) {
  (void)d;
  return RB_OK;
}
static void destroy(rb_average_plan *head) {
  free(((ref_plan *)head)->wide);
  free(head);
}
/* `wide` begins at 0: calloc. head.sums is made by the front door. */
static rb_status plan(const rb_backend *b, const rb_average_desc *d, rb_average_plan **out) {
  rb_status st = RB_OK;
  ref_plan *p = calloc(1, sizeof *p);
  (void)b;
  RB_CHECK(p, RB_ENOMEM, "host memory");
  p->wide = calloc((size_t)d->count, sizeof *p->wide);
  RB_CHECK(p->wide, RB_ENOMEM, "host memory");
  *out = &p->head;
  p = NULL;
done:
  free(p);
  return st;
}

/* Intensities as double: the weighted product is made in double in both kinds. */
static double get(const rb_average_plan *p, const void *f, int64_t i) { return rb_value_get(p->desc.dtype, f, i); }

/* fixed: sums += rint(2^20 w image), a whole number.  float: in double, w image. */
static rb_status add(rb_average_plan *head, double weight, const void *image) {
  ref_plan *p = (ref_plan *)head;
  for (int64_t i = 0; i < head->desc.count; i++) {
    if (head->desc.kind == RB_SUM_FIXED)
      /* fixed point is exact once rounded: the same whole numbers as all variants have */
      ((int32_t *)head->sums)[i] += (int32_t)rint(RB_AVERAGE_UNIT * weight * get(head, image, i));
    else
      p->wide[i] += weight * get(head, image, i);
  }
  return RB_OK;
}

static rb_status finish(rb_average_plan *head, double total, void *out) {
  const ref_plan *p = (ref_plan *)head;
  for (int64_t i = 0; i < head->desc.count; i++) {
    /* fixed: sums / (2^20 total);  float: sums / total */
    const double mean =
        head->desc.kind == RB_SUM_FIXED ? ((int32_t *)head->sums)[i] / (RB_AVERAGE_UNIT * total) : p->wide[i] / total;
    rb_value_put(head->desc.dtype, out, i, mean);
  }
  return RB_OK;
}

/* head.sums is cleared by the front door. */
static void clear(rb_average_plan *head) {
  for (int64_t i = 0; i < head->desc.count; i++) ((ref_plan *)head)->wide[i] = 0;
}

const rb_average_ops rb_average_ref = {supports, plan, add, finish, destroy, clear};
