/* SPDX-License-Identifier: BSD-3-Clause */
/* Pictures of registered anatomies (ha2012, Figures 9 to 11). */
#ifndef RB_ANATOMY_PICTURES_H
#define RB_ANATOMY_PICTURES_H

#include "experiments/runner/base/picture.h"
#include "experiments/runner/inputs/anatomy.h"

/* An axial and a sagittal slice of three images in [0, 1]: what is registered before and after, and the reference;
 * `who` registered. In place of what *out held. */
rb_status rb_anatomy_slices(const char *who, rb_grid grid, const float *before, const float *after,
                            const float *reference, rb_pictures *out);
/* The second and third surface (grey matter from the right, cerebellum from behind) with vertices moved
 * [3][all vertices], coloured by their distance to the reference's, 0 to 6 mm. mean [2]: of these distances, mm. In
 * place of what *out held. RB_EINVAL with fewer than three surfaces. */
rb_status rb_anatomy_surfaces(const char *what, const rb_anatomy *moving, const double *moved,
                              const rb_anatomy *fixed, double voxel, double mean[2], rb_pictures *out);
#endif
