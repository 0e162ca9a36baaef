/* SPDX-License-Identifier: BSD-3-Clause */
/* Looks at numbers that other threads change by atomics meanwhile. */
#ifndef RB_RELAXED_CUH
#define RB_RELAXED_CUH

#include "kernels/cuda/cuda.cuh"

/* A value that it has, or had, whole: no order towards other accesses. Of global memory; from compute capability 7.0
 * on (PTX ISA 6.0). */
static __device__ __forceinline__ unsigned long long rb_look_relaxed(const unsigned long long *at) {
  unsigned long long v;
#ifdef RB_CUDA_EMULATED
  emulated::load_relaxed(&v, at, sizeof v);
#else
  asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(v) : "l"(at) : "memory");
#endif
  return v;
}

#endif
