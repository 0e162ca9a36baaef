/* SPDX-License-Identifier: BSD-3-Clause */
/* landmarks: a whole match by geodesic shooting (shooting2018, Table 1); landmarks-pictures: the same, and where
 * every point went (Figure 2).
 *
 * Verified: the objective at the momentum found, worked out anew in float64, is the solver's own, and it fell; solves
 * of some seconds are followed once more and compared with float64 on the way. */
#include "experiments/runner/workloads/landmark_case.h"
#include "experiments/runner/workloads/solve_checks.h"
#include "experiments/runner/workloads/workload.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  const rb_case *c;
  rb_landmark_problem problem;
  rb_landmarks *solver;
  rb_landmarks_result result;
  int pictures;
  struct trail *trail; /* of the first verification */
} state;

static const double FOLLOWED = 10; /* s: longer solves are not made once more to be followed */
/* On the way: sixteen and five times the worst of 14 recorded runs, 1.2e-5 and 2e-3 (at the last momenta the gradient
 * is a small difference). */
static const double PATH_OBJECTIVE_LIMIT = 2e-4, PATH_GRADIENT_LIMIT = 1e-2;

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
  rb_landmark_problem_close(&s->problem);
  drop_trail(s->trail);
  free(s);
}

static rb_status setup(const rb_case *c, const rb_backend *b, int rotations, void **out) {
  rb_status st = RB_OK;
  state *s = calloc(1, sizeof *s);
  (void)b, (void)rotations;
  RB_CHECK(s, RB_ENOMEM, "host memory");
  s->c = c;
  RB_TRY(rb_landmark_problem_open(c, &s->problem));
  RB_TRY(rb_landmark_problem_create(&s->problem, c->variant->ops, &s->solver));
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
  return st == RB_OK ? rb_solve_check_uninterrupted(s->result.end) : st;
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
  const int64_t n = s->problem.set[0].n, stride = (n + MOST_PATHS - 1) / MOST_PATHS;
  const int dim = s->problem.set[0].dim;
  double extent[3] = {0}, *x = malloc((size_t)(n * dim) * sizeof *x);
  json_t *paths = json_array();
  int shortest = 2;
  RB_CHECK(x, RB_ENOMEM, "host memory");
  for (int c = 0; c < dim; c++) {
    double low = INFINITY, high = -INFINITY;
    for (int64_t i = 0; i < n; i++)
      low = fmin(low, s->problem.set[0].x[c * n + i]), high = fmax(high, s->problem.set[0].x[c * n + i]);
    extent[c] = high - low;
  }
  for (int c = 0; c < 2; c++)
    if (extent[c] < extent[shortest]) shortest = c;
  const int a = shortest == 0 ? 1 : 0, b = shortest == 2 ? 1 : 2;
  for (int t = 0; t < s->problem.options.steps; t++) {
    RB_TRY(rb_landmarks_at(s->solver, t, x, NULL));
    json_array_append_new(paths, flat(x, n, a, b, stride));
  }
  char plane[3] = {"xyz"[a], "xyz"[b], '\0'};
  json_t *pictures = json_pack("{s:s,s:f,s:o,s:o,s:o,s:O}", "plane", plane, "unit", UNIT, "template",
                               flat(s->problem.set[0].x, n, a, b, 1), "target", flat(s->problem.set[1].x, n, a, b, 1),
                               "matched", flat(x, n, a, b, 1), "paths", paths);
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
  const size_t m = (size_t)(s->problem.set[0].n * s->problem.set[0].dim);
  double *g[2] = {malloc(m * sizeof **g), malloc(m * sizeof **g)};
  rb_landmarks_result *again = calloc(1, sizeof *again);
  RB_CHECK(p && g[0] && g[1] && again, RB_ENOMEM, "host memory");
  p->solver = s->solver, p->unknowns = m;
  RB_TRY(rb_landmarks_solve(s->solver, keep_momentum, p, again));
  RB_TRY(p->st);
  for (int k = 0; k < p->count; k++) {
    double value[2];
    RB_TRY(rb_landmarks_evaluate(s->solver, p->momentum[k], &value[0], g[0]));
    RB_TRY(rb_landmarks_evaluate(twin, p->momentum[k], &value[1], g[1]));
    p->objective_error = rb_greater_error(p->objective_error, rb_relative_error(value[0], value[1]));
    p->gradient_error = rb_greater_error(p->gradient_error, rb_relative_distance_f64((int64_t)m, g[0], g[1]));
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
  double objective, *momentum = malloc((size_t)(s->problem.set[0].n * s->problem.set[0].dim) * sizeof *momentum);
  const int naive = rb_landmarks_sequential(s->c->variant);
  (void)turn;
  RB_CHECK(momentum, RB_ENOMEM, "host memory");
  rb_outcome_data(o, s->problem.sha256[0] ? s->problem.file : NULL, s->problem.sha256);
  RB_TRY(rb_landmarks_momentum(s->solver, momentum));
  RB_TRY(rb_landmark_problem_create(&s->problem, &exact, &twin));
  RB_TRY(rb_landmarks_evaluate(twin, momentum, &objective, NULL));
  rb_outcome_verify(o, "relative error of the objective", rb_relative_error(r->objective, objective),
                    rb_landmark_case_objective_limit(s->c->variant), "cpu float64 at the same momentum");
  rb_outcome_verify(o, "objective over its start", r->objective / r->table[0].objective, 1, "descent");
  rb_outcome_metric(o, "distance_before", r->average_before, s->problem.unit,
                    "mean distance of corresponding points");
  rb_outcome_metric(o, "greatest_before", r->greatest_before, s->problem.unit, "greatest of them");
  rb_outcome_metric(o, "distance_after", r->average_after, s->problem.unit, "the same at t = 1");
  rb_outcome_metric(o, "greatest_after", r->greatest_after, s->problem.unit, "greatest of them");
  rb_outcome_metric(o, "objective", r->objective, "1", "H + lambda sum of squared distances");
  rb_outcome_metric(o, "evaluations", r->evaluations, "1", "of objective and gradient");
  rb_outcome_metric(o, "iterations", r->iterations, "1", "of the optimiser");
  rb_outcome_metric(o, "time_evaluation", r->seconds / r->evaluations, "s", "solve / evaluations");
  rb_outcome_metric(
      o, "time_step", r->seconds / r->evaluations / (2 * (s->problem.options.steps - 1)), "s",
      "an Euler step there or back: evaluation / (2 (time points - 1)), the optimiser's own time included");
  rb_outcome_metric(o, "pair_rate",
                    2.0 * (s->problem.options.steps - 1) * (double)s->problem.set[0].n * (double)s->problem.set[0].n *
                        r->evaluations / r->seconds,
                    "1/s", "pairs of points a second, forward and backward");
  o->details = json_pack("{s:o}", "objectives", history_of(r));
  if (s->pictures) RB_TRY(add_pictures(s, o));
  if (!s->trail && !naive && r->seconds < FOLLOWED) RB_TRY(follow(s, twin));
  if (s->trail) {
    rb_outcome_verify(o, "relative error of objectives on the way", s->trail->objective_error, PATH_OBJECTIVE_LIMIT,
                      "cpu float64 at the same momenta");
    rb_outcome_verify(o, "relative error of gradients on the way", s->trail->gradient_error, PATH_GRADIENT_LIMIT,
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

static const rb_workload_axis axes[] = {RB_LANDMARK_AXES};
const rb_workload rb_workload_landmarks = {"landmarks",
                                           &rb_landmarks_family,
                                           rb_landmark_case_predict,
                                           rb_landmark_case_footprint,
                                           setup,
                                           run,
                                           poison,
                                           verify,
                                           teardown,
                                           axes,
                                           NULL};
const rb_workload rb_workload_landmarks_pictures = {"landmarks-pictures",
                                                    &rb_landmarks_family,
                                                    rb_landmark_case_predict,
                                                    rb_landmark_case_footprint,
                                                    setup_pictures,
                                                    run,
                                                    poison,
                                                    verify,
                                                    teardown,
                                                    axes,
                                                    NULL};
