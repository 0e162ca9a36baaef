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
/* Whether every voxel of one lies within a hundredth of a voxel of where the other has it, and both have as many. */
int rb_volume_same_lattice(const rb_volume *a, const rb_volume *b);
/* v on the lattice of `like`, through both affines: out [n of like], 0 where v has nothing. RB_NEAREST for labels;
 * otherwise trilinear, behind a reduction without aliasing along axes on which v's voxels are less than half as
 * large. *covered: the part of `like` that lies within v. RB_EFORMAT: an affine without an inverse. */
rb_status rb_volume_onto(const rb_volume *v, const rb_volume *like, rb_resampling how, float *out, double *covered);
/* mm between the centres of two fields of view. */
double rb_volume_distance(const rb_volume *a, const rb_volume *b);
#endif
