/* SPDX-License-Identifier: BSD-3-Clause */
/* Baseline of the periodic solve: FFTW. A component's transforms run in one thread, three components at a time: the
 * result does not depend on the number of threads, nor (FFTW_ESTIMATE) on how fast the machine is today. */
#include "kernels/helmholtz/helmholtz.h"
#include "kernels/helmholtz/helmholtz_symbol.h"

#include <fftw3.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  rb_helmholtz_plan head;
  void *z;             /* [3][n1][n2][row]: a row holds n3 reals or n3/2+1 complex numbers */
  double *c[3], *s[3]; /* second and central differences' symbols along each axis */
  fftwf_plan forward32, inverse32;
  fftw_plan forward64, inverse64;
} fftw_solve_plan;

static int64_t row_of(rb_grid g) { return 2 * (g.n[2] / 2 + 1); }
static size_t component_bytes(const rb_helmholtz_desc *d) {
  const size_t bytes = (size_t)(d->grid.n[0] * d->grid.n[1] * row_of(d->grid)) * rb_dtype_size(d->dtype);
  return (bytes + 63) / 64 * 64; /* every component aligned as the first */
}

static rb_status supports(const rb_helmholtz_desc *d) {
  (void)d;
  return RB_OK;
}

static void destroy(rb_helmholtz_plan *head) {
  fftw_solve_plan *p = (fftw_solve_plan *)head;
  if (p->forward32) fftwf_destroy_plan(p->forward32);
  if (p->inverse32) fftwf_destroy_plan(p->inverse32);
  if (p->forward64) fftw_destroy_plan(p->forward64);
  if (p->inverse64) fftw_destroy_plan(p->inverse64);
  for (int a = 0; a < 3; a++) free(p->c[a]), free(p->s[a]);
  rb_release(head->backend, p->z);
  free(p);
}

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
      p->c[a][k] = (2 * cos(angle) - 2) / (h * h);
      p->s[a][k] = 2 * k == n ? 0 : sin(angle) / h;
    }
  }
done:
  return st;
}

static rb_status plan(const rb_backend *backend, const rb_helmholtz_desc *d, rb_helmholtz_plan **out) {
  rb_status st = RB_OK;
  const int n[3] = {(int)d->grid.n[0], (int)d->grid.n[1], (int)d->grid.n[2]};
  fftw_solve_plan *p = calloc(1, sizeof *p);
  RB_CHECK(p, RB_ENOMEM, "host memory");
  p->head.backend = backend;
  RB_TRY(make_symbols(p, d));
  RB_TRY(rb_alloc(backend, 3 * component_bytes(d), &p->z));
  if (d->dtype == RB_F64) {
    fftw_plan_with_nthreads(1);
    p->forward64 = fftw_plan_dft_r2c(3, n, p->z, p->z, FFTW_ESTIMATE);
    p->inverse64 = fftw_plan_dft_c2r(3, n, p->z, p->z, FFTW_ESTIMATE);
  } else {
    fftwf_plan_with_nthreads(1);
    p->forward32 = fftwf_plan_dft_r2c(3, n, p->z, p->z, FFTW_ESTIMATE);
    p->inverse32 = fftwf_plan_dft_c2r(3, n, p->z, p->z, FFTW_ESTIMATE);
  }
  RB_CHECK((p->forward32 && p->inverse32) || (p->forward64 && p->inverse64), RB_ENOMEM,
           "FFTW refused a plan for %dx%dx%d", n[0], n[1], n[2]);
  *out = &p->head;
  p = NULL;
done:
  if (p) destroy(&p->head);
  return st;
}

#define REAL float
#define SUFFIX(name) name##_f32
#include "cpu_ref/helmholtz/helmholtz_fftw_real.h"
#undef REAL
#undef SUFFIX
#define REAL double
#define SUFFIX(name) name##_f64
#include "cpu_ref/helmholtz/helmholtz_fftw_real.h"

/* Component c there and back; what lies between is done by `solve`. */
static void forward(fftw_solve_plan *p, int c, const void *f) {
  const rb_helmholtz_desc *d = &p->head.desc;
  void *z = (char *)p->z + (size_t)c * component_bytes(d);
  if (d->dtype == RB_F64) {
    spread_f64(d->grid, row_of(d->grid), (const double *)f + c * rb_grid_points(d->grid), z);
    fftw_execute_dft_r2c(p->forward64, z, z);
  } else {
    spread_f32(d->grid, row_of(d->grid), (const float *)f + c * rb_grid_points(d->grid), z);
    fftwf_execute_dft_r2c(p->forward32, z, z);
  }
}
static void inverse(fftw_solve_plan *p, int c, void *v) {
  const rb_helmholtz_desc *d = &p->head.desc;
  void *z = (char *)p->z + (size_t)c * component_bytes(d);
  if (d->dtype == RB_F64) {
    fftw_execute_dft_c2r(p->inverse64, z, z);
    collect_f64(d->grid, row_of(d->grid), z, (double *)v + c * rb_grid_points(d->grid));
  } else {
    fftwf_execute_dft_c2r(p->inverse32, z, z);
    collect_f32(d->grid, row_of(d->grid), z, (float *)v + c * rb_grid_points(d->grid));
  }
}

static rb_status solve(rb_helmholtz_plan *head, const void *f, void *v) {
  fftw_solve_plan *p = (fftw_solve_plan *)head;
  const rb_helmholtz_desc *d = &head->desc;
#pragma omp parallel for schedule(dynamic, 1)
  for (int c = 0; c < 3; c++) forward(p, c, f);
  if (d->dtype == RB_F64)
    matrices_f64(d, p->c, p->s, p->z, component_bytes(d));
  else
    matrices_f32(d, p->c, p->s, p->z, component_bytes(d));
#pragma omp parallel for schedule(dynamic, 1)
  for (int c = 0; c < 3; c++) inverse(p, c, v);
  return RB_OK;
}

const rb_helmholtz_ops rb_helmholtz_fftw = {supports, plan, solve, NULL, destroy, RB_HELMHOLTZ_PERIODIC, 0};
