/* SPDX-License-Identifier: BSD-3-Clause */
/* Real 3D transforms by cuFFT with plans kept: r [batch][n1][n2][n3] <-> c [batch][n1][n2][n3/2+1], unscaled. */
#ifndef RB_FFT_CUDA_CUH
#define RB_FFT_CUDA_CUH

#include "kernels/cuda/cuda.cuh"

#include <cufft.h>

typedef struct {
  cufftHandle forward[2], inverse[2]; /* [0] one field, [1] three fields */
  int made;
  const rb_backend *backend;
  void *work;   /* shared by the plans */
  float *stage; /* real fields that start off cuFFT's alignment, when the grid allows such */
  size_t field_bytes;
} rb_cufft;

/* Plans for one field, and for three when `three`. Real fields may
 * start anywhere: what is not aligned to 16 bytes passes through a staging copy. */
rb_status rb_cufft_create(rb_cufft *t, rb_grid grid, int three);
rb_status rb_cufft_forward(rb_cufft *t, int fields, const float *real, float2 *spectrum);
/* Destroys the spectrum. */
rb_status rb_cufft_inverse(rb_cufft *t, int fields, float2 *spectrum, float *real);
void rb_cufft_destroy(rb_cufft *t);

static inline int64_t rb_cufft_coefficients(rb_grid g) { return g.n[0] * g.n[1] * (g.n[2] / 2 + 1); }

/* Wave numbers of coefficient p. */
static __device__ __forceinline__ void rb_wavenumbers(int64_t p, int n1, int n2, int n3, float k[3]) {
  int half = n3 / 2 + 1, l = (int)(p % half), row = (int)(p / half), j = row % n2, i = row / n2;
  k[0] = (float)(2 * i < n1 ? i : 2 * i == n1 ? 0 : i - n1);
  k[1] = (float)(2 * j < n2 ? j : 2 * j == n2 ? 0 : j - n2);
  k[2] = (float)(2 * l < n3 ? l : 0);
}

#endif
