/* SPDX-License-Identifier: BSD-3-Clause */
/* Deterministic test objects, defined by formulas: always there, on any grid. */
#ifndef RB_PHANTOM_H
#define RB_PHANTOM_H

#include "kernels/base/grid.h"

/* A labelled brain-like head with smooth edges: intensity in [0, 1]; label (may be NULL) 0 background, 1 skull,
 * 2 CSF, 3 grey matter (folded), 4 white matter, 5 and 6 left and right ventricle. Both [n1][n2][n3]. */
void rb_phantom_head(rb_grid grid, float *intensity, float *label);

/* (sin^2 8 x1 + sin^2 2 x2 + sin^2 4 x3) / 3 (brunn2020 Table 4) at coordinates in radians. */
double rb_phantom_waves(const double x[3]);
/* prod_a sin(pi sin x_a) and its partial derivative along `axis`; x shifted by -pi as its authors do. */
double rb_phantom_product(const double x[3]);
double rb_phantom_product_partial(const double x[3], int axis);
/* A 3-vector field and its divergence: v1 = sin(pi sin x1) sin x2 cos x3 and cyclic. */
double rb_phantom_vector(const double x[3], int component);
double rb_phantom_vector_divergence(const double x[3]);
#endif
