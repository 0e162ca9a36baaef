/* SPDX-License-Identifier: BSD-3-Clause */
/* What the two files of spectral's oracle share: the plan, one transform, one multiplication. */
#ifndef RB_CPU_REF_SPECTRAL_REF_H
#define RB_CPU_REF_SPECTRAL_REF_H

#include "kernels/spectral/spectral.h"

#include <complex.h>

typedef struct {
  rb_spectral_plan head;
  /* field: full complex grids [n1][n2][n3] of the components. line: room for n1 + n2 + n3 values, of which one
   * axis's are used at a time. */
  double complex *field[3], *line;
} rb_spectral_ref_plan;

/* u_k <- sum_j u_j exp(sign 2 pi i j k / n) along one axis; line: its n values. Unscaled. */
void rb_spectral_ref_dft(double complex *u, rb_grid g, int axis, int sign, double complex *line);
/* The spectra in p->field times the operator's symbol. */
void rb_spectral_ref_multiply(rb_spectral_ref_plan *p, const rb_spectral_op *op);

#endif
