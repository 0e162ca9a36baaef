/* SPDX-License-Identifier: BSD-3-Clause */
#include "solvers/common/overlap.h"

#include <math.h>
#include <string.h>

/* NaN where both sets are empty: then there is nothing to overlap. */
static double dice(double both, double a, double b) { return a + b > 0 ? 2 * both / (a + b) : NAN; }

static int is_label(float value) { return value >= 0 && value < RB_LABELS && value == floorf(value); }
int64_t rb_overlap_first_bad(int64_t n, const float *labels) {
  for (int64_t i = 0; i < n; i++)
    if (!is_label(labels[i])) return i;
  return -1;
}

/* Counts in whole numbers, so the order of voxels does not matter. One pass: voxels of a label in a, in b, in both,
 * and the same for any label but the background. Labels that neither map holds take no part in mean and least; both
 * are NaN where there is none. */
rb_overlap rb_overlap_of(int64_t n, const float *a, const float *b) {
  int64_t in_a[RB_LABELS] = {0}, in_b[RB_LABELS] = {0}, both[RB_LABELS] = {0}, any_a = 0, any_b = 0, any_both = 0;
  rb_overlap o = {.least = NAN};
#pragma omp parallel for schedule(static) \
    reduction(+ : in_a[:RB_LABELS], in_b[:RB_LABELS], both[:RB_LABELS], any_a, any_b, any_both)
  for (int64_t i = 0; i < n; i++) {
    const int la = is_label(a[i]) ? (int)a[i] : 0, lb = is_label(b[i]) ? (int)b[i] : 0;
    in_a[la]++, in_b[lb]++;
    if (la == lb) both[la]++;
    any_a += la > 0, any_b += lb > 0, any_both += la > 0 && lb > 0;
  }
  o.all = dice((double)any_both, (double)any_a, (double)any_b);
  for (int l = 0; l < RB_LABELS; l++) {
    o.label[l] = dice((double)both[l], (double)in_a[l], (double)in_b[l]);
    if (l == 0 || isnan(o.label[l])) continue;
    o.mean += o.label[l];
    o.least = isnan(o.least) || o.label[l] < o.least ? o.label[l] : o.least;
    o.count++;
  }
  o.mean = o.count ? o.mean / o.count : NAN;
  return o;
}
