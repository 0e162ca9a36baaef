/* SPDX-License-Identifier: BSD-3-Clause */
/* Oracle of compose: determinant and bracket, by difference quotients in double. */
#include "cpu_ref/base/values.h"
#include "cpu_ref/compose/compose_ref.h"

/* Difference quotient of component c along axis a at node i. */
static double slope(const rb_compose_plan *p, const void *s, int c, int a, int64_t i) {
  const rb_grid g = p->desc.grid;
  /* inside:  (s(x+1) - s(x-1)) / 2;   border:  the difference to the one neighbour there is;   one node: 0 */
  const int64_t stride = a == 0   ? g.n[1] * g.n[2]
                         : a == 1 ? g.n[2]
                                  : 1,
                at = i / stride % g.n[a], n = rb_grid_points(g);
  /* 0 where there is no neighbour on that side */
  const int64_t low = at > 0 ? -1 : 0, high = at + 1 < g.n[a] ? 1 : 0;
  if (low == high) return 0;
  return (rb_value_get(p->desc.dtype, s, c * n + i + high * stride) -
          rb_value_get(p->desc.dtype, s, c * n + i + low * stride)) /
         (double)(high - low);
}
rb_status rb_compose_ref_determinant(rb_compose_plan *p, const void *s, void *out) {
  for (int64_t i = 0; i < rb_grid_points(p->desc.grid); i++) {
    double j[3][3];
    for (int c = 0; c < 3; c++) /* J = I + ds/dx, its determinant by the first row's cofactors */
      for (int a = 0; a < 3; a++) j[c][a] = (c == a) + slope(p, s, c, a, i);
    rb_value_put(p->desc.dtype, out, i,
                 j[0][0] * (j[1][1] * j[2][2] - j[1][2] * j[2][1]) -
                     j[0][1] * (j[1][0] * j[2][2] - j[1][2] * j[2][0]) +
                     j[0][2] * (j[1][0] * j[2][1] - j[1][1] * j[2][0]));
  }
  return RB_OK;
}

/* out_c = sum_a ( d_a v_c  w_a - d_a w_c  v_a ) */
rb_status rb_compose_ref_bracket(rb_compose_plan *p, const void *v, const void *w, void *out) {
  const int64_t n = rb_grid_points(p->desc.grid);
  for (int64_t i = 0; i < n; i++)
    for (int c = 0; c < 3; c++) {
      double sum = 0;
      for (int a = 0; a < 3; a++)
        sum += slope(p, v, c, a, i) * rb_value_get(p->desc.dtype, w, a * n + i) -
               slope(p, w, c, a, i) * rb_value_get(p->desc.dtype, v, a * n + i);
      rb_value_put(p->desc.dtype, out, c * n + i, sum);
    }
  return RB_OK;
}
