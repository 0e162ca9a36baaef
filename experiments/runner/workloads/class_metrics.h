/* SPDX-License-Identifier: BSD-3-Clause */
/* Metrics of registered anatomies by class, the same for every kind of case. */
#ifndef RB_CLASS_METRICS_H
#define RB_CLASS_METRICS_H

#include "experiments/runner/inputs/anatomy.h"
#include "experiments/runner/workloads/workload.h"

/* overlap_CLASS_before, overlap_CLASS, dice_CLASS of wm, gm, csf, where there are four classes the cerebellum, and of
 * wm and gm together (parenchyma). before: template and reference, moved: the template after; [count][n], count 3 or
 * 4. */
void rb_outcome_classes(rb_outcome *o, rb_grid grid, int count, const float *const before[2], const float *moved);
#endif
