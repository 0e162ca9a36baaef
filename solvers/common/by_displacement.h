/* SPDX-License-Identifier: BSD-3-Clause */
/* What a displacement makes of images and labels, on the CPU: how every solver's result is judged that is known by
 * its displacement alone. u [3][n1][n2][n3] in voxels; what is carried is read at x + u(x), 0 outside. */
#ifndef RB_BY_DISPLACEMENT_H
#define RB_BY_DISPLACEMENT_H

#include "kernels/base/grid.h"
#include "kernels/base/status.h"

/* image at x + u(x), trilinear. */
rb_status rb_displaced_image(rb_grid g, const float *u, const float *image, float *out);
/* det(I + du/dx), central differences. */
rb_status rb_displacement_determinant(rb_grid g, const float *u, float *out);
/* The label of the voxel that is nearest to x + u(x). */
void rb_displaced_labels(rb_grid g, const float *u, const float *labels, float *out);
/* w [3][n] with w + u(x + w) = 0, to 1e-5 voxels where u can be inverted there; u fades to 0 over a voxel beyond the
 * grid. */
void rb_displacement_inverse(rb_grid g, const float *u, float *out);
/* y with y + u(y) = x, in voxels, by the same method from y = x on; returns how far y + u(y) is off. */
double rb_displacement_find(rb_grid g, const float *u, const double x[3], double y[3]);
#endif
