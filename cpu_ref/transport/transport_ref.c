/* SPDX-License-Identifier: BSD-3-Clause */
/* Oracle of transport: serial, double whatever the arrays hold, the printed formulas step by step over the oracles of
 * interp and derivative. Shares no arithmetic with the composed and fused variants. */
#include "kernels/transport/transport.h"

#include <stdlib.h>

/* Variants made here and not looked up in the registry: the oracle's kernels do not depend on what the description
 * names in interp, derivative and field. */
extern const rb_interp_ops rb_interp_ref;
extern const rb_derivative_ops rb_derivative_ref;
static const rb_variant interp_oracle = {"cpu/ref", "", "", RB_CPU, &rb_interp_ref, rb_cpu_backend},
                        derivative_oracle = {"cpu/ref", "", "", RB_CPU, &rb_derivative_ref, rb_cpu_backend};

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
} oracle;

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
  oracle *p = (oracle *)head;
  double *arrays[] = {p->m, p->v, p->vt, p->x[0], p->x[1], p->g, p->gx, p->w};
  rb_interp_destroy(p->interp);
  rb_derivative_destroy(p->derivative);
  /* releasing takes NULL, of a plan that was made in part */
  for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) rb_release(head->backend, arrays[i]);
  free(p);
}
static rb_status plan(const rb_backend *b, const rb_transport_desc *d, rb_transport_plan **out) {
  rb_status st = RB_OK;
  oracle *p = calloc(1, sizeof *p);
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

/* Values of the caller's arrays. An array that a step updates is rounded to its own type after every step. */
static double get(const oracle *p, const void *x, int64_t i) {
  return p->head.desc.dtype == RB_F64 ? ((const double *)x)[i] : (double)((const float *)x)[i];
}
static void put(const oracle *p, void *x, int64_t i, double v) {
  if (p->head.desc.dtype == RB_F64)
    ((double *)x)[i] = v;
  else
    ((float *)x)[i] = (float)v;
}
static rb_array view(const oracle *p, int components, const double *data) {
  return rb_array_view(p->head.backend, RB_F64, components * p->n, data);
}
/* out = I[f](x) at the N feet x; out must not be f. */
static rb_status at_feet(oracle *p, const double *f, const double *x, double *out) {
  rb_status st = RB_OK;
  RB_TRY(rb_interp_load(p->interp, view(p, 1, f)));
  RB_TRY(rb_interp_eval(p->interp, p->n, view(p, 3, x), view(p, 1, out)));
done:
  return st;
}

/* v is copied in double: unlike the composed variants, the oracle does not read the caller's array again. */
static rb_status velocity(rb_transport_plan *head, const void *v) {
  rb_status st = RB_OK;
  oracle *p = (oracle *)head;
  rb_grid g = head->desc.grid;
  double dt = 1.0 / head->desc.steps;
  p->zero = v == NULL;
  for (int64_t i = 0; i < 3 * p->n; i++) p->v[i] = v ? get(p, v, i) : 0;
  /* Feet of the state (way 0, s = +1) and of the adjoint (way 1, s = -1), in grid units, in two passes:
   *   pass 0:  X* = x - s dt v / h
   *   pass 1:  X  = x - s dt (v + I[v](X*)) / 2 / h
   * All at once: nothing is made on demand here. With v = 0 all feet are the nodes. */
  for (int way = 0; way < 2; way++) {
    double s = way == 0 ? 1 : -1;
    for (int pass = 0; pass < 2; pass++) {
      for (int c = 0; pass == 1 && c < 3; c++) RB_TRY(at_feet(p, p->v + c * p->n, p->x[way], p->w + c * p->n));
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
  oracle *p = (oracle *)head;
  /* m^0 = m0,  m^{j+1} = I[m^j](X): each field is interpolated from the one before, in double */
  for (int64_t i = 0; i < p->n; i++) p->m[i] = get(p, m0, i);
  for (int j = 0; j < head->desc.steps; j++) RB_TRY(at_feet(p, p->m + j * p->n, p->x[0], p->m + (j + 1) * p->n));
done:
  return st;
}
/* rb_transport_ops.in_double says that the history is float64 whatever the description's type. */
static const void *history(const rb_transport_plan *head, int j) {
  const oracle *p = (const oracle *)head;
  return p->m + j * p->n; /* double */
}

/* One step of d_t l = l div v along the feet x; divergence and its values at the feet in p's arrays, w as scratch. */
static rb_status grow(oracle *p, const double *x, void *l) {
  rb_status st = RB_OK;
  double dt = 1.0 / p->head.desc.steps;
  for (int64_t i = 0; i < p->n; i++) p->w[i] = get(p, l, i);
  RB_TRY(at_feet(p, p->w, x, p->w + p->n));
  for (int64_t i = 0; i < p->n; i++) {
    /* Heun along the characteristic:  r0 = lX dX,  r1 = (lX + dt r0) d,  l = lX + dt/2 (r0 + r1),
     * which is lX (1 + dt/2 (d + dX + dt d dX)) */
    double lx = p->w[p->n + i], r0 = lx * p->gx[p->n + i], r1 = (lx + dt * r0) * p->gx[i];
    put(p, l, i, lx + dt / 2 * (r0 + r1));
  }
done:
  return st;
}

static rb_status adjoint(rb_transport_plan *head, void *lambda, void *b) {
  rb_status st = RB_OK;
  oracle *p = (oracle *)head;
  int steps = head->desc.steps;
  /* gx[0 .. N): d = div v.  gx[N .. 2 N): dX = I[d](X) at the adjoint's feet. Both serve all steps. */
  RB_TRY(rb_divergence(p->derivative, view(p, 3, p->v), view(p, 1, p->gx)));
  RB_TRY(at_feet(p, p->gx, p->x[1], p->gx + p->n));
  for (int64_t i = 0; i < 3 * p->n; i++) put(p, b, i, 0);
  /* from t = 1, where lambda is given, to t = 0; grown before each use but the first */
  for (int j = steps; j >= 0; j--) {
    if (j < steps) RB_TRY(grow(p, p->x[1], lambda));
    RB_TRY(rb_gradient(p->derivative, view(p, 1, p->m + j * p->n), view(p, 3, p->g)));
    /* trapezoidal rule for  b = int l grad m dt;  i % N: the same lambda for the three components of a node */
    double w = (j == 0 || j == steps ? 0.5 : 1.0) / steps;
    for (int64_t i = 0; i < 3 * p->n; i++) put(p, b, i, get(p, b, i) + w * get(p, lambda, i % p->n) * p->g[i]);
  }
done:
  return st;
}

/* mt <- I[mt](X) - dt/2 ( I[grad m^j](X) . I[vt](X) + grad m^{j+1} . vt ),   mt(0) = 0
 * The first sum is after = 0, with factors at the feet; the second is after = 1, with factors at the nodes. */
static rb_status incremental(rb_transport_plan *head, const void *vt, void *mt) {
  rb_status st = RB_OK;
  oracle *p = (oracle *)head;
  double dt = 1.0 / head->desc.steps;
  int64_t n = p->n;
  for (int64_t i = 0; i < 3 * n; i++) p->vt[i] = get(p, vt, i);
  for (int64_t i = 0; i < n; i++) put(p, mt, i, 0);
  for (int j = 0; j < head->desc.steps; j++) {
    for (int64_t i = 0; i < n; i++) p->w[i] = get(p, mt, i);
    RB_TRY(at_feet(p, p->w, p->x[0], p->w + n));
    /* mt <- I[mt](X); the field that is interpolated is a copy in double */
    for (int64_t i = 0; i < n; i++) put(p, mt, i, p->w[n + i]);
    for (int after = 0; after < 2; after++)
      for (int c = 0; c < 3; c++) {
        /* the whole gradient anew for every component, of which one is used */
        RB_TRY(rb_gradient(p->derivative, view(p, 1, p->m + (j + after) * n), view(p, 3, p->g)));
        /* component c of both factors; for after = 0 they are replaced by their values at the feet, which need gx */
        double *a = p->g + c * n, *u = p->vt + c * n;
        if (!after) {
          RB_TRY(at_feet(p, a, p->x[0], p->gx));
          RB_TRY(at_feet(p, u, p->x[0], p->gx + n));
          a = p->gx, u = p->gx + n;
        }
        for (int64_t i = 0; i < n; i++) put(p, mt, i, get(p, mt, i) - dt / 2 * a[i] * u[i]);
      }
  }
done:
  return st;
}

/* f <- I[f](X), `steps` times; the history stays as it is */
static rb_status advect(rb_transport_plan *head, void *f) {
  rb_status st = RB_OK;
  oracle *p = (oracle *)head;
  for (int j = 0; j < head->desc.steps; j++) {
    for (int64_t i = 0; i < p->n; i++) p->w[i] = get(p, f, i);
    RB_TRY(at_feet(p, p->w, p->x[0], p->w + p->n));
    for (int64_t i = 0; i < p->n; i++) put(p, f, i, p->w[p->n + i]);
  }
done:
  return st;
}

/* The determinant of the transported map's gradient: J(0) = 1, grown along the state's feet by the caller's div v.
 */
static rb_status jacobian(rb_transport_plan *head, const void *divergence, void *det) {
  rb_status st = RB_OK;
  oracle *p = (oracle *)head;
  /* gx[0 .. N): the caller's d, gx[N .. 2 N): I[d](X) at the state's feet, as grow expects them */
  for (int64_t i = 0; i < p->n; i++) p->gx[i] = get(p, divergence, i), put(p, det, i, 1);
  RB_TRY(at_feet(p, p->gx, p->x[0], p->gx + p->n));
  for (int j = 0; j < head->desc.steps; j++) RB_TRY(grow(p, p->x[0], det));
done:
  return st;
}

/* u <- (X - x) + I[u](X),  u = 0 before the first step.  w holds u in double until the end, gx holds I[u](X). */
static rb_status map(rb_transport_plan *head, void *u) {
  rb_status st = RB_OK;
  oracle *p = (oracle *)head;
  rb_grid g = head->desc.grid;
  for (int64_t i = 0; i < 3 * p->n; i++) p->w[i] = 0;
  for (int j = 0; j < head->desc.steps; j++) {
    for (int c = 0; c < 3; c++) RB_TRY(at_feet(p, p->w + c * p->n, p->x[0], p->gx + c * p->n));
    for (int64_t i = 0; i < 3 * p->n; i++) {
      /* i = component * N + node */
      int64_t q = i % p->n, node[3] = {q / g.n[2] / g.n[1], q / g.n[2] % g.n[1], q % g.n[2]};
      p->w[i] = p->gx[i] + p->x[0][i] - (double)node[i / p->n];
    }
  }
  for (int64_t i = 0; i < 3 * p->n; i++) put(p, u, i, p->w[i]);
done:
  return st;
}

const rb_transport_ops rb_transport_ref = {
    supports, plan,     velocity, state,   history, adjoint, incremental,
    advect,   jacobian, map,      destroy, 0,       0,       1}; /* of the host's memory, not counted */
