/* SPDX-License-Identifier: BSD-3-Clause */
/* Oracle of transport: the equations with a source (adjoint, incremental state, Jacobian, map). Double, node by node.
 */
#include "cpu_ref/transport/transport_ref.h"

/* One step of d_t l = l div v along the feet x; divergence and its values at the feet in p's arrays, w as scratch. */
static rb_status grow(rb_transport_ref_plan *p, const double *x, void *l) {
  rb_status st = RB_OK;
  double dt = 1.0 / p->head.desc.steps;
  for (int64_t i = 0; i < p->n; i++) p->w[i] = rb_transport_ref_get(p, l, i);
  RB_TRY(rb_transport_ref_at_feet(p, p->w, x, p->w + p->n));
  for (int64_t i = 0; i < p->n; i++) {
    /* Heun along the characteristic:  r0 = lX dX,  r1 = (lX + dt r0) d,  l = lX + dt/2 (r0 + r1),
     * which is lX (1 + dt/2 (d + dX + dt d dX)) */
    double lx = p->w[p->n + i], r0 = lx * p->gx[p->n + i], r1 = (lx + dt * r0) * p->gx[i];
    rb_transport_ref_put(p, l, i, lx + dt / 2 * (r0 + r1));
  }
done:
  return st;
}

rb_status rb_transport_ref_adjoint(rb_transport_plan *head, void *lambda, void *b) {
  rb_status st = RB_OK;
  rb_transport_ref_plan *p = (rb_transport_ref_plan *)head;
  int steps = head->desc.steps;
  /* gx[0 .. N): d = div v.  gx[N .. 2 N): dX = I[d](X) at the adjoint's feet. Both serve all steps. */
  RB_TRY(rb_divergence(p->derivative, rb_transport_ref_view(p, 3, p->v), rb_transport_ref_view(p, 1, p->gx)));
  RB_TRY(rb_transport_ref_at_feet(p, p->gx, p->x[1], p->gx + p->n));
  for (int64_t i = 0; i < 3 * p->n; i++) rb_transport_ref_put(p, b, i, 0);
  /* from t = 1, where lambda is given, to t = 0; grown before each use but the first */
  for (int j = steps; j >= 0; j--) {
    if (j < steps) RB_TRY(grow(p, p->x[1], lambda));
    RB_TRY(
        rb_gradient(p->derivative, rb_transport_ref_view(p, 1, p->m + j * p->n), rb_transport_ref_view(p, 3, p->g)));
    /* trapezoidal rule for  b = int l grad m dt;  i % N: the same lambda for the three components of a node */
    double w = (j == 0 || j == steps ? 0.5 : 1.0) / steps;
    for (int64_t i = 0; i < 3 * p->n; i++)
      rb_transport_ref_put(p, b, i,
                           rb_transport_ref_get(p, b, i) + w * rb_transport_ref_get(p, lambda, i % p->n) * p->g[i]);
  }
done:
  return st;
}

/* mt <- I[mt](X) - dt/2 ( I[grad m^j](X) . I[vt](X) + grad m^{j+1} . vt ),   mt(0) = 0
 * The first sum is after = 0, with factors at the feet; the second is after = 1, with factors at the nodes. */
rb_status rb_transport_ref_incremental(rb_transport_plan *head, const void *vt, void *mt) {
  rb_status st = RB_OK;
  rb_transport_ref_plan *p = (rb_transport_ref_plan *)head;
  double dt = 1.0 / head->desc.steps;
  int64_t n = p->n;
  for (int64_t i = 0; i < 3 * n; i++) p->vt[i] = rb_transport_ref_get(p, vt, i);
  for (int64_t i = 0; i < n; i++) rb_transport_ref_put(p, mt, i, 0);
  for (int j = 0; j < head->desc.steps; j++) {
    for (int64_t i = 0; i < n; i++) p->w[i] = rb_transport_ref_get(p, mt, i);
    RB_TRY(rb_transport_ref_at_feet(p, p->w, p->x[0], p->w + n));
    /* mt <- I[mt](X); the field that is interpolated is a copy in double */
    for (int64_t i = 0; i < n; i++) rb_transport_ref_put(p, mt, i, p->w[n + i]);
    for (int after = 0; after < 2; after++)
      for (int c = 0; c < 3; c++) {
        /* the whole gradient anew for every component, of which one is used */
        RB_TRY(rb_gradient(p->derivative, rb_transport_ref_view(p, 1, p->m + (j + after) * n),
                           rb_transport_ref_view(p, 3, p->g)));
        /* component c of both factors; for after = 0 they are replaced by their values at the feet, which need gx */
        double *a = p->g + c * n, *u = p->vt + c * n;
        if (!after) {
          RB_TRY(rb_transport_ref_at_feet(p, a, p->x[0], p->gx));
          RB_TRY(rb_transport_ref_at_feet(p, u, p->x[0], p->gx + n));
          a = p->gx, u = p->gx + n;
        }
        for (int64_t i = 0; i < n; i++)
          rb_transport_ref_put(p, mt, i, rb_transport_ref_get(p, mt, i) - dt / 2 * a[i] * u[i]);
      }
  }
done:
  return st;
}

/* The determinant of the transported map's gradient: J(0) = 1, grown along the state's feet by the caller's div v.
 */
rb_status rb_transport_ref_jacobian(rb_transport_plan *head, const void *divergence, void *det) {
  rb_status st = RB_OK;
  rb_transport_ref_plan *p = (rb_transport_ref_plan *)head;
  /* gx[0 .. N): the caller's d, gx[N .. 2 N): I[d](X) at the state's feet, as grow expects them */
  for (int64_t i = 0; i < p->n; i++)
    p->gx[i] = rb_transport_ref_get(p, divergence, i), rb_transport_ref_put(p, det, i, 1);
  RB_TRY(rb_transport_ref_at_feet(p, p->gx, p->x[0], p->gx + p->n));
  for (int j = 0; j < head->desc.steps; j++) RB_TRY(grow(p, p->x[0], det));
done:
  return st;
}

/* u <- (X - x) + I[u](X),  u = 0 before the first step.  w holds u in double until the end, gx holds I[u](X). */
rb_status rb_transport_ref_map(rb_transport_plan *head, void *u) {
  rb_status st = RB_OK;
  rb_transport_ref_plan *p = (rb_transport_ref_plan *)head;
  rb_grid g = head->desc.grid;
  for (int64_t i = 0; i < 3 * p->n; i++) p->w[i] = 0;
  for (int j = 0; j < head->desc.steps; j++) {
    for (int c = 0; c < 3; c++) RB_TRY(rb_transport_ref_at_feet(p, p->w + c * p->n, p->x[0], p->gx + c * p->n));
    for (int64_t i = 0; i < 3 * p->n; i++) {
      /* i = component * N + node */
      int64_t q = i % p->n, node[3] = {q / g.n[2] / g.n[1], q / g.n[2] % g.n[1], q % g.n[2]};
      p->w[i] = p->gx[i] + p->x[0][i] - (double)node[i / p->n];
    }
  }
  for (int64_t i = 0; i < 3 * p->n; i++) rb_transport_ref_put(p, u, i, p->w[i]);
done:
  return st;
}
