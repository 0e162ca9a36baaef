/* SPDX-License-Identifier: BSD-3-Clause */
/* cuda/naive of derivative: a thread a point, every tap from global memory. */
#include "kernels/derivative/derivative_fd.cuh"

/* Stencil along one axis: `base` is the line's first point, `at` the place in the line. Periodic, from the inner taps
 * outwards. */
static __device__ __forceinline__ float partial(const float *__restrict__ f, int64_t base, int at, int n,
                                                int64_t stride, const float c[HALO]) {
  float s = 0;
  /* Difference first, rounded, then times its coefficient. */
#pragma unroll
  for (int l = 1; l <= HALO; l++)
    s += c[l - 1] * (f[base + rb_wrap_near(at + l, n) * stride] - f[base + rb_wrap_near(at - l, n) * stride]);
  return s;
}

template <int DIVERGENCE>
static __global__ void __launch_bounds__(256)
    kernel(const float *__restrict__ in, float *__restrict__ out, int n1, int n2, int n3, fd8_coefficients k) {
  int64_t n = (int64_t)n1 * n2 * n3, p = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
  if (p >= n) return;
  /* The point's indices along x3, x2 and x1, x3 fastest. */
  int i3 = (int)(p % n3), i2 = (int)(p / n3 % n2), i1 = (int)(p / ((int64_t)n3 * n2));
  /* A gradient reads one field three times, a divergence another component for each axis. */
  int64_t plane = (int64_t)n2 * n3, step = DIVERGENCE ? n : 0;
  /* f plus the offset of the line's first point: p less the point's own place along the axis. */
  float d1 = partial(in, p - i1 * plane, i1, n1, plane, k.c[0]);
  float d2 = partial(in + step, p - (int64_t)i2 * n3, i2, n2, n3, k.c[1]);
  float d3 = partial(in + 2 * step, p - i3, i3, n3, 1, k.c[2]);
  if (DIVERGENCE) {
    /* Summed in the order of the axes. */
    out[p] = d1 + d2 + d3;
  } else {
    out[p] = d1;
    out[n + p] = d2;
    out[2 * n + p] = d3;
  }
}

/* One launch, a thread a point; nothing is allocated. */
template <int DIVERGENCE>
static rb_status run(rb_derivative_plan *p, const void *in, void *out) {
  rb_status st = RB_OK;
  rb_grid g = p->desc.grid;
  RB_LAUNCH(kernel<DIVERGENCE>, rb_blocks(rb_grid_points(g), 256), 256, 0, (const float *)in, (float *)out,
            (int)g.n[0], (int)g.n[1], (int)g.n[2], fd8_make(g));
done:
  return st;
}

extern "C" const rb_derivative_ops rb_derivative_naive_cuda = {fd8_supports, fd8_plan, run<0>, run<1>, fd8_destroy};
