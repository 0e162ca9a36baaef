/* SPDX-License-Identifier: BSD-3-Clause */
/* landmarks-cohort: Table 1 of shooting2018 as it was made: the template is matched to every subject of a cohort, one
 * after the other, and what is reported are means over the subjects.
 *
 * Verified: for every subject the objective at the momentum found is float64's, and it fell. */
#include "experiments/runner/workloads/landmark_case.h"
#include "experiments/runner/workloads/landmark_cohort.h"
#include "experiments/runner/workloads/measure.h"
#include "experiments/runner/workloads/solve_checks.h"
#include "experiments/runner/workloads/workload.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  const rb_case *c;
  const rb_landmark_cohort *cohort;
  rb_landmarks_options options;
  int subjects;
  rb_landmarks *solver[RB_COHORT_MOST];
  rb_landmarks_result *result; /* [subjects] */
} state;

static int subjects_of(const rb_case *c) { return atoi(rb_case_axis(c, "subjects", "34")); }

static void predict(const rb_case *c, int rotations, size_t *backend, size_t *host) {
  (void)rotations;
  *backend = rb_landmark_case_bytes(c, RB_COHORT_POINTS) * (size_t)subjects_of(c);
  *host = sizeof(rb_landmark_cohort) + RB_COHORT_MOST * sizeof(rb_landmarks_result) + ((size_t)256 << 20);
}
static size_t footprint(const rb_case *c) {
  (void)c;
  return (size_t)1 << 20;
}

static void teardown(void *p) {
  state *s = p;
  if (!s) return;
  for (int k = 0; k < s->subjects; k++) rb_landmarks_destroy(s->solver[k]);
  free(s->result);
  free(s);
}

static rb_status create(const state *s, const rb_landmarks_config *config, int subject, rb_landmarks **out) {
  return rb_landmark_case_create(config, &s->options, RB_COHORT_POINTS, 3, s->cohort->template_points,
                                 s->cohort->target[subject], out);
}

static rb_status setup(const rb_case *c, const rb_backend *b, int rotations, void **out) {
  rb_status st = RB_OK;
  state *s = calloc(1, sizeof *s);
  (void)b, (void)rotations;
  RB_CHECK(s, RB_ENOMEM, "host memory");
  s->c = c;
  RB_TRY(rb_landmark_case_options(c, &s->options));
  const int subjects = subjects_of(c);
  RB_TRY(rb_landmark_cohort_make(subjects, &s->cohort));
  s->result = calloc((size_t)subjects, sizeof *s->result);
  RB_CHECK(s->result, RB_ENOMEM, "host memory");
  for (; s->subjects < subjects; s->subjects++)
    RB_TRY(create(s, c->variant->ops, s->subjects, &s->solver[s->subjects]));
  *out = s;
  s = NULL;
done:
  teardown(s);
  return st;
}

static rb_status run(void *p, int turn) {
  rb_status st = RB_OK;
  state *s = p;
  (void)turn;
  for (int k = 0; k < s->subjects; k++) {
    RB_TRY(rb_landmarks_solve(s->solver[k], NULL, NULL, &s->result[k]));
    RB_TRY(rb_solve_check_uninterrupted(s->result[k].end));
  }
done:
  return st;
}
static rb_status poison(void *p, int turn) {
  state *s = p;
  (void)turn;
  memset(s->result, 0xFF, (size_t)s->subjects * sizeof *s->result);
  return RB_OK;
}

static rb_status verify(void *p, int turn, rb_outcome *o) {
  static const rb_landmarks_config exact = {"cpu/omp", RB_F64};
  rb_status st = RB_OK;
  state *s = p;
  rb_landmarks *twin = NULL;
  double off = 0, rose = 0, mean[6] = {0}, exact_value, *momentum = malloc(3 * RB_COHORT_POINTS * sizeof *momentum);
  (void)turn;
  RB_CHECK(momentum, RB_ENOMEM, "host memory");
  rb_outcome_data(o, "na01_seg.nii.gz", s->cohort->sha256);
  for (int k = 0; k < s->subjects; k++) {
    const rb_landmarks_result *r = &s->result[k];
    RB_TRY(rb_landmarks_momentum(s->solver[k], momentum));
    RB_TRY(create(s, &exact, k, &twin));
    RB_TRY(rb_landmarks_evaluate(twin, momentum, &exact_value, NULL));
    rb_landmarks_destroy(twin);
    twin = NULL;
    off = rb_greater_error(off, rb_relative_error(r->objective, exact_value));
    rose = rb_greater_error(rose, r->objective / r->table[0].objective);
    const double values[6] = {r->average_before, r->greatest_before, r->average_after,
                              r->greatest_after, r->seconds,         r->evaluations};
    for (int q = 0; q < 6; q++) mean[q] += values[q] / s->subjects;
  }
  rb_outcome_verify(o, "relative error of the objective, worst subject", off,
                    rb_landmark_case_objective_limit(s->c->variant), "cpu float64 at the same momentum");
  rb_outcome_verify(o, "objective over its start, worst subject", rose, 1, "descent");
  rb_outcome_metric(o, "distance_before", mean[0], "mm",
                    "mean over subjects of the mean distance of corresponding points");
  rb_outcome_metric(o, "greatest_before", mean[1], "mm", "mean over subjects of the greatest");
  rb_outcome_metric(o, "distance_after", mean[2], "mm", "the same at t = 1");
  rb_outcome_metric(o, "greatest_after", mean[3], "mm", "the same at t = 1");
  rb_outcome_metric(o, "time_subject", mean[4], "s", "mean over subjects of a solve");
  rb_outcome_metric(o, "time_evaluation", mean[4] / mean[5], "s", "time_subject / mean evaluations");
  rb_outcome_metric(o, "evaluations", mean[5], "1", "mean over subjects");
  rb_outcome_metric(o, "registered", s->cohort->registered, "1",
                    "subjects whose landmarks a CLAIRE registration carried; the others by known diffeomorphisms");
done:
  rb_landmarks_destroy(twin);
  free(momentum);
  return st;
}

static const rb_workload_axis axes[] = {{"subjects", RB_VALUES_COUNT},    {"sigma", RB_VALUES_NUMBER},
                                        {"lambda", RB_VALUES_NUMBER},     {"steps", RB_VALUES_COUNT},
                                        {"evaluations", RB_VALUES_COUNT}, {NULL, NULL}};
const rb_workload rb_workload_cohort = {
    "landmarks-cohort", &rb_landmarks_family, predict, footprint, setup, run, poison, verify, teardown, axes, NULL};
