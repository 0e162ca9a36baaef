/* SPDX-License-Identifier: BSD-3-Clause */
#include "kernels/force/force.h"

#include <float.h>
#include <math.h>

static const rb_force_ops *ops_of(const rb_force_plan *p) { return p->variant->ops; }
/* Nodes of the grid: an image's values; u has three components of as many. */
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
  /* a float64 on the backend for the energy that is waited for */
  RB_TRY(rb_alloc(backend, sizeof *p->kept, (void **)&p->kept));
  *out = p;
  p = NULL;
done:
  /* NULL on success */
  rb_force_destroy(p);
  return st;
}
/* u = d g / (|g|^2 + ratio^2 d^2) in voxels:  |u| <= 1 / (2 ratio) */
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
/* The sum stays on the backend: nothing is waited for. */
rb_status rb_force_energy_kept(rb_force_plan *p, rb_array fixed, rb_array warped, rb_array kept) {
  rb_status st = RB_OK;
  RB_NEED(p, "force", fixed, nodes(p));
  RB_NEED(p, "force", warped, nodes(p));
  RB_TRY(rb_array_check(kept, "force", "kept", p->backend, RB_F64, 1));
  RB_TRY(ops_of(p)->energy(p, fixed.data, warped.data, kept.data));
done:
  return st;
}
/* The sum on the backend, then fetched: the download waits. */
rb_status rb_force_energy(rb_force_plan *p, rb_array fixed, rb_array warped, double *out) {
  rb_status st = RB_OK;
  RB_NEED(p, "force", fixed, nodes(p));
  RB_NEED(p, "force", warped, nodes(p));
  RB_TRY(ops_of(p)->energy(p, fixed.data, warped.data, p->kept));
  RB_TRY(p->backend->download(out, p->kept, sizeof *out));
done:
  return st;
}
/* The variant's destroy frees the plan, so it comes last. */
void rb_force_destroy(rb_force_plan *p) {
  if (!p) return;
  rb_release(p->backend, p->kept);
  ops_of(p)->destroy(p);
}

/* Two images read, three components written. */
double rb_force_bytes(const rb_force_desc *d) {
  return 5.0 * (double)rb_dtype_size(d->dtype) * (double)rb_grid_points(d->grid);
}
double rb_force_tolerance(const rb_force_desc *d, double ratio) {
  enum { ROUNDINGS = 16 }; /* of two differences, three squares, a quotient and their sums, with a margin */
  return ROUNDINGS * rb_epsilon(d->dtype) * (1 + 1 / ratio);
}
double rb_force_energy_tolerance(const rb_force_desc *d, double range) {
  /* N terms of range^2: each rounds in the data's precision (a square of a difference: 2 eps); N additions in double
   */
  return (double)rb_grid_points(d->grid) * range * range *
         (2 * rb_epsilon(d->dtype) + (double)rb_grid_points(d->grid) * DBL_EPSILON);
}
