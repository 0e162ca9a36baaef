/* SPDX-License-Identifier: BSD-3-Clause */
/* Bringing an image to another grid over the same field of view, voxel centres aligned. */
#ifndef RB_RESAMPLE_H
#define RB_RESAMPLE_H

#include "kernels/base/grid.h"
#include "kernels/base/status.h"

typedef enum {
  RB_ANTIALIAS, /* separable triangle kernel stretched by the reduction factor, mirrored border */
  RB_POINT,     /* trilinear at the new centres, border value beyond */
  RB_NEAREST    /* for labels; ties up */
} rb_resampling;

/* in: from's points; out: to's points, distinct arrays. Output u(i) = (i + 0.5) s - 0.5, s = n_in / n_out.
 * Source of the antialias rule: brunn2020's images are reproduced by it (see experiments/brunn2020). */
rb_status rb_resample(rb_resampling how, rb_grid from, const float *in, rb_grid to, float *out);
#endif
