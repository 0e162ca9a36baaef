/* SPDX-License-Identifier: BSD-3-Clause */
/* Numbers that tell how sharp a mean image is (ha2009, Figure 7). */
#ifndef RB_IMAGE_STATISTICS_H
#define RB_IMAGE_STATISTICS_H

#include "kernels/base/grid.h"

/* Shannon entropy in bits of the values in [0, 1] over 256 equal bins, of all n voxels, or of those where `mask` is
 * above `level`. NaN: no voxel. */
double rb_image_entropy(int64_t n, const float *f, const float *mask, double level);
/* sqrt(mean |grad f|^2), central differences in voxels, one-sided at the border. */
double rb_image_rms_gradient(rb_grid g, const float *f);
#endif
