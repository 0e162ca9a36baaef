/* SPDX-License-Identifier: BSD-3-Clause */
#include "kernels/average/average.h"

#include <float.h>
#include <math.h>

static const rb_average_ops *ops_of(const rb_average_plan *p) { return p->variant->ops; }

/* A team adds these sums between add and finish: int32 of the fixed kind, the data's type of the floating one. */
size_t rb_average_sum_bytes(const rb_average_desc *d) {
  return (size_t)d->count * (d->kind == RB_SUM_FIXED ? sizeof(int32_t) : rb_dtype_size(d->dtype));
}

rb_status rb_average_create(const rb_variant *variant, const rb_average_desc *desc, rb_average_plan **out) {
  rb_status st = RB_OK;
  const rb_average_ops *ops = variant->ops;
  const rb_backend *backend;
  rb_average_plan *p = NULL;
  *out = NULL;
  RB_CHECK(desc->count >= 1, RB_EINVAL, "average: %lld values a volume", (long long)desc->count);
  RB_TRY(rb_variant_backend(variant, &backend));
  RB_TRY(ops->supports(desc));
  RB_TRY(ops->plan(backend, desc, &p));
  /* the sums are the plan's common part, made here for every variant */
  p->variant = variant, p->backend = backend, p->desc = *desc;
  RB_TRY(rb_alloc(backend, rb_average_sum_bytes(desc), &p->sums));
  RB_TRY(rb_average_clear(p));
  *out = p;
  p = NULL;
done:
  rb_average_destroy(p);
  return st;
}
/* First what the variant keeps beside the sums, then the sums. */
rb_status rb_average_clear(rb_average_plan *p) {
  /* bytes of 0 are the number 0 of all three types */
  if (ops_of(p)->clear) ops_of(p)->clear(p);
  return p->backend->fill(p->sums, 0, rb_average_sum_bytes(&p->desc));
}
/* sums += weight image, in the plan's kind of sums */
rb_status rb_average_add(rb_average_plan *p, double weight, rb_array image) {
  rb_status st = RB_OK;
  RB_CHECK(weight > 0 && isfinite(weight), RB_EINVAL, "average: weight %g; it must be positive", weight);
  RB_NEED(p, "average", image, p->desc.count);
  RB_TRY(ops_of(p)->add(p, weight, image.data));
done:
  return st;
}
/* out = sums / total; the sums stay, more images may be added and the mean taken again */
rb_status rb_average_finish(rb_average_plan *p, double total, rb_array out) {
  rb_status st = RB_OK;
  /* total is the sum of all weights, of the other processes' images, too; the plan does not add them up */
  RB_CHECK(total > 0 && isfinite(total), RB_EINVAL, "average: weights add up to %g", total);
  RB_NEED(p, "average", out, p->desc.count);
  RB_TRY(ops_of(p)->finish(p, total, out.data));
done:
  return st;
}
void *rb_average_sums(rb_average_plan *p) { return p->sums; }
/* The variant's destroy frees the plan, so it comes last. */
void rb_average_destroy(rb_average_plan *p) {
  if (!p) return;
  rb_release(p->backend, p->sums);
  ops_of(p)->destroy(p);
}

/* The volume read, the sums read and written. */
double rb_average_bytes(const rb_average_desc *d) {
  return (double)d->count * (double)rb_dtype_size(d->dtype) + 2 * (double)rb_average_sum_bytes(d);
}
double rb_average_tolerance(const rb_average_desc *d, int images, double range) {
  const double epsilon = rb_epsilon(d->dtype);
  /* fixed: each image rounds by half a unit, and so does their mean at most; eps range of the quotient
   * float: a rounding a product and a sum, and the quotient */
  if (d->kind == RB_SUM_FIXED) return 0.5 / RB_AVERAGE_UNIT + epsilon * range;
  return (images + 2) * epsilon * range;
}
