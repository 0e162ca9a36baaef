/* SPDX-License-Identifier: BSD-3-Clause */
/* Overlap of label maps: what registration papers report as Dice. */
#ifndef RB_OVERLAP_H
#define RB_OVERLAP_H

#include <stdint.h>

enum { RB_LABELS = 256 };

/* 2 |A n B| / (|A| + |B|). NaN for a label that neither map holds. */
typedef struct {
  double all;              /* A, B: voxels with any label but 0; label identity is not compared (brunn2020's Dice) */
  double label[RB_LABELS]; /* one label against itself; [0] is the background */
  double mean, least;      /* over the labels from 1 that either map holds */
  int count;               /* of those */
} rb_overlap;

/* The first value that is no whole number from 0 to RB_LABELS - 1 (a NaN is none), or -1 where all are. */
int64_t rb_overlap_first_bad(int64_t n, const float *labels);
/* a, b: n whole numbers from 0 to 255; what is none counts as background. */
rb_overlap rb_overlap_of(int64_t n, const float *a, const float *b);

#endif
