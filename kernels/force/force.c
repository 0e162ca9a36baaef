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
  for (int a = 0; a < 3; a++)
    RB_CHECK(desc->grid.n[a] >= 1 && desc->grid.n[a] <= 1 << 20, RB_EINVAL,
             "force: axis %d has %lld points; 1 to 2^20 work", a + 1, (long long)desc->grid.n[a]);
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
  return 16 * (d->dtype == RB_F64 ? DBL_EPSILON : FLT_EPSILON) * (1 + 1 / ratio);
}
double rb_force_energy_tolerance(const rb_force_desc *d, double range) {
  return (double)rb_grid_points(d->grid) * range * range *
         (2 * (d->dtype == RB_F64 ? DBL_EPSILON : FLT_EPSILON) + (double)rb_grid_points(d->grid) * DBL_EPSILON);
}
