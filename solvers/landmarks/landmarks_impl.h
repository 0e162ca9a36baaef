/* What the files of the solver share. */
#ifndef RB_LANDMARKS_IMPL_H
#define RB_LANDMARKS_IMPL_H

#include "kernels/field/field.h"
#include "solvers/krylov/krylov.h"
#include "solvers/landmarks/landmarks.h"

struct rb_landmarks {
  const rb_backend *backend, *vectors;
  rb_landmarks_options options;
  int64_t n, unknowns; /* points; dim n */
  int dim;
  double dt;
  rb_gausssum_plan *sums;
  rb_field_plan *field;
  char *q, *p;                                           /* [steps][dim][n]: the flow of the last evaluation, p(0) its argument */
  void *target, *hq, *hp, *hp0, *alpha, *beta, *gradient; /* [dim][n] */
  double *sums_kept;                                     /* on the backend, behind the gradient: p0.Hp, |q(1) - target|^2 */
  char *fetched;                                         /* host: gradient and sums in one transfer */
  void *recording;                                       /* of one evaluation with its gradient, where the backend can replay */
  int evaluated;
  Vec momentum, best; /* on the backend, or on the host where a GPU's latency costs more than the arithmetic */
  Tao tao;
  double best_objective;
  double scale; /* TAO sees scale E: its first step, along minus the gradient, then has the length E / |g| */
  rb_landmarks_result *result;
  rb_landmarks_hook hook;
  void *hook_context;
  double started;
};

size_t rb_landmarks_value_size(const rb_landmarks *s);
/* Where the kept sums begin behind the gradient, bytes. */
size_t rb_landmarks_sums_offset(const rb_landmarks *s);
/* `count` doubles of the host to the backend b's array in the solver's type, and back. */
rb_status rb_landmarks_upload(const rb_landmarks *s, const rb_backend *b, const double *host, int64_t count, void *to);
rb_status rb_landmarks_download(const rb_landmarks *s, const rb_backend *b, const void *from, int64_t count, double *host);
/* At the momentum of x; the gradient goes to g, which may be NULL. */
rb_status rb_landmarks_objective(rb_landmarks *s, Vec x, double *value, double *kinetic, Vec g);
/* Mean and greatest distance between q(t) and the target. */
rb_status rb_landmarks_distances(rb_landmarks *s, int t, double *average, double *greatest);

#endif
