/* SPDX-License-Identifier: BSD-3-Clause */
/* cuda/cufft of helmholtz: three transforms, one kernel that solves the 3 x 3 system of each frequency and scales by
 * 1/N, three transforms back. */
#include "kernels/helmholtz/helmholtz.h"
#include "kernels/helmholtz/helmholtz_symbol.h"
#include "kernels/cuda/cuda.cuh"
#include "kernels/fft/fft.h"

#include <stdlib.h>

enum { THREADS = 256 };

typedef struct {
  rb_helmholtz_plan head;
  rb_fft *fft;
  float2 *spectrum; /* [3][coefficients] */
} cufft_plan;

static rb_status supports(const rb_helmholtz_desc *d) {
  return d->dtype == RB_F32 ? RB_OK : RB_FAIL(RB_EUNSUPPORTED, "the CUDA variants are float32 only");
}
static void destroy(rb_helmholtz_plan *head) {
  cufft_plan *p = (cufft_plan *)head;
  rb_fft_destroy(p->fft);
  rb_release(head->backend, p->spectrum);
  free(p);
}
/* Allocates three spectra and transforms for one and for three fields at once. */
static rb_status plan(const rb_backend *backend, const rb_helmholtz_desc *d, rb_helmholtz_plan **out) {
  rb_status st = RB_OK;
  cufft_plan *p = (cufft_plan *)calloc(1, sizeof *p);
  RB_CHECK(p, RB_ENOMEM, "host memory");
  p->head.backend = backend;
  RB_TRY(rb_alloc(backend, 3 * (size_t)rb_fft_coefficients(d->grid) * sizeof(float2), (void **)&p->spectrum));
  RB_TRY(rb_fft_create(&rb_fft_cufft, backend, d->grid, d->dtype, 3, &p->fft));
  *out = &p->head;
  return RB_OK;
done:
  if (p) destroy(&p->head);
  return st;
}

/* scale: 1/N of the transforms there and back. */
typedef struct {
  float alpha, beta, gamma, scale;
  float over[3];    /* 1 / n_a */
  float inverse[3]; /* 1 / s_a */
} symbol;

/* A thread a frequency. c = -4 sin^2(pi k/n) / s^2 keeps the digits that 2 cos - 2 loses at small k. z [3][count],
 * solved in place; half: coefficients along x3. */
static __global__ void __launch_bounds__(THREADS) solve_kernel(int64_t count, int n2, int half, symbol m, float2 *z) {
  const int64_t at = (int64_t)blockIdx.x * THREADS + threadIdx.x;
  if (at >= count) return;
  const int64_t row = at / half;
  /* Coefficients lie as [n1][n2][n3/2+1]. Indices above n/2 need no sign: sin^2(pi k/n) and sin(2 pi k/n) have period
   * n in k. */
  const float k[3] = {(float)(row / n2), (float)(row % n2), (float)(at % half)};
  float c[3], s[3], re[3], im[3];
#pragma unroll
  for (int a = 0; a < 3; a++) {
    /* turn = k/n; sinpif(x) is sin(pi x), without a rounded product with pi. sin(2 pi k/n) / s is S. */
    const float turn = k[a] * m.over[a], sine = sinpif(turn) * m.inverse[a];
    /* Eigenvalue of the second difference along axis a: -(2 sin(pi k/n) / s)^2. */
    c[a] = -4.0f * sine * sine;
    s[a] = sinpif(2.0f * turn) * m.inverse[a];
    /* f's coefficients on entry. */
    const float2 one = z[a * count + at];
    re[a] = one.x, im[a] = one.y;
  }
  /* u <- M^-1 u / N, real and imaginary part alike. */
  rb_helmholtz_solve_f32(m.alpha, m.beta, m.gamma, c, s, m.scale, re, im);
#pragma unroll
  for (int a = 0; a < 3; a++) z[a * count + at] = make_float2(re[a], im[a]);
}

/* f and v [3][n]; three steps on one stream. f is not changed. */
static rb_status solve(rb_helmholtz_plan *head, const void *f, void *v) {
  rb_status st = RB_OK;
  cufft_plan *p = (cufft_plan *)head;
  const rb_helmholtz_desc *d = &head->desc;
  const int64_t count = rb_fft_coefficients(d->grid);
  /* All parameters in float32; quotients from float64, rounded once. */
  symbol m = {(float)d->alpha, (float)d->beta, (float)d->gamma, (float)(1 / (double)rb_grid_points(d->grid)), {}, {}};
  for (int a = 0; a < 3; a++)
    m.over[a] = (float)(1 / (double)d->grid.n[a]), m.inverse[a] = (float)(1 / d->spacing[a]);
  RB_TRY(rb_fft_forward(p->fft, 3, (const float *)f, p->spectrum));
  RB_LAUNCH(solve_kernel, rb_blocks(count, THREADS), THREADS, 0, count, (int)d->grid.n[1],
            (int)(d->grid.n[2] / 2 + 1), m, p->spectrum);
  RB_TRY(rb_fft_inverse(p->fft, 3, p->spectrum, (float *)v));
done:
  return st;
}

extern "C" const rb_helmholtz_ops rb_helmholtz_cufft = {supports, plan, solve, NULL, destroy, RB_HELMHOLTZ_PERIODIC,
                                                        0};
