/* SPDX-License-Identifier: BSD-3-Clause */
/* Real 3D transforms with plans kept, one interface to FFTW and cuFFT:
 *
 *   real [fields][n1][n2][n3]  <->  spectrum [fields][n1][n2][n3/2+1] of pairs (re, im), unscaled:
 *   inverse(forward(f)) = n1 n2 n3 f.
 *
 * Arrays lie on the plan's backend. Real fields may start anywhere: what is not aligned as the library wants it
 * passes through a copy. */
#ifndef RB_FFT_H
#define RB_FFT_H

#include "kernels/base/backend.h"
#include "kernels/base/grid.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct rb_fft rb_fft;

typedef struct {
  rb_status (*create)(const rb_backend *backend, rb_grid grid, rb_dtype dtype, int most, rb_fft **out);
  rb_status (*forward)(rb_fft *t, int fields, const void *real, void *spectrum);
  rb_status (*inverse)(rb_fft *t, int fields, void *spectrum, void *real);
  void (*destroy)(rb_fft *t);
} rb_fft_ops;

/* FFTW on all cores (cpu_ref/fft), by measured plans (faster, and other roundings on another day) or plane by plane
 * by estimated ones (the same bits on any day and number of threads); cuFFT, float32 only (kernels/fft/fft_cuda.cu).
 */
extern const rb_fft_ops rb_fft_fftw, rb_fft_planes, rb_fft_cufft;

/* The common head of every plan. */
struct rb_fft {
  const rb_fft_ops *ops;
  const rb_backend *backend;
  rb_dtype dtype;
};

/* Plans for one field at a time, and for `most` at once. */
static inline rb_status rb_fft_create(const rb_fft_ops *ops, const rb_backend *backend, rb_grid grid, rb_dtype dtype,
                                      int most, rb_fft **out) {
  return ops->create(backend, grid, dtype, most, out);
}
/* fields: 1 or `most`. */
static inline rb_status rb_fft_forward(rb_fft *t, int fields, const void *real, void *spectrum) {
  return t->ops->forward(t, fields, real, spectrum);
}
/* Destroys the spectrum. */
static inline rb_status rb_fft_inverse(rb_fft *t, int fields, void *spectrum, void *real) {
  return t->ops->inverse(t, fields, spectrum, real);
}
static inline void rb_fft_destroy(rb_fft *t) { /* takes NULL */
  if (t) t->ops->destroy(t);
}

/* Coefficients of one field, and their bytes. */
static inline int64_t rb_fft_coefficients(rb_grid g) { return g.n[0] * g.n[1] * (g.n[2] / 2 + 1); }
static inline size_t rb_fft_bytes(rb_grid g, rb_dtype dtype) {
  return 2 * rb_dtype_size(dtype) * (size_t)rb_fft_coefficients(g);
}

#ifdef __cplusplus
}
#endif
#endif
