/* SPDX-License-Identifier: BSD-3-Clause */
/* demons: diffeomorphic log-demons registration (demons2020 Algorithm 1; Vercauteren et al.).
 *
 * A velocity v whose exponential s = exp(v) warps the template M onto the reference F, both in voxels of one grid. An
 * iteration: u = force(F, M o s);  u = K_fluid * u;  v = K_diffusion * update(v, u);  s = exp(v) update: v + u
 * (Vercauteren), v + u + [v, u] / 2 (its Baker-Campbell-Hausdorff form), or (id + u) o (id + v) - id, which line 5 of
 * the paper's algorithm is by its text. exp by scaling and squaring: v / 2^N with at most half a voxel anywhere, then
 * N compositions.
 *
 * Images are centred in a grid `padding` times as large along every axis (zeros around; the fastest axis rounded up
 * to a multiple of 4). It stops when the mean squared difference of five iterations ago is less than `stop` times the
 * first above the present one, or after `iterations`. */
#ifndef RB_DEMONS_H
#define RB_DEMONS_H

#include "kernels/base/grid.h"
#include "kernels/registry/registry.h"
#include "solvers/solver.h"

/* Which kernels in which precision: ops of a variant of rb_demons_family. */
typedef struct {
  const char *smooth, *compose, *force;
  rb_dtype dtype;
} rb_demons_config;
extern const rb_family rb_demons_family;

typedef enum { RB_UPDATE_SUM, RB_UPDATE_BCH, RB_UPDATE_COMPOSE } rb_demons_update;
rb_status rb_demons_update_parse(const char *name, rb_demons_update *out); /* "sum", "bch", "compose" */
const char *rb_demons_update_name(rb_demons_update u);

typedef struct {
  rb_demons_update update;             /* sum */
  double sigma_fluid, sigma_diffusion; /* voxels: 3, 2 */
  double sigma_i, sigma_x;             /* 1, 1 */
  double padding;                      /* 1.2 */
  int iterations;                      /* at most: 75 */
  double stop;                         /* 0.004; 0 never stops early */
  const volatile int *interrupted;
} rb_demons_options;
rb_demons_options rb_demons_defaults(void);

enum { RB_DEMONS_ROWS = 4096 };
/* What Figure 9d tells apart. */
typedef enum {
  RB_PART_FORCE,
  RB_PART_FLUID,
  RB_PART_UPDATE,
  RB_PART_DIFFUSION,
  RB_PART_EXPONENTIAL,
  RB_PART_WARP,
  RB_PART_ENERGY,
  RB_DEMONS_PARTS
} rb_demons_part;

typedef struct {
  rb_solver_end end;
  int iterations;
  double before, after;          /* sum of squared differences over the padded grid / voxels of the images' own */
  double energy[RB_DEMONS_ROWS]; /* after each iteration */
  double longest;                /* displacement, voxels */
  double seconds, setup_seconds; /* setup: buffers and images on the backend */
  double parts[RB_DEMONS_PARTS]; /* seconds of an iteration's parts; 0 unless profiled */
} rb_demons_result;

typedef struct rb_demons rb_demons;
typedef void (*rb_demons_hook)(void *context, int iteration, double energy, double longest);

/* Images of the host [n], float32. RB_EINVAL for options out of range, RB_EUNSUPPORTED for a sigma that the variant's
 * smoothing cannot do. */
rb_status rb_demons_create(const rb_variant *variant, const rb_demons_options *options, rb_grid grid,
                           const float *template_image, const float *reference, rb_demons **out);
/* What _create took: buffers, textures and images on the backend. */
double rb_demons_setup_seconds(const rb_demons *s);
/* Bytes on the backend that _create asks for; fails as it would on the options. */
rb_status rb_demons_predict(const rb_variant *variant, const rb_demons_options *options, rb_grid grid, size_t *out);
/* Bits of the weights that its compositions interpolate with; 0: as many as the data, or not built. */
int rb_demons_weight_bits(const rb_variant *variant);
/* Where the next solve begins: velocity [3][n] on the host, in voxels; NULL: 0, the default. */
rb_status rb_demons_start(rb_demons *s, const float *velocity);
/* Time the parts of every iteration by stamps from now on, or no more. */
void rb_demons_set_profile(rb_demons *s, int on);
rb_status rb_demons_solve(rb_demons *s, rb_demons_hook hook, void *context, rb_demons_result *out);
/* The same over `levels` resolutions, each half of the next in every direction; result and *out (which the caller
 * destroys) are those of the finest, but seconds and setup_seconds, which add up. An interruption ends every level at
 * once. */
rb_status rb_demons_solve_levels(const rb_variant *variant, const rb_demons_options *options, int levels,
                                 rb_grid grid, const float *template_image, const float *reference,
                                 rb_demons_hook hook, void *context, rb_demons_result *result, rb_demons **out);
/* On the images' own grid, host, float32: any image [n] warped; displacement, velocity [3][n] in voxels; det of its
 * Jacobian [n]. */
rb_status rb_demons_warp(rb_demons *s, const float *image, float *out);
/* Whole numbers [n]: each voxel takes the one nearest to where the displacement leads; 0 outside. */
rb_status rb_demons_labels(rb_demons *s, const float *labels, float *out);
rb_status rb_demons_displacement(rb_demons *s, float *out);
rb_status rb_demons_velocity(rb_demons *s, float *out);
rb_status rb_demons_determinant(rb_demons *s, float *out);
/* exp(a v) of the present velocity as a displacement; after exp(-a v) when `after_inverse`: 0 up to discretisation.
 * [3][n], host. */
rb_status rb_demons_exponential(rb_demons *s, double a, int after_inverse, float *out);
void rb_demons_destroy(rb_demons *s); /* takes NULL */

#endif
