/* SPDX-License-Identifier: BSD-3-Clause */
/* One pair of currents, and the energy of what is loaded, for the CUDA variants of the exact sums. */
#ifndef RB_CURRENTS_EXACT_CUH
#define RB_CURRENTS_EXACT_CUH

#include "kernels/cuda/block_sum.cuh"
#include "kernels/cuda/cuda.cuh"
#include "kernels/currents/currents.h"

#include <stdlib.h>

/* u and z of one target, not yet scaled. */
typedef struct {
  float u[3], z[3];
} pair_sums;

/* Exponent of 2 of target x and source y, and their difference; f = -log2(e) / (2 sigma^2). Differences of places
 * first: the distance keeps its digits where places lie far from 0. */
static __device__ __forceinline__ float exponent_of(float f, const float x[3], float4 y, float d[3]) {
  d[0] = x[0] - y.x, d[1] = x[1] - y.y, d[2] = x[2] - y.z;
  return f * (d[0] * d[0] + d[1] * d[1] + d[2] * d[2]);
}
/* Adds a moment m of weight k at difference d to the sums of a target that q is paired with. z lacks its factor. */
template <bool WITH_Z>
static __device__ __forceinline__ void add_weighted(float k, const float d[3], const float q[3], float4 m,
                                                    pair_sums *s) {
  s->u[0] += k * m.x, s->u[1] += k * m.y, s->u[2] += k * m.z;
  /* c = K (p . m): the weight of the difference of places. */
  if (WITH_Z) {
    const float c = k * (q[0] * m.x + q[1] * m.y + q[2] * m.z);
    s->z[0] += c * d[0], s->z[1] += c * d[1], s->z[2] += c * d[2];
  }
}
/* Adds source (y, m) to the sums of target x with pair q. */
template <bool WITH_Z>
static __device__ __forceinline__ void add_pair(float f, const float x[3], const float q[3], float4 y, float4 m,
                                                pair_sums *s) {
  float d[3];
  const float k = rb_exp2_approx(exponent_of(f, x, y, d));
  add_weighted<WITH_Z>(k, d, q, m, s);
}
static inline float exponent_factor(double sigma) { return (float)(-1.44269504088896340736 / (2 * sigma * sigma)); }

/* sum_i m_i . u_i over n vectors: partial sums of blocks. Products and sums in float64; the order depends on `values`
 * and the number of blocks alone. */
static __global__ void __launch_bounds__(RB_SUM_THREADS)
    dot_vectors(int64_t values, const float *__restrict__ m, const float *__restrict__ u, double *partial) {
  /* A thread a value in strides of the grid. */
  double sum = 0;
  for (int64_t i = (int64_t)blockIdx.x * RB_SUM_THREADS + threadIdx.x; i < values;
       i += (int64_t)gridDim.x * RB_SUM_THREADS)
    sum += (double)m[i] * (double)u[i];
  sum = rb_block_sum(sum);
  if (threadIdx.x == 0) partial[blockIdx.x] = sum;
}

/* The head of the exact variants' plans. What eval and load share; variants add to its end. */
typedef struct {
  rb_currents_plan head;
  const float *y, *m; /* the caller's */
  float *u;           /* [3][sources], for the energy */
  double *sums;       /* [RB_SUM_BLOCKS] */
} exact_plan;

static inline rb_status exact_supports(const rb_currents_desc *d) {
  if (d->dtype != RB_F32) return RB_FAIL(RB_EUNSUPPORTED, "the CUDA variants are float32 only");
  return d->method == RB_CURRENTS_EXACT ? RB_OK
                                        : RB_FAIL(RB_EUNSUPPORTED, "exact sums only; cuda/mesh has the others");
}
static inline rb_status exact_open(exact_plan *p, const rb_backend *backend, const rb_currents_desc *d) {
  rb_status st = RB_OK;
  p->head.backend = backend;
  /* The field at the sources, and room for the energy's parts, one a block. */
  RB_TRY(rb_alloc(backend, 3 * (size_t)d->sources * sizeof(float), (void **)&p->u));
  RB_TRY(rb_alloc(backend, RB_SUM_BLOCKS * sizeof(double), (void **)&p->sums));
done:
  return st;
}
static inline void exact_close(exact_plan *p) {
  rb_release(p->head.backend, p->u);
  rb_release(p->head.backend, p->sums);
}
static inline rb_status exact_energy(rb_currents_plan *head, double *kept,
                                     rb_status (*eval)(rb_currents_plan *, int64_t, const void *, const void *,
                                                       void *, void *)) {
  rb_status st = RB_OK;
  exact_plan *p = (exact_plan *)head;
  /* E = sum_i m_i . u(y_i): the field at the sources without z, then a dot product of 3 n values. */
  const int64_t values = 3 * head->desc.sources;
  const unsigned blocks = rb_sum_blocks(values);
  RB_TRY(eval(head, head->desc.sources, p->y, NULL, p->u, NULL));
  RB_LAUNCH(dot_vectors, blocks, RB_SUM_THREADS, 0, values, p->m, p->u, p->sums);
  RB_LAUNCH(rb_sum_partials, 1, RB_SUM_THREADS, 0, (int)blocks, p->sums, kept);
done:
  return st;
}

#endif
