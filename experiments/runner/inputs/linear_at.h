/* SPDX-License-Identifier: BSD-3-Clause */
/* Trilinear value of a field on the host at one point: what prepares data, not what is measured. */
#ifndef RB_LINEAR_AT_H
#define RB_LINEAR_AT_H

#include "kernels/base/grid.h"

/* f [n] at x in voxels, clamped to the grid. Bit k of a corner is the step along axis k + 1. */
static inline double rb_linear_at(rb_grid g, const float *f, const double x[3]) {
  int64_t at[3][2];
  double weight[3][2], sum = 0;
  for (int a = 0; a < 3; a++) {
    const double most = (double)(g.n[a] - 1), y = x[a] < 0 ? 0 : x[a] > most ? most : x[a];
    const int64_t low = (int64_t)y;
    weight[a][1] = y - (double)low, weight[a][0] = 1 - weight[a][1];
    at[a][0] = low, at[a][1] = low + 1 < g.n[a] ? low + 1 : low;
  }
  for (int c = 0; c < 8; c++) {
    const int i = c & 1, j = c >> 1 & 1, k = c >> 2;
    sum += weight[0][i] * weight[1][j] * weight[2][k] * (double)f[(at[0][i] * g.n[1] + at[1][j]) * g.n[2] + at[2][k]];
  }
  return sum;
}
#endif
