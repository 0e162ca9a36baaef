/* SPDX-License-Identifier: BSD-3-Clause */
/* Launches and dynamic shared memory that both nvcc and the emulator's compiler understand. */
#pragma once
#include <cuda_runtime.h>
#ifdef EMULATED_ARCH
#define CUDA_LAUNCH(kernel, grid, block, shared, stream, ...) \
  emulated::launch(#kernel, false, kernel, grid, block, shared, stream, ##__VA_ARGS__)
#define CUDA_LAUNCH_COOPERATIVE(kernel, grid, block, shared, stream, ...) \
  emulated::launch(#kernel, true, kernel, grid, block, shared, stream, ##__VA_ARGS__)
#define CUDA_DYNAMIC_SHARED(type, name) EMULATED_DYNAMIC_SHARED(type, name)
#else
#define CUDA_LAUNCH(kernel, grid, block, shared, stream, ...) \
  (kernel<<<grid, block, shared, stream>>>(__VA_ARGS__), cudaGetLastError())
#define CUDA_DYNAMIC_SHARED(type, name) extern __shared__ type name[]
#endif
