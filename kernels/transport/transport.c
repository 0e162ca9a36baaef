/* SPDX-License-Identifier: BSD-3-Clause */
#include "kernels/transport/transport.h"

#include "kernels/base/profile.h"

rb_status rb_transport_create(const rb_variant *variant, const rb_transport_desc *desc, rb_transport_plan **out) {
  rb_status st = RB_OK;
  const rb_transport_ops *ops = variant->ops;
  const rb_backend *backend;
  /* The kernels' own plans are made by the variant's: the description names variants only. */
  *out = NULL;
  RB_CHECK(desc->steps >= 1 && desc->steps <= 64, RB_EINVAL, "transport: %d time steps; 1 to 64 work", desc->steps);
  /* the three kernels work on the transport variant's arrays: all of one backend */
  RB_CHECK(desc->interp->backend == variant->backend && desc->derivative->backend == variant->backend &&
               desc->field->backend == variant->backend,
           RB_EINVAL, "transport: %s with kernels %s, %s and %s of another backend", variant->name,
           desc->interp->name, desc->derivative->name, desc->field->name);
  RB_TRY(rb_variant_backend(variant, &backend));
  RB_TRY(ops->supports(desc));
  RB_TRY(ops->plan(backend, desc, out));
  (*out)->variant = variant;
  (*out)->backend = backend;
  (*out)->desc = *desc;
done:
  return st;
}

/* Order of calls: velocity, then state, then adjoint and incremental, which read the state's history. advect,
 * jacobian and map need the velocity alone. */
static const rb_transport_ops *ops_of(const rb_transport_plan *p) { return p->variant->ops; }
/* N; vector fields have 3 N values, component after component. */
static int64_t nodes(const rb_transport_plan *p) { return rb_grid_points(p->desc.grid); }

/* no array stands for v = 0; v is read again by later calls and must stay unchanged */
rb_status rb_transport_velocity(rb_transport_plan *p, rb_array v) {
  rb_status st = RB_OK;
  RB_NEED_IF(p, "transport", v, 3 * nodes(p));
  RB_TRY(ops_of(p)->velocity(p, v.data));
done:
  return st;
}
/* m^0 = m0 .. m^steps into the plan's history. */
rb_status rb_transport_state(rb_transport_plan *p, rb_array m0) {
  rb_status st = RB_OK;
  RB_NEED(p, "transport", m0, nodes(p));
  RB_TRY(ops_of(p)->state(p, m0.data));
done:
  return st;
}
rb_array rb_transport_history(const rb_transport_plan *p, int j) {
  /* a view of the plan's memory, until the next state; not to be destroyed */
  return rb_array_view(p->backend, ops_of(p)->in_double ? RB_F64 : p->desc.dtype, nodes(p), ops_of(p)->history(p, j));
}
/* lambda is l(1) on entry and used up; the history must be that of a state with the present v */
rb_status rb_transport_adjoint(rb_transport_plan *p, rb_array lambda, rb_array b) {
  rb_status st = RB_OK;
  RB_NEED(p, "transport", lambda, nodes(p));
  RB_NEED(p, "transport", b, 3 * nodes(p));
  RB_TRY(ops_of(p)->adjoint(p, lambda.data, b.data));
done:
  return st;
}
/* mt(1) for the direction vt; the history must be that of a state with the present v */
rb_status rb_transport_incremental(rb_transport_plan *p, rb_array vt, rb_array mt) {
  rb_status st = RB_OK;
  RB_NEED(p, "transport", vt, 3 * nodes(p));
  RB_NEED(p, "transport", mt, nodes(p));
  RB_TRY(ops_of(p)->incremental(p, vt.data, mt.data));
done:
  return st;
}
/* in place: f is read and written */
rb_status rb_transport_advect(rb_transport_plan *p, rb_array f) {
  rb_status st = RB_OK;
  RB_NEED(p, "transport", f, nodes(p));
  RB_TRY(ops_of(p)->advect(p, f.data));
done:
  return st;
}
/* det F at t = 1 from J(0) = 1; div v is the caller's, so that its scheme may differ from the plan's */
rb_status rb_transport_jacobian(rb_transport_plan *p, rb_array divergence, rb_array det) {
  rb_status st = RB_OK;
  RB_NEED(p, "transport", divergence, nodes(p));
  RB_NEED(p, "transport", det, nodes(p));
  RB_TRY(ops_of(p)->jacobian(p, divergence.data, det.data));
done:
  return st;
}
/* u in grid cells, not in radians */
rb_status rb_transport_map(rb_transport_plan *p, rb_array u) {
  rb_status st = RB_OK;
  RB_NEED(p, "transport", u, 3 * nodes(p));
  RB_TRY(ops_of(p)->map(p, u.data));
done:
  return st;
}
int rb_transport_fields(const rb_variant *variant, int steps) {
  const rb_transport_ops *ops = variant->ops;
  /* fields of N values: a part that does not depend on the steps, and the history's */
  return ops ? ops->fields + steps * ops->fields_a_step : 0;
}
void rb_transport_destroy(rb_transport_plan *p) {
  if (p) ops_of(p)->destroy(p);
}

/* Every step interpolates and multiplies; errors of the interpolation (its own contract's bound) and of the feet
 * (which move values by slope times their shift) add up over the steps and the three equations' factors. */
double rb_transport_tolerance(const rb_transport_desc *d, double range, double slope) {
  rb_interp_desc i = {.grid = d->grid,
                      .basis = d->basis,
                      .prefilter = d->prefilter,
                      .boundary = RB_PERIODIC,
                      .dtype = d->dtype,
                      .components = 1};
  double once = rb_interp_tolerance(d->interp, &i, range + slope);
  /* bounds of the two kernels' contracts for this plan's grid, basis and scheme */
  rb_derivative_desc e = {.grid = d->grid, .scheme = d->scheme, .dtype = d->dtype};
  /* a step: two feet, field and factor; of v's divergence and products */
  enum { INTERPOLATIONS = 4, DERIVATIVES = 4 };
  return INTERPOLATIONS * d->steps * once + DERIVATIVES * rb_derivative_tolerance(&e, range);
}
