/* SPDX-License-Identifier: BSD-3-Clause */
#include "solvers/common/displacement_quality.h"

#include <math.h>

rb_determinant_summary rb_summarise_determinant(int64_t n, const float *det) {
  rb_determinant_summary s = {.least = INFINITY, .greatest = -INFINITY};
  double sum = 0, squares = 0, logs = 0, log_squares = 0;
  int64_t folds = 0;
  for (int64_t i = 0; i < n; i++) {
    const double d = (double)det[i];
    sum += d, squares += d * d;
    s.least = fmin(s.least, d), s.greatest = fmax(s.greatest, d);
    folds += !(d > 0);
    if (d > 0) logs += log(d), log_squares += log(d) * log(d);
  }
  if (!isfinite(sum)) s.least = s.greatest = NAN; /* fmin and fmax pass over a NaN */
  const double unfolded = (double)(n - folds), mean_log = logs / unfolded;
  s.mean = sum / (double)n;
  s.sd = sqrt(fmax(0, squares / (double)n - s.mean * s.mean));
  s.percent_folds = 100 * (double)folds / (double)n;
  s.log_sd = isfinite(sum) ? sqrt(fmax(0, log_squares / unfolded - mean_log * mean_log)) : NAN;
  if (!isfinite(sum)) s.sd = NAN;
  return s;
}

rb_mismatch rb_mismatch_of(int64_t n, const float *before, const float *after, const float *reference) {
  rb_mismatch m = {0, 0, 0};
  for (int64_t i = 0; i < n; i++) {
    const double f = (double)reference[i], was = (double)before[i] - f, is = (double)after[i] - f;
    m.before += was * was, m.after += is * is;
  }
  m.ratio = m.before > 0 ? m.after / m.before : 0;
  return m;
}
