/* SPDX-License-Identifier: BSD-3-Clause */
/* currents: class posteriors and surfaces of a template carried onto a reference's by a greedy fluid (ha2012).
 *
 *   E = sum_k a_k/2 sum_x (P_k o h - Q_k)^2 + sum_j b_j |phi(M_j) - N_j|^2,   h = phi^-1
 *   b(x) = sum_k a_k (J_k - Q_k) grad J_k - sum_j b_j splat(dE_j/dx_v at x_v),   J_k = P_k o h
 *   L v = b,   L = -alpha Laplacian - beta grad div + gamma, periodic
 *   h(x) <- h(x - dt v(x)),   x_v <- x_v + dt v(x_v)
 *
 * Posteriors are pulled back, surfaces pushed forward, by the same trilinear weights. A level has a kernel width, a
 * greatest movement an iteration and a number of iterations; dt is fixed by the level's first force and later cut
 * where a movement would exceed it. a_k = weight over all posteriors' mismatch at the start; b_j = surface weight
 * over <N_j, N_j> at the level's width. Units: voxels of the grid, which must be isotropic where there are surfaces.
 * Source: ha2012 section 3.2; weights, steps and levels' numbers are ours, as the paper gives none. */
#ifndef RB_CURRENTS_SOLVER_H
#define RB_CURRENTS_SOLVER_H

#include "kernels/currents/currents.h"
#include "kernels/registry/registry.h"
#include "solvers/solver.h"

enum { RB_CURRENTS_LEVELS = 8, RB_CURRENTS_CHANNELS = 16, RB_CURRENTS_SURFACES = 16 };

typedef struct {
  double alpha, beta, gamma;
  const char *sigmas, *steps, *iterations; /* one number a level, between commas */
  double image_weight, surface_weight;
  int method;  /* rb_currents_method - 1 for the meshes; 3: exact */
  double mesh; /* spacing of a particle mesh over sigma; 0: a voxel, as the paper has it */
} rb_currents_options;
rb_currents_options rb_currents_defaults(void);

/* The kernels that a variant is put together from. */
typedef struct {
  rb_backend_kind backend;
  rb_dtype dtype;
  const char *interp, *l2force, *helmholtz, *compose, *steps, *splat, *currents, *exact;
} rb_currents_config;
extern const rb_family rb_currents_solver_family;

typedef struct {
  double sigma, step;
  int iterations;
} rb_currents_level;
/* The levels of the options; RB_EINVAL with the cause. */
rb_status rb_currents_levels(const rb_currents_options *o, rb_currents_level level[RB_CURRENTS_LEVELS], int *count);

typedef struct rb_currents rb_currents;

typedef struct {
  int level, iteration;
  double energy, image, surface, dt, longest; /* energy = image + surface; voxels */
} rb_currents_row;
/* Parts of an iteration: the template's posteriors pulled back; their force and difference; each surface's sums and
 * derivative; the derivatives splat onto the force; the velocity of the force; the step's length and the energies'
 * row; vertices and displacement moved. */
enum {
  RB_CURRENTS_PULL_BACK,
  RB_CURRENTS_FORCE,
  RB_CURRENTS_SUMS,
  RB_CURRENTS_SPLAT,
  RB_CURRENTS_VELOCITY,
  RB_CURRENTS_STEP,
  RB_CURRENTS_MOVE,
  RB_CURRENTS_PARTS
};

typedef void rb_currents_watch(void *context, const rb_currents_row *row);

typedef struct {
  rb_solver_end end;
  int iterations, levels;
  double image_before, image_after, surface_before, surface_after; /* relative: 1 at the start of the last level */
  double coarsest;                 /* spacing over sigma of any level's particle mesh; 0: none */
  double drift;                    /* mean |h(x_v) - x_v(0)|, voxels */
  double seconds, setup_seconds;   /* of the iterations; of everything before the first of each level */
  double level_seconds;            /* of setup_seconds, what is made anew for each level */
  double parts[RB_CURRENTS_PARTS]; /* of seconds; 0 without a profile */
} rb_currents_result;

rb_status rb_currents_solver_create(const rb_variant *v, const rb_currents_options *o, const rb_problem *problem,
                                    const volatile int *interrupted, rb_currents **out);
/* Time the parts of iterations by stamps from the next solve on, or no more. Nothing is recorded then: the launches
 * of an iteration are apart, and parts hold the gaps between them. */
void rb_currents_set_profile(rb_currents *s, int on);
rb_status rb_currents_solve(rb_currents *s, rb_currents_watch *watch, void *context, rb_currents_result *out);
/* Of the last solve, on the host: posteriors [channels][n] pulled back; u [3][n] with h = id + u; det(I + du/dx);
 * vertices [3][vertices] of all surfaces, one after the other, pushed forward. */
rb_status rb_currents_warped(rb_currents *s, float *out);
rb_status rb_currents_displacement(rb_currents *s, float *out);
rb_status rb_currents_determinant(rb_currents *s, float *out);
rb_status rb_currents_vertices(rb_currents *s, double *out);
rb_grid rb_currents_grid(const rb_currents *s);
void rb_currents_solver_destroy(rb_currents *s); /* takes NULL */

rb_status rb_currents_predict(const rb_variant *v, const rb_currents_options *o, const rb_problem_shape *shape,
                              size_t *backend, size_t *host);
#endif
