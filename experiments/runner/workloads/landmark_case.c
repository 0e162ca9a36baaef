/* SPDX-License-Identifier: BSD-3-Clause */
#include "experiments/runner/workloads/landmark_case.h"

#include "experiments/runner/base/interrupt.h"
#include "experiments/runner/workloads/measure.h"

rb_status rb_landmark_case_options(const rb_case *c, rb_landmarks_options *o) {
  rb_status st = RB_OK;
  double steps, evaluations;
  *o = rb_landmarks_defaults();
  o->interrupted = &rb_interrupted;
  RB_TRY(rb_case_number(c, "steps", o->steps, &steps));
  RB_TRY(rb_case_number(c, "evaluations", o->evaluations, &evaluations));
  RB_TRY(rb_case_number(c, "lambda", o->lambda, &o->lambda));
  RB_TRY(rb_case_number(c, "sigma", o->sigma, &o->sigma));
  o->steps = (int)steps, o->evaluations = (int)evaluations;
done:
  return st;
}

rb_status rb_landmark_case_create(const rb_landmarks_config *config, const rb_landmarks_options *options, int64_t n,
                                  int dim, const double *template_points, const double *target, rb_landmarks **out) {
  rb_status st = RB_OK;
  const rb_variant *v;
  rb_landmarks_options o = *options;
  o.dtype = config->dtype;
  RB_TRY(rb_variant_find(&rb_gausssum_family, config->gausssum, &v));
  RB_TRY(rb_landmarks_create(v, &o, n, dim, template_points, target, out));
done:
  return st;
}

size_t rb_landmark_case_bytes(const rb_case *c, int64_t n) {
  const rb_landmarks_config *config = c->variant->ops;
  const rb_variant *sums;
  rb_landmarks_options o;
  size_t bytes = 0;
  if (config && rb_landmark_case_options(c, &o) == RB_OK &&
      rb_variant_find(&rb_gausssum_family, config->gausssum, &sums) == RB_OK) {
    o.dtype = config->dtype;
    bytes = rb_landmarks_predict(sums, &o, n, 3);
  }
  rb_clear();
  return bytes;
}
