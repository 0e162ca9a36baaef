/* SPDX-License-Identifier: BSD-3-Clause */
/* What the kernels of cuda/direct share: a block is LANES x ROWS threads, a thread takes V neighbouring values of x3
 * through a column of planes. */
#ifndef RB_DERIVATIVE_DIRECT_CUH
#define RB_DERIVATIVE_DIRECT_CUH

#include "kernels/derivative/derivative_fd.cuh"

/* A warp is LANES threads along x3. RESIDENT: blocks wanted on a multiprocessor. */
enum { LANES = 32, ROWS = 8, THREADS = LANES * ROWS, RESIDENT = 2 };

template <int V>
struct __align__(sizeof(float) * V) pack {
  float v[V];
};
/* V neighbouring values by one access; `at` must be a multiple of V, and f aligned to V floats. */
template <int V>
static __device__ __forceinline__ pack<V> load(const float *__restrict__ f, int64_t at) {
  return *reinterpret_cast<const pack<V> *>(f + at);
}
/* Results are not read again here: leave the cache to the field. */
static __device__ __forceinline__ void put(float *f, int64_t at, pack<4> p) {
  __stcs(reinterpret_cast<float4 *>(f + at), make_float4(p.v[0], p.v[1], p.v[2], p.v[3]));
}
static __device__ __forceinline__ void put(float *f, int64_t at, pack<1> p) { __stcs(f + at, p.v[0]); }

/* One pair of taps for each of V values: the rounded difference, times its coefficient. */
template <int V>
static __device__ __forceinline__ void add(pack<V> *d, float c, pack<V> up, pack<V> down) {
#pragma unroll
  for (int v = 0; v < V; v++) d->v[v] += c * (up.v[v] - down.v[v]);
}

/* The stencil along x3 of four values between their neighbours. */
static __device__ __forceinline__ pack<4> along_window(pack<4> left, pack<4> middle, pack<4> right,
                                                       const float c[HALO]) {
  /* Twelve neighbours in registers, of which the middle four are differentiated; HALO = 4 on either side suffices. */
  float window[12];
  pack<4> d = {};
#pragma unroll
  for (int v = 0; v < 4; v++) window[v] = left.v[v], window[4 + v] = middle.v[v], window[8 + v] = right.v[v];
#pragma unroll
  for (int v = 0; v < 4; v++)
#pragma unroll
    for (int l = 1; l <= HALO; l++) d.v[v] += c[l - 1] * (window[v + HALO + l] - window[v + HALO - l]);
  return d;
}

#endif
