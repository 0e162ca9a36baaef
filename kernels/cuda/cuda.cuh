/* SPDX-License-Identifier: BSD-3-Clause */
/* The only places where CUDA calls are checked and kernels are launched. */
#ifndef RB_CUDA_CUH
#define RB_CUDA_CUH

#include "kernels/base/backend.h"
#include "kernels/base/grid.h"
#include "kernels/cuda/language.cuh"

/* The stream on which every kernel of the project runs. Valid once rb_cuda_backend succeeded. */
extern "C" cudaStream_t rb_cuda_stream(void);
/* What a CUDA error means for the user and what to do about it. */
extern "C" const char *rb_cuda_explain(int error);

#define RB_CUDA_TRY(call)                                                                       \
  do {                                                                                          \
    cudaError_t rb_e = (call);                                                                  \
    if (rb_e != cudaSuccess) {                                                                  \
      st = RB_FAIL(rb_e == cudaErrorMemoryAllocation ? RB_ENOMEM : RB_EDEVICE, "%s: %s", #call, \
                   rb_cuda_explain((int)rb_e));                                                 \
      goto done;                                                                                \
    }                                                                                           \
  } while (0)

/* Launch on rb_cuda_stream() and check. The function returns rb_status through `done:`. */
#define RB_LAUNCH(kernel, grid, block, shared, ...)                                                  \
  do {                                                                                               \
    cudaError_t rb_e = RB_START(kernel, (grid), (block), (shared), rb_cuda_stream(), ##__VA_ARGS__); \
    if (rb_e != cudaSuccess) {                                                                       \
      st = RB_FAIL(RB_EDEVICE, "launch of %s: %s", #kernel, cudaGetErrorString(rb_e));               \
      goto done;                                                                                     \
    }                                                                                                \
  } while (0)

/* i modulo n for any i; one conditional add in the common case of less than one period off. */
static __device__ __forceinline__ int rb_wrap_near(int i, int n) {
  if (i < 0) i += n;
  if (i >= n) i -= n;
  /* More than one period off: a division, rarely taken. */
  if ((unsigned)i >= (unsigned)n) {
    i %= n;
    if (i < 0) i += n;
  }
  return i;
}

/* Blocks of a grid along y, and along z, end here: CUDA's own limit (along x at 2^31 - 1). */
static const int RB_MOST_BLOCKS_YZ = 65535;

/* Blocks needed for `work` items, rounded up. */
static inline unsigned rb_blocks(int64_t work, int64_t per_block) {
  return (unsigned)((work + per_block - 1) / per_block);
}

#endif
