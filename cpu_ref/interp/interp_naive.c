/* SPDX-License-Identifier: BSD-3-Clause */
/* cpu/naive of interp: one thread, float32, index arithmetic in every tap. It is what an unoptimised
 * port looks like and what published speed-ups are quoted against; not the baseline of ours. */
#include "kernels/interp/interp.h"

#include <math.h>
#include <stdlib.h>

typedef struct {
  rb_interp_plan head;
  /* the caller's field, which must stay as it is until the last eval */
  const float *f;
} naive_plan;

/* The B-spline would need coefficients, which this variant does not make. */
static rb_status supports(const rb_interp_desc *desc) {
  if (desc->dtype != RB_F32) return RB_FAIL(RB_EUNSUPPORTED, "cpu/naive is float32 only");
  if (desc->basis == RB_BSPLINE)
    return RB_FAIL(RB_EUNSUPPORTED, "cpu/naive has no prefilter: linear and lagrange only");
  return RB_OK;
}

/* No memory of its own. */
static rb_status plan(const rb_backend *backend, const rb_interp_desc *desc, rb_interp_plan **out) {
  (void)backend, (void)desc;
  naive_plan *p = calloc(1, sizeof *p);
  if (!p) return RB_FAIL(RB_ENOMEM, "host memory");
  *out = &p->head;
  return RB_OK;
}

static rb_status load(rb_interp_plan *head, const void *f) {
  /* nothing is copied: eval reads the caller's field */
  ((naive_plan *)head)->f = f;
  return RB_OK;
}

/* Linear: 1 - t, t. Lagrange: the cubic through the nodes -1, 0, 1, 2, for tap = 0 .. 3. */
static float tap_weight(rb_interp_basis basis, int tap, float t) {
  if (basis == RB_LINEAR) return tap == 0 ? 1 - t : t;
  switch (tap) {
    case 0:
      return -t * (t - 1) * (t - 2) / 6;
    case 1:
      return (t + 1) * (t - 1) * (t - 2) / 2;
    case 2:
      return -(t + 1) * t * (t - 2) / 2;
    default:
      return (t + 1) * t * (t - 1) / 6;
  }
}

/* Index by the boundary's rule; *out is set where the node lies outside, and is used for the zero boundary only. */
static int64_t inside(int64_t i, int64_t n, rb_boundary b, int *out) {
  if (b == RB_PERIODIC) return rb_wrap(i, n);
  if (i < 0 || i >= n) *out = 1;
  return i < 0 ? 0 : i >= n ? n - 1 : i;
}

static rb_status eval(rb_interp_plan *head, int64_t np, const void *x, void *out) {
  const rb_interp_desc *d = &head->desc;
  const float *f = ((naive_plan *)head)->f, *q = x;
  /* points are planar: coordinate a of point p at value a np + p */
  const int64_t *n = d->grid.n;
  /* cubic taps begin one node before floor(x) */
  int taps = d->basis == RB_LINEAR ? 2 : 4, shift = taps == 4;
  /* One point, one component, one tap after the other: 8 or 64 terms, with the three weights anew for each. */
  for (int64_t p = 0; p < np; p++) {
    float b1 = floorf(q[p]), b2 = floorf(q[np + p]), b3 = floorf(q[2 * np + p]);
    for (int c = 0; c < d->components; c++) {
      float sum = 0;
      for (int i = 0; i < taps; i++)
        for (int j = 0; j < taps; j++)
          for (int k = 0; k < taps; k++) {
            int outside = 0;
            int64_t i1 = inside((int64_t)b1 + i - shift, n[0], d->boundary, &outside);
            int64_t i2 = inside((int64_t)b2 + j - shift, n[1], d->boundary, &outside);
            int64_t i3 = inside((int64_t)b3 + k - shift, n[2], d->boundary, &outside);
            /* outside of the grid along any axis: 0 */
            if (outside && d->boundary == RB_ZERO) continue;
            /* component c of the field begins at value c n1 n2 n3; the sum is in float, in the order of the taps */
            sum += tap_weight(d->basis, i, q[p] - b1) * tap_weight(d->basis, j, q[np + p] - b2) *
                   tap_weight(d->basis, k, q[2 * np + p] - b3) * f[((c * n[0] + i1) * n[1] + i2) * n[2] + i3];
          }
      ((float *)out)[c * np + p] = sum;
    }
  }
  return RB_OK;
}

static void destroy(rb_interp_plan *head) { free(head); }

const rb_interp_ops rb_interp_naive = {supports, plan, load, eval, destroy, 0, 0, NULL};
