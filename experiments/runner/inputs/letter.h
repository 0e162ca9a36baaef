/* SPDX-License-Identifier: BSD-3-Clause */
/* A letter C of one plane, and a small part of it (ha2009 Figure 1). */
#ifndef RB_LETTER_H
#define RB_LETTER_H

#include "experiments/runner/inputs/pairs.h"

/* Grid 1 x n x n: the C is a ring of 20/128 to 36/128 n around the centre without 40 degrees to either side of its
 * opening along x3, the part what lies 140 degrees and more from there; both blurred by a Gaussian of n/128 voxels.
 * Template: the part; reference: the C. RB_EINVAL: another shape of grid. */
rb_status rb_letter_pair(rb_grid grid, rb_pair *out);
#endif
