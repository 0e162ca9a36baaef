/* SPDX-License-Identifier: BSD-3-Clause */
/* Between the levels of an atlas: images down, displacements up; on the host. Both are linear along each axis in
 * turn, so an axis is a table of weights, made once, and the values between two axes are as few as can be. */
#include "solvers/atlas/atlas.h"

#include <math.h>
#include <stdlib.h>

/* Cut, not rounded: of 7 voxels 3 remain at half the size. Axes of one voxel stay. */
rb_grid rb_atlas_coarse_grid(rb_grid fine, int factor) {
  rb_grid g = fine;
  for (int a = 0; a < 3; a++) g.n[a] = fine.n[a] / factor > 1 ? fine.n[a] / factor : 1;
  return g;
}

/* Output i of an axis is sum_k weight[i * most + k] in[first[i] + k] over k < most; what would lie beyond the axis
 * has no weight and is not read. */
typedef struct {
  int64_t from, to; /* samples in, out */
  int most;
  int64_t *first; /* [to] */
  double *weight; /* [to][most] */
} axis_weights;

static void drop_weights(axis_weights *a) { free(a->first), free(a->weight); }

/* Adds `times` what sample j of the blurred axis is made of: a Gaussian of sigma samples, cut at `reach` and
 * renormalised where it leaves the axis, so that a constant stays one. reach 0: sample j itself. */
static void add_blurred(const axis_weights *a, double sigma, int64_t reach, int64_t j, double times, int64_t i) {
  const int64_t low = j > reach ? j - reach : 0, high = j + reach < a->from ? j + reach : a->from - 1;
  double sum = 0;
  for (int64_t k = low; k <= high; k++) sum += exp(-0.5 * pow((double)(k - j) / sigma, 2));
  for (int64_t k = low; k <= high; k++)
    a->weight[i * a->most + k - a->first[i]] += times * exp(-0.5 * pow((double)(k - j) / sigma, 2)) / sum;
}

/* Linear at the output's voxel centres, the border's value beyond; times `scale`. An axis that becomes r > 1 times
 * coarser is blurred before by sigma = sqrt(r / 2) of its samples, cut at 2 ceil(sigma). */
static rb_status make_weights(int64_t from, int64_t to, double scale, axis_weights *a) {
  rb_status st = RB_OK;
  const double r = (double)from / (double)to, sigma = sqrt(r / 2);
  const int64_t reach = r > 1 ? 2 * (int64_t)ceil(sigma) : 0;
  *a = (axis_weights){.from = from, .to = to, .most = (int)(from < 2 * reach + 2 ? from : 2 * reach + 2)};
  a->first = malloc((size_t)to * sizeof *a->first);
  a->weight = calloc((size_t)to * (size_t)a->most, sizeof *a->weight);
  RB_CHECK(a->first && a->weight, RB_ENOMEM, "host memory");
  for (int64_t i = 0; i < to; i++) {
    const double at = fmin(fmax(((double)i + 0.5) * r - 0.5, 0), (double)(from - 1));
    const int64_t below = (int64_t)at < from - 1 ? (int64_t)at : from - 1,
                  above = below + 1 < from ? below + 1 : below;
    const int64_t low = below > reach ? below - reach : 0;
    a->first[i] = low < from - a->most ? low : from - a->most; /* so that all `most` can be read */
    add_blurred(a, sigma, reach, below, scale * (1 - (at - (double)below)), i);
    add_blurred(a, sigma, reach, above, scale * (at - (double)below), i);
  }
done:
  return st;
}

enum { RUN = 64 }; /* values that lie side by side and are summed at once */

/* in [rows][from], less `low`, to out [rows][to]. Sums in double, in a fixed order; so are those below. */
static void along_rows(const axis_weights *a, int64_t rows, double low, const float *in, float *out) {
#pragma omp parallel for schedule(static)
  for (int64_t row = 0; row < rows; row++)
    for (int64_t i = 0; i < a->to; i++) {
      const double *w = a->weight + i * a->most;
      const float *from = in + row * a->from + a->first[i];
      double sum = 0;
      for (int k = 0; k < a->most; k++) sum += w[k] * ((double)from[k] - low);
      out[row * a->to + i] = (float)sum;
    }
}
/* in [outer][from][inner] to out [outer][to][inner]. */
static void along(const axis_weights *a, int64_t outer, int64_t inner, const float *in, float *out) {
#pragma omp parallel for schedule(static)
  for (int64_t row = 0; row < outer * a->to; row++) {
    const int64_t o = row / a->to, i = row % a->to;
    const double *w = a->weight + i * a->most;
    const float *from = in + (o * a->from + a->first[i]) * inner;
    for (int64_t begin = 0; begin < inner; begin += RUN) {
      const int count = (int)(inner - begin < RUN ? inner - begin : RUN);
      double sum[RUN] = {0};
      for (int k = 0; k < a->most; k++)
        for (int q = 0; q < count; q++) sum[q] += w[k] * (double)from[k * inner + begin + q];
      for (int q = 0; q < count; q++) out[row * inner + begin + q] = (float)sum[q];
    }
  }
}

/* Of scale (in - low). Axis 3 first: what follows runs along values that lie side by side. low goes before anything
 * is rounded, so that an offset costs no digits; the scale comes at axis 1. */
static rb_status resample(rb_grid from, const float *in, double low, double scale, rb_grid to, float *out) {
  rb_status st = RB_OK;
  axis_weights axis[3] = {{0}};
  float *a = malloc((size_t)(from.n[0] * from.n[1] * to.n[2]) * sizeof *a);
  float *b = malloc((size_t)(from.n[0] * to.n[1] * to.n[2]) * sizeof *b);
  RB_CHECK(a && b, RB_ENOMEM, "host memory between levels");
  for (int d = 0; d < 3; d++) RB_TRY(make_weights(from.n[d], to.n[d], d == 0 ? scale : 1, &axis[d]));
  along_rows(&axis[2], from.n[0] * from.n[1], low, in, a);
  along(&axis[1], from.n[0], to.n[2], a, b);
  along(&axis[0], 1, to.n[1] * to.n[2], b, out);
done:
  for (int d = 0; d < 3; d++) drop_weights(&axis[d]);
  free(b), free(a);
  return st;
}

/* Always from the finest image. */
rb_status rb_atlas_restrict(rb_grid fine, const float *image, double low, double scale, rb_grid coarse, float *out) {
  return resample(fine, image, low, scale, coarse, out);
}

/* A displacement's component is r times as many of the finer voxels, r = fine / coarse along its axis. */
rb_status rb_atlas_prolong(rb_grid coarse, const float *u, rb_grid fine, float *out) {
  rb_status st = RB_OK;
  const int64_t n = rb_grid_points(fine), m = rb_grid_points(coarse);
  for (int c = 0; c < 3; c++)
    RB_TRY(resample(coarse, u + c * m, 0, (double)fine.n[c] / (double)coarse.n[c], fine, out + c * n));
done:
  return st;
}
