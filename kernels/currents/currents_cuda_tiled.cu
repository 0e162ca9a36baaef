/* SPDX-License-Identifier: BSD-3-Clause */
/* Ours: exact sums of currents. A thread holds two targets in registers; the block walks over the sources by tiles in
 * shared memory, of which all threads read one at a time. 18 instructions and an exponential a pair.
 * cuda/half-exponential: the same, but the exponentials of both targets are one of two fp16 numbers; all else stays
 * float32. */
#include "kernels/cuda/half.cuh"
#include "kernels/currents/currents_exact.cuh"

/* A block of THREADS threads has THREADS HELD targets; TILE sources lie in shared memory at a time. */
enum { THREADS = 128, HELD = 2, TILE = 256 };

/* One source for both targets: one exponential instruction for the two. */
template <bool WITH_Z>
static __device__ __forceinline__ void add_two(float f, const float x[HELD][3], const float q[HELD][3], float4 y,
                                               float4 m, pair_sums s[HELD]) {
  float d[HELD][3], exponent[HELD];
#pragma unroll
  for (int h = 0; h < HELD; h++) exponent[h] = exponent_of(f, x[h], y, d[h]);
  const float2 k = rb_half_unpack(rb_half_exp2(rb_half_pack(exponent[0], exponent[1])));
  add_weighted<WITH_Z>(k.x, d[0], q[0], m, &s[0]);
  add_weighted<WITH_Z>(k.y, d[1], q[1], m, &s[1]);
}

/* Barriers: the tile is read; nobody reads it any more. f: factor of the exponent; factor: that of z. y, m [3][ns];
 * x, pair, u, z [3][n]. */
template <bool WITH_Z, bool HALF>
static __global__ void __launch_bounds__(THREADS)
    sum_all(float f, float factor, int64_t ns, const float *__restrict__ y, const float *__restrict__ m, int64_t n,
            const float *__restrict__ x, const float *__restrict__ pair, float *__restrict__ u,
            float *__restrict__ z) {
  /* Padded to four floats: one 16-byte read a place and a moment, the same for all lanes of a warp. */
  __shared__ float4 place[TILE], moment[TILE];
  float at[HELD][3], q[HELD][3] = {};
  pair_sums total[HELD] = {};
  /* Targets h THREADS apart, so that a warp loads along memory. */
  const int64_t first = (int64_t)blockIdx.x * THREADS * HELD + threadIdx.x;
#pragma unroll
  for (int h = 0; h < HELD; h++)
#pragma unroll
    for (int a = 0; a < 3; a++) {
      const int64_t i = first + h * THREADS;
      /* Beyond the last target: zeros, whose sums are not stored. */
      at[h][a] = i < n ? x[a * n + i] : 0.0f;
      if (WITH_Z) q[h][a] = i < n ? pair[a * n + i] : 0.0f;
    }
  for (int64_t begin = 0; begin < ns; begin += TILE) {
    /* The last tile may be short: the loop below ends at `count`, nothing is filled up. */
    const int count = ns - begin < TILE ? (int)(ns - begin) : TILE;
    /* Planar arrays become float4 in shared memory; loads from each plane are consecutive. */
    for (int j = threadIdx.x; j < count; j += THREADS) {
      place[j] = make_float4(y[begin + j], y[ns + begin + j], y[2 * ns + begin + j], 0.0f);
      moment[j] = make_float4(m[begin + j], m[ns + begin + j], m[2 * ns + begin + j], 0.0f);
    }
    /* The tile is whole. */
    __syncthreads();
    pair_sums part[HELD] = {}; /* a tile's own sums: fewer roundings pile up */
#pragma unroll 4
    for (int j = 0; j < count; j++) {
      if (HALF) add_two<WITH_Z>(f, at, q, place[j], moment[j], part);
        /* The exponential and the distance are not shared between the two targets; the source's eight words are. */
#pragma unroll
      for (int h = 0; h < HELD && !HALF; h++) add_pair<WITH_Z>(f, at[h], q[h], place[j], moment[j], &part[h]);
    }
#pragma unroll
    for (int h = 0; h < HELD; h++)
#pragma unroll
      for (int a = 0; a < 3; a++) total[h].u[a] += part[h].u[a], total[h].z[a] += part[h].z[a];
    /* All have read it: it may be overwritten. */
    __syncthreads();
  }
  /* z takes its factor here, once a target. */
#pragma unroll
  for (int h = 0; h < HELD; h++) {
    const int64_t i = first + h * THREADS;
    if (i >= n) continue;
#pragma unroll
    for (int a = 0; a < 3; a++) {
      u[a * n + i] = total[h].u[a];
      if (WITH_Z) z[a * n + i] = factor * total[h].z[a];
    }
  }
}

/* Allocates what the energy needs; eval itself needs nothing. */
static rb_status plan(const rb_backend *backend, const rb_currents_desc *d, rb_currents_plan **out) {
  rb_status st = RB_OK;
  exact_plan *p = (exact_plan *)calloc(1, sizeof *p);
  RB_CHECK(p, RB_ENOMEM, "host memory");
  RB_TRY(exact_open(p, backend, d));
  *out = &p->head;
  p = NULL;
done:
  if (p) exact_close(p), free(p);
  return st;
}
static void destroy(rb_currents_plan *head) {
  exact_close((exact_plan *)head);
  free(head);
}
/* Only the addresses are kept: the caller's arrays are read by eval. */
static rb_status load(rb_currents_plan *head, const void *y, const void *m) {
  exact_plan *p = (exact_plan *)head;
  p->y = (const float *)y, p->m = (const float *)m;
  return RB_OK;
}
/* One launch, a thread HELD targets. */
template <bool HALF>
static rb_status eval(rb_currents_plan *head, int64_t n, const void *x, const void *pair, void *u, void *z) {
  rb_status st = RB_OK;
  const exact_plan *p = (const exact_plan *)head;
  const double sigma = head->desc.sigma;
  const float f = exponent_factor(sigma), factor = (float)(-1 / (sigma * sigma));
  const unsigned blocks = rb_blocks(n, THREADS * HELD);
  if (z)
    RB_LAUNCH((sum_all<true, HALF>), blocks, THREADS, 0, f, factor, head->desc.sources, p->y, p->m, n,
              (const float *)x, (const float *)pair, (float *)u, (float *)z);
  else
    RB_LAUNCH((sum_all<false, HALF>), blocks, THREADS, 0, f, factor, head->desc.sources, p->y, p->m, n,
              (const float *)x, (const float *)NULL, (float *)u, (float *)NULL);
done:
  return st;
}
template <bool HALF>
static rb_status energy(rb_currents_plan *head, double *out) {
  return exact_energy(head, out, eval<HALF>);
}

extern "C" const rb_currents_ops rb_currents_tiled = {exact_supports, plan,    load, eval<false>,     energy<false>,
                                                      NULL,           destroy, 0,    RB_WEIGHTS_FULL, NULL};
extern "C" const rb_currents_ops rb_currents_half_exponential = {
    exact_supports, plan, load, eval<true>, energy<true>, NULL, destroy, 0, RB_WEIGHTS_FP16, NULL};
