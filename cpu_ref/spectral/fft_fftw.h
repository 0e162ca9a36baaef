/* SPDX-License-Identifier: BSD-3-Clause */
/* Real 3D transforms by FFTW with plans kept: r [n1][n2][n3] <-> c [n1][n2][n3/2+1], unscaled. */
#ifndef RB_FFT_FFTW_H
#define RB_FFT_FFTW_H

#include "kernels/base/backend.h"
#include "kernels/base/grid.h"

typedef struct rb_fftw rb_fftw;

rb_status rb_fftw_create(const rb_backend *backend, rb_grid grid, rb_dtype dtype, rb_fftw **out);
/* spectrum: rb_fftw_bytes() bytes. The input of inverse is destroyed. Any alignment of `real` works; one
 * that FFTW's plan was not made for passes through a staging copy. */
void rb_fftw_forward(rb_fftw *t, const void *real, void *spectrum);
void rb_fftw_inverse(rb_fftw *t, void *spectrum, void *real);
size_t rb_fftw_bytes(rb_grid grid, rb_dtype dtype);
void rb_fftw_destroy(rb_fftw *t); /* takes NULL */
#endif
