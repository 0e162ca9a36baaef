/* SPDX-License-Identifier: BSD-3-Clause */
/* Oracle of smooth: double, one pass an axis, a bound check a tap. */
#include "cpu_ref/base/values.h"
#include "kernels/smooth/smooth.h"

#include <stdlib.h>

static rb_status supports(const rb_smooth_desc *d) {
  (void)d;
  return RB_OK;
}
static rb_status plan(const rb_backend *b, const rb_smooth_desc *d, rb_smooth_plan **out) {
  (void)b, (void)d;
  *out = calloc(1, sizeof **out);
  return *out ? RB_OK : RB_FAIL(RB_ENOMEM, "host memory");
}
static void destroy(rb_smooth_plan *p) { free(p); }

/* All values of all components by one loop: component c begins at c N, which is a whole number of lines. */
static rb_status pass(rb_smooth_plan *p, const rb_smooth_kernel *k, int axis, const void *in, void *out) {
  const rb_grid g = p->desc.grid;
  const int64_t n = rb_grid_points(g), stride = axis == 0 ? g.n[1] * g.n[2] : axis == 1 ? g.n[2] : 1;
  for (int64_t i = 0; i < p->desc.components * n; i++) {
    /* out = sum_{|d| <= r} k(|d|) f(x + d) along one axis; taps outside meet 0 */
    const int64_t at = i / stride % g.n[axis];
    double sum = 0;
    /* from -r to r, in double */
    for (int64_t d = -k->radius; d <= k->radius; d++) {
      if (at + d < 0 || at + d >= g.n[axis]) continue;
      const int64_t j = i + d * stride;
      sum += k->k[d < 0 ? -d : d] * rb_value_get(p->desc.dtype, in, j);
    }
    rb_value_put(p->desc.dtype, out, i, sum);
  }
  return RB_OK;
}

const rb_smooth_ops rb_smooth_ref = {supports, plan, pass, NULL, destroy, 0, 0};

/* One value of one pass or of all three, without the passes' roundings between them. */
double rb_smooth_oracle_at(const rb_smooth_desc *d, const rb_smooth_kernel *k, int axis, const void *in,
                           int component, const int64_t at[3]) {
  const rb_grid g = d->grid;
  int64_t low[3], high[3], i[3]; /* what of the box lies in the grid */
  double sum = 0;
  for (int a = 0; a < 3; a++) {
    /* axis -1: the box of (2 r + 1)^3 taps at once; else a line */
    const int64_t r = axis < 0 || axis == a ? k->radius : 0;
    /* cut to the grid: taps outside would add 0 */
    low[a] = at[a] > r ? at[a] - r : 0, high[a] = at[a] + r < g.n[a] ? at[a] + r : g.n[a] - 1;
  }
  for (i[0] = low[0]; i[0] <= high[0]; i[0]++)
    for (i[1] = low[1]; i[1] <= high[1]; i[1]++)
      for (i[2] = low[2]; i[2] <= high[2]; i[2]++) {
        /* k(d1) k(d2) k(d3) */
        double weight = 1;
        for (int a = 0; a < 3; a++) weight *= axis < 0 || axis == a ? k->k[llabs(i[a] - at[a])] : 1;
        const int64_t from = component * rb_grid_points(g) + (i[0] * g.n[1] + i[1]) * g.n[2] + i[2];
        sum += weight * rb_value_get(d->dtype, in, from);
      }
  return sum;
}
