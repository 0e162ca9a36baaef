/* SPDX-License-Identifier: BSD-3-Clause */
/* Oracle of force: double, a node at a time. */
#include "cpu_ref/base/values.h"
#include "kernels/force/force.h"

#include <math.h>
#include <stdlib.h>

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

static double get(const rb_force_plan *p, const void *f, int64_t i) { return rb_value_get(p->desc.dtype, f, i); }

static rb_status force(rb_force_plan *p, double ratio, const void *fixed, const void *warped, void *u) {
  const rb_grid g = p->desc.grid;
  const int64_t n = rb_grid_points(g), stride[3] = {g.n[1] * g.n[2], g.n[2], 1};
  for (int64_t i = 0; i < n; i++) {
    /* u = d g / (|g|^2 + (sigma_i/sigma_x)^2 d^2),  g = grad warped */
    const double f = get(p, fixed, i), w = get(p, warped, i), d = f - w;
    /* slope: g = grad warped per voxel; square: |g|^2 */
    double slope[3], square = 0;
    for (int a = 0; a < 3; a++) {
      /* inside half the rise over two voxels, at the border the rise over one, 0 along an axis of one node */
      const int64_t at = i / stride[a] % g.n[a], low = at > 0 ? -1 : 0, high = at + 1 < g.n[a] ? 1 : 0;
      slope[a] = low == high ? 0
                             : (get(p, warped, i + high * stride[a]) - get(p, warped, i + low * stride[a])) /
                                   (double)(high - low);
      square += slope[a] * slope[a];
    }
    /* under = |g|^2 + (sigma_i / sigma_x)^2 d^2 */
    const double under = square + ratio * ratio * d * d;
    for (int a = 0; a < 3; a++) {
      /* background (0) in either image: no force */
      const double v = f != 0 && w != 0 && under > 0 ? d * slope[a] / under : 0;
      rb_value_put(p->desc.dtype, u, a * n + i, v);
    }
  }
  return RB_OK;
}

/* sum (fixed - warped)^2 in sequence, differences of floats exact in double or rounded once. */
static rb_status energy(rb_force_plan *p, const void *fixed, const void *warped, double *out) {
  *out = 0;
  for (int64_t i = 0; i < rb_grid_points(p->desc.grid); i++) *out += pow(get(p, fixed, i) - get(p, warped, i), 2);
  return RB_OK;
}

const rb_force_ops rb_force_ref = {supports, plan, force, energy, destroy};
