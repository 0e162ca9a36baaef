/* SPDX-License-Identifier: BSD-3-Clause */
/* One call from host arrays to host arrays for any variant: upload, poisoned output, run, download.
 * For checks and small jobs; timed runs keep their arrays on the backend. */
#ifndef RB_HOST_APPLY_H
#define RB_HOST_APPLY_H

#include "kernels/derivative/derivative.h"
#include "kernels/interp/interp.h"
#include "kernels/spectral/spectral.h"

/* f [components][n], x [3][np], out [components][np], in desc->dtype. */
rb_status rb_host_interp(const rb_variant *v, const rb_interp_desc *desc, const void *f, int64_t np, const void *x,
                         void *out);
/* Of a field of float32 at points of float32, in whatever precision desc has (float64: out is, too): `v` reads them
 * in pieces. f [n], x [3][np], one component. */
rb_status rb_host_interp_floats(const rb_variant *v, const rb_interp_desc *desc, const float *f, int64_t np,
                                const float *x, double *out);
/* divergence 0: in one field, out three; 1: the reverse. */
rb_status rb_host_derivative(const rb_variant *v, const rb_derivative_desc *desc, int divergence, const void *in,
                             void *out);
rb_status rb_host_spectral(const rb_variant *v, const rb_spectral_desc *desc, const rb_spectral_op *op,
                           const void *in, void *out);

/* A copy of `count` host values of that type on the backend, and an array of NaN there: the caller's to destroy. */
rb_status rb_to_backend(const rb_backend *b, const void *host, rb_dtype dtype, int64_t count, rb_array *out);
rb_status rb_poisoned(const rb_backend *b, rb_dtype dtype, int64_t count, rb_array *out);
/* `by` times its float32 values, on the host and in its copy on the backend: workload.h's rescale. */
rb_status rb_scale_input(float *host, int64_t count, double by, rb_array *copy);
#endif
