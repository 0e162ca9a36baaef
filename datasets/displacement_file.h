/* SPDX-License-Identifier: BSD-3-Clause */
/* Displacement fields as ITK, ANTs, elastix and plastimatch write them, and other programs. */
#ifndef RB_DISPLACEMENT_FILE_H
#define RB_DISPLACEMENT_FILE_H

#include "kernels/base/grid.h"
#include "kernels/base/status.h"
#include "datasets/volume.h"

/* What the numbers of such a file mean. A point x of the reference goes to y of the template; a file holds y - x in
 * RB_FIELD_ITK: mm to the left, posterior, superior. RB_FIELD_RAS: mm to the right, anterior, superior (NiftyReg).
 * RB_FIELD_FSL: FSL's relative warp, mm of voxel sizes along each image's own voxel axes, of which the first is
 * counted from the other end where the affine's determinant is positive; four dimensions. RB_FIELD_VOXEL: voxels
 * along x, y, z of the reference's lattice. */
typedef enum { RB_FIELD_ITK, RB_FIELD_RAS, RB_FIELD_FSL, RB_FIELD_VOXEL } rb_field_convention;
/* "itk", "ras", "fsl", "voxel"; RB_EINVAL names them. */
rb_status rb_field_convention_parse(const char *name, rb_field_convention *out);

/* u [3][n1][n2][n3] in voxels of `grid` along x1, x2, x3 to a 5D file of three components (intent vector), mm along
 * left, posterior, superior, at the voxels of the reference: the template is read at x + u(x). `like`: as for
 * rb_volume_write. */
rb_status rb_displacement_write(const char *path, const rb_volume *like, rb_grid grid, const float *u);
/* The same of a map of the world (mm right, anterior, superior), called by many threads, at the voxels of `grid` over
 * the field of view of `like`. `source`: the template's geometry, which FSL's numbers need. */
typedef void (*rb_world_map)(const void *context, const double p[3], double q[3]);
rb_status rb_displacement_write_map(const char *path, const rb_volume *like, rb_grid grid,
                                    rb_field_convention convention, const rb_volume *source, rb_world_map map,
                                    const void *context);
/* What _write or ITK wrote, back in voxels by the file's own affine. RB_ENOTFOUND: no
 * such file. RB_EFORMAT: not of `grid`, no vectors of float32 or float64, an affine without inverse, damaged, values
 * that are not finite. */
rb_status rb_displacement_read(const char *path, rb_grid grid, float *u);
/* The same of another convention, where template and reference have one lattice. */
rb_status rb_displacement_read_as(const char *path, rb_field_convention convention, rb_grid grid, float *u);
/* Where such a file's voxels lie: geometry without voxels, for rb_displacement_read and as `like`; rb_volume_free.
 * RB_ENOTFOUND, RB_EFORMAT: no field of three components. */
rb_status rb_displacement_lattice(const char *path, rb_volume *out);
#endif
