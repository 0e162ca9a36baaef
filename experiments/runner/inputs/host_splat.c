/* SPDX-License-Identifier: BSD-3-Clause */
#include "experiments/runner/inputs/host_splat.h"

#include "experiments/runner/inputs/host_apply.h"
#include "kernels/registry/registry.h"

rb_status rb_host_splat(const rb_variant *v, const rb_splat_desc *d, const void *x, const void *m, void *out,
                        int64_t *lost) {
  rb_status st = RB_OK;
  const rb_backend *b = NULL;
  rb_splat_plan *plan = NULL;
  void *points = NULL, *masses = NULL, *nodes = NULL;
  const size_t size = rb_dtype_size(d->dtype), bytes = (size_t)(rb_grid_points(d->grid) * d->components) * size;
  RB_TRY(rb_splat_create(v, d, &plan));
  RB_TRY(rb_backend_get(v->backend, &b));
  RB_TRY(rb_to_backend(b, x, (size_t)(3 * d->np) * size, &points));
  RB_TRY(rb_to_backend(b, m, (size_t)(d->components * d->np) * size, &masses));
  RB_TRY(rb_poisoned(b, bytes, &nodes));
  RB_TRY(rb_splat_run(plan, points, masses, nodes));
  RB_TRY(rb_splat_outcome(plan, lost));
  RB_TRY(b->download(out, nodes, bytes));
done:
  rb_splat_destroy(plan);
  if (b) rb_release(b, nodes), rb_release(b, masses), rb_release(b, points);
  return st;
}
