/* SPDX-License-Identifier: BSD-3-Clause */
#include "experiments/runner/report/signed_rank.h"

#include <math.h>
#include <stdlib.h>

static int by_size(const void *a, const void *b) {
  const double x = fabs(*(const double *)a), y = fabs(*(const double *)b);
  return (x > y) - (x < y);
}

/* P(sum of the ranks with a plus <= most), each sign by chance. ranks: doubled, so that means of ties are whole;
 * they are added one after the other to the distribution of the sum. */
static double chance_of_at_most(int n, const int *ranks, int total, int most) {
  double *p = calloc((size_t)total + 1, sizeof *p), sum = 0;
  if (!p) return NAN;
  p[0] = 1;
  for (int i = 0, reached = 0; i < n; i++) {
    reached += ranks[i];
    for (int s = reached; s >= 0; s--) p[s] = 0.5 * (p[s] + (s >= ranks[i] ? p[s - ranks[i]] : 0));
  }
  for (int s = 0; s <= most; s++) sum += p[s];
  free(p);
  return sum;
}

double rb_signed_rank(int n, const double *differences) {
  double d[RB_SIGNED_RANK_MOST];
  int ranks[RB_SIGNED_RANK_MOST], count = 0, total = 0, plus = 0;
  if (n > RB_SIGNED_RANK_MOST) return NAN;
  for (int i = 0; i < n; i++) {
    if (isnan(differences[i])) return NAN;
    if (differences[i] != 0) d[count++] = differences[i];
  }
  if (!count) return NAN;
  qsort(d, (size_t)count, sizeof *d, by_size);
  for (int i = 0, end; i < count; i = end) {
    for (end = i + 1; end < count && fabs(d[end]) == fabs(d[i]); end++) {
    }
    for (int k = i; k < end; k++) ranks[k] = i + 1 + end; /* twice the mean of i + 1 .. end */
  }
  for (int i = 0; i < count; i++) total += ranks[i], plus += d[i] > 0 ? ranks[i] : 0;
  const int less = plus < total - plus ? plus : total - plus;
  return fmin(1, 2 * chance_of_at_most(count, ranks, total, less));
}

double rb_quantile(int64_t n, const double *sorted, double part) {
  if (n < 1) return NAN;
  const double rank = part * (double)(n - 1);
  const int64_t i = (int64_t)rank;
  return i + 1 < n ? sorted[i] + (rank - (double)i) * (sorted[i + 1] - sorted[i]) : sorted[n - 1];
}
