/* SPDX-License-Identifier: BSD-3-Clause */
#include "experiments/runner/workloads/image_statistics.h"

#include <math.h>

double rb_image_entropy(int64_t n, const float *f, const float *mask, double level) {
  enum { BINS = 256 };
  int64_t count[BINS] = {0}, all = 0;
  double bits = 0;
  for (int64_t i = 0; i < n; i++) {
    if (mask && !((double)mask[i] > level)) continue;
    const int bin = (int)((double)f[i] * BINS);
    count[bin < 0 ? 0 : bin < BINS ? bin : BINS - 1]++, all++;
  }
  for (int b = 0; b < BINS; b++) {
    const double p = (double)count[b] / (double)all;
    if (count[b]) bits -= p * log2(p);
  }
  return all ? bits : NAN;
}

double rb_image_rms_gradient(rb_grid g, const float *f) {
  const int64_t n = rb_grid_points(g), stride[3] = {g.n[1] * g.n[2], g.n[2], 1};
  double sum = 0;
  for (int64_t i = 0; i < n; i++) {
    const int64_t at[3] = {i / stride[0], i / stride[1] % g.n[1], i % g.n[2]};
    for (int a = 0; a < 3; a++) {
      const int64_t low = at[a] > 0 ? stride[a] : 0, high = at[a] + 1 < g.n[a] ? stride[a] : 0;
      const double d = (double)f[i + high] - (double)f[i - low];
      sum += low && high ? d * d / 4 : d * d;
    }
  }
  return sqrt(sum / (double)n);
}
