/* SPDX-License-Identifier: BSD-3-Clause */
/* What the workloads of whole solves measure, verify and report alike: how a solve ended, its distance to a twin in
 * float64, orientation, overlap of labels. */
#ifndef RB_SOLVE_CHECKS_H
#define RB_SOLVE_CHECKS_H

#include "experiments/runner/workloads/workload.h"
#include "solvers/common/overlap.h"
#include "solvers/solver.h"

/* RB_EINTERRUPTED where a solve was interrupted: it verifies nothing and has no time. */
rb_status rb_solve_check_uninterrupted(rb_solver_end end);

/* |value / exact - 1|. */
double rb_relative_error(double value, double exact);
/* The greater of two errors; a NaN in either stays. */
double rb_greater_error(double a, double b);
/* |a - b| / |b| over n values, l2. */
double rb_relative_distance(int64_t n, const float *a, const float *b);
double rb_relative_distance_f64(int64_t n, const double *a, const double *b);

/* Of a determinant at n voxels; all three NaN where one voxel is no finite number. */
typedef struct {
  double least, mean, most;
} rb_determinants;
rb_determinants rb_determinants_of(int64_t n, const float *det);
/* Verifies -least <= 0 under `name`, a text that stays. */
void rb_solve_verify_orientation(rb_outcome *o, const char *name, double least);

/* Metrics dice_before, dice_unsmoothed (`how` the labels were moved) and dice_labels. */
void rb_solve_add_dice(rb_outcome *o, const rb_overlap *before, const rb_overlap *after, const char *how);

/* Takes *fresh over into *kept, of `bytes` bytes, where they differ or nothing was kept: 1, and *fresh is NULL then.
 */
int rb_solve_keep_if_new(float **kept, float **fresh, size_t bytes);
#endif
