/* SPDX-License-Identifier: BSD-3-Clause */
/* GPU-FFT (brunn2020 2.3.2): real 3D transforms; the pass between them reads a coefficient once and writes
 * three for the gradient, reads three and writes one for the divergence. */
#include "kernels/derivative/derivative.h"
#include "kernels/fft/fft.h"
#include "kernels/fft/wavenumbers.cuh"

#include <stdlib.h>

typedef struct {
  rb_derivative_plan head;
  rb_fft *fft;
  /* Spectra of one field and of three. */
  float2 *one, *three;
} cufft_plan;

/* The transforms differentiate exactly what the grid resolves; other schemes are other variants'. */
static rb_status supports(const rb_derivative_desc *d) {
  if (d->scheme != RB_SPECTRAL || d->dtype != RB_F32)
    return RB_FAIL(RB_EUNSUPPORTED, "cuda/cufft is spectral in float32 only");
  return RB_OK;
}

/* Takes a plan that is made in part. */
static void destroy(rb_derivative_plan *head) {
  cufft_plan *p = (cufft_plan *)head;
  rb_fft_destroy(p->fft);
  rb_release(head->backend, p->one);
  rb_release(head->backend, p->three);
  free(p);
}

/* Allocates spectra of half the coefficients a field (x3 is halved): one field's and three fields', 32 bytes a
 * coefficient, and transforms for one and for three fields at once, with cuFFT's work area. */
static rb_status plan(const rb_backend *backend, const rb_derivative_desc *d, rb_derivative_plan **out) {
  rb_status st = RB_OK;
  size_t bytes = (size_t)rb_fft_coefficients(d->grid) * sizeof(float2);
  cufft_plan *p = (cufft_plan *)calloc(1, sizeof *p);
  RB_CHECK(p, RB_ENOMEM, "host memory");
  p->head.backend = backend;
  RB_TRY(rb_alloc(backend, bytes, (void **)&p->one));
  RB_TRY(rb_alloc(backend, 3 * bytes, (void **)&p->three));
  RB_TRY(rb_fft_create(&rb_fft_cufft, backend, d->grid, d->dtype, 3, &p->fft));
  *out = &p->head;
  return RB_OK;
done:
  if (p) destroy(&p->head);
  return st;
}

/* A thread a coefficient: i k_a (re + i im) = -k_a im + i k_a re for the three axes, with 1/N of the transforms. */
static __global__ void __launch_bounds__(256) spread(const float2 *__restrict__ one, float2 *__restrict__ three,
                                                     int64_t count, int n1, int n2, int n3, float scale) {
  int64_t p = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
  if (p >= count) return;
  float k[3];
  float2 v = one[p];
  /* Integer wave numbers: the box has length 2 pi. The highest of an even axis has k = 0, so that it is dropped. */
  rb_wavenumbers(p, n1, n2, n3, k);
  /* Scaled before the products with k, in float32. */
#pragma unroll
  for (int a = 0; a < 3; a++) three[a * count + p] = make_float2(-scale * k[a] * v.y, scale * k[a] * v.x);
}

/* A thread a coefficient: sum_a i k_a v_a, in the order of the axes. */
static __global__ void __launch_bounds__(256) collect(const float2 *__restrict__ three, float2 *__restrict__ one,
                                                      int64_t count, int n1, int n2, int n3, float scale) {
  int64_t p = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
  if (p >= count) return;
  /* Real and imaginary part of the sum stay in registers; a spectrum is written once. */
  float k[3], re = 0, im = 0;
  rb_wavenumbers(p, n1, n2, n3, k);
#pragma unroll
  for (int a = 0; a < 3; a++) {
    float2 v = three[a * count + p];
    re -= k[a] * v.y;
    im += k[a] * v.x;
  }
  /* Scaled once, after the sum. */
  one[p] = make_float2(scale * re, scale * im);
}

/* One transform there, a pass that makes three spectra of one, three transforms back in one call. Components of g lie
 * n points apart, as the transforms write them. */
static rb_status gradient(rb_derivative_plan *head, const void *f, void *g) {
  rb_status st = RB_OK;
  cufft_plan *p = (cufft_plan *)head;
  const int64_t *n = head->desc.grid.n, count = rb_fft_coefficients(head->desc.grid);
  /* 1/N in float64, rounded once. */
  float scale = (float)(1.0 / (double)rb_grid_points(head->desc.grid));
  RB_TRY(rb_fft_forward(p->fft, 1, (const float *)f, p->one));
  RB_LAUNCH(spread, rb_blocks(count, 256), 256, 0, p->one, p->three, count, (int)n[0], (int)n[1], (int)n[2], scale);
  RB_TRY(rb_fft_inverse(p->fft, 3, p->three, (float *)g));
done:
  return st;
}

/* Three transforms there in one call, a pass that adds the three spectra, one transform back. */
static rb_status divergence(rb_derivative_plan *head, const void *v, void *d) {
  rb_status st = RB_OK;
  cufft_plan *p = (cufft_plan *)head;
  const int64_t *n = head->desc.grid.n, count = rb_fft_coefficients(head->desc.grid);
  float scale = (float)(1.0 / (double)rb_grid_points(head->desc.grid));
  RB_TRY(rb_fft_forward(p->fft, 3, (const float *)v, p->three));
  RB_LAUNCH(collect, rb_blocks(count, 256), 256, 0, p->three, p->one, count, (int)n[0], (int)n[1], (int)n[2], scale);
  RB_TRY(rb_fft_inverse(p->fft, 1, p->one, (float *)d)); /* destroys `one`, which is not needed again */
done:
  return st;
}

extern "C" const rb_derivative_ops rb_derivative_cufft = {supports, plan, gradient, divergence, destroy};
