/* SPDX-License-Identifier: BSD-3-Clause */
/* landmarks: a whole match by geodesic shooting (shooting2018, Table 1); landmarks-pictures: the same, and where
 * every point went (Figure 2); landmarks-gradient: one evaluation of the objective and its gradient.
 *
 * Verified: the objective at the momentum found, worked out anew in float64, is the solver's own, and it fell; solves
 * of some seconds are followed once more and compared with float64 on the way; one gradient is the slope of the
 * objective, and among few points that of float64. */
#include "experiments/runner/workloads/landmark_case.h"
#include "experiments/runner/workloads/measure.h"
#include "experiments/runner/workloads/workload.h"

#include "datasets/manifest.h"
#include "datasets/points.h"
#include "kernels/base/rng.h"

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
  int pictures;
  struct trail *trail;                    /* of the first verification */
  double *momentum, *gradient, objective; /* landmarks-gradient */
  char sha256[65], file[48];
  const char *unit; /* of coordinates and distances */
} state;

static const double FOLLOWED = 10; /* s: longer solves are not made once more to be followed */
static const char synthetic_name[] = "synthetic-";
static size_t footprint(const rb_case *c) {
  (void)c;
  return (size_t)1 << 20;
}

/* Best momenta after some evaluations of a solve, and how far the backend's objective and gradient there are from
 * float64. */
enum { STOPS = 10 };
static const int stops[STOPS] = {0, 1, 2, 5, 10, 20, 50, 100, 200, 399};
typedef struct trail {
  rb_landmarks *solver;
  double *momentum[STOPS];
  size_t unknowns;
  int count;
  rb_status st;
  double objective_error, gradient_error;
} trail;
static void drop_trail(trail *p) {
  for (int k = 0; p && k < STOPS; k++) free(p->momentum[k]);
  free(p);
}

static void teardown(void *p) {
  state *s = p;
  if (!s) return;
  rb_landmarks_destroy(s->solver);
  for (int i = 0; i < 2; i++) rb_points_free(&s->set[i]);
  drop_trail(s->trail);
  free(s->momentum), free(s->gradient);
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
  if (strncmp(data, synthetic_name, strlen(synthetic_name)) == 0)
    return synthetic(data + strlen(synthetic_name), s->set);
  const int lung = strncmp(data, "lung-", 5) == 0 && data[5] >= '1' && data[5] <= '3' && data[6] == '\0',
            mtl = strcmp(data, "mtl") == 0;
  if (lung) s->unit = "voxel";
  const char *set = lung ? "lung-keypoints" : "landmarks-mtl";
  RB_CHECK(lung || mtl, RB_EINVAL, "unknown landmarks '%s': mtl, lung-1 to lung-3, synthetic-N", data);
  RB_TRY(rb_manifest_load(set, &m));
  RB_CHECK(rb_manifest_present(m), RB_ENOTFOUND, "data set %s is absent (regbench data import %s FOLDER)", set, set);
  for (int i = 0; i < 2; i++) {
    char keypoints[32]; /* inspiration, expiration */
    snprintf(keypoints, sizeof keypoints, "LungCT_000%c_000%d.csv", lung ? data[5] : '1', i);
    RB_TRY(rb_manifest_path(m, lung ? keypoints : files[i], path, sizeof path));
    RB_TRY(rb_points_read(path, &s->set[i]));
    if (i) continue;
    RB_TRY(rb_sha256_file(path, s->sha256));
    snprintf(s->file, sizeof s->file, "%s", lung ? keypoints : files[0]);
  }
done:
  rb_manifest_free(m);
  return st;
}

static rb_status load_points(const rb_case *c, state *s) {
  const char *points = rb_case_axis(c, "points", NULL);
  return points ? synthetic(points, s->set) : load(rb_case_axis(c, "data", "mtl"), s);
}

/* On the host: the float64 twin of the verification, and the points. */
static void predict(const rb_case *c, int rotations, size_t *backend, size_t *host) {
  state probe = {0};
  rb_landmarks_options o;
  (void)rotations;
  if (rb_landmark_case_options(c, &o) != RB_OK) rb_clear(); /* setup tells what is wrong with options and points */
  if (load_points(c, &probe) != RB_OK) rb_clear();
  const int64_t n = probe.set[0].n ? probe.set[0].n : 1847; /* absent: as many as the paper's */
  *backend = rb_landmark_case_bytes(c, n);
  *host = 3 * (size_t)n * sizeof(double) * (2 * (size_t)o.steps + 50);
  for (int i = 0; i < 2; i++) rb_points_free(&probe.set[i]);
}

static rb_status create(const state *s, const rb_landmarks_config *config, rb_landmarks **out) {
  return rb_landmark_case_create(config, &s->options, s->set[0].n, s->set[0].dim, s->set[0].x, s->set[1].x, out);
}

static rb_status setup(const rb_case *c, const rb_backend *b, int rotations, void **out) {
  rb_status st = RB_OK;
  state *s = calloc(1, sizeof *s);
  (void)b, (void)rotations;
  RB_CHECK(s, RB_ENOMEM, "host memory");
  s->c = c;
  s->unit = "mm";
  RB_TRY(rb_landmark_case_options(c, &s->options));
  RB_TRY(load_points(c, s));
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
  return st == RB_OK && s->result.end == RB_END_INTERRUPTED ? RB_FAIL(RB_EINTERRUPTED, "interrupted") : st;
}
static rb_status poison(void *p, int turn) {
  state *s = p;
  (void)turn;
  memset(&s->result, 0xFF, sizeof s->result);
  return RB_OK;
}

/* ---- where the points went ------------------------------------------------------------------------------- */

enum { MOST_PATHS = 620 };
static const double UNIT = 0.01; /* of a coordinate's */

/* Coordinates a, b of every `stride`-th point, in whole units, as one text "a b a b ...": a line of a record, not
 * thousands. */
static json_t *flat(const double *x, int64_t n, int a, int b, int64_t stride) {
  char *text = malloc((size_t)(n / stride + 1) * 48), *to = text;
  for (int64_t i = 0; text && i < n; i += stride)
    to += sprintf(to, "%s%ld %ld", to == text ? "" : " ", lround(x[a * n + i] / UNIT), lround(x[b * n + i] / UNIT));
  json_t *j = text ? json_string(text) : NULL;
  free(text);
  return j;
}

/* Both sets and the paths, seen along the shortest side of the template. */
static rb_status add_pictures(state *s, rb_outcome *o) {
  rb_status st = RB_OK;
  const int64_t n = s->set[0].n, stride = (n + MOST_PATHS - 1) / MOST_PATHS;
  const int dim = s->set[0].dim;
  double extent[3] = {0}, *x = malloc((size_t)(n * dim) * sizeof *x);
  json_t *paths = json_array();
  int shortest = 2;
  RB_CHECK(x, RB_ENOMEM, "host memory");
  for (int c = 0; c < dim; c++) {
    double low = INFINITY, high = -INFINITY;
    for (int64_t i = 0; i < n; i++)
      low = fmin(low, s->set[0].x[c * n + i]), high = fmax(high, s->set[0].x[c * n + i]);
    extent[c] = high - low;
  }
  for (int c = 0; c < 2; c++)
    if (extent[c] < extent[shortest]) shortest = c;
  const int a = shortest == 0 ? 1 : 0, b = shortest == 2 ? 1 : 2;
  for (int t = 0; t < s->options.steps; t++) {
    RB_TRY(rb_landmarks_at(s->solver, t, x, NULL));
    json_array_append_new(paths, flat(x, n, a, b, stride));
  }
  char plane[3] = {"xyz"[a], "xyz"[b], '\0'};
  json_t *pictures =
      json_pack("{s:s,s:f,s:o,s:o,s:o,s:O}", "plane", plane, "unit", UNIT, "template", flat(s->set[0].x, n, a, b, 1),
                "target", flat(s->set[1].x, n, a, b, 1), "matched", flat(x, n, a, b, 1), "paths", paths);
  json_object_set_new(o->details, "landmarks", pictures);
done:
  json_decref(paths);
  free(x);
  return st;
}

/* ---- a solve followed ------------------------------------------------------------------------------------ */

static void keep_momentum(void *context, const rb_landmarks_row *row) {
  trail *p = context;
  if (p->st != RB_OK || p->count >= STOPS || row->evaluation != stops[p->count]) return;
  double *m = malloc(p->unknowns * sizeof *m);
  p->st = m ? rb_landmarks_momentum(p->solver, m) : RB_FAIL(RB_ENOMEM, "host memory");
  p->momentum[p->count++] = m;
}

/* The solve once more, then both objectives and gradients at the momenta on its way. Leaves another flow in the
 * solver. */
static rb_status follow(state *s, rb_landmarks *twin) {
  rb_status st = RB_OK;
  trail *p = calloc(1, sizeof *p);
  const size_t m = (size_t)(s->set[0].n * s->set[0].dim);
  double *g[2] = {malloc(m * sizeof **g), malloc(m * sizeof **g)};
  rb_landmarks_result *again = calloc(1, sizeof *again);
  RB_CHECK(p && g[0] && g[1] && again, RB_ENOMEM, "host memory");
  p->solver = s->solver, p->unknowns = m;
  RB_TRY(rb_landmarks_solve(s->solver, keep_momentum, p, again));
  RB_TRY(p->st);
  for (int k = 0; k < p->count; k++) {
    double value[2], off = 0, norm = 0;
    RB_TRY(rb_landmarks_evaluate(s->solver, p->momentum[k], &value[0], g[0]));
    RB_TRY(rb_landmarks_evaluate(twin, p->momentum[k], &value[1], g[1]));
    for (size_t i = 0; i < m; i++) off += pow(g[0][i] - g[1][i], 2), norm += g[1][i] * g[1][i];
    const double errors[2] = {fabs(value[0] / value[1] - 1), sqrt(off / norm)};
    if (!(errors[0] <= p->objective_error)) p->objective_error = errors[0]; /* a NaN stays */
    if (!(errors[1] <= p->gradient_error)) p->gradient_error = errors[1];
  }
  s->trail = p;
  p = NULL;
done:
  drop_trail(p);
  free(again), free(g[1]), free(g[0]);
  return st;
}

/* The objective after every evaluation, as the optimiser met it. */
static json_t *history_of(const rb_landmarks_result *r) {
  json_t *rows = json_array();
  for (int i = 0; i < r->rows; i++) json_array_append_new(rows, json_real(r->table[i].objective));
  return rows;
}

static rb_status verify(void *p, int turn, rb_outcome *o) {
  static const rb_landmarks_config exact = {"cpu/omp", RB_F64};
  rb_status st = RB_OK;
  state *s = p;
  const rb_landmarks_result *r = &s->result;
  rb_landmarks *twin = NULL;
  double objective, *momentum = malloc((size_t)(s->set[0].n * s->set[0].dim) * sizeof *momentum);
  const int naive = rb_landmarks_sequential(s->c->variant);
  (void)turn;
  RB_CHECK(momentum, RB_ENOMEM, "host memory");
  rb_outcome_data(o, s->sha256[0] ? s->file : NULL, s->sha256);
  RB_TRY(rb_landmarks_momentum(s->solver, momentum));
  RB_TRY(create(s, &exact, &twin));
  RB_TRY(rb_landmarks_evaluate(twin, momentum, &objective, NULL));
  /* float32 positions of 50 mm carry 4e-6 mm; distances at the end are some hundredths of a mm */
  rb_outcome_verify(o, "relative error of the objective", fabs(r->objective / objective - 1), naive ? 0.02 : 2e-3,
                    "cpu float64 at the same momentum");
  rb_outcome_verify(o, "objective over its start", r->objective / r->table[0].objective, 1, "descent");
  rb_outcome_metric(o, "distance_before", r->average_before, s->unit, "mean distance of corresponding points");
  rb_outcome_metric(o, "greatest_before", r->greatest_before, s->unit, "greatest of them");
  rb_outcome_metric(o, "distance_after", r->average_after, s->unit, "the same at t = 1");
  rb_outcome_metric(o, "greatest_after", r->greatest_after, s->unit, "greatest of them");
  rb_outcome_metric(o, "objective", r->objective, "1", "H + lambda sum of squared distances");
  rb_outcome_metric(o, "evaluations", r->evaluations, "1", "of objective and gradient");
  rb_outcome_metric(o, "iterations", r->iterations, "1", "of the optimiser");
  rb_outcome_metric(o, "time_evaluation", r->seconds / r->evaluations, "s", "solve / evaluations");
  rb_outcome_metric(
      o, "time_step", r->seconds / r->evaluations / (2 * (s->options.steps - 1)), "s",
      "an Euler step there or back: evaluation / (2 (time points - 1)), the optimiser's own time included");
  rb_outcome_metric(
      o, "pair_rate",
      2.0 * (s->options.steps - 1) * (double)s->set[0].n * (double)s->set[0].n * r->evaluations / r->seconds, "1/s",
      "pairs of points a second, forward and backward");
  o->details = json_pack("{s:o}", "objectives", history_of(r));
  if (s->pictures) RB_TRY(add_pictures(s, o));
  if (!s->trail && !naive && r->seconds < FOLLOWED) RB_TRY(follow(s, twin));
  if (s->trail) {
    rb_outcome_verify(o, "relative error of objectives on the way", s->trail->objective_error, 2e-3,
                      "cpu float64 at the same momenta");
    rb_outcome_verify(o, "relative error of gradients on the way", s->trail->gradient_error, 1e-2,
                      "cpu float64 at the same momenta");
    rb_outcome_metric(o, "path_objective_error", s->trail->objective_error, "1",
                      "worst over the momenta after 0, 1, 2, 5, 10, .. evaluations");
    rb_outcome_metric(o, "path_gradient_error", s->trail->gradient_error, "1", "the same of ||g - g64|| / ||g64||");
  }
done:
  rb_landmarks_destroy(twin);
  free(momentum);
  return st;
}

static rb_status setup_pictures(const rb_case *c, const rb_backend *b, int rotations, void **out) {
  rb_status st = setup(c, b, rotations, out);
  if (st == RB_OK) ((state *)*out)->pictures = 1;
  return st;
}

/* ---- one gradient ---------------------------------------------------------------------------------------- */

static rb_status setup_gradient(const rb_case *c, const rb_backend *b, int rotations, void **out) {
  rb_status st = RB_OK;
  state *s = NULL;
  void *made = NULL;
  RB_TRY(setup(c, b, rotations, &made));
  s = made;
  const size_t unknowns = (size_t)(s->set[0].n * s->set[0].dim);
  s->momentum = malloc(unknowns * sizeof(double));
  s->gradient = malloc(unknowns * sizeof(double));
  RB_CHECK(s->momentum && s->gradient, RB_ENOMEM, "host memory");
  /* dense sets carry each other along: as many points as fill one kernel move together */
  const double crowd = fmax(1, 0.002 * (double)s->set[0].n);
  for (size_t i = 0; i < unknowns; i++)
    s->momentum[i] = (s->set[1].x[i] - s->set[0].x[i]) / (s->options.steps * crowd);
  *out = s;
  made = NULL;
done:
  teardown(made);
  return st;
}
static rb_status run_gradient(void *p, int turn) {
  state *s = p;
  (void)turn;
  return rb_landmarks_evaluate(s->solver, s->momentum, &s->objective, s->gradient);
}
static rb_status poison_gradient(void *p, int turn) {
  state *s = p;
  (void)turn;
  memset(s->gradient, 0xFF, (size_t)(s->set[0].n * s->set[0].dim) * sizeof(double));
  s->objective = NAN;
  return RB_OK;
}

/* Central difference of the objective along the gradient against its length: to 1 %, float32 objectives that differ
 * by 1 %. */
static rb_status slope_error(state *s, double *error) {
  rb_status st = RB_OK;
  const int64_t unknowns = s->set[0].n * s->set[0].dim;
  double square = 0, there = 0, back = 0, *moved = malloc((size_t)unknowns * sizeof *moved);
  RB_CHECK(moved, RB_ENOMEM, "host memory");
  for (int64_t i = 0; i < unknowns; i++) square += s->gradient[i] * s->gradient[i];
  const double length = sqrt(square), step = 0.005 * s->objective / length;
  for (int side = 0; side < 2; side++) {
    for (int64_t i = 0; i < unknowns; i++)
      moved[i] = s->momentum[i] + (side ? -step : step) * s->gradient[i] / length;
    RB_TRY(rb_landmarks_evaluate(s->solver, moved, side ? &back : &there, NULL));
  }
  *error = fabs((there - back) / (2 * step) / length - 1);
done:
  free(moved);
  return st;
}

static rb_status verify_gradient(void *p, int turn, rb_outcome *o) {
  static const rb_landmarks_config exact = {"cpu/omp", RB_F64};
  enum { FEW = 4000 };
  rb_status st = RB_OK;
  state *s = p;
  const int64_t n = s->set[0].n, unknowns = n * s->set[0].dim;
  double slope = NAN, value, off = 0, norm = 0, *g = NULL;
  rb_landmarks *twin = NULL;
  (void)turn;
  RB_TRY(slope_error(s, &slope));
  rb_outcome_verify(o, "gradient against the slope of the objective", slope, 0.01,
                    "central difference along the gradient");
  if (n <= FEW && !rb_landmarks_sequential(s->c->variant)) {
    g = malloc((size_t)unknowns * sizeof *g);
    RB_CHECK(g, RB_ENOMEM, "host memory");
    RB_TRY(create(s, &exact, &twin));
    RB_TRY(rb_landmarks_evaluate(twin, s->momentum, &value, g));
    for (int64_t i = 0; i < unknowns; i++) off += pow(s->gradient[i] - g[i], 2), norm += g[i] * g[i];
    rb_outcome_verify(o, "relative error of the gradient", sqrt(off / norm), 1e-3,
                      "cpu float64 at the same momentum");
    rb_outcome_metric(o, "gradient_error", sqrt(off / norm), "1", "||g - g64|| / ||g64||");
  }
  o->pairs = 2.0 * (s->options.steps - 1) * (double)n * (double)n;
done:
  rb_landmarks_destroy(twin);
  free(g);
  return st;
}

static const rb_workload_axis axes[] = {{"data", "mtl lung-1 lung-2 lung-3 synthetic-*"},
                                        {"points", RB_VALUES_COUNT},
                                        {"sigma", RB_VALUES_NUMBER},
                                        {"lambda", RB_VALUES_NUMBER},
                                        {"steps", RB_VALUES_COUNT},
                                        {"evaluations", RB_VALUES_COUNT},
                                        {NULL, NULL}};
const rb_workload rb_workload_landmarks = {
    "landmarks", &rb_landmarks_family, predict, footprint, setup, run, poison, verify, teardown, axes};
const rb_workload rb_workload_landmarks_pictures = {"landmarks-pictures",
                                                    &rb_landmarks_family,
                                                    predict,
                                                    footprint,
                                                    setup_pictures,
                                                    run,
                                                    poison,
                                                    verify,
                                                    teardown,
                                                    axes};
const rb_workload rb_workload_landmarks_gradient = {
    "landmarks-gradient", &rb_landmarks_family, predict,         footprint, setup_gradient,
    run_gradient,         poison_gradient,      verify_gradient, teardown,  axes};
