/* SPDX-License-Identifier: BSD-3-Clause */
/* cpu/naive of derivative: one thread, float32, a modulo in every tap. */
#include "kernels/derivative/derivative.h"

#include <stdlib.h>

static rb_status supports(const rb_derivative_desc *desc) {
  if (desc->scheme == RB_SPECTRAL || desc->dtype != RB_F32)
    return RB_FAIL(RB_EUNSUPPORTED, "cpu/naive is fd2 and fd8 in float32 only");
  return RB_OK;
}
static rb_status plan(const rb_backend *backend, const rb_derivative_desc *desc, rb_derivative_plan **out) {
  (void)backend, (void)desc;
  *out = calloc(1, sizeof **out);
  return *out ? RB_OK : RB_FAIL(RB_ENOMEM, "host memory");
}

/* (1/h) sum_{l=1..4} c_l (f_{i+l} - f_{i-l}) as eight single terms, from l = -4 to 4, indices modulo n */
static float partial(rb_grid g, const float *f, int axis, int64_t i[3]) {
  float sum = 0;
  for (int l = -4; l <= 4; l++) {
    if (l == 0) continue;
    int64_t k[3] = {i[0], i[1], i[2]};
    k[axis] = rb_wrap(i[axis] + l, g.n[axis]);
    /* c_l / h with the sign of l, divided and rounded anew for every tap */
    float c = (float)((l < 0 ? -rb_fd8[-l - 1] : rb_fd8[l - 1]) / rb_grid_spacing(g, axis));
    sum += c * f[(k[0] * g.n[1] + k[1]) * g.n[2] + k[2]];
  }
  return sum;
}

/* (f_{i+1} - f_{i-1}) / (2 h) */
static float partial_fd2(rb_grid g, const float *f, int axis, int64_t i[3]) {
  const float c = (float)(0.5 / rb_grid_spacing(g, axis));
  int64_t up[3] = {i[0], i[1], i[2]}, down[3] = {i[0], i[1], i[2]};
  up[axis] = rb_wrap(i[axis] + 1, g.n[axis]), down[axis] = rb_wrap(i[axis] - 1, g.n[axis]);
  return c * (f[(up[0] * g.n[1] + up[1]) * g.n[2] + up[2]] - f[(down[0] * g.n[1] + down[1]) * g.n[2] + down[2]]);
}

/* `at` runs along with the three indices: the flat index of node i. */
static rb_status apply(rb_derivative_plan *p, const float *in, float *out, int divergence) {
  rb_grid g = p->desc.grid;
  int64_t n = rb_grid_points(g), at = 0, i[3];
  float (*const along)(rb_grid, const float *, int, int64_t *) = p->desc.scheme == RB_FD2 ? partial_fd2 : partial;
  for (i[0] = 0; i[0] < g.n[0]; i[0]++)
    for (i[1] = 0; i[1] < g.n[1]; i[1]++)
      for (i[2] = 0; i[2] < g.n[2]; i[2]++, at++) {
        /* gradient: component a from the one field. divergence: component a from v_a, and the sum. */
        float d[3];
        for (int a = 0; a < 3; a++) d[a] = along(g, divergence ? in + a * n : in, a, i);
        if (divergence)
          out[at] = d[0] + d[1] + d[2];
        else
          for (int a = 0; a < 3; a++) out[a * n + at] = d[a];
      }
  return RB_OK;
}
static rb_status gradient(rb_derivative_plan *p, const void *f, void *g) { return apply(p, f, g, 0); }
static rb_status divergence(rb_derivative_plan *p, const void *v, void *d) { return apply(p, v, d, 1); }
static void destroy(rb_derivative_plan *p) { free(p); }

const rb_derivative_ops rb_derivative_naive = {supports, plan, gradient, divergence, destroy};
