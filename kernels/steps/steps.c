/* SPDX-License-Identifier: BSD-3-Clause */
#include "kernels/steps/steps.h"

#include <stdlib.h>

static const rb_steps_ops *ops_of(const rb_steps_plan *p) { return p->variant->ops; }

/* Values of the rows, with the first, which counts them. */
static size_t row_values(const rb_steps_desc *d) { return 1 + 2 * (size_t)d->rows * (size_t)d->count; }

rb_status rb_steps_create(const rb_variant *variant, const rb_steps_desc *desc, rb_steps_plan **out) {
  rb_status st = RB_OK;
  const rb_steps_ops *ops = variant->ops;
  const rb_backend *backend;
  rb_steps_plan *p = NULL;
  *out = NULL;
  RB_CHECK(desc->count >= 1 && desc->count <= 65536, RB_EINVAL, "steps: %d descents; 1 to 65536 work", desc->count);
  RB_CHECK(desc->rows >= 0, RB_EINVAL, "steps: %d rows", desc->rows);
  RB_TRY(rb_variant_backend(variant, &backend));
  RB_TRY(ops->supports(desc));
  RB_TRY(ops->plan(backend, desc, &p));
  p->variant = variant, p->backend = backend, p->desc = *desc;
  RB_TRY(rb_alloc(backend, (size_t)desc->count * sizeof *p->a, (void **)&p->a));
  RB_TRY(rb_alloc(backend, (size_t)desc->count * sizeof *p->e, (void **)&p->e));
  RB_TRY(rb_alloc(backend, row_values(desc) * sizeof *p->rows, (void **)&p->rows));
  RB_TRY(rb_alloc(backend, sizeof *p->room, (void **)&p->room));
  *out = p;
  p = NULL;
done:
  rb_steps_destroy(p); /* NULL on success */
  return st;
}

rb_status rb_steps_begin(rb_steps_plan *p, const double *a, const double *e) {
  rb_status st = RB_OK;
  const size_t bytes = (size_t)p->desc.count * sizeof *a;
  RB_TRY(p->backend->upload(p->a, a, bytes));
  RB_TRY(p->backend->upload(p->e, e, bytes));
  RB_TRY(p->backend->fill(p->rows, 0, sizeof *p->rows)); /* no row */
done:
  return st;
}
rb_status rb_steps_judge(rb_steps_plan *p, rb_array now) {
  rb_status st = RB_OK;
  RB_TRY(rb_array_check(now, "steps", "now", p->backend, RB_F64, p->desc.count));
  RB_TRY(ops_of(p)->judge(p, now.data));
done:
  return st;
}
rb_status rb_steps_bound(rb_steps_plan *p, int k, double first, double most, int64_t n, rb_array x,
                         rb_array longest) {
  rb_status st = RB_OK;
  RB_CHECK(k >= 0 && k < p->desc.count, RB_EINVAL, "steps: descent %d of %d", k, p->desc.count);
  RB_CHECK(first > 0 && most > 0 && n >= 1, RB_EINVAL, "steps: a bound of %g, %g for %lld vectors", first, most,
           (long long)n);
  RB_NEED(p, "steps", x, 3 * n);
  RB_TRY(rb_array_check(longest, "steps", "longest", p->backend, RB_F64, 1));
  RB_TRY(ops_of(p)->bound(p, k, first, most, n, x.data, longest.data));
done:
  return st;
}
rb_status rb_steps_scale(rb_steps_plan *p, int k, int64_t n, rb_array x, rb_array z) {
  rb_status st = RB_OK;
  RB_CHECK(k >= 0 && k < p->desc.count, RB_EINVAL, "steps: descent %d of %d", k, p->desc.count);
  RB_CHECK(n >= 0, RB_EINVAL, "steps: %lld values", (long long)n);
  RB_NEED(p, "steps", x, n);
  RB_NEED(p, "steps", z, n);
  RB_TRY(ops_of(p)->scale(p, k, n, x.data, z.data));
done:
  return st;
}
rb_status rb_steps_rows(rb_steps_plan *p, double *out, int *count) {
  rb_status st = RB_OK;
  const size_t row = 2 * (size_t)p->desc.count * sizeof *out;
  double there;
  *count = 0;
  RB_TRY(p->backend->download(&there, p->rows, sizeof there));
  RB_CHECK(there >= 0 && there <= p->desc.rows, RB_EINVALID, "steps: %g rows of %d", there, p->desc.rows);
  if (there > 0) RB_TRY(p->backend->download(out, p->rows + 1, (size_t)there * row));
  *count = (int)there;
done:
  return st;
}
rb_array rb_steps_of(const rb_steps_plan *p, int k) { return rb_array_view(p->backend, RB_F64, 1, p->a + k); }
/* The variant's destroy frees the plan, so it comes last. */
void rb_steps_destroy(rb_steps_plan *p) {
  if (!p) return;
  rb_release(p->backend, p->room), rb_release(p->backend, p->rows), rb_release(p->backend, p->e),
      rb_release(p->backend, p->a);
  ops_of(p)->destroy(p);
}

/* of a_k and of the product */
double rb_steps_tolerance(const rb_steps_desc *d, double range) { return 2 * rb_epsilon(d->dtype) * range; }
