/* SPDX-License-Identifier: BSD-3-Clause */
/* Lists of image pairs that a user brings: CSV, or the dataset.json of a Learn2Reg task. */
#ifndef RB_PAIR_LIST_H
#define RB_PAIR_LIST_H

#include "kernels/base/status.h"

typedef struct {
  char *name; /* of the pair, a folder's name */
  /* files, relative to the working folder; NULL: none */
  char *fixed, *moving, *fixed_labels, *moving_labels, *fixed_points, *moving_points;
  int points_in_voxels; /* indices of each image's own voxels; else mm */
} rb_listed_pair;

/* .csv: the first row names the columns, fixed and moving and of name, fixed_labels, moving_labels, fixed_points,
 * moving_points those that there are; values may stand between double quotes; files are relative to the list's
 * folder. .json: the pairs of registration_val (else registration_test, else pairings), with the label maps of
 * labelsTr or labelsTs and the points of keypointsTr or keypointsTs (NAME.csv, in voxels) where these folders have
 * them for both images. Every file is there. RB_ENOTFOUND, RB_EFORMAT: what
 * is missing, in which row. */
rb_status rb_pair_list_read(const char *path, rb_listed_pair **out, int *count);
void rb_pair_list_free(rb_listed_pair *pairs, int count);
#endif
