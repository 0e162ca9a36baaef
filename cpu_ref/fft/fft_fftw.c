/* SPDX-License-Identifier: BSD-3-Clause */
/* FFTW behind kernels/fft/fft.h: one field after the other. */
#include "kernels/fft/fft.h"

#include <fftw3.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

/* 3-D real transforms by FFTW, out of place. Measured plans: about a second of trying. Real arrays that are not
 * aligned as the plans want go through the stage. */
typedef struct {
  rb_fft head;
  /* of one field; fields of a call lie behind one another without gaps */
  size_t real_bytes, spectrum_bytes;
  void *stage;          /* one aligned real field */
  void *stage_spectrum; /* one aligned spectrum; NULL where all of an aligned array's are aligned */
  /* two plans of the plan's precision, the other two are NULL */
  fftwf_plan forward32, inverse32;
  fftw_plan forward64, inverse64;
} fftw_plans;

enum { ALIGNMENT = 16 }; /* of FFTW's vectors, as fftw_alignment_of counts it */

/* Planning with FFTW_MEASURE overwrites its arrays and is bounded to about a second a plan. */
static rb_status make_plans(fftw_plans *t, rb_grid g, void *spectrum) {
  rb_status st = RB_OK;
  /* FFTW is told of all threads before it plans; the number is a property of the plans, not of the calls */
  int n[3] = {(int)g.n[0], (int)g.n[1], (int)g.n[2]};
  if (t->head.dtype == RB_F64) {
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
    /* a NULL plan means that FFTW cannot do it, or has no memory */
    RB_CHECK(t->forward32 && t->inverse32, RB_ENOMEM, "FFTW refused a plan for %dx%dx%d", n[0], n[1], n[2]);
  }
done:
  return st;
}

/* Also of plans that were made in part: what was not made is NULL. */
static void destroy(rb_fft *head) {
  fftw_plans *t = (fftw_plans *)head;
  if (t->forward32) fftwf_destroy_plan(t->forward32);
  if (t->inverse32) fftwf_destroy_plan(t->inverse32);
  if (t->forward64) fftw_destroy_plan(t->forward64);
  if (t->inverse64) fftw_destroy_plan(t->inverse64);
  rb_release(head->backend, t->stage);
  if (t->stage_spectrum) rb_release(head->backend, t->stage_spectrum);
  free(t);
}

static rb_status create(const rb_backend *backend, rb_grid grid, rb_dtype dtype, int most, rb_fft **out) {
  rb_status st = RB_OK;
  void *spectrum = NULL;
  fftw_plans *t = calloc(1, sizeof *t);
  /* fields are transformed one after the other: no plan for several at once */
  (void)most;
  RB_CHECK(t, RB_ENOMEM, "host memory");
  t->head.ops = &rb_fft_fftw, t->head.backend = backend, t->head.dtype = dtype;
  t->real_bytes = (size_t)rb_grid_points(grid) * rb_dtype_size(dtype);
  t->spectrum_bytes = rb_fft_bytes(grid, dtype);
  RB_TRY(rb_alloc(backend, t->real_bytes, &t->stage));
  /* a spectrum for the planning, given back below unless fields' spectra begin off the alignment */
  RB_TRY(rb_alloc(backend, t->spectrum_bytes, &spectrum));
  /* measured: planning overwrites stage and spectrum, which hold nothing yet */
  RB_TRY(make_plans(t, grid, spectrum));
  if (t->spectrum_bytes % ALIGNMENT != 0) t->stage_spectrum = spectrum, spectrum = NULL;
  *out = &t->head;
  t = NULL;
done:
  if (spectrum) rb_release(backend, spectrum);
  if (t) destroy(&t->head);
  return st;
}

/* FFTW's plans may be executed on other arrays of the alignment that they were made for, real and spectrum alike. */
static int aligned(const void *p) { return fftwf_alignment_of((float *)p) == 0; }

/* real [fields][n1][n2][n3] -> pairs [fields][n1][n2][n3/2+1], unscaled. One field after the other, each on all
 * threads. */
static rb_status forward(rb_fft *head, int fields, const void *from, void *to) {
  fftw_plans *t = (fftw_plans *)head;
  for (int i = 0; i < fields; i++) {
    const void *real = (const char *)from + (size_t)i * t->real_bytes;
    void *spectrum = (char *)to + (size_t)i * t->spectrum_bytes,
         *result = aligned(spectrum) ? spectrum : t->stage_spectrum;
    /* out of place: the input of a real-to-complex transform is kept, the const is cast away for FFTW's prototype */
    if (!aligned(real)) real = memcpy(t->stage, real, t->real_bytes);
    if (head->dtype == RB_F64)
      fftw_execute_dft_r2c(t->forward64, (double *)real, result);
    else
      fftwf_execute_dft_r2c(t->forward32, (float *)real, result);
    if (result != spectrum) memcpy(spectrum, result, t->spectrum_bytes);
  }
  return RB_OK;
}

/* Back, unscaled: inverse(forward(f)) = N f. */
static rb_status inverse(rb_fft *head, int fields, void *from, void *to) {
  fftw_plans *t = (fftw_plans *)head;
  for (int i = 0; i < fields; i++) {
    void *spectrum = (char *)from + (size_t)i * t->spectrum_bytes, *real = (char *)to + (size_t)i * t->real_bytes;
    if (!aligned(spectrum)) spectrum = memcpy(t->stage_spectrum, spectrum, t->spectrum_bytes);
    /* complex to real overwrites the spectrum */
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
