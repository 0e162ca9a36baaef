/* Ours: float32 weights, the field read where it lies, planar. Weights and offsets are worked out once for the three
 * components; borders cost no branch (a corner outside gets weight 0 and a clamped place). A block takes 64 x 4 or 32 x 8 nodes and
 * DEEP planes, so that corners are found in the L1 cache. */
#include "kernels/compose/compose_cuda.cuh"

enum { DEEP = 8 };
/* Blocks wanted on a multiprocessor: as many as its threads allow (1024 on 7.5). */
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ == 750
#define RESIDENT 4
#else
#define RESIDENT 6
#endif

/* Two neighbours along an axis: places in it and weights. */
struct pair {
  int low, high;
  float w0, w1;
};
static __device__ __forceinline__ pair neighbours(float x, int n, int stride) {
  const float y = fminf(fmaxf(x, -2.0f), (float)n + 1), l = floorf(y), t = y - l;
  const int i = (int)l;
  pair q;
  q.w0 = (unsigned)i < (unsigned)n ? 1.0f - t : 0.0f;
  q.w1 = (unsigned)(i + 1) < (unsigned)n ? t : 0.0f;
  q.low = min(max(i, 0), n - 1) * stride;
  q.high = min(max(i + 1, 0), n - 1) * stride;
  return q;
}

static __device__ __forceinline__ float mix(const float *__restrict__ f, pair a, pair b, pair c) {
  const int i00 = a.low + b.low, i01 = a.low + b.high, i10 = a.high + b.low, i11 = a.high + b.high;
  const float v00 = c.w0 * __ldg(f + i00 + c.low) + c.w1 * __ldg(f + i00 + c.high), v01 = c.w0 * __ldg(f + i01 + c.low) + c.w1 * __ldg(f + i01 + c.high);
  const float v10 = c.w0 * __ldg(f + i10 + c.low) + c.w1 * __ldg(f + i10 + c.high), v11 = c.w0 * __ldg(f + i11 + c.low) + c.w1 * __ldg(f + i11 + c.high);
  return a.w0 * (b.w0 * v00 + b.w1 * v01) + a.w1 * (b.w0 * v10 + b.w1 * v11);
}

template <int COMPONENTS, int W>
static __global__ void __launch_bounds__(WIDE *HIGH, RESIDENT) planar_kernel(sizes g, float scale, const float *__restrict__ f, const float *__restrict__ s, float *__restrict__ out) {
  const int k = blockIdx.x * W + threadIdx.x, j = blockIdx.y * (WIDE * HIGH / W) + threadIdx.y, first = blockIdx.z * DEEP;
  if (j >= g.n2 || k >= g.n3) return;
  const int plane = g.n2 * g.n3, here = j * g.n3 + k, last = min(first + DEEP, g.n1);
  const int64_t n = (int64_t)g.n1 * plane;
#pragma unroll 1 /* few registers, many warps: measured faster than loads of several planes ahead */
  for (int i = first; i < last; i++) {
    const int64_t to = (int64_t)i * plane + here;
    const float d[3] = {scale * __ldcs(s + to), scale * __ldcs(s + n + to), scale * __ldcs(s + 2 * n + to)};
    const pair a = neighbours((float)i + d[0], g.n1, plane), b = neighbours((float)j + d[1], g.n2, g.n3), c = neighbours((float)k + d[2], g.n3, 1);
    if (COMPONENTS == 1)
      __stcs(out + to, mix(f, a, b, c));
    else
#pragma unroll
      for (int e = 0; e < 3; e++) __stcs(out + e * n + to, fmaf(scale, mix(f + e * n, a, b, c), d[e]));
  }
}

/* Long rows of nodes where they waste no more threads than short ones. */
template <int COMPONENTS>
static rb_status launch(rb_grid g, float scale, const void *f, const void *s, void *out) {
  rb_status st = RB_OK;
  if (rb_blocks(g.n[2], 2 * WIDE) * 2 == rb_blocks(g.n[2], WIDE) && rb_blocks(g.n[1], HIGH / 2) < 65536)
    RB_LAUNCH((planar_kernel<COMPONENTS, 2 * WIDE>), dim3(rb_blocks(g.n[2], 2 * WIDE), rb_blocks(g.n[1], HIGH / 2), rb_blocks(g.n[0], DEEP)), dim3(2 * WIDE, HIGH / 2), 0,
              sizes_of(g), scale, (const float *)f, (const float *)s, (float *)out);
  else
    RB_LAUNCH((planar_kernel<COMPONENTS, WIDE>), tiles_of(g, DEEP), dim3(WIDE, HIGH), 0, sizes_of(g), scale, (const float *)f, (const float *)s, (float *)out);
done:
  return st;
}
static rb_status compose(rb_compose_plan *p, double a, const void *s1, const void *s2, void *out) { return launch<3>(p->desc.grid, (float)a, s1, s2, out); }
static rb_status warp(rb_compose_plan *p, const void *f, const void *s, void *out) { return launch<1>(p->desc.grid, 1.0f, f, s, out); }

extern "C" const rb_compose_ops rb_compose_planar = {compose_supports, compose_plan_make, NULL, compose, warp, compose_determinant, compose_bracket,
                                                     compose_longest, compose_longest_end, compose_pad, compose_crop, compose_destroy, 0};
