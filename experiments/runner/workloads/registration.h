/* SPDX-License-Identifier: BSD-3-Clause */
/* What the verb register and the registration workloads report of a solve: metrics, tables, overlaps. */
#ifndef RB_REGISTRATION_H
#define RB_REGISTRATION_H

#include "experiments/runner/inputs/pairs.h"
#include "experiments/runner/workloads/workload.h"
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
/* Bytes on the host of a registration's images, labels and float64 twin. */
size_t rb_claire_verification_bytes(const rb_variant *variant, const rb_claire_options *options, rb_grid grid);
/* Verifies mismatch and gradient norm of a solve against its twin's; `texture`: the variant's weights have 8 bits. */
void rb_claire_verify_values(rb_outcome *o, int texture, double mismatch, double gradient, double twin_mismatch,
                             double twin_gradient, const char *against);
#endif
