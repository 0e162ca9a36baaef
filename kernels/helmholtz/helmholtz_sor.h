/* SPDX-License-Identifier: BSD-3-Clause */
/* One update of red-black over-relaxation in one order of operations, so that all variants agree in every bit: sums
 * of opposite neighbours are rounded once each, all else is fused multiply-adds. */
#ifndef RB_HELMHOLTZ_SOR_H
#define RB_HELMHOLTZ_SOR_H

#include "kernels/helmholtz/helmholtz.h"

#include <math.h>

#ifdef __CUDACC__
#define RB_DEVICE_ONLY __host__ __device__
#else
#define RB_DEVICE_ONLY
#endif

/* v' = keep v + gain (f + sum_a w_a (v(x - s_a) + v(x + s_a)))
 * w_a = alpha / s_a^2,  gain = omega / (2 alpha sum_a 1/s_a^2 + gamma),  keep = 1 - omega;  in double, rounded once.
 * The sum begins with f; the axes follow in the order x1, x2, x3, each with one fused multiply-add. */
#define RB_DEFINE_SOR(REAL, SUFFIX, FMA)                                                                         \
  typedef struct {                                                                                               \
    REAL w[3], gain, keep;                                                                                       \
  } rb_sor_weights_##SUFFIX;                                                                                     \
  static inline rb_sor_weights_##SUFFIX rb_sor_weights_of_##SUFFIX(const rb_helmholtz_desc *d, double omega) {   \
    rb_sor_weights_##SUFFIX r;                                                                                   \
    double diagonal = d->gamma;                                                                                  \
    for (int a = 0; a < 3; a++) {                                                                                \
      const double w = d->alpha / (d->spacing[a] * d->spacing[a]);                                               \
      r.w[a] = (REAL)w;                                                                                          \
      diagonal += 2 * w;                                                                                         \
    }                                                                                                            \
    r.gain = (REAL)(omega / diagonal), r.keep = (REAL)(1 - omega);                                               \
    return r;                                                                                                    \
  }                                                                                                              \
  static inline RB_DEVICE_ONLY REAL rb_sor_update_##SUFFIX(rb_sor_weights_##SUFFIX k, REAL f, REAL v, REAL low1, \
                                                           REAL high1, REAL low2, REAL high2, REAL low3,         \
                                                           REAL high3) {                                         \
    const REAL s = FMA(k.w[2], low3 + high3, FMA(k.w[1], low2 + high2, FMA(k.w[0], low1 + high1, f)));           \
    return FMA(k.keep, v, k.gain * s);                                                                           \
  }
RB_DEFINE_SOR(float, f32, fmaf)
RB_DEFINE_SOR(double, f64, fma)

#endif
