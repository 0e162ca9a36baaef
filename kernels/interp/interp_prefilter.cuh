/* SPDX-License-Identifier: BSD-3-Clause */
/* Prefilters of the cubic B-spline on the GPU; float32, periodic, any size. in and out differ. */
#ifndef RB_INTERP_PREFILTER_CUH
#define RB_INTERP_PREFILTER_CUH

#include "kernels/cuda/cuda.cuh"

/* The paper's: 15 taps an axis as a shared-memory stencil, three passes (brunn2020 2.3.1).
 * scratch: one field. */
rb_status rb_prefilter_stencil15(rb_grid grid, const float *in, float *out, float *scratch);
/* Ours: the exact filter to float32 rounding (12 terms either side, z^13 < 4e-8), by recursion: x3 and
 * x2 in one shared-memory tile, x1 in registers: two passes. scratch: one field. */
rb_status rb_prefilter_exact(rb_grid grid, const float *in, float *out, float *scratch);

#endif
