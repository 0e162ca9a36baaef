/* SPDX-License-Identifier: BSD-3-Clause */
/* Float32 weights and cells shared by the CUDA variants of interp. */
#ifndef RB_INTERP_WEIGHTS_CUH
#define RB_INTERP_WEIGHTS_CUH

#include "kernels/cuda/cuda.cuh"
#include "kernels/interp/interp.h"

/* Weights at fraction t of a cell, for nodes 0, 1 (linear) or -1 .. 2 (cubic). The B-spline's third weight is what
 * the others leave of 1. */
template <int BASIS>
static __device__ __forceinline__ void basis_weights(float t, float w[4]) {
  float u = 1.0f - t;
  if (BASIS == RB_LINEAR) {
    w[0] = u, w[1] = t;
  } else if (BASIS == RB_LAGRANGE) {
    float outer = t * u * (1.0f / 6.0f), inner = 0.5f * (1.0f + t) * (2.0f - t);
    w[0] = -outer * (2.0f - t), w[1] = inner * u, w[2] = inner * t, w[3] = -outer * (1.0f + t);
  } else {
    w[0] = u * u * u * (1.0f / 6.0f), w[3] = t * t * t * (1.0f / 6.0f);
    w[1] = 2.0f / 3.0f - 0.5f * t * t * (2.0f - t), w[2] = 1.0f - w[0] - w[1] - w[3];
  }
}

/* floor(x) as an int that is safe for any x (far points, NaN): the fraction keeps the truth. */
static __device__ __forceinline__ int cell_of(float x, float *t) {
  float f = floorf(x);
  *t = x - f;
  return (int)fminf(fmaxf(f, -1e9f), 1e9f);
}

#endif
