/* SPDX-License-Identifier: BSD-3-Clause */
/* What the checks of the gausssum family share: sets of points, and the sums that a variant makes of them. */
#ifndef RB_CHECK_GAUSSSUM_H
#define RB_CHECK_GAUSSSUM_H

#include "experiments/runner/check/check.h"
#include "kernels/gausssum/gausssum.h"

/* Points, momenta and the two derivatives, [dim][n] each; what the sums make of them. On the host. */
typedef struct {
  void *q, *p, *alpha, *beta;
} rb_gauss_points;
typedef struct {
  void *hq, *hp, *fq, *fp, *sum, *hp_alone;
} rb_gauss_sums;

static inline size_t rb_gauss_bytes(const rb_gausssum_desc *d) {
  return (size_t)(d->n * d->dim) * rb_dtype_size(d->dtype);
}
static inline int rb_gauss_shoots(const rb_variant *v) { return ((const rb_gausssum_ops *)v->ops)->shoot != NULL; }

/* Points in a cube of side 2 spread, the other vectors in [-1, 1). */
rb_gauss_points rb_gauss_points_make(const rb_gausssum_desc *d, double spread);
void rb_gauss_points_drop(rb_gauss_points in);
rb_gauss_sums rb_gauss_sums_room(const rb_gausssum_desc *d);
void rb_gauss_sums_drop(rb_gauss_sums s);
rb_status rb_gauss_sums_by(const rb_variant *v, const rb_gausssum_desc *d, double sigma, rb_gauss_points in,
                           rb_gauss_sums out);

/* Whole flows, for variants that have them (check_gausssum_flow.c). */
enum { RB_GAUSS_MOST_STEPS = 5 };
void rb_check_gauss_steps(rb_checker *c, const rb_gausssum_desc *d, double sigma, rb_gauss_points in, int steps);
void rb_check_gauss_long_flow(rb_checker *c, const rb_gausssum_desc *d);
void rb_check_gauss_golden_flow(rb_checker *c, const rb_gausssum_desc *d, double sigma, rb_gauss_points in);

#endif
