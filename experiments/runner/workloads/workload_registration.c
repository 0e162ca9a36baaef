/* SPDX-License-Identifier: BSD-3-Clause */
/* registration: a whole solve, from v = 0 on images that are already on the backend: what brunn2020's Table 7 times.
 *
 * Verified: the solver says that it converged, and mismatch and gradient at its velocity, worked out anew in float64
 * by the CPU's separate kernels, are the solver's own. */
#include "experiments/runner/base/interrupt.h"
#include "experiments/runner/workloads/measure.h"
#include "experiments/runner/workloads/panels.h"
#include "experiments/runner/workloads/registration.h"
#include "experiments/runner/workloads/solve_checks.h"
#include "experiments/runner/workloads/workload.h"
#include "kernels/base/clock.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  const rb_case *c;
  const rb_backend *backend;
  rb_claire_options options;
  rb_pair pair;
  rb_claire *solver;
  rb_claire_result result;
  int64_t n;
  int pictures;                        /* slices for the record */
  double input_seconds;                /* files, resampling, set-up */
  float *velocity;                     /* of the last verification */
  double twin_mismatch, twin_gradient; /* at that velocity */
  rb_claire_determinant det;
  double det_naive;
  rb_overlaps overlaps;
  rb_pictures panels;
  rb_claire_result *timed; /* the solve with events, once a case */
} state;

static rb_status options_of(const rb_case *c, rb_claire_options *o) {
  rb_status st = RB_OK;
  *o = rb_claire_defaults();
  o->interrupted = &rb_interrupted;
  o->beta = atof(rb_case_axis(c, "beta", "5e-4"));
  RB_CHECK(o->beta > 0, RB_EINVAL, "axis beta: '%s' is not a positive number", rb_case_axis(c, "beta", ""));
done:
  return st;
}

static void predict(const rb_case *c, int rotations, size_t *backend, size_t *host) {
  rb_claire_options o = rb_claire_defaults();
  (void)rotations;
  rb_claire_predict(c->variant, &o, c->grid, backend, host);
  *host += rb_claire_verification_bytes(c->variant, &o, c->grid);
}
static size_t footprint(const rb_case *c) { return 3 * (size_t)rb_grid_points(c->grid) * sizeof(float); }

static void teardown(void *p) {
  state *s = p;
  if (!s) return;
  rb_claire_destroy(s->solver);
  rb_pair_free(&s->pair);
  free(s->velocity);
  free(s->timed);
  rb_pictures_free(&s->panels);
  free(s);
}

static rb_status setup(const rb_case *c, const rb_backend *b, int rotations, void **out) {
  rb_status st = RB_OK;
  double start = rb_now();
  rb_resampling how;
  state *s = calloc(1, sizeof *s);
  (void)rotations;
  RB_CHECK(s, RB_ENOMEM, "host memory");
  s->c = c, s->backend = b, s->n = rb_grid_points(c->grid);
  RB_TRY(options_of(c, &s->options));
  RB_TRY(rb_resampling_parse(rb_case_axis(c, "resample", "antialias"), &how));
  RB_TRY(rb_pair_load(rb_case_axis(c, "data", "phantom"), how, c->grid, &s->pair));
  RB_TRY(rb_claire_create(c->variant, &s->options, c->grid, s->pair.image[RB_TEMPLATE], s->pair.image[RB_REFERENCE],
                          &s->solver));
  s->input_seconds = rb_now() - start;
  *out = s;
  s = NULL;
done:
  teardown(s);
  return st;
}
static rb_status setup_pictures(const rb_case *c, const rb_backend *b, int rotations, void **out) {
  rb_status st = setup(c, b, rotations, out);
  if (st == RB_OK) ((state *)*out)->pictures = 1;
  return st;
}

static rb_status run(void *p, int turn) {
  state *s = p;
  (void)turn;
  rb_status st = rb_claire_solve(s->solver, NULL, NULL, &s->result);
  return st == RB_OK ? rb_solve_check_uninterrupted(s->result.end) : st;
}

static rb_status poison(void *p, int turn) {
  state *s = p;
  (void)turn;
  memset(&s->result, 0xFF, sizeof s->result);
  return rb_claire_forget(s->solver);
}

static rb_status evaluate_twin(state *s) {
  rb_status st = RB_OK;
  rb_claire_config config;
  rb_variant twin;
  rb_claire *c = NULL;
  rb_claire_twin(s->c->variant, &config, &twin);
  RB_TRY(
      rb_claire_create(&twin, &s->options, s->c->grid, s->pair.image[RB_TEMPLATE], s->pair.image[RB_REFERENCE], &c));
  RB_TRY(rb_claire_evaluate(c, s->velocity, &s->twin_mismatch, &s->twin_gradient));
done:
  rb_claire_destroy(c);
  return st;
}

static rb_status measure_quality(state *s) {
  rb_status st = RB_OK;
  float *field = malloc((size_t)s->n * sizeof *field), naive = 0;
  RB_CHECK(field, RB_ENOMEM, "host memory");
  RB_TRY(rb_claire_jacobian(s->solver, field, &s->det));
  for (int64_t i = 0; i < s->n; i++)
    naive += field[i]; /* as a program that adds in float32, one after the other, would */
  s->det_naive = (double)naive / (double)s->n;
  RB_TRY(rb_claire_overlaps(s->solver, &s->pair, field, &s->overlaps));
  if (s->pictures) RB_TRY(rb_panels_make(s->solver, &s->pair, field, &s->panels));
done:
  free(field);
  return st;
}

/* Twin and quality depend on the velocity alone: worked out again only when it is not bit for bit the last one. */
static rb_status examine(state *s) {
  rb_status st = RB_OK;
  size_t bytes = 3 * (size_t)s->n * sizeof(float);
  float *v = malloc(bytes);
  RB_CHECK(v, RB_ENOMEM, "host memory: %zu bytes for the velocity", bytes);
  RB_TRY(rb_claire_velocity(s->solver, v));
  if (!rb_solve_keep_if_new(&s->velocity, &v, bytes)) goto done;
  RB_TRY(evaluate_twin(s));
  RB_TRY(measure_quality(s));
done:
  free(v);
  return st;
}

static void verify_values(const state *s, rb_outcome *o) {
  const int texture = rb_claire_weight_bits(s->c->variant) != 0;
  rb_outcome_verify(o, "solve did not converge (0: it did)", s->result.end == RB_END_CONVERGED ? 0 : 1, 0,
                    "stopping rule");
  rb_claire_verify_values(o, texture, s->result.mismatch, s->result.gradient, s->twin_mismatch, s->twin_gradient,
                          "cpu float64 at the same velocity");
}

/* Table 1's subfunctions. An adjoint call also integrates the body force, whose gradients are not the equation's: of
 * first derivatives the equation has the divergences. */
static void counts_of_equations(const state *s, rb_outcome *o) {
  static const char formula[] = "of these, within the equation's own calls; of an adjoint equation the divergences";
  const rb_profile *gradient = &s->result.profile_gradient, *matvec = &s->result.profile_matvec,
                   *state_equation = &s->result.profile_state, *incremental = &s->result.profile_incremental;
  rb_outcome_metric(o, "state_interpolations", state_equation->units[RB_CLASS_INTERP], "1", formula);
  rb_outcome_metric(o, "adjoint_interpolations", gradient->units[RB_CLASS_INTERP], "1", formula);
  rb_outcome_metric(o, "adjoint_first_derivatives", gradient->units[RB_CLASS_DIVERGENCE], "1", formula);
  rb_outcome_metric(o, "incremental_state_interpolations", incremental->units[RB_CLASS_INTERP], "1", formula);
  rb_outcome_metric(o, "incremental_state_first_derivatives",
                    incremental->units[RB_CLASS_GRADIENT] + incremental->units[RB_CLASS_DIVERGENCE], "1", formula);
  rb_outcome_metric(o, "incremental_adjoint_interpolations",
                    matvec->units[RB_CLASS_INTERP] - incremental->units[RB_CLASS_INTERP], "1", formula);
  rb_outcome_metric(o, "incremental_adjoint_first_derivatives",
                    matvec->units[RB_CLASS_DIVERGENCE] - incremental->units[RB_CLASS_DIVERGENCE], "1", formula);
}
static void counts(const state *s, rb_outcome *o) {
  static const char *const names[3][3] = {
      {"objective_interpolations", "objective_first_derivatives", "objective_other_ffts"},
      {"gradient_interpolations", "gradient_first_derivatives", "gradient_other_ffts"},
      {"matvec_interpolations", "matvec_first_derivatives", "matvec_other_ffts"}};
  static const char formula[] = "calls counted at the families' front doors in the last call of the solve";
  const rb_profile *p[3] = {&s->result.profile_objective, &s->result.profile_gradient, &s->result.profile_matvec};
  for (int f = 0; f < 3; f++) {
    rb_outcome_metric(o, names[f][0], p[f]->units[RB_CLASS_INTERP], "1", formula);
    rb_outcome_metric(o, names[f][1], p[f]->units[RB_CLASS_GRADIENT] + p[f]->units[RB_CLASS_DIVERGENCE], "1",
                      formula);
    rb_outcome_metric(o, names[f][2], p[f]->units[RB_CLASS_SPECTRAL], "1", formula);
  }
  counts_of_equations(s, o);
}

/* One more solve with events around every kernel call. */
static rb_status breakdown(state *s, rb_outcome *o) {
  static const char *const names[RB_CLASSES] = {"interpolation", "gradients", "divergences",
                                                "spectral",      "field",     "fused"};
  rb_status st = RB_OK;
  double sum = 0;
  if (!s->timed) {
    s->timed = calloc(1, sizeof *s->timed);
    RB_CHECK(s->timed, RB_ENOMEM, "host memory");
    RB_TRY(rb_claire_set_profile(s->solver, 1));
    RB_TRY(rb_claire_solve(s->solver, NULL, NULL, s->timed));
    RB_TRY(rb_claire_set_profile(s->solver, 0));
  }
  for (int k = 0; k < RB_CLASSES; k++) {
    const rb_profile *p = &s->timed->profile;
    rb_outcome_class(o, names[k], p->seconds[k], p->bytes[k]);
    sum += p->seconds[k];
  }
  const rb_profile *p = &s->timed->profile;
  double partial = p->seconds[RB_CLASS_GRADIENT] + p->seconds[RB_CLASS_DIVERGENCE];
  rb_outcome_metric(o, "time_first_derivatives", partial, "s", "gradients + divergences");
  if (p->units[RB_CLASS_INTERP] > 0)
    rb_outcome_metric(o, "call_interpolation", p->seconds[RB_CLASS_INTERP] / p->units[RB_CLASS_INTERP], "s",
                      "mean over the solve of a scalar field's interpolation, prefilter and texture copy included");
  if (p->units[RB_CLASS_GRADIENT] > 0)
    rb_outcome_metric(o, "call_gradient", 3 * p->seconds[RB_CLASS_GRADIENT] / p->units[RB_CLASS_GRADIENT], "s",
                      "mean over the solve");
  if (p->units[RB_CLASS_DIVERGENCE] > 0)
    rb_outcome_metric(o, "call_divergence", 3 * p->seconds[RB_CLASS_DIVERGENCE] / p->units[RB_CLASS_DIVERGENCE], "s",
                      "mean over the solve");
  rb_outcome_metric(o, "time_other", fmax(0, s->timed->seconds - sum), "s", "profiled solve - sum of the classes");
  rb_outcome_metric(o, "time_profiled", s->timed->seconds, "s", "solve with events; against time: what they cost");
  rb_outcome_metric(o, "share_derivatives_interpolation",
                    100 * (partial + p->seconds[RB_CLASS_INTERP]) / s->timed->seconds, "%",
                    "of the solve with events: first derivatives and interpolation");
  json_object_set_new(o->details, "classes", rb_profile_json(&s->timed->profile));
done:
  return st;
}

static void add_quality(const state *s, rb_outcome *o) {
  const rb_overlaps *d = &s->overlaps;
  rb_outcome_metric(o, "det_min", s->det.least, "1", "min over voxels of det F by transport");
  rb_outcome_metric(o, "det_mean", s->det.mean, "1", "mean over voxels of det F, summed in float64");
  rb_outcome_metric(o, "det_mean_float32", s->det_naive, "1", "the same, summed in float32 in sequence");
  rb_outcome_metric(o, "det_max", s->det.greatest, "1", "max over voxels of det F");
  rb_solve_verify_orientation(o, "-det F (positive: orientation kept)", s->det.least);
  if (s->panels.count) rb_outcome_pictures(o, "panels", &s->panels);
  if (!d->has_labels) return;
  rb_solve_add_dice(o, &d->before, &d->after, "the same after transport of the indicators themselves");
  rb_outcome_metric(o, "dice_after", d->after_smoothed.all, "1",
                    "the same after transport of smoothed indicators (the paper's protocol)");
  json_object_set_new(o->details, "dice",
                      json_pack("{s:o,s:o,s:o}", "before", rb_overlap_json(&d->before), "after_smoothed",
                                rb_overlap_json(&d->after_smoothed), "after", rb_overlap_json(&d->after)));
}

static rb_status verify(void *p, int turn, rb_outcome *o) {
  rb_status st = RB_OK;
  state *s = p;
  const rb_claire_result *r = &s->result;
  (void)turn;
  rb_outcome_data(o, s->pair.file[RB_TEMPLATE], s->pair.sha256[RB_TEMPLATE]);
  o->details =
      json_pack("{s:s,s:s,s:s,s:o}", "reference", s->pair.file[RB_REFERENCE], "reference_sha256",
                s->pair.sha256[RB_REFERENCE], "end", rb_solver_end_name(r->end), "iterations", rb_iterations_json(r));
  RB_TRY(examine(s));
  verify_values(s, o);
  add_quality(s, o);
  rb_outcome_metric(o, "mismatch", r->mismatch, "1", "|m(1) - m_R|^2 / |m_T - m_R|^2");
  rb_outcome_metric(o, "gradient", r->gradient, "1", "|g| / |g(v = 0, beta = 1)|");
  rb_outcome_metric(o, "newton", r->newton, "1", "Newton steps over all levels");
  rb_outcome_metric(o, "iterations", r->newton + r->levels - 1, "1", "newton + levels - 1, as the paper prints");
  rb_outcome_metric(o, "matvecs", r->matvecs, "1", "Hessian products over all levels");
  rb_outcome_metric(o, "objectives", r->objectives, "1", "evaluations of the objective");
  rb_outcome_metric(o, "time_solver", r->seconds, "s", "sum over levels of the optimiser's wall time");
  rb_outcome_metric(o, "time_input", s->input_seconds, "s",
                    "reading the files, resampling, planning, preprocessing; outside time");
  counts(s, o);
  RB_TRY(breakdown(s, o));
done:
  return st;
}

static const rb_workload_axis axes[] = {{"size", RB_VALUES_SIZE},
                                        {"data", RB_VALUES_PAIRS},
                                        {"resample", "antialias point"},
                                        {"beta", RB_VALUES_NUMBER},
                                        {NULL, NULL}};
const rb_workload rb_workload_registration = {
    "registration", &rb_claire_family, predict, footprint, setup, run, poison, verify, teardown, axes, NULL};
const rb_workload rb_workload_registration_pictures = {"registration-pictures",
                                                       &rb_claire_family,
                                                       predict,
                                                       footprint,
                                                       setup_pictures,
                                                       run,
                                                       poison,
                                                       verify,
                                                       teardown,
                                                       axes,
                                                       NULL};
