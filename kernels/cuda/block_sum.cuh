/* SPDX-License-Identifier: BSD-3-Clause */
/* Sums of float64 values over a block and over blocks, in an order that depends on counts alone. */
#ifndef RB_BLOCK_SUM_CUH
#define RB_BLOCK_SUM_CUH

#include "kernels/cuda/cuda.cuh"

enum { RB_SUM_THREADS = 256 };
/* Partial sums of an array: enough blocks to fill any GPU, and the same number on each. */
enum { RB_SUM_BLOCKS = 1024 };

static inline unsigned rb_sum_blocks(int64_t n) {
  const unsigned blocks = rb_blocks(n, RB_SUM_THREADS);
  return blocks < (unsigned)RB_SUM_BLOCKS ? blocks : (unsigned)RB_SUM_BLOCKS;
}

/* Of the RB_SUM_THREADS threads of a block, to thread 0: each warp adds by a butterfly, lane 0 leaves the warp's sum
 * in shared memory; behind the barrier the first warp adds those. Once a kernel: a second call would need a barrier
 * before it. */
static __device__ __forceinline__ double rb_block_sum(double v) {
  /* Warps' sums. */
  __shared__ double s[RB_SUM_THREADS / 32];
  for (int o = 16; o > 0; o >>= 1) v += __shfl_xor_sync(~0u, v, o);
  if (threadIdx.x % 32 == 0) s[threadIdx.x / 32] = v;
  /* All warps have left their sums. */
  __syncthreads();
  v = threadIdx.x < RB_SUM_THREADS / 32 ? s[threadIdx.x] : 0.0;
  for (int o = 16; o > 0; o >>= 1) v += __shfl_xor_sync(~0u, v, o);
  return v;
}

/* One block: *out = sum of partial[count]. */
static __global__ void __launch_bounds__(RB_SUM_THREADS)
    rb_sum_partials(int count, const double *partial, double *out) {
  /* Thread t adds partials t, t + RB_SUM_THREADS, ... before the block's sum: a fixed order. */
  double sum = 0;
  for (int i = threadIdx.x; i < count; i += RB_SUM_THREADS) sum += partial[i];
  sum = rb_block_sum(sum);
  if (threadIdx.x == 0) *out = sum;
}

#endif
