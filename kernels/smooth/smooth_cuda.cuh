/* SPDX-License-Identifier: BSD-3-Clause */
/* What the CUDA variants of smooth share: supports, plan, weights. */
#ifndef RB_SMOOTH_CUDA_CUH
#define RB_SMOOTH_CUDA_CUH

#include "kernels/cuda/cuda.cuh"
#include "kernels/smooth/smooth.h"

#include <stdlib.h>

/* Weights that travel as an argument of a kernel. */
enum { WEIGHTS_RADIUS = 64 };
struct weights {
  /* k[d]: weight at distance d on either side. */
  int radius;
  float k[WEIGHTS_RADIUS + 1];
};
static inline weights weights_of(const rb_smooth_kernel *k) {
  weights w = {};
  w.radius = k->radius;
  for (int d = 0; d <= k->radius; d++) w.k[d] = (float)k->k[d];
  return w;
}

/* A field as lines along the filtered axis: [lines][length][inner]. */
struct view {
  /* lines: components times the axes before; inner: values of the axes behind, by which neighbours of a line are
   * apart. */
  int64_t lines, inner;
  int length;
};
static inline view view_of(const rb_smooth_desc *d, int axis) {
  view v = {d->components, 1, (int)d->grid.n[axis]};
  for (int a = 0; a < axis; a++) v.lines *= d->grid.n[a];
  for (int a = axis + 1; a < 3; a++) v.inner *= d->grid.n[a];
  return v;
}

/* A line with its borders must fit 48 KB of shared memory (A2). */
static inline rb_status smooth_supports(const rb_smooth_desc *d) {
  if (d->dtype != RB_F32) return RB_FAIL(RB_EUNSUPPORTED, "the CUDA variants are float32 only");
  for (int a = 0; a < 3; a++)
    if (d->grid.n[a] > 8192) return RB_FAIL(RB_EUNSUPPORTED, "the CUDA variants end at 8192 voxels an axis");
  return RB_OK;
}
static inline rb_status smooth_plan(const rb_backend *b, const rb_smooth_desc *d, rb_smooth_plan **out) {
  (void)d;
  *out = (rb_smooth_plan *)calloc(1, sizeof **out);
  if (!*out) return RB_FAIL(RB_ENOMEM, "host memory");
  (*out)->backend = b;
  return RB_OK;
}
static inline void smooth_destroy(rb_smooth_plan *p) { free(p); }

/* A2 on any axis, and along x3 A3, too; defined by smooth_cuda_shared.cu. */
rb_status smooth_lines(const rb_smooth_plan *p, const rb_smooth_kernel *k, int axis, const void *in, void *out);

#endif
