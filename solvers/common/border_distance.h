/* SPDX-License-Identifier: BSD-3-Clause */
/* How far the borders of two label regions lie apart: what segmentation papers report as HD95 and mean surface
 * distance. A region's border are its voxels with a face neighbour outside the region, or at the grid's edge;
 * distances are those of voxel centres, mm, exact. */
#ifndef RB_BORDER_DISTANCE_H
#define RB_BORDER_DISTANCE_H

#include "kernels/base/grid.h"
#include "kernels/base/status.h"

typedef struct {
  double hd95;    /* the greater of both directions' 95th percentiles (linear between ranks), mm */
  double largest; /* Hausdorff distance, mm */
  double mean;    /* over the border voxels of both, each to the other border, mm */
} rb_border_distance;

/* Where voxels of a label lie in either of two maps: from low to high, and how many of them each has. */
typedef struct {
  int64_t low[3], high[3], in[2];
} rb_label_box;
/* Of all labels 0 to count - 1, at most RB_LABELS, in one pass by all cores. */
void rb_label_boxes(rb_grid grid, const float *a, const float *b, int count, rb_label_box *out);

/* Of the voxels of a and of b that hold `label`; all NaN where one holds none. spacing: mm along x1, x2, x3. box: the
 * label's. RB_ENOMEM. */
rb_status rb_border_distance_of(rb_grid grid, const double spacing[3], const float *a, const float *b, float label,
                                const rb_label_box *box, rb_border_distance *out);
#endif
