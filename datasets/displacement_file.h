/* SPDX-License-Identifier: BSD-3-Clause */
/* Displacement fields as ITK, ANTs, elastix and plastimatch write them. */
#ifndef RB_DISPLACEMENT_FILE_H
#define RB_DISPLACEMENT_FILE_H

#include "kernels/base/grid.h"
#include "kernels/base/status.h"

/* A NIfTI file of three components, mm along left, posterior, superior, at the voxels of the reference: the template
 * is read at x + u(x). u [3][n1][n2][n3] becomes voxels along x1, x2, x3 by the file's own affine. RB_ENOTFOUND: no
 * such file. RB_EFORMAT: not of `grid`, no vectors of float32 or float64, no affine, damaged, values that are not
 * finite. */
rb_status rb_displacement_read(const char *path, rb_grid grid, float *u);
#endif
