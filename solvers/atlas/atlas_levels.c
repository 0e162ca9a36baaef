/* SPDX-License-Identifier: BSD-3-Clause */
/* Between the levels of an atlas: images down, displacements up; on the host. */
#include "solvers/atlas/atlas.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

rb_grid rb_atlas_coarse_grid(rb_grid fine, int factor) {
  rb_grid g = fine;
  for (int a = 0; a < 3; a++) g.n[a] = fine.n[a] / factor > 1 ? fine.n[a] / factor : 1;
  return g;
}

/* out = Gaussian of sigma voxels along axis a, cut at 2 ceil(sigma) voxels and renormalised where it leaves the grid.
 */
static void blur(rb_grid g, int a, double sigma, const float *f, float *out) {
  const int64_t n = g.n[a], stride = a == 0 ? g.n[1] * g.n[2] : a == 1 ? g.n[2] : 1;
  const int64_t reach = 2 * (int64_t)ceil(sigma);
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < rb_grid_points(g); i++) {
    const int64_t at = i / stride % n;
    double sum = 0, weights = 0;
    for (int64_t k = at > reach ? -reach : -at; k <= reach && at + k < n; k++) {
      const double w = exp(-0.5 * (double)(k * k) / (sigma * sigma));
      sum += w * (double)f[i + k * stride], weights += w;
    }
    out[i] = (float)(sum / weights);
  }
}

/* f at x (in its voxels), linear; beyond the grid 0, or the nearest node where `clamp`. */
static double linear_at(rb_grid g, const float *f, const double x[3], int clamp) {
  double sum = 0;
  int64_t base[3];
  double t[3];
  for (int a = 0; a < 3; a++) {
    const double at = clamp ? fmin(fmax(x[a], 0), (double)(g.n[a] - 1)) : x[a];
    base[a] = (int64_t)floor(at);
    t[a] = at - (double)base[a];
  }
  for (int corner = 0; corner < 8; corner++) {
    int64_t i[3];
    double w = 1;
    int there = 1;
    for (int a = 0; a < 3; a++) {
      const int high = corner >> a & 1;
      i[a] = base[a] + high;
      w *= high ? t[a] : 1 - t[a];
      there = there && i[a] >= 0 && i[a] < g.n[a];
    }
    if (there && w != 0) sum += w * (double)f[(i[0] * g.n[1] + i[1]) * g.n[2] + i[2]];
  }
  return sum;
}

/* Node i of `to` in voxels of `from`: centres of equal boxes. */
static void place(rb_grid to, int64_t i, rb_grid from, double x[3]) {
  const int64_t at[3] = {i / to.n[2] / to.n[1], i / to.n[2] % to.n[1], i % to.n[2]};
  for (int a = 0; a < 3; a++) x[a] = ((double)at[a] + 0.5) * (double)from.n[a] / (double)to.n[a] - 0.5;
}

rb_status rb_atlas_restrict(rb_grid fine, const float *image, rb_grid coarse, float *out) {
  rb_status st = RB_OK;
  const size_t bytes = (size_t)rb_grid_points(fine) * sizeof *image;
  float *a = malloc(bytes), *b = malloc(bytes);
  RB_CHECK(a && b, RB_ENOMEM, "host memory: %zu bytes for a coarser level", 2 * bytes);
  memcpy(a, image, bytes);
  for (int axis = 0; axis < 3; axis++) {
    if (fine.n[axis] == coarse.n[axis]) continue;
    blur(fine, axis, sqrt((double)fine.n[axis] / (double)coarse.n[axis] / 2), a, b);
    float *swap = a;
    a = b, b = swap;
  }
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < rb_grid_points(coarse); i++) {
    double x[3];
    place(coarse, i, fine, x);
    out[i] = (float)linear_at(fine, a, x, 0);
  }
done:
  free(b), free(a);
  return st;
}

void rb_atlas_prolong(rb_grid coarse, const float *u, rb_grid fine, float *out) {
  const int64_t n = rb_grid_points(fine), m = rb_grid_points(coarse);
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < n; i++) {
    double x[3];
    place(fine, i, coarse, x);
    for (int c = 0; c < 3; c++)
      out[c * n + i] = (float)((double)fine.n[c] / (double)coarse.n[c] * linear_at(coarse, u + c * m, x, 1));
  }
}
