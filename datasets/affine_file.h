/* SPDX-License-Identifier: BSD-3-Clause */
/* Affine maps of the world as registration programs write them. */
#ifndef RB_AFFINE_FILE_H
#define RB_AFFINE_FILE_H

#include "datasets/world.h"

/* A map that takes points of the reference to the template (as all of these programs mean it), mm right, anterior,
 * superior. Three kinds of file: ITK's text (#Insight Transform File) and ITK's binary (.mat of ANTs), of one
 * transform whose parameters are a 3 x 3 matrix and a translation, which count left and posterior; or four rows of
 * four numbers (greedy, ITK-SNAP), right and anterior. RB_ENOTFOUND; RB_EFORMAT: another kind of transform, numbers
 * that are missing or not finite, a matrix without inverse. */
rb_status rb_affine_read(const char *path, rb_affine *out);
#endif
