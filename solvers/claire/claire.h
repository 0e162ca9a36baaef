/* SPDX-License-Identifier: BSD-3-Clause */
/* claire: diffeomorphic registration by a stationary velocity (brunn2020, section 2).
 *
 *   minimise  J(v) = 1/2 hd |m(1) - m_R|^2 + R(v),   d_t m + v.grad m = 0, m(0) = m_T
 *   R(v) = hd/2 <v, A v> + hd/2 beta_w (|grad div v|^2 + |div v|^2)         hd = h1 h2 h3; sums over grid points
 *
 * by inexact Gauss-Newton: PETSc's TAO (NLS, Armijo) around its CG, preconditioned by A^-1, on vectors in the
 * backend's memory. With the divergence penalty the reduced gradient is filtered by K (RB_OP_LERAY of the spectral
 * family): g = hd (A v + K b),   H w = hd (A w + K b~(w)). Along k, A + the penalty's symbol times K equals A:
 * stationary points are those of J, g.w is not dJ/dw.
 *
 * Continuation: beta = 1, 1/10, ... down to the target, warm starts; a level ends at |g| < tolerance |g(0)|, with
 * |g(0)| at v = 0 and beta = 1, or, as the paper's program has it, at |g| < 1e-6. Forcing: CG to min(1/2, sqrt(|g| /
 * |g(0)|)). Sources: brunn2020 sections 2 and 4.1.2. */
#ifndef RB_CLAIRE_H
#define RB_CLAIRE_H

#include "kernels/base/profile.h"
#include "kernels/spectral/spectral.h"
#include "kernels/registry/registry.h"
#include "kernels/transport/transport.h"
#include "solvers/solver.h"

/* ---- which kernels: a row of brunn2020's Table 6, or ours ------------------------------------------------ */

typedef enum { RB_PHYSICAL, RB_COEFFICIENTS } rb_coordinates;

typedef struct {
  rb_dtype dtype;
  const char *transport, *interp, *derivative, *spectral; /* exact names in their families */
  const char *basis;                                      /* linear, lagrange, bspline, bspline15 */
  const char *label_interp, *label_basis;                 /* labels are transported by a cubic basis in every row */
  rb_scheme scheme;
  /* What the optimiser's vectors hold: velocities, or their orthonormal spectral coefficients, which need 6
   * transforms a Hessian product and preconditioning where velocities need 18. */
  rb_coordinates coordinates;
} rb_claire_config;

/* "gpu-fd8-linear" and so on; ops of a variant is its rb_claire_config. */
extern const rb_family rb_claire_family;

/* ---- parameters ------------------------------------------------------------------------------------------ */

typedef enum {
  RB_REG_H1_DIV,  /* beta |k|^2, and the divergence penalty beta_w */
  RB_REG_H1_SEMI, /* beta |k|^2 */
  RB_REG_H2_SEMI, /* beta |k|^4 */
  RB_REG_H1,      /* beta (|k|^2 + 1) */
  RB_REG_H2       /* beta (|k|^2 + 1)^2 */
} rb_regularisation;

typedef struct {
  double beta;     /* target, 5e-4 */
  double beta_div; /* beta_w, 1e-4; read for RB_REG_H1_DIV */
  rb_regularisation regularisation;
  int incompressible;              /* project onto div v = 0 */
  int steps;                       /* N_t, 4 */
  int continuation;                /* 1: levels from beta = 1; 0: the target only */
  double tolerance;                /* of the last level, 5e-2 */
  double presolve;                 /* of the levels before, 1e-1 */
  int most_newton;                 /* a level, 50 */
  int most_krylov;                 /* a Newton step, 500 */
  double sigma;                    /* Gaussian smoothing of both images, grid cells, 1 */
  int profile;                     /* time kernel classes: adds two events a kernel call */
  const char *petsc;               /* PETSc options, or NULL */
  const volatile int *interrupted; /* stop, keeping the iterate, once this is not 0; may be NULL */
} rb_claire_options;

rb_claire_options rb_claire_defaults(void);
rb_status rb_regularisation_parse(const char *name, rb_regularisation *out);

/* ---- a registration -------------------------------------------------------------------------------------- */

/* One line of the iteration table; index 0 of a level is its start. */
typedef struct {
  int level, iteration, matvecs; /* matvecs: so far */
  double beta, objective, mismatch,
      gradient; /* relative to v = 0, beta = 1; mismatch: squared norms, as the paper prints */
  double step, forcing;
  double seconds; /* since the solve began */
} rb_claire_iteration;

enum { RB_CLAIRE_ITERATIONS = 512, RB_CLAIRE_LEVELS = 16 };

typedef struct {
  rb_solver_end end;                                  /* stalled: the step fell below 2^-10 */
  int newton, matvecs, objectives, gradients, levels; /* sums over levels; the paper prints newton + levels - 1 */
  double mismatch, gradient, objective;               /* relative, of the final iterate */
  double seconds;                                     /* the levels' solves, set-up excluded */
  rb_claire_iteration table[RB_CLAIRE_ITERATIONS];
  int rows;
  rb_profile profile, profile_objective, profile_gradient, profile_matvec; /* whole solve; and one call of each */
  rb_profile profile_state, profile_incremental; /* the state within that objective; mt within that product */
} rb_claire_result;

typedef void (*rb_claire_hook)(void *context, const rb_claire_iteration *row);

typedef struct rb_claire rb_claire;

/* Images [n1][n2][n3] on the host, finite; negative values become 0, the least is subtracted and the rest
 * divided by the greatest (to [0, 1] for images with background), as the paper's program does; then smoothed.
 * RB_EINVAL: constant images. */
rb_status rb_claire_create(const rb_variant *variant, const rb_claire_options *options, rb_grid grid,
                           const float *template_image, const float *reference_image, rb_claire **out);
/* From v = 0. A solve that ends without convergence is RB_OK: result.end says how, and the iterate is kept. */
rb_status rb_claire_solve(rb_claire *c, rb_claire_hook hook, void *context, rb_claire_result *out);
/* Objective and gradient at a velocity [3][N] on the host (float), at the target beta: the numbers a solve ends with.
 */
rb_status rb_claire_evaluate(rb_claire *c, const float *velocity, double *mismatch, double *gradient);
/* Time kernel classes from the next solve on (1), or no longer (0). */
rb_status rb_claire_set_profile(rb_claire *c, int profile);
/* Make the velocity NaN: what is not solved anew must show. */
rb_status rb_claire_forget(rb_claire *c);
/* Use this velocity as if solved for. */
rb_status rb_claire_set_velocity(rb_claire *c, const float *velocity);

/* Results of the final iterate, on the host. All may be called after solve, evaluate or set_velocity. */
rb_status rb_claire_velocity(rb_claire *c, float *v);               /* [3][N], radians a unit time */
rb_status rb_claire_warped(rb_claire *c, float *m);                 /* [N], the smoothed template at t = 1 */
rb_status rb_claire_images(rb_claire *c, float *t, float *r);       /* [N] each, as registered */
rb_status rb_claire_warp(rb_claire *c, const float *f, float *out); /* any field, transported to t = 1 */
rb_status rb_claire_displacement(rb_claire *c, float *u);           /* [3][N] grid cells: m(x, 1) = m_T(x + u) */
typedef struct {
  double least, mean, greatest;
} rb_claire_determinant;
rb_status rb_claire_jacobian(rb_claire *c, float *det, rb_claire_determinant *out); /* det may be NULL */
/* Labels (0 .. 255 as floats) of the template's grid, transported: indicator functions, smoothed by sigma cells when
 * `smoothed`, arg max with the background last. */
rb_status rb_claire_labels(rb_claire *c, const float *labels, int smoothed, float *out);
void rb_claire_destroy(rb_claire *c); /* takes NULL */

/* Bits of the weights that a variant's transport interpolates with; 0: as many as the data, or not built. */
int rb_claire_weight_bits(const rb_variant *variant);
/* Bytes on the backend, and on the host for a GPU variant, that create and solve take. */
rb_status rb_claire_predict(const rb_variant *variant, const rb_claire_options *options, rb_grid grid,
                            size_t *backend, size_t *host);

#endif
