/* SPDX-License-Identifier: BSD-3-Clause */
/* Launch of a kernel whose blocks wait for each other. */
#ifndef RB_CUDA_COOPERATIVE_CUH
#define RB_CUDA_COOPERATIVE_CUH

#include "kernels/cuda/cuda.cuh"

/* As RB_LAUNCH, but all blocks run at the same time or the launch fails: a cooperative launch. */
#define RB_LAUNCH_COOPERATIVE(kernel, grid, block, shared_bytes, ...) \
  do {                                                                \
    cudaLaunchAttribute rb_cooperative = {};                          \
    cudaLaunchConfig_t rb_how = {};                                   \
    rb_cooperative.id = cudaLaunchAttributeCooperative;               \
    rb_cooperative.val.cooperative = 1;                               \
    rb_how.gridDim = (grid), rb_how.blockDim = (block);               \
    rb_how.dynamicSmemBytes = (shared_bytes);                         \
    rb_how.stream = rb_cuda_stream();                                 \
    rb_how.attrs = &rb_cooperative, rb_how.numAttrs = 1;              \
    RB_CUDA_TRY(RB_START_COOPERATIVE(kernel, rb_how, __VA_ARGS__));   \
  } while (0)

#endif
