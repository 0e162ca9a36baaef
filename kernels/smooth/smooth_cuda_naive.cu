/* SPDX-License-Identifier: BSD-3-Clause */
/* A1 (demons2020): a thread a value; every tap is a load from global memory with its bound check. */
#include "kernels/smooth/smooth_cuda.cuh"

static __global__ void __launch_bounds__(256) naive_kernel(view v, weights w, const float *in, float *out) {
  const int64_t i = (int64_t)blockIdx.x * 256 + threadIdx.x;
  if (i >= v.lines * v.length * v.inner) return;
  /* Place along the filtered axis; the neighbours there lie `inner` values apart. */
  const int at = (int)(i / v.inner % v.length);
  float sum = 0;
  /* From the far left to the far right; what lies beyond the grid counts as 0. */
  for (int d = -w.radius; d <= w.radius; d++)
    if (at + d >= 0 && at + d < v.length) sum += w.k[d < 0 ? -d : d] * in[i + d * v.inner];
  out[i] = sum;
}

static rb_status pass(rb_smooth_plan *p, const rb_smooth_kernel *k, int axis, const void *in, void *out) {
  rb_status st = RB_OK;
  const view v = view_of(&p->desc, axis);
  RB_LAUNCH(naive_kernel, rb_blocks(v.lines * v.length * v.inner, 256), 256, 0, v, weights_of(k), (const float *)in,
            (float *)out);
done:
  return st;
}

extern "C" const rb_smooth_ops rb_smooth_cuda_naive = {smooth_supports, smooth_plan, pass,          NULL,
                                                       smooth_destroy,  0,           WEIGHTS_RADIUS};
