/* SPDX-License-Identifier: BSD-3-Clause */
/* Discrete Fourier transforms of a few values that a thread holds in registers, unscaled:
 *
 *   rb_dft<R, SIGN>(x):  x[k] <- sum_j x[j] exp(SIGN 2 pi i j k / R),   R one of 2, 3, 4, 5, 7, 8, 10, 12, 14, 16
 *
 * All indices are known to the compiler, so nothing is addressed in memory and factors are immediate. Products of two
 * lengths are made of transforms of both (Cooley and Tukey). */
#ifndef RB_REGISTER_DFT_CUH
#define RB_REGISTER_DFT_CUH

#include "kernels/cuda/cuda.cuh"

static __device__ __forceinline__ float2 rb_cadd(float2 a, float2 b) { return make_float2(a.x + b.x, a.y + b.y); }
static __device__ __forceinline__ float2 rb_csub(float2 a, float2 b) { return make_float2(a.x - b.x, a.y - b.y); }
static __device__ __forceinline__ float2 rb_cmul(float2 a, float2 b) {
  return make_float2(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x);
}
/* a b or, with SIGN > 0, a times the conjugate of b: `b` is a root for SIGN -1. */
template <int SIGN>
static __device__ __forceinline__ float2 rb_cturn(float2 a, float2 b) {
  return rb_cmul(a, make_float2(b.x, SIGN < 0 ? b.y : -b.y));
}
/* SIGN i a */
template <int SIGN>
static __device__ __forceinline__ float2 rb_ci(float2 a) {
  return SIGN < 0 ? make_float2(a.y, -a.x) : make_float2(-a.y, a.x);
}

template <int R>
struct rb_factors {}; /* A B = R: transforms of A first */
template <>
struct rb_factors<8> {
  enum { A = 2, B = 4 };
};
template <>
struct rb_factors<10> {
  enum { A = 2, B = 5 };
};
template <>
struct rb_factors<12> {
  enum { A = 3, B = 4 };
};
template <>
struct rb_factors<14> {
  enum { A = 2, B = 7 };
};
template <>
struct rb_factors<16> {
  enum { A = 4, B = 4 };
};

/* exp(-2 pi i j / R) for j up to (A - 1) (B - 1). */
template <int R>
static __device__ __forceinline__ float2 rb_root(int j) {
  constexpr float c16[10] = {1.0f,           0.9238795325f,  0.7071067812f,  0.3826834324f, 0.0f,
                             -0.3826834324f, -0.7071067812f, -0.9238795325f, -1.0f,         -0.9238795325f};
  constexpr float s16[10] = {0.0f,           -0.3826834324f, -0.7071067812f, -0.9238795325f, -1.0f,
                             -0.9238795325f, -0.7071067812f, -0.3826834324f, 0.0f,           0.3826834324f};
  constexpr float c14[7] = {1.0f,           0.9009688679f,  0.6234898019f, 0.2225209340f,
                            -0.2225209340f, -0.6234898019f, -0.9009688679f};
  constexpr float s14[7] = {0.0f,           -0.4338837391f, -0.7818314825f, -0.9749279122f,
                            -0.9749279122f, -0.7818314825f, -0.4338837391f};
  constexpr float c12[7] = {1.0f, 0.8660254038f, 0.5f, 0.0f, -0.5f, -0.8660254038f, -1.0f};
  constexpr float s12[7] = {0.0f, -0.5f, -0.8660254038f, -1.0f, -0.8660254038f, -0.5f, 0.0f};
  constexpr float c10[5] = {1.0f, 0.8090169944f, 0.3090169944f, -0.3090169944f, -0.8090169944f};
  constexpr float s10[5] = {0.0f, -0.5877852523f, -0.9510565163f, -0.9510565163f, -0.5877852523f};
  if (R == 16) return make_float2(c16[j], s16[j]);
  if (R == 8) return make_float2(c16[2 * j], s16[2 * j]);
  if (R == 14) return make_float2(c14[j], s14[j]);
  if (R == 12) return make_float2(c12[j], s12[j]);
  return make_float2(c10[j], s10[j]);
}

template <int R, int SIGN>
struct rb_dft_of {
  static __device__ __forceinline__ void run(float2 *x) {
    constexpr int A = rb_factors<R>::A, B = rb_factors<R>::B;
    float2 y[B][A];
    /* j = b + B a, k = k1 + A k2 */
#pragma unroll
    for (int b = 0; b < B; b++) {
#pragma unroll
      for (int a = 0; a < A; a++) y[b][a] = x[b + B * a];
      rb_dft_of<A, SIGN>::run(y[b]);
#pragma unroll
      for (int a = 1; a < A; a++)
        if (b > 0) y[b][a] = rb_cturn<SIGN>(y[b][a], rb_root<R>(a * b));
    }
#pragma unroll
    for (int k1 = 0; k1 < A; k1++) {
      float2 z[B];
#pragma unroll
      for (int b = 0; b < B; b++) z[b] = y[b][k1];
      rb_dft_of<B, SIGN>::run(z);
#pragma unroll
      for (int k2 = 0; k2 < B; k2++) x[k1 + A * k2] = z[k2];
    }
  }
};
template <int SIGN>
struct rb_dft_of<2, SIGN> {
  static __device__ __forceinline__ void run(float2 *x) {
    const float2 a = x[0], b = x[1];
    x[0] = rb_cadd(a, b), x[1] = rb_csub(a, b);
  }
};
template <int SIGN>
struct rb_dft_of<4, SIGN> {
  static __device__ __forceinline__ void run(float2 *x) {
    const float2 a = rb_cadd(x[0], x[2]), b = rb_csub(x[0], x[2]), c = rb_cadd(x[1], x[3]),
                 d = rb_ci<SIGN>(rb_csub(x[1], x[3]));
    x[0] = rb_cadd(a, c), x[1] = rb_cadd(b, d), x[2] = rb_csub(a, c), x[3] = rb_csub(b, d);
  }
};
/* Odd lengths: x[j] + x[R-j] goes with cosines, their difference, turned by i, with sines. */
template <int R, int SIGN>
static __device__ __forceinline__ void rb_dft_odd(float2 *x, const float *cosine, const float *sine) {
  constexpr int H = R / 2;
  const float2 first = x[0];
  float2 sum[H], difference[H];
#pragma unroll
  for (int j = 0; j < H; j++) {
    sum[j] = rb_cadd(x[j + 1], x[R - 1 - j]);
    difference[j] = rb_ci<SIGN>(rb_csub(x[j + 1], x[R - 1 - j]));
    x[0] = rb_cadd(x[0], sum[j]);
  }
#pragma unroll
  for (int k = 1; k <= H; k++) {
    float2 even = first, odd = make_float2(0.0f, 0.0f);
#pragma unroll
    for (int j = 1; j <= H; j++) { /* cos and sin of 2 pi j k / R by the first H of them */
      const int turn = j * k % R, at = turn <= H ? turn : R - turn;
      const float c = cosine[at - 1], s = turn <= H ? sine[at - 1] : -sine[at - 1];
      even.x += c * sum[j - 1].x, even.y += c * sum[j - 1].y;
      odd.x += s * difference[j - 1].x, odd.y += s * difference[j - 1].y;
    }
    x[k] = rb_cadd(even, odd), x[R - k] = rb_csub(even, odd);
  }
}
template <int SIGN>
struct rb_dft_of<3, SIGN> {
  static __device__ __forceinline__ void run(float2 *x) {
    constexpr float c[1] = {-0.5f}, s[1] = {0.8660254038f};
    rb_dft_odd<3, SIGN>(x, c, s);
  }
};
template <int SIGN>
struct rb_dft_of<5, SIGN> {
  static __device__ __forceinline__ void run(float2 *x) {
    constexpr float c[2] = {0.3090169944f, -0.8090169944f}, s[2] = {0.9510565163f, 0.5877852523f};
    rb_dft_odd<5, SIGN>(x, c, s);
  }
};
template <int SIGN>
struct rb_dft_of<7, SIGN> {
  static __device__ __forceinline__ void run(float2 *x) {
    constexpr float c[3] = {0.6234898019f, -0.2225209340f, -0.9009688679f},
                    s[3] = {0.7818314825f, 0.9749279122f, 0.4338837391f};
    rb_dft_odd<7, SIGN>(x, c, s);
  }
};
template <int R, int SIGN>
static __device__ __forceinline__ void rb_dft(float2 *x) {
  rb_dft_of<R, SIGN>::run(x);
}

#endif
