/* SPDX-License-Identifier: BSD-3-Clause */
/* What the workloads on landmarks share: options by a case's axes, and a solver of a variant's configuration. */
#ifndef RB_LANDMARK_CASE_H
#define RB_LANDMARK_CASE_H

#include "experiments/runner/workloads/workload.h"
#include "solvers/landmarks/landmarks.h"

/* Axes steps (40), evaluations (400), lambda (250000), sigma (1.5), strictly read; RB_EINVAL. */
rb_status rb_landmark_case_options(const rb_case *c, rb_landmarks_options *out);
/* Points [dim][n] on the host. */
rb_status rb_landmark_case_create(const rb_landmarks_config *config, const rb_landmarks_options *o, int64_t n,
                                  int dim, const double *template_points, const double *target, rb_landmarks **out);
/* Bytes on the backend that one such solver of n points in 3D takes. */
size_t rb_landmark_case_bytes(const rb_case *c, int64_t n);
#endif
