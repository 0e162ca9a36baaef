/* SPDX-License-Identifier: BSD-3-Clause */
/* interp: values of a field at arbitrary points.
 *
 *   out_c(p) = sum_ijk  w_i(t1) w_j(t2) w_k(t3)  c_c[b1+i, b2+j, b3+k],   b = floor(x_p), t = x_p - b
 *
 * f    [components][n1][n2][n3]  the field, planar, x3 fastest
 * x    [3][np]                   points in grid units: node i of an axis has coordinate i
 * out  [components][np]
 *
 * Bases: linear (8 values), cubic Lagrange on nodes -1..2 (64), uniform cubic B-spline (64) of coefficients
 * c that a prefilter makes from f: exact to rounding, or the 15 taps of brunn2020 section 2.3.1.
 * Boundaries: periodic (index modulo n); clamp (nearest border value); zero (0 outside). The B-spline is periodic
 * only.
 *
 * load() makes whatever the variant needs of f (texture copy, prefilter); eval() may follow many times. f must stay
 * as it is until the last of them: some variants read it then, others have copied it. brunn2020 Table 4 times both
 * together, and so do we. Source: brunn2020 equation (5); basis weights are textbook. */
#ifndef RB_INTERP_H
#define RB_INTERP_H

#include "kernels/base/array.h"
#include "kernels/base/variant.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum { RB_LINEAR, RB_LAGRANGE, RB_BSPLINE } rb_interp_basis;
typedef enum { RB_PREFILTER_EXACT, RB_PREFILTER_15TAP } rb_prefilter;
typedef enum { RB_PERIODIC, RB_CLAMP, RB_ZERO } rb_boundary;

typedef struct {
  rb_grid grid;
  rb_interp_basis basis;
  rb_prefilter prefilter; /* read for RB_BSPLINE only */
  rb_boundary boundary;
  rb_dtype dtype;
  int components; /* any number from 1 */
  int localized;  /* promise that all points share one cell's 4x4x4 values (brunn2020 section 3.1.1) */
} rb_interp_desc;

/* The common head of every variant's plan. */
typedef struct rb_interp_plan {
  const rb_variant *variant;
  const rb_backend *backend;
  rb_interp_desc desc;
} rb_interp_plan;

typedef struct {
  /* RB_EUNSUPPORTED with the reason, or RB_OK. */
  rb_status (*supports)(const rb_interp_desc *desc);
  rb_status (*plan)(const rb_backend *backend, const rb_interp_desc *desc, rb_interp_plan **out);
  rb_status (*load)(rb_interp_plan *plan, const void *f);
  rb_status (*eval)(rb_interp_plan *plan, int64_t np, const void *x, void *out);
  void (*destroy)(rb_interp_plan *plan);
  int weight_bits; /* 8: the texture unit's fraction; 0: weights in the field's own precision */
  int fetches;     /* trilinear ones of the texture unit, a point and component; 0: none */
  /* eval at node + u(node), u [3][nodes]; NULL: not there. */
  rb_status (*displaced)(rb_interp_plan *plan, const void *u, void *out);
} rb_interp_ops;

/* The variant's weight_bits; 0 where it is not built. */
int rb_interp_weight_bits(const rb_variant *variant);
/* Trilinear fetches of the texture unit for np points. */
double rb_interp_fetches(const rb_variant *variant, const rb_interp_desc *desc, int64_t np);

/* Front door: checks once, then dispatches. RB_EINVAL for sizes or components below 1. */
rb_status rb_interp_create(const rb_variant *variant, const rb_interp_desc *desc, rb_interp_plan **out);
rb_status rb_interp_load(rb_interp_plan *plan, rb_array f);
rb_status rb_interp_eval(rb_interp_plan *plan, int64_t np, rb_array x, rb_array out);
/* out [components][nodes] = f(x + u(x)) at the nodes x, u [3][nodes] in grid units: the bits of eval at points that
 * were written before, without writing them. RB_EUNSUPPORTED where the variant has none: rb_interp_has_displaced
 * tells. */
rb_status rb_interp_displaced(rb_interp_plan *plan, rb_array u, rb_array out);
int rb_interp_has_displaced(const rb_variant *variant);
void rb_interp_destroy(rb_interp_plan *plan); /* takes NULL */

/* Useful work of load + eval of np points: a separable evaluation, weights included. */
double rb_interp_flops(const rb_interp_desc *desc, int64_t np);
/* Least traffic: field once, points once, values once. 20 B a point for float32, one component, np = n. */
double rb_interp_bytes(const rb_interp_desc *desc, int64_t np);
/* brunn2020 Table 2's own count of FLOPS a point for its kernels, by tag; 0 when the paper has none. */
double rb_interp_paper_flops(const char *tag);

/* Largest accepted |out - oracle| for a field with values in [-range, range]. */
double rb_interp_tolerance(const rb_variant *variant, const rb_interp_desc *desc, double range);

const char *rb_interp_basis_name(rb_interp_basis b);
rb_status rb_interp_basis_parse(const char *name, rb_interp_basis *basis, rb_prefilter *prefilter);
rb_status rb_boundary_parse(const char *name, rb_boundary *out);

/* Pole of the cubic B-spline's inverse filter, sqrt(3) - 2. */
#define RB_BSPLINE_POLE (-0.26794919243112270647)

#ifdef __cplusplus
}
#endif
#endif
