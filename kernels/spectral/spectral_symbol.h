/* Symbols of the spectral operators for cpu/fftw and cuda/cufft, in REAL; the oracle has its own.
 * RB_DEVICE is __device__ under nvcc and empty elsewhere. */
#ifndef RB_SPECTRAL_SYMBOL_H
#define RB_SPECTRAL_SYMBOL_H

#include "kernels/spectral/spectral.h"

#include <math.h>

#ifdef __CUDACC__
#define RB_DEVICE __host__ __device__
#else
#define RB_DEVICE
#endif

/* S(k) / N of a scalar symbol, and the Leray coefficient theta / |k|^2 of the projection. */
static inline RB_DEVICE float rb_symbol_f32(const rb_spectral_op *op, const float h[3], const float k[3]) {
  float k2 = k[0] * k[0] + k[1] * k[1] + k[2] * k[2];
  if (op->kind == RB_OP_LERAY)
    return k2 > 0 ? 1.0f / ((1.0f + (float)op->beta_v / ((float)op->beta_w * (k2 + 1.0f))) * k2) : 0.0f;
  if (op->kind == RB_OP_GAUSSIAN) {
    float s = 0;
    for (int a = 0; a < 3; a++) s += (float)op->sigma[a] * h[a] * k[a] * ((float)op->sigma[a] * h[a] * k[a]);
    return expf(-0.5f * s);
  }
  float base = (float)op->alpha * k2 + (float)op->gamma, value = (float)op->scale;
  if (base == 0.0f) return (float)op->null;
  for (int p = 0; p < op->power; p++) value *= base;
  for (int p = 0; p > op->power; p--) value /= base;
  return value;
}
static inline RB_DEVICE double rb_symbol_f64(const rb_spectral_op *op, const double h[3], const double k[3]) {
  double k2 = k[0] * k[0] + k[1] * k[1] + k[2] * k[2];
  if (op->kind == RB_OP_LERAY) return k2 > 0 ? 1.0 / ((1.0 + op->beta_v / (op->beta_w * (k2 + 1.0))) * k2) : 0.0;
  if (op->kind == RB_OP_GAUSSIAN) {
    double s = 0;
    for (int a = 0; a < 3; a++) s += op->sigma[a] * h[a] * k[a] * (op->sigma[a] * h[a] * k[a]);
    return exp(-0.5 * s);
  }
  double base = op->alpha * k2 + op->gamma, value = op->scale;
  if (base == 0.0) return op->null;
  for (int p = 0; p < op->power; p++) value *= base;
  for (int p = 0; p > op->power; p--) value /= base;
  return value;
}
#endif
