/* SPDX-License-Identifier: BSD-3-Clause */
/* Trilinear value of a field on the host at one point: what prepares data, not what is measured. */
#ifndef RB_LINEAR_AT_H
#define RB_LINEAR_AT_H

#include "kernels/base/grid.h"

/* f [n] at x in voxels, clamped to the grid. */
static inline double rb_linear_at(rb_grid g, const float *f, const double x[3]) {
  double sum = 0;
  for (int corner = 0; corner < 8; corner++) {
    double weight = 1;
    int64_t at[3];
    for (int a = 0; a < 3; a++) {
      const double most = (double)(g.n[a] - 1), y = x[a] < 0 ? 0 : x[a] > most ? most : x[a];
      const int64_t low = (int64_t)y;
      weight *= corner >> a & 1 ? y - (double)low : 1 - (y - (double)low);
      at[a] = low + (corner >> a & 1) < g.n[a] ? low + (corner >> a & 1) : g.n[a] - 1;
    }
    sum += weight * (double)f[(at[0] * g.n[1] + at[1]) * g.n[2] + at[2]];
  }
  return sum;
}
#endif
