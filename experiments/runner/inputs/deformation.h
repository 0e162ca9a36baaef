/* SPDX-License-Identifier: BSD-3-Clause */
/* Where ha2012's deformations take a grid's points: the three of its Table 2, which it names and does not define. */
#ifndef RB_DEFORMATION_H
#define RB_DEFORMATION_H

#include "kernels/base/grid.h"
#include "kernels/base/status.h"

/* Point p = node i in C order, xi_a = i_a / (n_a - 1), x [3][n] in grid units:
 *   random         x_a = uniform (n_a - 1)
 *   diffeomorphic  x_a = i_a + A (n_a - 1) sin(2 pi xi_a) (1 + cos(2 pi xi_b)/2), b the next axis, A = 0.04:
 * determinants of 0.61 to 2.61, as a finished registration step           the same with A = 0.003: below a voxel, as
 * one step of a registration singular       x_a = (n_a - 1)/2 + 1/4: all in one cell */
rb_status rb_deformation(const char *name, rb_grid grid, float *x);
int rb_deformation_known(const char *name);
#endif
