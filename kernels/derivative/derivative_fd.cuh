/* SPDX-License-Identifier: BSD-3-Clause */
/* What the CUDA finite-difference variants share. */
#ifndef RB_DERIVATIVE_FD_CUH
#define RB_DERIVATIVE_FD_CUH

#include "kernels/cuda/cuda.cuh"
#include "kernels/derivative/derivative.h"

#include <stdlib.h>

/* Taps either side of the eighth-order stencil. */
enum { HALO = 4 };

/* c[a][l-1] = c_l / h_a in float32. */
struct fd8_coefficients {
  float c[3][HALO];
};
static inline fd8_coefficients fd8_make(rb_grid g) {
  fd8_coefficients k;
  /* Quotients in float64, each rounded once to float32. */
  for (int a = 0; a < 3; a++)
    for (int l = 0; l < HALO; l++) k.c[a][l] = (float)(rb_fd8[l] / rb_grid_spacing(g, a));
  return k;
}

static rb_status fd8_supports(const rb_derivative_desc *d) {
  if (d->scheme != RB_FD8 || d->dtype != RB_F32)
    return RB_FAIL(RB_EUNSUPPORTED, "this variant is fd8 in float32 only");
  return RB_OK;
}
/* These variants keep nothing besides the head. */
static rb_status fd8_plan(const rb_backend *backend, const rb_derivative_desc *desc, rb_derivative_plan **out) {
  (void)backend, (void)desc;
  *out = (rb_derivative_plan *)calloc(1, sizeof **out);
  return *out ? RB_OK : RB_FAIL(RB_ENOMEM, "host memory");
}
static void fd8_destroy(rb_derivative_plan *p) { free(p); }

#endif
