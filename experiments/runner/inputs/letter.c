/* SPDX-License-Identifier: BSD-3-Clause */
#include "experiments/runner/inputs/letter.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Within the ring, and farther from the opening than `angle` degrees. */
static float ink(double scale, double y, double x, double angle) {
  const double r = sqrt(x * x + y * y) / scale, theta = fabs(atan2(y, x)) * 360 / RB_TWO_PI;
  return r >= 20 && r <= 36 && theta >= angle ? 1 : 0;
}

/* Of rows of n values `step` apart, for all n rows `other` apart. */
static void blur_axis(int64_t n, int64_t step, int64_t other, double sigma, const float *in, float *out) {
  const int64_t reach = (int64_t)ceil(4 * sigma);
  for (int64_t row = 0; row < n; row++)
    for (int64_t i = 0; i < n; i++) {
      double sum = 0, weights = 0;
      for (int64_t k = -reach; k <= reach; k++) {
        const double w = exp(-0.5 * (double)(k * k) / (sigma * sigma));
        weights += w;
        if (i + k >= 0 && i + k < n) sum += w * (double)in[row * other + (i + k) * step];
      }
      out[row * other + i * step] = (float)(sum / weights);
    }
}

rb_status rb_letter_pair(rb_grid grid, rb_pair *out) {
  static const double angle[2] = {140, 40};
  static const char *const names[2] = {"part of a C", "a C"};
  rb_status st = RB_OK;
  const int64_t n = grid.n[1];
  const size_t bytes = (size_t)(n * n) * sizeof(float);
  const double scale = (double)n / 128, centre = ((double)n - 1) / 2;
  float *room = NULL;
  memset(out, 0, sizeof *out);
  RB_CHECK(grid.n[0] == 1 && grid.n[2] == n, RB_EINVAL, "a letter lies on a grid of 1xNxN points");
  out->grid = grid;
  room = malloc(bytes);
  RB_CHECK(room, RB_ENOMEM, "host memory");
  for (int k = 0; k < 2; k++) {
    out->image[k] = malloc(bytes);
    RB_CHECK(out->image[k], RB_ENOMEM, "host memory");
    for (int64_t i = 0; i < n * n; i++)
      out->image[k][i] = ink(scale, (double)(i / n) - centre, (double)(i % n) - centre, angle[k]);
    blur_axis(n, 1, n, scale, out->image[k], room);
    blur_axis(n, n, 1, scale, room, out->image[k]);
    snprintf(out->file[k], sizeof out->file[k], "%s", names[k]);
  }
done:
  free(room);
  if (st != RB_OK) rb_pair_free(out);
  return st;
}
