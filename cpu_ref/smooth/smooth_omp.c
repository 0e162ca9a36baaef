/* SPDX-License-Identifier: BSD-3-Clause */
/* Baseline of smooth on the CPU: all cores; every pass runs its vector loop along x3, whatever axis it filters. */
#include "kernels/smooth/smooth.h"

#include <omp.h>
#include <stdlib.h>
#include <string.h>

#define REAL float
#define SUFFIX(name) name##_f32
#include "cpu_ref/smooth/smooth_omp_real.h"
#undef REAL
#undef SUFFIX
#define REAL double
#define SUFFIX(name) name##_f64
#include "cpu_ref/smooth/smooth_omp_real.h"

typedef struct {
  rb_smooth_plan head;
  void *rows; /* a row a thread, with room for the widest kernel on either side */
  int64_t length;
  int threads; /* that `rows` has room for */
} omp_plan;

/* Either precision, any sigma. */
static rb_status supports(const rb_smooth_desc *d) {
  (void)d;
  return RB_OK;
}
static void destroy(rb_smooth_plan *head) {
  omp_plan *p = (omp_plan *)head;
  rb_release(head->backend, p->rows);
  free(p);
}
static rb_status plan(const rb_backend *backend, const rb_smooth_desc *d, rb_smooth_plan **out) {
  rb_status st = RB_OK;
  omp_plan *p = calloc(1, sizeof *p);
  RB_CHECK(p, RB_ENOMEM, "host memory");
  p->head.backend = backend;
  /* n3 values and r on either side, rounded up to 32 values: a thread's row begins at a multiple of them. sigma = 0
   * (any): the widest that there is, r = n3 - 1. */
  p->length =
      (d->grid.n[2] + 2 * (int64_t)rb_smooth_radius(d->sigma > 0 ? d->sigma : RB_MOST_AXIS, d->grid.n[2]) + 31) / 32 *
      32;
  /* one buffer for each thread that there may be when the plan is made */
  p->threads = omp_get_max_threads();
  RB_TRY(rb_alloc(backend, (size_t)p->threads * (size_t)p->length * rb_dtype_size(d->dtype), &p->rows));
  *out = &p->head;
  return RB_OK;
done:
  if (p) destroy(&p->head);
  return st;
}
/* One axis, out of place; k->radius is below the axis's length. */
static rb_status pass(rb_smooth_plan *head, const rb_smooth_kernel *k, int axis, const void *in, void *out) {
  omp_plan *p = (omp_plan *)head;
  const rb_grid g = head->desc.grid;
  /* The field as [lines][n_axis][inner]:  along x1: [components][n1][n2 n3], along x2: [components n1][n2][n3].
   * Along x3: components n1 n2 rows of n3. */
  const int64_t c = head->desc.components, lines = axis == 0 ? c : c * g.n[0],
                inner = axis == 0 ? g.n[1] * g.n[2] : g.n[2];
  if (axis == 2 && head->desc.dtype == RB_F64)
    along_rows_f64(c * g.n[0] * g.n[1], g.n[2], k, in, out, p->rows, p->length, p->threads);
  else if (axis == 2)
    along_rows_f32(c * g.n[0] * g.n[1], g.n[2], k, in, out, p->rows, p->length, p->threads);
  else if (head->desc.dtype == RB_F64)
    across_rows_f64(lines, g.n[axis], inner, k, in, out);
  else
    across_rows_f32(lines, g.n[axis], inner, k, in, out);
  return RB_OK;
}

const rb_smooth_ops rb_smooth_omp = {supports, plan, pass, NULL, destroy, 0, 0};
