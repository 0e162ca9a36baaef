/* SPDX-License-Identifier: BSD-3-Clause */
/* transport: the semi-Lagrangian equations of brunn2020 (section 2.2) for one stationary velocity v on the periodic
 * grid.
 *
 *   state        d_t m + v.grad m = 0,                     m(0) = m0              m^{j+1} = I[m^j](X)
 *   adjoint      -d_t l - div(l v) = 0,                    l(1) given             b = int l grad m dt
 *   incremental  d_t mt + v.grad mt + vt.grad m = 0,       mt(0) = 0              mt(1)
 *   jacobian     d_t J + v.grad J = J div v,               J(0) = 1               det F at t = 1
 *
 * Time: `steps` equal steps dt = 1/steps. Characteristics by Heun's method in grid units, s = +1 (state) or -1
 * (adjoint): X* = x - s dt v,  X = x - s dt/2 (v + I[v](X*)),  one X for all steps. Adjoint and Jacobian: Heun along
 * the characteristic with d = div v and dX = I[d](X): l <- I[l](X) (1 + dt/2 (d + dX + dt d dX)). Body force b:
 * trapezoidal rule over the steps with grad m^j. Incremental state: trapezoidal along the characteristic, mt <-
 * I[mt](X) - dt/2 ( I[grad m^j](X).I[vt](X) + grad m^{j+1}.vt ). v = 0 is exact: nothing is interpolated.
 *
 * Fields [n1][n2][n3] and [3][n1][n2][n3] on the backend, v in radians a unit time. The plan keeps the
 * characteristics and the history m^0 .. m^steps. Orders: second in time, that of the interpolation in space. The
 * adjoint is the discretised adjoint, not the adjoint of the discretisation: the two differ by the scheme's error.
 * Sources: brunn2020 section 2.2; the discrete formulas as its authors' program evaluates them. */
#ifndef RB_TRANSPORT_H
#define RB_TRANSPORT_H

#include "kernels/derivative/derivative.h"
#include "kernels/interp/interp.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
  rb_grid grid;
  rb_dtype dtype;
  int steps;
  const rb_variant *interp, *derivative, *field; /* of the same backend as the transport variant */
  rb_interp_basis basis;
  rb_prefilter prefilter;
  rb_scheme scheme;
} rb_transport_desc;

typedef struct rb_transport_plan {
  const rb_variant *variant;
  const rb_backend *backend;
  rb_transport_desc desc;
} rb_transport_plan;

typedef struct {
  rb_status (*supports)(const rb_transport_desc *desc);
  rb_status (*plan)(const rb_backend *backend, const rb_transport_desc *desc, rb_transport_plan **out);
  rb_status (*velocity)(rb_transport_plan *p, const void *v);
  rb_status (*state)(rb_transport_plan *p, const void *m0);
  const void *(*history)(const rb_transport_plan *p, int j);
  rb_status (*adjoint)(rb_transport_plan *p, void *lambda, void *b);
  rb_status (*incremental)(rb_transport_plan *p, const void *vt, void *mt);
  rb_status (*advect)(rb_transport_plan *p, void *f);
  rb_status (*jacobian)(rb_transport_plan *p, const void *divergence, void *det);
  rb_status (*map)(rb_transport_plan *p, void *u);
  void (*destroy)(rb_transport_plan *p);
  int fields, fields_a_step; /* that a plan holds on the backend, besides its kernels' own */
  int in_double;             /* 1: computes and keeps its history in float64, whatever the description's type */
} rb_transport_ops;

/* RB_EINVAL: steps outside 1 .. 64, kernels of another backend. */
rb_status rb_transport_create(const rb_variant *variant, const rb_transport_desc *desc, rb_transport_plan **out);
/* Set v (no array: zero) and forget all that depended on the last one. v is read again by later calls: it stays
 * yours, unchanged. */
rb_status rb_transport_velocity(rb_transport_plan *p, rb_array v);
/* m0 -> history. */
rb_status rb_transport_state(rb_transport_plan *p, rb_array m0);
/* m^j of the last state, j = 0 .. steps, in float64 where the variant computes in it; the plan's, until the next
 * state. */
rb_array rb_transport_history(const rb_transport_plan *p, int j);
/* lambda: l(1) on entry, used up. b [3][N]. Needs a state. Serves gradient and Hessian alike. */
rb_status rb_transport_adjoint(rb_transport_plan *p, rb_array lambda, rb_array b);
/* mt(1) of the Gauss-Newton incremental state for the direction vt [3][N]. Needs a state. */
rb_status rb_transport_incremental(rb_transport_plan *p, rb_array vt, rb_array mt);
/* f <- f transported to t = 1, in place; the history is untouched. */
rb_status rb_transport_advect(rb_transport_plan *p, rb_array f);
/* det F at t = 1; divergence: div v, by whichever scheme the caller reports. */
rb_status rb_transport_jacobian(rb_transport_plan *p, rb_array divergence, rb_array det);
/* u [3][N] grid cells: what is transported to t = 1 is its start at x + u(x). */
rb_status rb_transport_map(rb_transport_plan *p, rb_array u);
void rb_transport_destroy(rb_transport_plan *p); /* takes NULL */
/* Fields [n1][n2][n3] that a plan holds on the backend, its kernels' own not counted; 0 where it is not built. */
int rb_transport_fields(const rb_variant *variant, int steps);

/* brunn2020 Table 1: interpolations and first derivatives by function. d = 3. */
static inline int rb_transport_paper_interpolations(const char which, int steps) {
  return which == 'J' ? 3 + steps : which == 'g' ? 3 + steps + 1 : 3 + 5 * steps + 1;
}
static inline int rb_transport_paper_derivatives(const char which, int steps) {
  return which == 'J' ? 0 : which == 'g' ? 3 * (steps + 2) : 3 * (2 * steps + 3);
}

/* Largest accepted |got - oracle| after one equation, for fields and |v| dt / h of order 1; float32 and the texture
 * unit's 8-bit weights lose what this says. range: of the field; slope: of its first derivative. */
double rb_transport_tolerance(const rb_transport_desc *desc, double range, double slope);

#ifdef __cplusplus
}
#endif
#endif
