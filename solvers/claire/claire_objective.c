/* SPDX-License-Identifier: BSD-3-Clause */
/* Objective, reduced gradient and Gauss-Newton Hessian products (brunn2020, equations 1 to 4). */
#include "solvers/claire/claire_impl.h"

/* Velocities of the optimiser's vector x into `to`. */
/* Coefficients are synthesised, velocities copied: the transport keeps a pointer to `to`, while TAO may change x. */
static rb_status to_velocity(rb_claire *c, rb_array x, rb_array to) {
  return c->config.coordinates == RB_COEFFICIENTS
             ? rb_spectral_synthesise(c->spectral, x, to)
             : rb_field_combine(c->field, 3 * c->n, 1, x, 0, rb_array_none(), 0, to);
}

/* out = hd (A x + K b), b = c->b. Serves gradient and Hessian: x is the velocity or a direction, b the body force of
 * the adjoint. On coefficients one kernel filters the transform of b by K and adds A x, so that 3 transforms do where
 * velocities need 12. */
static rb_status regularised(rb_claire *c, rb_array x, rb_array out) {
  rb_status st = RB_OK;
  if (c->config.coordinates == RB_COEFFICIENTS)
    return rb_spectral_analyse(c->spectral, &c->level.k, c->b, &c->level.a, x, out);
  RB_TRY(rb_spectral_apply(c->spectral, &c->level.a, x, c->work));
  RB_TRY(rb_spectral_apply(c->spectral, &c->level.k, c->b, out));
  RB_TRY(rb_field_combine(c->field, c->unknowns, 1, c->work, 0, rb_array_none(), 1, out));
done:
  return st;
}

/* R(v) = 1/2 <x, form x>: of H1-div the H1 seminorm and the penalty on div v and its gradient, hd included. The inner
 * product of orthonormal coefficients is that of the fields. c->work is used. */
static rb_status regularisation(rb_claire *c, rb_array x, double *value) {
  rb_status st = RB_OK;
  *value = 0;
  if (c->is_zero) return RB_OK;
  if (c->config.coordinates == RB_COEFFICIENTS)
    RB_TRY(rb_spectral_scale(c->spectral, &c->level.form, x, c->work));
  else
    RB_TRY(rb_spectral_apply(c->spectral, &c->level.form, x, c->work));
  RB_TRY(rb_field_dot(c->field, c->unknowns, x, c->work, value));
  *value /= 2;
done:
  return st;
}

/* Counts and times of one call, for Table 1: those of the last call at v != 0. */
static void note(rb_claire *c, rb_profile *to, rb_profile before) {
  rb_profile now = rb_profile_now();
  if (c->is_zero) return;
  for (int k = 0; k < RB_CLASSES; k++) {
    to->units[k] = now.units[k] - before.units[k];
    to->bytes[k] = now.bytes[k] - before.bytes[k];
  }
}

/* J(v) = 1/2 hd |m(1) - m_R|^2 + R(v), and g = hd (A v + K b) with b the time integral of lambda grad m (brunn2020,
 * equations 1 and 2). The order: velocity and its characteristics, the state forwards with its history, the residual,
 * J; then the adjoint backwards from the residual, which the adjoint uses up. v = 0 is told by the exact norm of x,
 * as the transport then interpolates nothing and R is 0. */
rb_status rb_claire_objective(rb_claire *c, rb_array x, double *objective, rb_array g) {
  rb_status st = RB_OK;
  double square, penalty;
  rb_profile before = rb_profile_now();
  RB_TRY(rb_field_dot(c->field, c->unknowns, x, x, &square));
  c->is_zero = square == 0;
  if (!c->is_zero) RB_TRY(to_velocity(c, x, c->v));
  const rb_profile before_state = rb_profile_now();
  RB_TRY(rb_transport_velocity(c->transport, c->is_zero ? rb_array_none() : c->v));
  RB_TRY(rb_transport_state(c->transport, c->template_image));
  if (c->result) note(c, &c->result->profile_state, before_state);
  /* lambda(1) = m_R - m(1) */
  RB_TRY(rb_field_combine(c->field, c->n, 1, c->reference_image, -1,
                          rb_transport_history(c->transport, c->options.steps), 0, c->lambda));
  RB_TRY(rb_field_dot(c->field, c->n, c->lambda, c->lambda, &c->mismatch));
  c->mismatch *= c->hd / 2; /* 1/2 hd |m(1) - m_R|^2 */
  RB_TRY(regularisation(c, x, &penalty));
  *objective = c->mismatch + penalty;
  if (c->result) {
    c->result->objectives++;
    note(c, &c->result->profile_objective, before);
  }
  if (!g.data) goto done;
  before = rb_profile_now();
  RB_TRY(rb_transport_adjoint(c->transport, c->lambda, c->b));
  RB_TRY(regularised(c, x, g));
  if (c->result) {
    c->result->gradients++;
    note(c, &c->result->profile_gradient, before);
  }
done:
  return st;
}

/* H w = hd (A w + K b~): the incremental state forwards from 0 along the direction w gives mt(1); its negative is the
 * end value of the incremental adjoint (Gauss-Newton: terms with lambda are left out), and the same transport back
 * gives the body force b~ with the gradients of the kept history. */
rb_status rb_claire_hessian(rb_claire *c, rb_array x, rb_array y) {
  rb_status st = RB_OK;
  rb_array direction = x;
  rb_profile before = rb_profile_now();
  if (c->config.coordinates ==
      RB_COEFFICIENTS) { /* the body force takes the place of the direction once that is used */
    RB_TRY(rb_spectral_synthesise(c->spectral, x, c->b));
    direction = c->b;
  }
  const rb_profile before_incremental = rb_profile_now();
  RB_TRY(rb_transport_incremental(c->transport, direction, c->lambda)); /* mt(1) */
  if (c->result) note(c, &c->result->profile_incremental, before_incremental);
  RB_TRY(rb_field_combine(c->field, c->n, 0, rb_array_none(), 0, rb_array_none(), -1, c->lambda));
  RB_TRY(rb_transport_adjoint(c->transport, c->lambda, c->b));
  RB_TRY(regularised(c, x, y));
  if (c->result) {
    c->result->matvecs++;
    note(c, &c->result->profile_matvec, before);
  }
done:
  return st;
}
