/* SPDX-License-Identifier: BSD-3-Clause */
/* Individual shapes of brains: how a brain of NIREP differs from another, carried to a grid in MNI's world. */
#ifndef RB_BRAIN_VARIATION_H
#define RB_BRAIN_VARIATION_H

#include "datasets/volume.h"

/* The displacement that registers `subject` of NIREP (na02) to na01 by CLAIRE at 64^3, float32 on the CPU, from the
 * box of na01's brain to that of MNI152's, axis by axis. like: the grid's geometry, its axes along the world's. u
 * [3][n] in voxels of the grid, as rb_displaced_image takes it. Kept for the next call of the same subject.
 * RB_ENOTFOUND: the data set or the subject is absent; RB_EINVALID: they do not register. */
rb_status rb_brain_variation(const char *subject, rb_grid grid, const rb_volume *like, float *u);
#endif
