/* SPDX-License-Identifier: BSD-3-Clause */
/* landmarks-gradient: one evaluation of the objective of geodesic shooting and its gradient.
 *
 * Verified: the gradient is the slope of the objective, and among few points that of float64. */
#include "experiments/runner/workloads/landmark_case.h"
#include "experiments/runner/workloads/solve_checks.h"
#include "experiments/runner/workloads/workload.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Limits: ten and fifteen times the worst of the recorded runs, 16 gradients (5.6e-6) and 37 slopes (6.8e-5). */
static const double GRADIENT_LIMIT = 1e-4, SLOPE_LIMIT = 1e-3;

typedef struct {
  const rb_case *c;
  rb_landmark_problem problem;
  rb_landmarks *solver;
  double *momentum, *gradient, objective;
} state;

static void teardown(void *p) {
  state *s = p;
  if (!s) return;
  rb_landmarks_destroy(s->solver);
  rb_landmark_problem_close(&s->problem);
  free(s->momentum), free(s->gradient);
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
  const size_t unknowns = (size_t)(s->problem.set[0].n * s->problem.set[0].dim);
  s->momentum = malloc(unknowns * sizeof(double));
  s->gradient = malloc(unknowns * sizeof(double));
  RB_CHECK(s->momentum && s->gradient, RB_ENOMEM, "host memory");
  /* dense sets carry each other along: as many points as fill one kernel move together */
  const double crowd = fmax(1, 0.002 * (double)s->problem.set[0].n);
  for (size_t i = 0; i < unknowns; i++)
    s->momentum[i] = (s->problem.set[1].x[i] - s->problem.set[0].x[i]) / (s->problem.options.steps * crowd);
  *out = s;
  s = NULL;
done:
  teardown(s);
  return st;
}
static rb_status run(void *p, int turn) {
  state *s = p;
  (void)turn;
  return rb_landmarks_evaluate(s->solver, s->momentum, &s->objective, s->gradient);
}
static rb_status poison(void *p, int turn) {
  state *s = p;
  (void)turn;
  memset(s->gradient, 0xFF, (size_t)(s->problem.set[0].n * s->problem.set[0].dim) * sizeof(double));
  s->objective = NAN;
  return RB_OK;
}

/* Central difference of the objective along the gradient against its length. The step changes the objective by half a
 * per cent to each side: far above float32's rounding, and the third derivative is small. */
static rb_status slope_error(state *s, double *error) {
  rb_status st = RB_OK;
  const int64_t unknowns = s->problem.set[0].n * s->problem.set[0].dim;
  double square = 0, there = 0, back = 0, *moved = malloc((size_t)unknowns * sizeof *moved);
  RB_CHECK(moved, RB_ENOMEM, "host memory");
  for (int64_t i = 0; i < unknowns; i++) square += s->gradient[i] * s->gradient[i];
  const double length = sqrt(square), step = 0.005 * s->objective / length;
  for (int side = 0; side < 2; side++) {
    for (int64_t i = 0; i < unknowns; i++)
      moved[i] = s->momentum[i] + (side ? -step : step) * s->gradient[i] / length;
    RB_TRY(rb_landmarks_evaluate(s->solver, moved, side ? &back : &there, NULL));
  }
  *error = rb_relative_error((there - back) / (2 * step), length);
done:
  free(moved);
  return st;
}

static rb_status verify(void *p, int turn, rb_outcome *o) {
  static const rb_landmarks_config exact = {"cpu/omp", RB_F64};
  enum { FEW = 4000 };
  rb_status st = RB_OK;
  state *s = p;
  const int64_t n = s->problem.set[0].n, unknowns = n * s->problem.set[0].dim;
  double slope = NAN, value, *g = NULL;
  rb_landmarks *twin = NULL;
  (void)turn;
  RB_TRY(slope_error(s, &slope));
  rb_outcome_verify(o, "gradient against the slope of the objective", slope, SLOPE_LIMIT,
                    "central difference along the gradient");
  if (n <= FEW && !rb_landmarks_sequential(s->c->variant)) {
    g = malloc((size_t)unknowns * sizeof *g);
    RB_CHECK(g, RB_ENOMEM, "host memory");
    RB_TRY(rb_landmark_problem_create(&s->problem, &exact, &twin));
    RB_TRY(rb_landmarks_evaluate(twin, s->momentum, &value, g));
    const double error = rb_relative_distance_f64(unknowns, s->gradient, g);
    rb_outcome_verify(o, "relative error of the gradient", error, GRADIENT_LIMIT, "cpu float64 at the same momentum");
    rb_outcome_metric(o, "gradient_error", error, "1", "||g - g64|| / ||g64||");
  }
  o->pairs = 2.0 * (s->problem.options.steps - 1) * (double)n * (double)n;
done:
  rb_landmarks_destroy(twin);
  free(g);
  return st;
}

static const rb_workload_axis axes[] = {RB_LANDMARK_AXES};
const rb_workload rb_workload_landmarks_gradient = {"landmarks-gradient",
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
