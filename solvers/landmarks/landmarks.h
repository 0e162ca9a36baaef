/* SPDX-License-Identifier: BSD-3-Clause */
/* landmarks: matching of corresponding points by geodesic shooting (shooting2018).
 *
 *   minimise over p0   E = H(q0, p0) + lambda sum_i |q_i(1) - target_i|^2,
 *   q' = dH/dp, p' = -dH/dq by explicit Euler over T time points, dt = 1/(T - 1),   H = 1/2 p' K(q) p
 *
 * (the authors' program weighs by lambda / 2: what the paper calls 500000 is 250000 here)
 * with the Gaussian kernel of the family gausssum. The gradient is that of the discrete flow, by back-propagation
 * through its steps. Optimiser: PETSc TAO's limited-memory quasi-Newton method, its vectors in the backend's memory
 * above 30000 unknowns and on the host below; the paper used VNL's. Sources: shooting2018 sections 2.1 and 2.2; the
 * 1/2 and dt are its reference implementation's. */
#ifndef RB_LANDMARKS_H
#define RB_LANDMARKS_H

#include "kernels/gausssum/gausssum.h"
#include "kernels/registry/registry.h"
#include "solvers/solver.h"

/* Which sums in which precision: ops of a variant of rb_landmarks_family. */
typedef struct {
  const char *gausssum;
  rb_dtype dtype;
} rb_landmarks_config;
extern const rb_family rb_landmarks_family;

typedef struct {
  double sigma, lambda; /* 1.5, 250000 */
  int steps;            /* T: 40 time points */
  int evaluations;      /* of objective and gradient, at most: 400 (what the paper calls iterations) */
  rb_dtype dtype;
  const char *petsc;
  const volatile int *interrupted;
} rb_landmarks_options;
rb_landmarks_options rb_landmarks_defaults(void);
/* Whether a variant of rb_landmarks_family adds its sums' terms one after another, as the papers' CPU code. */
int rb_landmarks_sequential(const rb_variant *variant);

typedef struct {
  int evaluation;
  double objective, kinetic, seconds;
} rb_landmarks_row;
enum { RB_LANDMARKS_ROWS = 4096 };

typedef struct {
  rb_solver_end end; /* iterations used up: the evaluations are */
  int evaluations, iterations;
  double objective, kinetic;              /* of the best momentum found, where the end positions below are */
  double average_before, greatest_before; /* distances to the target, in the points' unit */
  double average_after, greatest_after;
  double seconds;
  rb_landmarks_row table[RB_LANDMARKS_ROWS]; /* every evaluation */
  int rows;
} rb_landmarks_result;

typedef void (*rb_landmarks_hook)(void *context, const rb_landmarks_row *row);
typedef struct rb_landmarks rb_landmarks;

/* template_points, target [dim][n], host. RB_EINVAL for options out of range. */
rb_status rb_landmarks_create(const rb_variant *gausssum, const rb_landmarks_options *options, int64_t n, int dim,
                              const double *template_points, const double *target, rb_landmarks **out);
/* Bytes on the backend that _create and _solve ask for. */
size_t rb_landmarks_predict(const rb_variant *gausssum, const rb_landmarks_options *options, int64_t n, int dim);
/* From p0 = (target - template) / T as the authors' program, or from 0 where that is better. Ending without
 * convergence is RB_OK; the best momentum seen is kept. */
rb_status rb_landmarks_solve(rb_landmarks *s, rb_landmarks_hook hook, void *context, rb_landmarks_result *out);
/* E and its gradient [dim][n] (may be NULL) at a momentum of the host. */
rb_status rb_landmarks_evaluate(rb_landmarks *s, const double *momentum, double *objective, double *gradient);

rb_status rb_landmarks_momentum(rb_landmarks *s, double *p0);
/* Positions and momenta at time point t = 0 .. steps - 1 of the best momentum; either may be NULL. */
rb_status rb_landmarks_at(rb_landmarks *s, int t, double *q, double *p);
/* Carry other points [dim][nx] along the flow (equation 4), in place. */
rb_status rb_landmarks_apply(rb_landmarks *s, int64_t nx, double *x);
/* H at every time point [steps]: constant along the exact flow. */
rb_status rb_landmarks_energies(rb_landmarks *s, double *h);
void rb_landmarks_destroy(rb_landmarks *s); /* takes NULL */

#endif
