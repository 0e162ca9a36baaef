/* SPDX-License-Identifier: BSD-3-Clause */
/* FFTW behind kernels/fft/fft.h: one field after the other. */
#include "kernels/fft/fft.h"

#include <fftw3.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  rb_fft head;
  size_t real_bytes, spectrum_bytes;
  void *stage; /* one aligned real field */
  fftwf_plan forward32, inverse32;
  fftw_plan forward64, inverse64;
} fftw_plans;

/* Planning with FFTW_MEASURE overwrites its arrays and is bounded to about a second a plan. */
static rb_status make_plans(fftw_plans *t, rb_grid g, unsigned how, void *spectrum) {
  rb_status st = RB_OK;
  int n[3] = {(int)g.n[0], (int)g.n[1], (int)g.n[2]};
  if (t->head.dtype == RB_F64) {
    fftw_init_threads();
    fftw_plan_with_nthreads(omp_get_max_threads());
    fftw_set_timelimit(1);
    t->forward64 = fftw_plan_dft_r2c(3, n, t->stage, spectrum, how);
    t->inverse64 = fftw_plan_dft_c2r(3, n, spectrum, t->stage, how);
    RB_CHECK(t->forward64 && t->inverse64, RB_ENOMEM, "FFTW refused a plan for %dx%dx%d", n[0], n[1], n[2]);
  } else {
    fftwf_init_threads();
    fftwf_plan_with_nthreads(omp_get_max_threads());
    fftwf_set_timelimit(1);
    t->forward32 = fftwf_plan_dft_r2c(3, n, t->stage, spectrum, how);
    t->inverse32 = fftwf_plan_dft_c2r(3, n, spectrum, t->stage, how);
    RB_CHECK(t->forward32 && t->inverse32, RB_ENOMEM, "FFTW refused a plan for %dx%dx%d", n[0], n[1], n[2]);
  }
done:
  return st;
}

static void destroy(rb_fft *head) {
  fftw_plans *t = (fftw_plans *)head;
  if (t->forward32) fftwf_destroy_plan(t->forward32);
  if (t->inverse32) fftwf_destroy_plan(t->inverse32);
  if (t->forward64) fftw_destroy_plan(t->forward64);
  if (t->inverse64) fftw_destroy_plan(t->inverse64);
  rb_release(head->backend, t->stage);
  free(t);
}

static rb_status create(const rb_backend *backend, rb_grid grid, rb_dtype dtype, int most, rb_fft_planning planning,
                        rb_fft **out) {
  rb_status st = RB_OK;
  void *spectrum = NULL;
  fftw_plans *t = calloc(1, sizeof *t);
  (void)most;
  RB_CHECK(t, RB_ENOMEM, "host memory");
  t->head.ops = &rb_fft_fftw, t->head.backend = backend, t->head.dtype = dtype;
  t->real_bytes = (size_t)rb_grid_points(grid) * rb_dtype_size(dtype);
  t->spectrum_bytes = rb_fft_bytes(grid, dtype);
  RB_TRY(rb_alloc(backend, t->real_bytes, &t->stage));
  RB_TRY(rb_alloc(backend, t->spectrum_bytes, &spectrum));
  RB_TRY(make_plans(t, grid, planning == RB_FFT_MEASURED ? FFTW_MEASURE : FFTW_ESTIMATE, spectrum));
  *out = &t->head;
  t = NULL;
done:
  rb_release(backend, spectrum);
  if (t) destroy(&t->head);
  return st;
}

static int aligned(const void *p) { return fftwf_alignment_of((float *)p) == 0; }

static rb_status forward(rb_fft *head, int fields, const void *from, void *to) {
  fftw_plans *t = (fftw_plans *)head;
  for (int i = 0; i < fields; i++) {
    const void *real = (const char *)from + (size_t)i * t->real_bytes;
    void *spectrum = (char *)to + (size_t)i * t->spectrum_bytes;
    if (!aligned(real)) real = memcpy(t->stage, real, t->real_bytes);
    if (head->dtype == RB_F64)
      fftw_execute_dft_r2c(t->forward64, (double *)real, spectrum);
    else
      fftwf_execute_dft_r2c(t->forward32, (float *)real, spectrum);
  }
  return RB_OK;
}

static rb_status inverse(rb_fft *head, int fields, void *from, void *to) {
  fftw_plans *t = (fftw_plans *)head;
  for (int i = 0; i < fields; i++) {
    void *spectrum = (char *)from + (size_t)i * t->spectrum_bytes, *real = (char *)to + (size_t)i * t->real_bytes;
    void *result = aligned(real) ? real : t->stage;
    if (head->dtype == RB_F64)
      fftw_execute_dft_c2r(t->inverse64, spectrum, result);
    else
      fftwf_execute_dft_c2r(t->inverse32, spectrum, result);
    if (result != real) memcpy(real, result, t->real_bytes);
  }
  return RB_OK;
}

const rb_fft_ops rb_fft_fftw = {create, forward, inverse, destroy};
