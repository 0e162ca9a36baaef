/* SPDX-License-Identifier: BSD-3-Clause */
/* atlas: an unbiased mean image of N images, and the deformation of each onto it (ha2009, Algorithm 1).
 *
 * D_i(x) = I_i(x + u_i(x)),   mean = sum_i D_i / N.   An iteration, for all images with the same mean:
 *   f_i = (mean - D_i) grad D_i,   v_i = L^-1 f_i,   u_i <- e_i v_i + u_i(x + e_i v_i),   D_i anew;
 * then the mean. L and its solvers: the family helmholtz. u_i in voxels, 0 outside, as is I_i (both fade over one
 * voxel).
 *
 * Step: e_i = step / max |v_i|, set in the first iteration of a level and halved whenever |mean - D_i|^2 has risen; 0
 * where max |v_i| is below what the rounding of the mean alone can cause, half its resolution / gamma for images in
 * [0, 1]. Levels, coarsest first: grids of n / 2^l, images blurred by sqrt(r / 2) voxels (r = fine / coarse), u_i
 * carried on linearly. Lengths are voxels of each level.
 *
 * With a reference the mean stands still: pairs. A team shares the images, whole ones; the mean's sums are added over
 * it, in fixed point to the same bits for any number of processes. Images are brought to [0, 1], each by its own
 * least and greatest value. Departures from the paper: its sign of gamma does not descend, its step is not guarded.
 */
#ifndef RB_ATLAS_H
#define RB_ATLAS_H

#include "kernels/average/average.h"
#include "kernels/helmholtz/helmholtz.h"
#include "kernels/registry/registry.h"
#include "solvers/solver.h"

/* Which kernels in which precision: ops of a variant of rb_atlas_family. */
typedef struct {
  const char *l2force, *helmholtz, *compose, *average;
  rb_dtype dtype;
  int sweeps;        /* the helmholtz variant is iterative */
  const char *steps; /* iterations are recorded and replayed, their steps on the backend; NULL: issued one by one */
} rb_atlas_config;
extern const rb_family rb_atlas_family;

/* What is brought to [0, 1]: each image by its own least and greatest value, or all by theirs together; or nothing,
 * for images that lie there. */
typedef enum { RB_SCALE_IMAGE, RB_SCALE_COHORT, RB_SCALE_NONE } rb_atlas_scale;

/* Where a team adds the sums of the mean: on its devices by NCCL, or on the hosts by MPI. AUTO: on devices where
 * every member has one of its own and NCCL is at hand. The same bits either way. */
typedef enum { RB_REDUCE_AUTO, RB_REDUCE_HOSTS, RB_REDUCE_DEVICES } rb_atlas_reduce;

/* What the force and the operator L take voxels for: cubes, as the paper does, or boxes of their spacing. */
typedef enum { RB_VOXELS_CUBES, RB_VOXELS_SPACING } rb_atlas_voxels;

typedef struct {
  double alpha, beta, gamma; /* of L: 1, 0, 0.02 */
  double step;               /* of the first iteration of a level, voxels: 0.2 */
  int iterations;            /* of the finest level: 100 */
  int coarse_iterations;     /* of each other level: 50 */
  int levels;                /* 1 */
  int first_sweeps, sweeps;  /* of over-relaxation, in a level's first iteration and later: 100, 4 */
  rb_omega omega;            /* RB_OMEGA_LAPLACE, as the paper */
  int halve;                 /* 1: halve an image's step when its difference rises */
  rb_sum_kind sum;           /* RB_SUM_FIXED */
  rb_atlas_scale scale;      /* RB_SCALE_IMAGE */
  rb_atlas_reduce reduce;    /* RB_REDUCE_AUTO */
  rb_atlas_voxels voxels;    /* RB_VOXELS_CUBES */
  double spacing[3]; /* of voxels along axes 1 to 3 with RB_VOXELS_SPACING; the unit of L's lengths is the edge of
                        a cube as large as a voxel, so that only their ratios count. Steps stay in voxels */
  int slabs;  /* of the mean that devices add, each behind the warp of its part of the last image, 1 to 4; 0: by size
               */
  int clip;   /* voxels around the box of what any image holds above its least value, outside of which nothing is
                 computed and u is 0; -1: the whole grid */
  int stream; /* 1: images stay on the host and pass through three buffers: where they do not fit on the backend */
  int concurrent; /* images that are moved concurrently where iterations are recorded, 1 to 8; 0: chosen by their size
                   */
  const char *checkpoint; /* folder for checkpoints, made where it is missing; NULL: none. Borrowed until destroy */
  double checkpoint_minutes; /* between them: 10; one more when interrupted */
  int resume;                /* 1: from the last checkpoint, where there is one */
  const volatile int *interrupted;
} rb_atlas_options;
rb_atlas_options rb_atlas_defaults(void);

typedef struct rb_atlas rb_atlas;

typedef struct {
  int level, iteration; /* level: 1 is the coarsest */
  double variance;      /* before the iteration: sum_i |mean - D_i|^2 / (N n) */
  double step;          /* least e_i max |v_i| of the images, as the level began it, voxels; NaN before that */
  int halvings;         /* so far, of all images */
} rb_atlas_row;
typedef void (*rb_atlas_hook)(void *context, const rb_atlas_row *row);

enum { RB_ATLAS_AVERAGE, RB_ATLAS_FORCE, RB_ATLAS_SOLVE, RB_ATLAS_UPDATE, RB_ATLAS_ENERGY, RB_ATLAS_PARTS };
typedef struct {
  rb_solver_end end;
  int iterations, halvings;               /* over all levels; halvings of all images */
  double variance_before, variance_after; /* on the finest grid: all u = 0, and at the end */
  double seconds, setup_seconds; /* iterations of all levels; what lies between: plans, images, displacements */
  int moved;                     /* whether any image had a step above 0 */
  double box;                    /* part of the grid that is worked on; 1: all */
  int on_devices;                /* whether the mean was added on devices; -1: no team adds one */
  double parts[RB_ATLAS_PARTS];  /* seconds; 0 without a profile */
} rb_atlas_result;

/* images[count]: each [n] on the host, finite, not constant; those beyond this member's share may be NULL. reference:
 * NULL for an atlas. RB_EINVAL names the image (from 1 on) that is not finite or constant; all members hear of it. */
rb_status rb_atlas_create(const rb_variant *variant, const rb_atlas_options *options, rb_grid grid, int count,
                          const float *const *images, const float *reference, const rb_team *team, rb_atlas **out);
/* Time the parts of iterations by stamps from the next solve on, or no more. */
void rb_atlas_set_profile(rb_atlas *a, int on);
/* Other numbers of iterations, of each coarse level and of the finest, from the next solve on. */
void rb_atlas_set_iterations(rb_atlas *a, int coarse, int finest);
/* From u = 0. */
rb_status rb_atlas_solve(rb_atlas *a, rb_atlas_hook hook, void *context, rb_atlas_result *out);
/* After a solve, on the host, float32. The mean [n]; of an image of this member's share: warped [n], displacement
 * [3][n] in voxels, det of I + du/dx [n], inverse displacement [3][n]: w + u(x + w) = 0 to 1e-5 voxels where u can be
 * inverted. */
rb_status rb_atlas_mean(rb_atlas *a, float *out);
rb_status rb_atlas_warped(rb_atlas *a, int image, float *out);
rb_status rb_atlas_displacement(rb_atlas *a, int image, float *out);
rb_status rb_atlas_determinant(rb_atlas *a, int image, float *out);
rb_status rb_atlas_inverse(rb_atlas *a, int image, float *out);
/* What one more iteration would move image i by: its force f and the velocity v, [3][n] of the box that was worked
 * on, on the backend until the next call, and the plan that solved L v = f. Sweeps go on from the image's last
 * velocity and change it. RB_EUNSUPPORTED with images that stay on the host. */
rb_status rb_atlas_next_velocity(rb_atlas *a, int image, const rb_helmholtz_plan **plan, rb_array *f, rb_array *v);
/* Whether this member holds image i. */
int rb_atlas_holds(const rb_atlas *a, int image);
void rb_atlas_destroy(rb_atlas *a); /* takes NULL */

/* Bytes on the backend of a member with `count` images, and on the host beside the images. RB_EINVAL,
 * RB_EUNSUPPORTED: options or a grid that cannot work. */
rb_status rb_atlas_predict(const rb_variant *variant, const rb_atlas_options *options, rb_grid grid, int count,
                           size_t *backend, size_t *host);

/* Between levels (host, float32): scale (image - low) on a coarse grid, and a fine displacement of a coarse one. */
rb_grid rb_atlas_coarse_grid(rb_grid fine, int factor);
rb_status rb_atlas_restrict(rb_grid fine, const float *image, double low, double scale, rb_grid coarse, float *out);
rb_status rb_atlas_prolong(rb_grid coarse, const float *u, rb_grid fine, float *out);

#endif
