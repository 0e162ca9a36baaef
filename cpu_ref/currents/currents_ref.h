/* SPDX-License-Identifier: BSD-3-Clause */
/* What the oracle of currents and its particle mesh share: the plan, values of the caller's arrays. */
#ifndef RB_CPU_REF_CURRENTS_REF_H
#define RB_CPU_REF_CURRENTS_REF_H

#include "cpu_ref/base/values.h"
#include "kernels/currents/currents.h"

/* A particle mesh: moments splat on the periodic grid, U = K * F along one axis after the other by sums of n_a terms,
 * u and z read off with the same weights. O(N (n1 + n2 + n3)) a load, no transform. */
typedef struct {
  rb_currents_plan head;
  /* borrowed from load: [3][sources] in the plan's type */
  const void *y, *m;
  double *u;    /* [3][n1][n2][n3]: splat moments, then the field */
  double *line; /* 2 longest axes */
} rb_currents_ref_plan;

/* Vector i of a planar array [3][n]. */
static inline void rb_vector_get(const rb_currents_plan *p, const void *a, int64_t n, int64_t i, double out[3]) {
  for (int c = 0; c < 3; c++) out[c] = rb_value_get(p->desc.dtype, a, c * n + i);
}

/* p->u from the loaded sources: their moments splat, then convolved with the kernel. */
void rb_currents_ref_fill(rb_currents_ref_plan *p);
/* u and z at one place, read off p->u. */
void rb_currents_ref_read(const rb_currents_ref_plan *p, const double x[3], const double pair[3], double u[3],
                          double z[3]);

#endif
