/* SPDX-License-Identifier: BSD-3-Clause */
/* Wilcoxon's signed-rank test of paired differences. */
#ifndef RB_SIGNED_RANK_H
#define RB_SIGNED_RANK_H

#include <stdint.h>

/* Two-sided p of n differences having the median 0. Zeros are left out, ties take their mean rank, and the
 * distribution is exact: over all signs of the ranks that came out. NaN: fewer than one difference is left, more than
 * RB_SIGNED_RANK_MOST, or one is NaN. */
enum { RB_SIGNED_RANK_MOST = 1000 };
double rb_signed_rank(int n, const double *differences);
/* Linear between ranks, of values sorted upwards; part 0.5: the median. NaN of none. */
double rb_quantile(int64_t n, const double *sorted, double part);
#endif
