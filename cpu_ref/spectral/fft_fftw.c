/* SPDX-License-Identifier: BSD-3-Clause */
#include "cpu_ref/spectral/fft_fftw.h"

#include <fftw3.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

struct rb_fftw {
  const rb_backend *backend;
  rb_dtype dtype;
  size_t real_bytes;
  void *stage; /* one aligned real field */
  fftwf_plan forward32, inverse32;
  fftw_plan forward64, inverse64;
};

size_t rb_fftw_bytes(rb_grid g, rb_dtype dtype) {
  return 2 * rb_dtype_size(dtype) * (size_t)(g.n[0] * g.n[1] * (g.n[2] / 2 + 1));
}

/* Planning with FFTW_MEASURE overwrites its arrays and is bounded to about a second a plan. */
static rb_status make_plans(rb_fftw *t, rb_grid g, void *spectrum) {
  rb_status st = RB_OK;
  int n[3] = {(int)g.n[0], (int)g.n[1], (int)g.n[2]};
  if (t->dtype == RB_F64) {
    fftw_init_threads();
    fftw_plan_with_nthreads(omp_get_max_threads());
    fftw_set_timelimit(1);
    t->forward64 = fftw_plan_dft_r2c(3, n, t->stage, spectrum, FFTW_MEASURE);
    t->inverse64 = fftw_plan_dft_c2r(3, n, spectrum, t->stage, FFTW_MEASURE);
    RB_CHECK(t->forward64 && t->inverse64, RB_ENOMEM, "FFTW refused a plan for %dx%dx%d", n[0], n[1], n[2]);
  } else {
    fftwf_init_threads();
    fftwf_plan_with_nthreads(omp_get_max_threads());
    fftwf_set_timelimit(1);
    t->forward32 = fftwf_plan_dft_r2c(3, n, t->stage, spectrum, FFTW_MEASURE);
    t->inverse32 = fftwf_plan_dft_c2r(3, n, spectrum, t->stage, FFTW_MEASURE);
    RB_CHECK(t->forward32 && t->inverse32, RB_ENOMEM, "FFTW refused a plan for %dx%dx%d", n[0], n[1], n[2]);
  }
done:
  return st;
}

rb_status rb_fftw_create(const rb_backend *backend, rb_grid grid, rb_dtype dtype, rb_fftw **out) {
  rb_status st = RB_OK;
  void *spectrum = NULL;
  rb_fftw *t = calloc(1, sizeof *t);
  RB_CHECK(t, RB_ENOMEM, "host memory");
  t->backend = backend;
  t->dtype = dtype;
  t->real_bytes = (size_t)rb_grid_points(grid) * rb_dtype_size(dtype);
  RB_TRY(rb_alloc(backend, t->real_bytes, &t->stage));
  RB_TRY(rb_alloc(backend, rb_fftw_bytes(grid, dtype), &spectrum));
  RB_TRY(make_plans(t, grid, spectrum));
  *out = t;
  t = NULL;
done:
  rb_release(backend, spectrum);
  rb_fftw_destroy(t);
  return st;
}

static int aligned(const void *p) { return fftwf_alignment_of((float *)p) == 0; }

void rb_fftw_forward(rb_fftw *t, const void *real, void *spectrum) {
  if (!aligned(real)) real = memcpy(t->stage, real, t->real_bytes);
  if (t->dtype == RB_F64)
    fftw_execute_dft_r2c(t->forward64, (double *)real, spectrum);
  else
    fftwf_execute_dft_r2c(t->forward32, (float *)real, spectrum);
}

void rb_fftw_inverse(rb_fftw *t, void *spectrum, void *real) {
  void *to = aligned(real) ? real : t->stage;
  if (t->dtype == RB_F64)
    fftw_execute_dft_c2r(t->inverse64, spectrum, to);
  else
    fftwf_execute_dft_c2r(t->inverse32, spectrum, to);
  if (to != real) memcpy(real, to, t->real_bytes);
}

void rb_fftw_destroy(rb_fftw *t) {
  if (!t) return;
  if (t->forward32) fftwf_destroy_plan(t->forward32);
  if (t->inverse32) fftwf_destroy_plan(t->inverse32);
  if (t->forward64) fftw_destroy_plan(t->forward64);
  if (t->inverse64) fftw_destroy_plan(t->inverse64);
  rb_release(t->backend, t->stage);
  free(t);
}
