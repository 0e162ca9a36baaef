/* SPDX-License-Identifier: BSD-3-Clause */
/* A 3D image read from or written to NIfTI, with everything that can be wrong with a file told apart. */
#ifndef RB_VOLUME_H
#define RB_VOLUME_H

#include "kernels/base/grid.h"
#include "kernels/base/status.h"

/* data[(i1*n2 + i2)*n3 + i3]: NIfTI's x (fastest) is x3, y is x2, z is x1. Header scaling is applied. */
typedef struct {
  rb_grid grid;
  float *data;
  double spacing[3]; /* mm along x1, x2, x3 */
  void *header;      /* the nifti_image, for writing with the same geometry */
} rb_volume;

/* RB_ENOTFOUND: no such file; RB_EFORMAT: not NIfTI, truncated, damaged gzip, not 3D, zero or infinite
 * spacing, NaN or Inf voxels (their count and the first position are told); RB_ENOMEM. */
rb_status rb_volume_read(const char *path, rb_volume *out);
/* float32 with `like`'s geometry, over the same field of view when the grids differ (or 1 mm and the identity when
 * NULL). data has `grid` points. RB_EIO. */
rb_status rb_volume_write(const char *path, const rb_volume *like, rb_grid grid, const float *data);
/* The same of whole numbers from 0 to 255, as int16. */
rb_status rb_volume_write_labels(const char *path, const rb_volume *like, rb_grid grid, const float *labels);
/* A volume without voxels: isotropic spacing in mm, first voxel's centre at origin (x, y, z). For `like`. */
rb_status rb_volume_geometry(rb_grid grid, double spacing, const double origin[3], rb_volume *out);
/* v without its voxels. RB_ENOMEM. */
rb_status rb_volume_copy_geometry(const rb_volume *v, rb_volume *out);
/* RB_EINVAL when voxel axes of the two files differ in direction by more than 5 degrees or, along an axis of equally
 * many voxels, in spacing by more than 1 %: what stands at one index then does not lie at one place of the body.
 * Origins may differ; directions are compared where both files declare them. Reads headers only; RB_OK for what is no
 * NIfTI. */
rb_status rb_volume_same_axes(const char *a, const char *b);
void rb_volume_free(rb_volume *v);
#endif
