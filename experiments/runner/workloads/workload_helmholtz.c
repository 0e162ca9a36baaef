/* SPDX-License-Identifier: BSD-3-Clause */
/* helmholtz: one solve of a direct variant, or `sweeps` of an iterative one, on white noise; alpha 1, beta 0, gamma
 * as the axis says, unit spacing.
 *
 * Verified: direct variants by the operator, applied to their result in float64 at every node; sweeps from v = 0 by
 * plain loops, to the bit, before the timed runs (each of which goes on from the last one's v) and once more after
 * them. */
#include "cpu_ref/helmholtz/helmholtz_oracle.h"
#include "experiments/runner/inputs/host_apply.h"
#include "experiments/runner/workloads/workload.h"
#include "kernels/base/rng.h"
#include "kernels/helmholtz/helmholtz.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  const rb_backend *backend;
  const rb_variant *variant;
  rb_helmholtz_desc desc;
  rb_helmholtz_plan *plan;
  int sweeps;
  double omega;
  float *f, *got; /* host [3][n] */
  rb_array in, v; /* [3][n] */
} state;

static size_t bytes_of(const rb_case *c) { return 3 * (size_t)rb_grid_points(c->grid) * sizeof(float); }

/* Force and velocity; of a direct variant spectra of the same size and, on a GPU, cuFFT's work area; of an iterative
 * one, a component's second array. */
static void predict(const rb_case *c, int rotations, size_t *backend, size_t *host) {
  const size_t field = bytes_of(c), spectra = field + field / 8;
  (void)rotations;
  *backend = 2 * field;
  if (c->variant->ops && rb_helmholtz_is_direct(c->variant))
    *backend += c->variant->backend == RB_CUDA ? 3 * spectra : 2 * spectra; /* sine transforms are in float64 */
  else
    *backend += field / 3;
  *host = 3 * field + 2 * field; /* the force, the result, another one; the residual in float64 */
}
static size_t footprint(const rb_case *c) { return 3 * bytes_of(c); }

static void teardown(void *p) {
  state *s = p;
  if (!s) return;
  rb_helmholtz_destroy(s->plan);
  rb_array_destroy(&s->in), rb_array_destroy(&s->v);
  free(s->got), free(s->f);
  free(s);
}

static rb_status setup(const rb_case *c, const rb_backend *b, int rotations, void **out) {
  rb_status st = RB_OK;
  double sweeps, gamma;
  state *s = calloc(1, sizeof *s);
  (void)rotations;
  RB_CHECK(s, RB_ENOMEM, "host memory");
  RB_TRY(rb_case_number(c, "sweeps", 4, &sweeps));
  RB_TRY(rb_case_number(c, "gamma", 0.02, &gamma));
  s->backend = b, s->variant = c->variant, s->sweeps = (int)sweeps;
  s->desc = (rb_helmholtz_desc){
      .grid = c->grid, .spacing = {1, 1, 1}, .alpha = 1, .gamma = gamma, .border = 1, .dtype = RB_F32};
  s->omega = rb_helmholtz_omega(
      &s->desc, strcmp(rb_case_axis(c, "omega", "laplace"), "shifted") == 0 ? RB_OMEGA_SHIFTED : RB_OMEGA_LAPLACE);
  RB_TRY(rb_helmholtz_create(c->variant, &s->desc, &s->plan));
  s->f = malloc(bytes_of(c)), s->got = malloc(bytes_of(c));
  RB_CHECK(s->f && s->got, RB_ENOMEM, "host memory: %zu bytes", 2 * bytes_of(c));
  for (int64_t i = 0; i < 3 * rb_grid_points(c->grid); i++) s->f[i] = (float)rb_rng_symmetric(103, (uint64_t)i);
  RB_TRY(rb_to_backend(b, s->f, RB_F32, 3 * rb_grid_points(c->grid), &s->in));
  RB_TRY(rb_poisoned(b, RB_F32, 3 * rb_grid_points(c->grid), &s->v));
  *out = s;
  s = NULL;
done:
  teardown(s);
  return st;
}

static rb_status run(void *p, int turn) {
  state *s = p;
  (void)turn;
  return rb_helmholtz_is_direct(s->variant) ? rb_helmholtz_solve(s->plan, s->in, s->v)
                                            : rb_helmholtz_sweep(s->plan, s->sweeps, s->omega, s->in, s->v);
}

/* Sweeps read v: it begins at 0. */
static rb_status poison(void *p, int turn) {
  state *s = p;
  (void)turn;
  return rb_array_fill(s->v, rb_helmholtz_is_direct(s->variant) ? 0xFF : 0);
}

static rb_status rescale(void *p, int turn, double by) {
  state *s = p;
  (void)turn;
  return rb_scale_input(s->f, 3 * rb_grid_points(s->desc.grid), by, &s->in);
}

/* A run from v = 0, to s->got. */
static rb_status run_afresh(state *s) {
  rb_status st = RB_OK;
  RB_TRY(poison(s, 0));
  RB_TRY(run(s, 0));
  RB_TRY(rb_array_download(s->v, s->got));
done:
  return st;
}

static rb_status verify_sweeps(state *s, rb_outcome *o) {
  rb_status st = RB_OK;
  const int64_t count = 3 * rb_grid_points(s->desc.grid);
  double apart = 0;
  float *want = calloc((size_t)count, sizeof *want);
  RB_CHECK(want, RB_ENOMEM, "host memory");
  rb_helmholtz_plain_sweeps(&s->desc, s->sweeps, s->omega, s->f, want);
  for (int64_t i = 0; i < count; i++) {
    const double d = fabs((double)(s->got[i] - want[i]));
    if (!(d <= apart)) apart = d; /* a NaN stays */
  }
  rb_outcome_verify(o, "greatest difference to plain sweeps", apart, 0, "serial loops, the same roundings");
done:
  free(want);
  return st;
}

/* Largest accepted relative residual of a direct solve: a transform there and back rounds each frequency of v by its
 * own size times some log2 N roundings, which L makes (gamma + 12 alpha) larger at most. */
static double residual_limit(const state *s) {
  const rb_helmholtz_desc *d = &s->desc;
  const int64_t count = 3 * rb_grid_points(d->grid);
  double v = 0, f = 0;
  for (int64_t i = 0; i < count; i++) v += pow((double)s->got[i], 2), f += pow((double)s->f[i], 2);
  return 4 * (double)FLT_EPSILON * (4 + log2((double)count / 3)) * (d->gamma + 12 * d->alpha) * sqrt(v / f);
}

static rb_status verify(void *p, int turn, rb_outcome *o) {
  rb_status st = RB_OK;
  state *s = p;
  const rb_helmholtz_desc *d = &s->desc;
  const int direct = rb_helmholtz_is_direct(s->variant),
            periodic = ((const rb_helmholtz_ops *)s->variant->ops)->boundary == RB_HELMHOLTZ_PERIODIC;
  (void)turn;
  if (direct)
    RB_TRY(rb_array_download(s->v, s->got));
  else
    RB_TRY(run_afresh(s));
  const double residual = rb_helmholtz_residual(d, s->f, s->got, periodic);
  if (direct)
    rb_outcome_verify(o, "relative residual", residual, residual_limit(s), "operator, float64");
  else
    RB_TRY(verify_sweeps(s, o));
  rb_outcome_metric(o, "residual", residual, "1", "|f - L v| / |f|, float64; of sweeps from v = 0");
  if (!direct) rb_outcome_metric(o, "factor", pow(residual, 1.0 / s->sweeps), "1", "of that, per sweep");
  rb_outcome_metric(o, "omega", s->omega, "1", "relaxation");
  rb_outcome_metric(o, "voxels", 1e-6 * (double)rb_grid_points(d->grid), "M", "nodes of the grid");
  o->bytes = rb_helmholtz_bytes(s->variant, d, s->sweeps);
done:
  return st;
}

static const rb_workload_axis axes[] = {{"size", RB_VALUES_SIZE},
                                        {"sweeps", RB_VALUES_COUNT},
                                        {"gamma", RB_VALUES_NUMBER},
                                        {"omega", "laplace shifted"},
                                        {NULL, NULL}};
const rb_workload rb_workload_helmholtz = {
    "helmholtz", &rb_helmholtz_family, predict, footprint, setup, run, poison, verify, teardown, axes, rescale};
