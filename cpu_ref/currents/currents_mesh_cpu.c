/* SPDX-License-Identifier: BSD-3-Clause */
/* cpu/mesh of currents: the particle mesh by splat, FFTW and the two passes below, on all cores. */
#include "kernels/currents/currents_mesh.h"

#include <math.h>

/* The gathers are shared with the CUDA variant; here they are plain functions, once a precision. */
#define FUNCTION static inline
#define REAL float
#define SUFFIX(name) name##_f32
#include "kernels/currents/currents_gather.h"
#include "cpu_ref/currents/currents_mesh_real.h"
#undef REAL
#undef SUFFIX
#define REAL double
#define SUFFIX(name) name##_f64
#include "kernels/currents/currents_gather.h"
#include "cpu_ref/currents/currents_mesh_real.h"

/* Each pass by the plan's type; made_for, as head.desc is not filled in while the plan is made. */
static rb_status to_grid(rb_currents_mesh *p, int64_t n, const void *y, void *points) {
  if (p->made_for.dtype == RB_F64)
    to_grid_f64(p, n, y, points);
  else
    to_grid_f32(p, n, y, points);
  return RB_OK;
}
static rb_status add_fixed(rb_currents_mesh *p) {
  if (p->made_for.dtype == RB_F64)
    add_fixed_f64(p);
  else
    add_fixed_f32(p);
  return RB_OK;
}
/* the energy, and F^ *= K^ / N */
static rb_status filter(rb_currents_mesh *p) {
  if (p->made_for.dtype == RB_F64)
    filter_f64(p);
  else
    filter_f32(p);
  return RB_OK;
}
static rb_status keep(rb_currents_mesh *p, double *kept) {
  *kept = p->energy[0];
  return RB_OK;
}
/* u and z at n places, from the field on the grid */
static rb_status gather(rb_currents_mesh *p, int64_t n, const void *x, const void *pair, void *u, void *z) {
  if (p->made_for.dtype == RB_F64)
    gather_f64(p, n, x, pair, u, z);
  else
    gather_f32(p, n, x, pair, u, z);
  return RB_OK;
}

/* What differs from cuda/mesh: the transform and three passes. The rest is kernels/currents/currents_mesh.c. */
static const rb_currents_mesh_parts parts = {&rb_fft_planes, to_grid, add_fixed, filter, keep, gather};
static rb_status plan(const rb_backend *backend, const rb_currents_desc *d, rb_currents_plan **out) {
  return rb_currents_mesh_plan(backend, d, &parts, out);
}

const rb_currents_ops rb_currents_mesh_cpu = {rb_currents_mesh_supports, plan,
                                              rb_currents_mesh_load,     rb_currents_mesh_eval,
                                              rb_currents_mesh_energy,   rb_currents_mesh_outcome,
                                              rb_currents_mesh_destroy,  0,
                                              RB_WEIGHTS_FULL,           rb_currents_mesh_set_fixed};
