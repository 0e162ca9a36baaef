/* SPDX-License-Identifier: BSD-3-Clause */
/* Oracle of spectral: the explicit DFT along an axis, and the operators' symbols at every wave vector. */
#include "cpu_ref/spectral/spectral_ref.h"

#include <math.h>

/* u_k <- sum_j u_j exp(sign 2 pi i j k / n) along one axis. */
void rb_spectral_ref_dft(double complex *u, rb_grid g, int axis, int sign, double complex *line) {
  /* In place by way of `line`. j k mod n keeps the angle within one turn, where its rounding is small. Unscaled. */
  int64_t n = g.n[axis], stride = axis == 2 ? 1 : axis == 1 ? g.n[2] : g.n[1] * g.n[2];
  for (int64_t start = 0; start < rb_grid_points(g); start++) {
    /* only values at coordinate 0 of the axis begin a line */
    if (start / stride % n != 0) continue;
    for (int64_t k = 0; k < n; k++) {
      line[k] = 0;
      for (int64_t j = 0; j < n; j++)
        line[k] += u[start + j * stride] * cexp(sign * I * RB_TWO_PI * (double)(j * k % n) / (double)n);
    }
    for (int64_t k = 0; k < n; k++) u[start + k * stride] = line[k];
  }
}

/* (S u) at one wave vector, in place. */
static void times_symbol(const rb_spectral_op *op, rb_grid g, const double k[3], int components,
                         double complex u[3]) {
  /* LERAY:  S b = scale (b - theta k (k.b) / |k|^2),  theta = 1 / (1 + beta_v / (beta_w (|k|^2 + 1)));  k = 0 passes
   * H1DIV:  S b = scale (beta_v |k|^2 b + beta_w (|k|^2 + 1) k (k.b))
   * HELMHOLTZ:  scale (alpha |k|^2 + gamma)^power, `null` without the scale where the base is 0
   * GAUSSIAN:   scale exp(-1/2 sum_a (sigma_a h_a k_a)^2) */
  double k2 = k[0] * k[0] + k[1] * k[1] + k[2] * k[2], exponent = 0, factor = op->scale;
  if (op->kind == RB_OP_LERAY || op->kind == RB_OP_H1DIV) {
    /* k.b of the three components, before any of them is overwritten; along = k_c (k.b) */
    double complex dot = k[0] * u[0] + k[1] * u[1] + k[2] * u[2];
    for (int c = 0; c < 3; c++) {
      double complex along = k[c] * dot;
      if (op->kind == RB_OP_H1DIV)
        u[c] = op->scale * (op->beta_v * k2 * u[c] + op->beta_w * (k2 + 1) * along);
      else
        u[c] = op->scale * (u[c] - (k2 == 0 ? 0 : along / k2 / (1 + op->beta_v / (op->beta_w * (k2 + 1)))));
    }
    return;
  }
  if (op->kind == RB_OP_HELMHOLTZ) {
    /* power may be negative: 1 / base^|power|. A base of 0 is the null space. */
    double base = op->alpha * k2 + op->gamma;
    factor = base == 0 ? op->null : op->scale * pow(base, op->power);
  } else {
    /* sigma_a is in grid cells and h_a k_a in radians a cell: the product has no unit */
    for (int a = 0; a < 3; a++) exponent += pow(op->sigma[a] * rb_grid_spacing(g, a) * k[a], 2);
    factor *= exp(-exponent / 2);
  }
  for (int c = 0; c < components; c++) u[c] *= factor;
}

/* All wave vectors of the full grid, also those that a real field's half spectrum leaves out. The Nyquist mode of
 * an even axis has wave number 0. */
void rb_spectral_ref_multiply(rb_spectral_ref_plan *p, const rb_spectral_op *op) {
  rb_grid g = p->head.desc.grid;
  int64_t at = 0;
  for (int64_t i = 0; i < g.n[0]; i++)
    for (int64_t j = 0; j < g.n[1]; j++)
      for (int64_t l = 0; l < g.n[2]; l++, at++) {
        /* signed whole numbers, also along x3: the full spectrum has negative ones there */
        double k[3] = {(double)rb_wavenumber(i, g.n[0]), (double)rb_wavenumber(j, g.n[1]),
                       (double)rb_wavenumber(l, g.n[2])};
        double complex u[3];
        for (int c = 0; c < p->head.desc.components; c++) u[c] = p->field[c][at];
        times_symbol(op, g, k, p->head.desc.components, u);
        for (int c = 0; c < p->head.desc.components; c++) p->field[c][at] = u[c];
      }
}
