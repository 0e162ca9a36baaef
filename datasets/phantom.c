/* SPDX-License-Identifier: BSD-3-Clause */
#include "datasets/phantom.h"

#include <math.h>
#include <stddef.h>

/* 1 inside, 0 outside, with a smooth edge of about 2 * width around r = 1. */
static double inside(double r, double width) { return 0.5 * (1 - tanh((r - 1) / width)); }

static double ellipsoid(const double p[3], double c1, double c2, double c3, double a1, double a2, double a3) {
  double q1 = (p[0] - c1) / a1, q2 = (p[1] - c2) / a2, q3 = (p[2] - c3) / a3;
  return sqrt(q1 * q1 + q2 * q2 + q3 * q3);
}

/* p in [-1, 1]^3 along x1, x2, x3. */
static void head_at(const double p[3], float *intensity, int *label) {
  double angle = atan2(p[1], p[2]), folds = 0.035 * (sin(14 * angle) + sin(11 * p[0] * 3.1) * cos(9 * angle));
  double skull = ellipsoid(p, 0, 0, 0, 0.80, 0.86, 0.72), csf = ellipsoid(p, 0, 0, 0, 0.73, 0.79, 0.65);
  double grey = ellipsoid(p, 0, 0, 0, 0.69, 0.74, 0.61) + folds,
         white = ellipsoid(p, 0, 0, 0, 0.58, 0.62, 0.50) + 1.3 * folds;
  double left = ellipsoid(p, 0.05, 0.02, -0.10, 0.22, 0.26, 0.07),
         right = ellipsoid(p, 0.05, 0.02, 0.10, 0.22, 0.26, 0.07);
  const double edge = 0.03;
  double v = 0.35 * inside(skull, edge);
  v += (0.20 - v) * inside(csf, edge);
  v += (0.60 - v) * inside(grey, edge);
  v += (0.95 - v) * inside(white, edge);
  v += (0.15 - v) * inside(left, 2 * edge);
  v += (0.15 - v) * inside(right, 2 * edge);
  *intensity = (float)v;
  *label = left < 1 ? 5 : right < 1 ? 6 : white < 1 ? 4 : grey < 1 ? 3 : csf < 1 ? 2 : skull < 1 ? 1 : 0;
}

void rb_phantom_head(rb_grid g, float *intensity, float *label) {
#pragma omp parallel for collapse(2) schedule(static)
  for (int64_t i = 0; i < g.n[0]; i++)
    for (int64_t j = 0; j < g.n[1]; j++)
      for (int64_t k = 0; k < g.n[2]; k++) {
        int64_t at = (i * g.n[1] + j) * g.n[2] + k;
        double p[3] = {(2.0 * (double)i + 1) / (double)g.n[0] - 1, (2.0 * (double)j + 1) / (double)g.n[1] - 1,
                       (2.0 * (double)k + 1) / (double)g.n[2] - 1};
        int l;
        head_at(p, &intensity[at], &l);
        if (label) label[at] = (float)l;
      }
}

static double square(double x) { return x * x; }
double rb_phantom_waves(const double x[3]) {
  return (square(sin(8 * x[0])) + square(sin(2 * x[1])) + square(sin(4 * x[2]))) / 3;
}

static const double pi = RB_TWO_PI / 2;

double rb_phantom_product(const double x[3]) {
  double v = 1;
  for (int a = 0; a < 3; a++) v *= sin(pi * sin(x[a] - pi));
  return v;
}
double rb_phantom_product_partial(const double x[3], int axis) {
  double v = pi * cos(x[axis] - pi) * cos(pi * sin(x[axis] - pi));
  for (int a = 0; a < 3; a++)
    if (a != axis) v *= sin(pi * sin(x[a] - pi));
  return v;
}
double rb_phantom_vector(const double x[3], int c) {
  double a = x[c] - pi, b = x[(c + 1) % 3] - pi, d = x[(c + 2) % 3] - pi;
  return sin(pi * sin(a)) * sin(b) * cos(d);
}
double rb_phantom_vector_divergence(const double x[3]) {
  double sum = 0;
  for (int c = 0; c < 3; c++) {
    double a = x[c] - pi, b = x[(c + 1) % 3] - pi, d = x[(c + 2) % 3] - pi;
    sum += pi * cos(a) * cos(pi * sin(a)) * sin(b) * cos(d);
  }
  return sum;
}
