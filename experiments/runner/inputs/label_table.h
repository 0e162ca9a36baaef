/* SPDX-License-Identifier: BSD-3-Clause */
/* Two label maps of one lattice compared label by label: overlaps, and how far borders lie apart. */
#ifndef RB_LABEL_TABLE_H
#define RB_LABEL_TABLE_H

#include "solvers/common/border_distance.h"
#include "solvers/common/overlap.h"

typedef struct {
  double dice;               /* NaN: neither map holds the label */
  rb_border_distance border; /* NaN: one map alone holds it, or none */
} rb_label_row;
typedef struct {
  rb_overlap overlap;
  rb_label_row row[RB_LABELS];
  double hd95, mean_distance; /* mm, means over the labels from 1 that both maps hold; NaN: none */
} rb_label_table;

/* a, b: whole numbers from 0 to 255; spacing: mm along x1, x2, x3. RB_ENOMEM. */
rb_status rb_label_table_of(rb_grid grid, const double spacing[3], const float *a, const float *b,
                            rb_label_table *out);
#endif
