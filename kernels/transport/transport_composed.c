/* SPDX-License-Identifier: BSD-3-Clause */
/* cpu/composed and cuda/composed of transport: brunn2020's separate kernels, called through their families' front
 * doors. The divergence and its values at the characteristics' feet are worked out anew in every adjoint, as in the
 * paper's counts. */
#include "kernels/transport/transport_composed.h"

#include <stdlib.h>

typedef rb_composed composed;

/* Field i of an array of fields.
 * Arrays of fields are planar: field i of N values begins at value i N. Components of a vector field and time points
 * of the history are addressed alike. A part borrows: the whole array stays the owner. */
static rb_array part(const composed *p, rb_array fields, int64_t i) { return rb_array_part(fields, i * p->n, p->n); }
rb_array rb_composed_view(const composed *p, int components, const void *data) {
  return rb_array_view(p->head.backend, p->dtype, components * p->n, data);
}

rb_status rb_composed_supports(const rb_transport_desc *d) {
  (void)d;
  return RB_OK; /* its kernels say what they support when they are planned */
}

/* The default of p->feet: the characteristics' feet by Heun's method. A fused variant may put its own function
 * there after rb_composed_open. */
static rb_status feet(composed *p, int sign, rb_array to);

/* Also closes a plan that was opened in part: destroying a kernel's plan takes NULL, destroying an array takes no
 * array. p->v is the caller's and is not in the list. */
void rb_composed_close(rb_composed *p) {
  rb_array *arrays[] = {&p->state_feet, &p->adjoint_feet, &p->m,        &p->gradient,
                        &p->vector,     &p->scalar[0],    &p->scalar[1]};
  rb_interp_destroy(p->interp);
  rb_derivative_destroy(p->derivative);
  rb_field_destroy(p->field);
  for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) rb_array_destroy(arrays[i]);
}

/* Makes the kernels' plans and all arrays. The front door fills in head.desc only afterwards: here `d` is read
 * alone. The interpolation takes one component: three components of a vector field are three loads and evaluations.
 */
rb_status rb_composed_open(rb_composed *p, const rb_backend *backend, const rb_transport_desc *d) {
  rb_status st = RB_OK;
  rb_interp_desc i = {.grid = d->grid,
                      .basis = d->basis,
                      .prefilter = d->prefilter,
                      .boundary = RB_PERIODIC,
                      .dtype = d->dtype,
                      .components = 1};
  rb_derivative_desc e = {.grid = d->grid, .scheme = d->scheme, .dtype = d->dtype};
  p->head.backend = backend;
  p->n = rb_grid_points(d->grid);
  p->dtype = d->dtype;
  p->dt = 1.0 / d->steps;
  p->feet = feet;
  /* the longest array that field's calls get here is a vector field */
  rb_field_desc f = {.count = 3 * p->n, .dtype = d->dtype};
  RB_TRY(rb_interp_create(d->interp, &i, &p->interp));
  RB_TRY(rb_derivative_create(d->derivative, &e, &p->derivative));
  RB_TRY(rb_field_create(d->field, &f, &p->field));
  /* history: m^j begins at value j * N, j = 0 .. steps */
  RB_TRY(rb_array_create(backend, d->dtype, (d->steps + 1) * p->n, &p->m));
  /* four fields of three components and two of one: 14 N values besides the history */
  rb_array *vectors[] = {&p->state_feet, &p->adjoint_feet, &p->gradient, &p->vector};
  for (int k = 0; k < 4; k++) RB_TRY(rb_array_create(backend, d->dtype, 3 * p->n, vectors[k]));
  for (int k = 0; k < 2; k++) RB_TRY(rb_array_create(backend, d->dtype, p->n, &p->scalar[k]));
done:
  return st; /* the caller closes what was opened */
}

void rb_composed_destroy(rb_transport_plan *head) {
  rb_composed_close((composed *)head);
  free(head);
}

rb_status rb_composed_plan(const rb_backend *backend, const rb_transport_desc *d, rb_transport_plan **out) {
  rb_status st = RB_OK;
  /* zeroed: closing a plan that was opened in part meets NULL in what is missing */
  composed *p = calloc(1, sizeof *p);
  RB_CHECK(p, RB_ENOMEM, "host memory");
  RB_TRY(rb_composed_open(p, backend, d));
  *out = &p->head;
  return RB_OK;
done:
  if (p) rb_composed_destroy(&p->head);
  return st;
}

/* out = I[f](X) at N feet X. Load and evaluation are one interpolation: the B-spline's prefilter runs in load. Not in
 * place: f must stay as it is until the evaluation has ended. */
rb_status rb_composed_interpolate(composed *p, rb_array f, rb_array feet, rb_array out) {
  rb_status st = RB_OK;
  RB_TRY(rb_interp_load(p->interp, f));
  RB_TRY(rb_interp_eval(p->interp, p->n, feet, out));
done:
  return st;
}
rb_status rb_composed_interpolate_vector(composed *p, rb_array f, rb_array feet, rb_array out) {
  rb_status st = RB_OK;
  for (int c = 0; c < 3; c++) RB_TRY(rb_composed_interpolate(p, part(p, f, c), feet, part(p, out, c)));
done:
  return st;
}

/* Heun: X* = x - s dt v, X = x - s dt/2 (v + v(X*)). Uses the vector scratch. */
static rb_status feet(composed *p, int sign, rb_array to) {
  rb_status st = RB_OK;
  rb_grid g = p->head.desc.grid;
  /* -s dt v is in radians; divided by the spacing h_a it is in grid cells, the unit of the feet */
  double full[3], half[3];
  for (int a = 0; a < 3; a++) {
    full[a] = -sign * p->dt / rb_grid_spacing(g, a);
    half[a] = full[a] / 2;
  }
  /* `to` holds X* until v(X*) is known, and X from the second displacement on, which does not read it */
  RB_TRY(rb_field_displace(p->field, g, full, p->v, NULL, rb_array_none(), to));
  RB_TRY(rb_composed_interpolate_vector(p, p->v, to, p->vector));
  RB_TRY(rb_field_displace(p->field, g, half, p->v, half, p->vector, to));
done:
  return st;
}
/* Feet depend on v alone: they are worked out once a velocity, when first needed, and serve all steps of all
 * equations. State (s = +1) and adjoint (s = -1) have arrays of their own. */
rb_status rb_composed_need_state_feet(composed *p) {
  rb_status st = RB_OK;
  if (!p->has_state_feet) RB_TRY(p->feet(p, +1, p->state_feet));
  p->has_state_feet = 1;
done:
  return st;
}
rb_status rb_composed_need_adjoint_feet(composed *p) {
  rb_status st = RB_OK;
  if (!p->has_adjoint_feet) RB_TRY(p->feet(p, -1, p->adjoint_feet));
  p->has_adjoint_feet = 1;
done:
  return st;
}

rb_status rb_composed_velocity(rb_transport_plan *head, const void *v) {
  composed *p = (composed *)head;
  /* borrowed, not copied: later calls read v again (divergence of the adjoint, feet that are made on demand) */
  p->v = rb_composed_view(p, 3, v);
  p->has_state_feet = p->has_adjoint_feet = 0;
  return RB_OK;
}

rb_status rb_composed_state(rb_transport_plan *head, const void *m0_data) {
  rb_status st = RB_OK;
  composed *p = (composed *)head;
  const rb_array m0 = rb_composed_view(p, 1, m0_data);
  if (p->v.data) RB_TRY(rb_composed_need_state_feet(p));
  /* m^0 = m0; the coefficient 0 of the destination says that it is not read */
  RB_TRY(rb_field_combine(p->field, p->n, 1, m0, 0, rb_array_none(), 0, p->m));
  for (int j = 0; j < head->desc.steps; j++) {
    if (p->v.data)
      RB_TRY(rb_composed_interpolate(p, part(p, p->m, j), p->state_feet, part(p, p->m, j + 1)));
    else
      /* v = 0: copies, so that m is exactly constant in time */
      RB_TRY(rb_field_combine(p->field, p->n, 1, m0, 0, rb_array_none(), 0, part(p, p->m, j + 1)));
  }
done:
  return st;
}

const void *rb_composed_history(const rb_transport_plan *head, int j) {
  /* m^j, the plan's memory: valid until the next state */
  const composed *p = (const composed *)head;
  return part(p, p->m, j).data;
}

/* factor - 1 = dt/2 (d + dX + dt d dX) into scalar[1], from d = div v in scalar[0]. */
static rb_status growth(composed *p, rb_array d, rb_array at_feet) {
  rb_status st = RB_OK;
  RB_TRY(rb_composed_interpolate(p, d, at_feet, p->scalar[1]));
  /* with dX in scalar[1]:  scalar[1] = dt^2/2 d dX + dt/2 dX,  then  + dt/2 d;
   * node by node, so that the destination may be an operand */
  RB_TRY(rb_field_multiply(p->field, p->n, p->dt * p->dt / 2, d, p->scalar[1], p->dt / 2, p->scalar[1]));
  RB_TRY(rb_field_combine(p->field, p->n, p->dt / 2, d, 0, rb_array_none(), 1, p->scalar[1]));
done:
  return st;
}

/* l <- I[l](X) (1 + growth); uses scalar[0]. */
static rb_status grow_step(composed *p, rb_array l, rb_array at_feet) {
  rb_status st = RB_OK;
  /* with lX = I[l](X) in scalar[0]:  l = lX growth,  then  l = l + lX.
   * The sum 1 + growth is never formed in the arrays' precision. */
  RB_TRY(rb_composed_interpolate(p, l, at_feet, p->scalar[0]));
  RB_TRY(rb_field_multiply(p->field, p->n, 1, p->scalar[0], p->scalar[1], 0, l));
  RB_TRY(rb_field_combine(p->field, p->n, 1, p->scalar[0], 0, rb_array_none(), 1, l));
done:
  return st;
}

/* b <- keep b + weight lambda grad m^j. */
static rb_status add_force(composed *p, int j, double weight, rb_array lambda, rb_array b, double keep) {
  rb_status st = RB_OK;
  /* keep = 0 for the first term: b is written without being read, whatever it held */
  RB_TRY(rb_gradient(p->derivative, part(p, p->m, j), p->gradient));
  for (int c = 0; c < 3; c++)
    RB_TRY(rb_field_multiply(p->field, p->n, weight, lambda, part(p, p->gradient, c), keep, part(p, b, c)));
done:
  return st;
}

rb_status rb_composed_adjoint(rb_transport_plan *head, void *lambda_data, void *b_data) {
  rb_status st = RB_OK;
  composed *p = (composed *)head;
  const rb_array lambda = rb_composed_view(p, 1, lambda_data);
  const rb_array b = rb_composed_view(p, 3, b_data);
  int steps = head->desc.steps;
  /* v = 0: lambda and m are constant in time, and the integral over [0, 1] is lambda grad m^0 */
  if (!p->v.data) return add_force(p, 0, 1, lambda, b, 0);
  RB_TRY(rb_composed_need_adjoint_feet(p));
  /* div v is needed for the growth alone: grow_step may take scalar[0] afterwards, the growth stays in scalar[1]
   * for all steps */
  RB_TRY(rb_divergence(p->derivative, p->v, p->scalar[0]));
  RB_TRY(growth(p, p->scalar[0], p->adjoint_feet));
  /* trapezoidal rule, from t = 1 back to t = 0: weight dt at the inner time points, dt/2 at both ends */
  RB_TRY(add_force(p, steps, p->dt / 2, lambda, b, 0));
  for (int j = steps - 1; j >= 0; j--) {
    RB_TRY(grow_step(p, lambda, p->adjoint_feet));
    /* keep = 1: on top of what is there */
    RB_TRY(add_force(p, j, j == 0 ? p->dt / 2 : p->dt, lambda, b, 1));
  }
done:
  return st;
}

/* mt <- mt - weight sum_c x_c y_c.
 * keep = 0: mt is not read. It applies to the first component's term only, the others add to that. */
static rb_status subtract_product(composed *p, double weight, rb_array x, rb_array y, rb_array mt, double keep) {
  rb_status st = RB_OK;
  for (int c = 0; c < 3; c++)
    RB_TRY(rb_field_multiply(p->field, p->n, -weight, part(p, x, c), part(p, y, c), c == 0 ? keep : 1, mt));
done:
  return st;
}

/* mt <- I[mt](X) - dt/2 ( I[grad m^j](X) . I[vt](X) + grad m^{j+1} . vt ),  j = 0 .. steps - 1.
 * p->gradient enters a step with grad m^j and leaves it with grad m^{j+1}: one gradient a step, and one before. vt
 * does not change in time: I[vt](X) stays in p->vector. */
rb_status rb_composed_incremental(rb_transport_plan *head, const void *vt_data, void *mt_data) {
  rb_status st = RB_OK;
  composed *p = (composed *)head;
  const rb_array vt = rb_composed_view(p, 3, vt_data);
  const rb_array mt = rb_composed_view(p, 1, mt_data);
  double half = p->dt / 2;
  RB_TRY(rb_gradient(p->derivative, p->m, p->gradient));
  /* v = 0: the integrand is constant, mt(1) = -grad m^0 . vt */
  if (!p->v.data) return subtract_product(p, 1, p->gradient, vt, mt, 0);
  RB_TRY(rb_composed_need_state_feet(p));
  RB_TRY(rb_composed_interpolate_vector(p, vt, p->state_feet, p->vector));
  for (int j = 0; j < head->desc.steps; j++) {
    if (j > 0) { /* mt(0) = 0 needs no interpolation */
      RB_TRY(rb_composed_interpolate(p, mt, p->state_feet, p->scalar[1]));
      RB_TRY(rb_field_combine(p->field, p->n, 1, p->scalar[1], 0, rb_array_none(), 0, mt));
    }
    for (int c = 0; c < 3; c++) {
      /* the very first term is written into mt without reading it, which stands for mt(0) = 0 */
      RB_TRY(rb_composed_interpolate(p, part(p, p->gradient, c), p->state_feet, p->scalar[0]));
      RB_TRY(rb_field_multiply(p->field, p->n, -half, p->scalar[0], part(p, p->vector, c), j == 0 && c == 0 ? 0 : 1,
                               mt));
    }
    RB_TRY(rb_gradient(p->derivative, part(p, p->m, j + 1), p->gradient));
    RB_TRY(subtract_product(p, half, p->gradient, vt, mt, 1));
  }
done:
  return st;
}

/* f <- I[f](X), `steps` times. An interpolation is not in place: each step goes through scalar[0] and is copied
 * back. */
rb_status rb_composed_advect(rb_transport_plan *head, void *f_data) {
  rb_status st = RB_OK;
  composed *p = (composed *)head;
  const rb_array f = rb_composed_view(p, 1, f_data);
  if (!p->v.data) return RB_OK;
  RB_TRY(rb_composed_need_state_feet(p));
  for (int j = 0; j < head->desc.steps; j++) {
    RB_TRY(rb_composed_interpolate(p, f, p->state_feet, p->scalar[0]));
    RB_TRY(rb_field_combine(p->field, p->n, 1, p->scalar[0], 0, rb_array_none(), 0, f));
  }
done:
  return st;
}

/* d_t J + v.grad J = J div v, J(0) = 1: the adjoint's step along the state's feet. v = 0 leaves J = 1. */
rb_status rb_composed_jacobian(rb_transport_plan *head, const void *divergence_data, void *det_data) {
  rb_status st = RB_OK;
  composed *p = (composed *)head;
  /* arguments become views of the plan's type: the front door has checked their place and length */
  const rb_array divergence = rb_composed_view(p, 1, divergence_data);
  const rb_array det = rb_composed_view(p, 1, det_data);
  RB_TRY(rb_field_fill(p->field, p->n, 1, det));
  if (!p->v.data) return RB_OK;
  RB_TRY(rb_composed_need_state_feet(p));
  RB_TRY(growth(p, divergence, p->state_feet));
  for (int j = 0; j < head->desc.steps; j++) RB_TRY(grow_step(p, det, p->state_feet));
done:
  return st;
}

/* The foot of step j + 1 starts where step j's foot ended: u <- (X - x) + I[u](X). */
rb_status rb_composed_map(rb_transport_plan *head, void *u_data) {
  /* X - x without a subtraction kernel of its own: displacements by nothing give the nodes x, in p->gradient */
  static const double nothing[3];
  rb_status st = RB_OK;
  composed *p = (composed *)head;
  const rb_array u = rb_composed_view(p, 3, u_data);
  RB_TRY(rb_field_fill(p->field, 3 * p->n, 0, u));
  if (!p->v.data) return RB_OK;
  RB_TRY(rb_composed_need_state_feet(p));
  RB_TRY(rb_field_displace(p->field, head->desc.grid, nothing, rb_array_none(), nothing, rb_array_none(),
                           p->gradient)); /* the nodes */
  for (int j = 0; j < head->desc.steps; j++) {
    RB_TRY(rb_composed_interpolate_vector(p, u, p->state_feet, p->vector));
    /* u = I[u](X) + X,  then  u = u - x, in grid cells */
    RB_TRY(rb_field_combine(p->field, 3 * p->n, 1, p->vector, 1, p->state_feet, 0, u));
    RB_TRY(rb_field_combine(p->field, 3 * p->n, -1, p->gradient, 0, rb_array_none(), 1, u));
  }
done:
  return st;
}
