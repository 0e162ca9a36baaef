/* SPDX-License-Identifier: BSD-3-Clause */
#include "kernels/base/statistics.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int ascending(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}
double rb_median(double *values, int n) {
  qsort(values, (size_t)n, sizeof *values, ascending);
  return n % 2 ? values[n / 2] : 0.5 * (values[n / 2 - 1] + values[n / 2]);
}

void rb_order_statistics(const double *values, int n, double *median, double *low, double *high) {
  double sorted[RB_STATISTICS_MOST];
  if (n > RB_STATISTICS_MOST) n = RB_STATISTICS_MOST;
  memcpy(sorted, values, (size_t)n * sizeof *sorted);
  *median = rb_median(sorted, n); /* sorts */
  /* ranks j, k (from 1) that hold the median with 95 %: n/2 -+ 1.96 sqrt(n)/2 (binomial, normal approximation) */
  int j = (int)floor(0.5 * n - 0.98 * sqrt(n)), k = (int)ceil(1 + 0.5 * n + 0.98 * sqrt(n));
  if (j < 1) j = 1;
  if (k > n) k = n;
  *low = sorted[j - 1], *high = sorted[k - 1];
}

/* P(fewer values below the median than the interval's lower rank has), twice, by the binomial distribution with 1/2.
 */
double rb_order_coverage(int n) {
  int low = (int)floor(0.5 * n - 0.98 * sqrt(n)); /* the rank that rb_order_statistics takes */
  double below = 0, term = 1;
  if (low < 1) low = 1;
  for (int i = 0; i < low; i++) {
    below += term;
    term *= (double)(n - i) / (double)(i + 1);
  }
  return fmax(0, 1 - 2 * below * pow(0.5, n));
}
