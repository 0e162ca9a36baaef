/* SPDX-License-Identifier: BSD-3-Clause */
/* A2 (demons2020): a block loads one line of the filtered axis into shared memory, zeros at both ends, and filters it
 * there. Along x2 and x1 neighbouring threads load values a row or a plane apart: nothing coalesces, as the paper
 * shows. */
#include "kernels/smooth/smooth_cuda.cuh"

enum { THREADS = 256 };

static __global__ void __launch_bounds__(THREADS)
    line_kernel(view v, weights w, const float *__restrict__ in, float *__restrict__ out) {
  /* The line with r zeros before and behind it: length + 2 r floats, sized at the launch. */
  RB_DYNAMIC_SHARED(float, s, 4);
  /* Line number to the address of its first value: outer index, then place within `inner`. */
  const int64_t line = (int64_t)blockIdx.x, first = line / v.inner * v.length * v.inner + line % v.inner;
  const int r = w.radius;
  for (int t = threadIdx.x; t < v.length + 2 * r; t += THREADS) {
    const int at = t - r;
    s[t] = at >= 0 && at < v.length ? in[first + at * v.inner] : 0.0f;
  }
  /* The line is whole. */
  __syncthreads();
  for (int at = threadIdx.x; at < v.length; at += THREADS) {
    float sum = w.k[0] * s[r + at];
    /* Taps of equal weight are added before they are multiplied. */
    for (int d = 1; d <= r; d++) sum += w.k[d] * (s[r + at - d] + s[r + at + d]);
    out[first + at * v.inner] = sum;
  }
}

rb_status smooth_lines(const rb_smooth_plan *p, const rb_smooth_kernel *k, int axis, const void *in, void *out) {
  rb_status st = RB_OK;
  const view v = view_of(&p->desc, axis);
  const size_t shared = (size_t)(v.length + 2 * k->radius) * sizeof(float); /* below 48 KB by smooth_supports */
  RB_LAUNCH(line_kernel, (unsigned)(v.lines * v.inner), THREADS, shared, v, weights_of(k), (const float *)in,
            (float *)out);
done:
  return st;
}
static rb_status pass(rb_smooth_plan *p, const rb_smooth_kernel *k, int axis, const void *in, void *out) {
  return smooth_lines(p, k, axis, in, out);
}

extern "C" const rb_smooth_ops rb_smooth_shared = {smooth_supports, smooth_plan, pass,          NULL,
                                                   smooth_destroy,  0,           WEIGHTS_RADIUS};
