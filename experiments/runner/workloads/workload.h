/* SPDX-License-Identifier: BSD-3-Clause */
/* A workload turns one case of an experiment (a method at one point of the axes) into something that can be
 * predicted, set up, run, timed and verified. It never measures time itself. */
#ifndef RB_WORKLOAD_H
#define RB_WORKLOAD_H

#include "experiments/runner/inputs/inputs.h"
#include "experiments/runner/workloads/case.h"
#include "kernels/base/grid.h"
#include "kernels/registry/registry.h"

#include <jansson.h>

/* A value that a case reports, with where it comes from. */
typedef struct {
  const char *name, *unit, *formula;
  double value;
} rb_metric;

/* A verification: the case is valid when every error is at most its limit (a NaN is not). */
typedef struct {
  const char *name, *against;
  double value, limit;
} rb_verification;

enum { RB_CASE_VALUES = 64 };
typedef struct {
  rb_metric metrics[RB_CASE_VALUES];
  int metric_count;
  rb_verification verifications[RB_CASE_VALUES];
  int verification_count;
  double flops, bytes;             /* useful work of one run, the family's model */
  double pairs;                    /* of points, evaluated by one run; 0: the workload has none */
  double paper_flops, paper_bytes; /* the paper's own count of the same run; 0: it has none */
  rb_data_source data;             /* what was read */
  json_t *details;                 /* whatever else the record should hold, or NULL; the record takes it */
} rb_outcome;

void rb_outcome_metric(rb_outcome *o, const char *name, double value, const char *unit, const char *formula);
/* The image that was read; file NULL: none. */
void rb_outcome_data(rb_outcome *o, const char *file, const char *sha256);
void rb_outcome_verify(rb_outcome *o, const char *name, double value, double limit, const char *against);

typedef struct rb_workload {
  const char *kind;
  const rb_family *family;
  /* Bytes on the backend that setup will ask for; host bytes likewise. */
  void (*predict)(const rb_case *c, int rotations, size_t *backend_bytes, size_t *host_bytes);
  /* Bytes that one rotation's buffers hold: rotation goes on until they exceed twice the cache. */
  size_t (*footprint)(const rb_case *c);
  rb_status (*setup)(const rb_case *c, const rb_backend *backend, int rotations, void **state);
  /* One timed execution on rotation `turn`. */
  rb_status (*run)(void *state, int turn);
  rb_status (*poison)(void *state, int turn);
  /* Check the output of `turn` and add errors, metrics and the work model. */
  rb_status (*verify)(void *state, int turn, rb_outcome *outcome);
  void (*teardown)(void *state); /* takes NULL */
} rb_workload;

rb_status rb_workload_find(const char *kind, const rb_workload **out);
/* The axes that a kind of workload reads, separated by blanks; "" for rows of printed values, which read none. */
const char *rb_workload_axes(const char *kind);
/* Whether `axis` is among them. */
int rb_workload_reads(const char *kind, const char *axis);

/* The values that a kind takes of an axis it reads, separated by blanks and with * and ? as in file names ("SET": any
 * data set that the suite knows); RB_VALUES_NUMBER or RB_VALUES_COUNT; NULL where the kind does not read the axis. */
#define RB_VALUES_NUMBER "a finite number"
#define RB_VALUES_COUNT "a whole number from 1 on"
const char *rb_workload_values(const char *kind, const char *axis);

extern const rb_workload rb_workload_interp, rb_workload_interp_eval, rb_workload_prefilter, rb_workload_gradient,
    rb_workload_divergence, rb_workload_partial, rb_workload_copy, rb_workload_copy_halo, rb_workload_registration,
    rb_workload_registration_pictures, rb_workload_advection, rb_workload_published, rb_workload_landmarks,
    rb_workload_landmarks_pictures, rb_workload_landmarks_gradient, rb_workload_gauss_sum, rb_workload_gauss_flow,
    rb_workload_gauss_backward, rb_workload_smooth, rb_workload_smooth_x1, rb_workload_smooth_x2,
    rb_workload_smooth_x3, rb_workload_compose, rb_workload_compose_loaded, rb_workload_demons,
    rb_workload_demons_pictures, rb_workload_external, rb_workload_cohort, rb_workload_register_files;
/* The verb register as a family of programs; its workload is register-files. */
extern const rb_family rb_register_family;
#endif
