/* SPDX-License-Identifier: BSD-3-Clause */
/* FFTW behind kernels/fft/fft.h, parallel over planes, then over rows across them. Plans are of one thread and
 * estimated (FFTW_ESTIMATE), so that the bits depend neither on the day nor on the number of threads. FFTW's own
 * threads do not promise that; and where their number does not divide a length, its estimated plans parallelise the
 * innermost transforms, too: a grid of 36 x 45 x 36 on 12 threads is 5800 parallel loops in place of 4. */
#include "kernels/fft/fft.h"

#include <fftw3.h>
#include <stdlib.h>

#define REAL float
#define FFTW(name) fftwf_##name
#define SUFFIX(name) name##_f32
#include "cpu_ref/fft/fft_planes_real.h"
#undef REAL
#undef FFTW
#undef SUFFIX
#define REAL double
#define FFTW(name) fftw_##name
#define SUFFIX(name) name##_f64
#include "cpu_ref/fft/fft_planes_real.h"

typedef struct {
  rb_fft head;
  rb_grid grid;
  plane_plans_f32 f32; /* of the plan's precision; the other is empty */
  plane_plans_f64 f64;
} planes;

static void destroy(rb_fft *head) {
  planes *t = (planes *)head;
  destroy_plans_f32(&t->f32), destroy_plans_f64(&t->f64);
  free(t);
}

/* Any number of fields: `most` is no limit here. */
static rb_status create(const rb_backend *backend, rb_grid grid, rb_dtype dtype, int most, rb_fft **out) {
  rb_status st = RB_OK;
  planes *t = calloc(1, sizeof *t);
  (void)most;
  RB_CHECK(t, RB_ENOMEM, "host memory");
  t->head.ops = &rb_fft_planes, t->head.backend = backend, t->head.dtype = dtype;
  t->grid = grid;
  RB_TRY(dtype == RB_F64 ? make_plans_f64(&t->f64, grid) : make_plans_f32(&t->f32, grid));
  *out = &t->head;
  t = NULL;
done:
  if (t) destroy(&t->head);
  return st;
}

static rb_status forward(rb_fft *head, int fields, const void *real, void *spectrum) {
  const planes *t = (const planes *)head;
  if (head->dtype == RB_F64)
    forward_f64(&t->f64, t->grid, fields, real, spectrum);
  else
    forward_f32(&t->f32, t->grid, fields, real, spectrum);
  return RB_OK;
}
static rb_status inverse(rb_fft *head, int fields, void *spectrum, void *real) {
  const planes *t = (const planes *)head;
  if (head->dtype == RB_F64)
    inverse_f64(&t->f64, t->grid, fields, spectrum, real);
  else
    inverse_f32(&t->f32, t->grid, fields, spectrum, real);
  return RB_OK;
}

const rb_fft_ops rb_fft_planes = {create, forward, inverse, destroy};
