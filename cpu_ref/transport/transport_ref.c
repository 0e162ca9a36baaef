/* SPDX-License-Identifier: BSD-3-Clause */
/* Oracle of transport: serial, double whatever the arrays hold, the printed formulas step by step over the oracles of
 * interp and derivative; the equations with a source are in transport_ref_sources.c. Shares no arithmetic with the
 * composed and fused variants. */
#include "cpu_ref/transport/transport_ref.h"

#include <stdlib.h>

/* Variants made here and not looked up in the registry: the oracle's kernels do not depend on what the description
 * names in interp, derivative and field. */
extern const rb_interp_ops rb_interp_ref;
extern const rb_derivative_ops rb_derivative_ref;
static const rb_variant interp_oracle = {"cpu/ref", "", "", RB_CPU, &rb_interp_ref, rb_cpu_backend},
                        derivative_oracle = {"cpu/ref", "", "", RB_CPU, &rb_derivative_ref, rb_cpu_backend};

/* What is evaluated, with dt = 1/steps, feet X and I[f](X) the interpolated value:
 *   feet         X* = x - s dt v,  X = x - s dt/2 (v + I[v](X*)),   s = +1 state, -1 adjoint
 *   state        m^{j+1} = I[m^j](X)
 *   adjoint      l <- I[l](X) (1 + dt/2 (d + dX + dt d dX)),   d = div v,   b = trapezoidal sum of l grad m^j
 *   incremental  mt <- I[mt](X) - dt/2 (I[grad m^j](X) . I[vt](X) + grad m^{j+1} . vt)
 *   jacobian     the adjoint's growth along the state's feet, from J = 1
 *   map          u <- (X - x) + I[u](X)
 * Node by node in plain loops over full fields in double. */
static rb_status supports(const rb_transport_desc *d) {
  (void)d;
  return RB_OK;
}
static void destroy(rb_transport_plan *head) {
  rb_transport_ref_plan *p = (rb_transport_ref_plan *)head;
  double *arrays[] = {p->m, p->v, p->vt, p->x[0], p->x[1], p->g, p->gx, p->w};
  rb_interp_destroy(p->interp);
  rb_derivative_destroy(p->derivative);
  /* releasing takes NULL, of a plan that was made in part */
  for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) rb_release(head->backend, arrays[i]);
  free(p);
}
static rb_status plan(const rb_backend *b, const rb_transport_desc *d, rb_transport_plan **out) {
  rb_status st = RB_OK;
  rb_transport_ref_plan *p = calloc(1, sizeof *p);
  RB_CHECK(p, RB_ENOMEM, "host memory");
  p->head.backend = b;
  p->n = rb_grid_points(d->grid);
  /* Kernels and scratch in float64, whatever the description's type. Boundary periodic, as all transport. */
  size_t field = (size_t)p->n * sizeof(double);
  rb_interp_desc i = {.grid = d->grid,
                      .basis = d->basis,
                      .prefilter = d->prefilter,
                      .boundary = RB_PERIODIC,
                      .dtype = RB_F64,
                      .components = 1};
  rb_derivative_desc e = {.grid = d->grid, .scheme = d->scheme, .dtype = RB_F64};
  RB_TRY(rb_interp_create(&interp_oracle, &i, &p->interp));
  RB_TRY(rb_derivative_create(&derivative_oracle, &e, &p->derivative));
  /* m^j begins at value j N */
  RB_TRY(rb_alloc(b, (size_t)(d->steps + 1) * field, (void **)&p->m));
  double **three[] = {&p->v, &p->vt, &p->x[0], &p->x[1], &p->g, &p->gx, &p->w};
  for (size_t k = 0; k < sizeof three / sizeof *three; k++) RB_TRY(rb_alloc(b, 3 * field, (void **)three[k]));
  *out = &p->head;
  return RB_OK;
done:
  if (p) destroy(&p->head);
  return st;
}

rb_status rb_transport_ref_at_feet(rb_transport_ref_plan *p, const double *f, const double *x, double *out) {
  rb_status st = RB_OK;
  RB_TRY(rb_interp_load(p->interp, rb_transport_ref_view(p, 1, f)));
  RB_TRY(rb_interp_eval(p->interp, p->n, rb_transport_ref_view(p, 3, x), rb_transport_ref_view(p, 1, out)));
done:
  return st;
}

/* v is copied in double: unlike the composed variants, the oracle does not read the caller's array again. */
static rb_status velocity(rb_transport_plan *head, const void *v) {
  rb_status st = RB_OK;
  rb_transport_ref_plan *p = (rb_transport_ref_plan *)head;
  rb_grid g = head->desc.grid;
  double dt = 1.0 / head->desc.steps;
  p->zero = v == NULL;
  for (int64_t i = 0; i < 3 * p->n; i++) p->v[i] = v ? rb_transport_ref_get(p, v, i) : 0;
  /* Feet of the state (way 0, s = +1) and of the adjoint (way 1, s = -1), in grid units, in two passes:
   *   pass 0:  X* = x - s dt v / h
   *   pass 1:  X  = x - s dt (v + I[v](X*)) / 2 / h
   * All at once: nothing is made on demand here. With v = 0 all feet are the nodes. */
  for (int way = 0; way < 2; way++) {
    double s = way == 0 ? 1 : -1;
    for (int pass = 0; pass < 2; pass++) {
      for (int c = 0; pass == 1 && c < 3; c++)
        RB_TRY(rb_transport_ref_at_feet(p, p->v + c * p->n, p->x[way], p->w + c * p->n));
      for (int64_t i = 0; i < p->n; i++) {
        /* index i = (i1 n2 + i2) n3 + i3, taken apart; node i_a has the grid coordinate i_a */
        double node[3] = {(double)(i / g.n[2] / g.n[1]), (double)(i / g.n[2] % g.n[1]), (double)(i % g.n[2])};
        for (int c = 0; c < 3; c++) {
          double mean = pass == 0 ? p->v[c * p->n + i] : (p->v[c * p->n + i] + p->w[c * p->n + i]) / 2;
          p->x[way][c * p->n + i] = node[c] - s * dt * mean / rb_grid_spacing(g, c);
        }
      }
    }
  }
done:
  return st;
}

static rb_status state(rb_transport_plan *head, const void *m0) {
  rb_status st = RB_OK;
  rb_transport_ref_plan *p = (rb_transport_ref_plan *)head;
  /* m^0 = m0,  m^{j+1} = I[m^j](X): each field is interpolated from the one before, in double */
  for (int64_t i = 0; i < p->n; i++) p->m[i] = rb_transport_ref_get(p, m0, i);
  for (int j = 0; j < head->desc.steps; j++)
    RB_TRY(rb_transport_ref_at_feet(p, p->m + j * p->n, p->x[0], p->m + (j + 1) * p->n));
done:
  return st;
}
/* rb_transport_ops.in_double says that the history is float64 whatever the description's type. */
static const void *history(const rb_transport_plan *head, int j) {
  const rb_transport_ref_plan *p = (const rb_transport_ref_plan *)head;
  return p->m + j * p->n; /* double */
}

/* f <- I[f](X), `steps` times; the history stays as it is */
static rb_status advect(rb_transport_plan *head, void *f) {
  rb_status st = RB_OK;
  rb_transport_ref_plan *p = (rb_transport_ref_plan *)head;
  for (int j = 0; j < head->desc.steps; j++) {
    for (int64_t i = 0; i < p->n; i++) p->w[i] = rb_transport_ref_get(p, f, i);
    RB_TRY(rb_transport_ref_at_feet(p, p->w, p->x[0], p->w + p->n));
    for (int64_t i = 0; i < p->n; i++) rb_transport_ref_put(p, f, i, p->w[p->n + i]);
  }
done:
  return st;
}

const rb_transport_ops rb_transport_ref = {supports,
                                           plan,
                                           velocity,
                                           state,
                                           history,
                                           rb_transport_ref_adjoint,
                                           rb_transport_ref_incremental,
                                           advect,
                                           rb_transport_ref_jacobian,
                                           rb_transport_ref_map,
                                           destroy,
                                           0,
                                           0,
                                           1}; /* of the host's memory, not counted */
