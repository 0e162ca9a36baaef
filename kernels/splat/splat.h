/* SPDX-License-Identifier: BSD-3-Clause */
/* splat: masses at arbitrary points, spread over a grid's nodes: the transpose of interp.
 *
 *   out_c[k] = sum_p  w(x_p - k) m_cp
 *
 * x    [3][np]                   points in grid units: node i of an axis has coordinate i
 * m    [components][np]          masses
 * out  [components][n1][n2][n3]  planar, x3 fastest
 *
 * Weights w: products over the axes of the linear B-spline (8 nodes, trilinear) or the cubic one (64 nodes).
 * Boundaries, as interp's: periodic (index modulo n); clamp (what falls outside goes to the nearest border node);
 * zero (it is dropped). A point with a coordinate or a mass that is no finite number adds nothing and is counted.
 *
 * Sums in fixed point give the same bits for the points in any order. Their unit is the variant's: 2^-20, as
 * ha2012 has it, for sums below 2048; or a power of two from the largest mass. What exceeds them is found: by the sum
 * of all contributions, weighted by pseudo-random whole numbers modulo 2^64, against that of the nodes. It misses a
 * wrapped sum once in 2^32. Source: ha2012 section 4.2.2. */
#ifndef RB_SPLAT_H
#define RB_SPLAT_H

#include "kernels/base/variant.h"
#include "kernels/interp/interp.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum { RB_SPLAT_LINEAR, RB_SPLAT_CUBIC } rb_splat_basis;

typedef struct {
  rb_grid grid;
  int64_t np; /* points; 1 .. 2^30 */
  rb_splat_basis basis;
  rb_boundary boundary;
  rb_dtype dtype;
  int components; /* any number from 1 */
} rb_splat_desc;

typedef struct rb_splat_plan {
  const rb_variant *variant;
  const rb_backend *backend;
  rb_splat_desc desc;
} rb_splat_plan;

typedef struct {
  rb_status (*supports)(const rb_splat_desc *desc);
  rb_status (*plan)(const rb_backend *backend, const rb_splat_desc *desc, rb_splat_plan **out);
  rb_status (*run)(rb_splat_plan *p, const void *x, const void *m, void *out);
  /* Points that added nothing, and whether a sum exceeded its type, of the last run. Waits for it. */
  rb_status (*outcome)(rb_splat_plan *p, int64_t *lost, int *exceeded);
  void (*destroy)(rb_splat_plan *p);
  int unit_bits; /* sums are whole multiples of 2^-unit_bits; 0: floating point, or a unit from the data */
  int ordered;   /* 1: the same bits for the points in any order */
  size_t (*workspace)(const rb_splat_desc *desc); /* bytes that a plan holds on the backend; NULL: none to speak of */
  /* NULL: not there. */
  rb_status (*onto)(rb_splat_plan *p, const void *x, const void *m, double by, const void *from, void *out);
} rb_splat_ops;

/* Front door: checks once, then dispatches. RB_EINVAL for sizes, points or components below 1. */
rb_status rb_splat_create(const rb_variant *variant, const rb_splat_desc *desc, rb_splat_plan **out);
rb_status rb_splat_run(rb_splat_plan *p, rb_array x, rb_array m, rb_array out);
/* out <- by from + what run would write, in one rounding; from may be out. RB_EUNSUPPORTED where the variant has
 * none: rb_splat_has_onto tells. */
rb_status rb_splat_onto(rb_splat_plan *p, rb_array x, rb_array m, double by, rb_array from, rb_array out);
int rb_splat_has_onto(const rb_variant *variant);
/* Waits for the last run. RB_EINVAL when a sum exceeded what its type holds: `out` is worthless. lost may be NULL. */
rb_status rb_splat_outcome(rb_splat_plan *p, int64_t *lost);
void rb_splat_destroy(rb_splat_plan *p); /* takes NULL */

/* Bytes on the backend that a plan holds besides its arguments; 0 for a variant that is not built here. */
size_t rb_splat_workspace(const rb_variant *variant, const rb_splat_desc *desc);
/* Least traffic: points and masses once, the grid once. */
double rb_splat_bytes(const rb_splat_desc *desc);
/* Largest accepted |out - oracle| where the weights at a node add up to at most `most`, of masses of at most `range`.
 */
double rb_splat_tolerance(const rb_variant *variant, const rb_splat_desc *desc, double most, double range);
rb_status rb_splat_basis_parse(const char *name, rb_splat_basis *out); /* linear, cubic */

#ifdef __cplusplus
}
#endif
#endif
