/* cpu/fftw of spectral: forward transforms, one pass over the coefficients, inverse transforms. */
#include "cpu_ref/spectral/fft_fftw.h"
#include "kernels/spectral/spectral.h"
#include "kernels/spectral/spectral_symbol.h"

#include <stdlib.h>

typedef struct {
  rb_spectral_plan head;
  rb_fftw *fft;
  void *spectrum[3];
} fftw_variant;

static rb_status supports(const rb_spectral_desc *desc) {
  (void)desc;
  return RB_OK;
}

static void destroy(rb_spectral_plan *head) {
  fftw_variant *p = (fftw_variant *)head;
  for (int c = 0; c < 3; c++) rb_release(head->backend, p->spectrum[c]);
  rb_fftw_destroy(p->fft);
  free(p);
}

static rb_status plan(const rb_backend *backend, const rb_spectral_desc *desc, rb_spectral_plan **out) {
  rb_status st = RB_OK;
  fftw_variant *p = calloc(1, sizeof *p);
  RB_CHECK(p, RB_ENOMEM, "host memory");
  p->head.backend = backend;
  RB_TRY(rb_fftw_create(backend, desc->grid, desc->dtype, &p->fft));
  for (int c = 0; c < desc->components; c++)
    RB_TRY(rb_alloc(backend, rb_fftw_bytes(desc->grid, desc->dtype), &p->spectrum[c]));
  *out = &p->head;
  return RB_OK;
done:
  if (p) destroy(&p->head);
  return st;
}

/* The pass between the transforms, once a precision. Complex values are pairs. */
#define DEFINE_PASS(REAL, SUFFIX)                                                                             \
  static void pass_##SUFFIX(const rb_spectral_desc *d, const rb_spectral_op *op, void *const spectrum[3]) {   \
    int64_t n3 = d->grid.n[2] / 2 + 1;                                                                        \
    REAL h[3], scale = (REAL)1 / (REAL)rb_grid_points(d->grid);                                               \
    for (int a = 0; a < 3; a++) h[a] = (REAL)rb_grid_spacing(d->grid, a);                                     \
    _Pragma("omp parallel for collapse(2) schedule(static)") for (int64_t i = 0; i < d->grid.n[0]; i++) for ( \
        int64_t j = 0; j < d->grid.n[1]; j++) for (int64_t l = 0; l < n3; l++) {                              \
      int64_t at = 2 * ((i * d->grid.n[1] + j) * n3 + l);                                                     \
      REAL k[3] = {(REAL)rb_wavenumber(i, d->grid.n[0]), (REAL)rb_wavenumber(j, d->grid.n[1]),                \
                   (REAL)rb_wavenumber(l, d->grid.n[2])};                                                     \
      REAL s = rb_symbol_##SUFFIX(op, h, k);                                                                  \
      for (int part = 0; part < 2; part++) {                                                                  \
        REAL dot = 0;                                                                                         \
        if (op->kind == RB_OP_LERAY)                                                                          \
          for (int c = 0; c < 3; c++) dot += k[c] * ((REAL *)spectrum[c])[at + part];                         \
        for (int c = 0; c < d->components; c++) {                                                             \
          REAL *v = (REAL *)spectrum[c] + at + part;                                                          \
          *v = scale * (op->kind == RB_OP_LERAY ? *v - k[c] * s * dot : s * *v);                              \
        }                                                                                                     \
      }                                                                                                       \
    }                                                                                                         \
  }
DEFINE_PASS(float, f32)
DEFINE_PASS(double, f64)

static rb_status apply(rb_spectral_plan *head, const rb_spectral_op *op, const void *in, void *out) {
  fftw_variant *p = (fftw_variant *)head;
  const rb_spectral_desc *d = &head->desc;
  size_t field = (size_t)rb_grid_points(d->grid) * rb_dtype_size(d->dtype);
  for (int c = 0; c < d->components; c++) rb_fftw_forward(p->fft, (const char *)in + c * field, p->spectrum[c]);
  if (d->dtype == RB_F64)
    pass_f64(d, op, p->spectrum);
  else
    pass_f32(d, op, p->spectrum);
  for (int c = 0; c < d->components; c++) rb_fftw_inverse(p->fft, p->spectrum[c], (char *)out + c * field);
  return RB_OK;
}

const rb_spectral_ops rb_spectral_fftw = {supports, plan, apply, destroy};
