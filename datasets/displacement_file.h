/* SPDX-License-Identifier: BSD-3-Clause */
/* Displacement fields as ITK, ANTs, elastix and plastimatch write them. */
#ifndef RB_DISPLACEMENT_FILE_H
#define RB_DISPLACEMENT_FILE_H

#include "kernels/base/grid.h"
#include "kernels/base/status.h"
#include "datasets/volume.h"

/* u [3][n1][n2][n3] in voxels of `grid` along x1, x2, x3 to a 5D file of three components (intent vector), mm along
 * left, posterior, superior, at the voxels of the reference: the template is read at x + u(x). `like`: as for
 * rb_volume_write. */
rb_status rb_displacement_write(const char *path, const rb_volume *like, rb_grid grid, const float *u);
/* What _write or ITK wrote, back in voxels by the file's own affine. RB_ENOTFOUND: no
 * such file. RB_EFORMAT: not of `grid`, no vectors of float32 or float64, an affine without inverse, damaged, values
 * that are not finite. */
rb_status rb_displacement_read(const char *path, rb_grid grid, float *u);
/* Where such a file's voxels lie: geometry without voxels, for rb_displacement_read and as `like`; rb_volume_free.
 * RB_ENOTFOUND, RB_EFORMAT: no field of three components. */
rb_status rb_displacement_lattice(const char *path, rb_volume *out);
#endif
