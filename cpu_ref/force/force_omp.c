/* SPDX-License-Identifier: BSD-3-Clause */
/* Baseline of force on the CPU: all cores. */
#include "kernels/force/force.h"

#include <stdlib.h>

/* Rows of x3 are shared among the threads; the energy's terms node by node, in static shares. */
#define PARALLEL _Pragma("omp parallel for schedule(static)")
#define PARALLEL_SUM _Pragma("omp parallel for schedule(static) reduction(+ : sum)")
#define REAL float
#define SUFFIX(name) name##_f32
#include "cpu_ref/force/force_real.h"
#undef REAL
#undef SUFFIX
#define REAL double
#define SUFFIX(name) name##_f64
#include "cpu_ref/force/force_real.h"

static rb_status supports(const rb_force_desc *d) {
  (void)d;
  return RB_OK;
}
static rb_status plan(const rb_backend *b, const rb_force_desc *d, rb_force_plan **out) {
  (void)b, (void)d;
  *out = calloc(1, sizeof **out);
  return *out ? RB_OK : RB_FAIL(RB_ENOMEM, "host memory");
}
static void destroy(rb_force_plan *p) { free(p); }
/* ratio = sigma_i / sigma_x, rounded to the images' precision */
static rb_status force(rb_force_plan *p, double ratio, const void *fixed, const void *warped, void *u) {
  if (p->desc.dtype == RB_F64)
    force_f64(p->desc.grid, ratio, fixed, warped, u);
  else
    force_f32(p->desc.grid, (float)ratio, fixed, warped, u);
  return RB_OK;
}
static rb_status energy(rb_force_plan *p, const void *fixed, const void *warped, double *out) {
  *out = p->desc.dtype == RB_F64 ? energy_f64(p->desc.grid, fixed, warped) : energy_f32(p->desc.grid, fixed, warped);
  return RB_OK;
}

const rb_force_ops rb_force_omp = {supports, plan, force, energy, destroy};
