/* SPDX-License-Identifier: BSD-3-Clause */
/* The Hamiltonian flow, the objective with its gradient through the time steps, and what the flow carries along. */
#include "solvers/landmarks/landmarks_impl.h"
#include "solvers/common/field_variant.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

size_t rb_landmarks_value_size(const rb_landmarks *s) { return rb_dtype_size(s->options.dtype); }
/* Rounded up to 256 bytes, so that each array begins at an aligned place. */
size_t rb_landmarks_stride(const rb_landmarks *s) {
  return ((size_t)s->unknowns * rb_landmarks_value_size(s) + 255) / 256 * 256;
}
/* Time point t of a history. A history is [steps][dim][n], planar: all first coordinates of a time point, then the
 * second, then the third. */
static rb_array at(const rb_landmarks *s, rb_array history, int t) {
  return rb_array_part(history, t * s->unknowns, s->unknowns);
}

/* ---- between host doubles and the optimiser's vectors -------------------------------------------------------- */

/* Both kinds of vectors take doubles; on the backend they are rounded to the solver's type. */
rb_status rb_landmarks_set(const rb_landmarks *s, const double *host, Vec to) {
  rb_status st = RB_OK;
  PetscScalar *values;
  if (!s->on_host) return rb_array_put_doubles(rb_vec_data(to), host);
  RB_PETSC(VecGetArrayWrite(to, &values));
  memcpy(values, host, (size_t)s->unknowns * sizeof *values);
  RB_PETSC(VecRestoreArrayWrite(to, &values));
done:
  return st;
}
rb_status rb_landmarks_get(const rb_landmarks *s, Vec from, double *host) {
  rb_status st = RB_OK;
  const PetscScalar *values;
  if (!s->on_host) return rb_array_get_doubles(rb_vec_read(from), host);
  RB_PETSC(VecGetArrayRead(from, &values));
  memcpy(host, values, (size_t)s->unknowns * sizeof *values);
  RB_PETSC(VecRestoreArrayRead(from, &values));
done:
  return st;
}

/* ---- objective and gradient ----------------------------------------------------------------------------- */

/* Flow from q(0), p(0); Hp(q0, p0) stays in hp0. Explicit Euler, q(t+1) = q(t) + dt Hp, p(t+1) = p(t) - dt Hq, with
 * both derivatives at time point t. Every time point is kept, as the way back needs it. Variants that have a kernel
 * for the whole flow take it; the others go step by step, with s->hq and s->beta as room. Hp(q0, p0) serves twice:
 * p0.Hp / 2 is the kinetic energy, and Hp its derivative by p0. */
static rb_status shoot(rb_landmarks *s) {
  rb_status st = RB_OK;
  if (rb_gausssum_shoots(s->sums))
    return rb_gausssum_shoot(s->sums, s->options.sigma, s->dt, s->options.steps, s->q, s->p, s->hp0);
  for (int t = 0; t + 1 < s->options.steps; t++) {
    const rb_array hp = t == 0 ? s->hp0 : s->beta; /* the first one is kept */
    RB_TRY(rb_gausssum_flow(s->sums, s->options.sigma, at(s, s->q, t), at(s, s->p, t), s->hq, hp));
    RB_TRY(rb_field_combine(s->field, s->unknowns, 1, at(s, s->q, t), s->dt, hp, 0, at(s, s->q, t + 1)));
    RB_TRY(rb_field_combine(s->field, s->unknowns, 1, at(s, s->p, t), -s->dt, s->hq, 0, at(s, s->p, t + 1)));
  }
done:
  return st;
}

/* The misfit's derivative by p(0), over 2 lambda, to beta0: from alpha = q(1) - target and beta = 0 at the end,
 * backwards through the steps. With alpha, beta the misfit's derivatives by q and p of a time point, a step back is
 * alpha <- alpha + dt fq, beta <- beta + dt fp, where fq and fp are gausssum's backward products at the earlier
 * point. It is the exact transpose of the Euler step, so the gradient is that of the discrete objective. In the loop
 * s->hq and s->beta hold fq and fp. */
static rb_status propagate_back(rb_landmarks *s) {
  rb_status st = RB_OK;
  if (rb_gausssum_shoots(s->sums)) /* s->beta stays 0 */
    return rb_gausssum_shoot_back(s->sums, s->options.sigma, s->dt, s->options.steps, s->q, s->p, s->miss, s->beta,
                                  s->alpha, s->beta0);
  RB_TRY(rb_field_combine(s->field, s->unknowns, 1, s->miss, 0, rb_array_none(), 0, s->alpha));
  RB_TRY(rb_field_fill(s->field, s->unknowns, 0, s->beta0));
  for (int t = s->options.steps - 2; t >= 0; t--) {
    RB_TRY(rb_gausssum_backward(s->sums, s->options.sigma, at(s, s->q, t), at(s, s->p, t), s->alpha, s->beta0, s->hq,
                                s->beta));
    RB_TRY(rb_field_combine(s->field, s->unknowns, s->dt, s->hq, 0, rb_array_none(), 1, s->alpha));
    RB_TRY(rb_field_combine(s->field, s->unknowns, s->dt, s->beta, 0, rb_array_none(), 1, s->beta0));
  }
done:
  return st;
}

/* Everything between the momentum in p(0) and the answer, without waiting for the device. p0.Hp and |q(1) - target|^2
 * are summed on the backend where the vectors are there; for vectors on the host their three arrays are fetched and
 * the sums made on the host. */
static rb_status enqueue_evaluation(rb_landmarks *s, int with_gradient) {
  rb_status st = RB_OK;
  RB_TRY(shoot(s));
  RB_TRY(rb_field_combine(s->field, s->unknowns, 1, at(s, s->q, s->options.steps - 1), -1, s->target, 0, s->miss));
  if (!s->on_host) {
    RB_TRY(rb_field_dot_kept(s->field, s->unknowns, at(s, s->p, 0), s->hp0, rb_array_part(s->sums_kept, 0, 1)));
    RB_TRY(rb_field_dot_kept(s->field, s->unknowns, s->miss, s->miss, rb_array_part(s->sums_kept, 1, 1)));
  }
  if (with_gradient) RB_TRY(propagate_back(s));
done:
  return st;
}

/* The first evaluation is issued as it is (libraries set up what they need), the second recorded, the others
 * replayed. An evaluation is many small launches with the same arguments each time, as only the contents of p(0)
 * differ: that is what makes it replayable. Evaluations without a gradient are rare and always issued. If recording
 * fails, nothing is kept of it and the error is returned. */
static rb_status evaluate(rb_landmarks *s, int with_gradient) {
  rb_status st = RB_OK;
  void *recording = NULL;
  if (!with_gradient || !s->backend->record_begin || s->evaluated++ == 0) return enqueue_evaluation(s, with_gradient);
  if (!s->recording) {
    RB_TRY(s->backend->record_begin());
    rb_status issued = enqueue_evaluation(s, 1);
    st = s->backend->record_end(&recording);
    if (issued != RB_OK) st = issued;
    RB_TRY(st);
    s->recording = recording;
    recording = NULL;
  }
  RB_TRY(s->backend->replay(s->recording)); /* this evaluation, the recorded one included */
done:
  if (recording) s->backend->drop(recording);
  return st;
}

/* The same on the host, for its optimiser: the answer comes in one transfer, sums and gradient are made of it here.
 * The momentum goes up in float32 through s->narrow, [dim n]; without a gradient beta(0) is not fetched. The gradient
 * is dE/dp0 = Hp(q0, p0) + 2 lambda beta(0), in double from float32 parts. */
static rb_status objective_on_host(rb_landmarks *s, Vec x, double *kinetic, double *misfit, Vec g) {
  rb_status st = RB_OK;
  const size_t stride = rb_landmarks_stride(s), skip = g ? 0 : stride; /* beta0 lies first */
  const PetscScalar *p;
  PetscScalar *to = NULL;
  const float *beta = (const float *)s->fetched, *hp = (const float *)(s->fetched + stride),
              *miss = (const float *)(s->fetched + 2 * stride);
  double energy = 0, square = 0;
  RB_PETSC(VecGetArrayRead(x, &p));
  for (int64_t i = 0; i < s->unknowns; i++) s->narrow[i] = (float)p[i];
  RB_TRY(rb_array_upload(at(s, s->p, 0), s->narrow)); /* p(0), the flow's start */
  RB_TRY(evaluate(s, g != NULL));
  RB_TRY(s->backend->download(s->fetched + skip, s->answer + skip, 3 * stride - skip));
#pragma omp simd reduction(+ : energy, square)
  for (int64_t i = 0; i < s->unknowns; i++)
    energy += p[i] * (double)hp[i], square += (double)miss[i] * (double)miss[i];
  RB_PETSC(VecRestoreArrayRead(x, &p));
  if (g) {
    RB_PETSC(VecGetArrayWrite(g, &to));
    for (int64_t i = 0; i < s->unknowns; i++) to[i] = 2 * s->options.lambda * (double)beta[i] + (double)hp[i];
    RB_PETSC(VecRestoreArrayWrite(g, &to));
  }
  *kinetic = energy, *misfit = square;
done:
  return st;
}

/* At the momentum of x; the gradient goes to g, which may be NULL. E = 1/2 p0.Hp(q0, p0) + lambda |q(1) - target|^2,
 * dE/dp0 = Hp(q0, p0) + 2 lambda beta(0). Waits for the device, as the sums are needed. */
rb_status rb_landmarks_objective(rb_landmarks *s, Vec x, double *value, double *kinetic, Vec g) {
  rb_status st = RB_OK;
  double sums[2];
  if (s->on_host) {
    RB_TRY(objective_on_host(s, x, &sums[0], &sums[1], g));
  } else {
    RB_TRY(rb_field_combine(s->field, s->unknowns, 1, rb_vec_read(x), 0, rb_array_none(), 0, at(s, s->p, 0)));
    RB_TRY(evaluate(s, g != NULL));
    RB_TRY(rb_array_download(s->sums_kept, sums));
    if (g)
      RB_TRY(rb_field_combine(s->field, s->unknowns, 2 * s->options.lambda, s->beta0, 1, s->hp0, 0, rb_vec_data(g)));
  }
  *kinetic = sums[0] / 2;
  *value = *kinetic + s->options.lambda * sums[1];
done:
  return st;
}

/* Mean and greatest distance between q(t) and the target. */
rb_status rb_landmarks_distances(rb_landmarks *s, int t, double *average, double *greatest) {
  rb_status st = RB_OK;
  double *q = malloc((size_t)s->unknowns * sizeof *q), *target = malloc((size_t)s->unknowns * sizeof *target);
  *average = *greatest = 0;
  RB_CHECK(q && target, RB_ENOMEM, "host memory");
  RB_TRY(rb_array_get_doubles(at(s, s->q, t), q));
  RB_TRY(rb_array_get_doubles(s->target, target));
  for (int64_t i = 0; i < s->n; i++) {
    double r2 = 0;
    for (int c = 0; c < s->dim; c++)
      r2 += (q[c * s->n + i] - target[c * s->n + i]) * (q[c * s->n + i] - target[c * s->n + i]);
    *average += sqrt(r2) / (double)s->n; /* in the points' unit */
    *greatest = fmax(*greatest, sqrt(r2));
  }
done:
  free(target), free(q);
  return st;
}

/* ---- results -------------------------------------------------------------------------------------------- */

rb_status rb_landmarks_momentum(rb_landmarks *s, double *p0) { return rb_landmarks_get(s, s->best, p0); }

/* q, p [dim][n] on the host in double, from the history of the last flow. */
rb_status rb_landmarks_at(rb_landmarks *s, int t, double *q, double *p) {
  rb_status st = RB_OK;
  RB_CHECK(t >= 0 && t < s->options.steps, RB_EINVAL, "time point %d of %d", t, s->options.steps);
  if (q) RB_TRY(rb_array_get_doubles(at(s, s->q, t), q));
  if (p) RB_TRY(rb_array_get_doubles(at(s, s->p, t), p));
done:
  return st;
}

/* H = 1/2 p.Hp at each time point. The exact flow conserves it, so what it drifts by is the error of the Euler
 * steps. s->hq and s->alpha are the room. */
rb_status rb_landmarks_energies(rb_landmarks *s, double *h) {
  rb_status st = RB_OK;
  for (int t = 0; t < s->options.steps; t++) {
    RB_TRY(rb_gausssum_flow(s->sums, s->options.sigma, at(s, s->q, t), at(s, s->p, t), s->hq, s->alpha));
    RB_TRY(rb_field_dot(s->field, s->unknowns, at(s, s->p, t), s->alpha, &h[t]));
    h[t] /= 2; /* H = 1/2 p.Hp */
  }
done:
  return st;
}

/* x' = sum_j G(x, q_j) p_j (equation 4 of shooting2018) by the flow's own Euler steps, so that the template's points
 * go exactly where the flow takes them, but for rounding. A field plan and two arrays of the points' size live for
 * this call. */
rb_status rb_landmarks_apply(rb_landmarks *s, int64_t nx, double *x) {
  rb_status st = RB_OK;
  rb_field_plan *field = NULL;
  rb_field_desc f = {.count = nx * s->dim, .dtype = s->options.dtype};
  rb_array points = rb_array_none(), moved = rb_array_none();
  RB_CHECK(nx >= 1, RB_EINVAL, "no points to carry along");
  RB_TRY(rb_field_create(rb_field_variant(s->backend->kind), &f, &field));
  RB_TRY(rb_array_create(s->backend, s->options.dtype, nx * s->dim, &points));
  RB_TRY(rb_array_create(s->backend, s->options.dtype, nx * s->dim, &moved));
  RB_TRY(rb_array_put_doubles(points, x));
  for (int t = 0; t + 1 < s->options.steps; t++) {
    RB_TRY(rb_gausssum_sum(s->sums, s->options.sigma, nx, points, at(s, s->q, t), at(s, s->p, t), moved));
    RB_TRY(rb_field_combine(field, nx * s->dim, s->dt, moved, 0, rb_array_none(), 1, points));
  }
  RB_TRY(rb_array_get_doubles(points, x));
done:
  rb_array_destroy(&moved);
  rb_array_destroy(&points);
  rb_field_destroy(field);
  return st;
}
