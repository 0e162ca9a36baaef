/* SPDX-License-Identifier: BSD-3-Clause */
/* cpu/fftw of spectral: forward transforms, one pass over the coefficients, inverse transforms. */
#include "kernels/fft/fft.h"
#include "kernels/spectral/spectral.h"
#include "kernels/spectral/spectral_symbol.h"

#include <stdlib.h>

/* apply:       F, S/N in place, F^-1
 * analyse:     F, then coefficients  w S_f F f / sqrt(N) + S_c c
 * synthesise:  c / (w sqrt(N)), then F^-1
 * scale:       S c
 * All four are one pass over the coefficients, DEFINE_PASS, with other factors, between the transforms they need. */
typedef struct {
  rb_spectral_plan head;
  rb_fft *fft;
  /* [n1][n2][n3/2 + 1] complex values of each component; a plan has as many as the description has components */
  void *spectrum[3];
} fftw_variant;

static rb_status supports(const rb_spectral_desc *desc) {
  (void)desc;
  return RB_OK;
}

static void destroy(rb_spectral_plan *head) {
  fftw_variant *p = (fftw_variant *)head;
  /* NULL beyond the components; releasing takes NULL */
  for (int c = 0; c < 3; c++) rb_release(head->backend, p->spectrum[c]);
  rb_fft_destroy(p->fft);
  free(p);
}

static rb_status plan(const rb_backend *backend, const rb_spectral_desc *desc, rb_spectral_plan **out) {
  rb_status st = RB_OK;
  fftw_variant *p = calloc(1, sizeof *p);
  RB_CHECK(p, RB_ENOMEM, "host memory");
  p->head.backend = backend;
  /* one field at a time; measured plans: roundings may differ from one run of the program to another */
  RB_TRY(rb_fft_create(&rb_fft_fftw, backend, desc->grid, desc->dtype, 1, &p->fft));
  for (int c = 0; c < desc->components; c++)
    RB_TRY(rb_alloc(backend, rb_fft_bytes(desc->grid, desc->dtype), &p->spectrum[c]));
  *out = &p->head;
  return RB_OK;
done:
  if (p) destroy(&p->head);
  return st;
}

/* out = ws S_u u + S_c c over all coefficients, once a precision; complex values are pairs. u, c may be NULL, and any
 * of the arrays may be the same. ws: scale, times the weight of the coefficients' basis to the power weight_power.
 * S b = p b + q k (k.b) with real p and q: real and imaginary parts (part 0 and 1) are treated alike.
 * at = 2 ((i n2 + j) (n3/2 + 1) + l): the pair of coefficient (i, j, l).
 * w = 1 on the planes l = 0 and l = n3/2, sqrt(2) between them, where a coefficient stands for two of the full
 * spectrum. All components of a coefficient are read before one is written, which lets the arrays be the same. The
 * loop runs over rows (i, j) in parallel: a coefficient is one thread's, and there is no sum across coefficients. */
#define DEFINE_PASS(REAL, SUFFIX)                                                                                   \
  static void pass_##SUFFIX(const rb_spectral_desc *d, const rb_spectral_op *op_u, REAL *const u[3], double scale,  \
                            int weight_power, const rb_spectral_op *op_c, const REAL *const c[3],                   \
                            REAL *const out[3]) {                                                                   \
    const int64_t n3 = d->grid.n[2] / 2 + 1;                                                                        \
    REAL h[3];                                                                                                      \
    for (int a = 0; a < 3; a++) h[a] = (REAL)rb_grid_spacing(d->grid, a);                                           \
    _Pragma("omp parallel for collapse(2) schedule(static)") for (int64_t i = 0; i < d->grid.n[0];                  \
                                                                  i++) for (int64_t j = 0; j < d->grid.n[1];        \
                                                                            j++) for (int64_t l = 0; l < n3; l++) { \
      const int64_t at = 2 * ((i * d->grid.n[1] + j) * n3 + l);                                                     \
      const REAL k[3] = {(REAL)rb_wavenumber(i, d->grid.n[0]), (REAL)rb_wavenumber(j, d->grid.n[1]),                \
                         (REAL)rb_wavenumber(l, d->grid.n[2])};                                                     \
      const double w = l == 0 || 2 * l == d->grid.n[2] ? 1 : 1.41421356237309504880;                                \
      const REAL ws = (REAL)(scale * (weight_power == 0 ? 1 : weight_power > 0 ? w : 1 / w));                       \
      const rb_symbol_##SUFFIX su = rb_symbol_at_##SUFFIX(op_u, h, k), sc = rb_symbol_at_##SUFFIX(op_c, h, k);      \
      for (int part = 0; part < 2; part++) {                                                                        \
        REAL ku = 0, kc = 0, sum[3];                                                                                \
        for (int m = 0; m < d->components; m++) {                                                                   \
          if (u) ku += k[m] * u[m][at + part];                                                                      \
          if (c) kc += k[m] * c[m][at + part];                                                                      \
        }                                                                                                           \
        for (int m = 0; m < d->components; m++)                                                                     \
          sum[m] = (u ? ws * (su.p * u[m][at + part] + su.q * k[m] * ku) : 0) +                                     \
                   (c ? sc.p * c[m][at + part] + sc.q * k[m] * kc : 0);                                             \
        for (int m = 0; m < d->components; m++) out[m][at + part] = sum[m];                                         \
      }                                                                                                             \
    }                                                                                                               \
  }
DEFINE_PASS(float, f32)
DEFINE_PASS(double, f64)

/* The three arrays of a coefficient field, or NULL.
 * c is planar, [components][2 n1 n2 (n3/2+1)] reals; entries beyond the components are NULL and not used */
static void *const *split(const rb_spectral_desc *d, const void *c, void *to[3]) {
  size_t one = (size_t)rb_spectral_coefficients(d->grid) * rb_dtype_size(d->dtype);
  for (int m = 0; m < 3; m++) to[m] = c && m < d->components ? (char *)c + (size_t)m * one : NULL;
  return c ? to : NULL;
}

/* The same for either type; pointers to arrays of the plan's type. */
static void pass(const rb_spectral_desc *d, const rb_spectral_op *op_u, void *const *u, double scale,
                 int weight_power, const rb_spectral_op *op_c, void *const *c, void *const *out) {
  if (d->dtype == RB_F64)
    pass_f64(d, op_u, (double *const *)u, scale, weight_power, op_c, (const double *const *)c, (double *const *)out);
  else
    pass_f32(d, op_u, (float *const *)u, scale, weight_power, op_c, (const float *const *)c, (float *const *)out);
}

/* Component by component, field m begins at value m * N. FFTW's functions do not fail once planned. */
static void forward(fftw_variant *p, const void *f) {
  const rb_spectral_desc *d = &p->head.desc;
  size_t field = (size_t)rb_grid_points(d->grid) * rb_dtype_size(d->dtype);
  for (int m = 0; m < d->components; m++)
    rb_fft_forward(p->fft, 1, (const char *)f + (size_t)m * field, p->spectrum[m]);
}
/* Destroys the spectra: each call of the family makes them anew from its argument. */
static void inverse(fftw_variant *p, void *f) {
  const rb_spectral_desc *d = &p->head.desc;
  size_t field = (size_t)rb_grid_points(d->grid) * rb_dtype_size(d->dtype);
  for (int m = 0; m < d->components; m++) rb_fft_inverse(p->fft, 1, p->spectrum[m], (char *)f + (size_t)m * field);
}

/* in == out is allowed: `in` has been transformed into the spectra before `out` is written. */
static rb_status apply(rb_spectral_plan *head, const rb_spectral_op *op, const void *in, void *out) {
  fftw_variant *p = (fftw_variant *)head;
  forward(p, in);
  /* out = F^-1 (S/N) F in: the transforms are unscaled, 1/N goes with the symbol. In place in the spectrum. */
  pass(&head->desc, op, p->spectrum, 1 / (double)rb_grid_points(head->desc.grid), 0, op, NULL, p->spectrum);
  inverse(p, out);
  return RB_OK;
}

/* Both terms in one pass; out may be c, as the pass reads a coefficient's components before it writes them. */
static rb_status analyse(rb_spectral_plan *head, const rb_spectral_op *of, const void *f, const rb_spectral_op *oc,
                         const void *c, void *out) {
  fftw_variant *p = (fftw_variant *)head;
  void *from[3], *to[3];
  forward(p, f);
  /* c' = w_k S_f (F f)_k / sqrt(N) + S_c c;  without c its operator is not read, `of` stands in its place */
  void *const *coefficients = split(&head->desc, c, from);
  pass(&head->desc, of, p->spectrum, 1 / sqrt((double)rb_grid_points(head->desc.grid)), 1, c ? oc : of, coefficients,
       split(&head->desc, out, to));
  return RB_OK;
}

static rb_status synthesise(rb_spectral_plan *head, const void *c, void *f) {
  fftw_variant *p = (fftw_variant *)head;
  /* F f = sqrt(N) c / w_k, and 1/N of the inverse transform: the factor is 1 / (sqrt(N) w_k) */
  rb_spectral_op one = rb_spectral_times(1);
  void *from[3];
  pass(&head->desc, &one, split(&head->desc, c, from), 1 / sqrt((double)rb_grid_points(head->desc.grid)), -1, &one,
       NULL, p->spectrum);
  inverse(p, f);
  return RB_OK;
}

/* Coefficients to coefficients: w_k and N cancel, so that only the second term of the pass remains. */
static rb_status scale(rb_spectral_plan *head, const rb_spectral_op *op, const void *c, void *out) {
  void *from[3], *to[3];
  void *const *coefficients = split(&head->desc, c, from);
  pass(&head->desc, op, NULL, 1, 0, op, coefficients, split(&head->desc, out, to));
  return RB_OK;
}

const rb_spectral_ops rb_spectral_fftw = {supports, plan, apply, analyse, synthesise, scale, destroy};
