/* SPDX-License-Identifier: BSD-3-Clause */
/* Wave numbers of the coefficients of a real 3D transform (kernels/fft/fft.h), for kernels. */
#ifndef RB_WAVENUMBERS_CUH
#define RB_WAVENUMBERS_CUH

#include "kernels/cuda/cuda.cuh"

/* Of coefficient p; 0 for the highest of an even n. */
static __device__ __forceinline__ void rb_wavenumbers(int64_t p, int n1, int n2, int n3, float k[3]) {
  /* Coefficients lie as [n1][n2][n3/2+1]; i and j beyond the middle stand for negative wave numbers. */
  int half = n3 / 2 + 1, l = (int)(p % half), row = (int)(p / half), j = row % n2, i = row / n2;
  k[0] = (float)(2 * i < n1 ? i : 2 * i == n1 ? 0 : i - n1);
  k[1] = (float)(2 * j < n2 ? j : 2 * j == n2 ? 0 : j - n2);
  k[2] = (float)(2 * l < n3 ? l : 0);
}

#endif
