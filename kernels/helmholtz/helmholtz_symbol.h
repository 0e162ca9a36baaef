/* SPDX-License-Identifier: BSD-3-Clause */
/* One frequency of the periodic solve, for cpu/fftw, cuda/cufft and cuda/axes; the oracle has its own.
 * RB_DEVICE is __host__ __device__ under nvcc and empty elsewhere. */
#ifndef RB_HELMHOLTZ_SYMBOL_H
#define RB_HELMHOLTZ_SYMBOL_H

#ifdef __CUDACC__
#define RB_DEVICE __host__ __device__
#else
#define RB_DEVICE
#endif

/* u <- M^-1 u scale for a real symmetric M = lambda I + beta B: lambda = gamma - alpha sum c, B_aa = -c_a, B_ab = S_a
 * S_b; u has a real and an imaginary part. By cofactors: M is positive definite where gamma > 0, its determinant at
 * least gamma^3.
 * m: M's entries;  a: its cofactors, symmetric as M is;  over = scale / det M, expanded by the first row.
 * beta = 0: M = lambda I, three divisions are one. */
#define RB_DEFINE_HELMHOLTZ_SOLVE(REAL, SUFFIX)                                                                   \
  static inline RB_DEVICE void rb_helmholtz_solve_##SUFFIX(REAL alpha, REAL beta, REAL gamma, const REAL c[3],    \
                                                           const REAL s[3], REAL scale, REAL re[3], REAL im[3]) { \
    const REAL lambda = gamma - alpha * (c[0] + c[1] + c[2]);                                                     \
    if (beta == (REAL)0) {                                                                                        \
      const REAL over = scale / lambda;                                                                           \
      for (int a = 0; a < 3; a++) re[a] *= over, im[a] *= over;                                                   \
      return;                                                                                                     \
    }                                                                                                             \
    const REAL m00 = lambda - beta * c[0], m11 = lambda - beta * c[1], m22 = lambda - beta * c[2];                \
    const REAL m01 = beta * s[0] * s[1], m02 = beta * s[0] * s[2], m12 = beta * s[1] * s[2];                      \
    const REAL a00 = m11 * m22 - m12 * m12, a01 = m02 * m12 - m01 * m22, a02 = m01 * m12 - m02 * m11;             \
    const REAL a11 = m00 * m22 - m02 * m02, a12 = m01 * m02 - m00 * m12, a22 = m00 * m11 - m01 * m01;             \
    const REAL over = scale / (m00 * a00 + m01 * a01 + m02 * a02);                                                \
    const REAL x0 = re[0], x1 = re[1], x2 = re[2], y0 = im[0], y1 = im[1], y2 = im[2];                            \
    re[0] = over * (a00 * x0 + a01 * x1 + a02 * x2), im[0] = over * (a00 * y0 + a01 * y1 + a02 * y2);             \
    re[1] = over * (a01 * x0 + a11 * x1 + a12 * x2), im[1] = over * (a01 * y0 + a11 * y1 + a12 * y2);             \
    re[2] = over * (a02 * x0 + a12 * x1 + a22 * x2), im[2] = over * (a02 * y0 + a12 * y1 + a22 * y2);             \
  }
RB_DEFINE_HELMHOLTZ_SOLVE(float, f32)
RB_DEFINE_HELMHOLTZ_SOLVE(double, f64)

#endif
