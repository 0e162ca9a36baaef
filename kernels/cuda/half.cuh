/* SPDX-License-Identifier: BSD-3-Clause */
/* fp16 numbers, two in a word with the first in its lower half, and matrix products of them. From compute capability
 * 8.0 on an instruction each; before, and where kernels are executed on a CPU, plain arithmetic. */
#ifndef RB_CUDA_HALF_CUH
#define RB_CUDA_HALF_CUH

#include "kernels/cuda/language.cuh"

#if !defined(RB_CUDA_EMULATED) && defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
#define RB_HALF_INSTRUCTIONS 1
#else
#define RB_HALF_INSTRUCTIONS 0
#endif

/* Bits of the nearest fp16 number, halves to even; beyond 65504 infinite. */
[[maybe_unused]] static __device__ __forceinline__ unsigned rb_half_bits(float x) {
  const unsigned u = __float_as_uint(x), sign = u >> 16 & 0x8000u, size = u & 0x7FFFFFFFu;
  if (size > 0x7F800000u) return sign | 0x7E00u;
  if (size >= 0x47800000u) return sign | 0x7C00u; /* 65536 */
  /* Below 2^-14 whole multiples of 2^-24. */
  if (size < 0x38800000u) return sign | (unsigned)__float2int_rn(__uint_as_float(size) * 16777216.0f);
  return sign | (size + 0x0FFFu + (size >> 13 & 1u) - 0x38000000u) >> 13;
}
[[maybe_unused]] static __device__ __forceinline__ float rb_half_value(unsigned bits) {
  const unsigned sign = (bits & 0x8000u) << 16, size = bits & 0x7FFFu;
  if (size >= 0x7C00u) return __uint_as_float(sign | 0x7F800000u | (size & 0x3FFu) << 13);
  if (size >= 0x0400u) return __uint_as_float(sign | ((size << 13) + 0x38000000u));
  return (sign ? -1.0f : 1.0f) * (float)size * (1.0f / 16777216.0f);
}

/* Both rounded to the nearest. */
[[maybe_unused]] static __device__ __forceinline__ unsigned rb_half_pack(float first, float second) {
#if RB_HALF_INSTRUCTIONS
  unsigned word;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(second), "f"(first));
  return word;
#else
  return rb_half_bits(second) << 16 | rb_half_bits(first);
#endif
}
[[maybe_unused]] static __device__ __forceinline__ float2 rb_half_unpack(unsigned word) {
#if RB_HALF_INSTRUCTIONS
  float2 v;
  asm("{ .reg .f16 first, second; mov.b32 {first, second}, %2; cvt.f32.f16 %0, first; cvt.f32.f16 %1, second; }"
      : "=f"(v.x), "=f"(v.y)
      : "r"(word));
  return v;
#else
  return make_float2(rb_half_value(word & 0xFFFFu), rb_half_value(word >> 16));
#endif
}
/* 2^x of both; the instruction's relative error is at most 2^-9.9 (PTX ISA 9.0). */
[[maybe_unused]] static __device__ __forceinline__ unsigned rb_half_exp2(unsigned word) {
#if RB_HALF_INSTRUCTIONS
  unsigned y;
  asm("ex2.approx.f16x2 %0, %1;" : "=r"(y) : "r"(word));
  return y;
#else
  const float2 v = rb_half_unpack(word);
  return rb_half_pack(rb_exp2_approx(v.x), rb_exp2_approx(v.y));
#endif
}

/* d += A B by a warp: A 16 x 16, B 16 x 8, fp16; d 16 x 8, float32. With lane = 4 g + q:
 *   a[0], a[1]  rows g and g + 8 of A, columns 2q and 2q + 1;   a[2], a[3]  the same, columns 2q + 8 and 2q + 9
 *   b[0]        column g of B, rows 2q and 2q + 1;              b[1]        the same, rows 2q + 8 and 2q + 9
 *   d[0], d[1]  row g, columns 2q and 2q + 1;                   d[2], d[3]  row g + 8
 * All lanes call. Source: PTX ISA, mma.m16n8k16. */
[[maybe_unused]] static __device__ __forceinline__ void rb_half_multiply(float d[4], const unsigned a[4], unsigned b0,
                                                                         unsigned b1) {
#if RB_HALF_INSTRUCTIONS
  asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
#else
  const int lane = (int)threadIdx.x % 32, g = lane / 4, q = lane % 4;
  for (int k = 0; k < 4; k++) {
    /* Columns 2k, 2k + 1, 2k + 8, 2k + 9 of A for the lane's two rows; these rows of B for its two columns. */
    for (int far = 0; far < 2; far++) {
      const unsigned b = far ? b1 : b0;
      const float2 low = rb_half_unpack(__shfl_sync(~0u, a[2 * far], 4 * g + k)),
                   high = rb_half_unpack(__shfl_sync(~0u, a[2 * far + 1], 4 * g + k)),
                   left = rb_half_unpack(__shfl_sync(~0u, b, 8 * q + k)),
                   right = rb_half_unpack(__shfl_sync(~0u, b, 8 * q + 4 + k));
      d[0] += low.x * left.x + low.y * left.y, d[1] += low.x * right.x + low.y * right.y;
      d[2] += high.x * left.x + high.y * left.y, d[3] += high.x * right.x + high.y * right.y;
    }
  }
#endif
}

#endif
