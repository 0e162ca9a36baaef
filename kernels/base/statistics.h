/* SPDX-License-Identifier: BSD-3-Clause */
/* Order statistics of measured values. */
#ifndef RB_BASE_STATISTICS_H
#define RB_BASE_STATISTICS_H

#ifdef __cplusplus
extern "C" {
#endif

enum { RB_STATISTICS_MOST = 512 };

/* Median of n values; reorders them. */
double rb_median(double *values, int n);
/* Median and its distribution-free 95 % interval of the first RB_STATISTICS_MOST of n values (not reordered). n = 1:
 * all equal. */
void rb_order_statistics(const double *values, int n, double *median, double *low, double *high);
/* Probability that the interval of rb_order_statistics for n values holds the median: below 95 % for fewer than 6. */
double rb_order_coverage(int n);

#ifdef __cplusplus
}
#endif
#endif
