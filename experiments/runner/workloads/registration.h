/* SPDX-License-Identifier: BSD-3-Clause */
/* What the verb register and the registration workloads report of a solve: metrics, tables, overlaps. */
#ifndef RB_REGISTRATION_H
#define RB_REGISTRATION_H

#include "experiments/runner/inputs/pairs.h"
#include "solvers/claire/claire.h"
#include "solvers/common/overlap.h"

#include <jansson.h>

typedef struct {
  int has_labels;
  rb_overlap before, after, after_smoothed; /* smoothed: the paper's protocol */
} rb_overlaps;

/* Transport the template's labels both ways and compare with the reference's. warped may be NULL, else [N]:
 * unsmoothed. */
rb_status rb_claire_overlaps(rb_claire *c, const rb_pair *pair, float *warped, rb_overlaps *out);

json_t *rb_overlap_json(const rb_overlap *o);
/* Iteration table as an array of objects. */
json_t *rb_iterations_json(const rb_claire_result *r);
/* Calls, model bytes and seconds a kernel class. */
json_t *rb_profile_json(const rb_profile *p);

/* The same numerics in float64 on the CPU: variant->ops points into config. */
void rb_claire_twin(const rb_variant *of, rb_claire_config *config, rb_variant *twin);
#endif
