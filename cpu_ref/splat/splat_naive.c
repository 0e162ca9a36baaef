/* SPDX-License-Identifier: BSD-3-Clause */
/* cpu/naive of splat: one thread, points in their order. */
#include "cpu_ref/splat/splat_cpu.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
  rb_splat_plan head;
  /* points that were not finite in the last run */
  int64_t lost;
} naive_plan;

static rb_status supports(const rb_splat_desc *d) {
  (void)d;
  return RB_OK;
}
static rb_status plan(const rb_backend *b, const rb_splat_desc *d, rb_splat_plan **out) {
  (void)b, (void)d;
  *out = calloc(1, sizeof(naive_plan));
  return *out ? RB_OK : RB_FAIL(RB_ENOMEM, "host memory");
}
/* The plan is all there is. */
static void destroy(rb_splat_plan *p) { free(p); }

/* out_c[k] = sum_p w(x_p - k) m_cp, each point added to its nodes in memory as it comes */
static rb_status run(rb_splat_plan *head, const void *x, const void *m, void *out) {
  naive_plan *p = (naive_plan *)head;
  const rb_splat_desc *d = &head->desc;
  /* sums begin at zero in all components; they are kept in the data's precision */
  p->lost = 0;
  memset(out, 0, (size_t)(rb_grid_points(d->grid) * d->components) * rb_dtype_size(d->dtype));
  /* planes 0 .. n1: add_point skips none of the point's planes but those that the boundary drops */
  for (int64_t q = 0; q < d->np; q++) {
    int64_t base[3];
    if (d->dtype == RB_F64) {
      double w[3][4];
      if (place_f64(d, x, m, q, base, w))
        add_point_f64(d, base, w, m, q, 0, d->grid.n[0], out);
      else
        p->lost++;
    } else {
      float w[3][4];
      if (place_f32(d, x, m, q, base, w))
        add_point_f32(d, base, w, m, q, 0, d->grid.n[0], out);
      else
        p->lost++;
    }
  }
  return RB_OK;
}
/* Floating point exceeds nothing. */
static rb_status outcome(rb_splat_plan *head, int64_t *lost, int *exceeded) {
  *lost = ((naive_plan *)head)->lost, *exceeded = 0;
  return RB_OK;
}

const rb_splat_ops rb_splat_naive = {supports, plan, run, outcome, destroy, 0, 0, NULL, NULL};
