/* SPDX-License-Identifier: BSD-3-Clause */
/* Between the levels of an atlas: images down, displacements up; on the host. */
#include "datasets/resample.h"
#include "solvers/atlas/atlas.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Cut, not rounded: of 7 voxels 3 remain at half the size. Axes of one voxel stay. */
rb_grid rb_atlas_coarse_grid(rb_grid fine, int factor) {
  rb_grid g = fine;
  for (int a = 0; a < 3; a++) g.n[a] = fine.n[a] / factor > 1 ? fine.n[a] / factor : 1;
  return g;
}

/* out = Gaussian of sigma voxels along axis a, cut at 2 ceil(sigma) voxels and renormalised where it leaves the grid.
 * A row along axis 3 is blurred at once, so that neighbours in memory are read together. Points beyond the grid are
 * left out and the weights' sum taken over the others, so that a constant stays one. Sums in double, in a fixed
 * order. */
static rb_status blur(rb_grid g, int a, double sigma, const float *f, float *out) {
  rb_status st = RB_OK;
  const int64_t n = g.n[a], n3 = g.n[2], stride = a == 0 ? g.n[1] * n3 : a == 1 ? n3 : 1;
  const int64_t reach = 2 * (int64_t)ceil(sigma); /* voxels each way */
  double *w = malloc((size_t)(reach + 1) * sizeof *w);
  RB_CHECK(w, RB_ENOMEM, "host memory");
  for (int64_t k = 0; k <= reach; k++) w[k] = exp(-0.5 * (double)(k * k) / (sigma * sigma));
#pragma omp parallel for schedule(static)
  for (int64_t row = 0; row < g.n[0] * g.n[1]; row++)
    for (int64_t j = 0; j < n3; j++) {
      const int64_t i = row * n3 + j, at = a == 0 ? row / g.n[1] : a == 1 ? row % g.n[1] : j;
      const int64_t low = at > reach ? -reach : -at, high = at + reach < n ? reach : n - 1 - at;
      double sum = 0, weights = 0;
      for (int64_t k = low; k <= high; k++) {
        const double one = w[k < 0 ? -k : k];
        sum += one * (double)f[i + k * stride], weights += one;
      }
      out[i] = (float)(sum / weights);
    }
done:
  free(w);
  return st;
}

/* Always from the finest image: sigma = sqrt(r / 2) voxels along an axis that becomes r times coarser, then linear
 * sampling at the coarse voxels' centres. Axes that stay are not blurred. a and b take turns as source and target. */
rb_status rb_atlas_restrict(rb_grid fine, const float *image, rb_grid coarse, float *out) {
  rb_status st = RB_OK;
  const size_t bytes = (size_t)rb_grid_points(fine) * sizeof *image;
  float *a = malloc(bytes), *b = malloc(bytes);
  RB_CHECK(a && b, RB_ENOMEM, "host memory: %zu bytes for a coarser level", 2 * bytes);
  memcpy(a, image, bytes);
  for (int axis = 0; axis < 3; axis++) {
    if (fine.n[axis] == coarse.n[axis]) continue; /* nothing is lost along it */
    RB_TRY(blur(fine, axis, sqrt((double)fine.n[axis] / (double)coarse.n[axis] / 2), a, b));
    float *swap = a;
    a = b, b = swap;
  }
  RB_TRY(rb_resample(RB_POINT, fine, a, coarse, out));
done:
  free(b), free(a);
  return st;
}

/* Linear at voxel centres; a displacement's component is r times as many of the finer voxels, r = fine / coarse along
 * its axis. */
rb_status rb_atlas_prolong(rb_grid coarse, const float *u, rb_grid fine, float *out) {
  rb_status st = RB_OK;
  const int64_t n = rb_grid_points(fine), m = rb_grid_points(coarse);
  for (int c = 0; c < 3; c++) {
    const float longer = (float)((double)fine.n[c] / (double)coarse.n[c]); /* r of this axis */
    RB_TRY(rb_resample(RB_POINT, coarse, u + c * m, fine, out + c * n));
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < n; i++) out[c * n + i] *= longer;
  }
done:
  return st;
}
