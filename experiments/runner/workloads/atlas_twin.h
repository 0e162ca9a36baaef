/* SPDX-License-Identifier: BSD-3-Clause */
/* The verification of an atlas: a few iterations of every level against the same algorithm in float64 on the CPU. */
#ifndef RB_ATLAS_TWIN_H
#define RB_ATLAS_TWIN_H

#include "solvers/atlas/atlas.h"

enum { RB_TWIN_ITERATIONS = 3, RB_TWIN_LEVELS = 8, RB_TWIN_ROWS = RB_TWIN_LEVELS * (RB_TWIN_ITERATIONS + 1) };

/* Variances of a short solve: by level, before each iteration and at its end; what is beyond them 0. */
typedef struct {
  double variance[RB_TWIN_ROWS];
} rb_atlas_course;

/* Of the twin of `variant` for these images, as rb_atlas_create takes them. */
rb_status rb_atlas_twin_course(const rb_variant *variant, const rb_atlas_options *options, rb_grid grid, int count,
                               const float *const *images, const float *reference, rb_atlas_course *out);
/* Of `a` itself, whose options are `options` before and after. */
rb_status rb_atlas_short_course(rb_atlas *a, const rb_atlas_options *options, rb_atlas_course *out);
/* Greatest relative difference; a NaN stays. */
double rb_atlas_course_difference(const rb_atlas_course *a, const rb_atlas_course *b);
/* Bytes on the host of a twin. */
size_t rb_atlas_twin_bytes(rb_grid grid, int count);
/* RB_EINTERRUPTED where a solve was. */
rb_status rb_atlas_whole(const rb_atlas_result *r);
#endif
