/* SPDX-License-Identifier: BSD-3-Clause */
/* The single-thread code that demons2020 divides by, in spirit: one thread, float32. */
#include "kernels/force/force.h"

#include <stdlib.h>

/* Both pragmas are empty: the body runs in one thread, its sum in sequence. */
#define PARALLEL
#define PARALLEL_SUM
#define REAL float
#define SUFFIX(name) name##_f32
#include "cpu_ref/force/force_real.h"

static rb_status supports(const rb_force_desc *d) {
  return d->dtype == RB_F32 ? RB_OK : RB_FAIL(RB_EUNSUPPORTED, "cpu/naive is float32, as the paper's");
}
static rb_status plan(const rb_backend *b, const rb_force_desc *d, rb_force_plan **out) {
  (void)b, (void)d;
  *out = calloc(1, sizeof **out);
  return *out ? RB_OK : RB_FAIL(RB_ENOMEM, "host memory");
}
static void destroy(rb_force_plan *p) { free(p); }
static rb_status force(rb_force_plan *p, double ratio, const void *fixed, const void *warped, void *u) {
  force_f32(p->desc.grid, (float)ratio, fixed, warped, u);
  return RB_OK;
}
/* the sum is double in either variant, as the contract has it */
static rb_status energy(rb_force_plan *p, const void *fixed, const void *warped, double *out) {
  *out = energy_f32(p->desc.grid, fixed, warped);
  return RB_OK;
}

const rb_force_ops rb_force_naive = {supports, plan, force, energy, destroy};
