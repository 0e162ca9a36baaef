/* SPDX-License-Identifier: BSD-3-Clause */
/* cuda/grid of force: a thread a node; what neighbours share comes from the L1 cache. */
#include "kernels/cuda/cuda.cuh"
#include "kernels/force/force.h"

#include <stdlib.h>

/* PARTIALS: blocks of the energy's sum, eight of 256 threads on each of an H200's 132 multiprocessors: one wave. */
enum { WIDE = 32, HIGH = 8, THREADS = 256, PARTIALS = 8 * 132 };

typedef struct {
  rb_force_plan head;
  double *partial; /* [PARTIALS] */
} grid_plan;

static rb_status supports(const rb_force_desc *d) {
  if (d->dtype != RB_F32) return RB_FAIL(RB_EUNSUPPORTED, "the CUDA variants are float32 only");
  if (rb_grid_points(d->grid) >= (int64_t)1 << 31 || d->grid.n[0] > RB_MOST_BLOCKS_YZ ||
      d->grid.n[1] > RB_MOST_BLOCKS_YZ * HIGH)
    return RB_FAIL(RB_EUNSUPPORTED, "cuda/grid ends at 2^31 voxels, 65535 planes");
  return RB_OK;
}
static void destroy(rb_force_plan *head) {
  rb_release(head->backend, ((grid_plan *)head)->partial);
  free(head);
}
static rb_status plan(const rb_backend *backend, const rb_force_desc *d, rb_force_plan **out) {
  rb_status st = RB_OK;
  (void)d;
  grid_plan *p = (grid_plan *)calloc(1, sizeof *p);
  RB_CHECK(p, RB_ENOMEM, "host memory");
  p->head.backend = backend;
  RB_TRY(rb_alloc(backend, PARTIALS * sizeof(double), (void **)&p->partial));
  *out = &p->head;
  return RB_OK;
done:
  if (p) destroy(&p->head);
  return st;
}

/* A block owns 32 x 8 nodes of a plane, a thread one of them with all three components. Neighbours come through L1
 * (__ldg); what is used once, the fixed image and the force, passes by it (__ldcs, __stcs). One-sided differences at
 * the border. ratio: sigma_i / sigma_x. fixed, w (the warped image) [n], u [3][n]. */
static __global__ void __launch_bounds__(WIDE *HIGH)
    force_kernel(int n1, int n2, int n3, float ratio, const float *__restrict__ fixed, const float *__restrict__ w,
                 float *__restrict__ u) {
  const int at[3] = {(int)blockIdx.z, (int)(blockIdx.y * HIGH + threadIdx.y), (int)(blockIdx.x * WIDE + threadIdx.x)};
  if (at[1] >= n2 || at[2] >= n3) return;
  /* Offsets within a component are 32 bits: fewer than 2^31 voxels. */
  const int extent[3] = {n1, n2, n3}, stride[3] = {n2 * n3, n3, 1}, i = (at[0] * n2 + at[1]) * n3 + at[2];
  const int64_t n = (int64_t)n1 * n2 * n3;
  /* f and m are the two images at the node, d their difference. */
  const float f = __ldcs(fixed + i), m = __ldg(w + i), d = f - m;
  float slope[3], square = 0;
#pragma unroll
  for (int a = 0; a < 3; a++) {
    /* Low or high is the node itself at the border; then the difference is one-sided and its factor 1. Along an axis
     * of one node both are, and the slope is 0. */
    const int low = at[a] > 0 ? -stride[a] : 0, high = at[a] + 1 < extent[a] ? stride[a] : 0;
    slope[a] = (high - low == 2 * stride[a] ? 0.5f : 1.0f) * (__ldg(w + i + high) - __ldg(w + i + low));
    square += slope[a] * slope[a];
  }
  /* 0 where either image is 0, and where the denominator is. */
  const float under = square + ratio * ratio * d * d,
              scale = f != 0.0f && m != 0.0f && under > 0.0f ? d / under : 0.0f;
#pragma unroll
  for (int a = 0; a < 3; a++) __stcs(u + a * n + i, scale * slope[a]);
}
/* One launch over the grid; nothing is allocated. */
static rb_status force(rb_force_plan *p, double ratio, const void *fixed, const void *warped, void *u) {
  rb_status st = RB_OK;
  const rb_grid g = p->desc.grid;
  RB_LAUNCH(force_kernel, dim3(rb_blocks(g.n[2], WIDE), rb_blocks(g.n[1], HIGH), (unsigned)g.n[0]), dim3(WIDE, HIGH),
            0, (int)g.n[0], (int)g.n[1], (int)g.n[2], (float)ratio, (const float *)fixed, (const float *)warped,
            (float *)u);
done:
  return st;
}

/* Sum over the block, the same at every run. */
static __device__ double block_sum(double v) {
  /* Butterflies over each warp, then over the warps' values: a fixed order. Called once a kernel; a second call would
   * need a barrier before it. */
  __shared__ double s[THREADS / 32];
  for (int o = 16; o > 0; o >>= 1) v += __shfl_xor_sync(~0u, v, o);
  if (threadIdx.x % 32 == 0) s[threadIdx.x / 32] = v;
  /* The warps' sums are in s. */
  __syncthreads();
  v = threadIdx.x < THREADS / 32 ? s[threadIdx.x] : 0.0;
  for (int o = 16; o > 0; o >>= 1) v += __shfl_xor_sync(~0u, v, o);
  return v; /* of thread 0 */
}
/* Partial sums in strides of the whole grid, one a block; the next kernel adds them in a fixed order. */
static __global__ void __launch_bounds__(THREADS)
    energy_kernel(int64_t n, const float *__restrict__ fixed, const float *__restrict__ w, double *partial) {
  double sum = 0;
  for (int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x; i < n; i += (int64_t)gridDim.x * THREADS) {
    /* The difference in float64 is exact up to one rounding; fma adds its square. */
    const double d = (double)fixed[i] - (double)w[i];
    sum = fma(d, d, sum);
  }
  sum = block_sum(sum);
  if (threadIdx.x == 0) partial[blockIdx.x] = sum;
}
/* One block; thread t adds partials t, t + THREADS, ... first. */
static __global__ void __launch_bounds__(THREADS) reduce_partials(int count, const double *partial, double *out) {
  double sum = 0;
  for (int i = threadIdx.x; i < count; i += THREADS) sum += partial[i];
  sum = block_sum(sum);
  if (threadIdx.x == 0) *out = sum;
}
/* Two launches; the result stays on the device, in `kept`. */
static rb_status energy(rb_force_plan *head, const void *fixed, const void *warped, double *kept) {
  rb_status st = RB_OK;
  const grid_plan *p = (grid_plan *)head;
  const int64_t n = rb_grid_points(head->desc.grid);
  const unsigned blocks = rb_blocks(n, THREADS) < (unsigned)PARTIALS ? rb_blocks(n, THREADS) : (unsigned)PARTIALS;
  RB_LAUNCH(energy_kernel, blocks, THREADS, 0, n, (const float *)fixed, (const float *)warped, p->partial);
  RB_LAUNCH(reduce_partials, 1, THREADS, 0, (int)blocks, p->partial, kept);
done:
  return st;
}

extern "C" const rb_force_ops rb_force_grid = {supports, plan, force, energy, destroy};
