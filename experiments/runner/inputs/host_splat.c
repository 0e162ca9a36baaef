/* SPDX-License-Identifier: BSD-3-Clause */
#include "experiments/runner/inputs/host_splat.h"

#include "experiments/runner/inputs/host_apply.h"
#include "kernels/registry/registry.h"

rb_status rb_host_splat(const rb_variant *v, const rb_splat_desc *d, const void *x, const void *m, void *out,
                        int64_t *lost) {
  rb_status st = RB_OK;
  const rb_backend *b = NULL;
  rb_splat_plan *plan = NULL;
  rb_array points = {0}, masses = {0}, nodes = {0};
  RB_TRY(rb_splat_create(v, d, &plan));
  RB_TRY(rb_backend_get(v->backend, &b));
  RB_TRY(rb_to_backend(b, x, d->dtype, 3 * d->np, &points));
  RB_TRY(rb_to_backend(b, m, d->dtype, d->components * d->np, &masses));
  RB_TRY(rb_poisoned(b, d->dtype, rb_grid_points(d->grid) * d->components, &nodes));
  RB_TRY(rb_splat_run(plan, points, masses, nodes));
  RB_TRY(rb_splat_outcome(plan, lost));
  RB_TRY(rb_array_download(nodes, out));
done:
  rb_splat_destroy(plan);
  rb_array_destroy(&nodes), rb_array_destroy(&masses), rb_array_destroy(&points);
  return st;
}
