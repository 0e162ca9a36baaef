/* SPDX-License-Identifier: BSD-3-Clause */
/* The transport that is composed of the small families' kernels: its plan, its small steps, its functions. They run
 * on any backend: cpu/composed and cuda/composed differ by the kernels that they name, and cuda/fused replaces some.
 */
#ifndef RB_TRANSPORT_COMPOSED_H
#define RB_TRANSPORT_COMPOSED_H

#include "kernels/field/field.h"
#include "kernels/transport/transport.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct rb_composed {
  rb_transport_plan head;
  /* N, nodes of the grid */
  int64_t n;
  rb_dtype dtype;
  double dt;
  rb_interp_plan *interp;
  rb_derivative_plan *derivative;
  rb_field_plan *field;
  rb_array v; /* the caller's; no array: zero */
  /* whether the feet below are those of v; velocity() clears both */
  int has_state_feet, has_adjoint_feet;
  rb_array state_feet, adjoint_feet;                               /* [3][N] grid units */
  rb_array m;                                                      /* [steps + 1][N] */
  rb_array gradient, vector;                                       /* [3][N] scratch */
  rb_array scalar[2];                                              /* [N] scratch */
  rb_status (*feet)(struct rb_composed *p, int sign, rb_array to); /* characteristics' feet of p->v */
} rb_composed;

/* Fill an allocated, zeroed plan; destroy what it holds, without freeing the plan itself. */
rb_status rb_composed_open(rb_composed *p, const rb_backend *backend, const rb_transport_desc *d);
void rb_composed_close(rb_composed *p);

/* An argument of an ops function: `components` fields. */
rb_array rb_composed_view(const rb_composed *p, int components, const void *data);
rb_status rb_composed_interpolate(rb_composed *p, rb_array f, rb_array feet, rb_array out);
rb_status rb_composed_interpolate_vector(rb_composed *p, rb_array f, rb_array feet, rb_array out);
rb_status rb_composed_need_state_feet(rb_composed *p);
rb_status rb_composed_need_adjoint_feet(rb_composed *p);

rb_status rb_composed_supports(const rb_transport_desc *desc);
rb_status rb_composed_plan(const rb_backend *backend, const rb_transport_desc *desc, rb_transport_plan **out);
void rb_composed_destroy(rb_transport_plan *head);
rb_status rb_composed_velocity(rb_transport_plan *head, const void *v);
rb_status rb_composed_state(rb_transport_plan *head, const void *m0);
const void *rb_composed_history(const rb_transport_plan *head, int j);
rb_status rb_composed_adjoint(rb_transport_plan *head, void *lambda, void *b);
rb_status rb_composed_incremental(rb_transport_plan *head, const void *vt, void *mt);
rb_status rb_composed_advect(rb_transport_plan *head, void *f);
rb_status rb_composed_jacobian(rb_transport_plan *head, const void *divergence, void *det);
rb_status rb_composed_map(rb_transport_plan *head, void *u);

/* An ops table of these functions. 15 fields: four of three components, two of one, the history's first. */
#define RB_COMPOSED_TRANSPORT                                                                                    \
  {                                                                                                              \
    rb_composed_supports, rb_composed_plan, rb_composed_velocity, rb_composed_state, rb_composed_history,        \
        rb_composed_adjoint, rb_composed_incremental, rb_composed_advect, rb_composed_jacobian, rb_composed_map, \
        rb_composed_destroy, 15, 1, 0                                                                            \
  }

#ifdef __cplusplus
}
#endif
#endif
