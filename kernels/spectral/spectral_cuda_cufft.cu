/* SPDX-License-Identifier: BSD-3-Clause */
/* cuda/cufft of spectral: transforms, and one pass that multiplies all components by the symbol and 1/N. */
#include "kernels/fft/fft.h"
#include "kernels/fft/wavenumbers.cuh"
#include "kernels/spectral/spectral.h"
#include "kernels/spectral/spectral_symbol.h"

#include <stdlib.h>

/* spectrum [components][count]: between the transforms. */
typedef struct {
  rb_spectral_plan head;
  rb_fft *fft;
  float2 *spectrum;
} cufft_plan;

static rb_status supports(const rb_spectral_desc *d) {
  return d->dtype == RB_F32 ? RB_OK : RB_FAIL(RB_EUNSUPPORTED, "the CUDA variants are float32 only");
}

/* Takes a plan that is made in part. */
static void destroy(rb_spectral_plan *head) {
  cufft_plan *p = (cufft_plan *)head;
  rb_fft_destroy(p->fft);
  rb_release(head->backend, p->spectrum);
  free(p);
}

/* Allocates the spectra of all components and plans for one field and for `components` at once. */
static rb_status plan(const rb_backend *backend, const rb_spectral_desc *d, rb_spectral_plan **out) {
  rb_status st = RB_OK;
  cufft_plan *p = (cufft_plan *)calloc(1, sizeof *p);
  RB_CHECK(p, RB_ENOMEM, "host memory");
  p->head.backend = backend;
  RB_TRY(rb_alloc(backend, (size_t)rb_fft_coefficients(d->grid) * (size_t)d->components * sizeof(float2),
                  (void **)&p->spectrum));
  RB_TRY(rb_fft_create(&rb_fft_cufft, backend, d->grid, d->dtype, d->components, &p->fft));
  *out = &p->head;
  return RB_OK;
done:
  if (p) destroy(&p->head);
  return st;
}

/* Where the passes work. weight: c_k = w_k (F f)_k / sqrt(N). count: coefficients of a component; h: grid spacing
 * along the axes. Passed by value to every kernel of the file. */
typedef struct {
  int64_t count;
  int n1, n2, n3, components;
  float3 h;
} layout;

/* h in the grid's unit of length, rounded to float32. */
static layout layout_of(const rb_spectral_desc *d) {
  rb_grid g = d->grid;
  layout l = {rb_fft_coefficients(g),
              (int)g.n[0],
              (int)g.n[1],
              (int)g.n[2],
              d->components,
              make_float3((float)rb_grid_spacing(g, 0), (float)rb_grid_spacing(g, 1), (float)rb_grid_spacing(g, 2))};
  return l;
}

/* sqrt(2) for a coefficient whose complex conjugate the half spectrum leaves out, so that dot products of
 * coefficients are those of the fields; 1 on the planes k3 = 0 and Nyquist, which hold both. */
static __device__ __forceinline__ float weight_of(const layout &l, int64_t p) {
  /* Along x3 the spectrum holds n3/2 + 1 values; the planes k3 = 0 and n3/2 hold their conjugates themselves. */
  int k3 = (int)(p % (l.n3 / 2 + 1));
  return k3 == 0 || 2 * k3 == l.n3 ? 1.0f : 1.41421356237f;
}

/* (S u)_c at coefficient p: p u_c + q k_c (k.u). k.u is a sum over the components in their order; re, im hold q
 * (k.u). One component: the scalar p alone. */
template <int C>
static __device__ __forceinline__ void times_symbol(const rb_spectral_op &op, const layout &l, const float k[3],
                                                    float2 u[C]) {
  /* s.p and s.q: the operator's two factors at this wave vector. */
  float h[3] = {l.h.x, l.h.y, l.h.z};
  rb_symbol_f32 s = rb_symbol_at_f32(&op, h, k);
  float re = 0, im = 0; /* of q (k.u) */
  if (C == 3)
#pragma unroll
    for (int c = 0; c < C; c++) re += s.q * k[c] * u[c].x, im += s.q * k[c] * u[c].y;
#pragma unroll
  for (int c = 0; c < C; c++) u[c] = make_float2(s.p * u[c].x + k[c] * re, s.p * u[c].y + k[c] * im);
}

/* out = ws S_u u + S_c c. u, c may be NULL; ws: scale, times the weight (power 1) or its inverse (power -1). A thread
 * a coefficient. power 0: scale alone; 1: times the weight, from transform to coefficients; -1: divided by it, from
 * coefficients to transform. */
template <int C>
static __global__ void __launch_bounds__(256)
    pass(layout l, rb_spectral_op op_u, const float2 *u, float scale, int weight_power, rb_spectral_op op_c,
         const float2 *c, float2 *out) {
  int64_t p = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
  if (p >= l.count) return;
  /* k: integer wave numbers along the three axes. sum and v: C complex numbers each, in registers. */
  float k[3];
  float2 sum[C] = {}, v[C];
  /* The thread's C components at coefficient p stay in registers; arrays are [C][count], and out may be u or c. */
  rb_wavenumbers(p, l.n1, l.n2, l.n3, k);
  if (u) {
    /* Uniform over the grid of threads but for the weight. */
    float w = weight_power == 0 ? scale : weight_power > 0 ? scale * weight_of(l, p) : scale / weight_of(l, p);
#pragma unroll
    for (int i = 0; i < C; i++) {
      sum[i] = u[i * l.count + p];
      sum[i].x *= w, sum[i].y *= w;
    }
    times_symbol<C>(op_u, l, k, sum);
  }
  /* The second term, with an operator of its own, is added to the first. */
  if (c) {
#pragma unroll
    for (int i = 0; i < C; i++) v[i] = c[i * l.count + p];
    times_symbol<C>(op_c, l, k, v);
#pragma unroll
    for (int i = 0; i < C; i++) sum[i].x += v[i].x, sum[i].y += v[i].y;
  }
  /* out is written last: it may be one of the inputs, as a thread reads and writes coefficient p alone. */
#pragma unroll
  for (int i = 0; i < C; i++) out[i * l.count + p] = sum[i];
}

/* A thread a coefficient, with all its components. A NULL u or c leaves its term out. One launch. */
static rb_status launch_pass(const rb_spectral_desc *d, rb_spectral_op op_u, const float2 *u, double scale,
                             int weight_power, rb_spectral_op op_c, const float2 *c, float2 *out) {
  rb_status st = RB_OK;
  layout l = layout_of(d);
  if (d->components == 3)
    RB_LAUNCH(pass<3>, rb_blocks(l.count, 256), 256, 0, l, op_u, u, (float)scale, weight_power, op_c, c, out);
  else
    RB_LAUNCH(pass<1>, rb_blocks(l.count, 256), 256, 0, l, op_u, u, (float)scale, weight_power, op_c, c, out);
done:
  return st;
}

/* Field to field: there, times the symbol and 1 / N, back. Three steps on one stream, in the plan's spectrum. */
static rb_status apply(rb_spectral_plan *head, const rb_spectral_op *op, const void *in, void *out) {
  rb_status st = RB_OK;
  cufft_plan *p = (cufft_plan *)head;
  RB_TRY(rb_fft_forward(p->fft, head->desc.components, (const float *)in, p->spectrum));
  /* Both transforms are unscaled: 1/N makes them inverse to each other. */
  RB_TRY(launch_pass(&head->desc, *op, p->spectrum, 1.0 / (double)rb_grid_points(head->desc.grid), 0, *op, NULL,
                     p->spectrum));
  RB_TRY(rb_fft_inverse(p->fft, head->desc.components, p->spectrum, (float *)out));
done:
  return st;
}

/* Field (and coefficients c) to coefficients, scaled so that norms agree. f goes through the plan's spectrum into
 * `out`, which the caller owns: [components][count] of float2. */
static rb_status analyse(rb_spectral_plan *head, const rb_spectral_op *of, const void *f, const rb_spectral_op *oc,
                         const void *c, void *out) {
  rb_status st = RB_OK;
  cufft_plan *p = (cufft_plan *)head;
  RB_TRY(rb_fft_forward(p->fft, head->desc.components, (const float *)f, p->spectrum));
  /* 1/sqrt(N) and the weight make the coefficients' norm that of the field. */
  RB_TRY(launch_pass(&head->desc, *of, p->spectrum, 1 / sqrt((double)rb_grid_points(head->desc.grid)), 1,
                     c ? *oc : *of, (const float2 *)c, (float2 *)out));
done:
  return st;
}

/* cuFFT's inverse destroys its input: the pass that scales is also the copy. c stays as it is. */
static rb_status synthesise(rb_spectral_plan *head, const void *c, void *f) {
  rb_status st = RB_OK;
  cufft_plan *p = (cufft_plan *)head;
  rb_spectral_op one = rb_spectral_times(1);
  RB_TRY(launch_pass(&head->desc, one, (const float2 *)c, 1 / sqrt((double)rb_grid_points(head->desc.grid)), -1, one,
                     NULL, p->spectrum));
  RB_TRY(rb_fft_inverse(p->fft, head->desc.components, p->spectrum, (float *)f));
done:
  return st;
}

/* Coefficients to coefficients; no transform. */
static rb_status scale(rb_spectral_plan *head, const rb_spectral_op *op, const void *c, void *out) {
  return launch_pass(&head->desc, *op, NULL, 1, 0, *op, (const float2 *)c, (float2 *)out);
}

extern "C" const rb_spectral_ops rb_spectral_cufft = {supports, plan, apply, analyse, synthesise, scale, destroy};
