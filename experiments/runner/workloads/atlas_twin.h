/* SPDX-License-Identifier: BSD-3-Clause */
/* The verification of an atlas: a few iterations of every level against the same algorithm in float64 on the CPU. */
#ifndef RB_ATLAS_TWIN_H
#define RB_ATLAS_TWIN_H

#include "solvers/atlas/atlas.h"

enum { RB_TWIN_ITERATIONS = 3, RB_TWIN_LEVELS = 8, RB_TWIN_ROWS = RB_TWIN_LEVELS * (RB_TWIN_ITERATIONS + 1) };

/* Limit of the relative error of a short solve's variances: ten times the worst of 137 recorded runs, 4e-7 (float32
 * images in [0, 1], sums in units of 2^-20). */
#define RB_VARIANCE_LIMIT 5e-6

/* Variances of a short solve: by level, before each iteration and at its end; what is beyond them 0. */
typedef struct {
  double variance[RB_TWIN_ROWS];
} rb_atlas_variances;

/* Of the twin of `variant` for these images, as rb_atlas_create takes them: worked out once in a program for equal
 * images and options, whatever the variant. */
rb_status rb_atlas_twin_variances(const rb_variant *variant, const rb_atlas_options *options, rb_grid grid, int count,
                                  const float *const *images, const float *reference, rb_atlas_variances *out);
/* Of `a` itself, whose options are `options` before and after. */
rb_status rb_atlas_short_solve(rb_atlas *a, const rb_atlas_options *options, rb_atlas_variances *out);
/* Greatest relative difference; a NaN stays. */
double rb_atlas_variance_difference(const rb_atlas_variances *a, const rb_atlas_variances *b);
/* Bytes on the host of a twin. */
size_t rb_atlas_twin_bytes(rb_grid grid, int count);
#endif
