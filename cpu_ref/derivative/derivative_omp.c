/* SPDX-License-Identifier: BSD-3-Clause */
/* Baseline of derivative's finite differences on the CPU: all cores, rows vectorised. */
#include "kernels/derivative/derivative.h"

#include <stdlib.h>

/* The body twice, for float and double. */
#define REAL float
#define SUFFIX(name) name##_f32
#include "cpu_ref/derivative/derivative_fd_real.h"
#undef REAL
#undef SUFFIX
#define REAL double
#define SUFFIX(name) name##_f64
#include "cpu_ref/derivative/derivative_fd_real.h"

static rb_status supports(const rb_derivative_desc *desc) {
  if (desc->scheme == RB_SPECTRAL) return RB_FAIL(RB_EUNSUPPORTED, "cpu/omp is fd2 and fd8; spectral is cpu/fftw");
  return RB_OK;
}
/* Nothing but the common head: coefficients are made in each call. */
static rb_status plan(const rb_backend *backend, const rb_derivative_desc *desc, rb_derivative_plan **out) {
  (void)backend, (void)desc;
  *out = calloc(1, sizeof **out);
  return *out ? RB_OK : RB_FAIL(RB_ENOMEM, "host memory");
}
static rb_status gradient(rb_derivative_plan *p, const void *f, void *g) {
  p->desc.dtype == RB_F64 ? gradient_f64(&p->desc, f, g) : gradient_f32(&p->desc, f, g);
  return RB_OK;
}
static rb_status divergence(rb_derivative_plan *p, const void *v, void *d) {
  p->desc.dtype == RB_F64 ? divergence_f64(&p->desc, v, d) : divergence_f32(&p->desc, v, d);
  return RB_OK;
}
static void destroy(rb_derivative_plan *p) { free(p); }

const rb_derivative_ops rb_derivative_omp = {supports, plan, gradient, divergence, destroy};
