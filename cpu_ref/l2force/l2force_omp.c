/* SPDX-License-Identifier: BSD-3-Clause */
/* Baseline of l2force on the CPU: all cores. */
#include "kernels/l2force/l2force.h"

#include <stdlib.h>

#define REAL float
#define SUFFIX(name) name##_f32
#include "cpu_ref/l2force/l2force_real.h"
#undef REAL
#undef SUFFIX
#define REAL double
#define SUFFIX(name) name##_f64
#include "cpu_ref/l2force/l2force_real.h"

typedef struct {
  rb_l2force_plan head;
  double *plane; /* [n1]: sums of planes */
} omp_plan;

/* Either precision; the body is in l2force_real.h. */
static rb_status supports(const rb_l2force_desc *d) {
  (void)d;
  return RB_OK;
}
static void destroy(rb_l2force_plan *head) {
  free(((omp_plan *)head)->plane);
  free(head);
}
static rb_status plan(const rb_backend *b, const rb_l2force_desc *d, rb_l2force_plan **out) {
  rb_status st = RB_OK;
  omp_plan *p = calloc(1, sizeof *p);
  (void)b;
  RB_CHECK(p, RB_ENOMEM, "host memory");
  p->plane = calloc((size_t)d->grid.n[0], sizeof *p->plane);
  RB_CHECK(p->plane, RB_ENOMEM, "host memory");
  *out = &p->head;
  p = NULL;
done:
  /* the only array is missing where this is reached with a plan */
  free(p);
  return st;
}
/* sum (mean - image)^2: `out` is host memory here. */
static rb_status energy(rb_l2force_plan *p, const void *mean, const void *image, double *out) {
  /* a place for each plane, so that the planes' sums are added in their order */
  double *plane = ((omp_plan *)p)->plane;
  *out = p->desc.dtype == RB_F64 ? energy_f64(p->desc.grid, mean, image, plane)
                                 : energy_f32(p->desc.grid, mean, image, plane);
  return RB_OK;
}

static rb_status sum(rb_l2force_plan *p, int channels, double weight, const void *mean, const void *image, void *f,
                     double *kept) {
  rb_status st = RB_OK;
  const size_t bytes = (size_t)rb_grid_points(p->desc.grid) * rb_dtype_size(p->desc.dtype);
  if (p->desc.dtype == RB_F64)
    force_f64(p->desc.grid, p->desc.spacing, channels, weight, mean, image, f);
  else
    force_f32(p->desc.grid, p->desc.spacing, channels, (float)weight, mean, image, f);
  if (!kept) return RB_OK;
  *kept = 0;
  for (int k = 0; k < channels; k++) { /* channels are added in their order */
    double one;
    RB_TRY(energy(p, (const char *)mean + (size_t)k * bytes, (const char *)image + (size_t)k * bytes, &one));
    *kept += one;
  }
done:
  return st;
}
static rb_status force(rb_l2force_plan *p, const void *mean, const void *image, void *f) {
  return sum(p, 1, 1, mean, image, f, NULL);
}

const rb_l2force_ops rb_l2force_omp = {supports, plan, force, sum, energy, destroy};
