/* SPDX-License-Identifier: BSD-3-Clause */
/* Anatomies as ha2012 has them: class posteriors on a grid, and surfaces. */
#ifndef RB_ANATOMY_H
#define RB_ANATOMY_H

#include "datasets/mesh.h"
#include "datasets/world.h"
#include "solvers/solver.h"

typedef struct {
  rb_volume like; /* geometry of the grid; without data */
  rb_grid grid;
  int channels, surfaces;
  float *posteriors;   /* [channels][n] */
  rb_mesh *mesh;       /* [surfaces], as read, mm in the world */
  rb_surface *surface; /* [surfaces], in voxels along x1, x2, x3 */
} rb_anatomy;

/* Files of posteriors (one at least) and of surfaces (may be none). On the grid of the first posterior, or of `like`
 * where it is given: then posteriors come there through both affines, and must cover a tenth of it. RB_EINVAL:
 * posteriors outside [0, 1] or of which some add up to more than 1.01, files of several grids, a surface most of
 * which lies off the grid, voxels that are no cubes where there are surfaces; RB_EFORMAT and so on from reading. */
rb_status rb_anatomy_read(const char *const *posteriors, int channels, const char *const *surfaces, int count,
                          const rb_volume *like, rb_anatomy *out);
/* Two phantoms of wm, gm with cerebellum, csf, with closed surfaces of wm, gm and cerebellum: a small head with a
 * smaller cerebellum, and a large one, in the middle of the grid. which: 0, 1. */
rb_status rb_anatomy_phantom(rb_grid grid, int which, rb_anatomy *out);
/* The edge of its voxels in mm: the grid's shortest axis is 192 mm long. */
double rb_anatomy_phantom_voxel(rb_grid grid);
/* Makes a->surface of a->mesh. */
rb_status rb_anatomy_place(rb_anatomy *a);
void rb_anatomy_free(rb_anatomy *a);

/* x [3][vertices] in voxels along x1, x2, x3 to x, y, z in mm of the world: of the anatomy whose grid it is. */
void rb_anatomy_to_world(const rb_anatomy *a, int64_t vertices, double *x);
/* As a solver sees it. */
rb_subject rb_anatomy_subject(const rb_anatomy *a);
rb_problem_shape rb_anatomy_shape(const rb_anatomy *moving, const rb_anatomy *fixed);

/* The most probable class of voxel i of posteriors [channels][n]; `channels` stands for what is left to 1. */
int rb_most_probable(int64_t n, int channels, const float *posteriors, int64_t i);

/* Overlaps of a class by the most probable class of each voxel; what all posteriors leave to 1 is one more class. */
typedef struct {
  double dice, jaccard, printed; /* printed: |A n B| / |B|, ha2012's, B the reference */
} rb_class_overlap;
/* class `channels`: what is left; `channels` + 1: classes 1 and 2 together, the paper's parenchyma where they are wm
 * and gm. out [channels + 2]. */
void rb_class_overlaps(rb_grid grid, int channels, const float *moved, const float *fixed, rb_class_overlap *out);
#endif
