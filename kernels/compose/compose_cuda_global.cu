/* SPDX-License-Identifier: BSD-3-Clause */
/* B1 (demons2020): interpolation in the kernel from global memory, no reuse but what the caches offer. */
#include "kernels/compose/compose_cuda.cuh"

/* Trilinear value of one component at x, a bound check a corner. Points far outside are cut to where all corners are
 * off the grid, so that an int holds them; a corner outside counts as 0. */
static __device__ float sample(sizes g, const float *f, float x1, float x2, float x3) {
  x1 = fminf(fmaxf(x1, -2.0f), (float)g.n1 + 1), x2 = fminf(fmaxf(x2, -2.0f), (float)g.n2 + 1),
  x3 = fminf(fmaxf(x3, -2.0f), (float)g.n3 + 1);
  /* l: the first corner, t: fractions. */
  const float l1 = floorf(x1), l2 = floorf(x2), l3 = floorf(x3), t1 = x1 - l1, t2 = x2 - l2, t3 = x3 - l3;
  float sum = 0;
  for (int corner = 0; corner < 8; corner++) {
    /* Bit 0 of `corner` is the step along x1, bit 1 along x2, bit 2 along x3; the weights below follow the same
     * bits. */
    const int i = (int)l1 + (corner & 1), j = (int)l2 + (corner >> 1 & 1), k = (int)l3 + (corner >> 2);
    if (i < 0 || j < 0 || k < 0 || i >= g.n1 || j >= g.n2 || k >= g.n3) continue;
    sum += (corner & 1 ? t1 : 1 - t1) * (corner & 2 ? t2 : 1 - t2) * (corner & 4 ? t3 : 1 - t3) *
           f[((int64_t)i * g.n2 + j) * g.n3 + k];
  }
  return sum;
}

/* A thread a node, its indices from its number; each component searches its eight corners anew. */
template <int COMPONENTS>
static __global__ void __launch_bounds__(256)
    global_kernel(sizes g, float a, const float *f, const float *s, float *out) {
  const int64_t n = (int64_t)g.n1 * g.n2 * g.n3, p = (int64_t)blockIdx.x * 256 + threadIdx.x;
  if (p >= n) return;
  /* x1, x2, x3: where the field is read, in voxels. */
  const float x1 = (float)(p / g.n3 / g.n2) + a * s[p], x2 = (float)(p / g.n3 % g.n2) + a * s[n + p],
              x3 = (float)(p % g.n3) + a * s[2 * n + p];
  for (int c = 0; c < COMPONENTS; c++) {
    const float v = sample(g, f + c * n, x1, x2, x3);
    /* Compose: a s2(x) + a s1(x + a s2(x)); warp: the value itself. */
    out[c * n + p] = COMPONENTS == 1 ? v : a * (s[c * n + p] + v);
  }
}

static rb_status compose(rb_compose_plan *p, double a, const void *s1, const void *s2, void *out) {
  rb_status st = RB_OK;
  /* One launch, a thread a node. */
  RB_LAUNCH(global_kernel<3>, rb_blocks(rb_grid_points(p->desc.grid), 256), 256, 0, sizes_of(p->desc.grid), (float)a,
            (const float *)s1, (const float *)s2, (float *)out);
done:
  return st;
}
static rb_status warp(rb_compose_plan *p, const void *f, const void *s, void *out) {
  rb_status st = RB_OK;
  RB_LAUNCH(global_kernel<1>, rb_blocks(rb_grid_points(p->desc.grid), 256), 256, 0, sizes_of(p->desc.grid), 1.0f,
            (const float *)f, (const float *)s, (float *)out);
done:
  return st;
}

extern "C" const rb_compose_ops rb_compose_global = {compose_supports,
                                                     compose_plan_make,
                                                     NULL,
                                                     compose,
                                                     warp,
                                                     compose_determinant,
                                                     compose_bracket,
                                                     compose_longest,
                                                     compose_longest_end,
                                                     compose_pad,
                                                     compose_crop,
                                                     compose_destroy,
                                                     0,
                                                     0,
                                                     NULL,
                                                     NULL};
