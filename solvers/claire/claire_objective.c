/* SPDX-License-Identifier: BSD-3-Clause */
/* Objective, reduced gradient and Gauss-Newton Hessian products (brunn2020, equations 1 to 4). */
#include "solvers/claire/claire_impl.h"

/* Velocities of the optimiser's vector x into `to`. */
static rb_status to_velocity(rb_claire *c, rb_array x, rb_array to) {
  return c->config.coordinates == RB_COEFFICIENTS
             ? rb_spectral_synthesise(c->spectral, x, to)
             : rb_field_combine(c->field, 3 * c->n, 1, x, 0, rb_array_none(), 0, to);
}

/* out = hd (A x + K b), b = c->b. */
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

rb_status rb_claire_objective(rb_claire *c, rb_array x, double *objective, rb_array g) {
  rb_status st = RB_OK;
  double square, penalty;
  rb_profile before = rb_profile_now();
  RB_TRY(rb_field_dot(c->field, c->unknowns, x, x, &square));
  c->is_zero = square == 0;
  if (!c->is_zero) RB_TRY(to_velocity(c, x, c->v));
  RB_TRY(rb_transport_velocity(c->transport, c->is_zero ? rb_array_none() : c->v));
  RB_TRY(rb_transport_state(c->transport, c->template_image));
  RB_TRY(rb_field_combine(c->field, c->n, 1, c->reference_image, -1,
                          rb_transport_history(c->transport, c->options.steps), 0, c->lambda));
  RB_TRY(rb_field_dot(c->field, c->n, c->lambda, c->lambda, &c->mismatch));
  c->mismatch *= c->hd / 2;
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

rb_status rb_claire_hessian(rb_claire *c, rb_array x, rb_array y) {
  rb_status st = RB_OK;
  rb_array direction = x;
  rb_profile before = rb_profile_now();
  if (c->config.coordinates ==
      RB_COEFFICIENTS) { /* the body force takes the place of the direction once that is used */
    RB_TRY(rb_spectral_synthesise(c->spectral, x, c->b));
    direction = c->b;
  }
  RB_TRY(rb_transport_incremental(c->transport, direction, c->lambda));
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
