/* SPDX-License-Identifier: BSD-3-Clause */
/* Baseline of interp on the CPU: all cores, float32 and float64. The B-spline's exact periodic prefilter
 * runs as a recursion over lines; its start-up sum is cut below the precision of the type. */
#include "kernels/interp/interp.h"

#include <math.h>
#include <omp.h>
#include <stdlib.h>

/* The body twice: float with floorf, double with floor. */
#define REAL float
#define SUFFIX(name) name##_f32
#define FLOOR floorf
#include "cpu_ref/interp/interp_omp_real.h"
#undef REAL
#undef SUFFIX
#undef FLOOR
#define REAL double
#define SUFFIX(name) name##_f64
#define FLOOR floor
#include "cpu_ref/interp/interp_omp_real.h"

/* load:  B-spline: copy of the field, filtered in place along x3, x2, x1; other bases: the address alone.
 * eval:  per point and axis the taps' offsets and weights, then the separable sum in each component.
 * Each value is computed by one thread in a fixed order: the number of threads changes no bit. */
typedef struct {
  rb_interp_plan head;
  void *coefficients, *scratch; /* B-spline only */
  const void *field;            /* what eval reads: the caller's array, or the coefficients */
  /* values of scratch a thread: two buffers of the longest axis, W lines wide */
  int64_t per_thread;
  /* as many as the scratch is for: loops ask for this number, whatever the setting is later */
  int threads;
} omp_plan;

static rb_status supports(const rb_interp_desc *desc) {
  (void)desc;
  return RB_OK;
}

static rb_status plan(const rb_backend *backend, const rb_interp_desc *desc, rb_interp_plan **out) {
  rb_status st = RB_OK;
  size_t size = rb_dtype_size(desc->dtype);
  omp_plan *p = calloc(1, sizeof *p);
  RB_CHECK(p, RB_ENOMEM, "host memory");
  /* fixed here: scratch is allotted by it */
  p->threads = omp_get_max_threads();
  if (desc->basis == RB_BSPLINE) {
    int64_t longest = 1;
    for (int a = 0; a < 3; a++)
      if (desc->grid.n[a] > longest) longest = desc->grid.n[a];
    /* W is the same number in both precisions */
    p->per_thread = 2 * longest * W_f32;
    RB_TRY(rb_alloc(backend, (size_t)(rb_grid_points(desc->grid) * desc->components) * size, &p->coefficients));
    /* thread t has the values from t per_thread on */
    RB_TRY(rb_alloc(backend, (size_t)(p->per_thread * p->threads) * size, &p->scratch));
  }
  *out = &p->head;
  return RB_OK;
done:
  if (p) rb_release(backend, p->coefficients);
  free(p);
  return st;
}

static rb_status load(rb_interp_plan *head, const void *f) {
  omp_plan *p = (omp_plan *)head;
  const rb_interp_desc *d = &head->desc;
  /* linear and Lagrange: the caller's array is read by eval, it must stay as it is */
  p->field = f;
  if (d->basis != RB_BSPLINE) return RB_OK;
  int64_t n = rb_grid_points(d->grid);
  size_t size = rb_dtype_size(d->dtype);
  p->field = p->coefficients;
  for (int c = 0; c < d->components; c++) {
    /* Planar components, each filtered by itself in place. Copied by the threads in static shares of the field. */
    char *to = (char *)p->coefficients + (size_t)(c * n) * size;
    const char *from = (const char *)f + (size_t)(c * n) * size;
#pragma omp parallel for schedule(static) num_threads(p->threads)
    for (int64_t i = 0; i < n; i++) {
      if (d->dtype == RB_F64)
        ((double *)to)[i] = ((const double *)from)[i];
      else
        ((float *)to)[i] = ((const float *)from)[i];
    }
    if (d->dtype == RB_F64)
      prefilter_f64((double *)to, d->grid, d->prefilter, p->scratch, p->per_thread, p->threads);
    else
      prefilter_f32((float *)to, d->grid, d->prefilter, p->scratch, p->per_thread, p->threads);
  }
  return RB_OK;
}

/* Values are independent of one another: the same bits for any number of threads. */
static rb_status eval(rb_interp_plan *head, int64_t np, const void *x, void *out) {
  omp_plan *p = (omp_plan *)head;
  if (head->desc.dtype == RB_F64)
    eval_points_f64(&head->desc, p->field, np, x, out, p->threads);
  else
    eval_points_f32(&head->desc, p->field, np, x, out, p->threads);
  return RB_OK;
}

/* The caller's field is not the plan's to release. */
static void destroy(rb_interp_plan *head) {
  omp_plan *p = (omp_plan *)head;
  rb_release(head->backend, p->scratch);
  rb_release(head->backend, p->coefficients);
  free(p);
}

const rb_interp_ops rb_interp_omp = {supports, plan, load, eval, destroy, 0, 0, NULL};
