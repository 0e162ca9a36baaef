/* SPDX-License-Identifier: BSD-3-Clause */
#include "experiments/runner/workloads/class_metrics.h"

#include "experiments/runner/inputs/brains.h"

void rb_outcome_classes(rb_outcome *o, rb_grid grid, int count, const float *const before[2], const float *moved) {
  static const char *const names[][3] = {{"overlap_wm_before", "overlap_wm", "dice_wm"},
                                         {"overlap_gm_before", "overlap_gm", "dice_gm"},
                                         {"overlap_csf_before", "overlap_csf", "dice_csf"},
                                         {"overlap_cerebellum_before", "overlap_cerebellum", "dice_cerebellum"},
                                         {"overlap_parenchyma_before", "overlap_parenchyma", "dice_parenchyma"}};
  rb_class_overlap was[RB_BRAIN_CLASSES + 2], is[RB_BRAIN_CLASSES + 2];
  rb_class_overlaps(grid, count, before[0], before[1], was);
  rb_class_overlaps(grid, count, moved, before[1], is);
  for (int k = 0; k < 5; k++) {
    const int c = k == 4 ? count + 1 : k;
    if (k == 3 && count < RB_BRAIN_CLASSES) continue;
    rb_outcome_metric(o, names[k][0], was[c].printed, "1",
                      "|A n B| / |B| by the most probable class, B the reference");
    rb_outcome_metric(o, names[k][1], is[c].printed, "1", "the same after");
    rb_outcome_metric(o, names[k][2], is[c].dice, "1", "2 |A n B| / (|A| + |B|) after");
    if (k == 4)
      rb_outcome_metric(o, "gain_parenchyma", is[c].printed - was[c].printed, "1", "overlap after - before");
  }
}
