/* landmarks: a whole match by geodesic shooting, from zero momentum (shooting2018, Table 1).
 *
 * Verified: the objective at the momentum found, worked out anew in float64, is the solver's own; and it fell. */
#include "experiments/runner/measure.h"
#include "experiments/runner/workload.h"

#include "datasets/manifest.h"
#include "datasets/points.h"
#include "kernels/base/rng.h"
#include "solvers/landmarks/landmarks.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  const rb_case *c;
  rb_landmarks_options options;
  rb_points set[2];
  rb_landmarks *solver;
  rb_landmarks_result result;
  char sha256[65];
} state;

static int whole_axis(const rb_case *c, const char *axis, int fallback) {
  const char *v = rb_case_axis(c, axis, NULL);
  return v ? atoi(v) : fallback;
}

static void predict(const rb_case *c, int rotations, size_t *backend, size_t *host) {
  (void)rotations;
  size_t history = (size_t)whole_axis(c, "steps", 40) * 2 * 3 * 200000 * sizeof(double);
  *backend = history;
  *host = history;
}
static size_t footprint(const rb_case *c) {
  (void)c;
  return (size_t)1 << 20;
}

static void teardown(void *p) {
  state *s = p;
  if (!s) return;
  rb_landmarks_destroy(s->solver);
  for (int i = 0; i < 2; i++) rb_points_free(&s->set[i]);
  free(s);
}

/* "synthetic-N": N points in a ball of radius 10 sigma, and where a smooth field moves them. */
static rb_status synthetic(const char *text, rb_points set[2]) {
  rb_status st = RB_OK;
  int64_t n = atoll(text);
  RB_CHECK(n >= 2 && n <= 200000, RB_EINVAL, "synthetic-%s: 2 to 200000 points", text);
  for (int k = 0; k < 2; k++) {
    set[k].n = n, set[k].dim = 3;
    set[k].x = malloc(3 * (size_t)n * sizeof(double));
    RB_CHECK(set[k].x, RB_ENOMEM, "host memory");
  }
  for (int64_t i = 0; i < 3 * n; i++) set[0].x[i] = 15 * rb_rng_symmetric(41, (uint64_t)i);
  for (int64_t i = 0; i < 3 * n; i++) set[1].x[i] = set[0].x[i] + sin(0.2 * set[0].x[(i + n) % (3 * n)]);
done:
  return st;
}

static rb_status load(const char *data, state *s) {
  rb_status st = RB_OK;
  rb_manifest *m = NULL;
  char path[PATH_MAX];
  static const char *const files[] = {"shavg_landmarks.vtk", "shooting_target_procrustes.vtk"};
  if (strncmp(data, "synthetic-", 10) == 0) return synthetic(data + 10, s->set);
  RB_CHECK(strcmp(data, "mtl") == 0, RB_EINVAL, "unknown landmarks '%s': mtl, synthetic-N", data);
  RB_TRY(rb_manifest_load("landmarks-mtl", &m));
  RB_CHECK(rb_manifest_present(m), RB_ENOTFOUND, "data set landmarks-mtl is absent (regbench data import landmarks-mtl FOLDER)");
  for (int i = 0; i < 2; i++) {
    RB_TRY(rb_manifest_path(m, files[i], path, sizeof path));
    RB_TRY(rb_points_read(path, &s->set[i]));
    if (i == 0) RB_TRY(rb_sha256_file(path, s->sha256));
  }
done:
  rb_manifest_free(m);
  return st;
}

static rb_status create(const state *s, const rb_landmarks_config *config, rb_landmarks **out) {
  rb_status st = RB_OK;
  const rb_variant *v;
  rb_landmarks_options o = s->options;
  o.dtype = config->dtype;
  RB_TRY(rb_variant_find(&rb_gausssum_family, config->gausssum, &v));
  RB_TRY(rb_landmarks_create(v, &o, s->set[0].n, s->set[0].dim, s->set[0].x, s->set[1].x, out));
done:
  return st;
}

static rb_status setup(const rb_case *c, const rb_backend *b, int rotations, void **out) {
  rb_status st = RB_OK;
  state *s = calloc(1, sizeof *s);
  (void)b, (void)rotations;
  RB_CHECK(s, RB_ENOMEM, "host memory");
  s->c = c;
  s->options = rb_landmarks_defaults();
  s->options.interrupted = &rb_interrupted;
  s->options.steps = whole_axis(c, "steps", s->options.steps);
  s->options.evaluations = whole_axis(c, "evaluations", s->options.evaluations);
  RB_TRY(load(rb_case_axis(c, "data", "mtl"), s));
  RB_TRY(create(s, c->variant->ops, &s->solver));
  *out = s;
  s = NULL;
done:
  teardown(s);
  return st;
}

static rb_status run(void *p, int turn) {
  state *s = p;
  (void)turn;
  rb_status st = rb_landmarks_solve(s->solver, NULL, NULL, &s->result);
  return st == RB_OK && s->result.end == RB_LANDMARKS_INTERRUPTED ? RB_FAIL(RB_EINTERRUPTED, "interrupted") : st;
}
static rb_status poison(void *p, int turn) {
  state *s = p;
  (void)turn;
  memset(&s->result, 0xFF, sizeof s->result);
  return RB_OK;
}

static rb_status verify(void *p, int turn, rb_outcome *o) {
  static const rb_landmarks_config exact = {"cpu/omp", RB_F64};
  rb_status st = RB_OK;
  state *s = p;
  const rb_landmarks_result *r = &s->result;
  rb_landmarks *twin = NULL;
  double objective, *momentum = malloc((size_t)(s->set[0].n * s->set[0].dim) * sizeof *momentum);
  int naive = strcmp(((const rb_landmarks_config *)s->c->variant->ops)->gausssum, "cpu/naive") == 0;
  (void)turn;
  RB_CHECK(momentum, RB_ENOMEM, "host memory");
  o->data_file = s->sha256[0] ? "shavg_landmarks.vtk" : NULL;
  memcpy(o->data_sha256, s->sha256, sizeof o->data_sha256);
  RB_TRY(rb_landmarks_momentum(s->solver, momentum));
  RB_TRY(create(s, &exact, &twin));
  RB_TRY(rb_landmarks_evaluate(twin, momentum, &objective, NULL));
  /* float32 positions of 50 mm carry 4e-6 mm; distances at the end are some hundredths of a mm */
  rb_outcome_verify(o, "relative error of the objective", fabs(r->objective / objective - 1), naive ? 0.02 : 2e-3, "cpu float64 at the same momentum");
  rb_outcome_verify(o, "objective over its start", r->objective / r->table[0].objective, 1, "descent");
  rb_outcome_metric(o, "distance_before", r->average_before, "mm", "mean distance of corresponding points");
  rb_outcome_metric(o, "greatest_before", r->greatest_before, "mm", "greatest of them");
  rb_outcome_metric(o, "distance_after", r->average_after, "mm", "the same at t = 1");
  rb_outcome_metric(o, "greatest_after", r->greatest_after, "mm", "greatest of them");
  rb_outcome_metric(o, "objective", r->objective, "1", "H + lambda sum of squared distances");
  rb_outcome_metric(o, "evaluations", r->evaluations, "1", "of objective and gradient");
  rb_outcome_metric(o, "iterations", r->iterations, "1", "of the optimiser");
  rb_outcome_metric(o, "time_evaluation", r->seconds / r->evaluations, "s", "solve / evaluations");
  rb_outcome_metric(o, "pair_rate", 2.0 * (s->options.steps - 1) * (double)s->set[0].n * (double)s->set[0].n * r->evaluations / r->seconds, "1/s",
                    "pairs of points a second, forward and backward");
done:
  rb_landmarks_destroy(twin);
  free(momentum);
  return st;
}

const rb_workload rb_workload_landmarks = {"landmarks", &rb_landmarks_family, predict, footprint, setup, run, poison, verify, teardown};
