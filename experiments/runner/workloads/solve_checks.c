/* SPDX-License-Identifier: BSD-3-Clause */
#include "experiments/runner/workloads/solve_checks.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

rb_status rb_solve_check_uninterrupted(rb_solver_end end) {
  return end == RB_END_INTERRUPTED ? RB_FAIL(RB_EINTERRUPTED, "interrupted") : RB_OK;
}

double rb_relative_error(double value, double exact) { return fabs(value / exact - 1); }

double rb_greater_error(double a, double b) { return a == a && !(b <= a) ? b : a; }

double rb_relative_distance(int64_t n, const float *a, const float *b) {
  double off = 0, norm = 0;
  for (int64_t i = 0; i < n; i++) off += pow((double)(a[i] - b[i]), 2), norm += pow((double)b[i], 2);
  return sqrt(off / norm);
}

double rb_relative_distance_f64(int64_t n, const double *a, const double *b) {
  double off = 0, norm = 0;
  for (int64_t i = 0; i < n; i++) off += pow(a[i] - b[i], 2), norm += b[i] * b[i];
  return sqrt(off / norm);
}

rb_determinants rb_determinants_of(int64_t n, const float *det) {
  double least = INFINITY, most = -INFINITY, sum = 0;
  for (int64_t i = 0; i < n; i++)
    least = fmin(least, (double)det[i]), most = fmax(most, (double)det[i]), sum += (double)det[i];
  if (!isfinite(sum)) return (rb_determinants){NAN, NAN, NAN};
  return (rb_determinants){least, sum / (double)n, most};
}

void rb_solve_verify_orientation(rb_outcome *o, const char *name, double least) {
  rb_outcome_verify(o, name, -least, 0, "diffeomorphism");
}

void rb_solve_add_dice(rb_outcome *o, const rb_overlap *before, const rb_overlap *after, const char *how) {
  rb_outcome_metric(o, "dice_before", before->all, "1", "2 |A n B| / (|A| + |B|), union of labels");
  rb_outcome_metric(o, "dice_unsmoothed", after->all, "1", how);
  rb_outcome_metric(o, "dice_labels", after->mean, "1", "mean over labels of each label's own Dice");
}

int rb_solve_keep_if_new(float **kept, float **fresh, size_t bytes) {
  if (*kept && memcmp(*kept, *fresh, bytes) == 0) return 0;
  free(*kept);
  *kept = *fresh;
  *fresh = NULL;
  return 1;
}
