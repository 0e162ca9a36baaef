/* SPDX-License-Identifier: BSD-3-Clause */
/* Ours, in three files: smooth_cuda_march.cu filters all axes at once up to radius FUSED_MOST; smooth_cuda_passes.cu
 * one axis up to PASSES_MOST, with radii compiled in; smooth_cuda_wide.cu one axis at any radius. */
#ifndef RB_SMOOTH_CUDA_MARCH_CUH
#define RB_SMOOTH_CUDA_MARCH_CUH

#include "kernels/smooth/smooth_cuda.cuh"

enum { FUSED_MOST = 9, PASSES_MOST = 12 };

typedef struct {
  rb_smooth_plan head;
  float *taps;   /* on the backend: weights of a wide kernel; NULL where the plan will not be asked for one */
  float *staged; /* their copy on the host */
  int centre;    /* where the middle one lies */
  double sigma;  /* whose they are */
  int held;      /* how far they reach; -1: nobody's */
} march_plan;

rb_status smooth_wide_plan(const rb_backend *b, const rb_smooth_desc *d, rb_smooth_plan **out);
void smooth_wide_destroy(rb_smooth_plan *p);
rb_status smooth_wide_pass(rb_smooth_plan *p, const rb_smooth_kernel *k, int axis, const void *in, void *out);
rb_status smooth_march_pass(rb_smooth_plan *p, const rb_smooth_kernel *k, int axis, const void *in, void *out);

/* Radius compiled in for r: 3, 6, 7, 9 or 12, where one between takes the next with zero weights; 0: none up to
 * `most`. */
static inline int compiled_radius(int r, int most) {
  static const int compiled[] = {3, 6, 7, 9, PASSES_MOST};
  for (size_t i = 0; i < sizeof compiled / sizeof *compiled; i++)
    if (r <= compiled[i]) return compiled[i] <= most ? compiled[i] : 0;
  return 0;
}

#endif
