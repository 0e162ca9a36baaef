/* SPDX-License-Identifier: BSD-3-Clause */
/* What the workloads on landmarks share: options and points by a case's axes, a solver of a variant's configuration.
 */
#ifndef RB_LANDMARK_CASE_H
#define RB_LANDMARK_CASE_H

#include "datasets/points.h"
#include "experiments/runner/workloads/workload.h"
#include "solvers/landmarks/landmarks.h"

/* Axes steps (40), evaluations (400), lambda (250000), sigma (1.5), strictly read; RB_EINVAL. */
rb_status rb_landmark_case_options(const rb_case *c, rb_landmarks_options *out);
/* Points [dim][n] on the host. */
rb_status rb_landmark_case_create(const rb_landmarks_config *config, const rb_landmarks_options *o, int64_t n,
                                  int dim, const double *template_points, const double *target, rb_landmarks **out);
/* Bytes on the backend that one such solver of n points in 3D takes. */
size_t rb_landmark_case_bytes(const rb_case *c, int64_t n);
/* Limit of the objective's relative error at the momentum that a solve found. Float32 positions of 50 mm carry 4e-6
 * mm, distances at the end are some hundredths of a mm: ten times the worst of 29 recorded runs, 4.3e-5; sums taken
 * one after the other lose more the more points there are. */
double rb_landmark_case_objective_limit(const rb_variant *v);

/* Both point sets of a case, axis `points` (synthetic) or `data`: mtl, lung-1 to lung-3, synthetic-N. */
typedef struct {
  rb_landmarks_options options;
  rb_points set[2];          /* template, target */
  char sha256[65], file[48]; /* of the template's file; "": made here */
  const char *unit;          /* of coordinates and distances */
} rb_landmark_problem;
/* RB_EINVAL, RB_ENOTFOUND (absent data), RB_EFORMAT; nothing to close then. */
rb_status rb_landmark_problem_open(const rb_case *c, rb_landmark_problem *p);
rb_status rb_landmark_problem_create(const rb_landmark_problem *p, const rb_landmarks_config *config,
                                     rb_landmarks **out);
void rb_landmark_problem_close(rb_landmark_problem *p);
/* A workload's predict (backend, and the points and float64 twin on the host) and footprint. */
void rb_landmark_case_predict(const rb_case *c, int rotations, size_t *backend, size_t *host);
size_t rb_landmark_case_footprint(const rb_case *c);
/* Axes that these read. */
#define RB_LANDMARK_AXES                                                                                      \
  {"data", "mtl lung-1 lung-2 lung-3 synthetic-*"}, {"points", RB_VALUES_COUNT}, {"sigma", RB_VALUES_NUMBER}, \
      {"lambda", RB_VALUES_NUMBER}, {"steps", RB_VALUES_COUNT}, {"evaluations", RB_VALUES_COUNT}, {           \
    NULL, NULL                                                                                                \
  }
#endif
