/* SPDX-License-Identifier: BSD-3-Clause */
/* Baseline of the periodic solve: FFTW on all cores. A transform of one plane, or across the planes, runs in one
 * thread, and plans are estimated, not measured: the result depends neither on the number of threads nor on how fast
 * the machine is today. */
#include "kernels/helmholtz/helmholtz.h"
#include "kernels/helmholtz/helmholtz_symbol.h"

#include <fftw3.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define REAL float
/* float and double are two libraries with names of their own */
#define FFTW(name) fftwf_##name
#define SUFFIX(name) name##_f32
#include "cpu_ref/helmholtz/helmholtz_fftw_real.h"
#undef REAL
#undef FFTW
#undef SUFFIX
#define REAL double
#define FFTW(name) fftw_##name
#define SUFFIX(name) name##_f64
#include "cpu_ref/helmholtz/helmholtz_fftw_real.h"

/* v = F^-1 M^-1 F f:
 *   1. each plane (x2, x3) of each component: real to complex in place
 *   2. each slab across the planes: along x1, the 3 x 3 systems times 1/N, back along x1
 *   3. each plane: complex to real in place
 * The three loops are parallel over planes, slabs and planes; within each, one thread does a transform. */
typedef struct {
  rb_helmholtz_plan head;
  /* [3][n1][n2][n3/2 + 1] complex numbers: the only large array, all transforms are in place */
  void *z;
  double *c[3], *s[3]; /* second and central differences' symbols along each axis */
  transforms_f32 f32;  /* of the plan's precision; the other is empty */
  transforms_f64 f64;
} fftw_solve_plan;

static rb_status supports(const rb_helmholtz_desc *d) {
  (void)d;
  return RB_OK;
}

static void destroy(rb_helmholtz_plan *head) {
  fftw_solve_plan *p = (fftw_solve_plan *)head;
  destroy_transforms_f32(&p->f32);
  destroy_transforms_f64(&p->f64);
  for (int a = 0; a < 3; a++) free(p->c[a]), free(p->s[a]);
  rb_release(head->backend, p->z);
  free(p);
}

/* Tables of n_a values in double, rounded where they are used: index k is the frequency's index on the axis. */
static rb_status make_symbols(fftw_solve_plan *p, const rb_helmholtz_desc *d) {
  rb_status st = RB_OK;
  for (int a = 0; a < 3; a++) {
    const int64_t n = d->grid.n[a];
    const double h = d->spacing[a];
    p->c[a] = malloc((size_t)n * sizeof(double));
    p->s[a] = malloc((size_t)n * sizeof(double));
    RB_CHECK(p->c[a] && p->s[a], RB_ENOMEM, "host memory");
    for (int64_t k = 0; k < n; k++) {
      const double angle = RB_TWO_PI * (double)k / (double)n;
      /* c_a = (2 cos(2 pi k / n) - 2) / h^2,   S_a = sin(2 pi k / n) / h, exactly 0 at Nyquist */
      p->c[a][k] = (2 * cos(angle) - 2) / (h * h);
      p->s[a][k] = 2 * k == n ? 0 : sin(angle) / h;
    }
  }
done:
  return st;
}

static rb_status plan(const rb_backend *backend, const rb_helmholtz_desc *d, rb_helmholtz_plan **out) {
  rb_status st = RB_OK;
  const rb_grid g = d->grid;
  fftw_solve_plan *p = calloc(1, sizeof *p);
  RB_CHECK(p, RB_ENOMEM, "host memory");
  p->head.backend = backend;
  /* FFTW's sizes and strides are ints */
  RB_CHECK(g.n[1] * (g.n[2] / 2 + 1) < (int64_t)1 << 31, RB_EUNSUPPORTED, "cpu/fftw ends at planes of 2^32 nodes");
  /* a failure leaves what is there to destroy, which takes NULL for the rest */
  RB_TRY(make_symbols(p, d));
  /* 3 components of pairs */
  RB_TRY(rb_alloc(backend, 6 * (size_t)(g.n[0] * g.n[1] * (g.n[2] / 2 + 1)) * rb_dtype_size(d->dtype), &p->z));
  RB_TRY(d->dtype == RB_F64 ? make_transforms_f64(&p->f64, g, p->z) : make_transforms_f32(&p->f32, g, p->z));
  *out = &p->head;
  p = NULL;
done:
  if (p) destroy(&p->head);
  return st;
}

/* f is copied into z plane by plane and not changed. */
static rb_status solve(rb_helmholtz_plan *head, const void *f, void *v) {
  fftw_solve_plan *p = (fftw_solve_plan *)head;
  if (head->desc.dtype == RB_F64)
    solve_f64(&p->f64, &head->desc, p->c, p->s, p->z, f, v);
  else
    solve_f32(&p->f32, &head->desc, p->c, p->s, p->z, f, v);
  return RB_OK;
}

const rb_helmholtz_ops rb_helmholtz_fftw = {supports, plan, solve, NULL, destroy, RB_HELMHOLTZ_PERIODIC, 0};
