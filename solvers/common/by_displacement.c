/* SPDX-License-Identifier: BSD-3-Clause */
#include "solvers/common/by_displacement.h"

#include "kernels/compose/compose.h"
#include "kernels/registry/registry.h"

#include <math.h>

/* The same kernels for every solver's result, in float32 on the CPU, whatever the solver ran on: judgements do not
 * depend on its backend. The caller destroys the plan; NULL on a failure, which rb_compose_destroy takes. */
static rb_status plan(rb_grid g, rb_compose_plan **out) {
  const rb_compose_desc d = {.grid = g, .dtype = RB_F32};
  const rb_variant *v;
  const rb_status st = rb_variant_find(&rb_compose_family, "cpu/omp", &v);
  *out = NULL;
  return st == RB_OK ? rb_compose_create(v, &d, out) : st;
}

/* A field of the plan's grid in host memory. */
static rb_array host(const rb_compose_plan *p, int components, const float *data) {
  return rb_array_host(RB_F32, components * rb_grid_points(p->desc.grid), data);
}

/* out(x) = image(x + u(x)), fading to 0 over one voxel beyond the grid. */
rb_status rb_displaced_image(rb_grid g, const float *u, const float *image, float *out) {
  rb_compose_plan *p;
  rb_status st = plan(g, &p);
  if (st == RB_OK) st = rb_compose_warp(p, host(p, 1, image), host(p, 3, u), host(p, 1, out));
  rb_compose_destroy(p);
  return st;
}

/* Central differences in voxels, one-sided at the border: the spacing of the grid does not enter. */
rb_status rb_displacement_determinant(rb_grid g, const float *u, float *out) {
  rb_compose_plan *p;
  rb_status st = plan(g, &p);
  if (st == RB_OK) st = rb_compose_determinant(p, host(p, 3, u), host(p, 1, out));
  rb_compose_destroy(p);
  return st;
}

/* Each axis is rounded to the nearest whole number by itself, halves to even. Beyond the grid lies background. */
void rb_displaced_labels(rb_grid g, const float *u, const float *labels, float *out) {
  const int64_t n = rb_grid_points(g);
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < n; i++) {
    int64_t at[3] = {i / g.n[2] / g.n[1], i / g.n[2] % g.n[1], i % g.n[2]};
    int inside = 1;
    for (int a = 0; a < 3; a++) {
      at[a] += llrintf(u[a * n + i]);
      inside = inside && at[a] >= 0 && at[a] < g.n[a];
    }
    out[i] = inside ? labels[(at[0] * g.n[1] + at[1]) * g.n[2] + at[2]] : 0;
  }
}
