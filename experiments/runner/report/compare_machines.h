/* SPDX-License-Identifier: BSD-3-Clause */
/* Machines side by side, from folders of their records: how many times as fast as the first each of the others is. */
#ifndef RB_COMPARE_MACHINES_H
#define RB_COMPARE_MACHINES_H

#include "experiments/runner/report/table.h"

enum { RB_MOST_MACHINES = 12 };

typedef struct {
  rb_format format;
  FILE *out;
  const char *plots; /* folder for machines.svg, .png and .dat, or NULL */
} rb_machines_options;

/* folders[0] is what the others are compared with. A row a paper, family and backend: over the cases that both
 * machines timed and that measure the same thing (rb_timed_pair_of), the geometric mean of the first's time over the
 * other's, the geometric means of both ends of its 95 % intervals, the least and the greatest. *compared: pairs of
 * times. RB_ENOTFOUND: a folder without records; RB_EFORMAT: one of several machines; RB_EIO, RB_EUNSUPPORTED (no
 * gnuplot): no plot. */
rb_status rb_compare_machines(int count, const char *const *folders, const rb_machines_options *options,
                              int *compared);
#endif
