/* SPDX-License-Identifier: BSD-3-Clause */
/* Symbols of the spectral operators for cpu/fftw and cuda/cufft; the oracle has its own.
 * Every operator has the form S b = p b + q k (k.b), with q = 0 for the scalar ones.
 * RB_DEVICE is __host__ __device__ under nvcc and empty elsewhere. */
#ifndef RB_SPECTRAL_SYMBOL_H
#define RB_SPECTRAL_SYMBOL_H

#include "kernels/spectral/spectral.h"

#include <math.h>

#ifdef __CUDACC__
#define RB_DEVICE __host__ __device__
#else
#define RB_DEVICE
#endif

/* Integer powers by repeated products: exponents are small and the same for every coefficient.
 * LERAY:      p = scale, q = -scale / ((1 + beta_v / (beta_w (|k|^2 + 1))) |k|^2), q = 0 at k = 0
 * H1DIV:      p = scale beta_v |k|^2, q = scale beta_w (|k|^2 + 1)
 * GAUSSIAN:   p = scale exp(-1/2 sum_a (sigma_a h_a k_a)^2)
 * HELMHOLTZ:  p = scale (alpha |k|^2 + gamma)^power; p = null where the base is 0
 * h: spacings, k: wave numbers as REAL, whole numbers that float holds exactly up to 2^24. */
#define RB_DEFINE_SYMBOL(REAL, SUFFIX, EXP)                                                                   \
  typedef struct {                                                                                            \
    REAL p, q;                                                                                                \
  } rb_symbol_##SUFFIX;                                                                                       \
  static inline RB_DEVICE rb_symbol_##SUFFIX rb_symbol_at_##SUFFIX(const rb_spectral_op *op, const REAL h[3], \
                                                                   const REAL k[3]) {                         \
    rb_symbol_##SUFFIX s = {(REAL)op->scale, 0};                                                              \
    REAL k2 = k[0] * k[0] + k[1] * k[1] + k[2] * k[2];                                                        \
    if (op->kind == RB_OP_LERAY) {                                                                            \
      if (k2 > 0) s.q = -s.p / (((REAL)1 + (REAL)op->beta_v / ((REAL)op->beta_w * (k2 + (REAL)1))) * k2);     \
    } else if (op->kind == RB_OP_H1DIV) {                                                                     \
      s.q = s.p * (REAL)op->beta_w * (k2 + (REAL)1);                                                          \
      s.p *= (REAL)op->beta_v * k2;                                                                           \
    } else if (op->kind == RB_OP_GAUSSIAN) {                                                                  \
      REAL e = 0;                                                                                             \
      for (int a = 0; a < 3; a++) e += (REAL)op->sigma[a] * h[a] * k[a] * ((REAL)op->sigma[a] * h[a] * k[a]); \
      s.p *= EXP((REAL)-0.5 * e);                                                                             \
    } else {                                                                                                  \
      REAL base = (REAL)op->alpha * k2 + (REAL)op->gamma;                                                     \
      if (base == (REAL)0)                                                                                    \
        s.p = (REAL)op->null;                                                                                 \
      else {                                                                                                  \
        for (int e = 0; e < op->power; e++) s.p *= base;                                                      \
        for (int e = 0; e > op->power; e--) s.p /= base;                                                      \
      }                                                                                                       \
    }                                                                                                         \
    return s;                                                                                                 \
  }
RB_DEFINE_SYMBOL(float, f32, expf)
RB_DEFINE_SYMBOL(double, f64, exp)
#undef RB_DEFINE_SYMBOL
#endif
