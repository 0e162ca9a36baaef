/* SPDX-License-Identifier: BSD-3-Clause */
/* Solve with a border of zeros by FFTW's sine transforms (DST-I) of what lies inside, in double: what over-relaxation
 * converges to. */
#include "cpu_ref/base/values.h"
#include "kernels/helmholtz/helmholtz.h"

#include <fftw3.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Sine functions sin(pi (k+1) (i+1) / (m+1)) vanish on the border and are eigenvectors of the second difference, so L
 * with beta = 0 is diagonal: v^ = f^ / (gamma - alpha (c_1 + c_2 + c_3)). */
typedef struct {
  rb_helmholtz_plan head;
  int m[3]; /* nodes inside */
  /* [m1][m2][m3]: one component of what lies inside, transformed in place */
  double *z;
  fftw_plan transform; /* its own inverse, times 8 (m1 + 1) (m2 + 1) (m3 + 1) */
} dst_plan;

static rb_status supports(const rb_helmholtz_desc *d) {
  (void)d;
  return RB_OK;
}
/* Also of plans that were made in part. */
static void destroy(rb_helmholtz_plan *head) {
  dst_plan *p = (dst_plan *)head;
  if (p->transform) fftw_destroy_plan(p->transform);
  rb_release(head->backend, p->z);
  free(p);
}
static rb_status plan(const rb_backend *backend, const rb_helmholtz_desc *d, rb_helmholtz_plan **out) {
  rb_status st = RB_OK;
  dst_plan *p = calloc(1, sizeof *p);
  int inside = 1;
  RB_CHECK(p, RB_ENOMEM, "host memory");
  p->head.backend = backend;
  for (int a = 0; a < 3; a++) {
    /* `border` layers on either side are zeros; a grid without nodes inside has no transform, and v = 0 */
    p->m[a] = (int)d->grid.n[a] - 2 * d->border;
    inside = inside && p->m[a] > 0;
  }
  if (inside) {
    RB_TRY(rb_alloc(backend, (size_t)p->m[0] * (size_t)p->m[1] * (size_t)p->m[2] * sizeof *p->z, (void **)&p->z));
    /* one thread and an estimated plan: the same bits on any day */
    fftw_plan_with_nthreads(1);
    p->transform = fftw_plan_r2r_3d(p->m[0], p->m[1], p->m[2], p->z, p->z, FFTW_RODFT00, FFTW_RODFT00, FFTW_RODFT00,
                                    FFTW_ESTIMATE);
    RB_CHECK(p->transform, RB_ENOMEM, "FFTW refused a sine transform of %dx%dx%d", p->m[0], p->m[1], p->m[2]);
  }
  *out = &p->head;
  p = NULL;
done:
  if (p) destroy(&p->head);
  return st;
}

/* Index on the grid of node i, j, k inside. */
static int64_t node(const rb_helmholtz_desc *d, int i, int j, int k) {
  return ((i + d->border) * d->grid.n[1] + j + d->border) * d->grid.n[2] + k + d->border;
}
/* Second difference's eigenvalue for sin(pi (k+1) (i+1) / (m+1)):  c = (2 cos(pi (k+1) / (m+1)) - 2) / h^2 */
static double second(const dst_plan *p, int a, int k) {
  const double h = p->head.desc.spacing[a];
  return (2 * cos(RB_TWO_PI / 2 * (k + 1) / (p->m[a] + 1)) - 2) / (h * h);
}

/* The inside of f, in double, packed without its border; solved in place; written back to the inside of v. */
static void one_component(dst_plan *p, const void *f, void *v) {
  const rb_helmholtz_desc *d = &p->head.desc;
  const int *m = p->m;
  /* v = L^-1 f with beta = 0: a sine transform, division by gamma - alpha (c_1 + c_2 + c_3), the same transform
   * again. DST-I twice is 2 (m_a + 1) along each axis, which `scale` undoes. */
  const double scale = 1 / (8.0 * (m[0] + 1) * (m[1] + 1) * (m[2] + 1));
  double *z = p->z;
  for (int i = 0; i < m[0]; i++)
    for (int j = 0; j < m[1]; j++)
      for (int k = 0; k < m[2]; k++) *z++ = rb_value_get(d->dtype, f, node(d, i, j, k));
  fftw_execute(p->transform);
  z = p->z;
  for (int i = 0; i < m[0]; i++)
    for (int j = 0; j < m[1]; j++)
      for (int k = 0; k < m[2]; k++)
        *z++ *= scale / (d->gamma - d->alpha * (second(p, 0, i) + second(p, 1, j) + second(p, 2, k)));
  fftw_execute(p->transform);
  z = p->z;
  for (int i = 0; i < m[0]; i++)
    for (int j = 0; j < m[1]; j++)
      for (int k = 0; k < m[2]; k++, z++) {
        rb_value_put(d->dtype, v, node(d, i, j, k), *z);
      }
}

/* Components do not meet, as beta = 0. */
static rb_status solve(rb_helmholtz_plan *head, const void *f, void *v) {
  const size_t bytes = (size_t)rb_grid_points(head->desc.grid) * rb_dtype_size(head->desc.dtype);
  /* the border; what lies inside is written below */
  memset(v, 0, 3 * bytes);
  for (size_t c = 0; c < 3 && ((dst_plan *)head)->transform; c++)
    one_component((dst_plan *)head, (const char *)f + c * bytes, (char *)v + c * bytes);
  return RB_OK;
}

const rb_helmholtz_ops rb_helmholtz_dst = {supports, plan, solve, NULL, destroy, RB_HELMHOLTZ_ZERO, 0};
