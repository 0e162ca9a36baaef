/* SPDX-License-Identifier: BSD-3-Clause */
/* A case: one method of an experiment at one point of its axes. */
#ifndef RB_CASE_H
#define RB_CASE_H

#include "kernels/base/grid.h"
#include "kernels/base/variant.h"

typedef enum { RB_PRESET_QUICK, RB_PRESET_STANDARD, RB_PRESET_PAPER, RB_PRESETS } rb_preset;
rb_status rb_preset_parse(const char *name, rb_preset *out);
const char *rb_preset_name(rb_preset p);

/* One row of a published table: what is run, under the name the paper prints. */
typedef struct {
  char *label;       /* "GPU-TXTSPL" */
  char *kind;        /* workload: interp, interp-eval, prefilter, gradient, divergence, partial-x3, copy, copy-halo */
  char *variant;     /* exact name in the kind's family */
  char *basis;       /* interp kinds: linear, lagrange, bspline, bspline15; else NULL */
  char *scheme;      /* derivative kinds: fd2, fd8, spectral; else NULL */
  char *sums;        /* surface-distance: exact, plain, corrected, cubic; else NULL */
  unsigned *largest; /* cases with more grid points along an axis, or points in a set, are not made; NULL: no limit */
  char *published_as; /* label whose printed numeric values judge this row too (same numerics), or NULL */
} rb_method;

enum { RB_CASE_AXES = 8 };

typedef struct {
  const rb_method *method;
  const rb_variant *variant;
  const char *axis[RB_CASE_AXES], *value[RB_CASE_AXES]; /* names and values of the axes */
  int axes;
  rb_grid grid; /* of axis size (64^3 without one); no points where the kind reads no size */
  int cold;     /* buffers rotate beyond twice the last-level cache */
  char id[256]; /* "GPU-TXTSPL size=64 data=analytic" */
} rb_case;

/* Value of an axis of the case, or `fallback`. */
const char *rb_case_axis(const rb_case *c, const char *axis, const char *fallback);
/* The number that an axis of the case gives, strictly read, or `fallback`; RB_EINVAL. */
rb_status rb_case_number(const rb_case *c, const char *axis, double fallback, double *out);
/* "64" or "64x48x32" -> grid. */
rb_status rb_size_parse(const char *text, rb_grid *out);
#endif
