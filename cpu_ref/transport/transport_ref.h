/* SPDX-License-Identifier: BSD-3-Clause */
/* What the two files of transport's oracle share: the plan, its arrays, values at the feet. */
#ifndef RB_CPU_REF_TRANSPORT_REF_H
#define RB_CPU_REF_TRANSPORT_REF_H

#include "cpu_ref/base/values.h"
#include "kernels/transport/transport.h"

typedef struct {
  rb_transport_plan head;
  /* N, nodes of the grid */
  int64_t n;
  rb_interp_plan *interp;
  rb_derivative_plan *derivative;
  /* m: history [steps + 1][N]. All others [3][N]: v and vt in radians; x: feet in grid units; g: a gradient; gx, w:
   * scratch, of which scalar equations use the first 2 N values as two fields. */
  double *m, *v, *vt, *x[2], *g, *gx, *w; /* x[0] state feet, x[1] adjoint feet */
  int zero;
} rb_transport_ref_plan;

/* Values of the caller's arrays. An array that a step updates is rounded to its own type after every step. */
static inline double rb_transport_ref_get(const rb_transport_ref_plan *p, const void *x, int64_t i) {
  return rb_value_get(p->head.desc.dtype, x, i);
}
static inline void rb_transport_ref_put(const rb_transport_ref_plan *p, void *x, int64_t i, double v) {
  rb_value_put(p->head.desc.dtype, x, i, v);
}
static inline rb_array rb_transport_ref_view(const rb_transport_ref_plan *p, int components, const double *data) {
  return rb_array_view(p->head.backend, RB_F64, components * p->n, data);
}
/* out = I[f](x) at the N feet x; out must not be f. */
rb_status rb_transport_ref_at_feet(rb_transport_ref_plan *p, const double *f, const double *x, double *out);

/* The equations with a source: transport_ref_sources.c. */
rb_status rb_transport_ref_adjoint(rb_transport_plan *head, void *lambda, void *b);
rb_status rb_transport_ref_incremental(rb_transport_plan *head, const void *vt, void *mt);
rb_status rb_transport_ref_jacobian(rb_transport_plan *head, const void *divergence, void *det);
rb_status rb_transport_ref_map(rb_transport_plan *head, void *u);

#endif
