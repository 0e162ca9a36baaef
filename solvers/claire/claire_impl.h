/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of solvers/claire share. */
#ifndef RB_CLAIRE_IMPL_H
#define RB_CLAIRE_IMPL_H

#include "kernels/field/field.h"
#include "solvers/claire/claire.h"
#include "solvers/krylov/krylov.h"

/* The operators of one level, hd folded in where the equations have it. Diagonal in the spectrum, so a level costs
 * nothing to set up. */
typedef struct {
  rb_spectral_op form;    /* R(v) = 1/2 <v, form v> */
  rb_spectral_op a;       /* hd A */
  rb_spectral_op k;       /* hd K */
  rb_spectral_op inverse; /* A^-1: the preconditioner */
} rb_claire_operators;

struct rb_claire {
  const rb_variant *variant;
  rb_claire_config config;
  rb_claire_options options;
  rb_grid grid;
  int64_t n, unknowns; /* grid points; values of the optimiser's vectors */
  double hd;
  const rb_backend *backend;
  rb_transport_plan *transport;
  rb_spectral_plan *spectral; /* three components */
  rb_field_plan *field;
  rb_array template_image, reference_image, lambda; /* [N] */
  rb_array v, b, work;                              /* [3][N]; work is as long as an optimiser's vector */
  int is_zero;                                      /* v = 0 */
  rb_claire_operators level;

  Vec x;
  Mat hessian;
  Tao tao;
  KSP ksp;

  rb_claire_result *result; /* of the solve under way */
  rb_claire_hook hook;
  void *hook_context;
  double mismatch0, gradient0, objective0; /* at v = 0, beta = 1 */
  double mismatch;                         /* of the last evaluation */
  double tolerance, started;
  int level_index;
  double beta;
  double forcing;
};

rb_claire_operators rb_claire_operators_at(const rb_claire_options *o, double beta, double hd);

/* J, and where g is an array its gradient, at the coefficients or velocities x. */
rb_status rb_claire_objective(rb_claire *c, rb_array x, double *objective, rb_array g);
/* y = H x at the last evaluated velocity. */
rb_status rb_claire_hessian(rb_claire *c, rb_array x, rb_array y);

/* Set up TAO once; run the levels. */
rb_status rb_claire_optimiser_create(rb_claire *c);
rb_status rb_claire_optimise(rb_claire *c);
void rb_claire_optimiser_destroy(rb_claire *c);

/* Gaussian of `sigma` cells in place on one field of the backend. */
rb_status rb_claire_smooth(const rb_claire *c, double sigma, rb_array f);
rb_transport_desc rb_claire_transport_desc(const rb_claire_config *config, const rb_claire_options *o, rb_grid grid,
                                           const char *interp, const char *basis);

#endif
