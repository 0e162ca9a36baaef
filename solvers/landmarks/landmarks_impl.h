/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of the solver share. */
#ifndef RB_LANDMARKS_IMPL_H
#define RB_LANDMARKS_IMPL_H

#include "kernels/field/field.h"
#include "solvers/landmarks/host_vec.h"
#include "solvers/landmarks/landmarks.h"

struct rb_landmarks {
  const rb_backend *backend;
  int on_host; /* the optimiser's vectors: host_vec.h's, where a GPU's latency costs more than the arithmetic; else on
                  the backend */
  rb_landmarks_options options;
  int64_t n, unknowns; /* points; dim n */
  int dim;
  double dt;
  rb_gausssum_plan *sums;
  rb_field_plan *field;
  rb_array q, p;                    /* [steps][dim][n]: the flow of the last evaluation, p(0) its argument */
  rb_array target, hq, alpha, beta; /* [dim][n]; alpha, beta where they are worked out step by step */
  char *answer; /* what an evaluation makes, one transfer: beta(0), Hp(q0, p0), q(1) - target, each [dim][n] and
                   rb_landmarks_stride apart, */
  rb_array beta0, hp0, miss; /* these three, */
  rb_array sums_kept;        /* and p0.Hp, |q(1) - target|^2 where the vectors are on the backend */
  char *fetched;             /* the host's copy */
  float *narrow;             /* p(0) on its way from the optimiser's doubles */
  void *recording;           /* of one evaluation with its gradient, where the backend can replay */
  int evaluated;
  Vec momentum, best;
  Tao tao;
  double best_objective;
  double scale; /* TAO sees scale E: its first step, along minus the gradient, then has the length E / |g| */
  rb_landmarks_result *result;
  rb_landmarks_hook hook;
  void *hook_context;
  double started;
};

size_t rb_landmarks_value_size(const rb_landmarks *s);
/* From one of the arrays of `answer` to the next, bytes. */
size_t rb_landmarks_stride(const rb_landmarks *s);
/* Doubles of the host to an optimiser's vector, and back. */
rb_status rb_landmarks_set(const rb_landmarks *s, const double *host, Vec to);
rb_status rb_landmarks_get(const rb_landmarks *s, Vec from, double *host);
/* At the momentum of x; the gradient goes to g, which may be NULL. */
rb_status rb_landmarks_objective(rb_landmarks *s, Vec x, double *value, double *kinetic, Vec g);
/* Mean and greatest distance between q(t) and the target. */
rb_status rb_landmarks_distances(rb_landmarks *s, int t, double *average, double *greatest);

#endif
