/* SPDX-License-Identifier: BSD-3-Clause */
#include "experiments/runner/inputs/label_table.h"

#include <math.h>

rb_status rb_label_table_of(rb_grid grid, const double spacing[3], const float *a, const float *b,
                            rb_label_table *out) {
  int failed = 0, count = 0;
  double hd95 = 0, mean = 0;
  rb_label_box box[RB_LABELS];
  out->overlap = rb_overlap_of(rb_grid_points(grid), a, b);
  rb_label_boxes(grid, a, b, RB_LABELS, box);
#pragma omp parallel for schedule(dynamic) reduction(+ : failed) /* a label a thread: their boxes differ in size */
  for (int l = 0; l < RB_LABELS; l++) {
    rb_label_row *row = &out->row[l];
    *row = (rb_label_row){out->overlap.label[l], {NAN, NAN, NAN}};
    if (l > 0 && !isnan(row->dice))
      failed += rb_border_distance_of(grid, spacing, a, b, (float)l, &box[l], &row->border) != RB_OK;
  }
  if (failed) return RB_FAIL(RB_ENOMEM, "host memory for distances of labels");
  for (int l = 1; l < RB_LABELS; l++)
    if (!isnan(out->row[l].border.hd95)) count++, hd95 += out->row[l].border.hd95, mean += out->row[l].border.mean;
  out->hd95 = count ? hd95 / count : NAN, out->mean_distance = count ? mean / count : NAN;
  return RB_OK;
}
