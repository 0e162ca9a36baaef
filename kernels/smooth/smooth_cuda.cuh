/* What the CUDA variants of smooth share: supports, plan, weights, and the pass of A3, which takes any radius. */
#ifndef RB_SMOOTH_CUDA_CUH
#define RB_SMOOTH_CUDA_CUH

#include "kernels/cuda/cuda.cuh"
#include "kernels/smooth/smooth.h"

#include <stdlib.h>

struct weights {
  int radius;
  float k[RB_SMOOTH_RADIUS + 1];
};
static inline weights weights_of(const rb_smooth_kernel *k) {
  weights w = {};
  w.radius = k->radius;
  for (int d = 0; d <= k->radius; d++) w.k[d] = (float)k->k[d];
  return w;
}

/* A field as lines along the filtered axis: [lines][length][inner]. */
struct view {
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

/* A2 on any axis; A3 along x1 and x2. Defined by smooth_cuda_shared.cu and smooth_cuda_coalesced.cu. */
rb_status smooth_lines(const rb_smooth_plan *p, const rb_smooth_kernel *k, int axis, const void *in, void *out);
rb_status smooth_tiles(const rb_smooth_plan *p, const rb_smooth_kernel *k, int axis, const void *in, void *out);

/* Radius of ours compiled in for r: 3, 6, 7, 9 or 12, where one between takes the next with zero weights; 0: none up to `most`. */
static inline int compiled_radius(int r, int most) {
  static const int compiled[] = {3, 6, 7, 9, 12};
  for (size_t i = 0; i < sizeof compiled / sizeof *compiled; i++)
    if (r <= compiled[i]) return compiled[i] <= most ? compiled[i] : 0;
  return 0;
}
/* Ours, one axis; defined by smooth_cuda_passes.cu. */
rb_status smooth_march_pass(rb_smooth_plan *p, const rb_smooth_kernel *k, int axis, const void *in, void *out);

#endif
