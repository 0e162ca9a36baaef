/* SPDX-License-Identifier: BSD-3-Clause */
/* cpu/fftw of derivative: gradient = 1 forward, 3 inverse transforms; divergence = 3 forward, 1 inverse. */
#include "kernels/fft/fft.h"
#include "kernels/derivative/derivative.h"

#include <stdlib.h>

/* d f / d x_a = F^-1 (i k_a F f) / N on the grid of period 2 pi, where wave numbers are whole numbers; the Nyquist
 * mode is dropped. Roundings are those of the transforms, in the plan's precision. */
typedef struct {
  rb_derivative_plan head;
  rb_fft *fft;
  /* two half spectra: the inverse transform destroys `work`, while `spectrum` serves all three components of a
   * gradient */
  void *spectrum, *work;
} fftw_variant;

/* Finite differences are cpu/omp's; this variant is the spectral scheme alone, in either precision. */
static rb_status supports(const rb_derivative_desc *desc) {
  if (desc->scheme != RB_SPECTRAL) return RB_FAIL(RB_EUNSUPPORTED, "cpu/fftw is spectral; fd2 and fd8 are cpu/omp");
  return RB_OK;
}

/* Also of plans that were made in part: releasing and destroying take NULL. */
static void destroy(rb_derivative_plan *head) {
  fftw_variant *p = (fftw_variant *)head;
  rb_release(head->backend, p->spectrum);
  rb_release(head->backend, p->work);
  rb_fft_destroy(p->fft);
  free(p);
}

static rb_status plan(const rb_backend *backend, const rb_derivative_desc *desc, rb_derivative_plan **out) {
  rb_status st = RB_OK;
  fftw_variant *p = calloc(1, sizeof *p);
  RB_CHECK(p, RB_ENOMEM, "host memory");
  p->head.backend = backend;
  /* one field a transform; planned by measuring */
  RB_TRY(rb_fft_create(&rb_fft_fftw, backend, desc->grid, desc->dtype, 1, &p->fft));
  RB_TRY(rb_alloc(backend, rb_fft_bytes(desc->grid, desc->dtype), &p->spectrum));
  RB_TRY(rb_alloc(backend, rb_fft_bytes(desc->grid, desc->dtype), &p->work));
  *out = &p->head;
  return RB_OK;
done:
  if (p) destroy(&p->head);
  return st;
}

/* to = i k_axis from / N, or to += ... when add. One definition a precision.
 * i k (re + i im) = -k im + i k re, for the integer wave number k of the axis; N = n1 n2 n3 of the unscaled
 * transforms. A row (i, j) holds n3/2 + 1 pairs and is one thread's. The Nyquist mode has k = 0. */
#define DEFINE_PASS(REAL, SUFFIX)                                                                             \
  static void pass_##SUFFIX(rb_grid g, int axis, const REAL *from, REAL *to, int add) {                       \
    int64_t n3 = g.n[2] / 2 + 1;                                                                              \
    REAL scale = (REAL)1 / (REAL)rb_grid_points(g);                                                           \
    _Pragma("omp parallel for collapse(2) schedule(static)") for (int64_t i = 0; i < g.n[0];                  \
                                                                  i++) for (int64_t j = 0; j < g.n[1]; j++) { \
      int64_t row = 2 * (i * g.n[1] + j) * n3;                                                                \
      for (int64_t l = 0; l < n3; l++) {                                                                      \
        int64_t index = axis == 0 ? i : axis == 1 ? j : l;                                                    \
        REAL k = scale * (REAL)rb_wavenumber(index, g.n[axis]);                                               \
        REAL re = -k * from[row + 2 * l + 1], im = k * from[row + 2 * l];                                     \
        to[row + 2 * l] = add ? to[row + 2 * l] + re : re;                                                    \
        to[row + 2 * l + 1] = add ? to[row + 2 * l + 1] + im : im;                                            \
      }                                                                                                       \
    }                                                                                                         \
  }
DEFINE_PASS(float, f32)
DEFINE_PASS(double, f64)

/* The same for either type: from and to are half spectra of pairs. */
static void pass(const rb_derivative_desc *d, int axis, const void *from, void *to, int add) {
  if (d->dtype == RB_F64)
    pass_f64(d->grid, axis, from, to, add);
  else
    pass_f32(d->grid, axis, from, to, add);
}

/* One transform of f, then component after component: i k_a f^ into `work`, and back into g_a. */
static rb_status gradient(rb_derivative_plan *head, const void *f, void *g) {
  fftw_variant *p = (fftw_variant *)head;
  size_t field = (size_t)rb_grid_points(head->desc.grid) * rb_dtype_size(head->desc.dtype);
  rb_fft_forward(p->fft, 1, f, p->spectrum);
  for (int a = 0; a < 3; a++) {
    pass(&head->desc, a, p->spectrum, p->work, 0);
    rb_fft_inverse(p->fft, 1, p->work, (char *)g + a * field);
  }
  return RB_OK;
}

/* Derivatives add up among the coefficients, so that a single inverse transform suffices. */
static rb_status divergence(rb_derivative_plan *head, const void *v, void *d) {
  fftw_variant *p = (fftw_variant *)head;
  size_t field = (size_t)rb_grid_points(head->desc.grid) * rb_dtype_size(head->desc.dtype);
  for (int a = 0; a < 3; a++) {
    rb_fft_forward(p->fft, 1, (const char *)v + a * field, p->spectrum);
    /* sum_a i k_a v^_a in `work`, in the order of the axes; one inverse transform of the sum */
    pass(&head->desc, a, p->spectrum, p->work, a > 0);
  }
  rb_fft_inverse(p->fft, 1, p->work, d);
  return RB_OK;
}

const rb_derivative_ops rb_derivative_fftw = {supports, plan, gradient, divergence, destroy};
