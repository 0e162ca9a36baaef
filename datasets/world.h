/* SPDX-License-Identifier: BSD-3-Clause */
/* Where voxels lie in the world: NIfTI's affines, and images brought from one lattice to another through them. */
#ifndef RB_WORLD_H
#define RB_WORLD_H

#include "datasets/resample.h"
#include "datasets/volume.h"

/* world = m (x, y, z, 1): voxel indices in NIfTI's order to mm right, anterior, superior. The sform where the file
 * has one, else the qform. A file with neither (known 0) is read as ITK does: left, posterior, superior along its x,
 * y, z from the first voxel on. */
typedef struct {
  double m[3][4];
  int known;
} rb_affine;

/* Of a lattice of `grid` points over the field of view of `v`, whose header is there or NULL (1 mm, as a file with
 * neither form). */
rb_affine rb_volume_affine(const rb_volume *v, rb_grid grid);
/* 0: it has no inverse. */
int rb_affine_inverse(const rb_affine *a, rb_affine *out);
rb_affine rb_affine_identity(void);
/* b after a. */
rb_affine rb_affine_product(const rb_affine *b, const rb_affine *a);
void rb_affine_point(const rb_affine *a, const double x[3], double y[3]);
double rb_affine_determinant(const rb_affine *a); /* of its 3 x 3 part */
/* Whether every voxel of one lies within a hundredth of a voxel of where the other has it, and both have as many. */
int rb_volume_same_lattice(const rb_volume *a, const rb_volume *b);
/* v on the lattice of `like`, through both affines: out [n of like], 0 where v has nothing. `map` (NULL: none) takes
 * points of `like`'s world to v's. RB_NEAREST for labels; otherwise trilinear, behind a reduction without aliasing
 * along axes on which v's voxels are less than half as large. *covered: the part of `like` that lies within v.
 * RB_EFORMAT: an affine without an inverse. */
rb_status rb_volume_onto(const rb_volume *v, const rb_volume *like, const rb_affine *map, rb_resampling how,
                         float *out, double *covered);
/* v with another affine as its only one; the voxels stay v's, what else there is goes by rb_volume_free of *out with
 * its data set to NULL. RB_ENOMEM. */
rb_status rb_volume_with_affine(const rb_volume *v, const rb_affine *a, rb_volume *out);
/* mm between the centres of two fields of view. */
double rb_volume_distance(const rb_volume *a, const rb_volume *b);
/* How far the file's sform and qform lie apart at the worst of its corners, mm; 0 where it has but one. */
double rb_volume_forms_apart(const rb_volume *v);
/* World coordinates of the centre of mass of what is above 0. RB_EINVAL: nothing is. */
rb_status rb_volume_centre(const rb_volume *v, double out[3]);
#endif
