/* SPDX-License-Identifier: BSD-3-Clause */
#include "kernels/force/force.h"

#include <float.h>
#include <math.h>

static const rb_force_ops *ops_of(const rb_force_plan *p) { return p->variant->ops; }
static int64_t nodes(const rb_force_plan *p) { return rb_grid_points(p->desc.grid); }

rb_status rb_force_create(const rb_variant *variant, const rb_force_desc *desc, rb_force_plan **out) {
  rb_status st = RB_OK;
  const rb_force_ops *ops = variant->ops;
  const rb_backend *backend;
  rb_force_plan *p = NULL;
  *out = NULL;
  RB_TRY(rb_grid_check(desc->grid, "force"));
  RB_TRY(rb_variant_backend(variant, &backend));
  RB_TRY(ops->supports(desc));
  RB_TRY(ops->plan(backend, desc, &p));
  p->variant = variant, p->backend = backend, p->desc = *desc;
  RB_TRY(rb_alloc(backend, sizeof *p->kept, (void **)&p->kept));
  *out = p;
  p = NULL;
done:
  rb_force_destroy(p);
  return st;
}
rb_status rb_force(rb_force_plan *p, double ratio, rb_array fixed, rb_array warped, rb_array u) {
  rb_status st = RB_OK;
  RB_CHECK(ratio > 0 && isfinite(ratio), RB_EINVAL, "force: sigma_i / sigma_x is %g; it must be positive", ratio);
  RB_NEED(p, "force", fixed, nodes(p));
  RB_NEED(p, "force", warped, nodes(p));
  RB_NEED(p, "force", u, 3 * nodes(p));
  RB_TRY(ops_of(p)->force(p, ratio, fixed.data, warped.data, u.data));
done:
  return st;
}
rb_status rb_force_energy_kept(rb_force_plan *p, rb_array fixed, rb_array warped, rb_array kept) {
  rb_status st = RB_OK;
  RB_NEED(p, "force", fixed, nodes(p));
  RB_NEED(p, "force", warped, nodes(p));
  RB_TRY(rb_array_check(kept, "force", "kept", p->backend, RB_F64, 1));
  RB_TRY(ops_of(p)->energy(p, fixed.data, warped.data, kept.data));
done:
  return st;
}
rb_status rb_force_energy(rb_force_plan *p, rb_array fixed, rb_array warped, double *out) {
  rb_status st = RB_OK;
  RB_NEED(p, "force", fixed, nodes(p));
  RB_NEED(p, "force", warped, nodes(p));
  RB_TRY(ops_of(p)->energy(p, fixed.data, warped.data, p->kept));
  RB_TRY(p->backend->download(out, p->kept, sizeof *out));
done:
  return st;
}
void rb_force_destroy(rb_force_plan *p) {
  if (!p) return;
  rb_release(p->backend, p->kept);
  ops_of(p)->destroy(p);
}

double rb_force_bytes(const rb_force_desc *d) {
  return 5.0 * (double)rb_dtype_size(d->dtype) * (double)rb_grid_points(d->grid);
}
double rb_force_tolerance(const rb_force_desc *d, double ratio) {
  enum { ROUNDINGS = 16 }; /* of two differences, three squares, a quotient and their sums, with a margin */
  return ROUNDINGS * rb_epsilon(d->dtype) * (1 + 1 / ratio);
}
double rb_force_energy_tolerance(const rb_force_desc *d, double range) {
  return (double)rb_grid_points(d->grid) * range * range *
         (2 * rb_epsilon(d->dtype) + (double)rb_grid_points(d->grid) * DBL_EPSILON);
}
