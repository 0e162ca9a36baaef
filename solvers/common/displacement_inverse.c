/* SPDX-License-Identifier: BSD-3-Clause */
/* The inverse of a displacement, on the host: w with w + u(x + w) = 0 at every node x, u linear between nodes and
 * fading to 0 over one voxel beyond them. By Newton's method: a fixed-point iteration contracts only where u
 * stretches by less than 1, and brains stretch by more. */
#include "solvers/common/by_displacement.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* u at y, and its derivative du[a][b] = d u_a / d y_b within the cell of y. Trilinear over the cell's eight corners;
 * corners outside the grid count as 0, which is what lets u fade over one voxel. Within a cell du is the exact
 * derivative of that interpolation; it jumps from cell to cell. */
static void sample(rb_grid g, const float *u, const double y[3], double value[3], double du[3][3]) {
  const int64_t n = rb_grid_points(g);
  double t[3];
  int64_t base[3];
  for (int a = 0; a < 3; a++) base[a] = (int64_t)floor(y[a]), t[a] = y[a] - (double)base[a];
  memset(value, 0, 3 * sizeof *value), memset(du, 0, 3 * sizeof *du);
  for (int corner = 0; corner < 8; corner++) {
    double w[3], slope[3];
    int64_t i[3];
    int there = 1; /* whether the corner is a node of the grid */
    for (int a = 0; a < 3; a++) {
      const int high = corner >> a & 1;
      w[a] = high ? t[a] : 1 - t[a], slope[a] = high ? 1 : -1, i[a] = base[a] + high;
      there = there && i[a] >= 0 && i[a] < g.n[a];
    }
    if (!there) continue;
    const float *at = u + (i[0] * g.n[1] + i[1]) * g.n[2] + i[2];
    for (int a = 0; a < 3; a++) {
      const double v = (double)at[a * n];
      value[a] += w[0] * w[1] * w[2] * v;
      du[a][0] += slope[0] * w[1] * w[2] * v, du[a][1] += w[0] * slope[1] * w[2] * v;
      du[a][2] += w[0] * w[1] * slope[2] * v;
    }
  }
}

/* s = -(I + du)^-1 f; -f where that matrix is near singular or turns the cell over. By the adjugate of the 3 x 3
 * matrix I + du over its determinant. -f is the step of the fixed-point iteration. */
static void newton_step(double du[3][3], const double f[3], double s[3]) {
  const double a = 1 + du[0][0], b = du[0][1], c = du[0][2], d = du[1][0], e = 1 + du[1][1], h = du[1][2],
               p = du[2][0], q = du[2][1], r = 1 + du[2][2];
  const double det = a * (e * r - h * q) - b * (d * r - h * p) + c * (d * q - e * p);
  if (det < 1e-3) { /* folded, or nearly */
    for (int k = 0; k < 3; k++) s[k] = -f[k];
    return;
  }
  s[0] = -((e * r - h * q) * f[0] + (c * q - b * r) * f[1] + (b * h - c * e) * f[2]) / det;
  s[1] = -((h * p - d * r) * f[0] + (a * r - c * p) * f[1] + (c * d - a * h) * f[2]) / det;
  s[2] = -((d * q - e * p) * f[0] + (b * p - a * q) * f[1] + (a * e - b * d) * f[2]) / det;
}

/* f = y + u(y) - x, its length, and du at y: what a Newton step needs. */
static double residual_at(rb_grid g, const float *u, const double x[3], const double y[3], double f[3],
                          double du[3][3]) {
  double value[3], sum = 0;
  sample(g, u, y, value, du);
  for (int a = 0; a < 3; a++) f[a] = y[a] - x[a] + value[a], sum += f[a] * f[a];
  return sqrt(sum);
}

/* Improves y, the point that the deformation carries to x; returns what is left, in voxels. A step is halved until
 * the residual falls. Ends at 1e-5 voxels, after 40 steps, or where 8 halvings do not lower the residual; y is then
 * the best point found. f and du are those of the last trial, so they belong to y whenever a step follows. */
static double invert_at(rb_grid g, const float *u, const double x[3], double y[3]) {
  enum { STEPS = 40, HALVINGS = 8 };
  const double enough = 1e-5; /* voxels */
  double f[3], du[3][3], left = residual_at(g, u, x, y, f, du);
  for (int k = 0; k < STEPS && left > enough; k++) {
    double s[3], next[3], after = INFINITY, length = 1;
    newton_step(du, f, s);
    for (int h = 0; h < HALVINGS && !(after < left); h++, length /= 2) {
      for (int a = 0; a < 3; a++) next[a] = y[a] + length * s[a];
      after = residual_at(g, u, x, next, f, du);
    }
    if (!(after < left)) break;
    memcpy(y, next, sizeof next);
    left = after;
  }
  return left;
}

double rb_displacement_find(rb_grid g, const float *u, const double x[3], double y[3]) {
  memcpy(y, x, 3 * sizeof *y);
  return invert_at(g, u, x, y);
}

/* Every row along axis 3 is worked on by one thread from its first node on, so the result does not depend on the
 * number of threads. A node starts from its neighbour's answer; where that ends more than 1e-3 voxels off, the node's
 * own place is tried, and the better answer taken. w is the best found even where u cannot be inverted. */
void rb_displacement_inverse(rb_grid g, const float *u, float *out) {
  const double enough = 1e-3; /* voxels */
  const int64_t n = rb_grid_points(g);
#pragma omp parallel for collapse(2) schedule(dynamic, 16)
  for (int64_t i = 0; i < g.n[0]; i++)
    for (int64_t j = 0; j < g.n[1]; j++) {
      double w[3] = {0}; /* of the node before: neighbours move alike */
      for (int64_t k = 0; k < g.n[2]; k++) {
        const double x[3] = {(double)i, (double)j, (double)k};
        double y[3] = {x[0] + w[0], x[1] + w[1], x[2] + w[2]}, left = invert_at(g, u, x, y);
        if (left > enough) { /* or from where the node stands */
          double other[3] = {x[0], x[1], x[2]};
          if (invert_at(g, u, x, other) < left) memcpy(y, other, sizeof y);
        }
        for (int c = 0; c < 3; c++) {
          w[c] = y[c] - x[c];
          out[c * n + (i * g.n[1] + j) * g.n[2] + k] = (float)w[c];
        }
      }
    }
}
