/* SPDX-License-Identifier: BSD-3-Clause */
/* The greatest square of a vector field's lengths. */
#ifndef RB_CUDA_LONGEST_CUH
#define RB_CUDA_LONGEST_CUH

#include "kernels/cuda/cuda.cuh"

/* One wave: eight blocks of 256 threads on each of an H200's 132 multiprocessors. LONGEST_BLOCKS is fixed; on another
 * GPU it is merely another number of blocks, since the maximum does not depend on the order. */
enum { LONGEST_THREADS = 256 };
static const unsigned LONGEST_BLOCKS = 8 * 132;

/* Floats that are not negative compare as their bits do, and a NaN is above them all. The grid of threads walks over
 * the voxels in strides of itself; each keeps its greatest square. */
static __global__ void __launch_bounds__(LONGEST_THREADS)
    longest_kernel(int64_t n, const float *__restrict__ s, unsigned *most) {
  unsigned mine = 0;
  for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += (int64_t)gridDim.x * blockDim.x) {
    const float x = s[i], y = s[n + i], z = s[2 * n + i];
    /* The sign bit goes: a NaN's may be set, and the comparison is unsigned. */
    mine = max(mine, __float_as_uint(x * x + y * y + z * z) & 0x7fffffffu);
  }
  /* Butterflies within the warp, then one atomic for all its lanes. */
  for (int o = 16; o > 0; o >>= 1) mine = max(mine, __shfl_xor_sync(~0u, mine, o));
  if (threadIdx.x % 32 == 0) atomicMax(most, mine);
}
/* No more blocks than there is work for. */
static inline unsigned rb_longest_blocks(int64_t n) {
  const unsigned needed = rb_blocks(n, LONGEST_THREADS);
  return needed < LONGEST_BLOCKS ? needed : LONGEST_BLOCKS;
}

#endif
